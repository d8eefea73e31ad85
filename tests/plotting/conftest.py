import sys

import pytest

from skgoss import LGBMRegressor


@pytest.fixture(autouse=True)
def _closed():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="module")
def model():
    from helpers.plots import table

    X, y = table()
    return LGBMRegressor(n_estimators=2).fit(X, y)
