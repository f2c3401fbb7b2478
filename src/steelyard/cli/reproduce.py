"""``steelyard reproduce``: the papers' figures beside ours."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from steelyard.cli.emit import emit, progress_of, wants_figure
from steelyard.cli.options import OutputOptions, figure_options

#: name: module:function, which takes the folder of data, ``rng`` and ``progress``.
PAPERS = {
    "kobe": "steelyard.reproduction.gekhman2020:reproduce_kobe",
    "paired": "steelyard.reproduction.peyrard2021:reproduce_paired",
    "spa": "steelyard.reproduction.thompson2024:reproduce_spa",
    "ties": "steelyard.reproduction.stanchev2020:reproduce_ties",
}


@click.command(epilog="Example: steelyard reproduce paired --data ../shared/data")
@click.argument("paper", type=click.Choice(sorted(PAPERS)))
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR",
              help="Folder that holds bt-eval/, wmt23-metrics/ and so on (default: data in "
              "STEELYARD_SHARED, or in ../shared).")  # fmt: skip
@figure_options
def reproduce(paper: str, data: Path | None, output: OutputOptions) -> None:
    """Compute a paper's figures, and print them beside the published ones.

    Papers: kobe (KoBE: Knowledge-Based Machine Translation Evaluation), paired (Better than
    Average: Paired Evaluation of NLP Systems), spa (Soft Pairwise Accuracy), ties (Towards a Better
    Evaluation of Metrics for Machine Translation). Figures whose data are not there are listed as
    not compared. A figure (--out with .png, .svg or .pdf) shows published against ours.
    """
    wants_figure(output)
    module, _, name = PAPERS[paper].partition(":")
    run = getattr(import_module(module), name)
    folder = data or Path(os.environ.get("STEELYARD_SHARED") or "../shared") / "data"
    with progress_of(f"reproducing {paper}", output) as progress:
        found = run(folder, rng=output.seed, progress=progress)

    def draw() -> Any:
        from steelyard.report.figures.curves import draw_reproduction

        return draw_reproduction(found)

    emit(found.to_dict(), [found.table()], output, found.text(), draw)
