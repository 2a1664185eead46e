"""Conversion of FP32 codes to a narrower format."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.raw import normal_sum
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.pipeline.shared_instances import instantiate

EXPONENT_WIDTH = bits_for(FP32.bias + 1) + 1
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
        normal = Signal(normal_sum(fmt.precision, EXPONENT_WIDTH))
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
