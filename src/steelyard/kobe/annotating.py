"""Texts to annotations: the links of a set, as other tools and the authors' script read them."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.core.words import plural
from steelyard.data.evalset import EvalSet
from steelyard.formats.entityfiles import EntityAnnotations, EntityMention, Sentence
from steelyard.formats.load import Source, as_evalset
from steelyard.kobe.languages import normalise
from steelyard.kobe.linking.linkedtexts import chosen_linker, link_set
from steelyard.kobe.mention import Linker, Mention, Mentions
from steelyard.kobe.options import KobeOptions


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
    annotations are those of the texts. ``steelyard.save(found, folder, to="kobe-release")`` writes
    them in the layout of the authors' release.

    Parameters
    ----------
    es, src, tgt, kb, options, linker
        As in :func:`steelyard.kobe.run.kobe_metric`; of the options, those that find mentions.
    reference
        The reference that becomes ``ref``; by default the first.
    """
    es = as_evalset(es)
    bounds.instance(KobeOptions, "KobeOptions", optional=True, options=options)
    bounds.text(src=src, tgt=tgt)
    how = (options or KobeOptions()).settled()
    if how.against != "src" or how.links is not None or how.counted != "mentions":
        raise UsageError("options: annotations are links of sources as they stand; expected no "
                         "against=..., links=... or counted=...")  # fmt: skip
    _need_all_outputs(es)
    if reference is not None and reference not in es.references:
        raise UsageError(f"no reference named '{reference}'; {hint(reference, es.references)}")
    pair = normalise(src), normalise(tgt)
    linker = chosen_linker(how, kb, linker)
    linked = link_set(es, pair, how, linker)
    rows: dict[str, tuple[Sequence[str | None], Sequence[Mentions | None]]] = {
        "src": (linked.sources, linked.source_mentions)
    }
    for name in linked.outputs:
        if name not in linked.references:
            rows[name] = linked.outputs[name], linked.output_mentions[name]
    chosen = reference or next(iter(es.references), None)
    if chosen is not None:
        (name,) = (n for n in linked.references if n in (chosen, f"{chosen} (reference)"))
        rows["ref"] = linked.outputs[name], linked.output_mentions[name]
    systems = {
        name: tuple(
            Sentence(text or "", tuple(_written(m, linker) for m in own or ()))
            for text, own in zip(texts, mentions, strict=True)
        )
        for name, (texts, mentions) in rows.items()
    }
    return EntityAnnotations(systems, lines=linked.ids, language_pair=es.language_pair)


def _need_all_outputs(es: EvalSet) -> None:
    """Refuse missing outputs: an empty sentence would count as one that lost everything."""
    for system in es.systems:
        if system in ("src", "ref"):
            raise UsageError(f"a system named '{system}': annotations call source and reference so")
        n = sum(text is None for text in es.outputs.get(system, (None,) * es.n_segments))
        if n:
            told = f"'{system}' lacks {plural(n, 'output')}, for which annotations have no place"
            raise UsageError(f"{told}: leave the system or the segments out")


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
