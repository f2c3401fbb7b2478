"""Files of verdicts: judges beside people, on outputs or on pairs of outputs."""
