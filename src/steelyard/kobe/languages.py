"""Languages: their codes, their scripts, and whether a text is in the target language.

The language filter drops the entities of text that is not in the target language; otherwise a
system that copies its source would keep every name. A sentence is judged by its letters and, where
both languages share a script, by a language identifier that chooses between source, target and
English. Single mentions are judged by their script.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Sequence
from copy import copy
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from steelyard.core.errors import UsageError, hint, need_extra
from steelyard.kobe.mention import Mentions

#: Writing without capitals, in which words of other scripts stand out.
CASELESS = frozenset(
    "ar fa ur ps sd ug ckb he yi hi mr ne sa bn as gu pa or ta te kn ml si th lo my km am ti ka zh "
    "yue lzh ja ko bo dz".split()
)
_CODE = re.compile(r"[a-z]{2,3}")
_SHORT = 15  # characters; shorter texts can't be identified
_FEW = 3  # words without capitals that show the language of a text full of names
_MOST = 0.5  # share of letters that must be those of the target language
_LEAST = 0.2  # the same if all other letters are in titles and names
_SURE = 0.9  # probability from which on a sentence is in another language
#: Addresses of pages and people, which are in no language.
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[!-~]+|[@#][A-Za-z0-9_]+|(?<![!-~])[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:/[!-~]*)?"
)
#: What is in quotation marks; words with a capital, and small ones between them.
_QUOTED = re.compile(
    r"[\"“”„][^\"“”„]+[\"“”]|«[^«»]+»|「[^「」]+」|『[^『』]+』|《[^《》]+》|‘[^‘’]+’"
)
_CAPITALS = re.compile(r"[A-Z][A-Za-z'’.-]*(?:,? (?:[a-z]{1,4} ){0,3}[A-Z][A-Za-z'’.-]*)*")
_OTHER_CODES = {"nb": "no", "fil": "tl"}  # what the identifier calls them


@cache
def _tables() -> dict[str, dict[str, str]]:
    return tomllib.loads(files("steelyard.kobe").joinpath("languages.toml").read_text("utf-8"))


def national_languages() -> list[tuple[str, str]]:
    """Return languages that have the name of a country, with its Wikidata item."""
    items = (pair.split(":") for pair in _tables()["countries"]["items"].split())
    return [(lang, item) for lang, item in items]


@cache
def primary(code: str) -> str | None:
    """Return the language code of a tag without script and region, None if it is no tag."""
    tag = code.strip().lower().replace("_", "-")
    codes = _tables()["codes"]
    if tag in codes:
        return codes[tag]
    first = tag.partition("-")[0]
    first = codes.get(first, first)
    return first if _CODE.fullmatch(first) else None


@cache
def known() -> frozenset[str]:
    """Return the codes of all languages in CLDR, which ``tools/make_base`` collected."""
    need_extra("kobe", "KoBE")
    return frozenset(files("steelyard.kobe").joinpath("languages.txt").read_text("utf-8").split())


def normalise(code: str) -> str:
    """Return the code of a language that a user named; an unknown one is an error."""
    lang = primary(code)
    if lang is None or lang not in known():
        common = ("ar", "cs", "de", "en", "es", "fr", "he", "hi", "ja", "ru", "uk", "zh")
        raise UsageError(f"unknown language code '{code}'; {hint(code, common)} and more")
    return lang


# -- the language filter


@cache
def scripts(lang: str) -> frozenset[str]:
    """Return the scripts of a language, Latin by default."""
    tables = _tables()["scripts"]
    listed = frozenset(script for script, langs in tables.items() if lang in langs.split())
    return listed or frozenset({"LATIN"})


@lru_cache(maxsize=1 << 16)
def script(char: str) -> str | None:
    """Return the script of a letter, None for anything else."""
    if not char.isalpha():
        return None
    first = unicodedata.name(char, "").split(" ")[0]
    if first == "KATAKANA-HIRAGANA":  # ー, which both have
        return "KATAKANA"
    return "LATIN" if first in ("FULLWIDTH", "FEMININE", "MASCULINE", "MODIFIER") else first


def script_share(text: str, allowed: frozenset[str]) -> float:
    """Return the share of letters in some scripts, 1 for a text without letters."""
    if "LATIN" in allowed and text.isascii():
        return 1.0
    letters = [s for s in map(script, text) if s is not None]
    return sum(s in allowed for s in letters) / len(letters) if letters else 1.0


class LanguageFilter:
    """Which sentences and mentions are in the target language; all of them if it is ``off``.

    Examples
    --------
    >>> keep = LanguageFilter("de", "en")
    >>> keep.is_target("The train from Vienna is late again."), keep.is_target("Москва и Киев")
    (True, False)
    """

    def __init__(self, src: str, tgt: str, *, off: bool = False) -> None:
        self.off = off
        self.allowed = scripts(tgt)
        names = {_OTHER_CODES.get(code, code) for code in (src, tgt, "en")}
        self._target = _OTHER_CODES.get(tgt, tgt)
        self._identify = None
        if not off:
            # Languages of other scripts are told by their letters.
            near = {c for c in names if scripts(c) & self.allowed}
            known = near & _identifiable() if len(near) > 1 else near  # or else nobody is asked
            if self._target in known and len(known) > 1:
                self._identify = _identifier(frozenset(known))
        self._seen: dict[str, bool] = {}

    def is_target(self, text: str) -> bool:
        """Whether a sentence is in the target language; True if that is unclear."""
        if self.off:
            return True
        if text not in self._seen:
            self._seen[text] = self._judge(text)
        return self._seen[text]

    def _judge(self, text: str) -> bool:
        if not self._has_letters(text):
            return False
        if self._identify is None or len(text) < _SHORT or self._is_identified(text):
            return True
        # Names of another language do not make a text one: it is judged by its other words.
        words = [word for word in text.split() if not any(c.isupper() for c in word)]
        return len(words) >= _FEW and self._is_identified(" ".join(words), undecided=False)

    def _has_letters(self, text: str) -> bool:
        """Whether a text is in the letters of the target language, except for titles."""
        share = script_share(text, self.allowed)
        if share >= _MOST:
            return True
        text = _ADDRESS.sub(" ", text)
        share = script_share(text, self.allowed)
        if share >= _MOST or share < _LEAST:
            return share >= _MOST
        rest = _QUOTED.sub(" ", text)
        if "LATIN" not in self.allowed:
            rest = _CAPITALS.sub(" ", rest)
        return any(map(script, rest)) and script_share(rest, self.allowed) >= _MOST

    def _is_identified(self, text: str, *, undecided: bool = True) -> bool:
        assert self._identify is not None
        lang, probability = self._identify.classify(text)
        return bool(lang == self._target or (undecided and probability < _SURE))

    def apply(self, texts: Sequence[str | None], mentions: Sequence[Mentions]) -> list[Mentions]:
        """Drop the mentions of sentences, and the mentions, that are not in the target language."""
        if self.off:
            return list(mentions)
        return [
            self._in_script(linked) if linked and text is not None and self.is_target(text) else ()
            for text, linked in zip(texts, mentions, strict=True)
        ]

    def _in_script(self, mentions: Mentions) -> Mentions:
        return tuple(
            m for m in mentions if m.rule == "value" or script_share(m.text, self.allowed) >= 0.5
        )


@cache
def _model() -> Any:
    """Load the identifier of all languages, which takes a third of a second."""
    need_extra("kobe", "a knowledge base", "py3langid")
    from py3langid import langid

    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def identified(text: str) -> str:
    """Return the language that a text is most likely in."""
    return str(_model().classify(text)[0])


@cache
def _identifiable() -> frozenset[str]:
    return frozenset(_model().nb_classes)


@cache
def _identifier(langs: frozenset[str]) -> Any:
    """Make an identifier of its own, so that no other user of the library is restricted."""
    identifier = copy(_model())  # which shares the tables, and no choice of languages
    identifier.set_languages(sorted(langs))
    return identifier
