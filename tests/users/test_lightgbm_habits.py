"""What scripts for LightGBM rely on, in addition to algorithms: values and names."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import skgoss
from skgoss import Booster, Dataset, LGBMClassifier, LGBMRegressor, cv, train
from skgoss.callback import EvalResult

lightgbm = pytest.importorskip("lightgbm")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] + 0.5 * RNG.normal(size=300) > 0) * 1.0
CLASSES = np.digitize(X[:, 0], [-0.5, 0.5])
SMALL = {"num_leaves": 7, "verbosity": -1}


def dataset(**options):
    return Dataset(X, Y, **options)


# --- Values ---------------------------------------------------------------------------


def test_none_is_not_given():
    nothing = {"num_leaves": None, "max_bin": None, "seed": None, "eta": None}
    nothing |= {"early_stopping_round": None, "num_class": None, "metric": None}
    expected = train({"verbosity": -1}, dataset(), 5).predict(X)
    for params in (nothing, {**nothing, "verbosity": -1}):
        found = train(params, dataset(params={"max_bin": None}), 5)
        np.testing.assert_array_equal(found.predict(X), expected)
        assert not found.params.keys() & nothing.keys()
    assert cv(nothing, dataset(), 2, nfold=2) == cv({}, dataset(), 2, nfold=2)
    model = LGBMRegressor(n_estimators=5, num_leaves=None, max_depth=None)
    assert clone(model).num_leaves is None
    np.testing.assert_array_equal(model.fit(X, Y).predict(X), expected)
    by_alias = LGBMRegressor(num_trees=5, max_leaves=None, eta=None)
    assert (by_alias.num_leaves, by_alias.learning_rate) == (31, 0.1)
    np.testing.assert_array_equal(by_alias.fit(X, Y).predict(X), expected)


def test_none_is_not_given_for_a_batch_size_and_a_file(tmp_path):
    class Rows(skgoss.Sequence):
        batch_size = None

        def __len__(self):
            return len(X)

        def __getitem__(self, index):
            return X[index]

    np.testing.assert_array_equal(
        train(SMALL, Dataset(Rows(), Y), 3).predict(X),
        train(SMALL, dataset(), 3).predict(X),
    )
    path = tmp_path / "rows.csv"
    np.savetxt(path, np.column_stack([Y, X]), delimiter=",")
    none = {"header": None, "label_column": None, "weight_column": None}
    assert Dataset(path, params=none).get_label().tolist() == Y.tolist()


@pytest.mark.parametrize("empty", [[], (), ""])
@pytest.mark.parametrize(
    "option",
    [
        *("eval_at", "label_gain", "auc_mu_weights", "early_stopping_min_delta"),
        *("monotone_constraints", "feature_contri", "max_bin_by_feature", "metric"),
        *("interaction_constraints", "forcedbins_filename"),
    ],
)
def test_empty_lists_are_not_given(option, empty):
    params = {**SMALL, option: empty}
    np.testing.assert_array_equal(
        train(params, dataset(), 3, [dataset()]).predict(X),
        train(SMALL, dataset(), 3).predict(X),
    )
    LGBMClassifier(n_estimators=2, **{option: empty}).fit(X, Y)


def test_numbers_may_be_strings():
    model = LGBMRegressor(num_leaves="7", learning_rate="0.2", n_estimators="3")
    expected = LGBMRegressor(num_leaves=7, learning_rate=0.2, n_estimators=3)
    np.testing.assert_array_equal(
        model.fit(X, Y).predict(X), expected.fit(X, Y).predict(X)
    )
    assert clone(model).num_leaves == "7"


@pytest.mark.parametrize("given", [3, "3", "name:d", [3]])
def test_categorical_columns_as_a_number_or_a_str(given):
    rows = np.column_stack([X[:, :3], RNG.integers(0, 6, len(X))])
    frame = pd.DataFrame(rows, columns=list("abcd"))
    target = Y + np.isin(rows[:, 3], [1, 4])
    expected = train(SMALL, Dataset(frame, target, categorical_feature=["d"]), 3)
    for model in (
        train({**SMALL, "categorical_feature": given}, Dataset(frame, target), 3),
        train(SMALL, Dataset(frame, target, categorical_feature=given), 3),
        LGBMRegressor(n_estimators=3, cat_feature=given, **SMALL).fit(frame, target),
    ):
        np.testing.assert_array_equal(model.predict(frame), expected.predict(frame))


def test_forests_of_one_side_samples():
    options = {"boosting_type": "rf", "data_sample_strategy": "goss"}
    model = LGBMClassifier(n_estimators=20, **options).fit(X, Y)
    assert model.score(X, Y) > 0.8
    with pytest.raises(ValueError, match="needs trees that differ"):
        LGBMClassifier(boosting_type="rf").fit(X, Y)


def test_two_names_in_a_grid_give_a_warning():
    grid = {"eta": [0.1], "learning_rate": [0.2]}
    search = GridSearchCV(LGBMClassifier(n_estimators=2), grid, cv=2)
    with pytest.warns(skgoss.UnusedParameterWarning, match="learning_rate=0.2 is used"):
        best = search.fit(X, Y).best_estimator_
    assert best.learning_rate == 0.2


def test_costs_of_features():
    none = {"cegb_tradeoff": 2.0, "cegb_penalty_split": 0, "parser_config_file": ""}
    none |= {"cegb_penalty_feature_lazy": [], "cegb_penalty_feature_coupled": "0,0"}
    expected = train(SMALL, dataset(), 2).predict(X)
    np.testing.assert_array_equal(
        train({**SMALL, **none}, dataset(), 2).predict(X), expected
    )
    assert not LGBMClassifier(**none).get_params().keys() & none.keys()
    for name, value in (
        ("cegb_penalty_split", 0.1),
        ("cegb_penalty_feature_lazy", [0, 1, 0, 0]),
        ("cegb_penalty_feature_coupled", "0,1"),
    ):
        match = f"no parameter '{name}': it has no effect. Feature costs"
        with pytest.warns(skgoss.UnusedParameterWarning, match=match):
            LGBMClassifier(**{name: value})
        with pytest.warns(skgoss.UnusedParameterWarning, match=match):
            train({**SMALL, name: value}, dataset(), 2)


def test_parsers_of_files():
    given = {"parser_config_file": "parser.json"}
    match = "'parser_config_file' parameter of {} is not available"
    with pytest.raises(ValueError, match=match.format("Dataset")):
        Dataset("rows.csv", params=given)
    with pytest.raises(ValueError, match=match.format("train")):
        train(given, dataset())
    with pytest.raises(ValueError, match=match.format("LGBMRegressor")):
        LGBMRegressor(**given)
    with pytest.raises(ValueError, match=r"'parser_config_file'.* CSV, TSV or LibSVM"):
        LGBMRegressor().set_params(**given)
    assert LGBMRegressor(parser_config_file="").get_params() == (
        LGBMRegressor().get_params()
    )


def test_arrays_hold_categories_and_not_codes():
    numbers = np.arange(300) % 3 * 10
    frame = pd.DataFrame({"a": pd.Categorical(numbers)})
    booster = LGBMRegressor(n_estimators=2).fit(frame, numbers).booster_
    values = numbers[:, None].astype(float)
    np.testing.assert_array_equal(booster.predict(values), booster.predict(frame))
    words = pd.DataFrame({"a": pd.Categorical(numbers.astype(str))})
    booster = LGBMRegressor(n_estimators=2).fit(words, numbers).booster_
    with pytest.raises(ValueError, match="categories"):
        booster.predict(words["a"].cat.codes.to_numpy(dtype=float)[:, None])


@pytest.mark.parametrize("bits", [3, 7, 11])
def test_bits_of_nodes_that_are_not_used_are_ignored(bits):
    frame = pd.DataFrame({"a": pd.Categorical(np.arange(300) % 3)})
    model = LGBMRegressor(n_estimators=1, num_leaves=2).fit(frame, np.arange(300) % 3)
    text = model.booster_.model_to_string()
    assert "decision_type=1\n" in text
    text = text.replace("decision_type=1\n", f"decision_type={bits}\n")
    codes = np.arange(-1.0, 4.0)[:, None]
    read, theirs = Booster(model_str=text), lightgbm.Booster(model_str=text)
    np.testing.assert_array_equal(read.predict(codes), theirs.predict(codes))
    np.testing.assert_array_equal(read.predict(frame), model.predict(frame))
    assert f"decision_type={bits - 2}\n" in read.model_to_string()


def test_words_of_files_are_not_an_objective():
    with pytest.raises(ValueError, match="'regression sqrt' is not known"):
        LGBMRegressor(objective="regression sqrt").fit(X, Y)


def test_ordered_categories_are_codes():
    words = np.array(["u", "v", "w", "x", "y"])
    frame = pd.DataFrame(
        {name: words[RNG.integers(0, 5, 300)] for name in ("a", "b")}, dtype="category"
    )
    target = Y + frame["a"].isin(["u", "x"]) + frame["b"].cat.codes
    options = {"n_estimators": 5, "min_data_per_group": 1, "verbosity": -1}
    for listed, ordered in ((["a"], ["b"]), ([], ["a", "b"])):
        theirs = lightgbm.LGBMRegressor(**options)
        theirs.fit(frame, target, categorical_feature=listed)
        given = frame.assign(**{n: frame[n].cat.as_ordered() for n in ordered})
        ours = LGBMRegressor(**options).fit(given, target, categorical_feature=listed)
        np.testing.assert_allclose(
            ours.predict(given), theirs.predict(frame), atol=1e-5
        )
    with pytest.raises(ValueError, match="ordered categories are numbers"):
        LGBMRegressor().fit(frame, target, categorical_feature=[])


def test_names_that_were_given_to_an_array():
    model = LGBMRegressor(n_estimators=3).fit(X, Y, feature_name=list("abcd"))
    expected = model.predict(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_array_equal(model.predict(frame), expected)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        model.predict(frame.set_axis(list("wxyz"), axis=1))


def test_binary_labels():
    params = {**SMALL, "objective": "binary"}
    expected = train(params, dataset(), 3).predict(X)
    for module in (lightgbm, skgoss):
        signed = module.Dataset(X, 2 * Y - 1)
        found = module.train(params | {"min_data_in_leaf": 20}, signed, 3)
        np.testing.assert_allclose(found.predict(X), expected, atol=0.05)
    with pytest.raises(ValueError, match="the numbers 0 and 1"):
        train(params, Dataset(X, CLASSES), 3)


def test_metrics_of_two_classes_for_several():
    params = {**SMALL, "objective": "multiclass", "num_class": 3}
    data, history = Dataset(X, CLASSES), {}
    record = skgoss.record_evaluation(history)
    metric = ["binary_logloss", "binary_error"]
    train({**params, "metric": metric}, data, 2, [data], callbacks=[record])
    assert list(history["training"]) == ["multi_logloss", "multi_error"]
    two = {**SMALL, "objective": "binary", "metric": "multi_error"}
    with pytest.raises(ValueError, match="'multi_error' cannot be computed"):
        train(two, dataset(), 2, [dataset()])


def test_weights_of_0():
    with pytest.raises(ValueError, match=r"weights by sample_weight .* are all zero"):
        LGBMRegressor().fit(X, Y, sample_weight=np.zeros(300))
    with pytest.raises(ValueError, match="all weights are zero"):
        train(SMALL, dataset(weight=np.zeros(300)), 2)


def test_names_that_are_shown():
    model = LGBMRegressor(n_estimators=2, objective="mse", device="cpu", verbose=-1)
    assert model.fit(X, Y).objective_ == "regression"
    assert "device" not in model.get_params()
    by_alias = LGBMRegressor(eta=0.3).get_params()
    assert by_alias["learning_rate"] == 0.3
    assert "eta" not in by_alias
    assert model.set_params(device="cpu") is model


def test_fields_keep_their_values():
    position = np.tile([15, 8, 27], 100)
    data = dataset(weight=np.ones(300), position=position, group=[300]).construct()
    assert (data.get_position() == position).all()
    assert (data.get_weight() == 1.0).all()
    precise = Dataset(X, Y + 1 / 3).construct()
    assert (precise.get_label() == Y + 1 / 3).all()


def test_refit_returns_a_model():
    model = train(SMALL, dataset(), 3).refit(X, Y)
    assert model.train_set is None
    with pytest.raises(ValueError, match="not in training"):
        model.update()
    again = train(SMALL, dataset(free_raw_data=False), 2, init_model=model)
    assert again.num_trees() == 5


@pytest.mark.parametrize("options", [{"reg_lambda": 5.0}, {"missing": True}])
def test_refitted_leaves_without_slopes_are_those_of_other_trees(options):
    rows = X.copy()
    if options.pop("missing", False):
        rows[::9, 0] = np.nan
    plain = {**SMALL, **options, "objective": "regression"}
    linear = {**plain, "linear_tree": True}
    same = {}
    for module in (lightgbm, skgoss):
        found = [
            module.train(params, module.Dataset(rows, X[:, 0], params=params), 1)
            .refit(rows, X[:, 0] + X[:, 1], decay_rate=0.5)
            .predict(rows)
            for params in (plain, linear)
        ]
        # The first tree has no slopes.
        same[module] = np.allclose(*found)
    assert same == {lightgbm: False, skgoss: True}


@pytest.mark.parametrize("module", [lightgbm, skgoss])
def test_the_name_of_a_training_set_that_is_gone(module):
    rows = module.Dataset(X, Y)
    model = module.train(SMALL, rows, 1, keep_training_booster=True).free_dataset()
    if module is lightgbm:
        assert model.set_train_data_name("train") is model
        return
    with pytest.raises(ValueError, match="not in training"):
        model.set_train_data_name("train")


# --- Parameters of Boosters -----------------------------------------------------------


def test_params_of_a_booster_are_those_that_were_passed():
    params = {"objective": "binary", "eta": 0.2, "max_leaves": 7, "verbose": -1}
    for module in (lightgbm, skgoss):
        data = module.Dataset(X, Y, params={"max_bin": 31})
        model = module.train(params, data, 5)
        assert model.params == {**params, "max_bin": 31, "num_iterations": 5}
        data = module.Dataset(X, Y, params={"max_bin": 31})
        assert module.Booster(params, data).params == {**params, "max_bin": 31}
    kept = pickle.loads(pickle.dumps(model))
    assert kept.params == Booster(model_str=model.model_to_string()).params
    assert kept.params == model.params


@pytest.mark.parametrize("way", ["object", "file", "lightgbm"])
def test_params_can_be_used_again(way):
    params = {
        **{"objective": "multiclass", "num_class": 3, "eval_at": [3]},
        **{"metric": ["multi_logloss", "multi_error"], "lambda_l2": 2.0},
        **{"monotone_constraints": [1, 0, 0, 0], "num_leaves": 5, "verbosity": -1},
        "interaction_constraints": [[0, 1], [2], [3]],
    }
    module = lightgbm if way == "lightgbm" else skgoss
    model = module.train(params, module.Dataset(X, CLASSES), 4)
    if way != "object":
        model = Booster(model_str=model.model_to_string())
    for name in ("metric", "eval_at", "monotone_constraints", "num_class"):
        assert model.params[name] == params[name]
    assert model.params["interaction_constraints"] == [[0, 1], [2], [3]]
    again = train(model.params, Dataset(X, CLASSES))
    expected = train(params, Dataset(X, CLASSES), 4)
    np.testing.assert_array_equal(again.predict(X), expected.predict(X))


def test_params_of_files_are_lists():
    params = {"metric": "auc", "eval_at": [3], "objective": "binary", **SMALL}
    columns = np.column_stack([X[:, :3], RNG.integers(0, 4, 300)])
    for module in (lightgbm, skgoss):
        data = module.Dataset(columns, Y, categorical_feature=[3])
        model = Booster(model_str=module.train(params, data, 2).model_to_string())
        assert model.params["categorical_feature"] == [3]
        assert model.params["eval_at"] == [3]
        assert np.ravel(model.params["metric"]).tolist() == ["auc"]


def test_params_of_an_estimator_have_its_names():
    model = LGBMClassifier(n_estimators=3, reg_lambda=2.0, importance_type="gain")
    params = model.fit(X, Y).booster_.params
    theirs = lightgbm.LGBMClassifier(n_estimators=3, reg_lambda=2.0, verbose=-1)
    for name, value in theirs.fit(X, Y).booster_.params.items():
        if name not in ("verbose", "random_state", "num_threads", "metric"):
            assert params[name] == value
    assert "importance_type" not in params
    function = train({"objective": lambda p, d: (p - Y, np.ones(300))}, dataset(), 2)
    assert function.params["objective"] == "none"


def test_refit_reads_what_was_changed():
    model = train({**SMALL, "eta": 0.3}, dataset(), 4)
    before = model.refit(X, Y, decay_rate=0.0).predict(X)
    model.params["reg_lambda"] = 1e3
    after = model.refit(X, Y, decay_rate=0.0).predict(X)
    assert np.ptp(after) < 0.5 * np.ptp(before)


def test_reset_parameter_takes_all_parameters():
    params = {"objective": "binary", "num_leaves": 7, "eta": 0.1, "max_bin": 31}
    params |= {"device": "cpu", "metric": ["auc"], "monotone_constraints": [1, 0, 0, 0]}
    booster = Booster(params, dataset())
    booster.update()
    booster.reset_parameter({**params, "learning_rate": None, "num_leaves": 4})
    assert booster.params == {**params, "num_leaves": 4} | {"eta": 0.1}
    booster.update()
    assert len(booster.dump_model()["tree_info"][1]["tree_structure"]) > 1
    assert booster.dump_model()["tree_info"][1]["num_leaves"] == 4
    booster.reset_parameter({"learning_rate": 0.5})
    assert "eta" not in booster.params
    booster.reset_parameter({"eta": 0.1})
    booster.update()
    again = Booster(params, dataset())
    for n_leaves in (7, 4, 4):
        again.reset_parameter({"num_leaves": n_leaves})
        again.update()
    np.testing.assert_array_equal(booster.predict(X), again.predict(X))
    for name, value in (("max_bin", 63), ("objective", "regression"), ("metric", "l2")):
        with pytest.raises(ValueError, match=f"cannot change '{name}'"):
            booster.reset_parameter({**params, name: value})
    for wrong in (None, 7, [1]):
        with pytest.raises(TypeError, match="params of reset_parameter must be a dict"):
            booster.reset_parameter(wrong)


def test_a_function_may_reset_all_parameters():
    params = {"objective": "multiclass", "num_class": 3, **SMALL}
    booster = Booster(params, Dataset(X, CLASSES))
    booster.reset_parameter({**params, "learning_rate": 0.3})
    with pytest.raises(ValueError, match="cannot change 'num_class'"):
        booster.reset_parameter({**params, "num_class": 4})


# --- Attributes -----------------------------------------------------------------------


def test_options_by_the_names_that_were_used():
    model = LGBMClassifier(verbose=-1, max_bins=31, n_estimators=2)
    for estimator in (model, clone(model), model.fit(X, Y)):
        assert (estimator.verbose, estimator.max_bins) == (-1, 31)
    with pytest.raises(AttributeError, match="no attribute 'max_bens'"):
        _ = model.max_bens
    with pytest.raises(NotFittedError):
        _ = LGBMClassifier().booster_


def test_attributes_that_callbacks_set_stay():
    def note(env):
        models = getattr(env.model, "boosters", [env.model])
        for model in models:
            model.seen = env.iteration
        env.model.note = "kept"

    model = train(SMALL, dataset(), 4, callbacks=[note])
    assert (model.seen, model.note, model.num_trees()) == (3, "kept", 4)
    assert model.train_set is None
    found = cv(SMALL, dataset(), 4, nfold=2, callbacks=[note], return_cvbooster=True)
    assert [m.seen for m in found["cvbooster"].boosters] == [3, 3]
    assert found["cvbooster"].note == "kept"
    estimator = LGBMRegressor(n_estimators=4).fit(X, Y, callbacks=[note])
    assert (estimator.booster_.seen, estimator.booster_.note) == (3, "kept")
    before = vars(LGBMRegressor(n_estimators=4).fit(X, Y).booster_).keys()
    assert vars(estimator.booster_).keys() - before == {"seen", "note"}


@pytest.mark.parametrize("module", [lightgbm, skgoss])
def test_settings_of_callbacks(module):
    def rate(index):
        return 0.1

    assert [module.early_stopping(n).enabled for n in (-1, 0, 1)] == [0, 0, 1]
    assert module.reset_parameter(eta=rate).kwargs == {"eta": rate}


def test_sets_of_a_booster_in_training():
    data, valid = dataset(), dataset()
    for module in (lightgbm, skgoss):
        data = module.Dataset(X, Y)
        valid = data.create_valid(X[:50], Y[:50])
        booster = module.Booster({"verbosity": -1, "max_bin": 31}, data)
        booster.add_valid(valid, "held out")
        assert booster.valid_sets == [valid]
        assert booster.name_valid_sets == ["held out"]
        assert booster.free_network() is booster
        assert booster.train_set_version == data.version
    trained = train(SMALL, data, 2, [valid])
    assert (trained.valid_sets, trained.name_valid_sets) == ([], [])
    assert trained.train_set_version == 0
    assert valid.get_params()["max_bin"] == 31


def test_dataset_version_counts_fields():
    for module in (lightgbm, skgoss):
        data = module.Dataset(X, Y, weight=Y + 1).construct()
        before = data.version
        data.set_label(Y)
        assert data.version == before + 1
    assert pickle.loads(pickle.dumps(data)).version == data.version


def test_names_of_a_constructed_dataset():
    data = dataset()
    assert data.feature_name == "auto"
    assert data.construct().feature_name == [f"Column_{j}" for j in range(4)]
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = Dataset(frame, Y).construct()
    assert named.feature_name == list("abcd")
    assert named.create_valid(frame, Y).construct().feature_name == list("abcd")
    # They are not those of the user: other fits and pickles are as before.
    assert pickle.loads(pickle.dumps(data)).get_feature_name() == data.feature_name
    model = train(SMALL, named, 2)
    assert model.feature_name() == list("abcd")


def test_fields_can_be_written_to():
    data = dataset(weight=np.ones(300))
    other = train(SMALL, dataset(), 3).predict(X)
    np.testing.assert_array_equal(train(SMALL, data, 3).predict(X), other)
    data.label[:] = 1 - Y
    data.weight[:150] *= 0.5
    expected = Dataset(X, 1 - Y).construct()
    expected.set_weight(data.weight)
    np.testing.assert_array_equal(
        train(SMALL, data, 3).predict(X), train(SMALL, expected, 3).predict(X)
    )
    data.label[0] = np.nan
    with pytest.raises(ValueError, match="label contains NaN"):
        train(SMALL, data, 3)


def test_a_fit_has_its_own_labels():
    data = dataset(weight=np.ones(300) * 0.5)
    expected = train(SMALL, dataset(weight=np.ones(300) * 0.5), 5).predict(X)

    def spoil(env):
        data.label[:] = 0.0
        data.weight[:] = 7.0

    found = train(SMALL, data, 5, callbacks=[spoil])
    np.testing.assert_array_equal(found.predict(X), expected)


def test_the_fifth_item_of_a_result():
    for module in (lightgbm.callback, skgoss.callback):
        result = module.EvalResult("valid", "l2", 0.5, False)
        assert result[4] is None
        assert len(result) == 4
        assert module.EvalResult("valid", "l2", 0.5, False, 0.1)[4] == 0.1
    with pytest.raises(IndexError):
        EvalResult("valid", "l2", 0.5, False)[5]


# --- Methods --------------------------------------------------------------------------


@pytest.mark.parametrize("boosting", ["gbdt", "dart"])
def test_leaves_change_in_training(boosting):
    drops = {"skip_drop": 0.0} if boosting == "dart" else {}
    booster = Booster({**SMALL, "boosting": boosting, **drops}, dataset())
    valid = dataset()
    booster.add_valid(valid, "valid")
    for _ in range(3):
        booster.update()
    booster.set_leaf_output(1, 2, 5.0)
    assert booster.get_leaf_output(1, 2) == pytest.approx(5.0, rel=1e-12)
    (name, metric, value, _) = booster.eval_valid()[0]
    assert (name, metric) == ("valid", "l2")
    assert value == pytest.approx(np.mean((Y - booster.predict(X)) ** 2))
    before = booster.predict(X)
    booster.update()
    assert booster.current_iteration() == 4
    if boosting == "gbdt":
        # The new tree was grown on the changed scores.
        assert np.mean((Y - booster.predict(X)) ** 2) < np.mean((Y - before) ** 2)
        booster.rollback_one_iter()
        np.testing.assert_array_equal(booster.predict(X), before)


def test_leaves_of_earlier_models_stay_in_training():
    first = train(SMALL, dataset(free_raw_data=False), 2)
    booster = train(SMALL, dataset(), 2, init_model=first, keep_training_booster=True)
    with pytest.raises(ValueError, match="it was not grown in this training"):
        booster.set_leaf_output(1, 0, 1.0)
    booster.set_leaf_output(2, 0, 1.0)
    assert booster.get_leaf_output(2, 0) == pytest.approx(1.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("module", [lightgbm, skgoss])
def test_shap_values_have_the_format_of_the_rows(module, classes):
    y = Y if classes == 2 else CLASSES
    model = module.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y)
    for format_ in ("csr", "csc"):
        rows = sparse.csr_matrix(X).asformat(format_)
        for found in (
            model.predict(rows, pred_contrib=True),
            model.booster_.predict(rows, pred_contrib=True),
        ):
            parts = found if isinstance(found, list) else [found]
            assert {part.format for part in parts} == {format_}


def frames():
    frame = pd.DataFrame(X, columns=list("abcd"))
    return {
        "arrays": (X[:, :2], X[:, 2:], X),
        "sparse": (
            sparse.csr_matrix(X[:, :2]),
            sparse.csr_matrix(X[:, 2:]),
            sparse.csr_matrix(X),
        ),
        "pandas": (
            frame[["a", "b"]],
            frame[["c", "d"]].set_axis(np.arange(300)[::-1]),
            frame,
        ),
    }


@pytest.mark.parametrize("kind", frames())
def test_columns_are_added_with_their_data(kind):
    first, second, both = frames()[kind]
    data = Dataset(first, Y, free_raw_data=False)
    data.add_features_from(Dataset(second, free_raw_data=False))
    expected = train({**SMALL, "max_bin": 15}, Dataset(both, Y), 3)
    found = train({**SMALL, "max_bin": 15}, data, 3)
    np.testing.assert_array_equal(found.predict(both), expected.predict(both))
    linear = {**SMALL, "linear_tree": True, "max_bin": 15}
    np.testing.assert_array_equal(
        train(linear, data, 3).predict(both),
        train(linear, Dataset(both, Y), 3).predict(both),
    )


@pytest.mark.filterwarnings("ignore:Resetting categorical features")
@pytest.mark.parametrize("kind", frames())
def test_columns_are_added_from_other_containers(kind):
    names = list("ab")
    both = [*names, "D2_a", "D2_b", "D3_a", "D3_b", "D4_a", "D4_b"]
    for module in (lightgbm, skgoss):
        first = frames()[kind][0]
        data = module.Dataset(first, Y, feature_name=names, free_raw_data=False)
        data.construct()
        for other in ("arrays", "sparse", "pandas"):
            second = frames()[other][0]
            data.add_features_from(
                module.Dataset(
                    second, feature_name=names, free_raw_data=False
                ).construct()
            )
        assert type(data.get_data()) is type(first)
        assert data.get_data().shape == (300, 8)
        assert data.feature_name == both
    found = train({**SMALL, "max_bin": 15}, data, 3)
    expected = train({**SMALL, "max_bin": 15}, Dataset(np.tile(X[:, :2], 4), Y), 3)
    rows = np.tile(X[:, :2], 4)
    np.testing.assert_array_equal(found.predict(rows), expected.predict(rows))


def test_columns_whose_names_are_numbers_are_added():
    first, second = (
        pd.DataFrame(X[:, :2]),
        pd.DataFrame(X[:, 2:], index=range(300)[::-1]),
    )
    data = Dataset(first, Y, feature_name=["a", "b"], free_raw_data=False)
    other = Dataset(second, feature_name=["c", "d"], free_raw_data=False)
    data.add_features_from(other)
    expected = pd.DataFrame(X, columns=list("abcd"))
    pd.testing.assert_frame_equal(data.get_data(), expected)


def test_columns_of_words_are_not_added_to_arrays():
    words = pd.DataFrame({"w": np.array(["u", "v"])[CLASSES % 2]})
    data = Dataset(X, Y, free_raw_data=False)
    data.add_features_from(Dataset(words, free_raw_data=False))
    assert data.data is None
    assert train(SMALL, data, 2).num_feature() == 5
    with pytest.raises(ValueError, match="data were freed"):
        train({**SMALL, "max_bin": 7}, data, 3)


@pytest.mark.parametrize("kind", ["array", "pandas", "sparse"])
def test_linear_trees_of_a_binary_file(tmp_path, kind):
    rows = X.copy()
    rows[RNG.random(X.shape) < 0.2] = 0.0
    data = {
        "array": rows,
        "pandas": pd.DataFrame(rows, columns=list("abcd")).assign(
            e=pd.Categorical(np.array(["x", "y", "z"])[CLASSES])
        ),
        "sparse": sparse.csr_matrix(rows),
    }[kind]
    params = {**SMALL, "linear_tree": True}
    target = X[:, 0] * (1 + Y)
    expected = train(params, Dataset(data, target), 5)
    Dataset(data, target, params=params).save_binary(tmp_path / "rows.bin")
    found = train(params, Dataset(tmp_path / "rows.bin"), 5)
    np.testing.assert_array_equal(found.predict(data), expected.predict(data))
    Dataset(data, target).save_binary(tmp_path / "plain.bin")
    with pytest.raises(ValueError, match="be used with linear_tree: its data were"):
        train(params, Dataset(tmp_path / "plain.bin"), 5)


def test_columns_named_by_whole_numbers_have_no_names():
    """They are taken by position, as scikit-learn takes them."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=[3, 1, 2])
    model = LGBMRegressor(n_estimators=3).fit(X, X[3])
    assert not hasattr(model, "feature_names_in_")
    assert model.feature_name_ == ["Column_0", "Column_1", "Column_2"]
    other = X[[1, 2, 3]]
    for predict in (model.predict, model.booster_.predict):
        np.testing.assert_array_equal(predict(other), predict(other.to_numpy()))
