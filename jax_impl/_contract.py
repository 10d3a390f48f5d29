"""The clauses of a problem's contract, each checked on an implementation and a set of inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax

from conformance.values.contract import CHECKPOINT, DIFFERENTIATED_WITH, INPUTS_UNCHANGED, Finding, Status

from ._clauses import judge_checkpoint, judge_origins
from ._compilation import freeze, outline_of
from ._inputs import Arguments, build_inputs
from ._preservation import find_changes, remember
from ._provenance import Unjudged
from ._tracing import Subject, Traced, trace_function
from ._versions import find_unknown

_T = TypeVar("_T")


class ContractChecker:
    """Checks the clauses of a contract, once for each set of shapes, static values and floats that had to be static."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._found: dict[Any, dict[str, Finding]] = {}
        self._static: dict[Any, tuple[str, ...]] = {}

    def check(self, arguments: Arguments) -> Mapping[str, Finding]:
        """What was found of each clause but `returns`, for inputs of these shapes."""
        outline = outline_of(arguments)
        if outline in self._static:
            key = (outline, freeze({path: arguments.floats[path] for path in self._static[outline]}))
            if key in self._found:
                return self._found[key]
        findings, static = self._check(arguments)
        self._static[outline] = static
        self._found[(outline, freeze({path: arguments.floats[path] for path in static}))] = findings
        return findings

    def _check(self, arguments: Arguments) -> tuple[dict[str, Finding], tuple[str, ...]]:
        contract = self._subject.problem.contract
        findings: dict[str, Finding] = {}
        static = tuple(arguments.floats)
        if contract.get(DIFFERENTIATED_WITH) or contract.get(CHECKPOINT):
            unknown = find_unknown()
            traced = (
                Finding(Status.NOT_PROVEN, (unknown,))
                if unknown
                else _guard(lambda: trace_function(self._subject, arguments))
            )
            static = static if isinstance(traced, Finding) else traced.static
            if contract.get(DIFFERENTIATED_WITH):
                findings[DIFFERENTIATED_WITH] = _judge(traced, lambda found: judge_origins(found, self._subject))
            if contract.get(CHECKPOINT):
                clause = contract[CHECKPOINT]
                findings[CHECKPOINT] = _judge(traced, lambda found: judge_checkpoint(found, clause))
        if contract.get(INPUTS_UNCHANGED):
            findings[INPUTS_UNCHANGED] = _guard(lambda: _check_inputs(self._subject, arguments))
        return findings, static


def _judge(traced: Traced | Finding, judge: Callable[[Traced], Finding]) -> Finding:
    return traced if isinstance(traced, Finding) else _guard(lambda: judge(traced))


def _guard(check: Callable[[], _T]) -> _T | Finding:
    """What `check` gives; where it cannot judge, or fails itself, that is never the implementation's fault."""
    try:
        return check()
    except Unjudged as error:
        return Finding(Status.NOT_PROVEN, (f"found {error}, which this check cannot judge",))
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Finding(Status.NOT_PROVEN, (f"the check itself failed, please report it ({said})",))


def _check_inputs(subject: Subject, arguments: Arguments) -> Finding:
    inputs = build_inputs(subject.problem, {**arguments.arrays, **arguments.floats, **arguments.static})
    named = dict(zip(subject.problem.inputs, inputs, strict=True))
    before = {name: remember(node) for name, node in named.items()}
    try:
        jax.block_until_ready(subject.function(*inputs))
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Finding(Status.NOT_PROVEN, (f"it cannot be called outside of a transformation ({said})",))
    changes = tuple(text for name, node in named.items() for text in find_changes(before[name], node, name))
    evidence = {"called": "eagerly", "leaves": len(jax.tree_util.tree_leaves(inputs))}
    return Finding(Status.BROKEN if changes else Status.KEPT, changes, evidence)
