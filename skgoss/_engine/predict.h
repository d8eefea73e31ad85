/* Scoring a tile of rows by bit masks: loops written so that the compiler makes them
   vector code. Every operation is on integers, so all instruction sets agree. */
#ifndef SKGOSS_PREDICT_H
#define SKGOSS_PREDICT_H

#include <stddef.h>
#include <stdint.h>

/* Rows are scored in tiles of this many, in groups of 64: one cache line of bytes. */
#define SKGOSS_TILE 256
#define SKGOSS_ROW_GROUP 64

/* Where the value's rank is above `rank`, only the leaves in `mask` remain of those
   that `plane` holds (leaves 8 * plane .. 8 * plane + 7, from left to right). */
typedef struct {
  int32_t column;
  uint16_t rank;
  uint8_t plane;
  uint8_t mask;
} skgoss_mask_op;

#define SKGOSS_APPLY_MASKS(NAME, RANK)                                                   \
  static void NAME(const skgoss_mask_op *ops, ptrdiff_t n_ops, const RANK *ranks,        \
                   uint8_t *planes_out) {                                                \
    for (ptrdiff_t i = 0; i < n_ops; i++) {                                              \
      const RANK *restrict value = ranks + ops[i].column * (ptrdiff_t)SKGOSS_TILE;                        \
      uint8_t *restrict plane = planes_out + ops[i].plane * SKGOSS_TILE;                       \
      const RANK rank = (RANK)ops[i].rank;                                               \
      const uint8_t mask = ops[i].mask;                                                  \
      for (ptrdiff_t r = 0; r < SKGOSS_TILE; r += SKGOSS_ROW_GROUP)                             \
        for (int j = 0; j < SKGOSS_ROW_GROUP; j++)                                       \
          plane[r + j] &= value[r + j] > rank ? mask : 0xFF;                             \
    }                                                                                    \
  }

SKGOSS_APPLY_MASKS(skgoss_apply_masks_u8, uint8_t)
SKGOSS_APPLY_MASKS(skgoss_apply_masks_u16, uint16_t)

/* The leftmost leaf that remains of each row, counted from the left. */
static void skgoss_leftmost_leaf(const uint8_t *planes, int n_planes,
                                 uint8_t *leaf_out) {
  for (ptrdiff_t r = 0; r < SKGOSS_TILE; r += SKGOSS_ROW_GROUP) {
    uint8_t bits[SKGOSS_ROW_GROUP], first[SKGOSS_ROW_GROUP];
    for (int j = 0; j < SKGOSS_ROW_GROUP; j++) bits[j] = first[j] = 0;
    for (int p = n_planes - 1; p >= 0; p--) {
      const uint8_t *plane = planes + p * SKGOSS_TILE + r;
      for (int j = 0; j < SKGOSS_ROW_GROUP; j++) {
        bits[j] = plane[j] ? plane[j] : bits[j];
        first[j] = plane[j] ? (uint8_t)(8 * p) : first[j];
      }
    }
    for (int j = 0; j < SKGOSS_ROW_GROUP; j++) {
      const uint8_t low = bits[j] & (uint8_t)(-bits[j]);
      leaf_out[r + j] = (uint8_t)(first[j] + ((low & 0xAA) != 0) + 2 * ((low & 0xCC) != 0) +
                                  4 * ((low & 0xF0) != 0));
    }
  }
}

#endif
