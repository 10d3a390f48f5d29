"""The time of reading a large case file, as a ratio to what ``json.loads`` alone takes for it, side by side in one run.

And the time of telling faults, as a ratio of four times as many to one part: 4 where it is in proportion.

Usage: python tests/benchmarks/reading.py [--repeat N] [--cases N] [--seed N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from conformance.errors import InputFault
from conformance.files.case_file import load_cases
from conformance.files.problem_file import ProblemFolder

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 8.0
GOAL = 5.0
GROWTH = 6.0
HEAD = """{
  "$schema": "../schema/case.schema.json",
  "version": 1,
  "problem": "logistic_regression",
  "origin": {"kind": "written"},
  "rounding": {"decimals": 6},
  "cases": [
"""
DOCUMENTED = 0.3


def write(count: int, seed: int, file: Path) -> None:
    """Nothing; the file holds so many cases of mixed shapes, written as people write them."""
    chance = random.Random(seed)
    cases = ",\n".join(render(number, chance) for number in range(count))
    file.write_text(f"{HEAD}{cases}\n  ]\n}}\n", encoding="utf-8")


def render(number: int, chance: random.Random) -> str:
    """One case; some have `expected`."""
    d, n = chance.randint(2, 4), chance.randint(2, 8)
    labels = ", ".join(chance.choice(["0.0", "1.0"]) for _ in range(n))
    parts = [
        f'      "name": "case-{number}"',
        f"""      "inputs": {{
        "params": {{"w": {numbers(chance, d)}, "b": {numbers(chance)}}},
        "x": {numbers(chance, n, d)},
        "y": [{labels}],
        "l2": {abs(chance.gauss(0, 1)):.6g}
      }}""",
    ]
    if chance.random() < DOCUMENTED:
        grads = f'{{"w": {numbers(chance, d)}, "b": {numbers(chance)}}}'
        parts.append(f'      "expected": {{"loss": {numbers(chance)}, "grads": {grads}}}')
    return "    {\n" + ",\n".join(parts) + "\n    }"


def numbers(chance: random.Random, *shape: int) -> str:
    """An array of such a shape."""
    if not shape:
        return repr(float(f"{chance.gauss(0, 2):.6g}"))
    return "[" + ", ".join(numbers(chance, *shape[1:]) for _ in range(shape[0])) + "]"


def seconds(function: Callable[[], object]) -> float:
    """The wall time of a call; what it gives is let go only afterwards."""
    begun = time.perf_counter()
    found = function()
    taken = time.perf_counter() - begun
    del found
    return taken


def main() -> None:
    """Prints both times of each round, and the median ratio; exits with 1 where it is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.json"
        write(options.cases, options.seed, file)
        text = file.read_text(encoding="utf-8")
        print(f"{options.cases} cases, {file.stat().st_size / 1e6:.1f} MB")
        print("json.loads (s)  load_cases (s)  ratio")
        for _ in range(options.repeat):
            parse, read = seconds(lambda: json.loads(text)), seconds(lambda: load_cases(file, ProblemFolder(ROOT)))
            ratios.append(read / parse)
            print(f"{parse:14.2f}  {read:14.2f}  {ratios[-1]:5.2f}")
        growth = tell_faults(Path(folder) / "wrong.json", options.seed)
    median = statistics.median(ratios)
    print(f"median ratio {median:.2f} (at most {LIMIT:g}; goal {GOAL:g})")
    print(f"faults, four times as many: {growth:.2f} times as long (at most {GROWTH:g})")
    sys.exit(median > LIMIT or growth > GROWTH)


def tell_faults(file: Path, seed: int) -> float:
    """How much longer four times as many faults take."""

    def tell(count: int) -> float:
        write(count, seed, file)
        file.write_text(file.read_text("utf-8").replace('"name"', '"more": 1, "name"'), encoding="utf-8")
        return seconds(lambda: refuse(file))

    tell(100)
    return tell(8000) / tell(2000)


def refuse(file: Path) -> None:
    """Nothing; reads a file that is wrong."""
    try:
        load_cases(file, ProblemFolder(ROOT))
    except InputFault:
        return
    raise AssertionError("a file with faults was read")


if __name__ == "__main__":
    main()
