"""Raw judgements to human scores: read them, run a protocol, say what it rests on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import UsageError
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.data.judgements import Rankings, Ratings
from steelyard.formats.load import selection
from steelyard.human import darr, mqm, quality, values
from steelyard.human.inputs import EXPECTED, Inputs, read_inputs
from steelyard.human.ordering import TESTS, Rule
from steelyard.human.pairs import Rules
from steelyard.human.ranking import MODELS, human_rankings
from steelyard.human.results import HumanScores

PROTOCOLS = ("da", "mqm", "esa", "rr", "darr")


def human_scores(  # noqa: PLR0913 - every option has a default
    *sources: Any,
    protocol: str,
    standardised: bool | None = None,
    quality_control: bool = False,
    min_seconds: float = quality.MIN_SECONDS,
    scale: tuple[float, float] = (0, 100),
    clusters: str = "wmt",
    test: str | None = None,
    alpha: float = 0.05,
    correction: str = "none",
    weights: str | Path | None = None,
    cap: float | None = None,
    threshold: float | None = None,
    thresholds: Sequence[float] = (),
    identical_ties: bool = False,
    keep_ties: bool = False,
    metrics: Collection[str] | None = None,
    each: bool = False,
    by: str = "trueskill",
    held_back: Any = None,
    human: str | None = None,
    systems: Collection[str] | None = None,
    drop_systems: Collection[str] = (),
    where: Mapping[str, str] | Iterable[tuple[str, str]] = (),
    ignore: Collection[str] = (),
    lp: str | None = None,
    n_bootstrap: int = 1000,
    rng: Rng = 0,
) -> HumanScores:
    """Turn raw judgements into scores of outputs and systems.

    Parameters
    ----------
    *sources
        Files of raw judgements (or :class:`Ratings`, :class:`Rankings`, frames); for ``darr`` and
        ``rr`` also texts and scores of metrics, and for ``darr`` a table of human scores.
    protocol
        ``da`` (direct assessment), ``mqm``, ``esa``, ``rr`` (rankings) or ``darr``.
    standardised
        Scores are z (standardised by rater) or raw; by default z for ``da`` only.
    quality_control, min_seconds
        Remove the raters who fail the checks; the least median time per rating.
    scale
        The ends of the scale; a score beyond them is an error.
    clusters, test, alpha, correction
        How systems are put into clusters: rule ``wmt``, ``strict``, ``neighbours`` or ``none``;
        test ``rank-sum`` (default for ``da``) or ``permutation`` (paired; for ``mqm`` and ``esa``).
    weights, cap
        MQM: the weights (``wmt``, ``wmt21`` or a TOML file; by default what fits the
        categories), and the most that one rating may cost.
    threshold, thresholds, identical_ties, keep_ties, metrics, each
        DARR: the difference that decides a pair (25 for raw scores); thresholds for the curve;
        whether identical texts are ties, and whether ties are kept; whose ties are counted;
        whether each group of files (``de-en.*``) is a set of its own.
    by, held_back
        Rankings: the model that systems are ordered by (``trueskill``, ``bt``,
        ``expected-wins``), and rankings whose pairs the models shall predict.
    human
        The human score (or the ratings) of inputs that hold several.
    systems, drop_systems, where, ignore, lp
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
    _check(protocol, sources, quality_control=quality_control)
    bounds.number(0, optional=True, threshold=threshold)
    bounds.numbers(0, empty=True, thresholds=thresholds)
    bounds.flag(identical_ties=identical_ties, keep_ties=keep_ties, each=each)
    bounds.text(optional=True, human=human, lp=lp)
    bounds.choice(TESTS, optional=True, test=test)
    bounds.names(optional=True, metrics=metrics, systems=systems)
    bounds.names(drop_systems=drop_systems, ignore=ignore)
    bounds.choice(MODELS, by=by)
    bounds.instance((str, Path), "a path", optional=True, weights=weights)
    bounds.numbers(scale=scale)
    if len(scale) != 2 or not scale[0] < scale[1]:
        raise bounds.fail("scale", "its lower and its upper end", scale)
    stream = generator(rng)
    z = protocol == "da" if standardised is None else standardised
    table = mqm.read_weights(weights or "wmt") if protocol in ("mqm", "esa") else None
    settings = values.Settings(
        "da" if protocol == "darr" else protocol,
        z,
        Rule(clusters, test or ("rank-sum" if protocol == "da" else "permutation"), alpha,
             correction),
        quality_control,
        min_seconds,
        table,
        cap,
        None if systems is None else tuple(systems),
        tuple(drop_systems),
        n_bootstrap,
    )  # fmt: skip
    reading: dict[str, Any] = {
        "where": selection(where),
        "ignore": tuple(ignore),
        "lp": lp,
        "human": human,
        "scale": scale,
        "severities": None if table is None else table.severities,
    }
    if each and protocol != "darr":
        raise UsageError("--each applies to protocol darr")
    groups = _groups(sources) if each else {"all": list(sources)}
    read = {name: read_inputs(own, protocol, **reading) for name, own in groups.items()}
    options: dict[str, Any] = {"protocol": protocol, "clusters": clusters, "alpha": alpha}
    if protocol == "darr":
        rules = Rules(_threshold(threshold, z=z), identical_ties, keep_ties)
        result = darr.human_pairs(read, settings, rules, human, metrics, tuple(thresholds), stream)
        options |= {"threshold": rules.threshold, "identical-ties": identical_ties,
                    "keep-ties": keep_ties}  # fmt: skip
    elif protocol == "rr":
        held = None if held_back is None else read_inputs([held_back], "rr", **reading)
        result = _rankings(read["all"], held, by, settings, stream)
        options["by"] = by
    else:
        result = _values(read["all"], settings, stream, fixed=weights is not None)
        options |= {"test": settings.rule.test, "correction": correction} | dict(
            result.more.get("weights", {})
        )
    options |= {"score": "z" if z else "raw"} if protocol in ("da", "esa", "darr") else {}
    options |= {"quality-control": True} if quality_control else {}
    files = tuple(file for inputs in read.values() for file in inputs.files)
    notes = [note for inputs in read.values() for note in inputs.notes]
    return replace(
        result,
        warnings=(*notes, *result.warnings),
        provenance=Provenance.of("human", options, files, rng),
        language_pair=lp,
    )


