"""What newcomers mistype: each mistake is answered by what to write instead.

The answer is an error or a warning, which names the argument, what was got and the fix.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.model_selection
from scipy.special import expit
from scipy.stats import randint  # noqa: F401
from sklearn.metrics import (
    f1_score,
    hinge_loss,  # noqa: F401
    make_scorer,
    mean_squared_error,
)
from sklearn.model_selection import GroupKFold, KFold  # noqa: F401
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import skgoss
import skgoss.compat
from skgoss import (
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    cv,
    log_evaluation,
    train,
)
from skgoss.model_selection import GridSearchCV

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
y = (X[:, 0] > 0).astype(int)
r = X[:, 0] * 2.0
sex = np.where(y, "m", "f")
X5 = np.column_stack([X, X[:, 0]])
SMALL = {"n_estimators": 2, "n_jobs": 1}
BINARY = {"objective": "binary", "num_threads": 1}


def classifier(**options):
    return LGBMClassifier(**SMALL, **options)


def regressor(**options):
    return LGBMRegressor(**SMALL, **options)


def ranker(**options):
    return LGBMRanker(**SMALL, **options)


def data(label=y, **arguments):
    return Dataset(X, label=label, **arguments)


def dataset_objective(preds, train_data):
    labels = train_data.get_label()
    return preds - labels, np.ones_like(labels)


def dataset_metric(preds, dtrain):
    return "mean", float(np.mean(preds - dtrain.get_label())), False


def swapped_objective(y_pred, y_true):
    return y_pred - y_true, np.ones_like(y_true)


def swapped_metric(preds, labels):
    return "largest", float(np.max(preds - labels)), False


def f1_of_labels(y, p):
    return "f1", f1_score(y, p > 0.5), True


def search(estimator, grid, **options):
    return GridSearchCV(estimator, grid, n_jobs=1, **options).fit(X, r)


def scored(estimator, scoring, target):
    grid = {"num_leaves": [3, 7]}
    return GridSearchCV(estimator, grid, scoring=scoring, n_jobs=1).fit(X, target)


model = classifier().fit(X, y)
numbers = regressor().fit(X, r)
booster = model.booster_
frame = pd.DataFrame(X, columns=list("abcd"))
named = classifier().fit(frame, y)
doubled = pd.DataFrame({0: r, 1: r}).set_axis(["t", "t"], axis=1)
days = np.array([[pd.Timestamp(2020, 1, 1)]] * 60, dtype=object)
dates = pd.DataFrame({"sold": pd.date_range("2020-01-01", periods=60)})
dated = LGBMRegressor(n_estimators=1).fit(dates, np.arange(60.0))
lives = pd.DataFrame({"status": ["ok", "failed"] * 30, "years": np.arange(60)})
lived = pd.DataFrame({"time": np.arange(60) + 2.0, "event": y})
words = np.array(list("abcdef") * 10)
mixed = np.column_stack([X[:, :3], words.astype(object)])
piped = Pipeline([("scale", StandardScaler()), ("gbm", regressor())])
incomplete = np.array([np.nan, "a", "b"] * 20, dtype=object)
scorer = make_scorer(mean_squared_error)
half = np.arange(60) < 30
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    texted = LGBMRegressor(n_estimators=1).fit(dates.astype(str), r)
commas = [str(value).replace(".", ",") for value in np.arange(60) / 4 - 2]
one_hot = np.arange(60)[:, None] % 3 == np.arange(3)
named_numbers = regressor().fit(frame, r)
found = scored(classifier(), None, y)
fitted_pipe = Pipeline([*piped.steps]).fit(X, r)
indexed = pd.Series(r, index=pd.Index(np.arange(60) + 9, name="id"), name="t")
rows = pd.DataFrame(X, index=indexed.index)
large = X * [1.0, 1e4, 1e4, 1e4] + [0.0, 1e4, 1e4, 1e4]
own = LGBMClassifier(objective=lambda y, p: (expit(p) - y, 0.25 + 0 * p)).fit(X, y)
pool = type("Pool", (), {"__module__": "catboost.core"})()
matrix = type("DMatrix", (), {"__module__": "xgboost.core"})()
# What the mistakes below are typed with.
NAMES = {**vars(skgoss), **globals()}
MISTAKES = {
    # Constructors
    "LGBMClassifier(100, 0.1)": ("got 100, 0.1", "n_estimators=100, learning_rate=0.1"),
    "LGBMClassifier(num_leafs=5)": ("'num_leafs'", "Did you mean 'num_leaves'?"),
    "LGBMClassifier(n_estimator=9)": ("'n_estimator'", "mean 'n_estimators'?"),
    "LGBMClassifier(bagging_fracton=0.5)": ("Did you mean 'bagging_fraction'?",),
    "LGBMClassifier(cv=5)": ("'cv'", "Use folds."),
    "LGBMClassifier(gamma=1)": ("'gamma'", "Use min_split_gain."),
    "LGBMClassifier(tree_method='hist')": ("'tree_method'", "on histograms"),
    "LGBMRegressor().set_params(use_gpu=True)": ("'use_gpu'", "run on CPUs"),
    "train({'iterations': 9, **BINARY}, data(), 1)": ("'iterations'", "n_estimators"),
    "numbers.predict(X, shap=True)": ("'shap'", "Use pred_contrib=True."),
    "booster.predict(X, output_margin=True)": ("'output_margin'", "raw_score=True"),
    "LGBMClassifier(eval_metric='auc')": ("argument of fit", "the parameter metric"),
    "LGBMClassifier().set_params(num_leafs=5)": (
        "'num_leafs' for estimator LGBMClassifier",
        "Did you mean 'num_leaves'?",
    ),
    "LGBMClassifier(n_estimators='all').fit(X, y)": ("n_estimators", "int", "'all'"),
    "classifier(learning_rate=0).fit(X, y)": ("learning_rate", "(0, inf)", "Got 0"),
    "classifier(subsample=50).fit(X, y)": ("subsample", "(0, 1]", "Got 50"),
    "classifier(max_depth=2.5).fit(X, y)": ("max_depth", "an int", "Got 2.5"),
    "classifier(objective='binray').fit(X, y)": ("'binray'", "mean 'binary'?"),
    "classifier(objective='regression').fit(X, y)": ("'regression'", "Use one of"),
    "classifier(objective='multiclass').fit(X, y)": ("2 classes", "'binary'"),
    "regressor(objective='binary').fit(X, r)": ("'binary'", "Use LGBMClassifier"),
    "classifier(boosting_type='rf').fit(X, y)": ("'rf'", "set subsample < 1"),
    "classifier(class_weight='balance').fit(X, y)": ("'balanced'", "Got 'balance'"),
    "classifier(class_weight={2: 1.0}).fit(X, y)": ("class_weight", "[0, 1]", "[2]"),
    "regressor(class_weight='balanced').fit(X, r)": ("class_weight", "sample_weight"),
    "classifier(monotone_constraints=[1, 0]).fit(X, y)": ("4 columns", "2 entries"),
    "classifier(categorical_feature=[9]).fit(X, y)": ("column 9", "0 to 3"),
    "classifier(random_state='x').fit(X, y)": ("random_state", "Got 'x'"),
    "classifier(objective='binary:logistic').fit(X, y)": ("Did you mean 'binary'?",),
    "classifier(objective='Logloss').fit(X, y)": ("Did you mean 'binary'?",),
    "classifier(objective='multi:softprob').fit(X, y)": ("mean 'multiclass'?",),
    "classifier(loss='log_loss').fit(X, y)": ("'log_loss'", "Did you mean 'binary'?"),
    "regressor(loss='squared_error').fit(X, r)": ("Did you mean 'regression'?",),
    "regressor(objective='count:poisson').fit(X, y)": ("Did you mean 'poisson'?",),
    "regressor(objective='weibull').fit(X, r)": ("Did you mean 'aft_extreme'?",),
    "classifier(device='gpu').fit(X, y)": ("device='gpu'", "no effect", "on CPUs"),
    "classifier(task_type='GPU').fit(X, y)": ("task_type='GPU'", "on CPUs"),
    "train({'task_type': 'GPU', **BINARY}, data(), 1)": ("task_type='GPU'", "on CPUs"),
    "regressor(forcedbins_filename={0.5: [1]}).fit(X, r)": ("0.5", "0 to 3"),
    # X and y
    "classifier().fit(X, incomplete)": ("y contains missing", "row 0"),
    "regressor().fit(X, doubled)": ("columns of y", "different names"),
    "classifier().fit(days, y)": ("column 0 is a pandas.Timestamp", "dates to numbers"),
    "classifier().fit(None, y)": ("X must be", "NoneType"),
    "model.predict([{'a': 1.0}])": ("X must be", "a list of dicts", "DataFrame"),
    "model.predict(row for row in X)": ("X must be", "a generator", "numpy.array"),
    "named.predict(frame[['d', 'c', 'b', 'a']])": ("X[model.feature_names_in_]",),
    "classifier().fit(X)": ("y to be passed",),
    "classifier().fit(y, X)": ("Are X and y swapped?",),
    "classifier().fit(X, y[:50])": ("[60, 50]",),
    "classifier().fit(X, r)": ("continuous", "use LGBMRegressor"),
    "classifier().fit(X, np.arange(60))": ("60 different labels", "LGBMRegressor"),
    "classifier().fit(X, np.floor(np.arange(60) / 2) + 18)": ("30 different", "five"),
    "classifier().fit(X, np.arange(60) // 2 * 10)": ("five rows", "LGBMRegressor"),
    "classifier().fit(X, np.array(['yes ', *['yes', 'no'] * 29, 'no']))": (
        "differ only in surrounding spaces",
        "'yes', 'yes '",
        "[label.strip() for label in y]",
    ),
    "classifier().fit(X, pd.Series(['Yes', 'yes', 'no'] * 20))": (
        "differ only in case",
        "'Yes', 'yes'",
        "[label.strip().casefold() for label in y]",
    ),
    "classifier(folds=5).fit(X, np.arange(60) < 3)": (
        "fewer rows than folds=5",
        "True (3 rows)",
        "Set folds=3",
    ),
    "regressor().fit(X, np.where(y, 'yes', 'no'))": ("'yes'", "use LGBMClassifier"),
    "classifier().fit(X, np.column_stack([r, 1 - r]))": ("Column 0 of y", "continuous"),
    "regressor().fit(X, np.column_stack([np.where(y, 'yes', 'no'), r]))": (
        "column 0 of y",
        "Labels and numbers need a model each",
    ),
    "classifier().fit('train.csv', y)": ("train.csv", "name of a column", "ndarray"),
    "classifier().fit({'a': r}, y)": ("X must be", "a dict", "pandas.DataFrame"),
    "classifier().fit(X, y, sample_weight=[1, 2])": (
        "sample_weight",
        "(2,)",
        "60 rows",
    ),
    "classifier().fit(X, y, sample_weight='balanced')": (
        "an array, got the str 'balanced'",
        "class_weight='balanced' to the constructor",
    ),
    "regressor().fit(X, r, sample_weight='balanced')": ("str 'balanced'", "no classes"),
    "regressor().fit(matrix, r)": ("got a xgboost.core.DMatrix", "X.get_data()"),
    "numbers.predict(pool)": ("got a catboost.core.Pool", "X.get_features()"),
    "regressor().fit(frame, r, sample_weight='a')": ("sample_weight", "X['a']"),
    "regressor().fit(frame, r, init_score='a')": ("init_score", "X['a']"),
    "ranker().fit(frame, y, qid='a')": ("qid", "X['a']"),
    "ranker().fit(frame, y, group='a')": ("group", "X['a']"),
    "classifier().fit(X, y.astype(bool).astype(object))": (
        "numpy.array(y, dtype=bool)",
    ),
    "regressor(monotone_constraints={'A': 1}).fit(frame, r)": ("Did you mean 'a'?",),
    "classifier(categorical_feature=['A']).fit(frame, y)": ("Did you mean 'a'?",),
    "regressor().fit([[1, 2], [3]], [1, 2])": ("row 0 has 2", "row 1 has 1", "nan"),
    "model.predict([[1, 2, 3, 4], [1]])": ("rows of X", "row 1 has 1"),
    "model.predict([])": ("X has no rows",),
    "regressor().fit(X.reshape(60, 2, 2), r)": (
        "X has the shape (60, 2, 2)",
        "numpy.reshape(X, (60, -1))",
    ),
    "regressor().fit(frame.to_records(), r)": ("named fields", "pandas.DataFrame(X)"),
    "regressor().fit({1.0, 2.0}, r)": ("X must be", "got a set"),
    "regressor().fit(X.astype(complex), r)": ("dtype complex128", "Pass X.real"),
    "regressor().fit(X, r.astype(complex))": ("dtype complex128", "Pass y.real"),
    "regressor().fit(X, r.reshape(1, -1))": ("60 rows", "(1, 60)", "y.ravel()"),
    "regressor().fit(X, 5)": ("y should be a 1d array", "one value", "not one int"),
    "classifier().fit(X, [[1], [2, 3]] * 30)": ("rows of y", "MultiLabelBinarizer()"),
    "regressor().fit(X, [[1], [2, 3]] * 30)": ("rows of y", "MultiLabelBinarizer()"),
    "classifier().fit(X, y.astype(object))": ("holds int", "numpy.array(y, dtype=int)"),
    "classifier().fit(X, np.array([1, 'a'] * 30, dtype=object))": (
        "labels that can be sorted",
        "[str(label) for label in y]",
    ),
    "regressor().fit(X, commas)": (
        "convert string to float: '-2,0'",
        "pandas.to_numeric(pandas.Series(y).str.replace(',', '.', regex=False)",
    ),
    "regressor(objective='student').fit(X, sex)": ("'m'", "use LGBMClassifier"),
    "regressor().fit(X, pd.DataFrame({'p': commas, 'q': r}))": (
        "column 'p' of y",
        "pandas.to_numeric(pandas.Series(y['p']).str.replace",
    ),
    "regressor().fit(X, np.column_stack([commas, commas]))": (
        "column 0 of y",
        "pandas.Series(y[:, 0])",
    ),
    "regressor().fit(X, dates['sold'])": (
        "datetime64",
        "(y - y.min()) / numpy.timedelta64(1, 'D')",
    ),
    "regressor().fit(X, dates['sold'] - dates['sold'][0])": (
        "timedelta64",
        "Days are y / numpy.timedelta64(1, 'D')",
    ),
    "classifier().fit(X, one_hot)": ("single 1 in its 3 columns", "argmax(y, axis=1)"),
    "classifier(objective='multiclass').fit(X, one_hot * 1.0)": ("2 classes",),
    "classifier(objective='cross_entropy').fit(X, pd.DataFrame(one_hot))": (
        "learned as 3 targets",
        "numpy.argmax(y, axis=1)",
    ),
    "own.score(X, y)": ("raw scores and not labels", "(scores > 0).astype(int)"),
    # Dates and lists
    "regressor(date_features=False).fit(dates, r)": (
        "Column 'sold' holds dates",
        "X['sold'].dt.month",
    ),
    "regressor().fit(dates - dates.min(), r)": ("durations", "dt.total_seconds()"),
    "regressor(date_features=False).fit(dates.to_numpy(), r)": (
        "X holds dates",
        "numpy.timedelta64(1, 'D')",
    ),
    "regressor(date_features=False).fit(dates.astype(object), r)": (
        "pandas.to_datetime(X['sold'])",
        "skgoss.DateFeatures()",
    ),
    "regressor(date_features='week').fit(dates, r)": ("'day_of_week'", "'week'"),
    "dated.predict(dates.astype(str))": ("held dates in fit", "to_datetime(X['sold'])"),
    "dated.predict([[1.0]])": ("'sold' held dates in fit", "now holds numbers"),
    "dated.predict(np.array([[18000.5]], object))": ("numpy.datetime64 objects",),
    "classifier().fit(X, sex).booster_.refit(X, sex)": (
        "the numbers 0 to 1 of the classes, got 'm'",
        "numpy.searchsorted(model.classes_, y)",
    ),
    "numbers.score(frame, 'd')": ("y must be an array, got the str 'd'",),
    "numbers.score('no.csv', 'd')": ("no.csv",),
    "dated.predict(dates.sold.dt.tz_localize('UTC').to_frame())": (
        "without a time zone in fit",
        "X['sold'].dt.tz_localize(None)",
    ),
    "regressor().fit(pd.DataFrame({'a': [[1, 2]] * 60}), r)": ("'a' holds lists",),
    "regressor().fit(dates.astype(str), r)": (
        "Dates stored as text",
        "'sold'",
        "pandas.to_datetime(X['sold'], format='%Y-%m-%d'",
    ),
    # Survival analysis
    "classifier(objective='cox').fit(X, y)": ("event times", "use LGBMRegressor"),
    "regressor(objective='cox').fit(X, lives)": (
        "'status' of y",
        "True or 1",
        "'ok', 'failed'",
        "status == value",
    ),
    "regressor(objective='cox').fit(X, lived)": (
        "column 'event' of y holds only codes of events",
        "y[['event', 'time']]",
    ),
    "regressor(objective='aft_normal').fit(X, lived.to_numpy())": (
        "column 1 of y",
        "numpy.column_stack([event, time])",
    ),
    "regressor(objective='cox').predict_proba(X)": ("predict_survival_function(X, t",),
    "regressor(objective='cox').fit(X, lived[['event', 'time']]).predict_proba(X)": (
        "predict_survival_function(X, times)",
    ),
    # Start scores
    "regressor().fit(X, r, init_score=r).score(X, r)": (
        "fitted with init_score, which predictions do not include",
        "model.predict(X, raw_score=True)",
    ),
    "classifier(folds=2).fit(X, y, init_score=r).score(X, y)": (
        "LGBMClassifier was fitted with init_score",
    ),
    # Counts of different exposures
    "regressor().fit(X, r, exposure=y)": ("y / exposure as y, and sample_weight=",),
    "regressor().fit(X, r, offset=y)": (
        "y / exposure as y",
        "init_score, and add it to the raw scores of p",
    ),
    "LGBMRegressor(columns=['a'])": ("Dataset(path, label=..., columns=[...]) as X",),
    "LGBMRegressor().estimate_memory(1000, 50)": (
        "pass the shape as a tuple",
        "estimate_memory((1000, 50))",
    ),
    "LGBMRegressor().estimate_memory(n_rows=1000, n_features=50)": (
        "LGBMRegressor.estimate_memory has no argument 'n_rows'",
        "a shape, as in estimate_memory((1000, 50))",
    ),
    "LGBMRegressor().estimate_memory('train.csv')": ("the file train.csv: pass y",),
    "regressor(memory_limit='8GB').fit(X, r)": ("bytes, such as 8e9 for 8 GB", "'8GB'"),
    "regressor(early_stopping=True).fit(X, r)": (
        "'early_stopping_round'",
        "an int, the number of rounds, such as 20",
        "Got True",
    ),
    "regressor(categorical_features='from_dtype').fit(X, r)": (
        "'auto' chooses the columns of a data frame by their dtype",
        "Got 'from_dtype'",
    ),
    "LGBMRegressor(exposure=y)": ("y / exposure as the target",),
    "LGBMRegressor(offset=y)": ("argument init_score of fit",),
    "Dataset(X, y, exposure=y)": ("label=y / exposure, and weight=exposure",),
    "Dataset(X, y, offset=y)": ("label=y / exposure", "else init_score"),
    "numbers.predict(X, exposure=y)": ("predict(X) * exposure",),
    # Strings and rows
    "regressor().fit(mixed, r)": ("'a' in row 0 of column 3", "_feature=[3]"),
    "regressor().fit(mixed.astype(str), r)": ("'a' in row 0 of column 3",),
    "regressor().fit(X.astype(str), r)": ("numbers as strings", "X.astype(float)"),
    "numbers.predict(mixed)": ("'a' in row 0 of column 3", "expects a number"),
    "numbers.predict(mixed.tolist())": ("'a' in row 0 of column 3",),
    "numbers.predict(X[0].tolist())": ("shape (4,)", "pass [X] for a single row."),
    "numbers.predict(frame.iloc[0])": ("pass X.to_frame().transpose() for a single",),
    "booster.predict(X[0])": ("pass X.reshape(1, -1) for a single row.",),
    "regressor().fit(r, r)": ("X.reshape(-1, 1) for a single column",),
    "regressor().fit(frame['a'], r)": ("X.to_frame() for a single column",),
    # Other arguments of fit
    "classifier().fit(X, y, class_weight='balanced')": (
        "LGBMClassifier.fit has no argument 'class_weight'",
        "belongs to the constructor",
    ),
    "classifier().fit(X, y, valid_sets=[(X, y)])": ("'valid_sets'", "eval_set=[("),
    "classifier().fit(X, y, validation_data=(X, y))": ("eval_set=[(",),
    "classifier().fit(X, y, group=[60])": ("'group'", "Use groups", "LGBMRanker"),
    "classifier().fit(X, y, sample_weights=y)": ("Did you mean 'sample_weight'?",),
    "classifier().fit(X, y, feature_name=['a'])": ("feature_name", "4 col", "1 names"),
    "classifier().fit(X, y, categorical_feature=['a'])": ("'a'", "use their numbers"),
    "classifier().fit(X, y, init_model=numbers)": ("init_model", "LGBMRegressor"),
    "classifier().fit(X, y, verbose='yes')": ("verbose", "bool or an int", "str"),
    "classifier().fit(X, y, early_stopping_rounds='x')": ("early_stop", "Got 'x'"),
    # Evaluation sets and metrics
    "classifier().fit(X, y, eval_set=[(X5, y)])": (
        "evaluation set 'valid_0'",
        "5 features",
    ),
    "classifier().fit(X, y, eval_set=[(y, X)])": (
        "evaluation set 'valid_0'",
        "Are X and y swapped?",
    ),
    "classifier().fit(X, y, eval_set=[X])": ("[(X, y)]", "item 0 is a numpy.ndarray"),
    "classifier().fit(X, y, eval_set=[X, y])": ("[(X, y)]", "item 0 is a numpy"),
    "classifier().fit(X, y, eval_set=[(X, y, y)])": ("item 0", "tuple of length 3"),
    "classifier().fit(X, y, eval_set={'a': (X, y)})": ("[(X, y)]", "got dict"),
    "classifier().fit(X, y, eval_set=[(X[:5], y)])": ("set 'valid_0'", "[5, 60]"),
    "classifier().fit(X, y, eval_set=[(X, y + 7)])": ("eval_y", "[7, 8]"),
    "train(BINARY | {'metric': 'accuracy'}, Dataset(X, label=y))": (
        "'accuracy'",
        "'binary_error'",
        "1 - accuracy",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='acc')": ("1 - accuracy",),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='acuracy')": (
        "'acuracy' is not known",
        "'binary_error'",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='mcc')": (
        "Did you mean 'matthews_corrcoef', a scorer of scikit-learn?",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='F1')": (
        "Did you mean 'f1', a scorer of scikit-learn?",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='f1_score')": (
        "Did you mean 'f1', a scorer",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='Recall')": (
        "Did you mean 'recall', a scorer",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='F1-Macro')": (
        "Did you mean 'f1_macro', a scorer",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='prauc')": (
        "For 'prauc', use 'average_precision'.",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='gini')": (
        "a function of labels",
    ),
    "train(BINARY | {'metric': 'mcc'}, Dataset(X, label=y))": ("a function of labels",),
    "classifier().fit(X, sex, eval_set=[(X, sex)], eval_metric='f1')": (
        "The scorer 'f1' failed",
        "make_scorer(f1_score, pos_label='m') or 'f1_macro'.",
    ),
    "classifier().fit(X, sex, eval_set=[(X, sex)], eval_metric='neg_brier_score')": (
        "The scorer 'neg_brier_score' failed",
        "make_scorer(brier_score_loss, pos_label='m', response_method='predict_proba',"
        " greater_is_better=False).",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric=f1_score)": (
        "f1_score is a function of scikit-learn",
        "Pass 'f1', or its scorer with other options, make_scorer(f1_score, ...).",
    ),
    "train(BINARY, data(), 2, [data()], feval=f1_score)": (
        "f1_score is a function of scikit-learn",
        "(name, value, is_higher_better)",
    ),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric='f1')": ("a function",),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric=scorer)": (
        "make_scorer(mean_squared_error) counts a higher value as better",
        "Pass 'neg_mean_squared_error', or make_scorer(",
        "greater_is_better=False",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric=make_scorer(hinge_loss))": (
        "Pass make_scorer(hinge_loss, greater_is_better=False)",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='roc-auc')": ("use 'auc'",),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='Log-Loss')": ("_logloss'",),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric='max_error')": ("function",),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric='neg-mean-squared-error')": (
        "Did you mean 'neg_mean_squared_error', a scorer of scikit-learn?",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric='rmsee')": ("'rmse'",),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric=lambda y: 1)": (
        "2, 3 or 4 arguments",
        "got 1",
    ),
    "classifier().fit(X, y, eval_set=[(X, y)], eval_metric=lambda y, p: 1.0)": (
        "(name, value, is_higher_better)",
        "got 1.0",
    ),
    "classifier().fit(X, y, eval_metric='auc')": (
        "eval_metric has no effect",
        "eval_set=[(X_valid, y_valid)]",
        "early_stopping_round or folds",
    ),
    "train(BINARY, data(), 2, feval=lambda p, d: ('a', 1.0, True))": (
        "feval has no effect",
        "valid_sets=[Dataset(...)]",
    ),
    "regressor(objective=dataset_objective).fit(X, r)": (
        "no attribute 'get_label': the objective function 'dataset_objective'",
        "called as f(y_true, y_pred) by estimators",
        "use skgoss.train",
    ),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric=dataset_metric)": (
        "the metric function 'dataset_metric' is called as f(y_true, y_pred)",
    ),
    "regressor(objective=swapped_objective).fit(X, r)": (
        "has the arguments (y_pred, y_true), but estimators call f(y_true, y_pred)",
        "Define it as f(y_true, y_pred)",
    ),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric=swapped_metric)": (
        "The metric function 'swapped_metric'",
        "Define it as f(labels, preds)",
    ),
    "train(BINARY, data(), 2, [data()], feval=lambda p, y: ('n', len(y), True))": (
        "no len(): the metric function '<lambda>' is called as f(predictions, dataset)",
        "dataset.get_label()",
    ),
    "train(BINARY, data(), 2, [data()], feval=f1_of_labels)": ("dataset.get_label()",),
    "train(BINARY, data(), 2, [data()], feval=lambda d, p: (d.get_label(), 1, 1))": (
        "no attribute 'get_label': the metric function",
        "f(predictions, dataset)",
    ),
    "train({'objective': lambda y, p: (len(p), y)}, data(), 2)": (
        "the objective function '<lambda>' is called as f(predictions, dataset)",
    ),
    # Callbacks
    "classifier().fit(X, y, eval_set=[(X, y)], callbacks=[early_stopping])": (
        "callbacks",
        "write early_stopping(10)",
    ),
    "classifier().fit(X, y, callbacks=[log_evaluation])": ("write log_evaluation()",),
    "classifier().fit(X, y, callbacks=[record_evaluation])": ("record_evaluation({})",),
    "classifier().fit(X, y, callbacks=early_stopping(5))": (
        "a list of callables",
        "[early_stopping(10)]",
    ),
    "classifier().fit(X, y, callbacks=['early_stopping'])": ("callables", "got str"),
    "classifier().fit(X, y, callbacks=[early_stopping(5)])": (
        "pass an evaluation set",
    ),
    "early_stopping('10')": ("stopping_rounds", "must be an int", "got str"),
    "early_stopping(rounds=5)": ("'rounds'", "Use stopping_rounds"),
    "record_evaluation([])": ("record_evaluation: eval_result", "dict", "got list"),
    "regressor().fit(X, r, callbacks=[reset_parameter(learning_rate=0.1)])": (
        "'learning_rate' must be a list of values or a function",
        "got float",
    ),
    "regressor().fit(X, r, callbacks=[reset_parameter(learning_rate=[0.1])])": (
        "1 values for 2 rounds",
    ),
    "regressor().fit(X, r, callbacks=[reset_parameter(learning_rat=[1, 1])])": (
        "'learning_rat'",
        "Did you mean 'learning_rate'?",
    ),
    "classifier().fit(X, y, callbacks=[lambda: None])": (
        "The callback '<lambda>' must take 1 argument, as in f(env)",
    ),
    "regressor().fit(X, r, callbacks=[reset_parameter(learning_rate=lambda: 1)])": (
        "the function of 'learning_rate' must take 1 argument, as in f(i)",
        "signature is ()",
    ),
    "early_stopping(5, verbose='no')": ("verbose must be True or False", "'no'"),
    "cv(BINARY, data(), 2, fpreproc=5)": ("fpreproc must be a function, got int",),
    "cv(BINARY, data(), 2, fpreproc=lambda d: d)": ("f(dtrain, dtest, params)",),
    # Functions
    "train(BINARY, data(), 2, [data()], feval=lambda p: 1)": (
        "The metric function '<lambda>' of train must take 2 arguments",
        "f(predictions, dataset), but its signature is (p)",
    ),
    "train({'objective': lambda p: (p, p)}, data(), 1)": (
        "The objective function '<lambda>' of train must take 2 arguments",
    ),
    "train({'objective': lambda y, p: (p - y, p)}, data(), 1)": (
        "functions of (predictions, dataset)",
        "dataset.get_label()",
    ),
    "regressor(objective=lambda y, p: (p - y, 0 * y)).fit(X, r)": (
        "The objective function '<lambda>' returned no hessian above 0",
        "numpy.ones_like(gradient)",
    ),
    # Ranking
    "ranker().fit(np.tile(X, (4, 1)), np.tile(y, 4))": ("240 rows", "Pass qid"),
    "ranker().fit(X, y, group=[50, 60])": ("group", "sum to 110", "60 rows"),
    "ranker().fit(X, y, group=np.arange(60))": ("pass qid",),
    "ranker().fit(X, y, group=words)": ("dtype <U1", "pass qid"),
    "ranker().fit(X, y, group=words.tolist())": ("dtype <U1", "pass qid"),
    "Dataset(X, y, group=words).construct()": (
        "numpy.unique(qid, return_counts=True)",
    ),
    "Dataset(X, y, group=y).construct()": ("numpy.unique(qid, return_counts=True)",),
    "ranker().fit(X, y, qid=[30, 30])": ("qid", "60 rows", "(2,)", "group"),
    "ranker().fit(X, r, group=[60])": ("whole numbers >= 0",),
    "ranker().fit(X, y, group=r)": ("whole numbers >= 0", "pass qid"),
    "ranker().fit(X, y, group=[60], eval_set=[(X[:9], y[:9])])": ("pass eval_group",),
    # Predictions
    "LGBMClassifier().predict(X)": ("not fitted yet", "Call 'fit'"),
    "model.predict(X5)": ("5 features", "expecting 4"),
    "model.predict(X[0])": ("Expected 2D array", "reshape(1, -1)"),
    "model.predict('test.csv')": ("No such file", "test.csv"),
    "model.predict(data())": ("A Dataset is not an array", "rows themselves"),
    "model.predict(X, raw_scores=True)": ("'raw_scores'", "mean 'raw_score'?"),
    "model.predict(X, num_iterations=1)": ("'num_iterations'", "'num_iteration'?"),
    "model.predict(X, num_iteration='3')": ("num_iteration", "an int", "'3'"),
    "numbers.predict_proba(X)": ("'predict_proba'", "LGBMClassifier"),
    "booster.predict_proba(X)": ("'predict_proba'", "use predict(X)"),
    # Files
    "model.save_model('m.txt')": ("'save_model'", "use to_file(path)"),
    "model.load_model('m.txt')": ("'load_model'", "use from_file(path)"),
    "booster.load_model('m.txt')": ("use Booster(model_file=path)",),
    "model.get_booster()": ("use booster_",),
    "model.best_iteration": ("use best_iteration_",),
    "model.feature_importance()": ("use feature_importances_",),
    "booster.feature_importances_": ("use feature_importance()",),
    "Booster('m.txt')": ("params must be a dict", "got str", "model_file=path"),
    "Booster(model)": ("params", "LGBMClassifier", "attribute booster_"),
    "Booster(model_str='m.txt')": ("model_str", "'m.txt'", "use model_file"),
    "LGBMClassifier.load('m.txt')": ("LGBMClassifier has no", "use from_file(path)"),
    "LGBMRegressor.load_model('m.txt')": ("'load_model'", "use from_file(path)"),
    "skgoss.Booster.load('m.txt')": ("'load'", "use Booster(model_file=path)"),
    "skgoss.Booster.from_file('m.txt')": ("use Booster(model_file=path)",),
    "skgoss.Booster(model_str='{\"learner\": {}}')": ("XGBoost", "fit a model again"),
    "skgoss.Booster(model_str='{\"tree_info\": []}')": ("dump_model", "save_model"),
    "LGBMClassifier.from_booster(model)": ("skgoss.LGBMClassifier", "booster_"),
    "LGBMRegressor.from_booster(piped)": ("sklearn.pipeline.Pipeline", "LightGBM"),
    "LGBMRegressor.from_booster(booster)": ("LGBMRegressor", "an LGBMClassifier"),
    "skgoss.LGBMClasifier": ("'LGBMClasifier'", "Did you mean 'LGBMClassifier'?"),
    # train, cv, Dataset
    "train(BINARY, X, y)": ("train_set", "got numpy.ndarray", "Dataset(X, label=y)"),
    "train(data(), BINARY)": ("train_set", "got dict"),
    "train('binary', data())": ("params must be a dict", "got str"),
    "train(BINARY, Dataset(X))": ("label of train_set is None", "Dataset(X, label=y)"),
    "train(BINARY, data(), '10')": ("num_boost_round", "int >= 1", "'10'"),
    "train(BINARY, data(), 2, valid_sets=[(X, y)])": ("valid_sets[0]", "got tuple"),
    "train(BINARY, data(), 2, eval_set=[(X, y)])": ("'eval_set'", "Use valid_sets="),
    "train(BINARY, data(), n_estimators=2)": ("Use num_boost_round",),
    "train(BINARY, data(), learning_rate=0.1)": ("'learning_rate'", "to params"),
    "train(BINARY, data(), num_leaves=7)": ("'num_leaves'", "belongs to params"),
    "train(BINARY, data(), 2, feval='auc')": ("feval must be a function", "'auc'"),
    "train({**BINARY, 'num_leafs': 5}, data(), 2)": ("'num_leafs'", "'num_leaves'?"),
    "train({'objective': 'multiclass'}, data(), 2)": ("needs num_class",),
    "train(BINARY, data(y + 1), 2)": ("0 and 1", "got 2", "return_inverse"),
    "train({'objective': 'lambdarank'}, data(), 2)": ("Dataset(X, label=y, group=",),
    "cv(BINARY, data(), 2, cv=5)": ("'cv'", "nfold"),
    "cv(BINARY, data(), 2, folds=5)": ("folds", "got int", "nfold"),
    "cv(BINARY, data(), 2, nfold=1)": ("nfold", "at least 2", "got 1"),
    "Dataset(X, y[:5])": ("label", "60 rows", "(5,)"),
    "Dataset(X, target=y)": ("'target'", "Use label"),
    "Dataset(X, y, feature_names=list('abcd'))": ("Did you mean 'feature_name'?",),
    "Dataset(X, y, qid=y)": ("'qid'", "group, the sizes"),
    "data().set_field('lable', y)": ("'lable'", "Did you mean 'label'?"),
    "booster.update()": ("not in training", "Booster(params, train_set)"),
    # Presets and folds
    "LGBMClassifier(presets='accurate')": ("'presets'", "Did you mean 'preset'?"),
    "LGBMClassifier('accurate')": ("got 'accurate'", "Write their names"),
    "classifier(preset='quick').fit(X, y)": (
        "'preset'",
        "{'fast', 'accurate', 'best'}",
        "Got 'quick'",
    ),
    "classifier(preset=True).fit(X, y)": (
        "'preset'",
        "{'fast', 'accurate', 'best'}",
        "Got True",
    ),
    "classifier().fit(X, y, preset='accurate')": ("'preset'", "to the constructor"),
    "train(BINARY, data(), 2, preset='accurate')": ("'preset'", "belongs to params"),
    "cv({**BINARY, 'preset': 'quick'}, data(), 2)": ("'preset'", "cv", "Got 'quick'"),
    "LGBMClassifier(preset='accurate').preset_params_": ("not fitted", "Call 'fit'"),
    "model.preset_params": ("use preset_params_",),
    "model.best_params_": ("preset_params_", "get_params()"),
    "LGBMClassifier(fold=5)": ("'fold'", "Did you mean 'folds'?"),
    "classifier().fit(X, y, cv=3)": ("'cv'", "folds of the constructor"),
    "classifier().fit(X, y, folds=3)": ("'folds'", "belongs to the constructor"),
    "classifier(folds='5-fold').fit(X, y)": ("'folds'", "int >= 2", "Got '5-fold'"),
    "classifier(folds=1).fit(X, y)": ("'folds'", "an int >= 2", "Got 1"),
    "classifier(folds=0.2).fit(X, y)": ("'folds'", "an int >= 2", "Got 0.2"),
    "classifier(folds=KFold).fit(X, y)": ("'folds'", "such as KFold(5)", "<class"),
    "classifier(folds=KFold(5).split(X)).fit(X, y)": ("list of pairs", "<generator"),
    "classifier(folds=GroupKFold(3)).fit(X, y)": ("folds=GroupKFold", "groups"),
    "classifier(folds=100).fit(X, y)": ("folds=100", "X has 60", "smaller number"),
    "classifier(folds=2).fit(X, y, eval_set=[(X, y)])": ("eval_set", "folds=2", "out"),
    "classifier(folds=2).fit(X, y, groups=[1, 2])": ("groups", "60 rows", "(2,)"),
    "classifier(folds=2).fit(X, y, groups='city')": ("groups", "60 rows", "'city'"),
    "classifier(folds=[]).fit(X, y)": ("folds", "at least one pair of row numbers"),
    "skgoss.to_onnx(numbers, 'm.onnx')": ("X", "the str 'm.onnx'", "onnx.save"),
    "classifier().fit(X, y, groups=y)": ("groups", "needs the option folds"),
    "classifier(folds=2).fit(X, y, time=[1, 2])": ("time", "60 rows", "(2,)"),
    "classifier(folds=2).fit(X, y, time=['01.02.24'] * 60)": ("time", "to_datetime"),
    "classifier(folds=2).fit(X, y, time=y * 0)": ("time", "differ", "Leave time out"),
    "ranker(folds=5).fit(X, y)": ("folds=5", "5 queries", "only one"),
    "model.oof_prediction_": ("no out-of-fold", "without the option folds"),
    "model.oof_predictions_": ("use oof_prediction_",),
    "model.oof_scores_": ("use oof_score_",),
    "model.cv_results_": ("use evals_result_, oof_score_",),
    "model.boosters_": ("use booster_",),
    "train({**BINARY, 'folds': 2}, data(), 2, valid_sets=[data()])": (
        "valid_sets",
        "folds=2",
        "Leave valid_sets out",
    ),
    "cv({**BINARY, 'folds': 2}, data(), 2)": ("folds", "arguments nfold or folds"),
    "skgoss.Booster({**BINARY, 'folds': 2}, data())": ("folds", "Use train"),
    # Columns by name, and files
    "classifier().fit(frame, 'y')": ("the str 'y'", "pass X.drop(columns='y')"),
    "classifier().fit('train.csv', 'y')": ("No such file", "train.csv"),
    "Dataset(X, label='y')": ("label", "the str 'y'", "X['y']"),
    "Dataset('train.csv', header=True)": ("'header'", "It belongs to params"),
    "Dataset('train.csv', label_column='y')": ("'label_column'", "belongs to params"),
    "Dataset('train.csv', params={'label_column': 'y'}).construct()": (
        "'label_column'",
        "'name:' and the name",
        "Got 'y'",
    ),
    "Dataset('no.csv').construct()": ("No such file", "no.csv"),
    "train(BINARY, 'train.csv')": ("train_set", "got str", "Dataset(X, label=y)"),
    "classifier().fit(frame, y, eval_set=[(X, y)])": ("set 'valid_0' has no column",),
    "regressor(objective=scorer).fit(X, r)": ("a scorer of scikit-",),
    "train({}, Dataset(X, label=r), feval=scorer)": ("a scorer of scikit-",),
    "classifier(metric='loglos').fit(X, y, eval_set=[(X, y)])": ("'binary_logloss'?",),
    # Arguments of cv
    "cv(BINARY, X, y)": ("train_set of cv", "numpy.ndarray", "Dataset(X, label=y)"),
    "cv(BINARY, data(), nfold='5')": ("nfold", "at least 2", "got '5'"),
    "cv(BINARY, data(), 2, n_folds=5)": ("'n_folds'", "Use nfold"),
    "cv(BINARY, data(), 2, nfold=61)": ("nfold=61", "60", "smaller number"),
    "cv(BINARY, data(), 2, folds=KFold)": ("folds", "class KFold", "an object"),
    "cv(BINARY, data(), 2, stratify=True)": ("'stratify'", "mean 'stratified'?"),
    "cv(BINARY, data(), 2, scoring='auc')": ("'scoring'", "Use metrics"),
    "cv(BINARY, data(), 2, groups=y)": ("'groups'", "folds=GroupKFold"),
    "cv(BINARY, data(), 2, random_state=1)": ("'random_state'", "Use seed"),
    "cv(BINARY, data(), 2, metrics='auc')['auc']": ("'auc'", "valid auc-mean"),
    # Plots
    "skgoss.plot_importance(X)": ("booster must be", "got numpy.ndarray"),
    "skgoss.plot_importance(model, importance_type='gian')": ("'gain'", "Got 'gian'"),
    "skgoss.plot_importance(model, max_features=3)": (
        "'max_features'",
        "mean 'max_num_features'?",
    ),
    "skgoss.plot_importance(model, top=3)": ("plot_importance", "no argument 'top'"),
    "skgoss.plot_metric(model)": ("no metric to plot", "eval_set"),
    "skgoss.plot_metric(booster)": ("fitted estimator", "got Booster"),
    "skgoss.plot_tree(model, 99)": ("ax must be", "got int", "tree_index=0"),
    "skgoss.plot_tree(model, tree_idx=0)": ("'tree_idx'", "mean 'tree_index'?"),
    "skgoss.draw_tree(model, 99)": ("tree_index", "less than 2", "got 99"),
    "skgoss.plot_split_value_histogram(named, 'A')": (
        "feature names the column 'A'",
        "Did you mean 'a'?",
    ),
    "skgoss.plot_tree(model, num_trees=1)": ("'num_trees'", "Use tree_index"),
    # Explanations, and names of other packages
    "model.to_onnx()": ("'to_onnx'", "skgoss.to_onnx(model)"),
    "model.feature_importance_": ("use feature_importances_",),
    "model.oob_score_": ("use oof_score_",),
    "skgoss.load('model.txt')": ("'load'", "LGBMClassifier.from_file"),
    "numbers.predict_interval(X, alpha=0.05)": ("'alpha'", "coverage=0.95"),
    "numbers.predict_interval(X, level=0.9)": ("'level'", "coverage=0.95"),
    "model.predict_set(X, confidence_level=0.9)": ("coverage=0.95",),
    "model.predict_proba(X, threshold=0.3)": (
        "'threshold'",
        "FixedThresholdClassifier",
    ),
    "model.shap_values(X)": ("'shap_values'", "use explain(X)"),
    "booster.shap_values(X)": ("'shap_values'", "use explain(X)"),
    "model.explain(X5)": ("5 features", "expecting 4"),
    "model.predict(X, pred_contribs=True)": ("'pred_contribs'", "'pred_contrib'?"),
    "skgoss.load_model('m.txt')": ("'load_model'", "Use LGBMClassifier.from_file"),
    "skgoss.save_model(model, 'm.txt')": ("'save_model'", "Use model.to_file(path)"),
    "skgoss.shap_values(model, X)": ("'shap_values'", "Use model.explain(X)"),
    "skgoss.DMatrix(X)": ("'DMatrix'", "Use Dataset"),
    # Arguments by place, and names of attributes
    "model.predict(X, 'raw')": ("raw_score must be a bool", "got 'raw'", "its name"),
    "model.predict(X, start_iteration=99)": ("start_iteration", "all 2 rounds"),
    "regressor().fit(X, r, None, None, None, 5)": ("eval_names must be", "got 5"),
    "model.coef_": ("use feature_importances_",),
    "model.transform(X)": ("use predict(X)",),
    "model.fit_predict(X, y)": ("use fit(X, y).predict(X)",),
    "model.update(X, y)": ("use fit(X, y, init_model=model)",),
    "model.eval(X, y)": ("use score(X, y)",),
    "model.dump('m.txt')": ("use to_file(path)",),
    "numbers.predict_survival(X, [1])": ("use predict_survival_function(X, times)",),
    "numbers.predict_interval(X, quantiles=[0.1, 0.9])": ("coverage=0.8",),
    "regressor().fit(X, labels=r)": ("'labels'", "Use the argument y of fit"),
    "LGBMRegressor(objective='quantile', q=0.5)": ("'q'", "Use alpha"),
    "early_stopping(5, maximize=True)": ("each metric says whether higher is better",),
    "skgoss.predict": ("Use model.predict(X).",),
    "skgoss.model_selection.BayesSearchCV": ("strategy='race'",),
    "skgoss.model_selection.KFold": ("Use sklearn.model_selection.",),
    "LGBMRegressor().estimate_memory((10,))": ("(n_samples, n_features), got (10,)",),
    "regressor(memory_limit=8.0).fit(X, r)": ("It counts bytes: 8 GB are 8e9.",),
    "LGBMRegressor(objective='huber', delta=1.0)": ("'delta'", "Use alpha."),
    "numbers.predict_survival_function(X, 'all')": ("times", "numbers", "'all'"),
    "search(regressor(), [3])": ("{'num_leaves': [7, 31]}", "got [3]"),
    "search(regressor(), {'num_leaves': randint(3, 60)})": (
        "'num_leaves' has a distribution",
        "RandomizedSearchCV(estimator, param_distributions",
    ),
    "search(regressor(), {}, scoring=make_scorer(mean_squared_error))": (
        "counts a higher value as better",
        "Pass 'neg_mean_squared_error', or make_scorer(mean_squared_error, greater_",
    ),
    "search(regressor(), {}, scoring={'a': 'r2', 'b': scorer}, refit='b')": (
        "make_scorer(mean_squared_error) counts a higher",
    ),
    "search(regressor(), 3)": ("'param_grid'", "'dict'", "Got 3"),
    "Booster(model_file=5)": ("must be a path", "got int"),
    "model.to_file(5)": ("must be a path", "got int"),
    "Booster(BINARY, X)": ("train_set", "got numpy.ndarray", "Dataset(X, label=y)"),
    # What a model would learn silently
    "regressor().fit(frame[::-1], frame.sum(axis=1))": (
        "same index in different orders",
        "y.reindex(X.index)",
    ),
    "regressor().fit(frame, frame['a'])": ("'a' equals y", "X.drop(columns='a')"),
    "regressor(learning_rate=10).fit(X, r)": ("learning_rate=10", "such as 0.1"),
    "regressor().fit(X, r, eval_set=[(X, r)], eval_metric='auc')": (
        "metric 'auc' is for two classes",
        "y > 0",
    ),
    "classifier(folds=[(np.flatnonzero(half), np.flatnonzero(~half))]).fit(X, half)": (
        "training rows of fold 0 lack the class False",
        "StratifiedKFold",
    ),
    "skgoss.DateFeatures().fit(dates.astype(str))": (
        "found no columns of dates",
        "pandas.to_datetime(X['name'])",
    ),
    "texted.predict(dates.astype(str).assign(sold='soon'))": (
        "No category of column 'sold' occurred in fit",
        "'soon'",
        "held '2020-01-01'",
    ),
    "texted.predict(dates)": ("'sold' held categories in fit", "now holds dates"),
    "named.predict(frame.assign(a=dates['sold']))": ("'a' held numbers in fit",),
    # Parts of data that are mixed up
    "regressor().fit(X[:40], X[40:])": (
        "[40, 20] (y is the last)",
        "as many columns as X",
        "X_train, X_test, y_train, y_test",
    ),
    "classifier().fit(frame[:40], frame[40:])": ("another part of X",),
    "classifier().fit(X[:40], y[:40], X[40:], y[40:])": (
        "sample_weight must have one value for each row, got 4 columns",
        "fit(X, y, eval_X=X_valid, eval_y=y_valid)",
    ),
    "regressor().fit(frame, pd.Series(r, name='t').reset_index())": (
        "column 'index' of y numbers the rows",
        "y.drop(columns='index')",
    ),
    "regressor().fit(rows, indexed.reset_index())": (
        "column 'id' of y is the index of X",
        "y.drop(columns='id')",
    ),
    "regressor().fit(X, r, eval_set=[(large, r)], eval_names='late')": (
        "The evaluation set 'late': Most of its values lie outside the training range"
        " in 3 of 4 columns",
        "scaler.transform(X_valid)",
    ),
    "regressor().fit(frame, r, eval_set=[(99 * frame + 99, r)])": (
        "in 4 of 4 columns",
        "column 'b' has the median",
    ),
    "LGBMClassifier(n_estimators=50).fit(X, y, eval_set=[(X - 4.5, y)])": (
        "The probabilities are worse than a constant: on 'valid_0'",
        "Most of its values lie outside the training range in 4 of 4 columns",
    ),
    "regressor().fit(frame[['b', 'c', 'd']], r, init_model=named_numbers)": (
        "X must have the columns of init_model",
        "now missing:\n- a",
    ),
    "regressor().fit(X5, r, init_model=numbers)": ("columns of init_model", "5 feat"),
    # Habits
    "LGBMClassifier(params={'num_leaves': 7})": ("'params'", "write **params"),
    "regressor().set_params(n_estimators=500, learning_rate=10).fit(X, r)": (
        "learning_rate=10 is above 2, so the loss increases",
        "such as 0.1",
    ),
    "regressor(objective='RMSEWithUncertainty').fit(X, r)": ("Did you mean 'normal'",),
    "skgoss.to_onnx(model, initial_types=[('x', None)])": ("'initial_types'", "Use X"),
    "skgoss.plot_importance(found)": ("Pass search.best_estimator_.",),
    "skgoss.plot_metric(found)": ("Pass search.best_estimator_.",),
    "skgoss.plot_tree(fitted_pipe)": ("Pass pipeline[-1].",),
    "regressor().fit(X, r, init_model=fitted_pipe)": ("Pass pipeline[-1].",),
    "cv(BINARY, data(), 2).predict(X)": ("'predict'", "return_cvbooster=True"),
    # Scorers of searches
    "scored(regressor(), 'rmse', r)": ("'rmse'", "'neg_root_mean_squared_error'"),
    "scored(regressor(), 'mse', r)": ("'mse'", "Use 'neg_mean_squared_error'"),
    "scored(regressor(), 'MAE', r)": ("'MAE'", "Use 'neg_mean_absolute_error'"),
    "scored(regressor(), ['mape', 'r2'], r)": ("'mape'", "absolute_percentage_error'"),
    "scored(classifier(), 'logloss', y)": ("'logloss'", "Use 'neg_log_loss'"),
    "scored(classifier(), 'auc', y)": ("Use 'roc_auc' for two classes",),
    "scored(classifier(), 'acuracy', y)": ("Did you mean 'accuracy'?",),
    "scored(ranker(), 'ndcg', y)": ("'ndcg'", "Pass the function skgoss.ndcg_scorer"),
    "scored(classifier(), 'f1', sex)": (
        "'f1' needs the positive label 1, but y holds 'f', 'm'",
        "Pass make_scorer(f1_score, pos_label='m') or 'f1_macro'.",
    ),
    "scored(classifier(), {'a': 'recall'}, words)": (
        "'recall' is for two classes, but y holds 6",
        "Use 'recall_macro'",
    ),
    "scored(classifier(), 'roc_auc', words)": ("Use 'roc_auc_ovr'",),
    "scored(classifier(), 'neg_brier_score', sex)": (
        "greater_is_better=False",
        "pos_label='m'",
    ),
    # From XGBoost
    "ranker(objective='rank:map').fit(X, y, group=[60])": (
        "Did you mean 'lambdarank'",
    ),
    "LGBMClassifier(sampling_method='uniform')": ("Use data_sample_strategy.",),
    "LGBMClassifier(colsample_bylevel=0.5)": ("Use colsample_bynode.",),
    "LGBMRegressor(quantile_alpha=0.9)": ("'quantile_alpha'", "Use alpha."),
    "model.predict(X, base_margin=r)": ("'base_margin'", "add the start scores"),
    "classifier().fit(X, y, base_margin=r)": ("'base_margin'", "Use init_score."),
    "classifier().fit(X, y, sample_weight_eval_set=[y])": ("Use eval_sample_weight.",),
    "classifier().fit(X, y, xgb_model=booster)": ("Did you mean 'init_model'?",),
    "train(BINARY, data(), 2, evals=[(data(), 'a')])": ("Use valid_sets=[Dataset(",),
    "train(BINARY, data(), 2, custom_metric='auc')": ("metric in params, or feval",),
    "Dataset(X, label=y, missing=-1)": ("'missing'", "zero_as_missing"),
    "Dataset(X, label=y, base_margin=r)": ("'base_margin'", "Use init_score."),
    "skgoss.QuantileDMatrix(X)": ("'QuantileDMatrix'", "Use Dataset."),
    "booster.get_fscore()": ("use feature_importance()",),
    "data().num_row()": ("Dataset has no attribute 'num_row'", "use num_data()"),
    # From CatBoost
    "regressor(objective='Quantile:alpha=0.9').fit(X, r)": ("mean 'quantile'?",),
    "LGBMClassifier(use_best_model=True)": ("Use early_stopping_round.",),
    "LGBMClassifier(bagging_temperature=1)": ("Use subsample.",),
    "LGBMClassifier(text_features=['a'])": ("'text_features'", "text to numbers"),
    "LGBMClassifier(leaf_estimation_iterations=3)": ("one Newton step",),
    "classifier().fit(X, y, cat_features=[0])": (
        "argument categorical_feature of fit",
    ),
    "classifier().fit(X, y, logging_level='Silent')": ("Use verbose.",),
    "classifier().fit(X, y, group_id=y)": ("'group_id'", "qid", "LGBMRanker"),
    "cv(BINARY, data(), 2, fold_count=3)": ("'fold_count'", "Use nfold."),
    "model.get_best_iteration()": ("use best_iteration_",),
    "model.tree_count_": ("use n_estimators_",),
    # From HistGradientBoosting and scikit-learn
    "LGBMClassifier(tol=1e-7)": ("'tol'", "Use early_stopping_min_delta."),
    "LGBMClassifier(ccp_alpha=0.1)": ("'ccp_alpha'", "Use min_split_gain."),
    "LGBMClassifier(min_weight_fraction_leaf=0.1)": ("Use min_child_weight.",),
    "LGBMClassifier(interaction_cst='pairwise')": ("mean 'interaction_constraints'?",),
    "classifier().fit(X, y, X_val=X, y_val=y)": ("'X_val'", "Use eval_X and eval_y."),
    "classifier().fit(X, [None] * 60)": (
        "y contains missing values",
        "rows without a target",
    ),
    "classifier().fit(X, set(y))": ("y should be a 1d array", "shape ()"),
    "classifier().fit(X, y, sample_weight={0: 1, 1: 2})": ("sample_weight", "'dict'"),
    "classifier().fit(X, y, init_score='mean')": ("init_score", "an array", "'mean'"),
    "classifier(min_child_samples=0.1).fit(X, y)": ("'min_child_samples'", "an int"),
    "classifier(colsample_bytree='sqrt').fit(X, y)": ("'colsample_bytree'", "(0, 1]"),
    "classifier(class_weight={'0': 1, '1': 2}).fit(X, y)": ("[0, 1]", "['0', '1']"),
    "classifier(metric='brier_score').fit(X, y, eval_set=[(X, y)])": (
        "Did you mean 'neg_brier_score', a scorer of scikit-learn?",
    ),
    "classifier(metric='pr_auc').fit(X, y, eval_set=[(X, y)])": ("average_precision",),
    "classifier(metric='roc_auc_score').fit(X, y, eval_set=[(X, y)])": ("use 'auc'",),
    "model.train_score_": ("use evals_result_",),
    "model.staged_decision_function(X)": ("raw_score=True, num_iteration=n",),
    "model.predict(X, y)": ("raw_score must be a bool", "numpy.ndarray", "no y"),
    # From MAPIE
    "LGBMRegressor(confidence_level=0.9)": ("the arguments of predict_interval",),
    "LGBMRegressor(method='plus')": ("the arguments of predict_interval",),
    "numbers.predict(X, return_std=True)": ("predict_interval(X, coverage=0.9)",),
    "numbers.predict_interval(X)": ("fit with folds first", "such as folds=5"),
    "model.predict_set(X)": ("fit with folds first", "such as folds=5"),
    "regressor(folds=3).fit(X, r).predict_interval(X, coverage=90)": (
        "got 90",
        "For 90%, pass 0.9",
    ),
    "numbers.predict_interval(X, method='plus')": ("'cv+'", "got 'plus'"),
    "numbers.predict_quantile(X, 0.5)": ("objective='quantile'", "ppf(q)", "'cox'"),
    "numbers.predict_quantiles(X)": ("use alpha", "objective='quantile'"),
    "regressor(objective='quantile', alpha=[0.9, 0.1]).fit(X, r)": ("ascending order",),
    "regressor(alpha=[0.1, 0.9]).fit(X, r)": ("'alpha'", "Only objective='quantile'"),
    # From AutoGluon and Optuna
    "LGBMClassifier(timeout=60)": ("time_limit",),
    "LGBMClassifier(n_trials=5)": ("preset='accurate'", "skgoss.model_selection"),
    "classifier().fit(train_data=frame)": ("'train_data'", "Use X and y."),
    "classifier().fit(X, y, presets='best')": ("parameter preset of the constructor",),
    "classifier(num_leaves=[7, 15]).fit(X, y)": ("'num_leaves'", "Got [7, 15]"),
    "skgoss.LightGBMTuner({}, data())": ("'LightGBMTuner'", "preset='accurate'"),
    "skgoss.GridSearchCV": ("'GridSearchCV'", "Use skgoss.model_selection."),
    # Searches
    "search(piped, {'gbm__num_leafs': [3]})": ("mean 'gbm__num_leaves'?",),
    "search(piped, {'num_leaves': [3]})": ("mean 'gbm__num_leaves'?",),
    "search(piped, {'scaler__with_std': [True]})": ("mean 'scale__with_std'?",),
    "search(regressor(), {'num_leafs': [3]})": ("'num_leafs'", "mean 'num_leaves'?"),
    "search(regressor(), {'min_data_in_leaf': [3], 'leafs': [3]})": ("'leafs'",),
    # From scripts for LightGBM 3
    "train(BINARY, [X, y])": ("train_set", "got list", "Dataset(X, label=y)"),
    "train(BINARY, data(), 2, [data()], evals_result=[])": (
        "must be a dict, got list",
    ),
    "train(BINARY, data(), 2, sample_weight=y)": ("Use Dataset(X, label=y, weight=",),
    "cv(BINARY, data(), 2, eval_set=[(X, y)])": ("folds, whose test rows",),
    "booster.evals_result_": ("use record_evaluation(results)",),
    "early_stopping(5, metric='auc')": ("first_metric_only=True",),
    "Dataset(X, y, weights=y)": ("'weights'", "Use weight."),
    "Dataset({'a': r}, y).construct()": ("X must be", "a dict", "pandas.DataFrame"),
    "log_evaluation(every=5)": ("'every'", "Use period."),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered(mistake):
    if "plot" in mistake:
        pytest.importorskip("matplotlib")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            eval(mistake, NAMES)
        except (
            *(AttributeError, LookupError, MemoryError, OSError, TypeError),
            ValueError,
        ) as error:
            answer = str(error)
        else:
            answer = "\n".join(str(warning.message) for warning in caught)
    missing = [words for words in MISTAKES[mistake] if words not in answer]
    assert not missing, answer


def test_what_is_not_a_mistake():
    """Values that look like one, and are accepted."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier().fit(X, y, verbose=np.False_, early_stopping_rounds=False)
        cv(BINARY, data(), 2, early_stopping_rounds=False)
        train(BINARY, data(), 2, early_stopping_rounds=False)
        classifier().fit(X, y, eval_set=(X, y), callbacks=(log_evaluation(0),))
        metric = {"feval": lambda predicted, rows: ("a", 1.0, True)}
        train(BINARY, data(), 2, [data()], **metric)
        train(BINARY, data(), 2, early_stopping_rounds=1, **metric)
        train(BINARY, data(), 2, keep_training_booster=True, **metric)
        for options in ({"folds": 2}, {"early_stopping_round": 1}):
            small = classifier(min_child_samples=5, **options)
            small.fit(X, y, eval_metric="auc")
        small.fit(X, y, eval_metric="auc", early_stopping_rounds=1)
        # Metrics of the stages of a race are not the user's.
        for strategy in ("all", "race"):
            grid = {"num_leaves": [3, 7], "n_estimators": [2, 4]}
            options = {"n_jobs": 1, "cv": 2, "strategy": strategy}
            small = classifier(min_child_samples=5)
            GridSearchCV(small, grid, scoring="roc_auc", **options).fit(X, y)


