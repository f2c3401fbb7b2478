"""Damaged files of other tools: one line that names the file, or a set in which nothing moved.

Every sample that is recognised is damaged: its bytes, its lines, every value of its JSON. What is
still read holds the same bits for every record that was left alone.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import struct
import time
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import BattleLog, EvalSet, Ratings, compare_battles, human_scores, load
from steelyard.core.errors import DegenerateError, SteelyardError
from steelyard.formats.reading import read_all, read_any

SAMPLES = Path(__file__).parent / "samples"
SECONDS = 5  # of CPU for a file of some kilobytes: what takes longer hangs
LONGEST = 1000  # characters of a message, beside the name of the file
DATA = (".json", ".jsonl", ".csv", ".tsv", ".txt", ".eval", ".rating")
JUNK = (
    b"", b"inf", b"-inf", b"nan", b"None", b"1e999", b"1_0", b"x", b"\xff", b"\0", b'"', b"''",
    b"{}", b"[]", b"true", b"null", b"-0", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n",
    b"\t", b",", b"9" * 5000, b"[" * 5000, b'{"a":' * 5000, b"../x", b"\xed\xa0\x80", b'{"a":1}',
    b"1,2", b"\x1f\x8b", b"PAR1", b"PK\x03\x04", b" ", b"\\", b"\\ud800", b"\x1b[31m",
)  # fmt: skip


# What is in a file, so that it can be compared bit by bit.

Facts = dict[tuple[str, ...], list[Any]]


def bits(number: float) -> bytes:
    return b"missing" if number != number else struct.pack("<d", number)


def facts(value: Any) -> Facts:
    """Give all that was measured or judged, by (system, segment, what), or by both sides."""
    found: Facts = {}
    rows = _scores if isinstance(value, EvalSet) else _judged
    for key, *own in rows(value):
        found.setdefault(key, []).append(own)
    return {key: sorted(own, key=repr) for key, own in found.items()}


def _scores(es: EvalSet) -> Iterator[tuple[Any, ...]]:
    for (name, table), (i, system) in product(es.scores.items(), enumerate(es.systems)):
        if table.system_scores is not None:
            yield (system, "", name), bits(table.system_scores[i])
        for j, segment in enumerate(es.segments.ids):
            if not np.isnan(table.values[i, j]):
                yield (system, segment, name), bits(table.values[i, j])
    for name, ratings in es.ratings.items():
        for key, *own in _judged(ratings):
            yield (*key, name), *own


def _judged(held: Any) -> Iterator[tuple[Any, ...]]:
    for i in range(len(held) if isinstance(held, (Ratings, BattleLog)) else 0):
        if isinstance(held, Ratings):
            names = held.systems[held.system[i]], held.segments[held.segment[i]]
            errors = None if held.errors is None else held.errors[i]
            yield (*names, held.raters[held.rater[i]]), bits(held.value[i]), errors
        else:
            unit = "" if held.units is None or held.unit is None else held.units[held.unit[i]]
            weight = 1.0 if held.weight is None else held.weight[i]
            sides = held.systems[held.left[i]], held.systems[held.right[i]]
            yield (unit, *sides), bits(held.outcome[i]), bits(weight)


@cache
def known() -> dict[str, Any]:
    """What every sample that is recognised holds."""
    found = {}
    for path in sorted(SAMPLES.rglob("*")):
        name = path.relative_to(SAMPLES).as_posix()
        if path.suffix in DATA and not name.startswith("sacrebleu/sentence-level-A-score"):
            try:
                found[name] = read_any(path)[1]
            except SteelyardError:
                continue
    return found


def attempt(call: Callable[[Path], Any], path: Path) -> Any:
    """Call; a refusal in one line that begins with the file gives None, nothing else may happen."""
    start = time.process_time()
    try:
        return call(path)
    except SteelyardError as error:
        message = str(error)
        assert message.splitlines() == [message], message
        told = message.startswith(str(path)) or isinstance(error, DegenerateError)
        assert told, message  # what the data can't say is no fault of the file
        assert len(message) < LONGEST + len(str(path)), message
        assert not any(unicodedata.category(own) == "Cc" for own in message), message
        return None
    finally:
        assert time.process_time() - start < SECONDS


def calls(name: str) -> list[Callable[[Path], Any]]:
    """Give all that people do with a file of this kind."""

    def read(path: Path) -> Any:
        return read_any(path)[1]

    held = known()[name]
    if isinstance(held, BattleLog):
        return [read, lambda path: compare_battles(path, intervals=None)]
    if isinstance(held, Ratings):
        said: dict[str, Any] = {
            "protocol": "da" if held.errors is None else "mqm",
            "n_bootstrap": 2,
        }
        return [read, lambda path: human_scores(path, **said)]
    return [read, load]


# Bytes.


def cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: rng.integers(len(data))]


def flipped(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data)))
    return data[:place] + bytes([data[place] ^ (1 << int(rng.integers(8)))]) + data[place + 1 :]


def spliced(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data) + 1))
    until = place if rng.integers(2) else place + int(rng.integers(30))
    return data[:place] + JUNK[int(rng.integers(len(JUNK)))] + data[until:]


def lines_moved(data: bytes, rng: np.random.Generator) -> bytes:
    lines = data.split(b"\n")
    i, j, way = (int(one) for one in rng.integers((len(lines), len(lines), 3)))
    if way == 0:
        del lines[i]
    elif way == 1:
        lines.insert(j, lines[i])
    else:
        lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def packed(data: bytes, rng: np.random.Generator) -> bytes:
    whole = gzip.compress(data, mtime=0)
    return (cut if rng.integers(2) else flipped)(whole, rng)


def recoded(data: bytes, rng: np.random.Generator) -> bytes:
    codes = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig", "latin-1", "utf-7")
    text = data.decode("utf-8", errors="replace")
    return text.encode(codes[int(rng.integers(len(codes)))], errors="replace")


WAYS = (cut, flipped, spliced, spliced, lines_moved, packed, recoded)


def bytes_damaged(name: str, times: int, folder: Path) -> None:
    path = SAMPLES / name
    data = path.read_bytes()
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    target = folder / path.name
    for turn in range(times):
        damaged = WAYS[turn % len(WAYS)](data, rng)
        target.write_bytes(damaged)
        for call in calls(name)[: 2 if turn % 4 == 0 else 1]:
            attempt(call, target)


@pytest.mark.parametrize("name", known())
def test_damaged_bytes(name: str, tmp_path: Path) -> None:
    bytes_damaged(name, 7, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", known())
def test_damaged_bytes_many_times(name: str, tmp_path: Path) -> None:
    bytes_damaged(name, 500, tmp_path)


@pytest.mark.parametrize("data", [b"", b"\n", b"\0", b"\0" * 5000, *(3 * own for own in JUNK)])
@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "tsv", "txt", "eval", "seg.rating"])
def test_nothing_but_junk(data: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(data)
    attempt(load, path)
    attempt(lambda own: compare_battles(own, intervals=None), path)


# Values of JSON, at every place.

GONE, RENAMED, TWICE = object(), object(), object()
DEEP = json.loads("[" * 300 + "]" * 300)
BAD: tuple[Any, ...] = (
    GONE, RENAMED, TWICE, None, True, False, -1, 0, -7.5, 1e308, float("nan"), float("inf"),
    -float("inf"), "", "x", "system", "1e999", "nan", "1", "\ud800", "a\nb", "\x1b[0m", "x" * 300,
    [], {}, [None], [[]], {"score": []}, {"": 1}, 10**400, 10**20, 2**53 + 1, DEEP,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value[:2])
    for key, own in items:
        yield from places(own, (*path, key))


def changed(value: Any, place: tuple[Any, ...], bad: Any) -> Any:
    """Give a copy with another value at a place, or none, or under another key."""
    copy = value.copy()
    key = place[0]
    if len(place) > 1:
        copy[key] = changed(value[key], place[1:], bad)
    elif bad is GONE:
        del copy[key]
    elif bad is TWICE and isinstance(copy, list):
        copy.insert(key, copy[key])
    elif bad in (RENAMED, TWICE) and isinstance(copy, dict):
        copy = {f"{k}_x" if k == key else k: v for k, v in copy.items()}
    elif bad is not RENAMED:
        copy[key] = bad
    return copy


def json_damaged(name: str, folder: Path, often: float) -> int:
    """Put values into places, of all pairs so many; give how often the file was refused."""
    path = SAMPLES / name
    text = path.read_text(encoding="utf-8")
    lines = name.endswith("jsonl")
    value = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
    target = folder / path.name
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    pairs = [(place, bad) for place in places(value) for bad in BAD]
    chosen = rng.permutation(len(pairs))[: max(1, round(often))] if often else range(len(pairs))
    refused = 0
    for turn in chosen:
        broken = changed(value, *pairs[int(turn)])
        written = "\n".join(map(json.dumps, broken)) if lines else json.dumps(broken)
        target.write_text(written, encoding="utf-8")
        for call in calls(name)[: 2 if turn % 8 == 0 else 1]:
            refused += attempt(call, target) is None
    return refused


JSON = [name for name in known() if name.endswith((".json", ".jsonl"))]


@pytest.mark.parametrize("name", JSON)
def test_any_value_anywhere(name: str, tmp_path: Path) -> None:
    json_damaged(name, tmp_path, 20)


@pytest.mark.thorough
@pytest.mark.parametrize("name", JSON)
def test_every_value_everywhere(name: str, tmp_path: Path) -> None:
    assert json_damaged(name, tmp_path, 0) > 0


# Records: what happens to one must not reach another.


ALL = "*"


@dataclass(frozen=True)
class Records:
    """The records of a sample, and whom a record is of: facts that name one of these are its."""

    name: str
    of: Callable[[Any, int], set[str]]
    within: tuple[str, ...] = ()  # keys that lead to the list in a document
    wider: tuple[str, ...] = ()  # keys that say what other records are of, too
    by_place: bool = False  # a segment is its place, so that a record must stay where it is

    @property
    def text(self) -> str:
        return (SAMPLES / self.name).read_text(encoding="utf-8")

    def read(self) -> list[Any]:
        if self.name.endswith(".jsonl"):
            return [json.loads(line) for line in self.text.splitlines()]
        if self.name.endswith(".json"):
            value = json.loads(self.text)
            for key in self.within:
                value = value[key]
            return list(value)
        return list(csv.reader(io.StringIO(self.text, newline=""), **self._dialect))

    @property
    def _dialect(self) -> Any:
        if self.name.endswith(".csv"):
            return {}
        return {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}

    def place(self, folder: Path) -> Path:
        """Give the path of a copy, with the files beside it that say what the system is."""
        for path in (SAMPLES / self.name).parent.glob("*.json"):
            if path.name.startswith("results_"):
                shutil.copy(path, folder)
        return folder / Path(self.name).name

    def write(self, path: Path, records: list[Any]) -> Path:
        if self.name.endswith(".jsonl"):
            written = "".join(json.dumps(one) + "\n" for one in records)
        elif self.name.endswith(".json"):
            written = json.dumps(self._around(json.loads(self.text), self.within, records))
        else:
            stream = io.StringIO(newline="")
            csv.writer(stream, lineterminator="\n", **self._dialect).writerows(records)
            written = stream.getvalue()
        path.write_bytes(written.encode(errors="surrogatepass"))
        return path

    def _around(self, document: Any, keys: tuple[str, ...], records: list[Any]) -> Any:
        if not keys:
            return records
        return document | {keys[0]: self._around(document[keys[0]], keys[1:], records)}


def cell(*columns: int) -> Callable[[Any, int], set[str]]:
    return lambda row, _: {row[column] for column in columns if column < len(row)}


def key(*names: str) -> Callable[[Any, int], set[str]]:
    return lambda record, _: {str(record[name]) for name in names}


def place(first: int) -> Callable[[Any, int], set[str]]:
    return lambda _, index: {str(index + first)}


def of_turn(record: Any, _: int) -> set[str]:
    return {f"{record['question_id']}/{record['turn']}", str(record["question_id"])}


def of_pearmut(record: Any, _: int) -> set[str]:
    items = record.get("item", [])
    if record["annotation"] == "__RESET__":
        return {ALL}
    return {item.get("item_id", "") for item in items if isinstance(item, dict)}


INSPECT = "inspect/logs-json/2026-11-17T00-07-57-00-00_made-up_TDBuEtiqEWcfjoyx73SNWs.json"
LM_EVAL = "lm-eval/out/made-up-org__model-1/samples_made_up_{}_2026-11-17T00-16-45.330923.jsonl"
ALPACA = "alpaca-eval/results/beta/{}/annotations.json"
ARENA_HARD = "arena-hard/arena-hard-v{}/model_judgment/made-judge/alpha.jsonl"
PROMPTFOO = ("provider", "prompt", "promptId", "promptIdx", "testIdx", "testCase", "vars")
RECORDS = (
    Records(ALPACA.format("alpaca_eval_gpt4"), key("instruction")),
    Records(ALPACA.format("weighted_alpaca_eval_gpt4_turbo"), key("instruction")),
    Records("appraise/made-up.da.csv", cell(2)),
    Records("appraise/made-up.mqm.csv", cell(2)),
    Records(ARENA_HARD.format("0.1"), key("question_id")),
    Records(ARENA_HARD.format("2.0"), key("uid")),
    Records("chatbot-arena/arena-33k.jsonl", key("question_id")),
    Records("chatbot-arena/clean_battle_conv_20260101.json", key("question_id")),
    Records("chatbot-arena/kaggle-lmsys.csv", cell(3)),
    Records("comet/xcomet-two.json", place(0), ("sysA.txt",), by_place=True),
    Records("fastchat/model_judgment/made-judge_pair.jsonl", of_turn),
    Records("fastchat/model_judgment/made-judge_single.jsonl", of_turn),
    Records(INSPECT, key("id"), ("samples",)),
    Records(LM_EVAL.format("gen"), key("doc_id")),
    Records(LM_EVAL.format("mc"), key("doc_id")),
    Records("metricx/metricx24-output.jsonl", key("segment_id")),
    Records("metricx/metricx24-sysA-no-ids.jsonl", place(1), by_place=True),
    Records("mtme/standalone.ratings.jsonl", key("segment_id")),
    Records("pearmut/data/annotations/made_up_esa.jsonl", of_pearmut, wider=("user_id", "item_i")),
    Records("promptfoo/out.json", key("testIdx"), ("results", "results"), PROMPTFOO),
    Records("promptfoo/out.jsonl", key("testIdx"), wider=PROMPTFOO),
    Records("wmt-unified/genmt-humeval.jsonl", lambda r, _: {r["doc_id"].rpartition("_#_")[2]}),
)
TABLES = {".csv", ".tsv"}


def one_damaged(record: Any, rng: np.random.Generator) -> Any:
    """Damage a record of JSON, or a row, at one place."""
    bad = BAD[int(rng.integers(len(BAD)))]
    if isinstance(record, list):
        column = int(rng.integers(len(record)))
        junk = JUNK[int(rng.integers(len(JUNK)))].decode(errors="replace")
        words = [own for own in (junk, str(bad)) if not {"\t", "\n", "\r", '"'} & set(own)]
        return [*record[:column], words[0] if words else "x", *record[column + 1 :]]
    found = list(places(record))
    return changed(record, found[int(rng.integers(len(found)))], bad)


def untouched(before: Facts, owned: set[str]) -> Facts:
    """Give what is of other records; nothing where a record is about the whole file."""
    return {} if ALL in owned else {k: rows for k, rows in before.items() if not owned & set(k)}


def records_damaged(sample: Records, times: int, folder: Path) -> None:
    rng = np.random.default_rng(zlib.crc32(sample.name.encode()))
    records = sample.read()
    path = sample.place(folder)
    before = facts(read_any(sample.write(path, records))[1])
    assert before == facts(known()[sample.name]) or not sample.name.endswith("jsonl")
    head = 1 if Path(sample.name).suffix in TABLES and records[0][0] in HEADERS else 0
    for turn in range(times):
        row = int(rng.integers(head, len(records)))
        broken = list(records)
        if turn % 5 == 0 and not sample.by_place:
            del broken[row]
        elif turn % 5 == 1 and not sample.by_place:
            broken.insert(int(rng.integers(head, len(records))), records[row])
        else:
            broken[row] = one_damaged(records[row], rng)
        sample.write(path, broken)
        found = attempt(lambda own: read_all([own])[0], path)
        if found is None or any("not used: segment" in note for note in found.notes):
            continue
        after = facts(found.value)
        if any(own.get(k) != records[row].get(k) for k in sample.wider for own in broken[row:][:1]):
            continue
        owned = sample.of(records[row], row - head)
        with suppress(KeyError, TypeError, AttributeError):  # it may claim to be another one's
            owned |= sample.of(broken[row], row - head) if len(broken) == len(records) else set()
        for name, rows in untouched(before, owned).items():
            assert after.get(renamed(after, name)) == rows, (name, changes(records, broken))


def changes(records: list[Any], broken: list[Any]) -> list[str]:
    """Show what was done, where a test fails."""
    known = [json.dumps(one) for one in records]
    return [text[:600] for one in broken if (text := json.dumps(one)) not in known]


def renamed(after: Facts, name: tuple[str, ...]) -> tuple[str, ...]:
    """Give the name of a fact, if its segment is told from others by its document now.

    Or its system by its prompt: a note says so.
    """
    if name in after:
        return name
    known = (own for own in after if own[2:] == name[2:])
    return next(
        (
            own
            for own in known
            if (own[0] == name[0] and own[1].endswith(f"/{name[1]}"))
            or (own[1] == name[1] and own[0].startswith((f"{name[0]} [", f"{name[0]} #")))
        ),
        name,
    )


HEADERS = ("doc_id", "id", "annotation_id")


@pytest.mark.parametrize("sample", RECORDS, ids=lambda own: own.name)
def test_other_records_keep_their_bits(sample: Records, tmp_path: Path) -> None:
    records_damaged(sample, 15, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("sample", RECORDS, ids=lambda own: own.name)
def test_other_records_keep_their_bits_many_times(sample: Records, tmp_path: Path) -> None:
    records_damaged(sample, 1000, tmp_path)


@pytest.mark.parametrize("sample", RECORDS, ids=lambda own: own.name)
def test_the_order_of_records_does_not_matter(sample: Records, tmp_path: Path) -> None:
    if sample.by_place or "pearmut" in sample.name:  # whose later entries replace earlier ones
        return
    records = sample.read()
    head = 1 if Path(sample.name).suffix in TABLES and records[0][0] in HEADERS else 0
    turned = [*records[:head], *reversed(records[head:])]
    path = sample.write(sample.place(tmp_path), turned)
    assert facts(read_any(path)[1]) == facts(known()[sample.name])


def test_a_slip_in_one_row_makes_no_places_of_all_lines(tmp_path: Path) -> None:
    text = (SAMPLES / "appraise/made-up.da.csv").read_text(encoding="utf-8")
    path = tmp_path / "x.csv"
    path.write_text(text.replace(",doc1,", ",doc9,", 1), encoding="utf-8")
    assert read_any(path)[1].segments == known()["appraise/made-up.da.csv"].segments


@pytest.mark.parametrize(
    "sample", [own for own in RECORDS if own.name.endswith(("json", "jsonl"))], ids=lambda s: s.name
)
def test_a_refusal_names_the_line_and_the_key(sample: Records, tmp_path: Path) -> None:
    """Whatever else stands in one place of the record that has the most places."""
    records, path = sample.read(), sample.place(tmp_path)
    row = max(range(1, min(len(records), 8)), key=lambda k: len(list(places(records[k]))))
    start = f"{path}:{row + 1}: " if sample.name.endswith("jsonl") else f"{path}:"
    refusals = []
    for where in places(records[row]):
        for bad in ([5], {"x": 5}):
            sample.write(path, [*records[:row], changed(records[row], where, bad)])
            try:
                read_any(path)
            except SteelyardError as error:
                refusals.append((str(error), [key for key in where if isinstance(key, str)]))
    assert len(refusals) > 6
    for message, keys in refusals:
        assert message.startswith(start)
        assert any(key in message for key in keys), message
