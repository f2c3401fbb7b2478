"""Raw human judgements to scores: direct assessment, MQM and ESA, rankings, and DARR."""
