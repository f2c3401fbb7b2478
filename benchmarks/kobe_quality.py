"""How good KoBE's links and alarms are: precision and recall on sets made or marked for it.

    python benchmarks/kobe_quality.py DATA [PART ...] [--json] [--gold DIR] [--segments N] [--details FILE]

Parts: linking, pairs, planted, alarms, ea-mt, selflink, speed (all of them if none is named). DATA
is the folder with wmt22-text, wmt23-text, wmt24-esa, wmt22-da and ea-mt; gold sets of the project
are in tests/kobe/gold. Each part prints one table of Markdown, with --json one object of all rows.
--details writes what was found, line by line (alarms, misses, wrong links), to look into.
"""  # noqa: E501

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.core.errors import DegenerateError
from steelyard.core.table import Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.data.segments import Segments
from steelyard.formats import files
from steelyard.kobe.explaining import Finding
from steelyard.kobe.findings import KobeReport
from steelyard.kobe.linking.linkedtexts import link_set, make_linker
from steelyard.kobe.linking.linker import DictionaryLinker
from steelyard.kobe.mention import Mention
from steelyard.kobe.options import KobeOptions, LinkOptions

GOLD = Path(__file__).resolve().parents[1] / "tests" / "kobe" / "gold"
ALARMS = ("lost", "changed", "copied")
Row = dict[str, Any]
Span = tuple[int, int]


@dataclass
class Context:
    """Where data lie, and what the parts write besides their tables."""

    data: Path
    gold: Path
    segments: int
    details: list[Row] = field(default_factory=list)

    def absent(self, path: Path) -> bool:
        if path.exists():
            return False
        print(f"absent: {path}", file=sys.stderr)
        return True


@cache
def linker() -> DictionaryLinker:
    """Link by the embedded base, with one memory for all parts."""
    return make_linker(None, LinkOptions())


def lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in files.read_text(path).splitlines() if line.strip()]


def percent(part: float, whole: float) -> float | None:
    return 100 * part / whole if whole else None


def overlap(a: Span, b: Span) -> int:
    return max(0, min(a[1], b[1]) - max(a[0], b[0]))


# -- alarms as a user sees them


def shown(report: KobeReport, system: str) -> Iterator[tuple[int, Finding]]:
    """Give the alarms of a system that are shown by default: (segment, finding).

    Reports that sort their findings by confidence cut the list themselves; older ones show all.
    """
    chosen = getattr(report, "alarms", None)
    if chosen is not None:
        for _, at, finding in chosen([system]):
            if finding.kind in ALARMS:
                yield at, finding
        return
    for _, at, finding in report.findings([system]):
        if finding.kind in ALARMS:
            yield at, finding


def scored(
    sources: Sequence[str],
    outputs: Mapping[str, Sequence[str]],
    pair: tuple[str, str],
    *,
    references: Mapping[str, Sequence[str]] | None = None,
    by: DictionaryLinker | None = None,
) -> KobeReport | None:
    """Score outputs; None where no source has an entity."""
    try:
        return sy.kobe.score(
            sources,
            outputs,
            src=pair[0],
            tgt=pair[1],
            references=references,
            linker=by or linker(),
        )
    except DegenerateError:
        return None


def by_segment(report: KobeReport | None, system: str) -> dict[int, list[Finding]]:
    found: dict[int, list[Finding]] = defaultdict(list)
    for at, finding in shown(report, system) if report is not None else ():
        found[at].append(finding)
    return found


