"""``steelyard kb link``, ``stats`` and ``annotate``: what a knowledge base finds in texts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, wants_figure
from steelyard.cli.helping import TEXTS, command
from steelyard.cli.kb import located
from steelyard.cli.options import (
    TABLES,
    InputOptions,
    OutputOptions,
    as_object,
    figure_options,
    input_options,
    need_inputs,
    settled_options,
    with_languages,
)
from steelyard.cli.texts import Named, settings_of
from steelyard.cli.values import FileName, Known
from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.table import Column, Table
from steelyard.core.text import plural

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.entities import EntityAnnotations
    from steelyard.kobe.linking.linker import DictionaryLinker
    from steelyard.kobe.mention import EntityStatistics, Mentions

_BASE = click.option(
    "--kb", "base", metavar="BASE", help="Folder of the knowledge base; the embedded one if absent."
)


@command(
    examples=(
        'steelyard kb link "Am 3. März in Wien" --lang de',
        "steelyard kb link - --lang de < text.de",
    ),
)
@click.argument("text", metavar="TEXT")
@click.option("--lang", required=True, metavar="CODE", help="Language of the text.")
@click.option("--other", metavar="CODE", help="Only entities that have names in this language too.")
@click.option("--tier", type=Known(["core", "concept", "all"]), default="all",
              help="Names and values only, or common nouns only.")  # fmt: skip
@_BASE
@settled_options
def link(
    text: str, lang: str, other: str | None, tier: str, base: str | None, output: OutputOptions
) -> None:
    """Show the entities of TEXT; - reads lines from standard input."""
    linker = _linker(base, {} if tier == "all" else {"tiers": (tier,)})
    lines = [line.rstrip("\n") for line in sys.stdin] if text == "-" else [text]
    found = _linked(linker, lines, lang, other or lang)
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
    table = Table("", columns, rows)
    told = (
        f"{plural(len(mentions), 'mention')} of entities found." if mentions else "No entity found."
    )
    emit(result, [table], output, words=[told], shown=[table] if mentions else [])


@command(
    shape=TEXTS,
    examples=(
        "steelyard kb stats wmt22/de-en.text.jsonl --src-lang de --tgt-lang en",
        "steelyard kb stats annotations --out entities.png",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@click.option("--src-lang", metavar="CODE", help="Language of the sources, for texts.")
@click.option("--tgt-lang", metavar="CODE", help="Language of the references, for texts.")
@click.option("--ref", "reference", metavar="NAME", help="The reference, where there are several.")
@_BASE
@partial(figure_options, unused=("seed",))
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
    and ref are taken: JSON lines, or a folder of the KoBE release, of which all language pairs
    are. --out with .png, .svg or .pdf draws how many sentences have how many entities.
    """
    from steelyard.kobe.mention import histogram_table, statistics_table

    need_inputs(inputs)
    wants_figure(output)
    notes: list[str] = []
    pair = src_lang, tgt_lang
    found = [one for path in inputs for one in _counts(path, pair, reference, base, notes)]
    result = {"sets": [one.to_dict() for one in found], "warnings": notes + _warnings(found)}
    tables = [statistics_table(found), *(histogram_table(one) for one in found)]

    def draw() -> Any:
        from steelyard.report.figures.recall import entities_per_sentence

        return entities_per_sentence({one.title: one.histogram for one in found})

    counts = ((len(found), "set"), (sum(one.n_sentences for one in found), "sentence"))
    words = [f"Entities of {' and '.join(plural(n, noun) for n, noun in counts)} are counted."]
    emit(result, tables, output, draw=draw, words=words)


def _warnings(found: list[EntityStatistics]) -> list[str]:
    return [
        f"{one.name}: only {one.coverage:.0%} of the sentences have an entity"
        for one in found
        if one.n_sentences and one.coverage < 0.5
    ]


