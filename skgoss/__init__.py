"""Gradient boosting that belongs in scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from skgoss import basic as basic
from skgoss import callback as callback
from skgoss import engine as engine
from skgoss import sklearn as sklearn
from skgoss.basic import Booster, Dataset, Sequence
from skgoss.callback import (
    EarlyStopException,
    EvalResult,
    early_stopping,
    log_evaluation,
    print_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.engine import CVBooster, cv, train
from skgoss.estimators.ndcg_scorer import ndcg_scorer
from skgoss.fit.callbacks import register_logger
from skgoss.fit.time_limit import keep_on_interrupt
from skgoss.parameters.other_libraries import PACKAGE_HINTS as _PACKAGE_HINTS
from skgoss.preprocessing import DateFeatures, PairFeatures
from skgoss.sklearn import LGBMClassifier, LGBMModel, LGBMRanker, LGBMRegressor
from skgoss.utils.messages import UnusedParameterWarning
from skgoss.utils.messages import hint as _hint
from skgoss.utils.optional import version as _version

if TYPE_CHECKING:
    from skgoss import compat as compat
    from skgoss import plotting as plotting
    from skgoss.export.to_onnx import to_onnx
    from skgoss.plotting import (
        create_tree_digraph,
        draw_tree,
        plot_importance,
        plot_metric,
        plot_split_value_histogram,
        plot_tree,
    )

__all__ = [
    "Booster",
    "CVBooster",
    "Dataset",
    "DateFeatures",
    "EarlyStopException",
    "EvalResult",
    "LGBMClassifier",
    "LGBMModel",
    "LGBMRanker",
    "LGBMRegressor",
    "PairFeatures",
    "Sequence",
    "UnusedParameterWarning",
    "create_tree_digraph",
    "cv",
    "draw_tree",
    "early_stopping",
    "keep_on_interrupt",
    "log_evaluation",
    "ndcg_scorer",
    "plot_importance",
    "plot_metric",
    "plot_split_value_histogram",
    "plot_tree",
    "print_evaluation",
    "record_evaluation",
    "register_logger",
    "reset_parameter",
    "to_onnx",
    "train",
]

# The public modules, some of which are imported on first access.
_MODULES = [
    *("basic", "callback", "compat", "engine", "model_selection", "plotting"),
    *("preprocessing", "sklearn"),
]

__version__: str


def __getattr__(name: str) -> Any:
    # Rarely used names are imported on first access.
    if name in ("compat", "model_selection", "plotting"):
        return import_module(f"skgoss.{name}")
    if name == "to_onnx":
        return import_module("skgoss.export.to_onnx").to_onnx
    if name in __all__:
        return getattr(import_module("skgoss.plotting"), name)
    if name in ("DaskLGBMClassifier", "DaskLGBMRanker", "DaskLGBMRegressor"):
        return getattr(import_module("skgoss.dask"), name)
    if name != "__version__":
        instead = _PACKAGE_HINTS.get(name)
        advice = f" Use {instead}." if instead else _hint(name, __all__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}.{advice}")
    if not (version := _version()):
        raise AttributeError(
            f"{__name__} has no version: the package is not installed."
        )
    return version


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
