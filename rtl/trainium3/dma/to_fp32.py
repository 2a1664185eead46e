"""Elements of any dtype to FP32."""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E4M3, E4M3FN, E5M2, FP16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS, IntegerFormat
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dma.dtype import Dtype, dtypes_within

BYTE_FLOATS = {Dtype.E4M3: E4M3, Dtype.E4M3FN: E4M3FN, Dtype.E5M2: E5M2}
EXPONENT_BITS = FP32.exponent_bits
"""Bits of the signed exponent of a number's last place; the rounder takes its difference to FP32's smallest one."""


class ToFp32(wiring.Component):
    """Combinational FP32 code of an element: exact, but for INT32 and UINT32, which round to nearest even.

    Integers and floats narrower than FP32's exponent range pass one normalisation and rounding. FP32, TF32 and BF16 have
    FP32's fields: their codes move up, TF32 rounded to 10 fraction bits. Every NaN is canonical.

    Parameters
    ----------
    bits : width of the element's port, 8, 16 or 32; wider dtypes are left out.

    Members
    -------
    code : In(bits), the element in the low bits
    dtype : In(Dtype)
    o : Out(32), FP32
    """

    clocked = False
    apart = True

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__({"code": In(bits), "dtype": In(Dtype), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        value = Signal(raw_sum(self.bits, EXPONENT_BITS))
        special = Signal(SPECIAL)
        self._floats(m, platform, "byte", BYTE_FLOATS, value, special)
        if self.bits > FP16.width // 2:
            self._floats(m, platform, "half", {Dtype.FP16: FP16}, value, special)
        with m.Switch(self.dtype):
            for dtype, name in dtypes_within(self.bits).items():
                fmt = FORMATS[name]
                if isinstance(fmt, IntegerFormat):
                    with m.Case(dtype):
                        self._integer(m, fmt, value)
        result = instantiate(m, platform, "result", Fp32Result, value.shape())
        m.d.comb += [result.i.eq(value), result.special.eq(special), self.o.eq(result.o)]
        if self.bits >= BF16.width:
            self._upper(m)
        return m

    def _floats(
        self, m: Module, platform, name: str, formats: dict[Dtype, FloatFormat], value: Value, special: Value
    ) -> None:
        """Decode the floats of one width."""
        decode = instantiate(m, platform, f"decode_{name}", Decode, tuple(formats.values()))
        number = decode.o
        offset = max(fmt.bias for fmt in formats.values()) + max(fmt.fraction_bits for fmt in formats.values())
        m.d.comb += decode.code.eq(self.code)
        with m.Switch(self.dtype):
            for index, dtype in enumerate(formats):
                with m.Case(dtype):
                    m.d.comb += [
                        decode.format.eq(index),
                        value.magnitude.eq(number.significand),
                        value.exponent.eq(number.exponent - offset),
                        value.sign.eq(number.sign),
                        special.sign.eq(number.sign),
                        special.inf.eq(number.inf),
                        special.nan.eq(number.nan),
                    ]

    def _integer(self, m: Module, fmt: IntegerFormat, value: Value) -> None:
        integer = self.code[: fmt.width]
        negative = integer[-1] if fmt.signed else Const(0)
        magnitude = Mux(negative, -integer.as_signed(), integer)
        m.d.comb += [value.magnitude.eq(magnitude[: fmt.width]), value.sign.eq(negative)]

    def _upper(self, m: Module) -> None:
        """Formats with FP32's sign and exponent."""
        upper = Signal(FP32.width)
        finite = Signal()
        nan = Signal()
        taken = Signal()
        half = (1 << TF32_SPARE_BITS - 1) - 1
        rounded = Signal(FP32.width)
        m.d.comb += [
            finite.eq(~upper[FP32.fraction_bits : -1].all()),
            nan.eq(~finite & upper[: FP32.fraction_bits].any()),
            rounded.eq(upper + Mux(finite, half + upper[TF32_SPARE_BITS], 0)),
        ]
        code = Value.cast(upper)
        with m.Switch(self.dtype):
            with m.Case(Dtype.BF16):
                m.d.comb += [upper.eq(Cat(Const(0, FP32.width - BF16.width), self.code[: BF16.width])), taken.eq(1)]
            if self.bits == FP32.width:
                with m.Case(Dtype.FP32):
                    m.d.comb += [upper.eq(self.code), taken.eq(1)]
                with m.Case(Dtype.TF32):
                    m.d.comb += [upper.eq(self.code), taken.eq(1)]
        if self.bits == FP32.width:
            code = Mux(self.dtype == Dtype.TF32, Cat(Const(0, TF32_SPARE_BITS), rounded[TF32_SPARE_BITS:]), upper)
        with m.If(taken):
            m.d.comb += self.o.eq(Mux(nan, FP32.nan_code, code))
