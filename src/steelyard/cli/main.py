"""The command ``steelyard``: finds the subcommand, turns errors into a line and an exit code."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

import click

from steelyard import __version__
from steelyard.errors import SteelyardError, hint, printable
from steelyard.formats.streams import kept

#: name: (module:function, one line of help); modules load only when their command is called.
COMMANDS = {
    "compare": ("steelyard.cli.compare:compare", "Is A better than B, and how sure are we?"),
    "meta": ("steelyard.cli.meta:meta", "Which metric, or LLM judge, agrees with people?"),
    "human": ("steelyard.cli.human:human", "What do these raw ratings say?"),
    "score": ("steelyard.cli.score:score", "How good is this translation?"),
    "study": ("steelyard.cli.study:study", "Would the verdict survive other data, other rankings?"),
    "reproduce": ("steelyard.cli.reproduce:reproduce", "Do you reproduce the papers?"),
    "kb": (
        "steelyard.cli.kb:kb",
        "What is in this knowledge base; what does it link here?",
    ),
    "report": ("steelyard.cli.report:report", "Let me see and share it: one HTML file."),
    "data": ("steelyard.cli.data:data", "What is in this file; make it that format; get WMT data."),
    "demo": (
        "steelyard.cli.demo:demo",
        "Show what Steelyard does, on the data that comes with it.",
    ),
}


class LazyGroup(click.Group):
    """A group that lists its commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or say which one may have been meant."""
        if args and args[0] not in COMMANDS:
            raise click.UsageError(f"no command '{args[0]}'; {hint(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands with their one line of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: steelyard data info scores.csv --human mqm",
)
@click.version_option(__version__, prog_name="steelyard")
def cli() -> None:
    """Weigh systems, and the scales they are weighed with."""


def main(argv: list[str] | None = None) -> None:
    """Run the command line and exit: 0 done, 2 bad usage or input, 1 anything else."""
    arguments = sys.argv[1:] if argv is None else argv
    sys.exit(run(arguments))


def run(arguments: list[str]) -> int:  # noqa: PLR0911 - one exit for each kind of end
    """Run the command line and give the exit code."""
    debug = "--debug" in arguments
    try:
        with kept():
            result = cli.main(args=arguments, prog_name="steelyard", standalone_mode=False)
    except SteelyardError as error:
        return _fail(str(error), error.exit_code, debug=debug)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return 2
    except click.ClickException as error:
        return _fail(error.format_message(), 2, debug=debug)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return _fail("interrupted", 1, debug=debug)
    except BrokenPipeError:
        # The reader went away (head, less); keep Python from complaining when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of defence
        message = f"{type(error).__name__}: {error} (run with --debug for the traceback)"
        return _fail(message, 1, debug=debug)
    return result if isinstance(result, int) else 0


def _fail(message: str, code: int, *, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    click.echo(printable(f"error: {' '.join(message.splitlines())}"), err=True)
    return code
