"""Searches with scikit-learn's names whose fits share their work."""

from typing import Any as _Any

from skgoss.model_selection.searches import GridSearchCV, RandomizedSearchCV
from skgoss.parameters.other_libraries import SEARCH_HINTS as _HINTS

__all__ = ["GridSearchCV", "RandomizedSearchCV"]


def __getattr__(name: str) -> _Any:
    advice = f" Use {_HINTS[name]}." if name in _HINTS else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{advice}")


def __dir__() -> list[str]:
    return __all__
