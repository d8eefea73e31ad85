"""Descriptions of options, arguments and attributes, as they stand in docstrings.

Each is described once, in the form of numpydoc: a line with the name and the type, and
below it the meaning. The types of options are those of `table.OPTIONS`.
"""

from __future__ import annotations

import re


def entries(text: str) -> dict[str, str]:
    """The entries of a section of a docstring, by name."""
    return {
        entry.split(maxsplit=1)[0].strip("*"): entry
        for entry in re.split(r"\n(?=\S)", text.strip("\n"))
        if entry
    }


def _meanings(text: str) -> dict[str, str]:
    """The lines below the names, by name."""
    return {name: entry.partition("\n")[2] for name, entry in entries(text).items()}


def _changed(table: dict[str, str], text: str) -> dict[str, str]:
    """A table with other entries; those that are only a line keep their meaning."""
    changed = entries(text)
    for name, entry in changed.items():
        if "\n" not in entry:
            changed[name] = "\n".join([entry, *table[name].splitlines()[1:]])
    return table | changed


# The options of estimators; their types and defaults are in `table.OPTIONS`.
MEANINGS = _meanings("""
boosting_type
    The boosting algorithm. 'gbdt' (or 'gbrt'): gradient boosted trees. 'dart': each
    round leaves out some of the earlier trees at random (dropout; Rashmi and
    Gilad-Bachrach, AISTATS 2015). 'rf' (or 'random_forest'): a random forest. It
    needs ``subsample`` < 1 with ``subsample_freq`` > 0, or ``colsample_bytree`` <
    1. 'goss': the same as 'gbdt' with ``data_sample_strategy='goss'``.
num_leaves
    Maximum number of leaves of a tree. It is the main limit on the complexity of
    the model: decrease it if the model overfits.
max_depth
    Maximum depth of a tree. The root has depth 0. Values <= 0 mean no limit.
learning_rate
    Factor that multiplies the leaf values of each tree. Smaller values need more
    rounds (``n_estimators``) and often give better predictions.
n_estimators
    Number of boosting rounds. A round grows one tree, or one tree per class if
    there are more than two classes. With early stopping it is the maximum.
subsample_for_bin
    Number of rows that are sampled to find the bin boundaries of the columns.
objective
    The loss to minimize, by name, such as 'regression' (squared error),
    'regression_l1' (absolute error), 'quantile', 'poisson', 'cross_entropy',
    'binary', 'multiclass' or 'lambdarank'; docs/objectives.md describes all. It may
    also be a function ``f(y_true, y_pred) -> gradient, hessian``; a function with a
    third argument gets the weights. None means 'regression' for LGBMRegressor,
    'binary' or 'multiclass' for LGBMClassifier and 'lambdarank' for LGBMRanker.
class_weight
    Weights of the classes. The weight of a row is multiplied by the weight of its
    class. 'balanced' gives all classes the same total weight. Only for classifiers.
min_split_gain
    Minimum gain of a split: a leaf is split only if this reduces the loss by more.
    Increase it to get smaller trees.
min_child_weight
    Minimum sum of hessians (second derivatives of the loss) in a leaf.
min_child_samples
    Minimum number of rows in a leaf. Rows are counted exactly. Increase it if the
    model overfits; decrease it for small data.
subsample
    Fraction of the rows that are sampled for each tree (bagging). It has no effect
    unless ``subsample_freq`` > 0.
subsample_freq
    Bagging frequency: a new sample of rows is drawn every ``subsample_freq``
    rounds. Values <= 0 turn bagging off, and every tree uses all rows. It has no
    effect unless ``subsample`` < 1.
pos_bagging_fraction
    Fraction of the rows of the positive class that are sampled. It replaces
    ``subsample`` for these rows, for example to sample unbalanced classes
    differently. It needs ``subsample_freq`` > 0 and the objective 'binary'.
neg_bagging_fraction
    Fraction of the rows of the negative class that are sampled. It replaces
    ``subsample`` for these rows. It needs ``subsample_freq`` > 0 and the objective
    'binary'.
bagging_by_query
    Whether ``subsample`` samples whole queries instead of rows. Only if there are
    queries.
data_sample_strategy
    How rows are sampled. 'bagging': uniformly, see ``subsample``. 'goss':
    gradient-based one-side sampling (Ke et al., algorithm 2). It keeps the rows
    with the largest gradients, samples some of the other rows and increases their
    weights. It starts after 1 / ``learning_rate`` rounds. Use it to train faster on
    large data.
top_rate
    Fraction of the rows that GOSS keeps: those with the largest gradients.
other_rate
    Fraction of the rows that GOSS samples from the other rows. ``top_rate +
    other_rate`` must be at most 1.
drop_rate
    Fraction of the earlier trees that 'dart' drops in a round.
max_drop
    Maximum number of trees that 'dart' drops in a round. Values <= 0 mean no limit.
skip_drop
    Probability that 'dart' drops no tree in a round.
uniform_drop
    Whether 'dart' drops all trees with the same probability. If False, the
    probability of a tree is proportional to its weight.
xgboost_dart_mode
    Whether 'dart' uses the tree weights of XGBoost: if n trees are dropped, the new
    tree has the weight 1 / (n + ``learning_rate``).
colsample_bytree
    Fraction of the columns that are sampled for each tree. Values < 1 train faster
    and can reduce overfitting.
reg_alpha
    L1 regularization of the leaf values.
reg_lambda
    L2 regularization of the leaf values.
random_state
    Seed of all random choices. A RandomState or Generator gives each fit another
    seed. None is a fixed seed, so repeated fits give the same model.
n_jobs
    Number of threads. It does not change the model. None or 0: the value of the
    environment variable ``OMP_NUM_THREADS``, or else the number of physical cores.
    -1: the number of logical cores. -2: one less, and so on.
importance_type
    What ``feature_importances_`` measures. 'split': the number of splits that use a
    column. 'gain': the sum of the gains of these splits. 'cover': the sum of the
    numbers of training rows in the nodes of these splits. It may be changed after
    fit.
max_bin
    Maximum number of bins of a column, including the bin of missing values. Larger
    values allow more thresholds, but training takes longer.
max_bin_by_feature
    Maximum number of bins of each column. Columns that a dict does not name use
    ``max_bin``.
forcedbins_filename
    Upper bounds that bins of columns must have: a list of dicts with the keys
    'feature' (the number or name of a column) and 'bin_upper_bound' (a list of
    numbers), a dict from columns to such lists, or the name of a JSON file. The
    other bins, up to ``max_bin``, lie between these bounds.
min_data_in_bin
    Minimum number of rows in a bin.
use_missing
    Whether NaN is a missing value. If False, NaN is treated as 0.
zero_as_missing
    Whether 0 is a missing value, like NaN.
feature_pre_filter
    Has no effect: columns that cannot be split never change the model.
enable_bundle
    Whether to store sparse columns together if no row has non-zero values in two of
    them (exclusive feature bundling). It does not change the model if
    ``max_conflict_rate`` is 0.
max_conflict_rate
    Maximum fraction of the rows in which two columns of a bundle may both be
    non-zero. With 0, bundling does not change the model. Larger values can be
    faster for very wide data, but some values are lost.
is_enable_sparse
    Whether to store only the non-zero values of sparse columns. It does not change
    the model.
categorical_feature
    The columns that hold categories. 'auto': the columns of a data frame with
    strings or a categorical dtype. A list of column names or numbers: these columns
    in addition; negative numbers in them are missing values. None or []: no column.
    Categories are identified by their values, in any container. Ordered categories
    of pandas are treated as numbers unless they are listed.
max_cat_to_onehot
    Maximum number of categories for one-vs-rest splits. Columns with more
    categories are split into two sets of categories.
max_cat_threshold
    Maximum number of categories on the smaller side of a split into two sets of
    categories.
cat_smooth
    Smoothing of the categories' statistics, by which they are sorted before a
    split. Categories with fewer rows than this in a node are not separated from
    each other. Increase it if many categories are rare.
cat_l2
    L2 regularization that is added to ``reg_lambda`` in splits into two sets of
    categories.
min_data_per_group
    Minimum number of rows between two candidate cuts of the sorted categories.
max_delta_step
    Maximum absolute value of a leaf, before the multiplication by
    ``learning_rate``. Values <= 0 mean no limit.
linear_tree
    Whether each leaf holds a linear model instead of a constant (Shi et al., IJCAI
    2019). The model uses the numeric columns that are split on the path from the
    root to the leaf. The leaves of the first round are constants. A leaf predicts at
    most half of the range of its training rows' values beyond them. It cannot be used
    with ``monotone_constraints``.
linear_lambda
    L2 regularization of the coefficients of the linear models. Only for
    ``linear_tree=True``.
path_smooth
    Smoothing of leaf values: a leaf's value is averaged with the value of its
    parent, which has the weight of this many rows. 0 turns smoothing off. Increase
    it if leaves of few rows overfit.
extra_trees
    Whether a split tries only one random threshold per column, as in extremely
    randomized trees. It can reduce overfitting.
multi_strategy
    How the trees of a round are grown if there are several classes.
    'one_output_per_tree': each class has splits of its own. 'multi_output_tree': all
    classes share the splits, which separate a random half of the classes from the
    others, and only leaf values are their own. With ten or more classes, a round takes
    a third of the time or less, and predictions are often better, with more rounds. It
    cannot be used with ``monotone_constraints`` or ``path_smooth``, nor with the
    weights that ``is_unbalance`` or ``scale_pos_weight`` give to the classes of
    'multiclassova'.
feature_fraction_bynode
    Fraction of the columns that are sampled for each node, from those that
    ``colsample_bytree`` has sampled for the tree.
feature_contri
    Factors that multiply the gains of splits, one for each column. A factor below 1
    makes the column less likely to be used; with 0 it is never used. Columns that a
    dict does not name have the factor 1.
monotone_constraints
    Monotonic constraint on each column: 1 if raw predictions (of survival: risks)
    must not decrease with the column's value, -1 if they must not increase, 0 for no
    constraint. Columns that a dict does not name have no constraint. Predictions
    satisfy the constraints exactly, for any objective. Missing values are not
    constrained. They cannot be used with ``linear_tree=True``.
monotone_constraints_method
    How monotonic constraints are enforced. 'basic': the outputs on each side of a
    split are bounded by the mean of its two children. 'intermediate': a leaf is
    bounded by the values of the leaves that it must not pass. 'advanced': each side
    of each candidate split has its own bounds. The later methods take longer and
    are usually more accurate.
monotone_penalty
    Penalty on the gains of splits on columns with a monotonic constraint. It is
    largest near the root.
interaction_constraints
    Sets of columns that may interact: all columns on a path from the root to a leaf
    belong to one set. Columns in no set are not used. 'pairwise': each pair of
    columns is a set. 'no_interactions': each column is a set.
forcedsplits_filename
    Splits that each tree starts with: a dict, or the name of a JSON file. A split
    has the keys 'feature' (the number or name of a column) and 'threshold'. The
    optional keys 'left' and 'right' hold the splits of its children. Splits without
    gain or with too few rows are left out, together with the splits below them.
boost_from_average
    Whether boosting starts from the best constant, such as the mean of the target.
    If False, it starts from 0. For rankings, 'cox', 'cox_efron' and functions it always
    does.
reg_sqrt
    Whether to fit the signed square root of the target, and to square the
    predictions. It can help if the target has a large range. For the objectives
    'regression', 'regression_l1', 'fair', 'quantile', 'expectile' and 'mape'.
is_unbalance
    Whether to increase the weight of the rarer class, so that both classes have the
    same total weight. Predicted probabilities of the rarer class increase too. For
    the objectives 'binary' and 'multiclassova'.
scale_pos_weight
    Weight of the positive class. Values above 1 increase the predicted
    probabilities of this class. For the objectives 'binary' and 'multiclassova'.
sigmoid
    Factor of the raw score in the sigmoid function. For the objectives 'binary',
    'multiclassova' and 'lambdarank'.
alpha
    For objectives that predict a level, such as 'quantile': the level, between 0
    and 1. For 'quantile', it may be a list of several in ascending order.
    Predictions of several quantiles have the shape (n_samples, n_quantiles) and
    never cross. For 'huber': the absolute error above which the loss is linear
    instead of quadratic.
fair_c
    For the objective 'fair': the scale of the errors. The loss is almost quadratic
    for much smaller errors and almost linear for much larger ones.
poisson_max_delta_step
    For the objective 'poisson': the hessian is multiplied by exp of this value.
    Larger values give smaller, safer steps.
tweedie_variance_power
    For the objective 'tweedie': the variance of the target is proportional to the
    mean raised to this power. 1 is like a Poisson distribution, values near 2 are
    like a gamma distribution.
lambdarank_truncation_level
    For the objective 'lambdarank': the number of top documents of a query that are
    compared with all its documents. To optimize NDCG@k, choose a value a little
    larger than k.
lambdarank_norm
    For the objective 'lambdarank': whether the gradients of each query are
    normalized.
lambdarank_position_bias_regularization
    For the objective 'lambdarank' and a `Dataset` with positions: the L2
    regularization of the biases of positions. Larger values give smaller biases.
label_gain
    Gain of each relevance grade in NDCG, starting with grade 0. None means 2**grade
    - 1, for the grades 0 to 30.
metric
    Metrics to compute on the evaluation sets. None: the default metric of the
    objective. 'None': no metric.
multi_error_top_k
    For the metric 'multi_error': a prediction is correct if the true class is among
    this many classes with the highest scores.
auc_mu_weights
    For the metric 'auc_mu': the matrix of misclassification costs as a list of
    n_classes * n_classes numbers, row by row. None: all costs are 1.
eval_at
    For the metrics 'ndcg' and 'map': the numbers k of top documents, as in NDCG@k.
early_stopping_round
    Training stops if one metric of one evaluation set has not improved for this
    many rounds. The model keeps the rounds up to the best one. If fit gets no
    evaluation set, it holds out rows: see ``validation_fraction``. None or values
    <= 0 turn early stopping off.
first_metric_only
    Whether early stopping uses only the first metric.
early_stopping_min_delta
    Minimum change of a metric that early stopping counts as an improvement: one
    number, or a list with one number for each metric.
validation_fraction
    Fraction of the rows that fit holds out for early stopping if it gets no
    evaluation set. Classifiers hold out this fraction of each class, rankers this
    fraction of the queries. ``random_state`` determines the rows.
refit
    Whether to fit the model again on all rows after early stopping with held-out
    rows, for the best number of rounds. Callbacks that are called before rounds,
    such as ``reset_parameter``, are called again. With ``folds``: whether to fit
    one model on all rows, for the geometric mean of the best numbers of rounds of
    the folds, instead of keeping their models.
folds
    Fit one model on each fold's training rows, and keep the mean of these models as
    one model. An int is the number of folds: classifiers put the same fraction of
    each class into each fold (for survival, of events), rankers whole queries, and
    ``random_state`` determines the rows. Otherwise a splitter of scikit-learn, or pairs
    (train, test) of arrays of row numbers. Each model keeps the rounds up to the best
    one on its own test rows, unless ``early_stopping_round`` is 0; with a preset, all
    keep the geometric mean of these numbers. The predictions for the test rows are the
    attribute ``oof_prediction_``.
preset
    How the options that you leave at their defaults are chosen. None: they have
    their defaults, which are those of LightGBM. 'accurate': for better predictions
    in a few times the time. 'best': the mean of the models of eight folds and several
    sets of options, which are searched until nothing improves or ``time_limit`` is
    reached. Steps are smaller and trees differ more, by values that
    did well on many data sets. Fits on folds of the rows, or an evaluation set,
    choose among several kinds of trees, of which your own options are one, and find
    the number of rounds. The attribute ``preset_params_`` holds what was chosen, and
    ``search_results_`` what was compared.
time_limit
    Seconds after which a fit ends with the round that it is in, and a search of a
    preset earlier, so that the last fit has time. You always get a fitted model, of at
    least one round. ``time_limit_reached_`` tells whether the limit ended anything: if
    it did not, reruns are identical.
data_random_seed
    Seed for the sample of rows that bins are found from. None: derived from
    ``random_state``, or 1 if that is None.
bagging_seed
    Seed for the samples of rows. None: derived from ``random_state``, or 3 if that
    is None.
feature_fraction_seed
    Seed for the samples of columns. None: derived from ``random_state``, or 2 if
    that is None.
extra_seed
    Seed for the random thresholds of ``extra_trees`` and the halves of the classes
    with ``multi_strategy="multi_output_tree"``. None: derived from
    ``random_state``, or 6 if that is None.
objective_seed
    Seed for the random numbers of the objective 'rank_xendcg'. None: derived from
    ``random_state``, or 5 if that is None.
drop_seed
    Seed for the trees that 'dart' drops. None: derived from ``random_state``, or 4
    if that is None.
verbosity
    With 1 or more, early stopping prints messages, and long fits show a progress
    bar if the package rich is installed. With smaller values nothing is printed.
deterministic
    Has no effect: every fit is deterministic.
force_col_wise
    Has no effect: the layout in memory never changes the model.
force_row_wise
    Has no effect: the layout in memory never changes the model.
""")

