"""Bins of rows that are read in batches: one pass finds them, one fills them.

What the first pass keeps of a batch is what a process of a distributed fit tells the
others: the sampled rows, the categories, and how many rows are not zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skgoss.binning import distributed_sample, find_bins, storage
from skgoss.binning.bin_mapper import BinMapper
from skgoss.binning.binned_dataset import BinnedDataset, used_features
from skgoss.binning.distributed_sample import SampleBlock
from skgoss.binning.find_bins import BinningOptions
from skgoss.binning.sparse_columns import LosslessSettings, StorageSettings
from skgoss.columns import containers
from skgoss.columns.categories import FLOAT32_CODES, Categories, Vocabulary
from skgoss.columns.columns import Columns
from skgoss.columns.merged_schema import GrowingVocabulary, looked_up
from skgoss.columns.schema import ColumnSchema
from skgoss.columns.stacked import within
from skgoss.sources.memory import IN_MEMORY, Memory
from skgoss.sources.source import Source, read
from skgoss.utils.messages import errors_at, said_once


class Stream(NamedTuple):
    """What is read, and how.

    Attributes
    ----------
    owner : str
        The name in messages.
    memory : Memory
        Where the bins lie.
    """

    source: Source
    owner: str
    options: BinningOptions
    n_threads: int
    memory: Memory = IN_MEMORY


def build(
    stream: Stream,
    categorical_feature: Any,
    schema: ColumnSchema | None,
    weight: NDArray[np.float64] | None,
) -> tuple[BinnedDataset, ColumnSchema]:
    """Find the bins of a source, and put its rows into them.

    Parameters
    ----------
    categorical_feature : 'auto', None or list of str and int
    schema : ColumnSchema or None
        The columns, if they are those of a model; None: they are learned.
    weight : ndarray of shape (n_rows,), or None
        As in `BinnedDataset.build`; rows of weight 0 do not count.

    Returns
    -------
    binned : BinnedDataset
        That of the same rows in memory.
    """
    n_rows = stream.source.shape[0]
    existing = None if weight is None or weight.all() else np.flatnonzero(weight)
    sample = find_bins.sampled_rows(n_rows, stream.options, existing)
    survey = _Survey(stream, categorical_feature, schema, existing, sample)
    with said_once():
        survey.read()
    columns, schema = survey.sampled()
    if weight is not None and sample is not None:
        weight = weight[sample]
    mappers = find_bins.find_in_sample(
        columns, stream.options, survey.n_nonzero, weight, stream.n_threads
    )
    del survey, columns
    options: StorageSettings = stream.options
    if existing is not None:
        options = LosslessSettings.of(options)
    return _filled(stream, mappers, schema, options), schema


def of_same_bins(
    stream: Stream, binned: BinnedDataset, schema: ColumnSchema
) -> BinnedDataset:
    """Put the rows of a source into the bins of another data set."""
    source = of_schema(stream.source, schema)
    options = LosslessSettings.of(stream.options)
    filled = _filled(stream._replace(source=source), binned.mappers, schema, options)
    return replace(filled, mappers=binned.mappers)


def of_schema(source: Source, schema: ColumnSchema) -> Source:
    """The columns of a training set, by their names; others are not read."""
    known = schema.feature_names
    if known is None or source.names is None or known.tolist() == source.names:
        return source
    return source.select(known.tolist())


def _filled(
    stream: Stream,
    mappers: list[BinMapper],
    schema: ColumnSchema,
    options: StorageSettings,
) -> BinnedDataset:
    feature = used_features(mappers)

    def batches() -> Iterator[Columns]:
        for batch in read(stream.source):
            with errors_at(batch.place):
                columns = containers.columns(batch.rows, schema, owner=stream.owner)
            yield columns.take(feature)

    return BinnedDataset.of(
        mappers,
        storage.build_batches(
            batches(),
            stream.source.shape[0],
            [mappers[j] for j in feature],
            options,
            stream.n_threads,
            stream.memory,
        ),
    )


class _Survey:
    """The first pass.

    Attributes
    ----------
    expected : ColumnSchema or None
        The columns that there must be; None: they are learned.
    learned : ColumnSchema
        Else the columns of the first batch.
    n_nonzero : ndarray of shape (n_features,), int64
        See `binning.count_nonzero`.
    """

    learned: ColumnSchema

    def __init__(
        self,
        stream: Stream,
        categorical_feature: Any,
        schema: ColumnSchema | None,
        existing: NDArray[np.int64] | None,
        sample: NDArray[np.int64] | None,
    ) -> None:
        self.stream = stream
        self.categorical_feature = categorical_feature
        self.expected = schema
        self.existing = existing
        self.sample = sample
        self.n_nonzero = np.zeros(stream.source.shape[1], dtype=np.int64)
        self.vocabularies: dict[int, GrowingVocabulary] = {}
        self.numbers: dict[int, NDArray[np.float64]] = {}
        self.blocks: list[SampleBlock] = []

    def read(self) -> None:
        """Read all batches."""
        start = 0
        for batch in read(self.stream.source):
            with errors_at(batch.place):
                columns = self._columns(batch.rows)
                self._add(columns, start)
            start += columns.n_rows
            del columns, batch

    def _columns(self, rows: Any) -> Columns:
        owner = self.stream.owner
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
        if not self.blocks:
            self.learned = schema
        self._grow(schema.categories.vocabularies)
        return columns

    def _grow(self, vocabularies: dict[int, Vocabulary]) -> None:
        """Add the categories of a batch to those of the batches before."""
        if self.blocks and self.vocabularies.keys() != vocabularies.keys():
            [column, *_] = self.vocabularies.keys() ^ vocabularies.keys()
            raise ValueError(
                f"column {column} holds categories in some of the rows, and numbers in"
                " others."
            )
        for column, words in vocabularies.items():
            growing = self.vocabularies.setdefault(column, GrowingVocabulary())
            self.numbers[column] = growing.add(words)

    def _add(self, columns: Columns, start: int) -> None:
        existing, sample = (
            within(rows, start, columns.n_rows) for rows in (self.existing, self.sample)
        )
        self.n_nonzero += find_bins.count_nonzero(
            columns, self.stream.options, existing, self.stream.n_threads
        )
        if sample is None:
            sample = np.arange(columns.n_rows)
        spans = [slice(0, columns.n_features)]
        [block] = distributed_sample.blocks(
            columns, sample, spans, self.stream.n_threads
        )
        self.blocks.append(_renumbered(block, self.numbers))

    def sampled(self) -> tuple[Columns, ColumnSchema]:
        """The sampled rows of all batches, and the columns of all rows."""
        schema = self.expected
        if schema is None:
            categories = Categories(self.learned.categories.declared)
            for column, growing in self.vocabularies.items():
                words, self.numbers[column] = growing.finished()
                categories.vocabularies[column] = words
            schema = replace(self.learned, categories=categories)
        blocks = [_renumbered(block, self.numbers) for block in self.blocks]
        ends = np.cumsum([block.dense.shape[1] for block in blocks])
        places = np.split(np.arange(ends[-1]), ends[:-1])
        columns = distributed_sample.joined(blocks, places, int(ends[-1]))
        n_categories = np.zeros(columns.n_features, dtype=np.int32)
        for column, words in schema.categories.vocabularies.items():
            n_categories[column] = words.n_categories
        if n_categories.any():
            columns = replace(columns, n_categories=n_categories)
        return columns, schema


def _renumbered(
    block: SampleBlock, numbers: dict[int, NDArray[np.float64]]
) -> SampleBlock:
    """A block whose categories get other numbers, by tables of `looked_up`."""
    if not numbers:
        return block
    dense, values = block.dense, block.values
    if max(map(len, numbers.values())) > FLOAT32_CODES:
        dense, values = dense.astype(np.float64), values.astype(np.float64)
    place = np.cumsum(block.is_dense) - 1
    start = np.concatenate([[0], np.cumsum(block.length)])
    for column, table in numbers.items():
        part = (
            dense[place[column]]
            if block.is_dense[column]
            else values[start[column] : start[column + 1]]
        )
        part[:] = looked_up(table, part)
    return block._replace(dense=dense, values=values)
