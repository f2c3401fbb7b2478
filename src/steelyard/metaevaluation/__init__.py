"""Which metric agrees with people? Answered here."""
