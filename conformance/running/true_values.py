"""The oracle's float64 values of cases, for commands that ask for nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conformance.errors import CaseRejected, FileFault
from conformance.files.blessing import round_value
from conformance.files.document import Document, describe
from conformance.files.problem_file import json_leaves
from conformance.judging.documented import differs
from conformance.sides import Oracle, load_oracle_side
from conformance.values.arithmetic import CPU
from conformance.values.case import Case
from conformance.values.tree import leaves

_UNITS = {"decimals": "decimals", "significant": "significant digits"}
_RUNS = 2
"""As few as the oracle takes: its value needs none of them."""


class TrueValues:
    """The installed oracle side, started, with the oracles that it has loaded so far."""

    def __init__(self) -> None:
        """The side, started with one thread.

        Raises:
            SideUnavailable: its framework is missing.
        """
        self._side = load_oracle_side()
        self._side.start(1)
        self._oracles: dict[str, Oracle] = {}

    def of(self, case: Case) -> Mapping[str, NDArray[Any]]:
        """The value of each quantity of `case`.

        Raises:
            CaseRejected: a value leaves float32's range.
            NotProven: the oracle is at fault, or cannot judge the case.
        """
        name = case.problem.name
        if name not in self._oracles:
            self._oracles[name] = self._side.load(case.problem)
        (found,) = self._oracles[name].estimate(
            [case.inputs], CPU, runs=_RUNS, seeds=[case.seed], allow_ties=case.allow_ties
        )
        return {name: estimate.value for name, estimate in found.quantities.items()}


def check_expected(document: Document, index: int, case: Case, values: TrueValues) -> Iterator[FileFault]:
    """Where the expected values of `case`, number `index` of the document, differ from the true ones.

    Raises:
        NotProven: the oracle is at fault, or cannot judge the case.
    """
    if case.expected is None or case.rounding is None:
        return
    try:
        found = values.of(case)
    except CaseRejected as error:
        yield document.fault(("cases", index), str(error))
        return
    outputs = case.problem.outputs
    paths = [path for path, _ in json_leaves(outputs, (), tuples=False)]
    places = dict(zip([name for name, _ in leaves(outputs)], paths, strict=True))
    for name, value in found.items():
        written = case.expected[name]
        stale = differs(value, written, case.rounding)
        for place in np.ndindex(value.shape):
            path = ("cases", index, "expected", *places[name], *place)
            number, right = written[place].item(), value[place].item()
            if stale[place]:
                wanted = round_value(right, case.rounding) if isinstance(right, float) else right
                told = f"wanted {describe(wanted)}, which the oracle's {right!r} rounds to"
            elif isinstance(number, float) and round_value(number, case.rounding) != number:
                rounding = f"{case.rounding.count} {_UNITS[case.rounding.kind]}"
                told = f"wanted {describe(round_value(number, case.rounding))}, which has {rounding}, as the file says"
            else:
                continue
            yield document.fault(path, f"found {describe(number)}, {told}")
