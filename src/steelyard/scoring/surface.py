"""BLEU, chrF, chrF++ and TER: sacreBLEU takes the statistics of the texts, once.

Everything after that works on the statistics: corpus scores, sentence scores, any resample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import MissingDependencyError, ShapeError, UsageError, hint
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.scoring.formulas import Bleu, Chrf, Ter
from steelyard.scoring.metric import Scored, chosen_references, output_rows, target_language
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.corpus import CorpusStatistics

SURFACE_METRICS = ("bleu", "chrf", "chrf++", "ter")
LOWER_IS_BETTER = frozenset({"ter"})
_OURS = ("references", "trg_lang", "force")  # arguments of sacreBLEU that are set here


def corpus_statistics(
    name: str,
    outputs: Sequence[Sequence[str | None]],
    references: Sequence[Sequence[str | None]],
    *,
    target: str | None = None,
    **options: Any,
) -> CorpusStatistics:
    """Take the statistics of outputs against references with sacreBLEU.

    Parameters
    ----------
    name
        ``bleu``, ``chrf``, ``chrf++`` or ``ter``.
    outputs
        A list of texts per system, None where an output is missing.
    references
        A list of texts per reference, None where a segment has none. A segment without any
        reference is missing. Where an output is equally near to two references, chrF takes the
        lengths of the first: their order may matter in the third decimal.
    target
        Language of the outputs: BLEU then splits Chinese, Japanese and Korean as sacreBLEU does for
        them, and any other language by ``13a``.
    options
        What sacreBLEU's ``BLEU``, ``CHRF`` or ``TER`` takes: ``tokenize``, ``lowercase``, ...

    Examples
    --------
    >>> stats = corpus_statistics("bleu", [["the cat sat on the mat"]], [["the cat is on the mat"]])
    >>> stats.values.tolist()
    [[[6.0, 6.0, 5.0, 3.0, 1.0, 0.0, 6.0, 5.0, 4.0, 3.0]]]
    >>> stats.corpus_scores().round(2).tolist(), stats.signature
    ([37.99], 'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...')
    """
    lengths = {len(texts) for texts in (*outputs, *references)}
    if not references or len(lengths) > 1:
        raise ShapeError(f"{len(references)} references, texts of lengths {sorted(lengths)}")
    scored = [i for i, texts in enumerate(zip(*references, strict=True)) if set(texts) != {None}]
    metric = _metric(name, [[texts[i] for i in scored] for texts in references], target, options)
    formula = _formula(metric)
    values = np.full((len(outputs), lengths.pop(), formula.width), np.nan)
    for segment, reference in zip(scored, metric._ref_cache, strict=True):
        found: dict[str, list[float]] = {}  # systems often agree on short segments
        for system, texts in enumerate(outputs):
            text = texts[segment]
            if text is None:
                continue
            if text not in found:
                prepared = metric._preprocess_segment(text)
                found[text] = metric._compute_segment_statistics(prepared, reference)
            values[system, segment] = found[text]
    return CorpusStatistics(
        values,
        formula,
        higher_is_better=name not in LOWER_IS_BETTER,
        signature=str(metric.get_signature()),
    )


def sentence_scores(stats: CorpusStatistics) -> Floats:
    """Score every output by itself, systems x segments; BLEU with effective order.

    Examples
    --------
    >>> stats = corpus_statistics("bleu", [["a cat", "a dog", None]], [["a cat", "the cat", "so"]])
    >>> sentence_scores(stats).round(2).tolist()
    [[100.0, 0.0, nan]]
    """
    formula = stats.combine
    if isinstance(formula, Bleu):
        formula = replace(formula, effective_order=True)
    return np.where(stats.known, formula(stats.values), np.nan)


def surface_table(
    es: EvalSet,
    name: str,
    references: Sequence[str] | None = None,
    *,
    target: str | None = None,
    **options: Any,
) -> ScoreTable:
    """Score the outputs of a set: sentence scores, corpus scores, and the statistics behind them.

    ``references`` are names of references of the set; a set with one needs none named. ``target``
    is by default the second language of the set's pair. Systems without outputs are missing. See
    :func:`corpus_statistics` for the rest; the table goes into the set by
    :meth:`~steelyard.EvalSet.with_scores`.

    Examples
    --------
    >>> from steelyard import EvalSet, Segments
    >>> segments = Segments(("1", "2"), references={"refA": ("a cat", "two dogs")})
    >>> es = EvalSet(("A", "B"), segments, outputs={"A": ("a cat", "dogs"), "B": ("cat", "a dog")})
    >>> table = surface_table(es, "chrf")
    >>> table.values.round(1).tolist(), table.system_means().round(1).tolist(), table.uses
    ([[100.0, 48.6], [68.9, 26.7]], [64.4, 35.1], ('refA',))
    """
    rows = output_rows(es)
    chosen = chosen_references(es, references)
    stats = corpus_statistics(
        name,
        rows,
        [es.segments.references[reference] for reference in chosen],
        target=target or target_language(es.language_pair),
        **options,
    )
    return ScoreTable(
        sentence_scores(stats),
        higher_is_better=stats.higher_is_better,
        uses=chosen,
        system_scores=stats.corpus_scores(),
        statistics=stats,
        direction_given=True,
    )


@dataclass(frozen=True, slots=True)
class SurfaceMetric:
    """One of sacreBLEU's metrics with its options; see :func:`corpus_statistics` for both."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __init__(self, name: str, **options: Any) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "options", options)

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score every output and every system, from the same statistics."""
        table = surface_table(es, self.name, references, **self.options)
        assert table.statistics is not None
        return Scored(table, table.statistics.signature)


def with_surface_metrics(
    es: EvalSet, names: Sequence[str], references: Sequence[str] | None = None
) -> EvalSet:
    """Score the outputs of a set by several metrics, which get names like ``bleu-refA``."""
    for name in names:
        table = surface_table(es, name, references)
        full = f"{name}-{'.'.join(table.uses)}"
        if full in es.scores:
            raise UsageError(f"there is a score '{full}' already")
        es = es.with_scores(full, table)
    return es


def _metric(
    name: str, references: list[list[str | None]], target: str | None, options: dict[str, Any]
) -> Any:
    """Make the metric of sacreBLEU, which reads the references once for all systems."""
    from sacrebleu import BLEU, CHRF, TER

    if name not in SURFACE_METRICS:
        raise UsageError(f"unknown metric '{name}'; {hint(name, SURFACE_METRICS)}")
    kind: Any = {"bleu": BLEU, "ter": TER}.get(name, CHRF)
    allowed = [key for key in signature(kind).parameters if key not in _OURS]
    for key in options:
        if key not in allowed:
            raise UsageError(f"{name} has no option '{key}'; {hint(key, allowed)}")
    _check_options(options)
    limited = {"tokenize": BLEU.TOKENIZERS, "smooth_method": BLEU.SMOOTH_DEFAULTS}
    for key, values in limited.items():
        if options.get(key) is not None and options[key] not in values:
            raise UsageError(f"{key} of {name} is '{options[key]}'; {hint(options[key], values)}")
    fixed: dict[str, Any] = {"trg_lang": target or ""} if name == "bleu" else {}
    if name == "chrf++":
        fixed["word_order"] = 2
    try:
        return kind(references=references, **{**fixed, **options})
    except (ImportError, RuntimeError) as error:  # a tokenizer that needs more
        raise MissingDependencyError(" ".join(str(error).split())) from error


def _check_options(options: Mapping[str, Any]) -> None:
    """Refuse what sacreBLEU would compute nonsense with, or fail on."""
    for key, value in options.items():
        given = {key: value}
        if key in ("max_ngram_order", "char_order"):
            bounds.whole(1, **given)
        elif key == "word_order":
            bounds.whole(**given)
        elif key == "beta":
            bounds.number(0, strict=True, **given)
        elif key == "smooth_value":
            bounds.number(0, optional=True, **given)
        elif key in ("tokenize", "smooth_method"):
            bounds.text(optional=True, **given)
        else:
            bounds.flag(**given)


def _formula(metric: Any) -> Bleu | Chrf | Ter:
    """Find the formula with the settings of a metric of sacreBLEU."""
    kind = type(metric).__name__
    if kind == "BLEU":
        default = metric.SMOOTH_DEFAULTS[metric.smooth_method] or 0.0
        value = default if metric.smooth_value is None else metric.smooth_value
        return Bleu(
            metric.max_ngram_order, metric.smooth_method, float(value), metric.effective_order
        )
    return Chrf(metric.order, metric.beta, metric.eps_smoothing) if kind == "CHRF" else Ter()
