"""The pytest plugin: JSON case files below a root's ``cases/`` are test files.

Only hooks are here. It is loaded in every pytest session of an environment that has the package, so it imports
the engine only where a case file is met.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest


class Hooks:
    """The hooks that this plugin calls."""

    @pytest.hookspec(firstresult=True)
    def pytest_conformance_sides(self, config: pytest.Config) -> Any:
        """Both sides, as a tuple (implementation side, oracle side), in place of the installed ones."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declares the plugin's own hooks."""
    pluginmanager.add_hookspecs(Hooks)


@pytest.hookimpl(trylast=True)
def pytest_conformance_sides() -> Any:
    """The installed engine's own two sides."""
    from conformance.running.oracle_process import OracleProcess
    from conformance.sides import load_implementation_side

    return load_implementation_side(), OracleProcess()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options, all named ``--conformance-*`` so that they meet no other plugin's."""
    group = parser.getgroup("conformance", "conformance: verify JSON case files against an independent oracle")
    add = group.addoption
    add("--conformance-root", metavar="DIR", help="the folder that holds cases/, jax_impl/ and torch_oracle/")
    add("--conformance-platform", default="cpu", metavar="P", help="cpu, gpu or tpu")
    add("--conformance-precision", default="highest", metavar="P", help="highest")
    add("--conformance-mode", action="append", default=[], metavar="M", help="eager, jit or vmap; may be repeated")
    add("--conformance-impl", metavar="FILE", help="an implementation in place of the root's own")
    add("--conformance-returns", metavar="A,B", help="names of the parts of the tuple that it returns")
    add("--conformance-results", metavar="FILE", help="write results as JSON lines")
    add("--conformance-explain", metavar="PARTS", help="explain each case, with these parts: script, shrunk")
    add("--conformance-journal", metavar="FILE", help="tell a supervising process what happens")
    add("--conformance-done", metavar="FILE", help="a JSON list of test ids to leave out")


def pytest_configure(config: pytest.Config) -> None:
    """Checks the options' values; a supervised process ends with its parent."""
    from conformance.values.placement import MODES, PLATFORMS, PRECISIONS

    option = config.option
    if option.conformance_journal:
        from conformance.running.orphan import end_with_parent

        end_with_parent()
    parts = [part for part in (option.conformance_explain or "").split(",") if part]
    for name, values, allowed in (
        ("explain", parts, ("script", "shrunk")),
        ("platform", [option.conformance_platform], PLATFORMS),
        ("precision", [option.conformance_precision], PRECISIONS),
        ("mode", option.conformance_mode, MODES),
    ):
        for value in values:
            if value not in allowed:
                raise pytest.UsageError(f"--conformance-{name}: found {value!r}; wanted one of {', '.join(allowed)}")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A case file below a root's ``cases/``, or one that a supervised run names."""
    if file_path.suffix != ".json":
        return None
    option = parent.config.option
    root = Path(option.conformance_root).resolve() if option.conformance_root else None
    folder = file_path.parent
    if folder.parent.name == "cases" and (folder / "problem.json").is_file() and file_path.name != "problem.json":
        own = folder.parent.parent
    elif option.conformance_journal and root is not None and parent.session.isinitpath(file_path):
        own = root
    else:
        return None
    from conformance.plugin.items import CaseFile

    _listen(parent.config)
    return CaseFile.of(parent, file_path, root or own)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what an earlier process of the same run has done."""
    if config.option.conformance_done:
        done = set(json.loads(Path(config.option.conformance_done).read_text()))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in done])
        items[:] = [item for item in items if item.nodeid not in done]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tells the supervising process what will be run."""
    items = sys.modules.get("conformance.plugin.items")
    if items is not None:
        items.tell_collected(session)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Adds the record to the report, which carries it from a worker to the session's own process."""
    report = yield
    items = sys.modules.get("conformance.plugin.items")
    carried = items.carry(item) if call.when == "call" and items is not None else None
    if carried is not None:
        report.conformance = carried
    return report


def pytest_sessionstart(session: pytest.Session) -> None:
    """Listens for records from the start where they may come from workers, or are to be written down."""
    option = session.config.option
    if option.conformance_results or option.conformance_journal or getattr(option, "dist", "no") != "no":
        _listen(session.config)


def _listen(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and not config.pluginmanager.has_plugin("conformance-listener"):
        from conformance.plugin.listener import Listener

        config.pluginmanager.register(Listener(config), "conformance-listener")
