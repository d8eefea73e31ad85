"""Folds: who draws them, what they keep together, and what they keep apart."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    ShuffleSplit,
    TimeSeriesSplit,
)

import skgoss
from helpers.cv_results import cv, ranked, rows, same
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.fit import held_out, splits
from skgoss.several_fits.folds import Folds


def seen_folds(data, **arguments):
    """The labels that each fold tests on; labels are row numbers."""
    tested = []

    def feval(predictions, dataset):
        tested.append(dataset.get_label().tolist())
        return "none", 0.0, True

    skgoss.cv({"objective": "l2", "metric": "None"}, data, 1, feval=feval, **arguments)
    return tested


@pytest.mark.parametrize(
    "splitter",
    [
        KFold(3),
        ShuffleSplit(2, random_state=0),
        TimeSeriesSplit(3),
        list(KFold(4).split(np.zeros(50))),
        [(np.arange(50) < 30, np.arange(50) >= 30)],
        [(list(range(30)), [49, 40, 45])],
    ],
)
def test_folds_of_splitters_and_pairs(splitter):
    X, y = rows(50)[0], np.arange(50.0)
    if hasattr(splitter, "split"):
        expected = [test for _, test in splitter.split(X)]
    else:
        splitter = list(splitter)
        expected = [np.arange(50)[test] for _, test in splitter]
    tested = seen_folds(
        Dataset(X, y), folds=iter(splitter) if isinstance(splitter, list) else splitter
    )
    assert tested == [sorted(test) for test in expected]


def test_queries_stay_together():
    X, _, sizes = ranked()
    number = np.repeat(np.arange(len(sizes)), sizes)
    data = Dataset(X, np.arange(float(len(X))), group=sizes)
    expected = [list(test) for _, test in GroupKFold(5).split(X, groups=number)]
    assert seen_folds(data) == expected
    assert seen_folds(data, folds=GroupKFold(5)) == expected


@pytest.mark.parametrize("objective", ["binary", "regression", None])
def test_classes_are_stratified(objective):
    X, y = rows(100)
    y = (np.arange(100) < 20).astype(float)
    shares = []

    def feval(predictions, dataset):
        shares.append(dataset.get_label().mean())
        return "none", 0.0, True

    params = {"objective": objective, "metric": "None", "min_child_samples": 1}
    cv(params, (X, y), 1, feval=feval)
    assert shares == [0.2] * 5
    shares.clear()
    cv(params, (X, y), 1, feval=feval, stratified=False)
    assert len(set(shares)) > 1


def test_folds_are_the_same_for_a_seed():
    same(cv(seed=1), cv(seed=1))
    first, other = cv(seed=1), cv(seed=2)
    assert first["valid binary_logloss-mean"] != other["valid binary_logloss-mean"]


@pytest.mark.parametrize("stratify", [False, True])
@pytest.mark.parametrize(("n", "n_folds"), [(2, 2), (7, 2), (30, 7), (31, 31)])
def test_rows_are_tested_once_and_folds_are_of_equal_size(n, n_folds, stratify):
    target = np.random.default_rng(n).integers(0, 3, n) * 1.0
    options = {"stratify": stratify, "seed": 4}
    pairs = splits.of_equal_size(n_folds, target, None, **options)
    every = np.arange(n)
    for train, test in pairs:
        np.testing.assert_array_equal(train, np.setdiff1d(every, test))
    np.testing.assert_array_equal(np.sort(np.concatenate([t for _, t in pairs])), every)
    for label in np.unique(target) if stratify else [None]:
        counted = every if label is None else np.flatnonzero(target == label)
        sizes = [np.isin(test, counted).sum() for _, test in pairs]
        assert max(sizes) - min(sizes) <= 1
    other = splits.of_equal_size(n_folds, target, None, stratify=stratify, seed=5)
    if n > 2:
        assert any(
            list(a) != list(b) for (_, a), (_, b) in zip(pairs, other, strict=True)
        )


@pytest.mark.parametrize("n_rows", [1, 5, 11, 12])
def test_samples_of_rows(n_rows):
    at = np.arange(0, 36, 3)
    found = splits.sample(at, None, n_rows, 3)
    assert len(set(found)) == n_rows
    assert set(found) <= set(at)
    np.testing.assert_array_equal(found, np.sort(found))
    if n_rows == 5:
        assert list(found) != list(splits.sample(at, None, n_rows, 4))


@pytest.mark.parametrize("n_rows", [1, 5, 9, 10, 30, 39])
def test_samples_of_groups_are_as_many_as_fit(n_rows):
    groups = np.repeat(np.arange(16), 5)
    at = np.flatnonzero(groups % 2)  # eight groups
    drawn = set()
    for seed in range(20):
        found = splits.sample(at, groups, n_rows, seed)
        chosen = set(groups[found])
        drawn |= chosen
        np.testing.assert_array_equal(found, at[np.isin(groups[at], list(chosen))])
        assert len(chosen) == max(1, n_rows // 5)
    assert len(drawn) > 4


@pytest.mark.parametrize(
    ("groups", "stratify", "most", "words"),
    [
        (None, False, 6, " rows,"),
        (None, True, 4, " rows of a class,"),
        ([0, 0, 1, 1, 2, 2], True, 3, " sets,"),
    ],
)
def test_as_many_folds_as_there_are_rows_of_a_class_or_groups(
    groups, stratify, most, words
):
    target = np.array([0.0, 0, 0, 0, 1, 1])
    groups = None if groups is None else np.array(groups)
    options = {"argument": "cv", "owner": "X", "things": "sets", "stratify": stratify}
    assert splits.most(target, groups, stratify=stratify)[0] == most
    splits.check_number(most, target, groups, **options)
    message = rf"cv={most + 1} needs at least {most + 1} .*but X has {most} \("
    with pytest.raises(ValueError, match=message) as caught:
        splits.check_number(most + 1, target, groups, **options)
    assert words in str(caught.value)
    # Of fewer rows than folds, it is the rows that are too few.
    if stratify and groups is None:
        with pytest.raises(ValueError, match="at least 7 rows, but X has 6"):
            splits.check_number(7, target, groups, **options)
    for wrong in (1, 0, 2.0, "2"):
        with pytest.raises(ValueError, match="cv must be an int of at least 2, got"):
            splits.check_number(wrong, target, groups, **options)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "cv must hold at least one pair of row numbers"),
        ([([0], [6])], r"cv must hold pairs .*; fold 0: test must .* from 0 to 5"),
        ([([0], [1]), ([9], [1])], r"fold 1: train must .* from 0 to 5"),
        ([([0], [1]), 7], r"cv must hold pairs .*; fold 1: "),
        (KFold, "cv is the class KFold: pass an object"),
        (KFold(7), r"cv=KFold\(.* cannot split the 6 rows: "),
        (GroupKFold(2), r"cannot split the 6 rows: .* Pass the argument groups\."),
    ],
)
def test_what_are_not_folds(given, message):
    with pytest.raises(ValueError, match=message):
        splits.pairs(given, np.arange(6.0), None, "cv")


def test_row_numbers_of_pairs_are_ascending():
    mask = np.arange(6) % 2 == 0
    ((train, test), other) = splits.pairs(
        [([5, 1, 3], [4, 0]), (mask, ~mask)], np.arange(6.0), None, "cv"
    )
    assert (train.tolist(), test.tolist()) == ([1, 3, 5], [0, 4])
    assert [part.tolist() for part in other] == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize("n_times", [1, 2, 3, 4])
def test_a_time_more_than_folds(n_times):
    time = np.arange(12) % n_times
    if n_times > 3:
        assert len(splits.by_time(3, time, None, "cv")) == 3
        return
    message = f"cv needs at least 4 different times, but there are {n_times} "
    with pytest.raises(ValueError, match=message):
        splits.by_time(3, time, None, "cv")


# --- By time, and by time and groups --------------------------------------------------


def naive_windows(n_folds, time, first=0.5):
    """The rows that folds learn from and test on: a loop over cuts between times."""
    times = sorted(set(time))
    starts = [0]
    for fold in range(n_folds):
        wanted = round((first + (1 - first) * fold / n_folds) * len(time))
        cut = starts[-1] + 1
        while cut < len(times) - 1 and sum(time < times[cut]) < wanted:
            cut += 1
        starts.append(cut)
    for fold in range(n_folds + 1):  # later folds need times, too
        starts[fold] = min(starts[fold], len(times) - n_folds + fold - 1)
    starts = [times[start] for start in starts[1:]]
    ends = [*starts[1:], np.inf]
    return [
        (
            [row for row, t in enumerate(time) if t < start],
            [row for row, t in enumerate(time) if start <= t < end],
        )
        for start, end in zip(starts, ends, strict=True)
    ]


def drawn(seed):
    """Times with ties, of one or several rows, and a number of folds for them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 90))
    time = rng.integers(0, rng.integers(2, 40), n) ** 2
    time[:2] = -1, 40
    n_folds = int(rng.integers(1, min(7, len(set(time)))))
    return rng, time, n_folds, min(0.5, float(rng.random()) + 0.05)


