"""What an implementation handed back, with the evidence of where it was computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Returned:
    """One leaf of what an implementation returned.

    `kind` is the leaf's type as a user would name it (``jax.Array``, ``numpy.ndarray``, ``float``). `array` is a NumPy
    copy: float32, int32 and bool as they are, shorter floating formats as float32; None where the leaf is no array of
    numbers. `devices` holds a dict per device that the leaf lives on, with `platform`, `id` and `kind`.
    """

    kind: str
    dtype: str = ""
    shape: tuple[int, ...] = ()
    weak_type: bool = False
    array: NDArray[Any] | None = None
    devices: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class UnknownContainer:
    """A container of another type than dict, list and tuple, told by the name of its type."""

    kind: str


ReturnedTree: TypeAlias = (
    "Returned | UnknownContainer | dict[str, ReturnedTree] | list[ReturnedTree] | tuple[ReturnedTree, ...]"
)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An implementation's answer to one case.

    `outputs` has the containers that were returned, exactly, with `Returned` leaves. `arguments` says of each Python
    float how it was passed: ``traced``, ``static`` or ``python`` (eager). `executable` names the devices of the
    compiled program where there is one. `narrow` names what still computed in a shorter format, where float64 was
    asked for.
    """

    outputs: ReturnedTree
    arguments: Mapping[str, str] = field(default_factory=dict[str, str])
    executable: Mapping[str, Any] = field(default_factory=dict[str, Any])
    narrow: tuple[str, ...] = ()
