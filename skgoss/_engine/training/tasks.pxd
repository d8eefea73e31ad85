"""Tasks that the threads of a team divide among themselves, to divide leaves in batches.

A task calls its body, a function ``..._task``. The last task of a group to end also calls the
continuation of the group, a function ``after_...``, which adds the tasks that depend on it.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from skgoss._engine.binning.store cimport BinColumn
from skgoss._engine.threads cimport TaskList
from skgoss._engine.training.layout cimport Encoding
from skgoss._engine.training.split cimport Split
from skgoss._engine.training.workspace cimport Leaf, Shared, Workspace

cdef enum:
    # The mean number of tasks of a loop for each thread: with several, a thread that is delayed
    # does not delay the others.
    TASKS_PER_THREAD = 4
    # Waking a thread takes as long as this number of updates or visits of bins.
    MIN_WORK_PER_THREAD = 8000
    # A stack grows by segments, each twice as long as the last one, so that no value moves.
    N_SEGMENTS = 24
    FIRST_SEGMENT = 64

cdef struct Siblings:
    # Two new leaves, or one: the root or a leaf that is searched again. Histogram subtraction
    # (Ke et al., LightGBM, NeurIPS 2017, section 2): only the rows of the smaller sibling are
    # summed, and subtracting them from the parent's histogram leaves that of the larger one.
    Workspace* ws
    Leaf* smaller
    Leaf* larger              # its slot has the parent's histogram before; NULL: none
    const Encoding* parent_encoding
    bint search_smaller       # whether to find its best split
    bint search_larger
    int first_side            # of the scratch arrays: the smaller one's; the larger has the next
    bint is_summed            # the smaller one's rows, in its slot; else tile by tile in the search
    int64_t n_open            # tasks of the current group that have not ended
    int64_t lock              # of the best splits
    Split best[2]             # of the smaller and of the larger one, as far as they are searched

cdef struct StoredMove:
    # A split by a sparse column that moves only some of the rows that the column stores.
    const BinColumn* column
    Leaf* small               # the child that they move to
    Leaf* large               # the one whose rows stay in place
    bint sampled              # the rows of the root
    Py_ssize_t max_moved      # rows
    uint64_t* out             # where their records go
    uint64_t* taken           # records that tasks find: at most one for each stored row
    bint in_parallel          # whether there is memory for them

cdef struct Division:
    # A leaf that is divided, by its best split, and the progress of its tasks.
    Workspace* tree
    Workspace* ws             # the same, or a copy with scratch memory for this leaf
    int index                 # of the leaf in its tree
    bint is_speculative
    bint is_serial            # whether one thread divides it
    double work               # in updates and visits of bins
    int status                # 0 or NO_MEMORY
    Leaf parent               # a copy of the leaf
    int node                  # the inner node that replaces it
    Leaf* left
    Leaf* right
    const BinColumn* column
    const uint8_t* goes_left  # by code
    StoredMove stored
    int first_chunk           # of the batch's tasks: the first pass over chunks of rows
    int end_chunk
    Py_ssize_t n_found        # rows that these tasks have found, such as those that go left
    int64_t n_open            # tasks of the current group that have not ended

cdef enum:
    N_TURNS = 4

cdef struct Turn:
    # Part of a lane range: threads add their sums of it to the histogram one after the other.
    int64_t lock
    bint is_begun             # the histogram has sums

cdef struct LaneRange:
    # Lanes, or all shorts and entries, of the rows of a leaf, which several tasks sum.
    int first_lane
    int n_lanes               # 0: shorts and entries
    int n_tasks
    Turn[N_TURNS] turns

cdef enum TaskKind:
    # Which of two siblings a task searches.
    BOTH_SIDES
    SMALLER_SIDE
    LARGER_SIDE

ctypedef void (*TaskBody)(Shared*, Batch*, Task*, int) noexcept nogil

cdef struct Task:
    TaskBody body
    TaskBody continuation     # of its group; NULL: none
    int64_t* n_open           # tasks of the group that have not ended
    int index                 # of a division, or of siblings, in the batch
    int kind                  # a `TaskKind`, or the number of a `LaneRange` of the batch
    Py_ssize_t first          # the rows or features first:end
    Py_ssize_t end
    Py_ssize_t n_found        # of these rows, such as those that go left
    Py_ssize_t n_before       # the same of all rows before them

cdef struct Stack:
    # Values of one size. They do not move when others are added.
    void* segments[N_SEGMENTS]
    int n
    size_t size

cdef struct Batch:
    # Leaves that a team of threads divides, and the tasks to do so.
    TaskList list             # must be the first field: `run_task` casts it to the batch
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
    Stack deferred            # tasks that begin only if no other is ready
    int64_t lock              # of these stacks
    TaskBody after_move       # the continuation of the tasks that move the rows of a leaf
    Py_ssize_t chunk_size     # rows of a task that moves them
    double sum_size           # updates of a task that sums rows
    double search_size        # visits of bins of one that searches features
    int status                # 0 or NO_MEMORY


cdef void* item_at(const Stack* stack, int index) noexcept nogil

cdef void start_list(Shared* shared, Batch* batch) noexcept nogil

cdef void lock_tasks(Batch* batch) noexcept nogil

cdef void publish_tasks(Batch* batch) noexcept nogil

cdef Task* add_task(
    Batch* batch, TaskBody body, int index, int kind, Py_ssize_t first, Py_ssize_t end,
) noexcept nogil

cdef Task* add_deferred(Batch* batch, TaskBody body, int index) noexcept nogil

cdef void set_continuation(
    Batch* batch, int first, int64_t* n_open, TaskBody continuation,
) noexcept nogil

cdef int add_lane_range(Batch* batch, int first_lane, int n_lanes, int n_tasks) noexcept nogil

cdef double task_work(const Batch* batch, double work, double min_work) noexcept nogil

cdef void run_tasks(Batch* batch, double work) noexcept nogil

cdef void free_tasks(Batch* batch) noexcept
