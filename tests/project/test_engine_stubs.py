"""The stubs of the engine, which type checkers read, say what its modules have.

After a change of a signature, `python tools/stubs.py` writes them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import runpy
from pathlib import Path
from types import ModuleType

import pytest

import skgoss

ENGINE = Path(skgoss.__file__).parent / "_engine"
STUBS = sorted(path.relative_to(ENGINE).as_posix() for path in ENGINE.rglob("*.pyi"))
ROOT = Path(__file__).parents[2]


def module_of(path: str) -> ModuleType:
    name = path.rpartition(".")[0].replace("/", ".")
    return importlib.import_module(f"skgoss._engine.{name}")


def is_own(value: object, module: ModuleType) -> bool:
    return callable(value) and getattr(value, "__module__", "") == module.__name__


def public(names: dict[str, object], module: ModuleType) -> set[str]:
    return {
        name
        for name, value in names.items()
        if not name.startswith("_") and is_own(value, module)
    }


def parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in function.args.args]


@pytest.mark.parametrize("path", STUBS)
def test_a_stub_says_what_its_module_has(path):
    module = module_of(path)
    described = ast.parse((ENGINE / path).read_text()).body
    functions = {f.name: f for f in described if isinstance(f, ast.FunctionDef)}
    classes = {c.name: c for c in described if isinstance(c, ast.ClassDef)}
    assert public(vars(module), module) <= {*functions, *classes} <= {*vars(module)}
    for name, function in functions.items():
        actual = inspect.signature(getattr(module, name))
        assert parameters(function) == list(actual.parameters), name
    for name, described_class in classes.items():
        for member in described_class.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(getattr(module, name), member.name), (name, member.name)
            elif isinstance(member, ast.AnnAssign):
                assert isinstance(member.target, ast.Name)
                assert hasattr(getattr(module, name), member.target.id), name
    for constant in described:
        if isinstance(constant, ast.AnnAssign):
            assert isinstance(constant.target, ast.Name)
            assert hasattr(module, constant.target.id)


def test_the_stubs_are_written_by_the_tool():
    pytest.importorskip("Cython")
    written = runpy.run_path(str(ROOT / "tools" / "stubs.py"))["stubs"]()
    found = {path: path.read_text() for path in (ROOT / "skgoss").rglob("*.pyi")}
    assert found == written
