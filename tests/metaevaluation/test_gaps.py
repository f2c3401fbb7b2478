"""The smallest believable gap beside meta-metrics: published figures, units, what has none."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.metaevaluation.results import MetaEvaluation

WMT23 = {
    "en-de": {
        "GEMBA-MQM-src": (0.904, 0.0, 0.842, 60, 1.0, 1.0),
        "COMET-refA": (81.807, 0.0, 0.011, 56, 1.0, 0.8),
        "BLEU-refA": (0.544, 1.208, 5.582, 30, 1.0, 0.75),
    },
    "zh-en": {
        "GEMBA-MQM-src": (0.399, 0.139, 1.000, 82, 1.0, 0.652),
        "COMET-refA": (46.708, 0.727, 0.037, 37, 1.0, 0.765),
        "BLEU-refA": (0.248, 1.149, 10.840, 6, 1.0, 0.778),
    },
}


@cache
def weighed(data: Path, lp: str) -> MetaEvaluation:
    folder = data / "wmt23-metrics"
    files = [folder / f"{lp}.{name}.csv.gz" for name in ("human", "metrics.seg")]
    return sy.meta_evaluate(sy.load(*files, human="mqm"), "mqm", by="pa", intervals=None)


@pytest.mark.parametrize("lp", WMT23)
def test_wmt23(shared: Path, lp: str) -> None:
    found = weighed(shared, lp)
    for metric, wanted in WMT23[lp].items():
        gap = found.gaps[metric]
        slope, tau, value, above, right_above, right_below = wanted
        assert gap.slope.value == pytest.approx(slope, abs=0.0006)
        assert gap.tau == pytest.approx(tau, abs=0.0006)
        assert gap.gap.value == pytest.approx(value, rel=2e-3, abs=0.0005)
        assert gap.n_above == above
        assert (gap.right_above, gap.right_below) == pytest.approx(
            (right_above, right_below), abs=0.0006
        )
    noise = found.gaps["Random-sysname-src"]
    assert not noise.gap.known
    assert "may not be those that people prefer" in noise.gap.why


def test_all_metrics_of_wmt23_together(shared: Path) -> None:
    """Beyond the gap 99 of 100 pairs are in people's order, also for a system left out."""
    gaps = [gap for lp in WMT23 for gap in weighed(shared, lp).gaps.values() if gap.gap.known]
    above = sum(gap.n_above for gap in gaps)
    right = sum(gap.n_above * gap.right_above for gap in gaps if gap.n_above)
    assert above == pytest.approx(3459, abs=10)
    assert right / above == pytest.approx(0.994, abs=0.001)


def test_few_systems_have_none() -> None:
    es = sy.demo_set().select(systems=["Amber", "Basalt", "Cobalt"])
    found = sy.meta_evaluate(es, "mqm", by="pa", metrics=["learned-refA"], intervals=None)
    assert "3 systems" in found.gaps["learned-refA"].gap.why
    assert "gap" not in found.table(details=True).to_columns()


@pytest.mark.thorough
def test_documents_as_units_widen_the_noise_not_the_means() -> None:
    es = sy.demo_set()
    one, other = (
        sy.meta_evaluate(es, "mqm", by="spa", metrics=["learned-refA"], intervals=None, unit=unit)
        for unit in ("segment", "document")
    )
    assert one.gaps["learned-refA"].slope == other.gaps["learned-refA"].slope
    assert one.gaps["learned-refA"].gap.value != other.gaps["learned-refA"].gap.value
