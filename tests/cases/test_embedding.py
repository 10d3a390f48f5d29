"""A module's source, with those of the author's modules that it imports and of no others."""

from __future__ import annotations

from pathlib import Path

from conformance.files.embedding import collect_sources


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        file = folder / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_relative_imports_are_followed_beside_the_file(tmp_path: Path):
    write(tmp_path, my="from . import a\nfrom .b import c\nimport os\n", a="", b="from .a import x\n", unused="")
    assert {"p", "p.my", "p.a", "p.b"} == set(collect_sources(tmp_path / "my.py", "p", []))


def test_absolute_imports_are_followed_in_the_authors_folders_with_their_packages(tmp_path: Path):
    write(tmp_path, my="import pkg.mod, numpy\nfrom top import x\n", top="", pkg__mod="from . import other\n")
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("from ..top import x\n")
    found = collect_sources(tmp_path / "my.py", "p", [tmp_path])
    assert {"p", "p.my", "pkg", "pkg.mod", "pkg.other", "top"} == {name for name in found if name != ".top"}
    assert (True, False) == (found["pkg"].is_package, found["pkg.mod"].is_package)


def test_a_circle_of_imports_ends(tmp_path: Path):
    write(tmp_path, a="from . import b\n", b="from . import a\n")
    assert {"p", "p.a", "p.b"} == set(collect_sources(tmp_path / "a.py", "p", []))


def test_a_module_that_is_given_stands_in_for_one_beside_the_file(tmp_path: Path):
    write(tmp_path, my="from ._shared import x\n", elsewhere="x = 1\n")
    found = collect_sources(tmp_path / "my.py", "p", [], {"_shared": tmp_path / "elsewhere.py"})
    assert "x = 1\n" == found["p._shared"].text
