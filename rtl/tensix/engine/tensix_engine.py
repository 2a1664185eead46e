"""The Tensix engine: tile products from its own operand memories to its own result memory::

      write -> left memory  -> Unpacker -> SrcB --+
                   L1Port                         +-> Matrix unit -> Dst -> Packer -> result memory -> data
      write -> right memory -> Unpacker -> SrcA --+
      command -> CommandCheck -> queues of loads and products -> TileLoader, TileSequencer, TileStorer

Ref: tt-isa-documentation 3930471, TensixCoprocessor.
"""

from dataclasses import replace

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, TILE_PASS
from bitpath.rtl.common.pipeline.faults import first_of, keep_first
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.word_memory import word_memory
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup
from bitpath.rtl.tensix.engine.command import (
    BANK_STATE,
    MAX_ROWS_A_CYCLE_LOG2,
    MAX_ROWS_PER_WORD_LOG2,
    PACK_ROWS,
    ROWS_PER_WORD_LOG2,
    STEPS,
    TILE_ROW_BITS,
    TILE_ROWS,
    WORD_BITS,
    WORD_BYTES,
    CommandCheck,
    TensixEngineConfig,
    after_product,
    command_layout,
    has_exponents,
    load_layout,
    product_layout,
    rows_a_cycle_log2,
    rows_per_word_log2,
    store_layout,
)
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.instruction import Instruction, MatrixUnitConfig, Opcode, Zeroed
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.matrix.registers import BANKS, DstAddress, dst_rows_layout, src_write_layout
from bitpath.rtl.tensix.pack.l1_round import ACCUMULATING_FORMATS
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS
from bitpath.rtl.tensix.unpack.unpacker import Unpacker

# The port of L1 that both unpackers share: 64 bytes a cycle, to the load whose product comes first.
#
# Ref: tt-isa-documentation 3930471, L1 and UNPACR_Regular. The order is chosen: the documents state shares of the port, which
# depend on both unpackers.


NEED_BITS = 6
"""Width of a product's number, by which loads are ordered; at most 31 products are in the queues."""

LoadPort = wiring.Signature(
    {
        "need": Out(NEED_BITS),
        "waits": Out(1),
        "begins": In(1),
        "addresses": Out(1),
        "asks": Out(1),
        "granted": In(1),
    }
)
"""A loader's side of the port.

- ``need`` is the number of the product that needs the load.
- A load that ``waits`` has its first address cycle when it ``begins``, and ``addresses`` in its second one.
- Then it ``asks`` for a word in every cycle in which it can take one, and gets it when it is ``granted``.
"""


class L1Port(wiring.Component):
    """Grants one word of 64 bytes a cycle, and one load's two address cycles at a time; combinational: latency 0.

    Of two loads the one with the smaller ``need`` comes first, the left one if they are equal. Its words interrupt the other's,
    and the other's address cycles pass beside them.

    Members
    -------
    left, right : In(LoadPort)
    """

    clocked = False
    left: In(LoadPort)
    right: In(LoadPort)

    def elaborate(self, platform):
        m = Module()
        left, right = self.left, self.right
        distance = Signal(NEED_BITS)
        right_first = Signal()
        addressed = left.addresses | right.addresses
        m.d.comb += [
            distance.eq(right.need - left.need),
            right_first.eq(distance[-1]),
            left.begins.eq(left.waits & ~addressed & ~(right.waits & right_first)),
            right.begins.eq(right.waits & ~addressed & ~(left.waits & ~right_first)),
            left.granted.eq(left.asks & ~(right.asks & right_first)),
            right.granted.eq(right.asks & ~(left.asks & ~right_first)),
        ]
        return m


# Sequencer of the Matrix unit: a tile product to its instructions.
#
# Ref: tt-llk, llk_math_matmul.h.


FACES = TILE_ROWS // FACE
HALVES = FACE // BLOCK_ROWS
PASS_INSTRUCTIONS = len(TILE_PASS) * HALVES
"""MVMULs of one fidelity phase."""


