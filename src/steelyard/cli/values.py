"""What users type, read as what it stands for: names, numbers, files, columns and their values."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from steelyard.core.errors import hint

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    Type = click.ParamType[Any]
    _Choice = click.Choice[str]
else:
    Type, _Choice = click.ParamType, click.Choice  # older versions of click can't be subscripted


class Parsed(Type):
    """A text that is taken apart by ``parse``; a ValueError of it says what is wrong."""

    def parse(self, text: str) -> Any:
        """Take the text apart."""
        raise NotImplementedError

    def convert(self, value: Any, param: Any = None, ctx: Any = None) -> Any:
        """Take apart what is a text: click also gives values that were converted already."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


class Names(Parsed):
    """A list of names separated by commas; a name that holds a comma stands in double quotes."""

    name = "A,B,..."

    def __init__(self, known: Sequence[str] = ()) -> None:
        self.known = tuple(known)  # that a shell may complete; others are no error here

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Complete the last of the names."""
        from click.shell_completion import CompletionItem

        del ctx, param
        before, comma, last = incomplete.rpartition(",")
        names = (name for name in self.known if name.startswith(last))
        return [CompletionItem(f"{before}{comma}{name}") for name in names]

    def parse(self, text: str) -> tuple[str, ...]:
        """Split at commas outside quotes."""
        rows = csv.reader([text], skipinitialspace=True)
        return tuple(name for row in rows for name in row if name)


class FileName(click.types.StringParamType):
    """The name of a file or folder, which a shell completes; whoever reads it checks it."""

    name = "file"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Leave it to the shell, which knows its files."""
        from click.shell_completion import CompletionItem

        del ctx, param
        return [CompletionItem(incomplete, type="file")]


class Known(_Choice):
    """One of some names; another word is refused with the one that may have been meant.

    ``also`` are other names that people have for some of them, in small letters with hyphens.
    """

    def __init__(self, known: Sequence[str], also: Mapping[str, str] | None = None) -> None:
        super().__init__(list(known))
        self.also = also or {}

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Take a name, or refuse it in one line."""
        if isinstance(value, str) and value not in self.choices:
            self.fail(f"no '{value}'; {hint(value, self.choices, self.also)}", param, ctx)
        return value


class Finite(click.types.FloatParamType):
    """A number that is neither infinite nor none at all."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read the number."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


class Real(click.FloatRange, Finite):
    """A finite number within bounds."""


class Numbers(Parsed):
    """A list of numbers, or of whole numbers, separated by commas."""

    def __init__(self, kind: type[int | float] = float) -> None:
        self.kind = kind
        self.name = "M,N,..." if kind is int else "X,Y,..."

    def parse(self, text: str) -> tuple[Any, ...]:
        """Split at commas, and read each number."""
        try:
            found = tuple(self.kind(cell) for cell in Names().parse(text))
            good = all(math.isfinite(number) for number in found)
        except (ValueError, OverflowError):
            good, found = False, ()
        if not good:
            wanted = "whole numbers" if self.kind is int else "numbers"
            raise ValueError(f"'{text}' is not a list of {wanted}")
        return found


class Pair(Parsed):
    """A column and a value, as COL=VALUE."""

    name = "COL=VALUE"

    def parse(self, text: str) -> tuple[str, str]:
        """Split at the first equals sign."""
        column, equals, cell = text.partition("=")
        if not (column and equals):
            raise ValueError(f"'{text}' is not of the form COL=VALUE")
        return column, cell


class Roles(Parsed):
    """Roles and the columns that have them, as system=model,segment=id."""

    name = "ROLE=COL,..."

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        """Split at commas, then at the first equals sign."""
        return tuple(Pair().parse(one) for one in Names().parse(text))


class Amounts(Parsed):
    """Numbers by name, as undecided=0,critical=5."""

    name = "NAME=X,..."

    def __init__(self, least: float | None = None) -> None:
        self.least = least

    def parse(self, text: str) -> tuple[tuple[str, float], ...]:
        """Split at commas, then at the last equals sign."""
        found = []
        for one in Names().parse(text):
            name, _, cell = one.rpartition("=")
            try:
                number = float(cell)
            except ValueError:
                number = math.nan
            if not name or not math.isfinite(number):
                raise ValueError(f"'{one}' is not of the form NAME=NUMBER")
            if self.least is not None and number < self.least:
                raise ValueError(f"'{one}': expected a number of at least {self.least:g}")
            found.append((name, number))
        return tuple(found)


class Kinds(Parsed):
    """Kinds of scores, as human:a,b or metric:c."""

    name = "KIND:A,B"

    def parse(self, text: str) -> tuple[str, tuple[str, ...]]:
        """Split at the colon, then at commas."""
        kind, colon, names = text.partition(":")
        if not colon or kind not in ("human", "metric"):
            raise ValueError(f"'{text}' is not of the form human:A,B or metric:A,B")
        return kind, Names().parse(names)
