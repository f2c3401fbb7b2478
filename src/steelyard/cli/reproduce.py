"""``steelyard reproduce``: the papers' figures beside ours."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from steelyard.cli.emit import emit, progress_of, wants_figure
from steelyard.cli.options import OutputOptions, figure_options

#: name: module:function, which takes the places of data, ``rng`` and ``progress``.
PAPERS = {
    "kobe": "steelyard.reproduction.gekhman2020:reproduce_kobe",
    "paired": "steelyard.reproduction.peyrard2021:reproduce_paired",
    "spa": "steelyard.reproduction.thompson2024:reproduce_spa",
    "ties": "steelyard.reproduction.stanchev2020:reproduce_ties",
}


@click.command(
    epilog="Examples: steelyard data get wmt23; steelyard reproduce spa; "
    "steelyard reproduce paired --data frames"
)
@click.argument("paper", type=click.Choice(sorted(PAPERS)))
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", multiple=True,
              help="Folder that holds data sets: wmt23/ of steelyard data get, bt-eval/ and so on "
              "(repeatable; default: data in STEELYARD_SHARED if that is set, else what data get "
              "fetched).")  # fmt: skip
@figure_options
def reproduce(paper: str, data: tuple[Path, ...], output: OutputOptions) -> None:
    """Compute a paper's figures, and print them beside the published ones.

    Papers: kobe (KoBE: Knowledge-Based Machine Translation Evaluation), paired (Better than
    Average: Paired Evaluation of NLP Systems), spa (Soft Pairwise Accuracy), ties (Towards a Better
    Evaluation of Metrics for Machine Translation). Every data set that is there is used, none is
    needed: figures without their data are listed, with what was looked for. A figure (--out with
    .png, .svg or .pdf) shows published against ours.
    """
    from steelyard.reproduction.search import Places

    wants_figure(output)
    places = Places.of(data or None)
    module, _, name = PAPERS[paper].partition(":")
    run = getattr(import_module(module), name)
    with progress_of(f"reproducing {paper}", output) as progress:
        found = run(places, rng=output.seed, progress=progress)

    def draw() -> Any:
        from steelyard.report.figures.curves import draw_reproduction

        return draw_reproduction(found)

    emit(found.to_dict(), [found.table()], output, found.text(), draw)
