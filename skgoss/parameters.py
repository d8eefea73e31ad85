"""The options: one table, and the rules that turn a user's arguments into settings."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import numbers
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, NamedTuple, TypeVar

import numpy as np

from skgoss import _compat, docstrings
from skgoss._messages import UnusedParameterWarning, hint, warn
from skgoss.data.sparse import INT32_MAX

UINT32_MAX = 2**32 - 1

_Value = TypeVar("_Value")


class Domain(NamedTuple):
    """The values that an option may take.

    Attributes
    ----------
    type : str
        The type in docstrings.
    words : str
        Completes the sentence "must be ...".
    convert : callable
        Returns a value as a plain Python object, or ``NotImplemented`` if it is outside
        the domain.
    """

    type: str
    words: str
    convert: Callable[[Any], Any]


def integer(low: int, high: int = INT32_MAX) -> Domain:
    """Integers from ``low`` to ``high``, both included; bools are no integers."""

    def convert(value: Any) -> Any:
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            return NotImplemented
        number = int(value)
        return number if low <= number <= high else NotImplemented

    limit = "inf)" if high == INT32_MAX else f"{high}]"
    words = f"an int in the range [{low}, {limit}" if low > -INT32_MAX else "an int"
    return Domain("int", words, convert)


def real(
    low: float = -math.inf, high: float = math.inf, *, closed: str = "neither"
) -> Domain:
    """Finite numbers from ``low`` to ``high``; ``closed`` tells which ends belong."""
    left, right = closed in {"left", "both"}, closed in {"right", "both"}

    def convert(value: Any) -> Any:
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return NotImplemented
        try:
            number = float(value)
        except OverflowError:
            return NotImplemented
        edge = (left and number == low) or (right and number == high)
        return number if edge or low < number < high else NotImplemented

    bounds = f"{'[' if left else '('}{low}, {high}{']' if right else ')'}"
    return Domain("float", f"a float in the range {bounds}", convert)


def choice(**names: str) -> Domain:
    """Words, in upper or lower case. Keywords are the words, values their meanings."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            return NotImplemented
        return names.get(value.lower(), NotImplemented)

    words = ", ".join(repr(name) for name in names)
    return Domain(f"{{{words}}}", f"a str among {{{words}}}", convert)


def optional(domain: Domain) -> Domain:
    """The values of ``domain``, and None."""

    def convert(value: Any) -> Any:
        return None if value is None else domain.convert(value)

    return Domain(f"{domain.type} or None", f"{domain.words} or None", convert)


def instance(type_: str, words: str, accepts: Callable[[Any], bool]) -> Domain:
    """Objects for which ``accepts`` is true; they are not converted."""

    def convert(value: Any) -> Any:
        return value if accepts(value) else NotImplemented

    return Domain(type_, words, convert)


def _convert_flag(value: Any) -> Any:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, str):
        return NotImplemented
    # Scripts have the words of LightGBM's parameter files.
    return {"true": True, "false": False}.get(value.lower(), NotImplemented)


def _convert_random_state(value: Any) -> Any:
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return value
    return integer(0, UINT32_MAX).convert(value)


ANY_INT = integer(-INT32_MAX - 1)
FLAG = Domain("bool", "a bool", _convert_flag)
FRACTION = real(0, 1, closed="right")
UNIT = real(0, 1, closed="both")
POSITIVE = real(0)
NOT_NEGATIVE = real(0, closed="left")
SEED = optional(integer(0))
OBJECTIVE = instance(
    "str, callable or None",
    "a str, a callable or None",
    lambda value: value is None or isinstance(value, str) or callable(value),
)
CLASS_WEIGHT = instance(
    "dict, 'balanced' or None",
    "a dict from labels to weights, 'balanced' or None",
    lambda value: (
        value is None
        or isinstance(value, Mapping)
        or (isinstance(value, str) and value == "balanced")
    ),
)
RANDOM_STATE = optional(
    Domain(
        "int, RandomState, Generator",
        f"an int in the range [0, {UINT32_MAX}], a numpy RandomState or Generator",
        _convert_random_state,
    )
)


def _is_collection(value: Any) -> bool:
    """Whether values can be taken from an object again and again."""
    return isinstance(value, Iterable) and not isinstance(value, Mapping | Iterator)


def _convert_columns(value: Any) -> Any:
    """Convert to a list of names and numbers of columns."""
    if isinstance(value, str) or not _is_collection(value):
        return NotImplemented
    words = [ANY_COLUMN.convert(word) for word in value]
    return NotImplemented if any(word is NotImplemented for word in words) else words


def _convert_column(value: Any) -> Any:
    return str(value) if isinstance(value, str) else integer(0).convert(value)


ANY_COLUMN = Domain("str or int", "a str or an int", _convert_column)
COLUMNS = Domain(
    "'auto', None or list of str and int",
    "'auto', None or a list of column names and column numbers >= 0",
    lambda value: (
        value
        if value is None or (isinstance(value, str) and value == "auto")
        else _convert_columns(value)
    ),
)


