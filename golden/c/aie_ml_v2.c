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

/* ---- AIE-ML v2: MX blocks, floats, integers. ---- */

/* Rounds to codes before saturation, for given exponents of the sub-tiles; sets exponent and shift byte. */
static void round_block(const uint32_t x[16], const int pairs[8], int format, int rounding, uint8_t head[2],
                        int codes[16])
{
    int i, shared = 0, shift = 0;
    for (i = 0; i < sub_tiles(format); ++i)
        shared = pairs[i] > shared ? pairs[i] : shared;
    for (i = 0; i < sub_tiles(format); ++i)
        shift |= (pairs[i] < shared) << i;
    head[0] = (uint8_t)shared;
    head[1] = (uint8_t)shift;
    for (i = 0; i < elements(format); ++i) {
        int exponent = x[i] >> 23 & 0xFF, negative = (int)(x[i] >> 31), code;
        uint32_t significand = exponent ? (x[i] & 0x7FFFFF) | 0x800000 : MX_FLUSH ? 0 : x[i] & 0x7FFFFF;
        /* From the significand's last place to the code's, whose magnitude bits start at the shared exponent. */
        int distance = shared - (exponent ? exponent : 1) + FP32.fraction_bits + 1 - magnitude_bits(format);
        code = (int)round_shift(significand, distance - shift_of(head, i), negative, rounding);
        codes[i] = negative ? -code : code;
    }
}

void bitpath_aie_ml_v2_to_mx(const uint32_t x[16], int format, int rounding, uint8_t head[2], int8_t codes[16])
{
    int highest = (1 << magnitude_bits(format)) - 1, lowest = MX_MIN_CODE ? -highest - 1 : -highest;
    int pairs[BLOCK / 2] = {0}, rounded[BLOCK] = {0}, i, nan = 0;
    int size = elements(format), tile = size / sub_tiles(format);
    for (i = 0; i < size; ++i) {
        int exponent = x[i] >> 23 & 0xFF;
        pairs[i / tile] = exponent > pairs[i / tile] ? exponent : pairs[i / tile];
        nan |= MX_NAN_BLOCK && exponent == MX_NAN;
    }
    round_block(x, pairs, format, rounding_of(rounding), head, rounded);
    if (MX_BUMP) {
        for (i = 0; i < size; i += tile) {
            int k, leaves = 0;
            for (k = i; k < i + tile; ++k)
                leaves |= rounded[k] < lowest || rounded[k] > highest;
            pairs[i / tile] += leaves && pairs[i / tile] < MX_NAN - 1;
        }
        round_block(x, pairs, format, rounding_of(rounding), head, rounded);
    }
    for (i = 0; i < BLOCK; ++i)
        codes[i] = (int8_t)(nan ? 0 : rounded[i] < lowest ? lowest : rounded[i] > highest ? highest : rounded[i]);
    if (nan) {
        head[0] = MX_NAN;
        head[1] = 0;
    }
}

void bitpath_aie_ml_v2_from_mx(int format, const uint8_t head[2], const int8_t codes[16], uint32_t x[16])
{
    int i;
    for (i = elements(format); i < BLOCK; ++i)
        x[i] = 0;
    for (i = 0; i < elements(format); ++i) {
        int negative = codes[i] < 0, magnitude = negative ? -codes[i] : codes[i];
        int exponent = head[0] - 127 - shift_of(head, i) + 1 - magnitude_bits(format);
        uint32_t code = encode(&FP32, negative, (uint64_t)magnitude, exponent, RTZ, 0);
        x[i] = code & FP32.infinity_code ? code : code & FP32.sign_mask;
        if (MX_NAN_BLOCK && head[0] == MX_NAN)
            x[i] = FP32.nan_code;
    }
}

/* ---- Conversions of floats and integers. ---- */

