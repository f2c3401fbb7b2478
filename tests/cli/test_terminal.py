"""What a person sees: transcripts of commands on a terminal of 80 columns.

Commands run in this process; standard output and standard error are one pseudo-terminal, as for a
person, or pipes, as for a script.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from steelyard.cli.main import run
from steelyard.cli.output import progress_of
from steelyard.cli.params import OutputOptions
from steelyard.core.display import text_width
from steelyard.demo import embedded

pty = pytest.importorskip("pty", reason="no pseudo-terminals here")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")

DEMO = {path.name.split(".")[0]: str(path) for path in embedded.FILES}
SCORES = [DEMO["scores"], "--lower-is-better", "edit-rate-refA", "--bootstrap", "50"]
PEOPLE = ["--human", "ann,bo,cy"]
#: Names that break tables: long ones that differ at the end or in the middle, wide letters, codes
#: that a terminal would obey, what turns the direction of writing, a comma, a hyphen in front.
ODD = (
    "a" * 70,
    "a" * 69 + "b",
    "b" * 30 + "1" + "b" * 30,
    "b" * 30 + "2" + "b" * 30,
    "系统" * 20,
    "evil\x1b[31mred",
    "turned\u202ename",
    "with, a comma",
    "-hyphen",
    "e\u0301" * 5,
)
COMMANDS = {
    "compare": ["compare", *SCORES, "--score", "learned-refA"],
    "compare-pair": ["compare", *SCORES, "--score", "mqm", "--pair", "Kaolin,Dolomite"],
    "compare-scores": ["compare", *SCORES, "--score", "mqm,learned-refA,random-src"],
    "compare-autorank": ["compare", *SCORES, "--score", "mqm,da,kin-src", "--by", "autorank"],
    "compare-pairwise": ["compare", *SCORES, "--score", "mqm", "--by", "mean", "--pairwise"],
    "compare-odd": ["compare", "{odd}", "--score", "x"],
    "compare-odd-several": ["compare", "{odd}"],
    "compare-battles": ["compare", "--battles", "{battles}", "--bootstrap", "50"],
    "meta": ["meta", *SCORES, "--human", "mqm", "--metrics", "learned-refA,kin-src,random-src"],
    "meta-odd": ["meta", "{odd}", "--human", "x", "--bootstrap", "50"],
    "human-da": ["human", DEMO["ratings"], "--protocol", "da"],
    "human-mqm": ["human", DEMO["errors"], "--protocol", "mqm"],
    "judge": ["judge", DEMO["verdicts"], *PEOPLE],
    "judge-bias": ["judge", "bias", DEMO["verdicts"], *PEOPLE],
    "judge-correct": ["judge", "correct", DEMO["verdicts"], *PEOPLE, "--judge", "careful-judge"],
    "judge-plan": ["judge", "plan", DEMO["verdicts"], *PEOPLE, "--judge", "careful-judge",
                   "--half-width", "0.05"],
    "judge-drift": ["judge", "drift", DEMO["verdicts"], DEMO["verdicts"], *PEOPLE],
    "score": ["score", DEMO["entities"], "--metrics", "bleu,chrf,ter", "--lp", "de-en"],
    "study": ["study", "disagreement", DEMO["scores"], "--score", "mqm,da", "--draws", "10"],
    "data-info": ["data", "info", DEMO["scores"], "--human", "mqm"],
    "data-info-raw": ["data", "info", DEMO["ratings"]],
    "data-info-odd": ["data", "info", "{odd}"],
    "data-check": ["data", "check", DEMO["scores"], "--human", "mqm"],
    "data-formats": ["data", "formats"],
    "demo": ["demo", "--no-report"],
    "kb-info": ["kb", "info"],
    "reproduce": ["reproduce", "ties", "--data", "{empty}"],
}  # fmt: skip
FINDING = {"data-check"}  # which exits with 2 where it finds errors
WITHOUT_WARNINGS = re.compile(r"^warning:", re.MULTILINE)
BAR = re.compile(r"\x1b\[\?25l.*\x1b\[2K", re.DOTALL)  # where the machine is busy
STYLE = re.compile(r"\x1b\[(?:0|1|2|31|32|33|36)m")


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> dict[str, str]:
    """Files of awkward names, and a folder without anything."""
    folder = tmp_path_factory.mktemp("odd")
    rng = np.random.default_rng(0)
    with (folder / "odd.csv").open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["system", "segment", "x", "y" * 40, "y" * 39 + "z"])
        for i, system in enumerate(ODD):
            for segment in range(20):
                out.writerow([system, segment, *np.round(rng.normal(i / 5, 1, 3), 4)])
    with (folder / "battles.csv").open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["model_a", "model_b", "winner"])
        for _ in range(300):
            i, j = rng.choice(len(ODD), 2, replace=False)
            out.writerow([ODD[i], ODD[j], rng.choice(["model_a", "model_b", "tie"])])
    (folder / "empty").mkdir()
    return {
        "{odd}": str(folder / "odd.csv"),
        "{battles}": str(folder / "battles.csv"),
        "{empty}": str(folder / "empty"),
    }


def filled(name: str, places: dict[str, str]) -> list[str]:
    return [places.get(word, word) for word in COMMANDS[name]]


class Terminal:
    """A pseudo-terminal in the place of standard output and standard error."""

    def __init__(self, width: int) -> None:
        self.master, self.slave = pty.openpty()
        size = np.array([50, width, 0, 0], dtype=np.uint16).tobytes()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, size)
        self._heard: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        while True:
            try:
                found = os.read(self.master, 1 << 16)
            except OSError:  # nobody writes any more
                return
            if not found:
                return
            self._heard.append(found)

    def __enter__(self) -> Self:
        self._reader.start()
        self._before = sys.stdout, sys.stderr
        self._files = [os.fdopen(os.dup(self.slave), "w", encoding="utf-8") for _ in range(2)]
        sys.stdout, sys.stderr = self._files
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._before
        for file in self._files:
            file.close()
        os.close(self.slave)
        self._reader.join()
        os.close(self.master)

    @property
    def text(self) -> str:
        return b"".join(self._heard).decode().replace("\r\n", "\n")


@pytest.fixture
def on_terminal(monkeypatch):
    """Run a command on a terminal, and give its exit code and what is seen."""
    pytest.importorskip("sacrebleu")  # its colorama would keep the first terminal for ever
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def call(width: int, arguments: list[str]) -> tuple[int, str]:
        with Terminal(width) as terminal:
            code = run(arguments)
        return code, terminal.text

    return call


@pytest.mark.parametrize("name", COMMANDS)
def test_transcript(name, places, on_terminal):
    width = 80
    code, seen = on_terminal(width, filled(name, places))
    assert code == 0 or (name in FINDING and code == 2), seen
    plain = STYLE.sub("", BAR.sub("", seen))
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    wide = [line for line in plain.split("\n") if text_width(line) > width]
    assert not wide
    assert first_sentence(plain).endswith(".")
    warned = WITHOUT_WARNINGS.search(plain)
    if warned and "----" in plain:
        assert plain.rindex("----") < warned.start()


def first_sentence(text: str) -> str:
    """Give the first paragraph line with what is set in below it."""
    first, *more = text.split("\n")
    for line in more:
        if not line.startswith("  "):
            break
        first += f" {line.strip()}"
    return first


@pytest.mark.parametrize("name", ["compare", "compare-odd", "meta", "judge", "judge-correct"])
def test_headings_and_what_is_stressed_have_colours(name, places, on_terminal):
    _, seen = on_terminal(80, filled(name, places))
    assert "\x1b[36m" in seen
    assert "\x1b[1m" in seen


def test_no_colours_where_they_are_not_wanted(on_terminal, monkeypatch, capsys):
    command = ["data", "info", DEMO["ratings"]]
    assert "\x1b" in on_terminal(80, command)[1]
    for variable, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(variable, value)
            assert "\x1b" not in on_terminal(80, command)[1]
    with monkeypatch.context() as changed:
        changed.setenv("FORCE_COLOR", "1")
        assert run(command) == 0
        assert "\x1b[36m" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["compare", "compare-pair", "compare-battles", "compare-autorank",
                                  "meta", "human-mqm", "score"])  # fmt: skip
def test_one_shape_of_rankings(name, places, capsys):
    assert run([*filled(name, places), "--json"]) == 0
    ranking = json.loads(capsys.readouterr().out)["ranking"]
    what = "metric" if name == "meta" else "system"
    assert all(list(own) == [what, "rank", "score", "low", "high", "tier"] for own in ranking)
    ranks = [own["rank"] for own in ranking]
    assert ranks[0] == 1
    assert ranks == sorted(ranks)
    for own in ranking:
        if own["low"] is not None:
            assert own["low"] <= own["high"]


FOLLOWED = ("compare", "compare-scores", "compare-odd-several", "compare-battles", "meta",
            "human-da", "judge", "judge-plan", "score", "data-info", "data-info-odd")  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_next_command_works_as_it_is_printed(
    name, places, on_terminal, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    _, seen = on_terminal(100, filled(name, places))
    lines = STYLE.sub("", seen).replace("\\\n", " ").split("\n")
    (proposed,) = [line for line in lines if line.startswith("next: ")]
    program, *arguments = shlex.split(proposed.removeprefix("next: "))
    assert program == "steelyard"
    assert run(arguments) == 0, capsys.readouterr().err


def test_nothing_is_proposed_that_could_not_work(places, monkeypatch, capsys):
    # Names that are shown by escapes can't be typed; what came from a pipe can't be read again.
    assert (
        run(["compare", places["{odd}"], "--score", "x", "--systems", "evil\x1b[31mred,-hyphen"])
        == 0
    )
    assert "next:" not in capsys.readouterr().err
    table = "system,segment,x\nA,1,0.5\nA,2,0.7\nB,1,0.2\nB,2,0.3\n"
    with (Path(places["{empty}"]) / "in.csv").open("w+", encoding="utf-8") as stream:
        stream.write(table)
        stream.seek(0)
        monkeypatch.setattr(sys, "stdin", stream)
        assert run(["compare", "-"]) == 0
    assert "next:" not in capsys.readouterr().err


def test_a_bar_shows_the_time_left_and_goes(on_terminal):
    with Terminal(80) as terminal, progress_of("counting", OutputOptions()) as progress:
        assert progress is not None
        time.sleep(1.05)
        for done in range(4):
            progress(done, 4)
    assert re.search(r"counting.*(\d:\d\d|-:--)", terminal.text)
    assert terminal.text.rstrip().endswith("\x1b[2K")


def test_work_of_a_moment_has_no_bar(on_terminal):
    with Terminal(80) as terminal, progress_of("counting", OutputOptions()) as progress:
        assert progress is not None
        progress(1, 2)
    assert terminal.text == ""
