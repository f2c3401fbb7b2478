"""What is known of the segments that people judged: their documents and domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from steelyard.core.errors import InputError, UsageError
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import Ratings
from steelyard.data.segments import Segments, natural_key
from steelyard.human.ordering import Averages


def known_segments(sets: Iterable[EvalSet]) -> Segments | None:
    """Put together what sets say of segments; None where there is no set."""
    whats = ("document", "domain", "source")
    found: dict[str, list[str | None]] = {}
    some = False
    for es in sets:
        some = True
        own = es.segments
        blank = (None,) * len(own)
        columns = (own.documents or blank, own.domains or blank, own.sources or blank)
        for segment, *said in zip(own.ids, *columns, strict=True):
            known = found.setdefault(segment, [None, None, None])
            for k, (what, name) in enumerate(zip(whats, said, strict=True)):
                if what != "source" and name is not None and known[k] not in (None, name):
                    raise InputError(
                        f"segment '{segment}' is of {what} '{known[k]}' in one input, of '{name}' "
                        "in another"
                    )
                known[k] = known[k] if name is None else name
    if not some:
        return None
    ids = tuple(sorted(found, key=natural_key))
    documents, domains, sources = (tuple(found[one][k] for one in ids) for k in range(3))
    return Segments(ids, documents, domains, sources)


def describe(
    averages: Averages, ratings: Ratings, about: Segments | None, *, named_unit: bool = False
) -> tuple[Averages, list[str]]:
    """Add document, domain and source of segments, and say where inputs do not agree on them.

    Documents are those of the texts, or else those that the ratings name; the other way round where
    these hold the column that the user named as the unit.
    """
    documents, notes = _of_ratings(ratings, "document")
    if named_unit and notes:
        raise UsageError(f"unit=...: {notes[0]}")
    domains_rated, torn = _of_ratings(ratings, "domain")
    notes += torn
    if about is None:
        named, of = (
            tuple(own.get(one) for one in averages.segments) for own in (documents, domains_rated)
        )
        named_or_none, of_or_none = named if any(named) else None, of if any(of) else None
        return replace(averages, documents=named_or_none, domains=of_or_none), notes
    place = {segment: k for k, segment in enumerate(about.ids)}
    unknown = [one for one in averages.segments if one not in place]
    if len(unknown) == len(averages.segments):
        raise InputError(
            f"the texts share no segment with the ratings: {_some(about.ids)} against "
            f"{_some(unknown)}"
        )
    if unknown:
        one = "is" if len(unknown) == 1 else "are"
        notes.append(
            f"{plural(len(unknown), 'segment')} of the ratings {one} not in the texts: "
            f"{listed(unknown, 5)}"
        )

    def column(texts: Sequence[str | None] | None) -> list[str | None]:
        at = (place.get(one) for one in averages.segments)
        return [None if texts is None or k is None else texts[k] for k in at]

    said = column(about.documents)
    both = zip(averages.segments, said, strict=True)
    other = [(one, own) for one, own in both if own and documents.get(one) not in (None, own)]
    if named_unit and documents:
        said = [documents.get(one) for one in averages.segments]
    elif other:
        one, own = other[0]
        notes.append(
            f"{plural(len(other), 'segment')} with another document in the texts than in the "
            f"ratings (first: {one}, '{own}' and '{documents[one]}'): those of the texts count"
        )
    both = zip(averages.segments, said, strict=True)
    named = tuple(own or documents.get(one) for one, own in both)
    # A domain that the texts do not know is that of the ratings.
    both = zip(averages.segments, column(about.domains), strict=True)
    domains = tuple(own or domains_rated.get(one) for one, own in both)
    sources = tuple(column(about.sources))
    return replace(
        averages,
        documents=named if any(named) else None,
        domains=domains if any(domains) else None,
        sources=sources if any(sources) else None,
    ), notes


def named_by_ratings(ratings: Ratings, what: str) -> tuple[dict[int, str], dict[int, str]]:
    """Give the first document or domain that ratings name for a segment (a code), and another."""
    found: dict[int, str] = {}
    torn: dict[int, str] = {}
    column: tuple[str, ...] | None = getattr(ratings, what)
    if column is not None:
        for code, name in zip(ratings.segment.tolist(), column, strict=True):
            if name and found.setdefault(code, name) != name:
                torn.setdefault(code, name)
    return found, torn


def _of_ratings(ratings: Ratings, what: str) -> tuple[dict[str, str], list[str]]:
    """Give the document or domain of each segment that the ratings name; one with two has none."""
    found, torn = named_by_ratings(ratings, what)
    names = {ratings.segments[k]: name for k, name in found.items() if k not in torn}
    if not torn:
        return names, []
    first = min(torn)
    which = f"{ratings.segments[first]}, '{found[first]}' and '{torn[first]}'"
    said = f"{plural(len(torn), 'segment')} with two {what}s (first: {which})"
    return names, [f"{said}: taken as of no {what}"]


def _some(names: Sequence[str]) -> str:
    return listed(list(names), 3)
