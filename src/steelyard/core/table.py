"""One Table, six renderings: text (:mod:`core.display`), Markdown, LaTeX, CSV, JSON and HTML.

Text, Markdown, LaTeX and HTML show the same rounded figures (:meth:`Table.shown`); CSV and JSON
hold the exact values. Names and texts in cells are untrusted: each rendering escapes what would be
markup, a command or a formula in it.
"""

from __future__ import annotations

import html
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

from steelyard.core.errors import MissingDependencyError, UsageError, hint, printable
from steelyard.core.text import plural

if TYPE_CHECKING:
    from steelyard.core.display import Screen

Cell = str | int | float | bool | None
Numbers = Iterable[float]
Frame = Any  # a pandas or polars frame: neither is a dependency, so neither can be named
MISSING = "--"  # what is shown of a missing cell


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, which direction is better, and how many decimals its numbers show."""

    name: str
    better: Literal["higher", "lower"] | None = None
    digits: int | None = None  # decimals; None derives them from the numbers
    mixed: bool = False  # or from each number by itself
    p_value: bool = False  # two digits, or <0.0001
    key: str | None = None  # what CSV, JSON and frames call it
    importance: int = 5  # 0 to 9: the least go first where a screen has no room for all

    @property
    def heading(self) -> str:
        """The name with an arrow for the better direction."""
        return self.name + {"higher": " ↑", "lower": " ↓", None: ""}[self.better]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under named columns; NaN and None are missing."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()  # the lines below it
    rules: frozenset[int] = frozenset()  # rows above which a line is drawn (clusters)
    bold: frozenset[tuple[int, int]] = frozenset()  # (row, column) of cells to stress

    def shown(self) -> list[list[str]]:
        """Return every cell as the figure or word that text, Markdown, LaTeX and HTML show."""
        shown = []
        for j, column in enumerate(self.columns):
            cells = [row[j] for row in self.rows]
            if column.p_value:
                shown.append([MISSING if missing(p) else shown_p_value(p) for p in cells])  # type: ignore[arg-type]
                continue
            digits = decimals(cells) if column.digits is None else column.digits
            shown.append([shown_number(cell, None if column.mixed else digits) for cell in cells])
        return [list(row) for row in zip(*shown, strict=True)]

    def right(self, j: int) -> bool:
        """Numbers stand right, words left; a column without any number is words."""
        cells = [row[j] for row in self.rows if row[j] is not None]
        return bool(cells) and all(not isinstance(c, (str, bool)) for c in cells)

    def text(self, screen: Screen | None = None) -> str:
        """Render as text: for a screen, else with all that there is."""
        from steelyard.core.display import PLAIN, table_text  # which imports this module

        return table_text(self, PLAIN if screen is None else screen)

    def __str__(self) -> str:
        from steelyard.core.display import Screen

        return self.text(Screen.of(sys.stdout, colour="never"))

    def __repr__(self) -> str:
        from steelyard.core.display import named, one_line

        names = named([column.name for column in self.columns], 6)
        return one_line(self, f"of {plural(len(self.rows), 'row')}: {names}")

    def _marked(self, escape: Callable[[str], str], stress: str) -> list[list[str]]:
        """Return the cells as markup, those in bold put into ``stress``."""
        cells = self.shown()
        for i, row in enumerate(cells):
            for j, text in enumerate(row):
                # The dash of a missing cell is no name that has to be escaped.
                cell = MISSING if missing(self.rows[i][j]) else escape(text)
                row[j] = stress.format(cell) if (i, j) in self.bold else cell
        return cells

    def _aligned(self, number: str, word: str) -> list[str]:
        return [number if self.right(j) else word for j in range(len(self.columns))]

    def markdown(self) -> str:
        """Render as a pipe table."""
        headings = [escape_markdown(column.heading) for column in self.columns]
        lines = [f"**{escape_markdown(self.title)}**", ""] if self.title else []
        rows = (headings, self._aligned("---:", ":---"), *self._marked(escape_markdown, "**{}**"))
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        lines += [f"\n{escape_markdown(note)}" for note in self.notes]
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Render as a booktabs table environment; notes are comments below it."""
        align = "".join(self._aligned("r", "l"))
        lines = [r"\begin{table}", r"\centering", rf"\begin{{tabular}}{{{align}}}", r"\toprule"]
        headings = " & ".join(escape_latex(column.heading) for column in self.columns)
        lines += [rf"{headings} \\", r"\midrule"]
        for i, row in enumerate(self._marked(escape_latex, r"\textbf{{{}}}")):
            lines += [r"\midrule"] if i in self.rules else []
            lines.append(" & ".join(row) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\caption{{{escape_latex(self.title)}}}"] if self.title else []
        notes = (f"% {printable(note)}" for note in self.notes)
        return "\n".join([*lines, r"\end{table}", *notes, ""])

    def html(self) -> str:
        """Render as a table element with a caption."""
        caption = f"<caption>{escape_html(self.title)}</caption>" if self.title else ""
        head = "".join(f'<th scope="col">{escape_html(c.heading)}</th>' for c in self.columns)
        parts = [f"<table>{caption}", f"<thead><tr>{head}</tr></thead><tbody>"]
        # The direction of a name must not move the figures beside it.
        kinds = self._aligned('class="number"', 'dir="auto"')
        for i, row in enumerate(self._marked(escape_html, "<strong>{}</strong>")):
            cells = "".join(f"<td {kind}>{c}</td>" for kind, c in zip(kinds, row, strict=True))
            mark = ' class="rule"' if i in self.rules else ""
            parts.append(f"<tr{mark}>{cells}</tr>")
        notes = "".join(f"<p>{escape_html(note)}</p>" for note in self.notes)
        return "\n".join([*parts, f"</tbody></table>{notes}", ""])

    _repr_html_ = html

    def csv(self, delimiter: str = ",") -> str:
        """Render the exact values; a word that a spreadsheet would run as a formula is quoted."""
        header = [_inert(key) for key in self.keys()]
        rows = ([_inert(c) if isinstance(c, str) else c for c in row] for row in self.rows)
        return delimited(header, rows, delimiter)

    def records(self) -> list[dict[str, Cell]]:
        """Return the rows as dictionaries, missing cells as None."""
        rows = ([None if missing(cell) else cell for cell in row] for row in self.rows)
        return [dict(zip(self.keys(), row, strict=True)) for row in rows]

    def render(self, form: str) -> str:
        """Render by name: ``txt md tex csv tsv json html``."""
        forms: dict[str, Callable[[], str]] = {
            "txt": lambda: self.text() + "\n",
            "md": self.markdown,
            "tex": self.latex,
            "csv": self.csv,
            "tsv": lambda: self.csv("\t"),
            "json": lambda: dumps(self.records()) + "\n",
            "html": self.html,
        }
        if form not in forms:
            raise UsageError(f"can't write a table as '{form}'; {hint(form, forms)}")
        return forms[form]()

    def to_frame(self, backend: str | None = None) -> Frame:
        """Return the exact values as a pandas or polars frame."""
        return frame(self.to_columns(), backend)

    def to_columns(self) -> dict[str, list[Cell]]:
        """Return the exact values by column."""
        return {key: [row[j] for row in self.rows] for j, key in enumerate(self.keys())}

    def keys(self) -> list[str]:
        """Return the name of each column in CSV, JSON and frames; no two are the same."""
        keys: list[str] = []
        for column in self.columns:
            key = column.key or column.name
            names = (key, *(f"{key} ({count})" for count in range(2, len(keys) + 3)))
            keys.append(next(name for name in names if name not in keys))
        return keys


def frame(columns: Mapping[str, Any], backend: str | None = None) -> Frame:
    """Make a pandas or polars frame of columns; by default whichever is installed, pandas first."""
    if backend not in ("pandas", "polars", None):
        raise UsageError(f"backend: expected 'pandas' or 'polars', got {backend!r}")
    choices = ("pandas", "polars") if backend is None else (backend,)
    engine: Any = next((name for name in choices if find_spec(name)), None)
    if engine is None:
        raise MissingDependencyError("a data frame needs pandas or polars: pip install pandas")
    import narwhals as nw

    return nw.from_dict(dict(columns), backend=engine).to_native()


def delimited(header: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> str:
    """Write CSV or TSV: numbers so that they come back bit for bit, missing cells empty."""
    # Blanks at an end are quoted, too, lest a reader take them for padding.
    special = re.compile(f'["\r\n{delimiter}]|^ | $')

    def written(cell: Any) -> str:
        text = "" if missing(cell) else cell if isinstance(cell, str) else repr(cell)
        # The csv module would leave a bare CR without the quotes that other readers need.
        return '"' + text.replace('"', '""') + '"' if special.search(text) else text

    return "".join(delimiter.join(map(written, row)) + "\n" for row in (header, *rows))


def missing(cell: object) -> bool:
    """Tell whether a cell is None or NaN."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def decimals(cells: Sequence[Cell], standard_error: float | None = None) -> int:
    """Return the decimals to show: two digits of the error, else four of the largest number."""
    numbers = [abs(c) for c in cells if isinstance(c, float) and math.isfinite(c)]
    largest = standard_error or max(numbers, default=0.0)
    if largest <= 0:
        return 0 if largest == 0 and not numbers else 1
    digits, least = (2, -6) if standard_error else (4, -1)
    return min(9, max(0, digits - 1 - max(math.floor(math.log10(largest)), least)))


def interval_decimals(values: Numbers, low: Numbers, high: Numbers) -> int | None:
    """Return the decimals of numbers with 95% intervals; None where no interval has a width."""
    widths = (float(b) - float(a) for a, b in zip(low, high, strict=True))
    rising = sorted(width for width in widths if 0 < width < math.inf)
    if not rising:
        return None
    half = len(rising) // 2
    median = (rising[half] + rising[~half]) / 2
    return decimals([float(x) for x in values], median / (2 * 1.959964))  # a standard error


def shown_number(cell: Cell, digits: int | None) -> str:
    """Write a cell, a number with so many decimals; None: as many as it needs."""
    if missing(cell):
        return MISSING
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if not isinstance(cell, float):
        return str(cell)
    if math.isinf(cell) or (digits is None and cell.is_integer()):
        digits = 0
    shown = f"{cell:.{decimals([cell]) if digits is None else digits}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown  # no -0.00


def shown_p_value(p: float) -> str:
    """Write a p-value with two digits: ``0.0052``, ``<0.0001``."""
    if p < 1e-4:
        return "<0.0001"
    digits = max(2, 1 - math.floor(math.log10(p)))
    return f"{p:.{digits}f}" if p < 0.995 else "1"


_FORMULA = r"(?:\s*[=+@-]|[\t\r])"
_GUARDED = re.compile(f"'+{_FORMULA}")
_TO_GUARD = re.compile(f"'*{_FORMULA}")


def _inert(text: str) -> str:
    return "'" + text if _TO_GUARD.match(text) else text


def guarded(text: str) -> str:
    """Write a name so that :func:`unguarded` gives it back: one more apostrophe before a guard."""
    return "'" + text if _GUARDED.match(text) else text


def unguarded(text: str) -> str:
    """Take off the apostrophe that result tables put before what a spreadsheet would run."""
    return text[1:] if text[:1] == "'" and _GUARDED.match(text) else text


def escape_html(text: str) -> str:
    """Escape what HTML would take for markup."""
    return html.escape(printable(text))


def escape_markdown(text: str) -> str:
    """Escape what Markdown or the HTML inside it would take for markup."""
    escaped = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"[\\`*_{}\[\]|#$~]", r"\\\g<0>", escaped)


_LATEX = {
    **{c: f"\\{c}" for c in "{}$&%#_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedblright{}",  # in every font encoding, unlike \textquotedbl
    "[": "{[}",  # after a line break it would open an option, and a star would be one
    "*": "{*}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
}
#: Two hyphens would become a dash, two quotes or commas one quote, ?` a Spanish question mark.
_LIGATURES = re.compile(r"([-`',])(?=\1)|[?!](?=`)")


def escape_latex(text: str) -> str:
    """Escape every character that LaTeX treats as a command, and part what it would join."""
    escaped = "".join(_LATEX.get(c, c) for c in printable(text))
    return _LIGATURES.sub(r"\g<0>{}", escaped)


def plain(value: Any) -> Any:
    """Return what JSON has: lists for arrays and tuples, None for NaN, dictionaries of results."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    numpy = sys.modules.get("numpy")  # where it was never loaded, no value is of it
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    return plain(value.to_dict()) if hasattr(value, "to_dict") else value


#: What JSON may hold raw, and a terminal would obey.
_STEERING = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def dumps(value: object, *, indent: int | None = 2) -> str:
    """Write JSON as all of Steelyard does: NaN is null, text stays readable."""
    written = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", written)
