"""Record what every command prints and writes, so that two versions can be compared byte by byte.

    python tools/snapshot.py OUT [--only WORD] [--data ../shared/data] [--jobs 2]
    diff -r before after

Each line of snapshot-commands.txt is one run: a name, then what a user would type. ``{data}`` is
the folder of evaluation data (lines that need it are passed over where it is absent), ``{demo}``
the exported demo. Every run has a folder of its own: what it printed, its exit code, and the files
that it wrote. Lines that start with ``python:`` run Python code against the public names instead.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS = HERE / "snapshot-commands.txt"


def runs(text: str) -> list[tuple[str, str]]:
    """The runs of a list: name and command, blank lines and comments left out."""
    lines = (line.strip() for line in text.splitlines())
    named = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return [(name, command) for name, command in named]


def command_line(command: str, data: Path, demo: Path) -> list[str]:
    """What is executed: the steelyard of this Python, or Python itself."""
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


def main() -> None:
    """Record all runs, or those whose name holds a word."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    demo = given.out.resolve() / "demo-export"
    data = given.data.resolve()
    subprocess.run(  # noqa: S603
        [sys.executable, "-m", "steelyard", "demo", "--export", str(demo), "--quiet"],
        check=True, capture_output=True, cwd=tempfile.mkdtemp(),
    )  # fmt: skip
    chosen = [
        (name, command)
        for name, command in runs(COMMANDS.read_text(encoding="utf-8"))
        if given.only in name and ("{data}" not in command or data.is_dir())
    ]
    with ThreadPoolExecutor(given.jobs) as pool:
        for line in pool.map(lambda run: record(run, (data, demo), given.out.resolve()), chosen):
            print(line, flush=True)


if __name__ == "__main__":
    main()
