"""Words and codes of the 13 dtypes, for tests and benches."""

from collections.abc import Iterable
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.scalar import fp32
from bitpath.golden.trainium3 import cast
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, IntegerFormat, container_bits
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, FLOAT32
from bitpath.verif.common.boundary_codes import crossing, integer_crossing
from bitpath.verif.common.fp32.numbers import near_codes, near_integer_codes
from bitpath.verif.kit.values import Near

# Codes of the 13 dtypes as arrays, for tests of the engines' instructions.


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


# Codes of the 13 dtypes as arrays, casts of codes, and codes at the dtypes' limits.


DTYPE_NAMES = {dtype: name for name, dtype in CAST_DTYPES.items()}
"""Names of dtypes, integers among them; TF32 has no dtype."""


def array_of(codes: np.ndarray, name: str) -> np.ndarray:
    """Return codes as an array of the dtype of that name; TF32 as float32."""
    return codes.astype(f"u{container_bits(name) // 8}").view(CAST_DTYPES["fp32" if name == "tf32" else name])


def codes_of(values: np.ndarray) -> np.ndarray:
    """Return the elements' bits as int64."""
    return np.ascontiguousarray(values).view(f"u{values.itemsize}").astype(np.int64)


def cast_words(codes: np.ndarray, source: str, destination: str) -> np.ndarray:
    """Return codes of one dtype as codes of another, as golden casts them."""
    dtype = destination if destination == "tf32" else CAST_DTYPES[destination]
    return codes_of(cast(array_of(codes, source), dtype, source="tf32" if source == "tf32" else None))


def corners(name: str) -> list[int]:
    """Return codes of a dtype at its ends, around zero and at its specials; of FP32 and TF32 also numbers at other dtypes' limits."""
    bits = container_bits(name)
    around = [0, 1 << bits - 1, (1 << bits) - 1, 1 << bits - 2]
    fmt = FORMATS[name]
    if not isinstance(fmt, IntegerFormat):
        ends = (fmt.fraction_mask + 1, fmt.max_code, fmt.nan_code or 0)
        around += [each << bits - fmt.width | sign << bits - 1 for each in ends for sign in (0, 1)]
    if isinstance(fmt, IntegerFormat):
        around += [1 << 24, 3 << 24, (1 << 31) - 64, (1 << 31) - 65]
    elif bits == FP32.width:
        numbers = [0.5, 1.5, 2.5, 127.5, 128, 255.5, 32767.5, 65504, 65520, 65535.5, 2**31, 2**32, 240, 248, 448, 464]
        numbers += [61440, 2.0**-7, 2.0**-10, 2.0**-17, 2.0**-25, np.inf]
        around += [int(each) for each in np.array(numbers, np.float32).view(np.uint32)]
        around += [each | 1 << 31 for each in around]
    return sorted({(each + step) % (1 << bits) for each in around for step in (-1, 0, 1)})


def boundary_words(source: str, destination: str) -> list[int]:
    """Return `corners` of a dtype; of a float also its boundary codes and those next to the boundaries of the destination."""
    own, target = FORMATS[source], FORMATS[destination]
    if isinstance(own, IntegerFormat):
        return corners(source)
    if isinstance(target, IntegerFormat):
        found = integer_crossing(own, target.lowest, target.highest)
    else:
        found = crossing(own, target)
    return sorted({*corners(source), *(code << container_bits(source) - own.width for code in found)})


def near_boundaries(name: str, rng: Random) -> Iterable[tuple[Near, int]]:
    """Return the FP32 numbers at the boundaries of a dtype's range and one bit beside them, with their codes."""
    fmt = FORMATS[name]
    return near_integer_codes(fmt.lowest, fmt.highest, rng) if isinstance(fmt, IntegerFormat) else near_codes(fmt, rng)
