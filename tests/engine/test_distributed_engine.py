"""Trees that processes grow together are those of a process that holds all rows."""

import numpy as np
import pytest

from helpers.ranks import deal, partition_of, rows_of, run
from helpers.reading import columns as read_columns
from skgoss import LGBMRegressor, parameters
from skgoss._engine.training.grower import TreeGrower
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.training import constraints


def make_columns(kind, n, seed):
    random = np.random.default_rng(seed)
    if kind == "wide":
        # Enough bins for processes to divide the columns.
        X = random.normal(size=(n, 280))
        X[:, 0] = random.integers(0, 300, n)
        return X
    if kind == "sparse":
        return (random.random((n, 40)) < 0.05) * random.integers(1, 4, (n, 40)) * 1.0
    X = random.normal(size=(n, 6)).round(1)
    X[:, 0] = random.integers(0, 12, n)
    X[random.random(X.shape) < 0.1] = np.nan
    return X


class Case:
    """A round of all rows, and its part of some of them."""

    def __init__(self, kind, n, seed, options, *, constant, weighted, sampled):
        random = np.random.default_rng(seed)
        X = make_columns(kind, n, seed)
        known = LGBMRegressor(
            n_estimators=1,
            categorical_feature="auto" if kind in ("dense", "sparse") else [0],
        ).fit(X, X.shape[1] * np.arange(n))
        base = {"num_leaves": 15, "min_child_samples": 5}
        self.settings = parameters.make_settings(base | options, "LGBMRegressor")
        self.dataset = BinnedDataset.build(
            read_columns(known, X, reset=False), self.settings
        )
        self.gradient = (np.nan_to_num(X[:, 1]) * random.normal(1, 0.3, n))[
            None
        ].astype(np.float32)
        if not constant:
            self.hessian = random.uniform(0.1, 1, (1, n)).astype(np.float32)
        else:
            self.hessian = None
        self.weight = np.exp(8 * random.normal(size=(1, n))) if weighted else None
        self.rows = np.flatnonzero(random.random(n) < 0.4) if sampled else None

    def grow(self, rows=slice(None), partition=None, n_threads=1, **options):
        """The arrays of two trees, and the scores of the rows."""

        def of_rows(values):
            return None if values is None else np.ascontiguousarray(values[:, rows])

        every = isinstance(rows, slice)
        dataset = self.dataset if every else self.dataset.take(rows)
        scores = np.zeros((1, dataset.n_rows))
        grower = TreeGrower(
            dataset,
            self.settings,
            1,
            n_threads,
            constraints=constraints.tree_constraints(self.settings, dataset),
            partition=partition,
            **options,
        )
        sample = self.rows
        if sample is not None:
            sample = sample if every else np.flatnonzero(np.isin(rows, sample))
            sample = sample.astype(np.uint32)
        for index in range(2):
            grower.grow(
                of_rows(self.gradient),
                of_rows(self.hessian),
                of_rows(self.weight),
                sample,
                scores,
                index,
            )
        arrays = grower.forest.arrays()
        return b"".join(array.tobytes() for array in arrays), scores


def check(case, n_ranks, *, n_threads=1, seed=0):
    model, scores = case.grow()
    n_rows = case.dataset.n_rows
    dealt = deal(n_rows, n_ranks, seed)
    # A process has at least one row.
    for rank, parts in enumerate(dealt):
        if not len(rows_of(parts)):
            pytest.skip(f"rank {rank} got no row")

    def grow(collectives):
        parts = dealt[collectives.rank]
        rows, partition = rows_of(parts), partition_of(collectives, parts)
        # Every process has all columns, or each some of them or none.
        for fewest in (10**9, 0):
            own, own_scores = case.grow(
                rows, partition, n_threads, min_shared_hist_bins=fewest
            )
            assert own == model
            assert np.array_equal(own_scores, scores[:, rows])

    run(n_ranks, grow)


MONOTONE = {"monotone_constraints": [0, 1, 0, -1, 0, 1]}


