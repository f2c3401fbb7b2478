"""The linker: from texts to mentions of entities, by dictionary, rules and one prior for all.

Nothing is learned and nothing is guessed from context, so that both sides of a translation are
treated alike: the same name means the same entity in every sentence and language.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.kobe.base.knowledge import KnowledgeBase, default
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.detection import Found, detect, inflected, tokenise
from steelyard.kobe.linking.folding import Folded, fold_text
from steelyard.kobe.linking.lexicon import UNSPACED, Lexicon
from steelyard.kobe.mention import Id, Mention, Mentions
from steelyard.kobe.numbers.quantities import Value, find_values
from steelyard.kobe.options import LinkOptions

_CACHED = 500_000  # sentences
_BESIDE = 2  # characters between a number and its unit
_COUNTERS = frozenset("个個つケヶカか")


class DictionaryLinker:
    """Link texts with a knowledge base; see :class:`LinkOptions` for what can be chosen.

    Parameters
    ----------
    kb
        The knowledge base; the embedded one by default.
    options
        How names are found.

    Examples
    --------
    >>> linker = DictionaryLinker()  # doctest: +SKIP
    >>> [m.text for m in linker.link(["Wien, 3. März"], "de", "en")[0]]  # doctest: +SKIP
    ['Wien', '3.', 'März']
    """

    def __init__(self, kb: KnowledgeBase | None = None, options: LinkOptions | None = None) -> None:
        self.kb = default() if kb is None else kb
        self.options = options or LinkOptions()
        self._lexicons: dict[tuple[str, str], Lexicon] = {}
        self._known: dict[tuple[str, str], dict[str, Mentions]] = {}

    @property
    def signature(self) -> str:
        """The hash of the base, and the options that are not the defaults."""
        chosen = self.options.signature()
        return f"kb:{self.kb.signature}" + (f",{chosen}" if chosen else "")

    def name(self, entity: Id) -> str:
        """Give the id of an entity as the outside knows it."""
        return self.kb.external_id(entity) if isinstance(entity, int) else entity

    def label(self, entity: Id, lang: str) -> str:
        """Give the main name of an entity in a language; values have none."""
        return self.kb.label(entity, normalise(lang)) if isinstance(entity, int) else ""

    def lexicon(self, lang: str, other: str) -> Lexicon:
        """Give the names of a language, as its pair with another restricts them."""
        pair = (lang, other)
        if pair not in self._lexicons:
            for code in pair:
                self.kb.check_language(normalise(code))
            self._lexicons[pair] = Lexicon(self.kb, lang, other, self.options)
        return self._lexicons[pair]

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:
        """Find the mentions in each text; a text that was seen before costs nothing."""
        lang, other = normalise(lang), normalise(other)
        lexicon = self.lexicon(lang, other)
        known = self._known.setdefault((lang, other), {})
        result = []
        for text in texts:
            mentions = known.get(text)
            if mentions is None:
                if len(known) > _CACHED:
                    known.clear()
                lexicon.trim()
                mentions = known[text] = self._link(text, lexicon)
            result.append(mentions)
        return result

    def forget(self) -> None:
        """Drop what is remembered of sentences."""
        self._known.clear()

    def _link(self, text: str, lexicon: Lexicon) -> Mentions:
        lang = lexicon.lang
        folded = fold_text(text, lang)
        # The original in the places of the folded text: what is looked up there keeps its capitals.
        places = folded.places
        aligned = text if places is None else "".join([text[p] for p in places[:-1]])
        tokens = tokenise(folded.text, lang)
        found = detect(folded.text, aligned, tokens, lexicon)
        if self.options.lemmas and lang not in UNSPACED:
            more = inflected(aligned, tokens, found, lexicon)
            if more:
                found = sorted(found + more)
        values: list[Value] = []
        if self.options.values and "core" in self.options.tiers:
            months = [(f.start, f.end) for f in found if f.entry.category == "month"]
            values = find_values(folded.text, tokens, lang, months)
        return self._settle(text, folded, found, values, lexicon)

    def _settle(
        self, text: str, folded: Folded, found: list[Found], values: list[Value], lexicon: Lexicon
    ) -> Mentions:
        """Choose between overlapping names and values, and check what needs a number beside it."""
        taken: list[tuple[int, int]] = []
        mentions = []
        numbers = [v for v in values if v.id[:4] in ("num:", "pct:", "day:", "ord:")]
        for name in found:
            entry = name.entry
            if entry.after_number and not _beside(folded.text, name, numbers):
                continue
            if any(_prevails(value, name) for value in values):
                continue
            taken.append((name.start, name.end))
            start, end = folded.span(name.start, name.end)
            own, ids = text[start:end], entry.ids
            rule = "inflected" if name.inflected else "name"
            mentions.append(Mention(start, end, own, ids[0], entry.category, entry.tier, ids, rule))
        for value in values:
            if any(s < value.end and value.start < e for s, e in taken):
                continue
            entity = self._entity(value.id, lexicon)
            start, end = folded.span(value.start, value.end)
            own, all_ = text[start:end], (entity, *value.others)
            mentions.append(Mention(start, end, own, entity, value.category, "core", all_, "value"))
        mentions.sort(key=lambda m: (m.start, m.end))
        return tuple(mentions)

    def _entity(self, value: str, lexicon: Lexicon) -> Id:
        """Give the entity of the base for currencies and months; other values are their own."""
        if not value.startswith(("cur:", "month:")):
            return value
        entity = lexicon.known_entity(value)
        return value if entity is None else entity


def _prevails(value: Value, name: Found) -> bool:
    """Whether a value takes the place of a name: it overlaps, and is longer or begins earlier."""
    if value.end <= name.start or name.end <= value.start:
        return False
    return value.start < name.start or value.end - value.start > name.end - name.start


def _beside(folded: str, name: Found, numbers: list[Value]) -> bool:
    for value in numbers:
        gap = folded[value.end : name.start] if value.end <= name.start else None
        if gap is None and name.entry.category != "unit" and name.end <= value.start:
            gap = folded[name.end : value.start]
        if (
            gap is not None
            and len(gap) <= _BESIDE
            and not gap.strip(" .-,").strip("".join(_COUNTERS))
        ):
            return True
    return False
