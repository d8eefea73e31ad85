"""An extension of Sphinx: what is changed in pages and docstrings for the site."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

FIRST = runpy.run_path(str(Path(__file__).with_name("parameters.py")))["FIRST"]

# Files beside docs/ that are pages of the site.
INSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/README.md": "benchmarks.md",
    "docs/README.md": "guide.md",
}


def lead_inside(text: str) -> str:
    """Turn links to files into links to pages of the site, by their titles."""
    text = re.sub(r"\[(?:docs/)?[\w-]+\.md\]\(", "[](", text)
    text = re.sub(r"\]\((?:\.\./)?examples\)", "](examples/index.rst)", text)
    text = re.sub(r"\]\(\.\./examples/(\w+)\.py\)", r"](examples/\1.rst)", text)
    for there, here in INSIDE.items():
        link = rf"\]\((?:\.\./)?{re.escape(there)}(#[\w-]+)?\)"
        text = re.sub(link, rf"]({here}\1)", text)
    return text


# Names of other packages, whose first mention on a page leads to their documentation.
# Inventories of their sites would have to be loaded from the network.
ELSEWHERE = {
    "https://scikit-learn.org/stable/modules/generated/sklearn.{0}.html": (
        "calibration.CalibratedClassifierCV datasets.load_svmlight_file"
        " feature_extraction.text.HashingVectorizer impute.SimpleImputer"
        " inspection.permutation_importance metrics.ndcg_score"
        " model_selection.FixedThresholdClassifier model_selection.GridSearchCV"
        " model_selection.GroupKFold model_selection.RandomizedSearchCV"
        " model_selection.StratifiedKFold model_selection.TimeSeriesSplit"
        " model_selection.TunedThresholdClassifierCV model_selection.cross_val_score"
        " multioutput.MultiOutputClassifier multioutput.MultiOutputRegressor"
        " pipeline.Pipeline"
    ),
    "https://pandas.pydata.org/docs/reference/api/pandas.{0}.html": (
        "CategoricalDtype DataFrame NA"
    ),
    "https://optuna-integration.readthedocs.io/en/stable/reference/generated/"
    "optuna_integration.{0}.html": "OptunaSearchCV",
}
LINKS = {
    name.rpartition(".")[2]: address.format(name)
    for address, names in ELSEWHERE.items()
    for name in names.split()
}


def lead_elsewhere(text: str) -> str:
    """Link the first mention of names of other packages, outside of code."""
    parts = re.split(r"(^```.*?^```$|^#[^\n]*$)", text, flags=re.M | re.S)
    missing = dict(LINKS)

    def linked(match: re.Match[str]) -> str:
        address = missing.pop(match[1], None)
        return f"[{match[0]}]({address})" if address else match[0]

    for number in range(0, len(parts), 2):
        parts[number] = re.sub(r"(?<!\[)`([A-Za-z_]+)`(?!\])", linked, parts[number])
    return "".join(parts)


def read_page(app: Any, docname: str, content: list[str]) -> None:
    """Change a page when it is read."""
    content[0] = lead_inside(content[0])
    if str(app.env.doc2path(docname)).endswith(".md"):
        content[0] = lead_elsewhere(content[0])


def read_included(app: Any, path: Any, parent: str, content: list[str]) -> None:
    """Change a file that a page includes when it is read."""
    content[0] = lead_elsewhere(lead_inside(content[0]))


# Docstrings that are inherited from scikit-learn refer to its documentation, and have
# formulas, for which a browser would load a library from the network.
PLAIN = {
    # Full names of scikit-learn lead to its pages.
    r":(?:class|func|meth):`~?sklearn\.([\w.]+)`": (
        r"`\1 <https://scikit-learn.org/stable/modules/generated/sklearn.\1.html>`__"
    ),
    r":ref:`(?:([^`<]+?) )?<?\w+>?`": r"scikit-learn's \1",
    # A word that ends in an underscore would be a link.
    r":term:`(\w+_)`": r"``\1``",
    r":term:`([^`<]+?)(?: <[^`]*)?`": r"\1",
    r"\\frac\{(\w)\}\{(\w)\}": r"\1 / \2",
    r":math:`([^`]+)`": r"``\1``",
}


def write_plainly(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Make plain text of roles that lead out of the site."""
    for number, line in enumerate(lines):
        for role, text in PLAIN.items():
            line = re.sub(role, text, line)
        lines[number] = line


