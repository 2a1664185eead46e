"""Decoder of floating-point codes to unpacked numbers."""

from collections.abc import Iterable, Sequence

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FixedFormat, FloatFormat, Specials

# Layouts of unpacked numbers between the arithmetic operators.
#
# Precedence of the fields, the same everywhere: ``nan`` overrides ``inf``, ``inf`` overrides the significand, and a zero
# significand means zero whatever the exponent says.


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


# Special value of a sum: infinity, NaN, or the sign of zero.


def sum_special(m: Module, terms: Iterable[data.View], *, nan: Value | None = None) -> data.View:
    """The special value of the sum of unpacked numbers.

    A NaN term and infinities of both signs give NaN. A zero sum is negative only if every term is negative, as in IEEE
    754 for round to nearest.

    Parameters
    ----------
    m : module that takes the logic.
    terms : decoded numbers or products, as ``raw_float``.
    nan : further condition for NaN, or None.
    """
    plus, minus, negative = Const(0), Const(0), Const(1)
    any_nan = Const(0) if nan is None else nan
    for term in terms:
        plus |= term.inf & ~term.sign
        minus |= term.inf & term.sign
        any_nan |= term.nan
        negative &= term.sign
    special = Signal(SPECIAL)
    m.d.comb += [
        special.nan.eq(any_nan | (plus & minus)),
        special.inf.eq(plus | minus),
        special.sign.eq(minus | (negative & ~plus)),
    ]
    return special


def _bias(fmt: FloatFormat | FixedFormat) -> int:
    """The bias; of a fixed-point format that of the exponent 1, which all its numbers have."""
    return 2 - fmt.width + fmt.fraction_bits if isinstance(fmt, FixedFormat) else fmt.bias


def _fraction_bits(fmt: FloatFormat | FixedFormat) -> int:
    """Bits below the leading one of a significand; of a fixed-point format below the top bit of its magnitude."""
    return fmt.width - 1 if isinstance(fmt, FixedFormat) else fmt.fraction_bits


def decoded_places(formats: Sequence[FloatFormat | FixedFormat]) -> tuple[int, int]:
    """Return bias and fraction bits of the numbers that `Decode` gives for codes of these formats."""
    return max(map(_bias, formats)), max(map(_fraction_bits, formats))


class Decode(wiring.Component):
    """Combinational decoder of a code whose format is chosen at run time.

    The value is ``(-1)**sign * significand * 2**(exponent - bias - fraction_bits)``. ``bias`` and ``fraction_bits`` are
    the largest among the formats, so every number is exact. A fixed-point number has one exponent, and its magnitude as
    significand.

    Parameters
    ----------
    formats : formats of equal width.
    subnormals : True keeps subnormals; False reads them as zero of their sign.

    Members
    -------
    code : In(width)
    format : In(1 or more), index into ``formats``
    o : Out(raw_float); the significand has ``fraction_bits + 1`` bits
    """

    clocked = False

    def __init__(self, formats: tuple[FloatFormat | FixedFormat, ...], *, subnormals: bool = True):
        if len({fmt.width for fmt in formats}) != 1:
            raise ValueError(f"decode: formats must be of one width, not {[fmt.name for fmt in formats]}")
        self.formats, self.subnormals = formats, subnormals
        self.bias, self.fraction_bits = decoded_places(formats)
        # Infinities and NaNs keep their exponent field, which must fit but is not read.
        fields = [1 if isinstance(fmt, FixedFormat) else fmt.exponent_mask for fmt in formats]
        exponent_width = ceil_log2(
            max(field + self.bias - _bias(fmt) for field, fmt in zip(fields, formats, strict=True)) + 1
        )
        super().__init__(
            {
                "code": In(formats[0].width),
                "format": In(max(1, ceil_log2(len(formats)))),
                "o": Out(raw_float(exponent_width, self.fraction_bits + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        decoded = [self._decode(m, fmt) for fmt in self.formats]
        with m.Switch(self.format):
            for index, value in enumerate(decoded):
                with m.Case(index) if index < len(decoded) - 1 else m.Default():
                    m.d.comb += self.o.eq(value)
        return m

    def _decode(self, m: Module, fmt: FloatFormat | FixedFormat) -> Value:
        if isinstance(fmt, FixedFormat):
            return self._decode_fixed(m, fmt)
        fraction = self.code[: fmt.fraction_bits]
        exponent = self.code[fmt.fraction_bits : fmt.fraction_bits + fmt.exponent_bits]
        normal = exponent.any()
        hidden_or_zero = Cat(Const(0, self.fraction_bits - fmt.fraction_bits), fraction, normal)
        number = Signal(self.o.shape(), name=f"as_{fmt.name.lower()}")
        m.d.comb += [
            number.sign.eq(self.code[-1]),
            # A subnormal has the exponent of the smallest normal number.
            number.exponent.eq(Mux(normal, exponent, 1) + (self.bias - fmt.bias)),
            number.significand.eq(hidden_or_zero if self.subnormals else Mux(normal, hidden_or_zero, 0)),
        ]
        match fmt.specials:
            case Specials.IEEE:
                m.d.comb += [
                    number.inf.eq(exponent.all() & ~fraction.any()),
                    number.nan.eq(exponent.all() & fraction.any()),
                ]
            case Specials.NAN_ONLY:
                m.d.comb += number.nan.eq(exponent.all() & fraction.all())
            case Specials.UNSIGNED_ZERO:
                m.d.comb += number.nan.eq(self.code[-1] & ~self.code[:-1].any())
            case Specials.FINITE:
                pass
        return number.as_value()

    def _decode_fixed(self, m: Module, fmt: FixedFormat) -> Value:
        number = Signal(self.o.shape(), name=f"as_{fmt.name.lower()}")
        magnitude = Signal(fmt.width, name=f"magnitude_{fmt.name.lower()}")
        m.d.comb += [
            number.sign.eq(self.code[-1]),
            magnitude.eq(Mux(number.sign, -self.code, self.code)),
            number.exponent.eq(1 + self.bias - _bias(fmt)),
            number.significand.eq(Cat(Const(0, self.fraction_bits - _fraction_bits(fmt)), magnitude)),
        ]
        return number.as_value()
