"""Write models in LightGBM's text format.

LightGBM does not accept some names of columns; safe names replace them. Its categories
are whole numbers. Those of a column of whole numbers are written by value. Other
categories are written by number, and ``pandas_categorical`` has their values. A line
that other readers skip has the rest of the state.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss._engine.model_files import decimals
from skgoss.columns.categories import Categories
from skgoss.model import dump
from skgoss.model.category_sets import CategorySets
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.linear import LinearLeaves
from skgoss.model.trees import CATEGORICAL, LEAF_TYPES, NODE_TYPES
from skgoss.model_files.text_lines import (
    BOUNDS_KEY,
    END_OF_TREES,
    INTERNAL_LINES,
    LEAF_LINES,
    LINEAR_LINES,
    MEANS_KEY,
    NODE_LINES,
    PANDAS_CATEGORICAL,
    PARAMETERS,
    SET_LINES,
    SKGOSS_KEY,
    SKGOSS_LINE,
)
from skgoss.utils.messages import warn

# A set has a bit for each number up to its largest value: 61 kB of text for this one.
MAX_VALUE = 1_000_000

_FORBIDDEN = frozenset('",:[]{} ')


def write(
    ensemble: Ensemble,
    header: Header,
    *,
    start_round: int = 0,
    stop_round: int | None = None,
    importance: str = "split",
    categories: Categories | None = None,
) -> str:
    """Write the rounds from ``start_round`` to ``stop_round - 1``; None: to the last.

    ``importance`` is the type of the importances in the file: 'split' or 'gain'. The
    sets of the ensemble have numbers of the ``categories``. If these are None, the sets
    and ``header.pandas_categorical`` are written as they are.

    ValueError if the header does not fit the ensemble, or has a line break. Warns if a
    column has categories above 1,000,000: they are written by number, so other readers
    need data with the numbers in place of the values.
    """
    _check(header, ensemble.n_features)
    chosen = _chosen_rounds(ensemble, start_round, stop_round)
    names, values = safe_names(header.feature_names), _values(categories, chosen)
    shrinkage = _shrinkage(ensemble, header)[start_round * chosen.n_scores :]
    tree_texts = list(_tree_texts(chosen, _by_value(chosen, values), shrinkage))
    values_ = dump.pandas_categorical(header, categories or Categories(None))
    sections = [
        _header_lines(chosen, header, names, values, tree_texts),
        "".join(tree_texts) + END_OF_TREES + "\n",
        _importances(chosen.importances(importance), names),
        _parameters(header, names, values),
        PANDAS_CATEGORICAL + json.dumps(dump.jsonable(values_)) + "\n",
    ]
    return "\n".join(sections)


def safe_names(names: Sequence[str]) -> list[str]:
    """Distinct names of columns that LightGBM accepts.

    Names that it accepts are kept. In others, "_" stands for each character that it
    does not accept, followed by the number of the column if the name is taken.
    """
    safe = ["".join("_" if _is_forbidden(c) else c for c in name) for name in names]
    used = {new for new, old in zip(safe, names, strict=True) if new == old}
    kept: set[str] = set()
    for j, name in enumerate(names):
        if safe[j] == name and name and name not in kept:
            kept.add(name)
            continue
        base = safe[j] or f"Column_{j}"
        while base in used:
            base = f"{base}_{j}"
        used.add(base)
        safe[j] = base
    return safe


def _is_forbidden(character: str) -> bool:
    return character in _FORBIDDEN or not character.isprintable()


def _check(header: Header, n_features: int) -> None:
    """Raise ValueError if the header does not fit, or has a line break."""
    header.check(n_features)
    texts = {"objective": header.objective}
    for key, value in header.parameters.items():
        texts[f"parameters[{key!r}]"] = f"{key}{value}"
    for name, text in texts.items():
        if "\n" in text or "\r" in text:
            raise ValueError(f"{name} must not hold a line break, got {text!r}")


# --- Trees ----------------------------------------------------------------------------


def _chosen_rounds(
    ensemble: Ensemble, start_round: int, stop_round: int | None
) -> Ensemble:
    """The rounds ``start_round`` to ``stop_round - 1``, with one set for each node.

    In files, the sets of categories have the order of the categorical nodes, and nodes
    share none. ``stop_round`` None: to the last round.
    """
    n_rounds = ensemble.n_rounds
    stop = n_rounds if stop_round is None else min(stop_round, n_rounds)
    if start_round < 0 or stop < 0:
        raise ValueError("start_round and stop_round must be at least 0")
    chosen = ensemble.truncated(stop)
    if start_round > 0:
        chosen = chosen.chosen(np.arange(start_round, stop))
    categorical = _are_categorical(chosen.arrays)
    number = chosen.arrays["threshold"][categorical].astype(np.int64)
    threshold = chosen.arrays["threshold"].copy()
    threshold[categorical] = np.arange(len(number))
    arrays = chosen.arrays | {"threshold": threshold}
    return replace(chosen, arrays=arrays, sets=chosen.sets.take(number))


def _are_categorical(arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    return arrays["decision_type"] & CATEGORICAL != 0


def _tree_texts(
    trees: Ensemble, sets: CategorySets, shrinkage: Sequence[str]
) -> Iterator[str]:
    """The text of each tree.

    ``sets`` are written in place of the sets of the trees: they may hold values instead
    of numbers of categories. ``shrinkage`` is that of each tree, as text.
    """
    leaf_start = trees.leaf_start
    first_node = leaf_start - np.arange(trees.n_trees + 1)
    categorical = _are_categorical(trees.arrays)
    first_set = np.concatenate([[0], np.cumsum(categorical)])[first_node]
    # In files, the sets of each tree are numbered from 0.
    n_before = np.where(categorical, np.repeat(first_set[:-1], np.diff(first_node)), 0)
    arrays = trees.arrays | {"threshold": trees.arrays["threshold"] - n_before}
    starts = dict.fromkeys(NODE_TYPES, first_node) | dict.fromkeys(
        LEAF_TYPES, leaf_start
    )
    texts = {
        name: _joined(arrays[name], starts[name])
        for name in (*NODE_LINES, *LEAF_LINES, *INTERNAL_LINES)
    }
    for tree in range(trees.n_trees):
        lines = [f"Tree={tree}"]
        lines.append(f"num_leaves={leaf_start[tree + 1] - leaf_start[tree]}")
        lines.append(f"num_cat={first_set[tree + 1] - first_set[tree]}")
        lines += [f"{name}={numbers[tree]}" for name, numbers in texts.items()]
        if first_set[tree + 1] > first_set[tree]:
            lines += _set_lines(sets, *first_set[tree : tree + 2].tolist())
        lines.append(f"is_linear={int(trees.linear is not None)}")
        if trees.linear is not None:
            leaves = trees.linear.leaves(*leaf_start[tree : tree + 2].tolist())
            lines += _linear_lines(leaves)
        lines.append(f"shrinkage={shrinkage[tree]}")
        yield "\n".join(lines) + "\n\n\n"


def _joined(values: NDArray[Any], start: NDArray[np.int64]) -> list[str]:
    """The numbers of each tree as text, the shortest that reads back to the same.

    Those of tree t are ``values[start[t]:start[t + 1]]``.
    """
    dtype = np.float64 if values.dtype == np.float64 else np.int64
    return decimals.joined(np.ascontiguousarray(values, dtype), start)


def _line(name: str, values: NDArray[Any]) -> str:
    """A line with a key and numbers."""
    start = np.array([0, len(values)], dtype=np.int64)
    return f"{name}={_joined(values, start)[0]}"


def _set_lines(sets: CategorySets, first: int, stop: int) -> list[str]:
    """The lines of the sets ``first`` to ``stop - 1``, which are those of a tree."""
    start = sets.start[first : stop + 1]
    words = sets.words[start[0] : start[-1]]
    return list(map(_line, SET_LINES, (start - start[0], words)))


def _linear_lines(leaves: LinearLeaves) -> list[str]:
    """The lines of the linear models of a tree's leaves."""
    n_terms = np.diff(leaves.start)
    values = leaves.constant, n_terms, leaves.feature, leaves.coefficient
    return list(map(_line, LINEAR_LINES, values))


