"""Bad input: errors that name the argument, in scikit-learn's words."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pytest
from sklearn.exceptions import DataConversionWarning

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor, UnusedParameterWarning
from skgoss.objectives.objectives import OBJECTIVES

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
    pd = pytest.importorskip("pandas")
    for features in (X, pd.DataFrame(X)):
        refused(f"Input y {words}", cls, X=features, y=np.where(Y == 0, value, 1.0))


def test_the_row_of_a_missing_target_is_named():
    y = np.arange(40.0)
    y[[7, 11]] = np.nan
    refused("NaN: row 7 is nan. Leave out rows without a target.$", LGBMRegressor, y=y)
    # Of several targets, some values may be missing, but none may be infinite.
    several = np.column_stack([np.arange(40.0), y])
    several[11, 1] = -np.inf
    words = "column 1 of y contains infinity.*: row 11 is -inf. Replace it.$"
    refused(words, LGBMRegressor, y=several)


def test_labels_must_not_be_missing():
    labels = np.array(["a", None] * 20, dtype=object)
    refused("y contains missing values.* is None", LGBMClassifier, y=labels)
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
    pd = pytest.importorskip("pandas")
    expected = small(cls).fit(X, Y.ravel()).predict(X)
    for column in (Y[:, None], pd.DataFrame({"y": Y})):
        with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
            model = small(cls).fit(X, column)
        np.testing.assert_array_equal(model.predict(X), expected)


@BOTH
def test_y_must_have_one_or_two_dimensions(cls):
    refused("dim 3", cls, y=np.zeros((len(Y), 2, 2)))
    refused("inconsistent numbers of samples", cls, y=np.zeros((len(Y) + 1, 2)))


def test_classes_are_not_numbers():
    refused(
        "y must hold numbers.*LGBMRegressor needs numbers",
        LGBMRegressor,
        y=["a", "b"] * 20,
    )
    refused("Unknown label type: continuous", LGBMClassifier, y=X[:, 0])


DAYS = np.arange(40).astype("M8[D]")
HUGE = 10**400


def no_numbers():
    """Values that NumPy turns into floats without a word, or cannot."""
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    return {
        "days": DAYS,
        "seconds": np.arange(40).astype("m8[s]"),
        "pandas dates": pd.Series(DAYS),
        "pandas dates of a zone": pd.Series(DAYS).dt.tz_localize("UTC"),
        "pandas durations": pd.Series(DAYS - DAYS[0]),
        "polars dates": pl.Series(DAYS.tolist()),
        "polars durations": pl.Series((DAYS - DAYS[0]).tolist()),
        "objects of dates": np.array(DAYS.tolist(), dtype=object),
        "objects of durations": np.array([*(DAYS - DAYS[0]).astype("m8[ns]")], object),
        "bytes": np.array([b"1"] * 40),
        "objects of bytes": np.array([b"1"] * 40, dtype=object),
        "huge integers": [HUGE] * 40,
    }


@pytest.mark.parametrize("name", no_numbers())
def test_what_are_not_numbers_are_not_learned_as_such(name):
    bad = no_numbers()[name]
    refused("^y must hold numbers", LGBMRegressor, y=bad)
    refused("^sample_weight must hold numbers", LGBMRegressor, sample_weight=bad)
    model = small(LGBMRegressor)
    for given, words in (
        ({"init_score": bad}, "init_score"),
        ({"eval_X": X, "eval_y": bad}, "eval_y"),
        (
            {"eval_X": X[:], "eval_y": Y, "eval_sample_weight": [bad]},
            "eval_sample_weight",
        ),
        ({"eval_X": X[:], "eval_y": Y, "eval_init_score": [bad]}, "eval_init_score"),
    ):
        start = "^" if words == "init_score" else "^The evaluation set 'valid_0': "
        with pytest.raises(ValueError, match=f"{start}{words} must hold numbers"):
            model.fit(X, Y, **given)


def test_dates_may_be_labels_but_not_missing():
    labels = DAYS[Y]
    model = small(LGBMClassifier).fit(X, labels)
    assert set(model.predict(X)) <= set(labels)
    labels = labels.copy()
    labels[3] = "NaT"
    refused("Input y contains missing values", LGBMClassifier, y=labels)


@pytest.mark.parametrize("objective", ["l2", "quantile", "mape", "huber"])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.array(["nan"], object), "contains NaN"),
        (np.array(["inf"], object), "contains infinity"),
        (np.array([decimal.Decimal("1e400")]), "contains infinity"),
        (np.array(["1e400"], np.longdouble), "contains infinity"),
    ],
    ids=["nan", "inf", "decimal", "longdouble"],
)
def test_targets_that_float64_does_not_hold(objective, value, words):
    y = np.concatenate([Y.astype(value.dtype)[1:], value])
    refused(f"Input y {words}", LGBMRegressor, y=y, objective=objective)
    with pytest.raises(ValueError, match=f"Input eval_y {words}"):
        small(LGBMRegressor).fit(X, Y, eval_X=X, eval_y=y)


LOSSES = [
    name
    for name, spec in OBJECTIVES.items()
    if spec.task == "regression" and spec.targets.high > 1
]


@pytest.mark.parametrize("objective", LOSSES)
@pytest.mark.parametrize("scale", [1e30, 1e150, 1e300, 1e306, 1e307, 1.7e308])
def test_predictions_of_huge_targets_are_finite_or_there_are_none(objective, scale):
    y = (np.abs(X[:, 0]) + 0.1) / 3.5 * scale
    model = LGBMRegressor(n_estimators=20, objective=objective, min_child_samples=2)
    words = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", "No tree of the fit has a split")
            warnings.filterwarnings("ignore", "Nearly all errors of the first round")
            model.fit(X, y)
    except ValueError as error:
        words = str(error)
    if words:
        assert scale > 1e38
        assert "too large" in words or "huge targets" in words
    else:
        assert np.isfinite(model.predict(X)).all()


def test_sums_of_targets_must_not_overflow():
    words = "values of y are too large.*Divide y"
    refused(words, LGBMRegressor, y=np.full(40, 1e308), objective="huber")
    weight = np.full(40, 1e200)
    refused(words, LGBMRegressor, y=1e200 * Y, sample_weight=weight, objective="huber")
    with pytest.raises(ValueError, match="values of eval_y are too large"):
        small(LGBMRegressor).fit(X, Y, eval_X=X, eval_y=np.full(40, -1e308))


@pytest.mark.parametrize("labels", [[b"a", b"b"], np.array([b"a", b"b"], object)])
def test_bytes_are_not_labels(labels):
    y = np.resize(labels, 40)
    refused("y holds bytes.*numpy.char.decode", LGBMClassifier, y=y)
    small(LGBMClassifier).fit(X, np.char.decode(y.astype(bytes)))


# --- X --------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("X_bad", "y_bad", "words"),
    [
        (np.empty((0, 3)), [], r"0 sample\(s\)"),
        (np.empty((40, 0)), Y, r"0 feature\(s\)"),
        (X[:, 0], Y, "Expected 2D array, got 1D"),
        (X * 1j, Y, "Complex data not supported"),
        (np.array([["a", "b"]] * 40), Y, "could not convert string to float: 'a'"),
        (X[None], Y, "Found array with dim 3"),
    ],
)
def test_X_must_be_a_table_of_numbers(cls, X_bad, y_bad, words):
    refused(words, cls, X=X_bad, y=y_bad)


@BOTH
@pytest.mark.parametrize("library", ["lists", "objects", "pandas"])
def test_integers_too_large_for_a_float(cls, library):
    X_bad = [[1, HUGE, 0.5]] * 40
    words = "Column 1 must hold numbers: .*too large"
    if library == "objects":
        X_bad = np.array(X_bad, dtype=object)
        words = "X must hold numbers: .*too large"
    if library == "pandas":
        pd = pytest.importorskip("pandas")
        X_bad = pd.DataFrame(X_bad, columns=["a", "b", "c"])
        words = "Column 'b' must hold numbers: .*too large"
    refused(words, cls, X=X_bad)


def test_masked_values_are_missing():
    rng = np.random.default_rng(0)
    mask = rng.random(X.shape) < 0.3
    y = X.sum(axis=1)
    options = {"n_estimators": 5, "min_child_samples": 2}
    whole = np.abs(np.rint(3 * X)).astype(np.int64)
    for values, categorical in ((X, "auto"), (whole, "auto"), (whole, [0, 1])):
        masked = np.ma.array(values, mask=mask)
        missing = np.where(mask, np.nan, values)
        model = LGBMRegressor(**options, categorical_feature=categorical)
        expected = model.fit(missing, y).predict(missing)
        np.testing.assert_array_equal(model.predict(masked), expected)
        np.testing.assert_array_equal(model.fit(masked, y).predict(missing), expected)
        unmasked = np.ma.array(values)
        np.testing.assert_array_equal(model.predict(unmasked), model.predict(values))


def test_masked_values_are_refused_where_none_may_be_missing():
    masked = np.ma.array(np.ones(40), mask=Y)
    refused("y has masked values", LGBMRegressor, y=masked)
    refused("y has masked values", LGBMClassifier, y=masked)
    refused("sample_weight has masked values", LGBMRegressor, sample_weight=masked)
    for given in ({"init_score": masked}, {"eval_X": X, "eval_y": masked}):
        with pytest.raises(ValueError, match=f"{list(given)[-1]} has masked values"):
            small(LGBMRegressor).fit(X, Y, **given)
    unmasked = np.ma.array(np.ones(40))
    small(LGBMRegressor).fit(X, unmasked, sample_weight=unmasked)


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
    match = f"{cls.__name__}.predict .* 'pred_leafs': it .* mean 'pred_leaf'"
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
        (-np.ones(40), "sample_weight must hold finite numbers >= 0, got -1 in row 0"),
        (np.where(Y == 1, np.nan, 1), "sample_weight must .* >= 0, got nan in row 1"),
        (np.where(Y == 1, np.inf, 1), "sample_weight must .* >= 0, got inf in row 1"),
        (np.ones(39), r"sample_weight .* each of the 40 rows, got .* shape \(39,\)"),
        (np.ones((40, 2)), r"sample_weight .* each of the 40 rows, got .* \(40, 2\)"),
        (["a"] * 40, "sample_weight must hold numbers: could not convert"),
        (np.full(40, 1e308), "weights by sample_weight .* too large: their sum overfl"),
        (HUGE, "sample_weight must hold numbers: .*too large"),
    ],
)
def test_weights(cls, weight, words):
    refused(words, cls, sample_weight=weight)


@pytest.mark.parametrize(
    ("class_weight", "words"),
    [
        ({0: 1.0, 1: -1.0}, "'class_weight' parameter of LGBMClassifier.*>= 0"),
        ({0: 1.0, 1: np.nan}, "'class_weight' parameter of LGBMClassifier.*finite"),
        ({0: 0, 1: 0}, "sample_weight and class_weight are all zero"),
        ({"no": 1.0}, "class_weight"),
        ("uniform", "'class_weight' parameter of LGBMClassifier must be"),
    ],
)
def test_class_weights(class_weight, words):
    refused(words, LGBMClassifier, class_weight=class_weight)


def test_weights_of_rows_and_classes_together():
    weight = np.where(Y == 0, 1.0, 0.0)
    words = "weights by sample_weight and class_weight are all zero"
    refused(words, LGBMClassifier, sample_weight=weight, class_weight={0: 0, 1: 1})
    words = "weights by sample_weight and class_weight are too large"
    huge = {0: 1e300, 1: 1e300}
    refused(words, LGBMClassifier, sample_weight=np.full(40, 1e300), class_weight=huge)


def test_a_regressor_has_no_classes():
    words = "'class_weight' parameter of LGBMRegressor must be None"
    refused(words, LGBMRegressor, class_weight="balanced")


# --- Objectives -----------------------------------------------------------------------


def test_objective_and_classes_must_fit():
    three = np.arange(40) % 3
    refused(
        "'binary' cannot be used for 3 classes", LGBMClassifier, y=three, loss="binary"
    )
    words = "'multiclass' cannot be used for 2 classes.*'binary'"
    refused(words, LGBMClassifier, objective="softmax")
    words = "'regression' cannot be used for 3 classes"
    refused(words, LGBMClassifier, y=three, objective="mse")
    words = "'binary' is for classification.*LGBMClassifier"
    refused(words, LGBMRegressor, y=three, objective="binary")
    refused("objective='nonsense'", LGBMRegressor, objective="nonsense")


def test_targets_outside_the_objective_s_domain():
    refused("poisson.* targets ", LGBMRegressor, y=Y - 0.5, objective="poisson")
    refused("gamma.* targets ", LGBMRegressor, objective="gamma")


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda y, f: (f[1:], f[1:]), ValueError, "function.*gradient.*shape"),
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


# --- Rankers --------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "eval_"])
def test_sizes_of_queries_whose_sum_wraps_round(prefix):
    sizes = np.array([2**63 - 1, 2**63 - 1, 42])
    given = {"group": sizes}
    if prefix:
        given = {"group": [40], "eval_X": X[:], "eval_y": Y, "eval_group": [sizes]}
    with pytest.raises(ValueError, match=f"The sizes in {prefix}group sum to 184467"):
        LGBMRanker(n_estimators=2).fit(X, Y, **given)


def test_gains_must_not_overflow():
    ranker = LGBMRanker(n_estimators=2, label_gain=[0, 1.7e308])
    with pytest.raises(ValueError, match="values of label_gain are too large"):
        ranker.fit(X, Y, group=[40])


# --- Options --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("categorical_feature", [0]),
        ("monotone_constraints", [0, 1, 0]),
        ("interaction_constraints", [[0, 1], [2]]),
    ],
)
def test_lists_that_can_be_read_but_once_are_refused(option, values):
    whole = np.abs(np.rint(X))
    small(LGBMRegressor, **{option: values}).fit(whole, Y)
    words = f"The '{option}' parameter of LGBMRegressor must be"
    refused(words, LGBMRegressor, X=whole, **{option: (v for v in values)})
    if option == "categorical_feature":
        with pytest.raises(ValueError, match=words):
            small(LGBMRegressor).fit(whole, Y, categorical_feature=iter(values))
