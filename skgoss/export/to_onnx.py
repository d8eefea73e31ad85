"""Models in ONNX: inputs, links and outputs around the graph of the trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

from skgoss.booster.booster import Booster, booster_of
from skgoss.columns.categories import Vocabulary
from skgoss.columns.computed_columns import ComputedColumns
from skgoss.estimators.base import LGBMModel
from skgoss.export.onnx_trees import (
    MACHINE_LEARNING,
    OPERATORS,
    Graph,
    add_scores,
    rounds,
)
from skgoss.model.ensemble import Ensemble
from skgoss.model.fitted import scores_of_targets
from skgoss.objectives.link import Link
from skgoss.utils import optional
from skgoss.utils.messages import by_name, hint_arguments, type_name, warn
from skgoss.utils.public import set_module

if TYPE_CHECKING:
    import onnx

# The first version of the file format that has these operators.
_FORMAT = 8

STRING, DOUBLE, SINGLE = np.dtype(object), np.dtype("float64"), np.dtype("float32")


class Value(NamedTuple):
    """A value of a graph, of shape (n, width), or (n,) if ``width`` is None."""

    name: str
    dtype: np.dtype[Any]
    width: int | None


class ExportedModel(NamedTuple):
    """The parts of a model from which its graph is made."""

    ensemble: Ensemble
    span: tuple[int, int]  # the first round that is used, and the last plus 1
    link: Link
    names: list[str]  # names of the columns
    vocabularies: dict[int, Vocabulary]  # the categories by column
    computed: ComputedColumns  # columns that the model computes from these
    # (n_classes,): the labels, whole numbers or strings; a list if there are several
    # targets. None: no labels are computed.
    classes: NDArray[Any] | list[NDArray[Any]] | None
    is_raw: bool  # whether raw scores are computed instead of predictions


# What to use in place of arguments of skl2onnx and onnxmltools.
_INSTEAD = by_name(
    {
        "X, one or more rows as an example of the input": "initial_type initial_types",
        "skl2onnx.to_onnx, after import skgoss.onnx": "name options target_opset",
    }
)


@set_module("skgoss")
@hint_arguments(_INSTEAD)
def to_onnx(
    model: LGBMModel | Booster,
    X: ArrayLike | None = None,
    *,
    start_iteration: int = 0,
    num_iteration: int | None = None,
    raw_score: bool = False,
) -> onnx.ModelProto:
    """Convert a model to ONNX.

    The ONNX model gives the predictions of the original model, up to the rounding of
    double precision.

    Parameters
    ----------
    model : fitted estimator or Booster
        The model to convert. For pipelines, use ``skl2onnx.to_onnx`` after ``import
        skgoss.onnx``.
    X : array or data frame of shape (n_samples, n_features), default=None
        An example of the input of the ONNX model; one row is enough. For an array, the
        ONNX model has one input ``X`` with the dtype of the array. For a data frame, it
        has one input of shape (n_samples, 1) per column, with the name and dtype of the
        column; categorical columns of strings take strings. None: the input is a
        float64 array, or one input per column if the model has columns of strings or
        ordered categories.
    start_iteration : int, default=0
        The first round whose trees are used.
    num_iteration : int, default=None
        Number of rounds whose trees are used. None: as in ``predict``. Values <= 0: all
        rounds.
    raw_score : bool, default=False
        Whether the ONNX model returns raw scores.

    Returns
    -------
    onnx.ModelProto
        The outputs of a classifier are ``label``, of shape (n_samples,), and
        ``probabilities``, of shape (n_samples, n_classes). For several targets,
        ``label`` has the shape (n_samples, n_targets), and the probabilities of each
        target are an output: ``probabilities_0``, ``probabilities_1`` and so on, as in
        the list that ``predict_proba`` returns. The output of other models
        is ``variable``, of shape (n_samples, n_scores); several quantiles are sorted as
        in ``predict``. With ``raw_score``, and for
        classifiers whose objective is a function, the output is ``scores``, of shape
        (n_samples, n_scores). Outputs are float32 if all floating-point inputs are
        float32, and float64 otherwise.

    Raises
    ------
    ImportError
        If the package onnx is not installed.
    TypeError
        If ``model`` is not a fitted model of skgoss, or ``X`` is a path.
    ValueError
        If the model has categories or labels that ONNX cannot represent, or if ``X``
        does not have the columns of the model.

    Warns
    -----
    UserWarning
        If the objective of a classifier is a function.

    See Also
    --------
    skgoss.onnx.register : Subclasses of the estimators in pipelines.

    Examples
    --------
    >>> import skgoss
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = skgoss.LGBMClassifier(n_estimators=10).fit(X, y)
    >>> [output.name for output in skgoss.to_onnx(model).graph.output]
    ['label', 'probabilities']
    """
    helper = optional.optional("onnx", "to_onnx").helper
    if isinstance(X, str | PathLike):
        raise TypeError(
            f"X must be rows, an example of the input, got the {type_name(X)} {X!r}. To"
            " write a file, pass what to_onnx returns to onnx.save."
        )
    exported = exported_model(model, start_iteration, num_iteration, raw_score)
    inputs = _inputs(model, exported, X)
    unique = _UniqueNames()
    graph = Graph(unique)
    for value in inputs:
        unique(value.name)
    floats = {value.dtype for value in inputs if value.dtype.kind == "f"}
    outputs = []
    for name, value in add_model(graph, exported, inputs).items():
        is_single = value.dtype == DOUBLE and floats == {SINGLE}
        value = value._replace(dtype=SINGLE) if is_single else value
        outputs.append(add_output(graph, value, unique(name)))
    owner = type(model).__name__
    return helper.make_model(
        helper.make_graph(
            graph.nodes,
            owner,
            list(map(_value_info, inputs)),
            list(map(_value_info, outputs)),
            graph.constants,
        ),
        producer_name="skgoss",
        producer_version=optional.version(),
        doc_string=f"{owner}, rounds {exported.span[0]} to {exported.span[1] - 1}",
        ir_version=_FORMAT,
        opset_imports=[helper.make_opsetid(*pair) for pair in OPERATORS.items()],
    )


class _UniqueNames:
    """Makes names that differ, by numbers at their ends."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def __call__(self, name: str) -> str:
        number, unique = 0, name
        while unique in self._used:
            number += 1
            unique = f"{name}_{number}"
        self._used.add(unique)
        return unique


