"""How and when the rows of a `Dataset` are binned."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.data import forced_bins, frames, input_rows, names, streaming
from skgoss.data.columns import Columns
from skgoss.data.dataset import BinnedDataset, DatasetOptions, DatasetSettings
from skgoss.data.memory import IN_MEMORY, Memory
from skgoss.data.schema import ColumnSchema
from skgoss.data.sources import Source
from skgoss.dataset import fields as dataset_fields
from skgoss.dataset.fields import Fields
from skgoss.utils.locks import Lock
from skgoss.utils.messages import warn

OPTIONS = tuple(DatasetOptions.__dataclass_fields__)
# The most data sets in a chain of references, as in LightGBM's `get_ref_chain`.
MAX_REFERENCES = 100
# Other values give other bins, but for `min_child_samples` and the seed.
_OF_BINS = (
    *("max_bin", "max_bin_by_feature", "min_data_in_bin", "subsample_for_bin"),
    *("use_missing", "zero_as_missing", "max_conflict_rate", forced_bins.OPTION),
)


@dataclass(frozen=True)
class BinningInputs:
    """What the bins of a data set were found with.

    Attributes
    ----------
    options : DatasetOptions
        With one value for each column where there are any.
    categorical : 'auto', None or list of str and int
        The option `categorical_feature`.
    schema : ColumnSchema
    names : list of str, or None
        The names that the user gave the columns, or else those in the data.
    """

    options: DatasetOptions
    categorical: Any
    schema: ColumnSchema
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

    def has_categories(self, schema: ColumnSchema) -> bool:
        """Whether columns have the same categories."""
        own, others = self.schema.categories, schema.categories
        return own is others or own.__getstate__() == others.__getstate__()

    def changes(
        self,
        binned: BinnedDataset,
        options: DatasetOptions,
        asked: Collection[str],
        categorical: Any,
        schema: ColumnSchema | None,
    ) -> list[str]:
        """What must change in bins for a fit, in words.

        Parameters
        ----------
        binned : BinnedDataset
        options : DatasetOptions
        asked : collection of str
            The options that the fit asks for. The others need not be the same.
        categorical : 'auto', None or list of str and int
        schema : ColumnSchema or None
            The columns that the fit needs; None: it learns them.

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
        if schema is not None and not self.has_categories(schema):
            words.append("take the categories of init_model")
        return words


def by_column(
    options: DatasetOptions, n_features: int, known: Sequence[str] | None
) -> DatasetOptions:
    """Options with one value for each column where they are given by name."""
    option = "max_bin_by_feature"
    finder = names.ColumnFinder(n_features, known)
    return replace(
        options,
        max_bin_by_feature=finder.values(getattr(options, option), option, None),
        forcedbins_filename=forced_bins.by_column(options.forcedbins_filename, finder),
    )


def find(
    X: Any,
    weight: NDArray[np.float64] | None,
    options: DatasetOptions,
    given_names: Sequence[str] | None,
    categorical: Any,
    schema: ColumnSchema | None,
    n_threads: int,
    memory: Memory = IN_MEMORY,
) -> tuple[BinnedDataset, BinningInputs]:
    """Find bins, and put the rows into them.

    Parameters
    ----------
    X : array-like, data frame, sparse matrix or Source of shape (n_rows, n_features)
    weight : ndarray of shape (n_rows,), or None
        Bins are found by weight; rows of weight 0 do not count.
    options : DatasetOptions
    given_names : list of str, or None
        Names of the columns; None: those of ``X``.
    categorical : 'auto', None or list of str and int
    schema : ColumnSchema or None
        The columns, if they are those of a model; None: they are learned.
    n_threads : int
    memory : Memory, default=IN_MEMORY
        Where the bins lie, if ``X`` is read in batches.

    Returns
    -------
    binned : BinnedDataset
    inputs : BinningInputs
    """
    if isinstance(X, Source):
        return _find_streamed(
            X, weight, options, given_names, categorical, schema, n_threads, memory
        )
    values, schema = read(X, given_names, categorical, schema, "Dataset")
    _check_weight(weight, values.n_rows)
    column_names = given_names
    if column_names is None and schema.feature_names is not None:
        column_names = schema.feature_names.tolist()
    options = by_column(options, values.n_features, column_names)
    existing = None
    if weight is not None and not weight.all():
        existing = np.flatnonzero(weight)
    binned = BinnedDataset.build(
        values, options, weight=weight, rows=existing, n_threads=n_threads
    )
    if existing is not None:
        binned = binned.of_same_bins(values, options, n_threads=n_threads)
    return binned, BinningInputs(options, categorical, schema, column_names)


