"""Store unit: accumulators to memory by SRS, or by conversion to MX9 through the store FIFO.

::

    cycle   1               2            4                7            8
    SRS     acc, address    [register]   vector           bank access
    push    acc, FIFO state [register]   blocks in 5      FIFO         bank access of a line

Ref: llvm-aie's itineraries and register file (target aie2ps).
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, MX_BLOCK
from bitpath.golden.aie_ml_v2.declarations.modes import INT8
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FLUSH, LINE_BYTES, PUSH_MX, STORE_SRS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert, MxConvertConfig, steps_of
from bitpath.rtl.aie_ml_v2.convert.srs import IntegerLanesConfig, Srs
from bitpath.rtl.aie_ml_v2.core.address_unit import POINTER_WRITE, SHIFT_BITS
from bitpath.rtl.aie_ml_v2.core.bundle import STORE_SLOT, StoreOp
from bitpath.rtl.aie_ml_v2.tile.fifos import COUNT, FIFO_BITS, LINE_BITS, PLACE_BITS, StoreFifo, StoreFifoConfig
from bitpath.rtl.aie_ml_v2.vector.native_mac import ACCUMULATOR_BITS
from bitpath.rtl.common.pipeline.pipeline_registers import Delay
from bitpath.rtl.common.pipeline.shared_instances import instantiate

STORE_ACCESS = data.StructLayout(
    {"valid": 1, "address": ADDRESS_BITS, "size": 3, "data": LINE_BITS, "mask": LINE_BYTES}
)
"""Layout of an access to memory; ``size`` is the logarithm of its bytes."""
BLOCKS = INT8.lanes // MX_BLOCK
BLOCK_BITS = MX_BLOCK * FP32.width
HELD = 1
"""Cycles from the issue to the register of the accumulator."""
FIFO_CYCLES = StoreFifoConfig()
assert STORE_SRS.memory
assert PUSH_MX.memory == FLUSH.memory == 2 + FIFO_CYCLES.latency + FIFO_CYCLES.late


def srs_size(slot: data.View) -> Value:
    """Return the logarithm of SRS's bytes."""
    # A bm has 64 bytes; 32 bits become 8 or 16, 64 bits become 16 or 32.
    return slot.source.size + Mux(slot.wide, 5, 4)


