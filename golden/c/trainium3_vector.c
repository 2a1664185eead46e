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