def _linear_header_lines(leaves: LinearLeaves | None) -> list[str]:
    """The lines of the header with bounds and means of linear leaves, if any."""
    if leaves is None:
        return []
    bounds = np.concatenate([leaves.lower, leaves.upper])
    keys = (BOUNDS_KEY, bounds), (MEANS_KEY, leaves.mean)
    return [_line(key, values) for key, values in keys if not np.isnan(values).all()]


def _shrinkage(ensemble: Ensemble, header: Header) -> list[str]:
    """The shrinkage of each tree as text, which LightGBM uses if it refits leaves.

    It is the learning rate, or 1 for trees whose values include the start score.
    """
    parameters = header.parameters
    is_one = dump.holds_start(
        ensemble, header, parameters.get("boost_from_average") != "0"
    )
    return np.where(is_one, "1", parameters.get("learning_rate") or "1").tolist()


# --- Categories -----------------------------------------------------------------------


def _values(categories: Categories | None, trees: Ensemble) -> dict[int, list[int]]:
    """The categories of the columns whose sets are written by value, by column.

    These are columns of whole numbers up to `MAX_VALUE`; a warning names others. None:
    the sets are written as they are.
    """
    if categories is None:
        return {}
    values = categories.values(needs_encoding=False)
    large = {j for j, numbers in values.items() if max(numbers, default=0) > MAX_VALUE}
    used = large & set(trees.arrays["split_feature"].tolist())
    if used:
        warn(
            f"Columns {sorted(used)} hold categories above {MAX_VALUE}, which are too"
            " large for the sets of a text file. The file holds the numbers of their"
            " categories; skgoss reads it as usual, but other libraries need these"
            " numbers in place of the values."
        )
    return {j: numbers for j, numbers in values.items() if j not in large}


