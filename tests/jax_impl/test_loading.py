from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from conformance.errors import ImplementationFault, LoadError
from conformance.values.placement import Placement

SCALED = "def evaluate(x, factor):\n    return {'y': x * factor}\n"
HALVES = np.float32([0.5, 1.0, 2.0])


def test_the_roots_own_implementation_is_loaded_by_the_problems_name(load, evaluate):
    assert np.array_equal(HALVES, evaluate(load(SCALED)).outputs["y"].array)


def test_a_missing_file_is_named_with_what_was_wanted_of_it(side, make_problem, tmp_path):
    with pytest.raises(LoadError) as caught:
        side.load(make_problem(), None, None)
    assert (
        f"loading the implementation of scaled: {tmp_path}/jax_impl/scaled.py is not there; wanted a module with a "
        "function evaluate(x, factor). Add it, or correct the path."
    ) == str(caught.value)


def test_a_missing_function_is_reported_with_those_that_are_there(load):
    with pytest.raises(LoadError) as caught:
        load("from math import sqrt\ndef loss(x): ...\ndef value(x): ...\ndef _own(x): ...\n")
    assert (
        "loading the implementation of scaled: jax_impl/scaled.py has no evaluate; found the functions loss, value; "
        "wanted evaluate(x, factor). Define it, or name another one behind a colon."
    ) == str(caught.value)


def test_a_name_that_is_no_function_is_reported_with_its_type(load):
    with pytest.raises(LoadError, match=r"evaluate in jax_impl/scaled.py is of type dict; wanted a function evaluate"):
        load("evaluate = {}\n")


def test_a_function_that_cannot_take_the_inputs_is_reported_with_both_signatures(load):
    with pytest.raises(ImplementationFault) as caught:
        load("def evaluate(x): ...\n")
    assert (
        "loading the implementation of scaled: jax_impl/scaled.py has evaluate(x), which cannot take the 2 inputs in "
        "order (too many positional arguments); wanted evaluate(x, factor). Correct its parameters."
    ) == str(caught.value)


def test_a_module_that_raises_is_reported_by_its_own_lines(load):
    with pytest.raises(ImplementationFault) as caught:
        load("import json\ndef read():\n    return json.loads('{')\nread()\n")
    first, *frames = str(caught.value).splitlines()
    assert first.startswith("loading the implementation of scaled: raised JSONDecodeError: Expecting property name")
    assert [
        "  at jax_impl/scaled.py:4 in <module>",
        "  at jax_impl/scaled.py:3 in read: return json.loads('{')",
    ] == frames


def test_a_syntax_error_is_reported_with_its_line(load):
    with pytest.raises(ImplementationFault, match=r"raised SyntaxError: .*\n  at jax_impl/scaled.py:2$"):
        load("x = 1\nx = = 2\n")


def test_a_module_that_exits_does_not_end_the_run(load):
    with pytest.raises(ImplementationFault, match="raised SystemExit: exit code 3"):
        load("import sys\nsys.exit(3)\n")


def test_a_missing_dependency_is_the_modules_own_fault(load):
    with pytest.raises(ImplementationFault, match="ModuleNotFoundError: No module named 'no_such_thing'"):
        load("import no_such_thing\n")


def test_a_warning_while_loading_is_no_fault(load, evaluate):
    with pytest.warns(UserWarning, match="careful"):
        implementation = load("import warnings\nwarnings.warn('careful')\n" + SCALED)
    assert np.array_equal(HALVES, evaluate(implementation).outputs["y"].array)


def test_siblings_are_importable_relatively_and_as_the_roots_own_package(load, evaluate, tmp_path):
    (tmp_path / "jax_impl").mkdir()
    (tmp_path / "jax_impl" / "_scale.py").write_text("def scale(x, factor):\n    return x * factor\n")
    (tmp_path / "jax_impl" / "named.py").write_text("KEY = 'y'\n")
    implementation = load(
        """
        from jax_impl.named import KEY
        from ._scale import scale

        def evaluate(x, factor):
            return {KEY: scale(x, factor)}
        """
    )
    assert np.array_equal(HALVES, evaluate(implementation).outputs["y"].array)
    assert "_conformance_jax_impl" in sys.modules  # the engine's own side is another one


