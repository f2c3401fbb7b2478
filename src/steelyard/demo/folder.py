"""The demo's files in a folder, with plain names: what the commands of README and docs read."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from steelyard.core.table import delimited
from steelyard.data.evalset import EvalSet
from steelyard.demo import embedded
from steelyard.formats import files

#: What each file is, as README.txt in the folder says it.
CONTENTS = {
    "scores.csv.gz": "scores of people (mqm, da) and of 12 metrics: a row per system and segment",
    "system-scores.csv": "official scores of whole systems by one metric, overlap-refA",
    "texts.jsonl.gz": "the texts: 500 German sources, references, outputs of the 12 systems",
    "errors.jsonl.gz": "MQM: errors that three experts marked in these outputs; mqm is their mean",
    "ratings.csv.gz": "direct assessment: 0 to 100 for outputs, by 12 raters, with control items",
    "verdicts.csv.gz": "pairs of outputs: what two LLM judges and three people (ann, bo, cy) said",
    "battles.csv.gz": "pairs of outputs: which of the two readers preferred",
    "answers.csv": "right or wrong, a row per model and question, as evaluations of LLMs have it",
    "source.de": "the German sources of the news, a line each",
    "reference.en": "their references",
    "Kaolin.en": "their translations by the best system",
    "Basalt.en": "their translations by the worst",
    "entities.jsonl": "40 other sentences in five language pairs, with names that went wrong",
}
_NOTE = """\
The files of `steelyard demo`. All of it is invented: no person, no system, no metric is real.

{files}

Every command of Steelyard's README runs here as it stands. The pages of the documentation call this
folder steelyard-demo, and run beside it.
"""
_MODELS = ("Amber", "Dolomite", "Kaolin")
_PLAIN = ("Kaolin", "Basalt")
_MAJOR = -5.0  # what a major error costs: an output that lost as much counts as wrong


def write_files(folder: Path) -> None:
    """Write the files, and what each of them is, to a folder, which is made if need be."""
    files.make_folder(folder)
    for path in embedded.FILES:
        files.copy(path, folder / path.name)
    es = embedded.demo_set(texts=True)
    files.write_text(folder / "answers.csv", _answers(es))
    for name, text in _plain(es.select(domain="news")).items():
        files.write_text(folder / name, text)
    width = max(map(len, CONTENTS))
    told = "\n".join(f"{name:{width}}  {what}" for name, what in CONTENTS.items())
    files.write_text(folder / "README.txt", _NOTE.format(files=told))


def _answers(es: EvalSet) -> str:
    """Make a table of right and wrong: an output without a major error is right."""
    rows = (
        (model, segment, int(value > _MAJOR))
        for model in _MODELS
        for segment, value in zip(
            es.segments.ids, es["mqm"].values[es.systems.index(model)], strict=True
        )
        if not np.isnan(value)
    )
    return delimited(("model", "id", "correct"), rows, ",")


def _plain(es: EvalSet) -> dict[str, str]:
    """Give sources, references and outputs as files of lines."""
    segments = es.segments
    assert segments.sources is not None
    columns = {"source.de": segments.sources, "reference.en": segments.references["refA"]}
    columns |= {f"{name}.en": es.outputs[name] for name in _PLAIN}
    return {
        name: "".join(f"{text}\n" for text in texts if text is not None)
        for name, texts in columns.items()
    }
