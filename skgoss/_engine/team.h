/* What threads that share out work among themselves need. */
#ifndef SKGOSS_TEAM_H
#define SKGOSS_TEAM_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

#if defined(__x86_64__) || defined(__i386__)
#define TEAM_PAUSE() __builtin_ia32_pause()
#elif defined(_M_X64)
#define TEAM_PAUSE() _mm_pause()
#else
#define TEAM_PAUSE() ((void)0)
#endif

/* The next number: each is given to one thread only. */
static inline int64_t take_next(int64_t *next)
{
#if defined(_MSC_VER)
    return _InterlockedExchangeAdd64(next, 1);
#else
    return __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
#endif
}

/* Only one thread is between both: for a few instructions, as others wait busily. */
static inline void enter_alone(int64_t *is_taken)
{
#if defined(_MSC_VER)
    while (_InterlockedExchange64(is_taken, 1))
        TEAM_PAUSE();
#else
    while (__atomic_exchange_n(is_taken, 1, __ATOMIC_ACQUIRE))
        TEAM_PAUSE();
#endif
}

static inline void leave(int64_t *is_taken)
{
#if defined(_MSC_VER)
    _InterlockedExchange64(is_taken, 0);
#else
    __atomic_store_n(is_taken, 0, __ATOMIC_RELEASE);
#endif
}

#endif
