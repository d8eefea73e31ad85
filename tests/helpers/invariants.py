"""Invariants of fits: what must hold whatever the data and the options are.

An invariant is a function of a random fit that tells what does not hold. `EXCEPTIONS`
has the cases that it says nothing about, with the reasons.

``python -m helpers.invariants FIRST STOP [INVARIANT ...]`` in `tests` tries the cases
of some numbers. It prints failing cases without what they do not need, and how many
hold.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax, softplus

from helpers.random_fits import (
    RNG,
    Case,
    Floats,
    Matrix,
    Options,
    Rows,
    Trial,
    draw,
    is_sampled_by_gradient,
    new_rows,
    raw_scores,
    simpler,
    uses_bags,
)
from skgoss.model.ensemble import Tree
from skgoss.objectives.objectives import OBJECTIVES
from skgoss.objectives.survival import COX, PartialLikelihood
from skgoss.parameters.settings import make_settings
from skgoss.parameters.table import DEFAULTS
from skgoss.training import sampling


def other_bits(found: Matrix, expected: Matrix) -> str | None:
    if np.array_equal(found, expected, equal_nan=True):
        return None
    gap, size = np.abs(found - expected).max(), np.ptp(expected, axis=0).max()
    return f"other bits: scores differ by {gap:.2g}, their range is {size:.2g}"


# --- Losses ---------------------------------------------------------------------------


def _pinball(error: Floats, level: float) -> Floats:
    return error * np.where(error >= 0, level, level - 1.0)


def _huber(error: Floats, alpha: float) -> Floats:
    size = np.abs(error)
    return np.where(size <= alpha, 0.5 * error**2, alpha * (size - 0.5 * alpha))


def _intensity(y: Floats, u: Floats, w: Floats) -> Floats:
    return (1 - y) * w * u - y * np.log(-np.expm1(-w * u) + 1e-300)


def _tweedie(y: Floats, f: Floats, power: float) -> Floats:
    own = f if power == 1 else np.exp((1 - power) * f) / (1 - power)
    return np.exp((2 - power) * f) / (2 - power) - y * own


# The loss of each row, by the target, the score and the value of options.
LOSSES: dict[str, Callable[..., Floats]] = {
    "regression": lambda y, f, of: (y - f) ** 2,
    "regression_l1": lambda y, f, of: np.abs(y - f),
    "huber": lambda y, f, of: _huber(y - f, of("alpha")),
    "fair": lambda y, f, of: (
        np.abs(y - f) - of("fair_c") * np.log1p(np.abs(y - f) / of("fair_c"))
    ),
    "quantile": lambda y, f, of: _pinball(y - f, of("alpha")),
    "expectile": lambda y, f, of: np.abs(y - f) * _pinball(y - f, of("alpha")),
    "mape": lambda y, f, of: np.abs(y - f) / np.maximum(np.abs(y), 1.0),
    "poisson": lambda y, f, of: np.exp(f) - y * f,
    "gamma": lambda y, f, of: y * np.exp(-f) + f,
    "tweedie": lambda y, f, of: _tweedie(y, f, of("tweedie_variance_power")),
    "cross_entropy": lambda y, f, of: softplus(f) - y * f,
    "binary": lambda y, f, of: softplus(of("sigmoid") * f) - y * of("sigmoid") * f,
}

# Losses that are not sums over scores and rows that weights multiply.
LOSSES_OF_ALL: dict[str, Callable[..., Any]] = {
    "cross_entropy_lambda": lambda y, f, w, of: _intensity(
        y.reshape(f.shape), softplus(f), w[:, None]
    ).sum(axis=1),
    "multiclass": lambda y, f, w, of: (
        -w * log_softmax(f, axis=1)[np.arange(len(y)), y.astype(int)]
    ),
    **{
        name: lambda y, f, w, of, efron=efron: np.array(
            w.sum() * PartialLikelihood(y, w, efron=efron).value(f.T.copy())
        )
        for name, efron in COX.items()
    },
}

_OF_NEW_ROWS = "the spread follows the errors on new rows, not those on training rows"
_NOT_CONVEX = "it is not convex"
# Objectives whose loss a round may raise, and why.
MAY_RISE: dict[str, str] = {
    **{name: _OF_NEW_ROWS for name, spec in OBJECTIVES.items() if spec.distribution},
    "lambdarank": _NOT_CONVEX,
    "rank_xendcg": "each round draws another loss",
}


def row_weights(case: Case, rows: Rows) -> Floats:
    """The weights of rows and of their classes."""
    weight = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    by_class = case.options.get("class_weight")
    if by_class is not None:
        weight = weight * np.array([by_class[label] for label in rows.y.tolist()])
    return weight


def label_weights(case: Case, y: Floats, weight: Floats) -> Floats:
    """What `is_unbalance` and `scale_pos_weight` multiply the weights by."""
    positive, negative = case.value("scale_pos_weight"), 1.0
    if case.value("is_unbalance"):
        of_positive, of_negative = weight[y == 1].sum(), weight[y == 0].sum()
        if min(of_positive, of_negative) > 0:
            positive = max(of_negative / of_positive, 1.0)
            negative = max(of_positive / of_negative, 1.0)
    return np.where(y == 1, positive, negative)


def losses(case: Case, rows: Rows, scores: Matrix) -> Floats:
    """The weighted loss of each row; of all rows for likelihoods of survival."""
    name, weight = case.objective, row_weights(case, rows)
    y = rows.y
    if case.spec.task == "survival":
        y = np.column_stack([y[:, 1], np.where(y[:, 0] > 0, y[:, 1], np.inf)])
    if case.value("reg_sqrt") and case.spec.learns_roots:
        y = np.copysign(np.sqrt(np.abs(y)), y)
    if name in LOSSES_OF_ALL:
        return LOSSES_OF_ALL[name](y, scores, weight, case.value)
    if name == "multiclassova":
        total = 0.0
        for k in range(scores.shape[1]):
            is_k = (y == k).astype(float)
            of_label = label_weights(case, is_k, weight)
            total = total + of_label * LOSSES["binary"](is_k, scores[:, k], case.value)
        return weight * total
    if name == "binary":
        weight = weight * label_weights(case, y, weight)
    targets = np.broadcast_to(y.reshape(len(y), -1), scores.shape)
    levels = case.value("alpha")
    levels = levels if isinstance(levels, list) else [levels] * scores.shape[1]
    total = 0.0
    for k, level in enumerate(levels):

        def of(option: str, level: Any = level) -> Any:
            return level if option == "alpha" else case.value(option)

        total = total + LOSSES[name](targets[:, k], scores[:, k], of)
    return weight * total


# --- (a) No round raises the loss -----------------------------------------------------


def first_scores(trial: Trial) -> Matrix:
    """The scores before the first round."""
    rows, case = trial.rows, trial.case
    scores = np.zeros((len(rows.X), trial.raw.shape[1]))
    if rows.start is not None:
        scores += rows.start.reshape(len(rows.X), -1)
    if not case.value("boost_from_average"):
        return scores
    kept = {k: v for k, v in case.options.items() if k != "forcedsplits_filename"}
    constant = trial.fit(rows, kept | {"min_split_gain": 1e300, "n_estimators": 1})
    return scores + raw_scores(constant, rows.X)


def bags(trial: Trial, n_rounds: int) -> Iterator[np.ndarray]:
    """The rows that each round learns from."""
    rows, settings = trial.rows, make_settings(trial.model.get_params(), "")
    kept = np.arange(len(rows.X))
    if rows.weight is not None:
        kept = np.flatnonzero(rows.weight)
    y = rows.y[kept] if rows.y.ndim == 1 else rows.y[kept, 0]
    sampler = sampling.make(settings, None, y)
    for number in range(n_rounds):
        at = None if sampler is None else sampler.draw(number, None, None, 1).rows
        yield kept if at is None else kept[at]


def never_rises(trial: Trial) -> str | None:
    """(a) No round raises the loss of the rows that it learns from."""
    rows, case, n_rounds = trial.rows, trial.case, trial.model.n_iter_
    before = first_scores(trial)
    start = 0.0
    if rows.start is not None:
        start = rows.start.reshape(len(rows.X), -1)
    first = np.abs(losses(case, rows, before)).sum()
    size = np.abs(rows.y[np.isfinite(rows.y)]).max()
    for number, bag in enumerate(bags(trial, n_rounds)):
        after = start + raw_scores(trial.model, rows.X, num_iteration=number + 1)
        old, new = (losses(case, rows, scores) for scores in (before, after))
        if case.objective not in COX:
            old, new = old[bag], new[bag]
        rise = new.sum() - old.sum()
        rounding = 1e-9 * np.abs(old).sum() + 1e-12 * first
        if case.spec.link == "identity" and case.spec.task == "regression":
            # That of scores, which are sums.
            rounding += 1e-13 * size * row_weights(case, rows).sum()
        if not rise <= rounding:
            return f"round {number} raises the loss from {old.sum():.6g} by {rise:.3g}"
        before = after
    return None


# --- (b) Units ------------------------------------------------------------------------


class Unit(NamedTuple):
    """What a unit of the target does to an objective.

    Gradients and hessians have the unit to the powers ``gradient`` and ``hessian``.
    Scores are multiplied if they are ``linear``, else the logarithm of the unit is
    added to those of the first output, or of those in ``logarithms``.
    """

    gradient: float = 0.0
    hessian: float = 0.0
    linear: bool = False
    logarithms: tuple[int, ...] = ()
    shifts: str | None = None  # why constants may not be added to targets
    turns: str | None = None  # why targets may not change their sign
    options: tuple[str, ...] = ()  # that have the unit of the target


_SCALE_ONLY = "only the scale of targets is free"
_KINK = "at an error of 0 the derivative jumps, and rounding decides"
_SIDE = "an error of 0 counts to one side"
_LOCATION = {"gradient": 1.0, "linear": True}
_POSITIVE = {"shifts": _SCALE_ONLY, "turns": _SCALE_ONLY}

UNITS: dict[str, Unit] = {
    "regression": Unit(**_LOCATION),
    "huber": Unit(**_LOCATION, options=("alpha",)),
    "fair": Unit(**_LOCATION, options=("fair_c",)),
    "expectile": Unit(**_LOCATION, turns=_SIDE),
    "regression_l1": Unit(linear=True, shifts=_KINK),
    "quantile": Unit(linear=True, shifts=_KINK, turns=_SIDE),
    "poisson": Unit(1.0, 1.0, logarithms=(0,), **_POSITIVE),
    "gamma": Unit(logarithms=(0,), **_POSITIVE),
    "tweedie": Unit(logarithms=(0,), **_POSITIVE),
    "normal": Unit(linear=True, logarithms=(1,)),
    "student": Unit(linear=True, logarithms=(1,)),
    "lognormal": Unit(logarithms=(0,), **_POSITIVE),
    "gamma_distribution": Unit(logarithms=(0,), **_POSITIVE),
    "aft_normal": Unit(logarithms=(0,), **_POSITIVE),
    "aft_logistic": Unit(logarithms=(0,), **_POSITIVE),
    "aft_extreme": Unit(logarithms=(0,), **_POSITIVE),
    "cox": Unit(**_POSITIVE),
    "cox_efron": Unit(**_POSITIVE),
}

_NO_UNIT = "its targets have no unit"
WITHOUT_UNIT: dict[str, str] = {
    "mape": "targets below 1 count as 1",
    "negative_binomial": "counts have no unit",
    **dict.fromkeys(("cross_entropy", "cross_entropy_lambda", "beta"), _NO_UNIT),
    **dict.fromkeys(("binary", "multiclass", "multiclassova"), _NO_UNIT),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), _NO_UNIT),
}

# The powers of the units of gradients and hessians that options have.
UNITS_OF_OPTIONS: dict[str, tuple[float, float]] = {
    "reg_alpha": (1, 0),
    "reg_lambda": (0, 1),
    "min_child_weight": (0, 1),
    "max_delta_step": (1, -1),
    "min_split_gain": (2, -1),
    "cat_l2": (0, 1),
    "linear_lambda": (0, 1),
}


def unit_of(case: Case) -> Unit:
    unit = UNITS[case.objective]
    if case.objective == "tweedie":
        power = 2.0 - case.value("tweedie_variance_power")
        unit = unit._replace(gradient=power, hessian=power)
    if unit.logarithms and case.spec.distribution is None:
        unit = unit._replace(logarithms=tuple(range(case.outputs)))
    return unit


def in_units(options: Options, gradient: float, hessian: float) -> Options:
    """The options that mean the same if derivatives are multiplied by these factors."""
    return options | {
        name: options.get(name, DEFAULTS[name]) * gradient**g * hessian**h
        for name, (g, h) in UNITS_OF_OPTIONS.items()
        if (g, h) != (0, 0) and options.get(name, DEFAULTS[name]) > 0
    }


def without_penalties(options: Options) -> Options:
    """Options whose meaning does not depend on the units of derivatives."""
    kept = {k: v for k, v in options.items() if k not in UNITS_OF_OPTIONS}
    return kept | {"min_child_weight": 0.0, "cat_l2": 0.0}


def units_of_y(trial: Trial) -> str | None:
    """(b) Targets times a power of two give the same model, scaled."""
    case, rows, unit = trial.case, trial.rows, unit_of(trial.case)
    is_likelihood = case.spec.distribution is not None
    power = int(trial.random("unit").choice([-20, -3, 1, 7, 20]))
    a = 2.0**power
    options = without_penalties(case.options) if is_likelihood else case.options
    other = in_units(options, a**unit.gradient, a**unit.hessian)
    if is_likelihood:
        other = options
    for name in unit.options:
        other = other | {name: case.value(name) * a}
    is_time = np.array([0, 1]) if case.spec.task == "survival" else 1
    scaled = replace(rows, y=np.where(is_time, rows.y * a, rows.y))
    expected = raw_scores(trial.fit(rows, options), trial.points)
    n = expected.shape[1]
    if unit.linear and rows.start is not None:
        scaled = replace(scaled, start=rows.start * a)
    elif rows.start is not None:
        # Scores include the logarithm of the mean, start scores do not.
        scaled = replace(
            scaled, start=rows.start + power * np.log(2.0) * bool(unit.logarithms)
        )
    found = raw_scores(trial.fit(scaled, other), trial.points)
    wanted = expected.copy()
    for k in range(n):
        if k in unit.logarithms and rows.start is None:
            wanted[:, k] += power * np.log(2.0)
        elif unit.linear and (not unit.logarithms or k == 0):
            wanted[:, k] *= a
    if unit.logarithms:
        if unit.linear:  # in the units of the first fit
            found[:, 0], wanted[:, 0] = found[:, 0] / a, expected[:, 0]
        return trial.is_unlike(found, wanted, rows, options)
    return other_bits(found, wanted)


def offsets_of_y(trial: Trial) -> str | None:
    """(b) Targets plus a constant give the same model, moved."""
    case, rows = trial.case, trial.rows
    is_likelihood = case.spec.distribution is not None
    options = without_penalties(case.options) if is_likelihood else case.options
    largest = 2.0 ** np.ceil(np.log2(np.abs(rows.y).max() + 1e-300))
    b = largest * float(trial.random("offset").choice([-4.0, 1.0, 16.0]))
    start = None if rows.start is None else rows.start + b
    moved = replace(rows, y=rows.y + b, start=start)
    expected = raw_scores(trial.fit(rows, options), trial.points)
    found = raw_scores(trial.fit(moved, options), trial.points)
    if rows.start is None:
        found[:, : 1 if is_likelihood else None] -= b
    return trial.is_unlike(found, expected, rows, options)


def signs_of_y(trial: Trial) -> str | None:
    """(b) Targets with the other sign give the same model, turned round."""
    case, rows, options = trial.case, trial.rows, trial.case.options
    is_likelihood = case.spec.distribution is not None
    if is_likelihood:
        options = without_penalties(options)
    signs = options.get("monotone_constraints")
    other = options
    if signs is not None:
        other = options | {"monotone_constraints": {k: -v for k, v in signs.items()}}
    start = None if rows.start is None else -rows.start
    expected = raw_scores(trial.fit(rows, options), trial.points)
    found = raw_scores(
        trial.fit(replace(rows, y=-rows.y, start=start), other), trial.points
    )
    found[:, : 1 if is_likelihood else None] *= -1.0
    if is_likelihood or _has_kink(case):  # percentiles are means of two values
        return trial.is_unlike(found, expected, rows, options)
    return other_bits(found, expected)


def units_of_X(trial: Trial) -> str | None:
    """(b) Columns times powers of two give the same model."""
    rows, options = trial.rows, dict(trial.case.options)
    powers = trial.random("units").integers(-12, 13, rows.X.shape[1])
    powers[list(rows.categories)] = 0
    factor = 2.0**powers
    split = options.get("forcedsplits_filename")
    if split is not None:
        threshold = split["threshold"] * factor[split["feature"]]
        options["forcedsplits_filename"] = split | {"threshold": threshold}
    bins = options.get("forcedbins_filename")
    if bins is not None:
        bounds = [b * factor[bins[0]["feature"]] for b in bins[0]["bin_upper_bound"]]
        options["forcedbins_filename"] = [bins[0] | {"bin_upper_bound": bounds}]
    model = trial.fit(replace(rows, X=rows.X * factor), options)
    return other_bits(raw_scores(model, trial.points * factor), trial.raw)


# --- (c) Orders, names, columns without information -----------------------------------


def order_of_rows(trial: Trial) -> str | None:
    """(c) Rows in another order give the same model."""
    rows, rng = trial.rows, trial.random("order")
    order = rng.permutation(len(rows.X))
    if rows.query is not None:  # documents of a query stay in order
        places = rng.permutation(rows.query.max() + 1)
        order = np.argsort(places[rows.query], kind="stable")
    model = trial.fit(rows.take(order))
    found = raw_scores(model, trial.points)
    if trial.case.value("linear_tree") or trial.case.objective in COX:
        return trial.is_unlike(found, trial.raw)  # sums in the order of the rows
    return other_bits(found, trial.raw)


def order_of_classes(trial: Trial) -> str | None:
    """(c) Classes in another order give the same model."""
    rows, case, options = trial.rows, trial.case, dict(trial.case.options)
    n = case.n_classes
    if not n:  # shares
        found = raw_scores(trial.fit(replace(rows, y=1.0 - rows.y)), trial.points)
        return trial.is_unlike(-found, trial.raw)
    order = np.roll(np.arange(n), 1)
    start = rows.start
    if start is not None:
        start = -start if n == 2 else start[:, np.argsort(order)]
    by_class = options.get("class_weight")
    if by_class is not None:
        options["class_weight"] = {int(order[k]): v for k, v in by_class.items()}
    signs = options.get("monotone_constraints")
    if signs is not None and n == 2:
        options["monotone_constraints"] = {k: -v for k, v in signs.items()}
    model = trial.fit(replace(rows, y=order[rows.y], start=start), options)
    found = raw_scores(model, trial.points)
    found = -found if n == 2 else found[:, order]
    return trial.is_unlike(found, trial.raw)


def names_of_columns(trial: Trial) -> str | None:
    """(c) Other names of columns give the same model."""
    rng, n = trial.random("names"), trial.rows.X.shape[1]
    names = [
        f"{letter} {k}"
        for k, letter in enumerate(rng.permutation(list("zyxwvabc"))[:n])
    ]
    model = trial.fit(trial.rows, feature_name=names)
    return other_bits(raw_scores(model, trial.points), trial.raw)


def columns_without_information(trial: Trial) -> str | None:
    """(c) More columns that are constant or empty give the same model."""
    rows = trial.rows

    def widened(X: Matrix) -> Matrix:
        ones = np.ones(len(X))
        return np.column_stack([X, 3.7 * ones, np.nan * ones, 0.0 * ones])

    model = trial.fit(replace(rows, X=widened(rows.X)))
    return other_bits(raw_scores(model, widened(trial.points)), trial.raw)


# --- (d) Copies and weights -----------------------------------------------------------

# Options that count rows, which weights do not change, with a value of no effect.
COUNTS: Options = {
    "min_child_samples": 1,
    "min_data_in_bin": 1,
    "min_data_per_group": 1,
    "cat_smooth": 1.0,
    "subsample_for_bin": DEFAULTS["subsample_for_bin"],
    "path_smooth": 0.0,
}


def copies(trial: Trial) -> str | None:
    """(d) Whole weights give the model of as many copies."""
    rows, options = trial.rows, trial.case.options | COUNTS
    n_copies = trial.random("copies").integers(0, 4, len(rows.X))
    n_copies[:3] = 1
    weighted = replace(rows, weight=n_copies.astype(float))
    copied = replace(rows, weight=None).take(
        np.repeat(np.arange(len(n_copies)), n_copies)
    )
    expected = raw_scores(trial.fit(copied, options), trial.points)
    found = raw_scores(trial.fit(weighted, options), trial.points)
    return other_bits(found, expected)


def rows_of_weight_0(trial: Trial) -> str | None:
    """(d) Rows of weight 0 are as absent, whatever stands in them."""
    rows, rng = trial.rows, trial.random("absent")
    kept = rng.random(len(rows.X)) < 0.7
    kept[:3] = True
    if rows.query is not None:
        kept = kept[rows.query]
    weight = np.ones(len(kept)) if rows.weight is None else rows.weight
    weight = weight * kept
    kept = weight > 0
    X = np.where(kept[:, None], rows.X, 100.0 * rng.standard_normal(rows.X.shape))
    X[:, list(rows.categories)] = rows.X[:, list(rows.categories)]
    weighted = replace(rows, X=X, weight=weight)
    expected = raw_scores(trial.fit(weighted.take(kept)), trial.points)
    found = raw_scores(trial.fit(weighted), trial.points)
    if trial.case.value("linear_tree") or trial.case.objective in COX:
        return trial.is_unlike(found, expected, weighted.take(kept))
    return other_bits(found, expected)


def units_of_weights(trial: Trial) -> str | None:
    """(d) Weights times a number, and penalties likewise, give the same model."""
    rows, case = trial.rows, trial.case
    a = float(trial.random("weights").choice([2.0**-9, 2.0**-3]))
    weight = np.ones(len(rows.X)) if rows.weight is None else rows.weight
    if case.objective in COX:  # whose rows of larger weights are copies
        weight = weight / weight.max()
        rows = replace(rows, weight=weight)
    options = in_units(case.options, a, a)
    expected = raw_scores(trial.fit(rows), trial.points)
    model = trial.fit(replace(rows, weight=weight * a), options)
    return trial.is_unlike(raw_scores(model, trial.points), expected, rows)


# --- (e) Noise ------------------------------------------------------------------------

LITTLE = 1e-9


def noise_in_y(trial: Trial) -> str | None:
    """(e) A billionth of noise in the targets changes little."""
    rows, case, rng = trial.rows, trial.case, trial.random("noise")
    noise = rng.uniform(-1, 1, rows.y.shape)
    y = rows.y + LITTLE * rows.y.std() * noise
    if case.spec.task == "survival":
        y = np.where([0, 1], rows.y * (1.0 - LITTLE * np.abs(noise)), rows.y)
    elif case.spec.targets.low == 0.0:
        y = rows.y * (1.0 - LITTLE * np.abs(noise))
    found = raw_scores(trial.fit(replace(rows, y=y)), trial.points)
    size = np.ptp(trial.raw, axis=0)
    gap = np.sqrt(np.mean((found - trial.raw) ** 2, axis=0))
    limit = 0.02 * size + 1e-6 * np.abs(trial.raw).max()
    if case.spec.distribution is not None:
        # Estimates of noise may tell equal rows from others. Logarithms are parameters
        # other than the location.
        words = {case.data[axis] for axis in ("rows", "columns", "targets")}
        has_equals = bool(words & {"repeated", "few values"})
        limit[0] *= 5.0 if has_equals else 1.0
        limit[1:] = np.maximum(limit[1:], 0.35 if has_equals else 0.1)
    if (gap <= limit).all():
        return None
    if (gap <= limit + 2.0 * trial.instability(rows, case.options, LITTLE)).all():
        return None
    worst = int(np.argmax(gap / (limit + 1e-300)))
    return f"score {worst} differs by {gap[worst]:.2g}, its range is {size[worst]:.2g}"


# --- (f) What leaves can give ---------------------------------------------------------


def hostile_rows(rows: Rows, rng: RNG) -> Matrix:
    """Rows far from those of the training set."""
    X = np.tile(new_rows(rows, rng), (3, 1))
    scale = np.nanmax(np.abs(np.nan_to_num(rows.X)), axis=0) + 1.0
    far = 1e6 * scale * rng.choice([-1.0, 1.0], X.shape)
    kind = rng.random(X.shape)
    X = np.where(kind < 0.2, far, X)
    X = np.where((kind > 0.2) & (kind < 0.4), np.nan, X)
    return np.where((kind > 0.4) & (kind < 0.5), 0.0, X)


def what_leaves_give(trial: Trial) -> str | None:
    """(f) Predictions are finite, and each tree's are those that its leaf can give."""
    model, X = trial.model, trial.rows.X
    Z = hostile_rows(trial.rows, trial.random("hostile"))
    Z[:, list(trial.rows.categories)] = new_rows(trial.rows, trial.random("new"))[
        np.arange(len(Z)) % len(X)
    ][:, list(trial.rows.categories)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = model.predict(Z)
    if not np.isfinite(predicted).all():
        return "a prediction is not finite"
    leaves = [model.predict(A, pred_leaf=True).reshape(len(A), -1) for A in (X, Z)]
    for number in range(model.n_iter_):
        part = {"start_iteration": number, "num_iteration": 1}
        values = [raw_scores(model, A, **part) for A in (X, Z)]
        n = values[0].shape[1]
        for k in range(n):
            of_tree = [
                (v[:, k], at[:, number * n + k])
                for v, at in zip(values, leaves, strict=True)
            ]
            what = beyond_leaf(*of_tree, ~np.isnan(Z).any(axis=1))
            if what is not None:
                return f"tree {k} of round {number}: {what}"
    return None


def beyond_leaf(
    learned: tuple[Floats, np.ndarray],
    found: tuple[Floats, np.ndarray],
    is_whole: np.ndarray,
) -> str | None:
    """Whether a value is beyond those of the leaf's rows by half their range."""
    for leaf in np.unique(found[1]):
        own, values = learned[0][learned[1] == leaf], found[0][found[1] == leaf]
        if not len(own):
            return f"leaf {leaf} has no training row"
        # What rows get that miss a column of a line.
        values = values[is_whole[found[1] == leaf]]
        room = 0.5 * np.ptp(own) * (1 + 1e-6) + 1e-12 * np.abs(own).max()
        if len(values) and (
            values.min() < own.min() - room or values.max() > own.max() + room
        ):
            return (
                f"leaf {leaf} gives {values.min():.4g} to {values.max():.4g}, training"
                f" rows {own.min():.4g} to {own.max():.4g}"
            )
    return None


# --- Missing values that no training row has ------------------------------------------


def larger_child(trial: Trial) -> str | None:
    """A missing value where training rows had none goes with the larger child."""
    X, model = trial.rows.X, trial.model
    columns = np.flatnonzero(~np.isnan(X).any(axis=0))
    columns = np.setdiff1d(columns, trial.rows.categories)
    if not len(columns):
        return None
    Z = X.copy()
    Z[:, trial.random("lost").choice(columns)] = np.nan
    n = trial.raw.shape[1]
    leaves = model.predict(Z, pred_leaf=True).reshape(len(Z), -1)
    trees = list(model._model.trees.trees)
    for number, tree in enumerate(trees[: model.n_iter_ * n]):
        for row, leaf in zip(Z, leaves[:, number], strict=True):
            allowed = leaves_of(tree, row, set(columns.tolist()))
            if leaf not in allowed:
                return (
                    f"tree {number}: a row is in leaf {leaf}, not in {sorted(allowed)}"
                )
    return None


def leaves_of(tree: Tree, row: Floats, without_missing: set[int]) -> set[int]:
    """The leaves that a row may be in; either one where children are about as large.

    Sums of hessians tell, which the engine compares with rounded hessians.
    """
    if not len(tree.split_feature):
        return {0}
    nodes, found = [0], set()

    def size(child: int) -> float:
        return tree.internal_weight[child] if child >= 0 else tree.leaf_weight[~child]

    while nodes:
        node = nodes.pop()
        if node < 0:
            found.add(int(~node))
            continue
        column, value = tree.split_feature[node], row[tree.split_feature[node]]
        left, right = int(tree.left_child[node]), int(tree.right_child[node])
        kind = int(tree.decision_type[node])
        if kind & 1:  # categories: where the model leads the row
            nodes += [left, right]
        elif not np.isnan(value):
            nodes.append(left if value <= tree.threshold[node] else right)
        elif column in without_missing:
            larger = max(size(left), size(right))
            nodes += [c for c in (left, right) if size(c) >= 0.99 * larger]
        else:
            nodes.append(left if kind & 2 else right)
    return found


# --- (g) Presets ----------------------------------------------------------------------

# The objectives whose metric is the mean of their loss.
OF_PRESETS = (
    "regression",
    "regression_l1",
    "quantile",
    "poisson",
    "binary",
    "multiclass",
)


def preset_and_folds(trial: Trial) -> str | None:
    """(g) The model of a preset is no worse on its own rows than its folds."""
    rows, case = trial.rows, trial.case
    own = {k: v for k, v in case.options.items() if k in ("linear_tree", "alpha")}
    model = trial.fit(rows, {"preset": "accurate", "time_limit": 20.0, **own} | UNSET)
    search = model.search_results_
    if not search:
        return None
    scores = raw_scores(model, rows.X)
    found = losses(case, rows, scores).mean()
    expected = float(np.min(search["mean_test_loss"]))
    if not found <= expected + 1e-9 * abs(expected):
        return f"{found:.4g} on its rows, {expected:.4g} on those of the folds"
    chosen = {k: v for k, v in model.preset_params_.items() if v is not None}
    chosen["n_estimators"] = min(chosen.get("n_estimators", 100), 150)
    return never_rises(Trial(replace(case, options=own | chosen)))


# A preset chooses these itself.
UNSET = {"n_estimators": DEFAULTS["n_estimators"], "num_leaves": DEFAULTS["num_leaves"]}
UNSET |= {"min_child_samples": DEFAULTS["min_child_samples"]}


# --- The table ------------------------------------------------------------------------

Check = Callable[[Trial], str | None]

INVARIANTS: dict[str, Check] = {
    "never_rises": never_rises,
    "units_of_X": units_of_X,
    "units_of_y": units_of_y,
    "offsets_of_y": offsets_of_y,
    "signs_of_y": signs_of_y,
    "order_of_rows": order_of_rows,
    "order_of_classes": order_of_classes,
    "names_of_columns": names_of_columns,
    "columns_without_information": columns_without_information,
    "copies": copies,
    "rows_of_weight_0": rows_of_weight_0,
    "units_of_weights": units_of_weights,
    "noise_in_y": noise_in_y,
    "what_leaves_give": what_leaves_give,
    "larger_child": larger_child,
    "preset_and_folds": preset_and_folds,
}

# Of each invariant: reasons why it says nothing of a case, and of which cases.
Reasons = dict[str, Callable[[Case], Any]]


def _samples(case: Case) -> bool:
    return uses_bags(case) or is_sampled_by_gradient(case)


def _draws_columns(case: Case) -> bool:
    names = "colsample_bytree", "feature_fraction_bynode"
    return min(map(case.value, names)) < 1


def _has_kink(case: Case) -> bool:
    return case.spec.renewal_level is not None


def _unit(case: Case) -> Unit:
    return UNITS.get(case.objective, Unit())


_ROOTS: Reasons = {
    "roots have another unit": lambda c: c.value("reg_sqrt") and c.spec.learns_roots
}
_SAMPLES_ROWS: Reasons = {"samples depend on the numbers of rows": _samples}
_BIN_SAMPLE: Reasons = {
    "bins are found in a sample of rows": lambda c: "subsample_for_bin" in c.options
}
_RATES: Reasons = {
    "its own loss is drawn for each document": lambda c: c.objective == "rank_xendcg"
}
_NO_UNITS: Reasons = {
    "targets without unit": lambda c: c.objective in WITHOUT_UNIT,
    **_ROOTS,
}

EXCEPTIONS: dict[str, Reasons] = {
    "never_rises": {
        "the loss may rise": lambda c: c.objective in MAY_RISE,
        "trees are dropped": lambda c: c.value("boosting_type") == "dart",
        "trees of a forest do not correct each other": lambda c: (
            c.value("boosting_type") == "rf"
        ),
        "the gradients of a sample stand for those of others": is_sampled_by_gradient,
        "without a split, the first round has the average of all rows": lambda c: (
            uses_bags(c) and not c.value("boost_from_average")
        ),
        "the rows of a likelihood cannot be sampled": lambda c: (
            c.objective in COX and uses_bags(c)
        ),
    },
    "units_of_X": {
        "the penalty has the unit of columns": lambda c: c.value("linear_lambda") > 0,
    },
    "units_of_y": _NO_UNITS
    | {
        "boosting starts from 0": lambda c: (
            _unit(c).logarithms and not c.value("boost_from_average")
        ),
    },
    "offsets_of_y": _NO_UNITS
    | {
        "targets that cannot move": lambda c: _unit(c).shifts,
        "boosting starts from 0": lambda c: not c.value("boost_from_average"),
    },
    "signs_of_y": _NO_UNITS
    | {
        "targets that cannot be negative": lambda c: _unit(c).turns,
        "constraints hold for spreads, too, which do not turn": lambda c: (
            c.spec.distribution is not None and "monotone_constraints" in c.options
        ),
    },
    "order_of_rows": _SAMPLES_ROWS | _BIN_SAMPLE | _RATES,
    "order_of_classes": {
        "no classes": lambda c: not c.n_classes and c.objective != "cross_entropy",
        "trees of each class draw their own numbers": lambda c: (
            c.n_classes > 2 and (c.value("extra_trees") or _draws_columns(c))
        ),
        "classes are drawn": lambda c: c.value("multi_strategy") == "multi_output_tree",
        "one class has weights": lambda c: "scale_pos_weight" in c.options,
        "one class is sampled": lambda c: (
            {"pos_bagging_fraction", "neg_bagging_fraction"} & c.options.keys()
        ),
        "start scores and constraints have signs": lambda c: (
            c.objective == "cross_entropy"
            and (c.data["start"] != "none" or "monotone_constraints" in c.options)
        ),
    },
    "names_of_columns": {},
    "columns_without_information": {
        "some columns are drawn, of all": _draws_columns,
    },
    "copies": {
        "queries have copies": lambda c: c.spec.task == "ranking",
        "weights are exponents": lambda c: c.spec.weighs_rows,
        "samples of rows count them": _samples,
        "lines are fitted in the order of rows": lambda c: c.value("linear_tree"),
        "weights of classes that are not whole": lambda c: "class_weight" in c.options,
        "weights of the case itself": lambda c: c.data["weights"] != "none",
    },
    "rows_of_weight_0": _SAMPLES_ROWS
    | _BIN_SAMPLE
    | _RATES
    | {"weights are exponents": lambda c: c.spec.weighs_rows},
    "units_of_weights": {
        "weights are exponents": lambda c: c.spec.weighs_rows,
        "with whole weights, hessians and copies have other bits": lambda c: (
            c.data["weights"] in ("none", "whole") and c.objective not in COX
        ),
        "whole weights are copies, of which a spread has learned more": lambda c: (
            c.data["weights"] == "some 0" and c.spec.distribution is not None
        ),
        "cat_smooth counts rows": lambda c: c.data["categories"] != "none",
    },
    "noise_in_y": {
        "whole targets": lambda c: (
            c.spec.targets.is_whole or c.spec.task in ("classification", "ranking")
        ),
        _KINK: _has_kink,
        "equal times are one": lambda c: c.spec.task == "survival",
        "roots of small numbers": lambda c: c.value("reg_sqrt") and c.spec.learns_roots,
    },
    "what_leaves_give": {},
    "larger_child": {
        "lines have constants for rows that miss a value": lambda c: c.value(
            "linear_tree"
        ),
        "nothing is missing": lambda c: not c.value("use_missing"),
        "0 is missing": lambda c: c.value("zero_as_missing"),
        "weights may count": lambda c: c.data["weights"] != "none",
        "categories have other rules": lambda c: c.data["categories"] != "none",
    },
    "preset_and_folds": {
        "other metrics than losses": lambda c: c.objective not in OF_PRESETS,
        "few rows": lambda c: c.data["n"] < 60,
        "weights are means": lambda c: c.data["weights"] != "none",
        "start scores are not in predictions": lambda c: c.data["start"] != "none",
        "several outputs": lambda c: c.outputs > 1,
        "options that change losses": lambda c: (
            {"class_weight", "is_unbalance", "scale_pos_weight", "sigmoid", "reg_sqrt"}
            & c.options.keys()
        ),
    },
}


def reason_against(name: str, case: Case) -> str | None:
    """Why an invariant says nothing of a case; None: it does."""
    for reason, applies in EXCEPTIONS[name].items():
        if applies(case):
            return reason
    return None


def broken(name: str, trial: Trial) -> str | None:
    """What an invariant of a case has to complain of; None: it holds."""
    try:
        return INVARIANTS[name](trial)
    except Exception as error:  # any error is one of the package
        return f"{type(error).__name__}: {error}"


# --- Failing cases without what they do not need --------------------------------------


def shrunk(name: str, case: Case, what: str) -> tuple[Case, str]:
    """A part of a failing case that fails in the same way."""
    for other in simpler(case):
        is_smaller = len(str(other)) < len(str(case))
        if is_smaller and reason_against(name, other) is None:
            found = broken(name, Trial(other))
            if found is not None and found.split()[0] == what.split(maxsplit=1)[0]:
                return shrunk(name, other, found)
    return case, what


# Of each invariant: others would take long.
MOST_SHRUNK = 12


# --- Many cases -----------------------------------------------------------------------


def main(first: int, stop: int, names: list[str]) -> None:
    """Try the cases of some numbers, and print how many hold."""
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for number in range(first, stop):
        trial = Trial(draw(number))
        for name in names or INVARIANTS:
            if reason_against(name, trial.case) is not None:
                continue
            tried[name] += 1
            what = broken(name, trial)
            if what is not None:
                case, failed[name] = trial.case, failed[name] + 1
                if failed[name] <= MOST_SHRUNK:
                    case, what = shrunk(name, case, what)
                print(f"{number} {name}: {case}\n    {what}", flush=True)
    print(f"\n{'invariant':30}{'cases':>8}{'held':>8}")
    for name in names or INVARIANTS:
        print(f"{name:30}{tried[name]:8}{tried[name] - failed[name]:8}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
