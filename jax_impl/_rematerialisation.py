"""What a differentiated function keeps from its forward pass for the backward pass, and what it computes again.

Residuals are what ``jax.vjp`` hands from the one to the other. With the cotangent as an input, whatever does not depend
on it is forward or recomputed work: what is more than in the forward pass alone was recomputed. This needs no
knowledge of how ``jax.checkpoint`` works inside, and tells recomputed products from those of the backward pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend import core

from conformance.values.contract import KeptTensor

from ._barriers import find_depths, name_operation
from ._graph import CHECKPOINTS, Graph, Operation, build_graph
from ._provenance import Unjudged
from ._watching import Call

_TRANSPARENT = frozenset(
    (
        "broadcast_in_dim",
        "convert_element_type",
        "copy",
        "copy_p",
        "name",
        "optimization_barrier",
        "reduce_precision",
        "reshape",
        "squeeze",
        "transpose",
    )
)
"""Operations whose result is still the tensor that went in."""
_HIDING = frozenset(("custom_call", "ffi_call", "io_callback", "pallas_call", "pure_callback", "tpu_custom_call"))
"""Operations that could hide any mathematics inside."""
_MIXING = frozenset(
    (
        "conv_general_dilated",
        "dot_general",
        "ragged_dot_general",
        "reduce_max",
        "reduce_min",
        "reduce_prod",
        "reduce_sum",
    )
)
"""Operations whose result is another tensor, not the one that went in with something done to each element."""
_BATCH = 2


@dataclass(frozen=True, slots=True)
class Rematerialisation:
    """What was found of one differentiated function: counts by primitive, and what is kept.

    `forward` counts the forward pass; `recomputed` what is computed again; `barred` the recomputed operations whose
    operands come through an optimisation barrier of their own, None where that could not be told. `saved` are the
    tensors that the right policy asks to keep, whether or not the backward pass reads them; `leaked` the residuals that
    are still results of what is to be recomputed, whatever was done to each element.

    `policies` has the name of each checkpoint's policy, and `differences` say how they differ from the right one;
    `held` whether a checkpoint with the right one holds what is to be recomputed, and `faithful` whether all of that.
    """

    forward: Mapping[str, int]
    recomputed: Mapping[str, int]
    barred: Mapping[str, int | None]
    residuals: tuple[KeptTensor, ...]
    saved: tuple[KeptTensor, ...]
    policies: tuple[str, ...]
    faithful: bool
    held: Mapping[str, bool]
    leaked: Mapping[str, tuple[KeptTensor, ...]]
    differences: tuple[str, ...]


def probe(call: Call, policy: str, saves: Iterable[str], recomputes: Iterable[str]) -> Rematerialisation:
    """What the function of `call` keeps and recomputes of the primitives in `saves` and `recomputes`.

    Raises:
        Unjudged: it has a construct that cannot be judged.
    """
    if call.program is None:
        raise Unjudged(f"the differentiated function could not be traced by itself ({call.failure})")
    kept, again = tuple(saves), tuple(recomputes)
    plain = build_graph(call.program)
    _refuse_hidden(plain, {*kept, *again})
    inputs = [_describe(aval) for aval in call.program.in_avals]
    cotangent = _describe(call.program.out_avals[0])
    forward_of, both_of = _passes(call)
    forward = build_graph(jax.make_jaxpr(forward_of)(*inputs))
    both = build_graph(jax.make_jaxpr(both_of)(cotangent, *inputs))
    _refuse_hidden(both, {*kept, *again})
    before = _count(forward.needed(), (*kept, *again))
    dependent = both.reached_from(both.inputs[:1])
    independent = [operation for operation in both.needed() if not dependent.intersection(operation.results)]
    total = _count(independent, (*kept, *again))
    recomputed = {name: max(0, total[name] - before[name]) for name in before}
    wanted = getattr(jax.checkpoint_policies, policy)
    policies = [equation.params["policy"] for equation in plain.checkpoints]
    verdicts = [list(_differences(call, plain, index, found, wanted)) for index, found in enumerate(policies)]
    right = {index for index, differences in enumerate(verdicts) if not differences}
    saved = list(_saved(plain, right, policies))
    held = {
        name: any(op.primitive == name and right.intersection(op.checkpoints) for op in plain.operations)
        for name in again
    }
    barred = (
        _count_barred(plain, forward_of, both_of, inputs, cotangent, again, recomputed)
        if any(recomputed[name] for name in again)
        else dict.fromkeys(again, 0)
    )
    return Rematerialisation(
        before,
        recomputed,
        barred,
        tuple(_residuals(forward, call, saved)),
        tuple(saved),
        tuple(_name_policy(found) for found in policies),
        bool(right) and all(held.values()),
        held,
        {name: tuple(_leaks(forward, call, saved, name, kept)) for name in again},
        tuple(dict.fromkeys(text for differences in verdicts for text in differences)),
    )


def _passes(call: Call) -> tuple[Any, Any]:
    """The forward pass with its residuals, and both passes with the cotangent as the first input."""
    assert call.program is not None
    function = core.jaxpr_as_fun(call.program)

    def pull(*inputs: Any) -> Any:
        def of(*varied: Any) -> Any:
            full = list(inputs)
            for place, value in zip(call.differentiated, varied, strict=True):
                full[place] = value
            return function(*full)[0]

        return jax.vjp(of, *(inputs[place] for place in call.differentiated))

    def forward(*inputs: Any) -> Any:
        value, backward = pull(*inputs)
        return value, jax.tree_util.tree_leaves(backward)

    def both(cotangent: Any, *inputs: Any) -> Any:
        value, backward = pull(*inputs)
        return value, backward(cotangent)

    return forward, both


def _describe(aval: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def _refuse_hidden(graph: Graph, primitives: set[str]) -> None:
    for operation in graph.operations:
        hidden = sorted(operation.inner & primitives) or sorted(operation.inner & CHECKPOINTS)
        if operation.primitive in _HIDING:
            raise Unjudged(f"{operation.primitive}, which hides what it computes")
        if operation.primitive == "remat3":
            raise Unjudged("remat3, the checkpoint of the setting jax_remat3")
        if hidden:
            raise Unjudged(f"{hidden[0]} inside {operation.primitive}")


def _count(operations: Iterable[Operation], primitives: Iterable[str]) -> dict[str, int]:
    counter = Counter(operation.primitive for operation in operations)
    return {name: counter[name] for name in primitives}


def _saved(plain: Graph, right: set[int], policies: list[Any]) -> Iterator[KeptTensor]:
    """What the right policy asks to keep."""
    for operation in plain.operations:
        if any(_decides(policies[i], operation.equation) is True for i in right.intersection(operation.checkpoints)):
            yield _keep(operation.primitive, operation.equation.outvars[0].aval, by_policy=True)


def _residuals(forward: Graph, call: Call, saved: Sequence[KeptTensor]) -> Iterator[KeptTensor]:
    """The tensors that the forward pass hands over, each once."""
    producers, names = forward.producers(), dict(zip(forward.inputs, call.names, strict=True))
    asked = {(tensor.origin, tensor.shape) for tensor in saved}
    for number in dict.fromkeys(output for output in forward.outputs[1:] if output is not None):
        source = number
        while source in producers and producers[source].primitive in _TRANSPARENT and producers[source].operands:
            source = producers[source].operands[0]
        origin = producers[source].primitive if source in producers else f"input {names.get(source) or ''}".strip()
        aval = forward.avals[number]
        yield _keep(origin, aval, by_policy=(origin, tuple(aval.shape)) in asked)


def _leaks(
    forward: Graph, call: Call, saved: Sequence[KeptTensor], primitive: str, kept: Collection[str]
) -> Iterator[KeptTensor]:
    """The residuals that still are results of `primitive`, whatever was made of them on the way."""
    results = [
        number for operation in forward.operations if operation.primitive == primitive for number in operation.results
    ]
    reached = forward.reached_from(results, {*kept, *_MIXING})
    outputs = dict.fromkeys(output for output in forward.outputs[1:] if output is not None)
    for number, tensor in zip(outputs, _residuals(forward, call, saved), strict=True):
        if number in reached:
            yield tensor


def _keep(origin: str, aval: Any, *, by_policy: bool) -> KeptTensor:
    return KeptTensor(origin, tuple(aval.shape), str(aval.dtype), aval.dtype.itemsize, by_policy)


def _decides(policy: Any, equation: core.JaxprEqn) -> Any:
    """What a policy says of an equation: True to save, False to compute again, or another type that JAX knows."""
    if policy is None:
        return False
    decision = policy(equation.primitive, *(atom.aval for atom in equation.invars), **equation.params)
    if isinstance(decision, bool):
        return decision
    name = str(getattr(decision, "name", decision)).lower()
    return {"saveable": True, "recompute": False}.get(name, repr(decision))


def _differences(call: Call, plain: Graph, index: int, found: Any, wanted: Any) -> Iterator[str]:
    """How the policy of a checkpoint differs from the wanted one on the operations there, alone and in a batch.

    On 2-D operands ``dots_saveable`` and ``dots_with_no_batch_dims_saveable`` decide alike: batched over every input,
    captured ones included, they do not.
    """
    if found is wanted or (found is not None and found == wanted):
        return
    if found is None:
        yield "none is given, so that nothing is saved"
        return
    assert call.program is not None
    function = core.jaxpr_as_fun(call.program)
    batched = [jax.ShapeDtypeStruct((_BATCH, *aval.shape), aval.dtype) for aval in call.program.in_avals]
    try:
        in_batch = jax.make_jaxpr(lambda *inputs: jnp.sum(jax.vmap(function)(*inputs)[0]))(*batched)
    except Exception as error:
        raise Unjudged(f"a policy of its own in a function that cannot be batched ({type(error).__name__})") from error
    told: set[tuple[Any, str]] = set()
    for where, graph in (("", plain), (" once it is batched", build_graph(in_batch))):
        decisions: dict[Any, dict[str, None]] = {}
        for operation in graph.operations:
            if index in operation.checkpoints:
                theirs, ours = _decides(found, operation.equation), _decides(wanted, operation.equation)
                if theirs != ours and (theirs, operation.primitive) not in told:
                    told.add((theirs, operation.primitive))
                    decisions.setdefault(theirs, {})[operation.primitive] = None
        for decision, primitives in decisions.items():
            yield f"{_name_policy(found)} {_say(decision)} {', '.join(primitives)}{where}"


def _say(decision: Any) -> str:
    return {True: "saves", False: "does not save"}.get(decision, f"says {decision} of")


def _name_policy(policy: Any) -> str:
    """A policy as a person would know it: by its name among JAX's own."""
    if policy is None:
        return "none"
    own = [name for name in dir(jax.checkpoint_policies) if not name.startswith("_")]
    named = [name for name in own if getattr(jax.checkpoint_policies, name) == policy]
    return named[-1] if named else getattr(policy, "__qualname__", None) or repr(policy)


def _count_barred(
    plain: Graph,
    forward: Any,
    both: Any,
    inputs: list[jax.ShapeDtypeStruct],
    cotangent: jax.ShapeDtypeStruct,
    primitives: tuple[str, ...],
    recomputed: Mapping[str, int],
) -> dict[str, int | None]:
    """How many of the recomputed operations stand behind a barrier that those of the forward pass do not have."""
    alone = jax.jit(forward).lower(*inputs).as_text()
    together = jax.jit(both).lower(cotangent, *inputs).as_text()
    barred: dict[str, int | None] = {}
    for name in primitives:
        operation = next((operation for operation in plain.operations if operation.primitive == name), None)
        if operation is None or not recomputed[name]:
            barred[name] = 0
            continue
        lowered = name_operation(operation)
        if lowered is None:
            barred[name] = None
            continue
        own = max(find_depths(alone, lowered), default=0)
        barred[name] = min(recomputed[name], sum(depth > own for depth in find_depths(together, lowered)))
    return barred
