"""Moved."""

from steelyard.cli.next_command import *  # noqa: F403
