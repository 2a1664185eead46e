/* ---- Tensix: matmul in 32x32 tiles; the phases of a tile of K outside its two halves. ---- */

/* Converts 16 neighbours of a matrix row to Src words; those from `used` on are zeros. */
static void source_words(const uint32_t *source, int used, int format, uint32_t words[16])
{
    uint32_t codes[16];
    uint8_t datums[16], exponent;
    int i;
    for (i = 0; i < 16; ++i) {
        uint32_t code = i < used ? source[i] : 0;
        const Format *own = format == BITPATH_TENSIX_FP16 ? &FP16 : format == BITPATH_TENSIX_FP8 ? &E5M2 : &BF16;
        Number x = decode(&FP32, code);
        int negative_integer = code >> 31 != 0;
        if (format == BITPATH_TENSIX_TF32)
            codes[i] = code;
        else if (format == BITPATH_TENSIX_INT8)
            codes[i] = negative_integer ? (0u - code) | 0x80 : code;
        else if (x.kind == FINITE)
            codes[i] = encode(own, x.sign, x.significand, x.exponent, RNE, own != &BF16);
        else
            codes[i] = (x.sign ? own->sign_mask : 0) | (own == &BF16 ? own->infinity_code : own->max_code);
    }
    if (magnitude_bits(format)) {
        exponent = bitpath_tensix_pack_block(format, codes, datums);
        bitpath_tensix_unpack_block(format, exponent, datums, words);
        return;
    }
    for (i = 0; i < 16; ++i)
        words[i] = bitpath_tensix_unpack(codes[i], format, format, 0);
}

/* A Dst word as the number it is; FP16's largest exponent is one of numbers. */
static uint32_t value_of_dst(uint32_t word, int style, int dst32)
{
    if (style == BITPATH_TENSIX_STYLE_INT8)
        return word >> 31 ? 0u - (word & 0x7FFFFFFF) : word;
    if (dst32)
        return word;
    return style == BITPATH_TENSIX_STYLE_FP16
               ? bitpath_tensix_pack_late(word, BITPATH_TENSIX_FP16, BITPATH_TENSIX_FP32)
               : word << 16;
}

void bitpath_tensix_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format, int fidelity,
                           int dst32, uint32_t *result)
{
    int style = format == BITPATH_TENSIX_INT8   ? BITPATH_TENSIX_STYLE_INT8
                : format == BITPATH_TENSIX_TF32 ? BITPATH_TENSIX_STYLE_TF32
                : exponent_bits(format) == 5    ? BITPATH_TENSIX_STYLE_FP16
                                                : BITPATH_TENSIX_STYLE_BF16;
    int start, first, half, i, j, phase;
    for (start = 0; start < k; start += 32)
        for (first = 0; first < n; first += 16) {
            uint32_t columns[2][16][16], row[2][16], words[16];
            int count = n - first < 16 ? n - first : 16;
            for (half = 0; half < 2; ++half)
                for (i = 0; i < 16; ++i) {
                    int place = start + 16 * half + i;
                    source_words(place < k ? b + (ptrdiff_t)place * n + first : b, place < k ? count : 0, format,
                                 words);
                    for (j = 0; j < 16; ++j)
                        columns[half][j][i] = words[j];
                }
            for (i = 0; i < m; ++i) {
                for (half = 0; half < 2; ++half) {
                    int left = k - start - 16 * half;
                    source_words(left > 0 ? a + (ptrdiff_t)i * k + start + 16 * half : a, left, format, row[half]);
                }
                for (j = 0; j < count; ++j) {
                    uint32_t *out = result + (ptrdiff_t)i * n + first + j, dst = start ? *out : 0;
                    for (phase = 0; phase <= fidelity; ++phase)
                        for (half = 0; half < 2; ++half)
                            dst = bitpath_tensix_dot16(dst, row[half], columns[half][j], style, dst32, phase, format,
                                                       format);
                    *out = start + 32 < k ? dst : value_of_dst(dst, style, dst32);
                }
            }
        }
}
