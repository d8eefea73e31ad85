"""Rows that are read and binned when they are first needed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinningOptions
from skgoss.binning.rows import Rows
from skgoss.binning.source_binning import SourceBinning
from skgoss.columns.columns import RELEASED, Columns
from skgoss.columns.containers import Reading
from skgoss.columns.schema import ColumnSchema
from skgoss.dataset import binning_inputs
from skgoss.dataset.binning_inputs import OPTIONS, BinningInputs
from skgoss.dataset.fields import Fields
from skgoss.dataset.raw_data import RawData
from skgoss.parameters import docstrings
from skgoss.parameters.settings import Settings
from skgoss.sources import input_rows, sequences
from skgoss.sources.memory import FileState, Memory
from skgoss.sources.text_files import TextSource
from skgoss.utils import thread_counts
from skgoss.utils.locks import Lock
from skgoss.utils.messages import MissingNameHints, warn

# The largest number of data sets in a chain of references, as in LightGBM.
MAX_REFERENCES = 100

# Options that a fit inherits from a data set if it does not set them.
_INHERITED = ({*OPTIONS} - {"min_child_samples"}) | {
    "linear_tree",
    "categorical_feature",
}


class Request(NamedTuple):
    """The bins that a fit needs of a `Dataset`."""

    # The attributes are options of binning, and `categorical_feature` if the fit may
    # change the categorical columns.
    options: Settings | BinningOptions
    # The options that the fit has set, by name. If the rows are already binned, only
    # these must be the same.
    explicit: Mapping[str, Any]
    n_threads: int
    # The columns of the model that training continues from; None: the columns are
    # learned.
    schema: ColumnSchema | None = None
    # The option for which the fit needs the values, in addition to the bins, such as
    # 'linear_tree'. Then the data are kept. "": it only needs the bins.
    needs_values_for: str = ""
    # The bins to use, with the columns ``schema``: those of the training set of a fit,
    # although another fit may have binned the last reference again since. None: bins by
    # the options.
    root: BinnedDataset | None = None


# Binned rows without targets; their columns; and the binned rows of the *root*: the
# data set at the end of the chain of references, whose bins they use. For an evaluation
# set, this is the training set.
Prepared = tuple[Rows, ColumnSchema | None, BinnedDataset | None]


@docstrings.describe_chain("The data set.")
class BinnedOnDemand(MissingNameHints):
    """The rows of a `Dataset`, which are binned when a fit needs them.

    A data set with a reference uses the bins of the reference.
    """

    _lock: Lock
    _raw: RawData
    _fields: Fields
    _binned: BinnedDataset | None
    _inputs: BinningInputs | None
    # The file from which the bins are mapped; None: they are not.
    _mapped: FileState | None
    _keeps_values: bool
    _passed_names: list[str] | None
    reference: Self | None
    used_indices: NDArray[np.int64] | None
    categorical_feature: Any
    params: dict[str, Any]
    free_raw_data: bool
    memory_map: str | None

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
            The argument ``data`` of the constructor. The path of a text file is
            replaced by its rows, and so are chunks of rows.

        Raises
        ------
        ValueError
            If the data were freed.
        """
        if (subset := self._subset) is not None:
            whole, rows = subset
            return input_rows.take(whole.get_data(), rows)
        self._raw.check_not_freed("return its data")
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
        """Replace some options of a data file, such as ``header``, before it is read.

        ``options`` are those that a fit passes, by name.
        """
        if options:
            with self._lock:
                replaced = self._raw.options._replace(**options)
                self._raw = replace(self._raw, options=replaced)

    def _load(self) -> Self:
        """Open the data if they are neither open nor binned."""
        if self._binned is not None:
            return self
        with self._lock:
            if self._raw.source is None:
                self._open()
        return self

    def _open(self) -> None:
        """Open the data: make their source, and read the fields in them."""
        raw, fields = self._raw.opened(
            self._fields, to_disk=self.memory_map is not None
        )
        text, has_reference = raw.source, self.reference is not None
        if isinstance(text, TextSource) and text.is_sparse and has_reference:
            # The last columns of a LibSVM file may have no value in it.
            text.n_columns = max(text.n_columns, self._root.num_feature())
        names_ = self._passed_names or raw.found.get("feature_name")
        vars(self).update(_raw=raw, _fields=fields, _passed_names=names_)

    def _close(self) -> None:
        """Undo `_open`: files may have changed when they are opened again."""
        found = self._raw.found
        raw = replace(self._raw, source=None, found={})
        names_ = self._passed_names
        if names_ is found.get("feature_name"):
            names_ = None
        fields = self._fields.without(found)
        vars(self).update(_raw=raw, _fields=fields, _passed_names=names_)

    def _rows_to_read(self) -> Any:
        """The data in memory, or the source that reads them in batches."""
        if self._raw.data is None:
            raise TypeError("data must not be None: a Dataset needs rows.")
        if self._raw.source is None:
            self._open()
        return self._raw.rows

    # --- Bins -------------------------------------------------------------------------

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the bins in ``params``, by their main names.

        For a data set with a reference, these are the parameters of the reference.

        Returns
        -------
        dict
            Values by name.
        """
        passed = parameters.canonical(self._root.params, "Dataset")
        names_ = {*OPTIONS, "linear_tree"}
        return {name: value for name, value in passed.items() if name in names_}

    def _inherited_options(self, explicit: Collection[str]) -> dict[str, Any]:
        """The options that a fit inherits from the data set, by name.

        They are options of bins that the data set has, and that are not among those
        that the fit sets: ``explicit``. The seed of the sample may also come from
        `random_state`.
        """
        root = self._root._load()
        options = parameters.canonical(root.params, "Dataset")
        seeds = {"random_state", "data_random_seed"}
        if seeds & options.keys() and not seeds & set(explicit):
            options |= parameters.checked_options(
                root.params, ["data_random_seed"], "Dataset"
            )
        options["categorical_feature"] = root.categorical_feature
        inherited = _INHERITED - set(explicit)
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
        """The bins. A thread that only reads them does not wait for other threads."""
        binned = self._binned
        while binned is None:
            with self._lock:
                if self._binned is None:
                    self._construct()
                binned = self._binned
        return binned

    def _construct(self) -> None:
        """Bin the rows by the options of the data set."""
        options = parameters.checked_options(
            self._root.params, (*OPTIONS, "linear_tree", "n_jobs"), "Dataset"
        )
        linear, n_jobs = options.pop("linear_tree"), options.pop("n_jobs")
        self._prepare(
            Request(
                BinningOptions(**options),
                {},
                thread_counts.n_threads(n_jobs),
                needs_values_for="linear_tree" if linear else "",
            )
        )

    def _prepare(self, request: Request) -> Prepared:
        """Bin the rows, unless the bins are already those of the request.

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
        """The rows in the bins of the request, with their values if these are needed.

        There are three ways: a data set with a reference shares its bins, one without
        is binned by the options, and a request with a ``root`` has the bins already.
        Returns what `Prepared` describes. The lock is held.
        """
        self._load()
        if self._mapped is not None:
            self._mapped.check_mapped(by_time=True)
        root, schema, needs = request.root, request.schema, request.needs_values_for
        if self.reference is not None:
            root, schema = self._share(self.reference, request)
            binned = self._binned
        elif root is None:
            self._bin_for_request(request)
            root = binned = self._binned
            schema = self._schema
        else:
            binned = root
        self._keeps_values = self._keeps_values or bool(needs)
        columns, numbers = self._values(needs, schema) if needs else (RELEASED, None)
        if self.free_raw_data and not self._keeps_values:
            self._raw = replace(self._raw, data=None, source=None)
        return Rows(columns, numbers=numbers, binned=binned), schema, root

    def _bin_for_request(self, request: Request) -> None:
        """Bin the rows of a data set without a reference, unless the bins fit already.

        Afterwards, the data set has the options by which it was binned.
        """
        explicit = request.explicit
        before = self.categorical_feature
        categorical = getattr(request.options, "categorical_feature", before)
        options = BinningOptions.from_settings(request.options)
        if "min_child_samples" not in explicit:
            passed = parameters.checked_options(
                self.params, ["min_child_samples"], "Dataset"
            )
            options = replace(options, **passed)
        is_first = self._binned is None
        if self._binned is not None and self._inputs is not None:
            changes = self._inputs.changes(
                self._binned, options, explicit, categorical, request.schema
            )
            if not changes:
                return
            self._raw.check_not_freed(" and ".join(changes))
        self._binned, self._inputs = binning_inputs.find(
            self._rows_to_read(),
            self._fields.weight,
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
        self.params |= {name: explicit[name] for name in explicit if name in OPTIONS}

    def _share(
        self, reference: Self, request: Request
    ) -> tuple[BinnedDataset | None, ColumnSchema]:
        """Put the rows into the bins of the reference; return its root and schema.

        The root is described at `Prepared`. A subset takes its rows from the reference.
        What the reference returns is used, not its attributes: other threads may change
        these as soon as it is prepared.
        """
        rows = self.used_indices
        if rows is None:
            request = request._replace(needs_values_for="")
        prepared, schema, root = reference._prepare(request)
        # After `_prepare`, a data set has both.
        base, schema = cast(BinnedDataset, prepared.binned), cast(ColumnSchema, schema)
        if not self._fits(base, schema):
            if rows is not None:
                self._binned = base.take(rows, request.n_threads)
            else:
                if self._binned is not None:
                    self._raw.check_not_freed("get the new bins of its reference")
                self._binned = self._in_bins_of(base, schema, request)
                self._inputs = None
        return root, schema

    def _in_bins_of(
        self, base: BinnedDataset, schema: ColumnSchema, request: Request
    ) -> BinnedDataset:
        """The rows in the bins of the reference ``base``, with its columns ``schema``.

        ValueError if the columns differ.
        """
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
        """Whether the rows are already in the bins and categories of another set.

        ``binned`` and ``schema`` are those of that set; None: it has none yet.
        """
        if self._binned is None or binned is None or schema is None:
            return False
        if not self._binned.has_bins_of(binned):
            return False
        return self._inputs is None or self._inputs.has_categories(schema)

    def _values(
        self, needed: str, schema: ColumnSchema | None
    ) -> tuple[Columns, NDArray[np.int64] | None]:
        """The columns with their values, and the numbers of the rows in them.

        The rows of a subset lie among those of the whole; None: all rows. ``needed`` is
        the option that needs values, for errors, and ``schema`` as in `Request`.
        """
        if (subset := self._subset) is not None:
            whole, rows = subset
            columns, numbers = whole._values(needed, schema)
            return columns, rows if numbers is None else numbers[rows]
        self._raw.check_not_freed(f"be used with {needed}")
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
        # Names are not checked again: the columns of a binary file have none.
        again = self._inputs is not None and schema is self._inputs.schema
        columns, _ = reading.read(self._rows_to_read(), "Dataset", by_name=not again)
        return columns

    # --- References ---

    @property
    def _root(self) -> Self:
        """The data set whose bins, names and categories these rows share."""
        root = self
        for _ in range(MAX_REFERENCES):
            if root.reference is None:
                return root
            root = root.reference
        raise too_many_references()

    @property
    def _subset(self) -> tuple[Self, NDArray[np.int64]] | None:
        """The data set whose rows these are, and their numbers; None: no subset."""
        whole, rows = self.reference, self.used_indices
        return None if whole is None or rows is None else (whole, rows)


def too_many_references() -> ValueError:
    """The error for a chain of references that is too long, or a circle."""
    return ValueError(
        f"The reference of the Dataset has a reference, and so on, for {MAX_REFERENCES}"
        " data sets or more, or in a circle. Pass the training set itself as the"
        " reference of all."
    )
