"""``steelyard check``: which numbers, names and terms are wrong in a translation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.cli.engine import Answer, Call, command
from steelyard.cli.params import SUFFIXES, TABLES, output_file, path, texts
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, choice, text
from steelyard.formats import files

_LEVELS = ("low", "medium", "high")
_KEPT = frozenset({"src_lang", "tgt_lang", "glossary", "kb"})
_PAIR = """\
Two plain files with a line per segment, or one file with columns of source and target:
  source,target
  Open %s,%s öffnen
"""


@dataclass(frozen=True, kw_only=True)
class CheckOptions(Options):
    """Languages and glossaries, which findings are shown, and what is written."""

    src_lang: str | None = text(None, "Language of the source, as de.", metavar="CODE")
    tgt_lang: str | None = text(None, "Language of the translation, as en.", metavar="CODE")
    glossary: tuple[str, ...] = texts("Terms: CSV, TSV or TBX (repeatable).", metavar="FILE")
    kb: Path | None = path("Knowledge base for names; by default the embedded one.", metavar="DIR")
    min_confidence: str = choice("low", _LEVELS, "Show findings from this confidence on.")
    fail_on: str | None = choice(
        None, _LEVELS, "Exit code 3 if there is a finding of this confidence or a higher one."
    )
    annotate: Path | None = output_file(
        "Write a copy of an XLIFF or PO file with findings as notes."
    )


@command(
    CheckOptions,
    suffixes=(*SUFFIXES, *TABLES, "sarif"),
    hidden="seed jobs",
    shape=_PAIR,
    examples=(
        "steelyard check src.de new.en",
        "steelyard check texts.jsonl --src-lang de --tgt-lang en --fail-on high",
        "steelyard check src.de new.en --out findings.sarif",
    ),
)
def check(call: Call) -> Answer:
    """Find the numbers, dates, names, terms and placeholders that look wrong in a translation.

    INPUT is a source and a translation (plain text), XLIFF, TMX, PO, a table with columns of source
    and target, or texts of several systems (JSON lines). The confidence of a finding is a measured
    precision: high 90% and more, medium 60% and more.
    """
    from steelyard.formats.bitext import write_annotated
    from steelyard.scoring.check import check as check_texts

    how, inputs = call.take(CheckOptions), list(call.inputs)
    if how.annotate is not None and len(inputs) != 1:
        raise UsageError("--annotate copies one XLIFF or PO file, expected one INPUT")
    with call.progress("checking"):
        result = check_texts(
            inputs if len(inputs) > 1 else inputs[0],
            src=how.src_lang,
            tgt=how.tgt_lang,
            glossary=how.glossary,
            kb=how.kb,
        )
    failed = how.fail_on is not None and bool(result.at_least(how.fail_on).findings)
    result = result.at_least(how.min_confidence)
    then = None
    if how.min_confidence != "high":
        then = call.another("check", "--min-confidence", "high", keep=_KEPT)
    return Answer(
        result=result,
        writes=(
            (how.annotate, lambda to: write_annotated(Path(inputs[0]), to, result.by_segment())),
            (call.out(["sarif"]), lambda to: files.write_text(to, result.sarif())),
        ),
        then=then,
        code=3 if failed else 0,
    )