@pytest.mark.parametrize("seed", range(60))
def test_windows_are_those_of_a_loop(seed):
    _, time, n_folds, first = drawn(seed)
    found = splits.by_time(n_folds, time, None, "folds", first)
    expected = naive_windows(n_folds, time, first)
    assert [(list(a), list(b)) for a, b in found] == expected


@pytest.mark.parametrize("seed", range(60))
def test_no_row_of_the_future_and_no_member_of_the_group(seed):
    rng, time, n_folds, first = drawn(seed)
    groups = rng.integers(0, rng.integers(2, 30), len(time)).astype(str)
    whole = splits.by_time(n_folds, time, None, "folds", first)
    try:
        found = splits.by_time(n_folds, time, groups, "folds", first)
    except ValueError:
        # One side of a cut has one group, or the other has two.
        assert any(
            set(groups[before]) & set(groups[after])
            and min(len(set(groups[before])), len(set(groups[after]))) <= 2
            for before, after in whole
        )
        return
    for (train, test), (before, after) in zip(found, whole, strict=True):
        assert len(train)
        assert len(test)
        assert time[train].max() < time[test].min()
        assert not set(groups[train]) & set(groups[test])
        assert set(train) <= set(before)
        assert set(test) <= set(after)
        # Nothing is left out but members of groups that are on both sides.
        both = set(groups[before]) & set(groups[after])
        left_out = set(before) - set(train) | set(after) - set(test)
        assert set(groups[sorted(left_out)]) <= both
        for group in both:
            rows = np.flatnonzero(groups == group)
            assert np.isin(rows, train).any() != np.isin(rows, test).any()


