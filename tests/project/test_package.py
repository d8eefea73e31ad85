"""The package: its version, its modules, what importing it costs."""

from __future__ import annotations

import importlib
import platform
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import skgoss
from helpers import processes
from skgoss import lightgbm_private
from skgoss._engine import runtime


def test_version_is_that_of_the_installed_package(tmp_path, monkeypatch):
    folder = tmp_path / "skgoss-12.3.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: skgoss\nVersion: 12.3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert skgoss.__version__ == "12.3"
    with pytest.raises(AttributeError, match="'skgoss' has no attribute 'nonsense'"):
        skgoss.nonsense  # noqa: B018


def test_version_needs_an_installed_package(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(AttributeError, match="the package is not installed"):
        skgoss.__version__  # noqa: B018


def test_a_folder_with_the_source_alone_says_what_to_do(tmp_path):
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(skgoss.__file__).parent, tmp_path / "skgoss", ignore=compiled)
    script = tmp_path / "script.py"
    text = f"""
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "skgoss"]:
    del sys.modules[name]
# Editable installations have a finder of their own; those of Python are classes.
sys.meta_path = [finder for finder in sys.meta_path if isinstance(finder, type)]
sys.path.insert(0, {str(tmp_path)!r})
import skgoss
"""
    script.write_text(text)
    ran = processes.run(script, folder=tmp_path)
    assert ran.returncode == 1
    assert "run it in another folder" in ran.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["sklearn", "callback"])
def test_modules_of_lightgbm_s_names(name, lightgbm):
    module = importlib.import_module(f"skgoss.{name}")
    assert getattr(skgoss, name) is module
    assert name not in skgoss.__all__  # a star import must not hide scikit-learn
    for word in module.__all__:
        if hasattr(skgoss, word):
            assert getattr(module, word) is getattr(skgoss, word)
    theirs = importlib.import_module(f"{lightgbm.__name__}.{name}")
    assert set(theirs.__all__) <= set(module.__all__)


def test_modules_of_functions_and_data():
    for word in ("train", "cv", "CVBooster", "Booster", "Dataset"):
        assert getattr(skgoss.engine, word) is getattr(skgoss, word)
    for word in ("Booster", "Dataset", "Sequence"):
        assert getattr(skgoss.basic, word) is getattr(skgoss, word)
    assert skgoss.sklearn.LightGBMError is skgoss.basic.LightGBMError is ValueError


@pytest.mark.parametrize("show_stdv", [True, False])
@pytest.mark.parametrize("deviation", [(), (0.25,)])
def test_a_result_as_text(show_stdv, deviation, lightgbm):
    given = ("valid_0", "l2", 0.123456789, False, *deviation)
    ours = lightgbm_private.format_eval_result(skgoss.EvalResult(*given), show_stdv)
    theirs = lightgbm.callback._format_eval_result(
        lightgbm.EvalResult(*given), show_stdv
    )
    assert ours == theirs


IMPORTED = (
    "import sys, sklearn.base, sklearn.utils.validation;"
    "before = set(sys.modules); import skgoss;"
    "print({name.partition('.')[0] for name in sys.modules.keys() - before}"
    " & {'pandas', 'polars', 'pyarrow', 'matplotlib', 'igraph', 'graphviz',"
    " 'lightgbm', 'onnx', 'skl2onnx', 'shap', 'dask', 'distributed'});"
    "late = {'_engine.training.grower', 'training.boosting', 'plotting',"
    " 'plotting.tree_labels', 'export.to_onnx'};"
    "print([name for name in late if f'skgoss.{name}' in sys.modules]);"
    "skgoss.LGBMRegressor(n_estimators=1).fit([[0], [1]], [0, 1]);"
    "print(skgoss.plot_tree is skgoss.plotting.plot_tree, skgoss.to_onnx.__name__);"
    "print([name for name in late if f'skgoss.{name}' not in sys.modules]);"
    "print({*skgoss.__all__, 'compat', 'model_selection', 'plotting'}"
    " <= {*dir(skgoss)});"
    "print(skgoss.model_selection.GridSearchCV.__name__);"
    "print(skgoss.compat.LGBMNotFittedError.__name__)"
)
SCRIPTS = {
    "test_importing_loads_little": lambda: (processes.new_python("-c", IMPORTED),),
    "test_what_a_report_of_a_bug_needs": lambda level, name: (
        processes.new_python("-m", "skgoss", SKGOSS_SIMD=level, OMP_NUM_THREADS="1"),
    ),
}


def test_importing_loads_little(done):
    """No more packages than scikit-learn, and modules when they are used."""
    assert done.returncode == 0, done.stderr
    expected = ["set()", "[]", "True to_onnx", "[]", "True"]
    expected += ["GridSearchCV", "NotFittedError"]
    assert done.stdout.splitlines() == expected


@pytest.mark.parametrize(
    ("level", "name"),
    [("plain", "plain"), pytest.param("none", None, marks=pytest.mark.nightly)],
)
def test_what_a_report_of_a_bug_needs(level, name, done):
    found = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert (done.returncode, done.stderr) == (0, "")
    assert found["numpy"] == np.__version__
    assert found["Python"].endswith(platform.python_version())
    assert found["threads"] == "1"
    assert found["SKGOSS_SIMD"] == level
    assert found["instructions"] == (name or runtime.simd())
    assert found["compiler"] == runtime.compiler()


def test_without_dask_the_estimators_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    for name in [name for name in sys.modules if name.startswith("skgoss.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(skgoss, "dask", raising=False)
    with pytest.raises(ImportError, match="pip install dask distributed"):
        skgoss.DaskLGBMRegressor  # noqa: B018
