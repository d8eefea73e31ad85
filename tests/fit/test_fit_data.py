"""The data of a fit: rows that several processes hold, and an earlier model."""

import contextlib
import weakref

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from helpers.parts_of_rows import (
    assert_same_data,
    assert_same_rows,
    deal_queries,
    frame,
    input_sets,
    parts_of,
    read,
)
from helpers.ranks import rows_of, run
from skgoss import (
    Booster,
    Dataset,
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    record_evaluation,
    train,
)
from skgoss.columns.columns import RELEASED
from skgoss.distributed.collectives import ALONE
from skgoss.distributed.row_partition import Parts
from skgoss.fit import fit_data
from skgoss.fit.arguments import FitArguments
from skgoss.fit.fit_data import check_can_be_distributed
from skgoss.parameters import make_settings


@pytest.mark.parametrize("n_ranks", [1, 2, 3])
def test_evaluation_sets_and_queries_of_parts(n_ranks):
    random = np.random.default_rng(4)
    sizes = random.integers(1, 9, 60)
    dealt = deal_queries(sizes, n_ranks, seed=4)
    X = frame(random, sizes.sum())
    qid, y = np.repeat(np.arange(60)[::-1], sizes), random.integers(0, 3, len(X))
    weight = random.choice([0.0, 1.0], len(X))
    # All rows of the evaluation set are on the last process, with categories of their
    # own.
    E, e_qid, e_y = X.iloc[:30].copy(), qid[:30], y[:30]
    E["category"] = pd.Categorical(["new", *"zyx"] * 7 + ["w", "z"])
    common = {"eval_metric": "ndcg", "qid": qid, "sample_weight": weight}
    whole = read(
        LGBMRanker(),
        *(X, y),
        FitArguments(**common, eval_set=[(E, e_y), (X, y)], eval_qid=[e_qid, None]),
    )

    def work(collectives):
        rows = rows_of(dealt[collectives.rank])
        is_last = collectives.rank == collectives.n_ranks - 1
        own, target = X.iloc[rows], y[rows]
        parts = parts_of(collectives, dealt[collectives.rank])
        given = FitArguments(
            qid=qid[rows],
            sample_weight=weight[rows],
            eval_set=[(E, e_y) if is_last else (None, None), (own, target)],
            eval_qid=[e_qid if is_last else [], None],
        )
        # The set of the training rows comes first.
        eval_parts = [parts, Parts(collectives, {0: 30} if is_last else {})]
        got = read(LGBMRanker(), own, target, given, parts, eval_parts)
        numbers = (np.cumsum(weight > 0) - 1)[rows[weight[rows] > 0]]
        assert_same_data(got, whole, numbers)
        training, other = got[2]
        assert training.is_training
        assert training.rows is got[0].rows
        known = whole[2][1]
        numbers = np.arange(30 if is_last else 0)
        assert_same_rows(other.rows, known.rows, numbers)
        assert other.data is None
        stores = [
            dataset.store(named.rows.columns, fit.settings, rows=named.rows.numbers)[0]
            for (fit, dataset, _), named in ((got, other), (whole, known))
        ]
        for column in range(len(got[1].feature)):
            bins, all_bins = (store.bins(column) for store in stores)
            assert np.array_equal(bins, all_bins[numbers])

    run(n_ranks, work)


def test_evaluation_sets_need_rows():
    def work(collectives):
        parts = Parts(collectives, {collectives.rank: 2})
        none = Parts(collectives, {})
        given = FitArguments(eval_set=[(None, None)])
        read(LGBMRegressor(), np.ones((2, 1)), np.ones(2), given, parts, [none])

    with pytest.raises(ValueError, match="'valid_0' has no rows"):
        run(2, work)


def test_a_fit_holds_no_values_of_a_rank():
    X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)

    def work(collectives):
        parts = Parts(collectives, {collectives.rank: 30})
        given = FitArguments(eval_set=[(X + 1, y)])
        model = LGBMRegressor()
        sets = input_sets(model, X, y, given, parts, [parts])
        fit = model._prepare(sets, given, model._settings(X, given), n_threads=1)
        for rows in (fit.data.rows, fit.data.fitted, fit.rounds.sets[0].rows):
            assert rows.columns is RELEASED
            assert rows.partition.n_rows == 60
        assert fit.training.X is None
        assert fit.data.arguments.eval_set is None

    run(2, work)


