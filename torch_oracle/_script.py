"""The part of a stand-alone script that runs an oracle, with its source inside."""

from __future__ import annotations

from pathlib import Path

from conformance.files.embedding import collect_sources
from conformance.values.problem import Problem
from conformance.values.script import ScriptPart

_PACKAGE = "oracle"
_SHARED = {"_checkpoint": Path(__file__).with_name("_checkpoint.py")}
"""The engine's modules that every root's oracle can import as siblings."""
_CODE = '''\
import torch

torch.set_num_threads(1)


def run_oracle(case):
    """The outputs by quantity, in float64."""
    function = importlib.import_module("{module}").evaluate

    def load(value):
        if not is_array(value):
            return value
        wide = {{"f": np.float64, "i": np.int64}}.get(value.dtype.kind, value.dtype)
        return torch.from_numpy(np.array(value, wide))

    leaves = iter([load(value) for _, value in named_leaves(case)])
    outputs = function(*rebuild(case, leaves).values())
    return {{path: leaf.detach().numpy() for path, leaf in named_leaves(outputs)}}
'''


def write_script(problem: Problem, file: Path) -> ScriptPart:
    """The part that defines ``run_oracle(case)``, with the sources of the oracle's own modules.

    Raises:
        OSError: a source cannot be read.
    """
    module = f"{_PACKAGE}.{file.stem}"
    return ScriptPart(_CODE.format(module=module), collect_sources(module, file, [problem.root], _SHARED))
