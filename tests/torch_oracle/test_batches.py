"""Many cases of one shape go through in one batch, and each keeps its own estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.errors import OracleFault
from conformance.values.arithmetic import CPU


def test_twenty_stacked_cases_have_the_values_that_they_have_alone(block: Any, make_block_case: Any) -> None:
    cases = [make_block_case(seed, (2, 3, 4)) for seed in range(20)]
    stacked = block.estimate(cases, CPU, runs=8, seeds=range(20))
    assert 20 == len(stacked)
    for seed, (case, estimation) in enumerate(zip(cases, stacked, strict=True)):
        alone = block.estimate([case], CPU, runs=8, seeds=[seed])[0]
        assert alone.saved == estimation.saved
        for name, quantity in alone.quantities.items():
            # Other than in a batch of its own, a case's products may be added up in another order.
            apart = np.abs(quantity.value - estimation.quantities[name].value)
            assert np.all(apart <= 2.0**-16 * quantity.sigma)


def test_no_case_is_no_estimate(block: Any) -> None:
    assert [] == block.estimate([], CPU, runs=8, seeds=[])


def test_a_stack_of_many_cases_does_not_hide_crosstalk(load: Any) -> None:
    oracle = load(
        """
        def evaluate(x):
            return x * 2.1 + (0.001 * x.roll(1, 1) if x.dim() > 1 else 0)
        """,
        {"x": "float32[N]"},
        "float32[N]",
    )
    cases = [{"x": np.full(3, value, np.float32)} for value in range(1, 31)]
    with pytest.raises(OracleFault, match=r"forgets the batch dimension.*output"):
        oracle.estimate(cases, CPU, runs=8, seeds=range(30))


def test_static_values_reach_the_oracle_as_they_are_and_must_be_equal(load: Any) -> None:
    oracle = load(
        "def evaluate(x, power, name):\n    return x**power if name == 'power' else x",
        {"x": "float32[N]", "power": "static int", "name": "static str"},
        "float32[N]",
    )
    case = {"x": np.full(2, 3.0, np.float32), "power": 3, "name": "power"}
    assert [27.0, 27.0] == oracle.estimate([case], CPU, runs=4, seeds=[1])[0].quantities["output"].value.tolist()
    with pytest.raises(ValueError, match="static values 3 and 2"):
        oracle.estimate([case, {**case, "power": 2}], CPU, runs=4, seeds=[1, 2])


def test_an_oracle_that_branches_on_a_python_float_is_told_what_to_write(load: Any) -> None:
    source = "def evaluate(x, f):\n    return x * f if f > 0 else x"
    oracle = load(source, {"x": "float32[]", "f": "float"}, "float32[]")
    with pytest.raises(OracleFault, match=r"Boolean value of Tensor.*torch\.where instead of a branch"):
        oracle.estimate([{"x": np.float32(1.5), "f": 0.1}], CPU, runs=4, seeds=[1])
