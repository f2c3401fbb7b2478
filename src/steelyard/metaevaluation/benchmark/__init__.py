"""Protocols of shared tasks, as data, and what they make of metrics."""
