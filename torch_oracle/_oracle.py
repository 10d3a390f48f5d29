"""An oracle, run in float64 and then many times with a machine's rounding errors."""

from __future__ import annotations

import contextlib
import textwrap
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from conformance.errors import ConformanceError, OracleFault, OracleRefusal
from conformance.values.arithmetic import CPU, Arithmetic
from conformance.values.differences import Differences
from conformance.values.estimate import Estimate, Estimation
from conformance.values.problem import Problem
from conformance.values.script import ScriptPart
from conformance.values.signature import ArrayLeaf, FloatLeaf
from conformance.values.tree import leaves, map_leaves

from ._differences import differentiate
from ._dispatch import ClassifyingMode
from ._grids import Grids, mix
from ._inputs import batch_inputs, check_types, neighbour, single_inputs, stacked_inputs
from ._observation import Observed, name_primitives, observe_checkpoints
from ._outputs import OutputChecker
from ._rounding import RoundedRun
from ._script import write_script
from ._unrounded import UnroundedRun

_ALL_UNBATCHED = 8
"""Up to so many cases, each one's value comes from a run of its own, without batch dimensions."""
_SAMPLED = 3
"""Of more cases, so many further ones than the first and last are compared with a run of their own."""
_SAME = 2.0**-16
"""How near, in sigma, a batched result must be to the unbatched: a correct oracle comes to 2^-29, and one that mixes
the batch's entries has a sigma about as large as its difference."""
_GROSS = 2.0**-16
"""The same in units of a quantity's largest value, where there is no sigma."""
_FEWEST = 3
"""Fewer cases than this are batched with neighbours, so that a mixing of the batch's entries shows."""

_Arrays = dict[str, NDArray[Any]]


@contextlib.contextmanager
def _settings() -> Generator[None]:
    with torch.inference_mode(mode=False), torch.enable_grad(), torch.autocast("cpu", enabled=False):
        yield


def _deviation(rounded: NDArray[Any], value: NDArray[Any]) -> NDArray[np.float64]:
    """The root mean square deviation of the runs, the first axis, from `value`."""
    deviations = rounded.astype(np.float64) - value.astype(np.float64)
    return np.asarray(np.sqrt(np.mean(np.square(deviations), axis=0)), dtype=np.float64)


