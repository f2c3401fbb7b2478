"""``steelyard kb``: build knowledge bases, add one's own terms, and look into them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import following
from steelyard.cli.emit import emit, note
from steelyard.cli.helping import command
from steelyard.cli.lazy import LazyGroup
from steelyard.cli.options import OutputOptions, as_object, settled_options
from steelyard.cli.values import Finite, Names
from steelyard.core.errors import UsageError, hint
from steelyard.core.table import Column, Table
from steelyard.core.text import listed, plural

if TYPE_CHECKING:
    from steelyard.kobe.base.build import Limits
    from steelyard.kobe.base.codec import Progress, Source
    from steelyard.kobe.base.knowledge import KnowledgeBase

SOURCES = {
    "default": "CLDR and GeoNames, from installed packages (no INPUT)",
    "wikidata": "the JSON dump: plain, .gz, .bz2, or - for standard input",
    "paranames": "the ParaNames table of names",
    "table": "a table of names: id, lang, alias or name, perhaps layer, category, prior, tier",
}
_EVERY = 5.0  # seconds between lines of progress
_folder_options = partial(settled_options, folder=True)


_TEXTS = "steelyard.cli.kbtexts"
#: name: (module:function, one line of help)
COMMANDS = {
    "build": ("steelyard.cli.kb:build", "Build a knowledge base from a source."),
    "add": ("steelyard.cli.kb:add", "Add your own terminology: product names, brands, terms."),
    "info": ("steelyard.cli.kb:info", "Show what a knowledge base holds."),
    "link": (f"{_TEXTS}:link", "Show the entities of a text."),
    "stats": (f"{_TEXTS}:stats", "Count the entities of texts or annotations."),
    "annotate": (f"{_TEXTS}:annotate", "Write the entities of texts as JSON lines."),
}


@click.group(cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
def kb() -> None:
    """What is in this knowledge base; what does it link here."""


_BUILD_HELP = """Build a knowledge base from a source.

INPUT is the file of the source, of any size: it is sorted on disk.
"""


@dataclass(frozen=True)
class BuildOptions:
    """What of a source is wanted, and what it is added to."""

    langs: tuple[str, ...] | None
    min_prior: float
    min_sitelinks: int
    onto: str | None
    skip_broken: bool
    force: bool


_ALIASES = """\
A table of names has a row for each name:
  id,lang,alias
  wd:Q64,de,Berlin
  wd:Q64,pl,Berlin
"""
_TERMS = """\
A table of terms has a column for each language:
  en,de
  traffic light,Ampel
  Rhine,Rhein
