"""An oracle in closed form, for environments without torch: contracts are judged on the JAX side alone.

As a pytest plugin (``-p numpy_oracle``) it stands in for the installed oracle side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conformance.sides import load_implementation_side
from conformance.values.estimate import Estimate, Estimation

ROUNDINGS = 64
"""How many roundings of a quantity's largest value its sigma is."""


def _logistic(params: Mapping[str, Any], x: Any, y: Any, l2: float) -> dict[str, Any]:
    w, b, x, y = (np.asarray(value, np.float64) for value in (params["w"], params["b"], x, y))
    z = x @ w + b
    slope = (1.0 / (1.0 + np.exp(-z)) - y) / len(y)
    loss = np.mean(np.logaddexp(0.0, z) - y * z) + 0.5 * l2 * np.sum(w * w)
    return {"loss": loss, "grads.w": x.T @ slope + l2 * w, "grads.b": np.sum(slope)}


def _block(params: Mapping[str, Any], x: Any, y: Any) -> dict[str, Any]:
    w1, b1, w2, b2, x, y = (np.asarray(value, np.float64) for value in (*(params[n] for n in _NAMES), x, y))
    h = np.tanh(x @ w1 + b1)
    apart = x + h @ w2 + b2 - y
    slope = 2.0 * apart / apart.size
    back = (slope @ w2.T) * (1.0 - h * h)
    grads = {"w1": x.T @ back, "b1": back.sum(0), "w2": h.T @ slope, "b2": slope.sum(0)}
    return {"loss": np.mean(apart**2), **{f"grads.{name}": grad for name, grad in grads.items()}}


_NAMES = ("w1", "b1", "w2", "b2")
_PROBLEMS: Mapping[str, Any] = {"logistic_regression": _logistic, "residual_mlp_block": _block}


@dataclass
class ClosedForm:
    """One problem's loss and gradients, written out."""

    problem: Any

    def estimate(
        self, cases: Sequence[Mapping[str, Any]], arithmetic: Any, *, runs: int, seeds: Any, allow_ties: bool = False
    ) -> list[Estimation]:
        return [self._estimate(inputs, runs) for inputs in cases]

    def _estimate(self, inputs: Mapping[str, Any], runs: int) -> Estimation:
        quantities = {}
        for name, value in _PROBLEMS[self.problem.name](**inputs).items():
            value = np.asarray(value)
            scale = ROUNDINGS * 2.0**-24 * np.max(np.abs(value)) + 2.0**-126
            quantities[name] = Estimate(value, np.full(value.shape, scale))
        counts = {"saved": {"product": 2}, "recomputed": {"tanh": 1}, "primitives": {"product": "dot_general"}}
        return Estimation(quantities, runs, **counts)


@dataclass
class ClosedFormSide:
    """The side of the oracles in closed form."""

    def start(self, threads: int) -> Mapping[str, Any]:
        return {"closed form": "1.0", "threads": threads}

    def load(self, problem: Any) -> ClosedForm:
        return ClosedForm(problem)


def pytest_conformance_sides(config: Any) -> Any:
    """The installed JAX side, and the oracles in closed form."""
    return load_implementation_side(), ClosedFormSide()
