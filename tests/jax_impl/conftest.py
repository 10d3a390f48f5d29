"""What the JAX side's tests share; nothing here needs torch."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.sides import Implementation, ImplementationSide, load_implementation_side
from conformance.values.evaluation import Evaluation
from conformance.values.placement import Placement
from conformance.values.problem import Problem
from conformance.values.signature import load_signature

SCALED = {"inputs": {"x": "float32[N]", "factor": "float"}, "outputs": {"y": "float32[N]"}}
"""The problem of most tests: y = factor x."""


@pytest.fixture(scope="session")
def side() -> ImplementationSide:
    """The JAX side, started on the CPU."""
    found = load_implementation_side()
    found.start("cpu")
    return found


@pytest.fixture(autouse=True)
def _path_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Loading changes the path and the modules of this process: both as before, and the directory an empty one."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        if any(
            place.startswith(str(tmp_path))
            for place in (str(getattr(module, "__file__", "")), *getattr(module, "__path__", ()))
        ):
            del sys.modules[name]


@pytest.fixture
def make_problem(tmp_path: Path) -> Callable[..., Problem]:
    """A function that makes a problem of a root in an empty folder."""

    def make_problem(
        inputs: Any = SCALED["inputs"], outputs: Any = SCALED["outputs"], name: str = "scaled", contract: Any = None
    ) -> Problem:
        (tmp_path / "jax_impl").mkdir(exist_ok=True)
        signatures = {key: load_signature(node) for key, node in inputs.items()}
        return Problem(name, "", "", signatures, load_signature(outputs), {}, contract or {}, tmp_path)

    return make_problem


@pytest.fixture
def load(
    side: ImplementationSide, make_problem: Callable[..., Problem], tmp_path: Path
) -> Callable[..., Implementation]:
    """A function that writes the root's implementation and loads it."""

    def load(code: str, returns: list[str] | None = None, **problem: Any) -> Implementation:
        made = make_problem(**problem)
        (tmp_path / "jax_impl" / f"{made.name}.py").write_text(textwrap.dedent(code))
        return side.load(made, None, returns)

    return load


@pytest.fixture
def evaluate() -> Callable[..., Evaluation]:
    """A function that evaluates a loaded implementation in a mode, with two neighbours whose arrays are doubled."""

    def evaluate(implementation: Implementation, mode: str = "jit", **inputs: Any) -> Evaluation:
        inputs = inputs or {"x": np.float32([1.0, 2.0, 4.0]), "factor": 0.5}
        beside = [
            {name: 2 * v if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for name, v in inputs.items()}
        ] * 2
        return implementation.evaluate(inputs, Placement("cpu", mode), beside)

    return evaluate
