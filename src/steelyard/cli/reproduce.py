"""``steelyard reproduce``: the papers' figures beside ours."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.engine import Answer, Call, command
from steelyard.cli.flags import spoken
from steelyard.cli.params import Known

if TYPE_CHECKING:
    from collections.abc import Callable

    from steelyard.reproduction.reproduction import Reproduction

#: name: module:function, which takes the places of data and ``rng``.
PAPERS = {
    "kobe": "steelyard.reproduction.gekhman2020:reproduce_kobe",
    "paired": "steelyard.reproduction.peyrard2021:reproduce_paired",
    "spa": "steelyard.reproduction.thompson2024:reproduce_spa",
    "ties": "steelyard.reproduction.stanchev2020:reproduce_ties",
}
PLOTS = ("published",)


@command(
    click.Argument(["paper"], type=Known(sorted(PAPERS)), metavar="PAPER"),
    click.Option(
        ["--data"],
        type=click.Path(),
        metavar="DIR",
        multiple=True,
        help="Folder that holds data sets: wmt23/ of steelyard data get, bt-eval/ and so on "
        "(repeatable; default: data in STEELYARD_SHARED if that is set, else what data get "
        "fetched).",
    ),
    inputs="",
    plots=" ".join(PLOTS),
    examples=(
        "steelyard data get wmt23 && steelyard reproduce spa",
        "steelyard reproduce paired --data frames",
    ),
)
def reproduce(call: Call) -> Answer:
    """Compute a paper's figures, and print them beside the published ones.

    Papers: kobe (KoBE: Knowledge-Based Machine Translation Evaluation), paired (Better than
    Average: Paired Evaluation of NLP Systems), spa (Soft Pairwise Accuracy), ties (Towards a Better
    Evaluation of Metrics for Machine Translation). Every data set that is there is used, none is
    needed: figures without their data are listed, with what was looked for.

    Verdicts: equal (to the printed digits), within sampling error (by two standard errors of the
    difference, or by more where many cells are judged together), paper at fault (a misprint, a
    false claim or a tool that never ends; the note says which), differs (the note says why), not
    at hand (nothing is printed, or the paper's data are not here; ours is shown where other data
    give one). "match" in the JSON is true, true, false, false, null.
    """
    from steelyard.reproduction.places import Places

    figures, paper = call.figures(PLOTS), call.settings["paper"]
    places = Places.of(call.settings["data"] or None)
    module, _, name = PAPERS[paper].partition(":")
    run: Callable[..., Reproduction] = getattr(import_module(module), name)
    with call.progress(f"reproducing {paper}"):
        result = run(places, rng=call.output.seed)
    rows = (replace(row, note=spoken(row.note) if row.note else None) for row in result.rows)
    result = replace(result, rows=tuple(rows))

    def draw(_: str) -> Any:
        from steelyard.report.figures.curves import draw_reproduction

        return draw_reproduction(result)

    return Answer(result=result, figures=figures, draw=draw)
