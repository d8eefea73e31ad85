/* Virtual cores: what the parallel loops of a program would take on more cores than there are.

Preloaded, this library takes the place of the OpenMP library of GCC. The pool of skgoss hands its
loops over to it.
A parallel region of P parts runs part after part, on one thread, and the processor's time stamp
counter measures each part. On P cores the region takes as long as its longest part. Iterations
that threads take from a common counter are measured one by one, and scheduled as P threads would
take them: the next one goes to the thread that is the first to be free. Parts that wait for each
other at a barrier run on stacks of their own, and each stretch between barriers is measured alone.
What lies between regions is serial; the processor time of the thread measures it.

Tasks of which some begin when others have ended run in the order of their list. Then they are
scheduled as threads would take them: a task is ready when all of its predecessors have ended, and
its release takes RELEASE_NS to be seen.

Time of other processes is left out: every 200 us the clock of the thread's processor time is read,
and what the pieces since then have taken longer is taken off the longest one.

Only the thread that calls `span_start` is measured. On other threads, and inside regions, a region
has one part. Its time is also divided into stretches with and without Python's interpreter lock,
for which runs wait that advance side by side. x86-64 Linux and GCC only. See many_cores.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

enum {
    MAX_PARTS = 256,
    MAX_LOOPS = 64,           /* in a region, between two barriers */
    MAX_CHUNKS = 1 << 20,
    MAX_PLACES = 1024,        /* regions in the code */
    MAX_PAIRS = 4096,
    MAX_STRETCHES = 1 << 21,
    MAX_GROUPS = 1 << 16,     /* of tasks */
    RELEASE_NS = 500,
    STACK_BYTES = 8 << 20,
    WINDOW_US = 200,          /* between two looks at the processor time */
};

typedef int64_t Ticks;        /* of the time stamp counter */

/* A loop whose iterations are handed out. */
typedef struct {
    bool is_open, is_guided;
    int64_t next, end, step, chunk;
} Loop;

typedef struct Region {
    void (*body)(void *);
    void *data;
    unsigned n_parts;
    unsigned n_singles;       /* sections for one thread that one has had */
    Loop loops[MAX_LOOPS];
} Region;

/* Where a part stands. */
typedef struct {
    unsigned n_loops, n_singles;
    bool is_over;
    ucontext_t context;
    void *stack;
} Part;

static _Thread_local Region *current;
static _Thread_local unsigned part;
static _Thread_local bool is_measured;    /* this thread */

static Part parts[MAX_PARTS];
static ucontext_t home;

static inline Ticks ticks(void) { return (Ticks)__builtin_ia32_rdtsc(); }

