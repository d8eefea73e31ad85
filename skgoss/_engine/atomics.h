/* A counter and a lock for threads that share out work among themselves. */
#ifndef SKGOSS_ATOMICS_H
#define SKGOSS_ATOMICS_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
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

/* A spin lock: one thread at a time is between both, for a few instructions, as others wait
   busily. */
static inline void spin_lock(int64_t *lock)
{
#if defined(_MSC_VER)
    while (_InterlockedExchange64(lock, 1))
        SPIN_PAUSE();
#else
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
        SPIN_PAUSE();
#endif
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
