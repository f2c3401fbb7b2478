"""Parts of the report, each one question: domains, spread, length, raters, entities."""
