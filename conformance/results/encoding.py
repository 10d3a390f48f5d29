"""Arrays as JSON objects: base64 of little-endian bytes, or a digest of what is too large."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGE = 65_536
"""Above so many elements an array is told by a hash of its bits and a sample."""
SAMPLES = 1_024


def encode_array(array: NDArray[Any]) -> dict[str, Any]:
    """The array as dtype, shape and base64 of its little-endian bytes; above `LARGE` elements as hash and sample.

    The sample is the same positions for every array of a size, evenly spaced, so that two runs can be compared.
    """
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    node: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if array.size <= LARGE:
        node["base64"] = base64.b64encode(little.tobytes()).decode("ascii")
        return node
    node["sha256"] = hashlib.sha256(little.tobytes()).hexdigest()
    node["sample"] = base64.b64encode(little.reshape(-1)[sample_positions(array.size)].tobytes()).decode("ascii")
    return node


def sample_positions(size: int) -> NDArray[np.int64]:
    """The `SAMPLES` flat positions that are kept of an array of `size` elements."""
    return np.arange(SAMPLES, dtype=np.int64) * (size - 1) // (SAMPLES - 1)


def decode_array(node: Mapping[str, Any]) -> NDArray[Any] | None:
    """The array that `encode_array` wrote, or None where only a digest was kept."""
    if "base64" not in node:
        return None
    little = np.frombuffer(base64.b64decode(node["base64"]), np.dtype(node["dtype"]).newbyteorder("<"))
    return little.astype(np.dtype(node["dtype"])).reshape(node["shape"])


def encode_number(number: float | int | None) -> float | int | str | None:
    """The number as strict JSON: what is not finite becomes ``"inf"``, ``"-inf"`` or ``"nan"``."""
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number


def decode_number(node: float | int | str | None) -> float:
    """The number that `encode_number` wrote; NaN where there is none."""
    return math.nan if node is None else float(node)
