"""Layouts of unpacked numbers between the arithmetic operators.

Precedence of the fields, the same everywhere: ``nan`` overrides ``inf``, ``inf`` overrides the significand, and a zero
significand means zero whatever the exponent says.
"""

from amaranth import signed, unsigned
from amaranth.lib import data


def raw_float(exponent_width: int, significand_width: int) -> data.StructLayout:
    """A decoded number: ``(-1)**sign * significand * 2**(exponent - offset)``; the decoder states the offset."""
    return data.StructLayout(
        {
            "significand": unsigned(significand_width),
            "exponent": unsigned(exponent_width),
            "sign": 1,
            "inf": 1,
            "nan": 1,
        }
    )


def raw_sum(width: int, exponent_width: int) -> data.StructLayout:
    """An exact sum before normalisation: ``(-1)**sign * magnitude * 2**exponent``.

    The lowest bit of the magnitude includes the OR of discarded bits, if a unit had to discard any.
    """
    return data.StructLayout({"magnitude": unsigned(width), "exponent": signed(exponent_width), "sign": 1})


def normal_sum(precision: int, exponent_width: int) -> data.StructLayout:
    """A normalised sum: the significand's top bit is 1 unless ``zero``, and has weight ``2**exponent``."""
    return data.StructLayout(
        {
            "sticky": 1,
            "guard": 1,
            "significand": unsigned(precision),
            "exponent": signed(exponent_width),
            "sign": 1,
            "zero": 1,
        }
    )


def moving_sum(width: int, exponent_width: int, levels: int) -> data.StructLayout:
    """A two's complement sum between the levels of its normalisation shift, for formats with FP32's exponent field.

    ``sign`` is separate; the digits of a negative sum may be inverted, which makes them its magnitude less one unit in
    the last place. ``exponent`` is FP32's biased exponent of the highest digit, 1 or more. ``sticky`` is the OR of bits
    below the digits, not inverted. The ``levels`` levels to come may shift by up to ``allowed``, or without limit if
    ``free``.
    """
    fields = {"digits": unsigned(width), "sticky": 1, "sign": 1, "exponent": unsigned(exponent_width)}
    limit = {"free": 1, "allowed": unsigned(levels)} if levels else {}
    return data.StructLayout(fields | limit)


SPECIAL = data.StructLayout({"sign": 1, "inf": 1, "nan": 1})
"""Special value that overrides a numeric result; ``sign`` is that of an infinity or of a zero result."""
