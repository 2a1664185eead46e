/* ---- AIE-ML v2: multiply-accumulate. ---- */

enum { BLOCK = 16, DEPTH = 8, MX_NAN = 255 };

static const Format *format_of(int number)
{
    return number >= 0 && number < FORMATS ? TABLE[number] : TABLE[0];
}

/* The rounding of a crRnd code. */
static int rounding_of(int code)
{
    static const int roundings[14] = {RTD, RTU, RTZ, RTA, RTD, RTD, RTD, RTD, RND, RNU, RNZ, RNA, RNE, RNO};
    return code >= 0 && code < 14 ? roundings[code] : RTD;
}

/* Bits of an MX code without its sign. */
static int magnitude_bits(int format)
{
    return format == BITPATH_AIE_ML_V2_MX6 ? 4 : format == BITPATH_AIE_ML_V2_MX4 ? 2 : 7;
}

/* Elements of a block, and sub-tiles that are scaled alike. */
static int elements(int format)
{
    return format == BITPATH_AIE_ML_V2_BFP16EBS8 ? BLOCK / 2 : BLOCK;
}

static int sub_tiles(int format)
{
    return format == BITPATH_AIE_ML_V2_BFP16EBS8 ? 1 : BLOCK / 2;
}

static int shift_of(const uint8_t head[2], int element)
{
    return head[1] >> element / 2 & 1;
}

/* ---- Multiply-accumulate. Terms carry the code p, the exponent of their leading place plus 255, as `place`. ---- */

static Number negated(Number x, int negate)
{
    x.sign ^= negate != 0;
    return x;
}

static int accumulator_terms(Term *terms, uint32_t acc1, uint32_t acc2, int control)
{
    int i, count = 0;
    for (i = 0; i < 2; ++i) {
        Number x = decode(&FP32, i ? acc2 : acc1);
        if (!i && control & BITPATH_AIE_ML_V2_ZERO_ACC1)
            continue;
        terms[count].value =
            negated(x, control & (i ? BITPATH_AIE_ML_V2_NEGATE_ACC2 : BITPATH_AIE_ML_V2_NEGATE_ACC1));
        terms[count].place = x.exponent + FP32.fraction_bits + 255;
        terms[count++].aligns = x.significand != 0;
    }
    return count;
}

/* Rounds terms to the grid 2**(largest place - 255 - ALIGN_FRACTION_BITS), adds them exactly, rounds to 24 bits. The
   first `products` terms are products, the others accumulators. */
static uint32_t add_terms(const Term *terms, int products, int count)
{
    int i, largest = -1, unit, shift, negative;
    int64_t total = 0;
    uint64_t magnitude;
    uint32_t code;
    if (special_sum(terms, count, &code))
        return code;
    for (i = 0; i < count; ++i)
        if (terms[i].aligns && terms[i].place > largest)
            largest = terms[i].place;
    unit = largest - 255 - ALIGN_FRACTION_BITS;
    for (i = 0; i < count; ++i) {
        Number x = terms[i].value;
        int rounding = i < products ? ALIGN_ROUNDING : ACCUMULATOR_ALIGN_ROUNDING;
        if (x.significand) {
            int64_t aligned = (int64_t)round_shift(x.significand, unit - x.exponent, x.sign, rounding);
            total += x.sign ? -aligned : aligned;
        }
    }
    negative = total < 0;
    magnitude = (uint64_t)(negative ? -total : total);
    if (!magnitude)
        return 0;
    shift = bit_length(magnitude) - 1 - FP32.fraction_bits;
    magnitude = round_shift(magnitude, shift, negative, RESULT_ROUNDING);
    /* Flushed after the rounding carry. */
    if (unit + shift + bit_length(magnitude) - 1 < 1 - FP32.bias)
        return negative && FLUSHED_ZERO_KEEPS_SIGN ? FP32.sign_mask : 0;
    return encode(&FP32, negative, magnitude, unit + shift, RTZ, 0);
}

