"""The part of a stand-alone script that runs an implementation, with its source inside."""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.files.embedding import collect_sources, find_top
from conformance.values.placement import Placement
from conformance.values.problem import Problem
from conformance.values.script import ScriptPart

_PACKAGE = "implementation"
_OWN_ROW = {"eager": 0, "jit": 0, "vmap": 1}
_HEAD = """\
import os

os.environ["JAX_PLATFORMS"] = "{platforms}"
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", False)
jax.config.update("jax_default_matmul_precision", "{precision}")


def run_implementation(rows, static, keys):
    \"\"\"The outputs by quantity; the case is row {own} of `rows`, and `static` names what is not traced.\"\"\"
    function = getattr(importlib.import_module({module!r}), {name!r})
    case = dict(named_leaves(rows[{own}]))

    def load(path, value):
        return jax.random.key(value) if path in keys else jnp.asarray(value) if is_array(value) else value

    def call(values):
        leaves = [values[path] if path in values else value for path, value in case.items()]
        return function(*rebuild(rows[{own}], iter(leaves)).values())

"""
_RUNS = {
    "eager": """\
    outputs = call({path: load(path, value) for path, value in case.items()})
""",
    "jit": """\
    outputs = jax.jit(call)({path: load(path, value) for path, value in case.items() if path not in static})
""",
    "vmap": """\
    columns = [dict(named_leaves(row)) for row in rows]
    batched = [path for path, value in case.items() if is_array(value) or path in keys]
    arrays = {path: jnp.stack([load(path, column[path]) for column in columns]) for path in batched}
    floats = {path: value for path, value in case.items() if path not in static and path not in batched}
    mapped = jax.vmap(lambda arrays, floats, _: call({**arrays, **floats}), in_axes=(0, None, 0))
    outputs = jax.jit(mapped)(arrays, floats, jnp.arange(len(rows)))
    outputs = jax.tree.map(lambda leaf: leaf[1], outputs)
""",
}
_NAMED = """\
    outputs = dict(zip({returns}, outputs))
"""
_TAIL = """\
    return {path: np.asarray(leaf) for path, leaf in named_leaves(outputs)}
"""
_PLATFORMS = {"cpu": "cpu", "gpu": "cuda", "tpu": "tpu"}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a function under test was loaded from: a file, or a dotted module whose file is `file`; and its name."""

    file: Path
    module: str | None
    name: str

    @property
    def is_installed(self) -> bool:
        """Whether it belongs to what is installed, and can be imported anywhere."""
        places = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib", "stdlib")}
        return self.module is not None and any(self.file.resolve().is_relative_to(place) for place in places)


def write_script(problem: Problem, origin: Origin, returns: Sequence[str] | None, placement: Placement) -> ScriptPart:
    """The part that defines ``run_implementation(rows, static, keys)``, with the sources of the author's own modules.

    Raises:
        OSError: a source cannot be read.
    """
    module = origin.module or f"{_PACKAGE}.{origin.file.stem}"
    folders = [problem.root, Path.cwd()]
    if origin.is_installed:
        sources = {}
    elif origin.module is None:
        sources = collect_sources(module, origin.file, [origin.file.parent, *folders])
    else:
        sources = collect_sources(module, origin.file, [find_top(module, origin.file), *folders])
    head = _HEAD.format(
        platforms=_PLATFORMS[placement.platform],
        precision=placement.precision,
        own=_OWN_ROW[placement.mode],
        module=module,
        name=origin.name,
    )
    named = _NAMED.format(returns=tuple(returns)) if returns else ""
    return ScriptPart(head + _RUNS[placement.mode] + named + _TAIL, sources)