/* The kernel tells the processor time; the time stamp counter is faster, but never stops. */
static inline int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    long result = SYS_clock_gettime;
    __asm__ volatile("syscall" : "+a"(result) : "D"((long)clock), "S"(&now)
                     : "rcx", "r11", "memory");
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t processor_time(void) { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

static int64_t ticks_per_us;
static int64_t clock_cost;                /* nanoseconds of `processor_time` */

/* ------------------------------------------------------------------ what a phase takes */

typedef struct {
    Ticks length;
    unsigned owner;           /* the part that ran it here */
} Chunk;

/* Of a chunk that is a task. It may be the last one that held up others: those from `first` on. */
typedef struct {
    int group;                /* of the tasks that hold up the same others; -1: none */
    int64_t number, first, end;
    bool is_deferred;
    void *name;
} Task;

/* A region, or what lies between two of its barriers. */
static struct {
    bool is_running;
    Ticks before[MAX_PARTS];  /* of each part: until it takes from the counter */
    Ticks after[MAX_PARTS];   /* and when nothing was left */
    bool has_taken[MAX_PARTS];
    unsigned n_takers;
    bool is_shared;           /* iterations are handed out */
    Ticks since;              /* when the piece began that runs */
    bool is_chunk;            /* whether it was taken from the counter */
    size_t n_chunks;
    Chunk chunks[MAX_CHUNKS];
    bool has_tasks;           /* each chunk is one */
    Task tasks[MAX_CHUNKS];
} phase;

/* The pieces since the last look at the processor time. */
static struct {
    int64_t start;
    Ticks length;             /* of all */
    Ticks longest;
    Ticks *place;             /* that it was added to */
} window;

static inline void begin_window(void)
{
    window.length = window.longest = 0;
    window.start = processor_time();
}

static inline void end_window(void)
{
    int64_t busy = processor_time() - window.start - clock_cost;
    Ticks excess = window.length - busy * ticks_per_us / 1000;
    if (excess > 3 * ticks_per_us)
        *window.place -= excess < window.longest ? excess : window.longest;
}

/* Keep a piece that ends. */
static inline void end_piece(Ticks now)
{
    Ticks length = now - phase.since;
    Ticks *place = phase.has_taken[part] ? &phase.after[part] : &phase.before[part];
    if (phase.is_chunk && phase.n_chunks < MAX_CHUNKS) {
        phase.chunks[phase.n_chunks].length = 0;
        phase.chunks[phase.n_chunks].owner = part;
        place = &phase.chunks[phase.n_chunks++].length;
    }
    *place += length;
    window.length += length;
    if (length > window.longest) {
        window.longest = length;
        window.place = place;
    }
    if (window.length > WINDOW_US * ticks_per_us) {
        end_window();
        begin_window();
    }
}

static inline void begin_piece(bool is_chunk)
{
    phase.is_chunk = is_chunk;
    phase.since = ticks();
}

static inline void note_taker(void)
{
    phase.n_takers += !phase.has_taken[part];
    phase.has_taken[part] = true;
}

static void begin_phase(unsigned n_parts)
{
    memset(phase.before, 0, n_parts * sizeof(Ticks));
    memset(phase.after, 0, n_parts * sizeof(Ticks));
    memset(phase.has_taken, 0, n_parts * sizeof(bool));
    phase.n_takers = 0;
    phase.is_shared = phase.has_tasks = false;
    phase.n_chunks = 0;
    begin_window();
}

/* ------------------------------------------------------------------ schedules */

/* Chunks from a common counter: each goes to the core that is the first to be free. */
static void schedule_chunks(Ticks *busy, unsigned n_parts)
{
    bool is_common = phase.is_shared || phase.n_takers > 1;
    for (size_t i = 0; i < phase.n_chunks; i++) {
        unsigned first = phase.chunks[i].owner;
        if (is_common)
            for (unsigned j = 0; j < n_parts; j++)
                first = busy[j] < busy[first] ? j : first;
        busy[first] += phase.chunks[i].length;
    }
}

/* Tasks that hold up the same others: they have to end before these begin. */
typedef struct {
    int64_t n_open, first, end;
    Ticks until;
} Gate;

static Gate gates[MAX_CHUNKS];
static int gate_of[MAX_CHUNKS];           /* by chunk; -1: it holds up nothing */
static Ticks ready[MAX_CHUNKS];           /* by number; NEVER: it is held up */
static int chunk_of[MAX_CHUNKS];          /* by number; -1: it has begun, or is deferred */
static int deferred[MAX_CHUNKS];
static const Ticks NEVER = INT64_MAX;

/* Find out which tasks held up which; returns how many are deferred. */
static int find_gates(void)
{
    static int gate_of_group[MAX_GROUPS];
    int n_gates = 0, n_deferred = 0;
    memset(gate_of_group, -1, sizeof(gate_of_group));
    for (size_t i = 0; i < phase.n_chunks; i++) {
        const Task *task = &phase.tasks[i];
        ready[i] = 0;
        chunk_of[i] = -1;
        gate_of[i] = -1;
        if (task->is_deferred)
            deferred[n_deferred++] = (int)i;
        else
            chunk_of[task->number] = (int)i;
        if (task->group < 0)
            continue;
        if (task->group >= MAX_GROUPS)
            abort();
        int *gate = &gate_of_group[task->group];
        if (*gate < 0) {
            *gate = n_gates;
            gates[n_gates++] = (Gate){0, 0, 0, 0};
        }
        gate_of[i] = *gate;
        gates[*gate].n_open++;
        gates[*gate].first = task->first;
        gates[*gate].end = task->end;
        if (task->first < task->end)
            *gate = -1;
    }
    for (int i = 0; i < n_gates; i++)
        for (int64_t k = gates[i].first; k < gates[i].end; k++)
            ready[k] = NEVER;
    return n_deferred;
}

/* The chunk of the task that is ready first; -1: none is. */
static int first_ready(int64_t n, Ticks now, Ticks *next_out)
{
    int64_t best = -1;
    *next_out = NEVER;
    for (int64_t k = 0; k < n; k++) {
        if (chunk_of[k] < 0 || ready[k] == NEVER)
            continue;
        if (ready[k] > now)
            *next_out = ready[k] < *next_out ? ready[k] : *next_out;
        else if (best < 0 || ready[k] < ready[best])
            best = k;
    }
    if (best < 0)
        return -1;
    int chunk = chunk_of[best];
    chunk_of[best] = -1;
    return chunk;
}

static void end_task(int chunk, Ticks until)
{
    if (gate_of[chunk] < 0)
        return;
    Gate *gate = &gates[gate_of[chunk]];
    gate->until = until > gate->until ? until : gate->until;
    if (--gate->n_open == 0)
        for (int64_t k = gate->first; k < gate->end; k++)
            ready[k] = gate->until + RELEASE_NS * ticks_per_us / 1000;
}

/* Each core that is free takes the task that was ready first, or else a deferred one, or waits. */
static void schedule_tasks(Ticks *busy, unsigned n_parts)
{
    int n_deferred = find_gates(), n_deferred_begun = 0;
    int64_t n = (int64_t)phase.n_chunks - n_deferred;
    for (size_t n_ended = 0; n_ended < phase.n_chunks;) {
        unsigned core = 0;
        Ticks next;
        for (unsigned j = 1; j < n_parts; j++)
            core = busy[j] < busy[core] ? j : core;
        int chunk = first_ready(n, busy[core], &next);
        if (chunk < 0 && n_deferred_begun < n_deferred)
            chunk = deferred[n_deferred_begun++];
        if (chunk >= 0) {
            busy[core] += phase.chunks[chunk].length;
            end_task(chunk, busy[core]);
            n_ended++;
            continue;
        }
        for (unsigned j = 0; j < n_parts; j++)
            next = busy[j] > busy[core] && busy[j] < next ? busy[j] : next;
        if (next == NEVER)
            abort();
        busy[core] = next;
    }
}

typedef struct {
    double work, makespan, largest;
} Measured;

/* Schedule the pieces on so many cores; in nanoseconds. */
static Measured end_phase(unsigned n_parts)
{
    Measured out = {0, 0, 0};
    Ticks *busy = phase.before;
    double ticks_per_ns = ticks_per_us / 1000.0;
    end_window();
    for (unsigned i = 0; i < n_parts; i++)
        out.work += busy[i] + phase.after[i];
    for (size_t i = 0; i < phase.n_chunks; i++) {
        out.work += phase.chunks[i].length;
        if (phase.chunks[i].length > out.largest && phase.is_shared)
            out.largest = phase.chunks[i].length;
    }
    if (phase.has_tasks)
        schedule_tasks(busy, n_parts);
    else
        schedule_chunks(busy, n_parts);
    for (unsigned i = 0; i < n_parts; i++) {
        Ticks length = busy[i] + phase.after[i];
        if (length > out.makespan)
            out.makespan = length;
    }
    out.work /= ticks_per_ns;
    out.makespan /= ticks_per_ns;
    out.largest /= ticks_per_ns;
    return out;
}

/* ------------------------------------------------------------------ the sums of a run */

/* A region in the code; the first one stands for the begin and the end of the run. */
typedef struct {
    void *body;
    void *caller;
    int64_t n, n_parts, n_chunks;
    double levels;            /* the sum of log2(parts) */
    double work, makespan, largest;
    int64_t n_alone;          /* times that it had one part */
    double alone;
    int64_t n_tasks;          /* of this function, in regions of others */
    double in_tasks;
} Place;

typedef struct {
    int from, to;
    int64_t n;
    double serial;
} Pair;

static struct {
    unsigned n_cores;
    Place places[MAX_PLACES];
    int n_places;
    Pair pairs[MAX_PAIRS];
    int n_pairs;
    int last;                 /* the place of the last region */
    int64_t until;            /* processor time when it ended */
    int64_t total;
} run;

/* Stretches of the thread with the interpreter's lock, and those without that follow them. */
typedef struct {
    double held, free;        /* nanoseconds; of a region in them, its makespan */
    int64_t n_parts;          /* of its regions */
    double levels;            /* the sum of log2(parts) of these */
} Stretch;

static struct {
    double clock;             /* nanoseconds of the run when the last region ended */
    double since;             /* and when the stretch began */
    bool is_free;
    int n;
    Stretch stretches[MAX_STRETCHES];
} trace;

static double now_in_run(void)
{
    int64_t serial = processor_time() - run.until - clock_cost;
    return trace.clock + (serial > 0 ? serial : 0);
}

static Stretch *open_stretch(void) { return &trace.stretches[trace.n]; }

/* End what the thread is in, and go on without or with the lock. */
static void switch_lock(bool is_free)
{
    double now = now_in_run();
    *(trace.is_free ? &open_stretch()->free : &open_stretch()->held) += now - trace.since;
    if (trace.is_free && !is_free && ++trace.n == MAX_STRETCHES)
        abort();
    trace.is_free = is_free;
    trace.since = now;
}

static int place_of(void *body, void *caller)
{
    int i;
    for (i = 1; i < run.n_places; i++)
        if (run.places[i].body == body)
            return i;
    if (run.n_places == MAX_PLACES)
        abort();
    run.places[i].body = body;
    run.places[i].caller = caller;
    run.n_places++;
    return i;
}

static void add_serial(int to, double serial)
{
    int i;
    for (i = 0; i < run.n_pairs; i++)
        if (run.pairs[i].from == run.last && run.pairs[i].to == to)
            break;
    if (i == MAX_PAIRS)
        abort();
    run.pairs[i].from = run.last;
    run.pairs[i].to = to;
    if (i == run.n_pairs)
        run.n_pairs++;
    run.pairs[i].n++;
    run.pairs[i].serial += serial > 0 ? serial : 0;
    run.last = to;
}

/* Add up the tasks of a phase by their functions. */
static void count_tasks(void)
{
    for (size_t i = 0; phase.has_tasks && i < phase.n_chunks; i++) {
        Place *place = &run.places[place_of(phase.tasks[i].name, NULL)];
        place->n_tasks++;
        place->in_tasks += phase.chunks[i].length * 1000.0 / ticks_per_us;
    }
}

/* ------------------------------------------------------------------ regions */

static void run_part(void) { current->body(current->data); }

static void on_own_stack(void)
{
    run_part();
    parts[part].is_over = true;
    swapcontext(&parts[part].context, &home);
}

static void prepare_stack(Part *at)
{
    if (at->stack == NULL)
        at->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at->stack == MAP_FAILED)
        abort();
    getcontext(&at->context);
    at->context.uc_stack.ss_sp = at->stack;
    at->context.uc_stack.ss_size = STACK_BYTES;
    at->context.uc_link = NULL;
    makecontext(&at->context, on_own_stack, 0);
}

