"""Codes of the 13 dtypes as arrays, for tests of the engines' instructions."""

import numpy as np

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar import fp32
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, FLOAT32

SPECIALS = (0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001)
"""FP32 codes at the ends of its ranges."""


def draw(rng, name, shape):
    """Codes of a dtype: a third near 1 or small integers, a third anywhere, a third special."""
    fmt, bits = FORMATS[name], container_bits(name)
    anywhere = rng.integers(0, 1 << bits, shape)
    if isinstance(fmt, FloatFormat):
        spare = bits - fmt.width
        usual = (rng.integers(-3, 4, shape) + fmt.bias << fmt.fraction_bits) | rng.integers(
            0, fmt.fraction_mask + 1, shape
        )
        usual = (usual | np.where(rng.random(shape) < 0.5, fmt.sign_mask, 0)) << spare
        special = [fp32.convert(code, fp32.FP32, fmt) << spare for code in SPECIALS]
    else:
        usual = rng.integers(-9, 10, shape) % (1 << bits)
        half = 1 << bits - 1
        special = [0, 1, half - 1, half, half + 1, 2 * half - 1]
    special = np.array(special)[rng.integers(0, len(special), shape)]
    return np.choose(rng.integers(0, 3, shape), [usual, anywhere, special])


def tile(name, codes):
    """An array of a dtype's codes; float32 words for TF32."""
    dtype = FLOAT32 if name == "tf32" else CAST_DTYPES[name]
    return np.asarray(codes).astype(f"u{dtype.itemsize}").view(dtype)


def destination(name):
    """A dtype as instructions take it for their result."""
    return name if name == "tf32" else CAST_DTYPES[name]


def bits(array):
    return array.view(f"u{array.dtype.itemsize}").tolist()
