"""What meta-evaluations and benchmarks say in words: made-up results for each sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.core.display import Summary
from steelyard.metaevaluation.benchmark.run import BenchmarkResult, Standing
from steelyard.metaevaluation.results import (
    MetaEvaluation,
    MetaResult,
    Outliers,
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
    standings = tuple(Standing("wxyz"[i], value, i + 1.0) for i, (value, _) in enumerate(values))
    checked(BenchmarkResult("toy", "Toy", "average", (), ("absent",), (), standings).words())
