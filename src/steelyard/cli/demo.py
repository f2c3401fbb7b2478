"""``steelyard demo``: everything there is, on the data that comes with Steelyard."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit, note, shown_progress
from steelyard.cli.helping import command
from steelyard.cli.options import OutputOptions, output_options
from steelyard.core.errors import MissingDependencyError
from steelyard.core.telling import tell

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.kobe.findings import KobeReport


@command(
    examples=("steelyard demo", "steelyard demo --export steelyard-demo"),
)
@click.option("--export", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Also copy the demo's files there, to try other commands on.")  # fmt: skip
@click.option("--report", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              default="steelyard-demo.html", show_default=True,
              help="Where the report goes, to be opened in a browser.")  # fmt: skip
@click.option("--no-report", is_flag=True, help="Write no report.")
@partial(output_options, unused=("seed", "out"))
def demo(export: Path | None, page: Path, no_report: bool, output: OutputOptions) -> None:  # noqa: FBT001
    """Show what Steelyard does, on simulated scores and sentences written for it."""
    from steelyard.comparison.run import compare
    from steelyard.data.overview import overview
    from steelyard.demo import embedded
    from steelyard.judging.run import judge
    from steelyard.metaevaluation.run import meta_evaluate

    es = embedded.demo_set()
    view = overview(es, "mqm")
    texts = {lp: embedded.demo_texts(lp) for lp in embedded.ENTITY_PAIRS}
    with shown_progress("weighing, comparing, linking", output):
        # One computation for the terminal and for the page, with the draws that the commands make.
        tell(0, 4)
        weighed = meta_evaluate(es, "mqm", significance=True, rng=output.seed)
        tell(1, 4)
        compared = compare(es, "mqm", by=["mean", "bt"], rng=output.seed)
        tell(2, 4)
        judged = judge(embedded.VERDICTS, human=embedded.RATERS)
        tell(3, 4)
        linked = _entities(texts["de-en"])
    result: dict[str, Any] = {
        "data": view.to_dict(),
        "compare": compared.to_dict(),
        "meta": weighed.to_dict(),
        "judge": judged.to_dict(),
        "sentences": {lp: es.n_segments for lp, es in texts.items()},
        "warnings": [*view.warnings, *weighed.warnings],
    }
    if isinstance(linked, MissingDependencyError):
        names = f"({linked})"
    else:
        result["kobe"] = linked.to_dict()
        names = linked.table().text()
    count = sum(es.n_segments for es in texts.values())
    sentences = (
        f"demo sentences: {count} with the outputs of {texts['de-en'].n_systems} translators, "
        f"{', '.join(texts)}; some get a name or a number wrong"
    )
    parts = (
        "What is in the data (steelyard data info)",
        f"{view.summary()}\n\n{view.table().text()}",
        "Which metric agrees with people (steelyard meta): ranks are clusters, tested at 5 %",
        weighed.table().text(),
        "Which system is better by mqm, as people judged (steelyard compare): means, and wins",
        compared.table().text(),
        "Which judge deserves to be believed (steelyard judge), of two on pairs of these systems",
        judged.summary(),
        sentences,
        "Which names and numbers they keep (steelyard score --metric kobe), German to English",
        names,
    )
    text = "\n\n".join(parts)
    if not no_report:
        from steelyard.report.page import make_report

        with shown_progress("making the report", output):
            made = make_report(
                es, "mqm", comparison=compared, meta=weighed, judges=judged, rng=output.seed
            )
        made.save(page)
        result["report"] = str(page)
        text += f"\n\nAll of it in one page (steelyard report): open {page} in a browser"
    emit(result, [view.table()], output, text)
    if export is not None:
        export.mkdir(parents=True, exist_ok=True)
        for path in embedded.FILES:
            shutil.copyfile(path, export / path.name)
        note(f"copied the demo's files to {export}", output)


def _entities(es: EvalSet) -> KobeReport | MissingDependencyError:
    """Score the sentences with the embedded knowledge, if what reads it is installed."""
    from steelyard.kobe.base.packaged import default
    from steelyard.kobe.run import kobe_metric

    try:
        return kobe_metric(es, "de", "en", default())[1]
    except MissingDependencyError as error:
        return error
