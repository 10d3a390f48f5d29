"""Which releases of JAX the probes of contracts are known to be right on."""

from __future__ import annotations

import jax

OLDEST, NEWEST = (0, 10), (0, 12)
"""The releases that the tests of contracts run on; the probes read primitives' names that JAX does not document."""


def find_unknown() -> str:
    """Why the probes cannot be relied on with the installed JAX; empty where they can."""
    release = jax.__version_info__[:2]
    if not OLDEST <= release <= NEWEST:
        return f"this check is known to be right on jax {_name(OLDEST)} to {_name(NEWEST)}; found {jax.__version__}"
    if getattr(jax.config, "jax_remat3", False):
        return "the setting jax_remat3 changes what jax.checkpoint is made of; switch it off"
    return ""


def _name(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))
