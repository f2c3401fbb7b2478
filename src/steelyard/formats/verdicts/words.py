"""What a verdict says: who won a pair of outputs, or the grade of a single one.

Battle logs and tables of judges share this vocabulary. Outcomes are points of the left side: 1 for
a win, 0.5 for a tie, 0 for a loss, or a probability.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from steelyard.core.text import listed
from steelyard.data.judgements import Codes, Floats
from steelyard.data.verdicts import MISSING, POINTS_OF_LEFT, UNPARSED, Bools
from steelyard.formats.cells import GAPS, brief, parse_number
from steelyard.stats.distributions import bdtr

Key = TypeVar("Key")
RIGHT, TIE, LEFT = POINTS_OF_LEFT
NAMES = "names"  # in the place of words: verdicts name the system that won
_WORDS = {
    **dict.fromkeys(("left", "a", "first", "win", "won", "a>b", "a>>b", "b<a", "b<<a"), LEFT),
    **dict.fromkeys(
        ("right", "b", "second", "loss", "lose", "lost", "b>a", "b>>a", "a<b", "a<<b"), RIGHT
    ),
    **dict.fromkeys(
        ("tie", "tied", "draw", "c", "a=b", "b=a", "equal", "same", "bothbad", "tiebothbad",
         "bothgood", "tiebothgood", "both", "neither", "equallygood", "equallybad"),
        TIE,
    ),
}  # fmt: skip
_OF_COLUMNS = re.compile(r"(?:model|system|assistant|response|answer|output|option)([ab12])")
_SIDES = {"a": LEFT, "1": LEFT, "b": RIGHT, "2": RIGHT}
#: What the column of a documented format holds: points of the left side.
_POINTS = frozenset(("outcome", "points", "score", "probability", "prob"))
EXPECTED = "left, right, tie, model_a, model_b, A, B, C, A>B, 1, 2, 0, a system or points in 0..1"
#: Words for a fail and for a pass, in pairs that go together.
_BINARY = (
    ("fail", "pass"), ("failed", "passed"), ("no", "yes"), ("false", "true"),
    ("incorrect", "correct"), ("wrong", "right"), ("bad", "good"), ("i", "c"), ("0", "1"),
    ("unacceptable", "acceptable"), ("invalid", "valid"), ("unsafe", "safe"),
)  # fmt: skip
_FAILS = {fail for fail, _ in _BINARY}
_PASSES = {word for _, word in _BINARY}
#: Words for a verdict that could not be had, which nobody need be asked about.
_NO_ANSWER = frozenset(
    ("error", "invalid", "unparsed", "unparsable", "refused", "refusal", "failed", "unknown",
     "skip", "skipped", "no verdict", "?")
)  # fmt: skip
_OUT_OF = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*([0-9]+)")
_SURE = 0.01  # p-value below which the data contradict the usual reading of swapped orders
_MOST_LEVELS = 11  # whole numbers up to which grades are categories
_LONGEST = 40  # characters of a label; what is longer is an answer that was not parsed
_SLIPS = 0.05  # share of words up to which a person's numbers are numbers with slips
_RARE = 0.01  # share of a judge's verdicts below which a word that people never use is no label


def is_gap(cell: object) -> bool:
    """Tell whether a cell is empty."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return True
    return isinstance(cell, str) and cell.strip() in GAPS


def _number(cell: object) -> float | None:
    if isinstance(cell, bool):
        return float(cell)
    number = parse_number(cell.strip() if isinstance(cell, str) else cell)
    return number if number is not None and math.isfinite(number) else None


def _numbers(cells: Iterable[object]) -> set[float]:
    return {number for cell in set(cells) if (number := _number(cell)) is not None}


def filled(cells: Sequence[Any]) -> tuple[list[int], list[Any]]:
    """Return the rows that are not empty, and their cells; lists and objects as text."""
    cells = [brief(cell) if isinstance(cell, (list, dict, set)) else cell for cell in cells]
    gaps = {cell for cell in set(cells) if is_gap(cell)}
    rows = [row for row, cell in enumerate(cells) if cell not in gaps]
    values = [cells[row] for row in rows]
    return rows, _graded([cell.strip() if isinstance(cell, str) else cell for cell in values])


