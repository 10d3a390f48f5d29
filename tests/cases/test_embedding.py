"""A module's source, with those of the author's modules that it imports and of no others."""

from __future__ import annotations

from pathlib import Path

from conformance.files.embedding import collect_sources, find_top


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        file = folder / (name.replace("__", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_relative_imports_are_followed_beside_the_file(tmp_path: Path):
    write(tmp_path, my="from . import a\nfrom .b import c\nimport os\n", a="", b="from .a import x\n", unused="")
    assert {"p", "p.my", "p.a", "p.b"} == set(collect_sources("p.my", tmp_path / "my.py", []))


def test_absolute_imports_are_followed_in_the_authors_folders_with_their_packages(tmp_path: Path):
    write(tmp_path, my="import pkg.mod, numpy\nfrom top import x\n", top="", pkg__mod="from . import other\n")
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("from ..top import x\n")
    found = collect_sources("p.my", tmp_path / "my.py", [tmp_path])
    assert {"p", "p.my", "pkg", "pkg.mod", "pkg.other", "top"} == set(found)
    assert (True, False) == (found["pkg"].is_package, found["pkg.mod"].is_package)


def test_a_circle_of_imports_ends(tmp_path: Path):
    write(tmp_path, a="from . import b\n", b="from . import a\n")
    assert {"p", "p.a", "p.b"} == set(collect_sources("p.a", tmp_path / "a.py", []))


def test_a_module_that_is_given_stands_in_for_one_beside_the_file(tmp_path: Path):
    write(tmp_path, my="from ._shared import x\n", elsewhere="x = 1\n")
    found = collect_sources("p.my", tmp_path / "my.py", [], {"_shared": tmp_path / "elsewhere.py"})
    assert "x = 1\n" == found["p._shared"].text


def test_packages_around_a_dotted_module_come_along_with_their_own_names(tmp_path: Path):
    write(
        tmp_path,
        pkg__top="HALF = 0.5\n",
        pkg__sub__helper="from ..top import HALF\n",
        pkg__sub__m="from . import helper",
    )
    (tmp_path / "pkg" / "__init__.py").write_text("A = 1\n")
    file = tmp_path / "pkg" / "sub" / "m.py"
    found = collect_sources("pkg.sub.m", file, [find_top("pkg.sub.m", file)])
    assert {"pkg", "pkg.sub", "pkg.sub.m", "pkg.sub.helper", "pkg.top"} == set(found)
    assert "A = 1\n" == found["pkg"].text
    assert tmp_path == find_top("pkg.sub.m", file)


def test_packages_between_come_along(tmp_path: Path):
    write(tmp_path, my="from .sub.helper import x\n", sub__helper="x = 1\n")
    assert {"p", "p.my", "p.sub", "p.sub.helper"} == set(collect_sources("p.my", tmp_path / "my.py", []))


def test_sources_are_read_as_they_say_they_are_encoded(tmp_path: Path):
    (tmp_path / "my.py").write_bytes("# -*- coding: latin-1 -*-\nx = 'é'\nfrom . import bom\n".encode("latin-1"))
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    found = collect_sources("p.my", tmp_path / "my.py", [])
    assert ("x = 1\n", True) == (found["p.bom"].text, "'é'" in found["p.my"].text)
