"""Strengths of systems from who beats whom."""
