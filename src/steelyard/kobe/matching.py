r"""The KoBE score: which of the entities of a source the translations keep.

Per segment an entity counts as often as it is mentioned in the source, and is matched at most as
often as the output mentions it. The totals over all segments make recall, M / S. Outputs with C
mentions, twice those of the source or more, are penalised by exp(1 - C / 2S). The score is recall
times penalty, in percent. With a reference in place of the source, it is the reference-based score.

A doubtful mention of the source is never wanted. It may stand in the output as well, and what it
finds there is no addition: it is left out of C, as are doubtful mentions of the output that nothing
in the source asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, compress

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import DegenerateError, ShapeError, UsageError
from steelyard.kobe.mention import Id, Mention
from steelyard.kobe.options import Matching, Measure
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.corpus import CorpusStatistics

Linked = Sequence[Mention]
#: Which mention of the output (value) each mention of the source (key) is paired with.
Pairs = Mapping[int, int]
Mask = NDArray[np.bool_]
_EPSILON = 1e-12


@dataclass(frozen=True, slots=True)
class Kobe:
    """The score of sums (matched and wanted by weight; matched, wanted and found as counts).

    Undefined (NaN) where nothing is wanted. ``measure`` is ``recall``, ``precision`` (matched
    among found, no penalty; undefined where nothing is found) or ``f``, their harmonic mean
    (undefined only where nothing is wanted or found). With ``rounded`` recall is rounded
    to two decimals of a percent before the penalty, as in the script of the method's authors.

    Examples
    --------
    >>> import numpy as np
    >>> Kobe()(np.array([[6, 8, 6, 8, 12], [6, 8, 6, 8, 24]])).round(3).tolist()
    [75.0, 45.49]
    >>> Kobe(measure="precision")(np.array([6, 8, 6, 8, 12])).tolist()
    50.0
    >>> Kobe(measure="f")(np.array([6, 8, 6, 8, 12])).tolist()
    60.0
    """

    penalty: bool = True
    rounded: bool = False
    measure: Measure = "recall"

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 5

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        kept, wanted = sums[..., 0], sums[..., 1]
        precision = 100 * _ratio(sums[..., 2], sums[..., 4])
        if self.measure == "precision":
            return precision
        recall = 100 * _ratio(kept, wanted)
        if self.measure == "f":
            mean = _ratio(2 * recall * precision, recall + precision)
            # Nothing in common is 0, also where one side has no entity at all.
            apart = (sums[..., 2] == 0) & (sums[..., 3] + sums[..., 4] > 0)
            return np.where(apart, 0.0, mean)
        if self.rounded:
            recall = np.round(recall, 2)
        return recall * count_penalty(sums[..., 4], sums[..., 3]) if self.penalty else recall


def count_penalty(found: Floats, wanted: Floats) -> Floats:
    """Entity count penalty: 1 up to twice the entities of the source, then exp(1 - C / 2S).

    Examples
    --------
    >>> import numpy as np
    >>> count_penalty(np.array([19, 20, 21, 40]), np.array([10, 10, 10, 10])).round(4).tolist()
    [1.0, 1.0, 0.9512, 0.3679]
    """
    ratio = _ratio(np.asarray(found, dtype=np.float64), 2 * np.asarray(wanted, dtype=np.float64))
    return np.exp(np.minimum(0.0, 1 - ratio))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    result: Floats = np.full(np.broadcast_shapes(top.shape, bottom.shape), np.nan)
    np.divide(top, bottom, out=result, where=bottom > _EPSILON)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Which mentions of the source each output keeps.

    Parameters
    ----------
    systems
        Names of the outputs.
    segment, mention, place
        Per mention of the source that is wanted, in order: its segment, the mention itself, and its
        place among all mentions of the segment.
    kept
        Systems x mentions: whether the output has it (of several equal ones the first are kept).
    found
        Systems x segments: how many mentions the output has, but for doubtful ones.
    known
        Systems x segments: whether there is an output.
    """

    systems: tuple[str, ...]
    segment: NDArray[np.int64]
    mention: tuple[Mention, ...]
    place: tuple[int, ...]
    kept: Mask
    found: Floats
    known: Mask

    @property
    def n_segments(self) -> int:
        """How many segments there are, with entities or without."""
        return int(self.found.shape[1])

    @property
    def wanted(self) -> Floats:
        """Mentions of the source per segment."""
        return np.bincount(self.segment, minlength=self.n_segments).astype(np.float64)

    @property
    def n_without_entities(self) -> int:
        """Segments whose source has no entity; they say nothing about recall."""
        return int((self.wanted == 0).sum())

    def of(self, systems: Sequence[str]) -> Matches:
        """Give the rows of these outputs; one that is not there has no outputs.

        Examples
        --------
        >>> a = Mention(0, 1, "a", "a")
        >>> found = match([(a,)], {"X": [(a,)], "Y": [()]}).of(["Z", "X"])
        >>> found.kept.tolist(), found.known.tolist()
        ([[False], [True]], [[False], [True]])
        """
        rows = [self.systems.index(name) if name in self.systems else -1 for name in systems]
        return replace(
            self,
            systems=tuple(systems),
            # The last row is that of what is not there.
            kept=np.pad(self.kept, ((0, 1), (0, 0)))[rows],
            found=np.pad(self.found, ((0, 1), (0, 0)))[rows],
            known=np.pad(self.known, ((0, 1), (0, 0)))[rows],
        )

    def only(self, wanted: Callable[[Mention], bool]) -> Matches:
        """Give the mentions that a condition holds for; outputs have what they have."""
        mask = np.array([wanted(mention) for mention in self.mention], dtype=bool)
        return replace(
            self,
            segment=self.segment[mask],
            mention=tuple(compress(self.mention, mask)),
            place=tuple(compress(self.place, mask)),
            kept=self.kept[:, mask],
        )

    def per_segment(self, weights: Floats) -> Floats:
        """Sum a number per system and mention over the mentions of each segment."""
        sums = [np.bincount(self.segment, row, minlength=self.n_segments) for row in weights]
        return np.array(sums, dtype=np.float64).reshape(len(weights), self.n_segments)


