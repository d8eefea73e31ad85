"""How and when the rows of a `Dataset` are binned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import InputTags, Tags, TargetTags

from skgoss import parameters
from skgoss.data import frames, input_rows, names
from skgoss.data.categories import Categories
from skgoss.data.columns import Columns
from skgoss.data.dataset import BinnedDataset, DatasetOptions, DatasetSettings
from skgoss.dataset.fields import Fields
from skgoss.training import constraints
from skgoss.utils.locks import Lock

OPTIONS = tuple(DatasetOptions.__dataclass_fields__)
# Other values give other bins, but for `min_child_samples` and the seed.
_OF_BINS = (
    *("max_bin", "max_bin_by_feature", "min_data_in_bin", "subsample_for_bin"),
    *("use_missing", "zero_as_missing", "max_conflict_rate"),
)


class Reference:
    """The names and the categories of the columns, as estimators know theirs."""

    _categories: Categories

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )


# scikit-learn's messages name the class: "... is required by Dataset".
Reference.__name__ = "Dataset"


@dataclass(frozen=True)
class FoundBy:
    """What bins were found by.

    Attributes
    ----------
    options : DatasetOptions
        With one value for each column where there are any.
    categorical : 'auto', None or list of str and int
        The option `categorical_feature`.
    columns : Reference
    names : list of str, or None
    """

    options: DatasetOptions
    categorical: Any
    columns: Reference
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
) -> tuple[BinnedDataset, FoundBy]:
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
    known : FoundBy
    """
    columns = Reference()
    if memory is not None:
        take_columns(columns, memory)
    values = read(columns, X, given_names, categorical, learn=memory is None)
    if weight is not None and len(weight) != values.n_rows:
        raise ValueError(
            f"weight must have one value for each of the {values.n_rows} rows, got"
            f" {len(weight)}."
        )
    known = given_names
    if known is None and hasattr(columns, "feature_names_in_"):
        known = columns.feature_names_in_.tolist()
    options = by_column(options, values.n_features, known)
    existing = None
    if weight is not None and not weight.all():
        existing = np.flatnonzero(weight)
    binned = BinnedDataset.build(
        values, options, weight=weight, rows=existing, n_threads=n_threads
    )
    if existing is not None:
        binned = binned.of_same_bins(values, options, n_threads=n_threads)
    return binned, FoundBy(options, categorical, columns, known)


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


class Prepared(NamedTuple):
    """The rows of a `Dataset`, ready for a fit.

    Attributes
    ----------
    columns : Columns or None
        The values; None: the fit needs none.
    numbers : ndarray of int64, or None
        The rows of ``columns``; None: all.
    binned : BinnedDataset or None
        The bins of these rows; None: they are not known yet.
    memory : object or None
        Knows the names and the categories of the columns that the bins are of.
    """

    columns: Columns | None
    numbers: NDArray[np.int64] | None = None
    binned: BinnedDataset | None = None
    memory: Any = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.columns.n_rows if self.binned is None else self.binned.n_rows


