"""Multiply unit: products of the slot vec with their accumulators, to the cycle.

::

    cycle     1          2              4                           5               6              7
    integer   a, b                      acc1, forwarded             add             write
    MX9       low half   high half      acc1, forwarded, held       acc1 enters     add            write

Ref: llvm-aie, AIE2PSGenSchedule.td, in ``golden.aie_ml_v2.declarations.modes.TIMINGS``.
"""

from itertools import pairwise

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.rtl.aie_ml_v2.core.bundle import VECTOR_SLOT, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.tile.registers import FLOAT_FORWARD, INTEGER_FORWARD, accumulator_write, vector_layout
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS, name_layout
from bitpath.rtl.aie_ml_v2.vector.native_mac import ACCUMULATOR_BITS, NativeMac
from bitpath.rtl.common.pipeline.shared_instances import instantiate

WHOLE = 2
"""Logarithm of the slots of a dm and of a Y."""
INTEGER, MX9 = TIMINGS[Datapath.INTEGER], TIMINGS[Datapath.MX9]
assert INTEGER.accumulator_read == MX9.accumulator_read


class MultiplyUnit(wiring.Component):
    """A product a cycle; one of MX9 takes two. Structural hazard: a product in the second cycle of one of MX9.

    Parameters
    ----------
    config : AieTileConfig, the products, the numerics and the registers.

    Members
    -------
    advance : In(1), clock enable of everything
    issue : In(VECTOR_SLOT), in cycle 1
    second : Out(1), the cycle is the second one of an MX9 product
    a_name, b_name : Out(name_layout); a, b : In(vector_layout), operand registers in the same cycle
    acc_name : Out(name_layout); acc : In(2048), accumulator in the same cycle
    write : Out(accumulator_write), write_enable : Out(1)
    """

    def __init__(self, config: AieTileConfig):
        self.config = config
        vectors, accumulators = config.vector_registers, config.accumulator_registers
        super().__init__(
            {
                "advance": In(1),
                "issue": In(VECTOR_SLOT),
                "second": Out(1),
                "a_name": Out(name_layout(config.pairs)),
                "b_name": Out(name_layout(config.pairs)),
                "a": In(vector_layout(vectors)),
                "b": In(vector_layout(vectors)),
                "acc_name": Out(name_layout(config.accumulators)),
                "acc": In(ACCUMULATOR_BITS),
                "write": Out(accumulator_write(accumulators)),
                "write_enable": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        issue = self.issue
        flight = data.StructLayout({"integer": 1, "mx9": 1, "to": 3})
        # flights[c] are in cycle c + 1.
        flights = [Signal(flight, name=f"flight_{cycle}") for cycle in range(1, MX9.write + 1)]
        later = Signal(VECTOR_SLOT, reset_less=True)
        m.d.comb += [
            flights[0].integer.eq(issue.op == VectorOp.INTEGER),
            flights[0].mx9.eq(issue.op == VectorOp.MX9),
            flights[0].to.eq(issue.to),
            self.second.eq(flights[1].mx9),
        ]
        with m.If(self.advance):
            m.d.sync += [after.eq(before) for before, after in pairwise(flights)]
            m.d.sync += later.eq(issue)
        slot = Signal(VECTOR_SLOT)
        m.d.comb += [
            slot.eq(Mux(self.second, later, issue)),
            self.a_name.index.eq(Mux(self.second, slot.a.index | 1, slot.a.index)),
            # The halves of MX9's A are two W.
            self.a_name.size.eq(Mux(slot.op == VectorOp.MX9, 0, slot.a.size)),
            self.b_name.index.eq(Mux(self.second, slot.b_high.index, slot.b.index)),
            self.b_name.size.eq(slot.b.size),
        ]
        self._multiply(m, platform, slot, flights)
        return m

    def _multiply(self, m: Module, platform, slot: data.View, flights: list[Signal]) -> None:
        """The datapath, its accumulators and results."""
        mac = instantiate(m, platform, "mac", NativeMac, self.config.multiply)
        request, reading, taking = mac.request, flights[MX9.accumulator_read - 1], flights[MX9.accumulator_read]
        held = Signal(ACCUMULATOR_BITS, reset_less=True)
        with m.If(self.advance & reading.mx9):
            m.d.sync += held.eq(self.acc)
        integer, blocks = flights[INTEGER.write - 1], flights[MX9.write - 1]
        name, written = self.acc_name, self.write.name
        m.d.comb += [
            mac.advance.eq(self.advance),
            mac.valid.eq(slot.op != VectorOp.NONE),
            request.mx9.eq(slot.op == VectorOp.MX9),
            request.high.eq(self.second),
            request.native.eq(slot.native),
            request.accumulates.eq(slot.accumulates),
            request.a_signed.eq(slot.a_signed),
            request.b_signed.eq(slot.b_signed),
            *(request[side].x.eq(getattr(self, side).w.as_value()) for side in "ab"),
            *(request[side][part].eq(getattr(self, side)[part].as_value()) for side in "ab" for part in "ge"),
            mac.acc1.eq(Mux(taking.mx9, held, self.acc)),
            name.index.eq(reading.to * SLOTS),
            name.size.eq(WHOLE),
            name.forward.eq(self._path(reading.mx9)),
            self.write_enable.eq(integer.integer | blocks.mx9),
            written.index.eq(Mux(blocks.mx9, blocks.to, integer.to) * SLOTS),
            written.size.eq(WHOLE),
            written.forward.eq(self._path(blocks.mx9)),
            self.write.data.eq(mac.o),
        ]

    def _path(self, is_mx9: Value) -> Value | int:
        """Return the code of a product's bypass."""
        if not self.config.multiply.numerics.accumulator_bypass:
            return 0
        return Mux(is_mx9, FLOAT_FORWARD, INTEGER_FORWARD)
