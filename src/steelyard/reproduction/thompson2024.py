"""The SPA paper (Thompson et al. 2024): its table and figures beside ours.

Six test sets with MQM, of WMT22 and WMT23, each of which is used where it is there, with all
systems that people scored and all metrics that use the standard reference. As in mt-metrics-eval, a
human translation is a system unless it is that reference. Figures 2 and 3 are drawn without
numbers, so that what the paper says of them is tested, size by size.

Table 1 counts significant pairs of metrics by two-sided tests. The paper does not say so, but these
give its counts by SPA, where one-sided tests find 11 to 14 pairs too many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from steelyard.core.progress import each
from steelyard.core.rng import Rng, generator
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import load
from steelyard.reproduction.places import Data, Places, pair_name
from steelyard.reproduction.reproduction import Ours, Paper, Reproduction, Row, compare
from steelyard.studies.distinct import count_distinct, same_values
from steelyard.studies.options import DistinctOptions
from steelyard.studies.segments import ablate_segments
from steelyard.studies.study import open_runs
from steelyard.studies.systems import ablate_systems

PAPER = Paper(
    "spa",
    "Improving Statistical Significance in Human Evaluation via Soft Pairwise Accuracy (2024)",
    "thompson2024",
)
HUMAN = "mqm"
_TABLES = ("human", "metrics.seg")  # of one language pair: LP.human.csv.gz, ...
#: The paper's sets: test set, language pair, standard reference.
SETS = {
    "wmt22 en-de": ("wmt22", "en-de", "refA"),
    "wmt22 zh-en": ("wmt22", "zh-en", "refA"),
    "wmt22 en-ru": ("wmt22", "en-ru", "refA"),
    "wmt23 en-de": ("wmt23", "en-de", "refA"),
    "wmt23 he-en": ("wmt23", "he-en", "refB"),
    "wmt23 zh-en": ("wmt23", "zh-en", "refA"),
}
SECTION43 = "wmt22 en-de"  # the set of section 4.3
RESAMPLES = 1000  # of a test: the paper does not say, but its p-values have as many
TRIALS = 1000  # choices of systems and samples of segments, of each size
SEEDS = 5  # runs of Table 1, whose spread is what seeds alone move
META = ("PA", "SPA")
_MISPRINT = "a misprint: no choice of that many systems gives the other cells of the row"
_FLOATS = (
    "probably the paper compares tied values of PA as floats, abs(d) >= abs(delta) without "
    "tolerance: that gives its counts of wmt23 within two pairs, but its code is not public"
)
_BY_ORDER = (
    "PA is as stable or more so; perhaps the paper breaks ties of ranks by the order of metrics, "
    "which makes its claim true on wmt23, but that is not proven"
)


class MqmSet(NamedTuple):
    """A set that is there: systems with MQM, and metrics that use the reference."""

    name: str
    es: EvalSet
    reference: str


def reproduce_spa(data: Places | Data, *, rng: Rng = 0) -> Reproduction:
    """Compare the paper's figures with ours, set by set, as far as ``data`` holds them."""
    published, places = PAPER.figures(), Places.of(data)
    loaded = {name: _load_set(places, name) for name in SETS}
    sets = {name: mqm_set for name, mqm_set in loaded.items() if isinstance(mqm_set, MqmSet)}
    missing = {name: reason for name, reason in loaded.items() if isinstance(reason, str)}
    rows = list(_arithmetic_rows(published))
    steps = (_table1, _figure2, _figure3)
    for step, stream in each(zip(steps, generator(rng).spawn(len(steps)), strict=True)):
        # One stream for each set, there or not: what else is there moves no figure.
        for name, set_stream in each(zip(SETS, stream.spawn(len(SETS)), strict=True)):
            if name in sets:
                rows += step(sets[name], published, set_stream)
    rows += _increase_rows(published, rows, [*sets], [*missing.values()])
    for name, reason in missing.items():
        rows += _absent(name, published, reason)
    rows += _ties_rows(published, loaded[SECTION43])
    rows += PAPER.absent()
    inputs = [file for test_set in sets.values() for file in test_set.es.inputs]
    return PAPER.reproduced(rows, inputs, missing.values(), {"resamples": RESAMPLES}, rng)


