/* ---- AIE-ML v2: matmul; steps of K in order, of which the first reads no accumulator. ---- */

enum { COLUMNS = 16 };

void bitpath_aie_ml_v2_float_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format,
                                    int rounding, uint32_t *result)
{
    uint16_t row[DEPTH], columns[COLUMNS][DEPTH];
    int both = BITPATH_AIE_ML_V2_SATURATE_FINITE | BITPATH_AIE_ML_V2_SATURATE_INFINITE;
    int saturate = format_of(format)->sign_mask == 0x80 ? both : 0, start, first, i, j, d;
    for (start = 0; start < k; start += DEPTH)
        for (first = 0; first < n; first += COLUMNS) {
            int count = n - first < COLUMNS ? n - first : COLUMNS;
            for (j = 0; j < count; ++j)
                for (d = 0; d < DEPTH; ++d)
                    columns[j][d] = bitpath_aie_ml_v2_narrow(
                        start + d < k ? b[(ptrdiff_t)(start + d) * n + first + j] : 0, format, rounding, saturate, 0);
            for (i = 0; i < m; ++i) {
                for (d = 0; d < DEPTH; ++d)
                    row[d] = bitpath_aie_ml_v2_narrow(start + d < k ? a[(ptrdiff_t)i * k + start + d] : 0, format,
                                                      rounding, saturate, 0);
                for (j = 0; j < count; ++j) {
                    uint32_t *acc = result + (ptrdiff_t)i * n + first + j;
                    *acc = bitpath_aie_ml_v2_float_dot(row, format, columns[j], format, DEPTH, start ? *acc : 0, 0,
                                                       start ? 0 : BITPATH_AIE_ML_V2_ZERO_ACC1);
                }
            }
        }
}

/* Converts a block along K, source[i * stride]; places from `used` on are zeros. */
static void block_of(const uint32_t *source, ptrdiff_t stride, int used, int format, int rounding, uint8_t head[2],
                     int8_t codes[16])
{
    uint32_t x[BLOCK];
    int i;
    for (i = 0; i < BLOCK; ++i)
        x[i] = i < used ? source[i * stride] : 0;
    bitpath_aie_ml_v2_to_mx(x, format, rounding, head, codes);
}

void bitpath_aie_ml_v2_mx_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format, int rounding,
                                 uint32_t *result)
{
    uint8_t head[2], heads[COLUMNS][2];
    int8_t row[BLOCK], columns[COLUMNS][BLOCK];
    int start, first, i, j;
    for (start = 0; start < k; start += elements(format))
        for (first = 0; first < n; first += COLUMNS) {
            int count = n - first < COLUMNS ? n - first : COLUMNS;
            for (j = 0; j < count; ++j)
                block_of(b + (ptrdiff_t)start * n + first + j, n, k - start, format, rounding, heads[j], columns[j]);
            for (i = 0; i < m; ++i) {
                block_of(a + (ptrdiff_t)i * k + start, 1, k - start, format, rounding, head, row);
                for (j = 0; j < count; ++j) {
                    uint32_t *acc = result + (ptrdiff_t)i * n + first + j;
                    *acc = bitpath_aie_ml_v2_mx_dot(format, head, row, heads[j], columns[j], start ? *acc : 0, 0,
                                                    start ? 0 : BITPATH_AIE_ML_V2_ZERO_ACC1);
                }
            }
        }
}

void bitpath_aie_ml_v2_integer_matmul(int m, int k, int n, const int32_t *a, const int32_t *b, int lane_bits,
                                      int64_t *result)
{
    int i, j, d;
    for (i = 0; i < m; ++i)
        for (j = 0; j < n; ++j) {
            uint64_t total = 0;
            for (d = 0; d < k; ++d)
                total += (uint64_t)((int64_t)a[(ptrdiff_t)i * k + d] * b[(ptrdiff_t)d * n + j]);
            result[(ptrdiff_t)i * n + j] = wrapped(total, lane_bits == 32 ? 32 : 64, 1);
        }
}