# Parameters of estimators by topic; those that matter most are in docs/parameters.py.
TOPICS = {
    "Trees": (
        "boosting_type max_depth min_split_gain min_child_weight max_delta_step"
        " path_smooth extra_trees multi_strategy linear_tree linear_lambda reg_alpha"
        " boost_from_average forcedsplits_filename importance_type"
    ),
    "Samples of rows and columns": (
        "subsample_freq pos_bagging_fraction neg_bagging_fraction bagging_by_query"
        " data_sample_strategy top_rate other_rate feature_fraction_bynode"
        " feature_contri"
    ),
    "Dropout": "drop_rate max_drop skip_drop uniform_drop xgboost_dart_mode",
    "Bins, missing values and sparse data": (
        "subsample_for_bin max_bin max_bin_by_feature forcedbins_filename"
        " min_data_in_bin use_missing zero_as_missing feature_pre_filter enable_bundle"
        " max_conflict_rate is_enable_sparse"
    ),
    "Categories": (
        "max_cat_to_onehot max_cat_threshold cat_smooth cat_l2 min_data_per_group"
    ),
    "Constraints": (
        "monotone_constraints monotone_constraints_method monotone_penalty"
        " interaction_constraints"
    ),
    "Objectives": (
        "class_weight is_unbalance scale_pos_weight reg_sqrt sigmoid alpha fair_c"
        " poisson_max_delta_step tweedie_variance_power lambdarank_truncation_level"
        " lambdarank_norm lambdarank_position_bias_regularization label_gain"
    ),
    "Metrics, early stopping and folds": (
        "metric multi_error_top_k auc_mu_weights eval_at first_metric_only"
        " early_stopping_min_delta validation_fraction refit folds"
    ),
    "Random seeds": (
        "random_state data_random_seed bagging_seed feature_fraction_seed extra_seed"
        " objective_seed drop_seed"
    ),
}
# Classes of fewer parameters show all of them.
MANY = 40


def by_topic(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Put the parameters that matter most first, and fold the others by topic."""
    if what != "class" or ":Parameters:" not in lines:
        return
    start = lines.index(":Parameters:") + 1
    ends = (i for i in range(start, len(lines)) if re.match(r"\S", lines[i]))
    end = next(ends, len(lines))
    items: dict[str, list[str]] = {}
    of = ""
    for line in lines[start:end]:
        found = re.match(r"    \*\*([^ ]+)\*\* :", line)
        of = found[1] if found else of
        items.setdefault(of, []).append(line)
    if len(items) < MANY:
        return

    def taken(names: str) -> list[str]:
        return [line for each in names.split() for line in items.pop(each, [])]

    grouped = ["", *taken(" ".join(FIRST))]
    topics = {topic: taken(names) for topic, names in TOPICS.items()}
    for topic, part in (topics | {"Others": taken(" ".join(items))}).items():
        for html in (f"<details><summary>{topic}</summary>", *part, "</details>"):
            is_html = html.startswith("<")
            grouped += (
                ["    .. raw:: html", "", f"        {html}", ""] if is_html else [html]
            )
    lines[start:end] = grouped


# Longer signatures show their first arguments; the page lists all of them.
LONGEST = 500


def shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str, returns: str
) -> tuple[str, str] | None:
    """Cut a signature that would fill a page."""
    if not signature or len(signature) < LONGEST or what != "class":
        return None
    first = ", ".join(signature[1:].split(", ")[:6])
    return f"({first}, ...)", returns


def setup(app: Any) -> None:
    """Connect the functions above."""
    app.connect("source-read", read_page)
    app.connect("include-read", read_included)
    app.connect("autodoc-process-docstring", write_plainly)
    app.connect("autodoc-process-docstring", by_topic, priority=900)
    app.connect("autodoc-process-signature", shorten)
