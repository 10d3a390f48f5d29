"""What selective checkpoints keep is counted, and one that keeps nothing is found out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from conformance.errors import OracleFault

X = [[1.3, -2.1, 3.2], [0.5, 0.26, -1.4]]


def test_the_block_keeps_its_two_matrix_products_and_computes_tanh_again(
    block: Any, make_block_case: Any, estimate_one: Any
) -> None:
    estimation = estimate_one(block, make_block_case(0, (4, 3, 5)))
    assert {"aten.mm": 2} == estimation.saved
    assert estimation.recomputed["aten.tanh"] >= 1
    assert not {"aten.mm", "aten.bmm"} & set(estimation.recomputed)


def test_the_tensors_that_stay_alive_for_the_backward_pass_are_told(
    block: Any, make_block_case: Any, estimate_one: Any
) -> None:
    """R02: the region's inputs, its two products, and the one value of the squared error; no result of tanh."""
    kept = estimate_one(block, make_block_case(0, (4, 3, 5))).kept
    assert [
        ("dot_general", (4, 3), True),
        ("dot_general", (4, 5), True),
        ("input params.b1", (5,), False),
        ("input params.b2", (3,), False),
        ("input params.w1", (3, 5), False),
        ("input params.w2", (5, 3), False),
        ("input x", (4, 3), False),
        ("sub", (4, 3), False),
    ] == sorted((tensor.origin, tensor.shape, tensor.by_policy) for tensor in kept)
    assert {8 * int(np.prod(tensor.shape)) for tensor in kept} == {tensor.bytes for tensor in kept}


def test_without_a_checkpoint_everything_is_kept_and_nothing_by_policy(estimate_body: Any) -> None:
    kept = estimate_body("loss = (torch.tanh(x @ x.mT) ** 2).sum((-2, -1))", X).kept
    assert "tanh" in {tensor.origin for tensor in kept}
    assert not any(tensor.by_policy for tensor in kept)


def test_the_logits_product_is_saved_and_the_rest_recomputed(
    logistic: Any, make_logistic_case: Any, estimate_one: Any
) -> None:
    estimation = estimate_one(logistic, make_logistic_case([[1.0]], [0.5], 0.1, [1], 0.1))
    assert {"aten.mm": 1} == estimation.saved
    assert estimation.recomputed["aten.add"] >= 1
    assert not {"aten.mm", "aten.bmm"} & set(estimation.recomputed)


def own_checkpoint(policy: str, contexts: str) -> str:
    return f"""
        function = lambda x: torch.tanh(x @ x.mT) @ x
        context_fn = lambda: {contexts}({policy})
        loss = torch.utils.checkpoint.checkpoint(
            function, x, use_reentrant=False, context_fn=context_fn
        ).sum((-2, -1))
    """


OVERLOADS = "[torch.ops.aten.mm.default, torch.ops.aten.bmm.default]"
PACKETS = "lambda ctx, op, *args, **kwargs: op in (torch.ops.aten.mm, torch.ops.aten.bmm)"
BY_ATTRIBUTE = "torch.utils.checkpoint.create_selective_checkpoint_contexts"
HEAD = "from torch.utils.checkpoint import create_selective_checkpoint_contexts\n"


@pytest.mark.parametrize("contexts", [BY_ATTRIBUTE, "create_selective_checkpoint_contexts"])
def test_a_checkpoint_of_the_oracles_own_is_counted_however_it_is_imported(contexts: str, estimate_body: Any) -> None:
    estimation = estimate_body(own_checkpoint(OVERLOADS, contexts), X, head=HEAD)
    assert {"aten.mm": 2} == estimation.saved
    assert estimation.recomputed["aten.tanh"] == 1


def test_a_policy_of_packets_saves_nothing_and_is_a_fault(estimate_body: Any) -> None:
    """R09: with op packets instead of overloads everything is recomputed, silently."""
    with pytest.raises(OracleFault, match=r"saves nothing.*aten\.mm 2 times.*policy.*aten\.mm\.default"):
        estimate_body(own_checkpoint(PACKETS, BY_ATTRIBUTE), X)


def test_observing_leaves_torch_as_it_was(block: Any, make_block_case: Any, estimate_one: Any) -> None:
    import torch.utils.checkpoint as torch_checkpoint

    before = torch_checkpoint.create_selective_checkpoint_contexts
    estimate_one(block, make_block_case(0, (2, 2, 2)))
    assert before is torch_checkpoint.create_selective_checkpoint_contexts
