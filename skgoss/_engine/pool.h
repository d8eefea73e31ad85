/* The threads that run the blocks of a loop. There is one pool for the process, in `threads.pyx`.

   A loop that is being run is a region. It has as many parts as threads may run it. The thread
   that opens it runs parts as long as one has not begun. So it waits only for parts that are
   being run, and never for a thread that the system does not run or could not start. A waiting
   thread spins for a moment and then sleeps. Of the workers that spin, only as many as there are
   parts compete for the lock: on many cores, most regions need few of them. Loops within a part
   are run by its thread alone.

   A list of tasks is a loop whose parts run tasks until none is left. If no task is ready, a part
   waits for those that the running tasks will add. */
#ifndef SKGOSS_POOL_H
#define SKGOSS_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atomics.h"
#include "platform.h"
#include "task_list.h"

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

enum {
    SPIN_NS = 200000,      /* the maximum time that a thread spins */
    PAUSES_PER_CHECK = 32, /* between two reads of the clock */
    MEASURED_EVERY = 8,    /* regions: reading a thread's clock takes a microsecond */
    N_MEASURED = 8,        /* regions until a thread decides whether a team is faster */
    MIN_SERIAL_NS = 1000000,
    MAX_SERIAL_NS = 320000000,
    FULL_NS = 20000000,    /* between two attempts to start more workers */
    CACHE_LINE = 64,
};

/* Runs the iterations of one block. `thread` is below the number of threads of the loop, and no
   other thread has this number at the same time. */
typedef void (*LoopBody)(void *context, ptrdiff_t begin, ptrdiff_t end, int thread);

typedef struct {
    LoopBody body;
    void *context;
    ptrdiff_t n;
    ptrdiff_t block;       /* the last one may be shorter */
    int n_threads;
    bool in_shares;        /* each part runs the same number of blocks; else, the next free one */
} Loop;

typedef struct Region {
    int64_t next;          /* the first iteration of the next block */
    char line[CACHE_LINE - sizeof(int64_t)];
    Loop loop;
    int n_parts, n_begun;
    int64_t n_running;     /* parts, by other threads than the one that opened the region */
    bool is_awaited;       /* that thread sleeps until they have ended */
    bool is_measured;
    int64_t busy;          /* processor time of its parts */
    Condition ended;
    struct Region *next_region;
} Region;

static struct {
    Lock lock;
    Condition opened;
    Condition added;       /* tasks to a list */
    int64_t n_awaiting;    /* threads that sleep until then */
    Region *first;         /* of the regions with parts that have not begun */
    int n_workers, n_sleeping;
    int64_t full_until;    /* before this time no more workers are started */
    char line[CACHE_LINE];
    /* Workers that spin read only this cache line. */
    int64_t n_calls;       /* of workers, for the parts of all regions so far */
    int64_t n_calls_taken; /* by workers, or no longer needed */
    int64_t n_spinning;
} pool = {.lock = LOCK_INIT, .opened = CONDITION_INIT, .added = CONDITION_INIT};

static THREAD_LOCAL bool in_loop;
static THREAD_LOCAL int64_t idle;    /* the time for which a part has spun, waiting for tasks */

/* The benefit of teams for a thread that opens regions. */
static THREAD_LOCAL struct {
    unsigned n_regions, n_measured;
    int64_t busy, wall;    /* processor time of all threads, and elapsed time */
    int64_t serial_until;  /* the thread works alone before this time */
    int64_t serial_time;   /* the length of the last such time */
} benefit;

/* Waits for a moment until a count is zero; returns whether it is. */
static bool spin(const int64_t *count)
{
    int64_t start = wall_ns();
    do {
        for (int i = 0; i < PAUSES_PER_CHECK; i++) {
            if (read_count(count) == 0)
                return true;
            SPIN_PAUSE();
        }
    } while (wall_ns() - start < SPIN_NS);
    return false;
}

/* ------------------------------------------------------------------ parts */

