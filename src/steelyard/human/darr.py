"""DARR: pairs of outputs made of human scores, what is lost on the way, and how wide a tie is.

Every two systems that people scored on the same segment are a pair. Three things are equal for
sure: an output that a rater judged twice, an output that two raters judged, and two outputs with
the same text. The threshold of a tie is the difference that at most 5% of them reach.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
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
from steelyard.data.segments import Segments, Texts, positions
from steelyard.data.selection import need_moments
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.human.options import HumanOptions
from steelyard.human.ranking import UNKNOWN, Averages, best_first, by_rater, outputs
from steelyard.human.raters import opinions, standardise
from steelyard.human.ratings import DA, check_systems
from steelyard.human.results import HumanScores, SystemScore, place_systems
from steelyard.human.run import Inputs, Scorer
from steelyard.stats.arrays import Counts, group_sums, pairs_within, ratio
from steelyard.stats.spread import SizeCounts

Bools = NDArray[np.bool_]
SHARE = 0.05  # of what is equal, that a threshold may call different
FEWEST_PAIRS = 30  # below which no threshold is taken from them
CUSTOMARY = 25.0  # points between 0 and 100, as shared tasks had it
#: What is equal, by what it is called: most like a comparison of two outputs first.
KINDS = {
    "identical": "two systems' outputs with the same text",
    "raters": "one output by two raters",
    "repeats": "one output twice by the same rater",
}


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

        def texts(names: Texts | None) -> Texts | None:
            return None if names is None else tuple(names[k] if k >= 0 else None for k in column)

        about = es.segments
        beside["about"] = Segments(
            tuple(segments),
            texts(about.documents),
            texts(about.domains),
            texts(about.sources),
            document_column=about.document_column,
        )
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


def identical_table(sets: Sequence[Pairs], threshold: float) -> Table | None:
    """List the pairs of identical texts of which people said that one is better.

    None where texts are not known. Pairs that differ most stand first.
    """
    if all(pairs.identical is None for pairs in sets):
        return None
    rows: list[tuple[Cell, ...]] = []
    for pairs in sets:
        decided = pairs.at_least(threshold) & (pairs.gap != 0)
        for k, text in pairs.same.items():
            if decided[k]:
                better, worse = (0, 1) if pairs.gap[k] > 0 else (1, 0)
                sides = [pairs.systems[side[k]] for side in (pairs.left, pairs.right)]
                scores = (None, None) if pairs.scores is None else pairs.scores[:, k].tolist()
                rows.append((-abs(float(pairs.gap[k])), pairs.name,
                             pairs.segments[pairs.segment[k]], sides[better], sides[worse],
                             scores[better], scores[worse], text))  # fmt: skip
    rows.sort(key=lambda row: (row[0], *map(str, row[1:])))
    names = ["set", "segment", "better", "worse", "score_better", "score_worse", "text"]
    first = 0 if len(sets) > 1 else 1  # the column of the set
    n = sum(len(pairs.same) for pairs in sets)
    title = f"Identical outputs of which people decided: {len(rows):,} of {plural(n, 'pair')}"
    columns = tuple(Column(name, mixed=name.startswith("score")) for name in names[first:])
    return Table(title, columns, tuple(row[first + 1 :] for row in rows))


@dataclass(frozen=True, slots=True, eq=False)
class Equals:
    """Differences between numbers that people gave to the same thing, and where each is from.

    ``segment``, ``rater`` and, where two raters differ, ``other`` are codes of their source.
    """

    kind: str
    difference: Floats
    segment: Counts
    rater: Counts | None = None
    other: Counts | None = None

    def __len__(self) -> int:
        return len(self.difference)

    @property
    def threshold(self) -> float:
        """The smallest difference that at most 5% of these reach; NaN where that can't be told."""
        if len(self) < FEWEST_PAIRS:
            return float("nan")
        sizes = SizeCounts.of(self.difference, np.zeros(len(self), dtype=np.int64), 1)
        return float(sizes.thresholds(np.ones((1, 1)), SHARE)[0])


def of_ratings(ratings: Ratings, value: Floats, rows: NDArray[np.bool_]) -> list[Equals]:
    """List what one rater gave to an output twice, and what two raters gave to it."""
    kept = np.flatnonzero(rows & ~np.isnan(value))
    if ratings.raters == (UNKNOWN,):
        a, b = (kept[side] for side in pairs_within(outputs(ratings)[kept]))
        return [Equals("raters", value[a] - value[b], ratings.segment[a].astype(np.int64))]
    a, b = (kept[side] for side in pairs_within(by_rater(ratings)[kept]))
    segment, rater = (codes[a].astype(np.int64) for codes in (ratings.segment, ratings.rater))
    repeats = Equals("repeats", value[a] - value[b], segment, rater)
    views = opinions(ratings, value, rows)
    a, b = pairs_within(views.unit)
    gap = views.value[a] - views.value[b]
    return [Equals("raters", gap, views.segment[a], views.rater[a], views.rater[b]), repeats]


