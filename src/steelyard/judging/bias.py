"""What biases judges beyond annotators, and where they agree with annotators less."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steelyard.core.decision import shown_interval
from steelyard.core.display import Record, Statement, keys
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.table import Cell, Column, Table, plain
from steelyard.core.text import plural
from steelyard.data.judgements import Codes, encode
from steelyard.data.verdicts import MISSING, UNPARSED, Opinion, Verdicts
from steelyard.formats.verdicts.read import LENGTH
from steelyard.judging.card import (
    EXAGGERATION,
    OWN_FAMILY,
    Answer,
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
    ControlledWinRate,
    Effect,
    Position,
    length_controlled,
)
from steelyard.stats.paired.corrections import adjust
from steelyard.stats.prediction_powered.strengths import Strengths, styled_strengths

ALPHA = 0.05  # above which no sentence says that something biases a judge
_FEWEST_ROWS = 10  # of a slice below which it is not measured
_FEWEST_UNITS = 5  # in a slice and outside, below which there is no test
_FEWEST_BATTLES = 20  # against a baseline, for a win rate


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
class Styled:
    """Strengths by annotators and by a judge, plain and with covariates controlled."""

    systems: tuple[str, ...]
    covariates: tuple[str, ...]
    people: Strengths | None
    people_styled: Strengths | None
    judge: Strengths | None
    judge_styled: Strengths | None

    def rows(self) -> list[tuple[Cell, ...]]:
        """Return a row per system, by the annotators' strength."""
        fits = (self.people, self.people_styled, self.judge, self.judge_styled)
        columns = [[None] * len(self.systems) if fit is None else fit.log_strength.tolist()
                   for fit in fits]  # fmt: skip
        rows = list(zip(self.systems, *columns, strict=True))
        return sorted(rows, key=lambda row: (-(row[1] or row[3] or 0.0), row[0]))

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        values: dict[str, Any] = {"covariates": list(self.covariates)}
        for name in ("people", "people_styled", "judge", "judge_styled"):
            fit: Strengths | None = getattr(self, name)
            values[name] = None if fit is None else {
                "strengths": dict(zip(self.systems, fit.log_strength.tolist(), strict=True)),
                "se": dict(zip(self.systems, fit.errors.tolist(), strict=True)),
                "effects": plain(fit.effects),
            }  # fmt: skip
        return values


@dataclass(frozen=True, slots=True)
class EqualLength:
    """The win rate of a system against the one that all others met, plain and at equal length."""

    system: str
    baseline: str
    rate: ControlledWinRate

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "system": self.system,
            "baseline": self.baseline,
            "win_rate": self.rate.plain.to_dict(),
            "controlled": self.rate.controlled.to_dict(),
            "mean_length_difference": self.rate.mean_difference,
            "extrapolated": self.rate.extrapolated,
        }


@dataclass(frozen=True, slots=True, eq=False)
class JudgeBias(Record):
    """What biases one judge.

    ``effects`` are its errors (judge minus annotators) regressed on all covariates at once, the
    constant first. ``styled`` are strengths by annotators and by the judge, plain and with
    covariates; ``baseline`` win rates against a system that all others met. Of points, these and
    ``position`` are None or empty.
    """

    judge: str
    n: int
    position: Position | None
    effects: tuple[Effect, ...]
    slices: tuple[SliceAgreement, ...]
    styled: Styled | None
    baseline: tuple[EqualLength, ...] = ()
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