# The arguments of fit.
FIT = entries("""
X : array-like or data frame of shape (n_samples, n_features), or Dataset
    The training data. Arrays and sparse matrices hold numbers, data frames also
    strings and categories. NaN is a missing value. A `Dataset` is binned once for
    any number of fits. It also provides ``y``, ``sample_weight``, ``init_score``
    and ``group`` if they are not passed. Paths of Parquet files, and other data
    that `Dataset` reads in batches, need not fit into memory. Then ``y``,
    ``sample_weight``, ``init_score`` and ``qid`` may be names of columns.
y : array-like of shape (n_samples,), default=None
    The target: numbers for a regressor, labels of any type for a classifier,
    relevance grades (0, 1, 2, ...) for a ranker. It may be None only if ``X`` is a
    `Dataset` with a label.
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows. A row of weight 2 counts as two copies of the row, and a
    row of weight 0 is ignored.
init_score : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
    Raw scores from which boosting starts, instead of the best constant. They are
    not part of the model: add them to its raw predictions. They have no effect
    beside ``init_model``.
group : array-like of shape (n_queries,), default=None
    Number of rows of each query. The rows of a query must be consecutive, and the
    queries in this order. Pass either ``group`` or ``qid``.
qid : array-like of shape (n_samples,), default=None
    Query id of each row, a number or string. The rows of queries may be mixed.
    Without ``qid`` and ``group`` all rows belong to one query.
groups : array-like of shape (n_samples,), default=None
    Group of each row, a number or string: whatever the fit chooses by ``folds``, a
    preset or early stopping, it chooses on rows of groups that it has not learned
    from.
time : array-like of shape (n_samples,), default=None
    Time of each row, a number or date: whatever the fit chooses is chosen on rows
    that are later than all that it has learned from. Then ``oof_prediction_`` is
    NaN for the rows that no fold tests: see docs/time-series.md.
eval_set : list of (X, y) pairs or Datasets, default=None
    Evaluation sets. Metrics are computed on them after each round; early stopping
    uses these metrics. Pass either ``eval_set``, or ``eval_X`` and ``eval_y``. Set
    number i is named 'valid_i'. To evaluate the training set as well, pass the same
    objects ``X`` and ``y``; this set is named 'training'.
eval_names : list of str, default=None
    Names of the evaluation sets. The default names are 'valid_0', 'valid_1' and so
    on, and 'training' for the training set. If this list, or a list of another
    ``eval_`` argument, is shorter than the list of sets, the last sets use the
    defaults.
eval_sample_weight : list of array-like, default=None
    Weights of the rows of each evaluation set.
eval_class_weight : list of dict or 'balanced', default=None
    Class weights of each evaluation set.
eval_init_score : list of array-like, default=None
    Raw scores from which boosting starts, for each evaluation set.
eval_group : list of array-like, default=None
    Numbers of rows of the queries of each evaluation set.
eval_qid : list of array-like, default=None
    Query ids of the rows of each evaluation set.
eval_metric : str, callable or list of them, default=None
    Metrics to compute in addition to the parameter ``metric``: names or functions.
    A function is called as ``f(y_true, y_pred)``, ``f(y_true, y_pred, weight)`` or
    ``f(y_true, y_pred, weight, group)``, according to its number of arguments. It
    returns ``(name, value, is_higher_better)`` or a list of such tuples. ``y_pred``
    are predictions, or raw scores if the objective is a function.
eval_at : int or list of int, default=None
    For the metrics 'ndcg' and 'map': the numbers k of top documents. None means the
    parameter ``eval_at``.
feature_name : 'auto' or list of str, default='auto'
    Names of the columns, which become ``feature_name_``. 'auto' means the names in
    ``X``.
categorical_feature : 'auto', None or list of str and int, default='auto'
    The columns that hold categories. 'auto' means the parameter
    ``categorical_feature``.
callbacks : list of callable, default=None
    Functions that are called before or after each round, such as `early_stopping`
    and `log_evaluation`.
init_model : estimator of skgoss, Booster, str or path, default=None
    A fitted model, or the path of a model file. Boosting continues from its trees,
    which become part of the new model. ``X`` must have the columns of that model.
    The names of columns, the categories and the classes are also taken from it.
    Files of LightGBM hold no classes; for these, the classes come from ``y``.
eval_X : array-like or data frame, or a tuple of them, default=None
    The data of the evaluation set. A tuple holds those of several sets.
eval_y : array-like, or a tuple of them, default=None
    The target of the evaluation set. A tuple holds those of several sets.
early_stopping_rounds : int, default=None
    If passed, it replaces the parameter ``early_stopping_round``.
verbose : bool or int, default=False
    Whether to print the metrics of every round. With an int k, the metrics of every
    k-th round are printed.
""")

