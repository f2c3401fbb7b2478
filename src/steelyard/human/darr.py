"""DARR: pairs of outputs made of human scores, and what is lost on the way.

Every two systems that people scored on the same segment are a pair.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Codes, Floats, Rankings, Ratings
from steelyard.data.segments import Segments, positions
from steelyard.data.selection import need_moments
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.human.options import HumanOptions
from steelyard.human.ranking import best_first
from steelyard.human.ratings import DA, check_systems
from steelyard.human.results import HumanScores, SystemScore, place_systems
from steelyard.human.run import Inputs, Scorer
from steelyard.stats.arrays import Counts, group_sums, ratio

Bools = NDArray[np.bool_]
CUSTOMARY = 25.0  # points between 0 and 100, as shared tasks had it


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of outputs of the same source that people compared.

    ``gap`` is the human score of ``left`` minus that of ``right``; ``decided`` says that there are
    only better and worse, without a score (an official list of pairs). ``identical`` is None where
    texts are not known, and ``same`` holds the text of those that are. ``metric_gap`` holds the
    same difference for every metric, ``scores`` the human scores of both sides as they are (2 x
    pairs), and ``about`` what is known of the segments.
    """

    name: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    left: Codes
    right: Codes
    segment: Codes
    gap: Floats
    identical: Bools | None = None
    metric_gap: Mapping[str, Floats] = field(default_factory=dict)
    decided: bool = False
    same: Mapping[int, str] = field(default_factory=dict)
    scores: Floats | None = None
    about: Segments | None = None

    def __len__(self) -> int:
        return len(self.gap)

    def at_least(self, threshold: float) -> Bools:
        """Tell which pairs differ by the threshold or more."""
        if self.decided:
            return np.ones(len(self), dtype=bool)
        # Scores are means of whole numbers: what rounding took from a difference is given back.
        far: Bools = (np.abs(self.gap) >= threshold - 1e-9) & (self.gap != 0)
        return far


def pairs_of_scores(
    es: EvalSet, human: str, metrics: Sequence[str] = (), name: str = "all"
) -> Pairs:
    """List all pairs of systems on the segments that people scored for both."""
    need_moments(es, (human, *metrics))
    values = es[human].oriented
    sides = [np.empty((3, 0), np.int64)]
    for i, j in itertools.combinations(range(len(values)), 2):
        shared = np.flatnonzero(~np.isnan(values[i] - values[j]))
        sides.append(np.stack([np.full(len(shared), i), np.full(len(shared), j), shared]))
    left, right, segment = cells = np.concatenate(sides, axis=1).astype(np.int32)
    return Pairs(
        name=name,
        systems=es.systems,
        segments=es.segments.ids,
        left=left,
        right=right,
        segment=segment,
        gap=values[left, segment] - values[right, segment],
        scores=np.stack([es[human].values[side, segment] for side in (left, right)]),
        about=es.segments,
        **_beside(es, cells, metrics),
    )


def pairs_of_battles(
    log: BattleLog, es: EvalSet | None, metrics: Sequence[str] = (), name: str = "all"
) -> Pairs:
    """Take a list of pairs as it stands; texts and metrics come from a set, by name of segment."""
    segments = log.units or ("",)
    unit = np.zeros(len(log), dtype=np.int32) if log.unit is None else log.unit
    beside: dict[str, Any] = {}
    if es is not None:
        row, column = positions(log.systems, es.systems), positions(segments, es.segments.ids)
        beside = _beside(es, np.stack([row[log.left], row[log.right], column[unit]]), metrics)
        about: dict[str, Any] = {"document_column": es.segments.document_column}
        for kind in ("documents", "domains", "sources"):
            if (names := getattr(es.segments, kind)) is not None:
                about[kind] = tuple(names[k] if k >= 0 else None for k in column)
        beside["about"] = Segments(tuple(segments), **about)
    return Pairs(
        name=name,
        systems=log.systems,
        segments=segments,
        left=log.left,
        right=log.right,
        segment=unit,
        gap=np.asarray(log.outcome) * 2 - 1,
        decided=True,
        **beside,
    )


