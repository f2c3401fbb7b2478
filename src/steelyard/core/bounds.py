"""What an option may be: numbers within bounds, names that are known, seeds.

Each check takes options by their names, so that one line at the head of a function refuses what
makes no sense before any work is done::

    bounds.fraction(alpha=alpha, power=power)
    bounds.whole(10, n_bootstrap=n_bootstrap)

With ``optional=True`` None passes. True and False are no numbers here.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from steelyard.core.errors import UsageError, hint

_WORDS = {  # what a choice is of, where its name does not say so
    "ties": "treatment of ties",
    "ties_as": "treatment of ties",
    "pa_ties": "treatment of ties",
    "clusters": "rule for clusters",
    "intervals": "unit of resampling",
}
MOST = 10**9  # of anything that is counted: more would fill any memory


def fail(name: str, expected: str, value: object) -> UsageError:
    """Make the error of an option that is not what it should be.

    Examples
    --------
    >>> print(fail("epsilon", "a number of at least 0", -1))
    epsilon is a number of at least 0, got -1
    """
    shown = repr(value)
    if len(shown) > 60 or "\n" in shown or " object at 0x" in shown:  # a frame, an array, ...
        shown = f"a {type(value).__name__}"
    return UsageError(f"{name} is {expected}, got {shown}")


def _bounds(what: str, least: float | None, most: float | None, *, strict: bool = False) -> str:
    low, high = ("above", "below") if strict else ("of at least", "of at most")
    if least is not None and most is not None:
        return f"{what} {'strictly ' if strict else ''}between {least:,} and {most:,}"
    if least is not None:
        return f"{what} {low} {least:,}"
    return f"{what} {high} {most:,}" if most is not None else f"a finite {what.removeprefix('a ')}"


def _given(given: dict[str, Any], *, optional: bool) -> list[tuple[str, Any]]:
    return [(name, one) for name, one in given.items() if not (optional and one is None)]


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _is_whole(value: object, least: int, most: int | None) -> bool:
    if isinstance(value, bool) or not isinstance(value, Integral):
        return False
    return least <= int(value) and (most is None or int(value) <= most)


def whole(
    least: int = 0, most: int | None = None, /, *, optional: bool = False, **given: Any
) -> None:
    """Refuse what is no whole number from ``least`` on.

    Examples
    --------
    >>> whole(1, draws=0)
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: draws is a whole number of at least 1, got 0
    """
    for name, value in _given(given, optional=optional):
        if not _is_whole(value, least, MOST if most is None else most):
            shown = MOST if _is_whole(value, least, None) and most is None else most
            raise fail(name, _bounds("a whole number", least, shown), value)


def number(
    least: float | None = None,
    most: float | None = None,
    /,
    *,
    strict: bool = False,
    optional: bool = False,
    **given: Any,
) -> None:
    """Refuse what is no finite number within bounds, which do not belong to it if ``strict``.

    Examples
    --------
    >>> number(0, threshold=float("nan"))
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: threshold is a number of at least 0, got nan
    """
    for name, value in _given(given, optional=optional):
        good = _is_number(value)
        if good and least is not None:
            good = value > least or (value == least and not strict)
        if good and most is not None:
            good = value < most or (value == most and not strict)
        if not good:
            raise fail(name, _bounds("a number", least, most, strict=strict), value)


def fraction(*, optional: bool = False, **given: Any) -> None:
    """Refuse what does not lie between 0 and 1, ends excluded: levels, shares, powers.

    Examples
    --------
    >>> fraction(alpha=7)
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: alpha is a number strictly between 0 and 1, got 7
    """
    number(0, 1, strict=True, optional=optional, **given)


def share(*, optional: bool = False, **given: Any) -> None:
    """Refuse what is not at least 0 and below 1."""
    for name, value in _given(given, optional=optional):
        if not _is_number(value) or not 0 <= value < 1:
            raise fail(name, "a number of at least 0 and below 1", value)


def wholes(least: int, /, *, optional: bool = False, empty: bool = False, **given: Any) -> None:
    """Refuse what is no list of at least one whole number from ``least`` on."""
    for name, value in _given(given, optional=optional):
        expected = f"a list of whole numbers of at least {least} and at most {MOST:,}"
        for one in _listed(name, value, expected, empty=empty):
            if not _is_whole(one, least, MOST):
                raise fail(name, expected, value)


def numbers(
    least: float | None = None, /, *, optional: bool = False, empty: bool = False, **given: Any
) -> None:
    """Refuse what is no list of finite numbers from ``least`` on."""
    for name, value in _given(given, optional=optional):
        expected = "a list of " + _bounds("numbers", least, None).replace("a finite", "finite")
        for one in _listed(name, value, expected, empty=empty):
            if not _is_number(one) or (least is not None and one < least):
                raise fail(name, expected, value)


def amounts(least: float | None = None, /, **given: Any) -> dict[str, float]:
    """Give numbers by name, from a mapping or from pairs, each of at least ``least``.

    Examples
    --------
    >>> amounts(0, severity={"minor": -1})
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: severity is names and numbers of at least 0, as
    {'minor': 1}, got {'minor': -1}
    """
    ((name, value),) = given.items()
    expected = f"{_bounds('names and numbers', least, None)}, as {{'minor': 1}}"
    pairs = list(value.items()) if isinstance(value, Mapping) else value
    for pair in _listed(name, pairs, expected, empty=True):
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str)):
            raise fail(name, expected, value)
        if not _is_number(pair[1]) or (least is not None and pair[1] < least):
            raise fail(name, expected, dict([pair]))
    return dict(pairs)


def _listed(name: str, value: Any, expected: str, *, empty: bool = False) -> list[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise fail(name, expected, value)
    found = list(value)
    if not found and not empty:
        raise fail(name, f"{expected}, at least one of them", value)
    return found


def choice(known: Collection[str], /, *, optional: bool = False, **given: Any) -> None:
    """Refuse a name that nobody knows, showing the nearest one.

    Examples
    --------
    >>> choice(("holm", "none"), correction="hulm")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: unknown correction 'hulm'; did you mean 'holm'? Known: holm,
    none
    """
    for name, value in _given(given, optional=optional):
        if not isinstance(value, str):
            raise fail(name, f"one of {', '.join(known)}", value)
        if value not in known:
            what = _WORDS.get(name, name.replace("_", " "))
            raise UsageError(f"unknown {what} '{value}'; {hint(value, known)}")


def text(*, optional: bool = False, **given: Any) -> None:
    """Refuse what is no text, or an empty one."""
    for name, value in _given(given, optional=optional):
        if not (isinstance(value, str) and value):
            raise fail(name, "a text", value)


def unit(*, optional: bool = False, **given: Any) -> None:
    """Refuse what names no unit: a word, a column, or a number of consecutive segments.

    Examples
    --------
    >>> unit(unit="document")
    >>> unit(unit=0)
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: unit is a word, a column or a number of segments, got 0
    """
    for name, value in _given(given, optional=optional):
        digits = isinstance(value, str) and value.isdecimal()
        number = isinstance(value, Integral) and not isinstance(value, bool)
        whole = (digits or number) and 0 < int(value) <= MOST
        word = isinstance(value, str) and value.strip() and not digits
        if not (word or whole):
            raise fail(name, "a word, a column or a number of segments", value)


def names(*, optional: bool = False, **given: Any) -> None:
    """Refuse what is no list of names; a single text is none, for it would be read as letters.

    Examples
    --------
    >>> names(systems="AB")
    Traceback (most recent call last):
    steelyard.core.errors.UsageError: systems is a list of names, got the string 'AB'
    """
    for name, value in _given(given, optional=optional):
        if isinstance(value, str):
            raise UsageError(f"{name} is a list of names, got the string '{value}'")
        listed = isinstance(value, Collection) and not isinstance(value, bytes)
        if not listed or not all(isinstance(one, str) for one in value):
            raise fail(name, "a list of names", value)


def pair(**given: Any) -> None:
    """Refuse what is not two names."""
    for name, value in given.items():
        two = isinstance(value, (tuple, list)) and len(value) == 2
        if not two or not all(isinstance(one, str) for one in value):
            raise fail(name, "two names", value)


def listed(kinds: type | tuple[type, ...] = str, /, **given: Any) -> tuple[Any, ...]:
    """Give one name, or a list of at least one, as a tuple.

    Examples
    --------
    >>> listed(by="mean"), listed(by=["mean", "bt"])
    (('mean',), ('mean', 'bt'))
    """
    ((name, value),) = given.items()
    if isinstance(value, kinds):
        return (value,)
    found = _listed(name, value, "a name or a list of names")
    if not all(isinstance(one, kinds) for one in found):
        raise fail(name, "a name or a list of names", value)
    return tuple(found)


def flag(*, optional: bool = False, **given: Any) -> None:
    """Refuse what is neither True nor False: a text such as ``"no"`` would count as True."""
    for name, value in _given(given, optional=optional):
        if type(value).__name__ not in ("bool", "bool_"):
            raise fail(name, "True or False", value)


def items(kind: type, /, **given: Any) -> list[Any]:
    """Give any number of things of one type as a list."""
    ((name, value),) = given.items()
    expected = "a list of texts" if kind is str else f"a list of {kind.__name__}"
    found = _listed(name, value, expected, empty=True)
    if not all(isinstance(one, kind) for one in found):
        raise fail(name, expected, value)
    return found


def function(*, optional: bool = False, **given: Any) -> None:
    """Refuse what can't be called."""
    for name, value in _given(given, optional=optional):
        if not callable(value):
            raise fail(name, "a function", value)


def instance(
    kinds: type | tuple[type, ...], expected: str, /, *, optional: bool = False, **given: Any
) -> None:
    """Refuse what is of another type; ``expected`` says in words what is wanted."""
    for name, value in _given(given, optional=optional):
        if not isinstance(value, kinds):
            raise fail(name, expected, value)
