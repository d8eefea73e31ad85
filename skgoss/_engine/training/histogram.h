/* Histograms: the sums of rows by bin, from accumulators to histograms, and the subtraction of
   histograms. docs/design.md, section 4, has the formats. */
#ifndef SKGOSS_HISTOGRAM_H
#define SKGOSS_HISTOGRAM_H

#include <string.h>

#include "fixed_point.h"
#include "layout.h"
#include "simd.h"

#define PREFETCH_DISTANCE 32 /* rows; twice as many for `far` rows: see prefetch */
#define CACHE_LINE 64
#define NEAR_BYTES (8 << 20) /* rows of fewer bytes are mostly in a cache */
#define ROW_BLOCK 1024 /* rows that stay in the cache while they are added tile by tile */
#define ROWS_PER_STEP 4
#define SHORTS_PER_TILE 16 /* a quarter in a wide round */
#define ENTRIES_PER_STEP 4

/* Integers of the accumulators of a tile, which stay in the nearest cache: those of 20 full lanes,
   and of 16 in a wide round. */
#define PACKED_TILE 5280
#define WIDE_TILE 8448

/* An addition to memory takes fewer micro-operations on Intel's processors if its address has no
   index. */
#if defined(__GNUC__)
#define NO_INDEX(address) __asm__("" : "+r"(address))
#else
#define NO_INDEX(address) ((void)0)
#endif

/* Prefetches every cache line of a row's lanes. */
static inline void prefetch_row(const Binned *data, ptrdiff_t row)
{
    const uint8_t *lanes = data->rows + row * data->row_bytes;
    for (int offset = 0; offset < data->n_lanes - 1; offset += CACHE_LINE)
        prefetch(lanes + offset, 0);
    prefetch(lanes + data->n_lanes - 1, 0);
}

/* What a row of a packed round adds to its accumulators: gradient, hessian and a count of 1, as
   fields of one integer. They are longer than those of the record, so that sums of rows fit. The
   gradient is signed, and so has the highest field. */
static SIMD_INLINE int64_t packed_addend(uint64_t record, const Encoding *encoding)
{
    uint64_t gradient = (uint64_t)((int64_t)record >> encoding->record_gradient_shift);
    uint64_t hessian = record >> encoding->record_hessian_shift & encoding->hessian_mask;
    return (int64_t)((gradient << encoding->addend_gradient_shift)
                     + (hessian << encoding->count_bits) + 1);
}

/* Adds a row to four lanes. row: its codes there. x: its addend. stride: integers between the
   accumulators of two lanes. */
static SIMD_INLINE void add_quad(const uint8_t *row, int64_t x, ptrdiff_t stride, int64_t *lanes)
{
    int64_t *a = lanes + row[0], *b = lanes + row[1];
    int64_t *c = lanes + row[2], *d = lanes + row[3];
    NO_INDEX(a);
    NO_INDEX(b);
    NO_INDEX(c);
    NO_INDEX(d);
    *a += x;
    b[stride] += x;
    c[2 * stride] += x;
    d[3 * stride] += x;
}

/* The number of lanes of a tile: a multiple of 4, in at most two cache lines of a row, and about
   the same for all tiles. `size`: integers of a lane; `tile`: of a tile. */
static SIMD_INLINE int lanes_per_tile(int n_lanes, ptrdiff_t size, ptrdiff_t tile)
{
    int max_lanes = tile / size < CACHE_LINE ? (int)(tile / size) : CACHE_LINE;
    int quads = (n_lanes + 3) / 4, max_quads = max_lanes / 4;
    int n_tiles = (quads + max_quads - 1) / max_quads;
    return n_tiles > 0 ? (quads + n_tiles - 1) / n_tiles * 4 : 4;
}

/* Adds n rows, of n_left, to some lanes: the inner loop of histograms. Several rows are added in a
   step: while the loads of one are pending, the others add. `rows`: the first lane of row 0;
   `far`: see prefetch. `n_left`: the records from here on that may be read, to prefetch rows of
   later blocks. `lanes`: the accumulators of the first lane, `stride` integers before those of the
   next. */
