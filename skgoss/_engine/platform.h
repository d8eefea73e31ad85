/* The functions of the system that the pool uses: locks, threads, clocks and the number of cores.
   */
#ifndef SKGOSS_PLATFORM_H
#define SKGOSS_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

/* The default of some systems is too small for kernels. */
enum { STACK_BYTES = 4 << 20 };

#if defined(_WIN32)
/* ------------------------------------------------------------------ Windows */

#include <windows.h>

#if defined(_MSC_VER)
#define THREAD_LOCAL __declspec(thread)
#else
#define THREAD_LOCAL _Thread_local
#endif

typedef SRWLOCK Lock;
typedef CONDITION_VARIABLE Condition;
#define LOCK_INIT SRWLOCK_INIT
#define CONDITION_INIT CONDITION_VARIABLE_INIT

static void init_lock(Lock *lock) { InitializeSRWLock(lock); }
static void init_condition(Condition *condition) { InitializeConditionVariable(condition); }
static void acquire(Lock *lock) { AcquireSRWLockExclusive(lock); }
static void release(Lock *lock) { ReleaseSRWLockExclusive(lock); }
static void wake_one(Condition *condition) { WakeConditionVariable(condition); }
static void wait_for(Condition *condition, Lock *lock)
{
    SleepConditionVariableSRW(condition, lock, INFINITE, 0);
}

/* The elapsed time, in nanoseconds since some moment. */
static int64_t wall_ns(void)
{
    LARGE_INTEGER now, per_second;
    QueryPerformanceCounter(&now);
    QueryPerformanceFrequency(&per_second);
    return (int64_t)((double)now.QuadPart * 1e9 / (double)per_second.QuadPart);
}

/* The processor cycles of this thread. */
static int64_t cycles(void)
{
    ULONG64 n = 0;
    QueryThreadCycleTime(GetCurrentThread(), &n);
    return (int64_t)n;
}

static double cycles_per_ns = 1.0;

/* The processor time of this thread, from its cycles: the clock has steps of milliseconds. */
static int64_t busy_ns(void) { return (int64_t)((double)cycles() / cycles_per_ns); }

/* Measures the cycles in a nanosecond: the maximum of several, because a thread may be
   interrupted. */
static void measure_cycles(void)
{
    for (int i = 0; i < 10; i++) {
        int64_t first = cycles(), start = wall_ns(), now = start;
        while (now - start < 20000)
            now = wall_ns();
        double rate = (double)(cycles() - first) / (double)(now - start);
        if (i == 0 || rate > cycles_per_ns)
            cycles_per_ns = rate;
    }
}

/* There are no forks. */
static void init_platform(void (*after_fork)(void))
{
    (void)after_fork;
    measure_cycles();
}

/* The cores that this process may use. */
static int n_cores(void)
{
    DWORD_PTR process_mask = 0, system_mask = 0;
    int n = 0;
    GetProcessAffinityMask(GetCurrentProcess(), &process_mask, &system_mask);
    if (process_mask == system_mask)
        return (int)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    for (; process_mask != 0; process_mask &= process_mask - 1)
        n++;
    return n;
}

static DWORD WINAPI call_work(void *work)
{
    ((void (*)(void))work)();
    return 0;
}

/* Starts a thread that runs `work`; false if the system does not allow it. */
static bool start_thread(void (*work)(void))
{
    HANDLE thread = CreateThread(
        NULL, STACK_BYTES, call_work, (void *)work, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
    if (thread != NULL)
        CloseHandle(thread);
    return thread != NULL;
}

#else
/* ------------------------------------------------------------------ POSIX */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define THREAD_LOCAL _Thread_local

typedef pthread_mutex_t Lock;
typedef pthread_cond_t Condition;
#define LOCK_INIT PTHREAD_MUTEX_INITIALIZER
#define CONDITION_INIT PTHREAD_COND_INITIALIZER

static void init_lock(Lock *lock) { pthread_mutex_init(lock, NULL); }
static void init_condition(Condition *condition) { pthread_cond_init(condition, NULL); }
static void acquire(Lock *lock) { pthread_mutex_lock(lock); }
static void release(Lock *lock) { pthread_mutex_unlock(lock); }
static void wake_one(Condition *condition) { pthread_cond_signal(condition); }
static void wait_for(Condition *condition, Lock *lock) { pthread_cond_wait(condition, lock); }

/* The time of a clock. */
static int64_t nanoseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The elapsed time, in nanoseconds since some moment. */
static int64_t wall_ns(void) { return nanoseconds(CLOCK_MONOTONIC); }

/* The processor time of this thread. */
static int64_t busy_ns(void) { return nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

/* after_fork: is called in each forked child. */
static void init_platform(void (*after_fork)(void)) { pthread_atfork(NULL, NULL, after_fork); }

/* The cores that this process may use. */
static int n_cores(void)
{
#ifdef CPU_COUNT
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
        return CPU_COUNT(&cores);
#endif
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void *call_work(void *work)
{
    ((void (*)(void))work)();
    return NULL;
}

/* Starts a thread that runs `work`, and blocks all signals: these are for the threads of Python.
   False if the system does not allow it. */
static bool start_thread(void (*work)(void))
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, call_work, (void *)work) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

#endif
#endif
