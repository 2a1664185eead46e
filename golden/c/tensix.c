/* ---- Tensix: the Matrix unit. ---- */

enum { PRODUCT_BITS = 10, SUM_BITS = 23, NARROW_BITS = 10 }; /* fraction bits of products, addends, rounded addends */

/* Block floats: bits of a magnitude, without sign; 0 for other formats. */
static int magnitude_bits(int format)
{
    switch (format) {
    case BITPATH_TENSIX_BFP8:
    case BITPATH_TENSIX_BFP8A: return 7;
    case BITPATH_TENSIX_BFP4:
    case BITPATH_TENSIX_BFP4A: return 3;
    case BITPATH_TENSIX_BFP2:
    case BITPATH_TENSIX_BFP2A: return 1;
    default: return 0;
    }
}

static int exponent_bits(int format)
{
    switch (format) {
    case BITPATH_TENSIX_FP16:
    case BITPATH_TENSIX_FP8:
    case BITPATH_TENSIX_BFP8A:
    case BITPATH_TENSIX_BFP4A:
    case BITPATH_TENSIX_BFP2A: return 5;
    default: return 8;
    }
}

/* Rounds value / 2**shift; shift >= 0. */
static int64_t shift_round(int64_t value, int shift, int rounding)
{
    int negative = value < 0;
    int64_t rounded = (int64_t)round_shift((uint64_t)(negative ? -value : value), shift, negative, rounding);
    return negative ? -rounded : rounded;
}

/* ---- Matrix unit: sources, products, accumulation. ---- */

/* significand has 10 fraction bits and the hidden one, and is 0 for a zero. */
typedef struct {
    int sign, exponent, significand;
} Source;

/* Exponent 0 makes a datum zero; with the zero flag disabled, SrcA's alone. */
static Source read_source(uint32_t word, int style, int format, int is_src_b)
{
    Source x;
    int masked = MASKING == MASKING_SRCA_STYLE ? style == BITPATH_TENSIX_STYLE_BF16
                                               : format != BITPATH_TENSIX_TF32 && exponent_bits(format) == 8;
    x.sign = (int)(word >> 18 & 1);
    x.exponent = (int)(word >> 10 & (style == BITPATH_TENSIX_STYLE_FP16 ? 0x1F : 0xFF));
    x.significand = (int)(word & (masked && style != BITPATH_TENSIX_STYLE_FP16 ? 0x3F8 : 0x3FF)) | 0x400;
    if (!x.exponent && !(is_src_b && ZERO_FLAG_DISABLED))
        x.significand = 0;
    return x;
}

/* From the sum of two biased exponents to an exponent with the bias of Dst. */
static int rebias(int style, int dst32)
{
    return style != BITPATH_TENSIX_STYLE_FP16 ? -127 : dst32 ? 127 - 30 : -15;
}

/* value has 10 fraction bits; a product of a zero operand is zero. */
typedef struct {
    int value, exponent, zero;
} Product;

/* The 7x5-bit multiplier: phase bit 0 takes SrcA's low field, bit 1 SrcB's. */
static Product multiply(Source a, Source b, int style, int dst32, int phase)
{
    Product p;
    int offset = rebias(style, dst32) - (phase & 1 ? 5 : 0) - (phase & 2 ? 7 : 0);
    int field_a = phase & 1 ? a.significand >> 1 & 0x1F : a.significand >> 6;
    int field_b = phase & 2 ? (b.significand & 0xF) << 3 : b.significand >> 4;
    p.zero = !a.significand || !b.significand;
    p.value = p.zero ? 0 : a.sign ^ b.sign ? -field_a * field_b : field_a * field_b;
    p.exponent = !p.zero ? a.exponent + b.exponent + offset : ZERO_TERMS_KEEP_BIAS && offset > 0 ? offset : 0;
    return p;
}

/* An addend in units of 2**-23 at a biased exponent. */
typedef struct {
    int64_t value;
    int exponent;
} Addend;

static int fraction_bits(int style, int dst32)
{
    return dst32 ? 23 : style == BITPATH_TENSIX_STYLE_FP16 ? 10 : 7;
}

