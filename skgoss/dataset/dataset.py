"""Rows and what belongs to them, binned once for any number of fits."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from types import NoneType
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skgoss import parameters
from skgoss.binning import binned_state
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinningOptions
from skgoss.binning.rows import Rows
from skgoss.binning.source_binning import SourceBinning
from skgoss.columns import columns as typed_columns
from skgoss.columns import names
from skgoss.columns.columns import RELEASED, Columns
from skgoss.columns.containers import Reading
from skgoss.columns.schema import ColumnSchema
from skgoss.dataset import binary_files, binning_inputs
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.binning_inputs import OPTIONS, BinningInputs
from skgoss.dataset.fields import CHECKS, Fields
from skgoss.dataset.raw_data import RawData
from skgoss.parameters import docstrings, other_libraries, signatures
from skgoss.parameters.settings import Settings
from skgoss.sources import input_rows, sequences
from skgoss.sources.memory import FileState, Memory
from skgoss.sources.text_files import FileOptions, TextSource
from skgoss.utils import threads
from skgoss.utils.locks import Lock
from skgoss.utils.messages import Elsewhere, type_name, warn
from skgoss.utils.plain_values import Types, entries
from skgoss.utils.public import set_module

# The most data sets in a chain of references, as in LightGBM's `get_ref_chain`.
MAX_REFERENCES = 100

# Options that a fit takes from a data set if it is passed no others.
_INHERITED = ({*OPTIONS} - {"min_child_samples"}) | {
    "linear_tree",
    "categorical_feature",
}


class Request(NamedTuple):
    """What a fit asks of a `Dataset`."""

    # They have the options of binning as attributes, and `categorical_feature` if the
    # columns that hold categories may be others.
    options: Settings | BinningOptions
    # Those of the options, by name, that the fit asks for. If the rows are binned
    # already, the others need not be the same.
    asked: Mapping[str, Any]
    n_threads: int
    # The columns of the model that training continues from; None: the columns are
    # learned.
    schema: ColumnSchema | None = None
    # The argument for which the fit needs the values besides the bins, such as
    # 'linear_tree'. Then the data are kept. "": it needs the bins alone.
    needs_values_for: str = ""
    # The bins to use, of the data set that is the last reference, with the columns
    # ``schema``: those that a fit learns from, although another fit may have binned
    # this data set again since. None: bins as they are asked for.
    root: BinnedDataset | None = None


# Rows without targets, whose bins may have been found; the columns that these are of;
# and all rows of the data set whose bins these are, such as those of the training set
# for an evaluation set.
Prepared = tuple[Rows, ColumnSchema | None, BinnedDataset | None]


class _FieldAttribute:
    """An attribute of a `Dataset` that is one of its fields."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, dataset: Dataset | None, owner: type | None = None) -> Any:
        return self if dataset is None else getattr(dataset._fields, self.name)

    def __set__(self, dataset: Dataset, value: Any) -> None:
        with dataset._lock:
            dataset._fields = dataset._with_field(self.name, value)


