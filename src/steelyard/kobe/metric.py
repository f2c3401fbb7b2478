"""KoBE of an evaluation set: link, filter, match and report; or write the links down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from steelyard.core.errors import DegenerateError, UsageError, hint
from steelyard.core.options import as_list, bad_value, check_instance, check_text
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments, Texts
from steelyard.formats.entities import SIDES, EntityAnnotations, EntityMention, Sentence
from steelyard.formats.load import Source, as_evalset
from steelyard.kobe.alarms import Explanation
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.linker import (
    Outputs,
    link_set,
    make_linker,
    of_base,
    reference_rows,
    that_count,
)
from steelyard.kobe.matching import (
    Kobe,
    Mask,
    Matches,
    Pairs,
    count_penalty,
    counting,
    match,
    pair_all,
    pair_strictly,
    segment_scores,
    statistics,
)
from steelyard.kobe.mention import LinkedTexts, Linker, Mention, Mentions
from steelyard.kobe.options import KobeOptions
from steelyard.kobe.report import (
    CategoryRecall,
    KobeReport,
    SystemEntities,
    entity_warnings,
)
from steelyard.stats.permutation.corpus import CorpusStatistics


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
        Human translations by name: the ceiling, and what ``options.against`` may name. A list
        without a name is ``ref``.
    kb, options, linker
        See :func:`kobe_metric`.

    Examples
    --------
    >>> import steelyard as sy  # doctest: +SKIP
    >>> report = sy.kobe.score(["Wien, 3. März"], ["Vienna, 4 March"], src="de", tgt="en")
    ... # doctest: +SKIP
    """
    as_list(str, sources=sources)
    systems = _by_name("outputs", outputs, "system")
    people = {} if references is None else _by_name("references", references, "ref")
    for what, rows in (("system", systems), ("reference", people)):
        for name, texts in rows.items():
            if len(texts) != len(sources):
                counts = f"{len(texts)} texts, the source has {len(sources)}"
                raise UsageError(f"{what} '{name}' has {counts}")
    ids = tuple(str(number) for number in range(1, len(sources) + 1))
    segments = Segments(ids, sources=tuple(sources), references=people)
    es = EvalSet(tuple(systems), segments, outputs=systems)
    return kobe_metric(es, src, tgt, kb, options, linker=linker)[1]


