"""The data set, options and constraints of a fit as structs, which the engine reads.

They point to arrays of Python, which an arena keeps alive.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

import numpy as np

from skgoss._engine.binning.packing import PIECE
from skgoss._engine.binning.store cimport BinStore
from skgoss._engine.training.arena cimport Arena
from skgoss._engine.training.feature_subset cimport SubsetSource, count_visits
from skgoss._engine.training.histogram cimport FOLD_SIZE
from skgoss._engine.training.layout cimport LANE_CODES, Binned, Piece
from skgoss._engine.training.split cimport SplitRules, split_rules
from skgoss._engine.training.workspace cimport (
    UNBOUNDED, Bounding, Constraints, ForcedSplit, Settings, Shared)


# Trees that sample features read rows of only these features if that takes at most this fraction of
# the time of reading all features: see `Storage.subset_work`.
MAX_RELATIVE_WORK: float = 0.9


cdef double sampled_fraction(settings):
    """The fraction of the rows that trees are grown on."""
    if settings.data_sample_strategy == "goss":
        return settings.top_rate + settings.other_rate
    return settings.subsample if settings.subsample_freq > 0 else 1.0


cdef sum_of_largest(values, int n):
    """The sum of the n largest values."""
    return int(np.sort(values)[len(values) - n:].sum())


cdef int read_lanes(Binned* data, Arena arena, storage) except -1:
    """Point to the lanes of the rows: bytes, each with the codes of one group or several.

    ``storage``: a `Storage`; ``arena``: keeps the arrays.
    """
    lane = storage.lane
    lane_groups = np.argsort(lane, kind="stable")
    lane_start = np.zeros(lane.max(initial=-1) + 2, dtype=np.int32)
    np.cumsum(np.bincount(lane), out=lane_start[1:])
    data.n_groups = len(lane)
    data.n_lanes = len(lane_start) - 1
    data.rows = <const uint8_t*>arena.address(storage.rows, np.uint8)
    data.row_bytes = storage.rows.shape[1]
    data.lane_start = <const int32_t*>arena.address(lane_start, np.int32)
    data.lane_groups = <const int32_t*>arena.address(lane_groups, np.int32)
    data.radix = <const int32_t*>arena.address(storage.radix, np.int32)
    data.n_codes = <const int32_t*>arena.address(storage.n_codes, np.int32)
    data.piece_start = <const int64_t*>arena.address(storage.piece_start, np.int64)
    data.pieces = <const Piece*>arena.address(storage.pieces, PIECE)
    data.hist_bin_of_code = <const int32_t*>arena.address(storage.hist_bin_of_code, np.int32)
    # The number of values of each lane. Strides that are not powers of two keep lanes in different
    # sets of the cache.
    size = np.multiply.reduceat(
        storage.n_codes[lane_groups], lane_start[: len(lane_start) - 1]) if len(lane) else lane
    data.lane_stride = next(
        stride for stride in (24, 72, 264) if size.max(initial=0) <= stride)
    return 0


cdef int read_shorts_and_entries(Binned* data, Arena arena, storage) except -1:
    """Point to the shorts (bins of two bytes) and entries (histogram bins) of the rows.

    ``storage``: a `Storage`; ``arena``: keeps the arrays. `read_lanes` must come first.
    """
    data.hist_bin_sums = data.n_lanes * data.lane_stride
    data.sums_size = data.hist_bin_sums + FOLD_SIZE
    if len(storage.hist_bin_pieces) == 0:
        return 0
    data.hist_bin_pieces = <const Piece*>arena.address(storage.hist_bin_pieces, PIECE)
    data.n_hist_bin_pieces = len(storage.hist_bin_pieces)
    short_features = storage.in_shorts
    data.n_shorts = len(short_features)
    if data.n_shorts > 0:
        data.shorts = <const uint16_t*>arena.address(storage.shorts, np.uint16)
        short_hist_bin = np.append(storage.offset[short_features], data.n_hist_bins)
        data.short_hist_bin = <const int64_t*>arena.address(short_hist_bin, np.int64)
    if storage.entry_start is not None:
        data.entry_start = <const int64_t*>arena.address(storage.entry_start, np.int64)
        data.entries = <const uint32_t*>arena.address(storage.entries, np.uint32)
    data.sums_size += data.hist_bin_capacity + 1  # the dummy bin of add_row_entries
    return 0


cdef int read_dataset(Shared* shared, Arena arena, dataset) except -1:
    """Point `shared.data` to the arrays of a `BinnedDataset`."""
    cdef Binned* data = &shared.data
    storage = dataset.storage
    cdef BinStore store = storage.store
    shared.columns = store.columns
    shared.has_sparse = store.has_sparse
    data.n_rows = store.n_rows
    if dataset.numbers is not None:
        position = np.empty(store.n_rows, dtype=np.uint32)
        position[dataset.numbers] = np.arange(len(dataset.numbers), dtype=np.uint32)
        data.position = <const uint32_t*>arena.address(position, np.uint32)
    data.n_features = len(dataset.feature)
    data.n_bins = <const int32_t*>arena.address(dataset.n_bins, np.int32)
    data.missing_bin = <const int32_t*>arena.address(dataset.missing_bin, np.int32)
    data.categorical = <const uint8_t*>arena.address(dataset.categorical, np.bool_)
    data.default_bin = <const int32_t*>arena.address(storage.default_bin, np.int32)
    data.singles = <const int32_t*>arena.address(storage.singles, np.int32)
    data.offset = <const int64_t*>arena.address(storage.offset, np.int64)
    data.feature_of_hist_bin = <const int32_t*>arena.address(storage.feature_at, np.int32)
    data.n_hist_bins = data.hist_bin_capacity = data.offset[data.n_features]
    data.n_visits = count_visits(data)
    data.row_updates = storage.row_updates
    shared.max_bins = dataset.n_bins.max()
    read_lanes(data, arena, storage)
    read_shorts_and_entries(data, arena, storage)
    return 0


cdef int read_settings(Shared* shared, settings, int64_t n_rows) except -1:
    """Copy resolved `Settings`; ``n_rows`` is the number of rows of all processes."""
    cdef Settings* out = &shared.settings
    cdef SplitRules* rules = &shared.rules
    rules[0] = split_rules(settings)
    # Each leaf has at least min_count rows.
    out.max_leaves = max(
        1, min(settings.num_leaves, n_rows // rules.min_count))
    out.max_depth = settings.max_depth
    out.tree_fraction = settings.colsample_bytree
    out.node_fraction = settings.feature_fraction_bynode
    out.feature_seed = settings.feature_fraction_seed
    out.extra_seed = settings.extra_seed
    out.extra_trees = settings.extra_trees
    out.learning_rate = settings.learning_rate
    return 0


cdef int read_subset_source(Shared* shared, Arena arena, storage, settings) except -1:
    """Describe where the bins of sampled features come from, if a tree should read only these."""
    cdef SubsetSource* out = &shared.subset_source
    cdef Binned* data = &shared.data
    cdef int i
    max_features = min(
        data.n_features,
        <int>max(1.0, settings.colsample_bytree * data.n_features + 0.5)
        + len({shared.constraints.forced[i].feature
               for i in range(shared.constraints.n_forced)}))
    fraction = max_features / data.n_features
    if fraction == 1:
        return 0
    if storage.subset_work(fraction, sampled_fraction(settings)) > MAX_RELATIVE_WORK:
        return 0
    out.max_features = max_features
    out.max_entries = sum_of_largest(storage.entry_lengths, max_features)
    if data.n_lanes < data.n_groups:
        out.lane_codes = min(data.lane_stride, LANE_CODES)
    out.columns = shared.columns
    out.group = <const int32_t*>arena.address(storage.group, np.int32)
    lane_features = storage.in_lanes
    out.lane_features = <const int32_t*>arena.address(lane_features, np.int32)
    out.n_lane_features = len(lane_features)
    hist_bin_features = np.setdiff1d(np.arange(data.n_features), lane_features)
    out.hist_bin_features = <const int32_t*>arena.address(hist_bin_features, np.int32)
    out.n_hist_bin_features = len(hist_bin_features)
    out.short_features = <const int32_t*>arena.address(storage.in_shorts, np.int32)
    data.hist_bin_capacity = sum_of_largest(np.diff(storage.offset), max_features)
    data.hist_bin_sums = min(max_features, data.n_groups) * data.lane_stride
    data.sums_size = data.hist_bin_sums + FOLD_SIZE
    if data.n_hist_bin_pieces > 0:
        data.sums_size += data.hist_bin_capacity + 1
    return 0


cdef int read_constraints(Shared* shared, Arena arena, constraints) except -1:
    """Point `shared.constraints` to the arrays of `TreeConstraints`."""
    cdef Constraints* out = &shared.constraints
    out.bounding = <Bounding><int>constraints.bounding
    out.penalty = constraints.penalty
    if constraints.sign is not None:
        out.sign = <const int8_t*>arena.address(constraints.sign, np.int8)
        shared.rules.bounded = out.bounding != UNBOUNDED
    if constraints.factor is not None:
        out.factor = <const double*>arena.address(constraints.factor, np.float64)
    if constraints.sets is not None:
        out.n_sets = len(constraints.sets.start) - 1
        out.set_start = <const int64_t*>arena.address(constraints.sets.start, np.int64)
        out.set_features = <const int32_t*>arena.address(
            constraints.sets.features, np.int32)
        out.feature_sets_start = <const int64_t*>arena.address(
            constraints.sets.by_feature_start, np.int64)
        out.feature_sets = <const int32_t*>arena.address(
            constraints.sets.by_feature, np.int32)
    out.n_forced = len(constraints.forced)
    out.forced = <const ForcedSplit*>arena.address(constraints.forced, np.int32)
    return 0
