"""DARR: relative rankings out of direct assessment, and what is lost on the way.

Every two systems that people scored on the same segment are a pair. A pair whose scores differ by
less than a threshold is a tie of the people; a pair of identical texts is a tie whatever they said.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Floats, Rankings, Ratings
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.human.equals import CUSTOMARY, Equals, of_pairs, of_ratings, tie_threshold
from steelyard.human.numeric import DA, check_systems
from steelyard.human.options import HumanOptions
from steelyard.human.ordering import Averages, Ordering
from steelyard.human.outputpairs import Pairs, identical_table, pairs_of_battles, pairs_of_scores
from steelyard.human.protocol import Inputs, Protocol
from steelyard.human.raters import standardise
from steelyard.human.results import HumanScores, SystemScore, place_systems
from steelyard.stats.arrays import group_sums, ratio
from steelyard.stats.ranks import ranks, whole


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as a tie, and whether ties are kept."""

    threshold: float = 25.0
    identical_ties: bool = False
    keep_ties: bool = False

    def outcome(self, pairs: Pairs) -> Floats:
        """Give 1 (left is better), 0 (right is), 0.5 (a tie) or NaN (left out) for each pair."""
        tie = ~pairs.at_least(self.threshold)
        if self.identical_ties and pairs.identical is not None:
            tie |= pairs.identical
        return np.where(tie, 0.5 if self.keep_ties else np.nan, (pairs.gap > 0).astype(np.float64))


def battle_log(pairs: Pairs, rules: Rules) -> BattleLog:
    """Give the pairs that the rules keep, the better output on the left."""
    outcome = rules.outcome(pairs)
    kept = np.flatnonzero(~np.isnan(outcome))
    swap = outcome[kept] == 0
    left, right = pairs.left[kept], pairs.right[kept]
    better = np.where(swap, right, left).astype(np.int32)
    worse = np.where(swap, left, right).astype(np.int32)
    won = np.where(swap, 1.0, outcome[kept])
    unit = pairs.segment[kept]
    return BattleLog(pairs.systems, better, worse, won, units=pairs.segments, unit=unit)


def count_table(sets: Sequence[Pairs], rules: Rules) -> Table:
    """Count for each set what the rules keep, and the ties of texts, people and metrics.

    Metric ties are counted among the pairs at or above the threshold.
    """
    metrics = list(dict.fromkeys(m for pairs in sets for m in pairs.metric_gap))
    texts = any(pairs.identical is not None for pairs in sets)
    names = ["set", "pairs", "human_ties", "below_threshold", "decided"]
    names += ["identical", "identical_decided", "decided_not_identical"] if texts else []
    names += ["kept", "kept_ties", *(f"ties:{metric}" for metric in metrics)]
    rows: list[tuple[Cell, ...]] = []
    for pairs in sets:
        decided = pairs.at_least(rules.threshold)
        outcome = rules.outcome(pairs)
        row: list[Cell] = [pairs.name, len(pairs), int((pairs.gap == 0).sum())]
        row += [int((~decided).sum()), int(decided.sum())]
        if texts:
            same = pairs.identical
            counts = None if same is None else (same, same & decided, decided & ~same)
            row += [None] * 3 if counts is None else [int(count.sum()) for count in counts]
        row += [int((~np.isnan(outcome)).sum()), int((outcome == 0.5).sum())]
        for metric in metrics:
            gap = pairs.metric_gap.get(metric)
            row.append(None if gap is None else int((gap[decided] == 0).sum()))
        rows.append(tuple(row))
    notes = [f"decided: human scores differ by {rules.threshold:g} or more; human_ties: by nothing"]
    notes += ["identical: both outputs are the same text"] if texts else []
    notes += ["ties:METRIC: decided pairs that the metric scores alike"] if metrics else []
    return Table("Pairs", tuple(Column(name) for name in names), tuple(rows), tuple(notes))


