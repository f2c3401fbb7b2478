"""Every meta-metric has its test: schemes, corrections, clusters, through one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.table import dumps
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.stats.metametrics.registry import METAMETRICS
from steelyard.stats.paired.corrections import adjust_pairs, williams
from steelyard.studies.distinct import count_distinct

NAN = float("nan")


def small(n=6, s=30, seed=0, missing=0.0):
    """Three metrics of falling quality on a small set."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.4, n)[:, None] + rng.normal(size=(n, s))
    human = np.round(quality + rng.normal(0, 0.3, (n, s)))
    scores = {"mqm": sy.ScoreTable(human, kind="human")}
    for k, noise in enumerate((0.2, 0.7, 3.0)):
        own = quality + rng.normal(0, noise, (n, s))
        own[rng.random((n, s)) < missing] = NAN
        scores[f"m{k}"] = sy.ScoreTable(own)
    systems = tuple(f"s{i}" for i in range(n))
    return sy.EvalSet(systems, sy.Segments(tuple(str(i) for i in range(s))), scores)


@pytest.mark.parametrize("name", sorted(METAMETRICS))
@pytest.mark.parametrize("scheme", ["inputs", "cells", "systems"])
def test_every_meta_metric_has_a_test_under_every_scheme(name, scheme):
    es = small(s=12)
    for level in METAMETRICS[name].levels:
        for group_by in ["item", "none", "system"] if level == "seg" else [None]:
            how: Any = {"level": level, "group_by": group_by}
            result = meta_evaluate(
                es,
                "mqm",
                by=name,
                **how,
                intervals=None,
                significance=sy.metric_test(scheme=scheme, n_resamples=5),
                rules=sy.meta_rules(threshold=0),
            )
            test = result.significance[name]
            off = ~np.eye(3, dtype=bool)
            assert ((test.p[off] > 0) & (test.p[off] <= 1)).all(), (level, group_by)
            assert all(r.rank is not None for r in result.results)


@pytest.mark.parametrize(
    ("published", "scheme"),
    [("PERM-INPUTS", "inputs"), ("perm-systems", "systems"), ("Perm-Both", "cells")],
)
def test_published_names_of_schemes(published, scheme):
    es = small(s=12)
    one, two = (
        meta_evaluate(es, "mqm", by="pa", significance=sy.metric_test(scheme=name, n_resamples=20))
        for name in (published, scheme)
    )
    assert dumps(one.to_dict()) == dumps(two.to_dict())
    assert one.significance["pa"].scheme == scheme
    studies = [count_distinct(es, "mqm", scheme=n, n_resamples=20) for n in (published, scheme)]
    assert len({dumps(study.to_dict()) for study in studies}) == 1


def test_recomputed_draws_are_few_by_default_and_said_to_be():
    result = meta_evaluate(small(s=12), "mqm", by="kendall-b", level="seg", group_by="none",
                           significance=True, intervals=None)  # fmt: skip
    assert result.significance["kendall-b"].n_resamples == 200
    assert any("200 slow draws" in text for text in result.warnings)


@pytest.mark.parametrize("level", ["sys", "seg"])
def test_williams_through_the_call(level):
    es = small()
    result = meta_evaluate(
        es,
        "mqm",
        by="pearson",
        level=level,
        intervals=None,
        significance=sy.metric_test(scheme="williams"),
    )
    test = result.significance["pearson"]
    flat = (lambda x: x.mean(axis=1)) if level == "sys" else np.ravel
    h, a, b = (flat(es[name].values) for name in ("mqm", *test.metrics[:2]))
    r = np.corrcoef([h, a, b])
    assert test.p[0, 1] == pytest.approx(float(williams(r[0, 1], r[0, 2], r[1, 2], len(h))))
    assert test.scheme == "williams"


def test_a_scheme_that_does_not_fit_is_said_to_be_so():
    result = meta_evaluate(
        small(),
        "mqm",
        by=["spa", "pearson"],
        intervals=None,
        significance=sy.metric_test(scheme="williams"),
    )
    assert "spa: there is no test of differences by 'williams'" in result.warnings
    assert list(result.significance) == ["pearson"]


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "benjamini-hochberg"])
def test_corrected_p_values_make_the_clusters(correction):
    options: dict[str, Any] = {"by": "acc-eq", "intervals": None}
    raw = meta_evaluate(small(), "mqm", **options, significance=True).significance["acc-eq"]
    assert raw.p_adjusted is None
    found = meta_evaluate(
        small(), "mqm", **options, significance=sy.metric_test(correction=correction)
    )
    test = found.significance["acc-eq"]
    np.testing.assert_array_equal(test.p, raw.p)
    np.testing.assert_array_equal(test.p_adjusted, adjust_pairs(raw.p, correction, symmetric=False))
    assert test.to_dict()["correction"] == correction
    assert (test.p_adjusted >= test.p)[~np.eye(3, dtype=bool)].all()


def exchangeable(seed, n=8, s=60):
    """Two metrics that err in ways of their own on whole segments, swapped segment by segment.

    After the swaps neither is better than the other, whatever they are.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 0.5, (n, 1)) + rng.normal(size=(n, s))
    human = np.round(quality + rng.normal(0, 1, (n, s)))
    one = quality * rng.gamma(1, 1, (1, s)) + rng.normal(0, 0.5, (n, s))
    two = quality * rng.gamma(1, 1, (1, s)) + rng.normal(0, 0.5, (n, s))
    swap = rng.random(s) < 0.5
    scores = {"h": sy.ScoreTable(human, kind="human")}
    scores["a"] = sy.ScoreTable(np.where(swap, two, one))
    scores["b"] = sy.ScoreTable(np.where(swap, one, two))
    systems = tuple(f"s{i}" for i in range(n))
    return sy.EvalSet(systems, sy.Segments(tuple(str(i) for i in range(s))), scores)


def rejected(scheme, by, trials, **options):
    """Share of true nulls that a scheme rejects at 5 %, and whether it says that it may be off."""
    count, told = 0, False
    for seed in range(trials):
        found = meta_evaluate(
            exchangeable(seed),
            "h",
            by=by,
            intervals=None,
            rng=seed,
            **options,
            significance=sy.metric_test(scheme=scheme, n_resamples=99),
        )
        test = found.significance[by]
        a, b = (test.metrics.index(name) for name in "ab")
        count += test.p[a, b] <= 0.05
        told = told or test.note is not None
    return count / trials, told


SEGMENTS: dict[str, Any] = {"level": "seg", "group_by": "none"}


@pytest.mark.parametrize(
    ("scheme", "by", "options"),
    [("inputs", "acc-eq", {}), ("inputs", "pearson", SEGMENTS), ("cells", "pearson", SEGMENTS)],
)  # fmt: skip
def test_a_scheme_keeps_its_level_or_says_that_it_does_not(scheme, by, options):
    share, told = rejected(scheme, by, 200, **options)
    assert told == (scheme != "inputs")
    assert 0.03 <= share <= 0.07 if scheme == "inputs" else share > 0.1


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["inputs", "cells", "systems", "williams"])
@pytest.mark.parametrize(
    ("by", "options"),
    [("spa", {}), ("pa", {}), ("pearson", {"level": "sys"}), ("pearson", SEGMENTS)],
)
def test_every_scheme_keeps_its_level_or_says_that_it_does_not(scheme, by, options):
    if scheme == "williams" and by != "pearson":
        return
    share, told = rejected(scheme, by, 1000, **options)
    assert told or 0.03 <= share <= 0.075, share  # three standard errors beyond 5 %
