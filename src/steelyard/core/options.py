"""Options as objects: one frozen dataclass per question, checked when it is made.

Each field says once what it may be and how it is told; keyword arguments, command options with
their help, and provenance are made from it::

    @dataclass(frozen=True, kw_only=True)
    class PowerOptions(Options):
        alpha: float = fraction(0.05)
        power: float = fraction(0.8, "Power that is asked for.")
        draws: int = whole(1000, "Resamples.", least=10, flag="--bootstrap", metavar="B")

A value beyond its bounds is refused by :mod:`steelyard.core.bounds`, by the name of the field. This
module and those of the options import no NumPy: ``--help`` reads them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, wraps
from pathlib import PurePath
from typing import Any, Self, TypeVar, cast

from steelyard.core import bounds
from steelyard.core.errors import UsageError

_KEY = "option"
R = TypeVar("R")
C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Option:
    """What an option may be (``kind`` and its bounds), and how the command line tells it.

    ``flag`` is its name there if it is not that of the field, and ``none`` the word for None;
    ``word`` stands for itself where a number is expected otherwise.
    """

    kind: str
    help: str | None = None
    flag: str | None = None
    metavar: str | None = None
    none: str | None = None
    word: str | None = None
    optional: bool = False
    known: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()  # of the known names, those that commands offer; all by default
    also: Mapping[str, str] = field(default_factory=dict)  # other names, in small letters
    least: float | None = None
    most: float | None = None
    strict: bool = False
    empty: bool = False  # whether a list may be

    def meant(self, value: Any) -> Any:
        """Give the known name that another name stands for, however it is written."""
        return self.also.get(value.lower(), value) if isinstance(value, str) else value

    def check(self, name: str, value: Any) -> None:
        """Refuse a value beyond the bounds."""
        word = isinstance(value, str) and value == self.word
        if not word and not (value is None and self.optional):
            _CHECKS[self.kind](self, {name: value})


#: How a value of each kind is checked.
_CHECKS: dict[str, Callable[[Option, dict[str, Any]], object]] = {
    "whole": lambda option, given: bounds.whole(
        int(option.least or 0), None if option.most is None else int(option.most), **given
    ),
    "number": lambda option, given: bounds.number(
        option.least, option.most, strict=option.strict, **given
    ),
    "choice": lambda option, given: bounds.choice(option.known, **given),
    "names": lambda _, given: bounds.names(**given),
    "numbers": lambda option, given: bounds.numbers(option.least, empty=option.empty, **given),
    "wholes": lambda option, given: bounds.wholes(
        int(option.least or 0), empty=option.empty, **given
    ),
    "amounts": lambda option, given: bounds.amounts(option.least, **given),
    "flag": lambda _, given: bounds.flag(**given),
    "text": lambda _, given: bounds.text(**given),
    "unit": lambda _, given: bounds.unit(**given),
    "source": lambda _option, _given: None,
}


#: What a value of some kinds is from then on: a number of segments may stand there as one.
_SETTLED: dict[str, Callable[[Any], Any]] = {"unit": str}


def _field(kind: str, default: Any, said: str | None, told: dict[str, Any]) -> Any:
    option = Option(kind=kind, help=said, **{"optional": default is None, **told})
    return field(default=default, metadata={_KEY: option})


def number(default: float | None, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for a finite number between ``least`` and ``most``."""
    return _field("number", default, help, told)


