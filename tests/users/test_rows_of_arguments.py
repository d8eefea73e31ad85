"""Arguments with a value for each row, in any container together with any other.

The first table has the targets: whatever holds ``X`` and ``y``, and whatever are the
evaluation sets, the fit is that of arrays. The second one has all arguments: values in
other types are the same values, and those that are masked, missing or of mixed types
are errors that name the argument.
"""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import skgoss
from helpers.sequences import Rows
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor, ndcg_scorer

pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N, N_VALID = 60, 24
SMALL = {"n_estimators": 2, "num_leaves": 4, "min_child_samples": 5, "n_jobs": 1}
NAMES = ["a", "b", "c"]

RNG = np.random.default_rng(6)
X = RNG.normal(size=(N + N_VALID, 3)).round(2)
X[::4, 2] = 0.0
Y = X[:, 0] + RNG.normal(size=len(X)).round(2)
TIME = RNG.exponential(np.exp(-X[:, 0])).round(2) + 0.5
EVENT = RNG.random(len(X)) < 0.7
LIVES = np.column_stack([EVENT, TIME])
BOUNDS = np.column_stack([TIME + 0.25, np.where(EVENT, TIME + 1.25, np.inf)])
GRADES = np.clip(np.rint(Y + 1), 0, 3)
TRAIN, VALID = slice(0, N), slice(N, None)


# --- Targets --------------------------------------------------------------------------


def columns(rows):
    return dict(zip(NAMES, rows.T, strict=True))


def in_parquet(rows, folder):
    path = folder / f"{len(rows)}.parquet"
    parquet.write_table(pa.table(columns(rows)), path)
    return path


def in_csv(rows, folder):
    path = folder / f"{len(rows)}.csv"
    pd.DataFrame({"none": 0, **columns(rows)}).to_csv(path, index=False)
    return path


# What holds the columns, of rows and a folder.
CONTAINERS = {
    "array": lambda rows, _: rows,
    "fortran": lambda rows, _: np.asfortranarray(rows),
    "list": lambda rows, _: rows.tolist(),
    "csr": lambda rows, _: sp.csr_array(rows),
    "csc": lambda rows, _: sp.csc_matrix(rows),
    "pandas": lambda rows, _: pd.DataFrame(columns(rows)),
    "polars": lambda rows, _: pl.DataFrame(columns(rows)),
    "arrow": lambda rows, _: pa.table(columns(rows)),
    "lazy": lambda rows, _: pl.LazyFrame(columns(rows)),
    "parquet": in_parquet,
    "csv": in_csv,
    "sequence": lambda rows, _: Rows(rows, 17),
}


def frame(make, y):
    return make({f"column {j}": values for j, values in enumerate(y.T)})


def structured(y):
    records = frame(pd.DataFrame, y).to_records(index=False)
    return records.astype([(name, float) for name in records.dtype.names])


SEVERAL = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "pandas": partial(frame, pd.DataFrame),
    "polars": partial(frame, pl.DataFrame),
    "arrow": partial(frame, pa.table),
    "structured": structured,
    "objects": lambda y: np.asfortranarray(y).astype(object),
}
ONE = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "pandas": pd.Series,
    "polars": pl.Series,
    "arrow": pa.array,
    "column": lambda y: y[:, None],
    "frame": lambda y: pd.DataFrame({"y": y}),
}
TASKS = {
    "cox": ({"objective": "cox"}, np.column_stack([LIVES, np.arange(len(X)) % 2])),
    "aft": ({"objective": "aft_normal"}, LIVES),
    "aft bounds": ({"objective": "aft_normal"}, BOUNDS),
    # The first one could be events, but for the objective.
    "targets": ({}, np.column_stack([EVENT, Y])),
    "normal": ({"objective": "normal"}, Y),
    "quantiles": ({"objective": "quantile", "alpha": [0.2, 0.8]}, Y),
    "ranking": ({"objective": "lambdarank"}, GRADES),
}


