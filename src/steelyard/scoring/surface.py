"""BLEU, chrF, chrF++ and TER: sacreBLEU takes the statistics of the texts, once.

Everything after that works on the statistics: corpus scores, sentence scores, any resample. The
formulas take (..., K) sums of statistics and give (...) scores, equal to those of sacreBLEU; they
are frozen and comparable, so that statistics that carry one can be compared and pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from steelyard.core.errors import MissingDependencyError, ShapeError, UsageError, hint
from steelyard.core.options import check_flag, check_number, check_text, check_whole
from steelyard.core.progress import each
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.scoring.metric import Scored, chosen_references, output_rows, target_language
from steelyard.stats.arrays import Floats
from steelyard.stats.permutation.corpus import CorpusStatistics

SURFACE_METRICS = ("bleu", "chrf", "chrf++", "ter")
#: What sacreBLEU would compute nonsense with otherwise, or fail on; all other options are flags.
_CHECKS: dict[str, Callable[..., Any]] = {
    "max_ngram_order": partial(check_whole, 1),
    "char_order": partial(check_whole, 1),
    "word_order": check_whole,
    "beta": partial(check_number, 0, strict=True),
    "smooth_value": partial(check_number, 0, optional=True),
    "tokenize": partial(check_text, optional=True),
    "smooth_method": partial(check_text, optional=True),
}
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
    for segment, reference in each(zip(scored, metric._ref_cache, strict=True)):
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
        higher_is_better=name != "ter",
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
    _need_known(name)
    rows = output_rows(es)
    chosen = chosen_references(es, references)
    stats = corpus_statistics(
        name,
        rows,
        [es.segments.references[reference] for reference in chosen],
        target=target or target_language(es.language_pair),
        **options,
    )
    return _table(stats, chosen)


def _table(stats: CorpusStatistics, uses: tuple[str, ...]) -> ScoreTable:
    return ScoreTable(
        sentence_scores(stats),
        higher_is_better=stats.higher_is_better,
        uses=uses,
        system_scores=stats.corpus_scores(),
        statistics=stats,
        direction_given=True,
    )


class SurfaceMetric:
    """One of sacreBLEU's metrics with its options; see :func:`corpus_statistics` for both."""

    def __init__(self, name: str, **options: Any) -> None:
        self.name, self.options = name, options

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Score every output and every system, from the same statistics."""
        table = surface_table(es, self.name, references, **self.options)
        assert table.statistics is not None
        return Scored(table, table.statistics.signature)


def _need_known(name: str) -> None:
    if name not in SURFACE_METRICS:
        raise UsageError(f"unknown metric '{name}'; {hint(name, SURFACE_METRICS)}")


def _metric(
    name: str, references: list[list[str | None]], target: str | None, options: dict[str, Any]
) -> Any:
    """Make the metric of sacreBLEU, which reads the references once for all systems."""
    from sacrebleu import BLEU, CHRF, TER

    _need_known(name)
    kind: Any = {"bleu": BLEU, "ter": TER}.get(name, CHRF)
    allowed = [key for key in signature(kind).parameters if key not in _OURS]
    for key in options:
        if key not in allowed:
            raise UsageError(f"{name} has no option '{key}'; {hint(key, allowed)}")
    for key, value in options.items():
        if key in _CHECKS:
            _CHECKS[key](**{key: value})
        else:
            check_flag(**{key: value})
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


# -- formulas of sums


@dataclass(frozen=True, slots=True)
class Bleu:
    """BLEU of (output length, reference length, matches of each order, n-grams of each order).

    ``smoothing`` is ``exp`` (an order without a match counts 1/2, the next such one 1/4, ...),
    ``floor`` (it counts ``value``), ``add-k`` (``value`` is added from the second order on) or
    ``none``. With ``effective_order`` orders longer than the output are left out, as is usual for
    single sentences; without it they make the score 0. No match at all is a score of 0.

    Examples
    --------
    >>> import numpy as np
    >>> Bleu()(np.array([10, 10, 8, 5, 3, 1, 10, 9, 8, 7])).round(6).item()
    39.281465
    """

    order: int = 4
    smoothing: str = "exp"
    value: float = 0.0
    effective_order: bool = False

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 2 + 2 * self.order

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        length, reference = sums[..., 0], sums[..., 1]
        matches, total = sums[..., 2 : 2 + self.order], sums[..., 2 + self.order :]
        none = ~(matches != 0).any(axis=-1)
        if self.smoothing == "add-k":
            extra = np.where(np.arange(self.order) > 0, self.value, 0.0)
            matches, total = matches + extra, total + extra
        live = np.logical_and.accumulate(total > 0, axis=-1)
        empty = live & (matches == 0)
        if self.smoothing == "exp":
            matches = np.where(empty, 0.5 ** np.cumsum(empty, axis=-1), matches)
        elif self.smoothing == "floor":
            matches = np.where(empty, self.value, matches)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(live, np.log(matches / total), 0.0).sum(axis=-1)
            penalty = np.where(length < reference, 1 - reference / length, 0.0)
            orders = live.sum(axis=-1) if self.effective_order else self.order
            score = 100 * np.exp(penalty + logs / orders)
        zero = none | (length <= 0) | ~(live[..., 0] if self.effective_order else live.all(axis=-1))
        return np.where(zero, 0.0, score)


@dataclass(frozen=True, slots=True)
class Chrf:
    """chrF of (n-grams of the output, of the reference, matches) for each order.

    ``order`` counts the orders of characters and words together. Orders that output or reference
    lack are left out, or count next to nothing with ``epsilon_smoothing``.

    Examples
    --------
    >>> import numpy as np
    >>> Chrf(order=2)(np.array([10, 12, 9, 9, 11, 6])).round(6).item()
    67.095772
    """

    order: int = 6
    beta: float = 2
    epsilon_smoothing: bool = False

    @property
    def width(self) -> int:
        """How many statistics there are."""
        return 3 * self.order

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        output, reference, matches = (sums[..., k::3] for k in range(3))
        factor = self.beta**2
        if self.epsilon_smoothing:
            tiny = 1e-16
            precision = _divide(matches, output, tiny)
            recall = _divide(matches, reference, tiny)
            f = _divide((1 + factor) * precision * recall, factor * precision + recall, tiny)
            mean: Floats = 100 * f.mean(axis=-1)
            return mean
        both = (output > 0) & (reference > 0)
        orders = both.sum(axis=-1)
        precision = _divide(np.where(both, _divide(matches, output), 0.0).sum(axis=-1), orders)
        recall = _divide(np.where(both, _divide(matches, reference), 0.0).sum(axis=-1), orders)
        return 100 * _divide((1 + factor) * precision * recall, factor * precision + recall)


@dataclass(frozen=True, slots=True)
class Ter:
    """TER of (edits, length of the reference). Edits of an empty reference make 100.

    Examples
    --------
    >>> import numpy as np
    >>> Ter()(np.array([[3, 12], [1, 0], [0, 0]])).tolist()
    [25.0, 100.0, 0.0]
    """

    width = 2  # statistics

    def __call__(self, sums: Floats) -> Floats:
        """Score sums of statistics."""
        edits, length = sums[..., 0], sums[..., 1]
        return 100 * np.where(length > 0, _divide(edits, length), (edits > 0).astype(np.float64))


def _divide(top: Floats, bottom: Floats, otherwise: float = 0.0) -> Floats:
    """Divide; a given number where there is nothing to divide by."""
    result: Floats = np.full_like(top, otherwise, dtype=np.float64)
    np.divide(top, bottom, out=result, where=bottom > 0)
    return result
