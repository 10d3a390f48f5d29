"""The command line, as a user calls it, and what it leaves behind."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Command = Callable[..., "subprocess.CompletedProcess[str]"]


def call(*arguments: str | Path, cwd: Path = ROOT, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """What became of ``conformance`` with these arguments."""
    command = [sys.executable, "-m", "conformance", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)


def copy_root(root: Path) -> Path:
    """The folder, with the shipped problems in it."""
    for name in ("cases", "jax_impl", "torch_oracle"):
        shutil.copytree(ROOT / name, root / name, dirs_exist_ok=True)
    return root


def load_nodes(path: Path, kind: str) -> list[dict[str, Any]]:
    """The lines of a kind in a results file."""
    nodes = [json.loads(line) for line in path.read_text().splitlines()]
    return [node for node in nodes if node["kind"] == kind]
