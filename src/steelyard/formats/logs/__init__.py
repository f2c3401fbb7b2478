"""Logs of evaluation tools: what was asked of a model, and how its answers were scored."""