class TileSequencer(wiring.Component):
    """Issues the instructions of a tile product: ZEROACC for each face if it clears, then 16 MVMULs for each phase.

    The last MVMUL releases and flips the banks of the sources as the command says, and hands a tile that stores to the storer. A
    product stalls while its Dst tile waits for the packer or is being packed.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    product : In(stream of product_layout), taken with its last instruction
    instruction : Out(stream of Instruction)
    store : Out(stream of store_layout), in the cycle of the last instruction
    packing : In(16), the 16-bit tiles of Dst that are to be packed or being packed
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "product": In(stream.Signature(product_layout(config))),
                "instruction": Out(stream.Signature(Instruction)),
                "store": Out(stream.Signature(store_layout(config))),
                "packing": In(16),
            }
        )

    def elaborate(self, platform):
        m = Module()
        product, p = self.product, self.product.p
        instruction, i = self.instruction, self.instruction.p
        dst32 = p.store.control.dst32

        cleared = Signal()
        face = Signal(range(FACES))
        phase = Signal(2)
        index = Signal(range(PASS_INSTRUCTIONS))
        clears = Signal()
        last = Signal()
        m.d.comb += [
            clears.eq(p.clear & ~cleared),
            last.eq(~clears & (phase == p.last_phase) & (index == PASS_INSTRUCTIONS - 1)),
        ]
        # The faces of one pass, as a table of constants.
        step, half = index[1:], index[0]
        src_b_face, src_a_face, dst_face = (
            Cat(Const(faces[k], 2) for faces in TILE_PASS).word_select(step, 2) for k in range(3)
        )
        tile_row = Signal(range(TILE_ROWS))
        m.d.comb += [
            tile_row.eq(Mux(clears, Cat(Const(0, 4), face), Cat(Const(0, 3), half, dst_face))),
            i.opcode.eq(Mux(clears, Opcode.ZEROACC, Opcode.MVMUL)),
            i.zeroed.eq(Zeroed.SIXTEEN),
            i.style.eq(p.style),
            i.dst32.eq(dst32),
            i.phase.eq(phase),
            i.src_a_format.eq(p.src_a_format),
            i.src_b_format.eq(p.src_b_format),
            i.src_a_row.eq(Cat(Const(0, 4), src_a_face)),
            i.src_b_row.eq(Cat(Const(0, 3), half, src_b_face)),
            i.dst_row.eq(Cat(tile_row, p.store.dst_tile)),
            i.release_a.eq(last & p.release_a),
            i.release_b.eq(last & p.release_b),
            i.flip_a.eq(last & p.flip_a),
            i.flip_b.eq(last & p.flip_b),
        ]

        free = Signal()
        hands_on = last & p.stores
        m.d.comb += [
            free.eq(~(self.packing & tile_mask(p.store.dst_tile, dst32)).any()),
            # No combinational loop: the readiness of the storer does not depend on this valid.
            instruction.valid.eq(product.valid & free & (~hands_on | self.store.ready)),
            self.store.valid.eq(instruction.valid & instruction.ready & hands_on),
            self.store.p.eq(p.store),
            product.ready.eq(instruction.valid & instruction.ready & last),
        ]
        with m.If(instruction.valid & instruction.ready):
            with m.If(clears):
                m.d.sync += [face.eq(face + 1), cleared.eq(face == FACES - 1)]
            with m.Else():
                m.d.sync += index.eq(index + 1)
                with m.If(index == PASS_INSTRUCTIONS - 1):
                    m.d.sync += phase.eq(Mux(last, 0, phase + 1))
            with m.If(last):
                m.d.sync += cleared.eq(0)
        return m


def tile_mask(tile, dst32):
    """Return the 16-bit tiles of Dst that a tile occupies: one, or two for a 32-bit tile."""
    return Mux(dst32, 0b11 << (tile[:3] << 1), 1 << tile)


# Load of a tile: operand memory, unpacker, SrcA or SrcB::
#
#       cycle      0          1          2 .. n + 1     n + 2      n + 3      n + 4
#       load       address    address    n words        last word  last rows  bank readable
#                             exponents                 unpacked   written
#
# Ref: tt-isa-documentation 3930471, UNPACR_Regular.


def operand_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a word that is written to an operand memory."""
    return data.StructLayout({"data": WORD_BITS, "address": ceil_log2(config.operand_depth)})


