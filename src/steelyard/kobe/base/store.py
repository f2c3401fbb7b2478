"""How a knowledge base lies on disk: one folder, written once, opened by memory map.

- ``manifest.json``: what it holds, where that is from, licences, and the hash of every file
- ``aliases*.marisa``: tries of ``language TAB folded name``; several if there are many names
- ``starts.npy``: for each name where its entities start in the next two
- ``entities.npy``: entity numbers, most probable first
- ``flags.npy``: what is known of the name for that entity (`records.Flag`)
- ``prior.npy``, ``category.npy``, ``tier.npy``: one value for each entity
- ``ids.bin``, ``ids.npy``: ids of entities, sorted, and where each starts
- ``speech.npy``: entity numbers that have a name in a language, languages one after the other
- ``meta.sqlite``: all records as they were read: opened only to explain, or to build upon
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError
from steelyard.kobe.linking.folding import fold

FORMAT = 1
MANIFEST = "manifest.json"
META = "meta.sqlite"
ARRAYS = ("starts", "entities", "flags", "prior", "category", "tier", "ids", "speech")
_PROBES = (
    "Stra\u00dfe \u0401\u043b\u043a\u0430 \u0130stanbul \uff29\uff22\uff2d C\u00f4te d\u2019Ivoire",
    "\u0623\u0625\u0622 \u0671 \u067e\u0698",
    "\u30ac\u30fb\uff76\uff9e 12\u5104 ",
    "A\u0301 \ufb01 \u2163 \u0663\u096a \u00bd \u01c5 \u017f \u2126",
    "\u2010\u2011\u2012\u2013\u2212 \u02bc\u2032\u00b4\u0060 \u05f3\u05f4\u05b7",
    "\u0640\u064b \u00ad\u200b",
)


@cache
def folding_version() -> str:
    """Give a short hash of how names are folded: bases folded otherwise would not be found in."""
    folded = [fold(probe, lang) for probe in _PROBES for lang in ("en", "tr", "mul")]
    return hashlib.sha256(repr(folded).encode()).hexdigest()[:12]


def trie_name(number: int) -> str:
    """Give the file name of a trie."""
    return f"aliases-{number}.marisa" if number else "aliases.marisa"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a knowledge base."""
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        what = "is not a knowledge base: it has no manifest.json" if folder.is_dir() else ""
        raise InputError(what or "no such knowledge base", path=folder) from None
    except NotADirectoryError:
        raise InputError(
            "is a file, expected the folder of a knowledge base", path=folder
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"can't be read ({error})", path=path) from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise InputError(f"is of format {found}, expected {FORMAT}: build it again", path=folder)
    if manifest.get("folding") != folding_version():
        raise InputError("was built with other rules of folding: build it again", path=folder)
    return manifest
