"""Exclusive feature bundling against a reference, and on data with one-hot columns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helpers.binned import count_conflicts
from skgoss._engine.binning import bundling


def as_lists(columns: list) -> tuple[np.ndarray, np.ndarray]:
    """Rows of each column as (start, rows)."""
    start = np.cumsum([0, *map(len, columns)], dtype=np.int64)
    rows = np.concatenate([np.empty(0), *(np.sort(list(c)) for c in columns)])
    return start, rows.astype(np.uint32)


def random_columns(n_columns: int, n_rows: int, seed: int) -> list[np.ndarray]:
    """Columns of all densities up to a half, empty ones too."""
    rng = np.random.default_rng(seed)
    density = 0.5 * rng.random(n_columns) ** 4
    return [np.flatnonzero(rng.random(n_rows) < d) for d in density]


def one_hot(block: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(block == value) for value in np.unique(block)]


def by_column(columns: list, bundle: np.ndarray) -> list[list[int]]:
    return [np.flatnonzero(bundle == b).tolist() for b in range(bundle.max() + 1)]


class Packing:
    """Bundles as sets of rows."""

    def __init__(self, columns, n_codes, max_conflicts, max_codes) -> None:
        self.columns = [set(map(int, column)) for column in columns]
        self.n_codes = n_codes
        self.limits = max_conflicts, max_codes
        self.bundles: list[tuple[set, int, int]] = []

    def add(self, column: int, tried: range) -> int:
        """The first bundle of those tried that the column fits, or a new one."""
        new = self.columns[column]
        for b in tried:
            held, conflicts, codes = self.bundles[b]
            conflicts += len(held & new)
            codes += self.n_codes[column]
            if conflicts <= self.limits[0] and codes <= self.limits[1]:
                self.bundles[b] = held | new, conflicts, codes
                return b
        self.bundles.append((set(new), 0, 1 + self.n_codes[column]))
        return len(self.bundles) - 1


def naive_first_fit(columns, order, max_conflicts, n_codes, max_codes) -> np.ndarray:
    packing = Packing(columns, n_codes, max_conflicts, max_codes)
    bundle = np.empty(len(columns), dtype=int)
    for j in order:
        bundle[j] = packing.add(j, range(len(packing.bundles)))
    return bundle


def naive_recent_fit(columns, max_conflicts, n_codes, max_codes) -> np.ndarray:
    packing = Packing(columns, n_codes, max_conflicts, max_codes)
    bundle = []
    for j in range(len(columns)):
        newest = len(packing.bundles) - 1
        bundle.append(packing.add(j, range(newest, max(newest - 64, -1), -1)))
    return np.array(bundle)


CASES = list(itertools.product([30, 700], [0, 5, 60], [12, 256], [0, 1]))


@pytest.mark.parametrize(("n_columns", "max_conflicts", "max_codes", "seed"), CASES)
def test_both_fits_agree_with_the_reference(n_columns, max_conflicts, max_codes, seed):
    rng = np.random.default_rng(seed)
    columns = random_columns(n_columns, 300, seed)
    n_codes = rng.integers(1, 15, n_columns).astype(np.int32)
    order = rng.permutation(n_columns)
    start, rows = as_lists(columns)
    found = bundling.first_fit(
        start, rows, 300, order, max_conflicts, n_codes, max_codes
    )
    expected = naive_first_fit(columns, order, max_conflicts, n_codes, max_codes)
    np.testing.assert_array_equal(found, expected)
    assert n_columns < 100 or found.max() > 64

    partly = bundling.first_fit(
        start, rows, 300, order, max_conflicts, n_codes, max_codes, 1
    )
    np.testing.assert_array_equal(partly, np.where(expected < 64, expected, -1))

    found = bundling.recent_fit(start, rows, 300, max_conflicts, n_codes, max_codes)
    expected = naive_recent_fit(columns, max_conflicts, n_codes, max_codes)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rate", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("seed", [0, 1])
def test_bundles_keep_their_limits(rate, seed):
    columns = random_columns(400, 1000, seed)
    n_codes = np.random.default_rng(seed).integers(1, 300, 400).astype(np.int32)
    start, rows = as_lists(columns)
    bundle = bundling.find_bundles(start, rows, 1000, n_codes, rate, 256)
    conflicts = count_conflicts(start, rows, 1000, bundle)
    members = by_column(columns, bundle)
    for found, bundled in zip(conflicts, members, strict=True):
        lists = [columns[j] for j in bundled]
        assert found == sum(map(len, lists)) - len(set().union(*lists))
        assert found <= rate * 1000
        assert len(bundled) == 1 or n_codes[bundled].sum() < 256
    first = [bundled[0] for bundled in members]
    assert first == sorted(first)
    assert len(members) < 400
    if rate:
        lossless = bundling.find_bundles(start, rows, 1000, n_codes, 0.0, 256)
        assert bundle.max() < lossless.max()


@pytest.mark.parametrize("n_columns", [1, 20, 64, 65])
@pytest.mark.parametrize("rate", [0.0, 0.01])
def test_columns_of_which_no_two_fit_together_are_alone(n_columns, rate):
    rng = np.random.default_rng(n_columns)
    columns = [np.flatnonzero(rng.random(300) < 0.4) for _ in range(n_columns)]
    start, rows = as_lists(columns)
    n_codes = np.full(n_columns, 3, dtype=np.int32)
    bundle = bundling.find_bundles(start, rows, 300, n_codes, rate, 256)
    assert bundle.tolist() == list(range(n_columns))
    most = int(rate * 300)
    fitted = naive_first_fit(columns, range(n_columns), most, n_codes, 256)
    assert fitted.max() == n_columns - 1


def blocks(sizes: list[int], n_rows: int, seed: int) -> list[list[np.ndarray]]:
    """One-hot columns of categories with frequencies that fall off."""
    rng = np.random.default_rng(seed)
    found = []
    for size in sizes:
        share = 1.0 / np.arange(3, size + 3)
        found.append(one_hot(rng.choice(size, n_rows, p=share / share.sum())))
    return found


def find(columns: list, n_rows: int) -> np.ndarray:
    n_codes = np.ones(len(columns), dtype=np.int32)
    return bundling.find_bundles(*as_lists(columns), n_rows, n_codes, 0.0, 256)


@pytest.mark.parametrize("sizes", [[40], [12, 40, 3, 12, 12], [2] * 100, [255, 255]])
def test_each_one_hot_block_becomes_a_bundle(sizes):
    found = blocks(sizes, 20000, seed=2)
    bundle = find(list(itertools.chain(*found)), 20000)
    np.testing.assert_array_equal(bundle, np.repeat(range(len(found)), sizes))


def test_blocks_need_not_cover_all_rows():
    """Categories that were dropped or are missing leave rows without an entry."""
    found = [block[1:] for block in blocks([10] * 90, 20000, seed=3)]
    bundle = find(list(itertools.chain(*found)), 20000)
    np.testing.assert_array_equal(bundle, np.repeat(range(90), 9))


@pytest.mark.parametrize("sizes", [[6, 9, 20, 20, 31], [20] * 70])
def test_shuffled_blocks_are_found_again(sizes):
    found = blocks(sizes, 20000, seed=4)
    rng = np.random.default_rng(4)
    order = rng.permutation(sum(sizes))
    columns = list(itertools.chain(*found))
    bundle = find([columns[j] for j in order], 20000)
    assert bundle.max() + 1 == len(sizes)
    block = np.repeat(range(len(sizes)), sizes)[order]
    pairs = set(zip(bundle.tolist(), block.tolist(), strict=True))
    assert len(pairs) == len(sizes)


def test_a_block_of_many_categories_takes_several_bundles():
    columns = one_hot(np.random.default_rng(5).integers(0, 1000, 30000))
    bundle = find(columns, 30000)
    assert bundle.max() + 1 == 4
    assert np.bincount(bundle).max() == 255


def test_degrees_count_the_columns_that_share_a_row():
    columns = random_columns(200, 150, seed=6)
    expected = [
        sum(bool(a & b) for b in map(set, columns)) - bool(a) for a in map(set, columns)
    ]
    found = bundling.conflict_degrees(*as_lists(columns), 150)
    np.testing.assert_array_equal(found, expected)
    # Few columns a row: bits are set one by one.
    thin = [column[::7] for column in columns]
    expected = [
        sum(bool(a & b) for b in map(set, thin)) - bool(a) for a in map(set, thin)
    ]
    found = bundling.conflict_degrees(*as_lists(thin), 150)
    np.testing.assert_array_equal(found, expected)


def test_degrees_of_large_graphs_come_from_a_sample_or_not_at_all():
    columns = random_columns(200, 4000, seed=7)
    start, rows = as_lists(columns)
    exact = bundling.conflict_degrees(start, rows, 4000)
    sampled = bundling.conflict_degrees(start, rows, 4000, budget=50000)
    assert (sampled <= exact).all()
    assert 0 < sampled.sum() < exact.sum()
    again = bundling.conflict_degrees(start, rows, 4000, budget=50000)
    np.testing.assert_array_equal(sampled, again)
    many = np.zeros(16386, dtype=np.int64)
    assert bundling.conflict_degrees(many, np.empty(0, np.uint32), 10) is None


def merge_bundle(start, rows, bin_start, bins, members, first_code, codes_out):
    """Write the codes of one bundle."""
    member_start = np.array([0, len(members)], dtype=np.int64)
    bundling.merge_bundles(
        *(start, rows, bin_start, bins),
        *(member_start, members, first_code, codes_out[None]),
    )


def naive_merge(columns, stored, members, first_code, n_rows) -> np.ndarray:
    codes = np.zeros(n_rows, dtype=int)
    for j in members:
        codes[columns[j]] = first_code[j] + stored[j]
    return codes


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_merged_codes_agree_with_the_reference(dtype, n_threads):
    rng = np.random.default_rng(9)
    columns = random_columns(60, 500, seed=9)
    stored = [rng.integers(0, 4, len(column)) for column in columns]
    start, rows = as_lists(columns)
    entries = np.concatenate(stored).astype(np.uint16)
    first_code = rng.integers(1, 250, 60).astype(np.int32)
    members = rng.permutation(60)[:50].astype(np.int32)
    member_start = np.array([0, 20, 20, 21, 50], dtype=np.int64)
    out = np.full((4, 500), 7, dtype=dtype)
    bundling.merge_bundles(
        *(start, rows, start, entries),
        *(member_start, members, first_code, out, n_threads),
    )
    for codes, (begin, end) in zip(out, itertools.pairwise(member_start), strict=True):
        bundled = members[begin:end]
        expected = naive_merge(columns, stored, bundled, first_code, 500)
        np.testing.assert_array_equal(codes, expected)


def test_lists_without_stored_bins_have_bin_0():
    start, rows = as_lists([[0, 3], [1], [2, 4]])
    bin_start, bins = np.array([0, 0, 1, 1]), np.array([2], np.uint16)
    out = np.full(6, 7, np.uint8)
    members, first_code = np.arange(3, dtype=np.int32), np.array([1, 2, 9], np.int32)
    merge_bundle(start, rows, bin_start, bins, members, first_code, out)
    assert out.tolist() == [1, 4, 9, 1, 9, 0]


def test_no_columns_and_empty_columns():
    none = np.zeros(1, dtype=np.int64), np.empty(0, np.uint32)
    assert bundling.find_bundles(*none, 5, np.empty(0, np.int32), 0.0, 256).size == 0
    empty = np.zeros(4, dtype=np.int64), np.empty(0, np.uint32)
    bundle = bundling.find_bundles(*empty, 5, np.ones(3, np.int32), 0.0, 256)
    assert bundle.tolist() == [0, 0, 0]
    out = np.ones(5, dtype=np.uint8)
    members = np.arange(3, dtype=np.int32)
    no_bins = np.zeros(4, np.int64), np.empty(0, np.uint16)
    merge_bundle(*empty, *no_bins, members, np.ones(3, np.int32), out)
    assert not out.any()


@pytest.mark.parametrize(
    ("start", "rows"),
    [
        ([], []),
        ([0, 3], [1, 2]),
        ([1, 2], [1, 2]),
        ([0, 3, 2], [1, 2]),
        ([0, 2], [2, 1]),
        ([0, 2], [1, 1]),
        ([0, 2], [1, 9]),
    ],
)
def test_broken_lists_are_refused(start, rows):
    lists = np.array(start, dtype=np.int64), np.array(rows, dtype=np.uint32)
    n_codes = np.ones(max(len(start) - 1, 0), dtype=np.int32)
    with pytest.raises(ValueError, match="start and rows must be lists of columns"):
        bundling.find_bundles(*lists, 9, n_codes, 0.0, 256)


def test_arguments_that_do_not_fit_are_refused():
    start, rows = as_lists([[0, 1], [2]])
    one, two = np.ones(1, np.int32), np.ones(2, np.int32)
    with pytest.raises(ValueError, match="n_codes must have one entry"):
        bundling.recent_fit(start, rows, 5, 0, one, 256)
    with pytest.raises(ValueError, match="order must name each column once"):
        bundling.first_fit(start, rows, 5, np.array([0, 0]), 0, two, 256)
    out = np.empty(5, np.uint8)
    bins = np.zeros(3, np.uint16)
    with pytest.raises(ValueError, match="must fit start, rows"):
        merge_bundle(start, rows, start, bins, two + 1, two, out)
    with pytest.raises(ValueError, match="must fit start, rows"):
        merge_bundle(start, rows, start - start, bins, two, two, out)
