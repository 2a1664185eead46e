/* ---- Trainium3: a dot product step, exact or aligned, with one rounding. ---- */

/* The exact sum is a two's complement number of 640 bits in words of 32, the lowest first; its last place is 2**-320.
   FP32 products reach from 2**-298 to 2**256, scaled FP8 products from 2**-286 to 2**288. */
enum { WORDS = 20, LAST_PLACE = -320 };

static void add(uint32_t sum[WORDS], Number x)
{
    int i, place = x.exponent - LAST_PLACE, first = place / 32, shift = place % 32;
    uint64_t low = x.significand << shift, high = shift ? x.significand >> (64 - shift) : 0;
    int64_t carry = 0;
    for (i = first; i < WORDS && (i < first + 3 || carry); ++i) {
        int64_t part = i == first       ? (int64_t)(low & 0xFFFFFFFF)
                       : i == first + 1 ? (int64_t)(low >> 32)
                       : i == first + 2 ? (int64_t)high
                                        : 0;
        carry += (int64_t)sum[i] + (x.sign ? -part : part);
        sum[i] = (uint32_t)((uint64_t)carry & 0xFFFFFFFF);
        carry = (carry - (int64_t)sum[i]) / 4294967296; /* exact: -1, 0 or 1 */
    }
}

/* Returns a sum as a number of 31 to 62 bits, whose last bit is the OR of all bits below: FP32's rounding needs 26.
 */
static Number read_sum(uint32_t sum[WORDS])
{
    Number x = {FINITE, 0, LAST_PLACE, 0};
    int i, top = WORDS - 1, sticky = 0;
    x.sign = (int)(sum[top] >> 31);
    if (x.sign) {
        uint32_t carry = 1;
        for (i = 0; i < WORDS; ++i) {
            sum[i] = ~sum[i] + carry;
            carry = carry && !sum[i];
        }
    }
    while (top > 1 && !sum[top])
        --top;
    x.significand = (uint64_t)sum[top] << 32 | sum[top - 1];
    for (i = 0; i < top - 1; ++i)
        sticky |= sum[i] != 0;
    sticky |= (x.significand & 3) != 0;
    x.significand = x.significand >> 2 | (uint64_t)sticky;
    x.exponent += 32 * (top - 1) + 2;
    return x;
}

/* Adds terms exactly, or on the grid 2**(E - fraction_bits) with E the largest place, and rounds once. Returns the
   code in FP32's fields. fraction_bits < 0 keeps the sum exact. */
static uint32_t add_terms(const Term *terms, int count, int fraction_bits, int align_rounding,
                          const Format *accumulator, int rounding, int saturate)
{
    uint32_t sum[WORDS] = {0}, code;
    int i, unit = LAST_PLACE, all_negative = 1;
    Number total;
    if (special_sum(terms, count, &code))
        return code;
    for (i = 0; fraction_bits >= 0 && i < count; ++i)
        if (terms[i].aligns && terms[i].place - fraction_bits > unit)
            unit = terms[i].place - fraction_bits;
    for (i = 0; i < count; ++i) {
        Number x = terms[i].value;
        all_negative &= x.sign;
        if (x.exponent < unit) {
            x.significand = round_shift(x.significand, unit - x.exponent, x.sign, align_rounding);
            x.exponent = unit;
        }
        add(sum, x);
    }
    total = read_sum(sum);
    if (!total.significand)
        total.sign = all_negative;
    code = encode(accumulator, total.sign, total.significand, total.exponent, rounding, saturate);
    return code << (FP32.fraction_bits - accumulator->fraction_bits);
}

static Term term(Number x, int fraction_bits)
{
    Term t;
    t.value = x;
    t.place = x.exponent + fraction_bits;
    t.aligns = x.kind == FINITE && x.significand;
    return t;
}

static const Format *format_of(int number)
{
    return number >= 0 && number < FORMATS ? TABLE[number] : TABLE[0];
}

static Number read_scale(uint8_t code)
{
    Number x;
    x.kind = code != E8M0_NAN ? FINITE : SCALE_NAN == SCALE_NAN_NAN ? NOT_A_NUMBER : INFINITE;
    x.sign = 0;
    x.exponent = code - E8M0_BIAS;
    x.significand = 1;
    return x;
}

static uint32_t convert(const Format *from, uint32_t code, const Format *to, int saturate)
{
    Number x = decode(from, code);
    uint32_t sign = x.sign ? to->sign_mask : 0;
    if (x.kind == NOT_A_NUMBER)
        return to->nan_code ? to->nan_code : to->max_code;
    if (x.kind == FINITE)
        return encode(to, x.sign, x.significand, x.exponent, RNE, saturate);
    if (saturate)
        return to->max_code | sign;
    return to->infinity_code ? to->infinity_code | sign : to->nan_code;
}

