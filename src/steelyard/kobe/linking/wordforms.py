"""Words: how texts are folded and split, and the dictionary forms of words.

Compatibility forms, case, apostrophes, hyphens and the marks that writers leave out at will are
folded; diacritics that tell words apart stay. Names and texts go through the same function, and a
text keeps a map from its folded characters back to its own.

A word keeps the marks that belong to its letters: vowel signs of the scripts of India, tone marks
and the like are no letters to Python, but a word that is cut at them is no word.

Endings, prefixes and stop words of languages are in ``wordforms.toml``.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from steelyard.core.errors import need_extra

if TYPE_CHECKING:
    from simplemma.strategies import DictionaryLookupStrategy

_ODD = "\uf8ff"  # stands for characters that the short way can't fold one by one
_SAME = {
    **dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\u0060\u00b4\uff07", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u30fb\u00b7\u2022\u2027\uff65", "\u00b7"),
    "\u0451": "\u0435",  # Cyrillic yo is written as ye
    "\u0130": "i",  # else two characters
    **dict.fromkeys("\u0622\u0623\u0625\u0671", "\u0627"),  # alef with and without hamza
    **dict.fromkeys("\u0649\u06cc", "\u064a"),  # Arabic and Persian yeh
    "\u06a9": "\u0643",  # Arabic and Persian kaf
    "\u0640": "",  # tatweel
    "\u05f3": "'",
    "\u05f4": '"',
}
_TURKIC = {"I": "\u0131", "\u0130": "i"}
_TURKIC_LANGUAGES = frozenset({"tr", "az"})
#: Marks of vowels and the like that most writers leave out (Hebrew points, Arabic harakat).
_OPTIONAL_MARKS = frozenset(
    [chr(c) for c in (*range(0x0591, 0x05C8), *range(0x064B, 0x0653), 0x0670)]
)
#: Languages that write all nouns with a capital.
NOUNS_WITH_CAPITALS = frozenset({"de", "lb", "gsw", "nds"})
_ALIKE = 0.5
_LETTERS = str.maketrans(
    {"\u0142": "l", "\u00f8": "o", "\u0111": "d", "\u0131": "i", "\u00e6": "ae"}
)
_UMLAUTS = (("a", "\u00e4"), ("o", "\u00f6"), ("u", "\u00fc"))
_NOUN_ENDINGS = ("n", "en", "e", "er", "es")
_IGNORED = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")


class Folded(NamedTuple):
    """A folded text, and for each of its characters (and its end) the place in the original.

    ``places`` is None where characters stand at the same places in both.
    """

    text: str
    places: tuple[int, ...] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the original that a span of the folded text stands for."""
        if self.places is None:
            return start, end
        return self.places[start], max(self.places[end], self.places[end - 1] + 1)


def _fold_cluster(cluster: str) -> str:
    plain = "".join(c for c in cluster if c not in _OPTIONAL_MARKS and c not in _IGNORED)
    plain = unicodedata.normalize("NFC", "".join(_SAME.get(c, c) for c in plain))
    plain = unicodedata.normalize("NFKC", plain)
    plain = unicodedata.normalize("NFKC", plain.casefold())
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else _SAME.get(c, c) for c in plain)


def _is_mark(char: str) -> bool:
    return unicodedata.combining(char) != 0 or char in "\uff9e\uff9f\u3099\u309a"


