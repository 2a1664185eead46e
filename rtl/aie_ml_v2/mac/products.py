"""The multipliers of a lane, and the exponents beside them: the third stage."""

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
"""What is multiplied: a significand, which is never negative, or 8 bits of an integer or code, signed or not."""
SIGN_PLACE = BYTE - 1
WIDE_BITS = 2 * SIGNIFICAND_BITS + 1
"""Of a product: at most 2047**2, so that the sign bit needs one more."""
NARROW_BITS = 2 * MX6.width


class ProductWords(data.Struct):
    """Products of a beat.

    ``wide[k]`` is an MX product in units of 2**-12, a float one of significands in 2**-20, an integer one, or a piece of
    one: of 16-bit product j the pieces low x low, low x high, high x low, high x high are at 4j and up. ``narrow`` are
    products 8 to 15 of MX6. ``negative`` are signs of float products, negation applied.
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
    """A lane's products of one beat, exactly; exponent codes; NaN and infinities. Combinational.

    Eight multipliers of 11 by 11 bits are shared: by MX9's 8 codes, MX6's first 8, significands of floats, bytes, and pieces
    of 16-bit integers. Eight of 5 by 5 bits, signed, have MX6's other codes. Adders of exponents are shared by floats and,
    the first of them, MX.

    Parameters
    ----------
    config : numerics and modes.

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
            # Zeros add nothing, and are no NaN.
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
        """What a wide multiplier takes from one side, as a ``FACTOR``."""
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
        """Signs of products; whether one is NaN, and an infinity of either sign."""
        negative, nan, inf = (Signal(DEPTH, name=name) for name in ("negative", "nan", "inf"))
        for k, (a, b) in enumerate(zip(xs, ys, strict=True)):
            m.d.comb += [
                negative[k].eq(a.sign ^ b.sign ^ self.i.control.negate_products),
                inf[k].eq(a.inf | b.inf),
                nan[k].eq(a.nan | b.nan | (a.inf & ~b.significand.any()) | (b.inf & ~a.significand.any())),
            ]
        return negative, nan.any(), (inf & ~negative).any(), (inf & negative).any()


def _factor_bits(byte: Value, is_signed: Value) -> Value:
    """Eight bits, signed or not, as the bits of a ``FACTOR``."""
    padding = Const(0, SIGNIFICAND_BITS - BYTE)
    return Cat(byte[:-1], byte[-1] & ~is_signed, padding, byte[-1] & is_signed)
