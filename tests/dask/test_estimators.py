"""The estimators on a Dask cluster: models identical to the local ones."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pickle
import re
import warnings
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ShuffleSplit

import skgoss
from helpers.grids import nightly_if
from skgoss import (
    LGBMClassifier,
    LGBMRanker,
    LGBMRegressor,
    early_stopping,
    log_evaluation,
    record_evaluation,
    reset_parameter,
)
from skgoss.fit import callbacks
from skgoss.parameters import descriptions, table

dask = pytest.importorskip("dask")
pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
joblib = pytest.importorskip("joblib")

from skgoss.dask import (  # noqa: E402
    DaskLGBMClassifier,
    DaskLGBMRanker,
    DaskLGBMRegressor,
    connections,
    fits,
    parts,
)
from skgoss.dask import distributed_internals as internals  # noqa: E402
from skgoss.distributed.collectives import ALONE  # noqa: E402
from skgoss.fit.arguments import FitArguments, InputSet  # noqa: E402

ON_CLUSTER = {
    LGBMClassifier: DaskLGBMClassifier,
    LGBMRegressor: DaskLGBMRegressor,
    LGBMRanker: DaskLGBMRanker,
}
N = 1200
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 5)).round(2)
X[RNG.random(X.shape) < 0.05] = np.nan
SIGNAL = np.nan_to_num(X[:, 0] + X[:, 1] * X[:, 2])
TARGET = SIGNAL + 0.3 * RNG.normal(size=N)
CLASSES = (TARGET > 0).astype(int)
WORDS = np.array(["low", "middle", "high"])[np.digitize(TARGET, [-0.5, 0.5])]
WEIGHT = RNG.integers(0, 4, N) / 2
# Partitions of uneven lengths; one is empty.
CHUNKS = (300, 1, 0, 499, 250, 150)
HALF = slice(0, 301)


@pytest.fixture(scope="module", autouse=True)
def client():
    """Three workers, which are processes of one thread."""
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def array(values, chunks=CHUNKS):
    """An array of Dask; its last axes are in one chunk."""
    return da.from_array(values, chunks=(chunks, *values.shape[1:]))


def lengths_unknown(values):
    """An array of Dask whose chunks have lengths that Dask does not know."""
    return dask_concatenated(array(values).to_delayed().ravel(), values)


def dask_concatenated(parts, values):
    shape = (np.nan, *values.shape[1:])
    blocks = [da.from_delayed(part, shape, values.dtype) for part in parts]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def split(values, chunks=CHUNKS):
    """The rows of each partition."""
    ends = np.cumsum(chunks)
    pairs = zip(ends - chunks, ends, strict=True)
    if hasattr(values, "iloc"):
        return [values.iloc[start:end] for start, end in pairs]
    return [values[start:end] for start, end in pairs]


def delayed(values, chunks=CHUNKS):
    """A list of delayed parts."""
    return [dask.delayed(part) for part in split(values, chunks)]


def frame(values, chunks=CHUNKS):
    """A data frame or series of Dask, in partitions of unknown lengths."""
    return dd.from_delayed(delayed(values, chunks), meta=values.iloc[:0])


def assert_same(fitted, local, rows):
    """The model, its predictions and its metrics are identical."""
    with warnings.catch_warnings():
        # Texts leave functions out, which tells a warning.
        warnings.simplefilter("ignore", UserWarning)
        text, expected = (m.booster_.model_to_string() for m in (fitted, local))
    assert text == expected
    np.testing.assert_array_equal(fitted.predict(rows), local.predict(rows))
    assert fitted.evals_result_ == local.evals_result_
    assert fitted.best_iteration_ == local.best_iteration_
    assert fitted.best_score_ == local.best_score_


def of(local):
    """The unfitted estimator on a cluster with the same parameters."""
    return ON_CLUSTER[type(local)](**local.get_params())


def check(local, X, y, chunks=CHUNKS, **of_rows):
    """Fit both, and return the one of the cluster."""
    given = {name: array(values, chunks) for name, values in of_rows.items()}
    fitted = of(local).fit(array(X, chunks), array(y, chunks), **given)
    assert_same(fitted, local.fit(X, y, **of_rows), X)
    return fitted


# --- Containers -----------------------------------------------------------------------


def small_table():
    """A frame with words and categories, which differ from partition to partition."""
    words = np.where(np.arange(N) < 600, *RNG.choice(["a", "b", "c", "d"], (2, N)))
    numbers = pd.DataFrame(X[:, :3], columns=["x", "y", "z"])
    return numbers.assign(
        word=words, kind=pd.Categorical(words), day=pd.Categorical(np.arange(N) // 40)
    )


def of_partitions(rows):
    """The same frame, whose partitions know their own categories alone."""
    parts = split(rows)
    for name in ("kind", "day"):
        parts = [
            part.assign(**{name: part[name].cat.remove_unused_categories()})
            for part in parts
        ]
    return [dask.delayed(part) for part in parts]


TABLE = small_table()
SPARSE = csr_matrix(np.nan_to_num(np.where(X > 0.5, X, 0)))
SERIES = pd.Series(WORDS)
WORDY = TABLE[["x", "word"]]
NO_CATEGORIES = TABLE.iloc[:0].assign(
    kind=pd.Categorical([]), day=pd.Categorical(np.empty(0, int))
)


def labels():
    return array(WORDS)


# Rows, and what makes the collections of them and of their labels.
CONTAINERS = {
    "array": (X, lambda: array(X), labels),
    "columns in chunks": (X, lambda: da.from_array(X, chunks=(CHUNKS, (2, 3))), labels),
    "other chunks of y": (X, lambda: array(X), lambda: array(WORDS, (N - 7, 7))),
    "unknown lengths": (X, lambda: lengths_unknown(X), lambda: lengths_unknown(WORDS)),
    "sparse": (SPARSE, lambda: array(SPARSE.toarray()).map_blocks(csr_matrix), labels),
    "delayed arrays": (X, lambda: delayed(X), lambda: delayed(WORDS)),
    "delayed sparse": (SPARSE, lambda: delayed(SPARSE), labels),
    "delayed frames": (TABLE, lambda: of_partitions(TABLE), lambda: delayed(SERIES)),
    "frame": (TABLE, lambda: frame(TABLE), lambda: frame(SERIES)),
    "strings": (
        WORDY,
        lambda: dd.from_pandas(WORDY, npartitions=5),
        lambda: dd.from_pandas(SERIES.astype("category"), npartitions=5),
    ),
    "unknown categories": (
        TABLE,
        lambda: dd.from_delayed(
            of_partitions(TABLE), meta=NO_CATEGORIES, verify_meta=False
        ),
        lambda: frame(SERIES),
    ),
    "frame and array": (TABLE, lambda: frame(TABLE), labels),
    "one partition": (X, lambda: array(X, (N,)), lambda: array(WORDS, (N,))),
    "two partitions": (X, lambda: array(X, (9, N - 9)), labels),
}


# By day: each kind of partitions, of known and unknown lengths, one and many.
AT_NIGHT = {"columns in chunks", "other chunks of y", "delayed arrays"}
AT_NIGHT |= {"frame and array", "two partitions", "delayed sparse", "strings"}


@pytest.mark.parametrize("container", nightly_if(CONTAINERS, AT_NIGHT))
def test_containers(container):
    rows, make_X, make_y = CONTAINERS[container]
    y = make_y()
    local = LGBMClassifier(n_estimators=2, num_leaves=5, min_data_per_group=10)
    local.fit(rows, WORDS if isinstance(y, da.Array) or rows is X else SERIES)
    assert_same(of(local).fit(make_X(), y), local, rows)


def test_files_of_many_columns_have_the_partitions_of_few(tmp_path):
    pytest.importorskip("pyarrow")
    rows = pd.DataFrame(X, columns=list("abcde")).assign(y=TARGET, more=0.0)
    for i, part in enumerate(split(rows)):
        part.to_parquet(tmp_path / f"{i}.parquet")
    files = dd.read_parquet(tmp_path / "*.parquet")
    local = LGBMRegressor(n_estimators=3).fit(rows[list("abcde")], TARGET)
    fitted = of(local).fit(files[list("abcde")], files["y"])
    assert_same(fitted, local, rows[list("abcde")])


def test_one_row_a_partition():
    local = LGBMRegressor(n_estimators=3, min_child_samples=2)
    check(local, X[:25], TARGET[:25], (1,) * 25)


def test_fewer_rows_than_workers():
    local = LGBMRegressor(n_estimators=2, min_child_samples=1, min_data_in_bin=1)
    check(local, X[:2], TARGET[:2], (1, 0, 0, 1))


@pytest.mark.parametrize("is_stacked", [True, False])
def test_parts_let_go_of_their_rows(is_stacked):
    given = InputSet("training", X[:4], X[:4, 0], *(None,) * 5, is_training=True)
    lazy = given._replace(X=array(X[:4], (3, 1)), y=array(X[:4, 0], (3, 1)))
    (columns,), delayed_parts = parts.cut([lazy])
    held = dict(zip(delayed_parts, dask.compute(*delayed_parts.values()), strict=True))
    (together,) = parts.assemble(ALONE, [columns], held, is_stacked=is_stacked)
    pieces = together.X.pieces if is_stacked else [together.X]
    np.testing.assert_array_equal(np.concatenate(pieces), given.X)
    np.testing.assert_array_equal(together.y, given.y)
    assert [part.pieces for part in held.values()] == [{}, {}]


# --- Options --------------------------------------------------------------------------


def functions():
    """An objective and a metric, of which workers need no module."""

    def squared(y_true, y_pred):
        return y_pred - y_true, np.ones(len(y_true))

    def largest(y_true, y_pred):
        return "largest", float(np.max(np.abs(y_true - y_pred))), False

    return squared, largest


SQUARED, LARGEST = functions()


def classifier(**options):
    return LGBMClassifier(**{"n_estimators": 3, "num_leaves": 5} | options)


def regressor(**options):
    return LGBMRegressor(**{"n_estimators": 3, "num_leaves": 5} | options)


BAGGING = {"subsample": 0.5, "subsample_freq": 1}
WEIGHTS = {"sample_weight": WEIGHT}
FORCED = {1: [0.1, 0.2], 4: [-0.3]}
OPTIONS = {
    "weights": (classifier(), WEIGHTS),
    "balanced": (classifier(class_weight="balanced"), {}),
    "fractions": (regressor(), {"sample_weight": WEIGHT * 0.37}),
    "start scores": (regressor(), {"init_score": SIGNAL}),
    "goss": (classifier(data_sample_strategy="goss"), {}),
    "bagging": (regressor(subsample=0.5, subsample_freq=2), {}),
    "bagging by class": (classifier(pos_bagging_fraction=0.5, subsample_freq=1), {}),
    "dart": (regressor(boosting_type="dart", drop_rate=0.5), {}),
    "rf": (classifier(boosting_type="rf", subsample=0.6, subsample_freq=1), {}),
    "l1": (regressor(objective="l1"), {}),
    "quantile": (regressor(objective="quantile", alpha=0.2), WEIGHTS),
    "huber": (regressor(objective="huber"), {}),
    "monotone": (regressor(monotone_constraints=[1, 0, 0, -1, 0]), {}),
    "monotone, advanced": (
        regressor(
            monotone_constraints=[1, 0, 0, 0, 0], monotone_constraints_method="advanced"
        ),
        {},
    ),
    "interactions": (regressor(interaction_constraints=[[0, 1], [2, 3, 4]]), {}),
    "forced splits": (
        regressor(forcedsplits_filename={"feature": 1, "threshold": 0.1}),
        {},
    ),
    "forced bins": (regressor(forcedbins_filename=FORCED, max_bin=15), {}),
    "drawn columns": (regressor(colsample_bytree=0.6, feature_fraction_bynode=0.5), {}),
    "extra trees": (regressor(extra_trees=True), {}),
    "smoothed paths": (regressor(path_smooth=3.0), {}),
    "few bins": (regressor(max_bin=15, subsample_for_bin=500), {}),
    "held out": (classifier(early_stopping_round=2), {}),
    "held out, refit": (regressor(early_stopping_round=2, refit=True), {}),
    "a function": (regressor(objective=SQUARED), {}),
    "seeds": (regressor(random_state=7, **BAGGING), {}),
}


# Processes that share no cluster grow such trees by day.
OF_PROCESSES = {"dart", "rf", "l1", "huber", "monotone", "monotone, advanced"}
OF_PROCESSES |= {"interactions", "extra trees", "smoothed paths", "bagging", "seeds"}
OF_PROCESSES |= {"drawn columns", "fractions", "balanced", "goss", "bagging by class"}
OF_PROCESSES |= {"quantile", "forced splits"}


@pytest.mark.parametrize("option", nightly_if(OPTIONS, OF_PROCESSES))
def test_options(option):
    local, of_rows = OPTIONS[option]
    check(local, X, CLASSES if isinstance(local, LGBMClassifier) else TARGET, **of_rows)


SMALL = {"n_estimators": 3, "num_leaves": 5, "random_state": 0}
THREE = SMALL | {"folds": 3}
STOPS = SMALL | {"early_stopping_round": 2}
ACCURATE = {"preset": "accurate", "random_state": 0}
# Of three rounds.
SOON = ACCURATE | {"folds": 3, "n_estimators": 3}
TOWNS = {"groups": np.arange(N) // 40}
FOLDS = {
    "folds": (LGBMRegressor(**THREE), {}),
    "folds, classes, weights": (LGBMClassifier(**THREE | STOPS), WEIGHTS),
    "a splitter, refit": (
        LGBMRegressor(**SMALL, folds=ShuffleSplit(2, random_state=0), refit=True),
        {},
    ),
    "few rows": (
        LGBMRegressor(**SMALL, folds=[(np.arange(100), np.arange(900, N))]),
        {},
    ),
    "groups": (LGBMRegressor(**THREE), TOWNS),
    "times": (LGBMRegressor(**THREE), {"time": np.arange(N)[::-1] // 4}),
    "times, groups, held out": (
        LGBMRegressor(**STOPS),
        {"time": np.arange(N) % 50, **TOWNS},
    ),
    "groups, held out": (LGBMRegressor(**STOPS), TOWNS),
    "forest": (
        LGBMRegressor(**THREE, boosting_type="rf", **BAGGING),
        {"sample_weight": 2 * WEIGHT},
    ),
    "medians": (LGBMRegressor(**THREE, objective="l1", metric="l2"), {}),
    "distribution": (LGBMRegressor(**THREE, objective="normal"), WEIGHTS),
    "preset": (LGBMClassifier(**ACCURATE, learning_rate=1.0), WEIGHTS),
    "preset, folds": (LGBMRegressor(**SOON), {}),
    "preset, refit": (LGBMClassifier(**SOON, refit=True), {}),
}


OF_OTHERS = {"groups", "times", "groups, held out", "medians", "preset, refit"}
OF_OTHERS |= {"few rows", "forest", "preset, folds"}


@pytest.mark.parametrize("option", nightly_if(FOLDS, OF_OTHERS))
def test_folds_and_presets(option):
    local, of_rows = FOLDS[option]
    y = CLASSES if isinstance(local, LGBMClassifier) else TARGET
    if local.preset is None:
        fitted = check(local, X, y, **of_rows)
    else:
        given = {name: array(values) for name, values in of_rows.items()}
        fitted = of(local).fit(array(X), array(y), **given)
        # Only the local one could compare linear leaves and pairs of columns. Files
        # note these options.
        local.set_params(linear_tree=False, pair_features=False).fit(X, y, **of_rows)
        np.testing.assert_array_equal(fitted.predict(X), local.predict(X))
        assert fitted.n_estimators_ == local.n_estimators_
        assert fitted.preset_params_ == local.preset_params_
    if local.folds is not None:
        np.testing.assert_array_equal(fitted.oof_prediction_, local.oof_prediction_)
        assert fitted.oof_score_ == local.oof_score_
        one, other = (m.booster_._model.out_of_fold.state() for m in (fitted, local))
        np.testing.assert_equal(one, other)


def test_processes_agree_that_a_limit_is_reached(client):
    """Only the first one looks at the clock, but all check what the members learned."""

    def reach():
        from skgoss.several_fits.preset_search import PresetSearch

        searched = PresetSearch._searched

        def late(search, pairs):
            found = searched(search, pairs)
            is_first = search.prepared.data.rows.collectives.rank == 0
            search.prepared.limit.is_reached = is_first
            PresetSearch._searched = searched
            return found

        PresetSearch._searched = late

    options = ACCURATE | {"learning_rate": 1.0}
    local = LGBMRegressor(**options, linear_tree=False).fit(X, TARGET)
    assert np.count_nonzero(local.search_results_["weight"]) > 1
    client.run(reach)
    fitted = DaskLGBMRegressor(**options, time_limit=600)
    fitted.fit(array(X), array(TARGET))
    assert fitted.time_limit_reached_
    np.testing.assert_array_equal(fitted.predict(X), local.predict(X))


def test_processes_use_the_folds_that_one_of_them_draws():
    model = DaskLGBMRegressor(n_estimators=3, folds=ShuffleSplit(1))
    model.fit(array(X), array(TARGET))
    at = np.isfinite(model.oof_prediction_)
    assert at.sum() == N // 10
    loss = np.mean((model.oof_prediction_[at] - TARGET[at]) ** 2)
    assert model.oof_score_["l2"] == pytest.approx(loss)


def test_folds_of_queries_and_of_an_earlier_model():
    check(LGBMRanker(**SMALL, folds=3), X, GRADES, QUERY_CHUNKS, qid=QID)
    first = LGBMRegressor(n_estimators=2).fit(X, TARGET)
    local = LGBMRegressor(**SMALL, folds=2)
    fitted = of(local).fit(array(X), array(TARGET), init_model=first)
    assert_same(fitted, local.fit(X, TARGET, init_model=first), X)


def test_dates():
    dated = pd.DataFrame(
        {"x": X[:, 0], "day": pd.date_range("2024-01-01", periods=len(X))}
    )
    parts, y = frame(dated), array(TARGET)
    local = LGBMRegressor(**SMALL)
    with pytest.raises(ValueError, match=r"'day' holds dates.*DateFeatures\(\)"):
        of(local).fit(parts, y)
    first = LGBMRegressor(n_estimators=2).fit(dated, TARGET)
    fitted = of(local).fit(parts, y, init_model=first)
    local.fit(dated, TARGET, init_model=first)
    assert_same(fitted, local, dated)
    dates = first.date_features_
    made = parts.map_partitions(dates.transform, meta=dates.transform(dated[:1]))
    fitted = of(local).fit(made, y)
    assert_same(
        fitted, local.fit(dates.transform(dated), TARGET), dates.transform(dated)
    )


def test_an_earlier_model_with_pairs_of_columns():
    first = LGBMRegressor(n_estimators=2, pair_features="sums").fit(X, TARGET)
    assert first._model.schema.computed
    local = LGBMRegressor(**SMALL)
    # One worker at most has rows of the evaluation set.
    few = X[:30], TARGET[:30]
    arrays = [array(values, (30,)) for values in few]
    fitted = of(local).fit(
        array(X), array(TARGET), init_model=first, eval_set=[tuple(arrays)]
    )
    local.fit(X, TARGET, init_model=first, eval_set=[few])
    assert_same(fitted, local, X)
    assert fitted.evals_result_ == local.evals_result_


def test_fits_that_continue_from_the_last_one():
    stopping = {"early_stopping_round": 2, "learning_rate": 0.6}
    for options in ({**BAGGING, "random_state": 3}, stopping):
        local = LGBMRegressor(n_estimators=9, num_leaves=5, warm_start=True, **options)
        once = local.fit(X, TARGET)
        fitted = of(local).set_params(n_estimators=4).fit(array(X), array(TARGET))
        fitted.set_params(n_estimators=9).fit(array(X), array(TARGET))
        assert_same(fitted, once, X)
        assert fitted.evals_result_ == once.evals_result_
    with pytest.raises(ValueError, match="num_leaves must still be 5, got 7"):
        fitted.set_params(num_leaves=7, n_estimators=20).fit(array(X), array(TARGET))


def test_bundles_of_sparse_columns():
    codes = RNG.integers(0, 40, N)
    one_hot = csr_matrix((np.ones(N), (np.arange(N), codes)), shape=(N, 40))
    local = LGBMRegressor(n_estimators=5, min_child_samples=5)
    y = TARGET + codes % 3
    fitted = of(local).fit(delayed(one_hot), array(y))
    assert_same(fitted, local.fit(one_hot, y), one_hot)


def test_sources_of_random_numbers_are_drawn_from():
    make = np.random.default_rng
    options = {"n_estimators": 3, "num_leaves": 5, **BAGGING}
    local = LGBMRegressor(random_state=make(5), **options)
    model = DaskLGBMRegressor(random_state=make(5), **options)
    for _ in range(2):
        model.fit(array(X), array(TARGET))
        expected = local.fit(X, TARGET).predict(X)
        np.testing.assert_array_equal(model.predict(X), expected)


def test_a_model_goes_on():
    first = classifier().fit(X, WORDS)
    local = classifier()
    for earlier in (of(first).fit(array(X), array(WORDS)), first.booster_):
        fitted = of(local).fit(array(X), array(WORDS), init_model=earlier)
        local.fit(X, WORDS, init_model=first)
        assert_same(fitted, local, X)
    assert fitted.n_estimators_ == 6


# --- Queries --------------------------------------------------------------------------

QUERY_CHUNKS = (400, 0, 200, 600)
QID = np.arange(N) // 20
GRADES = np.digitize(SIGNAL, [-1, 0, 1])
SIZES = np.full(N // 20, 20)


@pytest.mark.parametrize(
    "objective", ["lambdarank", "rank_xendcg", "lambdarank, bagging by query"]
)
@pytest.mark.parametrize("how", ["qid", "group"])
def test_rankings(objective, how):
    objective, _, bags = objective.partition(", ")
    bagging = {"bagging_by_query": True, "subsample": 0.5, "subsample_freq": 1}
    local = LGBMRanker(**SMALL, objective=objective, **(bagging if bags else {}))
    values = QID if how == "qid" else SIZES
    chunks = QUERY_CHUNKS if how == "qid" else tuple(n // 20 for n in QUERY_CHUNKS)
    rows = [array(values, QUERY_CHUNKS) for values in (X, GRADES)]
    queries = array(values, chunks)
    fitted = of(local).fit(
        *rows,
        **{how: queries},
        eval_set=[
            tuple(rows),
            (array(X[:400], (100, 300)), array(GRADES[:400], (100, 300))),
        ],
        **{
            f"eval_{how}": [
                queries,
                array(values[:400], (100, 300))
                if how == "qid"
                else array(values[:20], (5, 15)),
            ]
        },
    )
    local.fit(
        X,
        GRADES,
        **{how: values},
        eval_set=[(X, GRADES), (X[:400], GRADES[:400])],
        **{f"eval_{how}": [values, values[:400] if how == "qid" else values[:20]]},
    )
    assert_same(fitted, local, X)
    scored = fitted.score(*rows, **{how: queries})
    assert scored == local.score(X, GRADES, **{how: values})


def test_a_query_is_in_one_partition():
    with pytest.raises(ValueError, match="qid"):
        DaskLGBMRanker().fit(array(X), array(GRADES), qid=array(QID))
    with pytest.raises(ValueError, match=r"Partition 0 .*group"):
        DaskLGBMRanker().fit(
            array(X), array(GRADES), group=array(SIZES, (14, 1, 0, 25, 12, 8))
        )


# --- Evaluation sets, callbacks -------------------------------------------------------


def test_evaluation_sets():
    rows, y, weight = array(X), array(WORDS), array(WEIGHT)
    local = classifier(n_estimators=40, early_stopping_round=3, learning_rate=0.9)
    fitted = of(local).fit(
        rows,
        y,
        sample_weight=weight,
        eval_set=[
            (array(X[HALF], (100, 201)), frame(SERIES[HALF], (100, 201))),
            (rows, y),
        ],
        eval_names=["half"],
        eval_sample_weight=[array(WEIGHT[HALF], (301,))],
        eval_class_weight=[{"low": 2.0}],
        eval_metric=["auc_mu", "multi_error"],
    )
    local.fit(
        X,
        WORDS,
        sample_weight=WEIGHT,
        eval_set=[(X[HALF], WORDS[HALF]), (X, WORDS)],
        eval_names=["half"],
        eval_sample_weight=[WEIGHT[HALF]],
        eval_class_weight=[{"low": 2.0}],
        eval_metric=["auc_mu", "multi_error"],
    )
    assert list(fitted.evals_result_) == ["training", "half"]
    assert_same(fitted, local, X)


def test_equal_values_of_one_part_are_two_objects():
    # Processes of several parts put them together, and get two objects.
    given = InputSet("training", X, X[:, 0], *(None,) * 5, is_training=True)
    lazy = [array(values, (N,)) for values in (X, TARGET, WEIGHT, WEIGHT)]
    training = given._replace(X=lazy[0], y=lazy[1], sample_weight=lazy[2])
    again = training._replace(sample_weight=lazy[3])
    sets, delayed_parts = parts.cut([training, again])
    held = dict(zip(delayed_parts, dask.compute(*delayed_parts.values()), strict=True))
    for part in held.values():
        part.pieces[3] = part.pieces[2]
    training, again = parts.assemble(ALONE, sets, held, is_stacked=True)
    assert (training.X, training.y) == (again.X, again.y)
    assert training.sample_weight is not again.sample_weight


def test_eval_X_and_metrics_that_are_functions():
    local = regressor()
    fitted = of(local).fit(
        array(X),
        array(TARGET),
        eval_X=array(X[HALF], (300, 1)),
        eval_y=array(TARGET[HALF], (300, 1)),
        eval_metric=LARGEST,
    )
    local.fit(X, TARGET, eval_X=X[HALF], eval_y=TARGET[HALF], eval_metric=LARGEST)
    assert_same(fitted, local, X)


def test_callbacks(capsys):
    history, of_local = {"old": {}}, {}
    calls = [log_evaluation(2), reset_parameter(learning_rate=lambda i: 0.5 / (i + 1))]
    local = regressor(n_estimators=9)
    pair = (array(X[HALF], (301,)), array(TARGET[HALF], (301,)))
    fitted = of(local).fit(
        array(X),
        array(TARGET),
        eval_set=[pair],
        callbacks=[*calls, early_stopping(2), record_evaluation(history)],
    )
    said = capsys.readouterr().out
    local.fit(
        X,
        TARGET,
        eval_set=[(X[HALF], TARGET[HALF])],
        callbacks=[*calls, early_stopping(2), record_evaluation(of_local)],
    )
    assert_same(fitted, local, X)
    assert said == capsys.readouterr().out != ""
    assert history == of_local == local.evals_result_


def test_progress_bars(monkeypatch):
    seen = []
    monkeypatch.setattr(
        callbacks.ProgressBar, "__call__", lambda bar, env: seen.append(env.iteration)
    )
    DaskLGBMRegressor(n_estimators=3, verbosity=1).fit(array(X), array(TARGET))
    assert seen == [0, 1, 2]


def test_warnings_reach_the_user():
    rows, y = array(X), array(TARGET)
    model, calls = DaskLGBMRegressor(n_estimators=2), [early_stopping(2, verbose=False)]
    with pytest.warns(UserWarning, match="Only the training set") as caught:
        model.fit(rows, y, eval_set=[(rows, y)], callbacks=calls)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("options", [{}, {"folds": 2, "early_stopping_round": 0}])
def test_probabilities_worse_than_a_constant_give_the_same_warning(options):
    """The classes of the rows of all workers are counted."""
    y, valid, words = RNG.permutation(CLASSES), X[HALF], "worse than a constant"
    y_valid, options = RNG.permutation(CLASSES)[HALF], {"n_estimators": 40} | options
    sets = {} if "folds" in options else {"eval_set": [(valid, y_valid)]}
    with pytest.warns(UserWarning, match=words) as local:
        LGBMClassifier(**options).fit(X, y, **sets)
    if sets:
        sets = {"eval_set": [(array(valid, (201, 100)), array(y_valid, (201, 100)))]}
    with pytest.warns(UserWarning, match=words) as of_workers:
        DaskLGBMClassifier(**options).fit(array(X), array(y), **sets)
    assert str(of_workers[-1].message) == str(local[-1].message)


def test_callbacks_of_scikit_learn():
    callback = pytest.importorskip("sklearn.callback")

    class Rounds:
        seen = 0

        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.seen += 1

        def teardown(self, estimator, context):
            pass

    rounds = Rounds()
    assert isinstance(rounds, callback.FitCallback)
    model = DaskLGBMRegressor(n_estimators=3).set_callbacks(rounds)
    model.fit(array(X), array(TARGET))
    assert rounds.seen == 4  # rounds, and the fit


# --- Errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": X}, r"X must be a Dask collection .* got numpy.ndarray.*from_array"),
        ({"y": list(TARGET)}, "y must be a Dask collection"),
        ({"y": array(TARGET[1:], (N - 1,))}, "y has 1199 rows, but X has 1200"),
        ({"y": delayed(TARGET, (600, 600))}, "y has 2 partitions, but X has 6"),
        (
            {"y": delayed(TARGET, (299, 2, 0, 499, 250, 150))},
            r"Partition 0 of X has 300 rows, but that of y has rows: 299",
        ),
        ({"eval_set": [(X, array(TARGET))]}, "eval_X must be a Dask collection"),
    ],
)
def test_rows_that_do_not_fit(given, words):
    given = {"X": array(X), "y": array(TARGET)} | given
    kind = TypeError if "must be" in words else ValueError
    with pytest.raises(kind, match=words):
        DaskLGBMRegressor().fit(**given)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("linear_tree", True),
        ("max_conflict_rate", 0.1),
        ("num_leaves", 1),
        *(("objective", name) for name in ("cox", "cox_efron", "aft_normal")),
    ],
)
def test_options_are_checked_before_any_work(option, value):
    never = [dask.delayed(exec)("raise AssertionError")]
    words = "fit the local estimator" if option == "objective" else option
    with pytest.raises(ValueError, match=words):
        DaskLGBMRegressor(**{option: value}).fit(never, never)


def test_functions_that_workers_do_not_know(tmp_path, monkeypatch):
    (tmp_path / "my_metrics.py").write_text("def f(y_true, y_pred): pass")
    monkeypatch.syspath_prepend(tmp_path)
    function = importlib.import_module("my_metrics").f
    model = DaskLGBMRegressor(n_estimators=2, objective=function)
    with pytest.raises(ModuleNotFoundError, match="my_metrics"):
        model.fit(array(X), array(TARGET))


def no_fits():
    """A function that waits on a worker until no fit runs there."""

    async def wait(dask_worker):
        plugin = connections.plugins.get(dask_worker)
        for _ in range(200):
            if plugin is None or not plugin.connections:
                return
            await asyncio.sleep(0.02)
        raise AssertionError(list(plugin.connections))

    return wait


@pytest.mark.parametrize("n_parts", [1, 2])
def test_an_interrupted_fit_ends_on_the_workers(client, n_parts, monkeypatch):
    def interrupt(events, event):
        raise KeyboardInterrupt

    monkeypatch.setattr(fits.ClientEvents, "__call__", interrupt)
    rows = [array(values, (N // n_parts,) * n_parts) for values in (X, TARGET)]
    model = DaskLGBMRegressor(n_estimators=100_000, verbosity=1, min_child_samples=1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*rows)
    client.run(no_fits())


def test_a_failed_fit_leaves_no_rows(client):
    short = delayed(TARGET, (299, 2, 0, 499, 250, 150))
    with pytest.raises(ValueError, match="Partition 0") as caught:
        DaskLGBMRegressor().fit(array(X), short)
    client.run_on_scheduler(_no_tasks)
    assert caught


async def _no_tasks(dask_scheduler):
    """Wait until the scheduler has no tasks."""
    for _ in range(200):
        if not dask_scheduler.tasks:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(list(dask_scheduler.tasks))


def test_a_failed_fit_changes_nothing():
    def broken(y_true, y_pred):
        raise ZeroDivisionError("a user's error")

    model = DaskLGBMRegressor(n_estimators=2).fit(array(X), array(TARGET))
    before = model.predict(X)
    model.set_params(objective=broken)
    with pytest.raises(ZeroDivisionError, match="a user's error"):
        model.fit(array(X), array(TARGET))
    np.testing.assert_array_equal(model.predict(X), before)


# --- Predictions ----------------------------------------------------------------------

LOCAL = classifier().fit(X, WORDS)
KINDS = ["raw_score", "pred_leaf", "pred_contrib", "pred_interactions"]


def fitted_on(local):
    """An estimator on a cluster that has the model of a local one."""
    model = of(local)
    model._keep(local._model)
    return model


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_predictions_are_lazy(method):
    lazy = getattr(fitted_on(LOCAL), method)(array(X))
    expected = getattr(LOCAL, method)(X)
    assert lazy.chunks[0] == CHUNKS
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(lazy.compute(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_predictions(kind):
    lazy = fitted_on(LOCAL).predict(array(X), num_iteration=2, **{kind: True})
    expected = LOCAL.predict(X, num_iteration=2, **{kind: True})
    assert (lazy.shape, lazy.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_predictions_of_frames_and_delayed_parts():
    local = LGBMRegressor(n_estimators=3).fit(TABLE, TARGET)
    model = fitted_on(local)
    for rows in (frame(TABLE), delayed(TABLE)):
        lazy = model.predict(rows)
        assert np.isnan(lazy.shape[0])
        np.testing.assert_array_equal(lazy.compute(), local.predict(TABLE))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame(TABLE[["x", "y"]]))


@pytest.mark.parametrize("y", [CLASSES, WORDS], ids=["two classes", "three classes"])
def test_contributions_of_sparse_rows_are_sparse(y):
    local = LGBMClassifier(n_estimators=3).fit(SPARSE, y)
    rows = array(SPARSE.toarray()).map_blocks(csr_matrix)
    lazy = fitted_on(local).predict(rows, pred_contrib=True)
    expected = local.predict(SPARSE, pred_contrib=True)
    if not isinstance(expected, list):
        lazy, expected = [lazy], [expected]
    for ours, theirs in zip(lazy, expected, strict=True):
        assert ours.shape == theirs.shape
        assert (ours.compute() != theirs).nnz == 0


def test_unfitted_estimators_do_not_predict():
    with pytest.raises(ValueError, match="not fitted"):
        DaskLGBMRegressor().predict(array(X))


def test_scores():
    model = fitted_on(LOCAL)
    scored = model.score(array(X), frame(SERIES), sample_weight=array(WEIGHT))
    assert (
        scored
        == LOCAL.score(X, WORDS, sample_weight=WEIGHT)
        == model.score(X, WORDS, sample_weight=WEIGHT)
    )


# --- Estimators -----------------------------------------------------------------------


def test_clone_pickle_and_to_local(client, tmp_path):
    model = of(LOCAL).set_params(client=client)
    assert clone(model).client is client
    assert model.get_params()["client"] is client
    model.fit(array(X), array(WORDS))
    assert model.client_ is client
    text = LOCAL.booster_.model_to_string()
    assert type(model.to_local()) is LGBMClassifier
    copied = pickle.loads(pickle.dumps(model))
    assert copied.client is None
    read = LGBMClassifier.from_file(model.to_file(tmp_path / "m") and tmp_path / "m")
    for same in (model, copied, model.to_local(), read):
        assert same.booster_.model_to_string() == text
        np.testing.assert_array_equal(same.predict(X), LOCAL.predict(X))
    assert copied.set_params(client=client).client_ is client
    assert not hasattr(clone(model), "booster_")


def test_clients_that_cannot_wait(client):
    async def fit():
        options = {"asynchronous": True, "set_as_default": False}
        async with distributed.Client(client.scheduler.address, **options) as other:
            DaskLGBMRegressor(client=other).fit(array(X), array(TARGET))

    with pytest.raises(ValueError, match="client is asynchronous"):
        asyncio.run(fit())
    with pytest.raises(TypeError, match=r"client must be .* got str"):
        DaskLGBMRegressor(client="tcp://scheduler").fit(array(X), array(TARGET))


SCRIPTS = {
    "test_no_cluster": lambda: (
        "import dask.array as da; from skgoss.dask import DaskLGBMRegressor as D;"
        "D().fit(da.ones((2, 1)), da.ones(2))",
    )
}


def test_no_cluster(done):
    assert "ValueError: No clients found" in done.stderr


def test_names_of_the_module():
    assert skgoss.DaskLGBMClassifier is DaskLGBMClassifier


@pytest.mark.parametrize("local", ON_CLUSTER)
def test_signatures_and_docstrings(local):
    ours = ON_CLUSTER[local]
    parameters = list(inspect.signature(ours).parameters)
    assert parameters == ["client", *inspect.signature(local).parameters]
    for option in table.OPTIONS:
        assert re.search(rf"\b{option.name}\b", ours.__doc__)
    for method in ("fit", "predict", "score"):
        signature = inspect.signature(getattr(ours, method))
        assert signature == inspect.signature(getattr(local, method))
    for name in list(inspect.signature(local.fit).parameters)[1:]:
        entry = descriptions.DASK_FIT[name]
        assert re.match(rf"{name} : .+\n    \S.{{20}}", entry)
        assert f"\n{entry}\n" in ours.fit.__doc__


def test_searches_of_local_estimators():
    search = GridSearchCV(LGBMClassifier(n_estimators=2), {"num_leaves": [3, 5]}, cv=2)
    with joblib.parallel_config("dask"):
        search.fit(X, CLASSES)
    expected = clone(search).fit(X, CLASSES)
    assert search.best_params_ == expected.best_params_


# --- Other versions of distributed ----------------------------------------------------


@pytest.mark.parametrize(
    "protocol", nightly_if(["inproc", "tcp", "tls"], {"tcp", "tls"})
)
def test_without_what_distributed_does_not_document(protocol, monkeypatch):
    """Fits use another port, and bridges in place of the connections' own sockets."""
    security = None
    if protocol == "tls":
        pytest.importorskip("cryptography")
        security = distributed.Security.temporary()
    local = classifier().fit(X, CLASSES)
    bridges, bridge = [], connections._bridge
    monkeypatch.setattr(
        connections, "_bridge", lambda *args: bridges.append(args) or bridge(*args)
    )
    monkeypatch.setattr(internals, "IOStream", object)

    def hide(dask_worker):
        dask_worker.handlers = MappingProxyType(dask_worker.handlers)

    def addresses(dask_worker):
        plugin = connections.plugins[dask_worker]
        return dask_worker.address, plugin.server.result().address

    with (
        distributed.LocalCluster(
            n_workers=3,
            processes=False,
            protocol=f"{protocol}://",
            security=security,
            dashboard_address=":0",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        monkeypatch.delattr(distributed.Worker, "plugin_add")
        client.run(hide)
        model = of(local).set_params(client=client)
        assert_same(model.fit(array(X), array(CLASSES)), local, X)
        assert len(bridges) == 6
        for worker, accepts in client.run(addresses).values():
            assert accepts.startswith(f"{protocol}://")
            assert accepts != worker
        failing = model.set_params(objective=lambda y_true, y_pred: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            failing.fit(array(X), array(CLASSES))
        client.run(no_fits())


def test_states_of_tasks_that_distributed_may_not_have():
    assert not internals.is_cancelled(SimpleNamespace(), "key")
    state = SimpleNamespace(tasks={"key": SimpleNamespace(state="long-running")})
    worker = SimpleNamespace(state=state)
    assert not internals.is_cancelled(worker, "key")
    assert internals.is_cancelled(worker, "other")
    state.tasks["key"].state = "cancelled"
    assert internals.is_cancelled(worker, "key")


def test_hooks_count_the_rounds_after_those_of_init_model():
    seen = []

    class Hooks:
        def after_round(self, index, attributes):
            seen.append(index)
            return False

    events = fits.ClientEvents(SimpleNamespace(verbosity=-1), Hooks())
    for iteration in (5, 6):
        events(["round", iteration, 5, 9, [["training", "l2", 1.0, False]]])
    assert seen == [0, 1]


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 3), (1, None), (2, None)])
def test_threads_of_workers(n_jobs, expected, monkeypatch):
    rows = InputSet("training", X, TARGET, *[None] * 5)
    monkeypatch.setattr(fits.parts, "assemble", lambda *_, **__: [rows])
    given = []
    estimator = LGBMRegressor(n_jobs=n_jobs)

    def prepare(self, *args):
        given.append(args)
        return SimpleNamespace(model=lambda make_model: None)

    monkeypatch.setattr(LGBMRegressor, "_prepare", prepare)
    work = fits.Work(estimator, FitArguments(callbacks=[]), [], reports_rounds=False)
    work._model(ALONE, {}, 3, None)
    *_, settings, n_threads = given[0]
    # None: the fit has the number of threads of its options.
    assert n_threads == expected
    assert settings.n_jobs == n_jobs


def test_no_queries_are_not_an_argument():
    local = LGBMRegressor
    X = da.random.default_rng(0).normal(size=(200, 3), chunks=(100, 3))
    y = (X[:, 0] > 0).astype(int)
    found = ON_CLUSTER[local](n_estimators=2).fit(X, y, group=None)
    expected = ON_CLUSTER[local](n_estimators=2).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    with pytest.raises(TypeError, match="group"):
        ON_CLUSTER[local]().fit(X, y, group=[200])