def told(finding: Finding) -> Row:
    """Say what an alarm says, for --details."""
    source, output = finding.source, finding.output
    return {
        "alarm": finding.kind,
        "category": finding.mention.category,
        "source": source.text if source else None,
        "output": output.text if output else None,
    }


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
_WRONG = "(wrong)"


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
                counts["kind", where][what] += 1
                counts["all", ""][what] += 1
    groups = sorted(counts, key=lambda key: (("all", "kind", "language").index(key[0]), key[1]))
    return table(
        f"Linking: {len(rows)} annotated sentences",
        ("", "entities", "found", "recall", "mentions", "right", "precision", "doubtful"),
        (
            (
                " ".join(group).strip(),
                own["gold"] or None,
                own["covered"] or None,
                percent(own["covered"], own["gold"]),
                own["mention"] or None,
                own["right"] or None,
                percent(own["right"], own["mention"]),
                own["doubtful"] or None,
            )
            for group in groups
            for own in (counts[group],)
        ),
        "A mention counts under the kind of the annotation that it fits; what fits none, under "
        "its own group, as (wrong).",
    )


def _judged(row: Row, mentions: Iterable[Mention], context: Context) -> Iterator[tuple[str, str]]:
    """Say of each annotation whether it is found, of each mention whether it is right."""
    text = row["text"]
    names = [m for m in mentions if m.tier != "concept"]
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
        where = near[0] if near else f"{mention.group} {_WRONG}"
        yield where, "mention"
        if near:
            yield where, "right"
        else:
            context.details.append({"part": "linking", "id": row["id"], "wrong": mention.text,
                                    "category": mention.category, "text": text})  # fmt: skip
        if mention.doubtful:
            yield where, "doubtful"


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
            alarms[side] = [told(f) for f in by_segment(report, side)[0]]
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

    A glossary is a mapping of languages to terms (several divided by |), or a list of such.
    """
    if not rows:
        return None
    import tempfile

    from steelyard.cli.kb import add

    folder = Path(tempfile.mkdtemp(prefix="kobe-quality-"))
    terms = []
    for row in rows:
        own = row["glossary"]
        terms += [own] if isinstance(own, dict) else list(own)
    langs = sorted({lang for term in terms for lang in term})
    with (folder / "terms.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, langs, restval="")
        writer.writeheader()
        writer.writerows(_joined(term) for term in terms)
    argv = [str(folder / "terms.csv"), "--out", str(folder / "kb"), "--json"]
    _quietly(lambda: add.main(argv, standalone_mode=False))
    return make_linker(folder / "kb", LinkOptions())


def _joined(term: Mapping[str, Any]) -> dict[str, str]:
    return {key: value if isinstance(value, str) else "|".join(value)
            for key, value in term.items()}  # fmt: skip


def _quietly(run: Callable[[], Any]) -> None:
    """Run a command without what it prints on standard output, which is ours."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        run()


# -- alarms on strong systems

STRONG = (
    ("wmt22-text", "de-en", "Lan-Bridge"),
    ("wmt22-text", "ru-en", "Lan-Bridge"),
    ("wmt22-text", "zh-en", "JDExploreAcademy"),
    ("wmt22-text", "cs-en", "Online-W"),
    ("wmt23-text", "de-en", "GPT4-5shot"),
    ("wmt23-text", "ru-en", "GPT4-5shot"),
    ("wmt24-esa", "en-cs", "ONLINE-W"),
    ("wmt24-esa", "en-ja", "Claude-3.5"),
    ("wmt24-esa", "en-hi", "Claude-3.5"),
)
PEOPLE = ("ref", "HUMAN", "synthetic")


def text_rows(context: Context, folder: str, pair: str) -> list[Row] | None:
    """Give the segments of a WMT set, each with its id as `seg`, human outputs left out."""
    path = context.data / folder / f"{pair}.text.jsonl.gz"
    if context.absent(path):
        return None
    rows = lines(path)
    for row in rows:
        row["seg"] = str(row.get("seg", row.get("sid")))
        row["out"] = {s: t for s, t in row["out"].items() if not s.startswith(PEOPLE)}
    return rows


def columns(rows: Sequence[Row], key: str) -> dict[str, list[str]]:
    """Turn the texts of rows into those of each system or reference."""
    return {name: [row[key].get(name) or "" for row in rows] for name in rows[0][key]}


