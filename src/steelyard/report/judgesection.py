"""The section "Judges" of the page: words, the card, figures, and rows to read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from steelyard.judging.disagreements import worst_disagreements
from steelyard.judging.results import JudgeReport
from steelyard.report.figures import judgefigures as drawing
from steelyard.report.figures.style import Chart

if TYPE_CHECKING:
    from markupsafe import Markup

    from steelyard.report.sections import Writer

_READ = 3  # judges whose worst rows are listed
_CAPTIONS = {
    "agreement": "",
    "gaps": "Systems of these judgements; of others it promises nothing.",
    "confusion": "",
    "bias": "Measured against people: what people prefer, too, is no bias.",
    "labels": "",
}


def judge_blocks(found: JudgeReport, writer: Writer) -> tuple[Markup, ...]:
    """Write the blocks of the section."""
    charts: list[tuple[str, Callable[[], Chart], str]] = [
        (f"chart-judges-{name}", partial(drawing.draw, name, found), caption)
        for name, caption in _CAPTIONS.items()
    ]
    read = [
        worst_disagreements(found.verdicts, found.verdicts.judge(card.name))
        for card in found.cards[:_READ]
    ]
    return (
        writer.words(*_paragraphs(found.summary())),
        writer.table(found.table(), "Judges"),
        writer.side_by_side(charts),
        *(writer.table(table, table.title) for table in read if table.rows),
    )


def _paragraphs(summary: str) -> list[str]:
    """Join what is said of one judge: lines that are indented go on."""
    found: list[str] = []
    for line in summary.splitlines():
        if line.startswith(" ") and found:
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    return found