/* Run all parts until they are over or wait at a barrier; returns whether they are over. */
static bool run_phase(Region *region, bool may_wait, bool is_first)
{
    bool all_over = true;
    for (part = 0; part < region->n_parts; part++) {
        phase.is_running = true;
        begin_piece(false);
        if (may_wait) {
            swapcontext(&home, &parts[part].context);
        } else {
            run_part();
            parts[part].is_over = true;
        }
        phase.is_chunk = false;
        end_piece(ticks());
        phase.is_running = false;
        all_over &= parts[part].is_over;
        /* If the first part meets no barrier, the others do not either. */
        may_wait &= !(is_first && part == 0 && all_over);
    }
    return all_over;
}

static void run_region(Region *region, int place, bool may_wait)
{
    Place *sums = &run.places[place];
    bool is_first = true, is_over = false;
    int64_t start = processor_time();
    trace.clock = now_in_run();
    add_serial(place, start - run.until - clock_cost);
    for (unsigned i = 0; i < region->n_parts; i++) {
        parts[i].n_loops = parts[i].n_singles = 0;
        parts[i].is_over = false;
        if (may_wait)
            prepare_stack(&parts[i]);
    }
    sums->n++;
    sums->n_parts += region->n_parts;
    sums->levels += log2(region->n_parts);
    current = region;
    while (!is_over) {
        begin_phase(region->n_parts);
        is_over = run_phase(region, may_wait, is_first);
        is_first = false;
        Measured measured = end_phase(region->n_parts);
        count_tasks();
        sums->n_chunks += phase.n_chunks;
        sums->work += measured.work;
        sums->makespan += measured.makespan;
        trace.clock += measured.makespan;
        sums->largest += measured.largest;
        for (unsigned i = 0; i < region->n_parts; i++)
            parts[i].n_loops = 0;
        memset(region->loops, 0, sizeof(region->loops));
    }
    current = NULL;
    part = 0;
    open_stretch()->n_parts += region->n_parts;
    open_stretch()->levels += log2(region->n_parts);
    run.until = processor_time();
}

