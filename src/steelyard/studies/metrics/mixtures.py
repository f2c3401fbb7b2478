"""Metrics weighed on hybrid systems, and what thousands of them are worth.

After Graham and Liu (2016): hybrids of real systems, segment by segment, have human and metric
scores, and a correlation over as many as one likes. Their number is no evidence: intervals here are
over the systems and the segments that hybrids are made of, beside the interval of those who take
hybrids for independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.formats.load import Source, as_evalset
from steelyard.metaevaluation.cube import HINT, Data, prepare, the_human
from steelyard.metaevaluation.words import quoted
from steelyard.stats.arrays import Floats, row_means
from steelyard.stats.hybrids import Hybrids, draw_hybrids
from steelyard.stats.metametrics import catalogue
from steelyard.stats.metametrics.base import MetaMetric, TieRules
from steelyard.stats.permutation.pvalues import pair_index
from steelyard.stats.resampling.bootstrap import draw_counts, interval, segment_counts
from steelyard.studies.metrics.metaruns import By, need_differences
from steelyard.studies.metrics.options import HYBRID_META, HybridOptions
from steelyard.studies.results import Curve, Line, Progress, Study, steps

_SIZES = (10, 30, 100, 300, 1000, 3000)
_SAMPLES = 20  # of each size, at most
_MOST = 1000  # hybrids whose pairs are counted
_LINES = 8  # metrics that a figure shows
_NORMAL = 1.959963984540054


@keywords(HybridOptions)
def mix_systems(
    es: Source,
    human: str | None = None,
    *,
    by: By = HYBRID_META,
    options: HybridOptions,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Study:
    """Make hybrids of the systems, and weigh metrics on them.

    See :class:`HybridOptions`, and :func:`steelyard.meta_evaluate` for what is weighed.

    Examples
    --------
    >>> import steelyard as sy
    >>> study = mix_systems(sy.demo_set(), "mqm", metrics=["learned-refA", "chars-refA"],
    ...                     hybrids=100, n_bootstrap=50)
    >>> [row["metric"] for row in study.table("pearson").records()]
    ['learned-refA', 'chars-refA']
    """
    bounds.function(optional=True, progress=progress)
    metas = _metas(by, options.hybrids)
    drawing, resampling = generator(rng).spawn(2)
    es = as_evalset(es, human)
    human = the_human(es, human)
    data, told = prepare(es, human, options.metrics, keep_references=options.keep_references)
    data, lost = _complete(data, human)
    n, s = data.human.shape
    least = max(3, options.parts)
    if n < least:
        what = f"hybrids of {options.parts} take {least} at least"
        raise UsageError(f"{plural(n, 'system')} with scores on all segments: {what}")
    need_differences(data, human)
    mixed = draw_hybrids(options.hybrids, n, s, options.parts, drawing)
    counts = segment_counts(options.n_bootstrap, s, resampling)
    systems = draw_counts(options.n_bootstrap, n, resampling)
    scored = _scored(data, mixed, counts, steps(progress, len(data.metrics)))
    found = [_Mixed.of(meta, data, scored, mixed.weights(systems), n) for meta in metas]
    warnings = [text.removesuffix(HINT) for text in told] + lost
    warnings += [text for own in found for text in own.outside()]
    return Study(
        name="hybrids",
        parts={
            **{own.by: own.table() for own in found},
            "convergence": _convergence_table(found),
        },
        curves=tuple(own.curve() for own in found),
        facts={
            "n_systems": n,
            "n_segments": s,
            "hybrids": len(mixed),
            "parts": options.parts,
            "verdicts": {own.by: own.sentences() for own in found},
        },
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=_provenance(data, human, metas, options, rng),
    )


def _provenance(
    data: Data, human: str, metas: Sequence[MetaMetric], options: HybridOptions, rng: Rng
) -> Provenance:
    shown = {"human": human, "with": ",".join(meta.name for meta in metas),
             "hybrids": options.hybrids, "parts": options.parts}  # fmt: skip
    return Provenance.of("study hybrids", shown, data.es.inputs, rng, options)


def _metas(by: By, hybrids: int) -> list[MetaMetric]:
    """Give meta-metrics of system scores; others have no meaning here."""
    metas = list(dict.fromkeys(catalogue.chosen(by)))
    for meta in metas:
        if "sys" not in meta.levels:
            raise UsageError(f"'{meta.name}' compares segments: hybrids have the real ones")
        if meta.on_cells:
            what = "tests segments of two systems, which hybrids share"
            raise UsageError(f'\'{meta.name}\' {what} (by=["pearson", "pa"])')
        known = meta.copies(TieRules())
        if known is None:
            raise UsageError(f"'{meta.name}' has no definition for copies of systems")
        if hybrids > _MOST and meta.name not in ("pearson", "spearman"):
            raise UsageError(f"'{meta.name}' counts all pairs: at most {_MOST:,} hybrids")
    return metas


def _complete(data: Data, human: str) -> tuple[Data, list[str]]:
    """Keep the segments on which people scored every system."""
    whole = np.asarray(~np.isnan(data.human).any(axis=0))
    judged = len(data.judged)
    if whole.sum() < 2:
        raise UsageError(f"'{human}' has fewer than two segments of which every system was scored")
    ids = [one for one, kept in zip(data.es.segments.ids, whole, strict=True) if kept]
    es = data.es.select(segments=ids)
    lacking = [n for n in data.metrics if not es[n].has_segments and es[n].statistics is None]
    if lacking:
        raise UsageError(f"no segment scores of {quoted(lacking)}: no hybrid has a score")
    part = data.human[:, whole]
    told = []
    if whole.sum() < judged:
        lost = plural(judged - int(whole.sum()), "segment")
        told.append(f"{lost} of which people did not score every system left out: hybrids need all")
    return Data(es, part, part.mean(axis=1), data.metrics), told


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores of real systems, of hybrids, and of hybrids in each resample of segments.

    Those of people are over the cells that the metric has, too.
    """

    human: dict[str, tuple[Floats, Floats, Floats]]
    metrics: dict[str, tuple[Floats, Floats, Floats]]


