"""The JAX side of the engine, and beside it the implementations of the problems that are shipped.

Modules whose name starts with an underscore belong to the engine; every other one is the implementation of the problem
that it is named after. JAX is imported when the side is started, not when this package is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.sides import ImplementationSide


def create_side() -> ImplementationSide:
    """The JAX side, not started yet."""
    from ._side import JaxSide

    return JaxSide()
