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

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX_BLOCK, MX_NAN_EXPONENT
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.float_decode import FLOAT, FloatDecode
from bitpath.rtl.aie_ml_v2.mac.layouts import BYTE, DEPTH, WORD_BITS, LaneOperands, MacControl
from bitpath.rtl.aie_ml_v2.mac.mac_mode import FLOAT_MODES, MX_MODES, MacMode, is_one_of
from bitpath.rtl.aie_ml_v2.mac.mx_decode import MxDecode
from bitpath.rtl.aie_ml_v2.mac.signed_product import SignedProduct, factor_layout
from bitpath.rtl.aie_ml_v2.mac.term_plan import EXPONENT_BITS, SIGNIFICAND_BITS
from bitpath.rtl.common.pipeline.shared_instances import instantiate

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
