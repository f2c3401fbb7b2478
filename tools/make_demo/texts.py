"""Texts for the demo's scores: sentences with as many errors as the ``mqm`` of each output says.

The scores come first (:mod:`make_demo.simulator`). An output that lost six points has one major and
one minor error planted, one that lost 25 is no translation, one that lost nothing has no error. So
the scores are what raters of these very texts gave, and the texts fit them to the last comma.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from make_demo.sentences import (
    NOT_TRANSLATED,
    OMISSION,
    PUNCTUATION,
    SLOTS,
    Piece,
    Sentence,
    Wrong,
    read_sentences,
    slot_kind,
    wrong_values,
)
from make_demo.simulator import Array, SimulatedSet

SEED = 20240610
TEXTS_FILE = "texts.jsonl.gz"
REFERENCE = "refA"
_SENTENCES = Path(__file__).parent / "sentences.txt"
#: Names are constant in a document, numbers and days are not.
_OF_THE_DOCUMENT = ("town", "town2", "person", "pet")
_SLIPS = {",": (" ,", ",,"), ".": (" .", ".."), "?": (" ?",), "!": (" !",), ":": (" :",)}
#: Systems that go wrong in a way of their own: one with names and numbers, one leaves words out.
_WEAK_AT_NAMES, _WEAK_AT_PHRASES, _OFTEN = "Basalt", "Granite", 4.0
_COSTS = {"major": 5, "minor": 1}
_NONSENSE = 25  # the cost of what is no translation


@dataclass(frozen=True, slots=True)
class Planted:
    """An error that is there: what raters call it, how bad it is, and where it stands."""

    category: str
    severity: str
    start: int
    end: int
    in_source: bool = False

    @property
    def cost(self) -> float:
        """What it costs by the weights of WMT."""
        if self.category == NOT_TRANSLATED:
            return _NONSENSE
        return 0.1 if self.category == PUNCTUATION else _COSTS[self.severity]

    def to_dict(self) -> dict[str, Any]:
        """Give the error as files of ratings have it."""
        said: dict[str, Any] = {"start": self.start, "end": self.end}
        said |= {"category": self.category, "severity": self.severity, "score": self.cost}
        return said | ({"is_source_error": True} if self.in_source else {})


@dataclass(frozen=True, slots=True)
class Output:
    """What a system wrote, with its errors, and words that are fine but that one may dislike."""

    text: str
    errors: tuple[Planted, ...] = ()
    fine: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """A source with its reference and the output of each system."""

    source: str
    reference: str
    outputs: tuple[Output, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """The sentences of a segment, with names and numbers filled in."""

    source: str
    phrases: tuple[tuple[int, int], ...]  # where in the source what can be left out stands
    pieces: tuple[Piece, ...]


def errors_of(cost: float) -> tuple[int, int, int]:
    """Split a cost into major errors of 5, minor ones of 1 and punctuation of a tenth.

    Examples
    --------
    >>> errors_of(12.1)
    (2, 2, 1)
    """
    major, rest = divmod(round(cost * 10), 50)
    return (major, *divmod(rest, 10))


def costs(simulated: SimulatedSet, rng: np.random.Generator) -> Array:
    """Give what the errors of every output cost; where nobody judged, as elsewhere in the set."""
    cost: Array = -simulated.scores["mqm"]
    judged = np.flatnonzero(~np.isnan(cost).any(axis=0))
    for column in np.flatnonzero(np.isnan(cost).any(axis=0)):
        cost[:, column] = cost[:, rng.choice(judged)]
    return cost


def write_texts(
    simulated: SimulatedSet, wishes: Mapping[tuple[int, int], float], rng: np.random.Generator
) -> list[Segment]:
    """Write all segments; ``wishes`` are outputs that shall be long (above 0) or short."""
    known = read_sentences(_SENTENCES)
    cost = costs(simulated, rng)
    written: list[Segment] = []
    document, names = "", _names(rng)
    queue: list[Sentence] = []
    for column, name in enumerate(simulated.documents):
        own = known[simulated.domains[column]]
        if name != document:
            document, queue = name, []
            names = _names(rng)
        wished = [wishes.get((row, column), 0.0) for row in range(len(cost))]
        for size in range(1, 4):
            while len(queue) < size:
                queue += [own[k] for k in rng.permutation(len(own))]
            draft = _filled(queue[:size], names, rng)
            styles = [_style(wish, rng) for wish in wished]
            made = [
                _output(draft, cost[row, column], styles[row], system, rng)
                for row, system in enumerate(simulated.systems)
            ]
            outputs = tuple(output for output in made if output is not None)
            if len(outputs) == len(made):
                break
        else:
            raise ValueError(f"segment {column} has no room for its errors")
        del queue[:size]
        reference = _worded(draft, _Plan(), "turns")
        written.append(Segment(draft.source, reference.text, outputs))
    return written


def _names(rng: np.random.Generator) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for slot in _OF_THE_DOCUMENT:
        left = [value for value in SLOTS[slot_kind(slot)] if value not in found.values()]
        found[slot] = left[rng.integers(len(left))]
    return found


def _filled(
    chosen: Sequence[Sentence], names: Mapping[str, tuple[str, str]], rng: np.random.Generator
) -> _Draft:
    source = ""
    phrases: list[tuple[int, int]] = []
    pieces: list[Piece] = []
    for sentence in chosen:
        values = dict(names)
        for piece in sentence.source:
            if piece.slot is not None and piece.slot not in values:
                free = [v for v in SLOTS[slot_kind(piece.slot)] if v not in values.values()]
                values[piece.slot] = free[rng.integers(len(free))]
        first = len(phrases)
        source += " " if source else ""
        for piece in sentence.source:
            text = piece.good[0] if piece.slot is None else values[piece.slot][0]
            if piece.group is not None:
                if first + piece.group == len(phrases):
                    phrases.append((len(source), len(source)))
                phrases[-1] = (phrases[-1][0], len(source) + len(text))
            source += text
        taken = frozenset(values[p.slot][1] for p in sentence.target if p.slot is not None)
        pieces += [Piece((" ",))] if pieces else []
        for piece in sentence.target:
            own = piece
            if piece.slot is not None:
                own = wrong_values(piece.slot, values[piece.slot], taken)
            group = None if piece.group is None else first + piece.group
            pieces.append(replace(own, group=group))
    return _Draft(source, tuple(phrases), tuple(pieces))


def _style(wish: float, rng: np.random.Generator) -> str:
    """Choose how good wordings are chosen: all of one kind, which keeps the file small."""
    usual = ("first", "last", "others")[rng.integers(3)]
    if rng.random() < min(1.0, 6 * abs(wish)):
        return "long" if wish > 0 else "short"
    return usual


def _good(piece: Piece, number: int, style: str) -> str:
    if style in ("long", "short"):
        return (max if style == "long" else min)(piece.good, key=len)
    place = {"first": 0, "last": -1, "turns": number % 2, "others": (number + 1) % 2}[style]
    return piece.good[min(place, len(piece.good) - 1)]


@dataclass(slots=True)
class _Plan:
    """What goes wrong in an output: pieces that are worded wrong, phrases that are left out."""

    wrong: dict[int, tuple[str, Wrong]] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)

    def takes(self, draft: _Draft, number: int, phrase: int) -> bool:
        """Tell whether there is room for an error: in a piece, or for a phrase to go."""
        if phrase < 0:
            return number not in self.wrong and draft.pieces[number].group not in self.gone
        inside = {draft.pieces[other].group for other in self.wrong}
        return phrase not in self.gone and phrase not in inside


def _worded(draft: _Draft, plan: _Plan, style: str) -> Output:
    """Put the pieces together, with what goes wrong."""
    text, errors, fine = "", [], []
    choices = 0
    for number, piece in enumerate(draft.pieces):
        choices += len(piece.good) > 1
        if piece.group in plan.gone:
            continue
        if number in plan.wrong:
            severity, own = plan.wrong[number]
            errors.append(Planted(own.category, severity, len(text), len(text) + len(own.text)))
            text += own.text
        else:
            good = _good(piece, choices, style)
            if piece.minor and piece.slot is None:
                fine.append((len(text), len(text) + len(good)))
            text += good
    for phrase, severity in plan.gone.items():
        errors.append(Planted(OMISSION, severity, *draft.phrases[phrase], in_source=True))
    return Output(text, tuple(errors), tuple(fine))


def _output(
    draft: _Draft, cost: float, style: str, system: str, rng: np.random.Generator
) -> Output | None:
    """Write an output whose errors cost what they shall, None if there is no room for them."""
    if cost >= _NONSENSE:
        return _nonsense(draft, rng)
    major, minor, slips = errors_of(cost)
    plan = _Plan()
    for severity, count in (("major", major), ("minor", minor)):
        wanted = count
        for number, phrase in _places(draft, severity, system, rng):
            if not wanted:
                break
            if not plan.takes(draft, number, phrase):
                continue
            wanted -= 1
            if phrase >= 0:
                plan.gone[phrase] = severity
            else:
                options: tuple[Wrong, ...] = getattr(draft.pieces[number], severity)
                plan.wrong[number] = (severity, options[rng.integers(len(options))])
        if wanted:
            return None
    return _slipped(_worded(draft, plan, style), slips, rng)


def _places(
    draft: _Draft, severity: str, system: str, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Give where an error can stand, in a random order: (piece, -1), or (-1, phrase)."""
    drawn: list[tuple[float, int, int]] = []
    for number, piece in enumerate(draft.pieces):
        if getattr(piece, severity):
            often = _OFTEN if system == _WEAK_AT_NAMES and piece.slot else 1.0
            drawn.append((float(rng.random()) ** (1 / often), number, -1))
    for phrase in range(len(draft.phrases)):
        often = _OFTEN if system == _WEAK_AT_PHRASES else 1.0
        drawn.append((float(rng.random()) ** (1 / often), -1, phrase))
    return [(number, phrase) for _, number, phrase in sorted(drawn, reverse=True)]


