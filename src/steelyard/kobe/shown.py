"""The alarms that a report shows: looked for once somebody asks, and cut at a confidence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from steelyard.core.text import plural
from steelyard.kobe.alarms import AddedEntity, Alarm, Explained, LostEntity, explain_all
from steelyard.kobe.forms import Forms
from steelyard.kobe.matching import Pairs
from steelyard.kobe.mention import LinkedTexts, Linker
from steelyard.kobe.terms import TermUse, term_use

_MOST = 50  # entities or alarms that are listed


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Linked texts, and what is needed to say what happened to every entity of every output.

    That takes half as long as finding the entities does, and whoever wants scores alone (a
    comparison of systems, a metric among others) never asks.

    Parameters
    ----------
    linked, linker
        The texts with their mentions, and what found them.
    langs
        Languages of what outputs are compared with, and of the outputs; None where not known.
    pairs
        Which mentions are paired.
    missed
        Per segment, the mentions that nobody keeps.
    one_language
        Whether outputs are in the language of what they are compared with.
    """

    linked: LinkedTexts
    linker: Linker
    langs: tuple[str | None, str | None]
    pairs: Mapping[str, Sequence[Pairs]]
    missed: Sequence[Collection[int]]
    one_language: bool = False

    @cached_property
    def explained(self) -> Explained:
        """Explain them all; asked again, it is known."""
        src, tgt = self.langs
        forms = Forms(self.linker, src), Forms(self.linker, tgt)
        return explain_all(
            self.linked, forms, self.pairs, self.missed, copies_count=self.one_language
        )


@dataclass(frozen=True, eq=False)
class ShownAlarms:
    """Alarms from a confidence on, and how many there are beside them.

    Parameters
    ----------
    what
        The texts whose alarms are shown; None where single findings are not kept.
    least
        The confidence; None is the one for what there is to compare with.
    """

    what: Unexplained | None = None
    least: float | None = None

    @property
    def explained(self) -> Explained | None:
        """What happened to every entity, however doubtful."""
        return None if self.what is None else self.what.explained

    @cached_property
    def cut(self) -> float:
        """The confidence from which alarms are shown; NaN where there are none at all."""
        if self.explained is None:
            return float("nan")
        return self.explained.default_cut if self.least is None else float(self.least)

    @cached_property
    def lost(self) -> tuple[LostEntity, ...]:
        """The entities that systems lose, the surest first."""
        if self.what is None:
            return ()
        return tuple(self.what.explained.lost(self.cut, self.what.linker)[:_MOST])

    @cached_property
    def added(self) -> tuple[AddedEntity, ...]:
        """The entities that systems add, the surest first."""
        if self.what is None:
            return ()
        return tuple(self.what.explained.added(self.cut, self.what.linker)[:_MOST])

    @cached_property
    def alarms(self) -> tuple[Alarm, ...]:
        """What to look at, the surest first."""
        return () if self.explained is None else tuple(self.explained.to_look_at(self.cut))

    @cached_property
    def _sure(self) -> list[float]:
        found = () if self.explained is None else self.explained.alarms()
        return [finding.confidence or 0.0 for _, _, finding in found]

    @property
    def n_alarms(self) -> int:
        """How many alarms there are at all."""
        return len(self._sure)

    @property
    def n_below(self) -> int:
        """How many of them are below the cut."""
        return sum(one < self.cut for one in self._sure)

    @cached_property
    def n_undecided(self) -> int:
        """Mentions that may be part of something else, and are not in the output."""
        return 0 if self.explained is None else self.explained.n_undecided()

    @cached_property
    def terms(self) -> tuple[TermUse, ...]:
        """Terms of a glossary, and whether outputs use them."""
        if self.what is None:
            return ()
        return tuple(term_use(self.what.explained, self.what.linker))

    def note(self) -> str:
        """Say where alarms are cut, what they rest on, and how many are not shown."""
        if self.explained is None or not self.n_alarms:
            return ""
        said = f"Alarms with a confidence of {self.cut:.2f} or more, {self.explained.rests_on}"
        if self.n_below:
            said += f"; {plural(self.n_below, 'alarm')} of {self.n_alarms:,} below it"
        return said + "."

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints; nothing where single findings are not kept."""
        if self.what is None:
            return {}
        ids = self.what.linked.ids
        return {
            "cut": self.cut,
            "rests_on": self.what.explained.rests_on,
            "n_alarms": self.n_alarms,
            "n_below": self.n_below,
            "n_undecided": self.n_undecided,
            "alarms": [_told(alarm, ids[alarm.at]) for alarm in self.alarms[:_MOST]],
            "terms": [term.to_dict() for term in self.terms],
        }


def _told(alarm: Alarm, segment: str) -> dict[str, Any]:
    return {
        "system": alarm.system,
        "segment": segment,
        "what": alarm.what,
        "group": alarm.findings[0].mention.group,
        "source": alarm.source or None,
        "output": alarm.output or None,
        "confidence": round(alarm.confidence, 3),
        "why": alarm.why,
    }