class StoreUnit(wiring.Component):
    """It takes an operation a cycle. Structural hazard: SRS in the cycle after a push or a flush; both would access
    memory in one cycle.

    Parameters
    ----------
    numerics : of the conversion.
    mx9 : whether it converts to MX9.

    Members
    -------
    advance : In(1), clock enable of everything; must be 0 while ``ready`` is
    ready : Out(1), from some cycles after reset on
    issue : In(STORE_SLOT), address : In(20), shift : In(6), acc : In(2048), in cycle 1
    pointer : In(20), pointer_write : Out(POINTER_WRITE), of the FIFO
    access : Out(STORE_ACCESS)
    held : Out(1024), count : Out, the FIFO's registers
    host_write : In(2), halves of the FIFO's bytes to write; host_counts : In(1); host_data : In(512)
    """

    def __init__(self, numerics: AieNumerics, mx9: bool):
        self.numerics, self.mx9 = numerics, mx9
        super().__init__(
            {
                "advance": In(1),
                "ready": Out(1),
                "issue": In(STORE_SLOT),
                "address": In(ADDRESS_BITS),
                "pointer": In(ADDRESS_BITS),
                "shift": In(SHIFT_BITS),
                "acc": In(ACCUMULATOR_BITS),
                "pointer_write": Out(POINTER_WRITE),
                "access": Out(STORE_ACCESS),
                "held": Out(FIFO_BITS),
                "count": Out(COUNT),
                "host_write": In(2),
                "host_counts": In(1),
                "host_data": In(LINE_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        issue, op = self.issue, self.issue.op
        acc = Signal(ACCUMULATOR_BITS, reset_less=True)
        control = Signal(STORE_SLOT, reset_less=True)
        shift = Signal(SHIFT_BITS, reset_less=True)
        with m.If(self.advance & ((op == StoreOp.SRS) | (op == StoreOp.PUSH))):
            m.d.sync += [acc.eq(self.acc), control.eq(issue), shift.eq(self.shift)]
        vector, ready = self._srs(m, platform, acc, control, shift)
        image, converts = self._images(m, platform, acc, control)
        fifo = self._fifo(m, platform, image)

        asked = Signal(data.StructLayout({"valid": 1, "address": ADDRESS_BITS, "size": 3}))
        m.d.comb += [
            asked.valid.eq(op == StoreOp.SRS),
            asked.address.eq(self.address),
            asked.size.eq(srs_size(issue)),
            self.ready.eq(Cat(ready, converts).all()),
        ]
        due = data.View(asked.shape(), self._delay(m, platform, "to_memory", asked, STORE_SRS.memory - 1))
        access, line = self.access, fifo.store
        with m.If(fifo.store_valid):
            m.d.comb += [
                access.valid.eq(1),
                access.address.eq(line.line << PLACE_BITS),
                access.size.eq(PLACE_BITS),
                access.data.eq(line.data),
                access.mask.eq(line.mask),
            ]
        with m.Else():
            m.d.comb += [
                access.valid.eq(due.valid),
                access.address.eq(due.address),
                access.size.eq(due.size),
                access.data.eq(vector),
                access.mask.eq(~0),
            ]
        return m

    def _srs(self, m: Module, platform, acc: Value, control: data.View, shift: Value) -> tuple[Value, Value]:
        """Return the vector in the cycle of its access, and whether the unit is ready."""
        srs = instantiate(m, platform, "srs", Srs, IntegerLanesConfig(lanes=INT8.lanes))
        request = srs.i.p
        # It takes a request in every cycle, and so advances with everything else.
        m.d.comb += [
            srs.i.valid.eq(1),
            srs.o.ready.eq(self.advance),
            request.acc.eq(acc),
            request.control.shift.eq(shift),
            *(
                request.control[name].eq(control[name])
                for name in ("acc64", "wide", "rounding", "saturation", "is_signed")
            ),
        ]
        waits = STORE_SRS.memory - 1 - HELD - Srs.LATENCY
        return self._delay(m, platform, "vector", srs.o.p.vector[:LINE_BITS], waits), srs.o.valid

    def _images(self, m: Module, platform, acc: Value, control: data.View) -> tuple[Value, list[Value]]:
        """Return the blocks' bytes in the cycle in which the FIFO takes them, and whether the conversions are ready."""
        if not self.mx9:
            return Const(0, FIFO_BITS), []
        converts = []
        for number in range(BLOCKS):
            convert = instantiate(m, platform, f"convert_{number}", MxConvert, MxConvertConfig(numerics=self.numerics))
            m.d.comb += [
                convert.i.valid.eq(1),
                convert.o.ready.eq(self.advance),
                convert.i.p.lanes.eq(acc.word_select(number, BLOCK_BITS)),
                convert.i.p.control.block_format.eq(MxCode.MX9),
                convert.i.p.control.rounding.eq(control.rounding),
            ]
            converts.append(convert)
        waits = FIFO_CYCLES.latency + FIFO_CYCLES.late - HELD - len(steps_of(MxConvertConfig(numerics=self.numerics)))
        images = Cat(convert.o.p.image for convert in converts)
        return self._delay(m, platform, "image", images, waits), [convert.o.valid for convert in converts]

    def _fifo(self, m: Module, platform, image: Value) -> StoreFifo:
        """The FIFO with its count."""
        fifo = instantiate(m, platform, "fifo", StoreFifo, FIFO_CYCLES)
        issue, request = self.issue, fifo.request
        m.d.comb += [
            # Nothing is in flight while the host writes.
            fifo.advance.eq(self.advance | self.host_write.any()),
            fifo.enable.eq((issue.op == StoreOp.PUSH) | (issue.op == StoreOp.FLUSH)),
            request.flush.eq(issue.op == StoreOp.FLUSH),
            request.late.eq(1),
            request.bytes.eq(MX9.store_bits // 8),
            request.count.eq(self.count),
            request.pointer.eq(self.pointer),
            fifo.data.eq(image),
            fifo.write.eq(self.host_write),
            fifo.write_data.eq(self.host_data.replicate(2)),
            self.pointer_write.enable.eq(fifo.enable),
            self.pointer_write.value.eq(fifo.next_pointer),
            self.held.eq(fifo.held),
        ]
        with m.If(self.advance & fifo.enable):
            m.d.sync += self.count.eq(fifo.next_count)
        with m.If(self.host_counts):
            m.d.sync += self.count.eq(self.host_data)
        return fifo

    def _delay(self, m: Module, platform, name: str, value: Value, cycles: int) -> Value:
        """Return a value some cycles later."""
        delay = instantiate(m, platform, name, Delay, len(Value.cast(value)), cycles)
        m.d.comb += [delay.advance.eq(self.advance), delay.i.eq(value)]
        return delay.o
