"""``steelyard kb``: build knowledge bases, add terms, look into them, and link texts with them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.engine import Answer, Call, command, typed
from steelyard.cli.group import TEXTS, LazyGroup
from steelyard.cli.output import facts_table, records_table
from steelyard.cli.params import TABLES, InputOptions, Known
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, flag, names, text
from steelyard.core.table import Table
from steelyard.core.text import plural

if TYPE_CHECKING:
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.linking.linker import DictionaryLinker
    from steelyard.kobe.mention import Mentions

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
_BASE = click.Option(
    ["--kb", "base"],
    metavar="BASE",
    help="Folder of the knowledge base; the embedded one if absent.",
)


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Options):
    """What of a source is wanted, and what it is added to."""

    langs: tuple[str, ...] | None = names(None, "Keep only names in these languages, as de,en.")
    onto: str | None = text(
        None, "Add to this base; 'default' is the embedded one.", metavar="BASE"
    )
    force: bool = flag("Replace the knowledge base that is there.")


@command(
    click.Argument(["source"], type=Known(["wikidata", "table"]), metavar="SOURCE"),
    click.Argument(["path"], metavar="INPUT"),
    BuildOptions,
    inputs="",
    suffixes=(),
    hidden="seed jobs",
    shape=_ALIASES,
    examples=(
        "steelyard kb build table names.tsv --out my-kb",
        "lbzip2 -dc latest-all.json.bz2 | steelyard kb build wikidata - --out wikidata-kb",
    ),
)
def build(call: Call) -> Answer:
    """Build a knowledge base from a source.

    SOURCE is wikidata, and INPUT its JSON dump (plain, .gz, .bz2, or - for standard input); or it
    is table, and INPUT a table of names: id, lang, alias or name, perhaps category, prior and tier.
    """
    from steelyard.kobe.base.build import Limits
    from steelyard.kobe.base.build import build as build_base
    from steelyard.kobe.base.codec import Source
    from steelyard.kobe.base.knowledge import Base
    from steelyard.kobe.base.sources import AliasTable, Wikidata
    from steelyard.kobe.languages import normalise

    wanted, out = call.take(BuildOptions), call.output.out
    name, path = call.settings["source"], call.settings["path"]
    if out is None:
        raise UsageError("--out is missing: the folder of the knowledge base to make")
    langs = None if wanted.langs is None else frozenset(map(normalise, wanted.langs))
    sources: list[Source] = [Wikidata(path) if name == "wikidata" else AliasTable(path)]
    limits = [Limits(langs)]
    if wanted.onto is not None:
        sources, limits = [Base(_folder(wanted.onto)), *sources], [Limits(), *limits]
    with call.progress(f"building {out}", counted=True) as progress:
        build_base(
            sources,
            out,
            limits=limits,
            force=wanted.force,
            progress=lambda _step, *done: None if progress is None else progress(*done),
        )
    return _made(out)


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


@command(
    click.Argument(["path"], metavar="FILE"),
    AddOptions,
    inputs="",
    suffixes=(),
    hidden="seed jobs",
    shape=_TERMS,
    examples=("steelyard kb add products.csv --out my-kb", "steelyard kb add terms.tbx --to my-kb"),
)
def add(call: Call) -> Answer:
    """Add your own terminology: product names, brands, terms.

    FILE is a CSV or TBX. A CSV has one column for each language (en, de, term_de, ...;
    several names of one thing divided by |), or the columns lang and alias; id, category, prior and
    same_as may be there too. Names whose status is deprecated or forbidden are kept as such, and
    never linked. Adding a file of the same name again replaces what it said before.
    """
    from steelyard.kobe.base.knowledge import EMBEDDED
    from steelyard.kobe.base.sources import add as add_terms
    from steelyard.kobe.base.sources import counted, read_glossary

    how, path, out = call.take(AddOptions), call.settings["path"], call.output.out
    if (how.to is None) == (out is None):
        raise UsageError("expected --to DIR (add in place) or --out DIR (make a new base)")
    glossary = read_glossary(path, lp=how.lp)
    target = Path(how.to) if how.to is not None else out
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
    return _made(target, [words], added=added)


def _folder(name: str | None) -> Path:
    """Return the folder of a base that the user named; 'default' is the embedded one."""
    if name in (None, "default"):
        from steelyard.kobe.base.knowledge import embedded

        return embedded()
    return Path(str(name))


def _made(path: Path, words: Sequence[str] = (), **facts: object) -> Answer:
    from steelyard.kobe.base.knowledge import KnowledgeBase

    result = {**_facts(KnowledgeBase.open(path)), **facts}
    then = typed("kb", "info", str(path))
    return Answer(result=result, tables=[_table(result)], words=[*words, _size(result)], then=then)


@command(
    click.Argument(["base"], metavar="[BASE]", required=False),
    inputs="",
    hidden="seed jobs",
    examples=("steelyard kb info", "steelyard kb info --quiet"),
)
def info(call: Call) -> Answer:
    """Show what a knowledge base holds: entities, names, languages, sources and licences.

    BASE is a folder; without it the embedded base is shown, and built if need be.
    """
    from steelyard.kobe.base.knowledge import KnowledgeBase

    base = call.settings["base"]
    result = _facts(KnowledgeBase.open(_folder(base)))
    columns = "name version licence records names"
    tables = [_table(result), records_table(result["sources"], columns, "sources")]
    at = () if base is None else ("--kb", base)
    then = typed("kb", "link", "Am 3. März in Wien", "--lang", "de", *at)
    return Answer(result=result, tables=tables, words=[_size(result)], then=then)


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
        "hash": base.signature,
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
    shown = ("path", "hash", "entities", "names", "bytes", "tiers", "categories", "languages")
    facts = {"size" if key == "bytes" else key: result[key] for key in shown}
    facts["size"] = f"{result['bytes'] / 1e6:,.2f} MB"
    return facts_table(facts)


@command(
    click.Argument(["line"], metavar="TEXT"),
    click.Option(["--lang"], required=True, metavar="CODE", help="Language of the text."),
    _BASE,
    inputs="",
    hidden="seed jobs",
    examples=(
        'steelyard kb link "Am 3. März in Wien" --lang de',
        "steelyard kb link - --lang de < text.de",
    ),
)
def link(call: Call) -> Answer:
    """Show the entities of TEXT; - reads lines from standard input."""
    from steelyard.kobe.linking.linker import make_linker

    line, lang = call.settings["line"], call.settings["lang"]
    linker = make_linker(_folder(call.settings["base"]))
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
    table = records_table(mentions, "line start end text id label category rule")
    result = {"lang": lang, "kb": linker.kb.signature, "mentions": mentions}
    count = plural(len(mentions), "mention")
    words = [f"{count} of entities found." if mentions else "No entity found."]
    return Answer(result=result, tables=[table], words=words, shown=None if mentions else [])


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


@command(
    AnnotateOptions,
    _BASE,
    InputOptions,
    inputs="TEXTS...",
    suffixes=TABLES,
    hidden="seed jobs",
    shape=TEXTS,
    examples=(
        "steelyard kb annotate texts.jsonl --src-lang de --tgt-lang en --out links.jsonl",
        "steelyard kb annotate texts.jsonl --lp de-en --ref refB --out links.jsonl --force",
    ),
)
def annotate(call: Call) -> Answer:
    """Link sources, outputs and a reference, and write the links as JSON lines.

    TEXTS is a text file or an mt-metrics-eval folder. The file is what steelyard score FILE
    --metrics kobe takes: the scores are those of the texts. Mentions of outputs that are not in the
    target language are left out.
    """
    from steelyard.formats.save import save
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.metric import annotate as annotations_of

    how, out = call.take(AnnotateOptions), call.output.out
    if out is None:
        raise UsageError("--out is missing: the file to write links into, such as links.jsonl")
    es = call.reading.load(call.inputs)
    source, _, target = (es.language_pair or "").partition("-")
    if not (source and target):
        raise UsageError("the languages are not known: name them by --src-lang and --tgt-lang")
    opened = KnowledgeBase.open(_folder(call.settings["base"]))
    annotations = annotations_of(es, source, target, opened, reference=how.reference)
    if out.exists() and not how.force:
        raise UsageError(f"{out} exists already; --force overwrites it")
    warnings = list(es.notes)
    kept = how.reference or next(iter(es.references), None)
    others = [name for name in es.references if name != kept]
    if others:
        warnings.append(f"{kept} is written as ref; the file has no room for {', '.join(others)}")
    mentions = {n: sum(len(s.mentions) for s in own) for n, own in annotations.systems.items()}
    result = {
        "path": str(out),
        "language_pair": es.language_pair,
        "kb": opened.signature,
        "sentences": annotations.n_segments,
        "mentions": mentions,
        "read": [file.taken_for() for file in es.inputs],
        "warnings": warnings,
    }
    title = f"{plural(annotations.n_segments, 'sentence')} of {es.language_pair}"
    linked = plural(sum(mentions.values()), "mention")
    words = [f"{title} have {linked} of entities in {plural(len(mentions), 'text')} of each."]
    writes = [(out, lambda path: save(annotations, path, to="entities"))]
    return Answer(result=result, tables=[facts_table(mentions, title)], words=words, writes=writes)


kb = LazyGroup(
    name="kb",
    help="What is in this knowledge base; what does it link here.",
    commands=[build, add, info, link, annotate],
)
