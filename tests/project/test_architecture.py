"""The subpackages: few, in layers, without import cycles."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import skgoss

TESTS = Path(__file__).parents[1]
PACKAGE = Path(skgoss.__file__).parent
# Searches and transformers are subpackages because scikit-learn has some of these
# names. They check arguments with a value for each row as fits do. Messages between
# processes are a layer below all that depends on all rows.
MOST_SUBPACKAGES, MOST_LAYERS, MOST_IMPORTS = 22, 13, 124

# Modules without a test file of their name, by the tests that run their code, with the
# reason. The list must not grow. Kernels of the engine are tested with the modules that
# call them, or in tests/engine.
TESTED_IN = {
    # What starts a fit shows in what users read.
    "booster/test_booster_in_training.py": ["training/fit_setup"],
    "engine/test_score.py": ["training/binned"],
    # The runs of a schedule, with and without threads.
    "training/test_schedule.py": ["training/lockstep"],
    # The same checks as of all arguments of `train`.
    "booster/test_train.py": ["booster/lightgbm3", "booster/train_arguments"],
    # Small values that containers make and pass on.
    "columns/test_containers.py": ["columns/floats", "columns/schema"],
    "columns/test_merged_schema.py": ["columns/stacked"],
    "columns/test_targets.py": ["distributed/row_partition"],
    # They run on the workers of a cluster, by fits and predictions.
    "dask/test_estimators.py": [
        "dask/distributed_internals",
        "dask/fits",
        "dask/partition_predictions",
        "dask/parts",
    ],
    "dask/test_launch.py": ["dask/connections"],
    # Other packages: what is used of them is what these tests use.
    "columns/test_dataframes.py": ["utils/optional"],
    "estimators/test_scikit_learn.py": ["utils/sklearn_private"],
    # One naive traversal checks all tables of a prediction.
    "model/test_predictions.py": ["model/category_sets", "model/predictor_tables"],
    # Fits of distributions are tested with these.
    "objectives/test_distributions.py": ["objectives/likelihoods"],
    "objectives/test_training_objective.py": ["objectives/gradients"],
    # Texts, which docstrings and files show.
    "model_files/test_lightgbm_file.py": ["parameters/lightgbm_text"],
    "parameters/test_docstrings.py": ["parameters/descriptions"],
    "parameters/test_constructor.py": ["parameters/signatures"],
    # Boosting types are compared with LightGBM and with the reference implementation.
    "training/test_boosting.py": ["training/boosting_types"],
}


def imports(source: str) -> set[str]:
    """The modules of skgoss that a module imports, also in functions and for types."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "skgoss"}


@cache
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


def subpackage(module: str) -> str:
    """The folder of a module; the modules that users import from are one subpackage."""
    folder = module.split(".")[1:2]
    is_folder = folder and (PACKAGE / folder[0]).is_dir()
    return folder[0] if is_folder else "public modules"


def by_subpackage(used: dict[str, set[str]]) -> dict[str, set[str]]:
    """The subpackages that each subpackage imports from."""
    found = defaultdict(set)
    for module, others in used.items():
        own = subpackage(module)
        found[own] |= {subpackage(other) for other in others} - {own}
    return found


def layers(found: dict[str, set[str]]) -> int:
    """The number of layers of the subpackages; CycleError if there is a cycle."""
    height: dict[str, int] = {}
    for name in TopologicalSorter(found).static_order():
        height[name] = 1 + max(
            (height[other] for other in found.get(name, ())), default=0
        )
    return max(height.values())


def test_there_are_few_subpackages_and_imports():
    found = by_subpackage(modules())
    assert len(found) <= MOST_SUBPACKAGES
    assert layers(found) <= MOST_LAYERS
    assert sum(map(len, found.values())) <= MOST_IMPORTS


def test_no_module_imports_itself_by_others():
    order = list(TopologicalSorter(modules()).static_order())
    assert order.index("skgoss._engine") < order.index("skgoss.fit.fit")


def named_twice(names: Iterable[str]) -> set[str]:
    """The names that several things have."""
    return {name for name, n in Counter(names).items() if n > 1}


def test_no_two_classes_have_one_name():
    classes = [
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r"^ *class (\w+)[(:]", path.read_text("utf-8"), re.M)
    ]
    assert {"SharedSearch", "Booster"} <= set(classes)
    assert named_twice(classes) == set()


# The modules where a tool may be used: docs/design.md says which mechanisms these are.
ONLY_IN = {
    # joblib makes the threads of scikit-learn's searches, and asks for its pool.
    r"\bThread(Pool|PoolExecutor)?\(": {
        "training/schedule",
        "utils/joblib_private",
    },
    r"\bsignal\.signal\(": {"fit/time_limit"},
    r"\bmonotonic\(": {"fit/time_limit", "several_fits/race", "dask/launch"},
    r"\bCancelScope\(": {"training/schedule", "model_selection/shared_search"},
    # Workers of Dask pass the warnings on.
    r",\s+UnusedParameterWarning\b": {"utils/messages", "dask/fits"},
    r"\blocals\(\)": set(),
}


@pytest.mark.parametrize("tool", ONLY_IN)
def test_each_job_has_one_mechanism(tool):
    users = {
        path.relative_to(PACKAGE).with_suffix("").as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(tool, path.read_text("utf-8"))
    }
    assert users == ONLY_IN[tool]


def test_circles_are_found():
    with pytest.raises(CycleError):
        layers({"fit": {"booster"}, "booster": {"fit"}})
    source = "if TYPE_CHECKING:\n    import skgoss.a\ndef f():\n    import skgoss.b"
    assert imports(source) == {"skgoss.a", "skgoss.b"}


def test_each_subpackage_is_in_a_layer():
    """`lint-imports` checks that no subpackage imports from a higher layer."""
    pyproject = Path(__file__).parents[2] / "pyproject.toml"
    linter = tomllib.loads(pyproject.read_text("utf-8"))["tool"]["importlinter"]
    (contract,) = linter["contracts"]
    layers = [name for layer in contract["layers"] for name in layer.split(" | ")]
    faces = {p.stem for p in PACKAGE.glob("*.py")} - {"__init__"}
    folders = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    assert sorted(layers) == sorted(f"skgoss.{name}" for name in faces | folders)


def test_no_property_waits_for_those_of_other_objects():
    """In Python 3.11, `functools.cached_property` has one lock for all instances."""
    uses = [
        line
        for path in PACKAGE.glob("**/*.py")
        for line in path.read_text("utf-8").splitlines()
        if line.strip().startswith(("from functools import", "@functools."))
        and "cached_property" in line
    ]
    assert uses == []


def test_each_module_has_a_test_file():
    modules = {
        path.relative_to(PACKAGE).with_suffix("").as_posix()
        for path in PACKAGE.glob("*/*.py")
        if path.stem != "__init__"
    }
    without = {
        name
        for name in modules
        if not (TESTS / Path(name).parent / f"test_{Path(name).name}.py").exists()
    }
    listed = {name for names in TESTED_IN.values() for name in names}
    assert without - listed == set(), "write tests/<subpackage>/test_<module>.py"
    assert listed - without == set(), "these have a file now: drop their rows"
    assert [file for file in TESTED_IN if not (TESTS / file).exists()] == []
