"""Docstrings whose lists of parameters are written from tables."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable
from typing import Any

# What the arguments of fit mean: the type, and a sentence.
FIT = {
    "X": (
        "array-like or data frame of shape (n_samples, n_features)",
        "Numbers and, in data frames, categories; NaN means missing.",
    ),
    "y": (
        "array-like of shape (n_samples,)",
        "The target: numbers; labels of any kind for a classifier; grades of documents,"
        " whole numbers from 0 on, for a ranker.",
    ),
    "sample_weight": (
        "array-like of shape (n_samples,), default=None",
        "How many times each row counts. A row of weight 0 is an absent row.",
    ),
    "init_score": (
        "array-like of shape (n_samples,) or (n_samples, n_classes), default=None",
        "Raw scores to start from, instead of the best constant. They are no part of"
        " the model: predictions do not contain them.",
    ),
    "group": (
        "array-like of shape (n_queries,), default=None",
        "The sizes of the queries, whose rows stand together in this order.",
    ),
    "qid": (
        "array-like of shape (n_samples,), default=None",
        "A mark of the query of each row, of any kind and in any order. Neither ``qid``"
        " nor ``group``: all rows are documents of one query.",
    ),
    "eval_set": (
        "list of (X, y) pairs, default=None",
        "Evaluation sets, whose metrics are computed after every round; other words for"
        " ``eval_X`` and ``eval_y``. A pair of the same objects as ``X`` and ``y`` is"
        " the training set, named 'training'; others are 'valid_0' and so on.",
    ),
    "eval_names": (
        "list of str, default=None",
        "Other names of the evaluation sets.",
    ),
    "eval_sample_weight": (
        "list of array-like, default=None",
        "The weights of each evaluation set.",
    ),
    "eval_class_weight": (
        "list of dict or 'balanced', default=None",
        "The class weights of each evaluation set.",
    ),
    "eval_init_score": (
        "list of array-like, default=None",
        "The start scores of each evaluation set.",
    ),
    "eval_group": (
        "list of array-like, default=None",
        "The sizes of the queries of each evaluation set.",
    ),
    "eval_qid": (
        "list of array-like, default=None",
        "The marks of queries of each evaluation set.",
    ),
    "eval_metric": (
        "str, callable or list of them, default=None",
        "Metrics beside those of the option ``metric``, by name or as functions"
        " ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or ``f(y_true, y_pred,"
        " weight, group)`` that return ``(name, value, is_higher_better)`` or a list of"
        " such; ``y_pred`` are predictions, or raw scores where the objective is a"
        " function.",
    ),
    "eval_at": (
        "int or list of int, default=None",
        "How many documents 'ndcg' and 'map' look at, instead of the constructor's.",
    ),
    "feature_name": (
        "'auto' or list of str, default='auto'",
        "The names in ``feature_name_``; 'auto': those of ``X``.",
    ),
    "categorical_feature": (
        "'auto', None or list of str and int, default='auto'",
        "The columns that hold categories, instead of the constructor's; 'auto' leaves"
        " the choice to the constructor's.",
    ),
    "callbacks": (
        "list of callable, default=None",
        "Called before or after each round: see ``skgoss.callbacks``.",
    ),
    "init_model": (
        "estimator of skgoss, default=None",
        "A fitted model whose trees come first; boosting goes on from them.",
    ),
    "eval_X": (
        "array-like or data frame, or a tuple of them, default=None",
        "The columns of one evaluation set, or of each.",
    ),
    "eval_y": (
        "array-like, or a tuple of them, default=None",
        "The targets of one evaluation set, or of each.",
    ),
    "early_stopping_rounds": (
        "int, default=None",
        "Instead of the option ``early_stopping_round``, as before LightGBM 4.",
    ),
    "verbose": (
        "bool or int, default=False",
        "Whether the metrics of every round are told, or of every so many, as before"
        " LightGBM 4.",
    ),
}

# What the arguments of predictions mean.
PREDICTION = {
    "X": (
        "array-like or data frame of shape (n_samples, n_features)",
        "With the columns of ``fit``, in the same order.",
    ),
    "raw_score": (
        "bool, default=False",
        "Whether to return the sums of the trees' values as they are.",
    ),
    "start_iteration": ("int, default=0", "The first round to use."),
    "num_iteration": (
        "int, default=None",
        "The number of rounds to use; None or <= 0: all that follow.",
    ),
    "pred_leaf": (
        "bool, default=False",
        "Whether to return the number of the leaf that each tree sorts a row into.",
    ),
    "validate_features": (
        "bool, default=False",
        "Accepted for scripts that carry it; names are always checked.",
    ),
    "kwargs": (
        "dict",
        "``n_jobs``, or another name of it: the number of threads, instead of the"
        " estimator's own.",
    ),
}

_OF_FIT = """Grow the trees.

Parameters
----------
{parameters}

Returns
-------
self

Raises
------
ValueError
    If a parameter is outside its domain, or the data cannot be learned from. The
    estimator stays as it was.
"""


def filled(doc: str, entries: Iterable[tuple[str, str, str]]) -> str:
    """Put a list of parameters in the place of ``{parameters}``.

    Parameters
    ----------
    doc : str
        With the indentation of its source or without.
    entries : iterable of (name, type, meaning)
    """
    listed = "\n".join(
        f"{name} : {kind}\n"
        + textwrap.fill(meaning, 84, initial_indent="    ", subsequent_indent="    ")
        for name, kind, meaning in entries
    )
    return inspect.cleandoc(doc).replace("{parameters}", listed)


def of_fit(method: Callable[..., Any]) -> Callable[..., Any]:
    """Write the docstring of a fit from its signature."""
    method.__doc__ = filled(_OF_FIT, _entries(method, FIT))
    return method


def of_prediction(method: Callable[..., Any]) -> Callable[..., Any]:
    """Complete the docstring of a prediction from its signature."""
    method.__doc__ = filled(method.__doc__ or "", _entries(method, PREDICTION))
    return method


def _entries(
    method: Callable[..., Any], meanings: dict[str, tuple[str, str]]
) -> list[tuple[str, str, str]]:
    return [
        ("**kwargs" if name == "kwargs" else name, *meanings[name])
        for name in inspect.signature(method).parameters
        if name != "self"
    ]