def _beside(es: EvalSet, cells: Codes | Counts, metrics: Sequence[str]) -> dict[str, Any]:
    """Return which pairs (systems and segment, -1: not in the set) are the same text, and gaps.

    A text that is missing is like no other.
    """
    there = np.flatnonzero((cells >= 0).all(axis=0))
    left, right, segment = cells[:, there]
    gaps: dict[str, Floats] = {}
    for metric in metrics:
        values = es[metric].oriented
        gaps[metric] = np.full(cells.shape[1], np.nan)
        gaps[metric][there] = values[left, segment] - values[right, segment]
    if not es.outputs:
        return {"metric_gap": gaps}
    code: dict[str, int] = {}
    blank = (None,) * es.n_segments
    outputs = [es.outputs.get(name, blank) for name in es.systems]
    codes = np.array(
        [[-1 if t is None else code.setdefault(t, len(code)) for t in row] for row in outputs]
    )
    first, second = codes[left, segment], codes[right, segment]
    identical = np.zeros(cells.shape[1], dtype=bool)
    identical[there] = (first == second) & (first >= 0)
    rows = np.flatnonzero(identical).tolist()
    same = {k: str(outputs[cells[0, k]][cells[2, k]]) for k in rows}
    return {"metric_gap": gaps, "identical": identical, "same": same}


def identical_table(pairs: Pairs, threshold: float) -> Table | None:
    """List the pairs of identical texts of which people said that one is better.

    None where texts are not known. Pairs that differ most stand first.
    """
    if pairs.identical is None:
        return None
    rows: list[tuple[Cell, ...]] = []
    decided = pairs.at_least(threshold) & (pairs.gap != 0)
    for k, text in pairs.same.items():
        if decided[k]:
            better, worse = (0, 1) if pairs.gap[k] > 0 else (1, 0)
            sides = [pairs.systems[side[k]] for side in (pairs.left, pairs.right)]
            scores = (None, None) if pairs.scores is None else pairs.scores[:, k].tolist()
            rows.append((-abs(float(pairs.gap[k])), pairs.segments[pairs.segment[k]],
                         sides[better], sides[worse], scores[better], scores[worse],
                         text))  # fmt: skip
    rows.sort(key=lambda row: (row[0], *map(str, row[1:])))
    names = ("segment", "better", "worse", "score_better", "score_worse", "text")
    n = f"{len(rows):,} of {plural(len(pairs.same), 'pair')}"
    columns = tuple(Column(name, mixed=name.startswith("score")) for name in names)
    title = f"Identical outputs of which people decided: {n}"
    return Table(title, columns, tuple(row[1:] for row in rows))


@dataclass(frozen=True, slots=True)
class Rules:
    """What counts as a tie, and whether ties are kept."""

    threshold: float = 25.0
    identical_ties: bool = False
    keep_ties: bool = False

    def outcome(self, pairs: Pairs) -> Floats:
        """Return 1 (left is better), 0 (right is), 0.5 (a tie) or NaN (left out) for each pair."""
        tie = ~pairs.at_least(self.threshold)
        if self.identical_ties and pairs.identical is not None:
            tie |= pairs.identical
        return np.where(tie, 0.5 if self.keep_ties else np.nan, (pairs.gap > 0).astype(np.float64))


def battle_log(pairs: Pairs, rules: Rules) -> BattleLog:
    """Return the pairs that the rules keep, the better output on the left."""
    outcome = rules.outcome(pairs)
    kept = np.flatnonzero(~np.isnan(outcome))
    swap = outcome[kept] == 0
    left, right = pairs.left[kept], pairs.right[kept]
    better = np.where(swap, right, left).astype(np.int32)
    worse = np.where(swap, left, right).astype(np.int32)
    won = np.where(swap, 1.0, outcome[kept])
    unit = pairs.segment[kept]
    return BattleLog(pairs.systems, better, worse, won, units=pairs.segments, unit=unit)


def count_table(pairs: Pairs, rules: Rules) -> Table:
    """Count what the rules keep, and the ties of texts and people."""
    decided, outcome, same = pairs.at_least(rules.threshold), rules.outcome(pairs), pairs.identical
    counts = {
        "pairs": np.ones(len(pairs), dtype=bool),
        "human_ties": pairs.gap == 0,
        "below_threshold": ~decided,
        "decided": decided,
    }
    notes = [f"decided: human scores differ by {rules.threshold:g} or more; human_ties: by nothing"]
    if same is not None:
        counts |= {"identical": same, "identical_decided": same & decided,
                   "decided_not_identical": decided & ~same}  # fmt: skip
        notes.append("identical: both outputs are the same text")
    counts |= {"kept": ~np.isnan(outcome), "kept_ties": outcome == 0.5}
    row = tuple(int(chosen.sum()) for chosen in counts.values())
    return Table("Pairs", tuple(Column(name) for name in counts), (row,), tuple(notes))


