"""The unit of a score changes nothing: a metric in thousandths is the metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.stats.metametrics import registry
from steelyard.studies.ties import vary_ties

SCALES = [1e-20, 1e-3, 1e20]


@pytest.fixture(scope="module")
def plain() -> EvalSet:
    rng = np.random.default_rng(1)
    quality = rng.normal(size=(7, 1)) / 2
    tables = {"people": ScoreTable(np.round(quality + rng.normal(size=(7, 90)), 2), kind="human")}
    tables |= {name: ScoreTable(quality + rng.normal(0, 1.5, (7, 90))) for name in ("m", "n")}
    return EvalSet(tuple("ABCDEFG"), Segments(tuple(f"{i:02d}" for i in range(90))), tables)


def scaled(es: EvalSet, scale: float) -> EvalSet:
    own = {name: ScoreTable(table.values * scale, kind=table.kind)
           for name, table in es.scores.items()}  # fmt: skip
    return EvalSet(es.systems, es.segments, own)


def test_values_of_all_meta_metrics(plain):
    # What has a threshold or a cost of its own in units of the score is left out.
    names = [name for name in registry.METAMETRICS if name != "pdp"]
    how: Any = {"by": names, "n_bootstrap": 20, "rules": sy.meta_rules(threshold=0.0)}
    one, *others = (
        sy.meta_evaluate(scaled(plain, scale), "people", **how) for scale in (1, *SCALES)
    )
    for other in others:
        for mine, theirs in zip(one.results, other.results, strict=True):
            assert (mine.metric, mine.by) == (theirs.metric, theirs.by)
            assert theirs.value == pytest.approx(mine.value, abs=1e-6, nan_ok=True)
            if mine.ci is not None and theirs.ci is not None:
                assert theirs.ci == pytest.approx(mine.ci, abs=1e-6, nan_ok=True)


@pytest.mark.parametrize("scale", SCALES)
def test_comparisons(plain, scale):
    how: Any = {
        "by": ["mean", "median", "bt"],
        "n_bootstrap": 50,
        "tests": ["t", "permutation", "bootstrap", "mood", "sign", "wilcoxon"],
    }
    one, other = (sy.compare(es, "m", **how) for es in (plain, scaled(plain, scale)))
    assert one.ranking("mean") == other.ranking("mean")
    for name, test in one.tests.items():
        np.testing.assert_allclose(other.tests[name].p, test.p, atol=1e-6, err_msg=name)


@pytest.mark.parametrize(("size", "told"), [(1e200, "beyond 1e"), (1e-200, "none is larger than")])
def test_what_has_no_moments_is_refused(plain, size, told):
    """Files keep such scores to the last bit; statistics of them would be wrong."""
    es = scaled(plain, size)
    for call in (
        lambda: sy.meta_evaluate(es, "people", metrics=["m"]),
        lambda: sy.compare(es, "m"),
        lambda: vary_ties(es, "people"),
    ):
        with pytest.raises(UsageError, match=f"scores of '(m|people)': .*{told}"):
            call()


def test_such_scores_are_bad_input_of_a_command(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("system,segment,m\nA,1,1\nB,1,1e200\n")
    assert run(["compare", str(tmp_path / "x.csv")]) == 2
    assert "scores of 'm': 1e+200 is beyond 1e+30 in size; divide them" in capsys.readouterr().err


_SYSTEM_LEVEL = [
    name for name, meta in registry.METAMETRICS.items() if name != "spa" and "sys" in meta.levels
]


def _tenths(seed: int) -> tuple[EvalSet, EvalSet]:
    """Scores with one decimal, and the same as whole numbers, whose sums are exact."""
    rng = np.random.default_rng(seed)
    n, s = rng.integers(3, 7), rng.integers(2, 7)
    whole = {name: rng.integers(-30, 31, (n, s)).astype(float) for name in ("people", "metric")}
    segments = Segments(tuple(map(str, range(s))), documents=("d",) * int(s))

    def scaled(factor: float) -> EvalSet:
        tables = {
            name: ScoreTable(cells / factor, kind="human" if name == "people" else "metric")
            for name, cells in whole.items()
        }
        return EvalSet(tuple(f"S{i}" for i in range(n)), segments, tables)

    return scaled(10.0), scaled(1.0)


@pytest.mark.parametrize("name", _SYSTEM_LEVEL)
def test_means_that_are_equal_on_paper_are_ties(name):
    for seed in range(60):
        rules = sy.meta_rules(threshold=0.0)
        options: Any = {"by": name, "level": "sys", "intervals": None, "rules": rules}
        tenths, whole = (
            sy.meta_evaluate(es, "people", **options).results[0].value for es in _tenths(seed)
        )
        assert tenths == pytest.approx(whole, abs=1e-9, nan_ok=True), seed
