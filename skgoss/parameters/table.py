"""The table of options, with a row for each option.

A new option is a row here, and an argument of the constructor in `estimators/base.py`.
Settings, aliases, docstrings and docs/parameters.md are made from the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skgoss.parameters.domains import (
    ALPHA,
    ANY_INT,
    AUC_MU_WEIGHTS,
    BOOL,
    CATEGORICAL_FEATURE,
    CLASS_WEIGHT,
    DATE_FEATURES,
    EVAL_AT,
    FEATURE_CONTRI,
    FILE_COLUMN,
    FILE_COLUMNS,
    FOLDS,
    FORCED_BINS,
    FORCED_SPLITS,
    FRACTION,
    INTERACTION_CONSTRAINTS,
    LABEL_GAIN,
    MAX_BIN_BY_FEATURE,
    METRIC,
    MIN_DELTA,
    MONOTONE_CONSTRAINTS,
    N_BYTES,
    N_ROUNDS,
    NOT_NEGATIVE,
    OBJECTIVE,
    POSITIVE,
    POSITIVE_FRACTION,
    RANDOM_STATE,
    SEED,
    Domain,
    Need,
    Option,
    choice,
    either,
    integer,
    optional,
    real,
)


def _option(
    name: str,
    default: Any,
    domain: Domain,
    meaning: str = "",
    *,
    advice: str = "",
    lightgbm: str | None = None,
    aliases: str = "",
    needs: tuple[Need, ...] = (),
    **flags: Any,
) -> Option:
    """One row of the table: an `Option`, from texts that are easier to write.

    ``aliases`` are separated by spaces, and the indentation of ``meaning`` does not
    matter. ``lightgbm`` is LightGBM's name if it is not ``name``; it is an alias, too.
    ``flags`` are the other fields of `Option`.
    """
    names = tuple(aliases.split())
    if lightgbm is not None:
        names = lightgbm, *names
    # As in docstrings: the lines below a name.
    lines = [f"    {line.strip()}" for line in meaning.strip().splitlines()]
    return Option(
        name,
        default,
        domain,
        "\n".join(lines),
        advice,
        lightgbm or name,
        names,
        needs,
        **flags,
    )


# --- Conditions under which options have an effect ------------------------------------


def _samples_rows(options: Mapping[str, Any]) -> bool:
    """Whether bagging draws fewer than all rows, or all of one class."""
    names = "subsample", "pos_bagging_fraction", "neg_bagging_fraction"
    return min(options[name] for name in names) < 1


def _stops_early(options: Mapping[str, Any]) -> bool:
    """Whether tests find the number of rounds; 0 and None turn early stopping off."""
    return (options["early_stopping_round"] or 0) > 0 or options["folds"] is not None


_BAGGING = (Need("subsample_freq=1", lambda options: options["subsample_freq"] > 0),)
_SAMPLES = (Need("subsample < 1", _samples_rows),)
_NO_FOREST = (
    Need("a boosting_type other than 'rf'", lambda o: o["boosting_type"] != "rf"),
)
_DART = (Need("boosting_type='dart'", lambda o: o["boosting_type"] == "dart"),)
# Options of dropped trees need rounds that drop trees.
_DROPS = Need("drop_rate > 0", lambda o: o["drop_rate"] > 0)
_NOT_SKIPPED = Need("skip_drop < 1", lambda o: o["skip_drop"] < 1)
_GOSS = (
    Need("data_sample_strategy='goss'", lambda o: o["data_sample_strategy"] == "goss"),
)
_BUNDLES = (Need("enable_bundle=True", lambda options: options["enable_bundle"]),)
_LINEAR = (Need("linear_tree=True", lambda options: options["linear_tree"]),)
_MONOTONE = (Need("monotone_constraints", lambda o: bool(o["monotone_constraints"])),)
_EARLY_STOPPING = (Need("early_stopping_round or folds", _stops_early),)
_HELD_OUT = (
    Need(
        "early_stopping_round without an evaluation set",
        lambda known: known["holds rows out"],
    ),
)
_REFIT = (
    Need(
        "folds, or early_stopping_round without an evaluation set",
        lambda known: known["folds"] is not None or known["holds rows out"],
    ),
)
_CATEGORIES = (Need("a categorical column", lambda known: known["categories"] > 0),)
_CATEGORY_SETS = (
    Need(
        "a column with more categories than max_cat_to_onehot",
        # Rows with a missing or rare category count as one more category.
        lambda known: known["categories"] >= known["max_cat_to_onehot"],
    ),
)
_POSITIONS = (Need("a Dataset with positions", lambda known: known["positions"]),)
_QUERIES = (Need("queries", lambda known: known["queries"]),)
# If it would have no effect, the fit has replaced the option.
_OUTPUTS = (
    Need(
        "three or more classes, several targets or quantiles, or a distribution",
        lambda options: options["multi_strategy"] == "multi_output_tree",
    ),
)

# --- The table ------------------------------------------------------------------------

# The options by topic, in the order of docstrings and pages.
GROUPS: dict[str, tuple[Option, ...]] = {
    "The twelve that matter": (
        _option(
            "objective",
            None,
            OBJECTIVE,
            """
            The loss to minimize, by name, such as 'regression' (squared error),
            'regression_l1' (absolute error), 'quantile', 'poisson', 'cross_entropy',
            'binary', 'multiclass' or 'lambdarank'. It may also be a function
            ``f(y_true, y_pred) -> gradient, hessian``; a function with a third argument
            also receives the weights. None means 'regression' for LGBMRegressor,
            'binary' or 'multiclass' for LGBMClassifier and 'lambdarank' for LGBMRanker.
            """,
            advice=(
                "Choose it by what the model should predict, such as means, quantiles, "
                "counts, probabilities, ranks, distributions or survival: see "
                "https://skgoss.github.io/skgoss/objectives.html."
            ),
            aliases="objective_type app application loss",
        ),
        _option(
            "preset",
            None,
            optional(choice("fast", "accurate", "best")),
            """
            How to choose the options that you don't set. None: use the defaults, which
            are LightGBM's. 'fast': better predictions, in two to four times the time.
            'accurate': even better predictions, in 10 to 40 times the time. 'best': the
            weighted mean of models from eight folds and several configurations; the
            search continues until nothing improves or ``time_limit`` is reached.
            ``preset_params_`` contains the chosen options, and ``search_results_`` the
            compared configurations.
            """,
            advice=(
                "Use 'accurate' for better predictions with one argument: "
                "see https://skgoss.github.io/skgoss/accuracy.html."
            ),
            is_added=True,
        ),
        _option(
            "n_estimators",
            100,
            integer(1),
            """
            Number of boosting rounds. A round grows one tree, or one tree per class if
            there are more than two classes. With early stopping, this is the maximum.
            """,
            advice="Use early stopping to find a good value.",
            lightgbm="num_iterations",
            aliases="num_iteration n_iter num_tree num_trees num_round num_rounds"
            " nrounds num_boost_round max_iter",
        ),
        _option(
            "early_stopping_round",
            None,
            N_ROUNDS,
            """
            Training stops if any metric on any evaluation set has not improved for this
            many rounds. The model keeps the rounds up to the best one. Without an
            evaluation set, ``fit`` holds out rows: see ``validation_fraction``. None or
            values <= 0 turn off early stopping.
            """,
            advice=(
                "Use it to stop when the metric on held-out rows no longer "
                "improves: see https://skgoss.github.io/skgoss/evaluation.html."
            ),
            aliases="early_stopping_rounds early_stopping n_iter_no_change",
        ),
        _option(
            "learning_rate",
            0.1,
            POSITIVE,
            """
            Factor that multiplies the leaf values of each tree. Smaller values need
            more rounds (``n_estimators``) and often give better predictions.
            """,
            advice=(
                "Halving it requires about twice as many rounds and often helps "
                "slightly."
            ),
            aliases="shrinkage_rate eta",
            needs=_NO_FOREST,
            may_vary=True,
        ),
        _option(
            "num_leaves",
            31,
            integer(2, 131072),
            """
            Maximum number of leaves in a tree.
            """,
            advice=(
                "Tune it first: decrease it if the model overfits. See "
                "https://skgoss.github.io/skgoss/tuning.html."
            ),
            aliases="num_leaf max_leaves max_leaf max_leaf_nodes",
            may_vary=True,
        ),
        _option(
            "min_child_samples",
            20,
            integer(0),
            """
            Minimum number of rows in a leaf. Rows are counted exactly.
            """,
            advice=(
                "Increase it if the model overfits; decrease it if there "
                "are fewer than 1,000 rows."
            ),
            lightgbm="min_data_in_leaf",
            aliases="min_data_per_leaf min_data min_samples_leaf",
            may_vary=True,
        ),
        _option(
            "colsample_bytree",
            1.0,
            POSITIVE_FRACTION,
            """
            Fraction of the columns to sample for each tree.
            """,
            advice=(
                "Values such as 0.5 make trees more diverse, save time and can reduce "
                "overfitting."
            ),
            lightgbm="feature_fraction",
            aliases="sub_feature",
            may_vary=True,
        ),
        _option(
            "subsample",
            1.0,
            POSITIVE_FRACTION,
            """
            Fraction of the rows to sample for each tree (bagging). It has no effect
            unless ``subsample_freq`` > 0.
            """,
            advice=(
                "Values such as 0.8 make trees more diverse and can reduce overfitting."
            ),
            lightgbm="bagging_fraction",
            aliases="sub_row bagging",
            needs=_BAGGING,
            may_vary=True,
        ),
        _option(
            "reg_lambda",
            0.0,
            NOT_NEGATIVE,
            """
            L2 regularization of the leaf values.
            """,
            advice=(
                "Increase it to shrink the values of small leaves if the "
                "model overfits."
            ),
            lightgbm="lambda_l2",
            aliases="lambda l2_regularization",
            may_vary=True,
        ),
        _option(
            "categorical_feature",
            "auto",
            CATEGORICAL_FEATURE,
            """
            The categorical columns. 'auto': data frame columns with strings or a
            categorical dtype. A list of column names or numbers: these columns in
            addition; negative numbers in them are missing values. None or []: no
            columns. Categories are identified by their values, in any container.
            Ordered pandas categories are treated as numbers unless they are listed.
            """,
            advice=(
                "Use it for arrays and for category codes in data frames. String "
                "columns don't need it: see "
                "https://skgoss.github.io/skgoss/categories.html."
            ),
            aliases="cat_feature categorical_column cat_column categorical_features",
        ),
        _option(
            "n_jobs",
            None,
            optional(ANY_INT),
            """
            Number of threads. It does not change the model. None or 0: the value of the
            environment variable ``OMP_NUM_THREADS``, or the number of physical cores if
            it is not set. -1: the number of logical cores. -2: one fewer, and so on.
            """,
            advice="Set it if other processes need the processor.",
            lightgbm="num_threads",
            aliases="num_thread nthread nthreads",
        ),
    ),
    "Trees": (
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
            """
            The boosting algorithm. 'gbdt' (or 'gbrt'): gradient boosted trees. 'dart':
            each round drops some of the earlier trees at random (dropout; Rashmi and
            Gilad-Bachrach, AISTATS 2015). 'rf' (or 'random_forest'): a random forest,
            which requires ``subsample`` < 1 with ``subsample_freq`` > 0, or
            ``colsample_bytree`` < 1. 'goss': the same as 'gbdt' with
            ``data_sample_strategy='goss'``.
            """,
            advice="Rarely: 'gbdt' predicts best on most data sets.",
            lightgbm="boosting",
            aliases="boost",
        ),
        _option(
            "max_depth",
            -1,
            ANY_INT,
            """
            Maximum depth of a tree. The root has depth 0. Values <= 0 mean no limit.
            """,
            advice=(
                "Set it to get trees that are easy to read. Otherwise, ``num_leaves`` "
                "is the better limit."
            ),
            may_vary=True,
        ),
        _option(
            "min_split_gain",
            0.0,
            NOT_NEGATIVE,
            """
            Minimum gain of a split: a leaf is split only if the split reduces the loss
            by more than this.
            """,
            advice="Increase it to get smaller trees.",
            lightgbm="min_gain_to_split",
            may_vary=True,
        ),
        _option(
            "min_child_weight",
            1e-3,
            NOT_NEGATIVE,
            """
            Minimum sum of hessians (second derivatives of the loss) in a leaf.
            """,
            advice=(
                "Increase it if leaves whose rows have small hessians, such as rare "
                "events, overfit."
            ),
            lightgbm="min_sum_hessian_in_leaf",
            aliases="min_sum_hessian_per_leaf min_sum_hessian min_hessian",
            may_vary=True,
        ),
        _option(
            "max_delta_step",
            0.0,
            real(),
            """
            Maximum absolute leaf value, before multiplication by ``learning_rate``.
            Values <= 0 mean no limit.
            """,
            advice="Values such as 1 help with very imbalanced classes or counts.",
            aliases="max_tree_output max_leaf_output",
            may_vary=True,
        ),
        _option(
            "path_smooth",
            0.0,
            NOT_NEGATIVE,
            """
            Smoothing of leaf values: a leaf's value is averaged with the value of its
            parent, which is given the weight of this many rows. 0 turns off smoothing.
            """,
            advice="Increase it if leaves with few rows overfit.",
            may_vary=True,
        ),
        _option(
            "extra_trees",
            False,
            BOOL,
            """
            Whether each split considers only one random threshold per column, as in
            extremely randomized trees.
            """,
            advice="Try it to reduce overfitting or to train faster.",
            aliases="extra_tree",
            may_vary=True,
        ),
        _option(
            "multi_strategy",
            "one_output_per_tree",
            choice("one_output_per_tree", "multi_output_tree"),
            """
            How the trees of a round are grown if there are several outputs: classes,
            targets, quantiles or parameters of a distribution. 'one_output_per_tree':
            each output has its own splits. 'multi_output_tree': all outputs share the
            splits of one tree but have their own leaf values. The splits are chosen for
            a random combination of the outputs that differs from round to round; for
            classes, unless ``objective`` is a function, for a random half of them
            against the rest. With ten outputs, a round takes at most a third as long.
            With more rounds, predictions are often as good or better, but predicted
            distributions are often worse. It cannot be used with
            ``monotone_constraints`` or ``path_smooth``.
            """,
            advice="Try 'multi_output_tree' with five or more outputs.",
            needs=_OUTPUTS,
            is_added=True,
        ),
        _option(
            "linear_tree",
            False,
            BOOL,
            """
            Whether each leaf contains a linear model instead of a constant (Shi et al.,
            IJCAI 2019). The linear model uses the numeric columns of the splits on the
            path from the root to the leaf. The leaves of the first round are constants.
            A leaf's predictions are clipped to the range of its training predictions,
            extended by half of this range on both sides. It cannot be used with
            ``monotone_constraints``.
            """,
            advice=(
                "Try it if the target depends linearly on some columns, or with small "
                "trees."
            ),
            aliases="linear_trees",
        ),
        _option(
            "pair_features",
            False,
            either(BOOL, choice("sums", "products")),
            """
            Whether the model also uses columns that it computes from pairs of columns:
            their sums and differences (``'sums'``), their products and ratios
            (``'products'``) or all of these (True). The pairs are formed from the six
            numeric columns that reduce the loss most in a fit of 60 rounds. They are
            part of the model: predictions take the original columns of ``X``. It cannot
            be used with options that have one value per column, or with data that are
            not in memory.
            """,
            advice=(
                "Try it if the target depends on how columns compare, such as a price "
                "and its estimate, or on positions on a map: see "
                "https://skgoss.github.io/skgoss/pair-features.html."
            ),
            is_added=True,
        ),
        _option(
            "date_features",
            "auto",
            DATE_FEATURES,
            """
            What the model computes from date columns. A date itself is read as the
            number of days since 1970-01-01, including fractions, in its time zone.
            'auto' adds those of ``'month'``, ``'day'`` (of the month),
            ``'day_of_week'`` (Monday is 0), ``'day_of_year'`` and ``'hour'`` that vary
            in the training rows. A list names the parts to add, which may also be
            ``'minute'`` and ``'second'``; it may be empty. The model computes the parts
            itself: predictions take the original columns of ``X``. False: date columns
            raise an error. Dates are read from data frames in memory and from arrays of
            dtype datetime64.
            """,
            advice=(
                "List the parts that matter, or pass [] for only a trend: see "
                "https://skgoss.github.io/skgoss/dates.html."
            ),
            is_added=True,
        ),
        _option(
            "linear_lambda",
            0.0,
            NOT_NEGATIVE,
            """
            L2 regularization of the linear models' coefficients. Used only with
            ``linear_tree=True``.
            """,
            advice="Increase it if linear leaves overfit.",
            needs=_LINEAR,
        ),
        _option(
            "reg_alpha",
            0.0,
            NOT_NEGATIVE,
            """
            L1 regularization of the leaf values.
            """,
            advice=(
                "Increase it if the model overfits; leaves with small gradients become "
                "0."
            ),
            lightgbm="lambda_l1",
            aliases="l1_regularization",
            may_vary=True,
        ),
        _option(
            "boost_from_average",
            True,
            BOOL,
            """
            Whether boosting starts from the best constant, such as the mean of the
            target, or, with ``init_score``, from these scores plus the best constant.
            If False, the constant is 0, as it always is for ranking, 'cox', 'cox_efron'
            and custom objectives.
            """,
            advice=("Set it to False only to compare with models that start from 0."),
        ),
        _option(
            "forcedsplits_filename",
            None,
            FORCED_SPLITS,
            """
            Splits that each tree starts with: a dict or the name of a JSON file. A
            split has the keys 'feature' (the number or name of a column) and
            'threshold'. The optional keys 'left' and 'right' contain the splits of its
            children. Splits without gain or with too few rows are skipped, together
            with the splits below them.
            """,
            advice="Use it to prescribe the first splits.",
            aliases="fs forced_splits_filename forced_splits_file forced_splits",
        ),
        _option(
            "importance_type",
            "split",
            choice("split", "gain", "cover"),
            """
            What ``feature_importances_`` measures. 'split': the number of splits that
            use a column. 'gain': the sum of the gains of these splits. 'cover': the
            total number of training rows in the nodes of these splits. You can change
            it after ``fit``.
            """,
            advice="Use 'gain' to see which columns reduce the loss.",
            is_added=True,
        ),
    ),
    "Samples of rows and columns": (
        _option(
            "subsample_freq",
            0,
            ANY_INT,
            """
            Bagging frequency: a new sample of rows is drawn every ``subsample_freq``
            rounds. Values <= 0 turn off bagging, so that every tree uses all rows. It
            has no effect unless ``subsample`` < 1.
            """,
            advice="Set it to 1 to turn on bagging.",
            lightgbm="bagging_freq",
            needs=_SAMPLES,
            may_vary=True,
        ),
        _option(
            "pos_bagging_fraction",
            1.0,
            POSITIVE_FRACTION,
            """
            Fraction of the positive-class rows to sample. It replaces ``subsample`` for
            these rows, for example to sample imbalanced classes at different rates. It
            requires ``subsample_freq`` > 0 and the objective 'binary'.
            """,
            advice=(
                "Set it together with ``neg_bagging_fraction`` if one class has many "
                "more rows."
            ),
            aliases="pos_sub_row pos_subsample pos_bagging",
            needs=_BAGGING,
            may_vary=True,
        ),
        _option(
            "neg_bagging_fraction",
            1.0,
            POSITIVE_FRACTION,
            """
            Fraction of the negative-class rows to sample. It replaces ``subsample`` for
            these rows. It requires ``subsample_freq`` > 0 and the objective 'binary'.
            """,
            advice="Decrease it if there are many more negative rows than needed.",
            aliases="neg_sub_row neg_subsample neg_bagging",
            needs=_BAGGING,
            may_vary=True,
        ),
        _option(
            "bagging_by_query",
            False,
            BOOL,
            """
            Whether ``subsample`` applies to whole queries instead of rows. Only for
            data with queries.
            """,
            advice="Use it for ranking with many short queries.",
            needs=(*_QUERIES, *_SAMPLES, *_BAGGING),
        ),
        _option(
            "data_sample_strategy",
            "bagging",
            choice("bagging", "goss"),
            """
            How rows are sampled. 'bagging': uniformly (see ``subsample``). 'goss':
            gradient-based one-side sampling (Ke et al., algorithm 2). It keeps the rows
            with the largest gradients, samples some of the other rows and increases
            their weights. GOSS starts after 1 / ``learning_rate`` rounds.
            """,
            advice=(
                "Use 'goss' to train faster on large data sets: see "
                "https://skgoss.github.io/skgoss/goss.html."
            ),
        ),
        _option(
            "top_rate",
            0.2,
            FRACTION,
            """
            Fraction of the rows that GOSS keeps: those with the largest gradients. It
            must be above 0 with GOSS.
            """,
            advice="Increase it if GOSS loses accuracy.",
            needs=_GOSS,
            may_vary=True,
        ),
        _option(
            "other_rate",
            0.1,
            FRACTION,
            """
            Fraction of the rows that GOSS samples from the remaining rows. It must be
            above 0 with GOSS, and ``top_rate + other_rate`` must be at most 1.
            """,
            advice="Increase it if GOSS loses accuracy.",
            needs=_GOSS,
            may_vary=True,
        ),
        _option(
            "feature_fraction_bynode",
            1.0,
            POSITIVE_FRACTION,
            """
            Fraction of the columns to sample for each node, from those that
            ``colsample_bytree`` has sampled for the tree.
            """,
            advice=(
                "Decrease it if a few columns dominate all trees or if the model "
                "overfits."
            ),
            aliases="sub_feature_bynode colsample_bynode",
            may_vary=True,
        ),
        _option(
            "feature_contri",
            None,
            FEATURE_CONTRI,
            """
            Factors that multiply the split gains, one for each column. A factor below 1
            makes the column less likely to be used; with 0, it is never used. With a
            dict, unlisted columns have a factor of 1.
            """,
            advice="Use it to prefer columns that are cheap or trusted.",
            aliases="feature_contrib fc fp feature_penalty",
        ),
    ),
    "Dropout": (
        _option(
            "drop_rate",
            0.1,
            FRACTION,
            """
            Fraction of the earlier trees that 'dart' drops in each round.
            """,
            advice="Increase it for more regularization.",
            aliases="rate_drop",
            needs=(*_DART, _NOT_SKIPPED),
            may_vary=True,
        ),
        _option(
            "max_drop",
            50,
            ANY_INT,
            """
            Maximum number of trees that 'dart' drops in each round. Values <= 0 mean no
            limit.
            """,
            advice="Decrease it to limit the time that later rounds take.",
            needs=(*_DART, _DROPS, _NOT_SKIPPED),
            may_vary=True,
        ),
        _option(
            "skip_drop",
            0.5,
            FRACTION,
            """
            Probability that 'dart' drops no tree in a round.
            """,
            advice="Decrease it for more regularization.",
            needs=(*_DART, _DROPS),
            may_vary=True,
        ),
        _option(
            "uniform_drop",
            False,
            BOOL,
            """
            Whether 'dart' drops all trees with the same probability. If False, a tree's
            probability is proportional to its weight.
            """,
            advice="Rarely.",
            needs=(*_DART, _DROPS, _NOT_SKIPPED),
        ),
        _option(
            "xgboost_dart_mode",
            False,
            BOOL,
            """
            Whether 'dart' uses XGBoost's tree weights: if n trees are dropped, the new
            tree has a weight of 1 / (n + ``learning_rate``).
            """,
            advice="Set it to True to compare with XGBoost.",
            needs=(*_DART, _DROPS, _NOT_SKIPPED),
        ),
    ),
    "Bins, missing values and sparse data": (
        _option(
            "subsample_for_bin",
            200000,
            integer(1),
            """
            Number of rows to sample to find the bin boundaries of the columns.
            """,
            advice="Increase it if rare values matter in large data sets.",
            lightgbm="bin_construct_sample_cnt",
        ),
        _option(
            "max_bin",
            255,
            integer(2, 65535),
            """
            Maximum number of bins per column, including the bin for missing values.
            """,
            advice=(
                "Decrease it to train faster; increase it if exact thresholds matter."
            ),
            aliases="max_bins",
        ),
        _option(
            "max_bin_by_feature",
            None,
            MAX_BIN_BY_FEATURE,
            """
            Maximum number of bins for each column. With a dict, unlisted columns use
            ``max_bin``.
            """,
            advice="Use it if only some columns need more or fewer bins.",
        ),
        _option(
            "forcedbins_filename",
            None,
            FORCED_BINS,
            """
            Upper bin bounds to use for columns: a list of dicts with the keys 'feature'
            (the number or name of a column) and 'bin_upper_bound' (a list of numbers),
            a dict that maps columns to such lists, or the name of a JSON file. The
            remaining bins, up to ``max_bin``, lie between these bounds.
            """,
            advice="Use it if splits must be at known thresholds, such as legal ages.",
        ),
        _option(
            "min_data_in_bin",
            3,
            integer(1),
            """
            Minimum number of rows in a bin.
            """,
            advice="Decrease it to 1 for small data sets whose values all differ.",
        ),
        _option(
            "use_missing",
            True,
            BOOL,
            """
            Whether NaN counts as missing. If False, NaN is treated as 0. If a node has
            no missing values in training, missing values in predictions go to its
            larger child.
            """,
            advice="Set it to False only if NaN means 0.",
        ),
        _option(
            "zero_as_missing",
            False,
            BOOL,
            """
            Whether 0 counts as missing, like NaN.
            """,
            advice="Set it to True if 0 stands for unknown values.",
        ),
        _option(
            "feature_pre_filter",
            True,
            BOOL,
            """
            Has no effect: columns that cannot be split on never change the model.
            """,
        ),
        _option(
            "enable_bundle",
            True,
            BOOL,
            """
            Whether to store sparse columns together if no row has non-zero values in
            two of them (exclusive feature bundling). It does not change the model if
            ``max_conflict_rate`` is 0.
            """,
            advice="Set it to False to compare training times.",
            aliases="is_enable_bundle bundle",
        ),
        _option(
            "max_conflict_rate",
            0.0,
            real(0, 1, closed="left"),
            """
            Maximum fraction of the rows in which two columns of a bundle may both be
            non-zero. With 0, bundling does not change the model. Larger values can
            speed up training on very wide data, but some values are lost.
            """,
            advice=(
                "Increase it for very wide sparse data if speed matters more than "
                "exactness."
            ),
            needs=_BUNDLES,
            is_added=True,
        ),
        _option(
            "is_enable_sparse",
            True,
            BOOL,
            """
            Whether to store only the non-zero values of sparse columns. It does not
            change the model.
            """,
            advice="Set it to False to compare training times.",
            aliases="is_sparse enable_sparse sparse",
        ),
    ),
    "Categories": (
        _option(
            "max_cat_to_onehot",
            4,
            integer(1),
            """
            Maximum number of categories for one-vs-rest splits. Columns with more
            categories are split into two sets of categories.
            """,
            advice="Increase it if single categories differ from all the others.",
            needs=_CATEGORIES,
            may_vary=True,
        ),
        _option(
            "max_cat_threshold",
            32,
            integer(1),
            """
            Maximum number of categories on the smaller side of a split into two sets of
            categories.
            """,
            advice="Decrease it if splits with many categories overfit.",
            needs=_CATEGORY_SETS,
            may_vary=True,
        ),
        _option(
            "cat_smooth",
            10.0,
            NOT_NEGATIVE,
            """
            Smoothing of the statistics by which categories are sorted before a split.
            Categories with fewer rows than this in a node are not separated from each
            other.
            """,
            advice=(
                "Try 3 if categories have few rows and strong effects. A value above "
                "the number of rows in most categories hides their effects."
            ),
            needs=_CATEGORY_SETS,
            may_vary=True,
        ),
        _option(
            "cat_l2",
            10.0,
            NOT_NEGATIVE,
            """
            L2 regularization added to ``reg_lambda`` in splits into two sets of
            categories.
            """,
            advice="Decrease it if categories are frequent and important.",
            needs=_CATEGORY_SETS,
            may_vary=True,
        ),
        _option(
            "min_data_per_group",
            100,
            integer(1),
            """
            Minimum number of rows between two candidate cuts of the sorted categories.
            """,
            advice="Decrease it for small data sets.",
            needs=_CATEGORY_SETS,
            may_vary=True,
        ),
    ),
    "Constraints": (
        _option(
            "monotone_constraints",
            None,
            MONOTONE_CONSTRAINTS,
            """
            Monotonic constraint on each column: 1 if raw predictions (for survival,
            risks) must not decrease as the column's value increases, -1 if they must
            not increase, 0 for no constraint. With two classes, the constraint applies
            to the probability of the second label in ``classes_``. With a dict,
            unlisted columns have no constraint. Predictions satisfy the constraints
            exactly, for any objective. Missing values are not constrained. With
            ``verbosity >= 0``, a warning lists constrained columns that no tree splits
            on. It cannot be used with ``linear_tree=True``.
            """,
            advice=(
                "Use it when predictions may only rise (or fall) with a column: see "
                "https://skgoss.github.io/skgoss/constraints.html."
            ),
            aliases="mc monotone_constraint monotonic_cst",
        ),
        _option(
            "monotone_constraints_method",
            "basic",
            choice("basic", "intermediate", "advanced"),
            """
            How monotonic constraints are enforced. 'basic': the outputs on each side of
            a split are bounded by the mean of its two children. 'intermediate': a leaf
            is bounded by the values of the leaves that it must not cross. 'advanced':
            each side of each candidate split has its own bounds. Each method takes
            longer than the previous one and is usually more accurate.
            """,
            advice="Use 'intermediate' or 'advanced' if constraints reduce accuracy.",
            aliases="monotone_constraining_method mc_method",
            needs=_MONOTONE,
        ),
        _option(
            "monotone_penalty",
            0.0,
            NOT_NEGATIVE,
            """
            Penalty on the gains of splits on columns with a monotonic constraint. It is
            largest near the root. With values of ``max_depth`` or more, these columns
            are split on only where no other column has a gain.
            """,
            advice=("Increase it to keep constrained columns away from the root."),
            aliases="monotone_splits_penalty ms_penalty mc_penalty",
            needs=_MONOTONE,
        ),
        _option(
            "interaction_constraints",
            None,
            INTERACTION_CONSTRAINTS,
            """
            Sets of columns that may interact: all columns on a path from the root to a
            leaf belong to one set. Columns that are in no set are not used. 'pairwise':
            each pair of columns is a set. 'no_interactions': each column is a set.
            """,
            advice=(
                "Use it for models that are easier to explain, or to include prior "
                "knowledge."
            ),
        ),
    ),
    "Objectives": (
        _option(
            "class_weight",
            None,
            CLASS_WEIGHT,
            """
            Class weights. The weight of each row is multiplied by the weight of its
            class. 'balanced' gives all classes the same total weight. Only for
            classifiers.
            """,
            advice=(
                "Use it if errors on some classes cost more. It changes the predicted "
                "probabilities."
            ),
            is_added=True,
        ),
        _option(
            "is_unbalance",
            False,
            BOOL,
            """
            Whether to increase the weight of the rarer class so that both classes have
            the same total weight. This also increases the predicted probabilities of
            the rarer class. For the objectives 'binary' and 'multiclassova'.
            """,
            advice=(
                "Rarely: tune the decision threshold instead, which doesn't change the "
                "probabilities."
            ),
            aliases="unbalance unbalanced_sets",
        ),
        _option(
            "scale_pos_weight",
            1.0,
            POSITIVE,
            """
            Weight of the positive class. Values above 1 increase the predicted
            probabilities of this class. For the objectives 'binary' and
            'multiclassova'.
            """,
            advice=(
                "Rarely: tune the decision threshold instead, which doesn't change the "
                "probabilities."
            ),
        ),
        _option(
            "reg_sqrt",
            False,
            BOOL,
            """
            Whether to fit the signed square root of the target and square the
            predictions. For the objectives 'regression', 'regression_l1', 'fair',
            'quantile', 'expectile' and 'mape'.
            """,
            advice="Set it to True if the target has a large range.",
        ),
        _option(
            "sigmoid",
            1.0,
            POSITIVE,
            """
            Factor that multiplies the raw score in the sigmoid function. For the
            objectives 'binary', 'multiclassova' and 'lambdarank'.
            """,
            advice="Rarely: only for scores on a different scale.",
        ),
        _option(
            "alpha",
            0.9,
            ALPHA,
            """
            For objectives that predict a level, such as 'quantile': the level, between
            0 and 1. For 'quantile', it may be a list of several levels in ascending
            order. Predictions of several quantiles have the shape (n_samples,
            n_quantiles) and never cross. For 'huber': the absolute error above which
            the loss is linear instead of quadratic.
            """,
            advice=(
                "Set it to the level that you want to predict, such as 0.5 for the "
                "median."
            ),
        ),
        _option(
            "fair_c",
            1.0,
            POSITIVE,
            """
            For the objective 'fair': the scale of the errors. The loss is almost
            quadratic for much smaller errors and almost linear for much larger errors.
            """,
            advice="Increase it to penalize larger errors quadratically.",
        ),
        _option(
            "poisson_max_delta_step",
            0.7,
            POSITIVE,
            """
            For the objective 'poisson': the hessian is multiplied by the exponential of
            this value. Larger values make steps smaller and safer.
            """,
            advice="Increase it if the first rounds diverge.",
        ),
        _option(
            "tweedie_variance_power",
            1.5,
            real(1, 2, closed="left"),
            """
            For the objective 'tweedie': the variance of the target is proportional to
            the mean raised to this power. A value of 1 corresponds to a Poisson
            distribution, and values near 2 to a gamma distribution.
            """,
            advice="Choose it based on the loss on held-out rows.",
        ),
        _option(
            "lambdarank_truncation_level",
            30,
            integer(1),
            """
            For the objective 'lambdarank': the number of a query's top documents that
            are compared with all of its documents.
            """,
            advice="Choose a value a little larger than k to optimize NDCG@k.",
        ),
        _option(
            "lambdarank_norm",
            True,
            BOOL,
            """
            For the objective 'lambdarank': whether the gradients of each query are
            normalized.
            """,
            advice="Set it to False if queries with many pairs should count more.",
        ),
        _option(
            "lambdarank_position_bias_regularization",
            0.0,
            NOT_NEGATIVE,
            """
            For the objective 'lambdarank' and a `Dataset` with positions: the L2
            regularization of the position biases. Larger values make the biases
            smaller.
            """,
            advice="Increase it if there are few clicks per position.",
            needs=_POSITIONS,
        ),
        _option(
            "label_gain",
            None,
            LABEL_GAIN,
            """
            Gain of each relevance grade in NDCG, starting with grade 0. None means
            2**grade - 1, for grades 0 to 30.
            """,
            advice="Set it if there are grades above 30 or if you know the gains.",
        ),
    ),
    "Metrics, early stopping and folds": (
        _option(
            "metric",
            None,
            METRIC,
            """
            Metrics to compute on the evaluation sets: names, functions or scikit-learn
            scorers. None: the default metric of the objective. 'None': no metric.
            """,
            advice=(
                "Set it if you judge models by a metric other than the loss: see "
                "https://skgoss.github.io/skgoss/evaluation.html."
            ),
            aliases="metrics metric_types",
        ),
        _option(
            "multi_error_top_k",
            1,
            integer(1),
            """
            For the metric 'multi_error': a prediction is correct if the true class is
            among the k classes with the highest scores, where k is this value.
            """,
            advice="Set it to the number of classes that a user sees.",
        ),
        _option(
            "auc_mu_weights",
            None,
            AUC_MU_WEIGHTS,
            """
            For the metric 'auc_mu': the matrix of misclassification costs as a list of
            n_classes * n_classes numbers, row by row. None: all costs are 1.
            """,
            advice="Set it if confusing certain classes is more costly.",
        ),
        _option(
            "eval_at",
            (1, 2, 3, 4, 5),
            EVAL_AT,
            """
            For the metrics 'ndcg' and 'map': the numbers k of top documents to
            evaluate, as in NDCG@k.
            """,
            advice="Set it to the number of documents that a user sees.",
            aliases="ndcg_eval_at ndcg_at map_eval_at map_at",
        ),
        _option(
            "first_metric_only",
            False,
            BOOL,
            """
            Whether early stopping uses only the first metric.
            """,
            advice="Set it to True if the other metrics are for information only.",
            needs=_EARLY_STOPPING,
        ),
        _option(
            "early_stopping_min_delta",
            0.0,
            MIN_DELTA,
            """
            Minimum change in a metric that early stopping counts as an improvement: one
            number, or a list with one number for each metric.
            """,
            advice="Increase it to stop earlier.",
            needs=_EARLY_STOPPING,
        ),
        _option(
            "validation_fraction",
            0.1,
            real(0, 1),
            """
            Fraction of the rows that ``fit`` holds out for early stopping without an
            evaluation set. Classifiers hold out this fraction of each class; rankers,
            of the queries. ``random_state`` determines which rows.
            """,
            advice=(
                "Increase it for small data sets if the number of rounds varies a lot."
            ),
            needs=_HELD_OUT,
            is_added=True,
        ),
        _option(
            "refit",
            False,
            BOOL,
            """
            Whether to fit the model again on all rows, with the best number of rounds,
            after early stopping with held-out rows. Callbacks that run before rounds,
            such as ``reset_parameter``, run again. With ``folds``: whether to fit one
            model on all rows, with the geometric mean of the folds' best numbers of
            rounds, instead of keeping the folds' models. It is not a method: to compute
            new leaf values, use ``booster_.refit(X, y)``.
            """,
            advice=(
                "Set it to True to train on all rows, which matters for small data "
                "sets."
            ),
            needs=_REFIT,
            is_added=True,
        ),
        _option(
            "folds",
            None,
            FOLDS,
            """
            Fit one model on each fold's training rows and keep the mean of these models
            as one model. An int is the number of folds: classifiers put the same
            fraction of each class (for survival, of events) into each fold, rankers
            assign whole queries, and ``random_state`` determines the rows. Otherwise,
            pass a scikit-learn splitter or pairs (train, test) of arrays of row
            numbers. Each model keeps the rounds up to the best one on its own test
            rows, unless ``early_stopping_round`` is 0; with a preset, all models keep
            the geometric mean of these numbers. The attribute ``oof_prediction_``
            contains the predictions for the test rows.
            """,
            advice=(
                "Use it for better predictions and for intervals: see "
                "https://skgoss.github.io/skgoss/accuracy.html and "
                "https://skgoss.github.io/skgoss/intervals.html."
            ),
            aliases="n_folds nfold",
            is_added=True,
        ),
    ),
    "Random seeds": (
        _option(
            "random_state",
            None,
            RANDOM_STATE,
            """
            Seed for all random choices. With a RandomState or Generator, each fit uses
            a different seed. None is a fixed seed, so repeated fits give the same
            model.
            """,
            advice="Change it to see how much results depend on chance.",
            lightgbm="seed",
            aliases="random_seed",
        ),
        _option(
            "data_random_seed",
            None,
            SEED,
            """
            Seed for sampling the rows that determine the bins. None: derived from
            ``random_state``, or 1 if that is None.
            """,
            aliases="data_seed",
            seed=1,
        ),
        _option(
            "bagging_seed",
            None,
            SEED,
            """
            Seed for sampling rows. None: derived from ``random_state``, or 3 if that is
            None.
            """,
            aliases="bagging_fraction_seed",
            seed=3,
        ),
        _option(
            "feature_fraction_seed",
            None,
            SEED,
            """
            Seed for sampling columns. None: derived from ``random_state``, or 2 if that
            is None.
            """,
            seed=2,
        ),
        _option(
            "extra_seed",
            None,
            SEED,
            """
            Seed for the random thresholds of ``extra_trees`` and for the class halves
            with ``multi_strategy="multi_output_tree"``. None: derived from
            ``random_state``, or 6 if that is None.
            """,
            seed=6,
        ),
        _option(
            "objective_seed",
            None,
            SEED,
            """
            Seed for the random numbers of the objective 'rank_xendcg'. None: derived
            from ``random_state``, or 5 if that is None.
            """,
            seed=5,
        ),
        _option(
            "drop_seed",
            None,
            SEED,
            """
            Seed for choosing the trees that 'dart' drops. None: derived from
            ``random_state``, or 4 if that is None.
            """,
            seed=4,
        ),
    ),
    "Time, messages and layout": (
        _option(
            "warm_start",
            False,
            BOOL,
            """
            Whether ``fit`` continues from this estimator's last fit: it adds rounds
            until there are ``n_estimators`` in total. On the same data, the model is
            identical to that of a single fit. All other options must stay the same,
            except those for threads, time and messages. It cannot be used with
            ``preset``, ``folds``, ``refit``, 'dart' or 'rf', or with the arguments
            ``init_model`` and ``init_score``.
            """,
            advice=(
                "Set it to True to add rounds to a model without growing the first "
                "rounds again."
            ),
            is_added=True,
        ),
        _option(
            "time_limit",
            None,
            optional(POSITIVE),
            """
            Time limit for a fit, in seconds. When it is reached, the fit ends after the
            current round. A preset's search ends earlier to leave time for the last
            fit. You always get a fitted model with at least one round. If
            ``time_limit_reached_`` is False, reruns are identical.
            """,
            advice="Set it if a fit must finish in time.",
            is_added=True,
        ),
        _option(
            "memory_limit",
            None,
            N_BYTES,
            """
            Memory that a fit may use in addition to ``X``, in bytes, such as 8e9. If
            the estimate is larger, ``fit`` raises a MemoryError before it bins the
            rows. ``estimate_memory`` returns the estimate. It cannot be used with a
            ``preset``, which chooses its options while it runs.
            """,
            advice="Set it if the process would be killed for using too much memory.",
            is_added=True,
        ),
        _option(
            "verbosity",
            -1,
            ANY_INT,
            """
            With 1 or more, early stopping prints messages, and long fits show a
            progress bar if the rich package is installed. With smaller values, nothing
            is printed.
            """,
            advice="Set it to 1 to see the progress of long fits.",
            aliases="verbose",
        ),
        _option(
            "deterministic",
            False,
            BOOL,
            """
            Has no effect: every fit is deterministic.
            """,
        ),
        _option(
            "force_col_wise",
            False,
            BOOL,
            """
            Has no effect: the memory layout never changes the model.
            """,
        ),
        _option(
            "force_row_wise",
            False,
            BOOL,
            """
            Has no effect: the memory layout never changes the model.
            """,
        ),
    ),
}


OPTIONS = tuple(option for options in GROUPS.values() for option in options)
DEFAULTS = {option.name: option.default for option in OPTIONS}

# The options of data files, which a Dataset has and an estimator does not. Numbers of
# columns do not count the label, apart from that of the label itself.
FILE_OPTIONS: tuple[Option, ...] = (
    _option(
        "header",
        False,
        BOOL,
        aliases="has_header",
    ),
    _option(
        "label_column",
        "",
        FILE_COLUMN,
        aliases="label",
    ),
    _option(
        "weight_column",
        "",
        FILE_COLUMN,
        aliases="weight",
    ),
    _option(
        "group_column",
        "",
        FILE_COLUMN,
        aliases="group group_id query_column query query_id",
    ),
    _option(
        "ignore_column",
        "",
        FILE_COLUMNS,
        aliases="ignore_feature blacklist",
    ),
)
