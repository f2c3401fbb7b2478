"""EED and CharacTER: edit distances on characters that let words move.

Both are rates of error between 0 (equal) and 1, lower is better, and the score of a system is the
mean over its segments. Against several references the nearest one counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from steelyard.core.progress import each
from steelyard.core.provenance import installed_version
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.scoring.metric import Scored, chosen_references, nearest, target_language
from steelyard.stats.arrays import Floats

#: EED counts in tenths: equal costs are then equal numbers, and the first of them is meant.
_UNIT = 10
_JUMP, _DELETION, _INSERTION, _COVERAGE = 20, 2, 10, 3  # alpha 2, 0.2, 1 and rho 0.3
_FAR = 1 << 29  # more than any cost
_CELLS = 1 << 16  # numbers in a row of a batch: they stay in the cache
_TITLES = re.compile(r"\b(Dr|Jr|Prof|Rev|Gen|Mr|Mt|Mrs|Ms) \.")
_UNSPACED = ("ja", "zh")  # languages whose words no blanks part
_ABBREVIATIONS = ("e.g.", "i.e.", "U.S.")

Pair = tuple[str, str]


def eed_preprocess(text: str, target: str | None = None) -> str:
    """Prepare a text for EED: marks of punctuation become words, and blanks surround the text.

    Marks within numbers and after titles stay. Japanese and Chinese are not split but normalised
    (NFKC), which turns their marks and digits into common ones.

    Examples
    --------
    >>> eed_preprocess("Dr. Who paid 1,000.50, e.g. twice!")
    ' Dr. Who paid 1,000.50 , e.g. twice ! '
    >>> eed_preprocess("１２億。", "ja")
    '12億。'
    """
    if target in _UNSPACED:
        return unicodedata.normalize("NFKC", text.rstrip())
    text = re.sub(r"([.!?,])", r" \1 ", text.rstrip())
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(\d) ([.,]) (\d)", r"\1\2\3", text)
    text = _TITLES.sub(r"\1.", text)
    for word in _ABBREVIATIONS:
        text = text.replace(" . ".join(word[:-1].split(".")) + " .", word)
    return f" {text.strip()} "


def eed(pairs: Sequence[Pair], target: str | None = None) -> Floats:
    """Extended edit distance (Stanchev et al. 2019) of each (output, reference).

    Reading the reference, one may go through the output character by character, or jump from any
    place to any other where the reference has a blank. A jump costs 2, an insertion or substitution
    1, a character that is passed over 0.2; every character that is never visited, and every visit
    after the first, adds 0.3 to both the cost and the length of the reference by which it is
    divided.

    Examples
    --------
    >>> pairs = [("this is the prediction", "this is the reference"),
    ...          ("here is an other sample", "here is another one")]
    >>> eed(pairs).round(4).tolist()
    [0.3835, 0.2321]
    """
    outputs, references = ([eed_preprocess(pair[k], target) for pair in pairs] for k in range(2))
    result = np.empty(len(pairs))
    order = sorted(range(len(pairs)), key=lambda i: (len(references[i]), len(outputs[i])))
    for part in each(_batches(order, [len(text) for text in outputs])):
        result[part] = _eed_batch([outputs[i] for i in part], [references[i] for i in part])
    return result


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[list[int]]:
    """Cut into runs whose rows of costs, padded to the longest, are of bounded size."""
    part: list[int] = []
    longest = 0
    for i in order:
        longest = max(longest, lengths[i] + 1)
        if part and longest * (len(part) + 1) > _CELLS:
            yield part
            part, longest = [], lengths[i] + 1
        part.append(i)
    if part:
        yield part


def _codes(texts: Sequence[str]) -> NDArray[np.int32]:
    """Give code points, a row for each text, -1 behind its end."""
    codes = np.full((len(texts), max(map(len, texts))), -1, dtype=np.int32)
    for row, text in zip(codes, texts, strict=True):
        row[: len(text)] = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
    return codes


def _eed_batch(outputs: Sequence[str], references: Sequence[str]) -> Floats:
    """Walk along all references at once, with a row of costs for each output."""
    out, ref = _codes(outputs), _codes(references)
    n, width = len(outputs), out.shape[1] + 1
    places, rows = np.arange(width), np.arange(n)
    length = np.array([len(text) for text in outputs])
    steps = np.array([len(text) for text in references])
    beyond = np.where(places > length[:, None], _FAR, 0).astype(np.int32)
    passed = (_DELETION * places).astype(np.int32)
    costs = np.full((n, width), _UNIT, dtype=np.int32)
    costs[:, 0] = 0
    costs += beyond
    visits = np.zeros((n, width), dtype=np.int32)
    final = np.take_along_axis(costs, length[:, None], axis=1)[:, 0]
    for step in range(ref.shape[1]):
        symbol = ref[:, step : step + 1]
        following = costs + np.int32(_INSERTION)
        diagonal = costs[:, :-1] + np.where(out == symbol, 0, _INSERTION).astype(np.int32)
        np.minimum(following[:, 1:], diagonal, out=following[:, 1:])
        # Passing over characters adds up along the row: a running minimum, less what is passed.
        following -= passed
        np.minimum.accumulate(following, axis=1, out=following)
        following += passed
        np.maximum(following, beyond, out=following)
        nearest = following.argmin(axis=1)
        alive = step < steps
        visits[rows[alive], nearest[alive]] += 1
        least = following[rows, nearest]
        jump = np.where(symbol[:, 0] == ord(" "), least + _JUMP, _FAR).astype(np.int32)
        np.minimum(following, jump[:, None], out=following, where=beyond == 0)
        costs = following
        ends = steps == step + 1
        final[ends] = costs[rows[ends], length[ends]]
    missed = np.where(places <= length[:, None], np.abs(visits - 1), 0).sum(axis=1) * _COVERAGE
    with np.errstate(invalid="ignore"):
        rate = (final + missed) / (steps * _UNIT + missed)
    capped: Floats = np.minimum(1.0, rate)
    return capped


def character(pairs: Sequence[Pair]) -> Floats:
    """CharacTER (Wang et al. 2016) of each (output, reference).

    Phrases of the output that stand elsewhere in the reference are moved there, one after the
    other, as long as that brings the words nearer to those of the reference. Then characters are
    edited. Of two blocks that changed places, the one that went to the right is charged with the
    mean length of its words. These costs and the edits of characters (blanks among them) are
    divided by the length of the output; 1 at most. Words match if they are equal, as in the
    authors' program, which may choose another one of several competing moves.

    Examples
    --------
    >>> character([("this is in fact an estimate", "this is actually an estimate")]).tolist()
    [0.25925925925925924]
    >>> character([("bbbb aaaa", "aaaa bbbb"), ("", "a"), ("a", "")]).round(4).tolist()
    [0.4444, 1.0, 1.0]
    """
    found = [_character(output.split(), ref.split()) for output, ref in each(pairs)]
    return np.array(found, np.float64)


def _character(output: list[str], reference: list[str]) -> float:
    if output == reference:
        return 0.0
    if not output:
        return 1.0
    moved = _moved(output, reference)
    edits = Levenshtein.distance(" ".join(moved), " ".join(reference))
    return min(1.0, (_cost_of_moves(output, moved) + edits) / len(" ".join(output)))


def _moved(words: list[str], reference: list[str]) -> list[str]:
    """Move phrases, each time the one after which the fewest words need edits.

    Among equals that is the one with the shortest words, and the leftmost of these.
    """
    # A character for each word: the distance of words is then that of two short texts.
    letters = {word: chr(k) for k, word in enumerate(dict.fromkeys(words + reference))}
    wanted = "".join([letters[word] for word in reference])

    def distance(order: list[str]) -> int:
        return Levenshtein.distance("".join([letters[word] for word in order]), wanted)

    places: dict[str, list[int]] = {}
    for place, word in enumerate(reference):
        places.setdefault(word, []).append(place)
    edits = distance(words)
    shared = sum((Counter(words) & Counter(reference)).values())
    least = max(len(words), len(reference)) - shared  # no order of the words needs fewer edits
    while edits > least:
        best: tuple[int, float] = (edits, 0.0)
        found = words
        for begin, end, place in _moves(words, reference, places):
            rest = words[:begin] + words[end:]
            after = rest[:place] + words[begin:end] + rest[place:]
            key = (distance(after), sum(map(len, words[begin:end])) / (end - begin))
            if key < best:
                best, found = key, after
        if best[0] == edits:
            break
        words, edits = found, best[0]
    return words


def _moves(
    words: list[str], reference: list[str], places: dict[str, list[int]]
) -> Iterator[tuple[int, int, int]]:
    """Give phrases (begin, end) as long as they match, and their place in the reference."""
    for begin, word in enumerate(words):
        for place in places.get(word, ()):
            if place != begin:
                most = min(len(words) - begin, len(reference) - place)
                length = 1
                while length < most and words[begin + length] == reference[place + length]:
                    length += 1
                yield begin, begin + length, place


def _cost_of_moves(before: list[str], after: list[str]) -> float:
    """Charge every phrase that went to the right with the mean length of its words."""
    cost, start, n = 0.0, 0, len(before)
    while start < n:
        length = 0
        if before[start] != after[start]:
            place = next((k for k in range(start + 1, n) if after[k] == before[start]), n)
            while place + length < n and before[start + length] == after[place + length]:
                length += 1
            cost += sum(map(len, before[start : start + length])) / max(length, 1)
        start += max(length, 1)
    return cost


# -- as metrics of a set


def _scored(values: Floats, references: tuple[str, ...], settings: str) -> Scored:
    table = ScoreTable(values, higher_is_better=False, uses=references, direction_given=True)
    signature = f"nrefs:{len(references)}|{settings}|version:steelyard-{installed_version()}"
    return Scored(table, signature)


class Eed:
    """Extended edit distance, see :func:`eed`."""

    name = "eed"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score every output; the nearest reference counts."""
        chosen = chosen_references(es, references)
        target = target_language(es.language_pair)
        values = nearest(es, chosen, partial(eed, target=target))
        words = "nfkc" if target in _UNSPACED else "punctuation"
        return _scored(values, chosen, f"alpha:2.0|rho:0.3|del:0.2|ins:1.0|prep:{words}")


class Character:
    """CharacTER, see :func:`character`."""

    name = "character"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score every output; the nearest reference counts."""
        chosen = chosen_references(es, references)
        return _scored(nearest(es, chosen, character), chosen, "norm:output|match:equal")