# The arguments of fit on a Dask cluster.
FIT_OF_DASK = _changed(
    FIT,
    """
X : Dask array, Dask data frame, or list of Delayed
    The training data. Arrays hold numbers, data frames also strings and categories.
    NaN is a missing value. Chunks of arrays and delayed parts may be sparse
    matrices. The order of the rows is that of the partitions.
y : Dask array, series, or list of Delayed
    The target: numbers for a regressor, labels of any type for a classifier,
    relevance grades (0, 1, 2, ...) for a ranker. All arguments with one value per
    row must have the partitions of ``X``. Arrays with other chunks are rechunked if
    all chunk lengths are known.
sample_weight : Dask array or series, default=None
init_score : Dask array or data frame, default=None
group : Dask array or series, default=None
    Number of rows of each query. All rows of a query must be in one partition, and
    consecutive. The sizes in a partition sum to its number of rows.
qid : Dask array or series, default=None
    Query id of each row, a number or string. All rows of a query must be in one
    partition, in any order.
groups : Dask array or series, or array-like, default=None
time : Dask array or series, or array-like, default=None
eval_set : list of (X, y) pairs, default=None
    Evaluation sets. Metrics are computed on them after each round; early stopping
    uses these metrics. Pass either ``eval_set``, or ``eval_X`` and ``eval_y``. Set
    number i is named 'valid_i'. To evaluate the training set as well, pass the same
    objects ``X`` and ``y``; this set is named 'training'. The sets may have any
    partitions.
callbacks : list of callable, default=None
    Functions that are called before or after each round, such as `early_stopping`
    and `log_evaluation`. A worker calls copies of them, so objects that your
    functions change are not changed in the client's process. `record_evaluation`
    fills its dictionary after the fit. Messages are shown in the client's process.
eval_X : Dask array or data frame, or a tuple of them, default=None
eval_y : Dask array or series, or a tuple of them, default=None
""",
)

