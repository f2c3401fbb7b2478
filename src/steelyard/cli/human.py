"""``steelyard human``: from raw judgements to scores that people can trust."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, note
from steelyard.cli.options import (
    FIGURES,
    LEVEL,
    SUFFIXES,
    TABLES,
    Names,
    Numbers,
    OutputOptions,
    Pair,
    Real,
    output_options,
)
from steelyard.cli.plots import plot_option, wanted_figures, write_figures
from steelyard.core.errors import UsageError
from steelyard.formats import files, tables

if TYPE_CHECKING:
    from steelyard.human.results import HumanScores

PLOTS = ("ranking", "severity", "agreement", "thresholds")  # what report.humanfigures draws


@click.command(epilog="Example: steelyard human ratings.csv --protocol da --out scores.csv")
@click.argument("inputs", nargs=-1, metavar="RATINGS...")
@click.option("--protocol", required=True, type=click.Choice(["da", "mqm", "esa", "rr", "darr"]),
              help="How people judged: direct assessment, MQM, ESA, relative ranking; darr makes "
              "pairs out of direct assessment.")  # fmt: skip
@click.option("--z/--raw", "standardised", default=None,
              help="Standardise scores by rater, or not; by default z for da only.")  # fmt: skip
@click.option("--quality-control", is_flag=True,
              help="Remove raters that fail the checks, and show what changed.")  # fmt: skip
@click.option("--min-seconds", type=Real(min=0), default=2.0, show_default=True,
              help="Least median time per rating, where times are known.")  # fmt: skip
@click.option("--scale", type=Numbers(), default="0,100", show_default=True,
              help="Ends of the scale (da, esa).")  # fmt: skip
@click.option("--clusters", type=click.Choice(["wmt", "strict", "neighbours", "none"]),
              default="wmt", show_default=True,
              help="Rule that cuts the ranking into clusters.")  # fmt: skip
@click.option("--test", type=click.Choice(["rank-sum", "permutation"]),
              help="Test of two systems; rank-sum for da, else permutation.")  # fmt: skip
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True,
              help="Level of the tests.")  # fmt: skip
@click.option("--correction", default="none", show_default=True,
              type=click.Choice(["none", "bonferroni", "holm", "benjamini-hochberg"]),
              help="Correct p-values for the number of pairs.")  # fmt: skip
@click.option("--weights", metavar="FILE.toml",
              help="What errors cost (mqm, esa): a file, wmt or wmt21.")  # fmt: skip
@click.option(
    "--cap",
    type=Real(min=0, min_open=True),
    metavar="X",
    help="The most that one rating may cost (mqm).",
)
@click.option("--threshold", type=Real(min=0), metavar="X",
              help="Difference that decides a pair (darr); 25 for raw scores.")  # fmt: skip
@click.option("--thresholds", type=Numbers(), default=(),
              help="Count the pairs that each of these would keep (darr).")  # fmt: skip
@click.option("--identical-ties", is_flag=True,
              help="Pairs of identical outputs are ties; needs a text file (darr).")  # fmt: skip
@click.option("--keep-ties", is_flag=True, help="Keep ties instead of dropping them (darr).")
@click.option("--metrics", type=Names(), help="Metrics whose ties are counted (darr).")
@click.option("--each", is_flag=True, help="Files that begin alike (de-en.*) are a set of their "
              "own (darr).")  # fmt: skip
@click.option("--pairs", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="Write the pairwise outcomes, as a battle log (darr, rr).")  # fmt: skip
@click.option("--by", type=click.Choice(["trueskill", "bt", "expected-wins"]), default="trueskill",
              show_default=True, help="Model that systems are ordered by (rr).")  # fmt: skip
@click.option("--held-back", type=click.Path(path_type=Path), metavar="FILE",
              help="Rankings whose pairs the models shall predict (rr).")  # fmt: skip
@click.option("--bootstrap", "n_bootstrap", type=click.IntRange(min=0), default=1000,
              show_default=True, metavar="B", help="Resamples for intervals.")  # fmt: skip
@click.option("--human", "human_name", metavar="NAME",
              help="The human score of a table (darr), or the ratings of a set.")  # fmt: skip
@click.option("--lp", metavar="SRC-TGT", help="Language pair.")
@click.option("--systems", type=Names(), help="Keep only these systems.")
@click.option("--drop-systems", type=Names(), default=(), help="Leave out these systems.")
@click.option("--where", type=Pair(), multiple=True,
              help="Keep only rows with this value (repeatable).")  # fmt: skip
@click.option("--ignore", type=Names(), default=(), help="Skip these columns.")
@plot_option(PLOTS)
@partial(output_options, suffixes=tuple(dict.fromkeys((*SUFFIXES, *TABLES, *FIGURES))))
def human(
    inputs: tuple[str, ...],
    protocol: str,
    pairs: Path | None,
    human_name: str | None,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Turn raw judgements into scores of systems, with the checks that organisers run.

    RATINGS are files of raw judgements; darr and rr also take texts and metric scores. --out with
    .csv, .tsv, .jsonl or .parquet writes the scores of single outputs, which meta reads; with .png,
    .svg or .pdf figures; otherwise the ranking.
    """
    from steelyard.human.run import human_scores

    if len(settings["scale"]) != 2:
        raise UsageError("--scale: expected two numbers, for example 0,100")
    # Whoever asks for thresholds wants to see them.
    first = ("thresholds",) if settings["thresholds"] else ()
    known = tuple(dict.fromkeys((*first, *PLOTS)))
    plots = wanted_figures(settings.pop("plot"), output, known)
    if "thresholds" in plots and not settings["thresholds"]:
        raise UsageError("--plot thresholds draws the curve of --thresholds, for example 1,5,10,25")
    result = human_scores(*inputs, protocol=protocol, human=human_name, rng=output.seed, **settings)
    if pairs is not None and result.battles is None:
        raise UsageError("--pairs: protocols darr (one set) and rr have pairs")
    output = write_figures(plots, partial(_draw, result), output)
    if pairs is not None:
        _write_pairs(result, pairs)
        note(f"wrote {pairs}", output)
    written = _write(result, output) if output.out is not None else False
    shown = OutputOptions(**{**vars(output), "out": None}) if written else output
    emit(result.to_dict(), [result.table()], shown, result.text())


def _draw(result: HumanScores, name: str) -> Any:
    from steelyard.report.figures import humanfigures

    return humanfigures.draw(name, result)


def _write_pairs(result: HumanScores, path: Path) -> None:
    from steelyard.formats.save import save

    assert result.battles is not None
    save(result.battles, path)


def _write(result: HumanScores, output: OutputOptions) -> bool:
    """Write segment scores; False if the suffix asks for the ranking."""
    from steelyard.formats.save import save

    assert output.out is not None
    kind = files.suffix(output.out)
    if kind in TABLES:
        es = result.evalset
        if es is not None:
            save(es, output.out)
        elif "models" in result.tables:  # no scores of outputs, but of systems
            tables.write(output.out, result.tables["models"].to_columns())
        else:
            return False
    else:
        return False
    note(f"wrote {output.out}", output)
    return True
