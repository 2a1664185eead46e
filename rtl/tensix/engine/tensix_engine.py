"""The Tensix engine: tile products from its own operand memories to its own result memory::

      write -> left memory  -> Unpacker -> SrcB --+
                   L1Port                         +-> Matrix unit -> Dst -> Packer -> result memory -> data
      write -> right memory -> Unpacker -> SrcA --+
      command -> CommandCheck -> queues of loads and products -> TileLoader, TileSequencer, TileStorer

Ref: tt-isa-documentation 3930471, TensixCoprocessor.
"""

from dataclasses import replace

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.rtl.common.pipeline.faults import first_of, keep_first
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.engine.command import WORD_BITS, WORD_BYTES, command_layout
from bitpath.rtl.tensix.engine.command_check import BANK_STATE, CommandCheck, after_product
from bitpath.rtl.tensix.engine.config import PACK_ROWS, TensixEngineConfig
from bitpath.rtl.tensix.engine.l1_port import NEED_BITS, L1Port
from bitpath.rtl.tensix.engine.tile_loader import TileLoader, needed_load_layout
from bitpath.rtl.tensix.engine.tile_sequencer import TileSequencer
from bitpath.rtl.tensix.engine.tile_storer import TileStorer
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit

QUEUE_DEPTH = 16
"""Capacity of each queue: left loads, right loads and products. A bank's next load may be that many products ahead."""


class EngineMemory(enum.Enum, shape=2):
    """Memory of the engine that a host write selects."""

    LEFT = 0
    RIGHT = 1
    RESULT = 2


