"""The packers' exponent threshold: after ReLU, small numbers become +0.

Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding. Its undefined case, an intermediate format BFP2A, is none
that `pack` takes.
"""

import numpy as np

from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format


def check_exponent_threshold(threshold: int, mid_format: Format) -> None:
    """Raise where a threshold is no exponent of 8 bits, or is given for integers."""
    if not 0 <= threshold < 1 << 8:
        raise ValueError(f"exponent_threshold is {threshold}; 0 to 255 are allowed")
    if threshold and mid_format in INTEGERS:
        raise ValueError(f"exponent_threshold is {threshold}; with mid_format {mid_format.name}, 0 is allowed")


def apply_exponent_threshold(values: np.ndarray, mid_format: Format, threshold: int) -> np.ndarray:
    """Turn int64 intermediate floats whose biased exponent is below the threshold into +0; 0 turns none.

    Exponents of 5 bits are compared as they are.
    """
    if threshold == 0:
        return values
    exponent = values >> 10 & 0x1F if mid_format in EXPONENT5_FORMATS else values >> 23 & 0xFF
    return np.where(exponent < threshold, 0, values)
