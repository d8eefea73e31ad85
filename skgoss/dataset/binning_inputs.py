"""The inputs of a `Dataset`'s bins: options, columns, and rows of positive weight."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skgoss import parameters
from skgoss.binning import binned_state, forced_bins
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinningOptions
from skgoss.binning.source_binning import SourceBinning
from skgoss.columns import names
from skgoss.columns.categories import Categories
from skgoss.columns.containers import Reading
from skgoss.columns.schema import ColumnSchema, check_names
from skgoss.sources.memory import IN_MEMORY, Memory
from skgoss.sources.source import Source
from skgoss.utils.plain_values import Types, entries

OPTIONS = tuple(BinningOptions.__dataclass_fields__)
# Options whose values determine the bins. The seed is left out, and
# `min_child_samples`, whose effect `changes` checks.
_BIN_OPTIONS = (
    "max_bin",
    "max_bin_by_feature",
    "min_data_in_bin",
    "subsample_for_bin",
    "use_missing",
    "zero_as_missing",
    "max_conflict_rate",
    "forcedbins_filename",
)
_STATE: Types = {
    "options": dict,
    "categorical_feature": (str, list, NoneType),
    "names": (list, NoneType),
    "feature_names_in_": (list, NoneType),
    "categories": dict,
}


@dataclass(frozen=True)
class BinningInputs:
    """The inputs from which the bins of a data set were found."""

    options: BinningOptions  # those by column have one value for each column
    categorical: Any  # `categorical_feature`: 'auto', None, or names and numbers
    schema: ColumnSchema
    # The names that the user gave the columns, or else those in the data.
    names: Sequence[str] | None

    def state(self) -> dict[str, Any]:
        """The state in files and pickles: values without classes of skgoss."""
        column_names = self.schema.feature_names
        options = asdict(self.options)
        if self.options.max_bin_by_feature is not None:
            bounds = enumerate(self.options.max_bin_by_feature)
            options["max_bin_by_feature"] = {j: m for j, m in bounds if m is not None}
        return {
            "options": options,
            "categorical_feature": self.categorical,
            "names": None if self.names is None else list(map(str, self.names)),
            "feature_names_in_": None
            if column_names is None
            else column_names.tolist(),
            "categories": self.schema.categories.__getstate__(),
        }

    @classmethod
    def from_state(cls, state: Any, binned: BinnedDataset, owner: str) -> BinningInputs:
        """From a `state`, which is checked; ValueError if it contradicts the bins.

        ``owner`` is what errors call the state, such as "the file a.bin".
        """
        options, categorical, names_, feature_names, held = entries(
            state, _STATE, owner
        )
        categories = Categories(None)
        categories.__setstate__(held)
        binned_state.check_categories(binned, categories)
        if feature_names is not None:
            feature_names = np.array(feature_names, dtype=object)
            check_names(feature_names, binned.n_features)
        if names_ is not None:
            if not all(isinstance(name, str) for name in names_):
                raise ValueError(f"'names' of {owner} must be strings")
            names.check(names_, binned.n_features)
        chosen = parameters.checked_options(
            {**options, "categorical_feature": categorical},
            (*OPTIONS, "categorical_feature"),
            owner,
        )
        categorical = chosen.pop("categorical_feature")
        numbered = by_column(BinningOptions(**chosen), binned.n_features, names_)
        schema = ColumnSchema(binned.n_features, feature_names, categories)
        return cls(numbered, categorical, schema, names_)

    def has_categorical(self, categorical: Any) -> bool:
        """Whether a value of `categorical_feature` means the same columns as here.

        Names count as the numbers of their columns; 'auto' and None only equal
        themselves.
        """
        both = [
            names.numbered(value, self.names)
            for value in (categorical, self.categorical)
        ]
        if all(isinstance(value, list) for value in both):
            return set(both[0]) == set(both[1])
        return both[0] == both[1]

    def has_categories(self, schema: ColumnSchema) -> bool:
        """Whether columns have the same categories."""
        own, other = self.schema.categories, schema.categories
        return own is other or own.__getstate__() == other.__getstate__()

    def changes(
        self,
        binned: BinnedDataset,
        options: BinningOptions,
        explicit: Collection[str],
        categorical: Any,
        schema: ColumnSchema | None,
    ) -> list[str]:
        """The changes of bins that a fit needs, as text; empty: it can use the bins.

        The texts complete a message: "change max_bin from 255 to 63". ``binned`` are
        the present bins, ``options`` and ``categorical`` what the fit asks for, of
        which only the options named in ``explicit`` must be the same. ``schema`` are
        the columns that the fit needs; None: any.
        """
        old, new = self.options, by_column(options, binned.n_features, self.names)
        changed = [
            (name, getattr(old, name), getattr(new, name))
            for name in _BIN_OPTIONS
            if name in explicit and getattr(old, name) != getattr(new, name)
        ]
        min_rows = new.min_child_samples
        # With a smaller value, columns that were left out could be split.
        is_less = min_rows < old.min_child_samples and min_rows <= binned.filtered_rows
        if "min_child_samples" in explicit and is_less:
            changed.append(("min_child_samples", old.min_child_samples, min_rows))
        if not self.has_categorical(categorical):
            changed.append(("categorical_feature", self.categorical, categorical))
        texts = [f"change {name} from {a!r} to {b!r}" for name, a, b in changed]
        if schema is not None and not self.has_categories(schema):
            texts.append("take the categories of init_model")
        return texts


def by_column(
    options: BinningOptions, n_features: int, column_names: Sequence[str] | None
) -> BinningOptions:
    """The options whose values may be given by the name of a column, by its number.

    `max_bin_by_feature` becomes a list with one value for each of the ``n_features``
    columns, None where `max_bin` holds; `forcedbins_filename` a dict by number.
    ``column_names`` None: the columns have no names.
    """
    option = "max_bin_by_feature"
    finder = names.ColumnFinder(n_features, column_names)
    return replace(
        options,
        max_bin_by_feature=finder.values(getattr(options, option), option, None),
        forcedbins_filename=forced_bins.by_column(options.forcedbins_filename, finder),
    )


def find(
    X: Any,
    weight: NDArray[np.float64] | None,
    options: BinningOptions,
    reading: Reading,
    n_threads: int,
    memory: Memory = IN_MEMORY,
) -> tuple[BinnedDataset, BinningInputs]:
    """Find bins, and put the rows into them.

    ``X`` are the rows, or a source that is read in batches; then the bins are made in
    ``memory``. ``reading`` says how columns are read: their names, categories and, if
    they must be those of a model, their schema. Bins depend on the ``weight``; rows of
    weight 0 do not count for bins, but are put into them.
    """
    if isinstance(X, Source):
        return _find_streamed(X, weight, options, reading, n_threads, memory)
    values, schema = reading.read(X, "Dataset")
    _check_weight(weight, values.n_rows)
    column_names = reading.names
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
        binned = binned.with_rows(values, options, n_threads=n_threads)
    return binned, BinningInputs(options, reading.categorical, schema, column_names)


def _find_streamed(
    source: Source,
    weight: NDArray[np.float64] | None,
    options: BinningOptions,
    reading: Reading,
    n_threads: int,
    memory: Memory,
) -> tuple[BinnedDataset, BinningInputs]:
    """`find` for rows that are read in batches; the arguments are the same."""
    n_rows, n_features = source.shape
    _check_weight(weight, n_rows)
    if reading.names is not None:
        names.check(reading.names, n_features)
    column_names = reading.names or source.names
    options = by_column(options, n_features, column_names)
    binning = SourceBinning(source, "Dataset", options, n_threads, memory)
    binned, schema = binning.build(reading.numbered, reading.schema, weight)
    return binned, BinningInputs(options, reading.categorical, schema, column_names)


def _check_weight(weight: NDArray[np.float64] | None, n_rows: int) -> None:
    """Raise ValueError unless there is a weight for each row; None: no weights."""
    if weight is not None and len(weight) != n_rows:
        raise ValueError(
            f"weight must have one value for each of the {n_rows} rows, got"
            f" {len(weight)}."
        )


Found = tuple[BinnedDataset, BinningInputs]


def joined(first: Found, second: Found, n_threads: int) -> Found:
    """Put the columns of two data sets side by side.

    A name of the second data set that already exists gets the prefix 'D2_', or 'D3_'
    and so on if that name exists, too. Options by column are joined as well; all others
    are those of the first data set. ValueError if the numbers of rows differ.
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
    schema_names = (
        None if column_names is None else np.array(column_names, dtype=object)
    )
    schema = ColumnSchema(both.n_features, schema_names, categories)
    categorical = sorted(categories.vocabularies)
    forced = dict(inputs.options.forcedbins_filename or {})
    for j, bounds in (added.options.forcedbins_filename or {}).items():
        forced[binned.n_features + j] = bounds
    options = replace(
        inputs.options, max_bin_by_feature=max_bin, forcedbins_filename=forced or None
    )
    return both, BinningInputs(options, categorical or "auto", schema, column_names)


def _joined_names(first: Found, second: Found) -> list[str] | None:
    """The names of all columns of two data sets; None if neither has names."""
    both = [inputs.names for _, inputs in (first, second)]
    if both == [None, None]:
        return None
    joined, added = (
        dict.fromkeys(map(str, names.default(data.n_features) if n is None else n))
        for (data, _), n in zip((first, second), both, strict=True)
    )
    for name in added:
        tried = itertools.chain([name], (f"D{n}_{name}" for n in itertools.count(2)))
        joined[next(unused for unused in tried if unused not in joined)] = None
    return list(joined)
