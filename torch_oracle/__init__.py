"""The PyTorch side of the engine, and beside it the independent references of the problems that are shipped.

Modules whose name starts with an underscore belong to the engine; every other one is the oracle of the problem that it
is named after. PyTorch is imported when the side is started, not when this package is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conformance.sides import OracleSide


def create_side() -> OracleSide:
    """The PyTorch side, not started yet."""
    from ._side import TorchSide

    return TorchSide()
