"""``python -m dask_anon.cli``."""

from __future__ import annotations

from dask_anon.cli import main

# Workers of a local cluster import this module again under another name.
if __name__ == "__main__":
    main(prog_name="dask-anon")
