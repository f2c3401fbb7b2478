"""What is timed: calls of this process, commands in processes of their own; always CPU seconds."""

from __future__ import annotations

import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

#: Command, under a profiler that writes to the first argument.
PROFILED = (
    "import cProfile, sys; out = sys.argv.pop(1); profile = cProfile.Profile(); "
    "from steelyard.cli.main import run; profile.enable(); code = run(sys.argv[1:]); "
    "profile.disable(); profile.dump_stats(out); sys.exit(code)"
)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one run took, in the unit of its row, and what it gave."""

    amount: float
    result: Any = None
    megabytes: float | None = None


class Work(Protocol):
    """Something to be done again and again, and watched once."""

    def measure(self) -> Spent:
        """Do it once."""

    def profile(self) -> pstats.Stats | None:
        """Do it once under a profiler; None where there is nothing to see."""


@dataclass(frozen=True, slots=True)
class Call:
    """A function of this process."""

    task: Callable[[], Any]

    def measure(self) -> Spent:
        """CPU seconds of all threads."""
        start = time.process_time()
        result = self.task()
        return Spent(time.process_time() - start, result)

    def profile(self) -> pstats.Stats:
        """Functions of the call."""
        watched = cProfile.Profile()
        watched.runcall(self.task)
        return pstats.Stats(watched)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of Steelyard, as a user runs it: starting Python is part of it."""

    arguments: tuple[str, ...]

    def measure(self) -> Spent:
        """User and system seconds of the process and those that it waited for."""
        return child(["-m", "steelyard", *self.arguments])

    def profile(self) -> pstats.Stats:
        """Functions of the command, with what it imports."""
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "profile"
            child(["-c", PROFILED, str(out), *self.arguments])
            return pstats.Stats(str(out))


@dataclass(frozen=True, slots=True)
class Slowest:
    """Several commands, of which the slowest counts: every one shall reach the target."""

    commands: tuple[Command, ...]
    rounds: int = 2

    def measure(self) -> Spent:
        """The best of several runs of each command; the name of the slowest is the result."""
        taken = {c: min(c.measure().amount for _ in range(self.rounds)) for c in self.commands}
        worst = max(taken, key=lambda command: taken[command])
        return Spent(taken[worst], " ".join(worst.arguments))

    def profile(self) -> pstats.Stats:
        """Functions of one of them."""
        return self.commands[0].profile()


@dataclass(frozen=True, slots=True)
class Script:
    """A piece of Python in a process of its own; it may print one number, which is the amount."""

    code: str
    prints: bool = False

    def measure(self) -> Spent:
        """What it printed, or its CPU seconds."""
        found = child(["-c", self.code])
        return Spent(float(found.result), megabytes=found.megabytes) if self.prints else found

    def profile(self) -> None:
        """Nothing: it is its own measurement."""
        return


def child(arguments: Sequence[str]) -> Spent:
    """Run Python with arguments; what it prints is the result."""
    with tempfile.TemporaryFile() as shown, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([sys.executable, *arguments], stdout=shown, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip()[-400:]
            raise RuntimeError(f"{' '.join(arguments)[:200]}: exit {process.returncode}: {said}")
        shown.seek(0)
        text = shown.read().decode(errors="replace")
    # Linux counts memory in kilobytes, macOS in bytes.
    scale = 1e6 if sys.platform == "darwin" else 1024
    return Spent(used.ru_utime + used.ru_stime, text, used.ru_maxrss / scale)