static SIMD_INLINE void add_packed_tile(const uint8_t *rows, ptrdiff_t row_bytes, const int far,
                                        int n_lanes, const Encoding *encoding,
                                        const uint64_t *records, ptrdiff_t n, ptrdiff_t n_left,
                                        ptrdiff_t stride, int64_t *lanes)
{
    const Encoding code = *encoding;
    const int n_quads = n_lanes / 4;
    const ptrdiff_t distance = PREFETCH_DISTANCE << far;
    const ptrdiff_t last_prefetch = n_left - distance - ROWS_PER_STEP;
    ptrdiff_t i = 0;
    for (; i + ROWS_PER_STEP <= n; i += ROWS_PER_STEP) {
        const uint64_t *next_records = records + (i <= last_prefetch ? i + distance : i);
        const uint8_t *row[ROWS_PER_STEP];
        int64_t x[ROWS_PER_STEP], *acc = lanes;
        for (int k = 0; k < ROWS_PER_STEP; k++) {
            const uint8_t *next = rows + (ptrdiff_t)(next_records[k] & code.id_mask) * row_bytes;
            prefetch(next, far);
            prefetch(next + n_lanes - 1, far);
            row[k] = rows + (ptrdiff_t)(records[i + k] & code.id_mask) * row_bytes;
            x[k] = packed_addend(records[i + k], &code);
        }
        for (ptrdiff_t quad = 0; quad < n_quads; quad++, acc += 4 * stride)
            for (int k = 0; k < ROWS_PER_STEP; k++)
                add_quad(row[k] + 4 * quad, x[k], stride, acc);
        for (int lane = 4 * n_quads; lane < n_lanes; lane++, acc += stride)
            for (int k = 0; k < ROWS_PER_STEP; k++)
                acc[row[k][lane]] += x[k];
    }
    for (; i < n; i++) {
        const uint8_t *row = rows + (ptrdiff_t)(records[i] & code.id_mask) * row_bytes;
        int64_t x = packed_addend(records[i], &code), *acc = lanes;
        for (ptrdiff_t quad = 0; quad < n_quads; quad++, acc += 4 * stride)
            add_quad(row + 4 * quad, x, stride, acc);
        for (int lane = 4 * n_quads; lane < n_lanes; lane++, acc += stride)
            acc[row[lane]] += x;
    }
}

/* A function for each distance: to decide it within the loop takes 6% of its time. */
#define ADD_TILE(name, far)                                                                     \
    static NOT_INLINE void name(const Binned *data, int lane, int n, const Encoding *encoding,  \
                                const uint64_t *records, ptrdiff_t m, ptrdiff_t n_left,         \
                                ptrdiff_t stride, int64_t *sums)                                \
    {                                                                                           \
        add_packed_tile(data->rows + lane, data->row_bytes, far, n, encoding, records, m,       \
                        n_left, stride, sums + lane * stride);                                  \
    }
ADD_TILE(add_near_tile, 0)
ADD_TILE(add_far_tile, 1)

/* Adds rows in blocks, and lanes in tiles, so that both stay in the cache. */
static SIMD_INLINE void add_packed_strided(const Binned *data, const Encoding *encoding,
                                           const uint64_t *records, ptrdiff_t n,
                                           ptrdiff_t stride, int64_t *sums)
{
    const int tile = lanes_per_tile(data->n_lanes, stride, PACKED_TILE);
    const int far = data->n_rows * data->row_bytes > NEAR_BYTES;
    for (ptrdiff_t first = 0; first < n; first += ROW_BLOCK) {
        ptrdiff_t m = n - first < ROW_BLOCK ? n - first : ROW_BLOCK;
        for (int lane = 0; lane < data->n_lanes; lane += tile) {
            int left = data->n_lanes - lane, n_lanes = left < tile ? left : tile;
            if (far)
                add_far_tile(data, lane, n_lanes, encoding, records + first, m, n - first, stride,
                             sums);
            else
                add_near_tile(data, lane, n_lanes, encoding, records + first, m, n - first, stride,
                              sums);
        }
    }
}

