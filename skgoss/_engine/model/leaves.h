/* The leaves that rows reach in trees whose tests compare bytes: loops over a tile of rows.
 * All operations are on integers, so that results do not depend on the instruction set. */
#ifndef SKGOSS_LEAVES_H
#define SKGOSS_LEAVES_H

#include "simd.h"

#include <string.h>

/* The number of rows of a tile. Columns of bytes always have this length. */
#define LEAF_TILE 256
/* The number of rows that go down a tree together, so that their latencies overlap. */
#define WALK_WIDTH 16

/* A value v goes right if ((uint8_t)(v - low) & bits) > limit, else left. */
typedef struct {
    int32_t column;
    uint8_t low;
    uint8_t bits;
    uint8_t limit;
} Test;

/* The effect of a test on the eight exits of a plane: `below` is the mask of those that remain
 * possible for rows that go left, and `below ^ change` for rows that go right. */
typedef struct {
    Test test;
    uint8_t below;
    uint8_t change;
} MaskOp;

/* The numbers of operations of a plane: first those with low 0 and all bits, then all others. */
typedef struct {
    int32_t n_plain;
    int32_t n_masked;
} Plane;

/* The children of a node are neighbors: `child` is the left one. A leaf is its own left child, and
 * no value goes right there. */
typedef struct {
    Test test;
    int32_t child;
    int32_t leaf;
} WalkNode;

/* A version for each instruction set, with the length of its vectors. Without vector extensions of
 * the compiler, rows are processed one by one. */
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

/* The exit of each row of a tile, computed with the best instruction set. */
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

/* The child that a row goes to; a leaf is its own child. */
static SIMD_INLINE int32_t next_node(const WalkNode *nodes, int32_t at,
                                       const uint8_t *const *columns, int row)
{
    const WalkNode *node = nodes + at;
    const uint8_t code = columns[node->test.column][row];
    return node->child
        + (((uint8_t)(code - node->test.low) & node->test.bits) > node->test.limit);
}

/* The leaves that the rows of a tile reach from their exits. Node e is the node of exit e. n is
 * rounded up to a multiple of WALK_WIDTH. Rows take two steps between checks whether any has moved.
 * */
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
