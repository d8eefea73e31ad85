"""The option ``pair_features``: models that compute columns from pairs of columns."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from helpers.columns_of_pairs import with_pairs
from helpers.reading import n_calls
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRegressor,
    UnusedParameterWarning,
    cv,
    record_evaluation,
    train,
)
from skgoss.columns import computed_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 7))
X[:, 2] *= 8.0
Y = np.abs(X[:, 0] - X[:, 2] / 8) + 0.05 * RNG.normal(size=600)
NEW = RNG.normal(size=(40, 7)) * [1, 1, 8, 1, 1, 1, 1]
NEW[3, 2] = np.nan


@pytest.fixture(scope="module")
def model():
    return LGBMRegressor(n_estimators=30, pair_features=True).fit(X, Y)


@pytest.mark.parametrize("options", [{}, {"linear_tree": True}, {"extra_trees": True}])
def test_it_is_a_fit_of_more_columns(options):
    model = LGBMRegressor(n_estimators=20, pair_features=True, **options).fit(X, Y)
    made = with_pairs(model, X)
    same = LGBMRegressor(n_estimators=20, **options).fit(made, Y)
    np.testing.assert_array_equal(model.predict(X), same.predict(made))
    new = with_pairs(model, NEW)
    np.testing.assert_array_equal(model.predict(NEW), same.predict(new))
    np.testing.assert_array_equal(
        model.predict(NEW, pred_leaf=True), same.predict(new, pred_leaf=True)
    )


@pytest.mark.parametrize("span_bytes", [1, 1 << 20, 1 << 30])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("share", [0.9, 0.3])
def test_pairs_are_binned_in_spans(share, container, span_bytes, monkeypatch):
    monkeypatch.setattr(computed_columns, "SPAN_BYTES", span_bytes)
    rng = np.random.default_rng(0)
    few = rng.integers(-9, 9, (5000, 6)) * (rng.random((5000, 6)) < share)
    few = few.astype(np.float64)
    y = np.abs(few[:, 0] - few[:, 1]) + few[:, 2] * few[:, 3]
    options = {"n_estimators": 5, "subsample_for_bin": 3000, "min_data_in_bin": 1}
    model = LGBMRegressor(pair_features=True, **options)
    sets = [(container(few[:900]), y[:900])]
    model.fit(container(few), y, eval_set=sets)
    same = LGBMRegressor(**options)
    same.fit(
        with_pairs(model, few), y, eval_set=[(with_pairs(model, few[:900]), y[:900])]
    )
    assert_same_trees(model, same)
    assert model.evals_result_ == same.evals_result_
    np.testing.assert_array_equal(
        model.predict(container(few)), same.predict(with_pairs(model, few))
    )


def assert_same_trees(model, same):
    """Check that all numbers of two ensembles are the same."""
    for name, values in model._model.trees.arrays.items():
        np.testing.assert_array_equal(values, same._model.trees.arrays[name], name)


def test_a_fit_keeps_no_more_of_pairs_than_their_bins(monkeypatch):
    n_rows, span_bytes = 100_000, 1 << 20
    monkeypatch.setattr(computed_columns, "SPAN_BYTES", span_bytes)
    many = np.random.default_rng(0).normal(size=(n_rows, 6)).astype(np.float32)
    y = np.abs(many[:, 0] - many[:, 1])
    peaks = []
    for value in (False, True):
        model = LGBMRegressor(n_estimators=2, pair_features=value, n_jobs=1)
        tracemalloc.start()
        try:
            model.fit(many, y, eval_set=[(many[:50_000], y[:50_000])])
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    n_pairs = len(model._model.schema.computed)
    assert n_pairs == 60
    # The bins of both sets are bytes, and may be copied once; a span is in memory.
    assert peaks[1] - peaks[0] < 2 * n_pairs * 1.5 * n_rows + 2 * span_bytes
    assert 2 * 1.5 < 0.5 * 8  # their values would need more


def test_predicting_a_row_takes_few_calls(model):
    plain = LGBMRegressor(n_estimators=30).fit(X, Y)
    for of_model in (model, plain):
        of_model.predict(NEW[:1])
    more = n_calls(lambda: model.predict(NEW[:1]))
    assert more - n_calls(lambda: plain.predict(NEW[:1])) <= 40


def test_it_finds_what_single_columns_cannot_tell(model):
    plain = LGBMRegressor(n_estimators=30).fit(X, Y)
    errors = [np.mean((m.predict(X[300:]) - Y[300:]) ** 2) for m in (model, plain)]
    assert errors[0] < 0.5 * errors[1]
    assert len(model._model.schema.computed) == 60  # four operations of 6 columns


@pytest.mark.parametrize(
    ("value", "operations"), [("sums", "-+"), ("products", "*/"), (True, "-+*/")]
)
def test_operations(value, operations):
    model = LGBMRegressor(n_estimators=2, pair_features=value).fit(X[:, :3], Y)
    symbols = [symbol for _, symbol, *_ in model._model.schema.computed.state()]
    assert "".join(symbols) == operations * 3


def test_units_do_not_matter():
    scaled = X * np.exp2(np.arange(7) - 3)
    options = {"n_estimators": 20, "pair_features": "sums", "linear_tree": True}
    model, same = (LGBMRegressor(**options).fit(data, Y) for data in (X, scaled))
    np.testing.assert_array_equal(model.predict(X), same.predict(scaled))


def test_orders_and_copies_do_not_matter():
    order = np.random.default_rng(1).permutation(600)
    weight = np.arange(600) % 3
    copies = np.repeat(np.arange(600), weight)
    options = {"n_estimators": 10, "pair_features": True, "min_child_samples": 1}
    options["min_data_in_bin"] = 1
    few = X[:, :6]  # among more, the fit that chooses would count rows
    model = LGBMRegressor(**options).fit(few, Y, sample_weight=weight)
    for at, weights in ((order, weight[order]), (copies, None)):
        same = LGBMRegressor(**options).fit(few[at], Y[at], sample_weight=weights)
        assert (
            same._model.schema.computed.state() == model._model.schema.computed.state()
        )
        np.testing.assert_array_equal(model.predict(few), same.predict(few))


def test_users_see_their_columns(model):
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    named = clone(model).fit(frame, Y)
    assert named.n_features_in_ == named.booster_.num_feature() == 7
    assert named.feature_names_in_.tolist() == named.feature_name_ == list("abcdefg")
    assert named.booster_.feature_name() == list("abcdefg")
    assert named.feature_importances_.shape == (7,)
    gains = clone(named).set_params(importance_type="gain").fit(frame, Y)
    total = gains._model.trees.importances("gain").sum()
    assert gains.feature_importances_.sum() == pytest.approx(total)
    assert set(named.feature_importances_.argsort()[-2:]) == {0, 2}
    with pytest.raises(ValueError, match="has 8 features"):
        model.predict(np.column_stack([X, X[:, 0]]))
    table = named.booster_.trees_to_dataframe()
    assert table.split_feature.value_counts().index[0] == "a - 0.118 c"


def test_explanations_are_exact(model):
    values = model.predict(NEW, pred_contrib=True)
    assert values.shape == (40, 8)
    scores = model.predict(NEW, raw_score=True)
    np.testing.assert_allclose(values.sum(axis=1), scores, rtol=1e-10)
    pairs = model.predict(NEW, pred_interactions=True)
    np.testing.assert_allclose(pairs.sum(axis=-1), values, atol=1e-10)
    np.testing.assert_allclose(pairs, pairs.swapaxes(1, 2), atol=1e-12)
    shap = pytest.importorskip("shap")
    explained = model.explain(NEW)
    assert isinstance(explained, shap.Explanation)
    np.testing.assert_array_equal(explained.values, values[:, :-1])
    np.testing.assert_array_equal(explained.data, NEW)
    inner = model.explain(NEW, interactions=True).values
    np.testing.assert_array_equal(inner, pairs[:, :-1, :-1])


@pytest.mark.parametrize("container", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("estimator", [LGBMRegressor, LGBMClassifier])
def test_explanations_of_sparse_rows(estimator, container):
    few = np.where(np.abs(X) < 0.5, 0.0, X)
    y = Y if estimator is LGBMRegressor else np.digitize(Y, [0.5, 1.5])
    model = estimator(n_estimators=5, pair_features=True).fit(container(few), y)
    found = model.predict(container(few[:50]), pred_contrib=True)
    dense = model.predict(few[:50], pred_contrib=True)
    matrices = found if isinstance(found, list) else [found]
    assert {matrix.format for matrix in matrices} == {container(few).format}
    values = np.hstack([matrix.toarray() for matrix in matrices])
    np.testing.assert_allclose(values, dense, atol=1e-12)


@pytest.mark.parametrize("interactions", [False, True])
def test_pairs_have_values_of_their_own_on_request(model, interactions):
    pytest.importorskip("shap")
    n = len(model._model.schema.computed)
    kind = {"interactions": interactions}
    for of_model in (model, model.booster_):
        whole = of_model.explain(NEW, include_computed=True, **kind)
        assert whole.values.shape == (40, *(7 + n,) * (1 + interactions))
        np.testing.assert_array_equal(whole.data, with_pairs(model, NEW))
        assert whole.feature_names == model._model.all_feature_names
        axes = tuple(range(1, whole.values.ndim))
        raw = whole.values.sum(axis=axes) + whole.base_values
        np.testing.assert_allclose(raw, model.predict(NEW, raw_score=True), rtol=1e-10)
        shared = of_model.explain(NEW, **kind)
        pairs = model._model.schema.computed
        added = pairs.shared_out(whole.values, 7, -1, 0.5)
        if interactions:
            added = pairs.shared_out(added, 7, -2, 0.5)
        np.testing.assert_allclose(added, shared.values, atol=1e-12)
        np.testing.assert_array_equal(shared.data, NEW)


def test_pairs_of_a_frame_are_displayed():
    pytest.importorskip("shap")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    frame["word"] = pd.Categorical(np.where(X[:, 3] > 0, "x", "y"))
    model = LGBMRegressor(n_estimators=5, pair_features="sums").fit(frame, Y)
    shown = model.explain(frame[:9], include_computed=True)
    assert shown.feature_names == model._model.all_feature_names
    assert shown.display_data[:, 7].tolist() == frame["word"][:9].tolist()
    made = model.pair_features_.transform(frame[:9])
    np.testing.assert_array_equal(shown.display_data[:, 8:], made.to_numpy()[:, 8:])
    plain = LGBMRegressor(n_estimators=5).fit(frame, Y)
    with pytest.warns(
        UnusedParameterWarning, match="include_computed has no effect: the"
    ):
        same = plain.explain(frame[:9], include_computed=True)
    np.testing.assert_array_equal(same.values, plain.explain(frame[:9]).values)


def test_saved_models_predict_the_same(model, tmp_path):
    expected = model.predict(NEW)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(NEW), expected
    )
    model.to_file(tmp_path / "model.txt")
    again = LGBMRegressor.from_file(tmp_path / "model.txt")
    np.testing.assert_array_equal(again.predict(NEW), expected)
    assert again.n_features_in_ == 7
    text = Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_array_equal(text.predict(NEW), expected)
    assert text.model_to_string() == model.booster_.model_to_string()


def test_lightgbm_predicts_what_the_transformer_appends(model, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    model.to_file(tmp_path / "model.txt")
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt")
    for saved in (model, Booster(model_file=tmp_path / "model.txt")):
        made = saved.pair_features_.transform(NEW)
        np.testing.assert_array_equal(made, with_pairs(model, NEW))
        np.testing.assert_allclose(theirs.predict(made), model.predict(NEW), rtol=1e-12)


def test_lightgbm_predicts_frames_with_categories(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    frame.insert(1, "word", pd.Categorical(np.where(X[:, 3] > 0, "x", "y")))
    y = Y + (X[:, 3] > 0)
    model = LGBMRegressor(n_estimators=20, pair_features="sums", linear_tree=True)
    model.fit(frame, y).to_file(tmp_path / "model.txt")
    made = model.pair_features_.transform(frame)
    assert made.columns.tolist() == model._model.all_feature_names
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt")
    np.testing.assert_allclose(theirs.predict(made), model.predict(frame), rtol=1e-9)


@pytest.mark.parametrize("value", ["sums", "products", True])
def test_the_transformer_of_a_model_can_be_fitted_again(value):
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = LGBMRegressor(n_estimators=3, pair_features=value).fit(frame, Y)
    pairs = model.pair_features_
    again = clone(pairs).fit(frame)
    assert again.pairs_ == pairs.pairs_
    assert again.columns_ == pairs.columns_
    pd.testing.assert_frame_equal(again.transform(frame), pairs.transform(frame))


def test_models_without_pairs_say_how_to_get_them():
    model = LGBMRegressor(n_estimators=2).fit(X, Y)
    with pytest.raises(AttributeError, match="LGBMRegressor computes no pairs of colu"):
        model.pair_features_  # noqa: B018
    with pytest.raises(
        AttributeError, match=r"This Booster .* the option pair_features"
    ):
        model.booster_.pair_features_  # noqa: B018
    with pytest.raises(NotFittedError):
        LGBMRegressor().pair_features_  # noqa: B018


def test_onnx(model):
    runtime = pytest.importorskip("onnxruntime")
    from skgoss import to_onnx

    data = NEW.copy()
    data[5, :] = 0.0
    session = runtime.InferenceSession(to_onnx(model, data).SerializeToString())
    (values,) = session.run(None, {session.get_inputs()[0].name: data})
    np.testing.assert_allclose(values.ravel(), model.predict(data), rtol=1e-12)


def test_training_continues_with_the_same_pairs(model):
    more = LGBMRegressor(n_estimators=5).fit(X, Y, init_model=model)
    whole = LGBMRegressor(n_estimators=35, pair_features=True).fit(X, Y)
    np.testing.assert_array_equal(more.predict(NEW), whole.predict(NEW))
    assert more.n_features_in_ == 7
    refitted = model.booster_.refit(X, Y)
    assert refitted.predict(NEW).shape == (40,)


def test_training_continues_on_a_dataset(model, tmp_path):
    more = LGBMRegressor(n_estimators=5)
    more.fit(X, Y, init_model=model, eval_set=[(X[:99], Y[:99])])
    data = Dataset(X, Y, free_raw_data=False)
    history = {}
    options = {"objective": "regression", "metric": "l2", "verbosity": -1}
    booster = train(
        options,
        data,
        5,
        valid_sets=[Dataset(X[:99], Y[:99], reference=data)],
        init_model=model,
        callbacks=[record_evaluation(history)],
        keep_training_booster=True,
    )
    np.testing.assert_array_equal(booster.predict(NEW), more.predict(NEW))
    assert history == more.evals_result_
    with pytest.raises(
        ValueError, match="cannot be replaced if the model computes col"
    ):
        booster.update(train_set=Dataset(X[:500], Y[:500]))
    # The data set has no pairs, for other fits.
    assert data.num_feature() == 7
    assert not train(options, data, 2)._model.schema.computed
    losses = cv(options, data, 5, nfold=3, init_model=model)["valid l2-mean"]
    assert losses[-1] < history["valid_0"]["l2"][0]
    parquet = pytest.importorskip("pyarrow.parquet")
    frame = pd.DataFrame(X, columns=list("abcdefg")).assign(y=Y)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="columns itself, which need data in memory"):
        more.fit(tmp_path / "rows.parquet", "y", init_model=model)


@pytest.mark.parametrize("options", [{"folds": 3}, {"early_stopping_round": 5}])
def test_folds_and_early_stopping(options):
    model = LGBMRegressor(n_estimators=40, pair_features="sums", **options).fit(X, Y)
    plain = LGBMRegressor(n_estimators=40, **options).fit(X, Y)
    errors = [np.mean((m.predict(X) - Y) ** 2) for m in (model, plain)]
    assert errors[0] < 0.5 * errors[1]
    assert model.n_features_in_ == 7


def test_evaluation_sets_have_the_pairs():
    model = LGBMRegressor(n_estimators=10, pair_features=True)
    model.fit(X[:400], Y[:400], eval_set=[(X[400:], Y[400:])])
    last = model.evals_result_["valid_0"]["l2"][-1]
    error = np.mean((model.predict(X[400:]) - Y[400:]) ** 2)
    assert last == pytest.approx(error)


def test_categories_and_constant_columns_have_no_pairs():
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame["word"] = pd.Categorical(np.where(X[:, 3] > 0, "x", "y"))
    frame["zero"] = 0.0
    model = LGBMClassifier(n_estimators=5, pair_features="sums").fit(frame, Y > 1)
    columns = {j for pair in model._model.schema.computed.state() for j in pair[::3]}
    assert columns == {0, 1, 2}
    one = LGBMRegressor(n_estimators=3, pair_features=True).fit(X[:, :1], Y)
    assert len(one._model.schema.computed) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"monotone_constraints": {0: 1}}, "with monotone_constraints, because"),
        ({"interaction_constraints": [[0, 1]]}, "with interaction_constraints"),
        ({"feature_contri": {0: 0.5}}, "with feature_contri"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(
        ValueError, match=f"pair_features=True cannot be used {message}"
    ):
        LGBMRegressor(pair_features=True, **options).fit(X, Y)


def test_numbers_must_be_in_memory(model):
    with pytest.raises(ValueError, match="if the numbers are not in memory: pass an"):
        train({"pair_features": "sums", "verbosity": -1}, Dataset(X, Y))
    with pytest.raises(ValueError, match="with init_model: pairs that it has are kept"):
        LGBMRegressor(pair_features=True).fit(X, Y, init_model=model)
    with pytest.raises(ValueError, match="'sums', 'products'"):
        LGBMRegressor(pair_features="differences").fit(X, Y)