/* Adds rows of one-byte bins to the accumulators of a packed round. Constant strides make the
   addresses part of the instructions. */
static void add_packed_bytes(const Binned *data, const Encoding *encoding,
                             const uint64_t *records, ptrdiff_t n, int64_t *sums)
{
    if (data->lane_stride == 24)
        add_packed_strided(data, encoding, records, n, 24, sums);
    else if (data->lane_stride == 72)
        add_packed_strided(data, encoding, records, n, 72, sums);
    else
        add_packed_strided(data, encoding, records, n, 264, sums);
}

/* Adds the packed accumulators of n_bins bins to separate sums, or stores them there if `is_first`,
   and clears the accumulators. Old sums are masked and not read in a branch: `keep` is 0 or -1. */
SIMD_KERNEL(spill_packed, (int64_t *restrict packed, int n_bins, const Encoding *encoding,
             int is_first, int64_t *restrict gradient_out, int64_t *restrict hessian_out,
             int32_t *restrict count_out),
            (packed, n_bins, encoding, is_first, gradient_out, hessian_out, count_out))
{
    const Encoding local = *encoding;
    int64_t keep = is_first ? 0 : -1;
    for (int b = 0; b < n_bins; b++) {
        Sums sums = unpack(packed[b], &local);
        gradient_out[b] = (gradient_out[b] & keep) + sums.gradient;
        hessian_out[b] = (hessian_out[b] & keep) + sums.hessian;
        count_out[b] = (count_out[b] & (int32_t)keep) + (int32_t)sums.count;
        packed[b] = 0;
    }
}

/* The same in a compact round, where histograms are packed as accumulators are. */
SIMD_KERNEL(spill_compact, (int64_t *restrict sums, int n_bins, int is_first,
             int64_t *restrict sums_out), (sums, n_bins, is_first, sums_out))
{
    int64_t keep = is_first ? 0 : -1;
    for (int b = 0; b < n_bins; b++)
        sums_out[b] = (sums_out[b] & keep) + sums[b];
    memset(sums, 0, n_bins * sizeof *sums);
}

/* The same with accumulators of a wide round. */
SIMD_KERNEL(spill_wide, (int64_t *restrict sums, int n_bins, int is_first,
             int64_t *restrict gradient_out, int64_t *restrict hessian_out,
             int32_t *restrict count_out),
            (sums, n_bins, is_first, gradient_out, hessian_out, count_out))
{
    int64_t keep = is_first ? 0 : -1;
    for (int b = 0; b < n_bins; b++) {
        const int64_t *sum = sums + WIDE_WIDTH * b;
        gradient_out[b] = (gradient_out[b] & keep) + sum[0];
        hessian_out[b] = (hessian_out[b] & keep) + sum[1];
        count_out[b] = (count_out[b] & (int32_t)keep) + (int32_t)sum[2];
    }
    memset(sums, 0, WIDE_WIDTH * n_bins * sizeof *sums);
}

/* Moves a piece's accumulators to its bins of a histogram. */
static inline void spill_piece(const Encoding *encoding, int is_first, int64_t *sums,
                               const Piece *piece, const Histogram *out)
{
    int64_t *gradient = out->gradient + piece->hist_bin;
    int64_t *hessian = out->hessian + piece->hist_bin;
    int32_t *count = out->count + piece->hist_bin;
    int n = piece->length;
    if (encoding->compact)
        spill_compact(sums, n, is_first, gradient);
    else if (encoding->packed)
        spill_packed(sums, n, encoding, is_first, gradient, hessian, count);
    else
        spill_wide(sums, n, is_first, gradient, hessian, count);
}

/* Adds an addend to an accumulator, in one vector addition. width: the integers of both: 1 in a
   packed round, WIDE_WIDTH in a wide one. */
