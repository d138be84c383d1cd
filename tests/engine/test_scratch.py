"""Scratch goes away with the run, whoever still writes into it."""

import os
import threading
from contextlib import suppress

from dask_anon.engine.scratch import scratch_directory


def test_scratch_is_removed_while_a_task_still_writes_into_it(tmp_path):
    for _ in range(20):
        started = threading.Event()
        with scratch_directory(str(tmp_path)) as scratch:
            writer = threading.Thread(target=write_files, args=(scratch.path, started))
            writer.start()
            assert started.wait(30)
        writer.join(30)
        assert not writer.is_alive()
        assert os.listdir(tmp_path) == []


def write_files(path: str, started: threading.Event) -> None:
    with suppress(FileNotFoundError):  # the directory is gone, which is what the task waits for
        for i in range(100_000):
            with open(os.path.join(path, f"part-{i}"), "wb") as file:
                file.write(b"code")
            started.set()
