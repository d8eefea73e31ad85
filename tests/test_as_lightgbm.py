"""Other tools take skgoss for lightgbm: `skgoss.as_lightgbm`.

The module holds for a whole process, so each script runs in a process of its own.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

START = """
import skgoss.as_lightgbm
import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

tumours, flowers, patients = (
    load(return_X_y=True, as_frame=True)
    for load in (load_breast_cancer, load_iris, load_diabetes)
)
classifier = lgb.LGBMClassifier(n_estimators=5).fit(*tumours)
several = lgb.LGBMClassifier(n_estimators=5).fit(*flowers)
regressor = lgb.LGBMRegressor(n_estimators=5).fit(*patients)
cases = (classifier, tumours), (several, flowers), (regressor, patients)
X, y = tumours
params = {"objective": "binary", "metric": "auc", "verbosity": -1}
"""


OF_MODULES = {
    "is skgoss": """
import copy
import importlib.util
import pickle
import sys

import skgoss.as_lightgbm
import skgoss.as_lightgbm as again
import lightgbm
import lightgbm.basic
import lightgbm.compat
from lightgbm import callback
from lightgbm.basic import _ConfigAliases
from lightgbm.sklearn import LGBMRegressor, train

import skgoss

assert lightgbm is skgoss.as_lightgbm is again
assert set(lightgbm.__all__) <= vars(lightgbm).keys()
assert lightgbm.Booster is lightgbm.basic.Booster is skgoss.Booster
assert LGBMRegressor is lightgbm.LGBMRegressor is skgoss.LGBMRegressor
assert callback is lightgbm.callback is skgoss.callback
assert lightgbm.train is train is skgoss.train
assert lightgbm.compat.SKLEARN_INSTALLED and lightgbm.compat.LGBMNotFittedError
from lightgbm.compat import _LGBMClassifierBase, _LGBMLabelEncoder, pd_DataFrame

import pandas

assert pd_DataFrame is pandas.DataFrame
assert type("Own", (_LGBMClassifierBase, lightgbm.LGBMModel), {})().fit
assert _LGBMLabelEncoder().fit_transform(["b", "a"]).tolist() == [1, 0]
assert _ConfigAliases.get("bagging_freq", "word") == {
    "bagging_freq", "subsample_freq", "word"
}
assert _ConfigAliases.get_sorted("min_data_in_leaf")[0] == "min_data_in_leaf"
assert set(_ConfigAliases.get_sorted("eta")) == _ConfigAliases.get("eta")
assert issubclass(lightgbm.basic.LGBMDeprecationWarning, FutureWarning)
assert lightgbm.compat._sklearn_version.split(".")[0] == "1"
assert importlib.util.find_spec("lightgbm")
assert importlib.util.find_spec("lightgbm.sklearn")
assert int(lightgbm.__version__.split(".")[0]) == 4
# Models of this process can be loaded in others.
for kind in lightgbm.sklearn.__all__:
    model = getattr(lightgbm, kind)(num_leaves=7)
    assert type(model).__module__ == "lightgbm.sklearn"
    assert b"lightgbm" not in pickle.dumps(model)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(again) is type(model) and again.get_params() == model.get_params()
try:
    LGBMRegressor.from_booster(LGBMRegressor())
except TypeError as error:
    assert "Pass its attribute booster_" in str(error)
else:
    raise AssertionError("an estimator is not a Booster")
assert "distributed" not in sys.modules
try:
    import lightgbm.libpath
except ImportError:
    pass
else:
    raise AssertionError("lightgbm.libpath is there")
""",
    "sends missing values where LightGBM does": """
import subprocess
import sys

SCRIPT = '''
import lightgbm
import numpy as np

draw = np.random.default_rng(0)
X = np.abs(draw.normal(size=(500, 3))) + 5
y = X.sum(axis=1)
holes = np.where(draw.random(X.shape) < 0.3, np.nan, X)
X[:7, 1] = np.nan
model = lightgbm.LGBMRegressor(n_estimators=9, verbosity=-1).fit(X, y)
found = model.predict(holes)
'''
arguments = [sys.executable, "-c", SCRIPT + "print(found.tolist())"]
theirs = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout

import skgoss.as_lightgbm

