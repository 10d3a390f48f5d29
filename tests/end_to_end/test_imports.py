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
    """The packages that a module imports, wherever in it, by a statement or by a name written out."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names):
                yield from (alias.name.split(".")[0] for alias in names)
            case ast.ImportFrom(str(module), _, 0):
                yield module.split(".")[0]
            case ast.Call(
                ast.Name("__import__" | "import_module") | ast.Attribute(_, "import_module"),
                [ast.Constant(str(module)), *_],
            ):
                yield module.split(".")[0]
            case _:
                pass


@pytest.mark.parametrize("package", FORBIDDEN)
def test_no_package_imports_what_it_must_not_know(package: str):
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    found = {str(file): FORBIDDEN[package] & set(imported_packages(file.read_text("utf-8"))) for file in files}
    assert {} == {file: packages for file, packages in found.items() if packages}


@pytest.mark.parametrize(
    "text",
    [
        "import torch",
        "import torch.nn.functional as F",
        "def f():\n    from torch.nn import functional",
        "if False:\n    import torch as t",
        "import importlib\nimportlib.import_module('torch.nn')",
        "__import__('torch')",
    ],
)
def test_the_guard_sees_an_import_wherever_it_is(text: str):
    assert "torch" in imported_packages(text)


@pytest.mark.parametrize("text", ["from . import torch", "from .torch import x", "torch = 'import torch'"])
def test_the_guard_lets_a_packages_own_modules_and_texts_be(text: str):
    assert [] == list(imported_packages(text))


def packages_of(*arguments: str, folder: Path = ROOT) -> set[str]:
    """The packages that a Python process with these arguments imports."""
    command = [sys.executable, "-X", "importtime", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert 0 == done.returncode, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in lines}


def test_the_list_of_imports_shows_a_framework_that_is_imported(tmp_path: Path):
    (tmp_path / "jax.py").write_text("")
    assert "jax" in packages_of("-c", "import jax", folder=tmp_path)


@pytest.mark.parametrize("arguments", [("--help",), ("run", "--help"), ("validate",)])
def test_help_and_validate_import_no_framework(arguments: tuple[str, ...]):
    imported = packages_of("-m", "conformance", *arguments)
    assert "conformance" in imported
    assert not {"jax", "jaxlib", "torch", "pytest"} & imported
