"""Bad input: errors that name the argument, in scikit-learn's words."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

from skgoss import LGBMClassifier, LGBMRegressor, UnusedParameterWarning

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2
BOTH = pytest.mark.parametrize("cls", [LGBMClassifier, LGBMRegressor])


def small(cls, **options):
    return cls(n_estimators=2, **options)


def refused(match, cls, X=X, y=Y, sample_weight=None, error=ValueError, **options):
    with pytest.raises(error, match=match):
        small(cls, **options).fit(X, y, sample_weight=sample_weight)


# --- y --------------------------------------------------------------------------------


@BOTH
def test_y_must_be_there(cls):
    refused(f"{cls.__name__} estimator requires y to be passed, but the", cls, y=None)


@BOTH
@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "contains NaN"), (np.inf, "contains infinity")]
)
def test_y_must_be_finite(cls, value, words):
    refused(f"Input y {words}", cls, y=np.where(Y == 0, value, 1.0))


def test_labels_must_not_be_missing():
    labels = np.array(["a", None] * 20, dtype=object)
    refused("y must be labels that can be sorted.*None", LGBMClassifier, y=labels)
    refused("NaN", LGBMClassifier, y=np.array(["a", np.nan] * 20, dtype=object))


@BOTH
def test_y_of_pandas_must_not_be_missing(cls):
    pd = pytest.importorskip("pandas")
    missing = pd.Series(["a", pd.NA] * 20, dtype="string")
    refused("Input y contains missing values", cls, y=missing)
    refused("Input y contains NaN", cls, y=pd.Series([1, pd.NA] * 20, dtype="Int64"))


@BOTH
def test_y_must_be_as_long_as_X(cls):
    refused(r"inconsistent numbers of samples: \[40, 39\]", cls, y=Y[1:])


@BOTH
def test_y_as_a_column_is_flattened_with_a_warning(cls):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        model = small(cls).fit(X, Y[:, None])
    np.testing.assert_array_equal(
        model.predict(X), small(cls).fit(X, Y.ravel()).predict(X)
    )


@BOTH
def test_y_must_be_one_column(cls):
    refused("y should be a 1d array", cls, y=np.column_stack([Y, Y]))


def test_classes_are_not_numbers():
    refused("y must be numbers for LGBMRegressor", LGBMRegressor, y=["a", "b"] * 20)
    refused("Unknown label type: continuous", LGBMClassifier, y=X[:, 0])


# --- X --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("X_bad", "y_bad", "words"),
    [
        (np.empty((0, 3)), [], r"0 sample\(s\)"),
        (np.empty((40, 0)), Y, r"0 feature\(s\)"),
        (X[:, 0], Y, "Expected 2D array, got 1D"),
        (X * 1j, Y, "Complex data not supported"),
        (np.array([["a", "b"]] * 40), Y, "could not convert|numbers|strings"),
        (X[None], Y, "Found array with dim 3|array with 3 dim"),
    ],
)
def test_X_must_be_a_table_of_numbers(cls, X_bad, y_bad, words):
    refused(words, cls, X=X_bad, y=y_bad)


@BOTH
def test_one_row(cls):
    model = small(cls).fit(X[:1], Y[:1])
    assert (model.predict(X) == Y[0]).all()


@BOTH
@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_columns_of_predict_are_those_of_fit(cls, method):
    model = small(cls).fit(X, Y)
    if not hasattr(model, method):
        return
    words = f"X has 2 features, but {cls.__name__} is expecting 3 features as input"
    with pytest.raises(ValueError, match=words):
        getattr(model, method)(X[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array"):
        getattr(model, method)(X[0])


@BOTH
def test_predict_knows_its_arguments(cls):
    model = small(cls).fit(X, Y)
    match = f"{cls.__name__} .* 'pred_leafs': it .* mean 'pred_leaf'"
    with pytest.warns(UnusedParameterWarning, match=match):
        model.predict(X, pred_leafs=True)
    with pytest.raises(ValueError, match="'n_jobs' parameter"):
        model.predict(X, n_jobs=1.5)


@BOTH
def test_infinite_and_missing_values_are_values(cls):
    X_odd = X.copy()
    X_odd[::5, 0], X_odd[1::5, 0], X_odd[2::5, 1] = np.nan, np.inf, -np.inf
    assert len(small(cls).fit(X_odd, Y).predict(X_odd)) == 40


# --- Weights --------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(40), "weight.*zero"),
        (0, "weight.*zero"),
        (-np.ones(40), "Negative values.*sample_weight"),
        (np.where(Y == 0, np.nan, 1), "sample_weight contains NaN"),
        (np.where(Y == 0, np.inf, 1), "sample_weight contains infinity"),
        (np.ones(39), r"sample_weight.shape == \(39,\), expected \(40,\)"),
        (np.ones((40, 1)), "Sample weights must be 1D array or scalar"),
        (["a"] * 40, "could not convert"),
    ],
)
def test_weights(cls, weight, words):
    refused(words, cls, sample_weight=weight)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({0: 1.0, 1: -1.0}, "'class_weight' parameter of LGBMClassifier.*>= 0"),
        ({0: 1.0, 1: np.nan}, "'class_weight' parameter of LGBMClassifier.*finite"),
        ({0: 0, 1: 0}, "'class_weight' parameter of LGBMClassifier.*zero"),
        ({"no": 1.0}, "class_weight"),
        ("uniform", "'class_weight' parameter of LGBMClassifier must be"),
    ],
)
def test_class_weights(class_weight, words):
    refused(words, LGBMClassifier, class_weight=class_weight)


def test_a_regressor_has_no_classes():
    words = "'class_weight' parameter of LGBMRegressor must be None"
    refused(words, LGBMRegressor, class_weight="balanced")


# --- Objectives -----------------------------------------------------------------------


def test_objective_and_classes_must_fit():
    three = np.arange(40) % 3
    refused(
        "'binary' cannot learn the 3 classes", LGBMClassifier, y=three, loss="binary"
    )
    words = "'multiclass' cannot learn the 2 classes.*'binary'"
    refused(words, LGBMClassifier, objective="softmax")
    words = "'regression' cannot learn the 3 classes"
    refused(words, LGBMClassifier, y=three, objective="mse")
    words = "'binary' is for classes.*LGBMClassifier"
    refused(words, LGBMRegressor, y=three, objective="binary")
    refused("objective='nonsense'", LGBMRegressor, objective="nonsense")


def test_targets_outside_the_objective_s_domain():
    refused("poisson.* y ", LGBMRegressor, y=Y - 0.5, objective="poisson")
    refused("gamma.* y ", LGBMRegressor, objective="gamma")


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (
            lambda y, f: (f[1:], f[1:]),
            ValueError,
            "function.*gradient.*shape",
        ),
        (lambda y, f: (f, np.full(40, np.nan)), ValueError, "function.*NaN.*hessian"),
        (lambda y, f: (f + np.inf, f), ValueError, "function.*infinity.*gradient"),
        (lambda y, f: (np.array(["a"] * 40), f), ValueError, "function.*numbers"),
        (lambda y, f: f, ValueError, "function.*two arrays"),
        (lambda y: y, TypeError, "should have 2, 3 or 4 arguments, got 1"),
    ],
)
@BOTH
def test_objectives_of_the_user_s_own(cls, function, error, words):
    refused(words, cls, objective=function, error=error)
