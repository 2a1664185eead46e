/* `control` is an OR of control bits: NEGATE_PRODUCTS, NEGATE_ACC1, NEGATE_ACC2, ZERO_ACC1, which leaves acc1 out,
   and for integers SHIFT16, which multiplies acc1 by 2**16. A missing acc2 is 0, which adds nothing. Float formats
   are FP16, BF16 and the 8-bit ones; roundings are crRnd codes, FLOOR to CONV_ODD. MX formats are MX9, MX6 and MX4; a
   block is its head, exponent byte and shift byte, and 16 codes. BFP16EBS8 is XDNA2's, for the preset
   xdna2_bfp16ebs8: its blocks have no shifts, and take the first 8 places of 16; the others are written as 0, never read. */

/* A float lane: `depth` products, 0 to 8, and two FP32 accumulators, aligned to the largest exponent and rounded
 * once. */
uint32_t bitpath_aie_ml_v2_float_dot(const uint16_t a[8], int a_format, const uint16_t b[8], int b_format, int depth,
                                     uint32_t acc1, uint32_t acc2, int control);

/* An MX lane: the products of a block pair and two FP32 accumulators. */
uint32_t bitpath_aie_ml_v2_mx_dot(int format, const uint8_t a_head[2], const int8_t a_codes[16],
                                  const uint8_t b_head[2], const int8_t b_codes[16], uint32_t acc1, uint32_t acc2,
                                  int control);

/* An integer lane of 32 or 64 bits, in which sums wrap. Operands fit the mode's widths; depth is 0 to 8. */
int64_t bitpath_aie_ml_v2_integer_dot(const int32_t a[8], const int32_t b[8], int depth, int lane_bits, int64_t acc1,
                                      int64_t acc2, int control);

/* FP32 codes to a block, and a block to FP32 codes. */
void bitpath_aie_ml_v2_to_mx(const uint32_t x[16], int format, int rounding, uint8_t head[2], int8_t codes[16]);
void bitpath_aie_ml_v2_from_mx(int format, const uint8_t head[2], const int8_t codes[16], uint32_t x[16]);

/* An FP32 code times 2**shift to a narrower float. `saturate` is an OR of SATURATE_ bits, crFPConvSat: FINITE gives the
 * largest number for a finite one beyond it, INFINITE for an infinity; else both give infinity or NaN. */
uint16_t bitpath_aie_ml_v2_narrow(uint32_t code, int format, int rounding, int saturate, int shift);

/* A narrow float to FP32: exact; an 8-bit one by a multiplication with 1, so that -0 becomes +0. */
uint32_t bitpath_aie_ml_v2_widen(uint16_t code, int format);

/* A BF16 code times 2**shift to an integer, rounded down and saturated; NaN gives 2**31 - 1. */
int32_t bitpath_aie_ml_v2_bf16_to_int32(uint16_t code, int shift);

/* Shift-round-saturate: acc / 2**shift, -4 to 63, to out_bits bits, 8, 16 or 32. `saturation` is a SATURATION_ code.
 */
int64_t bitpath_aie_ml_v2_srs(int64_t acc, int shift, int out_bits, int rounding, int saturation, int is_signed);

/* Upshift: x * 2**shift, 0 to 63, to an accumulator of 32 or 64 bits. */
int64_t bitpath_aie_ml_v2_ups(int64_t x, int shift, int acc_bits, int saturation);

/* result[m][n] = sum over k of a[m][k] * b[k][n], row by row, FP32 codes: operands converted with `rounding` to a
   float format, 8-bit ones saturating, in steps of 8 along K. */
void bitpath_aie_ml_v2_float_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format,
                                    int rounding, uint32_t *result);

/* The same in an MX format, in blocks along K. */
void bitpath_aie_ml_v2_mx_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format, int rounding,
                                 uint32_t *result);

/* The same of integers in lanes of 32 or 64 bits. */
void bitpath_aie_ml_v2_integer_matmul(int m, int k, int n, const int32_t *a, const int32_t *b, int lane_bits,
                                      int64_t *result);
