"""Columns of more bins than a byte has codes."""

import numpy as np
import pytest

from skgoss import LGBMRegressor


@pytest.mark.parametrize("objective", ["regression", "poisson"])
def test_small_leaves_beside_a_wide_column(objective):
    """Bins that hold rows are marked there, and looked up instead of searched for."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (4000, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nansum(X, axis=1) + rng.random(4000)
    wide = np.column_stack([X, rng.permutation(4000)])
    options = {"n_estimators": 3, "num_leaves": 500, "min_child_samples": 2}
    options |= {"max_bin": 3000, "min_data_in_bin": 1, "objective": objective}
    alone = LGBMRegressor(**options).fit(X, y)
    beside = LGBMRegressor(**options, feature_contri=[1, 1, 1, 0]).fit(wide, y)
    np.testing.assert_array_equal(beside.predict(wide), alone.predict(X))