# The arguments of predictions.
PREDICTION = entries("""
X : array-like or data frame of shape (n_samples, n_features)
    The rows to predict. The columns must be those of ``fit``, in the same order.
    Parquet files and other data that `Dataset` reads in batches are predicted in
    batches. Their columns are found by name; other columns are not read.
coverage : float or list of float, default=0.9
    The share of new rows whose target is to be covered, between 0 and 1. A list
    gives the results for several shares at once.
method : {'cv', 'cv+'}, default='cv'
    How intervals are calibrated: around the prediction, or around the predictions
    of the folds' models. Quantiles without ``folds`` do not use it.
raw_score : bool, default=False
    Whether to return raw scores: the sum of the values of all trees, or their mean
    for a random forest.
start_iteration : int, default=0
    The first round whose trees are used. Values below 0 are 0.
num_iteration : int, default=None
    Number of rounds whose trees are used. None or values <= 0: all rounds from
    ``start_iteration`` on.
pred_leaf : bool, default=False
    Whether to return the index of the leaf of each row in each tree.
pred_contrib : bool, default=False
    Whether to return SHAP values: the contribution of each column to the raw score
    of each row. The shape is (n_samples, n_features + 1); the last column is the
    expected raw score. For K > 2 classes the shape is (n_samples, K * (n_features +
    1)), class by class. For sparse rows the result is a sparse array, or a list of
    K sparse arrays.
to_parquet : str or path, default=None
    A Parquet file to write the result to, instead of returning it. It has the
    column 'prediction', or for several numbers a row the columns 'prediction_0' and
    so on.
pred_interactions : bool, default=False
    Whether to return SHAP interaction values: the contribution of each pair of
    columns. The shape is (n_samples, n_features + 1, n_features + 1), or for K > 2
    classes (n_samples, K, n_features + 1, n_features + 1). Sums over the last axis
    are the SHAP values.
interactions : bool, default=False
    Whether to compute SHAP interaction values of pairs of columns.
validate_features : bool, default=False
    Whether to check the column names of ``X`` if the model was read from a file of
    another library. For all other models they are always checked.
**kwargs : dict
    ``n_jobs``, by any of its names, replaces the parameter ``n_jobs``. Other
    parameters of LightGBM are accepted and have no effect. Unknown names give an
    ``UnusedParameterWarning``; arguments of other methods raise a TypeError.
""")

