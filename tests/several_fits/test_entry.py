"""What makes the model of a fit: one fit, those of folds, or a search."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from skgoss import LGBMRegressor
from skgoss.fit.arguments import FitArguments, input_sets
from skgoss.fit.fit import Fit
from skgoss.several_fits.folds import FoldFits
from skgoss.several_fits.preset_search import PresetSearch

X = np.random.default_rng(0).normal(size=(90, 3))
Y = X[:, 0]
OTHERS = [(X + 1, Y)]


def prepared(given=None, **options):
    """What makes the model, and the number of rounds that it begins with."""
    model, given = LGBMRegressor(**options), given or FitArguments()
    settings = model._settings(X, given)
    return model._prepare(input_sets(X, Y, given, settings), given, settings)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, Fit),
        ({"early_stopping_round": 2}, Fit),
        ({"folds": 3}, FoldFits),
        ({"folds": 3, "refit": True}, FoldFits),
        ({"preset": "accurate"}, PresetSearch),
        ({"preset": "accurate", "folds": 3}, PresetSearch),
        # The user says how many rounds there are, so there is nothing to search.
        ({"preset": "accurate", "n_estimators": 9}, Fit),
        ({"preset": "accurate", "folds": 3, "early_stopping_round": 2}, FoldFits),
    ],
)
def test_options_decide_what_makes_the_model(options, kind):
    fit = prepared(**options)
    assert type(fit) is kind
    assert fit.has_folds == ("folds" in options)


def test_a_preset_of_folds_makes_one_fit_of_few_rows():
    model, given = LGBMRegressor(preset="best", n_estimators=9), FitArguments()
    settings = model._settings(X, given)
    sets = input_sets(X[:1], Y[:1], given, settings)
    fit = model._prepare(sets, given, settings)
    assert not fit.has_folds
    assert fit.prepared.data.settings.folds is None


def test_what_is_prepared_never_changes():
    fit = prepared(n_estimators=3)
    before = fit.prepared
    with pytest.raises(FrozenInstanceError):
        before.data = None
    with pytest.raises(FrozenInstanceError):
        before.data.settings = None
    other = before.with_options({"num_leaves": 5})
    assert (before.data.settings.num_leaves, other.data.settings.num_leaves) == (31, 5)
    assert other.setup.settings.num_leaves == 5
    assert before.with_options({}) is before
    model = fit.model(lambda fit: pytest.fail("there is no callback"))
    assert fit.prepared is before
    assert model.n_rounds == fit.n_rounds == 3


def test_rounds_are_all_that_a_round_changes():
    fit = prepared()
    kept = {name: value for name, value in vars(fit).items()}
    assert fit.boost()
    assert {k for k, v in vars(fit).items() if v is not kept[k]} == set()
    assert fit.n_rounds == 1