def _value_info(value: Value) -> Any:
    """The type and shape of an input or output for ONNX; "n" is any number of rows."""
    from onnx import helper

    shape: list[str | int | None] = ["n"] if value.width is None else ["n", value.width]
    dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(value.name, dtype, shape)


# --- Models ---------------------------------------------------------------------------


def exported_model(
    model: Any, start: int = 0, length: int | None = None, is_raw: bool = False
) -> ExportedModel:
    """The parts of a model from which its graph is made.

    The arguments are the first round, the number of rounds (None: as in ``predict``),
    and whether the graph returns raw scores. TypeError if it is not a fitted model of
    skgoss, ValueError if int64 cannot hold the labels. Warns if raw scores replace
    probabilities, because the objective is a function.
    """
    booster = booster_of(
        model,
        "model",
        advice=" Convert pipelines with skl2onnx.to_onnx, after `import skgoss.onnx`."
        " It refuses dates; skgoss.to_onnx(model[-1], model[:-1].transform(X)) converts"
        " the last step alone, which may read dates, text and missing values.",
    )
    if booster is model:  # its default is the best rounds; that of estimators is all
        length = booster._length(length)
    fitted = booster._model
    classes = None
    if is_classifier(model) and not is_raw:
        if callable(fitted.objective):
            warn(
                "The objective is a function, so there are no probabilities or labels:"
                " raw scores are exported."
            )
            is_raw = True
        else:
            classes = _model_labels(fitted.classes)
    return ExportedModel(
        fitted.trees,
        fitted.rounds(start, length),
        fitted.link,
        fitted.feature_names,
        fitted.categories.vocabularies,
        fitted.schema.computed,
        classes,
        is_raw,
    )


