"""States and provinces: the subdivisions of countries in CLDR, known by their ISO 3166-2 codes.

Babel lacks them; Debian's unicode-cldr-core has them in 90 locales. Their people are not known: a
state is taken for its share of the country's.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from xml.etree import ElementTree as ET

from babel.languages import get_official_languages

from make_base.dictionary import mostly_ordinary, ordinary, words
from make_base.names import Row
from make_base.places import cities, people
from steelyard.core.errors import InputError
from steelyard.kobe.base.codec import Entity, Flag, Name, population_prior, script
from steelyard.kobe.languages import known, primary
from steelyard.kobe.linking.wordforms import fold

_LABEL = int(Flag.LABEL)
#: No state outranks a country of its name: Georgia, Luxembourg.
_MOST = 5.5
_BELOW = 0.01
#: Countries within a country, which everybody knows by name: no share tells how well.
_NATIONS = frozenset({"GB-ENG", "GB-SCT", "GB-WLS", "GB-NIR"})
#: What is written after a name in languages without blanks, and left out as often.
_KINDS = {"zh": "省 市 州 县 縣 区 區 大区 大區", "ja": "州 県 省"}
_MANY = 3  # countries that have a state of the same name: it tells nothing
_AGREE = 3  # languages in which a Wikidata item must have the same name


class Subdivisions:
    """The subdivisions of countries, by ISO code, and the Wikidata items that they are.

    Parameters
    ----------
    folder
        ``common/subdivisions`` of unicode-cldr-core.
    table
        Rows of the table of names by id, for Wikidata items of states and more names of them.
    """

    def __init__(self, folder: Path, table: Mapping[str, tuple[str, list[Row]]]) -> None:
        self.names, self.table = subdivisions(folder), table

    @cached_property
    def items(self) -> dict[str, str]:
        """Give the item of each subdivision that has one."""
        return matched(self.names, self.table)


class _OfStates:
    """An input that names subdivisions."""

    name: str
    version: str

    def __init__(self, states: Subdivisions) -> None:
        self.states = states


class States(_OfStates):
    """The subdivisions of countries."""

    name = "cldr-subdivisions"
    version = "CLDR 41"
    licence = "Unicode-DFS-2016"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each state with its names."""
        names, items = self.states.names, self.states.items
        count = Counter(code[:2] for code in names)
        everywhere = _common(names)
        for code, own in sorted(names.items()):
            kept = [n for n in own if is_taken(n) and (n.lang, n.text) not in everywhere]
            if kept:
                prior = _prior(code, own, count[code[:2]])
                same = (f"wd:{items[code]}",) if code in items else ()
                yield (
                    Entity(f"iso:{code}", "state", prior=prior, same_as=same),
                    [*kept, *_bare(code, kept)],
                )


