"""A Tensix core: three threads of instructions, two unpackers, the Matrix unit, the Vector unit, the packer and L1::

      words 0 -> Thread --+      +-> RowUnpacker 0 -> SrcA --+
      words 1 -> Thread --+-> ---+-> RowUnpacker 1 -> SrcB --+-> Matrix unit -> Dst -+
      words 2 -> Thread --+      +-> RowPacker <-------------------------------------+
                                 +-> Sfpu <----------------------------------> Dst --+
                                 +-> ConfigFile, Semaphores          both unpackers and the packer <-> L1

Ref: tt-isa-documentation 3930471, TensixCoprocessor; of Blackhole for its packer and its implied formats.
"""

from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup
from bitpath.rtl.tensix.core.config import ChipConfig, TensixCoreConfig
from bitpath.rtl.tensix.core.config_file import THREADS, ConfigFile
from bitpath.rtl.tensix.core.decode import MATRIX, named
from bitpath.rtl.tensix.core.dst_rows import RowOrder, ordered, row_order
from bitpath.rtl.tensix.core.l1_memory import LINES, L1Memory
from bitpath.rtl.tensix.core.matrix_operands import BankFormat, Implied, MatrixOperands, MoveOperands
from bitpath.rtl.tensix.core.pack_address import PackAddress
from bitpath.rtl.tensix.core.row_packer import PACKERS, RowPacker
from bitpath.rtl.tensix.core.row_unpacker import RowUnpacker
from bitpath.rtl.tensix.core.thread import FAULT_NUMBER_BITS, Asks, Executed, Thread
from bitpath.rtl.tensix.core.thread_view import view_layout
from bitpath.rtl.tensix.core.unpack_address import CONTEXT_BITS, UnpackAddress
from bitpath.rtl.tensix.core.vector_access import DstMerge, VectorOperands
from bitpath.rtl.tensix.core.wait_gate import Semaphores
from bitpath.rtl.tensix.engine.tensix_engine import NEED_BITS, L1Port
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.matrix.matrix_unit import DstAccess, MatrixUnit
from bitpath.rtl.tensix.matrix.registers import BANKS
from bitpath.rtl.tensix.sfpu.sfpu import Sfpu
from bitpath.rtl.tensix.stream.expanders import MOP_WRITE
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS

# Choice among the threads that ask for a unit: the first one, until the unit has taken its instruction.


class FirstThread(wiring.Component):
    """Chooses a thread; thread 0 has priority. A thread that was chosen and waits stays chosen while it asks.

    Members
    -------
    asks : In(3)
    taken : In(1), the unit takes the instruction in this cycle
    thread : Out(2); valid : Out(1), a thread asks
    """

    asks: In(THREADS)
    taken: In(1)
    thread: Out(range(THREADS))
    valid: Out(1)

    def elaborate(self, platform):
        m = Module()
        waits, waiting = Signal(), Signal(range(THREADS))
        first = Signal(range(THREADS))
        m.d.comb += [
            first.eq(Mux(self.asks[0], 0, Mux(self.asks[1], 1, 2))),
            self.thread.eq(Mux(waits & self.asks.bit_select(waiting, 1), waiting, first)),
            self.valid.eq(self.asks.any()),
        ]
        m.d.sync += [waits.eq(self.valid & ~self.taken), waiting.eq(self.thread)]
        return m


SIDES = ("a", "b")
ASKED = tuple(Asks.as_shape().members)
STATELESS = ("config", "semaphores")
"""Units that look at nothing but the instruction."""


class SourceState(data.Struct):
    """The bank of a source that the unpacker writes, the bank that the Matrix unit reads next, and whether each owns
    its own."""

    written: 1
    read: 1
    writable: 1
    readable: 1


def l1_write_layout(config: TensixCoreConfig) -> data.StructLayout:
    """Return the layout of a 64-byte word that the host writes to L1."""
    return data.StructLayout({"data": ROW_BITS, "address": ceil_log2(config.l1_words)})


