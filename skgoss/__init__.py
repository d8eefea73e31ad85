"""Gradient boosting that belongs in scikit-learn."""

from skgoss import callback as callback
from skgoss import sklearn as sklearn
from skgoss._messages import UnusedParameterWarning
from skgoss.booster import Booster
from skgoss.callbacks import (
    EarlyStopException,
    EvalResult,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.estimators import LGBMClassifier, LGBMModel, LGBMRegressor
from skgoss.ranker import LGBMRanker
from skgoss.training.ranking import ndcg_scorer

__all__ = [
    "Booster",
    "EarlyStopException",
    "EvalResult",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
    "UnusedParameterWarning",
    "early_stopping",
    "log_evaluation",
    "ndcg_scorer",
    "record_evaluation",
    "reset_parameter",
]

__version__: str


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError as error:
        raise AttributeError(
            f"{__name__} has no version: the package is not installed."
        ) from error
