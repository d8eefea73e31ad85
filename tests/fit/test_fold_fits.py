"""Fits of the folds side by side."""

import threading

import numpy as np
import pytest
from folds import DATA, FOLDS, fit, numbers, twins

import skgoss
from skgoss import Dataset
from skgoss.fit import fold_fits


@pytest.mark.parametrize("task", DATA)
def test_first_rounds_are_those_of_all_folds(task):
    model, (X, _) = fit(task), DATA[task][1]()
    first = [
        twin.predict(X, raw_score=True, num_iteration=1) for twin, _ in twins(task)
    ]
    np.testing.assert_allclose(
        model.predict(X, raw_score=True, num_iteration=FOLDS), np.mean(first, axis=0)
    )


@pytest.mark.parametrize("task", DATA)
def test_threads_do_not_change_a_bit(task):
    X = DATA[task][1]()[0]
    one, two, three = (fit(task, folds=FOLDS, n_jobs=n) for n in (1, 2, 3))
    for other in (two, three):
        np.testing.assert_array_equal(one.oof_prediction_, other.oof_prediction_)
        np.testing.assert_array_equal(
            one.predict(X, raw_score=True), other.predict(X, raw_score=True)
        )


@pytest.mark.parametrize(
    "options",
    [
        {"folds": 3},
        {"folds": 3, "refit": True},
        {"early_stopping_round": 3},
        {"early_stopping_round": 3, "refit": True},
    ],
)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_objectives_of_train_get_the_rows_that_are_learned(options, is_weighted):
    X, y = numbers()
    weight = np.ones(len(y))
    weight[::5] = 0

    def squared(predictions, rows):
        assert len(predictions) == len(rows.get_label()) == rows.num_data()
        assert rows.get_weight() is None or rows.get_weight().all()
        return predictions - rows.get_label(), np.ones(len(predictions))

    models = []
    for objective in ("regression", squared):
        params = {"objective": objective, "metric": "l2", "boost_from_average": False}
        rows = Dataset(X, y, weight=weight if is_weighted else None)
        models.append(skgoss.train({**params, **options, "verbosity": -1}, rows, 8))
    expected, found = (model.predict(X) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_functions_of_users_are_never_called_by_two_threads():
    inside, seen = threading.Lock(), set()

    def squared(y, predictions):
        assert inside.acquire(blocking=False)
        seen.add(threading.get_ident())
        inside.release()
        return predictions - y, np.ones_like(y)

    fit(objective=squared, metric="l2", n_jobs=4)
    assert seen == {threading.get_ident()}


def test_an_error_in_one_fold_ends_the_others():
    ended, started = [], threading.Event()

    def wrong(is_cancelled):
        started.wait()
        raise ValueError("this fold")

    def endless(is_cancelled):
        started.set()
        while not is_cancelled():
            pass
        ended.append(1)

    with pytest.raises(ValueError, match=r"this fold"):
        fold_fits.side_by_side([endless, wrong, endless], 2)
    # The last one may begin before the error is known, and then it ends as well.
    assert ended in ([1], [1, 1])
