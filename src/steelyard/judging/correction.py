"""What may be concluded about systems from many verdicts and few labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.text import listed, plural
from steelyard.data.units import UnitEffect
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.corrected import CorrectedPair, Correction, Parts
from steelyard.judging.correctedmeans import Meaner
from steelyard.judging.correctedstrengths import corrected_strengths
from steelyard.judging.labelchoice import (
    PROBABILITY,
    UNKNOWN,
    Asked,
    Choice,
    choice_of,
    needs_column,
)
from steelyard.judging.options import AUTO, BT, MEAN, CorrectOptions
from steelyard.judging.run import provenance_of, verdicts_of
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate
from steelyard.stats.judged.agreement import correlation
from steelyard.stats.prediction_powered.mean import Corrected, Together, all_together


@keywords(CorrectOptions)
def correct(*sources: Any, options: CorrectOptions, rng: Rng = 0) -> Correction:
    """Say what people would say of all systems, from few labels and the verdicts of a judge.

    Parameters
    ----------
    sources
        As those of :func:`steelyard.judge`; labels of people may be few.
    options
        See :class:`~steelyard.judging.options.CorrectOptions`; given as keywords.
    rng
        Draws behind places.

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(1000) < 0.6
    >>> said = np.where(rng.random(1000) < 0.85, truth, True).astype(int)
    >>> labels = [int(x) if i < 100 else None for i, x in enumerate(truth)]
    >>> frame = polars.DataFrame({"item": range(1000), "expert": labels, "gpt": said})
    >>> found = correct(frame, human=["expert"], judge="gpt")
    >>> own = found.overall
    >>> bool(own.estimate.low < truth.mean() < own.estimate.high < own.judge)
    True
    """
    asked = Asked.parse(options.labels)
    verdicts, judge, choice = _read(sources, asked, options)
    notes: list[str] = []
    human = verdicts.people().value
    by = _by(options, verdicts, choice)
    labelled = ~np.isnan(human)
    if not labelled.any():
        raise UsageError("no row has a label of people")
    if np.isnan(judge.value).all():
        raise UsageError(f"{judge.name} has no verdict that can be understood as a number")
    meaner = Meaner(verdicts, human, judge.value, choice, options.level, options.population)
    try:
        overall, parts, chosen = _estimated(meaner, by, options)
    except UsageError as error:
        if by != BT or options.by == BT or options.pair is not None:
            raise
        by = MEAN  # what was not asked for need not be had
        overall, parts, chosen = _estimated(meaner, by, options)
        notes.append(f"win rates, since there are no strengths: {error}")
    together = _together(parts, options, generator(rng))
    parts, chosen = _tested(parts, together, chosen)
    return Correction(
        judge=judge.name,
        labels=options.labels,
        by=by,
        n_rows=len(verdicts),
        n_labelled=int(labelled.sum()),
        n_judged=int((~np.isnan(judge.value)).sum()),
        unit=UnitEffect(verdicts.unit_name, len(verdicts.units) or len(verdicts), float("nan")),
        overall=overall,
        parts=parts,
        together=together,
        asked=chosen,
        notes=tuple(notes),
        warnings=(
            *verdicts.notes,
            *parts.notes,
            *_warnings(asked, parts, overall, human),
            *_labels_without_verdict(verdicts, human, judge, options.level),
        ),
        provenance=provenance_of("judge correct", sources, options, rng),
        level=options.level,
    )


def _read(
    sources: Sequence[Any], asked: Asked, options: CorrectOptions
) -> tuple[Verdicts, Opinion, Choice]:
    """Read verdicts, choose the judge, and find how rows were chosen."""
    reading = options
    if options.judge is not None and options.judges is None:
        reading = replace(options, judges=(options.judge,))
    column = asked.column if asked.kind == PROBABILITY else None
    verdicts = verdicts_of(sources, reading, column)
    judge = the_judge(verdicts, options.judge)
    if needs_column(asked, verdicts, judge, options) and not isinstance(sources[0], Verdicts):
        assert asked.column is not None
        wanted = (*(options.covariates or ()), asked.column)
        try:
            verdicts = verdicts_of(sources, replace(reading, covariates=wanted), column)
        except UsageError as error:
            said = f"labels: no strata in column '{asked.column}' ({error})"
            raise UsageError(said) from None
        judge = the_judge(verdicts, options.judge)
    return verdicts, judge, choice_of(asked, verdicts, judge)


def the_judge(verdicts: Verdicts, name: str | None) -> Opinion:
    """Give the judge that is meant: the one that is named, or the only one."""
    known = [one.name for one in verdicts.judges]
    if name is not None and name not in known:
        raise UsageError(f"no judge '{name}'; {hint(name, known)}")
    if name is None and len(known) > 1:
        raise UsageError(f"several judges ({listed(known, 6)}): which one? Name it (judge=NAME)")
    return verdicts.judges[0] if name is None else verdicts.judge(name)


def _by(options: CorrectOptions, verdicts: Verdicts, choice: Choice) -> str:
    pairs = verdicts.kind == "pairs" and verdicts.left is not None
    if options.by == AUTO:
        return BT if pairs and choice.at_random and len(verdicts.systems) > 1 else MEAN
    if options.by == BT and not pairs:
        raise UsageError('by="bt" needs pairs of systems (columns left and right)')
    if options.by == BT and not choice.at_random:
        raise UsageError(
            f'by="bt" needs labels that were chosen at random, not labels="{options.labels}": '
            'by="mean" has win rates'
        )
    if options.by == BT and (options.population == "fixed"):
        raise UsageError('population="fixed" applies to by="mean"')
    return options.by


def _estimated(
    meaner: Meaner, by: str, options: CorrectOptions
) -> tuple[Corrected | None, Parts, CorrectedPair | None]:
    verdicts = meaner.verdicts
    k = len(verdicts.systems)
    overall = None
    if by == BT:
        parts, _ = corrected_strengths(verdicts, meaner.human, meaner.judge, options.level)
    else:
        if verdicts.kind == "points" or k < 2:
            overall = meaner.overall()
        none = np.zeros((0, 0))
        parts = Parts((), (), none, none, none, none)
        if k and verdicts.left is not None:
            parts = meaner.systems()
    if options.pair is None:
        return overall, parts, None
    return overall, parts, _pair(meaner, by, parts, tuple(options.pair))


def _pair(meaner: Meaner, by: str, parts: Parts, names: tuple[str, ...]) -> CorrectedPair:
    if len(names) != 2 or names[0] == names[1]:
        raise UsageError(f"pair: expected two systems, got {listed(names) or 'none'}")
    known = [one.system for one in parts.systems]
    for name in names:
        if name not in known:
            raise UsageError(f"pair: no system '{name}'; {hint(name, known)}")
    verdicts = meaner.verdicts
    if by == MEAN and verdicts.kind == "pairs":
        return meaner.battles(*(verdicts.systems.index(name) for name in names))
    pair = next(pair for pair in parts.pairs if {pair.one, pair.other} == set(names))
    return pair if pair.one == names[0] else turned(pair)


def turned(pair: CorrectedPair) -> CorrectedPair:
    """Give the same of the second minus the first."""
    own = pair.found
    found = replace(own, estimate=_minus(own.estimate), people=_minus(own.people),
                    judge=0.0 - own.judge)  # fmt: skip
    return replace(pair, one=pair.other, other=pair.one, found=found)


def _minus(own: Estimate) -> Estimate:
    return replace(own, value=0.0 - own.value, low=0.0 - own.high, high=0.0 - own.low)


def _together(parts: Parts, options: CorrectOptions, rng: np.random.Generator) -> Together | None:
    """Test all pairs at once."""
    if len(parts.systems) < 2 or not parts.pairs or np.isnan(parts.errors).all():
        return None
    values = np.array([one.found.estimate.value for one in parts.systems])
    return all_together(
        parts.covariance, parts.differences, parts.errors, parts.freedom, values, rng,
        draws=options.draws, level=options.level,
    )  # fmt: skip


def _tested(
    parts: Parts, together: Together | None, chosen: CorrectedPair | None
) -> tuple[Parts, CorrectedPair | None]:
    if together is None:
        return parts, chosen
    place = {one.system: i for i, one in enumerate(parts.systems)}

    def tested(pair: CorrectedPair) -> CorrectedPair:
        at = place[pair.one], place[pair.other]
        return replace(pair, p=float(together.p[at]), p_adjusted=float(together.p_adjusted[at]))

    if chosen is not None and any(
        {chosen.one, chosen.other} == {own.one, own.other} and chosen.how == own.how
        for own in parts.pairs
    ):
        chosen = tested(chosen)
    return replace(parts, pairs=tuple(tested(pair) for pair in parts.pairs)), chosen


def _labels_without_verdict(
    verdicts: Verdicts, human: Floats, judge: Opinion, level: float
) -> list[str]:
    """Warn if labels differ between rows with and without a verdict."""
    labelled, missing = ~np.isnan(human), np.isnan(judge.value)
    if not labelled.any() or len(np.unique(missing[labelled])) < 2:
        return []
    unit = None if verdicts.unit is None else verdicts.unit[labelled]
    related = correlation(
        human[labelled], missing[labelled].astype(np.float64), unit=unit, level=level
    )
    if not related.bounded or related.low <= 0 <= related.high:
        return []
    without, others = (float(human[labelled & own].mean()) for own in (missing, ~missing))
    where = f"{without:.3g} where {judge.name} gave no verdict and {others:.3g} elsewhere"
    return [f"labels average {where}: its verdicts are not missing at random"]


def _warnings(asked: Asked, parts: Parts, overall: Corrected | None, human: Any) -> list[str]:
    found = []
    if asked.kind == UNKNOWN:
        found.append(
            "how rows were chosen for labelling is not known: they are taken for a random sample; "
            "intervals miss the truth if they are not"
        )
    few = [one.system for one in parts.systems if one.found.note]
    notes = {one.found.note for one in parts.systems if one.found.note}
    if few and len(notes) <= 3 and asked.kind != "by":
        found.append(f"{listed(few)}: {listed(sorted(notes))}")
    if overall is not None and overall.note and not few and asked.kind != "by":
        found.append(overall.note)
    n = int((~np.isnan(human)).sum())
    if n < 30:
        found.append(
            f"{plural(n, 'label')}: intervals are wide, and may be too narrow all the same"
        )
    return found
