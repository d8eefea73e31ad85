from libc.stdint cimport int32_t, int64_t

from skgoss._engine.columns.column_kernels cimport InputColumns
from skgoss._engine.model.predict cimport Tables
from skgoss._engine.model.quadrature cimport QuadratureRule
from skgoss._engine.model.tree_steps cimport StepTables
from skgoss._engine.signals cimport Watch


# The arguments of a call, which are the same for all rows.
cdef struct Call:
    const Tables* tables
    const StepTables* steps
    const QuadratureRule* rules
    const int64_t* tree_rule        # the rule of each tree
    InputColumns inputs
    int64_t first_tree
    int64_t stop_tree
    int64_t n_rows
    int64_t n_blocks                # of a tile
    double divisor
    const int32_t* pair_slots       # (n_pairs, 2)
    const int64_t* target           # (n_slots,): positions in a row of the output
    const int64_t* pair_target      # (n_pairs, 2)
    const double* constant          # (n_constants,): expected values,
    const int64_t* constant_target  # and their positions
    int64_t n_constants
    int64_t width                   # of a row of the output
    double* out


# The number of blocks of a tile.
cdef int64_t tile_blocks(const Call* call, int n_threads) noexcept nogil

# Explains all rows, tile by tile; false if there is not enough memory.
cdef bint explain_rows(const Call* call, int n_threads, Watch* watch) noexcept nogil
