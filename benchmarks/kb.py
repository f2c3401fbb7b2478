"""Build a knowledge base from a synthetic Wikidata dump, and measure time, memory and opening.

    python benchmarks/kb.py                          # 200,000 entities, a minute or two
    python benchmarks/kb.py --entities 5000000       # 20 million names; needs 12 GB of disk
    python benchmarks/kb.py --keep DIR               # leave the dump and the base there

Names are made
of syllables, four for each entity in one to four of eight languages; a share of them is ambiguous.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

LANGUAGES = ("en", "de", "fr", "ru", "zh", "ja", "es", "mul")
CLASSES = ("Q5", "Q515", "Q4830453", "Q11424", "Q16521", "Q4022", "Q7725634", "Q486972")
BLOCK = 20_000
OPENING = """
import sys, time
from steelyard.kobe.base.knowledge import KnowledgeBase
import marisa_trie
start = time.perf_counter()
kb = KnowledgeBase.open(sys.argv[1])
print(time.perf_counter() - start)
"""


def words(seed: int, letters: str, shortest: int) -> list[str]:
    """Make 60,000 words of random letters."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, shortest + 5, 60_000).tolist()
    drawn = rng.integers(0, len(letters), (60_000, shortest + 5)).tolist()
    made = ("".join([letters[i] for i in row[:k]]) for row, k in zip(drawn, lengths, strict=True))
    return [word.capitalize() for word in made]


def dump(n: int) -> Iterator[str]:
    """Give the lines of the dump, without the comma at their end."""
    latin = words(1, "aeioubcdfghklmnprstvz", 3)
    han = words(3, "".join(chr(0x4E00 + 7 * i) for i in range(900)), 1)
    lexicon = dict.fromkeys(LANGUAGES, latin)
    lexicon |= {"ru": words(2, "аеиоубвгдклмнпрстх", 3), "zh": han, "ja": han}
    sites = [",".join(f'"w{k}wiki":{{}}' for k in range(m)) for m in range(61)]
    for start in range(0, n, BLOCK):
        rng = np.random.default_rng((4, start))
        size = min(BLOCK, n - start)
        picks = rng.integers(0, 60_000, (size, 4, 2)).tolist()
        langs = rng.integers(0, len(LANGUAGES), (size, 4)).tolist()
        links = np.minimum(60, 3 + rng.geometric(0.08, size)).tolist()
        classes = rng.integers(0, len(CLASSES), size).tolist()
        for i in range(size):
            labels: dict[str, str] = {}
            aliases: dict[str, list[str]] = {}
            for number, (one, two) in zip(langs[i], picks[i], strict=True):
                lang = LANGUAGES[number]
                table = lexicon[lang]
                space = "" if table is han else " "
                entry = f'{{"language":"{lang}","value":"{table[one]}{space}{table[two]}"}}'
                if lang in labels:
                    aliases.setdefault(lang, []).append(entry)
                else:
                    labels[lang] = entry
            shown = ",".join([f'"{lang}":{entry}' for lang, entry in labels.items()])
            more = ",".join([f'"{lang}":[{",".join(own)}]' for lang, own in aliases.items()])
            yield (
                f'{{"type":"item","id":"Q{start + i + 1}","labels":{{{shown}}},'
                f'"aliases":{{{more}}},'
                '"claims":{"P31":[{"mainsnak":{"snaktype":"value","property":"P31","datavalue":'
                f'{{"value":{{"id":"{CLASSES[classes[i]]}"}},"type":"wikibase-entityid"}}}},'
                f'"rank":"normal"}}]}},"sitelinks":{{{sites[links[i]]}}}}}'
            )


def generate(path: Path, n: int) -> None:
    """Write the dump as Wikidata does: an array, one item in a line."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"[")
        for number, line in enumerate(dump(n)):
            file.write(f"{',' if number else ''}\n{line}".encode())
        file.write(b"\n]\n")


def build(source: Path, out: Path) -> tuple[float, float]:
    """Run the command; give its seconds, and those of the processor."""
    command = [sys.executable, "-m", "steelyard", "kb", "build", "wikidata", str(source)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([*command, "--out", str(out)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        source, out = folder / f"dump-{given.entities}.json.gz", folder / f"kb-{given.entities}"
        if not source.exists():
            start = time.perf_counter()
            generate(source.with_suffix(".new"), given.entities)
            source.with_suffix(".new").rename(source)
            seconds = time.perf_counter() - start
            print(f"dump: {source.stat().st_size / 1e6:,.0f} MB in {seconds:.0f} s")
        shutil.rmtree(out, ignore_errors=True)
        seconds, cpu = build(source, out)
        manifest = json.loads((out / "manifest.json").read_bytes())
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        size = sum(file["bytes"] for file in manifest["files"].values())
        opening = subprocess.run(
            [sys.executable, "-c", OPENING, str(out)], capture_output=True, text=True, check=True
        )
        print(f"entities {manifest['entities']:,}, names {manifest['names']:,}, "
              f"postings {manifest['postings']:,}, tries {len(manifest['tries'])}")  # fmt: skip
        print(f"built in {seconds:.0f} s ({cpu:.0f} CPU s)")
        print(f"peak memory {peak / 1e9:.2f} GB (bound: 4), base {size / 1e6:,.0f} MB")
        print(f"opening {float(opening.stdout) * 1000:.1f} ms (bound: 200)")


if __name__ == "__main__":
    main()
