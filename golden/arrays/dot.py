"""One step of many dot products at once, with the bits of `bitpath.golden.scalar.dot.dot_step`."""

import numpy as np

from bitpath.golden.arrays.codec import Overflow, decode_array, encode_array, flushed
from bitpath.golden.formats.catalogue import FixedFormat, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics, DotProductNumerics, InvalidProduct, ScaleNan, ZeroSign
from bitpath.golden.scalar.dot import general

_NO_EXPONENT = -(1 << 20)
"""Exponent of a zero, below every other."""


def dot_steps(
    numerics: DotNumerics,
    stationary: np.ndarray,
    stationary_format: FloatFormat | FixedFormat,
    moving: np.ndarray,
    moving_format: FloatFormat | FixedFormat,
    stationary_scale: np.ndarray,
    moving_scale: np.ndarray,
    partial: np.ndarray,
) -> np.ndarray:
    """Return the results of N steps, codes uint32 [N].

    A product of two elements and both scales is exact in float64, whose exponents reach further than theirs. The sum is a
    float64 expansion, rounded to odd at 53 bits and then once to the result's format.

    Parameters
    ----------
    stationary, moving : element codes [N, terms] of the formats named.
    stationary_scale, moving_scale : scale codes [N]; one that the numerics do not have is not read.
    partial : codes of the partial sums [N], on the accumulator's grid.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.arrays.dot_loop import rounded_sums

    whole = general(numerics)
    terms, exponents = _products(
        whole,
        _elements(whole, stationary_format, stationary),
        _elements(whole, moving_format, moving),
        [stationary_scale, moving_scale][: whole.scales],
    )
    fmt = whole.partial_format
    own = decode_array(fmt, partial.astype(np.uint32))
    own = own if whole.accumulator_subnormals else flushed(fmt, own)
    terms = np.concatenate([terms, own[:, np.newaxis]], axis=1)
    exponents = np.concatenate([exponents, _exponents(own, fmt.emin)[:, np.newaxis]], axis=1)
    with np.errstate(invalid="ignore"):
        plain = terms.sum(axis=1)
    finite = np.isfinite(plain)
    if whole.align_fraction_bits is not None:
        largest = np.where(terms == 0, _NO_EXPONENT, exponents).max(axis=1, keepdims=True)
        shift = np.where(largest == _NO_EXPONENT, 0, whole.align_fraction_bits - largest)
        on_grid = np.rint if whole.align_rounding is Rounding.RNE else np.trunc
        terms = np.ldexp(on_grid(np.ldexp(np.where(finite[:, np.newaxis], terms, 0.0), shift)), -shift)
    negative = {
        ZeroSign.ALL_NEGATIVE: np.signbit(terms).all(axis=1),
        ZeroSign.PARTIAL: np.signbit(own),
        ZeroSign.PLUS: np.zeros(len(own), bool),
    }[whole.zero_sign]
    rounded, container = whole.rounded_format, whole.result_format
    infinity = rounded.infinity_code
    codes = np.zeros(len(own), np.uint32)
    rounded_sums(
        np.where(finite[:, np.newaxis], terms, 0.0),
        negative,
        (rounded.fraction_bits, rounded.emin, rounded.bias, int(whole.accumulator_rounding is Rounding.RNE)),
        (infinity, infinity if whole.overflow_to_infinity else rounded.max_code, int(whole.result_subnormals)),
        rounded.sign_mask,
        codes,
    )
    codes <<= np.uint32(container.fraction_bits - rounded.fraction_bits)
    infinite = container.infinity_code | np.where(plain < 0, container.sign_mask, 0)
    special = np.where(np.isnan(plain), whole.result_nan, infinite)
    return np.where(finite, codes, special).astype(np.uint32)


def _elements(
    whole: DotProductNumerics, fmt: FloatFormat | FixedFormat, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of codes and the exponents that alignment goes by."""
    if isinstance(fmt, FixedFormat):
        signed = codes.astype(np.int64) - ((codes.astype(np.int64) >> fmt.width - 1) << fmt.width)
        return np.ldexp(signed.astype(np.float64), -fmt.fraction_bits), np.full(
            codes.shape, fmt.width - 1 - fmt.fraction_bits
        )
    values = decode_array(fmt, codes)
    values = values if whole.element_subnormals else flushed(fmt, values)
    return values, _exponents(values, fmt.emin)


def _exponents(values: np.ndarray, emin: int) -> np.ndarray:
    """Return the exponents of numbers; a subnormal has that of the smallest normal one."""
    return np.maximum(
        np.frexp(np.where(np.isfinite(values) & (values != 0), values, 1.0))[1].astype(np.int64) - 1, emin
    )


def _products(
    whole: DotProductNumerics,
    left: tuple[np.ndarray, np.ndarray],
    right: tuple[np.ndarray, np.ndarray],
    scale_codes: list[np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scaled products [N, terms], exact or rounded, and their exponents."""
    (x, x_exponents), (y, y_exponents) = left, right
    scale, exponent = np.ones(len(x)), np.zeros(len(x), np.int64)
    for codes in scale_codes:
        own = decode_array(whole.scale_format, codes.astype(np.uint8))
        own = np.where(np.isnan(own), np.inf, own) if whole.scale_nan is ScaleNan.INFINITY else own
        scale, exponent = scale * own, exponent + _exponents(own, whole.scale_format.emin)
    with np.errstate(invalid="ignore", over="ignore"):
        products = x * y * scale[:, np.newaxis]
    if whole.invalid_product is InvalidProduct.ZERO:
        invalid = np.isnan(products) & ~np.isnan(x) & ~np.isnan(y) & ~np.isnan(scale)[:, np.newaxis]
        zero = np.where(np.signbit(x) ^ np.signbit(y), -0.0, 0.0)
        products = np.where(invalid, zero, products)
    if whole.product_rounding is None:
        return products, x_exponents + y_exponents + exponent[:, np.newaxis]
    fmt = whole.product_rounding.format
    codes = encode_array(fmt, products, rounding=whole.product_rounding.rounding, overflow=Overflow.SPECIAL)
    products = decode_array(fmt, codes)
    return products, _exponents(products, fmt.emin)