def fraction(default: float | None, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for a number strictly between 0 and 1: a level, a share, a power."""
    return number(default, help, least=0, most=1, strict=True, **told)


def whole(default: int | None, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for a whole number between ``least`` and ``most``."""
    return _field("whole", default, help, told)


def bootstraps(default: int = 1000, *, least: int = 10) -> Any:
    """Give a field for the number of resamples behind intervals."""
    return whole(default, "Resamples for intervals.", least=least, flag="--bootstrap", metavar="B")


def resamples(
    default: int | None = None,
    help: str = "Draws of a test; by default 10,000, or 1,000 if that takes long.",  # noqa: A002
) -> Any:
    """Give a field for the number of draws of a test; None leaves it to the time that it takes."""
    return whole(default, help, least=1, flag="--resamples", metavar="K")


def choice(
    default: str | None,
    known: Sequence[str],
    help: str | None = None,  # noqa: A002
    **told: Any,
) -> Any:
    """Give a field for one of some known names; None is one if ``none`` or no default says so.

    ``also`` are other names in small letters, and what each stands for.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class TestOptions(Options):
    ...     scheme: str = choice("inputs", ("inputs", "cells"), also={"perm-both": "cells"})
    >>> TestOptions(scheme="PERM-BOTH")
    TestOptions(scheme='cells')
    """
    optional = default is None or told.get("none") is not None
    return _field("choice", default, help, {"optional": optional, "known": tuple(known), **told})


def names(default: Sequence[str] | None, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for a list of names."""
    return _field("names", default, help, told)


def text(default: str | None, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for a text."""
    return _field("text", default, help, told)


def unit(default: str, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for what is independent: a word, a column, or a number of segments."""
    said = help or "What is independent: tests and intervals take whole units; auto: documents or "
    said += "" if help else "prompts where ten or more are known, else segments."
    metavar = "auto|segment|document|prompt|COLUMN|N"
    return _field("unit", default, said, {"metavar": metavar, **told})


def numbers(
    default: Sequence[float] | None,
    help: str | None = None,  # noqa: A002
    **told: Any,
) -> Any:
    """Give a field for a list of finite numbers from ``least`` on."""
    return _field("numbers", default, help, {"empty": default is not None and not default} | told)


def wholes(
    default: Sequence[int] | None,
    help: str | None = None,  # noqa: A002
    **told: Any,
) -> Any:
    """Give a field for a list of whole numbers from ``least`` on."""
    return _field("wholes", default, help, {"empty": default is not None and not default} | told)


def amounts(help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for numbers by name, a mapping or pairs; by default there are none."""
    return _field("amounts", (), help, told)


def source(default: Any = None, help: str | None = None, **told: Any) -> Any:  # noqa: A002
    """Give a field for a file or what stands for one; whoever reads it checks it."""
    return _field("source", default, help, {"optional": False, **told})


def flag(
    help: str | None = None,  # noqa: A002
    *,
    default: bool | None = False,
    **told: Any,
) -> Any:
    """Give a field that is true or false, or neither where None is the default."""
    return _field("flag", default, help, told)


def _told(value: Any, option: Option) -> str | float:
    """Give a number as it is, and else one line: lists with commas, pairs with an equals sign."""
    if value is None:
        return option.none or "none"
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, (str, PurePath)):
        return str(value)
    if option.kind == "source":
        return "given"
    parts = value.items() if isinstance(value, Mapping) else value
    ordered = sorted(parts) if isinstance(parts, (set, frozenset)) else parts
    return ",".join(_part(one, option) for one in ordered)


def _part(one: Any, option: Option) -> str:
    if isinstance(one, tuple):
        return "=".join(str(_told(part, option)) for part in one)
    return f"{one:.12g}" if isinstance(one, (int, float)) else str(one)


class Options:
    """Base of the options of a question: a frozen dataclass whose fields are made above.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class PowerOptions(Options):
    ...     alpha: float = fraction(0.05)
    >>> PowerOptions(alpha=7)
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: alpha is a number strictly between 0 and 1, got 7
    """

    def __post_init__(self) -> None:
        for name, (option, usual) in _declared(type(self)).items():  # type: ignore[arg-type]
            given = getattr(self, name)
            if _is(given, usual):  # a default is within the bounds
                continue
            value = option.meant(given)
            option.check(name, value)
            settle = _SETTLED.get(option.kind)
            if settle is not None or option.also:
                object.__setattr__(self, name, settle(value) if settle else value)

    @classmethod
    def declared(cls) -> dict[str, Option]:
        """Give the declared options by the names of their fields, in order."""
        return {name: option for name, (option, _) in _declared(cls).items()}  # type: ignore[arg-type]

    def differing(self, shown: Collection[str] = ()) -> dict[str, str | float]:
        """Give the options that are not at their defaults, as a signature shows them.

        Those whose name, or flag, is among the ``shown`` are left out.

        Examples
        --------
        >>> @dataclass(frozen=True, kw_only=True)
        ... class PowerOptions(Options):
        ...     alpha: float = fraction(0.05)
        ...     tests: tuple[str, ...] = names(("t",))
        ...     draws: int = whole(1000, flag="--bootstrap")
        >>> PowerOptions(tests=("t", "sign"), draws=99).differing()
        {'tests': 't,sign', 'bootstrap': 99}
        >>> PowerOptions(tests=("t", "sign"), draws=99).differing(shown=["tests", "bootstrap"])
        {}
        """
        known = {name.replace("-", "_") for name in shown}
        declared = self.declared()
        found = {}
        for one in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            if _is(getattr(self, one.name), one.default):
                continue
            option = declared.get(one.name) or Option(kind="text")
            name = (option.flag or one.name).lstrip("-").replace("_", "-")
            value = _told(getattr(self, one.name), option)
            usual = one.default is not MISSING and value == _told(one.default, option)
            if not usual and not {one.name, name.replace("-", "_")} & known:
                found[name] = value
        return found

    @classmethod
    def take(cls, settings: dict[str, Any]) -> Self:
        """Make the object of those settings that are its fields, and take them out.

        Examples
        --------
        >>> @dataclass(frozen=True, kw_only=True)
        ... class PowerOptions(Options):
        ...     alpha: float = fraction(0.05)
        >>> settings = {"alpha": 0.1, "score": "chrF"}
        >>> PowerOptions.take(settings), settings
        (PowerOptions(alpha=0.1), {'score': 'chrF'})
        """
        own = {one.name for one in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: settings.pop(name) for name in tuple(settings) if name in own})

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Make the object of those settings that are its fields, and leave the rest."""
        return cls.take(dict(settings))


def _is(given: Any, usual: Any) -> bool:
    """Tell whether a value is surely the default, which a signature may hold a copy of."""
    if given is usual:
        return True
    return isinstance(usual, (str, float, int)) and type(given) is type(usual) and given == usual


@cache
def _declared(cls: type[Options]) -> dict[str, tuple[Option, Any]]:
    """Give the options that a class declares, each with its default."""
    return {
        one.name: (one.metadata[_KEY], one.default)
        for one in fields(cls)  # type: ignore[arg-type]  # subclasses are dataclasses
        if _KEY in one.metadata
    }


#: Spellings of one keyword; a function that has one of them takes the others.
SPELLINGS = (
    ("rng", "seed"),
    ("n_bootstrap", "bootstrap"),
    ("n_resamples", "resamples"),
    ("tests", "test"),
    ("metrics", "metric"),
    ("judges", "judge"),
    ("references", "refs", "ref"),
)


def spelled(cls: type[Options] | None = None) -> Callable[[C], C]:
    """Let a function take the command line's words for its keywords, too.

    Those are :data:`SPELLINGS`, and the flags of the options of a class.

    Examples
    --------
    >>> @spelled()
    ... def drawn(*, n_bootstrap=1000, rng=0):
    ...     return n_bootstrap, rng
    >>> drawn(bootstrap=20, seed=3), drawn(n_bootstrap=20, rng=3)
    ((20, 3), (20, 3))
    >>> drawn(seed=3, rng=3)
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: seed and rng are one option: expected one of them
    """

    def made(function: C) -> C:
        own = inspect.signature(function).parameters
        named = ((words, next((w for w in words if w in own), "")) for words in SPELLINGS)
        words = {word: name for group, name in named for word in group}
        flags = {} if cls is None else {n: o.flag for n, o in cls.declared().items() if o.flag}
        words |= {flag.lstrip("-").replace("-", "_"): name for name, flag in flags.items()}
        taken = {w: name for w, name in words.items() if name in own and w not in own}

        @wraps(function)
        def called(*args: Any, **settings: Any) -> Any:
            for word in taken.keys() & settings.keys():
                name = taken[word]
                if name in settings:
                    raise UsageError(f"{word} and {name} are one option: expected one of them")
                settings[name] = settings.pop(word)
            return function(*args, **settings)

        return cast(C, called)

    return made


def keywords(cls: type[Options]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Let a function that takes ``options`` of a class take their fields as keywords instead.

    Its signature then shows the fields where it has ``options``.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class PowerOptions(Options):
    ...     alpha: float = fraction(0.05)
    >>> @keywords(PowerOptions)
    ... def power(n, *, options):
    ...     return n, options
    >>> power(3, alpha=0.1), str(inspect.signature(power))
    ((3, PowerOptions(alpha=0.1)), "(n, *, alpha: 'float' = 0.05)")
    """

    def told(function: Callable[..., R]) -> Callable[..., R]:
        @wraps(function)
        def called(*args: Any, **settings: Any) -> R:
            if "options" not in settings:
                settings["options"] = cls.take(settings)
            return function(*args, **settings)

        signature = inspect.signature(function)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            own = inspect.signature(cls).parameters.values()
            parameters += own if parameter.name == "options" else [parameter]
        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return spelled(cls)(called)

    return told