/* Aligns sums and Dst to the largest exponent, adds, normalises, rounds. Results too small give +0. */
static uint32_t accumulate(uint32_t dst, const Addend *sums, int count, int style, int dst32)
{
    int bits = fraction_bits(style, dst32), width = bits == 10 ? 5 : 8, narrow = !dst32 && PRE_ROUND;
    int i, exponent, shift, position, point = narrow ? NARROW_BITS : SUM_BITS, biased;
    int64_t total = 0, magnitude, significand;
    Addend own;
    own.exponent = (int)(dst >> bits & ((1u << width) - 1));
    own.value = (int64_t)((dst & ((1u << bits) - 1)) | 1u << bits) << (SUM_BITS - bits);
    if (!own.exponent)
        own.value = 0;
    if (dst >> (bits + width) & 1)
        own.value = -own.value;
    exponent = own.exponent;
    for (i = 0; i < count; ++i)
        exponent = sums[i].exponent > exponent ? sums[i].exponent : exponent;
    if (exponent <= 0)
        return 0;
    for (i = 0; i <= count; ++i) {
        Addend x = i < count ? sums[i] : own;
        int tie = i < count ? SUM_TIE : DST_TIE;
        total += shift_round(shift_round(x.value, exponent - x.exponent, tie), SUM_BITS - point, tie);
    }
    if (!total)
        return 0;
    if (dst32 && MINUS_ONE_QUIRK && total == -1) {
        total = -((int64_t)1 << point);
        exponent += 4;
    }
    magnitude = total < 0 ? -total : total;
    position = bit_length((uint64_t)magnitude) - 1;
    shift = position - bits;
    significand = (int64_t)round_shift((uint64_t)magnitude, shift, total < 0, FINAL_TIE);
    if (significand >> (bits + 1))
        ++position; /* a carry to 2.0, whose fraction is 0 too */
    biased = exponent + position - point;
    if (biased <= 0)
        return 0;
    significand &= ((int64_t)1 << bits) - 1;
    if (width == 5 && biased > 31) {
        biased = 31;
        significand = 0x3FF;
    }
    if (width == 8 && biased >= 255) {
        biased = 255;
        significand = 0;
    }
    return (uint32_t)(total < 0) << (bits + width) | (uint32_t)biased << bits | (uint32_t)significand;
}

static int integer(uint32_t word, int is_src_b)
{
    int flush = INT8_ZERO_EXPONENT_FLUSH && !(is_src_b && ZERO_FLAG_DISABLED);
    int magnitude = flush && !(word >> 10 & 0xFF) ? 0 : (int)(word & 0x3FF);
    return word >> 18 & 1 ? -magnitude : magnitude;
}

/* The bits of an integer's magnitude that a phase multiplies, in place. */
static int integer_field(int value, int mask)
{
    return value < 0 ? -(-value & mask) : value & mask;
}

static int64_t integer_product(uint32_t a, uint32_t b, int phase)
{
    return (int64_t)integer_field(integer(a, 0), phase & 1 ? 0x1F : 0xE0) *
           integer_field(integer(b, 1), phase & 2 ? 0xF : 0x3F0);
}

/* Adds to a word of sign and 31-bit magnitude, saturating; zero is +0. */
static uint32_t accumulate_integer(uint32_t dst, int64_t value)
{
    int64_t magnitude = dst & 0x7FFFFFFF, total = (dst >> 31 ? -magnitude : magnitude) + value;
    magnitude = total < 0 ? -total : total;
    return (uint32_t)(magnitude < 0x7FFFFFFF ? magnitude : 0x7FFFFFFF) | (uint32_t)(total < 0) << 31;
}