static SIMD_INLINE void add_addend(const int64_t *x, const int width, int64_t *sums)
{
#if defined(__GNUC__)
    typedef int64_t Wide __attribute__((vector_size(WIDE_WIDTH * sizeof(int64_t))));
    if (width == 1) {
        *sums += *x;
    } else {
        Wide sum, addend;
        memcpy(&sum, sums, sizeof sum);
        memcpy(&addend, x, sizeof addend);
        sum += addend;
        memcpy(sums, &sum, sizeof sum);
    }
#else
    for (int k = 0; k < width; k++)
        sums[k] += x[k];
#endif
}

/* Writes the addends of n rows of a wide round: gradient, hessian, 1 and 0. n_left: the records
   from here on that may be read, to prefetch. */
static SIMD_INLINE void list_addends(const uint64_t *records, ptrdiff_t n, ptrdiff_t n_left,
                                     const int64_t *pairs, int64_t *addends_out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        const int64_t *pair = pairs + 2 * records[i];
        const int64_t x[WIDE_WIDTH] = {pair[0], pair[1], 1, 0};
        if (i + PREFETCH_DISTANCE < n_left)
            prefetch(pairs + 2 * records[i + PREFETCH_DISTANCE], 0);
        memcpy(addends_out + WIDE_WIDTH * i, x, sizeof x);
    }
}

/* Prefetches what is needed soon after the i-th of n rows: a later row, and the integers of a row
   of the next block. */
static SIMD_INLINE void prefetch_next(const Binned *data, const uint64_t *records, ptrdiff_t i,
                                       ptrdiff_t n, const int64_t *pairs)
{
    if (i + PREFETCH_DISTANCE < n)
        prefetch_row(data, records[i + PREFETCH_DISTANCE]);
    if (i + ROW_BLOCK < n)
        prefetch(pairs + 2 * records[i + ROW_BLOCK], 0);
}

/* Adds a row of a wide round to four lanes. */
static SIMD_INLINE void add_wide_quad(const uint8_t *row, const int64_t *x, ptrdiff_t step,
                                      int64_t *lanes)
{
    for (int k = 0; k < 4; k++)
        add_addend(x, WIDE_WIDTH, lanes + k * step + (ptrdiff_t)row[k] * WIDE_WIDTH);
}

/* Adds n rows, of n_left, to the lanes from `first` to `last`, two rows in a step: see
   add_packed_tile. */
static SIMD_INLINE void add_wide_tile(const Binned *data, const uint64_t *records, ptrdiff_t n,
                                      ptrdiff_t n_left, const int64_t *pairs,
                                      const int64_t *addends, int first, int last,
                                      ptrdiff_t stride, int64_t *lanes)
{
    const ptrdiff_t step = WIDE_WIDTH * stride, row_bytes = data->row_bytes;
    const uint8_t *rows = data->rows + first;
    const int n_lanes = last - first, n_quads = n_lanes / 4;
    lanes += first * step;
    ptrdiff_t i = 0;
    for (; i + 1 < n; i += 2) {
        if (first == 0) {
            prefetch_next(data, records, i, n_left, pairs);
            prefetch_next(data, records, i + 1, n_left, pairs);
        }
        const uint8_t *row = rows + (ptrdiff_t)records[i] * row_bytes;
        const uint8_t *next = rows + (ptrdiff_t)records[i + 1] * row_bytes;
        int64_t x[WIDE_WIDTH], y[WIDE_WIDTH], *acc = lanes;
        memcpy(x, addends + WIDE_WIDTH * i, sizeof x);
        memcpy(y, addends + WIDE_WIDTH * (i + 1), sizeof y);
        for (ptrdiff_t quad = 0; quad < n_quads; quad++, acc += 4 * step) {
            add_wide_quad(row + 4 * quad, x, step, acc);
            add_wide_quad(next + 4 * quad, y, step, acc);
        }
        for (int lane = 4 * n_quads; lane < n_lanes; lane++, acc += step) {
            add_addend(x, WIDE_WIDTH, acc + WIDE_WIDTH * row[lane]);
            add_addend(y, WIDE_WIDTH, acc + WIDE_WIDTH * next[lane]);
        }
    }
    if (i < n) {
        const uint8_t *row = rows + (ptrdiff_t)records[i] * row_bytes;
        for (int lane = 0; lane < n_lanes; lane++)
            add_addend(addends + WIDE_WIDTH * i, WIDE_WIDTH,
                      lanes + lane * step + WIDE_WIDTH * row[lane]);
    }
}

