"""The distribution of z over many cases, by quantity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from conformance.judging.standardised import standardise
from conformance.sides import Implementation, Oracle
from conformance.values.arithmetic import Arithmetic
from conformance.values.placement import Placement
from conformance.values.tree import leaves

RUNS = 32


@dataclass(slots=True)
class Tally:
    """What was seen of one quantity; `worst` are the inputs of the largest z."""

    elements: int = 0
    squares: float = 0.0
    largest: float = 0.0
    worst: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rms(self) -> float:
        """The root mean square of z."""
        return math.sqrt(self.squares / self.elements)


def tally_stacks(
    implementation: Implementation,
    oracle: Oracle,
    arithmetic: Arithmetic,
    stacks: Iterable[Sequence[Mapping[str, Any]]],
) -> dict[str, Tally]:
    """The tally of each quantity over all cases of all stacks, evaluated compiled on the CPU."""
    tallies: dict[str, Tally] = {}
    placement = Placement("cpu", "jit")
    for stack in stacks:
        estimations = oracle.estimate(stack, arithmetic, runs=RUNS, seeds=range(len(stack)))
        for inputs, estimation in zip(stack, estimations, strict=True):
            returned = dict(leaves(implementation.evaluate(inputs, placement, ()).outputs))
            for name, estimate in estimation.quantities.items():
                z = standardise(returned[name].array, estimate).z
                tally = tallies.setdefault(name, Tally())
                tally.elements += z.size
                tally.squares += float(np.sum(np.square(z)))
                if not float(np.max(z)) <= tally.largest:
                    tally.largest, tally.worst = float(np.max(z)), inputs
    return tallies