uint16_t bitpath_aie_ml_v2_narrow(uint32_t code, int format, int rounding, int saturate, int shift)
{
    const Format *to = format_of(format);
    Number x = decode(&FP32, code);
    uint32_t sign = x.sign ? to->sign_mask : 0, result;
    if (x.kind == FINITE)
        result = encode(to, x.sign, x.significand, x.exponent + shift, rounding_of(rounding),
                        saturate & BITPATH_AIE_ML_V2_SATURATE_FINITE);
    else if (x.kind == INFINITE)
        result = sign | (saturate & BITPATH_AIE_ML_V2_SATURATE_INFINITE ? to->max_code : to->infinity_code ? to->infinity_code : to->nan_code);
    else if (!to->infinity_code)
        result = to->nan_code | sign;
    else {
        /* NaN keeps its sign and high fraction bits, 1 where these are 0. */
        uint32_t payload = (code & 0x7FFFFF) >> (FP32.fraction_bits - to->fraction_bits);
        result = sign | to->infinity_code | (payload ? payload : 1);
    }
    /* So does the NaN of an overflow keep its sign. */
    return (uint16_t)(!to->infinity_code && result == to->nan_code ? result | sign : result);
}

uint32_t bitpath_aie_ml_v2_widen(uint16_t code, int format)
{
    const Format *from = format_of(format);
    Number x = decode(from, code);
    if (from != &BF16 && from != &FP16) {
        uint16_t a[DEPTH] = {0}, one[DEPTH] = {0};
        a[0] = code;
        one[0] = (uint16_t)(from->bias << from->fraction_bits);
        return bitpath_aie_ml_v2_float_dot(a, format, one, format, 1, 0, 0, BITPATH_AIE_ML_V2_ZERO_ACC1);
    }
    if (x.kind == FINITE)
        return encode(&FP32, x.sign, x.significand, x.exponent, RNE, 0);
    return (x.sign ? FP32.sign_mask : 0) | FP32.infinity_code |
           (code & ((1u << from->fraction_bits) - 1)) << (FP32.fraction_bits - from->fraction_bits);
}

int32_t bitpath_aie_ml_v2_bf16_to_int32(uint16_t code, int shift)
{
    Number x = decode(&BF16, code);
    int exponent = x.exponent + shift;
    int64_t magnitude;
    if (x.kind == NOT_A_NUMBER)
        return INT32_MAX;
    if (x.kind == INFINITE || (x.significand && exponent > 31))
        return x.sign ? INT32_MIN : INT32_MAX;
    magnitude = x.significand ? (int64_t)round_shift(x.significand, -exponent, x.sign, RTD) : 0;
    if (magnitude > INT32_MAX)
        return x.sign ? INT32_MIN : INT32_MAX;
    return (int32_t)(x.sign ? -magnitude : magnitude);
}

int64_t bitpath_aie_ml_v2_srs(int64_t acc, int shift, int out_bits, int rounding, int saturation, int is_signed)
{
    int negative = acc < 0, up = shift < 0 ? -shift : 0;
    uint64_t magnitude = negative ? 0 - (uint64_t)acc : (uint64_t)acc;
    int64_t highest = is_signed ? ((int64_t)1 << (out_bits - 1)) - 1 : ((int64_t)1 << out_bits) - 1, lowest = 0;
    if (is_signed)
        lowest = saturation == BITPATH_AIE_ML_V2_SATURATION_SYMMETRIC ? -highest : -highest - 1;
    magnitude = up ? magnitude : round_shift(magnitude, shift, negative, rounding_of(rounding));
    if (saturation == BITPATH_AIE_ML_V2_SATURATION_NONE)
        return wrapped((negative ? 0 - magnitude : magnitude) << up, out_bits, is_signed);
    /* Beyond the limits before the left shift: 64 bits may not hold it after. */
    if (magnitude >> 40)
        return negative ? lowest : highest;
    acc = (int64_t)(magnitude << up);
    acc = negative ? -acc : acc;
    return acc < lowest ? lowest : acc > highest ? highest : acc;
}

int64_t bitpath_aie_ml_v2_ups(int64_t x, int shift, int acc_bits, int saturation)
{
    int64_t highest = (acc_bits == 32 ? INT32_MAX : INT64_MAX) >> shift;
    /* -2**(acc_bits - 1) / 2**shift rounds down to -1. */
    int64_t lowest = saturation == BITPATH_AIE_ML_V2_SATURATION_SYMMETRIC ? -highest : -highest - 1;
    if (saturation != BITPATH_AIE_ML_V2_SATURATION_NONE)
        x = x < lowest ? lowest : x > highest ? highest : x;
    return wrapped((uint64_t)x << shift, acc_bits, 1);
}

