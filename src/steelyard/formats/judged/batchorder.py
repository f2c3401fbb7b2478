"""Which segment a row is of, where an export numbers the places in a batch instead of lines.

All outputs of a document were shown in the order of its segments, so the n-th place of a document
is its n-th segment. A document that does not fit into a batch goes on in that of the next login.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_FEWEST = 5  # items of which a single one with two documents is a slip


class Shown(NamedTuple):
    """What was shown to whom; ``document`` is its plain name, ``named`` the one in the file."""

    lp: str
    login: str
    system: str
    document: str
    named: str
    kind: str
    item: int


def are_places(rows: Iterable[Shown]) -> bool:
    """Tell whether items are places in a batch.

    A line belongs to one document. And where documents have systems in their names, a document has
    the same lines in all systems.
    """
    documents: dict[tuple[str, int], str] = {}
    systems: defaultdict[tuple[str, str], defaultdict[str, set[int]]] = defaultdict(
        lambda: defaultdict(set)
    )
    own = True
    for row in rows:
        if documents.setdefault((row.lp, row.item), row.document) != row.document:
            return True
        own &= row.named.startswith(f"{row.document}#") and row.document != ""
        systems[row.lp, row.document][row.system].add(row.item)
    shared = [list(items.values()) for items in systems.values() if len(items) > 1]
    return own and bool(shared) and all(not set.intersection(*items) for items in shared)


def misplaced(shown: Sequence[Shown], rows: Iterable[int]) -> tuple[int, int] | None:
    """Find the only two rows that have one item, but different documents.

    In batches this is so of most items; of a single one it is a slip, which must not make places
    out of all lines, unless documents have systems in their names, as those in batches.
    """
    found: defaultdict[tuple[str, int], dict[str, list[int]]] = defaultdict(dict)
    for row in rows:
        one = shown[row]
        if one.named != one.document:
            return None
        found[one.lp, one.item].setdefault(one.document, []).append(row)
    odd = [list(own.values()) for own in found.values() if len(own) > 1]
    if len(odd) != 1 or len(odd[0]) != 2 or len(found) < _FEWEST:
        return None
    rare, often = sorted(odd[0], key=len)
    return (rare[0], often[0]) if len(rare) == 1 else None


def numbered(shown: Sequence[Shown], rows: Sequence[int]) -> dict[int, int | None]:
    """Give the segment of each row, as its number in the document from 1 on.

    None for control items of a part of a document: nobody knows of which part.
    """
    real: defaultdict[tuple[str, str, str], defaultdict[str, list[int]]] = defaultdict(
        lambda: defaultdict(list)
    )
    controls: defaultdict[Shown, list[int]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: shown[row].item):
        one = shown[row]
        if one.kind == "system":
            real[one.lp, one.system, one.document][one.login].append(row)
        else:
            controls[one._replace(item=0)].append(row)
    longest: dict[tuple[str, str], int] = {}  # what one login saw of a document at most
    for (lp, _, document), logins in real.items():
        most = max(map(len, logins.values()))
        longest[lp, document] = max(most, longest.get((lp, document), 0))
    found: dict[int, int | None] = {}
    for (lp, _, document), logins in real.items():
        before = 0
        for _, own in sorted(logins.items()):
            if before + len(own) > longest[lp, document]:
                before = 0  # another judgement of the same segments, not their continuation
            found |= {row: before + k for k, row in enumerate(own, 1)}
            before += len(own)
    for control, own in controls.items():
        same = real[control.lp, control.system, control.document][control.login]
        whole = len(same) == len(own)
        found |= {row: found[same[k]] if whole else None for k, row in enumerate(own)}
    return found
