"""Parts of kobe_quality.py on sets that the project has made: sentences, good and bad pairs."""

from __future__ import annotations

import atexit
import contextlib
import csv
import io
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from quality.measuring import (
    Context,
    Row,
    by_segment,
    lines,
    linker,
    overlap,
    percent,
    scored,
    table,
    told,
)
from steelyard.cli.kb import add
from steelyard.core.table import Table
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.kobe.linking.linker import DictionaryLinker, link_set, make_linker
from steelyard.kobe.mention import Mention
from steelyard.kobe.options import KobeOptions

# -- linking: annotated sentences

#: Groups of mentions that fit a kind of the annotation.
FITTING = {
    "number": ("number",),
    "date": ("date",),
    "unit": ("unit",),
    "money": ("money",),
    "place": ("place", "name", "term"),
    "person": ("name", "term"),
    "organisation": ("name", "term"),
    "product": ("name", "term"),
    "other": ("name", "term"),
}
_RECALL = ("gold", "covered")
_ADDRESS = re.compile(r"@|https?:|www\.|\S+@\S")


def fits(mention: Mention, kind: str, surface: str) -> bool:
    """Tell whether the group is right; a year or a day in digits may be read as a number."""
    year = kind == "date" and mention.group == "number" and any(c.isdigit() for c in surface)
    return year or mention.group in FITTING[kind]


def covers(mention: Mention, start: int, end: int, text: str) -> bool:
    """Tell whether a mention holds half of a span, or its last word (a surname, a head)."""
    if 2 * overlap((mention.start, mention.end), (start, end)) >= end - start:
        return True
    head = mention.end == end and mention.start > start
    return head and not text[mention.start - 1].isalnum()


def linked_sources(texts: Sequence[str], lang: str, other: str) -> Sequence[tuple[Mention, ...]]:
    """Link sources as a score does; outputs, which it needs, are copies of them."""
    ids = tuple(str(i) for i in range(len(texts)))
    es = EvalSet(("copy",), Segments(ids, sources=tuple(texts)), outputs={"copy": tuple(texts)})
    return link_set(es, (lang, other), KobeOptions().settled(), linker()).source_mentions


def linking(context: Context) -> Table | None:
    path = context.gold / "sentences.jsonl"
    if context.absent(path):
        return None
    rows = lines(path)
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for lang in sorted({row["lang"] for row in rows}):
        own = [row for row in rows if row["lang"] == lang]
        other = "de" if lang == "en" else "en"
        found = linked_sources([row["text"] for row in own], lang, other)
        for row, mentions in zip(own, found, strict=True):
            for where, what in _judged(row, mentions, context):
                counts["language", lang][what] += 1
                counts[("kind" if what in _RECALL else "group"), where][what] += 1
                counts["all", ""][what] += 1
    groups = sorted(
        counts, key=lambda key: (("all", "kind", "group", "language").index(key[0]), key[1])
    )
    return table(
        f"Linking: {len(rows)} annotated sentences",
        (
            "",
            "entities",
            "found",
            "recall",
            "mentions",
            "right",
            "precision",
            "sure",
            "sure precision",
        ),
        (
            (
                " ".join(group).strip(),
                own["gold"] or None,
                own["covered"] if own["gold"] else None,
                percent(own["covered"], own["gold"]),
                own["mention"] or None,
                own["right"] if own["mention"] else None,
                percent(own["right"], own["mention"]),
                own["sure"] or None,
                percent(own["sure right"], own["sure"]),
            )
            for group in groups
            for own in (counts[group],)
        ),
        "Recall is that of kinds of the annotation, precision that of groups of mentions. Sure are "
        "those that are wanted of an output; others may be part of a longer name, and where they "
        "are, they are not counted. Neither are addresses (URLs, @names), which are not annotated.",
    )


def _judged(row: Row, mentions: Iterable[Mention], context: Context) -> Iterator[tuple[str, str]]:
    """Say of each annotation whether it is found, of each mention whether it is right."""
    text = row["text"]
    names = [m for m in mentions if m.tier != "concept" and not _ADDRESS.match(m.text)]
    for start, end, kind, surface in row["entities"]:
        yield kind, "gold"
        if any(fits(m, kind, surface) and covers(m, start, end, text) for m in names):
            yield kind, "covered"
        else:
            context.details.append({"part": "linking", "id": row["id"], "missed": surface,
                                    "kind": kind, "text": text})  # fmt: skip
    for mention in names:
        span = (mention.start, mention.end)
        near = [kind for start, end, kind, surface in row["entities"]
                if overlap(span, (start, end)) and fits(mention, kind, surface)]  # fmt: skip
        if not near and mention.doubtful and _is_part(span, row["entities"]):
            continue
        yield mention.group, "mention"
        if near:
            yield mention.group, "right"
        else:
            context.details.append({"part": "linking", "id": row["id"], "wrong": mention.text,
                                    "category": mention.category, "text": text})  # fmt: skip
        if not mention.doubtful:
            yield mention.group, "sure"
            if near:
                yield mention.group, "sure right"


def _is_part(span: tuple[int, int], entities: Iterable[Sequence[Any]]) -> bool:
    """Tell whether a span is part of a longer name, as a doubtful mention says of itself."""
    return any(start <= span[0] and span[1] <= end for start, end, *_ in entities)


# -- pairs: a good and a bad translation of hand-made sentences


def pairs(context: Context) -> Table | None:
    path = context.gold / "pairs.jsonl"
    if context.absent(path):
        return None
    rows = lines(path)
    with_terms = glossary_linker([row for row in rows if row.get("glossary")])
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by = with_terms if row.get("glossary") else linker()
        alarms = {}
        for side in ("good", "bad"):
            pair = (row["src_lang"], row["tgt_lang"])
            report = scored([row["source"]], {side: [row[side]]}, pair, by=by)
            alarms[side] = [told(f) for f in by_segment(report, side, context.kinds)[0]]
        more = len(alarms["bad"]) > len(alarms["good"])
        detected = more or any(alarm not in alarms["good"] for alarm in alarms["bad"])
        for group in (row["kind"], "all"):
            counts[group]["pairs"] += 1
            counts[group]["detected"] += detected
            counts[group]["false"] += bool(alarms["good"])
        if alarms["good"] or not detected:
            context.details.append({"part": "pairs", **row, "alarms": alarms})
    return table(
        "Hand-made pairs: errors detected, and alarms on good translations",
        ("kind", "pairs", "detected", "detected %", "false alarms", "false alarms %"),
        (
            (kind, own["pairs"], own["detected"], percent(own["detected"], own["pairs"]),
             own["false"], percent(own["false"], own["pairs"]))
            for kind, own in sorted(counts.items(), key=lambda item: (item[0] == "all", item[0]))
        ),
    )  # fmt: skip


def glossary_linker(rows: Sequence[Row]) -> DictionaryLinker | None:
    """Add all terms to the embedded base at once, by the command that users give.

    A glossary maps each of its terms to the terms of the languages (several divided by |).
    """
    if not rows:
        return None
    folder = Path(tempfile.mkdtemp(prefix="kobe-quality-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    terms = [term for row in rows for term in row["glossary"].values()]
    langs = sorted({lang for term in terms for lang in term})
    with (folder / "terms.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, langs, restval="")
        writer.writeheader()
        writer.writerows(terms)
    argv = [str(folder / "terms.csv"), "--out", str(folder / "kb"), "--json"]
    with contextlib.redirect_stdout(io.StringIO()):  # which is ours
        add.main(argv, standalone_mode=False)
    return make_linker(folder / "kb")
