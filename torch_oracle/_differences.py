"""Central finite differences of the loss that an oracle returns, beside the gradients that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from conformance.values.differences import Differences
from conformance.values.problem import Problem
from conformance.values.signature import ArrayLeaf
from conformance.values.tree import leaves, map_leaves

Run: TypeAlias = Callable[[Sequence[Mapping[str, Any]]], Mapping[str, NDArray[Any]]]
"""Given cases of one shape, the oracle's float64 outputs by quantity, cases along the first axis."""

_GRADIENTS = "grad"
"""An output is a gradient where a part of its path begins so."""
_STEPS = tuple(2.0**-k for k in (6, 10, 14, 18))
"""In units of the element's magnitude; of these the one with the smallest estimated error counts."""
_SMALLEST = 2.0**-4
"""An element nearer to 0 is moved as if it were this large."""
_ROUNDINGS = 4.0
_ELEMENTS = 2**22
"""Elements of inputs that go through at once."""


def differentiate(
    problem: Problem, run: Run, case: Mapping[str, Any], *, seed: int, most: int = 48
) -> dict[str, Differences]:
    """By gradient: the oracle's own value, and the central difference of its loss in the input that it belongs to.

    ``D(h) = (L(x + h) - L(x - h)) / 2h``, extrapolated by Richardson, ``(4 D(h/2) - D(h)) / 3``. Its error is estimated
    as the extrapolation's own step and the rounding of the loss, ``4 * 2^-53 max|L| / h``. Of a gradient with more than
    `most` elements the largest and a random choice are looked at, the same for each `seed`. A gradient whose input, or
    whose loss, cannot be told from the problem's signature is left out.
    """
    loss, pairs = _pair(problem)
    if loss is None or not pairs:
        return {}
    at_case = run([case])
    return {
        quantity: _differentiate(problem, run, case, loss, path, at_case[quantity][0], seed, most)
        for quantity, path in pairs.items()
    }


def _pair(problem: Problem) -> tuple[str | None, dict[str, str]]:
    """The quantity that is the loss, and the input of each gradient."""
    inputs = {path: leaf for path, leaf in leaves(dict(problem.inputs)) if _is_real(leaf)}
    pairs: dict[str, str] = {}
    losses: list[str] = []
    for quantity, leaf in leaves(problem.outputs):
        parts = quantity.split(".")
        place = next((i for i, part in enumerate(parts) if part.startswith(_GRADIENTS)), None)
        if place is None:
            losses += [quantity] if _is_real(leaf) and not leaf.dims else []
            continue
        rest = parts[place + 1 :]
        fitting = [path for path, other in inputs.items() if other == leaf and _ends(path, rest)]
        if len(fitting) == 1:
            pairs[quantity] = fitting[0]
    return (losses[0] if len(losses) == 1 else None), pairs


def _is_real(leaf: Any) -> bool:
    return isinstance(leaf, ArrayLeaf) and leaf.dtype == "float32"


def _ends(path: str, rest: Sequence[str]) -> bool:
    return not rest or path.split(".")[-len(rest) :] == list(rest)


def _differentiate(
    problem: Problem,
    run: Run,
    case: Mapping[str, Any],
    loss: str,
    path: str,
    gradient: NDArray[Any],
    seed: int,
    most: int,
) -> Differences:
    values = np.asarray(dict(leaves({name: case[name] for name in problem.inputs}))[path], np.float64)
    chosen = _choose(gradient, seed, most)
    flat = values.reshape(-1)
    # Powers of two, so that the step is what the inputs really differ by.
    units = 2.0 ** np.round(np.log2(np.maximum(np.abs(flat[chosen]), _SMALLEST)))
    moves = [(place, sign * half * step * unit) for place, unit in zip(chosen, units, strict=True) for step in _STEPS
             for half in (1.0, 0.5) for sign in (1.0, -1.0)]  # fmt: skip
    losses = np.concatenate(list(_losses(problem, run, case, loss, path, values, moves)))
    shaped = losses.reshape(len(chosen), len(_STEPS), 2, 2)
    steps = np.multiply.outer(units, np.array(_STEPS))
    coarse = (shaped[:, :, 0, 0] - shaped[:, :, 0, 1]) / (2.0 * steps)
    fine = (shaped[:, :, 1, 0] - shaped[:, :, 1, 1]) / steps
    extrapolated = (4.0 * fine - coarse) / 3.0
    rounding = _ROUNDINGS * 2.0**-53 * np.max(np.abs(shaped), axis=(2, 3)) / steps
    errors = np.abs(extrapolated - fine) + rounding
    best = np.argmin(errors, axis=1)[:, None]
    return Differences(
        tuple(tuple(int(i) for i in np.unravel_index(place, values.shape)) for place in chosen),
        gradient.reshape(-1)[chosen].astype(np.float64),
        np.take_along_axis(extrapolated, best, 1)[:, 0],
        np.take_along_axis(errors, best, 1)[:, 0],
    )


def _choose(gradient: NDArray[Any], seed: int, most: int) -> NDArray[np.int64]:
    """The flat places to look at, sorted."""
    if gradient.size <= most:
        return np.arange(gradient.size)
    drawn = np.random.default_rng(seed).choice(gradient.size, most, replace=False)
    return np.unique(np.append(drawn, np.argmax(np.abs(gradient))))


def _losses(
    problem: Problem,
    run: Run,
    case: Mapping[str, Any],
    loss: str,
    path: str,
    values: NDArray[np.float64],
    moves: Sequence[tuple[int, float]],
) -> Iterator[NDArray[np.float64]]:
    """The loss with one element moved, for each of `moves`."""
    size = sum(np.size(leaf) for _, leaf in leaves({name: case[name] for name in problem.inputs}))
    at_once = max(1, _ELEMENTS // max(1, size))
    for start in range(0, len(moves), at_once):
        moved: list[Mapping[str, Any]] = []
        for place, step in moves[start : start + at_once]:
            changed = values.copy()
            changed.reshape(-1)[place] += step
            moved.append(_replace(problem, case, path, changed))
        yield np.asarray(run(moved)[loss], np.float64).reshape(len(moved))


def _replace(problem: Problem, case: Mapping[str, Any], path: str, value: NDArray[np.float64]) -> dict[str, Any]:
    names = iter([name for name, _ in leaves(dict(problem.inputs))])
    return map_leaves(lambda _leaf, old: value if next(names) == path else old, dict(problem.inputs), case)
