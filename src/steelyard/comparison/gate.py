"""May this change ship? A candidate against a baseline: pass, fail or undecided.

The verdict compares the 95% interval of the candidate's lead with a margin: it passes where the
whole interval is above, fails where none of it is, and is undecided between. Scores that must all
pass need no correction to pass; a failure is corrected for their number (Bonferroni), as are tasks
and slices, which can only fail. So each kind of error has at most 2.5%, and slices and tasks as
much again.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.card import Card, Regression, decide, pair_sample, regressions
from steelyard.comparison.options import FAILS, CardOptions, Checked, check, parse
from steelyard.comparison.rankings import the_score
from steelyard.comparison.suites import TASK, Part, by_part
from steelyard.core.decision import FEWEST_UNITS, shown_interval
from steelyard.core.display import Result, Statement, Summary, one_line
from steelyard.core.errors import InputError, UsageError, printable
from steelyard.core.options import as_tuple, check_instance, check_names, check_number
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng
from steelyard.core.table import Column, Table, plain
from steelyard.core.text import listed, plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.joining import in_one_unit
from steelyard.formats.load import Source, as_evalset, load
from steelyard.formats.save import save
from steelyard.stats.distributions import ndtri

PASS, FAIL, UNDECIDED = "pass", "fail", "undecided"
_TEXT = 200  # characters of an output that a summary shows
_MOST_LACKING = 0.05  # of the baseline's items, if a candidate is to pass on the rest
_CONTENT = re.compile(r"(doc|vars)\.|(input|target|question|prompt)$")  # metadata that is the item


@dataclass(frozen=True, slots=True)
class Judged:
    """The card of the candidate and the baseline by one score, and the result by the margin."""

    card: Card
    result: str
    worse: tuple[str, ...]  # tasks and slices that got worse than they may
    needed: int | None = None  # further items that would decide, if they would
    lacking: str = ""  # what the candidate has no scores of, where that is too much to pass

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints; differences are the candidate's minus the baseline's."""
        card = self.card
        return {
            "difference": card.difference,
            "ci": None if math.isnan(card.part.low) else list(card.ci),
            "p": card.p,
            "n_segments": card.n_segments,
            "n_units": card.part.n_units,
            "result": self.result,
            "worse": list(self.worse),
            "needed": self.needed,
            **by_part(card.suites),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Gate(Result):
    """Whether a candidate may replace a baseline: ``passed`` is True, False, or None (undecided).

    ``margin`` is what the candidate's lead is compared with: at least ``min_delta``, or no less
    than ``-max_loss``.
    """

    baseline: str
    candidate: str
    margin: float
    judged: Mapping[str, Judged]
    requirements: tuple[Checked, ...] = ()
    regressions: tuple[Regression, ...] = ()
    notes: tuple[str, ...] = ()  # of reading
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None

    @property
    def verdict(self) -> str:
        """``pass``, ``fail`` or ``undecided``."""
        results = {judged.result for judged in self.judged.values()}
        results |= {item.result for item in self.requirements}
        if results & {FAIL, FAILS}:
            return FAIL
        return UNDECIDED if UNDECIDED in results else PASS

    @property
    def passed(self) -> bool | None:
        """True, False, or None where the data do not decide."""
        return {PASS: True, FAIL: False, UNDECIDED: None}[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints; of one score, its numbers stand at the top, too."""
        scores = {name: judged.to_dict() for name, judged in self.judged.items()}
        first = next(iter(scores.values())) if len(scores) == 1 else {}
        return {
            "verdict": self.verdict,
            "passed": self.passed,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "systems": [self.candidate, self.baseline],
            "margin": self.margin,
            **first,
            "scores": scores,
            "requirements": [item.to_dict() for item in self.requirements],
            "regressions": [regression._asdict() for regression in self.regressions],
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def __repr__(self) -> str:
        return one_line(self, f"{self.verdict}: {self.candidate} against {self.baseline}")

    def words(self) -> Summary:
        """Return the verdict, and why."""
        return Summary.of(self._statements())

    def answer(self) -> tuple[str, ...]:
        """Return the verdict, and why, in at most three sentences."""
        return tuple(text for _, text in self._statements())[:3]

    def _statements(self) -> Iterator[Statement]:
        kind: Any = "undecided" if self.passed is None else "settled"
        for name, judged in self.judged.items():
            part = judged.card.part
            value, ends = shown_interval(part.lead, part.low, part.high)
            what = "macro average " if TASK in judged.card.suites else ""
            lead = f"the lead of {self.candidate} over {self.baseline} by {what}{name} is {value}"
            must = f"it must be above {self.margin:g}"
            yield kind, f"{judged.result.capitalize()}: {lead} ({ends}); {must}."
            if judged.lacking:
                yield "undecided", f"No pass without the rest: {judged.lacking}."
            if judged.worse:
                yield kind, f"Worse in {listed(judged.worse, 3)}."
            if judged.needed:
                more = plural(judged.needed, f"more {judged.card.noun}")
                yield kind, f"About {more} would decide, if the difference stays."
        for item in self.requirements:
            yield kind, f"{item.requirement} {item.result}: {item.found}."

    def table(self) -> Table:
        """Return a row per score, or per task of a single score."""
        suites = [s for judged in self.judged.values() for s in judged.card.suites.values()]
        if len(self.judged) == 1 and suites:
            return suites[0].table()
        names = ("score", "lead", "low", "high", "p", "n", "result")
        rows = []
        for name, judged in self.judged.items():
            part = judged.card.part
            rows.append((name, part.lead, part.low, part.high, part.p, part.n, judged.result))
        return Table("", tuple(Column(name, p_value=name == "p") for name in names), tuple(rows))

    def markdown(self) -> str:
        """Return a summary for a pull request; texts of outputs are shown as code, on one line."""
        lines = [f"## Gate: {self.verdict}", "", *self.answer(), "", self.table().markdown()]
        if self.regressions:
            lines += ["### Worst regressions", ""]
            lines += [f"| item | {self.candidate} | {self.baseline} |", "|---|---|---|"]
        for item in self.regressions:
            both = zip(item.scores, item.outputs, strict=True)
            cells = " | ".join(f"{score:.4g} {_code(output)}" for score, output in both)
            lines.append(f"| {_code(item.segment)} | {cells} |")
        return "\n".join(lines).replace("@", "@\u200b") + "\n"  # which mentions nobody


def _code(text: str | None) -> str:
    """Return an untrusted text as code in a cell of a Markdown table."""
    if not text:
        return ""
    line = " ".join(printable(text).replace("`", "'").split())
    line = line if len(line) <= _TEXT else f"{line[:_TEXT]}..."
    return "`" + line.replace("\\", "/").replace("|", "\\|") + "`"


def gate(  # noqa: PLR0913 - every option has a default
    baseline: Source,
    candidate: Source,
    *,
    score: str | Sequence[str] | None = None,
    min_delta: float | None = None,
    max_loss: float | None = None,
    slices: Sequence[str] = (),
    require: Sequence[str] = (),
    record: str | Path | None = None,
    unit: str = "auto",
    rng: Rng = 0,
) -> Gate:
    """Decide whether a candidate may replace a baseline.

    Parameters
    ----------
    baseline, candidate
        Scores of one system each, on the same items: whatever :func:`steelyard.load` takes.
    score
        The score, or several that must all pass; may be left out if there is only one.
    min_delta, max_loss
        Pass if the candidate is better by more than this (0 by default); or if it is worse by less
        than this.
    slices
        Columns none of whose values may get worse, as no task may.
    require
        Bounds on ends of intervals, with names as in the JSON: ``"difference.low>=-0.02"``.
    record
        A ``.parquet`` file that keeps the baseline, and can be the baseline of another gate. If it
        exists, a test set that has changed is refused.
    unit, rng
        What is independent, as in :func:`steelyard.compare`; the seed.

    Returns
    -------
    Gate
        ``passed`` is True, False, or None; ``verdict`` is the same in words.

    See Also
    --------
    compare : Compare systems without a margin.

    Examples
    --------
    >>> old = {"old": [0.0, 1, 0, 1, 0, 0, 1, 0, 0, 1]}
    >>> new = {"new": [1.0, 1, 1, 1, 1, 0, 1, 1, 1, 1]}
    >>> gate(old, new).passed, gate(old, new, max_loss=0.5).passed
    (None, True)
    """
    if min_delta is not None and max_loss is not None:
        raise UsageError("min_delta and max_loss are two questions: choose one of them")
    check_number(0, optional=True, min_delta=min_delta, max_loss=max_loss)
    check_names(slices=slices)
    check_names(require=require)
    check_instance((str, Path), "a path", optional=True, record=record)
    requirements = [parse(text) for text in require]
    margin = min_delta or 0.0 if max_loss is None else -max_loss
    es, (first, second), sets = _two(baseline, candidate, unit, record)
    n_alone = len(set(sets[0].segments.ids) ^ set(sets[1].segments.ids))
    alone = [f"{plural(n_alone, 'item')} that only one of the two has: excluded"] * bool(n_alone)
    scores = (the_score(es, None),) if score is None else as_tuple(score=score)
    options = CardOptions(slices=tuple(slices), unit=unit)
    cards = {name: decide(es, (second, first), name, options=options, rng=rng) for name in scores}
    n_parts = sum(len(s.parts) for card in cards.values() for s in card.suites.values())
    counts = len(scores), n_parts
    two, at = pair_sample(es, (second, first), scores[0], unit)
    settings = {"score": ",".join(scores), "margin": margin, "unit": two.units.name}
    warnings = [*alone, *(text for card in cards.values() for text in card.warnings)]
    result = Gate(
        baseline=first,
        candidate=second,
        margin=margin,
        judged={n: _judged(card, margin, counts, _lacking(sets, n)) for n, card in cards.items()},
        regressions=tuple(regressions(es, two, at, 1.0)),
        notes=es.notes,
        warnings=tuple(dict.fromkeys(text for text in warnings if text not in es.notes)),
        provenance=Provenance.of("gate", settings, es.inputs, rng),
    )
    facts = plain(result.to_dict())
    return replace(result, requirements=tuple(check(item, facts) for item in requirements))


def _two(
    baseline: Source, candidate: Source, unit: str, record: str | Path | None
) -> tuple[EvalSet, tuple[str, ...], list[EvalSet]]:
    """Join the two on their common items; return both sets, too."""
    sets = list(in_one_unit([as_evalset(source, unit=unit) for source in (baseline, candidate)]))
    for role, es in zip(("baseline", "candidate"), sets, strict=True):
        if es.n_systems != 1:
            systems = plural(es.n_systems, "system")
            raise UsageError(f"the {role} has {systems}: expected one (systems=[NAME])")
    names = tuple(es.systems[0] for es in sets)
    if names[0] == names[1]:
        names = ("baseline", "candidate")
    if record is not None:
        _keep(Path(record), sets)
    ids = [set(es.segments.ids) for es in sets]
    if ids[0].isdisjoint(ids[1]):
        raise UsageError("baseline and candidate have no item in common: ids differ")
    first, second = (es.select(segments=sorted(ids[0] & ids[1])) for es in sets)
    tables = {
        name: ScoreTable(np.concatenate([table.values, second[name].values]), table.kind,
                         table.higher_is_better)
        for name, table in first.scores.items()
        if name in second.scores and table.has_segments
    }  # fmt: skip
    both = zip(names, (first, second), strict=True)
    outputs = {name: text for name, es in both for text in es.outputs.values()}
    inputs, notes = (*first.inputs, *second.inputs), (*first.notes, *second.notes)
    merged = EvalSet(names, first.segments, tables, outputs, inputs=inputs, notes=notes)
    return merged, names, sets


def _lacking(sets: Sequence[EvalSet], score: str) -> str:
    """Return which tasks or items the candidate lacks; empty if it may pass on the rest."""
    scored = [
        dict(zip(es.segments.ids, ~np.isnan(es[score].values[0]), strict=True)) for es in sets
    ]
    old, new = ({item for item, there in items.items() if there} for items in scored)
    tasks = dict(zip(sets[0].segments.ids, sets[0].segments.metadata.get(TASK, ()), strict=False))
    before, after = ({str(tasks[i]) for i in tasks.keys() & items} for items in (old, new))
    if gone := sorted(before - after):
        return f"the candidate has no scores of task {listed(gone, 3)}"
    n_lacking = len(old - new)
    share = f"{n_lacking:,} of {plural(len(old), 'item')} have no score of the candidate"
    return share if n_lacking > _MOST_LACKING * len(old) else ""


def _judged(card: Card, margin: float, counts: tuple[int, int], lacking: str) -> Judged:
    """Compare the interval with the margin; ``counts`` are scores, and tasks and slices of all."""
    lead = card.part
    worse = tuple(
        f"{suite.column} {part.name}"
        for suite in card.suites.values()
        for part in suite.parts
        if _below(part, min(margin, 0.0), counts[1])
    )
    if worse or _below(lead, margin, counts[0]):
        return Judged(card, FAIL, worse)
    if lead.n_units >= FEWEST_UNITS and lead.low > margin:
        return Judged(card, UNDECIDED if lacking else PASS, worse, lacking=lacking)
    away = abs(lead.lead - margin)
    if not (away and lead.high > lead.low):
        return Judged(card, UNDECIDED, worse)
    error = (lead.high - lead.low) / 2 / ndtri(0.975)
    total = lead.n * ((ndtri(0.975) + ndtri(0.8)) * error / away) ** 2
    needed = math.ceil(total - lead.n) if lead.n < total < 1e7 else None
    return Judged(card, UNDECIDED, worse, needed)


def _below(part: Part, margin: float, n_tests: int) -> bool:
    """Tell whether the whole interval is below a margin, corrected for the number of tests."""
    wider = float(ndtri(1 - 0.025 / max(n_tests, 1)) / ndtri(0.975))
    high = part.lead + (part.high - part.lead) * wider
    return part.n_units >= FEWEST_UNITS and high < margin


# -- the record of a baseline


def _hashes(es: EvalSet) -> dict[str, str]:
    """Hash the content of every item: source, references, and metadata that is part of it."""
    segments = es.segments
    columns = [segments.sources, *(segments.references[k] for k in sorted(segments.references))]
    columns += [segments.metadata[k] for k in sorted(segments.metadata) if _CONTENT.match(k)]
    rows = zip(segments.ids, *(column for column in columns if column is not None), strict=True)
    return {row[0]: hashlib.sha256(json.dumps(row).encode()).hexdigest() for row in rows}


def _keep(path: Path, sets: Sequence[EvalSet]) -> None:
    """Write the baseline, the first set; where a record exists, refuse a test set that differs."""
    if path.suffix != ".parquet":
        raise UsageError(f'record="{path}": expected a file that ends in .parquet')
    if not path.exists():
        save(sets[0], path, to="native")
        return
    kept = _hashes(load(path))
    for now in map(_hashes, sets):
        changed = sum(kept[key] != now[key] for key in kept.keys() & now.keys())
        counts = {"gone": len(kept.keys() - now.keys()), "new": len(now.keys() - kept.keys())}
        counts["with other content"] = changed
        if any(counts.values()):
            changes = ", ".join(f"{plural(n, 'item')} {what}" for what, n in counts.items() if n)
            raise InputError(f"the test set differs from this record: {changes}", path=path)