def _find_streamed(
    source: Source,
    weight: NDArray[np.float64] | None,
    options: DatasetOptions,
    given_names: Sequence[str] | None,
    categorical: Any,
    schema: ColumnSchema | None,
    n_threads: int,
    memory: Memory,
) -> tuple[BinnedDataset, BinningInputs]:
    """`find` for rows that are read in batches."""
    n_rows, n_features = source.shape
    _check_weight(weight, n_rows)
    if given_names is not None:
        names.check(given_names, n_features)
    column_names = given_names or source.names
    options = by_column(options, n_features, column_names)
    task = streaming.Task(source, "Dataset", options, n_threads, memory)
    numbered = names.numbered(categorical, given_names)
    binned, schema = streaming.build(task, numbered, schema, weight)
    return binned, BinningInputs(options, categorical, schema, column_names)


def _check_weight(weight: NDArray[np.float64] | None, n_rows: int) -> None:
    if weight is not None and len(weight) != n_rows:
        raise ValueError(
            f"weight must have one value for each of the {n_rows} rows, got"
            f" {len(weight)}."
        )


def read(
    X: Any,
    given_names: Sequence[str] | None,
    categorical_feature: Any,
    schema: ColumnSchema | None,
    owner: str,
    *,
    by_name: bool = True,
) -> tuple[Columns, ColumnSchema]:
    """Read the columns of a training set.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_features)
    given_names : list of str, or None
        Names of the columns; None: those of ``X``.
    categorical_feature : 'auto', None or list of str and int
    schema : ColumnSchema or None
        The columns that ``X`` must have; None: they are learned.
    owner : str
        The name of the estimator, for messages.
    by_name : bool, default=True
        Whether the names of the columns must be those of ``schema``.

    Raises
    ------
    ValueError
        If the data are not valid, or columns are not those of ``schema``.
    """
    if schema is None:
        numbered = names.numbered(categorical_feature, given_names)
        columns, schema = frames.learned(X, owner=owner, categorical_feature=numbered)
    else:
        columns = frames.columns(X, schema, owner=owner, by_name=by_name)
    if given_names is not None:
        names.check(given_names, columns.n_features)
    return columns, schema


Found = tuple[BinnedDataset, BinningInputs]


def joined(first: Found, second: Found, n_threads: int) -> Found:
    """Put the columns of two data sets side by side.

    A name of the second data set that the first has, too, gets the prefix 'D2_', or
    'D3_' and so on if there is such a name, too.

    Raises
    ------
    ValueError
        If the data sets do not have the same number of rows.
    """
    (binned, inputs), (other, added) = first, second
    max_bin = None
    if inputs.options.max_bin_by_feature or added.options.max_bin_by_feature:
        max_bin = [
            bound
            for data, options in ((binned, inputs.options), (other, added.options))
            for bound in options.max_bin_by_feature or [None] * data.n_features
        ]
    both = binned.joined(other, inputs.options, n_threads)
    categories = inputs.schema.categories.joined(
        added.schema.categories, binned.n_features
    )
    column_names = _joined_names(first, second)
    in_schema = None if column_names is None else np.array(column_names, dtype=object)
    schema = ColumnSchema(both.n_features, in_schema, categories)
    categorical = sorted(categories.vocabularies)
    forced = dict(inputs.options.forcedbins_filename or {})
    for j, bounds in (added.options.forcedbins_filename or {}).items():
        forced[binned.n_features + j] = bounds
    options = replace(
        inputs.options, max_bin_by_feature=max_bin, forcedbins_filename=forced or None
    )
    return both, BinningInputs(options, categorical or "auto", schema, column_names)


