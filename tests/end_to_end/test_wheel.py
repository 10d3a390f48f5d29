"""The wheel alone verifies a root of a user's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from command_line import ROOT
from contributing import carry_out, load_steps

FORMS = "def mean_square(x, w, jnp):\n    return jnp.mean((x @ w) ** 2)\n"
IMPLEMENTATION = """
import jax
import jax.numpy as jnp
from jax_impl.forms import mean_square

def evaluate(w, x):
    loss, grad = jax.value_and_grad(lambda w: mean_square(x, w, jnp))(w)
    return {"loss": loss, "grads": {"w": grad}}
"""
CASES = """{"version": 1, "problem": "quadratic", "origin": {"kind": "written"}, "cases": [
  {"name": "two-rows", "inputs": {"w": [0.5, -1.25], "x": [[1.0, 2.0], [0.1, -0.3]]}}]}"""


def write_quadratic(root: Path) -> Path:
    """The root with CONTRIBUTING's problem in it, and a case of it."""
    carry_out([step for step in load_steps("Add a problem") if step.path], root)
    (root / "cases/quadratic/written.json").write_text(CASES)
    return root


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment that has the wheel, and the other packages of this one."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    ignored = shutil.ignore_patterns(".*", "tests", "build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT, source, ignore=ignored, symlinks=True)
    pip = [sys.executable, "-m", "pip"]
    options = ["--no-deps", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", *options, "-w", str(folder), str(source)], check=True, timeout=240)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "--python", str(python), "install", *options, str(wheel)], check=True, timeout=240)
    site = next((folder / "venv" / "lib").glob("*/site-packages"))
    # Not through sys.path's own .pth files: this environment's editable install must not come along.
    others = dict.fromkeys(sysconfig.get_paths()[kind] for kind in ("purelib", "platlib"))
    (site / "others.pth").write_text("".join(f"{folder}\n" for folder in others))
    return python


def test_the_wheel_holds_the_engine_its_sides_and_its_schemas_alone(installed: Path):
    (wheel,) = installed.parents[2].glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert {"conformance", "jax_impl", "torch_oracle"} == tops
    assert {"conformance/schema/case.schema.json", "conformance/schema/problem.schema.json"} <= set(names)


@pytest.mark.parametrize(("factor", "code"), [("1", 0), ("(1 + 2e-6)", 1)], ids=["right", "wrong"])
def test_the_wheel_alone_verifies_a_root_with_its_own_package_jax_impl(
    installed: Path, tmp_path: Path, factor: str, code: int
):
    root = write_quadratic(tmp_path)
    (root / "jax_impl" / "__init__.py").write_text("")
    (root / "jax_impl" / "forms.py").write_text(FORMS.replace("** 2)", f"** 2) * {factor}"))
    (root / "jax_impl" / "quadratic.py").write_text(IMPLEMENTATION)
    where = [str(installed), "-c", "import conformance; print(conformance.__file__)"]
    found = subprocess.run(where, cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    assert Path(found).is_relative_to(installed.parents[1])
    command = [str(installed), "-m", "conformance", "run"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=240)
    assert code == done.returncode, done.stdout + done.stderr
    assert "quadratic/written/two-rows" in done.stdout
