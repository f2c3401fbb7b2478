"""Raw judgements: ratings, error lists, rankings, battles."""
