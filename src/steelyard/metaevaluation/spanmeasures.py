"""How well predicted error spans match those that people marked: counts of single outputs.

A measure returns four numbers of an output: what predictions earn and could earn (precision), and
what the marked spans earn and could earn (recall). Sums of them over outputs give micro averages.
Spans are rows (start, end, major) of characters of the output, the end excluded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats, ratio

Spans = NDArray[np.int64]
Counts = tuple[float, float, float, float]
Point = tuple[float, float]
WEIGHTS = (0.2, 1.0)  # of minor and major errors, where severities are weighted


def f_scores(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F of sums of counts (last axis); 1 where nothing is asked for.

    Examples
    --------
    >>> [float(x) for x in f_scores(np.array([3.0, 4.0, 3.0, 6.0]))]
    [0.75, 0.5, 0.6]
    """
    earned, total, found, marked = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    precision = np.where(total > 0, earned / np.where(total > 0, total, 1.0), 1.0)
    recall = np.where(marked > 0, found / np.where(marked > 0, marked, 1.0), 1.0)
    both = precision + recall
    return precision, recall, 2 * precision * recall / np.where(both > 0, both, 1.0)


def detection(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and Matthews' correlation of tp, fp, fn, tn (last axis).

    The correlation is 0 where either side has a single verdict.

    Examples
    --------
    >>> [round(float(x), 3) for x in detection(np.array([6.0, 2.0, 3.0, 9.0]))]
    [0.75, 0.667, 0.492]
    """
    tp, fp, fn, tn = np.moveaxis(np.asarray(sums, dtype=np.float64), -1, 0)
    spread = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    correlation = np.where(spread > 0, (tp * tn - fp * fn) / np.where(spread > 0, spread, 1.0), 0.0)
    return ratio(tp, tp + fp), ratio(tp, tp + fn), correlation


def best_threshold(scores: Floats, clean: Floats) -> float:
    """Return the score from which on outputs are called clean with the best correlation."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)  # of equal scores
    tp = np.cumsum(clean[order])[last]
    called, n, positive = np.flatnonzero(last) + 1.0, float(len(scores)), float(clean.sum())
    fn = positive - tp
    mcc = detection(np.stack([tp, called - tp, fn, n - called - fn], axis=-1))[2]
    return float(scores[order][last][int(np.argmax(mcc))])


def _layers(gold: Spans, pred: Spans) -> tuple[Floats, Floats, Floats]:
    """Cut an output where spans begin and end: lengths, and spans by severity that cover a piece.

    The last two are severities x pieces, of people and of the prediction.
    """
    edges = np.unique(np.concatenate([gold[:, :2], pred[:, :2]]))

    def covering(spans: Spans) -> Floats:
        inside = (spans[:, :1] <= edges[:-1]) & (edges[1:] <= spans[:, 1:2])
        return np.stack([inside[spans[:, 2] == s].sum(axis=0) for s in (0, 1)]).astype(np.float64)

    return np.diff(edges).astype(np.float64), covering(gold), covering(pred)


def wmt25(gold: Spans, pred: Spans) -> Counts:
    """Count characters as often as spans cover them; half of it counts if severities differ."""
    length, g, p = _layers(gold, pred)
    other = np.minimum((g - p).clip(0).sum(axis=0), (p - g).clip(0).sum(axis=0))
    matched = float(length @ (np.minimum(g, p).sum(axis=0) + other / 2))
    return matched, float(length @ p.sum(axis=0)), matched, float(length @ g.sum(axis=0))


def wmt23(gold: Spans, pred: Spans) -> Counts:
    """Count characters once, however many spans cover them; half if no severity is the same."""
    length, g, p = (np.minimum(layer, 1.0) if layer.ndim > 1 else layer
                    for layer in _layers(gold, pred))  # fmt: skip
    marked, said = g.max(axis=0), p.max(axis=0)
    matched = float(length @ ((marked * said + (g * p).max(axis=0)) / 2))
    return matched, float(length @ said), matched, float(length @ marked)


def exact(gold: Spans, pred: Spans) -> Counts:
    """Count spans with the same start and end; each matches one."""
    ends = (Counter(map(tuple, spans[:, :2].tolist())) for spans in (gold, pred))
    matched = float(sum((next(ends) & next(ends)).values()))
    return matched, float(len(pred)), matched, float(len(gold))


def partial(gold: Spans, pred: Spans) -> Counts:
    """Count spans that share a character with another one; each matches one."""
    credit = (_overlaps(gold, pred) > 0).astype(np.float64)
    matched = max(a for a, _ in _matchings(gold, pred, credit, credit))
    return matched, float(len(pred)), matched, float(len(gold))


def partial_credit(gold: Spans, pred: Spans, penalty: float = 0.0) -> Counts:
    """Match spans one to one for the best F: the share of each that the other covers counts.

    Where severities differ, the ``penalty`` is taken off.
    """
    overlap = _overlaps(gold, pred)
    worth = np.where(pred[:, None, 2] == gold[None, :, 2], 1.0, 1.0 - penalty) * overlap
    earned = worth / (pred[:, 1] - pred[:, 0])[:, None]
    points = _matchings(gold, pred, earned, worth / (gold[:, 1] - gold[:, 0])[None, :])
    sums = np.array([(a, len(pred), b, len(gold)) for a, b in points], dtype=np.float64)
    precision, recall, f = f_scores(sums)
    best = np.lexsort((precision, precision + recall, f.round(12)))[-1]
    return tuple(sums[best].tolist())


def weighted_coverage(gold: Spans, pred: Spans) -> Counts:
    """Match all spans with all, by the weight of severities that covers each character.

    At a character, weight of the same severity matches first, then what is left of both; a span
    earns its weight times the mean share of its characters' weight that is matched.
    """
    length, g, p = _layers(gold, pred)
    weight = np.array(WEIGHTS)[:, None]
    g, p = g * weight, p * weight
    same = np.minimum(g, p)
    rest_g, rest_p = g - same, p - same
    other = np.minimum(rest_g.sum(axis=0), rest_p.sum(axis=0))
    edges = np.unique(np.concatenate([gold[:, :2], pred[:, :2]]))

    def earned(spans: Spans, mass: Floats, rest: Floats) -> tuple[float, float]:
        left = rest.sum(axis=0)
        matched = same + rest * (other / np.where(left > 0, left, 1.0))
        share = length * matched / np.where(mass > 0, mass, 1.0)
        inside = (spans[:, :1] <= edges[:-1]) & (edges[1:] <= spans[:, 1:2])
        weights = np.array(WEIGHTS)[spans[:, 2]]
        means = (inside * share[spans[:, 2]]).sum(axis=1) / (spans[:, 1] - spans[:, 0])
        return float(weights @ means), float(weights.sum())

    return *earned(pred, p, rest_p), *earned(gold, g, rest_g)


def _overlaps(gold: Spans, pred: Spans) -> Floats:
    end = np.minimum(pred[:, None, 1], gold[None, :, 1])
    start = np.maximum(pred[:, None, 0], gold[None, :, 0])
    return (end - start).clip(0).astype(np.float64)


def _matchings(gold: Spans, pred: Spans, earned: Floats, found: Floats) -> list[Point]:
    """Return the sums of both credits that no other one-to-one matching beats in both.

    Predictions come in the order of their starts, so that a marked span that ends before is never
    wanted again: few matchings differ in what they leave for later.
    """
    states: dict[frozenset[int], list[Point]] = {frozenset(): [(0.0, 0.0)]}
    ends = gold[:, 1].tolist()
    for i in np.argsort(pred[:, 0], kind="stable").tolist():
        start = int(pred[i, 0])
        partners = np.flatnonzero(earned[i] > 0).tolist()
        reached: dict[frozenset[int], list[Point]] = {}
        for used, points in states.items():
            kept = frozenset(j for j in used if ends[j] > start)
            reached.setdefault(kept, []).extend(points)
            for j in partners:
                if j not in kept:
                    a, b = float(earned[i, j]), float(found[i, j])
                    more = reached.setdefault(kept | {j}, [])
                    more.extend((x + a, y + b) for x, y in points)
        states = {used: _undominated(points) for used, points in reached.items()}
    return _undominated(point for points in states.values() for point in points)


def _undominated(points: Iterable[Point]) -> list[Point]:
    kept: list[Point] = []
    for a, b in sorted(points, reverse=True):
        if not kept or b > kept[-1][1]:
            kept.append((a, b))
    return kept


#: Measures by name, and what they are.
MEASURES: dict[str, tuple[Callable[[Spans, Spans], Counts], str]] = {
    "wmt25": (wmt25, "characters, half credit for another severity (WMT25, WMT26)"),
    "mpp": (partial_credit, "spans one to one, credit for the share that overlaps"),
    "em": (exact, "spans with the same start and end"),
    "mp": (partial, "spans that share a character"),
    "mpp-sev": (
        lambda gold, pred: partial_credit(gold, pred, 0.5),
        "as mpp, half credit for another severity",
    ),
    "mpp-many": (
        weighted_coverage,
        "coverage of all spans by all, a minor error weighs a fifth",
    ),
    "wmt23": (wmt23, "characters that any span covers (WMT23 quality estimation)"),
}


def counts_of(measure: str, gold: Spans, pred: Spans) -> Counts:
    """Return the counts of one output.

    Examples
    --------
    >>> gold, pred = np.array([[8, 20, 0]]), np.array([[14, 20, 0]])
    >>> counts_of("mpp", gold, pred), counts_of("em", gold, pred)
    ((1.0, 1.0, 0.5, 1.0), (0.0, 1.0, 0.0, 1.0))
    """
    if len(gold) and len(pred):
        return MEASURES[measure][0](gold, pred)
    totals = []
    for spans in (pred, gold):
        size = float(len(spans))
        if measure == "mpp-many":
            size = float(np.array(WEIGHTS)[spans[:, 2]].sum())
        elif measure in ("wmt25", "wmt23") and len(spans):
            size = MEASURES[measure][0](spans, spans)[1]
        totals += [0.0, size]
    return tuple(totals)  # type: ignore[return-value]
