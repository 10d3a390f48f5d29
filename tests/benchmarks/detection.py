"""What the tolerance detects of single bit flips, beside torch.testing.assert_close, with the false alarms of both.

Usage: python tests/benchmarks/detection.py [--count N] [--seed S]

A flip hits one bit of one element of one float32 intermediate of the JAX computation, run eagerly, for random cases of
both shipped problems whose inputs have scales of 0.01 to 100. A flip that changes no output at all is counted too:
nothing can see it. The rival compares with its default tolerances against the oracle's value, rounded to float32.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from conformance.files.problem_file import ProblemFolder  # noqa: E402 - found through the path above
from conformance.judging.standardised import standardise  # noqa: E402
from conformance.sides import load_implementation_side, load_oracle_side  # noqa: E402
from conformance.values.arithmetic import CPU  # noqa: E402
from conformance.values.estimate import Estimation  # noqa: E402
from conformance.values.evaluation import Evaluation  # noqa: E402
from conformance.values.placement import Placement  # noqa: E402
from conformance.values.tree import leaves  # noqa: E402

RUNS = 32
SEED = 20261201
MOVED = 2.0
"""A flip that moves an output by more than so many sigma changed the answer."""
PLACEMENT = Placement("cpu", "eager")


@dataclass(slots=True)
class Counts:
    """How many results were looked at, moved, and rejected by each of the two gates."""

    results: int = 0
    moved: int = 0
    ours: int = 0
    ours_of_moved: int = 0
    rival: int = 0


def draw(problem: str, generator: np.random.Generator) -> dict[str, Any]:
    """Random inputs of a problem; each array has a scale of its own."""

    def normal(*shape: int) -> Any:
        scale = 10.0 ** generator.uniform(-2.0, 2.0)
        return np.asarray(scale * generator.normal(size=shape), np.float32)

    if problem == "logistic_regression":
        n, d = 5, 3
        y = generator.integers(2, size=n).astype(np.float32)
        return {"params": {"w": normal(d), "b": normal()}, "x": normal(n, d), "y": y, "l2": float(generator.random())}
    b, d, h = 3, 4, 5
    params = {"w1": normal(d, h), "b1": normal(h), "w2": normal(h, d), "b2": normal(d)}
    return {"params": params, "x": normal(b, d), "y": normal(b, d)}


def compare(evaluation: Evaluation, estimation: Estimation, clean: Mapping[str, Any], counts: Counts) -> None:
    """Add one result to `counts`; it moved if it is far from the `clean` one."""
    import torch

    got = {path: leaf.array for path, leaf in leaves(evaluation.outputs)}
    counts.results += 1
    ours, rival, moved = False, False, False
    for name, estimate in estimation.quantities.items():
        ours |= not standardise(got[name], estimate).agrees
        with np.errstate(all="ignore"):
            shift = np.abs(got[name].astype(np.float64) - clean[name])
        moved |= bool(np.any(~(shift <= MOVED * estimate.sigma)))
        try:
            torch.testing.assert_close(torch.tensor(got[name]), torch.tensor(estimate.value.astype(np.float32)))
        except AssertionError:
            rival = True
    counts.moved += moved
    counts.ours += ours
    counts.ours_of_moved += ours and moved
    counts.rival += rival


def measure(problem: str, count: int, seed: int) -> tuple[Counts, Counts]:
    """The counts of `count` clean results of a problem, and of the same with one bit flipped in each."""
    implementation_side, oracle_side = load_implementation_side(), load_oracle_side()
    implementation_side.start("cpu")
    oracle_side.start(1)
    bitflip, evaluation, loading, inputs_of = (
        importlib.import_module(f"_conformance_jax_impl.{name}")
        for name in ("_bitflip", "_evaluation", "_loading", "_inputs")
    )
    declared = ProblemFolder(ROOT)(problem)
    loaded = loading.load_function(declared, None)
    generator = np.random.default_rng([seed, *problem.encode()])
    cases = [draw(problem, generator) for _ in range(count)]
    estimations = oracle_side.load(declared).estimate(cases, CPU, runs=RUNS, seeds=range(count))
    original = evaluation.JaxImplementation(declared, loaded)
    arguments = inputs_of.load_arguments(declared, cases[0])
    values = {**arguments.arrays, **arguments.floats, **arguments.static}
    sites = bitflip.find_sites(loaded.function, *inputs_of.build_inputs(declared, values))
    clean, flipped = Counts(), Counts()
    for case, estimation in zip(cases, estimations, strict=True):
        correct = original.evaluate(case, PLACEMENT, ())
        outputs = {path: leaf.array.astype(np.float64) for path, leaf in leaves(correct.outputs)}
        compare(correct, estimation, outputs, clean)
        flip = bitflip.choose_flip(sites, generator)
        faulty = replace(loaded, function=bitflip.flip_bit(loaded.function, flip))
        compare(
            evaluation.JaxImplementation(declared, faulty).evaluate(case, PLACEMENT, ()),
            estimation,
            outputs,
            flipped,
        )
    return clean, flipped


def share(part: int, whole: int) -> str:
    """A percentage."""
    return f"{100.0 * part / whole:.1f} %" if whole else "none"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="clean cases, and flips, in all")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':21}   false alarms        flips caught         of those that move an output by > {MOVED:g} sigma")
    print(f"{'problem':21}   z <= 8   rival     z <= 8   rival     z <= 8   (number)")
    total = (Counts(), Counts())
    for problem in ("logistic_regression", "residual_mlp_block"):
        measured = measure(problem, options.count // 2, options.seed)
        show(problem, *measured)
        for whole, part in zip(total, measured, strict=True):
            for name in Counts.__slots__:
                setattr(whole, name, getattr(whole, name) + getattr(part, name))
    show("both", *total)
    print("rival: torch.testing.assert_close, default tolerances, float32 value of the oracle")


def show(title: str, clean: Counts, flipped: Counts) -> None:
    """Prints a row of the table."""
    cells = [
        share(clean.ours, clean.results),
        share(clean.rival, clean.results),
        share(flipped.ours, flipped.results),
        share(flipped.rival, flipped.results),
        share(flipped.ours_of_moved, flipped.moved),
    ]
    print(
        f"{title:21} "
        + " ".join(f"{cell:>8}" for cell in cells[:2])
        + "   "
        + " ".join(f"{cell:>8}" for cell in cells[2:4])
        + f"   {cells[4]:>8}   ({flipped.moved})"
    )


if __name__ == "__main__":
    main()
