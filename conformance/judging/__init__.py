"""Judging an answer: its structure, its z, and the documented values."""
