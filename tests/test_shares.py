import numpy as np
import pytest
from peers import deal, rows_of, run, share_of

from skgoss.data.collectives import ALONE, add_to, lightened
from skgoss.data.row_partition import Share


@pytest.mark.parametrize("n_peers", [1, 2, 3, 5])
def test_sums_of_peers(n_peers):
    random = np.random.default_rng(0)
    for shape in [(3,), (7, 5), (40_000,)]:
        for most in [2**60 // 5, 2**31, 2**31 - 1, 2**15, 127, 1]:
            for share in [1.0, 0.1]:
                values = random.integers(-most - 1, most + 1, (n_peers, *shape))
                values[random.random(values.shape) > share] = 0
                got = run(n_peers, lambda e, v=values: e.sum(v[e.peer].copy()))
                assert all(np.array_equal(part, values.sum(axis=0)) for part in got)
    assert run(n_peers, lambda e: e.total(10**40)) == [n_peers * 10**40] * n_peers


def test_integers_are_sent_in_few_bytes():
    dense = np.arange(-30_000, 30_000)
    assert lightened(dense).dtype == np.int16
    assert lightened(dense * 2**20).dtype == np.int64
    sparse = np.where(dense % 8 == 0, dense, 0)
    light = lightened(sparse)
    assert len(light.at) == np.count_nonzero(sparse)
    again = dense.copy()
    add_to(again, light)
    assert np.array_equal(again, dense + sparse)


def test_swap_gives_each_peer_its_value():
    got = run(3, lambda e: e.swap([(e.peer, to) for to in range(3)]))
    assert got == [[(peer, to) for peer in range(3)] for to in range(3)]


@pytest.mark.parametrize("n_peers", [1, 2, 4])
def test_shares_number_all_rows(n_peers):
    dealt = deal(1000, n_peers, seed=n_peers)
    values = np.random.default_rng(1).random((2, 1000))

    def check(exchange):
        parts = dealt[exchange.peer]
        rows, share = rows_of(parts), share_of(exchange, parts)
        assert share.n_rows == 1000
        assert np.array_equal(share.numbers, rows)
        assert np.array_equal(share.all_of(values[:, rows]), values)
        # Rows that are left out are not counted.
        odd = np.flatnonzero(rows % 2)
        taken = share.take(odd)
        assert taken.n_rows == 500
        assert np.array_equal(taken.numbers, rows[odd] // 2)

    run(n_peers, check)


def test_a_process_alone_holds_all_rows():
    share = Share.alone(5)
    assert share.is_alone
    assert share.exchange is ALONE
    assert share.numbers.tolist() == [0, 1, 2, 3, 4]


def test_failures_reach_all_peers():
    def fail(exchange):
        if exchange.peer == 1:
            raise ValueError("bad rows")
        exchange.gather(0)

    with pytest.raises(ValueError, match="bad rows"):
        run(3, fail)