def test_each_group_of_all_times_is_tested_once():
    time, groups = np.divmod(np.arange(600), 30)
    tested = [groups[test] for _, test in splits.by_time(3, time, groups, "folds")]
    assert sorted(np.concatenate([*map(np.unique, tested)])) == list(range(30))


# --- Times in fits --------------------------------------------------------------------

N = 240
RNG = np.random.default_rng(7)
COLUMNS = RNG.normal(size=(N, 5))
TARGET = COLUMNS[:, 0] + RNG.normal(size=N)
TIME = RNG.permutation(N) // 3
SMALL = {"n_estimators": 25, "num_leaves": 7, "min_child_samples": 5}
LATER = [tuple(map(np.array, pair)) for pair in naive_windows(3, TIME)]
((EARLY, LATE),) = naive_windows(1, TIME, 0.9)


@pytest.mark.parametrize("options", [{}, {"refit": True}, {"preset": "accurate"}])
def test_fits_on_folds_by_time(options):
    options = SMALL | options
    model = LGBMRegressor(**options, folds=3).fit(COLUMNS, TARGET, time=TIME)
    same = LGBMRegressor(**options, folds=LATER).fit(COLUMNS, TARGET)
    np.testing.assert_array_equal(model.predict(COLUMNS), same.predict(COLUMNS))
    np.testing.assert_array_equal(model.oof_prediction_, same.oof_prediction_)
    ends = model.predict_interval(COLUMNS), same.predict_interval(COLUMNS)
    np.testing.assert_array_equal(*ends)
    assert model.preset_params_ == same.preset_params_
    tested = np.concatenate([test for _, test in LATER])
    assert set(np.flatnonzero(~np.isnan(model.oof_prediction_))) == set(tested)


