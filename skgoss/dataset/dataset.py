"""Rows with labels, weights and other fields, binned once for any number of fits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss import parameters
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.columns import names
from skgoss.dataset import binning_inputs
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.binning_inputs import BinningInputs
from skgoss.dataset.field_access import FieldAccess
from skgoss.dataset.fields import Fields
from skgoss.dataset.persistence import SavedDataset
from skgoss.dataset.preparation import MAX_REFERENCES, too_many_references
from skgoss.dataset.raw_data import RawData
from skgoss.parameters import docstrings, other_libraries, signatures
from skgoss.sources import input_rows
from skgoss.sources.memory import FileState
from skgoss.sources.text_files import FileOptions
from skgoss.utils import thread_counts
from skgoss.utils.locks import Lock
from skgoss.utils.messages import type_name, warn
from skgoss.utils.public import set_module


@set_module("skgoss")
@docstrings.describe_chain("The data set.")
class Dataset(FieldAccess, SavedDataset):
    """Training data that is binned once for any number of fits.

    Pass it to `train`, `cv` or `Booster`, or to ``fit`` of the estimators instead of
    ``X`` and ``y``, also as evaluation set. The data are read and binned when they are
    first needed. The parameters of the first fit, such as ``max_bin``, determine the
    bins. If a later fit has other values of these parameters, the data are
    binned again; this raises ValueError if they were freed.

    Parameters
    ----------
    data : array-like, data frame, sparse matrix, Sequence or path
        The rows, of shape (n_samples, n_features), in any type that the estimators
        accept. Paths of Parquet files and their folders, data sets of pyarrow, lazy
        frames of polars, `Sequence` objects, memory maps, lists of these and of
        two-dimensional arrays, functions that return an Arrow record batch reader, and
        paths of text files (CSV, TSV or LibSVM) are read in batches: the values need
        not fit into memory. A path may also name a file that `save_binary` has written.
    label : array-like of shape (n_samples[, n_targets]) or str, default=None
        The target: numbers, or class labels of any type for a classifier. Several
        columns are several targets, or event times, as in
        https://skgoss.github.io/skgoss/survival.html. If columns with names are read in
        batches, `label`, `weight`, `group` and `init_score` may be the name of a
        column, which is then not a feature, and several columns a list of str. Text
        files have one label.
    reference : Dataset, default=None
        For evaluation sets: the training set, whose bins, column names and categories
        are used. If it is None, the functions that take evaluation sets set it.
    weight : array-like of shape (n_samples,) or str, default=None
        Weights of the rows, which must be >= 0. The bins depend on them.
    group : array-like of shape (n_queries,) or str, default=None
        Number of rows of each query. The rows of a query must be consecutive. A name is
        that of the column with the query of each row.
    init_score : array-like of shape (n_samples[, n_classes]), or str, default=None
        Raw scores from which boosting starts. A one-dimensional array for several
        classes holds the scores of all rows class by class.
    feature_name : 'auto' or list of str, default='auto'
        Names of the columns. 'auto' means the names of a data frame.
    categorical_feature : 'auto' or list of str and int, default='auto'
        The columns that hold categories; 'auto': strings and categories of data
        frames.
    params : dict, default=None
        Parameters by any of their names. Only the parameters of the bins, such as
        ``max_bin``, ``linear_tree`` and ``categorical_feature`` are used, unless a fit
        has other values. A data set with a reference has the parameters of the
        reference.
    free_raw_data : bool, default=True
        Whether to free ``data`` after binning, which saves memory. The data are kept in
        any case for linear trees and for training that continues from a model.
    position : array-like of shape (n_samples,), default=None
        The position at which each document was shown when its label was collected, for
        example from clicks. The objective 'lambdarank' learns a bias for each position,
        which is not part of the model (Hu et al., WWW 2019).
    silent : bool, default=False
        Has no effect: nothing is printed. It is an argument of LightGBM before 4.
    memory_map : str or path, default=None
        A folder for the bins of data that are read in batches, which may then be larger
        than memory. The files are deleted with the data set. Bins of a file that
        `save_binary` has written stay in this file, which must not change then. None:
        the bins are in memory.
    columns : list of str, default=None
        The columns that are features, of data with named columns that are read in
        batches; the others are not read, so they may have any type. None: all columns
        except those of `label`, `weight`, `group` and `init_score`.

    Attributes
    ----------
    label, weight, group, init_score, position : ndarray or None
        The fields of the data set, as arrays. You can assign other values, or change
        them, at any time. The next fit uses them without binning the data again.
    used_indices : ndarray of int64, or None
        For a subset: the numbers of its rows in ``reference``. None otherwise.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.

    See Also
    --------
    train : Training on a data set.
    Sequence : Rows that are read in batches.

    Notes
    -----
    Several threads may use a data set at the same time. Class weights, and weights that
    are set after binning, do not change the bins.

    Text files are read by LightGBM's rules. The first column is the label;
    ``label_column`` in ``params`` selects another one. The parameters ``header``,
    ``weight_column``, ``group_column`` and ``ignore_column`` are also used. Additional
    files such as 'train.csv.weight' are read if they exist. Arguments of the
    constructor have priority.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skgoss import Dataset, train
    >>> X, y = load_diabetes(return_X_y=True)
    >>> train_set = Dataset(X, label=y)
    >>> models = [train({"num_leaves": n}, train_set, 10) for n in (7, 15)]
    >>> [model.num_trees() for model in models]
    [10, 10]
    """

    _alternatives = other_libraries.DATASET_HINTS

    @signatures.hint_arguments("Dataset", "params")
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
        *,
        silent: bool = False,
        memory_map: str | PathLike[str] | None = None,
        columns: Iterable[str] | None = None,
    ) -> None:
        self._lock = Lock()
        self._binned: BinnedDataset | None = None
        self._inputs: BinningInputs | None = None
        # The file from which the bins are mapped; None: they are not.
        self._mapped: FileState | None = None
        self._keeps_values = False
        self._fields = Fields()
        self.reference: Dataset | None = None
        self.used_indices: NDArray[np.int64] | None = None
        self.free_raw_data = free_raw_data
        self.memory_map = _checked_folder(memory_map)
        file_options, remaining = parameters.file_options(
            _checked_params(params), "Dataset"
        )
        self._raw = RawData(
            data, FileOptions(**file_options), columns=_checked_columns(columns)
        )
        self.params = parameters.resolve_or_warn(remaining, "Dataset")
        if reference is not None:
            self.set_reference(reference)
        self.label = label
        self.weight = weight
        self.group = group
        self.init_score = init_score
        self.position = position
        self.set_feature_name(feature_name)
        self.categorical_feature = _chosen_categories(
            categorical_feature, self.params.pop("categorical_feature", "auto")
        )

    def __repr__(self) -> str:
        n_rows, n_features = ("?" if n is None else n for n in self._shape)
        return f"<{type(self).__name__}: {n_rows} rows, {n_features} columns>"

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise TypeError(
            "A Dataset is not an array: predictions, searches and cross-validation need"
            " the rows themselves. Objectives and metrics of train are functions of"
            " (predictions, dataset): their targets are dataset.get_label()."
        )

    # --- Columns ----------------------------------------------------------------------

    @property
    def feature_name(self) -> Any:
        """The names that were passed; 'auto' becomes names once the data are binned."""
        if self._passed_names is not None:
            return self._passed_names
        binned = self._binned
        if binned is None:
            return "auto"
        return list(map(str, self._names or names.default(binned.n_features)))

    @feature_name.setter
    def feature_name(self, value: str | Sequence[str]) -> None:
        self.set_feature_name(value)

    def set_feature_name(self, feature_name: str | Sequence[str]) -> Self:
        """Set the names of the columns.

        Parameters
        ----------
        feature_name : sequence of str or 'auto'
            One name for each column. 'auto' means the names of a data frame.

        Raises
        ------
        TypeError, ValueError
            If there is not one name for each column.
        """
        passed = names.checked(feature_name)
        n_features = self._shape[1]
        if passed is not None and n_features is not None:
            names.check(passed, n_features)
        self._passed_names = passed
        return self

    def set_categorical_feature(
        self, categorical_feature: str | Iterable[str | int]
    ) -> Self:
        """Set the columns that hold categories.

        If the data were binned with other categorical columns, they are binned again.

        Parameters
        ----------
        categorical_feature : iterable of str or int, or 'auto'
            Names or numbers of columns. 'auto': those of categories in a data frame.

        Raises
        ------
        ValueError
            If the data must be binned again, but were freed.
        """
        wanted = _checked_categories(categorical_feature)
        with self._lock:
            inputs = self._inputs
            if inputs is not None and not inputs.has_categorical(wanted):
                self._raw.check_not_freed(
                    f"change categorical_feature from {inputs.categorical!r} to"
                    f" {wanted!r}"
                )
                self._binned = self._inputs = None
            self.categorical_feature = wanted
        return self

    def get_feature_name(self) -> list[str]:
        """Return the column names, or 'Column_0' and so on if there are none.

        Returns
        -------
        list of str
            A name for each column.
        """
        self.construct()
        return list(map(str, self._names or names.default(self.num_feature())))

    @property
    def pandas_categorical(self) -> list[list[Any]] | None:
        """The categories of the columns of strings and categories, once binned.

        A list for each of these columns; None if there are none.
        """
        if self._schema is None:
            return None
        values = self._schema.categories.values(needs_encoding=True)
        return list(map(list, values.values())) or None

    def feature_num_bin(self, feature: int | str) -> int:
        """Return the number of bins of a column.

        Parameters
        ----------
        feature : int or str
            The number or name of the column.

        Returns
        -------
        int
            It is 0 if all values are in one bin, so that the column cannot be split.

        Raises
        ------
        ValueError
            If the column does not exist.
        """
        names_ = self.get_feature_name()
        column: Any = names_.index(feature) if feature in names_ else feature
        if column not in range(len(names_)):
            raise ValueError(
                f"feature must be a number from 0 to {len(names_) - 1} or the name of a"
                f" column, got {feature!r}."
            )
        mapper = self._constructed().mappers[column]
        return 0 if mapper.is_trivial else int(mapper.n_bins)

    # --- References and subsets -------------------------------------------------------

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
        """Create an evaluation set that uses the bins of this training set.

        Parameters
        ----------
        data, label, weight, group, init_score, params, position : object
            As in the constructor.

        Returns
        -------
        Dataset
            The evaluation set.
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
        """Set the training set whose bins this data set uses.

        Parameters
        ----------
        reference : Dataset
            The training set.

        Raises
        ------
        TypeError
            If it is not a Dataset.
        ValueError
            If ``reference`` uses the bins of this data set, if it has 99 references of
            its own, or if the data must be binned again but were freed.
        """
        if not isinstance(reference, Dataset):
            raise TypeError(f"reference must be a Dataset, got {type_name(reference)}.")
        with self._lock:
            if reference is self or reference is self.reference:
                return self
            chain = reference.get_ref_chain()
            if self in chain:
                raise ValueError("reference must not share the bins of this Dataset.")
            if len(chain) >= MAX_REFERENCES:
                raise too_many_references()
            if self.used_indices is not None:
                self.data, self.used_indices = self.get_data(), None
            if not self._fits(reference._binned, reference._schema):
                if self._binned is not None:
                    self._raw.check_not_freed("change its reference")
                self._binned = self._inputs = None
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
            This one is among them.
        """
        chain: set[Dataset] = set()
        last: Dataset | None = self
        while last is not None and len(chain) < ref_limit:
            chain.add(last)
            last = last.reference
        return chain

    def subset(
        self, used_indices: ArrayLike, params: Mapping[str, Any] | None = None
    ) -> Dataset:
        """Create a data set of some of the rows, with the bins of this data set.

        Parameters
        ----------
        used_indices : array-like of int, or of bool of shape (n_samples,)
            The row numbers, or a mask of the rows. The subset has them in ascending
            order.
        params : dict, default=None
            As in the constructor.

        Returns
        -------
        Dataset
            It has the labels, weights and other fields of its rows. Queries have only
            the rows that were selected.

        Raises
        ------
        ValueError
            If there are no rows, or if a row does not exist or is repeated.
        """
        n_rows = self.num_data()
        rows = dataset_fields.row_numbers(used_indices, n_rows)
        subset = Dataset(
            None, reference=self, params=params, free_raw_data=self.free_raw_data
        )
        subset.used_indices = rows
        subset._fields = self._fields.take(rows, n_rows)
        return subset

    # --- Other columns ----------------------------------------------------------------

    def add_features_from(self, other: Dataset) -> Self:
        """Add the columns of another data set with the same rows.

        The labels, weights and other fields do not change. If a column name of
        ``other`` already exists, it gets the prefix ``D2_``, or ``D3_`` and so on. The
        raw data of both are joined in the container type of the first, if neither are
        freed yet and the others are numbers or have the same container type. Otherwise
        later fits cannot use other bins or linear trees.

        Parameters
        ----------
        other : Dataset
            It is not changed.

        Raises
        ------
        TypeError
            If ``other`` is not a Dataset.
        ValueError
            If the numbers of rows differ, or if one of the data sets has a reference.
        """
        if not isinstance(other, Dataset):
            raise TypeError(f"other must be a Dataset, got {type_name(other)}.")
        if self.reference is not None or other.reference is not None:
            raise ValueError(
                "Columns cannot be added to, or from, a Dataset with a reference. Make"
                " it without one."
            )
        added: Any = other.construct()._binned, other._inputs
        with self._lock:
            first: Any = self.construct()._binned, self._inputs
            self._binned, self._inputs = binning_inputs.joined(
                first, added, thread_counts.n_threads(None)
            )
            self.feature_name = self._inputs.names or "auto"
            data = input_rows.side_by_side(self.data, other.data, self._passed_names)
            self._raw = replace(self._raw, data=data, source=None)
            self._mapped = None
            self.categorical_feature = self._inputs.categorical
        return self


def _checked_params(params: Any) -> Mapping[str, Any]:
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, got {type_name(params)}.")
    return params or {}


def _checked_columns(columns: Any) -> tuple[str, ...] | None:
    if columns is None:
        return None
    chosen = () if isinstance(columns, str) else tuple(columns)
    are_names = all(isinstance(name, str) for name in chosen)
    if not chosen or not are_names or len({*chosen}) < len(chosen):
        raise ValueError(
            f"columns must be a list of different names of columns, got {columns!r}."
        )
    return chosen


def _checked_folder(memory_map: Any) -> str | None:
    """The path of an existing folder, checked; None: bins are in memory."""
    if memory_map is None:
        return None
    if not isinstance(memory_map, str | PathLike):
        raise TypeError(f"memory_map must be a path, got {type_name(memory_map)}.")
    if not os.path.isdir(memory_map):
        raise FileNotFoundError(
            f"memory_map must be a folder that exists, got {os.fspath(memory_map)!r}."
        )
    return os.fspath(memory_map)


def _chosen_categories(argument: Any, option: Any) -> Any:
    """The categorical columns: the argument, or else the option in ``params``.

    An argument of 'auto' counts as none. A warning is given if both differ.
    """
    argument, option = _checked_categories(argument), _checked_categories(option)
    if argument == "auto":
        return option
    if option not in ("auto", argument):
        warn(
            f"The Dataset has categorical_feature={argument!r}, and its params have"
            f" {option!r}. The argument is used; leave one of them out."
        )
    return argument


def _checked_categories(categorical_feature: Any) -> Any:
    """A value of `categorical_feature`, checked by the rules of the option."""
    option = {"categorical_feature": categorical_feature}
    return parameters.checked_options(option, option, "Dataset")["categorical_feature"]
