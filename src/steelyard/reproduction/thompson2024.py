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
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.provenance import InputFile
from steelyard.core.rng import Rng, generator
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import load
from steelyard.metaevaluation.options import MetricTest
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.metaevaluation.run import meta_evaluate
from steelyard.metaevaluation.tests import draw_null, ranked, significance_of, swappable
from steelyard.reproduction.reproduction import (
    COUNTED,
    Allowed,
    Paper,
    Reproduction,
    Row,
    printed,
)
from steelyard.reproduction.search import Data, Places
from steelyard.studies.distinct import same_values, significant_counts
from steelyard.studies.options import DistinctOptions
from steelyard.studies.segments import ablate_segments
from steelyard.studies.study import Progress, open_runs
from steelyard.studies.systems import ablate_systems

PAPER = Paper(
    "spa",
    "Improving Statistical Significance in Human Evaluation via Soft Pairwise Accuracy (2024)",
    "thompson2024",
)
HUMAN = "mqm"
#: The paper's sets: test set, language pair, standard reference.
SETS = {
    "wmt22 en-de": ("wmt22", "en-de", "refA"),
    "wmt22 zh-en": ("wmt22", "zh-en", "refA"),
    "wmt22 en-ru": ("wmt22", "en-ru", "refA"),
    "wmt23 en-de": ("wmt23", "en-de", "refA"),
    "wmt23 he-en": ("wmt23", "he-en", "refB"),
    "wmt23 zh-en": ("wmt23", "zh-en", "refA"),
}
DRAWN = "wmt22 en-de"  # the set of Figure 4
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
_NO_CRITERION = "drawn only, and the paper does not say when an interval has converged"
_INCREASE = Allowed(printed(2).most, "as if printed with 2 decimals; made of sampled counts")


@dataclass(frozen=True, slots=True)
class _Set:
    """A set that is there: systems with MQM, and metrics that use the reference."""

    name: str
    es: EvalSet
    reference: str


def reproduce_spa(
    data: Places | Data, *, rng: Rng = 0, progress: Progress | None = None
) -> Reproduction:
    """Compare the paper's figures with ours, set by set, as far as ``data`` holds them."""
    published, places = PAPER.figures(), Places.of(data)
    found = {name: _find(places, name) for name in SETS}
    sets = {name: own for name, own in found.items() if isinstance(own, _Set)}
    missing = {name: own for name, own in found.items() if isinstance(own, str)}
    rows = list(_arithmetic_rows(published))
    steps = (_table1, _figure2, _figure3)
    done, total = 0, len(steps) * max(len(sets), 1)
    for step, stream in zip(steps, generator(rng).spawn(len(steps)), strict=True):
        # One stream for each set, there or not: what else is there moves no figure.
        for name, own in zip(SETS, stream.spawn(len(SETS)), strict=True):
            if name in sets:
                rows += step(sets[name], published, own)
                done += 1
                if progress is not None:
                    progress(done, total)
    rows += _increase_rows(published, rows, [*sets], [*missing.values()])
    for name, reason in missing.items():
        rows += _absent(name, published, reason)
    rows += _ties_rows(published["section43"], found[DRAWN])
    rows += _drawn_rows()
    inputs: list[InputFile] = [file for own in sets.values() for file in own.es.inputs]
    told = [*missing.values(), *places.nameless()]
    return PAPER.reproduced(rows, inputs, told, {"resamples": RESAMPLES}, rng)


def significance_matrices(data: Places | Data, rng: Rng = 0) -> tuple[str, MetaEvaluation] | None:
    """Weigh and test the metrics of the set of Figure 4, or of the first that is there; its name.

    None if no set of the paper is there.
    """
    places = Places.of(data)
    for name in (DRAWN, *SETS):
        found = _find(places, name)
        if isinstance(found, _Set):
            tested = meta_evaluate(
                found.es,
                HUMAN,
                by=["pa", "spa"],
                significance=MetricTest(alternative="two-sided", n_resamples=RESAMPLES),
                intervals=None,
                rng=rng,
            )
            return name, tested
    return None


def _find(places: Places, name: str) -> _Set | str:
    """Load a set, or say why it can't be used."""
    test, lp, reference = SETS[name]
    found = places.scores(test, lp)
    if not found.paths:
        return found.missing
    es = load(*found.paths, lp=found.lp)
    where = listed([str(path) for path in found.paths])
    if HUMAN not in es.scores or not es[HUMAN].has_segments:
        return f"no scores of segments by people called '{HUMAN}' in {where} ({name})"
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
        return f"fewer than two metrics called *-{reference} in {where} ({name})"
    if es.n_systems - len(left_out) < 3:
        return f"fewer than three systems with '{HUMAN}' in {where} ({name})"
    bare = EvalSet(es.systems, es.segments, kept, inputs=es.inputs)
    own = bare.drop(systems=left_out) if left_out else bare
    if np.nanmin(own[HUMAN].values) == np.nanmax(own[HUMAN].values):
        return f"all scores by people called '{HUMAN}' are the same in {where} ({name})"
    return _Set(name, own, reference)


