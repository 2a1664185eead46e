"""Random words of SrcA, SrcB and Dst for the Matrix unit, by style."""

from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix.declarations.formats import COLUMNS, SRC_ROWS, Style
from bitpath.verif.tensix.dot.words import float_code, fraction, integer

FRACTION_BITS = 10
EXPONENT5_MASK = 0x1F
INTEGER_EXPONENT = 16
"""Exponent field of a nonzero integer."""
NOT_FP16 = (0xFF & ~EXPONENT5_MASK) << FRACTION_BITS
"""Exponent bits that style FP16 ignores."""


def source_word(rng: Random, style: Style) -> int:
    """Return a logical 19-bit word: often near 1, often zero, else random, with random fraction bits."""
    match style:
        case Style.INT8:
            exponent = rng.choice((0, rng.getrandbits(8), *[INTEGER_EXPONENT] * 8))
        case Style.FP16:
            exponent = rng.choice((0, rng.getrandbits(5), rng.getrandbits(8), *[rng.randint(11, 18)] * 8))
        case _:
            edges = (0, 1, 2, 253, 254, 255)
            exponent = rng.choice((0, rng.choice(edges), rng.randint(100, 150), *[rng.randint(122, 131)] * 8))
    return rng.getrandbits(1) << 18 | exponent << FRACTION_BITS | fraction(rng, FRACTION_BITS)


def source_rows(rng: Random, style: Style, rows: int = SRC_ROWS) -> np.ndarray:
    """Return rows of a source bank, uint32 [rows, 16]."""
    return np.array([[source_word(rng, style) for _ in range(COLUMNS)] for _ in range(rows)], np.uint32)


def dst_row(rng: Random, style: Style, *, dst32: bool) -> np.ndarray:
    """Return a row of logical words as instructions of a style write them, uint32 [16]."""
    return np.array([dst_word(rng, style, dst32=dst32) for _ in range(COLUMNS)], np.uint32)


def dst_word(rng: Random, style: Style, *, dst32: bool) -> int:
    if style is Style.INT8:
        return integer(rng, 32 if dst32 else 16)
    if style is Style.FP16 and not dst32:
        return float_code(rng, FP16)
    return float_code(rng, FP32) >> (0 if dst32 else 16)
