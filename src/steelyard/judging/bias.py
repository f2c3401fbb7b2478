"""What biases judges beyond annotators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.decision import shown_interval
from steelyard.core.display import Record, Statement
from steelyard.core.options import keywords
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.verdicts import Opinion, Verdicts
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
from steelyard.stats.judged.bias import (
    CONSTANT,
    FIXED,
    RANDOM_SIDES,
    Effect,
    Position,
)

ALPHA = 0.05  # above which no sentence says that something biases a judge


# ---------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True, eq=False)
class JudgeBias(Record):
    """What biases one judge: its errors (judge minus annotators) regressed on all covariates.

    The constant is the first of ``effects``; ``position`` is None for points.
    """

    judge: str
    n: int
    position: Position | None
    effects: tuple[Effect, ...]
    notes: tuple[str, ...] = ()

    def statements(self) -> Iterator[Statement]:
        """Yield a sentence on every bias that is sure, or that none was detected."""
        phrases = position_phrases(self.position)
        phrases += effect_phrases(self.effects, pairs=self.position is not None)
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
    sides = ["shown first", "shown second"]
    if position.design == RANDOM_SIDES:
        sides = ["on the left", "on the right"]
    picked, other = sides if position.bias.value > 0 else sides[::-1]
    points = percent(abs(position.bias.value)).rstrip("%")
    return [f"picks the answer {picked} {points} percentage points more often than the one {other}"]


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
        amount = f"{value} {'of a win' if pairs else 'points'}"
        amount += f" ({interval})" if estimate.bounded else ""
        more = estimate.value > 0
        unit = "an answer twice as long" if pairs else "one more unit of length"
        phrases.append({
            LENGTH: f"favours longer answers {'more' if more else 'less'} than annotators do: "
                    f"{unit} {'gains' if more else 'loses'} {amount}",
            OWN_FAMILY: f"is {'kinder to' if more else 'harder on'} its own family than annotators "
                        f"are, by {amount}",
            EXAGGERATION: f"{'exaggerates' if more else 'shrinks'} differences between systems, "
                          f"by {amount} per unit of strength",
        }.get(effect.name, f"gives each unit of {effect.name} {amount} "
                           f"{'more' if more else 'less'} than annotators do"))  # fmt: skip
    return phrases


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
        numbers = (Column(name, digits=3) for name in ("effect", "low", "high"))
        p_values = (Column(name, p_value=True) for name in ("p", "p adjusted"))
        columns = (Column("judge"), Column("what"), *numbers, *p_values, Column("n"))
        note = "effects on judge minus annotators, all at once; p adjusted by Holm"
        return Table("", columns, tuple(rows), (note,))


# ------------------------------------------------------------------------------------- estimation


@keywords(BiasOptions)
def judge_bias(*sources: Any, options: BiasOptions) -> BiasReport:
    """Return what biases judges beyond annotators.

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
    judges = tuple(_bias_of(verdicts, judge, families, options) for judge in verdicts.judges)
    return BiasReport(judges, verdicts.notes, options.provenance("judge bias", sources))


def _bias_of(
    verdicts: Verdicts,
    judge: Opinion,
    families: Mapping[str, str],
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
        notes=tuple(notes),
    )