@pytest.mark.parametrize("refit", [False, True])
def test_early_stopping_holds_out_the_latest_rows(refit):
    options = SMALL | {"early_stopping_round": 3, "n_estimators": 200}
    model = LGBMRegressor(**options, refit=refit).fit(COLUMNS, TARGET, time=TIME)
    same = LGBMRegressor(**options).fit(
        COLUMNS[EARLY], TARGET[EARLY], eval_set=[(COLUMNS[LATE], TARGET[LATE])]
    )
    assert model.best_iteration_ == same.best_iteration_ < 200
    assert model.evals_result_["validation"] == same.evals_result_["valid_0"]
    if not refit:
        np.testing.assert_array_equal(model.predict(COLUMNS), same.predict(COLUMNS))


CHOICES = {
    "folds": {"folds": 4},
    "preset": {"preset": "accurate"},
    "preset, folds": {"preset": "accurate", "folds": 3, "n_estimators": 20},
    "early stopping": {"early_stopping_round": 2},
    "rare rows": {"early_stopping_round": 2, "validation_fraction": 0.01},
}
GROUP = RNG.integers(0, 40, N)


@pytest.mark.parametrize("marks", ["time", "groups", "time groups"])
@pytest.mark.parametrize("choice", CHOICES)
def test_whatever_is_chosen_is_chosen_on_other_rows(monkeypatch, choice, marks):
    """Sixty rows have no weight, and are left out where there are no folds."""
    seen = []
    rows_of_fold, split = Folds.learned_and_tested, held_out.split

    def learned_and_tested(folds, number):
        numbers = folds.rows.numbers
        numbers = np.arange(N) if numbers is None else numbers
        seen.append(tuple(numbers[side] for side in folds.pairs[number]))
        return rows_of_fold(folds, number)

    def split_once(data):
        data, sets = split(data)
        seen.extend((data.fitted.numbers, named.rows.numbers) for named in sets)
        return data, sets

    monkeypatch.setattr(Folds, "learned_and_tested", learned_and_tested)
    monkeypatch.setattr(held_out, "split", split_once)
    passed = {"time": TIME, "groups": GROUP}
    passed = {name: passed[name] for name in marks.split()}
    weight = np.ones(N)
    weight[RNG.choice(N, 60, replace=False)] = 0.0
    model = LGBMRegressor(**CHOICES[choice])
    model.fit(COLUMNS, TARGET, weight, **passed)
    assert seen
    for learned, tested in seen:
        assert weight[learned].any()
        assert weight[tested].any()
        if "time" in passed:
            assert TIME[learned].max() < TIME[tested].min()
        if "groups" in passed:
            assert not set(GROUP[learned]) & set(GROUP[tested])


@pytest.mark.parametrize("marks", ["", "time", "groups", "time groups"])
def test_rows_without_weight_draw_no_folds(marks):
    """They are predicted, by models that know neither their group nor later times."""
    ignored = np.concatenate([RNG.choice(N, 20, replace=False), np.argsort(TIME)[-60:]])
    weight = np.ones(N)
    weight[ignored] = 0.0
    kept, ignored = np.flatnonzero(weight), np.flatnonzero(weight == 0)
    passed = {name: {"time": TIME, "groups": GROUP}[name] for name in marks.split()}
    model = LGBMRegressor(**SMALL, folds=3).fit(COLUMNS, TARGET, weight, **passed)
    alone = LGBMRegressor(**SMALL, folds=3)
    alone.fit(COLUMNS[kept], TARGET[kept], **{k: v[kept] for k, v in passed.items()})
    np.testing.assert_array_equal(model.predict(COLUMNS), alone.predict(COLUMNS))
    np.testing.assert_array_equal(model.oof_prediction_[kept], alone.oof_prediction_)
    assert model.oof_score_ == alone.oof_score_
    tested = ~np.isnan(model.oof_prediction_[ignored])
    if "time" in passed:
        first_tested = TIME[kept][~np.isnan(alone.oof_prediction_)].min()
        may_be_tested = TIME[ignored] >= first_tested
        assert not tested[~may_be_tested].any()
        assert tested[may_be_tested].any()
    if marks != "time groups":
        assert tested.sum() == (
            may_be_tested.sum() if "time" in passed else len(ignored)
        )