/* The number of blocks of a loop. */
static ptrdiff_t count_blocks(const Loop *loop)
{
    return loop->n / loop->block + (loop->n % loop->block != 0);
}

/* Runs the block that begins with iteration `begin`. */
static void run_block(const Loop *loop, ptrdiff_t begin, int thread)
{
    ptrdiff_t end = loop->n - begin < loop->block ? loop->n : begin + loop->block;
    loop->body(loop->context, begin, end, thread);
}

/* Runs the blocks number `first` to `end`. */
static void run_blocks(const Loop *loop, ptrdiff_t first, ptrdiff_t end, int thread)
{
    for (ptrdiff_t i = first; i < end; i++)
        run_block(loop, i * loop->block, thread);
}

/* Runs the share of a part: n_blocks / n_parts consecutive blocks, and the first parts one more. */
static void run_share(const Loop *loop, int part, int n_parts)
{
    ptrdiff_t n_blocks = count_blocks(loop);
    ptrdiff_t size = n_blocks / n_parts, remainder = n_blocks % n_parts;
    ptrdiff_t first = part * size + (part < remainder ? part : remainder);
    run_blocks(loop, first, first + size + (part < remainder), part);
}

/* Runs free blocks until none is left; `next` is the first iteration of the next one. */
static void take_blocks(const Loop *loop, int64_t *next, int part)
{
    ptrdiff_t begin;
    while ((begin = (ptrdiff_t)fetch_add(next, loop->block)) < loop->n)
        run_block(loop, begin, part);
}

/* Runs all blocks by this thread. */
static void run_serially(const Loop *loop) { run_blocks(loop, 0, count_blocks(loop), 0); }

/* Runs a part; returns its processor time if the region is measured. */
static int64_t run_part(Region *region, int number)
{
    int64_t start = region->is_measured ? busy_ns() : 0;
    idle = 0;
    in_loop = true;
    if (region->loop.in_shares)
        run_share(&region->loop, number, region->n_parts);
    else
        take_blocks(&region->loop, &region->next, number);
    in_loop = false;
    return region->is_measured ? busy_ns() - start - idle : 0;
}

/* Begins the next part of a region, and removes the region from the list if it is the last one;
   returns the number of the part. The lock is held. */
static int begin_part(Region *region)
{
    Region **link = &pool.first;
    if (region->n_begun + 1 == region->n_parts) {
        while (*link != region)
            link = &(*link)->next_region;
        *link = region->next_region;
        while (pool.first == NULL && take_next(&pool.n_calls_taken, &pool.n_calls) >= 0)
            ;
    }
    return region->n_begun++;
}

/* ------------------------------------------------------------------ workers */

/* Runs a part of a region. The lock is held before and after. */
static void run_region_part(Region *region)
{
    int number = begin_part(region);
    fetch_add(&region->n_running, 1);
    release(&pool.lock);
    int64_t busy = run_part(region, number);
    acquire(&pool.lock);
    region->busy += busy;
    if (region->is_awaited && region->n_running == 1)
        wake_one(&region->ended);
    /* The region may end with this. */
    fetch_add(&region->n_running, -1);
}

/* Waits to be called for a part, for a moment after each region that opens; returns whether this
   worker is called. */
static bool await_call(void)
{
    int64_t start = wall_ns(), n_seen = read_count(&pool.n_calls);
    bool is_called = false;
    fetch_add(&pool.n_spinning, 1);
    while (!is_called && wall_ns() - start < SPIN_NS) {
        for (int i = 0; i < PAUSES_PER_CHECK && !is_called; i++) {
            is_called = take_next(&pool.n_calls_taken, &pool.n_calls) >= 0;
            SPIN_PAUSE();
        }
        if (read_count(&pool.n_calls) != n_seen) {
            n_seen = read_count(&pool.n_calls);
            start = wall_ns();
        }
    }
    fetch_add(&pool.n_spinning, -1);
    return is_called;
}

