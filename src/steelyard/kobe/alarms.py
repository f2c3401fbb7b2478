"""Alarms of all systems: how probable each is an error, and which are shown.

The confidence is a small logistic model with its weights in a file. It depends on what other
outputs do (if all other systems keep a name, the linker did not invent it), on the kind of entity,
and on how it was linked. An alarm that a human translation or most other systems raise as well is
no error of this system; but everybody has to use the terms of a glossary. Findings are explained
when they are first needed: scores alone never need them.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise
from typing import Literal, NamedTuple

from steelyard.kobe.explaining import EntityNames, Evidence, Finding, explain, is_unknown
from steelyard.kobe.matching import Pairs
from steelyard.kobe.mention import LinkedTexts, Linker, Mention

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
    """Name what alarms can be compared with."""
    if references:
        return "both" if others >= _ENOUGH else "reference"
    return "others" if others >= _ENOUGH else "alone"


def features(
    finding: Finding, around: Around, source: EntityNames, target: EntityNames
) -> dict[str, float]:
    """Return the features of an alarm that are not zero.

    ``source`` and ``target`` are the names of entities in both languages.
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
    """The weights, and where to cut.

    ``weights`` hold where there is nothing to compare with, ``compared`` (by default the same)
    where there is a human translation or several other systems.
    """

    weights: Mapping[str, float]
    cut: Mapping[str, float]
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


@cache
def model() -> Model:
    """Read the weights from the file beside this one."""
    table = tomllib.loads(files("steelyard.kobe").joinpath(FILE).read_text(encoding="utf-8"))
    return Model(table["weights"], table["cut"], table.get("compared"))


# -- what happened to every entity

Row = tuple[Finding, ...]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What happened to every entity of every output.

    ``langs`` are the languages of what outputs are compared with, and of the outputs. ``pairs``
    are those of mentions per output and segment, ``missed`` the mentions that nobody keeps.
    """

    linked: LinkedTexts
    linker: Linker
    langs: tuple[str | None, str | None]
    pairs: Mapping[str, Sequence[Pairs]]
    missed: Sequence[Collection[int]]
    same_language: bool = False
    model: Model = field(default_factory=model)

    @property
    def systems(self) -> tuple[str, ...]:
        """The outputs that are no human translations."""
        return tuple(name for name in self.linked.outputs if name not in self.linked.references)

    @cached_property
    def names(self) -> tuple[EntityNames, EntityNames]:
        """What entities are called in both languages."""
        return EntityNames(self.linker, self.langs[0]), EntityNames(self.linker, self.langs[1])

    @property
    def default_cut(self) -> float:
        """The confidence from which on alarms are shown by default."""
        others = max(0, len(self.systems) - 1)
        return self.model.cut[situation(len(self.linked.references), others)]

    @cached_property
    def rows(self) -> dict[str, list[Row | None]]:
        """Per output and segment, a finding per mention of the source, then what was added."""
        rows = {
            name: [self._explain(name, at) for at in range(len(texts))]
            for name, texts in self.linked.outputs.items()
        }
        weighed = {}
        for name, findings in rows.items():
            weighed[name] = [
                row if row is None or not any(f.is_alarm for f in row)
                else self._weigh(rows, name, at, row)
                for at, row in enumerate(findings)
            ]  # fmt: skip
        return weighed

    def _explain(self, name: str, at: int) -> Row | None:
        text, mentions = self.linked.outputs[name][at], self.linked.output_mentions[name][at]
        source = self.linked.source_mentions[at]
        if text is None or mentions is None:
            return None
        if not source and not mentions:
            return ()
        foreign = not mentions and at in self.linked.foreign.get(name, ())
        return tuple(
            explain(source, text, mentions, self.missed[at], same_language=self.same_language,
                    foreign=foreign, names=self.names[1], pairs=self.pairs[name][at],
                    source_text=self.linked.sources[at] or "")
        )  # fmt: skip

    def _weigh(self, rows: Mapping[str, Sequence[Row | None]], name: str, at: int, row: Row) -> Row:
        around = self._around(row, self.linked.outputs[name][at] or "")
        weighed = []
        for place, finding in enumerate(row):
            if finding.is_alarm:
                alarm = finding._replace(evidence=self._evidence(rows, name, at, place, finding))
                values = features(alarm, around, *self.names)
                weighed.append(alarm._replace(confidence=self.model(alarm, values)))
            else:
                weighed.append(finding)
        return tuple(weighed)

    def _around(self, row: Row, text: str) -> Around:
        sure = [f for f in row if f.source is not None and not f.source.doubtful]
        return Around(
            wanted=len(sure),
            kept=sum(f.kind == "found" for f in sure),
            empty=not text.strip(),
            same_language=self.same_language,
            changed=frozenset(f.mention.category for f in row if f.kind == "changed"),
            in_a_row=frozenset(
                finding.mention.start
                for pair in pairwise(sure)
                if pair[0].kind == pair[1].kind == "lost"
                for finding in pair
            ),
        )

    def _evidence(
        self,
        rows: Mapping[str, Sequence[Row | None]],
        name: str,
        at: int,
        place: int,
        alarm: Finding,
    ) -> Evidence:
        rival = alarm.output if alarm.kind == "changed" else None
        kept, present = [0, 0], [0, 0]  # of systems, and of references
        rivals = 0
        for other, findings in rows.items():
            row = findings[at]
            if other == name or row is None or not (self.linked.outputs[other][at] or "").strip():
                continue
            side = other in self.linked.references
            present[side] += 1
            if alarm.source is None:
                kept[side] += not self._has(other, at, alarm.mention)
            else:
                kept[side] += _keeps(row[place], alarm)
            rivals += rival is not None and self._has(other, at, rival)
        return Evidence(kept[0], present[0], kept[1], present[1], rivals)

    def _has(self, output: str, at: int, wanted: Mention) -> bool:
        """Whether an output has an entity; unknown names are searched in its text."""
        if is_unknown(wanted) and wanted.text in (self.linked.outputs[output][at] or ""):
            return True
        readings = set(wanted.readings)
        mentions = self.linked.output_mentions[output][at] or ()
        return any(not readings.isdisjoint(mention.readings) for mention in mentions)

    def features(self, name: str, at: int, alarm: Finding) -> dict[str, float]:
        """Return the features of an alarm."""
        row, text = self.rows[name][at], self.linked.outputs[name][at]
        return features(alarm, self._around(row or (), text or ""), *self.names)

    def texts(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, str, Row]]:
        """Yield system, segment, output and findings of all outputs, or of some systems."""
        for name, findings in self.rows.items():
            if systems is not None and name not in systems:
                continue
            for at, row in enumerate(findings):
                text = self.linked.outputs[name][at]
                if row is not None and text is not None:
                    yield name, at, text, row

    def findings(self, systems: Sequence[str] | None = None) -> Iterator[tuple[str, int, Finding]]:
        """Yield system, segment and finding of every entity, however doubtful."""
        for name, at, _, row in self.texts(systems):
            for finding in row:
                yield name, at, finding


def _keeps(other: Finding, alarm: Finding) -> bool:
    if other.kind == "copied":
        return alarm.kind != "copied"
    return other.kind == "found" or (other.repeated and not alarm.repeated)
