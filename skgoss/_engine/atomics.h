/* A counter and a lock for threads that share out work among themselves. */
#ifndef SKGOSS_ATOMICS_H
#define SKGOSS_ATOMICS_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#define YIELD() SwitchToThread()
#else
#include <sched.h>
#define YIELD() sched_yield()
#endif

#if defined(__x86_64__) || defined(__i386__)
#define SPIN_PAUSE() __builtin_ia32_pause()
#elif defined(_M_X64)
#define SPIN_PAUSE() _mm_pause()
#else
#define SPIN_PAUSE() ((void)0)
#endif

/* The next number: each goes to one thread only. */
static inline int64_t fetch_increment(int64_t *next)
{
#if defined(_MSC_VER)
    return _InterlockedExchangeAdd64(next, 1);
#else
    return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
#endif
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