def _graded(cells: list[Any]) -> list[Any]:
    """Read 4/5 as 4 in a column whose grades all are out of the same number."""
    texts = {cell for cell in set(cells) if isinstance(cell, str)}
    parts = {cell: match for cell in texts if (match := _OUT_OF.fullmatch(cell))}
    shares = [part for cell in cells if (part := parts.get(cell)) is not None]
    if 2 * len(shares) < max(len(cells), 1) or len({part[2] for part in shares}) > 1:
        return cells
    if _numbers(cells) or any(float(part[1]) > float(part[2]) for part in shares):
        return cells
    return [parts[cell][1] if cell in parts else cell for cell in cells]


def _key(word: str) -> str:
    """Write a word as the vocabulary has it: no brackets, blanks or underscores."""
    return re.sub(r"[\s_\-()\[\]]+", "", word.casefold())


def _typed(cell: object) -> str:
    number = _number(cell)
    whole = number is not None and number.is_integer()
    return str(int(number)) if whole and number is not None else str(cell).strip()


def word_points(cell: object) -> float | None:
    """Return the points of the left side that a word says, whatever column it is in."""
    if not isinstance(cell, str):
        return None
    key = _key(cell)
    side = _OF_COLUMNS.fullmatch(key)
    return _SIDES[side[1]] if side else _WORDS.get(key)


def says_verdict(word: str) -> bool:
    """Tell whether a word is a verdict wherever it stands; single letters may be names, too."""
    small = word.strip().casefold()
    return len(small) > 1 and (
        word_points(small) is not None or small in _FAILS or small in _PASSES
    )


def is_of_pairs(word: str) -> bool:
    """Tell whether a word can only be about a pair of outputs."""
    key = _key(word)
    return key in ("left", "right", "tie", "bothbad", "tiebothbad") or key.startswith("model")


