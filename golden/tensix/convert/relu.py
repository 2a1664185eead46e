"""The packers' ReLU, on intermediate values.

Ref: tt-isa-documentation 3930471, Packers/ReLU; ttsim v1.10.0 for the comparison of FP32 in mode 3.
"""

import numpy as np

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format

MODES = range(4)
CLAMP_IGNORED_BITS = 13
"""Low bits of an FP32 word that mode 3 does not compare."""


def check_relu(mode: int, threshold: int, mid_format: Format) -> tuple[int, int]:
    """Return mode and threshold as Python's ints; raise where either does not exist."""
    mode = integer("relu", mode, MODES)
    if mode > 1 and mid_format in INTEGERS:
        raise ValueError(f"relu must be 0 or 1 with mid_format {mid_format.name}, not {mode}")
    return mode, integer("relu_threshold", threshold, range(1 << 15), ", a pattern without sign")


def apply_relu(values: np.ndarray, mid_format: Format, mode: int, threshold: int, *, unsigned: bool) -> np.ndarray:
    """Apply a mode of 0 to 3 to int64 intermediate values; every negative value, -0 too, becomes +0."""
    if mode == 0 or unsigned:
        return values
    if mid_format in INTEGERS:
        top = {Format.INT32: 31, Format.INT16: 15, Format.INT8: 7}[mid_format]
    else:
        top = 15 if mid_format in EXPONENT5_FORMATS else 31
    limit = threshold << top - 15 if mode > 1 else 0
    match mode:
        case 1 | 2:
            kept = values > limit
            passed = values
        case _:
            ignored = CLAMP_IGNORED_BITS if top == 31 else 0
            kept = values > 0
            passed = np.where(values >> ignored > limit >> ignored, limit, values)
    return np.where(kept & (values >> top == 0), passed, 0)
