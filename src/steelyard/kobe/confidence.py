"""How probable it is that an alarm is an error: a small logistic model with its weights in a file.

It depends on what other outputs do (if all other systems keep a name, the linker did not invent
it), on the kind of entity (numbers are sure, one-word names are not), and on how it was linked. An
alarm that a human translation or most other systems raise as well is no error of this system; but
everybody has to use the terms of a glossary.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from steelyard.core.text import plural
from steelyard.kobe.explaining import EntityNames, Evidence, Finding, is_unknown
from steelyard.kobe.mention import Mention

FILE = "confidence.toml"
#: What there is to compare with: nothing, other systems, a human translation, or both.
Situation = Literal["alone", "others", "reference", "both"]
SITUATIONS: tuple[Situation, ...] = ("alone", "others", "reference", "both")
_ENOUGH = 3  # other systems that make a majority
_SMALL = 12  # numbers up to it are often put in other words
_DISPUTED = 0.05  # confidence in an alarm that others raise as well, at most


class Around(NamedTuple):
    """What a segment says about its alarms.

    ``wanted`` and ``kept`` count its entities. ``changed`` are the categories of what was changed,
    ``in_a_row`` the positions in the source of neighbours that are both lost: a clause is missing.
    """

    wanted: int
    kept: int
    empty: bool
    same_language: bool = False
    changed: frozenset[str] = frozenset()
    in_a_row: frozenset[int] = frozenset()


def situation(references: int, others: int) -> Situation:
    """Name what alarms can be compared with.

    Examples
    --------
    >>> situation(0, 2), situation(1, 2), situation(0, 3), situation(2, 8)
    ('alone', 'reference', 'others', 'both')
    """
    if references:
        return "both" if others >= _ENOUGH else "reference"
    return "others" if others >= _ENOUGH else "alone"


def features(
    finding: Finding, around: Around, source: EntityNames, target: EntityNames
) -> dict[str, float]:
    """Return the features of an alarm that are not zero.

    ``source`` and ``target`` are the names of entities in both languages.

    Examples
    --------
    >>> alarm = Finding("lost", Mention(3, 4, "7", "num:7", "number"), None,
    ...                 evidence=Evidence(8, 8, 1, 1))
    >>> features(alarm, Around(2, 1, empty=False), EntityNames(), EntityNames())
    {'bias': 1.0, 'small': 1.0, 'others': 2.833..., 'reference': 1.0, 'all_others': 1.0}
    """
    mention, kind, output = finding.mention, finding.kind, finding.output
    category, group, text = mention.category, mention.group, mention.text
    names = target if finding.source is None else source
    changed = kind == "changed" and output is not None
    is_name = group in ("place", "name")
    label = names.label(mention) if is_name else ""
    labels = [name.casefold() for name in names.labels(mention)] if is_name else []
    values: dict[str, float] = {
        "bias": 1.0,
        **({} if kind == "lost" else {kind: 1.0}),
        "same_category": changed and output is not None and output.category == category,
        "stranger": changed and output is not None and is_unknown(output) != is_unknown(mention),
        "doubtful": mention.doubtful,
        "changed_number": changed and group == "number",
        # Many languages leave names in their own letters: BlackRock, MTV.
        "copied_name": kind == "copied" and group == "name" and category != "person",
        "changed_unknown": changed and mention.tier == "name",
        "added_number": kind == "added" and group == "number",
        "in_a_row": kind == "lost" and mention.start in around.in_a_row,
        ("one_of_several" if changed else "repeated"): finding.repeated,
        **({} if group == "number" else {group: 1.0}),
        "city": category == "city",
        "large": category == "city" and names.is_large(mention),
        "several_words": is_name and len(text.split()) > 1,
        "small_letter": label[:1].isupper() and text == label.lower(),  # the earth
        "small": category == "number" and _is_small(mention),
        "in_words": group == "number" and text.isalpha(),
        "list_number": category == "number" and mention.start == 0,
        "unknown": mention.tier == "name",
        "inflected": mention.rule == "inflected",
        "alias": mention.rule == "name" and bool(labels) and text.casefold() not in labels,
        "ambiguous": math.log2(len(mention.readings)) if is_name else 0.0,
        # 10 miles became 16 kilometres: both the number and the unit were changed.
        "converted": changed and category in _CONVERTED and around.changed >= _CONVERTED,
        "one_language": around.same_language and kind == "added",
        **of_evidence(finding.evidence or Evidence(), group),
        "nothing_kept": around.wanted > 1 and not around.kept,
        "empty": around.empty,
    }
    return {name: float(value) for name, value in values.items() if value}


_CONVERTED = frozenset({"number", "unit"})


def _is_small(mention: Mention) -> bool:
    """Whether a number is often put in other words: up to twelve, in words also fractions."""
    number = str(mention.id).removeprefix("num:")
    if not any(c.isdecimal() for c in mention.text):
        number = number.partition(".")[0]
    return number.isdecimal() and int(number) <= _SMALL


def of_evidence(evidence: Evidence, group: str) -> dict[str, float]:
    """Return the features that depend on other outputs; terms have none."""
    if group == "term":
        return {}
    kept, others, kept_references, references, rivals = evidence
    return {
        "rival_elsewhere": rivals / max(1, others + references),
        "others": math.log((kept + 0.5) / (others - kept + 0.5)),
        "reference": {None: 0.0, False: -1.0, True: 1.0}[evidence.kept_by_reference],
        "all_others": float(_ENOUGH <= others == kept),
        "all_references": float(1 < references == kept_references),
        "some_references": float(0 < kept_references < references),
    }


def is_disputed(evidence: Evidence, group: str, *, unknown: bool = False) -> bool:
    """Whether a human translation, or most of several other systems, raise the same alarm.

    For an ``unknown`` name somebody else has to keep it.

    Examples
    --------
    >>> counts = ((8, 8, 0, 1), (4, 8, 1, 1), (3, 8, 0, 0), (0, 1, 0, 0))
    >>> [is_disputed(Evidence(*numbers), "place") for numbers in counts]
    [True, False, True, False]
    """
    if group == "term":
        return False
    if evidence.kept_by_reference is False:
        return True
    if unknown and not evidence.kept and not evidence.kept_references:
        return True
    return evidence.others >= _ENOUGH and 2 * evidence.kept < evidence.others


@dataclass(frozen=True, slots=True)
class Model:
    """The weights, where to cut, and how many alarms above the cut were real.

    ``weights`` hold where there is nothing to compare with, ``compared`` (by default the same)
    where there is a human translation or several other systems. ``measured`` has, per situation,
    how many alarms were ``judged``, how many were ``real``, and ``on`` which texts.
    """

    weights: Mapping[str, float]
    cut: Mapping[str, float]
    measured: Mapping[str, Mapping[str, Any]]
    compared: Mapping[str, float] | None = None

    def __call__(self, finding: Finding, values: Mapping[str, float]) -> float:
        """Return the confidence in an alarm with these features."""
        evidence = finding.evidence or Evidence()
        alone = situation(evidence.references, evidence.others) == "alone"
        unknown = is_unknown(finding.mention)
        capped = is_disputed(evidence, finding.mention.group, unknown=unknown)
        return self.weigh(values, capped=capped, alone=alone)

    def weigh(self, values: Mapping[str, float], *, capped: bool, alone: bool = True) -> float:
        """Return the probability by features; ``capped`` if the alarm is disputed."""
        weights = self.weights if alone or self.compared is None else self.compared
        score = sum(weights.get(name, 0.0) * value for name, value in values.items())
        sure = 1 / (1 + math.exp(-score))
        return min(sure, _DISPUTED) if capped else sure

    def expected(self, references: int, others: int) -> str:
        """Say what alarms rest on, and how many of them were real elsewhere.

        Examples
        --------
        >>> model = Model({}, {}, {})
        >>> model.expected(1, 8), model.expected(0, 0)
        ('with a reference and 8 other systems', 'without a reference or other systems')
        """
        people = "a reference" if references == 1 else f"{references} references"
        parts = [people] * (references > 0) + [plural(others, "other system")] * (others > 0)
        text = f"with {' and '.join(parts)}" if parts else "without a reference or other systems"
        counts = self.measured.get(situation(references, others))
        if counts is None:
            return text
        tenths = round(10 * counts["real"] / counts["judged"])
        return f"{text}: about {tenths} in 10 of the alarms shown were real on {counts['on']}"


@cache
def model() -> Model:
    """Read the weights from the file beside this one."""
    table = tomllib.loads(files("steelyard.kobe").joinpath(FILE).read_text(encoding="utf-8"))
    return Model(table["weights"], table["cut"], table.get("measured", {}), table.get("compared"))
