"""Texts to annotations: the links of a set, as other tools and the authors' script read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from steelyard.core.errors import UsageError, hint
from steelyard.core.options import check_instance, check_text
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Texts
from steelyard.formats.entities import SIDES, EntityAnnotations, EntityMention, Sentence
from steelyard.formats.load import Source, as_evalset
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.linker import (
    Outputs,
    chosen_linker,
    link_set,
    reference_rows,
    that_count,
)
from steelyard.kobe.matching import counting, pair_all
from steelyard.kobe.mention import Linker, Mention, Mentions
from steelyard.kobe.options import KobeOptions

#: What can be left out where such a text is missing.
_INSTEAD = {
    "output": "the system or the segments",
    "source": "the segments",
    "text": "the reference or the segments",
}
_FINDING = ("link", "linker", "language_filter")  # options that find mentions


def annotate(
    es: Source,
    src: str,
    tgt: str,
    kb: object = None,
    options: KobeOptions | None = None,
    *,
    reference: str | None = None,
    linker: Linker | None = None,
) -> EntityAnnotations:
    """Link sources, outputs and one reference of a set as KoBE does.

    Mentions of outputs that are not in the target language are left out, so that scores of these
    annotations are those of the texts. ``steelyard.save(found, "links.jsonl")`` writes them.

    Parameters
    ----------
    es, src, tgt, kb, options, linker
        As in :func:`steelyard.kobe.run.kobe_metric`; of the options, those that find mentions.
    reference
        The reference that becomes ``ref``; by default the first.
    """
    es = as_evalset(es)
    check_instance(KobeOptions, "KobeOptions", optional=True, options=options)
    check_text(src=src, tgt=tgt)
    how = (options or KobeOptions()).settled()
    _need_no_scoring(how)
    if reference is not None and reference not in es.references:
        raise UsageError(f"no reference named '{reference}'; {hint(reference, es.references)}")
    chosen = reference or next(iter(es.references), None)
    _need_all_texts(es, chosen)
    pair = normalise(src), normalise(tgt)
    linker = chosen_linker(how, kb, linker)
    linked = link_set(es, pair, how, linker)
    sources, outputs = _settled(
        *that_count(linked.source_mentions, dict(linked.output_mentions), how.link)
    )
    rows: dict[str, tuple[Sequence[str | None], Sequence[Mentions | None]]] = {
        "src": (linked.sources, sources)
    }
    for name in linked.outputs:
        if name not in linked.references:
            rows[name] = linked.outputs[name], outputs[name]
    if chosen is not None:
        name = reference_rows(es)[chosen]
        rows["ref"] = linked.outputs[name], outputs[name]
    systems = {
        name: tuple(
            Sentence(text or "", tuple(_written(m, linker) for m in own or ()))
            for text, own in zip(texts, mentions, strict=True)
        )
        for name, (texts, mentions) in rows.items()
    }
    return EntityAnnotations(systems, lines=linked.ids, language_pair=es.language_pair)


def _settled(
    sources: tuple[Mentions, ...], outputs: Outputs
) -> tuple[tuple[Mentions, ...], Outputs]:
    """Leave out what is doubtful: annotations have no place for doubts."""
    pairs = pair_all(sources, outputs, "strict")
    kept = {
        name: tuple(
            None if there is None else tuple(counting(wanted, there, own))
            for wanted, there, own in zip(sources, row, pairs[name], strict=True)
        )
        for name, row in outputs.items()
    }
    return tuple(tuple(m for m in own if not m.doubtful) for own in sources), kept


def _need_no_scoring(options: KobeOptions) -> None:
    """Refuse options that change what is made of mentions, and none of them."""
    usual = KobeOptions()
    for one in fields(KobeOptions):
        value = getattr(options, one.name)
        if one.name not in _FINDING and value != getattr(usual, one.name):
            told = f"option {one.name} ({value}) has no part in annotations, which are links"
            raise UsageError(f"{told}: expected one of {', '.join(_FINDING)}")


def _need_all_texts(es: EvalSet, reference: str | None) -> None:
    """Refuse missing texts: an empty sentence would count as one without entities."""
    for system in es.systems:
        if system in SIDES:
            raise UsageError(f"a system named '{system}': annotations call source and reference so")
    blank: Texts = (None,) * es.n_segments
    rows = {f"'{system}'": (es.outputs.get(system, blank), "output") for system in es.systems}
    rows["the set"] = es.segments.sources or (), "source"
    if reference is not None:
        rows[f"reference '{reference}'"] = es.segments.references[reference], "text"
    for name, (texts, what) in rows.items():
        n = sum(text is None for text in texts)
        if n:
            told = f"{name} lacks {plural(n, what)}, for which annotations have no place"
            raise UsageError(f"{told}: leave {_INSTEAD[what]} out")


def _written(mention: Mention, linker: Linker) -> EntityMention:
    readings = tuple(linker.name(one) for one in mention.candidates)
    return EntityMention(
        linker.name(mention.id),
        mention.start,
        mention.end,
        mention.text,
        mention.category,
        readings if len(readings) > 1 else (),
    )
