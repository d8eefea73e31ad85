"""Fits whose rounds callbacks look at."""

from __future__ import annotations

from types import SimpleNamespace

from sklearn.datasets import load_diabetes

from skgoss import LGBMRegressor
from skgoss.fit.callbacks import CallbackEnv, EvalResult

X, Y = load_diabetes(return_X_y=True)
SETS = {"eval_set": [(X, Y), (X[:100], Y[:100])]}


def fit(*callbacks, n_estimators=6, sets=SETS, **options):
    model = LGBMRegressor(n_estimators=n_estimators, **options)
    return model.fit(X, Y, **sets, callbacks=list(callbacks))


def raising(error, *, at=2, before=False):
    def callback(env):
        if env.iteration == at:
            raise error

    callback.before_iteration = before
    return callback


def env(iteration, value, *, n=50, name="valid_0", maximize=False):
    results = [EvalResult(name, "m", value, maximize)]
    model = SimpleNamespace(_training_names=())
    return CallbackEnv(model, {}, iteration, 0, n, results)