def threshold_table(sets: Sequence[Pairs], thresholds: Sequence[float]) -> Table:
    """Count the pairs that differ by each threshold or more, and their mean over sets."""
    several = len(sets) > 1
    columns = [Column("threshold", mixed=True)]
    columns += [Column(pairs.name) for pairs in sets]
    columns += [Column("mean", digits=1)] if several else []
    columns.append(Column("share", digits=3))
    rows: list[tuple[Cell, ...]] = []
    total = sum(len(pairs) for pairs in sets)
    for threshold in thresholds:
        kept = [int(pairs.at_least(threshold).sum()) for pairs in sets]
        mean: list[Cell] = [sum(kept) / len(sets)] if several else []
        share = sum(kept) / total if total else float("nan")
        rows.append((float(threshold), *kept, *mean, share))
    notes = ("pairs whose human scores differ by the threshold or more",)
    return Table("Pairs kept by threshold", tuple(columns), tuple(rows), notes)


class _Darr(Protocol):
    name = "darr"
    expected = "judgements of direct assessment, a table of scores, or pairs (better, worse)"
    controlled = True

    def takes(self, found: TableFormat, table: RawTable) -> bool:
        del table
        return found.gives is not Ratings or found is directassessment.FORMAT

    def refuse(self, options: HumanOptions) -> None:
        super().refuse(options)
        if options.threshold is None and options.standardised:
            raise UsageError("name the threshold (threshold=X): 25 is for raw scores")

    def rules(self, options: HumanOptions, equal: Sequence[Equals]) -> tuple[Rules, list[str]]:
        """Give the rules, and say where a threshold is from that nobody named."""
        threshold, told = options.threshold, []
        if isinstance(threshold, str):
            threshold, said = tie_threshold(equal)
            told = [said]
        threshold = CUSTOMARY if threshold is None else threshold
        return Rules(threshold, options.identical_ties, options.keep_ties), told

    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        return {
            "threshold": result.more["threshold"],
            "identical-ties": options.identical_ties,
            "keep-ties": options.keep_ties,
            "score": "z" if options.standardised else "raw",
        }

    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        """Run the protocol on one set or several: pairs, their counts, and win rates of systems."""
        chosen = _chosen(read, options)
        found: dict[str, tuple[Pairs, HumanScores | None]] = {}
        equal: list[Equals] = []
        for (name, inputs), stream in zip(read.items(), rng.spawn(len(read)), strict=True):
            found[name] = self._pairs(name, inputs, chosen[name], stream)
            if isinstance(options.threshold, str):
                equal += _equals(inputs, options, *found[name])
        rules, told = self.rules(options, equal)
        sets = [pairs for pairs, _ in found.values()]
        scored = [own for _, own in found.values() if own is not None]
        systems: list[SystemScore] = []
        for name, (pairs, own) in found.items():
            systems += _win_rates(pairs, rules, own, f"{name}:" if len(read) > 1 else "")
        if rules.identical_ties and all(pairs.identical is None for pairs in sets):
            raise UsageError(
                "identical outputs need texts: give a file with the outputs of systems"
            )
        tables: dict[str, Table] = {"pairs": count_table(sets, rules)}
        identical = identical_table(sets, rules.threshold)
        tables |= {} if identical is None else {"identical": identical}
        if options.thresholds:
            if all(pairs.decided for pairs in sets):
                raise UsageError("a list of pairs holds no scores: thresholds can't be varied")
            tables["thresholds"] = threshold_table(sets, options.thresholds)
        if not any(len(pairs) for pairs in sets):
            raise DegenerateError("no two systems were scored on the same segment")
        result = HumanScores(
            protocol=self.name,
            systems=tuple(systems),
            score="win_rate",
            parts=tables,
            battles=battle_log(sets[0], rules) if len(sets) == 1 else None,
            warnings=(*told, *dict.fromkeys(w for own in scored for w in own.warnings)),
            more={"threshold": rules.threshold},
            counted="pairs",
        )
        if len(sets) > 1 or not scored:
            return result
        (single,) = scored
        tables |= {name: own for name, own in single.parts.items() if name == "raters"}
        return replace(
            result,
            averages=single.averages,
            agreement=single.agreement,
            removed_raters=single.removed_raters,
        )

    def _pairs(
        self, name: str, inputs: Inputs, options: HumanOptions, rng: np.random.Generator
    ) -> tuple[Pairs, HumanScores | None]:
        """List the pairs of one set: from ratings, from a table of scores, or from a list."""
        es, human, metrics = inputs.scores, options.human, options.metrics
        if isinstance(inputs.judgements, BattleLog):
            return pairs_of_battles(inputs.judgements, es, _metrics(es, None, metrics), name), None
        if isinstance(inputs.judgements, Rankings):
            raise UsageError(f"protocol darr expects {self.expected}, not rankings (protocol rr)")
        if isinstance(inputs.judgements, Ratings):
            z = bool(options.standardised)
            quiet = replace(options, clusters="none", standardised=z)
            own = DA.rate(inputs.judgements, quiet, rng)
            assert own.averages is not None
            plain = replace(own.averages, documents=None, domains=None)  # pairs ask for none
            gold = plain.evalset(inputs.files)
            if es is not None:
                gold = join([gold, es.drop(systems=set(es.systems) - set(gold.systems))])
            return pairs_of_scores(gold, own.score, _metrics(gold, own.score, metrics), name), own
        if es is None:
            raise self.missing("no judgements")
        if human is None:
            known = ", ".join(es.scores) or "none"
            raise UsageError(f"name the human score (human=NAME); the input has: {known}")
        es[human]
        if options.systems is not None:
            es = es.select(systems=options.systems)
        if options.drop_systems:
            es = es.drop(systems=options.drop_systems)
        own = HumanScores(self.name, (), human, _averages(es, human))
        return pairs_of_scores(es, human, _metrics(es, human, metrics), name), own


