"""Charts, one file for each question."""
