/* ---- Tensix: unpackers. ---- */

static uint32_t source_of_fp16(uint32_t code)
{
    return (code >> 15 & 1) << 18 | (code & 0x7FFF);
}

/* Truncates the fraction, saturates to all ones; numbers a binade below the normal range and smaller become zero. */
static uint32_t fp32_to_fp16(uint32_t code)
{
    int exponent = (int)(code >> 23 & 0xFF) - 127 + 15;
    uint32_t magnitude = exponent < 0 ? 0 : exponent > 31 ? 0x7FFF : (uint32_t)exponent << 10 | (code >> 13 & 0x3FF);
    return code >> 31 << 15 | magnitude;
}

uint32_t bitpath_tensix_unpack(uint32_t code, int l1_format, int register_format, int is_unsigned)
{
    uint32_t magnitude = is_unsigned ? code & 0xFF : code & 0x7F;
    switch (l1_format) {
    case BITPATH_TENSIX_INT32: return code;
    case BITPATH_TENSIX_INT8:
        return (is_unsigned ? 0 : (code >> 7 & 1) << 18) | (magnitude ? 16 << 10 : 0) | magnitude;
    case BITPATH_TENSIX_INT16: return (code >> 15 & 1) << 18 | (code & 0xFF) << 10 | (code >> 8 & 0x7F) << 3;
    case BITPATH_TENSIX_FP16: return source_of_fp16(code);
    case BITPATH_TENSIX_FP8: return source_of_fp16(code << 8 | (FP8_ALL_ONES && (code & 0x7F) == 0x7F ? 0xFF : 0));
    case BITPATH_TENSIX_BF16: return (code & 0xFFFF) << 3;
    default: break; /* FP32 and TF32 */
    }
    switch (register_format) {
    case BITPATH_TENSIX_FP32: return code;
    case BITPATH_TENSIX_TF32: return code >> 13;
    case BITPATH_TENSIX_BF16: return (code >> 23 & 0xFF ? code >> 16 : code >> 31 << 15) << 3;
    default: return source_of_fp16(fp32_to_fp16(code));
    }
}

void bitpath_tensix_unpack_block(int format, uint8_t exponent, const uint8_t datums[16], uint32_t words[16])
{
    int bits = magnitude_bits(format), wide = exponent_bits(format) == 8, i;
    uint32_t top = wide ? 0xFF : 0x1F;
    for (i = 0; i < 16; ++i) {
        uint32_t sign = datums[i] >> bits & 1, magnitude = datums[i] & ((1u << bits) - 1), fraction = 0;
        int length = bit_length(magnitude), biased = exponent - (bits - length);
        if (!magnitude)
            biased = sign ? (int)top : 0; /* -0 becomes the code of -infinity, a large number */
        else if (biased >= 0 || (wide ? BFP_RANGE == BFP_RANGE_WRAP : BFP_A_RANGE == BFP_A_RANGE_WRAP))
            fraction = (magnitude << 10 >> (length - 1)) & 0x3FF; /* the leading 1 is hidden */
        else
            biased = 0;
        words[i] = sign << 18 | ((uint32_t)biased & top) << 10 | fraction;
    }
}

/* ---- Packers. ---- */

/* Fraction bits of an intermediate float; negative for an integer. */
static int kept_bits(int mid_format, int raw)
{
    switch (mid_format) {
    case BITPATH_TENSIX_FP32: return 23;
    case BITPATH_TENSIX_TF32:
    case BITPATH_TENSIX_FP16: return 10;
    case BITPATH_TENSIX_BF16: return 7;
    case BITPATH_TENSIX_BFP8: return 6;
    case BITPATH_TENSIX_BFP8A: return raw ? 7 : 6;
    case BITPATH_TENSIX_FP8: return 2;
    default: return -1;
    }
}

/* Rounds a code without sign to fewer fraction bits, a carry going into the exponent. */
static uint32_t round_field(uint32_t magnitude, int dropped)
{
    return (uint32_t)round_shift(magnitude, dropped, 0, FINAL_TIE) << dropped;
}