class _CharTable(dict[int, str]):
    """What each character folds to by itself, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = _fold_cluster(char)
        if char.isspace():
            folded = " "
        if len(folded) != 1 or _is_mark(char):
            folded = _ODD
        self[code] = folded
        return folded


_TABLE = _CharTable()
_TURKIC_TABLE = _CharTable({ord(k): v for k, v in _TURKIC.items()})


def fold_text(text: str, lang: str) -> Folded:
    """Fold a text, and keep where each character came from."""
    turkic = lang in _TURKIC_LANGUAGES
    if text.isascii() and not turkic and text.isprintable():
        return Folded(text.lower().replace("`", "'"), None)
    folded = text.translate(_TURKIC_TABLE if turkic else _TABLE)
    if _ODD not in folded:
        return Folded(folded, None)
    pieces: list[str] = []
    places: list[int] = []
    at, n = 0, len(text)
    odd = folded.find(_ODD)
    while odd >= 0:
        # A mark is folded with the character that it is on.
        start = odd - 1 if odd > at and _is_mark(text[odd]) else odd
        end = odd + 1
        while end < n and _is_mark(text[end]):
            end += 1
        cluster = text[start:end]
        if turkic:
            cluster = "".join(_TURKIC.get(c, c) for c in cluster)
        piece = _fold_cluster(cluster)
        pieces += (folded[at:start], piece)
        places += range(at, start)
        places += [start] * len(piece)
        at = end
        odd = folded.find(_ODD, at)
    pieces.append(folded[at:])
    places += range(at, n)
    return Folded("".join(pieces), (*places, n))


def fold(text: str, lang: str) -> str:
    """Fold a name: the key under which it is stored and found.

    Examples
    --------
    >>> fold("  CÔTE  d’Ivoire ", "fr")
    "côte d'ivoire"
    >>> fold("Королёв", "ru"), fold("ＩＢＭ", "ja"), fold("ISPARTA", "tr")
    ('королев', 'ibm', 'ısparta')
    """
    return " ".join(fold_text(text, lang).text.split())


# -- words of a text

#: A word of a folded text: itself, its start and its end.
Token = tuple[str, int, int]
_APOSTROPHE_IN_WORDS = frozenset("uk be yo agq jgo nnh bas ksf".split())
#: All marks and more: a look at these few ranges is faster than one at each mark.
_MAY_BE_MARK = re.compile(
    "[^\\x00-\u02ff\u0370-\u0482\u048a-\u0590\u2000-\u20cf\u2100-\u2cee"
    "\u3000-\u3029\u3030-\u3098\u309b-\ua66e\uac00-\ud7ff\uff00-\uffef]"
)


@cache
def _marks() -> str:
    return "".join(filter(is_mark, map(chr, range(0x300, 0x1FFFF))))


@cache
def _word(lang: str, *, marks: bool) -> re.Pattern[str]:
    char = rf"[\w{_marks()}]" if marks else r"\w"
    return re.compile(rf"{char}+(?:'{char}+)*" if lang in _APOSTROPHE_IN_WORDS else f"{char}+")


def tokenise(folded: str, lang: str) -> list[Token]:
    """Split a folded text into words with their places."""
    marks = not folded.isascii() and _MAY_BE_MARK.search(folded) is not None
    end = 0
    tokens = []
    for text in _word(lang, marks=marks).findall(folded):
        start = folded.index(text, end)
        end = start + len(text)
        tokens.append((text, start, end))
    return tokens


@lru_cache(maxsize=1 << 12)
def is_mark(char: str) -> bool:
    """Tell whether a character is a mark on the letter before it."""
    return char >= "\u0300" and unicodedata.category(char)[0] == "M"


def in_word(text: str, at: int) -> bool:
    """Tell whether a place in a text is inside a word, not between words."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if is_mark(after):
        return True
    return after.isalnum() and (before.isalnum() or is_mark(before))


# -- inflected words, ordinary words, and words that name nothing


