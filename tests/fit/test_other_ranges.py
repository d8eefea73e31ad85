"""Evaluation sets whose columns have other ranges than in the training set."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from skgoss import LGBMClassifier, LGBMRegressor

MESSAGE = "Most of its values lie outside the training range in"


def regressor():
    return LGBMRegressor(n_estimators=2, n_jobs=1)


def told(X, y, X_valid, y_valid):
    model = LGBMClassifier(n_estimators=30, n_jobs=1)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        model.fit(X, y, eval_set=[(X_valid, y_valid)])
    return [str(warning.message) for warning in found]


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), RobustScaler()])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_iris])
def test_one_of_two_sets_is_scaled(load, scaler):
    X, y = load(return_X_y=True, as_frame=True)
    X, X_valid, y, y_valid = train_test_split(X, y, random_state=0)
    scaler = scaler.set_output(transform="pandas")
    scaled, valid = scaler.fit_transform(X), scaler.transform(X_valid)
    for sets in ((scaled, y, X_valid, y_valid), (X, y, valid, y_valid)):
        (message,) = told(*sets)
        assert "'valid_0'" in message
        assert MESSAGE in message
    assert told(scaled, y, valid, y_valid) == []
    assert told(X, y, X_valid, y_valid) == []


def test_evaluation_sets_after_the_training_rows_do_not_warn():
    """Their columns drift, and some are outside of the range, but not far away."""
    time, noise = np.arange(600), np.random.default_rng(0).normal(size=(600, 4))
    trend = time + 20 * noise[:, 0]
    series = {
        "time": time,
        **{f"lag_{k}": np.roll(trend, k) for k in (1, 2, 3)},
        **{f"noise_{k}": noise[:, k] for k in range(4)},
        "one_hot": time % 2,
        "far": 50.0 * (time > 400) + noise[:, 0],
        "missing": np.where(time > 400, np.nan, time),
    }
    late = pd.DataFrame(series)[3:]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (late, late.to_numpy(), late.drop(columns="time")):
            for split in (300, 400, 500, 590):
                valid = table[split:], trend[3:][split:]
                regressor().fit(table[:split], trend[3:][:split], eval_set=[valid])
        # Counts, one-hot columns and single rows have no range to compare.
        few = np.column_stack([time % 5, time % 3, time % 2]) * 1.0
        regressor().fit(
            few[:300], trend[:300], eval_set=[(few[300:] + 99, few[300:, 0])]
        )
        regressor().fit(noise, trend, eval_set=[(noise[:5] + 99, trend[:5])])