/* The main function of a worker. */
static void work(void)
{
    acquire(&pool.lock);
    for (;;) {
        while (pool.first == NULL) {
            release(&pool.lock);
            bool is_called = await_call();
            acquire(&pool.lock);
            if (!is_called && pool.first == NULL) {
                pool.n_sleeping++;
                wait_for(&pool.opened, &pool.lock);
                pool.n_sleeping--;
            }
        }
        run_region_part(pool.first);
    }
}

/* Resets the pool in a forked child: there are no other threads, but one may have held the lock.
   */
static void after_fork(void)
{
    init_lock(&pool.lock);
    init_condition(&pool.opened);
    init_condition(&pool.added);
    pool.n_awaiting = 0;
    pool.first = NULL;
    pool.n_calls = pool.n_calls_taken = pool.n_spinning = 0;
    pool.n_workers = pool.n_sleeping = 0;
    pool.full_until = 0;
}

/* Must be called once, before any loop. */
static void init_pool(void) { init_platform(after_fork); }

/* Starts the workers that are missing, at most one for each further core, and only as many as the
   system allows. It may allow more later, but trying takes time. The lock is held. */
static void start_workers(int n_needed)
{
    if (pool.n_workers >= n_needed || wall_ns() < pool.full_until)
        return;
    while (pool.n_workers < n_needed && pool.n_workers + 1 < n_cores() && start_thread(work))
        pool.n_workers++;
    if (pool.n_workers < n_needed)
        pool.full_until = wall_ns() + FULL_NS;
}

/* ------------------------------------------------------------------ regions */

/* Adds a region to the list, and calls workers for all parts but one. The lock is held. */
static void open_region(Region *region)
{
    Region **last = &pool.first;
    int n_needed = region->n_parts - 1;
    start_workers(n_needed);
    while (*last != NULL)
        last = &(*last)->next_region;
    *last = region;
    int64_t n_left = read_count(&pool.n_calls) - read_count(&pool.n_calls_taken);
    int64_t n_free = read_count(&pool.n_spinning) - n_left;
    fetch_add(&pool.n_calls, n_needed);
    int64_t n_to_wake = n_needed - (n_free > 0 ? n_free : 0);
    for (int i = 0; i < pool.n_sleeping && i < n_to_wake; i++)
        wake_one(&pool.opened);
}

/* Runs a region by this thread and workers. */
static void run_in_parallel(Region *region)
{
    acquire(&pool.lock);
    open_region(region);
    while (region->n_begun < region->n_parts) {
        int number = begin_part(region);
        release(&pool.lock);
        int64_t busy = run_part(region, number);
        acquire(&pool.lock);
        region->busy += busy;
    }
    release(&pool.lock);
    if (spin(&region->n_running))
        return;
    acquire(&pool.lock);
    region->is_awaited = true;
    while (region->n_running > 0)
        wait_for(&region->ended, &pool.lock);
    release(&pool.lock);
}

/* Makes the thread work alone for a while if its team was hardly busier than one thread: other
   processes use the cores, or loops end before workers begin. */
static void decide(int64_t now)
{
    if (++benefit.n_measured < N_MEASURED)
        return;
    if (benefit.busy * 10 < benefit.wall * 11) {
        benefit.serial_time = benefit.serial_time > 0 ? 2 * benefit.serial_time : MIN_SERIAL_NS;
        if (benefit.serial_time > MAX_SERIAL_NS)
            benefit.serial_time = MAX_SERIAL_NS;
        benefit.serial_until = now + benefit.serial_time;
    } else {
        benefit.serial_time = 0;
    }
    benefit.n_measured = 0;
    benefit.busy = benefit.wall = 0;
}

/* Runs a loop as a region, or by this thread alone if that is as fast. */
static void run_region(const Loop *loop, int n_parts)
{
    Region region = {
        .loop = *loop, .n_parts = n_parts, .ended = CONDITION_INIT,
        .is_measured = benefit.n_regions++ % MEASURED_EVERY == 0,
    };
    int64_t start = region.is_measured || benefit.serial_until ? wall_ns() : 0;
    if (start < benefit.serial_until) {
        in_loop = true;
        run_serially(loop);
        in_loop = false;
        return;
    }
    benefit.serial_until = 0;
    run_in_parallel(&region);
    if (region.is_measured) {
        int64_t now = wall_ns();
        benefit.wall += now - start;
        benefit.busy += region.busy;
        decide(now);
    }
}

