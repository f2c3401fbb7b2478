"""Studies of designs: what is shared, and how much it would take."""