exec(SCRIPT)
np.testing.assert_allclose(found, eval(theirs), rtol=1e-6)
no_first, zeros = holes.copy(), holes.copy()
no_first[:, 0], zeros[:, 0] = np.nan, 0.0
assert np.array_equal(model.predict(no_first), model.predict(zeros))
""",
    "has what tools use": """
import copy
import ctypes
import json
import pickle
import sys
import warnings

import skgoss.as_lightgbm
import lightgbm
import lightgbm.basic
import lightgbm.engine
import lightgbm.sklearn
import numpy as np
import pandas
from lightgbm.basic import _ConfigAliases
from lightgbm.compat import _LGBMGroupKFold, _LGBMStratifiedKFold, pd_CategoricalDtype
from sklearn.model_selection import GroupKFold, StratifiedKFold

import skgoss

assert _LGBMGroupKFold is GroupKFold and _LGBMStratifiedKFold is StratifiedKFold
assert pd_CategoricalDtype is pandas.CategoricalDtype
assert lightgbm.sklearn.Booster is lightgbm.engine.Booster is lightgbm.Booster
assert lightgbm.basic.register_logger is lightgbm.register_logger
names = _ConfigAliases._get_all_param_aliases()
assert names["learning_rate"] == ["learning_rate", "eta", "shrinkage_rate"]
assert names.keys() == _ConfigAliases.aliases.keys() and "num_class" in names
assert _ConfigAliases.get_by_alias("eta", "word") == {*names["learning_rate"], "word"}
sys.modules["distributed"] = None  # as if it were not installed
assert not hasattr(lightgbm, "DaskLGBMClassifier")
assert not hasattr(lightgbm, "nonsense")

X = np.random.default_rng(0).normal(size=(200, 3))
model = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1).fit(X, X[:, 0] > 0)
booster = model.booster_
assert (model._n_features, model._n_classes, model._objective) == (3, 2, "binary")
assert model._Booster is booster
assert not hasattr(lightgbm.LGBMRegressor(), "_n_features")
other = lightgbm.LGBMRegressor()
other._n_features = 7  # subclasses may have attributes of this name
assert other._n_features == 7

# onnxmltools asks the C library, and mlflow for the name of the class.
basic, size, needed = lightgbm.basic, ctypes.c_int64(16), ctypes.c_int64(0)
for _ in range(2):
    buffer = ctypes.create_string_buffer(size.value)
    place = ctypes.c_char_p(ctypes.addressof(buffer))
    kind = ctypes.c_int(basic._FEATURE_IMPORTANCE_TYPE_MAPPER["gain"])
    arguments = ctypes.c_int(1), ctypes.c_int(-1), kind, size, ctypes.byref(needed)
    call = basic._LIB.LGBM_BoosterDumpModel(booster._handle, *arguments, place)
    basic._safe_call(call)
    size = needed
dumped = json.loads(buffer.value)
assert dumped == booster.dump_model(start_iteration=1, importance_type="gain")
assert json.loads(json.dumps(X[:2], default=basic._json_default_with_numpy))
assert str(type(booster)) == "<class 'lightgbm.basic.Booster'>"
for ours, name in ((booster, b"restored_booster"), (model, b"new_estimator")):
    text = pickle.dumps(ours)
    assert b"lightgbm" not in text.partition(b"tree")[0] and name in text
    for again in (pickle.loads(text), copy.copy(ours), copy.deepcopy(ours)):
        assert type(again) is type(ours)
        assert np.array_equal(again.predict(X), ours.predict(X))

# miceforest asks for the predictions of the training set.
rows = lightgbm.Dataset(X, label=X[:, 0] > 0)
options = {"objective": "binary", "verbosity": -1, "num_leaves": 4}
trained = lightgbm.train(
    options, rows, 2, valid_sets=[rows.create_valid(X[:9], label=X[:9, 0] > 0)],
    keep_training_booster=True,
)
for number, n_rows in ((0, 200), (1, 9)):
    found = trained._Booster__inner_predict(number)
    assert np.allclose(found, trained.predict(X[:n_rows]))

# What LightGBM accepts is a warning.
def warned(call, words):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert [words in str(w.message) for w in caught].count(True) == 1, caught
    return result

