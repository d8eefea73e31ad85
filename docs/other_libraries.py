"""Write docs/other-libraries.md: options of other libraries, and what to use instead.

What an option is called here comes from the package: its own names and aliases, and
``parameters/other_libraries.py``, whose sentences errors and warnings show as well.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from skgoss.parameters.other_libraries import FIT_HINTS
from skgoss.parameters.table import OPTIONS

# The options of the constructors, by what one looks for. `seed` and the like are here
# what they are called there, up to an alias.
LIBRARIES = {
    "HistGradientBoosting": (
        "loss learning_rate max_iter max_leaf_nodes max_depth min_samples_leaf"
        " l2_regularization max_features max_bins categorical_features monotonic_cst"
        " interaction_cst warm_start early_stopping scoring validation_fraction"
        " n_iter_no_change tol verbose random_state class_weight quantile"
    ),
    "XGBoost": (
        "objective n_estimators learning_rate eta max_leaves max_depth min_child_weight"
        " gamma reg_lambda lambda reg_alpha alpha subsample sampling_method"
        " colsample_bytree"
        " colsample_bylevel colsample_bynode max_bin grow_policy tree_method"
        " enable_categorical max_cat_to_onehot max_cat_threshold monotone_constraints"
        " interaction_constraints scale_pos_weight base_score missing"
        " num_parallel_tree multi_strategy booster eval_metric early_stopping_rounds"
        " n_jobs random_state seed device verbosity"
    ),
    "CatBoost": (
        "loss_function iterations learning_rate depth num_leaves min_data_in_leaf"
        " l2_leaf_reg random_strength rsm subsample bagging_temperature bootstrap_type"
        " border_count one_hot_max_size cat_features text_features"
        " monotone_constraints class_weights auto_class_weights scale_pos_weight"
        " eval_metric custom_metric od_type od_wait use_best_model nan_mode"
        " grow_policy thread_count random_seed logging_level task_type"
    ),
}
# Where the same name, or none, needs a word.
REMARKS = {
    ("HistGradientBoosting", "loss"): (
        "`objective` (both work): 'regression', 'regression_l1', 'poisson',"
        " 'quantile', ..."
    ),
    ("HistGradientBoosting", "interaction_cst"): (
        "`interaction_constraints`, which must list every column"
    ),
    ("HistGradientBoosting", "early_stopping"): (
        "`early_stopping_round`, a number of rounds"
    ),
    ("HistGradientBoosting", "max_features"): "`colsample_bynode`",
    ("XGBoost", "objective"): (
        "`objective`: 'regression', 'binary', 'multiclass', 'lambdarank', ..."
    ),
    ("XGBoost", "max_depth"): "`max_depth`, and `num_leaves` (31 by default)",
    ("XGBoost", "min_child_weight"): (
        "`min_child_weight`, and `min_child_samples` (20 by default)"
    ),
    ("XGBoost", "alpha"): "`reg_alpha`; in skgoss, `alpha` is a quantile level",
    ("XGBoost", "subsample"): "`subsample`, **with `subsample_freq=1`**",
    ("XGBoost", "eval_metric"): (
        "`metric`, such as `metric='l1'`. The `eval_metric` of fit is added to the"
        " default metric"
    ),
    ("XGBoost", "early_stopping_rounds"): (
        "`early_stopping_round` (both work). Any metric can stop the fit, not only the"
        " last one, so pass only one `metric`"
    ),
    ("XGBoost", "scale_pos_weight"): (
        "`scale_pos_weight`; with early stopping, also pass `metric='auc'`"
    ),
    ("XGBoost", "interaction_constraints"): (
        "`interaction_constraints`, which must list every column"
    ),
    ("XGBoost", "device"): "Fits run on CPUs",
    ("CatBoost", "subsample"): "`subsample`, **with `subsample_freq=1`**",
    ("CatBoost", "task_type"): "Fits run on CPUs",
}
LINES = {
    "HistGradientBoosting": (
        "Replace `HistGradientBoostingClassifier` with `LGBMClassifier`, and"
        " `HistGradientBoostingRegressor` with `LGBMRegressor`. By default, both"
        " libraries grow trees with at most 31 leaves and at least 20 rows per leaf. In"
        " skgoss, string and categorical columns don't need `categorical_features`, and"
        " early stopping is off by default."
    ),
    "XGBoost": (
        "Replace `XGBClassifier` with `LGBMClassifier` (and so on) and `DMatrix` with"
        " `Dataset`. In skgoss, trees grow leaf-wise instead of level-wise, and labels"
        " can be strings. `LGBMClassifier(max_depth=6, num_leaves=64,"
        " learning_rate=0.3, reg_lambda=1, min_child_weight=1, min_child_samples=1)`"
        " uses XGBoost's defaults."
    ),
    "CatBoost": (
        "Replace `CatBoostClassifier` with `LGBMClassifier` (and so on) and `Pool` with"
        " `Dataset`. In skgoss, trees grow leaf-wise instead of symmetrically, and"
        " splits on categorical columns use sets of categories instead of target"
        " statistics."
        " skgoss's defaults are faster but less accurate than CatBoost's;"
        ' [`preset="accurate"`](accuracy.md) is faster and more accurate.'
    ),
}
SAME = "the same"
HEAD = """# Migrate from XGBoost, CatBoost or HistGradientBoosting

This page lists options of three libraries and what to use instead. Unknown names have
no effect, and the warnings about them give the same advice.

<!-- `python docs/other_libraries.py` writes this page. -->
"""


def here(library: str, name: str) -> str:
    """What to use instead of an option of a library."""
    if (library, name) in REMARKS:
        return REMARKS[library, name]
    for option in OPTIONS:
        if name == option.name:
            return SAME
        if name in option.aliases:
            return f"`{option.name}` (both work)"
    return said(FIT_HINTS[name])


def said(sentence: str) -> str:
    """A sentence of the package, as the cell of a table."""
    instead = sentence.strip().removeprefix("Use ").removesuffix(".")
    if sentence.strip() == instead:
        return instead
    names = {name for option in OPTIONS for name in (option.name, *option.aliases)}

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        return f"`{word}`" if word in names or "_" in word or "=" in word else word

    return re.sub(r"[\w='.]*[\w']", marked, instead)


def fill(paragraph: str) -> str:
    return textwrap.fill(paragraph, 100, break_on_hyphens=False)


def section(library: str) -> str:
    """The names that stay, and a table of the others by what to use instead."""
    by_counterpart: dict[str, list[str]] = {}
    for name in LIBRARIES[library].split():
        by_counterpart.setdefault(here(library, name), []).append(f"`{name}`")
    same = fill(f"Unchanged: {', '.join(by_counterpart.pop(SAME))}.")
    rows = "".join(
        f"| {', '.join(names)} | {counterpart} |\n"
        for counterpart, names in by_counterpart.items()
    )
    table = f"| {library} | skgoss |\n|---|---|\n{rows}"
    return f"\n## {library}\n\n{fill(LINES[library])}\n\n{same}\n\n{table}"


def markdown() -> str:
    """The page."""
    return HEAD + "".join(map(section, LIBRARIES))


if __name__ == "__main__":
    page = Path(__file__).with_name("other-libraries.md")
    page.write_text(markdown(), encoding="utf-8")
