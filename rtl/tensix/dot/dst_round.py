"""Step 5 of the Tensix dot product: round the normalised sum to a Dst word.

``o = sign, exponent, fraction`` of FP32, BF16 or FP16, or sign and magnitude of INT32. Rounding positions in ``normal.value``::

      bit    28   27 ... 21   20    19   18    17    16 ...... 5    4    3 ... 0
      FP32    1   fraction, 23 bits ------------------------->|  guard   sticky
      FP16    1   fraction, 10 bits -------->| guard   sticky ->
      BF16    1   fraction, 7 |  guard  sticky ->

Ref: ttsim v1.10.0; tt-isa-documentation 3930471, Dst, for the formats.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.round_increment import increment_inverted
from bitpath.rtl.tensix.dot.dst_add import INTEGER_BITS
from bitpath.rtl.tensix.dot.dst_normalize import FLOAT_BITS, NORMAL
from bitpath.rtl.tensix.dot.layouts import DotControl, StyleCode

FRACTION = FLOAT_BITS - FP32.precision
"""Bit of a normalised sum that holds FP32's last fraction bit."""
HALF_UNUSED, BF16_UNUSED = (FP32.fraction_bits - fmt.fraction_bits for fmt in (FP16, BF16))
"""Low fraction bits of FP32 that FP16 and BF16 discard."""


class DstRound(wiring.Component):
    """A normalised sum as FP32, BF16 or FP16, or an integer as INT32 in sign and magnitude.

    Underflow: an exponent of 0 or below gives +0. Overflow: FP32 and BF16 give infinity, FP16 its largest code, and integers
    saturate. One adder serves all formats: it applies the rounding increment and negates a negative integer.

    Combinational: latency 0.

    Parameters
    ----------
    numerics : ``final_tie``, the rounding of the result.

    Members
    -------
    normal : In(NORMAL)
    total : In(32), ``value`` of an integer sum's `total_layout`; its sign is ``normal.sign``
    control : In(DotControl)
    o : Out(32), a 16-bit word in the low half
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {"normal": In(NORMAL), "total": In(INTEGER_BITS + 1), "control": In(DotControl), "o": Out(DST32.width)}
        )

    def elaborate(self, platform):
        m = Module()
        normal, control = self.normal, self.control
        is_integer = control.style == StyleCode.INT8
        is_half = ~control.dst32 & (control.style == StyleCode.FP16)
        is_bf16 = ~control.dst32 & ~is_half

        # A carry out of the fraction increments the exponent, as the rounded number requires.
        number = Cat(normal.value[FRACTION:-1], normal.exponent)
        step = Mux(is_integer, normal.sign, control.dst32 & self._step(FP32))
        step |= (is_half & self._step(FP16)) << HALF_UNUSED
        step |= (is_bf16 & self._step(BF16)) << BF16_UNUSED
        rounded = Signal(len(number))
        m.d.comb += rounded.eq(Mux(is_integer, self.total, number) + step)

        exponent = rounded[FP32.fraction_bits :]
        something = is_integer | ~(normal.zero | exponent[-1] | ~exponent.any())
        saturated, infinite, half_beyond = Signal(), Signal(), Signal()
        m.d.comb += [
            saturated.eq(is_integer & rounded[INTEGER_BITS]),
            # A negative exponent also sets this bit, but underflow clears the word.
            infinite.eq(~is_integer & (exponent[FP32.exponent_bits :].any() | exponent[: FP32.exponent_bits].all())),
            # Exponent 31 is a normal binade. Bit 5 alone tells overflow: sums of FP16 products stay below exponent 64.
            half_beyond.eq(exponent[FP16.exponent_bits]),
        ]
        low = (rounded[: FP32.fraction_bits] & ~_all(infinite, FP32.fraction_bits)) | _all(
            saturated, FP32.fraction_bits
        )
        wide = Cat(low, exponent[: FP32.exponent_bits] | _all(infinite | saturated, FP32.exponent_bits))
        half = rounded[HALF_UNUSED : HALF_UNUSED + FP16.width - 1] | _all(half_beyond, FP16.width - 1)
        narrow = Mux(is_half, half, wide[BF16_UNUSED:])
        word = Mux(control.dst32, Cat(wide, normal.sign), Cat(narrow, normal.sign))
        m.d.comb += self.o.eq(word & _all(something, DST32.width))
        return m

    def _step(self, fmt: FloatFormat) -> Value:
        """Return True if rounding increments the format's last fraction bit."""
        sign = self.normal.sign
        last = FRACTION + FP32.fraction_bits - fmt.fraction_bits
        odd, guard, below = self.normal.value[last], self.normal.value[last - 1], self.normal.value[: last - 1]
        # A negative magnitude lacks one unit of bit 0; it carries into the guard bit if all bits below are 1.
        sticky = Mux(sign, ~below.all(), below.any())
        return increment_inverted(self.numerics.final_tie, odd=odd, guard=guard, sticky=sticky, negative=sign)


def _all(bit: Value, width: int) -> Value:
    return bit.replicate(width)