def _check(protocol: str, sources: Sequence[Any], *, quality_control: bool) -> None:
    bounds.choice(PROTOCOLS, protocol=protocol)
    if not sources:
        raise UsageError(f"no input: protocol {protocol} expects {EXPECTED[protocol]}")
    if quality_control and protocol not in ("da", "esa", "darr"):
        raise UsageError("quality control applies to protocols da, esa and darr")


def _threshold(threshold: float | None, *, z: bool) -> float:
    if threshold is None and z:
        raise UsageError("name the threshold (--threshold X): 25 is for raw scores")
    return 25.0 if threshold is None else threshold


def _values(
    inputs: Inputs, settings: values.Settings, rng: np.random.Generator, *, fixed: bool
) -> HumanScores:
    """Run a protocol on ratings; weights that nobody fixed are those that fit the categories."""
    if not isinstance(inputs.judgements, Ratings):
        expected = EXPECTED[settings.protocol]
        raise UsageError(f"no raw ratings: protocol {settings.protocol} expects {expected}")
    if settings.weights is None:
        return values.human_values(inputs.judgements, settings, rng)
    notes: tuple[str, ...] = ()
    if not fixed:
        settings = replace(settings, weights=mqm.fitting_weights(inputs.judgements))
        if settings.weights is not None and settings.weights.name != "wmt":
            name = settings.weights.name
            notes = (f"categories of 2020-21: weights {name} (--weights wmt for today's)",)
    result = values.human_values(inputs.judgements, settings, rng)
    used = {"weights": settings.weights and settings.weights.name, "cap": settings.cap}
    return replace(
        result, warnings=(*notes, *result.warnings), more={**result.more, "weights": used}
    )


def _rankings(
    inputs: Inputs,
    held_back: Inputs | None,
    by: str,
    settings: values.Settings,
    rng: np.random.Generator,
) -> HumanScores:
    if not isinstance(inputs.judgements, Rankings):
        raise UsageError(f"no rankings: protocol rr expects {EXPECTED['rr']}")
    if settings.systems is not None or settings.drop_systems:
        raise UsageError("--systems and --drop-systems do not apply to rankings")
    held = None if held_back is None else held_back.judgements
    if held is not None and not isinstance(held, Rankings):
        raise UsageError("the held-back file holds no rankings")
    return human_rankings(
        inputs.judgements,
        inputs.scores,
        by=by,
        rule=settings.rule,
        held_back=held,
        n_resamples=settings.n_resamples,
        rng=rng,
    )


def _groups(sources: Sequence[Any]) -> dict[str, list[Any]]:
    """Group files by the first part of their names: de-en.pairs.csv and de-en.text.jsonl."""
    groups: dict[str, list[Any]] = {}
    for source in sources:
        if not isinstance(source, (str, Path)):
            raise UsageError("--each groups files by their names: give paths")
        groups.setdefault(Path(source).name.partition(".")[0], []).append(source)
    return groups
