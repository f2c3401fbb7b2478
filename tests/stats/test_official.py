"""Published results on real data: WMT23, WMT20, and "To Ship or Not to Ship"."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from tests.stats.judged import realdata
from tests.stats.naive import NAN

import steelyard
from steelyard.stats.arrays import Floats
from steelyard.stats.correlation import distinct, kendall_b, kendall_c, pearson, spearman
from steelyard.stats.kendall.calibration import calibrate
from steelyard.stats.kendall.counting import KENDALL, count_columns, count_pairs
from steelyard.stats.metametrics.accuracy import pairwise_accuracy, soft_agreement
from steelyard.stats.permutation.pvalues import pairwise_pvalues

GOLDS = pytest.mark.parametrize("gold", ["mqm", "da_sqm"])


def number(cell):
    return float(cell) if cell else NAN


# ---------------------------------------------------------------- WMT23


@pytest.fixture(
    scope="module",
    params=[
        ("en-de", 3),
        ("zh-en", 9),
        pytest.param(("en-de", 1), marks=pytest.mark.thorough),
        pytest.param(("zh-en", 1), marks=pytest.mark.thorough),
    ],
    ids=lambda param: f"{param[0]}, every {param[1]}",
)
def wmt23(request, shared):
    """The scores of a language pair without its references, and the official values of a share."""
    lp, every = request.param
    folder = shared / "wmt23-metrics"
    parts = ("human.csv.gz", "metrics.seg.csv.gz", "metrics.sys.csv")
    scores = steelyard.load(*(folder / f"{lp}.{part}" for part in parts), human="mqm")
    scores = scores.drop(systems=["refA", "synthetic_ref"])
    return scores, realdata.rows(folder / f"{lp}.expected.csv"), every


def check(wmt23, gold, compute, *, segments=True, **tolerance):
    """Compare what ``compute(human, metric)`` names with the columns of the table."""
    scores, expected, every = wmt23
    checked = 0
    rows = [
        row
        for row in expected
        if row["gold"] == gold and (scores[row["metric"]].has_segments or not segments)
    ]
    for row in rows[::every]:
        metric = scores[row["metric"]]
        found = compute(scores[gold], metric)
        official = {column: float(row[column]) for column in found}
        assert found == pytest.approx(official, **tolerance), row["metric"]
        checked += 1
    assert checked == -(-(43 if segments else 45) // every)


def both(human, metric):
    return ~(np.isnan(human) | np.isnan(metric))


def flat(human, metric):
    known = both(human, metric)
    return human[known], metric[known]


def coarser(human, metric):
    known = both(human, metric)
    return np.minimum(*(distinct(np.where(known, x, NAN)) for x in (human, metric)))


def averages(suffix, counts, human, metric):
    """Means over groups, the undefined ones skipped; counts of pairs come per group."""
    tau_c = kendall_c(counts, both(human, metric).sum(axis=0), coarser(human, metric))
    found = {
        "kendall_b": kendall_b(counts),
        "kendall_c": tau_c,
        "kendall_23": KENDALL["tau-eq"].value(counts),
        "kendall_acc23": KENDALL["acc-eq"].value(counts),
        "pearson": pearson(human, metric),
    }
    return {f"seg_{name}_by_{suffix}": np.nanmean(values) for name, values in found.items()}


def at_system_level(human, metric):
    h, m = human.system_scores, metric.system_scores
    as_columns = h[:, None], m[:, None]
    return {
        "sys_pearson": pearson(*as_columns)[0],
        "sys_spearman": spearman(*as_columns)[0],
        "sys_kendall_b": kendall_b(count_pairs(*as_columns))[0],
        "sys_pairwise_acc": pairwise_accuracy(h, m).value,
    }


def over_all_cells(human, metric):
    h, m = flat(human.values, metric.values)
    as_columns = h[:, None], m[:, None]
    counts = count_columns(h[:, None], m[:, None])
    return {
        "seg_pearson": pearson(*as_columns)[0],
        "seg_spearman": spearman(*as_columns)[0],
        "seg_kendall_b": kendall_b(counts)[0],
        "seg_kendall_c": kendall_c(counts, np.array([len(h)]), coarser(*as_columns))[0],
    }


def by_item(human, metric):
    return averages("item", count_pairs(human.values, metric.values), human.values, metric.values)


def by_system(human, metric):
    counts = count_columns(human.values.T, metric.values.T)
    return averages("sys", counts, human.values.T, metric.values.T)


def calibrated(human, metric):
    found = {}
    for name in ("acc", "tau"):
        best = calibrate(human.values, metric.values, KENDALL[f"{name}-eq"])
        found[f"seg_{name}_eq_calibrated_item"] = best.value
        found[f"seg_{name}_eq_epsilon"] = best.epsilon
    return found


def soft(method, column):
    """Soft pairwise accuracy on the segments that all systems have; the gold's p-values kept.

    The official values come from columns that were selected, which numpy lays out column by
    column; float32 sums, and with them ``mtme`` where sums tie, depend on that order.
    """
    cache: dict[str, Floats] = {}

    def compute(human, metric):
        annotated = ~np.isnan(human.values).any(axis=0)
        if not cache:
            cache["p"] = pairwise_pvalues(human.values[:, annotated], method=method).p
        p = pairwise_pvalues(metric.values[:, annotated], method=method).p
        return {column: soft_agreement(cache["p"], p).value}

    return compute


@GOLDS
def test_wmt23_at_system_level(wmt23, gold):
    check(wmt23, gold, at_system_level, segments=False, rel=0, abs=1e-9)


@GOLDS
@pytest.mark.parametrize("compute", [over_all_cells, by_item, by_system])
def test_wmt23_at_segment_level(wmt23, gold, compute):
    check(wmt23, gold, compute, rel=0, abs=1e-9)


@GOLDS
def test_wmt23_tie_calibration(wmt23, gold):
    check(wmt23, gold, calibrated, rel=1e-9, abs=0)


@GOLDS
def test_wmt23_soft_pairwise_accuracy_as_sampled(wmt23, gold):
    check(wmt23, gold, soft("mtme", "spa_1000perm"), rel=0, abs=1e-9)


@GOLDS
def test_wmt23_soft_pairwise_accuracy_without_sampling(wmt23, gold):
    # 20,000 permutations leave a standard error of up to 0.0005 in the official value.
    check(wmt23, gold, soft("exact", "spa_20000perm"), rel=0, abs=0.003)


# ---------------------------------------------------------------- WMT20


@pytest.fixture(scope="module")
def wmt20(shared):
    return shared / "wmt20-metrics"


@pytest.fixture(scope="module")
def outliers(wmt20):
    found = defaultdict(set)
    for row in realdata.rows(wmt20 / "outliers.csv"):
        found[row["lp"]].add(row["system"])
    return found


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
        # Each pair is a campaign of two systems: the human difference stands against 0.
        agreements[name] = [
            pairwise_accuracy(
                np.array([float(pair["human_diff"]), 0.0]),
                np.array([float(systems[pair[side]][name]) for side in "ab"]),
                ties="drop-human",
            )
            for pair in pairs
        ]
    return [float(pair["wilcoxon_p"]) for pair in pairs], agreements, expected


def test_pairwise_accuracy_of_3344_pairs(toship):
    significance, agreements, expected = toship
    assert len(expected) == 48
    for cell in expected:
        found = zip(significance, agreements[cell["metric"]], strict=True)
        kept = [each for p, each in found if p <= float(cell["alpha"]) and each.n_pairs]
        assert len(kept) == int(cell["n_pairs"]), cell
        n_agree = sum(each.value for each in kept)
        assert n_agree == int(cell["n_agree"]), cell
        share = 100 * n_agree / len(kept)
        assert share == pytest.approx(float(cell["accuracy_pct"]), rel=0, abs=5.1e-5), cell
