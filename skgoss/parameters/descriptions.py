"""Descriptions of arguments and attributes for docstrings.

Each is described once, in numpydoc's form: a line with the name and the type, and the
meaning below. Options are described in their rows: see `table`.
"""

from __future__ import annotations

import re


def entries(text: str) -> dict[str, str]:
    """The entries of a section of a docstring, by the name of the argument.

    An entry is "name : type" and indented lines below, all in NumPy's style.
    """
    return {
        entry.split(maxsplit=1)[0].strip("*"): entry
        for entry in re.split(r"\n(?=\S)", text.strip("\n"))
        if entry
    }


def _changed(table: dict[str, str], text: str) -> dict[str, str]:
    """A table of entries by name, with those in ``text`` added or replaced.

    An entry of one line has only a new type: the lines below stay those in the table.
    """
    changed = entries(text)
    for name, entry in changed.items():
        if "\n" not in entry:
            changed[name] = "\n".join([entry, *table[name].splitlines()[1:]])
    return table | changed


# The arguments of fit.
FIT = entries("""
X : array-like or data frame of shape (n_samples, n_features), or Dataset
    The training data. Arrays and sparse matrices hold numbers, data frames also
    strings and categories. NaN is a missing value. A `Dataset` is binned once for
    any number of fits, and provides what is not passed, such as ``y``. With Parquet
    files and other data that `Dataset` reads in batches, ``y``, ``sample_weight``,
    ``init_score`` and ``qid`` may be names of columns.
y : array-like of shape (n_samples,), default=None
    The target: numbers for a regressor, labels of any type for a classifier,
    relevance grades (0, 1, 2, ...) for a ranker. Several targets, and soft labels of a
    classifier, have a column each. None if ``X`` is a `Dataset`.
sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows. A row of weight 2 counts as two copies of the row, and a
    row of weight 0 is ignored.
init_score : array-like of shape (n_samples,) or (n_samples, n_classes), default=None
    Raw scores from which boosting starts, plus the best constant; no effect with
    ``init_model``. They are not part of the model: add them to its raw predictions.
group : array-like of shape (n_queries,), default=None
    Number of rows of each query. The rows of a query must be consecutive, and the
    queries in this order. This cannot be checked: if rows may be mixed, pass ``qid``
    instead.
qid : array-like of shape (n_samples,), default=None
    Query id of each row, a number or string. The rows of queries may be mixed.
    Without ``qid`` and ``group`` all rows belong to one query.
groups : array-like of shape (n_samples,), default=None
    Group of each row, a number or string. ``folds``, a preset and early stopping
    choose on rows of groups that the fit has not learned from.
time : array-like of shape (n_samples,), default=None
    Time of each row, a number or date. ``folds``, a preset and early stopping
    choose on rows later than those learned from: see
    https://skgoss.github.io/skgoss/time-series.html.
eval_set : list of (X, y) pairs or Datasets, default=None
    Evaluation sets, for metrics after each round and early stopping. Pass either
    this, or ``eval_X`` and ``eval_y``. The same objects ``X`` and ``y`` are the
    training set.
eval_names : list of str, default=None
    Names of the evaluation sets, by default 'valid_0', 'valid_1' and so on, and
    'training'. Sets that a list of an ``eval_`` argument lacks have the defaults.
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
    Metrics in addition to the parameter ``metric``: names, scikit-learn's scorers, or
    functions of ``y_true``, ``y_pred`` and, if they take more, ``weight`` and ``group``
    that return ``(name, value, is_higher_better)`` or a list of them. ``y_pred`` are
    predictions, or raw scores if the objective is a function.
eval_at : int or list of int, default=None
    For the metrics 'ndcg' and 'map': the numbers k of top documents. None means the
    parameter ``eval_at``.
feature_name : 'auto' or list of str, default='auto'
    Names of the columns, for ``feature_name_``. 'auto': those of ``X``.
categorical_feature : 'auto', None or list of str and int, default='auto'
    Replaces the parameter ``categorical_feature`` unless it is 'auto'.
callbacks : list of callable, default=None
    Functions called before or after each round, such as `log_evaluation`.
init_model : estimator of skgoss, Booster, str or path, default=None
    A fitted model or a model file, to whose trees rounds are added. Names of
    columns, categories and classes are those of the model; classes of LightGBM's
    files come from ``y``.
eval_X : array-like or data frame, or a tuple of them, default=None
    The data of the evaluation set. A tuple holds those of several sets.
eval_y : array-like, or a tuple of them, default=None
    The target of the evaluation set. A tuple holds those of several sets.
early_stopping_rounds : int, default=None
    If passed, it replaces the parameter ``early_stopping_round``.
verbose : bool or int, default=False
    Whether to print the metrics of every round, or of every k-th for a number k.
""")