options = {"verbosity": -1, "num_leaves": 4}
without = lightgbm.Dataset(X)
label = lightgbm.Dataset(X, label=X[:, 0])
found = warned(
    lambda: lightgbm.train(options, label, 2, valid_sets=[without]),
    "The label of valid_sets[0] is None",
)
assert np.isclose(found.best_score["valid_0"]["l2"], np.mean(found.predict(X) ** 2))
few = lightgbm.LGBMRegressor(n_estimators=2, categorical_feature=[3])
few = warned(lambda: few.fit(X, X[:, 0]), "names the column 3")
plain = lightgbm.LGBMRegressor(n_estimators=2).fit(X, X[:, 0])
assert np.array_equal(few.predict(X), plain.predict(X))
classes = np.digitize(X[:, 0], [-0.5, 0.5])
by_class = [
    lightgbm.train({"objective": "binary"}, lightgbm.Dataset(X, label=given), 2)
    for given in (classes, (classes > 0) * 1)
]
assert np.array_equal(*[found.predict(X) for found in by_class])
""",
    # Whoever takes modules out of sys.modules gets those of skgoss again.
    "stays skgoss": """
import importlib
import sys

import skgoss.as_lightgbm as first
import lightgbm.sklearn

n_finders = len(sys.meta_path)
assert importlib.reload(first) is first
for name in [name for name in sys.modules if name.startswith("lightgbm")]:
    del sys.modules[name]
import lightgbm
from lightgbm.sklearn import LGBMRegressor

import skgoss

assert lightgbm is first
assert LGBMRegressor is skgoss.LGBMRegressor
del sys.modules["skgoss.as_lightgbm"]
import skgoss.as_lightgbm as second

assert sys.modules["lightgbm"] is second
assert len(sys.meta_path) == n_finders
""",
    "dask": """
import skgoss.as_lightgbm
import lightgbm.dask
from lightgbm import DaskLGBMRegressor

import skgoss.dask

assert lightgbm.dask is skgoss.dask
assert DaskLGBMRegressor is skgoss.dask.DaskLGBMRegressor
""",
}


@pytest.mark.parametrize("what", OF_MODULES)
def test_modules(what, done):
    if what == "dask":
        pytest.importorskip("distributed")
    assert done.returncode == 0, done.stdout + done.stderr


AFTER_LIGHTGBM = (
    "import lightgbm, skgoss.as_lightgbm",
    "import lightgbm, sys; del sys.modules['lightgbm']; import skgoss.as_lightgbm",
)


@pytest.mark.parametrize("script", AFTER_LIGHTGBM, ids=["there", "was there"])
def test_lightgbm_must_not_be_there_before(script, done):
    pytest.importorskip("lightgbm")
    assert done.returncode == 1
    assert "cannot be imported after the package lightgbm" in done.stderr


TOOLS = {
    "shap": """
import shap

for model, (X, y) in cases:
    rows, n_columns = X[:10], X.shape[1]
    by_skgoss = model.predict(rows, pred_contrib=True)
    by_skgoss = by_skgoss.reshape(10, -1, n_columns + 1)
    explainer = shap.TreeExplainer(model)
    values = explainer.shap_values(rows).reshape(10, n_columns, -1)
    assert np.array_equal(values, np.moveaxis(by_skgoss[..., :-1], 1, 2))
    assert np.allclose(explainer.expected_value, by_skgoss[0, :, -1])
    with_data = shap.Explainer(model, X[:50])
    assert isinstance(with_data, shap.TreeExplainer)
    assert with_data(rows).shape[:2] == rows.shape
assert shap.TreeExplainer(regressor.booster_).shap_values(rows).shape == rows.shape
""",
    "optuna_integration": """
import optuna
from optuna_integration import LightGBMPruningCallback, LightGBMTuner, LightGBMTunerCV

