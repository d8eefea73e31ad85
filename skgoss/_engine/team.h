/* What threads that share out work among themselves need. */
#ifndef SKGOSS_TEAM_H
#define SKGOSS_TEAM_H

#include <stdint.h>

#if defined(_MSC_VER)
#include <intrin.h>
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

#endif