def _convert_metric(value: Any) -> Any:
    """Convert to None, a name, a function, or a list of names and functions."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    if not isinstance(value, list | tuple | set):
        return NotImplemented
    words = list(value)
    known = all(
        word is None or isinstance(word, str) or callable(word) for word in words
    )
    return words if known else NotImplemented


def _numbers_of(domain: Domain) -> Callable[[Any], Any]:
    """Converts a number, a list of numbers or a str like '1,3,5' to a tuple."""

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            try:
                value = [float(word) for word in value.split(",")]
            except ValueError:
                return NotImplemented
            value = [
                int(v) if v == int(v) and domain.type == "int" else v for v in value
            ]
        if isinstance(value, numbers.Real):
            value = [value]
        if not _is_collection(value):
            return NotImplemented
        converted = tuple(domain.convert(number) for number in value)
        known = converted and NotImplemented not in converted
        return converted if known else NotImplemented

    return convert


def _by_column(domain: Domain, type_: str, words: str) -> Domain:
    """One value per column: a sequence, a str like '1,0,-1', or a dict by column."""

    def convert(value: Any) -> Any:
        if value is None or (isinstance(value, str | list | tuple) and not value):
            return None
        if not isinstance(value, Mapping):
            return _numbers_of(domain)(value)
        converted = {
            ANY_COLUMN.convert(column): domain.convert(entry)
            for column, entry in value.items()
        }
        known = NotImplemented not in (*converted, *converted.values())
        return converted if known else NotImplemented

    both = f"or a dict from column names or numbers to {words}"
    return Domain(
        f"list of {type_}, dict, str or None",
        f"None, one of {words} for each column (a list, or a str like '1,0') {both}",
        convert,
    )


def _convert_sets(value: Any) -> Any:
    """Convert to None, 'pairwise', 'no_interactions' or a list of lists of columns."""
    if isinstance(value, str):
        if value in {"pairwise", "no_interactions"}:
            return value
        try:
            value = json.loads(f"[{value}]")
        except ValueError:
            return NotImplemented
    if value is None or not _is_collection(value):
        return None if value is None else NotImplemented
    sets = [_convert_columns(columns) for columns in value]
    known = all(columns is not NotImplemented and columns for columns in sets)
    return (sets or None) if known else NotImplemented


def _convert_file(value: Any) -> Any:
    """Convert to None, the name of a file, or a dict with the contents of the file."""
    if isinstance(value, PathLike):
        return fspath(value)
    known = value is None or isinstance(value, str | Mapping)
    return (value or None) if known else NotImplemented


SIGNS = _by_column(integer(-1, 1), "int", "-1, 0, 1")
FACTORS = _by_column(NOT_NEGATIVE, "float", "the floats >= 0")
BINS = _by_column(integer(2, 65535), "int", "the ints from 2 to 65535")
SETS = Domain(
    "list of lists of str and int, str or None",
    "None, 'pairwise', 'no_interactions', or a list of lists of column names and"
    " numbers (or a str like '[0,1],[2]'), none of them empty",
    _convert_sets,
)
FORCED = Domain(
    "dict, str, path or None",
    "None, the name of a JSON file, or a dict",
    _convert_file,
)
METRIC = Domain(
    "str, callable, list of them or None",
    "None, a str, a callable or a list of them",
    _convert_metric,
)
POSITIONS = Domain(
    "int or list of int",
    "an int >= 1 or a list of such",
    _numbers_of(integer(1)),
)
GAINS = optional(
    Domain("list of float", "a list of floats >= 0", _numbers_of(NOT_NEGATIVE))
)
COSTS = optional(Domain("list of float", "a list of floats", _numbers_of(real())))
DELTAS = Domain(
    "float or list of float",
    "a float >= 0 or a list of such",
    lambda value: (
        NOT_NEGATIVE.convert(value)
        if isinstance(value, numbers.Real)
        else _list_of_deltas(value)
    ),
)


def _list_of_deltas(value: Any) -> Any:
    converted = _numbers_of(NOT_NEGATIVE)(value)
    return converted if converted is NotImplemented else list(converted)


@dataclass(frozen=True)
class Option:
    """One row of the table.

    Attributes
    ----------
    name : str
        The name in the estimator's signature.
    default : object
    domain : Domain
    meaning : str
    lightgbm : str
        LightGBM's main name.
    aliases : tuple of str
        Further names.
    """

    name: str
    default: Any
    domain: Domain
    meaning: str
    lightgbm: str
    aliases: tuple[str, ...] = ()

    @property
    def other_names(self) -> tuple[str, ...]:
        """All accepted names except ``name``."""
        main = (self.lightgbm,) if self.lightgbm != self.name else ()
        return main + self.aliases

    @property
    def precedence(self) -> tuple[str, ...]:
        """All names; if several are given different values, the first of them is used.

        This is LightGBM's order: its main name first, then shorter names before longer
        ones; but ``n_estimators`` and ``objective`` come last.
        """

        def rank(word: str) -> tuple[bool, bool, int, str]:
            overruled = word == self.name and word in ("n_estimators", "objective")
            return overruled, word != self.lightgbm, len(word), word

        return tuple(sorted((self.name, *self.other_names), key=rank))


def _option(
    name: str,
    default: Any,
    domain: Domain,
    meaning: str,
    lightgbm: str | None = None,
    aliases: str = "",
) -> Option:
    return Option(
        name, default, domain, meaning, lightgbm or name, tuple(aliases.split())
    )


OPTIONS: tuple[Option, ...] = (
    _option(
        "boosting_type",
        "gbdt",
        choice(
            gbdt="gbdt",
            gbrt="gbdt",
            dart="dart",
            rf="rf",
            random_forest="rf",
            goss="goss",
        ),
        "The boosting algorithm. 'gbdt' (or 'gbrt'): gradient boosted trees. 'dart':"
        " some of the earlier trees are dropped at random while a new one is grown"
        " (Rashmi and Gilad-Bachrach, AISTATS 2015). 'rf' (or 'random_forest'): a"
        " random forest; it needs ``subsample`` with ``subsample_freq``, or"
        " ``colsample_bytree``. 'goss': 'gbdt' with ``data_sample_strategy='goss'``.",
        "boosting",
        "boost",
    ),
    _option(
        "num_leaves",
        31,
        integer(2, 131072),
        "Maximum number of leaves of a tree.",
        aliases="num_leaf max_leaves max_leaf max_leaf_nodes",
    ),
    _option(
        "max_depth",
        -1,
        ANY_INT,
        "Maximum depth of a tree; the root has depth 0. No limit if <= 0.",
    ),
    _option(
        "learning_rate",
        0.1,
        POSITIVE,
        "Factor by which the values of each tree are multiplied.",
        aliases="shrinkage_rate eta",
    ),
    _option(
        "n_estimators",
        100,
        integer(1),
        "Number of boosting rounds. A round grows one tree, or one tree per class if"
        " there are more than two classes.",
        "num_iterations",
        "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds"
        " num_boost_round max_iter",
    ),
    _option(
        "subsample_for_bin",
        200000,
        integer(1),
        "Number of rows that are sampled to find the boundaries of the bins.",
        "bin_construct_sample_cnt",
    ),
    _option(
        "objective",
        None,
        OBJECTIVE,
        "The loss: a name, or a function ``f(y_true, y_pred) -> gradient, hessian``"
        " (with the weights as an optional third argument). None means 'regression'"
        " for LGBMRegressor, 'binary' or 'multiclass' for LGBMClassifier and"
        " 'lambdarank' for LGBMRanker.",
        aliases="objective_type app application loss",
    ),
    _option(
        "class_weight",
        None,
        CLASS_WEIGHT,
        "Weights of the classes, multiplied into ``sample_weight``. 'balanced' gives"
        " each class the same total weight. Classifiers only.",
    ),
    _option(
        "min_split_gain",
        0.0,
        NOT_NEGATIVE,
        "A split must reduce the loss by more than this.",
        "min_gain_to_split",
    ),
    _option(
        "min_child_weight",
        1e-3,
        NOT_NEGATIVE,
        "Minimum sum of hessians in a leaf.",
        "min_sum_hessian_in_leaf",
        "min_sum_hessian_per_leaf min_sum_hessian min_hessian",
    ),
    _option(
        "min_child_samples",
        20,
        integer(0),
        "Minimum number of rows in a leaf. Rows are counted exactly.",
        "min_data_in_leaf",
        "min_data_per_leaf min_data min_samples_leaf",
    ),
    _option(
        "subsample",
        1.0,
        FRACTION,
        "Share of the rows that are drawn for a tree. It has no effect if"
        " ``subsample_freq`` is 0.",
        "bagging_fraction",
        "sub_row bagging",
    ),
    _option(
        "subsample_freq",
        0,
        ANY_INT,
        "Number of rounds after which rows are drawn anew. All rows are used if <= 0.",
        "bagging_freq",
    ),
    _option(
        "pos_bagging_fraction",
        1.0,
        FRACTION,
        "Share of the positive rows that are drawn, instead of ``subsample``. Needs"
        " ``subsample_freq`` and the objective 'binary'.",
        aliases="pos_sub_row pos_subsample pos_bagging",
    ),
    _option(
        "neg_bagging_fraction",
        1.0,
        FRACTION,
        "Share of the negative rows that are drawn, instead of ``subsample``. Needs"
        " ``subsample_freq`` and the objective 'binary'.",
        aliases="neg_sub_row neg_subsample neg_bagging",
    ),
    _option(
        "bagging_by_query",
        False,
        FLAG,
        "Whether ``subsample`` draws whole queries instead of rows. Rankers only.",
    ),
    _option(
        "data_sample_strategy",
        "bagging",
        choice(bagging="bagging", goss="goss"),
        "How rows are sampled. 'bagging': at random, see ``subsample``. 'goss':"
        " gradient-based one-side sampling keeps the rows with the largest gradients,"
        " samples the other rows and increases their weight (Ke et al., algorithm 2)."
        " It starts after 1 / ``learning_rate`` rounds.",
    ),
    _option(
        "top_rate",
        0.2,
        UNIT,
        "Share of the rows that 'goss' keeps because of their large gradients.",
    ),
    _option(
        "other_rate",
        0.1,
        UNIT,
        "Share of the rows that 'goss' samples from the other rows. The sum with"
        " ``top_rate`` must be at most 1.",
    ),
    _option(
        "drop_rate",
        0.1,
        UNIT,
        "Share of the trees that 'dart' drops in a round.",
        aliases="rate_drop",
    ),
    _option(
        "max_drop",
        50,
        ANY_INT,
        "Maximum number of trees that 'dart' drops in a round. No limit if <= 0.",
    ),
    _option(
        "skip_drop",
        0.5,
        UNIT,
        "Probability that 'dart' drops no tree in a round.",
    ),
    _option(
        "uniform_drop",
        False,
        FLAG,
        "Whether 'dart' drops all trees with the same probability, not in proportion"
        " to their weights.",
    ),
    _option(
        "xgboost_dart_mode",
        False,
        FLAG,
        "Whether 'dart' weights trees as XGBoost does: if n trees are dropped, the"
        " new tree has the weight 1 / (n + ``learning_rate``).",
    ),
    _option(
        "colsample_bytree",
        1.0,
        FRACTION,
        "Share of the columns that are drawn for a tree.",
        "feature_fraction",
        "sub_feature",
    ),
    _option(
        "reg_alpha",
        0.0,
        NOT_NEGATIVE,
        "L1 penalty on the values of leaves.",
        "lambda_l1",
        "l1_regularization",
    ),
    _option(
        "reg_lambda",
        0.0,
        NOT_NEGATIVE,
        "L2 penalty on the values of leaves.",
        "lambda_l2",
        "lambda l2_regularization",
    ),
    _option(
        "random_state",
        None,
        RANDOM_STATE,
        "Seed of all random choices, or a generator from which each fit draws a seed."
        " None is a fixed seed: repeated fits give the same model.",
        "seed",
        "random_seed",
    ),
    _option(
        "n_jobs",
        None,
        optional(ANY_INT),
        "Number of threads; the model does not depend on it. None or 0:"
        " ``OMP_NUM_THREADS`` if it is set, else the number of physical cores. -1: the"
        " number of logical cores; -2: one less, and so on.",
        "num_threads",
        "num_thread nthread nthreads",
    ),
    _option(
        "importance_type",
        "split",
        choice(split="split", gain="gain"),
        "The kind of ``feature_importances_``. 'split': how often a column is used in"
        " splits. 'gain': the sum of the gains of these splits. It may be changed"
        " after fit.",
    ),
    _option(
        "max_bin",
        255,
        integer(2, 65535),
        "Maximum number of bins of a column, including the bin of missing values.",
        aliases="max_bins",
    ),
    _option(
        "max_bin_by_feature",
        None,
        BINS,
        "Maximum number of bins of each column. Columns missing from a dict use"
        " ``max_bin``.",
    ),
    _option("min_data_in_bin", 3, integer(1), "Minimum number of rows in a bin."),
    _option(
        "use_missing",
        True,
        FLAG,
        "Whether NaN is a missing value. If False, NaN is 0.",
    ),
    _option(
        "zero_as_missing",
        False,
        FLAG,
        "Whether 0 is a missing value, as NaN is.",
    ),
    _option(
        "feature_pre_filter",
        True,
        FLAG,
        "Has no effect: columns that cannot be split never change the model.",
    ),
    _option(
        "enable_bundle",
        True,
        FLAG,
        "Whether sparse columns that are never non-zero in the same row are stored as"
        " one column (exclusive feature bundling).",
        aliases="is_enable_bundle bundle",
    ),
    _option(
        "max_conflict_rate",
        0.0,
        real(0, 1, closed="left"),
        "Share of rows in which bundled columns may both be non-zero. At 0, bundling"
        " does not change the model.",
    ),
    _option(
        "is_enable_sparse",
        True,
        FLAG,
        "Whether only the non-zero values of sparse columns are stored. It does not"
        " change the model.",
        aliases="is_sparse enable_sparse sparse",
    ),
    _option(
        "categorical_feature",
        "auto",
        COLUMNS,
        "The columns that hold categories. 'auto': the columns of a data frame with"
        " strings or a categorical dtype. A list of names and numbers of columns:"
        " these columns as well; negative numbers in them are missing values. None or"
        " []: no column. Categories are identified by their values, in any container."
        " Ordered categories of pandas are numbers, unless listed.",
        aliases="cat_feature categorical_column cat_column categorical_features",
    ),
    _option(
        "max_cat_to_onehot",
        4,
        integer(1),
        "Columns with at most this many categories are split one category against all"
        " others.",
    ),
    _option(
        "max_cat_threshold",
        32,
        integer(1),
        "Maximum number of categories on the smaller side of a split between two sets"
        " of categories.",
    ),
    _option(
        "cat_smooth",
        10.0,
        NOT_NEGATIVE,
        "Smoothing of the statistics by which categories are sorted. Categories with"
        " fewer rows than this are not separated from each other.",
    ),
    _option(
        "cat_l2",
        10.0,
        NOT_NEGATIVE,
        "L2 penalty that is added to ``reg_lambda`` in splits between two sets of"
        " categories.",
    ),
    _option(
        "min_data_per_group",
        100,
        integer(1),
        "Minimum number of rows between two candidate cuts of the sorted categories.",
    ),
    _option(
        "max_delta_step",
        0.0,
        real(),
        "Maximum absolute value of a leaf, before the learning rate is applied. No"
        " limit if <= 0.",
        aliases="max_tree_output max_leaf_output",
    ),
    _option(
        "linear_tree",
        False,
        FLAG,
        "Whether leaves hold linear models of the numeric columns on the path from"
        " the root (Shi et al., IJCAI 2019). The leaves of the first round are"
        " constants.",
        aliases="linear_trees",
    ),
    _option(
        "linear_lambda",
        0.0,
        NOT_NEGATIVE,
        "L2 penalty on the coefficients of the linear models of ``linear_tree``.",
    ),
    _option(
        "path_smooth",
        0.0,
        NOT_NEGATIVE,
        "Smoothing of the value of a leaf towards the value of its parent, which"
        " counts like this many rows.",
    ),
    _option(
        "extra_trees",
        False,
        FLAG,
        "Whether only one random threshold per column is tried in a split.",
        aliases="extra_tree",
    ),
    _option(
        "feature_fraction_bynode",
        1.0,
        FRACTION,
        "Share of the columns of a tree that are drawn for a node.",
        aliases="sub_feature_bynode colsample_bynode",
    ),
    _option(
        "feature_contri",
        None,
        FACTORS,
        "Factors for the gains of splits, one for each column. A column with factor 0"
        " is never split. Columns missing from a dict have the factor 1.",
        aliases="feature_contrib fc fp feature_penalty",
    ),
    _option(
        "monotone_constraints",
        None,
        SIGNS,
        "Direction of each column's effect on the raw predictions: 1 increasing, -1"
        " decreasing, 0 free. Columns missing from a dict are free. Predictions keep"
        " the constraints exactly, for any objective; missing values are free.",
        aliases="mc monotone_constraint monotonic_cst",
    ),
    _option(
        "monotone_constraints_method",
        "basic",
        choice(basic="basic", intermediate="intermediate", advanced="advanced"),
        "How constraints are kept. 'basic': outputs below a split are bounded by the"
        " mean of its two children. 'intermediate': a leaf is bounded by the values of"
        " the leaves that it is compared with. 'advanced': each side of a candidate"
        " split has bounds of its own. Each is slower and usually more accurate than"
        " the one before.",
        aliases="monotone_constraining_method mc_method",
    ),
    _option(
        "monotone_penalty",
        0.0,
        NOT_NEGATIVE,
        "Penalises splits of columns with monotone constraints, most strongly near"
        " the root.",
        aliases="monotone_splits_penalty ms_penalty mc_penalty",
    ),
    _option(
        "interaction_constraints",
        None,
        SETS,
        "Sets of columns that may be used together on a path from the root to a leaf."
        " Columns in no set are not used. 'pairwise': all pairs of columns."
        " 'no_interactions': each column by itself.",
    ),
    _option(
        "forcedsplits_filename",
        None,
        FORCED,
        "Splits at the top of each tree, as a dict or the name of a JSON file. Each"
        " split has 'feature' (a number or a name) and 'threshold', and may have"
        " 'left' and 'right', the splits below it. Splits without gain or with too few"
        " rows are left out, together with the splits below them.",
        aliases="fs forced_splits_filename forced_splits_file forced_splits",
    ),
    _option(
        "boost_from_average",
        True,
        FLAG,
        "Whether boosting starts from the best constant, not from 0.",
    ),
    _option(
        "reg_sqrt",
        False,
        FLAG,
        "Whether to fit the signed square root of the target and to square the"
        " predictions. For the objectives 'regression', 'regression_l1', 'fair',"
        " 'quantile' and 'mape'.",
    ),
    _option(
        "is_unbalance",
        False,
        FLAG,
        "Whether the weight of the rarer class is increased to that of the other"
        " class. For the objectives 'binary' and 'multiclassova'.",
        aliases="unbalance unbalanced_sets",
    ),
    _option(
        "scale_pos_weight",
        1.0,
        POSITIVE,
        "Weight of the positive class. For the objectives 'binary' and"
        " 'multiclassova'.",
    ),
    _option(
        "sigmoid",
        1.0,
        POSITIVE,
        "Slope of the sigmoid function of the objectives 'binary', 'multiclassova'"
        " and 'lambdarank'.",
    ),
    _option(
        "alpha",
        0.9,
        POSITIVE,
        "For the objective 'huber', the size of the error at which the loss becomes"
        " linear; for 'quantile', the quantile.",
    ),
    _option(
        "fair_c",
        1.0,
        POSITIVE,
        "The size of the error at which the loss of 'fair' begins to flatten.",
    ),
    _option(
        "poisson_max_delta_step",
        0.7,
        POSITIVE,
        "Limits the steps of 'poisson': its hessian is multiplied by exp of this"
        " value.",
    ),
    _option(
        "tweedie_variance_power",
        1.5,
        real(1, 2, closed="left"),
        "Power of the mean in the variance of 'tweedie'.",
    ),
    _option(
        "lambdarank_truncation_level",
        30,
        integer(1),
        "Number of top documents of a query that 'lambdarank' compares with all"
        " others. It should be a little larger than the k of the NDCG@k to optimise.",
    ),
    _option(
        "lambdarank_norm",
        True,
        FLAG,
        "Whether 'lambdarank' normalises the gradients of each query.",
    ),
    _option(
        "label_gain",
        None,
        GAINS,
        "Gain of a document by its grade, from grade 0. None: 2**grade - 1, for the"
        " grades 0 to 30.",
    ),
    _option(
        "metric",
        None,
        METRIC,
        "Metrics of the evaluation sets. None: the default metric of the objective."
        " 'None': no metric.",
        aliases="metrics metric_types",
    ),
    _option(
        "multi_error_top_k",
        1,
        integer(1),
        "'multi_error' counts a row as correct if its class is among this many"
        " classes with the highest predictions.",
    ),
    _option(
        "auc_mu_weights",
        None,
        COSTS,
        "Costs of misclassification for 'auc_mu', class by class: n_classes *"
        " n_classes numbers, row by row. None: all are 1.",
    ),
    _option(
        "eval_at",
        (1, 2, 3, 4, 5),
        POSITIONS,
        "Number of top documents that 'ndcg' and 'map' look at.",
        aliases="ndcg_eval_at ndcg_at map_eval_at map_at",
    ),
    _option(
        "early_stopping_round",
        None,
        optional(ANY_INT),
        "Boosting stops when a metric of an evaluation set has not improved for this"
        " many rounds, and the model keeps the rounds up to the best one. If fit gets"
        " no evaluation set, rows are held out: see ``validation_fraction``. None or"
        " <= 0: no early stopping.",
        aliases="early_stopping_rounds early_stopping n_iter_no_change",
    ),
    _option(
        "first_metric_only",
        False,
        FLAG,
        "Whether early stopping looks at the first metric only.",
    ),
    _option(
        "early_stopping_min_delta",
        0.0,
        DELTAS,
        "Minimum improvement of a metric for early stopping. A list has one number"
        " for each metric.",
    ),
    _option(
        "validation_fraction",
        0.1,
        real(0, 1),
        "Share of the rows that are held out for early stopping if fit gets no"
        " evaluation set. Classifiers hold out the same share of each class, rankers"
        " whole queries. ``random_state`` decides which.",
    ),
    _option(
        "refit",
        False,
        FLAG,
        "Whether to boost the best number of rounds again on all rows, if rows were"
        " held out for early stopping. Callbacks that are called before rounds, such"
        " as ``reset_parameter``, are called again.",
    ),
    _option(
        "data_random_seed",
        None,
        SEED,
        "Seed of the sample of rows from which bins are found. None: from"
        " ``random_state``, or 1 if that is None.",
        aliases="data_seed",
    ),
    _option(
        "bagging_seed",
        None,
        SEED,
        "Seed of the samples of rows. None: from ``random_state``, or 3 if that is"
        " None.",
        aliases="bagging_fraction_seed",
    ),
    _option(
        "feature_fraction_seed",
        None,
        SEED,
        "Seed of the samples of columns. None: from ``random_state``, or 2 if that is"
        " None.",
    ),
    _option(
        "extra_seed",
        None,
        SEED,
        "Seed of the thresholds of ``extra_trees``. None: from ``random_state``, or 6"
        " if that is None.",
    ),
    _option(
        "objective_seed",
        None,
        SEED,
        "Seed of the random numbers of 'rank_xendcg'. None: from ``random_state``, or"
        " 5 if that is None.",
    ),
    _option(
        "drop_seed",
        None,
        SEED,
        "Seed of the trees that 'dart' drops. None: from ``random_state``, or 4 if"
        " that is None.",
    ),
    _option(
        "verbosity",
        -1,
        ANY_INT,
        "At 1 or more, early stopping prints messages and long fits show a progress"
        " bar if rich is installed.",
        aliases="verbose",
    ),
    _option(
        "deterministic",
        False,
        FLAG,
        "Has no effect: every fit is deterministic.",
    ),
    _option(
        "force_col_wise",
        False,
        FLAG,
        "Has no effect: the layout in memory never changes the model.",
    ),
    _option(
        "force_row_wise",
        False,
        FLAG,
        "Has no effect: the layout in memory never changes the model.",
    ),
)

FIXED_SEEDS = {
    "data_random_seed": 1,
    "bagging_seed": 3,
    "feature_fraction_seed": 2,
    "extra_seed": 6,
    "objective_seed": 5,
    "drop_seed": 4,
}

# LightGBM's options that have no effect here, with all of their names, by the reason.
WITHOUT_EFFECT: dict[str, tuple[str, ...]] = {
    "Histograms are exact sums of integers.": (
        *("use_quantized_grad", "num_grad_quant_bins", "quant_train_renew_leaf"),
        "stochastic_rounding",
    ),
    "A fit runs on the CPU of one machine.": (
        *("device_type", "device", "gpu_platform_id", "gpu_device_id"),
        *("gpu_device_id_list", "gpu_use_dp", "num_gpu"),
        *("tree_learner", "tree", "tree_type", "tree_learner_type"),
        *("top_k", "topk", "num_machines", "num_machine", "machines", "workers"),
        *("nodes", "local_listen_port", "local_port", "port", "time_out"),
        *("machine_list_filename", "machine_list_file", "machine_list", "mlist"),
    ),
    "Only the leaves that may still be split have histograms.": (
        *("histogram_pool_size", "hist_pool_size"),
    ),
    "The number of classes is the number of labels in `y`.": (
        *("num_class", "num_classes"),
    ),
    "Only for data files; `fit` takes arrays and data frames.": (
        *("two_round", "two_round_loading", "use_two_round_loading", "header"),
        *("has_header", "pre_partition", "is_pre_partition", "save_binary"),
        *("is_save_binary", "is_save_binary_file", "precise_float_parser"),
        "parser_config_file",
    ),
    "Only for LightGBM's command line.": (
        *("task", "task_type", "config", "config_file", "metric_freq", "output_freq"),
        *("is_provide_training_metric", "is_training_metric", "train_metric"),
        *("training_metric", "input_model", "model_in", "model_input"),
        *("output_model", "model_out", "model_output", "snapshot_freq", "save_period"),
        *("saved_feature_importance_type", "convert_model", "convert_model_file"),
        *("convert_model_language", "output_result", "name_pred", "pred_name"),
        *("predict_name", "predict_result", "prediction_name", "prediction_result"),
    ),
    "Use the arguments of `predict` instead.": (
        *("predict_raw_score", "is_predict_raw_score", "predict_rawscore"),
        *("raw_score", "predict_leaf_index", "is_predict_leaf_index", "leaf_index"),
        *("predict_contrib", "is_predict_contrib", "contrib"),
        *("num_iteration_predict", "start_iteration_predict"),
    ),
    "Predictions use all trees, and `X` is always checked.": (
        *("pred_early_stop", "pred_early_stop_freq", "pred_early_stop_margin"),
        "predict_disable_shape_check",
    ),
    "Only for `Booster.refit`.": ("refit_decay_rate",),
    "Only for positions of documents, which `LGBMRanker.fit` does not take.": (
        "lambdarank_position_bias_regularization",
    ),
    "Nothing is printed by default (an option of LightGBM before 3.3).": ("silent",),
}
_FORGOTTEN = {word for words in WITHOUT_EFFECT.values() for word in words}

_NAME_OF = {
    word: option.name
    for option in OPTIONS
    for word in (option.name, *option.other_names)
}
_OPTION = {option.name: option for option in OPTIONS}

# One value for each column, or values by name or number of the column.
ByColumn = Sequence[_Value] | Mapping[str | int, _Value] | None


@dataclass(frozen=True)
class Settings:
    """The checked values of all options, for one fit. Seeds are resolved."""

    boosting_type: str
    num_leaves: int
    max_depth: int
    learning_rate: float
    n_estimators: int
    subsample_for_bin: int
    objective: str | Callable[..., Any] | None
    class_weight: Mapping[Any, float] | str | None
    min_split_gain: float
    min_child_weight: float
    min_child_samples: int
    subsample: float
    subsample_freq: int
    pos_bagging_fraction: float
    neg_bagging_fraction: float
    bagging_by_query: bool
    data_sample_strategy: str
    top_rate: float
    other_rate: float
    drop_rate: float
    max_drop: int
    skip_drop: float
    uniform_drop: bool
    xgboost_dart_mode: bool
    colsample_bytree: float
    reg_alpha: float
    reg_lambda: float
    random_state: int
    n_jobs: int | None
    importance_type: str
    max_bin: int
    max_bin_by_feature: ByColumn[int]
    min_data_in_bin: int
    use_missing: bool
    zero_as_missing: bool
    feature_pre_filter: bool
    enable_bundle: bool
    max_conflict_rate: float
    is_enable_sparse: bool
    categorical_feature: str | list[str | int] | None
    max_cat_to_onehot: int
    max_cat_threshold: int
    cat_smooth: float
    cat_l2: float
    min_data_per_group: int
    max_delta_step: float
    linear_tree: bool
    linear_lambda: float
    path_smooth: float
    extra_trees: bool
    feature_fraction_bynode: float
    feature_contri: ByColumn[float]
    monotone_constraints: ByColumn[int]
    monotone_constraints_method: str
    monotone_penalty: float
    interaction_constraints: Sequence[Sequence[str | int]] | str | None
    forcedsplits_filename: Sequence[Any] | Mapping[str, Any] | str | None
    boost_from_average: bool
    reg_sqrt: bool
    is_unbalance: bool
    scale_pos_weight: float
    sigmoid: float
    alpha: float
    fair_c: float
    poisson_max_delta_step: float
    tweedie_variance_power: float
    lambdarank_truncation_level: int
    lambdarank_norm: bool
    label_gain: tuple[float, ...] | None
    metric: str | Callable[..., Any] | list[Any] | None
    multi_error_top_k: int
    auc_mu_weights: tuple[float, ...] | None
    eval_at: tuple[int, ...]
    early_stopping_round: int | None
    first_metric_only: bool
    early_stopping_min_delta: float | list[float]
    validation_fraction: float
    refit: bool
    data_random_seed: int
    bagging_seed: int
    feature_fraction_seed: int
    extra_seed: int
    objective_seed: int
    drop_seed: int
    verbosity: int
    deterministic: bool
    force_col_wise: bool
    force_row_wise: bool

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """Return settings with other values of some options: see `changed`."""
        return changed(self, values)


def _same(first: Any, second: Any) -> bool:
    return first is second or bool(np.array_equal(first, second))


def canonical(
    given: Mapping[str, Any], owner: str, own: Collection[str] = ()
) -> dict[str, Any]:
    """Replace other names of options by the names that estimators show.

    Parameters
    ----------
    given : mapping from names to values
        Unknown names are kept; those in ``WITHOUT_EFFECT`` are left out.
    owner : str
        The estimator's name, for messages.
    own : collection of str, default=()
        Names that are kept, because a subclass may have given them a meaning.

    Returns
    -------
    dict
        The same values under the options' names.

    Raises
    ------
    ValueError
        If two names of one option come with different values.
    """
    resolved: dict[str, Any] = {}
    word_of: dict[str, str] = {}
    for word, value in given.items():
        if word in _FORGOTTEN and word not in own:
            continue
        name = word if word in own else _NAME_OF.get(word, word)
        if name in resolved and not _same(resolved[name], value):
            raise ValueError(
                f"{word_of[name]!r} and {word!r} are names of the same parameter of"
                f" {owner} ({name!r}) but got different values: {resolved[name]!r}"
                f" and {value!r}. Pass one of them."
            )
        resolved.setdefault(name, value)
        word_of.setdefault(name, word)
    return resolved


def complete(
    estimator: Any, before: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Finish a constructor that has set the arguments of its signature.

    Parameters
    ----------
    estimator : LGBMModel
    before : mapping
        The attributes that a subclass had set before it called this constructor. They
        are kept if the constructor set the default.
    given : mapping from names to values
        The arguments that are not in the signature. Other names of options set the
        options.

    Returns
    -------
    dict
        The values of unknown names.

    Warns
    -----
    UnusedParameterWarning
        For unknown names, and if several names of an option have different values.
        Then the first name in LightGBM's order is used; for ``n_jobs``, the smallest
        number of threads. An argument of the signature counts as given if it differs
        from its default in the estimator's class.
    """
    _keep_attributes(estimator, before)
    owner = type(estimator).__name__
    by_option, unused = _by_option(given)
    signature = inspect.signature(type(estimator).__init__) if by_option else None
    for name, values in by_option.items():
        own, default = getattr(estimator, name), _OPTION[name].default
        if name in signature.parameters:
            default = signature.parameters[name].default
        if not _same(own, default):
            values = {name: own, **values}
        setattr(estimator, name, _decided(_OPTION[name], values, owner))
    for word in unused:
        of_fit = " It is an argument of fit." if word in docstrings.FIT else ""
        _warn_of_unknown(
            f"{owner} has no parameter {word!r}", of_fit or hint(word, _NAME_OF)
        )
    return unused


