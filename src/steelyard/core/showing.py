"""What every result is to a person: words first, then a table, then a figure.

A class of results says its ``words()``, its ``table()`` and, in a line, its ``__repr__``; how these
are printed, and shown in a notebook, is written here once.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from dataclasses import replace
from typing import Any

from steelyard.core.cautions import brief
from steelyard.core.errors import MissingDependencyError, OutOfMemoryError
from steelyard.core.painter import the_painter
from steelyard.core.screen import PLAIN, Screen
from steelyard.core.summary import Summary
from steelyard.core.table import Table, escape_html
from steelyard.core.terminal import names_in, result_text


class Shown:
    """A result that people look at: in a terminal, in a notebook, as a figure.

    A dataclass that is one is made with ``repr=False``: its fields would fill a screen.
    """

    __slots__ = ()

    @abstractmethod
    def words(self) -> Summary:
        """Say what was found: what can be concluded, what stays open, how sure that is."""

    @abstractmethod
    def table(self) -> Table:
        """Give the table that people look at first."""

    def tables(self) -> list[Table]:
        """Give all tables that the command prints, the first one first."""
        return [self.table()]

    def pieces(self) -> list[Table | str]:
        """Give what is printed after the words: tables, and texts where a result has them."""
        return [*self.tables()]

    def summary(self) -> str:
        """Say what was found in sentences."""
        return self.words().text()

    def text(self, screen: Screen = PLAIN) -> str:
        """Give what the command prints: the answer in words, tables, what is to be minded."""
        pieces = self.pieces()
        names = names_in(one for one in pieces if isinstance(one, Table))
        warnings = brief(getattr(self, "warnings", ()), names, "warnings")
        minded = "\n".join(f"warning: {text}" for text in warnings)
        return result_text(self.words().brief(), [*pieces, minded], screen)

    def __str__(self) -> str:
        # Whoever prints it wants it to fit; whoever keeps it wants no codes of colours in it.
        return self.text(replace(Screen.of(sys.stdout), colour=False))

    def plot(self, kind: str | None = None) -> Any:
        """Draw a figure, an Altair chart; ``kind`` is one of those that ``--plot`` knows."""
        return the_painter().draw(self, kind)

    def _repr_html_(self) -> str:
        """Show the result in a notebook: words, table, and the usual figure if it can be drawn."""
        said = "".join(f"<p>{escape_html(line)}</p>" for line in self.words().sentences())
        return f"<div>{said}{self.table().html()}{self._figure()}</div>"

    def _figure(self) -> str:
        try:
            return the_painter().picture(self)
        except (MissingDependencyError, OutOfMemoryError) as error:
            return f"<p>{escape_html(str(error))}</p>"
