"""Messages: once in each call of the user."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np

from skgoss import LGBMRegressor

X = np.arange(8.0)[:, None]
Y = X[:, 0]


def n_warnings(calls):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        calls()
    assert {str(one.message)[:11] for one in found} == {"No tree of "}
    return len(found)


def test_each_call_in_a_thread_of_the_user_warns():
    def in_pool():
        with ThreadPool(1) as pool:
            for _ in range(3):
                pool.apply(LGBMRegressor(n_estimators=1).fit, (X, Y))

    def in_executor():
        with ThreadPoolExecutor(1) as executor:
            for _ in range(3):
                executor.submit(LGBMRegressor(n_estimators=1).fit, X, Y).result()

    assert n_warnings(in_pool) == n_warnings(in_executor) == 3


def test_each_call_in_a_loop_warns():
    def in_a_loop():
        for _ in range(3):
            LGBMRegressor(n_estimators=1).fit(X, Y)

    assert n_warnings(in_a_loop) == 3
