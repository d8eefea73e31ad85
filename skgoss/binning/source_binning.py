"""Bins of rows that are read in batches: one pass finds them, one fills them.

Of each batch, the first pass keeps what a process of a distributed fit would send: the
sampled rows, the categories, and the numbers of nonzero rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning import distributed_sample, find_bins, storage
from skgoss.binning.bin_values import LosslessSettings, StorageSettings
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.distributed_sample import SampledColumns
from skgoss.binning.find_bins import BinMapper, BinningOptions, used_features
from skgoss.columns import containers
from skgoss.columns.categories import FLOAT32_CODES, Vocabulary, with_n_categories
from skgoss.columns.columns import Columns
from skgoss.columns.merged_schema import GrowingVocabulary, looked_up, with_vocabularies
from skgoss.columns.schema import ColumnSchema
from skgoss.columns.stacked import within
from skgoss.sources.memory import IN_MEMORY, Memory
from skgoss.sources.source import Source, read, select_columns
from skgoss.utils.messages import each_warning_once, errors_at


class SourceBinning(NamedTuple):
    """A source whose rows are put into bins."""

    source: Source
    owner: str  # the name in messages
    options: BinningOptions
    n_threads: int
    memory: Memory = IN_MEMORY  # where the bins lie

    def build(
        self,
        categorical_feature: Any,
        schema: ColumnSchema | None,
        weight: NDArray[np.float64] | None,
    ) -> tuple[BinnedDataset, ColumnSchema]:
        """Find the bins, and put the rows into them.

        ``schema`` has the columns if they are those of a model; else they are learned.
        ``weight`` is as in `BinnedDataset.build`; rows of weight 0 do not count.
        """
        existing = None if weight is None or weight.all() else np.flatnonzero(weight)
        sample = find_bins.sampled_rows(self.source.shape[0], self.options, existing)
        survey = _Survey(self, categorical_feature, schema, existing, sample)
        with each_warning_once():
            survey.read()
        columns, schema = survey.sampled()
        if weight is not None and sample is not None:
            weight = weight[sample]
        mappers = find_bins.find_in_sample(
            columns,
            self.options,
            survey.n_nonzero,
            survey.has_nan,
            weight,
            self.n_threads,
        )
        del survey, columns
        options: StorageSettings = self.options
        if existing is not None:
            options = LosslessSettings.from_settings(options)
        return self._filled(mappers, schema, options), schema

    def in_bins_of(self, binned: BinnedDataset, schema: ColumnSchema) -> BinnedDataset:
        """Put the rows into the bins of another data set.

        All columns without a bin for NaN get one, because whether a row is NaN is only
        known after all rows have been read.
        """
        source = select_columns(self.source, schema)
        options = LosslessSettings.from_settings(self.options)
        mappers = [mapper.with_nan() for mapper in binned.mappers]
        return self._replace(source=source)._filled(mappers, schema, options)

    def _filled(
        self, mappers: list[BinMapper], schema: ColumnSchema, options: StorageSettings
    ) -> BinnedDataset:
        """The second pass: put all rows into bins."""
        feature = used_features(mappers)

        def batches() -> Iterator[Columns]:
            for batch in read(self.source):
                with errors_at(batch.location):
                    columns = containers.columns(batch.rows, schema, owner=self.owner)
                yield columns.take(feature)

        stored = storage.build_batches(
            batches(),
            self.source.shape[0],
            [mappers[j] for j in feature],
            options,
            self.n_threads,
            self.memory,
        )
        return BinnedDataset.from_storage(mappers, feature, stored)


class _Survey:
    """The first pass over the rows.

    ``schema`` has the columns if they are known; None: they are learned. ``existing``
    are the numbers of the rows that count, because their weight is not 0, and
    ``sample`` those in which bins are found; None: all rows.
    """

    learned: ColumnSchema  # the schema of the first batch, if no schema is passed

    def __init__(
        self,
        binning: SourceBinning,
        categorical_feature: Any,
        schema: ColumnSchema | None,
        existing: NDArray[np.int64] | None,
        sample: NDArray[np.int64] | None,
    ) -> None:
        self.binning = binning
        self.categorical_feature = categorical_feature
        self.expected = schema
        self.existing = existing
        self.sample = sample
        self.n_nonzero = np.zeros(binning.source.shape[1], dtype=np.int64)
        self.has_nan = np.zeros(binning.source.shape[1], dtype=bool)
        self.vocabularies: dict[int, GrowingVocabulary] = {}
        self.numbers: dict[int, NDArray[np.float64]] = {}
        self.pieces: list[SampledColumns] = []

    def read(self) -> None:
        """Read all batches."""
        start = 0
        for batch in read(self.binning.source):
            with errors_at(batch.location):
                columns = self._columns(batch.rows)
                self._add(columns, start)
            start += columns.n_rows
            del columns, batch

    def _columns(self, rows: Any) -> Columns:
        """The columns of a batch; if no schema is passed, it is learned from them."""
        owner = self.binning.owner
        if self.expected is not None:
            return containers.columns(rows, self.expected, owner=owner)
        columns, schema = containers.learned(
            rows, owner=owner, categorical_feature=self.categorical_feature
        )
        if columns.n_features != len(self.n_nonzero):
            raise ValueError(
                f"there are {columns.n_features} columns instead of"
                f" {len(self.n_nonzero)}."
            )
        if not self.pieces:
            self.learned = schema
        self._grow(schema.categories.vocabularies)
        return columns

    def _grow(self, vocabularies: dict[int, Vocabulary]) -> None:
        """Add the categories of a batch to those of the batches before.

        ValueError if a column has categories in one batch and numbers in another.
        """
        if self.pieces and self.vocabularies.keys() != vocabularies.keys():
            [column, *_] = self.vocabularies.keys() ^ vocabularies.keys()
            raise ValueError(
                f"column {column} holds categories in some of the rows, and numbers in"
                " others."
            )
        for column, vocabulary in vocabularies.items():
            growing = self.vocabularies.setdefault(column, GrowingVocabulary())
            self.numbers[column] = growing.add(vocabulary)

    def _add(self, columns: Columns, start: int) -> None:
        """Count and sample the rows of a batch.

        ``start`` is the number of its first row among all rows of the source.
        """
        existing, sample = (
            within(rows, start, columns.n_rows) for rows in (self.existing, self.sample)
        )
        self.n_nonzero += find_bins.count_nonzero(
            columns, self.binning.options, existing, self.binning.n_threads
        )
        if sample is None:
            sample = np.arange(columns.n_rows)
        else:
            self.has_nan |= find_bins.find_nan(
                columns, existing, self.binning.n_threads
            )
        spans = [slice(0, columns.n_features)]
        [own] = distributed_sample.cut_in_spans(
            columns, sample, spans, self.binning.n_threads
        )
        self.pieces.append(_renumbered(own, self.numbers))

    def sampled(self) -> tuple[Columns, ColumnSchema]:
        """The columns of the sampled rows of all batches, and the schema of all rows.

        Only now are all categories known, so their numbers change once more.
        """
        schema = self.expected
        if schema is None:
            vocabularies = {}
            for column, growing in self.vocabularies.items():
                vocabularies[column], self.numbers[column] = growing.finished()
            schema = with_vocabularies(self.learned, vocabularies)
        sampled = [_renumbered(own, self.numbers) for own in self.pieces]
        n_rows = sum(own.dense.shape[1] for own in sampled)
        columns = distributed_sample.joined_pieces(
            [sampled], [np.arange(n_rows)], n_rows
        )
        return with_n_categories(columns, schema.categories.vocabularies), schema


def _renumbered(
    own: SampledColumns, numbers: dict[int, NDArray[np.float64]]
) -> SampledColumns:
    """Sampled columns with new numbers of categories.

    ``numbers`` has, for each categorical column, a table for `looked_up`: the new
    number of each old one. A batch numbers the categories that it has; the tables lead
    to the numbers of the categories of all batches.
    """
    if not numbers:
        return own
    dense, values = own.dense, own.values
    if max(map(len, numbers.values())) > FLOAT32_CODES:
        dense, values = dense.astype(np.float64), values.astype(np.float64)
    position = np.cumsum(own.is_dense) - 1
    start = np.concatenate([[0], np.cumsum(own.length)])
    for column, table in numbers.items():
        codes = (
            dense[position[column]]
            if own.is_dense[column]
            else values[start[column] : start[column + 1]]
        )
        codes[:] = looked_up(table, codes)
    return own._replace(dense=dense, values=values)