def _model_labels(
    classes: NDArray[Any] | list[NDArray[Any]],
) -> NDArray[Any] | list[NDArray[Any]]:
    """The labels, in a list if there are several targets."""
    if not isinstance(classes, list):
        return _labels(classes)
    labels = list(map(_labels, classes))
    if len({array.dtype for array in labels}) > 1:
        raise ValueError(
            "The labels of some targets are numbers, and those of others are strings:"
            " an output of ONNX has one type. Use raw_score=True, or fit the model to"
            " labels of one type."
        )
    return labels


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """The classes as int64, or as objects that are strings."""
    if classes.dtype.kind not in "biuf":
        return np.array(classes.tolist(), dtype=object)
    # Floats are whole numbers: `targets` refuses others.
    try:
        return np.array([int(label) for label in classes.tolist()], dtype=np.int64)
    except OverflowError as error:
        raise ValueError(
            "The labels are too large for ONNX: int64 must hold them. Use"
            " raw_score=True, or fit the model to other labels."
        ) from error


def add_model(
    graph: Graph, exported: ExportedModel, inputs: Sequence[Value]
) -> dict[str, Value]:
    """Add the nodes of a model, and return the outputs by their names.

    Outputs that are floats are double. The inputs are matrices that together have all
    columns, in order. The width of a single input may be None. ValueError if ONNX
    cannot represent the categories of a column, or if the inputs do not have the
    columns of the model, with strings where the model has them and numbers elsewhere.
    """
    link, classes = exported.link, exported.classes
    ensemble = rounds(exported.ensemble, *exported.span)
    X, category_values = _matrix(graph, exported, inputs)
    values = add_scores(graph, X, ensemble, category_values)
    if not exported.is_raw:
        values = _predictions(graph, values, link)
    if classes is None:
        name = "scores" if exported.is_raw else "variable"
        return {name: Value(values, DOUBLE, ensemble.n_scores)}
    if isinstance(classes, list):
        return _target_outputs(graph, values, classes, exported.is_raw)
    n_scores, n_classes = ensemble.n_scores, len(classes)
    values = _class_values(graph, values, n_scores, n_classes, exported.is_raw)
    return {
        "label": Value(_label(graph, values, classes), classes.dtype, None),
        "probabilities": Value(values, DOUBLE, n_classes),
    }


def _target_outputs(
    graph: Graph, values: str, classes: list[NDArray[Any]], is_raw: bool
) -> dict[str, Value]:
    """The outputs of a classifier of several targets, by their names.

    ``values`` is the name of the matrix of the values of all scores, and ``classes``
    are the labels of each target.
    """
    labels, probabilities = [], {}
    spans = scores_of_targets(classes)
    for number, ((first, stop), target) in enumerate(zip(spans, classes, strict=True)):
        target_values = _columns(graph, values, first, stop)
        n_scores, n_classes = stop - first, len(target)
        target_values = _class_values(graph, target_values, n_scores, n_classes, is_raw)
        labels.append(_label(graph, target_values, target, keepdims=1))
        probabilities[f"probabilities_{number}"] = Value(
            target_values, DOUBLE, n_classes
        )
    label = graph.add("Concat", *labels, axis=1)
    return {"label": Value(label, classes[0].dtype, len(classes)), **probabilities}


def _label(graph: Graph, values: str, classes: NDArray[Any], keepdims: int = 0) -> str:
    """The label of the most probable class: (n,), or (n, 1) if ``keepdims`` is 1.

    ``values`` is the name of a matrix with a column for each class.
    """
    best = graph.add("ArgMax", values, axis=1, keepdims=keepdims)
    return graph.add("Gather", graph.constant(classes), best)


def _class_values(
    graph: Graph, values: str, n_scores: int, n_classes: int, is_raw: bool
) -> str:
    """The probabilities or raw scores of all classes, (n, n_classes).

    ``values`` is the name of the matrix of ``n_scores`` columns. A single score is that
    of the second class; the first one has 1 - p, or the negative score if they are raw.
    With a single class, only that is returned.
    """
    if n_scores > 1:
        return values
    if is_raw:
        negative = graph.add("Neg", values)
    else:
        negative = graph.add("Sub", graph.constant(1.0), values)
    return negative if n_classes == 1 else graph.add("Concat", negative, values, axis=1)


def _columns(graph: Graph, values: str, first: int, stop: int) -> str:
    """Some columns of a matrix."""
    return graph.add("Gather", values, graph.constant(np.arange(first, stop)), axis=1)


def add_output(graph: Graph, value: Value, name: str) -> Value:
    """Add an output: a value in its dtype, with a name."""
    if value.dtype == STRING:
        graph.add("Identity", value.name, output=name)
    else:
        graph.cast(value.name, value.dtype, output=name)
    return value._replace(name=name)


