"""What meta-evaluations and benchmarks say in words: made-up results for each sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.display import Summary
from steelyard.metaevaluation.benchmark.run import BenchmarkResult, Standing
from steelyard.metaevaluation.results import (
    MetaEvaluation,
    MetaResult,
    Outliers,
    Significance,
    Without,
)

NAN = float("nan")


def result(metric: str, value: float, rank: int | None = None, **more: Any) -> MetaResult:
    return MetaResult(metric, more.pop("by", "spa"), "sys", None, value, rank, **more)


def found(*results: MetaResult, **more: Any) -> MetaEvaluation:
    return MetaEvaluation("mqm", 4, 20, tuple("ABCD"), results, **more)


def checked(told: Summary) -> None:
    assert told.sentences()
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text.replace("significan", "")
        assert not any(word in text for word in ("equal", "identical", "as good as"))


def by_test(*names: str) -> dict[str, Any]:
    size = len(names)
    test = Significance(names, np.full((size, size), 0.004), "inputs", 100, "greater")
    return {"significance": {"spa": test}}


NEAR = [result(name, value, 1) for name, value in zip("xyzw", (0.9, 0.8, 0.7, 0.6), strict=True)]


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (found(*NEAR[:2], result("v", 0.1, 2), **by_test("x", "y", "v")), "y is too close to call"),
        (found(*NEAR, **by_test(*"xyzw")), "3 other metrics are too close to call"),
        (found(result("x", 0.9), result("y", 0.8)), "lead over y was not tested"),
        (found(result("x", 0.9), result("y", 0.9), result("z", 0.1)), "x and y agree best with"),
        (found(result("x", 0.9), result("y", NAN)), "There is no other metric"),
        (found(result("x", NAN), result("y", NAN)), "SPA is undefined for every metric."),
        (found(), "There is no metric."),
        (found(result("x", 0.9), result("y", 0.8), result("x", 0.1, by="pa"),
               result("y", 0.2, by="pa")), "By PA, y agrees best."),
    ],
)  # fmt: skip
def test_what_is_open_is_said(made, sentence):
    assert sentence in " ".join(made.words().sentences())


def far(handling: str, *systems: str) -> Outliers:
    return Outliers("mqm", 4, 2.5, handling, 0.0, 1.0, dict.fromkeys(systems, -3.0))


@pytest.mark.parametrize(
    ("x_without", "handling", "start"),
    [
        (0.7, "both", "Without the outlier D, x still agrees best (0.700)."),
        (0.5, "both", "Without the outlier D, y leads (0.600 against 0.500)."),
        (NAN, "both", "Without the outlier D, y leads (0.600 against no value)."),
        (0.7, "drop", "This is without the outlier D."),
    ],
)
def test_outliers_are_told_by_what_they_change(x_without, handling, start):
    rows = (("x", 0.9, x_without), ("y", 0.8, 0.6))
    made = found(*(result(m, v, without_outliers=Without(rest, None, 3)) for m, v, rest in rows))
    assert replace(made, outliers=far(handling, "D")).words().sureness[0] == start


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from([NAN, 0.0, 0.5, -1.0]), st.sampled_from([NAN, 0.4])),
             max_size=4),
    st.booleans(),
    st.sampled_from(["both", "drop", "keep"]),
)  # fmt: skip
def test_words_never_fail_on_made_up_results(values, tested, handling):
    results = [
        result("wxyz"[i], value, 1 if tested else None, ci=(NAN, 1.0),
               without_outliers=Without(rest, None, 3))
        for i, (value, rest) in enumerate(values)
    ]  # fmt: skip
    made = replace(found(*results), outliers=far(handling, "D"))
    checked(made.words())
    assert len(repr(made)) < 200


def board(*standings: Standing, absent: tuple[str, ...] = (), order: str = "average") -> Any:
    return BenchmarkResult("toy", "Toy", order, (), absent, (), standings)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (board(Standing("x", 0.8, 1.0, 1), Standing("y", 0.7, 2.0, 1)), "y is too close to call"),
        (board(Standing("x", 0.8, 1.0), absent=("s",)), "; s not available."),
        (board(Standing("x", 0.8, 1.0), Standing("y", 0.8, 2.0)), "x and y share first place of 2"),
        (board(Standing("x", 0.8, 1.0), Standing("y", 0.8, 2.0), order="rank"), "x ranks first"),
        (board(Standing("x", NAN, NAN)), "No metric has an average over the tasks of toy."),
    ],
)
def test_a_benchmark_says_who_is_first_and_what_is_missing(made, sentence):
    assert sentence in " ".join(made.words().sentences())