class StateItems(_OfStates):
    """More names that Wikidata has for states, such as spellings in Chinese."""

    name = "wikidata-states"
    version = "Wikidata 2020, as cut by X-FACTR c1938ec"
    licence = "CC0-1.0"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield the items that are states, under their ISO codes."""
        found, table = self.states.names, self.states.table
        for code, item in sorted(self.states.items.items()):
            names = [Name(row.lang, row.text) for row in table[item][1]]
            native = natives(code, found[code])
            kept = [
                name
                for name in names
                if is_taken(name)
                and not name.text.isupper()
                and not copied(name, native)
                and not is_capital(name, found[code])
            ]
            if kept:
                yield Entity(f"wd:{item}", "state", same_as=(f"iso:{code}",)), kept


@cache
def subdivisions(folder: Path) -> Mapping[str, list[Name]]:
    """Read the names of all subdivisions by ISO code."""
    found: dict[str, dict[Name, None]] = defaultdict(dict)
    paths = sorted(folder.glob("*.xml"))
    if not paths:
        what = "has no *.xml in it: expected common/subdivisions of Debian's unicode-cldr-core"
        raise InputError(what, path=folder)
    for path in paths:
        lang = primary(path.stem)
        if lang is None or lang not in known():
            continue
        for node in ET.parse(path).iter("subdivision"):  # noqa: S314 -- a file of Debian's
            code, text = node.get("type", ""), node.text or ""
            if text and not node.get("alt"):
                found[f"{code[:2]}-{code[2:]}".upper()][Name(lang, text, _LABEL)] = None
    return {code: list(own) for code, own in found.items()}


def natives(code: str, names: Collection[Name]) -> Mapping[str, set[str]]:
    """Give what a state is called at home: its names in the official languages of its country.

    Examples
    --------
    >>> natives("AT-9", [Name("de", "Wien"), Name("en", "Vienna")])
    {'de': {'Wien'}}
    """
    home = {primary(lang) for lang in get_official_languages(code[:2], regional=True)}
    found: dict[str, set[str]] = {}
    for name in names:
        if name.lang in home:
            found.setdefault(name.lang, set()).add(name.text)
    return found


def copied(name: Name, native: Mapping[str, set[str]]) -> bool:
    """Whether a name is the one of another language, left as it is: Wien is no English name.

    Wikidata lists it among the English ones all the same. Where it is the only one, it comes as the
    label from CLDR.

    Examples
    --------
    >>> copied(Name("en", "Wien"), {"de": {"Wien"}}), copied(Name("de", "Wien"), {"de": {"Wien"}})
    (True, False)
    """
    return name.lang not in native and any(name.text in own for own in native.values())


def is_capital(name: Name, labels: Collection[Name]) -> bool:
    """Whether a name is rather that of the town after which a state is called.

    Examples
    --------
    >>> is_capital(Name("en", "Novgorod"), [Name("en", "Novgorod Oblast")])
    True
    >>> is_capital(Name("en", "Texas"), [Name("en", "Texas")])
    False
    """
    longer = (label.text.split() for label in labels if label.lang == name.lang)
    return any(name.text in words and len(words) > 1 for words in longer)


def matched(
    names: Mapping[str, Sequence[Name]], table: Mapping[str, tuple[str, list[Row]]]
) -> dict[str, str]:
    """Find the Wikidata items of subdivisions: those that share names in several languages."""
    owners: dict[tuple[str, str], set[str]] = defaultdict(set)
    for item, (category, rows) in table.items():
        if category == "state":
            for row in rows:
                owners[row.lang, fold(row.text, row.lang)].add(item)
    claims: dict[str, tuple[int, str]] = {}
    for code, own in sorted(names.items()):
        votes: Counter[str] = Counter()
        for lang in {name.lang for name in own}:
            same = [owners.get((lang, fold(n.text, lang)), ()) for n in own if n.lang == lang]
            votes.update({item for items in same for item in items})
        ranked = votes.most_common(2)
        clear = len(ranked) == 1 or (len(ranked) > 1 and ranked[0][1] > ranked[1][1])
        if clear and ranked[0][1] >= _AGREE:
            item, n = ranked[0]
            claims[item] = max(claims.get(item, (0, "")), (n, code))
    return {code: item for item, (_, code) in claims.items()}


def is_taken(name: Name) -> bool:
    """Whether a name may stand for a state: not if it is an ordinary word, such as Centre.

    Examples
    --------
    >>> is_taken(Name("fr", "Centre")), is_taken(Name("de", "Sachsen")), is_taken(Name("en", "Bo"))
    (False, True, False)
    """
    text = name.text
    if script(text[0]) in ("CJK", "HANGUL", "KATAKANA"):
        return len(text) > 1
    if len(words(text)) == 1:
        return len(text) > 3 and not (ordinary(text, name.lang) and mostly_ordinary(text))
    return bool(words(text))


def _common(names: Mapping[str, Sequence[Name]]) -> set[tuple[str, str]]:
    """Give (language, name) of what is found in many countries: Central, Northern Province."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for code, own in names.items():
        for name in own:
            found[name.lang, name.text].add(code[:2])
    return {key for key, lands in found.items() if len(lands) >= _MANY}


def _bare(code: str, names: Collection[Name]) -> Iterator[Name]:
    """Give names without the word for what they are: 四川 for 四川省, テキサス for テキサス州."""
    for lang, text, _ in names:
        for kind in _KINDS.get(lang, "").split():
            rest = text.removesuffix(kind)
            # Two characters are enough for what everybody there knows.
            if rest != text and len(rest) >= (2 if code.startswith("CN") else 3):
                yield Name(lang, rest)


@cache
def _largest() -> Mapping[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = defaultdict(int)
    for city in cities():
        key = city["countrycode"], fold(city["name"], "en")
        found[key] = max(found[key], city["population"])
    return found


def _prior(code: str, names: Collection[Name], share: int) -> float:
    """Give the prior of a state: its share of the country, below a city of its name."""
    if code in _NATIONS:
        return _MOST
    prior = min(_MOST, population_prior(people(code[:2]) / share))
    same = [_largest().get((code[:2], fold(n.text, "en")), 0) for n in names if n.lang == "en"]
    city = max(same, default=0)
    return min(prior, population_prior(city) - _BELOW) if city else prior
