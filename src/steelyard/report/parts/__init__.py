"""Parts of the report, each one question: domains, spread, length, changes, raters, entities."""