# The arguments of a Booster's methods.
BOOSTER = PREDICTION | entries("""
num_iteration : int, default=None
    Number of rounds whose trees are used. None: the rounds up to the best one if
    early stopping found one, else all. Values <= 0: all rounds.
validate_features : bool, default=False
    Whether to check the column names of a data frame.
**kwargs : dict
    ``n_jobs``, by any of its names, is the number of threads. Other parameters of
    LightGBM are accepted and have no effect. Unknown names give an
    ``UnusedParameterWarning``; arguments of other methods raise a TypeError.
filename : str or path
    The file. If writing fails, an earlier file of this name is unchanged.
data : array-like or data frame of shape (n_samples, n_features), or path
    The rows to predict. The columns must be those of the training set, in the same
    order. A path names a CSV, TSV or LibSVM file, with or without the label. With
    ``data_has_header``, the columns of a file are found by their names. Parquet
    files and other data that `Dataset` reads in batches are predicted in batches,
    with columns by name.
importance_type : {'split', 'gain', 'cover'}, default='split'
    What the importances in the file measure: see `feature_importance`.
data_has_header : bool, default=False
    Whether the first line of a file holds the column names.
""")

# The arguments of plots.
PLOT = entries("""
booster : Booster or fitted estimator
    The model.
ax : matplotlib.axes.Axes, default=None
    The axes to plot on. None creates a new figure.
xlim : pair of float, default=None
    The limits of the x-axis.
ylim : pair of float, default=None
    The limits of the y-axis.
title : str or None
    The title. None: no title.
xlabel : str or None
    The label of the x-axis. None: no label.
ylabel : str or None
    The label of the y-axis. None: no label.
figsize : pair of float, default=None
    Width and height of a new figure, in inches.
dpi : float, default=None
    Resolution of a new figure.
grid : bool, default=True
    Whether to draw a grid.
precision : int or None, default=3
    Number of digits after the decimal point. None: all digits.
tree_index : int, default=0
    The index of the tree. Negative numbers count from the last tree. There is an
    IndexError if the model has no such tree.
show_info : list of str, default=None
    What to show in the nodes besides splits and leaf values: any of 'split_gain',
    'internal_value', 'internal_count', 'internal_weight', 'leaf_count',
    'leaf_weight' and 'data_percentage'.
orientation : {'horizontal', 'vertical'}, default='horizontal'
    The direction of growth: 'horizontal' has the root on the left, 'vertical' at
    the top.
example_case : array-like or data frame of shape (1, n_features), default=None
    A single row. Its path through the tree is highlighted.
max_category_values : int, default=10
    Maximum number of categories to list in a node. '...' stands for the others.
""")