/* Adds rows to the lanes, block by block: first the addends of a block, then tile by tile their
   sums. */
static SIMD_INLINE void add_wide_strided(const Binned *data, const uint64_t *records, ptrdiff_t n,
                                         const int64_t *pairs, ptrdiff_t stride, int64_t *lanes)
{
    const int tile = lanes_per_tile(data->n_lanes, stride * WIDE_WIDTH, WIDE_TILE);
    int64_t addends[WIDE_WIDTH * ROW_BLOCK];
    for (ptrdiff_t first = 0; first < n; first += ROW_BLOCK) {
        ptrdiff_t m = n - first < ROW_BLOCK ? n - first : ROW_BLOCK;
        list_addends(records + first, m, n - first, pairs, addends);
        for (int lane = 0; lane < data->n_lanes; lane += tile) {
            int last = lane + tile < data->n_lanes ? lane + tile : data->n_lanes;
            add_wide_tile(data, records + first, m, n - first, pairs, addends, lane, last, stride,
                          lanes);
        }
    }
}

/* Adds rows of one-byte bins to the accumulators of a wide round. Constant strides make the
   addresses part of the instructions. */
SIMD_KERNEL(add_wide_bytes, (const Binned *data, const uint64_t *records, ptrdiff_t n,
             const int64_t *pairs, int64_t *sums), (data, records, n, pairs, sums))
{
    if (data->lane_stride == 24)
        add_wide_strided(data, records, n, pairs, 24, sums);
    else if (data->lane_stride == 72)
        add_wide_strided(data, records, n, pairs, 72, sums);
    else
        add_wide_strided(data, records, n, pairs, 264, sums);
}

/* Adds one row or several (a constant, up to ROWS_PER_STEP) to the accumulators of the shorts from
   `first` to `last`, four at a time. addends: of these rows; sums: those of histogram bins. */
static SIMD_INLINE void add_rows_of_shorts(const Binned *data, const uint64_t *records,
                                           const int n_rows, uint64_t id_mask,
                                           const int64_t *addends, const int width, int first,
                                           int last, int64_t *sums)
{
    const uint16_t *row[ROWS_PER_STEP];
    int64_t x[ROWS_PER_STEP * WIDE_WIDTH];
    int j = first;
    memcpy(x, addends, n_rows * width * sizeof *x);
    for (int k = 0; k < n_rows; k++)
        row[k] = data->shorts + (ptrdiff_t)(records[k] & id_mask) * data->n_shorts;
    for (; j + 3 < last; j += 4) {
        const int64_t *first_bin = data->short_hist_bin + j;
        int64_t *a = sums + width * first_bin[0], *b = sums + width * first_bin[1];
        int64_t *c = sums + width * first_bin[2], *d = sums + width * first_bin[3];
        for (int k = 0; k < n_rows; k++) {
            add_addend(x + width * k, width, a + width * row[k][j]);
            add_addend(x + width * k, width, b + width * row[k][j + 1]);
            add_addend(x + width * k, width, c + width * row[k][j + 2]);
            add_addend(x + width * k, width, d + width * row[k][j + 3]);
        }
    }
    for (; j < last; j++)
        for (int k = 0; k < n_rows; k++)
            add_addend(x + width * k, width, sums + width * (data->short_hist_bin[j] + row[k][j]));
}

