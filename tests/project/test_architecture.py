"""The rooms of the package: few, in layers, without circles."""

from __future__ import annotations

import ast
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skgoss

PACKAGE = Path(skgoss.__file__).parent
MOST_ROOMS, MOST_FLOORS, MOST_ARROWS = 18, 12, 99


def imports(source: str) -> set[str]:
    """The modules of skgoss that a module imports, also in functions and for types."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "skgoss"}


def modules() -> dict[str, set[str]]:
    """The modules of skgoss, and those that each imports."""
    paths = {
        ".".join(("skgoss", *path.relative_to(PACKAGE).with_suffix("").parts)): path
        for path in PACKAGE.rglob("*.py")
    }
    paths = {name.removesuffix(".__init__"): path for name, path in paths.items()}
    return {
        name: {known(used, paths) for used in imports(path.read_text("utf-8"))} - {name}
        for name, path in paths.items()
    }


def known(name: str, names: Iterable[str]) -> str:
    """The module that an imported name is, or is in; engine modules are compiled."""
    if name.startswith("skgoss._engine"):
        return "skgoss._engine"
    while name not in names:
        name = name.rpartition(".")[0]
    return name


def room(module: str) -> str:
    """The folder of a module; what users import from is one room, the faces."""
    folder = module.split(".")[1:2]
    is_folder = folder and (PACKAGE / folder[0]).is_dir()
    return folder[0] if is_folder else "faces"


def arrows(used: dict[str, set[str]]) -> dict[str, set[str]]:
    """The rooms that each room imports from."""
    found = defaultdict(set)
    for module, others in used.items():
        found[room(module)] |= {room(other) for other in others} - {room(module)}
    return found


def floors(found: dict[str, set[str]]) -> int:
    """The number of floors that the rooms need; CycleError if there is a circle."""
    height: dict[str, int] = {}
    for name in TopologicalSorter(found).static_order():
        height[name] = 1 + max(
            (height[other] for other in found.get(name, ())), default=0
        )
    return max(height.values())


def test_there_are_few_rooms_and_arrows():
    found = arrows(modules())
    assert len(found) <= MOST_ROOMS
    assert floors(found) <= MOST_FLOORS
    assert sum(map(len, found.values())) <= MOST_ARROWS


def test_no_module_imports_itself_by_others():
    order = list(TopologicalSorter(modules()).static_order())
    assert order.index("skgoss._engine") < order.index("skgoss.fit.fit")


def named_twice(names: Iterable[str]) -> set[str]:
    """The names that several things have."""
    return {name for name, n in Counter(names).items() if n > 1}


def test_no_two_modules_have_one_name():
    # The .pyx, .pxd, .pyi and .h of a module are one.
    paths = {
        path.with_suffix("")
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".pyx", ".pxd", ".h") and path.stem != "__init__"
    }
    assert named_twice(path.name for path in paths) == set()


def test_no_two_classes_have_one_name():
    classes = [
        node.name
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert named_twice(classes) == set()


def test_circles_are_found():
    with pytest.raises(CycleError):
        floors({"fit": {"booster"}, "booster": {"fit"}})
    source = "if TYPE_CHECKING:\n    import skgoss.a\ndef f():\n    import skgoss.b"
    assert imports(source) == {"skgoss.a", "skgoss.b"}


def test_each_room_is_a_layer():
    """`lint-imports` checks that no room imports from a layer above it."""
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    linter = tomllib.loads(pyproject.read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = linter["contracts"]
    layers = [name for layer in contract["layers"] for name in layer.split(" | ")]
    faces = {p.stem for p in PACKAGE.glob("*.py")} - {"__init__"}
    folders = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert sorted(layers) == sorted(f"skgoss.{name}" for name in faces | folders)
