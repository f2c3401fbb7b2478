"""Groups of commands whose modules load only when a command of theirs is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.helping import laid_out
from steelyard.core.errors import hint

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A group that lists its commands without importing them.

    ``lazy`` has, by name, where a command stands (``module:function``) and one line of help;
    ``also`` other words that people try, and the command that they stand for; ``first`` what
    newcomers should type, and what it shows.
    """

    def __init__(
        self,
        *,
        lazy: Mapping[str, tuple[str, str]],
        also: Mapping[str, str] | None = None,
        first: Mapping[str, str] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.lazy = lazy
        self.also = also or {}
        self.first = first or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name the commands."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command."""
        if cmd_name not in self.lazy:
            return None
        module, _, name = self.lazy[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``help COMMAND`` for ``COMMAND --help``."""
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or say which one may have been meant."""
        if args and args[0] not in self.lazy:
            raise click.UsageError(f"no command '{args[0]}'; {hint(args[0], self.lazy, self.also)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command without importing any."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return click.Command.shell_complete(self, ctx, incomplete)
        return [
            CompletionItem(name, help=about)
            for name, (_, about) in self.lazy.items()
            if name.startswith(incomplete)
        ]

    def get_help(self, ctx: click.Context) -> str:
        """Lay the help out for this terminal."""
        return laid_out(self, ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Say what this is, and where to begin."""
        super().format_help_text(ctx, formatter)
        if self.first:
            with formatter.section("New here? These come first"):
                formatter.write_dl(list(self.first.items()))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands with their one line of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.lazy.items()])
