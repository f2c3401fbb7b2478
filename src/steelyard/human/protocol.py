"""A protocol of human judgement: what it reads, which options it takes, and how it scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet
from steelyard.data.joining import join
from steelyard.data.judgements import BattleLog, Rankings, Ratings, encode
from steelyard.data.segments import Segments
from steelyard.formats import columns as roles
from steelyard.formats.format import TableFormat
from steelyard.formats.judged import errors as errorlists
from steelyard.formats.judged import raterfile
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.load import check_columns
from steelyard.formats.rawtable import RawTable
from steelyard.formats.reading import Reading, read_all
from steelyard.formats.streams import kept
from steelyard.human.options import HumanOptions, parts_of_scale
from steelyard.human.presets import PRESETS, Preset
from steelyard.human.results import HumanScores
from steelyard.human.segmentfacts import known_segments


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read: judgements of one kind, and a set of scores and texts, where there are any.

    ``about`` is what texts beside ratings tell of their segments: documents and domains.
    """

    judgements: Ratings | Rankings | BattleLog | None
    scores: EvalSet | None
    files: tuple[InputFile, ...] = ()
    notes: tuple[str, ...] = ()
    about: Segments | None = None


#: Options that mean something to some protocols alone.
_ONLY = {
    "each": ("darr",),
    "threshold": ("darr",),
    "thresholds": ("darr",),
    "identical_ties": ("darr",),
    "keep_ties": ("darr",),
    "metrics": ("darr",),
    "by": ("rr",),
    "held_back": ("rr",),
    "weights": ("mqm", "esa"),
    "severity": ("mqm", "esa"),
    "cap": ("mqm", "esa"),
}


class Protocol(ABC):
    """What tells one protocol from another; :data:`steelyard.human.run.REGISTRY` holds them.

    ``expected`` says in words what its tables hold, ``rated`` are the formats of ratings that it
    reads, ``controlled`` tells whether quality control applies, ``scaled`` whether ratings must lie
    on the scale, and ``of_sets`` whether it takes the ratings that a set carries.
    """

    name: str
    expected: str
    rated: tuple[TableFormat, ...] = ()
    controlled = False
    scaled = True
    of_sets = False

    @abstractmethod
    def score(
        self, read: Mapping[str, Inputs], options: HumanOptions, rng: np.random.Generator
    ) -> HumanScores:
        """Turn what was read, by the name of its set, into scores."""

    @abstractmethod
    def signed(self, options: HumanOptions, result: HumanScores) -> dict[str, Any]:
        """Give the options that belong into the provenance of a result."""

    def takes(self, found: TableFormat, table: RawTable) -> bool:
        """Tell whether it has a use for a table of this format."""
        del table
        return found in self.rated

    def severities(self, options: HumanOptions) -> Collection[str] | None:
        """Give the severities that errors may have, None where nobody asks."""
        del options
        return None

    def refuse(self, options: HumanOptions) -> None:
        """Refuse options that it does not take."""
        if options.quality_control and not self.controlled:
            raise UsageError("quality control applies to protocols da, esa and darr")
        usual = HumanOptions(protocol=options.protocol)
        for name, protocols in _ONLY.items():
            if self.name not in protocols and getattr(options, name) != getattr(usual, name):
                raise UsageError(f"{name}=... applies to protocol {' or '.join(protocols)}")
        if options.unit not in ("auto", "segment") and not self.of_sets:
            raise UsageError(f'unit="{options.unit}" applies to protocols da, mqm and esa')
        if options.preset is not None:
            self._refuse_beside(PRESETS[options.preset], options)

    def _refuse_beside(self, preset: Preset, options: HumanOptions) -> None:
        """Refuse a preset of other protocols, and options that it decides itself."""
        if self.name not in preset.protocols:
            known = ", ".join(preset.protocols)
            raise UsageError(f'preset="{preset.name}" applies to protocol {known}')
        usual = HumanOptions(protocol=options.protocol)
        for name in ("standardised", "quality_control", "unit", "clusters", "test", "alpha",
                     "correction"):  # fmt: skip
            given = getattr(options, name)
            if given != getattr(usual, name) and not (name == "standardised" and given is False):
                shown = f'{name}="{given}"' if isinstance(given, str) else f"{name}={given}"
                raise UsageError(f'preset="{preset.name}" leaves no choice of {shown}')

    def missing(self, what: str) -> UsageError:
        """Make the error of inputs that hold nothing to score."""
        return UsageError(f"{what}: protocol {self.name} expects {self.expected}")