/* Prefetches the shorts from `first` to `last` of a row. */
static SIMD_INLINE void prefetch_shorts(const Binned *data, uint64_t row, int first, int last,
                                        int far)
{
    const uint16_t *shorts = data->shorts + (ptrdiff_t)row * data->n_shorts;
    prefetch(shorts + first, far);
    prefetch(shorts + last - 1, far);
}

/* Adds n rows, of n_left, with given addends. Shorts have larger tiles than lanes: their
   accumulators are seldom in the nearest cache, and more loads can be pending at a time. */
static SIMD_INLINE void add_short_block(const Binned *data, const uint64_t *records, ptrdiff_t n,
                                        ptrdiff_t n_left, uint64_t id_mask,
                                        const int64_t *addends, const int width, int64_t *sums)
{
    const int tile = SHORTS_PER_TILE / width;
    const int far = 2 * data->n_rows * data->n_shorts > NEAR_BYTES;
    const ptrdiff_t distance = PREFETCH_DISTANCE << far;
    const ptrdiff_t last_prefetch = n_left - distance - ROWS_PER_STEP;
    for (int first = 0; first < data->n_shorts; first += tile) {
        int last = first + tile < data->n_shorts ? first + tile : data->n_shorts;
        ptrdiff_t i = 0;
        for (; i + ROWS_PER_STEP <= n; i += ROWS_PER_STEP) {
            const uint64_t *next_records = records + (i <= last_prefetch ? i + distance : i);
            for (int k = 0; k < ROWS_PER_STEP; k++)
                prefetch_shorts(data, next_records[k] & id_mask, first, last, far);
            add_rows_of_shorts(data, records + i, ROWS_PER_STEP, id_mask, addends + width * i,
                               width, first, last, sums);
        }
        for (; i < n; i++)
            add_rows_of_shorts(data, records + i, 1, id_mask, addends + width * i, width, first,
                               last, sums);
    }
}

/* Adds rows to the packed accumulators of the histogram bins of their shorts. */
static void add_packed_shorts(const Binned *data, const Encoding *encoding,
                              const uint64_t *records, ptrdiff_t n, int64_t *sums)
{
    int64_t addends[ROW_BLOCK];
    for (ptrdiff_t first = 0; first < n && data->n_shorts > 0; first += ROW_BLOCK) {
        ptrdiff_t m = n - first < ROW_BLOCK ? n - first : ROW_BLOCK;
        for (ptrdiff_t i = 0; i < m; i++)
            addends[i] = packed_addend(records[first + i], encoding);
        add_short_block(data, records + first, m, n - first, encoding->id_mask, addends, 1, sums);
    }
}

/* The same in a wide round. */
SIMD_KERNEL(add_wide_shorts, (const Binned *data, const uint64_t *records, ptrdiff_t n,
             const int64_t *pairs, int64_t *sums), (data, records, n, pairs, sums))
{
    int64_t addends[WIDE_WIDTH * ROW_BLOCK];
    for (ptrdiff_t first = 0; first < n && data->n_shorts > 0; first += ROW_BLOCK) {
        ptrdiff_t m = n - first < ROW_BLOCK ? n - first : ROW_BLOCK;
        list_addends(records + first, m, n - first, pairs, addends);
        add_short_block(data, records + first, m, n - first, ~(uint64_t)0, addends, WIDE_WIDTH,
                        sums);
    }
}

/* Prefetches what is needed soon after the i-th of n rows: the entries of later rows. */
static SIMD_INLINE void prefetch_entries(const Binned *data, const uint64_t *records, ptrdiff_t i,
                                         ptrdiff_t n, uint64_t id_mask)
{
    if (i + 2 * PREFETCH_DISTANCE < n)
        prefetch(data->entry_start + (records[i + 2 * PREFETCH_DISTANCE] & id_mask), 0);
    if (i + PREFETCH_DISTANCE < n) {
        ptrdiff_t row = (ptrdiff_t)(records[i + PREFETCH_DISTANCE] & id_mask);
        prefetch(data->entries + data->entry_start[row], 0);
        prefetch(data->entries + data->entry_start[row] + 16, 0);
    }
}

