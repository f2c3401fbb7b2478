"""Groups of commands whose modules load only when a command of theirs is called."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from steelyard.core.errors import hint


class LazyGroup(click.Group):
    """A group that lists its commands without importing them.

    ``lazy`` has, by name, where a command stands (``module:function``) and one line of help.
    """

    def __init__(self, *, lazy: Mapping[str, tuple[str, str]], **settings: Any) -> None:
        super().__init__(**settings)
        self.lazy = lazy

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

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find a command, or say which one may have been meant."""
        if args and args[0] not in self.lazy:
            raise click.UsageError(f"no command '{args[0]}'; {hint(args[0], self.lazy)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands with their one line of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in self.lazy.items()])
