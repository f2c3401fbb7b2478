"""Generated tables with answers that are known: a table is read right or refused, never wrong."""

from __future__ import annotations

import csv
import io
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.errors import SteelyardError

SHAPES = ("long", "wide", "files", "records", "lists", "objects", "nested", "responses")
NAMES = (("old", "new"), ("gpt-4o", "llama 3", "mistral"), ("Ünder", "Café"), ("7", "13", "70"))
WORDS = {"pass": ("PASS", "FAIL"), "yes": ("yes", "no"), "correct": ("correct", "incorrect"),
         "true": ("True", "False")}  # fmt: skip


@dataclass
class Case:
    """A table as somebody might have it, and the scores that it holds."""

    seed: int
    shape: str
    systems: tuple[str, ...]
    score: str
    ids: str
    kind: str
    delimiter: str
    decimal: str
    encoding: str
    noise: set[str]
    values: np.ndarray = field(repr=False)  # systems x items, NaN where missing

    def cell(self, value: float) -> str:
        """Write a score as a cell."""
        if np.isnan(value):
            return "N/A" if "words for missing" in self.noise else ""
        if self.kind in WORDS:
            return WORDS[self.kind][0 if value else 1]
        if self.kind == "percent":
            return f"{value:g}%".replace(".", self.decimal)
        if self.kind == "whole":
            return f"{value:g}"
        return repr(float(value)).replace(".", self.decimal)


