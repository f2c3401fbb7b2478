"""The sections of the page, each of blocks: words, tables, matrices, charts."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any

from steelyard.comparison.card import ByScore
from steelyard.comparison.results import (
    RANKINGS,
    Comparison,
)
from steelyard.core.errors import (
    DegenerateError,
    MissingDependencyError,
    OutOfMemoryError,
    UsageError,
    printable,
)
from steelyard.core.provenance import Provenance
from steelyard.core.table import Table
from steelyard.data.evalset import EvalSet
from steelyard.data.linting import Finding
from steelyard.data.overview import Overview
from steelyard.judging.report import JudgeReport
from steelyard.metaevaluation.results import MetaEvaluation
from steelyard.report import glossary, grids, summary, warned
from steelyard.report.explorer import Explorer, Mistake
from steelyard.report.figures import comparison as comparing
from steelyard.report.figures import drawing
from steelyard.report.figures import metaevaluation as weighing
from steelyard.report.figures.style import Chart, need_plots
from steelyard.report.inlined import script_json
from steelyard.report.judgesection import judge_blocks
from steelyard.report.parts.captions import captions
from steelyard.report.parts.distributions import distribution_blocks
from steelyard.report.parts.entitymistakes import entity_blocks
from steelyard.report.parts.severity import rater_blocks

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_Drawn = tuple[str, Callable[[], Chart], str]  # the name of a chart, what draws it, a caption
_TALL = 25  # rows beyond which a table scrolls
_NOTES = 3  # notes below a table that stand open
_LONG = 240  # characters beyond which a note does not
# Pixels up to which a chart is scaled alike: tiny and small ones share a line with another one.
_SIZES = ((480, "tiny"), (640, "small"), (800, "middle"), (960, ""))
_SCRIPT = ("base", "tables", "marks", "contents", "segments", "cards", "address", "explorer")
_SIDE = re.compile(r'<td (?:class="(number)"|dir="auto")>')
_HEAD = re.compile(r'<th scope="col">([^<]*)</th>')


@dataclass(frozen=True, slots=True)
class Content:
    """All that the sections are made of."""

    es: EvalSet
    view: Overview
    comparison: Comparison | None
    meta: MetaEvaluation | None
    many: ByScore | None
    findings: tuple[Finding, ...]
    explorer: Explorer | None
    signed: Provenance
    speak: Callable[[str], str]
    judges: JudgeReport | None = None
    mistakes: tuple[Mistake, ...] = ()
    mistake_notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page under one heading; blocks are finished HTML."""

    name: str
    title: str
    blocks: tuple[Markup, ...]


