"""Texts, and entities that were found in them."""
