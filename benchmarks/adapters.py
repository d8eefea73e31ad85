"""One adapter per library: equal parameters by each library's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

EQUAL: Mapping[str, Any] = {
    "n_estimators": 100,
    "num_leaves": 31,
    "learning_rate": 0.1,
    "max_bin": 255,
    "min_child_samples": 20,
    "min_child_weight": 1e-3,
    "reg_lambda": 0.0,
}


def goss(top_rate: float = 0.2, other_rate: float = 0.1) -> dict[str, Any]:
    """Options of gradient-based one-side sampling."""
    return {
        "data_sample_strategy": "goss",
        "top_rate": top_rate,
        "other_rate": other_rate,
    }


def uniform(rate: float = 0.3) -> dict[str, Any]:
    """Options of stochastic gradient boosting: new rows every round."""
    return {"subsample": rate, "subsample_freq": 1}


def at_depth(depth: int) -> dict[str, Any]:
    """Options of trees of this depth that may have all its leaves, on one thread."""
    return {**EQUAL, "num_leaves": 2**depth, "max_depth": depth, "n_jobs": 1}


# Options that are LightGBM's alone.
_SAMPLING = dict.fromkeys(["data_sample_strategy", "top_rate", "other_rate"])
_STORAGE = dict.fromkeys(["enable_bundle", "is_enable_sparse", "max_conflict_rate"])


def _num_iteration(n_rounds: int) -> dict[str, Any]:
    return {"num_iteration": n_rounds}


def _iteration_range(n_rounds: int) -> dict[str, Any]:
    return {"iteration_range": (0, n_rounds)}


def _argument_of_fit(model: Any, after_round: Callable[[], None]) -> dict[str, Any]:
    return {"callbacks": [lambda env: after_round()]}


def _option_of_xgboost(model: Any, after_round: Callable[[], None]) -> dict[str, Any]:
    from xgboost.callback import TrainingCallback

    class AfterRound(TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            after_round()
            return False

    model.set_params(callbacks=[AfterRound()])
    return {}


@dataclass(frozen=True)
class Library:
    """How a library expresses the options of LightGBM's scikit-learn interface.

    Parameters
    ----------
    package : str
        Name of the distribution, for its version.
    module, classifier, regressor, ranker : str
        Where the estimators are; imported when asked for and not before.
    words : mapping of str to (str or None)
        LightGBM's names that differ here; None: the library has no such option.
    always : mapping
        Options of every model.
    shape : mapping
        Options that make the trees comparable when parameters are equal.
    first_rounds : callable, optional
        Given a number of rounds, the options of predict that use no others.
    on_cluster : str, optional
        The module of the estimators for Dask, whose names begin with the word Dask.
    watched : callable, optional
        Given a model and a function to call after every round, the options of fit.
    threads : str, default="n_jobs"
        The name of the number of threads; "": the library reads OMP_NUM_THREADS.
    readable : callable, optional
        Given a data frame with columns of categories, one that the library reads.
    categorical : str, optional
        The argument of fit that lists the columns of categories; empty: it sees them.
    """

    package: str
    module: str
    classifier: str
    regressor: str
    ranker: str = ""
    on_cluster: str = ""
    words: Mapping[str, str | None] = field(default_factory=dict)
    always: Mapping[str, Any] = field(default_factory=dict)
    shape: Mapping[str, Any] = field(default_factory=dict)
    first_rounds: Callable[[int], dict[str, Any]] | None = None
    watched: Callable[[Any, Callable[[], None]], dict[str, Any]] | None = None
    threads: str = "n_jobs"
    readable: Callable[[Any], Any] | None = None
    categorical: str = ""


def _words(X: Any) -> Any:
    """Name missing categories: the library takes no empty cells."""
    words = X.select_dtypes("category").astype(object)
    return X.assign(**words.where(words.notna(), "missing").astype(str))


LIBRARIES: Mapping[str, Library] = {
    "skgoss": Library(
        "skgoss",
        "skgoss",
        "LGBMClassifier",
        "LGBMRegressor",
        "LGBMRanker",
        on_cluster="skgoss.dask",
        first_rounds=_num_iteration,
        watched=_argument_of_fit,
    ),
    "lightgbm": Library(
        "lightgbm",
        "lightgbm",
        "LGBMClassifier",
        "LGBMRegressor",
        "LGBMRanker",
        on_cluster="lightgbm.dask",
        words={"max_conflict_rate": None},
        always={"verbosity": -1},
        first_rounds=_num_iteration,
        watched=_argument_of_fit,
    ),
    "xgboost": Library(
        "xgboost",
        "xgboost",
        "XGBClassifier",
        "XGBRegressor",
        "XGBRanker",
        on_cluster="xgboost.dask",
        words={
            "num_leaves": "max_leaves",
            "min_child_samples": None,
            # It always draws new rows in each round.
            "subsample_freq": None,
            **_SAMPLING,
            **_STORAGE,
        },
        always={"verbosity": 0, "enable_categorical": True},
        shape={"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0},
        first_rounds=_iteration_range,
        watched=_option_of_xgboost,
    ),
    "hgb": Library(
        "scikit-learn",
        "sklearn.ensemble",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        # Its number of threads is OMP_NUM_THREADS, which measure.fresh sets.
        words={
            "n_estimators": "max_iter",
            "num_leaves": "max_leaf_nodes",
            "max_bin": "max_bins",
            "min_child_samples": "min_samples_leaf",
            "min_child_weight": None,
            "reg_lambda": "l2_regularization",
            "n_jobs": None,
            "subsample": None,
            "subsample_freq": None,
            **_SAMPLING,
            **_STORAGE,
        },
        shape={"early_stopping": False},
        threads="",
    ),
}

# They grow trees level by level: compare them at equal depth (`at_depth`).
BY_LEVELS: Mapping[str, Library] = {
    "onedal": Library(
        "scikit-learn-intelex",
        "daal4py.sklearn.ensemble",
        "GBTDAALClassifier",
        "GBTDAALRegressor",
        words={
            "n_estimators": "max_iterations",
            "num_leaves": None,
            "max_depth": "max_tree_depth",
            "learning_rate": "shrinkage",
            "max_bin": "max_bins",
            "min_child_samples": "min_observations_in_leaf_node",
            "min_child_weight": None,
        },
    ),
    "snapml": Library(
        "snapml",
        "snapml",
        "BoostingMachineClassifier",
        "BoostingMachineRegressor",
        words={
            "n_estimators": "num_round",
            "num_leaves": None,
            "max_bin": "hist_nbins",
            "min_child_samples": None,
            "min_child_weight": None,
            "reg_lambda": "lambda_l2",
        },
    ),
    "ydf": Library(
        "ydf",
        "ydf_estimators",
        "YDFClassifier",
        "YDFRegressor",
        words={
            "n_estimators": "num_trees",
            "num_leaves": None,
            "learning_rate": "shrinkage",
            "max_bin": "num_discretized_numerical_bins",
            "min_child_samples": "min_examples",
            "min_child_weight": None,
            "reg_lambda": "l2_regularization",
            "n_jobs": "num_threads",
        },
        # Columns are bins, all rows are fitted, all rounds are kept, as elsewhere.
        shape={
            "discretize_numerical_columns": True,
            "validation_ratio": 0.0,
            "early_stopping": "NONE",
        },
        threads="num_threads",
    ),
}

# They are compared at their defaults only.
DEFAULTS_ONLY: Mapping[str, Library] = {
    "catboost": Library(
        "catboost",
        "catboost",
        "CatBoostClassifier",
        "CatBoostRegressor",
        always={"verbose": 0, "allow_writing_files": False},
        threads="thread_count",
        readable=_words,
        categorical="cat_features",
    ),
    "chimeraboost": Library(
        "chimeraboost",
        "chimeraboost",
        "ChimeraBoostClassifier",
        "ChimeraBoostRegressor",
        threads="thread_count",
        readable=_words,
        categorical="cat_features",
    ),
    # It chooses the size and the number of trees by its budget.
    "perpetual": Library(
        "perpetual",
        "perpetual.sklearn",
        "PerpetualClassifier",
        "PerpetualRegressor",
        threads="num_threads",
    ),
}
ALL: Mapping[str, Library] = {**LIBRARIES, **BY_LEVELS, **DEFAULTS_ONLY}


def make(
    library: str,
    task: str,
    parameters: Mapping[str, Any] = EQUAL,
    *,
    on_cluster: bool = False,
) -> Any:
    """Make an unfitted estimator.

    Parameters
    ----------
    library : str
        A key of `ALL`.
    task : {"binary", "multiclass", "regression", "ranking"}
        What is learned.
    parameters : mapping, default=EQUAL
        Options by LightGBM's names; empty: the library's own defaults.
    on_cluster : bool, default=False
        Whether it is fitted by the workers of a Dask cluster.

    Returns
    -------
    estimator : object
        A scikit-learn estimator.
    """
    its = ALL[library]
    kinds = {"regression": its.regressor, "ranking": its.ranker}
    name = kinds.get(task, its.classifier)
    said = {its.words.get(key, key): value for key, value in parameters.items()}
    said.pop(None, None)
    shape = its.shape if "num_leaves" in parameters else {}
    module = its.on_cluster if on_cluster else its.module
    found = getattr(import_module(module), f"Dask{name}" if on_cluster else name)
    return found(**{**its.always, **shape, **said})
