"""Binned data sets for tests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator

from helpers.reading import columns
from skgoss import parameters
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns import containers
from skgoss.columns.categories import Categories
from skgoss.model.ensemble import Ensemble
from skgoss.objectives.training_objective import make_objective
from skgoss.training import boosting, loop


def settings(**changes) -> SimpleNamespace:
    """The options of binning, and some that differ."""
    defaults = {
        "max_bin": 255,
        "max_bin_by_feature": None,
        "forcedbins_filename": None,
        "min_data_in_bin": 3,
        "min_child_samples": 0,
        "subsample_for_bin": 200_000,
        "use_missing": True,
        "zero_as_missing": False,
        "data_random_seed": 1,
        "enable_bundle": True,
        "is_enable_sparse": True,
        "max_conflict_rate": 0.0,
    }
    return SimpleNamespace(**(defaults | changes))


def build(X, *, weight=None, rows=None, n_threads=1, **changes) -> BinnedDataset:
    data = columns(BaseEstimator(), X, reset=True)
    return BinnedDataset.build(
        data, settings(**changes), weight=weight, rows=rows, n_threads=n_threads
    )


def bins(data: BinnedDataset) -> np.ndarray:
    """The bins of all rows, one used column each."""
    found = [data.bins(j) for j in range(len(data.feature))]
    return np.array(found, dtype=np.uint16).reshape(len(found), data.n_rows)


def table(n_rows: int, seed: int = 3) -> np.ndarray:
    """Columns to keep, to share lanes, to bundle and to list."""
    rng = np.random.default_rng(seed)
    n_values = [2, 300, 3, 2, 17, 2, 16, 1, 15, 5, 2]
    few = np.column_stack([rng.integers(0, n, n_rows) for n in n_values]).astype(float)
    few[rng.random(few.shape) < 0.05] = np.nan
    blocks = [
        np.eye(n)[rng.integers(0, n, n_rows)] * np.arange(1, n + 1)
        for n in (3, 40, 300)
    ]
    counts = rng.poisson(0.05, (n_rows, 20)).astype(float)
    signed = np.where(rng.random((n_rows, 5)) < 0.02, rng.normal(size=(n_rows, 5)), 0)
    wide = rng.normal(size=(n_rows, 1))
    return np.column_stack([few, *blocks, counts, signed, wide])


def places_of_rows(data: BinnedDataset) -> bytes:
    """The rows, and the places that their lanes, shorts and entries name."""
    held, every = data.storage, np.arange(data.n_rows)
    codes = held.rows[:, held.lane] // held.radix % held.n_codes
    columns = [held.hist_bin_of_code[i, code] for i, code in enumerate(codes.T)]
    columns += [*(held.shorts + held.offset[held.in_shorts]).T]
    found = [(every[column >= 0], column[column >= 0]) for column in columns]
    if held.entry_start is not None:
        found.append((np.repeat(every, np.diff(held.entry_start)), held.entries))
    return sorted_pairs(found)


def expected_places(data: BinnedDataset) -> bytes:
    """The rows, and the places of their bins; none for the default bins."""
    held, found = data.storage, []
    for j, column in enumerate(bins(data).astype(int)):
        default = held.default_bin[j]
        place = held.offset[j] + column - ((default >= 0) & (column > default))
        rows = np.flatnonzero(column != default)
        found.append((rows, place[rows]))
    return sorted_pairs(found)


def sorted_pairs(found: list[tuple[np.ndarray, np.ndarray]]) -> bytes:
    """The pairs of several lists of (row, place) as sorted numbers, each once."""
    pairs = [rows * 2**32 + places.astype(np.int64) for rows, places in found]
    pairs = np.sort(np.concatenate([np.empty(0, np.int64), *pairs]))
    return pairs[np.diff(pairs, prepend=-1) > 0].tobytes()


def with_categories(n_rows: int) -> tuple[BinnedDataset, Categories]:
    """Columns of numbers and of categories."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4)).astype(object)
    X[:, 1] = rng.choice(["a", "b", "c", None], n_rows)
    X[:, 3] = rng.choice([*map(str, range(40))], n_rows)
    found, schema = containers.learned(X, owner="it", categorical_feature=[1, 3])
    settings = parameters.make_settings({"min_child_samples": 1}, "it")
    return BinnedDataset.build(found, settings), schema.categories


def trained(data: BinnedDataset, **options) -> Ensemble:
    """Trees for a target of noise."""
    small = {"n_estimators": 2, "num_leaves": 6, "min_child_samples": 2}
    small |= {"objective": "regression", "min_data_per_group": 2, "cat_smooth": 1.0}
    settings = parameters.make_settings(small | options, "LGBMRegressor")
    y = np.random.default_rng(0).normal(size=data.n_rows)
    objective = make_objective(settings, y, None, None)
    return loop.train(boosting.Boosting(data, objective, settings, 1)).ensemble


def count_conflicts(start, rows, n_rows, bundle) -> np.ndarray:
    """The conflicts of each bundle: entries less rows that have one."""
    of_entry = np.repeat(bundle, np.diff(start)).astype(np.int64)
    of_row = np.unique(of_entry * n_rows + rows) // n_rows
    n_bundles = bundle.max(initial=-1) + 1
    return np.bincount(of_entry, minlength=n_bundles) - np.bincount(
        of_row, minlength=n_bundles
    )
