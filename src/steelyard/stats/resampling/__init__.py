"""Resampling by counts: how often each unit was drawn, never copies of it."""
