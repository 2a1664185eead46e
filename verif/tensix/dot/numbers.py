"""Words of Dst, SrcA, SrcB and L1: their number formats, random ones, and the report of one datum of a dot product."""

from collections.abc import Sequence
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import BF16, E5M2, FP16, FP32, FloatFormat, Specials
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, EXPONENT5_FORMATS, SRC_ROWS, Format, Style
from bitpath.golden.tensix.declarations.numerics import PRESETS, TensixNumerics
from bitpath.verif.kit.mismatches import Shown, explain_line
from bitpath.verif.kit.values import Integer, Number, Word, code_text, codes_text

FLOATS = {Format.FP32: FP32, Format.TF32: FP32, Format.BF16: BF16, Format.FP16: FP16, Format.FP8: E5M2}
"""Float formats of datums in L1; TF32 takes 32 bits there."""
INT32 = Integer(32, sign_and_magnitude=True)


def _finite(exponent_bits: int, fraction_bits: int, bias: int) -> FloatFormat:
    """Return a format as the Matrix unit reads it: the largest exponent is an ordinary one."""
    return FloatFormat(
        name=f"e{exponent_bits}m{fraction_bits}",
        exponent_bits=exponent_bits,
        fraction_bits=fraction_bits,
        bias=bias,
        specials=Specials.FINITE,
        nan_code=None,
    )


SOURCE, SOURCE_FP16 = _finite(8, 10, FP32.bias), _finite(8, 10, FP16.bias)
"""Words of SrcA and SrcB: sign, 8 bits of exponent and 10 of fraction; style FP16 uses 5 of the 8."""


def source_number(fmt: Format) -> Number:
    """Return the number format of the logical words of a source; an INT8's magnitude is the fraction."""
    if fmt is Format.INT8:
        return Integer(19, sign_and_magnitude=True, magnitude_bits=10)
    if fmt is Format.INT16:
        return Word(19)
    return SOURCE_FP16 if fmt in EXPONENT5_FORMATS else SOURCE


def dst_number(style: Style, *, dst32: bool) -> Number:
    """Return the number format of the logical words of Dst."""
    if style is Style.INT8:
        return INT32
    fmt = FP32 if dst32 else FP16 if style is Style.FP16 else BF16
    return _finite(fmt.exponent_bits, fmt.fraction_bits, fmt.bias)


def l1_number(fmt: Format, *, unsigned: bool = False) -> Number:
    """Return the number format of the datums in L1; those of a block are integers, which its exponent scales."""
    if fmt in BLOCK_FLOATS:
        return Integer(BLOCK_FLOATS[fmt].datum_bits, sign_and_magnitude=True)
    return FLOATS.get(fmt) or Integer(8 * L1_BYTES[fmt], signed=not unsigned, sign_and_magnitude=True)


def datum_shown(
    numerics: TensixNumerics,
    style: Style,
    phase: int,
    dst: int,
    src_b: Sequence[int],
    src_a: Sequence[int],
    *,
    dst32: bool,
    formats: tuple[Format, Format],
) -> Shown:
    """Show the operands of one datum of an MVMUL; ``formats`` are those of SrcA and SrcB."""
    number = dst_number(style, dst32=dst32)
    texts = (
        f"{fmt.name} {codes_text(source_number(fmt), words)}"
        for fmt, words in zip(formats, (src_a, src_b), strict=True)
    )
    operands = dict(zip(("SrcA", "SrcB"), texts, strict=True))
    explain = explain_line(
        "tensix",
        PRESETS,
        numerics,
        src_a=",".join(f"{word:#x}" for word in src_a),
        src_b=",".join(f"{word:#x}" for word in src_b),
        dst=f"{dst:#x}",
        **{"dst32" if dst32 else "dst16": ""},
        style=style.value,
        srca_format=formats[0].name,
        srcb_format=formats[1].name,
        phase=str(phase),
    )
    width = 32 if dst32 else 16
    operands |= {f"Dst of {width}": code_text(number, dst), "phase": f"{phase}, style {style.value}"}
    return Shown(operands=operands, explain=explain, formats={"": number})


_EXPONENTS = {
    # Both ends, near 1, and near the ends of FP16's range.
    FP32.name: (0, 1, 2, *range(122, 133), *range(108, 117), *range(139, 147), 253, 254, 255),
    FP16.name: (0, 1, 2, 14, 15, 16, 29, 30, 31),
}


def fraction(rng: Random, bits: int) -> int:
    """Return a random fraction; all zeros or ones; or a pattern that ends in a half or its neighbour."""
    mask = (1 << bits) - 1
    match rng.randrange(4):
        case 0:
            return rng.choice((0, 1, mask, mask - 1))
        case 1:
            place = rng.randrange(bits)
            return (rng.getrandbits(bits) >> place << place | 1 << place) + rng.choice((-1, 0, 0, 1)) & mask
        case _:
            return rng.getrandbits(bits)


def float_code(rng: Random, fmt: FloatFormat, *, near: int | None = None) -> int:
    """Return a code of FP32 or FP16, with an exponent within 12 of ``near`` if given."""
    match rng.randrange(3):
        case 0:
            exponent = rng.getrandbits(fmt.exponent_bits)
        case 1:
            exponent = rng.choice(_EXPONENTS[fmt.name])
        case _:
            base = fmt.bias if near is None else near
            exponent = min(max(base + rng.randint(-12, 2), 0), fmt.exponent_mask)
    sign = rng.getrandbits(1) * fmt.sign_mask
    return sign | exponent << fmt.fraction_bits | fraction(rng, fmt.fraction_bits)


def integer(rng: Random, bits: int) -> int:
    """Return sign and magnitude in ``bits``, the magnitude of random length, often near 127, 255 or its maximum."""
    length = rng.randint(0, bits - 1)
    magnitude = rng.choice((rng.getrandbits(length), rng.randint(120, 135), rng.randint(250, 260)))
    return (rng.getrandbits(1) << bits - 1) | magnitude & (1 << bits - 1) - 1


def row_bits(datums: list[int], bits: int) -> int:
    """Return datums as a row of L1, the first in the lowest bits."""
    return sum(datum << bits * k for k, datum in enumerate(datums))


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
