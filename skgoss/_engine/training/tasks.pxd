"""Work that threads share out among themselves: leaves that are divided together."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.threads cimport TaskList
from skgoss._engine.training.layout cimport Encoding
from skgoss._engine.training.split cimport Split
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef enum:
    # The mean number of tasks of a loop for each thread, so that one that is held up does not
    # hold up the others.
    TASKS_PER_THREAD = 4
    # The least number of updates or visits of bins that pays for waking a thread.
    MIN_WORK_PER_THREAD = 8000
    # The number of pieces of a stack, each twice as long as the last one, so that none moves.
    PIECES = 24
    FIRST_PIECE = 64

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
    int first_side            # of the scratch arrays: the smaller one's; the larger has the next
    bint is_summed            # the smaller one's rows, in its slot; else tile by tile in the search
    int64_t n_open            # tasks that have not ended, of those at hand
    int64_t lock              # of the best splits
    Split best[2]             # of the smaller and of the larger one, as far as they are searched

cdef struct StoredMove:
    # The rows that a sparse column stores leave a leaf, and the others stay where they are.
    const BinColumn* column
    Leaf* small               # the child that they leave for
    Leaf* large
    bint sampled              # the rows of the root
    Py_ssize_t n_most         # rows that leave
    uint64_t* out             # where their records go
    uint64_t* taken           # first, those of each stored row at its place, if
    bint is_shared            # there is room for that

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
    StoredMove stored
    int first_chunk           # of the batch's tasks: those that look through its rows
    int end_chunk
    Py_ssize_t n_found        # rows that these have found, such as those that go left
    int64_t n_open            # tasks that have not ended, of those at hand

cdef enum:
    N_TURNS = 4

cdef struct Turn:
    # Threads add their sums of some lanes to a histogram one after the other.
    int64_t lock
    bint is_begun             # the histogram has sums

cdef struct LaneRange:
    # Some lanes of a leaf's rows, or all that is not in lanes: several tasks sum the rows.
    int first_lane
    int n_lanes               # 0: what is not in lanes
    int n_tasks
    Turn[N_TURNS] turns       # of a part of these lanes each

cdef enum TaskKind:
    # Of a task that searches siblings.
    BOTH_SIDES                # search features of two siblings
    SMALLER_SIDE              # of the smaller one alone
    LARGER_SIDE

ctypedef void (*TaskBody)(Shared*, Batch*, Task*, int) noexcept nogil

cdef struct Task:
    TaskBody body
    # What the last one of its group does, after which the next tasks of that begin; or NULL.
    TaskBody follow
    int64_t* n_open           # tasks of the group that have not ended
    int index                 # which of the divisions or siblings of the batch
    int kind                  # the `TaskKind`, or which of the batch's `LaneRange`s
    Py_ssize_t first          # rows, or features
    Py_ssize_t end
    Py_ssize_t n_found        # of the rows, such as those that go left
    Py_ssize_t n_before       # the same of rows before them

cdef struct Stack:
    # Values of one size that stay where they are while others are added.
    void* pieces[PIECES]
    int n
    size_t size

cdef struct Batch:
    # What a team of threads does together.
    TaskList list             # tasks that are ready, and those that have begun
    Shared* shared
    int first_thread
    int n_threads
    Workspace* helpers        # one for each division
    Division* divisions
    int n_divisions
    int max_divisions
    double work               # of all divisions, in updates and visits of bins
    Siblings* siblings        # two of each division
    int n_siblings
    Stack lane_ranges
    Stack tasks
    Stack late                # tasks that begin only where no other is ready
    int64_t lock              # of these stacks
    TaskBody after_move       # what follows when the rows of a leaf have moved
    Py_ssize_t chunk_size     # rows of a task that moves them
    double sum_size           # updates of a task that sums rows
    double search_size        # visits of bins of one that searches features
    int status                # 0 or NO_MEMORY


cdef void* item_at(const Stack* stack, int index) noexcept nogil

cdef void start_list(Shared* shared, Batch* batch) noexcept nogil

cdef void begin_adding(Batch* batch) noexcept nogil

cdef void end_adding(Batch* batch) noexcept nogil

cdef Task* add_task(
    Batch* batch, TaskBody body, int index, int kind, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil

cdef Task* add_late(Batch* batch, TaskBody body, int index) noexcept nogil

cdef void let_follow(Batch* batch, int first, int64_t* n_open, TaskBody follow) noexcept nogil

cdef int add_lane_range(Batch* batch, int first_lane, int n_lanes, int n_tasks) noexcept nogil

cdef double task_work(const Batch* batch, double work, double least) noexcept nogil

cdef void run_tasks(Batch* batch, double work) noexcept nogil

cdef void free_tasks(Batch* batch) noexcept
