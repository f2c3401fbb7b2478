"""What the commands of ``steelyard study`` share: where results go, which curves are drawn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit
from steelyard.cli.options import FIGURES, SUFFIXES, Names, OutputOptions, output_options

if TYPE_CHECKING:
    from steelyard.studies.study import Study

study_output = partial(output_options, suffixes=(*SUFFIXES, *FIGURES))
plot_option = click.option(
    "--plot", type=Names(), help="Curves that a figure shows, by name; all by default."
)


def emit_study(found: Study, plot: tuple[str, ...] | None, output: OutputOptions) -> None:
    """Print and write a study; a figure has the chosen curves."""
    curves = found.curves if plot is None else [found.curve(name) for name in plot]

    def draw() -> Any:
        from steelyard.report.figures.curves import draw_curves

        return draw_curves(curves)

    emit(found.to_dict(), list(found.tables.values()), output, draw=draw)
