"""Random fits: objectives, data that break assumptions, and options.

A case is drawn from a number. Options come from the table of the package, so a new
option, objective or boosting type joins by itself.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from skgoss import LGBMClassifier, LGBMRanker, LGBMRegressor
from skgoss.objectives.objectives import OBJECTIVES, ObjectiveSpec
from skgoss.parameters.domains import Option
from skgoss.parameters.table import DEFAULTS, OPTIONS
from skgoss.training.boosting_types import BOOSTING_TYPES

RNG = np.random.Generator
Floats = np.ndarray
Options = dict[str, Any]
Matrix = np.ndarray


def number_of(text: str) -> int:
    """A number that looks random, the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())


ESTIMATORS = {"classification": LGBMClassifier, "ranking": LGBMRanker}

# --- Data that break assumptions ------------------------------------------------------

# Of each axis, the values; the first one is the plainest.
DATA: dict[str, tuple[Any, ...]] = {
    "n": (60, 10, 15, 25, 40, 100, 200),
    "columns": ("normal", "few values", "scales", "dependent", "offsets", "zeros"),
    "n_columns": (3, 1, 2, 5),
    "missing": ("none", "some", "some", "most", "together", "whole columns"),
    "rows": ("distinct", "distinct", "repeated"),
    "targets": ("noisy", "exact", "noise", "few values", "outliers", "far from 0"),
    "classes": ("common", "rare"),
    "weights": ("none", "none", "whole", "fractional", "some 0", "six decades"),
    "categories": ("none", "none", "few", "many"),
    "start": ("none", "none", "none", "scores"),
    "outputs": (1, 1, 1, 2),
}


PLAIN: dict[str, Any] = {axis: values[0] for axis, values in DATA.items()}


@dataclass(frozen=True)
class Rows:
    """What a model is fitted to."""

    X: Matrix
    y: Matrix
    weight: Floats | None = None
    query: np.ndarray | None = None
    start: Matrix | None = None
    categories: tuple[int, ...] = ()

    def take(self, rows: np.ndarray) -> Rows:
        """Some of the rows, or some of them several times."""
        parts = {
            name: None if value is None else value[rows]
            for name, value in vars(self).items()
            if name != "categories"
        }
        return replace(self, **parts)


def numbers(kind: str, n: int, n_columns: int, rng: RNG) -> Matrix:
    X = rng.standard_normal((n, n_columns))
    if kind == "few values":
        return np.round(1.5 * X)
    if kind == "scales":
        return np.round(X * 10.0 ** rng.integers(0, 8, n_columns), rng.integers(0, 3))
    if kind == "dependent":
        return X[:, :1] * rng.uniform(1, 100, n_columns) + 10.0 ** -rng.integers(
            2, 9, n_columns
        ) * rng.standard_normal((n, n_columns))
    if kind == "offsets":
        return X + 10.0 ** rng.integers(2, 7, n_columns)
    if kind == "zeros":
        return np.where(rng.random(X.shape) < 0.8, 0.0, X)
    return X


def drop_values(kind: str, X: Matrix, rng: RNG) -> None:
    shares = {"some": (0.1, 0.3, 0.6), "most": (0.6, 0.8, 0.95)}.get(kind, (0.4,))
    share = rng.choice(shares, X.shape[1])
    chosen = rng.random(X.shape[1]) < 0.6
    chosen[rng.integers(X.shape[1])] = True
    if kind == "together":
        X[np.ix_(rng.random(len(X)) < share[0], chosen)] = np.nan
    elif kind == "whole columns":
        X[:, rng.integers(X.shape[1])] = np.nan
    elif kind != "none":
        X[(rng.random(X.shape) < share) & chosen] = np.nan


def signal(kind: str, X: Matrix, rng: RNG) -> Floats:
    """What targets are made of, of about unit size."""
    ranks = np.argsort(np.argsort(X, axis=0), axis=0) / max(1, len(X) - 1)
    Z = np.where(np.isnan(X), 1.5, 3.0 * ranks - 1.5)
    exact = Z[:, 0] + np.sin(2.0 * Z[:, -1]) + 0.5 * (Z[:, 0] > 0) * Z[:, -1]
    noise = rng.standard_normal(len(X))
    if kind == "exact":
        return exact
    return noise if kind == "noise" else exact + 0.4 * noise


