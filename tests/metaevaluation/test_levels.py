"""Documents and domains in the place of segments."""

from __future__ import annotations

import csv
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.metaevaluation.data import pooled, prepare
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.scoring.surface import surface_table

LEVELS = ("doc", "domain")


def some(seed=0, n=5, s=60, docs=20, missing=0.1, **tables) -> sy.EvalSet:
    """Systems with documents of one to several segments, two domains, and gaps."""
    rng = np.random.default_rng(seed)
    codes = np.sort(rng.integers(0, docs, s))
    human = np.round(rng.normal(size=(n, 1)) + rng.normal(size=(n, s)), 1)
    human[rng.random((n, s)) < missing] = np.nan
    metric = np.round(np.nan_to_num(human) + rng.normal(size=(n, s)), 1)
    segments = sy.Segments(
        tuple(f"{k}" for k in range(s)),
        documents=tuple(f"d{c:02}" for c in codes),
        domains=tuple("ab"[c % 2] for c in codes),
    )
    scores = {"people": sy.ScoreTable(human, kind="human"), "m": sy.ScoreTable(metric),
              "less": sy.ScoreTable(-metric, higher_is_better=False)} | tables  # fmt: skip
    return sy.EvalSet(tuple("ABCDE"[:n]), segments, scores)


def naive(es: sy.EvalSet, score: str, level: str) -> dict[tuple[str, str | None], float]:
    """Mean score of each (system, document) over the segments that people scored there."""
    names = es.segments.documents if level == "doc" else es.segments.domains
    cells = defaultdict(list)
    for i, system in enumerate(es.systems):
        for k, name in enumerate(names or ()):
            value = es[score].values[i, k]
            if not np.isnan(es["people"].values[i, k]) and not np.isnan(value):
                cells[system, name].append(Fraction(str(value)))  # as on paper
    return {key: float(sum(own) / len(own)) for key, own in cells.items()}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_means_of_what_people_scored(level, seed):
    es = some(seed, missing=0.3)
    items, _ = pooled(prepare(es, "people", None, keep_references=True)[0], "people", level)
    ids = items.es.segments.ids
    for name in ("people", "m", "less"):
        means = naive(es, name, level)
        expected = [[means.get((system, item), np.nan) for item in ids] for system in es.systems]
        np.testing.assert_allclose(items.es[name].values, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("group_by", ["none", "item", "system"])
def test_values_are_those_of_a_set_whose_segments_are_documents(level, group_by):
    es = some()
    made = {name: naive(es, name, level) for name in ("people", "m", "less")}
    items = sorted({item or "" for _, item in made["people"]})
    scores = {
        name: sy.ScoreTable(
            np.array([[own.get((s, item), np.nan) for item in items] for s in es.systems]),
            kind="human" if name == "people" else "metric",
            higher_is_better=name != "less",
        )
        for name, own in made.items()
    }
    same = sy.EvalSet(es.systems, sy.Segments(tuple(items)), scores)
    by = ["acc-eq", "pearson", "kendall-b", "pdp"] if group_by == "item" else ["acc-eq", "pearson"]
    how = {"by": by, "group_by": group_by, "intervals": None}
    here = meta_evaluate(es, "people", level=level, **how)
    there = meta_evaluate(same, "people", level="seg", **how)
    for one in by:
        assert here.values(one) == pytest.approx(there.values(one), abs=1e-9)
    assert {result.level for result in here.results} == {level}
    assert here.level == level


def test_documents_are_what_is_drawn_and_swapped():
    es = some(s=120, docs=40)
    found = meta_evaluate(es, "people", by="acc-eq", level="doc", significance=True)
    assert (found.unit.name, found.unit.n) == ("document", len(es.documents))
    assert found.n_segments == 120
    assert all(result.ci is not None for result in found.results)


def test_few_domains_have_no_interval_and_say_so():
    found = meta_evaluate(some(), "people", by="pearson", level="domain", significance=True)
    assert all(result.ci is None for result in found.results)
    (told,) = [text for text in found.warnings if "too few" in text]
    assert told.startswith("level domain: 2 domains are too few for an interval")
    assert "no p-value can be below 0.25" in told
    drawn = meta_evaluate(some(), "people", by="pearson", level="domain", intervals="system")
    assert all(result.ci is not None for result in drawn.results)


def test_few_documents_likewise_and_domains_as_units_of_documents():
    found = meta_evaluate(some(docs=4), "people", by="pearson", level="doc")
    assert any("level doc: 4 documents are too few" in text for text in found.warnings)
    found = meta_evaluate(some(), "people", by="pearson", level="doc", unit="domain")
    assert (found.unit.name, found.unit.n) == ("domain", 2)


@pytest.mark.parametrize("unit", ["5", "prompt"])
def test_other_units_are_refused(unit):
    with pytest.raises(UsageError, match=f'unit="{unit}": at level doc, documents are what'):
        meta_evaluate(some(), "people", by="pearson", level="doc", unit=unit)
    with pytest.raises(UsageError, match='unit="document": at level domain'):
        meta_evaluate(some(), "people", by="pearson", level="domain", unit="document")


def test_what_knows_systems_alone_has_no_such_level():
    with pytest.raises(UsageError, match="'spa' compares systems: it has no level doc"):
        meta_evaluate(some(), "people", level="doc")


@pytest.mark.parametrize("level", LEVELS)
def test_unknown_documents_are_an_error_that_names_the_column(level):
    es = some()
    bare = sy.EvalSet(es.systems, sy.Segments(es.segments.ids), es.scores)
    with pytest.raises(UsageError, match=f'not known; expected a column "{level}"'):
        meta_evaluate(bare, "people", by="pearson", level=level)


def test_scores_that_are_stored_are_taken_and_named():
    es = some(missing=0.0)
    stored = np.arange(5 * len(es.documents), dtype=float).reshape(5, -1)
    table = sy.ScoreTable(es["m"].values, document_scores=stored)
    es = es.with_scores("m", table)
    data, _ = prepare(es, "people", ["m"], keep_references=True)
    found, told = pooled(data, "people", "doc")
    assert told == ["level doc: stored scores of 'm'"]
    order = [es.documents.index(name) for name in found.es.segments.ids]
    assert np.array_equal(found.es["m"].values, stored[:, order])


def test_corpus_metrics_are_scored_on_whole_documents():
    texts = {"A": ("the cat runs", "a dog", "one two"), "B": ("the cat sees", "a", "one three")}
    refs = {"refA": ("the cat runs", "a dog", "one two three")}
    segments = sy.Segments(("1", "2", "3"), documents=("x", "x", "y"), references=refs)
    es = sy.EvalSet(("A", "B"), segments, outputs=texts)
    people = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 1.0]])
    es = es.with_scores("people", people, kind="human")
    es = es.with_scores("chrf", surface_table(es, "chrf", None))
    data, _ = prepare(es, "people", ["chrf"], keep_references=True)
    found, _ = pooled(data, "people", "doc")
    stats = es["chrf"].statistics
    assert stats is not None
    for k, own in enumerate([[0, 1], [2]]):
        expected = stats.select(segments=own).corpus_scores()
        assert found.es["chrf"].values[:, k] == pytest.approx(expected)


