"""The option ``date_features``: models that compute parts of dates."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV as SklearnGridSearchCV

import skgoss
from helpers.reading import n_calls
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    cv,
    train,
)
from skgoss.columns import dates
from skgoss.model_selection import GridSearchCV

RNG = np.random.default_rng(0)
N = 900
SOLD = pd.Timestamp("2021-03-01") + pd.to_timedelta(
    RNG.integers(0, 3 * 365 * 24, N), unit="h"
)
PAID = SOLD + pd.to_timedelta(RNG.integers(0, 40, N), unit="D")
X = pd.DataFrame(
    {
        "price": RNG.normal(size=N),
        "sold": SOLD,
        "shop": pd.Categorical(RNG.choice(["a", "b", "c"], N)),
        "paid": PAID.normalize(),
    }
)
X.loc[[3, 500], "sold"] = pd.NaT
HOUR = X["sold"].dt.hour.fillna(0).to_numpy()
WEEKEND = (X["paid"].dt.day_of_week >= 5).to_numpy()
Y = 0.3 * HOUR + 2.0 * WEEKEND + X["price"].to_numpy() + 0.05 * RNG.normal(size=N)
AUTO = ["month", "day", "day_of_week", "day_of_year", "hour"]
NAMES = [
    *X.columns,
    *(f"sold[{part}]" for part in AUTO),
    *(f"paid[{part}]" for part in AUTO[:-1]),
]
NEW = X.iloc[:40].assign(sold=X["sold"][:40] + pd.Timedelta(days=400, hours=5))


def numbers(X, names=NAMES):
    """The columns that a model computes, by pandas alone."""
    made = X.copy()
    for name in names[len(X.columns) :]:
        column, part = name[:-1].split("[")
        made[name] = getattr(X[column].dt, part).astype(float)
    for name in ("sold", "paid"):
        made[name] = dates.days_of_array(X[name].to_numpy())
    return made


@pytest.fixture(scope="module")
def model():
    return LGBMRegressor(n_estimators=30).fit(X, Y)


def assert_same_trees(model, same):
    for name, values in model._model.trees.arrays.items():
        np.testing.assert_array_equal(values, same._model.trees.arrays[name], name)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"linear_tree": True},
        {"extra_trees": True},
        {"subsample_for_bin": 300, "colsample_bytree": 0.7},
        {"data_sample_strategy": "goss"},
        {"objective": "quantile", "alpha": [0.1, 0.9]},
        {"objective": "normal"},
    ],
)
def test_it_is_a_fit_of_more_columns(options):
    model = LGBMRegressor(n_estimators=20, **options).fit(X, Y)
    assert model._model.all_feature_names == NAMES
    same = LGBMRegressor(n_estimators=20, **options).fit(numbers(X), Y)
    assert_same_trees(model, same)
    for rows in (X, NEW, NEW[:1]):
        np.testing.assert_array_equal(model.predict(rows), same.predict(numbers(rows)))


def test_threads_do_not_matter():
    models = [LGBMRegressor(n_estimators=10, n_jobs=n).fit(X, Y) for n in (1, 3)]
    assert_same_trees(*models)


@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_later_rows_may_come_in_other_forms(model, library, unit):
    rows = NEW.astype({"sold": f"M8[{unit}]", "paid": f"M8[{unit}]"})
    if library == "polars":
        rows = pl.from_pandas(rows)
    if library == "pyarrow":
        rows = pa.Table.from_pandas(rows)
    np.testing.assert_array_equal(model.predict(rows), model.predict(NEW))


def test_all_libraries_give_the_same_model(model):
    for data in (pl.from_pandas(X), pa.Table.from_pandas(X)):
        assert_same_trees(model, clone(model).fit(data, Y))


def test_rows_of_objects_can_be_predicted(model):
    rows = NEW.astype(object).to_numpy()
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict(rows)
    np.testing.assert_array_equal(found, model.predict(NEW))


def test_arrays_of_dates_are_read():
    array = X[["sold", "paid"]].to_numpy(dtype="M8[s]")
    model = LGBMRegressor(n_estimators=10).fit(array, Y)
    frame = LGBMRegressor(n_estimators=10).fit(X[["sold", "paid"]], Y)
    assert_same_trees(model, frame)
    np.testing.assert_array_equal(
        model.predict(array), frame.predict(X[["sold", "paid"]])
    )
    assert model._model.all_feature_names[2] == "Column_0[month]"


def test_missing_constant_and_later_dates_are_predicted(model):
    for value in (pd.NaT, pd.Timestamp("1700-01-01"), pd.Timestamp("2262-01-01")):
        assert np.isfinite(model.predict(NEW.assign(sold=value))).all()
    for value in (pd.NaT, pd.Timestamp("2024-02-29 12:30")):
        constant = X.assign(sold=value)
        plain = LGBMRegressor(n_estimators=5).fit(constant, Y)
        without = LGBMRegressor(n_estimators=5).fit(X.drop(columns="sold"), Y)
        np.testing.assert_array_equal(
            plain.predict(NEW), without.predict(NEW.drop(columns="sold"))
        )
        assert "sold[hour]" not in plain._model.all_feature_names


def test_orders_and_copies_do_not_matter():
    order = np.random.default_rng(1).permutation(N)
    weight = np.arange(N) % 3.0
    # Rows of weight 0 are not seen, not even the time between them.
    data = X.copy()
    data.loc[weight == 0, "paid"] = pd.Timestamp("1990-01-01 03:05")
    copies = np.repeat(np.arange(N), weight.astype(int))
    options = {"n_estimators": 10, "min_child_samples": 1, "min_data_in_bin": 1}
    model = LGBMRegressor(**options).fit(data, Y, sample_weight=weight)
    assert model._model.all_feature_names == NAMES
    for at, weights in ((order, weight[order]), (copies, None)):
        same = LGBMRegressor(**options).fit(data.iloc[at], Y[at], sample_weight=weights)
        np.testing.assert_array_equal(model.predict(X), same.predict(X))


def test_users_see_their_columns(model):
    assert model.n_features_in_ == model.booster_.num_feature() == 4
    names = ["price", "sold", "shop", "paid"]
    assert model.feature_names_in_.tolist() == model.feature_name_ == names
    for kind in ("split", "gain"):
        found = model._model.importances(kind)
        total = model._model.trees.importances(kind)
        assert found.shape == (4,)
        assert found.sum() == pytest.approx(total.sum())
        assert found[1] == pytest.approx(total[[1, 4, 5, 6, 7, 8]].sum())
    table = model.booster_.trees_to_dataframe()
    assert {"sold[hour]", "paid[day_of_week]"} < set(table.split_feature)


def test_explanations_are_exact(model):
    values = model.predict(NEW, pred_contrib=True)
    same = LGBMRegressor(n_estimators=30).fit(numbers(X), Y)
    whole = same.predict(numbers(NEW), pred_contrib=True)
    assert values.shape == (40, 5)
    np.testing.assert_allclose(values[:, 1], whole[:, [1, 4, 5, 6, 7, 8]].sum(axis=1))
    np.testing.assert_allclose(values[:, 3], whole[:, [3, 9, 10, 11, 12]].sum(axis=1))
    scores = model.predict(NEW, raw_score=True)
    np.testing.assert_allclose(values.sum(axis=1), scores, rtol=1e-10)
    inner = model.predict(NEW, pred_interactions=True)
    np.testing.assert_allclose(inner.sum(axis=-1), values, atol=1e-10)
    np.testing.assert_allclose(inner, inner.swapaxes(1, 2), atol=1e-12)


@pytest.mark.parametrize("interactions", [False, True])
def test_parts_have_values_of_their_own_on_request(model, interactions):
    pytest.importorskip("shap")
    shown = model.explain(NEW, include_computed=True, interactions=interactions)
    assert shown.feature_names == NAMES
    assert shown.values.shape == (40, *(13,) * (1 + interactions))
    assert shown.display_data[0, 1] == NEW["sold"].iloc[0]
    np.testing.assert_array_equal(
        shown.data[:, 4:], numbers(NEW).to_numpy()[:, 4:].astype(float)
    )
    shared = model.explain(NEW, interactions=interactions)
    axes = tuple(range(1, shown.values.ndim))
    np.testing.assert_allclose(
        shared.values.sum(axis=axes), shown.values.sum(axis=axes)
    )
    np.testing.assert_array_equal(shared.data[:, 1], numbers(NEW)["sold"])


def test_saved_models_predict_the_same(model, tmp_path):
    zoned = X.assign(
        sold=X["sold"].dt.tz_localize(
            "Europe/Paris", ambiguous="NaT", nonexistent="NaT"
        )
    )
    for fitted, rows in ((model, NEW), (clone(model).fit(zoned, Y), zoned)):
        expected = fitted.predict(rows)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(rows), expected)
        fitted.to_file(tmp_path / "model.txt")
        again = LGBMRegressor.from_file(tmp_path / "model.txt")
        np.testing.assert_array_equal(again.predict(rows), expected)
        assert again.n_features_in_ == 4
        text = Booster(model_file=tmp_path / "model.txt")
        np.testing.assert_array_equal(text.predict(rows), expected)
        assert text.model_to_string() == fitted.booster_.model_to_string()
        assert again._model.schema.dates == fitted._model.schema.dates


def test_lightgbm_predicts_what_the_transformers_return(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    for options in ({}, {"pair_features": "sums"}):
        model = LGBMRegressor(n_estimators=20, **options).fit(X, Y)
        model.to_file(tmp_path / "model.txt")
        made = model.date_features_.transform(NEW)
        if options:
            made = model.pair_features_.transform(made)
        assert made.columns.tolist() == model._model.all_feature_names
        theirs = lightgbm.Booster(model_file=tmp_path / "model.txt")
        np.testing.assert_allclose(theirs.predict(made), model.predict(NEW), rtol=1e-9)


def test_models_without_dates_have_no_transformer(model):
    plain = LGBMRegressor(n_estimators=2).fit(X[["price"]], Y)
    for fitted in (plain, plain.booster_):
        with pytest.raises(AttributeError, match="has no dates"):
            fitted.date_features_  # noqa: B018
    assert model.booster_.date_features_.dates_ == {1: None, 3: None}


@pytest.mark.parametrize(
    "options", [{}, {"pair_features": True, "date_features": ["second", "day_of_year"]}]
)
def test_onnx(options):
    runtime = pytest.importorskip("onnxruntime")
    data = X.drop(columns="shop")
    model = LGBMRegressor(n_estimators=20, **options).fit(data, Y)
    graph = skgoss.to_onnx(model, data)
    session = runtime.InferenceSession(graph.SerializeToString())
    rows = numbers(NEW)[data.columns]
    inputs = {name: rows[[name]].to_numpy(float) for name in data.columns}
    (values,) = session.run(None, inputs)
    expected = model.predict(NEW.drop(columns="shop"))
    np.testing.assert_allclose(values.ravel(), expected, rtol=1e-10)


def test_training_continues_with_the_same_parts(model):
    more = LGBMRegressor(n_estimators=5).fit(X, Y, init_model=model)
    whole = LGBMRegressor(n_estimators=35).fit(X, Y)
    np.testing.assert_array_equal(more.predict(NEW), whole.predict(NEW))
    few = X[:50].assign(sold=pd.Timestamp("2022-01-01"))
    more = LGBMRegressor(n_estimators=5).fit(few, Y[:50], init_model=model)
    assert more._model.all_feature_names == NAMES
    refitted = model.booster_.refit(X, Y)
    assert np.isfinite(refitted.predict(NEW)).all()
    booster = train({"verbosity": -1}, Dataset(X, Y), 5, init_model=model)
    np.testing.assert_array_equal(
        booster.predict(NEW),
        LGBMRegressor(n_estimators=5).fit(X, Y, init_model=model).predict(NEW),
    )


@pytest.mark.parametrize("estimator", [LGBMRegressor, LGBMClassifier, LGBMRanker])
def test_evaluation_sets_have_the_parts(estimator):
    data = (
        {"group": [100] * 4, "eval_group": [[500]]} if estimator is LGBMRanker else {}
    )
    y = Y if estimator is LGBMRegressor else (Y > 3).astype(int)
    later = X[400:].astype({"sold": "M8[ms]"})
    model = estimator(n_estimators=10)
    model.fit(X[:400], y[:400], eval_set=[(later, y[400:])], **data)
    plain = estimator(n_estimators=10)
    names = model._model.all_feature_names
    made = numbers(X, names)
    plain.fit(made[:400], y[:400], eval_set=[(made[400:], y[400:])], **data)
    assert model.evals_result_ == plain.evals_result_


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 3},
        {"early_stopping_round": 5},
        {"folds": 3, "pair_features": "sums"},
        {"preset": "accurate", "time_limit": 20.0, "n_estimators": 60},
    ],
)
def test_folds_early_stopping_and_presets(options):
    options = {"random_state": 0, **options}
    model = LGBMRegressor(**options).fit(X, Y)
    assert model.n_features_in_ == 4
    assert np.mean((model.predict(X) - Y) ** 2) < 0.1 * np.var(Y)
    if not {"preset", "pair_features"} & options.keys():
        same = LGBMRegressor(**options).fit(numbers(X), Y)
        assert model.n_estimators_ == same.n_estimators_
        np.testing.assert_array_equal(model.predict(NEW), same.predict(numbers(NEW)))


def test_pairs_are_made_of_days():
    y = (X["paid"] - X["sold"]).dt.days.fillna(0).to_numpy().astype(float)
    data = X[["price", "sold", "paid"]]
    model = LGBMRegressor(n_estimators=30, pair_features="sums").fit(data, y)
    plain = LGBMRegressor(n_estimators=30).fit(data, y)
    errors = [np.mean((m.predict(data) - y) ** 2) for m in (model, plain)]
    assert errors[0] < 0.5 * errors[1]
    parts, pairs = (
        model._model.schema.computed.parts,
        model._model.schema.computed.pairs,
    )
    assert len(parts) == 9
    assert {j for pair in pairs.state() for j in pair[::3]} == {0, 1, 2}
    values = model.predict(data, pred_contrib=True)
    np.testing.assert_allclose(values.sum(axis=1), model.predict(data), rtol=1e-9)


def test_searches_share_no_bins_of_other_parts():
    grid = {"date_features": [[], ["hour"], "auto"], "n_estimators": [5, 10]}
    ours = GridSearchCV(LGBMRegressor(), grid, cv=3).fit(X, Y)
    theirs = SklearnGridSearchCV(LGBMRegressor(), grid, cv=3).fit(X, Y)
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"]
    )
    assert ours.best_params_["date_features"] == "auto"


# --- The option -----------------------------------------------------------------------


def test_the_option_lists_parts():
    for asked, expected in (
        ([], []),
        (("second", "month"), ["second", "month"]),
        ("month", ["month"]),
        (True, AUTO),
    ):
        model = LGBMRegressor(n_estimators=2, date_features=asked)
        model.fit(X[["sold"]], Y)
        names = [f"sold[{part}]" for part in expected]
        assert model._model.all_feature_names == ["sold", *names]
        text = model.booster_.model_to_string()
        again = Booster(model_str=text)
        np.testing.assert_array_equal(
            again.predict(NEW[["sold"]]), model.predict(NEW[["sold"]])
        )


@pytest.mark.parametrize(
    "asked", ["week", ["month", "month"], [1], 3, {"month"}, "auto,month"]
)
def test_other_values_are_refused(asked):
    model = LGBMRegressor(date_features=asked)
    if asked == {"month"}:
        assert model.fit(X, Y)._model.all_feature_names[-1] == "paid[month]"
        return
    with pytest.raises((ValueError, TypeError), match="date_features"):
        model.fit(X, Y)


def test_dates_can_be_an_error():
    with pytest.raises(ValueError, match=r"'sold' holds dates.*X\['sold'\].dt.year"):
        LGBMRegressor(date_features=False).fit(X, Y)


def test_constraints_know_the_parts():
    data = X[["price", "sold", "paid"]]
    rising = LGBMRegressor(n_estimators=20, monotone_constraints={"sold": 1}).fit(
        data, Y
    )
    later = [
        NEW[["price", "sold", "paid"]].assign(sold=NEW["sold"] + pd.Timedelta(days=d))
        for d in (0, 146_097)
    ]
    first, second = map(
        rising.predict, later
    )  # after 400 years, all parts are the same
    assert (second >= first).all()
    sets = [["price", "sold"], ["paid"]]
    apart = LGBMRegressor(n_estimators=20, interaction_constraints=sets).fit(data, Y)
    table = apart.booster_.trees_to_dataframe().dropna(subset="split_feature")
    for _, names in table.groupby("tree_index")["split_feature"]:
        columns = {name.partition("[")[0] for name in names}
        assert columns <= {"price", "sold"} or columns <= {"paid"}
    assert {"sold[hour]", "paid[day_of_week]"} < set(table["split_feature"])
    none = LGBMRegressor(n_estimators=20, feature_contri={"sold": 0.0}).fit(data, Y)
    assert none.feature_importances_[1] == 0
    assert none.feature_importances_[2] > 0
    few = LGBMRegressor(n_estimators=2, max_bin_by_feature={"sold": 3}).fit(data, Y)
    assert few.feature_importances_[1] > 0


def test_rows_elsewhere_are_refused_with_the_remedy(tmp_path):
    words = r"holds dates.*DateFeatures\(\).fit_transform"
    with pytest.raises(ValueError, match=words):
        train({"verbosity": -1}, Dataset(X, Y), 2)
    with pytest.raises(ValueError, match=words):
        cv({"verbosity": -1}, Dataset(X, Y), 2)
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.Table.from_pandas(X.assign(y=Y)), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match=words):
        LGBMRegressor(n_estimators=2).fit(tmp_path / "rows.parquet", "y")
    model = LGBMRegressor(n_estimators=2).fit(X, Y)
    found = model.predict(tmp_path / "rows.parquet")
    np.testing.assert_array_equal(found, model.predict(X))


def test_predicting_a_row_without_dates_takes_no_more_calls(model):
    plain = LGBMRegressor(n_estimators=30).fit(numbers(X)[["price", "paid"]], Y)
    row = numbers(X)[["price", "paid"]][:1]
    plain.predict(row)
    other = LGBMRegressor(n_estimators=30, date_features=False)
    other.fit(numbers(X)[["price", "paid"]], Y).predict(row)
    assert n_calls(lambda: plain.predict(row)) == n_calls(lambda: other.predict(row))


@pytest.mark.parametrize(
    "zones", [{4: None}, {-1: None}, {"sold": None}, {1: 3}, [1], None]
)
def test_damaged_states_are_refused(model, zones):
    state = model._model.state()
    assert state["dates"] == {1: None, 3: None}
    with pytest.raises(ValueError, match="dates"):
        type(model._model).from_state({**state, "dates": zones})