# --- Links ----------------------------------------------------------------------------


def _predictions(graph: Graph, scores: str, link: Link) -> str:
    """The predictions that a link makes of raw scores."""
    target_links = link.links
    if link.distribution is not None:
        links = link.distribution.parameters.values()
        target_links = tuple((Link(kind), 1) for kind in links)
    if target_links:
        stops = np.cumsum([width for _, width in target_links]).tolist()
        columns = [
            _predictions(graph, _columns(graph, scores, stop - width, stop), own)
            for (own, width), stop in zip(target_links, stops, strict=True)
        ]
        return graph.add("Concat", *columns, axis=1)
    values = _LINKS[link.kind](graph, scores, link)
    return _ascending(graph, values, len(link.levels)) if link.levels else values


def _logistic(graph: Graph, scores: str, link: Link) -> str:
    one = graph.constant(1.0)
    power = graph.add("Mul", scores, graph.constant(-link.slope))
    return graph.add("Div", one, graph.add("Add", one, graph.add("Exp", power)))


def _log1p_exp(graph: Graph, scores: str, link: Link) -> str:
    """max(f, 0) + log1p(u) for u = exp(-|f|).

    log1p(u) = u * log(1 + u) / ((1 + u) - 1): the error of rounding 1 + u cancels in
    the fraction. If 1 + u is rounded to 1, the result is u.
    """
    one = graph.constant(1.0)
    u = graph.add("Exp", graph.add("Neg", graph.add("Abs", scores)))
    total = graph.add("Add", one, u)
    ratio = graph.add("Div", graph.add("Log", total), graph.add("Sub", total, one))
    ratio = graph.add("Where", graph.add("Equal", total, one), one, ratio)
    log1p = graph.add("Mul", u, ratio)
    return graph.add("Add", graph.add("Max", scores, graph.constant(0.0)), log1p)


def _ascending(graph: Graph, values: str, width: int) -> str:
    """The values of each row in ascending order."""
    n = graph.constant(np.array([width], dtype=np.int64))
    return graph.add("TopK", values, n, n_unused=1, axis=1, largest=0, sorted=1)


_LINKS: dict[str, Callable[[Graph, str, Link], str]] = {
    "identity": lambda graph, scores, link: scores,
    "exp": lambda graph, scores, link: graph.add("Exp", scores),
    "logistic": _logistic,
    "log1p_exp": _log1p_exp,
    "signed_square": lambda graph, scores, link: graph.add(
        "Mul", scores, graph.add("Abs", scores)
    ),
    "softmax": lambda graph, scores, link: graph.add("Softmax", scores, axis=1),
}


# --- Inputs ---------------------------------------------------------------------------


def _inputs(model: Any, exported: ExportedModel, X: Any) -> list[Value]:
    """The inputs of the graph: one matrix, or one for each column of a data frame."""
    names, vocabularies = exported.names, exported.vocabularies
    if X is not None:
        validate_data(model, X, reset=False, skip_check_array=True)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        dtypes = [_dtype(frame[:, j]) for j in range(frame.shape[1])]
        names = list(map(str, frame.columns))
    elif any(map(_is_encoded, vocabularies.values())):
        dtypes = [DOUBLE] * len(names)
    else:
        return [Value("X", _dtype_of_array(X), len(names))]
    for column, vocabulary in vocabularies.items():
        if _has_strings(vocabulary):
            dtypes[column] = STRING
    return [Value(*pair, 1) for pair in zip(names, dtypes, strict=True)]


def _dtype_of_array(X: Any) -> np.dtype[Any]:
    """The dtype of an array of numbers, in the machine's byte order."""
    dtype = np.dtype(getattr(X, "dtype", DOUBLE))
    is_kept = dtype.kind in "biuf" and dtype.itemsize <= DOUBLE.itemsize
    return np.dtype(dtype.name) if is_kept else DOUBLE


def _dtype(series: nw.Series[Any]) -> np.dtype[Any]:
    """The dtype of a column; float64 for integers with nulls and for other types."""
    dtype = series.dtype
    is_whole = dtype.is_integer() or dtype == nw.Boolean
    if dtype.is_float() or (is_whole and not series.null_count()):
        name = str(dtype).lower().replace("boolean", "bool")
        return np.dtype(np.sctypeDict.get(name, DOUBLE))
    return DOUBLE


