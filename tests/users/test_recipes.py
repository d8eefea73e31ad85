"""The code in messages is run on what caused them: it is taken from the message."""

from __future__ import annotations

import builtins
import re
import warnings

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
import scipy.sparse
import scipy.stats
import sklearn
from sklearn.model_selection import GroupKFold, cross_val_score

import skgoss
import skgoss.model_selection
from skgoss import Dataset, LGBMClassifier, LGBMRegressor
from skgoss.parameters import other_libraries

RNG = np.random.default_rng(0)
SMALL = {"n_estimators": 4, "n_jobs": 1}
BINARY = {"objective": "binary", "num_threads": 1}
X = RNG.normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)
r = X[:, 0] * 2 + 10
TIME = np.arange(60) + 1.0


def classifier(**options):
    return LGBMClassifier(**SMALL, **options)


def regressor(**options):
    return LGBMRegressor(**SMALL, **options)


def same(first, second):
    np.testing.assert_array_equal(first, second)
    return True


NAMES = {**vars(skgoss), **globals(), "numpy": np}
# What is done wrong, what of the message is code, how it is used, and what is then so.
# Braces stand for the code; ``got`` is what the line before has made.
RECIPES = {
    "codes of labels": (
        "train({**BINARY, 'objective': 'multiclass', 'num_class': 3}, far(), 2)",
        "use (numpy.*)\\.(?:\\n|$)",
        "(y := [5, 7, 9] * 20, {})[-1]",
        "same(got, np.arange(60) % 3)",
    ),
    "a sparse target": (
        "regressor().fit(X, scipy.sparse.csr_array(r[:, None]))",
        "pass (.*)\\.(?:\\n|$)",
        "(y := scipy.sparse.csr_array(r[:, None]), {})[-1]",
        "same(got[:, 0], r)",
    ),
    "a broken matrix": (
        "classifier().fit(broken, y)",
        "with (.*)\\.(?:\\n|$)",
        "{}",
        "same(got.toarray(), np.diag([1.0, 2.0, 3.0]))",
    ),
    "dicts": (
        "classifier().fit([{'a': 1.0}, {'a': 2.0}], [0, 1])",
        "dicts with (.*)\\.(?:\\n|$)",
        "{}([{{'a': 1.0}}, {{'a': 2.0}}])",
        "same(got.to_numpy(), [[1.0], [2.0]])",
    ),
    "a generator": (
        "classifier().fit((row for row in X), y)",
        "generator with (.*), and",
        "(rows := (row for row in X), {})[-1]",
        "same(got, X)",
    ),
    "a file": (
        "plain.predict(None)",
        "file with (.*), convert",
        "{}(path)",
        "same(got.iloc[:, 1:], X.round(6))",
    ),
    "a file without names": (
        "LGBMRegressor(**SMALL).fit(bare, r)",
        "example (.*)\\.(?:\\n|$)",
        "(path := bare, regressor().fit({}, None).n_features_in_)[-1]",
        "got == 3",
    ),
    "a first line of names": (
        "train(BINARY, Dataset(path, params={'label_column': 0}), 2)",
        "pass (header=True) in the params",
        "train(BINARY, Dataset(path, params={{'label_column': 0, **dict({})}}), 2)",
        "got.feature_name() == ['a', 'b', 'c']",
    ),
    "predictions of a file with names": (
        "plain.booster_.predict(headed)",
        "or (data_has_header=True) to",
        "plain.booster_.predict(headed, {})",
        "np.allclose(got, plain.booster_.predict(X.round(6)))",
    ),
    "events by words": (
        "regressor(objective='cox').fit(X, lives)",
        "event: (.*)\\.(?:\\n|$)",
        "{}",
        "same(got, np.column_stack([np.arange(60) % 2, TIME]))",
    ),
    "codes of events": (
        "regressor(objective='cox').fit(X, np.column_stack([np.arange(60) % 3, TIME]))",
        "event: (numpy.*?)\\. For",
        "((status := np.arange(60) % 3), (code := 1), {})",
        "same(got[-1], np.column_stack([np.arange(60) % 3 == 1, TIME]))",
    ),
    "bounds": (
        "regressor(objective='cox').fit(X, np.column_stack([np.arange(60) % 3, TIME]))",
        "as in (.*\\}\\)), or",
        "regressor(objective='aft_normal').fit(X, {})",
        "got.predict(X).shape == (60,)",
    ),
    "one column of times": (
        "regressor(objective='cox').fit(X, TIME)",
        "when, (.*\\]\\));",
        "regressor(objective='cox').fit(X, {}).predict(X).shape",
        "got == (60,)",
    ),
    "intervals of times": (
        "regressor(objective='cox').fit(X, np.column_stack([TIME + 2, TIME + 9]))",
        "Use (.*)\\.(?:\\n|$)",
        "regressor({}).fit(X, np.column_stack([TIME + 2, TIME + 9])).predict(X).shape",
        "got == (60,)",
    ),
    "copies of rows": (
        "Dataset(X, y, free_raw_data=False).subset(used_indices).construct()",
        "instead: (.*)\\.(?:\\n|$)",
        "{}",
        "same(got, [1, 0, 2, *[0] * 57])",
    ),
    "decisions on several targets": (
        "two.decision_function(X)",
        "Use (.*)\\.(?:\\n|$)",
        "two.{}",
        "same(got[:, 0], one.predict_proba(X, raw_score=True))",
    ),
    "start_iteration": (
        "cox.predict_survival_function(X, [5.0], num_iteration=2)",
        "Fit with (.*)\\.(?:\\n|$)",
        "LGBMRegressor(objective='cox', n_jobs=1, {}).fit(X, events).n_estimators_",
        "got == 2",
    ),
    "quantiles of numbers": (
        "plain.predict_quantile(X, 0.25)",
        "use (predict_distribution.*)\\.(?:\\n|$)",
        "(q := 0.25, normal.{})[1]",
        "np.allclose(got, scipy.stats.norm(distribution.mean(), distribution.std())"
        ".ppf(0.25))",
    ),
    "levels of intervals": (
        "quantiles.predict_interval(X, coverage=0.8)",
        "with (alpha=.*?), and with (folds=5) for",
        "regressor(objective='quantile', {}, {}).fit(X, r).predict_interval(X, 0.8)",
        "got.shape == (60, 2) and (got[:, 0] <= got[:, 1]).all()",
    ),
    "one quantile": (
        "regressor(objective='quantile', alpha=0.9).fit(X, r).predict_interval(X)",
        "such as (.*)\\.(?:\\n|$)",
        "regressor(objective='quantile', {}).fit(X, r).predict_interval(X, 0.9).shape",
        "got == (60, 2)",
    ),
    "intervals without folds": (
        "plain.predict_interval(X)",
        "such as (folds=5)\\.",
        "regressor({}).fit(X, r).predict_interval(X).shape",
        "got == (60, 2)",
    ),
    "no order of arguments": (
        "LGBMClassifier(100, 0.1)",
        "as in (.*)\\.(?:\\n|$)",
        "{}.get_params()",
        "(got['n_estimators'], got['learning_rate']) == (100, 0.1)",
    ),
    "data of train": (
        "train(BINARY, X, 3)",
        "pass (.*)\\.(?:\\n|$)",
        "train(BINARY, {}, 3).predict(X)",
        "same(got, train(BINARY, Dataset(X, y), 3).predict(X))",
    ),
    "evaluation sets of train": (
        "train(BINARY, Dataset(X, y), 3, valid_sets=[(X, y)])",
        "pass (.*)\\.(?:\\n|$)",
        "(train_set := Dataset(X, y), train(BINARY, train_set, 3, valid_sets=[{}]))",
        "'valid_0' in got[1].best_score",
    ),
    "no label": (
        "train(BINARY, Dataset(X), 3)",
        "call (.*)\\.(?:\\n|$)",
        "(data := Dataset(X), data.{}, train(BINARY, data, 3).predict(X))",
        "same(got[-1], train(BINARY, Dataset(X, y), 3).predict(X))",
    ),
    "queries of train": (
        "train({**BINARY, 'objective': 'lambdarank'}, Dataset(X, y), 3)",
        "Dataset, (.*)\\.(?:\\n|$)",
        "train({{**BINARY, 'objective': 'lambdarank'}}, {}, 3).num_trees()",
        "got == 3",
    ),
    "a path as params": (
        "Booster(str(saved))",
        "use (.*?); for",
        "(path := saved, {})[-1].predict(X)",
        "same(got, plain.predict(X))",
    ),
    "a Booster in training": (
        "continued().set_leaf_output(0, 0, 1.5)",
        "Call (.*) first",
        "continued().{}.set_leaf_output(0, 0, 1.5).get_leaf_output(0, 0)",
        "got == 1.5",
    ),
    "no training": (
        "plain.booster_.update()",
        "by (Booster.*), or",
        "(params := BINARY, train_set := Dataset(X, y), {}.update())[-1]",
        "got is False",
    ),
    "callbacks": (
        "classifier().fit(X, y, eval_set=[(X, y)], callbacks=early_stopping(9))",
        "as in (.*), got",
        "classifier().fit(X, y, eval_set=[(X, y)], callbacks={}).n_estimators_",
        "got <= 4",
    ),
    "an uncalled callback": (
        "classifier().fit(X, y, eval_set=[(X, y)], callbacks=[early_stopping])",
        "write (.*)\\.(?:\\n|$)",
        "classifier().fit(X, y, eval_set=[(X, y)], callbacks=[{}]).n_estimators_",
        "got <= 4",
    ),
    "forests": (
        "classifier(boosting_type='rf').fit(X, y)",
        "or (data_sample_strategy='goss')",
        "classifier(boosting_type='rf', {}).fit(X, y).boosting_type",
        "got == 'rf'",
    ),
    "samples": (
        "classifier(data_sample_strategy='goss', subsample=0.5, subsample_freq=1)"
        ".fit(X, y)",
        "Set (subsample=1) or (subsample_freq=0), or (data_.*)\\.(?:\\n|$)",
        "[classifier(data_sample_strategy='goss', {}, subsample_freq=1).fit(X, y),"
        " classifier(data_sample_strategy='goss', subsample=0.5, {}).fit(X, y),"
        " classifier({}, subsample=0.5, subsample_freq=1).fit(X, y)]",
        "len(got) == 3",
    ),
    "constrained lines": (
        "regressor(linear_tree=True, monotone_constraints=[1, 0, 0]).fit(X, r)",
        "Set (.*), or",
        "regressor({}, monotone_constraints=[1, 0, 0]).fit(X, r).n_estimators_",
        "got == 4",
    ),
    "shared trees": (
        "classifier(multi_strategy='multi_output_tree', path_smooth=1.0)"
        ".fit(X, np.arange(60) % 3)",
        "Set (.*), or",
        "classifier({}, path_smooth=1.0).fit(X, np.arange(60) % 3).n_classes_",
        "got == 3",
    ),
    "readers": (
        "Dataset(table.to_reader(), label='y').construct()",
        "memory, (.*)\\.(?:\\n|$)",
        "(reader := table.to_reader(), {})[-1]",
        "got.equals(table)",
    ),
    "rows in batches": (
        "train({**BINARY, 'linear_tree': True}, Dataset(stored, y), 2)",
        "with (pyarrow.*?) or (polars.*?), and",
        "(path := stored, {}.num_rows, {}.shape)",
        "got[1:] == (60, (60, 4))",
    ),
    "hidden rows of queries": (
        "LGBMRanker(**SMALL).fit(X, y, group=[20] * 3).score(X, y)",
        "or (group=.*?) if",
        "LGBMRanker(**SMALL).fit(X, y, group=[20] * 3).score(X, y, {})",
        "0 <= got <= 1",
    ),
    "routed queries": (
        "LGBMRanker(**SMALL).fit(X, y, group=[20] * 3).score(X, y)",
        "call (.*?), and (.*?) and (.*?) of the ranker with (.*?)\\.(?:\\n|$)",
        "routed(lambda: ({0}, LGBMRanker(**SMALL).{1}({3}).{2}({3}))[-1])",
        "got.shape == (3,) and np.isfinite(got).all()",
    ),
    "no importance": (
        "skgoss.plot_importance(regressor().fit(X, r * 0))",
        "Use (.*) to",
        "skgoss.plot_importance(regressor().fit(X, r * 0), {}).patches",
        "len(got) == 3",
    ),
    "axes": (
        "skgoss.plot_tree(plain, 1)",
        "such as (.*)\\.(?:\\n|$)",
        "skgoss.plot_tree(plain, {})",
        "got.axison is False",
    ),
}


