"""``steelyard kb``: build knowledge bases, add terms, look into them, and link texts with them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.group import TEXTS, LazyGroup
from steelyard.cli.output import emit, progress_of
from steelyard.cli.params import (
    TABLES,
    InputOptions,
    OutputOptions,
    arguments,
    as_object,
    input_options,
    settled_options,
    with_languages,
)
from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.options import Options, flag, names, number, text, whole
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural

if TYPE_CHECKING:
    from steelyard.kobe.base.codec import Source
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.linking.linker import DictionaryLinker
    from steelyard.kobe.mention import Mentions

SOURCES = {
    "default": "CLDR and GeoNames, from installed packages (no INPUT)",
    "wikidata": "the JSON dump: plain, .gz, .bz2, or - for standard input",
    "table": "a table of names: id, lang, alias or name, perhaps category, prior, tier",
}
_ALIASES = """\
A table of names has a row for each name, and tabs between columns:
  id      lang  alias
  wd:Q64  de    Berlin
  wd:Q64  pl    Berlin
"""
_TERMS = """\
A table of terms has a column for each language:
  en,de
  traffic light,Ampel
  Rhine,Rhein
"""
_folder_options = partial(settled_options, folder=True)
_BASE = click.option(
    "--kb", "base", metavar="BASE", help="Folder of the knowledge base; the embedded one if absent."
)


@click.group(cls=LazyGroup)
def kb() -> None:
    """What is in this knowledge base; what does it link here."""


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Options):
    """What of a source is wanted, and what it is added to."""

    langs: tuple[str, ...] | None = names(None, "Keep only names in these languages, as de,en.")
    min_prior: float = number(
        0.0, "Leave out entities below this prior: log10 of people, 5 is 100,000.", metavar="X"
    )
    min_sitelinks: int = whole(3, "Of Wikidata, leave out items in fewer Wikipedias.", least=0)
    onto: str | None = text(
        None, "Add to this base; 'default' is the embedded one.", metavar="BASE"
    )
    force: bool = flag("Replace the knowledge base that is there.")


@kb.command(
    lists={"SOURCE is one of": SOURCES},
    shape=_ALIASES,
    examples=(
        "steelyard kb build table names.tsv --out my-kb",
        "lbzip2 -dc latest-all.json.bz2 | steelyard kb build wikidata - --out wikidata-kb",
    ),
)
@click.argument("source", metavar="SOURCE")
@click.argument("path", metavar="[INPUT]", required=False)
@as_object("wanted", BuildOptions)
@_folder_options
def build(source: str, path: str | None, wanted: BuildOptions, output: OutputOptions) -> None:
    """Build a knowledge base from a source.

    INPUT is the file of the source, of any size: it is sorted on disk.
    """
    from steelyard.kobe.base.build import Limits
    from steelyard.kobe.base.build import build as build_base
    from steelyard.kobe.base.knowledge import Base
    from steelyard.kobe.languages import normalise

    if output.out is None:
        raise UsageError("--out is missing: the folder of the knowledge base to make")
    langs = None if wanted.langs is None else frozenset(map(normalise, wanted.langs))
    sources = _sources(source, path, wanted)
    limits = [Limits(langs, wanted.min_prior)] * len(sources)
    if wanted.onto is not None:
        sources, limits = [Base(_folder(wanted.onto)), *sources], [Limits(), *limits]
    with progress_of(f"building {output.out}", output) as progress:

        def show(_step: str, done: int, total: int | None) -> None:
            if progress is not None:
                progress(done, total)

        build_base(sources, output.out, limits=limits, force=wanted.force, progress=show)
    _show_base(output.out, output)


def _sources(name: str, path: str | None, wanted: BuildOptions) -> list[Source]:
    from steelyard.kobe.base.knowledge import Base
    from steelyard.kobe.base.sources import AliasTable, Wikidata

    if name not in SOURCES:
        raise UsageError(f"no source '{name}'; {hint(name, SOURCES)}")
    if name == "default":
        if path is not None:
            raise UsageError(f"the source 'default' takes no input, found '{path}'")
        return [Base(_folder(None))]
    if path is None:
        raise UsageError(f"the source '{name}' needs an input: {SOURCES[name]}")
    if name == "wikidata":
        return [Wikidata(path, min_sitelinks=wanted.min_sitelinks)]
    return [AliasTable(path)]


@dataclass(frozen=True, kw_only=True)
class AddOptions(Options):
    """Where terms go, and their languages."""

    to: str | None = text(None, "Add to this knowledge base, in place.", metavar="DIR")
    onto: str = text(
        "default", "With --out: what the new base holds besides the terms.", metavar="BASE"
    )
    lp: str | None = text(
        None, "Languages of the columns source and target, as en-de.", metavar="PAIR"
    )
    force: bool = flag("Replace the knowledge base that is there.")


@kb.command(
    shape=_TERMS,
    examples=("steelyard kb add products.csv --out my-kb", "steelyard kb add terms.tbx --to my-kb"),
)
@click.argument("path", metavar="FILE")
@as_object("how", AddOptions)
@_folder_options
def add(path: str, how: AddOptions, output: OutputOptions) -> None:
    """Add your own terminology: product names, brands, terms.

    FILE is a CSV or TBX. A CSV has one column for each language (en, de, term_de, ...;
    several names of one thing divided by |), or the columns lang and alias; id, category, prior and
    same_as may be there too. Names whose status is deprecated or forbidden are kept as such, and
    never linked. Adding a file of the same name again replaces what it said before.
    """
    from steelyard.kobe.base.knowledge import EMBEDDED
    from steelyard.kobe.base.sources import add as add_terms
    from steelyard.kobe.base.sources import counted, read_glossary

    if (how.to is None) == (output.out is None):
        raise UsageError("expected --to DIR (add in place) or --out DIR (make a new base)")
    glossary = read_glossary(path, lp=how.lp)
    target = Path(how.to) if how.to is not None else output.out
    assert target is not None
    if how.to is not None:
        if not target.exists():
            raise UsageError(f"--to {target}: no such knowledge base; --out {target} makes one")
        add_terms(glossary, target)
    else:
        upon = EMBEDDED if how.onto == "default" else how.onto
        add_terms(glossary, target, upon=upon, force=how.force)
    added = counted(glossary)
    langs = ", ".join(f"{lang} {n:,}" for lang, n in added["languages"].items())
    banned = f"; {plural(added['forbidden'], 'forbidden name')}" if added["forbidden"] else ""
    words = f"Added {plural(added['terms'], 'term')} of {Path(path).name}: {langs}{banned}."
    _show_base(target, output, [words], added=added)


def _folder(name: str | None) -> Path:
    """Return the folder of a base that the user named; 'default' is the embedded one."""
    if name in (None, "default"):
        from steelyard.kobe.base.knowledge import embedded

        return embedded()
    return Path(str(name))


def _show_base(
    path: Path, output: OutputOptions, words: Sequence[str] = (), **facts: object
) -> None:
    """Show a base that was made."""
    from steelyard.kobe.base.knowledge import KnowledgeBase

    result = {**_facts(KnowledgeBase.open(path)), **facts}
    then = proposals.command("kb", "info", str(path))
    output = replace(output, out=None)
    emit(result, [_table(result)], output, words=[*words, _size(result)], then=then)


@kb.command(examples=("steelyard kb info", "steelyard kb info --entity wd:Q183"))
@click.argument("base", metavar="[BASE]", required=False)
@click.option("--entity", metavar="ID", help="Show this entity: its names in all languages.")
@settled_options
def info(base: str | None, entity: str | None, output: OutputOptions) -> None:
    """Show what a knowledge base holds: entities, names, languages, sources and licences.

    BASE is a folder; without it the embedded base is shown, and built if need be.
    """
    from steelyard.kobe.base.knowledge import KnowledgeBase

    opened = KnowledgeBase.open(_folder(base))
    if entity is not None:
        _show_entity(opened, entity, output)
        return
    result = _facts(opened)
    columns = ("name", "version", "licence", "records", "names")
    sources = tuple(
        tuple(f"{s[n]:,}" if isinstance(s[n], int) else s[n] for n in columns)
        for s in result["sources"]
    )
    languages = tuple((lang, f"{n:,}") for lang, n in list(result["languages"].items())[:15])
    tables = [
        _table(result),
        Table("sources", tuple(map(Column, columns)), sources),
        Table("names in the largest languages", (Column("language"), Column("names")), languages),
    ]
    at = () if base is None else ("--kb", base)
    then = proposals.command("kb", "link", "Am 3. März in Wien", "--lang", "de", *at)
    emit(result, tables, output, words=[_size(result)], then=then)


def _size(result: dict[str, Any]) -> str:
    return (
        f"The knowledge base holds {result['entities']:,} entities, with {result['names']:,} names "
        f"in {plural(len(result['languages']), 'language')}."
    )


def _facts(base: KnowledgeBase) -> dict[str, Any]:
    """Return what ``--json`` prints of a base."""
    import numpy as np

    manifest = base.manifest
    counts = np.bincount(base.category, minlength=len(manifest["categories"])).tolist()

    def sorted_counts(pairs: Any) -> dict[str, int]:
        return dict(sorted(pairs, key=lambda pair: (-pair[1], pair[0])))

    return {
        "path": str(base.path),
        "signature": base.signature,
        "entities": manifest["entities"],
        "merged": manifest["merged"],
        "names": manifest["names"],
        "bytes": sum(file["bytes"] for file in manifest["files"].values()),
        "tiers": manifest["tiers"],
        "categories": sorted_counts(zip(manifest["categories"], counts, strict=True)),
        "languages": sorted_counts(manifest["languages"].items()),
        "sources": manifest["sources"],
        "warnings": manifest["warnings"],
    }


def _table(result: dict[str, Any]) -> Table:
    def counted(counts: dict[str, int]) -> str:
        return listed([f"{name} {count:,}" for name, count in counts.items()], 12)

    rows = (
        ("path", result["path"]),
        ("signature", result["signature"]),
        ("entities", f"{result['entities']:,}"),
        ("names", f"{result['names']:,}"),
        ("size", f"{result['bytes'] / 1e6:,.2f} MB"),
        ("tiers", counted(result["tiers"])),
        ("categories", counted(result["categories"])),
        ("languages", f"{len(result['languages'])}: {counted(result['languages'])}"),
    )
    return Table("", (Column("what"), Column("value")), rows)


def _show_entity(base: KnowledgeBase, id_: str, output: OutputOptions) -> None:
    from steelyard.kobe.options import TIERS

    index = base.entity(id_)  # a term that was added has none
    thing = id_ if index is None else index
    if not (entity_names := sorted(base.names(thing))):
        raise UsageError(f"no entity '{id_}' in {base.path}")
    result: dict[str, Any] = {
        "id": id_,
        "label": base.label(thing),
        "category": base.category_name(thing),
        "tier": TIERS[0 if index is None else base.tier[index]],
        "prior": None if index is None else round(float(base.prior[index]), 4),
        "same_as": [] if index is None else base.same_as(index)[1:],
        "names": [{"lang": name.lang, "name": name.text} for name in entity_names],
        "warnings": [],
    }
    keys = ("id", "label", "category", "tier", "prior")
    rows = (*((key, str(result[key])) for key in keys), ("same as", ", ".join(result["same_as"])))
    by_language = tuple((name.lang, name.text) for name in entity_names)
    tables = [
        Table("", (Column("what"), Column("value")), rows),
        Table("names", (Column("language"), Column("name")), by_language),
    ]
    label, kind = result["label"], result["category"]
    words = [f"{id_} is {label}, of category {kind}, with {plural(len(entity_names), 'name')}."]
    emit(result, tables, output, words=words)


@kb.command(
    examples=(
        'steelyard kb link "Am 3. März in Wien" --lang de',
        "steelyard kb link - --lang de < text.de",
    ),
)
@click.argument("line", metavar="TEXT")
@click.option("--lang", required=True, metavar="CODE", help="Language of the text.")
@_BASE
@settled_options
def link(line: str, lang: str, base: str | None, output: OutputOptions) -> None:
    """Show the entities of TEXT; - reads lines from standard input."""
    from steelyard.kobe.linking.linker import make_linker

    linker = make_linker(_folder(base))
    lines = sys.stdin.read().splitlines() if line == "-" else [line]
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
        for number, linked in enumerate(_linked(linker, lines, lang), 1)
        for m in linked
    ]
    shown = ("line", "start", "end", "text", "id", "label", "category", "rule")
    keys = shown if len(lines) > 1 else shown[1:]
    counts = {"line", "start", "end"}
    columns = tuple(Column(key, digits=0) if key in counts else Column(key) for key in keys)
    table = Table("", columns, tuple(tuple(m[key] for key in keys) for m in mentions))
    result = {"lang": lang, "kb": linker.kb.signature, "mentions": mentions, "warnings": []}
    words = [
        f"{plural(len(mentions), 'mention')} of entities found." if mentions else "No entity found."
    ]
    emit(result, [table], output, words=words, shown=[table] if mentions else [])


def _linked(linker: DictionaryLinker, texts: list[str], lang: str) -> Sequence[Mentions]:
    """Link texts, also with names that the base does not know."""
    from steelyard.kobe.linking.linker import name_tier

    mentions = linker.link(texts, lang, lang)
    tier = name_tier(linker, lang, lang)
    if tier is None:
        return mentions
    return [tier.mentions(*pair) for pair in zip(texts, mentions, strict=True)]


@dataclass(frozen=True, kw_only=True)
class AnnotateOptions(Options):
    """Languages and reference, and whether links are replaced."""

    src_lang: str | None = text(None, "Language of the sources, as de.", metavar="CODE")
    tgt_lang: str | None = text(None, "Language of outputs and references.", metavar="CODE")
    reference: str | None = text(
        None, "The reference, where there are several.", flag="--ref", metavar="NAME"
    )
    force: bool = flag("Replace the links that are there.")


@kb.command(
    shape=TEXTS,
    examples=(
        "steelyard kb annotate texts.jsonl --src-lang de --tgt-lang en --out links.jsonl",
        "steelyard kb annotate texts.jsonl --lp de-en --ref refB --out links.jsonl --force",
    ),
)
@arguments("TEXTS...")
@as_object("how", AnnotateOptions)
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

    if output.out is None:
        raise UsageError("--out is missing: the file to write links into, such as links.jsonl")
    options = with_languages(options, how.src_lang, how.tgt_lang)
    held = options.read(inputs)
    if held.judged is not None:
        path = held.judged.files[0].path if held.judged.files else inputs[0]
        raise InputError(f"holds {held.judged.form}, expected texts", path=path)
    es = held.evalset()
    source, _, target = (es.language_pair or "").partition("-")
    if not (source and target):
        raise UsageError("the languages are not known: name them by --src-lang and --tgt-lang")
    opened = KnowledgeBase.open(_folder(base))
    annotations = annotations_of(es, source, target, opened, reference=how.reference)
    if output.out.exists() and not how.force:
        raise UsageError(f"{output.out} exists already; --force overwrites it")
    save(annotations, output.out, to="entities")
    warnings = list(es.notes)
    kept = how.reference or next(iter(es.references), None)
    others = [name for name in es.references if name != kept]
    if others:
        warnings.append(f"{kept} is written as ref; the file has no room for {', '.join(others)}")
    mentions = {n: sum(len(s.mentions) for s in own) for n, own in annotations.systems.items()}
    result = {
        "path": str(output.out),
        "language_pair": es.language_pair,
        "kb": opened.signature,
        "sentences": annotations.n_segments,
        "mentions": mentions,
        "read": [file.taken_for() for file in es.inputs],
        "warnings": warnings,
    }
    title = f"{plural(annotations.n_segments, 'sentence')} of {es.language_pair}"
    columns = (Column("system"), Column("mentions", digits=0))
    table = Table(title, columns, tuple(mentions.items()))
    linked = plural(sum(mentions.values()), "mention")
    words = [f"{title} have {linked} of entities in {plural(len(mentions), 'text')} of each."]
    emit(result, [table], replace(output, out=None), words=words, wrote=[output.out])
