"""Archives that somebody made to do harm, or that broke: one line, nothing unpacked to disk."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from steelyard import load
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.formats.archives import zstd

SAMPLE = next((Path(__file__).parent / "samples" / "inspect" / "logs-eval").glob("*Tm83*"))
HEADER = json.dumps({"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}})
SUMMARIES = json.dumps([{"id": 1, "epoch": 1, "scores": {"s": {"value": "C"}}}])
GOOD = {"header.json": HEADER, "summaries.json": SUMMARIES}


def _zip(
    path: Path, members: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED
) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _patched(path: Path, name: str, at: dict[str, int], **values: int) -> Path:
    """Change fields of a member in the central directory (``at`` tells where they stand)."""
    data = bytearray(path.read_bytes())
    start = -1
    while True:
        start = data.index(b"PK\x01\x02", start + 1)
        if data[start + 46 :].startswith(name.encode()):
            break
    for field, value in values.items():
        size = 2 if field in ("flags", "method") else 4
        data[start + at[field] : start + at[field] + size] = value.to_bytes(size, "little")
    path.write_bytes(data)
    return path


CENTRAL = {"flags": 8, "method": 10, "crc": 16, "packed": 20, "size": 24, "offset": 42}


@pytest.fixture
def log(tmp_path) -> Path:
    return _zip(tmp_path / "a.eval", GOOD)


def test_a_plain_one_is_read(log):
    assert load(log)["s"].values == 1
    assert load(_zip(log, GOOD, zipfile.ZIP_STORED))["s"].values == 1


def test_more_is_read_where_it_is_asked_for(tmp_path, refusal, monkeypatch):
    large = SUMMARIES.ljust((64 << 20) + 1)
    path = _zip(tmp_path / "a.eval", {"header.json": HEADER, "summaries.json": large})
    assert "STEELYARD_UNPACKED_MB" in refusal(path)
    monkeypatch.setenv("STEELYARD_UNPACKED_MB", "65")
    assert load(path)["s"].values == 1
    monkeypatch.setenv("STEELYARD_UNPACKED_MB", "much")
    with pytest.raises(UsageError, match="expected a number of megabytes"):
        load(path)


def test_a_bomb_of_gzip(tmp_path, refusal, monkeypatch):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"system": "A", "seg": "1", "x": 1}\n' + b" " * (65 << 20)))
    assert "unpacks to more than 64 MB" in refusal(path)
    monkeypatch.setenv("STEELYARD_UNPACKED_MB", "66")
    assert load(path)["x"].values == 1


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, 93])
def test_a_bomb_that_lies(method, tmp_path, refusal):
    """It is stopped one byte after what it promised, whatever it would unpack to."""
    content = b" " * (64 << 20)
    path = _zip(tmp_path / "a.eval", {"header.json": HEADER, "summaries.json": content})
    if method == 93:
        path = _raw(path, zstd.compress(content), method, crc=zlib.crc32(content))
    _patched(path, "summaries.json", CENTRAL, size=100)
    del content
    tracemalloc.start()
    message = refusal(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.startswith(f"{path}: summaries.json unpacks to more than the 100 bytes")
    assert peak < 4 << 20


def _raw(path: Path, packed: bytes, method: int, crc: int) -> Path:
    """Write a log whose summaries are these bytes, packed by a method."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", HEADER)
        archive.writestr("summaries.json", packed)
    return _patched(path, "summaries.json", CENTRAL, method=method, crc=crc)


def test_many_members_that_are_too_much_together(tmp_path, refusal, monkeypatch):
    journal = {f"_journal/summaries/{i}.json": SUMMARIES.ljust(1 << 20) for i in range(17)}
    path = _zip(tmp_path / "a.eval", {"header.json": HEADER} | journal)
    monkeypatch.setenv("STEELYARD_UNPACKED_MB", "1")
    assert "_journal/summaries/15.json unpacks to 1,048,576 bytes" in refusal(path)


@pytest.mark.parametrize(
    ("member", "field", "value", "words"),
    [
        ("header.json", "flags", 1, "'header.json' is encrypted"),
        ("summaries.json", "offset", 0, "lies over another one"),
        ("summaries.json", "packed", 100_000, "'summaries.json' lies over another one"),
        ("header.json", "crc", 1, "header.json: damaged"),
        ("summaries.json", "size", 1000, "unpacks to less than the 1,000 bytes"),
        ("summaries.json", "size", 3 << 30, "beyond the 67,108,864 of a member"),
        ("summaries.json", "method", 14, "summaries.json: damaged (packed by method 14"),
    ],
)
def test_a_directory_that_lies(member, field, value, words, log, refusal):
    _patched(log, member, CENTRAL, **{field: value})
    assert words in refusal(log)


def test_two_members_of_one_name(tmp_path, refusal):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", HEADER)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("header.json", HEADER)
    assert refusal(path) == f"{path}: refused: the archive has two members named 'header.json'"


@pytest.mark.parametrize(
    "name", ["../header.json", "/etc/passwd", "a/../../b", "C:/x", "a\\..\\b", "\\x"]
)
def test_names_that_lead_elsewhere(name, tmp_path, refusal):
    path = tmp_path / "a.eval"
    with zipfile.ZipFile(path, "w") as archive:
        own = zipfile.ZipInfo("x")
        own.filename = name
        archive.writestr("header.json", HEADER)
        archive.writestr(own, "{}")
    assert "leads out of the archive's folder" in refusal(path)


