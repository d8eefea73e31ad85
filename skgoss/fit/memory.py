"""How much memory a fit needs, before it begins: a term for each kind of array.

The arrays are those of the bins (`binning.storage`), of `training.boosting.Boosting`,
and of the grower (``_engine/training/grower_memory.pyx``). ``X``, ``y`` and the
interpreter are not counted. ``benchmarks/memory.py`` compares estimates with peaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, NamedTuple, Self, cast

import numpy as np

from skgoss.binning.bin_values import LANE_CODES
from skgoss.binning.binned_dataset import BinnedDataset
from skgoss.binning.find_bins import BinningOptions
from skgoss.binning.storage import ROW_ALIGNMENT
from skgoss.columns.columns import KIND_OF_DTYPE, Columns
from skgoss.columns.sparse import MAX_SPANS, SPAN_BYTES
from skgoss.columns.stacked import StackedColumns
from skgoss.dataset.dataset import Dataset
from skgoss.fit import fit_data
from skgoss.fit.arguments import FitArguments, InputSet, input_sets
from skgoss.fit.fit_data import FitData
from skgoss.fit.splits import MAX_COMPARED
from skgoss.fit.task import Task
from skgoss.objectives.objectives import ObjectiveSpec, spec_of
from skgoss.parameters.settings import Settings
from skgoss.sources.input_rows import is_file
from skgoss.training import constraints
from skgoss.training.schedule import at_once
from skgoss.utils import thread_counts

# The bytes of a leaf and its node, in the trees that grow and in the model.
LEAF_BYTES = 300
# Of a bin of a histogram. A leaf has a packed histogram if it has at most as many rows
# as the fields of its integers count: the first number if hessians differ, the second
# if they are all 1 (docs/design.md, section 4).
HIST_BIN_BYTES, PACKED_BIN_BYTES = 20, 8
CAPACITY, CAPACITY_OF_COUNTS = 4095, 1_048_575
# Of a bin in the sums of each thread.
THREAD_BIN_BYTES = 32
# Of a row, for each tree that grows: its records, and more if columns are sparse.
RECORD_BYTES, SPARSE_RECORD_BYTES = 16, 13
# Of a row, for percentiles that replace leaf values: of a fit, and of each output if
# there are several.
RENEWAL_BYTES, OUTPUT_BYTES = 40, 16
# Of a row, for the likelihood of a distribution and its tests. Measured.
LIKELIHOOD_BYTES = 230
# Of a row that is held out or fitted, if rows are held out: its number and its target.
HELD_OUT_BYTES = 24
# Memory that a thread has freed is not reused by the others: the factor of what is
# allocated several times if several fits run at once. Measured.
FRAGMENTATION = 2.2
# The part of the columns of a CSR matrix, which are made some at a time, whose memory
# stays in the process when it is freed. Measured: from none to all.
KEPT_OF_SPAN = 1 / 3
# The rows that are binned to see how many bytes a row takes.
SAMPLED_ROWS = 20_000
# Folds of a splitter that does not say how many it makes.
USUAL_FOLDS = 5

_ITEM_BYTES = {kind: dtype.itemsize for dtype, kind in KIND_OF_DTYPE.items()}
_FLOAT64 = KIND_OF_DTYPE[np.dtype(np.float64)]


@dataclass(frozen=True)
class Layout:
    """The bytes of a row in bins, and the number of bins: see `binning.storage`."""

    column_bytes: float  # of a row in the bins column by column
    row_bytes: float  # of a row in the bins row by row
    n_hist_bins: int
    is_sparse: bool = False  # whether any column is stored by its nonzero rows
    code_bytes: float = 0.0  # of a row in the codes of categories
    # Of a row in columns that linear leaves copy, because they are not float64.
    copied_bytes: float = 0.0
    span_bytes: float = 0.0  # of the columns of a CSR matrix that are read at a time

    @classmethod
    def from_shape(cls, n_features: int, settings: Settings) -> Layout:
        """The layout of float64 columns with as many bins as the options allow."""
        limits = list(settings.max_bin_by_feature or [None] * n_features)
        max_bin = np.array(
            [settings.max_bin if limit is None else limit for limit in limits]
        )
        n_shorts = int((max_bin > LANE_CODES).sum())
        n_bytes = n_features - n_shorts
        row_bytes = -(-n_bytes // ROW_ALIGNMENT) * ROW_ALIGNMENT + 2 * n_shorts
        return cls(n_bytes + 2 * n_shorts, row_bytes, int(max_bin.sum()))

    @classmethod
    def from_columns(
        cls, columns: Columns, settings: Settings, n_threads: int
    ) -> Layout:
        """The layout of columns, some rows of which are binned to measure it."""
        if isinstance(columns, StackedColumns):
            columns = columns.pieces[0]
        n_rows = columns.n_rows
        n_sampled = min(n_rows, SAMPLED_ROWS)
        rows = np.linspace(0, n_rows - 1, n_sampled).astype(np.int64)
        options = BinningOptions.from_settings(settings)
        # Columns with too few nonzero rows are left out: of the sample, as of all rows.
        n_least = max(round(options.min_child_samples * n_sampled / n_rows), 1)
        options = replace(options, min_child_samples=n_least)
        binned = BinnedDataset.build(
            columns,
            options,
            rows=None if n_sampled == n_rows else rows,
            n_threads=n_threads,
        )
        layout, n_stored = cls.from_binned(binned), columns.n_stored(n_threads)
        if n_stored:
            n_bytes = 8 * n_stored  # the number of a row, and a float32
            span_bytes = min(n_bytes, max(SPAN_BYTES, n_bytes // MAX_SPANS))
            copied = 8 * columns.n_features
            return replace(layout, copied_bytes=copied, span_bytes=span_bytes)
        # Columns that are made when they are read would be made to tell their kinds.
        code_bytes = copied_bytes = 0
        if columns.n_categories is not None:
            codes = columns.kind[columns.n_categories > 0].tolist()
            code_bytes = sum(_ITEM_BYTES[kind] for kind in codes)
        if settings.linear_tree:
            copied_bytes = 8 * int((columns.kind != _FLOAT64).sum())
        return replace(layout, code_bytes=code_bytes, copied_bytes=copied_bytes)

    @classmethod
    def from_binned(cls, binned: BinnedDataset) -> Layout:
        """The layout of rows in bins, of which some are packed to measure it."""
        if binned.n_rows > SAMPLED_ROWS:
            binned = binned.take(np.arange(SAMPLED_ROWS))
        storage, n_rows = binned.storage, binned.storage.store.n_rows
        arrays, packed = storage.store.arrays, storage.pack()
        by_column = arrays.bytes, arrays.shorts, arrays.sparse_rows, arrays.sparse_bins
        by_row = packed.rows, packed.shorts, packed.entries, packed.entry_start
        return cls(
            sum(array.nbytes for array in by_column) / n_rows,
            sum(0 if array is None else array.nbytes for array in by_row) / n_rows,
            len(storage.feature_at),
            storage.store.has_sparse,
        )


@dataclass(frozen=True)
class FitSize:
    """What the memory of a fit depends on."""

    layout: Layout
    settings: Settings
    n_rows: int  # of the training set
    n_threads: int = 1
    n_scores: int = 1  # the number of trees of a round
    n_outputs: int = 1  # the number of quantiles or targets
    n_evaluated: int = 0  # rows of the evaluation sets
    is_weighted: bool = False

    @classmethod
    def from_data(cls, data: FitData, n_threads: int, n_evaluated: int) -> Self:
        """The size of a fit whose data have been read, but not binned."""
        rows, settings = data.rows, data.settings
        if rows.binned is not None:
            layout = Layout.from_binned(rows.binned)
        else:
            layout = Layout.from_columns(rows.columns, settings, n_threads)
        return cls(
            layout,
            settings,
            len(rows),
            n_threads,
            data.n_scores,
            len(data.outputs) or 1,
            n_evaluated,
            rows.weight is not None,
        )

    @property
    def n_folds(self) -> int:
        """The number of folds; 0 without folds."""
        folds = self.settings.folds
        if folds is None or isinstance(folds, int):
            return folds or 0
        n_lists = len(folds) if isinstance(folds, Sized) else USUAL_FOLDS
        return getattr(folds, "n_splits", n_lists)

    @property
    def n_held_out(self) -> int:
        """The number of training rows that are held out for early stopping."""
        settings = self.settings
        stops = (settings.early_stopping_round or 0) > 0
        is_evaluated = self.n_evaluated > 0 or self.n_folds > 0
        if not stops or is_evaluated or settings.boosting_type == "dart":
            return 0
        return round(settings.validation_fraction * self.n_rows)

    @property
    def n_fitted(self) -> float:
        """The number of rows that the trees of a fit grow on."""
        n_rows = self.n_rows - self.n_held_out
        return n_rows * (1 - 1 / self.n_folds) if self.n_folds else n_rows

    @property
    def n_at_once(self) -> int:
        """The number of folds that are fitted at once."""
        return at_once(self.n_folds, self.n_threads)[0] if self.n_folds else 1

    @property
    def copies(self) -> float:
        """How many times the arrays of a fit with its rows are allocated."""
        return self.n_at_once if self.n_at_once == 1 else self.n_at_once * FRAGMENTATION

    @property
    def n_growing(self) -> int:
        """The number of trees that a fit has memory for while they grow."""
        if self.settings.multi_strategy == "multi_output_tree":
            return 1
        if self.n_outputs > 1:
            return self.n_outputs
        return max(1, min(self.n_scores, self.n_threads // self.n_at_once))

    @property
    def n_leaves(self) -> int:
        """The largest possible number of leaves of a tree."""
        settings = self.settings
        depth = settings.max_depth if settings.max_depth > 0 else 30
        at_least = max(settings.min_child_samples, 1)
        of_rows = max(int(self.n_fitted) // at_least, 1)
        return min(settings.num_leaves, 2 ** min(depth, 30), of_rows)

    @property
    def objective(self) -> ObjectiveSpec | None:
        """The objective; None if it is a function."""
        return _spec(self.settings)

    @property
    def has_hessians(self) -> bool:
        """Whether the hessians of rows may differ."""
        spec = self.objective
        return spec is None or not spec.constant_hessian or self.is_weighted


def _spec(settings: Settings) -> ObjectiveSpec | None:
    objective = settings.objective
    return spec_of(objective) if isinstance(objective, str) else None


# --- The terms, in bytes --------------------------------------------------------------


def _bins(size: FitSize) -> float:
    layout = size.layout
    return size.n_rows * (layout.column_bytes + layout.row_bytes)


def _scores(size: FitSize) -> float:
    score, gradient = 8, 4 + 4 * size.has_hessians
    return size.copies * size.n_fitted * size.n_scores * (score + gradient)


def _records(size: FitSize) -> float:
    of_tree: float = RECORD_BYTES + SPARSE_RECORD_BYTES * size.layout.is_sparse
    spec = size.objective
    if size.n_outputs > 1:
        of_tree += OUTPUT_BYTES * (1 if size.n_threads == 1 else FRAGMENTATION)
    elif spec is not None and spec.renewal_level is not None:
        of_tree += RENEWAL_BYTES
    return size.copies * size.n_fitted * size.n_growing * of_tree


def _targets(size: FitSize) -> float:
    target, weight = 8, 8 * size.is_weighted
    of_row = target + weight + HELD_OUT_BYTES * (size.n_held_out > 0)
    spec = size.objective
    if spec is not None and spec.distribution is not None:
        of_row += LIKELIHOOD_BYTES
    return size.n_rows * of_row


def _evaluated(size: FitSize) -> float:
    of_row = size.layout.column_bytes + 8 + 8 * size.n_scores
    return (size.n_evaluated + size.n_held_out) * of_row


def _folds(size: FitSize) -> float:
    if not size.n_folds:
        return 0.0
    # The bins of test rows, the rows of each fold, and what its model predicts.
    numbers, predicted = 8 * size.n_folds, 16 + 8 * size.n_scores
    # What the models of all folds predict for the rows that means are compared on.
    spec, n_compared = size.objective, 0
    if spec is not None and spec.link != "identity" and not size.settings.refit:
        n_compared = min(size.n_rows, MAX_COMPARED)
    compared = 8 * size.n_scores * size.n_folds * n_compared
    return size.n_rows * (size.layout.column_bytes + numbers + predicted) + compared


def _histograms(size: FitSize) -> float:
    n_bins, n_leaves = size.layout.n_hist_bins, size.n_leaves
    capacity = CAPACITY if size.has_hessians else CAPACITY_OF_COUNTS
    n_whole = min(n_leaves, size.n_fitted / capacity)
    of_tree = HIST_BIN_BYTES * n_whole + PACKED_BIN_BYTES * (n_leaves - n_whole)
    of_trees = size.n_at_once * size.n_growing * of_tree
    return n_bins * (of_trees + THREAD_BIN_BYTES * size.n_threads)


def _trees(size: FitSize) -> float:
    n_rounds = size.settings.n_estimators * max(size.n_folds, 1)
    return n_rounds * size.n_scores * size.n_leaves * LEAF_BYTES


def _values(size: FitSize) -> float:
    layout = size.layout
    of_row = layout.code_bytes + layout.copied_bytes * size.settings.linear_tree
    n_rows = size.n_rows + size.n_evaluated
    return n_rows * of_row + KEPT_OF_SPAN * layout.span_bytes


class Term(NamedTuple):
    """A part of the memory of a fit, and what makes it smaller."""

    name: str
    n_bytes: Callable[[FitSize], float]
    remedy: str


TERMS = (
    Term("bins", _bins, "pass fewer rows or columns, or a smaller max_bin"),
    Term("scores and gradients", _scores, "pass fewer rows"),
    Term("rows of leaves", _records, "pass fewer rows, or a smaller n_jobs"),
    Term("targets and weights", _targets, "pass fewer rows"),
    Term("evaluation sets", _evaluated, "pass fewer rows in the evaluation sets"),
    Term("folds", _folds, "pass fewer folds"),
    Term("histograms", _histograms, "pass a smaller num_leaves or max_bin"),
    Term("trees", _trees, "pass a smaller n_estimators or num_leaves"),
    Term("copies of values", _values, "pass numbers as float64, or fewer columns"),
)


def estimate(size: FitSize) -> int:
    """The bytes of a fit at its peak, in addition to ``X`` and ``y``."""
    return round(sum(term.n_bytes(size) for term in TERMS))


def check(data: FitData, others: Sequence[InputSet], n_threads: int | None) -> None:
    """Check that a fit needs at most ``memory_limit`` bytes; else MemoryError.

    The limit is not None. ``others`` are the evaluation sets. All processes of a
    distributed fit call this, and raise the same error.
    """
    limit, needed = cast("float", data.settings.memory_limit), (0, "")
    if len(data.rows):
        n_threads = n_threads or thread_counts.n_threads(data.settings.n_jobs)
        added = [other for other in others if not other.holds_same_rows(data.training)]
        n_evaluated = sum(n_rows_of(other.X) for other in added)
        size = FitSize.from_data(data, n_threads, n_evaluated)
        needed = estimate(size), _parts(size)
    n_bytes, words = max(data.rows.collectives.all_gather(needed))
    if n_bytes > limit:
        raise MemoryError(
            f"This fit needs about {_readable(n_bytes)} of memory in addition to X, but"
            f" memory_limit is {_readable(limit)}. {words}, or set memory_limit=None."
            + (" It counts bytes: 8 GB are 8e9." if limit < _LEAST_LIMIT else "")
        )


# A smaller limit was probably not meant to be a number of bytes.
_LEAST_LIMIT = 1e5


def n_rows_of(X: Any) -> int:
    """The number of rows of data, or of a shape."""
    if isinstance(X, Dataset):
        return X.num_data()
    if is_shape(X):
        return X[0]
    shape = getattr(X, "shape", None)
    return shape[0] if shape else len(X)


def is_shape(X: Any) -> bool:
    """Whether data are a shape: a tuple of two whole numbers."""
    are_whole = isinstance(X, tuple) and all(isinstance(n, Integral) for n in X)
    if are_whole and len(X) != 2:
        raise ValueError(f"A shape must be (n_samples, n_features), got {X}.")
    return are_whole


def _parts(size: FitSize) -> str:
    """The largest terms, and how to make the first one smaller."""
    first, *others = sorted(TERMS, key=lambda term: -term.n_bytes(size))[:3]
    words = ", ".join(
        f"{term.name} {_readable(term.n_bytes(size))}" for term in (first, *others)
    )
    return f"The largest parts are {words}. To need less, {first.remedy}"


def _readable(n_bytes: float) -> str:
    unit, name = (1e9, "GB") if n_bytes >= 1e9 else (1e6, "MB")
    return f"{n_bytes / unit:.3g} {name}"


def trees_of_round(
    settings: Settings, task: Task, y: Any, n_classes: int | None
) -> tuple[int, int]:
    """The number of trees of a round, and of quantiles or targets.

    ``n_classes`` is the number of classes if there is no ``y``; None: two.
    """
    if isinstance(settings.alpha, tuple):
        return len(settings.alpha), len(settings.alpha)
    spec = _spec(settings)
    if spec is not None and spec.distribution is not None:
        return len(spec.distribution.parameters), 1
    targets = np.empty((1, 0)) if y is None else np.atleast_2d(np.asarray(y).T)
    if task.name != "classification":
        return len(targets), len(targets)
    counts = [len(set(target.tolist())) for target in targets]
    if y is None:
        counts = [2 if n_classes is None else n_classes]
    return sum(n if n > 2 else 1 for n in counts), len(counts)


def layout_of(
    X: Any, target: str | None, settings: Settings, task: Task, n_threads: int
) -> tuple[Layout, int, Settings]:
    """The layout and rows of data or of a shape, and the options by column number.

    ``target`` is the name of the column of a file that is not a feature.
    """
    if is_shape(X):
        n_rows, n_features = X
        settings = constraints.resolve_columns(settings, n_features, {}, None)
        return Layout.from_shape(n_features, settings), n_rows, settings
    if isinstance(X, Integral):
        raise TypeError(
            f"X must be data or a shape, got {X!r}: pass the shape as a tuple, as in"
            f" estimate_memory(({X!r}, 50))."
        )
    if is_file(X) and target is None:
        raise TypeError(
            f"X is the file {X}: pass y, the name of the column that is the target, as"
            f" in estimate_memory({str(X)!r}, 'target')."
        )
    arguments = FitArguments()
    training, *_ = input_sets(X, target, arguments, settings)
    data, rows = fit_data.read_columns(training, arguments, settings, task)
    if rows.binned is not None:
        return Layout.from_binned(rows.binned), rows.binned.n_rows, data.settings
    layout = Layout.from_columns(rows.columns, data.settings, n_threads)
    return layout, rows.columns.n_rows, data.settings
