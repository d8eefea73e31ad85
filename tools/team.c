/* The part of OpenMP that the engine uses, for ThreadSanitizer.
 *
 * GCC's libgomp waits in ways that the sanitizer does not see, so it reports races where
 * there are none. Here threads are made, joined and held at barriers by pthreads alone.
 * Parts of a loop are given out by relaxed counters, which order nothing: a race between
 * two parts is not hidden.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOPS = 4096, MAX_THREADS = 64 };

struct team {
    void (*work)(void *);
    void *data;
    int size;
    pthread_barrier_t barrier;
    long taken[LOOPS]; /* parts of each loop that have been given out */
};

struct member {
    struct team *team;
    int number;
    int loop; /* loops that this thread has begun */
    long start, stop, step;
};

static __thread struct member *self;
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *given)
{
    self = given;
    self->team->work(self->team->data);
    self = NULL;
    return NULL;
}

int omp_get_thread_num(void) { return self ? self->number : 0; }
int omp_get_num_threads(void) { return self ? self->team->size : 1; }
int omp_get_max_threads(void) { return 4; }

void GOMP_parallel(void (*work)(void *), void *data, unsigned n_threads, unsigned flags)
{
    struct member *outer = self;
    struct team *team = calloc(1, sizeof *team);
    struct member members[MAX_THREADS] = {0};
    pthread_t threads[MAX_THREADS];
    int size = n_threads ? (int)n_threads : omp_get_max_threads();

    (void)flags;
    /* Teams inside teams have one thread, as in libgomp. */
    team->size = outer && outer->team->size > 1 ? 1 : size < MAX_THREADS ? size : MAX_THREADS;
    team->work = work;
    team->data = data;
    pthread_barrier_init(&team->barrier, NULL, team->size);
    for (int i = 0; i < team->size; i++)
        members[i] = (struct member){.team = team, .number = i};
    for (int i = 1; i < team->size; i++)
        if (pthread_create(&threads[i], NULL, run, &members[i]))
            abort();
    run(&members[0]);
    for (int i = 1; i < team->size; i++)
        pthread_join(threads[i], NULL);
    self = outer;
    pthread_barrier_destroy(&team->barrier);
    free(team);
}

void GOMP_barrier(void)
{
    if (self)
        pthread_barrier_wait(&self->team->barrier);
}

static bool next_part(long *start_out, long *stop_out)
{
    long *taken = &self->team->taken[self->loop - 1];
    long first = self->start + __atomic_fetch_add(taken, 1, __ATOMIC_RELAXED) * self->step;
    long after = first + self->step;

    if (first >= self->stop)
        return false;
    *start_out = first;
    *stop_out = after < self->stop ? after : self->stop;
    return true;
}

bool GOMP_loop_nonmonotonic_dynamic_next(long *start_out, long *stop_out)
{
    return next_part(start_out, stop_out);
}

bool GOMP_loop_nonmonotonic_dynamic_start(
    long start, long stop, long step, long chunk, long *start_out, long *stop_out)
{
    if (step != 1 || self->loop == LOOPS) {
        fprintf(stderr, "team.c: a loop that it cannot run\n");
        abort();
    }
    self->loop++;
    self->start = start;
    self->stop = stop;
    self->step = chunk;
    return next_part(start_out, stop_out);
}

void GOMP_loop_end_nowait(void) {}

void GOMP_atomic_start(void) { pthread_mutex_lock(&one_at_a_time); }
void GOMP_atomic_end(void) { pthread_mutex_unlock(&one_at_a_time); }
