/* Counts and locks that threads have in common. */
#ifndef SKGOSS_ATOMICS_H
#define SKGOSS_ATOMICS_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
/* Words of 16-bit programs, which it makes empty. */
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

/* Add to a count that several threads have; returns what it was. */
static inline int64_t fetch_add(int64_t *count, int64_t n)
{
#if defined(_MSC_VER)
    return _InterlockedExchangeAdd64(count, n);
#else
    return __atomic_fetch_add(count, n, __ATOMIC_ACQ_REL);
#endif
}

static inline int64_t read_count(const int64_t *count)
{
#if defined(_MSC_VER)
    return _InterlockedOr64((int64_t *)count, 0);
#else
    return __atomic_load_n(count, __ATOMIC_ACQUIRE);
#endif
}

/* The number of what is taken next of n things that several threads take; -1: nothing is left. */
static inline int64_t take_next(int64_t *next, const int64_t *n)
{
    int64_t at = read_count(next);
    while (at < read_count(n)) {
#if defined(_MSC_VER)
        int64_t before = _InterlockedCompareExchange64(next, at + 1, at);
        if (before == at)
            return at;
        at = before;
#else
        if (__atomic_compare_exchange_n(next, &at, at + 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return at;
#endif
    }
    return -1;
}

static inline int try_lock(int64_t *lock)
{
#if defined(_MSC_VER)
    return !_InterlockedExchange64(lock, 1);
#else
    return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
#endif
}

/* A spin lock: one thread at a time is between both, for microseconds at most, as others wait
   busily; after a while, the system may have taken the processor from the one that has it. */
static inline void spin_lock(int64_t *lock)
{
    for (int n = 1; !try_lock(lock); n++) {
        SPIN_PAUSE();
        if (n % 1024 == 0)
            YIELD();
    }
}

static inline void spin_unlock(int64_t *lock)
{
#if defined(_MSC_VER)
    _InterlockedExchange64(lock, 0);
#else
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
#endif
}

#endif