def _columns(*names: str, better: Literal["higher"] | None = None) -> Iterator[Column]:
    return (Column(name, better, 4 if name.startswith("p") else 3) for name in names)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BiasReport(Answer):
    """What biases all judges."""

    json_keys = keys("summary=sentences judges warnings provenance")
    judges: tuple[JudgeBias, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def statements(self) -> Iterator[Statement]:
        """Yield what biases each judge; where nothing was detected, that is open."""
        for judge in self.judges:
            yield from judge.statements()
        if not self.judges:
            yield "undecided", "There is no judge to compare."

    def answer(self) -> tuple[str, ...]:
        """Return three sentences: the first on each judge, then the second, in their order."""
        ranked = [
            (rank, number, text)
            for number, judge in enumerate(self.judges)
            for rank, (_, text) in enumerate(judge.statements())
        ]
        first = sorted(sorted(ranked)[:3], key=lambda row: (row[1], row[0]))
        return tuple(text for _, _, text in first) or Answer.answer(self)

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
        """Return all tables: effects, slices, strengths, win rates against a baseline."""
        slices = [
            (judge.judge, part.name, part.value, part.agreement.n, part.agreement.value,
             part.agreement.low, part.agreement.high, part.beyond_the_rest.value, part.p_adjusted)
            for judge in self.judges for part in judge.slices
        ]  # fmt: skip
        styled = [(judge.judge, *row) for judge in self.judges if judge.styled is not None
                  for row in judge.styled.rows()]  # fmt: skip
        rates = [
            (judge.judge, row.system, row.baseline, row.rate.plain.value, row.rate.controlled.value,
             row.rate.controlled.low, row.rate.controlled.high,
             "extrapolated" if row.rate.extrapolated else None)
            for judge in self.judges for row in judge.baseline
        ]  # fmt: skip
        strengths = ("annotators", "annotators, style controlled", "by the judge",
                     "by the judge, style controlled")  # fmt: skip
        note = "neither the plain nor the controlled strength is the truth: style may be quality"
        more = (
            Table("Agreement by slice", (
                Column("judge"), Column("slice"), Column("value"), Column("n"),
                *_columns("agreement", better="higher"),
                *_columns("low", "high", "beyond the rest", "p adjusted")), tuple(slices)),
            Table("Strengths, plain and with style controlled", (
                Column("judge"), Column("system"), *_columns(*strengths, better="higher")),
                tuple(styled), (note,)),
            Table("Win rates at equal length", (
                Column("judge"), Column("system"), Column("baseline"),
                *_columns("win rate", "at equal length", better="higher"),
                *_columns("low", "high"), Column("note")), tuple(rates)),
        )  # fmt: skip
        return [self.table(), *(table for table in more if table.rows)]


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
        effects, constant, notes = bias_effects(errors, columns, verdicts, level, required)
        same = [f"'{name}' is the same in all labelled rows: left out" for name in constant]
        notes = [*same, *notes]
    style = {name: x for name, x in columns.items() if name not in (EXAGGERATION, OWN_FAMILY)}
    strengths, problems = styled(verdicts, people, judge, style, level)
    return JudgeBias(
        judge=judge.name,
        n=int((~np.isnan(errors)).sum()),
        position=position_bias(verdicts, people, judge, level),
        effects=effects,
        slices=agreement_by_slice(verdicts, people, judge, slices, level),
        styled=strengths,
        baseline=_win_rates(verdicts, judge, level),
        notes=(*notes, *problems),
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


def styled(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    covariates: Mapping[str, Floats],
    level: float,
) -> tuple[Styled | None, list[str]]:
    """Fit strengths with and without covariates, on battles that annotators and the judge judged.

    None for points, and where nothing is controlled for.
    """
    if verdicts.left is None or verdicts.right is None or not covariates:
        return None, []
    complete = ~(np.isnan(people.value) | np.isnan(judge.value))
    for column in covariates.values():
        complete &= ~np.isnan(column)
    complete &= verdicts.left != verdicts.right
    left, right = verdicts.left[complete], verdicts.right[complete]
    met = np.unique(np.concatenate([left, right]))
    if len(met) < 2:
        return None, ["strengths with style: no battle that annotators and the judge both judged"]
    index_left, index_right = np.searchsorted(met, left), np.searchsorted(met, right)
    unit = None if verdicts.unit is None else verdicts.unit[complete]
    scaled = {name: _scaled(x[complete]) for name, x in covariates.items()}
    problems: set[str] = set()

    def fit(points: Floats, controls: Mapping[str, Floats] | None) -> Strengths | None:
        try:
            return styled_strengths(index_left, index_right, points[complete], len(met),
                                    controls, unit=unit, level=level)  # fmt: skip
        except UsageError as error:
            problems.add(f"strengths with style: {error}")
            return None

    fits = [fit(opinion.value, x) for opinion in (people, judge) for x in (None, scaled)]
    systems = tuple(verdicts.systems[code] for code in met)
    return Styled(systems, tuple(scaled), *fits), sorted(problems)


def _scaled(x: Floats) -> Floats:
    """Measure a covariate in standard deviations around 0, where nothing differs."""
    size = float(np.sqrt((x * x).mean()))
    return x / size if size > 0 else x


def _win_rates(verdicts: Verdicts, judge: Opinion, level: float) -> tuple[EqualLength, ...]:
    """Return win rates at equal length by a judge, where all pairs have one system in common."""
    length = verdicts.covariates.get(LENGTH)
    if verdicts.left is None or verdicts.right is None or length is None:
        return ()
    left, right = verdicts.left, verdicts.right
    codes = range(len(verdicts.systems))
    common = [code for code in codes if ((left == code) | (right == code)).all()]
    if len(common) != 1:
        return ()
    rates = []
    for code, name in enumerate(verdicts.systems):
        rows = (left == code) | (right == code)
        if code == common[0] or rows.sum() < _FEWEST_BATTLES:
            continue
        on_left = left[rows] == code
        points = np.where(on_left, judge.value[rows], 1 - judge.value[rows])
        longer = np.where(on_left, length[rows], -length[rows])
        rate = length_controlled(points, longer, level=level)
        rates.append(EqualLength(name, verdicts.systems[common[0]], rate))
    return tuple(rates)
