"""Pairs of features, each against a second path to the same model.

A row of the table is a feature that makes a fit run another way, with the second path
that it must agree with; a column is what the fit learns or is asked for.

=============  =====================================================================
row            second path
=============  =====================================================================
``folds``      the mean of fits to the rows of each fold
``preset``     a fit with the options that it has chosen
its kinds      the mean of fits with the options of each kind, with its weight
``refit``      a fit of the winner to all rows: here the second kind wins
streams        the same rows in memory
subsets        a ``Dataset`` of the rows, in the same bins
copies         whole weights, and as many copies of the rows
followed       the raw scores that metrics see after the last round, and predictions
=============  =====================================================================

Pairs that are tested elsewhere are not repeated: ``folds`` with goss, dart, forests,
linear leaves, quantiles of one level and groups (`several_fits/test_folds.py`); several
outputs with goss, dart, forests, linear leaves, weights, `init_model` and an output
that ends early (`training/test_multi_output.py`, `fit/test_quantiles.py`), and rolled
back (`fit/test_quantiles.py`); presets with passed options, `init_model` and
`init_score` (`parameters/test_presets.py`); copies for linear leaves
(`model/test_linear.py`); subsets of subsets (`binning/test_subsets.py`).
"""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

import skgoss
from helpers.sequences import Rows
from skgoss import Dataset, LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.parameters import presets
from skgoss.sources import source

N_ROWS, N_QUERIES = 120, 12
ROUNDS = 4
SMALL = {"num_leaves": 4, "min_child_samples": 5, "verbosity": -1, "n_jobs": 1}

RNG = np.random.default_rng(4)
X = RNG.normal(size=(N_ROWS, 4)).round(2)
X[::9, 1] = np.nan
Y = X[:, 0] + (X[:, 3] > 0.2) + RNG.normal(size=N_ROWS)
NOISE = np.random.default_rng(12).normal(size=N_ROWS)
GRADES = np.clip(np.rint(Y + 1), 0, 3)
QUERY = np.repeat(np.arange(N_QUERIES), N_ROWS // N_QUERIES)
WEIGHT = RNG.integers(0, 4, N_ROWS).astype(float)
HALVES = [np.flatnonzero(k == QUERY % 2) for k in (0, 1)]
FOLDS = [(HALVES[1], HALVES[0]), (HALVES[0], HALVES[1])]

# Each: options, fields of the data, and whether training continues from a model.
COLUMNS = {
    "plain": {},
    "goss": {"options": {"data_sample_strategy": "goss", "learning_rate": 0.5}},
    "dart": {"options": {"boosting_type": "dart", "skip_drop": 0.0, "drop_rate": 0.5}},
    "rf": {"options": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}},
    "ranker": {
        "options": {"objective": "lambdarank"},
        "label": GRADES,
        "group": np.bincount(QUERY),
    },
    "weighted ranker": {
        "options": {"objective": "rank_xendcg"},
        "label": GRADES,
        "group": np.bincount(QUERY),
        "weight": (1.0 + QUERY % 3),
    },
    "init_model": {"goes_on": True},
    "init_score": {"init_score": X[:, 0]},
    "weights go on": {"goes_on": True, "weight": WEIGHT},
    "weights": {"weight": WEIGHT},
    "all missing": {"missing": [2]},
    "nothing to learn": {"missing": [0, 1, 2, 3]},
    "ends early": {"options": {"min_split_gain": 8.0}},
    "linear": {"options": {"linear_tree": True}},
    "linear goes on": {"options": {"linear_tree": True}, "goes_on": True},
    "quantiles": {"options": {"objective": "quantile", "alpha": [0.1, 0.6]}},
    "quantile ends early": {
        "options": {"objective": "quantile", "alpha": [0.02, 0.6], "min_split_gain": 1}
    },
}


def make(name, **more):
    """The data and options of a column."""
    column = {"options": {}, "label": Y, "missing": [], "goes_on": False}
    column |= COLUMNS[name] | more
    options, missing = column.pop("options"), column.pop("missing")
    rows = X.copy()
    rows[:, missing] = np.nan
    params = {"objective": "regression", **SMALL, **options}
    init_model = None
    if column.pop("goes_on"):
        first = params | {"num_leaves": 3}
        init_model = skgoss.train(first, Dataset(rows, column["label"]), 2)
    return SimpleNamespace(X=rows, fields=column, params=params, init_model=init_model)


def data(case, **more):
    return Dataset(case.X, **case.fields, free_raw_data=False, **more)


