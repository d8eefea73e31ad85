/* Counts and locks that threads share. */
#ifndef SKGOSS_ATOMICS_H
#define SKGOSS_ATOMICS_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
/* Keywords of 16-bit programs, which windows.h defines as empty. */
#undef far
#undef near
#undef FAR
#undef NEAR
#define FAR
#define NEAR
#define YIELD() SwitchToThread()
#else
#include <sched.h>
#define YIELD() sched_yield()
#endif

#if defined(__x86_64__) || defined(__i386__)
#define SPIN_PAUSE() __builtin_ia32_pause()
#elif defined(_M_X64)
#define SPIN_PAUSE() _mm_pause()
#elif defined(__aarch64__)
#define SPIN_PAUSE() __asm__ volatile("yield")
#else
#define SPIN_PAUSE() ((void)0)
#endif

/* Adds to a count that threads share; returns its previous value. */
static inline int64_t fetch_add(int64_t *count, int64_t n)
{
#if defined(_MSC_VER)
    return _InterlockedExchangeAdd64(count, n);
#else
    return __atomic_fetch_add(count, n, __ATOMIC_ACQ_REL);
#endif
}

/* The value of a count that threads share. */
static inline int64_t read_count(const int64_t *count)
{
#if defined(_MSC_VER)
    return _InterlockedOr64((int64_t *)count, 0);
#else
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);
#endif
}

/* The number of the next of n items that several threads take one after the other; -1: none is
   left. */
static inline int64_t take_next(int64_t *next, const int64_t *n)
{
    int64_t number = read_count(next);
    while (number < read_count(n)) {
#if defined(_MSC_VER)
        int64_t found = _InterlockedCompareExchange64(next, number + 1, number);
        if (found == number)
            return number;
        number = found;
#else
        if (__atomic_compare_exchange_n(next, &number, number + 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return number;
#endif
    }
    return -1;
}

/* Takes a lock (1: taken, 0: free) if it is free; returns whether it was. */
static inline int try_lock(int64_t *lock)
{
#if defined(_MSC_VER)
    return !_InterlockedExchange64(lock, 1);
#else
    return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
#endif
}

/* A spin lock, for microseconds at most. After a while it yields: the system may have suspended
   the thread that holds it. */
static inline void spin_lock(int64_t *lock)
{
    for (int n = 1; !try_lock(lock); n++) {
        SPIN_PAUSE();
        if (n % 1024 == 0)
            YIELD();
    }
}

/* Frees a lock that this thread has taken. */
static inline void spin_unlock(int64_t *lock)
{
#if defined(_MSC_VER)
    _InterlockedExchange64(lock, 0);
#else
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
#endif
}

#endif
