/* The threads that run the loops of `prange`, where GCC compiles them.

GCC's own library (libgomp) gives each thread of a team its share of a loop and lets all wait for
the last one, spinning for milliseconds. Beside another process, or with more threads than cores,
each of the many short loops of a fit then waits until the system runs the thread again. After a
fork the library waits for ever for threads that are not there.

Here a loop has as many parts as it has threads. The thread that meets the loop takes parts as long
as there are any that nobody has begun, so it waits only for parts that are being run. Whoever waits
spins for a moment and then sleeps.

The linker puts these functions in the place of those that the compiler calls, by their names
in libgomp (`--wrap`). Only what `prange` needs is there: one loop in each parallel region, nothing
behind it, and no barrier (see tools/translate.py). */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum {
    SPIN_NS = 200000,      /* at most, until a thread sleeps */
    LOOK_AFTER = 32,       /* pauses between two looks at the clock */
    MEASURED_EVERY = 8,    /* regions: the clock of a thread takes a microsecond */
    N_MEASURED = 8,        /* until a thread decides whether a team is worth it */
    MIN_REST_NS = 1000000,
    MAX_REST_NS = 320000000,
};

typedef struct Region {
    void (*body)(void *);
    void *data;
    unsigned n_parts;
    unsigned n_begun;
    atomic_uint n_running; /* by other threads than the one that opened the region */
    bool is_awaited;
    bool is_measured;
    int64_t busy;          /* processor time of its parts */
    pthread_cond_t ended;
    struct Region *next;
    /* Of a loop that hands out its iterations: */
    atomic_bool has_loop;
    atomic_long iteration;
    long end, stride;
} Region;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    Region *first;       /* of the regions with parts that nobody has begun */
    atomic_uint n_open;
    unsigned n_workers, n_sleeping;
    bool is_full;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER};

static _Thread_local Region *current;
static _Thread_local unsigned part;

/* What teams bring a thread that opens regions. */
static _Thread_local struct {
    unsigned n_regions, n_measured;
    int64_t busy, wall;    /* processor time of all threads, and how long it took */
    int64_t alone_until;
    int64_t rest;          /* the next time alone */
} gains;

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Wait for a moment until a count is zero, or is not; returns whether it came to that. */
static bool spin(atomic_uint *count, bool until_zero)
{
    int64_t start = nanoseconds(CLOCK_MONOTONIC);
    do {
        for (int i = 0; i < LOOK_AFTER; i++) {
            if ((atomic_load_explicit(count, memory_order_acquire) == 0) == until_zero)
                return true;
            pause_briefly();
        }
    } while (nanoseconds(CLOCK_MONOTONIC) - start < SPIN_NS);
    return false;
}

/* ------------------------------------------------------------------ parts */

/* The next part of a region that is open; the lock is held. */
static unsigned begin_part(Region *region)
{
    Region **link = &pool.first;
    if (region->n_begun + 1 == region->n_parts) {
        while (*link != region)
            link = &(*link)->next;
        *link = region->next;
        atomic_fetch_sub_explicit(&pool.n_open, 1, memory_order_relaxed);
    }
    return region->n_begun++;
}

/* Returns the processor time of the part, if that is measured. */
static int64_t run_part(Region *region, unsigned number)
{
    Region *outer = current;
    unsigned outer_part = part;
    int64_t start = region->is_measured ? nanoseconds(CLOCK_THREAD_CPUTIME_ID) : 0;
    current = region;
    part = number;
    region->body(region->data);
    current = outer;
    part = outer_part;
    return region->is_measured ? nanoseconds(CLOCK_THREAD_CPUTIME_ID) - start : 0;
}

static void *work(void *nothing)
{
    Region *region;
    unsigned number;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.first == NULL) {
            pthread_mutex_unlock(&pool.lock);
            bool opened = spin(&pool.n_open, false);
            pthread_mutex_lock(&pool.lock);
            if (!opened && pool.first == NULL) {
                pool.n_sleeping++;
                pthread_cond_wait(&pool.opened, &pool.lock);
                pool.n_sleeping--;
            }
        }
        region = pool.first;
        number = begin_part(region);
        atomic_fetch_add_explicit(&region->n_running, 1, memory_order_relaxed);
        pthread_mutex_unlock(&pool.lock);
        int64_t busy = run_part(region, number);
        pthread_mutex_lock(&pool.lock);
        region->busy += busy;
        if (region->is_awaited && region->n_running == 1)
            pthread_cond_signal(&region->ended);
        /* From here on the region may be gone. */
        atomic_fetch_sub_explicit(&region->n_running, 1, memory_order_release);
    }
    return nothing;
}

/* ------------------------------------------------------------------ workers */

