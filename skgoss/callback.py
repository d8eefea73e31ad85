"""Re-exports under LightGBM's module name: the callbacks."""

from skgoss.fit.callbacks import (
    early_stopping,
    log_evaluation,
    print_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.training.callback_api import CallbackEnv, EarlyStopException
from skgoss.training.evaluation import EvalResult

__all__ = [
    "CallbackEnv",
    "EarlyStopException",
    "EvalResult",
    "early_stopping",
    "log_evaluation",
    "print_evaluation",
    "record_evaluation",
    "reset_parameter",
]
