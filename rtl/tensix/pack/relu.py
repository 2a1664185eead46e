"""ReLU of the packer, on intermediate values.

Ref: tt-isa-documentation 3930471, Packers/ReLU; ttsim v1.10.0 for the bits that mode 3 compares.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16
from bitpath.rtl.tensix.pack.early_conversion import SHORT_FORMATS
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.unpack.float_word import FloatWord, float_word

CLAMP_IGNORED_BITS = 13
"""Low fraction bits that mode 3 ignores: it compares 19 bits, all bits of every format but FP32."""


class ReluMode(enum.Enum, shape=2):
    """Function of the ReLU, by the code of the hardware."""

    NONE = 0
    POSITIVE = 1  # max(x, 0)
    THRESHOLD = 2  # x if x > threshold else 0
    CLAMP = 3  # min(max(x, 0), threshold)


class Relu(wiring.Component):
    """An intermediate value after the ReLU that ``control`` selects.

    Every value with a set sign bit becomes +0, also -0 and NaN. The threshold is FP16 for intermediate formats with 5 exponent
    bits, otherwise BF16, and must not be negative; integers have no threshold. Combinational: latency 0.

    Members
    -------
    i : In(FloatWord)
    control : In(PackControl)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    control: In(PackControl)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        control = self.control
        mode = Signal(ReluMode)
        threshold = Signal(FloatWord)
        limit = Signal(FloatWord)
        m.d.comb += [
            mode.eq(control.relu),
            threshold.eq(
                Mux(
                    control.mid_format.matches(*SHORT_FORMATS),
                    float_word(control.relu_threshold, FP16),
                    float_word(control.relu_threshold, BF16),
                )
            ),
            limit.eq(Mux(mode == ReluMode.POSITIVE, 0, threshold)),
        ]
        value, bound = (Cat(word.fraction, word.exponent) for word in (self.i, limit))
        with m.If(mode == ReluMode.NONE):
            m.d.comb += self.o.eq(self.i)
        with m.Elif(~self.i.sign):
            with m.If(mode == ReluMode.CLAMP):
                above = value[CLAMP_IGNORED_BITS:] > bound[CLAMP_IGNORED_BITS:]
                m.d.comb += self.o.eq(Mux(above, bound, value))
            with m.Elif(value > bound):
                m.d.comb += self.o.eq(value)
        return m
