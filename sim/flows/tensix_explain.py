"""Text that ``bitpath explain tensix`` prints of one datum of Dst."""

from fractions import Fraction

from bitpath.golden.arrays.arguments import member
from bitpath.golden.explain.explanation import Explanation
from bitpath.golden.formats.catalogue import FloatFormat, Specials
from bitpath.golden.tensix import phases
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    COLUMNS,
    EXPONENT5_FORMATS,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul.explain import explain_dot16
from bitpath.golden.tensix.matmul.explain_output import Unit
from bitpath.golden.tensix.operands.arguments import check_dst32, check_phase, source_format
from bitpath.sim.flows.explain_arguments import (
    float_code,
    read_word,
    split_list,
)

SOURCE_FRACTION_BITS = {
    Format.FP32: 7,
    Format.TF32: 10,
    Format.BF16: 7,
    Format.FP16: 10,
    Format.FP8: 2,
} | {fmt: block.magnitude_bits - 1 for fmt, block in BLOCK_FLOATS.items()}
"""Fraction bits that a source of each float format has; under style BF16 a format of FP32 is read as BF16."""
SRC_BITS = 19
INTEGER_EXPONENT = 16
"""Exponent field of an integer source whose magnitude is not zero."""


def unit(numerics: TensixNumerics, style: str, dst32: bool, srca_format: str | None, srcb_format: str | None) -> Unit:
    """Return a unit with these settings; raise ValueError if they contradict each other."""
    chosen = member("--style", style, Style)
    check_dst32(chosen, dst32)
    srca, srcb = (
        source_format(option, fmt, chosen)
        for option, fmt in (("--srca-format", srca_format), ("--srcb-format", srcb_format))
    )
    return Unit(numerics=numerics, style=chosen, dst32=dst32, srca_format=srca, srcb_format=srcb)


def output(each: Unit, src_a: str, src_b: str, dst: str, fidelity: str, phase: int | None) -> Explanation:
    """Explain one datum of Dst in one phase, or in the phases of a fidelity in turn.

    Raises ValueError for text that is not a word or number, and for a number outside the format.

    Parameters
    ----------
    src_a, src_b : up to 16 hexadecimal words (0x1fc00) or numbers (1.3125), separated by commas.
    dst : one word or number.
    """
    a = _sources("--src-a", src_a, each.srca_format)
    b = _sources("--src-b", src_b, each.srcb_format)
    word = _dst(dst, each)
    if phase is not None:
        check_phase(phase)
    traces = []
    for number in phases(fidelity) if phase is None else (phase,):
        trace = each.trace(word, b, a, number)
        traces.append((f"phase {number}", trace))
        word = trace.result
    return Explanation("\n\n".join(explain_dot16(trace) for _, trace in traces), tuple(traces), word)


def _sources(option: str, text: str, fmt: Format) -> list[int]:
    """Read a source's words and pad them with zeros to 16."""
    parts = split_list(option, text, COLUMNS, "words")
    words = [read_word(option, part, SRC_BITS, fmt.name, lambda value: _source_word(value, fmt)) for part in parts]
    if fmt in EXPONENT5_FORMATS and any(word >> 15 & 0b111 for word in words):
        raise ValueError(f"{option} must hold exponents of 5 bits with {fmt.name}, not exponents above 31")
    return words + [0] * (COLUMNS - len(words))


def _dst(text: str, each: Unit) -> int:
    if each.style is Style.INT8:
        return read_word("--dst", text, 32, "INT32", lambda value: _sign_magnitude(value, 31))
    name, bits = "FP32", (8, 23)
    if not each.dst32:
        name, bits = ("FP16", (5, 10)) if each.style is Style.FP16 else ("BF16", (8, 7))
    fmt = _format(*bits)
    return read_word("--dst", text, fmt.width, name, lambda value: _code(value, fmt))


def _source_word(value: Fraction, fmt: Format) -> int | None:
    """Return the logical source word of a number, None if the format does not hold it."""
    if fmt is Format.INT8:
        word = _sign_magnitude(value, 10)
        return None if word is None else word >> 10 << 18 | (INTEGER_EXPONENT << 10 if value else 0) | word & 0x3FF
    if fmt not in SOURCE_FRACTION_BITS:
        return None
    own = _format(5 if fmt in EXPONENT5_FORMATS else 8, SOURCE_FRACTION_BITS[fmt])
    code = _code(value, own)
    if code is None:
        return None
    # Exponent and fraction, then the fraction's missing bits.
    magnitude = (code & ~own.sign_mask) << 10 - own.fraction_bits
    return (1 << 18 if code & own.sign_mask else 0) | magnitude


def _sign_magnitude(value: Fraction, bits: int) -> int | None:
    if value.denominator != 1 or abs(value) >= 1 << bits:
        return None
    return (1 << bits if value < 0 else 0) | abs(int(value))


def _format(exponent_bits: int, fraction_bits: int) -> FloatFormat:
    """Return a format as the Matrix unit reads it: the largest exponent is an ordinary one."""
    return FloatFormat(
        name=f"e{exponent_bits}m{fraction_bits}",
        exponent_bits=exponent_bits,
        fraction_bits=fraction_bits,
        bias=(1 << exponent_bits - 1) - 1,
        specials=Specials.FINITE,
        nan_code=None,
    )


def _code(value: Fraction, fmt: FloatFormat) -> int | None:
    """Return the code of a number that the Matrix unit would read as this number, None if there is no such code."""
    read_as_zero = value != 0 and abs(value) < fmt.min_normal
    return None if read_as_zero else float_code(value, fmt)
