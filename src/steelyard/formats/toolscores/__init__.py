"""Scores as the tools that compute metrics write them."""