class _Darr(Scorer):
    name = "darr"
    expected = "judgements of direct assessment, a table of scores, or pairs (better, worse)"

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        del table
        return form.gives is not Ratings or form is directassessment.FORMAT

    def refuse(self, options: HumanOptions) -> None:
        super().refuse(options)
        if options.threshold is None and options.standardised:
            raise UsageError("name the threshold (threshold=X): 25 is for raw scores")

    def score(self, inputs: Inputs, options: HumanOptions, rng: np.random.Generator) -> HumanScores:
        """Run the protocol: pairs, their counts, and win rates of systems."""
        pairs, scores = self._pairs(inputs, options, rng)
        threshold = CUSTOMARY if options.threshold is None else options.threshold
        rules = Rules(threshold, options.identical_ties, options.keep_ties)
        if rules.identical_ties and pairs.identical is None:
            raise UsageError(
                "identical outputs need texts: give a file with the outputs of systems"
            )
        if not len(pairs):
            raise DegenerateError("no two systems were scored on the same segment")
        tables: dict[str, Table] = {"pairs": count_table(pairs, rules)}
        identical = identical_table(pairs, rules.threshold)
        tables |= {} if identical is None else {"identical": identical}
        result = HumanScores(
            protocol=self.name,
            systems=_win_rates(pairs, rules, scores),
            score="win_rate",
            parts=tables,
            battles=battle_log(pairs, rules),
            more={"threshold": rules.threshold},
            settings={
                "threshold": rules.threshold,
                "identical-ties": options.identical_ties,
                "keep-ties": options.keep_ties,
                "score": "z" if options.standardised else "raw",
            },
            counted="pairs",
        )
        if scores is None:
            return result
        tables["raters"] = scores.parts["raters"]
        return replace(
            result,
            averages=scores.averages,
            agreement=scores.agreement,
            failed_raters=scores.failed_raters,
            removed_raters=scores.removed_raters,
            warnings=scores.warnings,
        )

    def _pairs(
        self, inputs: Inputs, options: HumanOptions, rng: np.random.Generator
    ) -> tuple[Pairs, HumanScores | None]:
        es, human = inputs.scores, options.human
        if isinstance(inputs.judgements, BattleLog):
            return pairs_of_battles(inputs.judgements, es), None
        if isinstance(inputs.judgements, Rankings):
            raise UsageError(f"protocol darr expects {self.expected}, not rankings (protocol rr)")
        if isinstance(inputs.judgements, Ratings):
            z = bool(options.standardised)
            quiet = replace(options, clusters="none", standardised=z)
            scores = DA.rate(inputs.judgements, quiet, rng)
            assert scores.averages is not None
            ids = Segments(scores.averages.segments.ids)  # pairs ask for no documents or domains
            gold = replace(scores.averages, segments=ids).evalset(inputs.files)
            if es is not None:
                gold = join([gold, es.drop(systems=set(es.systems) - set(gold.systems))])
            return pairs_of_scores(gold, scores.score), scores
        if es is None:
            raise self.missing("no judgements")
        if human is None:
            names = ", ".join(es.scores) or "none"
            raise UsageError(f"name the human score (human=NAME); the input has: {names}")
        es[human]
        check_systems(options, es.systems)
        if options.systems is not None:
            es = es.select(systems=options.systems)
        if options.drop_systems:
            es = es.drop(systems=options.drop_systems)
        return pairs_of_scores(es, human), None


DARR = _Darr()


def _win_rates(pairs: Pairs, rules: Rules, scores: HumanScores | None) -> tuple[SystemScore, ...]:
    outcome = rules.outcome(pairs)
    kept = ~np.isnan(outcome)
    size = len(pairs.systems)
    points = group_sums(pairs.left[kept], outcome[kept], size)
    points += group_sums(pairs.right[kept], 1 - outcome[kept], size)
    met = np.bincount(np.concatenate([pairs.left[kept], pairs.right[kept]]), minlength=size)
    share = ratio(points, met)
    by_name = {} if scores is None else {system.system: system for system in scores.systems}
    rated = [by_name.get(name) for name in pairs.systems]
    columns = {
        "score": share,
        "raw": np.array([np.nan if system is None else system.raw for system in rated]),
        "n_segments": np.array([0 if system is None else system.n_segments for system in rated]),
        "n_ratings": met,
    }
    judged = np.flatnonzero(met > 0)
    placed = best_first(share[judged])
    placed = replace(placed, order=judged[placed.order])
    return place_systems(pairs.systems, columns, placed)
