"""What stands in an output without being linked there: digits, names, parts and derived words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from steelyard.kobe.forms import Forms
from steelyard.kobe.mention import Mention

Spans = Sequence[tuple[int, int]]
_PARTS = re.compile(r"[\s·・‧]+")  # between the parts of a person's name
_LEAST = 3  # letters of a name that is looked for in an output as it stands
_DERIVED, _ENDING = 5, 4  # letters that a derived word has of a name, and that it may lack
_TERM_ENDINGS = frozenset(("", "s", "es", "n", "en", "e", "er", "em", "ns", "ens", "a", "i"))
_COUNTED = ("ordinal", "date")  # written with letters or a dot, or without: 24th, 24.
#: Letters of a name that may stand in capitals, and of one of several words that may lack them.
_SHOUTED, _SEVERAL = 4, 8
_UNSPACED = "\u0e00"  # scripts from here on are mostly written without blanks


def standing(
    mention: Mention, output: str, taken: tuple[Spans, Spans], forms: Forms | None
) -> Mention | None:
    """Find digits, a name of the target language, a part of a person's name, or a derived word.

    ``taken`` are the spans of mentions that are paired, and of all mentions.
    """
    used, linked = taken
    plain = any(c.isdecimal() for c in mention.text) and not any(c.isalpha() for c in mention.text)
    if plain or mention.category in _COUNTED:
        return _digits(mention, output, used)
    names = () if forms is None else forms.of(mention)
    for name in (*names, *_surnames(mention, names)):
        if len(name) >= _LEAST or name.isupper() or name[:1] >= _UNSPACED:
            found = written(name, output, used, mention, "literal")
            if found is not None:
                return found
    derived = (_derived(name, output, linked, mention) for name in names)
    return next((found for found in derived if found is not None), None)


def _derived(name: str, output: str, linked: Spans, mention: Mention) -> Mention | None:
    """Find a word that begins as a name does: Libyan, Sonntagsfahrt, or beijing.

    A word that is linked by itself means something else: Nigeria is not of Niger.

    Examples
    --------
    >>> a = Mention(0, 1, "a", "a", "country")
    >>> [_derived(name, "Viennese and Libyans", [], a) is None for name in ("Vienna", "Viet Nam")]
    [False, True]
    """
    if len(name) < _DERIVED or name[:1] >= _UNSPACED:
        return None
    ending = _ENDING if mention.group in ("place", "name") else 0
    stem = name[: max(_DERIVED, len(name) - ending)]
    for found in re.finditer(rf"\b{re.escape(stem)}\w*", output, re.IGNORECASE):
        start, end = found.span()
        if mention.group == "term" and not _is_form(found[0][len(stem) :]):
            continue
        if all(end <= s or e <= start for s, e in linked):
            return mention._replace(start=start, end=end, text=output[start:end], rule="literal")
    return None


def _is_form(tail: str) -> bool:
    """Tell whether what follows a term makes a form or a compound of it: sleds, but not sledge.

    Examples
    --------
    >>> [_is_form(tail) for tail in ("", "s", "ge", "handbuch")]
    [True, True, False, True]
    """
    return tail in _TERM_ENDINGS or len(tail) > _ENDING


def _surnames(mention: Mention, names: Iterable[str]) -> list[str]:
    """Give the last parts of names of people and currencies, which are often named by them alone.

    Examples
    --------
    >>> _surnames(Mention(0, 13, "Ангелу Меркель", 1, "person"), ["Angela Merkel", "Merkel"])
    ['Меркель', 'Merkel']
    """
    if mention.category not in ("person", "currency"):
        return []
    parts = [_PARTS.split(name.strip()) for name in (mention.text, *names)]
    return list(dict.fromkeys(own[-1] for own in parts if len(own) > 1 and len(own[-1]) > 1))


def _digits(mention: Mention, output: str, used: Spans) -> Mention | None:
    """Find the same digits in the output, in a word (A320) or beside a hyphen, but no part of more.

    Examples
    --------
    >>> five = Mention(0, 1, "5", "num:5", "number")
    >>> [_digits(five, text, []) is not None for text in ("5G", "5-6", "4.5", "55", "5,1", "5, 6")]
    [True, True, False, False, False, True]
    """
    wanted = plain_digits(mention.text).strip()
    if mention.category in _COUNTED:
        wanted = "".join(c for c in wanted if c.isdecimal())
    if not any(c.isdecimal() for c in wanted):
        return None
    text = plain_digits(output)
    inner = r"(?:(?<=\d)[.,:/])"  # within a number, between digits
    pattern = rf"(?<!\d)(?<!\d[.,:/]){re.escape(wanted)}(?!\d)(?!{inner}\d)"
    for found in re.finditer(pattern, text):
        start, end = found.span()
        if all(end <= s or e <= start for s, e in used):
            return mention._replace(start=start, end=end, text=output[start:end], rule="literal")
    return None


def written(form: str, output: str, used: Spans, mention: Mention, rule: str) -> Mention | None:
    """Find a form in the output, as words of their own that mean nothing there.

    A name may be shouted (KIEV), and one of several words may lack some of its capitals.

    Examples
    --------
    >>> a = Mention(0, 1, "a", "a", "city")
    >>> [written("Kiev", text, [], a, "") is not None for text in ("KIEV -", "kiev", "丨Kiev")]
    [True, False, True]
    """
    if not any(c.isalpha() for c in form):
        return None
    text, wanted = output.lower(), form.lower()
    loose = len(text) == len(output) and (len(form) >= _SHOUTED or form.isupper())
    if not loose:
        text, wanted = output, form
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        there = output[start:end]
        same = there == form or (loose and (
            (there.isupper() and len(form) >= _SHOUTED) or (" " in form and len(form) >= _SEVERAL)
        ))  # fmt: skip
        whole = not _goes_on(output[start - 1 : start] if start else "", form[0]) and not _goes_on(
            output[end : end + 1], form[-1]
        )
        alone = form[0] >= _UNSPACED
        if same and (whole or alone) and all(end <= s or e <= start for s, e in used):
            return mention._replace(start=start, end=end, text=there, rule=rule)
        start = text.find(wanted, start + 1)
    return None


def _goes_on(beside: str, letter: str) -> bool:
    """Tell whether a word goes on beside one of its letters; scripts without blanks end it."""
    return beside.isalnum() and letter.isalnum() and (beside < _UNSPACED or letter >= _UNSPACED)


def plain_digits(text: str) -> str:
    """Write digits of all scripts alike, character by character."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
