"""Stochastic rounding of the packer's early conversion, in both comparisons, against the scalar tier."""

from dataclasses import replace
from random import Random

import pytest

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, StochasticCompare
from bitpath.golden.tensix.exact.conversions import early_float
from bitpath.rtl.tensix.pack.early_conversion import EarlyConversion
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.sfpu.stochastic_round import RANDOM_BITS

WIDE = (Format.FP32, Format.TF32, Format.BF16, Format.BFP8)
NARROW = (Format.TF32, Format.BF16, Format.BFP8, Format.FP16, Format.BFP8A)
KINDS = [(fmt, True) for fmt in WIDE] + [(fmt, False) for fmt in NARROW]
WORDS = 250
TO_TOP = (6, 7, 10, 19, 22)
"""Shifts that bring a word's discarded bits to the top of 23."""


def operands(rng, dst32):
    """Return a word, often infinity, NaN, a denormal or without discarded bits, and random bits, often next to its discarded ones."""
    word = rng.getrandbits(32)
    match rng.randrange(6):
        case 0:
            word |= FP32.exponent_mask << FP32.fraction_bits
        case 1:
            word &= ~(FP32.exponent_mask << FP32.fraction_bits)
        case 2:
            word &= ~0x1FFFE
    word = word if dst32 else word >> 16
    near = (word << rng.choice(TO_TOP)) + rng.randint(-1, 1) & (1 << RANDOM_BITS) - 1
    return word, rng.choice((rng.getrandbits(RANDOM_BITS), near, rng.randrange(3)))


@pytest.mark.parametrize("compare", StochasticCompare)
def test_early_conversion_rounds_stochastically(compare, evaluate):
    rng, numerics = Random(17), replace(WORMHOLE.numerics, stochastic_compare=compare)
    inputs, expected = [], []
    for fmt, dst32 in KINDS:
        control = PackControl.const({"mid_format": int(fmt), "dst32": int(dst32)})
        for number in range(WORDS):
            stochastic = number % 5 > 0
            word, bits = operands(rng, dst32)
            inputs.append({"word": word, "control": control, "stochastic": int(stochastic), "random": bits})
            code = early_float(numerics, word, fmt, dst32=dst32, bits=bits if stochastic else None)
            if fmt in EXPONENT5_FORMATS:
                sign, magnitude = divmod(code, FP16.sign_mask)
                code = sign << 31 | magnitude << FP32.fraction_bits - FP16.fraction_bits
            expected.append(code)
    results = evaluate(EarlyConversion(numerics.final_tie, compare, narrows=False), inputs)
    assert [each.as_bits() for each in results] == expected
