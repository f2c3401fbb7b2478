"""What meta-evaluations and benchmarks say in words: made-up results for each sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.display import Summary
from steelyard.core.errors import SteelyardError
from steelyard.metaevaluation.benchmark.run import BenchmarkResult, Standing
from steelyard.metaevaluation.results import MetaEvaluation, MetaResult, Outliers, Without

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


def test_the_best_metric_stands_with_what_the_meta_metric_is():
    told = found(result("x", 0.9, 1, ci=(0.8, 0.95), rank_ci=(1, 2)), result("y", 0.5, 2)).words()
    assert told.settled == (
        "x agrees most with mqm of 2 metrics, by soft pairwise accuracy (spa 0.900).",
    )
    assert told.undecided == ()
    assert told.sureness == (
        "Over resampled segments, x takes places 1 to 2 by spa in 95 % of the draws.",
        ("The spa of x rests on 4 systems (6 pairs) and 20 segments; "
         "the 95% interval of its expected value at this size is 0.800 to 0.950."),
    )  # fmt: skip


def test_what_the_tests_leave_open_is_said():
    told = found(result("x", 0.9, 1), result("y", 0.8, 1), result("z", 0.1, 2)).words()
    assert told.undecided == ("The tests leave open whether x agrees more with people than y.",)
    untested = found(result("x", 0.9), result("y", 0.8)).words()
    assert untested.undecided == ("Metrics were not tested, so that the lead of x may be chance.",)


def test_ties_one_metric_and_no_value_are_named():
    told = found(result("x", 0.9), result("y", 0.9), result("z", 0.1)).words()
    assert told.settled[0].startswith("x and y agree most with mqm of 3 metrics, by")
    alone = found(result("x", 0.9)).words()
    assert alone.settled == ("x agrees with mqm by soft pairwise accuracy (spa 0.900).",)
    assert alone.undecided == ("There is no other metric to compare x with.",)
    one = found(result("x", 0.9), result("y", NAN)).words()
    assert one.settled[0].startswith("x, the only one of 2 metrics with a value, agrees with mqm")
    nothing = found(result("x", NAN), result("y", NAN)).words()
    assert nothing.sentences() == ("Soft pairwise accuracy (spa) is not defined for any metric.",)
    assert found().words().sentences() == ("There is no metric to weigh.",)


def test_the_best_metric_may_depend_on_the_meta_metric():
    told = found(
        result("x", 0.9), result("y", 0.8), result("x", 0.1, by="pa"), result("y", 0.2, by="pa")
    ).words()
    assert "The best metric depends on the meta-metric (spa: x; pa: y)." in told.undecided


def far(handling: str, *systems: str) -> Outliers:
    return Outliers("mqm", 4, 2.5, handling, 0.0, 1.0, dict.fromkeys(systems, -3.0))


def test_outliers_are_told_by_what_they_change():
    def without(value: float) -> dict[str, Any]:
        return {"without_outliers": Without(value, None, None, 3)}

    kept = found(result("x", 0.9, **without(0.7)), result("y", 0.8, **without(0.6)))
    told = replace(kept, outliers=far("both", "D")).words()
    assert told.sureness[-1] == (
        "D is an outlier by mqm: by spa, x has 0.700 without it, 0.900 with it."
    )
    turned = found(result("x", 0.9, **without(0.5)), result("y", 0.8, **without(0.6)))
    told = replace(turned, outliers=far("both", "C", "D")).words()
    assert told.sureness[-1] == (
        "C and D are outliers by mqm: by spa, without them y comes first (0.600), and x has 0.500."
    )
    lost = found(result("x", 0.9, **without(NAN)), result("y", 0.8, **without(0.6)))
    told = replace(lost, outliers=far("both", "D")).words()
    assert told.sureness[-1] == "D is an outlier by mqm: without it spa has no value for x."
    told = replace(kept, outliers=far("drop", "D")).words()
    assert told.sureness[-1] == "D is an outlier by mqm, and left out."


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
               without_outliers=Without(rest, None, None, 3))
        for i, (value, rest) in enumerate(values)
    ]  # fmt: skip
    made = replace(found(*results), outliers=far(handling, "D"))
    checked(made.words())
    assert len(repr(made)) < 200


@settings(max_examples=15)
@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 6))
def test_words_never_fail_on_what_can_be_weighed(seed, n, s):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 3, (3, n, s)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    segments = sy.Segments(tuple(map(str, range(s))))
    tables = {name: sy.ScoreTable(own) for name, own in zip("hxy", values, strict=True)}
    es = sy.EvalSet(tuple("ABCD"[:n]), segments, tables)
    try:
        made = sy.meta_evaluate(
            es,
            "h",
            by=["spa", "pearson"],
            n_bootstrap=10,
            significance=sy.metric_test(n_resamples=10),
        )
    except SteelyardError:
        return
    checked(made.words())


def board(*standings: Standing, absent: tuple[str, ...] = (), order: str = "average") -> Any:
    return BenchmarkResult("toy", "Toy", order, (), absent, (), standings)


def test_a_benchmark_says_who_is_first_and_what_is_missing():
    told = board(Standing("x", 0.8, 1.0, 1), Standing("y", 0.7, 2.0, 1), absent=("s",)).words()
    assert told.settled == ("x ranks first of 2 metrics on toy (average 0.800).",)
    assert told.undecided == ("The tests leave open whether x agrees more with people than y.",)
    assert told.sureness[-1] == "It is partial: 1 of 1 set is not here (s)."
    tied = board(Standing("x", 0.8, 1.0), Standing("y", 0.8, 2.0)).words()
    assert tied.settled == ("x and y share the first place of 2 metrics on toy (average 0.800).",)
    ranked = board(Standing("x", 0.8, 1.0), Standing("y", 0.8, 2.0), order="rank").words()
    assert ranked.settled == ("x ranks first of 2 metrics on toy (average 0.800).",)
    assert "not tested" in ranked.undecided[0]
    nothing = board(Standing("x", NAN, NAN)).words()
    assert nothing.sentences() == ("No metric has an average over the tasks of toy.",)
    alone = board(Standing("x", 0.8, 1.0)).words()
    assert alone.undecided == ("There is no other metric to compare x with.",)
