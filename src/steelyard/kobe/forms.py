"""What a knowledge base calls an entity in a language, as far as a linker has one.

Lists of errors ask it for the few entities that a translation seems to lack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from steelyard.kobe.base.codec import UNSTATED, Flag, Name
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.languages import script_share, scripts
from steelyard.kobe.mention import Linker, Mention, Mentions
from steelyard.kobe.rivals import KINDS, NEW, can_be_new, strangers

_CODE = 4  # letters of a code at most
_READINGS = 3  # of an ambiguous name, the most probable ones
_LARGE = 5.7  # log10 of the people of a city that everybody names: 500,000


def _is_code(name: Name) -> bool:
    """Tell whether a name is a code or abbreviation of all languages: GBP, USA."""
    return name.lang == UNSTATED and name.text.isupper() and len(name.text) <= _CODE


def _is_main(name: Name) -> bool:
    """Tell whether it is the main name of a thing, in no language."""
    return name.lang == UNSTATED and bool(name.flags & Flag.LABEL)


class _Known(NamedTuple):
    names: tuple[str, ...]
    labels: tuple[str, ...]


class Forms:
    """Names of entities in one language; none of a linker without a base.

    Parameters
    ----------
    linker
        What found the entities.
    lang
        The language of the names; None where it is not known.
    """

    def __init__(self, linker: Linker | None, lang: str | None) -> None:
        kb = getattr(linker, "kb", None)
        self._kb = kb if isinstance(kb, KnowledgeBase) and lang else None
        self._lang = lang or ""
        self._scripts = scripts(lang) if lang else frozenset[str]()
        self._known: dict[int, _Known] = {}

    @property
    def known(self) -> bool:
        """Whether there is a base to ask."""
        return self._kb is not None

    @property
    def lang(self) -> str:
        """The language of the names; empty where it is not known."""
        return self._lang

    def is_written(self, text: str) -> bool:
        """Tell whether a text is in the script of the language."""
        return self._fits(text)

    def code(self, mention: Mention) -> str:
        """Give what the best reading is called outside, without its kind for units.

        As ``length-mile``, or ``month:5``.
        """
        if isinstance(mention.id, str) or self._kb is None:
            return str(mention.id).removeprefix("unit:")
        return self._kb.external_id(mention.id).removeprefix("unit:")

    def _look_up(self, entity: int) -> _Known:
        if entity not in self._known:
            kb = self._kb
            every = [] if kb is None else kb.names(entity, (self._lang, UNSTATED))
            own = [n for n in every if n.lang == self._lang or (_is_code(n) and self._fits(n.text))]
            if not any(n.lang == self._lang for n in own):  # else the name of no language will do
                own += [n for n in every if _is_main(n) and self._fits(n.text)]
            labels = [n.text for n in own if n.flags & Flag.LABEL]
            ordered = dict.fromkeys((*labels, *(n.text for n in own)))
            self._known[entity] = _Known(tuple(ordered), tuple(labels))
        return self._known[entity]

    def _fits(self, text: str) -> bool:
        return script_share(text, self._scripts) == 1

    def of(self, mention: Mention) -> tuple[str, ...]:
        """Give the names that are stated for the readings of a mention, labels first."""
        if self._kb is None:
            return ()
        ids = [one for one in mention.readings[:_READINGS] if isinstance(one, int)]
        return tuple(dict.fromkeys(name for one in ids for name in self._look_up(one).names))

    def label(self, mention: Mention) -> str:
        """Give the main name of the best reading, or nothing."""
        if self._kb is None or not isinstance(mention.id, int):
            return ""
        found = self._look_up(mention.id)
        return next(iter(found.labels or found.names), "")

    def is_label(self, mention: Mention) -> bool:
        """Tell whether the best reading is called by a main name; True where none is known."""
        if self._kb is None or not isinstance(mention.id, int):
            return True
        labels = self._look_up(mention.id).labels
        return not labels or mention.text.casefold() in [one.casefold() for one in labels]

    def is_large(self, mention: Mention) -> bool:
        """Tell whether the best reading has many people."""
        if self._kb is None or not isinstance(mention.id, int):
            return False
        return bool(self._kb.prior[mention.id] >= _LARGE)

    def strangers(
        self,
        output: str,
        source: str,
        taken: tuple[Mentions, Sequence[tuple[int, int]]],
        *,
        alone: bool,
    ) -> list[Mention]:
        """Give the names of an output that nothing in the source is like; none without a base.

        With ``alone`` those that are errors though nothing in the source seems to be lost.
        """
        if self._kb is None or (alone and not can_be_new(source, self._scripts)):
            return []
        return strangers(output, source, self._lang, *taken, kinds=NEW if alone else KINDS)

    def fits(self, mention: Mention) -> bool:
        """Tell whether the form of a mention may stand in the language as it is.

        It is written in its script, and the base has no other name for it there. A value with
        letters (5 Uhr) is of its language.
        """
        if self._kb is None or not self._fits(mention.text):
            return False
        if not isinstance(mention.id, int):
            return mention.rule != "value"
        own = mention.text.casefold()
        names = [name.casefold() for name in self.of(mention)]
        return not names or any(own == name or own in name.split() for name in names)