/* ---- AIE-ML v2: matmul; steps of K in order, of which the first reads no accumulator. ---- */

enum { COLUMNS = 16 };

void bitpath_aie_ml_v2_float_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format,
                                    int rounding, uint32_t *result)
{
    uint16_t row[DEPTH], columns[COLUMNS][DEPTH];
    int both = BITPATH_AIE_ML_V2_SATURATE_FINITE | BITPATH_AIE_ML_V2_SATURATE_INFINITE;
    int saturate = format_of(format)->sign_mask == 0x80 ? both : 0, start, first, i, j, d;
    for (start = 0; start < k; start += DEPTH)
        for (first = 0; first < n; first += COLUMNS) {
            int count = n - first < COLUMNS ? n - first : COLUMNS;
            for (j = 0; j < count; ++j)
                for (d = 0; d < DEPTH; ++d)
                    columns[j][d] = bitpath_aie_ml_v2_narrow(
                        start + d < k ? b[(ptrdiff_t)(start + d) * n + first + j] : 0, format, rounding, saturate, 0);
            for (i = 0; i < m; ++i) {
                for (d = 0; d < DEPTH; ++d)
                    row[d] = bitpath_aie_ml_v2_narrow(start + d < k ? a[(ptrdiff_t)i * k + start + d] : 0, format,
                                                      rounding, saturate, 0);
                for (j = 0; j < count; ++j) {
                    uint32_t *acc = result + (ptrdiff_t)i * n + first + j;
                    *acc = bitpath_aie_ml_v2_float_dot(row, format, columns[j], format, DEPTH, start ? *acc : 0, 0,
                                                       start ? 0 : BITPATH_AIE_ML_V2_ZERO_ACC1);
                }
            }
        }
}

/* Converts a block along K, source[i * stride]; places from `used` on are zeros. */
static void block_of(const uint32_t *source, ptrdiff_t stride, int used, int format, int rounding, uint8_t head[2],
                     int8_t codes[16])
{
    uint32_t x[BLOCK];
    int i;
    for (i = 0; i < BLOCK; ++i)
        x[i] = i < used ? source[i * stride] : 0;
    bitpath_aie_ml_v2_to_mx(x, format, rounding, head, codes);
}

void bitpath_aie_ml_v2_mx_matmul(int m, int k, int n, const uint32_t *a, const uint32_t *b, int format, int rounding,
                                 uint32_t *result)
{
    uint8_t head[2], heads[COLUMNS][2];
    int8_t row[BLOCK], columns[COLUMNS][BLOCK];
    int start, first, i, j;
    for (start = 0; start < k; start += elements(format))
        for (first = 0; first < n; first += COLUMNS) {
            int count = n - first < COLUMNS ? n - first : COLUMNS;
            for (j = 0; j < count; ++j)
                block_of(b + (ptrdiff_t)start * n + first + j, n, k - start, format, rounding, heads[j], columns[j]);
            for (i = 0; i < m; ++i) {
                block_of(a + (ptrdiff_t)i * k + start, 1, k - start, format, rounding, head, row);
                for (j = 0; j < count; ++j) {
                    uint32_t *acc = result + (ptrdiff_t)i * n + first + j;
                    *acc = bitpath_aie_ml_v2_mx_dot(format, head, row, heads[j], columns[j], start ? *acc : 0, 0,
                                                    start ? 0 : BITPATH_AIE_ML_V2_ZERO_ACC1);
                }
            }
        }
}

void bitpath_aie_ml_v2_integer_matmul(int m, int k, int n, const int32_t *a, const int32_t *b, int lane_bits,
                                      int64_t *result)
{
    int i, j, d;
    for (i = 0; i < m; ++i)
        for (j = 0; j < n; ++j) {
            uint64_t total = 0;
            for (d = 0; d < k; ++d)
                total += (uint64_t)((int64_t)a[(ptrdiff_t)i * k + d] * b[(ptrdiff_t)d * n + j]);
            result[(ptrdiff_t)i * n + j] = wrapped(total, lane_bits == 32 ? 32 : 64, 1);
        }
}