# The parameter and the attribute that only estimators for Dask have.
CLIENT = entries("""
client : distributed.Client, default=None
    The client of the cluster. None: the current client. Pickles do not hold the
    client.
client_ : distributed.Client
    The client: the parameter ``client``, or else the current one.
""")

# The last parameter of the constructors.
CONSTRUCTOR_KWARGS = """**kwargs : dict
    Parameters by their other names, such as ``eta`` for ``learning_rate``. Unknown
    names have no effect and give an ``UnusedParameterWarning``."""

# The attributes of fitted estimators.
ATTRIBUTES = entries("""
preset_params_ : dict
    The options that ``preset`` has chosen, by name; empty without a preset. Of a mean
    of several sets of options, those with the largest weight.
search_results_ : dict
    What a preset has compared, in the order of the search: lists or arrays with an
    item for each set of options. 'params': the options besides those of the preset;
    'mean_test_loss': the mean over the folds, or the loss of the evaluation set;
    'n_rounds': the rounds found; 'fit_time': seconds, which files do not keep;
    'weight': the share in the model. Empty without a search.
time_limit_reached_ : bool
    Whether ``time_limit`` has ended the fit, or a part of it.
oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
    Predictions for the rows of ``fit``, each by the models that were not fitted on
    it: probabilities of the classes, or else what ``predict`` returns. NaN in rows
    that no fold tests. Defined only with ``folds``.
oof_score_ : dict
    The mean of each metric over the folds. Defined only with ``folds``.
oof_score_error_ : dict
    The standard error of each mean in ``oof_score_``.
n_features_in_ : int
    Number of columns of ``X`` in ``fit``.
n_features_ : int
    The same as ``n_features_in_``.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the columns of ``X``. Defined only if all names are strings.
feature_name_ : list of str
    Names of the columns: the argument ``feature_name`` of ``fit``, or else the
    names in ``X``, or else 'Column_0', 'Column_1' and so on.
booster_ : Booster
    The trained model, without the estimator.
objective_ : str, callable or None
    The objective: its name, or the function that was passed. None if the model was
    read from a file that holds no objective.
n_estimators_ : int
    Number of rounds of the model.
n_iter_ : int
    The same as ``n_estimators_``.
best_iteration_ : int
    Number of rounds that early stopping kept. 0 without early stopping.
best_score_ : dict
    The metrics after the best round, or after the last round without early
    stopping: a dict of dicts, by the names of evaluation set and metric.
evals_result_ : dict
    The metrics of all rounds: a dict of dicts of lists, by the names of evaluation
    set and metric. Empty without evaluation sets.
feature_importances_ : ndarray of shape (`n_features_in_`,)
    The importances of the columns, as ``importance_type`` says. They are not
    normalized.
fitted_ : bool
    Whether the model is fitted. Defined before ``fit``, too.
""")
