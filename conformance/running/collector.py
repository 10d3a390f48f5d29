"""Python's garbage collector, kept from searching two frameworks again and again."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def nothing_to_collect() -> Generator[None]:
    """Nothing is collected meanwhile, and what is alive at the end is never searched again.

    For imports: they make a million objects that live as long as the process.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
