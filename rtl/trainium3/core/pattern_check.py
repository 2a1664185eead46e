"""Check of an access pattern before anything is read or written."""

from amaranth import Array, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import pattern_layout

CHECK_CYCLES = MAX_PAIRS + 1
"""Cycles from ``start`` to a valid answer."""


class PatternCheck(wiring.Component):
    """Counts a pattern's elements, and tells what is wrong with it; takes a pair a cycle, :data:`CHECK_CYCLES` in all.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    start : In(1), the pattern is a new one
    pattern : In(pattern_layout); size : In(2), the logarithm of an element's bytes; limit : In, bytes of the memory
    count : Out, elements of the pattern
    empty, outside : Out(1), a pair has no elements; an element is outside the memory
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "pattern": In(pattern_layout(config)),
                "size": In(2),
                "limit": In(config.walk.address_bits + 1),
                "count": Out(MAX_PAIRS * config.num_bits),
                "empty": Out(1),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, pattern = self.config, self.pattern
        pair = Signal(range(MAX_PAIRS + 1), init=MAX_PAIRS)
        shape = signed(max(config.step_bits + config.num_bits, config.walk.address_bits) + 4)
        low, high, reach = Signal(shape), Signal(shape), Signal(shape)
        step = Array(each.step for each in pattern.pairs)[pair[: len(pair) - 1]]
        num = Array(each.num for each in pattern.pairs)[pair[: len(pair) - 1]]
        m.d.comb += [
            reach.eq(step * (num - 1)),
            self.outside.eq((low < 0) | (((high + 1) << self.size) > self.limit)),
        ]
        with m.If(self.start):
            m.d.sync += [
                low.eq(pattern.offset),
                high.eq(pattern.offset),
                pair.eq(0),
                self.count.eq(1),
                self.empty.eq(0),
            ]
        with m.Elif(pair != MAX_PAIRS):
            m.d.sync += [
                low.eq(low + Mux(reach < 0, reach, 0)),
                high.eq(high + Mux(reach < 0, 0, reach)),
                self.count.eq(self.count * num),
                self.empty.eq(self.empty | (num == 0)),
                pair.eq(pair + 1),
            ]
        return m
