"""Plain values: what the engine talks about, with no side effects."""
