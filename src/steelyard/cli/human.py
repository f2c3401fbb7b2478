"""``steelyard human``: from raw judgements to scores that people can trust."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from steelyard.cli.engine import Answer, Call, command, typed, typed_option
from steelyard.cli.group import RATINGS
from steelyard.cli.params import ROWS, SUFFIXES, TABLES, DetailsOptions, Known, output_file
from steelyard.core.errors import UsageError
from steelyard.core.options import Options
from steelyard.human.options import PROTOCOLS, HumanOptions

if TYPE_CHECKING:
    from steelyard.human.results import HumanScores

PLOTS = ("ranking", "severity", "agreement", "rankings")  # what report.figures.human draws


@dataclass(frozen=True, kw_only=True)
class _Files(Options):
    pairs: Path | None = output_file("Write the outcomes of pairs, as a battle log (darr, rr).")
    ranks: Path | None = output_file("Write ranks as scores of systems, which meta reads.")


@command(
    click.Option(
        ["--protocol"],
        type=Known(PROTOCOLS),
        help="How people judged: direct assessment, MQM, ESA, relative ranking; darr makes pairs "
        "out of direct assessment. By default what the ratings tell.",
    ),
    HumanOptions,
    _Files,
    ROWS,
    DetailsOptions,
    inputs="RATINGS...",
    suffixes=(*SUFFIXES, *TABLES),
    plots=" ".join(PLOTS),
    headings={
        "How people judged": "protocol preset standardised scale score",
        "Raters": "quality_control min_seconds raters",
        "Ranking": "clusters by",
        "Errors that people marked (mqm)": "weights cap",
        "Pairs out of ratings (darr)": "threshold identical_ties keep_ties",
        "Further files to write": "pairs ranks",
    },
    shape=RATINGS,
    examples=(
        "steelyard human ratings.csv --protocol da --out scores.csv",
        "steelyard human esa.csv texts.jsonl --protocol esa --preset wmt24",
    ),
)
def human(call: Call) -> Answer:
    """Turn raw judgements into scores of systems, with the checks that organisers run.

    RATINGS are files of raw judgements; da, mqm and esa also take texts, or tables, that tell
    documents and domains of segments, darr texts. --out with .csv, .tsv,
    .jsonl or .parquet writes the scores of single outputs, which meta reads; with .png, .svg or
    .pdf figures; otherwise the ranking.
    """
    from steelyard.formats import tables
    from steelyard.formats.save import save
    from steelyard.human.run import score_judgements

    figures, kept = call.figures(PLOTS), call.take(_Files)
    details, _ = call.settings.pop("details"), call.settings.pop("plot")
    result = score_judgements(call.inputs, call.settings, call.output.seed)
    scores = call.out(TABLES)
    if kept.pairs is not None and result.battles is None:
        raise UsageError("--pairs: protocols darr and rr have pairs")

    def save_pairs(path: Path) -> None:
        assert result.battles is not None
        save(result.battles, path)

    def save_scores(path: Path) -> None:
        if result.evalset is not None:
            save(result.evalset, path)
        else:
            tables.write(path, result.parts.get("models", result.table()).to_columns())

    brief = not (details or call.output.json)
    return Answer(
        result=replace(result, warnings=result.main_warnings()) if brief else result,
        shown=result.details("--json") if details else None,
        figures=figures,
        draw=result.plot,
        writes=(
            (kept.pairs, save_pairs),
            (kept.ranks, lambda path: tables.write(path, result.rank_table().to_columns())),
            (scores, save_scores),
        ),
        then=_next(call, result, scores, kept.pairs),
    )


def _next(call: Call, result: HumanScores, scores: Path | None, pairs: Path | None) -> str | None:
    """Keep the scores of outputs, or the pairs; once they are kept, compare systems by them."""
    means = result.averages
    if means is not None and scores is not None:
        score = result.score if result.score in means.values else next(iter(means.values))
        return typed("compare", str(scores), *typed_option("--score", score))
    if means is None and pairs is not None:
        return typed("compare", "--battles", str(pairs))
    if means is None and result.battles is None:
        return None
    kept = ("--pairs", "pairs.csv") if means is None else ("--out", "scores.csv")
    return call.again(*kept, without={"plot", "pairs", "ranks", "details"})
