"""Every argument of a method that predicts, for every objective.

It has an effect, or is refused by its name, or there is one warning.
"""

from __future__ import annotations

import functools
import inspect
import warnings

import numpy as np
import pytest

from helpers.families import FAMILIES, X, by_kind, fitted
from skgoss import Booster, UnusedParameterWarning
from skgoss.parameters.options import ARGUMENTS

BEGINNINGS = ("predict", "staged_", "explain", "decision_function", "score")
N_ROWS = 24
# The rows, and what else methods need.
NEEDED = {"X", "data", "y", "times"}
# A value that is not the default of each argument.
VALUES = {
    "raw_score": True,
    "start_iteration": 1,
    "num_iteration": 1,
    "pred_leaf": True,
    "pred_contrib": True,
    "pred_interactions": True,
    "validate_features": True,
    "data_has_header": True,
    "coverage": 0.5,
    "method": "cv+",
    "q": 0.2,
    "strata": np.ones(N_ROWS),
    "interactions": True,
    "include_computed": True,
    "sample_weight": np.arange(1.0, N_ROWS + 1),
    "qid": np.arange(N_ROWS) // 8,
    "group": [N_ROWS // 2] * 2,
    "times": [0.3],
    # Of the others, these may be passed to every prediction.
    "n_jobs": 2,
    "num_iterations": 1,
}
# Arguments that need not change a result.
WITHOUT_CHANGE = {
    "validate_features": "the names of columns are those of fit",
    "n_jobs": "results do not depend on threads",
}


def methods_of(cls):
    """The methods that predict, by name."""
    return {
        name: method
        for name, method in inspect.getmembers(cls, callable)
        if name.startswith(BEGINNINGS)
    }


CLASSES = {family.estimator for family in FAMILIES.values()} | {Booster}
NAMES = {
    argument
    for cls in CLASSES
    for method in methods_of(cls).values()
    for argument in inspect.signature(method).parameters
} - {"self", "kwargs"}


def test_the_tables_have_every_argument():
    assert NAMES - NEEDED - {"to_parquet"} <= VALUES.keys()
    of_score = {"sample_weight", "qid", "group"}
    assert NAMES - {"X", "data", "y"} - of_score == ARGUMENTS.keys()


@functools.cache
def model_of(name):
    family = FAMILIES[name]
    options = {"n_estimators": 4, "min_child_samples": 5}
    if not callable(family.options.get("objective")):
        options |= {"folds": 2, "early_stopping_round": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(family, **options)


def plain(result):
    """A result as arrays, or a list of them."""
    if inspect.isgenerator(result) or isinstance(result, list):
        return [plain(part) for part in result]
    if hasattr(result, "ppf"):
        return np.stack([result.ppf(0.3), result.mean()])
    return np.asarray(getattr(result, "values", result))


def outcome(call, **arguments):
    """What a call returns, its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            return plain(call(**arguments)), None, caught
        except (TypeError, ValueError, AttributeError, ImportError) as error:
            return None, error, caught


def are_alike(one, other):
    if isinstance(one, list):
        return len(one) == len(other) and all(map(are_alike, one, other))
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def call_of(family, model, method):
    """A method with the arguments that it needs."""
    values = {"X": X[:N_ROWS], "data": X[:N_ROWS], "y": family.y[:N_ROWS]}
    values |= {"times": [0.5, 1.0], **{k: v[:N_ROWS] for k, v in family.fit.items()}}
    function = getattr(model, method)
    taken = inspect.signature(function).parameters
    return functools.partial(function, **{k: values[k] for k in values if k in taken})


def need_not_change(fitted_model, method, argument):
    """Whether a result may be as it is without the argument."""
    link, objective = fitted_model.link.kind, fitted_model.objective
    if argument == "raw_score":
        return link == "identity" or callable(objective)
    has_labels = fitted_model.classes is not None and method == "predict"
    is_span = argument in ("start_iteration", "num_iteration")
    return argument in WITHOUT_CHANGE or (is_span and has_labels)


def problem(call, argument, value, usual, may_be_equal):
    """What is wrong with a call with an argument; None if nothing is."""
    base, _, expected = usual
    found, error, caught = outcome(call, **{argument: value})
    if error is not None:
        return None if argument in str(error) else repr(error)
    known = {str(warning.message) for warning in expected}
    told = [warning for warning in caught if str(warning.message) not in known]
    if told:
        is_one = len(told) == 1 and told[0].category is UnusedParameterWarning
        is_named = is_one and argument in str(told[0].message)
        return None if is_named and are_alike(found, base) else str(told)
    return None if may_be_equal or not are_alike(found, base) else "no effect"


@pytest.mark.parametrize("name", by_kind())
def test_an_argument_has_an_effect_or_is_named(name, tmp_path):
    estimator, path = model_of(name), tmp_path / "predictions.parquet"
    wrong, n_calls = {}, 0
    for model in (estimator, estimator.booster_):
        for method in methods_of(type(model)):
            if not hasattr(model, method):
                continue
            call = call_of(FAMILIES[name], model, method)
            usual = outcome(call)
            if usual[1] is not None:  # it is not of this objective
                continue
            for argument, value in {**VALUES, "to_parquet": path}.items():
                may_be_equal = need_not_change(model._model, method, argument)
                found = problem(call, argument, value, usual, may_be_equal)
                if found:
                    wrong[type(model).__name__, method, argument] = found
                n_calls += 1
            is_taken = "to_parquet" in inspect.signature(call).parameters
            assert path.exists() == is_taken, method
            path.unlink(missing_ok=True)
    assert wrong == {}
    assert n_calls >= 4 * len(VALUES)
