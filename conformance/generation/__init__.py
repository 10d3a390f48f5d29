"""Generated cases: strategies that turn a recipe into inputs, the same on every machine."""