@cache
def _table(name: str) -> dict[str, list[str]]:
    """Return one of the tables: words by language; languages that share them share a line."""
    file = files("steelyard.kobe.linking").joinpath("wordforms.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {lang: words.split() for langs, words in tables[name].items() for lang in langs.split()}


@cache
def _stems(lang: str) -> tuple[str, ...]:
    return tuple(sorted(set(_table("stem_endings").get(lang, ())), key=lambda e: (-len(e), e)))


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Return the words of a language that name nothing by themselves."""
    return frozenset(_table("stop").get(lang, ()))


@cache
def place_words(lang: str) -> frozenset[str]:
    """Return the words of a language after which places are named."""
    return frozenset(fold(word, lang) for word in _table("places").get(lang, ()))


@cache
def joining_words(lang: str) -> tuple[str, ...]:
    """Return the words of a language that join the words of a name."""
    return tuple(word.replace("_", " ") for word in _table("joining").get(lang, ()))


@cache
def lemmatised(lang: str) -> bool:
    """Tell whether there is a lemmatiser for a language."""
    need_extra("kobe", "a knowledge base", "simplemma")
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return lang in SUPPORTED_LANGUAGES


def lemma(word: str, lang: str) -> str | None:
    """Return the dictionary form of a word, or None where the lemmatiser does not know the word."""
    if not lemmatised(lang):
        return None
    return _dictionary().get_lemma(unicodedata.normalize("NFC", word), lang)


@cache
def _dictionary() -> DictionaryLookupStrategy:
    from simplemma.strategies import DictionaryLookupStrategy

    return DictionaryLookupStrategy()


def ordinary(word: str, lang: str) -> bool:
    """Tell whether a folded word is an ordinary one: in the dictionary, and not as a name."""
    if word in stop_words(lang):
        return True
    form = lemma(word, lang)
    # A name is its own dictionary form, with a capital; "Kinder" is a form of another word.
    return form is not None and (form[:1] == form[:1].lower() or form.lower() != word)


@lru_cache(maxsize=1 << 15)
def common(word: str, lang: str) -> bool:
    """Tell whether a folded word is in the dictionary as an ordinary word only, not as a name too.

    Where nouns have capitals as names have, one with a plural or genitive of its own is ordinary.
    """
    if word in stop_words(lang):
        return True
    capital = word[:1].upper() + word[1:]
    form = lemma(capital, lang)
    if form is None:
        return False
    if lang in NOUNS_WITH_CAPITALS and form == capital:
        forms = [capital + ending for ending in _NOUN_ENDINGS]
        forms += [capital.replace(*pair) for pair in _UMLAUTS if pair[0] in capital]
        return any(lemma(form, lang) == capital for form in forms)
    if form != capital and fold(form, lang) == word and capital == word:
        return False  # the same word, as it is spelt before it is folded: أوبك
    return form != capital and ordinary(word, lang)


def stem(word: str, lang: str) -> str:
    """Cut the ending off a folded word, to compare the words of longer names in any case."""
    for ending in _stems(lang):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)]
    return word


def resembles(name: str, label: str) -> bool:
    """Tell whether a folded name spells a label, if both are in Latin letters.

    A name of more words names another place: New Delhi is no spelling of Delhi.
    """
    plain, main = _without_marks(name), _without_marks(label)
    if not (plain.isascii() and main.isascii()):
        return True
    if len(plain.split()) > len(main.split()) and main in plain:
        return False
    if plain in main.split():
        return True
    from difflib import SequenceMatcher

    return SequenceMatcher(None, plain, main, autojunk=False).ratio() >= _ALIKE


def _without_marks(folded: str) -> str:
    parts = unicodedata.normalize("NFKD", folded.translate(_LETTERS))
    return "".join(char for char in parts if not unicodedata.combining(char))


def inflects(lang: str) -> bool:
    """Tell whether words of names change their endings in a language, as far as is known here."""
    return lang in _table("stem_endings")


def base_forms(word: str, lang: str) -> list[str]:
    """Return what an inflected word may be a form of, the likeliest first."""
    form = lemma(word, lang)
    forms = [form] if form is not None and form != word else []
    # A word of the dictionary is no form of a name that the dictionary does not know.
    is_word = form is not None and form[:1] == form[:1].lower()
    if len(word) >= 5 and word[:1] != word[:1].lower() and not is_word:
        forms += [
            word[: len(word) - len(ending)] + other
            for ending, _, other in (
                pair.partition(":") for pair in _table("endings").get(lang, ())
            )
            if word.endswith(ending) and len(word) - len(ending) >= 3
        ]
    for pair in _table("prefixes").get(lang, ()):  # written together with the next word
        prefix, _, other = pair.partition(":")
        if word.startswith(prefix) and len(word) - len(prefix) >= 3:
            forms.append(other + word[len(prefix) :])
    return list(dict.fromkeys(forms))
