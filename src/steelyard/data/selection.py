"""Which parts of a set are meant: metrics by name, shell pattern or what they see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet

SRC, REF, BOTH, NONE = "src", "ref", "both", "none"
#: Scores beyond it, or all below its inverse, have moments that leave the range of numbers.
LARGEST = 1e30


def _is_pattern(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def matching(asked: str, names: Collection[str], every: Iterable[str] | None = None) -> list[str]:
    """Return what a shell pattern matches in ``names``, or a name in ``every``, in any case."""
    existing = list(names if every is None else every)
    if asked in existing:
        return [asked]
    if _is_pattern(asked):
        return sorted(name for name in names if fnmatchcase(name, asked))
    alike = [name for name in existing if name.casefold() == asked.casefold()]
    return alike if len(alike) == 1 else []


def need_moments(es: EvalSet, names: Iterable[str]) -> None:
    """Refuse scores so large, or all so small, that statistics of them would be wrong."""
    for name in names:
        for scores in (es[name].values, es[name].system_scores):
            size = 0.0 if scores is None else float(np.fmax.reduce(abs(scores), None, initial=0.0))
            problem = ""
            if size > LARGEST:
                problem = f"{size:.4g} is beyond {LARGEST:g} in size; divide them"
            elif 0 < size < 1 / LARGEST:
                problem = f"none is larger than {size:.4g} in size; multiply them"
            if problem:
                raise UsageError(f"scores of '{name}': {problem}")


def chosen_metrics(es: EvalSet, asked: Iterable[str], *, human: str | None = None) -> list[str]:
    """Return the metrics that names and patterns stand for, sorted, without the human score."""
    metrics = [name for name in es.metrics if name != human]
    chosen: set[str] = set()
    for name in asked:
        names = matching(name, metrics, es.scores)
        if not names:
            what = "metric matches" if _is_pattern(name) else "metric"
            raise UsageError(f"no {what} '{name}'; {hint(name, es.scores)}")
        chosen.update(names)
    return sorted(chosen - {human})


def with_metrics(
    es: EvalSet,
    *,
    only: Iterable[str] | None = None,
    drop: Collection[str] = (),
    sees: Collection[str] | None = None,
) -> EvalSet:
    """Keep the metrics that are wanted, and all human scores.

    ``only`` and ``drop`` are names and patterns. ``sees`` is what metrics see, any of: ``src``, the
    source and no reference; ``ref``, a reference; ``both``, the source and a reference; ``none``,
    nothing that is known; or the name of a reference.
    """
    kept = set(es.metrics if only is None else chosen_metrics(es, only))
    kept -= set(chosen_metrics(es, drop))
    notes: list[str] = []
    if sees is not None:
        if not sees:
            raise UsageError(f"`sees` is empty: expected what metrics see; {_seen(es)}")
        unknown = sorted(name for name in kept if not es[name].uses)
        kept = {name for name in kept if any(_sees(es[name].uses, what) for what in sees)}
        if not kept:
            raise UsageError(f"no metric sees {' or '.join(sees)}; {_seen(es)}")
        if unknown and NONE not in sees:
            shown = listed([f"'{name}'" for name in unknown], 5, rest="other")
            notes.append(f"sees: left out, since it is not known what they see: {shown}")
    if es.metrics and not kept:
        raise UsageError("no metric is left")
    if len(kept) == len(es.metrics) and not notes:
        return es
    es = es.select(scores=[name for name in es.scores if name in kept or name not in es.metrics])
    return replace(es, notes=(*es.notes, *notes)) if notes else es


def _sees(uses: Collection[str], what: str) -> bool:
    """Return whether a metric that uses some texts sees what is asked for."""
    references = set(uses) - {SRC}
    return {
        SRC: SRC in uses and not references,
        REF: bool(references),
        BOTH: SRC in uses and bool(references),
        NONE: not uses,
    }.get(what, what in references)


def _seen(es: EvalSet) -> str:
    """Say what the metrics of a set see."""
    counts = Counter(" and ".join(es[name].uses) or "not known" for name in es.metrics)
    return "they see: " + ", ".join(f"{what} ({n})" for what, n in sorted(counts.items()))
