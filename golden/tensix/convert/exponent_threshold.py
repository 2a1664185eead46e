"""The packers' exponent threshold: after ReLU, small numbers become +0.

Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding. Its undefined case, the intermediate
format BFP2A, cannot occur: `pack` rejects it.
"""

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format


def check_exponent_threshold(threshold: int, mid_format: Format) -> int:
    """Return a threshold as Python's int; raise unless it is an exponent of 8 bits, 0 for integers."""
    threshold = integer("exponent_threshold", threshold, range(1 << 8))
    if threshold and mid_format in INTEGERS:
        raise ValueError(f"exponent_threshold must be 0 with mid_format {mid_format.name}, not {threshold}")
    return threshold


def apply_exponent_threshold(values: np.ndarray, mid_format: Format, threshold: int) -> np.ndarray:
    """Turn int64 intermediate floats whose biased exponent is below the threshold into +0; 0 turns none.

    Exponents of 5 bits are compared as they are.
    """
    exponent = values >> 10 & 0x1F if mid_format in EXPONENT5_FORMATS else values >> 23 & 0xFF
    return np.where(exponent < threshold, 0, values)
