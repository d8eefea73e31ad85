from libc.stdint cimport int32_t, int64_t

from skgoss._engine.columns.column_kernels cimport InputColumns
from skgoss._engine.model.predict cimport Tables
from skgoss._engine.model.quadrature cimport QuadratureRule
from skgoss._engine.model.tree_steps cimport Line, Origin, Pair, Step, Term, TreeSteps
from skgoss._engine.signals cimport Watch


# What the rows of a call have in common.
cdef struct Call:
    const Tables* tables
    InputColumns inputs
    const TreeSteps* trees
    const QuadratureRule* rules
    const Step* steps
    const Origin* origins
    const Pair* pairs
    const Line* lines
    const int64_t* leaf_start       # by tree: where its lines begin
    const Term* terms
    const int64_t* raw_feature      # columns of lines: their values follow those of nodes
    int64_t n_raw
    const int32_t* pair_slots       # two a pair
    int64_t n_slots
    int64_t n_pairs
    int64_t max_nodes
    int64_t max_depth
    bint with_pairs
    int64_t first_tree
    int64_t stop_tree
    int64_t n_rows
    int64_t n_blocks                # of a tile
    double divisor
    const int64_t* target           # by slot: where a row's value goes
    const int64_t* pair_target      # by pair: the two slots
    const double* constant          # the expected value of each score,
    const int64_t* constant_target  # and where it goes
    int64_t n_constants
    int64_t width                   # of a row of the output
    double* out


# Explain all rows, tile by tile; false when memory ran out.
cdef bint explain_rows(const Call* call, int n_threads, Watch* watch) noexcept nogil
