"""A function under test, evaluated eagerly, compiled, or in a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from conformance.errors import ConformanceError, ImplementationFault
from conformance.values.contract import Finding
from conformance.values.evaluation import Evaluation
from conformance.values.placement import MODES, Placement
from conformance.values.problem import Problem
from conformance.values.script import ScriptPart

from ._compilation import Compiler
from ._contract import ContractChecker
from ._inputs import Arguments, build_inputs, load_arguments, stack_arguments
from ._loading import Loaded
from ._outputs import check_alive, convert_outputs
from ._script import write_script
from ._settings import settings
from ._tracing import Subject
from ._widening import Narrow, widen

_OWN_ROW = 1
"""The case stands between its neighbours, so that no row's end can be mistaken for it."""


class JaxImplementation:
    """One function under test, and the programs that were compiled from it."""

    def __init__(
        self,
        problem: Problem,
        loaded: Loaded,
        returns: Sequence[str] | None = None,
        early: tuple[str, ...] = (),
        *,
        made_at_load: bool = False,
    ) -> None:
        self._problem = problem
        self._loaded = loaded
        self._returns = returns
        function = _name_parts(loaded.function, returns) if returns else loaded.function
        self._compiler = Compiler(problem, function)
        self._wide_compiler = Compiler(problem, widen(function))
        self._contract = ContractChecker(Subject(problem, function, early, made_at_load))

    def write_script(self, placement: Placement) -> ScriptPart:
        """The part of a stand-alone script that runs this function, with the sources of its author's modules."""
        return write_script(self._problem, self._loaded.origin, self._returns, placement)

    def check_contract(self, inputs: Mapping[str, Any], placement: Placement) -> Mapping[str, Finding]:
        """What was found of each clause of the problem's contract but `returns`, for inputs of these shapes."""
        with settings(placement):
            return self._contract.check(load_arguments(self._problem, inputs))

    def evaluate(
        self, inputs: Mapping[str, Any], placement: Placement, neighbours: Sequence[Mapping[str, Any]]
    ) -> Evaluation:
        """What the function returns for `inputs`; mode ``vmap`` hands back the case's own row among `neighbours`.

        Raises:
            ImplementationFault: the function raised, or cannot be called as the mode needs.
        """
        return self._run(self._compiler, inputs, placement, neighbours)

    def evaluate_in_float64(
        self, inputs: Mapping[str, Any], placement: Placement, neighbours: Sequence[Mapping[str, Any]]
    ) -> Evaluation:
        """The same in float64 on the CPU, with every rounding to a shorter format inside taken out where it can be.

        Raises:
            ImplementationFault: the function raised.
        """
        on_cpu = replace(placement, platform="cpu")
        try:
            return self._run(self._wide_compiler, inputs, on_cpu, neighbours, wide=True)
        except Narrow as error:
            narrow = str(error)
        except ImplementationFault:
            narrow = "a function that cannot be traced"
        return replace(self._run(self._compiler, inputs, on_cpu, neighbours, wide=True), narrow=(narrow,))

    def _run(
        self,
        compiler: Compiler,
        inputs: Mapping[str, Any],
        placement: Placement,
        neighbours: Sequence[Mapping[str, Any]],
        *,
        wide: bool = False,
    ) -> Evaluation:
        if placement.mode not in MODES:
            raise ValueError(f"found the mode {placement.mode!r}; wanted one of {', '.join(MODES)}")
        doing = f"evaluating {self._problem.name} ({placement}{', float64' if wide else ''})"
        row = _OWN_ROW if placement.mode == "vmap" else None
        with settings(placement, wide=wide):
            arguments = load_arguments(self._problem, inputs, wide=wide)
            if row is not None:
                rows = [load_arguments(self._problem, neighbour, wide=wide) for neighbour in neighbours]
                arguments = stack_arguments([*rows[:row], arguments, *rows[row:]], row)
            try:
                outputs, passed, executable = self._call(compiler, doing, arguments, placement)
                check_alive(doing, outputs)
                jax.block_until_ready(outputs)
            except (ConformanceError, KeyboardInterrupt, Narrow):
                raise
            except BaseException as error:  # a function that exits must not end the run
                raise self._loaded.user.fault(doing, error) from error
            return Evaluation(convert_outputs(outputs, row), passed, executable)

    def _call(
        self, compiler: Compiler, doing: str, arguments: Arguments, placement: Placement
    ) -> tuple[Any, dict[str, str], dict[str, Any]]:
        """The outputs, how each float was passed, and the evidence of a compiled program."""
        if placement.mode == "eager":
            values = {**arguments.arrays, **arguments.floats, **arguments.static}
            outputs = compiler.function(*build_inputs(self._problem, values))
            return outputs, dict.fromkeys(arguments.floats, "python"), {}
        program = compiler.find(doing, arguments, placement)
        passed = {path: "static" if path in program.static else "traced" for path in arguments.floats}
        return program.run(arguments), passed, program.executable


def _name_parts(function: Callable[..., Any], names: Sequence[str]) -> Callable[..., Any]:
    """The function with the parts of the tuple that it returns under `names`; anything else is left to be reported."""

    @functools.wraps(function)
    def named(*inputs: Any) -> Any:
        outputs = function(*inputs)
        if type(outputs) is tuple and len(outputs) == len(names):
            return dict(zip(names, outputs, strict=True))
        return outputs

    return named
