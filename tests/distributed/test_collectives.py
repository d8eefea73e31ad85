import numpy as np
import pytest

from helpers.ranks import deal, partition_of, rows_of, run
from skgoss.distributed.collectives import ALONE, add_to, compressed
from skgoss.distributed.row_partition import RowPartition


@pytest.mark.parametrize("n_ranks", [1, 2, 3, 5])
def test_sums_of_ranks(n_ranks):
    random = np.random.default_rng(0)
    for shape in [(3,), (7, 5), (40_000,)]:
        for most in [2**60 // 5, 2**31, 2**31 - 1, 2**15, 127, 1]:
            for share in [1.0, 0.1]:
                values = random.integers(-most - 1, most + 1, (n_ranks, *shape))
                values[random.random(values.shape) > share] = 0
                got = run(n_ranks, lambda e, v=values: e.all_reduce(v[e.rank].copy()))
                assert all(np.array_equal(part, values.sum(axis=0)) for part in got)
    assert run(n_ranks, lambda e: e.total(10**40)) == [n_ranks * 10**40] * n_ranks


def test_integers_are_sent_in_few_bytes():
    dense = np.arange(-30_000, 30_000)
    assert compressed(dense).dtype == np.int16
    assert compressed(dense * 2**20).dtype == np.int64
    sparse = np.where(dense % 8 == 0, dense, 0)
    light = compressed(sparse)
    assert len(light.at) == np.count_nonzero(sparse)
    again = dense.copy()
    add_to(again, light)
    assert np.array_equal(again, dense + sparse)


def test_all_to_all_gives_each_rank_its_value():
    got = run(3, lambda e: e.all_to_all([(e.rank, to) for to in range(3)]))
    assert got == [[(rank, to) for rank in range(3)] for to in range(3)]


@pytest.mark.parametrize("n_ranks", [1, 2, 4])
def test_partitions_number_all_rows(n_ranks):
    dealt = deal(1000, n_ranks, seed=n_ranks)
    values = np.random.default_rng(1).random((2, 1000))

    def check(collectives):
        parts = dealt[collectives.rank]
        rows, partition = rows_of(parts), partition_of(collectives, parts)
        assert partition.n_rows == 1000
        assert np.array_equal(partition.numbers, rows)
        assert np.array_equal(partition.all_gather(values[:, rows]), values)
        # Rows that are left out are not counted.
        odd = np.flatnonzero(rows % 2)
        taken = partition.take(odd)
        assert taken.n_rows == 500
        assert np.array_equal(taken.numbers, rows[odd] // 2)

    run(n_ranks, check)


def test_a_process_alone_holds_all_rows():
    partition = RowPartition(5)
    assert partition.is_alone
    assert partition.collectives is ALONE
    assert partition.numbers.tolist() == [0, 1, 2, 3, 4]


def test_failures_reach_all_ranks():
    def fail(collectives):
        if collectives.rank == 1:
            raise ValueError("bad rows")
        collectives.all_gather(0)

    with pytest.raises(ValueError, match="bad rows"):
        run(3, fail)
