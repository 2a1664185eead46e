/* One step of a PE: round(sum of four products with both scales + partial), FP32 code.
   Elements are FP8 codes of the format named, E4M3FN, E5M2, or E2M1, which is mapped to E4M3FN first; scales are
   E8M0. partial is an FP32 code on the accumulator's grid. */
uint32_t bitpath_trainium3_dot_step(const uint8_t stationary[4], int stationary_format, const uint8_t moving[4],
                                    int moving_format, uint8_t stationary_scale, uint8_t moving_scale,
                                    uint32_t partial);

/* A PE column: `rows` steps in order. elements[4 * row + i] are products i of a row, scales[row] the row's. */
uint32_t bitpath_trainium3_column(int rows, const uint8_t *stationary, int stationary_format, const uint8_t *moving,
                                  int moving_format, const uint8_t *stationary_scales, const uint8_t *moving_scales,
                                  uint32_t partial);

/* One step of the unscaled matmul: x * y + partial, rounded once to FP32. Any format but E2M1; TF32 codes have 19
 * bits. With numerics trainium2_bf16_products x * y is rounded to BF16 first. */
uint32_t bitpath_trainium3_multiply_add(uint32_t x, int x_format, uint32_t y, int y_format, uint32_t partial);

/* A PSUM element after a write: incoming (FP32), or its FP32 sum with present where `accumulate`.
   With `bf16` the element is BF16, a second rounding: to nearest even, or stochastic with 16 random bits, which are
   added below the BF16 fraction before truncation. */
uint32_t bitpath_trainium3_psum_write(uint32_t incoming, uint32_t present, int accumulate, int bf16, int stochastic,
                                      uint16_t random_bits);

/* The next number of an XORWOW state x, y, z, w, v, d, which it advances. */
uint32_t bitpath_trainium3_xorwow(uint32_t state[6]);

/* The 16 random bits of a PSUM column, from the four words of lane column / 8, word j from state j. */
uint16_t bitpath_trainium3_column_bits(const uint32_t words[4], int column);

/* quantize_mx on one block of 32 codes of BF16, FP16 or FP32: element codes, and the E8M0 scale max(E - offset, 0).
   Elements are divided by the stored scale, rounded to nearest even, saturated. NaN becomes the largest number of E2M1,
   which has no NaN. */
uint8_t bitpath_trainium3_quantize_block(const uint32_t source[32], int source_format, int element_format,
                                         int scale_rule, uint8_t elements[32]);

/* A code in another format, rounded once to nearest even; beyond the range infinity (NaN where there is none), or the
   largest number if `saturate`. NaN becomes E2M1's largest number. */
uint32_t bitpath_trainium3_convert(uint32_t code, int source_format, int destination_format, int saturate);

/* result[m][n] = sum over k of a[m][k] * b[k][n], row by row, FP32 codes: rounded to BF16, quantised, K in tiles of
   512 that accumulate in PSUM. Formats are E4M3FN, E5M2 and E2M1. k of a tile goes to partition k mod P
   ("interleaved", P a quarter of the tile) or k / 4 (`adjacent`). */
void bitpath_trainium3_matmul(int m, int k, int n, const uint32_t *a, int a_format, const uint32_t *b, int b_format,
                              int scale_rule, int adjacent, uint32_t *result);
