"""Blocks of the page: words, tables, matrices, charts, each as HTML that is safe to put into it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any

from steelyard.core.errors import (
    DegenerateError,
    MissingDependencyError,
    OutOfMemoryError,
    UsageError,
    printable,
)
from steelyard.core.table import Table, dumps
from steelyard.report import glossary
from steelyard.report.figures import drawing
from steelyard.report.figures.vega import Chart, need_plots
from steelyard.report.grids import Grid
from steelyard.report.strips import Strips

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Drawn = tuple[str, Callable[[], Chart]]  # the name of a chart, and what makes it
_TALL = 25  # rows beyond which a table scrolls
_SCRIPT = ("base", "tables", "marks", "contents", "segments", "cards", "address", "explorer")
_SIDE = re.compile(r'<td (?:class="(number)"|dir="auto")>')
_HEAD = re.compile(r'<th scope="col">([^<]*)</th>')
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def script_json(value: object) -> str:
    r"""Write JSON that can stand in a script element: no character of it can begin markup.

    Examples
    --------
    >>> print(script_json({"name": "</script><b>&"}))
    {"name": "\u003c/script\u003e\u003cb\u003e\u0026"}
    """
    return dumps(value, indent=None).translate(_ESCAPES)


def environment() -> Environment:
    """Return the templates, which escape whatever is put into them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("steelyard.report", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


def template_text(name: str) -> str:
    """Read a file that stands in the page as it is."""
    return (package_files("steelyard.report") / "templates" / name).read_text(encoding="utf-8")


def script_text() -> str:
    """Return the script of the page: its parts see each other, and nobody else sees them."""
    parts = "".join(template_text(f"js/{name}.js") for name in _SCRIPT)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def without_figures() -> list[str]:
    """Say that charts are left out, and what to install, if the library is not there."""
    try:
        need_plots()
    except (MissingDependencyError, OutOfMemoryError) as error:
        return [f"the page has no figures: {error}"]
    return []


class Writer:
    """Makes blocks: each method returns HTML that is safe to put into the page."""

    def __init__(self, environment: Environment) -> None:
        self.blocks: Any = environment.get_template("blocks.html.j2").module
        self.draws = not without_figures()

    def made(self, macro: str, *arguments: Any, **more: Any) -> Markup:
        """Run a macro of the templates, which escapes what it is given."""
        block: Markup = getattr(self.blocks, macro)(*arguments, **more)
        return block

    def words(self, *lines: str) -> Markup:
        """Write paragraphs."""
        return self.made("words", [printable(line) for line in lines])

    def findings(self, lines: Sequence[str]) -> Markup:
        """Write a list."""
        return self.made("findings", [printable(line) for line in lines])

    def folded(self, name: str, title: str, *blocks: Markup, is_open: bool = False) -> Markup:
        """Put blocks into a part that folds, closed until the reader opens it."""
        return self.made("folded", name, printable(title), blocks, is_open=is_open)

    def strips(self, strips: Strips) -> Markup:
        """Write rows with small pictures."""
        return self.made("strips", strips, tall=len(strips.rows) > _TALL)

    def table(self, table: Table, label: str, whole: Table | None = None) -> Markup:
        """Write a table in a region that scrolls by itself, with its exact values to download.

        ``whole`` is what the download holds, where that is more.
        """
        from markupsafe import Markup

        # A Table escapes its cells. Notes stand below the part that scrolls.
        cells, end, _ = table.html().partition("</table>")
        safe = Markup(_with_headings(cells) + end)  # noqa: S704
        notes = [printable(note) for note in table.notes]
        return self.made(
            "table",
            safe,
            notes,
            printable(label),
            tall=len(table.rows) > _TALL,
            csv=self.csv(whole or table),
        )

    def csv(self, table: Table) -> Markup:
        """Return the exact values of a table as a JSON string for a script element."""
        from markupsafe import Markup

        return Markup(script_json(table.csv()))  # noqa: S704 - no markup can stand in it

    def matrix(self, grid: Grid) -> Markup:
        """Write a matrix of p-values, with a download as a list of pairs."""
        return self.made("matrix", grid, csv=self.csv(grid.table()))

    def linked(
        self, label: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]
    ) -> Markup:
        """Write a table whose first cells are links to segments."""
        clean = [(link, [printable(cell) for cell in cells]) for link, cells in rows]
        return self.made("linked", printable(label), heads, clean, tall=len(rows) > _TALL)

    def charts(self, *drawn: Drawn) -> Markup:
        """Draw charts next to each other; what can't be drawn of these data is left out."""
        from markupsafe import Markup

        blocks = []
        for name, make in drawn if self.draws else ():
            try:
                chart = make()
            except (UsageError, DegenerateError):
                continue  # such a figure needs more systems, or scores, than there are
            picture = drawing.draw(chart, name)
            safe = Markup(picture.svg)  # noqa: S704 - cleaned by drawing.py
            words = printable(picture.title), printable(picture.about)
            blocks.append(self.made("chart", safe, *words, name))
        return self.made("charts", blocks)


def _with_headings(cells: str) -> str:
    """Give headings their meaning, which the page shows on hover and focus, and their side."""
    body = cells.partition("<tbody>")[2].partition("</tr>")[0]
    sides = iter(_SIDE.findall(body))

    def heading(match: re.Match[str]) -> str:
        number = ' class="number"' if next(sides, "") else ""
        meaning = glossary.meaning(html.unescape(match[1]))
        tip = "" if meaning is None else f' data-tip="{html.escape(meaning)}"'
        text = match[1].replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓")
        return f'<th scope="col"{number}{tip}>{text}</th>'

    return _HEAD.sub(heading, cells)
