"""Layouts of a PE's operands outside the MX modes."""

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.rtl.common.arithmetic.raw import raw_float

WIDE = raw_float(FP32.exponent_bits, FP32.precision)
"""Any element: ``(-1)**sign * significand * 2**(exponent - 150)``."""
NARROW = raw_float(FP32.exponent_bits, FP32.precision - LOW_BITS)
"""BF16, FP16, FP8, TF32, and a half of FP32: ``(-1)**sign * significand * 2**(exponent - 138)``. All zeros are +0."""
PASS_BITS = 16
"""Bits of an element that a transpose moves in a pass; 32-bit data takes two, the low half first."""
