"""Entity fidelity of translations: knowledge base, linker, language filter, score, explanation."""