def _slipped(made: Output, slips: int, rng: np.random.Generator) -> Output | None:
    """Get punctuation wrong in some places, outside of other errors; None if there are too few."""
    spans = [(e.start, e.end) for e in made.errors if not e.in_source]
    inside = {place for span in (*spans, *made.fine) for place in range(*span)}
    marks = [
        place
        for place, char in enumerate(made.text)
        if char in _SLIPS and place not in inside and not made.text[place + 1 : place + 2].isdigit()
    ]
    if len(marks) < slips:
        return None
    # From the last one on, so that the places of those before stay where they are.
    for at in sorted(
        (marks[k] for k in rng.choice(len(marks), slips, replace=False)), reverse=True
    ):
        options = _SLIPS[made.text[at]]
        new = options[rng.integers(len(options))]
        made = _replaced(made, at, new)
    return made


def _replaced(made: Output, at: int, new: str) -> Output:
    """Put a slip in the place of one character; all that follows moves on."""
    grown = len(new) - 1
    errors = tuple(
        e if e.in_source or e.start < at else replace(e, start=e.start + grown, end=e.end + grown)
        for e in made.errors
    )
    fine = tuple((a, b) if a < at else (a + grown, b + grown) for a, b in made.fine)
    slip = Planted(PUNCTUATION, "minor", at, at + len(new))
    return Output(made.text[:at] + new + made.text[at + 1 :], (*errors, slip), fine)


def _nonsense(draft: _Draft, rng: np.random.Generator) -> Output:
    """Write what is no translation: the source itself, or a few of its words again and again."""
    if rng.random() < 0.5:
        text = draft.source
    else:
        words = _worded(draft, _Plan(), "first").text.split()[:3]
        text = " ".join(words * 4)
    return Output(text, (Planted(NOT_TRANSLATED, "major", 0, len(text)),))


def lines(simulated: SimulatedSet, written: Sequence[Segment]) -> Iterator[dict[str, Any]]:
    """Give the lines of the file of texts."""
    labels = zip(simulated.segment_ids, simulated.documents, simulated.domains, strict=True)
    for (segment, document, domain), own in zip(labels, written, strict=True):
        texts = (output.text for output in own.outputs)
        yield {
            "seg": segment,
            "doc": document,
            "domain": domain,
            "src": own.source,
            "refs": {REFERENCE: own.reference},
            "out": dict(zip(simulated.systems, texts, strict=True)),
        }
