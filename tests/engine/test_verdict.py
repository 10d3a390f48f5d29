"""Verdicts, precedence and exit codes."""

from itertools import combinations

import pytest

from conformance.values.verdict import PRECEDENCE, Cause, Fault, Verdict, decide, exit_code


def test_no_fault_is_agreement():
    assert (Verdict.AGREE, None) == decide([])


@pytest.mark.parametrize(("first", "second"), list(combinations(PRECEDENCE, 2)))
def test_the_first_by_precedence_wins_whatever_the_order(first: Verdict, second: Verdict):
    assert (first, None) == decide([Fault(second, "b"), Fault(first, "a")])


def test_the_cause_is_that_of_the_verdict():
    faults = [Fault(Verdict.ERROR, "raised"), Fault(Verdict.DISAGREE, "stale", cause=Cause.DOCUMENTED)]
    assert (Verdict.ERROR, None) == decide(faults)
    assert (Verdict.DISAGREE, Cause.DOCUMENTED) == decide(faults[1:])


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([Verdict.AGREE], 0),
        ([], 3),
        ([Verdict.AGREE, Verdict.NOT_PROVEN], 3),
        ([Verdict.NOT_PROVEN, Verdict.CONTRACT_BROKEN], 1),
        ([Verdict.DISAGREE], 1),
        ([Verdict.ERROR, Verdict.AGREE], 1),
    ],
)
def test_exit_codes(verdicts: list[Verdict], code: int):
    assert code == exit_code(verdicts)


def test_a_fault_survives_json():
    fault = Fault(Verdict.DISAGREE, "text", "y", Cause.ORACLE, "returns", {"index": [1]})
    assert fault == Fault.from_json(fault.to_json())
