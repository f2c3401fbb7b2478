"""What can't be right is refused in one line that names the place, what was found and expected."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import load, save
from steelyard.formats import tables

Refusal = Callable[..., str]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "tsv", "csv", "txt", "parquet"])
def test_empty_file(tmp_path: Path, refusal: Refusal, suffix: str) -> None:
    path = write(tmp_path / f"x.{suffix}", "")
    assert refusal(path).startswith(f"{path}: ")


def test_missing_file_and_folder(tmp_path: Path, refusal: Refusal) -> None:
    for name in ("x.csv", "x.parquet", "x.jsonl.gz", "folder"):
        assert refusal(tmp_path / name) == f"{tmp_path / name}: no such file"
    (tmp_path / "folder").mkdir()
    assert "mt-metrics-eval" in refusal(tmp_path / "folder")
    (tmp_path / "x.csv").mkdir()
    assert refusal(tmp_path / "x.csv").startswith(f"{tmp_path / 'x.csv'}: ")


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x/" * 3000, "a\0b.csv", "a\0b.parquet"])
def test_impossible_file_names(refusal: Refusal, name: str) -> None:
    refusal(name)


ROWS = "system,segment,x\n" + "".join(f"A,{i},0.{i}\n" for i in range(50))


@pytest.mark.parametrize("cut", [1, 2, 5, 9, 10, 11, 40, -1, -4, -8, -9, -20])
def test_truncated_gzip(tmp_path: Path, refusal: Refusal, cut: int) -> None:
    path = write(tmp_path / "x.csv.gz", gzip.compress(ROWS.encode())[:cut])
    assert refusal(path).startswith(f"{path}")


@pytest.mark.parametrize("place", [-8, -5, -4, -1])
def test_gzip_with_a_broken_checksum(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", 0)
    data = bytearray(gzip.compress(ROWS.encode()))
    data[place] ^= 0x10
    path = write(tmp_path / "x.csv.gz", bytes(data))
    assert "gzip" in refusal(path)


@pytest.mark.parametrize("tail", [b"garbage", b"\x1f\x8b", b"\x1f\x8b\x08"])
def test_garbage_after_gzip(tmp_path: Path, refusal: Refusal, tail: bytes) -> None:
    path = write(tmp_path / "x.csv.gz", gzip.compress(ROWS.encode()) + tail)
    assert "gzip" in refusal(path)


def test_what_is_not_utf_8_is_latin_1_unless_it_is_damaged(
    tmp_path: Path, refusal: Refusal
) -> None:
    table = "system,segment,x\nA,1,1\nÄ,1,1\n"
    es = load(write(tmp_path / "x.csv", table.encode("latin-1")))
    assert es.systems == ("A", "Ä")
    assert "Windows-1252" in es.notes[0]
    path = write(tmp_path / "x.csv", table.encode() + b"\xc4,1,1\n")
    message = refusal(path)
    assert message.startswith(f"{path}:4: ")
    assert "0xc4 is not UTF-8" in message


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" * 10, b"not parquet at all", b"\0" * 100])
def test_parquet_that_is_none(tmp_path: Path, refusal: Refusal, data: bytes) -> None:
    path = write(tmp_path / "x.parquet", data)
    message = refusal(path)
    assert message.startswith(f"{path}: ")
    assert "Parquet" in message


def test_parquet_under_another_name(tmp_path: Path, refusal: Refusal) -> None:
    es = load(write(tmp_path / "x.csv", ROWS))
    save(es, tmp_path / "x.parquet")
    path = write(tmp_path / "y.csv", (tmp_path / "x.parquet").read_bytes())
    assert "name it .parquet" in refusal(path)


@pytest.mark.parametrize("source", [3, None, object(), [1, 2], b"x.csv"])
def test_sources_that_are_none(refusal: Refusal, source: object) -> None:
    assert type(source).__name__ in refusal(load, source)