/* A region of one part: inside another one, on another thread, or because it is small. */
static void run_alone(Region *region, void *name, void *caller)
{
    Region *outer = current;
    unsigned outer_part = part;
    bool counts = is_measured && outer == NULL;
    Ticks start = ticks();
    region->n_parts = 1;
    current = region;
    part = 0;
    run_part();
    current = outer;
    part = outer_part;
    if (counts) {
        Place *place = &run.places[place_of(name, caller)];
        place->n_alone++;
        place->alone += (ticks() - start) * 1000.0 / ticks_per_us;
    }
}

static void parallel(void (*body)(void *), void *data, unsigned n_parts, bool may_wait,
                     void *name, void *caller)
{
    static Region top;
    Region inner;
    bool is_top = is_measured && current == NULL;
    Region *region = is_top ? &top : &inner;
    memset(region, 0, sizeof(Region));
    region->body = body;
    region->data = data;
    region->n_parts = n_parts > 0 ? n_parts : run.n_cores;
    if (region->n_parts > MAX_PARTS)
        abort();
    if (is_top && region->n_parts > 1)
        run_region(region, place_of(name, caller), may_wait);
    else
        run_alone(region, name, caller);
}

/* ------------------------------------------------------------------ what the compiler calls */

#define EXPORT __attribute__((visibility("default")))

