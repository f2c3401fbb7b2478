"""The tier of names that no base knows: mentions of sources, and of outputs that keep them.

A name has no entity: it is known again by its form. So the mentions of a source come first, each
output is searched for what is like them, and what is found has the id of the source's mention.
Whether a name that is not found counts as lost depends on how it is written and on the two scripts:
people translate titles and abbreviations, and keep people. ``SURE`` has what human translations
keep in nine cases of ten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, partial

from steelyard.kobe.languages import script, scripts
from steelyard.kobe.linking.namematching import exactly, find_in, pieces
from steelyard.kobe.linking.romanise import romanise
from steelyard.kobe.linking.runs import undecided_parts
from steelyard.kobe.linking.signs import Name
from steelyard.kobe.linking.unknown import find_names
from steelyard.kobe.mention import Mention, Mentions

TIER, RULE = "name", "unknown"
UNKNOWN = "name:"  # begins the ids of names that no base knows
_ALWAYS = frozenset({"address", "code"})
#: Kinds of names that translations keep, by the scripts of the languages.
SURE: dict[tuple[str, str], frozenset[str]] = {
    ("LATIN", "LATIN"): _ALWAYS | {"mixed", "person", "single"},
    ("CYRILLIC", "LATIN"): _ALWAYS | {"foreign", "person", "single"},
    ("LATIN", "CYRILLIC"): _ALWAYS | {"person", "single"},
    ("CYRILLIC", "CYRILLIC"): _ALWAYS | {"foreign", "person", "single"},
    ("CJK", "LATIN"): _ALWAYS | {"foreign", "acronym", "mixed", "dotted", "honoured"},
    ("LATIN", "DEVANAGARI"): _ALWAYS | {"person", "single"},
    ("LATIN", "KATAKANA"): frozenset({"address", "person"}),
}
#: Kinds that are wanted where a user says so, in any pair.
_ON = frozenset({"address", "code", "mixed", "person", "single", "foreign", "listed"})
_SYLLABLES = re.compile("(?:(?:[kgsztdnhbpmrfjyw]|[sct]h|ts|[kgnhbpmr]y)?[aiueo]h?n?)+")
_PEOPLE = frozenset({"person"})


def _main_script(lang: str) -> str:
    own = scripts(lang)
    return next(s for s in ("KATAKANA", "CJK", "CYRILLIC", "LATIN", *sorted(own)) if s in own)


class NameTier:
    """Names of one pair of languages that no base knows.

    Parameters
    ----------
    lang, other
        Codes of the language of the texts that are compared with, and of the outputs.
    wanted
        ``auto``: kinds that people keep in such a pair are wanted; ``on``: all but titles and
        abbreviations.

    Examples
    --------
    >>> tier = NameTier("ru", "en")
    >>> source = tier.mentions("Об этом сообщил Алексей Голошейкин.", ())
    >>> [(m.text, m.id, m.doubtful) for m in source]
    [('Алексей Голошейкин', 'name:aleksey golosheykin', False)]
    >>> [m.text for m in tier.kept(source, "This was said by Alexey Goloshyokin.", ())]
    ['Alexey Goloshyokin']
    """

    def __init__(self, lang: str, other: str, wanted: str = "auto") -> None:
        self.lang, self.other = lang, other
        pair = (_main_script(lang), _main_script(other))
        self._sure = _ON if wanted == "on" else SURE.get(pair, frozenset({"address"}))
        self._latin = scripts(lang) == {"LATIN"}
        self._japanese = other == "ja"

    def mentions(self, text: str, known: Mentions) -> Mentions:
        """Give the mentions of a text with those of names that the base does not know."""
        names = find_names(text, self.lang, known)
        if not names:
            return known
        seen: set[str] = set()
        found = list(known)
        for name in names:
            key = UNKNOWN + " ".join(filter(None, map(romanise, name.words)))
            # People say "he" where a name would be repeated.
            doubtful = key in seen or not self._is_sure(name)
            if not doubtful:
                seen.add(key)
            own = text[name.start : name.end]
            found.append(
                Mention(name.start, name.end, own, key, "name", TIER, (key,), RULE, doubtful)
            )
        found.sort(key=lambda m: (m.start, m.end))
        return undecided_parts(text, self.lang, tuple(found))

    def _is_sure(self, name: Name) -> bool:
        if name.kind in self._sure:
            # Japanese names go back to Kanji, which have no sounds of their own.
            kanji = self._japanese and all(_SYLLABLES.fullmatch(romanise(w)) for w in name.words)
            return not kanji
        # What is in Latin letters already stays so, as abbreviations of its own script do not.
        foreign = not self._latin and "foreign" in self._sure
        return foreign and all(script(w[0]) in ("LATIN", None) for w in name.words)

    def kept(self, source: Mentions, output: str, known: Mentions) -> Mentions:
        """Give the mentions of an output with those of the source's names that it keeps."""
        more = list(self._kept(source, output, known))
        return tuple(sorted((*known, *more), key=lambda m: (m.start, m.end))) if more else known

    def _kept(self, source: Mentions, output: str, known: Mentions) -> Iterable[Mention]:
        there = None
        seen = set()
        words = cache(partial(pieces, output))
        for mention in source:
            if mention.rule != RULE:
                if mention.category not in _PEOPLE or mention.doubtful:
                    continue
                # People of the base have no name in every language.
                if there is None:
                    there = {reading for m in known for reading in m.readings}
                if not there.isdisjoint(mention.readings):
                    continue
            # What need not be there is not looked for by its sound.
            if mention.doubtful:
                span = exactly(mention.text, output)
            else:
                span = find_in(mention.text, output, words)
            if span is None or (span, mention.id) in seen:
                continue
            seen.add((span, mention.id))
            start, end = span
            yield mention._replace(
                start=start, end=end, text=output[start:end], rule=RULE, doubtful=False
            )


def add_names(
    tier: NameTier, texts: Sequence[str | None], mentions: Sequence[Mentions]
) -> tuple[Mentions, ...]:
    """Add the names of a row of texts to their mentions."""
    return tuple(
        own if text is None else tier.mentions(text, own)
        for text, own in zip(texts, mentions, strict=True)
    )