@set_module("skgoss")
@docstrings.of_chain("The data set.")
class Dataset(Elsewhere):
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

    _elsewhere = other_libraries.OF_DATASET

    label = _FieldAttribute()
    weight = _FieldAttribute()
    group = _FieldAttribute()
    init_score = _FieldAttribute()
    position = _FieldAttribute()

    @signatures.helpful("Dataset", "params")
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
    ) -> None:
        self._lock = Lock()
        self._binned: BinnedDataset | None = None
        self._inputs: BinningInputs | None = None
        # The file in which the bins lie; None: they lie elsewhere.
        self._mapped: FileState | None = None
        self._keeps_values = False
        self._fields = Fields()
        self.reference: Dataset | None = None
        self.used_indices: NDArray[np.int64] | None = None
        self.free_raw_data = free_raw_data
        self.memory_map = _checked_folder(memory_map)
        of_files, others = parameters.file_options(_checked_params(params), "Dataset")
        self._raw = RawData(data, FileOptions(**of_files))
        self.params = parameters.resolve_or_warn(others, "Dataset")
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
            " the rows themselves."
        )

    # --- Fields -----------------------------------------------------------------------

    @property
    def version(self) -> int:
        """How often a field has been set."""
        return self._fields.version

    def _with_field(self, name: str, value: Any) -> Fields:
        is_named = dataset_fields.names_columns(value)
        if is_named and self._binned is None and self._raw.has_named_columns:
            return self._fields.with_column(name, value)
        return self._fields.with_array(name, value, self._shape[0])

    @docstrings.of_setter(
        "array-like of shape (n_samples,) or None", "Numbers, or labels of classes."
    )
    def set_label(self, label: ArrayLike | None) -> Self:
        """Set the target. None removes it."""
        return self.set_field("label", label)

    @docstrings.of_setter("array-like of shape (n_samples,) or None", "Numbers >= 0.")
    def set_weight(self, weight: ArrayLike | None) -> Self:
        """Set the weights of the rows. None: all weights are 1."""
        return self.set_field("weight", weight)

    @docstrings.of_setter(
        "array-like of shape (n_queries,) or None", "The number of rows of each query."
    )
    def set_group(self, group: ArrayLike | None) -> Self:
        """Set the sizes of the queries. None: there are no queries."""
        return self.set_field("group", group)

    @docstrings.of_setter(
        "array-like of shape (n_samples,) or (n_samples, n_classes), or None",
        "Finite numbers.",
    )
    def set_init_score(self, init_score: ArrayLike | None) -> Self:
        """Set the raw scores from which boosting starts. None: the best constant."""
        return self.set_field("init_score", init_score)

    @docstrings.of_setter(
        "array-like of shape (n_samples,) or None",
        "Values that can be sorted, such as numbers.",
    )
    def set_position(self, position: ArrayLike | None) -> Self:
        """Set the positions at which documents were shown. None: unknown."""
        return self.set_field("position", position)

    def set_field(self, field_name: str, data: ArrayLike | None) -> Self:
        """Set a field, such as the labels or the weights.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
            What to set, as the attributes are named.
        data : array-like or None
            The values, as in the constructor. None removes the field.

        Raises
        ------
        ValueError
            If the field does not exist, or the values are invalid.
        """
        setattr(self, dataset_fields.canonical(field_name), data)
        return self

    @docstrings.of_getter("(n_samples,)")
    def get_label(self) -> NDArray[Any] | None:
        """Return the target: a float64 array if it holds numbers; or None."""
        label = self._copy("label")
        if label is None or label.dtype.kind not in "biuf":
            return label
        return label.astype(np.float64)

    @docstrings.of_getter("(n_samples,)")
    def get_weight(self) -> NDArray[np.float64] | None:
        """Return the weights of the rows, or None if all are 1."""
        return self._copy("weight")

    @docstrings.of_getter("(n_queries,)")
    def get_group(self) -> NDArray[np.int64] | None:
        """Return the sizes of the queries, or None if there are none."""
        return self._copy("group")

    @docstrings.of_getter("(n_samples,) or (n_samples, n_classes),")
    def get_init_score(self) -> NDArray[np.float64] | None:
        """Return the initial raw scores as they were passed, or None."""
        return self._copy("init_score")

    @docstrings.of_getter("(n_samples,)")
    def get_position(self) -> NDArray[Any] | None:
        """Return the positions of documents, or None."""
        return self._copy("position")

    def get_field(self, field_name: str) -> NDArray[Any] | None:
        """Return a field, such as the labels or the weights.

        Parameters
        ----------
        field_name : {'label', 'weight', 'group', 'init_score', 'position'}
            What to return, as the attributes are named.

        Returns
        -------
        ndarray or None
            For 'group': the index of the first row of each query, followed by the
            number of rows.

        Raises
        ------
        ValueError
            If the field does not exist.
        """
        name = dataset_fields.canonical(field_name)
        held = getattr(self, f"get_{name}")()
        if name == "group" and held is not None:
            return np.concatenate([[0], np.cumsum(held)])
        return held

    def _copy(self, name: str) -> NDArray[Any] | None:
        array = getattr(self._load(), name)
        return None if array is None else array.copy()

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
                self._raw.check_there(
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
        return [list(of_column) for of_column in values.values()] or None

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

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns, if they have any."""
        root = self._root
        inputs = root._inputs
        names_ = self._passed_names or root._passed_names
        return names_ or (None if inputs is None else inputs.names)

    @property
    def _schema(self) -> ColumnSchema | None:
        """The columns; None: they are not read yet."""
        inputs = self._root._inputs
        return None if inputs is None else inputs.schema

    # --- Rows -------------------------------------------------------------------------

    @property
    def data(self) -> Any:
        """The data that were passed; None: they were freed."""
        return self._raw.data

    @data.setter
    def data(self, value: Any) -> None:
        self._raw = replace(self._raw, data=value)

    def get_data(self) -> Any:
        """Return the data that were passed. For a subset, these are its rows.

        Returns
        -------
        object
            What the constructor got as ``data``. The path of a text file is
            replaced by its rows, and so are chunks of rows.

        Raises
        ------
        ValueError
            If the data were freed.
        """
        if (subset := self._subset) is not None:
            whole, rows = subset
            return input_rows.take(whole.get_data(), rows)
        if self._raw.are_files:
            self._rows_to_read()
        self._raw.check_there("return its data")
        if self._raw.are_files or sequences.are_chunks(self.data):
            return self._rows_to_read().loaded()
        return self.data

    def num_data(self) -> int:
        """Return the number of rows.

        Returns
        -------
        int
            The number of rows. A file is read to count them.
        """
        n_rows = self._load()._shape[0]
        return self._constructed().n_rows if n_rows is None else n_rows

    def num_feature(self) -> int:
        """Return the number of columns.

        Returns
        -------
        int
            The number of columns. A file is read to count them.
        """
        n_features = self._load()._shape[1]
        return self._constructed().n_features if n_features is None else n_features

    @property
    def _shape(self) -> tuple[int | None, int | None]:
        """The numbers of rows and columns, as far as they are known."""
        binned = self._binned
        if binned is not None:
            return binned.n_rows, binned.n_features
        if (subset := self._subset) is not None:
            whole, rows = subset
            return len(rows), whole._shape[1]
        return self._raw.shape

    def _read_by(self, options: Mapping[str, Any]) -> None:
        """Replace options of data files, by their names, of a file to be read."""
        if options:
            with self._lock:
                replaced = self._raw.options._replace(**options)
                self._raw = replace(self._raw, options=replaced)

    def _load(self) -> Self:
        """Open the data, if they are not open."""
        if self._binned is not None:
            return self
        with self._lock:
            if self._raw.source is None:
                self._open()
        return self

    def _open(self) -> None:
        """Find out how the data are read, and which fields they hold."""
        if self._raw.is_binary:
            self._read_binary(self._raw.data)
            return
        raw, fields = self._raw.opened(
            self._fields, to_disk=self.memory_map is not None
        )
        text, has_reference = raw.source, self.reference is not None
        if isinstance(text, TextSource) and text.is_sparse and has_reference:
            # A LibSVM file lacks the columns behind its last value.
            text.n_columns = max(text.n_columns, self._root.num_feature())
        names_ = self._passed_names or raw.found.get("feature_name")
        vars(self).update(_raw=raw, _fields=fields, _passed_names=names_)

    def _close(self) -> None:
        """Forget what was read: files may be others when they are read again."""
        found = self._raw.found
        raw = replace(self._raw, source=None, found={})
        names_ = self._passed_names
        if names_ is found.get("feature_name"):
            names_ = None
        fields = self._fields.without(found)
        vars(self).update(_raw=raw, _fields=fields, _passed_names=names_)

    def _rows_to_read(self) -> Any:
        """The data in memory, or their source."""
        if self.data is None:
            raise TypeError("data must not be None: a Dataset needs rows.")
        if self._raw.source is None:
            self._open()
        return self._raw.rows

    # --- Bins -------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the bins in ``params``, by their main names.

        Those of a data set with a reference are the reference's.

        Returns
        -------
        dict
            Values by name.
        """
        passed = parameters.canonical(self._root.params, "Dataset")
        names_ = {*OPTIONS, "linear_tree"}
        return {name: value for name, value in passed.items() if name in names_}

    def _options_besides(self, asked: Collection[str]) -> dict[str, Any]:
        """The options that a fit takes from here, besides those of other names."""
        root = self._root._load()
        options = parameters.canonical(root.params, "Dataset")
        seeds = {"random_state", "data_random_seed"}
        if seeds & options.keys() and not seeds & set(asked):
            options |= parameters.checked_options(
                root.params, ["data_random_seed"], "Dataset"
            )
        options["categorical_feature"] = root.categorical_feature
        inherited = _INHERITED - set(asked)
        return {name: value for name, value in options.items() if name in inherited}

    def construct(self) -> Self:
        """Bin the data if they are not binned yet.

        Raises
        ------
        TypeError, ValueError
            If the data or the parameters are invalid. The data set is then unchanged.
        """
        self._constructed()
        return self

    def _constructed(self) -> BinnedDataset:
        """The bins. Threads that read them do not wait for fits that bin again."""
        binned = self._binned
        while binned is None:
            with self._lock:
                if self._binned is None:
                    self._construct()
                binned = self._binned
        return binned

    def _construct(self) -> None:
        options = parameters.checked_options(
            self._root.params, (*OPTIONS, "linear_tree", "n_jobs"), "Dataset"
        )
        linear, n_jobs = options.pop("linear_tree"), options.pop("n_jobs")
        self._prepare(
            Request(
                BinningOptions(**options),
                {},
                threads.n_threads(n_jobs),
                needs_values_for="linear_tree" if linear else "",
            )
        )

    def _prepare(self, request: Request) -> Prepared:
        """Bin the rows, unless they are binned as it is asked for.

        Raises
        ------
        ValueError
            If the bins must change, or the values are needed, but the data were freed.
        """
        with self._lock:
            try:
                return self._bin_rows(request)
            except BaseException:
                if self._binned is None and self._raw.source is not None:
                    self._close()
                raise

    def _bin_rows(self, request: Request) -> Prepared:
        """The rows in the bins that a fit asks for, binned if they are not yet.

        Their values come along if the fit needs them. Also returns the schema, and the
        binned data set that the bins come from.
        """
        self._load()
        if self._mapped is not None:
            self._mapped.check_mapped(by_time=True)
        root, schema, needs = request.root, request.schema, request.needs_values_for
        if self.reference is not None:
            root, schema = self._share(self.reference, request)
            binned = self._binned
        elif root is None:
            self._bin_as_asked(request)
            root = binned = self._binned
            schema = self._schema
        else:
            binned = root
        self._keeps_values = self._keeps_values or bool(needs)
        columns, numbers = self._values(needs, schema) if needs else (RELEASED, None)
        if self.free_raw_data and not self._keeps_values:
            self._raw = replace(self._raw, data=None, source=None)
        return Rows(columns, numbers=numbers, binned=binned), schema, root

    def _bin_as_asked(self, request: Request) -> None:
        """Bin the rows of a data set without a reference."""
        asked = request.asked
        before = self.categorical_feature
        categorical = getattr(request.options, "categorical_feature", before)
        options = BinningOptions.from_settings(request.options)
        if "min_child_samples" not in asked:
            passed = parameters.checked_options(
                self.params, ["min_child_samples"], "Dataset"
            )
            options = replace(options, **passed)
        is_first = self._binned is None
        if self._binned is not None and self._inputs is not None:
            changes = self._inputs.changes(
                self._binned, options, asked, categorical, request.schema
            )
            if not changes:
                return
            self._raw.check_there(" and ".join(changes))
        self._binned, self._inputs = binning_inputs.find(
            self._rows_to_read(),
            self.weight,
            options,
            Reading(self._passed_names, categorical, request.schema, request.n_threads),
            request.n_threads,
            Memory(self.memory_map),
        )
        if is_first and before != "auto" and not self._inputs.has_categorical(before):
            warn(
                f"The Dataset has categorical_feature={before!r}, and the parameters of"
                f" the fit have {categorical!r}. Those of the fit are used; leave one"
                " of them out."
            )
        self.categorical_feature = categorical
        self.params |= {name: asked[name] for name in asked if name in OPTIONS}

    def _share(
        self, reference: Dataset, request: Request
    ) -> tuple[BinnedDataset | None, ColumnSchema]:
        """Put the rows into the bins of the reference; return its root and schema.

        Other threads may change the reference as soon as it is prepared.
        """
        rows = self.used_indices
        if rows is None:
            request = request._replace(needs_values_for="")
        prepared, schema, root = reference._prepare(request)
        # A data set that is prepared has both.
        base, schema = cast(BinnedDataset, prepared.binned), cast(ColumnSchema, schema)
        if not self._fits(base, schema):
            if rows is not None:
                self._binned = base.take(rows, request.n_threads)
            else:
                if self._binned is not None:
                    self._raw.check_there("get the new bins of its reference")
                self._binned = self._in_bins_of(base, schema, request)
                self._inputs = None
        return root, schema

    def _in_bins_of(
        self, base: BinnedDataset, schema: ColumnSchema, request: Request
    ) -> BinnedDataset:
        """The rows, which must have the columns of the reference, in its bins."""
        passed, expected = self._passed_names, self._root._names
        try:
            if passed and expected is not None and passed != list(expected):
                raise ValueError(
                    f"feature_name is {passed}, but it has {list(expected)}."
                )
            if self._raw.source is not None:
                binning = SourceBinning(
                    self._raw.source,
                    "Dataset",
                    BinningOptions.from_settings(request.options),
                    request.n_threads,
                    Memory(self.memory_map),
                )
                return binning.in_bins_of(base, schema)
            columns = self._read(schema)
        except ValueError as error:
            raise ValueError(
                f"The Dataset does not fit its reference: {error}"
            ) from error
        return base.with_rows(columns, request.options, n_threads=request.n_threads)

    def _fits(self, binned: BinnedDataset | None, schema: ColumnSchema | None) -> bool:
        """Whether the rows are in the bins, and categories, of another set already."""
        if self._binned is None or binned is None or schema is None:
            return False
        if not self._binned.has_bins_of(binned):
            return False
        return self._inputs is None or self._inputs.has_categories(schema)

    def _values(
        self, needed: str, schema: ColumnSchema | None
    ) -> tuple[Columns, NDArray[np.int64] | None]:
        """The columns, and the numbers of the rows in them; None: all."""
        if (subset := self._subset) is not None:
            whole, rows = subset
            columns, numbers = whole._values(needed, schema)
            return columns, rows if numbers is None else numbers[rows]
        self._raw.check_there(f"be used with {needed}")
        if self._raw.source is not None:
            try:
                data = self._raw.source.loaded()
            except ValueError as error:
                raise ValueError(
                    f"{needed} needs the values of all rows: {error}"
                ) from None
            self._raw = replace(self._raw, data=data, source=None)
        return self._read(schema), None

    def _read(self, schema: ColumnSchema | None) -> Columns:
        """Read the columns, with the names and categories that are set."""
        reading = Reading(self._passed_names, self._root.categorical_feature, schema)
        # Columns of a binary file have no names, and need none to be read again.
        again = self._inputs is not None and schema is self._inputs.schema
        columns, _ = reading.read(self._rows_to_read(), "Dataset", by_name=not again)
        return columns

    # --- References and subsets -------------------------------------------------------

    @property
    def _root(self) -> Dataset:
        """The data set whose bins, names and categories these rows share."""
        root = self
        for _ in range(MAX_REFERENCES):
            if root.reference is None:
                return root
            root = root.reference
        raise _too_many_references()

    @property
    def _subset(self) -> tuple[Dataset, NDArray[np.int64]] | None:
        """The data set whose rows these are, and their numbers; None: no subset."""
        whole, rows = self.reference, self.used_indices
        return None if whole is None or rows is None else (whole, rows)

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
                raise _too_many_references()
            if self.used_indices is not None:
                self.data, self.used_indices = self.get_data(), None
            if not self._fits(reference._binned, reference._schema):
                if self._binned is not None:
                    self._raw.check_there("change its reference")
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
                first, added, threads.n_threads(None)
            )
            self.feature_name = self._inputs.names or "auto"
            data = input_rows.side_by_side(self.data, other.data, self._passed_names)
            self._raw = replace(self._raw, data=data, source=None)
            self._mapped = None
            self.categorical_feature = self._inputs.categorical
        return self

    # --- Files and pickles ------------------------------------------------------------

    def save_binary(self, filename: str | PathLike[str]) -> Self:
        """Write the binned data with labels, weights and other fields to a file.

        ``Dataset(filename)`` reads it. The file holds the raw data only if ``params``
        has ``linear_tree=True``: the numbers, without categories.

        Parameters
        ----------
        filename : str or path
            The file; an earlier one is replaced.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        binned, root = self._constructed(), self._root
        inputs = root._inputs
        if inputs is None:
            raise ValueError(
                "The Dataset has the bins of an earlier reference. Make it again, with"
                " the new one."
            )
        content = {"params": root.get_params(), **inputs.state()}
        if root.params.get("linear_tree"):
            columns, rows = self._values("linear_tree", self._schema)
            values = typed_columns.numbers(columns)
            content["values"] = values if rows is None else values[rows]
        content["are_bounds"] = self._fields.are_bounds
        binary_files.write(filename, binned, content | self._fields.arrays())
        return self

    def _read_binary(self, path: str | PathLike[str]) -> None:
        """Read a file that `save_binary` has written."""
        memory, mapped = Memory(self.memory_map), FileState.from_path(path)
        binned, content = binary_files.read(path, threads.n_threads(None), memory)
        owner = f"the file {fspath(path)}"
        inputs = BinningInputs.from_state(content, binned, owner)
        (params,) = entries(content, {"params": dict}, owner)
        fields = self._fields.completed(content, binned.n_rows)
        asked = parameters.checked_options(self.params, OPTIONS, "Dataset")
        changes = inputs.changes(
            binned, BinningOptions(**asked), self.params, inputs.categorical, None
        )
        if changes:
            raise ValueError(
                f"The params of the Dataset cannot {' and '.join(changes)}, because"
                f" {owner} holds binned data. Create the Dataset from the original"
                " data."
            )
        values = content.get("values")
        if values is not None:
            _check_values(values, binned, owner)
        if self.categorical_feature == "auto":
            categorical = inputs.categorical
        else:
            categorical = self.categorical_feature
        vars(self).update(
            _raw=replace(self._raw, data=values),
            _fields=fields,
            _binned=binned,
            _inputs=inputs,
            _mapped=None if self.memory_map is None else mapped,
            _passed_names=self._passed_names or inputs.names,
            _keeps_values=self._keeps_values or values is not None,
            params=parameters.canonical(params, owner) | self.params,
            categorical_feature=categorical,
        )

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            binned, inputs = self._binned, self._inputs
            if self.used_indices is not None:
                binned = None  # the bins are gathered again
            return {
                **self._fields.arrays(),
                "_are_bounds": self._fields.are_bounds,
                "_by_name": dict(self._fields.columns),
                "_version": self.version,
                "_binned": None if binned is None else binned_state.state(binned),
                "_inputs": None if inputs is None else inputs.state(),
                "_file_options": self._raw.options,
                "data": self.data,
                "feature_name": self._passed_names or "auto",
                **{name: getattr(self, name) for name in _STATE_AS_IS},
            }

    def __setstate__(self, state: dict[str, Any]) -> None:
        owner = "the state of Dataset"
        arrays = dict(zip(CHECKS, entries(state, _STATE_OF_FIELDS, owner), strict=True))
        as_is = entries(state, _STATE_AS_IS, owner)
        held = dict(zip(_STATE_AS_IS, as_is, strict=True))
        are_bounds, columns, version, binned, inputs, options, data, passed_names = (
            entries(state, _STATE, owner)
        )
        raw, whole = RawData(data, options), held["reference"]
        n_rows = raw.shape[0]
        if held["used_indices"] is not None:
            if whole is None:
                raise ValueError(f"{owner} has 'used_indices', but no 'reference'")
            rows = dataset_fields.row_numbers(held["used_indices"], whole.num_data())
            held["used_indices"], n_rows = rows, len(rows)
        if binned is not None:
            binned = binned_state.restored(binned)
            n_rows = binned.n_rows
        if inputs is not None:
            if binned is None:
                raise ValueError(f"{owner} has no bins")
            inputs = BinningInputs.from_state(inputs, binned, owner)
        try:
            passed_names = names.checked(passed_names)
        except TypeError as error:
            raise ValueError(f"{owner}: {error}") from error
        fields = Fields(columns=columns, version=version)
        fields = fields.completed(arrays | {"are_bounds": are_bounds}, n_rows)
        vars(self).update(
            held,
            _fields=fields,
            _binned=binned,
            _inputs=inputs,
            _raw=raw,
            _mapped=None,
            _passed_names=passed_names,
        )


# What a state holds: fields, attributes as they are, and what is written otherwise.
_STATE_OF_FIELDS: Types = dict.fromkeys(CHECKS, (np.ndarray, NoneType))
_STATE_AS_IS: Types = {
    "reference": (Dataset, NoneType),
    "used_indices": (np.ndarray, NoneType),
    "params": dict,
    "free_raw_data": object,
    "categorical_feature": (str, list, NoneType),
    "memory_map": (str, NoneType),
    "_keeps_values": bool,
    "_lock": Lock,
}
_STATE: Types = {
    "_are_bounds": (bool, NoneType),
    "_by_name": dict,
    "_version": int,
    "_binned": (dict, NoneType),
    "_inputs": (dict, NoneType),
    "_file_options": FileOptions,
    "data": object,
    "feature_name": (str, list),
}


def _too_many_references() -> ValueError:
    return ValueError(
        f"The reference of the Dataset has a reference, and so on, for {MAX_REFERENCES}"
        " data sets or more, or in a circle. Pass the training set itself as the"
        " reference of all."
    )


def _check_values(values: Any, binned: BinnedDataset, owner: str) -> None:
    """Check the raw values of a file."""
    shape = binned.n_rows, binned.n_features
    has_type = isinstance(values, np.ndarray) and values.dtype == np.float64
    if not has_type or values.shape != shape:
        raise ValueError(f"'values' of {owner} must be floats of the shape {shape}")


def _checked_params(params: Any) -> Mapping[str, Any]:
    if params is not None and not isinstance(params, Mapping):
        raise TypeError(f"params must be a dict, got {type_name(params)}.")
    return params or {}


def _checked_folder(memory_map: Any) -> str | None:
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
    """The categorical columns, of the argument and the option of the same name."""
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
    option = {"categorical_feature": categorical_feature}
    return parameters.checked_options(option, option, "Dataset")["categorical_feature"]
