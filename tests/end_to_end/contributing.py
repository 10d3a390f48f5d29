"""CONTRIBUTING's worked examples, carried out as they are written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from command_line import ROOT

_BLOCK = re.compile(r"```(?P<language>\w*)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE)
_PATH = re.compile(r"`((?:cases|jax_impl|torch_oracle)/[\w/-]+\.\w+)`")


@dataclass(frozen=True, slots=True)
class Step:
    """A file to write, or a command to call."""

    path: str | None
    text: str


def load_steps(section: str) -> list[Step]:
    """What a section of CONTRIBUTING says: code goes to the file that was last named, and ``$`` begins a command."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    part = text[text.index(f"\n## {section}\n") :].split("\n## ", 2)[1]
    steps: list[Step] = []
    before = 0
    for block in _BLOCK.finditer(part):
        if block["language"] == "console":
            steps += [Step(None, line.removeprefix("$ ")) for line in block["body"].splitlines()]
        else:
            steps.append(Step(_PATH.findall(part, before, block.start())[-1], block["body"]))
        before = block.end()
    return steps


def carry_out(steps: list[Step], root: Path) -> str:
    """What the commands printed, after every step was done in `root`; each command must succeed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    printed = ""
    for step in steps:
        if step.path is not None:
            (root / step.path).parent.mkdir(parents=True, exist_ok=True)
            (root / step.path).write_text(step.text, "utf-8")
            continue
        command = ["sh", "-c", step.text]
        environment = {**os.environ, "PATH": path}
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=240
        )
        printed += f"$ {step.text}\n{done.stdout}{done.stderr}"
        assert 0 == done.returncode, printed
    return printed
