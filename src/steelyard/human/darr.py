"""DARR: pairs of outputs out of direct assessment, for one test set or several."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from steelyard.core.errors import DegenerateError, UsageError, hint
from steelyard.core.table import Table
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.human import values
from steelyard.human.averages import Averages
from steelyard.human.inputs import EXPECTED, Inputs
from steelyard.human.pairs import (
    Pairs,
    Rules,
    battle_log,
    count_table,
    pairs_of_battles,
    pairs_of_scores,
    threshold_table,
)
from steelyard.human.results import HumanScores, SystemScore
from steelyard.stats.arrays import group_sums, ratio
from steelyard.stats.ranks import ranks, whole


def human_pairs(
    read: Mapping[str, Inputs],
    settings: values.Settings,
    rules: Rules,
    human: str | None,
    metrics: Collection[str] | None,
    thresholds: tuple[float, ...],
    rng: np.random.Generator,
) -> HumanScores:
    """Run the protocol on one set or several: pairs, their counts, and win rates of systems."""
    chosen = _chosen(read, settings)
    sets: list[Pairs] = []
    systems: list[SystemScore] = []
    scored: list[HumanScores] = []
    for (name, inputs), stream in zip(read.items(), rng.spawn(len(read)), strict=True):
        pairs, own = _pairs(name, inputs, chosen[name], human, metrics, stream)
        sets.append(pairs)
        scored += [own] if own is not None else []
        prefix = f"{name}:" if len(read) > 1 else ""
        systems += _win_rates(pairs, rules, own, prefix)
    if rules.identical_ties and all(pairs.identical is None for pairs in sets):
        raise UsageError("identical outputs need texts: give a file with the outputs of systems")
    tables: dict[str, Table] = {"pairs": count_table(sets, rules)}
    if thresholds:
        if all(pairs.decided for pairs in sets):
            raise UsageError("a list of pairs holds no scores: thresholds can't be varied")
        tables["thresholds"] = threshold_table(sets, thresholds)
    single = scored[0] if len(sets) == 1 and scored else None
    if single is not None and "raters" in single.tables:
        tables["raters"] = single.tables["raters"]
    if not any(len(pairs) for pairs in sets):
        raise DegenerateError("no two systems were scored on the same segment")
    return HumanScores(
        "darr",
        tuple(systems),
        "win_rate",
        None if single is None else single.averages,
        tables,
        agreement={} if single is None else single.agreement,
        battles=battle_log(sets[0], rules) if len(sets) == 1 else None,
        removed_raters=() if single is None else single.removed_raters,
        warnings=tuple(dict.fromkeys(w for own in scored for w in own.warnings)),
    )


def _chosen(read: Mapping[str, Inputs], settings: values.Settings) -> dict[str, values.Settings]:
    """Let each set keep or drop the systems that it has; a name that no set has is an error."""
    known = {name: _systems(inputs) for name, inputs in read.items()}
    every = {system for own in known.values() for system in own}
    for system in (*(settings.systems or ()), *settings.drop_systems):
        if system not in every:
            raise UsageError(f"unknown system '{system}'; {hint(system, every)}")
    return {
        name: replace(
            settings,
            systems=None
            if settings.systems is None
            else tuple(s for s in settings.systems if s in own),
            drop_systems=tuple(s for s in settings.drop_systems if s in own),
        )
        for name, own in known.items()
    }


def _systems(inputs: Inputs) -> tuple[str, ...]:
    """Systems that were judged; in a list of pairs there are none to choose from."""
    if isinstance(inputs.judgements, Ratings):
        return inputs.judgements.systems
    return inputs.scores.systems if inputs.judgements is None and inputs.scores else ()


def _pairs(
    name: str,
    inputs: Inputs,
    settings: values.Settings,
    human: str | None,
    metrics: Collection[str] | None,
    rng: np.random.Generator,
) -> tuple[Pairs, HumanScores | None]:
    """List the pairs of one set: from ratings, from a table of scores, or from a list of pairs."""
    es = inputs.scores
    if isinstance(inputs.judgements, BattleLog):
        names = _metrics(es, None, metrics)
        return pairs_of_battles(inputs.judgements, es, names, name), None
    if isinstance(inputs.judgements, Rankings):
        raise UsageError(f"protocol darr expects {EXPECTED['darr']}, not rankings (protocol rr)")
    if isinstance(inputs.judgements, Ratings):
        quiet = replace(settings, rule=replace(settings.rule, clusters="none"))
        own = values.human_values(inputs.judgements, quiet, rng)
        assert own.averages is not None
        gold = own.averages.evalset(inputs.files)
        kept = set(gold.systems)
        if es is not None:
            gold = join([gold, es.drop(systems=[s for s in es.systems if s not in kept])])
        return pairs_of_scores(gold, own.score, _metrics(gold, own.score, metrics), name), own
    if es is None:
        raise UsageError(f"no judgements: protocol darr expects {EXPECTED['darr']}")
    if human is None:
        known = ", ".join(es.scores) or "none"
        raise UsageError(f"name the human score (--human NAME); the input has: {known}")
    es[human]
    if settings.systems is not None:
        es = es.select(systems=settings.systems)
    if settings.drop_systems:
        es = es.drop(systems=settings.drop_systems)
    averages = _averages(es, human)
    own = HumanScores("darr", (), human, averages)
    return pairs_of_scores(es, human, _metrics(es, human, metrics), name), own


def _metrics(es: EvalSet | None, human: str | None, metrics: Collection[str] | None) -> list[str]:
    """Choose whose ties are counted: the named ones, else all that are not called human."""
    if es is None:
        return []
    if metrics is None:
        return [name for name in es.metrics if name != human and es[name].has_segments]
    for name in metrics:
        es[name]
    return sorted(metrics)


def _averages(es: EvalSet, human: str) -> Averages:
    matrix = es[human].oriented
    system, segment = (x.astype(np.int32) for x in np.nonzero(~np.isnan(matrix)))
    n = np.ones(len(system), dtype=np.int64)
    return Averages(
        es.systems, es.segments.ids, system, segment, n, {human: matrix[system, segment]}
    )


def _win_rates(
    pairs: Pairs, rules: Rules, own: HumanScores | None, prefix: str
) -> list[SystemScore]:
    """Share of kept pairs that each system wins, ties as a half; best first."""
    outcome = rules.outcome(pairs)
    kept = ~np.isnan(outcome)
    size = len(pairs.systems)
    points = group_sums(pairs.left[kept], outcome[kept], size)
    points += group_sums(pairs.right[kept], 1 - outcome[kept], size)
    sides = np.concatenate([pairs.left[kept], pairs.right[kept]])
    met = np.bincount(sides, minlength=size)
    share = ratio(points, met)
    raw = np.full(size, np.nan)
    segments = np.zeros(size, dtype=np.int64)
    if own is not None and own.averages is not None:
        place = {name: i for i, name in enumerate(own.averages.systems)}
        means, counts = own.averages.means(own.score), own.averages.counts()[0]
        for i, name in enumerate(pairs.systems):
            if name in place:
                raw[i], segments[i] = means[place[name]], counts[place[name]]
    found = np.flatnonzero(met > 0)
    order = found[np.argsort(ranks(share[found]), kind="stable")]
    rank = whole(ranks(share[order]))
    return [
        SystemScore(
            prefix + pairs.systems[i],
            float(share[i]),
            float(raw[i]),
            rank[place],
            n_segments=int(segments[i]),
            n_ratings=int(met[i]),
        )
        for place, i in enumerate(order.tolist())
    ]
