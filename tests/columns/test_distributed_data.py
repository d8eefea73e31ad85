import weakref

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from ranks import deal, rows_of, run
from sklearn.base import clone

from skgoss import Booster, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.booster.booster import init_model
from skgoss.columns import queries, targets
from skgoss.columns.collectives import ALONE
from skgoss.columns.columns import RELEASED
from skgoss.columns.row_partition import Parts
from skgoss.columns.stacked import Stack
from skgoss.fit.arguments import FitArguments, evaluation_sets, training_set
from skgoss.fit.fit_data import FitData


def parts_of(collectives, dealt):
    return Parts(collectives, {part: len(rows) for part, rows in dealt.items()})


def deal_queries(sizes, n_ranks, seed):
    """Deal whole queries; returns the row numbers of each part of each process."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return [
        {
            part: np.concatenate(
                [np.empty(0, int), *(np.arange(ends[q], ends[q + 1]) for q in chosen)]
            )
            for part, chosen in parts.items()
        }
        for parts in deal(len(sizes), n_ranks, seed)
    ]


# --- Queries --------------------------------------------------------------------------


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize("kind", ["group", "qid", "words"])
def test_queries_of_parts_have_the_numbers_of_all_rows(n_ranks, kind):
    random = np.random.default_rng(n_ranks)
    sizes = random.integers(0, 6, 40)
    names = random.permutation(100)[:40] * 7 - 50
    names = names.astype(str) if kind == "words" else names
    dealt = deal_queries(sizes, n_ranks, seed=n_ranks)
    qid = np.repeat(names, sizes)
    # Rows of a query need not be consecutive.
    for parts in dealt:
        for rows in parts.values():
            qid[rows] = random.permutation(qid[rows])
    given = {"group": sizes} if kind == "group" else {"qid": qid}
    whole = queries.make(len(qid), **given)
    kept = np.flatnonzero(random.random(len(qid)) < 0.3)
    whole_kept = whole.take(kept)

    def check(collectives):
        parts = dealt[collectives.rank]
        rows = rows_of(parts)
        if kind == "group":
            counts = np.bincount(np.repeat(np.arange(40), sizes)[rows], minlength=40)
            own = {"group": counts[counts > 0]}
        else:
            own = {"qid": qid[rows]}
        got = queries.make(len(rows), **own, parts=parts_of(collectives, parts))
        assert got.n_global == whole.n_queries
        assert np.array_equal(got.global_number[got.number], whole.number[rows])
        assert np.array_equal(got.sizes, whole.sizes[got.global_number])
        at = np.flatnonzero(np.isin(rows, kept))
        left = got.take(at, collectives)
        assert left.n_global == whole_kept.n_queries
        place = np.searchsorted(kept, rows[at])
        assert np.array_equal(left.global_number[left.number], whole_kept.number[place])

    run(n_ranks, check)


def make_queries(own, **given):
    """Make the queries of processes that hold some parts, by number and length."""

    def work(collectives):
        parts = Parts(collectives, own[collectives.rank])
        values = {
            name: np.array(value[collectives.rank], dtype=None if len(value) else int)
            for name, value in given.items()
        }
        return queries.make(parts.n_rows, parts=parts, **values)

    return run(len(own), work)


def test_queries_must_not_be_cut():
    with pytest.raises(ValueError, match=r"Query 3 of qid has rows in the parts 0, 1"):
        make_queries([{0: 2}, {1: 2}], qid=[[3, 4], [5, 3]])
    with pytest.raises(ValueError, match=r"Query 3 of qid has rows in the parts 0, 1"):
        make_queries([{0: 2, 1: 1}, {2: 1}], qid=[[3, 4, 3], [5]])
    with pytest.raises(ValueError, match="query of group has rows in the parts 0, 2"):
        make_queries([{0: 2, 2: 2}, {1: 1}], group=[[1, 2, 1], [1]])
    with pytest.raises(ValueError, match=r"only query has rows in the parts 0, 1 of"):
        make_queries([{0: 2}, {1: 1}])
    with pytest.raises(ValueError, match="What qid holds must be the same"):
        make_queries([{0: 1}, {1: 1}], qid=[["a"], [1]])


def test_all_rows_of_one_part_may_be_one_query():
    first, second = make_queries([{0: 0}, {1: 3}])
    assert first.n_queries == 0
    assert second.n_queries == first.n_global == second.n_global == 1


# --- Rows and bins --------------------------------------------------------------------


def taken(values, rows):
    return values.iloc[rows] if hasattr(values, "iloc") else values[rows]


def stacked(X, parts):
    """The rows of parts in a piece for each, if several have rows."""
    chosen = [part for part in sorted(parts) if len(parts[part])]
    if len(chosen) < 2:
        return taken(X, rows_of(parts))
    names = [f"part {part}" for part in chosen]
    return Stack([taken(X, parts[part]) for part in chosen], names)


def input_sets(estimator, X, y, given, parts=None, eval_parts=()):
    """The sets of a fit, whose rows may be parts of those of all processes."""
    training = training_set(X, y, given, estimator.class_weight)._replace(parts=parts)
    sets = evaluation_sets(given, training)
    eval_parts = eval_parts or [None] * len(sets)
    return [
        training,
        *(s._replace(parts=own) for s, own in zip(sets, eval_parts, strict=True)),
    ]


def read(estimator, X, y, given, parts=None, eval_parts=()):
    """Read the data of a fit: the fit, its rows in bins, and the evaluation sets."""
    training, *others = input_sets(estimator, X, y, given, parts, eval_parts)
    data = FitData(
        training,
        given,
        estimator._settings(X, given),
        estimator._task(estimator._owner),
        init_model(given.init_model),
    )
    data, sets = data.with_held_out([data.evaluation_set(s) for s in others])
    return data, binned(data), sets


def binned(fit):
    rows = fit.rows
    return BinnedDataset.build(
        rows.columns,
        fit.settings,
        weight=rows.scattered_weight(),
        rows=rows.numbers,
        partition=rows.partition,
    )


def assert_same_mappers(got, expected):
    assert len(got) == len(expected)
    for own, others in zip(got, expected, strict=True):
        for value, other in zip(own, others, strict=True):
            assert np.array_equal(value, other)


def assert_same_rows(got, expected, numbers):
    assert len(got) == len(numbers)
    assert np.array_equal(got.partition.numbers, numbers)
    assert got.partition.n_rows == len(expected)
    assert np.array_equal(got.target, expected.target[numbers])
    assert (got.weight is None) == (expected.weight is None)
    if got.weight is not None:
        assert np.array_equal(got.weight, expected.weight[numbers])
    if got.queries is not None:
        assert got.queries.n_global == expected.queries.n_queries
        number = got.queries.global_number[got.queries.number]
        assert np.array_equal(number, expected.queries.number[numbers])


def assert_same_parts(make, X, y, dealt, *, is_stacked=False, **given):
    """Read all rows, and those of processes; returns what was read of all."""
    whole = make()
    expected = read(whole, X, y, FitArguments(**given))
    existing = np.ones(X.shape[0], dtype=bool)
    if given.get("sample_weight") is not None:
        existing = given["sample_weight"] > 0
    place = np.cumsum(existing) - 1

    def work(collectives):
        rows = rows_of(dealt[collectives.rank])
        own = dict(given)
        if own.get("sample_weight") is not None:
            own["sample_weight"] = own["sample_weight"][rows]
        estimator, parts = make(), parts_of(collectives, dealt[collectives.rank])
        data = stacked(X, dealt[collectives.rank]) if is_stacked else taken(X, rows)
        got = read(estimator, data, y[rows], FitArguments(**own), parts)
        schema, classes = got[0].schema, got[0].task.classes
        assert schema.n_features == expected[0].schema.n_features
        state = expected[0].schema.categories.__getstate__()
        assert schema.categories.__getstate__() == state
        if expected[0].task.classes is not None:
            assert np.array_equal(classes, expected[0].task.classes)
            assert classes.dtype == expected[0].task.classes.dtype
        assert_same_data(got, expected, place[rows[existing[rows]]])

    run(len(dealt), work)
    return expected


def assert_same_data(got, expected, numbers):
    (fit, dataset, _), (all_rows, whole, _) = got, expected
    assert_same_mappers(dataset.mappers, whole.mappers)
    assert np.array_equal(dataset.storage.default_bin, whole.storage.default_bin)
    assert np.array_equal(dataset.storage.offset, whole.storage.offset)
    for column in range(len(dataset.feature)):
        assert np.array_equal(dataset.bins(column), whole.bins(column)[numbers])
    assert_same_rows(fit.rows, all_rows.rows, numbers)


def dense(random, n_rows):
    X = random.normal(size=(n_rows, 7)) * [1, 1e-3, 1e30, 1, 1, 1, 1]
    X[:, 1] = random.integers(0, 4, n_rows)
    X[:, 2] = np.round(X[:, 2], -30)
    # Few rows for a leaf, on one process or another.
    X[:, 3] = random.random(n_rows) < 15 / n_rows
    X[:, 4] *= random.random(n_rows) < 0.3
    return X


def with_nan(random, n_rows):
    X = dense(random, n_rows)
    X[random.random(X.shape) < 0.1] = np.nan
    return X


def sparse(random, n_rows):
    X = dense(random, n_rows)
    X[random.random(X.shape) < 0.7] = 0.0
    return sp.csr_array(X)


def frame(random, n_rows):
    X = with_nan(random, n_rows)
    colors = random.choice(
        ["red", "green", "blue", "rare"], n_rows, p=[0.5, 0.3, 0.19, 0.01]
    )
    return pd.DataFrame(
        {
            "number": X[:, 0],
            "float32": X[:, 1].astype(np.float32),
            "whole": random.integers(0, 9, n_rows),
            "flag": random.random(n_rows) < 0.2,
            "word": pd.Series(colors, dtype=object).where(
                random.random(n_rows) < 0.8, None
            ),
            "category": pd.Categorical(random.choice([*"zyxw"], n_rows)),
            "size": pd.Categorical(
                random.choice([*"SML"], n_rows), categories=[*"SMLX"], ordered=True
            ),
            "code": random.integers(-1, 30, n_rows) ** 2,
        }
    )


CONTAINERS = {
    "dense": dense,
    "float32": lambda *args: dense(*args).astype(np.float32),
    "whole": lambda *args: dense(*args)[:, [1, 3]].astype(np.int8),
    "NaN": with_nan,
    "CSR": sparse,
    "CSC": lambda *args: sparse(*args).tocsc(),
    "frame": frame,
}


@pytest.mark.parametrize("is_stacked", [False, True])
@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize("container", CONTAINERS)
def test_bins_of_parts_are_those_of_all_rows(n_ranks, container, is_stacked):
    random = np.random.default_rng(7)
    n_rows = 700
    X = CONTAINERS[container](random, n_rows)
    y = random.normal(size=n_rows)
    weight = random.choice([0, 0.3, 1.5, 2], n_rows)
    dealt = deal(n_rows, n_ranks, seed=n_ranks)
    for options, given in (
        ({}, {}),
        ({"subsample_for_bin": 200, "max_bin": 15}, {"sample_weight": weight}),
        ({"use_missing": False}, {"sample_weight": np.ones(n_rows)}),
        ({"zero_as_missing": True, "min_child_samples": 1}, {}),
    ):
        assert_same_parts(
            lambda o=options: LGBMRegressor(**o),
            *(X, y, dealt),
            is_stacked=is_stacked,
            **given,
        )


@pytest.mark.parametrize("container", ["frame", "CSR", "dense"])
@pytest.mark.parametrize("n_rows", [3, 40])
def test_few_rows(n_rows, container):
    random = np.random.default_rng(n_rows)
    X, y = CONTAINERS[container](random, n_rows), random.normal(size=n_rows)
    dealt = [{0: np.arange(1)}, {1: np.arange(1, 2)}, {2: np.arange(2, n_rows)}]
    # The first two processes have no row that exists, in turn.
    for weight in (np.ones(n_rows), np.arange(n_rows), np.arange(n_rows) != 1):
        weight = weight.astype(float)
        assert_same_parts(
            lambda: LGBMRegressor(min_child_samples=1, min_data_in_bin=1),
            *(X, y, dealt),
            sample_weight=weight,
        )


@pytest.mark.parametrize("is_stacked", [False, True])
@pytest.mark.parametrize("sparse_columns", [False, True])
def test_many_rows_and_columns_share_places(sparse_columns, is_stacked):
    random = np.random.default_rng(0)
    # As many rows as columns in lists need, but on no process alone.
    X = random.normal(size=(5000, 6)) * (random.random((5000, 6)) < 0.2)
    X = sp.csr_array(X) if sparse_columns else X
    y = random.normal(size=5000)
    _, dataset, _ = assert_same_parts(
        LGBMRegressor, X, y, deal(5000, 3, seed=1), is_stacked=is_stacked
    )
    assert (dataset.storage.default_bin >= 0).all()


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


# --- Columns that differ --------------------------------------------------------------


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


# --- Targets, weights and queries -----------------------------------------------------


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
@pytest.mark.parametrize(
    "labels", [[0, 1], [3, 1, 7], ["no", "yes", "why not"], [True]]
)
@pytest.mark.parametrize("class_weight", [None, "balanced", "dict"])
def test_classes_of_parts_are_those_of_all_rows(n_ranks, labels, class_weight):
    random = np.random.default_rng(2)
    X = random.normal(size=(400, 2))
    y = np.array(labels)[random.integers(0, len(labels), 400)]
    # The last label is in few parts.
    y[:300][y[:300] == labels[-1]] = labels[0]
    if class_weight == "dict":
        class_weight = dict.fromkeys(labels, 3.0) | {labels[0]: 0.5}
    for weight in (None, random.random(400) * (random.random(400) < 0.7)):
        assert_same_parts(
            lambda: LGBMClassifier(class_weight=class_weight),
            *(X, y, deal(400, n_ranks, seed=3)),
            sample_weight=weight,
        )


def test_targets_that_differ():
    def learn(first, second, estimator=LGBMClassifier):
        def work(collectives):
            y = (first, second)[collectives.rank]
            X = np.arange(float(len(y)))[:, None]
            parts = Parts(collectives, {collectives.rank: len(y)})
            read(estimator(), X, np.array(y), FitArguments(), parts)

        run(2, work)

    with pytest.raises(
        ValueError, match=r"What y holds .* 'numbers' in part 0 and 'str"
    ):
        learn([0, 1], ["a", "b"])
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        learn([0.0, 1.0], [0.5, 1.0])
    with pytest.raises(ValueError, match="Input y contains NaN"):
        learn([0.0, 1.0], [0.0, np.nan])
    with pytest.raises(ValueError, match="values of y are too large: their sum"):
        learn([1e308], [1e308], LGBMRegressor)


def test_the_number_of_labels_is_that_of_all_rows():
    # A fit of one process's rows would warn that most rows have labels of their own.
    def work(collectives):
        y = np.arange(40) + 0.0
        parts = Parts(collectives, {collectives.rank: 40})
        return targets.classes(y, parts)

    with pytest.warns(UserWarning, match="40 different labels in 40 rows"):
        targets.classes(np.arange(40) + 0.0)
    assert all(np.array_equal(got, np.arange(40)) for got in run(3, work))


def test_weights_of_all_rows_must_not_be_zero():
    def work(collectives, weights):
        parts = Parts(collectives, {collectives.rank: 2})
        given = FitArguments(sample_weight=weights[collectives.rank])
        read(LGBMRegressor(), np.ones((2, 1)), np.ones(2), given, parts)

    with pytest.raises(ValueError, match="sample_weight and class_weight are all zero"):
        run(2, lambda e: work(e, [[0, 0], [0, 0]]))
    with pytest.raises(ValueError, match="too large: their sum overflows"):
        run(2, lambda e: work(e, [[1e308, 0], [1e308, 0]]))
    with pytest.raises(ValueError, match="What is passed besides X must be the same"):
        run(2, lambda e: work(e, [None, [1, 1]]))


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_evaluation_sets_and_queries_of_parts(n_ranks):
    random = np.random.default_rng(4)
    sizes = random.integers(1, 9, 60)
    dealt = deal_queries(sizes, n_ranks, seed=4)
    X = frame(random, sizes.sum())
    qid, y = np.repeat(np.arange(60)[::-1], sizes), random.integers(0, 3, len(X))
    weight = random.choice([0.0, 1.0], len(X))
    # All rows of the evaluation set are on the last process, with categories of their
    # own.
    E, e_qid, e_y = X.iloc[:30].copy(), qid[:30], y[:30]
    E["category"] = pd.Categorical(["new", *"zyx"] * 7 + ["w", "z"])
    common = {"eval_metric": "ndcg", "qid": qid, "sample_weight": weight}
    whole = read(
        LGBMRanker(),
        *(X, y),
        FitArguments(**common, eval_set=[(E, e_y), (X, y)], eval_qid=[e_qid, None]),
    )

    def work(collectives):
        rows = rows_of(dealt[collectives.rank])
        is_last = collectives.rank == collectives.n_ranks - 1
        own, target = X.iloc[rows], y[rows]
        parts = parts_of(collectives, dealt[collectives.rank])
        given = FitArguments(
            qid=qid[rows],
            sample_weight=weight[rows],
            eval_set=[(E, e_y) if is_last else (None, None), (own, target)],
            eval_qid=[e_qid if is_last else [], None],
        )
        # The set of the training rows comes first.
        eval_parts = [parts, Parts(collectives, {0: 30} if is_last else {})]
        got = read(LGBMRanker(), own, target, given, parts, eval_parts)
        numbers = (np.cumsum(weight > 0) - 1)[rows[weight[rows] > 0]]
        assert_same_data(got, whole, numbers)
        training, other = got[2]
        assert training.is_training
        assert training.rows is got[0].rows
        known = whole[2][1]
        numbers = np.arange(30 if is_last else 0)
        assert_same_rows(other.rows, known.rows, numbers)
        assert other.data is None
        stores = [
            dataset.store(named.rows.columns, fit.settings, rows=named.rows.numbers)
            for (fit, dataset, _), named in ((got, other), (whole, known))
        ]
        for column in range(len(got[1].feature)):
            bins, all_bins = (store.bins(column) for store in stores)
            assert np.array_equal(bins, all_bins[numbers])

    run(n_ranks, work)


def test_evaluation_sets_need_rows():
    def work(collectives):
        parts = Parts(collectives, {collectives.rank: 2})
        none = Parts(collectives, {})
        given = FitArguments(eval_set=[(None, None)])
        read(LGBMRegressor(), np.ones((2, 1)), np.ones(2), given, parts, [none])

    with pytest.raises(ValueError, match="'valid_0' has no rows"):
        run(2, work)


def test_a_fit_holds_no_values_of_a_rank():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)

    def work(collectives):
        parts = Parts(collectives, {collectives.rank: 30})
        given = FitArguments(eval_set=[(X + 1, y)])
        model = LGBMRegressor()
        sets = input_sets(model, X, y, given, parts, [parts])
        fit = model._start(sets, given, model._settings(X, given), n_threads=1)
        for rows in (fit.data.rows, fit.data.fitted, fit.state.sets[0].rows):
            assert rows.columns is RELEASED
            assert rows.partition.n_rows == 60
        assert fit.training.X is None
        assert fit.data.arguments.eval_set is None

    run(2, work)


def test_a_fit_of_all_parts_is_the_fit_of_all_rows():
    random = np.random.default_rng(5)
    values, y = random.normal(size=(300, 3)), random.integers(0, 3, 300)
    weight = random.choice([0.0, 0.5, 1.0], 300)
    known = LGBMClassifier(n_estimators=4)
    known.fit(values, y, sample_weight=weight, eval_set=[(values[:50], y[:50])])
    references = []

    def frame():
        X = pd.DataFrame(values.copy())
        references.append(weakref.ref(X))
        return X

    def check(env):
        # Values are freed before the first round.
        assert references[0]() is None

    estimator = LGBMClassifier(n_estimators=4)
    given = FitArguments(
        sample_weight=weight,
        eval_set=[(pd.DataFrame(values[:50]), y[:50])],
        callbacks=[check],
    )
    parts, eval_parts = Parts(ALONE, {0: 100, 1: 200}), [Parts(ALONE, {0: 50})]
    fit = estimator._start(
        input_sets(estimator, frame(), y, given, parts, eval_parts),
        given,
        estimator._settings(None, given),
    )
    estimator._keep(fit.run(Booster._from_model))
    assert np.array_equal(estimator.predict_proba(values), known.predict_proba(values))
    assert estimator.evals_result_ == known.evals_result_


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