typedef void (*Runner)(const Loop *);
typedef void (*TaskRunner)(TaskList *, int n_threads);

/* Functions that run loops and tasks in place of the pool, for measurements; NULL: the pool does.
   */
static Runner runner;
static TaskRunner task_runner;

/* Runs a loop by the pool; by this thread alone if it has one block, or is within another loop. */
static void run_loop(const Loop *loop)
{
    ptrdiff_t n_blocks = count_blocks(loop);
    int n_parts = n_blocks < loop->n_threads ? (int)n_blocks : loop->n_threads;
    if (runner != NULL)
        runner(loop);
    else if (n_parts > 1 && !in_loop)
        run_region(loop, n_parts);
    else
        run_serially(loop);
}

/* ------------------------------------------------------------------ tasks */

/* Whether a task is ready, or none is left. */
static bool can_proceed(const TaskList *list)
{
    return read_count(&list->n_begun) < read_count(&list->n_ready)
        || read_count(&list->n_open) == 0;
}

/* Waits until a task is ready, or none is left. */
static void await_tasks(const TaskList *list)
{
    int64_t start = wall_ns(), now = start;
    while (now - start < SPIN_NS && !can_proceed(list)) {
        for (int i = 0; i < PAUSES_PER_CHECK && !can_proceed(list); i++)
            SPIN_PAUSE();
        now = wall_ns();
    }
    idle += now - start;
    if (can_proceed(list))
        return;
    acquire(&pool.lock);
    fetch_add(&pool.n_awaiting, 1);
    while (!can_proceed(list))
        wait_for(&pool.added, &pool.lock);
    fetch_add(&pool.n_awaiting, -1);
    release(&pool.lock);
}

/* Wakes the threads that wait for tasks. */
static void announce(void)
{
    if (fetch_add(&pool.n_awaiting, 0) == 0)
        return;
    acquire(&pool.lock);
    for (int64_t n = read_count(&pool.n_awaiting); n > 0; n--)
        wake_one(&pool.added);
    release(&pool.lock);
}

/* The body of a loop whose parts run the tasks of a list, `context`. A deferred task only begins if
   no other is ready. */
static void tasks_body(void *context, ptrdiff_t begin, ptrdiff_t end, int thread)
{
    TaskList *list = context;
    (void)begin;
    (void)end;
    while (read_count(&list->n_open) > 0) {
        int64_t number = take_next(&list->n_begun, &list->n_ready);
        int64_t deferred = number < 0 ? take_next(&list->n_deferred_begun, &list->n_deferred) : -1;
        if (number < 0 && deferred < 0) {
            await_tasks(list);
            continue;
        }
        int64_t n_ready = read_count(&list->n_ready);
        list->run(list, number < 0 ? deferred : number, number < 0, thread);
        if (fetch_add(&list->n_open, -1) == 1 || read_count(&list->n_ready) > n_ready)
            announce();
    }
}

/* Runs the tasks of a list, and those that they add: a loop with an iteration for each thread. */
static void run_task_list(TaskList *list, int n_threads)
{
    Loop loop = {tasks_body, list, n_threads, 1, n_threads, true};
    if (task_runner != NULL)
        task_runner(list, n_threads);
    else
        run_loop(&loop);
}

/* ------------------------------------------------------------------ limits

threadpoolctl recognizes the module with the pool by the names of these functions. */

static THREAD_LOCAL int max_threads;    /* 0: no limit */

/* The limit of this thread; set_limit of threads.pyx sets it. */
EXPORTED int skgoss_pool_limit(void) { return max_threads; }

EXPORTED void skgoss_limit_pool(int n) { max_threads = n; }

#endif
