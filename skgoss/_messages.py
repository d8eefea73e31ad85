"""Messages to the user. Imports nothing of skgoss: every module may use it."""

from __future__ import annotations

import sys
import warnings

# Frames of these packages are not the user's: a search or a pipeline calls `fit` too.
_PACKAGES = ("skgoss", "sklearn", "joblib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, and name the line that called skgoss or scikit-learn.

    Parameters
    ----------
    message : str
    category : type, default=UserWarning
    """
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_internal(frame.f_globals):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_internal(module: dict[str, object]) -> bool:
    package = str(module.get("__name__", "")).partition(".")[0]
    return package in _PACKAGES
