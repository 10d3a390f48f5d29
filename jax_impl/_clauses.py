"""Judgement of the clauses that rest on what was differentiated: where outputs come from, and what is recomputed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax

from conformance.values.contract import Finding, Status
from conformance.values.tree import leaves

from ._graph import build_graph
from ._provenance import FACTOR, INPUT, Labels, Unjudged
from ._rematerialisation import Rematerialisation, probe
from ._tracing import TRACED, Subject, Traced
from ._versions import KNOWN_PRIMITIVES
from ._watching import GRADIENT, OTHER, VALUE, Call

_WANTED = "jax.value_and_grad"
_GRADIENTS = "grad"
"""An output is a gradient where a part of its path begins so."""


def judge_origins(traced: Traced, subject: Subject) -> Finding:
    """The clause ``differentiated_with``: every output comes from ``jax.value_and_grad``, and from nothing beside it.

    A gradient, as an output is named, must come from the gradients; every other output from either.
    """
    declared = {path for path, _ in leaves(subject.problem.outputs)}
    called = any(call.interface == _WANTED for call in traced.calls.values())
    evidence = {
        "how": traced.how,
        "calls": [call.interface for call in traced.calls.values()],
        "outputs": {path: _name(labels) for path, labels in traced.origins.items()},
    }
    if not called and subject.made_at_load and traced.how != TRACED:
        message = f"{_WANTED} was called while the module was loaded, and what it gave there cannot be looked into"
        return Finding(Status.NOT_PROVEN, (message,), evidence)
    if not called and subject.early:
        modules = ", ".join(subject.early)
        message = f"{modules} was imported before {_WANTED} could be watched; use conformance run, which starts afresh"
        return Finding(Status.NOT_PROVEN, (message,), evidence)
    broken: dict[str, list[str]] = {}
    unknown: dict[str, list[str]] = {}
    for path, labels in traced.origins.items():
        if path not in declared and declared & set(traced.origins):
            continue  # what was not asked for is a matter of the clause `returns`
        if fault := _find_fault(path, labels, called):
            broken.setdefault(fault, []).append(path)
        elif doubt := _find_doubt(path, labels, traced):
            unknown.setdefault(doubt, []).append(path)
    messages = tuple(f"{', '.join(paths)}: {text}" for told in (broken, unknown) for text, paths in told.items())
    status = Status.BROKEN if broken else Status.NOT_PROVEN if unknown else Status.KEPT
    return Finding(status, messages, evidence)


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
    if GRADIENT not in marked and _is_gradient(path):
        return f"comes from the value that {_WANTED} gave, not from its gradients"
    return ""


def _find_doubt(path: str, labels: Labels, traced: Traced) -> str:
    """Why it cannot be told that an output is still what was differentiated; empty where it can."""
    if FACTOR in labels:
        return f"what {_WANTED} gave is scaled by something that depends on the inputs, which this check cannot judge"
    if not _is_gradient(path):
        return ""
    values = {number for found in traced.origins.values() for kind, number in found if kind == VALUE}
    own = {number for kind, number in labels if kind == GRADIENT}
    if any(kind == VALUE for kind, _ in labels):
        return f"the value that {_WANTED} gave is mixed into a gradient, which this check cannot judge"
    known = [outline for number in values if (outline := _outline(traced.calls.get(number)))]
    if known and any(_outline(traced.calls.get(number)) not in known for number in own - values):
        return "is the gradient of another function than the one whose value is returned, which this check cannot judge"
    return ""


def _is_gradient(path: str) -> bool:
    return any(part.startswith(_GRADIENTS) for part in path.split("."))


def _outline(call: Call | None) -> Counter[str] | None:
    """How often a differentiated function does what: one function differentiated in other arguments has the same."""
    if call is None or call.program is None:
        return None
    return Counter(operation.primitive for operation in build_graph(call.program).operations)


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
    faults = [text for one in found for text in _find_faults(one, clause)]
    messages = tuple(dict.fromkeys([*faults, *_find_missing(found, recomputes)]))
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


def _find_missing(found: Sequence[Rematerialisation], recomputes: Sequence[str]) -> Iterator[str]:
    """What no call computes again: one that is differentiated in few arguments may not need it."""
    for name in recomputes:
        if not any(one.recomputed[name] for one in found):
            yield f"{name} is not computed again in the backward pass"


def _find_faults(found: Rematerialisation, clause: Mapping[str, Any]) -> Iterator[str]:
    wanted = clause["policy"]
    if not found.policies:
        yield (
            f"found no checkpoint in the differentiated function; wanted jax.checkpoint with the policy {wanted} "
            "(one that is made and not called has no effect)"
        )
    if not found.faithful:
        yield from (f"found another policy than {wanted}: {difference}" for difference in found.differences)
    for name, held in found.held.items():
        if found.policies and not found.differences and not held:
            yield f"the checkpoint holds no {name}: it is around another part of the function"
    for name, number in clause.get("saves", {}).items():
        if found.forward[name] != number:
            yield f"found {found.forward[name]} {name} in the forward pass; wanted exactly {number}"
        if found.recomputed[name]:
            yield f"{name} is computed again in the backward pass, {found.recomputed[name]} of it; wanted it kept"
    for name in clause.get("recomputes", []):
        for tensor in found.leaked[name][:1]:
            made = "the result" if tensor.origin == name else f"what {tensor.origin} made of the result"
            yield f"{made} of {name}, of shape {tensor.shape}, is kept for the backward pass; wanted it computed again"
        barred = found.barred[name]
        if barred is not None and barred < found.recomputed[name]:
            yield (
                f"no optimisation barrier stands before the {name} that is computed again (prevent_cse=False?): a "
                "compiler may merge it with the first one"
            )
