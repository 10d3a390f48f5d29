"""Running cases: one at a time in a process, and supervised across processes."""
