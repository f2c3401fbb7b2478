"""From an EvalSet or judgements to a file: the format by name or by the file's suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steelyard.core import bounds
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.formats.entityfiles import EntityAnnotations
from steelyard.formats.registry import FORMATS

#: The formats of sets, by what ``to`` calls them.
NAMED = {form.to: form for form in FORMATS if form.to is not None}


def _any(test: Callable[[ScoreTable], bool]) -> Callable[[EvalSet], bool]:
    return lambda es: any(test(table) for table in es.scores.values())


#: What a format may have no place for, and how to tell whether a set has it.
LOSSES: dict[str, Callable[[EvalSet], bool]] = {
    "texts": lambda es: bool(es.segments.sources or es.segments.references or es.outputs),
    "scores": lambda es: bool(es.scores),
    "segment scores": _any(lambda t: t.has_segments),
    "human scores": lambda es: bool(es.human),
    "official system scores": _any(lambda t: t.system_scores is not None),
    "stored domain and document scores": _any(
        lambda t: t.domain_scores is not None or t.document_scores is not None
    ),
    "which scores are better when lower": _any(lambda t: not t.higher_is_better),
    "ratings": lambda es: bool(es.ratings),
    "which scores are human": lambda es: bool(es.human),
    "scores without any value": _any(lambda t: not t.has_segments and t.system_scores is None),
    "segment ids": lambda es: es.segments.ids != tuple(str(i) for i in range(es.n_segments)),
    "names of metrics that do not say what they see": lambda es: any(
        not es[n].uses or not n.endswith("-" + ".".join(es[n].uses)) for n in es.metrics
    ),
    "statistics of corpus scores": _any(lambda t: t.statistics is not None),
}


def save(
    value: EvalSet | Ratings | Rankings | BattleLog | EntityAnnotations,
    path: str | Path,
    *,
    to: str | None = None,
    overwrite: bool = False,
) -> list[str]:
    """Write a set or judgements, whole or not at all; gives back what the format had no place for.

    ``to`` is one of ``native mtme long wide system text submission submission-sys
    subset2evaluate``; by default the suffix decides: a folder is mt-metrics-eval, ``.parquet``
    native, other tables are long.
    """
    bounds.instance((str, Path), "a path", path=path)
    saved = tuple({form.gives for form in FORMATS})
    bounds.instance(saved, "an EvalSet or judgements", value=value)
    bounds.choice(tuple(NAMED), optional=True, to=to)
    bounds.flag(overwrite=overwrite)
    path = Path(path)
    if to is None or not isinstance(value, EvalSet):
        own = (form for form in FORMATS if isinstance(value, form.gives))
        form = next(form for form in own if form.suits(value, path))
    else:
        form = NAMED[to]
    assert form.write is not None  # only these are named, or suit
    form.write(value, path, **({"overwrite": overwrite} if form.folder else {}))
    if not isinstance(value, EvalSet):
        return []
    # No file keeps the statistics; whatever drops all scores need not say so.
    drops = form.drops if "scores" in form.drops else (*form.drops, "statistics of corpus scores")
    return [what for what in drops if LOSSES[what](value)]
