"""Word forms: dictionary forms of inflected words, ordinary words, and words that name nothing.

What is known of a language's endings, prefixes and stop words is in ``wordforms.toml``.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def _table(name: str) -> dict[str, list[str]]:
    """Give one of the tables: words by language; languages that share them share a line."""
    file = files("steelyard.kobe.linking").joinpath("wordforms.toml")
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    return {lang: words.split() for langs, words in tables[name].items() for lang in langs.split()}


@cache
def _endings(lang: str) -> tuple[tuple[str, str], ...]:
    """Give endings and what may stand in their place."""
    pairs = (word.partition(":") for word in _table("endings").get(lang, ()))
    return tuple((ending, other) for ending, _, other in pairs)


@cache
def _stems(lang: str) -> tuple[str, ...]:
    """Give endings of nouns and adjectives, the longest first."""
    return tuple(sorted(set(_table("stem_endings").get(lang, ())), key=lambda e: (-len(e), e)))


@cache
def stop_words(lang: str) -> frozenset[str]:
    """Give the words of a language that name nothing by themselves."""
    return frozenset(_table("stop").get(lang, ()))


@cache
def lemmatised(lang: str) -> bool:
    """Whether there is a lemmatiser for a language."""
    from steelyard.kobe.base.knowledge import need

    need("simplemma")
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    return lang in SUPPORTED_LANGUAGES


def lemma(word: str, lang: str) -> str | None:
    """Give the dictionary form of a word, or None where the lemmatiser does not know the word.

    Examples
    --------
    >>> lemma("Německu", "cs"), lemma("двух", "ru"), lemma("Xyz", "de")
    ('Německo', 'два', None)
    """
    if not lemmatised(lang):
        return None
    import simplemma

    return simplemma.lemmatize(word, lang=lang) if simplemma.is_known(word, lang=lang) else None


def ordinary(word: str, lang: str) -> bool:
    """Whether a folded word is an ordinary one: in the dictionary, and not as a name.

    Examples
    --------
    >>> ordinary("doba", "cs"), ordinary("berlin", "de"), ordinary("mobile", "en")
    (True, False, True)
    """
    if word in stop_words(lang):
        return True
    form = lemma(word, lang)
    # A name is its own dictionary form, with a capital; "Kinder" is a form of another word.
    return form is not None and (form[:1] == form[:1].lower() or form.lower() != word)


def stem(word: str, lang: str) -> str:
    """Cut the ending off a folded word, to compare the words of longer names in any case.

    Examples
    --------
    >>> stem("spojených", "cs") == stem("spojené", "cs"), stem("штатах", "ru")
    (True, 'штат')
    """
    for ending in _stems(lang):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: len(word) - len(ending)]
    return word


def inflects(lang: str) -> bool:
    """Whether words of names change their endings in a language, as far as is known here."""
    return lang in _table("stem_endings")


def base_forms(word: str, lang: str) -> list[str]:
    """Give what an inflected word may be a form of, the likeliest first.

    Examples
    --------
    >>> base_forms("Варшаву", "ru")[0], base_forms("Německu", "cs")[0]
    ('Варшава', 'Německo')
    """
    forms = []
    form = lemma(word, lang)
    if form is not None and form != word:
        forms.append(form)
    if len(word) >= 5 and word[:1] != word[:1].lower():
        forms += [
            word[: len(word) - len(ending)] + other
            for ending, other in _endings(lang)
            if word.endswith(ending) and len(word) - len(ending) >= 3
        ]
    for prefix in _table("prefixes").get(lang, ()):
        if word.startswith(prefix) and len(word) - len(prefix) >= 3:
            forms.append(word[len(prefix) :])
    return list(dict.fromkeys(forms))
