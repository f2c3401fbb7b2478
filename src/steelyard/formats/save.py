"""From an EvalSet or judgements to a file: the format by name or by the file's suffix."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import check_choice, check_flag, check_instance
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import BattleLog, Rankings, Ratings
from steelyard.formats.entities import EntityAnnotations
from steelyard.formats.format import Format
from steelyard.formats.judged import battles
from steelyard.formats.judged import ratings as directassessment
from steelyard.formats.registry import FORMATS

Saved = EvalSet | Ratings | Rankings | BattleLog | EntityAnnotations

#: The formats that are written, by what ``to`` calls them.
NAMED = {form.to: form for form in FORMATS if form.to is not None}


def _any(test: Callable[[ScoreTable], bool]) -> Callable[[EvalSet], bool]:
    return lambda es: any(test(table) for table in es.scores.values())


#: What a format may have no place for, and how to tell whether a set has it.
LOSSES: dict[str, Callable[[EvalSet], bool]] = {
    "texts": lambda es: bool(es.segments.sources or es.segments.references or es.outputs),
    "scores": lambda es: bool(es.scores),
    "segment scores": _any(lambda t: t.has_segments),
    "official system scores": _any(lambda t: t.system_scores is not None),
    "stored domain and document scores": _any(
        lambda t: t.domain_scores is not None or t.document_scores is not None
    ),
    "which scores are better when lower": _any(lambda t: not t.higher_is_better),
    "ratings": lambda es: bool(es.ratings),
    "which scores are human": lambda es: bool(es.human),
    "scores without any value": _any(lambda t: not t.has_segments and t.system_scores is None),
    "statistics of corpus scores": _any(lambda t: t.statistics is not None),
}


#: What a format that has no place for scores of whole systems drops.
_SYSTEM_SCORES = {"scores", "official system scores"}


def save(
    value: Saved,
    path: str | Path,
    *,
    to: str | None = None,
    human: str | None = None,
    anonymise_raters: bool = False,
) -> list[str]:
    """Write a set or judgements, whole or not at all; gives back what the format had no place for.

    ``to`` is one of ``native long system text`` for sets, or of ``errors ratings battles
    entities`` for judgements; by default the suffix decides: ``.parquet`` is
    native, other tables are long. ``human`` names the ratings to write, where a set
    has several. With ``anonymise_raters`` raters are called rater1, rater2, ...
    """
    check_instance((str, Path), "a path", path=path)
    saved = tuple({form.gives for form in FORMATS})
    check_instance(saved, "an EvalSet or judgements", value=value)
    check_choice(tuple(NAMED), optional=True, to=to)
    check_flag(anonymise_raters=anonymise_raters)
    check_instance(str, "the name of ratings", optional=True, human=human)
    path = Path(path)
    if anonymise_raters:
        value, _ = anonymous(value)
    fitting = (form for form in FORMATS if isinstance(value, form.gives))
    form = NAMED[to] if to else next((f for f in fitting if f.suits(value, path)), battles.FORMAT)
    held = _held(value, form, human)
    assert form.write is not None  # only these are named, or suit
    if isinstance(held, EvalSet) and not held.n_segments and _SYSTEM_SCORES & {*form.drops}:
        raise UsageError(
            f"{path}: the set has scores of whole systems but no segments, and a file of form "
            f'{form.to} holds segments; to="system" holds these scores'
        )
    form.write(held, path)
    if isinstance(held, Ratings):
        lost = held.errors is not None and form is directassessment.FORMAT
        return _lost(value, ("texts", "scores")) + (["marked errors"] if lost else [])
    if not isinstance(value, EvalSet):
        return []
    # No file keeps the statistics; whatever drops all scores need not say so.
    drops = form.drops if "scores" in form.drops else (*form.drops, "statistics of corpus scores")
    return _lost(value, drops)


def _lost(value: Saved, drops: Collection[str]) -> list[str]:
    return [what for what in drops if isinstance(value, EvalSet) and LOSSES[what](value)]


def _held(value: Saved, form: Format, human: str | None) -> Saved:
    """Give what a format holds of a value: the ratings of a set, the battles of rankings."""
    if isinstance(value, form.gives):
        return value
    if isinstance(value, EvalSet) and form.gives is Ratings:
        name = human or next(iter(value.ratings), "")
        if name not in value.ratings or (human is None and len(value.ratings) > 1):
            choices = hint(name, value.ratings) if value.ratings else "the set has none"
            raise UsageError(f"name the ratings to write (human=NAME); {choices}")
        return value.ratings[name]
    if isinstance(value, Rankings) and form.gives is BattleLog:
        return battles.unfolded(value)
    kind = type(value).__name__
    raise UsageError(f'to="{form.to}" is for {form.gives.__name__}, and this is {kind}')


def anonymous(value: Saved) -> tuple[Saved, dict[str, str]]:
    """Call the raters rater1, rater2, ... in the order of their names; give the key to these, too.

    A rater of several ratings of a set has the same name in all.
    """
    names: list[str] = []
    if isinstance(value, EvalSet):
        names = sorted({name for ratings in value.ratings.values() for name in ratings.raters})
    elif isinstance(value, (Ratings, Rankings)):
        names = sorted(value.raters)
    if not names:
        raise UsageError("anonymise_raters=True: the input names no raters")
    key = {f"rater{number}": name for number, name in enumerate(names, 1)}
    new = {name: other for other, name in key.items()}
    if isinstance(value, EvalSet):
        renamed = {name: held.renamed_raters(new) for name, held in value.ratings.items()}
        return replace(value, ratings=renamed), key
    assert isinstance(value, (Ratings, Rankings))
    return value.renamed_raters(new), key
