"""``steelyard human``: from raw judgements to scores that people can trust."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.group import RATINGS, command
from steelyard.cli.output import emit, plot_option, wanted_figures, write_figures
from steelyard.cli.params import (
    FIGURES,
    ROWS,
    SUFFIXES,
    TABLES,
    Known,
    OutputOptions,
    arguments,
    details_option,
    from_fields,
    not_an_input,
    output_options,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, option
from steelyard.formats import files
from steelyard.human.options import PROTOCOLS, HumanOptions

if TYPE_CHECKING:
    from steelyard.human.results import HumanScores

PLOTS = ("ranking", "severity", "agreement", "rankings")  # what report.figures.human draws


@dataclass(frozen=True, kw_only=True)
class _Files(Options):
    """What is written beside the result."""

    pairs: Path | None = option(
        "file", None, "Write the outcomes of pairs, as a battle log (darr, rr).", metavar="FILE"
    )
    ranks: Path | None = option(
        "file", None, "Write ranks as scores of systems, which meta reads.", metavar="FILE"
    )


@command(
    headings={
        "How people judged": "protocol preset standardised scale score",
        "Raters": "quality_control min_seconds raters",
        "Ranking and tests": "clusters test alpha correction unit n_bootstrap",
        "Errors that people marked (mqm)": "weights cap",
        "Pairs out of ratings (darr)": "threshold identical_ties keep_ties",
        "Rankings (rr)": "by",
        "Further files to write": "pairs ranks",
    },
    shape=RATINGS,
    examples=(
        "steelyard human ratings.csv --protocol da --out scores.csv",
        "steelyard human esa.csv texts.jsonl --protocol esa --preset wmt24",
    ),
)
@arguments("RATINGS...")
@click.option(
    "--protocol",
    type=Known(PROTOCOLS),
    help="How people judged: direct assessment, MQM, ESA, relative ranking; darr makes pairs out "
    "of direct assessment. By default what the ratings tell.",
)
@from_fields(HumanOptions)
@from_fields(_Files)
@ROWS
@details_option
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
    documents and domains of segments, darr texts. --out with .csv, .tsv,
    .jsonl or .parquet writes the scores of single outputs, which meta reads; with .png, .svg or
    .pdf figures; otherwise the ranking.
    """
    from steelyard.human.run import score_judgements

    plots = wanted_figures(settings.pop("plot"), output, PLOTS)
    written = [path for path in (output.out, pairs, ranks) if path is not None]
    if len({path.resolve() for path in written}) < len(written):
        raise UsageError("--out, --pairs and --ranks: expected different files")
    not_an_input("--pairs", pairs, {"inputs": inputs})
    not_an_input("--ranks", ranks, {"inputs": inputs})
    result = score_judgements(inputs, settings, output.seed)
    if pairs is not None and result.battles is None:
        raise UsageError("--pairs: protocols darr and rr have pairs")
    output = write_figures(plots, result.plot, output)
    wrote = [path for path in (pairs, ranks) if path is not None]
    if wrote or output.out is not None:
        from steelyard.formats import tables
        from steelyard.formats.save import save
    if pairs is not None and result.battles is not None:
        save(result.battles, pairs)
    if ranks is not None:
        tables.write(ranks, result.rank_table().to_columns())
    scores = None
    if output.out is not None and files.suffix(output.out) in TABLES:
        scores, output = output.out, replace(output, out=None)
        wrote.append(scores)
        if result.evalset is not None:
            save(result.evalset, scores)
        else:
            tables.write(scores, result.parts.get("models", result.table()).to_columns())
    brief = not (details or output.json)
    emit(
        replace(result, warnings=result.main_warnings()) if brief else result,
        [result.table()],
        output,
        shown=result.details("--json") if details else result.pieces(),
        says_read=brief and not _guessed(result),
        wrote=wrote,
        then=_next(result, scores, pairs),
        table_file="FILE.md",
    )


def _guessed(result: HumanScores) -> bool:
    """Tell whether a plain table calls its scores by a name that is not one of ours."""
    from steelyard.formats.columns import RATING
    from steelyard.formats.judged.ratings import FORMAT

    inputs = () if result.provenance is None else result.provenance.inputs
    columns = (column for file in inputs if file.format == FORMAT.name for column in file.columns)
    return any(role == "score" and not {*names} <= {*RATING} for role, names in columns)


def _next(result: HumanScores, scores: Path | None, pairs: Path | None) -> str | None:
    """Keep the scores of outputs, or the pairs; once they are kept, compare systems by them."""
    means = result.averages
    if means is not None and scores is not None:
        score = result.score if result.score in means.values else next(iter(means.values))
        named = proposals.option("--score", proposals.names(score))
        return proposals.command("compare", str(scores), *named)
    if means is None and pairs is not None:
        return proposals.command("compare", "--battles", str(pairs))
    if means is None and result.battles is None:
        return None
    kept = ("--pairs", "pairs.csv") if means is None else ("--out", "scores.csv")
    return proposals.again(*kept, without={"plot", "pairs", "ranks", "details"})
