"""What outsiders run: GBM-perf, and TabArena with a small stand-in for its packages."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
import types
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

FOLDER = Path(__file__).parents[2] / "benchmarks" / "tabarena"


class AbstractModel:
    """What AutoGluon's base class does with the methods of a model."""

    def __init__(
        self, problem_type="binary", num_classes=2, metric="log_loss", params=None
    ):
        self.problem_type, self.num_classes = problem_type, num_classes
        self.stopping_metric = types.SimpleNamespace(name=metric)
        self.params, self.params_trained = dict(params or {}), {}
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self.params.setdefault(name, value)

    def _get_model_params(self):
        return self.params.copy()

    def _get_default_auxiliary_params(self):
        return {"max_memory_usage_ratio": 1.0}

    def preprocess(self, X, **kwargs):
        return X

    @classmethod
    def estimate_memory_usage_static(cls, **kwargs):
        return cls._estimate_memory_usage_static(**kwargs)

    def fit(self, **kwargs):
        self._fit(**kwargs)
        return self


class Space:
    def __init__(self, *values, **options):
        self.values, self.options = values, options


class Kept:
    """A class of TabArena that only keeps its arguments."""

    def __init__(self, **arguments):
        self.__dict__.update(arguments)


@pytest.fixture
def modules(monkeypatch):
    """The modules of the folder, by name."""
    stand_in = {
        "autogluon.core.models": {"AbstractModel": AbstractModel},
        "autogluon.common.utils.pandas_utils": {
            "get_approximate_df_mem_usage": lambda X: X.memory_usage()
        },
        "autogluon.common.utils.resource_utils": {
            "ResourceManager": types.SimpleNamespace(
                get_cpu_count=lambda only_physical_cores: 2
            )
        },
        "autogluon.common.space": dict.fromkeys(("Categorical", "Int", "Real"), Space),
        "tabarena.utils.config_utils": {"ConfigGenerator": Kept},
        "tabarena.models._model_info": {"ModelInfo": Kept},
        "tabarena.nips2025_utils.artifacts.method_metadata": {"MethodMetadata": Kept},
    }
    for name, attributes in stand_in.items():
        parts = name.split(".")
        for n in range(1, len(parts) + 1):
            found = types.ModuleType(".".join(parts[:n]))
            monkeypatch.setitem(sys.modules, found.__name__, found)
        vars(sys.modules[name]).update(attributes)
    monkeypatch.syspath_prepend(str(FOLDER))
    names = "model", "hpo", "info"
    yield types.SimpleNamespace(**{n: importlib.import_module(n) for n in names})
    for name in names:
        del sys.modules[name]


def table(n_rows=600, n_classes=2):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((n_rows, 4)), columns=list("abcd"))
    X["word"] = pd.Categorical(np.where(X["a"] > 0.5, "x", "y"))
    total = X["a"] + X["b"] + rng.standard_normal(n_rows)
    if not n_classes:
        return X, total
    return X, pd.Series(pd.qcut(total, n_classes, labels=False))


def parts(n_classes=2):
    X, y = table(n_classes=n_classes)
    rest = {"X_val": X[400:], "y_val": y[400:]}
    return {"X": X[:400], "y": y[:400], **rest}


@pytest.mark.parametrize(
    ("problem_type", "n_classes", "metric", "used"),
    [
        ("binary", 2, "roc_auc", "auc"),
        ("binary", 2, "log_loss", "binary_logloss"),
        ("multiclass", 3, "log_loss", "multi_logloss"),
        ("multiclass", 3, "accuracy", "multi_error"),
        ("regression", 0, "root_mean_squared_error", "rmse"),
        ("regression", 0, "r2", "l2"),
    ],
)
def test_validation_rows_end_the_fit(modules, problem_type, n_classes, metric, used):
    model = modules.model.SkgossModel(problem_type, n_classes or None, metric)
    model.fit(**parts(n_classes), num_cpus=1)
    fitted = model.model
    assert [*fitted.evals_result_["valid_0"]] == [used]
    assert model.params_trained["n_estimators"] == fitted.best_iteration_ < 1000
    assert fitted.n_jobs == 1


def test_a_refit_on_all_rows_has_the_rounds_of_the_fit(modules):
    X, y = table()
    model = modules.model.SkgossModel(params={"n_estimators": 7}).fit(X=X, y=y)
    assert model.params_trained["n_estimators"] == model.model.n_estimators_ == 7


def test_weights_are_used(modules):
    weights = {"sample_weight": np.arange(400.0), "sample_weight_val": np.ones(200)}
    params = {"n_estimators": 5}
    plain = modules.model.SkgossModel(params=params).fit(**parts())
    weighted = modules.model.SkgossModel(params=params).fit(**parts(), **weights)
    X = parts()["X_val"]
    assert (plain.model.predict_proba(X) != weighted.model.predict_proba(X)).any()


def test_the_time_limit_ends_the_fit(modules):
    X, y = table(20_000)
    model = modules.model.SkgossModel(params={"learning_rate": 1e-5})
    start = time.monotonic()
    with pytest.warns(UserWarning, match="ended the fit after"):
        model.fit(X=X, y=y, time_limit=0.5)
    assert model.model.time_limit_reached_
    assert time.monotonic() - start < 20


def test_memory_is_estimated_before_a_fit(modules):
    X, _ = table()
    made = modules.model.SkgossModel(params={"n_estimators": 10})
    few = made._estimate_memory_usage(X)
    many = modules.model.SkgossModel(
        "multiclass", 9, params={"n_estimators": 10}
    )._estimate_memory_usage(X)
    assert X.memory_usage().sum() < few < many
    assert made._class_tags()["can_estimate_memory_usage_static"]


def test_each_value_of_the_search_space_is_accepted(modules):
    space = modules.hpo.gen_skgoss.search_space
    X, y = table()
    for name, values in space.items():
        for value in values.values:
            model = modules.model.SkgossModel(params={name: value, "n_estimators": 2})
            model.fit(X=X, y=y)
            assert model.model.get_params()[name] == value


def test_the_cases_of_gbm_perf_run(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("train-0.1m.csv", "test.csv"):
        late = rng.random(2000) < 0.5
        rows = {"Month": np.where(late, "c-1", "c-2"), "Distance": rng.random(2000)}
        late ^= rng.random(2000) < 0.2
        rows["dep_delayed_15min"] = np.where(late, "Y", "N")
        pd.DataFrame(rows).to_csv(tmp_path / name, index=False)
    command = [sys.executable, FOLDER.parent / "gbm_perf.py", "--folder", tmp_path]
    command += ["--sizes", "100k", "--repeats", "1", "--libraries", "skgoss"]
    env = os.environ | {"PYTHONPATH": str(FOLDER.parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    row = done.stdout.splitlines()[-1]
    assert row.startswith("| 100k | 2 | skgoss | ")
    assert 0.7 < float(row.split("|")[-2]) < 0.9


def test_the_method_is_described(modules):
    info = modules.info.skgoss_info
    assert info.model_cls is modules.hpo.gen_skgoss.model_cls
    assert info.method_metadata.ag_key == info.model_cls.ag_key
    assert info.method_metadata.config_default.startswith(info.model_cls.ag_name)
    assert modules.hpo.gen_skgoss.manual_configs == [{}]