def _joined_names(first: Found, second: Found) -> list[str] | None:
    given = [inputs.names for _, inputs in (first, second)]
    if given == [None, None]:
        return None
    own, others = (
        list(map(str, names.default(binned.n_features) if n is None else n))
        for (binned, _), n in zip((first, second), given, strict=True)
    )
    for name in others:
        words = itertools.chain([name], (f"D{n}_{name}" for n in itertools.count(2)))
        own.append(next(word for word in words if word not in own))
    return own


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
    schema : ColumnSchema or None
        The columns that the bins are of.
    root : BinnedDataset or None
        All rows of the data set whose bins these are, such as those of the training
        set for an evaluation set.
    """

    columns: Columns | None
    numbers: NDArray[np.int64] | None = None
    binned: BinnedDataset | None = None
    schema: ColumnSchema | None = None
    root: BinnedDataset | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.columns.n_rows if self.binned is None else self.binned.n_rows


def too_many_references() -> ValueError:
    """The error of a chain of references that is too long, or closed."""
    return ValueError(
        f"The reference of the Dataset has a reference, and so on, for {MAX_REFERENCES}"
        " data sets or more, or for ever. Pass the training set itself as the reference"
        " of all."
    )


class FeatureName:
    """The attribute ``feature_name``: 'auto' until the data are binned, then names."""

    def __get__(self, dataset: Binning | None, owner: type | None = None) -> Any:
        if dataset is None:
            return self
        given, binned = vars(dataset)["feature_name"], dataset._binned
        if binned is None or dataset._own_names is not None:
            return given
        return list(map(str, dataset._names or names.default(binned.n_features)))

    def __set__(self, dataset: Binning, value: Any) -> None:
        vars(dataset)["feature_name"] = value


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
    memory_map : str, path or None
    _source : Source or None
        Where ``data`` are read from in batches; None: they are in memory, or it is not
        known yet.
    _opened : mapping
        The fields that were read from ``data``.
    _by_name : mapping
        The columns of ``data`` that are fields, by the names of the fields.
    feature_name, categorical_feature, params : object
        As in the constructor of `Dataset`.
    """

    data: Any
    reference: Binning | None
    used_indices: NDArray[np.int64] | None
    free_raw_data: bool
    memory_map: str | PathLike[str] | None = None
    feature_name = FeatureName()
    categorical_feature: Any
    params: dict[str, Any]
    _lock: Lock
    _binned: BinnedDataset | None = None
    _inputs: BinningInputs | None = None
    _keeps_values: bool = False
    _source: Source | None = None
    _opened: Mapping[str, Any] = MappingProxyType({})

    @property
    def _root(self) -> Binning:
        """The data set whose bins, names and categories these rows share."""
        root = self
        for _ in range(MAX_REFERENCES):
            if root.reference is None:
                return root
            root = root.reference
        raise too_many_references()

    @property
    def _own_names(self) -> list[str] | None:
        """The names that the user gave the columns of this data set."""
        return names.given(vars(self)["feature_name"])

    @property
    def _names(self) -> Sequence[str] | None:
        """The names of the columns, if they have any."""
        own, others = (rows._own_names for rows in (self, self._root))
        known = self._root._inputs
        return own or others or (None if known is None else known.names)

    @property
    def _schema(self) -> ColumnSchema | None:
        """The columns; None: they are not known yet."""
        inputs = self._root._inputs
        return None if inputs is None else inputs.schema

    @property
    def _shape(self) -> tuple[int | None, int | None]:
        """The numbers of rows and columns, as far as they are known."""
        binned = self._binned
        if binned is not None:
            return binned.n_rows, binned.n_features
        if self.used_indices is not None:
            return len(self.used_indices), self.reference._shape[1]
        if self._source is not None:
            return self._source.shape
        return input_rows.shape(self.data)

    def _prepare(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        schema: ColumnSchema | None = None,
        needs_values_for: str = "",
        root: BinnedDataset | None = None,
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
        schema : ColumnSchema, default=None
            The columns of the model that training continues from; None: the columns
            are learned.
        needs_values_for : str, default=""
            The argument for which the fit needs the values besides the bins, such as
            'linear_tree'. Then the data are kept. "": it needs the bins alone.
        root : BinnedDataset, default=None
            The bins to use, of the data set that is the last reference, with the
            columns ``schema``: those that a fit learns from, although another fit may
            have binned this data set anew since. None: bins as they are asked for.

        Raises
        ------
        ValueError
            If the bins must change, or the values are needed, but the data were freed.
        """
        with self._lock:
            try:
                return self._bin_rows(
                    options, asked, n_threads, schema, needs_values_for, root
                )
            except BaseException:
                if self._binned is None and self._source is not None:
                    self._close()
                raise

    def _bin_rows(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        schema: ColumnSchema | None,
        needs_values_for: str,
        root: BinnedDataset | None,
    ) -> Prepared:
        """`_prepare`, while other threads wait."""
        self._load()
        if self.reference is not None:
            root, schema = self._share(
                options, asked, n_threads, schema, needs_values_for, root
            )
            binned = self._binned
        elif root is None:
            self._bin_as_asked(options, asked, n_threads, schema)
            root = binned = self._binned
            schema = self._schema
        else:
            binned = root
        self._keeps_values = self._keeps_values or bool(needs_values_for)
        columns, numbers = (
            self._values(needs_values_for, schema) if needs_values_for else (None, None)
        )
        if self.free_raw_data and not self._keeps_values:
            self.data = self._source = None
        return Prepared(columns, numbers, binned, schema, root)

    def _share(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        schema: ColumnSchema | None,
        needs_values_for: str,
        root: BinnedDataset | None,
    ) -> tuple[BinnedDataset | None, ColumnSchema | None]:
        """Put the rows into the bins of another data set; return its root and schema.

        Other threads may change that data set as soon as it is prepared.
        """
        rows = self.used_indices
        needs_values_for = "" if rows is None else needs_values_for
        *_, base, schema, root = self.reference._prepare(
            options, asked, n_threads, schema, needs_values_for, root
        )
        if self._fits(base, schema):
            return root, schema
        if rows is not None:
            self._binned = base.take(rows, n_threads)
            return root, schema
        if self._binned is not None:
            self._check_raw("get the new bins of its reference")
        self._binned = self._in_bins_of(base, schema, options, n_threads)
        self._inputs = None
        return root, schema

    def _in_bins_of(
        self,
        base: Any,
        schema: Any,
        options: DatasetSettings,
        n_threads: int,
    ) -> BinnedDataset:
        """The rows, which must have the columns of the reference, in its bins."""
        given, known = self._own_names, self._root._names
        try:
            if given is not None and known is not None and given != list(known):
                raise ValueError(f"feature_name is {given}, but it has {list(known)}.")
            if self._source is not None:
                task = streaming.Task(
                    self._source,
                    "Dataset",
                    DatasetOptions.of(options),
                    n_threads,
                    Memory(self.memory_map),
                )
                return streaming.of_same_bins(task, base, schema)
            columns = self._read(schema)
        except ValueError as error:
            raise ValueError(
                f"The Dataset does not fit its reference: {error}"
            ) from error
        return base.of_same_bins(columns, options, n_threads=n_threads)

    def _fits(self, binned: BinnedDataset | None, schema: ColumnSchema | None) -> bool:
        """Whether the rows are in the bins, and categories, of another set already."""
        if self._binned is None or binned is None or schema is None:
            return False
        if not self._binned.has_bins_of(binned):
            return False
        return self._inputs is None or self._inputs.has_categories(schema)

    def _bin_as_asked(
        self,
        options: DatasetSettings,
        asked: Mapping[str, Any],
        n_threads: int,
        schema: ColumnSchema | None,
    ) -> None:
        categorical = getattr(options, "categorical_feature", self.categorical_feature)
        chosen = DatasetOptions.of(options)
        if "min_child_samples" not in asked:
            given = parameters.checked_options(
                self.params, ["min_child_samples"], "Dataset"
            )
            chosen = replace(chosen, **given)
        if self._binned is not None:
            changes = self._inputs.changes(
                self._binned, chosen, asked, categorical, schema
            )
            if not changes:
                return
            self._check_raw(" and ".join(changes))
        is_first, own = self._binned is None, self.categorical_feature
        self._binned, self._inputs = find(
            self._given_data(),
            self.weight,
            chosen,
            self._own_names,
            categorical,
            schema,
            n_threads,
            Memory(self.memory_map),
        )
        if is_first and own != "auto" and not self._inputs.has_categorical(own):
            warn(
                f"The Dataset has categorical_feature={own!r}, and the parameters of"
                f" the fit have {categorical!r}. Those of the fit are used; leave one"
                " of them out."
            )
        self.categorical_feature = categorical
        self.params |= {name: asked[name] for name in asked if name in OPTIONS}

    def _values(
        self, needed: str, schema: Any
    ) -> tuple[Columns, NDArray[np.int64] | None]:
        """The columns, and the numbers of the rows in them; None: all."""
        if self.used_indices is None:
            self._check_raw(f"be used with {needed}")
            if self._source is not None:
                self._load_values(needed)
            return self._read(schema), None
        columns, numbers = self.reference._values(needed, schema)
        at = self.used_indices
        return columns, at if numbers is None else numbers[at]

    def _read(self, schema: ColumnSchema | None) -> Columns:
        """Read the columns, with the names and categories that are known."""
        columns, _ = read(
            self._given_data(),
            self._own_names,
            self._root.categorical_feature,
            schema,
            "Dataset",
            # Its own columns need no names, which those from a file do not have.
            by_name=schema is not self._inputs_schema,
        )
        return columns

    @property
    def _inputs_schema(self) -> ColumnSchema | None:
        """The columns that were found in the data themselves."""
        return None if self._inputs is None else self._inputs.schema

    def _has_columns_by_name(self) -> bool:
        """Whether fields can be set by the names of columns."""
        if self._binned is not None:
            return False
        return input_rows.is_source(self.data) or input_rows.are_files(self.data)

    def _open(self) -> None:
        """Find out how the data are read; lazy frames and streams are collected."""
        source = input_rows.source(self.data)
        if source is not None and source.shape[0] == 0:
            raise ValueError("data must have a row, but has none.")
        if source is None:
            if self.memory_map is not None and self.data is not None:
                raise ValueError(
                    "memory_map is for data that are read in batches, such as Parquet"
                    " files, but data are in memory, or read as a whole."
                )
            loaded = input_rows.loaded(self.data)
            if loaded is not self.data:
                dataset_fields.check(self._fields, input_rows.shape(loaded)[0])
                self.data = loaded
            return
        named = dataset_fields.of_columns(source, self._by_name)
        own = {name: v for name, v in self._fields.items() if v is not None}
        dataset_fields.check({**self._fields, **named.fields, **own}, source.shape[0])
        self._source = source.without(named.columns)
        vars(self).update({**named.fields, **own, "_opened": named.fields})

    def _close(self) -> None:
        """Forget what was read: files may be others when they are read again."""
        opened = {n: v for n, v in self._opened.items() if vars(self)[n] is v}
        unset = {name: "auto" if name == "feature_name" else None for name in opened}
        vars(self).update({**unset, "_source": None, "_opened": {}})

    def _load_values(self, needed: str) -> None:
        """Read all rows into memory, if what they come from allows it."""
        try:
            self.data = self._source.loaded()
        except ValueError as error:
            raise ValueError(
                f"{needed} needs the values of all rows: {error}"
            ) from None
        self._source = None

    def _given_data(self) -> Any:
        if self.data is None:
            raise TypeError("data must not be None: a Dataset needs rows.")
        if self._source is None:
            self._open()
        return input_rows.named(self.data) if self._source is None else self._source

    def _check_raw(self, purpose: str) -> None:
        """Check that the data are still there."""
        if self.data is None:
            raise ValueError(
                f"The Dataset cannot {purpose}: its data were freed after they were"
                " binned. Pass free_raw_data=False to the Dataset, or make a new one."
            )