GROWN = [
    ("dense", 40, {"num_leaves": 4}),
    ("dense", 600, {}),
    ("dense", 9000, {"num_leaves": 63}),
    ("categories", 3000, {"min_data_per_group": 20}),
    ("sparse", 6000, {"num_leaves": 31}),
    ("sparse", 6000, {"enable_bundle": False, "is_enable_sparse": False}),
    ("wide", 3000, {"min_data_per_group": 5, "max_bin": 255}),
    ("wide", 3000, {"colsample_bytree": 0.05}),
    ("sparse", 6000, {"colsample_bytree": 0.3}),
    ("wide", 3000, {"colsample_bytree": 0.9, "feature_fraction_bynode": 0.9}),
    ("wide", 3000, {"monotone_constraints": [0, 1] + [0] * 278, "max_depth": 4}),
    ("dense", 3000, {"extra_trees": True}),
    ("dense", 3000, {"colsample_bytree": 0.6, "feature_fraction_bynode": 0.5}),
    ("dense", 3000, {"interaction_constraints": [[0, 1, 2], [2, 3, 4, 5]]}),
    ("dense", 3000, {"max_depth": 3, "path_smooth": 2.0}),
    ("dense", 3000, MONOTONE | {"monotone_constraints_method": "basic"}),
    ("dense", 3000, MONOTONE | {"monotone_constraints_method": "intermediate"}),
    ("dense", 3000, MONOTONE | {"monotone_constraints_method": "advanced"}),
]


@pytest.mark.parametrize("n_ranks", [2, 3])
@pytest.mark.parametrize("case", GROWN)
def test_ranks_grow_the_trees_of_one_process(case, n_ranks):
    kind, n, options = case
    plain = {"constant": False, "weighted": False, "sampled": False}
    check(Case(kind, n, 1, options, **plain), n_ranks)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_number_formats_are_those_of_all_rows(kind, constant, weighted, sampled):
    flags = {"constant": constant, "weighted": weighted, "sampled": sampled}
    check(Case(kind, 5000, 2, {}, **flags), 2, n_threads=2)


def test_infinite_gradients_fail_on_all_ranks():
    case = Case("dense", 500, 4, {}, constant=False, weighted=False, sampled=False)
    case.gradient[0, 499] = np.inf
    with pytest.raises(FloatingPointError):
        check(case, 1)
    dealt = deal(500, 2, seed=0)

    def grow(collectives):
        parts = dealt[collectives.rank]
        with pytest.raises(FloatingPointError):
            case.grow(rows_of(parts), partition_of(collectives, parts))

    run(2, grow)


def test_trees_that_fail_leave_nothing_behind():
    """Such as histograms, of which a grower has few."""
    plain = {"constant": False, "weighted": False, "sampled": False}
    case = Case("dense", 500, 4, {"num_leaves": 2}, **plain)
    wrong = np.full_like(case.gradient, np.inf)
    forests = []
    for n_failures in (0, 100):
        grower = TreeGrower(case.dataset, case.settings, 1, 1)
        scores = np.zeros((1, 500))
        for _ in range(n_failures):
            with pytest.raises(FloatingPointError, match="NaN or infinite"):
                grower.grow(wrong, case.hessian, None, None, scores, 0)
        grower.grow(case.gradient, case.hessian, None, None, scores, 0)
        forests.append((scores, *grower.forest.arrays()))
    np.testing.assert_equal(*forests)


@pytest.mark.parametrize("kind", ["dense", "wide"])
@pytest.mark.parametrize("n_calls", [0, 1, 3])
def test_errors_of_a_collective_leave_the_kernels(kind, n_calls):
    case = Case(kind, 3000, 1, {}, constant=False, weighted=False, sampled=False)
    dealt = deal(3000, 2, seed=0)

    def grow(collectives):
        all_to_all, left = collectives.all_to_all, [n_calls]

        def fail(values):
            if collectives.rank == 1 and not left[0]:
                raise OSError("no way to the process")
            left[0] -= 1
            return all_to_all(values)

        parts = dealt[collectives.rank]
        partition = partition_of(collectives, parts)
        collectives.all_to_all = fail
        case.grow(rows_of(parts), partition)

    with pytest.raises(OSError, match="no way to the process"):
        run(2, grow)
