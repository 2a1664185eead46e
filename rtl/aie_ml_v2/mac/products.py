"""Multipliers and exponent adders of a lane (cycle 3).

``wide[k] = a[k] * b[k]``, ``exponents[k] = ea[k] + eb[k] + 1``. The factor of a wide multiplier, by mode::

     INT8     signed or unsigned byte                  bits  7..0
     INT16    low or high byte of 16-bit element k//4  bits  7..0     4 pieces a product
     FLOAT    significand with hidden bit              bits 10..0     FP16's 10 fraction bits; others padded with zeros
     MX9      code, sign and 7 bits                    bits  7..0     in units of 2**-6
     MX6      code 0 to 7, shifted left by 3           bits  7..0     codes 8 to 15 go to the narrow 5-bit multipliers

Combinational.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX9, MX_BLOCK, MX_NAN_EXPONENT
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.config import (
    BYTE,
    DEPTH,
    EXPONENT_BITS,
    FLOAT_MODES,
    FORMAT_BITS,
    LANE_OPERAND_BITS,
    MX_MODES,
    SIGNIFICAND_BITS,
    WORD_BITS,
    LaneOperands,
    MacControl,
    MacLaneConfig,
    MacMode,
    is_one_of,
)
from bitpath.rtl.common.arithmetic.decode import Decode, raw_float
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# Multiplier shared by unsigned significands and short two's complement numbers.
#
# A factor is ``magnitude - sign * 2**place``, so
# ``a * b = |a| * |b| + (sa & sb) * 2**(2 * place) - (sa * |b| + sb * |a|) * 2**place``. The two correction rows are smaller than
# the partial products of sign-extended factors; combinational.


def factor_layout(width: int) -> data.StructLayout:
    """Return the layout of a number ``magnitude - (sign << place)``: two's complement with the sign bit kept apart."""
    return data.StructLayout({"magnitude": width, "sign": 1})


class SignedProduct(wiring.Component):
    """Exact product ``o = a * b``; combinational.

    Parameters
    ----------
    width : bits of a magnitude.
    place : bit position of a sign. If either factor has a sign, both magnitudes must be below ``2**(place + 1)``.

    Members
    -------
    a, b : In(factor_layout)
    o : Out(signed(2 * max(width, place + 1) + 1))
    """

    clocked = False

    def __init__(self, width: int, place: int):
        self.place = place
        # Bits of a magnitude that a sign multiplies. Signed factors are at least -2**place: products of 2 * place + 2 bits.
        self.short = min(width, place + 1)
        factor = factor_layout(width)
        super().__init__({"a": In(factor), "b": In(factor), "o": Out(signed(2 * max(width, place + 1) + 1))})

    def elaborate(self, platform):
        m = Module()
        a, b = self.a, self.b
        of_a, of_b = (
            other.magnitude[: self.short] & each.sign.replicate(self.short) for each, other in ((a, b), (b, a))
        )
        both = (a.sign & b.sign) << 2 * self.place
        m.d.comb += self.o.eq(a.magnitude * b.magnitude + both - ((of_a + of_b) << self.place))
        return m


# Decoder of 16-bit and 8-bit floats to sign, 8-bit exponent and 11-bit significand.


FLOAT = raw_float(FP32.exponent_bits, SIGNIFICAND_BITS)
"""A float with bias 127 and 10 fraction bits; subnormals have the exponent of the smallest normal number."""


class FloatDecode(wiring.Component):
    """Decode one code of a FLOAT16 or FLOAT8 format; fractions are padded with zeros at the bottom; combinational.

    Members
    -------
    code : In(16); an 8-bit code is in the low half
    is_fp8 : In(1)
    format : In(3), index into the mode's formats
    o : Out(FLOAT)
    """

    clocked = False
    apart = True  # a lane has 16 instances, which share one Verilog module

    code: In(WORD_BITS)
    is_fp8: In(1)
    format: In(FORMAT_BITS)
    o: Out(FLOAT)

    def elaborate(self, platform):
        m = Module()
        m.submodules.decode16 = decode16 = Decode(FLOAT16_FORMATS)
        m.submodules.decode8 = decode8 = Decode(FLOAT8_FORMATS)
        m.d.comb += [
            decode16.code.eq(self.code),
            decode16.format.eq(self.format),
            decode8.code.eq(self.code),
            decode8.format.eq(self.format),
        ]
        for decode, selected in ((decode16, ~self.is_fp8), (decode8, self.is_fp8)):
            padding = Const(0, SIGNIFICAND_BITS - 1 - decode.fraction_bits)
            with m.If(selected):
                m.d.comb += [
                    self.o.significand.eq(Cat(padding, decode.o.significand)),
                    self.o.exponent.eq(decode.o.exponent + (FP32.bias - decode.bias)),
                    self.o.sign.eq(decode.o.sign),
                    self.o.inf.eq(decode.o.inf),
                    self.o.nan.eq(decode.o.nan),
                ]
        return m


# MX9 and MX6 codes of one operand as signed factors; MX6's first 8 codes are shifted left by 3 to MX9's unit of 2**-6.


