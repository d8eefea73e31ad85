"""Tells models of skgoss from other objects, without an import of their classes.

Plots and exports take an estimator or a Booster, but do not depend on either module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skgoss.booster.booster import Booster


def is_estimator(value: Any) -> bool:
    """Whether a value is an estimator of skgoss, fitted or not."""
    return _is_model(value) and hasattr(type(value), "booster_")


def booster_of(value: Any) -> Booster | None:
    """Return the Booster of a fitted estimator, or a Booster itself.

    Parameters
    ----------
    value : object

    Returns
    -------
    Booster or None
        None if the value is neither an estimator nor a Booster of skgoss.

    Raises
    ------
    NotFittedError
        If the value is an estimator that is not fitted.
    """
    if is_estimator(value):
        return value.booster_
    return value if _is_model(value) else None


def _is_model(value: Any) -> bool:
    # LightGBM's estimators have booster_ as well, but not this attribute.
    return hasattr(type(value), "_model")
