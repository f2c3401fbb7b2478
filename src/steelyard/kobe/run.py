"""KoBE of an evaluation set: link, filter, match, and say what it means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from steelyard.core.errors import DegenerateError, UsageError
from steelyard.core.options import as_list, check_instance, check_text
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats.load import Source, as_evalset
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.explaining import missed_by_all
from steelyard.kobe.findings import CategoryRecall, KobeReport, SystemEntities, ranked
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.linker import (
    Outputs,
    Pair,
    chosen_linker,
    link_set,
    of_base,
    that_count,
)
from steelyard.kobe.matching import (
    Kobe,
    Mask,
    Matches,
    Pairs,
    consensus_weights,
    match,
    pair_all,
    segment_scores,
    statistics,
)
from steelyard.kobe.mention import LinkedTexts, Linker, Mention, Mentions
from steelyard.kobe.options import KobeOptions
from steelyard.kobe.shown import ShownAlarms, Unexplained
from steelyard.stats.permutation.corpus import CorpusStatistics

_COVERAGE = 0.5  # of segments with entities, below which a score stands on little
_RATIO = 1.8  # mentions of outputs to those of the source, near where the penalty begins
_NOISE = 2.0  # percent of recall
_CEILING = (
    80.0  # percent of a group that a human translation keeps, below which the linker misses much
)
_COMMON = 20  # entities of a group that its recall can be told by


def kobe_metric(
    es: Source,
    src: str | None,
    tgt: str | None,
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
        Codes of the languages; None only with ``options.links``, which need none.
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
        The scores in words, by category, and what was lost or added.
    """
    check_instance(KobeOptions, "KobeOptions", optional=True, options=options)
    options, es = options or KobeOptions(), as_evalset(es)
    annotated = options.links is not None or isinstance(linker, AnnotatedLinker)
    options = options.settled(linked=annotated)
    if not annotated or options.language_filter != "off":  # or else nobody asks for languages
        check_text(src=src, tgt=tgt)
        src, tgt = normalise(str(src)), normalise(str(tgt))
    linker = chosen_linker(options, kb, linker, es.language_pair)
    linked = link_set(es, (src, tgt), options, linker)
    return _assemble(es, linked, (src, tgt), options, linker)


def _assemble(
    es: EvalSet, linked: LinkedTexts, pair: Pair, options: KobeOptions, linker: Linker
) -> tuple[ScoreTable, KobeReport]:
    compared = pair if options.against == "src" else (pair[1], pair[1])
    matched = match_all(linked.source_mentions, dict(linked.output_mentions), options)
    matches = matched.counted.of(es.systems)
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
    ceilings = statistics(matched.counted.of(linked.references), formula)
    systems = ranked(_system_rows(es.systems, stats, linked.filtered))
    systems += _system_rows(linked.references, ceilings, linked.filtered, is_reference=True)
    loose, scored = matched.loose, matched.scored
    missed = missed_by_all(loose, linked.references)
    unexplained = Unexplained(
        linked, linker, compared, matched.pairs, _by_segment(loose, missed),
        one_language=options.against != "src" or (pair[0] is not None and pair[0] == pair[1]),
    )  # fmt: skip
    n_missing = sum(text is None for text in linked.sources)
    said = linker.said() if isinstance(linker, AnnotatedLinker) else ()
    report = KobeReport(
        src=pair[0],
        tgt=pair[1],
        against=options.against,
        signature=signature,
        systems=tuple(systems),
        categories=_recalls(scored, lambda mention: mention.category),
        groups=_recalls(scored, group_of),
        n_segments=matches.n_segments - n_missing,
        n_without_entities=matches.n_without_entities - n_missing,
        n_source_entities=len(matches.mention),
        n_missed=int(missed.sum()),
        counted=options.counted,
        measure=options.measure,
        shown=ShownAlarms(unexplained),
    )
    return table, replace(report, warnings=(*entity_warnings(report, n_missing), *said))


class Matched(NamedTuple):
    """The mentions of texts, matched for what is made of them.

    ``counted`` is what the score counts, by the matching that it asks for. By any reading:
    ``loose``, all mentions, which alarms look at (``pairs`` are its pairs); ``scored``, those of
    them that the score counts, which recall by group is made of.
    """

    counted: Matches
    loose: Matches
    scored: Matches
    pairs: dict[str, list[Pairs]]


