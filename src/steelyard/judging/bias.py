"""What biases judges beyond annotators, and where they agree with annotators less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import shown_interval
from steelyard.core.display import Record, Statement
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, encode
from steelyard.data.verdicts import MISSING, UNPARSED, Opinion, Verdicts
from steelyard.formats.verdicts.read import LENGTH
from steelyard.judging.card import (
    EXAGGERATION,
    OWN_FAMILY,
    JudgeAnswers,
    bias_columns,
    bias_effects,
    percent,
    position_bias,
)
from steelyard.judging.options import BiasOptions
from steelyard.stats.arrays import Floats, group_sums
from steelyard.stats.distributions import stdtr
from steelyard.stats.estimate import Estimate, mean_estimate, share_estimate, symmetric, undefined
from steelyard.stats.judged.bias import (
    CONSTANT,
    FIXED,
    RANDOM_SIDES,
    Effect,
    Position,
)
from steelyard.stats.paired.corrections import adjust

ALPHA = 0.05  # above which no sentence says that something biases a judge
_FEWEST_ROWS = 10  # of a slice below which it is not measured
_FEWEST_UNITS = 5  # in a slice and outside, below which there is no test


# ---------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class SliceAgreement(Record):
    """How far a judge agrees in a slice, and how much further than in the rest.

    Agreement is the share of equal labels; of scores without labels minus the mean distance.
    """

    name: str
    value: str
    agreement: Estimate
    beyond_the_rest: Estimate
    p: float
    p_adjusted: float


@dataclass(frozen=True, slots=True, eq=False)
class JudgeBias(Record):
    """What biases one judge: its errors (judge minus annotators) regressed on all covariates.

    The constant is the first of ``effects``; ``position`` is None for points.
    """

    judge: str
    n: int
    position: Position | None
    effects: tuple[Effect, ...]
    slices: tuple[SliceAgreement, ...]
    notes: tuple[str, ...] = ()

    def statements(self) -> Iterator[Statement]:
        """Yield a sentence on every bias that is sure, or that none was detected."""
        phrases = position_phrases(self.position)
        phrases += effect_phrases(self.effects, pairs=self.position is not None)
        worse = [part for part in self.slices
                 if part.p_adjusted < ALPHA and part.beyond_the_rest.value < 0]  # fmt: skip
        if worse:
            least = min(worse, key=lambda part: (part.agreement.value, part.name, part.value))
            elsewhere = least.agreement.value - least.beyond_the_rest.value
            where = f"where {least.name} is {least.value}"
            agreement = f"{least.agreement.value:.2f}; elsewhere {elsewhere:.2f}"
            phrases.append(f"agrees with annotators least {where} ({agreement})")
        for phrase in phrases:
            yield "settled", f"{self.judge} {phrase}."
        if self.position is not None and self.position.design == FIXED:
            why = "each system keeps its side, so nobody can tell"
            yield "undecided", f"{self.judge} may prefer a position: {why}."
        elif not phrases:
            rows = plural(self.n, "labelled row")
            yield "undecided", f"{self.judge}: no bias beyond annotators was detected on {rows}."


def position_phrases(position: Position | None) -> list[str]:
    """Return which position a judge prefers, if it does for sure."""
    if position is None or not position.bias.known or not position.p < ALPHA:
        return []
    sides, rows = ["shown first", "shown second"], "pairs"
    if position.design == RANDOM_SIDES:
        sides, rows = ["on the left", "on the right"], "battles"
    picked, other = sides if position.bias.value > 0 else sides[::-1]
    share = f"{percent(abs(position.bias.value))} of {rows}"
    return [f"picks the answer {picked} more often than the one {other}, by {share}"]


def effect_phrases(effects: Sequence[Effect], *, pairs: bool) -> list[str]:
    """Return what biases a judge for sure, with units; the constant is left out."""
    phrases = []
    for effect in effects:
        estimate = effect.estimate
        if effect.name == CONSTANT or not estimate.known or not effect.p_adjusted < ALPHA:
            continue
        # Lengths of pairs are (left - right) / (left + right): a third if one is twice as long.
        scale = 1 / 3 if pairs and effect.name == LENGTH else 1.0
        ends = sorted((scale * abs(estimate.low), scale * abs(estimate.high)))
        value, interval = shown_interval(scale * abs(estimate.value), *ends)
        points = "of a win" if pairs else "points"
        amount = f"{value} {points}" + (f" ({interval})" if estimate.bounded else "")
        more = estimate.value > 0
        phrases.append({
            LENGTH: f"gives {'an answer twice as long' if pairs else 'each unit of length'} "
                    f"{amount} {'more' if more else 'less'} than annotators do",
            OWN_FAMILY: f"is {'kinder to' if more else 'harder on'} its own family than annotators "
                        f"are, by {amount}",
            EXAGGERATION: f"{'exaggerates' if more else 'shrinks'} differences between systems, "
                          f"by {amount} per unit of strength",
        }.get(effect.name, f"gives each unit of {effect.name} {amount} "
                           f"{'more' if more else 'less'} than annotators do"))  # fmt: skip
    return phrases


def _columns(*names: str) -> Iterator[Column]:
    return (Column(name, None, 4 if name.startswith("p") else 3) for name in names)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BiasReport(JudgeAnswers):
    """What biases all judges."""

    judges: tuple[JudgeBias, ...]

    def table(self) -> Table:
        """Return a row for each judge and effect but the constant."""
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            if judge.position is not None:
                bias, p = judge.position.bias, judge.position.p
                cells = (None, None) if np.isnan(p) else (p, p)
                rows.append((judge.judge, "position", bias.value, bias.low, bias.high, *cells,
                             bias.n))  # fmt: skip
            for effect in judge.effects[1:]:
                estimate = effect.estimate
                rows.append((judge.judge, effect.name, estimate.value, estimate.low, estimate.high,
                             effect.p, effect.p_adjusted, estimate.n))  # fmt: skip
        columns = (Column("judge"), Column("what"),
                   *_columns("effect", "low", "high", "p", "p adjusted"), Column("n"))  # fmt: skip
        note = "effects on judge minus annotators, all at once; p adjusted by Holm"
        return Table("", columns, tuple(rows), (note,))

    def tables(self) -> list[Table]:
        """Return effects, and agreement by slice where there are slices."""
        rows = [
            (judge.judge, part.name, part.value, part.agreement.n, part.agreement.value,
             part.agreement.low, part.agreement.high, part.beyond_the_rest.value, part.p_adjusted)
            for judge in self.judges for part in judge.slices
        ]  # fmt: skip
        columns = (Column("judge"), Column("slice"), Column("value"), Column("n"),
                   Column("agreement", "higher", 3),
                   *_columns("low", "high", "beyond the rest", "p adjusted"))  # fmt: skip
        slices = Table("Agreement by slice", columns, tuple(rows))
        return [self.table(), *([slices] if rows else [])]


# ------------------------------------------------------------------------------------- estimation


@keywords(BiasOptions)
def judge_bias(*sources: Any, options: BiasOptions) -> BiasReport:
    """Return what biases judges beyond annotators, and where they agree with them less.

    Parameters
    ----------
    sources
        As those of :func:`steelyard.judge`.
    options
        See :class:`~steelyard.judging.options.BiasOptions`; given as keywords.

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> length = rng.integers(10, 100, 400)
    >>> human = rng.integers(1, 5, 400)
    >>> frame = polars.DataFrame({"item": range(400), "chars": length, "expert": human,
    ...                           "gpt": human + (length > 60)})
    >>> effects = judge_bias(frame, human=["expert"]).judges[0].effects
    >>> effects[1].name, effects[1].p_adjusted < 0.001
    ('length', True)
    """
    verdicts = options.read(sources)
    families = options.families(verdicts)
    slices = verdicts.slices
    if options.by is not None:
        for name in options.by:
            if name not in slices:
                raise UsageError(f"by: no column '{name}' of words; {hint(name, slices)}")
        slices = {name: slices[name] for name in options.by}
    judges = tuple(
        _bias_of(verdicts, judge, families, slices, options) for judge in verdicts.judges
    )
    return BiasReport(judges, verdicts.notes, options.provenance("judge bias", sources))


def _bias_of(
    verdicts: Verdicts,
    judge: Opinion,
    families: Mapping[str, str],
    slices: Mapping[str, tuple[str, ...]],
    options: BiasOptions,
) -> JudgeBias:
    people, level = verdicts.people(), options.level
    errors = judge.value - people.value
    columns = bias_columns(verdicts, people, judge, families)
    effects: tuple[Effect, ...] = ()
    notes = ["no row with a number of annotators and of the judge"]
    if not np.isnan(errors).all():
        required = frozenset(options.covariates or ())
        effects, notes = bias_effects(errors, columns, verdicts, level, required)
    return JudgeBias(
        judge=judge.name,
        n=int((~np.isnan(errors)).sum()),
        position=position_bias(verdicts, people, judge, level),
        effects=effects,
        slices=agreement_by_slice(verdicts, people, judge, slices, level),
        notes=tuple(notes),
    )


def agreement_by_slice(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    slices: Mapping[str, tuple[str, ...]],
    level: float,
) -> tuple[SliceAgreement, ...]:
    """Measure agreement in every slice, and test it against the rest; p by Holm over all slices."""
    score = _agreement_by_row(people, judge, verdicts.people_shares())
    scored = ~np.isnan(score)
    binary = bool(np.isin(score[scored], (0.0, 1.0)).all())
    parts: list[tuple[str, str, Estimate, Estimate, float]] = []
    for name, words in slices.items():
        values, codes = encode(words)
        for code, value in enumerate(values):
            inside = scored & (codes == code)
            if inside.sum() < _FEWEST_ROWS:
                continue
            unit = None if verdicts.unit is None else verdicts.unit[inside]
            estimate = share_estimate if binary else mean_estimate
            beyond, p = _against_rest(score, inside, scored, verdicts.unit, level)
            parts.append((name, value, estimate(score[inside], unit, level), beyond, p))
    adjusted = np.array([p for *_, p in parts])
    tested = ~np.isnan(adjusted)
    if tested.any():
        adjusted[tested] = adjust(adjusted[tested])
    return tuple(SliceAgreement(*part, float(p)) for part, p in zip(parts, adjusted, strict=True))


def _agreement_by_row(people: Opinion, judge: Opinion, shares: Floats) -> Floats:
    """Return the agreement on each row: 1 or 0 of labels, minus the distance of scores.

    ``shares`` are the annotators' labels: where they are split, each of theirs is right in part.
    What can't be understood is wrong; NaN where either says nothing.
    """
    labelled = shares.sum(axis=1) > 0
    if judge.label is None or not (labelled.any() and judge.categorical):
        return -np.abs(judge.value - people.value)
    equal = shares[np.arange(len(shares)), np.maximum(judge.label, 0)]
    silent = ~labelled | (judge.label == MISSING)
    return np.where(silent, np.nan, np.where(judge.label == UNPARSED, 0.0, equal))


def _against_rest(
    score: Floats,
    inside: NDArray[np.bool_],
    scored: NDArray[np.bool_],
    unit: Codes | None,
    level: float,
) -> tuple[Estimate, float]:
    """Return agreement inside minus outside, with errors by unit, and the two-sided p.

    Errors are those of rows that agree as all do: a slice in which all verdicts are right has no
    error of its own.
    """
    rest = scored & ~inside
    n, n_rest = int(inside.sum()), int(rest.sum())
    if n_rest < _FEWEST_ROWS:
        return undefined("no rest to compare with", n), np.nan
    value = float(score[inside].mean() - score[rest].mean())
    off = score - score[scored].mean()
    influence = np.where(inside, off / n, np.where(rest, -off / n_rest, 0.0))[scored]
    codes = np.arange(len(influence))
    if unit is not None:
        codes = np.unique(unit[scored], return_inverse=True)[1]
    n_units = int(codes.max()) + 1
    sums = group_sums(codes, influence, n_units)
    fewest = min(len(np.unique(codes[rows[scored]])) for rows in (inside, rest))
    se = float(np.sqrt(sums @ sums * n_units / max(n_units - 1, 1)))
    if fewest < _FEWEST_UNITS:
        return Estimate(value, n=n, why=f"{fewest} units: too few for a test"), np.nan
    if not se > 0:
        return Estimate(value, n=n, why="no interval: nothing varies"), np.nan
    p = 2 * float(stdtr(fewest - 1, -abs(value) / se))
    return symmetric(value, se, n, level, fewest - 1), p
