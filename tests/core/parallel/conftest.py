"""A real Dask cluster on this machine: a scheduler and two workers, each a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

PATIENCE = 600  # seconds: a process that lives may take its time on a busy machine
#: The cluster stays until the last test: while it has nothing to do, it should do nothing.
IDLE = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "10s",
}


class Cluster:
    """What ``dask scheduler`` and ``dask worker`` start; workers can be killed and added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.workers: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def start(self) -> None:
        """Start all, and wait for the address of the scheduler."""
        scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-jupyter")
        self.need(2)
        end = time.monotonic() + PATIENCE
        while not self.address:
            if scheduler.poll() is not None or time.monotonic() > end:
                said = (self.folder / "0.log").read_text(encoding="utf-8", errors="replace")
                pytest.fail(f"the scheduler does not start (exit code {scheduler.poll()}): {said}")
            time.sleep(0.02)
            with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):  # half-written
                self.address = json.loads(self.file.read_text())["address"]

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        environment = os.environ | IDLE | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        with (self.folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command, "--no-dashboard", "--scheduler-file",
                 str(self.file)],
                env=environment, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.processes.append(process)
        return process

    def need(self, n: int) -> None:
        """Have so many living workers."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        while len(self.workers) < n:
            options = ("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1")
            self.workers.append(self._start("worker", *options))

    def kill_one(self) -> None:
        """Kill a worker, as a machine that loses power would."""
        self.workers.pop().kill()

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def cluster(running):
    """The cluster with two workers, whatever the test before did to it."""
    running.need(2)
    from distributed import Client

    with Client(running.address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=PATIENCE)
    return running
