"""Ways to save an estimator and to load it."""

from __future__ import annotations

import copy
import io
import pickle

import joblib
import pytest


def skops_io():
    return pytest.importorskip("skops.io")


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_skops(model):
    skops = skops_io()
    trusted = [f"{type(model).__module__}.{type(model).__name__}"]
    return skops.loads(skops.dumps(model), trusted=trusted)


WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": by_joblib,
    "skops": by_skops,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
