"""Miniature sides, one fault each, so that the engine is tested without a framework.

The problem is ``double``: ``y = 2 x`` and the sum of `y`. The input `fault` says what goes wrong. As a pytest plugin
(``-p miniatures``) it puts these sides in place of the installed ones.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conformance.errors import DeviceUnavailable, ImplementationFault, OracleFault, OracleRefusal
from conformance.values.contract import Finding, Status
from conformance.values.estimate import Estimate, Estimation
from conformance.values.evaluation import Evaluation, Returned, UnknownContainer

PROBLEM = {
    "version": 1,
    "problem": "double",
    "title": "Twice the input",
    "statement": "y = 2 x, total = sum(y)",
    "inputs": {"x": "float32[N]", "fault": "static str"},
    "outputs": {"y": "float32[N]", "total": "float32[]"},
    "domain": {"N": {"minimum": 1}},
    "contract": {"inputs_unchanged": True},
}


def write_root(folder: Path, faults: Mapping[str, str], **case: Any) -> Path:
    """The folder, with the problem and a file of one written case a fault, by case name; `case` is added to each."""
    problem = folder / "cases" / "double"
    problem.mkdir(parents=True, exist_ok=True)
    (problem / "problem.json").write_text(json.dumps(PROBLEM))
    cases = [
        {"name": name, "inputs": {"x": [1.0, 2.0 + index], "fault": fault}, **case}
        for index, (name, fault) in enumerate(faults.items())
    ]
    (problem / "group.json").write_text(
        json.dumps({"version": 1, "problem": "double", "origin": {"kind": "written"}, "cases": cases})
    )
    return folder


def returned(array: Any, kind: str = "mini.Array", platform: str = "cpu", weak: bool = False) -> Returned:
    """A leaf as the side would describe it."""
    array = np.asarray(array)
    device = {"platform": platform, "id": 0, "kind": "mini"}
    return Returned(kind, array.dtype.name, array.shape, weak, array, (device,))


@dataclass
class MiniatureImplementation:
    """Twice the input, with the fault that the case asks for."""

    def evaluate(
        self, inputs: Mapping[str, Any], placement: Any, neighbours: Sequence[Mapping[str, Any]]
    ) -> Evaluation:
        y = 2 * inputs["x"]
        total = np.float32(y.sum())
        outputs: Any = {"y": returned(y), "total": returned(total)}
        match inputs["fault"]:
            case "one ulp":
                outputs["y"] = returned(np.nextafter(y, np.float32(np.inf)))
            case fault if fault.startswith("wrong"):
                outputs["y"] = returned(y + np.float32([0, 1e-3]))
            case "opposite errors":
                outputs["y"] = returned(y + np.float32([1, -1]))
            case "NaN":
                outputs["y"] = returned(np.float32([np.nan, y[1]]))
            case "infinite":
                outputs["total"] = returned(np.float32(np.inf))
            case "float64":
                outputs["y"] = returned(y.astype(np.float64))
            case "int32":
                outputs["y"] = returned(y.astype(np.int32))
            case "shape":
                outputs["y"] = returned(y[None])
            case "scalar":
                outputs["y"] = returned(y[0])
            case "missing":
                del outputs["y"]
            case "extra":
                outputs["z"] = returned(y)
            case "numpy":
                outputs["y"] = returned(y, kind="numpy.ndarray")
            case "tuple":
                outputs = (outputs["y"], outputs["total"])
            case "namedtuple":
                outputs = UnknownContainer("Pair")
            case "elsewhere":
                outputs = {"y": returned(y, platform="gpu"), "total": returned(total)}
            case "raises" | "raises and unjudged":
                raise ImplementationFault("the implementation raised ValueError: no")
            case "breaks the suite":
                raise RuntimeError("a fault of the side itself")
            case "aborts":
                os.abort()
            case "kills itself":
                os.kill(os.getpid(), signal.SIGKILL)
            case "exits":
                os._exit(0)
            case "hangs":
                while True:
                    time.sleep(0.01)
            case _:
                pass
        return Evaluation(outputs)

    def evaluate_in_float64(
        self, inputs: Mapping[str, Any], placement: Any, neighbours: Sequence[Mapping[str, Any]]
    ) -> Evaluation:
        y = 2 * inputs["x"].astype(np.float64)
        outputs: Any = {"y": returned(y), "total": returned(y.sum())}
        match inputs["fault"]:
            case "wrong formula":
                return Evaluation({**outputs, "y": returned(y + 1e-3)})
            case "wrong and infinite in float64":
                return Evaluation({**outputs, "y": returned(y + np.inf)})
            case "wrong and narrow":
                return Evaluation({**outputs, "y": returned(y + 1e-3)}, narrow=("scan",))
            case "wrong and raises in float64":
                raise ImplementationFault("evaluating double: raised TypeError\n  at line 3")
            case "wrong and another shape in float64":
                return Evaluation({**outputs, "y": returned(y[None])})
            case _:
                return Evaluation(outputs)

    def check_contract(self, inputs: Mapping[str, Any], placement: Any) -> Mapping[str, Finding]:
        match inputs["fault"]:
            case "broken clause":
                return {"inputs_unchanged": Finding(Status.BROKEN, ["x: its values changed", "y: a key was added"])}
            case "unjudged clause" | "raises and unjudged":
                return {"inputs_unchanged": Finding(Status.NOT_PROVEN, ["found a riddle"])}
            case _:
                return {"inputs_unchanged": Finding(Status.KEPT, (), {"leaves": 1})}


@dataclass
class MiniatureImplementationSide:
    """The miniature side of the implementations."""

    array_kind = "mini.Array"

    def start(self, platform: str) -> Mapping[str, Any]:
        if platform != "cpu":
            raise DeviceUnavailable(f"starting the miniature side: asked for {platform}, found cpu")
        return {"mini": "1.0", "platform": "cpu", "devices": [{"platform": "cpu", "id": 0, "kind": "mini"}]}

    def load(self, problem: Any, source: str | None, returns: Sequence[str] | None) -> MiniatureImplementation:
        return MiniatureImplementation()


@dataclass
class MiniatureOracle:
    """Twice the input, with a sigma of one rounding."""

    def estimate(
        self, cases: Sequence[Mapping[str, Any]], arithmetic: Any, *, runs: int, seeds: Any, allow_ties: bool = False
    ) -> list[Estimation]:
        return [self._estimate(inputs, runs) for inputs in cases]

    def _estimate(self, inputs: Mapping[str, Any], runs: int) -> Estimation:
        if inputs["fault"] == "oracle hangs":
            time.sleep(600)
        if inputs["fault"] == "refused":
            raise OracleRefusal("estimating double: aten.bernoulli has no rule")
        if inputs["fault"] == "oracle at fault":
            raise OracleFault("estimating double: y forgets the batch dimension")
        y = 2.0 * inputs["x"].astype(np.float64)
        total = np.asarray(y.sum())
        sigma = np.abs(y) * 2.0**-24 + 2.0**-126
        if inputs["fault"] == "unresolved":
            sigma = np.abs(y) + 1.0
        quantities = {"y": Estimate(y, sigma), "total": Estimate(total, np.asarray(sigma.sum()))}
        return Estimation(quantities, runs)


@dataclass
class MiniatureOracleSide:
    """The miniature side of the oracles."""

    def start(self, threads: int) -> Mapping[str, Any]:
        return {"oracle": "1.0", "threads": threads}

    def load(self, problem: Any) -> MiniatureOracle:
        return MiniatureOracle()


def pytest_conformance_sides(config: Any) -> Any:
    """The miniature sides."""
    return MiniatureImplementationSide(), MiniatureOracleSide()