def _counts(
    path: str,
    pair: tuple[str | None, str | None],
    reference: str | None,
    base: str | None,
    notes: list[str],
) -> Iterator[EntityStatistics]:
    """Count the entities of an input; what was left out of annotations is put to the notes."""
    from steelyard.formats import entities
    from steelyard.formats.entities import EntityAnnotations
    from steelyard.formats.reading import read_any

    name = Path(path).name.split(".")[0]
    folders = entities.annotated_folders(Path(path)) if Path(path).is_dir() else {}
    if folders:
        for lp, folder in folders.items():
            release = entities.read_folder(folder)
            notes += release.notes
            yield _of_annotations(lp, release, str(folder))
        return
    _, value, _ = read_any(path)
    if isinstance(value, EntityAnnotations):
        notes += value.notes
        yield _of_annotations(name, value, path)
    elif not hasattr(value, "segments") or value.segments.sources is None:
        raise InputError("holds neither sources nor entity annotations", path=path)
    else:
        yield _of_texts(name, value, pair, reference, base)


def _of_annotations(name: str, found: EntityAnnotations, path: str) -> EntityStatistics:
    from steelyard.kobe.annotations import linked
    from steelyard.kobe.mention import entity_statistics

    mentions = linked(found)
    if not {"src", "ref"} & set(mentions):
        raise InputError(
            f"holds links of outputs alone ({', '.join(mentions)}): expected those of the source "
            "(src) or of a reference (ref); steelyard data info counts the mentions of systems",
            path=path,
        )
    return entity_statistics(name, mentions.get("src"), mentions.get("ref"))


def _of_texts(
    name: str,
    es: EvalSet,
    pair: tuple[str | None, str | None],
    reference: str | None,
    base: str | None,
) -> EntityStatistics:
    from steelyard.kobe.mention import entity_statistics

    assert es.segments.sources is not None
    known = (es.language_pair or "").partition("-")
    src, tgt = pair[0] or known[0] or None, pair[1] or known[2] or None
    if src is None:
        raise UsageError("--src-lang is missing: the language of the sources")
    chosen = _reference(es.references, reference)
    if chosen is not None and tgt is None:
        raise UsageError("--tgt-lang is missing: the language of the reference")
    linker = _linker(base, {})
    texts = [text or "" for text in es.segments.sources]
    own = _linked(linker, texts, src, tgt or src)
    if chosen is None:
        return entity_statistics(name, own)
    assert tgt is not None
    human = [text or "" for text in es.segments.references[chosen]]
    return entity_statistics(name, own, _linked(linker, human, tgt, src))


def _linked(
    linker: DictionaryLinker, texts: list[str], lang: str, other: str
) -> Sequence[Mentions]:
    """Link texts, with the names that the base does not know."""
    from steelyard.kobe.linking.linkedtexts import name_tier

    found = linker.link(texts, lang, other)
    tier = name_tier(linker, lang, other)
    return (
        found if tier is None else [tier.mentions(*pair) for pair in zip(texts, found, strict=True)]
    )


def _reference(names: tuple[str, ...], wanted: str | None) -> str | None:
    if wanted is not None and wanted not in names:
        raise UsageError(f"no reference named '{wanted}'; {hint(wanted, names)}")
    return wanted or (names[0] if names else None)


def _linker(base: str | None, options: dict[str, Any]) -> DictionaryLinker:
    from steelyard.kobe.linking.linkedtexts import make_linker
    from steelyard.kobe.options import LinkOptions

    return make_linker(located(base), LinkOptions(**options))


@dataclass(frozen=True)
class AnnotateOptions:
    """The languages, the reference, how entities are found, and whether links are replaced."""

    src_lang: str | None
    tgt_lang: str | None
    reference: str | None
    settings: tuple[tuple[str, str], ...]
    force: bool


