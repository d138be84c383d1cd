"""Scratch goes away with the run, whoever still writes into it."""

import os
import threading

from dask_anon.engine.scratch import scratch_directory


def test_scratch_is_removed_while_a_task_still_writes_into_it(tmp_path):
    for _ in range(20):
        started = threading.Event()

        def write(path: str, started: threading.Event) -> None:
            """Write files until there is no place for another one."""
            try:
                for i in range(1_000_000):
                    with open(os.path.join(path, f"part-{i}"), "wb") as file:
                        file.write(b"code")
                    started.set()
            except FileNotFoundError:
                pass

        with scratch_directory(str(tmp_path)) as scratch:
            writer = threading.Thread(target=write, args=(scratch.path, started))
            writer.start()
            assert started.wait(30)
        writer.join(30)
        assert not writer.is_alive()
        assert os.listdir(tmp_path) == []