def fitted(task, form, sets, beside, make, folder):
    """A fit, with ``y`` beside the columns or in a Dataset, and evaluation ``sets``."""
    options, y = TASKS[task]
    is_ranking = task == "ranking"
    as_form = (SEVERAL if y.ndim == 2 else ONE)[form]

    def data(part, **fields):
        """The columns, their target if it is in a Dataset, and their queries."""
        rows, target = make(X[part], folder), as_form(y[part])
        queries = {"group": np.full(len(X[part]) // 6, 6)} if is_ranking else {}
        if beside:
            return (rows, target), queries
        params = {"header": True, "label_column": 0} if make is in_csv else {}
        return (Dataset(rows, target, params=params, **queries),), {}

    given, queries = data(TRAIN)
    if sets:
        pair, eval_queries = data(VALID)
        if sets == "arrays":
            pair, eval_queries = (X[VALID], y[VALID]), {"group": np.full(4, 6)}
        queries["eval_set"] = [pair[0] if len(pair) == 1 else pair]
        if is_ranking and len(pair) == 2:
            queries["eval_group"] = [eval_queries["group"]]
        if sets == "eval_X" and len(pair) == 2:
            (queries["eval_X"], queries["eval_y"]) = queries.pop("eval_set")[0]
    model = (LGBMRanker if is_ranking else LGBMRegressor)(**SMALL, **options)
    model.fit(*given, **queries)
    trees = [
        tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]
    ]
    return trees, model.evals_result_


@pytest.fixture(scope="module")
def expected():
    return {
        (task, bool(sets)): fitted(task, "array", sets, True, lambda x, _: x, None)
        for task in TASKS
        for sets in (None, "same")
    }


@pytest.mark.filterwarnings(
    "ignore:A column-vector y was passed",
    "ignore:The evaluation set .* has no column",
    "ignore:X does not have valid feature names",
)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("forms", [SEVERAL, ONE])
@pytest.mark.parametrize("turn", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_targets_in_any_form_beside_any_container(
    turn, forms, container, expected, tmp_path
):
    """Each form with each container, in turn with tasks, kinds of sets and places."""
    tasks = [
        task for task, (_, y) in TASKS.items() if (y.ndim == 2) is (forms is SEVERAL)
    ]
    first, make = list(CONTAINERS).index(container), CONTAINERS[container]
    for number, form in enumerate(forms, start=turn * len(forms)):
        task = tasks[(first + number) % len(tasks)]
        sets = (None, "arrays", "same", "eval_X")[(first + number // 3) % 4]
        beside = (first + number // 2) % 2 == 0 and container != "csv"
        found = fitted(task, form, sets, beside, make, tmp_path)
        assert found == expected[task, bool(sets)], (task, form, sets, beside)


def test_columns_of_files_may_be_lifetimes(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pd.DataFrame({**columns(X), "event": EVENT, "time": TIME})
    table.to_parquet(path)
    model = LGBMRegressor(objective="cox", **SMALL)
    found = model.fit(path, ["event", "time"]).predict(table[NAMES])
    np.testing.assert_array_equal(found, model.fit(X, LIVES).predict(X))


def test_parts_of_lifetimes_are_read_as_the_whole():
    """Some rows alone might hold events, or codes of them."""
    lower = np.repeat([0.0, 1.0, 2.0, 5.0], 20)
    y = np.column_stack([lower, lower + 1.0 + np.arange(80) % 3])
    rows, options = X[:80], {"objective": "aft_normal", **SMALL}
    whole = Dataset(rows, y, free_raw_data=False)
    named = pd.DataFrame(y, columns=["lower", "upper"])
    for part in (np.arange(40), np.arange(60)):
        some, again = whole.subset(part), whole.subset(part).set_label(named.iloc[part])
        expected = skgoss.train(options, again, 2).predict(rows)
        for data in (some, pickle.loads(pickle.dumps(some))):
            found = skgoss.train(options, data, 2).predict(rows)
            np.testing.assert_array_equal(found, expected)
        sets = {"eval_X": rows[part], "eval_y": y[part]}
        with pytest.raises(ValueError, match="column 0 of eval_y holds only 0, 1"):
            LGBMRegressor(**options).fit(rows, y, **sets)
        sets["eval_y"] = named.iloc[part]
        LGBMRegressor(**options).fit(rows, y, **sets)


# --- All arguments --------------------------------------------------------------------

XT, YT, GT, LT = X[TRAIN], Y[TRAIN], GRADES[TRAIN], LIVES[TRAIN]
QUERY, SIZES = np.arange(N) // 6, np.full(N // 6, 6)
WEIGHT, STRATUM = RNG.integers(1, 4, N) * 1.0, np.arange(N) % 2 + 1.0
SOME = slice(0, N_VALID)

regressor = partial(LGBMRegressor, **SMALL)
classifier = partial(LGBMClassifier, **SMALL)
ranker = partial(LGBMRanker, **SMALL)
PLAIN = regressor().fit(XT, YT)
RANKER = ranker().fit(XT, GT, qid=QUERY)
COX = regressor(objective="cox").fit(XT, np.column_stack([LT, STRATUM]))


def fit(model, *data, **arguments):
    return model.fit(*data, **arguments).predict(XT)


def evaluate(model, y, **arguments):
    sets = {"eval_X": XT[SOME], "eval_y": y[SOME]} | arguments
    return list(model.fit(XT, y, **sets).evals_result_["valid_0"].values())


def survival(times=(1.0,), strata=STRATUM):
    return COX.predict_survival_function(XT, times, strata=strata)


# For the name of an argument, which its errors have, and perhaps more words: values,
# and what a call with them returns.
ARGUMENTS = {
    "y": (YT, lambda v: fit(regressor(), XT, v)),
    "y of classes": (GT, lambda v: fit(classifier(), XT, v)),
    "y of grades": (GT, lambda v: fit(ranker(), XT, v, qid=QUERY)),
    "y of lifetimes": (LT, lambda v: fit(regressor(objective="cox"), XT, v)),
    "sample_weight": (WEIGHT, lambda v: fit(regressor(), XT, YT, sample_weight=v)),
    "init_score": (YT, lambda v: fit(regressor(), XT, YT, init_score=v)),
    "qid": (QUERY, lambda v: fit(ranker(), XT, GT, qid=v)),
    "group": (SIZES, lambda v: fit(ranker(), XT, GT, group=v)),
    "groups": (QUERY, lambda v: fit(regressor(folds=3), XT, YT, groups=v)),
    "time": (QUERY, lambda v: fit(regressor(folds=3), XT, YT, time=v)),
    "class_weight": (
        np.arange(4) + 1.0,
        lambda v: fit(classifier(class_weight=dict(enumerate(v))), XT, GT),
    ),
    # Of a Dataset.
    "label": (YT, lambda v: fit(regressor(), Dataset(XT, v))),
    "label of lives": (LT, lambda v: fit(regressor(objective="aft"), Dataset(XT, v))),
    "weight": (WEIGHT, lambda v: fit(regressor(), Dataset(XT, YT, weight=v))),
    "init_score held": (YT, lambda v: fit(regressor(), Dataset(XT, YT, init_score=v))),
    "group held": (SIZES, lambda v: fit(ranker(), Dataset(XT, GT, group=v))),
    "position": (
        QUERY % 4,
        lambda v: fit(ranker(), Dataset(XT, GT, group=SIZES, position=v)),
    ),
    "used_indices": (
        np.arange(40),
        lambda v: fit(regressor(), Dataset(XT, YT, free_raw_data=False).subset(v)),
    ),
    # Of evaluation sets.
    "eval_y": (YT[SOME], lambda v: evaluate(regressor(), YT, eval_y=v)),
    "eval_y of classes": (GT[SOME], lambda v: evaluate(classifier(), GT, eval_y=v)),
    "eval_y of lifetimes": (
        LT[SOME],
        lambda v: evaluate(regressor(objective="aft"), LT, eval_y=v),
    ),
    "eval_sample_weight": (
        WEIGHT[SOME],
        lambda v: evaluate(regressor(), YT, eval_sample_weight=[v]),
    ),
    "eval_init_score": (
        YT[SOME],
        lambda v: evaluate(regressor(), YT, eval_init_score={0: v}),
    ),
    "eval_qid": (
        QUERY[SOME],
        lambda v: evaluate(ranker(), GT, qid=QUERY, eval_qid=[v]),
    ),
    "eval_group": (
        SIZES[: N_VALID // 6],
        lambda v: evaluate(ranker(), GT, qid=QUERY, eval_group=[v]),
    ),
    # Of predictions and scores.
    "times": (np.arange(4) / 2, lambda v: survival(times=v)),
    "strata": (STRATUM, lambda v: survival(strata=v)),
    "q": (
        np.array([0.2, 0.4, 0.5, 0.7]),
        lambda v: COX.predict_quantile(XT, v, strata=STRATUM),
    ),
    "y of score": (YT, lambda v: PLAIN.score(XT, v)),
    "y of concordance": (LT, lambda v: COX.score(XT, v)),
    "sample_weight of score": (WEIGHT, lambda v: PLAIN.score(XT, YT, v)),
    "sample_weight of concordance": (WEIGHT, lambda v: COX.score(XT, LT, v)),
    "qid of score": (QUERY, lambda v: RANKER.score(XT, GT, qid=v)),
    "y of a scorer": (GT, lambda v: ndcg_scorer()(RANKER, XT, v, qid=QUERY)),
    "sample_weight of a scorer": (
        WEIGHT,
        lambda v: ndcg_scorer()(RANKER, XT, GT, qid=QUERY, sample_weight=v),
    ),
    "label of refit": (YT, lambda v: PLAIN.booster_.refit(XT, v).predict(XT)),
    "weight of refit": (
        WEIGHT,
        lambda v: PLAIN.booster_.refit(XT, YT, weight=v).predict(XT),
    ),
}


def nullable(values):
    make = pd.Series if values.ndim == 1 else partial(pd.DataFrame, columns=["e", "t"])
    return make(values).convert_dtypes()


def of_arrow(values):
    return nullable(values).convert_dtypes(dtype_backend="pyarrow")


def masked(values, last=True):
    mask = np.zeros(values.shape, dtype=bool)
    mask[-1] = last
    return np.ma.array(values, mask=mask)


def ending(end, values):
    """Objects, of which the last ones are others."""
    objects = values.astype(object)
    objects[-1] = end
    return objects


def lacking(values):
    values = nullable(values)
    values.iloc[-1] = pd.NA
    return values


@pytest.mark.parametrize("make", [nullable, of_arrow, partial(masked, last=False)])
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_values_of_other_types_are_the_same_values(argument, make):
    values, call = ARGUMENTS[argument]
    np.testing.assert_array_equal(call(make(values)), call(values))


WRONG = {
    "masked": masked,
    "mixed": partial(ending, "a"),
    "None": partial(ending, None),
    "NaN": partial(ending, np.nan),
    "NA": lacking,
}


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element to nan")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("argument", ARGUMENTS)
def test_values_that_are_none_are_errors_that_name_the_argument(argument, wrong):
    values, call = ARGUMENTS[argument]
    name = argument.split()[0]
    with pytest.raises((TypeError, ValueError), match=rf"(^|\W){name}\W"):
        call(WRONG[wrong](values))
