"""Docstrings with parameters that several methods share: each is described once."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

# The arguments of fit: type and meaning.
FIT = {
    "X": (
        "array-like or data frame of shape (n_samples, n_features)",
        "The training data: numbers, and in data frames also categories. NaN is a"
        " missing value.",
    ),
    "y": (
        "array-like of shape (n_samples,)",
        "The target: numbers for a regressor, labels of any kind for a classifier, the"
        " grades of documents (0, 1, 2, ...) for a ranker.",
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
        "list of (X, y) pairs, default=None",
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
        "estimator of skgoss, default=None",
        "A fitted model. Boosting continues from its trees, which become part of the"
        " new model. The columns and their names, the categories and the classes are"
        " those of the fitted model; ``X`` must have the same columns.",
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
    "validate_features": (
        "bool, default=False",
        "Has no effect: names are always checked.",
    ),
    "kwargs": (
        "dict",
        "``n_jobs``, or another name of it, replaces the parameter ``n_jobs``. Other"
        " parameters of LightGBM have no effect; unknown names give an"
        " ``UnusedParameterWarning``.",
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
        "ndarray of shape (n_features_in_,)",
        "Names of the columns of ``X``. Only if all names are strings.",
    ),
    "feature_name_": (
        "list of str",
        "Names of the columns: ``feature_name`` of fit, else the names in ``X``, else"
        " 'Column_0', 'Column_1' and so on.",
    ),
    "booster_": ("Booster", "The trained trees."),
    "objective_": ("str or callable", "The objective: a name or the given function."),
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
        "ndarray of shape (n_features_in_,)",
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


def of_fit(method: Callable[..., Any]) -> Callable[..., Any]:
    """Give ``fit`` a docstring that describes the arguments of its signature."""
    method.__doc__ = filled(_OF_FIT, parameters=_entries(method, FIT))
    return method


def of_prediction(method: Callable[..., Any]) -> Callable[..., Any]:
    """Describe the arguments of a prediction in its docstring."""
    doc = method.__doc__ or ""
    method.__doc__ = filled(doc, parameters=_entries(method, PREDICTION))
    return method


def _entries(
    method: Callable[..., Any], meanings: dict[str, tuple[str, str]]
) -> list[tuple[str, str, str]]:
    return [
        ("**kwargs" if name == "kwargs" else name, *meanings[name])
        for name in inspect.signature(method).parameters
        if name != "self"
    ]
