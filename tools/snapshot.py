"""Record what commands print and write, so that two versions can be compared byte by byte.

    python tools/snapshot.py OUT [--only WORD] [--data ../shared/data] [--jobs 2]
    diff -r before after

Each line of snapshot-commands.txt is one run: a name, then what a user would type. ``{data}`` is
the folder of evaluation data (lines that need it are passed over where it is absent), ``{demo}``
the exported demo. Every run has a folder of its own: what it printed, its exit code, and the files
that it wrote. Lines that start with ``python:`` run Python code against the public names instead.

    python tools/snapshot.py --keep

records the quick ones of tests/snapshot/commands.txt anew, which the tests compare with.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS = HERE / "snapshot-commands.txt"
KEPT = HERE.parent / "tests" / "snapshot"
_LONG = re.compile(r"-?\d+\.\d{9,}(?:e[+-]\d+)?|-?\d+(?:\.\d+)?e[+-]\d+")


def runs(listed: Path) -> list[tuple[str, str]]:
    """Give the runs of a list: name and command, blank lines and comments left out."""
    lines = (line.strip() for line in listed.read_text(encoding="utf-8").splitlines())
    named = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return [(name, command) for name, command in named]


def command_line(command: str, data: Path, demo: Path) -> list[str]:
    """Give what is executed: the steelyard of this Python, or Python itself."""
    filled = command.replace("{data}", str(data)).replace("{demo}", str(demo))
    if filled.startswith("python:"):
        return [sys.executable, "-c", filled.removeprefix("python:").strip()]
    return [sys.executable, "-m", "steelyard", *shlex.split(filled)]


def record(run: tuple[str, str], places: tuple[Path, Path], out: Path) -> str:
    """Run one command in an empty folder, and keep all that came of it."""
    name, command = run
    home = out / name
    home.mkdir(parents=True)
    (home / "command").write_text(command + "\n", encoding="utf-8")
    files = home / "files"
    files.mkdir()
    env = {**os.environ, "COLUMNS": "120", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(  # noqa: S603 - commands of our own list
        command_line(command, *places), cwd=files, env=env, check=False, capture_output=True
    )
    data, demo = (str(place).encode() for place in places)
    for stream, content in (("stdout", done.stdout), ("stderr", done.stderr)):
        shown = content.replace(data, b"{data}").replace(demo, b"{demo}")
        (home / stream).write_bytes(shown)
    (home / "exit").write_text(f"{done.returncode}\n", encoding="utf-8")
    return f"{name}: {done.returncode}"


def record_all(out: Path, only: str, data: Path, jobs: int) -> None:
    """Record all runs, or those whose name holds a word."""
    out.mkdir(parents=True)
    demo = out.resolve() / "demo-export"
    exported = [sys.executable, "-m", "steelyard", "demo", "--files", str(demo), "--quiet"]
    subprocess.run(exported, check=True, capture_output=True, cwd=tempfile.mkdtemp())  # noqa: S603
    chosen = [
        (name, command)
        for name, command in runs(COMMANDS)
        if only in name and ("{data}" not in command or data.is_dir())
    ]
    with ThreadPoolExecutor(jobs) as pool:
        for line in pool.map(lambda run: record(run, (data, demo), out.resolve()), chosen):
            print(line, flush=True)


def told(command: str) -> str:
    """Run one command in this process; give all that it says, less what machines differ in.

    Those are the folder of the demo, versions, and the last digits of numbers (of BLAS).
    """
    import steelyard
    from steelyard.cli.main import run
    from steelyard.demo.embedded import FOLDER

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(shlex.split(command.replace("{demo}", str(FOLDER))))
    said = f"$ steelyard {command}\n{out.getvalue()}--- stderr\n{err.getvalue()}--- exit {code}\n"
    said = said.replace(str(FOLDER), "{demo}").replace(steelyard.__version__, "{version}")
    said = re.sub(r"version:[\d.]+", "version:{version}", said)  # of sacreBLEU
    return _LONG.sub(lambda found: _rounded(float(found.group())), said)


def _rounded(value: float) -> str:
    return f"{value:.9g}" if abs(value) > 1e-6 else f"{value:.3g}"


def keep() -> None:
    """Record the runs that are kept for the tests."""
    os.environ["COLUMNS"] = "120"
    for old in KEPT.glob("*.out"):
        old.unlink()
    for name, command in runs(KEPT / "commands.txt"):
        (KEPT / f"{name}.out").write_text(told(command), encoding="utf-8", newline="\n")


def main() -> None:
    """Record everything somewhere, or a little for the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.keep:
        keep()
    elif given.out is None:
        parser.error("say where to (OUT), or --keep")
    else:
        record_all(given.out, given.only, given.data.resolve(), given.jobs)


if __name__ == "__main__":
    main()
