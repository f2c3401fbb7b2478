"""Options of commands that score texts: plain files, references, metrics of one's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.options import InputOptions, as_object
from steelyard.cli.values import Names, Parsed
from steelyard.core.errors import UsageError

if TYPE_CHECKING:
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.entities import EntityAnnotations
    from steelyard.scoring.metric import Metric
    from steelyard.scoring.run import Scores


# The registry of scoring, which --help must not import.
METRICS = ("kobe", "kobe-ref", "m-eta", "bleu", "chrf", "chrf++", "ter", "eed", "character",
            "length", "copy")  # fmt: skip
_KOBE = ("kobe", "kobe-ref")  # which use a knowledge base, or links


@dataclass(frozen=True)
class TextOptions:
    """Which texts the user wants scored, and by what."""

    src: Path | None
    ref: tuple[Path, ...]  # files
    allow_empty: bool
    refs: tuple[str, ...] | None  # names
    metric: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    score_files: tuple[tuple[str, str], ...]
    cache: bool
    kb: Path | None
    links: Path | None

    def __post_init__(self) -> None:
        called = self.refs or ()
        files: list[str | Path] = [one for one in self.ref if _is_file(one)]
        files += [one for one in called if _is_there(one)]
        names = [name for one in self.ref if not _is_file(one) for name in Names().parse(str(one))]
        names += [one for one in called if not _is_there(one)]
        object.__setattr__(self, "ref", tuple(map(Path, files)))
        object.__setattr__(self, "refs", tuple(names) if names else None)

    @property
    def plain(self) -> bool:
        """Whether inputs are plain files of outputs."""
        return self.src is not None or bool(self.ref)

    @property
    def asks(self) -> bool:
        """Whether any metric is asked for."""
        return bool(self.metric or self.commands or self.score_files)

    @property
    def kobe(self) -> tuple[str, ...]:
        """The metrics asked for that are variants of KoBE."""
        return tuple(name for name in self.metric if name in _KOBE)

    def load(
        self, inputs: tuple[str, ...], options: InputOptions
    ) -> tuple[EvalSet, EntityAnnotations | None]:
        """Load plain files of texts or of numbers, or whatever else inputs are.

        Entity annotations are texts, too; they are given beside the set.
        """
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
            return _load_or_annotations(inputs, options)
        return options.select(es), None

    def score(
        self, es: EvalSet, options: InputOptions, annotations: EntityAnnotations | None = None
    ) -> Scores:
        """Run all metrics."""
        from steelyard.scoring.run import score

        refs = self.refs
        if refs is None and self.ref:  # all that were given, in this order
            from steelyard.formats.plaintext import named

            refs = tuple(named(self.ref, "reference"))
        metrics: list[str | Metric] = [*self.metric, *self._own(options)]
        if not metrics:
            raise UsageError("texts need a metric to be scored by; for example: --metrics chrf")
        settings = self._settings()
        linked = annotations is not None or any("links" in settings.get(m, {}) for m in _KOBE)
        if self.kobe and not linked and not (es.language_pair or "").partition("-")[2]:
            raise UsageError(
                "kobe needs the languages: name them by --src-lang and --tgt-lang, or by --lp"
            )
        return score(es, metrics, references=refs, options=settings, annotations=annotations)

    def options_of(self, metric: str) -> dict[str, Any]:
        """Give what ``--set``, ``--kb`` and ``--links`` say of one metric."""
        return self._settings().get(metric, {})

    def _settings(self) -> dict[str, dict[str, Any]]:
        found = settings_of(self.settings, self.metric)
        for name, path in (("kb", self.kb), ("links", self.links)):
            if path is not None and not self.kobe:
                raise UsageError(f"--{name} is for kobe, which --metrics does not name")
            for metric in self.kobe if path is not None else ():
                found.setdefault(metric, {})[name] = path
        return found

    def _own(self, options: InputOptions) -> list[Metric]:
        from steelyard.scoring.external import Command, ScoreCache, ScoreFile

        cache = ScoreCache.default() if self.cache else None
        lower, higher = set(options.lower_is_better), set(options.higher_is_better)

        def direction(name: str) -> dict[str, bool]:
            known = name in lower | higher
            return {"higher_is_better": name not in lower, "direction_given": known}

        return [
            *(Command.parse(n, line, cache=cache, **direction(n)) for n, line in self.commands),
            *(ScoreFile(n, path, **direction(n)) for n, path in self.score_files),
        ]


def _is_file(reference: str | Path) -> bool:
    """Tell a file, also one that is missing, from the name of a reference."""
    return Path(reference).is_file() or _looks_like_one(str(reference))


def _is_there(name: str) -> bool:
    """Tell a file that was given where names are expected."""
    return _looks_like_one(name) and Path(name).is_file()


def _looks_like_one(name: str) -> bool:
    return "." in name or "/" in name


def _load_or_annotations(
    inputs: tuple[str, ...], options: InputOptions
) -> tuple[EvalSet, EntityAnnotations | None]:
    """Load inputs; of entity annotations among them, the texts are a set, and they come along."""
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.entities import EntityAnnotations, merged
    from steelyard.formats.load import JudgementsError

    try:
        return options.load(inputs), None
    except JudgementsError as error:
        found = error.found
        if not any(isinstance(one.value, EntityAnnotations) for one in found):
            raise
    parts = [
        replace(one.value, inputs=one.files, notes=one.notes)
        for one in found
        if isinstance(one.value, EntityAnnotations)
    ]
    links = merged(parts)
    others = [one.value for one in found if isinstance(one.value, EvalSet)]
    for one in found:
        if not isinstance(one.value, (EntityAnnotations, EvalSet)):  # judgements of another kind
            raise JudgementsError(one, one.files[0].path, found)
    settled = replace(options, where=(), ignore=(), columns=())  # which files have seen already
    return settled.load([links.evalset(), *others]), links


def settings_of(
    pairs: Iterable[tuple[str, str]], metrics: Collection[str] = ()
) -> dict[str, dict[str, Any]]:
    """Give what ``--set`` says by metric; a dot more leads into a group of options.

    ``metrics`` are those asked for, whose names may have dots.

    Examples
    --------
    >>> settings_of([("bleu.lowercase", "true"), ("kobe.link.min_population", "5")])
    {'bleu': {'lowercase': True}, 'kobe': {'link': {'min_population': 5}}}
    """
    found: dict[str, dict[str, Any]] = {}
    for key, value in pairs:
        asked = (name for name in metrics if key.startswith(f"{name}."))
        metric = max(asked, key=len, default=key.partition(".")[0])
        path = key.removeprefix(f"{metric}.").split(".") if "." in key else []
        if not (metric and path and all(path)):
            raise UsageError(f"--set {key}={value}: expected METRIC.OPTION=VALUE")
        own = found.setdefault(metric, {})
        for name in path[:-1]:  # a group of options
            own = own.setdefault(name, {})
            if not isinstance(own, dict):
                raise UsageError(f"--set {key}={value}: {metric}.{name} is set to {own!r}, too")
        if isinstance(own.get(path[-1]), dict):
            raise UsageError(f"--set {key}={value}: options of {key} are set, too")
        own[path[-1]] = _value(value)
    return found


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


def _options_of_kobe() -> str:
    from steelyard.kobe.options import KobeOptions, LinkOptions

    own = (one.name for one in fields(KobeOptions) if one.name != "link")
    return ", ".join((*own, *(f"link.{one.name}" for one in fields(LinkOptions))))


_FILE = click.Path(path_type=Path)
_TEXT = (
    click.option("--metrics", "metric", type=Names(METRICS), default=(),
                 help=f"Metrics: {' '.join(METRICS)}, and those of installed packages."),
    click.option("--src", type=_FILE, metavar="FILE",
                 help="Source of plain text files, one line per segment."),
    click.option("--ref", multiple=True, metavar="FILE|NAMES",
                 help="Reference: a plain text file, or its name in inputs that hold several "
                 "(repeatable)."),
    click.option("--refs", type=Names(), hidden=True, help="References by name."),
    click.option("--allow-empty", is_flag=True,
                 help="Empty lines of plain text files are empty texts, not errors."),
    click.option("--set", "settings", type=Named("VALUE"), multiple=True,
                 help="An option of a metric, as bleu.tokenize=intl (repeatable). Those of kobe: "
                 f"{_options_of_kobe()}."),
    click.option("--command", "commands", type=Program(), multiple=True,
                 help="A metric of your own, as 'mine=my-metric {src} {out} {ref}': a program that "
                 "gives a number per text, from files or from JSON lines (repeatable)."),
    click.option("--score-file", "score_files", type=Named("FILE"), multiple=True,
                 help="A metric that is a table with such a column, or a file per system with a "
                 "number per line: {system} in its name (repeatable)."),
    click.option("--kb", type=_FILE, metavar="DIR",
                 help="Knowledge base of kobe; by default the embedded one."),
    click.option("--links", type=_FILE, metavar="PATH",
                 help="Links of another linker for kobe, in place of a knowledge base: entity "
                 "annotations of the texts, as JSON lines or a folder of the KoBE release."),
    click.option("--cache", is_flag=True,
                 help="Keep the scores of --command, and use those that the same command line gave "
                 "the same texts."),
)  # fmt: skip


#: Adds the options of texts and metrics; the command receives them as one ``texts``.
text_options = as_object("texts", TextOptions, _TEXT)