def match(
    sources: Sequence[Linked],
    outputs: Mapping[str, Sequence[Linked | None]],
    matching: Matching = "strict",
    pairs: Mapping[str, Sequence[Pairs]] | None = None,
) -> Matches:
    """Match the mentions of each output with those of the source, or of a reference.

    Strict matching compares best readings; ``candidates`` pairs as many mentions as possible that
    share a reading. None stands for a missing output. ``pairs`` are those of :func:`pair_all`,
    where they are known already.

    Examples
    --------
    >>> Vienna, Paris = Mention(0, 4, "Wien", "Vienna"), Mention(9, 14, "Paris", "Paris")
    >>> found = match([(Vienna, Paris, Paris)], {"A": [(Paris,)]})
    >>> found.kept.tolist(), found.wanted.tolist(), found.found.tolist()
    ([[False, True, False]], [3.0], [[1.0]])
    >>> perhaps = match([(Vienna._replace(doubtful=True),)], {"A": [(Vienna, Paris)]})
    >>> perhaps.wanted.tolist(), perhaps.found.tolist()
    ([0.0], [[1.0]])
    """
    if pairs is None:
        pairs = pair_all(sources, outputs, matching)
    places = [[i for i, m in enumerate(linked) if not m.doubtful] for linked in sources]
    mentions = tuple(linked[i] for linked, own in zip(sources, places, strict=True) for i in own)
    lengths = [len(own) for own in places]
    segment = np.repeat(np.arange(len(sources)), lengths)
    starts = list(accumulate(lengths, initial=0))
    kept = np.zeros((len(outputs), len(mentions)), dtype=bool)
    found = np.zeros((len(outputs), len(sources)))
    for row, (name, own) in enumerate(outputs.items()):
        for at, (there, paired) in enumerate(zip(own, pairs[name], strict=True)):
            if not there:
                continue
            found[row, at] = len(counting(sources[at], there, paired))
            if paired:
                kept[row, starts[at] : starts[at + 1]] = [i in paired for i in places[at]]
    known = np.array([[m is not None for m in own] for own in outputs.values()], dtype=bool)
    flat = tuple(i for own in places for i in own)
    return Matches(tuple(outputs), segment, mentions, flat, kept, found, known.reshape(found.shape))