uint32_t bitpath_aie_ml_v2_float_dot(const uint16_t a[8], int a_format, const uint16_t b[8], int b_format, int depth,
                                     uint32_t acc1, uint32_t acc2, int control)
{
    const Format *x_format = format_of(a_format), *y_format = format_of(b_format);
    Term terms[DEPTH + 2];
    int i, products = depth < DEPTH ? depth : DEPTH;
    for (i = 0; i < products; ++i) {
        Number x = decode(x_format, a[i]), y = decode(y_format, b[i]), z = product(x, y);
        terms[i].value = negated(z, control & BITPATH_AIE_ML_V2_NEGATE_PRODUCTS);
        terms[i].place = z.exponent + x_format->fraction_bits + y_format->fraction_bits + 255;
        terms[i].aligns = z.significand || FLOAT_ZERO_TERM;
    }
    return add_terms(terms, products, products + accumulator_terms(terms + products, acc1, acc2, control));
}

/* Divides by 2**shift, rounding down. */
static int floor_shift(int value, int shift)
{
    return value < 0 ? -((-value + (1 << shift) - 1) >> shift) : value >> shift;
}

uint32_t bitpath_aie_ml_v2_mx_dot(int format, const uint8_t a_head[2], const int8_t a_codes[16],
                                  const uint8_t b_head[2], const int8_t b_codes[16], uint32_t acc1, uint32_t acc2,
                                  int control)
{
    int mx4 = format == BITPATH_AIE_ML_V2_MX4, as_mx9 = format == BITPATH_AIE_ML_V2_MX9;
    int size = MX_POST_ADD_FIRST ? elements(format) : 1;
    int nan = MX_NAN_BLOCK && (a_head[0] == MX_NAN || b_head[0] == MX_NAN);
    int i, k, count = 0;
    Term terms[BLOCK + 2];
    if (MX9_SPLIT_ROUND && (as_mx9 || (mx4 && MX4_PATH == MX4_PATH_MX9)))
        size = BLOCK / 2;
    for (i = 0; i < elements(format); i += size) {
        int total = 0; /* in quarters of the block pair's last place, for two shifts of one bit */
        Term *t = &terms[count++];
        for (k = i; k < i + size; ++k) {
            int shift = shift_of(a_head, k) + shift_of(b_head, k), exact = a_codes[k] * b_codes[k];
            /* MX4 codes have zeros below them, which receive the bits of a shift. */
            total += MX_LOSSLESS_SHIFT || mx4 ? exact * (4 >> shift) : floor_shift(exact, shift) * 4;
        }
        if (control & BITPATH_AIE_ML_V2_NEGATE_PRODUCTS)
            total = -total;
        t->value.kind = nan ? NOT_A_NUMBER : FINITE;
        t->value.sign = total < 0;
        t->value.significand = (uint64_t)(total < 0 ? -total : total);
        t->value.exponent = a_head[0] + b_head[0] - 2 * 127 - 2 * (magnitude_bits(format) - 1) - 2;
        t->place = a_head[0] + b_head[0] + 1;
        t->aligns = total || (MX_ZERO_TERM && a_head[0] && b_head[0]);
    }
    return add_terms(terms, count, count + accumulator_terms(terms + count, acc1, acc2, control));
}

/* The number that the low bits of an integer are. */
static int64_t wrapped(uint64_t value, int bits, int is_signed)
{
    uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : ~(uint64_t)0, low = value & mask;
    if (!is_signed || !(low >> (bits - 1)))
        return (int64_t)low;
    return -(int64_t)(mask - low) - 1;
}

int64_t bitpath_aie_ml_v2_integer_dot(const int32_t a[8], const int32_t b[8], int depth, int lane_bits, int64_t acc1,
                                      int64_t acc2, int control)
{
    uint64_t total = 0, first = (uint64_t)acc1, second = (uint64_t)acc2;
    int i;
    for (i = 0; i < depth && i < DEPTH; ++i)
        total += (uint64_t)((int64_t)a[i] * b[i]);
    if (control & BITPATH_AIE_ML_V2_NEGATE_PRODUCTS)
        total = 0 - total;
    if (control & BITPATH_AIE_ML_V2_ZERO_ACC1)
        first = 0;
    if (control & BITPATH_AIE_ML_V2_SHIFT16)
        first <<= 16;
    total += control & BITPATH_AIE_ML_V2_NEGATE_ACC1 ? 0 - first : first;
    total += control & BITPATH_AIE_ML_V2_NEGATE_ACC2 ? 0 - second : second;
    return wrapped(total, lane_bits == 32 ? 32 : 64, 1);
}
