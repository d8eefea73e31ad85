"""Trees in terms of bins, and the rows that they are applied to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.binning.store import BinStore
from skgoss._engine.training.score import LeafModelTable, add_tree
from skgoss.model.linear import LinearLeaves, RawColumns

Floats = NDArray[np.float64]


class BinnedRows(NamedTuple):
    """Rows that trees are applied to."""

    store: BinStore
    missing_bin: NDArray[np.int32]  # (n_used,)
    values: RawColumns | None  # the values of the columns; None: no leaf is linear
    n_rows: int
    # (n_rows,): the rows of the store that these are, ascending; None: all.
    numbers: NDArray[np.uint32] | None = None

    def leaf_model_table(self, arrays: Sequence[NDArray[Any]]) -> LeafModelTable:
        """The linear models of leaves with the column values, as kernels read them.

        ``arrays`` are those of `LinearLeaves`, in its order. RuntimeError if the rows
        have no values.
        """
        leaves = LinearLeaves(*arrays)
        if self.values is None:
            raise RuntimeError("linear leaves need the values of the columns")
        self.values.prepare(leaves.feature)
        return LeafModelTable(self.values, leaves)


class BinnedTrees(NamedTuple):
    """The trees of one round, as from ``Forest.arrays``.

    The nodes and leaves are those of all trees, one tree after the other; the leaves of
    the tree of score k begin at ``leaf_start[k]``, and its nodes at
    ``leaf_start[k] - k``, because a tree has one node fewer than leaves. ``words`` are
    the bits of sets of bins, to which categorical nodes point.
    """

    nodes: NDArray[Any]
    leaves: NDArray[Any]
    leaf_start: NDArray[np.int64]  # (n_scores + 1,)
    words: NDArray[np.uint32]
    linear: LinearLeaves | None = None  # None: all leaves are constant

    def tree(self, k: int) -> tuple[NDArray[Any], Floats]:
        """The nodes and the values of the leaves of one score's tree."""
        first, stop = self.leaf_start[k : k + 2]
        return self.nodes[first - k : stop - k - 1], self.leaves["value"][first:stop]

    def by_round(
        self, n_scores: int, linear: Sequence[LinearLeaves]
    ) -> list[BinnedTrees]:
        """The trees of each round, if these are those of several rounds.

        ``linear`` has the linear models of each round, or none.
        """
        rounds = []
        for index, first in enumerate(range(0, len(self.leaf_start) - 1, n_scores)):
            start = self.leaf_start[first : first + n_scores + 1]
            leaves = slice(start[0], start[-1])
            nodes = slice(start[0] - first, start[-1] - first - n_scores)
            rounds.append(
                self._replace(
                    nodes=self.nodes[nodes],
                    leaves=self.leaves[leaves],
                    leaf_start=start - start[0],
                    linear=linear[index] if linear else None,
                )
            )
        return rounds

    def add(
        self, rows: BinnedRows, factor: float, n_threads: int, scores_inout: Floats
    ) -> None:
        """Add ``factor`` times the trees to scores of shape (n_scores, n_rows)."""
        leaves, leaf_models = self.linear, None
        if leaves is not None:
            scaled = leaves if factor == 1.0 else leaves.scaled(factor, 0.0)
            leaf_models = rows.leaf_model_table(scaled)
        for k, score in enumerate(scores_inout):
            nodes, values = self.tree(k)
            add_tree(
                rows.store,
                nodes,
                rows.missing_bin,
                self.words,
                factor * values,
                n_threads,
                score,
                rows.numbers,
                leaf_models,
                int(self.leaf_start[k]),
            )