@kept()
def read_inputs(sources: Sequence[Any], protocol: Protocol, options: HumanOptions) -> Inputs:
    """Read all sources: judgements of one kind are put together, scores and texts joined."""
    notes: list[str] = []
    severities = protocol.severities(options)
    words, _ = parts_of_scale(options.scale)

    def inspect(found: TableFormat, table: RawTable) -> None:
        _inspect(found, table, protocol, options)
        if severities is not None and found is errorlists.FORMAT:
            errorlists.check_severities(table, severities)

    reading = Reading(
        options.where,
        tuple(options.ignore),
        options.lp,
        inspect,
        columns=options.columns,
        form=options.format,
        scale=words,
    )
    given = [s for s in sources if isinstance(s, (Ratings, Rankings, BattleLog))]
    others = [s for s in sources if not isinstance(s, (Ratings, Rankings, BattleLog))]
    found = read_all(others, reading)
    check_columns(found, reading)
    judged: list[Any] = [*given]
    sets: list[EvalSet] = []
    told: list[EvalSet] = []  # of documents and domains
    for one in found:
        notes.extend(one.notes)
        if not isinstance(one.value, EvalSet):
            judged.append(one.value)
        elif not protocol.of_sets:
            sets.append(one.value)
        elif one.value.ratings or not _tells(one.value):
            notes.extend(one.value.notes)
            judged.append(own_ratings(one.value, options.human))
            told.append(one.value)
        else:
            told.append(one.value)
    files = [file for one in found for file in one.files or getattr(one.value, "inputs", ())]
    whole = together(judged)
    if options.raters is not None:
        whole, said = merged(whole, raterfile.read(options.raters))
        notes.append(said)
    scores = join(sets) if sets else None
    return Inputs(whole, scores, tuple(files), tuple(notes), known_segments(told))


def _tells(es: EvalSet) -> bool:
    """Tell whether a set knows documents or domains."""
    return es.segments.documents is not None or es.segments.domains is not None


def merged(judged: Any, person: Mapping[str, str]) -> tuple[Any, str]:
    """Make the logins of one person one rater, and say how many are left."""
    if not isinstance(judged, (Ratings, Rankings)):
        raise UsageError("raters=... merges logins, which these judgements do not have")
    own = [person.get(login, login) for login in judged.raters]
    names, codes = encode(own)
    unused = sorted(person.keys() - set(judged.raters))
    said = f"raters: {plural(len(judged.raters), 'login')} are {plural(len(names), 'rater')}"
    alone = len(set(judged.raters) - person.keys())
    said += f"; {plural(alone, 'login')} not in the file, each a rater" if alone else ""
    if unused:
        said += f"; {plural(len(unused), 'login')} of the file without a judgement: "
        said += listed(unused, 5)
    return replace(judged, raters=names, rater=codes[judged.rater]), said


def _inspect(
    found: TableFormat, table: RawTable, protocol: Protocol, options: HumanOptions
) -> None:
    """Look at a table before it is read, and refuse what can't be."""
    if not protocol.takes(found, table):
        columns = ", ".join(list(table.columns)[:8])
        read_as = f"was read as {found.name} (columns {columns})"
        table.fail(f"{read_as}; protocol {protocol.name} expects {protocol.expected}")
    if found.gives is Ratings and protocol.scaled:
        plain = found is directassessment.FORMAT
        names = roles.RATING if plain else roles.ERROR_VALUE
        directassessment.check_scale(table, *parts_of_scale(options.scale)[1], names)


def own_ratings(es: EvalSet, human: str | None) -> Ratings:
    """Take the ratings that a set carries, by their name where there are several."""
    if human is None and len(es.ratings) == 1:
        return next(iter(es.ratings.values()))
    if human is None or human not in es.ratings:
        raise UsageError(
            f"name the raw ratings (human=NAME); {hint(human or '', es.ratings)}"
            if es.ratings
            else "the input holds scores but no raw ratings"
        )
    return es.ratings[human]


def together(judged: Sequence[Any]) -> Any:
    """Put several files of judgements together; a rater of the same name is the same person."""
    if len(judged) < 2:
        return judged[0] if judged else None
    kinds = {type(value) for value in judged}
    if len(kinds) > 1:
        raise UsageError("the inputs hold judgements of different kinds; give one kind at a time")
    if kinds != {Ratings}:
        raise UsageError("give one file of rankings or pairs at a time")
    return _concatenated(judged)


def _concatenated(parts: Sequence[Ratings]) -> Ratings:
    def labels(names: str, codes: str) -> list[str]:
        return [getattr(p, names)[code] for p in parts for code in getattr(p, codes)]

    def column(name: str, blank: Callable[[Ratings], Sequence[Any]]) -> tuple[Any, ...] | None:
        found = [getattr(p, name) for p in parts]
        if all(own is None for own in found):
            return None
        pairs = zip(parts, found, strict=True)
        return tuple(x for p, own in pairs for x in (blank(p) if own is None else own))

    seconds = column("seconds", lambda p: [np.nan] * len(p))
    return Ratings.from_labels(
        labels("systems", "system"),
        labels("segments", "segment"),
        labels("raters", "rater"),
        np.concatenate([p.value for p in parts]),
        errors=column("errors", lambda p: [None] * len(p)),
        item=column("item", lambda p: ["system"] * len(p)),
        unit=column("unit", lambda p: [""] * len(p)),
        document=column("document", lambda p: [""] * len(p)),
        wave=column("wave", lambda p: [0] * len(p)),
        domain=column("domain", lambda p: [""] * len(p)),
        seconds=None if seconds is None else np.array(seconds, dtype=np.float64),
    )