def routed(make_ranker):
    """The scores of a cross-validation that passes the queries on."""
    with sklearn.config_context():
        ranker = make_ranker()
        folds = GroupKFold(3)
        qid = np.repeat(np.arange(6), 10)
        return cross_val_score(
            ranker, X, y, params={"qid": qid, "groups": qid}, cv=folds
        )


@pytest.fixture(scope="module")
def scope(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    path, stored, saved = (folder / n for n in ("a.csv", "a.parquet", "m.txt"))
    bare, headed = folder / "bare.csv", folder / "headed.csv"
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    table = frame.assign(y=y)
    table[["y", "a", "b", "c"]].round(6).to_csv(path, index=False)
    frame.round(6).to_csv(headed, index=False)
    table[["y", "a", "b", "c"]].to_csv(bare, index=False, header=False)
    table.to_parquet(stored)
    broken = scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0]))
    broken.indices = np.array([0, 7, 2], dtype=np.int32)
    events = np.column_stack([np.arange(60) % 2, TIME])
    plain = regressor().fit(X, r)
    plain.to_file(saved)
    normal = LGBMRegressor(objective="normal", **SMALL).fit(X, r)
    quantiles = regressor(objective="quantile", alpha=[0.25, 0.75]).fit(X, r)
    several = classifier().fit(X, np.column_stack([y, 1 - y]))

    def continued():
        first = skgoss.train(BINARY, Dataset(X, y), 1)
        options = {"init_model": first, "keep_training_booster": True}
        return skgoss.train(BINARY, Dataset(X, y), 1, **options)

    return {
        **NAMES,
        "path": str(path),
        "stored": str(stored),
        "saved": saved,
        "bare": str(bare),
        "headed": str(headed),
        "table": pyarrow.table(table),
        "broken": broken,
        "values": [1.0, 2.0, 3.0],
        "rows": [0, 1, 2],
        "columns": [0, 1, 2],
        "used_indices": [0, 2, 2],
        "n_samples": 60,
        "sizes": [20, 40],
        "events": events,
        "event": np.arange(60) % 2,
        "time": TIME,
        "lower": TIME,
        "upper": TIME + 1,
        "status": np.where(np.arange(60) % 2, "failed", "ok"),
        "value": "failed",
        "lives": pandas.DataFrame(
            {"status": np.where(np.arange(60) % 2, "failed", "ok"), "years": TIME}
        ),
        "plain": plain,
        "quantiles": quantiles,
        "two": several,
        "one": classifier().fit(X, y),
        "cox": regressor(objective="cox").fit(X, events),
        "normal": normal,
        "distribution": normal.predict_distribution(X),
        "far": lambda: Dataset(X, [5, 7, 9] * 20),
        "continued": continued,
        "routed": routed,
    }