def _scored(data: Data, mixed: Hybrids, counts: Floats, tick: Any) -> _Scores:
    found, people = {}, {}
    whole = data.human_systems[None], mixed.means(data.human), mixed.means(data.human, counts)
    for k, name in enumerate(data.metrics):
        source = data.scores.sources[k]
        real = data.scores.systems[k]
        if source.statistics is not None:
            hybrids, drawn = (source.sign * mixed.corpus(source.statistics, one)
                              for one in (None, counts))  # fmt: skip
            known = source.statistics.known
        else:
            own = data.scores.cube[k]
            known = ~np.isnan(own)
            real = row_means(own)
            hybrids, drawn = mixed.means(own), mixed.means(own, counts)
        found[name] = (real[None], hybrids, drawn)
        people[name] = whole
        if not known.all():
            both = np.where(known, data.human, np.nan)
            people[name] = row_means(both)[None], mixed.means(both), mixed.means(both, counts)
        tick()
    return _Scores(people, found)


@dataclass(frozen=True, slots=True, eq=False)
class _Mixed:
    """Values under one meta-metric: metrics best first."""

    by: str
    names: tuple[str, ...]
    real: Floats
    value: Floats
    systems: tuple[Floats, Floats]  # ends of intervals over systems
    segments: tuple[Floats, Floats]
    sizes: tuple[int, ...]
    samples: tuple[Floats, ...]  # of each size, samples x metrics
    n_systems: int
    n_hybrids: int

    @classmethod
    def of(
        cls, meta: MetaMetric, data: Data, scored: _Scores, weights: Floats, n_systems: int
    ) -> _Mixed:
        """Weigh all metrics on real systems, on hybrids, and on resamples."""
        ties = TieRules()
        n = weights.shape[1]
        sizes = tuple(size for size in _SIZES if size < n)
        columns = []
        for name in data.metrics:
            human, own = scored.human[name], scored.metrics[name]
            real, value = (meta.rows(human[k], ties, own[k])[0] for k in (0, 1))
            drawn = meta.rows(human[1], ties, own[1], weights)
            over = meta.rows(human[2], ties, own[2])
            parts = [_disjoint(meta, human[1], own[1], size) for size in sizes]
            columns.append((real, value, drawn, over, parts))
        order = sorted(range(len(columns)), key=lambda k: (-_low(columns[k][1]), data.metrics[k]))
        chosen = [columns[k] for k in order]
        return cls(
            meta.name,
            tuple(data.metrics[k] for k in order),
            np.array([one[0] for one in chosen]),
            np.array([one[1] for one in chosen]),
            interval(np.stack([one[2] for one in chosen], axis=1)),
            interval(np.stack([one[3] for one in chosen], axis=1)),
            sizes,
            tuple(np.stack([one[4][k] for one in chosen], axis=1) for k in range(len(sizes))),
            n_systems,
            n,
        )

    @property
    def naive(self) -> tuple[Floats, Floats] | None:
        """Fisher's interval, as if hybrids were independent; of Pearson's r only."""
        if self.by != "pearson":
            return None
        with np.errstate(divide="ignore"):
            z = np.arctanh(np.clip(self.value, -1, 1))
        half = _NORMAL / np.sqrt(self.n_hybrids - 3)
        return np.tanh(z - half), np.tanh(z + half)

    def table(self) -> Table:
        """Give a row per metric: hybrids, real systems, and intervals."""
        naive = self.naive
        columns = [Column("metric"), Column("hybrids", "higher", digits=3),
                   Column("real systems", digits=3)]  # fmt: skip
        spans = [("systems", self.systems), ("segments", self.segments)]
        spans += [] if naive is None else [("independent", naive)]
        for what, _ in spans:
            columns += [Column(f"{what}: {end}", digits=3) for end in ("low", "high")]
        rows: list[tuple[Cell, ...]] = []
        for k, name in enumerate(self.names):
            cells: list[Cell] = [_cell(x) for x in (self.value[k], self.real[k])]
            cells += [_cell(ends[k]) for _, both in spans for ends in both]
            rows.append((name, *cells))
        notes = [f"low, high: 95 % intervals over {' and over '.join(w for w, _ in spans[:2])}"]
        if naive is not None:
            notes[0] += "; independent: as if hybrids were, which they are not"
        title = f"Metrics on {self.n_hybrids:,} hybrids of {self.n_systems} systems: {self.by}"
        return Table(title, tuple(columns), tuple(rows), (*self.sentences(), *notes))

    def sentences(self) -> list[str]:
        """Say what hybrids answer here, and what they do not."""
        known = ~np.isnan(self.value + self.real)
        told = []
        if known.any():
            moved = float(np.abs(self.value - self.real)[known].max())
            line = f"hybrids are mixtures of the same {self.n_systems} systems: values are within "
            line += f"{moved:.3f} of those of the real ones"
            i, j = pair_index(int(known.sum()))
            if len(i):
                mixed, real = (own[known] for own in (self.value, self.real))
                same = np.sign(mixed[i] - mixed[j]) == np.sign(real[i] - real[j])
                alike = f"{int(same.sum())} of {plural(len(i), 'pair')} of metrics"
                line += f", and {alike} stand in the same order"
            told.append(line)
        width = _width(self.systems)
        if not np.isnan(width):
            line = f"an interval over systems is {width:.3f} wide"
            naive = self.naive
            if naive is not None and _width(naive) > 0:
                times = width / _width(naive)
                line += f", {times:.0f} times that of whoever takes hybrids for independent"
            told.append(f"{line} (medians): more hybrids do not narrow it, more systems do")
        told.append("hybrids tell how metrics order mixtures of these outputs, with finer steps "
                    "than real systems; not how they would order other systems")  # fmt: skip
        return told

    def outside(self) -> list[str]:
        """Name metrics whose value their interval over segments does not hold."""
        low, high = self.segments
        beyond = [
            name
            for k, name in enumerate(self.names)
            if not np.isnan(low[k]) and not low[k] <= self.value[k] <= high[k]
        ]
        if not beyond:
            return []
        what = "resamples repeat some segments and lack others, so they are noisier than the data"
        told = f"{self.by}: the interval over segments does not hold the value of {quoted(beyond)}"
        return [f"{told}: {what}; do not rely on it"]

    def curve(self) -> Curve:
        """Draw values against the number of hybrids."""
        x = (*self.sizes, self.n_hybrids)
        lines = []
        for k, name in enumerate(self.names[:_LINES]):
            parts = [*(part[:, k] for part in self.samples), self.value[k : k + 1]]
            ends = [(np.mean(p), np.min(p), np.max(p)) for p in parts]
            y, low, high = np.array(ends).T
            lines.append(Line(name, y, low, high, tuple(len(p) for p in parts)))
        title = f"{self.by} by number of hybrids, and its range over samples"
        return Curve(self.by, title, "hybrids", self.by, x, tuple(lines))


