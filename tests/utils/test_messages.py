"""Messages: once in each call of the user, and with names that help."""

import difflib
import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest

from skgoss import LGBMRegressor
from skgoss.utils import messages

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


def test_of_close_names_those_with_the_same_letters_come_first():
    names = ["forms", "from"]
    assert difflib.get_close_matches("form", names, 1) == ["forms"]
    assert messages.closest("form", names) == ["from"]
    assert messages.closest("form", names, 2) == ["from", "forms"]


@pytest.mark.parametrize("kind", [ValueError, OSError])
def test_errors_name_their_location_once(kind):
    for inner in ("model.txt", "model.txt, line 3"):
        with (
            pytest.raises(kind) as raised,
            messages.errors_at("model.txt"),
            messages.errors_at(inner),
        ):
            raise kind("a number is missing")
        assert str(raised.value) == f"{inner}: a number is missing"