EXPORT void GOMP_parallel(void (*body)(void *), void *data, unsigned n_threads, unsigned flags)
{
    (void)flags;
    parallel(body, data, n_threads, true, (void *)body, __builtin_return_address(0));
}

EXPORT int omp_get_thread_num(void) { return (int)part; }

EXPORT int omp_get_num_threads(void) { return current == NULL ? 1 : (int)current->n_parts; }

EXPORT int omp_get_max_threads(void) { return (int)run.n_cores; }

EXPORT int omp_get_num_procs(void) { return (int)run.n_cores; }

EXPORT int omp_in_parallel(void) { return current != NULL && current->n_parts > 1; }

/* Whether the region at hand is the one that is measured. */
static bool is_outermost(void) { return phase.is_running && is_measured && current->n_parts > 1; }

EXPORT void GOMP_barrier(void)
{
    if (current == NULL || current->n_parts == 1)
        return;
    swapcontext(&parts[part].context, &home);
}

EXPORT bool GOMP_single_start(void)
{
    if (current == NULL || current->n_parts == 1)
        return true;
    if (parts[part].n_singles++ < current->n_singles)
        return false;
    current->n_singles++;
    return true;
}

EXPORT void GOMP_critical_start(void) {}
EXPORT void GOMP_critical_end(void) {}
EXPORT void GOMP_atomic_start(void) {}
EXPORT void GOMP_atomic_end(void) {}

