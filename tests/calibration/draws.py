"""Seeded random inputs of the calibrated problems, in stacks of equal shapes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Inputs: TypeAlias = dict[str, Any]
Generator: TypeAlias = np.random.Generator

_LOGITS = (0.0, 1.0, 8.0, 16.0, 20.0, 60.0, 88.7, 104.0, 125.0)
"""Where softplus changes its character in float32: it cancels, saturates, overflows or underflows beyond."""
_LARGEST_FEATURE = 1e6
_KNOWN = 2.0**-4
"""How well the operand of tanh is known."""


def draw_stacks(problem: str, count: int, shapes: int, seed: int, roundoff: float) -> Iterator[list[Inputs]]:
    """At least `count` inputs of a problem, spread over so many random shapes; one stack a shape.

    `roundoff` is that of a matrix product's operands: it bounds the inputs that are still known to some digits.
    """
    draw, limits = _DRAWS[problem]
    generator = np.random.default_rng([seed, *problem.encode()])
    every = list(itertools.product(*(range(low, high + 1) for low, high in limits)))
    chosen = [every[i] for i in generator.permutation(len(every))[:shapes]]
    for shape in chosen:
        yield [draw(generator, roundoff, *shape) for _ in range(-(-count // len(chosen)))]


def _scale(generator: Generator, low: float, high: float) -> float:
    return float(np.exp(generator.uniform(np.log(low), np.log(high))))


def _normal(generator: Generator, *shape: int) -> NDArray[np.float64]:
    return np.asarray(generator.normal(size=shape))


def _aim(generator: Generator, *shape: int) -> NDArray[np.float64]:
    """Logits at or near the critical ones, of either sign."""
    centre = generator.choice(_LOGITS, shape) * generator.choice((-1.0, 1.0), shape)
    return centre + generator.choice((0.0, 1e-3, 1.0), shape) * _normal(generator, *shape)


def _draw_logistic(generator: Generator, _roundoff: float, n: int, d: int) -> Inputs:
    w = (_scale(generator, 1e-6, 100.0) * _normal(generator, d)).astype(np.float32)
    x = _normal(generator, n, d)
    b = np.float32(_aim(generator)) if generator.random() < 0.5 else np.float32(generator.normal())
    if generator.random() < 0.7:
        x *= ((_aim(generator, n) - b) / (x @ w))[:, None]
        x = np.clip(x, -_LARGEST_FEATURE, _LARGEST_FEATURE)
    l2 = 0.0 if generator.random() < 0.2 else float(generator.uniform(0.0, 10.0))
    y = generator.integers(2, size=n).astype(np.float32)
    return {"params": {"w": w, "b": np.asarray(b)}, "x": x.astype(np.float32), "y": y, "l2": l2}


def _draw_block(generator: Generator, roundoff: float, b: int, d: int, h: int) -> Inputs:
    shapes = {"w1": (d, h), "b1": (h,), "w2": (h, d), "b2": (d,), "x": (b, d), "y": (b, d)}
    arrays = {
        name: (_scale(generator, 1e-3, 1e3) * _normal(generator, *shape)).astype(np.float32)
        for name, shape in shapes.items()
    }
    # Where tanh's operand is not known to a fraction of 1, the result is one of several, of which 32 runs see some.
    product = d * float(np.max(np.abs(arrays["x"]))) * float(np.max(np.abs(arrays["w1"])))
    arrays["w1"] /= np.float32(max(1.0, product * roundoff / _KNOWN))
    return {"params": {name: arrays[name] for name in ("w1", "b1", "w2", "b2")}, "x": arrays["x"], "y": arrays["y"]}


def _draw_cross_entropy(generator: Generator, _roundoff: float, n: int, c: int) -> Inputs:
    logits = _scale(generator, 1e-3, 100.0) * _normal(generator, n, c) + _aim(generator)
    return {
        "logits": logits.astype(np.float32),
        "labels": generator.integers(c, size=n).astype(np.int32),
    }


def _draw_layer_norm(generator: Generator, _roundoff: float, n: int, d: int) -> Inputs:
    x = _scale(generator, 1e-3, 1e3) * (_normal(generator, n, d) + _scale(generator, 1e-2, 10.0))
    scale = _scale(generator, 1e-2, 1e2)
    gain, bias, y = (scale * _normal(generator, *shape) for shape in ((d,), (d,), (n, d)))
    arrays = {"x": x, "gain": gain, "bias": bias}
    return {
        "params": {name: array.astype(np.float32) for name, array in arrays.items()},
        "y": y.astype(np.float32),
    }


_DRAWS: Mapping[str, tuple[Callable[..., Inputs], tuple[tuple[int, int], ...]]] = {
    "logistic_regression": (_draw_logistic, ((1, 8), (1, 4))),
    "residual_mlp_block": (_draw_block, ((1, 8), (1, 8), (1, 8))),
    "softmax_cross_entropy": (_draw_cross_entropy, ((1, 6), (2, 8))),
    "layer_norm": (_draw_layer_norm, ((1, 6), (2, 8))),
}
"""By problem, how its inputs are drawn, and the smallest and largest size of each dimension."""


def draw_flat_rows(count: int, seed: int) -> list[Inputs]:
    """Blocks whose rows differ little where tanh is all but flat, so that their terms cancel in the gradient of w1."""
    generator = np.random.default_rng(seed)
    stack = [_draw_block(generator, 2.0**-24, 4, 2, 4) for _ in range(count)]
    for inputs in stack:
        sign = generator.choice((-1.0, 1.0), 4)
        inputs["params"]["b1"] = (sign * generator.uniform(5.0, 8.0, 4)).astype(np.float32)
        inputs["params"]["w1"] = (1e-2 * _normal(generator, 2, 4)).astype(np.float32)
        inputs["x"] = (1e-2 * _normal(generator, 4, 2)).astype(np.float32)
    return stack
