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
