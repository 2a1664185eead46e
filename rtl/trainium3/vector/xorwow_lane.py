"""XORWOW generators of one VectorE lane: four states that step together.

    t = x ^ (x >> 2);  new = v ^ (v << 4) ^ t ^ (t << 1);  d = d + 362437;  number = new + d
    (x, y, z, w, v) = (y, z, w, v, new)

Ref: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003, sections 3.1 and 4; "Trainium3
Architecture Guide for NKI" for the four states of a lane.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.vector import XORWOW_INCREMENT, XORWOW_STATES, XORWOW_WORDS

WORD_BITS = 32
LaneStates = data.ArrayLayout(data.ArrayLayout(WORD_BITS, XORWOW_WORDS), XORWOW_STATES)
"""Words x, y, z, w, v, d of each state, x lowest."""
LaneNumbers = data.ArrayLayout(WORD_BITS, XORWOW_STATES)
"""One 32-bit number from each state."""


class XorwowLane(wiring.Component):
    """Four states and the next number of each; the states step when the numbers are taken.

    Members
    -------
    load : In(1), sets the states to ``loaded``; overrides ``take``
    loaded : In(LaneStates)
    take : In(1), steps the states
    states : Out(LaneStates), cleared by reset
    numbers : Out(LaneNumbers), combinational from the states
    """

    load: In(1)
    loaded: In(LaneStates)
    take: In(1)
    states: Out(LaneStates)
    numbers: Out(LaneNumbers)

    def elaborate(self, platform):
        m = Module()
        after, numbers = [], []
        for j in range(XORWOW_STATES):
            x, y, z, w, v, d = (self.states[j][word] for word in range(XORWOW_WORDS))
            new = Signal(WORD_BITS, name=f"new_{j}")
            counter = Signal(WORD_BITS, name=f"counter_{j}")
            t = x ^ (x >> 2)
            # Left shifts and sums are modulo 2**32.
            m.d.comb += [new.eq(v ^ (v << 4) ^ t ^ (t << 1)), counter.eq(d + XORWOW_INCREMENT)]
            after += [y, z, w, v, new, counter]
            numbers.append((new + counter)[:WORD_BITS])
        m.d.comb += self.numbers.eq(Cat(numbers))
        with m.If(self.load | self.take):
            m.d.sync += self.states.eq(Mux(self.load, self.loaded, Cat(after)))
        return m