def _names_column(cell: object) -> bool:
    """Tell whether a verdict names a column of systems (``model_a``), not a side shown."""
    return isinstance(cell, str) and _OF_COLUMNS.fullmatch(_key(cell)) is not None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the cells of one column of outcomes are read.

    ``digits`` is ``points`` (of the left side, 0 to 1), ``sides`` (1 left, 2 right, 0 a tie),
    ``signs`` (1 left, -1 right, 0 a tie), ``open`` where 0 could be a loss or a tie, ``thirds``
    where 0 could be the left side or a tie, ``any`` where no number tells, or None where some
    number is none of these. ``words`` are the user's words for left, right and tie, which come
    before all others; in small letters, too, unless two differ in nothing else.
    """

    digits: str | None
    names: bool = True  # the name of a system says that it won
    words: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, cells: Iterable[object], column: str = "", words: Sequence[str] = ()) -> Outcomes:
        """Look through a column; a word for ties in it says that 0 is none."""
        distinct = set(cells)
        numbers = _numbers(distinct)
        meant = list(zip(words, (LEFT, RIGHT, TIE), strict=False))
        meaning = {word.casefold(): points for word, points in meant} | dict(meant)
        if numbers <= {0.0, 1.0}:
            has_ties = any(word_points(cell) == TIE for cell in distinct)
            documented = not _POINTS.isdisjoint(re.split(r"[\W_]+", column.casefold()))
            sure = "points" if has_ties or documented else "any" if "0" in meaning else "open"
            digits: str | None = sure if 0.0 in numbers else "any"
        elif numbers <= {0.0, 1.0, 2.0}:
            digits = "thirds" if 0.0 in numbers and "0" not in meaning else "sides"
            digits = digits if meaning.get("0", TIE) == TIE else None
        elif numbers <= {-1.0, 0.0, 1.0}:
            digits = "signs"
        else:
            digits = "points" if all(0 <= number <= 1 for number in numbers) else None
        return cls(digits, words=meaning)

    def chosen(self, cell: object) -> float | None:
        """Return the points that the user said a cell means."""
        if not self.words:
            return None
        word = _typed(cell)
        return self.words.get(word, self.words.get(word.casefold()))

    def point(self, cell: object) -> float | None:
        """Return the points of the left side that a cell says; None if it is not understood."""
        for word in (self.chosen(cell), word_points(cell)):
            if word is not None:
                return word
        number = _number(cell)
        if number is None or self.digits is None:
            return None
        if self.digits in ("sides", "thirds"):
            return {1.0: LEFT, 2.0: RIGHT, 0.0: TIE}.get(number)
        if self.digits == "signs":
            return (number + 1) / 2
        return number if 0 <= number <= 1 else None

    def points(
        self, cells: Sequence[Any], left: Sequence[str | None], right: Sequence[str | None]
    ) -> tuple[Floats, Bools]:
        """Return points of the left side, NaN if not understood, and which cells name a system."""
        distinct = set(cells)
        meaning = {
            cell: math.nan if (point := self.point(cell)) is None else point for cell in distinct
        }
        points = np.array([meaning[cell] for cell in cells], dtype=np.float64)
        by_name = np.zeros(len(cells), dtype=bool)
        if self.names and not (distinct.isdisjoint(left) and distinct.isdisjoint(right)):
            for row, cell in enumerate(cells):
                if cell in (left[row], right[row]) and self.chosen(cell) is None:
                    points[row] = LEFT if cell == left[row] else RIGHT
                    by_name[row] = True
        return points, by_name


class WordColumn(NamedTuple):
    """Outcomes in the words of one log, judge or annotator, and the systems of each cell."""

    name: str
    cells: Sequence[Any]
    left: Sequence[str | None]
    right: Sequence[str | None]

    @property
    def names_systems(self) -> bool:
        """Whether any cell is the name of a system."""
        distinct = set(self.cells)
        return not (distinct.isdisjoint(self.left) and distinct.isdisjoint(self.right))

    def evidence(self, outcomes: Outcomes) -> tuple[str | None, bool, bool]:
        """Return a cell that means different winners as a name and as a word, None if none does.

        And whether cells can only be names, and whether some can only be words: those outside
        their own pair.
        """
        rows = set(zip(self.cells, self.left, self.right, strict=True))
        systems = {name for _, left, right in rows for name in (left, right) if name is not None}
        clash, for_names, for_sides = None, False, False
        for cell, left, right in rows:
            word, in_pair = outcomes.point(cell), cell in (left, right)
            if outcomes.chosen(cell) is not None:
                continue
            for_names |= in_pair and word is None
            like_a_name = cell in systems or len(str(cell)) == 1
            for_sides |= like_a_name and not in_pair and word is not None
            if in_pair and word is not None and word != (LEFT if cell == left else RIGHT):
                clash = min(str(cell), clash or str(cell))
        return clash, for_names, for_sides


def agreed(
    columns: Mapping[Key, WordColumn], words: Sequence[str], ask: Callable[[str], None]
) -> dict[Key, Outcomes]:
    """Find how the words of several columns are meant: what one leaves open, others decide."""
    by_name = tuple(words) == (NAMES,)
    outcomes = {
        key: Outcomes.of(column.cells, column.name, () if by_name else words)
        for key, column in columns.items()
    }
    thirds = [key for key, column in outcomes.items() if column.digits == "thirds"]
    if thirds:
        ask(f"column '{columns[thirds[0]].name}' {_ASK_THIRDS}")
    sure = [o.digits for o in outcomes.values() if o.digits in ("points", "sides", "signs")]
    vague = [key for key, column in outcomes.items() if column.digits == "open"]
    if vague and not sure:
        ask(f"column '{columns[vague[0]].name}' {_ASK_DIGITS}")
    outcomes |= {key: replace(outcomes[key], digits=[*sure, "open"][0]) for key in vague}
    if by_name or not any(column.names_systems for column in columns.values()):
        return outcomes
    evidence = {key: column.evidence(outcomes[key]) for key, column in columns.items()}
    anywhere = [any(shown[k] for shown in evidence.values()) for k in (1, 2)]
    for key, (clash, *shown) in evidence.items():
        for_names, for_sides = anywhere if shown[0] == shown[1] else shown
        if clash is not None and for_names == for_sides:
            ask(f"column '{columns[key].name}': '{clash}' {_ASK_NAMES}")
        outcomes[key] = replace(outcomes[key], names=clash is None or for_names)
    return outcomes


_ASK_DIGITS = (
    'holds only 0 and 1: words=["1", "0"] if 0 says that the right one won, '
    'words=["1", "2", "0"] if it is a tie'
)
_ASK_THIRDS = (
    'holds 0, 1 and 2: words=["0", "1", "2"] if 0 says that the left one won, 1 the right one and '
    '2 a tie, words=["1", "2", "0"] if 0 is a tie, 1 the left one and 2 the right one'
)
_ASK_NAMES = (
    f'is a system and a word for a side: words=["{NAMES}"] if verdicts name systems, '
    'words=["A", "B", "C"] if A is the left one, B the right one and C a tie'
)


def unknown_words(column: WordColumn, points: Floats, least: float) -> str | None:
    """Ask what words mean that are not understood, if each is at least a share of all cells."""
    cells = column.cells
    counts = Counter(_typed(cells[row]) for row in np.flatnonzero(np.isnan(points)).tolist())
    words = [word for word, n in counts.items() if n > 1 and n >= least * len(cells)
             and len(word) <= _LONGEST and word.casefold() not in _NO_ANSWER]  # fmt: skip
    if not words:
        return None
    known = {point: str(cell) for cell in cells if (point := word_points(cell)) is not None}
    if len(words) == 1 and {LEFT, RIGHT} <= known.keys():
        known[TIE] = words[0]
    usual = ((LEFT, "LEFT"), (RIGHT, "RIGHT"), (TIE, "TIE"))
    named = ", ".join(f'"{known.get(point, word)}"' for point, word in usual)
    shown = listed([f"'{word}' ({counts[word]:,} of {len(cells):,})" for word in words], 4)
    return (
        f"column '{column.name}' holds {shown}: words=[{named}] gives the words for left, right "
        "and a tie; empty cells are left out"
    )


# Orders of a pair: words may be about the outputs as shown, or about the columns.

BY_SIDE, BY_COLUMN = "place", "column"  # what the user says of words of a swapped order
SIDE_NOTE = (
    'verdicts of the swapped order: A is the output shown first (swapped="column": A is the left '
    "column)"
)


class OrderedPoints(NamedTuple):
    """Points of the left side by cell, if words are about the columns of systems.

    ``by_side`` are words of a swapped order for the output shown first or second, ``by_column``
    those that name a column (``model_a``); names of systems are neither.
    """

    values: Floats
    by_side: Bools
    by_column: Bools

    @classmethod
    def of(cls, outcomes: Outcomes, words: WordColumn, mirrored: Bools) -> OrderedPoints:
        """Read cells, of which those that are ``mirrored`` were shown the other way round."""
        values, by_name = outcomes.points(*words[1:])
        swapped = mirrored & ~by_name
        by_column = np.zeros(len(values), dtype=bool)
        for cell in np.flatnonzero(swapped).tolist():
            by_column[cell] = _names_column(words.cells[cell])
        return cls(values, swapped & ~by_column, swapped & by_column)

    def read(self, swapped: str | None) -> Floats:
        """Return points as the user, or else the words themselves, say what they are about."""
        flipped = self.by_side | self.by_column if swapped == BY_SIDE else self.by_side
        return (
            self.values if swapped == BY_COLUMN else np.where(flipped, 1 - self.values, self.values)
        )


def swap_question(readings: Sequence[tuple[OrderedPoints, Floats]]) -> str | None:
    """Ask what A is in a swapped order, if the data contradict the usual reading; None if not.

    Each reading has points, and beside them those of the same output pair in the usual order. Words
    for a column (``model_a``) usually are about that, others about the side shown.
    """
    for of_columns in (False, True):
        n_column = n_side = 0
        for points, usual in readings:
            swapped = points.by_column if of_columns else points.by_side
            decided = swapped & (np.abs(points.values - TIE) > 0) & (np.abs(usual - TIE) > 0)
            same = (points.values > TIE) == (usual > TIE)
            n_column += int((decided & same).sum())
            n_side += int((decided & ~same).sum())
        n, fewer = n_column + n_side, min(n_column, n_side)
        against = n_side > n_column if of_columns else n_column > n_side
        if against and 2 * float(bdtr(fewer, n, 0.5)) < _SURE:
            return (
                f"verdicts of the swapped order agree with others in {n_column} of {n} pairs if A "
                f"is the left column, in {n_side} if A is the output shown first: "
                'swapped="column" or swapped="place" says which is meant'
            )
    return None


# Grades of single outputs.


@dataclass(frozen=True, slots=True)
class Scale:
    """What verdicts on single outputs are: categories with their values, or numbers alone.

    ``words`` are labels in small letters and the index of each category; empty for numbers.
    """

    categories: tuple[str, ...]
    values: tuple[float, ...]  # NaN where a category stands for no number
    words: dict[str, int]
    ordered: bool

    @classmethod
    def of(cls, people: Sequence[Sequence[object]], judges: Sequence[Sequence[object]]) -> Scale:
        """Find the scale that people used; a judge's further labels are categories, too."""
        counts = Counter(cell for cells in people for cell in cells if not is_gap(cell))
        n_words = sum(n for cell, n in counts.items() if _number(cell) is None)
        if n_words <= _SLIPS * counts.total():
            return cls._of_numbers(_numbers(counts), judges)
        labels = [str(cell).strip() for cell in counts]
        small = {label.casefold() for label in labels}
        if small <= _FAILS | _PASSES:
            names = next((both for both in _BINARY if set(both) & small), ("fail", "pass"))
            return cls(names, (0.0, 1.0), _binary_words(0, 1), ordered=True)
        return cls._of_labels(labels, judges)

    @classmethod
    def _of_numbers(cls, numbers: set[float], judges: Sequence[Sequence[object]]) -> Scale:
        if not _are_levels(numbers):
            return cls((), (), {}, ordered=True)
        binary = numbers <= {0.0, 1.0}
        levels = numbers | ({0.0, 1.0} if binary else set())
        for cells in judges:
            if _are_levels(levels | _numbers(cells)):
                levels |= _numbers(cells)
        ordered = sorted(levels)
        names = tuple(str(int(x)) if x.is_integer() else str(x) for x in ordered)
        # A judge may say in words what people say in noughts and ones.
        words = _binary_words(ordered.index(0.0), ordered.index(1.0)) if binary else {}
        return cls(names, tuple(ordered), words, ordered=True)

    @classmethod
    def _of_labels(cls, labels: Sequence[str], judges: Sequence[Sequence[object]]) -> Scale:
        names = {label.casefold(): label for label in sorted(set(labels), reverse=True)}
        for column in judges:
            cells = [str(cell).strip() for cell in column if not is_gap(cell)]
            counts = Counter(cell.casefold() for cell in cells)
            for cell in sorted(set(cells), reverse=True):
                n = counts[cell.casefold()]
                if n > 1 and n >= _RARE * len(cells) and len(cell) <= _LONGEST:
                    names.setdefault(cell.casefold(), cell)
        ordered = sorted(names.values())
        words = {name.casefold(): index for index, name in enumerate(ordered)}
        return cls(tuple(ordered), (math.nan,) * len(ordered), words, ordered=False)

    def read(self, cells: Sequence[object]) -> tuple[Floats, Codes]:
        """Return values and labels of a column; no labels where its numbers are no categories."""
        index = {x: k for k, x in enumerate(self.values)}
        numeric = not any(math.isnan(x) for x in self.values)
        fits = bool(self.categories)
        meaning: dict[Any, tuple[float, int]] = {}
        for cell in set(cells):
            word, number = self.words.get(str(cell).strip().casefold()), _number(cell)
            if is_gap(cell):
                meaning[cell] = math.nan, MISSING
            elif word is not None:
                meaning[cell] = self.values[word], word
            elif number is not None and numeric:
                meaning[cell] = number, index.get(number, MISSING)
                fits &= number in index
            else:
                meaning[cell] = math.nan, UNPARSED
        value = np.array([meaning[cell][0] for cell in cells], dtype=np.float64)
        label = np.array([meaning[cell][1] for cell in cells], dtype=np.int32)
        if not fits:
            label = np.where(label == UNPARSED, UNPARSED, MISSING).astype(np.int32)
        return value, label


def _binary_words(fail: int, passed: int) -> dict[str, int]:
    return {**dict.fromkeys(_FAILS, fail), **dict.fromkeys(_PASSES, passed)}


def _are_levels(numbers: set[float]) -> bool:
    """Tell whether numbers are grades: few, and whole (or halves of nought and one)."""
    if numbers <= {0.0, 0.5, 1.0}:
        return True
    return len(numbers) <= _MOST_LEVELS and all(x.is_integer() for x in numbers)