/* Adds an addend to the histogram bins that are a row's entries. The exit of a loop with one entry
   in each step would be mispredicted for almost every row. So several are added in a step, and
   those beyond the last entry go to a dummy bin behind all others. */
static SIMD_INLINE void add_row_entries(const Binned *data, ptrdiff_t row, const int64_t *x,
                                        const int width, int64_t *sums)
{
    const uint32_t *entries = data->entries;
    const int64_t dummy = data->hist_bin_capacity;
    int64_t i = data->entry_start[row], end = data->entry_start[row + 1];
    do {
        for (int k = 0; k < ENTRIES_PER_STEP; k++, i++) {
            int64_t mask = -(int64_t)(i < end);
            int64_t hist_bin = dummy + (((int64_t)entries[i & mask] - dummy) & mask);
            add_addend(x, width, sums + width * hist_bin);
        }
    } while (i < end);
}

/* Adds rows to the packed accumulators of the histogram bins that their entries name. */
static void add_packed_entries(const Binned *data, const Encoding *encoding,
                               const uint64_t *records, ptrdiff_t n, int64_t *sums)
{
    if (data->entries == NULL || data->entry_start[data->n_rows] == 0)
        return;
    for (ptrdiff_t i = 0; i < n; i++) {
        int64_t x = packed_addend(records[i], encoding);
        prefetch_entries(data, records, i, n, encoding->id_mask);
        add_row_entries(data, (ptrdiff_t)(records[i] & encoding->id_mask), &x, 1, sums);
    }
}

/* The same in a wide round. */
SIMD_KERNEL(add_wide_entries, (const Binned *data, const uint64_t *records, ptrdiff_t n,
             const int64_t *pairs, int64_t *sums), (data, records, n, pairs, sums))
{
    if (data->entries == NULL || data->entry_start[data->n_rows] == 0)
        return;
    for (ptrdiff_t i = 0; i < n; i++) {
        int64_t x[WIDE_WIDTH];
        prefetch_entries(data, records, i, n, ~(uint64_t)0);
        list_addends(records + i, 1, n - i, pairs, x);
        add_row_entries(data, (ptrdiff_t)records[i], x, WIDE_WIDTH, sums);
    }
}

/* Adds n rows, at most `capacity`, to accumulators: first those by lane and code, then, behind
   them, those by histogram bin. `pairs`: the integers of a wide round, by row. The dummy bin of
   add_row_entries is cleared: in a round of another width, accumulators of a feature lie there. */
static inline void add_rows(const Binned *data, const Encoding *encoding,
                             const uint64_t *records, ptrdiff_t n, const int64_t *pairs,
                             int64_t *sums)
{
    int64_t *by_hist_bin = sums + encoding->width * data->hist_bin_sums;
    if (encoding->packed) {
        if (data->n_lanes > 0)
            add_packed_bytes(data, encoding, records, n, sums);
        if (data->n_hist_bin_pieces > 0) {
            add_packed_shorts(data, encoding, records, n, by_hist_bin);
            add_packed_entries(data, encoding, records, n, by_hist_bin);
        }
    } else {
        if (data->n_lanes > 0)
            add_wide_bytes(data, records, n, pairs, sums);
        if (data->n_hist_bin_pieces > 0) {
            add_wide_shorts(data, records, n, pairs, by_hist_bin);
            add_wide_entries(data, records, n, pairs, by_hist_bin);
        }
    }
    if (data->n_hist_bin_pieces > 0)
        memset(by_hist_bin + encoding->width * data->hist_bin_capacity, 0,
               encoding->width * sizeof *sums);
}

