"""The two sides' interfaces, and how the engine finds the sides.

The sides stand beside the engine, wherever it is installed. They are loaded from there under private names, so that a
user's own package called ``jax_impl`` or ``torch_oracle`` neither hides them nor is hidden by them.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

from conformance.errors import SideUnavailable
from conformance.values.arithmetic import Arithmetic
from conformance.values.contract import Finding
from conformance.values.differences import Differences
from conformance.values.estimate import Estimation
from conformance.values.evaluation import Evaluation
from conformance.values.placement import Placement
from conformance.values.problem import Problem
from conformance.values.script import ScriptPart

_ENGINE = Path(__file__).resolve().parent


class Implementation(Protocol):
    """A function under test, loaded and ready."""

    def evaluate(
        self, inputs: Mapping[str, Any], placement: Placement, neighbours: Sequence[Mapping[str, Any]]
    ) -> Evaluation:
        """What the function returns for `inputs`, which has the problem's input names in order.

        Leaves are NumPy arrays (the side makes its own copy), Python floats, static values, and seeds of PRNG keys.
        Mode ``vmap`` batches the case between the `neighbours` and hands back its own row.

        Raises:
            ImplementationFault: the function raised, or cannot be called as the mode needs.
        """
        ...

    def evaluate_in_float64(
        self, inputs: Mapping[str, Any], placement: Placement, neighbours: Sequence[Mapping[str, Any]]
    ) -> Evaluation:
        """The same in float64 on the CPU, with every rounding to a shorter format inside taken out.

        Arrays of floats come in and go out as float64; the mode is that of `placement`. What could not be widened is
        named by `narrow`.

        Raises:
            ImplementationFault: the function raised.
        """
        ...

    def check_contract(self, inputs: Mapping[str, Any], placement: Placement) -> Mapping[str, Finding]:
        """What was found of each clause of the problem's contract but `returns`, for inputs of these shapes.

        It is to be asked for before the first evaluation of such inputs, and looks only once at each set of shapes.
        """
        ...

    def write_script(self, placement: Placement) -> ScriptPart:
        """The part of a stand-alone script that defines ``run_implementation(rows, static, keys)``."""
        ...


class ImplementationSide(Protocol):
    """The side of the implementations under test.

    `array_kind` is the type that each returned leaf must have, as `Returned.kind` names it.
    """

    array_kind: str

    def start(self, platform: str) -> Mapping[str, Any]:
        """Versions and devices, after the framework has been started on `platform`; safe to call again.

        Raises:
            SideUnavailable: the framework is missing, or is already running on another platform.
            DeviceUnavailable: it has no device of that platform.
        """
        ...

    def load(self, problem: Problem, source: str | None, returns: Sequence[str] | None) -> Implementation:
        """The implementation of `problem`: the root's own, or that of `source`.

        `source` is a file or a dotted module, ``:name`` after it; `returns` names the parts of a returned tuple.

        Raises:
            LoadError: there is no such file, module or function.
            ImplementationFault: its module raised while it was loaded.
        """
        ...


class Oracle(Protocol):
    """A problem's independent reference, loaded and ready."""

    def estimate(
        self,
        cases: Sequence[Mapping[str, Any]],
        arithmetic: Arithmetic,
        *,
        runs: int,
        seeds: Sequence[int],
        allow_ties: bool = False,
    ) -> list[Estimation]:
        """The estimate of each case; all of one shape and with equal static values, since they go through in one batch.

        Raises:
            CaseRejected: a true output leaves float32's range.
            OracleRefusal: an operation has no rule, an intermediate overflows, or operands tie exactly.
            OracleFault: the oracle forgets the batch dimension, leaves a gradient out, or has no finite sigma.
        """
        ...

    def differentiate(self, case: Mapping[str, Any], *, seed: int) -> Mapping[str, Differences]:
        """By gradient: the oracle's own value beside the finite difference of its loss, for some elements.

        Raises:
            OracleRefusal: an operation has no rule.
            OracleFault: the oracle raises, or returns something else than it is declared to.
        """
        ...

    def write_script(self) -> ScriptPart:
        """The part of a stand-alone script that defines ``run_oracle(case)``."""
        ...


class OracleSide(Protocol):
    """The side of the oracles."""

    def start(self, threads: int) -> Mapping[str, Any]:
        """Versions and settings, after the framework has been started with so many threads; safe to call again.

        Raises:
            SideUnavailable: the framework is missing.
        """
        ...

    def load(self, problem: Problem) -> Oracle:
        """The root's oracle of `problem`.

        Raises:
            LoadError: there is no such file, or it has no `evaluate`.
            OracleFault: its module raised while it was loaded.
        """
        ...


def _load_side(name: str) -> ModuleType:
    private = f"_conformance_{name}"
    if private in sys.modules:
        return sys.modules[private]
    folder = _ENGINE.parent / name
    spec = importlib.util.spec_from_file_location(
        private, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None or not (folder / "__init__.py").is_file():
        raise SideUnavailable(
            f"loading the side {name}: {folder} is not there; wanted it beside the engine. Install conformance again."
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[private] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[private]
        raise
    return module


def load_implementation_side() -> ImplementationSide:
    """The installed engine's JAX side; importing the framework is left to its `start`."""
    return cast("ImplementationSide", _load_side("jax_impl").create_side())


def load_oracle_side() -> OracleSide:
    """The installed engine's PyTorch side; importing the framework is left to its `start`."""
    return cast("OracleSide", _load_side("torch_oracle").create_side())
