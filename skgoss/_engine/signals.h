/* A clock, and a flag that one thread sets and others read. */
#ifndef SKGOSS_SIGNALS_H
#define SKGOSS_SIGNALS_H

#include <stdint.h>

#if defined(_WIN32)
#include <windows.h>

static inline int64_t milliseconds(void) { return (int64_t)GetTickCount64(); }
#else
#include <time.h>

static inline int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
#endif

/* A flag is 0 until a thread sets it to 1; threads that read it may see that a little later. */
#if defined(_MSC_VER)
static inline int read_flag(const int *flag) { return *(const volatile int *)flag; }
static inline void set_flag(int *flag) { *(volatile int *)flag = 1; }
#else
static inline int read_flag(const int *flag) { return __atomic_load_n(flag, __ATOMIC_RELAXED); }
static inline void set_flag(int *flag) { __atomic_store_n(flag, 1, __ATOMIC_RELAXED); }
#endif

#endif