def _has_strings(vocabulary: Vocabulary) -> bool:
    return any(isinstance(value, str) for value in vocabulary.values)


def _is_encoded(vocabulary: Vocabulary) -> bool:
    """Whether the graph must replace the values of a column by codes.

    In other categorical columns, the trees compare the values themselves.
    """
    return vocabulary.is_ordered or _has_strings(vocabulary)


def _matrix(
    graph: Graph, exported: ExportedModel, inputs: Sequence[Value]
) -> tuple[str, dict[int, NDArray[np.float64]]]:
    """Join the inputs to a matrix of double with all columns of the trees.

    Returns its name, and for columns whose categories the trees compare by value, the
    value of each category. In other categorical columns, the graph replaces values by
    the numbers of their categories. Pairs, columns that the model computes, come last.
    """
    names, vocabularies = exported.names, exported.vocabularies
    for column, vocabulary in vocabularies.items():
        _check(vocabulary, names[column])
    widths = [len(names) if value.width is None else value.width for value in inputs]
    if sum(widths) != len(names):
        raise ValueError(
            f"The inputs of the graph have {sum(widths)} columns, but the model has"
            f" {len(names)}. Convert with X in the form of fit."
        )
    encoded = {
        column: vocabulary
        for column, vocabulary in vocabularies.items()
        if _is_encoded(vocabulary)
    }
    matrices: list[str] = []
    first = 0
    for value, width in zip(inputs, widths, strict=True):
        columns = range(first, first + width)
        if value.dtype == STRING or not encoded.keys().isdisjoint(columns):
            matrices += [
                _encoded(
                    graph, value, column - first, encoded.get(column), names[column]
                )
                for column in columns
            ]
        else:
            matrices.append(_as_double(graph, value.name, value.dtype))
        first += width
    X = graph.add("Concat", *matrices, axis=1) if len(matrices) > 1 else matrices[0]
    return _with_computed(graph, X, exported.computed), {
        column: np.array(vocabulary.values, dtype=np.float64)
        for column, vocabulary in vocabularies.items()
        if column not in encoded
    }


_OPERATORS = {"-": "Sub", "+": "Add", "*": "Mul", "/": "Div"}


def _with_computed(graph: Graph, X: str, computed: ComputedColumns) -> str:
    """The matrix, followed by the columns that the model computes."""
    matrices = [X]
    for left, operation, factor, right in computed.state():
        first, second = (_columns(graph, X, j, j + 1) for j in (left, right))
        if operation in _OPERATORS:
            matrices.append(_pair(graph, first, operation, factor, second))
        else:
            matrices.append(_date_part(_Number(graph, first), operation).name)
    return graph.add("Concat", *matrices, axis=1) if len(matrices) > 1 else X


def _pair(graph: Graph, first: str, symbol: str, factor: float, second: str) -> str:
    """The pair ``first symbol (factor * second)``; a quotient by 0 is missing."""
    if factor != 1.0:
        second = graph.add("Mul", second, graph.constant(factor))
    values = graph.add(_OPERATORS[symbol], first, second)
    if symbol != "/":
        return values
    is_zero = graph.add("Equal", second, graph.constant(0.0))
    return graph.add("Where", is_zero, graph.constant(np.nan), values)


class _Number(NamedTuple):
    """A value of a graph, in formulas with constants and other values."""

    graph: Graph
    name: str

    def _combined(self, operator: str, other: _Number | float) -> _Number:
        if isinstance(other, _Number):
            name = other.name
        else:
            name = self.graph.constant(float(other))
        return _Number(self.graph, self.graph.add(operator, self.name, name))

    def plus(self, other: _Number | float) -> _Number:
        return self._combined("Add", other)

    def minus(self, other: _Number | float) -> _Number:
        return self._combined("Sub", other)

    def times(self, factor: _Number | float) -> _Number:
        return self._combined("Mul", factor)

    def over(self, divisor: float) -> _Number:
        """The quotient, rounded down."""
        quotient = self._combined("Div", divisor).name
        return _Number(self.graph, self.graph.add("Floor", quotient))

    def modulo(self, divisor: float) -> _Number:
        return self.minus(self.over(divisor).times(divisor))

    def is_multiple(self, divisor: float) -> _Number:
        """1 where a whole number is a multiple of another, else 0."""
        return self.over(divisor).minus(self.plus(-1).over(divisor))


