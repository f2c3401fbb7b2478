"""The demo's files tell one story: texts, errors, ratings, verdicts and battles fit each other."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from make_demo import __main__ as making
from steelyard.demo import embedded


def rows_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        if ".csv" in path.name:
            return list(csv.DictReader(file))
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def story() -> dict[str, dict[str, Any]]:
    return {line["seg"]: line for line in rows_of(embedded.TEXTS)}


@pytest.fixture(scope="module")
def es() -> sy.EvalSet:
    return embedded.demo_set(texts=True)


def test_texts_and_scores_are_of_the_same_systems_segments_and_documents(es, story):
    scores = embedded.demo_set()
    assert scores.systems == es.systems
    assert scores.segments.ids == es.segments.ids == tuple(story)
    assert scores.segments.documents == tuple(line["doc"] for line in story.values())
    assert scores.segments.domains == tuple(line["domain"] for line in story.values())
    for name, table in scores.scores.items():
        assert np.array_equal(table.values, es[name].values, equal_nan=True)


def test_the_score_of_people_is_the_mean_of_their_ratings(es):
    found = sy.human_scores(embedded.ERRORS, protocol="mqm", n_bootstrap=0).evalset
    judged = [i for i, v in zip(es.segments.ids, es["mqm"].values[0], strict=True) if v == v]
    assert set(found.segments.ids) == set(judged)
    assert len(judged) == 450
    same = es.select(segments=found.segments.ids)
    assert found.systems == same.systems
    assert found.segments.ids == same.segments.ids
    np.testing.assert_allclose(found["mqm"].values, same["mqm"].values, rtol=0, atol=1e-12)


def test_remaking_gives_the_same_files(tmp_path):
    made = making.write(tmp_path)
    assert {path.name for path in made} == {p.name for p in embedded.FILES} - {"entities.jsonl"}
    for path in made:
        shipped = embedded.FOLDER / path.name
        if path.suffix == ".gz":  # other builds of zlib pack the same otherwise
            one, other = gzip.decompress(path.read_bytes()), gzip.decompress(shipped.read_bytes())
        else:
            one, other = path.read_bytes(), shipped.read_bytes()
        mine, theirs = one.splitlines(), other.splitlines()
        assert len(mine) == len(theirs)
        # Another CPU may differ in the last bit, which can move a value over a rounding edge.
        allowed = len(mine) / 100 if path.name.startswith(("scores", "ratings")) else 1
        assert sum(a != b for a, b in zip(mine, theirs, strict=True)) < allowed, path.name