def test_the_command_refuses_what_has_no_part(tmp_path, capsys):
    path = tmp_path / "set.parquet"
    sy.save(some(), path)
    asked = ["meta", str(path), "--human", "people", "--by", "pearson", "--level", "doc"]
    assert run([*asked, "--json", "--bootstrap", "20"]) == 0
    assert '"level": "doc"' in capsys.readouterr().out
    assert run([*asked, "--by-domain"]) == 2
    assert "--by-domain and --level doc" in capsys.readouterr().err
    assert run([*asked, "--plot", "scatter", "--out", str(tmp_path / "f.svg")]) == 2
    assert "--plot scatter shows systems or segments" in capsys.readouterr().err


@pytest.mark.parametrize("lp", ["en-de", "zh-en"])
def test_domain_scores_are_the_official_ones_of_wmt23(shared, lp):
    folder = shared / "wmt23-metrics"
    parts = ("human.csv.gz", "text.jsonl.gz")
    es = sy.load(*(folder / f"{lp}.{part}" for part in parts), human="mqm")
    es = es.with_scores("m", es["mqm"].values)
    data, _ = prepare(es, "mqm", ["m"], keep_references=True)
    found, _ = pooled(data, "mqm", "domain")
    places = {name: k for k, name in enumerate(found.es.segments.ids)}
    n = 0
    with (folder / f"{lp}.human.domain.csv").open() as file:
        for row in csv.DictReader(file):
            if row["gold"] == "mqm" and row["system"] in found.es.systems:
                value = found.human[found.es.systems.index(row["system"]), places[row["domain"]]]
                assert value == pytest.approx(float(row["score"]), abs=1e-9)
                n += 1
    assert n >= 12 * len(places)
