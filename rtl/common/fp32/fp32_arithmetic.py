"""Conversion of FP32 codes to a narrower format."""

from fractions import Fraction

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding
from bitpath.rtl.common.arithmetic.add import ExactAdd
from bitpath.rtl.common.arithmetic.decode import SPECIAL, Decode, normal_sum, raw_float, raw_sum, sum_special
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# Normalisation and rounding of exact values to FP32, the last two steps of every FP32 operation.


class Fp32Result(wiring.Component):
    """Combinational FP32 code of a value, or of its special value, rounded once to nearest even; subnormals are kept.

    Parameters
    ----------
    i : layout of the value, as made by ``raw_sum``.

    Members
    -------
    i : In(raw_sum)
    special : In(SPECIAL); overrides the value if ``nan`` or ``inf`` is set, else has the sign of a zero
    o : Out(32), FP32
    """

    clocked = False

    def __init__(self, i: data.StructLayout):
        super().__init__({"i": In(i), "special": In(SPECIAL), "o": Out(FP32.width)})

    def elaborate(self, platform):
        m = Module()
        normalize = instantiate(m, platform, "normalize", Normalize, self.i.shape(), FP32.precision)
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            FP32,
            rounding=Rounding.RNE,
            subnormals=True,
            overflow_to_infinity=True,
        )
        m.d.comb += [
            normalize.i.eq(self.i),
            rounder.i.eq(normalize.o),
            rounder.special.eq(self.special),
            self.o.eq(rounder.o),
        ]
        return m


# FP32 sum of two unpacked numbers.


OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded number is ``significand * 2**(exponent - OFFSET)``."""
UNPACKED = raw_float(FP32.exponent_bits, FP32.precision)
"""Layout of a decoded FP32 number, or of a narrower one with FP32's bias and its significand padded with zeros."""


class Fp32Sum(wiring.Component):
    """Combinational FP32 sum ``o = a + b`` of unpacked numbers, rounded once to nearest even.

    Members
    -------
    a, b : In(UNPACKED)
    o : Out(32), FP32
    """

    clocked = False
    apart = True
    a: In(UNPACKED)
    b: In(UNPACKED)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        m.submodules.add = add = ExactAdd(
            fixed_width=FP32.precision + 1,
            # Biased exponents less OFFSET lie between -OFFSET and 2**exponent_bits - OFFSET.
            fixed_exponent_width=FP32.exponent_bits + 1,
            exponent_width=FP32.exponent_bits,
            precision=FP32.precision,
            offset=OFFSET,
        )
        result = instantiate(m, platform, "result", Fp32Result, add.o.shape())
        m.d.comb += [
            add.fixed.eq(Mux(self.a.sign, -self.a.significand, self.a.significand)),
            add.fixed_exponent.eq(self.a.exponent - OFFSET),
            add.number.eq(self.b),
            result.i.eq(add.o),
            result.special.eq(sum_special(m, (self.a, self.b))),
            self.o.eq(result.o),
        ]
        return m


# Sum of two FP32 numbers.


class Fp32Add(wiring.Component):
    """Combinational FP32 sum ``o = a + b``, rounded once to nearest even.

    Members
    -------
    a, b : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False
    a: In(FP32.width)
    b: In(FP32.width)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        left = instantiate(m, platform, "decode_a", Decode, (FP32,))
        right = instantiate(m, platform, "decode_b", Decode, (FP32,))
        total = instantiate(m, platform, "sum", Fp32Sum)
        m.d.comb += [
            left.code.eq(self.a),
            right.code.eq(self.b),
            total.a.eq(left.o),
            total.b.eq(right.o),
            self.o.eq(total.o),
        ]
        return m


# Product of two FP32 numbers.


PRODUCT_OFFSET = 2 * (FP32.bias + FP32.fraction_bits)
"""The product of two decoded numbers is ``significand * 2**(exponent - PRODUCT_OFFSET)``."""
PRODUCT_EXPONENT_WIDTH = bits_for(PRODUCT_OFFSET) + 1
"""Bits of a product's signed exponent: the biased sum less PRODUCT_OFFSET lies between -PRODUCT_OFFSET and PRODUCT_OFFSET."""


class Fp32Multiply(wiring.Component):
    """Combinational FP32 product ``o = a * b``, rounded once to nearest even.

    Members
    -------
    a, b : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False
    a: In(FP32.width)
    b: In(FP32.width)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        left = instantiate(m, platform, "decode_a", Decode, (FP32,))
        right = instantiate(m, platform, "decode_b", Decode, (FP32,))
        multiply = instantiate(m, platform, "multiply", Multiply, left.o.shape())
        product = multiply.o
        exact = Signal(raw_sum(2 * FP32.precision, PRODUCT_EXPONENT_WIDTH))
        result = instantiate(m, platform, "result", Fp32Result, exact.shape())
        m.d.comb += [
            left.code.eq(self.a),
            right.code.eq(self.b),
            multiply.a.eq(left.o),
            multiply.b.eq(right.o),
            exact.magnitude.eq(product.significand),
            exact.exponent.eq(product.exponent - PRODUCT_OFFSET),
            exact.sign.eq(product.sign),
            result.i.eq(exact),
            result.special.sign.eq(product.sign),
            result.special.inf.eq(product.inf),
            result.special.nan.eq(product.nan),
            self.o.eq(result.o),
        ]
        return m


# FP32 codes of constants at elaboration.


def fp32_constant(value: Fraction) -> int:
    """Return the code of a positive number in FP32's normal range, rounded to nearest even; raise ValueError outside it."""
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    if not FP32.emin <= exponent <= FP32.emax:
        raise ValueError(f"constant must be a normal FP32 number, not {value}")
    # round() rounds to even; a carry to the next power of two increments the exponent field.
    significand = round(value / Fraction(2) ** (exponent - FP32.fraction_bits))
    return (exponent + FP32.bias - 1 << FP32.fraction_bits) + significand


