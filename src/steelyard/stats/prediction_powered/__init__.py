"""Few labels of people and many verdicts of a judge: estimates that the labels keep honest."""
