"""Strategies, one a module: found by name, described in docs/strategies.md."""
