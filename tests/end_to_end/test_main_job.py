"""The main job, supervised and under plain pytest."""

from __future__ import annotations

import base64
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import ROOT, Command, load_nodes

MODES = ("eager", "jit", "vmap")
FILES = {name: ROOT / "cases" / name / "documented.json" for name in ("logistic_regression", "residual_mlp_block")}
DOCUMENTED = {
    f"{problem}/documented/{case['name']}": case
    for problem, file in FILES.items()
    for case in json.loads(file.read_text("utf-8"))["cases"]
}
ALL_AGREE = {(case, mode): "agree" for case in DOCUMENTED for mode in MODES}


def verdicts(path: Path) -> dict[tuple[str, str], str]:
    return {(node["case"], node["placement"]["mode"]): node["verdict"] for node in load_nodes(path, "record")}


def decode(node: dict[str, Any]) -> np.ndarray[Any, Any]:
    """The array as the format documents it: base64 of little-endian bytes, with dtype and shape."""
    dtype = np.dtype(node["dtype"]).newbyteorder("<")
    return np.frombuffer(base64.b64decode(node["base64"], validate=True), dtype).reshape(node["shape"])


def check_header_and_footer(path: Path) -> None:
    first, *_, last = (json.loads(line) for line in path.read_text().splitlines())
    assert "header" == first["kind"]
    wanted = {"format", "platform", "precision", "implementation", "oracle", "arithmetic", "runs", "seed", "threads"}
    assert wanted <= first.keys()
    assert ("cpu", "highest") == (first["platform"], first["precision"])
    assert {"jax", "jaxlib"} <= first["implementation"].keys()
    assert "torch" in first["oracle"]
    assert ["cpu"] == sorted({device["platform"] for device in first["implementation"]["devices"]})
    assert ("footer", 18, 18) == (last["kind"], last["collected"], last["reported"])
    assert [1, 18, 1] == [len(load_nodes(path, kind)) for kind in ("header", "record", "footer")]


def test_six_documented_cases_agree_in_three_modes(conformance: Command, tmp_path: Path):
    done = conformance("run", *FILES.values(), "--results", tmp_path / "run.jsonl")
    assert 0 == done.returncode, done.stdout + done.stderr
    rows = {line.split()[0]: line.split()[1:4] for line in done.stdout.splitlines() if "/documented/" in line}
    assert sorted(DOCUMENTED) == sorted(rows)
    assert all(float(z) < 4 for row in rows.values() for z in row)
    check_header_and_footer(tmp_path / "run.jsonl")
    assert ALL_AGREE == verdicts(tmp_path / "run.jsonl")
    for record in load_nodes(tmp_path / "run.jsonl", "record"):
        check_evidence(record)
        check_quantities(record)


def test_every_shipped_case_agrees_and_every_quantity_is_resolved_to_four_digits(conformance: Command, tmp_path: Path):
    done = conformance("run", "-n", "2", "--results", tmp_path / "run.jsonl")
    assert 0 == done.returncode, done.stdout + done.stderr
    records = load_nodes(tmp_path / "run.jsonl", "record")
    assert {"agree"} == {record["verdict"] for record in records}
    assert len({record["case"] for record in records}) > 200
    digits: dict[tuple[str, str], float] = {}
    for record in records:
        for name, quantity in record["quantities"].items():
            key = record["case"].split("/")[0], name
            digits[key] = max(digits.get(key, 0.0), float(quantity["digits"]))
    assert 8 == len(digits)
    assert all(found >= 4 for found in digits.values()), digits
    # Many cases of a file share a row; each has its own with -v.
    assert "logistic_regression/extreme-logits (90 cases)" in done.stdout
    whole = conformance("compare", "-v", tmp_path / "run.jsonl")
    assert 0 == whole.returncode
    assert 90 == whole.stdout.count("\nlogistic_regression/extreme-logits/n1-d1-")


def check_evidence(record: dict[str, Any]) -> None:
    assert {"kept"} == {finding["status"] for finding in record["contract"].values()}
    assert record["quantities"].keys() == record["evidence"]["devices"].keys()
    for devices in record["evidence"]["devices"].values():
        assert ["cpu"] == [device["platform"] for device in devices]
    oracle = record["evidence"]["oracle"]
    block = record["case"].startswith("residual_mlp_block/")
    assert {"aten.mm": 2 if block else 1} == oracle["saved"]
    assert not {"aten.mm", "aten.bmm", "aten.addmm"} & oracle["recomputed"].keys()
    if block:
        assert oracle["recomputed"]["aten.tanh"] >= 1


def check_quantities(record: dict[str, Any]) -> None:
    """The arrays alone give the largest z again, and the documented values."""
    expected = DOCUMENTED[record["case"]]["expected"]
    for name, quantity in record["quantities"].items():
        got, value, sigma = (decode(quantity[part]) for part in ("got", "value", "sigma"))
        assert ("float32", "float64", "float64") == (got.dtype.name, value.dtype.name, sigma.dtype.name)
        assert got.shape == value.shape == sigma.shape
        assert np.all(sigma > 0)
        largest = float(np.max(np.abs(got.astype(np.float64) - value) / sigma))
        assert math.isclose(largest, quantity["largest_z"])
        documented: Any = expected
        for key in name.split("."):
            documented = documented[key]
        assert documented == np.round(value, 6).tolist()


@pytest.mark.parametrize("settings", [None, "[pytest]\n"], ids=["own settings", "empty settings"])
def test_plain_pytest_gives_the_same_verdicts_with_two_workers(tmp_path: Path, settings: str | None):
    chosen = ()
    if settings is not None:
        (tmp_path / "pytest.ini").write_text(settings)
        chosen = ("-c", str(tmp_path / "pytest.ini"))
    files = [str(file.relative_to(ROOT)) for file in FILES.values()]
    command = [sys.executable, "-m", "pytest", *files, "-n", "2", "-p", "no:cacheprovider", *chosen]
    done = subprocess.run(
        [*command, f"--conformance-results={tmp_path / 'pytest.jsonl'}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "18 passed" in done.stdout
    assert ALL_AGREE == verdicts(tmp_path / "pytest.jsonl")
    check_header_and_footer(tmp_path / "pytest.jsonl")


def test_collecting_cases_imports_no_framework():
    command = [sys.executable, "-X", "importtime", "-m", "pytest", "cases", "--collect-only", "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert 0 == done.returncode
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time")}
    assert not {"jax", "torch"} & imported
    assert "cases/residual_mlp_block/documented.json::single-row[cpu-vmap]" in done.stdout
