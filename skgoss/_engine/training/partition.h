/* Partition of a node's rows: the first pass writes a bit for each row (whether it goes left), the
   second one moves records to both sides in their order. So the first has no branch that depends
   on the data, and the second moves whole vectors if the processor can compress them
   (AVX-512). */
#ifndef SKGOSS_PARTITION_H
#define SKGOSS_PARTITION_H

#include <stddef.h>
#include <string.h>

#include "simd.h"

/* The number of bits that are set in a byte. */
static const uint8_t bit_count[256] = {
#define B2(n) n, n + 1, n + 1, n + 2
#define B4(n) B2(n), B2(n + 1), B2(n + 1), B2(n + 2)
#define B6(n) B4(n), B4(n + 1), B4(n + 1), B4(n + 2)
    B6(0), B6(1), B6(1), B6(2)};

/* Whether a row goes left (1) or right (0). column: codes of `width` bytes, by row; goes_left: by
   code. */
static SIMD_INLINE unsigned goes(const void *column, const int width, uint64_t row,
                                 const uint8_t *goes_left)
{
    return goes_left[width == 1 ? ((const uint8_t *)column)[row]
                                : ((const uint16_t *)column)[row]];
}

/* One bit a row, eight rows a byte: goes_left[code of the row], codes of `width` bytes. Returns
   how many are set. */
static SIMD_INLINE ptrdiff_t decide_codes(const uint64_t *records, ptrdiff_t n, uint64_t id_mask,
                                          const void *column, const int width,
                                          const uint8_t *goes_left, uint8_t *mask_out)
{
    ptrdiff_t n_left = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        unsigned mask = 0;
        for (int k = 0; k < 8; k++)
            mask |= goes(column, width, records[i + k] & id_mask, goes_left) << k;
        mask_out[i / 8] = (uint8_t)mask;
        n_left += bit_count[mask];
    }
    if (i < n) {
        unsigned mask = 0;
        for (int k = 0; k < n - i; k++)
            mask |= goes(column, width, records[i + k] & id_mask, goes_left) << k;
        mask_out[i / 8] = (uint8_t)mask;
        n_left += bit_count[mask];
    }
    return n_left;
}

/* decide_codes for codes of one byte. */
static ptrdiff_t decide_bytes(const uint64_t *records, ptrdiff_t n, uint64_t id_mask,
                              const uint8_t *column, const uint8_t *goes_left,
                              uint8_t *mask_out)
{
    return decide_codes(records, n, id_mask, column, 1, goes_left, mask_out);
}

/* decide_codes for codes of two bytes. */
static ptrdiff_t decide_shorts(const uint64_t *records, ptrdiff_t n, uint64_t id_mask,
                               const uint16_t *column, const uint8_t *goes_left,
                               uint8_t *mask_out)
{
    return decide_codes(records, n, id_mask, column, 2, goes_left, mask_out);
}

/* Each record is stored at the end of both sides, and overwritten by the next one on the wrong
   side. When one side is full, the remaining records go to the other one: nothing is stored
   outside of either. */
static void move_plain(const uint64_t *records, ptrdiff_t n, ptrdiff_t n_left,
                       const uint8_t *mask, uint64_t *left_out, uint64_t *right_out)
{
    ptrdiff_t left = 0, i = 0;
    for (; left < n_left && i - left < n - n_left; i++) {
        uint64_t record = records[i];
        left_out[left] = record;
        right_out[i - left] = record;
        left += mask[i / 8] >> (i % 8) & 1;
    }
    if (left < n_left)
        memcpy(left_out + left, records + i, (n - i) * sizeof *records);
    else
        memcpy(right_out + i - left, records + i, (n - i) * sizeof *records);
}

/* As move_plain, but both sides must have memory for all records. flip: 0 if rows whose bit is set
   are kept, 255 if the others are. Returns how many are kept. */
static ptrdiff_t keep_plain(const uint64_t *records, ptrdiff_t n, const uint8_t *mask,
                            unsigned flip, uint64_t *kept_out, uint64_t *moved_out)
{
    ptrdiff_t kept = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        int keeps = (mask[i / 8] ^ flip) >> (i % 8) & 1;
        uint64_t record = records[i];
        kept_out[kept] = record;
        moved_out[i - kept] = record;
        kept += keeps;
    }
    return kept;
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#include <immintrin.h>

