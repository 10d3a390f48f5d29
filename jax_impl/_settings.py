"""JAX's settings while an implementation is traced and run: the one place where they are chosen."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Generator

import jax

from conformance.values.placement import Placement


@contextlib.contextmanager
def settings(placement: Placement, *, wide: bool = False) -> Generator[None]:
    """A context with the placement's matmul precision and device; 64-bit types are off unless it is to be `wide`.

    A warning stays a warning there, whatever filter the session has: it is the user's, and no fault of a case.
    """
    with (
        warnings.catch_warnings(),
        jax.default_matmul_precision(placement.precision),
        jax.enable_x64(wide),
        jax.default_device(jax.devices(placement.platform)[0]),
    ):
        warnings.simplefilter("default")
        yield
