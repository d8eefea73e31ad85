"""Steps of pipelines in ONNX: the converters that skl2onnx calls."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, is_classifier

from skgoss.utils import optional

try:
    from skl2onnx import update_registered_converter
    from skl2onnx.common import data_types as types
except ImportError as error:
    raise optional.missing("skgoss.onnx", "skl2onnx") from error

from skgoss.estimators.base import LGBMModel
from skgoss.export.onnx_trees import OPERATORS, Graph
from skgoss.export.to_onnx import (
    DOUBLE,
    SINGLE,
    STRING,
    ExportedModel,
    Value,
    add_model,
    add_output,
    exported_model,
)
from skgoss.utils.public import set_module

_DTYPES = {types.StringTensorType: STRING, types.DoubleTensorType: DOUBLE}

# The options of classifiers, and their values. "nocl" would turn labels into numbers.
_OPTIONS = {
    "zipmap": [True, False, "columns"],
    "nocl": [False],
    "output_class_labels": [True, False],
    "raw_scores": [True, False],
}


def _set_shapes(operator: Any) -> None:
    """Set the types of an operator's outputs: skl2onnx's shape calculator."""
    n = operator.inputs[0].get_first_dimension()
    exported, classes = _exported_step(operator.raw_operator)
    double = types.DoubleTensorType
    is_double = any(isinstance(value.type, double) for value in operator.inputs)
    # Dictionaries of probabilities, which skl2onnx makes by default, hold float32.
    readers = [reader.type for reader in operator.outputs[-1].operators_inputs_]
    is_double &= "SklearnZipMap" not in readers
    floats = double if is_double else types.FloatTensorType
    width = exported.ensemble.n_scores
    if classes is not None:
        is_string = classes.dtype == STRING
        label = types.StringTensorType if is_string else types.Int64TensorType
        operator.outputs[0].type = label([n])
        width = len(classes)
    operator.outputs[-1].type = floats([n, width])


def _exported_step(model: Any) -> tuple[ExportedModel, NDArray[Any] | None]:
    """The model of a pipeline's step, and the labels of its only target.

    The labels are None for a regressor. ValueError if a step cannot have the model's
    outputs.
    """
    if is_classifier(model) and callable(model.objective_):
        raise ValueError(
            "The objective of the classifier is a function, so it has no probabilities"
            " or labels. Convert it with skgoss.to_onnx, which exports raw scores."
        )
    exported = exported_model(model)
    classes = exported.classes
    if isinstance(classes, list):
        raise ValueError(
            "A classifier of several targets has an output for the probabilities of"
            " each, but a step of a pipeline has one. Convert it with skgoss.to_onnx."
        )
    return exported, classes


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an operator to those of a pipeline: skl2onnx's converter."""
    inputs = [
        Value(v.full_name, _DTYPES.get(type(v.type), SINGLE), v.type.shape[1])
        for v in operator.inputs
    ]
    graph = Graph(scope.get_unique_variable_name)
    exported, classes = _exported_step(operator.raw_operator)
    if classes is not None:
        options = container.get_options(operator.raw_operator, {"raw_scores": False})
        exported = exported._replace(is_raw=options["raw_scores"])
    values = add_model(graph, exported, inputs).values()
    for value, output in zip(values, operator.outputs, strict=True):
        if isinstance(output.type, types.FloatTensorType):
            value = value._replace(dtype=SINGLE)
        add_output(graph, value, output.full_name)
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.update(OPERATORS.items())


@set_module("skgoss.onnx")
def register(estimator_class: type[LGBMModel]) -> None:
    """Register a class of estimators with skl2onnx.

    The estimators of skgoss are already registered. Subclasses must be registered.

    Parameters
    ----------
    estimator_class : type
        A subclass of an estimator of skgoss.

    See Also
    --------
    skgoss.to_onnx : A model without a pipeline.

    Examples
    --------
    >>> from skgoss import LGBMRegressor
    >>> from skgoss.onnx import register
    >>> class Regressor(LGBMRegressor):
    ...     pass
    >>> register(Regressor)
    """
    update_registered_converter(
        estimator_class,
        f"Skgoss{estimator_class.__name__}",
        _set_shapes,
        _convert,
        options=_OPTIONS if issubclass(estimator_class, ClassifierMixin) else None,
    )