def _by_name(
    what: str, texts: Sequence[str] | Mapping[str, Sequence[str]], default: str
) -> dict[str, Texts]:
    named = dict(texts) if isinstance(texts, Mapping) else {default: texts}
    for name, row in named.items():
        check_text(name=name)
        as_list(str, **{what: row})
    return {name: tuple(row) for name, row in named.items()}


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
        A linker that was made before, with what it remembers (then ``kb`` is not used).

    Returns
    -------
    ScoreTable
        Recall of each segment (NaN where there is nothing to keep), corpus scores, and the
        statistics behind them.
    KobeReport
        The scores by category, and what was lost or added.
    """
    check_instance(KobeOptions, "KobeOptions", optional=True, options=options)
    options, es = options or KobeOptions(), as_evalset(es)
    annotated = options.links is not None or isinstance(linker, AnnotatedLinker)
    options = options.settled(linked=annotated)
    if not annotated or options.language_filter != "off":  # otherwise no language is needed
        check_text(src=src, tgt=tgt)
        src, tgt = normalise(str(src)), normalise(str(tgt))
    linker = _chosen_linker(options, kb, linker, es.language_pair)
    linked = link_set(es, (src, tgt), options, linker)
    matched = match_all(linked.source_mentions, dict(linked.output_mentions))
    matches = matched.counted.of(es.systems)
    if not len(matches.mention):
        what = "source" if options.against == "src" else "reference"
        raise DegenerateError(f"KoBE is undefined: no entity was found in any {what} (S = 0)")
    formula = Kobe(rounded=options.rounded)
    stats = statistics(matches, formula, options.signature(linker, src, tgt))
    table = ScoreTable(
        segment_scores(stats),
        uses=(options.against,),
        system_scores=stats.corpus_scores(),
        statistics=stats,
    )
    people = statistics(matched.counted.of(linked.references), formula)
    systems = _rows(es.systems, stats, linked)
    systems.sort(key=lambda s: (-s.score if s.score >= 0 else np.inf, s.system))
    n_missing = sum(text is None for text in linked.sources)
    report = KobeReport(
        src=src,
        tgt=tgt,
        against=options.against,
        signature=stats.signature,
        systems=(*systems, *_rows(linked.references, people, linked)),
        categories=_recalls(matched.loose),
        n_segments=matches.n_segments - n_missing,
        n_without_entities=int((matches.wanted == 0).sum()) - n_missing,
        n_source_entities=len(matches.mention),
        n_missed=int(missed_by_all(matched.loose, linked.references).sum()),
        explanation=explained(linked, linker, (src, tgt), options.against, matched),
    )
    notes = linker.notes_on_links() if isinstance(linker, AnnotatedLinker) else ()
    return table, replace(report, warnings=(*entity_warnings(report, n_missing), *notes))


def _chosen_linker(
    options: KobeOptions, kb: object, linker: Linker | None, lp: str | None = None
) -> Linker:
    if linker is not None:
        if not callable(getattr(linker, "link", None)):
            raise bad_value("linker", "an object with a method 'link'", linker)
        if options.links is not None:
            raise UsageError("a linker, and links in options: expected one of them")
        return linker
    if options.links is not None:
        return AnnotatedLinker.of(options.links, lp)
    return make_linker(kb)


def explained(
    linked: LinkedTexts,
    linker: Linker,
    pair: tuple[str | None, str | None],
    against: str = "src",
    matched: Matched | None = None,
) -> Explanation:
    """Return what becomes of every entity of linked texts."""
    matched = matched or match_all(linked.source_mentions, dict(linked.output_mentions))
    source_based = against == "src"
    return Explanation(
        linked,
        linker,
        pair if source_based else (pair[1], pair[1]),
        matched.pairs,
        _missed_places(matched.loose, missed_by_all(matched.loose, linked.references)),
        same_language=not source_based or (pair[0] is not None and pair[0] == pair[1]),
    )


class Matched(NamedTuple):
    """Mentions as the score matches them, and by any reading: all mentions, for alarms."""

    counted: Matches
    loose: Matches
    pairs: dict[str, list[Pairs]]


def match_all(sources: tuple[Mentions, ...], outputs: Outputs) -> Matched:
    """Match mentions by any reading, and as the score asks for."""
    pairs = pair_all(sources, outputs)
    return Matched(match(*that_count(sources, outputs)), match(sources, outputs, pairs), pairs)


def missed_by_all(matches: Matches, references: Sequence[str]) -> Mask:
    """Return which mentions neither a system nor a human translation of their segment keeps."""
    people = [row for row, name in enumerate(matches.systems) if name in references]
    judged: Mask = np.any(matches.present[people], axis=0)
    kept: Mask = np.any(matches.kept, axis=0)
    return judged[matches.segment] & ~kept


def _missed_places(matches: Matches, missed: Mask) -> list[set[int]]:
    """Return per segment the indices of missed mentions; terms have to be used all the same."""
    places: list[set[int]] = [set() for _ in range(matches.n_segments)]
    for at in np.flatnonzero(missed).tolist():
        if matches.mention[at].group != "term":
            places[int(matches.segment[at])].add(matches.place[at])
    return places


def _rows(
    names: Sequence[str], stats: CorpusStatistics, linked: LinkedTexts
) -> list[SystemEntities]:
    if not names:
        return []
    totals = np.nansum(stats.values, axis=1)
    return [
        SystemEntities(
            system=name,
            score=float(value),
            recall=float(Kobe(penalty=False)(sums)),
            penalty=float(count_penalty(sums[2], sums[1])),
            matched=int(sums[0]),
            wanted=int(sums[1]),
            mentioned=int(sums[2]),
            filtered=len(linked.foreign.get(name, ())),
            is_reference=name in linked.references,
        )
        for name, value, sums in zip(names, stats.corpus_scores(), totals, strict=True)
    ]


def _recalls(matches: Matches) -> tuple[CategoryRecall, ...]:
    # Unknown names share no reading with the base: without them the others are paired as before.
    mask = np.array([of_base(mention) for mention in matches.mention], dtype=bool)
    labels = [mention.category for mention in compress(matches.mention, mask)]
    counts = Counter(labels)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    index = np.array([names.index(label) for label in labels], dtype=np.int64)
    present = matches.present[:, matches.segment[mask]]
    kept, wanted = (
        np.stack([np.bincount(index, row, minlength=len(names)) for row in rows])
        for rows in (matches.kept[:, mask] * present, present)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = 100 * kept / wanted
    return tuple(
        CategoryRecall(name, counts[name], dict(zip(matches.systems, column.tolist(), strict=True)))
        for name, column in zip(names, recall.T, strict=True)
    )


# -- links for other tools


def annotate(
    es: Source, src: str, tgt: str, kb: object = None, *, reference: str | None = None
) -> EntityAnnotations:
    """Link sources, outputs and one reference of a set as KoBE does.

    Mentions of outputs that are not in the target language are left out, so that these annotations
    score as the texts do. ``steelyard.save(annotations, "links.jsonl")`` writes them.

    Parameters
    ----------
    es, src, tgt, kb
        As in :func:`kobe_metric`.
    reference
        The reference that becomes ``ref``; by default the first.
    """
    es = as_evalset(es)
    check_text(src=src, tgt=tgt)
    if reference is not None and reference not in es.references:
        raise UsageError(f"no reference named '{reference}'; {hint(reference, es.references)}")
    chosen = reference or next(iter(es.references), None)
    _need_all_texts(es, chosen)
    linker = make_linker(kb)
    linked = link_set(es, (normalise(src), normalise(tgt)), KobeOptions().settled(), linker)
    sources, outputs = that_count(linked.source_mentions, dict(linked.output_mentions))
    pairs = pair_all(sources, outputs, pair_strictly)
    sure = [tuple(m for m in row if not m.doubtful) for row in sources]
    rows = {"src": _sentences(linked.sources, sure, linker)}
    names = {name: name for name in linked.outputs if name not in linked.references}
    if chosen is not None:
        names["ref"] = reference_rows(es)[chosen]
    for name, row in names.items():
        mentions = [
            counting(wanted, linked_row or (), paired)
            for wanted, linked_row, paired in zip(sources, outputs[row], pairs[row], strict=True)
        ]
        rows[name] = _sentences(linked.outputs[row], mentions, linker)
    return EntityAnnotations(rows, lines=linked.ids, language_pair=es.language_pair)


def _sentences(
    texts: Texts, mentions: Sequence[Sequence[Mention]], linker: Linker
) -> tuple[Sentence, ...]:
    return tuple(
        Sentence(text or "", tuple(_as_written(mention, linker) for mention in row))
        for text, row in zip(texts, mentions, strict=True)
    )


def _as_written(mention: Mention, linker: Linker) -> EntityMention:
    readings = tuple(map(linker.name, mention.candidates))
    return EntityMention(linker.name(mention.id), *mention[:3], mention.category,
                         readings if len(readings) > 1 else ())  # fmt: skip


def _need_all_texts(es: EvalSet, reference: str | None) -> None:
    """Refuse missing texts: an empty sentence would count as one without entities."""
    for system in es.systems:
        if system in SIDES:
            raise UsageError(f"a system named '{system}': annotations call source and reference so")
    blank: Texts = (None,) * es.n_segments
    rows = {f"'{system}'": es.outputs.get(system, blank) for system in es.systems}
    rows["the source"] = es.segments.sources or ()
    if reference is not None:
        rows[f"reference '{reference}'"] = es.segments.references[reference]
    for name, texts in rows.items():
        if n := sum(text is None for text in texts):
            missing = f"{name} lacks {plural(n, 'text')}, for which annotations have no place"
            raise UsageError(f"{missing}: leave these segments out")
