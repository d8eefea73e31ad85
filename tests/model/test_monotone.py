"""What monotone constraints mean, in summaries and warnings."""

import warnings

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMRegressor, cv, train
from skgoss.dataset.dataset import Dataset

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(600, 2)), columns=["income", "age"])
SCORE = X["income"] + 0.3 * X["age"] + 0.5 * RNG.normal(size=600)
LABELS = np.where(SCORE > 0, "approved", "rejected")
FEW = {"n_estimators": 5}


def told(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function()
    return [str(warning.message) for warning in found]


def summary(model):
    """The line of the constraints in the summary; None: there is none."""
    after = model._repr_html_().partition("<b>Constraints</b>")[2]
    return after.partition("</td><td")[2].partition(">")[2].partition("<")[0] or None


def test_the_second_label_is_constrained():
    model = LGBMClassifier(monotone_constraints={"income": -1}, **FEW).fit(X, LABELS)
    words = "the probability of rejected never increases with income"
    assert summary(model) == words
    falling = model.predict_proba(X.sort_values("income").assign(age=0.0))[:, 1]
    assert np.all(np.diff(falling) <= 0)
    assert np.ptp(falling) > 0


@pytest.mark.parametrize("folds", [None, 3])
def test_columns_that_no_tree_splits(folds):
    options = {"monotone_constraints": {"income": 1}, "folds": folds, **FEW}
    model = LGBMClassifier(**options)
    (message,) = told(lambda: model.fit(X, LABELS))
    words = (
        "the probability of rejected never decreases with income (no tree splits it)"
    )
    assert summary(model) == words
    assert message == (
        f"monotone_constraints: {words}. If the opposite is meant, change the sign."
    )
    assert told(lambda: model.set_params(verbosity=0).fit(X, LABELS)) == [message]


def test_columns_that_the_opposite_sign_does_not_use():
    data = X.assign(constant=1.0)
    model = LGBMClassifier(monotone_constraints={"constant": 1}, **FEW)
    assert told(lambda: model.fit(data, LABELS)) == []
    (message,) = told(lambda: model.set_params(verbosity=0).fit(data, LABELS))
    assert "never decreases with constant (no tree splits it)" in message


def test_used_columns_give_no_warning():
    options = {"monotone_constraints": [1, 1], "verbosity": 0, **FEW}
    assert told(lambda: LGBMRegressor(**options).fit(X, SCORE)) == []


@pytest.mark.parametrize("function", [train, cv])
def test_train_and_cv_warn(function):
    params = {"monotone_constraints": [-1, 0], "verbosity": 0}
    (message,) = told(lambda: function(params, Dataset(X, SCORE), 5))
    words = "the prediction never increases with income (no tree splits it)"
    assert words in message


@pytest.mark.parametrize(
    ("options", "y", "words"),
    [
        ({}, np.digitize(SCORE, [-0.5, 0.5]), "the raw score of each class"),
        ({"objective": "normal"}, SCORE, "each parameter"),
        ({"objective": "cox"}, np.column_stack([SCORE > 0, SCORE**2]), "the risk"),
        ({}, SCORE, "the prediction"),
    ],
)
def test_what_is_constrained(options, y, words):
    kind = LGBMClassifier if words.endswith("class") else LGBMRegressor
    model = kind(monotone_constraints=[1, 0], **options, **FEW).fit(X, y)
    assert summary(model).startswith(f"{words} never decreases with income")


def test_no_constraints():
    assert summary(LGBMRegressor(**FEW).fit(X, SCORE)) is None
