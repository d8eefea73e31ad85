"""Each instruction set, which is chosen at import, gives identical results."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from skgoss import LGBMClassifier, LGBMRegressor
from skgoss._engine import runtime

TESTS = Path(__file__).parents[1]

OPTIONS = [
    {},
    {"min_child_samples": 1, "max_bin": 9},
    {"max_bin": 17, "reg_alpha": 0.5, "min_split_gain": 0.1},
    {"path_smooth": 2.0, "max_delta_step": 0.4},
    {"reg_lambda": 3.0, "feature_contri": [0.0, 0.5, 1.0, 2.0, 1.0, 1.0, 1.0]},
    # Missing values in the middle of the bins.
    {"zero_as_missing": True, "min_child_samples": 2},
    {"num_leaves": 200, "min_child_samples": 1, "min_child_weight": 0.0},
    {"reg_lambda": 1e12},
]
# Of targets and of weights: what floats reach, and what they do not.
SCALES = [(1e-30, 1.0), (1e20, 1.0), (1.0, 1e-25), (1e-5, 1e12)]


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns of many, few and two values, with gaps, missing values and equal cuts."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 7))
    X[:, 1] = rng.integers(0, 17, n)
    X[:, 2] = rng.integers(0, 9, n)
    X[:, 3] = X[:, 2] > 4
    X[rng.random(n) < 0.05, 4] = np.nan
    X[:, 5] = np.where(X[:, 0] > 1, np.nan, X[:, 1])
    X[:, 6] = np.round(X[:, 0] * 4)
    return X, X[:, 0] + np.sin(X[:, 1]) + X[:, 2] * X[:, 3]


def fingerprint() -> str:
    digest = hashlib.sha256()
    for n in (90, 1200):
        X, y = data(n)
        for options in OPTIONS:
            for estimator, target in (
                (LGBMRegressor, np.round(y)),
                (LGBMClassifier, (y > np.median(y)).astype(int)),
            ):
                model = estimator(n_estimators=5, n_jobs=1, **options)
                digest.update(model.fit(X, target).booster_.model_to_string().encode())
        for of_target, of_weight in SCALES:
            model = LGBMRegressor(n_estimators=5, n_jobs=1, min_child_weight=0.0)
            weight = of_weight * (1 + np.arange(n) % 3 / 3)
            model.fit(X, of_target * y, sample_weight=weight)
            digest.update(model.booster_.model_to_string().encode())
    return digest.hexdigest()


# Modules of tests, and the function that makes a digest of what kernels compute.
DIGESTS = {
    "engine/test_function_kernels.py": "digest",
    "engine/test_instruction_sets.py": "fingerprint",
    "model/test_contributions.py": "digest",
    "model/test_predictions.py": "digest",
    "objectives/test_distributions.py": "digest_of_all",
    "objectives/test_metrics.py": "digest",
    "objectives/test_objectives.py": "fingerprint",
    "objectives/test_ranking.py": "digest",
    "training/test_goss.py": "fingerprint",
}


def digests() -> dict[str, object]:
    """The digests of this process, and the instructions that it uses."""
    found: dict[str, object] = {"used": runtime.simd()}
    for name, function in DIGESTS.items():
        spec = spec_from_file_location("tests_again", TESTS / name)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        found[name] = getattr(module, function)()
    return found


@pytest.fixture(scope="module")
def expected():
    return digests()


@pytest.mark.parametrize("level", ["plain", "AVX2"])
def test_all_instruction_sets_give_identical_models(level, expected):
    variables = {"SKGOSS_SIMD": level.lower(), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, __file__],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        check=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    levels = ["plain", "AVX2", "AVX-512"]
    assert found["used"] == min(level, expected["used"], key=levels.index)
    assert found == expected | {"used": found["used"]}


if __name__ == "__main__":
    print(json.dumps(digests()))
