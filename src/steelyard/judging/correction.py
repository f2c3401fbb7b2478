"""What may be concluded about systems from many verdicts and few labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.rng import Rng, generator
from steelyard.core.words import listed, plural
from steelyard.data.units import UnitEffect
from steelyard.data.verdicts import Opinion, Verdicts
from steelyard.judging.corrected import CorrectedPair, CorrectedSystem, Correction, Parts
from steelyard.judging.correctedmeans import Meaner
from steelyard.judging.correctedstrengths import corrected_strengths
from steelyard.judging.labelchoice import (
    PROBABILITY,
    RANDOM,
    UNKNOWN,
    Asked,
    Choice,
    choice_of,
    needs_column,
    unlike,
)
from steelyard.judging.options import AUTO, BT, MEAN, CorrectOptions
from steelyard.judging.run import provenance_of, verdicts_of
from steelyard.stats.arrays import Floats
from steelyard.stats.estimate import Estimate
from steelyard.stats.judged.juries import stacked
from steelyard.stats.judged.scoreagreement import correlation
from steelyard.stats.prediction_powered.anytime import anytime_reach
from steelyard.stats.prediction_powered.jointly import Together, all_together
from steelyard.stats.prediction_powered.mean import Corrected, with_every_verdict
from steelyard.stats.prediction_powered.representative import Difference

_SURE = 0.05


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
        Draws behind places, and folds where several judges are weighed.

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
    verdicts, judge, choice, more = _read(sources, asked, options, generator(rng))
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
        more.append(f"win rates, since there are no strengths: {error}")
    if options.anytime:
        overall, parts, chosen = _at_any_time(overall, parts, chosen, options.level)
    together = _together(parts, options, generator(rng))
    parts, chosen = _tested(parts, together, chosen)
    members = [one for one in verdicts.judges if one.name in (options.judge or (judge.name,))]
    differ = unlike(verdicts, members, labelled) if choice.at_random else ()
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
        unlike=differ,
        notes=tuple(more),
        warnings=(
            *verdicts.notes,
            *parts.notes,
            *_warnings(asked, differ, parts, overall, human),
            *_labels_without_verdict(verdicts, human, judge, options.level),
        ),
        provenance=provenance_of("judge correct", sources, options, rng),
        level=options.level,
        anytime=options.anytime,
    )


def _read(
    sources: Sequence[Any], asked: Asked, options: CorrectOptions, rng: np.random.Generator
) -> tuple[Verdicts, Opinion, Choice, list[str]]:
    """Read verdicts, choose the judge, and find how rows were chosen."""
    reading = options
    if options.judge is not None and options.judges is None:
        reading = replace(options, judges=tuple(options.judge))
    column = asked.column if asked.kind == PROBABILITY else None
    verdicts = verdicts_of(sources, reading, column)
    judge, notes = the_judge(verdicts, options.judge, rng)
    if needs_column(asked, verdicts, judge, options) and not isinstance(sources[0], Verdicts):
        assert asked.column is not None
        wanted = (*(options.covariates or ()), asked.column)
        try:
            verdicts = verdicts_of(sources, replace(reading, covariates=wanted), column)
        except UsageError as error:
            said = f"labels: no strata in column '{asked.column}' ({error})"
            raise UsageError(said) from None
        judge, notes = the_judge(verdicts, options.judge, rng)
    return verdicts, judge, choice_of(asked, verdicts, judge), notes


def the_judge(
    verdicts: Verdicts, names: Collection[str] | None, rng: np.random.Generator
) -> tuple[Opinion, list[str]]:
    """Give the judge that is meant; several are weighed by labels that their fit did not see."""
    known = [one.name for one in verdicts.judges]
    if names is None:
        if len(known) > 1:
            raise UsageError(
                f"several judges ({listed(known, 6)}): which one? Name it (judge=NAME), or "
                "several, which are then weighed by the labels"
            )
        return verdicts.judges[0], []
    missing = [name for name in names if name not in known]
    if missing:
        raise UsageError(f"no judge '{missing[0]}'; {hint(missing[0], known)}")
    own = [verdicts.judge(name) for name in dict.fromkeys(names)]
    if len(own) == 1:
        return own[0], []
    values = np.stack([with_every_verdict(one.value) for one in own])
    joined = stacked(values, verdicts.people().value, rng)
    joined[np.isnan([one.value for one in own]).all(axis=0)] = np.nan
    note = "judges are weighed by least squares, each label by a fit without it"
    return Opinion(" + ".join(one.name for one in own), joined), [note]


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
    for pair in parts.pairs:
        if {pair.one, pair.other} == set(names):
            return pair if pair.one == names[0] else turned(pair)
    raise UsageError("pair: systems can't be compared where labels were chosen by people's labels")


def turned(pair: CorrectedPair) -> CorrectedPair:
    """Give the same of the second minus the first."""
    own = pair.found
    found = replace(own, estimate=_minus(own.estimate), people=_minus(own.people),
                    judge=0.0 - own.judge)  # fmt: skip
    return replace(pair, one=pair.other, other=pair.one, found=found)


def _minus(own: Estimate) -> Estimate:
    return replace(own, value=0.0 - own.value, low=0.0 - own.high, high=0.0 - own.low)


def _at_any_time(
    overall: Corrected | None, parts: Parts, chosen: CorrectedPair | None, level: float
) -> tuple[Corrected | None, Parts, CorrectedPair | None]:
    """Widen all intervals, so that they hold however often one looks."""

    def wide(own: Estimate) -> Estimate:
        if not own.se > 0 or own.n < 2:
            return own
        reach = anytime_reach(own.n, level=level) * own.se
        return replace(own, low=own.value - reach, high=own.value + reach)

    def both(own: Corrected) -> Corrected:
        return replace(own, estimate=wide(own.estimate), people=wide(own.people))

    parts = replace(
        parts,
        systems=tuple(CorrectedSystem(one.system, both(one.found)) for one in parts.systems),
        pairs=tuple(replace(pair, found=both(pair.found)) for pair in parts.pairs),
    )
    return (
        None if overall is None else both(overall),
        parts,
        None if chosen is None else replace(chosen, found=both(chosen.found)),
    )


def _together(parts: Parts, options: CorrectOptions, rng: np.random.Generator) -> Together | None:
    """Test all pairs at once; while labelling goes on, none is tested."""
    if len(parts.systems) < 2 or not parts.pairs or np.isnan(parts.errors).all():
        return None
    if options.anytime:
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


def _warnings(
    asked: Asked,
    differ: Sequence[Difference],
    parts: Parts,
    overall: Corrected | None,
    human: Any,
) -> list[str]:
    found = []
    if asked.kind == UNKNOWN:
        found.append(
            "how rows were chosen for labelling is not known: they are taken for a random sample; "
            "intervals miss the truth if they are not"
        )
    off = [own.name for own in differ if own.p_adjusted < _SURE]
    if off:
        said = "are said to be" if asked.kind == RANDOM else "are taken for"
        found.append(
            f"labels {said} a random sample, but labelled rows differ from the others in "
            f"{listed(off)}: say how they were chosen (labels=...)"
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
