"""The shipped cases alone catch mistakes that people make."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import ROOT, Command, load_nodes

FAULTS = sorted((ROOT / "tests" / "faults").glob("*/*.py"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_mistake_is_caught_by_the_shipped_cases(conformance: Command, fault: Path, tmp_path: Path):
    results = tmp_path / "results.jsonl"
    cases = ROOT / "cases" / fault.parent.name
    # Where tanh itself is replaced the contract is broken too, which says nothing of the numbers: it takes more cases.
    contract_too = cases.name == "residual_mlp_block" and "jnp.tanh" not in fault.read_text("utf-8")
    done = conformance("run", cases, "--impl", fault, "--results", results, "--maxfail", "15" if contract_too else "3")
    assert 1 == done.returncode, done.stdout + done.stderr
    wrong = [fault for record in load_nodes(results, "record") for fault in record["faults"]]
    assert any(fault["verdict"] == "disagree" for fault in wrong), done.stdout


def test_there_are_faults_to_catch():
    assert 10 <= len(FAULTS)
