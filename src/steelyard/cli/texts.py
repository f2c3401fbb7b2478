"""Options of commands that score texts: plain files, references, metrics of one's own."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import InputOptions, Names, Parsed, as_object
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet

if TYPE_CHECKING:
    from steelyard.scoring.metric import Metric
    from steelyard.scoring.run import Scores


@dataclass(frozen=True)
class TextOptions:
    """Which texts the user wants scored, and by what."""

    src: Path | None
    ref: tuple[Path, ...]
    allow_empty: bool
    refs: tuple[str, ...] | None
    metric: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    score_files: tuple[tuple[str, str], ...]
    no_cache: bool
    kb: Path | None

    @property
    def plain(self) -> bool:
        """Whether inputs are plain files of outputs."""
        return self.src is not None or bool(self.ref)

    @property
    def asks(self) -> bool:
        """Whether any metric is asked for."""
        return bool(self.metric or self.commands or self.score_files)

    def load(self, inputs: tuple[str, ...], options: InputOptions) -> EvalSet:
        """Load plain files of texts or of numbers, or whatever else inputs are."""
        from steelyard.formats import plaintext

        paths = [Path(name) for name in inputs]
        own = {name for name, _ in (*self.commands, *self.score_files)}
        options = replace(
            options,
            lower_is_better=tuple(n for n in options.lower_is_better if n not in own),
            higher_is_better=tuple(n for n in options.higher_is_better if n not in own),
        )
        if self.plain:
            es = plaintext.read(paths, self.src, self.ref, allow_empty=self.allow_empty)
        elif paths and all(plaintext.is_numbers(path) for path in paths):
            es = plaintext.read_scores(paths)
        else:
            return options.load(inputs)
        return options.select(es)

    def score(self, es: EvalSet, options: InputOptions) -> Scores:
        """Run all metrics."""
        from steelyard.scoring.run import score

        refs = self.refs
        if refs is None and self.ref:  # all that were given, in this order
            from steelyard.formats.plaintext import named

            refs = tuple(named(self.ref, "reference"))
        metrics: list[str | Metric] = [*self.metric, *self._own(options)]
        if not metrics:
            raise UsageError("texts need a metric to be scored by; for example: --metric chrf")
        if "kobe" in self.metric and not (es.language_pair or "").partition("-")[2]:
            raise UsageError(
                "kobe needs the languages: name them by --src-lang and --tgt-lang, or by --lp"
            )
        return score(es, metrics, references=refs, options=self._settings())

    def options_of(self, metric: str) -> dict[str, Any]:
        """Give what ``--set`` and ``--kb`` say of one metric."""
        return self._settings().get(metric, {})

    def _settings(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for key, value in self.settings:
            metric, dot, option = key.rpartition(".")
            if not (metric and dot and option):
                raise UsageError(f"--set {key}={value}: expected METRIC.OPTION=VALUE")
            found.setdefault(metric, {})[option] = _value(value)
        if self.kb is not None:
            if "kobe" not in self.metric:
                raise UsageError("--kb is for kobe, which --metric does not name")
            found.setdefault("kobe", {})["kb"] = self.kb
        return found

    def _own(self, options: InputOptions) -> list[Metric]:
        from steelyard.scoring.external import Command, ScoreCache, ScoreFile

        cache = None if self.no_cache else ScoreCache.default()
        lower, higher = set(options.lower_is_better), set(options.higher_is_better)

        def direction(name: str) -> dict[str, bool]:
            known = name in lower | higher
            return {"higher_is_better": name not in lower, "direction_given": known}

        return [
            *(Command.parse(n, line, cache=cache, **direction(n)) for n, line in self.commands),
            *(ScoreFile(n, path, **direction(n)) for n, path in self.score_files),
        ]


def _value(text: str) -> Any:
    """Read true, false and numbers; anything else is a text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


class Named(Parsed):
    """A name and something, as NAME=THING."""

    def __init__(self, thing: str) -> None:
        self.name = f"NAME={thing}"

    def parse(self, text: str) -> tuple[str, str]:
        """Split at the first equals sign."""
        name, _, thing = text.partition("=")
        if not (name.strip() and thing.strip()):
            raise ValueError(f"'{text}' is not of the form {self.name}")
        return name, thing


class Program(Named):
    """A command with a name before it, or else named by its program."""

    def __init__(self) -> None:
        super().__init__("COMMAND")
        self.name = "[NAME=]COMMAND"

    def parse(self, text: str) -> tuple[str, str]:
        """Split at an equals sign that stands behind a single word, or name it by its program."""
        if re.match(r"[^\s=]*=", text):
            return super().parse(text)
        words = text.split()
        scripts = (word for word in words if word.endswith((".py", ".sh", ".pl", ".rb")))
        program = next(scripts, words[0] if words else "")
        if not program or text.startswith("="):
            raise ValueError(f"'{text}' is not of the form {self.name}")
        return Path(program).stem, text


_FILE = click.Path(path_type=Path)
_TEXT = (
    click.option("--metric", type=Names(), default=(), help="Metrics: kobe bleu chrf chrf++ ter "
                 "eed character length copy, and those of installed packages."),
    click.option("--refs", type=Names(), help="References to use, by name; needed if there are "
                 "several."),
    click.option("--src", type=_FILE, metavar="FILE",
                 help="Source of plain text files, one line per segment."),
    click.option("--ref", type=_FILE, multiple=True, metavar="FILE",
                 help="Reference of plain text files (repeatable)."),
    click.option("--allow-empty", is_flag=True,
                 help="Empty lines of plain text files are empty texts, not errors."),
    click.option("--set", "settings", type=Named("VALUE"), multiple=True,
                 help="An option of a metric, as bleu.tokenize=intl (repeatable)."),
    click.option("--command", "commands", type=Program(), multiple=True,
                 help="A metric of your own, as 'mine=my-metric {src} {out} {ref}': a program that "
                 "gives a number per text, from files or from JSON lines (repeatable)."),
    click.option("--scores", "score_files", type=Named("FILE"), multiple=True,
                 help="A metric that is a table with such a column, or a file per system with a "
                 "number per line: {system} in its name (repeatable)."),
    click.option("--kb", type=_FILE, metavar="DIR",
                 help="Knowledge base of kobe; by default the embedded one."),
    click.option("--no-cache", is_flag=True, help="Neither use nor keep scores of --command."),
)  # fmt: skip


#: Adds the options of texts and metrics; the command receives them as one ``texts``.
text_options = as_object("texts", TextOptions, _TEXT)
