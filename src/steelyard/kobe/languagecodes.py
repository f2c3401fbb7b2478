"""Language codes: one short code for each language, whatever a source or a user calls it."""

from __future__ import annotations

import re
from functools import cache

from steelyard.core.errors import UsageError, hint, need_extra

#: Codes of Wikimedia projects and withdrawn codes that name a language otherwise than CLDR.
_OTHER_NAMES = {
    "als": "gsw", "bat-smg": "sgs", "be-x-old": "be", "bh": "bho", "cbk-zam": "cbk",
    "fiu-vro": "vro", "in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro",
    "no": "nb", "roa-rup": "rup", "simple": "en", "tl": "fil", "zh-classical": "lzh",
    "zh-min-nan": "nan", "zh-yue": "yue", "cmn": "zh",
}  # fmt: skip
_CODE = re.compile(r"[a-z]{2,3}")


@cache
def primary(code: str) -> str | None:
    """Give the code of the language that a tag names, or None if it is no tag at all.

    Scripts and regions are left out: Simplified and Traditional Chinese are one language here.

    Examples
    --------
    >>> primary("zh-Hant-TW"), primary("pt_BR"), primary("no"), primary("x!"), primary("mul")
    ('zh', 'pt', 'nb', None, 'mul')
    """
    tag = code.strip().lower().replace("_", "-")
    if tag in _OTHER_NAMES:
        return _OTHER_NAMES[tag]
    first = tag.partition("-")[0]
    first = _OTHER_NAMES.get(first, first)
    return first if _CODE.fullmatch(first) else None


@cache
def known() -> frozenset[str]:
    """Give the codes of all languages that CLDR names or has data for."""
    need_extra("kobe", "KoBE")
    from babel.core import get_global

    codes = {*get_global("likely_subtags"), *get_global("language_aliases").values()}
    found = {primary(code) for code in codes} | {"en", "mul"}
    return frozenset(code for code in found if code and code != "und")


def normalise(code: str) -> str:
    """Give the code of a language that a user named, or say that nobody knows it.

    Examples
    --------
    >>> normalise("de-AT")
    'de'
    """
    found = primary(code)
    if found is None or found not in known():
        common = ("ar", "cs", "de", "en", "es", "fr", "he", "hi", "ja", "ru", "uk", "zh")
        raise UsageError(f"unknown language code '{code}'; {hint(code, common)} and more")
    return found
