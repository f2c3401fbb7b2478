"""``steelyard kb link`` and ``steelyard kb stats``: what a knowledge base finds in texts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit
from steelyard.cli.options import OutputOptions, need_inputs, output_options
from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import Column, Table

if TYPE_CHECKING:
    from steelyard.kobe.linking.linker import DictionaryLinker
    from steelyard.kobe.statistics import EntityStatistics

_BASE = click.option(
    "--kb", "base", metavar="BASE", help="Folder of the knowledge base; the embedded one if absent."
)


@click.command(epilog='Example: steelyard kb link "Am 3. März in Wien" --lang de')
@click.argument("text", metavar="TEXT")
@click.option("--lang", required=True, metavar="CODE", help="Language of the text.")
@click.option("--other", metavar="CODE", help="Only entities that have names in this language too.")
@click.option(
    "--tier",
    type=click.Choice(["core", "concept", "all"]),
    default="all",
    help="Names and values only, or common nouns only.",
)
@_BASE
@output_options
def link(
    text: str, lang: str, other: str | None, tier: str, base: str | None, output: OutputOptions
) -> None:
    """Show the entities of TEXT; - reads lines from standard input."""
    linker = _linker(base, tier)
    lines = [line.rstrip("\n") for line in sys.stdin] if text == "-" else [text]
    found = linker.link(lines, lang, other or lang)
    mentions: list[dict[str, Any]] = [
        {
            "line": number,
            "start": m.start,
            "end": m.end,
            "text": m.text,
            "id": linker.name(m.id),
            "label": linker.label(m.id, lang),
            "category": m.category,
            "tier": m.tier,
            "rule": m.rule,
            "candidates": [linker.name(c) for c in m.readings],
        }
        for number, own in enumerate(found, 1)
        for m in own
    ]
    shown = ("line", "start", "end", "text", "id", "label", "category", "rule")
    names = shown if len(lines) > 1 else shown[1:]
    counts = {"line", "start", "end"}
    columns = tuple(Column(name, digits=0) if name in counts else Column(name) for name in names)
    rows = tuple(tuple(m[name] for name in names) for m in mentions)
    result = {"lang": lang, "kb": linker.kb.signature, "mentions": mentions, "warnings": []}
    note = "" if mentions else "no entity found"
    emit(result, [Table(note, columns, rows)], output, note or None)


@click.command(
    epilog="Example: steelyard kb stats wmt22/de-en.text.jsonl --src-lang de --tgt-lang en"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("--src-lang", metavar="CODE", help="Language of the sources, for texts.")
@click.option("--tgt-lang", metavar="CODE", help="Language of the references, for texts.")
@click.option("--ref", "reference", metavar="NAME", help="The reference, where there are several.")
@_BASE
@output_options
def stats(
    inputs: tuple[str, ...],
    src_lang: str | None,
    tgt_lang: str | None,
    reference: str | None,
    base: str | None,
    output: OutputOptions,
) -> None:
    """Count the entities of texts or annotations: per side, distinct, common, per sentence.

    INPUT is a text file (sources and references) or entity annotations, of which the systems src
    and ref are taken.
    """
    from steelyard.kobe.statistics import histogram_table, statistics_table

    need_inputs(inputs)
    found = [_count(path, src_lang, tgt_lang, reference, base) for path in inputs]
    result = {"sets": [one.to_dict() for one in found], "warnings": _warnings(found)}
    tables = [statistics_table(found), *(histogram_table(one) for one in found)]
    emit(result, tables, output)


def _warnings(found: list[EntityStatistics]) -> list[str]:
    return [
        f"{one.name}: only {one.coverage:.0%} of the sentences have an entity"
        for one in found
        if one.n_sentences and one.coverage < 0.5
    ]


def _count(
    path: str, src: str | None, tgt: str | None, reference: str | None, base: str | None
) -> EntityStatistics:
    from steelyard.formats.entityfiles import EntityAnnotations
    from steelyard.formats.load import read_any
    from steelyard.kobe.annotations import linked, read_annotations
    from steelyard.kobe.statistics import entity_statistics

    name = Path(path).name.split(".")[0]
    if Path(path).is_dir():
        value: Any = read_annotations(path)
    else:
        _, value, _ = read_any(path)
    if isinstance(value, EntityAnnotations):
        mentions = linked(value)
        first = "src" if "src" in mentions else "ref" if "ref" in mentions else next(iter(mentions))
        references = mentions.get("ref") if first == "src" else None
        return entity_statistics(
            name if first == "src" else f"{name} ({first})", mentions[first], references
        )
    if not hasattr(value, "segments") or value.segments.sources is None:
        raise InputError("holds neither sources nor entity annotations", path=path)
    pair = (value.language_pair or "").partition("-")
    src, tgt = src or pair[0] or None, tgt or pair[2] or None
    if src is None:
        raise UsageError("--src-lang is missing: the language of the sources")
    chosen = _reference(value.references, reference)
    if chosen is not None and tgt is None:
        raise UsageError("--tgt-lang is missing: the language of the reference")
    linker = _linker(base, "all")
    texts = [text or "" for text in value.segments.sources]
    own = linker.link(texts, src, tgt or src)
    if chosen is None:
        return entity_statistics(name, own)
    assert tgt is not None
    human = [text or "" for text in value.segments.references[chosen]]
    return entity_statistics(name, own, linker.link(human, tgt, src))


def _reference(names: tuple[str, ...], wanted: str | None) -> str | None:
    from steelyard.core.errors import hint

    if wanted is not None and wanted not in names:
        raise UsageError(f"no reference named '{wanted}'; {hint(wanted, names)}")
    return wanted or (names[0] if names else None)


def _linker(base: str | None, tier: str) -> DictionaryLinker:
    from steelyard.cli.kb import located
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.linking.lexicon import LinkOptions
    from steelyard.kobe.linking.linker import DictionaryLinker

    options = LinkOptions() if tier == "all" else LinkOptions(tiers=(tier,))
    return DictionaryLinker(KnowledgeBase.open(located(base)), options)
