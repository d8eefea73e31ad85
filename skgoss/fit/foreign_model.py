"""Models of other libraries that training continues from: numbers of their categories.

Their sets hold the categories themselves, or their positions in the lists of
``pandas_categorical``. Which columns these lists belong to, a data frame tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss.columns import containers
from skgoss.columns.categories import Categories, Vocabulary
from skgoss.columns.columns import Columns
from skgoss.columns.schema import ColumnSchema
from skgoss.distributed.collectives import ALONE, Collectives
from skgoss.model.category_sets import CategorySets, numbers_in
from skgoss.model.ensemble import Ensemble
from skgoss.model.file_header import Header
from skgoss.model.fitted import FittedModel
from skgoss.model.trees import CATEGORICAL
from skgoss.utils import sklearn_private
from skgoss.utils.plain_values import INT32_MAX


def encoded(
    model: FittedModel, X: Any, owner: str, collectives: Collectives = ALONE
) -> FittedModel:
    """A model of another library, with the numbers of categories that training uses.

    ``X`` is the training set, ``owner`` the name of the estimator for messages. By
    ``collectives`` each rank learns what the rows of the others hold.
    """
    trees, categories = _encoded(
        model.trees,
        model.header,
        model.categories,
        containers.columns_to_encode(X),
        containers.columns(X, model.schema, owner=owner, by_name=False),
        collectives,
    )
    schema = ColumnSchema(
        trees.n_features, sklearn_private.feature_names(X), categories
    )
    return replace(model, trees=trees, schema=schema)


def _encoded(
    ensemble: Ensemble,
    header: Header,
    categories: Categories,
    columns_to_encode: Sequence[int],
    columns: Columns,
    collectives: Collectives,
) -> tuple[Ensemble, Categories]:
    """The ensemble with other numbers, and the categories that have them.

    ``columns_to_encode`` are the columns of strings or categories among ``columns``,
    the training set's, in which the model's categories are numbers that pandas gave.
    ``header`` has what LightGBM saw of each column.
    """
    learned = Categories(set())
    if columns_to_encode:
        learned.vocabularies = {
            j: replace(words, is_ordered=header.feature_infos[j].startswith("["))
            for j, words in categories.assign_unplaced(
                columns_to_encode
            ).vocabularies.items()
        }
    arrays = ensemble.arrays
    node = np.flatnonzero(arrays["decision_type"] & CATEGORICAL)
    number = arrays["threshold"][node].astype(np.int64)
    sets = ensemble.sets.take(number)
    column = arrays["split_feature"][node]
    in_model = _whole_categories(header.feature_infos, sets, column)
    unplaced = sorted(in_model.keys() - learned.vocabularies.keys())
    in_rows = [_whole_numbers(columns.stored(j)) for j in unplaced]
    by_column = zip(*collectives.all_gather(in_rows), strict=True)
    numbers = {
        j: np.unique(np.concatenate([in_model[j], *by_rank]))
        for j, by_rank in zip(unplaced, by_column, strict=True)
    }
    learned.vocabularies |= {j: Vocabulary(n.tolist()) for j, n in numbers.items()}
    threshold = arrays["threshold"].copy()
    threshold[node] = np.arange(len(node))
    ensemble = replace(
        ensemble,
        arrays=arrays | {"threshold": threshold},
        sets=sets.mapped(
            column, {j: partial(numbers_in, values) for j, values in numbers.items()}
        ),
    )
    return ensemble, learned


def _whole_categories(
    infos: Sequence[str], sets: CategorySets, column: NDArray[np.int32]
) -> dict[int, NDArray[np.int64]]:
    """The categories of the columns that have any: those seen, and those in sets.

    ``infos`` are LightGBM's feature_infos, by column: '1:2:5' are categories that were
    seen. ``column`` is that of each set. The result has, by column, the categories in
    ascending order.
    """
    number, category = sets.members()
    categories = {j: category[column[number] == j] for j in np.unique(column).tolist()}
    for j, info in enumerate(infos):
        if info != "none" and not info.startswith("["):
            seen = np.array(info.split(":"), dtype=np.int64)
            categories[j] = np.append(categories.get(j, seen), seen)
    return {j: np.unique(words[words >= 0]) for j, words in categories.items()}


def _whole_numbers(stored: NDArray[Any]) -> NDArray[np.int64]:
    """The categories among the values of a column; 0 for what a sparse one omits."""
    whole = np.unique(stored[(stored >= 0) & (stored <= INT32_MAX)])
    return np.append(whole[whole == np.floor(whole)].astype(np.int64), 0)
