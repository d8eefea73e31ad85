"""What the trees of a Booster look like, and changes of single trees."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.booster.booster_model import BoosterModel
from skgoss.columns.names import unknown_column
from skgoss.fit.fit import Fit
from skgoss.model import dump, explanation
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel, whole
from skgoss.parameters import docstrings
from skgoss.utils import optional

if TYPE_CHECKING:
    import pandas


@docstrings.describe_chain("The model.")
class TreeInspection(BoosterModel):
    """Reads and changes the trees of a `Booster`."""

    def feature_importance(
        self, importance_type: str = "split", iteration: int | None = None
    ) -> NDArray[Any]:
        """Return the importance of each column.

        Parameters
        ----------
        importance_type : {'split', 'gain', 'cover'}, default='split'
            'split': number of splits of the column. 'gain': sum of their gains.
            'cover': sum of the numbers of training rows in the nodes that are split.
        iteration : int, default=None
            Number of rounds that are used. None: the rounds up to the best one if early
            stopping found one, else all. Values <= 0: all rounds.

        Returns
        -------
        ndarray of shape (n_features,)
            The dtype is int32 for 'split', and float64 otherwise.
        """
        kind = _importance_type(importance_type)
        model = self._model
        _, stop = model.rounds(0, self._length(iteration))
        importances = model.importances(kind, stop)
        return importances.astype(np.int32 if kind == "split" else np.float64)

    def get_split_value_histogram(
        self,
        feature: int | str,
        bins: int | str | None = None,
        xgboost_style: bool = False,
    ) -> tuple[NDArray[Any], NDArray[Any]] | NDArray[Any] | pandas.DataFrame:
        """Compute a histogram of the thresholds of a column's splits.

        Parameters
        ----------
        feature : int or str
            The number or name of a numeric column.
        bins : int or str, default=None
            Number of bins, or a rule of ``numpy.histogram``. None: the number of
            distinct thresholds. With ``xgboost_style``, this is also the maximum.
        xgboost_style : bool, default=False
            Whether to return a table of the bins that are not empty.

        Returns
        -------
        counts : ndarray of shape (n_bins,)
            Number of thresholds in each bin.
        edges : ndarray of shape (n_bins + 1,)
            The edges of the bins. With ``xgboost_style``, a single object is returned
            instead: a pandas data frame with the columns ``SplitValue`` (the right edge
            of a bin) and ``Count``, or an array of these two columns if pandas is not
            installed.

        Raises
        ------
        ValueError
            If the column does not exist or is categorical.
        """
        model = self._model
        _, stop = model.rounds(0, self._length(None))
        values = model.trees.truncated(stop).split_values(_column(model, feature))
        n_distinct = max(len(np.unique(values)), 1)
        if bins is None:
            bins = n_distinct
        elif xgboost_style and isinstance(bins, numbers.Integral):
            bins = max(min(int(bins), n_distinct), 1)
        counts, edges = np.histogram(values, bins=bins)
        if not xgboost_style:
            return counts, edges
        table = np.column_stack([edges[1:], counts])[counts > 0]
        try:
            pandas = optional.optional("pandas", "get_split_value_histogram")
        except ImportError:
            return table
        return pandas.DataFrame(table, columns=["SplitValue", "Count"])

    @docstrings.describe_booster
    def dump_model(
        self,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
        object_hook: Callable[[dict[str, Any]], Any] | None = None,
    ) -> dict[str, Any]:
        """Return the model as a dict.

        Parameters
        ----------
        ... : arguments, which ``help`` describes
        importance_type : {'split', 'gain', 'cover'}, default='split'
            What ``feature_importances`` measure: see `feature_importance`. They are
            whole numbers.
        object_hook : callable, default=None
            A function that is called with each dict, the inner ones first. Its result
            replaces the dict, as in ``json.loads``.

        Returns
        -------
        dict
            It has the same structure as in LightGBM: dicts, lists, numbers and strings,
            which can be written as JSON.
        """
        model = self._model
        start, stop = model.rounds(start_iteration, self._length(num_iteration))
        dumped = dump.dump(
            model.trees,
            model.header,
            model.categories,
            model.shrinkage(model.options()),
            start_round=start,
            stop_round=stop,
            importance=_importance_type(importance_type),
        )
        if object_hook is None:
            return dumped
        categories = dumped.pop("pandas_categorical")
        try:
            hooked = json.loads(json.dumps(dumped), object_hook=object_hook)
        except RecursionError as error:
            raise ValueError("the trees are too deep for object_hook.") from error
        hooked["pandas_categorical"] = categories
        return hooked

    def trees_to_dataframe(self) -> pandas.DataFrame:
        """Return the nodes and leaves of all trees as a data frame.

        Returns
        -------
        pandas.DataFrame
            One row per node and leaf: parents before their children, left children
            before right ones. The columns are:

            - ``tree_index``, ``node_depth`` (1 for the root), ``node_index``, a name
              such as '0-S1' (node 1 of tree 0) or '0-L3' (leaf 3);
            - ``left_child``, ``right_child``, ``parent_index``: names of other rows;
            - ``split_feature``, ``split_gain``, ``threshold``, ``decision_type``,
              ``missing_direction``, ``missing_type``: the split of a node;
            - ``value``, ``weight`` (the sum of hessians), ``count`` (the number of
              training rows).

        Raises
        ------
        ValueError
            If there are no trees.
        """
        pandas = optional.optional("pandas", "trees_to_dataframe")
        if self.num_trees() == 0:
            raise ValueError("trees_to_dataframe needs a model with trees.")
        return pandas.DataFrame(list(dump.rows(self.dump_model())))

    def trees_for_shap(self) -> dict[str, Any]:
        """Return the trees in the form that ``shap.TreeExplainer`` accepts.

        Use it for interventional SHAP values, which need background data, or to explain
        probabilities instead of raw scores. For path-dependent SHAP values, `predict`
        and `explain` are exact and much faster.

        Returns
        -------
        dict
            The argument ``model`` of ``shap.TreeExplainer``.

        Raises
        ------
        ValueError
            If the model has categorical splits, zeros as missing values, or linear
            leaves, which shap does not support.
        """
        return explanation.trees_for_shap(self._model)

    def get_leaf_output(self, tree_id: int, leaf_id: int) -> float:
        """Return the value of a leaf.

        Parameters
        ----------
        tree_id, leaf_id : int
            The index of the tree, and the index of the leaf in this tree.

        Returns
        -------
        float
            The value.
        """
        trees = self._model.trees
        return float(trees.arrays["leaf_value"][_leaf(trees, tree_id, leaf_id)])

    def set_leaf_output(self, tree_id: int, leaf_id: int, value: float) -> Self:
        """Change the value of a leaf.

        Predictions of this model and of its estimator change accordingly. In training,
        later rounds continue from the changed tree. In linear leaves, the value is only
        used for rows with a missing value in one of the leaf's columns.

        Parameters
        ----------
        tree_id, leaf_id : int
            The index of the tree, and the index of the leaf in this tree.
        value : float
            A finite number.
        """
        held, position = self._held, _leaf(self._model.trees, tree_id, leaf_id)
        if not isinstance(value, numbers.Real) or not math.isfinite(value):
            raise ValueError(f"value must be a finite number, got {value!r}.")
        if isinstance(held, Fit):
            held.rounds.set_leaf(int(tree_id), int(leaf_id), float(value))
            return self

        def with_value(trees: Ensemble) -> Ensemble:
            values = trees.arrays["leaf_value"].copy()
            values[position] = value
            return trees.with_leaves(values)

        return self._change_trees(with_value)

    def shuffle_models(self, start_iteration: int = 0, end_iteration: int = -1) -> Self:
        """Shuffle the rounds. The order is always the same.

        Predictions that use all rounds do not change, except for rounding.

        Parameters
        ----------
        start_iteration, end_iteration : int, default=0, -1
            The rounds from ``start_iteration`` to ``end_iteration - 1`` are shuffled.
            If ``end_iteration`` <= 0, the range ends with the last round.
        """
        start = max(whole("start_iteration", start_iteration), 0)
        stop = whole("end_iteration", end_iteration)
        n_rounds = self.current_iteration()
        stop = min(stop, n_rounds) if stop > 0 else n_rounds
        order = _shuffled(n_rounds, start, stop)
        return self._change_trees(lambda trees: trees.chosen(order))

    def _change_trees(self, change: Callable[[Ensemble], Ensemble]) -> Self:
        """Replace the trees of the model; ValueError if it is in training."""
        model = self._held
        if isinstance(model, Fit):
            raise ValueError(
                "The trees of a Booster in training cannot be changed. Call"
                " free_dataset() first, which ends the training."
            )
        self._held = model.with_trees(change(model.trees))
        return self

    def lower_bound(self) -> float:
        """Return the sum of the smallest leaf values of all trees.

        It is a lower bound of the raw scores, except for random forests and linear
        trees.

        Returns
        -------
        float
            The sum.
        """
        return self._model.trees.bound(np.minimum)

    def upper_bound(self) -> float:
        """Return the sum of the largest leaf values of all trees.

        It is an upper bound of the raw scores, except for random forests and linear
        trees.

        Returns
        -------
        float
            The sum.
        """
        return self._model.trees.bound(np.maximum)


def _leaf(trees: Ensemble, tree_id: int, leaf_id: int) -> int:
    """The index of a leaf among those of all trees.

    ``leaf_id`` is its index in its own tree. ValueError if there is no such leaf.
    """
    tree = _number("tree_id", tree_id, trees.n_trees, "trees")
    first, stop = trees.leaf_start[tree : tree + 2].tolist()
    return first + _number("leaf_id", leaf_id, stop - first, "leaves of the tree")


def _column(model: FittedModel, feature: int | str) -> int:
    """The number of a column, from its number or name."""
    if not isinstance(feature, str):
        return _number("feature", feature, model.schema.n_features, "columns")
    names = model.feature_names
    if feature not in names:
        raise unknown_column("feature", feature, names, len(names))
    return names.index(feature)


def _number(name: str, value: Any, n: int, things: str) -> int:
    """A number from 0 to n - 1, checked.

    The errors have the ``name`` of the argument, and count ``things``, such as "trees".
    """
    number = whole(name, value)
    if not 0 <= number < n:
        raise ValueError(f"{name} must be a number of the {n} {things}, got {number}.")
    return number


def _importance_type(value: Any) -> Any:
    return parameters.checked_value("importance_type", value, "Booster")


def _shuffled(n_rounds: int, start: int, stop: int) -> NDArray[np.int64]:
    """LightGBM's order of shuffled rounds: those from ``start`` to ``stop - 1`` move.

    The random numbers and their use are those of LightGBM's ``Random::NextShort`` and
    ``GBDT::ShuffleModels``, with the seed 17: a linear congruential generator, by which
    each round but the last changes places with a later one.
    """
    order, state = np.arange(n_rounds), 17
    for i in range(start, stop - 1):
        state = (214013 * state + 2531011) % 2**32
        other = i + 1 + (state >> 16) % 2**15 % (stop - i - 1)
        order[[i, other]] = order[[other, i]]
    return order
