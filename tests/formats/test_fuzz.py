"""Damaged folders and lines: a one-line refusal or a set in which no undamaged cell changed."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mtme_folders import write_mtme
from steelyard import EvalSet, Ratings, ScoreTable, Segments, load
from steelyard.core.errors import SteelyardError
from steelyard.data.judgements import ErrorSpan
from steelyard.formats import tables

pytestmark = pytest.mark.thorough
Fresh = Callable[[], Path]

SECONDS = 20  # of CPU time for a file of a few hundred bytes: what takes longer hangs
SYSTEMS, IDS = ("A", "B.v1", "c d"), ("0", "1", "2", "3")
JUNK = [
    b"", b"inf", b"-inf", b"nan", b"NaN", b"None", b"1e999", b"1_0", b"x", b"\xff", b"\0", b'"',
    b"''", b"{}", b"[]", b"true", b"null", b"-0", b"1e-999", b"\xe2\x80\xa8",
    b"\xef\xbb\xbf", b"\r", b"\r\n", b"\t", b",", b"9" * 5000, b"[" * 5000, b"../x",
    b"\xed\xa0\x80", b'{"a":1}', b"1,2", b"\x1f\x8b", b"PAR1", b" ", b"\\", b"\\ud800",
]  # fmt: skip


def made() -> EvalSet:
    """A set with something of everything."""
    rng = np.random.default_rng(5)
    shape = (len(SYSTEMS), len(IDS))
    human = rng.standard_normal(shape)
    human[1, 2] = np.nan
    ratings = Ratings.from_labels(
        ["A", "A", "c d"],
        ["0", "0", "3"],
        ["r1", "r2", "r1"],
        np.array([1.5, np.nan, -0.0]),
        errors=((ErrorSpan("c", "major", 0, 2, 5.0),), (), None),
    )
    return EvalSet(
        SYSTEMS,
        Segments(IDS, ("d1", "d1", "d2", "d2"), ("n", "n", "n", "m"), ("s0", "s1", "s2", "s3"),
                 {"refA": ("r0", "r1", None, "r3")}),
        {
            "mqm": ScoreTable(human, "human", domain_scores=rng.standard_normal((3, 2))),
            "chrF-refA": ScoreTable(rng.standard_normal(shape), uses=("refA",),
                                    system_scores=rng.standard_normal(3)),
            "TER": ScoreTable(rng.standard_normal(shape), higher_is_better=False,
                              document_scores=rng.standard_normal((3, 2))),
        },
        {name: tuple(f"{name} {i}" for i in IDS) for name in SYSTEMS},
        {"mqm": ratings},
        name="set",
        language_pair="en-de",
    )  # fmt: skip


class Files(dict[str, bytes]):
    """Contents by name, shown without the contents where a test fails."""

    def __repr__(self) -> str:
        return f"<{len(self)} files>"


OPERATIONS = ["flip", "insert", "delete", "cut", "repeat line", "swap lines", "swap cells", "junk",
              "splice", "zero"]  # fmt: skip
numbers = st.integers(0, 1 << 20)
step = st.tuples(st.sampled_from(OPERATIONS), numbers, numbers, st.integers(0, 255))
plans = st.lists(step, min_size=1, max_size=3)


Plan = list[tuple[str, int, int, int]]


def damage(data: bytes, plan: Plan) -> bytes:
    for operation, one, two, value in plan:
        if data:
            in_lines = operation.endswith(("line", "lines", "cells", "junk"))
            data = (_in_lines if in_lines else _in_bytes)(data, operation, one, two, value)
    return data


def _in_bytes(data: bytes, operation: str, one: int, two: int, value: int) -> bytes:
    place = one % len(data)
    end = min(len(data), place + 1 + two % 30)
    middle, rest = {
        "flip": (bytes([data[place] ^ (1 << value % 8)]), place + 1),
        "insert": (bytes([value]) * (1 + two % 3), place),
        "delete": (b"", end),
        "cut": (b"", len(data)),
        "zero": (bytes(end - place), end),
        "splice": (JUNK[value % len(JUNK)], place),
    }[operation]
    return data[:place] + middle + data[rest:]


def _in_lines(data: bytes, operation: str, one: int, two: int, value: int) -> bytes:
    lines = data.split(b"\n")
    i, j = one % len(lines), two % len(lines)
    if operation == "repeat line":
        lines.insert(j, lines[i])
    elif operation == "swap lines":
        lines[i], lines[j] = lines[j], lines[i]
    else:
        delimiter = b"\t" if b"\t" in lines[i] else b","
        cells = lines[i].split(delimiter)
        k, m = two % len(cells), value % len(cells)
        if operation == "junk":
            cells[k] = JUNK[value % len(JUNK)]
        else:
            cells[k], cells[m] = cells[m], cells[k]
        lines[i] = delimiter.join(cells)
    return b"\n".join(lines)


def outcome(*sources: Path, **options: Any) -> EvalSet | None:
    """Load; a refusal in one line gives None, and nothing else may happen."""
    start = time.process_time()
    try:
        es = load(*sources, **options)
    except SteelyardError as error:
        message = str(error)
        assert message.splitlines() == [message], message
        assert "invalidated" not in message, "DuckDB itself broke down"
        return None
    finally:
        assert time.process_time() - start < SECONDS
    assert isinstance(es, EvalSet)
    assert not any(np.isinf(table.values).any() for table in es.scores.values())
    assert all(type(name) is str and name for name in (*es.systems, *es.segments.ids, *es.scores))
    return es


# Folders.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    """The files of a valid folder."""
    path = write_mtme(made(), tmp_path_factory.mktemp("folder") / "set")
    found = [p for p in path.rglob("*") if p.is_file()]
    return Files({p.relative_to(path).as_posix(): p.read_bytes() for p in found})


def write_folder(path: Path, files: Mapping[str, bytes]) -> Path:
    path.mkdir()
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


NEW_NAMES = [
    "documents/zh-en.docs", "sources/en-de.jsonl", "sources/zh-en.txt", "references/en-de.x-y.txt",
    "references/en-de..txt", "system-outputs/en-de/X.txt", "system-outputs/en-de/.txt",
    "human-scores/en-de.mqm.doc.score", "human-scores/en-de.seg.score", "human-scores/en-de..score",
    "human-scores/en-de.mqm.9.seg.rating", "metric-scores/en-de/mqm.seg.score",
    "metric-scores/en-de/x.domain.score", "metric-scores/en-de/.seg.score",
]  # fmt: skip


@settings(max_examples=600)
@given(
    change=st.sampled_from(["damage", "damage", "drop", "rename", "swap", "empty", "copy"]),
    one=st.integers(0, 1 << 20),
    two=st.integers(0, 1 << 20),
    plan=plans,
    lp=st.sampled_from([None, None, "en-de"]),
)
def test_damaged_folders(
    fresh: Fresh,
    folder: Mapping[str, bytes],
    change: str,
    one: int,
    two: int,
    plan: Any,
    lp: str | None,
) -> None:
    files, names = dict(folder), sorted(folder)
    name, other = names[one % len(names)], names[two % len(names)]
    if change == "damage":
        files[name] = damage(files[name], plan)
    elif change == "drop":
        del files[name]
    elif change == "rename":
        files[NEW_NAMES[two % len(NEW_NAMES)]] = files.pop(name)
    elif change == "copy":
        files[NEW_NAMES[two % len(NEW_NAMES)]] = files[name]
    elif change == "swap":
        files[name], files[other] = files[other], files[name]
    else:
        files[name] = b""
    outcome(write_folder(fresh() / "set", files), lp=lp)


# No silent change of a value.


def bits(es: EvalSet) -> dict[tuple[str, str, str], bytes]:
    """Give the bits of every score by (score, system, segment), all NaN alike."""
    found = {}
    for name, table in es.scores.items():
        for i, system in enumerate(es.systems):
            for j, segment in enumerate(es.segments.ids):
                x = float(table.values[i, j])
                found[name, system, segment] = b"missing" if x != x else struct.pack("<d", x)
    return found


PLAIN = "system,segment,doc,source,x,y"


def plain_lines(kind: str) -> list[bytes]:
    """Give a table of one line per cell, without any quote: header first, where there is one."""
    rng = np.random.default_rng(7)
    lines = [] if kind == "jsonl" else [PLAIN.encode()]
    for system in ("A", "B"):
        for j in range(5):
            x, y = rng.standard_normal(2).tolist()
            names = {"system": system, "segment": f"s{j}", "doc": f"d{j // 2}", "source": f"t{j}"}
            row: dict[str, Any] = {**names, "x": x, "y": y}
            if kind == "jsonl":
                lines.append(json.dumps(row).encode())
            else:
                lines.append(",".join(str(cell) for cell in row.values()).encode())
    if kind == "tsv":
        lines = [line.replace(b",", b"\t") for line in lines]
    return lines


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
@settings(max_examples=80)
@given(
    row=st.integers(0, 9),
    plan=st.lists(step, min_size=1, max_size=2),
    fast=st.booleans(),
)
def test_undamaged_lines_keep_their_cells(
    fresh: Fresh, kind: str, row: int, plan: Any, fast: bool
) -> None:
    lines = plain_lines(kind)
    head = 0 if kind == "jsonl" else 1
    good = fresh() / f"x.{kind}"
    good.write_bytes(b"\n".join(lines) + b"\n")
    original = load(good)
    lines[head + row] = damage(lines[head + row], plan)
    bad = fresh() / good.name
    bad.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_FAST_FROM", 0 if fast else 1 << 60)
        found = outcome(bad)
    if found is None:
        return
    damaged = "AB"[row // 5], f"s{row % 5}"
    untouched = [key for key in bits(original) if key[1:] != damaged]
    after = bits(found)
    before = bits(original)
    assert {key: after.get(key) for key in untouched} == {key: before[key] for key in untouched}


@settings(max_examples=100)
@given(file=st.integers(0, 99), row=st.integers(0, 99), plan=st.lists(step, min_size=1, max_size=2))
def test_undamaged_lines_of_score_files_keep_their_cells(
    fresh: Fresh, folder: Mapping[str, bytes], file: int, row: int, plan: Any
) -> None:
    names = sorted(name for name in folder if name.endswith(".seg.score"))
    name = names[file % len(names)]
    lines = folder[name].split(b"\n")[:-1]
    row %= len(lines)
    damaged = [*lines[:row], damage(lines[row], plan), *lines[row + 1 :], b""]
    found = outcome(write_folder(fresh() / "set", {**folder, name: b"\n".join(damaged)}))
    if found is None:
        return
    system = lines[row].split(b"\t")[0].decode()
    place = [line.split(b"\t")[0].decode() for line in lines[:row]].count(system)
    before, after = bits(load(write_folder(fresh() / "good", folder))), bits(found)
    changed = {key for key in before if after.get(key) != before[key]}
    score = Path(name).name.removesuffix(".seg.score").removeprefix("en-de.")
    assert {key[1:] for key in changed} <= {(system, str(place))}
    assert {key[0] for key in changed} <= {score}