static unsigned n_cores(void)
{
#ifdef __linux__
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
        return (unsigned)CPU_COUNT(&cores);
#endif
    return (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
}

static void after_fork(void)
{
    pthread_mutex_init(&pool.lock, NULL);
    pthread_cond_init(&pool.opened, NULL);
    pool.first = NULL;
    pool.n_open = pool.n_workers = pool.n_sleeping = 0;
    pool.is_full = false;
}

/* Other threads may hold the lock of the pool in a process that is forked. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, after_fork);
}

/* Signals are for the threads of Python. */
static bool start_worker(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* Start what is missing, as far as there are cores and the system lets it; the lock is held. */
static void start_workers(unsigned n_wanted)
{
    while (!pool.is_full && pool.n_workers < n_wanted) {
        pool.is_full = pool.n_workers + 1 >= n_cores() || !start_worker();
        pool.n_workers += !pool.is_full;
    }
}

/* ------------------------------------------------------------------ regions */

static void open_region(Region *region)
{
    Region **last = &pool.first;
    start_workers(region->n_parts - 1);
    while (*last != NULL)
        last = &(*last)->next;
    *last = region;
    atomic_fetch_add_explicit(&pool.n_open, 1, memory_order_release);
    for (unsigned i = 0; i < pool.n_sleeping && i + 1 < region->n_parts; i++)
        pthread_cond_signal(&pool.opened);
}

static void run_together(Region *region)
{
    pthread_mutex_lock(&pool.lock);
    open_region(region);
    while (region->n_begun < region->n_parts) {
        unsigned number = begin_part(region);
        pthread_mutex_unlock(&pool.lock);
        int64_t busy = run_part(region, number);
        pthread_mutex_lock(&pool.lock);
        region->busy += busy;
    }
    pthread_mutex_unlock(&pool.lock);
    if (spin(&region->n_running, true))
        return;
    pthread_mutex_lock(&pool.lock);
    region->is_awaited = true;
    while (region->n_running > 0)
        pthread_cond_wait(&region->ended, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
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

static void run_region(Region *region)
{
    region->is_measured = gains.n_regions++ % MEASURED_EVERY == 0;
    int64_t start = region->is_measured || gains.alone_until ? nanoseconds(CLOCK_MONOTONIC) : 0;
    if (start < gains.alone_until) {
        region->is_measured = false;
        for (unsigned i = 0; i < region->n_parts; i++)
            run_part(region, i);
        return;
    }
    gains.alone_until = 0;
    run_together(region);
    if (region->is_measured) {
        int64_t now = nanoseconds(CLOCK_MONOTONIC);
        gains.wall += now - start;
        gains.busy += region->busy;
        decide(now);
    }
}

void __wrap_GOMP_parallel(void (*body)(void *), void *data, unsigned n_threads, unsigned flags)
{
    Region region = {
        .body = body, .data = data, .n_parts = n_threads, .ended = PTHREAD_COND_INITIALIZER,
    };
    (void)flags;
    if (n_threads > 1 && current == NULL) {
        run_region(&region);
    } else {
        region.n_parts = 1;
        run_part(&region, 0);
    }
}

int __wrap_omp_get_thread_num(void) { return (int)part; }

int __wrap_omp_get_num_threads(void) { return current == NULL ? 1 : (int)current->n_parts; }

/* ------------------------------------------------------------------ iterations that are handed out */

bool __wrap_GOMP_loop_nonmonotonic_dynamic_next(long *start_out, long *end_out)
{
    long start = atomic_fetch_add_explicit(
        &current->iteration, current->stride, memory_order_relaxed);
    if (start >= current->end)
        return false;
    *start_out = start;
    *end_out = start + current->stride < current->end ? start + current->stride : current->end;
    return true;
}

bool __wrap_GOMP_loop_nonmonotonic_dynamic_start(
    long start, long end, long step, long chunk, long *start_out, long *end_out)
{
    if (!atomic_load_explicit(&current->has_loop, memory_order_acquire)) {
        pthread_mutex_lock(&pool.lock);
        if (!current->has_loop) {
            current->iteration = start;
            current->end = end;
            current->stride = step * chunk;
            atomic_store_explicit(&current->has_loop, true, memory_order_release);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    return __wrap_GOMP_loop_nonmonotonic_dynamic_next(start_out, end_out);
}

void __wrap_GOMP_loop_end_nowait(void) {}

/* ------------------------------------------------------------------ sums over all parts */

void __wrap_GOMP_atomic_start(void) { pthread_mutex_lock(&pool.lock); }

void __wrap_GOMP_atomic_end(void) { pthread_mutex_unlock(&pool.lock); }