DARR = _Darr()


def _equals(
    inputs: Inputs, options: HumanOptions, pairs: Pairs, own: HumanScores | None
) -> list[Equals]:
    """List what is known to be equal in a set: by its texts, and by its ratings."""
    found, ratings = of_pairs(pairs), inputs.judgements
    if isinstance(ratings, Ratings) and own is not None:
        value = standardise(ratings) if options.standardised else ratings.value
        gone = [ratings.raters.index(name) for name in own.removed_raters]
        rows = ratings.is_item("system", "repeat") & ~np.isin(ratings.rater, gone)
        found += of_ratings(ratings, value, rows)
    return found


def groups(sources: Sequence[Any]) -> dict[str, list[Any]]:
    """Group files by the first part of their names: de-en.pairs.csv and de-en.text.jsonl."""
    found: dict[str, list[Any]] = {}
    for source in sources:
        if not isinstance(source, (str, Path)):
            raise UsageError("each=True groups files by their names: give paths")
        found.setdefault(Path(source).name.partition(".")[0], []).append(source)
    return found


def _chosen(read: Mapping[str, Inputs], options: HumanOptions) -> dict[str, HumanOptions]:
    """Let each set keep or drop the systems that it has; a name that no set has is an error."""
    known = {name: _systems(inputs) for name, inputs in read.items()}
    check_systems(options, {system for own in known.values() for system in own})

    def there(wanted: Collection[str], own: Collection[str]) -> tuple[str, ...]:
        return tuple(system for system in wanted if system in own)

    return {
        name: replace(
            options,
            systems=None if options.systems is None else there(options.systems, own),
            drop_systems=there(options.drop_systems, own),
        )
        for name, own in known.items()
    }


def _systems(inputs: Inputs) -> tuple[str, ...]:
    """Systems that were judged; in a list of pairs there are none to choose from."""
    if isinstance(inputs.judgements, Ratings):
        return inputs.judgements.systems
    return inputs.scores.systems if inputs.judgements is None and inputs.scores else ()


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
) -> tuple[SystemScore, ...]:
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
        known = {one.system: one for one in own.systems}
        for i, name in enumerate(pairs.systems):
            if name in known:
                raw[i], segments[i] = known[name].raw, known[name].n_segments
    found = np.flatnonzero(met > 0)
    order = found[np.argsort(ranks(share[found]), kind="stable")]
    columns = {"score": share, "raw": raw, "n_segments": segments, "n_ratings": met}
    placed = Ordering(order, whole(ranks(share[order])))
    return place_systems([prefix + name for name in pairs.systems], columns, placed)
