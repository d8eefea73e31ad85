"""What a model keeps of the estimator that was fitted."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

# The defaults of constructors, by class.
_DEFAULTS: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class EstimatorRecord:
    """The estimator, or the function, that trained a model.

    Attributes
    ----------
    estimator : str
        The name of its class.
    task : str
        'classification', 'regression', 'ranking', or 'any' for a `LGBMModel`.
    parameters : dict
        The parameters that differ from the defaults of the class.
    unused : dict
        Unknown names that the constructor was given, with their values.
    """

    estimator: str
    task: str
    parameters: dict[str, Any]
    unused: dict[str, Any]


def defaults(estimator_class: type) -> Mapping[str, Any]:
    """The parameters of an estimator's constructor, with their defaults."""
    known = _DEFAULTS.get(estimator_class)
    if known is None:
        parameters = list(inspect.signature(estimator_class).parameters.values())
        known = _DEFAULTS[estimator_class] = {
            parameter.name: parameter.default
            for parameter in parameters
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }
    return known


def changed(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that differ from their defaults."""
    return {
        name: values[name]
        for name, default in defaults.items()
        if name in values
        and values[name] is not default
        and not _equal(values[name], default)
    }


def _equal(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(np.array_equal(value, default))
