"""What a cell says of a pair of outputs (who is better), or of a single one (a grade, a label)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.data.judgements import Codes, Floats
from steelyard.data.verdicts import MISSING, OF_PAIRS, POINTS_OF_LEFT, UNPARSED
from steelyard.formats.cells import GAPS, parse_number

RIGHT, TIE, LEFT = POINTS_OF_LEFT
_PAIRS = {
    **dict.fromkeys(("left", "model_a", "a", "[[a]]", "a>b", "a>>b", "first", "win"), LEFT),
    **dict.fromkeys(("right", "model_b", "b", "[[b]]", "b>a", "b>>a", "second", "loss"), RIGHT),
    **dict.fromkeys(
        ("tie", "tie (bothbad)", "both_bad", "bothbad", "c", "[[c]]", "a=b", "b=a", "equal",
         "same", "draw"),
        TIE,
    ),
}  # fmt: skip
#: Words for a fail and for a pass, in pairs that go together.
_BINARY = (
    ("fail", "pass"), ("failed", "passed"), ("no", "yes"), ("false", "true"),
    ("incorrect", "correct"), ("wrong", "right"), ("bad", "good"), ("i", "c"), ("0", "1"),
    ("unacceptable", "acceptable"), ("invalid", "valid"), ("unsafe", "safe"),
)  # fmt: skip
_FAILS = {fail for fail, _ in _BINARY}
_PASSES = {word for _, word in _BINARY}
_MOST_LEVELS = 11  # whole numbers up to which grades are categories
_LONGEST = 40  # characters of a label; what is longer is an answer that was not parsed
_RARE = 0.01  # share of a judge's verdicts below which a word that people never use is no label


def is_gap(cell: object) -> bool:
    """Tell whether nothing was said."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and cell.strip() in GAPS


def _number(cell: object) -> float | None:
    if isinstance(cell, bool):
        return float(cell)
    found = parse_number(cell.strip() if isinstance(cell, str) else cell)
    return None if found is None or math.isnan(found) else found


@dataclass(frozen=True, slots=True)
class PairColumn:
    """How the numbers of a column of pairs are meant.

    ``style`` is ``points`` (of the left one, 0 to 1), ``places`` (1 left, 2 right, 0 a tie) or
    ``signs`` (1 left, -1 right, 0 a tie); None where some number is none of these.
    """

    style: str | None

    @classmethod
    def of(cls, cells: Iterable[object]) -> PairColumn:
        """Look through a column.

        Examples
        --------
        >>> [PairColumn.of(cells).style for cells in (["1", "2"], ["0.3", "1"], ["-1", "1"], ["7"])]
        ['places', 'points', 'signs', None]
        """
        found = {number for cell in cells if (number := _number(cell)) is not None}
        if found <= {0.0, 1.0, 2.0} and 2.0 in found:
            return cls("places")
        if found <= {-1.0, 0.0, 1.0} and -1.0 in found:
            return cls("signs")
        return cls("points" if all(0 <= x <= 1 for x in found) else None)

    def points(self, cell: object, left: str | None, right: str | None) -> float | None:
        """Give the points of the left one; None where the cell can't be understood.

        Examples
        --------
        >>> column = PairColumn("places")
        >>> [column.points(cell, "X", "Y") for cell in ("2", "left", "Y", "tie", "sorry")]
        [0.0, 1.0, 0.0, 0.5, None]
        """
        if isinstance(cell, str):
            text = cell.strip()
            if left is not None and text == left:
                return LEFT
            if right is not None and text == right:
                return RIGHT
            word = _PAIRS.get(text.casefold())
            if word is not None:
                return word
        number = _number(cell)
        if number is None or self.style is None:
            return None
        if self.style == "places":
            return {1.0: LEFT, 2.0: RIGHT, 0.0: TIE}[number]
        return (number + 1) / 2 if self.style == "signs" else number