def needed_load_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return a load with the number of the product that needs it."""
    return data.StructLayout({"load": load_layout(config), "need": NEED_BITS})


class State(enum.Enum, shape=2):
    """State of the present load."""

    WAITS = 0  # for a load, for its bank, or for the other loader's address cycles
    ADDRESSES = 1  # second address cycle
    READS = 2


class TileLoader(wiring.Component):
    """An operand memory, its unpacker, and the addresses of a tile's rows.

    A load begins when its bank belongs to the unpacker. It takes two address cycles, then one word of 64 bytes in each cycle in
    which the port grants it; BFP2 takes 16 bytes. Exponents are read in the second address cycle, beside the port.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    write : In(operand_write_layout), write_valid : In(1)
    load : In(stream of needed_load_layout), taken with the tile's last word
    port : Out(LoadPort)
    free : In(2), the banks that belong to the unpacker
    o : Out(stream of src_write_layout)
    idle : Out(1), no row is on its way to the bank
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "write": In(operand_write_layout(config)),
                "write_valid": In(1),
                "load": In(stream.Signature(needed_load_layout(config))),
                "port": Out(LoadPort),
                "free": In(BANKS),
                "o": Out(stream.Signature(src_write_layout(BLOCK_ROWS))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        load, port = self.load.p.load, self.port
        m.submodules.unpacker = unpacker = Unpacker(self.config.unpack_conversion)

        # Stage 1 requests a word of the memory; stage 2 holds it.
        state = Signal(State)
        bank = Signal()
        row = Signal(TILE_ROW_BITS)
        advance = Signal()
        word = Signal(WORD_BITS)
        asked, first = Signal.like(self.write.address), Signal.like(self.write.address)
        values = {
            "write_address": self.write.address,
            "write_data": self.write.data,
            "write_enable": self.write_valid,
            "read_address": asked,
            "read_enable": advance,
            "read_data": word,
        }
        word_memory(m, platform, "words", values, self.config.operand_depth)

        steps = data.StructLayout(
            {
                "row": TILE_ROW_BITS,
                "in_word": range(MAX_ROWS_PER_WORD_LOG2 + 1),
                "at_once": range(MAX_ROWS_A_CYCLE_LOG2 + 1),
                "last": 1,
            }
        )
        present, held = Signal(steps), Signal(steps, reset_less=True)
        held_control = Signal.like(load.control, reset_less=True)
        held_valid, held_exponents = Signal(), Signal()
        exponents_asked = Signal()
        after = Signal(TILE_ROW_BITS)
        m.d.comb += [
            port.need.eq(self.load.p.need),
            port.waits.eq(self.load.valid & (state == State.WAITS) & self.free.bit_select(bank, 1)),
            port.addresses.eq(state == State.ADDRESSES),
            port.asks.eq((state == State.READS) & advance),
            present.row.eq(row),
            present.in_word.eq(rows_per_word_log2(load.control.l1_format)),
            present.at_once.eq(rows_a_cycle_log2(load.control.l1_format)),
            after.eq(row + (1 << present.at_once)),
            present.last.eq(after == 0),
            exponents_asked.eq(port.addresses & has_exponents(load.control.l1_format)),
            first.eq(load.address + has_exponents(load.control.l1_format)),
            asked.eq(Mux(exponents_asked, load.address, first + (row >> present.in_word))),
            self.load.ready.eq(port.granted & present.last),
        ]
        with m.Switch(state):
            with m.Case(State.WAITS):
                with m.If(port.begins):
                    m.d.sync += state.eq(State.ADDRESSES)
            with m.Case(State.ADDRESSES):
                with m.If(advance):
                    m.d.sync += state.eq(State.READS)
            with m.Case(State.READS):
                with m.If(port.granted):
                    m.d.sync += row.eq(after)
                    with m.If(present.last):
                        m.d.sync += [state.eq(State.WAITS), bank.eq(~bank)]
        with m.If(advance):
            m.d.sync += [
                held_valid.eq(port.granted),
                held_exponents.eq(exponents_asked),
                held.eq(present),
                held_control.eq(load.control),
            ]

        exponents = Signal(WORD_BITS, reset_less=True)
        request = unpacker.i
        m.d.comb += [
            advance.eq(~held_valid | request.ready),
            request.valid.eq(held_valid),
            request.p.control.eq(held_control),
        ]
        with m.If(held_exponents):
            m.d.sync += exponents.eq(word)
        for in_word, at_once in STEPS:
            with m.If((held.in_word == in_word) & (held.at_once == at_once)):
                bits = WORD_BITS >> (in_word - at_once)
                m.d.comb += request.p.datums[:bits].eq(word.word_select(held.row[at_once:in_word], bits))
        for at_once in range(MAX_ROWS_A_CYCLE_LOG2 + 1):
            with m.If(held.at_once == at_once):
                bits = EXPONENT_BITS << at_once
                found = exponents.word_select(held.row[at_once:], bits)
                m.d.comb += request.p.exponents.as_value()[:bits].eq(found)
        self._write(m, request, held, unpacker)
        return m

    def _write(self, m: Module, request, held, unpacker: Unpacker) -> None:
        """Write the unpacked rows, which leave the unpacker a cycle after their request."""
        written = Signal.like(held, reset_less=True)
        with m.If(request.ready):
            m.d.sync += written.eq(held)
        m.d.comb += [
            self.o.p.row.eq(written.row),
            self.o.p.count.eq(written.at_once),
            self.o.p.last.eq(written.last),
            self.o.valid.eq(unpacker.o.valid),
            unpacker.o.ready.eq(self.o.ready),
            self.idle.eq(~self.load.valid & ~request.valid & ~unpacker.o.valid),
        ]
        for at_once in range(MAX_ROWS_A_CYCLE_LOG2 + 1):
            with m.If(written.at_once == at_once):
                for lane, row in enumerate(self.o.p.values):
                    words = zip(row, unpacker.o.p[lane % (1 << at_once)], strict=True)
                    m.d.comb += [word.eq(unpacked) for word, unpacked in words]


# Store of a Dst tile: Dst, packer, result memory::
#
#       cycle   0       1 .. 32          33               34              38        39
#       tile    taken   rows requested   last Dst rows    last packed     written   exponents
#
# Ref: tt-isa-documentation 3930471, Packers.


STORES = 16
"""Tiles that wait for the packer: no more than Dst has."""
SINGLE_LOGS = range(1 + max(ROWS_PER_WORD_LOG2[fmt] for fmt in ACCUMULATING_FORMATS))
"""Rows in one word of L1, as powers of two, of formats whose rows may come one a cycle."""


def result_write_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of a write to the result memory, with byte enables."""
    return data.StructLayout({"data": WORD_BITS, "bytes": WORD_BYTES, "address": ceil_log2(config.result_depth)})


def rows_layout(config: TensixEngineConfig) -> data.StructLayout:
    """Return the layout of the storer's record of rows in flight: ``pair`` is two rows, from an even one."""
    return data.StructLayout(
        {
            "control": PackControl,
            "tile": ceil_log2(config.result_depth),
            "row": TILE_ROW_BITS,
            "pair": 1,
            "last": 1,
            "valid": 1,
        }
    )


class TileStorer(wiring.Component):
    """Reads the rows of Dst tiles, packs them and writes them; block formats write their 64 exponents as one more word.

    A tile takes one cycle to begin, then two rows a cycle, or one row a cycle if its datums have 32 bits or accumulate in L1. Rows
    of consecutive tiles follow each other through the packer, which never stalls; the exponents are written in the cycle between
    two tiles. A tile that accumulates begins when all earlier rows are written.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    store : In(stream of store_layout), tiles to be stored in order
    read_dst : Out(stream of DstAddress), dst : In(stream of dst_rows_layout)
    old_address : Out, old : In(512), the word of the result memory, one cycle later
    write : Out(result_write_layout)
    packing : Out(16), the 16-bit tiles of Dst that wait for the packer or are being read
    busy : Out(1), a tile waits or is not all written
    """

    def __init__(self, config: TensixEngineConfig):
        self.config = config
        super().__init__(
            {
                "store": In(stream.Signature(store_layout(config))),
                "read_dst": Out(stream.Signature(DstAddress)),
                "dst": In(stream.Signature(dst_rows_layout(PACK_ROWS))),
                "old_address": Out(ceil_log2(config.result_depth)),
                "old": In(WORD_BITS),
                "write": Out(result_write_layout(config)),
                "packing": Out(16),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        layout = store_layout(self.config)
        m.submodules.packer = packer = Packer(self.config.pack_conversion)
        m.submodules.stores = stores = SyncFIFO(width=layout.size, depth=STORES)
        following, held = Signal(layout), Signal(layout, reset_less=True)
        reading = Signal()
        asked = Signal(TILE_ROW_BITS)
        present = Signal(rows_layout(self.config))
        # Rows on their way: requested, read, and in the stages of the packer.
        ages = [Signal(rows_layout(self.config), name=f"rows_{age}") for age in range(1, Packer.LATENCY + 3)]
        writes_exponents = Signal()
        empty = ~Cat(each.valid for each in ages).any() & ~writes_exponents
        takes = Signal()
        after = Signal(TILE_ROW_BITS + 1)
        m.d.comb += [
            stores.w_data.eq(self.store.p),
            stores.w_en.eq(self.store.valid),
            self.store.ready.eq(stores.w_rdy),
            following.eq(stores.r_data),
            takes.eq(~reading & stores.r_rdy & (empty | ~following.control.accumulate)),
            stores.r_en.eq(takes),
            self.busy.eq(reading | stores.r_rdy | ~empty),
            present.control.eq(held.control),
            present.tile.eq(held.address),
            present.row.eq(asked),
            present.pair.eq(rows_per_word_log2(held.control.out_format).any() & ~held.control.accumulate),
            after.eq(asked + Mux(present.pair, PACK_ROWS, 1)),
            present.last.eq(after == TILE_ROWS),
            present.valid.eq(self.read_dst.valid & self.read_dst.ready),
            self.read_dst.valid.eq(reading),
            self.read_dst.p.row.eq(Cat(asked, held.dst_tile)),
            self.read_dst.p.dst32.eq(held.control.dst32),
            self.read_dst.p.fp16.eq(held.fp16),
            self.dst.ready.eq(1),
        ]
        begun = Mux(
            self.store.valid & self.store.ready, tile_mask(self.store.p.dst_tile, self.store.p.control.dst32), 0
        )
        ended = Mux(present.valid & present.last, tile_mask(held.dst_tile, held.control.dst32), 0)
        m.d.sync += self.packing.eq(self.packing & ~ended | begun)
        with m.If(takes):
            m.d.sync += [reading.eq(1), held.eq(following)]
        with m.If(present.valid):
            m.d.sync += [asked.eq(after), reading.eq(~present.last)]
        m.d.sync += [older.eq(younger) for younger, older in zip([present, *ages], ages, strict=False)]

        self._pack(m, packer, ages[0], ages[1])
        self._write(m, packer, ages[-1], writes_exponents)
        return m

    def _pack(self, m: Module, packer: Packer, answered: data.View, waiting: data.View) -> None:
        """Hand rows from Dst to the packer one cycle later, with the word of the result memory onto which one accumulates."""
        rows = Signal(dst_rows_layout(PACK_ROWS), reset_less=True)
        # A single row of Dst comes with its neighbour.
        single = Mux(answered.row[0], self.dst.p[1].as_value(), self.dst.p[0].as_value())
        m.d.comb += self.old_address.eq(self._place(answered))
        m.d.sync += [
            rows[0].eq(Mux(answered.pair, self.dst.p[0].as_value(), single)),
            rows[1].eq(self.dst.p[1]),
        ]
        # A separate signal: Verilog's `always @*` would never assign the constant field beside it.
        old = Signal(WORD_BITS)
        log = rows_per_word_log2(waiting.control.out_format)
        for log2 in SINGLE_LOGS:
            with m.If(log == log2):
                m.d.comb += old.eq(self.old.word_select(waiting.row[:log2], WORD_BITS >> log2))
        m.d.comb += [packer.i.valid.eq(waiting.valid), packer.o.ready.eq(1)]
        for row, request in zip(rows, packer.i.p, strict=True):
            m.d.comb += [
                request.row.eq(row),
                request.old.eq(old),
                request.control.eq(waiting.control),
                request.masked.eq(0),  # no edge mask: tiles are stored whole
            ]

    def _write(self, m: Module, packer: Packer, packed: data.View, writes_exponents: Signal) -> None:
        """Write packed rows, and in the cycle behind the last ones of a block format the exponents."""
        exponents = Signal(WORD_BITS, reset_less=True)
        tile = Signal.like(packed.tile, reset_less=True)
        first, second = packer.o.p
        log = rows_per_word_log2(packed.control.out_format)
        m.d.comb += self.write.address.eq(self._place(packed))
        for log2 in range(MAX_ROWS_PER_WORD_LOG2 + 1):
            bits, row_bytes = WORD_BITS >> log2, WORD_BYTES >> log2
            with m.If(log == log2):
                if log2 in SINGLE_LOGS:
                    m.d.comb += self.write.data.eq(first.datums[:bits].replicate(1 << log2))
                    with m.If(packed.valid & ~packed.pair):
                        m.d.comb += self.write.bytes.word_select(packed.row[:log2], row_bytes).eq(~0)
                if log2:
                    with m.If(packed.pair):
                        pair = Cat(first.datums[:bits], second.datums[:bits])
                        m.d.comb += self.write.data.eq(pair.replicate(1 << log2 - 1))
                        with m.If(packed.valid):
                            m.d.comb += self.write.bytes.word_select(packed.row[1:log2], 2 * row_bytes).eq(~0)
        with m.If(packed.valid):
            pair = Cat(first.exponent, second.exponent)
            m.d.sync += exponents.word_select(packed.row[1:], PACK_ROWS * EXPONENT_BITS).eq(pair)
        m.d.sync += [
            writes_exponents.eq(packed.valid & packed.last & has_exponents(packed.control.out_format)),
            tile.eq(packed.tile),
        ]
        with m.If(writes_exponents):
            m.d.comb += [
                self.write.address.eq(tile),
                self.write.data.eq(exponents),
                self.write.bytes.eq(Const(-1, WORD_BYTES)),
            ]

    def _place(self, rows: data.View) -> data.View:
        """Return the word of the result memory that holds rows."""
        log = rows_per_word_log2(rows.control.out_format)
        return rows.tile + has_exponents(rows.control.out_format) + (rows.row >> log)


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
        # Its commands do nothing but multiply.
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
        """Return the fault of a host write; a faulty write is taken and changes nothing."""
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


RECORDS = (
    Unit(
        name="tensix_engine",
        config_type=TensixEngineConfig,
        build=TensixEngine,
        summary="Tensix: Matrix unit, unpackers, packer and memories",
        covered=Covered(TensixEngineConfig(unit=MatrixUnitConfig(rows=4, cols=8)), 4),
        agreed=TensixEngineConfig(),
        waves=(
            CLOCK,
            WaveGroup("commands", r"(command__(?!payload\.(left|right|store)\.)|busy|retired|fault|clear)"),
            WaveGroup("host", r"(write|read|data)__"),
            WaveGroup("loads and store of the command", r"command__"),
            WaveGroup("command check", r"check\."),
            WaveGroup("loads", r"(left|right)\."),
            WaveGroup("sequencer", r"sequencer\."),
            WaveGroup("Matrix unit", r"unit\.(instruction|starting|flight_|fire|step|src_[ab]\.|dst_register\.)"),
            WaveGroup("first dot product", r"unit\.cells_0\.cell_0\."),
            WaveGroup("packer and results", r"(storer|results)\."),
        ),
    ),
)