optuna.logging.set_verbosity(optuna.logging.ERROR)
quiet = {"show_progress_bar": False, "optuna_seed": 0}
train = lgb.Dataset(X[::2], label=y[::2])
valid = lgb.Dataset(X[1::2], label=y[1::2], reference=train)
options = params | {"metric": "binary_logloss"}
stop = lgb.early_stopping(3, verbose=False)
tuner = LightGBMTuner(
    options, train, 5, valid_sets=[valid], callbacks=[stop], **quiet
)
tuner.tune_num_leaves(2)
tuner.tune_regularization_factors(2)
assert tuner.best_score < 0.6
assert isinstance(tuner.get_best_booster(), lgb.Booster)
folds = LightGBMTunerCV(options, lgb.Dataset(X, label=y), 5, nfold=2, **quiet)
folds.tune_num_leaves(2)
assert folds.best_score < 0.6


def of_train(trial):
    rate = trial.suggest_float("learning_rate", 1e-6, 1, log=True)
    prune = LightGBMPruningCallback(trial, "auc", valid_name="valid_0")
    model = lgb.LGBMClassifier(n_estimators=5, learning_rate=rate).fit(
        X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], eval_metric="auc",
        callbacks=[prune],
    )
    return model.best_score_["valid_0"]["auc"]


class PruneAll(optuna.pruners.BasePruner):
    def prune(self, study, trial):
        return trial.number > 0


study = optuna.create_study(direction="maximize", pruner=PruneAll())
study.optimize(of_train, n_trials=2)
assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED"]
""",
    "treelite": """
import treelite

for model, (X, y) in cases:
    trees = treelite.frontend.from_lightgbm(model.booster_)
    found = treelite.gtil.predict(trees, X.to_numpy(), nthread=1).squeeze()
    assert np.allclose(found, model.booster_.predict(X), atol=1e-6)
""",
    "mlflow": """
import mlflow
import mlflow.lightgbm

mlflow.set_tracking_uri("sqlite:///runs.db")
mlflow.lightgbm.autolog(log_models=False)
train = lgb.Dataset(X[::2], label=y[::2])
valid = lgb.Dataset(X[1::2], label=y[1::2], reference=train)
with mlflow.start_run() as run:
    lgb.train(params, train, 3, valid_sets=[valid])
assert mlflow.get_run(run.info.run_id).data.params["objective"] == "binary"
history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "valid_0-auc")
assert [metric.step for metric in history] == [0, 1, 2]
with mlflow.start_run():
    info = mlflow.lightgbm.log_model(
        classifier,
        name="model",
        skops_trusted_types=["skgoss.LGBMClassifier"],
        pip_requirements=["mlflow", "skgoss", "skops"],
    )
again = mlflow.lightgbm.load_model(info.model_uri)
assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))
mlflow.lightgbm.save_model(classifier.booster_, "booster", pip_requirements=[])
again = mlflow.lightgbm.load_model("booster")
assert np.array_equal(again.predict(X), classifier.booster_.predict(X))
""",
    "eli5": """
import eli5

for model, (X, y) in cases:
    weights = eli5.explain_weights(model)
    assert weights.feature_importances.importances
    assert eli5.explain_prediction(model, X.iloc[0]).targets
""",
    "flaml": """
from flaml import AutoML

search = AutoML()
search.fit(X, y, task="classification", estimator_list=["lgbm"], max_iter=2, verbose=0)
assert isinstance(search.model.estimator, lgb.LGBMClassifier)
""",
    "darts": """
from darts import TimeSeries
from darts.models import LightGBMModel

series = TimeSeries.from_values(np.sin(np.arange(200) / 5))
model = LightGBMModel(lags=12, n_estimators=20)
model.fit(series[:150], val_series=series[150:])
assert isinstance(model.model, lgb.LGBMRegressor)
assert np.abs(model.predict(5).values()).max() < 1.5
""",
    "skforecast": """
import pandas as pd
from skforecast.recursive import ForecasterRecursive

r, days = np.random.default_rng(0), pd.date_range("2020", periods=400)
words = pd.Series(r.choice(list("abcdefgh"), 400), days, dtype="category")
y = pd.Series(words.cat.codes * 7 % 5 + r.normal(size=400), days)
forecaster = ForecasterRecursive(lgb.LGBMRegressor(), 2, categorical_features="auto")
forecaster.fit(y, exog=words.to_frame("word"))
trees = forecaster.estimator.booster_.trees_to_dataframe()
assert (trees["decision_type"] == "==").any()
""",
    "mlforecast": """
