"""What sways judges beyond people: place, length, kin, any covariate; and where they agree less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.core.display import Result, Statement, Summary, named, one_line
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.formats.verdicts.read import LENGTH
from steelyard.judging.card import position_of
from steelyard.judging.options import BiasOptions
from steelyard.judging.run import families, provenance_of, verdicts_of
from steelyard.judging.slices import SliceAgreement, agreement_by_slice
from steelyard.judging.styles import Baseline, Styled, against_baseline, styled
from steelyard.judging.swaying import EXAGGERATION, OWN_FAMILY, bias_columns
from steelyard.judging.words import rows_told
from steelyard.stats.arrays import Floats
from steelyard.stats.judged.bias import (
    CONSTANT,
    FIXED,
    RANDOM_SIDES,
    Effect,
    Position,
    regress_errors,
)

_SURE = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class JudgeBias:
    """What sways one judge.

    Parameters
    ----------
    position
        Whether it prefers a place; None for points.
    effects
        Its errors (judge minus people) regressed on all covariates at once; the constant first.
    slices
        How far it agrees with people in each slice.
    styled
        Strengths by people and by the judge, plain and with covariates; None for points.
    baseline
        Win rates against one system that all others met, plain and at equal length.
    """

    judge: str
    n: int
    position: Position | None
    effects: tuple[Effect, ...]
    slices: tuple[SliceAgreement, ...]
    styled: Styled | None
    baseline: tuple[Baseline, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "judge": self.judge,
            "n": self.n,
            "position": None if self.position is None else self.position.to_dict(),
            "effects": [effect.to_dict() for effect in self.effects],
            "slices": [own.to_dict() for own in self.slices],
            "styled": None if self.styled is None else self.styled.to_dict(),
            "baseline": [own.to_dict() for own in self.baseline],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BiasReport(Result):
    """What sways all judges."""

    judges: tuple[JudgeBias, ...]
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    def __repr__(self) -> str:
        judges = named([one.judge for one in self.judges])
        return one_line(self, f"of {plural(len(self.judges), 'judge')}: {judges}")

    def words(self) -> Summary:
        """Say what sways each judge; what nothing was found for stays open."""
        told: list[Statement] = [
            ("settled" if _sways(one) else "undecided", _said(one)) for one in self.judges
        ]
        if not told:
            return Summary(undecided=("There is no judge to weigh.",))
        most = max(one.n for one in self.judges)
        return Summary.of([*told, rows_told(most, len(self.judges))])

    def summary(self) -> str:
        """Say what sways each judge, in words."""
        return "\n".join(_said(one) for one in self.judges)

    def table(self) -> Table:
        """Give a row for each judge and effect."""
        columns = (
            Column("judge"), Column("what"), Column("effect", None, 3), Column("low", None, 3),
            Column("high", None, 3), Column("p", None, 4), Column("p adjusted", None, 4),
            Column("n"),
        )  # fmt: skip
        rows: list[tuple[Cell, ...]] = []
        for one in self.judges:
            if one.position is not None:
                own = one.position.bias
                what = f"position ({one.position.design})"
                p = None if np.isnan(one.position.p) else one.position.p
                rows.append((one.judge, what, own.value, own.low, own.high, p, p, own.n))
            for effect in one.effects:
                own = effect.estimate
                rows.append((one.judge, effect.name, own.value, own.low, own.high, effect.p,
                             effect.p_adjusted, own.n))  # fmt: skip
        note = "effects on judge minus people, all covariates at once; p adjusted by Holm"
        return Table("What sways judges", columns, tuple(rows), (note,))

    def tables(self) -> list[Table]:
        """Give all tables: effects, slices, strengths, win rates against a baseline."""
        return [self.table(), *filter(None, (_slices(self.judges), _strengths(self.judges),
                                             _baselines(self.judges)))]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "summary": self.summary().splitlines(),
            "judges": [one.to_dict() for one in self.judges],
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }


def _slices(judges: tuple[JudgeBias, ...]) -> Table | None:
    columns = (
        Column("judge"), Column("slice"), Column("value"), Column("n"),
        Column("agreement", "higher", 3), Column("low", None, 3), Column("high", None, 3),
        Column("beyond the rest", None, 3), Column("p adjusted", None, 4),
    )  # fmt: skip
    rows = [
        (one.judge, own.name, own.value, own.agreement.n, own.agreement.value, own.agreement.low,
         own.agreement.high, own.beyond.value, own.p_adjusted)
        for one in judges for own in one.slices
    ]  # fmt: skip
    return Table("Agreement by slice", columns, tuple(rows)) if rows else None


def _strengths(judges: tuple[JudgeBias, ...]) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for one in judges:
        if one.styled is not None:
            rows += [(one.judge, *row) for row in one.styled.rows()]
    columns = (
        Column("judge"), Column("system"), Column("people", "higher", 3),
        Column("people, style alike", "higher", 3), Column("by the judge", "higher", 3),
        Column("by the judge, style alike", "higher", 3),
    )  # fmt: skip
    note = "neither the plain nor the controlled strength is the truth: style may be quality"
    return Table("Strengths, plain and with style controlled", columns, tuple(rows),
                 (note,)) if rows else None  # fmt: skip


def _baselines(judges: tuple[JudgeBias, ...]) -> Table | None:
    rows = [
        (one.judge, own.system, own.baseline, own.found.plain.value, own.found.controlled.value,
         own.found.controlled.low, own.found.controlled.high,
         "extrapolated" if own.found.extrapolated else None)
        for one in judges for own in one.baseline
    ]  # fmt: skip
    columns = (
        Column("judge"), Column("system"), Column("baseline"), Column("win rate", "higher", 3),
        Column("at equal length", "higher", 3), Column("low", None, 3), Column("high", None, 3),
        Column("note"),
    )  # fmt: skip
    return Table("Win rates at equal length", columns, tuple(rows)) if rows else None


@keywords(BiasOptions)
def judge_bias(*sources: Any, options: BiasOptions) -> BiasReport:
    """Say what sways judges beyond people, and where they agree with them less.

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
    >>> long = rng.integers(10, 100, 400)
    >>> human = rng.integers(1, 5, 400)
    >>> frame = polars.DataFrame({"item": range(400), "chars": long, "expert": human,
    ...                           "gpt": human + (long > 60)})
    >>> found = judge_bias(frame, human=["expert"]).judges[0].effects
    >>> found[1].name, found[1].p_adjusted < 0.001
    ('length', True)
    """
    verdicts = verdicts_of(sources, options)
    own = families(options.own, verdicts)
    people = verdicts.people()
    chosen = _chosen(verdicts, options)
    found = tuple(_of_judge(verdicts, people, one, own, chosen, options) for one in verdicts.judges)
    return BiasReport(found, verdicts.notes, provenance_of("judge bias", sources, options))


def _chosen(verdicts: Verdicts, options: BiasOptions) -> Mapping[str, tuple[str, ...]]:
    if options.by is None:
        return verdicts.slices
    for name in options.by:
        if name not in verdicts.slices:
            raise UsageError(f"by: no column '{name}' of words; {hint(name, verdicts.slices)}")
    return {name: verdicts.slices[name] for name in options.by}


def _of_judge(
    verdicts: Verdicts,
    people: Opinion,
    judge: Opinion,
    own: Mapping[str, str],
    slices: Mapping[str, tuple[str, ...]],
    options: BiasOptions,
) -> JudgeBias:
    level = options.level
    errors = judge.value - people.value
    columns = bias_columns(verdicts, people, judge, own)
    effects, said = _regressed(errors, columns, verdicts, options)
    style = {name: x for name, x in columns.items() if name not in (EXAGGERATION, OWN_FAMILY)}
    both, why = styled(verdicts, people, judge, style, level)
    return JudgeBias(
        judge=judge.name,
        n=int((~np.isnan(errors)).sum()),
        position=position_of(verdicts, people, judge, level),
        effects=effects,
        slices=agreement_by_slice(verdicts, people, judge, slices, level),
        styled=both,
        baseline=against_baseline(verdicts, judge, level),
        notes=(*said, *why),
    )


def _regressed(
    errors: Floats, columns: Mapping[str, Floats], verdicts: Verdicts, options: BiasOptions
) -> tuple[tuple[Effect, ...], list[str]]:
    """Regress errors; a covariate that was named must be of use, others are left out."""
    known = ~np.isnan(errors)
    if not known.any():
        return (), ["no row with a number of people and of the judge"]
    named = set(options.covariates or ())
    kept: dict[str, Floats] = {}
    notes = []
    for name, x in columns.items():
        own = x[known]
        own = own[~np.isnan(own)]
        if len(own) and np.ptp(own) > 0:
            kept[name] = x
        elif name in named:
            raise UsageError(f"covariate '{name}' is the same in all labelled rows")
        else:
            notes.append(f"'{name}' is the same in all labelled rows: left out")
    try:
        return regress_errors(errors, kept, unit=verdicts.unit, level=options.level), notes
    except UsageError as error:
        if named:
            raise
        return (), [*notes, f"no regression of its errors: {error}"]


def _said(one: JudgeBias) -> str:
    found, place = _sways(one), one.position
    if place is not None and place.design == FIXED:
        found.append("may prefer a place: systems keep their side, so that it can't be told")
    if not found:
        return f"{one.judge}: nothing sways it beyond people, as far as {one.n:,} rows tell."
    return f"{one.judge} {'; it '.join(found)}."


def _sways(one: JudgeBias) -> list[str]:
    """Say what sways a judge for sure."""
    found: list[str] = []
    place = one.position
    if place is not None and place.bias.known and place.p < _SURE:
        side = ("left" if place.design == RANDOM_SIDES else "first") if place.bias.value > 0 else (
            "right" if place.design == RANDOM_SIDES else "second"
        )  # fmt: skip
        found.append(f"prefers the {side} place by {abs(place.bias.value):.2f}")
    for effect in one.effects:
        own = effect.estimate
        if effect.name == CONSTANT or not own.known or effect.p_adjusted >= _SURE:
            continue
        ends = f"{own.value:+.3g} [{own.low:.3g}, {own.high:.3g}]"
        more = own.value > 0
        found.append({
            LENGTH: f"rewards length {'more' if more else 'less'} than people do ({ends})",
            OWN_FAMILY: f"{'favours' if more else 'slights'} its own family ({ends})",
            EXAGGERATION: f"{'exaggerates' if more else 'shrinks'} differences of systems ({ends})",
        }.get(effect.name, f"is swayed by {effect.name} ({ends})"))  # fmt: skip
    worse = [own for own in one.slices if own.p_adjusted < _SURE and own.beyond.value < 0]
    if worse:
        least = min(worse, key=lambda own: (own.agreement.value, own.name, own.value))
        found.append(
            f"agrees least where {least.name} is {least.value} ({least.agreement.value:.2f}, and "
            f"{least.agreement.value - least.beyond.value:.2f} elsewhere)"
        )
    return found
