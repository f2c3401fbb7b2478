"""The linker: from texts to mentions of entities, by dictionary, rules and one prior for all.

Nothing is learned and nothing is guessed from context, so that both sides of a translation are
treated alike: the same name means the same entity in every sentence and language. Names begin where
a word begins, and the longest counts; where words are written together (Chinese, Japanese, Thai), a
name may begin anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.base.packaged import default
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.caseless import placed
from steelyard.kobe.linking.doubt import Found, doubted, is_initial
from steelyard.kobe.linking.lexicon import OPEN_ENDED, UNSPACED, Entry, Lexicon
from steelyard.kobe.linking.money import COMMON, readings
from steelyard.kobe.linking.prefixes import prefixed
from steelyard.kobe.linking.quantities import find_values, is_year
from steelyard.kobe.linking.runs import undecided_parts
from steelyard.kobe.linking.tokens import in_word, is_mark, tokenise
from steelyard.kobe.linking.unitnames import units_of
from steelyard.kobe.linking.wordforms import Folded, common, fold_text, stop_words
from steelyard.kobe.linking.written import Token, Value
from steelyard.kobe.mention import Id, Mention, Mentions
from steelyard.kobe.options import LinkOptions

_CACHED = 500_000  # sentences
_TRIMMED = 64  # sentences after which a dictionary is asked whether it remembers too much
_BESIDE = 2  # characters between a number and its unit
_BESIDE_NUMBER = frozenset({"unit", "currency", "month", "weekday"})
_OF = (" de ", " d'", " di ")  # un million d'euros
_AGAIN = 40  # characters from a unit to the same one said again
_COUNTERS = "个個つケヶカか"
WINDOW = 60  # characters of the longest name that is looked for
#: Words that are not Chinese, Japanese, Thai ...: those are taken character by character.
_UNSPACED_CHAR = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_PIECE = re.compile(rf"[{_UNSPACED_CHAR}]|[^\W{_UNSPACED_CHAR}]+")
_ENDS = frozenset(".':")  # signs that may be the end of a name
_AROUND = 30  # characters by which a headline is told
_ABBREVIATED = range(2, 5)  # letters
_TITLED = frozenset({"city", "state", "person", "organisation", "work", "product", "event"})
_DOTTED = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,5}")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]")
_HIRAGANA = re.compile(r"[\u3041-\u3096]+")
_PLACE_WORDS = {"de": frozenset({"in", "nach", "aus"}), "lb": frozenset({"zu"})}


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
            found = joined(found, prefixed(folded.text, tokens, lexicon))
            if "-" in aligned or not lexicon.idle.issuperset(words):
                found = joined(found, inflected(aligned, tokens, found, lexicon))
        if found:
            found = joined(found, surnames(aligned, tokens, found, lexicon))
            found = placed(aligned, tokens, doubted(aligned, tokens, found, lang), lang)
        values: list[Value] = []
        if self.options.values and "core" in self.options.tiers:
            months = [(f.start, f.end) for f in found if f.entry.category == "month"]
            values = find_values(folded.text, tokens, lang, months, aligned)
        mentions = self._settle(text, aligned, folded, found, values, lexicon)
        return undecided_parts(text, lang, mentions)

    def _settle(  # noqa: C901, PLR0912 - each kind has its own needs
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


# -- names in a text


def detect(  # noqa: C901, PLR0912 - the names that a word may begin, the commonest case first
    folded: str, text: str, tokens: list[Token], lexicon: Lexicon
) -> list[Found]:
    """Find names that are written as names, the longest at each place.

    ``text`` is the text in its own writing, in the places of the folded one.
    """
    if lexicon.lang in UNSPACED:
        return _detect_unspaced(folded, text, lexicon)
    found = []
    starts, begins, entry_of = lexicon.starts, lexicon.begins, lexicon.entry
    exact, alone = lexicon.exact, lexicon.alone
    lang = lexicon.lang
    loose = lang in OPEN_ENDED
    n, last, taken = len(folded), len(tokens) - 1, 0
    for at, (token, start, stop) in enumerate(tokens):
        if start < taken:
            continue
        known = starts[token]
        if known is False:
            continue
        if known is True:
            # Most words that begin a longer name do not begin one here: ask the next words first.
            names: Sequence[tuple[int, int]]
            if loose or (at < last and begins[folded[start : tokens[at + 1][2]]]):
                if not loose and at + 1 < last and not begins[folded[start : tokens[at + 2][2]]]:
                    names = exact[folded[start : min(tokens[at + 2][1], start + WINDOW)]]
                else:
                    names = lexicon.names(folded[start : start + WINDOW])
            elif folded[stop : stop + 1] in _ENDS:
                names = exact[folded[start : stop + 1]]
            else:
                names = alone[token]
        else:
            names = known
        for length, key in names:
            end = start + length
            if (
                end < n
                and not loose
                and (after := folded[end]) != " "
                and ((after.isalnum() or after >= "\u0300") and in_word(folded, end))
            ):
                continue
            entry = entry_of(key, folded[start:end])
            if entry and (meant := as_written(entry, text, start, end, lang)):
                found.append(Found(start, end, key, meant))
                taken = end
                break
    return found


def _detect_unspaced(folded: str, text: str, lexicon: Lexicon) -> list[Found]:
    found = []
    taken = 0
    japanese, begins = lexicon.lang == "ja", lexicon.begins
    for piece in _PIECE.finditer(folded):
        start = piece.start()
        if start < taken or not begins[folded[start : start + 2]]:
            continue
        together = piece.end() - start == 1 and piece[0] >= "\u0e00"
        # Most names have two characters, and are not looked for twice.
        if begins[folded[start : start + 3]]:
            names: Sequence[tuple[int, int]] = lexicon.names(folded[start : start + WINDOW])
        else:
            names = lexicon.exact[folded[start : start + 2]]
        for length, key in names:
            end = start + length
            if end < len(folded) and is_mark(folded[end]):
                continue
            if together and not _stands_alone(folded, start, end, japanese=japanese):
                continue
            if not together and end < len(folded) and _latin(folded[end - 1 : end + 1]):
                continue
            entry = lexicon.entry(key, folded[start:end])
            if entry and (meant := as_written(entry, text, start, end, lexicon.lang)):
                found.append(Found(start, end, key, meant))
                taken = end
                break
    return found


def _latin(pair: str) -> bool:
    """Whether two characters are of one word of a script with blanks."""
    return pair[0].isalnum() and pair[1].isalnum() and pair[0] < "\u0e00" and pair[1] < "\u0e00"


def _stands_alone(folded: str, start: int, end: int, *, japanese: bool) -> bool:
    """Whether a name in writing without blanks can be a word of its own."""
    if end - start < 2:
        return False
    if not japanese:
        return True
    name = folded[start:end]
    if _HIRAGANA.fullmatch(name):
        return len(name) >= 4
    before, after = folded[start - 1 : start], folded[end : end + 1]
    if _KATAKANA.match(name) and start and _KATAKANA.match(before):
        return False
    return not (_KATAKANA.match(name[-1]) and after and _KATAKANA.match(after))


def surnames(text: str, tokens: list[Token], found: list[Found], lexicon: Lexicon) -> list[Found]:
    """Find people whose full name is in the text by the last word of it: Merkel, after all.

    They are doubtful: translators repeat names, or not, as their language likes it.
    """
    people: dict[str, Found] = {}
    for one in found:
        first, _, last = text[one.start : one.end].rpartition(" ")
        if one.entry.category == "person" and first and len(last) > 2:
            people.setdefault(lexicon.stems[last.lower()], one)
    if not people:
        return []
    more = []
    for folded, start, end in tokens:
        person = people.get(lexicon.stems[folded])
        if person and not person.start <= start < person.end and text[start].isupper():
            more.append(person._replace(start=start, end=end, doubtful=True))
    return more


def dotted(text: str, lexicon: Lexicon) -> list[Found]:
    """Find abbreviations with dots that the base has without: U.S., U.K., U.S.A."""
    found = []
    for match in _DOTTED.finditer(text):
        letters = match[0].replace(".", "")
        form = lexicon.abbreviation(letters) if letters == letters.upper() else None
        if form is not None:
            found.append(Found(*match.span(), *form))
    return found


def phrases(text: str, tokens: list[Token], lexicon: Lexicon) -> list[Found]:
    """Find names of several words, in whatever form they are."""
    found: list[Found] = []
    own, lang = lexicon.phrases, lexicon.lang
    if not own.on:
        return found
    taken, idle = 0, own.idle
    for at, (_, start, end) in enumerate(tokens[:-1]):
        if start < taken or text[start:end] in idle or not (hit := own.find(text, tokens, at)):
            continue
        last, (key, entry) = hit
        stop = tokens[last][2]
        if meant := as_written(entry, text, start, stop, lang):
            found.append(Found(start, stop, key, meant, inflected=True))
            taken = stop
    return found


def joined(found: list[Found], more: list[Found]) -> list[Found]:
    """Put names together; of two that overlap the longer counts, else the one of the first list.

    Both are sorted.
    """
    if not more:
        return found
    result = [
        one for one in found
        if not any(_overlap(one, o) and o.end - o.start > one.end - one.start for o in more)
    ]  # fmt: skip
    kept = [one for one in more if not any(_overlap(one, other) for other in result)]
    return sorted(result + kept)


def _overlap(one: Found, other: Found) -> bool:
    return one.start < other.end and other.start < one.end


def inflected(text: str, tokens: list[Token], taken: list[Found], lexicon: Lexicon) -> list[Found]:
    """Find names that are inflected, among words that are not part of one yet."""
    found: list[Found] = []
    end_taken = 0
    lang, forms = lexicon.lang, lexicon.known_forms
    hyphens, compounds, idle = "-" in text, lexicon.phrases.compounds, lexicon.idle
    if not hyphens:
        tokens = [token for token in tokens if text[token[1] : token[2]] not in idle]
    free = _free(tokens, taken)
    for at, (folded, start, end) in enumerate(free):
        if start < end_taken:
            continue
        word = text[start:end]
        hit = None
        if hyphens and text[end : end + 1] == "-":
            hit = _hyphenated(text, free, at, lexicon)
        if hit is None:
            form = forms[word] if word in forms else lexicon.inflected(word, folded)
            if form is not None:
                hit = Found(start, end, *form, inflected=True)
            elif compounds and (part := lexicon.phrases.compound(folded)):
                hit = Found(start + part[0], start + part[1], *part[2], inflected=True)
            else:
                idle.add(word)
        if hit and (meant := as_written(hit.entry, text, hit.start, hit.end, lang)):
            found.append(hit._replace(entry=meant))
            end_taken = hit.end
    return found


def _hyphenated(text: str, tokens: list[Token], at: int, lexicon: Lexicon) -> Found | None:
    """Find an inflected name of two words with a hyphen: Санкт-Петербурге."""
    if at + 1 == len(tokens) or tokens[at][2] + 1 != tokens[at + 1][1]:
        return None
    start, end = tokens[at][1], tokens[at + 1][2]
    form = lexicon.form(text[start:end], f"{tokens[at][0]}-{tokens[at + 1][0]}")
    return None if form is None else Found(start, end, *form, inflected=True)


def _free(tokens: list[Token], taken: list[Found]) -> list[Token]:
    result = []
    spans = iter([(f.start, f.end) for f in taken] + [(1 << 60, 1 << 60)])
    start, end = next(spans)
    for token in tokens:
        while token[1] >= end:
            start, end = next(spans)
        if token[2] <= start:
            result.append(token)
    return result


def as_written(entry: Entry, text: str, start: int, end: int, lang: str) -> Entry | None:  # noqa: PLR0911
    """Give what a name means as it is written; None where it is not written as a name.

    It needs capitals where names have them, and must not be an ordinary word with a capital for
    other reasons. ``text`` is the original, ``start`` and ``end`` the span in it.
    """
    if entry.in_capitals is not None and (written := text[start:end]) == written.upper():
        entry = entry.in_capitals
    elif entry.with_capital is not None and text[start] != text[start].lower():
        entry = entry.with_capital
    if not entry.case and not entry.ordinary:
        return entry
    written = text[start:end]
    first = written[0]
    if entry.case == 2:
        if written != written.upper():
            return None
        word = written.lower()
        return None if word in stop_words(lang) and _shouted(text, start, end) else entry
    if entry.case == 1 and len(written) in _ABBREVIATED and _is_abbreviation(text, start, end):
        return None
    if entry.case == 1 and first == first.lower() and first != first.upper():
        return None
    if lang == "en" and entry.category in _TITLED and " " in written and _small(written):
        return None
    return entry if not entry.ordinary or _is_name(text, start, written, lang) else None


def _small(written: str) -> bool:
    """Whether a word of a name in English lacks its capital, which only little words do."""
    words = [word for word in written.split() if word[0].islower() and len(word) > 3]
    return any(word not in stop_words("en") and common(word, "en") for word in words)


def _shouted(text: str, start: int, end: int) -> bool:
    """Whether the words around a span are in capitals, so that its own say nothing."""
    around = text[max(0, start - _AROUND) : start] + text[end : end + _AROUND]
    return around == around.upper() and around != around.lower()


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether a short word in capitals is none that is written so: ROM is not Rom."""
    written = text[start:end]
    return written == written.upper() != written.lower() and not _shouted(text, start, end)


def _is_name(text: str, start: int, written: str, lang: str) -> bool:
    """Whether an ordinary word is a name here, to judge by its capital."""
    first = written[0]
    if first == first.lower():
        return first == first.upper() and len(written) > 2  # no capitals in this script
    if lang in _PLACE_WORDS:  # nouns have capitals too: only the word before can tell
        before = text[:start].split()[-1:]
        return bool(before) and before[0].lower() in _PLACE_WORDS[lang]
    if is_initial(text, start):
        return any(word[:1].isupper() for word in written.split()[1:])
    return True