def of_pairs(pairs: Pairs) -> list[Equals]:
    """List the differences of identical outputs, as pairs of scores have them."""
    if pairs.identical is None or pairs.decided:
        return []
    same = np.flatnonzero(pairs.identical)
    return [Equals("identical", pairs.gap[same], pairs.segment[same].astype(np.int64))]


def tie_threshold(parts: Sequence[Equals]) -> tuple[float, str]:
    """Return the width of a tie of people, from what is most like a comparison, and its origin."""
    counts = []
    for kind, noun in KINDS.items():
        gaps = [part.difference for part in parts if part.kind == kind and len(part)]
        if not gaps:
            continue
        gap = np.concatenate(gaps)
        threshold = Equals(kind, gap, np.zeros(len(gap), dtype=np.int64)).threshold
        if not np.isnan(threshold):
            far = "by so much" if threshold > 0 else "at all, so that any difference decides"
            what = f"{plural(len(gap), 'pair')} of {noun}"
            share = f"at most {100 * SHARE:g}% of {what} differ {far}"
            return threshold, f"threshold {threshold:.4g}: {share}"
        counts.append(f"{len(gap):,} of {noun}")
    raise UsageError(
        'threshold="auto" is taken from what is known to be equal (identical texts, outputs with '
        f"two raters, repeats): expected at least {FEWEST_PAIRS} pairs that do not all differ "
        f"most, found {', '.join(counts) or 'none'}"
    )


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


