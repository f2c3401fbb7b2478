"""What a file is taken for: every tool's by its own reader, plain tables by none of theirs."""

from __future__ import annotations

import gzip
import io
import shutil
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard import EvalSet, compare_battles, load
from steelyard.core.errors import SteelyardError
from steelyard.formats import registry
from steelyard.formats.files import kept
from steelyard.formats.reading import Reading, read_any

SAMPLES = Path(__file__).parent / "samples"
DEMO = Path(registry.__file__).parents[1] / "demo"

#: Names of files, and the format that reads each; the first that fits holds.
FORMATS = {
    "alpaca-eval/**/annotations.json": "AlpacaEval annotations",
    "appraise/*.da.csv": "Appraise direct assessment",
    "appraise/*.csv": "Appraise",
    "arena-hard/**/*.jsonl": "Arena-Hard judgments",
    "chatbot-arena/*.csv": "Chatbot Arena Kaggle votes",
    "chatbot-arena/*.json*": "Chatbot Arena votes",
    "comet/*.json": "COMET scores",
    "fastchat/**/*_pair.jsonl": "FastChat pairs",
    "fastchat/**/*_single.jsonl": "FastChat scores",
    "inspect/**/*.json": "Inspect log",
    "inspect/**/*.eval": "Inspect log",
    "lm-eval/**/samples_*.jsonl": "lm-evaluation-harness samples",
    "metricx/*.jsonl": "MetricX output",
    "mtme/**/*.seg.rating": "mt-metrics-eval ratings",
    "mtme/*.ratings.jsonl": "mt-metrics-eval standalone ratings",
    "pearmut/annotations.json": "pearmut",
    "pearmut/**/annotations/*.jsonl": "pearmut",
    "promptfoo/*.json*": "promptfoo results",
    "sacrebleu/*.json": "sacreBLEU scores",
    "sacrebleu/one-system-score-only.txt": "plain scores",
    "sacrebleu/sentence-level-A-*score-only*.txt": "plain scores",
    "wmt-unified/*.jsonl": "WMT unified",
}


def expected() -> dict[str, str]:
    found: dict[str, str] = {}
    for pattern, form in FORMATS.items():
        for path in sorted(SAMPLES.glob(pattern)):
            found.setdefault(path.relative_to(SAMPLES).as_posix(), form)
    return found


EXPECTED = expected()
DATA = (".json", ".jsonl", ".csv", ".tsv", ".txt", ".eval", ".rating")
OTHERS = [
    name
    for path in sorted(SAMPLES.rglob("*"))
    if path.suffix in DATA and (name := path.relative_to(SAMPLES).as_posix()) not in EXPECTED
]


def outcome(path: Path) -> str:
    """Give the format that a file is read as, or the line that refuses it."""
    try:
        return read_any(path)[0]
    except SteelyardError as error:
        message = str(error)
        assert message.splitlines() == [message]
        assert message.startswith(str(path))
        return message


@pytest.mark.parametrize("name", EXPECTED)
def test_every_sample_is_of_its_format(name: str) -> None:
    assert outcome(SAMPLES / name) == EXPECTED[name]


@pytest.mark.parametrize("name", OTHERS)
def test_what_lies_beside_logs_is_no_log(name: str) -> None:
    """Settings, summaries and texts are refused, or tables of whatever numbers they hold."""
    assert outcome(SAMPLES / name) not in EXPECTED.values()


@pytest.mark.parametrize("new", ["x.json", "x.jsonl", "x.txt", "x.csv", "x.tsv", "x", "x.csv.gz"])
@pytest.mark.parametrize("name", EXPECTED)
def test_another_name_is_no_other_format(name: str, new: str, tmp_path: Path) -> None:
    """A name may hide what a file is, with a word about it; no other reader takes it then."""
    data = (SAMPLES / name).read_bytes()
    path = tmp_path / new
    path.write_bytes(gzip.compress(data) if new.endswith(".gz") and data[:2] != b"PK" else data)
    found = outcome(path)
    kind = new.removesuffix(".gz").removeprefix("x").removeprefix(".")
    is_json = data.lstrip()[:1] in (b"{", b"[") and not name.endswith("seg.rating")
    if data[:2] == b"PK" or kind in ("txt", "") or (is_json and kind in ("json", "jsonl")):
        assert found == EXPECTED[name]
    elif is_json:
        said = f"is JSON, though its name says .{kind}: rename it to .json or .jsonl"
        assert found == f"{path}: {said}"
    elif kind in ("json", "jsonl"):
        assert found == EXPECTED[name] or "JSON" in found
    else:  # commas in a .tsv, which tabs should separate
        assert found == EXPECTED[name] or (kind == "tsv" and found.startswith(f"{path}: "))


@pytest.mark.parametrize("name", EXPECTED)
def test_standard_input(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO((SAMPLES / name).read_bytes())
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=stream))
    with kept():
        assert outcome(Path("-")) == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("entities.jsonl", "text"),
        ("errors.jsonl.gz", "error list"),
        ("ratings.csv.gz", "direct assessment"),
        ("scores.csv.gz", "long table"),
        ("system-scores.csv", "system table"),
    ],
)
def test_the_data_that_come_with_us(name: str, form: str) -> None:
    where = (("lp", "cs-en"),) if name.startswith("entities") else ()
    assert read_any(DEMO / name, Reading(where))[0] == form


# Neither the order of files nor the time matters.

TOGETHER = {
    "lm-eval/out": {"task": "made_up_mc"},
    "inspect/logs-eval": {},
}


def same_sets(one: EvalSet, two: EvalSet) -> None:
    assert (one.systems, one.segments) == (two.systems, two.segments)
    assert one.outputs == two.outputs
    assert list(one.scores) == list(two.scores)
    for name, table in one.scores.items():
        assert table.values.tobytes() == two[name].values.tobytes()
        assert table.higher_is_better == two[name].higher_is_better


def said(es: EvalSet) -> list[str]:
    """Give the notes without the files, of which the first that was given is named."""
    return sorted(note.partition(": ")[2] for note in es.notes)


@pytest.mark.parametrize("name", TOGETHER)
def test_files_in_any_order(name: str) -> None:
    where = TOGETHER[name]
    whole = load(SAMPLES / name, where=where)
    paths = [Path(own.path) for own in whole.inputs]
    assert len(paths) > 1
    for order in permutations(paths):
        found = load(*order, where=where)
        same_sets(found, whole)
        assert said(found) == said(whole)
    again = load(SAMPLES / name, where=where)
    same_sets(again, whole)
    assert again.notes == whole.notes


@pytest.mark.parametrize("name", ["alpaca-eval", "arena-hard/arena-hard-v2.0"])
def test_battles_in_any_order(name: str, tmp_path: Path) -> None:
    """Files of a folder are read by name: other names, another order of rows, the same counts."""
    paths = sorted(path for path in (SAMPLES / name).rglob("*.json*") if path.is_file())
    found = []
    for turn, order in enumerate((paths, paths[::-1])):
        for place, path in enumerate(order):
            folder = tmp_path / str(turn) / str(place)
            folder.mkdir(parents=True)
            shutil.copy(path, folder)
        found.append(compare_battles(tmp_path / str(turn), intervals=None))
    one, two = found
    assert one.systems == two.systems
    assert one.n_battles == two.n_battles
    for by in one.aggregations:
        assert one.aggregations[by].scores.tolist() == two.aggregations[by].scores.tolist()