def counting(wanted: Linked, there: Linked, pairs: Pairs) -> list[Mention]:
    """Give the mentions of an output that count: kept, or added.

    What is doubtful on either side says nothing. What is doubtful in the source and not found again
    may be there by another name: as many others of the output, the last ones, say nothing either.

    Examples
    --------
    >>> a, b = Mention(0, 1, "a", "a"), Mention(2, 3, "b", "b")
    >>> [m.text for m in counting((a._replace(doubtful=True),), (a, b), {0: 0})]
    ['b']
    >>> counting((a._replace(doubtful=True),), (b,), {})
    []
    """
    owners = {j: wanted[i] for i, j in pairs.items()}
    renamed = sum(mention.doubtful and i not in pairs for i, mention in enumerate(wanted))
    added = [j for j, mention in enumerate(there) if j not in owners and not mention.doubtful]
    kept = [j for j, owner in owners.items() if not owner.doubtful]
    return [there[j] for j in sorted((*kept, *added[: max(0, len(added) - renamed)]))]


def pair_all(
    sources: Sequence[Linked],
    outputs: Mapping[str, Sequence[Linked | None]],
    matching: Matching = "candidates",
) -> dict[str, list[Pairs]]:
    """Pair the mentions of each source with those of each output: per output and segment."""
    pairings: dict[str, Callable[[Linked, Linked], dict[int, int]]] = {
        "strict": _strict,
        "candidates": pair_candidates,
    }
    if matching not in pairings:
        raise UsageError(f"unknown matching '{matching}'; known: candidates, strict")
    pair = pairings[matching]
    for system, own in outputs.items():
        if len(own) != len(sources):
            raise ShapeError(
                f"system '{system}' has {len(own)} segments, the source has {len(sources)}"
            )
    nothing: Pairs = {}
    return {
        name: [
            pair(wanted, there) if wanted and there else nothing
            for wanted, there in zip(sources, own, strict=True)
        ]
        for name, own in outputs.items()
    }


def _sure_first(mentions: Linked) -> Sequence[int]:
    order = range(len(mentions))
    if any(m.doubtful for m in mentions):
        return sorted(order, key=lambda i: mentions[i].doubtful)
    return order


def _strict(wanted: Linked, there: Linked) -> dict[int, int]:
    """Pair mentions of equal ids: each takes one of the output, the sure ones first."""
    left: dict[Id, list[int]] = {}
    for j in reversed(_sure_first(there)):
        left.setdefault(there[j].id, []).append(j)
    kept = {}
    for index in _sure_first(wanted):
        own = left.get(wanted[index].id)
        if own:
            kept[index] = own.pop()
    return kept


def pair_candidates(wanted: Linked, there: Linked) -> dict[int, int]:
    """Pair as many mentions as possible that share a reading (augmenting paths).

    Equal best readings go first, so that a pair by second readings never takes their place.
    Doubtful mentions of the source take what the others leave.
    """
    readings: dict[Id, list[int]] = {}
    for index, mention in enumerate(there):
        for reading in mention.readings:
            readings.setdefault(reading, []).append(index)
    edges = []
    for mention in wanted:
        near = [j for reading in mention.readings for j in readings.get(reading, ())]
        if mention.category == "currency":
            near = [j for j in near if _one_money(mention, there[j])]
        own = dict.fromkeys(near)
        edges.append(
            sorted(own, key=lambda j, m=mention: (there[j].id != m.id, there[j].doubtful))  # type: ignore[misc]
        )
    taken: dict[int, int] = {}

    def place(index: int, seen: set[int]) -> bool:
        for j in edges[index]:
            if j not in seen:
                seen.add(j)
                if j not in taken or place(taken[j], seen):
                    taken[j] = index
                    return True
        return False

    for index in _sure_first(wanted):
        place(index, set(taken) if wanted[index].doubtful else set())
    return {index: j for j, index in taken.items()}


