"""FP32 to elements of any dtype."""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32, TF32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.trainium3.dma.dtype import Dtype, dtypes_within


class FromFp32(wiring.Component):
    """Combinational rounding of an FP32 number to an element, to nearest even; one shifter and one increment for all dtypes.

    ::

        window      1.xxxxxxxxxxxxxxxxxxxxxxx 00000000     significand, above zeros where integers have 32 bits
        shift       width - precision, + emin - exponent below the smallest normal number
                    width - 1 - exponent for an integer
        kept | guard | sticky                              kept + increment, below the exponent field of a float

    A carry out of a float's fraction increments its exponent field. A float beyond the largest is infinity, or NaN in E4M3FN;
    an integer saturates. NaN is canonical, and 0 in an integer.

    Parameters
    ----------
    bits : width of the element's port, 8, 16 or 32; wider dtypes are left out.

    Members
    -------
    i : In(32), FP32 with at most ``bits`` significant bits, as all numbers of ``ToFp32(bits)`` have; lower ones are not read
    dtype : In(Dtype)
    o : Out(bits), the element in the low bits, zeros above
    """

    clocked = False
    apart = True

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__({"i": In(FP32.width), "dtype": In(Dtype), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        sign, field, fraction = self.i[-1], self.i[FP32.fraction_bits : -1], self.i[: FP32.fraction_bits]
        normal = Signal()
        special = Signal()
        nan = Signal()
        biased = Signal(FP32.exponent_bits)
        m.d.comb += [
            normal.eq(field.any()),
            special.eq(field.all()),
            nan.eq(special & fraction.any()),
            biased.eq(Mux(normal, field, 1)),
        ]
        dtypes = {dtype: FORMATS[name] for dtype, name in dtypes_within(self.bits).items()}

        # A shift beyond the window leaves sticky alone; one below 0 belongs to an integer out of range.
        wanted = Signal(signed(FP32.exponent_bits + 2))
        subnormal = Signal()
        with m.Switch(self.dtype):
            for dtype, fmt in dtypes.items():
                with m.Case(dtype):
                    if isinstance(fmt, IntegerFormat):
                        m.d.comb += wanted.eq(self.bits - 1 + FP32.bias - biased)
                    else:
                        lowest = fmt.emin + FP32.bias
                        m.d.comb += [
                            subnormal.eq(biased < lowest),
                            wanted.eq(self.bits - fmt.precision + Mux(subnormal, lowest - biased, 0)),
                        ]
        places = Signal(range(self.bits + 2))
        m.d.comb += places.eq(Mux(wanted > self.bits + 1, self.bits + 1, wanted))
        below = self.bits + 1
        shifted = Signal(self.bits + below)
        significand = Cat(fraction, normal)[-self.bits :]
        padding = Const(0, below + self.bits - len(significand))
        m.d.comb += shifted.eq(Cat(padding, significand) >> places)
        kept, guard, sticky = shifted[below:], shifted[below - 1], shifted[: below - 1].any()
        up = increment(Rounding.RNE, odd=kept[0], guard=guard, sticky=sticky, negative=sign)
        rounded = Signal(self.bits + 1)
        m.d.comb += rounded.eq(kept + up)

        with m.Switch(self.dtype):
            for dtype, fmt in dtypes.items():
                with m.Case(dtype):
                    if isinstance(fmt, IntegerFormat):
                        beyond = special | (wanted < 0)
                        m.d.comb += self.o.eq(Mux(nan, 0, self._integer(m, fmt, rounded, sign, beyond)))
                    else:
                        exponent = Mux(subnormal, 0, biased - (FP32.bias - fmt.bias + 1))
                        m.d.comb += self.o.eq(self._float(m, fmt, rounded, exponent, sign, special, nan))
        return m

    def _integer(self, m: Module, fmt: IntegerFormat, rounded: Value, sign: Value, beyond: Value) -> Value:
        limit = Mux(sign, -fmt.lowest, fmt.highest)
        magnitude = Mux(beyond | (rounded > limit), limit, rounded)
        return Mux(sign, -magnitude, magnitude)[: fmt.width]

    def _float(
        self, m: Module, fmt: FloatFormat, rounded: Value, exponent: Value, sign: Value, special: Value, nan: Value
    ) -> Value:
        code = Signal(FP32.width + 1, name=f"code_{fmt.name.lower()}")
        m.d.comb += code.eq(rounded + (exponent[: FP32.exponent_bits] << fmt.fraction_bits))
        beyond = special | (code > fmt.max_code)
        magnitude = Mux(beyond, fmt.infinity_code or fmt.nan_code, code)[: fmt.width - 1]
        has_sign = sign if fmt.infinity_code is not None else sign & ~beyond
        result = Mux(nan, fmt.nan_code, Cat(magnitude, has_sign))
        return Cat(Const(0, TF32_SPARE_BITS), result) if fmt is TF32 else result
