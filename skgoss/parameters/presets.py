"""Presets: options that are chosen where the user leaves their defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skgoss.parameters.settings import Settings
from skgoss.parameters.table import DEFAULTS
from skgoss.utils.correct_rounding import exp, log, power

# What a preset does not choose for a boosting type: the rounds of forests do not
# correct each other, and early stopping is not possible with dropout.
_OF_ROUNDS = frozenset({"learning_rate", "n_estimators", "early_stopping_round"})
_NOT_CHOSEN = {"gbdt": frozenset(), "dart": _OF_ROUNDS, "rf": _OF_ROUNDS}

# Options besides those of the preset.
Kinds = tuple[dict[str, Any], ...]

_OF_CATEGORIES = frozenset({"cat_l2", "cat_smooth", "min_data_per_group"})
_SAMPLING = frozenset({"subsample", "subsample_freq"})

# The learning rate of the fits that a search compares: of few rows, and of more.
_SEARCH_RATES = 0.15, 0.1
_FEW_ROWS = 2_000

# The levels of the tests that compare candidates on their folds, likewise.
_LEVELS = 0.2, 0.4

# With fewer rows, folds cannot tell kinds of trees apart, so none is dropped.
_ROWS_TO_DROP = 1_000

# What a preset chooses for all candidates of a search.
_OF_ALL = _OF_ROUNDS | {"folds"}

# The rounds of a fit to too few rows for folds.
_ROUNDS_WITHOUT = 200

# The number of rounds grows with the number of rows to this power.
_POWER_OF_ROWS = 0.35

# From so many rows on, a search uses a sample of them, and the last fit has at most so
# many leaves, with larger steps, if that is needed: four times those of the defaults.
_MANY_ROWS = 100_000
_ROWS_OF_SAMPLE = 30_000
_MOST_LEAVES = 4 * 100 * 31


class Search(NamedTuple):
    """How the number of rounds, and one of several configurations, is found.

    Candidates grow on some folds, and those that fall behind are dropped. The others
    are fitted on all rows, with a smaller learning rate and more rounds, and the model
    is their weighted mean, or the best one if it cannot be a mean. An evaluation set of
    the user replaces the folds: its rows are tested, and decide when the last fit
    stops.
    """

    n_folds: int
    n_tested: int  # the number of these folds whose rows are tested
    options: dict[str, Any]  # of the fits on folds
    candidates: Kinds  # options besides those of the preset
    rate: float  # the learning rate of the last fit
    is_rate_open: bool  # whether the user has left it to the preset
    without: dict[str, Any]  # of the last fit if there are too few rows for folds
    level: float  # the level of the tests by which candidates are dropped
    num_leaves: int  # those of the user
    # Options from which later batches are drawn: name, lowest and highest value, and
    # whether their logarithm is drawn.
    space: tuple[tuple[str, float, float, bool], ...] = ()
    n_batches: int = 1
    patience: int = 1  # batches without a better candidate before the search ends
    is_mean: bool = False  # whether the model may be the mean of several candidates

    def batch(self, number: int, seed: int) -> Kinds:
        """Candidates that are compared at the same time."""
        if number == 0:
            return self.candidates
        random = np.random.default_rng([seed, number])
        return tuple(self._drawn(random) for _ in range(_BATCH))

    def _drawn(self, random: np.random.Generator) -> dict[str, Any]:
        options: dict[str, Any] = {}
        for name, low, high, is_log in self.space:
            default, fraction = DEFAULTS[name], random.random()
            low, high = (log(low), log(high)) if is_log else (low, high)
            draw = low + (high - low) * fraction
            value = float(f"{exp(draw) if is_log else draw:.3g}")
            if isinstance(default, bool):
                options[name] = fraction > 0.5
            else:
                options[name] = round(value) if isinstance(default, int) else value
        return options

    def n_rows_of(self, n_rows: int) -> int:
        """How many of the rows the fits on folds and their tests use."""
        return n_rows if n_rows < _MANY_ROWS else _ROWS_OF_SAMPLE

    def last_fit(
        self,
        n_rounds: float,
        n_leaves: int,
        n_rows: int,
        ratio: float,
        most: float,
        spare: float = 0.0,
    ) -> dict[str, Any]:
        """The options of the last fit besides those of the candidate.

        The folds have found ``n_rounds``. There are ``n_rows``, ``ratio`` times those
        of a fit on folds, and time for ``most`` rounds: steps are larger for fewer, and
        smaller if a preset may have as many as ``spare`` rounds.
        """
        rate, steps = self.rate, n_rounds * self.options["learning_rate"]
        steps *= power(ratio, _POWER_OF_ROWS)
        if self.is_rate_open and steps < rate * spare:
            rate = max(_SMALLEST_RATE, steps / spare)
        if n_rows >= _MANY_ROWS:
            most = min(most, _MOST_LEAVES / n_leaves)
        if self.is_rate_open and steps > rate * most:
            rate = min(_LARGEST_RATE, steps / max(1.0, most))
        found = self.without | {"n_estimators": max(1, round(steps / rate))}
        return found if rate == self.rate else found | {"learning_rate": rate}


RATE_OF_LAST_FIT = 0.05

# The measurements behind these numbers are in docs/measured-accuracy.md.
_ACCURATE = {
    "extra_trees": False,
    "linear_tree": False,
    "pair_features": False,
    "learning_rate": RATE_OF_LAST_FIT,
    "num_leaves": 15,
    "min_child_samples": 5,
    "colsample_bytree": 0.8,
    "feature_fraction_bynode": 0.6,
    "subsample": 0.8,
    "subsample_freq": 1,
    "reg_lambda": 1.0,
    "cat_l2": 1.0,
    "min_data_per_group": 10,
    "n_estimators": 1500,
    "early_stopping_round": 100,
}
# The mean of several models is as good with larger steps.
_ACCURATE_ON_FOLDS = _ACCURATE | {
    "learning_rate": 0.1,
    "n_estimators": 600,
    "early_stopping_round": 20,
}
# Another kind of trees. Random thresholds regularize, so little else has to.
_RANDOM_THRESHOLDS = {"extra_trees": True, "min_child_samples": 1, "reg_lambda": 0.1}
# Linear leaves with random thresholds, which need no samples; also with pairs of
# columns, for what no single column tells. Linear models of few rows leave their range
# steeply.
_ROWS_OF_LINEAR_LEAVES = frozenset({"min_child_samples"})
_LINEAR = frozenset({"linear_tree"})
_PAIRS = frozenset({"pair_features"})
_LINEAR_LEAVES = {"linear_tree": True, "extra_trees": True, "reg_lambda": 1.0}
_SUMS = {"pair_features": "sums"}
_PRODUCTS = {"pair_features": "products"}

# Few events, which are noisy, want small trees. Folds of so few rows cannot tell kinds
# of trees apart: to choose one by them is worse, so they find the rounds only.
_SURVIVAL = "cox", "aft"  # the beginnings of the names of its objectives
_OF_SURVIVAL = {"extra_trees": True, "num_leaves": 7, "reg_lambda": 3.0}

# Sets of many categories fit noise unless small groups count for less.
_OF_MANY_CATEGORIES = {"cat_smooth": 100.0}
_MANY = 255
# Where groups are large anyway, other options of categories choose the same trees.
_FEW = 20


# The last fit has a learning rate between these: smaller ones gain next to nothing, and
# larger ones lose much, even if there is no time for all rounds.
_SMALLEST_RATE = 0.03
_LARGEST_RATE = 0.3

# What 'best' compares after its first candidates: TabArena's space for LightGBM,
# without the learning rate. Name, smallest and largest value, whether draws are uniform
# in the logarithm.
_SPACE = (
    ("extra_trees", False, True, False),
    ("num_leaves", 4, 200, True),
    ("min_child_samples", 1, 64, True),
    ("feature_fraction_bynode", 0.4, 1.0, False),
    ("subsample", 0.7, 1.0, False),
    ("reg_alpha", 1e-5, 1.0, True),
    ("reg_lambda", 1e-5, 2.0, True),
    ("cat_l2", 0.005, 2.0, True),
    ("cat_smooth", 0.001, 100.0, True),
    ("max_cat_to_onehot", 8, 100, True),
    ("min_data_per_group", 2, 100, True),
)
_OF_CATEGORIES_TOO = _OF_CATEGORIES | {"max_cat_to_onehot"}
_BATCH = 6
_MOST_BATCHES = 20
_PATIENCE = 3

# The first candidates of 'best', besides those of 'accurate'.
_MORE_KINDS = (
    {"num_leaves": 7, "min_child_samples": 10, "reg_lambda": 3.0},
    {"num_leaves": 63, "min_child_samples": 10, "subsample": 0.7},
    {"num_leaves": 63, **_RANDOM_THRESHOLDS},
)


class Preset(NamedTuple):
    """What a preset chooses for one model, and for the models of folds."""

    alone: dict[str, Any]
    on_folds: dict[str, Any]


_BEST = _ACCURATE_ON_FOLDS | {"folds": 8}
# Large steps, for a fit of about the time of the defaults.
_FAST = _ACCURATE | {"learning_rate": 0.15, "n_estimators": 300}
_PRESETS = {
    "fast": Preset(_FAST, _FAST),
    "accurate": Preset(_ACCURATE, _ACCURATE_ON_FOLDS),
    "best": Preset(_ACCURATE, _BEST),
}


def chosen(
    settings: Settings,
    passed: Collection[str],
    most_categories: int,
    *,
    may_fold: bool,
    may_be_linear: bool,
    may_have_pairs: bool,
) -> dict[str, Any]:
    """The options that the preset chooses, by name; empty without a preset.

    Those that the user has ``passed`` stay. ``most_categories`` is the largest number
    of categories of a column. The models of folds are one of the results only if the
    fit ``may_fold``; linear leaves and pairs of columns are compared only where they
    are possible.
    """
    if settings.preset is None:
        return {}
    left = _NOT_CHOSEN[settings.boosting_type].union(passed)
    if settings.data_sample_strategy == "goss":
        left |= _SAMPLING
    if settings.linear_tree:
        left |= _ROWS_OF_LINEAR_LEAVES
    if not (may_be_linear and settings.may_have(linear_tree=True)):
        left |= _LINEAR
    if not may_have_pairs:
        left |= _PAIRS
    preset = _PRESETS[settings.preset]
    is_alone = settings.folds is None and not (may_fold and "folds" in preset.on_folds)
    values = preset.alone if is_alone else preset.on_folds
    if str(settings.objective).startswith(_SURVIVAL):
        values, left = values | _OF_SURVIVAL, left | _LINEAR | _PAIRS
    if most_categories > _MANY:
        values = values | _OF_MANY_CATEGORIES
    return {name: value for name, value in values.items() if name not in left}


def _candidates(
    own: Settings, chosen: Mapping[str, Any], most_categories: int
) -> Kinds:
    """The configurations that a search compares."""
    if own.preset != "best" and str(own.objective).startswith(_SURVIVAL):
        return ({},)
    usual = _own(own, chosen)
    of_categories = {name: usual[name] for name in _OF_CATEGORIES & usual.keys()}
    if own.preset == "fast":
        return _possible([{}, usual | _LINEAR_LEAVES], chosen)
    found = [
        {},
        of_categories if most_categories > _FEW else {},
        usual | _LINEAR_LEAVES,
        usual | _LINEAR_LEAVES | _SUMS,
        usual | _LINEAR_LEAVES | _PRODUCTS,
        # Without linear leaves, what the user has.
        {} if chosen.keys() >= _LINEAR else usual,
        _RANDOM_THRESHOLDS,
        *(_MORE_KINDS if own.preset == "best" else ()),
    ]
    return _possible(found, chosen)


def _own(own: Settings, chosen: Collection[str]) -> dict[str, Any]:
    """The user's own options, as those of a candidate."""
    return {name: getattr(own, name) for name in chosen if name not in _OF_ALL}


