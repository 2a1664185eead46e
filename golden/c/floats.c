/* ---- Floats: codes to numbers, and numbers to codes with one rounding, in integers. ---- */

/* Roundings of x to an integer. RN: to nearest, a tie goes to even, odd, away from zero, zero, up, down. RT: toward.
 */
enum { RNE, RNO, RNA, RNZ, RNU, RND, RTA, RTZ, RTU, RTD };

/* A format of at most 32 bits: sign, biased exponent, fraction. Magnitudes above max_code are infinity or NaN. */
typedef struct {
    int fraction_bits, bias;
    uint32_t sign_mask, max_code;
    uint32_t infinity_code; /* 0 where the format has no infinity */
    uint32_t nan_code;      /* 0 where the format has no NaN */
    int unsigned_zero;      /* the code that would be -0 is the only NaN */
} Format;

enum { FINITE, INFINITE, NOT_A_NUMBER };

/* (-1)**sign * significand * 2**exponent where finite; a subnormal has the exponent of the smallest normal number. */
typedef struct {
    int kind, sign, exponent;
    uint64_t significand;
} Number;

static Number decode(const Format *format, uint32_t code)
{
    Number x;
    uint32_t magnitude = code & (format->sign_mask - 1), hidden = 1u << format->fraction_bits;
    int biased = (int)(magnitude >> format->fraction_bits);
    x.kind = FINITE;
    if (magnitude > format->max_code)
        x.kind = magnitude == format->infinity_code ? INFINITE : NOT_A_NUMBER;
    else if (format->unsigned_zero && code == format->nan_code)
        x.kind = NOT_A_NUMBER;
    x.sign = (code & format->sign_mask) != 0;
    x.significand = biased ? (magnitude & (hidden - 1)) | hidden : magnitude;
    x.exponent = (biased ? biased : 1) - format->bias - format->fraction_bits;
    return x;
}

/* Returns n with 2**(n - 1) <= x < 2**n; 0 for 0. */
static int bit_length(uint64_t x)
{
    int length = 0, step;
    for (step = 32; step; step /= 2)
        if (x >> step) {
            x >>= step;
            length += step;
        }
    return length + (x != 0);
}

/* Rounds (-1)**negative * magnitude / 2**shift to an integer and returns its magnitude. A negative shift multiplies.
   Magnitudes are below 2**62 where the shift may exceed 63: then less than half a unit is left. */
static uint64_t round_shift(uint64_t magnitude, int shift, int negative, int rounding)
{
    uint64_t kept, rest, half;
    int up;
    if (shift <= 0)
        return magnitude ? magnitude << -shift : 0;
    if (shift > 63)
        shift = 63;
    kept = magnitude >> shift;
    rest = magnitude - (kept << shift);
    half = (uint64_t)1 << (shift - 1);
    switch (rounding) {
    case RTZ: up = 0; break;
    case RTA: up = rest > 0; break;
    case RTU: up = rest > 0 && !negative; break;
    case RTD: up = rest > 0 && negative; break;
    case RNE: up = rest > half || (rest == half && (kept & 1)); break;
    case RNO: up = rest > half || (rest == half && !(kept & 1)); break;
    case RNA: up = rest >= half; break;
    case RNZ: up = rest > half; break;
    case RNU: up = rest > half || (rest == half && !negative); break;
    default: up = rest > half || (rest == half && negative); break; /* RND */
    }
    return kept + (uint64_t)up;
}

/* Rounds (-1)**negative * magnitude * 2**exponent once. Beyond the largest number: that number if `saturate`, else
   infinity, or NaN in a format without infinity. */
static uint32_t encode(const Format *format, int negative, uint64_t magnitude, int exponent, int rounding,
                       int saturate)
{
    uint32_t sign = negative ? format->sign_mask : 0;
    int emin = 1 - format->bias, leading = exponent + bit_length(magnitude) - 1;
    uint64_t code;
    if (leading < emin || !magnitude) /* subnormals and zeros */
        leading = emin;
    code = round_shift(magnitude, leading - format->fraction_bits - exponent, negative, rounding);
    /* The hidden bit adds the 1 that the exponent field lacks here; a rounding carry adds one more. */
    code += (uint64_t)(leading - emin) << format->fraction_bits;
    if (code > format->max_code) {
        if (!saturate && !format->infinity_code)
            return format->nan_code;
        code = saturate ? format->max_code : format->infinity_code;
    }
    return (uint32_t)code | (code || !format->unsigned_zero ? sign : 0);
}