static Loop *loop_at_hand(void)
{
    unsigned n = is_outermost() ? parts[part].n_loops : 1;
    if (n > MAX_LOOPS)
        abort();
    return &current->loops[n - 1];
}

static bool take(Loop *loop, int64_t *start_out, int64_t *end_out)
{
    int64_t left = (loop->end - loop->next) / loop->step
        + ((loop->end - loop->next) % loop->step != 0);
    int64_t n = loop->chunk;
    if (left <= 0)
        return false;
    if (loop->is_guided) {
        n = (left + current->n_parts - 1) / current->n_parts;
        n = n < loop->chunk ? loop->chunk : n;
    }
    *start_out = loop->next;
    loop->next = n < left ? loop->next + n * loop->step : loop->end;
    *end_out = loop->next;
    return true;
}

static bool next_chunk(int64_t *start_out, int64_t *end_out)
{
    bool counts = is_outermost();
    if (counts) {
        end_piece(ticks());
        note_taker();
        phase.is_shared = true;
    }
    bool any = take(loop_at_hand(), start_out, end_out);
    if (counts)
        begin_piece(any);
    return any;
}

static bool start_loop(Loop description, int64_t *start_out, int64_t *end_out)
{
    if (is_outermost())
        parts[part].n_loops++;
    Loop *loop = loop_at_hand();
    if (!loop->is_open || !is_outermost())
        *loop = description;
    return next_chunk(start_out, end_out);
}

