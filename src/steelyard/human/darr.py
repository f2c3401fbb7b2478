"""DARR: pairs of outputs made of human scores, what is lost on the way, and how wide a tie is.

Every two systems that people scored on the same segment are a pair. Three things are equal for
sure: an output that a rater judged twice, an output that two raters judged, and two outputs with
the same text. The threshold of a tie is the difference that at most 5% of them reach.
"""

from __future__ import annotations

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
from steelyard.data.segments import Segments
from steelyard.data.selection import need_moments
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.rawtable import RawTable
from steelyard.human.options import HumanOptions
from steelyard.human.ranking import UNKNOWN, Averages, best_first, outputs
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
    same difference for every metric, ``scores`` the human scores of both sides as they are, and
    ``about`` what is known of the segments.
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
    scores: Floats | None = None  # 2 x pairs
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
    first, second = np.triu_indices(len(values), 1)
    sides = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        shared = np.flatnonzero(~np.isnan(values[i] - values[j]))
        sides.append(np.stack([np.full(len(shared), i), np.full(len(shared), j), shared]))
    sides.append(np.empty((3, 0), np.int64))
    left, right, segment = np.concatenate(sides, axis=1).astype(np.int32)
    identical = _identical(es, left, right, segment)
    return Pairs(
        name=name,
        systems=es.systems,
        segments=es.segments.ids,
        left=left,
        right=right,
        segment=segment,
        gap=_gap(values, left, right, segment),
        identical=identical,
        metric_gap={m: _gap(es[m].oriented, left, right, segment) for m in metrics},
        same=_texts(es, left, segment, identical),
        scores=np.stack([es[human].values[side, segment] for side in (left, right)]),
        about=es.segments,
    )


def pairs_of_battles(
    log: BattleLog, es: EvalSet | None, metrics: Sequence[str] = (), name: str = "all"
) -> Pairs:
    """Take a list of pairs as it stands; texts and metrics come from a set, by name of segment."""
    segments = log.units or ("",)
    unit = np.zeros(len(log), dtype=np.int32) if log.unit is None else log.unit
    identical: Bools | None = None
    gaps: dict[str, Floats] = {}
    same: dict[int, str] = {}
    about: Segments | None = None
    if es is not None:
        row = {system: i for i, system in enumerate(es.systems)}
        column = {segment: i for i, segment in enumerate(es.segments.ids)}
        to_system = np.array([row.get(s, -1) for s in log.systems], dtype=np.int32)
        to_segment = np.array([column.get(s, -1) for s in segments], dtype=np.int32)
        left, right, segment = to_system[log.left], to_system[log.right], to_segment[unit]
        scored = (left >= 0) & (right >= 0) & (segment >= 0)
        if es.outputs:
            identical = np.zeros(len(log), dtype=bool)
            same_text = _identical(es, left[scored], right[scored], segment[scored])
            identical[scored] = False if same_text is None else same_text
            same = _texts(es, left, segment, identical)
        for metric in metrics:
            gaps[metric] = np.full(len(log), np.nan)
            values = es[metric].oriented
            gaps[metric][scored] = _gap(values, left[scored], right[scored], segment[scored])
        about = _described(segments, to_segment, es.segments)
    return Pairs(
        name=name,
        systems=log.systems,
        segments=segments,
        left=log.left,
        right=log.right,
        segment=unit,
        gap=np.asarray(log.outcome) * 2 - 1,
        identical=identical,
        metric_gap=gaps,
        decided=True,
        same=same,
        about=about,
    )


def _gap(values: Floats, left: Codes, right: Codes, segment: Codes) -> Floats:
    gap: Floats = values[left, segment] - values[right, segment]
    return gap


def _identical(es: EvalSet, left: Codes, right: Codes, segment: Codes) -> Bools | None:
    """Compare the texts of every pair; a text that is missing is like no other."""
    if not es.outputs:
        return None
    code: dict[str, int] = {}
    blank = (None,) * es.n_segments
    rows = [es.outputs.get(name, blank) for name in es.systems]
    codes = [[-1 if t is None else code.setdefault(t, len(code)) for t in row] for row in rows]
    texts = np.array(codes, dtype=np.int64)
    first, second = texts[left, segment], texts[right, segment]
    same: Bools = (first == second) & (first >= 0)
    return same


def _texts(es: EvalSet, left: Codes, segment: Codes, identical: Bools | None) -> dict[int, str]:
    """Return the text of every pair of identical ones."""
    rows = () if identical is None else np.flatnonzero(identical).tolist()
    return {k: str(es.outputs[es.systems[left[k]]][segment[k]]) for k in rows}


def _described(names: Sequence[str], at: Codes, about: Segments) -> Segments:
    """Return what a set knows of the segments of a list of pairs."""

    def column(texts: Sequence[str | None] | None) -> tuple[str | None, ...] | None:
        return None if texts is None else tuple(texts[k] if k >= 0 else None for k in at)

    return Segments(
        tuple(names),
        column(about.documents),
        column(about.domains),
        column(about.sources),
        document_column=about.document_column,
    )


