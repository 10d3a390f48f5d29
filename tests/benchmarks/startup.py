"""The main job's wall time, contract checks included, as a ratio to importing both frameworks, side by side in one run.

Usage: python tests/benchmarks/startup.py [--repeat N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MAIN_JOB = [sys.executable, "-m", "conformance", "run", "--root", str(ROOT), "-k", "documented"]
IMPORTS = [sys.executable, "-c", "import jax, torch"]
LIMIT = 5.0
GOAL = 4.0


def seconds(command: list[str]) -> float:
    """The wall time of a command that must succeed."""
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begun


def main() -> None:
    """Prints both times of each round, and the median ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    repeat = parser.parse_args().repeat
    seconds(IMPORTS)
    ratios: list[float] = []
    print("run (s)  imports (s)  ratio")
    for _ in range(repeat):
        imports, run = seconds(IMPORTS), seconds(MAIN_JOB)
        ratios.append(run / imports)
        print(f"{run:7.2f}  {imports:11.2f}  {ratios[-1]:5.2f}")
    print(f"median ratio {statistics.median(ratios):.2f} (at most {LIMIT:g}; goal {GOAL:g})")


if __name__ == "__main__":
    main()
