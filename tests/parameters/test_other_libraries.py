"""Names of other libraries lead to ours."""

from __future__ import annotations

import inspect

import pytest
from sklearn.model_selection import GroupKFold, KFold  # noqa: F401

import skgoss
from skgoss import Booster, Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.estimators.base import LGBMModel
from skgoss.objectives import objectives
from skgoss.parameters import name_resolution, other_libraries
from skgoss.parameters.name_resolution import CANONICAL_NAME


def test_names_of_other_libraries_lead_to_ours():
    both = {*other_libraries.FIT_HINTS, *other_libraries.PREDICTION_HINTS}
    assert len(both) > 60
    assert not set(other_libraries.FIT_HINTS) & set(CANONICAL_NAME)
    instead = {
        text[5:-1] for text in other_libraries.FIT_HINTS.values() if "Use" in text
    }
    names = {name for name in instead if name.isidentifier()}
    assert len(names) > 15
    assert names <= set(CANONICAL_NAME)


# What scikit-learn, CatBoost and networks have, and trees do not.
FOREIGN = "C p atol drop func init jitter kernel degree selection direction density"
FOREIGN += " activation threshold classes validate kernel_params n_clusters"


@pytest.mark.parametrize("name", FOREIGN.split())
def test_names_without_a_counterpart_get_no_hint(name):
    assert name_resolution.suggestion(name) == ""


def test_typing_errors_get_a_hint():
    """Names without one of their letters are close to an option, mostly that one."""
    n_wrong = 0
    words = [name for name in name_resolution.CANONICAL_NAME if len(name) > 3]
    for word in words:
        name = word[:2] + word[3:]
        found = name_resolution.suggestion(name)
        assert found or name in name_resolution.CANONICAL_NAME, name
        n_wrong += (
            name_resolution.CANONICAL_NAME.get(found[15:-2])
            != (name_resolution.CANONICAL_NAME[word])
        )
    assert n_wrong < len(words) / 20


def arguments(*functions) -> set[str]:
    """The arguments that all of the functions have."""
    return set.intersection(*(set(inspect.signature(f).parameters) for f in functions))


# What we have, by the table of what we do not have.
OURS = {
    "OBJECTIVES": {*objectives.ALIASES},
    "PACKAGE_HINTS": {*skgoss.__all__},
    "ESTIMATOR_HINTS": {name for name in dir(LGBMModel) if hasattr(LGBMModel, name)},
    "BOOSTER_HINTS": {name for name in dir(Booster) if hasattr(Booster, name)},
    "DATASET_HINTS": {*dir(Dataset)},
    "SEARCH_HINTS": {*skgoss.model_selection.__all__},
}
FUNCTIONS = {
    "fit": [cls.fit for cls in (LGBMClassifier, LGBMRanker, LGBMRegressor)],
    "estimate_memory": [LGBMClassifier.estimate_memory],
    **{
        name: [getattr(skgoss, name)]
        for name in ("train", "cv", "Dataset", "log_evaluation", "early_stopping")
    },
}


@pytest.mark.parametrize("table", OURS)
def test_hints_are_for_names_that_are_not_ours(table):
    names = set(getattr(other_libraries, table))
    assert len(names) > 5
    assert names & OURS[table] == set()


@pytest.mark.parametrize("function", other_libraries.ARGUMENTS)
def test_hints_are_for_arguments_that_are_not_ours(function):
    names = other_libraries.ARGUMENTS[function]
    assert len(names) > 1
    assert names.keys() & arguments(*FUNCTIONS[function]) == set()


def test_hints_name_objectives_of_skgoss():
    assert {*other_libraries.OBJECTIVES.values()} <= {*objectives.OBJECTIVES}
