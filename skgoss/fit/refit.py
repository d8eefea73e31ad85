"""New leaf values for trees whose splits stay as they are: `Booster.refit`."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss import parameters
from skgoss.binning.rows import Rows, checked_init_score
from skgoss.columns import per_row, queries, row_weights, targets, unknown_categories
from skgoss.columns.columns import Columns
from skgoss.model import linear
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import FittedModel
from skgoss.model.linear import Gradients, LinearLeaves, RawColumns
from skgoss.objectives.objectives import OBJECTIVES, is_survival
from skgoss.objectives.percentiles import LeafRows
from skgoss.objectives.training_objective import OPTIONS as OBJECTIVE_OPTIONS
from skgoss.objectives.training_objective import Objective, make_objective
from skgoss.parameters.settings import Settings
from skgoss.sources import input_rows
from skgoss.training.spread import Spread
from skgoss.utils.locks import cached_property

Floats = NDArray[np.float64]

# LightGBM's addition to sums of hessians: a leaf without rows has the optimal value 0.
_EPSILON = 1e-15

# The options that a refit reads, in addition to those of the objective.
_OPTIONS = ("reg_alpha", "reg_lambda", "max_delta_step", "linear_lambda")


def check(model: FittedModel, decay_rate: Any) -> None:
    """Check that a model can be fitted again, and the weight of its old values.

    ValueError if it cannot, or the weight does not lie in [0, 1].
    """
    if not model.objective or model.trees.n_trees == 0:
        raise ValueError("refit needs a model with trees and a known objective.")
    if not isinstance(decay_rate, numbers.Real) or not 0 <= float(decay_rate) <= 1:
        raise ValueError(f"decay_rate must lie in [0, 1], got {decay_rate!r}.")


def warn_of_unknown_categories(data: Any, model: FittedModel) -> None:
    """Warn of categories in rows in memory that the model does not know."""
    if model.categories.vocabularies and input_rows.are_in_memory(data):
        unknown_categories.warn_of(data, model.schema)


def rows(
    model: FittedModel,
    columns: Columns,
    label: ArrayLike,
    weight: ArrayLike | None,
    group: ArrayLike | None,
    init_score: ArrayLike | None,
    owner: str,
) -> Rows:
    """The rows of positive weight, with what belongs to each: see `Booster.refit`.

    ValueError if an argument does not fit the model or the number of rows. Messages
    call the model's class ``owner``.
    """
    n_rows, n_scores = columns.n_rows, model.trees.n_scores
    objective = model.objective
    if model.has_several_targets or model.link.levels or is_survival(objective):
        raise ValueError(
            "refit cannot be used for models of several quantiles or targets, or of"
            " survival. Fit a new model, or pass this one as init_model."
        )
    if model.task == "classification" and model.link.distribution is None:
        _check_numbers_of_classes(label, model)
    target = targets.numbers(
        targets.one_column(label, n_rows, owner, "label"), owner, "label"
    )
    if weight is not None:
        weight = per_row.weights(weight, n_rows, "weight")
    weights = row_weights.checked(weight, None, target, None)
    targets.check_sum(target, weights, "label")
    is_ranked = objective in OBJECTIVES and OBJECTIVES[objective].task == "ranking"
    start_scores = None
    if init_score is not None:
        start_scores = checked_init_score(init_score, n_rows, n_scores, "init_score")
    existing = Rows(
        columns,
        target,
        weights,
        queries.make(n_rows, group=group) if is_ranked or group is not None else None,
        start_scores,
    ).without_zero_weights()
    if (
        model.link.distribution is None
        and n_scores > 1
        and not np.isin(existing.target, np.arange(n_scores)).all()
    ):
        raise ValueError(
            f"label must hold the numbers 0 to {n_scores - 1} of the classes."
        )
    return existing


def _check_numbers_of_classes(label: ArrayLike, model: FittedModel) -> None:
    """Raise ValueError if labels are text, and not the numbers of the classes."""
    values = np.asarray(label)
    first = values.flat[0] if values.size else None
    if isinstance(first, str):
        n_classes = len(model.classes)
        raise ValueError(
            f"label must hold the numbers 0 to {n_classes - 1} of the classes, got"
            f" {str(first)!r}. Pass numpy.searchsorted(model.classes_, y), where model"
            " is the estimator."
        )


def refitted(
    model: FittedModel,
    params: Mapping[str, Any],
    rows: Rows,
    decay_rate: float,
    n_threads: int,
) -> Ensemble:
    """Fit the leaves of a model to rows, with the options in ``params``."""
    options, n_scores = _options(model, params), model.trees.n_scores
    objective = make_objective(
        options, rows.target, rows.weight, n_scores, rows.queries
    )
    return Refit(
        model.trees,
        rows,
        objective,
        options,
        model.shrinkage(params),
        decay_rate,
        n_threads,
    ).refitted()


def _options(model: FittedModel, params: Mapping[str, Any]) -> Settings:
    """The options in ``params``, and what the link tells."""
    names, link = (*OBJECTIVE_OPTIONS, *_OPTIONS), model.link
    options = parameters.checked_options(params, names, "refit")
    options["objective"] = model.objective
    options["reg_sqrt"] = link.kind == "signed_square"
    if link.kind == "logistic":
        options["sigmoid"] = link.slope
    return Settings(parameters.DEFAULTS | options)


@dataclass(frozen=True, eq=False)
class Refit:
    """Moves the values of leaves toward those that are optimal for some rows.

    A leaf's new value is ``decay_rate * old + (1 - decay_rate) * shrinkage * optimal``,
    where the optimal value minimizes the second-order approximation of the loss over
    the rows that reach the leaf, or is the percentile that a fit gives the leaves of
    the objective; it is 0 in a leaf without rows. The trees come in
    order, and the loss is approximated at the scores of the new trees before them. The
    trees of a forest stand alone: each starts from the best constant. The coefficients
    of linear leaves move in the same way. The objective is that on the rows;
    ``shrinkage`` has the factor of each tree.
    """

    ensemble: Ensemble
    rows: Rows
    objective: Objective
    options: Settings
    shrinkage: Floats
    decay_rate: float
    n_threads: int

    def refitted(self) -> Ensemble:
        """The ensemble with other leaves; their counts and weights are the old ones."""
        ensemble, is_additive = self.ensemble, not self.ensemble.average
        scores = np.zeros((ensemble.n_scores, len(self.rows)))
        if self.rows.init_score is not None:
            scores += self.rows.init_score
        values, models = [], []
        for index in range(ensemble.n_rounds):
            start = self._start if index == 0 or not is_additive else 0.0 * self._start
            before = scores + start[:, None]
            if index == 0 or is_additive:
                gradients = self._gradients(before)
            for k, leaf in enumerate(self._leaves(index)):
                tree = index * len(scores) + k
                value, model = self._tree(
                    tree, leaf, gradients[k], before[k], float(start[k])
                )
                values.append(value)
                models.append(model)
                if is_additive:
                    self._add(leaf, value, model, scores[k])
            if is_additive and self._spread is not None:
                self._move_level(self._spread, scores, values, models)
        linear_leaves = [leaves for leaves in models if leaves is not None]
        return ensemble.with_leaves(
            np.concatenate(values),
            LinearLeaves.joined(linear_leaves) if linear_leaves else None,
        )

    @cached_property
    def _start(self) -> Floats:
        """What the values of the first tree are added to, or those of a forest's trees.

        It is 0 in LightGBM. From there, the steps of robust losses are too short, and
        those of objectives whose scores are logarithms too short or without end.
        """
        far = self._starts_far and self.rows.init_score is None
        if self.ensemble.average or far:
            return self.objective.start
        return np.zeros(self.ensemble.n_scores)

    @property
    def _starts_far(self) -> bool:
        """Whether a step from 0 may be far from the best one: see `_start`."""
        spec = OBJECTIVES.get(self.objective.name)
        return spec is not None and (
            spec.linear_above > 0 or spec.link == "exp" or spec.distribution is not None
        )

    @cached_property
    def _spread(self) -> Spread | None:
        """What moves the spread of a distribution; None for other objectives."""
        is_distribution = self.objective.link.distribution is not None
        return Spread(self.objective) if is_distribution else None

    def _move_level(
        self,
        spread: Spread,
        scores_inout: Floats,
        values_inout: list[Floats],
        models_inout: list[LinearLeaves | None],
    ) -> None:
        """Move the spread to its most likely level, as after a round of a fit."""
        level = (1.0 - self.decay_rate) * spread.level(scores_inout, self.n_threads)
        scores_inout += level[:, None]
        for k, shift in enumerate(level.tolist(), len(values_inout) - len(level)):
            values_inout[k] = values_inout[k] + shift
            model = models_inout[k]
            if model is not None:
                models_inout[k] = model.scaled(1.0, shift)

    @cached_property
    def _raw(self) -> RawColumns:
        """The values that linear leaves read."""
        return RawColumns(self.rows.columns, self.rows.numbers)

    def _gradients(self, scores: Floats) -> list[Gradients]:
        """The gradients, hessians and weights of each score."""
        objective = self.objective
        gradient = np.empty(scores.shape, dtype=np.float32)
        hessian = np.ones(scores.shape, dtype=np.float32)
        objective.gradients(
            scores,
            gradient,
            None if objective.constant_hessian else hessian,
            self.n_threads,
        )
        weight = np.float64(1.0) if objective.weight is None else objective.weight
        weights = np.ascontiguousarray(np.broadcast_to(weight, scores.shape))
        return [
            Gradients(*of_score)
            for of_score in zip(gradient, hessian, weights, strict=True)
        ]

    def _leaves(self, index: int) -> NDArray[np.int32]:
        """The leaf of each row in the trees of a round, (n_scores, n_rows)."""
        rows = self.rows
        leaves = self.ensemble.leaves(rows.columns, index, index + 1, self.n_threads)
        chosen = leaves if rows.numbers is None else leaves[rows.numbers]
        return np.ascontiguousarray(chosen.T)

    def _tree(
        self,
        tree: int,
        leaf: NDArray[np.int32],
        gradients: Gradients,
        scores: Floats,
        start: float,
    ) -> tuple[Floats, LinearLeaves | None]:
        """The new values, (n_leaves,), and linear models of a tree's leaves.

        The models are None if leaves are constant. ``tree`` is the number of the tree,
        and ``leaf``, (n_rows,), is the leaf of each row. ``scores``, (n_rows,), are
        those before the tree, and ``start`` is a part of its values.
        """
        first, stop = self.ensemble.leaf_start[tree : tree + 2].tolist()
        old = self.ensemble.arrays["leaf_value"][first:stop]
        weight = gradients.weight
        assert weight is not None

        def total(values: NDArray[np.float32] | None) -> Floats:
            """The weighted sum of the values of each leaf."""
            weighted = weight if values is None else values * weight
            return np.bincount(leaf, weighted, stop - first).astype(np.float64)

        ends = np.cumsum(np.bincount(leaf, minlength=stop - first))
        order = np.argsort(leaf, kind="stable")
        if self.objective.renews_leaves:
            leaves = LeafRows(np.append(0, ends), order)
            weights = self.objective.weight
            optimal = self.objective.renewed_leaves(scores, leaves, weights)
        else:
            optimal = self._optimal(total(gradients.gradient), total(gradients.hessian))
        steps = self.shrinkage[tree] * optimal
        if self._starts_far:
            number = tree % self.ensemble.n_scores
            most = self.objective.longest_steps(optimal, number)
            steps = np.clip(steps, -most, most)
        values = self._moved(old, start + steps)
        if self.ensemble.linear is None:
            return values, None
        models = self.ensemble.linear.leaves(first, stop)
        number, limit = tree % self.ensemble.n_scores, not self.ensemble.average
        self_concordance = self.objective.self_concordance_of(number) if limit else 0.0
        fitted = linear.fit(
            self._raw,
            (models.start.copy(), models.feature.copy()),
            (np.append(0, ends), order),
            gradients,
            steps,
            self.options.replaced(learning_rate=self.shrinkage[tree]),
            self.n_threads,
            self_concordance=self_concordance,
        )
        return values, self._moved_models(models, fitted, start)

    def _optimal(self, gradient: Floats, hessian: Floats) -> Floats:
        """The optimal values of leaves, (n_leaves,), with these sums of derivatives."""
        options, limit = self.options, self.options.max_delta_step
        shrunk = np.maximum(np.abs(gradient) - options.reg_alpha, 0.0)
        step = shrunk / (hessian + _EPSILON + options.reg_lambda)
        return -np.sign(gradient) * (np.minimum(step, limit) if limit > 0 else step)

    def _moved(self, old: Floats, new: Floats) -> Floats:
        """The weighted means of old and new values."""
        return self.decay_rate * old + (1.0 - self.decay_rate) * new

    def _moved_models(
        self, old: LinearLeaves, new: LinearLeaves, start: float
    ) -> LinearLeaves:
        """Linear models of the old columns; those that are not fitted have 0.

        ``new`` are the models of the fit to the new rows, and ``start`` is a part of
        the values of the tree. See `_moved`.
        """
        coefficient = np.zeros(len(old.coefficient))
        is_fitted = np.isin(_coefficient_keys(old), _coefficient_keys(new))
        coefficient[is_fitted] = new.coefficient
        return old._replace(
            constant=self._moved(old.constant, start + new.constant),
            coefficient=self._moved(old.coefficient, coefficient),
            lower=self._moved(old.lower, start + new.lower),
            upper=self._moved(old.upper, start + new.upper),
        )

    def _add(
        self,
        leaf: NDArray[np.int32],
        values: Floats,
        model: LinearLeaves | None,
        score_inout: Floats,
    ) -> None:
        """Add a tree to the scores of one score, (n_rows,).

        ``leaf``, (n_rows,), is the leaf of each row, and ``values``, (n_leaves,), are
        those of the leaves. ``model`` has their linear models; None: they are constant.
        """
        if model is None:
            score_inout += values[leaf]
        else:
            self._raw.add(leaf, values, model, 1.0, self.n_threads, score_inout)


def _coefficient_keys(leaves: LinearLeaves) -> NDArray[np.int64]:
    """A number for the leaf and the column of each coefficient."""
    leaf = np.repeat(np.arange(len(leaves.constant)), np.diff(leaves.start))
    return leaf << 32 | leaves.feature
