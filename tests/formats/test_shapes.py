"""Tables as people have them: each is read right, or refused with a question; never wrong."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import InputError, SteelyardError, UsageError
from steelyard.formats.load import read

A, B = [0.5, 0.25, 1.0, 0.75, 0.5, 0.0], [0.75, 0.5, 1.0, 0.5, 1.0, 0.25]
MEANS = {"A": np.mean(A), "B": np.mean(B)}
LONG = [(s, k, x) for s, xs in (("A", A), ("B", B)) for k, x in enumerate(xs)]


def means(*sources: Any, score: str | None = None, **options: Any) -> dict[str, float]:
    es = sy.load(*sources, **options)
    table = es[score] if score else next(iter(es.scores.values()))
    return dict(zip(es.systems, table.system_means().tolist(), strict=True))


def values(es: sy.EvalSet, score: str) -> Any:
    return es.scores[score].values.tolist()  # noqa: PD011 - no frame


def lines(rows: list[tuple[Any, ...]], sep: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=sep, lineterminator="\n").writerows(rows)
    return text.getvalue()


def percent(x: float) -> str:
    return f"{100 * x:g} %"


WIDE = list(zip(A, B, strict=True))
#: Contents of a file, its name, and what must be said of it.
SHAPES: dict[str, tuple[str, str | bytes, dict[str, Any]]] = {
    "pandas index": ("x.csv", lines([("", "A", "B"), *((k, *r) for k, r in enumerate(WIDE))]), {}),
    "index of a long table": ("x.csv", lines([("", "system", "seg", "x"),
                              *((k, *r) for k, r in enumerate(LONG))]), {}),
    "decimal commas": ("x.csv", lines([("System", "Segment", "COMET"),
                       *((s, k, str(x).replace(".", ",")) for s, k, x in LONG)], ";"), {}),
    "utf-16": ("x.csv", lines([("system", "segment", "x"), *LONG], "\t").encode("utf-16"), {}),
    "titles and empty lines": ("x.csv", "# round 2, exported in May\n,,,\n"
                               + lines([("System", "Item", "Score", ""),
                                        *((*r, "") for r in LONG)]) + ",,,\n", {}),
    "an average below": ("x.csv", lines([("segment", "A", "B"),
                         *((k, *r) for k, r in enumerate(WIDE)), ("Average", 0.5, 0.6667)]), {}),
    "a mean below": ("x.csv", lines([("segment", "A", "B"),
                     *((k, *r) for k, r in enumerate(WIDE)),
                     (len(WIDE), round(MEANS["A"], 3), round(MEANS["B"], 3))]), {}),
    "missing words": ("x.csv", lines([("system", "segment", "x"), *LONG, ("A", 9, "N/A"),
                      ("B", 9, "-")]), {}),
    "texts beside": ("x.csv", lines([("model", "question", "answer", "judge_score", "reason"),
                     *((s, f"What is {k}?", f"{s} says {k}", x, f"because, {x}")
                       for s, k, x in LONG)]), {}),
    "ids within documents": ("x.csv", lines([("system", "doc", "seg", "x"),
                             *((s, f"d{k // 3}", k % 3, x) for s, k, x in LONG)]), {}),
    "items within tasks": ("x.csv", lines([("model", "task", "item", "x"),
                           *((s, f"t{k // 3}", k % 3, x) for s, k, x in LONG)]), {}),
    "seeds of tasks": ("x.csv", lines([("model", "seed", "task", "x"),
                       *((s, k % 2, k // 2, x) for s, k, x in LONG)]), {}),
    "names of our language": ("x.csv", lines([("Modell", "Aufgabe", "Note"),
                              *((s, f"k{k}", x) for s, k, x in LONG)]), {}),
    "lists": ("x.json", json.dumps({"A": A, "B": B}), {}),
    "objects": ("x.json", json.dumps({s: {f"q{k}": x for t, k, x in LONG if t == s}
                                      for s in "AB"}), {}),
    "objects by item": ("x.json", json.dumps({f"q{k}": {"A": a, "B": b}
                                              for k, (a, b) in enumerate(WIDE)}), {}),
    "records under a key": ("x.json", json.dumps({"when": "May", "results": [
        {"model": s, "qid": k, "score": x} for s, k, x in LONG]}), {}),
    "nested scores": ("x.jsonl", "".join(json.dumps(
        {"id": k, "model": s, "scores": {"comet": x, "why": {"text": "t"}}}) + "\n"
        for s, k, x in LONG), {}),
    "answers in a list": ("x.jsonl", "".join(json.dumps({"id": k, "responses": [
        {"model": "A", "score": a}, {"model": "B", "score": b}]}) + "\n"
        for k, (a, b) in enumerate(WIDE)), {}),
    "a pivot of two scores": ("x.csv", lines([
        ("", "x", "x", "y", "y"), ("system", "A", "B", "A", "B"), ("seg", "", "", "", ""),
        *((k, a, b, 2 * a, 2 * b) for k, (a, b) in enumerate(WIDE))]), {}),
    "models called by numbers": ("x.csv", lines([("model", "id", "x"),
                                 *((int(s == "B"), k, x) for s, k, x in LONG)]), {}),
    "one quoted thousand": ("x.csv", lines([("model", "case", "tokens", "x"),
                            *((s, k, f"{1000 + 1000 * x:,.0f}", 0.5) for s, k, x in LONG)]), {}),
}  # fmt: skip
SCALED: dict[str, Callable[[float], float]] = {"one quoted thousand": lambda x: 1000 + 1000 * x}
RENAMED = {"models called by numbers": {"A": "0", "B": "1"}}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_read_right(name: str, tmp_path: Path) -> None:
    file, content, options = SHAPES[name]
    path = tmp_path / file
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    scale = SCALED.get(name, lambda x: x)
    names = RENAMED.get(name, {"A": "A", "B": "B"})
    expected = {names[s]: scale(mean) for s, mean in MEANS.items()}
    assert means(path, **options) == pytest.approx(expected)


KINDS = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx")


def written(path: Path, columns: Any) -> Path:
    frame = pd.DataFrame(columns)
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        lines = path.suffix == ".jsonl"
        frame.to_json(path, orient="records", lines=lines)
    return path


@pytest.mark.parametrize("old", KINDS)
@pytest.mark.parametrize("new", KINDS)
def test_a_file_for_each_system(old: str, new: str, tmp_path: Path) -> None:
    order = [3, 1, 0, 5, 4, 2]
    one = {"id": list(range(6)), "answer": ["x"] * 6, "correct": A}
    two = {"correct": [B[k] for k in order], "note": ["y"] * 6, "id": order}
    paths = written(tmp_path / f"A.{old}", one), written(tmp_path / f"B.{new}", two)
    es = sy.load(*paths)
    assert es.systems == ("A", "B")
    assert values(es, "correct") == [A, B]


def test_a_damaged_spreadsheet_is_refused_or_the_same(tmp_path: Path) -> None:
    path = written(tmp_path / "x.xlsx", {"system": ["A", "B"], "segment": [1, 1], "x": [0.5, 0.25]})
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(100):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(data[: rng.integers(len(data))] if rng.random() < 0.3 else data))
        try:
            found = means(path)
        except SteelyardError:
            continue
        assert found == {"A": 0.5, "B": 0.25}


def test_files_are_matched_by_texts_or_by_rows(tmp_path: Path) -> None:
    order = [3, 1, 0, 5, 4, 2]
    texts = [f"Tell me of {k}" for k in range(6)]
    one = written(tmp_path / "A.csv", {"input": texts, "response": texts, "f1": A})
    shuffled = {"input": [texts[k] for k in order], "f1": [B[k] for k in order]}
    es = sy.load(one, written(tmp_path / "B.csv", shuffled))
    assert values(es, "f1") == [A, B]
    (tmp_path / "runs" / "B").mkdir(parents=True)
    plain = written(tmp_path / "A.csv", {"f1": A, "latency": B})
    es = sy.load(plain, written(tmp_path / "B.csv", {"f1": B, "latency": A}))
    assert values(es, "f1") == [A, B]
    assert any("matched by their order" in note for note in es.notes)
    short = written(tmp_path / "B.csv", {"f1": B[:5], "latency": A[:5]})
    with pytest.raises(InputError, match="5 rows, but"):
        sy.load(plain, short)


def test_folders_name_systems_of_equal_files(tmp_path: Path) -> None:
    paths = []
    for name, values in (("A", A), ("B", B)):
        (tmp_path / name).mkdir()
        columns = {"id": list(range(6)), "score": values}
        paths.append(written(tmp_path / name / "results.csv", columns))
    assert means(*paths) == pytest.approx(MEANS)
    assert means(tmp_path) == pytest.approx(MEANS)


def test_a_folder_of_parts_is_one_table(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for part in range(2):
        rows = LONG[part::2]
        columns = {"model": [r[0] for r in rows], "idx": [r[1] for r in rows],
                   "ok": [r[2] for r in rows]}  # fmt: skip
        written(tmp_path / "data" / f"train-0000{part}-of-00002.parquet", columns)
    assert means(tmp_path) == pytest.approx(MEANS)


def test_measures_are_never_ranked_as_systems(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path / "x.csv", {"id": list(range(6)), "faithfulness": A, "relevance": B})
    assert run(["compare", str(path)]) == 2
    assert "--systems faithfulness,relevance" in capsys.readouterr().err
    assert run(["data", "info", str(path)]) == 0
    assert means(path, systems=["faithfulness", "relevance"])["relevance"] == MEANS["B"]


@pytest.mark.parametrize("name", ["ref", "src", "domain"])
def test_a_system_called_like_a_text_does_not_vanish(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", {"segment": list(range(6)), name: A, "ours": B})
    assert means(path) == pytest.approx({name: MEANS["A"], "ours": MEANS["B"]})


def test_ratings_with_a_column_per_system(tmp_path: Path) -> None:
    columns = {"annotator": ["p"] * 6 + ["q"] * 6, "item": [*range(6)] * 2, "sysA": A + A,
               "sysB": B + B}  # fmt: skip
    ratings = read([written(tmp_path / "x.csv", columns)]).only
    assert ratings is not None
    assert ratings.value.systems == ("sysA", "sysB")
    assert len(ratings.value) == 24


@pytest.mark.parametrize("source", [
    {"A": A, "B": B},
    {"A": np.array(A), "B": np.array(B)},
    {"A": pd.Series(A, index=list("uvwxyz")), "B": pd.Series(B, index=list("uvwxyz"))},
    {s: {f"q{k}": x for t, k, x in LONG if t == s} for s in "AB"},
])  # fmt: skip
def test_mappings_of_columns(source: Any) -> None:
    assert means(source) == pytest.approx(MEANS)
    assert sy.load(np.array([A, B])).n_systems == 2


@pytest.mark.parametrize("columns", [{"A": [1.0], "B": [1.0, 2.0]}, {"A": 3}, {"A": "x"}])
def test_mappings_that_are_none(columns: Any) -> None:
    with pytest.raises((InputError, UsageError)):
        sy.load(columns)


@pytest.mark.parametrize("name", ["19.csv", "21.csv", "22.csv", "30.csv"])
def test_info_shows_any_table(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {
        "19.csv": "question_id,model_a,model_b,human,gpt4\n1,A,B,A,B\n2,B,A,C,A\n",
        "21.csv": "rater,system,doc,seg,score\na,A,d,1,50\na,B,d,1,60\n",
        "22.csv": "left,right\nA,B\n",
        "30.csv": "rater,text,mood\nr1,a,good\nr2,b,bad\n",
    }
    path = tmp_path / name
    path.write_text(texts[name])
    assert run(["data", "info", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["path"] == str(path)


# Many tables with known answers.
