"""The estimators as a model class of AutoGluon, for its predictors and for TabArena."""

from __future__ import annotations

import time
from typing import Any

from autogluon.common.utils.pandas_utils import get_approximate_df_mem_usage
from autogluon.common.utils.resource_utils import ResourceManager
from autogluon.core.models import AbstractModel

from skgoss import LGBMClassifier, LGBMRegressor

# Early stopping uses the metric that AutoGluon compares models by, if skgoss has it.
METRICS = {
    "roc_auc": "auc",
    "accuracy": "error",
    "log_loss": "logloss",
    "root_mean_squared_error": "rmse",
    "mean_squared_error": "l2",
    "mean_absolute_error": "l1",
}
# Most fits stop earlier: the limit bounds the memory of the trees.
MAX_ROUNDS = 10_000
# Validation data are read in the same form as the training data.
COPIES_OF_DATA = 2


def estimator_of(problem_type: str) -> type[LGBMClassifier] | type[LGBMRegressor]:
    """Return the class of the estimator for a problem type."""
    return LGBMRegressor if problem_type == "regression" else LGBMClassifier


def metric_of(problem_type: str, name: str) -> str | None:
    """Return skgoss's name of a metric of AutoGluon; None: the objective's own."""
    metric = METRICS.get(name)
    if metric in {"error", "logloss"}:
        return f"{'multi' if problem_type == 'multiclass' else 'binary'}_{metric}"
    return metric


class SkgossModel(AbstractModel):
    """Gradient boosted trees by skgoss."""

    ag_key = "SKGOSS"
    ag_name = "Skgoss"
    seed_name = "random_state"

    def _set_default_params(self) -> None:
        defaults = {"n_estimators": MAX_ROUNDS, "learning_rate": 0.05}
        for name, value in defaults.items():
            self._set_default_param_value(name, value)

    @classmethod
    def supported_problem_types(cls) -> list[str]:
        """Return the problem types that the estimators solve."""
        return ["binary", "multiclass", "regression"]

    def _get_default_auxiliary_params(self) -> dict[str, Any]:
        accepted = {"valid_raw_types": ["bool", "int", "float", "category"]}
        return {**super()._get_default_auxiliary_params(), **accepted}

    def _get_default_resources(self) -> tuple[int, int]:
        return ResourceManager.get_cpu_count(only_physical_cores=True), 0

    def _fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        time_limit: float | None = None,
        num_cpus: int | str = "auto",
        sample_weight: Any = None,
        sample_weight_val: Any = None,
        **kwargs: Any,
    ) -> None:
        """Fit an estimator; with validation rows, it stops early on them."""
        start = time.monotonic()
        X = self.preprocess(X, is_train=True)
        options = self._get_model_params()
        rounds_without_gain = options.pop("early_stopping_rounds", 100)
        options["n_jobs"] = None if num_cpus == "auto" else num_cpus
        evaluation: dict[str, Any] = {}
        if X_val is not None:
            options["metric"] = metric_of(self.problem_type, self.stopping_metric.name)
            evaluation = {
                "eval_X": self.preprocess(X_val),
                "eval_y": y_val,
                "eval_sample_weight": [sample_weight_val],
                "early_stopping_rounds": rounds_without_gain,
            }
        if time_limit is not None:
            # What is left, and a part of it for predictions.
            left = 0.95 * (time_limit - (time.monotonic() - start))
            options["time_limit"] = max(left, 0.01)
        self.model = estimator_of(self.problem_type)(**options)
        self.model.fit(X, y, sample_weight=sample_weight, **evaluation)
        # A refit on all rows has no validation rows, so it needs the number of rounds.
        self.params_trained["n_estimators"] = self.model.best_iteration_ or (
            self.model.n_estimators_
        )

    def _estimate_memory_usage(self, X: Any, **kwargs: Any) -> int:
        return self.estimate_memory_usage_static(
            X=X,
            problem_type=self.problem_type,
            num_classes=self.num_classes,
            hyperparameters=self._get_model_params(),
            **kwargs,
        )

    @classmethod
    def _estimate_memory_usage_static(
        cls,
        *,
        X: Any,
        problem_type: str,
        num_classes: int | None = None,
        hyperparameters: dict[str, Any] | None = None,
        **_: Any,
    ) -> int:
        """Estimate the bytes of a fit with its data, before it begins."""
        options = {"n_estimators": MAX_ROUNDS, **(hyperparameters or {})}
        options.pop("early_stopping_rounds", None)
        estimator = estimator_of(problem_type)(**options)
        n_classes = num_classes if problem_type == "multiclass" else None
        fit = estimator.estimate_memory(X, n_classes=n_classes)
        return fit + COPIES_OF_DATA * int(get_approximate_df_mem_usage(X).sum())

    @classmethod
    def _class_tags(cls) -> dict[str, bool]:
        return {"can_estimate_memory_usage_static": True}

    def _more_tags(self) -> dict[str, bool]:
        return {"can_refit_full": True}
