/* One loop, three instruction sets, chosen when the program starts.
 *
 * Write SIMD_KERNEL as the head of a function. Its body is compiled for plain x86-64, AVX2 and
 * AVX-512, and the function calls the best of the three:
 *
 *     SIMD_KERNEL(twice, (const double *x, int64_t n, double *x_out), (x, n, x_out))
 *     {
 *         for (int64_t i = 0; i < n; i++)
 *             x_out[i] = 2 * x[i];
 *     }
 *
 *     twice(x, n, x_out);
 *
 * Other such kernels may call `twice_body`, the body alone.
 * The compiler vectorizes. The three versions give identical results as long as the body works
 * element by element, without sums across elements, and the build has -ffp-contract=off. Call a
 * kernel on blocks of some thousand elements, because each call goes through a table.
 *
 * Functions that such a body calls for each column or bin should be SIMD_INLINE, too. A call from
 * a version with vectors to a plain function costs about 60 cycles each way on Intel's processors,
 * because GCC does not clear the upper halves of the registers.
 *
 * SKGOSS_SIMD=plain|avx2|avx512 in the environment at import sets the highest level
 * used; a level the processor lacks is lowered to the best it has. Other compilers and
 * processors have one level, plain.
 */
#ifndef SKGOSS_SIMD_H
#define SKGOSS_SIMD_H

#include <stdint.h>

enum { SIMD_PLAIN, SIMD_AVX2, SIMD_AVX512 };

#if defined(__GNUC__) || defined(__clang__)
#define SIMD_INLINE inline __attribute__((always_inline))
/* For a function whose loop needs all registers. */
#define NOT_INLINE __attribute__((noinline))
#else
#define SIMD_INLINE inline
#define NOT_INLINE
#endif

/* Prefetches a cache line; to the second cache if it is `far`, among rows that no cache holds:
   more loads can be pending there than in the first. */
static SIMD_INLINE void prefetch(const void *address, int far)
{
#if defined(__GNUC__)
    if (far)
        __builtin_prefetch(address, 0, 2);
    else
        __builtin_prefetch(address);
#endif
}

/* Not on Windows, where GCC does not align the stack for 32-byte vectors. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)

#include <stdlib.h>
#include <string.h>

#define SIMD_FOR_AVX2 __attribute__((target("avx2")))
#define SIMD_FOR_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

static int simd_level = SIMD_PLAIN;

__attribute__((constructor)) static void simd_choose_level(void)
{
    const char *wish = getenv("SKGOSS_SIMD");
    int limit = SIMD_AVX512;
    if (wish && !strcmp(wish, "plain"))
        limit = SIMD_PLAIN;
    else if (wish && !strcmp(wish, "avx2"))
        limit = SIMD_AVX2;

    __builtin_cpu_init();
    if (limit >= SIMD_AVX2 && __builtin_cpu_supports("avx2"))
        simd_level = SIMD_AVX2;
    if (limit >= SIMD_AVX512 && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        simd_level = SIMD_AVX512;
}

#define SIMD_KERNEL(name, parameters, arguments)                                    \
    static SIMD_INLINE void name##_body parameters;                                 \
    static void name##_plain parameters { name##_body arguments; }                  \
    SIMD_FOR_AVX2 static void name##_avx2 parameters { name##_body arguments; }     \
    SIMD_FOR_AVX512 static void name##_avx512 parameters { name##_body arguments; } \
    static void name parameters                                                     \
    {                                                                               \
        static void (*const levels[]) parameters                                    \
            = {name##_plain, name##_avx2, name##_avx512};                           \
        levels[simd_level] arguments;                                               \
    }                                                                               \
    static SIMD_INLINE void name##_body parameters

#else

enum { simd_level = SIMD_PLAIN };

#define SIMD_KERNEL(name, parameters, arguments)           \
    static SIMD_INLINE void name##_body parameters;        \
    static void name parameters { name##_body arguments; } \
    static SIMD_INLINE void name##_body parameters

#endif
#endif
