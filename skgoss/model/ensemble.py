"""The fitted trees as one structure of arrays: scores, leaves, importances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.predict import Predictor
from skgoss.data.columns import Columns
from skgoss.model.linear import LinearLeaves, RawColumns

NODE_TYPES = {
    "split_feature": np.int32,
    "threshold": np.float64,
    "decision_type": np.uint8,
    "left_child": np.int32,
    "right_child": np.int32,
    "split_gain": np.float64,
    "internal_value": np.float64,
    "internal_weight": np.float64,
    "internal_count": np.int64,
}
LEAF_TYPES = {
    "leaf_value": np.float64,
    "leaf_weight": np.float64,
    "leaf_count": np.int64,
}
_CATEGORICAL = 0b0001

# Where leaves are linear: the most leaves, one a row and tree, that are held in memory.
LEAVES_AT_ONCE = 1 << 21

Floats = NDArray[np.float64]
_DEFAULT_LEFT = 0b0010
_MISSING_SHIFT = 2
_KNOWN_BITS = 0b1111


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree in LightGBM's conventions.

    The L - 1 inner nodes stand in order of creation: splitting leaf p makes the next
    node, its left child keeps the number p and its right child becomes the next leaf.

    Attributes
    ----------
    split_feature : (L - 1,) int32
        Input column.
    threshold : (L - 1,) float64
        A value goes left when it is at most the threshold. Of a categorical node: the
        number of its set among those of the ensemble; a category goes left when it is
        in the set, and anything else goes right.
    decision_type : (L - 1,) uint8
        Bit 0: a categorical node; bit 1: missing values go left; bits 2-3: what is
        missing (0 nothing, NaN counts as zero; 1 NaN and zeros up to float32's 1e-35;
        2 NaN).
    left_child, right_child : (L - 1,) int32
        A later node, or ``~leaf`` (negative).
    split_gain, internal_value, internal_weight : (L - 1,) float64
        Gain of the split; value and sum of hessians the node had as a leaf.
    internal_count : (L - 1,) int64
    leaf_value, leaf_weight : (L,) float64
        Output, shrinkage included; sum of hessians.
    leaf_count : (L,) int64
    """

    split_feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    decision_type: NDArray[np.uint8]
    left_child: NDArray[np.int32]
    right_child: NDArray[np.int32]
    split_gain: NDArray[np.float64]
    internal_value: NDArray[np.float64]
    internal_weight: NDArray[np.float64]
    internal_count: NDArray[np.int64]
    leaf_value: NDArray[np.float64]
    leaf_weight: NDArray[np.float64]
    leaf_count: NDArray[np.int64]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.leaf_value)


class Sets(NamedTuple):
    """Sets of category numbers.

    Attributes
    ----------
    start : (n_sets + 1,) int64
        Where the words of each set begin.
    words : (start[-1],) uint32
        Category c is in the set when bit c % 32 of its word c // 32 is set.
    """

    start: NDArray[np.int64]
    words: NDArray[np.uint32]


NO_SETS = Sets(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32))


class Trees(Sequence[Tree]):
    """The trees of an ensemble, made as views when they are asked for."""

    def __init__(self, ensemble: Ensemble) -> None:
        self._ensemble = ensemble

    def __len__(self) -> int:
        return self._ensemble.n_trees

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._ensemble.tree(range(len(self))[index])

    def __iter__(self) -> Iterator[Tree]:
        return map(self._ensemble.tree, range(len(self)))


