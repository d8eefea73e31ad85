"""Presets: options that are chosen where the user leaves their defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from skgoss.parameters.settings import Settings
from skgoss.parameters.table import DEFAULTS
from skgoss.utils.correct_rounding import exp, log, power

# Options that a preset does not choose for a boosting type: the rounds of forests do
# not correct each other, and early stopping is not possible with dropout.
_ROUND_OPTIONS = frozenset({"learning_rate", "n_estimators", "early_stopping_round"})
_NOT_CHOSEN = {"gbdt": frozenset(), "dart": _ROUND_OPTIONS, "rf": _ROUND_OPTIONS}

# Configurations of a search, by the options in which they differ from the preset.
Candidates = tuple[dict[str, Any], ...]

_CATEGORY_OPTIONS = frozenset({"cat_l2", "cat_smooth", "min_data_per_group"})
_SAMPLING = frozenset({"subsample", "subsample_freq"})

# The learning rate of the fits that a search compares.
_SEARCH_RATE = 0.15

# The levels of the tests that compare candidates on their folds: with fewer than
# `_SMALL_DATA_ROWS` rows, and with more.
_LEVELS = 0.2, 0.4
_SMALL_DATA_ROWS = 2_000

# With fewer rows, the losses on folds differ by noise only, so no candidate is dropped.
_MIN_ROWS_TO_DROP = 1_000

# Options that a preset chooses for all candidates of a search.
_COMMON_OPTIONS = _ROUND_OPTIONS | {"folds"}

# The number of rounds if there are too few rows for folds.
_ROUNDS_WITHOUT_FOLDS = 200

# The number of rounds grows with the number of rows to this power.
_ROUNDS_EXPONENT = 0.35

# From this number of rows on, a search uses a sample of `_SAMPLE_ROWS` rows, and the
# trees of the last fit have at most `_MAX_LEAVES_IN_ALL` leaves together: four times
# those of the defaults. Its learning rate is larger if it needs more.
_LARGE_DATA_ROWS = 100_000
_SAMPLE_ROWS = 30_000
_MAX_LEAVES_IN_ALL = 4 * 100 * 31


class Search(NamedTuple):
    """How one of several configurations, and the number of its rounds, is found.

    Candidates are trained on folds, and dropped when they fall behind. The others are
    fitted on all rows, with a smaller learning rate and more rounds. The model is their
    weighted mean, or the best one if it cannot be a mean. If the user passes an
    evaluation set, it replaces the test rows of the folds, and the last fit stops early
    on it.
    """

    n_folds: int
    n_tested: int  # the number of these folds whose test rows are used
    options: dict[str, Any]  # of the fits on folds
    candidates: Candidates  # of the first batch
    rate: float  # the learning rate of the last fit
    is_rate_open: bool  # whether the preset may change it: the user has not set it
    # Options of the last fit if there are too few rows for folds.
    without_folds: dict[str, Any]
    level: float  # the level of the tests by which candidates are dropped
    num_leaves: int  # the user's option
    # Options from which later batches are drawn: name, lowest and highest value, and
    # whether their logarithm is drawn.
    space: tuple[tuple[str, float, float, bool], ...] = ()
    n_batches: int = 1
    patience: int = 1  # batches without a better candidate before the search ends
    is_mean: bool = False  # whether the model may be the mean of several candidates

    def batch(self, number: int, seed: int) -> Candidates:
        """The candidates of a batch, which are compared at the same time.

        ``number`` is 0 for the first batch, whose candidates are fixed. Those of later
        batches are drawn, always the same for a ``seed``.
        """
        if number == 0:
            return self.candidates
        random = np.random.default_rng([seed, number])
        return tuple(self._drawn(random) for _ in range(_BATCH))

    def _drawn(self, random: np.random.Generator) -> dict[str, Any]:
        """A candidate whose options are drawn from ``space``.

        Numbers are rounded to three digits, and to ints where the default is an int.
        """
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
        """The number of rows that the search uses."""
        return n_rows if n_rows < _LARGE_DATA_ROWS else _SAMPLE_ROWS

    def last_fit(
        self,
        n_rounds: float,
        n_leaves: int,
        n_rows: int,
        ratio: float,
        max_rounds: float,
        spare_rounds: float = 0.0,
    ) -> dict[str, Any]:
        """The options of the last fit, in addition to those of the candidate.

        The folds have found ``n_rounds`` at their learning rate. The number of rounds
        times the learning rate (the steps) is kept, and grows with the number of rows.
        There are ``n_rows`` rows, ``ratio`` times those of a fit on folds, and trees
        with ``n_leaves`` leaves. If more than ``max_rounds`` are needed, for which
        there is time, the learning rate is larger. If fewer than ``spare_rounds`` are
        needed, it is smaller.
        """
        rate, steps = self.rate, n_rounds * self.options["learning_rate"]
        steps *= power(ratio, _ROUNDS_EXPONENT)
        if self.is_rate_open and steps < rate * spare_rounds:
            rate = max(_MIN_RATE, steps / spare_rounds)
        if n_rows >= _LARGE_DATA_ROWS:
            max_rounds = min(max_rounds, _MAX_LEAVES_IN_ALL / n_leaves)
        if self.is_rate_open and steps > rate * max_rounds:
            rate = min(_MAX_RATE, steps / max(1.0, max_rounds))
        options = self.without_folds | {"n_estimators": max(1, round(steps / rate))}
        return options if rate == self.rate else options | {"learning_rate": rate}


# The learning rate of a preset's last fit.
LAST_FIT_RATE = 0.05

# The measurements behind these numbers are in docs/measured-accuracy.md.
_ACCURATE = {
    "extra_trees": False,
    "linear_tree": False,
    "pair_features": False,
    "learning_rate": LAST_FIT_RATE,
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
# The mean of several models is as accurate with a larger learning rate.
_ACCURATE_ON_FOLDS = _ACCURATE | {
    "learning_rate": 0.1,
    "n_estimators": 600,
    "early_stopping_round": 20,
}
# Trees with random thresholds, which need little other regularization.
_RANDOM_THRESHOLDS = {"extra_trees": True, "min_child_samples": 1, "reg_lambda": 0.1}
# Linear leaves with random thresholds, which need no samples of rows; also with pairs
# of columns, whose effects no single column shows. Linear models of few rows
# extrapolate steeply, so presets keep the `min_child_samples` of linear leaves.
_LINEAR_LEAF_OPTIONS = frozenset({"min_child_samples"})
_LINEAR_TREE = frozenset({"linear_tree"})
_PAIR_FEATURES = frozenset({"pair_features"})
_LINEAR_LEAVES = {"linear_tree": True, "extra_trees": True, "reg_lambda": 1.0}
_SUMS = {"pair_features": "sums"}
_PRODUCTS = {"pair_features": "products"}

# Survival data have few events and much noise, so small trees are better. Choosing a
# kind of trees by the losses on their small folds is worse than not choosing, so folds
# only find the number of rounds.
_SURVIVAL = "cox", "aft"  # the beginnings of the names of its objectives
_SURVIVAL_OPTIONS = {"extra_trees": True, "num_leaves": 7, "reg_lambda": 3.0}

# With more categories than this in a column, small groups need more smoothing, as sets
# of them fit noise.
_LARGE_VOCABULARY = 255
_LARGE_VOCABULARY_OPTIONS = {"cat_smooth": 100.0}
# With at most this number of categories, groups are large, so that different category
# options lead to the same trees.
_SMALL_VOCABULARY = 20

# The limits of the last fit's learning rate: smaller rates gain almost nothing, and
# larger ones lose much, even if there is no time for all rounds.
_MIN_RATE = 0.03
_MAX_RATE = 0.3

# The space from which 'best' draws candidates after its first ones: TabArena's for
# LightGBM, without the learning rate. Name, lowest and highest value, and whether the
# logarithm is drawn.
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
_SPACE_CATEGORY_OPTIONS = _CATEGORY_OPTIONS | {"max_cat_to_onehot"}
_BATCH = 6
_MAX_BATCHES = 20
_PATIENCE = 3

# The first candidates of 'best', in addition to those of 'accurate'.
_MORE_CANDIDATES = (
    {"num_leaves": 7, "min_child_samples": 10, "reg_lambda": 3.0},
    {"num_leaves": 63, "min_child_samples": 10, "subsample": 0.7},
    {"num_leaves": 63, **_RANDOM_THRESHOLDS},
)


class Preset(NamedTuple):
    """The options of a preset for one model, and for the models of folds."""

    single: dict[str, Any]
    on_folds: dict[str, Any]


_BEST = _ACCURATE_ON_FOLDS | {"folds": 8}
# A large learning rate, for a fit that takes about as long as the defaults.
_FAST = _ACCURATE | {"learning_rate": 0.15, "n_estimators": 300}
_PRESETS = {
    "fast": Preset(_FAST, _FAST),
    "accurate": Preset(_ACCURATE, _ACCURATE_ON_FOLDS),
    "best": Preset(_ACCURATE, _BEST),
}


def chosen(
    settings: Settings,
    explicit: Collection[str],
    max_categories: int,
    *,
    may_fold: bool,
    may_be_linear: bool,
    may_have_pairs: bool,
) -> dict[str, Any]:
    """The options that the preset chooses, by name; empty without a preset.

    The ``explicit`` options, which are the user's, are not changed. ``max_categories``
    is the largest number of categories of a column, 0 without categorical columns.
    Folds are chosen only if the fit ``may_fold``, linear leaves only if it
    ``may_be_linear``, and pairs of columns only if it ``may_have_pairs``.
    """
    if settings.preset is None:
        return {}
    kept = _NOT_CHOSEN[settings.boosting_type].union(explicit)
    if settings.data_sample_strategy == "goss":
        kept |= _SAMPLING
    if settings.linear_tree:  # the user's own linear leaves
        kept |= _LINEAR_LEAF_OPTIONS
    if not (may_be_linear and settings.may_have(linear_tree=True)):
        kept |= _LINEAR_TREE
    if not may_have_pairs:
        kept |= _PAIR_FEATURES
    preset = _PRESETS[settings.preset]
    is_single = settings.folds is None and not (may_fold and "folds" in preset.on_folds)
    values = preset.single if is_single else preset.on_folds
    if str(settings.objective).startswith(_SURVIVAL):
        values, kept = values | _SURVIVAL_OPTIONS, kept | _LINEAR_TREE | _PAIR_FEATURES
    if max_categories > _LARGE_VOCABULARY:
        values = values | _LARGE_VOCABULARY_OPTIONS
    return {name: value for name, value in values.items() if name not in kept}


def _candidates(
    own: Settings, chosen: Mapping[str, Any], max_categories: int
) -> Candidates:
    """The first candidates of a search: options that differ from the preset's.

    ``own`` are the user's settings, without the preset, and ``chosen`` what the preset
    has chosen. Some candidates have the user's values of all these options, most of
    them defaults, at least with linear leaves. ``max_categories`` is the largest number
    of categories of a column. An empty dict is the preset itself.
    """
    if own.preset != "best" and str(own.objective).startswith(_SURVIVAL):
        return ({},)
    usual = _own(own, chosen)
    category_options = {name: usual[name] for name in _CATEGORY_OPTIONS & usual.keys()}
    if own.preset == "fast":
        return _possible([{}, usual | _LINEAR_LEAVES], chosen)
    may_be_linear = _is_possible(_LINEAR_LEAVES, chosen)
    candidates = [
        {},
        category_options if max_categories > _SMALL_VOCABULARY else {},
        usual | _LINEAR_LEAVES,
        usual | _LINEAR_LEAVES | _SUMS,
        usual | _LINEAR_LEAVES | _PRODUCTS,
        {} if may_be_linear else usual,
        _RANDOM_THRESHOLDS,
        *(_MORE_CANDIDATES if own.preset == "best" else ()),
    ]
    return _possible(candidates, chosen)


def _own(own: Settings, chosen: Collection[str]) -> dict[str, Any]:
    """The candidate with the user's values, or the defaults, of all ``chosen`` options.

    It undoes the preset, except for options that all candidates share.
    """
    return {name: getattr(own, name) for name in chosen if name not in _COMMON_OPTIONS}


def _possible(
    candidates: Sequence[dict[str, Any]], chosen: Collection[str]
) -> Candidates:
    """Candidates restricted to options that the preset has ``chosen``, each once.

    The other options are the user's. A candidate is dropped if it needs one of them:
    see `_is_possible`.
    """
    possible = [
        {name: value for name, value in options.items() if name in chosen}
        for options in candidates
        if _is_possible(options, chosen)
    ]
    return tuple(
        options for i, options in enumerate(possible) if options not in possible[:i]
    )


def _is_possible(options: Mapping[str, Any], chosen: Collection[str]) -> bool:
    """Whether all flags of a candidate (options that are True) may be chosen.

    Without its flag, such as ``linear_tree``, it would have another kind of trees.
    """
    return all(name in chosen for name, value in options.items() if value is True)


def default_trees() -> dict[str, Any]:
    """The defaults of all options that define trees or boosting, by name.

    These are those that a preset chooses, and a few more.
    """
    names = _ACCURATE.keys() | {
        *("boosting_type", "data_sample_strategy", "multi_strategy", "folds")
    }
    return {name: DEFAULTS[name] for name in sorted(names)}


def search(
    own: Settings,
    settings: Settings,
    chosen: Mapping[str, Any],
    max_categories: int,
    n_rows: int,
    *,
    may_be_mean: bool = False,
) -> Search | None:
    """The search for the number of rounds; None if it is given, or folds find it.

    ``own`` are the user's settings, and ``settings`` those with what the preset has
    ``chosen``. ``max_categories`` is the largest number of categories of a column, 0
    without categorical columns. ``n_rows`` is the number of rows. The model is a mean
    of several candidates only if it ``may_be_mean``.
    """
    has_folds = settings.folds is not None
    # With folds, the user's number of rounds is only a maximum. Objectives that are
    # functions have no loss to compare.
    open_options = {"early_stopping_round"} | (set() if has_folds else {"n_estimators"})
    is_open = open_options <= chosen.keys()
    if not is_open or (has_folds and callable(settings.objective)):
        return None
    rate, n_rounds = settings.learning_rate, settings.n_estimators
    if not has_folds:
        rate = max(_SEARCH_RATE, rate)
        n_rounds = max(1, round(n_rounds * settings.learning_rate / rate))
    without_folds: dict[str, Any] = {"early_stopping_round": None}
    if "n_estimators" in chosen:
        without_folds["n_estimators"] = _ROUNDS_WITHOUT_FOLDS
    level = _LEVELS[n_rows >= _SMALL_DATA_ROWS] if n_rows >= _MIN_ROWS_TO_DROP else 0.0
    is_fast = settings.preset == "fast"
    first = Search(
        *((5, 1) if is_fast else (3, 3)),
        {"learning_rate": rate, "n_estimators": n_rounds, "early_stopping_round": None},
        _candidates(own, chosen, max_categories),
        settings.learning_rate,
        "learning_rate" in chosen and not is_fast,
        without_folds,
        level,
        own.num_leaves,
        is_mean=may_be_mean and not has_folds,
    )
    if settings.preset != "best":
        return first
    kept = set(own.explicit)
    if not max_categories:
        kept |= _SPACE_CATEGORY_OPTIONS
    if "subsample" not in chosen:
        kept |= _SAMPLING
    space = tuple(option for option in _SPACE if option[0] not in kept)
    return first._replace(space=space, n_batches=_MAX_BATCHES, patience=_PATIENCE)


def planned_rounds(settings: Settings) -> int | None:
    """The maximum number of rounds of a fit; None if folds or a search find it."""
    is_open = settings.preset is not None or settings.folds is not None
    return None if is_open else settings.n_estimators
