"""Judgement of the clauses that rest on what was differentiated: where outputs come from, and what is recomputed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

import jax

from conformance.values.contract import Finding, Status

from ._provenance import INPUT, Labels, Unjudged
from ._rematerialisation import Rematerialisation, probe
from ._tracing import Traced
from ._versions import KNOWN_PRIMITIVES
from ._watching import GRADIENT, OTHER, VALUE

_WANTED = "jax.value_and_grad"
_GRADIENTS = "grad"
"""An output is a gradient where a part of its path begins so."""


def judge_origins(traced: Traced, declared: Set[str], early: tuple[str, ...]) -> Finding:
    """The clause ``differentiated_with``: every output comes from ``jax.value_and_grad``, and from nothing beside it.

    `declared` are the problem's own outputs. A gradient, as an output is named, must come from the gradients; every
    other output from either.
    """
    called = any(call.interface == _WANTED for call in traced.calls.values())
    evidence = {
        "how": traced.how,
        "calls": [call.interface for call in traced.calls.values()],
        "outputs": {path: _name(labels) for path, labels in traced.origins.items()},
    }
    if not called and early:
        modules = ", ".join(early)
        message = f"{modules} was imported before {_WANTED} could be watched; use conformance run, which starts afresh"
        return Finding(Status.NOT_PROVEN, (message,), evidence)
    faults: dict[str, list[str]] = {}
    for path, labels in traced.origins.items():
        if path not in declared and declared & set(traced.origins):
            continue  # what was not asked for is a matter of the clause `returns`
        if fault := _find_fault(path, labels, called):
            faults.setdefault(fault, []).append(path)
    messages = tuple(f"{', '.join(paths)}: {fault}" for fault, paths in faults.items())
    return Finding(Status.BROKEN if messages else Status.KEPT, messages, evidence)


def _find_fault(path: str, labels: Labels, called: bool) -> str:
    kinds = {kind for kind, _ in labels}
    marked = kinds & {VALUE, GRADIENT}
    if OTHER in kinds:
        return f"comes from jax.grad; wanted {_WANTED}"
    if not called:
        return f"{_WANTED} is never called; wanted value and gradients from it"
    if not marked:
        return f"does not come from {_WANTED}, which is called, but whose result is not what is returned here"
    if INPUT in labels:
        return f"an input gets past {_WANTED}: something computed by hand is added to or mixed with what it gave"
    if GRADIENT not in marked and any(part.startswith(_GRADIENTS) for part in path.split(".")):
        return f"comes from the value that {_WANTED} gave, not from its gradients"
    return ""


def _name(labels: Labels) -> str:
    return " and ".join(sorted({kind for kind, _ in labels})) or "a constant"


def judge_checkpoint(traced: Traced, clause: Mapping[str, Any]) -> Finding:
    """The clause ``checkpoint``: its policy, what is kept for the backward pass, and what is computed again.

    Raises:
        Unjudged: nothing that was differentiated can be looked into.
    """
    unknown = sorted({*clause.get("saves", {}), *clause.get("recomputes", [])} - set(KNOWN_PRIMITIVES))
    if unknown:
        names = ", ".join(unknown)
        raise Unjudged(f"{names} in the contract, which is no primitive of jax {jax.__version__} that is known")
    reached = {number for labels in traced.origins.values() for _, number in labels} & set(traced.calls)
    if not reached:
        raise Unjudged("no output that comes from a call of jax.value_and_grad or jax.grad")
    saves, recomputes = clause.get("saves", {}), clause.get("recomputes", [])
    found = [probe(traced.calls[number], clause["policy"], saves, recomputes) for number in sorted(reached)]
    messages = tuple(dict.fromkeys(text for one in found for text in _find_faults(one, clause)))
    first = found[0]
    evidence = {
        "calls": len(found),
        "policies": list(first.policies),
        "forward": dict(first.forward),
        "recomputed": dict(first.recomputed),
        "behind_barrier": dict(first.barred),
        "residuals": [tensor.to_json() for tensor in first.residuals],
        "saved_by_policy": [tensor.to_json() for tensor in first.saved],
    }
    if not messages and any(count is None for one in found for count in one.barred.values()):
        unknown = next(name for name, count in first.barred.items() if count is None)
        raise Unjudged(f"{unknown}, which is lowered to more than one operation")
    return Finding(Status.BROKEN if messages else Status.KEPT, messages, evidence)


def _find_faults(found: Rematerialisation, clause: Mapping[str, Any]) -> Iterator[str]:
    wanted = clause["policy"]
    if not found.policies:
        yield (
            f"found no checkpoint in the differentiated function; wanted jax.checkpoint with the policy {wanted} "
            "(one that is made and not called has no effect)"
        )
    yield from (f"found another policy than {wanted}: {difference}" for difference in found.differences)
    for name, held in found.held.items():
        if found.policies and not found.differences and not held:
            yield f"the checkpoint holds no {name}: it is around another part of the function"
    for name, number in clause.get("saves", {}).items():
        if found.forward[name] != number:
            yield f"found {found.forward[name]} {name} in the forward pass; wanted exactly {number}"
        if found.recomputed[name]:
            yield f"{name} is computed again in the backward pass ({found.recomputed[name]} times); wanted it kept"
    for name in clause.get("recomputes", []):
        kept = [tensor.shape for tensor in found.residuals if tensor.origin == name]
        if kept:
            yield f"the result of {name}, of shape {kept[0]}, is kept for the backward pass; wanted it computed again"
        barred = found.barred[name]
        if not found.recomputed[name]:
            yield f"{name} is not computed again in the backward pass"
        elif barred is not None and barred < found.recomputed[name]:
            yield (
                f"no optimisation barrier stands before the {name} that is computed again (prevent_cse=False?): a "
                "compiler may merge it with the first one"
            )