def _keep_attributes(estimator: Any, before: Mapping[str, Any]) -> None:
    if before.keys() >= _OPTION.keys():
        return  # the constructor was called again: these are the earlier values
    for name in before.keys() & _OPTION.keys():
        if _same(getattr(estimator, name), _OPTION[name].default):
            setattr(estimator, name, before[name])


def _by_option(
    given: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The values by option and name, and the values of unknown names."""
    by_option: dict[str, dict[str, Any]] = {}
    unused: dict[str, Any] = {}
    for word, value in given.items():
        if word in _NAME_OF:
            by_option.setdefault(_NAME_OF[word], {})[word] = value
        elif word not in _FORGOTTEN:
            unused[word] = value
    return by_option, unused


def _decided(option: Option, values: Mapping[str, Any], owner: str) -> Any:
    """The value to use, if several names of an option are given."""
    words = sorted(values, key=option.precedence.index)
    valid = all(option.domain.convert(values[w]) is not NotImplemented for w in words)
    if option.name == "n_jobs" and valid:
        words.sort(key=lambda word: _compat.allowed_threads(values[word]))
    used = values[words[0]]
    if not all(_same(used, values[word]) for word in words):
        listed = ", ".join(f"{word}={values[word]!r}" for word in words)
        warn(
            f"{owner} got different values for one parameter: {listed}."
            f" {words[0]}={used!r} is used.",
            UnusedParameterWarning,
        )
    return used


def _warn_of_unknown(problem: str, advice: str) -> None:
    warn(f"{problem}: it has no effect.{advice}", UnusedParameterWarning)


def show_inherited(cls: type) -> None:
    """Add the inherited parameters to the signature of a constructor with ``**kwargs``.

    scikit-learn reads the parameters of an estimator from this signature.
    """
    init = vars(cls).get("__init__")
    if init is None:
        return
    signature = inspect.signature(init)
    own = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if parameter.kind is not parameter.VAR_KEYWORD
    }
    if len(own) == len(signature.parameters):
        return
    parent = next(base for base in cls.__mro__[1:] if "__init__" in vars(base))
    inherited = inspect.signature(vars(parent)["__init__"]).parameters
    merged = [*own.values(), *(p for name, p in inherited.items() if name not in own)]
    init.__signature__ = signature.replace(parameters=merged)


def checked(option: Option, value: Any, owner: str) -> Any:
    """Return ``value`` as a plain Python object.

    Raises
    ------
    ValueError
        If it is outside the option's domain.
    """
    converted = option.domain.convert(value)
    if converted is NotImplemented:
        raise ValueError(
            f"The {option.name!r} parameter of {owner} must be {option.domain.words}."
            f" Got {value!r} instead."
        )
    return converted


def value(estimator: Any, name: str) -> Any:
    """Return an option of an estimator, checked."""
    return checked(_OPTION[name], getattr(estimator, name), type(estimator).__name__)


def settings(estimator: Any, **chosen: Any) -> Settings:
    """Check all options of an estimator and resolve its seeds.

    Parameters
    ----------
    estimator : LGBMModel
        It is not changed, but a generator in ``random_state`` draws a number.
    **chosen : dict
        Values to use instead of those of the estimator.

    Returns
    -------
    Settings
        One field for each option. Seeds are ints.

    Raises
    ------
    ValueError
        If an option is outside its domain, or options contradict each other.
    """
    owner = type(estimator).__name__
    values = {
        option.name: checked(
            option, chosen.get(option.name, getattr(estimator, option.name)), owner
        )
        for option in OPTIONS
    }
    if values["boosting_type"] == "goss":
        values |= {"boosting_type": "gbdt", "data_sample_strategy": "goss"}
    _check_together(values, owner)
    return Settings(**{**values, **_seeds(values)})


def _check_together(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if options contradict each other."""
    if values["data_sample_strategy"] == "goss":
        _check_rates(values, owner)
    if values["boosting_type"] == "rf":
        _check_forest(values, owner)
    if values["linear_tree"] and values["zero_as_missing"]:
        raise ValueError(
            f"The 'linear_tree' parameter of {owner} must be False where"
            " zero_as_missing=True: a linear leaf needs to know what 0 means."
        )


# Options of single trees, which may change from round to round.
CHANGEABLE = frozenset(
    {
        *("learning_rate", "num_leaves", "max_depth", "min_split_gain"),
        *("min_child_weight", "min_child_samples", "reg_alpha", "reg_lambda"),
        *("max_delta_step", "path_smooth", "extra_trees"),
        *("subsample", "subsample_freq", "colsample_bytree", "feature_fraction_bynode"),
        *("pos_bagging_fraction", "neg_bagging_fraction", "top_rate", "other_rate"),
        *("drop_rate", "max_drop", "skip_drop"),
        *("max_cat_to_onehot", "max_cat_threshold", "cat_smooth", "cat_l2"),
        "min_data_per_group",
    }
)


def changed(settings: Settings, values: Mapping[str, Any]) -> Settings:
    """Return settings with other values of some options.

    Parameters
    ----------
    settings : Settings
    values : mapping
        Values by any name of an option in ``CHANGEABLE``.

    Raises
    ------
    ValueError
        If an option does not belong to single trees, or a value is outside its domain.
    """
    options = canonical(values, "reset_parameter")
    fixed = options.keys() - CHANGEABLE
    if fixed:
        raise ValueError(
            f"reset_parameter cannot change {min(fixed)!r} during a fit; it can change"
            f" {', '.join(sorted(CHANGEABLE))}."
        )
    for name, value in options.items():
        options[name] = checked(_OPTION[name], value, "reset_parameter")
    _check_together({**vars(settings), **options}, "reset_parameter")
    return dataclasses.replace(settings, **options)


def _least_share(values: Mapping[str, Any]) -> float:
    """The smallest share of rows that bagging draws."""
    names = ("subsample", "pos_bagging_fraction", "neg_bagging_fraction")
    return min(values[name] for name in names)


def _check_forest(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if all trees of a forest would be equal."""
    bags = values["subsample_freq"] > 0 and _least_share(values) < 1
    if not bags and values["colsample_bytree"] == 1:
        raise ValueError(
            f"boosting_type='rf' of {owner} needs trees that differ: set subsample < 1"
            " and subsample_freq > 0, or colsample_bytree < 1."
        )


def _check_rates(values: Mapping[str, Any], owner: str) -> None:
    """Raise ValueError if one-side sampling is not possible with these options."""
    top, other = values["top_rate"], values["other_rate"]
    for name in ("top_rate", "other_rate"):
        if values[name] == 0:
            raise ValueError(
                f"The {name!r} parameter of {owner} must be above 0 for"
                " data_sample_strategy='goss'. Got 0 instead."
            )
    if top + other > 1 + 1e-9:
        raise ValueError(
            f"The 'top_rate' and 'other_rate' parameters of {owner} are shares of the"
            f" same rows: their sum must be at most 1. Got {top!r} and {other!r}."
        )
    if values["subsample_freq"] > 0 and _least_share(values) < 1:
        raise ValueError(
            f"{owner} draws rows either by data_sample_strategy='goss' or by subsample"
            f" and subsample_freq. Set subsample=1 or subsample_freq=0, or"
            " data_sample_strategy='bagging'."
        )


def n_jobs(given: Mapping[str, Any], default: Any, owner: str) -> int | None:
    """Read the number of threads from the ``**kwargs`` of a prediction.

    Other options have no effect on predictions; unknown names give a warning.

    Raises
    ------
    TypeError
        If ``pred_contrib`` is true.
    """
    if given.get("pred_contrib"):
        raise TypeError(f"{owner} predicts without an argument 'pred_contrib'.")
    option = _OPTION["n_jobs"]
    by_option, unused = _by_option(given)
    for word in unused.keys() - {"pred_contrib"}:
        _warn_of_unknown(
            f"{owner} predicts without an argument {word!r}",
            hint(word, [*docstrings.PREDICTION, *option.precedence]),
        )
    values = by_option.get("n_jobs", {"n_jobs": default})
    return checked(option, _decided(option, values, owner), owner)


def _drawn(source: Any) -> int | None:
    if isinstance(source, np.random.RandomState):
        return int(source.randint(INT32_MAX))
    if isinstance(source, np.random.Generator):
        return int(source.integers(INT32_MAX))
    return source


def _seeds(values: Mapping[str, Any]) -> dict[str, int]:
    """The random_state, and the seeds that are given or else derived from it."""
    seed = _drawn(values["random_state"])
    derived = FIXED_SEEDS
    if seed is not None:
        words = np.random.SeedSequence(seed).generate_state(len(FIXED_SEEDS)) >> 1
        derived = dict(zip(FIXED_SEEDS, words.tolist(), strict=True))
    explicit = {name: values[name] for name in FIXED_SEEDS if values[name] is not None}
    return {"random_state": seed or 0, **derived, **explicit}


def documented(cls: type) -> type:
    """Describe the options and the attributes in the docstring of a class."""
    cls.__doc__ = docstrings.filled(
        cls.__doc__ or "",
        parameters=(
            *(
                (o.name, f"{o.domain.type}, default={o.default!r}", o.meaning)
                for o in OPTIONS
            ),
            ("**kwargs", *docstrings.CONSTRUCTOR_KWARGS),
        ),
        attributes=((name, *text) for name, text in docstrings.ATTRIBUTES.items()),
    )
    return cls


def markdown() -> str:
    """The options as a page of the documentation."""
    head = (
        "# Parameters\n\n"
        "The constructor, `set_params` and the grids of searches accept all names;"
        " `get_params` shows the\nfirst one. LightGBM's main name is in italics.\n\n"
        "Several names of one parameter may be given with the same value. If their"
        " values differ,\n`set_params` raises a ValueError. The constructor gives an"
        " `UnusedParameterWarning` and uses\nLightGBM's main name if it is given, else"
        " the shortest name. There are two exceptions: `n_jobs`\nis the smallest number"
        " of threads; any other name replaces `n_estimators` and `objective`.\n\n"
        "This page is written by `python docs/parameters.py`.\n\n"
        "| parameter | default | values | meaning | other names |\n"
        "|---|---|---|---|---|\n"
    )
    rows = "".join(_markdown_row(option) for option in OPTIONS)
    tail = (
        "\n## Accepted, without effect\n\n"
        "These options of LightGBM are accepted and ignored; `get_params` does not"
        " show them. Other unknown\nnames give an `UnusedParameterWarning`:"
        " `get_params` shows them, and they have no effect.\n\n"
        "| names | reason |\n|---|---|\n"
    )
    return (
        head
        + rows
        + tail
        + "".join(
            f"| {', '.join(f'`{word}`' for word in words)} | {why} |\n"
            for why, words in WITHOUT_EFFECT.items()
        )
    )


def _markdown_row(option: Option) -> str:
    others = ", ".join(
        f"*{word}*" if word == option.lightgbm else word for word in option.other_names
    )
    meaning = option.meaning.replace("``", "`")
    return (
        f"| `{option.name}` | `{option.default!r}` | {option.domain.words} |"
        f" {meaning} | {others} |\n"
    )
