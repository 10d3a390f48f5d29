"""The engine: verifies that an implementation agrees with an independent oracle.

It names no framework. The two sides, ``jax_impl`` and ``torch_oracle``, are loaded by name, and only NumPy arrays cross
the borders between them and the engine.
"""