def _date_part(days: _Number, part: str) -> _Number:
    """A part of dates, as `computed_kernels` computes it from days since 1970."""
    ms = days.times(86_400_000).plus(0.5).over(1)
    for name, divisor, count in (
        ("hour", 3_600_000, 24),
        ("minute", 60_000, 60),
        ("second", 1000, 60),
    ):
        if part == name:
            return ms.over(divisor).modulo(count)
    day = ms.over(86_400_000)
    if part == "day_of_week":
        return day.plus(3).modulo(7)
    in_era = day.plus(719_468).modulo(146_097)
    leap_days = in_era.over(36_524).minus(in_era.over(1460)).minus(in_era.over(146_096))
    year = in_era.plus(leap_days).over(365)
    before = year.times(365).plus(year.over(4)).minus(year.over(100))
    in_year = in_era.minus(before)
    month = in_year.times(5).plus(2).over(153)
    is_late = month.over(10)  # whether it is January or February
    if part == "month":
        return month.plus(3).minus(is_late.times(12))
    if part == "day":
        return in_year.plus(1).minus(month.times(153).plus(2).over(5))
    is_leap = year.is_multiple(4).minus(year.is_multiple(100))
    is_leap = is_leap.plus(year.is_multiple(400))
    # January 1 is day 306 of a year that begins on March 1.
    return (
        in_year.plus(1)
        .plus(is_leap.plus(59).times(is_late.times(-1).plus(1)))
        .minus(is_late.times(306))
    )


def _check(vocabulary: Vocabulary, name: str) -> None:
    """Check that ONNX can represent the categories of a column."""
    values = vocabulary.values
    is_number = all(
        isinstance(value, Real | np.bool_) and float(value) == value for value in values
    )
    if not is_number and not all(isinstance(value, str) for value in values):
        raise ValueError(
            f"Column {name!r} holds categories that ONNX cannot represent: they must be"
            " strings, or numbers that float64 holds exactly. Turn them into strings"
            " before fit."
        )


def _as_double(graph: Graph, value: str, dtype: np.dtype[Any]) -> str:
    return value if dtype == DOUBLE else graph.cast(value, DOUBLE)


def _encoded(
    graph: Graph, value: Value, j: int, vocabulary: Vocabulary | None, name: str
) -> str:
    """Column ``j`` of an input as double, with codes in place of its categories.

    ``vocabulary`` has the categories in the order of their codes; None: the column
    holds numbers. ``name`` is that of the column, for errors.
    """
    is_string = value.dtype == STRING
    if is_string != (vocabulary is not None and _has_strings(vocabulary)):
        held, holds = ("numbers", "strings") if is_string else ("strings", "numbers")
        raise ValueError(
            f"Column {name!r} held {held} in fit, but the input {value.name!r} of the"
            f" graph holds {holds}. Convert with X in the form of fit."
        )
    column = value.name
    if value.width != 1:
        column = graph.add("Gather", column, graph.constant([j]), axis=1)
    if vocabulary is None:
        return _as_double(graph, column, value.dtype)
    codes = np.arange(len(vocabulary.values), dtype=np.float64)
    if is_string:
        encoded = graph.add(
            "LabelEncoder",
            column,
            domain=MACHINE_LEARNING,
            keys_strings=vocabulary.values,
            values_floats=codes.tolist(),
            default_float=np.nan,
        )
        return graph.cast(encoded, DOUBLE)
    return _code_of_number(graph, _as_double(graph, column, value.dtype), vocabulary)


def _code_of_number(graph: Graph, column: str, vocabulary: Vocabulary) -> str:
    """The code of the category that equals a value; NaN if there is none."""
    values = np.array(vocabulary.values, dtype=np.float64)
    codes = np.arange(len(values), dtype=np.float64)
    is_equal = graph.add("Equal", column, graph.constant(values))
    zero, one = graph.constant(0.0), graph.constant(1.0)
    rank = graph.add(
        "ReduceSum",
        graph.add("Where", is_equal, graph.constant(1 + codes), zero),
        graph.constant([1]),
    )
    has_code = graph.add("Greater", rank, zero)
    code = graph.add("Sub", rank, one)
    return graph.add("Where", has_code, code, graph.constant(np.nan))
