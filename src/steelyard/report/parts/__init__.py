"""Parts of the report, each one question: spread, length, raters, entities."""
