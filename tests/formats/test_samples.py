"""Samples of other tools and files of ``readings.json`` hold what they should, value by value.

Those of ``refusals.json`` are refused with their line, and with words that name the field.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard import BattleLog, EvalSet, Rankings, Ratings, human_scores
from steelyard.formats.bitext import read_bitext, read_glossary
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.judged.battle_counts import read_counts
from steelyard.formats.reading import Reading, read_all, read_any
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

HERE = Path(__file__).parent
EXPECTED: dict[str, Any] = {
    name: expected
    for path in sorted((HERE / "expected").glob("*.json"))
    for name, expected in json.loads(path.read_text(encoding="utf-8")).items()
}

READINGS = json.loads((HERE / "readings.json").read_text(encoding="utf-8"))
REFUSALS = json.loads((HERE / "refusals.json").read_text(encoding="utf-8"))


def number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def judgements(ratings: Ratings) -> list[dict[str, Any]]:
    """Every rating by names, without what it does not have."""
    made = []
    for row in range(len(ratings)):
        rating: dict[str, Any] = {
            "who": [
                ratings.systems[ratings.system[row]],
                ratings.segments[ratings.segment[row]],
                ratings.raters[ratings.rater[row]],
            ],
            "value": number(ratings.value[row]),
        }
        if ratings.errors is not None and ratings.errors[row] is not None:
            rating["errors"] = [error.to_dict() for error in ratings.errors[row] or ()]
        if ratings.seconds is not None:
            rating["seconds"] = number(ratings.seconds[row])
        for name in ("item", "unit", "document", "wave", "domain"):
            column = getattr(ratings, name)
            rating |= {} if column is None else {name: column[row]}
        made.append(rating)
    return made


def contents(value: EvalSet | BattleLog | Ratings | Rankings | EntityAnnotations) -> dict[str, Any]:
    """Everything that a file holds, as JSON has it."""
    if isinstance(value, Ratings):
        return {"ratings": judgements(value)}
    if isinstance(value, EntityAnnotations):
        return {"sentences": value.systems, "lines": value.ids}
    if isinstance(value, Rankings):
        ranks = [[number(rank) for rank in row] for row in value.rank]
        names = [[value.systems[k] if k >= 0 else None for k in row] for row in value.system]
        return {"segments": value.segments, "raters": value.raters, "ranks": ranks, "names": names}
    if isinstance(value, BattleLog):
        weights = [1.0] * len(value) if value.weight is None else value.weight.tolist()
        units = [None] * len(value)
        if value.unit is not None and value.units is not None:
            units = [value.units[code] for code in value.unit]
        sides = ([value.systems[code] for code in side] for side in (value.left, value.right))
        rows = zip(*sides, value.outcome.tolist(), weights, units, strict=True)
        return {"battles": [list(row) for row in rows]}
    segments = value.segments
    scores = {}
    for name, table in value.scores.items():
        better = "higher" if table.higher_is_better else "lower"
        values: Any = [[number(x) for x in row] for row in table.values]
        if not table.has_segments:
            values = [number(x) for x in table.system_means()]
        scores[name] = {
            "kind": table.kind,
            "better": better if table.direction_given else "unknown",
            "values": values,
        }
    return {
        "systems": value.systems,
        "segments": segments.ids,
        "documents": segments.documents,
        "domains": segments.domains,
        "sources": segments.sources,
        "references": segments.references,
        "outputs": value.outputs,
        "scores": scores,
        **{f"ratings {name}": judgements(ratings) for name, ratings in value.ratings.items()},
    }


def in_any_order(contents: dict[str, Any]) -> dict[str, Any]:
    """Sort ratings: their order is that of a class, not of a file."""
    return {
        name: sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
        if name.startswith("ratings")
        else rows
        for name, rows in contents.items()
    }


@pytest.mark.parametrize("name", EXPECTED)
def test_a_sample_holds_what_it_should(name: str) -> None:
    form, value, _ = read_any(HERE / "samples" / name)
    found = json.loads(json.dumps({"format": form, **contents(value)}))
    assert in_any_order(found) == in_any_order(EXPECTED[name])


@pytest.mark.parametrize("case", READINGS, ids=lambda case: case["case"])
def test_a_file_is_read_right(case: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "x"
    for name, text in case["files"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    options = case.get("options", {})
    pairs = {n: tuple(map(tuple, options[n])) for n in ("where", "columns") if n in options}
    reading = Reading(**{**options, "scale": tuple(options.get("scale", ())), **pairs})
    paths = [folder] if case.get("folder") else [folder / name for name in case["files"]]
    (read,) = read_all(paths, reading)
    found = json.loads(json.dumps({"format": read.form, **contents(read.value)}))
    assert in_any_order(found) == in_any_order(case["expected"])


# What is refused.


def verdicts(path: Path, **options: Any) -> Any:
    how: dict[str, Any] = {"human": ("human",), **options}
    how |= {name: tuple(value) for name, value in options.items() if isinstance(value, list)}
    how |= {n: tuple(map(tuple, how[n])) for n in ("where", "columns") if n in how}
    return read_verdicts([path], VerdictReading(**how))


READERS: dict[str, Callable[..., Any]] = {
    "any": read_any,
    "battles": read_counts,
    "bitext": read_bitext,
    "esa": lambda path: human_scores(path, protocol="esa", n_bootstrap=0),
    "glossary": read_glossary,
    "verdicts": verdicts,
}


@pytest.mark.parametrize("case", REFUSALS, ids=lambda case: f"{case.get('reader', 'any')}")
def test_a_file_is_refused(
    case: dict[str, Any], tmp_path: Path, refusal: Callable[..., str]
) -> None:
    path = tmp_path / case["file"]
    path.write_bytes(case["text"].encode(case.get("encoding", "utf-8")))
    reader = READERS[case.get("reader", "any")]
    message = refusal(reader, path, **case.get("options", {}))
    if case["line"]:
        assert message.startswith(f"{path}:{case['line']}: ")
    for word in case["words"]:
        assert word in message
