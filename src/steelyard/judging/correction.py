"""What annotators would say about systems, from few labels and many verdicts of a judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import Decision
from steelyard.core.display import Statement, one_line
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table, interval_decimals
from steelyard.core.text import all_of, listed, plural
from steelyard.data.judgements import Codes, encode
from steelyard.data.units import UnitEffect
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.card import Answer, percent, with_interval
from steelyard.judging.options import AUTO, BT, MEAN, CorrectOptions, checked_pair
from steelyard.stats.arrays import Floats
from steelyard.stats.clusters import greedy_clusters
from steelyard.stats.estimate import Estimate, critical, symmetric, undefined
from steelyard.stats.judged.agreement import correlation
from steelyard.stats.prediction_powered.mean import (
    FEWEST,
    Corrected,
    Together,
    all_together,
    corrected_mean,
    joint_covariance,
    mean_verdict,
    stratified_mean,
    weighted_mean,
    with_every_verdict,
)
from steelyard.stats.prediction_powered.strengths import (
    Strengths,
    plain_strengths,
    powered_strengths,
)
from steelyard.stats.ranks import whole

RANDOM, UNKNOWN, BY, PROBABILITY = "random", "unknown", "by", "probability"
SAME_ITEMS, COVARIANCE = "the same items", "both means"
BATTLES, STRENGTHS = "battles of the two", "strengths"
_TEST = "max-t"
_VERDICT = "verdict"  # by:verdict is by what the judge said
_HOW = "random, by:COLUMN, by:verdict, probability:COLUMN or unknown"
_MOST_STRATA = 50
_MOST_PAIRED = 60  # systems up to which every pair gets an estimate of its own
_FEW_LABELS = 30
_SHOWN = 12  # systems on a screen


# --------------------------------------------------------------------------- how rows were chosen


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """How rows were chosen for labelling: strata or probabilities by row, where there are any."""

    kind: str
    stratum: Codes | None = None
    strata: tuple[str, ...] = ()
    probability: Floats | None = None

    @property
    def at_random(self) -> bool:
        """Whether labels are taken for a random sample of all rows."""
        return self.kind in (RANDOM, UNKNOWN)


def parse_labels(text: str) -> tuple[str, str | None]:
    """Return how labels were chosen and by which column: ``by:domain`` is ``by``, ``domain``."""
    kind, colon, column = text.partition(":")
    complete = (
        bool(column) if kind in (BY, PROBABILITY) else kind in (RANDOM, UNKNOWN) and not colon
    )
    if not complete:
        raise UsageError(f"labels '{text}': expected {_HOW}")
    return kind, column or None


def _read(sources: Sequence[Any], options: CorrectOptions) -> tuple[Verdicts, Opinion, Sampling]:
    """Read verdicts, pick the judge, and find how rows were chosen."""
    kind, column = parse_labels(options.labels)
    reading = options
    if options.judge is not None and options.judges is None:
        reading = replace(options, judges=(options.judge,))
    if kind == PROBABILITY:
        verdicts = reading.read(sources, probability=column)
        if verdicts.probability is None:
            raise UsageError(f"labels: no column '{column}' of probabilities")
        return verdicts, options.pick(verdicts), Sampling(kind, probability=verdicts.probability)
    verdicts = reading.read(sources, strata=column)
    judge = options.pick(verdicts)
    if kind != BY or column is None:
        return verdicts, judge, Sampling(kind)
    words = _words_of(column, verdicts, judge)
    if words is None:
        columns = [_VERDICT, *verdicts.slices, *verdicts.covariates]
        raise UsageError(f"labels: no column '{column}'; {hint(column, columns)}")
    names, codes = encode([str(word) for word in words])
    if len(names) > _MOST_STRATA:
        raise UsageError(
            f"labels: '{column}' has {len(names):,} values, too many to be strata (at most "
            f"{_MOST_STRATA}): name a column that says how rows were grouped"
        )
    return verdicts, judge, Sampling(kind, stratum=codes, strata=names)


def _words_of(column: str, verdicts: Verdicts, judge: Opinion) -> Sequence[str] | None:
    """Return a column as words; None where there is no such column."""
    if column in verdicts.slices:
        return verdicts.slices[column]
    if column == "system" and verdicts.left is not None and verdicts.right is None:
        return [verdicts.systems[code] for code in verdicts.left]
    judges = {opinion.name: opinion for opinion in (*verdicts.judges, judge)} | {_VERDICT: judge}
    if column not in judges and column not in verdicts.covariates:
        return None
    opinion = judges.get(column)
    if opinion is not None and opinion.label is not None and opinion.categorical:
        return [verdicts.categories[c] if c >= 0 else "none" for c in opinion.label]
    return [f"{x:g}" for x in (verdicts.covariates[column] if opinion is None else opinion.value)]


# -------------------------------------------------------------------------------- what comes of it


@dataclass(frozen=True, slots=True)
class CorrectedSystem:
    """A system: what the judge alone, the labels alone, and both together say about it."""

    system: str
    corrected: Corrected

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"system": self.system, **_flat(self.corrected)}


@dataclass(frozen=True, slots=True)
class CorrectedPair:
    """How far the first system is ahead; ``how`` is what the difference was taken from."""

    first: str
    second: str
    corrected: Corrected
    how: str
    p: float = math.nan
    p_adjusted: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        tests = {"p": self.p, "p_adjusted": self.p_adjusted, "from": self.how}
        return {"pair": [self.first, self.second], **_flat(self.corrected), **tests}

    def turned(self) -> CorrectedPair:
        """Return the second minus the first."""
        estimate, people = (
            replace(x, value=0.0 - x.value, low=0.0 - x.high, high=0.0 - x.low)
            for x in (self.corrected.estimate, self.corrected.people)
        )
        judge = 0.0 - self.corrected.judge
        corrected = replace(self.corrected, estimate=estimate, people=people, judge=judge)
        return replace(self, first=self.second, second=self.first, corrected=corrected)


def _flat(corrected: Corrected) -> dict[str, Any]:
    values = corrected.to_dict()
    human, judge = values.pop("human"), values.pop("judge")
    return {"judge": judge, "human": human["value"], "human_ci": human["ci"], **values}


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """All systems and pairs, before they are tested; matrices are row minus column."""

    systems: tuple[CorrectedSystem, ...]
    pairs: tuple[CorrectedPair, ...]
    covariance: Floats
    differences: Floats
    errors: Floats
    freedom: Floats
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Correction(Answer):
    """Systems by annotators, from few labels and the verdicts of a judge.

    ``overall`` is the mean of all rows; None where systems are ranked by strengths. ``together``
    are tests of all pairs at once, and ranks; None with fewer than two systems. ``asked`` is the
    pair that was asked for; None: all of them.
    """

    judge: str
    labels: str
    by: str
    n_rows: int
    n_labelled: int
    n_judged: int
    unit: UnitEffect
    overall: Corrected | None
    parts: Parts
    together: Together | None
    asked: CorrectedPair | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    level: float = 0.95

    def __repr__(self) -> str:
        by = f"{self.n_labelled:,} labels and '{self.judge}'"
        systems = plural(len(self.systems), "system")
        return one_line(self, f"of {plural(self.n_rows, 'row')} by {by}; {systems}")

    @property
    def systems(self) -> tuple[CorrectedSystem, ...]:
        """The systems, in the order of their names."""
        return self.parts.systems

    @property
    def pairs(self) -> tuple[CorrectedPair, ...]:
        """All pairs of systems, or the one that was asked for."""
        return self.parts.pairs if self.asked is None else (self.asked,)

    @property
    def weight(self) -> float:
        """How much the judge counts: lambda, of all rows or the mean of systems."""
        if self.overall is not None:
            return self.overall.weight
        weights = [system.corrected.weight for system in self.systems]
        return float(np.mean(weights)) if weights else math.nan

    @property
    def ranking(self) -> dict[str, tuple[int | None, int | None, int]]:
        """The best and the worst rank of every system with a mean, and its tier, best first."""
        together, order = self.together, self._order()
        if together is None or not order:
            return {}
        names = [system.system for system in self.systems]
        index = [names.index(name) for name in order]
        p = np.nan_to_num(together.p_adjusted[np.ix_(index, index)], nan=1.0)
        # Only a lead in the direction of the ranking separates.
        ahead = self.parts.differences[np.ix_(index, index)] >= 0
        upper = np.triu(np.where(ahead, p, 1.0), 1)
        tiers = greedy_clusters(upper + upper.T, 1 - self.level).tolist()
        best, worst = (whole(end[index]) for end in (together.best, together.worst))
        return dict(zip(order, zip(best, worst, tiers, strict=True), strict=True))

    def table(self) -> Table:
        """Return a row per system, the best first, and one for all rows where there is a mean."""
        rows = [(system.system, system.corrected) for system in self.systems]
        rows.sort(key=lambda row: (math.isnan(row[1].estimate.value), -row[1].estimate.value,
                                   row[0]))  # fmt: skip
        rows += [] if self.overall is None else [("all", self.overall)]
        ranked = self.ranking
        bounds = np.array([[x.estimate.value, x.estimate.low, x.estimate.high] for _, x in rows])
        bounds = bounds[~np.isnan(bounds).any(axis=1)] if rows else bounds
        digits = interval_decimals(*bounds.T) if len(bounds) else 3
        headings = (
            Column("system"),
            *((Column("rank from"), Column("to"), Column("tier", importance=8)) if ranked else ()),
            Column("corrected", "higher", digits, importance=9),
            *(Column(name, None, digits) for name in ("low", "high", "labels alone",
                                                      "judge alone")),
            *(() if self.by == BT else (Column("weight", None, 2, importance=3),)),
            Column("labels", importance=2),
        )  # fmt: skip
        body = tuple(
            (name, *(ranked.get(name, (None,) * 3) if ranked else ()), x.estimate.value,
             x.estimate.low, x.estimate.high, x.people.value, x.judge,
             *(() if self.by == BT else (x.weight,)), x.n_labelled)
            for name, x in rows
        )  # fmt: skip
        what = "log-strengths" if self.by == BT else "means"
        if self.by == BT:
            what += f", where the judge weighs {self.weight:.2f}"
        notes = [f"{what} (labels: {self.labels})", *self.notes]
        if self.labels.startswith(BY):
            notes.append("labels alone are counted as they are, however they were chosen")
        return Table("", headings, body, tuple(notes))

    def pieces(self) -> list[Table | str]:
        """Return the table that a terminal shows: the best systems, and the mean of all rows."""
        table, n = self.table(), len(self.systems)
        if n <= _SHOWN:
            return [table]
        rows = (*table.rows[:_SHOWN], *table.rows[n:])
        rest = f"{n - _SHOWN} more systems: JSON has all"
        return [replace(table, rows=rows, notes=(*table.notes, rest))]

    def _sources(self) -> str:
        return f"{plural(self.n_labelled, 'label')} and {self.n_judged:,} verdicts of {self.judge}"

    def statements(self) -> Iterator[Statement]:
        """Yield the sentences by part: who is ahead, who could be, what the judge adds."""
        lines = [*self._mean_line(), *self._pair_line(), *self._first_line()]
        yield from lines or [("undecided", f"Nothing is known from {self._sources()}.")]
        yield from (("sureness", text) for text in self._gain_line())

    def _mean_line(self) -> Iterator[Statement]:
        if self.overall is None or len(self.systems) > 1:
            return
        estimate, people, judge = self.overall.estimate, self.overall.people, self.overall.judge
        if not estimate.known:
            yield "undecided", f"No mean by annotators: {estimate.why}."
            return
        mean = with_interval(estimate)
        yield "settled", f"The mean by annotators is {mean}, from {self._sources()}."
        if people.known:
            labels = with_interval(people)
            yield "sureness", f"The labels alone give {labels}, the judge alone {judge:.3g}."

    def _order(self) -> list[str]:
        if self.together is None:
            return []
        values = {x.system: x.corrected.estimate.value for x in self.systems}
        ranked = [name for name, value in values.items() if not math.isnan(value)]
        return sorted(ranked, key=lambda name: (-values[name], name))

    def _pair_line(self) -> Iterator[Statement]:
        """Yield how far the leader is ahead: of the pair that was asked for, else of the second."""
        pair, order = self.asked, self._order()
        if pair is None and len(order) > 1:
            pair = next(x for x in self.parts.pairs if {x.first, x.second} == set(order[:2]))
        if pair is None:
            return
        if not pair.corrected.estimate.known:
            yield "undecided", f"{pair.first} and {pair.second}: {pair.corrected.estimate.why}."
            return
        pair = pair.turned() if pair.corrected.estimate.value < 0 else pair
        estimate = pair.corrected.estimate
        alone = math.isnan(pair.p_adjusted)  # a pair that was not tested among all
        decision = Decision(
            pair.first, pair.second, estimate.value, estimate.low, estimate.high, pair.p,
            pair.p_adjusted, 1 if alone else len(self.parts.pairs), _TEST, unit="label",
            n_units=self.n_labelled, level=self.level, alpha=round(1 - self.level, 12),
        )  # fmt: skip
        apart = estimate.low > 0 if alone else decision.significant
        yield "settled" if apart else "undecided", decision.words()

    def _first_line(self) -> Iterator[Statement]:
        order = self._order()
        if self.together is None or len(order) < 2 or self.asked is not None:
            return
        best = {x.system: rank for x, rank in zip(self.systems, self.together.best, strict=True)}
        could = [name for name in order if best[name] == 1]
        if len(could) > 1:
            count = f"{len(could)} of {len(order)} systems could rank first"
            yield "undecided", f"{count}: {listed(could, 4)}."
        else:
            yield "settled", f"No system but {order[0]} could rank first."

    def _gain_line(self) -> Iterator[str]:
        if self.labels.startswith(BY):
            return  # labels that were chosen by stratum are no estimate by themselves
        # Few labels have exact intervals, which do not measure the gain.
        parts = [x.corrected for x in self.systems if x.corrected.n_labelled >= FEWEST]
        if len(parts) < 2 and self.overall is not None:
            parts = [self.overall]
        gains = [(part.people.se / part.estimate.se) ** 2 for part in parts
                 if part.people.se > 0 and part.estimate.se > 0]  # fmt: skip
        gain = float(np.median(gains)) if gains else math.nan
        if gain > 1 and any(part.weight for part in parts):
            worth, narrower = round(gain * self.n_labelled), percent(1 - 1 / math.sqrt(gain))
            labels = f"{plural(self.n_labelled, 'label')} and the verdicts of {self.judge}"
            yield f"{labels} are as precise as {worth:,} labels (intervals {narrower} narrower)."
        elif gains:
            notes = sorted({part.note for part in parts if part.note})
            yield f"The judge adds nothing here{f' ({notes[0]})' if notes else ''}."

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "summary": self.sentences,
            "n_items": self.n_rows,
            "n_labelled": self.n_labelled,
            "labels": self.labels,
            "unit": {"name": self.unit.name, "n": self.unit.n},
            "corrected": {
                "judge": self.judge,
                "by": self.by,
                "lambda": self.weight,
                "overall": None if self.overall is None else self.overall.to_dict(),
                "systems": [system.to_dict() for system in self.systems],
                "pairs": [pair.to_dict() for pair in self.pairs],
            },
            "ranking": [
                {"system": name, "rank_from": best, "rank_to": worst, "tier": tier}
                for name, (best, worst, tier) in self.ranking.items()
            ],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }


# ------------------------------------------------------------------------------------------- verb


@keywords(CorrectOptions)
def correct(*sources: Any, options: CorrectOptions, rng: Rng = 0) -> Correction:
    """Return what annotators would say about all systems, from few labels and a judge's verdicts.

    Parameters
    ----------
    sources
        As those of :func:`steelyard.judge`; labels of annotators may be few.
    options
        See :class:`~steelyard.judging.options.CorrectOptions`; given as keywords.
    rng
        Draws behind ranks.

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(1000) < 0.6
    >>> verdicts = np.where(rng.random(1000) < 0.85, truth, True).astype(int)
    >>> labels = [int(x) if i < 100 else None for i, x in enumerate(truth)]
    >>> frame = polars.DataFrame({"item": range(1000), "expert": labels, "gpt": verdicts})
    >>> overall = correct(frame, human=["expert"], judge="gpt").overall
    >>> bool(overall.estimate.low < truth.mean() < overall.estimate.high < overall.judge)
    True
    """
    verdicts, judge, sampling = _read(sources, options)
    human = verdicts.people().value
    by = _aggregation(options, verdicts, sampling)
    if np.isnan(human).all():
        raise UsageError("no row has a label of annotators")
    if np.isnan(judge.value).all():
        raise UsageError(f"{judge.name} has no verdict that can be understood as a number")
    means = Means(verdicts, human, judge.value, sampling, options.level)
    notes = []
    try:
        overall, parts, asked = _estimated(means, by, options)
    except UsageError as error:
        if by != BT or options.by == BT or options.pair is not None:
            raise
        by = MEAN
        overall, parts, asked = _estimated(means, by, options)
        notes.append(f"win rates, since there are no strengths: {error}")
    together = None
    if len(parts.systems) > 1 and parts.pairs and not np.isnan(parts.errors).all():
        values = np.array([system.corrected.estimate.value for system in parts.systems])
        together = all_together(
            parts.covariance, parts.differences, parts.errors, parts.freedom, values,
            generator(rng), draws=options.draws, level=options.level,
        )  # fmt: skip
        parts, asked = _tested(parts, together, asked)
    return Correction(
        judge=judge.name,
        labels=options.labels,
        by=by,
        n_rows=len(verdicts),
        n_labelled=int((~np.isnan(human)).sum()),
        n_judged=int((~np.isnan(judge.value)).sum()),
        unit=UnitEffect(verdicts.unit_name, len(verdicts.units) or len(verdicts), math.nan),
        overall=overall,
        parts=parts,
        together=together,
        asked=asked,
        notes=tuple(notes),
        warnings=(
            *verdicts.notes,
            *parts.notes,
            *_warnings(means, judge.name, parts, overall),
        ),
        provenance=options.provenance("judge correct", sources, rng),
        level=options.level,
    )


def _aggregation(options: CorrectOptions, verdicts: Verdicts, sampling: Sampling) -> str:
    pairs = verdicts.kind == "pairs" and verdicts.left is not None
    if options.by == AUTO:
        return BT if pairs and sampling.at_random and len(verdicts.systems) > 1 else MEAN
    if options.by == BT and not pairs:
        raise UsageError('by="bt" needs pairs of systems (columns left and right)')
    if options.by == BT and not sampling.at_random:
        raise UsageError(
            f'by="bt" needs labels that were chosen at random, not labels="{options.labels}": '
            'by="mean" has win rates'
        )
    return options.by


def _estimated(
    means: Means, by: str, options: CorrectOptions
) -> tuple[Corrected | None, Parts, CorrectedPair | None]:
    """Return the mean of all rows, all systems and pairs, and the pair that was asked for."""
    verdicts, overall = means.verdicts, None
    if by == BT:
        parts = corrected_strengths(verdicts, means.human, means.judge, options.level)
    else:
        if verdicts.kind == "points" or len(verdicts.systems) < 2:
            overall = means.mean(SystemRows(np.arange(len(verdicts)), means.human, means.judge))
        empty = np.zeros((0, 0))
        parts = Parts((), (), empty, empty, empty, empty)
        if verdicts.systems and verdicts.left is not None:
            parts = means.systems()
    if options.pair is None:
        return overall, parts, None
    names = checked_pair(options.pair, [system.system for system in parts.systems])
    if by == MEAN and verdicts.kind == "pairs":
        return overall, parts, means.battles(*(verdicts.systems.index(name) for name in names))
    pair = next(pair for pair in parts.pairs if {pair.first, pair.second} == set(names))
    return overall, parts, pair if pair.first == names[0] else pair.turned()


def _tested(
    parts: Parts, together: Together, asked: CorrectedPair | None
) -> tuple[Parts, CorrectedPair | None]:
    index = {system.system: i for i, system in enumerate(parts.systems)}

    def tested(pair: CorrectedPair) -> CorrectedPair:
        cell = index[pair.first], index[pair.second]
        return replace(pair, p=float(together.p[cell]), p_adjusted=float(together.p_adjusted[cell]))

    if asked is not None and asked.how != BATTLES:
        asked = tested(asked)
    return replace(parts, pairs=tuple(map(tested, parts.pairs))), asked


def _warnings(means: Means, judge: str, parts: Parts, overall: Corrected | None) -> Iterator[str]:
    kind, human, unit = means.sampling.kind, means.human, means.verdicts.unit
    if kind == UNKNOWN:
        yield (
            "how rows were chosen for labelling is not known: they are taken for a random sample; "
            "intervals miss the truth if they are not"
        )
    few = [system.system for system in parts.systems if system.corrected.note]
    notes = {system.corrected.note for system in parts.systems if system.corrected.note}
    if few and len(notes) <= 3 and kind != BY:
        yield f"{listed(few)}: {listed(sorted(notes))}"
    if overall is not None and overall.note and not few and kind != BY:
        yield overall.note
    labelled, missing = ~np.isnan(human), np.isnan(means.judge)
    n = int(labelled.sum())
    if n < _FEW_LABELS:
        yield f"{plural(n, 'label')}: intervals are wide, and may be too narrow all the same"
    if len(np.unique(missing[labelled])) < 2:
        return
    silent, units = missing[labelled].astype(np.float64), None if unit is None else unit[labelled]
    related = correlation(human[labelled], silent, unit=units, level=means.level)
    if related.bounded and not related.low <= 0 <= related.high:
        without, others = (float(human[labelled & rows].mean()) for rows in (missing, ~missing))
        where = f"{without:.3g} where {judge} gave no verdict and {others:.3g} elsewhere"
        yield f"labels average {where}: its verdicts are not missing at random"


# ------------------------------------------------------------------------------------------ means


class SystemRows(NamedTuple):
    """The rows of a system, from its side: what annotators and the judge gave it."""

    rows: NDArray[np.intp]
    human: Floats
    judge: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means of rows by annotators, where labels that were chosen somehow correct the judge's."""

    verdicts: Verdicts
    human: Floats
    judge: Floats
    sampling: Sampling
    level: float

    def of_system(self, system: int) -> SystemRows:
        """Return the rows of a system; of pairs those on either side."""
        v = self.verdicts
        assert v.left is not None
        left = np.flatnonzero(v.left == system)
        if v.right is None:
            return SystemRows(left, self.human[left], self.judge[left])
        right = np.flatnonzero((v.right == system) & (v.left != system))
        return SystemRows(
            np.concatenate([left, right]),
            np.concatenate([self.human[left], 1 - self.human[right]]),
            np.concatenate([self.judge[left], 1 - self.judge[right]]),
        )

    def differences(self, first: int, second: int) -> SystemRows:
        """Return the first minus the second system, on the same items or in battles of the two."""
        v = self.verdicts
        if v.right is None:
            a, b = self.of_system(first), self.of_system(second)
            _, i, j = np.intersect1d(v.item[a.rows], v.item[b.rows], return_indices=True)
            return SystemRows(a.rows[i], a.human[i] - b.human[j], a.judge[i] - b.judge[j])
        ahead, behind = (
            (v.left == left) & (v.right == right)
            for left, right in ((first, second), (second, first))
        )
        rows = np.flatnonzero(ahead | behind)
        sign = np.where(ahead[rows], 1.0, -1.0)
        human, judge = (sign * (2 * x[rows] - 1) for x in (self.human, self.judge))
        return SystemRows(rows, human, judge)

    def _unit(self, rows: NDArray[np.intp]) -> Codes | None:
        unit = None if self.verdicts.unit is None else self.verdicts.unit[rows]
        return None if unit is None or len(np.unique(unit)) == len(unit) else unit

    def mean(self, part: SystemRows) -> Corrected:
        """Correct the mean of some rows."""
        sampling, unit = self.sampling, self._unit(part.rows)
        if sampling.stratum is not None:
            return stratified_mean(part.human, part.judge, sampling.stratum[part.rows],
                                   names=sampling.strata, unit=unit, level=self.level)  # fmt: skip
        if sampling.probability is not None:
            return self._weighted(part, sampling.probability[part.rows], unit)
        return corrected_mean(part.human, part.judge, unit=unit, level=self.level)

    def _weighted(self, part: SystemRows, probability: Floats, unit: Codes | None) -> Corrected:
        """Weigh by probabilities, after the judge's mean was taken off both.

        The mean of the judge needs no labels, so that this changes nothing but the noise: sums over
        probabilities have that of all that is far from 0.
        """
        n = int((~np.isnan(part.human)).sum())
        if n < FEWEST:
            # With fewer, the weight fits the labels so well that no spread is left for an interval.
            raise UsageError(
                f"{plural(n, 'label')} chosen with known probabilities, expected {FEWEST} or more"
            )
        off = float(with_every_verdict(part.judge).mean())
        corrected = weighted_mean(
            part.human - off, part.judge - off, probability, unit=unit, level=self.level
        )
        estimate = corrected.estimate
        if estimate.bounded:  # the weight was fitted to the labels, which hides some of the noise
            se = estimate.se * math.sqrt(estimate.n / (estimate.n - 2))
            reach = max(
                se * critical(self.level, estimate.n - 2), (estimate.high - estimate.low) / 2
            )
            low, high = estimate.value - reach, estimate.value + reach
            estimate = replace(estimate, low=low, high=high, se=se)
        estimate, people = (
            replace(x, value=x.value + off, low=x.low + off, high=x.high + off)
            for x in (estimate, corrected.people)
        )
        return replace(corrected, estimate=estimate, people=people, judge=corrected.judge + off)

    def _or_why_not(self, part: SystemRows) -> Corrected:
        """Correct the mean of a system; undefined where it, or a stratum, has too few labels."""
        try:
            return self.mean(part)
        except UsageError as error:
            if self.sampling.at_random:
                raise
            judged, labels = (int((~np.isnan(x)).sum()) for x in (part.judge, part.human))
            nothing = undefined(str(error), labels)
            return Corrected(nothing, nothing, mean_verdict(part.judge), 0.0, math.nan, labels,
                             judged, influence=np.zeros(len(part.rows)))  # fmt: skip

    def systems(self) -> Parts:
        """Correct the means of all systems and their differences."""
        names = self.verdicts.systems
        parts = [self.of_system(code) for code in range(len(names))]
        means = [self._or_why_not(part) for part in parts]
        errors = np.array([x.estimate.se if x.estimate.se > 0 else np.nan for x in means])
        units = self.verdicts.unit
        codes = np.arange(len(self.verdicts)) if units is None else units
        influences, shared = [x.influence for x in means], [codes[part.rows] for part in parts]
        covariance = joint_covariance(influences, shared, errors)
        freedom = [self._freedom(part, x) for part, x in zip(parts, means, strict=True)]
        k = len(names)
        apart, pair_errors, pair_freedom = (np.full((k, k), np.nan) for _ in range(3))
        np.fill_diagonal(apart, 0.0)
        pairs = []
        for i in range(k):
            for j in range(i + 1, k):
                corrected = self._paired(i, j, parts) if k <= _MOST_PAIRED else None
                how, df = SAME_ITEMS, min(freedom[i], freedom[j])
                if corrected is None:
                    how = COVARIANCE
                    variance = covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
                    corrected = _apart(means[i], means[j], variance, df, self.level)
                else:
                    df = float(max(corrected.n_labelled - 2, 1))
                pairs.append(CorrectedPair(names[i], names[j], corrected, how))
                estimate = corrected.estimate
                apart[i, j], apart[j, i] = estimate.value, -estimate.value
                pair_errors[i, j] = pair_errors[j, i] = estimate.se
                pair_freedom[i, j] = pair_freedom[j, i] = df
        systems = tuple(CorrectedSystem(name, x) for name, x in zip(names, means, strict=True))
        return Parts(systems, tuple(pairs), covariance, apart, pair_errors, pair_freedom)

    def _freedom(self, part: SystemRows, corrected: Corrected) -> float:
        unit = self._unit(part.rows)
        if unit is None:
            return float(max(corrected.n_labelled - 2, 1))
        return float(max(len(np.unique(unit[~np.isnan(part.human)])) - 1, 1))

    def _paired(self, first: int, second: int, parts: Sequence[SystemRows]) -> Corrected | None:
        """Correct the mean of differences on the same items; None where few have both labels."""
        v = self.verdicts
        if v.right is not None or self.sampling.probability is not None:
            return None
        part = self.differences(first, second)
        both = int((~np.isnan(part.human)).sum())
        fewer = min(int((~np.isnan(parts[code].human)).sum()) for code in (first, second))
        if both < FEWEST or 2 * both < fewer:
            return None
        if self.sampling.stratum is None:
            return self.mean(part)
        # Labels are random among items whose two rows are of the same two strata.
        stratum, strata = self.sampling.stratum, self.sampling.strata
        other = parts[second].rows
        by_item = dict(zip(v.item[other].tolist(), stratum[other].tolist(), strict=True))
        second_stratum = np.array([by_item[item] for item in v.item[part.rows].tolist()])
        cells = (stratum[part.rows] * len(strata) + second_stratum).astype(np.int32)
        names = tuple(f"{x} and {y}" for x in strata for y in strata)
        try:
            return stratified_mean(part.human, part.judge, cells, names=names,
                                   unit=self._unit(part.rows), level=self.level)  # fmt: skip
        except UsageError:
            return None

    def battles(self, first: int, second: int) -> CorrectedPair:
        """Correct the mean of points that one system wins beyond the other."""
        names = self.verdicts.systems[first], self.verdicts.systems[second]
        part = self.differences(first, second)
        if len(part.rows):
            return CorrectedPair(*names, self.mean(part), BATTLES)
        nothing = undefined(f"{all_of(names)} never met")
        none = Corrected(nothing, nothing, math.nan, 0.0, math.nan, 0, 0)
        return CorrectedPair(*names, none, BATTLES)


