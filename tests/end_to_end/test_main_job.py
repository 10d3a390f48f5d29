"""The main job, supervised and under plain pytest."""

from __future__ import annotations

import base64
import subprocess
import sys
from pathlib import Path

from command_line import ROOT, Command, load_nodes

from conformance.results.encoding import decode_array

MODES = ("eager", "jit", "vmap")


def verdicts(path: Path) -> dict[tuple[str, str], str]:
    return {(node["case"], node["placement"]["mode"]): node["verdict"] for node in load_nodes(path, "record")}


def test_six_documented_cases_agree_in_three_modes_with_evidence(conformance: Command, tmp_path: Path):
    done = conformance("run", "--results", tmp_path / "run.jsonl")
    assert 0 == done.returncode, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if "/documented/" in line]
    assert 6 == len(rows)
    assert all(float(z) < 4 for row in rows for z in row[1:4])
    records = load_nodes(tmp_path / "run.jsonl", "record")
    assert 18 == len(records)
    for record in records:
        assert "agree" == record["verdict"]
        assert {"kept"} == {record["contract"]["returns"]}
        for devices in record["evidence"]["devices"].values():
            assert ["cpu"] == [device["platform"] for device in devices]
        for quantity in record["quantities"].values():
            arrays = {name: decode_array(quantity[name]) for name in ("got", "value", "sigma")}
            assert 1 == len({array.shape for array in arrays.values() if array is not None})
            assert base64.b64decode(quantity["got"]["base64"])
        oracle = record["evidence"]["oracle"]
        products = 2 if record["case"].startswith("residual") else 1
        assert {"aten.mm": products} == oracle["saved"]
        assert not {"aten.mm", "aten.bmm"} & set(oracle["recomputed"])
        if products == 2:
            assert oracle["recomputed"]["aten.tanh"] >= 1


def test_plain_pytest_gives_the_same_verdicts_with_two_workers(conformance: Command, tmp_path: Path):
    results = (tmp_path / "run.jsonl", tmp_path / "pytest.jsonl")
    conformance("run", "--results", results[0])
    command = [sys.executable, "-m", "pytest", "cases", "-n", "2", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--conformance-results={results[1]}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "18 passed" in done.stdout
    assert verdicts(results[0]) == verdicts(results[1])
    assert 1 == len(load_nodes(results[1], "header"))
    footer = load_nodes(results[1], "footer")[0]
    assert (18, 18) == (footer["collected"], footer["reported"])


def test_collecting_cases_imports_no_framework():
    command = [sys.executable, "-X", "importtime", "-m", "pytest", "cases", "--collect-only", "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time")}
    assert not {"jax", "torch"} & imported
    assert "cases/residual_mlp_block/documented.json::single-row[cpu-vmap]" in done.stdout
