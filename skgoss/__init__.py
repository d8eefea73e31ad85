"""Gradient boosting that belongs in scikit-learn."""

from skgoss.callbacks import (
    EarlyStopException,
    EvalResult,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.estimators import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor
from skgoss.training.ranking import ndcg_scorer

__all__ = [
    "EarlyStopException",
    "EvalResult",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
    "early_stopping",
    "log_evaluation",
    "ndcg_scorer",
    "record_evaluation",
    "reset_parameter",
]
