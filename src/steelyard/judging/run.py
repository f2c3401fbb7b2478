"""Which judge deserves to be believed: verdicts in, a report out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import check_names, keywords
from steelyard.core.provenance import InputFile, Provenance
from steelyard.core.text import listed, plural
from steelyard.data.verdicts import Verdicts
from steelyard.formats import files
from steelyard.formats.load import selection
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts
from steelyard.judging.baseline import drift_from, read_baseline
from steelyard.judging.card import JudgeCard, raters_as_numbers, weigh
from steelyard.judging.jury import jury
from steelyard.judging.options import JudgeOptions, ReadOptions
from steelyard.judging.requirements import HOLDS, UNDECIDED, Checked, check, parse
from steelyard.judging.results import JudgeReport
from steelyard.judging.verdict import MOST_EMPTY, decide
from steelyard.stats.judged.alt_test import AltTest, best_constant


def verdicts_of(
    sources: Sequence[Any], options: ReadOptions, probability: str | None = None
) -> Verdicts:
    """Read verdicts, or take them as they are."""
    if len(sources) == 1 and isinstance(sources[0], Verdicts):
        return sources[0]
    return read_verdicts(
        sources,
        VerdictReading(
            human=tuple(options.human),
            judges=None if options.judges is None else tuple(options.judges),
            unit=options.unit,
            covariates=options.covariates,
            probability=probability,
            where=selection(options.where),
            columns=selection(options.columns, "columns", "roles and columns, as {'item': 'id'}"),
            ignore=tuple(options.ignore),
            words=tuple(options.words),
            swapped=options.swapped,
        ),
    )


@keywords(JudgeOptions)
def judge(
    *sources: Any, options: JudgeOptions, require: Sequence[str] = (), baseline: Any = None
) -> JudgeReport:
    """Weigh judges against people: who deserves to be believed, where it errs, what to do.

    Parameters
    ----------
    sources
        Files or frames of verdicts, or :class:`~steelyard.data.verdicts.Verdicts`: points (columns
        system and item) or pairs (left and right), a column for each judge and for each rater, or a
        row for each with a column judge or rater. Labels may stand in a table of their own.
    options
        See :class:`~steelyard.judging.options.JudgeOptions`; given as keywords.
    require
        Requirements, as ``"kappa.low>=0.4"``.
    baseline
        The JSON of an old card: how far agreement moved since (``drift.kappa.low>=-0.1``).

    Examples
    --------
    >>> import polars
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice(["pass", "fail"], 200)
    >>> said = np.where(rng.random(200) < 0.9, truth, "fail")
    >>> frame = polars.DataFrame({"item": range(200), "expert": truth, "gpt": said})
    >>> found = judge(frame, human=["expert"])
    >>> found.cards[0].accuracy.value, found.decisions[0].word
    (0.945, 'believe')
    """
    check_names(require=require)
    asked = [parse(text) for text in require]
    before = None if baseline is None else read_baseline(baseline)
    verdicts = verdicts_of(sources, options)
    own = families(options.own, verdicts)
    cards = tuple(
        weigh(
            verdicts,
            one,
            unparsed=options.unparsed,
            epsilon=options.alt_epsilon,
            level=options.level,
            own=own,
        )
        for one in verdicts.judges
    )
    constant = _constant(verdicts, options)
    decisions = tuple(decide(card, None if constant is None else constant[1]) for card in cards)
    moved = _moved(before, cards, options.level)
    told = [card.to_dict() | moved.get(card.name, {}) for card in cards] if asked else []
    checked = tuple(
        _unless_empty(check(one, values), card)
        for card, values in zip(cards, told, strict=False) for one in asked
    )  # fmt: skip
    return JudgeReport(
        verdicts=verdicts,
        cards=cards,
        decisions=decisions,
        constant=constant,
        jury=jury(verdicts, options.level),
        requirements=checked,
        warnings=(*verdicts.notes, *_warnings(verdicts), *_empty(cards)),
        provenance=provenance_of("judge", sources, options),
        more={}
        if before is None
        else {"drift": {name: own["drift"] for name, own in moved.items()}},
    )


def _unless_empty(checked: Checked, card: JudgeCard) -> Checked:
    """Leave a requirement open that holds only for the rows on which the judge said something."""
    if checked.result != HOLDS or card.empty <= MOST_EMPTY or "abstained" in checked.requirement:
        return checked
    found = f"{checked.found} without the {card.empty:.0%} of labelled rows that have no verdict"
    return replace(checked, result=UNDECIDED, found=found)


def _moved(
    before: Mapping[str, Mapping[str, Any]] | None, cards: Sequence[JudgeCard], level: float
) -> dict[str, dict[str, Any]]:
    """Give how far each judge moved from an old card; all must be on it."""
    if before is None:
        return {}
    for card in cards:
        if card.name not in before:
            known = listed(sorted(before), 6)
            raise UsageError(f"baseline: no judge '{card.name}' in it, only {known}")
    return {
        card.name: {"drift": drift_from(before[card.name], card.to_dict(), level)} for card in cards
    }


def provenance_of(
    method: str, sources: Sequence[Any], options: ReadOptions, rng: object = None
) -> Provenance:
    """Say what was run on which files, with which seed if anything was drawn."""
    paths = [Path(source) for source in sources if isinstance(source, (str, Path))]
    inputs = tuple(
        InputFile(str(path), "verdicts", files.sha256(path))
        for path in paths
        if not files.is_folder(path)
    )
    return Provenance.of(method, {}, inputs=inputs, rng=rng, asked=options)


def families(given: Any, verdicts: Verdicts) -> dict[str, str]:
    """Check which systems are said to be of a judge's family."""
    own = dict(selection(given, "own", "judges and patterns of systems, as {'gpt-4': 'gpt-*'}"))
    known = [one.name for one in verdicts.judges]
    for name in own:
        if name not in known:
            raise UsageError(f"own: no judge '{name}'; known: {', '.join(known)}")
    return own


def _constant(verdicts: Verdicts, options: JudgeOptions) -> tuple[str, AltTest] | None:
    """Find the best constant in the alternative annotator test."""
    if len(verdicts.raters) < 2:
        return None
    raters, scoring = raters_as_numbers(verdicts)
    if np.isnan(raters).all():
        return None
    value, found = best_constant(raters, scoring=scoring, epsilon=options.alt_epsilon,
                                 unit=verdicts.unit, level=options.level)  # fmt: skip
    if scoring == "accuracy":
        return verdicts.categories[int(value)], found
    return f"{value:g}", found


def _empty(cards: Sequence[JudgeCard]) -> list[str]:
    """Ask what empty cells mean, where they could decide."""
    few = [card.name for card in cards if card.empty > MOST_EMPTY]
    if not few:
        return []
    ask = 'unparsed="wrong" if the judge failed there, unparsed="drop" if it was not asked'
    return [f"{listed(few, 4)}: rows without a verdict are left out: {ask}"]


def _warnings(verdicts: Verdicts) -> list[str]:
    found = []
    n = int(verdicts.labelled.sum())
    if n < 50:
        found.append(f"{plural(n, 'labelled row')}: intervals are wide, and verdicts cautious")
    if len(verdicts.raters) == 1:
        found.append("one rater: how far people agree with each other is not known")
    return found
