"""Codes, exact numbers and errors as text, for the explanations of all machines."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.codec import Kind, Unpacked, decode
from bitpath.golden.scalar.rounding import floor_log2


def code_text(fmt: FloatFormat, code: int) -> str:
    """Write a code in hexadecimal, all digits of its width."""
    return f"0x{code:0{-(-fmt.width // 4)}x}"


def number_text(x: Unpacked) -> str:
    """Write what a code means, in nine significant digits."""
    sign = "-" if x.sign else ""
    match x.kind:
        case Kind.NAN:
            return "NaN"
        case Kind.INFINITY:
            return f"{sign}infinity"
    return f"{sign}0" if x.is_zero else f"{float(x.value):.9g}"


def result_text(fmt: FloatFormat, code: int) -> str:
    """Write a code and what it means: 0x3f800000 = 1."""
    return f"{code_text(fmt, code)} = {number_text(decode(fmt, code))}"


def fields_text(fmt: FloatFormat, code: int) -> str:
    """Write a code, its fields in binary, and what it means: 0x38 0.0111.000 = 1."""
    bits = f"{code:0{fmt.width}b}"
    exponent_end = fmt.signed + fmt.exponent_bits
    fields = ".".join((bits[: fmt.signed], bits[fmt.signed : exponent_end], bits[exponent_end:]))
    return f"{code_text(fmt, code)} {fields} = {number_text(decode(fmt, code))}"


def exact_text(value: Fraction) -> str:
    """Write a dyadic fraction without loss, as C's %a does: 1 before the point, hexadecimal digits after it."""
    if value == 0:
        return "0"
    exponent = floor_log2(value)
    fraction = abs(value) / Fraction(2) ** exponent - 1
    digits = ""
    while fraction:
        digit, fraction = divmod(fraction * 16, 1)
        digits += f"{digit:x}"
    sign = "-" if value < 0 else ""
    return f"{sign}0x1{'.' if digits else ''}{digits}p{exponent:+d}"


def error_text(error: Fraction | None) -> str:
    """Write an error in units of the last place; None where there is none to speak of."""
    if error is None:
        return "none: the result or a term is not finite"
    return f"{float(error):+.6g} ulp" if error else "0 ulp: exact"


def collapsed(hidden: Sequence[bool], line: Callable[[int], str], why: Callable[[int], str]) -> list[str]:
    """Return a line for each index, and one for each run of hidden ones."""
    lines, k = [], 0
    while k < len(hidden):
        end = k
        while end < len(hidden) and hidden[end]:
            end += 1
        if end == k:
            lines.append(line(k))
            k += 1
        else:
            name = str(k) if end == k + 1 else f"{k}-{end - 1}"
            lines.append(f"{name:>5}  {why(k)}")
            k = end
    return lines