# FP32 to BF16, rounded to nearest even or stochastically.


DROPPED_BITS = FP32.fraction_bits - BF16.fraction_bits
"""Discarded fraction bits, and random bits that stochastic rounding takes."""


class Fp32ToBf16(wiring.Component):
    """Combinational rounding of an FP32 code to BF16 in its upper half; the low 16 bits become 0::

        nearest even    o = (i + 0x7FFF + i[16]) & 0xFFFF0000
        stochastic      o = (i + random) & 0xFFFF0000

    The formats share their exponent field, so a carry into it is correct up to infinity. Infinity passes, and NaN becomes
    the canonical NaN.

    Members
    -------
    i : In(32), FP32
    stochastic : In(1), 0 rounds to nearest even
    random : In(16), bits for stochastic rounding
    o : Out(32), BF16 above 16 zeros
    """

    clocked = False
    i: In(FP32.width)
    stochastic: In(1)
    random: In(DROPPED_BITS)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        last_place = self.i[DROPPED_BITS]
        half_below = (1 << (DROPPED_BITS - 1)) - 1
        finite = ~self.i[FP32.fraction_bits : FP32.width - 1].all()
        nan = ~finite & self.i[: FP32.fraction_bits].any()
        rounded = Signal(FP32.width)
        m.d.comb += [
            rounded.eq(self.i + Mux(finite, Mux(self.stochastic, self.random, half_below + last_place), 0)),
            # A NaN whose payload lies in the discarded bits must not become infinity.
            self.o.eq(Mux(nan, FP32.nan_code, Cat(Const(0, DROPPED_BITS), rounded[DROPPED_BITS:]))),
        ]
        return m


# Clamp of a BF16 number to symmetric FP32 limits.


BELOW = FP32.width - BF16.width


class Bf16Clamp(wiring.Component):
    """Combinational ``o = max(min(i, limit), -limit)``; a NaN passes unchanged.

    A BF16 number exceeds an FP32 limit if it exceeds the limit's upper half.

    Members
    -------
    i : In(16), BF16
    limit : In(31), an FP32 code without its sign
    o : Out(32), FP32
    """

    clocked = False
    i: In(BF16.width)
    limit: In(FP32.width - 1)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        magnitude, sign = self.i[:-1], self.i[-1]
        beyond = (magnitude > self.limit[BELOW:]) & (magnitude <= BF16.infinity_code)
        m.d.comb += self.o.eq(Cat(Mux(beyond, self.limit, Cat(Const(0, BELOW), magnitude)), sign))
        return m


CAST_EXPONENT_WIDTH = bits_for(FP32.bias + 1) + 1
"""Bits of a signed unbiased FP32 exponent, infinity's included."""


class Fp32Cast(wiring.Component):
    """Combinational conversion, rounded once to nearest even; subnormals are kept.

    Overflow gives infinity. A format without infinity gives its largest number, and NaN for infinity.

    Parameters
    ----------
    fmt : format with NaN, fewer fraction bits and a smaller range than FP32.

    Members
    -------
    i : In(32), FP32
    o : Out(fmt.width)
    """

    clocked = False

    def __init__(self, fmt: FloatFormat):
        # FP32's subnormals have no leading bit; they must be below half of fmt's smallest number and round to zero.
        if fmt.emin - fmt.precision <= FP32.emin or fmt.nan_code is None:
            raise ValueError(f"cast: fmt must have NaN and a smaller range than FP32, not be {fmt.name}")
        self.fmt = fmt
        super().__init__({"i": In(FP32.width), "o": Out(fmt.width)})

    def elaborate(self, platform):
        m = Module()
        fmt = self.fmt
        decode = instantiate(m, platform, "decode", Decode, (FP32,))
        number = decode.o
        finite_alone = fmt.infinity_code is None
        normal = Signal(normal_sum(fmt.precision, CAST_EXPONENT_WIDTH))
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normal.shape(),
            fmt,
            rounding=Rounding.RNE,
            subnormals=True,
            overflow_to_infinity=not finite_alone,
            container=fmt,
        )
        dropped = FP32.fraction_bits - fmt.fraction_bits
        m.d.comb += [
            decode.code.eq(self.i),
            normal.significand.eq(number.significand[dropped:]),
            normal.guard.eq(number.significand[dropped - 1]),
            normal.sticky.eq(number.significand[: dropped - 1].any()),
            normal.exponent.eq(number.exponent - FP32.bias),
            normal.sign.eq(number.sign),
            # FP32's subnormals count as zero, to which they round.
            normal.zero.eq(~number.significand[-1]),
            rounder.i.eq(normal),
            rounder.special.sign.eq(number.sign),
            rounder.special.inf.eq(number.inf),
            rounder.special.nan.eq(number.nan | (number.inf if finite_alone else 0)),
            self.o.eq(rounder.o),
        ]
        return m
