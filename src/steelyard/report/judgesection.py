"""The section "Judges" of the page: words, the card, figures, and rows to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from steelyard.data.evalset import EvalSet, Kind, ScoreTable
from steelyard.data.verdicts import Verdicts
from steelyard.judging.report import JudgeReport, worst_disagreements
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
        writer.words(*found.paragraphs()),
        writer.table(found.table(), "How far judges agree with people"),
        writer.side_by_side(charts),
        *(
            writer.folded(table.title, writer.table(replace(table, title=""), table.title))
            for table in read
            if table.rows
        ),
    )


def with_verdicts(es: EvalSet, verdicts: Verdicts) -> tuple[EvalSet, tuple[str, ...]]:
    """Add verdicts on single outputs of a set to its scores, to read where judge and people differ.

    Verdicts on pairs, or on other systems and items, add nothing. Gives the set and the names of
    what was added.
    """
    place = {name: row for row, name in enumerate(es.systems)}
    column = {name: number for number, name in enumerate(es.segments.ids)}
    known = set(verdicts.systems) <= set(place) and set(verdicts.items) <= set(column)
    if verdicts.kind != "points" or verdicts.left is None or not known:
        return es, ()
    rows = np.array([place[name] for name in verdicts.systems])[verdicts.left]
    columns = np.array([column[name] for name in verdicts.items])[verdicts.item]
    added = []
    for one, kind in (*((own, "metric") for own in verdicts.judges), (verdicts.people(), "human")):
        name = f"{one.name} (verdicts)"
        if name in es.scores or np.isnan(one.value).all():
            continue
        values = np.full((len(es.systems), es.n_segments), np.nan)
        values[rows, columns] = one.value
        es = es.with_scores(name, ScoreTable(values, kind=cast(Kind, kind)))
        added.append(name)
    return es, tuple(added)