class Binning(Fields):
    """The rows of a `Dataset` in bins: its own, or those of its reference.

    Attributes
    ----------
    data : object
        None: there are none any more.
    reference : Dataset or None
    used_indices : ndarray of int64, or None
        The rows of ``reference`` that these are.
    free_raw_data : bool
    feature_name, categorical_feature, params : object
        As in the constructor of `Dataset`.
    """

    data: Any
    reference: Binning | None
    used_indices: NDArray[np.int64] | None
    free_raw_data: bool
    feature_name: str | Sequence[str]
    categorical_feature: Any
    params: dict[str, Any]
    _lock: Lock
    _binned: BinnedDataset | None = None
    _found_by: FoundBy | None = None
    _keeps_values: bool = False

    @property
    def _root(self) -> Binning:
        """The data set whose bins, names and categories these rows share."""
        return self if self.reference is None else self.reference._root

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns, if they have any."""
        own, others = (names.given(rows.feature_name) for rows in (self, self._root))
        known = self._root._found_by
        return own or others or (None if known is None else known.names)

    @property
    def _memory(self) -> Any:
        """What is known of the columns; None: nothing yet."""
        known = self._root._found_by
        return None if known is None else known.columns

    @property
    def _shape(self) -> tuple[int | None, int | None]:
        """The numbers of rows and columns, as far as they are known."""
        if self._binned is not None:
            return self._binned.n_rows, self._binned.n_features
        if self.used_indices is not None:
            return len(self.used_indices), self.reference._shape[1]
        return input_rows.shape(self.data)

    def _prepare(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        memory: Any = None,
        needs_values_for: str = "",
    ) -> Prepared:
        """Bin the rows, unless they are binned as it is asked for.

        Parameters
        ----------
        options : object
            It has the options of binning as attributes, and `categorical_feature` if
            the columns that hold categories may be others.
        asked : mapping
            Those of the options, by name, that a fit asks for. If the rows are binned
            already, the others need not be the same.
        n_threads : int
        memory : object, default=None
            Knows the names and the categories of columns; None: they are learned.
        needs_values_for : str, default=""
            The argument for which the fit needs the values besides the bins, such as
            'linear_tree'. Then the data are kept. "": it needs the bins alone.

        Raises
        ------
        ValueError
            If the bins must change, or the values are needed, but the data were freed.
        """
        with self._lock:
            self._load()
            if self.reference is None:
                self._bin_as_asked(options, asked, n_threads, memory)
                memory = self._memory
            else:
                memory = self._share(
                    options, asked, n_threads, memory, needs_values_for
                )
            self._keeps_values = self._keeps_values or bool(needs_values_for)
            columns, numbers = (
                self._values(needs_values_for, memory)
                if needs_values_for
                else (None, None)
            )
            if self.free_raw_data and not self._keeps_values:
                self.data = None
            return Prepared(columns, numbers, self._binned, memory)

    def _share(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        memory: Any,
        needs_values_for: str,
    ) -> Any:
        """Put the rows into the bins of another data set; return its memory.

        Other threads may change that data set as soon as it is prepared.
        """
        rows = self.used_indices
        *_, base, memory = self.reference._prepare(
            options, asked, n_threads, memory, "" if rows is None else needs_values_for
        )
        if self._fits(base, memory):
            return memory
        if rows is not None:
            self._binned = base.take(rows, n_threads)
            return memory
        if self._binned is not None:
            self._check_raw("get the new bins of its reference")
        columns = self._shared_columns(memory)
        self._binned = base.of_same_bins(columns, options, n_threads=n_threads)
        self._found_by = None
        return memory

    def _fits(self, binned: BinnedDataset | None, memory: Any) -> bool:
        """Whether the rows are in the bins, and categories, of another set already."""
        if self._binned is None or binned is None or memory is None:
            return False
        if not self._binned.has_bins_of(binned):
            return False
        return self._found_by is None or self._found_by.has_categories(memory)

    def _shared_columns(self, memory: Any) -> Columns:
        """The columns, which must be those of the reference."""
        given, known = names.given(self.feature_name), self._root._names
        try:
            columns = self._read(memory)
            if given is not None and known is not None and given != list(known):
                raise ValueError(f"feature_name is {given}, but it has {list(known)}.")
        except ValueError as error:
            raise ValueError(
                f"The Dataset does not fit its reference: {error}"
            ) from error
        return columns

    def _bin_as_asked(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        memory: Any,
    ) -> None:
        categorical = getattr(options, "categorical_feature", self.categorical_feature)
        chosen = DatasetOptions.of(options)
        if "min_child_samples" not in asked:
            given = parameters.checked_options(
                self.params, ["min_child_samples"], "Dataset"
            )
            chosen = replace(chosen, **given)
        if self._binned is not None:
            changes = self._found_by.changes(
                self._binned, chosen, asked, categorical, memory
            )
            if not changes:
                return
            self._check_raw(" and ".join(changes))
        self._binned, self._found_by = find(
            self._given_data(),
            self.weight,
            chosen,
            names.given(self.feature_name),
            categorical,
            memory,
            n_threads,
        )
        self.categorical_feature = categorical
        self.params |= {name: asked[name] for name in asked if name in OPTIONS}

    def _values(
        self, needed: str, memory: Any
    ) -> tuple[Columns, NDArray[np.int64] | None]:
        """The columns, and the numbers of the rows in them; None: all."""
        if self.used_indices is None:
            self._check_raw(f"be used with {needed}")
            return self._read(memory), None
        columns, numbers = self.reference._values(needed, memory)
        at = self.used_indices
        return columns, at if numbers is None else numbers[at]

    def _read(self, memory: Any) -> Columns:
        """Read the columns, with the names and categories that are known."""
        root = self._root
        return read(
            memory,
            self._given_data(),
            names.given(self.feature_name),
            root.categorical_feature,
            learn=False,
        )

    def _given_data(self) -> Any:
        if self.data is None:
            raise TypeError("data must not be None: a Dataset needs rows.")
        return input_rows.named(self.data)

    def _check_raw(self, purpose: str) -> None:
        """Check that the data are still there."""
        if self.data is None:
            raise ValueError(
                f"The Dataset cannot {purpose}: its data were freed after they were"
                " binned. Pass free_raw_data=False to the Dataset, or make a new one."
            )
