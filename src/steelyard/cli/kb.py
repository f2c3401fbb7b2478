"""``steelyard kb``: build knowledge bases, add one's own terms, and look into them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, note
from steelyard.cli.options import Finite, Names, OutputOptions, output_options
from steelyard.core.errors import UsageError, hint
from steelyard.core.table import Column, Table

if TYPE_CHECKING:
    from steelyard.kobe.base.knowledge import KnowledgeBase
    from steelyard.kobe.base.records import Source
    from steelyard.kobe.base.spooling import Limits, Progress

SOURCES = {
    "default": "CLDR and GeoNames, from installed packages (no INPUT)",
    "omw": "nouns of wordnets: those that the library wn has, or a WN-LMF file",
    "wikidata": "the JSON dump: plain, .gz, .bz2, or - for standard input",
    "paranames": "the ParaNames table of names",
    "table": "a table of names: id, lang, alias, and perhaps layer, category, prior, tier",
}
_EVERY = 5.0  # seconds between lines of progress
_folder_options = partial(output_options, folder=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def kb() -> None:
    """What is in this knowledge base; what does it link here."""


_BUILD_HELP = """Build a knowledge base from a source.

\b
SOURCE is one of
{sources}

INPUT is the file of the source. Memory stays bounded however large it is, and a build that was
interrupted goes on where it stopped when the command is given again, unless the input has changed.
"""


@kb.command(
    help=_BUILD_HELP.format(
        sources="\n".join(f"  {n:<10} {about}" for n, about in SOURCES.items())
    ),
    epilog="Example: bzcat latest-all.json.bz2 | steelyard kb build wikidata - --out wikidata-kb",
)
@click.argument("source", metavar="SOURCE")
@click.argument("path", metavar="[INPUT]", required=False)
@click.option("--langs", type=Names(), help="Keep only names in these languages, as de,en.")
@click.option(
    "--min-prior",
    type=Finite(),
    default=0.0,
    metavar="X",
    help="Leave out entities below this prior: log10 of people, 5 is 100,000.",
)
@click.option(
    "--min-sitelinks",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="Of Wikidata, leave out items in fewer Wikipedias.",
)
@click.option("--onto", metavar="BASE", help="Add to this base; 'default' is the embedded one.")
@click.option("--skip-broken", is_flag=True, help="Count broken lines instead of stopping at one.")
@click.option("--force", is_flag=True, help="Replace the knowledge base that is there.")
@_folder_options
def build(  # noqa: D103, PLR0917 - its help is above; one parameter for each option
    source: str,
    path: str | None,
    langs: tuple[str, ...] | None,
    min_prior: float,
    min_sitelinks: int,
    onto: str | None,
    skip_broken: bool,  # noqa: FBT001
    force: bool,  # noqa: FBT001
    output: OutputOptions,
) -> None:
    from steelyard.kobe.base.spooling import Limits
    from steelyard.kobe.languagecodes import normalise

    if output.out is None:
        raise UsageError("--out is missing: the folder of the knowledge base to make")
    wanted = None if langs is None else frozenset(normalise(lang) for lang in langs)
    chosen = _sources(source, path, min_sitelinks=min_sitelinks, skip_broken=skip_broken)
    limits = [Limits(wanted, min_prior)] * len(chosen)
    if onto is not None:
        chosen, limits = [_base(onto), *chosen], [Limits(), *limits]
    _build(chosen, output.out, limits, output, force=force)


def _sources(name: str, path: str | None, *, min_sitelinks: int, skip_broken: bool) -> list[Source]:
    from steelyard.kobe.base.sources.aliastable import AliasTable
    from steelyard.kobe.base.sources.paranames import ParaNames
    from steelyard.kobe.base.sources.wikidata import Wikidata
    from steelyard.kobe.base.sources.wordnet import Wordnets

    if name not in SOURCES:
        raise UsageError(f"no source '{name}'; {hint(name, SOURCES)}")
    if name == "default":
        from steelyard.kobe.base.embedded import packages

        if path is not None:
            raise UsageError(f"the source 'default' takes no input, found '{path}'")
        return packages()
    if name == "omw":
        return [Wordnets(path)]
    if path is None:
        raise UsageError(f"the source '{name}' needs an input: {SOURCES[name]}")
    if name == "wikidata":
        return [Wikidata(path, min_sitelinks=min_sitelinks, skip_broken=skip_broken)]
    lines = {"paranames": ParaNames, "table": AliasTable}[name]
    return [lines(path, skip_broken=skip_broken)]


@kb.command(epilog="Example: steelyard kb add products.csv --out my-kb")
@click.argument("path", metavar="FILE")
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Add to this knowledge base, in place.",
)
@click.option(
    "--onto",
    default="default",
    metavar="BASE",
    show_default=True,
    help="With --out: what the new base holds besides the terms.",
)
@click.option("--force", is_flag=True, help="Replace the knowledge base that is there.")
@_folder_options
def add(
    path: str,
    to: Path | None,
    onto: str,
    force: bool,  # noqa: FBT001
    output: OutputOptions,
) -> None:
    """Add your own terminology: product names, brands, terms.

    FILE is a CSV or TBX. A CSV has one column for each language (en, de, ...; several names of one
    thing divided by |), or the columns lang and alias; id, category and prior may be there too.
    Adding a file of the same name again replaces what it said before.
    """
    from steelyard.kobe.base.sources.terms import Terms
    from steelyard.kobe.base.spooling import Limits

    if (to is None) == (output.out is None):
        raise UsageError("expected --to DIR (add in place) or --out DIR (make a new base)")
    terms = Terms(path)
    base = _base(str(to) if to is not None else onto, without=(terms.name,))
    target = to or output.out
    assert target is not None
    _build([base, terms], target, [Limits()] * 2, output, force=force or to is not None)


def _base(name: str, without: tuple[str, ...] = ()) -> Source:
    from steelyard.kobe.base.sources.base import Base

    return Base(located(name), without=without)


def located(name: str | None) -> Path:
    """Give the folder of a base that the user named; 'default' is the embedded one."""
    if name in (None, "default"):
        from steelyard.kobe.base.embedded import embedded

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
    from steelyard.kobe.base.building import build as build_base
    from steelyard.kobe.base.knowledge import KnowledgeBase

    with _progress(output) as progress:
        build_base(sources, target, limits=limits, force=force, progress=progress,
                   note=partial(note, output=output))  # fmt: skip
    base = KnowledgeBase.open(target)
    result = facts(base)
    emit(result, [_table(result)], replace(output, out=None))


@contextmanager
def _progress(output: OutputOptions) -> Iterator[Progress]:
    """Say on stderr what is done, at most every few seconds and at every new step."""
    last: list[Any] = ["", 0.0]

    def show(what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if what == last[0] and now - last[1] < _EVERY:
            return
        last[:] = what, now
        of = f" of {total:,}" if total else ""
        note(f"{what}: {done:,}{of}" if done else f"{what} ...", output)

    yield show


@kb.command(epilog="Example: steelyard kb info --entity wd:Q183")
@click.argument("base", metavar="[BASE]", required=False)
@click.option("--entity", metavar="ID", help="Show this entity: its names in all languages.")
@output_options
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
    emit(result, tables, output)


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
    def listed(counts: dict[str, int], most: int = 12) -> str:
        shown = [f"{name} {count:,}" for name, count in list(counts.items())[:most]]
        more = len(counts) - most
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")

    rows = (
        ("path", result["path"]),
        ("signature", result["signature"]),
        ("entities", f"{result['entities']:,}"),
        ("names", f"{result['names']:,}"),
        ("size", f"{result['bytes'] / 1e6:,.2f} MB"),
        ("tiers", listed(result["tiers"])),
        ("categories", listed(result["categories"])),
        ("languages", f"{len(result['languages'])}: {listed(result['languages'])}"),
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
    from steelyard.kobe.base.records import TIERS

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
    emit(result, tables, output)


def _register() -> None:
    from steelyard.cli.kblinking import link, stats

    kb.add_command(link)
    kb.add_command(stats)


_register()
