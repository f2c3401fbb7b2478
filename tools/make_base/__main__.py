"""Build the knowledge base that the wheel holds: python -m make_base --help."""

from __future__ import annotations

import argparse
import gzip
import sys
import textwrap
from pathlib import Path

from make_base.cities import GeoNames
from make_base.cldr import Cldr, language_codes
from make_base.demonyms import Currencies, Nationalities, WrittenDemonyms
from make_base.everyday import Everyday
from make_base.famous import Famous, Nature
from make_base.names import ORIGINS, Names, choose, given_names, read
from make_base.places import cities
from make_base.states import StateItems, States, Subdivisions, subdivisions
from steelyard.kobe.base.build import build
from steelyard.kobe.base.codec import UNSTATED, Source
from steelyard.kobe.linking.wordforms import fold

HOME = Path(__file__).parents[2] / "src" / "steelyard" / "kobe" / "base" / "embedded"


def main(argv: list[str] | None = None) -> None:
    """Build the base from the inputs that the command line names."""
    parser = argparse.ArgumentParser(prog="make_base", description=__doc__)
    parser.add_argument("--names", type=Path, default=Path("/work/shared/data/kb-names"),
                        help="folder of names.tsv.gz")  # fmt: skip
    parser.add_argument("--nouns", type=Path, default=Path("/work/shared/data/kb-sources"),
                        help="folder of aliases.tsv.gz, whose nouns are no names")  # fmt: skip
    parser.add_argument("--cldr", type=Path, default=Path("/usr/share/unicode/cldr/common"),
                        help="folder common of Debian's unicode-cldr-core")  # fmt: skip
    parser.add_argument("--geonames", type=Path, default=Path("/usr/share/locale"),
                        help="locales of Debian's libgeonames-common")  # fmt: skip
    parser.add_argument("--out", type=Path, default=HOME, help="folder to make or to replace")
    given = parser.parse_args(argv)
    manifest = build(sources(given), given.out, force=True, progress=_say)
    codes = textwrap.fill(" ".join(language_codes()), 100)
    (HOME.parents[1] / "languages.txt").write_text(f"{codes}\n", encoding="utf-8")
    print(f"{manifest['entities']:,} entities, {manifest['names']:,} names: {given.out}")


def sources(given: argparse.Namespace) -> list[Source]:
    """Give all sources, the most trustworthy first."""
    table = read(given.names / "names.tsv.gz")
    states = given.cldr / "subdivisions"
    taken = _places(states) | given_names(table)
    of_states = Subdivisions(states, table)
    chosen = choose(table, taken, _nouns(given.nouns / "aliases.tsv.gz"))
    return [
        Cldr(),
        Everyday(),
        Famous(),
        Nature(),
        WrittenDemonyms(),
        Nationalities(given.names / "names.tsv.gz"),
        Currencies(),
        GeoNames(given.geonames, [n for own in subdivisions(states).values() for n in own]),
        States(of_states),
        StateItems(of_states),
        *(Names(origin, chosen) for origin in ORIGINS),
    ]


def _places(states: Path) -> frozenset[str]:
    """Give the folded names of places, which are never left to a person or a company."""
    found = {fold(city["name"], UNSTATED) for city in cities()}
    found |= {fold(n.text, n.lang) for own in subdivisions(states).values() for n in own}
    found |= {
        fold(name.text, name.lang)
        for entity, names in Cldr().rows()
        if entity.category in ("country", "region", "city", "language")
        for name in names
    }
    return frozenset(found)


def _nouns(path: Path) -> frozenset[str]:
    """Read the Chinese and Japanese nouns of wordnets: dictionaries to look words up, no source."""
    found = set()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            layer, _, _, lang, text, _ = line.split("\t")
            if lang in ("zh", "ja") and layer in ("wn", "osm", "emoji"):
                found.add(text)
    return frozenset(found)


def _say(what: str, done: int, _total: int | None) -> None:
    print(f"{what}: {done:,}", file=sys.stderr)


if __name__ == "__main__":
    main()
