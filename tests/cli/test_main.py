"""How a command ends: signals, full disks, too little memory; one line, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from steelyard.cli.main import run
from steelyard.core.errors import InputError
from steelyard.formats import tables

DEADLINE = 300  # seconds after which an event is not waited for any more: a busy machine has time
linux = pytest.mark.skipif(sys.platform != "linux", reason="signals and limits are those of Linux")

#: A command whose two workers say that they are there, and then work for ever.
ENDLESS = """
import os, sys, time
from pathlib import Path
import click
from steelyard.cli.main import cli, main
from steelyard.core.parallel import Workers

folder = Path(sys.argv[1])

def work(task):
    (folder / f"worker.{os.getpid()}").touch()
    while True:
        time.sleep(0.05)

@click.command()
def endless():
    Workers(2).run(work, [1, 2])

cli.add_command(endless)
main(["endless"])
"""


def wait_for(event: object, what: str) -> None:
    """Poll until something is so; how long that takes is the machine's affair."""
    end = time.monotonic() + DEADLINE
    while not event():  # type: ignore[operator]
        assert time.monotonic() < end, what
        time.sleep(0.02)


def lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def children(pid: int) -> set[int]:
    """All processes below one."""
    found: set[int] = set()
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            own = {int(child) for child in (task / "children").read_text().split()}
            found |= own.union(*(children(child) for child in own))
    return found


@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_the_command(tmp_path: Path, number: signal.Signals) -> None:
    script = tmp_path / "endless.py"
    script.write_text(ENDLESS, encoding="utf-8")
    command = [sys.executable, str(script), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        below: set[int] = set()
        try:
            wait_for(lambda: len(list(tmp_path.glob("worker.*"))) == 2, "workers start")
            below = children(process.pid)
            assert len(below) >= 3  # workers and a tracker of their resources
            process.send_signal(number)
            out, err = process.communicate(timeout=DEADLINE)  # until nobody holds the pipes
            wait_for(lambda: not any(map(lives, below)), "workers end")
        finally:
            process.kill()
            for pid in filter(lives, below):
                os.kill(pid, signal.SIGKILL)
    assert out == b""
    if number == signal.SIGTERM:
        assert err.strip() == b"error: terminated"
        assert process.returncode == 128 + signal.SIGTERM


@linux
def test_a_signal_while_python_shuts_down_is_not_shown(tmp_path: Path) -> None:
    """All is done, and written: the signal comes too late to matter."""
    script = tmp_path / "late.py"
    script.write_text(
        "import atexit, os, signal\n"
        "from steelyard.cli.main import main\n"
        "atexit.register(lambda: [os.kill(os.getpid(), s) for s in (signal.SIGINT, "
        "signal.SIGTERM)])\n"
        "main(['--version'])\n",
        encoding="utf-8",
    )
    found = subprocess.run([sys.executable, str(script)], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout.startswith(b"steelyard")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_standard_output_is_full() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "steelyard", "--help"]
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert found.returncode == 2
    assert found.stderr == b"error: standard output can't be written (No space left on device)\n"


KOBE = ("marisa_trie", "orjson", "py3langid", "simplemma")


@pytest.mark.parametrize(
    ("words", "extra", "libraries"),
    [
        ("score --src {src} {out} --metrics kobe --src-lang de --tgt-lang en", "kobe", KOBE),
        ("score --src {src} {out} --metrics kobe --src-lang de --tgt-lang en", "kobe", KOBE[:1]),
        ("kb info", "kobe", KOBE),
        ("kb link --lang de Wien", "kobe", KOBE),
        ("kb build table {table} --out {kb}", "kobe", KOBE[:1]),
        ("compare {table} --out {kb}.png", "plots", ("vl_convert",)),
    ],
)
def test_a_missing_extra_is_one_line_that_names_it(
    tmp_path: Path, monkeypatch, capsys, words: str, extra: str, libraries: tuple[str, ...]
) -> None:
    from steelyard.kobe import languages

    languages.known.cache_clear()
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    for name in libraries:
        monkeypatch.setitem(sys.modules, name, None)
    paths = {name: tmp_path / name for name in ("src", "out", "table", "kb")}
    paths["src"].write_text("Ich war in Wien.\n")
    paths["out"].write_text("I was in Vienna.\n")
    paths["table"].write_text("system,segment,m\nA,1,1\nA,2,3\nB,1,2\nB,2,2\n")
    assert run([*words.format(**paths).split(), "--quiet"]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("error: ")
    assert f" needs {', '.join(libraries)}: pip install 'steelyard[{extra}]'\n" in found.err
    assert found.err.count("\n") == 1


def test_a_report_without_figures_says_what_to_install(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    path, page = tmp_path / "a.csv", tmp_path / "a.html"
    path.write_text("system,segment,m\nA,1,1\nA,2,3\nB,1,2\nB,2,2\n")
    assert run(["report", str(path), "--out", str(page)]) == 0
    line = "the page has no figures: a figure needs vl_convert: pip install "
    assert f"warning: {line}'steelyard[plots]'" in capsys.readouterr().err
    assert line in page.read_text(encoding="utf-8")


@pytest.fixture
def small_files() -> Iterator[None]:
    """A disk on which no file can be larger than 4 KB."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@linux
@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.jsonl"])
def test_a_disk_that_is_full(tmp_path: Path, small_files: None, name: str) -> None:
    columns = {"m": np.random.default_rng(0).random(10_000)}
    with pytest.raises(InputError) as error:
        tables.write(tmp_path / name, columns)
    assert str(error.value) == f"{tmp_path / name}: can't be written (File too large)"
    assert not list(tmp_path.iterdir())


@linux
def test_too_little_address_space_is_no_segmentation_fault(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    tables.write(path, {"left": ["A"], "right": ["B"], "outcome": ["left"]})
    script = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_AS, (600_000 << 10,) * 2)\n"
        "from steelyard.cli.main import main\n"
        "main(['compare', '--battles', sys.argv[1]])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert found.returncode == 1
    assert found.stderr.startswith("error: the address space is limited to 585 MB (ulimit -v), of")
    assert "needs 768: out of memory; more of it" in found.stderr
    assert found.stderr.count("\n") == 1
