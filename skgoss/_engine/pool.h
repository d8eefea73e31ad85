/* Threads that run the blocks of a loop. There is one pool for the process: `threads.pyx` has it.

A loop has as many parts as threads may run it. The thread that opens it takes parts as long as
there are any that nobody has begun, so it waits only for parts that are being run, and never for a
thread that the system does not run or could not start. Whoever waits spins for a moment and then
sleeps. Of the workers that spin, no more than there are parts come for the lock: on many cores
most regions need few of them. Loops within a part are run by its thread alone.

A list of tasks is a loop whose parts take tasks until none is left. A part that finds none ready
waits, as others will follow those that are being run. */
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
    SPIN_NS = 200000,      /* at most, until a thread sleeps */
    LOOK_AFTER = 32,       /* pauses between two looks at the clock */
    MEASURED_EVERY = 8,    /* regions: the clock of a thread takes a microsecond */
    N_MEASURED = 8,        /* until a thread decides whether a team is worth it */
    MIN_REST_NS = 1000000,
    MAX_REST_NS = 320000000,
    FULL_NS = 20000000,    /* until the pool looks for more cores and threads again */
    CACHE_LINE = 64,
};

/* Run the iterations of one block. `thread` is below the number of threads of the loop, and no
   other thread has it meanwhile. */
typedef void (*LoopBody)(void *context, ptrdiff_t begin, ptrdiff_t end, int thread);

typedef struct {
    LoopBody body;
    void *context;
    ptrdiff_t n;
    ptrdiff_t block;       /* the last one may be shorter */
    int n_threads;
    bool in_shares;        /* each part has as many blocks; or else takes one after the other */
} Loop;

typedef struct Region {
    int64_t next;          /* the first iteration of the next block */
    char line[CACHE_LINE - sizeof(int64_t)];
    Loop loop;
    int n_parts, n_begun;
    int64_t n_running;     /* by other threads than the one that opened the region */
    bool is_awaited;
    bool is_measured;
    int64_t busy;          /* processor time of its parts */
    Condition ended;
    struct Region *following;
} Region;

static struct {
    Lock lock;
    Condition opened;
    Condition added;       /* tasks to a list */
    int64_t n_awaiting;    /* threads that sleep until then */
    Region *first;         /* of the regions with parts that nobody has begun */
    int n_workers, n_sleeping;
    int64_t full_until;    /* no worker can be started before: there are no cores, or no threads */
    char line[CACHE_LINE];
    /* What workers that spin read. */
    int64_t n_wanted;      /* of all regions so far: workers for their parts */
    int64_t n_coming;      /* that have come for them, or are no longer needed */
    int64_t n_spinning;
} pool = {.lock = LOCK_INIT, .opened = CONDITION_INIT, .added = CONDITION_INIT};

static THREAD_LOCAL bool is_inside;
static THREAD_LOCAL int64_t idle;    /* time that a part has waited for tasks, busily */

/* What teams bring a thread that opens regions. */
static THREAD_LOCAL struct {
    unsigned n_regions, n_measured;
    int64_t busy, wall;    /* processor time of all threads, and how long it took */
    int64_t alone_until;
    int64_t rest;          /* the next time alone */
} gains;

/* Wait for a moment until a count is zero; returns whether it came to that. */
static bool spin(const int64_t *count)
{
    int64_t start = wall_ns();
    do {
        for (int i = 0; i < LOOK_AFTER; i++) {
            if (read_count(count) == 0)
                return true;
            SPIN_PAUSE();
        }
    } while (wall_ns() - start < SPIN_NS);
    return false;
}

/* ------------------------------------------------------------------ parts */

static ptrdiff_t n_blocks_of(const Loop *loop)
{
    return loop->n / loop->block + (loop->n % loop->block != 0);
}

static void run_block(const Loop *loop, ptrdiff_t begin, int thread)
{
    ptrdiff_t end = loop->n - begin < loop->block ? loop->n : begin + loop->block;
    loop->body(loop->context, begin, end, thread);
}

static void run_blocks(const Loop *loop, ptrdiff_t first, ptrdiff_t end, int thread)
{
    for (ptrdiff_t i = first; i < end; i++)
        run_block(loop, i * loop->block, thread);
}

static void run_share(const Loop *loop, int part, int n_parts)
{
    ptrdiff_t n_blocks = n_blocks_of(loop);
    ptrdiff_t size = n_blocks / n_parts, more = n_blocks % n_parts;
    ptrdiff_t first = part * size + (part < more ? part : more);
    run_blocks(loop, first, first + size + (part < more), part);
}

