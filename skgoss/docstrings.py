"""Docstrings with parameters that several methods share: each is described once."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# The arguments of fit: type and meaning.
FIT = {
    "X": (
        "array-like or data frame of shape (n_samples, n_features), or Dataset",
        "The training data: numbers, and in data frames also categories. NaN is a"
        " missing value. A `Dataset` is binned once for any number of fits. It also"
        " holds ``y``, ``sample_weight``, ``init_score`` and ``group``, where these are"
        " not passed.",
    ),
    "y": (
        "array-like of shape (n_samples,), default=None",
        "The target: numbers for a regressor, labels of any kind for a classifier, the"
        " grades of documents (0, 1, 2, ...) for a ranker. Required, unless ``X`` is a"
        " `Dataset` with a label.",
    ),
    "sample_weight": (
        "array-like of shape (n_samples,), default=None",
        "Weights of the rows: weight 2 is the same as two copies of a row, weight 0 the"
        " same as no row.",
    ),
    "init_score": (
        "array-like of shape (n_samples,) or (n_samples, n_classes), default=None",
        "Raw scores to start from, instead of the best constant. They do not belong to"
        " the model: predictions do not include them.",
    ),
    "group": (
        "array-like of shape (n_queries,), default=None",
        "Sizes of the queries. The rows of a query must stand together, and the queries"
        " in this order.",
    ),
    "qid": (
        "array-like of shape (n_samples,), default=None",
        "The query of each row: ids of any kind, in any order. Without ``qid`` and"
        " ``group`` all rows belong to the same query.",
    ),
    "eval_set": (
        "list of (X, y) pairs or Datasets, default=None",
        "Evaluation sets: metrics are computed on them after each round. The same as"
        " ``eval_X`` and ``eval_y``. The i-th set is named 'valid_i'; if the pair holds"
        " the very objects ``X`` and ``y``, it is the training set, named 'training'.",
    ),
    "eval_names": (
        "list of str, default=None",
        "Names of the evaluation sets. By default they are 'valid_0', 'valid_1' and so"
        " on, and 'training' for the training set. A list that is shorter than that of"
        " the sets, here and in the other arguments of evaluation sets, leaves the"
        " rest at their defaults.",
    ),
    "eval_sample_weight": (
        "list of array-like, default=None",
        "Weights of the rows of each evaluation set.",
    ),
    "eval_class_weight": (
        "list of dict or 'balanced', default=None",
        "Class weights of each evaluation set.",
    ),
    "eval_init_score": (
        "list of array-like, default=None",
        "Raw scores to start from, for each evaluation set.",
    ),
    "eval_group": (
        "list of array-like, default=None",
        "Sizes of the queries of each evaluation set.",
    ),
    "eval_qid": (
        "list of array-like, default=None",
        "The query of each row, for each evaluation set.",
    ),
    "eval_metric": (
        "str, callable or list of them, default=None",
        "Metrics in addition to the parameter ``metric``: names, or functions"
        " ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,"
        " weight, group)`` that return ``(name, value, is_higher_better)`` or a list of"
        " such tuples. ``y_pred`` are predictions, or raw scores if the objective is a"
        " function.",
    ),
    "eval_at": (
        "int or list of int, default=None",
        "Number of top documents that 'ndcg' and 'map' look at. None: the parameter"
        " ``eval_at``.",
    ),
    "feature_name": (
        "'auto' or list of str, default='auto'",
        "Names of the columns, for ``feature_name_``. 'auto': the names in ``X``.",
    ),
    "categorical_feature": (
        "'auto', None or list of str and int, default='auto'",
        "The columns that hold categories. 'auto': the parameter"
        " ``categorical_feature``.",
    ),
    "callbacks": (
        "list of callable, default=None",
        "Functions that are called before or after each round: see"
        " ``skgoss.callbacks``.",
    ),
    "init_model": (
        "estimator of skgoss, Booster, str or path, default=None",
        "A fitted model, or the file of one. Boosting continues from its trees, which"
        " become part of the new model. The columns and their names, the categories and"
        " the classes are those of the fitted model; ``X`` must have the same columns."
        " A file of LightGBM has no classes: they are those of ``y``.",
    ),
    "eval_X": (
        "array-like or data frame, or a tuple of them, default=None",
        "The data of the evaluation set, or of each of several.",
    ),
    "eval_y": (
        "array-like, or a tuple of them, default=None",
        "The target of the evaluation set, or of each of several.",
    ),
    "early_stopping_rounds": (
        "int, default=None",
        "Replaces the parameter ``early_stopping_round``, as in LightGBM before 4.0.",
    ),
    "verbose": (
        "bool or int, default=False",
        "True prints the metrics of every round; an integer k, of every k-th round. As"
        " in LightGBM before 4.0.",
    ),
}

# The arguments of fit that are other words on a cluster: type and meaning.
FIT_OF_DASK = FIT | {
    "X": (
        "Dask array, Dask data frame, or list of Delayed",
        "The training data: numbers, and in data frames also categories. NaN is a"
        " missing value. Chunks of arrays and delayed parts may be sparse matrices. The"
        " rows are those of the partitions, one after the other.",
    ),
    "y": (
        "Dask array, series, or list of Delayed",
        "The target: numbers for a regressor, labels of any kind for a classifier, the"
        " grades of documents (0, 1, 2, ...) for a ranker. It has the partitions of"
        " ``X``, as all arguments with a value for each row. Arrays are rechunked where"
        " the lengths of all chunks are known.",
    ),
    "sample_weight": ("Dask array or series, default=None", FIT["sample_weight"][1]),
    "init_score": ("Dask array or data frame, default=None", FIT["init_score"][1]),
    "group": (
        "Dask array or series, default=None",
        "Sizes of the queries. Those of each partition sum to its rows: a query is in"
        " one partition. Its rows must stand together.",
    ),
    "qid": (
        "Dask array or series, default=None",
        "The query of each row: ids of any kind, in any order. A query is in one"
        " partition.",
    ),
    "eval_set": (
        "list of (X, y) pairs, default=None",
        "Evaluation sets of Dask collections, in any partitions: " + FIT["eval_set"][1],
    ),
    "eval_X": (
        "Dask array or data frame, or a tuple of them, default=None",
        FIT["eval_X"][1],
    ),
    "eval_y": (
        "Dask array or series, or a tuple of them, default=None",
        FIT["eval_y"][1],
    ),
    "callbacks": (
        "list of callable, default=None",
        "Functions that are called before or after each round: see"
        " ``skgoss.callbacks``. They are called on a worker, as copies: what functions"
        " of your own change is not changed here. ``record_evaluation`` fills its"
        " dictionary after the fit, and messages are shown here.",
    ),
}

# The arguments of predictions: type and meaning.
PREDICTION = {
    "X": (
        "array-like or data frame of shape (n_samples, n_features)",
        "Rows with the columns of ``fit``, in the same order.",
    ),
    "raw_score": (
        "bool, default=False",
        "Whether to return raw scores: the sum of the trees' values, or their mean for"
        " a random forest.",
    ),
    "start_iteration": ("int, default=0", "First round to use."),
    "num_iteration": (
        "int, default=None",
        "Number of rounds to use. None or <= 0: all rounds from the first one on.",
    ),
    "pred_leaf": (
        "bool, default=False",
        "Whether to return the index of the leaf of each row in each tree.",
    ),
    "pred_contrib": (
        "bool, default=False",
        "Whether to return SHAP values, what each column adds to the raw score: an"
        " array of shape (n_samples, n_features + 1), whose last column is the expected"
        " raw score. With K > 2 classes (n_samples, K * (n_features + 1)), class by"
        " class. Sparse rows give a sparse array, or a list of K.",
    ),
    "pred_interactions": (
        "bool, default=False",
        "Whether to return SHAP interaction values, what each pair of columns adds: an"
        " array of shape (n_samples, n_features + 1, n_features + 1), or (n_samples, K,"
        " n_features + 1, n_features + 1). Rows add up to the SHAP values.",
    ),
    "interactions": (
        "bool, default=False",
        "Whether to explain by interactions of pairs of columns.",
    ),
    "validate_features": (
        "bool, default=False",
        "Whether to check names of columns for a model of another library's file. For"
        " all other models they are always checked.",
    ),
    "kwargs": (
        "dict",
        "``n_jobs``, or another name of it, replaces the parameter ``n_jobs``. Other"
        " parameters of LightGBM have no effect; unknown names give an"
        " ``UnusedParameterWarning``.",
    ),
}

# The arguments of a Booster's methods: type and meaning.
BOOSTER = PREDICTION | {
    "data": (
        "array-like or data frame of shape (n_samples, n_features), or path",
        "Rows with the columns of the training set, in the same order. Files are CSV,"
        " TSV or LibSVM, with or without the label; columns of a file with a header are"
        " found by their names.",
    ),
    "start_iteration": ("int, default=0", "First round."),
    "num_iteration": (
        "int, default=None",
        "Number of rounds. None: up to the best round if early stopping found one, else"
        " all; <= 0: all.",
    ),
    "importance_type": (
        "{'split', 'gain'}, default='split'",
        "The kind of importances: see `feature_importance`.",
    ),
    "data_has_header": (
        "bool, default=False",
        "Whether the first line of a file holds the names of the columns.",
    ),
    "validate_features": (
        "bool, default=False",
        "Whether to check the names of a data frame's columns.",
    ),
    "kwargs": (
        "dict",
        "``n_jobs``, or another name of it, is the number of threads. Other parameters"
        " of LightGBM have no effect; unknown names give an"
        " ``UnusedParameterWarning``.",
    ),
}

# The arguments of plots: type and meaning. Some plots have their own words for some.
PLOT = {
    "booster": ("Booster or fitted estimator", "The model."),
    "ax": (
        "matplotlib.axes.Axes, default=None",
        "Where to plot; None: in a new figure.",
    ),
    "xlim": ("pair of float, default=None", "The limits of the axis x."),
    "ylim": ("pair of float, default=None", "The limits of the axis y."),
    "title": ("str or None", "The title; None leaves it out."),
    "xlabel": ("str or None", "The label of the axis x; None leaves it out."),
    "ylabel": ("str or None", "The label of the axis y; None leaves it out."),
    "figsize": (
        "pair of float, default=None",
        "Width and height of a new figure in inches.",
    ),
    "dpi": ("float, default=None", "Resolution of a new figure."),
    "grid": ("bool, default=True", "Whether to draw a grid."),
    "precision": (
        "int or None, default=3",
        "Digits after the decimal point; None: all.",
    ),
    "tree_index": (
        "int, default=0",
        "The number of the tree; negative numbers count from the last.",
    ),
    "show_info": (
        "list of str, default=None",
        "What to show beside questions and values: 'split_gain', 'internal_value',"
        " 'internal_count', 'internal_weight', 'leaf_count', 'leaf_weight' and"
        " 'data_percentage'.",
    ),
    "orientation": (
        "{'horizontal', 'vertical'}, default='horizontal'",
        "Whether the root is on the left or at the top.",
    ),
    "example_case": (
        "array-like or data frame of shape (1, n_features), default=None",
        "A row: its path through the tree is highlighted.",
    ),
    "max_category_values": (
        "int, default=10",
        "Number of categories to list in a node; '...' stands for the others.",
    ),
}

# The last parameter of the constructors.
CONSTRUCTOR_KWARGS = (
    "dict",
    "Other names of these parameters, such as ``eta``. Unknown names give an"
    " ``UnusedParameterWarning`` and have no effect.",
)

# The attributes that all estimators have after fit: type and meaning.
ATTRIBUTES = {
    "n_features_in_": ("int", "Number of columns of ``X``."),
    "n_features_": ("int", "The same number."),
    "feature_names_in_": (
        "ndarray of shape (`n_features_in_`,)",
        "Names of the columns of ``X``. Only if all names are strings.",
    ),
    "feature_name_": (
        "list of str",
        "Names of the columns: ``feature_name`` of fit, else the names in ``X``, else"
        " 'Column_0', 'Column_1' and so on.",
    ),
    "booster_": ("Booster", "The trained trees."),
    "objective_": (
        "str, callable or None",
        "The objective: a name or the given function; None if a file has neither.",
    ),
    "n_estimators_": ("int", "Number of rounds of the model."),
    "n_iter_": ("int", "The same number."),
    "best_iteration_": (
        "int",
        "Number of rounds that early stopping has kept; 0 without early stopping.",
    ),
    "best_score_": (
        "dict",
        "Metrics by evaluation set and name, after the best round; without early"
        " stopping, after the last round.",
    ),
    "evals_result_": (
        "dict",
        "Metrics of all rounds by evaluation set and name; empty without evaluation"
        " sets.",
    ),
    "feature_importances_": (
        "ndarray of shape (`n_features_in_`,)",
        "Importances of the columns, of the kind ``importance_type``; not normalised.",
    ),
    "fitted_": ("bool", "Whether the model is fitted; it exists before fit, too."),
}

_OF_FIT = """Fit the model.