/* Sums of the gradients, hessians and counts of n rows of a packed round. */
SIMD_KERNEL(sum_packed, (const uint64_t *records, ptrdiff_t n, const Encoding *encoding,
             Sums *out), (records, n, encoding, out))
{
    const int gradient_shift = encoding->record_gradient_shift;
    const int hessian_shift = encoding->record_hessian_shift;
    const uint64_t mask = encoding->hessian_mask;
    int64_t gradient = 0;
    uint64_t hessian = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        gradient += (int64_t)records[i] >> gradient_shift;
        hessian += records[i] >> hessian_shift & mask;
    }
    out->gradient = gradient;
    out->hessian = encoding->constant_hessian ? n : (int64_t)hessian;
    out->count = n;
}

/* A shared lane with the digits (a, d), where code = a + radix d, has the sums

       d = 0: s(0,0) s(1,0) ... | d = 1: s(0,1) s(1,1) ... | ...

   Writes the total of each run, sum over a of s(a,d), to digit_out[d], and replaces the first run
   by the sums over d of s(a,d), the sums by the remaining digits. The other runs become 0. */
static SIMD_INLINE void fold_sums(int64_t *sums, int radix, int n, const int width,
                                   int64_t *restrict digit_out)
{
    const ptrdiff_t size = (ptrdiff_t)radix * width;
    for (int d = 0; d < n; d++) {
        int64_t *run = sums + d * size;
        int64_t total[WIDE_WIDTH] = {0};
        for (ptrdiff_t j = 0; j < size; j += width)
            for (int k = 0; k < width; k++)
                total[k] += run[j + k];
        memcpy(digit_out + d * width, total, width * sizeof *total);
        if (d == 0)
            continue;
        for (ptrdiff_t j = 0; j < size; j++) {
            sums[j] += run[j];
            run[j] = 0;
        }
    }
}

/* Separates the sums of a shared lane into those of its highest digit, with n values, and those
   of the remaining digits, in the first `radix` sums. */
SIMD_KERNEL(fold_digit, (int64_t *sums, int radix, int n, int width, int64_t *digit_out),
            (sums, radix, n, width, digit_out))
{
    if (width == 1)
        fold_sums(sums, radix, n, 1, digit_out);
    else
        fold_sums(sums, radix, n, WIDE_WIDTH, digit_out);
}

/* Adds values to sums, or subtracts them where sign is negative. */
#define ADD_VALUES(name, type)                                                                \
    SIMD_KERNEL(name, (int n, int sign, const type *restrict values, type *restrict sums_inout), \
                (n, sign, values, sums_inout))                                                \
    {                                                                                         \
        if (sign > 0)                                                                         \
            for (int b = 0; b < n; b++)                                                       \
                sums_inout[b] += values[b];                                                   \
        else                                                                                  \
            for (int b = 0; b < n; b++)                                                       \
                sums_inout[b] -= values[b];                                                   \
    }
ADD_VALUES(add_longs, int64_t)
ADD_VALUES(add_ints, int32_t)

/* Writes separate sums as packed ones, over the first of them. */
SIMD_KERNEL(pack_sums, (int n, const Encoding *encoding, int64_t *gradient_inout,
             const int64_t *restrict hessian, const int32_t *restrict count),
            (n, encoding, gradient_inout, hessian, count))
{
    const Encoding local = *encoding;
    for (int b = 0; b < n; b++) {
        Sums sums = {gradient_inout[b], hessian[b], count[b]};
        gradient_inout[b] = pack(sums, &local);
    }
}

/* Subtracts packed sums from separate ones. */
SIMD_KERNEL(subtract_packed, (int n, const Encoding *encoding, const int64_t *restrict packed,
             int64_t *restrict gradient_inout, int64_t *restrict hessian_inout,
             int32_t *restrict count_inout),
            (n, encoding, packed, gradient_inout, hessian_inout, count_inout))
{
    const Encoding local = *encoding;
    for (int b = 0; b < n; b++) {
        Sums sums = unpack(packed[b], &local);
        gradient_inout[b] -= sums.gradient;
        hessian_inout[b] -= sums.hessian;
        count_inout[b] -= (int32_t)sums.count;
    }
}

#endif
