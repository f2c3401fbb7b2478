"""Inputs that can be read but once: pipes and standard input."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.formats import tables

# Longer than any buffer, so that whoever opens a pipe twice loses what the first one took.
WIDE = "goodxxxxx,bad\n" + "".join(f"{i % 7 + 0.25},{i % 5 + 0.5}\n" for i in range(3000))
LONG = "system,segment,m\n" + "".join(f"{s},{i},{i % 9}.5\n" for s in "AB" for i in range(3000))
LOG = "left,right,outcome,unit\n" + "".join(
    f"{'AB'[i % 2]},C,{('left', 'right', 'tie')[i % 3]},{i // 2}\n" for i in range(3000)
)


@pytest.fixture(autouse=True)
def no_copy_stays(tmp_path, monkeypatch):
    """Let temporary files go to a folder that must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    assert list(folder.iterdir()) == []


def stdin(monkeypatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))


@pytest.fixture
def pipe():
    """Give a function that makes a pipe out of bytes, named as shells name them."""
    ends = []

    def make(data: bytes) -> str:
        out, into = os.pipe()

        def feed() -> None:
            # A command that refuses a stream does not read it to its end.
            with suppress(BrokenPipeError), os.fdopen(into, "wb") as stream:
                stream.write(data)

        writer = threading.Thread(target=feed)
        writer.start()
        ends.append((out, writer))
        return f"/dev/fd/{out}"

    yield make
    for out, writer in ends:
        os.close(out)
        writer.join()


def result(command: list[str], capsys) -> Any:
    assert run([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def without_names(found: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in ("provenance", "read")}


@pytest.mark.parametrize("text", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("pack", [str.encode, lambda t: gzip.compress(t.encode(), mtime=0)])
@pytest.mark.parametrize("big", [True, False])
def test_a_pipe_and_stdin_are_read_like_a_file(
    text, pack, big, pipe, tmp_path, monkeypatch, capsys
):
    if big:
        monkeypatch.setattr(tables, "_FAST_FROM", 1)  # through DuckDB
    file = tmp_path / "scores.csv"
    file.write_bytes(pack(text))
    expected = result(["data", "info", str(file)], capsys)
    stdin(monkeypatch, pack(text))
    for path in (pipe(pack(text)), "-"):
        found = result(["data", "info", path], capsys)
        assert found["provenance"]["inputs"][0].pop("path") == path
        assert found["provenance"]["inputs"] == [{k: v for k, v in i.items() if k != "path"}
                                   for i in expected["provenance"]["inputs"]]  # fmt: skip
        assert [one.pop("file") for one in found["read"]] == [path]
        same = {**expected, "read": [{**expected["read"][0]}]}
        del same["read"][0]["file"]
        named = {"inputs": 0, "provenance": 0}  # which have the path
        assert found | named == same | named


def test_what_a_shell_opened_is_named_by_its_place(pipe, tmp_path, capsys):
    """``compare a.txt <(cat b.txt)`` hands over ``/dev/fd/63``, whose number names nobody."""
    numbers = "".join(f"{i % 7}\n" for i in range(20))
    file = tmp_path / "a.txt"
    file.write_text(numbers)
    other = pipe(numbers.replace("6", "5").encode())
    found = result(["compare", str(file), other], capsys)
    assert found["pair"] == ["a", "system-2"]
    said = f"a pipe has no name to call a system by: {other} as 'system-2', by its place (a file is named by its stem)"  # fmt: skip # noqa: E501
    assert found["warnings"].count(said) == 1


def test_a_pipe_of_parquet(pipe, tmp_path, capsys):
    native = tmp_path / "set.parquet"
    file = tmp_path / "scores.csv"
    file.write_text(LONG)
    assert run(["data", "convert", str(file), str(native)]) == 0
    capsys.readouterr()
    found = result(["data", "info", pipe(native.read_bytes())], capsys)
    assert (found["n_systems"], found["n_segments"]) == (2, 3000)
    assert found["provenance"]["inputs"][0]["format"] == "native"


def test_battles_from_stdin(tmp_path, monkeypatch, capsys):
    file = tmp_path / "log.csv"
    file.write_text(LOG)
    command = ["compare", "--by", "bt", "--bootstrap", "20", "--battles"]
    expected = result([*command, str(file)], capsys)
    stdin(monkeypatch, LOG.encode())
    streamed = result([*command, "-"], capsys)
    digests = [each["provenance"]["inputs"][0]["sha256"] for each in (streamed, expected)]
    assert digests[0] == digests[1]
    assert without_names(streamed) == without_names(expected)


@pytest.mark.parametrize("lines", [1, 1_000_000])  # read whole, and by DuckDB
def test_a_bad_row_of_a_stream_names_stdin_and_its_line(lines, monkeypatch, capsys):
    stdin(monkeypatch, b"left,right,outcome\n" + b"A,B,left\n" * lines + b"A,B,nobody\n")
    assert run(["compare", "--battles", "-"]) == 2
    assert capsys.readouterr().err.startswith(f"error: <stdin>:{lines + 2}: ")


def test_an_empty_stdin_is_an_error_of_one_line(monkeypatch, capsys):
    stdin(monkeypatch, b"")
    assert run(["data", "info", "-"]) == 2
    assert capsys.readouterr().err == "error: <stdin>: empty file\n"


def test_no_stdin_at_all(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    assert run(["data", "info", "-"]) == 2
    assert capsys.readouterr().err == "error: <stdin>: there is no standard input\n"


def test_a_named_pipe_is_read_anew_by_each_call(tmp_path):
    path = tmp_path / "scores"
    os.mkfifo(path)
    for system in "AB":
        text = f"system,segment,m\n{system},1,0.5\n"
        writer = threading.Thread(target=path.write_text, args=(text,))
        writer.start()
        assert sy.load(path).systems == (system,)
        writer.join()


def test_no_room_for_the_copy_is_one_line(monkeypatch, tmp_path, capsys):
    stdin(monkeypatch, WIDE.encode())
    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
        assert run(["data", "info", "-"]) == 2
    assert "error: <stdin>: no room for a copy of the stream in " in capsys.readouterr().err


def test_process_substitution(tmp_path):
    file = tmp_path / "w3.csv"
    file.write_text(WIDE)
    command = f"{sys.executable} -m steelyard compare <(cat {file}) --by mean --bootstrap 20 --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True)
    found = json.loads(done.stdout)
    assert (found["systems"], found["n_segments"]) == (["bad", "goodxxxxx"], 3000)


def test_standard_input_is_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", "-", "--ref", "-", "--metrics", "bleu"]) == 2
    assert capsys.readouterr().err == (
        "error: '-' twice: standard input can be read as one file only\n"
    )
