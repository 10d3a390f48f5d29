"""Cases of one shape, drawn together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, slots=True)
class Stack:
    """Cases of one shape: for each of the inputs' leaves, by name, an array whose first axis counts the cases.

    `label` is part of the cases' names where a strategy has something to tell, and `whys` says of each what it is for.
    """

    label: str
    dims: Mapping[str, int]
    inputs: Mapping[str, NDArray[Any]]
    whys: Sequence[str]