def test_a_fit_of_all_parts_is_the_fit_of_all_rows():
    random = np.random.default_rng(5)
    values, y = random.normal(size=(300, 3)), random.integers(0, 3, 300)
    weight = random.choice([0.0, 0.5, 1.0], 300)
    known = LGBMClassifier(n_estimators=4)
    known.fit(values, y, sample_weight=weight, eval_set=[(values[:50], y[:50])])
    references = []

    def frame():
        X = pd.DataFrame(values.copy())
        references.append(weakref.ref(X))
        return X

    def check(env):
        # Values are freed before the first round.
        assert references[0]() is None

    estimator = LGBMClassifier(n_estimators=4)
    given = FitArguments(
        sample_weight=weight,
        eval_set=[(pd.DataFrame(values[:50]), y[:50])],
        callbacks=[check],
    )
    parts, eval_parts = Parts(ALONE, {0: 100, 1: 200}), [Parts(ALONE, {0: 50})]
    fit = estimator._prepare(
        input_sets(estimator, frame(), y, given, parts, eval_parts),
        given,
        estimator._settings(None, given),
    )
    estimator._keep(fit.model(Booster._from_model))
    assert np.array_equal(estimator.predict_proba(values), known.predict_proba(values))
    assert estimator.evals_result_ == known.evals_result_


def logistic(raw_score, rows):
    probability = 1 / (1 + np.exp(-raw_score))
    return probability - rows.get_label(), probability * (1 - probability)


@pytest.mark.parametrize(
    ("earlier", "later", "is_alike"),
    [
        ({"objective": "l2"}, {"objective": "poisson"}, False),
        ({"objective": "binary"}, {"objective": "l2"}, False),
        ({"objective": "l2"}, {"objective": "l2", "reg_sqrt": True}, False),
        ({"objective": "binary"}, {"objective": "binary", "sigmoid": 2.0}, False),
        ({"objective": "l2"}, {"objective": "l1"}, True),
        ({"objective": "gamma"}, {"objective": "poisson"}, True),
        ({"objective": "binary"}, {"objective": "cross_entropy"}, True),
        ({"objective": "binary"}, {"objective": logistic}, True),
    ],
)
def test_scores_of_another_kind_to_continue_from(earlier, later, is_alike):
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2 + 0.0
    options = {"min_data_in_leaf": 1, "verbosity": -1, "n_estimators": 2}
    positive = Dataset(X, y + (earlier["objective"] == "gamma"))
    first = train(options | earlier, positive)
    context = contextlib.nullcontext()
    if not is_alike:
        words = "init_model has objective='.*', whose raw scores are not those of"
        context = pytest.warns(UserWarning, match=words)
    with context:
        more = train(options | later, Dataset(X, y), init_model=first)
    assert more.num_trees() == 4


# --- Columns, targets and weights -----------------------------------------------------

RNG = np.random.default_rng(8)
FRAME = pd.DataFrame({"a": RNG.normal(size=90), "b": RNG.integers(0, 3, 90)})
TARGET = FRAME["a"].to_numpy() + (FRAME["b"] == 1)
SMALL = {"n_estimators": 4, "min_child_samples": 5}


def data_of(X, y, model=None, **given):
    model, given = model or LGBMRegressor(), FitArguments(**given)
    [training] = input_sets(model, X, y, given)
    settings = model._settings(X, given)
    return fit_data.read(training, given, settings, model._task(model._owner), None)


def test_columns_have_the_names_of_the_data_or_those_of_the_user():
    assert list(data_of(FRAME, TARGET).column_names) == ["a", "b"]
    assert data_of(FRAME.to_numpy(), TARGET).column_names is None
    named = data_of(FRAME.to_numpy(), TARGET, feature_name=["x", "y"])
    assert named.column_names == ["x", "y"]