# The arguments of fit on a Dask cluster.
DASK_FIT = _changed(
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
    The proportion of new rows whose target should be covered, between 0 and 1. A list
    gives the results for several proportions.
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
    column 'prediction', or for several numbers per row the columns 'prediction_0' and
    so on.
pred_interactions : bool, default=False
    Whether to return SHAP interaction values: the contribution of each pair of
    columns. The shape is (n_samples, n_features + 1, n_features + 1), or for K > 2
    classes (n_samples, K, n_features + 1, n_features + 1). Sums over the last axis
    are the SHAP values.
interactions : bool, default=False
    Whether to compute SHAP interaction values of pairs of columns.
include_computed : bool, default=False
    Whether parts of dates and pairs of columns have their own values.
validate_features : bool, default=False
    Whether to check the column names of ``X`` if the model was read from a file of
    another library. For all other models they are always checked.
**kwargs : dict
    ``n_jobs``, by any of its names, replaces the parameter ``n_jobs``. Other
    parameters of LightGBM are accepted and have no effect. Unknown names give an
    ``UnusedParameterWarning``; arguments of other methods raise a TypeError.
""")

# Arguments of ``predict`` that other methods of estimators share with it.
_SHARED = (
    "raw_score start_iteration num_iteration pred_leaf pred_contrib validate_features"
    " pred_interactions to_parquet **kwargs"
)
AS_IN_PREDICT = entries("""
X : array-like or data frame of shape (n_samples, n_features)
    The rows to predict, as for `predict`.
""") | entries(
    "\n".join(
        f"{name} : see `predict`\n    Arguments that both methods have."
        for name in _SHARED.split()
    )
)

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
    What to show in the nodes in addition to splits and leaf values: any of
    'split_gain', 'internal_value', 'internal_count', 'internal_weight', 'leaf_count',
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
    The options that ``preset`` has chosen, by name; empty without a preset. For a mean
    of configurations, those of the largest weight, and the number of all rounds.
search_results_ : dict
    The configurations that a preset has compared, in the order of the search: lists or
    arrays with an item for each. 'params': the options that differ from the preset's;
    'mean_test_loss': the mean over the folds, or the loss of the evaluation set;
    'n_rounds': the number of rounds; 'fit_time': seconds, which files do not keep;
    'weight': the weight in the model. Empty without a search.
time_limit_reached_ : bool
    Whether ``time_limit`` has ended the fit, or a part of it.
oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
    Out-of-fold predictions for the rows of ``fit``: probabilities of the classes, or
    else what ``predict`` returns. NaN in rows that no fold tests. Defined only with
    ``folds``, or with a ``preset`` whose model is a mean.
oof_score_ : dict
    The mean of each metric over the folds. Defined as ``oof_prediction_`` is.
oof_score_error_ : dict
    The standard error of each mean in ``oof_score_``.
categories_ : dict of list
    The categories of each categorical column, by its name. Others count as missing.
date_features_ : DateFeatures
    Makes numbers of dates, as the model does. Defined only if ``X`` had dates.
pair_features_ : PairFeatures
    Appends the pairs that the model computes. Defined only with ``pair_features``.
n_features_in_ : int
    Number of columns of ``X`` in ``fit``.
n_features_ : int
    The same as ``n_features_in_``.
feature_names_in_ : ndarray of shape (`n_features_in_`,)
    Names of the columns of ``X``. Defined only if all names are strings.
feature_name_ : list of str
    ``feature_name`` of ``fit``, the names in ``X``, or 'Column_0', 'Column_1', ...
booster_ : Booster
    The trained model, without the estimator.
objective_ : str, callable or None
    The objective: a name or a function. None if a file holds no objective.
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
    The importances of the columns, as ``importance_type`` says; not normalized.
fitted_ : bool
    True.
""")
