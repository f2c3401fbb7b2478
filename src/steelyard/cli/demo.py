"""``steelyard demo``: what Steelyard does, on simulated data that comes with it.

Each part is a question, the command that answers it on the files that ``--files`` writes, and the
beginning of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.engine import Answer, Call, command
from steelyard.cli.group import pasted
from steelyard.core.options import Options, flag, option
from steelyard.core.progress import each
from steelyard.core.table import Table

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet

_OPENING = (
    "Twelve systems translated 500 German sentences into English. Which system is best, and which "
    "metric can you trust? The data is simulated, so the correct answers are known."
)
_CLOSING = """\
Your own data: a table with the columns system, segment and one for each score.
  steelyard compare FILE.csv              which system is better?
  steelyard meta FILE.csv --human COLUMN  which metric can you trust?
  steelyard data formats                  which other files can be read?"""
_DECLARED = "--human mqm --kind human:da --lower-is-better edit-rate-refA"
_INPUTS = f"scores.csv.gz system-scores.csv texts.jsonl.gz {_DECLARED} --lp de-en"
_REPORT = (
    f"report {_INPUTS} --ratings errors.jsonl.gz --verdicts verdicts.csv.gz "
    "--verdict-raters ann,bo,cy --out report.html"
)
_WIDTH = 77  # of commands, which are indented
_ROWS = 4  # of tables
_CHECKED, _FINDINGS = "Basalt", 3  # whose translations are checked; findings that are printed


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Options):
    """What is written."""

    folder: Path | None = option(
        "folder", None, "Write the demo's files there, too.", flag="--files", metavar="DIR"
    )
    page: Path = option(
        "output", "steelyard-demo.html", "Where the report goes.", flag="--report", metavar="FILE"
    )
    no_report: bool = flag("Write no report.")


@command(
    DemoOptions,
    inputs="",
    hidden="seed out jobs",
    examples=("steelyard demo", "steelyard demo --files steelyard-demo"),
)
def demo(call: Call) -> Answer:
    """Answer every question on simulated systems, texts, annotators and judges."""
    from steelyard.comparison.run import compare
    from steelyard.data.overview import overview
    from steelyard.demo import embedded
    from steelyard.demo.folder import write_files
    from steelyard.human.run import human_scores
    from steelyard.judging.report import judge
    from steelyard.metaevaluation.run import meta_evaluate
    from steelyard.report.explorer import add_ratings

    how, output = call.take(DemoOptions), call.output
    seed = output.seed
    es = add_ratings(embedded.demo_set(texts=True), embedded.ERRORS)
    # Computed once for the terminal and for the page, with the draws of the commands.
    steps: dict[str, Callable[[], Any]] = {
        "data": lambda: overview(es, "mqm"),
        "human": lambda: human_scores(embedded.ERRORS, protocol="mqm", rng=seed),
        "compare": lambda: compare(es, "mqm", rng=seed),
        "meta": lambda: meta_evaluate(es, "mqm", significance=True, rng=seed),
        "judge": lambda: judge(embedded.VERDICTS, human=embedded.RATERS),
        "check": lambda: _checked(es),
    }
    with call.progress("comparing"):
        results = {name: step() for name, step in each(steps.items())}
    wrong = results.pop("check")
    view, rated, compared, weighed, judged = results.values()
    result: dict[str, Any] = {}  # each command prints its own warnings
    if output.as_json:
        result = {name: answer.to_dict() for name, answer in results.items()}
        result["warnings"] = [*view.warnings, *weighed.warnings]
    last = _CLOSING
    if not how.no_report:
        from steelyard.report.options import ReportOptions
        from steelyard.report.page import make_report

        with call.progress("making the report"):
            page = make_report(
                es,
                "mqm",
                options=ReportOptions(title="Demo: twelve simulated systems, German to English"),
                comparison=compared,
                meta=weighed,
                judges=judged,
                rng=seed,
            )
        page.save(how.page)
        result["report"] = str(how.page)
        last = f"All of it on one page: open {how.page} in a browser.\n\n{last}"
    counts = (f"{es.n_systems} systems, {es.n_segments} segments in {len(es.documents)} documents, "
              f"{len(es.human)} human scores, {len(es.metrics)} metrics.")  # fmt: skip
    parts = (
        _part("What is in the data?", f"data info {_INPUTS}", [counts]),
        _part(
            "What do the errors say that experts marked?",
            "human errors.jsonl.gz --protocol mqm",
            rated.answer(),
        ),
        _part(
            "Which system is best?",
            "compare scores.csv.gz --score mqm",
            compared.answer(),
            compared.pieces()[0],
        ),
        _part(
            "Which metric can you trust?",
            f"meta scores.csv.gz system-scores.csv {_DECLARED} --significance",
            weighed.answer(),
            weighed.pieces()[0],
        ),
        _part(
            "Which LLM judge can you trust?",
            "judge verdicts.csv.gz --human ann,bo,cy",
            judged.answer(),
        ),
        _part(
            f"Which numbers, names and terms does {_CHECKED} get wrong?",
            f"check source.de {_CHECKED}.en",
            wrong,
        ),
        _part("Everything on one page?", _REPORT, []),
    )
    folder = how.folder or "demo"
    paste = f"To paste these commands: steelyard demo --files {folder} && cd {folder}"

    def write(to: Path) -> str:
        write_files(to)
        return f"{to}: README.txt there says what the files are"

    return Answer(
        result=result,
        tables=[view.table()],
        words=[_OPENING, paste],
        shown=[*(piece for part in parts for piece in part), last],
        writes=[(how.folder, write)],
    )


def _part(question: str, asked: str, words: Sequence[str], table: Any = None) -> list[Table | str]:
    """Return a question with its command and answer, and the first rows of a table."""
    lines = [f"  {line}" for line in pasted(f"steelyard {asked}", _WIDTH)]
    part: list[Table | str] = ["\n".join([question, *lines, *words])]
    if isinstance(table, Table):
        rows = table.rows[:_ROWS]
        part.append(replace(table, title="", rows=rows, notes=(), rules=frozenset()))
    return part


def _checked(es: EvalSet) -> list[str]:
    """Check a translation, if the extra is installed; return the surest finding of each kind."""
    from steelyard.core.errors import MissingDependencyError
    from steelyard.scoring.check import check

    news = es.select(domain="news")
    sources, outputs = (
        [text for text in texts if text is not None]
        for texts in (news.segments.sources or (), news.outputs[_CHECKED])
    )
    try:
        result = check(sources, outputs, src="de", tgt="en")
    except MissingDependencyError as error:
        return [f"({error})"]
    kinds = {finding.kind: finding for finding in reversed(result.findings)}
    surest = sorted(kinds.values(), key=lambda f: -f.precision)[:_FINDINGS]
    rows = [f"  line {f.segment:>3}, {f.message} [{f.confidence}]" for f in surest]
    return [result.words().settled[0], *rows]
