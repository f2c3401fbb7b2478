"""What happened to each entity of a segment.

It was found, lost, changed, copied or added; or missed, by all systems and people. Mentions are
paired by any of their readings, which is more forgiving than the score: a list of errors with many
false alarms is not read twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from steelyard.kobe.matching import Mask, Matches, pair_candidates
from steelyard.kobe.mention import Linker, Mention, Mentions

Kind = Literal["found", "lost", "changed", "copied", "added", "missed"]
KINDS: tuple[Kind, ...] = get_args(Kind)
#: Categories that stand for each other when one is put in the place of another.
_FAMILIES = {
    "quantity": ("number", "percent", "ordinal", "date", "time"),
    "place": ("country", "region", "city", "place", "language", "demonym"),
    "calendar": ("month", "weekday"),
    "name": ("person", "organisation", "work", "product", "event", "name", "term"),
}
_FAMILY = {category: family for family, own in _FAMILIES.items() for category in own}


def missed_by_all(matches: Matches, references: Sequence[str]) -> Mask:
    """Tell which mentions neither a system nor a human translation of their segment keeps.

    Examples
    --------
    >>> a, b = Mention(0, 1, "a", "a"), Mention(2, 3, "b", "b")
    >>> from steelyard.kobe.matching import match
    >>> found = match([(a, b)], {"X": [(a,)], "ref": [()]})
    >>> missed_by_all(found, ["ref"]).tolist(), missed_by_all(found, []).tolist()
    ([False, True], [False, False])
    """
    people = [at for at, name in enumerate(matches.systems) if name in references]
    judged: Mask = np.any(matches.known[people], axis=0)
    kept: Mask = np.any(matches.kept, axis=0)
    return judged[matches.segment] & ~kept


class Finding(NamedTuple):
    """What happened to one entity: its mention in the source, in the output, or in both.

    ``copied``: the form of the source stands in the output, where it is not the target language's.
    ``changed``: another entity of the same kind stands in the output. ``added``: the source has
    none for it. ``missed``: it is in no output and in no human translation either, so that the
    linker is to blame, most likely.
    """

    kind: Kind
    source: Mention | None
    output: Mention | None

    @property
    def mention(self) -> Mention:
        """The mention of the source, else that of the output."""
        mention = self.source or self.output
        assert mention is not None
        return mention

    def to_dict(self, linker: Linker) -> dict[str, Any]:
        """Give what a line of JSON holds: spans are [start, end, text] in characters."""
        mention = self.mention
        return {
            "kind": self.kind,
            "category": mention.category,
            "tier": mention.tier,
            "id": linker.name(mention.id),
            "source": _span(self.source),
            "output": _span(self.output),
            "output_id": None if self.output is None else linker.name(self.output.id),
        }


def _span(mention: Mention | None) -> list[Any] | None:
    return None if mention is None else [mention.start, mention.end, mention.text]


def explain(
    source: Mentions,
    output: str,
    mentions: Mentions,
    missed: Collection[int] = (),
    *,
    copies_count: bool = False,
) -> list[Finding]:
    """Say what happened to each entity of a source, in order, and what was added.

    Parameters
    ----------
    source
        Mentions of the source.
    output, mentions
        The output, and its mentions in the target language.
    missed
        Which mentions of the source nobody keeps, neither a system nor a human translation.
    copies_count
        Whether a form of the source is as good in the output, since they are in one language.

    Examples
    --------
    >>> wien, montag = Mention(0, 4, "Wien", "Q1741", "city"), Mention(5, 11, "Montag", "dow:0")
    >>> venice = Mention(3, 9, "Venice", "Q641", "city")
    >>> [(f.kind, f.mention.text) for f in explain((wien, montag), "In Venice", (venice,))]
    [('changed', 'Wien'), ('lost', 'Montag')]
    """
    pairs = pair_candidates(source, mentions)
    taken = set(pairs.values())
    free = [m for j, m in enumerate(mentions) if j not in taken]
    used = [(mentions[j].start, mentions[j].end) for j in taken]
    findings = {i: Finding("found", source[i], mentions[j]) for i, j in pairs.items()}
    findings |= {i: Finding("missed", source[i], None) for i in missed if i not in findings}
    lost = [i for i in range(len(source)) if i not in findings]
    for i in list(lost):
        copy = _copy(source[i], output, used)
        if copy is not None:
            findings[i] = Finding("found" if copies_count else "copied", source[i], copy)
            used.append((copy.start, copy.end))
            free = [m for m in free if m.end <= copy.start or copy.end <= m.start]
            lost.remove(i)
    for kind in (lambda category: category, _FAMILY.get):
        for i in list(lost):
            wanted = kind(source[i].category)
            other = next((m for m in free if wanted and kind(m.category) == wanted), None)
            if other is not None:
                findings[i] = Finding("changed", source[i], other)
                free.remove(other)
                lost.remove(i)
    for i in lost:
        findings[i] = Finding("lost", source[i], None)
    added = [Finding("added", None, m) for m in free]
    return [findings[i] for i in sorted(findings)] + added


def _copy(mention: Mention, output: str, used: Sequence[tuple[int, int]]) -> Mention | None:
    """Find the form of the source in the output, as words of their own that mean nothing there."""
    text = mention.text
    if not any(c.isalpha() for c in text):
        return None
    start = output.find(text)
    while start >= 0:
        end = start + len(text)
        whole = not (output[start - 1 : start].isalnum() and text[0].isalnum()) and not (
            output[end : end + 1].isalnum() and text[-1].isalnum()
        )
        alone = text[0] >= "\u0e00"  # written without blanks
        if (whole or alone) and all(end <= s or e <= start for s, e in used):
            return mention._replace(start=start, end=end, rule="copied")
        start = output.find(text, start + 1)
    return None