uint32_t bitpath_tensix_dot16(uint32_t dst, const uint32_t src_b[16], const uint32_t src_a[16], int style, int dst32,
                              int phase, int srca_format, int srcb_format)
{
    Addend sums[16];
    int start, i;
    if (style == BITPATH_TENSIX_STYLE_INT8) {
        int64_t total = 0;
        for (i = 0; i < 16; ++i)
            total += integer_product(src_a[i], src_b[i], phase);
        return accumulate_integer(dst, total);
    }
    for (start = 0; start < 16; start += GROUP) {
        Product products[GROUP];
        int64_t total = 0;
        int highest = 0;
        for (i = 0; i < GROUP; ++i) {
            Product p = multiply(read_source(src_a[start + i], style, srca_format, 0),
                                 read_source(src_b[start + i], style, srcb_format, 1), style, dst32, phase);
            if ((EMPTY_TERMS_IN_MAXIMUM || p.zero || p.value) && p.exponent > highest)
                highest = p.exponent;
            products[i] = p;
        }
        /* Products are aligned to the group's largest exponent with their guard bits; at exponent 0 the group is 0.
         */
        for (i = 0; highest > 0 && i < GROUP; ++i)
            if (products[i].value)
                total += shift_round((int64_t)products[i].value * (1 << PRODUCT_GUARD_BITS),
                                     highest - products[i].exponent, PRODUCT_TIE);
        sums[start / GROUP].value = total * (1 << (SUM_BITS - PRODUCT_BITS - PRODUCT_GUARD_BITS));
        sums[start / GROUP].exponent = highest;
    }
    return accumulate(dst, sums, 16 / GROUP, style, dst32);
}

void bitpath_tensix_mvmul(uint32_t dst[128], const uint32_t src_b[128], const uint32_t src_a[256], int style,
                          int dst32, int phase, int srca_format, int srcb_format)
{
    int row, column, i;
    for (column = 0; column < 16; ++column) {
        uint32_t a[16];
        for (i = 0; i < 16; ++i)
            a[i] = src_a[16 * i + column];
        for (row = 0; row < 8; ++row)
            dst[16 * row + column] = bitpath_tensix_dot16(dst[16 * row + column], src_b + 16 * row, a, style, dst32,
                                                          phase, srca_format, srcb_format);
    }
}

uint32_t bitpath_tensix_elwmul(uint32_t dst, uint32_t src_b, uint32_t src_a, int style, int dst32, int phase,
                               int srca_format, int srcb_format)
{
    Addend term;
    Product p;
    if (style == BITPATH_TENSIX_STYLE_INT8)
        return accumulate_integer(dst, integer_product(src_a, src_b, phase));
    p = multiply(read_source(src_a, style, srca_format, 0), read_source(src_b, style, srcb_format, 1), style, dst32,
                 phase);
    if (p.zero || p.exponent <= 0 || !(EMPTY_TERMS_IN_MAXIMUM || p.value)) {
        Source zero = {0, 0, 0};
        p = multiply(zero, zero, style, dst32, phase);
    }
    term.value = (int64_t)p.value * (1 << (SUM_BITS - PRODUCT_BITS));
    term.exponent = p.exponent;
    return accumulate(dst, &term, 1, style, dst32);
}

uint32_t bitpath_tensix_elwadd(uint32_t dst, uint32_t src_b, uint32_t src_a, int subtract, int accumulating,
                               int style, int dst32, int srca_format, int srcb_format)
{
    uint32_t old = accumulating ? dst : 0;
    Source a = read_source(src_a, style, srca_format, 0), b = read_source(src_b, style, srcb_format, 1);
    int64_t x = a.sign ? -a.significand : a.significand, y = b.sign ^ !!subtract ? -b.significand : b.significand;
    Addend term;
    if (style == BITPATH_TENSIX_STYLE_INT8)
        return accumulate_integer(old, integer(src_a, 0) + (subtract ? -integer(src_b, 1) : integer(src_b, 1)));
    term.exponent = a.exponent > b.exponent ? a.exponent : b.exponent;
    term.value = shift_round(x, term.exponent - a.exponent, PRODUCT_TIE) +
                 shift_round(y, term.exponent - b.exponent, PRODUCT_TIE);
    term.value *= 1 << (SUM_BITS - PRODUCT_BITS);
    if (style == BITPATH_TENSIX_STYLE_FP16 && dst32)
        term.exponent = term.exponent ? term.exponent + 127 - 15 : rebias(style, dst32);
    return accumulate(old, &term, 1, style, dst32);
}

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
