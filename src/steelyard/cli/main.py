"""The command ``steelyard``: finds the subcommand, turns errors into a line and an exit code."""

from __future__ import annotations

import errno
import gc
import io
import os
import signal
import sys
from types import FrameType
from typing import Any

import click

from steelyard import __version__
from steelyard.cli.flags import spoken
from steelyard.cli.group import LazyGroup
from steelyard.core.errors import (
    STDIN,
    OutOfMemoryError,
    SteelyardError,
    UsageError,
    printable,
)
from steelyard.formats.files import kept

#: One line of help for each command; its module, of the same name, loads when it is called.
COMMANDS = {
    "compare": "Is A better than B, and how sure are we?",
    "gate": "May this change ship: pass, fail, undecided?",
    "meta": "Which metric can you trust?",
    "judge": "Which LLM judge can you trust?",
    "spans": "Which metric finds the errors that people mark?",
    "human": "What do these raw ratings say?",
    "score": "How good is this translation?",
    "check": "Which numbers, names and terms are wrong in this translation?",
    "study": "Would the conclusion hold on other data?",
    "reproduce": "Do you reproduce the papers?",
    "kb": "What is in this knowledge base; what does it link here?",
    "report": "Let me see and share it: one HTML file.",
    "data": "What is in this file; convert it; get WMT data.",
    "demo": "Show what Steelyard does, on data that comes with it.",
}
#: What newcomers should type, and what it shows.
FIRST = {
    "steelyard demo": "What Steelyard does, on data that comes with it.",
    "steelyard data info FILE": "What is in your file.",
    "steelyard compare FILE": "Which system is better, and how sure that is.",
}
#: Other words that people try, by the command that has the answer.
_MEANT = {
    "compare": "rank ranking test battles arena significance",
    "score": "evaluate bleu metric",
    "meta": "meta-evaluate metaeval correlation",
    "human": "mqm ratings agreement",
    "spans": "errors error-spans",
    "study": "power",
    "data": "info convert formats get download load",
    "report": "plot html",
    "demo": "example tutorial",
    "kb": "entities link",
}
OTHER_NAMES = {word: command for command, words in _MEANT.items() for word in words.split()}


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    also=OTHER_NAMES,
    first=FIRST,
    options_metavar="",
    subcommand_metavar="COMMAND INPUT... [OPTIONS]",
)
@click.version_option(__version__, prog_name="steelyard")
def cli() -> None:
    """Find out which system is better, and which metric or LLM judge you can trust.

    steelyard COMMAND --help shows options, what files look like, and examples.
    """


#: Signals by which batch systems, containers and closed terminals end a process.
_ENDING = ("SIGTERM", "SIGHUP")
_received: list[int] = []
_ERROR = "error:"
_TWICE = "'-' twice: standard input can be read as one file only"
#: What the system says of a disk that takes no more.
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad usage or input, 1 anything else."""
    arguments = sys.argv[1:] if argv is None else argv
    gc.set_threshold(100_000)  # modules and tables are many objects, of which little is garbage
    _open_streams()
    ending = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    for number in ending:
        if signal.getsignal(number) is signal.SIG_DFL:  # what is ignored (nohup) stays so
            signal.signal(number, _interrupt)
    code = run(arguments)
    for number in (signal.SIGINT, *ending):  # all is done: nothing is left to be interrupted
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


class _MessageFile(io.FileIO):
    """Standard error: a message that can't be written is dropped, and costs no result."""

    def write(self, message: Any) -> int:
        try:
            return super().write(message) or 0
        except OSError:
            return memoryview(message).nbytes


def _open_streams() -> None:
    """Open what the caller closed (``>&-``), and make standard error forgive failed writes.

    A closed descriptor would go to the next file that is opened: messages would be written into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it takes the lowest free one
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if sys.stderr is sys.__stderr__:  # not a stand-in, as in tests
        encoding = "utf-8" if sys.stderr is None else sys.stderr.encoding
        messages = io.BufferedWriter(_MessageFile(2, "w", closefd=False))
        sys.stderr = io.TextIOWrapper(
            messages, encoding=encoding, errors="backslashreplace", line_buffering=True
        )


def _interrupt(number: int, _frame: FrameType | None) -> None:
    """Take a signal for Ctrl-C: workers end, folders are removed."""
    _received.append(number)
    raise KeyboardInterrupt


def run(arguments: list[str]) -> int:
    """Run the command line and give the exit code."""
    debug = "--debug" in arguments
    try:
        if arguments.count(STDIN) > 1:
            raise UsageError(_TWICE)  # noqa: TRY301 - it is printed like any other
        with kept():
            # What was typed stays at hand, for the next useful command (cli/proposals.py).
            result = cli.main(
                args=arguments, prog_name="steelyard", standalone_mode=False, obj=tuple(arguments)
            )
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away (head, less)
        _forget_output()
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last line of defence
        message, code = _last_words(error)
        if debug:
            import traceback

            traceback.print_exc()
        from steelyard.core.display import Screen

        lines = Screen.of(sys.stderr).lines(message, "error", _ERROR)
        click.echo("\n".join(lines), err=True)
        return code
    return result if isinstance(result, int) else 0


def _last_words(error: BaseException) -> tuple[str, int]:
    """Give the line that is printed, and the exit code."""
    if _received:  # whatever else came of it
        return f"{_ERROR} terminated", 128 + _received[0]
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error.format_message(), 2
    if isinstance(error, (click.exceptions.Abort, KeyboardInterrupt)):
        message, code = "interrupted", 1
    elif isinstance(error, click.ClickException):  # whose choices are indented by tabs
        lines = error.format_message().splitlines()
        message, code = "\n".join(line.strip() for line in lines), 2
    elif isinstance(error, OSError) and error.errno in _FULL:
        if error.filename is None:  # files are written by code that names them
            _forget_output()
        target = error.filename or "standard output"
        message, code = f"{target} can't be written ({error.strerror})", 2
    else:
        if isinstance(error, MemoryError) or "failed to map segment" in str(error):
            error = SteelyardError(spoken(str(OutOfMemoryError.at()), {"jobs": "--jobs"}))
        if isinstance(error, SteelyardError):
            message, code = str(error), error.exit_code
        else:
            name = type(error).__name__
            message, code = f"{name}: {error} (run with --debug for the traceback)", 1
    return printable(f"{_ERROR} {' '.join(message.splitlines())}"), code


def _forget_output() -> None:
    """Keep Python from complaining when it flushes what can't be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