class TensixCore(wiring.Component):
    """Threads execute their words in order, one a cycle; units that they share take one instruction a cycle of all threads.

    The core executes the words of `decode.EXECUTED`, which are all instructions of golden's core, in the modes that
    `UnpackAddress`, `PackAddress`, `MatrixOperands`, `MoveOperands` and `VectorOperands` do not refuse: those of the Vector unit,
    MVMUL, DOTPV, GAPOOL, GMPOOL, ELWMUL, ELWADD, ELWSUB, ZEROACC, the moves MOVA2D, MOVB2D, MOVD2A, MOVD2B, MOVB2A and TRNSPSRCB, ZEROSRC, CLEARDVALID, SETDVALID,
    UNPACR_NOP, SETRWC, INCRWC, the eight instructions of ADCs, UNPACR, PACR, SETDMAREG, WRCFG, RMWCIB, SETC16, the semaphores and STALLWAIT;
    MOP, MOP_CFG and REPLAY in the expanders. A PACR must have its place in L1 (`RowPacker.misplaced`). A refused word changes
    nothing, and the next one is as if it had not come.

    Throughput with 8x16 dot products: an MVMUL a cycle while its banks are there. An UNPACR takes two cycles for addresses, of
    which the second UNPACR's pass beside the first one's data, and one for each 64 bytes; PACRs take a cycle, one for each row, and one for each write of exponents.
    The Vector unit and the packer each wait 96 cycles behind a write to PRNG_SEED.
    Configuration is written in one cycle. The Vector unit takes an instruction a cycle beside the Matrix unit's; SFPLOAD and
    SFPSTORE wait for a cycle in which that one begins nothing, and until no result for their rows is in flight. SFPSTORE defines a row
    with its first word, golden with its last column. Cycles of SFPLOADMACRO are those of the clock, but for the ones in which its
    SFPSTORE waits for Dst, or goes before the load of a thread from other rows; golden counts its thread's instructions.

    Parameters
    ----------
    config : chip, Matrix unit and L1.

    Members
    -------
    words_0, words_1, words_2 : In(streams of 32-bit words)
    mop_0, mop_1, mop_2 : In(streams of MOP_WRITE)
    executed_0, executed_1, executed_2 : Out(Executed)
    write : In(stream of l1_write_layout), words that the packer writes go first
    read : In(stream of word addresses), data : Out(stream of 512 bits), one response for each request; it waits for the packer
    fault_0, fault_1, fault_2 : Out(Fault), fault_number_0, ... : Out(32), of a thread's first refused word since reset or ``clear``, and
        the words that it has executed before, refused ones included
    clear : In(1), clears the faults; a thread's next word has the number 0
    busy : Out(1), a unit works, or an instruction waits at a gate
    """

    def __init__(self, config: TensixCoreConfig):
        self.config = config
        members: dict[str, Any] = {}
        for thread in range(THREADS):
            members[f"words_{thread}"] = In(stream.Signature(WORD_BITS))
            members[f"mop_{thread}"] = In(stream.Signature(MOP_WRITE))
            members[f"executed_{thread}"] = Out(Executed)
            members[f"fault_{thread}"] = Out(Fault)
            members[f"fault_number_{thread}"] = Out(FAULT_NUMBER_BITS)
        super().__init__(
            members
            | {
                "write": In(stream.Signature(l1_write_layout(config))),
                "read": In(stream.Signature(ceil_log2(config.l1_words))),
                "data": Out(stream.Signature(ROW_BITS)),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        threads = [instantiate(m, platform, f"thread_{each}", Thread, config) for each in range(THREADS)]
        file = instantiate(m, platform, "config_file", ConfigFile, ChipConfig(chip=config.chip))
        m.submodules.semaphores = semaphores = Semaphores(ChipConfig(chip=config.chip))
        m.submodules.unit = unit = MatrixUnit(config.unit, write_rows=BLOCK_ROWS, moves=True, accesses=True)
        unpackers = [instantiate(m, platform, f"unpacker_{each}", RowUnpacker, config, each) for each in range(2)]
        packer = instantiate(m, platform, "packer", RowPacker, config)
        connect(m, unpackers[0].o, unit.write_a)
        connect(m, unpackers[1].o, unit.write_b)
        connect(m, unpackers[0].dst, unit.write_dst)
        connect(m, packer.read_dst, unit.read_dst)
        connect(m, unit.dst, packer.dst)

        banks = self._banks(m, unit)
        granted, refused = Signal(THREADS), Signal(data.ArrayLayout(Fault, THREADS))
        choices = {name: self._choose(m, name, threads, file) for name in ASKED}
        operands = instantiate(m, platform, "operands", MatrixOperands, config)
        moves = instantiate(m, platform, "moves", MoveOperands, config)
        pack_address = instantiate(m, platform, "pack_address", PackAddress, config)
        addresses = [
            instantiate(m, platform, f"address_{each}", UnpackAddress, config.addresses(each)) for each in range(2)
        ]
        # Unpackers take nothing while an instruction waits for them to be at rest; Dst is unpacker 0's or the Matrix unit's.
        moving, rests, at_rest, to_dst = Signal(), Signal(), Signal(), unpackers[0].fills_dst
        m.d.comb += [
            unit.handed_a.eq(unpackers[0].handed),
            moving.eq(~named(choices["matrix"][1].instruction, *MATRIX)),
            rests.eq(choices["matrix"][0].valid & moving & moves.rests & ~moves.refused),
            at_rest.eq(unpackers[0].idle & unpackers[1].idle),
        ]
        for name, addressed, sink, goes, misplaced, idles in (
            ("matrix", operands, unit.instruction, ~moving & ~to_dst, 0, operands.idles),
            ("matrix", moves, unit.move, moving & (~rests | at_rest) & ~to_dst, 0, 0),
            ("unpacker_0", addresses[0], unpackers[0].i, ~rests & ~(addresses[0].o.control.to_dst & unit.busy), 0, 0),
            ("unpacker_1", addresses[1], unpackers[1].i, ~rests, 0, 0),
            ("packer", pack_address, packer.i, Const(1), packer.misplaced, 0),
        ):
            refuses = addressed.refused | misplaced
            first, view = choices[name]
            m.d.comb += [
                addressed.view.eq(view),
                sink.p.eq(addressed.o),
                sink.valid.eq(first.valid & goes & ~refuses & ~idles),
            ]
            with m.If(first.valid & goes & (sink.ready | addressed.refused | idles)):
                m.d.comb += [
                    first.taken.eq(1),
                    granted.bit_select(first.thread, 1).eq(1),
                    refused[first.thread].eq(Mux(refuses, Fault.STATE, Fault.NONE)),
                ]
        self._seed(m, file, packer)
        displaced = Signal(THREADS)
        vector_idle = self._vector(
            m, platform, choices["vector"], threads, file, unit, ~to_dst, granted, refused, displaced
        )
        self._imply(m, banks, operands, moves, unit, unpackers)
        self._count_contexts(m, addresses, unpackers)
        self._configure(m, choices, threads, file, semaphores, granted, refused)
        self._memory(m, platform, unpackers, packer)

        chip = config.chip
        units = [Const(1), unpackers[0].idle, unpackers[1].idle, packer.idle.replicate(PACKERS[chip]), ~unit.busy]
        idle = Cat(units)
        for number, thread in enumerate(threads):
            connect(m, flipped(getattr(self, f"words_{number}")), thread.i)
            connect(m, flipped(getattr(self, f"mop_{number}")), thread.mop)
            m.d.comb += [
                getattr(self, f"executed_{number}").eq(thread.executed),
                thread.banks.writable.eq(Cat(bank.writable for bank in banks)),
                thread.banks.readable.eq(Cat(bank.readable for bank in banks)),
                thread.idle.eq(idle),
                thread.vector_idle.eq(vector_idle),
                thread.semaphores.eq(semaphores.state),
                thread.granted.eq(granted[number]),
                thread.refused.eq(refused[number]),
                thread.displaced.eq(displaced[number]),
                thread.clear.eq(self.clear),
                getattr(self, f"fault_{number}").eq(thread.fault),
                getattr(self, f"fault_number_{number}").eq(thread.fault_number),
            ]
        m.d.comb += self.busy.eq(~idle.all() | ~vector_idle | Cat(thread.waits for thread in threads).any())
        return m

    def _choose(self, m: Module, name: str, threads: list[Thread], file: ConfigFile) -> tuple[FirstThread, data.View]:
        """Add the choice of a thread for a unit; return it, and the instruction with the state of its thread."""
        m.submodules[f"{name}_thread"] = first = FirstThread()
        view = Signal(view_layout(self.config.chip), name=f"{name}_view")
        m.d.comb += [first.asks.eq(Cat(thread.asks[name] for thread in threads)), view.thread.eq(first.thread)]
        with m.Switch(first.thread):
            for number, thread in enumerate(threads):
                with m.Case(number):
                    m.d.comb += view.instruction.eq(thread.instruction)
                    if name in STATELESS:
                        continue
                    own = file.own[number]
                    bank = Mux(own.state_id[0], file.shared[1].as_value(), file.shared[0].as_value())
                    m.d.comb += [
                        view.shared.as_value().eq(bank),
                        view.own.eq(own),
                        view.rwc.eq(thread.rwc),
                        view.adc.eq(thread.adc),
                    ]
        return first, view

    def _seed(self, m: Module, file: ConfigFile, packer: RowPacker) -> None:
        """Add the seed of the packers' random numbers, which waits for rows on their way."""
        waits = Signal(name="packer_seed")
        m.d.comb += [packer.seed.valid.eq(waits), packer.seed.p.eq(file.shared[0].prng_seed[0])]
        with m.If(file.seeded):
            m.d.sync += waits.eq(1)
        with m.Elif(packer.seed.ready):
            m.d.sync += waits.eq(0)

    def _vector(
        self,
        m: Module,
        platform: Any,
        choice: tuple[FirstThread, data.View],
        threads: list[Thread],
        file: ConfigFile,
        unit: MatrixUnit,
        goes: Value,
        granted: Signal,
        refused: data.View,
        displaced: Signal,
    ) -> Value:
        """Add the Vector unit; return whether it is idle."""
        first, view = choice
        sfpu = instantiate(m, platform, "sfpu", Sfpu, self.config.sfpu)
        operands = instantiate(m, platform, "vector_operands", VectorOperands, ChipConfig(chip=self.config.chip))
        merge = instantiate(m, platform, "merge", DstMerge)
        seeds, waits, does = Signal(), Signal(), Signal()
        accesses, store = self._scheduled_store(m, sfpu, view, does, operands, unit, goes)
        m.d.comb += [
            operands.view.eq(view),
            operands.word.eq(Array(thread.executed.word for thread in threads)[first.thread]),
            # A seed that waits goes before the next instruction.
            waits.eq(seeds | ~goes),
            does.eq(first.valid & ~operands.refused & ~waits),
            unit.values.eq(merge.values),
            unit.stored.eq(Mux(sfpu.store.scheduled & ~store, 0, merge.written)),
            merge.found.eq(unit.found),
            merge.dst32.eq(unit.access.p.dst32),
            merge.store.eq(sfpu.store),
            sfpu.dst.eq(merge.rows),
            sfpu.i.p.eq(operands.o),
            sfpu.i.valid.eq(does & (~accesses | unit.access.ready)),
            sfpu.seed.valid.eq(seeds),
            sfpu.seed.p.eq(file.shared[0].prng_seed[0]),
        ]
        with m.If(file.seeded):
            m.d.sync += seeds.eq(1)
        with m.Elif(sfpu.seed.ready):
            m.d.sync += seeds.eq(0)
        with m.If(first.valid & ((sfpu.i.valid & sfpu.i.ready) | (operands.refused & ~waits))):
            m.d.comb += [
                first.taken.eq(1),
                granted.bit_select(first.thread, 1).eq(1),
                refused[first.thread].eq(Mux(operands.refused, Fault.STATE, Fault.NONE)),
                displaced.bit_select(first.thread, 1).eq(sfpu.displaced & ~operands.refused),
            ]
        return ~sfpu.busy & ~seeds

    def _scheduled_store(
        self,
        m: Module,
        sfpu: Sfpu,
        view: data.View,
        does: Value,
        operands: VectorOperands,
        unit: MatrixUnit,
        goes: Value,
    ) -> tuple[Signal, Signal]:
        """Add the accesses to Dst of a thread and of a scheduled SFPSTORE, which goes first if they are to different rows; return
        whether the thread's instruction accesses Dst, and whether a scheduled one does.

        A load finds the words before the store, but for rows of which one of both has words of 32 bits and the other one of 16.
        """
        thread, store, first, stored = Signal(name="thread_accesses"), Signal(), Signal(), Signal()
        own, order = Signal(DstAccess), Signal(RowOrder)
        with m.If(sfpu.i.valid & sfpu.i.ready & named(view.instruction, "SFPLOADMACRO")):
            m.d.sync += order.eq(row_order(view.shared))
        m.d.comb += [
            own.dst32.eq(sfpu.store.wide),
            own.row.eq(ordered(Cat(Const(0, 2), sfpu.store.address[2:]), order, own.dst32)),
            thread.eq(operands.accesses & ~(named(view.instruction, "SFPSTORE") & sfpu.store.scheduled)),
            store.eq(sfpu.store.scheduled & ~stored),
            first.eq(store & does & thread & (own.as_value() != operands.access.as_value())),
            unit.access.valid.eq((store & goes) | (does & thread)),
            unit.access.p.eq(Mux(store, own, operands.access)),
            sfpu.hold.eq(store & (~goes | ~unit.access.ready | first)),
        ]
        m.d.sync += stored.eq(first & unit.access.ready)
        return thread, store

    def _banks(self, m: Module, unit: MatrixUnit) -> list[data.View]:
        """Return of SrcA and SrcB which bank comes next on either side, and who owns it."""
        banks = []
        for side, free in zip(SIDES, (unit.free_a, unit.free_b), strict=True):
            bank = Signal(SourceState, name=f"source_{side}")
            m.d.comb += [
                bank.writable.eq(free.bit_select(bank.written, 1)),
                bank.readable.eq(~free.bit_select(bank.read, 1)),
            ]
            banks.append(bank)
        return banks

    def _imply(
        self,
        m: Module,
        banks: list[data.View],
        operands: MatrixOperands,
        moves: MoveOperands,
        unit: MatrixUnit,
        unpackers,
    ) -> None:
        """Follow the banks, and the formats that they imply."""
        p, change = unit.instruction.p, unit.move.p.change
        fires, moved = (each.valid & each.ready for each in (unit.instruction, unit.move))
        number = Signal(NEED_BITS)
        begins = Cat(unpacker.i.valid & unpacker.i.ready for unpacker in unpackers)
        with m.If(begins.any()):
            m.d.sync += number.eq(number + 1)
        for side, (bank, unpacker, flip, name) in enumerate(
            zip(banks, unpackers, (p.flip_a, p.flip_b), Implied.as_shape().members, strict=True)
        ):
            formats = Signal(data.ArrayLayout(BankFormat, BANKS), name=f"{name}_formats")
            m.d.comb += [
                unpacker.number.eq(number),
                operands.implied[name].eq(formats[bank.read]),
                moves.implied[name].eq(formats[bank.read]),
            ]
            with m.If(unpacker.i.valid & unpacker.i.ready & unpacker.i.p.flips):
                m.d.sync += [
                    bank.written.eq(~bank.written),
                    formats[bank.written].code.eq(unpacker.i.p.control.register_format),
                    formats[bank.written].known.eq(1),
                ]
            with m.If((fires & flip) | (moved & change.flip[side])):
                m.d.sync += bank.read.eq(~bank.read)
            with m.If(moved & change.hand_over[side]):
                m.d.sync += [bank.written.eq(~bank.written), formats[bank.written].eq(moves.format)]
            with m.If(moved & change.reset):
                m.d.sync += [bank.written.eq(0), bank.read.eq(0)]

    def _count_contexts(self, m: Module, addresses: list[UnpackAddress], unpackers: list[RowUnpacker]) -> None:
        """Add each unpacker's counter of contexts for each thread."""
        for number, (address, unpacker) in enumerate(zip(addresses, unpackers, strict=True)):
            counters = Signal(data.ArrayLayout(CONTEXT_BITS, THREADS), name=f"contexts_{number}")
            m.d.comb += address.counter.eq(counters[address.view.thread])
            with m.If(unpacker.i.valid & unpacker.i.ready):
                m.d.sync += counters[address.view.thread].eq(address.counted)

    def _configure(
        self, m: Module, choices, threads, file: ConfigFile, semaphores: Semaphores, granted: Signal, refused: data.View
    ) -> None:
        """Connect the configuration and the semaphores, which take an instruction in every cycle."""
        for name, sink, taken in (
            ("config", file.i.p.instruction, file.i),
            ("semaphores", semaphores.i.p, semaphores.i),
        ):
            first, view = choices[name]
            m.d.comb += [sink.eq(view.instruction), taken.valid.eq(first.valid), first.taken.eq(first.valid)]
            with m.If(first.valid):
                m.d.comb += granted.bit_select(first.thread, 1).eq(1)
        chosen = choices["config"][0].thread
        m.d.comb += file.i.p.thread.eq(chosen)
        with m.If(file.illegal):
            m.d.comb += refused[chosen].eq(Fault.REGISTER)
        for number, thread in enumerate(threads):
            m.d.comb += [
                thread.write.valid.eq(file.write.valid & (chosen == number)),
                thread.write.p.eq(file.write.p),
            ]

    def _memory(self, m: Module, platform: Any, unpackers, packer: RowPacker) -> None:
        """Connect L1: a port that the unpackers share, one of the packer and of the host."""
        m.submodules.port = port = L1Port()
        m.submodules.l1 = l1 = L1Memory(self.config.l1_words)
        connect(m, unpackers[0].port, port.left)
        connect(m, unpackers[1].port, port.right)
        writes, asked = Signal(), Signal()
        line_bits = ceil_log2(LINES)
        m.d.comb += [
            l1.unpack_address.eq(Mux(port.right.granted, unpackers[1].address, unpackers[0].address)),
            l1.exponent_address.eq(
                Mux(port.right.granted, unpackers[1].exponent_address, unpackers[0].exponent_address)
            ),
            *(unpacker.word.eq(l1.unpack_data) for unpacker in unpackers),
            *(unpacker.exponents.eq(l1.exponent_data) for unpacker in unpackers),
            l1.other_address.eq(Mux(packer.idle, self.read.p << line_bits, packer.old_address)),
            packer.old.eq(l1.other_data),
            writes.eq(packer.write_bytes.any()),
            self.write.ready.eq(~writes),
            l1.write_address.eq(Mux(writes, packer.write_address, self.write.p.address << line_bits)),
            l1.write_data.eq(Mux(writes, packer.write_data, self.write.p.data)),
            l1.write_bytes.eq(Mux(writes, packer.write_bytes, self.write.valid.replicate(ROW_BITS // 8))),
            self.read.ready.eq(packer.idle & ~asked & ~self.data.valid),
        ]
        m.d.sync += asked.eq(self.read.valid & self.read.ready)
        with m.If(asked):
            m.d.sync += [self.data.p.eq(l1.other_data), self.data.valid.eq(1)]
        with m.Elif(self.data.ready):
            m.d.sync += self.data.valid.eq(0)


RECORDS = (
    Unit(
        name="tensix_core",
        config_type=TensixCoreConfig,
        build=TensixCore,
        summary="Tensix: three threads of instructions, unpackers, Matrix and Vector unit, packer and L1",
        covered=Covered(TensixCoreConfig(), 2),
        uncompared="its programs need an L1 of 256 KiB, which a netlist of gates cannot hold",
        waves=(
            CLOCK,
            WaveGroup("instructions", r"(words_|busy|fault|clear)"),
            WaveGroup("executed", r"executed_"),
            WaveGroup("host", r"(mop_|write__|read__|data__)"),
            WaveGroup("threads", r"thread_\d\."),
            WaveGroup("choices", r"(matrix|unpacker_\d|packer|config|semaphores|vector)_(thread|view)"),
            WaveGroup("unpackers", r"(unpacker_\d|address_\d|port)\."),
            WaveGroup("Matrix unit", r"unit\.(instruction|starting|flight_|fire|step|src_[ab]\.|dst_register\.)"),
            WaveGroup("Vector unit", r"(sfpu|vector_operands|merge)\."),
            WaveGroup("packer and L1", r"(packer|l1)\."),
        ),
    ),
)
