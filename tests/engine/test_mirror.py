"""The oracle's own checkpoint beside the clause ``checkpoint``."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.judging.contract import mirror_checkpoint
from conformance.values.contract import Finding, KeptTensor, Status
from conformance.values.estimate import Estimation

CONTRACT = {"checkpoint": {"policy": "dots_saveable", "saves": {"dot_general": 2}, "recomputes": ["tanh"]}}
NAMES = {"aten.mm": "dot_general", "aten.bmm": "dot_general", "aten.tanh": "tanh"}
KEPT = Finding(Status.KEPT, (), {"saved_by_policy": [{"shape": [4, 5]}, {"shape": [4, 3]}]})


def estimate(saved: Any, recomputed: Any, *shapes: tuple[int, ...]) -> Estimation:
    kept = [KeptTensor("dot_general", shape, "float64", 8, by_policy=True) for shape in shapes]
    return Estimation({}, 32, (), saved, recomputed, NAMES, kept)


def test_a_mirror_image_keeps_the_clause_and_is_told():
    found = mirror_checkpoint(CONTRACT, KEPT, estimate({"aten.mm": 1, "aten.bmm": 1}, {"aten.tanh": 1}, (4, 3), (4, 5)))
    assert (Status.KEPT, ()) == (found.status, tuple(found.messages))
    assert found.evidence["oracle"]["same_kept"] is True
    assert [96, 160] == sorted(tensor["bytes"] for tensor in found.evidence["oracle"]["residuals"])


@pytest.mark.parametrize(
    ("saved", "recomputed", "message"),
    [
        ({"aten.mm": 1}, {"aten.tanh": 1}, "its checkpoint keeps 1 and recomputes 0 results of dot_general; wanted 2"),
        ({"aten.mm": 2}, {"aten.tanh": 1, "aten.mm": 1}, "keeps 2 and recomputes 1 results of dot_general"),
        ({"aten.mm": 2}, {}, "its checkpoint does not recompute tanh"),
        ({}, {}, "keeps 0 and recomputes 0 results of dot_general"),
    ],
)
def test_an_oracle_that_is_none_leaves_the_clause_unproven(saved: Any, recomputed: Any, message: str):
    found = mirror_checkpoint(CONTRACT, KEPT, estimate(saved, recomputed))
    assert Status.NOT_PROVEN == found.status
    assert any(message in text for text in found.messages), found.messages


def test_an_implementation_that_broke_it_stays_broken():
    found = mirror_checkpoint(CONTRACT, Finding(Status.BROKEN, ("no checkpoint",)), estimate({}, {}))
    assert Status.BROKEN == found.status
    assert "no checkpoint" == found.messages[0]


def test_other_shapes_are_told():
    found = mirror_checkpoint(CONTRACT, KEPT, estimate({"aten.mm": 2}, {"aten.tanh": 1}, (4, 5), (5, 4)))
    assert found.evidence["oracle"]["same_kept"] is False
