"""How probable it is that an alarm is an error: a small model with its weights in a file.

What an alarm is worth depends on how others fare (a name that all other systems keep was not
dropped by the linker), on the kind of entity (numbers are sure, one-word names are not), and on how
the name was linked. Where no human translation, or less than half of at least three other systems
keep an entity, it is no loss of this system, whatever the rest says; but terms of a glossary are
wanted whoever else ignores them.
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
from steelyard.kobe.explaining import Evidence, Finding
from steelyard.kobe.forms import Forms
from steelyard.kobe.mention import Mention
from steelyard.kobe.rivals import is_stranger

FILE = "confidence.toml"
#: What there is to compare with: nothing, other systems, a human translation, or both.
Situation = Literal["alone", "others", "reference", "both"]
SITUATIONS: tuple[Situation, ...] = ("alone", "others", "reference", "both")
_ENOUGH = 3  # other systems that are a majority to go by
_SMALL = 12  # numbers up to it are often put in other words
_DISPUTED = 0.05  # at most, of an alarm that others or people raise as well


class Around(NamedTuple):
    """What a segment tells of its alarms: entities wanted and kept, whether there is an output.

    In ``one_language``, as of summaries, both sides are linked alike. ``changed`` are the
    categories of what was changed. ``in_a_row`` are the places in the source of what is lost beside
    something else that is lost: a clause was left out.
    """

    wanted: int
    kept: int
    empty: bool
    one_language: bool = False
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


def features(finding: Finding, around: Around, source: Forms, target: Forms) -> dict[str, float]:
    """Give what the model knows of an alarm: only what is not zero.

    ``source`` and ``target`` are the names of entities in both languages.

    Examples
    --------
    >>> nobody = Forms(None, None)
    >>> alarm = Finding("lost", Mention(3, 4, "7", "num:7", "number"), None,
    ...                 evidence=Evidence(8, 8, 1, 1))
    >>> features(alarm, Around(2, 1, empty=False), nobody, nobody)
    {'bias': 1.0, 'small': 1.0, 'others': 2.833..., 'reference': 1.0, 'all_others': 1.0}
    """
    mention, evidence = finding.mention, finding.evidence or Evidence()
    own = target if finding.source is None else source
    return _present(
        {
            "bias": 1.0,
            **({} if finding.kind == "lost" else {finding.kind: 1.0}),
            "same_category": finding.kind == "changed" and _alike(finding),
            "stranger": finding.output is not None and _is_strange(finding),
            "doubtful": mention.doubtful,
            "new_name": finding.kind == "added" and is_stranger(mention),
            "changed_number": finding.kind == "changed" and mention.group == "number",
            "copied_name": finding.kind == "copied" and _is_of_letters(mention),
            "changed_unknown": finding.kind == "changed" and mention.tier == "name",
            "added_number": finding.kind == "added" and mention.group == "number",
            "in_a_row": finding.kind == "lost" and mention.start in around.in_a_row,
            ("one_of_several" if finding.kind == "changed" else "repeated"): finding.repeated,
            **({} if mention.group == "number" else {mention.group: 1.0}),
            **_link(mention, own),
            "converted": finding.kind == "changed" and _is_converted(mention, around),
            "one_language": around.one_language and finding.kind == "added",
            **of_evidence(evidence, mention.group),
            "nothing_kept": around.wanted > 1 and not around.kept,
            "empty": around.empty,
        }
    )


def _present(told: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in told.items() if value}


def _is_of_letters(mention: Mention) -> bool:
    """Tell whether it is a name that many languages leave in its own letters: BlackRock, MTV."""
    return mention.group == "name" and mention.category != "person"


def _is_converted(mention: Mention, around: Around) -> bool:
    """Tell whether both a number and a unit were changed, as 10 miles to 16 kilometres."""
    both = {"number", "unit"}
    return mention.category in both and both <= around.changed


def _is_strange(finding: Finding) -> bool:
    """Tell whether of what was lost and what is there a base knows only one."""
    source, output = finding.source, finding.output
    if finding.kind != "changed" or source is None or output is None:
        return False
    return is_stranger(output) != is_stranger(source)


def _alike(finding: Finding) -> bool:
    source, output = finding.source, finding.output
    return source is not None and output is not None and source.category == output.category


def _link(mention: Mention, forms: Forms) -> dict[str, float]:
    """Say how sure it is that a mention means what it is taken for."""
    is_name = mention.group in ("place", "name")
    return {
        "city": mention.category == "city",
        "large": mention.category == "city" and forms.is_large(mention),
        "several_words": is_name and len(mention.text.split()) > 1,
        "small_letter": is_name and _is_word(mention, forms),
        "small": mention.category == "number" and _is_small(mention),
        "in_words": mention.group == "number" and mention.text.isalpha(),
        "list_number": mention.category == "number" and mention.start == 0,
        "unknown": mention.tier == "name",
        "inflected": mention.rule == "inflected",
        "alias": is_name and mention.rule == "name" and not forms.is_label(mention),
        "ambiguous": math.log2(len(mention.readings)) if is_name else 0.0,
    }


def _is_word(mention: Mention, forms: Forms) -> bool:
    """Tell whether a name is written as an ordinary word: the earth."""
    label = forms.label(mention)
    return label[:1].isupper() and mention.text == label.lower()


def _is_small(mention: Mention) -> bool:
    """Tell whether a number is often put in other words: up to twelve, in words also fractions."""
    number = str(mention.id).removeprefix("num:")
    if not any(c.isdecimal() for c in mention.text):
        number = number.partition(".")[0]
    return number.isdecimal() and int(number) <= _SMALL


def of_evidence(evidence: Evidence, group: str) -> dict[str, float]:
    """Give the features that other outputs are the reason of; terms are wanted whoever has them."""
    if group == "term":
        return {}
    return {
        "rival_elsewhere": evidence.rivals / max(1, evidence.others + evidence.references),
        "others": _log_odds(evidence.kept, evidence.others),
        "reference": {None: 0.0, False: -1.0, True: 1.0}[evidence.kept_by_reference],
        "all_others": float(_ENOUGH <= evidence.others == evidence.kept),
        "all_references": float(1 < evidence.references == evidence.kept_references),
        "some_references": float(0 < evidence.kept_references < evidence.references),
    }


def _log_odds(kept: int, others: int) -> float:
    """Give the log odds that another system keeps an entity: 0 without others, moderate for few."""
    return math.log((kept + 0.5) / (others - kept + 0.5))


def is_disputed(evidence: Evidence, group: str, *, unknown: bool = False) -> bool:
    """Tell whether people, or most of several other systems, raise the same alarm.

    A name that no base knows needs somebody else who keeps it.

    Examples
    --------
    >>> counts = ((8, 8, 0, 1), (4, 8, 1, 1), (3, 8, 0, 0), (0, 1, 0, 0))
    >>> [is_disputed(Evidence(*own), "place") for own in counts]
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
    """The weights, where to cut, and how many of the alarms above the cut were found to be real.

    ``weights`` hold where there is nothing to compare with, ``compared`` (fitted to judged alarms)
    where there is a human translation, or several other systems; by default they are the same.
    ``measured`` holds per situation how many alarms were judged and how many of them were real, and
    on which texts; it is empty until somebody has judged alarms.
    """

    weights: Mapping[str, float]
    cut: Mapping[str, float]
    measured: Mapping[str, Mapping[str, Any]]
    compared: Mapping[str, float] | None = None

    def __call__(self, finding: Finding, told: Mapping[str, float]) -> float:
        """Give the confidence in an alarm, from its features."""
        evidence = finding.evidence or Evidence()
        alone = situation(evidence.references, evidence.others) == "alone"
        unknown = is_stranger(finding.mention)
        capped = is_disputed(evidence, finding.mention.group, unknown=unknown)
        return self.weigh(told, capped=capped, alone=alone)

    def weigh(self, told: Mapping[str, float], *, capped: bool, alone: bool = True) -> float:
        """Give the probability by features; ``capped`` where others raise the same alarm."""
        weights = self.weights if alone or self.compared is None else self.compared
        score = sum(weights.get(name, 0.0) * value for name, value in told.items())
        sure = 1 / (1 + math.exp(-score))
        return min(sure, _DISPUTED) if capped else sure

    def expected(self, references: int, others: int) -> str:
        """Say what alarms rest on, and what precision to expect of those that are shown."""
        where = situation(references, others)
        said = compared_with(references, others)
        found = self.measured.get(where)
        if found is None:
            return said
        tenths = round(10 * found["real"] / found["judged"])
        return f"{said}: about {tenths} in 10 of the alarms shown were real on {found['on']}"


def compared_with(references: int, others: int) -> str:
    """Say in words what alarms can be compared with.

    Examples
    --------
    >>> compared_with(1, 8), compared_with(0, 1), compared_with(2, 0)
    ('with a reference and 8 other systems', 'with 1 other system', 'with 2 references')
    >>> compared_with(0, 0)
    'without a reference or other systems'
    """
    people = "a reference" if references == 1 else f"{references} references"
    parts = [
        *([people] if references else []),
        *([plural(others, "other system")] if others else []),
    ]
    return f"with {' and '.join(parts)}" if parts else "without a reference or other systems"


@cache
def model() -> Model:
    """Read the weights that stand beside this file."""
    told = tomllib.loads(files("steelyard.kobe").joinpath(FILE).read_text(encoding="utf-8"))
    return Model(told["weights"], told["cut"], told.get("measured", {}), told.get("compared"))
