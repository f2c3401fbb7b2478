r"""The KoBE score: which entities of a source the translations keep.

An entity counts as often as the source of a segment mentions it, and is kept at most as often as
the output mentions it. Totals over all segments give recall, M / S. Outputs with C mentions, twice
those of the source or more, are penalised by exp(1 - C / 2S). The score is recall times penalty, in
percent. With a reference in place of the source, it is the reference-based score.

No output has to keep a doubtful mention of the source; if it does, this is no addition either. Both
that match and doubtful mentions of the output that match nothing are left out of C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import ShapeError
from steelyard.kobe.mention import Id, Mention
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.corpus import CorpusStatistics

Linked = Sequence[Mention]
#: Which mention of the output (value) each mention of the source (key) is paired with.
Pairs = Mapping[int, int]
Mask = NDArray[np.bool_]
_EPSILON = 1e-12


@dataclass(frozen=True, slots=True)
class Kobe:
    """The score of sums of kept, wanted and mentioned entities.

    Undefined (NaN) where nothing is wanted. With ``rounded`` recall is rounded to two decimals of a
    percent before the penalty, as in the authors' script.
    """

    penalty: bool = True
    rounded: bool = False

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        recall = 100 * _ratio(sums[..., 0], sums[..., 1])
        if self.rounded:
            recall = np.round(recall, 2)
        return recall * count_penalty(sums[..., 2], sums[..., 1]) if self.penalty else recall


def count_penalty(mentioned: Floats, wanted: Floats) -> Floats:
    """Return the entity count penalty: 1 up to twice the entities of the source.

    Examples
    --------
    >>> import numpy as np
    >>> count_penalty(np.array([19, 20, 21, 40]), np.array([10, 10, 10, 10])).round(4).tolist()
    [1.0, 1.0, 0.9512, 0.3679]
    """
    mentioned, wanted = (np.asarray(counts, dtype=np.float64) for counts in (mentioned, wanted))
    return np.exp(np.minimum(0.0, 1 - _ratio(mentioned, 2 * wanted)))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    result: Floats = np.full(np.broadcast_shapes(top.shape, bottom.shape), np.nan)
    np.divide(top, bottom, out=result, where=bottom > _EPSILON)
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """Which mentions of the source each output keeps."""

    systems: tuple[str, ...]
    # Per wanted mention of the source: its segment, the mention, and its index in the segment.
    segment: NDArray[np.int64]
    mention: tuple[Mention, ...]
    place: tuple[int, ...]
    kept: Mask  # systems x mentions; of several equal ones the first are kept
    mentioned: Floats  # systems x segments: mentions of the output, without doubtful ones
    present: Mask  # systems x segments: whether there is an output

    @property
    def n_segments(self) -> int:
        """How many segments there are."""
        return int(self.mentioned.shape[1])

    @property
    def wanted(self) -> Floats:
        """Mentions of the source per segment."""
        return np.bincount(self.segment, minlength=self.n_segments).astype(np.float64)

    def of(self, systems: Sequence[str]) -> Matches:
        """Return the rows of these systems; a system without a row has no outputs."""
        rows = [self.systems.index(name) if name in self.systems else -1 for name in systems]
        edge = ((0, 1), (0, 0))  # a last row of zeros, for systems without outputs
        return replace(
            self,
            systems=tuple(systems),
            kept=np.pad(self.kept, edge)[rows],
            mentioned=np.pad(self.mentioned, edge)[rows],
            present=np.pad(self.present, edge)[rows],
        )

    def per_segment(self, weights: Floats) -> Floats:
        """Sum numbers of systems x mentions over the mentions of each segment."""
        sums = [np.bincount(self.segment, row, minlength=self.n_segments) for row in weights]
        return np.array(sums, dtype=np.float64).reshape(len(weights), self.n_segments)


def match(
    sources: Sequence[Linked],
    outputs: Mapping[str, Sequence[Linked | None]],
    pairs: Mapping[str, Sequence[Pairs]] | None = None,
) -> Matches:
    """Match the mentions of each output with those of the source, or of a reference.

    Best readings are compared, unless there are ``pairs`` of :func:`pair_all`. None is a missing
    output.

    Examples
    --------
    >>> Vienna, Paris = Mention(0, 4, "Wien", "Vienna"), Mention(9, 14, "Paris", "Paris")
    >>> matches = match([(Vienna, Paris, Paris)], {"A": [(Paris,)]})
    >>> matches.kept.tolist(), matches.wanted.tolist(), matches.mentioned.tolist()
    ([[False, True, False]], [3.0], [[1.0]])
    """
    if pairs is None:
        pairs = pair_all(sources, outputs, pair_strictly)
    places = [[i for i, m in enumerate(linked) if not m.doubtful] for linked in sources]
    lengths = [len(indices) for indices in places]
    starts = list(accumulate(lengths, initial=0))
    kept = np.zeros((len(outputs), starts[-1]), dtype=bool)
    mentioned = np.zeros((len(outputs), len(sources)))
    for row, (name, linked) in enumerate(outputs.items()):
        for at, (mentions, paired) in enumerate(zip(linked, pairs[name], strict=True)):
            if not mentions:
                continue
            mentioned[row, at] = len(counting(sources[at], mentions, paired))
            if paired:
                kept[row, starts[at] : starts[at + 1]] = [i in paired for i in places[at]]
    return Matches(
        systems=tuple(outputs),
        segment=np.repeat(np.arange(len(sources)), lengths),
        mention=tuple(
            linked[i] for linked, indices in zip(sources, places, strict=True) for i in indices
        ),
        place=tuple(i for indices in places for i in indices),
        kept=kept,
        mentioned=mentioned,
        present=np.array(
            [[mentions is not None for mentions in linked] for linked in outputs.values()],
            dtype=bool,
        ).reshape(len(outputs), len(sources)),
    )


def counting(wanted: Linked, mentions: Linked, pairs: Pairs) -> list[Mention]:
    """Return the mentions of an output that count: kept or added, and not doubtful.

    A doubtful mention of the source that is not matched may be there by another name, so that one
    addition fewer counts for each.
    """
    owners = {j: wanted[i] for i, j in pairs.items()}
    renamed = sum(mention.doubtful and i not in pairs for i, mention in enumerate(wanted))
    added = [j for j, mention in enumerate(mentions) if j not in owners and not mention.doubtful]
    kept = [j for j, owner in owners.items() if not owner.doubtful]
    return [mentions[j] for j in sorted((*kept, *added[: max(0, len(added) - renamed)]))]


def pair_all(
    sources: Sequence[Linked],
    outputs: Mapping[str, Sequence[Linked | None]],
    pair: Callable[[Linked, Linked], dict[int, int]] | None = None,
) -> dict[str, list[Pairs]]:
    """Pair the mentions of each source with those of each output: per output and segment."""
    pair = pair or pair_candidates
    for system, linked in outputs.items():
        if len(linked) != len(sources):
            n = len(linked)
            raise ShapeError(f"system '{system}' has {n} segments, the source has {len(sources)}")
    return {
        name: [
            pair(wanted, mentions) if wanted and mentions else {}
            for wanted, mentions in zip(sources, linked, strict=True)
        ]
        for name, linked in outputs.items()
    }


def _sure_first(mentions: Linked) -> list[int]:
    return sorted(range(len(mentions)), key=lambda i: mentions[i].doubtful)


def pair_strictly(wanted: Linked, mentions: Linked) -> dict[int, int]:
    """Pair mentions of equal ids, sure ones first."""
    left: dict[Id, list[int]] = {}
    for j in reversed(_sure_first(mentions)):
        left.setdefault(mentions[j].id, []).append(j)
    return {i: left[wanted[i].id].pop() for i in _sure_first(wanted) if left.get(wanted[i].id)}


def pair_candidates(wanted: Linked, mentions: Linked) -> dict[int, int]:
    """Pair as many mentions as possible that share a reading (augmenting paths).

    Equal best readings go first. Doubtful mentions of the source take what the others leave.
    """
    readings: dict[Id, list[int]] = {}
    for j, mention in enumerate(mentions):
        for reading in mention.readings:
            readings.setdefault(reading, []).append(j)
    edges: list[list[int]] = []
    for mention in wanted:
        near = dict.fromkeys(j for reading in mention.readings for j in readings.get(reading, ()))
        if mention.category == "currency":
            # Otherwise dollars would be yuan, since both may be those of Taiwan.
            near = {j: None for j in near if _share_first_reading(mention, mentions[j])}
        ranks = {j: (mentions[j].id != mention.id, mentions[j].doubtful) for j in near}
        edges.append(sorted(ranks, key=ranks.__getitem__))
    taken: dict[int, int] = {}

    def pair(index: int, seen: set[int]) -> bool:
        for j in edges[index]:
            if j not in seen:
                seen.add(j)
                if j not in taken or pair(taken[j], seen):
                    taken[j] = index
                    return True
        return False

    for index in _sure_first(wanted):
        pair(index, set(taken) if wanted[index].doubtful else set())
    return {index: j for j, index in taken.items()}


def _share_first_reading(mention: Mention, other: Mention) -> bool:
    return mention.id in other.readings or other.id in mention.readings


def statistics(
    matches: Matches, formula: Kobe | None = None, signature: str = ""
) -> CorpusStatistics:
    """Return the additive statistics of matches: kept, wanted and mentioned entities."""
    kept = matches.per_segment(matches.kept.astype(np.float64))
    wanted = np.broadcast_to(matches.wanted, kept.shape)
    values = np.stack([kept, wanted, matches.mentioned], axis=-1)
    values = np.where(matches.present[:, :, None], values, np.nan)
    return CorpusStatistics(values, formula or Kobe(), signature=signature)


def segment_scores(stats: CorpusStatistics) -> Floats:
    """Return the recall of each segment, NaN where it is undefined.

    Recall times the wanted mentions adds up to the corpus recall; the penalty is one of totals.
    """
    return np.where(stats.known, Kobe(penalty=False)(stats.values), np.nan)
