"""Rows and what belongs to them, binned once for any number of fits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import InputTags, Tags, TargetTags, column_or_1d

from skgoss import _compat, parameters
from skgoss.data import frames, names, queries, targets
from skgoss.data.columns import Columns
from skgoss.data.dataset import BinnedDataset, DatasetOptions, DatasetSettings
from skgoss.training import constraints

# Options that a data set depends on. Changing the others does not change its bins.
OPTIONS = tuple(DatasetOptions.__dataclass_fields__)
_OF_BINS = (
    *("max_bin", "max_bin_by_feature", "min_data_in_bin", "subsample_for_bin"),
    *("use_missing", "zero_as_missing", "max_conflict_rate"),
)


class Prepared(NamedTuple):
    """The rows of a `Dataset`, ready for a fit.

    Attributes
    ----------
    columns : Columns or None
        The values; None if they were freed.
    numbers : ndarray of int64, or None
        The rows of ``columns``; None: all.
    binned : BinnedDataset or None
        The bins of these rows; None: they are not known yet.
    """

    columns: Columns | None
    numbers: NDArray[np.int64] | None
    binned: BinnedDataset | None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.columns.n_rows if self.binned is None else self.binned.n_rows


class Dataset:
    """Rows with labels and weights, binned once for any number of fits.

    Parameters
    ----------
    data : array-like or data frame of shape (n_samples, n_features)
        All containers that the estimators take.
    label : array-like of shape (n_samples,), default=None
        The target.
    reference : Dataset, default=None
        A training set whose bins, names and categories these rows share, for
        evaluation sets.
    weight : array-like of shape (n_samples,), default=None
        Weights of the rows.
    group : array-like of shape (n_queries,), default=None
        Sizes of the queries, whose rows are consecutive.
    init_score : array-like of shape (n_samples,) or (n_samples, n_scores), \
            default=None
        Raw scores to start from.
    feature_name : 'auto' or list of str, default='auto'
        Names of the columns; 'auto': those of a data frame.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The columns that hold categories; 'auto': strings and categories of data
        frames.
    params : dict, default=None
        Options by any of their names. Those of binning, such as ``max_bin``, are used
        if `train` is given no others.
    free_raw_data : bool, default=True
        Whether ``data`` is forgotten once it is binned.
    position : array-like of shape (n_samples,), default=None
        Has no effect.
    """

    def __init__(
        self,
        data: Any,
        label: ArrayLike | None = None,
        reference: Dataset | None = None,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        feature_name: str | Sequence[str] = "auto",
        categorical_feature: str | Iterable[str | int] = "auto",
        params: Mapping[str, Any] | None = None,
        free_raw_data: bool = True,
        position: ArrayLike | None = None,
    ) -> None:
        if reference is not None and not isinstance(reference, Dataset):
            raise TypeError(
                f"reference must be a Dataset, got {type(reference).__name__}."
            )
        self.data = data
        self.reference = reference
        self.params = dict(params or {})
        self.free_raw_data = free_raw_data
        self.used_indices: NDArray[np.int64] | None = None
        self.position = position
        self.set_label(label)
        self.set_weight(weight)
        self.set_group(group)
        self.set_init_score(init_score)
        self.set_feature_name(feature_name)
        self.set_categorical_feature(categorical_feature)
        self._prepared: Prepared | None = None

    def __sklearn_tags__(self) -> Tags:
        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(sparse=True, allow_nan=True),
        )

    # --- What belongs to the rows -----------------------------------------------------

    def set_label(self, label: ArrayLike | None) -> Self:
        """Set the target; None: none."""
        self.label = None if label is None else column_or_1d(np.asarray(label))
        return self

    def set_weight(self, weight: ArrayLike | None) -> Self:
        """Set the weights of the rows; None: all are 1."""
        self.weight = None if weight is None else column_or_1d(np.asarray(weight))
        return self

    def set_group(self, group: ArrayLike | None) -> Self:
        """Set the sizes of the queries; None: there are none."""
        self.group = None if group is None else np.asarray(group)
        return self

    def set_init_score(self, init_score: ArrayLike | None) -> Self:
        """Set the raw scores to start from; None: the best constant."""
        self.init_score = None if init_score is None else np.asarray(init_score)
        return self

    def get_label(self) -> NDArray[Any] | None:
        """The target."""
        return self.label

    def get_weight(self) -> NDArray[Any] | None:
        """The weights of the rows."""
        return self.weight

    def get_group(self) -> NDArray[Any] | None:
        """The sizes of the queries."""
        return self.group

    def get_init_score(self) -> NDArray[Any] | None:
        """The raw scores to start from."""
        return self.init_score

    # --- Columns ----------------------------------------------------------------------

    def set_feature_name(self, feature_name: str | Sequence[str]) -> Self:
        """Set the names of the columns; 'auto': those of a data frame."""
        names.given(feature_name)
        self.feature_name = feature_name
        return self

    def set_categorical_feature(
        self, categorical_feature: str | Iterable[str | int]
    ) -> Self:
        """Set the columns that hold categories."""
        self.categorical_feature = parameters.checked_options(
            {"categorical_feature": categorical_feature},
            ["categorical_feature"],
            "Dataset",
        )["categorical_feature"]
        return self

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns, if they have any."""
        given = names.given(self.feature_name)
        return given or getattr(self._root, "feature_names_in_", None)

    def num_data(self) -> int:
        """Number of rows."""
        return self.construct()._prepared.binned.n_rows

    def num_feature(self) -> int:
        """Number of columns."""
        return self.construct()._prepared.binned.n_features

    def get_feature_name(self) -> list[str]:
        """Names of the columns."""
        self.construct()
        return list(self._names or names.default(self.num_feature()))

    # --- Rows of other sets -----------------------------------------------------------

    def create_valid(
        self,
        data: Any,
        label: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        group: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        params: Mapping[str, Any] | None = None,
        position: ArrayLike | None = None,
    ) -> Dataset:
        """Make an evaluation set, which shares the bins of this training set."""
        return Dataset(
            data,
            label,
            self,
            weight,
            group,
            init_score,
            params=params,
            free_raw_data=self.free_raw_data,
            position=position,
        )

    def set_reference(self, reference: Dataset) -> Self:
        """Set the training set whose bins these rows share."""
        if reference is not self.reference and reference is not self:
            if self._prepared is not None:
                self._check_raw("change its reference")
            self.reference, self._prepared = reference, None
        return self

    def subset(
        self, used_indices: ArrayLike, params: Mapping[str, Any] | None = None
    ) -> Dataset:
        """Some of the rows, in the bins of this data set.

        Parameters
        ----------
        used_indices : array-like of int
            The numbers of the rows.
        params : dict, default=None
            As in the constructor.

        Returns
        -------
        Dataset
        """
        at = np.unique(np.asarray(used_indices, dtype=np.int64))
        part = Dataset(
            None, reference=self, params=params, free_raw_data=self.free_raw_data
        )
        part.used_indices = at
        for field in ("label", "weight", "position"):
            values = getattr(self, field)
            setattr(part, field, None if values is None else values[at])
        if self.group is not None:
            part.group = queries.make(len(self.label), group=self.group).take(at).sizes
        if self.init_score is not None:
            by_row = self.init_score.reshape(len(self.label), -1, order="F")
            part.init_score = by_row[at]
        return part

    # --- Binning ----------------------------------------------------------------------

    def options_besides(self, asked: Collection[str]) -> dict[str, Any]:
        """The options of binning among ``params``, besides those of other names."""
        given = parameters.canonical(self._root.params, "Dataset")
        given = {name: value for name, value in given.items() if name in OPTIONS}
        given["categorical_feature"] = self._root.categorical_feature
        return {name: v for name, v in given.items() if name not in asked}

    def construct(self) -> Self:
        """Bin the rows, if they are not binned yet.

        Raises
        ------
        ValueError
            If the data, the weights or the options are not valid.
        """
        if self._prepared is None:
            options = parameters.checked_options(self.params, OPTIONS, "Dataset")
            self._prepare(DatasetOptions(**options), {}, _compat.n_threads(None))
        return self

    def _prepare(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        memory: Any = None,
        keep: bool = False,
    ) -> Prepared:
        """Bin the rows, unless they are binned as it is asked for.

        Parameters
        ----------
        options : object
            It has `OPTIONS` as attributes.
        asked : mapping
            Those of the options, by name, that a fit asks for. If the rows are binned
            already, the others need not be the same.
        n_threads : int
        memory : object, default=None
            Knows the names and the categories of columns; None: they are learned.
        keep : bool, default=False
            Whether fits need the values, besides the bins.

        Raises
        ------
        ValueError
            If the bins must change, but the data were freed.
        """
        if self.reference is not None:
            return self._share(options, asked, n_threads, memory, keep)
        if self._prepared is None or self._must_change(options, asked, memory):
            self._bin(DatasetOptions.of(options), n_threads, memory)
            self.params |= {name: asked[name] for name in asked if name in OPTIONS}
        prepared = self._prepared
        if self.free_raw_data and not keep:
            self._free()
        return prepared

    def _share(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        memory: Any,
        keep: bool,
    ) -> Prepared:
        """Put the rows into the bins of another data set."""
        base = self.reference._prepare(options, asked, n_threads, memory, keep)
        known = self._prepared
        if known is None or not known.binned.has_bins_of(base.binned):
            if self.used_indices is not None:
                at = self.used_indices
                numbers = at if base.numbers is None else base.numbers[at]
                self._prepared = Prepared(base.columns, numbers, base.binned.take(at))
            else:
                self._check_raw("bin the rows again, as their reference was")
                columns = self._read(self._root, learn=False)
                binned = base.binned.of_same_bins(columns, options, n_threads=n_threads)
                self._prepared = Prepared(columns, None, binned)
        prepared = self._prepared
        if self.free_raw_data and not keep:
            self._free()
        return prepared

    @property
    def _root(self) -> Dataset:
        """The data set whose bins, names and categories these rows share."""
        return self if self.reference is None else self.reference._root

    def _must_change(
        self, options: DatasetSettings, asked: Mapping[str, Any], memory: Any
    ) -> bool:
        changed = [
            name
            for name in _OF_BINS
            if name in asked and getattr(options, name) != getattr(self._options, name)
        ]
        if memory is not None and memory._categories is not self._categories:
            changed.append("init_model")
        if changed:
            self._check_raw(f"change {', '.join(changed)}")
        return bool(changed)

    def _check_raw(self, purpose: str) -> None:
        if self.data is None:
            raise ValueError(
                f"The Dataset cannot {purpose}: its data were freed after they were"
                " binned. Pass free_raw_data=False to the Dataset, or make a new one."
            )

    def _bin(self, options: DatasetOptions, n_threads: int, memory: Any) -> None:
        if memory is None:
            columns = self._read(self, learn=True)
        else:
            columns = self._read(memory, learn=False)
            take_columns(self, memory)
        most = constraints.by_column(
            options, "max_bin_by_feature", columns.n_features, self._names
        )
        options = replace(options, max_bin_by_feature=most)
        weight, existing = self.weight, None
        if weight is not None:
            weight = targets.weights(weight, None, np.empty(columns.n_rows), None)
        if weight is not None and not weight.all():
            existing = np.flatnonzero(weight)
        binned = BinnedDataset.build(
            columns, options, weight=weight, rows=existing, n_threads=n_threads
        )
        if existing is not None:
            binned = binned.of_same_bins(columns, options, n_threads=n_threads)
        self._options = options
        self._prepared = Prepared(columns, None, binned)

    def _read(self, memory: Any, *, learn: bool) -> Columns:
        return read(
            memory,
            self.data,
            names.given(self.feature_name),
            self.categorical_feature,
            learn=learn,
        )

    def _free(self) -> None:
        """Forget the values."""
        self.data = None
        self._prepared = self._prepared._replace(columns=None, numbers=None)


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
