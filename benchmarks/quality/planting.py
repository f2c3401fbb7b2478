"""Part of kobe_quality.py: errors planted in human references, one per segment.

Numbers, dates, units, currencies and names are found by simple means (patterns, lists of words,
capitalised words that both sides have), not by the linker under test. An error is planted only
where its counterpart stands in the source, so that the untouched reference is right.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from quality.measuring import (
    Context,
    by_segment,
    columns,
    overlap,
    percent,
    scored,
    table,
    text_rows,
    told,
)
from steelyard.core.table import Table

SETS = (
    ("wmt22-text", "de-en"), ("wmt22-text", "ru-en"), ("wmt22-text", "zh-en"),
    ("wmt22-text", "cs-en"), ("wmt22-text", "en-de"), ("wmt23-text", "de-en"),
    ("wmt23-text", "ru-en"), ("wmt24-esa", "en-cs"), ("wmt24-esa", "en-ja"),
    ("wmt24-esa", "en-hi"),
)  # fmt: skip
KINDS = ("number", "date", "unit", "money", "place", "name")
SEED = "kobe-planted-20"
_UNSPACED = ("ja", "zh")
_NUMBER = r"[0-9]+(?:[.,\u00a0\u202f ][0-9]{3}(?![0-9]))*(?:[.,][0-9]+)?"
_SPACED = re.compile(rf"(?<![\w.,:/+-]){_NUMBER}(?![\w:/]|[.,-][0-9])")
_DENSE = re.compile(rf"(?<![A-Za-z0-9.,:/+-]){_NUMBER}(?![A-Za-z0-9:/]|[.,-][0-9])")
#: A number of a list, at the beginning or after a sentence.
_MARKER = re.compile(r"(?:^|[.!?:;]\s+|\n\s*)[0-9]+[.)]?$")
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž][a-zß-öø-ÿā-ž][\w\u2019'-]*"
_NAME = re.compile(rf"(?<=[a-zß-ž,] )(?<!\. ){_CAPITAL}(?: {_CAPITAL})*")
_CYRILLIC = re.compile("[\u0410-\u042f\u0401][\u0430-\u044f\u0451]+")
_ALIKE = 0.8  # of a romanised word and a name, to be taken for the same
_PEOPLES = re.compile(r"(?:ian|ish|ese|can)s?$")


class Plant(NamedTuple):
    """An error: its kind and place in a reference, what is put there, where the source has it."""

    kind: str
    start: int
    end: int
    new: str
    counterpart: tuple[int, int]


@cache
def _words() -> dict[str, Any]:
    with Path(__file__).with_suffix(".toml").open("rb") as stream:
        return tomllib.load(stream)


def _forms(rows: Sequence[str], at: int) -> list[str]:
    return rows[at].split("|")


def _whole(form: str, lang: str) -> re.Pattern[str]:
    if lang in _UNSPACED:
        return re.compile(rf"(?<![0-9]){re.escape(form)}")
    return re.compile(rf"(?<![\w-]){re.escape(form)}(?![\w\u0900-\u097f-])")


def _begins(forms: Sequence[str], lang: str) -> re.Pattern[str]:
    """Match a stem at the beginning of a word, as far as the word goes."""
    joined = "|".join(map(re.escape, forms))
    return re.compile(rf"(?<![0-9])(?:{joined})" if lang in _UNSPACED
                      else rf"(?<!\w)(?:{joined})[\w\u0900-\u097f]*")  # fmt: skip


def _only(pattern: re.Pattern[str], text: str) -> tuple[int, int] | None:
    """Give the span of a match that is the only one."""
    found = [m.span() for m in pattern.finditer(text)]
    return found[0] if len(found) == 1 else None


# -- what can be changed in a segment


class Planter:
    """Finds what can be changed in references of a language pair."""

    def __init__(self, src: str, tgt: str, rng: random.Random) -> None:
        self.src, self.tgt, self.rng = src, tgt, rng
        self.numbers = {lang: _DENSE if lang in _UNSPACED else _SPACED for lang in (src, tgt)}
        self.pools: dict[str, list[str]] = defaultdict(list)
        self.surnames: set[str] = set()

    def plants(self, source: str, reference: str) -> dict[str, list[Plant]]:
        """Give what could be planted, by kind."""
        found: dict[str, list[Plant]] = defaultdict(list)
        for plant in (
            *self._valued(source, reference),
            *self._calendar(source, reference),
            *self._places(source, reference),
            *self._names(source, reference),
        ):
            old, new = reference[plant.start : plant.end], plant.new
            if new != old and new not in source and new not in reference:
                found[plant.kind].append(plant)
        return found

    def _valued(self, source: str, reference: str) -> Iterator[Plant]:
        there = Counter(_digits(m[0]) for m in self.numbers[self.src].finditer(source))
        here = list(self.numbers[self.tgt].finditer(reference))
        often = Counter(_digits(m[0]) for m in here)
        for m in here:
            digits = _digits(m[0])
            if there[digits] != 1 or often[digits] != 1 or not int(digits):
                continue
            if _MARKER.search(reference[: m.end() + 1]):
                continue
            at = next(n.span() for n in self.numbers[self.src].finditer(source)
                      if _digits(n[0]) == digits)  # fmt: skip
            before, after = reference[: m.start()], reference[m.end() :]
            day = self._beside_month(before, after)
            if re.fullmatch(r"(19|20)[0-9]{2}", m[0]):
                year = str(int(m[0]) + self.rng.choice([-10, -7, -3, -2, -1, 1, 2, 3, 7, 10]))
                yield Plant("date", *m.span(), year, at)
            elif day and len(m[0]) <= 2 and 1 <= int(m[0]) <= 31:
                others = [d for d in range(1, 29) if d != int(m[0])]
                yield Plant("date", *m.span(), str(self.rng.choice(others)), at)
            else:
                change = self.rng.choice([self._other_digit, _tenfold])
                yield Plant("number", *m.span(), change(m[0]), at)
                yield from self._measures(m, before, after, at, len(source))

    def _measures(
        self, m: re.Match[str], before: str, after: str, at: tuple[int, int], length: int
    ) -> Iterator[Plant]:
        """Change the unit or the currency of a number; the source has it near the same number."""
        near = (max(0, at[0] - 5), min(length, at[1] + 14))
        for kind, words in (("unit", "units"), ("money", "money")):
            for old, new in _words()[words].get(self.tgt, ()):
                word = re.match(rf"[\s\u00a0-]?{re.escape(old)}"
                                + ("" if self.tgt in _UNSPACED else r"(?![\w\u0900-\u097f])"),
                                after)  # fmt: skip
                if word:
                    end = m.end() + word.end()
                    yield Plant(kind, end - len(old), end, new, near)
        signs = _words()["money"]["signs"]
        if before.endswith(tuple(signs)):
            new = self.rng.choice([s for s in signs if s != before[-1]])
            yield Plant("money", m.start() - 1, m.start(), new, near)
        elif sign := re.match(rf"\s?([{''.join(signs)}])", after):
            new = self.rng.choice([s for s in signs if s != sign[1]])
            end = m.end() + sign.end()
            yield Plant("money", end - 1, end, new, near)

    def _beside_month(self, before: str, after: str) -> bool:
        if self.tgt in _UNSPACED:
            return bool(re.match(r"\s?日(?!間)", after)) and bool(re.search(r"月\s?$", before))
        months = "|".join(m for row in _words()["months"][self.tgt] for m in row.split("|"))
        return bool(re.match(rf"(?:st|nd|rd|th|\.)? (?:of )?(?:{months})", after)) or bool(
            re.search(rf"(?:{months}) (?:the )?$", before)
        )

    def _other_digit(self, number: str) -> str:
        places = [i for i, c in enumerate(number) if c.isdigit()]
        at = self.rng.choice(places)
        others = [d for d in "123456789" if d != number[at]]
        return number[:at] + self.rng.choice(others) + number[at + 1 :]

    def _calendar(self, source: str, reference: str) -> Iterator[Plant]:
        for calendar in ("months", "weekdays"):
            words = _words()[calendar]
            theirs, ours = words.get(f"{self.src}_source", words[self.src]), words[self.tgt]
            for at in range(len(ours)):
                there = _only(_begins(_forms(theirs, at), self.src), source)
                for form in _forms(ours, at):
                    here = _only(_whole(form, self.tgt), reference)
                    if there and here and here[0] > 0:
                        other = self.rng.choice([i for i in range(len(ours)) if i != at])
                        yield Plant("date", *here, _forms(ours, other)[0], there)

    def _places(self, source: str, reference: str) -> Iterator[Plant]:
        for group in _words()["places"]:
            for row in group["rows"]:
                there = _only(_begins(row[self.src].split("|"), self.src), source)
                if there is None:
                    continue
                forms = row[self.tgt].split("|")
                # In Czech only the nominative is found; other forms of the row are its stems.
                for form in forms[:1] if self.tgt == "cs" else forms:
                    here = _only(_whole(form, self.tgt), reference)
                    if here:
                        other = self.rng.choice([r for r in group["rows"] if r is not row])
                        yield Plant("place", *here, other[self.tgt].split("|")[0], there)

    # -- names that both sides write alike

    def collect(self, source: str, reference: str) -> None:
        """Keep the names of a segment, to put them into others."""
        for name, here, _ in self._alike(source, reference):
            pool = self.pools[self._class(name, reference[: here[0]])]
            if name not in pool:
                pool.append(name)

    def meet(self, source: str, reference: str) -> None:
        """Learn the surnames of people who are named in full somewhere."""
        for name, _, _ in self._alike(source, reference):
            words = name.split()
            if len(words) > 1 and words[0] in _words()["names"]["given"]:
                self.surnames.add(words[-1])

    def _names(self, source: str, reference: str) -> Iterator[Plant]:
        for name, here, there in self._alike(source, reference):
            pool = [other for other in self.pools[self._class(name, reference[: here[0]])]
                    if other[0] != name[0] and not set(other.split()) & set(name.split())]  # fmt: skip # noqa: E501
            if pool:
                yield Plant("name", *here, self.rng.choice(pool), there)

    def _alike(
        self, source: str, reference: str
    ) -> Iterator[tuple[str, tuple[int, int], tuple[int, int]]]:
        if self.tgt == "hi" or self.src == "zh":
            return
        for m in _NAME.finditer(reference):
            name = m[0]
            if len(name) < 4 or reference.count(name) > 1 or _listed(name, self.tgt):
                continue
            if _PEOPLES.search(name) or name.endswith(("'s", "\u2019s")):
                continue
            there = self._counterpart(name, source)
            if there is not None:
                yield name, m.span(), there

    def _class(self, name: str, before: str) -> str:
        """Tell people by a list of given names, places by a preposition, the rest by length."""
        words = name.split()
        if len(words) > 1 and words[0] in _words()["names"]["given"]:
            return "person"
        if name in self.surnames:
            return "surname"
        if before.split() and before.rsplit(maxsplit=1)[-1] in _words()["names"]["towards"]:
            return "place"
        return "one" if len(words) == 1 else "some"

    def _counterpart(self, name: str, source: str) -> tuple[int, int] | None:
        if self.src != "ru":
            # In the source, too, it is no beginning of a sentence, where any word has a capital.
            found = re.compile(rf"(?<=[a-zß-ž,] ){re.escape(name)}(?!\w)")
            return _only(found, source)
        words = [m for m in _CYRILLIC.finditer(source) if m.start() > 0]
        parts = name.split()
        first, last = _alike(parts[0], words), _alike(parts[-1], words)
        return (
            (first.start(), last.end())
            if first and last and first.start() <= last.start()
            else None
        )


def _alike(name: str, words: Sequence[re.Match[str]]) -> re.Match[str] | None:
    for word in words:
        latin = "".join(_words()["names"]["romanised"][c] for c in word[0].lower())
        if SequenceMatcher(None, latin, name.lower()).ratio() >= _ALIKE:
            return word
    return None


def _listed(name: str, tgt: str) -> bool:
    """Tell whether a name is a place or a date, which are kinds of their own."""
    own = [form for table in ("months", "weekdays") for row in _words()[table][tgt]
           for form in row.split("|")]  # fmt: skip
    own += [form for group in _words()["places"] for row in group["rows"]
            for form in row[tgt].split("|")]  # fmt: skip
    return any(form in name for form in own)


def _digits(number: str) -> str:
    return re.sub(r"[^0-9]", "", number)


def _tenfold(number: str) -> str:
    """Multiply by ten, written alike.

    >>> [_tenfold(n) for n in ("5", "5,000", "3.5", "120 000", "2.75")]
    ['50', '50,000', '35', '1 200 000', '27.5']
    """
    if grouped := re.fullmatch(r"[0-9]{1,3}(?:([.,\u00a0\u202f ])[0-9]{3})+", number):
        digits = _digits(number) + "0"
        groups: list[str] = []
        while digits:
            groups.insert(0, digits[-3:])
            digits = digits[:-3]
        return grouped[1].join(groups)
    if decimal := re.fullmatch(r"([0-9]+)([.,])([0-9])([0-9]*)", number):
        return decimal[1] + decimal[3] + (decimal[2] + decimal[4] if decimal[4] else "")
    return number + "0"


# -- planting in a set, and what is found of it


def chosen(rows: Sequence[Mapping[str, Any]], pair: str, most: int) -> list[tuple[int, Plant]]:
    """Choose an error for each of some segments, rare kinds first: (row, error)."""
    src, tgt = pair.split("-")
    rng = random.Random(f"{SEED} {pair} {len(rows)}")
    planter = Planter(src, tgt, rng)
    for learn in (planter.meet, planter.collect):
        for row in rows:
            learn(row["src"], _reference(row))
    order = list(range(len(rows)))
    rng.shuffle(order)
    possible = [(at, planter.plants(rows[at]["src"], _reference(rows[at]))) for at in order]
    counts: Counter[str] = Counter()
    picked: list[tuple[int, Plant]] = []
    rare = Counter(kind for _, kinds in possible for kind in kinds)
    for at, kinds in possible:
        if kinds and len(picked) < most:
            kind = min(kinds, key=lambda k: (counts[k], rare[k], KINDS.index(k)))
            counts[kind] += 1
            picked.append((at, rng.choice(kinds[kind])))
    return picked


def _reference(row: Mapping[str, Any]) -> str:
    refs: Mapping[str, str] = row["refs"]
    return refs.get("refA") or next(iter(refs.values()))


def planted(context: Context) -> Table:
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for folder, pair in SETS:
        rows = text_rows(context, folder, pair)
        if rows is None:
            continue
        src, tgt = pair.split("-")
        plants = chosen(rows, pair, context.segments)
        own = [rows[at] for at, _ in plants]
        if context.light:
            rows, plants = own, [(i, plant) for i, (_, plant) in enumerate(plants)]
        sources, untouched = [row["src"] for row in own], list(map(_reference, own))
        changed = [text[: p.start] + p.new + text[p.end :]
                   for text, (_, p) in zip(untouched, plants, strict=True)]  # fmt: skip
        whole = [row["src"] for row in rows]
        for way in ("alone",) if context.light else ("alone", "with others"):
            near, all_near = (
                ({}, {}) if way == "alone" else (columns(own, "out"), columns(rows, "out"))
            )
            report = scored(sources, {"it": changed, **near}, (src, tgt))
            found = by_segment(report, "it", context.kinds)
            clean_report = scored(
                whole, {"it": list(map(_reference, rows)), **all_near}, (src, tgt)
            )
            alarmed = by_segment(clean_report, "it", context.kinds)
            clean = [alarmed.get(at, []) for at, _ in plants]
            linked = clean_report.explanation.linked if clean_report else None
            mentions = [linked.source_mentions[at] if linked else () for at, _ in plants]
            for group in (f"{folder[:5]} {pair}", "all"):
                counts[group, way]["untouched"] += len(rows)
                counts[group, way]["alarmed"] += len(alarmed)
            for i, (_, p) in enumerate(plants):
                place = (p.start, p.start + len(p.new))
                hit = any(
                    (f.source and overlap((f.source.start, f.source.end), p.counterpart))
                    or (f.output and overlap((f.output.start, f.output.end), place))
                    for f in found[i]
                )
                for group in (f"{folder[:5]} {pair}", p.kind, "all"):
                    count = counts[group, way]
                    count["planted"] += 1
                    count["found"] += hit
                    count["false"] += bool(clean[i])
                    count["alarms"] += len(clean[i])
                    count["entities"] += sum(not m.doubtful for m in mentions[i])
                if not hit or clean[i]:
                    context.details.append({
                        "part": "planted", "set": folder, "lp": pair, "way": way, "kind": p.kind,
                        "old": untouched[i][p.start : p.end], "new": p.new, "found": hit,
                        "false": [told(f) for f in clean[i]], "src": sources[i],
                        "changed": changed[i], "segment": own[i]["seg"],
                    })  # fmt: skip
    order: Callable[[str], tuple[int, str]] = lambda g: (  # noqa: E731
        (0, g) if g == "all" else (1, str(KINDS.index(g))) if g in KINDS else (2, g)
    )
    return table(
        "Errors planted in references",
        ("", "way", "planted", "found", "recall %", "false alarms", "segments %",
         "entities", "entities %", "all segments", "all segments %"),
        (
            (group, way, own["planted"], own["found"], percent(own["found"], own["planted"]),
             own["false"], percent(own["false"], own["planted"]), own["entities"],
             percent(own["alarms"], own["entities"]), own["untouched"] or None,
             percent(own["alarmed"], own["untouched"]))
            for (group, way), own in sorted(counts.items(), key=lambda i: (order(i[0][0]), i[0][1]))
        ),
        "False alarms are those on the same references without an error: segments with one or "
        "more, and alarms per entity of the source; then on all references of the sets, among them "
        "those without an entity.",
    )  # fmt: skip