def test_each_fold_has_its_share_of_the_events():
    """Those of rows that count; else there is nothing to score."""
    y = np.column_stack([np.arange(N) % 60 == 7, TIME + 1.0])  # four events
    cox = {"objective": "cox", "n_estimators": 2}
    model = LGBMRegressor(**cox, folds=4).fit(COLUMNS, y)
    assert [*model.evals_result_] == ["fold_0", "fold_1", "fold_2", "fold_3"]
    with pytest.raises(ValueError, match="test rows of fold 4: no event"):
        LGBMRegressor(**cox, folds=5).fit(COLUMNS, y)
    weight = np.where(np.arange(N) == 7, 0.0, 1.0)
    with pytest.raises(ValueError, match="test rows of fold 3: no event"):
        LGBMRegressor(**cox, folds=4).fit(COLUMNS, y, weight)
    first = [(np.arange(60, N), np.arange(60))]
    LGBMRegressor(**cox, folds=first).fit(COLUMNS, y)
    with pytest.raises(ValueError, match="test rows of fold 0: no event"):
        LGBMRegressor(**cox, folds=first).fit(COLUMNS, y, weight)


@pytest.mark.parametrize("n_groups", [2, 3])
def test_a_preset_compares_on_no_more_folds_than_groups(n_groups):
    model = LGBMRegressor(preset="accurate", learning_rate=0.8)
    model.fit(COLUMNS, TARGET, groups=np.arange(N) % n_groups)
    assert len(model.search_results_["params"]) > 1


def test_a_preset_compares_on_no_more_folds_than_events():
    y = np.column_stack([np.isin(np.arange(N), [7, 60]), TIME + 1.0])
    model = LGBMRegressor(preset="accurate", objective="cox", learning_rate=0.8)
    model.fit(COLUMNS, y)
    assert np.isfinite(model.search_results_["mean_test_loss"]).all()


