"""Number formats of the words of Dst, SrcA, SrcB and L1, and what a report shows of one datum of a dot product."""

from collections.abc import Sequence

from bitpath.golden.formats.catalogue import BF16, E5M2, FP16, FP32, FloatFormat, Specials
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, EXPONENT5_FORMATS, Format, Style
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