MX6_IN_MX9 = MX9.magnitude_bits - MX6.magnitude_bits
"""Left shift that brings an MX6 code to MX9's unit in the last place."""


class MxDecode(wiring.Component):
    """Select the codes of one operand's beat: 8 of MX9 or 16 of MX6; combinational.

    Members
    -------
    i : In(128), codes from bit 0 up
    is_mx6 : In(1), 1 for MX6, 0 for MX9
    wide : Out(ArrayLayout(signed(8), 8)), elements 0 to 7 for the shared multipliers
    narrow : Out(ArrayLayout(signed(5), 8)), elements 8 to 15 of MX6; 0 for MX9
    """

    clocked = False

    i: In(LANE_OPERAND_BITS)
    is_mx6: In(1)
    wide: Out(data.ArrayLayout(signed(MX9.width), DEPTH))
    narrow: Out(data.ArrayLayout(signed(MX6.width), MX_BLOCK - DEPTH))

    def elaborate(self, platform):
        m = Module()
        short = [self.i.word_select(k, MX6.width) for k in range(MX_BLOCK)]
        for k in range(DEPTH):
            m.d.comb += [
                self.wide[k].eq(Mux(self.is_mx6, short[k] << MX6_IN_MX9, self.i.word_select(k, MX9.width))),
                self.narrow[k].eq(Mux(self.is_mx6, short[DEPTH + k], 0)),
            ]
        return m


FACTOR = factor_layout(SIGNIFICAND_BITS)
"""A factor: an unsigned significand of 11 bits, or a byte or code of 8 bits, signed or unsigned."""
SIGN_PLACE = BYTE - 1
"""The sign of a byte or code weighs ``-2**7``."""
WIDE_BITS = 2 * SIGNIFICAND_BITS + 1
"""23 bits hold a wide product: at most ``2047**2 < 2**22``, and a sign."""
NARROW_BITS = 2 * MX6.width
"""10 bits hold a narrow product: at most ``16 * 16 = 2**8``, and a sign."""


class ProductWords(data.Struct):
    """Products of one beat, with their control word, exponents and flags.

    ``wide[k]`` is in units of 2**-12 for MX, 2**-20 for floats (magnitude only), and 1 for integers. In INT16,
    ``wide[4j : 4j + 4]`` are the partial products low x low, low x high, high x low and high x high of product j.
    ``narrow[k]`` is product 8 + k of MX6. ``negative`` holds the signs of float products after negation.
    """

    control: MacControl
    high: 1
    wide: data.ArrayLayout(signed(WIDE_BITS), DEPTH)
    narrow: data.ArrayLayout(signed(NARROW_BITS), MX_BLOCK - DEPTH)
    x_shift: BYTE
    y_shift: BYTE
    exponents: data.ArrayLayout(EXPONENT_BITS, DEPTH)  # the first is the block pair's in MX
    negative: DEPTH
    ordinary: 1  # both of the block pair's exponents are above 0
    nan: 1
    plus_inf: 1
    minus_inf: 1


