"""Work on names grows with the number of columns, and not with its square.

Clocks cannot tell in a test. So names count how often they are compared: a list that is
searched for each column compares all names with all others.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from skgoss import Dataset, LGBMRegressor, cv, train
from skgoss.sources import arrow_sources, text_files
from skgoss.sources.text_files import FileOptions

pd = pytest.importorskip("pandas")

SMALL = {"n_estimators": 2, "num_leaves": 3, "min_child_samples": 5, "n_jobs": 1}
N = 40
WIDTHS = (50, 200)


class Name(str):
    """A name that counts comparisons; those with itself cost nothing in a dict."""

    __slots__ = ()
    n_compared = 0

    def __eq__(self, other):
        Name.n_compared += 1
        return str.__eq__(self, other)

    def __ne__(self, other):
        Name.n_compared += 1
        return str.__ne__(self, other)

    __hash__ = str.__hash__


Name.__qualname__ = "str"  # scikit-learn takes no other names


def frame(n_columns, seed=0):
    values = np.random.default_rng(seed).normal(size=(N, n_columns)).round(1)
    names = [Name(f"x{j}") for j in range(n_columns)]
    return pd.DataFrame(values, columns=pd.Index(names, dtype=object))


def option(**makers):
    """A fit with options that are made of the names."""

    def run(X, y):
        names = list(X.columns)
        options = {key: make(names) for key, make in makers.items()}
        LGBMRegressor(**SMALL, **options).fit(X, y)

    return run


def predictions(X, y):
    model = LGBMRegressor(**SMALL).fit(X, y, eval_set=[(X, y)])
    model.predict(X)
    model.predict(X, pred_contrib=True)
    model.booster_.predict(X, validate_features=True)
    model.booster_.refit(X, y)
    model.booster_.feature_name()
    LGBMRegressor(**SMALL).fit(X, y, init_model=model)


def data_sets(X, y):
    names = list(X.columns)
    data = Dataset(X, y, free_raw_data=False)
    train(SMALL, data, 2, valid_sets=[Dataset(X, y, reference=data)])
    train(SMALL, data.subset(range(30)), 2)
    cv(SMALL, data, 2, nfold=2)
    train(SMALL, Dataset(X.to_numpy(), y, feature_name=names), 2)
    numbers = np.abs(X.to_numpy() * 10).astype(int)
    data = Dataset(numbers, y, feature_name=names, categorical_feature=names[::7])
    train(SMALL, data, 2)


def categories(X, y):
    words = X.astype({name: "category" for name in X.columns[::5]})
    model = LGBMRegressor(**SMALL).fit(words, y)
    model.predict(words)
    model.booster_.predict(words)
    numbers = X.abs().mul(10).astype(int)
    LGBMRegressor(**SMALL, categorical_feature=list(X.columns[::7])).fit(numbers, y)


RUNS = {
    "predictions": predictions,
    "data_sets": data_sets,
    "categories": categories,
    "monotone": option(monotone_constraints=lambda names: dict.fromkeys(names, 1)),
    "pairs": option(
        interaction_constraints=lambda names: list(
            map(list, zip(names[::2], names[1::2], strict=True))
        )
    ),
    "all": option(interaction_constraints=lambda names: [names]),
    "bins": option(max_bin_by_feature=lambda names: dict.fromkeys(names, 9)),
    "forced": option(forcedbins_filename=lambda names: {key: [0.0] for key in names}),
    "contri": option(feature_contri=lambda names: dict.fromkeys(names, 0.9)),
    "split": option(
        forcedsplits_filename=lambda names: {"feature": names[-1], "threshold": 0.0}
    ),
    "folds": option(folds=lambda names: 2, early_stopping_round=lambda names: 2),
    "linear": option(linear_tree=lambda names: True),
}


@pytest.mark.parametrize("run", RUNS)
def test_names_are_compared_a_few_times_each(run):
    counts = []
    for n_columns in WIDTHS:
        X = frame(n_columns)
        y = X.iloc[:, 0].to_numpy() + X.iloc[:, -1].to_numpy()
        Name.n_compared = 0
        RUNS[run](X, y)
        counts.append(Name.n_compared)
    few, many = counts
    assert many < 5 * few + 300  # a search of each in a list compares 20,000 times


def test_columns_of_files_are_found_by_a_dict(pyarrow):
    """Of files, whose names are strings of their own."""
    n_columns = 300
    names = [Name(f"x{j}") for j in range(n_columns)]

    class Schema:
        def __init__(self, names):
            self.names, self.types = names, [pyarrow.float64()] * len(names)

    class Batch:
        schema = Schema(names)
        columns = [pyarrow.array([1.0])] * n_columns
        num_rows = 1

    wanted = Schema([Name(name) for name in reversed(names)])
    Name.n_compared = 0
    table = arrow_sources._conformed(Batch(), wanted, {})
    assert table.column_names == wanted.names
    assert Name.n_compared < 10 * n_columns


def test_options_of_text_files_find_columns_by_a_dict():
    n_columns = 300
    names = [Name(f"x{j}") for j in range(n_columns)]
    table = SimpleNamespace(is_libsvm=False, names=names, width=n_columns)
    ignored = [Name(name) for name in names[2::2]]
    options = FileOptions(True, label_column=("x0",), ignore_column=tuple(ignored))
    Name.n_compared = 0
    layout = text_files._layout(table, options, n_columns)
    assert Name.n_compared < 10 * n_columns
    assert layout.cleared == list(range(1, n_columns - 1, 2))
    assert layout.names == names[1:]