def match_all(sources: tuple[Mentions, ...], outputs: Outputs, options: KobeOptions) -> Matched:
    """Match mentions once by any reading, and once as the score asks for, where that differs."""
    wanted, there = that_count(sources, outputs, options.link)
    pairs = pair_all(sources, outputs)
    loose = match(sources, outputs, pairs=pairs)
    if wanted is sources:
        scored, known = loose, pairs if options.matching == "candidates" else None
    else:
        # Names that no base knows share no reading with what it knows: without them, the others
        # are paired as they were.
        scored, known = loose.only(of_base), None
    return Matched(match(wanted, there, options.matching, known), loose, scored, pairs)


def _by_segment(matches: Matches, missed: Mask) -> list[set[int]]:
    """Give the places of mentions that nobody keeps; terms are wanted all the same."""
    found: list[set[int]] = [set() for _ in range(matches.n_segments)]
    for at in np.flatnonzero(missed).tolist():
        if matches.mention[at].group != "term":
            found[int(matches.segment[at])].add(matches.place[at])
    return found


def group_of(mention: Mention) -> str:
    """Name the group of a mention, or its category where it belongs to none."""
    return mention.category if mention.group == "other" else mention.group


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


def _recalls(matches: Matches, key: Callable[[Mention], str]) -> tuple[CategoryRecall, ...]:
    """Give recall by whatever mentions are sorted by, the commonest first."""
    keys = [key(mention) for mention in matches.mention]
    counts = Counter(keys)
    names = sorted(counts, key=lambda c: (-counts[c], c))
    places = {name: at for at, name in enumerate(names)}
    index = np.array([places[one] for one in keys], dtype=np.int64)
    there = matches.known[:, matches.segment]
    kept = np.stack([np.bincount(index, k, minlength=len(names)) for k in matches.kept * there])
    wanted = np.stack([np.bincount(index, t, minlength=len(names)) for t in there])
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = 100 * kept / wanted
    return tuple(
        CategoryRecall(name, counts[name], dict(zip(matches.systems, own.tolist(), strict=True)))
        for name, own in zip(names, recall.T, strict=True)
    )


def entity_warnings(report: KobeReport, n_missing: int) -> tuple[str, ...]:
    """Say where a score stands on little; ``n_missing`` segments had nothing to compare with."""
    warnings = []
    if n_missing:
        take = "takes" if n_missing == 1 else "take"
        warnings.append(f"{plural(n_missing, 'segment')} without a {report.what} {take} no part")
    if report.coverage < _COVERAGE:
        warnings.append(
            f"only {report.coverage:.0%} of the segments have an entity: "
            "the score says nothing about the rest"
        )
    own = [s for s in report.systems if not s.is_reference and s.wanted]
    most = max(own, key=lambda s: s.found / s.wanted, default=None)
    if most is not None and most.found / most.wanted > _RATIO:
        warnings.append(
            f"outputs of '{most.system}' have {most.found / most.wanted:.1f} times the entities of "
            f"the {report.what}: the penalty for too many entities (from 2 on) is near or at work"
        )
    recalls = [s.recall for s in own if s.recall == s.recall]  # not NaN
    if len(recalls) > 1 and max(recalls) - min(recalls) < _NOISE:
        warnings.append(
            f"all systems lie within {max(recalls) - min(recalls):.1f} points of recall: entities "
            "can't rank them (look at what each one lost instead)"
        )
    return (*warnings, *_ceilings(report))


def _ceilings(report: KobeReport) -> list[str]:
    """Name groups of which even people keep little: the linker misses much there."""
    people = [s.system for s in report.systems if s.is_reference]
    found = []
    for group in report.groups:
        own = [(group.recall[name], name) for name in people if group.recall[name] >= 0]
        if own and group.wanted >= _COMMON and max(own)[0] < _CEILING:
            best, name = max(own)
            found.append(
                f"the human translation {name} keeps {best:.0f} of 100 in the group "
                f"'{group.category}': a ceiling, the linker misses much there"
            )
    return found


def _named(
    what: str, texts: Sequence[str] | Mapping[str, Sequence[str]], alone: str
) -> dict[str, Sequence[str]]:
    """Give texts by name; those of one system alone have none yet."""
    named = dict(texts) if isinstance(texts, Mapping) else {alone: texts}
    for name, own in named.items():
        check_text(name=name)
        as_list(str, **{what: own})
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
    as_list(str, sources=sources)
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
