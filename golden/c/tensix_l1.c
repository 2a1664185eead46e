/* ---- Tensix: accumulation in L1. ---- */

/* Adds finite codes of one format, zeros in place of subnormals. 62 bits with the lost ones ORed into the last
   suffice for one rounding to 24. Zeros of both signs sum to +0. */
static uint32_t add_codes(const Format *format, uint32_t old_code, uint32_t new_code)
{
    Number x = decode(format, old_code), y = decode(format, new_code);
    uint64_t hidden = (uint64_t)1 << format->fraction_bits, small;
    int distance, negative;
    uint32_t code;
    if (y.exponent > x.exponent) {
        Number swapped = x;
        x = y;
        y = swapped;
    }
    x.significand = x.significand & hidden ? x.significand << 34 : 0;
    y.significand = y.significand & hidden ? y.significand << 34 : 0;
    distance = x.exponent - y.exponent < 63 ? x.exponent - y.exponent : 63;
    small = y.significand >> distance;
    small |= small << distance != y.significand;
    negative = x.sign;
    if (x.sign == y.sign)
        x.significand += small;
    else if (x.significand >= small)
        x.significand -= small;
    else {
        x.significand = small - x.significand;
        negative = y.sign;
    }
    if (!x.significand)
        negative = x.sign & y.sign;
    code = encode(format, negative, x.significand, x.exponent - 34, RNE, 0);
    return code & format->infinity_code ? code : code & format->sign_mask;
}

/* Without infinity and NaN; a zero exponent is zero. Sums are exact in units of 2**-10 at biased exponent 1, 43 bits.
 */
static uint32_t add_fp16(uint32_t old_code, uint32_t new_code)
{
    int64_t total = 0, magnitude;
    int i, shift, biased;
    uint32_t sign;
    for (i = 0; i < 2; ++i) {
        uint32_t code = i ? new_code : old_code, exponent = code >> 10 & 0x1F;
        int64_t value = exponent ? (int64_t)((code & 0x3FF) | 0x400) << (exponent - 1) : 0;
        total += code >> 15 & 1 ? -value : value;
    }
    sign = total < 0 ? 0x8000 : 0;
    magnitude = total < 0 ? -total : total;
    if (!total)
        return L1_FP16_UNDERFLOW_SATURATES && (old_code >> 10 & 0x1F) >= 30 ? 0x7FFF : old_code & new_code & 0x8000;
    shift = bit_length((uint64_t)magnitude) - 11;
    magnitude = (int64_t)round_shift((uint64_t)magnitude, shift, 0, RNE);
    biased = shift + 1 + (int)(magnitude >> 11);
    if (biased > 31 || (biased < 0 && L1_FP16_UNDERFLOW_SATURATES))
        return sign | 0x7FFF;
    return biased <= 0 ? sign : sign | (uint32_t)biased << 10 | (uint32_t)(magnitude & 0x3FF);
}

uint32_t bitpath_tensix_add_to_l1(uint32_t old_code, uint32_t new_code, int format)
{
    const Format *own = format == BITPATH_TENSIX_FP32 ? &FP32 : &BF16;
    uint32_t old_magnitude = old_code & (own->sign_mask - 1), new_magnitude = new_code & (own->sign_mask - 1);
    int old_infinite = old_magnitude == own->infinity_code, new_infinite = new_magnitude == own->infinity_code;
    int old_nan = old_magnitude > own->infinity_code, new_nan = new_magnitude > own->infinity_code;
    if (format == BITPATH_TENSIX_FP16)
        return add_fp16(old_code, new_code);
    if (format == BITPATH_TENSIX_FP32 && (old_nan || new_nan))
        return own->nan_code;
    if (old_infinite && new_infinite)
        return old_code == new_code ? old_code : own->nan_code;
    if (old_infinite || new_infinite)
        return old_infinite ? old_code : new_code;
    /* BF16: an old NaN is the largest FP64 number, which overflows; a new NaN is 1.m * 2**128. */
    if (old_nan)
        return (old_code & own->sign_mask) | own->infinity_code;
    return add_codes(own, old_code, new_code);
}
