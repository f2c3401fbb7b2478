"""Which judge deserves to be believed: judges against people, bias, correction, plans."""
