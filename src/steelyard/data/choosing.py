"""Which metrics are meant: by name, by a pattern of names, or by what they see.

A name of a metric stands for itself, whatever it is made of. Any other that holds ``*``, ``?`` or
``[...]`` is a pattern as of a shell, and stands for all metrics that it matches; human scores are
chosen by their names alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from fnmatch import fnmatchcase

from steelyard.core.errors import UsageError, hint
from steelyard.core.text import listed
from steelyard.data.evalset import EvalSet
from steelyard.stats.arrays import check_size

SRC, REF, BOTH, NONE = "src", "ref", "both", "none"
_PATTERN = "*?["
_LISTED = 5


def matching(asked: str, names: Collection[str], every: Iterable[str] | None = None) -> list[str]:
    """Give the names that one name or pattern stands for, none if it stands for nothing.

    A pattern is matched with ``names``, a name also with ``every``. A name in another case stands
    for the only one that is alike.

    Examples
    --------
    >>> names = ["BLEU-refA", "COMET-refA", "COMET-src", "x[1]"]
    >>> matching("*-refA", names), matching("x[1]", names), matching("bleu-refa", names)
    (['BLEU-refA', 'COMET-refA'], ['x[1]'], ['BLEU-refA'])
    """
    known = list(names if every is None else every)
    if asked in known:
        return [asked]
    if any(sign in asked for sign in _PATTERN):
        return sorted(name for name in names if fnmatchcase(name, asked))
    alike = [name for name in known if name.casefold() == asked.casefold()]
    return alike if len(alike) == 1 else []


def need_moments(es: EvalSet, names: Iterable[str]) -> None:
    """Refuse scores whose moments leave the range of numbers: statistics of them would be wrong."""
    for name in names:
        table = es[name]
        for scores in (table.values, table.system_scores):
            if scores is not None:
                check_size(f"scores of '{name}'", scores)


def chosen_metrics(es: EvalSet, asked: Iterable[str], *, human: str | None = None) -> list[str]:
    """Give the metrics of a set that names and patterns stand for, sorted, without the human score.

    Examples
    --------
    >>> import steelyard as sy
    >>> chosen_metrics(sy.demo_set(), ["l*-refA", "chars-refA"])
    ['chars-refA', 'learned-refA', 'learned-twin-refA']
    """
    metrics = [name for name in es.metrics if name != human]
    found: set[str] = set()
    for one in asked:
        names = matching(one, metrics, es.scores)
        if not names:
            what = "metric matches" if any(sign in one for sign in _PATTERN) else "metric"
            raise UsageError(f"no {what} '{one}'; {hint(one, es.scores)}")
        found.update(names)
    return sorted(found - {human})


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
        kept = {name for name in kept if any(_sees(es[name].uses, one) for one in sees)}
        if not kept:
            raise UsageError(f"no metric sees {' or '.join(sees)}; {_seen(es)}")
        if unknown and NONE not in sees:
            shown = listed([f"'{name}'" for name in unknown], _LISTED, rest="other")
            notes.append(f"sees: left out, since it is not known what they see: {shown}")
    if es.metrics and not kept:
        raise UsageError("no metric is left")
    if len(kept) == len(es.metrics) and not notes:
        return es
    es = es.select(scores=[name for name in es.scores if name in kept or name not in es.metrics])
    return replace(es, notes=(*es.notes, *notes)) if notes else es


def _sees(uses: Collection[str], what: str) -> bool:
    """Tell whether a metric that uses some texts is one that is asked for.

    Examples
    --------
    >>> _sees(("src",), "src"), _sees(("refA", "src"), "src"), _sees(("all",), "ref")
    (True, False, True)
    >>> _sees(("refA", "src"), "both"), _sees((), "none"), _sees(("refA",), "refA")
    (True, True, True)
    """
    references = set(uses) - {SRC}
    if what == SRC:
        return SRC in uses and not references
    if what == BOTH:
        return SRC in uses and bool(references)
    if what == NONE:
        return not uses
    return bool(references) if what == REF else what in references


def _seen(es: EvalSet) -> str:
    """Say what the metrics of a set see."""
    counts = Counter(" and ".join(es[name].uses) or "not known" for name in es.metrics)
    return "they see: " + ", ".join(f"{what} ({n})" for what, n in sorted(counts.items()))
