"""Which releases of JAX the probes of contracts are known to be right on."""

from __future__ import annotations

import jax
from jax.extend import core
from jax.extend.core import primitives

OLDEST, NEWEST = (0, 10), (0, 12)
"""The releases that the tests of contracts run on; the probes read primitives' names that JAX does not document."""


KNOWN_PRIMITIVES = frozenset(
    primitive.name for primitive in vars(primitives).values() if isinstance(primitive, core.Primitive)
)
"""The names of the primitives of the installed JAX, as a contract may name them."""


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
