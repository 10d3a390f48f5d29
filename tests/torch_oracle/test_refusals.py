"""Operations without a rule are refused by name; a wrong oracle is a fault that names the quantity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.errors import CaseRejected, OracleFault, OracleRefusal
from conformance.values.arithmetic import CPU

X = [[1.3, -2.1, 3.2], [0.5, 0.26, -1.4]]

REFUSED = {
    "dropout": ("loss = F.dropout(x, 0.5).sum((-2, -1))", "random"),
    "random": ("loss = (x * torch.rand_like(x)).sum((-2, -1))", "rand_like"),
    "item": ("loss = (x * x.sum().item()).sum((-2, -1))", "_local_scalar_dense"),
    "branch": ("loss = x.sum((-2, -1)) if bool((x > 0).all()) else (x * x).sum((-2, -1))", "_local_scalar_dense"),
    "one hot": ("loss = (x * F.one_hot((x > 0).long().sum(-1), 3)[..., None, :]).sum((-2, -1))", "torch.arange"),
    "unclassified": ("loss = torch.lgamma(x * x + 1).sum((-2, -1))", "lgamma"),
    "float32": ("loss = (x.float() * 2).double().sum((-2, -1))", r"torch\.float32"),
    "bfloat16": ("loss = x.to(torch.bfloat16).double().sum((-2, -1))", r"torch\.bfloat16"),
    "complex": ("loss = torch.complex(x, x).abs().sum((-2, -1))", "complex"),
    "in-place": ("z = x * 2\nz += 1\nloss = z.sum((-2, -1))", "in place"),
    "in-place choice of an input": ("loss = x.detach().masked_fill_(x > 5, 0.0).sum((-2, -1))", "in place"),
    "in-place choice of a view of an input": (
        "loss = x.detach()[..., 0].masked_fill_(x[..., 0] > 5, 0.0).sum(-1)",
        "in place",
    ),
    "convolution": ("k = torch.ones(1, 1, 2, dtype=x.dtype)\nloss = F.conv1d(x.unsqueeze(-2), k).sum()", "convolution"),
    "solver": ("loss = torch.linalg.solve(x @ x.mT, x).sum((-2, -1))", "solve"),
    "attention": ("loss = F.scaled_dot_product_attention(x, x, x).sum((-2, -1))", "attention as one operation"),
    "whole quotient": ('loss = torch.div(x, 0.7, rounding_mode="floor").sum((-2, -1))', "tie rule"),
    "overflow": ("loss = (torch.exp(x * x * 10) * 1e-30).sum((-2, -1))", r"exp.*2\.96e\+44.*float32"),
    "hidden overflow": ("loss = (x * 1e30 * 1e30 * 1e-60).sum((-2, -1))", "range of float32"),
    "overflow inside a norm": ("loss = torch.linalg.vector_norm(x * 1e25, dim=-1).sum(-1)", "range of float32"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_operation_without_a_rule_is_refused_by_its_name(name: str, estimate_body: Any) -> None:
    body, words = REFUSED[name]
    with pytest.raises(OracleRefusal, match=words) as caught:
        estimate_body(body, X)
    assert str(caught.value).startswith("estimating sample: the oracle uses ")


def test_a_case_whose_true_outputs_leave_float32_is_rejected(estimate_body: Any) -> None:
    with pytest.raises(CaseRejected, match=r"the true loss has an element of magnitude 2\.96e\+44, beyond float32's"):
        estimate_body("loss = torch.exp(x * x * 10).sum((-2, -1))", X)


def test_a_fused_loss_may_write_to_tensors_of_its_own(estimate_body: Any) -> None:
    plain = estimate_body("loss = (x * 2).masked_fill(x > 1, 0.5).sum((-2, -1))", X)
    written = estimate_body("loss = (x * 2).masked_fill_(x > 1, 0.5).sum((-2, -1))", X)
    assert repr(plain.quantities) == repr(written.quantities)


def test_a_function_whose_accuracy_the_arithmetic_does_not_state_is_refused(estimate_body: Any) -> None:
    from dataclasses import replace

    with pytest.raises(OracleRefusal, match="no accuracy for tanh"):
        estimate_body("loss = torch.tanh(x).sum((-2, -1))", X, arithmetic=replace(CPU, accuracy={}))


def test_an_operation_inside_a_checkpoint_is_refused_by_its_own_name(estimate_body: Any) -> None:
    body = "loss = torch.utils.checkpoint.checkpoint(torch.lgamma, x * x + 1, use_reentrant=False).sum((-2, -1))"
    with pytest.raises(OracleRefusal, match="lgamma"):
        estimate_body(body, X)


FAULTS = {
    "reduces all": ("loss = x.sum()", r"forgets the batch dimension.*loss.*shape \(\); wanted \(2, 3\)"),
    "counts from the front": ("loss = (x * x).sum((0, 1))", "forgets the batch dimension"),
    "crosstalk": ("loss = ((x - 0.5 * x.mean(0)) ** 2).sum((-2, -1))", "forgets the batch dimension.*same case alone"),
    "crosstalk of the batch alone": (
        "m = x.mean((0, 1), keepdim=True) if x.dim() > 2 else x.mean()\nloss = ((x - m) ** 2).sum((-2, -1))",
        "forgets the batch dimension",
    ),
    "crosstalk of size 1e-6": (
        "m = x.roll(1, 1) if x.dim() > 2 else x\nloss = (x + 1e-6 * m).sum((-2, -1))",
        "forgets the batch dimension.*loss",
    ),
    "needs two dimensions": ("loss = x.t().sum((-2, -1))", "forgets the batch dimension.*raised RuntimeError"),
    "raises": ("raise ValueError('boom')", r"sample\.py raised ValueError at line 7: boom"),
    "unused parameter": ("loss = x.detach().clone().requires_grad_().sum((-2, -1))", "a gradient of every parameter"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_wrong_oracle_is_a_fault_that_says_what_is_wrong(name: str, estimate_body: Any) -> None:
    body, words = FAULTS[name]
    with pytest.raises(OracleFault, match=words):
        estimate_body(body, X)


def test_a_division_by_zero_is_refused_with_its_operation(estimate_body: Any) -> None:
    with pytest.raises(OracleRefusal, match=r"aten\.div.*reaches"):
        estimate_body("loss = (x / (x - x)).sum((-2, -1))", X)


def test_a_sigma_that_is_not_finite_is_a_fault_that_names_the_quantity(estimate_body: Any) -> None:
    # In float64 the difference is below 1e-14, in float32 it is around 1e-6 and negative in half of the runs.
    body = "loss = torch.log(1e-9 + (x * x * x).sum((-2, -1)) - (x * (x * x)).sum((-2, -1)))"
    with pytest.raises(OracleFault, match="sigma that is not finite in loss"):
        estimate_body(body, X)


RETURNED = {
    "missing": ('{"loss": loss}', r"keys \['loss'\].*wanted a dict with keys \['grad', 'loss'\]"),
    "more": ('{"loss": loss, "grad": x, "extra": x}', "extra"),
    "None": ('{"loss": loss, "grad": None}', "None for grad.*do not detach"),
    "number": ('{"loss": 1.5, "grad": x}', "float for loss"),
    "type": ('{"loss": loss > 0, "grad": x}', r"torch\.bool for loss.*torch\.float64"),
    "shape": ('{"loss": loss, "grad": x.mT}', r"shape \(3, 2\) for grad; wanted \(2, 3\)"),
}


@pytest.mark.parametrize("name", RETURNED)
def test_outputs_of_another_structure_type_or_shape_are_a_fault(name: str, load: Any) -> None:
    returned, words = RETURNED[name]
    oracle = load(
        f"""
        def evaluate(x):
            loss = (x * x).sum((-2, -1))
            return {returned}
        """,
        {"x": "float32[N,D]"},
        {"loss": "float32[]", "grad": "float32[N,D]"},
    )
    with pytest.raises(OracleFault, match=words):
        oracle.estimate([{"x": np.array(X, np.float32)}], CPU, runs=2, seeds=[1])


def test_types_shorter_than_float32_are_refused(load: Any) -> None:
    oracle = load("def evaluate(x):\n    return x", {"x": "bfloat16[N]"}, "bfloat16[N]")
    with pytest.raises(OracleRefusal, match="bfloat16 has no rounding rule"):
        oracle.estimate([{"x": np.zeros(2, np.float32)}], CPU, runs=2, seeds=[1])


def test_tuples_and_exact_quantities_come_back_by_their_paths(load: Any) -> None:
    source = """
        def evaluate(x, k, flag):
            return (x * 0.3, [k + 1, flag])
    """
    signature = {"tuple": ["float32[N]", ["int32[N]", "bool[]"]]}
    oracle = load(source, {"x": "float32[N]", "k": "int32[N]", "flag": "bool[]"}, signature)
    case = {"x": np.ones(2, np.float32), "k": np.array([1, 2], np.int32), "flag": np.array(True)}
    quantities = oracle.estimate([case], CPU, runs=8, seeds=[1])[0].quantities
    assert ["0", "1.0", "1.1"] == list(quantities)
    assert quantities["1.0"].sigma is None
    assert [2, 3] == quantities["1.0"].value.tolist()
    assert np.int32 == quantities["1.0"].value.dtype