def environment() -> Environment:
    """Give the templates, which escape whatever is put into them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("steelyard.report", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


def template_text(name: str) -> str:
    """Read a file that stands in the page as it is."""
    return (package_files("steelyard.report") / "templates" / name).read_text(encoding="utf-8")


def script_text() -> str:
    """Give the script of the page: its parts, which see each other, and nobody else sees them."""
    parts = "".join(template_text(f"js/{name}.js") for name in _SCRIPT)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def without_figures() -> list[str]:
    """Say that figures are left out, and what to install, if the libraries are not there."""
    try:
        need_plots()
    except (MissingDependencyError, OutOfMemoryError) as error:
        return [f"the page has no figures: {error}"]
    return []


class Writer:
    """Makes blocks: each method gives HTML that is safe to put into the page."""

    def __init__(self, environment: Environment, seen: Mapping[str, str] | None = None) -> None:
        self.environment = environment
        self.seen = seen or {}  # what is to be seen in a chart, by its name
        self.blocks: Any = environment.get_template("blocks.html.j2").module
        self.draws = not without_figures()

    def made(self, macro: str, *arguments: Any, **more: Any) -> Markup:
        """Run a macro of the templates, which escapes what it is given."""
        block: Markup = getattr(self.blocks, macro)(*arguments, **more)
        return block

    def words(self, *lines: str) -> Markup:
        """Write paragraphs."""
        return self.made("words", [printable(line) for line in lines])

    def findings(self, lines: list[str]) -> Markup:
        """Write a list."""
        return self.made("findings", [printable(line) for line in lines])

    def terms(self, *names: str) -> Markup:
        """Explain the short words among these names, in a part that folds away."""
        return self.made("terms", glossary.explained(names))

    def folded(self, title: str, *blocks: Markup, note: str = "") -> Markup:
        """Put blocks into a part that is closed until the reader opens it."""
        return self.made("folded", printable(title), blocks, printable(note))

    def table(self, table: Table, label: str) -> Markup:
        """Write a table in a region that scrolls by itself, with its exact values to download."""
        from markupsafe import Markup

        # A Table escapes its cells. Notes stand below the part that scrolls.
        cells, end, _ = table.html().partition("</table>")
        safe = Markup(_with_headings(cells) + end)  # noqa: S704
        # Short ones first: a list of forty names is for those who ask.
        notes = sorted((printable(note) for note in table.notes), key=lambda n: len(n) > _LONG)
        brief = sum(len(note) <= _LONG for note in notes)
        cut = brief if brief <= _NOTES + 1 else _NOTES
        tall = len(table.rows) > _TALL
        return self.made("table", safe, (notes[:cut], notes[cut:]), printable(label), tall=tall,
                         csv=self.csv(table))  # fmt: skip

    def csv(self, table: Table) -> Markup:
        """Give the exact values of a table as a JSON string that can stand in a script element."""
        from markupsafe import Markup

        return Markup(script_json(table.csv()))  # noqa: S704 - no markup can stand in it

    def matrix(self, grid: grids.Grid) -> Markup:
        """Write a matrix of p-values that folds away, with a download as a list of pairs."""
        return self.made("matrix", grid, csv=self.csv(grid.table()))

    def charts(self, drawn: list[_Drawn]) -> Iterator[Markup]:
        """Draw charts, each a name, a function and a caption; what can't be drawn is left out.

        A mark says what it stands for by the field ``tip`` of its row, or else by the fields of its
        tooltip; see :mod:`steelyard.report.figures.drawing`.
        """
        from markupsafe import Markup

        for name, draw, caption in drawn if self.draws else ():
            try:
                picture = drawing.draw(draw, name)
            except (UsageError, DegenerateError):
                continue  # such a figure needs more systems, or scores, than there are
            safe = Markup(picture.svg)  # noqa: S704 - cleaned by drawing.py
            lines = (self.seen.get(name), picture.about, caption)
            about = [printable(line).rstrip(".") for line in lines if line]
            size = next((kind for most, kind in _SIZES if picture.width <= most), "wide")
            yield self.made("chart", safe, printable(picture.title), about, name, size)

    def side_by_side(self, drawn: list[_Drawn]) -> Markup:
        """Draw charts next to each other, where the page is wide enough."""
        return self.made("side_by_side", list(self.charts(drawn)))


def _with_headings(cells: str) -> str:
    """Give headings their meaning, which the page shows on hover and focus, and their side."""
    body = cells.partition("<tbody>")[2].partition("</tr>")[0]
    sides = iter(_SIDE.findall(body))

    def heading(found: re.Match[str]) -> str:
        number = ' class="number"' if next(sides, "") else ""
        meaning = glossary.meaning(html.unescape(found[1]))
        tip = "" if meaning is None else f' data-tip="{html.escape(meaning)}"'
        text = found[1].replace(" ↑", "\u00a0↑").replace(" ↓", "\u00a0↓")
        return f'<th scope="col"{number}{tip}>{text}</th>'

    return _HEAD.sub(heading, cells)


def sections(content: Content, environment: Environment) -> list[Section]:
    """Write all sections that the content has something for."""
    writer = Writer(environment, captions(content.comparison, content.meta))
    makers = (
        _rankings,
        _disagreement,
        _distributions,
        _scores,
        _leaderboard,
        _judges,
        _people,
        _raters,
        _entities,
        _significance,
        _ties,
        _missing,
        _warnings,
        _segments,
        _methods,
        _provenance,
    )
    found = [make(content, writer) for make in makers]
    return [section for section in found if section is not None]


def _rankings(content: Content, writer: Writer) -> Section | None:
    found = content.comparison
    if found is None:
        return None
    scores = comparing.scores_of(content.es, found)
    beside: list[_Drawn] = [
        ("chart-ranks", lambda: comparing.ranks(found), ""),
        (
            "chart-wins",
            lambda: comparing.draw("wins", found, scores),
            "Each system against all others, segment by segment.",
        ),
    ]
    if len(found.systems) > 1:
        density = partial(comparing.draw, "density", found, scores)
        beside.append(("chart-density", density, "Stronger colour is more segments."))
    blocks = [
        writer.words(
            f"Systems by {found.score}{'' if found.higher_is_better else ' (lower is better)'}. "
            "Systems in one tier are not told apart by the tests; "
            "that does not make them equally good."
        ),
        *writer.charts([("chart-forest", lambda: comparing.forest(found), _in_words(found))]),
        writer.table(found.table(), "Ranking of systems"),
        writer.terms(*found.aggregations, "tier", *found.tests),
        writer.side_by_side(beside),
    ]
    return Section("rankings", "Rankings", tuple(blocks))


def _in_words(found: Comparison) -> str:
    """Say what the short names of rankings stand for."""
    short = {by: RANKINGS[by] for by in found.aggregations if by in RANKINGS}
    return "; ".join(f"{by}: {name}" for by, name in short.items() if by != name)


def _significance(content: Content, writer: Writer) -> Section | None:
    found = content.comparison
    if found is None or not found.tests:
        return None
    note = (
        "Which differences between two systems are more than chance. A cell shows the p-value of "
        "row against column: how often chance alone would give so clear a difference. Choose a "
        "cell to read the segments of that pair."
    )
    blocks = [writer.words(note)]
    if len(found.systems) > grids.MOST:
        blocks.append(writer.words(f"The best {grids.MOST} of {len(found.systems)} are shown."))
    blocks += [writer.matrix(grid) for grid in grids.system_grids(found, content.es.systems)]
    return Section("significance", "Significance", tuple(blocks))


def _disagreement(content: Content, writer: Writer) -> Section | None:
    found = content.comparison
    if found is None or len(found.aggregations) < 2 or len(found.systems) < 2:
        return None
    text = (
        "The mean (or the score of the whole corpus) asks by how much, the median what a typical "
        "segment looks like, Bradley-Terry who wins more segments. Where they disagree, the answer "
        "depends on the question."
    )
    blocks = [
        writer.words(text),
        *writer.charts([("chart-disagreement", lambda: comparing.disagreement(found), "")]),
    ]
    return Section("disagreement", "Disagreement", tuple(blocks))


def _of_systems(
    name: str, title: str, content: Content, make: Callable[[Comparison], tuple[Markup, ...]]
) -> Section | None:
    """Make a section that looks at the compared systems once more, if it has anything to say."""
    blocks = () if content.comparison is None else make(content.comparison)
    return Section(name, title, blocks) if blocks else None


def _distributions(content: Content, writer: Writer) -> Section | None:
    def make(found: Comparison) -> tuple[Markup, ...]:
        return distribution_blocks(content.es, found, writer)

    return _of_systems("distributions", "Distributions", content, make)


def _scores(content: Content, writer: Writer) -> Section | None:
    if content.many is None:
        return None
    blocks = (
        writer.words("Which system each score puts first, and which it can't tell from the first."),
        writer.table(content.many.table(), "What each score says"),
    )
    return Section("scores", "Scores", blocks)


def _leaderboard(content: Content, writer: Writer) -> Section | None:
    meta = content.meta
    if meta is None:
        return None
    given = weighing.MetaInput(meta, content.es)
    forest, scatter, calibration, metametrics = (
        partial(weighing.draw, name, given)
        for name in ("forest", "scatter", "calibration", "metametrics")
    )
    beside: list[_Drawn] = [
        ("chart-scatter", scatter, "Left: systems; right: segments, stronger colour is more."),
        ("chart-calibration", calibration, ""),
        ("chart-metametrics", metametrics, ""),
    ]
    alpha = 0.05
    if meta.provenance is not None:
        alpha = float(meta.provenance.options.get("alpha", alpha))
    blocks = [
        writer.words(
            f"How well each metric agrees with {meta.human}. Metrics that share a rank are not "
            "told apart by the tests; which of them agrees more with people stays open."
        ),
        writer.table(meta.table(details=True), "Leaderboard of metrics"),
        writer.terms(*(result.by for result in meta.results), "without", "alike", "gap"),
        *writer.charts([("chart-metrics", forest, "")]),
        writer.side_by_side(beside),
        *(writer.matrix(grid) for grid in grids.metric_grids(meta, alpha)[:1]),
    ]
    return Section("metrics", "Metrics", tuple(blocks))


def _judges(content: Content, writer: Writer) -> Section | None:
    if content.judges is None:
        return None
    return Section("judges", "Judges", judge_blocks(content.judges, writer))


def _ties(content: Content, writer: Writer) -> Section | None:
    if not content.view.scores:
        return None
    table = grids.ties_table(content.view, content.meta)
    text = (
        "Two outputs that people find equally good are a tie; a metric with few ties can't say so."
    )
    return Section("ties", "Ties", (writer.words(text), writer.table(table, "Ties by score")))


def _missing(content: Content, writer: Writer) -> Section | None:
    if not content.es.scores or not content.es.n_segments:
        return None
    block = writer.table(grids.missing_table(content.es), "Missing scores")
    return Section("missing", "Missing data", (block,))


def _warnings(content: Content, writer: Writer) -> Section | None:
    """List warnings by what they are about; those of one wording stand together."""
    told: dict[str, Iterable[str]] = {
        "About the page": without_figures(),
        "About the files": content.es.notes,
        "About the comparison of systems": _warned(content.comparison),
        "About the metrics": _warned(content.meta),
        "About the judges": _warned(content.judges),
    }
    known = {line for lines in told.values() for line in lines}
    told["Found by the checks of the data"] = [
        f"{one.severity}: {one.message}" for one in content.findings if one.message not in known
    ]
    hide = warned.without_folders(content.signed.inputs)
    spoken = {
        title: [printable(warned.shortened(hide(content.speak(line)))) for line in lines]
        for title, lines in told.items()
    }
    found = warned.kinds(spoken)
    if not found:
        return None
    note = "What to bear in mind when reading the results, and what to do about it."
    return Section("warnings", "Warnings", (writer.words(note), writer.made("warnings", found)))


def _warned(found: Comparison | MetaEvaluation | JudgeReport | None) -> tuple[str, ...]:
    return () if found is None else tuple(found.warnings)


def _people(content: Content, writer: Writer) -> Section | None:
    found = grids.human_table(content.es)
    if found is None:
        return None
    block = writer.table(found, "Human scores with each other")
    return Section("people", "Human agreement", (block,))


def _raters(content: Content, writer: Writer) -> Section | None:
    blocks = rater_blocks(content.es, writer)
    return Section("raters", "Raters", blocks) if blocks else None


def _entities(content: Content, writer: Writer) -> Section | None:
    blocks = entity_blocks(content.es, content.mistakes, content.mistake_notes, writer)
    return Section("entities", "Entities", blocks) if blocks else None


def _segments(content: Content, writer: Writer) -> Section | None:
    if content.explorer is None:
        return None
    notes = [printable(content.speak(note)) for note in content.explorer.notes]
    if not content.explorer.facts["has"]["outputs"]:
        notes.append("The input holds no outputs: scores only")
    return Section("segments", "Segments", (writer.made("explorer", notes),))


def _methods(content: Content, writer: Writer) -> Section:
    paragraph, cited = summary.methods(content.es, content.comparison, content.meta)
    note = writer.words("To paste into a paper, with the exact settings of this report.")
    block = writer.made("methods", printable(paragraph), cited)
    return Section("methods", "Methods", (note, block))


def _provenance(content: Content, writer: Writer) -> Section:
    results = (content.comparison, content.meta, content.judges)
    runs = [found.provenance for found in results if found is not None]
    lines = [run.line() for run in (content.signed, *runs) if run is not None]
    inputs = content.signed.inputs
    lines += [f"{i.path} ({i.format}) sha256 {i.sha256 or 'unknown'}" for i in inputs]
    hide = warned.without_folders(inputs)
    block = writer.made("provenance", [printable(hide(line)) for line in lines])
    return Section("provenance", "Provenance", (block,))
