"""Parts of kobe_quality.py: in which languages names link to themselves, and what it costs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter, defaultdict
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from quality.linkspeed import TIMED, Texts, link_rates, texts_of
from quality.measuring import Context, linker, percent, table, text_rows
from steelyard.core.table import Table
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.kobe.base.codec import Flag
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.linking.linker import DictionaryLinker, link_set
from steelyard.kobe.mention import GROUP
from steelyard.kobe.options import KobeOptions

OWN = ("country", "month", "weekday", "language")
SUPPORTED = 95.0  # percent of its own names that a language must link
_FEW = 20  # names, below which a language is not listed


# -- CLDR's own names


def selflink(_: Context) -> Table:
    """Put each main name into a sentence, and look whether it links to its entity."""
    kb = linker().kb
    names = _own_names(kb)
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for lang, own in names.items():
        other = "de" if lang == "en" else "en"
        texts = [f"x, {name}." for name, _, _ in own]
        linked = linker().link(texts, lang, other)
        linker()._linked.clear()
        for (name, entity, category), mentions in zip(own, linked, strict=True):
            end = 3 + len(name)
            # Months and weekdays may be read as dates, languages count as their country: what
            # covers them is of their group.
            right = any(
                m.start <= 3
                and m.end >= end
                and (entity in m.readings or (category != "country" and m.group == GROUP[category]))
                for m in mentions
            )
            found[lang][category] += 1
            found[lang][f"{category} right"] += right
            found[lang]["all"] += 1
            found[lang]["right"] += right
    shares = {lang: percent(own["right"], own["all"]) or 0.0 for lang, own in found.items()}
    listed = [lang for lang in sorted(shares) if found[lang]["all"] >= _FEW]
    supported = [lang for lang in listed if shares[lang] >= SUPPORTED]
    below = [lang for lang in listed if shares[lang] < SUPPORTED]
    uneven = [
        lang
        for lang in supported
        if any((percent(found[lang][f"{c} right"], found[lang][c]) or 100) < SUPPORTED for c in OWN)
    ]
    rows = [
        (
            lang,
            found[lang]["all"],
            shares[lang],
            *(percent(found[lang][f"{c} right"], found[lang][c]) for c in OWN),
        )
        for lang in sorted(below, key=lambda lang: shares[lang])
    ]
    return table(
        f"CLDR's own names: {len(supported)} of {len(listed)} languages link 95 % or more; "
        "those below",
        ("language", "names", "linked %", *(f"{c} %" for c in OWN)),
        rows,
        f"{len(supported)} languages at 95 % or more: {', '.join(supported)}",
        f"Of these, a kind (countries, months, ...) is below 95 %: {', '.join(uneven) or '-'}",
        f"Languages with fewer than {_FEW} names are not listed: {len(found) - len(listed)}.",
    )


def _own_names(kb: KnowledgeBase) -> dict[str, list[tuple[str, int, str]]]:
    """Give the main names of each language: (name, entity, category)."""
    found: dict[str, list[tuple[str, int, str]]] = defaultdict(list)
    label, known = int(Flag.LABEL), frozenset(kb.languages)
    for entity in range(len(kb)):
        category = kb.category_name(entity)
        if category in OWN:
            for name in kb.names(entity):
                if name.flags & label and name.lang in known:
                    found[name.lang].append((name.text, entity, category))
    return dict(found)


# -- speed and weight


def speed(context: Context) -> Table:
    rows: list[tuple[Any, ...]] = []
    texts = _texts(context)
    if texts:
        rows += _rates(texts)
        rows.append(_whole_sets(texts))
    rows += _first_use()
    rows += _weight()
    return table("Speed and weight", ("what", "value", "per"), rows)


def _texts(context: Context) -> Texts:
    rows = {pair: text_rows(context, "wmt22-text", pair) for pair in TIMED}
    return texts_of({pair: own for pair, own in rows.items() if own is not None})


def _rates(texts: Texts) -> list[tuple[Any, ...]]:
    n, found = sum(map(len, texts.values())), link_rates(texts, DictionaryLinker().kb)
    return [
        (f"mention detection, warm, {n} sentences", found.detection, "sentences / CPU s"),
        ("whole link step, warm", found.linking, "sentences / CPU s"),
        ("whole link step, everything read for the first time", found.first, "sentences / CPU s"),
    ]


def _whole_sets(texts: Texts) -> tuple[Any, ...]:
    """Time what a score links, with names that no base knows: sources and one output of each."""
    by = DictionaryLinker()
    options = KobeOptions(language_filter="off")
    n, spent = 0, 0.0
    for (src, tgt), sources in texts.items():
        ids = tuple(str(i) for i in range(len(sources)))
        outputs = {"system": tuple(texts[tgt, src])}
        es = EvalSet(("system",), Segments(ids, sources=tuple(sources)), outputs=outputs)
        link_set(es, (src, tgt), options, by)  # dictionaries are read
        by._linked.clear()
        start = time.process_time()
        link_set(es, (src, tgt), options, by)
        spent += time.process_time() - start
        n += 2 * len(sources)
        by._linked.clear()
    return ("sources and outputs of a set, warm", n / spent, "sentences / CPU s")


_FIRST = """
import time
from steelyard.kobe.linking.linker import DictionaryLinker
DictionaryLinker().link(["Wien, 3. März"], "de", "en")
print(time.process_time())
"""


def _first_use() -> list[tuple[Any, ...]]:
    """Link a sentence in a new process: with an empty cache, then with what that has left."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "STEELYARD_CACHE": cache}
        for what in ("first use, empty cache: imports, base, first sentence", "later use"):
            done = subprocess.run([sys.executable, "-c", _FIRST], env=env, check=True,
                                  capture_output=True, text=True)  # fmt: skip
            rows.append((what, float(done.stdout.split()[-1]), "CPU s"))
    return rows


def _weight() -> list[tuple[Any, ...]]:
    """Add up the installed files of the packages that only the extra `kobe` asks for."""
    with (Path(__file__).resolve().parents[2] / "pyproject.toml").open("rb") as stream:
        project = tomllib.load(stream)["project"]
    plain = _closure(project["dependencies"])
    extra = _closure(project["optional-dependencies"]["kobe"])
    sizes = {name: _size(name) for name in sorted(extra - plain)}
    rows: list[tuple[Any, ...]] = [(f"installed: {name}", n / 1e6, "MB")
                                   for name, n in sizes.items()]  # fmt: skip
    return [*rows, ("installed: extra kobe", sum(sizes.values()) / 1e6, "MB")]


def _closure(requirements: list[str]) -> set[str]:
    found: set[str] = set()
    todo = list(requirements)
    while todo:
        requirement = todo.pop()
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")
        if name in found:
            continue
        try:
            needs = distribution(name).requires or []
        except PackageNotFoundError:
            continue
        found.add(name)
        todo += [need for need in needs if "extra ==" not in need]
    return found


def _size(name: str) -> int:
    paths = {Path(str(file.locate())) for file in distribution(name).files or ()}
    return sum(path.stat().st_size for path in paths if path.is_file())
