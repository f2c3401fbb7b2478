"""The linker: from texts to mentions of entities, by dictionary, rules and one prior for all.

Nothing is learned and nothing is guessed from context, so that both sides of a translation are
treated alike: the same name means the same entity in every sentence and language. A set of texts
may be linked by our linker, another one, or annotations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.core.errors import UsageError, hint
from steelyard.core.progress import each
from steelyard.data.evalset import EvalSet, need_outputs
from steelyard.data.segments import Texts
from steelyard.formats.entities import SIDES
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.base.knowledge import KnowledgeBase, default
from steelyard.kobe.languages import LanguageFilter, normalise
from steelyard.kobe.linking.dates import Value
from steelyard.kobe.linking.detection import (
    NameSpan,
    detect,
    inflected,
    joined,
    parts_of_names,
    phrases,
    small_places,
)
from steelyard.kobe.linking.lexicon import UNSPACED, Lexicon
from steelyard.kobe.linking.money_units import COMMON, Meaning, Units, readings
from steelyard.kobe.linking.names import UNKNOWN, NameTier
from steelyard.kobe.linking.numbers import find_values, is_year
from steelyard.kobe.linking.terms import Form, TermFinder
from steelyard.kobe.linking.wordforms import Folded, fold_text, tokenise
from steelyard.kobe.mention import Id, LinkedTexts, Linker, Mention, Mentions
from steelyard.kobe.options import KobeOptions

_CACHED = 200_000  # sentences that are remembered, with what their words mean
_BESIDE_NUMBER = frozenset({"unit", "currency", "month", "weekday"})
_OF = (" de ", " d'", " di ")  # un million d'euros
_COUNTERS = "个個つケヶカか"
_REPEATED = 40  # characters from a unit to the same one again


class DictionaryLinker:
    """Link texts with a knowledge base.

    Parameters
    ----------
    kb
        The knowledge base; the embedded one by default.

    Examples
    --------
    >>> linker = DictionaryLinker()  # doctest: +SKIP
    >>> [m.text for m in linker.link(["Wien, 3. März"], "de", "en")[0]]  # doctest: +SKIP
    ['Wien', '3.', 'März']
    """

    def __init__(self, kb: KnowledgeBase | None = None) -> None:
        self.kb = default() if kb is None else kb
        self._lexicons: dict[tuple[str, str], tuple[Lexicon, Units, TermFinder]] = {}
        self._linked: dict[tuple[str, str], dict[str, Mentions]] = {}

    @property
    def signature(self) -> str:
        """The hash of the base."""
        return f"kb:{self.kb.signature}"

    def name(self, entity: Id) -> str:
        """Return the id of an entity outside the base."""
        return self.kb.external_id(entity) if isinstance(entity, int) else entity

    def label(self, entity: Id, lang: str) -> str:
        """Return the main name of an entity in a language; values have none."""
        is_named = isinstance(entity, int) or self.kb.names(entity)
        return self.kb.label(entity, normalise(lang)) if is_named else ""

    def _lexicon(self, lang: str, other: str) -> tuple[Lexicon, Units, TermFinder]:
        pair = (lang, other)
        if pair not in self._lexicons:
            for code in pair:
                self.kb.check_language(normalise(code))
            lexicon = Lexicon(self.kb, lang, other)
            terms = self.kb.terms(lang, other)
            forms = [
                Form(text, term, category, category == "name") for term, text, category in terms
            ]
            self._lexicons[pair] = lexicon, Units(lexicon), TermFinder(forms, lang)
        return self._lexicons[pair]

    def link(self, texts: Sequence[str], lang: str, other: str) -> list[Mentions]:
        """Find the mentions in each text; a text that was seen before costs nothing."""
        lang, other = normalise(lang), normalise(other)
        tables = self._lexicon(lang, other)
        linked = self._linked.setdefault((lang, other), {})
        result = []
        for text in texts:
            mentions = linked.get(text)
            if mentions is None:
                if len(linked) > _CACHED:  # new words never end
                    linked.clear()
                    self._lexicons.clear()
                    tables = self._lexicon(lang, other)
                mentions = linked[text] = self._link(text, *tables)
            result.append(mentions)
        return result

    def _link(self, text: str, lexicon: Lexicon, units: Units, terms: TermFinder) -> Mentions:
        lang = lexicon.lang
        folded = fold_text(text, lang)
        # The text in the places of the folded one: what is looked up there keeps its capitals.
        places = folded.places
        aligned = text if places is None else "".join(map(text.__getitem__, places[:-1]))
        tokens = tokenise(folded.text, lang)
        names = detect(folded.text, aligned, tokens, lexicon)
        if lang not in UNSPACED:
            words = [aligned[start:end] for _, start, end in tokens]
            # Most sentences have nothing but words that were met before and are parts of no name.
            if not lexicon.phrases.idle.issuperset(words[:-1]):
                names = joined(names, phrases(aligned, tokens, lexicon))
            if "-" in aligned or not lexicon.idle.issuperset(words):
                names = joined(names, inflected(aligned, tokens, names, lexicon))
        names = small_places(aligned, tokens, names, lang) if names else names
        months = [(n.start, n.end) for n in names if n.entry.category == "month"]
        values = find_values(folded.text, tokens, lang, months, aligned)
        settled = _Settling(self, text, aligned, folded, lexicon, units)
        mentions = parts_of_names(text, lang, settled.mentions(names, values))
        return _with_terms(mentions, terms.find(text))


class _Settling:
    """Chooses between the overlapping names and values of one text."""

    def __init__(
        self,
        linker: DictionaryLinker,
        text: str,
        aligned: str,
        folded: Folded,
        lexicon: Lexicon,
        units: Units,
    ) -> None:
        self.linker, self.text, self.aligned, self.folded = linker, text, aligned, folded
        self.lexicon, self.units = lexicon, units

    def mentions(self, names: list[NameSpan], values: list[Value]) -> Mentions:
        """Return the mentions of a text, in order."""
        numbers = [v for v in values if v.category not in ("currency", "time", "month")]
        mentions = []
        taken: list[tuple[int, int]] = []
        for name in names:
            meaning = self._meaning(name, numbers)
            if meaning is None or any(_prevails(value, name) for value in values):
                continue
            taken.append((name.start, name.end))
            mention = self._mention(name.start, name.end, name.entry.category, meaning.ids)
            mentions.append(
                mention._replace(
                    tier=name.entry.tier,
                    rule="inflected" if name.inflected else "name",
                    doubtful=name.doubtful or meaning.doubtful,
                )
            )
        for value in values:
            if any(start < value.end and value.start < end for start, end in taken):
                continue
            ids = tuple(dict.fromkeys(map(self._entity, (value.id, *value.others))))
            mention = self._mention(value.start, value.end, value.category, ids)
            mentions.append(mention._replace(doubtful=value.doubtful))
            if value.category in ("number", "ordinal"):
                year = is_year(value, self.folded.text)
                after = self.units.after(self.folded.text, self.aligned, value.end, year=year)
                if after and not any(s < after[1] and after[0] < e for s, e in taken):
                    start, end, unit = after
                    mention = self._mention(start, end, "unit", unit.ids)
                    mentions.append(mention._replace(doubtful=unit.doubtful))
        if values:
            mentions.sort(key=lambda m: (m.start, m.end))
        return _repeated(mentions) if numbers else tuple(mentions)

    def _mention(self, start: int, end: int, category: str, ids: tuple[Id, ...]) -> Mention:
        start, end = self.folded.span(start, end)
        text = self.text[start:end]
        return Mention(start, end, text, ids[0], category, candidates=ids, rule="value")

    def _meaning(self, name: NameSpan, numbers: list[Value]) -> Meaning | None:
        entry, folded = name.entry, self.folded.text
        ids: tuple[Id, ...] = entry.ids
        number = None
        if entry.category in _BESIDE_NUMBER:
            number = next((v for v in numbers if _is_beside(folded, name, v)), None)
        if entry.after_number and number is None:
            return None
        if entry.category == "unit" and number is not None:
            if number.category == "date":
                return None
            written = self.aligned[name.start : name.end]
            return self.units.named(ids, written, year=is_year(number, folded))
        if entry.category == "currency":
            code = self.linker.name(ids[0]).removeprefix("cur:")
            doubtful = number is None or not _is_money(code, name, folded)
            word = folded[name.start : name.end]
            if " " not in word and len(word) > 1 and word[0] not in "美港日欧歐英":
                ids = tuple(dict.fromkeys((*ids, *map(self._entity, readings(code)))))
            return Meaning(ids, doubtful)
        # "po" is Monday, and a preposition.
        return Meaning(ids, entry.category == "weekday" and entry.after_number)

    def _entity(self, value: str) -> Id:
        """Return the entity of the base for currencies and months; other values are their own."""
        entity = self.lexicon.values[value] if value.startswith(("cur:", "month:")) else None
        return value if entity is None else entity


def _with_terms(mentions: Mentions, terms: Sequence[Mention]) -> Mentions:
    """Add terms; what they overlap goes, unless it is longer or the term is part of a compound."""

    def apart(a: Mention, b: Mention) -> bool:
        return a.end <= b.start or b.end <= a.start

    if not terms:
        return mentions
    kept = [
        term
        for term in terms
        if all(
            apart(term, m) or not (term.doubtful or len(m.text) > len(term.text)) for m in mentions
        )
    ]
    rest = [m for m in mentions if all(apart(m, term) for term in kept)]
    return tuple(sorted((*rest, *kept), key=lambda m: (m.start, m.end)))


def _prevails(value: Value, name: NameSpan) -> bool:
    """Tell whether a value replaces a name: it overlaps, and is longer or begins earlier."""
    if value.end <= name.start or name.end <= value.start:
        return False
    return value.start < name.start or value.end - value.start > name.end - name.start


def _is_beside(folded: str, name: NameSpan, value: Value) -> bool:
    if value.end <= name.start:
        gap = folded[value.end : name.start]
    elif name.entry.category != "unit" and name.end <= value.start:
        gap = folded[name.end : value.start]
    else:
        return False
    return gap in _OF or (len(gap) <= 2 and not gap.strip(" .-,").strip(_COUNTERS))


def _is_money(code: str, name: NameSpan, folded: str) -> bool:
    """Tell whether a word for a currency beside a number is one; лев is a lion as well."""
    word = folded[name.start : name.end]
    if code.startswith("X") or word == "sterling":
        return False  # gold and silver
    if code == "GBP" and " " not in word and word != "gbp":
        return "£" in folded or "sterling" in folded  # pounds are weights, too
    return not name.inflected or code in COMMON


def _repeated(mentions: list[Mention]) -> Mentions:
    """Doubt units and currencies that are repeated: "5 km to 10 km" may be "5 to 10 km"."""
    last: dict[Id, int] = {}
    result = []
    for mention in mentions:
        again = False
        if mention.category in ("unit", "currency"):
            again = mention.start - last.get(mention.id, -_REPEATED) < _REPEATED
            last[mention.id] = mention.end
        result.append(mention._replace(doubtful=True) if again else mention)
    return tuple(result)


# -- the texts of a set

Pair = tuple[str | None, str | None]
Outputs = dict[str, tuple[Mentions | None, ...]]


def make_linker(kb: object = None) -> DictionaryLinker:
    """Link by a knowledge base: an open one, the folder of one, or None for the embedded one."""
    if isinstance(kb, (str, Path)):
        kb = KnowledgeBase.open(kb)
    if not (kb is None or isinstance(kb, KnowledgeBase)):
        raise UsageError(f"can't link with a {type(kb).__name__}: expected a knowledge base")
    return DictionaryLinker(kb)


def link_set(es: EvalSet, pair: Pair, options: KobeOptions, linker: Linker) -> LinkedTexts:
    """Find the mentions of what outputs are compared with, of the outputs, and of references.

    The languages may be unknown if the linker has no use for them. An output without a text to
    compare it with is missing (None).
    """
    src, tgt = (code or "" for code in pair)
    # Texts of one language are compared with a reference as they are with a source.
    lang = src if options.against == "src" else tgt
    texts = _compared(es, options.against)
    need_outputs(es)
    for system, row in es.outputs.items():
        if not any((text or "").strip() for text in row):
            raise UsageError(f"all outputs of system '{system}' are empty")
    outputs = {name: es.outputs[name] for name in es.systems if name in es.outputs}
    references = {row: name for name, row in reference_rows(es).items() if name != options.against}
    outputs |= {row: es.segments.references[name] for row, name in references.items()}
    compared = {
        name: tuple(
            None if text is None else output for text, output in zip(texts, row, strict=True)
        )
        for name, row in outputs.items()
    }
    keep = LanguageFilter(src, tgt, off=options.language_filter == "off")
    mentions, foreign = _link_outputs(linker, keep, compared, (tgt, lang), references)
    other = tgt if options.against == "src" else lang
    human = () if options.against == "src" else SIDES[1:]
    sources = _link_texts(linker, texts, (lang, other), options.against, *human)
    if tier := name_tier(linker, lang, tgt):
        sources = tuple(
            linked if text is None else tier.mentions(text, linked)
            for text, linked in zip(texts, sources, strict=True)
        )
        mentions = {
            name: tuple(
                linked
                if text is None or linked is None or not source or at in foreign[name]
                else tier.kept(source, text, linked)
                for at, (source, text, linked) in enumerate(
                    zip(sources, compared[name], row, strict=True)
                )
            )
            for name, row in mentions.items()
        }
    return LinkedTexts(
        ids=es.segments.ids,
        sources=texts,
        source_mentions=sources,
        outputs=outputs,
        output_mentions=mentions,
        foreign=foreign,
        references=tuple(references),
    )


def name_tier(linker: Linker, lang: str, other: str) -> NameTier | None:
    """Return what finds names that no base knows; annotations go without."""
    if not isinstance(linker, DictionaryLinker):
        return None
    return NameTier(normalise(lang), normalise(other))


def reference_rows(es: EvalSet) -> dict[str, str]:
    """Name references among outputs so that neither a system nor another reference has the name."""
    rows: dict[str, str] = {}
    for name in es.references:
        row = name
        while row in es.systems or (row != name and row in es.references):
            row += " (reference)"
        rows[name] = row
    return rows


def that_count(
    sources: tuple[Mentions, ...], outputs: Outputs
) -> tuple[tuple[Mentions, ...], Outputs]:
    """Return the mentions that a score counts: entities of the base, and values.

    A name that no base knows is kept by copying it, which says nothing of a translation, and would
    reward whoever copies titles. Alarms look at all mentions.
    """
    return tuple(tuple(filter(of_base, row)) for row in sources), {
        name: tuple(None if m is None else tuple(filter(of_base, m)) for m in row)
        for name, row in outputs.items()
    }


def of_base(mention: Mention) -> bool:
    """Tell whether a mention is an entity of the base or a value."""
    return not (isinstance(mention.id, str) and mention.id.startswith(UNKNOWN))


def _compared(es: EvalSet, against: str) -> Texts:
    if against == "src":
        texts = es.segments.sources
        if texts is None or all(text is None for text in texts):
            raise UsageError("the set has no sources to find entities in; give a text file")
        return texts
    if against not in es.references:
        raise UsageError(f"no reference named '{against}'; {hint(against, es.references)}")
    texts = es.segments.references[against]
    if all(text is None for text in texts):
        raise UsageError(f"reference '{against}' has no texts to find entities in")
    return texts


def _link_texts(
    linker: Linker, texts: Sequence[str | None], pair: tuple[str, str], *names: str
) -> tuple[Mentions, ...]:
    if isinstance(linker, AnnotatedLinker):
        return tuple(linker.link_row(names, texts))
    linked = iter(linker.link([text for text in texts if text is not None], *pair))
    return tuple(() if text is None else next(linked) for text in texts)


def _link_outputs(
    linker: Linker,
    keep: LanguageFilter,
    rows: Mapping[str, Texts],
    pair: tuple[str, str],
    references: Mapping[str, str],
) -> tuple[Outputs, dict[str, frozenset[int]]]:
    """Link outputs without those in another language, and say which segments those are.

    ``references`` maps rows that are no system's to the names that they have in the set.
    """
    linked: Outputs = {}
    foreign = {}
    for name, texts in each(rows.items()):
        names = (references[name], *SIDES[1:]) if name in references else (name,)
        row = keep.apply(texts, _link_texts(linker, texts, pair, *names))
        linked[name] = tuple(
            None if text is None else mentions for text, mentions in zip(texts, row, strict=True)
        )
        foreign[name] = frozenset(
            at for at, text in enumerate(texts) if text is not None and not keep.is_target(text)
        )
    return linked, foreign
