"""Sets of categories that go left at categorical nodes, as strings of bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

SET_TYPES = {"start": np.int64, "words": np.uint32}


class CategorySets(NamedTuple):
    """Sets of categories, numbered from 0."""

    start: Ints  # (n_sets + 1,): where the words of each set begin
    # (start[-1],): category c is in the set when bit c % 32 of its word c // 32 is set.
    words: NDArray[np.uint32]

    def take(self, numbers: Ints) -> CategorySets:
        """The sets with these numbers, in this order."""
        first, size = self.start[numbers], np.diff(self.start)[numbers]
        start = np.concatenate([[0], np.cumsum(size)])
        index = np.arange(start[-1]) + np.repeat(first - start[:-1], size)
        return CategorySets(start, self.words[index])

    def categories(self, number: int) -> Ints:
        """The categories in a set, ascending."""
        return np.flatnonzero(
            _bits(self.words[self.start[number] : self.start[number + 1]])
        )

    def members(self) -> tuple[Ints, Ints]:
        """The members of all sets: for each, the number of the set and the category."""
        word = np.flatnonzero(self.words)
        number = np.searchsorted(self.start, word, side="right") - 1
        row, bit = np.nonzero(_bits(self.words[word]))
        return number[row], 32 * (word - self.start[number])[row] + bit

    def mapped(
        self, column: NDArray[np.int32], mappings: Mapping[int, Callable[[Ints], Ints]]
    ) -> CategorySets:
        """The sets with other numbers of categories in some columns.

        ``column``, (n_sets,), is the column whose node has each set. ``mappings`` has a
        function for some columns: from an array of categories to their new numbers,
        which must be different. Files number categories by value, models by rank.
        """
        if not np.isin(column, list(mappings)).any():
            return self
        number, category = self.members()
        size = np.diff(self.start)
        for j, mapping in mappings.items():
            here = column[number] == j
            category[here] = mapping(category[here])
            size[column == j] = 0
        np.maximum.at(size, number, category // 32 + 1)
        start = np.concatenate([[0], np.cumsum(size)])
        words = np.zeros(start[-1], dtype=np.uint32)
        bit = np.uint32(1) << (category % 32).astype(np.uint32)
        np.bitwise_or.at(words, start[number] + category // 32, bit)
        return CategorySets(start, words)


NO_SETS = CategorySets(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint32))


def numbers_in(categories: Ints, values: Ints) -> Ints:
    """The index of each value among ascending categories; ValueError if one is not."""
    number = np.searchsorted(categories, values)
    # The last index is for values above all categories.
    missing = np.append(categories, -1)[number] != values
    if missing.any():
        raise ValueError(f"the category {values[missing][0]} is not among the values")
    return number


def _bits(words: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """The bits of words, a row of 32 for each, the lowest first."""
    bytes_ = words.astype("<u4").view(np.uint8)
    return np.unpackbits(bytes_, bitorder="little").reshape(-1, 32)
