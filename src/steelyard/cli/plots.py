"""``--plot``: which figures a command draws, checked before any work is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from steelyard.cli.emit import note
from steelyard.cli.options import FIGURES, Names, OutputOptions
from steelyard.core.errors import UsageError
from steelyard.formats import files

F = TypeVar("F", bound=Callable[..., Any])


def plot_option(names: Sequence[str]) -> Callable[[F], F]:
    """Add ``--plot``; ``names`` are those of the command's figures, shown in its help."""
    return click.option(
        "--plot",
        type=Names(),
        help="Figures to draw into --out FILE.png (.svg, .pdf), the first by default: "
        f"{' '.join(names)}. Several go to FILE-NAME.png.",
    )


def wanted_figures(
    plot: tuple[str, ...] | None, output: OutputOptions, known: Sequence[str]
) -> tuple[str, ...]:
    """Give the names of the figures to draw, none if ``--out`` is no figure.

    ``known`` are those that can be drawn; the first is drawn where ``--plot`` names none.
    """
    drawn = output.out is not None and files.suffix(output.out) in FIGURES
    if plot is None and not drawn:
        return ()
    from steelyard.report.figures.style import chosen, need_plots

    names = chosen(plot, known) if plot else tuple(known[:1])
    if not drawn:
        expected = ", ".join(f".{kind}" for kind in FIGURES)
        raise UsageError(f"--plot {','.join(names)}: --out FILE is missing, expected {expected}")
    need_plots()
    return names


def write_figures(
    names: Sequence[str], draw: Callable[[str], Any], output: OutputOptions
) -> OutputOptions:
    """Draw and write figures, all or none; give the output options without what is written."""
    if not names:
        return output
    from steelyard.report.figures.style import write_all

    assert output.out is not None
    charts = {name: (lambda name=name: draw(name)) for name in names}
    for path in write_all(charts, output.out):
        note(f"wrote {path}", output)
    return replace(output, out=None)
