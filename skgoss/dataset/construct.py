"""When the rows of a `Dataset` are binned, and anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.binning import streaming
from skgoss.binning.binned_dataset import BinnedDataset, DatasetOptions, DatasetSettings
from skgoss.columns import names
from skgoss.columns.columns import Columns
from skgoss.columns.schema import ColumnSchema
from skgoss.dataset import found_bins
from skgoss.dataset.found_bins import OPTIONS, BinningInputs, Reading
from skgoss.dataset.opening import Opening
from skgoss.sources import input_rows
from skgoss.sources.memory import Memory
from skgoss.utils import threads
from skgoss.utils.locks import Lock
from skgoss.utils.messages import warn

# The most data sets in a chain of references, as in LightGBM's `get_ref_chain`.
MAX_REFERENCES = 100

# Options that a fit takes from a data set if it is given no others.
_INHERITED = ({*OPTIONS} - {"min_child_samples"}) | {"linear_tree"}


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


class Binning(Opening):
    """The rows of a `Dataset` in bins: its own, or those of its reference.

    Attributes
    ----------
    reference : Dataset or None
    used_indices : ndarray of int64, or None
        The rows of ``reference`` that these are.
    free_raw_data : bool
    feature_name, categorical_feature, params : object
        As in the constructor of `Dataset`.
    """

    reference: Binning | None
    used_indices: NDArray[np.int64] | None
    free_raw_data: bool
    feature_name = FeatureName()
    categorical_feature: Any
    params: dict[str, Any]
    _lock: Lock
    _binned: BinnedDataset | None = None
    _inputs: BinningInputs | None = None
    _keeps_values: bool = False

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

    def num_data(self) -> int:
        """Return the number of rows.

        Returns
        -------
        int
            The number of rows; a path is read for it.
        """
        known = self._load()._shape[0]
        return self._constructed().n_rows if known is None else known

    def num_feature(self) -> int:
        """Return the number of columns.

        Returns
        -------
        int
            The number of columns; a path is read for it.
        """
        known = self._load()._shape[1]
        return self._constructed().n_features if known is None else known

    def get_params(self) -> dict[str, Any]:
        """Return the parameters of the bins in ``params``, by their main names.

        Those of a data set with a reference are the reference's.

        Returns
        -------
        dict
            Values by name.
        """
        given = parameters.canonical(self._root.params, "Dataset")
        known = DatasetOptions.__dataclass_fields__.keys() | {"linear_tree"}
        return {name: value for name, value in given.items() if name in known}

    def _options_besides(self, asked: Collection[str]) -> dict[str, Any]:
        """The options that a fit takes from here, besides those of other names."""
        root = self._root._load()
        given = parameters.canonical(root.params, "Dataset")
        names_seed = {"random_state", "data_random_seed"}
        if names_seed & given.keys() and not names_seed & set(asked):
            given |= parameters.checked_options(
                root.params, ["data_random_seed"], "Dataset"
            )
        given = {name: value for name, value in given.items() if name in _INHERITED}
        given["categorical_feature"] = root.categorical_feature
        return {name: v for name, v in given.items() if name not in asked}

    def construct(self) -> Self:
        """Bin the data if they are not binned yet.

        Returns
        -------
        self
            The data set.

        Raises
        ------
        TypeError, ValueError
            If the data or the parameters are invalid. The data set is then unchanged.
        """
        self._constructed()
        return self

    def _constructed(self) -> BinnedDataset:
        """The bins. Threads that read them do not wait for fits that bin anew."""
        binned = self._binned
        while binned is None:
            with self._lock:
                if self._binned is None:
                    self._construct()
                binned = self._binned
        return binned

    def _construct(self) -> None:
        given = parameters.checked_options(
            self._root.params,
            (*DatasetOptions.__dataclass_fields__, "linear_tree", "n_jobs"),
            "Dataset",
        )
        linear, n_jobs = given.pop("linear_tree"), given.pop("n_jobs")
        self._prepare(
            DatasetOptions(**given),
            {},
            threads.n_threads(n_jobs),
            needs_values_for="linear_tree" if linear else "",
        )

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
        if self._mapped is not None:
            self._mapped.check_mapped(by_time=True)
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
    ) -> tuple[BinnedDataset | None, ColumnSchema]:
        """Put the rows into the bins of another data set; return its root and schema.

        Other threads may change that data set as soon as it is prepared.
        """
        rows = self.used_indices
        needs_values_for = "" if rows is None else needs_values_for
        prepared = self.reference._prepare(
            options, asked, n_threads, schema, needs_values_for, root
        )
        root = prepared.root
        # A data set that is prepared has both.
        base = cast(BinnedDataset, prepared.binned)
        schema = cast(ColumnSchema, prepared.schema)
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
        base: BinnedDataset,
        schema: ColumnSchema,
        options: DatasetSettings,
        n_threads: int,
    ) -> BinnedDataset:
        """The rows, which must have the columns of the reference, in its bins."""
        given, known = self._own_names, self._root._names
        try:
            if given is not None and known is not None and given != list(known):
                raise ValueError(f"feature_name is {given}, but it has {list(known)}.")
            if self._source is not None:
                task = streaming.Stream(
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
        self._binned, self._inputs = found_bins.find(
            self._given_data(),
            self.weight,
            chosen,
            Reading(self._own_names, categorical, schema),
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
        columns, _ = found_bins.read(
            self._given_data(),
            Reading(self._own_names, self._root.categorical_feature, schema),
            "Dataset",
            # Its own columns need no names, which those from a file do not have.
            by_name=schema is not self._inputs_schema,
        )
        return columns

    @property
    def _inputs_schema(self) -> ColumnSchema | None:
        """The columns that were found in the data themselves."""
        return None if self._inputs is None else self._inputs.schema
