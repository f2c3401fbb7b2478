"""The knowledge base that the package holds: no download, no build, nothing else to install.

It is made by ``tools/make_base`` from CLDR, GeoNames, cuts of Wikidata and other open registers,
which ``NOTICE`` names with their licences, and is opened by memory map where it is installed.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path

from steelyard.core.errors import InputError, need_extra
from steelyard.kobe.base.knowledge import MANIFEST, Base, KnowledgeBase
from steelyard.kobe.base.records import Source


@cache
def default() -> KnowledgeBase:
    """Open the embedded knowledge base, once."""
    return KnowledgeBase.open(embedded())


def embedded() -> Path:
    """Give the folder of the embedded knowledge base."""
    need_extra("kobe", "the embedded knowledge base")
    folder = Path(str(files("steelyard.kobe.base"))) / "embedded"
    if not (folder / MANIFEST).exists():
        what = "the embedded knowledge base is missing: install the package, or run tools/make_base"
        raise InputError(what, path=folder)
    return folder


def packages() -> list[Source]:
    """Give the embedded base as a source, to build another one upon it."""
    return [Base(embedded())]
