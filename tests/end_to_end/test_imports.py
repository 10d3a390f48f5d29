"""Who imports whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import ROOT

FORBIDDEN = {
    "conformance": {"jax", "jaxlib", "torch", "jax_impl", "torch_oracle"},
    "jax_impl": {"torch", "torch_oracle"},
    "torch_oracle": {"jax", "jaxlib", "jax_impl"},
}


def imported_packages(text: str) -> Iterator[str]:
    """The packages that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("package", FORBIDDEN)
def test_no_package_imports_what_it_must_not_know(package: str):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = {str(file): FORBIDDEN[package] & set(imported_packages(file.read_text("utf-8"))) for file in files}
    assert {} == {file: packages for file, packages in found.items() if packages}


def test_the_guard_sees_an_import_inside_a_function():
    assert ["torch"] == list(imported_packages("def f():\n    from torch.nn import functional"))


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("validate",)])
def test_help_and_validate_import_no_framework(arguments: tuple[str, ...]):
    command = [sys.executable, "-X", "importtime", "-m", "conformance", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in done.stderr.splitlines()}
    assert "conformance" in imported
    assert not {"jax", "torch", "pytest"} & imported


def test_the_readmes_first_two_shell_blocks_hold_one_command_each():
    blocks = Path(ROOT / "README.md").read_text("utf-8").split("```sh\n")[1:3]
    commands = [block.split("```")[0].strip().splitlines() for block in blocks]
    assert [1, 1] == [len(lines) for lines in commands]
    assert commands[0][0].endswith("tox run -e cpu")
    assert commands[1][0].endswith("tox run -e lint,type,tests")
