"""German nouns, which have capitals as names do: which words are made of others."""

from __future__ import annotations

import re
from functools import lru_cache

from steelyard.kobe.linking.wordforms import lemma, lemmatised, ordinary, stop_words

#: Languages in which all nouns have capitals.
WITH_CAPITALS = frozenset({"de", "lb"})


@lru_cache(maxsize=1 << 17)
def known(word: str, lang: str) -> str:
    """Say whether a word is an ordinary one: yes, no, a name that dictionaries have, or both.

    Examples
    --------
    >>> [known(word, "en") for word in ("Garden", "Kowalska", "Johnson", "Frank")]
    ['yes', 'no', 'name', 'both']
    """
    plain = re.sub("['’]s?$", "", word)
    low = plain.lower()
    if low in stop_words(lang) or not plain:
        return "yes"
    if not lemmatised(lang):
        return "name"
    form = lemma(low, lang)
    if form is not None and (lang in WITH_CAPITALS or form[:1] == form[:1].lower()):
        if lang in WITH_CAPITALS:
            return "yes" if ordinary(low, lang) else "name"
        as_name = lemma(plain, lang) or ""
        return "both" if as_name[:1] != as_name[:1].lower() else "yes"
    parts = re.split("[-‑'’]", low)
    if len(parts) > 1 and any(part and ordinary(part, lang) for part in parts):
        return "yes" if all(ordinary(part, lang) for part in parts if part) else "name"
    return "no" if form is None and lemma(plain, lang) is None else "name"


@lru_cache(maxsize=1 << 16)
def is_noun(word: str, lang: str) -> bool:
    """Whether a word may be a noun like any other: known, or made of words that are."""
    if known(word, lang) != "no":
        return True
    # Of words with a hyphen, the last says what they are: Trump-Anhänger.
    last = re.split("[-‑]", word)[-1].lower()
    forms = {last, last.replace("ss", "ß"), last.removesuffix("in"), last.removesuffix("innen")}
    if last.endswith("er") and lemma(last[:-2] + "en", lang) is not None:
        return True  # who or what does it
    return any(_in_dictionary(one, lang) or _compound(one, lang) for one in sorted(forms))


def is_given(word: str) -> bool:
    """Whether it is a name in English: German can't tell one from another noun."""
    form = lemma(word.lower(), "en")
    return form is not None and form == word


def may_be_surname(word: str, lang: str) -> bool:
    """Whether a word after a given name is no noun of the dictionary: Jan Böhmermann."""
    return not _in_dictionary(word.lower(), lang)


_JOINTS = ("", "s", "n", "en", "es", "er", "e")
_NOUN_ENDINGS = tuple(
    "ung ungen heit heiten keit keiten schaft schaften tion tionen tät täten ismus isten innen "
    "chen lein nis nisse ologe ologie graf grafie ieren".split()
)
_VERB_PREFIXES = frozenset(
    "auf aus ab an ein vor über unter um zu ver be ent nach mit durch zer er ge her hin los "
    "weg".split()
)


def _in_dictionary(low: str, lang: str) -> bool:
    return lemma(low, lang) is not None or lemma(low.capitalize(), lang) is not None


@lru_cache(maxsize=1 << 16)
def _compound(low: str, lang: str) -> bool:
    """Whether a German word is made of others, as far as the dictionary can tell."""
    if low.endswith(_NOUN_ENDINGS):
        return True
    for cut in range(3, len(low) - 2):
        first, last = low[:cut], low[cut:]
        if not _in_dictionary(last, lang):
            continue
        if len(last) >= 5:  # a noun with anything before it
            return True
        if first in _VERB_PREFIXES or any(
            len(part := first.removesuffix(joint)) >= 3 and _in_dictionary(part, lang)
            for joint in _JOINTS
        ):
            return True
        if len(first) >= 6 and len(last) >= 4 and _compound(first, lang):
            return True
    return False
