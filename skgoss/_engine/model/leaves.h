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
} Test;

/* Of the eight exits of a plane only those in `below` remain to rows that go left, and those
 * in `below ^ change` to rows that go right. */
typedef struct {
    Test test;
    uint8_t below;
    uint8_t change;
} MaskOp;

/* The operations of a plane: first those with low 0 and all bits, then the others. */
typedef struct {
    int32_t n_plain;
    int32_t n_others;
} Plane;

/* The children of a node lie side by side: `child` is the left one. A leaf is its own left
 * child, and nothing goes right there. */
typedef struct {
    Test test;
    int32_t child;
    int32_t leaf;
} WalkNode;

/* Vectors of several lengths, one for each instruction set. Without vectors of the compiler, rows
 * are taken one by one. */
#if defined(__GNUC__)
#define EXITS_VECTOR_BYTES 16
#else
#define EXITS_VECTOR_BYTES 1
#endif
#define EXITS_NAME find_exits_plain
#define EXITS_TARGET
#include "leaf_exits.h"

#if defined(SIMD_FOR_AVX2)
#define EXITS_NAME find_exits_avx2
#define EXITS_VECTOR_BYTES 32
#define EXITS_TARGET SIMD_FOR_AVX2
#include "leaf_exits.h"

#define EXITS_NAME find_exits_avx512
#define EXITS_VECTOR_BYTES 64
#define EXITS_TARGET SIMD_FOR_AVX512
#include "leaf_exits.h"
#endif

/* The exit of each row of a tile, by the best instruction set. */
static void leftmost_exits(const MaskOp *ops, const Plane *planes, int n_planes,
                         const uint8_t *const *columns, uint8_t *exit_out)
{
    static void (*const levels[])(const MaskOp *, const Plane *, int,
                                  const uint8_t *const *, uint8_t *) = {
        find_exits_plain,
#if defined(SIMD_FOR_AVX2)
        find_exits_avx2,
        find_exits_avx512,
#endif
    };
    levels[simd_level](ops, planes, n_planes, columns, exit_out);
}

/* The child that a row goes to; a leaf is its own. */
static SIMD_INLINE int32_t next_node(const WalkNode *nodes, int32_t at,
                                       const uint8_t *const *columns, int row)
{
    const WalkNode *node = nodes + at;
    const uint8_t code = columns[node->test.column][row];
    return node->child
        + (((uint8_t)(code - node->test.low) & node->test.bits) > node->test.limit);
}

/* The leaves of a tile's rows that walk on from exits: node e is that of exit e. */
static void walk_from_exits(const WalkNode *nodes, const uint8_t *exits,
                        const uint8_t *const *columns, int n, int32_t *leaf_out)
{
    for (int i = 0; i < n; i += WALK_WIDTH) {
        int32_t at[WALK_WIDTH], moved;
        for (int k = 0; k < WALK_WIDTH; k++)
            at[k] = exits[i + k];
        do {
            moved = 0;
            for (int k = 0; k < WALK_WIDTH; k++)
                at[k] = next_node(nodes, at[k], columns, i + k);
            for (int k = 0; k < WALK_WIDTH; k++) {
                const int32_t next = next_node(nodes, at[k], columns, i + k);
                moved |= next ^ at[k];
                at[k] = next;
            }
        } while (moved);
        for (int k = 0; k < WALK_WIDTH; k++)
            leaf_out[i + k] = nodes[at[k]].leaf;
    }
}

#endif
