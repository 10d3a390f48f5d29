"""Verdicts on cases, through miniature sides with one fault each."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from miniatures import returned

from conformance.judging.causes import Again, find_causes
from conformance.rendering.failure import Diagnoses, render_failure
from conformance.results.jsonl import to_strict
from conformance.results.record import Record
from conformance.values.contract import Status
from conformance.values.estimate import Estimate, Estimation
from conformance.values.evaluation import Evaluation
from conformance.values.placement import Placement
from conformance.values.verdict import Cause, Fault, Verdict

Verify = Callable[..., Record]


def statuses(record: Record) -> dict[str, Status]:
    return {clause: finding.status for clause, finding in record.contract.items()}


@pytest.mark.parametrize("fault", ["", "one ulp"])
def test_a_right_answer_agrees(verify: Verify, fault: str):
    record = verify(fault)
    assert (Verdict.AGREE, []) == (record.verdict, list(record.faults))
    assert {"returns": Status.KEPT, "inputs_unchanged": Status.KEPT} == statuses(record)


@pytest.mark.parametrize(
    ("fault", "verdict", "message"),
    [
        ("wrong", Verdict.DISAGREE, "z "),
        ("opposite errors", Verdict.DISAGREE, "2 of 2 elements wrong"),
        ("NaN", Verdict.DISAGREE, "nan is not finite"),
        ("infinite", Verdict.DISAGREE, "inf is not finite"),
        ("float64", Verdict.CONTRACT_BROKEN, "found dtype float64; wanted float32"),
        ("int32", Verdict.CONTRACT_BROKEN, "found dtype int32; wanted float32"),
        ("shape", Verdict.CONTRACT_BROKEN, "found shape (1, 2); wanted (2,) for float32[N]"),
        ("scalar", Verdict.CONTRACT_BROKEN, "found shape (); wanted (2,) for float32[N]"),
        ("missing", Verdict.CONTRACT_BROKEN, "missing y; found the keys total"),
        ("extra", Verdict.CONTRACT_BROKEN, "unexpected z; wanted the keys y, total"),
        ("numpy", Verdict.CONTRACT_BROKEN, "found a numpy.ndarray; wanted a mini.Array"),
        ("tuple", Verdict.CONTRACT_BROKEN, "found a tuple of 2; wanted a dict with the keys y, total"),
        ("namedtuple", Verdict.CONTRACT_BROKEN, "found a Pair; wanted a dict with the keys y, total"),
        ("elsewhere", Verdict.NOT_PROVEN, "computed on gpu; wanted cpu"),
        ("raises", Verdict.ERROR, "the implementation raised ValueError: no"),
        (
            "refused",
            Verdict.NOT_PROVEN,
            "the oracle cannot judge this case: estimating double: aten.bernoulli has no rule",
        ),
        (
            "oracle at fault",
            Verdict.NOT_PROVEN,
            "the oracle is at fault: estimating double: y forgets the batch dimension",
        ),
    ],
)
def test_a_fault_gets_its_verdict_and_is_told(verify: Verify, fault: str, verdict: Verdict, message: str):
    record = verify(fault)
    assert verdict == record.verdict
    assert message in render_failure(record)


def test_a_broken_structure_names_the_clause(verify: Verify):
    record = verify("shape")
    assert "clause returns" in render_failure(record)
    assert {"returns": Status.BROKEN, "inputs_unchanged": Status.KEPT} == statuses(record)


def test_a_broken_clause_is_told_message_by_message(verify: Verify):
    record = verify("broken clause")
    assert Verdict.CONTRACT_BROKEN == record.verdict
    assert {"returns": Status.KEPT, "inputs_unchanged": Status.BROKEN} == statuses(record)
    told = render_failure(record)
    assert "  clause inputs_unchanged: x: its values changed\n" in told
    assert "  clause inputs_unchanged: y: a key was added\n" in told


@pytest.mark.parametrize("fault", ["broken clause", "raises"])
def test_what_goes_wrong_alike_is_told_in_full_once(verify: Verify, fault: str):
    diagnoses = Diagnoses()
    first, second, third, other = (
        diagnoses.render(replace(verify(kind), case=f"double/group/{name}"))
        for kind, name in ((fault, "a"), (fault, "b"), (fault, "c"), ("shape", "d"))
    )
    assert "double/group/a" in str(first)
    assert (None, None) == (second, third)
    assert "clause returns: y: found shape" in str(other)
    names = (f"double/group/{name} [cpu-jit]" for name in "abc")
    assert ["likewise, as {}: {}, {}".format(*names)] == diagnoses.render_rest()


def test_disagreements_are_told_in_full_for_each_case_and_once_for_its_modes(verify: Verify):
    diagnoses = Diagnoses()
    told = [diagnoses.render(replace(verify("wrong"), case=f"double/group/{name}")) for name in "ab"]
    assert all(text is not None and "z " in text for text in told)
    assert [] == diagnoses.render_rest()
    other_mode = replace(verify("wrong"), case="double/group/b", placement=Placement("cpu", "vmap"))
    assert diagnoses.render(other_mode) is None
    assert ["likewise, as double/group/b [cpu-jit]: double/group/b [cpu-vmap]"] == diagnoses.render_rest()


def test_a_clause_that_cannot_be_judged_leaves_the_case_not_proven(verify: Verify):
    record = verify("unjudged clause")
    assert Verdict.NOT_PROVEN == record.verdict
    assert "clause inputs_unchanged: found a riddle" in render_failure(record)


def test_what_could_not_be_judged_is_no_fault_where_the_implementation_raised(verify: Verify):
    record = verify("raises and unjudged")
    assert [Verdict.ERROR] == [fault.verdict for fault in record.faults]
    assert Status.NOT_CHECKED == record.contract["inputs_unchanged"].status


def test_numbers_are_compared_where_the_structure_alone_is_wrong(verify: Verify):
    record = verify("float64")
    assert 0.0 == record.quantities["y"].largest_z


@pytest.mark.parametrize("quantity", ["y", "total"])
def test_what_cannot_be_compared_is_still_estimated(verify: Verify, quantity: str):
    assert verify("raises").quantities[quantity].resolved


def test_a_stale_documented_value_is_told_as_documented(verify: Verify):
    record = verify(expected={"total": np.asarray(6.000001)})
    assert (Verdict.DISAGREE, Cause.DOCUMENTED) == (record.verdict, record.cause)
    assert "the documented value does not equal the oracle's to 6 decimals" in render_failure(record)


def test_an_implementation_that_meets_the_documented_value_against_the_oracle_blames_the_oracle(verify: Verify):
    record = verify("wrong", expected={"y": np.asarray([2.0, 4.001])})
    assert (Verdict.DISAGREE, Cause.ORACLE) == (record.verdict, record.cause)


@pytest.mark.parametrize(
    ("fault", "cause", "told"),
    [
        ("wrong", Cause.ARITHMETIC, "in float64 z 0 of the same sigma: the mathematics is right"),
        ("wrong formula", Cause.FORMULA, "of the same sigma: the mathematics differs"),
        ("wrong and infinite in float64", Cause.FORMULA, "in float64 z inf of the same sigma: the mathematics differs"),
        ("wrong and narrow", None, "undecided: a shorter format than float64 remains inside (scan)"),
        ("wrong and raises in float64", None, "undecided: evaluating double: raised TypeError"),
        ("wrong and another shape in float64", None, "undecided: in float64 nothing comparable came back for y"),
    ],
)
def test_a_disagreement_is_run_again_in_float64_for_its_cause(verify: Verify, fault: str, cause: Any, told: str):
    record = verify(fault)
    assert (Verdict.DISAGREE, cause) == (record.verdict, record.cause)
    assert told in render_failure(record)
    through_json = Record.from_json(json.loads(json.dumps(to_strict(record.to_json()))))
    assert render_failure(record) == render_failure(through_json)


def test_a_run_elsewhere_is_repeated_on_the_cpu_to_tell_the_device_from_the_precision():
    estimate = Estimate(np.float64([2.0, 4.0]), np.float64([1e-7, 1e-7]))
    fault = Fault(Verdict.DISAGREE, "z", "y")
    right, wrong = (Again(Evaluation({"y": returned(np.float64([2.0, last]))})) for last in (4.0, 4.1))
    for on_cpu, told in ((right, "agrees, so the device differs"), (wrong, "disagrees too, so it is not the device")):
        (found,) = find_causes([fault], Estimation({"y": estimate}, 32), right, on_cpu)
        assert (Cause.ARITHMETIC, told) == (found.cause, found.detail["on_cpu"])


def test_a_documented_cause_is_left_as_it_is(verify: Verify):
    record = verify("", expected={"y": np.asarray([2.0, 4.000001])})
    assert Cause.DOCUMENTED == record.cause


def test_a_failure_tells_all_that_is_needed_to_understand_and_repeat_it(verify: Verify):
    text = render_failure(verify("wrong", expected={"y": np.asarray([2.0, 4.0])}), ["--impl", "my file.py"])
    assert "disagree (arithmetic): double/group/case [cpu-jit]" == text.splitlines()[0]
    for line in (
        "y[1]: z ",
        "got        4.00099993",
        "oracle     4",
        "documented 4",
        "sigma      2.38e-07",
        "limit      8",
    ):
        assert line in text
    assert "again: conformance run double/group/case --mode jit --impl 'my file.py'" in text


def test_every_fault_of_a_case_is_told_and_the_first_by_precedence_is_its_verdict(verify: Verify):
    record = verify("numpy", expected={"total": np.asarray(7.0)})
    assert [Verdict.CONTRACT_BROKEN, Verdict.DISAGREE] == [fault.verdict for fault in record.faults]
    assert Verdict.DISAGREE == record.verdict
    assert "contract-broken: clause returns: y: found a numpy.ndarray" in render_failure(record)


def test_a_record_survives_its_file(verify: Verify):
    for fault in ("", "wrong", "NaN", "raises", "missing"):
        record = verify(fault)
        node: dict[str, Any] = record.to_json()
        assert node == Record.from_json(node).to_json()


def test_an_unresolved_quantity_is_marked(verify: Verify):
    record = verify("unresolved")
    assert Verdict.AGREE == record.verdict
    assert not record.quantities["y"].resolved
