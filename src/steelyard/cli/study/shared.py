"""What commands of studies share: their figures, and those that weigh metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.group import JUDGED, command
from steelyard.cli.output import emit, progress_of, wants_figure
from steelyard.cli.params import (
    F,
    FileName,
    InputOptions,
    Names,
    OutputOptions,
    figure_options,
    from_fields,
    input_options,
    need_inputs,
)
from steelyard.core.options import Options
from steelyard.studies.metrics.options import (
    META,
)

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.studies.results import Study

INPUTS = click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
EACH = click.option("--each", metavar="COLUMN", help="One set for every value of this column.")
PLOT = click.option(
    "--plot", type=Names(), help="Curves that a figure shows, by name; all by default."
)


def each_set(inputs: tuple[str, ...], column: str, options: InputOptions) -> dict[str, EvalSet]:
    """Load a set for every value of a column."""
    from steelyard.formats.load import column_values

    found = {}
    for value in column_values(*inputs, column=column):
        es = replace(options, where=(*options.where, (column, value))).load(inputs)
        files = (replace(file, chosen=(*file.chosen, ("each", column))) for file in es.inputs)
        found[value] = replace(es, inputs=tuple(files))
    return found


def emit_study(found: Study, plot: tuple[str, ...] | None, output: OutputOptions) -> None:
    """Print and write a study; a figure has the chosen curves."""
    from steelyard.human.results import brief_pairs

    curves = found.curves if plot is None else [found.curve(name) for name in plot]

    def draw() -> Any:
        from steelyard.report.figures.curves import draw_curves

        return draw_curves(curves)

    brief = {"identical": brief_pairs}
    tables = {
        name: brief[name](table, "--json") if name in brief else table
        for name, table in found.parts.items()
    }
    shown = [table for table in tables.values() if table.rows]
    emit(found, list(found.parts.values()), output, draw=draw, shown=shown)


def _plain(command: F) -> F:
    return command


def meta_command(
    cls: type[Options], *examples: str, plots: bool = True, default: tuple[str, ...] = META
) -> Callable[[Callable[[], tuple[str, Callable[..., Study]]]], click.Command]:
    """Make a command of a study of meta-evaluations, from its title and its function."""

    def made(asked: Callable[[], tuple[str, Callable[..., Study]]]) -> click.Command:
        @command(asked.__name__, shape=JUDGED, examples=examples, help=asked.__doc__)
        @INPUTS
        @click.option("--by", type=Names(), default=",".join(default), show_default=True,
                      help="Meta-metrics, as for steelyard meta.")  # fmt: skip
        @from_fields(cls)
        @(PLOT if plots else _plain)
        @input_options
        @figure_options
        def study(
            inputs: tuple[str, ...],
            by: tuple[str, ...],
            options: InputOptions,
            output: OutputOptions,
            plot: tuple[str, ...] | None = None,
            **settings: Any,
        ) -> None:
            title, run = asked()
            need_inputs(inputs)
            wants_figure(output)
            es = options.load(inputs)
            how: dict[str, Any] = {"by": by, "options": cls(**settings), "rng": output.seed}
            with progress_of(title, output) as progress:
                found = run(es, options.human, progress=progress, **how)
            emit_study(found, plot, output)

        return study

    return made