def fit(case, rows=None, n_rounds=ROUNDS, **options):
    rows = data(case) if rows is None else rows
    params = case.params | options
    return skgoss.train(params, rows, n_rounds, init_model=case.init_model)


def start_scores(case):
    """The start scores; predictions do not include them, `init_model` replaces them."""
    scores = case.fields.get("init_score")
    return np.zeros(N_ROWS) if scores is None or case.init_model else scores


def raw(booster, case):
    return booster.predict(case.X, raw_score=True)


pytestmark = pytest.mark.filterwarnings(
    "ignore:No tree of",
    "ignore:Early stopping is not available",
    "ignore:.*init_score has no effect with init_model",
)


# --- Folds and presets ----------------------------------------------------------------


ON_FOLDS = [name for name in COLUMNS if name not in ("plain", "goss", "dart", "linear")]


@pytest.mark.parametrize("column", ON_FOLDS)
def test_folds_are_the_mean_of_fits_to_their_rows(column):
    case = make(column)
    whole = data(case)
    joint = fit(case, folds=FOLDS, early_stopping_round=0)
    alone = [fit(case, whole.subset(train)) for train, _ in FOLDS]
    mean = np.mean([raw(booster, case) for booster in alone], axis=0)
    np.testing.assert_allclose(raw(joint, case), mean, rtol=1e-12, atol=1e-15)
    # Predictions out of fold are those of the other model, with its start scores.
    found = joint._model.out_of_fold.scores
    start = start_scores(case)
    for booster, (_, test) in zip(alone, FOLDS, strict=True):
        expected = raw(booster, case)[test].reshape(len(test), -1)
        expected = expected + start[test, None]
        np.testing.assert_allclose(found[test], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_preset_is_a_fit_with_the_options_that_it_has_chosen(column):
    case = make(column)
    if column in ("weights", "ranker"):
        # The preset finds the number of rounds, too.
        params = case.params | {"preset": "accurate"}
        found = skgoss.train(params, data(case))
        n_rounds = found._model.preset_params["n_estimators"]
    else:
        found, n_rounds = fit(case, preset="accurate"), ROUNDS
    chosen = dict(found._model.preset_params)
    chosen.pop("n_estimators", None)
    assert not chosen.keys() & case.params.keys()
    expected = fit(case, n_rounds=n_rounds, **chosen)
    np.testing.assert_array_equal(raw(found, case), raw(expected, case))


def members(booster):
    """The weights, options and rounds of the sets whose mean a preset keeps."""
    model = booster._saved_model()
    chosen, results = model.preset_params, model.search
    assert not chosen.keys() & SMALL.keys()  # what was passed stays
    base = {n: v for n, v in presets._ACCURATE_ON_FOLDS.items() if n in chosen}
    base.pop("early_stopping_round", None)
    if not results:
        return [(1.0, base, ROUNDS)]
    base["early_stopping_round"] = 0  # all folds of a set have as many rounds
    sets = zip(results["weight"], results["params"], results["n_rounds"], strict=True)
    return [(w, base | options, round(n)) for w, options, n in sets if w]


ON_KINDS = ["goss", "dart", "rf", "ranker", "weights", "weights go on"]
ON_KINDS += ["all missing", "linear", "quantiles", "quantile ends early", "init_score"]


@pytest.mark.parametrize("column", ON_KINDS)
def test_folds_of_a_preset_are_the_weighted_mean_of_its_kinds(column):
    case = make(column)
    found = fit(case, preset="accurate", folds=FOLDS)
    expected = sum(
        weight * raw(fit(case, n_rounds=n_rounds, **options, folds=FOLDS), case)
        for weight, options, n_rounds in members(found)
    )
    np.testing.assert_allclose(raw(found, case), expected, rtol=1e-9, atol=1e-12)


WINNER = ["goss", "dart", "rf", "weights", "all missing", "linear", "quantiles"]
WINNER += ["init_model", "init_score"]


@pytest.mark.parametrize("column", WINNER)
def test_refit_fits_the_best_kind_to_all_rows(column):
    case = make(column, label=NOISE)
    found = fit(case, preset="accurate", folds=FOLDS, refit=True)
    [(weight, options, _)] = members(found)
    assert weight == 1.0
    # Dropout and forests have one kind; the first one wins two other times.
    has_second = column not in ("dart", "rf", "init_score", "linear")
    assert options["extra_trees"] is has_second
    n_rounds = found.current_iteration() - (2 if case.init_model else 0)
    expected = fit(case, n_rounds=n_rounds, **options)
    np.testing.assert_array_equal(raw(found, case), raw(expected, case))
    # Files say with which options the trees were grown.
    assert f"[extra_trees: {int(has_second)}]" in found.model_to_string()


GROUPED = {
    "targets": ({}, np.column_stack([Y, NOISE])),
    "quantiles": ({"objective": "quantile", "alpha": [0.1, 0.6]}, Y),
    "linear": ({"linear_tree": True}, Y),
    "preset": ({"preset": "accurate"}, Y),
}


@pytest.mark.parametrize("kind", GROUPED)
def test_groups_are_in_one_fold(kind):
    options, y = GROUPED[kind]
    # Rows of weight 0 have no influence on the folds, but are in that of their group.
    kept = np.flatnonzero(WEIGHT)
    tested = [
        np.isin(QUERY, QUERY[kept][test])
        for _, test in GroupKFold(3).split(kept, groups=QUERY[kept])
    ]
    found, expected = (
        LGBMRegressor(**SMALL, **options, n_estimators=ROUNDS, folds=folds)
        .fit(X, y, sample_weight=WEIGHT, **more)
        .oof_prediction_
        for folds, more in (
            (3, {"groups": QUERY}),
            ([(~test, test) for test in tested], {}),
        )
    )
    np.testing.assert_array_equal(found, expected)


# --- Rows -----------------------------------------------------------------------------


def test_rows_of_weight_zero_do_not_fill_a_column(monkeypatch):
    """A column that is zero in all other rows but three is left out."""
    monkeypatch.setattr(source, "BATCH_VALUES", 4 * 30)
    is_filled = (WEIGHT == 0) | (np.arange(N_ROWS) % 50 == 7)
    rows = np.column_stack([X[:, :2], np.where(is_filled, X[:, 3] + 9.0, 0.0)])
    one, other = (
        skgoss.train(SMALL, Dataset(values, Y, weight=WEIGHT), ROUNDS).model_to_string()
        for values in ([Rows(rows[:50], 17), Rows(rows[50:], 17)], rows)
    )
    assert other.split("feature_infos=")[1].split()[2] == "none"
    assert one == other


# Kinds of fits, in addition to kinds of columns.
MORE = {
    "folds": {"folds": FOLDS},
    "preset": {"preset": "accurate"},
    "kinds": {"preset": "accurate", "folds": FOLDS},
    "early stopping": {"early_stopping_round": 2},
}


@pytest.mark.parametrize("column", [*COLUMNS, *MORE])
def test_rows_in_batches_are_rows_in_memory(column, monkeypatch):
    monkeypatch.setattr(source, "BATCH_VALUES", 4 * 30)
    case = make(column if column in COLUMNS else "weights")
    streamed = Dataset(
        [Rows(case.X[:50], 17), Rows(case.X[50:], 17)],
        **case.fields,
        free_raw_data=False,
    )
    options = MORE.get(column, {})
    one, other = (fit(case, rows, **options) for rows in (streamed, data(case)))
    np.testing.assert_array_equal(raw(one, case), raw(other, case))


@pytest.mark.parametrize("column", [*COLUMNS, *MORE])
def test_a_subset_is_a_dataset_of_its_rows(column):
    case = make(column if column in COLUMNS else "weights")
    whole = data(case)
    rows = np.flatnonzero(QUERY % 3 > 0)
    fields = {
        name: values[rows] for name, values in case.fields.items() if name != "group"
    }
    if "group" in case.fields:
        fields["group"] = case.fields["group"][np.unique(QUERY[rows])]
    again = Dataset(case.X[rows], **fields, reference=whole, free_raw_data=False)
    options = dict(MORE.get(column, {}))
    if "folds" in options:
        options["folds"] = 3
    one, other = (fit(case, rows, **options) for rows in (whole.subset(rows), again))
    np.testing.assert_array_equal(raw(one, case), raw(other, case))


# --- Weights and scores ---------------------------------------------------------------


COPIED = {
    "dart": {},
    "init_model": {},
    "init_score": {},
    "all missing": {},
    "quantiles": {},
    "quantile ends early": {},
    "folds": {"early_stopping_round": 0},
    "kinds": {"preset": "accurate", "early_stopping_round": 0, "subsample": 1.0},
}


@pytest.mark.parametrize("column", COPIED)
def test_weights_are_copies(column):
    exact = {"min_child_samples": 1, "min_data_in_bin": 1, **COPIED[column]}
    case = make(column if column in COLUMNS else "plain")
    copies = np.repeat(np.arange(N_ROWS), WEIGHT.astype(int))
    copied = {name: values[copies] for name, values in case.fields.items()}
    found = []
    for is_copied, rows in (
        (False, data(case, weight=WEIGHT)),
        (True, Dataset(case.X[copies], **copied)),
    ):
        options = dict(exact)
        if column in ("folds", "kinds"):
            numbers = copies if is_copied else np.arange(N_ROWS)
            options["folds"] = [
                tuple(np.flatnonzero(np.isin(numbers, part)) for part in pair)
                for pair in FOLDS
            ]
        found.append(raw(fit(case, rows, **options), case))
    np.testing.assert_allclose(*found, rtol=1e-12)


@pytest.mark.parametrize("linear", [False, True])
def test_one_class_against_the_others_is_a_binary_fit(linear):
    """Each class has weights of its own."""
    label = np.digitize(X[:, 0] + 0.5 * NOISE, [-0.8, 0.4])
    options = {**SMALL, "n_estimators": ROUNDS, "linear_tree": linear}
    model = LGBMClassifier(objective="multiclassova", is_unbalance=True, **options)
    found = model.fit(X, label).predict_proba(X, raw_score=True)
    for k, scores in enumerate(found.T):
        alone = LGBMClassifier(is_unbalance=True, **options).fit(X, label == k)
        np.testing.assert_array_equal(scores, alone.predict(X, raw_score=True))


@pytest.mark.parametrize("column", COLUMNS)
def test_scores_that_are_followed_are_predicted(column):
    case = make(column)
    seen = {}

    def scores(predictions, rows):
        seen[rows.num_data()] = predictions
        return "none", 0.0, True

    training, some = data(case), np.arange(30)
    fields = {
        n: case.fields[n][some] for n in ("label", "init_score") if n in case.fields
    }
    if "group" in case.fields:
        fields["group"] = case.fields["group"][:3]
    valid = Dataset(case.X[some], **fields, reference=training)
    booster = skgoss.train(
        case.params | {"metric": "None"},
        training,
        ROUNDS,
        valid_sets=[training, valid],
        feval=scores,
        init_model=case.init_model,
    )
    expected = raw(booster, case)
    if column.startswith("quantile"):
        expected = np.sort(expected)
    expected = (expected.T + start_scores(case)).T
    np.testing.assert_allclose(seen[30], expected[some], rtol=1e-9, atol=1e-12)
    if "weight" not in case.fields:
        np.testing.assert_allclose(seen[N_ROWS], expected, rtol=1e-9, atol=1e-12)


# --- What is refused ------------------------------------------------------------------


REFUSED = {
    "a forest goes on": (
        lambda: fit(make("init_model"), **COLUMNS["rf"]["options"]),
        r"init_model cannot be used with random forests \(boosting_type='rf'\)",
    ),
    "linear quantiles": (
        lambda: fit(make("quantiles"), linear_tree=True),
        "linear_tree must be False for objective='quantile'",
    ),
    "linear quantiles on folds": (
        lambda: fit(make("quantiles"), linear_tree=True, folds=FOLDS),
        "linear_tree must be False for objective='quantile'",
    ),
    "a ranker of several targets": (
        lambda: LGBMRanker(**SMALL).fit(X, np.column_stack([GRADES] * 2), qid=QUERY),
        "y should be a 1d array",
    ),
    "a ranker of quantiles": (
        lambda: fit(make("ranker"), alpha=[0.1, 0.9]),
        "'alpha' parameter .* must be a number for objective='lambdarank'",
    ),
    "groups without folds": (
        lambda: LGBMRegressor(**SMALL).fit(X, Y, groups=QUERY),
        "groups needs the option folds or preset",
    ),
    "groups of other rows": (
        lambda: LGBMRegressor(**SMALL, folds=2).fit(
            Dataset(X, Y).subset(np.arange(60)), groups=QUERY
        ),
        "groups must have one value for each of the 60 rows",
    ),
    "folds of an evaluation set": (
        lambda: LGBMRegressor(**SMALL, folds=2).fit(X, Y, eval_set=[(X, Y)]),
        "eval_set cannot be used with folds=2",
    ),
    "intervals without initial scores": (
        lambda: (
            LGBMRegressor(**SMALL, folds=2)
            .fit(X, Y, init_score=X[:, 0])
            .predict_interval(X)
        ),
        "init_score",
    ),
    "one query, several folds": (
        lambda: fit(make("ranker", group=[N_ROWS]), folds=2, early_stopping_round=0),
        "folds=2 needs at least 2 queries",
    ),
}


@pytest.mark.parametrize("pair", REFUSED)
def test_refused(pair):
    call, message = REFUSED[pair]
    with pytest.raises(ValueError, match=message):
        call()