/* The format in which an element enters the array: FP4 is mapped to E4M3FN, which holds all its numbers. */
static const Format *at_array(const Format *format)
{
    return format == &E2M1 ? &E4M3FN : format;
}

/* Subnormals become zeros of their sign where they do not count. */
static Number read_float(const Format *format, uint32_t code, int subnormals)
{
    Number x = decode(format, code);
    if (!subnormals && !(x.significand >> format->fraction_bits))
        x.significand = 0;
    return x;
}

static Number read_element(const Format *format, uint32_t code)
{
    code = format == at_array(format) ? code : convert(format, code, at_array(format), 0);
    return read_float(at_array(format), code, ELEMENT_SUBNORMALS);
}

uint32_t bitpath_trainium3_dot_step(const uint8_t stationary[4], int stationary_format, const uint8_t moving[4],
                                    int moving_format, uint8_t stationary_scale, uint8_t moving_scale,
                                    uint32_t partial)
{
    const Format *x_format = format_of(stationary_format), *y_format = format_of(moving_format);
    Number scale = product(read_scale(stationary_scale), read_scale(moving_scale));
    Term terms[5];
    uint32_t code;
    int i;
    for (i = 0; i < 4; ++i) {
        Number exact = product(read_element(x_format, stationary[i]), read_element(y_format, moving[i]));
        terms[i] = term(product(exact, scale), at_array(x_format)->fraction_bits + at_array(y_format)->fraction_bits);
    }
    terms[4] = term(read_float(&FP32, partial, ACCUMULATOR_SUBNORMALS), FP32.fraction_bits);
    code = add_terms(terms, 5, ALIGN_FRACTION_BITS, ALIGN_ROUNDING, &ACCUMULATOR, ACCUMULATOR_ROUNDING,
                     !OVERFLOW_TO_INFINITY);
    return ACCUMULATOR_SUBNORMALS || code & FP32.infinity_code ? code : code & FP32.sign_mask;
}

uint32_t bitpath_trainium3_column(int rows, const uint8_t *stationary, int stationary_format, const uint8_t *moving,
                                  int moving_format, const uint8_t *stationary_scales, const uint8_t *moving_scales,
                                  uint32_t partial)
{
    int row;
    for (row = 0; row < rows; ++row)
        partial = bitpath_trainium3_dot_step(stationary + 4 * row, stationary_format, moving + 4 * row, moving_format,
                                             stationary_scales[row], moving_scales[row], partial);
    return partial;
}

uint32_t bitpath_trainium3_multiply_add(uint32_t x, int x_format, uint32_t y, int y_format, uint32_t partial)
{
    Term terms[2];
    terms[0] = term(product(decode(format_of(x_format), x), decode(format_of(y_format), y)), 0);
#ifdef MATMUL_PRODUCT_ROUNDING_FORMAT
    if (terms[0].value.kind == FINITE) {
        const Format *to = &MATMUL_PRODUCT_ROUNDING_FORMAT;
        Number exact = terms[0].value;
        int rounding = MATMUL_PRODUCT_ROUNDING_ROUNDING;
        terms[0] = term(decode(to, encode(to, exact.sign, exact.significand, exact.exponent, rounding, 0)), 0);
    }
#endif
    terms[1] = term(decode(&FP32, partial), 0);
    return add_terms(terms, 2, -1, RTZ, &MATMUL_ACCUMULATOR, MATMUL_ACCUMULATOR_ROUNDING, 0);
}

/* ---- Trainium3: conversions, PSUM, XORWOW, quantize_mx. ---- */

uint32_t bitpath_trainium3_convert(uint32_t code, int source_format, int destination_format, int saturate)
{
    return convert(format_of(source_format), code, format_of(destination_format), saturate);
}

uint32_t bitpath_trainium3_psum_write(uint32_t incoming, uint32_t present, int accumulate, int bf16, int stochastic,
                                      uint16_t random_bits)
{
    uint32_t total = convert(&FP32, incoming, &FP32, 0);
    if (accumulate) {
        Term terms[2];
        terms[0] = term(decode(&FP32, total), 0);
        terms[1] = term(decode(bf16 ? &BF16 : &FP32, present), 0);
        total = add_terms(terms, 2, -1, RTZ, &FP32, RNE, 0);
    }
    if (!bf16)
        return total;
    /* Infinity and NaN have zeros where the random bits are added. */
    return stochastic ? (total + random_bits) >> 16 : convert(&FP32, total, &BF16, 0);
}

