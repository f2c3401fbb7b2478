"""What a metric is: something that scores the outputs of a set.

A metric of your own is a class with a ``score`` method. A package makes one known by an entry point
of the group ``steelyard.metrics``: its name is the name of the metric, its object a function or
class that takes the metric's options as keyword arguments and gives a :class:`Metric`::

    [project.entry-points."steelyard.metrics"]
    mine = "my_package:MyMetric"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import Parameter, signature
from typing import Any, Protocol, runtime_checkable

import numpy as np

from steelyard.core.errors import UsageError, hint, plain_word
from steelyard.core.provenance import InputFile
from steelyard.core.table import Table
from steelyard.data.evalset import EvalSet, ScoreTable, need_outputs
from steelyard.data.segments import Texts
from steelyard.stats.arrays import Floats

GROUP = "steelyard.metrics"

#: name: module:class; a module loads when its metric is asked for. Names that share a class pass it
#: their own name.
BUILT_IN = {
    "kobe": "steelyard.scoring.fidelity:Kobe",
    "kobe-ref": "steelyard.scoring.fidelity:KobeRef",
    "m-eta": "steelyard.scoring.goldnames:GoldNames",
    "bleu": "steelyard.scoring.surface:SurfaceMetric",
    "chrf": "steelyard.scoring.surface:SurfaceMetric",
    "chrf++": "steelyard.scoring.surface:SurfaceMetric",
    "ter": "steelyard.scoring.surface:SurfaceMetric",
    "eed": "steelyard.scoring.edit:Eed",
    "character": "steelyard.scoring.edit:Character",
}
#: Words in the names of metrics that are computed elsewhere: their scores come in.
ELSEWHERE = frozenset(
    ("comet", "cometkiwi", "cometinho", "cometoid", "xcomet", "bleurt", "bertscore", "bert",
     "bartscore", "metricx", "gemba", "geval", "gpt", "llm", "yisi", "prism", "moverscore", "unite",
     "rouge", "meteor", "sescore", "instructscore", "blaser")
)  # fmt: skip
#: Other names that people have for metrics (as core.errors.plain_word gives them).
OTHER_NAMES = {
    **dict.fromkeys(("sacrebleu", "sentence-bleu", "corpus-bleu", "spbleu"), "bleu"),
    **dict.fromkeys(("chrf2", "chr-f", "sentence-chrf"), "chrf"),
    **dict.fromkeys(("chrfpp", "chrf2++", "chrf-plus-plus"), "chrf++"),
    **dict.fromkeys(("translation-edit-rate", "hter"), "ter"),
    **dict.fromkeys(("characters", "cter"), "character"),
    **dict.fromkeys(("knowledge", "entities", "entity-recall"), "kobe"),
    "meta": "m-eta",
}

Distance = Callable[[Sequence[tuple[str, str]]], Floats]


class Report(Protocol):
    """What a metric tells beside scores."""

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""

    def sentence(self) -> str:
        """Give what it found in a sentence, which may be empty."""

    def details(self) -> tuple[Table, ...]:
        """Give all tables."""

    def jsonl(self) -> Iterator[str]:
        """Give lines of JSON, with what it has to say of each segment."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a metric gives: the scores, what exactly they are in a line, and what to say of them.

    A ``report`` has more to tell than scores; ``inputs`` are files that were read beside the set's.
    """

    table: ScoreTable
    signature: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    report: Report | None = None
    inputs: tuple[InputFile, ...] = ()


@runtime_checkable
class Metric(Protocol):
    """A metric, with all its settings made; ``name`` is what its scores are called."""

    @property
    def name(self) -> str:
        """The name of the scores."""

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score the outputs of a set against these references; None: against its only one."""


def output_rows(es: EvalSet) -> list[Texts]:
    """Give the outputs of every system, all None for a system without any; none at all is an error.

    Examples
    --------
    >>> from steelyard import Segments
    >>> output_rows(EvalSet(("A", "B"), Segments(("1",)), outputs={"A": ("so",)}))
    [('so',), (None,)]
    """
    need_outputs(es)
    blank: Texts = (None,) * es.n_segments
    return [es.outputs.get(system, blank) for system in es.systems]