class Ensemble:
    """Fitted trees, ready to score.

    Nothing in it changes after it is made, so that any number of threads may use it at
    once. It pickles as plain arrays.

    Parameters
    ----------
    trees : sequence of Tree
        Round by round, ``n_scores`` trees a round.
    n_scores : int
        Scores per row, K.
    n_features : int
        Columns of the input.
    average : bool, default=False
        Whether scores are the mean over rounds (forests) and not the sum.
    sets : Sets, default=NO_SETS
        The sets of categories that go left at categorical nodes.

    Attributes
    ----------
    n_rounds, n_trees, n_scores, n_features : int
    average : bool
    sets : Sets

    Raises
    ------
    ValueError
        If a tree's arrays do not fit together, or name a column or a set that is not
        there.
    """

    def __init__(
        self,
        trees: Sequence[Tree],
        n_scores: int,
        n_features: int,
        *,
        average: bool = False,
        sets: Sets = NO_SETS,
    ) -> None:
        _check_sizes(trees, n_scores)
        arrays = {
            name: _join([getattr(tree, name) for tree in trees], dtype)
            for name, dtype in (NODE_TYPES | LEAF_TYPES).items()
        }
        leaf_start = np.zeros(len(trees) + 1, dtype=np.int64)
        np.cumsum([tree.n_leaves for tree in trees], out=leaf_start[1:])
        self.__setstate__(
            {
                "arrays": arrays,
                "leaf_start": leaf_start,
                "n_scores": int(n_scores),
                "n_features": int(n_features),
                "average": bool(average),
                "sets": sets,
            }
        )

    @classmethod
    def from_arrays(
        cls,
        arrays: dict[str, NDArray[Any]],
        leaf_start: NDArray[np.int64],
        n_scores: int,
        n_features: int,
        sets: Sets = NO_SETS,
        *,
        average: bool = False,
        linear: LinearLeaves | None = None,
    ) -> Ensemble:
        """Make an ensemble of the joined arrays of its trees.

        Parameters
        ----------
        arrays : dict of ndarray
            The attributes of `Tree`, those of all trees one after the other.
        leaf_start : (n_trees + 1,) int64
            Where the leaves of each tree begin, and the end of the last.
        n_scores, n_features : int
        sets : Sets, default=NO_SETS
        average : bool, default=False
            As in the constructor.
        linear : LinearLeaves, default=None
            The linear models of all leaves; None: leaves are constant.
        """
        ensemble = cls.__new__(cls)
        ensemble.__setstate__(
            {
                "arrays": arrays,
                "leaf_start": leaf_start,
                "n_scores": n_scores,
                "n_features": n_features,
                "average": average,
                "sets": sets,
                "linear": linear,
            }
        )
        return ensemble

    def __getstate__(self) -> dict[str, Any]:
        return {
            "arrays": self._arrays,
            "leaf_start": self._leaf_start,
            "n_scores": self.n_scores,
            "n_features": self.n_features,
            "average": self.average,
            "sets": self.sets,
            "linear": self.linear,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._restore(state, None)

    def _restore(self, state: dict[str, Any], predictor: Predictor | None) -> None:
        self._arrays = state["arrays"]
        self._leaf_start = state["leaf_start"]
        self.n_scores = state["n_scores"]
        self.n_features = state["n_features"]
        self.average = state["average"]
        self.sets = state["sets"]
        self.linear = state.get("linear")
        self.n_trees = len(self._leaf_start) - 1
        self.n_rounds = self.n_trees // self.n_scores
        self._importances: dict[str, NDArray[Any]] = {}
        self._predictor = predictor or _make_predictor(
            self._arrays, self._leaf_start, self.n_scores, self.n_features, self.sets
        )

    @property
    def trees(self) -> Trees:
        """The trees, a sequence of `Tree` whose arrays are views."""
        return Trees(self)

    def tree(self, index: int) -> Tree:
        """Tree number ``index``, from 0, as a view."""
        leaves = slice(self._leaf_start[index], self._leaf_start[index + 1])
        nodes = slice(leaves.start - index, leaves.stop - index - 1)
        return Tree(
            **{name: self._arrays[name][nodes] for name in NODE_TYPES},
            **{name: self._arrays[name][leaves] for name in LEAF_TYPES},
        )

    def truncated(self, n_rounds: int) -> Ensemble:
        """The first ``n_rounds`` rounds (at most all), sharing this one's memory."""
        n_trees = self._stop_round(n_rounds) * self.n_scores
        leaves = int(self._leaf_start[n_trees])
        stop = dict.fromkeys(NODE_TYPES, leaves - n_trees)
        stop |= dict.fromkeys(LEAF_TYPES, leaves)
        state = self.__getstate__() | {
            "arrays": {name: self._arrays[name][:n] for name, n in stop.items()},
            "leaf_start": self._leaf_start[: n_trees + 1],
            "linear": self.linear and self.linear.leaves(0, leaves),
        }
        short = Ensemble.__new__(Ensemble)
        short._restore(state, self._predictor)
        return short

    def joined(self, later: Ensemble) -> Ensemble:
        """The rounds of both, these first."""
        sets = self.sets
        theirs = dict(later._arrays)
        if len(later.sets.start) > 1:
            categorical = theirs["decision_type"] & _CATEGORICAL != 0
            shift = np.where(categorical, len(sets.start) - 1.0, 0.0)
            theirs["threshold"] = theirs["threshold"] + shift
            sets = Sets(
                np.concatenate([sets.start, sets.start[-1] + later.sets.start[1:]]),
                np.concatenate([sets.words, later.sets.words]),
            )
        start = self._leaf_start
        return Ensemble.from_arrays(
            {n: np.concatenate([own, theirs[n]]) for n, own in self._arrays.items()},
            np.concatenate([start, start[-1] + later._leaf_start[1:]]),
            self.n_scores,
            self.n_features,
            sets,
            average=self.average,
            linear=self._linear_with(later),
        )

    def _linear_with(self, later: Ensemble) -> LinearLeaves | None:
        """The linear models of both; where one has none, its leaves are constant."""
        if self.linear is None and later.linear is None:
            return None
        return LinearLeaves.joined(
            [
                one.linear or LinearLeaves.constants(one._arrays["leaf_value"])
                for one in (self, later)
            ]
        )

    def importances(self, kind: Literal["split", "gain"] = "split") -> NDArray[Any]:
        """How much each input column is used.

        Parameters
        ----------
        kind : {"split", "gain"}, default="split"
            Number of splits, or the sum of their gains; splits without gain count for
            nothing.

        Returns
        -------
        (n_features,) int64 or float64, read-only
        """
        if kind not in ("split", "gain"):
            raise ValueError(f"kind must be 'split' or 'gain', got {kind!r}")
        if kind not in self._importances:
            gain = self._arrays["split_gain"]
            found = np.bincount(
                self._arrays["split_feature"][gain > 0],
                weights=gain[gain > 0] if kind == "gain" else None,
                minlength=self.n_features,
            )
            found.flags.writeable = False
            self._importances[kind] = found
        return self._importances[kind]

    def raw_scores(
        self,
        columns: Columns,
        start_round: int = 0,
        stop_round: int | None = None,
        n_threads: int = 1,
    ) -> NDArray[np.float64]:
        """Sum the leaf values that rows reach.

        Parameters
        ----------
        columns : Columns
            The rows, ``n_features`` columns.
        start_round, stop_round : int, default=0, None
            Rounds that count, the last excluded; None or more than there are: all.
        n_threads : int, default=1
            Threads at most; the scores do not depend on it.

        Returns
        -------
        (n_rows, n_scores) float64
            The sum, or where ``average`` is set the mean over the rounds.
        """
        first, stop = self._span(columns, start_round, stop_round)
        scores = np.zeros((columns.n_rows, self.n_scores))
        if self.linear is None:
            self._predictor.scores(columns, first, stop, n_threads, scores)
        else:
            scores = self._linear_scores(columns, first, stop, n_threads)
        if self.average and stop > first:
            scores /= (stop - first) // self.n_scores
        return scores

    def _linear_scores(
        self, columns: Columns, first: int, stop: int, n_threads: int
    ) -> Floats:
        scores = np.zeros((columns.n_rows, self.n_scores))
        raw = RawColumns(columns)
        step = max(1, LEAVES_AT_ONCE // max(1, columns.n_rows))
        for start in range(first, stop, step):
            end = min(start + step, stop)
            leaf = np.empty((columns.n_rows, end - start), dtype=np.int32)
            self._predictor.leaves(columns, start, end, n_threads, leaf)
            raw.add_trees(
                leaf,
                self._leaf_start[start : end + 1],
                self._arrays["leaf_value"],
                self.linear,
                start % self.n_scores,
                n_threads,
                scores,
            )
        return scores

    def leaves(
        self,
        columns: Columns,
        start_round: int = 0,
        stop_round: int | None = None,
        n_threads: int = 1,
    ) -> NDArray[np.int32]:
        """Find the leaf that each row reaches in each tree.

        Parameters
        ----------
        columns : Columns
            The rows, ``n_features`` columns.
        start_round, stop_round : int, default=0, None
            Rounds that count, the last excluded; None or more than there are: all.
        n_threads : int, default=1
            Threads at most.

        Returns
        -------
        (n_rows, rounds * n_scores) int32
        """
        first, stop = self._span(columns, start_round, stop_round)
        leaves = np.empty((columns.n_rows, stop - first), dtype=np.int32)
        self._predictor.leaves(
            columns,
            first,
            stop,
            n_threads,
            leaves,
        )
        return leaves

    def _span(
        self, columns: Columns, start_round: int, stop_round: int | None
    ) -> tuple[int, int]:
        """The trees of some rounds, once the columns are known to be there."""
        if columns.n_features != self.n_features:
            raise ValueError(
                f"columns has {columns.n_features} features, but the trees were fitted"
                f" on {self.n_features}"
            )
        if start_round < 0:
            raise ValueError(f"start_round must be at least 0, got {start_round}")
        stop = self._stop_round(stop_round)
        return min(start_round, stop) * self.n_scores, stop * self.n_scores

    def _stop_round(self, stop_round: int | None) -> int:
        if stop_round is None:
            return self.n_rounds
        if stop_round < 0:
            raise ValueError(f"stop_round must be at least 0, got {stop_round}")
        return min(stop_round, self.n_rounds)


def _check_sizes(trees: Sequence[Tree], n_scores: int) -> None:
    if n_scores < 1:
        raise ValueError(f"n_scores must be at least 1, got {n_scores}")
    if len(trees) % n_scores:
        raise ValueError(
            f"trees must come in rounds of n_scores={n_scores}, got {len(trees)} trees"
        )
    for number, tree in enumerate(trees):
        for field in fields(tree):
            size = tree.n_leaves - (field.name in NODE_TYPES)
            if tree.n_leaves < 1 or getattr(tree, field.name).shape != (size,):
                raise ValueError(
                    f"{field.name} of tree {number}, which has {tree.n_leaves} leaves,"
                    f" must have the shape ({max(size, 0)},)"
                )


def _join(parts: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(
        [np.empty(0, dtype), *parts], dtype=dtype, casting="same_kind"
    )


def _make_predictor(
    arrays: dict[str, NDArray[Any]],
    leaf_start: NDArray[np.int64],
    n_scores: int,
    n_features: int,
    sets: Sets,
) -> Predictor:
    """Put the thresholds of each column in order and hand the trees to the kernel.

    Missing values are told from others once for each slot, a column under one meaning
    of "missing"; so a model may mix the meanings. A column under one set of categories
    is a slot too, whose values are 0 in the set and 1 outside.
    """
    feature, threshold = arrays["split_feature"], arrays["threshold"]
    decision = arrays["decision_type"]
    categorical = decision & _CATEGORICAL != 0
    _check_splits(feature, threshold, decision, n_features)
    _check_sets(threshold[categorical], sets)
    set_of = _distinct_sets(threshold, categorical, sets)
    missing = np.where(categorical, 0, decision >> _MISSING_SHIFT)
    # By feature first, so that the values of a column are loaded once for all slots.
    n_kinds = 3 + int(set_of.max(initial=-1)) + 1
    kind = np.where(categorical, 3 + set_of, missing)
    slot_key, slot = np.unique(feature * np.int64(n_kinds) + kind, return_inverse=True)
    goes_right = (missing > 0) & (decision & _DEFAULT_LEFT == 0)
    sides, column = np.unique(2 * slot + goes_right, return_inverse=True)
    slot_column = np.zeros((len(slot_key), 2), dtype=np.int32)
    slot_column.flat[sides] = 1 + np.arange(len(sides))
    threshold = np.where(categorical, 0.0, threshold)
    order = np.lexsort((threshold, slot))
    slot_sorted, threshold_sorted = slot[order], threshold[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (slot_sorted[1:] != slot_sorted[:-1]) | (
        threshold_sorted[1:] != threshold_sorted[:-1]
    )
    slot_start = np.searchsorted(slot_sorted[is_new], np.arange(len(slot_key) + 1))
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.cumsum(is_new) - 1 - slot_start[slot_sorted]
    slot_kind = slot_key % n_kinds
    return Predictor(
        arrays["left_child"],
        arrays["right_child"],
        threshold,
        (1 + column).astype(np.int32),
        rank,
        leaf_start,
        arrays["leaf_value"],
        (slot_key // n_kinds).astype(np.int32),
        np.where(slot_kind < 3, slot_kind, 0).astype(np.uint8),
        slot_column,
        slot_start.astype(np.int64),
        threshold_sorted[is_new],
        np.maximum(slot_kind - 3, -1),
        sets.start,
        sets.words,
        n_scores,
    )


def _distinct_sets(
    threshold: NDArray[np.float64], categorical: NDArray[np.bool_], sets: Sets
) -> NDArray[np.int64]:
    """The number of the first set that is equal to each categorical node's."""
    set_of = np.zeros(len(threshold), dtype=np.int64)
    first: dict[bytes, int] = {}
    number = np.array(
        [
            first.setdefault(sets.words[start:stop].tobytes(), j)
            for j, (start, stop) in enumerate(pairwise(sets.start.tolist()))
        ],
        dtype=np.int64,
    )
    if categorical.any():
        set_of[categorical] = number[threshold[categorical].astype(np.int64)]
    return set_of


def _check_sets(numbers: NDArray[np.float64], sets: Sets) -> None:
    start, n_words = sets.start, len(sets.words)
    if start[0] != 0 or start[-1] != n_words or (np.diff(start) < 0).any():
        raise ValueError(f"the start of sets must rise from 0 to {n_words}")
    n_sets = len(start) - 1
    if numbers.size and not (
        0 <= numbers.min() <= numbers.max() < n_sets
        and (numbers == np.floor(numbers)).all()
    ):
        raise ValueError(
            "threshold of categorical nodes must be the number of a set, from 0 to"
            f" {n_sets - 1}"
        )


def _check_splits(
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    decision: NDArray[np.uint8],
    n_features: int,
) -> None:
    if feature.size and not 0 <= feature.min() <= feature.max() < n_features:
        raise ValueError(f"split_feature must lie in 0..{n_features - 1}")
    if np.isnan(threshold).any():
        raise ValueError("threshold must not be NaN")
    if (decision & ~np.uint8(_KNOWN_BITS)).any() or (
        decision >> _MISSING_SHIFT > 2
    ).any():
        raise ValueError(
            "decision_type must have bit 0 (categorical), bit 1 (default left) and bits"
            " 2-3 (missing: 0 none, 1 zero, 2 NaN) alone"
        )