def test_the_roots_own_torch_oracle_is_importable_as_such(load, evaluate, tmp_path):
    (tmp_path / "torch_oracle").mkdir()
    (tmp_path / "torch_oracle" / "names.py").write_text("KEY = 'y'\n")
    code = "from torch_oracle.names import KEY\ndef evaluate(x, factor):\n    return {KEY: x * factor}\n"
    assert np.array_equal(HALVES, evaluate(load(code)).outputs["y"].array)


def test_a_root_of_its_own_name_may_be_imported_when_the_function_is_called(load, evaluate, tmp_path):
    (tmp_path / "late.py").write_text("KEY = 'y'\n")
    code = "def evaluate(x, factor):\n    from late import KEY\n    return {KEY: x * factor}\n"
    assert np.array_equal(HALVES, evaluate(load(code)).outputs["y"].array)


@pytest.mark.parametrize("source", ["mine/my.py:loss", "{root}/mine/my.py:loss", "mine/my-v1.2.py:loss"])
def test_a_file_is_loaded_from_anywhere_with_its_folder_importable(source, side, make_problem, evaluate, tmp_path):
    problem = make_problem()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "beside.py").write_text("KEY = 'y'\n")
    file = source.format(root=tmp_path).removesuffix(":loss")
    code = "import beside\nfrom . import beside\ndef loss(x, factor):\n    return {beside.KEY: x * factor}\n"
    (tmp_path / file).write_text(code)
    implementation = side.load(problem, source.format(root=tmp_path), None)
    assert np.array_equal(HALVES, evaluate(implementation).outputs["y"].array)


def test_a_file_without_a_name_gives_its_evaluate(side, make_problem, evaluate, tmp_path):
    problem = make_problem()
    Path("my.py").write_text(SCALED)
    assert np.array_equal(HALVES, evaluate(side.load(problem, "my.py", None)).outputs["y"].array)


def test_a_file_is_read_afresh_each_time(side, make_problem, evaluate, tmp_path):
    problem = make_problem()
    Path("my.py").write_text(SCALED)
    side.load(problem, "my.py", None)
    Path("my.py").write_text(SCALED.replace("factor}", "factor * 4.0}"))
    assert np.array_equal(4 * HALVES, evaluate(side.load(problem, "my.py", None)).outputs["y"].array)


@pytest.mark.parametrize(("source", "name"), [("mypkg.mod:loss", "loss"), ("mypkg.mod", "evaluate")])
def test_a_dotted_module_is_imported_under_its_own_name(source, name, side, make_problem, evaluate, tmp_path):
    problem = make_problem()
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "mod.py").write_text(SCALED.replace("evaluate", name))
    assert np.array_equal(HALVES, evaluate(side.load(problem, source, None)).outputs["y"].array)
    assert "mypkg.mod" in sys.modules


def test_a_dotted_module_that_is_not_there_is_named(side, make_problem):
    problem = make_problem()
    Path("mypkg").mkdir()
    with pytest.raises(LoadError, match=r"there is no module mypkg.other in .*; wanted a Python file"):
        side.load(problem, "mypkg.other:loss", None)


def test_a_dotted_module_that_raises_is_reported_by_its_own_lines(side, make_problem, tmp_path):
    problem = make_problem()
    (tmp_path / "mypkg").mkdir()
    (tmp_path / "mypkg" / "__init__.py").write_text("")
    (tmp_path / "mypkg" / "mod.py").write_text("import no_such_thing\n")
    with pytest.raises(ImplementationFault, match=r"'no_such_thing'\n  at mypkg/mod.py:1 in <module>: import no_such"):
        side.load(problem, "mypkg.mod", None)


def test_a_lazy_module_stays_unloaded(load, evaluate):
    implementation = load(
        """
        import importlib.util, sys
        from pathlib import Path
        Path(__file__).with_name("never_loaded.py").write_text("raise RuntimeError('loaded')")
        sys.path.insert(0, str(Path(__file__).parent))
        spec = importlib.util.find_spec("never_loaded")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        lazy = importlib.util.module_from_spec(spec)
        sys.modules["never_loaded"] = lazy
        spec.loader.exec_module(lazy)
        def evaluate(x, factor): return {"y": factor * x}
    """,
        contract={"differentiated_with": "jax.value_and_grad"},
    )
    try:
        found = implementation.check_contract({"x": np.float32([1.0]), "factor": 0.5}, Placement("cpu", "jit"))
    finally:
        del sys.modules["never_loaded"]
    assert "jax.value_and_grad is never called" in found["differentiated_with"].messages[0]