def strong_alarms(context: Context) -> Table:
    judged = _verdicts(context.gold / "alarms.jsonl")
    found = []
    for folder, pair, system in STRONG:
        rows = text_rows(context, folder, pair)
        if rows is None:
            continue
        src, tgt = pair.split("-")
        report = scored([row["src"] for row in rows], columns(rows, "out"), (src, tgt),
                        references=columns(rows, "refs"))  # fmt: skip
        assert report is not None and report.linked is not None
        wanted = sum(not m.doubtful for own in report.linked.source_mentions for m in own)
        verdicts: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        for at, finding in shown(report, system):
            kinds[finding.mention.group] += 1
            told_source = finding.mention.text
            key = (folder, pair, system, rows[at]["seg"], finding.kind, told_source)
            verdict = judged.get(key, "unjudged")
            verdicts[verdict] += 1
            context.details.append({
                "part": "alarms", "set": folder, "lp": pair, "system": system,
                "segment": rows[at]["seg"], **told(finding), "verdict": verdict,
                "confidence": getattr(finding, "confidence", None),
                "src": rows[at]["src"], "out": rows[at]["out"][system],
            })  # fmt: skip
        known = verdicts["real"] + verdicts["false"]
        found.append((
            f"{folder[:5]} {pair} {system}", len(rows), wanted, kinds.total(),
            percent(kinds.total(), wanted), verdicts["real"], verdicts["false"],
            verdicts["unjudged"], percent(verdicts["real"], known),
            ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()),
        ))  # fmt: skip
    return table(
        "Alarms shown by default on strong systems",
        ("system", "segments", "entities", "alarms", "per 100 entities", "real", "false",
         "unjudged", "precision", "kinds"),
        found,
        "Verdicts are those of tests/kobe/gold/alarms.jsonl."
        if judged else "No alarm has been judged: tests/kobe/gold/alarms.jsonl is absent.",
    )  # fmt: skip


def _verdicts(path: Path) -> dict[tuple[str, ...], str]:
    """Read judged alarms; the set is told by the field `set`, or by the year in `lp` ("22 de-en").

    Whatever is no plain "real" (disputable ones too) counts as false.
    """
    if not path.exists():
        return {}
    found = {}
    for row in lines(path):
        year, _, pair = row["lp"].rpartition(" ")
        folder = row.get("set") or next((f for f, *_ in STRONG if year and year[-2:] in f), year)
        source = row["source"] if isinstance(row["source"], str) else row["source"][-1]
        key = (folder, pair, row["system"], str(row["segment"]), row["kind"], source)
        found[key] = "real" if row["verdict"] == "real" else "false"
    return found


# -- entity-aware MT

_EA = ("de", "es", "fr", "ja", "ar")