def test_a_fit_goes_on_with_the_same_categories():
    def fit(**given):
        return LGBMRegressor(**SMALL).fit(FRAME, TARGET, **given)

    first = fit(categorical_feature=["b"])
    more = fit(categorical_feature=["b"], init_model=first)
    assert more.booster_.num_trees() == 8
    with pytest.raises(ValueError, match="init_model"):
        fit(categorical_feature=["a"], init_model=first)


def test_a_fit_goes_on_with_categories_that_the_user_has_named():
    values, given = FRAME.to_numpy(), {"categorical_feature": ["y"]}
    given |= {"feature_name": ["x", "y"]}
    first = LGBMRegressor(**SMALL).fit(values, TARGET, **given)
    more = LGBMRegressor(**SMALL).fit(values, TARGET, init_model=first, **given)
    assert more.booster_.num_trees() == 8


@pytest.mark.parametrize(("n_categories", "is_more"), [(3, False), (30, True)])
def test_presets_compare_options_of_categories_if_there_are_many(n_categories, is_more):
    words = [f"{k % n_categories:02}" for k in range(90)]
    X = FRAME.assign(b=pd.Categorical(words))
    model, given = LGBMRegressor(preset="accurate"), FitArguments()
    [training] = input_sets(model, X, TARGET, given)
    task = model._task(model._owner)
    found = [
        fit_data.read(
            training, given, model._settings(X, given), task, None, True
        ).search
        for training in (training, *input_sets(model, FRAME, TARGET, given))
    ]
    assert (len(found[0].candidates) > len(found[1].candidates)) is is_more


def test_weights_and_targets_of_all_parts_are_split():
    weight = RNG.uniform(1.0, 2.0, 90)

    def work(collectives):
        own = slice(45 * collectives.rank, 45 * (collectives.rank + 1))
        given = FitArguments(sample_weight=weight[own])
        parts = Parts(collectives, {collectives.rank: 45})
        data, _, _ = read(LGBMRegressor(), FRAME[own], TARGET[own], given, parts)
        rows = data.splits().rows
        np.testing.assert_array_equal(rows.target, TARGET)
        np.testing.assert_array_equal(rows.weight, weight)

    run(2, work)


@pytest.mark.parametrize(
    ("objective", "n_scores"), [("l2", 1), ("normal", 2), ("student", 3)]
)
def test_a_row_has_a_score_for_each_parameter(objective, n_scores):
    model = LGBMRegressor(objective=objective)
    assert data_of(FRAME, TARGET, model).n_scores == n_scores


def lifetimes(is_event):
    return np.column_stack([is_event, 1.0 + np.arange(len(is_event))])


CLASSES = np.arange(90) % 9 // 4 + 5  # 5 and 6 each four times as often as 7
CENSORED = np.arange(90) % 3 == 0


@pytest.mark.parametrize(
    ("model", "y", "labels"),
    [
        (LGBMRegressor(), TARGET, None),
        (LGBMClassifier(), CLASSES, CLASSES - 5),
        (LGBMRegressor(objective="cox"), lifetimes(~CENSORED), CENSORED),
    ],
)
def test_rows_of_all_labels_are_held_out(model, y, labels):
    data = data_of(FRAME, y, model)
    if labels is None:
        assert data.labels(data.rows) is None
        return
    np.testing.assert_array_equal(data.labels(data.rows), labels)
    model = clone(model).set_params(early_stopping_round=3, validation_fraction=0.2)
    held_out = []
    for seed in (1, 2):
        model.set_params(random_state=seed)
        data, _, [named] = read(model, FRAME, y, FitArguments())
        held = data.labels(named.rows)
        for label in np.unique(labels):
            assert (held == label).sum() == pytest.approx(
                0.2 * (labels == label).sum(), abs=1
            )
        held_out.append(named.rows.columns.n_rows and named.rows.target)
    assert not np.array_equal(*held_out)


