"""The candidates of a race, as they stand in a search, and their folds."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from skgoss import parameters
from skgoss.estimators.base import LGBMModel
from skgoss.estimators.classifier import LGBMClassifier
from skgoss.estimators.regressor import LGBMRegressor
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.fit import Fit
from skgoss.fit.splits import Pair
from skgoss.model_selection.shared_fits import (
    SharedFits,
    are_rounds_alike,
    options_of_rounds,
)
from skgoss.parameters.name_resolution import OPTION
from skgoss.parameters.settings import CHANGEABLE, Settings
from skgoss.several_fits.race import USUAL_RATE, Racer
from skgoss.training.run import Run
from skgoss.utils.sklearn_private import safe_split

# A fit whose rounds take steps of this sum has learned most of what it can. One that
# cannot, with its rate and its limit, is compared after as many rounds as others.
_USUAL_STEPS = 10

# Metrics that are scorers of scikit-learn but for signs and rounding errors, where an
# error is 1 - accuracy. The first ones are ``score`` of the estimators.
METRICS: dict[type, dict[str, str]] = {
    LGBMClassifier: {"accuracy": "error", "neg_log_loss": "logloss", "roc_auc": "auc"},
    LGBMRegressor: {
        "r2": "r2",
        "neg_mean_squared_error": "l2",
        "neg_root_mean_squared_error": "rmse",
        "neg_mean_absolute_error": "l1",
    },
}


def racers(
    candidates: Iterable[Mapping[str, Any]], models: Iterable[Any], path: str
) -> list[Racer]:
    """The candidates as they take part in a race.

    Candidates that differ in their numbers of rounds only become one, whose limit is
    the largest number. A candidate that cannot continue from stage to stage, because
    its rounds depend on how many follow, is evaluated once: its ``path`` is None.

    ``candidates`` are dicts of parameters, ``models`` their estimators, and ``path`` is
    the name of the number of rounds, such as 'model__n_estimators' in a pipeline.
    """
    by_key: dict[Hashable, Racer] = {}
    for number, (candidate, model) in enumerate(zip(candidates, models, strict=True)):
        names: list[Any] = [n for n in candidate if is_rounds(n)] or [path]
        params = {k: v for k, v in candidate.items() if k not in names}
        key: Hashable = comparable(params)
        can_continue = isinstance(model, LGBMModel) and _can_continue(model)
        if not can_continue:
            names, params, key = [None], dict(candidate), number
        new = Racer(params, names[0], 1, USUAL_RATE, 1, estimator=model)
        racer = by_key.setdefault(key, new)
        if can_continue:
            racer.max_rounds = max(racer.max_rounds, model.n_estimators)
            usual = min(USUAL_RATE, _USUAL_STEPS / racer.max_rounds)
            racer.rate = max(model.learning_rate, usual)
            racer.n_leaves = model.num_leaves
    return list(by_key.values())


def is_rounds(name: str) -> bool:
    """Whether a parameter is the number of rounds of an estimator."""
    last = name.rpartition("__")[2]
    return parameters.CANONICAL_NAME.get(last, last) == "n_estimators"


def comparable(params: Mapping[str, Any]) -> Hashable:
    """A key that is equal for equal parameters of candidates.

    Values that cannot be hashed are equal if they are the same object.
    """
    return frozenset(
        (name, value if isinstance(value, Hashable) else id(value))
        for name, value in params.items()
    )


def _can_continue(model: LGBMModel) -> bool:
    """Whether a fit can continue from stage to stage of a race.

    Not if its options are invalid, or its rounds depend on how many follow.
    """
    try:
        for name in ("n_estimators", "num_leaves", "learning_rate"):
            OPTION[name].checked(getattr(model, name), "")
    except (TypeError, ValueError):  # its fits say it
        return False
    return are_rounds_alike(model)


class OwnFold:
    """The rows of a fold, cut, read and hashed once, for the fits of all candidates.

    Such a fold evaluates the stages of a race without scikit-learn's calls, by a metric
    of skgoss. The final call of scikit-learn then finds the fits in `SharedFits.model`.
    ``pair`` has the training and the test rows, ``data`` are X and y, and ``name`` is
    the scorer. ValueError if scores would not be scikit-learn's.
    """

    def __init__(
        self, shared: SharedFits, model: Any, data: Sequence[Any], pair: Pair, name: str
    ) -> None:
        X, y = safe_split(model, *data, pair[0])
        tested = safe_split(model, *data, *pair[::-1])
        arguments = FitArguments(
            eval_set=[tested], eval_metric=METRICS[type(model)][name]
        )
        settings = model._settings(X, arguments)
        self._shared, self._n_tested = shared, len(tested[1])
        *self._keys, _ = shared.key(X, y, FitArguments(), settings)
        build_bins = partial(shared.bins, self._keys[0])
        options = arguments, settings, shared.n_threads, build_bins
        learned, *others = input_sets(X, y, arguments, settings)
        self._base: Any = model._prepare([learned], *options)
        (named,) = map(self._base.data.evaluation_set, others)
        n_classes = self._base.data.task.n_classes or 0
        has_few = len(np.unique(named.rows.target)) < max(2, n_classes)
        is_undefined = has_few and (n_classes > 0 or name == "r2")
        if self._base.data.outputs or is_undefined or None in self._keys:
            raise ValueError("Several outputs, a part without a class, or no hash.")
        binned = self._base.rounds.dataset.with_rows(named.rows.columns, settings)
        self._tested = replace(named, rows=replace(named.rows, binned=binned))

    def evaluated(self, racer: Racer) -> dict[str, Any]:
        """What ``_fit_and_score`` of scikit-learn returns, after the next stage."""
        begin, shared = time.time(), self._shared
        settings = racer.estimator._settings(None, FitArguments())
        start = partial(self._begin, settings)
        if shared.grows:
            key = *self._keys, options_of_rounds(settings)
            fit, run = shared.growing(key, start)
        else:
            fit = start()
            run = Run(fit.rounds)
        with run.lock:
            run.advance(racer.next_rounds)
            result, *_ = fit.rounds.evaluate_sets(fit.rounds.on_demand_sets)
        value = result.metric_value if result.maximize else -result.metric_value
        return {
            "fit_error": None,
            "test_scores": value + result.metric_name.endswith("error"),
            "n_test_samples": self._n_tested,
            "fit_time": time.time() - begin,
            "score_time": 0.0,
        }

    def _begin(self, settings: Settings) -> Fit:
        """The fit of a candidate, without rounds, from the data of the fold.

        ``settings`` are the candidate's; they differ in options of trees only.
        """
        new, old = vars(settings), vars(self._base.settings)
        changes = {name: new[name] for name in CHANGEABLE if new[name] != old[name]}
        fit = Fit.begin(self._base.prepared.with_options(changes), [])
        options = fit.rounds.dataset, fit.data.fitted, self._tested
        tested = fit.prepared.setup.evaluation_set(*options)
        fit.rounds.add(tested, on_demand=True)
        return fit
