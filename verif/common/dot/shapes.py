"""Shapes and rules of dot products, each field of the numerics with another value somewhere."""

from dataclasses import replace

from bitpath.golden.formats.catalogue import BF16, E2M1, E2M3, E3M2, E4M3FN, E5M2, FP16, FP32, INT8, Rounding
from bitpath.golden.formats.dot import (
    MULTIPLY_ADD_FP32,
    MX_DOT_PRODUCT,
    InvalidProduct,
    ProductRounding,
    ScaleNan,
    ZeroSign,
)

MX, FMA = MX_DOT_PRODUCT.numerics, MULTIPLY_ADD_FP32.numerics
RNE_TO_FP32, RTZ_TO_FP16 = (
    ProductRounding(format=fmt, rounding=mode) for fmt, mode in ((FP32, Rounding.RNE), (FP16, Rounding.RTZ))
)
DOT_PRODUCTS = (
    *(replace(MX, terms=terms) for terms in (1, 3, 16)),
    replace(MX, terms=32, element_formats=(E2M1,)),
    replace(MX, terms=4, element_formats=(E3M2, E2M3), scales=1),
    replace(MX, terms=4, element_formats=(INT8,)),
    replace(MX, terms=2, element_formats=(INT8, E5M2), align_fraction_bits=20),
    replace(MX, terms=4, scales=0, accumulator=FP16, result=FP16),
    replace(
        MX, terms=4, result=BF16, zero_sign=ZeroSign.PLUS, accumulator_rounding=Rounding.RTZ, overflow_to_infinity=False
    ),
    replace(
        MX,
        terms=5,
        element_formats=(FP16,),
        scales=0,
        accumulator=FP16,
        result=FP32,
        align_fraction_bits=12,
        align_rounding=Rounding.RNE,
    ),
    replace(MX, terms=4, result=E5M2, nan_code=0x7D, zero_sign=ZeroSign.PARTIAL, invalid_product=InvalidProduct.ZERO),
    replace(
        MX,
        terms=6,
        element_subnormals=False,
        accumulator_subnormals=False,
        result_subnormals=False,
        nan_code=0xFFC00000,
    ),
    replace(MX, terms=2, result_subnormals=False, scale_nan=ScaleNan.INFINITY, invalid_product=InvalidProduct.ZERO),
    replace(MX, terms=3, scale_nan=ScaleNan.INFINITY, product_rounding=RNE_TO_FP32),
    replace(MX, terms=4, scales=1, product_rounding=RTZ_TO_FP16, align_fraction_bits=8),
)
MULTIPLY_ADDS = (
    replace(FMA, element_formats=(BF16, FP16)),
    replace(FMA, element_formats=(FP16,), accumulator=FP16),
    replace(FMA, product_rounding=RNE_TO_FP32),
    replace(FMA, element_formats=(FP16,), accumulator=FP16, product_rounding=RTZ_TO_FP16),
)
BF16_SUMS = replace(
    MX, terms=1, element_formats=(E4M3FN,), scales=0, accumulator=BF16, accumulator_rounding=Rounding.RTZ
)
FP16_SUMS = replace(MX, terms=4, element_formats=(FP16,), scales=0, accumulator=FP16)
