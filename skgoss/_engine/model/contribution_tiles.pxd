from libc.stdint cimport int32_t, int64_t

from skgoss._engine.columns.column_kernels cimport InputColumns
from skgoss._engine.model.predict cimport Tables
from skgoss._engine.model.quadrature cimport QuadratureRule
from skgoss._engine.model.tree_steps cimport StepTables
from skgoss._engine.signals cimport Watch


# What the rows of a call have in common.
cdef struct Call:
    const Tables* tables
    const StepTables* steps
    const QuadratureRule* rules
    const int64_t* rule_of          # by tree
    InputColumns inputs
    int64_t first_tree
    int64_t stop_tree
    int64_t n_rows
    int64_t n_blocks                # of a tile
    double divisor
    const int32_t* pair_slots       # two a pair
    const int64_t* target           # by slot: where a row's value goes
    const int64_t* pair_target      # by pair: the two slots
    const double* constant          # the expected value of each score,
    const int64_t* constant_target  # and where it goes
    int64_t n_constants
    int64_t width                   # of a row of the output
    double* out


# The blocks of a tile, for so many rows, trees and threads.
cdef int64_t blocks_of_tile(const Call* call, int n_threads) noexcept nogil

# Explain all rows, tile by tile; false when memory ran out.
cdef bint explain_rows(const Call* call, int n_threads, Watch* watch) noexcept nogil