def _low(value: float) -> float:
    return -np.inf if np.isnan(value) else float(value)


def _width(ends: tuple[Floats, Floats]) -> float:
    widths = ends[1] - ends[0]
    known = widths[~np.isnan(widths)]
    return float(np.median(known)) if known.size else float("nan")


def _cell(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _disjoint(meta: MetaMetric, human: Floats, metric: Floats, size: int) -> Floats:
    """Values on samples of so many hybrids that share none."""
    n = min(_SAMPLES, human.shape[1] // size)
    rows = (x[0, : n * size].reshape(n, size) for x in (human, metric))
    h, m = rows
    return meta.rows(h, TieRules(), m)


def _convergence_table(found: Sequence[_Mixed]) -> Table:
    """Show how far values of fewer hybrids are from that of all."""
    rows: list[tuple[Cell, ...]] = []
    for own in found:
        for size, part in zip(own.sizes, own.samples, strict=True):
            off = np.abs(part - own.value)
            known = off[~np.isnan(off)]
            cells = (None, None) if not known.size else (float(known.mean()), float(known.max()))
            rows.append((own.by, size, len(part), *cells))
    columns = (Column("with"), Column("hybrids"), Column("samples"), Column("off by", digits=4),
               Column("at most", digits=4))  # fmt: skip
    note = "off by: mean distance from the value of all hybrids, over metrics and samples"
    return Table("How many hybrids it takes", columns, tuple(rows), (note,))