def test_evaluation_sets_need_neither_all_classes_nor_events():
    given = FitArguments(eval_set=[(FRAME[:20], CLASSES[5:25].clip(6))])
    data, _, [named] = read(LGBMClassifier(), FRAME, CLASSES, given)
    assert data.task.classes.tolist() == [5, 6, 7]
    np.testing.assert_array_equal(named.rows.target, CLASSES[5:25].clip(6) - 5)
    assert named.data is given.eval_set[0][0]
    none, model = lifetimes(np.zeros(90)), LGBMRegressor(objective="cox")
    given = FitArguments(eval_set=[(FRAME, none)])
    _, _, [named] = read(model, FRAME, lifetimes(~CENSORED), given)
    assert np.isinf(named.rows.target[:, 1]).all()
    with pytest.raises(ValueError, match="y has no event"):
        data_of(FRAME, none, model)


@pytest.mark.parametrize(("objective", "may_be"), [("l2", True), ("l1", False)])
def test_presets_compare_linear_leaves_where_they_may_be(objective, may_be):
    data = data_of(FRAME, TARGET, LGBMRegressor(preset="accurate", objective=objective))
    candidates = data.search.candidates
    assert any("linear_tree" in options for options in candidates) is may_be


@pytest.mark.parametrize("patience", [None, 7])
@pytest.mark.parametrize(
    ("searches", "is_evaluated", "objective", "has_search"),
    [
        (True, False, "l2", True),
        (True, True, "l2", True),
        (True, True, logistic, False),
        (False, True, "l2", False),
        (False, False, "l2", False),
    ],
)
def test_presets_search_and_stop_where_rows_decide(
    searches, is_evaluated, objective, has_search, patience
):
    model = LGBMRegressor(preset="accurate", objective=objective)
    given = FitArguments(early_stopping_round=patience)
    [training] = input_sets(model, FRAME, TARGET, given)
    options = given, model._settings(FRAME, given), model._task(model._owner), None
    data = fit_data.read(training, *options, searches, is_evaluated)
    assert (data.search is not None) is (has_search and patience is None)
    stops = 100 if has_search or is_evaluated else None
    assert data.settings.early_stopping_round == (patience or stops)


@pytest.mark.parametrize(
    ("model", "y", "strategy"),
    [
        (LGBMRegressor(), TARGET, "one_output_per_tree"),
        (LGBMRegressor(objective="normal"), TARGET, "multi_output_tree"),
        (LGBMClassifier(), CLASSES, "multi_output_tree"),
        (LGBMRegressor(), FRAME, "multi_output_tree"),
    ],
)
def test_only_several_outputs_share_trees(model, y, strategy):
    model = clone(model).set_params(multi_strategy="multi_output_tree")
    assert data_of(FRAME, y, model).settings.multi_strategy == strategy


def test_bounds_are_not_read_as_events_beside_a_training_set_of_bounds():
    bounds = np.column_stack([2.0 + FRAME["b"], 3.0 + FRAME["b"]])
    given = FitArguments(eval_set=[(FRAME, lifetimes(~CENSORED))])
    model = LGBMRegressor(objective="aft")
    with pytest.raises(ValueError, match=r"eval_y .*may be codes of events or lower"):
        read(model, FRAME, bounds, given)
    _, _, [named] = read(model, FRAME, lifetimes(~CENSORED), given)
    assert np.array_equal(np.isinf(named.rows.target[:, 1]), CENSORED)


def test_quantiles_of_an_earlier_model_must_be_the_same():
    options = {"n_estimators": 2, "objective": "quantile"}
    first = LGBMRegressor(alpha=[0.1, 0.9], **options).fit(FRAME, TARGET)
    LGBMRegressor(alpha=[0.1, 0.9], **options).fit(FRAME, TARGET, init_model=first)
    for alpha in ([0.2, 0.9], 0.1):
        with pytest.raises(ValueError, match=r"learned the quantiles \[0.1, 0.9\]"):
            LGBMRegressor(alpha=alpha, **options).fit(FRAME, TARGET, init_model=first)