_ANNOTATE = (
    click.option("--src-lang", metavar="CODE", help="Language of the sources, as de."),
    click.option("--tgt-lang", metavar="CODE", help="Language of the outputs."),
    click.option("--ref", "reference", metavar="NAME",
                 help="The reference to write, where there are several."),
    click.option("--set", "settings", type=Named("VALUE"), multiple=True,
                 help="An option of kobe, as kobe.link.min_population=100000 or "
                 "kobe.language_filter=off (repeatable)."),
    click.option("--force", is_flag=True, help="Replace the links that are there."),
)  # fmt: skip


@command(
    shape=TEXTS,
    examples=(
        "steelyard kb annotate texts.jsonl --src-lang de --tgt-lang en --out links.jsonl",
        "steelyard kb annotate texts.jsonl --lp de-en --ref refB --out links.jsonl --force",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="TEXTS...")
@as_object("how", AnnotateOptions, _ANNOTATE)
@_BASE
@input_options
@partial(settled_options, suffixes=TABLES)
def annotate(
    inputs: tuple[str, ...],
    how: AnnotateOptions,
    base: str | None,
    options: InputOptions,
    output: OutputOptions,
) -> None:
    """Link sources, outputs and a reference, and write the links as JSON lines.

    TEXTS is a text file or an mt-metrics-eval folder. The file is what steelyard score FILE
    --metrics kobe takes: the scores are those of the texts. Mentions of outputs that are not in the
    target language are left out.
    """
    from steelyard.formats.save import save
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.metric import annotate as annotations_of
    from steelyard.kobe.options import KobeOptions

    need_inputs(inputs, "steelyard kb annotate texts.jsonl --out links.jsonl --lp de-en")
    if output.out is None:
        raise UsageError("--out is missing: the file to write links into, such as links.jsonl")
    options = with_languages(options, how.src_lang, how.tgt_lang)
    given = settings_of(how.settings)
    for name in given:
        if name != "kobe":
            raise UsageError(
                f"--set {name}...: expected options of kobe, as kobe.link.values=false"
            )
    es = _texts(inputs, options)
    source, _, target = (es.language_pair or "").partition("-")
    if not (source and target):
        raise UsageError("the languages are not known: name them by --src-lang and --tgt-lang")
    asked = KobeOptions.of(given.get("kobe", {}))
    if base is not None and asked.linker is not None:
        raise UsageError("--kb has no part where another linker is named")
    base_of = None if asked.linker is not None else KnowledgeBase.open(located(base))
    found = annotations_of(es, source, target, base_of, asked, reference=how.reference)
    if output.out.exists() and not how.force:
        raise UsageError(f"{output.out} exists already; --force overwrites it")
    save(found, output.out, to="entities")
    warnings = list(es.notes)
    others = [name for name in es.references if name != (how.reference or es.references[0])]
    if others:
        kept = how.reference or es.references[0]
        warnings.append(f"{kept} is written as ref; the file has no place for {', '.join(others)}")
    mentions = {n: sum(len(s.mentions) for s in own) for n, own in found.systems.items()}
    result = {
        "path": str(output.out),
        "language_pair": es.language_pair,
        "kb": None if base_of is None else base_of.signature,
        "sentences": found.n_segments,
        "mentions": mentions,
        "read": [file.taken_for() for file in es.inputs],
        "warnings": warnings,
    }
    title = f"{plural(found.n_segments, 'sentence')} of {es.language_pair}"
    columns = (Column("system"), Column("mentions", digits=0))
    table = Table(title, columns, tuple(mentions.items()))
    linked = plural(sum(mentions.values()), "mention")
    words = [f"{title} have {linked} of entities in {plural(len(mentions), 'text')} of each."]
    output = replace(output, out=None)
    emit(result, [table], output, words=words, wrote=[str(result["path"])])


def _texts(inputs: tuple[str, ...], options: InputOptions) -> EvalSet:
    """Load texts; of judgements and annotations, say that they are none."""
    held = options.read(inputs)
    if held.judged is not None:
        path = held.judged.files[0].path if held.judged.files else inputs[0]
        raise InputError(f"holds {held.judged.form}, expected texts", path=path)
    return held.evalset()
