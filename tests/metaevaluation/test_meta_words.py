"""What meta-evaluations and benchmarks say in words: made-up results for each sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
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


def test_the_best_metric_its_interval_and_its_lead():
    x, y = result("x", 0.9, 1, ci=(0.8, 0.95)), result("y", 0.5, 2, ci=(0.4, 0.6))
    told = found(x, y, **by_test("x", "y")).words()
    assert told.settled == (
        "x agrees best with mqm (SPA 0.900, 95% CI 0.800 to 0.950), ahead of y (p = 0.0040).",
    )
    assert told.undecided == ()
    assert told.sureness == ("This rests on 4 systems (6 pairs) and 20 segments.",)


def test_what_is_open_is_said():
    near = [
        result(name, value, 1) for name, value in zip("xyzw", (0.9, 0.8, 0.7, 0.6), strict=True)
    ]
    told = found(*near[:2], result("v", 0.1, 2), **by_test("x", "y", "v")).words()
    assert told.undecided == ("x agrees best with mqm (SPA 0.900), but y is too close to call.",)
    told = found(*near, **by_test(*"xyzw")).words()
    assert told.undecided == (
        "x agrees best with mqm (SPA 0.900), but 3 other metrics are too close to call.",
    )
    untested = found(result("x", 0.9), result("y", 0.8)).words()
    assert untested.undecided == ("Its lead over y was not tested (significance=True).",)


def test_ties_one_metric_and_no_value_are_named():
    told = found(result("x", 0.9), result("y", 0.9), result("z", 0.1)).words()
    assert told.settled == ("x and y agree best with mqm (SPA 0.900).",)
    alone = found(result("x", 0.9), result("y", NAN)).words()
    assert alone.settled == ("Agreement of x with mqm: SPA 0.900.",)
    assert alone.undecided == ("There is no other metric to compare it with.",)
    nothing = found(result("x", NAN), result("y", NAN)).words()
    assert nothing.sentences() == ("SPA is undefined for every metric.",)
    assert found().words().sentences() == ("There is no metric.",)


def test_the_best_metric_may_depend_on_the_meta_metric():
    told = found(
        result("x", 0.9), result("y", 0.8), result("x", 0.1, by="pa"), result("y", 0.2, by="pa")
    ).words()
    assert "By PA, y agrees best." in told.undecided


def far(handling: str, *systems: str) -> Outliers:
    return Outliers("mqm", 4, 2.5, handling, 0.0, 1.0, dict.fromkeys(systems, -3.0))


def test_outliers_are_told_by_what_they_change():
    def without(value: float) -> dict[str, Any]:
        return {"without_outliers": Without(value, None, 3)}

    kept = found(result("x", 0.9, **without(0.7)), result("y", 0.8, **without(0.6)))
    told = replace(kept, outliers=far("both", "D")).words()
    assert told.sureness[0] == "Without the outlier D, x still agrees best (0.700)."
    turned = found(result("x", 0.9, **without(0.5)), result("y", 0.8, **without(0.6)))
    told = replace(turned, outliers=far("both", "C", "D")).words()
    assert told.sureness[0] == "Without the outliers C and D, y leads (0.600 against 0.500)."
    lost = found(result("x", 0.9, **without(NAN)), result("y", 0.8, **without(0.6)))
    told = replace(lost, outliers=far("both", "D")).words()
    assert told.sureness[0] == "Without the outlier D, y leads (0.600 against no value)."
    told = replace(kept, outliers=far("drop", "D")).words()
    assert told.sureness[0] == "This is without the outlier D."


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


def test_a_benchmark_says_who_is_first_and_what_is_missing():
    told = board(Standing("x", 0.8, 1.0, 1), Standing("y", 0.7, 2.0, 1), absent=("s",)).words()
    text = "x ranks first of 2 metrics on toy (average 0.800), but y is too close to call."
    assert told.undecided == (text,)
    assert told.sureness[-1].endswith("; s not available.")
    tied = board(Standing("x", 0.8, 1.0), Standing("y", 0.8, 2.0)).words()
    assert tied.settled == ("x and y share first place of 2 metrics on toy (average 0.800).",)
    ranked = board(Standing("x", 0.8, 1.0), Standing("y", 0.8, 2.0), order="rank").words()
    assert ranked.settled == ("x ranks first of 2 metrics on toy (average 0.800).",)
    assert "not tested" in ranked.undecided[0]
    nothing = board(Standing("x", NAN, NAN)).words()
    assert nothing.sentences() == ("No metric has an average over the tasks of toy.",)
    assert not board(Standing("x", 0.8, 1.0)).words().undecided
