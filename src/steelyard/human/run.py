"""Raw judgements to human scores: read them, run a protocol, say what it rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.formats.load import selection
from steelyard.formats.reading import Reading, read_all
from steelyard.formats.streams import kept
from steelyard.human.darr import DARR, groups
from steelyard.human.judgedunits import named_column
from steelyard.human.numeric import DA, ESA, MQM
from steelyard.human.options import PROTOCOLS, HumanOptions, parts_of_scale
from steelyard.human.protocol import Protocol, read_inputs
from steelyard.human.results import HumanScores
from steelyard.human.rr import RR

#: Every protocol by its name; a new one also stands in ``options.PROTOCOLS``, which help shows.
REGISTRY: dict[str, Protocol] = {one.name: one for one in (DA, MQM, ESA, RR, DARR)}


def human_scores(  # noqa: PLR0913 - every option has a default
    *sources: Any,
    protocol: str | None = None,
    preset: str | None = None,
    standardised: bool | None = None,
    quality_control: bool = False,
    min_seconds: float = 2.0,
    scale: Sequence[float] | Sequence[str] = (0, 100),
    unit: str = "auto",
    clusters: str = "wmt",
    test: str | None = None,
    alpha: float = 0.05,
    correction: str = "none",
    weights: str | Path | None = None,
    severity: Mapping[str, float] | Iterable[tuple[str, float]] = (),
    cap: float | None = None,
    threshold: float | str | None = None,
    thresholds: Sequence[float] = (),
    identical_ties: bool = False,
    keep_ties: bool = False,
    metrics: Collection[str] | None = None,
    each: bool = False,
    by: str = "trueskill",
    held_back: Any = None,
    raters: str | Path | Mapping[str, Sequence[str]] | None = None,
    human: str | None = None,
    score: str | None = None,
    systems: Collection[str] | None = None,
    drop_systems: Collection[str] = (),
    where: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    ignore: Collection[str] = (),
    columns: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    format: str | None = None,  # noqa: A002 - the word that people use
    lp: str | None = None,
    n_bootstrap: int = 1000,
    rng: Rng = 0,
) -> HumanScores:
    """Turn raw judgements into scores of outputs and systems.

    Parameters
    ----------
    *sources
        Files of raw judgements (or :class:`Ratings`, :class:`Rankings`, frames); for ``da``,
        ``mqm`` and ``esa`` also texts, or tables, that tell documents and domains of segments; for
        ``darr`` and ``rr`` texts and scores of metrics, and for ``darr`` a table of human scores.
    protocol
        ``da`` (direct assessment), ``mqm``, ``esa``, ``rr`` (rankings) or ``darr``; without it,
        what the judgements tell, with a warning that says so.
    preset
        Rank as the organisers of a shared task do: ``wmt22`` (of ``da``), ``wmt24`` (mean of domain
        means, tests by domain combined), ``wmt24-micro`` (plain means, one test) or ``wmt25`` (of
        ``esa``).
    standardised
        Scores are z (standardised by rater) or raw; by default z for ``da`` only.
    quality_control, min_seconds
        Remove the raters who fail the checks; the least median time per rating.
    scale
        The ends of the scale, beyond which a score is an error; or its words from the worst to the
        best (``["bad", "ok", "good"]``), which count 1, 2, 3.
    unit
        What is independent (``da``, ``mqm``, ``esa``): ``segment``, ``document``, a column, a
        number of consecutive segments, ``rater`` or ``document+rater``; ``auto`` takes documents
        where at least ten are known, else segments. Presets keep their organisers' unit.
    clusters, test, alpha, correction
        How systems are put into clusters: rule ``wmt``, ``strict``, ``neighbours`` or ``none``;
        test ``rank-sum`` (default for ``da``), ``permutation`` (paired; for ``mqm`` and ``esa``) or
        ``t`` (of means, with errors by unit).
    weights, severity, cap
        MQM: the weights (``wmt``, ``wmt21`` or a TOML file; by default what fits the
        categories), those of further severities (``{"undecided": 0}``; a blank one is ``none``),
        and the most that one rating may cost.
    threshold, thresholds, identical_ties, keep_ties, metrics, each
        DARR: the difference that decides a pair (25 for raw scores; ``auto`` takes the one that
        at most 5 % of pairs of equal outputs reach); thresholds for the curve;
        whether identical texts are ties, and whether ties are kept; whose ties are counted;
        whether each group of files (``de-en.*``) is a set of its own.
    by, held_back
        Rankings: the model that systems are ordered by (``trueskill``, ``bt``,
        ``expected-wins``), and rankings whose pairs the models shall predict.
    raters
        Who has which logins, so that a person is one rater: ``{person: [logins]}``, or a file of
        that as JSON, or of a table with columns ``login`` and ``person``.
    human, score
        The human score (or the ratings) of inputs that hold several; the column to take as the
        score where ratings have several criteria.
    systems, drop_systems, where, ignore, columns, format, lp
        What to keep, as in :func:`steelyard.load`. Systems are chosen after standardisation.
    n_bootstrap, rng
        Resamples for intervals of agreement, and their seed.

    Examples
    --------
    >>> import steelyard as sy
    >>> rows = {"rater": ["r"] * 4, "system": ["A", "B"] * 2, "segment": [1, 1, 2, 2],
    ...         "raw": [90, 40, 80, 50]}
    >>> import polars
    >>> result = sy.human_scores(polars.DataFrame(rows), protocol="da")
    >>> [(s.system, round(s.score, 3), s.raw) for s in result.systems]
    [('A', 0.84, 85.0), ('B', -0.84, 45.0)]
    """
    told = ""
    words, ends = parts_of_scale(scale)
    scale = words or ends
    if protocol is None and sources:
        pairs = _named_columns(columns, score)
        how = Reading(selection(where), tuple(ignore), lp, columns=pairs, form=format, scale=words)
        protocol, told = _told_protocol(sources, how, human)
    elif protocol is None:
        raise UsageError(f"no input; and protocol=NAME is one of {', '.join(PROTOCOLS)}")
    options = HumanOptions.of(locals())
    named = _named_columns(columns, score)
    column = named_column(options.unit)
    named += () if column is None else (("doc", column),)
    options = replace(options, where=selection(where), columns=named)
    stream = generator(rng)
    own = REGISTRY[protocol]
    if not sources:
        raise own.missing("no input")
    own.refuse(options)
    sets = groups(sources) if each else {"all": list(sources)}
    read = {name: read_inputs(some, own, options) for name, some in sets.items()}
    result = own.score(read, options, stream)
    settings = {"protocol": protocol, "clusters": clusters, "alpha": alpha}
    settings |= own.signed(options, result)
    settings |= {"quality-control": True} if quality_control else {}
    files = tuple(file for inputs in read.values() for file in inputs.files)
    notes = [note for inputs in read.values() for note in inputs.notes]
    if told:
        notes.insert(0, f'taken as protocol {protocol}: {told} (protocol="{protocol}" says it)')
    return replace(
        result,
        warnings=(*notes, *result.warnings),
        provenance=Provenance.of("human", settings, files, rng, options),
        language_pair=lp,
    )


def _named_columns(
    columns: Mapping[str, str] | Iterable[tuple[str, str]], score: str | None
) -> tuple[tuple[str, str], ...]:
    """Return the roles that the user gave to columns, the score included."""
    pairs = selection(columns, "columns", "roles and columns, as {'system': 'model'}")
    return pairs if score is None else (*pairs, ("score", score))


@kept()
def _told_protocol(sources: Sequence[Any], reading: Reading, human: str | None) -> tuple[str, str]:
    """Return the protocol that inputs tell, and what tells it."""
    judged = (Ratings, Rankings, BattleLog)
    values = [source for source in sources if isinstance(source, judged)]
    values += [one.value for one in read_all([s for s in sources if not isinstance(s, judged)],
                                             reading)]  # fmt: skip
    found = {told for value in values for told in _told(value, human)}
    if len(found) != 1:
        seen = "tell several" if found else "do not tell it"
        known = ", ".join(PROTOCOLS)
        raise UsageError(f"protocol=NAME is missing, and the inputs {seen}: one of {known}")
    return found.pop()


def _told(value: Any, human: str | None) -> list[tuple[str, str]]:
    """Say what one input tells; texts and scores tell nothing."""
    if isinstance(value, Rankings):
        return [("rr", "rankings of systems")]
    if isinstance(value, BattleLog):
        return [("darr", "pairs, the better and the worse")]
    if isinstance(value, EvalSet):
        return [told for name, own in value.ratings.items() if human in (None, name)
                for told in _told(own, None)]  # fmt: skip
    if not isinstance(value, Ratings):
        return []
    scored = not np.isnan(value.value).all()
    if value.errors is None:
        return [("da", "scores of raters")] if scored else []
    return [("esa", "scores and marked errors") if scored else ("mqm", "marked errors")]
