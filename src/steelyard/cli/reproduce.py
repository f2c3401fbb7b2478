"""``steelyard reproduce``: the papers' figures beside ours."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.flags import spoken
from steelyard.cli.group import command
from steelyard.cli.output import emit, plot_option, progress_of, wanted_figures, write_figures
from steelyard.cli.params import Known, OutputOptions, figure_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from steelyard.reproduction.reproduction import Reproduction

#: name: module:function, which takes the places of data, ``rng`` and ``progress``.
PAPERS = {
    "kobe": "steelyard.reproduction.gekhman2020:reproduce_kobe",
    "paired": "steelyard.reproduction.peyrard2021:reproduce_paired",
    "spa": "steelyard.reproduction.thompson2024:reproduce_spa",
    "ties": "steelyard.reproduction.stanchev2020:reproduce_ties",
}
PLOTS = ("published",)


@command(
    examples=(
        "steelyard data get wmt23 && steelyard reproduce spa",
        "steelyard reproduce paired --data frames",
    ),
)
@click.argument("paper", type=Known(sorted(PAPERS)), metavar="PAPER")
@click.option(
    "--data",
    type=click.Path(),
    metavar="DIR",
    multiple=True,
    help="Folder that holds data sets: wmt23/ of steelyard data get, bt-eval/ and so on "
    "(repeatable; default: data in STEELYARD_SHARED if that is set, else what data get fetched).",
)
@plot_option(PLOTS)
@figure_options
def reproduce(
    paper: str, data: tuple[str, ...], plot: tuple[str, ...] | None, output: OutputOptions
) -> None:
    """Compute a paper's figures, and print them beside the published ones.

    Papers: kobe (KoBE: Knowledge-Based Machine Translation Evaluation), paired (Better than
    Average: Paired Evaluation of NLP Systems), spa (Soft Pairwise Accuracy), ties (Towards a Better
    Evaluation of Metrics for Machine Translation). Every data set that is there is used, none is
    needed: figures without their data are listed, with what was looked for.

    Verdicts: equal (to the printed digits), within sampling error (by two standard errors of the
    difference, or by more where many cells are judged together), paper at fault (a misprint, a
    false claim or a tool that never ends; the note says which), differs (the note says why), not
    at hand (nothing is printed, or the paper's data are not here; ours is shown where other data
    give one). "match" in the JSON is true, true, false, false, null.
    """
    from steelyard.reproduction.places import Places

    plots = wanted_figures(plot, output, PLOTS)
    places = Places.of(data or None)
    module, _, name = PAPERS[paper].partition(":")
    run: Callable[..., Reproduction] = getattr(import_module(module), name)
    with progress_of(f"reproducing {paper}", output) as progress:
        result = run(places, rng=output.seed, progress=progress)
    rows = (replace(row, note=spoken(row.note) if row.note else None) for row in result.rows)
    result = replace(result, rows=tuple(rows))

    def draw(_: str) -> Any:
        from steelyard.report.figures.curves import draw_reproduction

        return draw_reproduction(result)

    output = write_figures(plots, draw, output)
    emit(result, [result.table()], output, shown=result.pieces())
