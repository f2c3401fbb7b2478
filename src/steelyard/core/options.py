"""Checks of arguments, and options as frozen dataclasses that are checked when they are made.

A check takes arguments by their names: ``check_number(0, effect=effect)``. Each field of an options
class declares once what it may be; keyword arguments, flags, help and provenance follow from it.
This module and those that declare options import no NumPy, because ``--help`` reads them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial, wraps
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any, NamedTuple, Self, TypeVar

from steelyard.core.errors import UsageError, hint

R = TypeVar("R")
MAX_COUNT = 10**9  # of anything that is counted: more would fill any memory
_KEY = "option"  # in the metadata of a field


def bad_value(name: str, expected: str, value: object) -> UsageError:
    """Return the error of an argument that is not what it should be."""
    shown = repr(value)
    if len(shown) > 60 or "\n" in shown or " object at 0x" in shown:  # a frame, an array, ...
        shown = f"a {type(value).__name__}"
    return UsageError(f"{name} is {expected}, got {shown}")


@dataclass(frozen=True, kw_only=True)
class Option:
    """What an option may be (``kind`` and its bounds), and how the command line calls it."""

    kind: str
    help: str | None = None
    flag: str | None = None  # its name on the command line, if not that of the field
    metavar: str | None = None
    none: str | None = None  # the word for None there
    word: str | None = None  # a value beside numbers
    optional: bool = False
    choices: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()  # of the choices, those that commands offer; all by default
    also: Mapping[str, str] = field(default_factory=dict)  # other names, in small letters
    least: float | None = None
    most: float | None = None
    strict: bool = False
    empty: bool = False  # whether a list may be

    def meant(self, value: Any) -> Any:
        """Return the known name that another name stands for, whatever its case."""
        return self.also.get(value.lower(), value) if isinstance(value, str) else value

    def check(self, name: str, value: Any) -> None:
        """Raise UsageError for a value beyond the bounds."""
        if (value is None and self.optional) or (isinstance(value, str) and value == self.word):
            return
        kind, elements = _KINDS.get(self.kind, _OTHER), [value]
        if kind.listed:
            pairs = value.items() if isinstance(value, Mapping) else value
            elements = list(pairs) if _is_list(pairs) else [None]
        if not all(kind.valid(self, element) for element in elements):
            raise bad_value(name, self._expected(elements), value)
        if not elements and not self.empty:
            raise bad_value(name, f"{self._expected([])}, at least one of them", value)
        if self.kind == "choice" and value not in self.choices:
            choices = hint(value, self.choices)
            raise UsageError(f"unknown {name.replace('_', ' ')} '{value}'; {choices}")

    def _expected(self, elements: list[Any]) -> str:
        """Say what was expected instead of a value or of a list of them."""
        kind, bounds = _KINDS[self.kind], self
        if kind.valid is _is_whole:
            large = any(isinstance(x, Integral) and int(x) > MAX_COUNT for x in elements)
            most = MAX_COUNT if large and self.most is None else self.most
            bounds = replace(self, least=self.least or 0, most=most)
        return kind.words.format(bounds.range(kind.noun), choices=", ".join(self.choices))

    def contains(self, value: Any) -> bool:
        """Tell whether a value is a finite number within the bounds."""
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number beyond all floats
            return False
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        inside = low < number < high or (number in (low, high) and not self.strict)
        return math.isfinite(number) and inside

    def range(self, noun: str) -> str:
        """Return the bounds in words."""
        low, high = self.least, self.most
        if low is None and high is None:
            return f"finite {noun}"
        if high is None:
            return f"{noun} {'above' if self.strict else 'of at least'} {low:,}"
        if low is None:
            return f"{noun} {'below' if self.strict else 'of at most'} {high:,}"
        return f"{noun} {'strictly ' if self.strict else ''}between {low:,} and {high:,}"


def _is_whole(option: Option, value: Any) -> bool:
    return isinstance(value, Integral) and option.contains(value) and 0 <= int(value) <= MAX_COUNT


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))


def _is_unit(_: Option, value: Any) -> bool:
    if isinstance(value, str) and not value.isdecimal():
        return bool(value.strip())
    number = int(value) if isinstance(value, str) else value
    return _is_whole(Option(kind="whole", least=1), number)


def _are_names(_: Option, value: Any) -> bool:
    listed = isinstance(value, Collection) and not isinstance(value, (str, bytes))
    return listed and all(isinstance(name, str) for name in value)


def _is_pair(option: Option, value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2 and _are_names(option, value)


class _Kind(NamedTuple):
    """What a value, or each element of a list, must be; ``words`` hold the bounds of ``noun``."""

    valid: Callable[[Option, Any], object]
    words: str
    noun: str = ""
    listed: bool = False


_KINDS = {
    "whole": _Kind(_is_whole, "a {}", "whole number"),
    "wholes": _Kind(_is_whole, "a list of {}", "whole numbers", listed=True),
    "number": _Kind(Option.contains, "a {}", "number"),
    "numbers": _Kind(Option.contains, "a list of {}", "numbers", listed=True),
    "choice": _Kind(lambda _, x: isinstance(x, str), "one of {choices}"),
    "text": _Kind(lambda _, x: isinstance(x, str) and x, "a text"),
    "unit": _Kind(_is_unit, "a word, a column or a number of segments"),
    "names": _Kind(_are_names, "a list of names"),
    "pair": _Kind(_is_pair, "two names"),
    # Not the class: NumPy's booleans count, and NumPy is not loaded for --help.
    "flag": _Kind(lambda _, x: type(x).__name__ in ("bool", "bool_"), "True or False"),
    "function": _Kind(lambda _, x: callable(x), "a function"),
}
_OTHER = _Kind(lambda *_: True, "")  # files, pairs, ...: whoever reads them checks them


def check(
    kind: str,
    least: float | None = None,
    most: float | None = None,
    /,
    *,
    strict: bool = False,
    optional: bool = False,
    **values: Any,
) -> None:
    """Raise UsageError for the first of some arguments that is not of a kind and within bounds."""
    bounds = Option(kind=kind, least=least, most=most, strict=strict, optional=optional)
    for name, value in values.items():
        bounds.check(name, value)


check_whole = partial(check, "whole")
check_number = partial(check, "number")
check_numbers = partial(check, "numbers")
check_text = partial(check, "text")
check_unit = partial(check, "unit")
check_names = partial(check, "names")
check_pair = partial(check, "pair")
check_flag = partial(check, "flag")
check_function = partial(check, "function")


def check_share(*, optional: bool = False, **values: Any) -> None:
    """Raise UsageError for what is not at least 0 and below 1."""
    check_number(0, optional=optional, **values)
    check_number(None, 1, strict=True, optional=optional, **values)


def check_choice(choices: Collection[str], /, *, optional: bool = False, **values: Any) -> None:
    """Raise UsageError for an unknown name, with the nearest known one."""
    option = Option(kind="choice", choices=tuple(choices), optional=optional)
    for name, value in values.items():
        option.check(name, value)


def check_instance(
    types: type | tuple[type, ...], expected: str, /, *, optional: bool = False, **values: Any
) -> None:
    """Raise UsageError for what is of another type."""
    for name, value in values.items():
        if not (optional and value is None) and not isinstance(value, types):
            raise bad_value(name, expected, value)


def as_tuple(types: type | tuple[type, ...] = str, /, **values: Any) -> tuple[Any, ...]:
    """Return one name, or a list of at least one, as a tuple."""
    ((name, value),) = values.items()
    elements = (value,) if isinstance(value, types) else tuple(value) if _is_list(value) else ()
    if not elements or not all(isinstance(element, types) for element in elements):
        raise bad_value(name, "a name or a list of names", value)
    return elements


def as_list(element_type: type, /, **values: Any) -> list[Any]:
    """Return any number of things of one type as a list."""
    ((name, value),) = values.items()
    elements = list(value) if _is_list(value) else [None]
    if not all(isinstance(element, element_type) for element in elements):
        noun = "texts" if element_type is str else element_type.__name__
        raise bad_value(name, f"a list of {noun}", value)
    return elements


def option(kind: str, default: Any, help: str | None = None, **settings: Any) -> Any:  # noqa: A002
    """Return a dataclass field for an option; ``settings`` are fields of :class:`Option`."""
    settings.setdefault("optional", default is None or settings.get("none") is not None)
    settings.setdefault("empty", default is not None and not default)
    return field(default=default, metadata={_KEY: Option(kind=kind, help=help, **settings)})


number = partial(option, "number")
fraction = partial(option, "number", least=0, most=1, strict=True)
whole = partial(option, "whole")
names = partial(option, "names")
text = partial(option, "text")
numbers = partial(option, "numbers")
wholes = partial(option, "wholes")
source = partial(option, "source")  # a file, or what stands for one


def flag(help: str | None = None, **settings: Any) -> Any:  # noqa: A002
    """Return a field that is true or false, or neither where ``default=None``."""
    return option("flag", settings.pop("default", False), help, **settings)


def choice(default: str | None, choices: Sequence[str], help: str = "", **settings: Any) -> Any:  # noqa: A002
    """Return a field for one of some known names."""
    return option("choice", default, help or None, choices=tuple(choices), **settings)


def bootstraps(least: int = 10) -> Any:
    """Return a field for the number of resamples behind intervals."""
    return whole(1000, "Resamples for intervals.", least=least, flag="--bootstrap", metavar="B")


def resamples(
    default: int | None = None,
    help: str = "Draws of a test; by default 10,000, or 1,000 if that takes long.",  # noqa: A002
) -> Any:
    """Return a field for the number of draws of a test; None lets its running time decide."""
    return whole(default, help, least=1, flag="--resamples", metavar="K")


def unit(default: str, help: str | None = None, **settings: Any) -> Any:  # noqa: A002
    """Return a field for what is independent: a word, a column, or a number of segments."""
    usual = "What is independent: tests and intervals take whole units; auto: documents or "
    usual += "prompts where ten or more are known, else segments."
    settings.setdefault("metavar", "auto|segment|document|prompt|COLUMN|N")
    return option("unit", default, help or usual, **settings)


def _signature_value(value: Any, option: Option) -> str | float:
    """Return a number as it is, anything else as one line: ``a,b`` or ``a=1,b=2``."""
    if value is None:
        return option.none or "none"
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, PurePath) or option.kind == "source":
        return str(value) if isinstance(value, PurePath) else "given"
    parts = value.items() if isinstance(value, Mapping) else value
    parts = sorted(parts) if isinstance(parts, (set, frozenset)) else parts
    texts = []
    for part in parts:
        if isinstance(part, tuple):
            texts.append("=".join(str(_signature_value(element, option)) for element in part))
        else:
            texts.append(f"{part:.12g}" if isinstance(part, (int, float)) else str(part))
    return ",".join(texts)


class Options:
    """Base of the options of a question: a frozen dataclass whose fields are made above."""

    def __post_init__(self) -> None:
        for item in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            option, value = item.metadata.get(_KEY), getattr(self, item.name)
            if option is None or _is_default(value, item.default):  # which is within the bounds
                continue
            value = option.meant(value)
            option.check(item.name, value)
            if option.kind == "unit":
                value = str(value)  # a number of segments
            object.__setattr__(self, item.name, value)

    @classmethod
    def declared(cls) -> dict[str, Option]:
        """Return the declared options by the names of their fields, in order."""
        items = fields(cls)  # type: ignore[arg-type]  # subclasses are dataclasses
        return {item.name: item.metadata[_KEY] for item in items if _KEY in item.metadata}

    def differing(self, shown: Collection[str] = ()) -> dict[str, str | float]:
        """Return options beyond their defaults, as a signature shows them, without ``shown``."""
        hidden = {name.replace("-", "_") for name in shown}
        values: dict[str, str | float] = {}
        for item in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            option = item.metadata.get(_KEY) or Option(kind="text")
            flag = (option.flag or item.name).lstrip("-").replace("_", "-")
            value, default = getattr(self, item.name), item.default
            if _is_default(value, default) or {item.name, flag.replace("-", "_")} & hidden:
                continue
            shown_value = _signature_value(value, option)
            if default is MISSING or shown_value != _signature_value(default, option):
                values[flag] = shown_value
        return values

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Self:
        """Make the object of those settings that are its fields, and remove them."""
        names = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: settings.pop(name) for name in tuple(settings) if name in names})

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Make the object of those settings that are its fields, and leave the rest."""
        return cls.take(dict(settings))


def _is_default(value: Any, default: Any) -> bool:
    """Tell whether a value is surely the default, of which a signature may hold a copy."""
    simple = isinstance(default, (str, float, int)) and type(value) is type(default)
    return value is default or (simple and value == default)


def keywords(
    cls: type[Options], hidden: Collection[str] = ()
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Let a function take the fields of ``options`` that are not hidden as keywords instead."""

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        @wraps(function)
        def call(*args: Any, **settings: Any) -> R:
            if "options" not in settings:
                shown = {name: settings.pop(name) for name in tuple(settings) if name not in hidden}
                settings["options"] = cls.take(shown)
                settings |= shown
            return function(*args, **settings)

        signature, options = inspect.signature(function), inspect.signature(cls)
        shown = [p for p in options.parameters.values() if p.name not in hidden]
        every = ([p] if p.name != "options" else shown for p in signature.parameters.values())
        parameters = [p for some in every for p in some]
        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call

    return decorate