def _arithmetic_rows(published: Mapping[str, Any]) -> Iterator[Row]:
    """Means that follow from the printed table."""
    columns = published["table1"]["columns"]
    table = np.array([row for name, row in published["table1"].items() if name != "columns"])
    for key, value in published["section44"].items():
        one, two = columns.index(f"{key} by PA"), columns.index(f"{key} by SPA")
        ours = _increase(table[:, [one, two]].tolist())
        what = f"Section 4.4, {key}: mean increase, from Table 1"
        yield Row.judge(what, value, ours, printed(2))
    n = table[0, 0]
    value = published["section43"]["possible values of PA"]
    ours = int(n * (n - 1) // 2 + 1)
    yield Row.judge("Section 4.3, possible values of PA for 14 systems", value, ours, COUNTED)


def _cells(name: str, published: Mapping[str, Any]) -> dict[str, int]:
    """Give the cells of a set in Table 1 by column."""
    table = published["table1"]
    return dict(zip(table["columns"], table[name], strict=True))


def _table1(own: _Set, published: Mapping[str, Any], rng: np.random.Generator) -> Iterator[Row]:
    n, name = own.es.n_systems, own.name
    runs = count_runs(own.es, rng.spawn(SEEDS))
    different, distinct = runs[0].different, runs[0].distinct
    ours: dict[str, int] = {
        "systems": n,
        "metrics": len(own.es.metrics),
        "most distinct values": different,
        "most clusters": different,
        "most significant pairs": different * (different - 1) // 2,
        **{f"distinct values by {meta}": distinct[meta] for meta in META},
    }
    reason = f"all {n} systems that people scored take part"
    spread = (
        f"a count by two-sided tests of {RESAMPLES:,} resamples, here the mean over {SEEDS} seeds; "
        "error: of one run and this mean"
    )
    for column, value in _cells(name, published).items():
        what = f"Table 1, {name}, {column}"
        if column in ours:
            row = Row.judge(what, value, ours[column], COUNTED, reason)
            if column == "systems" and name in published["misprints"]:
                row = row.blame_paper(_MISPRINT, published["misprints"][name])
            yield row
            continue
        drawn = [run.tested[column] for run in runs]
        error = float(np.std(drawn, ddof=1) * np.sqrt(1 + 1 / SEEDS))
        count = round(float(np.mean(drawn)))
        why = _FLOATS if column == "significant pairs by PA" else reason
        yield Row.judge(what, value, count, Allowed(0.0, spread, error), why)


@dataclass(frozen=True, slots=True)
class Counts:
    """What Table 1 counts of a set, by one seed.

    ``different`` metrics have scores of their own; ``distinct`` counts values by meta-metric,
    ``tested`` significant pairs and clusters by column.
    """

    different: int
    distinct: dict[str, int]
    tested: dict[str, int]


def count_runs(es: EvalSet, streams: Sequence[np.random.Generator]) -> list[Counts]:
    """Count as ``steelyard study distinct`` does, once for each stream."""
    by = tuple(meta.lower() for meta in META)
    runs = open_runs(es, HUMAN, by, DistinctOptions())
    different = len({runs.data.segments(metric).tobytes() for metric in runs.data.metrics})
    named = list(zip(META, runs.runs, runs.results, strict=True))
    distinct = {meta: len(same_values(found)) for meta, _, found in named}
    how = MetricTest(n_resamples=RESAMPLES, alternative="two-sided")
    result = []
    for stream in streams:
        tested: dict[str, int] = {}
        for (meta, run, metrics), rng in zip(named, stream.spawn(len(named)), strict=True):
            names = swappable(run, metrics)
            null = draw_null(run, names, how, rng)
            test = significance_of(names, null.compare(how.alternative), how)
            pairs, _, clusters = significant_counts(
                test, ranked(metrics, test, how.alpha), how.alpha
            )
            tested |= {f"significant pairs by {meta}": pairs, f"clusters by {meta}": clusters}
        result.append(Counts(different, distinct, tested))
    return result


def _increase_rows(
    published: Mapping[str, Any], rows: Sequence[Row], sets: Sequence[str], missing: Sequence[str]
) -> Iterator[Row]:
    """How many more pairs and clusters SPA finds than PA, over the sets that are there."""
    table = {row.what: row.ours for row in rows}
    for key, value in published["section44"].items():
        cells = [[table[f"Table 1, {name}, {key} by {m}"] for m in META] for name in sets]
        ours = _increase(cells) if sets else "; ".join(missing)
        what = f"Section 4.4, {key}: mean increase over the sets at hand"
        reason = "it follows from counts by PA that differ in Table 1"
        if missing:
            reason = f"{len(sets)} of the paper's {len(SETS)} sets are at hand"
        yield Row.judge(what, value, ours, _INCREASE, reason, other_data=bool(missing))


def _increase(counts: Sequence[Sequence[Any]]) -> float:
    """Mean increase from the first to the second count; NaN where a first one is 0."""
    before, after = np.array(counts, dtype=np.float64).T
    return float((after / before).mean() - 1) if before.all() else np.nan


def _figure2(own: _Set, _: Mapping[str, Any], rng: np.random.Generator) -> Iterator[Row]:
    """SPA is more stable than PA at every number of systems."""
    sizes = range(2, own.es.n_systems)
    study = ablate_systems(own.es, HUMAN, by=["spa", "pa"], sizes=sizes, trials=TRIALS, rng=rng)
    for kind in ("values", "ranks"):
        for record in study.table(kind).records():
            numbers = (record[key] for key in ("spa - pa", "low", "high"))
            gap, low, high = (np.nan if number is None else float(number) for number in numbers)
            what = (
                f"Figure 2, {own.name}, {kind}: SPA is more stable with {record['systems']} systems"
            )
            holds = None if np.isnan(gap) else gap > 0
            gaps, detail = (low, high), f"SPA - PA {gap:+.3f} ({low:+.3f} to {high:+.3f})"
            yield Row.claim(what, holds=holds, reason=_BY_ORDER, detail=detail, interval=gaps)


def _figure3(own: _Set, published: Mapping[str, Any], rng: np.random.Generator) -> Iterator[Row]:
    """Intervals of SPA are narrower than those of PA."""
    if not own.name.startswith("wmt23"):
        return
    names = {name: f"{name}-{own.reference}" for name in published["figure3"]["metrics"]}
    there = [metric for metric in names.values() if metric in own.es.scores]
    if there:
        study = ablate_segments(
            own.es, HUMAN, by=["spa", "pa"], metrics=there, draws=TRIALS, rng=rng
        )
    for name, metric in names.items():
        what = f"Figure 3, {own.name} {name}: SPA has the narrower interval"
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
    for column, value in _cells(name, published).items():
        yield Row.absent(f"Table 1, {name}, {column}", value, reason)
    yield Row.absent(f"Figure 2, {name}: SPA is more stable", "yes", reason)
    if name.startswith("wmt23"):
        yield Row.absent(f"Figure 3, {name}: SPA has the narrower interval", "yes", reason)


def _ties_rows(published: Mapping[str, Any], found: _Set | str) -> Iterator[Row]:
    """PA of the metrics of one set: best, worst, and who ties."""
    ours: dict[str, float | str] = {}
    if isinstance(found, _Set):
        (results,) = open_runs(found.es, HUMAN, "pa", DistinctOptions()).results
        values = [result.value for result in results if not np.isnan(result.value)]
        sizes = sorted(map(len, same_values(results)), reverse=True)
        ours = {
            "PA of the worst metric": min(values),
            "PA of the best metric": max(values),
            "metrics in the largest tie by PA": sizes[0],
            "metrics in the second largest tie by PA": sizes[1] if len(sizes) > 1 else 0,
        }
    reason = "other systems or metrics than the paper's"
    for what, value in published.items():
        if what != "possible values of PA":
            own = found if isinstance(found, str) else ours[what]
            within = printed(3) if isinstance(value, float) else COUNTED
            yield Row.judge(f"Section 4.3, {DRAWN}, {what}", value, own, within, reason)


def _drawn_rows() -> Iterator[Row]:
    drawn = "drawn only: no figures are printed but those of Table 1"
    yield Row.absent("Figure 1, matrices of Prism on wmt23 en-de", None, drawn)
    sooner = "Figure 3, the interval of SPA converges with fewer segments"
    yield Row.absent(sooner, "yes", _NO_CRITERION)
    plot = f'{drawn}; plot="figure4" draws it where {DRAWN} or another set is there'
    yield Row.absent(f"Figure 4, significance matrices of {DRAWN}", None, plot)