#define DYNAMIC(name)                                                                            \
    EXPORT bool GOMP_loop_##name##_next(long *start_out, long *end_out)                          \
    {                                                                                            \
        return next_chunk((int64_t *)start_out, (int64_t *)end_out);                             \
    }                                                                                            \
    EXPORT bool GOMP_loop_##name##_start(                                                        \
        long start, long end, long step, long chunk, long *start_out, long *end_out)             \
    {                                                                                            \
        Loop loop = {true, strstr(#name, "guided") != NULL, start, end, step, chunk};            \
        return start_loop(loop, (int64_t *)start_out, (int64_t *)end_out);                       \
    }                                                                                            \
    EXPORT bool GOMP_loop_ull_##name##_next(                                                     \
        unsigned long long *start_out, unsigned long long *end_out)                              \
    {                                                                                            \
        return next_chunk((int64_t *)start_out, (int64_t *)end_out);                             \
    }                                                                                            \
    EXPORT bool GOMP_loop_ull_##name##_start(                                                    \
        bool up, unsigned long long start, unsigned long long end, unsigned long long step,      \
        unsigned long long chunk, unsigned long long *start_out, unsigned long long *end_out)    \
    {                                                                                            \
        Loop loop = {true, strstr(#name, "guided") != NULL,                                      \
                     (int64_t)start, (int64_t)end, (int64_t)step, (int64_t)chunk};               \
        (void)up;                                                                                \
        return start_loop(loop, (int64_t *)start_out, (int64_t *)end_out);                       \
    }

DYNAMIC(dynamic)
DYNAMIC(guided)
DYNAMIC(nonmonotonic_dynamic)
DYNAMIC(nonmonotonic_guided)

EXPORT void GOMP_loop_end_nowait(void) {}

EXPORT void GOMP_loop_end(void) { GOMP_barrier(); }

/* ------------------------------------------------------------------ loops of skgoss */

/* As in skgoss/_engine/pool.h. */
typedef struct {
    void (*body)(void *context, ptrdiff_t begin, ptrdiff_t end, int thread);
    void *context;
    ptrdiff_t n, block;
    int n_threads;
    bool in_shares;
} PoolLoop;

static void run_blocks(const PoolLoop *loop, ptrdiff_t first, ptrdiff_t end)
{
    for (ptrdiff_t i = first; i < end; i++) {
        ptrdiff_t begin = i * loop->block, left = loop->n - begin;
        loop->body(loop->context, begin, begin + (left < loop->block ? left : loop->block),
                   (int)part);
    }
}

static ptrdiff_t n_blocks_of(const PoolLoop *loop)
{
    return (loop->n + loop->block - 1) / loop->block;
}

static void run_loop_part(void *data)
{
    const PoolLoop *loop = data;
    ptrdiff_t n_blocks = n_blocks_of(loop), n_parts = current->n_parts, own = part;
    ptrdiff_t size = n_blocks / n_parts, more = n_blocks % n_parts;
    ptrdiff_t first = own * size + (own < more ? own : more);
    int64_t begin, end;
    if (n_parts == 1) {
        run_blocks(loop, 0, n_blocks);
    } else if (loop->in_shares) {
        run_blocks(loop, first, first + size + (own < more));
    } else {
        Loop blocks = {true, false, 0, n_blocks, 1, 1};
        bool any = start_loop(blocks, &begin, &end);
        while (any) {
            run_blocks(loop, begin, end);
            any = next_chunk(&begin, &end);
        }
    }
}

/* No part waits for another one. */
EXPORT void span_run_loop(const PoolLoop *loop)
{
    ptrdiff_t n_blocks = n_blocks_of(loop);
    unsigned n_parts = n_blocks < loop->n_threads ? n_blocks : loop->n_threads;
    if (n_blocks > 0)
        parallel(run_loop_part, (void *)loop, n_parts > 0 ? n_parts : 1, false, (void *)loop->body,
                 NULL);
}

/* ------------------------------------------------------------------ tasks of skgoss */

/* As in skgoss/_engine/task_list.h. */
typedef struct TaskList {
    int (*run)(struct TaskList *list, ptrdiff_t number, int is_deferred, int thread);
    void *(*name)(const struct TaskList *list, ptrdiff_t number, int is_deferred);
    int64_t n_ready, n_begun, n_deferred, n_deferred_begun, n_open;
} TaskList;

static void run_tasks(void *data)
{
    TaskList *list = data;
    bool counts = is_outermost();
    while (list->n_open > 0) {
        Task task = {.is_deferred = list->n_begun == list->n_ready};
        int64_t *next = task.is_deferred ? &list->n_deferred_begun : &list->n_begun;
        task.number = (*next)++;
        task.name = list->name(list, task.number, task.is_deferred);
        task.first = list->n_ready;
        if (counts) {
            end_piece(ticks());
            note_taker();
            phase.is_shared = phase.has_tasks = true;
            begin_piece(true);
        }
        task.group = list->run(list, task.number, task.is_deferred, (int)part);
        task.end = list->n_ready;
        list->n_open--;
        if (counts && phase.n_chunks == MAX_CHUNKS)
            abort();
        if (counts)
            phase.tasks[phase.n_chunks] = task;
    }
    if (counts && phase.is_chunk) {
        end_piece(ticks());
        begin_piece(false);
    }
}

/* The first task names the region. */
EXPORT void span_run_tasks(TaskList *list, int n_threads)
{
    bool is_deferred = list->n_ready == 0;
    if (list->n_open > 0)
        parallel(run_tasks, list, n_threads > 0 ? n_threads : 1, false,
                 list->name(list, 0, is_deferred), NULL);
}

/* ------------------------------------------------------------------ from Python */

__attribute__((constructor)) static void calibrate(void)
{
    struct timespec nap = {0, 10000000};
    int64_t start = nanoseconds(CLOCK_MONOTONIC);
    Ticks first = ticks();
    nanosleep(&nap, NULL);
    Ticks last = ticks();
    ticks_per_us = (last - first) * 1000 / (nanoseconds(CLOCK_MONOTONIC) - start);
    run.n_cores = 1;
}

EXPORT void span_start(unsigned n_cores)
{
    memset(&run, 0, sizeof(run));
    memset(&trace, 0, sizeof(trace));
    run.n_cores = n_cores;
    run.n_places = 1;
    is_measured = true;
    int64_t start = processor_time();
    for (int i = 0; i < 1000; i++)
        run.until = processor_time();
    clock_cost = (run.until - start) / 1000;
    run.until = run.total = processor_time();
}

EXPORT void span_stop(void)
{
    int64_t now = processor_time();
    add_serial(0, now - run.until - clock_cost);
    run.total = now - run.total;
    is_measured = false;
}

/* The number of stretches so far; the one that is open ends. */
EXPORT int span_mark(void)
{
    switch_lock(true);
    switch_lock(false);
    return trace.n;
}

/* Of stretches from ``first`` on: four numbers each. */
EXPORT void span_stretches(int first, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        const Stretch *at = &trace.stretches[first + i];
        out[4 * i] = at->held;
        out[4 * i + 1] = at->free;
        out[4 * i + 2] = at->n_parts;
        out[4 * i + 3] = at->levels;
    }
}