def count_table(sets: Sequence[Pairs], rules: Rules) -> Table:
    """Count for each set what the rules keep, and the ties of texts, people and metrics.

    Metric ties are counted among the pairs at or above the threshold.
    """
    metrics = list(dict.fromkeys(m for pairs in sets for m in pairs.metric_gap))
    texts = any(pairs.identical is not None for pairs in sets)
    rows: list[dict[str, Cell]] = []
    for pairs in sets:
        decided, outcome, same = (
            pairs.at_least(rules.threshold),
            rules.outcome(pairs),
            pairs.identical,
        )
        counts: dict[str, Bools | None] = {
            "human_ties": pairs.gap == 0, "below_threshold": ~decided, "decided": decided,
        }  # fmt: skip
        if texts and same is None:
            counts |= dict.fromkeys(("identical", "identical_decided", "decided_not_identical"))
        elif same is not None:
            counts |= {"identical": same, "identical_decided": same & decided,
                       "decided_not_identical": decided & ~same}  # fmt: skip
        counts |= {"kept": ~np.isnan(outcome), "kept_ties": outcome == 0.5}
        for metric in metrics:
            gap = pairs.metric_gap.get(metric)
            counts[f"ties:{metric}"] = None if gap is None else decided & (gap == 0)
        cells = {name: None if rows is None else int(rows.sum()) for name, rows in counts.items()}
        rows.append({"set": pairs.name, "pairs": len(pairs), **cells})
    notes = [f"decided: human scores differ by {rules.threshold:g} or more; human_ties: by nothing"]
    notes += ["identical: both outputs are the same text"] if texts else []
    notes += ["ties:METRIC: decided pairs that the metric scores alike"] if metrics else []
    columns = tuple(Column(name) for name in rows[0])
    return Table("Pairs", columns, tuple(tuple(row.values()) for row in rows), tuple(notes))


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

    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        """Run the protocol on one set or several: pairs, their counts, and win rates of systems."""
        chosen = _chosen(read, options)
        sets: list[Pairs] = []
        scored: list[HumanScores | None] = []
        for (name, inputs), stream in zip(read.items(), rng.spawn(len(read)), strict=True):
            pairs, scores = self._pairs(name, inputs, chosen[name], stream)
            sets.append(pairs)
            scored.append(scores)
        threshold, warnings = options.threshold, []
        if isinstance(threshold, str):
            parts = zip(read.values(), sets, scored, strict=True)
            threshold, origin = tie_threshold([e for p in parts for e in _equals(options, *p)])
            warnings.append(origin)
        threshold = CUSTOMARY if threshold is None else threshold
        rules = Rules(threshold, options.identical_ties, options.keep_ties)
        if rules.identical_ties and all(pairs.identical is None for pairs in sets):
            raise UsageError(
                "identical outputs need texts: give a file with the outputs of systems"
            )
        if options.thresholds and all(pairs.decided for pairs in sets):
            raise UsageError("a list of pairs holds no scores: thresholds can't be varied")
        if not any(len(pairs) for pairs in sets):
            raise DegenerateError("no two systems were scored on the same segment")
        systems = [
            system
            for pairs, scores in zip(sets, scored, strict=True)
            for system in _win_rates(pairs, rules, scores, several=len(sets) > 1)
        ]
        tables: dict[str, Table] = {"pairs": count_table(sets, rules)}
        identical = identical_table(sets, rules.threshold)
        tables |= {} if identical is None else {"identical": identical}
        if options.thresholds:
            tables["thresholds"] = threshold_table(sets, options.thresholds)
        notes = (note for scores in scored if scores is not None for note in scores.warnings)
        result = HumanScores(
            protocol=self.name,
            systems=tuple(systems),
            score="win_rate",
            parts=tables,
            battles=battle_log(sets[0], rules) if len(sets) == 1 else None,
            warnings=(*warnings, *dict.fromkeys(notes)),
            more={"threshold": rules.threshold},
            settings={
                "threshold": rules.threshold,
                "identical-ties": options.identical_ties,
                "keep-ties": options.keep_ties,
                "score": "z" if options.standardised else "raw",
            },
            counted="pairs",
        )
        if len(sets) > 1 or scored[0] is None:
            return result
        tables |= {name: table for name, table in scored[0].parts.items() if name == "raters"}
        return replace(
            result,
            averages=scored[0].averages,
            agreement=scored[0].agreement,
            failed_raters=scored[0].failed_raters,
            removed_raters=scored[0].removed_raters,
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
            scores = DA.rate(inputs.judgements, quiet, rng)
            assert scores.averages is not None
            plain = replace(scores.averages, documents=None, domains=None)  # pairs ask for none
            gold = plain.evalset(inputs.files)
            if es is not None:
                gold = join([gold, es.drop(systems=set(es.systems) - set(gold.systems))])
            ties = _metrics(gold, scores.score, metrics)
            return pairs_of_scores(gold, scores.score, ties, name), scores
        if es is None:
            raise self.missing("no judgements")
        if human is None:
            names = ", ".join(es.scores) or "none"
            raise UsageError(f"name the human score (human=NAME); the input has: {names}")
        es[human]
        if options.systems is not None:
            es = es.select(systems=options.systems)
        if options.drop_systems:
            es = es.drop(systems=options.drop_systems)
        matrix = es[human].oriented
        system, segment = (x.astype(np.int32) for x in np.nonzero(~np.isnan(matrix)))
        values = {human: matrix[system, segment]}
        n = np.ones(len(system), dtype=np.int64)
        averages = Averages(es.systems, es.segments.ids, system, segment, n, values)
        pairs = pairs_of_scores(es, human, _metrics(es, human, metrics), name)
        return pairs, HumanScores(self.name, (), human, averages)


DARR = _Darr()


def _equals(
    options: HumanOptions, inputs: Inputs, pairs: Pairs, scores: HumanScores | None
) -> list[Equals]:
    """List what is known to be equal in a set: by its texts, and by its ratings."""
    equals, ratings = of_pairs(pairs), inputs.judgements
    if isinstance(ratings, Ratings) and scores is not None:
        value = standardise(ratings) if options.standardised else ratings.value
        gone = [ratings.raters.index(name) for name in scores.removed_raters]
        rows = ratings.is_item("system", "repeat") & ~np.isin(ratings.rater, gone)
        equals += of_ratings(ratings, value, rows)
    return equals


def _chosen(read: Mapping[str, Inputs], options: HumanOptions) -> dict[str, HumanOptions]:
    """Let each set keep or drop the systems that it has; a name that no set has is an error."""
    judged: dict[str, tuple[str, ...]] = {}
    for name, inputs in read.items():
        source = inputs.scores if inputs.judgements is None else inputs.judgements
        # In a list of pairs there are none to choose from.
        judged[name] = source.systems if isinstance(source, (Ratings, EvalSet)) else ()
    check_systems(options, {system for systems in judged.values() for system in systems})
    chosen = {}
    for name, systems in judged.items():
        keep, drop = options.systems, tuple(s for s in options.drop_systems if s in systems)
        keep = None if keep is None else tuple(system for system in keep if system in systems)
        chosen[name] = replace(options, systems=keep, drop_systems=drop)
    return chosen


def _metrics(es: EvalSet | None, human: str | None, metrics: Collection[str] | None) -> list[str]:
    """Choose whose ties are counted: the named ones, else all that are not called human."""
    if es is None:
        return []
    if metrics is None:
        return [name for name in es.metrics if name != human and es[name].has_segments]
    for name in metrics:
        es[name]
    return sorted(metrics)


def _win_rates(
    pairs: Pairs, rules: Rules, scores: HumanScores | None, *, several: bool
) -> tuple[SystemScore, ...]:
    """Share of kept pairs that each system wins, ties as a half; best first."""
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
    prefix = f"{pairs.name}:" if several else ""
    return place_systems([prefix + name for name in pairs.systems], columns, placed)
