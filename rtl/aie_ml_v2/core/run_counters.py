"""Counters of a run: its cycles, its stalls by cause and its products; and whether anything is in flight."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.declarations.tile import LOAD, MOVE, POP, PUSH_MX
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, VectorOp

COUNTER_BITS = 32
STALLS = data.StructLayout({"banks": COUNTER_BITS, "bundles": COUNTER_BITS})
"""Layout of cycles in which everything stood still: an access waited for a bank, or the next bundle was not there."""
LOAD_SLOTS = ("lda", "ldb")
MOST_CYCLES = POP.result
assert PUSH_MX.memory == MOST_CYCLES


class RunCounters(wiring.Component):
    """Counts from the first bundle to the last write or access.

    Members
    -------
    issue : In(BUNDLE), operations that issue in this cycle
    goes : In(1), the tile's cycle passes; stall : In(1), it stands still for a bank
    accesses : In(1), an access is made in this cycle
    flying : Out(1), bytes may still move in a FIFO's pipeline, or a result is on its way
    cycles, products : Out(32); stalls : Out(STALLS)
    """

    issue: In(BUNDLE)
    goes: In(1)
    stall: In(1)
    accesses: In(1)
    flying: Out(1)
    cycles: Out(COUNTER_BITS)
    stalls: Out(STALLS)
    products: Out(COUNTER_BITS)

    def elaborate(self, platform):
        m = Module()
        left, flying = Signal(range(MOST_CYCLES)), Signal(range(MOST_CYCLES))
        needs, elapsed = Signal(range(MOST_CYCLES + 1)), Signal(COUNTER_BITS)
        lives = self._lives()
        for cycles in sorted({cycles for _, cycles in lives}):
            with m.If(Cat(alive for alive, own in lives if own == cycles).any()):
                m.d.comb += needs.eq(cycles)
        # A FIFO's bytes go through its pipeline even where it accesses no memory.
        m.d.comb += self.flying.eq(flying != 0)
        with m.If(self.goes):
            m.d.sync += [
                left.eq(Mux(needs > left, needs - 1, _less_one(left))),
                flying.eq(Mux(needs != 0, MOST_CYCLES - 1, _less_one(flying))),
            ]
        with m.If(self.goes | self.stall):
            m.d.sync += elapsed.eq(elapsed + 1)
            with m.If((left != 0) | (needs != 0) | self.accesses):
                m.d.sync += self.cycles.eq(elapsed + 1)
        with m.If(self.stall):
            m.d.sync += self.stalls.banks.eq(self.stalls.banks + 1)
        with m.Elif(~self.goes & self.flying):
            m.d.sync += self.stalls.bundles.eq(self.stalls.bundles + 1)
        with m.If(self.goes & (self.issue.vec.op != VectorOp.NONE)):
            m.d.sync += self.products.eq(self.products + 1)
        return m

    def _lives(self) -> list[tuple[Value, int]]:
        """Return operations, and the cycles to their last write; accesses count by themselves."""
        issue = self.issue
        found: list[tuple[Value, int | None]] = [(issue[slot].op.as_value() != 0, 1) for slot in BUNDLE.members]
        for name in LOAD_SLOTS:
            found += [(issue[name].op == LoadOp.LOAD, LOAD.result), (issue[name].op == LoadOp.POP, POP.result)]
        found += [
            (issue.mv.op == MoveOp.SHUFFLE, MOVE.result),
            (issue.vec.op == VectorOp.INTEGER, TIMINGS[Datapath.INTEGER].write),
            (issue.vec.op == VectorOp.MX9, TIMINGS[Datapath.MX9].write),
        ]
        return [(alive, cycles) for alive, cycles in found if cycles is not None]


def _less_one(count: Value) -> Value:
    return Mux(count == 0, 0, count - 1)