Parameters
----------
{parameters}

Returns
-------
self
    The fitted estimator.

Raises
------
ValueError
    If a parameter has an invalid value, or the model cannot be fitted to the data.
    The estimator is not changed.
"""


def filled(doc: str, **lists: Iterable[tuple[str, str, str]]) -> str:
    """Write lists of parameters or attributes in the places marked in a docstring.

    Parameters
    ----------
    doc : str
        It may have the indentation of the source.
    **lists : iterables of (name, type, meaning)
        By mark: ``parameters`` replaces ``{parameters}``.
    """
    doc = inspect.cleandoc(doc)
    for mark, entries in lists.items():
        listed = "\n".join(
            f"{name} : {kind}\n"
            + textwrap.fill(
                meaning, 84, initial_indent="    ", subsequent_indent="    "
            )
            for name, kind, meaning in entries
        )
        doc = doc.replace(f"{{{mark}}}", listed)
    return doc


def of_fit(method: Function) -> Function:
    """Give ``fit`` a docstring that describes the arguments of its signature."""
    method.__doc__ = _OF_FIT
    return _describe(method, FIT)


def of_fit_on_dask(method: Function) -> Function:
    """Give ``fit`` on a cluster a docstring: see `of_fit`."""
    method.__doc__ = _OF_FIT
    return _describe(method, FIT_OF_DASK)


def of_prediction(method: Function) -> Function:
    """Describe the arguments of a prediction in its docstring."""
    return _describe(method, PREDICTION)


def of_booster(**own: tuple[str, str]) -> Callable[[Function], Function]:
    """Describe the arguments of a Booster's method in its docstring.

    Parameters
    ----------
    **own : (type, meaning)
        By name: arguments that `BOOSTER` does not describe, or not in the right words.
    """
    return lambda method: _describe(method, BOOSTER | own)


def of_plot(**own: tuple[str, str]) -> Callable[[Function], Function]:
    """Describe the arguments of a plot in its docstring.

    Parameters
    ----------
    **own : (type, meaning)
        By name: arguments that `PLOT` does not describe, or not in the right words.
    """
    return lambda plot: _describe(plot, PLOT | own)


def _describe(method: Function, meanings: dict[str, tuple[str, str]]) -> Function:
    """Write the arguments of the signature in the place marked in the docstring."""
    doc = method.__doc__ or ""
    method.__doc__ = filled(doc, parameters=_entries(method, meanings))
    return method


def _entries(
    method: Callable[..., Any], meanings: dict[str, tuple[str, str]]
) -> list[tuple[str, str, str]]:
    return [
        ("**kwargs" if name == "kwargs" else name, *meanings[name])
        for name in inspect.signature(method).parameters
        if name != "self"
    ]
