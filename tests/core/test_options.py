"""Every option of every public function has bounds: what lies beyond them is refused in one line.

The tables below name each option's kind, and each kind's bad values. An option that stands in no
table fails the tests: a new one has to say what it may not be.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard import studies
from steelyard.comparison.card import decide
from steelyard.comparison.options import RankOptions
from steelyard.core.errors import SteelyardError, UsageError
from steelyard.core.options import Options, check_flag, check_number, check_whole
from steelyard.core.parallel import Workers
from steelyard.core.rng import generator
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.options import KobeOptions
from steelyard.metaevaluation.benchmark import tasks as presets
from steelyard.metaevaluation.benchmark.run import run_benchmark
from steelyard.metaevaluation.options import MetaOptions, MetaRules, MetricTest
from steelyard.metaevaluation.run import meta_evaluate, pair_preferences
from steelyard.studies.disagreement import disagree
from steelyard.studies.distinct import count_distinct
from steelyard.studies.options import Design
from steelyard.studies.power import power_of_effect, power_of_metrics, power_of_test
from steelyard.studies.ranking_rule import study_ranking_rule
from steelyard.studies.segments import ablate_segments
from steelyard.studies.simulation import simulate
from steelyard.studies.systems import ablate_systems
from steelyard.studies.threshold import study_threshold
from steelyard.studies.ties import vary_ties
from steelyard.studies.worth import difference_worth

NAN, INF, HUGE = float("nan"), float("inf"), 10**400
WORD = (3, NAN, True, ["foo"], b"foo")
COUNT = (-1, 1.5, NAN, INF, "foo", "1", None, True, HUGE, [1])
NUMBER = (NAN, INF, -INF, "foo", "1", None, True, HUGE, 1j, [1.0], np.ones(2))
LIST: tuple[Any, ...] = (3, NAN, "12", None, [])
#: Bad values by kind of option; after a kind, "?" says that None is a good value.
BAD: Mapping[str, tuple[Any, ...]] = {
    "level": (-1, 0, 1, 7, *NUMBER),  # between 0 and 1
    "at least 0": (-1, -1e-300, *NUMBER),
    "above 0": (-1, 0, *NUMBER),
    "number": NUMBER,
    "correlation": (-2, 1.5, *NUMBER),
    "count": COUNT,
    "one or more": (0, *COUNT),
    "two or more": (1, 0, *COUNT),
    "ten or more": (9, 0, *COUNT),
    "hundred or more": (99, 0, *COUNT),
    "known name": ("foo", "", None, *WORD),
    "text": (None, *WORD),
    "unit": (0, -1, 1.5, NAN, True, "", "0", " ", None, ["foo"], b"foo", HUGE),
    "known names": ("foo", None, 3, NAN, True, ["foo"], [3], [None], [[]]),
    "names": (3, NAN, True, [3], [None], "foo"),

    "sizes": ([1], [0], [-1], [1.5], [NAN], ["foo"], [True], [HUGE], *LIST),
    "thresholds": ([-1], [NAN], [INF], ["foo"], [None], [True], 3, NAN, "12", None),
    "positive numbers": ([0], [-1], [NAN], [INF], ["foo"], [True], *LIST),
    "flag": ("no", 1, 0, NAN, None, []),
    "rng": (-1, "x", 1.5, NAN, True, [1], object()),
    "set": (None, 3, NAN, b"x", object(), ["x"], np.ones((2, 3)), "no-such-file.csv"),
    "matrix": (None, 3.0, "a", ["a"], [[1.0], [1.0, 2.0]], [[1j, 2j]] * 3, np.ones(4),
               np.full((3, 12), INF), np.ones((3, 12), dtype=complex),
               np.full((3, 12), "a"), object()),
    "path": (3, NAN, b"x", object()),
    "where": (3, NAN, "a=b", ["a=b"], [("a",)], [(1, 2)], {1: 2}),
    "kinds": (3, NAN, "human", ["m"], {"human": "m"}, {"foo": ["m"]}, {"human": 3}),
    "sources": ((), (None,), (3,), ("no-such-file.csv",), (object(),), (["x"],)),
    "scale": (None, 3, "01", (1,), (1, 0), (0, 0), (0, NAN), (0, INF), ("a", "a"), (0, 1, 2)),
    "pair": (None, 3, "AB", ("A",), ("A", "A"), ("A", "foo"), ("A", 3), ("A", "B", "C")),
    "counts": ([0], [-1], [1.5], [NAN], ["foo"], [True], [HUGE], 3, NAN, "12", None),
    "sizes of one": ([0], [-1], [1.5], [NAN], ["foo"], [True], *LIST),
    "shares": ([-1], [1], [NAN], ["foo"], [True], *LIST),
    "levels": ([0], [1], [-1], [NAN], ["foo"], [True], 3, NAN, "12", None),
    "share": (-1, 2, *NUMBER),
    "share below 1": (-1, 1, *NUMBER),
    "above 1": (-1, 0, 1, *NUMBER),
    "settings": (3, NAN, "foo", {"foo": {}}, {"chrf": 3}, {"chrf": {"foo": 1}}),
    "texts": (None, 3, NAN, [3], [None], "Wien", {"A": 3}, {3: ["x"]}),
    "language": (None, 3, NAN, "", "not a language"),
    "knowledge": (3, NAN, object(), "no-such-folder"),
    "file": (None, 3, NAN, b"x", object()),
    "logins": (3, NAN, b"x", object(), {"a": "b"}, {"a": [3]}, {3: ["b"]}, "no-such-file.json"),
    "object": (3, NAN, "foo", ["foo"], object()),
}  # fmt: skip


class Case(NamedTuple):
    """A function, arguments that are good, and the kind of each of its options."""

    function: Callable[..., Any]
    good: Mapping[str, Any]
    kinds: Mapping[str, str]
    free: tuple[str, ...] = ()  # options that any value is good for, or that others check


def _set() -> sy.EvalSet:
    rng = np.random.default_rng(0)
    n, s = 4, 12
    segments = sy.Segments(
        tuple(str(i) for i in range(s)),
        documents=tuple("abc"[i // 4] for i in range(s)),
        sources=tuple(f"Wien {i}" for i in range(s)),
        references={"refA": tuple(f"Vienna {i}" for i in range(s))},
    )
    systems = tuple("ABCD"[:n])
    tables = {
        "people": sy.ScoreTable(rng.integers(0, 5, (n, s)).astype(float), kind="human"),
        "m": sy.ScoreTable(rng.normal(size=(n, s))),
        "o": sy.ScoreTable(rng.normal(size=(n, s))),
    }
    texts = {name: tuple(f"Vienna {i}{name}" for i in range(s)) for name in systems}
    return sy.EvalSet(systems, segments, tables, outputs=texts)


ES = _set()
ROWS = pl.DataFrame(
    {"rater": ["r", "q"] * 6, "system": ["A", "B", "C"] * 4,
     "segment": [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4], "raw": [90, 40, 80, 50] * 3}
)  # fmt: skip
MARKS = sy.Ratings.from_labels("AB", "11", "rr", np.full(2, NAN), errors=((), ()))
LOG = sy.BattleLog(
    ("A", "B"), np.zeros(4, np.int32), np.ones(4, np.int32), np.array([1, 1, 0, 0.5])
)
META = {
    "es": "set", "human": "known name?", "by": "known names", "metrics": "known names?",
    "level": "known name?", "group_by": "known name?", "keep_references": "flag", "rng": "rng",
}  # fmt: skip
RANK = {
    "by": "known names", "ties": "known name", "tolerance": "at least 0", "prior": "at least 0",
    "orders": "count",
}  # fmt: skip
TEST = {"unit": "unit", "correction": "known name", "alpha": "level",
    "n_bootstrap": "ten or more", "rng": "rng", "intervals": "known name?",
}  # fmt: skip
READ = {
    "human": "text?", "lp": "text?", "systems": "names?", "drop_systems": "names", "where": "where",
    "columns": "where", "format": "text?",
    "ignore": "names",
}  # fmt: skip
QUICK = {"progress": "object?"}
RULES = {
    "method": "known name", "epsilon": "at least 0?", "threshold": "at least 0?",
    "keep_references": "flag", "common": "flag", "sentinels": "flag", "outliers": "known name",
}  # fmt: skip
METRIC_TEST = {
    "scheme": "known name", "alternative": "known name", "n_resamples": "one or more?",
    "alpha": "level", "correction": "known name",
}  # fmt: skip
VERDICTS = pl.DataFrame({
    "item": [i for i in range(40) for _ in "AB"], "system": ["A", "B"] * 40,
    "people": [1, 0, 1, 1] * 10 + [None] * 40, "gpt": [1, 0, 0, 1] * 20,
})  # fmt: skip
JUDGED = {
    "sources": "sources", "human": "names", "judges": "names?", "unit": "unit",
    "covariates": "names?", "where": "where", "columns": "where", "ignore": "names",
    "level": "level", "words": "names", "swapped": "known name?",
}  # fmt: skip
TESTED = {"clusters": "known name", "test": "known name?", "alpha": "level",
          "correction": "known name", "standardised": "flag?"}  # fmt: skip
DA = TESTED | {"quality_control": "flag", "min_seconds": "at least 0", "scale": "scale"}

CASES = [
    Case(sy.compare, {"es": ES, "score": "m", "n_bootstrap": 10},
         {"es": "set", "score": "known name?", "tests": "known names?",
          "tolerance": RANK["tolerance"], "pass_k": "counts?"} | TEST | {"by": "known names?"}),
    Case(sy.compare_scores, {"es": ES, "scores": ["m", "o"], "n_bootstrap": 10},
         {"es": "set", "scores": "known names", "tests": "known names?", "autorank": "known name",
          "slices": "names", "tolerance": RANK["tolerance"]} | TEST | {"by": "known names?"}),
    Case(sy.bt, {}, {"ties": RANK["ties"], "prior": RANK["prior"]}),
    Case(sy.elo, {}, {"k": "above 0", "orders": "count?"}),
    Case(sy.trueskill, {}, {"orders": "count?"}),
    Case(sy.compare_battles, {"log": LOG, "n_bootstrap": 10},
         {"log": "set", "columns": "where", "unit": "unit", "where": "where", "by": RANK["by"],
          "words": "names", "swapped": "known name?"}
         | TEST),
    Case(decide, {"es": ES, "pair": ("A", "B"), "score": "m", "n_bootstrap": 10},
         {"es": "set", "pair": "pair", "score": "known name?", "human": "known name?",
          "alpha": "level", "unit": "unit", "slices": "names",
          "n_bootstrap": "ten or more", "rng": "rng"}),
    Case(sy.gate, {"baseline": {"A": [1, 2, 3, 4] * 3}, "candidate": {"B": [2, 3, 3, 4] * 3}},
         {"baseline": "set", "candidate": "set", "score": "known names?",
          "min_delta": "at least 0?", "max_loss": "at least 0?", "slices": "names",
          "require": "names", "record": "path?", "unit": "unit",
          "rng": "rng"}),
    Case(sy.check, {"source": ["Am 3. Mai."], "outputs": ["On 3 May."], "src": "de", "tgt": "en"},
         {"src": "text?", "tgt": "text?", "min_confidence": "known name"},
         ("source", "outputs", "glossary", "kb")),
    Case(meta_evaluate, {"es": ES, "human": "people", "by": "pa", "n_bootstrap": 10},
         {k: kind for k, kind in META.items() if k != "keep_references"}
         | {"significance": "flag", "rules": "object?", "unit": "unit",
            "n_bootstrap": "ten or more", "intervals": "known name?"}),
    Case(pair_preferences, {"es": ES, "human": "people", "metric": "m"},
         {"es": "set", "human": "known name", "metric": "known name", "systems": "known names?",
          "method": "known name", "unit": "unit"}),
    Case(run_benchmark,
         {"benchmark": presets.Benchmark("b", "B", "people", (presets.SetSpec("s"),),
                                         (presets.Task("pa"),)),
          "inputs": presets.Inputs(sets={"s": ES})},
         {"benchmark": "object", "inputs": "object?", "options": "object?",
          "human": "known name?", "rng": "rng", "workers": "object?"}),
    Case(MetaOptions, {},
         {"metrics": "names?", "level": "known name?", "group_by": "known name?",
          "significance": "flag", "intervals": "known name?", "n_bootstrap": "ten or more",
          "unit": "unit"} | RULES | METRIC_TEST),
    Case(sy.human_scores, {"protocol": "da", "n_bootstrap": 0, "sources": (ROWS,)},
         {"sources": "sources", "protocol": "known name?", "preset": "known name?",
          "unit": "unit", "raters": "logins?", "human": READ["human"],
          "systems": READ["systems"], "n_bootstrap": "count", "rng": "rng"}, ("keep",)),
    Case(sy.spans, {"sources": (MARKS, MARKS), "n_bootstrap": 10},
         {"sources": "sources", "measures": "known names", "average": "known name",
          "significance": "flag", "alpha": "level", "unit": "unit", "n_bootstrap": "ten or more",
          "n_resamples": "one or more?", "reading": "object?", "rng": "rng"}),
    Case(sy.da, {}, DA), Case(sy.esa, {}, DA),
    Case(sy.mqm, {}, TESTED | {"weights": "path?", "cap": "above 0?", "unlisted": "known name?"}),
    Case(sy.rr, {}, {name: TESTED[name] for name in ("clusters", "alpha", "correction")}
         | {"by": "known name"}),
    Case(sy.darr, {}, {name: DA[name] for name in DA if name not in TESTED}
         | {"standardised": "flag?", "threshold": "at least 0?", "identical_ties": "flag",
            "keep_ties": "flag", "unlisted": "known name?"}),
    Case(sy.judge, {"sources": (VERDICTS,), "human": ["people"]},
         JUDGED | {"unparsed": "known name", "alt_epsilon": "level", "own": "where",
                   "require": "names"}),
    Case(sy.correct, {"sources": (VERDICTS,), "human": ["people"], "draws": 100},
         JUDGED | {"judge": "text?", "labels": "known name", "by": "known name",
                   "pair": "pair?",
                   "draws": "hundred or more", "rng": "rng"}),
    Case(sy.plan_labels, {"sources": (VERDICTS,), "human": ["people"]},
         JUDGED | {"judge": "text?", "half_width": "above 0?", "kappa": "above 0?",
                   "budget": "one or more?", "rng": "rng"}),
    Case(sy.judge_bias, {"sources": (VERDICTS,), "human": ["people"]},
         JUDGED | {"own": "where"}),
    Case(sy.judge_drift, {"old": VERDICTS, "new": VERDICTS, "human": ["people"]},
         {k: v for k, v in JUDGED.items() if k != "sources"},
         ("old", "new", "labels")),
    Case(sy.load, {"sources": (ES,)},
         READ | {"sources": "sources", "kind": "kinds?", "lower_is_better": "names",
                 "higher_is_better": "names", "domain": "text?", "drop_metrics": "names",
                 "sees": "names?"}),
    Case(sy.save, {"value": ES, "path": "somewhere.csv"},
         {"value": "set", "path": "file", "to": "known name?",
          "human": "text?", "anonymise_raters": "flag"}),
    Case(sy.make_report, {"es": ES, "human": "people",
                          "options": sy.report_options(n_bootstrap=10, n_resamples=10)},
         {"es": "set", "human": "known name?", "options": "object?", "comparison": "object?",
          "meta": "object?", "judges": "object?", "mistakes": "object", "checks": "object?",
          "rng": "rng"},
         ("ratings", "speak")),
    Case(sy.score, {"source": ES, "metrics": "chrf"},
         {"source": "set", "metrics": "known names", "references": "known names?",
          "options": "settings?", "annotations": "object?"}),
    Case(sy.spa, {"human": np.ones((3, 12)), "metric": np.ones((3, 12))},
         {"human": "matrix", "metric": "matrix"}, ("options",)),
    Case(sy.demo_set, {}, {"texts": "flag"}),
    Case(sy.kobe.score, {"sources": ["Wien"], "outputs": ["Vienna"], "src": "de", "tgt": "en"},
         {"sources": "texts", "outputs": "texts", "src": "language", "tgt": "language",
          "references": "texts?", "kb": "knowledge?", "options": "object?",
          "linker": "object?"}),
    Case(kobe_metric, {"es": ES, "src": "de", "tgt": "en"},
         {"es": "set", "src": "language", "tgt": "language", "kb": "knowledge?",
          "options": "object?", "linker": "object?"}),
    Case(sy.kobe.annotate, {"es": ES, "src": "de", "tgt": "en"},
         {"es": "set", "src": "language", "tgt": "language", "kb": "knowledge?",
          "reference": "known name?"}),
    # Studies.
    Case(ablate_systems, {"es": ES, "human": "people", "by": "pa", "trials": 2},
         META | QUICK | {"sizes": "sizes?", "trials": "one or more"}),
    Case(ablate_segments, {"es": ES, "human": "people", "by": "pa", "draws": 10},
         META | QUICK | {"sizes": "sizes?", "draws": "ten or more"}),
    Case(count_distinct, {"es": ES, "human": "people", "by": "pa", "n_resamples": 10},
         META | QUICK | METRIC_TEST),
    Case(difference_worth, {"sets": sy.demo_set(), "human": "mqm", "metrics": ["kin-src"],
                            "draws": 10},
         QUICK | {"sets": "set", "human": "known name?", "metrics": "known names?",
          "at": "thresholds?", "alpha": "level", "unit": "unit", "draws": "ten or more",
          "rng": "rng"}, ("groups", "pvalues")),
    Case(vary_ties, {"data": ES, "human": "people"},
         QUICK | {"data": "set", "human": "known name?", "metrics": "known names?",
          "matrices": "known names", "thresholds": "thresholds?", "threshold": "at least 0?",
          "metric_thresholds": "thresholds", "identical_ties": "flag", "unit": "unit",
          "n_bootstrap": "ten or more", "n_resamples": "one or more", "alternative": "known name",
          "alpha": "level", "correction": "known name", "rng": "rng"}, ("inputs",)),
    Case(power_of_test, {"es": ES, "score": "m", "pair": ("A", "B"), "sizes": [5], "draws": 10},
         QUICK | {"es": "set", "score": "known name", "pair": "pair", "tests": "known names",
          "unit": "unit", "difference": "number?", "sizes": "sizes",
          "draws": "one or more", "alpha": "level", "target": "level", "rng": "rng"}),
    Case(power_of_metrics, {"es": ES, "human": "people", "by": "pa", "sizes": [5], "draws": 10},
         META | QUICK | {"unit": "unit", "difference": "number?", "sizes": "sizes?",
            "draws": "one or more", "alpha": "level", "target": "level"}),
    Case(power_of_effect, {"effect": 0.5, "sizes": [5]},
         {"effect": "number", "tests": "known names", "sizes": "sizes?", "alpha": "level",
          "target": "level"}),
    Case(study_ranking_rule, {"data": ROWS.with_columns(doc="segment"), "draws": 10},
         {"data": "set", "draws": "ten or more", "rng": "rng"}, ("keep",)),
    Case(study_threshold, {"data": ROWS, "n_bootstrap": 10},
         {"data": "set", "human": "text?", "share": "level",
          "customary": "at least 0",
          "unit": "unit", "n_bootstrap": "ten or more", "raters": "logins?", "rng": "rng"}),
    Case(disagree, {"sets": ES, "scores": ["m"], "sizes": [5], "draws": 2},
         RANK | {"sets": "set", "scores": "known names?", "top": "one or more",
          "sizes": "counts", "draws": "one or more", "tests": "known names",
          "alpha": "level", "rng": "rng", "workers": "object?", "k": "above 0"}),
    Case(simulate, {"design": Design((1,), (0.0,), (2,), (10,), 1)},
         {"design": "object?", "rng": "rng", "workers": "object?"}),
    # What options are kept in.
    Case(Design, {}, {"types": "sizes of one", "outliers": "shares", "systems": "sizes",
                      "segments": "sizes of one", "repeats": "one or more",
                      "noise": "at least 0", "outlier_kind": "known name",
                      "by": "known names", "orders": "one or more"}),
    Case(RankOptions, {}, {k: v for k, v in RANK.items() if k != "by"}
         | {"k": "above 0"}),
    Case(MetaRules, {}, RULES), Case(MetricTest, {}, METRIC_TEST),
    Case(KobeOptions, {}, {"against": "text", "rounded": "flag",
                           "language_filter": "known name"}, ("links",)),
    Case(Workers, {}, {"jobs": "one or more?", "progress": "object?",
                       "patience": "at least 0"}),
]  # fmt: skip


def _bad_values(kind: str) -> tuple[Any, ...]:
    values = BAD[kind.removesuffix("?")]
    return tuple(v for v in values if v is not None) if kind.endswith("?") else values


def _call(case: Case, given: Mapping[str, Any]) -> Any:
    starred = case.kinds.get("sources") == "sources"
    named = {name: value for name, value in given.items() if not (starred and name == "sources")}
    return case.function(*(given["sources"] if starred else ()), **named)


def _outcome(case: Case, given: Mapping[str, Any]) -> str | None:
    """Say what is wrong with how a bad value was met: None if it was refused in one line."""
    try:
        _call(case, given)
    except SteelyardError as error:
        return None if str(error) and "\n" not in str(error) else f"says {str(error)!r}"
    except Exception as error:  # noqa: BLE001 - what is raised is what is tested
        return f"{type(error).__name__}: {error}"
    return "accepted"


def _name(case: Case) -> str:
    return f"{case.function.__module__.removeprefix('steelyard.')}.{case.function.__name__}"


#: Good calls, which other tests make.
SLOW = (sy.make_report, sy.kobe.annotate, sy.kobe.score, kobe_metric)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in a folder of one's own: what is refused must write nothing."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", [case for case in CASES if case.function not in SLOW], ids=_name)
def test_the_good_arguments_are_good(case):
    _call(case, case.good)


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_bad_value_is_refused_in_one_line(case, elsewhere):
    met = {
        f"{option}={bad!r}": _outcome(case, {**case.good, option: bad})
        for option, kind in case.kinds.items()
        for bad in _bad_values(kind)
    }
    assert {bad: how for bad, how in met.items() if how is not None} == {}
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_every_option_has_a_kind(case):
    asked = set(inspect.signature(case.function).parameters)
    assert asked == {*case.kinds, *case.free}, "say what the new option may not be"


def _declaring(cls=Options):
    return [one for own in cls.__subclasses__() for one in (own, *_declaring(own))]


def test_defaults_are_within_bounds():
    # They are not checked when options are made.
    own = [one for one in _declaring() if one.__module__.startswith("steelyard.")]
    assert MetaOptions in own
    for cls in own:
        for one in fields(cls):
            option = cls.declared().get(one.name)
            if option is not None and one.default is not MISSING:
                assert option.meant(one.default) == one.default
                option.check(one.name, one.default)


def test_what_equals_a_default_is_checked_if_it_is_something_else():
    with pytest.raises(UsageError, match="significance"):
        MetaOptions(significance=0)  # type: ignore[arg-type]
    assert MetaOptions(alpha=float("0.05")).differing() == {}


def _modules(package: ModuleType) -> list[ModuleType]:
    found = walk_packages(package.__path__, f"{package.__name__}.")
    return [import_module(module.name) for module in found]


def test_every_public_function_has_a_case():
    listed = [getattr(sy, name) for name in sy.__all__]
    listed += [getattr(sy.kobe, name) for name in sy.kobe.__all__]
    cased = {case.function for case in CASES}
    assert [f for f in listed if inspect.isfunction(f) and f not in cased] == []
    for module in _modules(studies):
        own = vars(module).values()
        missing = [f.__name__ for f in own if _gives_a_study(f, module.__name__) and f not in cased]
        assert missing == [], module.__name__


def _gives_a_study(f: Any, module: str) -> bool:
    own = inspect.isfunction(f) and f.__module__ == module and not f.__name__.startswith("_")
    return own and inspect.signature(f).return_annotation == "Study"


def test_numbers_of_numpy_and_fractions_are_numbers():
    check_whole(1, draws=np.int32(3))
    check_number(0, epsilon=np.float32(0.5), threshold=Fraction(1, 3))
    check_number(0, 1, strict=True, alpha=np.float64(0.05))
    check_flag(significance=np.bool_(True))
    seed: Any = np.int64(7)
    assert generator(seed).random() == generator(7).random()
    for bad in (np.bool_(True), np.ones(1), np.float64(2.0)):
        with pytest.raises(UsageError):
            check_whole(1, draws=bad)