def _possible(kinds: Sequence[dict[str, Any]], chosen: Collection[str]) -> Kinds:
    """Kinds of trees of what is ``chosen``, each once.

    Without what makes it a kind, it is another one.
    """
    found = [
        {name: value for name, value in kind.items() if name in chosen}
        for kind in kinds
        if all(name in chosen for name, value in kind.items() if value is True)
    ]
    return tuple(options for i, options in enumerate(found) if options not in found[:i])


def default_trees() -> dict[str, Any]:
    """The options of a plain fit, where a preset or the user may have others."""
    names = _ACCURATE.keys() | {
        *("boosting_type", "data_sample_strategy", "multi_strategy", "folds")
    }
    return {name: DEFAULTS[name] for name in sorted(names)}


def search(
    own: Settings,
    settings: Settings,
    chosen: Mapping[str, Any],
    most_categories: int,
    n_rows: int,
    *,
    may_be_mean: bool = False,
) -> Search | None:
    """How the number of rounds is found; None if the user says it, or folds find it.

    ``own`` are the settings of the user, and ``settings`` have what the preset has
    ``chosen``. ``most_categories`` is the largest number of categories of a column. The
    mean of several candidates is the model only if it ``may_be_mean``.
    """
    by_folds = settings.folds is not None
    # Folds may end before the rounds that the user asks for. Functions have no loss.
    open_options = {"early_stopping_round"} | (set() if by_folds else {"n_estimators"})
    is_open = open_options <= chosen.keys()
    if not is_open or (by_folds and callable(settings.objective)):
        return None
    rate, n_rounds = settings.learning_rate, settings.n_estimators
    if not by_folds:
        rate = max(_SEARCH_RATES[n_rows >= _FEW_ROWS], rate)
        n_rounds = max(1, round(n_rounds * settings.learning_rate / rate))
    without: dict[str, Any] = {"early_stopping_round": None}
    if "n_estimators" in chosen:
        without["n_estimators"] = _ROUNDS_WITHOUT
    level = _LEVELS[n_rows >= _FEW_ROWS] if n_rows >= _ROWS_TO_DROP else 0.0
    is_fast = settings.preset == "fast"
    found = Search(
        *((5, 1) if is_fast else (3, 3)),
        {"learning_rate": rate, "n_estimators": n_rounds, "early_stopping_round": None},
        _candidates(own, chosen, most_categories),
        settings.learning_rate,
        "learning_rate" in chosen and not is_fast,
        without,
        level,
        own.num_leaves,
        is_mean=may_be_mean and not by_folds,
    )
    if settings.preset != "best":
        return found
    fixed = set(own.passed)
    if not most_categories:
        fixed |= _OF_CATEGORIES_TOO
    if "subsample" not in chosen:
        fixed |= _SAMPLING
    space = tuple(option for option in _SPACE if option[0] not in fixed)
    return found._replace(space=space, n_batches=_MOST_BATCHES, patience=_PATIENCE)


def planned_rounds(settings: Settings) -> int | None:
    """The most rounds of a fit; None if they depend on the data."""
    is_open = settings.preset is not None or settings.folds is not None
    return None if is_open else settings.n_estimators
