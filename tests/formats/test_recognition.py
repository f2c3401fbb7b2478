"""What a file is taken for: every tool's by its own reader, plain tables by none of theirs."""

from __future__ import annotations

import gzip
import io
import re
import shutil
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pytest

from steelyard import EvalSet, compare_battles, load
from steelyard.core.errors import SteelyardError
from steelyard.formats import registry
from steelyard.formats.files import kept
from steelyard.formats.format import FileFormat
from steelyard.formats.reading import Reading, read_any
from steelyard.formats.view import FileView

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


@pytest.mark.parametrize("name", EXPECTED)
def test_one_reader_claims_a_file(name: str) -> None:
    """Readers of one tool may share a file, and the order of the registry decides; no others."""
    view = FileView(SAMPLES / name)
    seen = [f.name for f in registry.FORMATS if registry.readable(f) and _claims(f, view)]
    tools = {form.split()[0] for form in seen}
    assert seen[:1] in ([], [EXPECTED[name]])
    assert len(tools) <= 1, seen


def _claims(form: object, view: FileView) -> bool:
    return isinstance(form, FileFormat) and not form.folder and form.sees(view)


#: Tables of ours that have something of another tool's, and what each is.
PLAIN = {
    "votes.csv": ("model_a,model_b,winner\nA,B,model_a\nB,C,tie\n", "battle log"),
    "open.csv": ("model_a,model_b,winner,anony\nA,B,model_a,True\n", "battle log"),
    "votes.jsonl": ('{"model_a": "A", "model_b": "B", "winner": "model_a"}\n', "battle log"),
    "sides.csv": ("left,right,outcome\nA,B,left\nB,A,tie\n", "battle log"),
    "long.csv": ("system,segment,prediction\nA,1,0.5\nB,1,0.7\n", "long table"),
    "text.csv": ("system,segment,hypothesis,prediction\nA,1,t,0.6\nB,1,u,0.3\n", "long table"),
    "wide.csv": ("segment,hypothesis,prediction\n1,0.5,0.6\n2,0.4,0.3\n", "wide table"),
    "errors.csv": ("system,segment,category,severity\nA,1,Accuracy,Major\n", "error list"),
    "score.csv": ("system,segment,score\nA,1,0.5\nB,1,0.6\n", "long table"),
    "judge.csv": ("system,segment,judge\nA,1,0.5\nB,1,0.6\n", "long table"),
    "doc.csv": ("model,doc_id,acc\nA,1,0.5\nB,1,0.6\n", "long table"),
    "task.csv": ("system,segment,task,acc\nA,1,t,0.5\nB,1,t,0.6\n", "long table"),
    "epoch.csv": ("system,segment,epoch,acc\nA,1,1,0.5\nA,1,2,0.7\nB,1,1,0.6\n", "long table"),
    "id.csv": ("id,A,B\n1,0.5,0.6\n2,0.4,0.7\n", "wide table"),
    "texts.jsonl": (
        '{"source": "s", "hypothesis": "h", "system": "A", "segment": 1, "x": 0.5}\n', "long table"
    ),
    "spans.jsonl": (
        '{"source": "s", "hypothesis": "h", "errors": [], "system": "A", "seg": 1, "rater": "r"}\n',
        "error list",
    ),
    "list.json": (
        '[{"system": "A", "segment": 1, "x": 1}, {"system": "B", "segment": 1, "x": 0}]',
        "long table",
    ),
    "one.csv": ("system,segment,x\nA,1,0.5\n", "long table"),
    "appraise-like.csv": ("ann,sysA,12,TGT,eng,deu\n1,2,3,4,5,6\n2,2,3,4,5,6\n", "wide table"),
    "bleu.csv": ("system,BLEU,chrF2\nA,30.1,50\nB,32,51\n", "system table"),
    "bleu.json": ('[{"system": "A", "BLEU": 30.1}, {"system": "B", "BLEU": 31}]', "system table"),
    "name.jsonl": ('{"name": "A", "score": 0.5, "segment": 1}\n', "long table"),
    "rated.csv": ("rater,system,segment,score\nr,A,1,50\nr,B,1,60\n", "direct assessment"),
    "status.csv": ("system,segment,Status,Score,Named Scores\nA,1,1,2,3\nB,1,2,3,4\n",
                   "long table"),
    "stats.jsonl": ('{"instance_id": "i", "stats": 3, "system": "A", "x": 0.5}\n', "long table"),
    "won.csv": ("system,segment,winner_model_a,winner_tie\nA,1,0,1\nB,1,1,0\n", "long table"),
    "tgt.csv": ("tgt,scores\n1,2\n2,3\n", "long table"),
    "counted.csv": ("0,1,2\n0.5,0.6,0.7\n0.1,0.2,0.4\n", "wide table"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLAIN)
def test_no_reader_of_a_tool_takes_a_plain_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(PLAIN[name][0])
    assert outcome(path) == PLAIN[name][1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Hello world.\nGood day.\n", "no known format has columns Hello world."),
        ("0.5,0.6\n0.7,0.1\n0.1,0.2\n", "the first line holds numbers (0.5, 0.6), expected names"),
    ],
)
def test_neither_texts_nor_bare_numbers_are_tables(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.txt"
    path.write_text(content)
    assert re.match(rf"{re.escape(str(path))}:(1:)? {re.escape(message)}", outcome(path))


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