"""
_FORCE = click.option("--force", is_flag=True, help="Replace the knowledge base that is there.")
_BUILD = (
    click.option("--langs", type=Names(), help="Keep only names in these languages, as de,en."),
    click.option("--min-prior", type=Finite(), default=0.0, metavar="X", help="Leave out entities "
                 "below this prior: log10 of people, 5 is 100,000."),
    click.option("--min-sitelinks", type=click.IntRange(min=0), default=3, show_default=True,
                 help="Of Wikidata, leave out items in fewer Wikipedias."),
    click.option("--onto", metavar="BASE", help="Add to this base; 'default' is the embedded one."),
    click.option("--skip-broken", is_flag=True,
                 help="Count broken lines instead of stopping at one."),
    _FORCE,
)  # fmt: skip


@command(
    help=_BUILD_HELP,
    lists={"SOURCE is one of": SOURCES},
    shape=_ALIASES,
    examples=(
        "steelyard kb build table names.csv --out my-kb",
        "lbzip2 -dc latest-all.json.bz2 | steelyard kb build wikidata - --out wikidata-kb",
    ),
)
@click.argument("source", metavar="SOURCE")
@click.argument("path", metavar="[INPUT]", required=False)
@as_object("wanted", BuildOptions, _BUILD)
@_folder_options
def build(  # noqa: D103 - its help is above
    source: str, path: str | None, wanted: BuildOptions, output: OutputOptions
) -> None:
    from steelyard.kobe.base.build import Limits
    from steelyard.kobe.languages import normalise

    if output.out is None:
        raise UsageError("--out is missing: the folder of the knowledge base to make")
    langs = None if wanted.langs is None else frozenset(map(normalise, wanted.langs))
    chosen = _sources(source, path, wanted)
    limits = [Limits(langs, wanted.min_prior)] * len(chosen)
    if wanted.onto is not None:
        chosen, limits = [_base(wanted.onto), *chosen], [Limits(), *limits]
    _build(chosen, output.out, limits, output, force=wanted.force)


def _sources(name: str, path: str | None, wanted: BuildOptions) -> list[Source]:
    from steelyard.kobe.base.sources import AliasTable, ParaNames, Wikidata

    if name not in SOURCES:
        raise UsageError(f"no source '{name}'; {hint(name, SOURCES)}")
    if name == "default":
        if path is not None:
            raise UsageError(f"the source 'default' takes no input, found '{path}'")
        return [_base("default")]
    if path is None:
        raise UsageError(f"the source '{name}' needs an input: {SOURCES[name]}")
    skip = wanted.skip_broken
    if name == "wikidata":
        return [Wikidata(path, min_sitelinks=wanted.min_sitelinks, skip_broken=skip)]
    return [{"paranames": ParaNames, "table": AliasTable}[name](path, skip_broken=skip)]


@command(
    shape=_TERMS,
    examples=("steelyard kb add products.csv --out my-kb", "steelyard kb add terms.tbx --to my-kb"),
)
@click.argument("path", metavar="FILE")
@click.option("--to", type=click.Path(path_type=Path), metavar="DIR",
              help="Add to this knowledge base, in place.")  # fmt: skip
@click.option("--onto", default="default", metavar="BASE", show_default=True,
              help="With --out: what the new base holds besides the terms.")  # fmt: skip
@click.option("--lp", metavar="PAIR",
              help="Languages of the columns source and target, as en-de.")  # fmt: skip
@_FORCE
@_folder_options
def add(
    path: str,
    to: Path | None,
    onto: str,
    lp: str | None,
    force: bool,  # noqa: FBT001
    output: OutputOptions,
) -> None:
    """Add your own terminology: product names, brands, terms.

    FILE is a CSV or TBX. A CSV has one column for each language (en, de, German, term_de, ...;
    several names of one thing divided by |), or the columns lang and alias; id, category, prior and
    same_as may be there too. Names whose status is deprecated or forbidden are kept as such, and
    never linked. Adding a file of the same name again replaces what it said before.
    """
    from steelyard.kobe.base.glossary import add as add_terms
    from steelyard.kobe.base.glossary import counted, read_glossary
    from steelyard.kobe.base.knowledge import EMBEDDED

    if (to is None) == (output.out is None):
        raise UsageError("expected --to DIR (add in place) or --out DIR (make a new base)")
    glossary = read_glossary(path, lp=lp)
    target = to or output.out
    assert target is not None
    if to is not None:
        if not to.exists():
            raise UsageError(f"--to {to}: no such knowledge base; --out {to} makes one")
        base = add_terms(glossary, target)
    else:
        upon = EMBEDDED if onto == "default" else onto
        base = add_terms(glossary, target, upon=upon, force=force)
    added = counted(glossary)
    result = {**facts(base), "added": added}
    langs = ", ".join(f"{lang} {n:,}" for lang, n in added["languages"].items())
    banned = f"; {plural(added['forbidden'], 'forbidden name')}" if added["forbidden"] else ""
    what = f"Added {plural(added['terms'], 'term')} of {Path(path).name}: {langs}{banned}."
    words = [what, _said(result)]
    then = following.command("kb", "info", str(target))
    emit(result, [_table(result)], replace(output, out=None), words=words, then=then)


def _base(name: str) -> Source:
    from steelyard.kobe.base.knowledge import Base

    return Base(located(name))


def located(name: str | None) -> Path:
    """Give the folder of a base that the user named; 'default' is the embedded one."""
    if name in (None, "default"):
        from steelyard.kobe.base.knowledge import embedded

        return embedded()
    return Path(str(name))


def _build(
    sources: list[Source],
    target: Path,
    limits: list[Limits],
    output: OutputOptions,
    *,
    force: bool,
) -> None:
    from steelyard.kobe.base.build import build as build_base
    from steelyard.kobe.base.knowledge import KnowledgeBase

    build_base(
        sources,
        target,
        limits=limits,
        force=force,
        progress=_progress(output),
    )
    result = facts(KnowledgeBase.open(target))
    then = following.command("kb", "info", str(target))
    emit(result, [_table(result)], replace(output, out=None), words=[_said(result)], then=then)


def _progress(output: OutputOptions) -> Progress:
    """Say on stderr what is done, at most every few seconds and at every new step."""
    last: list[Any] = ["", 0.0]

    def show(what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if what == last[0] and now - last[1] < _EVERY:
            return
        last[:] = what, now
        of = f" of {total:,}" if total else ""
        note(f"{what}: {done:,}{of}" if done else f"{what} ...", output)

    return show


@command(
    examples=("steelyard kb info", "steelyard kb info --entity wd:Q183"),
)
@click.argument("base", metavar="[BASE]", required=False)
@click.option("--entity", metavar="ID", help="Show this entity: its names in all languages.")
@settled_options
def info(base: str | None, entity: str | None, output: OutputOptions) -> None:
    """Show what a knowledge base holds: entities, names, languages, sources and licences.

    BASE is a folder; without it the embedded base is shown, and built if need be.
    """
    from steelyard.kobe.base.knowledge import KnowledgeBase

    found = KnowledgeBase.open(located(base))
    if entity is not None:
        _show_entity(found, entity, output)
        return
    result = facts(found)
    tables = [_table(result), _source_table(result), _language_table(result)]
    own = () if base is None else ("--kb", base)
    then = following.command("kb", "link", "Am 3. März in Wien", "--lang", "de", *own)
    emit(result, tables, output, words=[_said(result)], then=then)


def _said(result: dict[str, Any]) -> str:
    """Say what a base holds."""
    return (
        f"The knowledge base holds {result['entities']:,} entities, with {result['names']:,} names "
        f"in {plural(len(result['languages']), 'language')}."
    )


def facts(base: KnowledgeBase) -> dict[str, Any]:
    """Give what ``--json`` prints of a base."""
    import numpy as np

    manifest = base.manifest
    counts = np.bincount(base.category, minlength=len(manifest["categories"]))
    size = sum(file["bytes"] for file in manifest["files"].values())
    return {
        "path": str(base.path),
        "signature": base.signature,
        "entities": manifest["entities"],
        "merged": manifest["merged"],
        "names": manifest["names"],
        "bytes": size,
        "tiers": manifest["tiers"],
        "categories": dict(
            sorted(zip(manifest["categories"], map(int, counts), strict=True), key=_most)
        ),
        "languages": dict(sorted(manifest["languages"].items(), key=_most)),
        "sources": manifest["sources"],
        "warnings": manifest["warnings"],
    }


def _most(pair: tuple[str, int]) -> tuple[int, str]:
    return -pair[1], pair[0]


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


def _source_table(result: dict[str, Any]) -> Table:
    names = ("name", "version", "licence", "records", "names")
    rows = tuple(
        tuple(f"{s[n]:,}" if isinstance(s[n], int) else s[n] for n in names)
        for s in result["sources"]
    )
    return Table("sources", tuple(Column(name) for name in names), rows)


def _language_table(result: dict[str, Any]) -> Table:
    rows = tuple((lang, f"{n:,}") for lang, n in list(result["languages"].items())[:15])
    return Table("names in the largest languages", (Column("language"), Column("names")), rows)


def _show_entity(base: KnowledgeBase, id_: str, output: OutputOptions) -> None:
    number = base.entity(id_)
    if number is None:
        raise UsageError(f"no entity '{id_}' in {base.path}")
    from steelyard.kobe.options import TIERS

    names = sorted(base.names(number))
    result: dict[str, Any] = {
        "id": id_,
        "label": base.label(number),
        "category": base.category_name(number),
        "tier": TIERS[base.tier[number]],
        "prior": round(float(base.prior[number]), 4),
        "same_as": base.same_as(number)[1:],
        "names": [{"lang": name.lang, "name": name.text} for name in names],
        "warnings": [],
    }
    rows = tuple((key, str(result[key])) for key in ("id", "label", "category", "tier", "prior"))
    spoken = tuple((name.lang, name.text) for name in names)
    tables = [
        Table(
            "",
            (Column("what"), Column("value")),
            (*rows, ("same as", ", ".join(result["same_as"]))),
        ),
        Table("names", (Column("language"), Column("name")), spoken),
    ]
    label, kind = result["label"], result["category"]
    words = [f"{id_} is {label}, of category {kind}, with {plural(len(names), 'name')}."]
    emit(result, tables, output, words=words)
