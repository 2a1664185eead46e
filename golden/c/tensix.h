/* Words are those of the golden model: Src words have sign, 8 exponent and 10 fraction bits; Dst words are FP32
   (INT32 as sign and magnitude) with `dst32`, else BF16, or FP16 for style FP16. `style` is one of STYLE_BF16,
   STYLE_FP16, STYLE_TF32 and, with dst32 only, STYLE_INT8. Formats are those of the sources' registers; `phase` is 0
   to 3. */

/* A 16-term dot product in one fidelity phase, added to a Dst word: one row of SrcB, one column of SrcA. */
uint32_t bitpath_tensix_dot16(uint32_t dst, const uint32_t src_b[16], const uint32_t src_a[16], int style, int dst32,
                              int phase, int srca_format, int srcb_format);

/* MVMUL and DOTPV: dst [8][16] += src_b [8][16] @ src_a [16][16]. */
void bitpath_tensix_mvmul(uint32_t dst[128], const uint32_t src_b[128], const uint32_t src_a[256], int style,
                          int dst32, int phase, int srca_format, int srcb_format);

/* ELWMUL on one datum: one product, added to a Dst word. */
uint32_t bitpath_tensix_elwmul(uint32_t dst, uint32_t src_b, uint32_t src_a, int style, int dst32, int phase,
                               int srca_format, int srcb_format);

/* ELWADD and, with `subtract`, ELWSUB on one datum: a + b or a - b, added to a Dst word where `accumulate`. */
uint32_t bitpath_tensix_elwadd(uint32_t dst, uint32_t src_b, uint32_t src_a, int subtract, int accumulate, int style,
                               int dst32, int srca_format, int srcb_format);

/* Unpacker: a datum of L1, no block float, to a register word. Register formats are the datum's own; from FP32 also
   TF32, BF16 and FP16, from FP8, which is E5M2, also FP16. `is_unsigned` reads INT8 as 0 to 255. */
uint32_t bitpath_tensix_unpack(uint32_t code, int l1_format, int register_format, int is_unsigned);

/* Unpacker: 16 block float datums under one exponent byte to Src words. */
void bitpath_tensix_unpack_block(int format, uint8_t exponent, const uint8_t datums[16], uint32_t words[16]);

/* Packer, first step: a Dst word to the intermediate format, which is an FP16 code for formats of 5 exponent bits, an
   FP32 code for those of 8, or an integer. `raw` copies or truncates instead of rounding. INT32 to INT8 divides by
   2**descale_shift, 0 to 31, rounds and clamps. */
uint32_t bitpath_tensix_pack_early(uint32_t word, int mid_format, int dst32, int is_unsigned, int raw,
                                   int descale_shift);

/* Packer, second step: 0 none; 1 above zero; 2 above the threshold; 3 clamp to 0..threshold (FP16's or BF16's code).
 */
uint32_t bitpath_tensix_relu(uint32_t code, int mid_format, int mode, int threshold);

/* Packer, last step: an intermediate float to a code of an L1 format. For a block float the code is BF16, or FP16
   with an 'a' variant; pack_block takes 16 of them. */
uint32_t bitpath_tensix_pack_late(uint32_t code, int mid_format, int l1_format);

/* Packer: 16 codes of pack_late to datums; returns the exponent byte. */
uint8_t bitpath_tensix_pack_block(int format, const uint32_t codes[16], uint8_t datums[16]);

/* Packer: accumulation in L1, old + new in FP32, BF16 or FP16. */
uint32_t bitpath_tensix_add_to_l1(uint32_t old_code, uint32_t new_code, int format);

/* result[m][n] = sum over k of a[m][k] * b[k][n], row by row. Formats are BF16, TF32, FP16, FP8, BFP8, BFP4, BFP2 and
   INT8; fidelities LOFI to HIFI4. Operands are FP32 codes without NaN, and so is the result; with INT8 all are two's
   complement integers, operands -127 to 127. */
void bitpath_tensix_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format, int fidelity,
                           int dst32, uint32_t *result);
