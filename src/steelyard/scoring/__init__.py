"""Metrics: texts in, scores out."""
