"""Moved."""

from steelyard.cli.group import *  # noqa: F403
