"""Command options made from the fields of option objects (:mod:`steelyard.core.options`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import click

from steelyard.cli.options import F
from steelyard.cli.values import Amounts, FileName, Finite, Known, Names, Numbers, Real
from steelyard.cli.wording import spoken
from steelyard.core.options import Option, Options


def from_fields(cls: type[Options], *names: str) -> Callable[[F], F]:
    """Add options of a class to a command: those of the fields named, or all, in that order.

    The command receives each value under the name of its field, and ``cls.take(settings)`` makes
    the object of them.
    """
    declared = cls.declared()
    defaults = {one.name: one.default for one in fields(cls)}  # type: ignore[arg-type]
    flags = {name: _flag(name, option) for name, option in declared.items()}

    def added(command: F) -> F:
        for name in reversed(names or tuple(declared)):
            option = declared[name]
            told = None if option.help is None else spoken(option.help, flags)
            command = _option(name, replace(option, help=told), defaults[name])(command)
        return command

    return added


def _flag(name: str, option: Option) -> str:
    return option.flag or "--" + name.replace("_", "-")


def _option(name: str, option: Option, default: Any) -> Callable[[F], F]:
    flag = _flag(name, option)
    if option.kind == "flag":
        return click.option(flag, name, is_flag=True, default=default, help=option.help)
    word = option.none  # what stands for None
    shown = word if default is None else default
    if isinstance(default, tuple):
        shown = ",".join(one if isinstance(one, str) else f"{one:g}" for one in default) or ()
    return click.option(
        flag,
        name,
        type=_type(option),
        default=shown,
        show_default=shown is not None,
        help=option.help,
        metavar=option.metavar,
        callback=None if word is None else lambda _ctx, _param, found: _unless(word, found),
    )


def _unless(word: str, found: Any) -> Any:
    return None if found == word else found


class _Known(Known):
    """One of some names, or another name of one of them."""

    def __init__(self, option: Option) -> None:
        offered = option.offered or option.choices
        super().__init__([*offered, *([option.none] if option.none else [])])
        self.option = option

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Take what the name stands for."""
        return super().convert(self.option.meant(value), param, ctx)


class _OrWord(Real):
    """A number within bounds, or a word."""

    def __init__(self, word: str, least: float | None, most: float | None, *, strict: bool) -> None:
        super().__init__(least, most, min_open=strict, max_open=strict and most is not None)
        self.word = word

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Let the word pass."""
        return value if value == self.word else super().convert(value, param, ctx)


def _type(option: Option) -> Any:
    least, most, strict = option.least, option.most, option.strict
    if option.kind == "choice":
        return _Known(option)
    if option.kind == "whole":
        low, high = (None if end is None else int(end) for end in (least, most))
        return click.IntRange(low, high)
    word = option.none or option.word
    if option.kind == "number" and word:
        return _OrWord(word, least, most, strict=strict)
    if option.kind == "number" and (least is not None or most is not None):
        return Real(least, most, min_open=strict, max_open=strict and most is not None)
    kinds = {"number": Finite(), "names": Names(option.choices), "numbers": Numbers(),
             "wholes": Numbers(int), "amounts": Amounts(least), "source": FileName()}  # fmt: skip
    return kinds.get(option.kind, str)