class Products(wiring.Component):
    """Exact products of one beat, their exponent codes, and NaN and infinity flags; combinational.

    All modes share eight 11 x 11-bit multipliers; MX6 also uses eight signed 5 x 5-bit ones. Floats use eight exponent
    adders, of which MX uses the first.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    i : In(LaneOperands)
    o : Out(ProductWords)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config, self.numerics = config, config.numerics
        super().__init__({"i": In(LaneOperands), "o": Out(ProductWords)})

    def elaborate(self, platform):
        m = Module()
        control = self.i.control
        is_mx = Signal()
        is_float = Signal()
        x, y = (Signal.like(each, name=name) for name, each in (("x", self.i.x), ("y", self.i.y)))
        gate = control.multiplies
        m.d.comb += [
            is_mx.eq(self._is(*MX_MODES)),
            is_float.eq(self._is(*FLOAT_MODES)),
            # Without ``multiplies`` the operands read as zeros, whose products are 0 and never NaN.
            x.eq(self.i.x & gate.replicate(len(x))),
            y.eq(self.i.y & gate.replicate(len(y))),
        ]
        mx_x, mx_y = self._mx(m, platform, "x", x), self._mx(m, platform, "y", y)
        float_x = self._floats(m, platform, "x", x, control.x_format)
        float_y = self._floats(m, platform, "y", y, control.y_format)
        wide, narrow = Signal.like(self.o.wide, name="wide"), Signal.like(self.o.narrow, name="narrow")
        exponents = Signal.like(self.o.exponents, name="exponents")
        for k in range(DEPTH):
            high_x, high_y = k % 4 // 2, k % 2  # which bytes of 16-bit integers these multiply
            a = self._factor(m, f"a_{k}", mx_x.wide[k], float_x[k], x, k, high_x, control.x_signed)
            b = self._factor(m, f"b_{k}", mx_y.wide[k], float_y[k], y, k, high_y, control.y_signed)
            ea, eb = float_x[k].exponent, float_y[k].exponent
            if k == 0:
                ea, eb = Mux(is_mx, self.i.x_exponent, ea), Mux(is_mx, self.i.y_exponent, eb)
            product = instantiate(m, platform, f"product_{k}", SignedProduct, SIGNIFICAND_BITS, SIGN_PLACE)
            short = instantiate(m, platform, f"short_{k}", SignedProduct, MX6.width - 1, MX6.width - 1)
            m.d.comb += [
                product.a.eq(a),
                product.b.eq(b),
                short.a.eq(mx_x.narrow[k]),
                short.b.eq(mx_y.narrow[k]),
                wide[k].eq(product.o),
                narrow[k].eq(short.o),
                exponents[k].eq(ea + eb + 1),
            ]
        negative, nan, plus, minus = self._signs(m, float_x, float_y)
        mx_nan = Signal()
        if self.numerics.mx_nan_block:
            at_nan = (each == MX_NAN_EXPONENT for each in (self.i.x_exponent, self.i.y_exponent))
            m.d.comb += mx_nan.eq(is_mx & gate & Cat(at_nan).any())
        m.d.comb += [
            self.o.control.eq(control),
            self.o.high.eq(self.i.high),
            self.o.wide.eq(wide),
            self.o.narrow.eq(narrow),
            self.o.x_shift.eq(self.i.x_shift),
            self.o.y_shift.eq(self.i.y_shift),
            self.o.exponents.eq(exponents),
            self.o.negative.eq(negative),
            self.o.ordinary.eq(gate & self.i.x_exponent.any() & self.i.y_exponent.any()),
            self.o.nan.eq(mx_nan | (is_float & nan)),
            self.o.plus_inf.eq(is_float & plus),
            self.o.minus_inf.eq(is_float & minus),
        ]
        return m

    def _is(self, *modes: MacMode) -> Value:
        return is_one_of(self.i.control.mode, modes, self.config.modes)

    def _mx(self, m: Module, platform: Any, side: str, operand: Value) -> wiring.Component:
        decode = instantiate(m, platform, f"mx_decode_{side}", MxDecode)
        m.d.comb += [decode.i.eq(operand), decode.is_mx6.eq(self._is(MacMode.MX6))]
        return decode

    def _floats(self, m: Module, platform: Any, side: str, operand: Value, fmt: Value) -> list[data.View]:
        if not self.config.has(*FLOAT_MODES):
            return [data.View(FLOAT, Const(0, FLOAT.size))] * DEPTH
        is_fp8 = self._is(MacMode.FLOAT8)
        decoded = []
        for k in range(DEPTH):
            decode = instantiate(m, platform, f"float_decode_{side}_{k}", FloatDecode)
            m.d.comb += [
                decode.code.eq(Mux(is_fp8, operand.word_select(k, BYTE), operand.word_select(k, WORD_BITS))),
                decode.is_fp8.eq(is_fp8),
                decode.format.eq(fmt),
            ]
            decoded.append(decode.o)
        return decoded

    def _factor(
        self, m: Module, name: str, code: Value, number: data.View, operand: Value, k: int, high: int, is_signed: Value
    ) -> Value:
        """Select one side's factor of wide multiplier k by mode."""
        factor = Signal(FACTOR, name=name)
        byte = operand.word_select(k, BYTE)
        piece = operand.word_select(k // 4 * (WORD_BITS // BYTE) + high, BYTE)
        choices = (
            ((MacMode.INT8,), _factor_bits(byte, is_signed)),
            ((MacMode.INT16,), _factor_bits(piece, is_signed & bool(high))),
            (FLOAT_MODES, number.significand),
            (MX_MODES, _factor_bits(code, Const(1))),
        )
        *others, (_, default) = [choice for choice in choices if self.config.has(*choice[0])]
        with m.Switch(self.i.control.mode):
            for modes, value in others:
                with m.Case(*modes):
                    m.d.comb += factor.eq(value)
            with m.Default():
                m.d.comb += factor.eq(default)
        return factor

    def _signs(self, m: Module, xs: list[data.View], ys: list[data.View]) -> tuple[Value, Value, Value, Value]:
        """Return the signs of the float products, and the flags NaN, plus infinity and minus infinity of any of them."""
        negative, nan, inf = (Signal(DEPTH, name=name) for name in ("negative", "nan", "inf"))
        for k, (a, b) in enumerate(zip(xs, ys, strict=True)):
            m.d.comb += [
                negative[k].eq(a.sign ^ b.sign ^ self.i.control.negate_products),
                inf[k].eq(a.inf | b.inf),
                nan[k].eq(a.nan | b.nan | (a.inf & ~b.significand.any()) | (b.inf & ~a.significand.any())),
            ]
        return negative, nan.any(), (inf & ~negative).any(), (inf & negative).any()


def _factor_bits(byte: Value, is_signed: Value) -> Value:
    """Encode a signed or unsigned byte as a ``FACTOR``."""
    padding = Const(0, SIGNIFICAND_BITS - BYTE)
    return Cat(byte[:-1], byte[-1] & ~is_signed, padding, byte[-1] & is_signed)
