"""Answers of Label Studio: which are of the whole task, and which of one span in it.

Results with one ``id`` are of one span. Flat exports have no ids: there a place tells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.formats.cells import label
from steelyard.formats.record import Record

LABELS = ("labels", "hypertextlabels")


class Answer(NamedTuple):
    """What somebody said with one control."""

    name: str
    id: object
    value: Record

    @property
    def labels(self) -> str | None:
        """The key of its labels, None if it marks no span."""
        return next((key for key in LABELS if key in self.value.values), None)

    @property
    def has_id(self) -> bool:
        """Whether it says what it is of."""
        return isinstance(self.id, str)

    @property
    def place(self) -> tuple[str | None, ...] | None:
        """Where it is in the text, None for what is of the whole."""
        found = tuple(label(self.value.get(bound)) for bound in ("start", "end"))
        return None if None in found else found

    @property
    def region(self) -> object:
        """What it is of."""
        return self.id if self.has_id else self.place

    @property
    def chosen(self) -> list[str]:
        """The words that were chosen, of none if it is no choice."""
        if "choices" not in self.value.values:
            return []
        given = self.value.get("choices")
        chosen = given if isinstance(given, list) else [given]
        if not all(isinstance(one, str) for one in chosen):
            self.value.wrong("choices", "a list of texts")
        return chosen


class Span(NamedTuple):
    """A span: the answers that label it, and others that are of it."""

    labels: list[Answer]
    others: list[Answer]


def parted(given: Sequence[Answer]) -> tuple[list[Span], list[Answer]]:
    """Give the spans of an annotation, and the answers that are of none."""
    spans: dict[object, Span] = {}
    for number, one in enumerate(given):
        if one.labels is not None:  # without ids, spans at one place are apart
            key = one.region if one.has_id else (one.region, number)
            spans.setdefault(key, Span([], [])).labels.append(one)
    places = Counter(span.labels[0].region for span in spans.values())
    by_region = {span.labels[0].region: span for span in spans.values()}
    whole = []
    for one in given:
        if one.labels is not None:
            continue
        if one.region is None or one.region not in by_region:
            whole.append(one)
        elif places[one.region] > 1:
            one.value.fail(f"'{one.name}' is of a place that several spans have, expected one")
        else:
            by_region[one.region].others.append(one)
    return list(spans.values()), whole
