"""Yardsticks for a unit's area: bare arithmetic of the same kind, as small components."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.unit import YardstickConfig

FP32_EXPONENT = 8
FP32_SIGNIFICAND = 24
GUARD = 3
"""Guard bits below the significand of an FP32 adder."""


class Yardstick(wiring.Component):
    """Multipliers, an adder and FP32 shifters, combinational and not connected to each other.

    Members
    -------
    a : In(count * a_bits), b : In(count * b_bits), products : Out(count * (a_bits + b_bits))
    x, y : In(adder_bits), total : Out(adder_bits), with an adder
    exponents, significands, aligned, unnormal, normal, exponent : with FP32 shifters
    """

    clocked = False

    def __init__(self, config: YardstickConfig):
        self.config = config
        members = {
            "a": In(config.count * config.a_bits),
            "b": In(config.count * config.b_bits),
            "products": Out(config.count * (config.a_bits + config.b_bits)),
        }
        if config.adder_bits:
            members |= {"x": In(config.adder_bits), "y": In(config.adder_bits), "total": Out(config.adder_bits)}
        if config.fp32_shifters:
            wide = FP32_SIGNIFICAND + GUARD
            members |= {
                "exponents": In(2 * FP32_EXPONENT),
                "significands": In(2 * FP32_SIGNIFICAND),
                "larger": Out(FP32_SIGNIFICAND),
                "aligned": Out(wide),
                "unnormal": In(wide + 1),
                "normal": Out(wide + 1),
                "exponent": Out(FP32_EXPONENT),
            }
        super().__init__(members)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        config = self.config
        for index in range(config.count):
            a, b = self.a.word_select(index, config.a_bits), self.b.word_select(index, config.b_bits)
            m.d.comb += self.products.word_select(index, config.a_bits + config.b_bits).eq(a * b)
        if config.adder_bits:
            m.d.comb += self.total.eq(self.x + self.y)
        if config.fp32_shifters:
            largest = self._align(m)
            self._normalize(m, largest)
        return m

    def _align(self, m: Module) -> Signal:
        """Align the smaller operand's significand by the exponent difference, with a sticky bit; select the larger exponent."""
        exponents = [self.exponents.word_select(index, FP32_EXPONENT) for index in range(2)]
        significands = [self.significands.word_select(index, FP32_SIGNIFICAND) for index in range(2)]
        wide = len(self.aligned)
        swap, smaller, largest = Signal(), Signal(wide), Signal(FP32_EXPONENT)
        distance, shift = Signal(FP32_EXPONENT), Signal(ceil_log2(wide + 1))
        m.d.comb += [
            swap.eq(exponents[0] < exponents[1]),
            largest.eq(Mux(swap, exponents[1], exponents[0])),
            distance.eq(Mux(swap, exponents[1] - exponents[0], exponents[0] - exponents[1])),
            shift.eq(Mux(distance > wide, wide, distance)),
            self.larger.eq(Mux(swap, significands[1], significands[0])),
            smaller.eq(Mux(swap, significands[0], significands[1]) << GUARD),
        ]
        shifted = Signal(2 * wide)
        m.d.comb += [
            shifted.eq(Cat(Signal(wide), smaller) >> shift),
            self.aligned.eq(shifted[wide:]),
            self.aligned[0].eq(shifted[wide] | shifted[:wide].any()),
        ]
        return largest

    def _normalize(self, m: Module, largest: Signal) -> None:
        """Shift the leading one to the top and adjust the exponent."""
        zeros = Signal(range(len(self.unnormal) + 1), init=len(self.unnormal))
        for index in range(len(self.unnormal)):
            with m.If(self.unnormal[index]):
                m.d.comb += zeros.eq(len(self.unnormal) - 1 - index)
        m.d.comb += [self.normal.eq(self.unnormal << zeros), self.exponent.eq(largest + 1 - zeros)]
