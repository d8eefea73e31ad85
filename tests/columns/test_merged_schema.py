"""Columns and categories of parts become those of all rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from helpers.parts_of_rows import assert_same_mappers, assert_same_parts, read
from helpers.ranks import deal, run
from skgoss import Booster, LGBMRegressor
from skgoss.columns.stacked import Stack
from skgoss.distributed.collectives import ALONE
from skgoss.distributed.row_partition import Parts
from skgoss.fit.arguments import FitArguments


@pytest.mark.parametrize("is_stacked", [False, True])
def test_categories_named_by_the_option(is_stacked):
    random = np.random.default_rng(1)
    X = random.integers(-2, 40, (600, 4)).astype(float)
    X[:, 3] = random.integers(0, 3, 600)
    X[random.random(600) < 0.1, 0] = np.nan
    y = random.normal(size=600)
    dealt = deal(600, 3, seed=5)
    given = {"categorical_feature": [0, 3], "is_stacked": is_stacked}
    with pytest.warns(UserWarning, match="negative numbers count as missing"):
        assert_same_parts(LGBMRegressor, X, y, dealt, **given)
    # Stored zeros, none, and zeros that are not stored, on one process or another.
    rows = sp.csr_array(np.abs(np.nan_to_num(X)))
    assert_same_parts(LGBMRegressor, rows, y, dealt, **given)
    objects = np.where(np.isnan(X), None, np.abs(np.nan_to_num(X)).astype(int))
    objects[:, 3] = np.array(["a", "b", None], dtype=object)[X[:, 3].astype(int)]
    assert_same_parts(LGBMRegressor, objects, y, dealt, **given)


def in_one_stack(frames):
    """The categories and bins of frames that one process holds in pieces."""
    estimator = LGBMRegressor(min_child_samples=1, min_data_in_bin=1)
    lengths = dict(enumerate(map(len, frames)))
    rows = Stack(frames, [f"part {part}" for part in lengths])
    target = np.arange(rows.shape[0], dtype=float)
    parts = Parts(ALONE, lengths)
    fit, dataset, _ = read(estimator, rows, target, FitArguments(), parts)
    return fit.schema.categories, dataset.mappers


def test_categories_of_frames_that_differ():
    frames = [
        pd.DataFrame({"c": values, "n": np.arange(3.0)})
        for values in (
            pd.Categorical(["b", "a", None], categories=["b", "unused", "a"]),
            pd.Series([None, None, None], dtype=object),
            pd.Categorical(["d", "b", "c"], categories=["d", "c", "b"]),
        )
    ]

    def make():
        return LGBMRegressor(min_child_samples=1, min_data_in_bin=1)

    def work(collectives):
        estimator, parts = make(), Parts(collectives, {collectives.rank: 3})
        X = frames[collectives.rank]
        fit, dataset, _ = read(estimator, X, np.arange(3.0), FitArguments(), parts)
        return fit.schema.categories, dataset.mappers

    whole = make()
    rows = pd.concat([X.astype({"c": object}) for X in frames])
    fit, dataset, _ = read(whole, rows, np.arange(9.0), FitArguments())
    for known, mappers in [*run(3, work), in_one_stack(frames)]:
        assert known.__getstate__() == fit.schema.categories.__getstate__()
        assert_same_mappers(mappers, dataset.mappers)
    assert [mapper.n_bins for mapper in dataset.mappers] == [5, 3]


@pytest.mark.parametrize("second", [[1.0, 3], [None, None], ["x", "y"]])
def test_missing_values_alone_have_no_kind(second):
    frames = [
        pd.DataFrame({"c": pd.Series(values, dtype=object), "n": [1.0, 2]})
        for values in ([None, None], second)
    ]

    def work(collectives):
        estimator = LGBMRegressor(min_child_samples=1, min_data_in_bin=1)
        parts = Parts(collectives, {collectives.rank: 2})
        X = frames[collectives.rank]
        fit, dataset, _ = read(estimator, X, np.arange(2.0), FitArguments(), parts)
        return fit.schema.categories, dataset.mappers

    whole = LGBMRegressor(min_child_samples=1, min_data_in_bin=1)
    fit, dataset, _ = read(whole, pd.concat(frames), np.arange(4.0), FitArguments())
    for known, mappers in [*run(2, work), in_one_stack(frames)]:
        assert known.__getstate__() == fit.schema.categories.__getstate__()
        assert_same_mappers(mappers, dataset.mappers)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            {"a": [1.0]},
            "number of columns of X must be the same .* is 2 in part 0 and 1",
        ),
        (
            {"a": [1.0], "c": ["x"]},
            "name of column 1 .* 'b' in part 0 and 'c' in parts? 1",
        ),
        ({"a": [1.0], "b": [2.0]}, "What column 1 holds .* 'strings or categories' in"),
        (np.ones((1, 2)), "Whether the columns have names .* True in part 0 and False"),
        (
            {"a": [1.0], "b": pd.Categorical(["x"], ordered=True)},
            "'strings or categories' in part 0 and .the ordered categories",
        ),
    ],
)
def test_columns_must_be_the_same(second, message):
    frames = [pd.DataFrame({"a": [1.0], "b": ["x"]}), second]
    if isinstance(second, dict):
        frames[1] = pd.DataFrame(second)

    def work(collectives):
        own = {1: 1, 2: 0} if collectives.rank else {0: 1}
        X, parts = frames[collectives.rank], Parts(collectives, own)
        read(LGBMRegressor(), X, np.ones(1), FitArguments(), parts)

    with pytest.raises(ValueError, match=message):
        run(2, work)
    with pytest.raises(ValueError, match=message):
        in_one_stack(frames)


def test_what_cannot_be_spread():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)

    for estimator, message in (
        (LGBMRegressor(linear_tree=True), "linear_tree=True cannot be used with rows"),
        (LGBMRegressor(max_conflict_rate=0.1), "max_conflict_rate=0.1 cannot be used"),
    ):
        with pytest.raises(ValueError, match=message):
            run(2, lambda e, model=estimator: work_of(e, model, X, y))


def work_of(collectives, estimator, X, y):
    parts = Parts(collectives, {collectives.rank: 6})
    read(clone(estimator), X, y, FitArguments(), parts)


@pytest.mark.parametrize("of_others", [False, True])
def test_models_that_are_continued_know_the_categories(of_others):
    random = np.random.default_rng(6)
    X = np.column_stack([random.integers(0, 9, 300) * 2, random.normal(size=300)])
    y = random.normal(size=300)
    earlier = LGBMRegressor(n_estimators=2).fit(X[:99], y[:99], categorical_feature=[0])
    if of_others:
        text = earlier.booster_.model_to_string()
        text = "\n".join(x for x in text.splitlines() if "skgoss" not in x)
        earlier = Booster(model_str=text)
        assert earlier._model.is_foreign
    assert_same_parts(LGBMRegressor, X, y, deal(300, 3, seed=2), init_model=earlier)
