"""The packers' ReLU, on intermediate values.

Ref: tt-isa-documentation 3930471, Packers/ReLU; ttsim v1.10.0 for the comparison of FP32 in mode 3.
"""

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import Format

MODES = range(4)


def check_relu(mode: int, threshold: int, mid_format: Format) -> tuple[int, int]:
    """Return mode and threshold as Python's ints; raise where either does not exist."""
    mode = integer("relu", mode, MODES)
    if mode > 1 and mid_format in INTEGERS:
        raise ValueError(f"relu must be 0 or 1 with mid_format {mid_format.name}, not {mode}")
    return mode, integer("relu_threshold", threshold, range(1 << 15), ", a pattern without sign")