def _apart(
    first: Corrected, second: Corrected, variance: float, freedom: float, level: float
) -> Corrected:
    """Return the difference of two corrected means whose covariance is known."""
    n = min(first.n_labelled, second.n_labelled)
    value = first.estimate.value - second.estimate.value
    if np.isnan(value):
        estimate = undefined(first.estimate.why or second.estimate.why, n)
    elif not variance > 0:
        estimate = Estimate(value, n=n, why="no interval: an error of the two is not known")
    else:
        estimate = symmetric(value, float(np.sqrt(variance)), n, level, freedom)
    why = "labels of the two are on different items"
    people = undefined(why, n)
    if first.people.known and second.people.known:
        difference = first.people.value - second.people.value
        people = Estimate(difference, n=n, why=f"no interval: {why}")
    return Corrected(estimate, people, first.judge - second.judge,
                     (first.weight + second.weight) / 2, math.nan, n,
                     min(first.n_judged, second.n_judged))  # fmt: skip


# -------------------------------------------------------------------------------------- strengths


def corrected_strengths(verdicts: Verdicts, human: Floats, judge: Floats, level: float) -> Parts:
    """Return systems and pairs by Bradley-Terry strengths, without systems that meet nobody."""
    assert verdicts.left is not None
    assert verdicts.right is not None
    usable = verdicts.left != verdicts.right
    left, right = verdicts.left[usable], verdicts.right[usable]
    met = np.unique(np.concatenate([left, right]))
    if len(met) < 2:
        raise UsageError("strengths need battles of two or more systems")
    left, right, k = np.searchsorted(met, left), np.searchsorted(met, right), len(met)
    y, f = human[usable], judge[usable]
    unit = None if verdicts.unit is None else verdicts.unit[usable]
    names = tuple(verdicts.systems[code] for code in met)
    fit = powered_strengths(left, right, y, f, k, unit=unit)
    freedom = float(max(fit.n_units - k, 1))
    people, why = None, ""
    try:
        people = powered_strengths(left, right, y, f, k, unit=unit, weight=0.0)
    except UsageError as error:
        why = str(error)
    judged, labelled = ~np.isnan(f), ~np.isnan(y)
    try:
        alone = plain_strengths(left[judged], right[judged], f[judged], k).log_strength
    except UsageError:  # a system wins, or loses, everything
        alone = np.full(k, np.nan)
    n_labels, n_judged = (
        np.bincount(np.concatenate([left[rows], right[rows]]), minlength=k)
        for rows in (labelled, judged)
    )

    def estimate(strengths: Strengths | None, axis: Floats, n: int) -> Estimate:
        if strengths is None:
            return undefined(why, n)
        se = float(np.sqrt(axis @ strengths.covariance @ axis))
        return symmetric(float(axis @ strengths.log_strength), se, n, level, freedom)

    def corrected(axis: Floats) -> Corrected:
        used = axis != 0
        n = int(n_labels[used].min())
        return Corrected(
            estimate(fit, axis, n), estimate(people, axis, n), float(axis @ alone), fit.weight,
            math.nan, n, int(n_judged[used].min()),
        )  # fmt: skip

    axes = np.eye(k)
    systems = tuple(CorrectedSystem(name, corrected(axes[i])) for i, name in enumerate(names))
    pairs = tuple(
        CorrectedPair(names[i], names[j], corrected(axes[i] - axes[j]), STRENGTHS)
        for i in range(k)
        for j in range(i + 1, k)
    )
    strength, variance = fit.log_strength, np.diagonal(fit.covariance)
    errors = np.sqrt(np.maximum(variance[:, None] + variance - 2 * fit.covariance, 0.0))
    unlabelled = [names[i] for i in range(k) if not n_labels[i]]
    note = f"no labelled battle of {listed(unlabelled)}: its strength is the judge's"
    return Parts(systems, pairs, fit.covariance, strength[:, None] - strength, errors,
                 np.full((k, k), freedom), (note,) if unlabelled else ())  # fmt: skip
