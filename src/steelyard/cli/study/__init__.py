"""The command ``steelyard study``: a file for each kind of question."""
