"""Splitters of searches: folds that test later rows than they train on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.model_selection import GroupKFold

from skgoss.fit import splits


class FoldsByTime(GroupKFold):
    """A splitter that tests later rows than it trains on, of other groups.

    It is a ``GroupKFold`` because scikit-learn passes ``groups`` to these.
    """

    def __init__(self, n_splits: int, time: Any) -> None:
        super().__init__(n_splits)
        self.time = time

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        """The numbers of the training and of the test rows of each fold."""
        time = splits.checked_times(self.time, len(y))
        groups = splits.checked_groups(groups, len(y))
        pairs = splits.by_time(self.n_splits, time, groups, f"cv={self.n_splits}")
        return iter(pairs)
