/* ---- Trainium3: matmul. ---- */

enum { K_TILE = 512, K_STEP = 128, COLUMNS = 16 };

/* One row or column of an operand in one tile of K, as it enters the array. */
typedef struct {
    uint8_t elements[K_TILE], scales[K_TILE / 4];
} Side;

/* Rounds to BF16 and quantises depth places of K, source[i * stride]; those from `used` on are zeros. */
static void quantize_side(Side *side, const uint32_t *source, ptrdiff_t stride, int used, int depth, int format,
                          int scale_rule, int adjacent)
{
    int block, i;
    for (block = 0; block < depth / 32; ++block) {
        uint32_t codes[32];
        uint8_t scale;
        /* Partitions 8 * block to 8 * block + 7, four elements each. */
        for (i = 0; i < 32; ++i) {
            int k = adjacent ? 32 * block + i : i % 4 * (depth / 4) + 8 * block + i / 4;
            codes[i] = k < used ? convert(&FP32, source[k * stride], &BF16, 0) : 0;
        }
        scale = bitpath_trainium3_quantize_block(codes, BITPATH_TRAINIUM3_BF16, format, scale_rule,
                                                 side->elements + 32 * block);
        for (i = 0; i < 8; ++i)
            side->scales[8 * block + i] = scale;
    }
}

void bitpath_trainium3_matmul(int m, int k, int n, const uint32_t *a, int a_format, const uint32_t *b, int b_format,
                              int scale_rule, int adjacent, uint32_t *result)
{
    Side row, columns[COLUMNS];
    int start, first, i, j;
    for (start = 0; start < k; start += K_TILE) {
        int used = k - start < K_TILE ? k - start : K_TILE, depth = (used + K_STEP - 1) / K_STEP * K_STEP;
        for (first = 0; first < n; first += COLUMNS) {
            int count = n - first < COLUMNS ? n - first : COLUMNS;
            for (j = 0; j < count; ++j)
                quantize_side(&columns[j], b + (ptrdiff_t)start * n + first + j, n, used, depth, b_format, scale_rule,
                              adjacent);
            for (i = 0; i < m; ++i) {
                quantize_side(&row, a + (ptrdiff_t)i * k + start, 1, used, depth, a_format, scale_rule, adjacent);
                for (j = 0; j < count; ++j) {
                    uint32_t *psum = result + (ptrdiff_t)i * n + first + j;
                    uint32_t sum = bitpath_trainium3_column(depth / 4, row.elements, a_format, columns[j].elements,
                                                            b_format, row.scales, columns[j].scales, 0);
                    *psum = bitpath_trainium3_psum_write(sum, start ? *psum : 0, start > 0, 0, 0, 0);
                }
            }
        }
    }
}
