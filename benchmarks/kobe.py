"""KoBE on WMT data: correlation with people, what the language filter does, and speed.

    python benchmarks/kobe.py DATA [--full KB] [--only quality|speed] [--pairs "22 de-en,..."]

DATA is the folder with wmt22-text, wmt22-da and wmt23-metrics. --full names a knowledge base with a
concept tier, made by: steelyard kb build table aliases.tsv.gz --onto default --out KB
The speed is given in sentences per CPU second; the ratio to spaCy's PhraseMatcher needs spaCy
(extra `bench`).
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import steelyard as sy
from steelyard.core.table import Column, Table
from steelyard.data.evalset import EvalSet
from steelyard.formats import files
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.base.packaged import default
from steelyard.kobe.linking.lexicon import Lexicon
from steelyard.kobe.linking.linker import DictionaryLinker, detect
from steelyard.kobe.linking.tokens import tokenise
from steelyard.kobe.linking.wordforms import fold_text
from steelyard.kobe.options import KobeOptions
from steelyard.kobe.run import kobe_metric
from steelyard.scoring.surface import surface_table

PAIRS = ("22 cs-en", "22 de-en", "22 ru-en", "22 zh-en", "23 zh-en", "23 en-de")
#: Means of the six pairs in the study that the linker's rules come from.
STUDY = {"core": 0.587, "full": 0.488, "core cons.": 0.672, "full cons.": 0.652, "full ref": 0.780}
COPY = "(copy of the source)"


def load(data: Path, name: str) -> tuple[EvalSet, dict[str, float]]:
    """Texts and official human scores (DA z, DA+SQM), human translations left out."""
    year, pair = name.split()
    if year == "22":
        es = sy.load(data / "wmt22-text" / f"{pair}.text.jsonl.gz")
        path, key, column = data / "wmt22-da" / f"{pair}.systems.csv", "name", "z"
    else:
        es = sy.load(data / "wmt23-metrics" / f"{pair}.text.jsonl.gz")
        path, key, column = data / "wmt23-metrics" / f"{pair}.metrics.sys.csv", "system", "da_sqm"
    with path.open() as stream:
        human = {row[key]: float(row[column]) for row in csv.DictReader(stream) if row[column]}
    people = ("HUMAN", "ref", "synthetic")
    keep = [s for s in es.systems if s in human and not s.startswith(people)]
    return es.select(systems=keep), {s: human[s] for s in keep}


def with_copy(es: EvalSet) -> EvalSet:
    """Add a system that copies the source."""
    assert es.segments.sources is not None
    outputs = {**es.outputs, COPY: es.segments.sources}
    return EvalSet((*es.systems, COPY), es.segments, outputs=outputs)


def pearson(scores: Any, human: dict[str, float]) -> float:
    return float(np.corrcoef(scores, list(human.values()))[0, 1])


def quality(data: Path, bases: dict[str, KnowledgeBase], pairs: tuple[str, ...]) -> Table:
    rows: list[dict[str, Any]] = []
    for name in pairs:
        es, human = load(data, name)
        src, tgt = name.split()[1].split("-")
        reference = "refB" if name == "22 cs-en" else "refA"
        row: dict[str, Any] = {"pair": name, "systems": len(human)}
        for base, kb in bases.items():
            linker = DictionaryLinker(kb)

            def run(options: KobeOptions, texts: EvalSet = es, linker: Any = linker) -> Any:
                return kobe_metric(texts, src, tgt, options=options, linker=linker)  # noqa: B023

            table, report = run(KobeOptions())
            row[f"{base} ent."] = report.n_source_entities / report.n_segments
            row[f"{base} cov."] = 100 * report.coverage
            row[base] = pearson(table.system_scores, human)
            row[f"{base} off"] = pearson(
                run(KobeOptions(language_filter="off"))[0].system_scores, human
            )
            row[f"{base} cons."] = pearson(
                run(KobeOptions(weights="consensus"))[0].system_scores, human
            )
            row[f"{base} ref"] = pearson(run(KobeOptions(reference))[0].system_scores, human)
            copied = with_copy(es)
            row[f"{base} copy"] = run(KobeOptions(), copied)[1].scores[COPY]
            row[f"{base} copy, off"] = run(KobeOptions(language_filter="off"), copied)[1].scores[
                COPY
            ]
        for metric in ("bleu", "chrf"):
            scores = surface_table(es, metric, [reference], target=tgt).system_scores
            row[metric.replace("bleu", "BLEU").replace("chrf", "chrF")] = pearson(scores, human)
        rows.append(row)
        print(json.dumps(row), flush=True)
    mean = {key: float(np.mean([row[key] for row in rows])) for key in rows[0] if key != "pair"}
    rows.append({**mean, "pair": "mean", "systems": None})
    columns = tuple(
        Column(k, digits=0 if k.endswith("cov.") or k == "systems" else 1 if "copy" in k else 2)
        for k in rows[0]
    )
    return Table("", columns, tuple(tuple(row[c.name] for c in columns) for row in rows))


def speed(data: Path, bases: dict[str, KnowledgeBase]) -> None:
    texts: dict[tuple[str, str], list[str]] = {}
    for pair in ("de-en", "cs-en", "ru-en", "zh-en"):
        lines = files.read_text(data / "wmt22-text" / f"{pair}.text.jsonl.gz").splitlines()
        rows = [json.loads(line) for line in lines]
        src, tgt = pair.split("-")
        texts[src, tgt] = [row["src"] for row in rows]
        texts[tgt, src] = [next(iter(row["out"].values())) for row in rows]
    n = sum(map(len, texts.values()))
    for name, kb in bases.items():
        detecting = linking = first = 0.0
        for (lang, other), own in texts.items():
            start = time.process_time()
            DictionaryLinker(kb).link(own, lang, other)  # with the loading of dictionaries
            first += time.process_time() - start
            warm = DictionaryLinker(kb)
            lexicon = warm.lexicon(lang, other)
            warm.link(own, lang, other)
            start = time.process_time()
            for text in own:
                _detect(text, lexicon)
            middle = time.process_time()
            warm.forget()
            warm.link(own, lang, other)
            detecting += middle - start
            linking += time.process_time() - middle
        print(f"{name}: mention detection {n / detecting:,.0f} sentences per CPU second (15,000 "
              f"wanted), whole link step {n / linking:,.0f} (4,000 wanted), {n / first:,.0f} with "
              f"everything read for the first time; {n} sentences")  # fmt: skip
    _against_spacy(texts["en", "ru"], next(iter(bases.values())))


def _detect(text: str, lexicon: Lexicon) -> list[Any]:
    folded, places = fold_text(text, lexicon.lang)
    aligned = text if places is None else "".join([text[p] for p in places[:-1]])
    return detect(folded, aligned, tokenise(folded, lexicon.lang), lexicon)


def _against_spacy(texts: list[str], kb: KnowledgeBase) -> None:
    """The same English texts and dictionary, tokenised and matched by spaCy."""
    try:
        import spacy
        from spacy.matcher import PhraseMatcher
    except ImportError:
        print("no spaCy here: no ratio to its PhraseMatcher")
        return
    lexicon = Lexicon(kb, "en", "ru", DictionaryLinker(kb).options)
    names = sorted({
        n.text
        for entity in np.flatnonzero(kb.shared("en", "ru")).tolist()
        for n in kb.names(entity)
        if n.lang in ("en", "mul") and n.text.isascii()
    })  # fmt: skip
    nlp = spacy.blank("en")
    matcher = PhraseMatcher(nlp.vocab, attr="LOWER")
    start = time.process_time()
    matcher.add("name", list(nlp.tokenizer.pipe(names)))
    built = time.process_time() - start
    for text in texts:
        _detect(text, lexicon)  # both are warm when they are timed
        matcher(nlp.make_doc(text))
    start = time.process_time()
    for text in texts:
        matcher(nlp.make_doc(text))
    middle = time.process_time()
    for text in texts:
        _detect(text, lexicon)
    end = time.process_time()
    theirs, ours = len(texts) / (middle - start), len(texts) / (end - middle)
    print(f"English, {len(names):,} names: spaCy PhraseMatcher {theirs:,.0f} sentences per CPU "
          f"second (built in {built:.0f} s), ours {ours:,.0f}: ratio {ours / theirs:.1f} "
          "(5 wanted)")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--full", type=Path)
    parser.add_argument("--only", choices=["quality", "speed"])
    parser.add_argument("--pairs", default=",".join(PAIRS))
    given = parser.parse_args()
    bases = {"core": default()}
    if given.full:
        bases["full"] = KnowledgeBase.open(given.full)
    if given.only != "speed":
        table = quality(given.data, bases, tuple(given.pairs.split(",")))
        print(table.markdown())
        means = dict(zip([c.name for c in table.columns], table.rows[-1], strict=True))
        for name, wanted in STUDY.items():
            if name in means and given.pairs == ",".join(PAIRS):
                reached = float(means[name] or 0)
                met = "met" if reached >= wanted - 0.05 else "MISSED"
                print(f"mean of {name}: {reached:.3f}, study {wanted:.3f}: {met}")
    if given.only != "quality":
        speed(given.data, bases)


if __name__ == "__main__":
    main()
