"""``steelyard reproduce``: the papers' figures beside ours."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

import click

from steelyard.cli.emit import emit
from steelyard.cli.options import OutputOptions, output_options
from steelyard.cli.progress import progress_of

#: name: module:function, which takes the folder of data, ``rng`` and ``progress``.
PAPERS = {"paired": "steelyard.studies.papers.paired:reproduce_paired"}


@click.command(epilog="Example: steelyard reproduce paired --data ../shared/data")
@click.argument("paper", type=click.Choice(sorted(PAPERS)))
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR",
              help="Folder that holds bt-eval/ and so on (default: data in STEELYARD_SHARED, or in "
              "../shared).")  # fmt: skip
@output_options
def reproduce(paper: str, data: Path | None, output: OutputOptions) -> None:
    """Compute a paper's figures, and print them beside the published ones.

    Papers: paired (Better than Average: Paired Evaluation of NLP Systems). Figures whose data are
    not there are listed as not compared.
    """
    module, _, name = PAPERS[paper].partition(":")
    run = getattr(import_module(module), name)
    folder = data or Path(os.environ.get("STEELYARD_SHARED") or "../shared") / "data"
    with progress_of(f"reproducing {paper}", output) as progress:
        found = run(folder, rng=output.seed, progress=progress)
    emit(found.to_dict(), [found.table()], output, found.text())
