"""How the bins of a `Dataset` are found, and when they must be found anew."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss.data import frames, names
from skgoss.data.columns import Columns
from skgoss.data.dataset import BinnedDataset, DatasetOptions
from skgoss.training import constraints

OPTIONS = tuple(DatasetOptions.__dataclass_fields__)
# Other values give other bins, but for `min_child_samples` and the seed.
_OF_BINS = (
    *("max_bin", "max_bin_by_feature", "min_data_in_bin", "subsample_for_bin"),
    *("use_missing", "zero_as_missing", "max_conflict_rate"),
)


class TrainingSet:
    """The names and the categories of the columns, as estimators know theirs."""

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )


@dataclass(frozen=True)
class Known:
    """What bins were found by.

    Attributes
    ----------
    options : DatasetOptions
        With one value for each column where there are any.
    categorical : 'auto', None or list of str and int
        The option `categorical_feature`.
    columns : TrainingSet
    names : sequence of str, or None
    """

    options: DatasetOptions
    categorical: Any
    columns: TrainingSet
    names: Sequence[str] | None

    def has_categorical(self, categorical: Any) -> bool:
        """Whether an option says that the same columns hold categories."""
        given = [
            names.numbered(value, self.names)
            for value in (categorical, self.categorical)
        ]
        if all(isinstance(value, list) for value in given):
            return set(given[0]) == set(given[1])
        return given[0] == given[1]

    def has_categories(self, memory: Any) -> bool:
        """Whether another object knows the same categories."""
        own, others = self.columns._categories, memory._categories
        return own is others or own.__getstate__() == others.__getstate__()

    def changes(
        self,
        binned: BinnedDataset,
        options: DatasetOptions,
        asked: Collection[str],
        categorical: Any,
        memory: Any,
    ) -> list[str]:
        """What must change in bins for a fit, in words.

        Parameters
        ----------
        binned : BinnedDataset
        options : DatasetOptions
        asked : collection of str
            The options that the fit asks for. The others need not be the same.
        categorical : 'auto', None or list of str and int
        memory : object or None
            Knows the categories that the fit needs; None: it learns them.

        Returns
        -------
        list of str
            Empty if the bins can be used.
        """
        old, new = self.options, by_column(options, binned.n_features, self.names)
        changed = [
            (name, getattr(old, name), getattr(new, name))
            for name in _OF_BINS
            if name in asked and getattr(old, name) != getattr(new, name)
        ]
        least = new.min_child_samples
        # Columns were left out in which more rows than these are not zero.
        is_less = least < old.min_child_samples and least <= binned.filtered_rows
        if "min_child_samples" in asked and is_less:
            changed.append(("min_child_samples", old.min_child_samples, least))
        if not self.has_categorical(categorical):
            changed.append(("categorical_feature", self.categorical, categorical))
        words = [f"change {name} from {a!r} to {b!r}" for name, a, b in changed]
        if memory is not None and not self.has_categories(memory):
            words.append("take the categories of init_model")
        return words


def by_column(
    options: DatasetOptions, n_features: int, known: Sequence[str] | None
) -> DatasetOptions:
    """Options with one value for each column where they are given by name."""
    most = constraints.by_column(options, "max_bin_by_feature", n_features, known)
    return replace(options, max_bin_by_feature=most)


def find(
    X: Any,
    weight: NDArray[np.float64] | None,
    options: DatasetOptions,
    given_names: Sequence[str] | None,
    categorical: Any,
    memory: Any,
    n_threads: int,
) -> tuple[BinnedDataset, Known]:
    """Find bins, and put the rows into them.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,), or None
        Bins are found by weight; rows of weight 0 do not count.
    options : DatasetOptions
    given_names : list of str, or None
        Names of the columns; None: those of ``X``.
    categorical : 'auto', None or list of str and int
    memory : object or None
        Knows the names and the categories of columns; None: they are learned.
    n_threads : int

    Returns
    -------
    binned : BinnedDataset
    known : Known
    """
    columns = TrainingSet()
    if memory is not None:
        take_columns(columns, memory)
    values = read(columns, X, given_names, categorical, learn=memory is None)
    if weight is not None and len(weight) != values.n_rows:
        raise ValueError(
            f"weight must have one value for each of the {values.n_rows} rows, got"
            f" {len(weight)}."
        )
    known = given_names or getattr(columns, "feature_names_in_", None)
    options = by_column(options, values.n_features, known)
    existing = None
    if weight is not None and not weight.all():
        existing = np.flatnonzero(weight)
    binned = BinnedDataset.build(
        values, options, weight=weight, rows=existing, n_threads=n_threads
    )
    if existing is not None:
        binned = binned.of_same_bins(values, options, n_threads=n_threads)
    return binned, Known(options, categorical, columns, known)


def read(
    memory: Any,
    X: Any,
    given_names: Sequence[str] | None,
    categorical_feature: Any,
    *,
    learn: bool,
) -> Columns:
    """Read the columns of a training set.

    Parameters
    ----------
    memory : object
        It gets the names and the categories of columns if ``learn``, else it has them.
    X : array-like or data frame of shape (n_samples, n_features)
    given_names : list of str, or None
        Names of the columns; None: those of ``X``.
    categorical_feature : 'auto', None or list of str and int
    learn : bool

    Raises
    ------
    ValueError
        If the data are not valid, or columns are not those that ``memory`` has.
    """
    columns = frames.columns(
        memory,
        X,
        reset=learn,
        categorical_feature=names.numbered(categorical_feature, given_names),
    )
    if given_names is not None:
        names.check(given_names, columns.n_features)
    return columns


def take_columns(owner: Any, memory: Any) -> None:
    """Give an object the number, names and categories of columns of another one."""
    for name in ("n_features_in_", "feature_names_in_", "_categories"):
        vars(owner).pop(name, None)
        if hasattr(memory, name):
            setattr(owner, name, getattr(memory, name))