uint32_t bitpath_tensix_pack_early(uint32_t word, int mid_format, int dst32, int is_unsigned, int raw,
                                   int descale_shift)
{
    int kept = kept_bits(mid_format, raw), dropped;
    uint32_t magnitude = word & 0x7FFFFFFF, rounded, most;
    if (mid_format == BITPATH_TENSIX_INT8) {
        if (raw)
            return is_unsigned ? magnitude & 0xFF : word >> 31 << 7 | (magnitude & 0x7F);
        rounded = (uint32_t)round_shift(magnitude, descale_shift & 31, 0, FINAL_TIE);
        most = is_unsigned ? 255 : 127;
        rounded = rounded < most ? rounded : most;
        return is_unsigned ? (word >> 31 ? 0 : rounded) : word >> 31 << 7 | rounded;
    }
    if (kept < 0 || (dst32 && mid_format == BITPATH_TENSIX_FP32))
        return word;
    if (exponent_bits(mid_format) == 5) {
        dropped = 10 - kept;
        if (raw)
            return word >> dropped << dropped;
        rounded = round_field(word & 0x7FFF, dropped);
        most = 0x7FFFu >> dropped << dropped;
        return rounded >> 10 ? (word & 0x8000) | (rounded < most ? rounded : most) : 0;
    }
    dropped = 23 - kept;
    if (!dst32)
        word <<= 16;
    if (raw)
        return word >> dropped << dropped;
    magnitude = word & 0x7FFFFFFF;
    if (!dst32 && !(magnitude >> 23))
        return 0;
    rounded = round_field(magnitude < 0x7F800000 ? magnitude : 0x7F800000, dropped);
    return rounded >> 23 ? (word & 0x80000000) | rounded : 0;
}

uint32_t bitpath_tensix_relu(uint32_t code, int mid_format, int mode, int threshold)
{
    int wide = exponent_bits(mid_format) == 8;
    int top = mid_format == BITPATH_TENSIX_INT8 ? 7 : mid_format == BITPATH_TENSIX_INT16 || !wide ? 15 : 31;
    int ignored = wide ? 13 : 0; /* low bits that mode 3 does not compare */
    uint32_t limit = mode > 1 ? (uint32_t)(threshold & 0x7FFF) << (wide ? 16 : 0) : 0;
    if (!mode)
        return code;
    if (code >> top)
        return 0;
    if (mode == 3)
        return code >> ignored > limit >> ignored ? limit : code;
    return code > limit ? code : 0;
}

uint32_t bitpath_tensix_pack_late(uint32_t code, int mid_format, int l1_format)
{
    uint32_t exponent = code >> 10 & 0x1F, widened;
    int narrow = exponent_bits(mid_format) == 5;
    if (magnitude_bits(l1_format)) {
        if (exponent_bits(l1_format) == 5)
            return (narrow ? code : fp32_to_fp16(code)) & ~(uint32_t)7;
        l1_format = BITPATH_TENSIX_BF16;
    }
    if (narrow) {
        widened = (code >> 15 & 1) << 31 | (exponent ? exponent + 112 : 0) << 23 | (code & 0x3FF) << 13;
        switch (l1_format) {
        case BITPATH_TENSIX_FP16: return code;
        case BITPATH_TENSIX_FP8: return exponent ? code >> 8 : code >> 15 << 7;
        case BITPATH_TENSIX_BF16: return exponent ? widened >> 16 : 0;
        default: return widened;
        }
    }
    switch (l1_format) {
    case BITPATH_TENSIX_FP16: return fp32_to_fp16(code);
    case BITPATH_TENSIX_FP8: return fp32_to_fp16(code) >> 8;
    case BITPATH_TENSIX_BF16:
        if (mid_format == BITPATH_TENSIX_FP32 || mid_format == BITPATH_TENSIX_TF32)
            return code >> 23 & 0xFF ? code >> 16 : code >> 31 << 15;
        return code >> 16;
    default: return code;
    }
}

uint8_t bitpath_tensix_pack_block(int format, const uint32_t codes[16], uint8_t datums[16])
{
    int bits = magnitude_bits(format), width = exponent_bits(format), low = width == 8 ? 0 : 3, i;
    uint32_t mask = (1u << width) - 1, shared = 0;
    for (i = 0; i < 16; ++i)
        shared = (codes[i] >> (7 + low) & mask) > shared ? codes[i] >> (7 + low) & mask : shared;
    for (i = 0; i < 16; ++i) {
        uint32_t code = codes[i] >> low, exponent = code >> 7 & mask;
        uint32_t significand = (code & 0x7F) | (exponent ? 0x80 : 0);
        uint32_t magnitude = (uint32_t)round_shift(significand, (int)(shared - exponent) + 1, 0, FINAL_TIE);
        /* Clamped to 7 bits, then truncated; a magnitude of 0 has no sign. */
        magnitude = (magnitude < 127 ? magnitude : 127) >> (7 - bits);
        datums[i] = (uint8_t)(magnitude ? (code >> (7 + width) & 1) << bits | magnitude : 0);
    }
    return (uint8_t)shared;
}