def _one_money(one: Mention, other: Mention) -> bool:
    """Tell whether the first reading of one currency is among those of the other.

    Otherwise dollars would be a yuan's worth, since both may be those of Taiwan.

    Examples
    --------
    >>> yuan = Mention(0, 1, "元", "CNY", "currency", candidates=("CNY", "HKD", "TWD"))
    >>> dollar = Mention(0, 1, "$", "USD", "currency", candidates=("USD", "HKD", "TWD"))
    >>> _one_money(yuan, dollar), _one_money(yuan, Mention(0, 3, "HK$", "HKD", "currency"))
    (False, True)
    """
    return one.id in other.readings or other.id in one.readings


def consensus_weights(matches: Matches) -> Floats:
    """Weigh each mention, for each system, by the share of other systems that keep it.

    What no other system keeps is most likely a fault of the linker, or hard to keep at all; it
    says little about one system. Needs three systems.

    Examples
    --------
    >>> a = Mention(0, 1, "a", "a")
    >>> b = Mention(2, 3, "b", "b")
    >>> found = match([(a, b)], {"X": [(a,)], "Y": [(a, b)], "Z": [(a,)]})
    >>> consensus_weights(found).tolist()
    [[1.0, 0.5], [1.0, 0.0], [1.0, 0.5]]
    """
    n = len(matches.systems)
    if n < 3:
        raise DegenerateError(f"consensus weights need three systems or more, there are {n}")
    kept = matches.kept.astype(np.float64)
    there = matches.known[:, matches.segment].astype(np.float64)
    others = there.sum(axis=0) - there
    total: Floats = np.zeros_like(kept)
    np.divide(kept.sum(axis=0) - kept, others, out=total, where=others > 0)
    return total


def statistics(
    matches: Matches,
    formula: Kobe | None = None,
    weights: Floats | None = None,
    signature: str = "",
) -> CorpusStatistics:
    """Make the additive statistics of matches: systems x segments x 5.

    They are mentions kept and wanted by weight, then kept, wanted and found as plain counts.

    Examples
    --------
    >>> a = Mention(0, 1, "a", "a")
    >>> b = Mention(2, 3, "b", "b")
    >>> stats = statistics(match([(a, b), ()], {"X": [(a,), (a,)], "Y": [(), None]}))
    >>> stats.values.tolist()[0]
    [[1.0, 2.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 0.0, 1.0]]
    >>> stats.corpus_scores().tolist()
    [50.0, 0.0]
    """
    kept = matches.kept.astype(np.float64)
    counted = matches.per_segment(kept)
    wanted = np.broadcast_to(matches.wanted, counted.shape)
    if weights is None:
        weighted, needed = counted, wanted
    else:
        weighted, needed = matches.per_segment(kept * weights), matches.per_segment(weights)
    values = np.stack([weighted, needed, counted, wanted, matches.found], axis=-1)
    values = np.where(matches.known[:, :, None], values, np.nan)
    return CorpusStatistics(values, formula or Kobe(), signature=signature)


def segment_scores(stats: CorpusStatistics) -> Floats:
    """Give the recall (precision, F) of each segment, NaN where there is nothing to measure it on.

    Recall times the weight of the wanted mentions adds up to the corpus recall; the penalty is one
    of totals and takes no part.
    """
    formula = stats.combine
    assert isinstance(formula, Kobe)
    plain = Kobe(penalty=False, measure=formula.measure)
    return np.where(stats.known, plain(stats.values), np.nan)