/* Extension modules call these if Python is a shared library; else all is held. */
static bool notes_lock(void) { return is_measured && current == NULL; }

EXPORT void *PyEval_SaveThread(void)
{
    static void *(*save)(void);
    if (save == NULL)
        save = (void *(*)(void))dlsym(RTLD_NEXT, "PyEval_SaveThread");
    if (notes_lock())
        switch_lock(true);
    return save();
}

EXPORT void PyEval_RestoreThread(void *state)
{
    static void (*restore)(void *);
    if (restore == NULL)
        restore = (void (*)(void *))dlsym(RTLD_NEXT, "PyEval_RestoreThread");
    restore(state);
    if (notes_lock() && trace.is_free)
        switch_lock(false);
}

static const char *module_of(void *address, uint64_t *offset_out)
{
    Dl_info info;
    *offset_out = 0;
    if (address == NULL || !dladdr(address, &info))
        return "?";
    *offset_out = (uint64_t)((char *)address - (char *)info.dli_fbase);
    return info.dli_fname;
}

/* Write what was measured, in nanoseconds; returns 0, or -1 if that is impossible. */
EXPORT int span_write(const char *path)
{
    FILE *out = fopen(path, "w");
    uint64_t body, caller;
    if (out == NULL)
        return -1;
    fprintf(out, "total %lld\n", (long long)run.total);
    for (int i = 0; i < run.n_places; i++) {
        const Place *p = &run.places[i];
        module_of(p->caller, &caller);
        const char *module = module_of((void *)p->body, &body);
        fprintf(out, "place %d %llu %llu %lld %lld %lld %.3f %.0f %.0f %.0f %lld %.0f %lld %.0f %s\n",
                i,
                (unsigned long long)body, (unsigned long long)caller, (long long)p->n,
                (long long)p->n_parts, (long long)p->n_chunks, p->levels, p->work, p->makespan,
                p->largest,
                (long long)p->n_alone, p->alone, (long long)p->n_tasks, p->in_tasks, module);
    }
    for (int i = 0; i < run.n_pairs; i++)
        fprintf(out, "pair %d %d %lld %.0f\n", run.pairs[i].from, run.pairs[i].to,
                (long long)run.pairs[i].n, run.pairs[i].serial);
    return fclose(out) == 0 ? 0 : -1;
}