import pandas as pd
from mlforecast.lgb_cv import LightGBMCV

y = np.sin(np.arange(300) / 5)
days = pd.date_range("2020", periods=300)
series = pd.DataFrame({"unique_id": 0, "ds": days, "y": y})
folds = LightGBMCV(freq="D", lags=[1, 2])
folds.fit(series, n_windows=2, h=7, num_iterations=10, params={"verbosity": -1})
assert folds.predict(3).shape == (3, 4)
""",
    "hummingbird": """
from hummingbird.ml import convert

rows = patients[0].to_numpy(np.float32)
for model in (regressor, regressor.booster_):
    found = convert(model, "torch", rows[:5]).predict(rows)
    assert np.allclose(found, regressor.predict(patients[0]), rtol=1e-5)
""",
}


# What needs no `skgoss.as_lightgbm`.
PLAIN = {
    "mlflow": """
import mlflow
import mlflow.sklearn
from sklearn.pipeline import make_pipeline

from skgoss import LGBMClassifier

mlflow.set_tracking_uri("sqlite:///runs.db")
classifier = LGBMClassifier(n_estimators=5).fit(X, y)
arguments = {
    "name": "model",
    "pip_requirements": ["skgoss", "skops"],
}
with mlflow.start_run():
    info = mlflow.sklearn.log_model(
        classifier,
        skops_trusted_types=["skgoss.LGBMClassifier"],
        **arguments,
    )
    try:
        mlflow.sklearn.log_model(classifier, **arguments)
    except mlflow.MlflowException as error:
        assert "untrusted types" in str(error)
again = mlflow.sklearn.load_model(info.model_uri)
assert np.array_equal(again.predict_proba(X), classifier.predict_proba(X))


def log_to_mlflow(env):
    for name, metric, value, _ in env.evaluation_result_list:
        mlflow.log_metric(f"{name}-{metric}", value, step=env.iteration)


with mlflow.start_run() as run:
    classifier.fit(X, y, eval_set=[(X, y)], callbacks=[log_to_mlflow])
client = mlflow.MlflowClient()
history = client.get_metric_history(run.info.run_id, "training-binary_logloss")
assert [metric.step for metric in history] == [0, 1, 2, 3, 4]
mlflow.sklearn.autolog(log_models=False)
with mlflow.start_run() as run:
    make_pipeline(classifier).fit(X, y)
logged = mlflow.get_run(run.info.run_id).data
assert logged.params["lgbmclassifier__n_estimators"] == "5"
assert logged.metrics["training_accuracy_score"] == classifier.score(X, y)
""",
    "m2cgen": """
import m2cgen
from m2cgen import assemblers

from skgoss import LGBMClassifier

assemblers.SUPPORTED_MODELS["skgoss_LGBMClassifier"] = assemblers.LightGBMModelAssembler
classifier = LGBMClassifier(n_estimators=5).fit(X, y)
names = {}
exec(m2cgen.export_to_python(classifier), names)
assert np.allclose(names["score"](X[0].tolist()), classifier.predict_proba(X[:1])[0])
""",
}


def installed(tools):
    """The tools, of which those are skipped that are not installed."""
    return [
        pytest.param(
            tool,
            marks=pytest.mark.skipif(
                tool not in sys.modules and find_spec(tool) is None,
                reason=f"{tool} is not installed",
            ),
        )
        for tool in tools
    ]


PLAIN_START = """
import numpy as np
from sklearn.datasets import load_breast_cancer

X, y = load_breast_cancer(return_X_y=True)
"""

SCRIPTS = {
    "test_modules": lambda what: (OF_MODULES[what],),
    "test_lightgbm_must_not_be_there_before": lambda script: (script,),
    "test_tools_take_our_models": lambda tool: (START + TOOLS[tool],),
    "test_tools_that_need_no_other_name": lambda tool: (PLAIN_START + PLAIN[tool],),
}


@pytest.mark.parametrize("tool", installed(TOOLS))
def test_tools_take_our_models(tool, done):
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("tool", installed(PLAIN))
def test_tools_that_need_no_other_name(tool, done):
    assert done.returncode == 0, done.stdout + done.stderr
