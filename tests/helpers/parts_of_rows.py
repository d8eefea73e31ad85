"""Rows that are dealt to ranks in parts, read and binned."""

import numpy as np
import pandas as pd

from helpers.ranks import deal, rows_of, run
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.booster.booster import init_model
from skgoss.columns.stacked import Stack
from skgoss.distributed.row_partition import Parts
from skgoss.fit import fit_data, held_out
from skgoss.fit.arguments import FitArguments
from skgoss.fit.arguments import input_sets as sets_of_fit


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
    sets = sets_of_fit(X, y, given, estimator._settings(X, given))
    parts_of_sets = [parts, *(eval_parts or [None] * (len(sets) - 1))]
    return [s._replace(parts=own) for s, own in zip(sets, parts_of_sets, strict=True)]


def read(estimator, X, y, given, parts=None, eval_parts=()):
    """Read the data of a fit: the fit, its rows in bins, and the evaluation sets."""
    training, *others = input_sets(estimator, X, y, given, parts, eval_parts)
    data = fit_data.read(
        training,
        given,
        estimator._settings(X, given),
        estimator._task(estimator._owner),
        init_model(given.init_model),
    )
    sets = [data.evaluation_set(s) for s in others]
    if not sets and data.settings.early_stopping_round:
        data, sets = held_out.split(data)
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