def test_targets_that_only_rows_of_weight_zero_have_are_missing_in_folds():
    two = np.column_stack([TARGET, TARGET])
    two[: N // 2 - 1, 1] = np.nan
    weight = np.where(np.arange(N) == N // 2 - 1, 0.0, 1.0)
    halves = np.arange(N // 2), np.arange(N // 2, N)
    folds = [halves[::-1], halves]
    message = "test rows of fold 0: All values of column 1 of y are missing"
    with pytest.raises(ValueError, match=message):
        LGBMRegressor(**SMALL, folds=folds).fit(COLUMNS, two, weight)


def test_rows_without_weight_are_tested_where_their_groups_are():
    groups, time = np.array([*"aabbccab"]), np.array([1, 1, 2, 2, 3, 3, 3, 0])
    early, late, ignored = np.arange(2), np.arange(2, 4), np.arange(4, 8)

    def added(pairs, *known):
        found = splits.also_tested(ignored, pairs, *known)
        return [set(test) - {0, 1, 2, 3} for _, test in found]

    halves = [(early, late), (late, early)]
    assert added(halves, None, None) == [{4, 6}, {5, 7}]
    assert added(halves, groups, None) == [{4, 5, 7}, {6}]
    assert added(halves[:1], None, time) == [{4, 5, 6}]
    assert added(halves[:1], groups, time) == [{4, 5}]


DATES = np.datetime64("2024-01-01") + TIME.astype("timedelta64[D]")
KINDS = {
    "floats": TIME / 7,
    "days": DATES,
    "nanoseconds": DATES.astype("datetime64[ns]"),
    "list": TIME.tolist(),
    "dates": DATES.tolist(),
    "pandas": pd.Series(DATES, index=TIME),
    "zone": pd.Series(DATES).dt.tz_localize("Europe/Berlin"),
    "months": pd.Series(DATES).dt.to_period("D"),
    "polars": pl.Series(DATES),
    "polars, datetimes": pl.Series(DATES).cast(pl.Datetime("us", "UTC")),
    "numbers of pandas": pd.Series(TIME, dtype="Int64"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_times_are_anything_that_sorts(kind):
    number = splits.checked_times(KINDS[kind], N)
    np.testing.assert_array_equal(number, TIME)


MIXED = np.array([1, None, DATES.tolist()[0]] * 80, dtype=object)
MIXED[1::3] = 2
STOPS, ONE_GROUP = {"early_stopping_round": 5}, {"groups": np.arange(N) * 0}
BY_PLACE = [(np.arange(90), np.arange(90, N))]


@pytest.mark.parametrize(
    ("options", "passed", "message"),
    [
        ({"folds": 3}, {"time": TIME[:9]}, r"time must have one .* 240 rows, .*\(9,\)"),
        ({"folds": 3}, {"time": "date"}, r"time must have one .* the str 'date': pass"),
        ({"folds": 3}, {"time": DATES.astype(str)}, r"dates, got text.*to_datetime"),
        ({"folds": 3}, {"time": [1, "a"] * 120}, r"time must hold numbers or dates"),
        ({"folds": 3}, {"time": MIXED}, r"time must hold values that can be sorted"),
        ({"folds": 3}, {"time": np.ones(N)}, r"time must differ .* all are .*1\.0"),
        ({"preset": "accurate"}, {"time": np.ones(N)}, r"time must differ"),
        ({"folds": 5}, {"time": TIME // 20}, r"at least 6 diff.* are 4.* smaller"),
        ({"folds": 2}, {"time": TIME // 40}, r"at least 3 .* are 2.* Leave time out"),
        (STOPS, {"time": TIME, **ONE_GROUP}, r"tion=0.1: all rows before or after a"),
        ({"folds": 3}, {"time": TIME, **ONE_GROUP}, r"after a time are of one group"),
        (STOPS, ONE_GROUP, r"no rows can be held out: there is only one group"),
        (
            {"folds": TimeSeriesSplit(3)},
            {"time": TIME},
            r"contradict time: fold 0 trains",
        ),
        ({"folds": BY_PLACE}, {"groups": GROUP}, r"folds split groups: both .* fold 0"),
    ],
)
def test_what_times_cannot_be(options, passed, message):
    with pytest.raises((TypeError, ValueError), match=message):
        LGBMRegressor(**options).fit(COLUMNS, TARGET, **passed)


def test_splitters_of_sorted_rows_agree_with_times():
    splitter = TimeSeriesSplit(3)
    model = LGBMRegressor(**SMALL, folds=splitter)
    found = model.fit(COLUMNS, TARGET, time=np.arange(N)).oof_prediction_
    same = LGBMRegressor(**SMALL, folds=splitter).fit(COLUMNS, TARGET)
    np.testing.assert_array_equal(found, same.oof_prediction_)


def test_times_without_effect_are_told():
    with pytest.warns(
        skgoss.UnusedParameterWarning, match="time needs the option fold"
    ):
        LGBMRegressor(**SMALL).fit(COLUMNS, TARGET, time=TIME)
    with pytest.warns(skgoss.UnusedParameterWarning, match="without an evaluation set"):
        LGBMRegressor(**SMALL, early_stopping_round=2).fit(
            COLUMNS, TARGET, time=TIME, eval_set=[(COLUMNS[:60], TARGET[:60])]
        )


def test_queries_are_groups():
    qid, grades = TIME, np.digitize(TARGET, [-0.5, 0.5])
    model = LGBMRanker(**SMALL, folds=3).fit(COLUMNS, grades, qid=qid, time=TIME)
    assert np.isnan(model.oof_prediction_).mean() == 0.5
    same = LGBMRanker(**SMALL, folds=LATER).fit(COLUMNS, grades, qid=qid)
    np.testing.assert_array_equal(model.oof_prediction_, same.oof_prediction_)
    stopped = LGBMRanker(**SMALL, early_stopping_round=2)
    stopped.fit(COLUMNS, grades, qid=qid, time=-TIME)


def test_a_class_that_only_later_rows_have():
    labels = TIME // 20
    for options in ({"folds": 3}, {"early_stopping_round": 3}, {"preset": "accurate"}):
        model = LGBMClassifier(**SMALL | options).fit(COLUMNS, labels, time=TIME)
        assert np.isfinite(model.predict_proba(COLUMNS)).all()
