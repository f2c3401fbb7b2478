"""Which judge can be trusted: judges against annotators, bias, correction, plans, drift."""
