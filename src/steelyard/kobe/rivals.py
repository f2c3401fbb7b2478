"""What stands in an output in the place of an entity that it lacks.

That may be another entity of the same kind, or a name that no base knows and the source does not
have. Two names that are nearly alike are taken for one: an ending or a way of writing that no rule
knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from steelyard.kobe.languages import script_share
from steelyard.kobe.linking.names import (
    RULE,
    TIER,
    UNKNOWN,
    alike,
    find_in,
    find_names,
    pieces,
    romanise,
)
from steelyard.kobe.mention import Mention, Mentions

#: Ways of writing that make a name which nothing in the source stands for. Titles, abbreviations
#: and what is quoted are mostly translations of something.
KINDS = frozenset({"person", "single", "listed", "mixed", "foreign"})
#: Those that are new where the source, in letters of the same kind, has nothing like them.
NEW = frozenset({"person", "single"})
#: Places that a name may stand for which no base knows; others have names in all languages.
_SMALL_PLACES = frozenset({"city", "place", "airport"})
_MOST = 0.9  # of letters
_COMPOUND = 6  # letters of a word that a longer one may begin with
_NEARLY = 0.8  # of what makes two words one name


def can_be_new(source: str, scripts: frozenset[str]) -> bool:
    """Tell whether names of a source would be written alike in the script of an output.

    Examples
    --------
    >>> latin = frozenset({"LATIN"})
    >>> can_be_new("Er heißt Weber.", latin), can_be_new("他叫韦伯。", latin)
    (True, False)
    """
    return scripts == {"LATIN"} and script_share(source, scripts) > _MOST


def strangers(
    output: str,
    source: str,
    lang: str,
    mentions: Mentions,
    taken: Iterable[tuple[int, int]],
    kinds: frozenset[str] = KINDS,
) -> list[Mention]:
    """Give the names of an output that no base knows and nothing in the source is like.

    ``mentions`` are those of the output, ``taken`` the spans of what is accounted for, ``kinds``
    the ways of writing that count.

    Examples
    --------
    >>> source = "Mieszkanie kupiliśmy od Krzysztofa Wąsowskiego."
    >>> for name in ("Maliński", "Wąsowski"):
    ...     text = f"We bought the flat from Krzysztof {name}."
    ...     print([m.text for m in strangers(text, source, "pl", (), ())])
    ['Krzysztof Maliński']
    []
    """
    spans = list(taken)
    there = pieces(source)
    found = []
    for name in find_names(output, lang, mentions):
        own = output[name.start : name.end]
        if name.kind not in kinds or any(s < name.end and name.start < e for s, e in spans):
            continue
        if find_in(own, source, lambda: there) is None and not _grown(own, source):
            key = UNKNOWN + " ".join(filter(None, map(romanise, name.words)))
            found.append(Mention(name.start, name.end, own, key, "name", TIER, (key,), RULE))
    return found


def _grown(name: str, source: str) -> bool:
    """Tell whether a name is a compound with a word of the source, which need not be a name there.

    Examples
    --------
    >>> _grown("Polybdenumstab", "another polybdenum rod"), _grown("Poller", "the polls")
    (True, False)
    """
    low = name.lower()
    return any(len(w) >= _COMPOUND and low.startswith(w) for w in source.lower().split())


def is_stranger(mention: Mention) -> bool:
    """Tell whether a mention is a name that no base knows."""
    return mention.rule == RULE and mention.tier == TIER


def wants_strangers(mention: Mention) -> bool:
    """Tell whether an unknown name may stand in the place of a mention."""
    return mention.group == "name" or mention.category in _SMALL_PLACES


def nearly(one: Mention, other: Mention) -> bool:
    """Tell whether two names are so alike that they are one, all of their words.

    Examples
    --------
    >>> pair = [Mention(0, 1, text, text, "name") for text in ("Mäkiseltä", "Mäkinen", "Virtanen")]
    >>> nearly(pair[0], pair[1]), nearly(pair[0], pair[2])
    (True, False)
    """
    few, many = sorted((one.text.split(), other.text.split()), key=len)
    return all(any(alike(a, b) >= _NEARLY or _begin_alike(a, b) for b in many) for a in few)


def _begin_alike(one: str, other: str) -> bool:
    """Tell whether words differ in an ending only, before which sounds may change."""
    a, b = romanise(one), romanise(other)
    shorter = min(len(a), len(b))
    stem = max(4, shorter - 3)
    return shorter > stem and a[:stem] == b[:stem] and abs(len(a) - len(b)) <= 4


def _may_replace(own: Mention, there: Mention) -> bool:
    if own.category == there.category or own.group == there.group != "other":
        return True
    if is_stranger(there):
        return wants_strangers(own)
    return is_stranger(own) and there.group in ("name", "place")


def rivals(
    source: Mentions, lost: Sequence[int], there: Sequence[Mention], length: int
) -> list[tuple[int, Mention]]:
    """Pair what is lost with what stands in its place: of its category, or else of its group.

    Of several, those are paired that are spelled alike or stand at about the same place.
    """
    end = max((m.end for m in source), default=0) or 1
    options = []
    for i in lost:
        own = source[i]
        for j, m in enumerate(there):
            if _may_replace(own, m):
                alike_ = SequenceMatcher(None, own.text, m.text, autojunk=False).ratio()
                apart = abs(own.start / end - m.start / (length or 1))
                options.append((own.category != m.category, apart - alike_, i, j))
    found: dict[int, int] = {}
    for _, _, i, j in sorted(options):
        if i not in found and j not in found.values():
            found[i] = j
    return [(i, there[j]) for i, j in sorted(found.items())]


def only_rivals(
    source: Mentions, open_: Sequence[int], there: Sequence[Mention]
) -> list[tuple[int, Mention]]:
    """Pair what may not be wanted with what stands in its place, where both are the only ones.

    A doubtful mention that is lost says nothing. But where one thing of a category is not in the
    output, and one of the same category is there that the source does not have, it was changed:
    3 days, 3 weeks. Of two numbers that are both doubtful (a thousand, both) this says nothing.

    Examples
    --------
    >>> days, weeks = (Mention(0, 4, t, t, "unit", doubtful=True) for t in ("days", "weeks"))
    >>> only_rivals((days,), [0], [weeks]) == [(0, weeks)], only_rivals((days,), [0], [weeks] * 2)
    (True, [])
    """
    found = []
    for i in open_:
        own = source[i]
        mine = [k for k in open_ if source[k].category == own.category]
        theirs = [m for m in there if m.category == own.category]
        if len(mine) == len(theirs) == 1 and not (own.group == "number" and theirs[0].doubtful):
            found.append((i, theirs[0]))
    return found