@pytest.mark.parametrize(
    ("make", "is_told"),
    [
        (np.asarray, True),
        (lambda frame: frame.to_numpy().tolist(), True),
        (csr_array, True),
        (pd.DataFrame, False),
    ],
)
def test_an_evaluation_set_without_names_is_told(make, is_told):
    given = FitArguments(eval_set=[(make(FRAME), TARGET)])
    context = contextlib.nullcontext()
    if is_told:
        context = pytest.warns(UserWarning, match="'valid_0' has no column names")
    with context:
        read(LGBMRegressor(), FRAME, TARGET, given)


def test_rows_that_are_held_out_by_time_have_no_group_in_common():
    groups, time = np.arange(90) // 4, np.arange(90)
    model = LGBMRegressor(early_stopping_round=3, validation_fraction=0.3)
    given = FitArguments(time=time, groups=groups)
    data, _, [held] = read(model, FRAME, TARGET, given)
    known, later = (
        np.flatnonzero(np.isin(TARGET, rows.target))
        for rows in (data.fitted, held.rows)
    )
    assert known.max() < later.min()
    assert set(groups[known]).isdisjoint(groups[later])
    assert 60 <= later.min() <= 66


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"linear_tree": True}, "linear_tree=True .*set linear_tree=False"),
        ({"max_conflict_rate": 0.1}, "max_conflict_rate=0.1 .*set it to 0.0"),
        (
            {"objective": "quantile", "alpha": [0.1, 0.9]},
            "alpha=.* set alpha to one level",
        ),
        ({"objective": "cox"}, "objective='cox' .*fit the local estimator"),
    ],
)
def test_what_cannot_be_spread_over_processes(options, words):
    settings = make_settings(options, "LGBMRegressor")
    with pytest.raises(ValueError, match=words):
        check_can_be_distributed(settings)
    check_can_be_distributed(make_settings({}, "LGBMRegressor"))


WEIGHED = np.arange(90) % 4 > 0


@pytest.mark.parametrize("folds", [None, 3])
def test_groups_and_times_are_those_of_the_rows_that_are_kept(folds):
    groups, time = np.arange(90) // 3, RNG.permutation(90)
    given = {"groups": groups, "time": time, "sample_weight": 1.0 * WEIGHED}
    data = data_of(FRAME, TARGET, LGBMRegressor(folds=folds), **given)
    kept = WEIGHED if folds is None else slice(None)
    np.testing.assert_array_equal(data.groups, groups[kept])
    np.testing.assert_array_equal(data.time, time[kept])
    assert len(data.rows) == len(groups[kept])


def test_queries_are_groups_unless_others_are_passed():
    labels, size = np.arange(90) % 3, [20, 70]
    ranked = data_of(FRAME, labels, LGBMRanker(), group=size)
    np.testing.assert_array_equal(ranked.all_groups(), np.repeat([0, 1], size))
    assert ranked.largest_query == 70
    assert data_of(FRAME, labels, LGBMRanker(), group=[90]).largest_query == 0
    plain = data_of(FRAME, TARGET, groups=labels)
    assert (plain.largest_query, plain.all_groups() is plain.groups) == (0, True)
    assert data_of(FRAME, TARGET).all_groups() is None


@pytest.mark.parametrize("refit", [False, True])
def test_values_are_needed_for_a_refit(refit):
    model = LGBMRegressor(early_stopping_round=3, refit=refit)
    parts = Parts(ALONE, {0: 90})
    data, _, _ = read(model, FRAME, TARGET, FitArguments(), parts)
    found = data.without_values()
    assert found.fitted.columns is RELEASED
    assert (found.rows.columns is RELEASED) is not refit
    assert found.training.X is None
    whole = data_of(FRAME, TARGET).without_values()
    assert whole.rows is whole.fitted


def test_weights_and_targets_of_a_data_set_are_copied():
    y, weight = TARGET.copy(), RNG.uniform(1.0, 2.0, 90)
    data = data_of(Dataset(FRAME, y, weight=weight), None)
    np.testing.assert_array_equal(data.rows.weight, weight)
    kept = data.rows.weight.copy(), data.rows.target.copy()
    data.training.X.weight[:] = 7.0
    data.training.X.label[:] = 7.0
    np.testing.assert_array_equal(data.rows.weight, kept[0])
    np.testing.assert_array_equal(data.rows.target, kept[1])


