"""The fitted trees as one structure of arrays: scores, leaves, importances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from itertools import pairwise
from numbers import Integral
from types import NoneType
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model.few_rows import FewRowsPredictor
from skgoss._engine.model.predict import Predictor
from skgoss._engine.objectives.link_kernels import RowLink
from skgoss.columns.columns import Columns
from skgoss.model.category_sets import NO_SETS, SET_TYPES, CategorySets
from skgoss.model.linear import (
    BOUND_TYPES,
    LINEAR_TYPES,
    MEAN_TYPES,
    LinearLeaves,
    RawColumns,
    spans,
)
from skgoss.model.predictor_tables import make_predictor
from skgoss.model.trees import (
    CATEGORICAL,
    LEAF_TYPES,
    NODE_TYPES,
    Tree,
    check_trees,
    zero_tree,
)
from skgoss.objectives.link import IDENTITY, row_link
from skgoss.utils.locks import cached_property
from skgoss.utils.plain_values import Types, entries, vector, vectors

# Linear leaves: the maximum size of a chunk of leaf numbers, one a row and tree.
LEAVES_AT_ONCE = 1 << 21

# Up to this number of rows, comparing with thresholds is faster than ranking; half of
# it where there are sets of categories.
FEW_ROWS = 32

# Thresholds of larger magnitude separate missing values from all numbers.
LARGEST = 1e300

# The kinds of importance, and what is summed over the splits; None: their number.
_IMPORTANCE = {"split": None, "gain": "split_gain", "cover": "internal_count"}

# The values of leaves and nodes.
_VALUES = ("leaf_value", "internal_value")

# The entries of a state, and their types.
_STATE: Types = {
    "arrays": dict,
    "leaf_start": np.ndarray,
    "n_scores": Integral,
    "n_features": Integral,
    "sets": dict,
    "average": bool,
    "linear": (dict, NoneType),
}

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Fitted trees, ready to predict.

    The arrays are `checked` when an ensemble is read or restored, but not those that
    come from the engine or from another ensemble. They never change, so several threads
    may use an ensemble at once. The state that pickle saves consists of plain types and
    arrays.
    """

    # The attributes of `Tree`, concatenated over all trees.
    arrays: dict[str, NDArray[Any]]
    # (n_trees + 1,): where the leaves of each tree begin, and the end of the last.
    leaf_start: NDArray[np.int64]
    # K, the number of scores of a row. Trees are ordered by round, K trees a round.
    n_scores: int
    n_features: int  # columns of the input
    # The sets of categories that go left at categorical nodes.
    sets: CategorySets = NO_SETS
    _: KW_ONLY
    # Whether scores are the mean over rounds (random forests) and not the sum.
    average: bool = False
    # The linear models of all leaves; None: leaves are constant.
    linear: LinearLeaves | None = None
    # (n_rounds, 2 + 2 K): what the spread of a distribution needs to go on after each
    # round; NaN where it is not known. None: nothing is known.
    spread: Floats | None = None

    def checked(self) -> Self:
        """The ensemble itself, if its arrays describe trees.

        ValueError if they do not, or refer to a column or set that does not exist.
        """
        check_trees(
            self.arrays,
            self.leaf_start,
            self.n_scores,
            self.n_features,
            self.sets,
            self.linear,
        )
        return self

    def with_spread(self, values: Any) -> Ensemble:
        """The same trees with another ``spread``, which is checked.

        ValueError unless it is an array of the shape that the attribute has, of numbers
        of at least 0, or NaN. Its columns from 1 to n_scores + 1 are proportions.
        """
        shape = self.n_rounds, 2 + 2 * self.n_scores
        if not isinstance(values, np.ndarray) or values.dtype != np.float64:
            raise ValueError("the spread of the trees must be an array of float64")
        known = values[~np.isnan(values)]
        has_shape = values.shape == shape
        shares = values[:, 1 : 2 + self.n_scores] if has_shape else known
        if not has_shape or (known < 0).any() or np.isinf(known).any():
            raise ValueError(f"the spread of the trees must be {shape} numbers >= 0")
        if (shares > 1).any():
            raise ValueError("the spread of the trees must have shares of at most 1")
        return replace(self, spread=values)

    @classmethod
    def from_trees(
        cls, trees: Sequence[Tree], n_scores: int, n_features: int, **options: Any
    ) -> Ensemble:
        """Make an ensemble of single trees, round by round.

        ``options`` are the other parameters of the class.
        """
        for number, tree in enumerate(trees):
            _check_shapes(tree, number)
        arrays = {
            name: _join([getattr(tree, name) for tree in trees], dtype)
            for name, dtype in (NODE_TYPES | LEAF_TYPES).items()
        }
        leaf_start = np.cumsum([0, *(tree.n_leaves for tree in trees)], dtype=np.int64)
        return cls(arrays, leaf_start, n_scores, n_features, **options).checked()

    def __getstate__(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in _STATE},
            "arrays": dict(self.arrays),
            "sets": self.sets._asdict(),
            "linear": self.linear and self.linear._asdict(),
            # Files of earlier versions do not have it.
            **({} if self.spread is None else {"spread": self.spread}),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        arrays, leaf_start, n_scores, n_features, sets, average, linear = entries(
            state, _STATE, "the ensemble"
        )
        if linear is not None:
            linear = _restored_linear(linear, "the linear leaves")
        vars(self).update(
            arrays=vectors(arrays, NODE_TYPES | LEAF_TYPES, "the trees"),
            leaf_start=vector(leaf_start, np.int64, "leaf_start"),
            n_scores=int(n_scores),
            n_features=int(n_features),
            sets=CategorySets(**vectors(sets, SET_TYPES, "the sets")),
            average=average,
            linear=linear,
            spread=None,
        )
        self.checked()
        if state.get("spread") is not None:
            vars(self).update(spread=self.with_spread(state["spread"]).spread)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.leaf_start) - 1

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return (len(self.leaf_start) - 1) // self.n_scores

    @cached_property
    def _predictor(self) -> Predictor:
        return make_predictor(self.arrays, self.leaf_start, self.n_scores, self.sets)

    @cached_property
    def _few_rows(self) -> FewRowsPredictor:
        """The predictor of a few rows, which needs no tables of ranks."""
        arrays = self.arrays
        return FewRowsPredictor(
            arrays["left_child"],
            arrays["right_child"],
            arrays["split_feature"],
            arrays["threshold"],
            arrays["decision_type"],
            self.leaf_start,
            arrays["leaf_value"],
            self.sets.start,
            self.sets.words,
            self.n_scores,
        )

    @property
    def trees(self) -> list[Tree]:
        """The trees; their arrays are views."""
        return [self.tree(index) for index in range(self.n_trees)]

    def tree(self, index: int) -> Tree:
        """Tree number ``index``, from 0, as a view."""
        leaves = slice(self.leaf_start[index], self.leaf_start[index + 1])
        nodes = slice(leaves.start - index, leaves.stop - index - 1)
        return Tree(
            **{name: self.arrays[name][nodes] for name in NODE_TYPES},
            **{name: self.arrays[name][leaves] for name in LEAF_TYPES},
        )

    def truncated(self, n_rounds: int) -> Ensemble:
        """The first ``n_rounds`` rounds, or all if there are fewer, without a copy."""
        n_trees = self._stop_round(n_rounds) * self.n_scores
        n_leaves = int(self.leaf_start[n_trees])
        stop = dict.fromkeys(NODE_TYPES, n_leaves - n_trees)
        stop |= dict.fromkeys(LEAF_TYPES, n_leaves)
        return replace(
            self,
            arrays={name: self.arrays[name][:n] for name, n in stop.items()},
            leaf_start=self.leaf_start[: n_trees + 1],
            linear=self.linear and self.linear.leaves(0, n_leaves),
            spread=None if self.spread is None else self.spread[:n_rounds],
        )

    def joined(self, *later: Ensemble) -> Ensemble:
        """The rounds of several ensembles, those of ``self`` first."""
        ensembles = (self, *later)
        n_sets = np.cumsum([0, *(len(one.sets.start) - 1 for one in ensembles)])
        arrays = [
            one.arrays | {"threshold": one._thresholds_after(int(n))}
            for one, n in zip(ensembles, n_sets, strict=False)
        ]
        return replace(
            self,
            arrays={
                name: np.concatenate([values[name] for values in arrays])
                for name in self.arrays
            },
            leaf_start=_join_starts([one.leaf_start for one in ensembles]),
            sets=CategorySets(
                _join_starts([one.sets.start for one in ensembles]),
                np.concatenate([one.sets.words for one in ensembles]),
            ),
            linear=_join_linear(ensembles),
            spread=_join_spread(ensembles),
        )

    def _thresholds_after(self, n_sets: int) -> Floats:
        """The thresholds if ``n_sets`` other sets of categories come before these.

        The threshold of a categorical node is the number of its set.
        """
        threshold = self.arrays["threshold"]
        if n_sets == 0:
            return threshold
        categorical = self.arrays["decision_type"] & CATEGORICAL != 0
        return threshold + np.where(categorical, float(n_sets), 0.0)

    def chosen(self, rounds: NDArray[np.integer[Any]]) -> Ensemble:
        """The rounds with these numbers, in this order, as copies."""
        trees = rounds[:, None] * self.n_scores + np.arange(self.n_scores)
        return self._with_trees(trees.ravel(), self.n_scores)

    def of_scores(self, first: int, stop: int) -> Ensemble:
        """The trees of some of the scores, from ``first`` to ``stop - 1``."""
        trees = np.arange(self.n_trees)
        score = trees % self.n_scores
        return self._with_trees(trees[(first <= score) & (score < stop)], stop - first)

    def _with_trees(self, trees: NDArray[np.integer[Any]], n_scores: int) -> Ensemble:
        """The trees with these numbers, in this order, as copies.

        ``n_scores`` is the number of trees of a round in the result. The nodes of tree
        t begin at ``leaf_start[t] - t``: each tree has one node fewer than leaves.
        """
        first, n_leaves = self.leaf_start[trees], np.diff(self.leaf_start)[trees]
        leaves, nodes = spans(first, n_leaves), spans(first - trees, n_leaves - 1)
        taken = dict.fromkeys(NODE_TYPES, nodes) | dict.fromkeys(LEAF_TYPES, leaves)
        return replace(
            self,
            n_scores=n_scores,
            arrays={name: values[taken[name]] for name, values in self.arrays.items()},
            leaf_start=np.concatenate([[0], np.cumsum(n_leaves)]),
            linear=self.linear and self.linear.chosen(leaves),
            spread=None,
        )

    def scaled(self, factor: float, added: float = 0.0) -> Ensemble:
        """The same trees, with all values times a factor, plus a constant score.

        ``added`` goes to the leaves of the first tree; if scores are means over rounds,
        to those of all trees. There must be one score if it is not 0.
        """
        n_trees = self.n_trees if self.average else 1
        n_leaves, to_leaves = self.leaf_start[n_trees], np.zeros(self.leaf_start[-1])
        to_leaves[:n_leaves] = added
        arrays = {name: factor * self.arrays[name] for name in _VALUES}
        if added:
            arrays["leaf_value"] += to_leaves
            arrays["internal_value"][: n_leaves - n_trees] += added
        return replace(
            self,
            arrays=self.arrays | arrays,
            linear=self.linear and self.linear.scaled(factor, to_leaves),
            spread=None,
        )

    def mapped(self, factors: Floats, added: Floats) -> Ensemble:
        """Trees whose scores are those of these, times factors, plus constants.

        ``factors`` and ``added`` are (n_scores,).
        """
        single = [self.of_scores(k, k + 1) for k in range(self.n_scores)]
        return side_by_side([*map(Ensemble.scaled, single, factors, added)])

    def on_columns(self, numbers: NDArray[np.int32], n_features: int) -> Ensemble:
        """The same trees, for rows with other columns.

        Column j is column ``numbers[j]`` among the ``n_features`` of the new rows.
        """
        feature = numbers[self.arrays["split_feature"]]
        linear = self.linear
        if linear is not None:
            linear = linear._replace(feature=numbers[linear.feature])
        return replace(
            self,
            arrays=self.arrays | {"split_feature": feature},
            n_features=n_features,
            linear=linear,
        )

    def with_leaves(
        self, values: Floats, linear: LinearLeaves | None = None
    ) -> Ensemble:
        """The same trees with other values of all leaves, (n_leaves,).

        Their linear models are replaced, too; None: they are kept.
        """
        arrays = self.arrays | {"leaf_value": values}
        linear = linear or self.linear
        return replace(self, arrays=arrays, linear=linear, spread=None)

    def importances(self, kind: str = "split") -> NDArray[Any]:
        """The importance of each column, (n_features,) int64 or float64.

        This is the number of its splits, the sum of their gains, or the sum of their
        counts of training rows. Splits with a gain of 0 or less do not count.
        """
        if kind not in _IMPORTANCE:
            kinds = " or ".join(map(repr, _IMPORTANCE))
            raise ValueError(f"the kind of importance must be {kinds}, got {kind!r}")
        gains, weight = self.arrays["split_gain"] > 0, _IMPORTANCE[kind]
        return np.bincount(
            self.arrays["split_feature"][gains],
            weights=None if weight is None else self.arrays[weight][gains],
            minlength=self.n_features,
        )

    def split_values(self, column: int) -> Floats:
        """The thresholds of all splits of a column; ValueError if it holds categories.

        Splits that separate missing values from all numbers have none.
        """
        here = self.arrays["split_feature"] == column
        if (self.arrays["decision_type"][here] & CATEGORICAL).any():
            raise ValueError(
                "A histogram of split values needs a column of numbers, but column"
                f" {column} holds categories."
            )
        thresholds = self.arrays["threshold"][here]
        return thresholds[np.abs(thresholds) < LARGEST]

    def bound(self, side: np.ufunc) -> float:
        """The sum of the least (``np.minimum``) or greatest leaf value of each tree."""
        if self.n_trees == 0:
            return 0.0
        values, start = self.arrays["leaf_value"], self.leaf_start[:-1]
        return float(side.reduceat(values, start).sum())

    def raw_scores(
        self,
        columns: Columns,
        start_round: int = 0,
        stop_round: int | None = None,
        n_threads: int = 1,
    ) -> NDArray[np.float64]:
        """The raw scores of rows, (n_rows, n_scores): sums of leaf values.

        The sum, or mean if ``average``, is over the rounds from ``start_round`` to
        ``stop_round - 1``; None: to the last. It does not depend on the number of
        threads.
        """
        return self.predictions(columns, None, start_round, stop_round, n_threads)

    def predictions(
        self,
        columns: Columns,
        link: RowLink | None,
        start_round: int = 0,
        stop_round: int | None = None,
        n_threads: int = 1,
    ) -> Floats:
        """What a link makes of the `raw_scores` of rows: (n_rows, ``link.width``).

        ``link``: None: nothing, the result has the raw scores. The rounds are those
        from ``start_round`` to ``stop_round - 1``; None: to the last.
        """
        first, stop = self._span(columns, start_round, stop_round)
        link = link or self._no_link
        divisor = self._divisor(stop - first) if self.average else 1
        columns = self._readable(columns, n_threads)
        out = np.empty((columns.n_rows, link.width))
        if self.linear is not None:
            scores, raw = np.zeros((len(out), self.n_scores)), RawColumns(columns)
            self._add_linear(self.linear, raw, first, stop, n_threads, scores)
            link.apply(scores, divisor, n_threads, out)
        elif self._are_few(columns):
            self._few_rows.predict(columns, first, stop, link, divisor, out)
        else:
            self._predictor.predict(columns, first, stop, link, divisor, n_threads, out)
        return out

    @property
    def _no_link(self) -> RowLink:
        return cast(RowLink, row_link(IDENTITY, self.n_scores))

    @cached_property
    def _used_features(self) -> NDArray[np.int32]:
        """The columns that the trees read."""
        used = [self.arrays["split_feature"]]
        used += [] if self.linear is None else [self.linear.feature]
        return np.unique(np.concatenate(used))

    def _readable(self, columns: Columns, n_threads: int) -> Columns:
        """The columns in the type that kernels read.

        Columns that are computed on demand, such as pairs, are made now, and only those
        that the trees read.
        """
        if type(columns) is Columns:
            return columns
        return columns.only(self._used_features, n_threads)

    def _divisor(self, n_trees: int) -> int:
        """What the sum of the scores of ``n_trees`` trees is divided by.

        The number of rounds if scores are means over rounds, else 1.
        """
        return max(1, n_trees // self.n_scores) if self.average else 1

    def staged_predictions(
        self, columns: Columns, link: RowLink | None = None, n_threads: int = 1
    ) -> Iterator[Floats]:
        """The `predictions` after each round; the rows are ranked once.

        ``link``: None: the results have the raw scores.
        """
        _, stop = self._span(columns, 0, None)
        link = link or self._no_link
        columns = self._readable(columns, n_threads)
        scores = np.zeros((columns.n_rows, self.n_scores))
        if self.linear is None:
            ranked = self._predictor.ranked(columns, columns.n_rows, n_threads)
        else:
            raw = RawColumns(columns)
        for first in range(0, stop, self.n_scores):
            end = first + self.n_scores
            if self.linear is None:
                self._predictor.add_ranked(ranked, first, end, n_threads, scores)
            else:
                self._add_linear(self.linear, raw, first, end, n_threads, scores)
            out = np.empty((len(scores), link.width))
            link.apply(scores, self._divisor(end), n_threads, out)
            yield out

    def _add_linear(
        self,
        linear: LinearLeaves,
        raw: RawColumns,
        first: int,
        stop: int,
        n_threads: int,
        scores_inout: Floats,
    ) -> None:
        """Add the values of linear leaves of the trees ``first`` to ``stop - 1``.

        ``scores_inout`` is (n_rows, n_scores). A few trees at a time: the leaf of each
        row and tree takes memory.
        """
        columns = raw.columns
        step = max(1, LEAVES_AT_ONCE // max(1, columns.n_rows))
        for start in range(first, stop, step):
            end = min(start + step, stop)
            raw.add_trees(
                self._leaves(columns, start, end, n_threads),
                self.leaf_start[start : end + 1],
                self.arrays["leaf_value"],
                linear,
                start % self.n_scores,
                n_threads,
                scores_inout,
            )

    def leaves(
        self,
        columns: Columns,
        start_round: int = 0,
        stop_round: int | None = None,
        n_threads: int = 1,
    ) -> NDArray[np.int32]:
        """The leaf that each row reaches in each tree: (n_rows, n_trees) int32.

        Leaves are numbered in their tree. The trees are those of the rounds from
        ``start_round`` to ``stop_round - 1``; None: to the last.
        """
        first, stop = self._span(columns, start_round, stop_round)
        return self._leaves(columns, first, stop, n_threads)

    def _are_few(self, columns: Columns) -> bool:
        """Whether rows are compared with thresholds, and not ranked first."""
        has_sets = len(self.sets.start) > 1
        return columns.n_rows <= (FEW_ROWS // 2 if has_sets else FEW_ROWS)

    def _leaves(
        self, columns: Columns, first: int, stop: int, n_threads: int
    ) -> NDArray[np.int32]:
        """The leaf of each row in the trees ``first`` to ``stop - 1``.

        (n_rows, stop - first): the number of the leaf in its tree.
        """
        columns = self._readable(columns, n_threads)
        leaves = np.empty((columns.n_rows, stop - first), dtype=np.int32)
        if self._are_few(columns):
            self._few_rows.leaves(columns, first, stop, leaves)
        else:
            self._predictor.leaves(columns, first, stop, n_threads, leaves)
        return leaves

    def _span(
        self, columns: Columns, start_round: int, stop_round: int | None
    ) -> tuple[int, int]:
        """The first tree of some rounds, and the last plus 1.

        ``stop_round`` None: the rounds to the last. ValueError if the columns are not
        as many as those that the trees were fitted on.
        """
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
        """The first round that does not count; None: all rounds count."""
        if stop_round is None:
            return self.n_rounds
        if stop_round < 0:
            raise ValueError(f"stop_round must be at least 0, got {stop_round}")
        return min(stop_round, self.n_rounds)


def side_by_side(ensembles: Sequence[Ensemble]) -> Ensemble:
    """The scores of several ensembles as those of one ensemble, in the same order.

    For several targets, say, that each have a model. All ensembles have the same
    columns, and the scores of all are sums over rounds, or those of all are means. An
    ensemble with fewer rounds than others gets trees that add nothing.
    """
    n_rounds = max(one.n_rounds for one in ensembles)
    full = [_with_rounds(one, n_rounds) for one in ensembles]
    # Of each one, (n_rounds, n_scores): where its trees are once all are joined.
    first = np.cumsum([0, *(one.n_trees for one in full)])
    order = [
        np.arange(start, stop).reshape(n_rounds, -1)
        for start, stop in pairwise(first.tolist())
    ]
    n_scores = sum(one.n_scores for one in full)
    single = [replace(one, n_scores=1) for one in full]
    return (
        single[0]
        .joined(*single[1:])
        ._with_trees(np.concatenate(order, axis=1).ravel(), n_scores)
    )


def _with_rounds(ensemble: Ensemble, n_rounds: int) -> Ensemble:
    """An ensemble with the same predictions and ``n_rounds`` rounds, at least its own.

    The new rounds have trees of one leaf, whose value is 0.
    """
    n_missing = n_rounds - ensemble.n_rounds
    if n_missing == 0:
        return ensemble
    if ensemble.average and ensemble.n_rounds:
        # A mean is divided by the number of all rounds.
        ensemble = ensemble.scaled(n_rounds / ensemble.n_rounds)
    trees = [zero_tree()] * (n_missing * ensemble.n_scores)
    added = Ensemble.from_trees(trees, ensemble.n_scores, ensemble.n_features)
    return ensemble.joined(added)


def _join_starts(starts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Where the items of several lists begin once the lists are joined."""
    sizes = np.concatenate([np.diff(start) for start in starts])
    return np.cumsum(np.append(0, sizes), dtype=np.int64)


def _join_linear(ensembles: Sequence[Ensemble]) -> LinearLeaves | None:
    """The linear models of several ensembles; leaves without a model are constant."""
    if all(one.linear is None for one in ensembles):
        return None
    return LinearLeaves.joined(
        [
            one.linear or LinearLeaves.constants(one.arrays["leaf_value"])
            for one in ensembles
        ]
    )


def _join_spread(ensembles: Sequence[Ensemble]) -> Floats | None:
    """The `Ensemble.spread` of several ensembles, one below the other; None: no spread.

    NaN for the rounds of ensembles that have none.
    """
    if all(one.spread is None for one in ensembles):
        return None
    return np.concatenate(
        [
            np.full((one.n_rounds, 2 + 2 * one.n_scores), np.nan)
            if one.spread is None
            else one.spread
            for one in ensembles
        ]
    )


def _restored_linear(state: dict[str, Any], owner: str) -> LinearLeaves:
    """The linear leaves of a state; in old ones they have no bounds, or no means."""
    leaves = LinearLeaves.unbounded(**vectors(state, LINEAR_TYPES, owner))
    for types in (BOUND_TYPES, MEAN_TYPES):
        if state.keys() & types:
            leaves = leaves._replace(**vectors(state, types, owner))
    return leaves


def _check_shapes(tree: Tree, number: int) -> None:
    """Check the shapes of a tree's arrays; ``number`` is that of the tree in errors."""
    for field in fields(tree):
        size = tree.n_leaves - (field.name in NODE_TYPES)
        if tree.n_leaves < 1 or getattr(tree, field.name).shape != (size,):
            raise ValueError(
                f"{field.name} of tree {number}, which has {tree.n_leaves} leaves,"
                f" must have the shape ({max(size, 0)},)"
            )


def _join(arrays: list[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(
        [np.empty(0, dtype), *arrays], dtype=dtype, casting="same_kind"
    )
