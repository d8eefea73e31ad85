"""What trees explain of noise, where rows are equal, have weights or are far apart."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.binned import build
from helpers.ranks import by_partition
from skgoss.distributed.row_partition import RowPartition
from skgoss.objectives.objectives import TrainingRows
from skgoss.training.noise import EqualRows, Errors, row_keys

RNG = np.random.default_rng(0)
N = 300
KEYS = RNG.integers(0, 40, N).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
SLOPE = RNG.normal(size=N).astype(np.float32).astype(np.float64)
COPIES = RNG.integers(0, 4, N).astype(np.uint32)


def rows_of(weight=None):
    n = N if weight is None else len(weight)
    return TrainingRows(np.zeros(n), weight, RowPartition(n))


def reference_noise(copies, weight):
    """What each row adds to the sum of the independent errors of equal rows."""
    size = np.empty(N)
    for key in np.unique(KEYS):
        equal = np.flatnonzero(key == KEYS)
        each = np.repeat(equal, copies[equal])
        square = sum((weight[i] * SLOPE[i]) ** 2 for i in each)
        total = sum(weight[i] for i in each)
        size[equal] = np.sqrt(square) / total if total > 0 else 0.0
    return size


@pytest.mark.parametrize("kind", ["none", "copies", "weights"])
def test_equal_rows_share_the_noise_of_independent_ones(kind):
    one = np.ones(N)
    if kind == "none":
        equal, copies, weight = EqualRows(KEYS, rows_of(), None), one, one
    elif kind == "copies":
        equal = EqualRows(KEYS, rows_of(COPIES * 1.0), COPIES)
        copies, weight = COPIES, one
    else:
        weight = RNG.gamma(1.0, size=N)
        equal, copies = EqualRows(KEYS, rows_of(weight), None), one
    expected = reference_noise(copies.astype(int), weight)
    np.testing.assert_allclose(equal.noise(SLOPE), expected, rtol=1e-6)
    # A power of two changes no bit of it.
    np.testing.assert_array_equal(equal.noise(1024 * SLOPE), 1024 * equal.noise(SLOPE))


def test_weights_of_equal_rows_are_copies():
    at = np.repeat(np.arange(N), COPIES)
    whole = EqualRows(KEYS, rows_of(COPIES * 1.0), COPIES).noise(SLOPE)
    copied = EqualRows(KEYS[at], rows_of(np.ones(len(at))), None).noise(SLOPE[at])
    np.testing.assert_array_equal(whole[at], copied)


def test_the_order_of_equal_rows_does_not_matter():
    order = RNG.permutation(N)
    noise = EqualRows(KEYS, rows_of(), None).noise(SLOPE)
    moved = EqualRows(KEYS[order], rows_of(), None).noise(SLOPE[order])
    np.testing.assert_array_equal(moved, noise[order])


@pytest.mark.parametrize("n_ranks", [2, 3])
def test_equal_rows_of_other_processes_count(n_ranks):
    def noise_of(partition, rows):
        of_rank = TrainingRows(np.zeros(len(rows)), None, partition)
        return rows, EqualRows(KEYS[rows], of_rank, None).noise(SLOPE[rows])

    found = np.full(N, np.nan)
    for rows, noise in by_partition(N, n_ranks, 1, noise_of):
        found[rows] = noise
    np.testing.assert_array_equal(found, EqualRows(KEYS, rows_of(), None).noise(SLOPE))


def test_leaves_explain_as_much_as_of_errors_with_signs_of_their_own():
    group = np.unique(KEYS, return_inverse=True)[1]
    errors = Errors.from_derivatives(rows_of(), SLOPE, np.ones(N))

    def leaves(slope):
        """A tree with a leaf for all rows that it can tell apart."""
        return (-np.bincount(group, slope) / np.bincount(group))[group]

    explained = []
    for _ in range(4000):
        signed = Errors.from_derivatives(
            rows_of(), RNG.choice([-1.0, 1.0], N) * SLOPE, np.ones(N)
        )
        sums = signed.sums(leaves(signed.slope))
        explained.append((sums.explained, sums.explained_fraction))
    signs = RNG.choice([-1.0, 1.0], group.max() + 1)[group]
    (noise,) = errors.with_random_signs(signs[None], EqualRows(KEYS, rows_of(), None))
    sums = noise.sums(leaves(noise.visible))
    found = sums.explained, sums.explained_fraction
    np.testing.assert_allclose(found, np.mean(explained, axis=0), rtol=0.05)


@pytest.mark.parametrize("weight", [None, COPIES * 1.0, RNG.gamma(1.0, size=N)])
def test_sums_are_those_of_numpy(weight):
    rows = rows_of(weight)
    curve, visible, change = RNG.normal(size=(3, N))
    curve = np.maximum(curve, 0.0)
    squares = np.zeros(N)
    np.divide(SLOPE * SLOPE, curve, out=squares, where=curve > 0)
    after = visible + curve * change
    terms = (
        SLOPE * SLOPE,
        visible * visible,
        after * after,
        squares,
        curve * change * change,
        visible * change,
    )
    found = Errors(rows, SLOPE, curve, visible).sums(change)
    assert found == tuple(map(rows.sum_of, terms))


def test_keys_are_those_of_the_bins():
    X = RNG.integers(0, 3, size=(N, 3)) * 1.0
    X[:, 2] = 7.0
    keys = row_keys(build(X, min_data_in_bin=1))
    same_row = (X[:, None] == X[None]).all(axis=2)
    np.testing.assert_array_equal(keys[:, None] == keys[None], same_row)
    order = RNG.permutation(N)
    moved = row_keys(build(X[order], min_data_in_bin=1))
    np.testing.assert_array_equal(moved, keys[order])
