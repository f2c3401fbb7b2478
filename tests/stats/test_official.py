"""Published results on real data: WMT23, WMT20, and "To Ship or Not to Ship"."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from tests.stats.judged import realdata
from tests.stats.naive import NAN

import steelyard
from steelyard.stats.correlation import distinct, kendall_b, kendall_c, pearson
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import KENDALL, count_columns, count_pairs
from steelyard.stats.metametrics.accuracy import pairwise_accuracy


def number(cell):
    return float(cell) if cell else NAN


@pytest.mark.parametrize("lp", ["en-de", "zh-en"])
def test_wmt23_beyond_what_meta_evaluate_shows(shared, lp):
    """The rest of the official table; tests/metaevaluation has all other columns."""
    folder = shared / "wmt23-metrics"
    parts = ("human.csv.gz", "metrics.seg.csv.gz", "metrics.sys.csv")
    scores = steelyard.load(*(folder / f"{lp}.{part}" for part in parts), human="mqm")
    scores = scores.drop(systems=["refA", "synthetic_ref"])
    table = [r for r in realdata.rows(folder / f"{lp}.expected.csv") if r["gold"] == "mqm"]
    table = [row for row in table if scores[row["metric"]].has_segments][::9]
    assert len(table) == 5
    for row in table:
        human, metric = (scores[name].values for name in ("mqm", row["metric"]))
        both = ~(np.isnan(human) | np.isnan(metric))
        levels = np.minimum(*(distinct(np.where(both, x, NAN).T) for x in (human, metric)))
        counts = count_columns(human.T, metric.T)
        best = calibrate(human, metric)
        columns: dict[str, Any] = {
            "seg_kendall_c_by_sys": kendall_c(counts, both.sum(axis=1), levels),
            "seg_kendall_23_by_sys": KENDALL["tau-eq"].value(counts),
            "seg_kendall_acc23_by_sys": KENDALL["acc-eq"].value(counts),
            "seg_acc_eq_calibrated_item": best.value,
            "seg_acc_eq_epsilon": best.epsilon,
        }
        for column, values in columns.items():
            assert np.nanmean(values) == pytest.approx(float(row[column]), rel=1e-9), column


# ---------------------------------------------------------------- WMT20


@pytest.fixture(scope="module")
def wmt20(shared):
    return shared / "wmt20-metrics"


@pytest.fixture(scope="module")
def outliers(wmt20):
    result = defaultdict(set)
    for row in realdata.rows(wmt20 / "outliers.csv"):
        result[row["lp"]].add(row["system"])
    return result


def is_human(row):
    return row["system"].startswith("Human")


def test_wmt20_at_system_level(wmt20, outliers):
    tables = defaultdict(list)
    for row in realdata.rows(wmt20 / "sys-scores.csv.gz"):
        if not is_human(row):
            tables[row["lp"].replace("-", "")].append(row)
    official = realdata.rows(wmt20 / "sys-correlations.official.csv")
    assert len(official) > 1700
    for line in official:
        rows = tables[line["table"]]
        if line["systems"] == "excl_outliers":
            lp = rows[0]["lp"]
            # Other references (_B, _M, _P) share the list of their language pair.
            out = outliers[lp] if lp in outliers else outliers[lp.partition("_")[0]]
            rows = [row for row in rows if row["system"] not in out]
        name = "human_raw" if line["metric"] == "HUMAN_RAW" else line["metric"]
        human, metric = (
            np.array([[number(row[column])] for row in rows]) for column in ("human_z", name)
        )
        if line["statistic"] == "pearson":
            value = pearson(human, metric)[0]
        else:
            value = kendall_b(count_pairs(human, metric))[0]
        assert len(rows) == int(line["n"]), line
        assert value == pytest.approx(float(line["value"]), rel=0, abs=1e-6), line


@pytest.mark.parametrize(
    ("lp", "n_metrics"), [("de-en", 5), ("ru-en", 6), ("en-de", 7), ("cs-en", 5), ("zh-en", 8)]
)
def test_wmt20_relative_ranking_from_direct_assessment(wmt20, outliers, lp, n_metrics):
    rows = [row for row in realdata.rows(wmt20 / "segments" / f"{lp}.csv.gz") if not is_human(row)]
    systems = {name: i for i, name in enumerate(sorted({row["system"] for row in rows}))}
    lines = {name: i for i, name in enumerate(sorted({row["line"] for row in rows}))}

    def table(column):
        values = np.full((len(systems), len(lines)), NAN)
        for row in rows:
            values[systems[row["system"]], lines[row["line"]]] = number(row[column])
        return values

    human = table("da_raw")
    inliers = np.array([name not in outliers[lp] for name in systems])
    official = [
        line
        for line in realdata.rows(wmt20 / "darr-kendall.official.csv")
        if line["lp"] == lp and line["metric"] in rows[0]
    ]
    assert len(official) == 2 * n_metrics
    for line in official:
        kept = inliers if line["systems"] == "excl_outliers" else slice(None)
        counts = count_pairs(human[kept], table(line["metric"])[kept], threshold=25)
        top, n_pairs = (part.sum() for part in KENDALL["kendall-hard"].parts(counts))
        assert n_pairs == int(line["n_pairs"]), line
        value = top / n_pairs
        assert float(f"{value:.4g}") == float(line["kendall_like"]), line


# ---------------------------------------------------------------- To Ship or Not to Ship


@pytest.fixture(scope="module")
def toship(shared):
    """The significance of every pair of systems, whether each metric agrees, and the table."""
    folder = shared / "toship21"
    systems = {row["system"]: row for row in realdata.rows(folder / "systems.csv.gz")}
    pairs = realdata.rows(folder / "expected-pairs.csv.gz")
    expected = realdata.rows(folder / "expected-pairwise-accuracy.csv")
    agreements = {}
    for name in sorted({cell["metric"] for cell in expected}):
        # Each pair is a campaign of two systems; those that people tie are left out.
        agreements[name] = [
            pairwise_accuracy(
                np.array([float(pair["human_diff"]) or np.nan, 0.0]),
                np.array([float(systems[pair[side]][name]) for side in "ab"]),
            )
            for pair in pairs
        ]
    return [float(pair["wilcoxon_p"]) for pair in pairs], agreements, expected


def test_pairwise_accuracy_of_3344_pairs(toship):
    significance, agreements, expected = toship
    assert len(expected) == 48
    for cell in expected:
        result = zip(significance, agreements[cell["metric"]], strict=True)
        kept = [each for p, each in result if p <= float(cell["alpha"]) and each.n_pairs]
        assert len(kept) == int(cell["n_pairs"]), cell
        n_agree = sum(each.value for each in kept)
        assert n_agree == int(cell["n_agree"]), cell
        share = 100 * n_agree / len(kept)
        assert share == pytest.approx(float(cell["accuracy_pct"]), rel=0, abs=5.1e-5), cell
