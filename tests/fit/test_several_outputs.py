"""Fits of several outputs: which columns and options they take."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from helpers import several_targets
from helpers.several_targets import (
    C_VALID,
    LABELS,
    SMALL,
    WEIGHT,
    X_VALID,
    Y_VALID,
    C,
    X,
    Y,
    quiet,
)
from skgoss import Dataset, LGBMClassifier, LGBMModel, LGBMRegressor

regressor, classifier = several_targets.regressor, several_targets.classifier


@quiet
@pytest.mark.parametrize("weight", [WEIGHT, None])
@pytest.mark.parametrize("class_weight", [{0: 2.0}, "list"])
def test_class_weights(class_weight, weight):
    each = ["balanced", None, {2: 0.0}] if class_weight == "list" else None
    # Weights of rows do not change bins if there are few.
    options = {**SMALL, "class_weight": each or class_weight, "max_bin": 500}
    model = LGBMClassifier(**options).fit(X, C, sample_weight=weight)
    found = model.predict_proba(X)
    for k, own in enumerate(each or [class_weight] * 3):
        alone = LGBMClassifier(**{**options, "class_weight": own})
        alone.fit(X, C[:, k], sample_weight=weight)
        np.testing.assert_array_equal(found[k], alone.predict_proba(X))


def test_missing_targets():
    rng = np.random.default_rng(5)
    with_gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    with_gaps[:5] = np.nan
    model = LGBMRegressor(**SMALL).fit(X, with_gaps, sample_weight=WEIGHT)
    weighted = np.flatnonzero(WEIGHT)
    for k, predicted in enumerate(model.predict(X).T):
        rows = np.flatnonzero(~np.isnan(with_gaps[:, k]) & (WEIGHT > 0))
        # These bins are those of the rows of positive weight.
        own = Dataset(
            X[weighted], weight=WEIGHT[weighted], label=np.zeros(len(weighted))
        )
        part = own.subset(np.searchsorted(weighted, rows))
        part.set_label(with_gaps[rows, k])
        alone = LGBMRegressor(**SMALL).fit(part)
        np.testing.assert_array_equal(predicted, alone.predict(X))


def test_missing_targets_are_not_scored():
    rng = np.random.default_rng(6)
    with_gaps = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    model = LGBMRegressor(**SMALL).fit(X, with_gaps)
    predicted, weight = model.predict(X), rng.uniform(size=len(X))
    for given in (None, weight):
        expected = [
            r2_score(y[k], p[k], sample_weight=None if given is None else given[k])
            for y, p in zip(with_gaps.T, predicted.T, strict=True)
            for k in [~np.isnan(y)]
        ]
        found = model.score(X, with_gaps, sample_weight=given)
        assert found == pytest.approx(np.mean(expected))
    assert model.score(X, pd.DataFrame(with_gaps)) == model.score(X, with_gaps)
    assert model.score(X, Y) == r2_score(Y, predicted)
    one_alone = np.where(np.arange(Y.shape[1]) == 1, Y, np.nan)
    assert model.score(X, one_alone) == r2_score(Y[:, 1], predicted[:, 1])
    assert np.isfinite(cross_val_score(model, X, with_gaps, cv=3)).all()
    with pytest.raises(ValueError, match="different number of output"):
        model.score(X, Y[:, :2])
    with pytest.raises(ValueError, match="contains NaN"):
        LGBMRegressor(**SMALL).fit(X, Y[:, 0]).score(X, with_gaps[:, 0])


def test_targets_of_weight_zero_are_missing():
    known = np.arange(len(Y)) % 3 == 0
    targets = np.column_stack([Y[:, 0], np.where(known, Y[:, 1], np.nan)])
    message = "All values of column 1 of y are missing, or have the weight 0"
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(**SMALL).fit(X, targets, sample_weight=1.0 - known)


HALVES = [(np.arange(len(X)) % 2 != i, np.arange(len(X)) % 2 == i) for i in range(2)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": HALVES}, "test rows of fold 0: .* column 1 of y.* Set folds to"),
        ({"folds": HALVES[1:]}, "train rows of fold 0: .* column 1 of y.* Set folds"),
        ({"preset": "accurate"}, "rows of fold .: .* column 1 of y.* Leave the preset"),
        ({"n_estimators": 2}, "evaluation set 'valid_0': .* column 1 of y are missing"),
    ],
)
def test_parts_of_the_rows_without_a_target_are_named(options, words):
    targets = Y.copy()
    targets[::2, 1] = np.nan
    given = {}
    if "preset" in options:
        targets[2:, 1] = np.nan
    elif "folds" not in options:
        given["eval_set"] = [(X[::2], targets[::2])]
    with pytest.raises(ValueError, match=words):
        LGBMRegressor(**options).fit(X, targets, **given)


def test_columns_of_data_frames():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame({"price": Y[:, 0], "count": (Y[:, 1] * 9).astype(int)})
    expected = LGBMRegressor(**SMALL).fit(X, frame.to_numpy()).predict(X)
    integers = frame.astype({"count": "Int64"})
    for targets in (frame, pl.DataFrame(frame), integers, frame.to_numpy().tolist()):
        found = LGBMRegressor(**SMALL).fit(X, targets).predict(X)
        np.testing.assert_array_equal(found, expected)
    integers.loc[3, "count"] = pd.NA
    expected = frame.to_numpy()
    expected[3, 1] = np.nan
    np.testing.assert_array_equal(
        LGBMRegressor(**SMALL).fit(X, integers).predict(X),
        LGBMRegressor(**SMALL).fit(X, expected).predict(X),
    )
    masked = np.ma.masked_array(np.nan_to_num(expected), np.isnan(expected))
    np.testing.assert_array_equal(
        LGBMRegressor(**SMALL).fit(X, masked).predict(X),
        LGBMRegressor(**SMALL).fit(X, expected).predict(X),
    )
    # Columns keep their types.
    kinds = pd.DataFrame({"word": LABELS["words"][:, 0], "number": C[:, 1]})
    model = LGBMClassifier(**SMALL).fit(X, kinds)
    assert [known.dtype.kind for known in model.classes_] in (["O", "i"], ["U", "i"])
    predicted = model.predict(X)
    assert {type(label) for label in predicted[:, 1]} == {int}
    assert set(predicted[:, 0]) == {"a", "b"}


def test_one_column_is_one_target():
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = LGBMRegressor(**SMALL).fit(X, Y[:, :1])
    assert model.predict(X).shape == (300,)


def refused(message, model, y, **arguments):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **arguments)
    assert not model.__sklearn_is_fitted__()


def logistic(y, scores):
    p = 1.0 / (1.0 + np.exp(-scores))
    return p - y, p * (1.0 - p)


def test_metrics_are_those_of_the_objective_or_of_the_usual_one():
    targets, valid = np.abs(Y), [(X_VALID, np.abs(Y_VALID))]
    for objective in ("l1", "poisson"):
        model = LGBMRegressor(**SMALL, objective=objective)
        model.fit(X, targets, eval_set=valid)
        assert list(model.best_score_["valid_0"]) == [objective]
    # Named metrics take the scores of a function for log-odds.
    labels, valid = C[:, [0, 2]] > 0, [(X_VALID, C_VALID[:, [0, 2]] > 0)]
    options = {**SMALL, "boost_from_average": False, "metric": "logloss"}
    losses = [
        LGBMClassifier(**options, objective=objective)
        .fit(X, labels, eval_set=valid)
        .best_score_["valid_0"]["binary_logloss"]
        for objective in ("binary", logistic)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)


def put(values, at, value):
    changed = values.astype(type(value) if isinstance(value, float) else object)
    changed[at] = value
    return changed


def test_columns_that_are_refused():
    sp = pytest.importorskip("scipy.sparse")
    numbers, labels = LGBMRegressor(**SMALL), LGBMClassifier(**SMALL)
    refused("column 1 of y contains infinity", numbers, put(Y, (3, 1), np.inf))
    refused("column 2 of y must hold numbers", numbers, put(Y, (3, 2), "word"))
    gone = Y.copy()
    gone[:, 1] = np.nan
    refused("All values of column 1 of y are missing, or have", numbers, gone)
    refused("(?i)column 1 of y contains NaN", labels, put(C, (3, 1), np.nan))
    refused("Column 0 of y: Unknown label type: continuous", labels, Y)
    refused("y must not be a sparse matrix", labels, sp.csr_matrix(C))
    refused(
        "(?i)column 0 of y.*'multiclass' cannot be used for 2 classes",
        LGBMClassifier(**SMALL, objective="multiclass"),
        C,
    )
    refused(
        "(?i)column 1 of y.*needs targets >= 0",
        LGBMRegressor(**SMALL, objective="poisson"),
        np.column_stack([np.abs(Y[:, 0]), -np.abs(Y[:, 1])]),
    )
    masked = np.ma.masked_array(C, put(np.zeros(C.shape), (3, 1), 1))
    refused("column 1 of y contains missing values", labels, masked)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(Y.copy(), columns=["a", "b", "c"])
    frame.loc[2, "b"] = np.inf
    refused("column 'b' of y contains infinity", numbers, frame)
    frame = pd.DataFrame({"a": C[:, 0], "b": put(C[:, 1], 3, "word")})
    refused("Column 'b' of y: y must be labels that can be sorted", labels, frame)


def test_arguments_that_are_refused():
    alpha = LGBMRegressor(**SMALL, objective="quantile", alpha=[0.1, 0.9])
    refused("'alpha' parameter .* must be a number for several targets", alpha, Y)
    median = LGBMRegressor(**SMALL, objective="mae", alpha=[0.1, 0.9])
    refused("must be a number for objective='regression_l1'", median, Y[:, 0])
    refused("y should be a 1d array", LGBMModel(**SMALL, objective="regression"), Y)
    labels = LGBMClassifier(**SMALL)
    for pair, message in (
        ((X_VALID, C_VALID[:, 0]), "eval_y must have 3 columns, one for each target"),
        ((X_VALID, C_VALID[:, :2]), "eval_y must have 3 columns, .* got 2"),
        ((X_VALID, C_VALID + 9), "column 0 of eval_y holds labels that y does not"),
    ):
        refused(message, labels, C, eval_set=[pair])
    pair = (X_VALID, C_VALID)
    refused("eval_y should be a 1d array", labels, C[:, 0], eval_set=[pair])
    refused(
        "class_weight must have one item for each of the 3 targets, got 2",
        LGBMClassifier(**SMALL, class_weight=["balanced", None]),
        C,
    )
    refused("must be None: there are no classes", LGBMRegressor(class_weight={1: 2}), Y)
    with pytest.raises(AttributeError, match="no attribute") as caught:
        LGBMClassifier(**SMALL).fit(X, C).decision_function(X)
    assert "Use predict_proba(X, raw_score=True)" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (C[:, 0], "y has one column, but init_model has learned 3 targets"),
        (C[:, :2], "y has 2 columns, but init_model has learned 3 targets"),
        (C + 1, "column 0 of y holds labels that init_model does not hold"),
    ],
)
def test_a_model_goes_on_with_the_targets_that_it_knows(classifier, y, message):
    refused(message, LGBMClassifier(**SMALL), y, init_model=classifier)


def test_refit_is_refused(regressor, classifier):
    for model in (regressor, classifier):
        with pytest.raises(ValueError, match="several quantiles or targets"):
            model.booster_.refit(X, Y[:, 0])


def test_a_target_that_is_not_learned_gives_a_warning():
    constant = np.column_stack([Y[:, 0], np.ones(300)])
    with pytest.warns(UserWarning, match="No tree of column 1 of y has a split.*equal"):
        model = LGBMRegressor(**SMALL).fit(X, constant)
    assert (model.predict(X)[:, 1] == 1).all()
