"""What happened to each entity of a segment: found, lost, changed, copied or added.

Mentions are paired by any of their readings, and text of the output that is not linked counts, too:
this is more forgiving than the score, because nobody reads a list of false alarms twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, get_args

from steelyard.kobe.base.codec import UNSTATED, Flag
from steelyard.kobe.base.codec import Name as StatedName
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.languages import script_share, scripts
from steelyard.kobe.linking.money_units import currency_words
from steelyard.kobe.linking.names import (
    RULE,
    TIER,
    UNKNOWN,
    Name,
    alike,
    find_in,
    find_names,
    pieces,
    romanise,
)
from steelyard.kobe.matching import Pairs, pair_candidates
from steelyard.kobe.mention import Id, Linker, Mention, Mentions

Kind = Literal["found", "lost", "changed", "copied", "added", "missed", "undecided"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Kinds that say that a translation is wrong.
ALARMS: tuple[Kind, ...] = ("lost", "changed", "copied", "added")
Spans = Sequence[tuple[int, int]]


class Evidence(NamedTuple):
    """How many other outputs of a segment do not raise the same alarm.

    ``others`` counts the other systems and ``references`` the human translations; ``kept`` and
    ``kept_references`` count those that keep the entity (or also lack an added one). ``rivals``
    counts those of both that have what replaces it here.
    """

    kept: int = 0
    others: int = 0
    kept_references: int = 0
    references: int = 0
    rivals: int = 0

    @property
    def kept_by_reference(self) -> bool | None:
        """Whether a human translation keeps it, None without one."""
        return self.kept_references > 0 if self.references else None


class Finding(NamedTuple):
    """What happened to one entity: its mention in the source, in the output, or in both.

    ``copied``: the output has the form of the source, which is not one of the target language.
    ``changed``: the output has another entity of the same kind. ``missed``: no output and no human
    translation has it, so most likely the linker is wrong. ``undecided``: it is doubtful in the
    source and not in the output. ``repeated``: both sides have the entity, but not as often.
    ``confidence`` (that an alarm is an error) and ``evidence`` are None if there is no alarm.
    """

    kind: Kind
    source: Mention | None
    output: Mention | None
    repeated: bool = False
    confidence: float | None = None
    evidence: Evidence | None = None

    @property
    def mention(self) -> Mention:
        """The mention of the source, else that of the output."""
        mention = self.source or self.output
        assert mention is not None
        return mention

    @property
    def is_alarm(self) -> bool:
        """Whether it says that the translation is wrong."""
        return self.kind in ALARMS

    @property
    def sureness(self) -> float:
        """The confidence, 0 where there is none."""
        return self.confidence or 0.0

    def to_dict(self, linker: Linker) -> dict[str, Any]:
        """Return what a line of JSON holds: spans are [start, end, text] in characters."""
        evidence = self.evidence or Evidence()
        return {
            "kind": self.kind,
            "category": self.mention.category,
            "group": self.mention.group,
            "tier": self.mention.tier,
            "id": linker.name(self.mention.id),
            "source": None if self.source is None else list(self.source[:3]),
            "output": None if self.output is None else list(self.output[:3]),
            "output_id": None if self.output is None else linker.name(self.output.id),
            "confidence": None if self.confidence is None else round(self.confidence, 3),
            "kept_by": round(evidence.kept / evidence.others, 3) if evidence.others else None,
            "kept_by_reference": evidence.kept_by_reference,
            "repeated": self.repeated,
        }


# -- what the knowledge base calls an entity

_CODE = 4  # letters of a code at most
_READINGS = 3  # of an ambiguous name, the most probable ones
_LARGE = 5.7  # log10 of the people of a city that everybody names: 500,000


def _is_code(name: StatedName) -> bool:
    return name.text.isupper() and len(name.text) <= _CODE  # GBP, USA


class EntityNames:
    """Names of entities in one language; empty without a knowledge base or a language."""

    def __init__(self, linker: Linker | None = None, lang: str | None = None) -> None:
        kb = getattr(linker, "kb", None)
        self.kb = kb if isinstance(kb, KnowledgeBase) and lang else None
        self.lang = lang or ""
        self.scripts = scripts(lang) if lang else frozenset[str]()
        self._cache: dict[Id, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def _look_up(self, entity: Id) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if entity not in self._cache:
            every = [] if self.kb is None else self.kb.names(entity, (self.lang, UNSTATED))
            unstated = [n for n in every if n.lang == UNSTATED and self.can_spell(n.text)]
            names = [n for n in every if n.lang == self.lang or (n in unstated and _is_code(n))]
            if not any(n.lang == self.lang for n in names):
                names += [n for n in unstated if n.flags & Flag.LABEL]
            labels = tuple(n.text for n in names if n.flags & Flag.LABEL)
            texts = tuple(dict.fromkeys((*labels, *(n.text for n in names))))
            self._cache[entity] = texts, labels
        return self._cache[entity]

    def can_spell(self, text: str) -> bool:
        """Whether a text is in the script of the language."""
        return script_share(text, self.scripts) == 1

    def of(self, mention: Mention) -> tuple[str, ...]:
        """Return the names of the likeliest readings of a mention, labels first."""
        ids = mention.readings[:_READINGS]
        return tuple(dict.fromkeys(name for entity in ids for name in self._look_up(entity)[0]))

    def labels(self, mention: Mention) -> tuple[str, ...]:
        """Return the main names of the best reading."""
        return self._look_up(mention.id)[1] if isinstance(mention.id, int) else ()

    def label(self, mention: Mention) -> str:
        """Return the main name of the best reading, or an empty text."""
        names, labels = self._look_up(mention.id) if isinstance(mention.id, int) else ((), ())
        return next(iter(labels or names), "")

    def short_currency_words(self, mention: Mention) -> tuple[str, ...]:
        """Return other words for a currency: crowns."""
        if self.kb is None or mention.category != "currency" or not isinstance(mention.id, int):
            return ()
        return currency_words(self.kb.external_id(mention.id).removeprefix("cur:"))

    def is_large(self, mention: Mention) -> bool:
        """Whether the best reading has many inhabitants."""
        if self.kb is None or not isinstance(mention.id, int):
            return False
        return bool(self.kb.prior[mention.id] >= _LARGE)

    def fits(self, mention: Mention) -> bool:
        """Whether the form of a mention is right in this language, too: the base has no other."""
        if self.kb is None or not self.can_spell(mention.text):
            return False
        if not isinstance(mention.id, int):
            return mention.rule != "value"  # 5 Uhr is German
        text = mention.text.casefold()
        names = [name.casefold() for name in self.of(mention)]
        return not names or any(text == name or text in name.split() for name in names)


# -- text of the output that is not linked

_LEAST = 3  # letters of a name that is searched as it is
_DERIVED, _ENDING = 5, 4  # letters that a derived word shares with a name, and that it may lack
_COUNTED = ("ordinal", "date")  # written with letters or a dot, or without: 24th, 24.
_SHOUTED, _SEVERAL = 4, 8  # letters of a name in capitals, and of several words without
_UNSPACED = "\u0e00"  # scripts from here on are mostly written without blanks


def _find_unlinked(
    mention: Mention, output: str, used: Spans, linked: Spans, names: EntityNames
) -> Mention | None:
    """Find digits, a name of the target language, a surname, or a derived word in an output.

    ``used`` are the spans of paired mentions, ``linked`` those of all mentions.
    """
    plain = any(c.isdecimal() for c in mention.text) and not any(c.isalpha() for c in mention.text)
    if plain or mention.category in _COUNTED:
        return _find_digits(mention, output, used)
    forms = names.of(mention)
    for form in (*forms, *_last_words(mention, forms), *names.short_currency_words(mention)):
        if len(form) >= _LEAST or form.isupper() or form[:1] >= _UNSPACED:
            place = _find_form(form, output, used, mention, "literal")
            if place is not None:
                return place
    derived = (_find_derived(form, output, linked, mention) for form in forms)
    return next((place for place in derived if place is not None), None)


def _placed(
    mention: Mention, output: str, span: tuple[int, int], used: Spans, rule: str = "literal"
) -> Mention | None:
    """Return a mention at another span, None if something else takes part of it."""
    start, end = span
    if any(s < end and start < e for s, e in used):
        return None
    return mention._replace(start=start, end=end, text=output[start:end], rule=rule)


def _last_words(mention: Mention, names: Iterable[str]) -> list[str]:
    """Return the last words of a person's or a currency's names: Merkel, dollar."""
    if mention.category not in ("person", "currency"):
        return []
    parts = [re.split(r"[\s·・‧]+", name.strip()) for name in (mention.text, *names)]
    return list(dict.fromkeys(p[-1] for p in parts if len(p) > 1 and len(p[-1]) > 1))


def _find_derived(name: str, output: str, linked: Spans, mention: Mention) -> Mention | None:
    """Find a word that begins like a name and has no link: Libyan, Sonntagsfahrt."""
    if len(name) < _DERIVED or name[:1] >= _UNSPACED or mention.group == "term":
        return None
    ending = _ENDING if mention.group in ("place", "name") else 0
    stem = name[: max(_DERIVED, len(name) - ending)]
    for word in re.finditer(rf"\b{re.escape(stem)}\w*", output, re.IGNORECASE):
        place = _placed(mention, output, word.span(), linked)
        if place is not None:
            return place
    return None


def _find_digits(mention: Mention, output: str, used: Spans) -> Mention | None:
    """Find the same digits, also in a word (A320), but not in a longer number."""
    wanted = _western_digits(mention.text).strip()
    if mention.category in _COUNTED:
        wanted = "".join(c for c in wanted if c.isdecimal())
    if not any(c.isdecimal() for c in wanted):
        return None
    digits = re.escape(wanted)
    if mention.category == "time":  # 16:32 may be a score: 16-32
        digits = "[:.–-]".join(re.findall(r"\d+", wanted))
    pattern = rf"(?<!\d)(?<!\d[.,:/]){digits}(?!\d)(?!(?:(?<=\d)[.,:/])\d)"
    places = (
        _placed(mention, output, place.span(), used)
        for place in re.finditer(pattern, _western_digits(output))
    )
    return next((place for place in places if place is not None), None)


def _western_digits(text: str) -> str:
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)


def _find_form(form: str, output: str, used: Spans, mention: Mention, rule: str) -> Mention | None:
    """Find a form as whole words; it may be in capitals (KIEV), or lack some if it is long."""
    if not any(c.isalpha() for c in form):
        return None
    text, wanted = output.lower(), form.lower()
    loose = len(text) == len(output) and (len(form) >= _SHOUTED or form.isupper())
    if not loose:
        text, wanted = output, form
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        word = output[start:end]
        same = word == form or (loose and (
            (word.isupper() and len(form) >= _SHOUTED) or (" " in form and len(form) >= _SEVERAL)
        ))  # fmt: skip
        before, after = output[start - 1 : start] if start else "", output[end : end + 1]
        whole = not _goes_on(before, form[0]) and not _goes_on(after, form[-1])
        if same and (whole or form[0] >= _UNSPACED):
            place = _placed(mention, output, (start, end), used, rule)
            if place is not None:
                return place
        start = text.find(wanted, start + 1)
    return None


def _goes_on(beside: str, letter: str) -> bool:
    return beside.isalnum() and letter.isalnum() and (beside < _UNSPACED or letter >= _UNSPACED)


# -- what replaces an entity

#: Ways of writing names that nothing in the source stands for; titles, abbreviations and quotations
#: are mostly translations.
_STRANGE = frozenset({"person", "single", "listed", "mixed", "foreign"})
#: Places that may be replaced by an unknown name; others have names in all languages.
_SMALL_PLACES = frozenset({"city", "place", "airport"})
_COMPOUND = 6  # letters of a word that a longer word may begin with
_NEARLY = 0.8  # similarity from which on two words are one name


@lru_cache(maxsize=1 << 12)
def _words_of(source: str) -> Any:
    return pieces(source)  # once for all systems


def _is_like(name: str, source: str) -> bool:
    """Whether a source has something like a name: the name, or the first part of a compound."""
    if find_in(name, source, lambda: _words_of(source)) is not None:
        return True
    low = name.lower()
    return any(len(w) >= _COMPOUND and low.startswith(w) for w in source.lower().split())


def is_unknown(mention: Mention) -> bool:
    """Whether a mention is a name that is not in the knowledge base."""
    return mention.rule == RULE and mention.tier == TIER


def _takes_unknown(mention: Mention) -> bool:
    return mention.group == "name" or mention.category in _SMALL_PLACES


def _nearly_same(name: Mention, other: Mention) -> bool:
    """Whether two names are one, up to endings: Mäkiseltä, Mäkinen."""
    few, many = sorted((name.text.split(), other.text.split()), key=len)
    return all(any(alike(a, b) >= _NEARLY or _begin_alike(a, b) for b in many) for a in few)


def _begin_alike(word: str, other: str) -> bool:
    a, b = romanise(word), romanise(other)
    shorter = min(len(a), len(b))
    stem = max(4, shorter - 3)
    return shorter > stem and a[:stem] == b[:stem] and abs(len(a) - len(b)) <= 4


def _may_replace(lost: Mention, other: Mention) -> bool:
    if lost.category == other.category or lost.group == other.group != "other":
        return True
    if is_unknown(other):
        return _takes_unknown(lost)
    return is_unknown(lost) and other.group in ("name", "place")


def _replacements(
    source: Mentions, lost: Sequence[int], free: Sequence[Mention], length: int
) -> dict[int, Mention]:
    """Pair lost mentions with unpaired ones of the output, the best fit first.

    The same category comes first, then what is spelled alike or at about the same position.
    """
    end = max((m.end for m in source), default=0) or 1
    options = []
    for i in lost:
        for j, m in enumerate(free):
            if _may_replace(source[i], m):
                similar = SequenceMatcher(None, source[i].text, m.text, autojunk=False).ratio()
                apart = abs(source[i].start / end - m.start / (length or 1))
                options.append((source[i].category != m.category, apart - similar, i, j))
    pairs: dict[int, int] = {}
    for _, _, i, j in sorted(options):
        if i not in pairs and j not in pairs.values():
            pairs[i] = j
    return {i: free[j] for i, j in sorted(pairs.items())}


def _sole_replacements(
    source: Mentions, open_: Sequence[int], free: Sequence[Mention]
) -> dict[int, Mention]:
    """Pair doubtful mentions with the only unpaired one of their category: 3 days, 3 weeks.

    Nothing follows from two doubtful numbers (a thousand, both).
    """
    pairs = {}
    for i in (i for i in open_ if source[i].doubtful):
        category = source[i].category
        lost = [k for k in open_ if source[k].category == category]
        new = [m for m in free if m.category == category]
        both_doubtful = source[i].group == "number" and len(new) == 1 and new[0].doubtful
        if len(lost) == len(new) == 1 and not both_doubtful:
            pairs[i] = new[0]
    return pairs


# -- a segment


def explain(
    source: Mentions,
    output: str,
    mentions: Mentions,
    missed: Collection[int] = (),
    *,
    same_language: bool = False,
    foreign: bool = False,
    names: EntityNames | None = None,
    pairs: Pairs | None = None,
    source_text: str | None = None,
) -> list[Finding]:
    """Return what happened to each mention of a source, in order, then what was added.

    ``missed`` mentions nobody keeps. In a ``foreign`` output nothing but links counts. Without
    ``source_text`` no new names are searched; ``pairs`` are those of ``pair_candidates``.

    Examples
    --------
    >>> wien, montag = Mention(0, 4, "Wien", "Q1741", "city"), Mention(5, 11, "Montag", "dow:0")
    >>> venice = Mention(3, 9, "Venice", "Q641", "city")
    >>> [(f.kind, f.mention.text) for f in explain((wien, montag), "In Venice", (venice,))]
    [('changed', 'Wien'), ('lost', 'Montag')]
    """
    names = names or EntityNames()
    segment = _Segment(source, output, mentions, names, source_text, foreign, same_language)
    return segment.explain(pair_candidates(source, mentions) if pairs is None else pairs, missed)


@dataclass
class _Segment:
    """One output on its way to be explained.

    ``findings`` are those of the source so far, ``used`` the spans of the output that they take,
    and ``free`` the mentions of the output that nothing takes.
    """

    source: Mentions
    output: str
    mentions: Mentions
    names: EntityNames
    source_text: str | None
    foreign: bool
    same_language: bool
    findings: dict[int, Finding] = field(default_factory=dict)
    used: list[tuple[int, int]] = field(default_factory=list)
    free: list[Mention] = field(default_factory=list)

    def explain(self, pairs: Pairs, missed: Collection[int]) -> list[Finding]:
        for i, j in pairs.items():
            self.findings[i] = Finding("found", self.source[i], self.mentions[j])
            self.used.append((self.mentions[j].start, self.mentions[j].end))
        taken = set(pairs.values())
        self.free = [m for j, m in enumerate(self.mentions) if j not in taken]
        if len(self.findings) < len(self.source):
            self._find_unlinked(missed)
            for i in missed:
                self.findings.setdefault(i, Finding("missed", self.source[i], None))
            self._find_replaced()
            for i in self.open():
                self._settle(i, "undecided" if self.source[i].doubtful else "lost", None)
        added = [m for m in self.free if not m.doubtful]
        wanted = self._readings(range(len(self.source))) if added else set()
        return [self.findings[i] for i in range(len(self.source))] + [
            Finding("added", None, m, not wanted.isdisjoint(m.readings)) for m in added
        ]

    def open(self) -> list[int]:
        """Return the mentions of the source without a finding."""
        return [i for i in range(len(self.source)) if i not in self.findings]

    def _readings(self, indices: Iterable[int]) -> set[Any]:
        return {reading for i in indices for reading in self.source[i].readings}

    def _settle(self, i: int, kind: Kind, mention: Mention | None) -> None:
        """Write a finding down; it is ``repeated`` if the entity is found at another position."""
        repeated = False
        if kind in ("lost", "changed"):
            kept = self._readings(i for i, f in self.findings.items() if f.kind == "found")
            repeated = not kept.isdisjoint(self.source[i].readings)
        self.findings[i] = Finding(kind, self.source[i], mention, repeated)

    def _find_unlinked(self, missed: Collection[int]) -> None:
        """Match open mentions with unlinked text of the output, correct or copied."""
        for i in self.open():
            mention, place = self.source[i], None
            kind: Kind = "found"
            if not self.foreign:
                linked = [*self.used, *((m.start, m.end) for m in self.free)]
                place = _find_unlinked(mention, self.output, self.used, linked, self.names)
            if place is None and i not in missed:
                place = _find_form(mention.text, self.output, self.used, mention, "copied")
                kind = "found" if self._may_be_copied(mention) else "copied"
            if place is not None:
                self._settle(i, kind, place)
                self.used.append((place.start, place.end))
                start, end = place.start, place.end
                self.free = [m for m in self.free if m.end <= start or end <= m.start]

    def _may_be_copied(self, mention: Mention) -> bool:
        if self.same_language or not self.names.lang:
            return self.same_language
        if mention.tier == "name" or mention.group == "name":
            return self.names.can_spell(mention.text)
        return not self.foreign and self.names.fits(mention)

    def _find_replaced(self) -> None:
        wanted = self._readings(range(len(self.source)))
        new = [m for m in self.free if wanted.isdisjoint(m.readings)]
        strange = []
        if any(_takes_unknown(self.source[i]) for i in self.open()):
            strange = self._strangers(_STRANGE, self.used)
        for i in filter(lambda i: _takes_unknown(self.source[i]), self.open()):
            same = next((m for m in strange if _nearly_same(self.source[i], m)), None)
            if same is not None:
                self._settle(i, "found", same)
                strange.remove(same)
        sure = [i for i in self.open() if not self.source[i].doubtful]
        clear = [*(m for m in new if not m.doubtful), *strange]
        changed = _replacements(self.source, sure, clear, len(self.output))
        rest = [m for m in (*new, *strange) if m not in changed.values()]
        left = [i for i in self.open() if i not in changed]
        for i, rival in {**changed, **_sole_replacements(self.source, left, rest)}.items():
            self._settle(i, "changed", rival)
            if rival in self.free:
                self.free.remove(rival)

    @cached_property
    def _names(self) -> tuple[Name, ...]:
        return find_names(self.output, self.names.lang, self.mentions)

    def _strangers(self, kinds: frozenset[str], used: Spans) -> list[Mention]:
        """Return the names of the output that are unlinked and unlike anything in the source."""
        strangers: list[Mention] = []
        if self.source_text is None or self.names.kb is None or self.foreign:
            return strangers
        for name in self._names:
            taken = any(s < name.end and name.start < e for s, e in used)
            text = self.output[name.start : name.end]
            if name.kind in kinds and not taken and not _is_like(text, self.source_text):
                key = UNKNOWN + " ".join(filter(None, map(romanise, name.words)))
                strangers.append(
                    Mention(name.start, name.end, text, key, "name", TIER, (key,), RULE)
                )
        return strangers