static void take_blocks(const Loop *loop, int64_t *next, int part)
{
    ptrdiff_t begin;
    while ((begin = (ptrdiff_t)fetch_add(next, loop->block)) < loop->n)
        run_block(loop, begin, part);
}

static void run_alone(const Loop *loop) { run_blocks(loop, 0, n_blocks_of(loop), 0); }

/* Returns the processor time of the part, if that is measured. */
static int64_t run_part(Region *region, int number)
{
    int64_t start = region->is_measured ? busy_ns() : 0;
    idle = 0;
    is_inside = true;
    if (region->loop.in_shares)
        run_share(&region->loop, number, region->n_parts);
    else
        take_blocks(&region->loop, &region->next, number);
    is_inside = false;
    return region->is_measured ? busy_ns() - start - idle : 0;
}

/* The next part of a region that is open; the lock is held. */
static int begin_part(Region *region)
{
    Region **link = &pool.first;
    if (region->n_begun + 1 == region->n_parts) {
        while (*link != region)
            link = &(*link)->following;
        *link = region->following;
        while (pool.first == NULL && take_next(&pool.n_coming, &pool.n_wanted) >= 0)
            ;
    }
    return region->n_begun++;
}

/* ------------------------------------------------------------------ workers */

static void work_on(Region *region)
{
    int number = begin_part(region);
    fetch_add(&region->n_running, 1);
    release(&pool.lock);
    int64_t busy = run_part(region, number);
    acquire(&pool.lock);
    region->busy += busy;
    if (region->is_awaited && region->n_running == 1)
        wake_one(&region->ended);
    /* From here on the region may be gone. */
    fetch_add(&region->n_running, -1);
}

/* Wait until another worker is wanted, for a moment after each region that opens; returns whether
   it is this one. */
static bool come(void)
{
    int64_t start = wall_ns(), n_seen = read_count(&pool.n_wanted);
    bool is_wanted = false;
    fetch_add(&pool.n_spinning, 1);
    while (!is_wanted && wall_ns() - start < SPIN_NS) {
        for (int i = 0; i < LOOK_AFTER && !is_wanted; i++) {
            is_wanted = take_next(&pool.n_coming, &pool.n_wanted) >= 0;
            SPIN_PAUSE();
        }
        if (read_count(&pool.n_wanted) != n_seen) {
            n_seen = read_count(&pool.n_wanted);
            start = wall_ns();
        }
    }
    fetch_add(&pool.n_spinning, -1);
    return is_wanted;
}

static void work(void)
{
    acquire(&pool.lock);
    for (;;) {
        while (pool.first == NULL) {
            release(&pool.lock);
            bool is_wanted = come();
            acquire(&pool.lock);
            if (!is_wanted && pool.first == NULL) {
                pool.n_sleeping++;
                wait_for(&pool.opened, &pool.lock);
                pool.n_sleeping--;
            }
        }
        work_on(pool.first);
    }
}

/* Other threads may hold the lock of the pool in a process that is forked, and are gone then. */
static void after_fork(void)
{
    init_lock(&pool.lock);
    init_condition(&pool.opened);
    init_condition(&pool.added);
    pool.n_awaiting = 0;
    pool.first = NULL;
    pool.n_wanted = pool.n_coming = pool.n_spinning = 0;
    pool.n_workers = pool.n_sleeping = 0;
    pool.full_until = 0;
}

static void init_pool(void) { init_platform(after_fork); }

/* Start what is missing, as far as there are cores and the system lets it; the lock is held. Cores
   and threads may be free later, but to ask takes time. */
static void start_workers(int n_wanted)
{
    if (pool.n_workers >= n_wanted || wall_ns() < pool.full_until)
        return;
    while (pool.n_workers < n_wanted && pool.n_workers + 1 < n_cores() && start_thread(work))
        pool.n_workers++;
    if (pool.n_workers < n_wanted)
        pool.full_until = wall_ns() + FULL_NS;
}

/* ------------------------------------------------------------------ regions */

static void open_region(Region *region)
{
    Region **last = &pool.first;
    int n_more = region->n_parts - 1;
    start_workers(n_more);
    while (*last != NULL)
        last = &(*last)->following;
    *last = region;
    int64_t n_left = read_count(&pool.n_wanted) - read_count(&pool.n_coming);
    int64_t n_free = read_count(&pool.n_spinning) - n_left;
    fetch_add(&pool.n_wanted, n_more);
    int64_t n_to_wake = n_more - (n_free > 0 ? n_free : 0);
    for (int i = 0; i < pool.n_sleeping && i < n_to_wake; i++)
        wake_one(&pool.opened);
}