uint32_t bitpath_trainium3_xorwow(uint32_t state[6])
{
    uint32_t t = state[0] ^ state[0] >> 2, v = state[4];
    int i;
    for (i = 0; i < 4; ++i)
        state[i] = state[i + 1];
    state[4] = v ^ v << 4 ^ t ^ t << 1;
    state[5] += XORWOW_INCREMENT;
    return state[4] + state[5];
}

uint16_t bitpath_trainium3_column_bits(const uint32_t words[4], int column)
{
    return (uint16_t)(words[(column & 7) / 2] >> 16 * (column & 1) & 0xFFFF);
}

uint8_t bitpath_trainium3_quantize_block(const uint32_t source[32], int source_format, int element_format,
                                         int scale_rule, uint8_t elements[32])
{
    const Format *from = format_of(source_format), *to = format_of(element_format);
    int i, largest = 0, emax = (int)(to->max_code >> to->fraction_bits) - to->bias;
    int offset = emax - (scale_rule == BITPATH_TRAINIUM3_NKI05 && to != &E2M1), scale;
    for (i = 0; i < 32; ++i) {
        Number x = decode(from, source[i]);
        /* The exponent field that the number has in FP32; 0 for zeros and FP32's subnormals. */
        int biased = x.kind == FINITE ? x.exponent + bit_length(x.significand) - 1 + FP32.bias : 255;
        if (x.kind == FINITE && !x.significand)
            biased = 0;
        largest = biased > largest ? biased : largest;
    }
    scale = largest > offset ? largest - offset : 0;
    for (i = 0; i < 32; ++i) {
        Number x = decode(from, source[i]);
        if (x.kind == FINITE)
            elements[i] = (uint8_t)encode(to, x.sign, x.significand, x.exponent - scale + E8M0_BIAS, RNE, 1);
        else
            elements[i] = (uint8_t)convert(from, source[i], to, 1);
    }
    return (uint8_t)scale;
}

/* ---- Trainium3: matmul. ---- */

enum { K_TILE = 512, K_STEP = 128, COLUMNS = 16 };

/* One row or column of an operand in one tile of K, as it enters the array. */
typedef struct {
    uint8_t elements[K_TILE], scales[K_TILE / 4];
} Side;

/* Rounds to BF16 and quantises depth places of K, source[i * stride]; those from `used` on are zeros. */
static void quantize_side(Side *side, const uint32_t *source, ptrdiff_t stride, int used, int depth, int format,
                          int scale_rule, int adjacent)
{
    int block, i;
    for (block = 0; block < depth / 32; ++block) {
        uint32_t codes[32];
        uint8_t scale;
        /* Partitions 8 * block to 8 * block + 7, four elements each. */
        for (i = 0; i < 32; ++i) {
            int k = adjacent ? 32 * block + i : i % 4 * (depth / 4) + 8 * block + i / 4;
            codes[i] = k < used ? convert(&FP32, source[k * stride], &BF16, 0) : 0;
        }
        scale = bitpath_trainium3_quantize_block(codes, BITPATH_TRAINIUM3_BF16, format, scale_rule,
                                                 side->elements + 32 * block);
        for (i = 0; i < 8; ++i)
            side->scales[8 * block + i] = scale;
    }
}

void bitpath_trainium3_matmul(int m, int k, int n, const uint32_t *a, int a_format, const uint32_t *b, int b_format,
                              int scale_rule, int adjacent, uint32_t *result)
{
    Side row, columns[COLUMNS];
    int start, first, i, j;
    for (start = 0; start < k; start += K_TILE) {
        int used = k - start < K_TILE ? k - start : K_TILE, depth = (used + K_STEP - 1) / K_STEP * K_STEP;
        for (first = 0; first < n; first += COLUMNS) {
            int count = n - first < COLUMNS ? n - first : COLUMNS;
            for (j = 0; j < count; ++j)
                quantize_side(&columns[j], b + (ptrdiff_t)start * n + first + j, n, used, depth, b_format, scale_rule,
                              adjacent);
            for (i = 0; i < m; ++i) {
                quantize_side(&row, a + (ptrdiff_t)i * k + start, 1, used, depth, a_format, scale_rule, adjacent);
                for (j = 0; j < count; ++j) {
                    uint32_t *psum = result + (ptrdiff_t)i * n + first + j;
                    uint32_t sum = bitpath_trainium3_column(depth / 4, row.elements, a_format, columns[j].elements,
                                                            b_format, row.scales, columns[j].scales, 0);
                    *psum = bitpath_trainium3_psum_write(sum, start ? *psum : 0, start > 0, 0, 0, 0);
                }
            }
        }
    }
}
