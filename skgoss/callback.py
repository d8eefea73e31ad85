"""Re-exports under LightGBM's module name: the callbacks."""

from skgoss.fit.callbacks import (
    CallbackEnv,
    EarlyStopException,
    EvalResult,
    early_stopping,
    log_evaluation,
    print_evaluation,
    record_evaluation,
    reset_parameter,
)

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


def __dir__() -> list[str]:
    return __all__