/* Compresses to a register, then stores: the instruction that writes to memory is slow on Zen 4.
   Whole vectors are stored as long as they stay inside their own side. */
SIMD_FOR_AVX512 static void move_avx512(const uint64_t *records, ptrdiff_t n,
                                        ptrdiff_t n_left, const uint8_t *mask,
                                        uint64_t *left_out, uint64_t *right_out)
{
    uint64_t *left_whole = left_out + n_left - 8;
    uint64_t *right_whole = right_out + (n - n_left) - 8;
    ptrdiff_t i = 0;
    for (; i + 8 <= n && left_out <= left_whole && right_out <= right_whole; i += 8) {
        unsigned m = mask[i / 8];
        __m512i w = _mm512_loadu_si512(records + i);
        _mm512_storeu_si512(left_out, _mm512_maskz_compress_epi64((__mmask8)m, w));
        _mm512_storeu_si512(right_out, _mm512_maskz_compress_epi64((__mmask8)~m, w));
        left_out += bit_count[m];
        right_out += 8 - bit_count[m];
    }
    for (; i + 8 <= n; i += 8) {
        unsigned m = mask[i / 8], n_to_left = bit_count[m];
        __m512i w = _mm512_loadu_si512(records + i);
        _mm512_mask_storeu_epi64(left_out, (__mmask8)((1u << n_to_left) - 1),
                                 _mm512_maskz_compress_epi64((__mmask8)m, w));
        _mm512_mask_storeu_epi64(right_out, (__mmask8)((1u << (8 - n_to_left)) - 1),
                                 _mm512_maskz_compress_epi64((__mmask8)~m, w));
        left_out += n_to_left;
        right_out += 8 - n_to_left;
    }
    move_plain(records + i, n - i, left_whole + 8 - left_out, mask + i / 8, left_out, right_out);
}

/* keep_plain, eight records at a time. kept_out may be `records`: it is never ahead of what is
   read. */
SIMD_FOR_AVX512 static ptrdiff_t keep_avx512(const uint64_t *records, ptrdiff_t n,
                                             const uint8_t *mask, unsigned flip,
                                             uint64_t *kept_out, uint64_t *moved_out)
{
    ptrdiff_t kept = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        unsigned m = mask[i / 8] ^ flip;
        __m512i w = _mm512_loadu_si512(records + i);
        _mm512_storeu_si512(kept_out + kept, _mm512_maskz_compress_epi64((__mmask8)m, w));
        _mm512_storeu_si512(moved_out + (i - kept), _mm512_maskz_compress_epi64((__mmask8)~m, w));
        kept += bit_count[m];
    }
    return kept + keep_plain(records + i, n - i, mask + i / 8, flip, kept_out + kept,
                             moved_out + (i - kept));
}
#endif

/* Moves n records, n_left of them by `mask` to the left side, in their order. */
static inline void move_records(const uint64_t *records, ptrdiff_t n, ptrdiff_t n_left,
                                const uint8_t *mask, uint64_t *left_out,
                                uint64_t *right_out)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
    if (simd_level == SIMD_AVX512) {
        move_avx512(records, n, n_left, mask, left_out, right_out);
        return;
    }
#endif
    move_plain(records, n, n_left, mask, left_out, right_out);
}

/* Writes n records in their order: those of the kept side to `kept_out`, which may be where they
   are, and the others to `moved_out`. Both have memory for n. Returns how many are kept. */
static inline ptrdiff_t keep_records(const uint64_t *records, ptrdiff_t n, const uint8_t *mask,
                                     int keeps_left, uint64_t *kept_out, uint64_t *moved_out)
{
    unsigned flip = keeps_left ? 0 : 255;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
    if (simd_level == SIMD_AVX512)
        return keep_avx512(records, n, mask, flip, kept_out, moved_out);
#endif
    return keep_plain(records, n, mask, flip, kept_out, moved_out);
}

#endif
