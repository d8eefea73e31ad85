"""Private names of LightGBM that public tools use: only for `skgoss.as_lightgbm`."""

from __future__ import annotations

import copyreg
import ctypes
import json
from typing import Any

import numpy as np
from sklearn import __version__ as sklearn_version
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.preprocessing import LabelEncoder

from skgoss import sklearn
from skgoss.basic import Booster, Dataset, LightGBMError, restored_booster
from skgoss.fit.callbacks import EvalResult, register_logger, show
from skgoss.parameters.name_resolution import all_names
from skgoss.parameters.table import FILE_OPTIONS, OPTIONS
from skgoss.sklearn import LGBMModel
from skgoss.utils.messages import warn


class ConfigAliases:
    """The names of parameters."""

    aliases = {
        option.lightgbm: list(option.precedence) for option in OPTIONS + FILE_OPTIONS
    } | {"num_class": ["num_class", "num_classes"]}

    @classmethod
    def _get_all_param_aliases(cls) -> dict[str, list[str]]:
        """All names of each parameter, by its main name."""
        return {name: list(names) for name, names in cls.aliases.items()}

    @staticmethod
    def get(*args: str) -> set[str]:
        """All names of some parameters; an unknown name stands for itself."""
        return {name for arg in args for name in all_names(arg)}

    get_by_alias = get

    @staticmethod
    def get_sorted(name: str) -> list[str]:
        """All names of a parameter: this one, then the others by length."""
        return [name, *sorted(set(all_names(name)) - {name}, key=len)]


IMPORTANCE_TYPES = {"split": 0, "gain": 1}


class Library:
    """The one function of LightGBM's C library that onnxmltools calls.

    The handle of a Booster is the Booster itself.
    """

    @staticmethod
    def LGBM_BoosterDumpModel(
        handle: Booster,
        start_iteration: Any,
        num_iteration: Any,
        importance_type: Any,
        size: Any,
        needed: Any,
        buffer: Any,
    ) -> int:
        """Write the model as JSON, if the buffer is large enough."""
        kind = list(IMPORTANCE_TYPES)[importance_type.value]
        dumped = handle.dump_model(num_iteration.value, start_iteration.value, kind)
        text = json.dumps(dumped, default=json_default_with_numpy).encode() + b"\0"
        needed._obj.value = len(text)
        if len(text) <= size.value:
            ctypes.memmove(buffer, text, len(text))
        return 0


def safe_call(result: int) -> None:
    """Ignore the result of a function of `Library`, which raises Python's errors."""


def json_default_with_numpy(value: Any) -> Any:
    """A value of NumPy as one that JSON can write; other values as they are."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def format_eval_result(value: EvalResult, show_stdv: bool = True) -> str:
    """A result as text."""
    return show([value], show_stdv)


def inner_predict(booster: Booster, data_idx: int) -> Any:
    """The predictions that metrics get for the training set, 0, or an evaluation set.

    miceforest calls it, for a model in training.
    """
    passed: list[Any] = []

    def record(predictions: Any, _: Dataset) -> tuple[str, float, bool]:
        passed.append(predictions.copy())
        return "recorded", 0.0, False

    if data_idx == 0:
        booster.eval_train(record)
    else:
        booster.eval(booster.valid_sets[data_idx - 1], "recorded", record)
    return passed[0]


# The private names in each module of LightGBM, and their values here.
NAMES: dict[str, dict[str, Any]] = {
    "basic": {
        "_ConfigAliases": ConfigAliases,
        "_FEATURE_IMPORTANCE_TYPE_MAPPER": IMPORTANCE_TYPES,
        "_LIB": Library,
        "_json_default_with_numpy": json_default_with_numpy,
        "_log_warning": warn,
        "_safe_call": safe_call,
        "register_logger": register_logger,
    },
    "callback": {"_format_eval_result": format_eval_result},
    "compat": {
        "_LGBMClassifierBase": ClassifierMixin,
        "_LGBMGroupKFold": GroupKFold,
        "_LGBMLabelEncoder": LabelEncoder,
        "_LGBMModelBase": BaseEstimator,
        "_LGBMRegressorBase": RegressorMixin,
        "_LGBMStratifiedKFold": StratifiedKFold,
        "_sklearn_version": sklearn_version,
    },
    "engine": {"LightGBMError": LightGBMError},
    "sklearn": {
        "Booster": Booster,
        "Dataset": Dataset,
        "LGBMNotFittedError": NotFittedError,
        "_LGBMModelBase": BaseEstimator,
    },
}


class _Alias:
    """Another name of an attribute, which instances may overwrite."""

    def __init__(self, name: str, *default: Any) -> None:
        self.arguments = name, *default

    def __get__(self, owner: Any, _: type | None = None) -> Any:
        return self if owner is None else getattr(owner, *self.arguments)


# The attributes of estimators that hummingbird and others read.
_ATTRIBUTES = {
    "_Booster": _Alias("booster_"),
    "_n_classes": _Alias("n_classes_", -1),
    "_n_features": _Alias("n_features_in_"),
    "_objective": _Alias("objective_"),
}


def _reduced(estimator: LGBMModel) -> tuple[Any, ...]:
    """The reduction of an estimator for pickle: by the name of its class in skgoss."""
    return sklearn.new_estimator, (type(estimator).__name__,), estimator.__getstate__()


def install() -> None:
    """Add the private names that tools use to the classes, and change their modules."""
    for name, attribute in _ATTRIBUTES.items():
        setattr(LGBMModel, name, attribute)
    setattr(Booster, "_handle", property(lambda booster: booster))  # noqa: B010
    setattr(Booster, "_Booster__inner_predict", inner_predict)  # noqa: B010
    # Tools look for these names: mlflow reads a model as text, skforecast passes
    # `categorical_feature`. Pickles do not contain them, because other processes may
    # not have imported `skgoss.as_lightgbm`.
    Booster.__module__ = "lightgbm.basic"
    copyreg.pickle(
        Booster, lambda booster: (restored_booster, (booster.__getstate__(),))
    )
    for name in sklearn.__all__:
        estimator: type = getattr(sklearn, name)
        estimator.__module__ = "lightgbm.sklearn"
        copyreg.pickle(estimator, _reduced)