def _load_set(places: Places, name: str) -> MqmSet | str:
    """Load a set, of two tables or of a folder, or say why it can't be used."""
    test, lp, reference = SETS[name]
    tables = [places.file(f"{test}-metrics/{lp}.{part}.csv.gz") for part in _TABLES]
    folder = places.test_set(test, lp) if None in tables else None
    paths = [path for path in tables if path is not None] if folder is None else [folder]
    if None in tables and folder is None:
        both = f"{test}-metrics/{lp}.{{{','.join(_TABLES)}}}.csv.gz"
        return places.without(pair_name(test, lp), both)
    es = load(*paths, lp=None if folder is None else lp)
    where = f"{listed([str(path) for path in paths])} ({name})"
    if HUMAN not in es.scores or not es[HUMAN].has_segments:
        return f"no scores of segments by people called '{HUMAN}' in {where}"
    kept = {
        # As in the paper, the score of a system is the mean of its segments, whatever is official.
        n: replace(t, system_scores=None, domain_scores=None, document_scores=None)
        for n, t in es.scores.items()
        if t.has_segments and (n == HUMAN or n.endswith(f"-{reference}"))
    }
    kept[HUMAN] = replace(kept[HUMAN], kind="human", uses=())  # a table does not say
    left_out = [
        system
        for system, scores in zip(es.systems, kept[HUMAN].values, strict=True)
        if system == reference or np.isnan(scores).all()
    ]
    if len(kept) < 3:
        return f"fewer than two metrics called *-{reference} in {where}"
    if es.n_systems - len(left_out) < 3:
        return f"fewer than three systems with '{HUMAN}' in {where}"
    es = EvalSet(es.systems, es.segments, kept, inputs=es.inputs)
    es = es.drop(systems=left_out) if left_out else es
    if np.nanmin(es[HUMAN].values) == np.nanmax(es[HUMAN].values):
        return f"all scores by people called '{HUMAN}' are the same in {where}"
    return MqmSet(name, es, reference)


