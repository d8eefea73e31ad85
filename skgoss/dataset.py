"""Rows and what belongs to them, binned once for any number of fits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from types import NoneType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse

from skgoss import _compat, dataset_bins, dataset_fields, dataset_state, parameters
from skgoss._messages import type_name
from skgoss.data import binary, binned_state, names, raw, text_files
from skgoss.data.columns import Columns
from skgoss.data.dataset import BinnedDataset, DatasetOptions, DatasetSettings
from skgoss.data.state import entries
from skgoss.dataset_bins import OPTIONS, Known
from skgoss.dataset_fields import CHECKS, Field
from skgoss.locks import Lock

# Options that a fit takes from a data set if it is given no others.
_INHERITED = ({*OPTIONS} - {"min_child_samples"}) | {"linear_tree"}
# Names that only `train` knows.
_OF_TRAIN = ("num_class", "num_classes")
# What a state must hold besides the fields.
_STATE = {
    "_binned": (dict, NoneType),
    "_known": (dict, NoneType),
    "used_indices": (np.ndarray, NoneType),
    "params": dict,
    **dict.fromkeys(CHECKS, (np.ndarray, NoneType)),
}


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

    `train` takes data sets, and so does ``fit`` of the estimators, in place of ``X``
    and ``y`` and for evaluation sets. Nothing is read or binned before it is needed.
    The bins are found by the options of the first fit. A fit that asks for other ones
    finds them anew if ``data`` is still there, and raises ValueError otherwise. Options
    of trees change no bins.

    Parameters
    ----------
    data : array-like, data frame or sparse matrix of shape (n_samples, n_features)
        All containers that the estimators take. A list of arrays of two dimensions
        holds chunks of rows.
    label : array-like of shape (n_samples,), default=None
        The target: numbers, or labels of classes for a classifier.
    reference : Dataset, default=None
        A training set whose bins, names and categories these rows share, for
        evaluation sets. An evaluation set without a reference gets the training set.
    weight : array-like of shape (n_samples,), default=None
        Weights of the rows, which are at least 0. Bins are found by weight.
    group : array-like of shape (n_queries,), default=None
        Sizes of the queries, whose rows are consecutive.
    init_score : array-like of shape (n_samples,) or (n_samples, n_classes), \
            default=None
        Raw scores to start from. In one dimension, those of all rows for the first
        class come first.
    feature_name : 'auto' or list of str, default='auto'
        Names of the columns; 'auto': those of a data frame.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The columns that hold categories; 'auto': strings and categories of data
        frames.
    params : dict, default=None
        Options by any of their names. Those of binning, such as ``max_bin``, and
        ``linear_tree`` are used where a fit is given no others; options of trees are
        not used. A data set with a reference has the options of the reference.
    free_raw_data : bool, default=True
        Whether ``data`` is forgotten when it is binned. It is kept anyway if a fit, or
        ``params``, asks for linear trees or an earlier model, which need values.
    position : array-like of shape (n_samples,), default=None
        Positions of documents, which have no effect.

    Attributes
    ----------
    label, weight, group, init_score, position : ndarray or None
        What belongs to the rows, in arrays that cannot be written to. Other values may
        be assigned at any time; fits use them without binning anew.
    used_indices : ndarray of int64, or None
        The rows of ``reference`` that a subset has; None: this is no subset.

    Raises
    ------
    TypeError, ValueError
        If an argument is not valid.

    Notes
    -----
    Several threads may use a data set at once. Weights that are set when the rows have
    been binned do not change the bins.
    """

    label = Field(CHECKS["label"])
    weight = Field(CHECKS["weight"])
    group = Field(CHECKS["group"])
    init_score = Field(CHECKS["init_score"])
    position = Field(CHECKS["position"])

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
        self._lock = Lock()
        self._binned: BinnedDataset | None = None
        self._known: Known | None = None
        self._keeps_values = False
        self.data = data
        self.reference = None
        self.used_indices: NDArray[np.int64] | None = None
        self.free_raw_data = free_raw_data
        self._file_options, given = parameters.file_options(
            _checked_params(params), "Dataset"
        )
        self.params = parameters.by_name(given, "Dataset", _OF_TRAIN)
        if reference is not None:
            self.set_reference(reference)
        self.label = label
        self.weight = weight
        self.group = group
        self.init_score = init_score
        self.position = position
        self.set_feature_name(feature_name)
        self.categorical_feature = _checked_categories(categorical_feature)

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise TypeError(
            "A Dataset is not an array: predictions, searches and cross-validation need"
            " the rows themselves."
        )

    # --- What belongs to the rows -----------------------------------------------------

    def set_label(self, label: ArrayLike | None) -> Self:
        """Set the target; None: none."""
        return self.set_field("label", label)

    def set_weight(self, weight: ArrayLike | None) -> Self:
        """Set the weights of the rows; None: all are 1."""
        return self.set_field("weight", weight)

    def set_group(self, group: ArrayLike | None) -> Self:
        """Set the sizes of the queries; None: there are none."""
        return self.set_field("group", group)

    def set_init_score(self, init_score: ArrayLike | None) -> Self:
        """Set the raw scores to start from; None: the best constant."""
        return self.set_field("init_score", init_score)

    def set_position(self, position: ArrayLike | None) -> Self:
        """Set the positions of documents, which have no effect."""
        return self.set_field("position", position)

    def set_field(self, field_name: str, data: ArrayLike | None) -> Self:
        """Set what belongs to the rows.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
        data : array-like or None
            As in the constructor. None: there is nothing.

        Raises
        ------
        ValueError
            If there is no such field, or the values are not valid.
        """
        setattr(self, dataset_fields.canonical(field_name), data)
        return self

    def get_label(self) -> NDArray[Any] | None:
        """Return the target, an array of float64 if it holds numbers; or None."""
        label = self._copy("label")
        is_number = label is not None and label.dtype.kind in "biuf"
        return label.astype(np.float64) if is_number else label

    def get_weight(self) -> NDArray[np.float64] | None:
        """Return the weights of the rows; None: all are 1."""
        return self._copy("weight")

    def get_group(self) -> NDArray[np.int64] | None:
        """Return the sizes of the queries; None: there are none."""
        return self._copy("group")

    def get_init_score(self) -> NDArray[np.float64] | None:
        """Return the raw scores to start from, as they were given; or None."""
        return self._copy("init_score")

    def get_position(self) -> NDArray[Any] | None:
        """Return the positions of documents; or None."""
        return self._copy("position")

    def get_field(self, field_name: str) -> NDArray[Any] | None:
        """Return what belongs to the rows.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}

        Returns
        -------
        ndarray or None
            For 'group', the number of the first row of each query, and the number of
            rows.

        Raises
        ------
        ValueError
            If there is no such field.
        """
        name = dataset_fields.canonical(field_name)
        held = getattr(self, f"get_{name}")()
        if name == "group" and held is not None:
            return np.concatenate([[0], np.cumsum(held)])
        return held

    def _copy(self, name: str) -> NDArray[Any] | None:
        held = getattr(self._load(), name)
        return None if held is None else held.copy()

    # --- Columns ----------------------------------------------------------------------

    def set_feature_name(self, feature_name: str | Sequence[str]) -> Self:
        """Set the names of the columns; 'auto': those of a data frame.

        Raises
        ------
        TypeError, ValueError
            If there is not one name for each column.
        """
        given = names.given(feature_name)
        n_features = self._shape[1]
        if given is not None and n_features is not None:
            names.check(given, n_features)
        self.feature_name = feature_name if given is None else given
        return self

    def set_categorical_feature(
        self, categorical_feature: str | Iterable[str | int]
    ) -> Self:
        """Set the columns that hold categories.

        Rows that are binned with other columns are binned again.

        Raises
        ------
        ValueError
            If the rows would be binned again, but the data were freed.
        """
        wanted = _checked_categories(categorical_feature)
        with self._lock:
            known = self._known
            if known is not None and not known.has_categorical(wanted):
                self._check_raw(
                    f"change categorical_feature from {known.categorical!r} to"
                    f" {wanted!r}"
                )
                self._binned = self._known = None
            self.categorical_feature = wanted
        return self

    @property
    def _names(self) -> list[str] | None:
        """The names of the columns, if they have any."""
        given = names.given(self.feature_name) or names.given(self._root.feature_name)
        known = getattr(self._memory, "feature_names_in_", None)
        return given or (known if known is None else [*known])

    @property
    def _memory(self) -> Any:
        """What is known of the columns; None: nothing yet."""
        known = self._root._known
        return None if known is None else known.columns

    @property
    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in CHECKS}

    @property
    def _shape(self) -> tuple[int | None, int | None]:
        """The numbers of rows and columns, as far as they are known."""
        if self._binned is not None:
            return self._binned.n_rows, self._binned.n_features
        if self.used_indices is not None:
            return len(self.used_indices), self.reference._shape[1]
        return raw.shape(self.data)

    def num_data(self) -> int:
        """Return the number of rows."""
        known = self._load()._shape[0]
        return self.construct()._shape[0] if known is None else known

    def num_feature(self) -> int:
        """Return the number of columns."""
        known = self._load()._shape[1]
        return self.construct()._shape[1] if known is None else known

    def get_feature_name(self) -> list[str]:
        """Return the names of the columns; 'Column_0' and so on if they have none."""
        self.construct()
        return list(map(str, self._names or names.default(self.num_feature())))

    def feature_num_bin(self, feature: int | str) -> int:
        """Return the number of bins of a column.

        Parameters
        ----------
        feature : int or str
            Its number or name.

        Returns
        -------
        int
            0 if the column cannot be split: its values fall into one bin.

        Raises
        ------
        ValueError
            If there is no such column.
        """
        known = self.get_feature_name()
        column = known.index(feature) if feature in known else feature
        if column not in range(len(known)):
            raise ValueError(
                f"feature must be a number from 0 to {len(known) - 1} or the name of a"
                f" column, got {feature!r}."
            )
        mapper = self._binned.mappers[column]
        return 0 if mapper.is_trivial else int(mapper.n_bins)

    def get_data(self) -> Any:
        """Return the data as they were given; of a subset, its rows.

        Raises
        ------
        ValueError
            If the data were freed.
        """
        if self.used_indices is not None:
            return raw.take(self.reference.get_data(), self.used_indices)
        self._check_raw("return its data")
        return self.data

    def get_params(self) -> dict[str, Any]:
        """Return the options of binning among ``params``, by their main names."""
        given = parameters.canonical(self.params, "Dataset")
        known = DatasetOptions.__dataclass_fields__.keys() | {"linear_tree"}
        return {name: value for name, value in given.items() if name in known}

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
        """Make an evaluation set, which shares the bins of this training set.

        Parameters
        ----------
        data, label, weight, group, init_score, params, position : object
            As in the constructor.

        Returns
        -------
        Dataset
        """
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
        """Set the training set whose bins these rows share.

        Raises
        ------
        TypeError
            If it is not a Dataset.
        ValueError
            If it shares the bins of this one, or if the rows have other bins and the
            data were freed.
        """
        if not isinstance(reference, Dataset):
            raise TypeError(f"reference must be a Dataset, got {type_name(reference)}.")
        with self._lock:
            if reference is self or reference is self.reference:
                return self
            if self in reference.get_ref_chain():
                raise ValueError("reference must not share the bins of this Dataset.")
            if self.used_indices is not None:
                self.data, self.used_indices = self.get_data(), None
            if not self._fits(reference):
                if self._binned is not None:
                    self._check_raw("change its reference")
                self._binned = self._known = None
            self.reference = reference
        return self

    def get_ref_chain(self, ref_limit: int = 100) -> set[Dataset]:
        """Return this data set, its reference, the reference of that one, and so on.

        Parameters
        ----------
        ref_limit : int, default=100
            The maximum number of data sets.

        Returns
        -------
        set of Dataset
        """
        chain, last = set(), self
        while last is not None and len(chain) < ref_limit:
            chain.add(last)
            last = last.reference
        return chain

    @property
    def _root(self) -> Dataset:
        """The data set whose bins, names and categories these rows share."""
        return self if self.reference is None else self.reference._root

    def subset(
        self, used_indices: ArrayLike, params: Mapping[str, Any] | None = None
    ) -> Dataset:
        """Take some of the rows, in the bins of this data set.

        Parameters
        ----------
        used_indices : array-like of int, or of bool of shape (n_samples,)
            The numbers of the rows, or which rows to take. They are taken in ascending
            order.
        params : dict, default=None
            As in the constructor.

        Returns
        -------
        Dataset
            It has what belongs to the rows. Queries of which only some rows are taken
            become shorter.

        Raises
        ------
        ValueError
            If there are no rows, or one of them does not exist or comes twice.
        """
        n_rows = self.num_data()
        rows = dataset_fields.row_numbers(used_indices, n_rows)
        part = Dataset(
            None, reference=self, params=params, free_raw_data=self.free_raw_data
        )
        part.used_indices = rows
        vars(part).update(dataset_fields.taken(self._fields, rows, n_rows))
        return part

    # --- Other columns, files, pickles ------------------------------------------------

    def add_features_from(self, other: Dataset) -> Self:
        """Add the columns of another data set with the same rows.

        What belongs to the rows stays as it is. The values of both are forgotten here:
        fits cannot ask for other bins or linear trees. A name of ``other`` that is
        there already gets the prefix 'D2_'.

        Parameters
        ----------
        other : Dataset
            It is not changed.

        Raises
        ------
        TypeError
            If ``other`` is not a Dataset.
        ValueError
            If it has another number of rows, or if one of both has a reference.
        """
        if not isinstance(other, Dataset):
            raise TypeError(f"other must be a Dataset, got {type_name(other)}.")
        if self.reference is not None or other.reference is not None:
            raise ValueError(
                "Columns cannot be added to, or from, a Dataset with a reference. Make"
                " it without one."
            )
        added = other.construct()._binned, other._known
        with self._lock:
            own = self.construct()._binned, self._known
            self._binned, self._known = dataset_state.joined(
                own, added, _compat.n_threads(None)
            )
            self.data = None
            self.feature_name = self._known.names or "auto"
            self.categorical_feature = self._known.categorical
        return self

    def save_binary(self, filename: str | PathLike[str]) -> Self:
        """Write the bins, and what belongs to the rows, to a file.

        ``Dataset(filename)`` reads it. The values are not in the file.

        Parameters
        ----------
        filename : str or path

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        binary.write(filename, self.construct()._binned, self._content())
        return self

    def _content(self) -> dict[str, Any]:
        """All besides the bins, without objects of skgoss."""
        return dataset_state.plain(self._root._known) | {
            "fields": self._fields,
            "params": self._root.get_params(),
        }

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = dict(vars(self))
        if self.used_indices is not None:
            state["_binned"] = None  # they are gathered again
        elif self._binned is not None:
            state["_binned"] = binned_state.state(self._binned)
        if self._known is not None:
            state["_known"] = dataset_state.plain(self._known)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        owner = "the state of Dataset"
        entries(state, _STATE, owner)
        vars(self).update(state)
        held = self._fields
        if self.used_indices is not None:
            n_rows = self.reference.num_data()
            self.used_indices = dataset_fields.row_numbers(self.used_indices, n_rows)
        if self._binned is not None:
            self._binned = binned_state.restored(self._binned)
        if self._known is not None:
            self._known = dataset_state.restored(self._known, self._binned, owner)
        dataset_fields.check(self._fields, self._shape[0])
        vars(self).update(
            {n: v if v is None else dataset_fields.frozen(v) for n, v in held.items()}
        )

    # --- Binning ----------------------------------------------------------------------

    def options_besides(self, asked: Collection[str]) -> dict[str, Any]:
        """The options that a fit takes from here, besides those of other names."""
        root = self._root._load()
        given = parameters.canonical(root.params, "Dataset")
        given = {name: value for name, value in given.items() if name in _INHERITED}
        given["categorical_feature"] = root.categorical_feature
        return {name: v for name, v in given.items() if name not in asked}

    def construct(self) -> Self:
        """Bin the rows, if they are not binned yet.

        Raises
        ------
        TypeError, ValueError
            If the data or the options are not valid. Then the data set is as before.
        """
        with self._lock:
            if self._binned is None:
                self._construct()
        return self

    def _construct(self) -> None:
        given = parameters.checked_options(
            self._root.params,
            (*DatasetOptions.__dataclass_fields__, "linear_tree", "n_jobs"),
            "Dataset",
        )
        linear, n_jobs = given.pop("linear_tree"), given.pop("n_jobs")
        self._prepare(
            DatasetOptions(**given), {}, _compat.n_threads(n_jobs), keep=linear
        )

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
            It has the options of binning as attributes, and `categorical_feature` if
            the columns that hold categories may be others.
        asked : mapping
            Those of the options, by name, that a fit asks for. If the rows are binned
            already, the others need not be the same.
        n_threads : int
        memory : object, default=None
            Knows the names and the categories of columns; None: they are learned.
        keep : bool, default=False
            Whether the fit needs the values, besides the bins.

        Raises
        ------
        ValueError
            If the bins must change, or the values are needed, but the data were freed.
        """
        with self._lock:
            self._load()
            if self.reference is None:
                self._bin_as_asked(options, asked, n_threads, memory)
            else:
                self._share(options, asked, n_threads, memory, keep)
            self._keeps_values = self._keeps_values or keep
            values = self._values() if keep else (None, None)
            if self.free_raw_data and not self._keeps_values:
                self.data = None
            return Prepared(*values, self._binned)

    def _share(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        memory: Any,
        keep: bool,
    ) -> None:
        """Put the rows into the bins of another data set."""
        is_subset = self.used_indices is not None
        base = self.reference._prepare(
            options, asked, n_threads, memory, keep and is_subset
        ).binned
        if self._fits(self.reference):
            return
        if is_subset:
            self._binned = base.take(self.used_indices, n_threads)
            return
        if self._binned is not None:
            self._check_raw("get the new bins of its reference")
        columns = self._shared_columns()
        self._binned = base.of_same_bins(columns, options, n_threads=n_threads)
        self._known = None

    def _fits(self, reference: Dataset) -> bool:
        """Whether the rows are in the bins of another data set already."""
        if None in (self._binned, reference._binned, reference._memory):
            return False
        if not self._binned.has_bins_of(reference._binned):
            return False
        return self._known is None or self._known.has_categories(reference._memory)

    def _shared_columns(self) -> Columns:
        """The columns, which must be those of the reference."""
        given, known = names.given(self.feature_name), self._root._names
        try:
            columns = self._read()
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
        if "min_child_samples" not in asked:
            given = parameters.checked_options(
                self.params, ["min_child_samples"], "Dataset"
            )
            options = replace(options, **given)
        options = DatasetOptions.of(options)
        if self._binned is not None:
            changes = self._known.changes(
                self._binned, options, asked, categorical, memory
            )
            if not changes:
                return
            self._check_raw(" and ".join(changes))
        self._binned, self._known = dataset_bins.find(
            self._given_data(),
            self.weight,
            options,
            names.given(self.feature_name),
            categorical,
            memory,
            n_threads,
        )
        self.categorical_feature = categorical
        self.params |= {name: asked[name] for name in asked if name in OPTIONS}

    def _values(self) -> tuple[Columns, NDArray[np.int64] | None]:
        """The columns, and the numbers of the rows in them; None: all."""
        if self.used_indices is None:
            self._check_raw("be used for linear trees or with init_model")
            return self._read(), None
        columns, numbers = self.reference._values()
        at = self.used_indices
        return columns, at if numbers is None else numbers[at]

    def _read(self) -> Columns:
        """Read the columns, with the names and categories that are known."""
        root = self._root
        return dataset_bins.read(
            root._memory,
            self._given_data(),
            names.given(self.feature_name),
            root.categorical_feature,
            learn=False,
        )

    def _load(self) -> Self:
        """Bring data into memory, as far as they are not there."""
        with self._lock:
            if isinstance(self.data, str | PathLike):
                self._read_file(self.data)
            loaded = raw.loaded(self.data)
            if loaded is not self.data:
                dataset_fields.check(self._fields, raw.shape(loaded)[0])
                self.data = loaded
        return self

    def _read_file(self, path: str | PathLike[str]) -> None:
        if binary.is_binary(path):
            self._read_binary(path)
            return
        text = text_files.read(path, self._file_options)
        found = self._completed(text._asdict(), text.data.shape[0])
        width = None if self.reference is None else self._root.num_feature()
        if issparse(text.data) and width is not None and text.data.shape[1] < width:
            text.data.resize(text.data.shape[0], width)
        if text.names is not None and self.feature_name == "auto":
            found["feature_name"] = text.names
        vars(self).update(found, data=text.data)

    def _read_binary(self, path: str | PathLike[str]) -> None:
        binned, content = binary.read(path, _compat.n_threads(None))
        owner = f"the file {fspath(path)}"
        known = dataset_state.restored(content, binned, owner)
        fields, given = entries(content, {"fields": dict, "params": dict}, owner)
        found = self._completed(fields, binned.n_rows)
        asked = parameters.checked_options(self.params, OPTIONS, "Dataset")
        changes = known.changes(
            binned, DatasetOptions(**asked), self.params, known.categorical, None
        )
        if changes:
            raise ValueError(
                f"The params of the Dataset cannot {' and '.join(changes)}: {owner}"
                " holds bins. Make it of the original data."
            )
        if self.feature_name == "auto" and known.names is not None:
            found["feature_name"] = known.names
        if self.categorical_feature == "auto":
            found["categorical_feature"] = known.categorical
        params = parameters.canonical(given, owner) | self.params
        vars(self).update(found, data=None, _binned=binned, _known=known, params=params)

    def _completed(self, found: Mapping[str, Any], n_rows: int) -> dict[str, Any]:
        """What belongs to the rows: what the user set, and what a file holds beside."""
        own = self._fields
        dataset_fields.check(own, n_rows)
        return own | {
            name: dataset_fields.frozen(check(found[name], n_rows))
            for name, check in CHECKS.items()
            if own[name] is None and found.get(name) is not None
        }

    def _given_data(self) -> Any:
        if self.data is None:
            raise TypeError("data must not be None: a Dataset needs rows.")
        return self.data

    def _check_raw(self, purpose: str) -> None:
        """Check that the data are still there."""
        if self.data is None:
            raise ValueError(
                f"The Dataset cannot {purpose}: its data were freed after they were"
                " binned. Pass free_raw_data=False to the Dataset, or make a new one."
            )


def _checked_params(params: Any) -> Mapping[str, Any]:
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, got {type_name(params)}.")
    return params or {}


def _checked_categories(categorical_feature: Any) -> Any:
    given = {"categorical_feature": categorical_feature}
    return parameters.checked_options(given, given, "Dataset")["categorical_feature"]
