"""A warning where probabilities are worse than the rates of the classes."""

import warnings
from itertools import count

import numpy as np
import pytest
from sklearn.metrics import log_loss

from skgoss import Dataset, LGBMClassifier, LGBMRegressor, train

RNG = np.random.default_rng(0)
N = 3000
X, X_NEW = RNG.normal(size=(2, N, 4))
NOISE, NOISE_NEW = (RNG.random((2, N)) < 0.1).astype(int)
SIGNAL, SIGNAL_NEW = (x[:, 0] > 1 for x in (X, X_NEW))
MESSAGE = "The probabilities are worse than a constant: on "


def told(function, *args, **kwargs):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model = function(*args, **kwargs)
    return model, [str(warning.message) for warning in found]


@pytest.mark.parametrize("weighted", [False, True])
def test_evaluation_sets(weighted):
    weight = RNG.integers(1, 4, N) if weighted else None
    weights = {"sample_weight": weight, "eval_sample_weight": [weight]}
    given = {"eval_set": [(X_NEW, NOISE_NEW)]} | (weights if weighted else {})
    model, messages = told(LGBMClassifier(n_estimators=50).fit, X, NOISE, **given)
    rate = np.average(NOISE, weights=weight)
    constant = log_loss(NOISE_NEW, np.full(N, rate), sample_weight=weight)
    loss = model.best_score_["valid_0"]["binary_logloss"]
    assert loss > constant
    start = f"{MESSAGE}'valid_0', binary_logloss is {loss:.4g}, and {constant:.4g} for"
    assert [message.startswith(start) for message in messages] == [True]


def test_several_classes_and_labels():
    words = np.array(["a", "b", "c"])
    y, new = words[RNG.integers(0, 3, (2, N))]
    model = LGBMClassifier(n_estimators=50)
    _, (message,) = told(model.fit, X, y, eval_set=[(X_NEW, new)])
    rates = [np.mean(y == word) for word in words]
    constant = log_loss(new, np.tile(rates, (N, 1)))
    assert f"{constant:.4g} for the rates" in message


@pytest.mark.parametrize("refit", [False, True])
def test_folds(refit):
    options = {"folds": 4, "early_stopping_round": 0, "refit": refit}
    model = LGBMClassifier(n_estimators=50, **options)
    _, (message,) = told(model.fit, X, NOISE)
    constant = log_loss(NOISE, np.full(N, NOISE.mean()))
    assert message.startswith(f"{MESSAGE}the folds, binary_logloss")
    assert f"and {constant:.4g} for" in message


def test_rows_held_out_and_refit():
    options = {"early_stopping_round": 9, "first_metric_only": True, "refit": True}
    model, rounds = LGBMClassifier(n_estimators=50, **options), count()
    last_is_best = lambda y_true, y_pred: ("rounds", next(rounds), True)  # noqa: E731
    _, messages = told(model.fit, X, NOISE, eval_metric=last_is_best)
    assert [m.startswith(f"{MESSAGE}'validation'") for m in messages] == [True]


@pytest.mark.parametrize("codes", [(0, 1), (-1, 1)])
def test_train(codes):
    y, new = np.array(codes)[[NOISE, NOISE_NEW]]
    sets = {"valid_sets": [Dataset(X_NEW, new)]}
    _, messages = told(train, {"objective": "binary"}, Dataset(X, y), 50, **sets)
    assert [m.startswith(f"{MESSAGE}'valid_0'") for m in messages] == [True]


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": "balanced"},
        {"is_unbalance": True},
        {"scale_pos_weight": 9},
        {"metric": "auc"},
        {"objective": "multiclassova"},
    ],
)
def test_probabilities_that_are_not_tested(options):
    y, new = NOISE, NOISE_NEW
    if options.get("objective"):
        y, new = RNG.integers(0, 3, (2, N))
    model = LGBMClassifier(n_estimators=50, **options)
    _, messages = told(model.fit, X, y, eval_set=[(X_NEW, new)])
    assert messages == []


def test_no_warning():
    model = LGBMClassifier(n_estimators=50)
    sets = [(X_NEW, SIGNAL_NEW)]
    assert told(model.fit, X, SIGNAL, eval_set=sets)[1] == []
    # The loss on training rows says nothing.
    assert told(model.fit, X, NOISE, eval_set=[(X, NOISE)])[1] == []
    both = np.column_stack([NOISE, SIGNAL])
    both_new = np.column_stack([NOISE_NEW, SIGNAL_NEW])
    assert told(model.fit, X, both, eval_set=[(X_NEW, both_new)])[1] == []
    regressor = LGBMRegressor(n_estimators=50)
    assert told(regressor.fit, X, NOISE, eval_set=[(X_NEW, NOISE_NEW)])[1] == []
    start = np.full(N, -2.0)
    started = {"init_score": start, "eval_init_score": [start]}
    assert told(model.fit, X, NOISE, eval_set=[(X_NEW, NOISE_NEW)], **started)[1] == []


def rare(n=4000):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 4))
    return X, (X[:, 0] + random.normal(size=n) > 2.5).astype(int)


@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"folds": 3, "refit": True}])
@pytest.mark.parametrize(
    ("name", "value"), [("is_unbalance", True), ("scale_pos_weight", 25)]
)
def test_weights_of_classes_that_end_a_fit_are_named(name, value, options):
    model = LGBMClassifier(early_stopping_round=5, **{name: value}, **options)
    with pytest.warns(UserWarning, match=f"ended at round 1, because {name}"):
        model.fit(*rare())


def test_other_fits_may_end_early():
    X, y = rare()
    for options in ({"is_unbalance": True, "metric": "auc"}, {"learning_rate": 0.01}):
        model = LGBMClassifier(early_stopping_round=5, **options)
        noise = np.random.default_rng(1).permutation(y)
        for labels in (y, noise):
            _, messages = told(model.fit, X, labels)
            assert not [text for text in messages if "ended at round" in text]


@pytest.mark.parametrize("options", [{}, {"folds": 3}])
def test_fits_of_few_rounds_are_not_said_to_end_early(options):
    X, y = rare()
    model = LGBMClassifier(n_estimators=1, early_stopping_round=5, is_unbalance=True)
    _, messages = told(model.set_params(**options).fit, X, y)
    assert not [text for text in messages if "ended at round" in text]


def test_several_classes_have_no_second_one():
    X, _ = rare()
    y = np.random.default_rng(0).choice(3, len(X), p=[0.02, 0.08, 0.9])
    options = {"objective": "multiclassova", "is_unbalance": True, "folds": 3}
    _, messages = told(LGBMClassifier(early_stopping_round=5, **options).fit, X, y)
    assert not [text for text in messages if "ended at round" in text]