class TorchOracle:
    """One problem's independent reference."""

    def __init__(self, problem: Problem, evaluate: Callable[..., Any], path: Path) -> None:
        self._problem = problem
        self._evaluate = evaluate
        self._path = path
        self._checker = OutputChecker(problem, path)

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
            OracleFault: the oracle raises, forgets the batch dimension, leaves a gradient out, saves nothing in a
                selective checkpoint, or has a sigma that is not finite.
        """
        if len(cases) != len(seeds) or runs < 2:
            raise ValueError(
                f"found {len(cases)} cases, {len(seeds)} seeds and {runs} runs; wanted a seed per case, 2 runs"
            )
        if not cases:
            return []
        check_types(self._problem)
        self._check_static(cases)
        shapes = self._checker.shapes(self._dims(cases[0]))
        with _settings():
            single = self._single_runs(cases, seeds, arithmetic, shapes)
            for values, _ in single.values():
                self._checker.check_range(values)
            unrounded = self._unrounded_run(cases, arithmetic, shapes, allow_ties)
            self._checker.check_range({name: array[: len(cases)] for name, array in unrounded.items()})
            try:
                rounded_mode, rounded = self._rounded_runs(cases, seeds, runs, arithmetic, shapes)
            except OracleRefusal:
                # Without sigma only gross mixing can be told; it says more than the refusal that it led to.
                for index, (values, _) in single.items():
                    for name, value in values.items():
                        self._check_same(
                            name, value, unrounded[name][index], _GROSS * np.max(np.abs(value), initial=0.0)
                        )
                raise
        estimations = []
        for index in range(len(cases)):
            values = single[index][0] if index in single else {name: array[index] for name, array in unrounded.items()}
            quantities = {
                name: self._compare(name, value, unrounded[name][index], rounded[name][:, index])
                for name, value in values.items()
            }
            counts = single[index][1] if index in single else single[0][1]
            estimations.append(
                Estimation(
                    quantities=quantities,
                    runs=runs,
                    coins=tuple(rounded_mode.coins.texts(index)),
                    saved=dict(counts.saved),
                    recomputed=dict(counts.recomputed),
                    primitives=name_primitives({**counts.saved, **counts.recomputed}),
                    kept=tuple(counts.kept.values()),
                )
            )
        return estimations

    def differentiate(self, case: Mapping[str, Any], *, seed: int) -> dict[str, Differences]:
        """By gradient: the oracle's own value beside the finite difference of its loss, for some elements.

        Raises:
            OracleRefusal: an operation has no rule.
            OracleFault: the oracle raises, or returns something else than it is declared to.
        """
        check_types(self._problem)
        shapes = self._checker.shapes(self._dims(case))

        def run(cases: Sequence[Mapping[str, Any]]) -> _Arrays:
            inputs = batch_inputs(
                self._problem,
                stacked_inputs(self._problem, cases),
                lambda values: values,
                lambda _path, _leaf, values: values,
            )
            with _settings():
                outputs = self._run(inputs, ClassifyingMode(self._problem.name, CPU.accuracy), (len(cases),))
                return self._checker.arrays(outputs, (len(cases),), shapes)

        return differentiate(self._problem, run, case, seed=seed)

    def write_script(self) -> ScriptPart:
        """The part of a stand-alone script that runs this oracle, with its sources."""
        return write_script(self._problem, self._path)

    def _single_runs(
        self,
        cases: Sequence[Mapping[str, Any]],
        seeds: Sequence[int],
        arithmetic: Arithmetic,
        shapes: dict[str, tuple[int, ...]],
    ) -> dict[int, tuple[_Arrays, Observed]]:
        """Outputs and checkpoint counts of the cases that are run without batch dimensions, by their index."""
        chosen = set(range(len(cases)))
        if len(cases) > _ALL_UNBATCHED:
            order = np.argsort(mix(np.array([seed & 0xFFFFFFFFFFFFFFFF for seed in seeds], dtype=np.uint64)))
            chosen = {0, len(cases) - 1, *map(int, order[:_SAMPLED])}
        found: dict[int, tuple[_Arrays, Observed]] = {}
        for index in sorted(chosen):
            inputs = single_inputs(self._problem, cases[index])
            mode = ClassifyingMode(self._problem.name, arithmetic.accuracy)
            tensors = {path: leaf for path, leaf in leaves(inputs) if isinstance(leaf, Tensor)}
            with observe_checkpoints(tensors) as counts:
                outputs = self._run(inputs, mode, ())
            self._check_checkpoints(counts)
            found[index] = (self._checker.arrays(outputs, (), shapes), counts)
        return found

    def _unrounded_run(
        self,
        cases: Sequence[Mapping[str, Any]],
        arithmetic: Arithmetic,
        shapes: dict[str, tuple[int, ...]],
        allow_ties: bool,
    ) -> _Arrays:
        """Outputs of all cases from one batch that is laid out so that along both batch dimensions entries differ."""
        entries = list(cases)
        if len(entries) < _FEWEST:
            entries += [neighbour(self._problem, cases[0], number) for number in range(1, _FEWEST)]
        grids = Grids([0] * len(entries), 2)
        judged = torch.zeros(2, len(entries), dtype=torch.bool)
        judged[0, : len(cases)] = True
        mode = UnroundedRun(self._problem.name, grids, arithmetic.accuracy, judged.reshape(-1), allow_ties)

        def change(_path: str, _leaf: Any, values: Tensor) -> Tensor:
            mode.declare_input(values)
            return values

        inputs = batch_inputs(
            self._problem,
            stacked_inputs(self._problem, entries),
            lambda values: torch.stack([values, values.roll(1, 0)]),
            change,
        )
        outputs = self._run(inputs, mode, (2, len(entries)))
        return {name: array[0] for name, array in self._checker.arrays(outputs, (2, len(entries)), shapes).items()}

    def _rounded_runs(
        self,
        cases: Sequence[Mapping[str, Any]],
        seeds: Sequence[int],
        runs: int,
        arithmetic: Arithmetic,
        shapes: dict[str, tuple[int, ...]],
    ) -> tuple[RoundedRun, _Arrays]:
        mode = RoundedRun(self._problem.name, Grids(seeds, runs), arithmetic)

        def change(path: str, leaf: Any, values: Tensor) -> Tensor:
            # The number is rounded alike wherever it is used, hence a grid by its path.
            name = f"input {path}"
            values = mode.round_number(name, values) if isinstance(leaf, FloatLeaf) else mode.round_input(name, values)
            mode.declare_input(values)
            return values

        inputs = batch_inputs(
            self._problem,
            stacked_inputs(self._problem, cases),
            lambda values: values.expand(runs, *values.shape),
            change,
        )
        batch = (runs, len(cases))
        return mode, self._checker.arrays(self._run(inputs, mode, batch), batch, shapes)

    def _run(self, inputs: dict[str, Any], mode: ClassifyingMode, batch: Sequence[int]) -> Any:
        mode.protect([leaf for _, leaf in leaves(inputs) if isinstance(leaf, Tensor)])
        try:
            with mode:
                return self._evaluate(*inputs.values())
        except ConformanceError:
            raise
        except Exception as error:
            raise self._translate(error, batch) from error

    def _translate(self, error: Exception, batch: Sequence[int]) -> OracleFault:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(self._path)]
        line = f" at line {frames[-1].lineno}" if frames else ""
        told = f"raised {type(error).__name__}{line}: {textwrap.shorten(str(error), 300)}"
        if "appears to not have been used" in str(error) or "does not require grad" in str(error):
            return self._checker.fault(
                f"{told}; wanted a gradient of every parameter. Pass every parameter to the function that is "
                "differentiated, and do not detach it."
            )
        if batch:
            return self._checker.fault(
                f"forgets the batch dimension: with the leading dimensions {tuple(batch)} on every input it {told}; "
                "it had run without them. Count dimensions from the end (dim=-1), and write torch.where instead of a "
                "branch: a Python float comes as a tensor there."
            )
        return self._checker.fault(f"{told}; wanted the declared outputs. Correct it there.")

    def _check_checkpoints(self, counts: Observed) -> None:
        if counts.products and not counts.saved:
            passed = ", ".join(f"{name} {count} times" for name, count in counts.products.items())
            raise self._checker.fault(
                f"has a selective checkpoint that saves nothing although matrix products pass by ({passed}): policy "
                f"{', '.join(sorted(set(counts.policies)))}. A policy is given overloads: compare with "
                "torch.ops.aten.mm.default, not with the packet torch.ops.aten.mm, or use "
                "checkpoint_matrix_products from ._checkpoint."
            )

    def _compare(self, name: str, value: NDArray[Any], unrounded: NDArray[Any], rounded: NDArray[Any]) -> Estimate:
        """The estimate of one quantity of one case, whose batched run must agree with `value`."""
        if value.dtype != np.float64:
            value = value.astype(np.int32) if value.dtype == np.int64 else value
            if not np.array_equal(value, unrounded):
                raise self._mixes(name, int(np.sum(value != unrounded)), "differ")
            # Where a decision that it hangs on is a coin, correct implementations differ.
            return Estimate(value, _deviation(rounded, value) if np.any(rounded != value) else None)
        sigma = _deviation(rounded, value)
        if not (np.all(np.isfinite(value)) and np.all(np.isfinite(sigma))):
            raise self._checker.fault(
                f"has a sigma that is not finite in {name}: {int(np.sum(~np.isfinite(sigma)))} of {sigma.size} "
                "elements. Wanted finite results in float64 and under rounding. Look for a division by 0, a logarithm "
                "of 0 or a difference of infinities."
            )
        self._check_same(name, value, unrounded, _SAME * sigma)
        return Estimate(value, sigma)

    def _check_same(self, name: str, value: NDArray[Any], unrounded: NDArray[Any], limit: Any) -> None:
        apart = np.abs(unrounded.astype(np.float64) - value)
        wrong = ~(apart <= limit)
        if np.any(wrong):
            raise self._mixes(name, int(np.sum(wrong)), f"are off by up to {float(np.max(apart)):.3g}")

    def _mixes(self, name: str, count: int, how: str) -> OracleFault:
        return self._checker.fault(
            f"forgets the batch dimension: in a batch of different cases {count} elements of {name} {how} from the "
            "same case alone. Wanted equal results. Reduce over no leading dimension but in the sum that is "
            "differentiated."
        )

    def _check_static(self, cases: Sequence[Mapping[str, Any]]) -> None:
        def check(leaf: Any, first: Any, other: Any) -> None:
            if not isinstance(leaf, ArrayLeaf | FloatLeaf) and first != other:
                raise ValueError(f"found the static values {first!r} and {other!r} in one batch; wanted equal ones")

        for case in cases[1:]:
            map_leaves(check, dict(self._problem.inputs), cases[0], case)

    def _dims(self, case: Mapping[str, Any]) -> dict[str, int]:
        dims: dict[str, int] = {}
        arrays = dict(leaves({name: case[name] for name in self._problem.inputs}))
        for path, leaf in leaves(dict(self._problem.inputs)):
            if isinstance(leaf, ArrayLeaf):
                named = zip(leaf.dims, np.shape(arrays[path]), strict=True)
                dims.update({letter: size for letter, size in named if isinstance(letter, str)})
        return dims
