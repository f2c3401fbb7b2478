"""The papers' own figures beside ours: one module, and one file of published cells, per paper."""
