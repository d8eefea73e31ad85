"""Queries as sizes or as marks of rows."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.parts_of_rows import deal_queries, parts_of
from helpers.ranks import rows_of, run
from skgoss.columns import queries
from skgoss.columns.queries import Queries
from skgoss.distributed.row_partition import Parts


def test_sizes_and_marks_are_the_same_queries():
    by_size = queries.make(6, group=[2, 0, 3, 1])
    by_mark = queries.make(6, qid=["b", "b", "c", "c", "c", "d"])
    for made in (by_size, by_mark):
        assert made.order is None
        assert made.n_queries == 3
        np.testing.assert_array_equal(made.boundaries, [0, 2, 5, 6])
        np.testing.assert_array_equal(made.number, [0, 0, 1, 1, 1, 2])


def test_marks_in_any_order():
    made = queries.make(6, qid=[7, 3, 7, 7, 3, 5])
    np.testing.assert_array_equal(made.sizes, [2, 1, 3])
    np.testing.assert_array_equal(made.order, [1, 4, 5, 0, 2, 3])
    np.testing.assert_array_equal(made.gathered(np.arange(6.0)), [1, 4, 5, 0, 2, 3])


def test_some_of_the_rows():
    made = queries.make(5, group=[2, 3]).take(np.array([2, 4]))
    assert made.n_queries == 1
    np.testing.assert_array_equal(made.boundaries, [0, 2])


def test_neither_is_one_query_and_a_warning_for_many_rows():
    assert queries.make(200).n_queries == 1
    with pytest.warns(UserWarning, match="Neither qid nor group is given: all 201"):
        assert queries.make(201).n_queries == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"group": [2, 1], "qid": [1, 1, 2]}, "qid or .*group, not both"),
        ({"group": [2, 2]}, "sizes in group sum to 4, but there are 3 rows.*pass qid"),
        ({"group": [4, -1]}, "group must hold whole numbers >= 0"),
        ({"group": [1.5, 1.5]}, "group must hold whole numbers"),
        ({"group": [np.nan, 3]}, "group must hold whole numbers"),
        ({"group": 3}, "group must be a list of sizes"),
        ({"group": ["a"]}, "group must be a list of sizes"),
        ({"group": [2**63 - 1, 2**63 - 1, 5]}, r"sum to 18446744073709551619, but"),
        ({"group": np.array([2**64 - 1, 4], np.uint64)}, "sum to 18446744073709551619"),
        ({"group": [2.0**63, 3]}, "sum to 9223372036854775811, but there are 3"),
        ({"group": [2**70]}, "group must be a list of sizes"),
        ({"group": np.ma.array([2, 1, 3], mask=[0, 0, 1])}, "group has masked values"),
        ({"qid": np.ma.array([2, 1, 3], mask=[0, 0, 1])}, "qid has masked values"),
        ({"qid": [1, 2]}, r"qid must have one value for each of the 3 rows.*\(2,\)"),
        ({"qid": [1.0, np.nan, 2]}, "qid must not be missing, got nan in row 1"),
        ({"qid": ["a", None, "b"]}, "qid must not be missing, got None in row 1"),
        ({"qid": ["a", 1, "b"]}, "qid must hold values that can be sorted"),
    ],
)
def test_bad_queries(given, message):
    if isinstance(given.get("qid"), list) and "a" in given["qid"]:
        given["qid"] = np.array(given["qid"], dtype=object)
    with pytest.raises(ValueError, match=message):
        queries.make(3, **given)
    with pytest.raises(ValueError, match="eval_"):
        queries.make(3, **given, prefix="eval_")


def test_marks_of_pandas_may_be_missing(pandas):
    for marks in (["a", pandas.NA, "b"], [1, pandas.NA, 2]):
        for dtype in (object, None):
            with pytest.raises(ValueError, match="qid must not be missing, got"):
                queries.make(3, qid=pandas.Series(marks, dtype=dtype))


def test_queries_of_numbers_with_gaps():
    made = Queries.from_ids(np.array([9, 4, 9]))
    np.testing.assert_array_equal(made.number, [1, 0, 1])


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
