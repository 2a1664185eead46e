"""Decoder of floating-point codes to unpacked numbers."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FloatFormat, Specials
from bitpath.rtl.common.arithmetic.raw import raw_float


class Decode(wiring.Component):
    """Combinational decoder of a code whose format is chosen at run time.

    The value is ``(-1)**sign * significand * 2**(exponent - bias - fraction_bits)``. ``bias`` and ``fraction_bits`` are
    the largest among the formats, so every number is exact.

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

    def __init__(self, formats: tuple[FloatFormat, ...], *, subnormals: bool = True):
        if len({fmt.width for fmt in formats}) != 1:
            raise ValueError(f"decode: formats must be of one width, not {[fmt.name for fmt in formats]}")
        self.formats, self.subnormals = formats, subnormals
        self.bias = max(fmt.bias for fmt in formats)
        self.fraction_bits = max(fmt.fraction_bits for fmt in formats)
        self.max_exponent = max(fmt.emax for fmt in formats) + self.bias
        self.min_exponent = min(fmt.emin for fmt in formats) + self.bias
        # Infinities and NaNs keep their exponent field, which must fit but is not read.
        exponent_width = ceil_log2(max(fmt.exponent_mask + self.bias - fmt.bias for fmt in formats) + 1)
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

    def _decode(self, m: Module, fmt: FloatFormat) -> Value:
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
