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

_GRADIENTS = ("grad", "grads", "gradient", "gradients")
"""An output is a gradient where a part of its path is one of these, or begins with one and an underscore."""
_STEPS = tuple(2.0**-k for k in (6, 10, 14, 18))
"""In units of the element's magnitude; of these the one with the smallest estimated error counts."""
_SMALLEST = 2.0**-4
"""An element nearer to 0 is moved as if it were this large."""
_ROUNDINGS = 4.0
_NUDGES = 16
_ELEMENTS = 2**22
"""Elements of inputs that go through at once."""


def differentiate(
    problem: Problem, run: Run, case: Mapping[str, Any], *, seed: int, most: int = 48
) -> dict[str, Differences]:
    """By gradient: the oracle's own value, and the central difference of its loss in the input that it belongs to.

    ``D(h) = (L(x + h) - L(x - h)) / 2h``, extrapolated by Richardson, ``(4 D(h/2) - D(h)) / 3``. Its error is estimated
    as the sum of the extrapolation's own step, of the loss's rounding over h, and of what the two one-sided slopes are
    apart that a second derivative does not explain: at a kink the difference says nothing. The rounding is measured, as
    a loss may cancel: it is the spread of the loss over inputs that differ in their last bit. Of a gradient with more
    than `most` elements the largest and a random choice are looked at, the same for each `seed`. A gradient whose
    input, or whose loss, cannot be told from the problem's signature is left out.
    """
    loss, pairs = _pair(problem)
    if loss is None or not pairs:
        return {}
    at_case = run([case])
    rounding = _measure_rounding(problem, run, case, loss, at_case[loss], seed)
    return {
        quantity: _differentiate(
            problem, run, case, loss, path, at_case[quantity][0], float(at_case[loss][0]), rounding, seed, most
        )
        for quantity, path in pairs.items()
    }


def _pair(problem: Problem) -> tuple[str | None, dict[str, str]]:
    """The quantity that is the loss, and the input of each gradient."""
    inputs = {path: leaf for path, leaf in leaves(dict(problem.inputs)) if _is_real(leaf)}
    pairs: dict[str, str] = {}
    losses: list[str] = []
    for quantity, leaf in leaves(problem.outputs):
        rest = _name_input(quantity.split("."))
        if rest is None:
            losses += [quantity] if _is_real(leaf) and not leaf.dims else []
            continue
        fitting = [path for path, other in inputs.items() if other == leaf and _ends(path, rest)]
        if len(fitting) == 1:
            pairs[quantity] = fitting[0]
    return (losses[0] if len(losses) == 1 else None), pairs


def _name_input(parts: Sequence[str]) -> list[str] | None:
    """How the path of a gradient's input ends: ``w1`` for ``grads.w1`` and ``grad_w1``, nothing for ``grad`` alone."""
    for place, part in enumerate(parts):
        word, _, name = part.partition("_")
        if word in _GRADIENTS:
            return [*([name] if name else []), *parts[place + 1 :]]
    return None


def _measure_rounding(
    problem: Problem, run: Run, case: Mapping[str, Any], loss: str, at_case: NDArray[Any], seed: int
) -> float:
    """The spread of the loss over inputs that differ in their last bit, at least that of its own rounding."""
    generator = np.random.default_rng(seed)

    def nudge(leaf: Any, value: Any) -> Any:
        if not _is_real(leaf):
            return value
        wide = np.asarray(value, np.float64)
        return wide * (1.0 + generator.choice([-1.0, 0.0, 1.0], wide.shape) * 2.0**-52)

    nudged = [map_leaves(nudge, dict(problem.inputs), dict(case)) for _ in range(_NUDGES)]
    spread = np.asarray(run(nudged)[loss], np.float64) - at_case
    return float(max(np.max(np.abs(spread)), 2.0**-53 * np.abs(at_case[0])))


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
    centre: float,
    rounding: float,
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
    with np.errstate(all="ignore"):
        coarse = (shaped[:, :, 0, 0] - shaped[:, :, 0, 1]) / (2.0 * steps)
        fine = (shaped[:, :, 1, 0] - shaped[:, :, 1, 1]) / steps
        extrapolated = (4.0 * fine - coarse) / 3.0
        # Right slope less left slope: halves with the step where the loss is smooth, and stays at a kink.
        bend, half_bend = (shaped[:, :, part].sum(-1) - 2.0 * centre for part in (0, 1))
        kink = np.abs(2.0 * half_bend / (0.5 * steps) - bend / steps)
        errors = np.abs(extrapolated - fine) + kink + _ROUNDINGS * rounding / steps
    errors = np.where(np.isfinite(errors), errors, np.inf)
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