def test_names_that_are_only_odd(tmp_path):
    """Samples are called by their ids, which may hold anything."""
    members = {"samples/a\\b/c..d_epoch_1.json": "{}", "samples//x:_epoch_1.json": "{}"}
    assert load(_zip(tmp_path / "a.eval", GOOD | members))["s"].values == 1


def test_names_that_steer_a_terminal(tmp_path, refusal):
    path = _zip(tmp_path / "a.eval", {"../\x1b[31m\n": "x"})
    assert "\\x1b" in refusal(path)


@pytest.mark.parametrize("keep", [4, 100, 0.5, 0.99, -1])
def test_cut_off(keep, tmp_path, refusal):
    data = SAMPLE.read_bytes()
    path = tmp_path / "a.eval"
    path.write_bytes(data[: int(keep * len(data)) if isinstance(keep, float) else keep])
    assert refusal(path).startswith(f"{path}: damaged or truncated archive")


def test_wrong_bytes_of_zstandard(tmp_path, refusal):
    data = bytearray(SAMPLE.read_bytes())
    with zipfile.ZipFile(SAMPLE) as archive:
        start = archive.getinfo("summaries.json").header_offset
    data[start + 200] ^= 0xFF
    path = tmp_path / "a.eval"
    path.write_bytes(data)
    assert "summaries.json: damaged" in refusal(path)


def test_no_header_where_it_should_be(log, refusal):
    data = bytearray(log.read_bytes())
    data[data.index(b"PK\x03\x04", 1) : data.index(b"PK\x03\x04", 1) + 4] = b"XXXX"
    log.write_bytes(data)
    assert "no header where the archive says" in refusal(log)


@pytest.mark.parametrize("name", ["a.eval", "a.zip", "a.docx", "a"])
def test_another_zip_is_called_one(name, tmp_path, refusal):
    path = _zip(tmp_path / name, {"word/document.xml": "<w/>"})
    assert refusal(path) == (
        f"{path}: is a zip archive, but no log of Inspect: it has neither header.json nor "
        "_journal/start.json"
    )


def test_an_empty_zip(tmp_path, refusal):
    assert "is a zip archive, but no log of Inspect" in refusal(_zip(tmp_path / "a.eval", {}))


@pytest.mark.parametrize("content", [b"", b"{}", b"PK", b"\x89PNG\r\n"])
def test_no_zip_at_all(content, tmp_path, refusal):
    path = tmp_path / "a.eval"
    path.write_bytes(content)
    assert refusal(path) == f"{path}: is no zip archive, as logs named .eval are"


def test_archives_in_archives_are_not_opened(tmp_path, refusal):
    inner = _zip(tmp_path / "inner.zip", GOOD).read_bytes()
    path = _zip(tmp_path / "a.eval", {"header.json": inner, "summaries.json": inner})
    assert "header.json: not " in refusal(path)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"header.json": "[" * 100_000}, "header.json: JSON nested too deeply"),
        ({"header.json": "[1]"}, "'header.json' is [1], expected an object"),
        ({"header.json": '{"eval": 3}'}, "'header.json/eval' is 3, expected an object"),
        ({"header.json": "{"}, "header.json: not valid JSON"),
        ({"header.json": b"\xff\xff"}, "header.json: not UTF-8"),
        ({"summaries.json": "{}"}, "'summaries.json' is {}, expected a list"),
        ({"summaries.json": "[3]"}, "'summaries.json[0]' is 3, expected an object"),
        ({"summaries.json": "[]"}, "holds no samples"),
    ],
)
def test_members_of_another_shape(members, message, tmp_path, refusal):
    path = _zip(tmp_path / "a.eval", GOOD | members)
    assert refusal(path).startswith(f"{path}: {message}")


def test_nothing_is_unpacked_to_disk(log, tmp_path, capsys):
    before = sorted(os.walk(tmp_path))
    assert run(["data", "info", str(log)]) == 0
    assert sorted(os.walk(tmp_path)) == before
    _patched(log, "header.json", CENTRAL, flags=1)
    assert run(["data", "info", str(log)]) == 2
    assert capsys.readouterr().err == (
        f"error: {log}: refused: the member 'header.json' is encrypted\n"
    )


def test_random_damage_is_never_a_traceback(tmp_path):
    """Every byte of the headers, changed: it is read, or refused in one line."""
    data = _zip(tmp_path / "good.eval", GOOD).read_bytes()
    path = tmp_path / "a.eval"
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        with suppress(InputError):
            load(path)


def test_several_frames_of_zstandard(tmp_path):
    packed = zstd.compress(SUMMARIES[:20].encode()) + zstd.compress(SUMMARIES[20:].encode())
    path = _raw(tmp_path / "a.eval", packed, 93, zlib.crc32(SUMMARIES.encode()))
    _patched(path, "summaries.json", CENTRAL, size=len(SUMMARIES))
    assert load(path)["s"].values == 1


def test_millions_of_tiny_frames(tmp_path, refusal):
    packed = zstd.compress(b"") * 200_000
    path = _raw(tmp_path / "a.eval", packed, 93, 0)
    assert refusal(path) == f"{path}: summaries.json: damaged (more than 100 frames)"
