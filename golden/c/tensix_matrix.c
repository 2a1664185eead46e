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