def test_targets_that_look_like_others_do_not_warn():
    ordered = np.arange(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in (
            pd.DataFrame({"a": ordered, "b": r}),
            pd.DataFrame({"index": np.round(r, 1), "b": r}),
            pd.DataFrame({"id": r, "b": r + 1}, index=rows.index),
        ):
            regressor().fit(rows.reset_index(drop=True), target)
        regressor().fit(X, X)
        regressor().fit(X[:, :1], r, sample_weight=np.ones((60, 1)))


def test_a_metric_that_a_search_passes_on_is_one_warning():
    for search in (sklearn.model_selection.GridSearchCV, GridSearchCV):
        grid, small = {"num_leaves": [3, 7]}, classifier(min_child_samples=5)
        with pytest.warns(UserWarning, match="eval_metric has no effect") as caught:
            search(small, grid, cv=2, n_jobs=1).fit(X, y, eval_metric="auc")
        assert len(caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            searching = search(small, grid, cv=2, n_jobs=1)
            searching.fit(X, y, eval_metric="auc", eval_set=[(X, y)])


def test_a_data_set_shows_its_size():
    assert repr(data()) == "<Dataset: 60 rows, 4 columns>"
    assert repr(data().construct()) == "<Dataset: 60 rows, 4 columns>"
    assert repr(Dataset("file.csv")) == "<Dataset: ? rows, ? columns>"


@pytest.mark.parametrize("name", ["load", "predict_proba", "save_model", "xyzzy"])
def test_names_that_are_elsewhere_are_not_there(name):
    assert not hasattr(numbers, name)
    for objective in ("cox", "unknown", r.mean):
        assert not hasattr(LGBMRegressor(objective=objective), name)
    assert not hasattr(type(numbers), name)
    assert name not in dir(numbers)


def test_the_line_for_labels_of_an_own_objective_is_right():
    """Classes are those of the labels, which need not be 0 and 1."""
    names = {"sklearn": __import__("sklearn.metrics"), "X": X}
    three = np.array(["b", "c", "a"])[np.digitize(X[:, 0], [-0.5, 0.5])]

    def softmax(y, scores):
        p = np.exp(scores - scores.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p - (y[:, None] == np.arange(3)), 2 * p * (1 - p)

    for target, objective in ((sex, own.objective), (three, softmax)):
        fitted = LGBMClassifier(objective=objective, n_jobs=1).fit(X, target)
        with pytest.raises(ValueError, match="raw scores and not labels") as caught:
            fitted.score(X, target)
        first, then = (
            str(caught.value).rstrip(".").partition("example ")[2].split(", then ")
        )
        scope = {**names, "model": fitted, "y": target}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(first, scope)
        assert eval(then, scope) > 0.8


def test_the_score_of_an_own_objective_with_a_link():
    counts = np.floor(np.exp(2 + X[:, 0]))

    def poisson(y, scores):
        return np.exp(scores) - y, np.exp(scores)

    def squares(y, scores):
        return scores - y, np.ones_like(y)

    fitted = LGBMRegressor(objective=poisson, min_child_samples=5).fit(X, counts)
    with pytest.warns(UserWarning, match="seem to be transformed") as caught:
        assert fitted.score(X, counts) < 0
    line = str(caught[0].message).rstrip(".").partition("so compute ")[2]
    scope = {"sklearn": __import__("sklearn.metrics"), "numpy": np, "model": fitted}
    assert eval(line, {**scope, "X": X, "y": counts}) > 0.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n_rounds, target in ((1, r), (100, r), (1, counts), (100, counts)):
            fitted = LGBMRegressor(objective=squares, n_estimators=n_rounds)
            score = fitted.fit(X, target).score(X, target)
            assert (score > 0.4) == (n_rounds > 1)


def test_labels_that_are_not_mistakes_do_not_warn():
    """Classes of few rows, floats of few classes, and single letters."""
    random = np.random.default_rng(0)
    some, many = (
        LGBMClassifier(n_estimators=1, max_depth=2),
        random.normal(size=(500, 2)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in (
            random.integers(0, 100, 500),
            random.integers(0, 150, 500),
            np.repeat(np.arange(250.0), 2),
            np.repeat([f"item {i}" for i in range(250)], 2),
            np.array(list("aA") * 250),
            np.array(["one", "One two"] * 250),
        ):
            some.fit(many, target)
        some.fit(X, np.arange(60) % 20 * 1.0)
        some.set_params(folds=3).fit(X, np.arange(60) < 3)
        some.set_params(folds=5).fit(X, words, groups=np.arange(60) // 6)


def test_scores_that_include_all_scores_do_not_warn():
    """Neither start scores of zero, those of evaluation sets, nor an earlier fit."""
    small = regressor(min_child_samples=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.fit(X, r, init_score=np.zeros(60)).score(X, r)
        small.fit(X, r, init_score=r / 2).predict(X)
        small.fit(X, r, init_model=small).score(X, r)
        small.fit(X, r).score(X, r)


def test_own_errors_of_functions_stay_as_they_are():
    """Only a confusion of the arguments is explained, and only swapped names warn."""

    def objective(labels, preds):
        return preds - labels, np.ones_like(preds)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regressor(objective=objective).fit(X, r)
        regressor(objective=lambda a, b: (b - a, 1 + 0 * a)).fit(X, r)
    for error, function in (
        (ZeroDivisionError, lambda y, p: 1 / 0),
        (AttributeError, lambda y, p: p.label),
        (TypeError, lambda y, p: p + "text"),
    ):
        with pytest.raises(error) as caught:
            regressor(objective=function).fit(X, r)
        assert "estimators" not in str(caught.value)


def test_scorers_that_are_not_mistakes_do_not_warn():
    def own_loss(y, p):
        return float(np.mean(y == p))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for metric in (
            make_scorer(mean_squared_error, greater_is_better=False),
            make_scorer(own_loss),
            make_scorer(f1_score),
            "neg_log_loss",
        ):
            classifier().fit(X, y, eval_set=[(X[:], y)], eval_metric=metric)
            small = classifier(min_child_samples=5)
            GridSearchCV(small, {}, cv=2, n_jobs=1, scoring=metric).fit(X, y)


def test_columns_that_are_several_targets_do_not_warn():
    labels = np.column_stack([y, 1 - y, y])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for target in (labels, labels == 1, labels * 1.0, pd.DataFrame(labels == 1)):
            fitted = classifier().fit(X, target)
            assert fitted.predict(X).shape == (60, 3)
            assert (fitted.predict(X) == labels).all()
        soft = classifier(objective="cross_entropy").fit(X, one_hot * 1.0)
        assert soft.classes_.tolist() == [0, 1, 2]


def test_refit_of_an_estimator_is_an_option():
    with pytest.raises(TypeError, match="'bool' object is not callable"):
        numbers.refit(X, r)
    refitted = numbers.booster_.refit(X, r, decay_rate=1.0)
    assert (refitted.predict(X) == numbers.predict(X)).all()


def test_constructors_of_other_classes_are_found():
    class Loaded:
        @classmethod
        def load(cls, path):
            return cls, path

    class Own(LGBMRegressor, Loaded):
        pass

    assert Own.load("path") == Own().load("path") == (Own, "path")
    assert "load_model" not in dir(Own())


def test_properties_keep_their_errors():
    with pytest.raises(skgoss.compat.LGBMNotFittedError):
        LGBMRegressor().booster_  # noqa: B018
    with pytest.raises(AttributeError, match="object has no attribute 'xyzzy'"):
        numbers.xyzzy  # noqa: B018


@pytest.mark.parametrize(
    "metric", ["f1_macro", make_scorer(f1_score, pos_label="m")], ids=["name", "scorer"]
)
def test_what_is_advised_for_text_labels_works(metric):
    fitted = classifier().fit(X, sex, eval_set=[(X[:], sex)], eval_metric=metric)
    name = metric if isinstance(metric, str) else "f1_score"
    assert 0.5 < fitted.evals_result_["valid_0"][name][-1] <= 1
