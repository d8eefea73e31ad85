"""Searches with scikit-learn's names whose fits share their work."""

from skgoss.model_selection.searches import GridSearchCV, RandomizedSearchCV

__all__ = ["GridSearchCV", "RandomizedSearchCV"]


def __dir__() -> list[str]:
    return __all__