def make(seed: int) -> Case:
    """Draw a case."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    text = shape in ("long", "wide", "files")
    delimiter = rng.choice([",", ",", ";", "\t"]) if text else ","
    decimal = "," if delimiter != "," and rng.random() < 0.5 else "."
    kind = rng.choice(["float", "float", "whole", "percent", *WORDS]) if text else "float"
    systems = rng.choice(NAMES)
    if shape in ("wide", "lists", "objects", "files"):
        systems = rng.choice(NAMES[:3])
    encoding = rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]) if text else "utf-8"
    noise = {name for name in ("index", "empty rows", "title", "average", "texts", "shuffled",
             "words for missing", "missing", "empty column") if rng.random() < 0.2}  # fmt: skip
    ids = rng.choice(["numbers", "words", "in documents", "in tasks", "uuid"])
    n = rng.choice([6, 12, 24])
    numbers = np.random.default_rng(seed)
    shape_of = (len(systems), n)
    if kind in WORDS:
        values = numbers.integers(0, 2, shape_of).astype(float)
        values[:, 0], values[:, 1] = 1, 0  # both words occur
    elif kind in ("whole", "percent"):
        values = numbers.integers(1, 100, shape_of).astype(float)
    else:
        values = np.round(numbers.normal(0.7, 0.2, shape_of), 4)
    if "missing" in noise:
        values[0, 3] = np.nan
    score = rng.choice(["score", "COMET", "accuracy", "judge_score", "Bewertung"])
    return Case(seed, shape, systems, score, ids, kind, delimiter, decimal, encoding, noise, values)


def item_cells(case: Case, item: int) -> dict[str, str]:
    """Return the columns that name an item."""
    if case.ids == "numbers":
        return {"id": str(item)}
    if case.ids == "words":
        return {"question_id": f"q-{item}"}
    if case.ids == "uuid":
        return {"example_id": f"{item:04x}-{item * 7919 % 65536:04x}"}
    outer = "doc" if case.ids == "in documents" else "task"
    return {outer: f"{outer}{item // 3}", "seg" if outer == "doc" else "item": str(item % 3 + 1)}


def delimited(case: Case, header: list[str], rows: list[list[str]]) -> bytes:
    """Write a delimited file with the noise of the case."""
    rng = random.Random(case.seed + 1)
    body = list(rows)
    if "shuffled" in case.noise:
        rng.shuffle(body)
    if "index" in case.noise:
        header = ["", *header]
        body = [[str(i), *row] for i, row in enumerate(body)]
    if "empty column" in case.noise:
        header = [*header, ""]
        body = [[*row, ""] for row in body]
    width = len(header)
    if "empty rows" in case.noise:
        body.insert(len(body) // 2, [""] * width)
    lines = [header, *body]
    if "title" in case.noise:
        lines.insert(0, ["# Results of the spring round", *[""] * (width - 1)])
    stream = io.StringIO()
    csv.writer(stream, delimiter=case.delimiter, lineterminator="\n").writerows(lines)
    return stream.getvalue().encode(case.encoding)


def write(case: Case, folder: Path) -> list[Path]:
    """Write the files of a case."""
    n = case.values.shape[1]
    texts = "texts" in case.noise
    if case.shape == "lists":
        data = {s: list(map(_json, row)) for s, row in zip(case.systems, case.values, strict=True)}
        return [_write(folder / "scores.json", json.dumps(data).encode())]
    if case.shape == "objects":
        by_id = {
            s: {f"q{i}": _json(v) for i, v in enumerate(row)}
            for s, row in zip(case.systems, case.values, strict=True)
        }
        return [_write(folder / "scores.json", json.dumps(by_id).encode())]
    if case.shape == "responses":
        lines = [
            json.dumps(
                {"id": i, "prompt": f"Tell me {i}"}
                | {"responses": [{"model": s, case.score: _json(case.values[k, i]), "text": "x y"}
                                 for k, s in enumerate(case.systems)]}
            )
            for i in range(n)
        ]  # fmt: skip
        return [_write(folder / "scores.jsonl", "\n".join(lines).encode())]
    if case.shape in ("records", "nested"):
        records = []
        for k, system in enumerate(case.systems):
            for i in range(n):
                value = _json(case.values[k, i])
                scores = {case.score: value}
                held = {"scores": scores} if case.shape == "nested" else scores
                more = {"question": f"What is {i}?", "answer": f"{system} {i}"} if texts else {}
                records.append({"model": system, **item_cells(case, i), **more, **held})
        return [_write(folder / "scores.json", json.dumps(records).encode())]
    if case.shape == "wide":
        header = [*item_cells(case, 0), *case.systems]
        rows = [
            [*item_cells(case, i).values(), *map(case.cell, case.values[:, i])] for i in range(n)
        ]
        if "average" in case.noise:
            means = [case.cell(round(float(np.nanmean(row)), 3)) for row in case.values]
            if case.kind not in WORDS:
                rows.append(["Average", *[""] * (len(item_cells(case, 0)) - 1), *means])
        return [_write(folder / "scores.csv", delimited(case, header, rows))]
    paths, rows = [], []
    for k, system in enumerate(case.systems):
        if case.shape == "files":
            rows = []
        for i in range(n):
            said = [f"What is {i}?", f"{system} says, {i}"] if texts else []
            name = [] if case.shape == "files" else [system]
            rows.append([*name, *item_cells(case, i).values(), *said, case.cell(case.values[k, i])])
        header = [*item_cells(case, 0), *(["question", "answer"] if texts else []), case.score]
        if case.shape == "files":
            paths.append(_write(folder / f"{system}.csv", delimited(case, header, rows)))
    if case.shape == "files":
        return paths
    return [_write(folder / "scores.csv", delimited(case, ["model", *header], rows))]


def _json(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def outcome(case: Case, folder: Path) -> str:
    """Read a case: ``right``, what was refused, or what is wrong."""
    try:
        es = sy.load(*map(str, write(case, folder)))
    except SteelyardError as error:
        return f"refused: {error}"
    if tuple(es.systems) != tuple(sorted(case.systems)):
        return f"WRONG systems {es.systems}"
    if len(es.scores) != 1:
        return f"WRONG scores {list(es.scores)}"
    (table,) = es.scores.values()
    order = [case.systems.index(name) for name in es.systems]
    expected = case.values[order]
    known = ~np.isnan(expected)
    if table.values.shape != expected.shape:
        return f"WRONG shape {table.values.shape} for {expected.shape}"
    scale = 100 if case.kind == "percent" and np.nanmax(table.values) <= 1 else 1
    read = table.values * scale
    if np.count_nonzero(~np.isnan(read)) != np.count_nonzero(known):
        return "WRONG number of values"
    # Items may have other names, but stand side by side as they did: compare rows of all systems.
    columns = sorted(map(tuple, np.nan_to_num(read.T, nan=-1).round(9)))
    if columns != sorted(map(tuple, np.nan_to_num(expected.T, nan=-1).round(9))):
        return "WRONG values"
    return "right"


def run(n: int, folder: Path, start: int = 0) -> dict[int, str]:
    """Read many cases."""
    results = {}
    for seed in range(start, start + n):
        home = folder / str(seed)
        home.mkdir()
        results[seed] = outcome(make(seed), home)
    return results


def _check(results: dict[int, str], least: float) -> None:
    wrong = {seed: said for seed, said in results.items() if said.startswith("WRONG")}
    assert not wrong
    right = sum(said == "right" for said in results.values())
    assert right >= least * len(results), {s: r for s, r in results.items() if r != "right"}


def test_tables_are_read_right_or_refused(tmp_path: Path) -> None:
    """No generated table gives a wrong number, and nearly all are read."""
    _check(run(60, tmp_path), 0.95)


@pytest.mark.thorough
def test_three_thousand_tables(tmp_path: Path) -> None:
    """The same, for many more."""
    _check(run(3000, tmp_path, 1000), 0.95)
