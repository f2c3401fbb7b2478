"""What a cell of a table is: a number, a name, or a gap. The one definition, in Python and in SQL.

A **gap** is an absent value or one of :data:`GAPS`. A **number** is what :data:`NUMBER` matches, in
plain digits of ASCII: no ``1_000``, no ``inf``, no ``0x10``. A **name** is text as it stands, or a
whole number as digits. What else people write (``79%``, ``0,75``, ``1,234``, PASS) is decided by
the whole column. Small tables go through :func:`parse_number`, columns of text through
:func:`fast_numbers`, and what DuckDB reads through the SQL below, which is made of the same
constants; a test compares the three.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from steelyard.data.judgements import Floats
from steelyard.formats.duck import literal

Cells = Sequence[Any] | NDArray[np.float64]

#: Words for a gap among numbers.
GAPS = frozenset(("", "nan", "NaN", "None", "NA", "N/A", "n/a", "#N/A", "null", "NULL", "-"))
#: What else stands for a gap where the rest are numbers; among texts it may be one.
_NO_NUMBERS = GAPS | {"n.a.", "N.A.", "?", "--", "\u2013", "\u2014", ".", "none"}
NUMBER = re.compile(r"[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*")
_NAN = float("nan")
#: Words that people write for right and wrong.
_TRUTHS = (("true", "false"), ("yes", "no"), ("pass", "fail"), ("passed", "failed"),
           ("correct", "incorrect"), ("right", "wrong"), ("y", "n"), ("t", "f"), ("ja", "nein"),
           ("oui", "non"), ("s\u00ed", "no"), ("\u2713", "\u2717"), ("\u2714", "\u2718"),
           ("success", "failure"), ("succeeded", "failed"))  # fmt: skip
_PERCENT = re.compile(r"(.*?) ?%")
_PLAIN = str.maketrans({"\u2212": "-", "\u00a0": "", "\u202f": "", "\u2009": ""})
_SIGN = r"[ \t]*[+-]?"
_GROUPED = re.compile(_SIGN + r"[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]+)?[ \t]*")
_GROUPED_BY_POINTS = re.compile(_SIGN + r"[1-9][0-9]{0,2}(\.[0-9]{3})+[ \t]*")
_COMMA = re.compile(_SIGN + r"([0-9]+|[1-9][0-9]{0,2}(\.[0-9]{3})+),[0-9]+([eE][+-]?[0-9]+)?[ \t]*")
_POINT = re.compile(_SIGN + r"[0-9]*\.[0-9]+([eE][+-]?[0-9]+)?[ \t]*")


def parse_number(cell: object) -> float | None:
    """Convert one cell; NaN for a gap, None if it is not a number."""
    if is_missing(cell):
        return _NAN
    if isinstance(cell, str):
        return float(cell) if NUMBER.fullmatch(cell) else None
    if isinstance(cell, bool):
        return None
    if isinstance(cell, (int, float, np.integer, np.floating, Decimal)):
        try:
            number = float(cell)
        except OverflowError:
            return None
        exact = not isinstance(cell, (int, np.integer)) or int(number) == int(cell)
        return number if exact else None
    return None


def is_gap(cell: object) -> bool:
    """Tell whether a cell is absent, or a word for a gap."""
    return cell is None or (isinstance(cell, str) and cell in GAPS)


def is_missing(cell: object) -> bool:
    """Tell whether a cell among numbers is none."""
    return cell is None or (isinstance(cell, str) and (cell in _NO_NUMBERS or cell.isspace()))


def fast_numbers(cells: Sequence[Any]) -> Floats | None:
    """Convert text cells at C speed; None if any needs the careful look of :func:`parse_number`."""
    try:
        together = "".join(cells)
        if not together.isascii() or "_" in together:
            return None
        values = np.array([_NAN if c in _NO_NUMBERS else float(c) for c in cells], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    # What float() takes beyond NUMBER shows in the result: words for infinity and for NaN.
    gaps = sum(map(_NO_NUMBERS.__contains__, cells)) if np.isnan(values).any() else 0
    odd = np.isinf(values).any() or np.count_nonzero(np.isnan(values)) != gaps
    return None if odd else values


def numbers_of(cells: Cells) -> Floats | None:
    """Convert a column; None if a cell is no number, which whoever reads the table says."""
    if isinstance(cells, np.ndarray):
        return cells
    fast = fast_numbers(cells)
    if fast is not None:
        return fast
    numbers = [parse_number(cell) for cell in cells]
    return None if None in numbers else np.array(numbers, dtype=np.float64)


class Ambiguous(Exception):  # noqa: N818 - a question, not a failure
    """A cell that two people would read as different numbers."""


def decimal_mark(columns: Iterable[Cells]) -> str:
    """Tell which mark stands before decimals in a file: ``,``, ``.``, both ``?``, or blank."""
    comma = point = False
    for column in columns:
        texts = distinct(column) or ()
        for text in (
            text.translate(_PLAIN).rstrip("% ") for text in texts if isinstance(text, str)
        ):
            comma |= bool(_COMMA.fullmatch(text)) and not _GROUPED.fullmatch(text)
            point |= bool(_POINT.fullmatch(text)) and not _GROUPED_BY_POINTS.fullmatch(text)
    if comma:
        return "?" if point else ","
    return "." if point else ""


def as_written(column: Cells, mark: str) -> Floats | None:
    """Convert a column of percentages, decimal commas or grouped digits; None if it is neither.

    ``mark`` is what stands before decimals in the file: ``1,234`` may be either number.
    """
    texts = {cell for cell in distinct(column) or () if not is_missing(cell)}
    if not texts or not all(isinstance(text, str) for text in texts):
        return None
    plain = {text: text.translate(_PLAIN) for text in texts}
    if all(text.endswith("%") for text in texts):
        plain = {text: str(without_percent(cell)) for text, cell in plain.items()}
    written = _points(plain, mark)
    if all(written[text] == text for text in texts):
        return None
    numbers = {text: parse_number(number) for text, number in written.items()}
    if any(number is None or math.isnan(number) for number in numbers.values()):
        return None
    return np.array([numbers.get(cell, _NAN) for cell in column], dtype=np.float64)


def _points(texts: Mapping[str, str], mark: str) -> dict[str, str]:
    """Write numbers with a decimal point and without groups, where that is beyond doubt."""
    written = texts.values()
    commas = [text for text in written if "," in text]
    points = [text for text in written if "." in text and "," not in text]
    if points and not mark and not commas and len(points) < len(texts):
        grouped = [text for text in points if _GROUPED_BY_POINTS.fullmatch(text)]
        plain = (text for text in written if "." not in text)
        if grouped == points and all(map(str.isdigit, map(str.strip, plain))):
            raise Ambiguous(min(points))  # 990 beside 1.000
    if commas and mark != "," and all(_GROUPED.fullmatch(text) for text in commas):
        decided = any("." in text or text.count(",") > 1 for text in commas)
        if mark in ("", "?") and not decided:
            raise Ambiguous(min(commas))
        return {text: number.replace(",", "") for text, number in texts.items()}
    if commas or mark == ",":
        fits = all(_COMMA.fullmatch(text) for text in commas) and all(
            _GROUPED_BY_POINTS.fullmatch(text) for text in points
        )
        if fits:
            return {text: n.replace(".", "").replace(",", ".") for text, n in texts.items()}
    return dict(texts)


def without_percent(cell: object) -> object:
    """Give the number before a % as text, anything else as it is."""
    match = _PERCENT.fullmatch(cell) if isinstance(cell, str) else None
    return match[1] if match else cell


def distinct(column: Cells) -> set[Any] | None:
    """Give the values of a column; None if it holds numbers, lists or objects."""
    try:
        return None if isinstance(column, np.ndarray) else set(column)
    except TypeError:
        return None


def truth_words(column: Cells) -> tuple[str, str] | None:
    """Give the words for right and wrong that a column holds, if nothing else but gaps."""
    cells = distinct(column)
    if cells is None or len(cells) > 12:
        return None
    words = {_word(cell) for cell in cells} - {""}
    pair = next((pair for pair in _TRUTHS if words and words <= set(pair)), None)
    alone = len(words) == 1 and all(len(word) == 1 and word.isalpha() for word in words)
    return None if alone or words == {"right"} else pair  # which may be a side


def truths(column: Cells) -> Floats | None:
    """Convert a column of two words for right and wrong, and gaps; None if it holds others."""
    pair = truth_words(column)
    if pair is None:
        return None
    number = {pair[0]: 1.0, pair[1]: 0.0}
    return np.array([number.get(_word(cell), _NAN) for cell in column], dtype=np.float64)


def _word(cell: object) -> str:
    if is_missing(cell):
        return ""
    return str(cell).strip().casefold() if isinstance(cell, (str, bool, np.bool_)) else "?"


def label(cell: object) -> str | None:
    """Give a cell as a name; None if it can't be one."""
    if isinstance(cell, bool) or cell is None:
        return None
    if isinstance(cell, (date, UUID)):
        return str(cell)  # 2024-05-01, 2024-05-01 10:00:00: as SQL and pandas write them
    if isinstance(cell, (int, np.integer)):
        return str(int(cell))
    if isinstance(cell, (float, np.floating)):
        if not np.isfinite(cell):
            return None
        return str(int(cell)) if float(cell).is_integer() else repr(float(cell))
    return cell if isinstance(cell, str) else None


def brief(value: object) -> str:
    """Show a cell, or whatever a file holds, in a message."""
    try:
        shown = repr(value)
    except RecursionError:
        shown = f"a {type(value).__name__} of many levels"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def skipping(column: str) -> str:
    """Name the argument that leaves a column out."""
    return f'ignore=["{column}"]'


#: SQL of the list of gaps, which ``read_csv`` takes as NULL.
SQL_GAPS = ", ".join(literal(word) for word in sorted(_NO_NUMBERS))
