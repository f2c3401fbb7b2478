"""KoBE of an evaluation set: link, filter, match, and say what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from steelyard.core import bounds
from steelyard.core.errors import DegenerateError, UsageError, hint
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments, Texts
from steelyard.formats.load import Source, as_evalset
from steelyard.kobe.findings import (
    CategoryRecall,
    KobeReport,
    LinkedTexts,
    LostEntity,
    SystemEntities,
    ranked,
)
from steelyard.kobe.languages import LanguageFilter, normalise
from steelyard.kobe.matching import (
    Kobe,
    Matches,
    consensus_weights,
    match,
    segment_scores,
    statistics,
)
from steelyard.kobe.mention import Linker, Mentions
from steelyard.kobe.options import KobeOptions, LinkOptions
from steelyard.stats.permutation.corpus import CorpusStatistics

if TYPE_CHECKING:
    from steelyard.kobe.linking.linker import DictionaryLinker

_MOST_LOST = 50
_COVERAGE = 0.5  # of segments with entities, below which a score stands on little
_RATIO = 1.8  # mentions of outputs to those of the source, near where the penalty begins
_NOISE = 2.0  # percent of recall


def kobe_metric(
    es: Source,
    src: str,
    tgt: str,
    kb: object = None,
    options: KobeOptions | None = None,
    *,
    linker: Linker | None = None,
) -> tuple[ScoreTable, KobeReport]:
    """Score the outputs of a set by the entities that they keep.

    Parameters
    ----------
    es
        A set with outputs, and sources or the reference that ``options.against`` names.
    src, tgt
        Codes of the languages.
    kb
        A knowledge base, a folder that holds one, or None for the embedded one.
    options
        How the score is computed.
    linker
        What finds entities, in place of the linker of this package (then ``kb`` is not used).

    Returns
    -------
    ScoreTable
        Recall of each segment (NaN where there is nothing to keep), corpus scores, and the
        statistics behind them.
    KobeReport
        The scores in words, by category, and what was lost.
    """
    bounds.instance(KobeOptions, "KobeOptions", optional=True, options=options)
    if linker is not None and not callable(getattr(linker, "link", None)):
        raise bounds.fail("linker", "an object with a method 'link'", linker)
    bounds.text(src=src, tgt=tgt)
    es = as_evalset(es)
    options = options or KobeOptions()
    src, tgt = normalise(src), normalise(tgt)
    source_based = options.against == "src"
    wanted_lang, other = (src, tgt) if source_based else (tgt, tgt)
    texts = _compared(es, options.against)
    _check_outputs(es)
    linker = linker or make_linker(kb, options.link)
    source_mentions = link_texts(linker, texts, wanted_lang, other)
    # Texts of one language are compared with a reference as they are with a source.
    rows = {name: es.outputs[name] for name in es.systems if name in es.outputs}
    references = {
        f"{name} (reference)" if name in rows else name: own  # no system has that name
        for name, own in es.segments.references.items()
        if name != options.against
    }
    keep = LanguageFilter(src, tgt, options.language_filter)
    mentions, filtered = link_outputs(
        linker, keep, rows | references, tgt, src if source_based else tgt
    )
    linked = LinkedTexts(
        ids=es.segments.ids,
        sources=texts,
        source_mentions=source_mentions,
        outputs=rows | references,
        output_mentions=mentions,
        filtered=filtered,
    )
    return _assemble(es, linked, (src, tgt), options, linker)


def make_linker(kb: object, options: LinkOptions) -> DictionaryLinker:
    """Link by a knowledge base: an open one, the folder of one, or None for the embedded one."""
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.linking.linker import DictionaryLinker

    if isinstance(kb, (str, Path)):
        kb = KnowledgeBase.open(kb)
    if not (kb is None or isinstance(kb, KnowledgeBase)):
        raise UsageError(f"can't link with a {type(kb).__name__}: expected a knowledge base")
    return DictionaryLinker(kb, options)


def _compared(es: EvalSet, against: str) -> Texts:
    if against == "src":
        if es.segments.sources is None:
            raise UsageError("the set has no sources to find entities in; give a text file")
        return es.segments.sources
    if against not in es.references:
        raise UsageError(f"no reference named '{against}'; {hint(against, es.references)}")
    return es.segments.references[against]


def _check_outputs(es: EvalSet) -> None:
    if not es.outputs:
        raise UsageError("the set has no outputs to score; give a text file")
    for system, texts in es.outputs.items():
        if not any((text or "").strip() for text in texts):
            raise UsageError(f"all outputs of system '{system}' are empty")


def link_texts(
    linker: Linker, texts: Sequence[str | None], lang: str, other: str
) -> tuple[Mentions, ...]:
    """Find the mentions of texts; a missing one has none."""
    return tuple(linker.link([text or "" for text in texts], lang, other))


def link_outputs(
    linker: Linker,
    keep: LanguageFilter,
    rows: Mapping[str, Texts],
    lang: str,
    other: str,
) -> tuple[dict[str, tuple[Mentions | None, ...]], dict[str, int]]:
    """Link outputs, drop what is not in their language, and count such sentences."""
    linked: dict[str, tuple[Mentions | None, ...]] = {}
    filtered = {}
    for name, texts in rows.items():
        found = keep.apply(texts, link_texts(linker, texts, lang, other))
        linked[name] = tuple(
            None if text is None else own for text, own in zip(texts, found, strict=True)
        )
        filtered[name] = sum(text is not None and not keep.is_target(text) for text in texts)
    return linked, filtered


def _assemble(
    es: EvalSet, linked: LinkedTexts, pair: tuple[str, str], options: KobeOptions, linker: Linker
) -> tuple[ScoreTable, KobeReport]:
    found, sources = linked.output_mentions, linked.source_mentions
    blank: tuple[Mentions | None, ...] = (None,) * es.n_segments
    matches = match(sources, {s: found.get(s, blank) for s in es.systems}, options.matching)
    if not len(matches.mention):
        raise DegenerateError(
            "KoBE is undefined: no entity was found in any "
            f"{'source' if options.against == 'src' else 'reference'} (S = 0)"
        )
    weights = consensus_weights(matches) if options.weights == "consensus" else None
    signature = options.signature(linker, *pair)
    formula = Kobe(options.penalty, options.rounded, options.measure)
    stats = statistics(matches, formula, weights, signature)
    table = ScoreTable(
        segment_scores(stats),
        uses=(options.against,),
        system_scores=stats.corpus_scores(),
        statistics=stats,
    )
    references = {name: own for name, own in found.items() if name not in es.outputs}
    ceilings = statistics(match(sources, references, options.matching), formula)
    systems = ranked(_system_rows(es.systems, stats, linked.filtered))
    systems += _system_rows(tuple(references), ceilings, linked.filtered, is_reference=True)
    loose = match(sources, found, "candidates")
    report = KobeReport(
        src=pair[0],
        tgt=pair[1],
        against=options.against,
        signature=signature,
        systems=tuple(systems),
        categories=_categories(loose),
        lost=_lost(loose, set(es.outputs), linker),
        n_segments=matches.n_segments,
        n_without_entities=matches.n_without_entities,
        n_source_entities=len(matches.mention),
        warnings=entity_warnings(1 - matches.n_without_entities / matches.n_segments, systems),
        linked=linked,
        linker=linker,
    )
    return table, report


def _system_rows(
    names: Sequence[str],
    stats: CorpusStatistics,
    filtered: Mapping[str, int],
    *,
    is_reference: bool = False,
) -> list[SystemEntities]:
    if not names:
        return []
    sums = np.nansum(stats.values, axis=1)
    return [
        SystemEntities.of(name, score, own, filtered.get(name, 0), is_reference=is_reference)
        for name, score, own in zip(names, stats.corpus_scores(), sums, strict=True)
    ]


def _categories(matches: Matches) -> tuple[CategoryRecall, ...]:
    counts = Counter(m.category for m in matches.mention)
    names = sorted(counts, key=lambda c: (-counts[c], c))
    index = np.array([names.index(m.category) for m in matches.mention], dtype=np.int64)
    there = matches.known[:, matches.segment]
    kept = np.stack([np.bincount(index, k, minlength=len(names)) for k in matches.kept * there])
    wanted = np.stack([np.bincount(index, t, minlength=len(names)) for t in there])
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = 100 * kept / wanted
    return tuple(
        CategoryRecall(name, counts[name], dict(zip(matches.systems, own.tolist(), strict=True)))
        for name, own in zip(names, recall.T, strict=True)
    )


def _lost(matches: Matches, systems: set[str], linker: Linker) -> tuple[LostEntity, ...]:
    rows = [i for i, name in enumerate(matches.systems) if name in systems]
    there = matches.known[rows][:, matches.segment]
    lost = there & ~matches.kept[rows]
    entities: dict[object, list[int]] = {}
    for at, mention in enumerate(matches.mention):
        entities.setdefault(mention.id, []).append(at)
    found = []
    for places in entities.values():
        counts = zip(rows, lost[:, places].sum(axis=1).tolist(), strict=True)
        by_system = {matches.systems[row]: n for row, n in counts if n}
        if by_system:
            mention = matches.mention[places[0]]
            text = Counter(matches.mention[i].text for i in places).most_common(1)[0][0]
            found.append(
                LostEntity(
                    id=linker.name(mention.id),
                    text=text,
                    category=mention.category,
                    wanted=int(there[:, places].sum()),
                    lost=sum(by_system.values()),
                    by_system=by_system,
                )
            )
    found.sort(key=lambda e: (-e.lost, e.id))
    return tuple(found[:_MOST_LOST])


def entity_warnings(covered: float, systems: Sequence[SystemEntities]) -> tuple[str, ...]:
    """Say where a score stands on little; ``covered`` is the share of segments with entities."""
    warnings = []
    if covered < _COVERAGE:
        warnings.append(
            f"only {covered:.0%} of the segments have an entity: "
            "the score says nothing about the rest"
        )
    own = [s for s in systems if not s.is_reference and s.wanted]
    most = max(own, key=lambda s: s.found / s.wanted, default=None)
    if most is not None and most.found / most.wanted > _RATIO:
        warnings.append(
            f"outputs of '{most.system}' have {most.found / most.wanted:.1f} times the entities of "
            "the source: the penalty for too many entities (from 2 on) is near or at work"
        )
    recalls = [s.recall for s in own if s.recall == s.recall]  # not NaN
    if len(recalls) > 1 and max(recalls) - min(recalls) < _NOISE:
        warnings.append(
            f"all systems lie within {max(recalls) - min(recalls):.1f} points of recall: entities "
            "can't rank them (look at what each one lost instead)"
        )
    return tuple(warnings)


def _named(
    what: str, texts: Sequence[str] | Mapping[str, Sequence[str]], alone: str
) -> dict[str, Sequence[str]]:
    """Give texts by name; those of one system alone have none yet."""
    named = dict(texts) if isinstance(texts, Mapping) else {alone: texts}
    for name, own in named.items():
        bounds.text(name=name)
        bounds.items(str, **{what: own})
    return named


def score(
    sources: Sequence[str],
    outputs: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    src: str,
    tgt: str,
    references: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    kb: object = None,
    options: KobeOptions | None = None,
    linker: Linker | None = None,
) -> KobeReport:
    """Score translations by the entities of the source that they keep.

    Parameters
    ----------
    sources
        One text per segment.
    outputs
        Translations of one system, or of several by name.
    src, tgt
        Codes of the languages, such as ``de`` and ``en``.
    references
        Human translations: the ceiling, and what ``options.against`` may name (one without a name
        is ``ref``).
    kb, options, linker
        See :func:`kobe_metric`.

    Examples
    --------
    >>> import steelyard as sy  # doctest: +SKIP
    >>> report = sy.kobe.score(["Wien, 3. März"], ["Vienna, 4 March"], src="de", tgt="en")
    ... # doctest: +SKIP
    """
    bounds.items(str, sources=sources)
    named = _named("outputs", outputs, "system")
    refs = {} if references is None else _named("references", references, "ref")
    for what, texts in (("system", named), ("reference", refs)):
        for name, own in texts.items():
            if len(own) != len(sources):
                told = f"{len(own)} texts, the source has {len(sources)}"
                raise UsageError(f"{what} '{name}' has {told}")
    segments = Segments(
        tuple(str(i) for i in range(1, len(sources) + 1)),
        sources=tuple(sources),
        references={n: tuple(t) for n, t in refs.items()},
    )
    es = EvalSet(tuple(named), segments, outputs={n: tuple(t) for n, t in named.items()})
    return kobe_metric(es, src, tgt, kb, options, linker=linker)[1]