def pair_labels(points: Floats, unread: Sequence[bool]) -> Codes:
    """Give labels of points: who got more than half."""
    half = OF_PAIRS.index("tie")
    said = np.where(points > TIE, OF_PAIRS.index("left"), OF_PAIRS.index("right"))
    found = np.where(np.isnan(points), MISSING, np.where(points == TIE, half, said))
    return np.where(np.asarray(unread, dtype=bool), UNPARSED, found).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Scale:
    """What verdicts on single outputs are: categories with their values, or numbers alone.

    ``words`` are labels in small letters and the place of each category; empty for numbers.
    """

    categories: tuple[str, ...]
    values: tuple[float, ...]  # NaN where a category stands for no number
    words: dict[str, int]
    ordered: bool

    @classmethod
    def of(cls, people: Sequence[Sequence[object]], judges: Sequence[Sequence[object]]) -> Scale:
        """Find the scale that people used; a judge's further labels are categories, too.

        Examples
        --------
        >>> Scale.of([["1", "3", ""]], [["2", "3", "5"]]).categories
        ('1', '2', '3', '5')
        >>> Scale.of([["pass", "fail"]], [["Pass", "FAIL"]]).values
        (0.0, 1.0)
        >>> Scale.of([["0.31", "0.7"]], [["0.4", "1"]]).categories
        ()
        """
        said = [str(cell).strip() for own in people for cell in own if not is_gap(cell)]
        numbers = [_number(cell) for own in people for cell in own if not is_gap(cell)]
        if all(x is not None for x in numbers):
            return cls._of_numbers([x for x in numbers if x is not None], judges)
        small = {word.casefold() for word in said}
        if small <= _FAILS | _PASSES and small & (_FAILS | _PASSES):
            return cls._of_truths(small)
        return cls._of_labels(said, judges)

    @classmethod
    def _of_numbers(cls, numbers: list[float], judges: Sequence[Sequence[object]]) -> Scale:
        levels = set(numbers)
        theirs = [{x for cell in own if (x := _number(cell)) is not None} for own in judges]
        if not _are_levels(levels):
            return cls((), (), {}, ordered=True)
        for own in theirs:
            if _are_levels(levels | own):
                levels |= own
        ordered = sorted(levels)
        names = tuple(str(int(x)) if x.is_integer() else str(x) for x in ordered)
        return cls(names, tuple(ordered), {}, ordered=True)

    @classmethod
    def _of_truths(cls, small: set[str]) -> Scale:
        """Take words for failing and passing, called as people call them."""
        fail, good = next((both for both in _BINARY if set(both) & small), ("fail", "pass"))
        words = {**dict.fromkeys(_FAILS, 0), **dict.fromkeys(_PASSES, 1)}
        return cls((fail, good), (0.0, 1.0), words, ordered=True)

    @classmethod
    def _of_labels(cls, said: Sequence[str], judges: Sequence[Sequence[object]]) -> Scale:
        names = {word.casefold(): word for word in sorted(set(said), reverse=True)}
        for own in judges:
            cells = [str(cell).strip() for cell in own if not is_gap(cell)]
            counts = Counter(cell.casefold() for cell in cells)
            for cell in sorted(set(cells), reverse=True):
                often = counts[cell.casefold()]
                if often > 1 and often >= _RARE * len(cells) and len(cell) <= _LONGEST:
                    names.setdefault(cell.casefold(), cell)
        ordered = sorted(names.values())
        words = {name.casefold(): place for place, name in enumerate(ordered)}
        return cls(tuple(ordered), (math.nan,) * len(ordered), words, ordered=False)

    def read(self, cells: Sequence[object]) -> tuple[Floats, Codes]:
        """Give values and labels of a column; no labels where its numbers are no categories.

        Examples
        --------
        >>> scale = Scale.of([["1", "2", "3"]], [])
        >>> [own.tolist() for own in scale.read(["3", "sorry", None])]
        [[3.0, nan, nan], [2, -2, -1]]
        >>> [own.tolist() for own in scale.read(["2.5", "3", "sorry"])]
        [[2.5, 3.0, nan], [-1, -1, -2]]
        """
        value = np.full(len(cells), np.nan)
        label = np.full(len(cells), MISSING, dtype=np.int32)
        place = {x: n for n, x in enumerate(self.values)}
        numeric = not any(math.isnan(x) for x in self.values)
        fits = bool(self.categories)
        for row, cell in enumerate(cells):
            if is_gap(cell):
                continue
            word = self.words.get(str(cell).strip().casefold())
            number = _number(cell)
            if word is not None:
                label[row], value[row] = word, self.values[word]
            elif number is not None and numeric:
                value[row], label[row] = number, place.get(number, MISSING)
                fits &= number in place
            else:
                label[row] = UNPARSED
        if not fits:
            label = np.where(label == UNPARSED, UNPARSED, MISSING).astype(np.int32)
        return value, label


def _are_levels(numbers: set[float]) -> bool:
    """Tell whether numbers are grades: few, and whole (or halves of nought and one)."""
    if numbers <= {0.0, 0.5, 1.0}:
        return True
    return len(numbers) <= _MOST_LEVELS and all(x.is_integer() for x in numbers)
