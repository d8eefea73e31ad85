import numpy as np
import pytest
from peers import deal, rows_of, run

from skgoss.data import queries
from skgoss.data.shares import Parts


def parts_of(exchange, dealt):
    return Parts(exchange, {part: len(rows) for part, rows in dealt.items()})


def deal_queries(sizes, n_peers, seed):
    """Deal whole queries; returns the row numbers of each part of each peer."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return [
        {
            part: np.concatenate(
                [np.empty(0, int), *(np.arange(ends[q], ends[q + 1]) for q in chosen)]
            )
            for part, chosen in parts.items()
        }
        for parts in deal(len(sizes), n_peers, seed)
    ]


# --- Queries --------------------------------------------------------------------------


@pytest.mark.parametrize("n_peers", [1, 2, 3])
@pytest.mark.parametrize("kind", ["group", "qid", "words"])
def test_queries_of_parts_have_the_numbers_of_all_rows(n_peers, kind):
    random = np.random.default_rng(n_peers)
    sizes = random.integers(0, 6, 40)
    names = random.permutation(100)[:40] * 7 - 50
    names = names.astype(str) if kind == "words" else names
    dealt = deal_queries(sizes, n_peers, seed=n_peers)
    qid = np.repeat(names, sizes)
    # Rows of a query need not be consecutive.
    for parts in dealt:
        for rows in parts.values():
            qid[rows] = random.permutation(qid[rows])
    given = {"group": sizes} if kind == "group" else {"qid": qid}
    whole = queries.make(len(qid), **given)
    kept = np.flatnonzero(random.random(len(qid)) < 0.3)
    whole_kept = whole.take(kept)

    def check(exchange):
        parts = dealt[exchange.peer]
        rows = rows_of(parts)
        if kind == "group":
            counts = np.bincount(np.repeat(np.arange(40), sizes)[rows], minlength=40)
            own = {"group": counts[counts > 0]}
        else:
            own = {"qid": qid[rows]}
        got = queries.make(len(rows), **own, parts=parts_of(exchange, parts))
        assert got.n_global == whole.n_queries
        assert np.array_equal(got.global_number[got.number], whole.number[rows])
        assert np.array_equal(got.sizes, whole.sizes[got.global_number])
        at = np.flatnonzero(np.isin(rows, kept))
        left = got.take(at, exchange)
        assert left.n_global == whole_kept.n_queries
        place = np.searchsorted(kept, rows[at])
        assert np.array_equal(left.global_number[left.number], whole_kept.number[place])

    run(n_peers, check)


def make_queries(own, **given):
    """Make the queries of peers that hold some parts, by number and length."""

    def work(exchange):
        parts = Parts(exchange, own[exchange.peer])
        values = {
            name: np.array(value[exchange.peer], dtype=None if len(value) else int)
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
    with pytest.raises(ValueError, match="kind of values in qid must be the same"):
        make_queries([{0: 1}, {1: 1}], qid=[["a"], [1]])


def test_all_rows_of_one_part_may_be_one_query():
    first, second = make_queries([{0: 0}, {1: 3}])
    assert first.n_queries == 0
    assert second.n_queries == first.n_global == second.n_global == 1
