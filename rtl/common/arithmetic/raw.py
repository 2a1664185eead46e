"""Unpacked numbers, as they travel between the operators.

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

    A unit that had to drop bits below the magnitude has put their OR into its lowest bit.
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
    """A two's complement sum on its way up to its leading bits, for a format of FP32's exponent field.

    Its ``sign`` stands by itself; a negative sum's digits may be inverted, which makes them its magnitude's less one
    unit. ``exponent`` is FP32's biased exponent of the highest digit, 1 or more. ``sticky`` is the OR of bits below the
    digits, not inverted. Where there are levels of shifting to come, they may move it as far as ``allowed`` says and the
    exponent stays so, or as far as they reach where ``free``.
    """
    fields = {"digits": unsigned(width), "sticky": 1, "sign": 1, "exponent": unsigned(exponent_width)}
    limit = {"free": 1, "allowed": unsigned(levels)} if levels else {}
    return data.StructLayout(fields | limit)


SPECIAL = data.StructLayout({"sign": 1, "inf": 1, "nan": 1})
"""What overrides a numeric result; ``sign`` is that of the infinity, and of a zero result."""
