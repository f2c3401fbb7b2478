"""The linker: from texts to mentions of entities, by dictionary, rules and one prior for all.

Nothing is learned and nothing is guessed from context, so that both sides of a translation are
treated alike: the same name means the same entity in every sentence and language. How names
are found in a text is told by :mod:`steelyard.kobe.linking.detection`.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.kobe.base.knowledge import KnowledgeBase, default
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.context import Found, parts_of_names, small_places
from steelyard.kobe.linking.detection import detect, dotted, inflected, joined, phrases, surnames
from steelyard.kobe.linking.lexicon import UNSPACED, Lexicon
from steelyard.kobe.linking.money import COMMON, readings
from steelyard.kobe.linking.quantities import find_values, is_year
from steelyard.kobe.linking.tokens import tokenise
from steelyard.kobe.linking.unitnames import units_of
from steelyard.kobe.linking.wordforms import Folded, fold_text
from steelyard.kobe.linking.written import Value
from steelyard.kobe.mention import Id, Mention, Mentions
from steelyard.kobe.options import LinkOptions

_CACHED = 500_000  # sentences
_TRIMMED = 64  # sentences after which a dictionary is asked whether it remembers too much
_BESIDE = 2  # characters between a number and its unit
_BESIDE_NUMBER = frozenset({"unit", "currency", "month", "weekday"})
_OF = (" de ", " d'", " di ")  # un million d'euros
_AGAIN = 40  # characters from a unit to the same one said again
_COUNTERS = "个個つケヶカか"


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
                if not len(known) % _TRIMMED:
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
        aligned = text if places is None else "".join(map(text.__getitem__, places[:-1]))
        tokens = tokenise(folded.text, lang)
        found = detect(folded.text, aligned, tokens, lexicon)
        if text.count(".") > 1 and (more := dotted(aligned, lexicon)):
            found = joined(found, more)
        if self.options.lemmas and lang not in UNSPACED:
            words = [aligned[start:end] for _, start, end in tokens]
            # Most sentences have nothing but words that were met before and are parts of no name.
            if not lexicon.phrases.idle.issuperset(words[:-1]):
                found = joined(found, phrases(aligned, tokens, lexicon))
            if "-" in aligned or not lexicon.idle.issuperset(words):
                found = joined(found, inflected(aligned, tokens, found, lexicon))
        if found:
            found = joined(found, surnames(aligned, tokens, found, lexicon))
            found = small_places(aligned, tokens, found, lang)
        values: list[Value] = []
        if self.options.values and "core" in self.options.tiers:
            months = [(f.start, f.end) for f in found if f.entry.category == "month"]
            values = find_values(folded.text, tokens, lang, months, aligned)
        mentions = self._settle(text, aligned, folded, found, values, lexicon)
        return parts_of_names(text, lang, mentions)

    def _settle(  # noqa: PLR0912 - each kind has its own needs
        self,
        text: str,
        aligned: str,
        folded: Folded,
        found: list[Found],
        values: list[Value],
        lexicon: Lexicon,
    ) -> Mentions:
        """Choose between overlapping names and values, and check what needs a number beside it."""
        if not found and not values:
            return ()
        taken: list[tuple[int, int]] = []
        mentions = []
        numbers = [v for v in values if v.category not in ("currency", "time", "month")]
        units = units_of(lexicon) if numbers else None
        for name in found:
            entry = name.entry
            needs = numbers and entry.category in _BESIDE_NUMBER
            beside = _beside(folded.text, name, numbers) if needs else None
            if entry.after_number and beside is None:
                continue
            if values and any(_prevails(value, name) for value in values):
                continue
            ids: tuple[Id, ...] = entry.ids
            doubtful = False
            if entry.category == "unit" and beside is not None and units is not None:
                if beside.category == "date":
                    continue
                year = is_year(beside, folded.text)
                unit = units.named(ids, aligned[name.start : name.end], year=year)
                if unit is None:
                    continue
                ids, doubtful = unit
            elif entry.category == "currency":
                doubtful = beside is None or not _is_money(self.name(ids[0]), name, folded.text)
                ids = self._currency(ids, folded.text[name.start : name.end], lexicon)
            elif entry.category == "weekday":
                doubtful = entry.after_number  # "po" is Monday, and a preposition
            taken.append((name.start, name.end))
            start, end = folded.span(name.start, name.end)
            own = text[start:end]
            rule = "inflected" if name.inflected else "name"
            told = (entry.category, entry.tier, ids, rule, name.doubtful or doubtful)
            mentions.append(Mention(start, end, own, ids[0], *told))
        for value in values:
            if any(s < value.end and value.start < e for s, e in taken):
                continue
            all_ = tuple(
                dict.fromkeys(self._entity(one, lexicon) for one in (value.id, *value.others))
            )
            start, end = folded.span(value.start, value.end)
            own = text[start:end]
            mentions.append(
                Mention(
                    start, end, own, all_[0], value.category, "core", all_, "value", value.doubtful
                )
            )
            if value.category in ("number", "ordinal") and units is not None:
                after = units.after(
                    folded.text, aligned, value.end, year=is_year(value, folded.text)
                )
                if after is not None and not any(s < after[1] and after[0] < e for s, e in taken):
                    start, end = folded.span(after[0], after[1])
                    own, (ids, doubtful) = text[start:end], after[2]
                    mentions.append(
                        Mention(start, end, own, ids[0], "unit", "core", ids, "value", doubtful)
                    )
        if values:
            mentions.sort(key=lambda m: (m.start, m.end))
        return _repeated(mentions) if numbers else tuple(mentions)

    def _currency(self, ids: tuple[Id, ...], name: str, lexicon: Lexicon) -> tuple[Id, ...]:
        """Add the currencies that a bare name may mean as well."""
        code = self.name(ids[0]).removeprefix("cur:")
        if " " in name or len(name) < 2 or name[:1] in "美港日欧歐英":
            return ids
        more = [self._entity(one, lexicon) for one in readings(code)]
        return tuple(dict.fromkeys((*ids, *more)))

    def _entity(self, value: str, lexicon: Lexicon) -> Id:
        """Give the entity of the base for currencies and months; other values are their own."""
        if not value.startswith(("cur:", "month:")):
            return value
        entity = lexicon.values[value]
        return value if entity is None else entity


def _prevails(value: Value, name: Found) -> bool:
    """Whether a value takes the place of a name: it overlaps, and is longer or begins earlier."""
    if value.end <= name.start or name.end <= value.start:
        return False
    return value.start < name.start or value.end - value.start > name.end - name.start


def _beside(folded: str, name: Found, numbers: list[Value]) -> Value | None:
    """Give the number that a name stands beside, if any."""
    for value in numbers:
        gap = folded[value.end : name.start] if value.end <= name.start else None
        if gap is None and name.entry.category != "unit" and name.end <= value.start:
            gap = folded[name.end : value.start]
        if gap in _OF or (
            gap is not None and len(gap) <= _BESIDE and not gap.strip(" .-,").strip(_COUNTERS)
        ):
            return value
    return None


def _is_money(currency: str, name: Found, folded: str) -> bool:
    """Whether a word for a currency beside a number is one; лев is a lion as well."""
    code = currency.removeprefix("cur:")
    word = folded[name.start : name.end]
    if code.startswith("X") or word == "sterling":
        return False  # gold and silver
    if code == "GBP" and " " not in word and word != "gbp":
        return "£" in folded or "sterling" in folded  # pounds are weights, too
    return not name.inflected or code in COMMON


def _repeated(mentions: list[Mention]) -> Mentions:
    """Mark units and currencies that are said again: "5 km to 10 km" may be "5 to 10 km"."""
    last: dict[Id, int] = {}
    result = []
    for mention in mentions:
        again = False
        if mention.category in ("unit", "currency"):
            again = mention.start - last.get(mention.id, -_AGAIN) < _AGAIN
            last[mention.id] = mention.end
        result.append(mention._replace(doubtful=True) if again else mention)
    return tuple(result)