def _arithmetic_rows(published: Mapping[str, Any]) -> Iterator[Row]:
    """Means that follow from the printed table."""
    table = published["table1"]
    columns = dict(zip(table["columns"], zip(*table["rows"].values(), strict=True), strict=True))

    def increase(key: str, _: str) -> float:
        return _increase([*zip(*(columns[f"{key} by {meta}"] for meta in META), strict=True)])

    yield from compare(published["section44"], increase, where=", from Table 1")
    n = columns["systems"][0]
    yield from compare(published["possible"], lambda *_: n * (n - 1) // 2 + 1)


def _row_of(table: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {**table, "rows": {name: table["rows"][name]}}


def _table1(
    test_set: MqmSet, published: Mapping[str, Any], rng: np.random.Generator
) -> Iterator[Row]:
    es, name = test_set.es, test_set.name
    runs = [counted_columns(es, stream) for stream in rng.spawn(SEEDS)]
    fixed = {"systems": es.n_systems, "metrics": len(es.metrics)}
    reason = f"all {es.n_systems} systems that people scored take part"

    def cell(_: str, column: str) -> Ours:
        """A count; by two-sided tests the mean over seeds, with the error of one run and it."""
        counts = [fixed.get(column) or run[column] for run in runs]
        if not column.startswith(("significant", "clusters")):
            return Ours(counts[0], reason)
        error = float(np.std(counts, ddof=1) * np.sqrt(1 + 1 / SEEDS))
        why = _FLOATS if column == "significant pairs by PA" else reason
        return Ours(round(float(np.mean(counts))), why, error=error)

    systems, *rows = compare(_row_of(published["table1"], name), cell)
    if name in published["misprints"]:
        systems = systems.blame_paper(_MISPRINT, published["misprints"][name])
    yield from (systems, *rows)


def counted_columns(es: EvalSet, rng: np.random.Generator) -> dict[str, int]:
    """Count what Table 1 counts of a set, by one seed: ``steelyard study distinct``."""
    study = count_distinct(
        es, HUMAN, by=["pa", "spa"], n_resamples=RESAMPLES, alternative="two-sided", rng=rng
    )
    counts: dict[str, int] = {}
    for record in study.table("counts").records():
        meta = str(record.pop("with")).upper()
        number = {key: int(str(value or 0)) for key, value in record.items()}
        counts |= {
            f"distinct values by {meta}": number["distinct"],
            f"significant pairs by {meta}": number["significant"],
            f"clusters by {meta}": number["clusters"],
            "most distinct values": number["of"],
            "most significant pairs": number["of"] * (number["of"] - 1) // 2,
            "most clusters": number["of"],
        }
    return counts


def _increase_rows(
    published: Mapping[str, Any], rows: Sequence[Row], sets: Sequence[str], missing: Sequence[str]
) -> Iterator[Row]:
    """How many more pairs and clusters SPA finds than PA, over the sets that are there."""
    table = {row.what: row.ours for row in rows}
    reason = "it follows from counts by PA that differ in Table 1"
    if missing:
        reason = f"{len(sets)} of the paper's {len(SETS)} sets are at hand"

    def increase(key: str, _: str) -> Ours:
        counts = [[table[f"Table 1, {name}, {key} by {m}"] for m in META] for name in sets]
        ours = _increase(counts) if sets else "; ".join(missing)
        return Ours(ours, reason, other_data=bool(missing))

    yield from compare(published["section44"], increase, where=" over the sets at hand")


def _increase(counts: Sequence[Sequence[Any]]) -> float:
    """Mean increase from the first to the second count; NaN where a first one is 0."""
    before, after = np.array(counts, dtype=np.float64).T
    return float((after / before).mean() - 1) if before.all() else np.nan


def _figure2(test_set: MqmSet, _: Mapping[str, Any], rng: np.random.Generator) -> Iterator[Row]:
    es, sizes = test_set.es, range(2, test_set.es.n_systems)
    study = ablate_systems(es, HUMAN, by=["spa", "pa"], sizes=sizes, trials=TRIALS, rng=rng)
    for kind in ("values", "ranks"):
        for record in study.table(kind).records():
            numbers = (record[key] for key in ("spa - pa", "low", "high"))
            gap, low, high = (np.nan if number is None else float(number) for number in numbers)
            size = f"SPA is more stable with {record['systems']} systems"
            yield Row.claim(
                f"Figure 2, {test_set.name}, {kind}: {size}",
                holds=None if np.isnan(gap) else gap > 0,
                reason=_BY_ORDER,
                detail=f"SPA - PA {gap:+.3f} ({low:+.3f} to {high:+.3f})",
                interval=(low, high),
            )


def _figure3(
    test_set: MqmSet, published: Mapping[str, Any], rng: np.random.Generator
) -> Iterator[Row]:
    if not test_set.name.startswith("wmt23"):
        return
    es = test_set.es
    names = {name: f"{name}-{test_set.reference}" for name in published["figure3"]["metrics"]}
    there = [metric for metric in names.values() if metric in es.scores]
    if there:
        study = ablate_segments(es, HUMAN, by=["spa", "pa"], metrics=there, draws=TRIALS, rng=rng)
    for name, metric in names.items():
        what = f"Figure 3, {test_set.name} {name}: SPA has the narrower interval"
        if metric not in there:
            yield Row.absent(what, "yes", f"no scores of segments by {metric}")
            continue
        curve = study.curve(metric)
        width = {line.name: np.subtract(line.high, line.low) for line in curve.lines}
        for size, spa, pa in zip(curve.x, width["spa"], width["pa"], strict=True):
            n = "1 segment" if size == 1 else f"{size} segments"
            holds = None if np.isnan(spa + pa) else bool(spa < pa)
            reason, detail = "it is as wide or wider here", f"SPA {spa:.3f}, PA {pa:.3f}"
            yield Row.claim(f"{what} with {n}", holds=holds, reason=reason, detail=detail)


def _absent(name: str, published: Mapping[str, Any], reason: str) -> Iterator[Row]:
    yield from compare(_row_of(published["table1"], name), lambda *_: reason)
    yield Row.absent(f"Figure 2, {name}: SPA is more stable", "yes", reason)
    if name.startswith("wmt23"):
        yield Row.absent(f"Figure 3, {name}: SPA has the narrower interval", "yes", reason)


def _ties_rows(published: Mapping[str, Any], loaded: MqmSet | str) -> Iterator[Row]:
    """PA of the metrics of one set: best, worst, and who ties."""
    ours: dict[str, float] = {}
    if isinstance(loaded, MqmSet):
        (results,) = open_runs(loaded.es, HUMAN, "pa", DistinctOptions()).results
        values = [result.value for result in results if not np.isnan(result.value)]
        sizes = sorted(map(len, same_values(results)), reverse=True)
        ours = {
            "PA of the worst metric": min(values),
            "PA of the best metric": max(values),
            "metrics in the largest tie by PA": sizes[0],
            "metrics in the second largest tie by PA": sizes[1] if len(sizes) > 1 else 0,
        }
    for section in ("section43", "ties"):
        yield from compare(
            published[section], lambda what, _: loaded if isinstance(loaded, str) else ours[what]
        )
