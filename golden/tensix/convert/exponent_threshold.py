"""The packers' exponent threshold: after ReLU, small numbers become +0.

Ref: tt-isa-documentation 3930471, Packers/ExponentThresholding. Its undefined case, the intermediate
format BFP2A, cannot occur: `pack` rejects it.
"""

from bitpath.golden.arrays.arguments import integer
from bitpath.golden.tensix.convert.early_conversion import INTEGERS
from bitpath.golden.tensix.declarations.formats import Format


def check_exponent_threshold(threshold: int, mid_format: Format) -> int:
    """Return a threshold as Python's int; raise unless it is an exponent of 8 bits, 0 for integers."""
    threshold = integer("exponent_threshold", threshold, range(1 << 8))
    if threshold and mid_format in INTEGERS:
        raise ValueError(f"exponent_threshold must be 0 with mid_format {mid_format.name}, not {threshold}")
    return threshold
