"""Records of items whose process did not live to write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.results.record import Record
from conformance.values.case import Case
from conformance.values.placement import Placement
from conformance.values.verdict import Fault, Verdict

_NODE = re.compile(r"(?:.*/)?(?P<problem>[^/]+)/(?P<group>[^/]+)\.json::(?P<name>[^\[]+)\[(?P<placement>[^\]]+)\]")


def describe_item(node: str, case: Case, placement: Placement) -> dict[str, Any]:
    """What is needed to tell of an item that did not live to write its record; JSON alone."""
    return {
        "node": node,
        "case": case.id,
        "hash": case.content_hash,
        "uninformative": sorted(case.uninformative),
        "platform": placement.platform,
        "mode": placement.mode,
        "precision": placement.precision,
    }


def record_loss(item: Mapping[str, Any], message: str, verdict: Verdict = Verdict.ERROR) -> Record:
    """The record of an item, as `describe_item` tells it, that was begun and never ended, or never begun."""
    return Record(
        item["node"],
        item["case"],
        item["hash"],
        Placement(item["platform"], item["mode"], item["precision"]),
        "",
        [Fault(verdict, message)],
        uninformative=frozenset(item["uninformative"]),
    )


def is_case(node: str) -> bool:
    """Whether the test id `node` is that of a case at a placement."""
    return _NODE.fullmatch(node) is not None


def record_loss_of(node: str, message: str) -> Record | None:
    """The record of the item with the test id `node`, of which no more than that is known; None where it is no case."""
    match = _NODE.fullmatch(node)
    if match is None:
        return None
    platform, mode, *precision = match["placement"].split("-")
    item: dict[str, Any] = {
        "node": node,
        "case": f"{match['problem']}/{match['group']}/{match['name']}",
        "hash": "",
        "uninformative": [],
        "platform": platform,
        "mode": mode,
        "precision": precision[0] if precision else "highest",
    }
    return record_loss(item, message)