static void run_together(Region *region)
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

/* Let the thread work alone for a while if its team was hardly busier than it would be: beside
other processes, or in loops that end before anybody comes. */
static void decide(int64_t now)
{
    if (++gains.n_measured < N_MEASURED)
        return;
    if (gains.busy * 10 < gains.wall * 11) {
        gains.rest = gains.rest > 0 ? 2 * gains.rest : MIN_REST_NS;
        if (gains.rest > MAX_REST_NS)
            gains.rest = MAX_REST_NS;
        gains.alone_until = now + gains.rest;
    } else {
        gains.rest = 0;
    }
    gains.n_measured = 0;
    gains.busy = gains.wall = 0;
}

static void run_region(const Loop *loop, int n_parts)
{
    Region region = {
        .loop = *loop, .n_parts = n_parts, .ended = CONDITION_INIT,
        .is_measured = gains.n_regions++ % MEASURED_EVERY == 0,
    };
    int64_t start = region.is_measured || gains.alone_until ? wall_ns() : 0;
    if (start < gains.alone_until) {
        is_inside = true;
        run_alone(loop);
        is_inside = false;
        return;
    }
    gains.alone_until = 0;
    run_together(&region);
    if (region.is_measured) {
        int64_t now = wall_ns();
        gains.wall += now - start;
        gains.busy += region.busy;
        decide(now);
    }
}

typedef void (*Runner)(const Loop *);
typedef void (*TaskRunner)(TaskList *, int n_threads);

/* What runs loops and tasks instead, for measurements; NULL: the pool does. */
static Runner runner;
static TaskRunner task_runner;

static void run_loop(const Loop *loop)
{
    ptrdiff_t n_blocks = n_blocks_of(loop);
    int n_parts = n_blocks < loop->n_threads ? (int)n_blocks : loop->n_threads;
    if (runner != NULL)
        runner(loop);
    else if (n_parts > 1 && !is_inside)
        run_region(loop, n_parts);
    else
        run_alone(loop);
}

/* ------------------------------------------------------------------ tasks */

static bool may_go_on(const TaskList *list)
{
    return read_count(&list->n_begun) < read_count(&list->n_ready)
        || read_count(&list->n_open) == 0;
}

/* Wait until a task is ready, or none is left. */
static void await_tasks(const TaskList *list)
{
    int64_t start = wall_ns(), now = start;
    while (now - start < SPIN_NS && !may_go_on(list)) {
        for (int i = 0; i < LOOK_AFTER && !may_go_on(list); i++)
            SPIN_PAUSE();
        now = wall_ns();
    }
    idle += now - start;
    if (may_go_on(list))
        return;
    acquire(&pool.lock);
    fetch_add(&pool.n_awaiting, 1);
    while (!may_go_on(list))
        wait_for(&pool.added, &pool.lock);
    fetch_add(&pool.n_awaiting, -1);
    release(&pool.lock);
}

/* Wake the threads that wait for tasks. */
static void announce(void)
{
    if (fetch_add(&pool.n_awaiting, 0) == 0)
        return;
    acquire(&pool.lock);
    for (int64_t n = read_count(&pool.n_awaiting); n > 0; n--)
        wake_one(&pool.added);
    release(&pool.lock);
}

static void take_tasks(void *context, ptrdiff_t begin, ptrdiff_t end, int thread)
{
    TaskList *list = context;
    (void)begin;
    (void)end;
    while (read_count(&list->n_open) > 0) {
        int64_t number = take_next(&list->n_begun, &list->n_ready);
        int64_t late = number < 0 ? take_next(&list->n_late_begun, &list->n_late) : -1;
        if (number < 0 && late < 0) {
            await_tasks(list);
            continue;
        }
        int64_t n_ready = read_count(&list->n_ready);
        list->run(list, number < 0 ? late : number, number < 0, thread);
        if (fetch_add(&list->n_open, -1) == 1 || read_count(&list->n_ready) > n_ready)
            announce();
    }
}

static void run_task_list(TaskList *list, int n_threads)
{
    Loop loop = {take_tasks, list, n_threads, 1, n_threads, true};
    if (task_runner != NULL)
        task_runner(list, n_threads);
    else
        run_loop(&loop);
}

/* ------------------------------------------------------------------ limits

threadpoolctl tells the module with the pool from others by the names of these functions. */

static THREAD_LOCAL int most_threads;    /* 0: no limit */

EXPORTED int skgoss_pool_limit(void) { return most_threads; }

EXPORTED void skgoss_limit_pool(int n) { most_threads = n; }

#endif