def identical_table(sets: Sequence[Pairs], threshold: float) -> Table | None:
    """List the pairs of identical texts of which people said that one is better.

    None where texts are not known. Pairs that differ most stand first.
    """
    if all(pairs.identical is None for pairs in sets):
        return None
    several = len(sets) > 1
    rows: list[tuple[float, tuple[Cell, ...]]] = []
    for pairs in sets:
        keep = pairs.at_least(threshold) & (pairs.gap != 0)
        for k, text in pairs.same.items():
            if keep[k]:
                order = (0, 1) if pairs.gap[k] > 0 else (1, 0)
                sides = [pairs.systems[side[k]] for side in (pairs.left, pairs.right)]
                row: list[Cell] = [pairs.name] if several else []
                row += [pairs.segments[pairs.segment[k]], *(sides[i] for i in order)]
                scores = pairs.scores
                row += [None if scores is None else float(scores[i, k]) for i in order]
                rows.append((-abs(float(pairs.gap[k])), (*row, text)))
    rows.sort(key=lambda row: (row[0], [str(cell) for cell in row[1]]))
    names = ["set"] if several else []
    names += ["segment", "better", "worse", "score_better", "score_worse", "text"]
    n = sum(len(pairs.same) for pairs in sets)
    title = f"Identical outputs of which people decided: {len(rows):,} of {plural(n, 'pair')}"
    columns = tuple(Column(name, mixed=name.startswith("score")) for name in names)
    return Table(title, columns, tuple(row for _, row in rows))


@dataclass(frozen=True, slots=True, eq=False)
class Equals:
    """Differences between numbers that people gave to the same thing, and where each is from.

    ``segment``, ``rater`` and, where two raters differ, ``other`` are codes of the ratings or the
    set that they are from.
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
        """The smallest difference that at most 5 % of these reach; NaN where that can't be told."""
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
    by_rater = (outputs(ratings) * len(ratings.raters) + ratings.rater)[kept]
    a, b = (kept[side] for side in pairs_within(by_rater))
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
    """Return the width of a tie of people, from what is most like a comparison, and its origin.

    Refused where nothing is known to be equal.
    """
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
    found = ", ".join(counts) or "none"
    raise UsageError(
        'threshold="auto" is taken from what is known to be equal (identical texts, outputs with '
        f"two raters, repeats): expected at least {FEWEST_PAIRS} pairs that do not all differ "
        f"most, found {found}"
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


class _Darr(Scorer):
    name = "darr"
    expected = "judgements of direct assessment, a table of scores, or pairs (better, worse)"
    controlled = True

    def takes(self, form: TableFormat, table: RawTable) -> bool:
        del table
        return form.gives is not Ratings or form is directassessment.FORMAT

    def refuse(self, options: HumanOptions) -> None:
        super().refuse(options)
        if options.threshold is None and options.standardised:
            raise UsageError("name the threshold (threshold=X): 25 is for raw scores")

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
        of_sets: dict[str, tuple[Pairs, HumanScores | None]] = {}
        equal: list[Equals] = []
        for (name, inputs), stream in zip(read.items(), rng.spawn(len(read)), strict=True):
            of_sets[name] = self._pairs(name, inputs, chosen[name], stream)
            if isinstance(options.threshold, str):
                equal += _equals(inputs, options, *of_sets[name])
        threshold, warnings = options.threshold, []
        if isinstance(threshold, str):
            threshold, origin = tie_threshold(equal)
            warnings.append(origin)
        threshold = CUSTOMARY if threshold is None else threshold
        rules = Rules(threshold, options.identical_ties, options.keep_ties)
        sets = [pairs for pairs, _ in of_sets.values()]
        scored = [scores for _, scores in of_sets.values() if scores is not None]
        systems: list[SystemScore] = []
        for name, (pairs, scores) in of_sets.items():
            systems += _win_rates(pairs, rules, scores, f"{name}:" if len(read) > 1 else "")
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
            warnings=(*warnings, *dict.fromkeys(w for scores in scored for w in scores.warnings)),
            more={"threshold": rules.threshold},
            counted="pairs",
        )
        if len(sets) > 1 or not scored:
            return result
        (single,) = scored
        tables |= {"raters": single.parts["raters"]} if "raters" in single.parts else {}
        return replace(
            result,
            averages=single.averages,
            agreement=single.agreement,
            failed_raters=single.failed_raters,
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
        scores = HumanScores(self.name, (), human, _averages(es, human))
        return pairs_of_scores(es, human, _metrics(es, human, metrics), name), scores


DARR = _Darr()


def _equals(
    inputs: Inputs, options: HumanOptions, pairs: Pairs, scores: HumanScores | None
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
    judged = {name: _systems(inputs) for name, inputs in read.items()}
    check_systems(options, {system for systems in judged.values() for system in systems})

    def there(wanted: Collection[str], systems: Collection[str]) -> tuple[str, ...]:
        return tuple(system for system in wanted if system in systems)

    return {
        name: replace(
            options,
            systems=None if options.systems is None else there(options.systems, systems),
            drop_systems=there(options.drop_systems, systems),
        )
        for name, systems in judged.items()
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
    pairs: Pairs, rules: Rules, scores: HumanScores | None, prefix: str
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
    by_name = {} if scores is None else {system.system: system for system in scores.systems}
    for i, name in enumerate(pairs.systems):
        if name in by_name:
            raw[i], segments[i] = by_name[name].raw, by_name[name].n_segments
    judged = np.flatnonzero(met > 0)
    columns = {"score": share, "raw": raw, "n_segments": segments, "n_ratings": met}
    base = best_first(share[judged])
    placed = replace(base, order=judged[base.order])
    return place_systems([prefix + name for name in pairs.systems], columns, placed)