def message(run):
    """The error or the warnings of a mistake."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run()
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            return f"{error}\n{error.__cause__}"
    return "\n".join(str(warning.message) for warning in caught)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", RECIPES)
def test_code_of_a_message_runs(name, scope):
    mistake, pattern, use, check = RECIPES[name]
    if "plot" in mistake:
        pytest.importorskip("matplotlib")
    scope = {**scope}
    text = message(lambda: eval(mistake, scope))
    found = re.search(pattern, text)
    assert found, text
    scope["got"] = eval(use.format(*found.groups()), scope)
    assert eval(check, scope)


BYTES = [value.encode() for value in np.where(y, "yes", "n\xe4")]
OBJECTS = [bool(value) for value in y]
FRAMES = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}
COLUMNS = {
    "pandas": pandas.Series,
    "polars": polars.Series,
    "pyarrow": pyarrow.array,
    "array": lambda values, dtype=None: np.array(values, dtype=dtype or object),
    "list": lambda values: values,
}


@pytest.mark.parametrize("library", FRAMES)
def test_columns_are_taken_from_frames_as_messages_say(library):
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    frame = FRAMES[library]({**columns, "y": y})
    text = message(lambda: classifier().fit(frame, "y"))
    rest, target = re.search("pass (.*) and (.*)\\.(?:\\n|$)", text).groups()
    expected = classifier().fit(X, y).predict_proba(X)
    names = {"X": frame}
    model = classifier().fit(eval(rest, names), eval(target, names))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    same(model.predict_proba(eval(rest, names)), expected)
    for argument in ("sample_weight", "init_score"):
        text = message(lambda a=argument: classifier().fit(frame, y, **{a: "a"}))
        code = re.search("itself, (.*)\\.(?:\\n|$)", text)[1]
        same(np.asarray(eval(code, names)), X[:, 0])
    turned = FRAMES[library]({name: columns[name] for name in "cba"})
    for predict in (model.predict_proba, model.booster_.predict):
        text = message(lambda p=predict: p(turned))
        code = re.search("columns: (.*)\\.\n", text)[1]
        owner = getattr(predict, "__self__", None)
        found = predict(eval(code, {"X": turned, "model": owner}))
        same(found, predict(eval(rest, names)))


@pytest.mark.parametrize("library", COLUMNS)
def test_labels_are_converted_as_messages_say(library):
    scope = {"numpy": np, "y": COLUMNS[library](BYTES)}
    text = message(lambda: classifier().fit(X, scope["y"]))
    code = re.search("with (.*)\\.(?:\\n|$)", text)[1]
    same(eval(code, scope), np.where(y, "yes", "n\xe4"))
    if library in ("pandas", "array", "polars"):  # else they are not objects
        dtype = polars.Object if library == "polars" else object
        scope["y"] = COLUMNS[library](OBJECTS, dtype=dtype)
        text = message(lambda: classifier().fit(X, scope["y"]))
        found = eval(re.search("pass (.*)\\.(?:\\n|$)", text)[1], scope)
        assert found.dtype == bool
        same(found, y == 1)


def test_an_array_has_no_columns_by_name():
    for rows in (X, X.tolist(), scipy.sparse.csr_array(X)):
        assert "X[" not in message(lambda rows=rows: classifier().fit(rows, "y"))


EXPRESSION = r"([\w.]+(?:\((?:[^()]|\([^()]*\))*\))?)"
# What the names in the hints of each table belong to.
HINTS = {
    "PACKAGE_HINTS": "skgoss",
    "ESTIMATOR_HINTS": "fitted",
    "BOOSTER_HINTS": "booster",
    "DATASET_HINTS": "data",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", HINTS)
def test_hints_of_names_are_code(table, tmp_path):
    path = str(tmp_path / "model.txt")
    labels = classifier(folds=3)
    fitted = labels.fit(X, y)
    fitted.to_file(path)
    numbers = regressor(folds=3).fit(X, r)
    scope = {
        **NAMES,
        "fitted": fitted,
        "booster": fitted.booster_,
        "data": Dataset(X, y).construct(),
        "model": fitted,
        "numpy": np,
        "n": 3,  # a multiple of the number of folds
        "path": path,
        "results": {},
    }
    owner = scope[HINTS[table]]
    n_run = 0
    for hint in dict.fromkeys(getattr(other_libraries, table).values()):
        for code in re.findall(rf"(?:^|, or ){EXPRESSION}(?=,|$)", hint):
            scope["booster"] = (numbers if "Regressor" in code else fitted).booster_
            name = code.partition("(")[0].partition(".")[0]
            if name in skgoss.__all__:
                scope[name] = getattr(skgoss, name)
            if code.startswith("numpy"):
                eval(code, {**scope, "predict_proba": fitted.predict_proba})
            elif (name in scope and name != "fit") or hasattr(builtins, name):
                eval(code, scope)
            elif "(" in code and not code.startswith("fit"):
                eval(f"owner.{code}", {**scope, "owner": owner})
            else:
                assert hasattr(owner, name), code
            n_run += 1
    assert n_run >= 3


def test_hints_of_values_give_what_they_name():
    """Hints with an argument, in place of what another library computes."""
    model = classifier().fit(X, y)
    scope = {**NAMES, "model": model, "numpy": np, "n": 2}
    hints = other_libraries.ESTIMATOR_HINTS
    log = hints["predict_log_proba"].replace("predict", "model.predict")
    same(eval(log, scope), np.log(model.predict_proba(X)))
    staged = eval(f"model.{hints['staged_decision_function']}", scope)
    same(staged > 0, [*model.staged_predict(X)][1] == 1)
    code = re.match(EXPRESSION, hints["partial_fit"])[1]
    more = eval(f"classifier().{code}", scope)
    assert more.n_estimators_ == 2 * model.n_estimators_
    assert eval(f"model.{hints['evaluate']}", scope) == model.score(X, y)
    assert eval(f"model.{hints['apply']}", scope).shape == (60, 4)
    groups = np.arange(60) % 10
    arguments = other_libraries.ARGUMENTS
    scope.update(groups=groups, X_valid=X, y_valid=y, sample_weight=TIME)
    code = arguments["cv"]["groups"]
    results = eval(f"cv(BINARY, Dataset(X, y), 2, {code})", scope)
    assert len(results["valid binary_logloss-mean"]) == 2
    code = arguments["train"]["eval_set"]
    booster = eval(f"train(BINARY, Dataset(X, y), 2, {code})", scope)
    assert "valid_0" in booster.best_score
    code = arguments["train"]["sample_weight"]
    weighted = eval(f"train(BINARY, {code}, 2)", scope)
    expected = LGBMClassifier(n_estimators=2, n_jobs=1).fit(X, y, sample_weight=TIME)
    same(weighted.predict(X), expected.predict_proba(X)[:, 1])
    code = arguments["fit"]["valid_sets"]
    assert eval(f"classifier().fit(X, y, {code})", scope).evals_result_