def _by_value(trees: Ensemble, values: Mapping[int, list[int]]) -> CategorySets:
    """The sets of the trees, with values in place of numbers in some columns."""
    column = trees.arrays["split_feature"][_are_categorical(trees.arrays)]
    lookups = {j: partial(_looked_up, numbers) for j, numbers in values.items()}
    return trees.sets.mapped(column, lookups)


def _looked_up(values: list[int], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The values of the categories with these numbers.

    ``values`` has the value of each number. ValueError if a number is too large.
    """
    if numbers.max(initial=0) >= len(values):
        raise ValueError(
            f"a set holds the category number {numbers.max()}, but its column has only"
            f" {len(values)} categories"
        )
    return np.array(values, dtype=np.int64)[numbers]


def _info(info: str, values: list[int] | None) -> str:
    """An entry of ``feature_infos``, with values in place of numbers of categories."""
    if values is None or info.startswith("[") or info == "none":
        return info
    numbers = np.array(info.split(":"), dtype=np.int64)
    is_category = numbers >= 0
    numbers[is_category] = _looked_up(values, numbers[is_category])
    return ":".join(map(str, numbers.tolist()))


# --- Other lines ----------------------------------------------------------------------


def _header_lines(
    trees: Ensemble,
    header: Header,
    names: Sequence[str],
    values: Mapping[int, list[int]],
    tree_texts: Sequence[str],
) -> str:
    """The lines before the trees, whose own texts are ``tree_texts``.

    ``names`` are those of the columns as the file spells them. ``values`` are the
    numbers that stand for the categories of a categorical column, by its number.
    """
    infos = [_info(info, values.get(j)) for j, info in enumerate(header.feature_infos)]
    sizes = [len(text.encode()) for text in tree_texts]
    signs = header.monotone_constraints
    lines = [
        "tree",
        "version=v4",
        f"num_class={trees.n_scores}",
        f"num_tree_per_iteration={trees.n_scores}",
        "label_index=0",
        f"max_feature_idx={trees.n_features - 1}",
        *([f"objective={header.objective}"] if header.objective else []),
        *(["average_output"] if trees.average else []),
        f"feature_names={' '.join(names)}",
        *([f"monotone_constraints={' '.join(map(str, signs))}"] if signs else []),
        f"feature_infos={' '.join(infos)}",
        f"{SKGOSS_KEY}=1",
        *_linear_header_lines(trees.linear),
        f"tree_sizes={' '.join(map(str, sizes))}",
    ]
    return "\n".join([*lines, ""])


def _importances(importance: NDArray[Any], names: Sequence[str]) -> str:
    """The lines of the importances, the largest first."""
    order = np.argsort(-importance, kind="stable").tolist()
    # LightGBM writes whole numbers; infinite gains are limited.
    whole = np.minimum(importance, 2.0**62).astype(np.int64).tolist()
    lines = [f"{names[j]}={whole[j]}" for j in order if whole[j] > 0]
    return "\n".join(["feature_importances:", *lines, ""])


def _parameters(
    header: Header, names: Sequence[str], values: Mapping[int, list[int]]
) -> str:
    """The lines of the parameters, and the line that only skgoss reads.

    ``names`` are those of the columns in the file, which may differ from the header's,
    and ``values`` the categories of columns whose sets are written by value.
    """
    true_names = enumerate(header.feature_names)
    content = {
        "model": header.own,
        "names": {str(j): name for j, name in true_names if name != names[j]},
        "values": {str(column): numbers for column, numbers in values.items()},
    }
    lines = [f"[{key}: {value}]" for key, value in header.parameters.items()]
    lines.append(SKGOSS_LINE + json.dumps(content, sort_keys=True))
    return "\n".join([PARAMETERS[0], *lines, "", PARAMETERS[1], ""])
