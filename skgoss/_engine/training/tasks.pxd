"""Work that threads share out among themselves: leaves that are divided together."""

from libc.stdint cimport int64_t, uint8_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.training.layout cimport Encoding
from skgoss._engine.training.split cimport Split
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef enum:
    # A thread gets so many tasks of a loop in the mean, so that one that is held up does not hold
    # up the others.
    TASKS_PER_THREAD = 4
    # And so many updates or visits of bins at least, or else waking it costs more than it gives.
    MIN_WORK_PER_THREAD = 8000

cdef struct Siblings:
    # Two new leaves, or one: the root or a leaf that is searched again. Histogram subtraction
    # (Ke et al., LightGBM, NeurIPS 2017, section 2): only the rows of the smaller sibling are
    # summed, and the larger one's histogram is what is left of the parent's.
    Workspace* ws
    Leaf* smaller
    Leaf* larger              # its slot has the parent's histogram until then; NULL: none
    const Encoding* parent_encoding
    bint search_smaller       # whether its best split is looked for
    bint search_larger
    bint is_summed            # the smaller one's rows, in its slot; else tile by tile in the search
    int64_t lock              # of the best splits
    Split best[2]             # of the smaller and of the larger one, as far as they are searched

cdef struct Division:
    # A leaf that is divided, and how far that is.
    Workspace* tree
    Workspace* ws             # the same, or a copy with scratch memory for this leaf
    int index                 # of the leaf in its tree
    bint ahead                # of its turn
    bint alone                # one thread does all
    double work               # in updates and visits of bins
    int status                # 0 or NO_MEMORY
    Leaf parent               # a copy of the leaf
    int node                  # the one that takes its place
    Leaf* left
    Leaf* right
    const BinColumn* column
    const uint8_t* goes_left  # by code
    Py_ssize_t n_left         # of its rows, those that go left

cdef struct Turn:
    # Threads add their sums to a histogram one after the other.
    int64_t lock
    bint is_begun             # the histogram has sums

cdef struct LaneRange:
    # Some lanes of a leaf's rows, or all that is not in lanes: several tasks sum the rows.
    int first_lane
    int n_lanes               # 0: what is not in lanes
    int n_tasks
    Turn turn

cdef enum TaskKind:
    # Of a task of the last list of a batch.
    BOTH_SIDES                # search features of two siblings
    SMALLER_SIDE              # of the smaller one alone
    LARGER_SIDE
    WHOLE_DIVISION            # divide a leaf

cdef struct Task:
    int index                 # which of the divisions or siblings of the batch
    int kind                  # the `TaskKind`, or which of the batch's `LaneRange`s
    Py_ssize_t first          # rows, or features
    Py_ssize_t end
    Py_ssize_t n_left         # of the rows, those that go left
    Py_ssize_t n_before       # and rows before them that do

cdef struct Batch:
    # What a team of threads does together.
    int first_thread
    int n_threads
    Workspace* helpers        # one for each division
    Division* divisions
    int n_divisions
    int max_divisions
    double work               # of all divisions, in updates and visits of bins
    Siblings* siblings
    int n_siblings
    LaneRange* lane_ranges
    int n_lane_ranges
    int lane_range_room
    Task* tasks
    int n_tasks
    int task_room
    int status                # 0 or NO_MEMORY

ctypedef void (*TaskBody)(Shared*, Batch*, Task*, int) noexcept nogil


cdef void add_task(
    Batch* batch, int index, int kind, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil

cdef int add_lane_range(Batch* batch, int first_lane, int n_lanes, int n_tasks) noexcept nogil

cdef double task_work(const Batch* batch, double work, double least) noexcept nogil

cdef void run_tasks(
    Shared* shared, Batch* batch, double work, TaskBody body,
) noexcept nogil
