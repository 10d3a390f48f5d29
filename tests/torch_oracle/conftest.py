"""Oracles under test: the shipped ones, and small ones written to a root of their own."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import conformance
from conformance.sides import Oracle, load_oracle_side
from conformance.values.arithmetic import CPU, Arithmetic
from conformance.values.estimate import Estimation
from conformance.values.problem import Problem
from conformance.values.signature import load_signature

_ENGINE_ROOT = Path(conformance.__file__).resolve().parents[1]
_LOGISTIC = {"params": {"w": "float32[D]", "b": "float32[]"}, "x": "float32[N,D]", "y": "float32[N]", "l2": "float"}
_WEIGHTS = {"w1": "float32[D,H]", "b1": "float32[H]", "w2": "float32[H,D]", "b2": "float32[D]"}
RUNS = 32


def make_problem(root: Path, name: str, inputs: dict[str, Any], outputs: Any) -> Problem:
    return Problem(
        name=name,
        title="",
        statement="",
        inputs={key: load_signature(value) for key, value in inputs.items()},
        outputs=load_signature(outputs),
        domain={},
        contract={},
        root=root,
    )


@pytest.fixture(scope="session")
def side() -> Any:
    side = load_oracle_side()
    side.start(1)
    return side


@pytest.fixture(scope="session")
def logistic(side: Any) -> Oracle:
    outputs = {"loss": "float32[]", "grads": {"w": "float32[D]", "b": "float32[]"}}
    return side.load(make_problem(_ENGINE_ROOT, "logistic_regression", _LOGISTIC, outputs))


@pytest.fixture(scope="session")
def block(side: Any) -> Oracle:
    inputs = {"params": _WEIGHTS, "x": "float32[B,D]", "y": "float32[B,D]"}
    outputs = {"loss": "float32[]", "grads": _WEIGHTS}
    return side.load(make_problem(_ENGINE_ROOT, "residual_mlp_block", inputs, outputs))


@pytest.fixture
def load(side: Any, tmp_path: Path) -> Callable[..., Oracle]:
    """Loads an oracle from its module's text."""
    folder = tmp_path / "torch_oracle"
    folder.mkdir()

    def load(source: str, inputs: dict[str, Any], outputs: Any, name: str = "sample") -> Oracle:
        (folder / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return side.load(make_problem(tmp_path, name, inputs, outputs))

    return load


@pytest.fixture
def estimate_body(load: Callable[..., Oracle]) -> Callable[..., Estimation]:
    """The estimate of a loss of one matrix x, given as the lines of a function body that assign it to `loss`."""

    def estimate_body(
        body: str, x: Any, *, allow_ties: bool = False, arithmetic: Arithmetic = CPU, head: str = ""
    ) -> Estimation:
        source = (
            "import torch\nimport torch.nn.functional as F\nimport torch.utils.checkpoint\n"
            + head
            + "\ndef evaluate(x):\n    x = x.detach().requires_grad_()\n"
            + textwrap.indent(textwrap.dedent(body), "    ")
            + '\n    return {"loss": loss.detach(), "grad": torch.autograd.grad(loss.sum(), [x])[0]}\n'
        )
        oracle = load(source, {"x": "float32[N,D]"}, {"loss": "float32[]", "grad": "float32[N,D]"})
        case = {"x": np.asarray(x, dtype=np.float32)}
        return oracle.estimate([case], arithmetic, runs=RUNS, seeds=[3], allow_ties=allow_ties)[0]

    return estimate_body


def logistic_case(x: Any, w: Any, b: float, y: Any, l2: float) -> dict[str, Any]:
    params = {"w": np.asarray(w, dtype=np.float32), "b": np.asarray(b, dtype=np.float32)}
    return {"params": params, "x": np.asarray(x, dtype=np.float32), "y": np.asarray(y, dtype=np.float32), "l2": l2}


@pytest.fixture(scope="session")
def make_logistic_case() -> Callable[..., dict[str, Any]]:
    return logistic_case


@pytest.fixture(scope="session")
def make_block_case() -> Callable[..., dict[str, Any]]:
    """A random block; `weight` scales w1 and b1, `value` all else."""

    def make(seed: int, dims: tuple[int, int, int], weight: float = 1.0, value: float = 1.0) -> dict[str, Any]:
        draw = np.random.default_rng(seed).normal
        batch, width, hidden = dims

        def array(scale: float, *shape: int) -> Any:
            return (scale * draw(size=shape)).astype(np.float32)

        params = {
            "w1": array(weight, width, hidden),
            "b1": array(weight, hidden),
            "w2": array(value, hidden, width),
            "b2": array(value, width),
        }
        return {"params": params, "x": array(value, batch, width), "y": array(value, batch, width)}

    return make


@pytest.fixture(scope="session")
def estimate_one() -> Callable[..., Estimation]:
    def estimate_one(oracle: Oracle, case: dict[str, Any], arithmetic: Arithmetic = CPU, seed: int = 5) -> Estimation:
        return oracle.estimate([case], arithmetic, runs=RUNS, seeds=[seed])[0]

    return estimate_one
