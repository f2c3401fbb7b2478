"""Parts of people's names in several scripts, for names that no base knows.

NETransliteration counted in Wikidata how given names and surnames are written elsewhere. They are
no entities (Tage, Kinder and Bank are names, too): they tell how a name is transliterated.
"""

from __future__ import annotations

import gzip
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

NAME = "name-parts.tsv.gz"
LANGS = ("ru", "zh", "ja", "ar", "he", "ko")
_FORMS = 3  # of a part in a language; others are mistakes
_SHARE = 0.15  # how often a form must be met beside the commonest one

Counts = Mapping[str, Mapping[str, Mapping[str, int]]]


def read(table: Path) -> Counts:
    """Read how often an English part is written in which way: {part: {language: {form: count}}}."""
    found: dict[str, dict[str, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    with gzip.open(table, "rt", encoding="utf-8") as file:
        for line in file:
            id_, _, lang, text, count, source = line.rstrip("\n").split("\t")
            if source == "netrans" and lang in LANGS:
                found[id_.removeprefix("name:")][lang][text] = int(float(count))
    return found


def lines(counts: Counts) -> Iterator[str]:
    r"""Give a line for each part: itself, and its forms in each language, the commonest first.

    Examples
    --------
    >>> list(lines({"anna": {"ru": {"Анна": 900, "Энна": 2}, "ja": {"アンナ": 40, "アナ": 30}}}))
    ['anna\tАнна\t\tアンナ|アナ\t\t\t']
    """
    for part, langs in sorted(counts.items()):
        cells = []
        for lang in LANGS:
            ranked = sorted(langs.get(lang, {}).items(), key=lambda pair: (-pair[1], pair[0]))
            least = ranked[0][1] * _SHARE if ranked else 0
            cells.append("|".join([form for form, n in ranked[:_FORMS] if n >= least]))
        yield "\t".join([part, *cells])


def write(table: Path, folder: Path) -> None:
    """Write the parts to a folder; the same table gives the same bytes."""
    text = "\n".join(["\t".join(["en", *LANGS]), *lines(read(table)), ""])
    (folder / NAME).write_bytes(gzip.compress(text.encode(), 9, mtime=0))