def chosen_references(es: EvalSet, names: Sequence[str] | None) -> tuple[str, ...]:
    """Check names of references; a set with one reference needs none named."""
    if isinstance(names, str):
        raise UsageError(f"expected a list of names of references, got the string '{names}'")
    if names is None and len(es.references) == 1:
        return es.references
    if not names:
        known = ", ".join(es.references)
        raise UsageError(
            f"the set has several references ({known}): name those to use"
            if es.references
            else "the set has no reference to compare outputs with"
        )
    for name in names:
        if name not in es.references:
            raise UsageError(f"no reference named '{name}'; {hint(name, es.references)}")
    return tuple(dict.fromkeys(names))


def target_language(language_pair: str | None) -> str | None:
    """Give the second language of a pair.

    Examples
    --------
    >>> target_language("en-zh_CN"), target_language(None)
    ('zh', None)
    """
    parts = (language_pair or "").split("-", 1)
    return re.split("[-_]", parts[1])[0].lower() if len(parts) == 2 else None


def nearest(es: EvalSet, references: Sequence[str], distance: Distance) -> Floats:
    """Measure every output against every reference, each different pair once, and keep the least.

    Gives systems x segments, NaN where the output or all references are missing.

    Examples
    --------
    >>> from steelyard import Segments
    >>> segments = Segments(("1", "2"), references={"a": ("xx", "x"), "b": ("x", None)})
    >>> es = EvalSet(("A",), segments, outputs={"A": ("x", "xxx")})
    >>> gap = lambda pairs: np.array([abs(len(x) - len(y)) for x, y in pairs])
    >>> nearest(es, ["a", "b"], gap).tolist()
    [[0.0, 2.0]]
    """
    cells: dict[tuple[str, str], list[tuple[int, int]]] = {}
    columns = [es.segments.references[name] for name in references]
    for i, texts in enumerate(output_rows(es)):
        for j, text in enumerate(texts):
            for column in columns:
                reference = column[j]
                if text is not None and reference is not None:
                    cells.setdefault((text, reference), []).append((i, j))
    values = np.full((es.n_systems, es.n_segments), np.inf)
    for where, value in zip(cells.values(), distance(list(cells)).tolist(), strict=True):
        for cell in where:
            values[cell] = min(values[cell], value)
    return np.where(np.isinf(values), np.nan, values)


# -- metrics by name


def metric_names() -> list[str]:
    """Name the metrics there are: those built in, then those of other packages.

    Examples
    --------
    >>> metric_names()[:4]
    ['kobe', 'kobe-ref', 'm-eta', 'bleu']
    """
    return [*BUILT_IN, *sorted(set(_added()) - set(BUILT_IN))]


def _added() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def make_metric(name: str, options: Mapping[str, Any] | None = None) -> Metric:
    """Make a metric from its name and its options.

    Examples
    --------
    >>> make_metric("bleu", {"tokenize": "intl"}).name
    'bleu'
    >>> make_metric("blue")
    Traceback (most recent call last):
    ...
    steelyard.core.errors.UsageError: unknown metric 'blue'; did you mean 'bleu'? Known: bleu, ...
    """
    if name in BUILT_IN:
        module, _, kind = BUILT_IN[name].partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), kind)
        if kind == "SurfaceMetric":
            factory = partial(factory, name)
    else:
        added = _added()
        if name not in added:
            raise UsageError(f"unknown metric '{name}'; {_instead(name)}")
        try:
            factory = added[name].load()
        except (ImportError, AttributeError) as error:
            value = added[name].value
            raise UsageError(f"metric '{name}' can't be loaded from {value}: {error}") from error
    _check(name, factory, options or {})
    metric = factory(**(options or {}))
    if not isinstance(metric, Metric):
        raise UsageError(f"metric '{name}': a {type(metric).__name__} has no name and score method")
    return metric


def _instead(name: str) -> str:
    """Say what there is in the place of a metric that nobody here computes."""
    if any(word.rstrip("0123456789") in ELSEWHERE for word in plain_word(name).split("-")):
        return (
            "it is computed elsewhere: read its scores as a table, run it by "
            f'Command.parse("{name}", LINE) of steelyard.scoring.external, or install a package '
            f"that adds it; known here: {', '.join(sorted(metric_names()))}"
        )
    return hint(name, metric_names(), OTHER_NAMES)


def _check(name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    parameters = signature(factory).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values()):
        return  # it checks them itself
    for option in options:
        if option not in parameters:
            known = hint(option, parameters) if parameters else "it has none"
            raise UsageError(f"{name} has no option '{option}'; {known}")
