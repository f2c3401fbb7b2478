"""``steelyard human``: from raw judgements to scores that people can trust."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.group import RATINGS, command
from steelyard.cli.output import emit, plot_option, wanted_figures, write_figures
from steelyard.cli.params import (
    COLUMNS,
    FIGURES,
    SUFFIXES,
    TABLES,
    FileName,
    Known,
    OutputOptions,
    Pair,
    from_fields,
    not_an_input,
    output_options,
)
from steelyard.core.errors import UsageError
from steelyard.formats import files
from steelyard.human.options import OTHER_PROTOCOLS, PROTOCOLS, HumanOptions

if TYPE_CHECKING:
    from steelyard.human.results import HumanScores

PLOTS = ("ranking", "severity", "agreement", "thresholds")  # what report.figures.people draws


@command(
    headings={
        "How people judged": "protocol preset standardised scale score",
        "Raters": "quality_control min_seconds raters",
        "Ranking and tests": "clusters test alpha correction unit n_bootstrap",
        "Errors that people marked (mqm, esa)": "weights severity cap",
        "Pairs out of ratings (darr)": "threshold thresholds identical_ties keep_ties metrics each",
        "Rankings (rr)": "by held_back",
        "Further files to write": "pairs ranks",
    },
    shape=RATINGS,
    examples=(
        "steelyard human ratings.csv --protocol da --out scores.csv",
        "steelyard human esa.csv texts.jsonl --protocol esa --preset wmt24",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="RATINGS...")
@click.option(
    "--protocol",
    type=Known(PROTOCOLS, OTHER_PROTOCOLS),
    help="How people judged: direct assessment, MQM, ESA, relative ranking; darr makes pairs out "
    "of direct assessment. By default what the ratings tell.",
)
@from_fields(HumanOptions)
@click.option(
    "--pairs",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the pairwise outcomes, as a battle log (darr, rr).",
)
@click.option(
    "--ranks",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write ranks as scores of systems for meta: clusters as ranks with ties, fuzzy ranks.",
)
@click.option(
    "--where",
    type=Pair(),
    multiple=True,
    help="Keep only rows with this value (repeatable).",
)
@COLUMNS
@click.option(
    "--details", is_flag=True, help="Also print raters, agreement, errors and further tables."
)
@plot_option(PLOTS)
@partial(output_options, suffixes=tuple(dict.fromkeys((*SUFFIXES, *TABLES, *FIGURES))))
def human(
    inputs: tuple[str, ...],
    *,
    pairs: Path | None,
    ranks: Path | None,
    details: bool,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Turn raw judgements into scores of systems, with the checks that organisers run.

    RATINGS are files of raw judgements; da, mqm and esa also take texts, or tables, that tell
    documents and domains of segments, darr and rr texts and metric scores. --out with .csv, .tsv,
    .jsonl or .parquet writes the scores of single outputs, which meta reads; with .png, .svg or
    .pdf figures; otherwise the ranking.
    """
    from steelyard.human.run import score_judgements

    # Whoever asks for thresholds wants to see them.
    first = ("thresholds",) if settings["thresholds"] else ()
    known = tuple(dict.fromkeys((*first, *PLOTS)))
    plots = wanted_figures(settings.pop("plot"), output, known)
    if "thresholds" in plots and not settings["thresholds"]:
        raise UsageError("--plot thresholds draws the curve of --thresholds, for example 1,5,10,25")
    written = [path for path in (output.out, pairs, ranks) if path is not None]
    if len({path.resolve() for path in written}) < len(written):
        raise UsageError("--out, --pairs and --ranks: expected different files")
    not_an_input("--pairs", pairs, {"inputs": inputs})
    not_an_input("--ranks", ranks, {"inputs": inputs})
    result = score_judgements(inputs, settings, output.seed)
    if pairs is not None and result.battles is None:
        raise UsageError("--pairs: protocols darr (one set) and rr have pairs")
    output = write_figures(plots, result.plot, output)
    wrote: list[Path] = []
    if pairs is not None and result.battles is not None:
        from steelyard.formats.save import save

        save(result.battles, pairs)
        wrote.append(pairs)
    if ranks is not None:
        from steelyard.formats import tables

        tables.write(ranks, result.rank_table().to_columns())
        wrote.append(ranks)
    scores = None
    if output.out is not None and _written(result, output.out):
        scores = output.out
        wrote.append(scores)
        output = replace(output, out=None)
    brief = not (details or output.json)
    emit(
        replace(result, warnings=result.main_warnings()) if brief else result,
        [result.table()],
        output,
        shown=result.details("--json") if details else result.pieces(),
        says_read=False if details else None,
        wrote=wrote,
        then=_next(result, scores),
        table_file="FILE.md",
    )


def _next(result: HumanScores, scores: Path | None) -> str | None:
    """Keep the scores of outputs; once they are kept, compare systems by them."""
    if result.evalset is None:
        return None
    if scores is not None:
        return proposals.command(
            "compare",
            str(scores),
            *proposals.option("--score", proposals.names(result.score)),
        )
    return proposals.again("--out", "scores.csv", without={"plot", "pairs", "ranks", "details"})


def _written(result: Any, out: Path) -> bool:
    """Write scores of outputs, or of systems where there are none; False for the ranking."""
    from steelyard.formats import tables
    from steelyard.formats.save import save

    if files.suffix(out) not in TABLES:
        return False
    if result.evalset is not None:
        save(result.evalset, out)
    elif "models" in result.parts:
        tables.write(out, result.parts["models"].to_columns())
    else:
        return False
    return True
