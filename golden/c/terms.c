/* ---- Terms of an exact sum: IEEE 754's rules for NaN, infinity and zero in products and sums. ---- */

/* A summand. `place` is the exponent that alignment goes by, before normalisation; it counts where `aligns`. */
typedef struct {
    Number value;
    int place, aligns;
} Term;

/* A product with a NaN factor, or of zero and infinity, is NaN. */
static Number product(Number x, Number y)
{
    Number z;
    int zero = (x.kind == FINITE && !x.significand) || (y.kind == FINITE && !y.significand);
    z.sign = x.sign ^ y.sign;
    z.exponent = x.exponent + y.exponent;
    z.significand = x.significand * y.significand;
    z.kind = FINITE;
    if (x.kind == NOT_A_NUMBER || y.kind == NOT_A_NUMBER)
        z.kind = NOT_A_NUMBER;
    else if (x.kind == INFINITE || y.kind == INFINITE)
        z.kind = zero ? NOT_A_NUMBER : INFINITE;
    return z;
}

/* Returns whether a term is not finite; then *code is the FP32 code of the sum. */
static int special_sum(const Term *terms, int count, uint32_t *code)
{
    int i, nan = 0, plus = 0, minus = 0;
    for (i = 0; i < count; ++i) {
        nan |= terms[i].value.kind == NOT_A_NUMBER;
        plus |= terms[i].value.kind == INFINITE && !terms[i].value.sign;
        minus |= terms[i].value.kind == INFINITE && terms[i].value.sign;
    }
    *code = nan || (plus && minus) ? FP32.nan_code : FP32.infinity_code | (minus ? FP32.sign_mask : 0);
    return nan || plus || minus;
}