def ea_mt(context: Context) -> Table:
    folder = context.data / "ea-mt"
    if context.absent(folder):
        return table("ea-mt", ("",), ())
    with (folder / "expected.csv").open() as stream:
        expected = {(r["lp"], r["system"]): float(r["m_eta"]) for r in csv.DictReader(stream)}
    found: list[tuple[Any, ...]] = []
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for tgt in _EA:
        rows = lines(folder / f"en-{tgt}.jsonl.gz")
        human = [row["refs"][0] for row in rows]
        systems = columns(rows, "out")
        sources = [row["src"] for row in rows]
        ways = {
            "alone": (systems, None),
            "beside the reference": (systems, {"ref": human}),
        }
        as_system = scored(sources, {"reference": human}, ("en", tgt))
        assert as_system is not None
        found.append((f"en-{tgt}", "reference as a system", as_system.scores["reference"],
                      *(None,) * 6, len(by_segment(as_system, "reference"))))  # fmt: skip
        for way, (outputs, references) in ways.items():
            report = scored(sources, outputs, ("en", tgt), references=references)
            assert report is not None
            ceiling = [s.score for s in report.systems if s.is_reference]
            if ceiling:
                found.append((f"en-{tgt}", "reference as reference", ceiling[0], *(None,) * 7))
            for system in outputs:
                alarmed = by_segment(report, system)
                wrong = {i for i, row in enumerate(rows) if not row["entity_right"][system]}
                right = sum(i in wrong for i in alarmed)
                for name, n in (("alarms", len(alarmed)), ("right", right), ("wrong", len(wrong)),
                                ("all", len(rows))):  # fmt: skip
                    totals[way][name] += n
                m_eta = _m_eta(rows, system)
                if round(m_eta, 2) != expected[f"en-{tgt}", system]:
                    print(f"M-ETA en-{tgt} {system}: {m_eta:.2f}, expected "
                          f"{expected[f'en-{tgt}', system]:.2f}", file=sys.stderr)  # fmt: skip
                found.append((f"en-{tgt}", f"{system.rpartition('-2024')[0]}, {way}",
                              report.scores[system], m_eta, expected[f"en-{tgt}", system],
                              percent(len(wrong), len(rows)), len(alarmed),
                              percent(right, len(alarmed)), percent(right, len(wrong)),
                              None))  # fmt: skip
                context.details += [
                    {"part": "ea-mt", "lp": f"en-{tgt}", "system": system, "way": way,
                     "id": rows[i]["id"], "right": i in wrong, **told(f),
                     "src": sources[i], "out": outputs[system][i]}
                    for i, own in alarmed.items() for f in own
                ]  # fmt: skip
    for way, own in totals.items():
        found.append(("all", f"both, {way}", None, None, None, percent(own["wrong"], own["all"]),
                      own["alarms"], percent(own["right"], own["alarms"]),
                      percent(own["right"], own["wrong"]), None))  # fmt: skip
    return table(
        "ea-mt: one entity per question",
        ("direction", "system", "KoBE", "M-ETA", "expected", "wrong %", "alarms",
         "alarms right %", "recall %", "alarms on the reference"),
        found,
        "An alarm is a segment with one or more of them; it is right where the entity is wrong.",
    )  # fmt: skip


def _m_eta(rows: Sequence[Row], system: str) -> float:
    """Give the share of outputs that hold an accepted name, in percent."""
    kept = sum(any(name.casefold() in row["out"][system].casefold() for name in row["mentions"])
               for row in rows)  # fmt: skip
    return 100 * kept / len(rows)


# -- the command


def table(title: str, names: Sequence[str], rows: Iterable[tuple[Any, ...]], *notes: str) -> Table:
    heads = tuple(
        Column(name, digits=1 if "%" in name or name in _RATES else None if name == "" else 0)
        for name in names
    )
    return Table(title, heads, tuple(rows), notes)


_RATES = ("recall", "precision", "KoBE", "M-ETA", "expected", "per 100 entities", "value")


def parts() -> dict[str, Callable[[Context], Table | None]]:
    from kobe_planting import planted
    from kobe_reach import selflink, speed

    return {
        "linking": linking,
        "pairs": pairs,
        "planted": planted,
        "alarms": strong_alarms,
        "ea-mt": ea_mt,
        "selflink": selflink,
        "speed": speed,
    }


def main() -> None:
    known = parts()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip # noqa: E501
    parser.add_argument("data", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(known))
    parser.add_argument("--gold", type=Path, default=GOLD)
    parser.add_argument("--segments", type=int, default=300, help="planted errors per set at most")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--details", type=Path)
    given = parser.parse_args()
    for name in given.parts:
        if name not in known:
            parser.error(f"no part '{name}'; known: {', '.join(known)}")
    context = Context(given.data, given.gold, given.segments)
    result = {}
    for name in given.parts or known:
        made = known[name](context)
        if made is None:
            continue
        result[name] = [dict(zip([c.name for c in made.columns], row, strict=True))
                        for row in made.rows]  # fmt: skip
        if not given.json:
            print(f"## {name}\n\n{made.markdown()}\n", flush=True)
    if given.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
    if given.details:
        told_lines = (json.dumps(row, ensure_ascii=False, default=str) for row in context.details)
        given.details.write_text("".join(f"{line}\n" for line in told_lines))


if __name__ == "__main__":
    main()
