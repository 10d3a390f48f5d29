"""Whether a run could tell right from wrong in every quantity of its problems."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.results.record import Record


def find_unresolved(records: Iterable[Record]) -> list[str]:
    """The quantities, as ``problem: quantity``, that no case resolves although some case needed it.

    A case that declares a quantity `uninformative` does not need it resolved.
    """
    resolved: set[tuple[str, str]] = set()
    wanting: dict[tuple[str, str], None] = {}
    for record in records:
        for name, quantity in record.quantities.items():
            key = (record.problem, name)
            if quantity.resolved:
                resolved.add(key)
            elif name not in record.uninformative:
                wanting[key] = None
    return [f"{problem}: {name}" for problem, name in wanting if (problem, name) not in resolved]