def host_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a word that the host writes to a memory."""
    address = ceil_log2(max(config.operand_depth, config.result_depth))
    return data.StructLayout({"data": WORD_BITS, "address": address, "memory": EngineMemory})


class TensixEngine(wiring.Component):
    """Two operand memories with their unpackers, the Matrix unit, and a packer with the result memory.

    The host writes tiles, streams commands, waits until ``busy`` is low, and reads results. Loads run ahead of products by one
    bank, and packing runs behind them. Results depend on the operands alone, not on the number of dot products.

    Throughput: one command in the longest of

    - the loads of its tiles: two address cycles, then 64 bytes a cycle of one load at a time, exponents aside. A load begins when
      its bank is given back, and its tile is readable three cycles after its last word;
    - 16 instructions for each phase, plus 4 cycles to clear the Dst tile (5 directly behind a product into the same tile);
    - 33 cycles for a stored tile of 8- or 16-bit datums, 65 with 32 bits or accumulation in L1. A product into a tile stalls until
      its rows have been read.

    ``golden.tensix.matmul.schedule`` is the cycle model. A refused command loads, multiplies and stores nothing, and the next
    one is as if it had not come.

    Parameters
    ----------
    config : Matrix unit and memories.

    Members
    -------
    command : In(stream of command_layout)
    write : In(stream of host_write_layout)
    read : In(stream of result addresses), data : Out(stream of 512 bits), one response for each request
    busy : Out(1), a command has arrived and its results are not all stored
    retired : Out(32), tile products completed since reset
    busy_cycles : Out(32), cycles since reset in which ``busy`` was high
    fault : Out(Fault), fault_number : Out(32), of the first refused command or host write since reset or ``clear``, and the commands
        before it
    clear : In(1), clears ``fault``; the next command's number is 0
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "write": In(stream.Signature(host_write_layout(config))),
                "read": In(stream.Signature(ceil_log2(config.result_depth))),
                "data": Out(stream.Signature(WORD_BITS)),
                "busy": Out(1),
                "retired": Out(32),
                "busy_cycles": Out(32),
                "fault": Out(Fault),
                "fault_number": Out(32),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        # Its commands multiply only.
        own = replace(config.unit, pools=False)
        m.submodules.unit = unit = MatrixUnit(own, write_rows=BLOCK_ROWS, read_rows=PACK_ROWS)
        m.submodules.sequencer = sequencer = TileSequencer(config)
        m.submodules.storer = storer = TileStorer(config)
        left = instantiate(m, platform, "left", TileLoader, config)
        right = instantiate(m, platform, "right", TileLoader, config)
        m.submodules.port = port = L1Port()
        connect(m, left.o, unit.write_b)
        connect(m, right.o, unit.write_a)
        connect(m, left.port, port.left)
        connect(m, right.port, port.right)
        connect(m, sequencer.instruction, unit.instruction)
        connect(m, sequencer.store, storer.store)
        connect(m, storer.read_dst, unit.read_dst)
        connect(m, unit.dst, storer.dst)

        queues = self._dispatch(m, left, right, sequencer)
        self._memories(m, left, right, storer)
        retires = sequencer.product.valid & sequencer.product.ready
        m.d.comb += [
            left.free.eq(unit.free_b),
            right.free.eq(unit.free_a),
            sequencer.packing.eq(storer.packing),
            self.busy.eq(
                self.command.valid
                | Cat(queue.r_rdy for queue in queues).any()
                | ~left.idle
                | ~right.idle
                | unit.busy
                | storer.busy
            ),
        ]
        m.d.sync += [self.retired.eq(self.retired + retires), self.busy_cycles.eq(self.busy_cycles + self.busy)]
        return m

    def _dispatch(self, m: Module, left, right, sequencer: TileSequencer) -> list[SyncFIFO]:
        """Split a command into the queues of loads and products, in one cycle."""
        p = self.command.p
        product = Signal(sequencer.product.p.shape())
        m.d.comb += [
            product.style.eq(p.style),
            product.src_a_format.eq(p.right.control.register_format),
            product.src_b_format.eq(p.left.control.register_format),
            product.release_a.eq(p.release_a),
            product.release_b.eq(p.release_b),
            product.flip_a.eq(p.flip_a),
            product.flip_b.eq(p.flip_b),
            product.last_phase.eq(p.last_phase),
            product.clear.eq(p.clear),
            product.stores.eq(p.stores),
            product.store.eq(p.store),
        ]
        m.submodules.check = check = CommandCheck(self.config)
        m.d.comb += check.command.eq(p)
        takes = self.command.valid & self.command.ready
        found = Mux(
            takes & (check.fault != Fault.NONE), check.fault, Mux(self.write.valid, self._wrong_write(), Fault.NONE)
        )
        keep_first(m, taken=takes, found=found, clear=self.clear, fault=self.fault, number=self.fault_number)
        goes = takes & (check.fault == Fault.NONE)
        number = Signal(NEED_BITS)
        with m.If(goes):
            m.d.sync += number.eq(number + 1)
        loads = {}
        for name, load, release, flip in (
            ("left", p.left, p.release_b, p.flip_b),
            ("right", p.right, p.release_a, p.flip_a),
        ):
            banks = Signal(BANK_STATE, name=f"{name}_banks")
            needed = Signal(needed_load_layout(self.config), name=f"{name}_needed")
            m.d.comb += [getattr(check, name).eq(banks), needed.load.eq(load), needed.need.eq(number)]
            loads[name] = needed, ~banks.holds.bit_select(banks.reads, 1)
            with m.If(goes):
                m.d.sync += banks.eq(after_product(banks, release, flip))
        queues = []
        for name, (payload, wanted), sink in (
            ("left", loads["left"], left.load),
            ("right", loads["right"], right.load),
            ("product", (product, 1), sequencer.product),
        ):
            m.submodules[f"{name}_queue"] = queue = SyncFIFO(width=payload.shape().size, depth=QUEUE_DEPTH)
            m.d.comb += [
                queue.w_data.eq(payload),
                queue.w_en.eq(goes & wanted),
                sink.payload.eq(queue.r_data),
                sink.valid.eq(queue.r_rdy),
                queue.r_en.eq(sink.ready),
            ]
            queues.append(queue)
        m.d.comb += self.command.ready.eq(Cat(queue.w_rdy for queue in queues).all())
        return queues

    def _wrong_write(self) -> Value:
        """Return what is wrong with a host write; it is taken and writes nothing."""
        memory, address = self.write.p.memory, self.write.p.address
        known = Value.cast(memory).matches(*(each.value for each in EngineMemory))
        depth = Mux(memory == EngineMemory.RESULT, self.config.result_depth, self.config.operand_depth)
        return first_of((~known, Fault.OPERATION), (address >= depth, Fault.RANGE))

    def _memories(self, m: Module, left, right, storer: TileStorer) -> None:
        """Connect host writes to the memories; the storer has priority in the result memory."""
        writes = self.write.valid & (self._wrong_write() == Fault.NONE.value)
        for loader, name in ((left, EngineMemory.LEFT), (right, EngineMemory.RIGHT)):
            m.d.comb += [
                loader.write.data.eq(self.write.p.data),
                loader.write.address.eq(self.write.p.address),
                loader.write_valid.eq(writes & (self.write.p.memory == name)),
            ]
        layout = data.ArrayLayout(8, WORD_BYTES)
        m.submodules.results = results = memory.Memory(shape=layout, depth=self.config.result_depth, init=[])
        write, old, answer = results.write_port(granularity=1), results.read_port(), results.read_port()
        storing = storer.write.bytes.any()
        to_result = self.write.p.memory == EngineMemory.RESULT
        m.d.comb += [
            self.write.ready.eq(~to_result | ~storing),
            write.addr.eq(Mux(storing, storer.write.address, self.write.p.address)),
            write.data.eq(Mux(storing, storer.write.data, self.write.p.data)),
            write.en.eq(Mux(storing, storer.write.bytes, (writes & to_result).replicate(WORD_BYTES))),
            old.addr.eq(storer.old_address),
            storer.old.eq(old.data.as_value()),
        ]
        # The read port keeps its word while the response stalls.
        free = ~self.data.valid | self.data.ready
        m.d.comb += [
            self.read.ready.eq(free),
            answer.addr.eq(self.read.p),
            answer.en.eq(free),
            self.data.p.eq(answer.data.as_value()),
        ]
        with m.If(free):
            m.d.sync += self.data.valid.eq(self.read.valid)
