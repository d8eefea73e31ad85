"""Sets of categories: by number in an ensemble, by value in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from skgoss.model.ensemble import Ensemble
from skgoss.model.trees import CATEGORICAL, CategorySets
from skgoss.utils.plain_values import INT32_MAX

Ints = NDArray[np.int64]


def take(sets: CategorySets, numbers: Ints) -> CategorySets:
    """Some of the sets, in the order of their numbers in `numbers`."""
    first, size = sets.start[numbers], np.diff(sets.start)[numbers]
    start = np.concatenate([[0], np.cumsum(size)])
    place = np.arange(start[-1]) + np.repeat(first - start[:-1], size)
    return CategorySets(start, sets.words[place])


def map_categories(
    sets: CategorySets,
    column: NDArray[np.int32],
    mappings: Mapping[int, Callable[[Ints], Ints]],
) -> CategorySets:
    """Replace the categories in the sets of some columns.

    Parameters
    ----------
    sets : CategorySets
    column : ndarray of shape (n_sets,), int32
        The column of each set.
    mappings : mapping from int to callable
        For some columns, a function from categories to other categories, all different.
    """
    if not np.isin(column, list(mappings)).any():
        return sets
    owner, category = members(sets)
    size = np.diff(sets.start)
    for j, mapping in mappings.items():
        here = column[owner] == j
        category[here] = mapping(category[here])
        size[column == j] = 0
    np.maximum.at(size, owner, category // 32 + 1)
    start = np.concatenate([[0], np.cumsum(size)])
    words = np.zeros(start[-1], dtype=np.uint32)
    bit = np.uint32(1) << (category % 32).astype(np.uint32)
    np.bitwise_or.at(words, start[owner] + category // 32, bit)
    return CategorySets(start, words)


def members(sets: CategorySets) -> tuple[Ints, Ints]:
    """All members of all sets: the number of the set, and the category."""
    word = np.flatnonzero(sets.words)
    owner = np.searchsorted(sets.start, word, side="right") - 1
    row, bit = np.nonzero(_bits(sets.words[word]))
    return owner[row], 32 * (word - sets.start[owner])[row] + bit


def members_of(sets: CategorySets, number: int) -> Ints:
    """The categories in a set, ascending."""
    words = sets.words[sets.start[number] : sets.start[number + 1]]
    return np.flatnonzero(_bits(words))


def _bits(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The bits of words, a row of 32 for each, the lowest first."""
    bytes_ = words.astype("<u4").view(np.uint8)
    return np.unpackbits(bytes_, bitorder="little").reshape(-1, 32)


def check(
    ensemble: Ensemble, infos: Sequence[str], n_categories: Mapping[int, int]
) -> None:
    """Check that sets and ``feature_infos`` hold categories that their columns have.

    Parameters
    ----------
    ensemble : Ensemble
    infos : sequence of str
        The entries of ``feature_infos``.
    n_categories : mapping from int to int
        The number of categories of the columns that number them.

    Raises
    ------
    ValueError
        If they hold others.
    """
    if not n_categories:
        return
    known = np.full(ensemble.n_features, INT32_MAX + 1)
    known[list(n_categories)] = list(n_categories.values())
    node = np.flatnonzero(ensemble.arrays["decision_type"] & CATEGORICAL)
    number = ensemble.arrays["threshold"][node].astype(np.int64)
    owner, category = members(take(ensemble.sets, number))
    column = ensemble.arrays["split_feature"][node[owner]]
    for j, info in enumerate(infos):
        if j in n_categories and info != "none" and not info.startswith("["):
            numbers = np.array(info.split(":"), dtype=np.int64)
            column = np.append(column, np.full(len(numbers), j))
            category = np.append(category, numbers)
    wrong = category >= known[column]
    if wrong.any():
        at = int(wrong.argmax())
        raise ValueError(
            f"column {column[at]} has {known[column[at]]} categories, but a tree or"
            f" feature_infos holds the number {category[at]}"
        )