def numeric_target(spec: ObjectiveSpec, kind: str, s: Floats, rng: RNG) -> Floats:
    """Targets that the objective is defined for, of any such range."""
    if kind == "outliers":
        s = s.copy()
        s[rng.integers(len(s), size=1 + len(s) // 50)] *= 30.0
    elif kind == "few values":
        s = np.round(1.2 * s)
    unit = 4.0 ** int(rng.integers(-4, 5))
    real = unit * (s + 50.0 if kind == "far from 0" else s)
    large = unit * np.exp(np.clip(s, -6.0, 6.0))
    counts = np.rint(2.0 * np.exp(np.clip(s, -6.0, 6.0)))
    counts[0] = max(counts[0], 1.0)
    for y in (real, large, counts, expit(np.clip(s, -9.0, 9.0))):
        if spec.targets.contains(y).all() and not (
            spec.needs_positive_mean and y.min() < 0
        ):
            # Whole multiples of a power of two: sums with others are exact.
            grid = 2.0**-20 * 2.0 ** np.ceil(np.log2(np.abs(y).max() + 1e-300))
            rounded = np.rint(y / grid) * grid
            return rounded if spec.targets.contains(rounded).all() else y
    raise ValueError(f"no targets are {spec.targets.description}")


def classes(n_classes: int, kind: str, s: Floats) -> np.ndarray:
    levels = np.arange(1, n_classes) / n_classes
    if kind == "rare":
        levels[-1] = 1.0 - 1.5 / len(s)
    y = np.searchsorted(np.quantile(s, levels), s, side="right")
    y[:n_classes] = np.arange(n_classes)
    return y


def weights(kind: str, n: int, rng: RNG) -> Floats | None:
    weight = {
        "none": None,
        "whole": rng.integers(1, 5, n).astype(float),
        "fractional": rng.gamma(1.0, size=n) + 0.05,
        "some 0": rng.choice([0.0, 0.0, 0.5, 1.0, 2.0], n),
        "six decades": 10.0 ** rng.uniform(-3, 3, n),
    }[kind]
    if weight is not None:
        weight[:3] = np.maximum(weight[:3], 1.0)  # rows of all classes
    return weight


@dataclass(frozen=True)
class Case:
    """An objective, data and options, by axis."""

    seed: int
    objective: str
    data: Mapping[str, Any]
    options: Options

    @property
    def spec(self) -> ObjectiveSpec:
        return OBJECTIVES[self.objective]

    def random(self, purpose: str) -> RNG:
        """Random numbers that do not depend on other parts of the case."""
        return np.random.default_rng([self.seed, number_of(purpose)])

    def value(self, name: str) -> Any:
        return self.options.get(name, DEFAULTS[name])

    @property
    def n_classes(self) -> int:
        is_binary = self.objective == "binary"
        return (2 if is_binary else 3) if self.spec.task == "classification" else 0

    def rows(self) -> Rows:
        data, n = self.data, self.data["n"]
        X = numbers(data["columns"], n, data["n_columns"], self.random("columns"))
        if data["rows"] == "repeated":
            rng = self.random("rows")
            X = X[rng.integers(max(2, n // 10), size=n)]
        s = signal(data["targets"], X, self.random("targets"))
        drop_values(data["missing"], X, self.random("missing"))
        categories: tuple[int, ...] = ()
        if data["categories"] != "none":
            most = 3 if data["categories"] == "few" else 12
            codes = self.random("categories").integers(0, most, n).astype(float)
            s = s + 0.5 * np.sin(codes)
            X, categories = np.column_stack([X, codes]), (X.shape[1],)
        y, query = self._target(s)
        start = None
        if data["start"] == "scores" and self.spec.distribution is None:
            n_scores = self.n_classes if self.n_classes > 2 else self.outputs
            start = np.round(self.random("start").standard_normal((n, n_scores)), 3)
            start = start[:, 0] if n_scores == 1 else start
            if self.spec.task == "regression" and self.spec.link == "identity":
                unit = np.abs(y[:, -1] if y.ndim == 2 else y).max()
                start *= 2.0 ** np.round(np.log2(0.1 * unit + 1e-300))
        weight = weights(data["weights"], n, self.random("weights"))
        if query is not None and weight is not None:
            weight = weight[query]
        return Rows(X, y, weight, query, start, categories)

    def _target(self, s: Floats) -> tuple[Matrix, np.ndarray | None]:
        spec, data, rng, n = self.spec, self.data, self.random("y"), len(s)
        if spec.task == "classification":
            return classes(self.n_classes, data["classes"], s), None
        if spec.task == "ranking":
            return classes(4, data["classes"], s), np.arange(n) // 8
        if spec.task == "survival":
            event = rng.random(n) < (0.9 if data["classes"] == "common" else 0.3)
            event[:2] = True, False
            time = 8.0 * np.exp(np.clip(s, -3.0, 3.0))
            return np.column_stack([event, np.ceil(time) + 1.0]), None
        y = numeric_target(spec, data["targets"], s, rng)
        if self.outputs > 1 and not isinstance(self.value("alpha"), list):
            y = np.column_stack([y, y[::-1]])
        return y, None

    @property
    def outputs(self) -> int:
        """The number of targets or quantiles."""
        levels, spec = self.value("alpha"), self.spec
        if isinstance(levels, list):
            return len(levels)
        is_several = spec.task == "regression" and spec.distribution is None
        return self.data["outputs"] if is_several else 1

    def __str__(self) -> str:
        data = {k: v for k, v in self.data.items() if v != PLAIN[k]}
        return f"{self.objective} {data} {self.options}"


# --- Options --------------------------------------------------------------------------

FLOATS = (0.0, 1e-3, 0.1, 0.3, 0.5, 0.9, 1.0, 1.5, 3.0, 10.0)
INTS = (0, 1, 2, 3, 5, 10, 50)


def usual_values(option: Option) -> tuple[Any, ...]:
    """Values of an option other than its default, from its domain."""
    domain = option.domain
    if domain.type == "bool":
        found: tuple[Any, ...] = (True, False)
    elif domain.type.startswith("{"):
        found = tuple(
            sorted({domain.convert(v) for v in ast.literal_eval(domain.type)})
        )
    else:
        is_number = domain.type.split(" or ")[0] in ("int", "float")
        found = (INTS if domain.type.startswith("int") else FLOATS) if is_number else ()
    inside = (v for v in found if domain.convert(v) is not NotImplemented)
    return tuple(v for v in inside if v != option.default)


def _column(rng: RNG, rows: Rows) -> int:
    """A column of numbers."""
    return int(rng.integers(rows.X.shape[1] - len(rows.categories)))


def _inside(rng: RNG, rows: Rows, column: int) -> float:
    """A number in the range of a column."""
    known = rows.X[np.isfinite(rows.X[:, column]), column]
    return float(np.round(np.quantile(known, rng.random()), 2)) if len(known) else 0.0


def _forced_splits(rng: RNG, rows: Rows) -> Any:
    column = _column(rng, rows)
    return {"feature": column, "threshold": _inside(rng, rows, column)}


def _forced_bins(rng: RNG, rows: Rows) -> Any:
    column = _column(rng, rows)
    bounds = {_inside(rng, rows, column) for _ in range(2)}
    return [{"feature": column, "bin_upper_bound": sorted(bounds)}]


def _by_column(*values: Any) -> Callable[[RNG, Rows], Any]:
    return lambda rng, rows: {
        _column(rng, rows): values[rng.integers(len(values))] for _ in range(2)
    }


def _sets(rng: RNG, rows: Rows) -> Any:
    columns = rng.permutation(rows.X.shape[1]).tolist()
    return [columns[:2], columns[1:] or columns]


def _one_of(*values: Any) -> Callable[[RNG, Rows], Any]:
    return lambda rng, rows: values[rng.integers(len(values))]


def _class_weight(rng: RNG, rows: Rows) -> Any:
    return {k: float(rng.choice([0.25, 1.0, 3.0])) for k in np.unique(rows.y).tolist()}


# What options get that are not drawn from their domains.
OWN: dict[str, Callable[[RNG, Rows], Any]] = {
    "n_estimators": _one_of(3, 8, 20, 30),
    "learning_rate": _one_of(0.05, 0.3, 0.5, 1.0),
    "num_leaves": _one_of(2, 4, 6, 12),
    "min_child_samples": _one_of(1, 3, 6, 12),
    "colsample_bytree": _one_of(0.4, 0.7),
    "feature_fraction_bynode": _one_of(0.4, 0.7),
    "boosting_type": _one_of(*BOOSTING_TYPES),
    "top_rate": _one_of(0.1, 0.3),
    "other_rate": _one_of(0.1, 0.5),
    "max_depth": _one_of(1, 2, 4),
    "max_bin": _one_of(3, 8, 30),
    "subsample_for_bin": _one_of(20, 50),
    "min_split_gain": _one_of(0.01, 0.5),
    "random_state": _one_of(1, 2),
    "forcedsplits_filename": _forced_splits,
    "forcedbins_filename": _forced_bins,
    "max_bin_by_feature": _by_column(3, 10),
    "feature_contri": _by_column(0.0, 0.5, 2.0),
    "monotone_constraints": _by_column(1, -1),
    "interaction_constraints": _sets,
    "class_weight": _class_weight,
}

# Those that depend on what reads them.
LEVELS = (0.1, 0.5, 0.9, [0.2, 0.7])
OF_OBJECTIVE: dict[tuple[str, str], tuple[Any, ...]] = {
    ("expectile", "alpha"): (0.1, 0.5, 0.9),
    ("quantile", "alpha"): LEVELS,
}

_DATA = "it is an axis of the data"
_TEST = "its tests compare all threads, stores and orders"
_MODEL = "no model depends on it"
_CHOICE = "it chooses rounds or models by other rows, which a fit alone does not have"
_METRIC = "no model depends on metrics without early stopping"

# Options that are in no case, and why.
WITHOUT: dict[str, str] = {
    "objective": "each case has one",
    "preset": "the cases of presets are others",
    "categorical_feature": _DATA,
    "n_jobs": _TEST,
    "early_stopping_round": _CHOICE,
    "validation_fraction": _CHOICE,
    "refit": _CHOICE,
    "folds": _CHOICE,
    "first_metric_only": _CHOICE,
    "early_stopping_min_delta": _CHOICE,
    "metric": _METRIC,
    "multi_error_top_k": _METRIC,
    "auc_mu_weights": _METRIC,
    "eval_at": _METRIC,
    "label_gain": "the gains of NDCG have tests of their own",
    "lambdarank_position_bias_regularization": "only a Dataset has positions",
    "importance_type": _MODEL,
    "verbosity": _MODEL,
    "warm_start": "a first fit has nothing to continue from",
    "time_limit": "it ends by the clock",
    "date_features": "the columns of cases are not dates",
    "memory_limit": "it raises an error, or has no effect",
    "pair_features": "its tests compare it with a fit of the same columns",
}

# Each is in about so large a part of the cases; others in RARELY.
OFTEN: dict[str, float] = {
    **dict.fromkeys(("n_estimators", "num_leaves", "min_child_samples"), 0.9),
    "learning_rate": 0.9,
    "linear_tree": 0.5,
    "boosting_type": 0.2,
    "extra_trees": 0.2,
    "data_sample_strategy": 0.1,
    "subsample": 0.2,
    "monotone_constraints": 0.15,
    "reg_lambda": 0.2,
}
RARELY = 0.05

_READERS: dict[str, set[str]] = {}
for _name, _spec in OBJECTIVES.items():
    for _option in _spec.options:
        _READERS.setdefault(_option, set()).add(_name)


def value_of(option: Option, objective: str, rng: RNG, rows: Rows) -> Any:
    """A value of an option for some rows."""
    given = OF_OBJECTIVE.get((objective, option.name))
    if given is None and option.name in OWN:
        return OWN[option.name](rng, rows)
    given = usual_values(option) if given is None else given
    return given[rng.integers(len(given))]


def drawn_options(objective: str, seed: int, rows: Rows) -> Options:
    options: Options = {}
    for option in OPTIONS:
        name, readers = option.name, _READERS.get(option.name)
        often = OFTEN.get(name, 0.4 if readers else RARELY)
        # A new option does not change what others get.
        number = number_of(f"{name} {seed}")
        is_read = readers is None or objective in readers
        if name not in WITHOUT and is_read and number < often * 2.0**32:
            rng = np.random.default_rng(number)
            options[name] = value_of(option, objective, rng, rows)
    return options


# What cannot be together, and which option is left out then.
CONTRADICTIONS: tuple[tuple[Callable[[Case], Any], str], ...] = (
    (lambda c: c.spec.task != "classification", "class_weight"),
    (lambda c: c.n_classes < 3, "multi_strategy"),
    (lambda c: c.spec.renewal_level, "linear_tree"),
    (lambda c: c.value("zero_as_missing"), "linear_tree"),
    (lambda c: c.value("zero_as_missing"), "monotone_constraints"),
    (lambda c: c.value("linear_tree"), "monotone_constraints"),
    (
        lambda c: c.spec.distribution and c.value("boosting_type") == "rf",
        "boosting_type",
    ),
    (lambda c: c.value("is_unbalance"), "scale_pos_weight"),
    (lambda c: c.value("multi_strategy") == "multi_output_tree", "path_smooth"),
    (
        lambda c: c.value("multi_strategy") == "multi_output_tree",
        "monotone_constraints",
    ),
    (lambda c: is_sampled_by_gradient(c), "subsample_freq"),
)
_BY_NAME = {option.name: option for option in OPTIONS}
_OF_LABELS = {"is_unbalance", "scale_pos_weight"}


def is_sampled_by_gradient(case: Case) -> bool:
    return case.value("data_sample_strategy") == "goss"


def uses_bags(case: Case) -> bool:
    names = "subsample", "pos_bagging_fraction", "neg_bagging_fraction"
    is_less = min(map(case.value, names)) < 1
    return case.value("subsample_freq") > 0 and is_less


def known(case: Case) -> dict[str, Any]:
    """The options, and what else options may need, by name."""
    n_categories = {"none": 0, "few": 3, "many": 12}[case.data["categories"]]
    return (
        DEFAULTS
        | case.options
        | {
            "categories": n_categories,
            "holds rows out": False,
            "positions": False,
            "queries": case.spec.task == "ranking",
        }
    )


def add_needs(case: Case) -> None:
    """Add what options need, where the need says which value."""
    for name in case.options.copy():
        for need in _BY_NAME[name].needs:
            words = re.fullmatch(r"(\w+) ?(=|<) ?(.+)", need.text)
            if words is not None and not need.is_met(known(case)):
                value = ast.literal_eval(words[3])
                case.options.setdefault(words[1], value if words[2] == "=" else 0.7)


def settled(case: Case) -> Case:
    """The case without contradictions, and with what its options need."""
    options = dict(case.options)
    case = replace(case, options=options)
    add_needs(case)
    is_whole = not is_sampled_by_gradient(case) and case.value("colsample_bytree") == 1
    if case.value("boosting_type") == "rf" and is_whole:
        options |= {"subsample": 0.7, "subsample_freq": 1}
    for contradict, name in CONTRADICTIONS:
        if name in options and contradict(case):
            del options[name]
    for name in case.options.copy():
        if not all(need.is_met(known(case)) for need in _BY_NAME[name].needs):
            del options[name]
    return case


def draw(number: int) -> Case:
    """The case of a number: each objective has one in turn."""
    seed, index = divmod(number, len(OBJECTIVES))
    return drawn(list(OBJECTIVES)[index], seed)


def drawn(objective: str, seed: int) -> Case:
    """A case of an objective."""
    seed = number_of(f"{objective} {seed}")
    rng = np.random.default_rng(seed)
    data = {axis: values[rng.integers(len(values))] for axis, values in DATA.items()}
    # Most cases break few assumptions: failures have few reasons.
    for axis in DATA:
        if rng.random() < 0.3:
            data[axis] = PLAIN[axis]
    case = Case(seed, objective, data, {})
    return settled(replace(case, options=drawn_options(objective, seed, case.rows())))


# --- Fits -----------------------------------------------------------------------------

BASE: Options = {
    "n_jobs": 1,
    "n_estimators": 12,
    "num_leaves": 5,
    "min_child_samples": 3,
}


def fitted(case: Case, rows: Rows, options: Options, **names: Any) -> Any:
    """A model of the case's objective. Warnings of NumPy are errors."""
    estimator = ESTIMATORS.get(case.spec.task, LGBMRegressor)
    model = estimator(objective=case.objective, **BASE | options)
    given = {"sample_weight": rows.weight, "init_score": rows.start, "qid": rows.query}
    given = {name: value for name, value in given.items() if value is not None}
    if rows.categories:
        given["categorical_feature"] = list(rows.categories)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return model.fit(rows.X, rows.y, **given, **names)


def raw_scores(model: Any, X: Matrix, **part: int) -> Matrix:
    """The raw scores of rows, (n, n_scores)."""
    raw = model.predict(X, raw_score=True, **part)
    return raw.reshape(len(X), -1)


def new_rows(rows: Rows, rng: RNG) -> Matrix:
    """Rows whose columns are those of different training rows."""
    order = [rng.permutation(len(rows.X)) for _ in range(rows.X.shape[1])]
    return np.stack([rows.X[at, j] for j, at in enumerate(order)], axis=1)


class Trial:
    """A case and what several invariants need of it."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def rows(self) -> Rows:
        return self.case.rows()

    @cached_property
    def points(self) -> Matrix:
        """Where models are compared."""
        return np.concatenate([self.rows.X, new_rows(self.rows, self.random("points"))])

    def random(self, purpose: str) -> RNG:
        return self.case.random(purpose)

    def fit(self, rows: Rows, options: Options | None = None, **names: Any) -> Any:
        options = self.case.options if options is None else options
        return fitted(self.case, rows, options, **names)

    @cached_property
    def model(self) -> Any:
        return self.fit(self.rows)

    @cached_property
    def raw(self) -> Matrix:
        return raw_scores(self.model, self.points)

    def instability(self, rows: Rows, options: Options, size: float = 1e-11) -> Floats:
        """By how much rounding errors change the scores of a fit, (n_scores,).

        Weights differ by as little. Where splits are equally good, the models may
        differ by more.
        """
        rng, found = self.random("instability"), []
        ones = np.ones(len(rows.X)) if rows.weight is None else rows.weight
        for _ in range(4):
            factor = 1.0 + size * rng.uniform(-1, 1, len(ones))
            if rows.query is not None:
                factor = factor[rows.query]
            model = self.fit(replace(rows, weight=ones * factor), options)
            found.append(raw_scores(model, self.points))
        return np.abs(np.array(found[1:]) - found[0]).max(axis=(0, 1))

    def is_unlike(
        self,
        found: Matrix,
        expected: Matrix,
        rows: Rows | None = None,
        options: Options | None = None,
    ) -> str | None:
        """Whether scores differ by more than rounding explains.

        ``rows`` and ``options`` are those of ``expected``; None: those of the case.
        """
        # Scores of constants have no range, but come from derivatives in float32.
        size = np.ptp(expected, axis=0).max() + 1e-2 * np.abs(expected).max()
        gap = np.abs(found - expected).max(axis=0)
        if (gap <= 1e-5 * size).all():
            return None
        rows = self.rows if rows is None else rows
        options = self.case.options if options is None else options
        if (gap <= 1e-5 * size + 3.0 * self.instability(rows, options)).all():
            return None
        return f"scores differ by {gap.max():.2g}, their range is {size:.2g}"


# --- Less of a case -------------------------------------------------------------------


def simpler(case: Case) -> Iterator[Case]:
    """The case with one part less."""
    for name in case.options:
        rest = {k: v for k, v in case.options.items() if k != name}
        yield settled(replace(case, options=rest))
    for axis, value in PLAIN.items():
        if case.data[axis] != value:
            yield settled(replace(case, data={**case.data, axis: value}))
