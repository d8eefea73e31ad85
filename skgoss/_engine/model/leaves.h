/* Which leaf of a tree rows reach, if every test compares a byte: the loops over a tile of
 * rows. Every operation is on integers, so all instruction sets agree. */
#ifndef SKGOSS_LEAVES_H
#define SKGOSS_LEAVES_H

#include "simd.h"

#include <string.h>

/* Rows of a tile. Columns of bytes have as many, however many of them are used. */
#define LEAF_TILE 256
/* Rows that walk side by side, so that their latencies overlap. */
#define WALK_WIDTH 16

/* A value v goes right when ((uint8_t)(v - low) & bits) > limit. */
typedef struct {
    int32_t column;
    uint8_t low;
    uint8_t bits;
    uint8_t limit;
} skgoss_test;

/* Of the eight exits of a plane only those in `below` remain to rows that go left, and those
 * in `below ^ change` to rows that go right. */
typedef struct {
    skgoss_test test;
    uint8_t below;
    uint8_t change;
} skgoss_mask_op;

/* The operations of a plane: first those with low 0 and all bits, then the others. */
typedef struct {
    int32_t n_plain;
    int32_t n_others;
} skgoss_plane;

/* The children of a node lie side by side: `child` is the left one. A leaf is its own left
 * child, and nothing goes right there. */
typedef struct {
    skgoss_test test;
    int32_t child;
    int32_t leaf;
} skgoss_walk_node;

#if defined(__GNUC__)
#define LEAF_VECTOR(BYTES) __attribute__((vector_size(BYTES), aligned(1), may_alias))
#define LEAF_TRUE(COMPARISON) (COMPARISON)
#else
#define LEAF_VECTOR(BYTES)
#define LEAF_TRUE(COMPARISON) -(COMPARISON)
#endif

/* The leftmost exit that remains to each row of a tile. Four vectors of rows at a time: what
 * remains of a plane stays in registers. */
#define LEAF_EXITS(LEVEL, BYTES, TARGET)                                                  \
    typedef uint8_t bytes_##LEVEL LEAF_VECTOR(BYTES);                                     \
    TARGET static void skgoss_exits_##LEVEL(                                              \
        const skgoss_mask_op *ops, const skgoss_plane *planes, int n_planes,              \
        const uint8_t *const *columns, uint8_t *exit_out)                                 \
    {                                                                                     \
        typedef bytes_##LEVEL V;                                                          \
        enum { N = sizeof(V), W = 4 };                                                    \
        const V zero = {0};                                                               \
        for (int r = 0; r < LEAF_TILE; r += N * W) {                                      \
            const skgoss_mask_op *op = ops;                                               \
            V bits[W], first[W], left[W];                                                 \
            for (int w = 0; w < W; w++)                                                   \
                bits[w] = first[w] = zero;                                                \
            for (int p = 0; p < n_planes; p++) {                                          \
                for (int w = 0; w < W; w++)                                               \
                    left[w] = zero + 0xFF;                                                \
                for (const skgoss_mask_op *end = op + planes[p].n_plain; op < end; op++) { \
                    const V *code = (const V *)(columns[op->test.column] + r);            \
                    const V limit = zero + op->test.limit, below = zero + op->below,      \
                            change = zero + op->change;                                   \
                    for (int w = 0; w < W; w++)                                           \
                        left[w] &= below ^ ((V)LEAF_TRUE(code[w] > limit) & change);      \
                }                                                                         \
                for (const skgoss_mask_op *end = op + planes[p].n_others; op < end; op++) { \
                    const V *code = (const V *)(columns[op->test.column] + r);            \
                    const V limit = zero + op->test.limit, below = zero + op->below,      \
                            change = zero + op->change, low = zero + op->test.low,        \
                            mask = zero + op->test.bits;                                  \
                    for (int w = 0; w < W; w++)                                           \
                        left[w] &= below ^ ((V)LEAF_TRUE(((V)(code[w] - low) & mask) > limit) \
                                            & change);                                    \
                }                                                                         \
                for (int w = 0; w < W; w++) {                                             \
                    const V is_first = (V)LEAF_TRUE(bits[w] == zero);                     \
                    bits[w] |= left[w] & is_first;                                        \
                    first[w] |= (V)LEAF_TRUE(left[w] != zero) & is_first                  \
                        & (zero + (uint8_t)(8 * p));                                      \
                }                                                                         \
            }                                                                             \
            for (int w = 0; w < W; w++) {                                                 \
                const V low = bits[w] & (zero - bits[w]);                                 \
                const V exit = first[w] + ((V)LEAF_TRUE((low & 0xAA) != zero) & 1)        \
                    + ((V)LEAF_TRUE((low & 0xCC) != zero) & 2)                            \
                    + ((V)LEAF_TRUE((low & 0xF0) != zero) & 4);                           \
                memcpy(exit_out + r + N * w, &exit, N);                                   \
            }                                                                             \
        }                                                                                 \
    }

#if !defined(__GNUC__)
LEAF_EXITS(plain, 1, )
#else
LEAF_EXITS(plain, 16, )
#endif

static void skgoss_exits(const skgoss_mask_op *ops, const skgoss_plane *planes, int n_planes,
                         const uint8_t *const *columns, uint8_t *exit_out);

#if defined(SIMD_FOR_AVX2)
LEAF_EXITS(avx2, 32, SIMD_FOR_AVX2)
LEAF_EXITS(avx512, 64, SIMD_FOR_AVX512)
#define LEAF_LEVELS {skgoss_exits_plain, skgoss_exits_avx2, skgoss_exits_avx512}
#else
#define LEAF_LEVELS {skgoss_exits_plain}
#endif

static void skgoss_exits(const skgoss_mask_op *ops, const skgoss_plane *planes, int n_planes,
                         const uint8_t *const *columns, uint8_t *exit_out)
{
    static void (*const levels[])(const skgoss_mask_op *, const skgoss_plane *, int,
                                  const uint8_t *const *, uint8_t *)
        = LEAF_LEVELS;
    levels[simd_level](ops, planes, n_planes, columns, exit_out);
}

static SIMD_INLINE int32_t skgoss_next(const skgoss_walk_node *nodes, int32_t at,
                                       const uint8_t *const *columns, int row)
{
    const skgoss_walk_node *node = nodes + at;
    const uint8_t code = columns[node->test.column][row];
    return node->child
        + (((uint8_t)(code - node->test.low) & node->test.bits) > node->test.limit);
}

/* The leaves of a tile's rows that walk on from exits: node e is that of exit e. */
static void skgoss_walk(const skgoss_walk_node *nodes, const uint8_t *exits,
                        const uint8_t *const *columns, int n, int32_t *leaf_out)
{
    for (int i = 0; i < n; i += WALK_WIDTH) {
        int32_t at[WALK_WIDTH], moved;
        for (int k = 0; k < WALK_WIDTH; k++)
            at[k] = exits[i + k];
        do {
            moved = 0;
            for (int k = 0; k < WALK_WIDTH; k++)
                at[k] = skgoss_next(nodes, at[k], columns, i + k);
            for (int k = 0; k < WALK_WIDTH; k++) {
                const int32_t next = skgoss_next(nodes, at[k], columns, i + k);
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (int k = 0; k < WALK_WIDTH; k++)
            leaf_out[i + k] = nodes[at[k]].leaf;
    }
}

#endif