def test_bounds_of_an_evaluation_set_are_read_as_those_of_the_training_set():
    lower = np.exp(TARGET)
    bounds = np.column_stack([lower, np.where(FRAME["b"] == 2, np.inf, lower)])
    model = LGBMRegressor(objective="aft")
    given = FitArguments(eval_set=[(FRAME, bounds)])
    data, _, [named] = read(model, FRAME, bounds, given)
    np.testing.assert_array_equal(data.rows.target[:, :2], bounds)
    np.testing.assert_array_equal(named.rows.target, data.rows.target)


def test_the_scale_of_each_output_is_looked_at():
    targets = np.column_stack([1e6 * TARGET, TARGET, TARGET])
    with pytest.warns(UserWarning, match="Nearly all errors") as found:
        data_of(FRAME, targets, LGBMRegressor(objective="huber"))
    assert len(found) == 1


def test_an_evaluation_set_that_does_not_fit_keeps_its_reference():
    training = Dataset(FRAME, TARGET, free_raw_data=False)
    other = Dataset(FRAME[["a"]], TARGET, free_raw_data=False)
    before = dict(vars(other))
    with pytest.raises(ValueError, match="does not fit its reference"):
        train({"verbosity": -1}, training, 2, valid_sets=[other])
    assert all(vars(other)[name] is value for name, value in before.items())


def test_categories_of_an_evaluation_set_are_those_of_the_training_set():
    words = FRAME["b"].map({0: "x", 1: "y", 2: "z"})
    training, other = (
        Dataset(FRAME.assign(b=pd.Categorical(words, list(order))), TARGET)
        for order in ("xyz", "zyx")
    )
    results = {}
    train(
        {"min_child_samples": 5, "verbosity": -1},
        training,
        4,
        valid_sets=[training, other],
        valid_names=["training", "other"],
        callbacks=[record_evaluation(results)],
    )
    assert results["other"] == results["training"]


# --- Rows that are held out -----------------------------------------------------------


def test_rows_are_held_out_unless_something_else_evaluates_the_fit():
    model = LGBMRegressor(early_stopping_round=3, validation_fraction=0.2)
    time = RNG.permutation(90)
    data, _, [held] = read(model, FRAME, TARGET, FitArguments(time=time))
    latest = time >= 72
    np.testing.assert_array_equal(held.rows.target, TARGET[latest])
    np.testing.assert_array_equal(data.fitted.target, TARGET[~latest])
    for other in ({"folds": 3}, {"boosting_type": "dart"}):
        model = LGBMRegressor(early_stopping_round=3, **other)
        data, _, sets = read(model, FRAME, TARGET, FitArguments())
        assert sets == []
        assert len(data.fitted) == 90


def test_the_first_row_outside_the_support_is_named_unless_its_weight_is_0():
    y = np.array([1.0, 2.0, -3.0, -4.0] * 10)
    weight = np.ones(40)
    model, X = LGBMRegressor(objective="lognormal"), np.arange(40.0)[:, None]
    with pytest.raises(ValueError, match=r"-3"):
        model.fit(X, y)
    weight[2] = 0.0
    with pytest.raises(ValueError, match=r"-4"):
        model.fit(X, y, sample_weight=weight)
    model.fit(X, y, sample_weight=y > 0)


def test_metrics_of_users_get_no_rows_of_weight_zero():
    X = np.random.default_rng(0).normal(size=(80, 2))
    weight, seen = np.arange(80) % 4 * 1.0, []

    def metric(y_true, y_pred, weight):
        seen.append((y_true.tolist(), weight.tolist()))
        return "own", 0.0, True

    LGBMRegressor(n_estimators=1).fit(
        X,
        X[:, 0],
        eval_set=[(X, X[:, 1])],
        eval_sample_weight=[weight],
        eval_metric=metric,
    )
    kept = weight > 0
    assert seen == [(X[kept, 1].tolist(), weight[kept].tolist())]
