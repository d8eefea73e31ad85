/* The exit of each row of a tile. Each inclusion defines one function.
 *
 * Before it, define EXITS_NAME, EXITS_VECTOR_BYTES and EXITS_TARGET (an attribute, or nothing). It
 * is included by leaves.h, which has the types. Four vectors of rows are processed at a time, so
 * that the remaining exits of a plane stay in registers.
 *
 * A plane is eight exits, a bit each. Each operation clears bits of `left`, the exits of the plane
 * that remain for a row. A row's exit is the first that remains: the lowest bit of its first plane
 * with a bit. `bits` is that byte, and `first` the number of the plane's first exit. At the end,
 * the number of the lowest bit is found from the masks of the bytes whose numbers have bit 0, 1 or
 * 2. */
#if defined(__GNUC__)
#define EXITS_VECTOR __attribute__((vector_size(EXITS_VECTOR_BYTES), aligned(1), may_alias))
#define IS_TRUE(comparison) (comparison)
#else
#define EXITS_VECTOR
#define IS_TRUE(comparison) -(comparison)
#endif

EXITS_TARGET static void EXITS_NAME(const MaskOp *ops, const Plane *planes,
                                    int n_planes, const uint8_t *const *columns,
                                    uint8_t *exit_out)
{
    typedef uint8_t V EXITS_VECTOR;
    enum { N = sizeof(V), W = 4 };
    const V zero = {0};
    for (int r = 0; r < LEAF_TILE; r += N * W) {
        const MaskOp *op = ops;
        V bits[W], first[W], left[W];
        for (int w = 0; w < W; w++)
            bits[w] = first[w] = zero;
        for (int p = 0; p < n_planes; p++) {
            for (int w = 0; w < W; w++)
                left[w] = zero + 0xFF;
            for (const MaskOp *end = op + planes[p].n_plain; op < end; op++) {
                const V *code = (const V *)(columns[op->test.column] + r);
                const V limit = zero + op->test.limit, below = zero + op->below,
                        change = zero + op->change;
                for (int w = 0; w < W; w++)
                    left[w] &= below ^ ((V)IS_TRUE(code[w] > limit) & change);
            }
            for (const MaskOp *end = op + planes[p].n_masked; op < end; op++) {
                const V *code = (const V *)(columns[op->test.column] + r);
                const V limit = zero + op->test.limit, below = zero + op->below,
                        change = zero + op->change, low = zero + op->test.low,
                        mask = zero + op->test.bits;
                for (int w = 0; w < W; w++)
                    left[w] &= below ^ ((V)IS_TRUE(((V)(code[w] - low) & mask) > limit) & change);
            }
            for (int w = 0; w < W; w++) {
                const V is_first = (V)IS_TRUE(bits[w] == zero);
                bits[w] |= left[w] & is_first;
                first[w] |= (V)IS_TRUE(left[w] != zero) & is_first & (zero + (uint8_t)(8 * p));
            }
        }
        for (int w = 0; w < W; w++) {
            const V low = bits[w] & (zero - bits[w]);
            const V exit = first[w] + ((V)IS_TRUE((low & 0xAA) != zero) & 1)
                           + ((V)IS_TRUE((low & 0xCC) != zero) & 2)
                           + ((V)IS_TRUE((low & 0xF0) != zero) & 4);
            memcpy(exit_out + r + N * w, &exit, N);
        }
    }
}

#undef EXITS_NAME
#undef EXITS_VECTOR_BYTES
#undef EXITS_TARGET
#undef EXITS_VECTOR
#undef IS_TRUE
