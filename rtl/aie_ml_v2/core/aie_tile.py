"""The tile: plays a stream of bundles on registers and banked memory, to the cycle.

::

    i --> IssueCheck --> lda, ldb --> LoadUnits ----+--> VectorRegisters --> MultiplyUnit, Shuffle
                    |                               |                           |
                    +--> AddressUnit            DataMemory                 AccumulatorRegisters
                    |                               |                           |
                    +--> st ------> StoreUnit <-----+---------------------------+

A bundle issues in a cycle, unless there is none, or an access waits for a bank: then everything stands still. Nothing else
stalls: an operation that reads a register before its write finds the old value. The last operations end in the cycles of further
bundles, for example empty ones. A refused operation changes nothing, but for the counters of a jump whose FIFO would load a line
beyond the memory; those of its bundle's other slots issue.

Ref: llvm-aie's itineraries and register file (target aie2ps); AM020 and AM027 for the banks.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES
from bitpath.rtl.aie_ml_v2.core.address_unit import REGISTERS, SHIFTS, STORE_POINTER, AddressKind, AddressUnit
from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, MoveOp, StoreOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.issue_check import AGUS, IssueCheck
from bitpath.rtl.aie_ml_v2.core.load_units import FIFOS, TO_MEMORY, UNITS, LoadUnits
from bitpath.rtl.aie_ml_v2.core.multiply_unit import MultiplyUnit
from bitpath.rtl.aie_ml_v2.core.run_counters import COUNTER_BITS, LOAD_SLOTS, STALLS, RunCounters
from bitpath.rtl.aie_ml_v2.core.store_unit import StoreUnit
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mover.layouts import ShuffleConfig
from bitpath.rtl.aie_ml_v2.mover.shuffle import Shuffle
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemory, DataMemoryConfig, outside_layout
from bitpath.rtl.aie_ml_v2.tile.fifos import LINE_BITS
from bitpath.rtl.aie_ml_v2.tile.registers import MV_FORWARD, AccumulatorRegisters, VectorRegisters
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS
from bitpath.rtl.aie_ml_v2.vector.config import NativeMacConfig
from bitpath.rtl.aie_ml_v2.vector.native_shapes import NativeShape
from bitpath.rtl.common.pipeline.faults import first_of, keep_first
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup


class HostSpace(enum.Enum, shape=4):
    """Registers that the host reads and writes, by their kind."""

    VECTOR = 0  # a W with its halves of F, G and E above it
    ACCUMULATOR = 1  # a bm
    LOAD_FIFO = 2  # 64 bytes: halves of lf0, then of lf1
    LOAD_COUNT = 3  # r24, r25
    STORE_FIFO = 4  # halves of sf
    STORE_COUNT = 5  # r26
    P = 8
    M = 9
    DN = 10
    DJ = 11
    DC = 12
    S = 13


HOST_REQUEST = data.StructLayout({"space": HostSpace, "index": 5, "writes": 1, "data": LINE_BITS})
"""Layout of the host's access to a register."""


class AieTile(wiring.Component):
    """Bundles, one a cycle; registers and memory can be read and written while nothing is in flight.

    Parameters
    ----------
    config : AieTileConfig.

    Members
    -------
    i : In(stream of BUNDLE)
    host : In(stream of HOST_REQUEST); answer : Out(stream of 512 bits, always ready), a read's value one cycle later
    outside : In(stream of outside_layout), of each module of the memory
    word : Out(stream of a bank's word, always ready), of each module, one cycle after an outside read is taken
    busy : Out(1), something is in flight
    cycles : Out(32), from the first bundle to the last write or access, stalls for a bank included
    stalls : Out(STALLS)
    products : Out(32), native products that were issued
    fault : Out(Fault), fault_number : Out(32), of the first refused operation or host's request since reset or ``clear``, and the
        bundles before its own
    clear : In(1), clears ``fault``; the next bundle's number is 0
    """

    def __init__(self, config: AieTileConfig):
        self.config = config
        word = 8 * config.memory.bank_bytes
        super().__init__(
            {
                "i": In(stream.Signature(BUNDLE)),
                "host": In(stream.Signature(HOST_REQUEST)),
                "answer": Out(stream.Signature(LINE_BITS, always_ready=True)),
                "outside": In(stream.Signature(outside_layout(config.memory))).array(config.memory.modules),
                "word": Out(stream.Signature(word, always_ready=True)).array(config.memory.modules),
                "busy": Out(1),
                "cycles": Out(COUNTER_BITS),
                "stalls": Out(STALLS),
                "products": Out(COUNTER_BITS),
                "fault": Out(Fault),
                "fault_number": Out(COUNTER_BITS),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        check = instantiate(m, platform, "check", IssueCheck, config)
        addresses = instantiate(m, platform, "addresses", AddressUnit)
        loads = instantiate(m, platform, "loads", LoadUnits, config.vector_registers, config.memory.used_bits)
        stores = instantiate(m, platform, "stores", StoreUnit, config.multiply.numerics, config.multiply.mx9)
        multiply = instantiate(m, platform, "multiply", MultiplyUnit, config)
        vectors = instantiate(m, platform, "vectors", VectorRegisters, config.vector_registers)
        accumulators = instantiate(m, platform, "accumulators", AccumulatorRegisters, config.accumulator_registers)
        memory = instantiate(m, platform, "memory", DataMemory, config.memory)

        goes, offered = Signal(), Signal()
        m.d.comb += [
            offered.eq(self.i.valid & stores.ready),
            goes.eq(offered & ~memory.stall),
            self.i.ready.eq(stores.ready & ~memory.stall),
            check.bundle.eq(Mux(self.i.valid, self.i.p, 0)),
            check.second.eq(multiply.second),
            multiply.issue.eq(check.issue.vec),
            *(unit.advance.eq(goes) for unit in (check, addresses, loads, stores, multiply)),
        ]
        self._address(m, check, addresses, loads, stores)
        self._access(m, offered, loads, stores, memory)
        self._operands(m, platform, goes, check.issue, loads, stores, multiply, vectors, accumulators)
        self._count(m, platform, goes, check, loads, stores, memory)
        wrong = self._host(m, vectors, accumulators, addresses, loads, stores)
        self._faults(m, goes, check, loads, wrong)
        return m

    def _address(self, m: Module, check, addresses, loads, stores) -> None:
        """Pointers of the slots, and what their units do with them; the check sees where the bundle's addresses lead."""
        issue, bundle = check.issue, check.bundle
        for name in AGUS:
            m.d.comb += [
                getattr(addresses, name).address.eq(bundle[name].address),
                getattr(check, f"{name}_address").eq(getattr(addresses, f"{name}_address")),
            ]
        m.d.comb += [check.pushed.eq(stores.pointer), check.holds.eq(stores.count != 0)]
        for unit, name in enumerate(LOAD_SLOTS):
            slot, use, own = issue[name], getattr(addresses, name), loads.issue[unit]
            steps = (slot.op == LoadOp.LOAD) | (slot.op == LoadOp.POINTER)
            jumps = (slot.op == LoadOp.POP) & slot.jumps
            m.d.comb += [
                use.steps.eq(steps),
                use.counts.eq(steps | jumps),
                use.is_relative.eq((bundle[name].op == LoadOp.POP) & bundle[name].jumps),
                *(own[field].eq(slot[field]) for field in ("op", "to", "fifo", "format", "jumps")),
                own.address.eq(getattr(addresses, f"{name}_address")),
            ]
            with m.If(jumps):
                m.d.comb += own.address.eq(getattr(addresses, f"{name}_after"))
        slot, use = issue.st, addresses.st
        steps = (slot.op == StoreOp.SRS) | (slot.op == StoreOp.POINTER)
        m.d.comb += [
            use.steps.eq(steps),
            use.counts.eq(steps),
            addresses.shift_index.eq(slot.shift),
            stores.issue.eq(slot),
            stores.shift.eq(addresses.shift),
            stores.address.eq(addresses.st_address),
        ]
        for number, pointer, write in (
            *((fifo, loads.pointer[fifo], loads.pointer_write[fifo]) for fifo in range(FIFOS)),
            (STORE_POINTER, stores.pointer, stores.pointer_write),
        ):
            m.d.comb += [pointer.eq(addresses.pointer[number]), addresses.write[number].eq(write)]

    def _access(self, m: Module, offered: Value, loads, stores, memory) -> None:
        """Accesses of the memory's cycles, and the outside."""
        for unit in range(UNITS):
            access, port = loads.access[unit], memory.load[unit]
            m.d.comb += [
                port.valid.eq(access.valid),
                port.p.address.eq(access.address),
                port.p.size.eq(access.size),
                loads.line[unit].eq(memory.data[unit].p),
            ]
        access, port = stores.access, memory.store
        m.d.comb += [
            memory.advance.eq(offered),
            port.valid.eq(access.valid),
            port.p.access.address.eq(access.address),
            port.p.access.size.eq(access.size),
            port.p.data.eq(access.data),
            port.p.mask.eq(access.mask),
        ]
        for inner, outer, answer, word in zip(memory.outside, self.outside, memory.answer, self.word, strict=True):
            m.d.comb += [
                inner.valid.eq(outer.valid),
                inner.p.eq(outer.p),
                outer.ready.eq(inner.ready),
                word.valid.eq(answer.valid),
                word.p.eq(answer.p),
            ]

    def _operands(
        self, m: Module, platform, goes: Value, issue: data.View, loads, stores, multiply, vectors, accumulators
    ) -> None:
        """Registers that the units read and write."""
        m.d.comb += [
            vectors.mac_x.eq(multiply.a_name),
            vectors.mac_y.eq(multiply.b_name),
            multiply.a.eq(vectors.mac_x_data),
            multiply.b.eq(vectors.mac_y_data),
            accumulators.acc1.eq(multiply.acc_name),
            multiply.acc.eq(accumulators.acc1_data),
            accumulators.mac.eq(multiply.write),
            accumulators.mac_enable.eq(multiply.write_enable & goes),
            accumulators.store.index.eq(issue.st.source.index),
            accumulators.store.size.eq(issue.st.source.size),
            stores.acc.eq(accumulators.store_data),
        ]
        for unit, name in enumerate(("load_a", "load_b")):
            m.d.comb += [
                getattr(vectors, name).eq(loads.write[unit]),
                getattr(vectors, f"{name}_enable").eq(loads.write_enable[unit] & goes),
            ]
        if self.config.multiply.mx9:
            self._shuffle(m, platform, goes, issue.mv, vectors)

    def _shuffle(self, m: Module, platform, goes: Value, slot: data.View, vectors) -> None:
        unit = instantiate(m, platform, "shuffle", Shuffle, ShuffleConfig())
        valid = Signal()
        to, exponents = Signal.like(slot.to, reset_less=True), Signal(reset_less=True)
        write = vectors.mv
        for port, name in (("mv_a", "low"), ("mv_b", "high")):
            source, read = getattr(unit.i.p, name), getattr(vectors, f"{port}_data")
            m.d.comb += [
                getattr(vectors, port).index.eq(slot[name].index),
                getattr(vectors, port).size.eq(slot[name].size),
                getattr(vectors, port).forward.eq(MV_FORWARD),
                *(source[part].eq(read[own].as_value()) for part, own in (("x", "w"), ("e", "e"), ("g", "g"))),
            ]
        with m.If(goes):
            m.d.sync += [valid.eq(slot.op == MoveOp.SHUFFLE), to.eq(slot.to), exponents.eq(slot.exponents)]
        m.d.comb += [
            unit.i.valid.eq(goes),
            unit.i.p.code.eq(slot.code),
            unit.o.ready.eq(goes),
            write.name.index.eq(to.index),
            write.name.size.eq(to.size),
            write.name.forward.eq(MV_FORWARD),
            write.parts.w.eq(1),
            write.parts.g.eq(exponents),
            write.parts.e.eq(exponents),
            *(write.data[own].as_value().eq(unit.o.p[part]) for part, own in (("x", "w"), ("e", "e"), ("g", "g"))),
            vectors.mv_enable.eq(valid & goes),
        ]

    def _count(self, m: Module, platform, goes: Value, check, loads, stores, memory) -> None:
        counters = instantiate(m, platform, "counters", RunCounters)
        accesses = Cat([*(access.valid for access in loads.access), stores.access.valid])
        m.d.comb += [
            counters.issue.eq(check.issue),
            counters.goes.eq(goes),
            counters.stall.eq(memory.stall),
            counters.accesses.eq(accesses.any()),
            self.busy.eq(self.i.valid | counters.flying),
            *(getattr(self, name).eq(getattr(counters, name)) for name in ("cycles", "stalls", "products")),
        ]

    def _faults(self, m: Module, goes: Value, check, loads, wrong: Value) -> None:
        """The first fault stays; that of a FIFO's line is found as many bundles later as its access."""
        beyond = Cat(loads.beyond).any()
        late = goes & beyond
        keep_first(
            m,
            taken=goes,
            found=first_of((late, Fault.RANGE), (goes, check.fault), (1, wrong)),
            clear=self.clear,
            fault=self.fault,
            number=self.fault_number,
            age=Mux(late, TO_MEMORY, 0),
        )

    def _host(self, m: Module, vectors, accumulators, addresses, loads, stores) -> Value:
        """Access registers for the host; return the fault of an access, which then reads or writes nothing."""
        request = self.host.p
        counts = {
            HostSpace.VECTOR: SLOTS * self.config.pairs,
            HostSpace.ACCUMULATOR: SLOTS * self.config.accumulators,
            HostSpace.LOAD_FIFO: 2 * FIFOS,
            HostSpace.LOAD_COUNT: FIFOS,
            HostSpace.STORE_FIFO: 2,
            HostSpace.STORE_COUNT: 1,
        } | {HostSpace[kind.name]: SHIFTS if kind is AddressKind.S else REGISTERS for kind in AddressKind}
        known = Value.cast(request.space).matches(*(space.value for space in counts))
        beyond = Cat((request.space == space) & (request.index >= count) for space, count in counts.items()).any()
        taken, writes = Signal(), Signal()
        spaces = {space: Signal(name=f"is_{space.name.lower()}") for space in HostSpace}
        m.d.comb += [
            self.host.ready.eq(~self.busy),
            taken.eq(self.host.valid & self.host.ready),
            writes.eq(taken & request.writes & known & ~beyond),
            *(found.eq(request.space == space) for space, found in spaces.items()),
            vectors.unpack.index.eq(request.index),
            vectors.convert.name.index.eq(request.index),
            vectors.convert.parts.eq(~0),
            vectors.convert_enable.eq(writes & spaces[HostSpace.VECTOR]),
            accumulators.mv.index.eq(request.index),
            accumulators.load.name.index.eq(request.index),
            accumulators.load.data.eq(request.data),
            accumulators.load_enable.eq(writes & spaces[HostSpace.ACCUMULATOR]),
            loads.host_data.eq(request.data),
            stores.host_data.eq(request.data),
            stores.host_write.eq(Mux(writes & spaces[HostSpace.STORE_FIFO], 1 << request.index[0], 0)),
            stores.host_counts.eq(writes & spaces[HostSpace.STORE_COUNT]),
            addresses.host.index.eq(request.index),
            addresses.host.value.eq(request.data),
        ]
        kinds = [spaces[HostSpace[kind.name]] for kind in AddressKind]
        m.d.comb += addresses.host.writes.eq(writes & Cat(kinds).any())
        for kind, found in zip(AddressKind, kinds, strict=True):
            with m.If(found):
                m.d.comb += addresses.host.kind.eq(kind)
        for fifo in range(FIFOS):
            own = request.index[1] == fifo
            m.d.comb += [
                loads.host_write[fifo].eq(Mux(writes & spaces[HostSpace.LOAD_FIFO] & own, 1 << request.index[0], 0)),
                loads.host_counts[fifo].eq(writes & spaces[HostSpace.LOAD_COUNT] & (request.index[0] == fifo)),
            ]
        low = {}
        place = 0
        for part in "wfge":
            width = len(vectors.convert.data[part][0])
            m.d.comb += vectors.convert.data[part][0].eq(request.data[place : place + width])
            low[part] = vectors.unpack_data[part][0]
            place += width
        values = {
            HostSpace.VECTOR: Cat(low.values()),
            HostSpace.ACCUMULATOR: accumulators.mv_data[:LINE_BITS],
            HostSpace.LOAD_FIFO: Cat(loads.held).word_select(request.index[:2], LINE_BITS),
            HostSpace.LOAD_COUNT: Cat(loads.count).word_select(request.index[0], len(loads.count[0])),
            HostSpace.STORE_FIFO: stores.held.word_select(request.index[0], LINE_BITS),
            HostSpace.STORE_COUNT: stores.count,
        }
        m.d.sync += self.answer.valid.eq(taken & ~request.writes)
        m.d.sync += self.answer.p.eq(addresses.host_value)
        for space, value in values.items():
            with m.If(spaces[space]):
                m.d.sync += self.answer.p.eq(value)
        with m.If(~known | beyond):
            m.d.sync += self.answer.p.eq(0)
        return first_of((taken & ~known, Fault.OPERATION), (taken & beyond, Fault.RANGE))


RECORDS = (
    Unit(
        name="aie_tile",
        config_type=AieTileConfig,
        build=AieTile,
        summary="AIE-ML v2: the tile, which plays schedules of bundles on registers and banked memory",
        covered=Covered(
            AieTileConfig(multiply=NativeMacConfig(products=(NativeShape.INT8_8X8X8, NativeShape.INT16_8X2X8))), 400
        ),
        agreed=AieTileConfig(
            multiply=NativeMacConfig(mx9=False),
            pairs=1,
            accumulators=1,
            memory=DataMemoryConfig(modules=1, pairs=1, words=64, bank_bytes=BANK_BYTES),
        ),
        waves=(
            CLOCK,
            WaveGroup("state", r"(i__(valid|ready)|goes|offered|busy|cycles|stalls|products|fault|clear)"),
            WaveGroup("host", r"(host|answer)__"),
            WaveGroup("bundle", r"(i__|check)"),
            WaveGroup("outside", r"(outside|word)__"),
            WaveGroup("inside", r"(addresses|loads|stores|multiply|memory|vectors|accumulators)"),
        ),
    ),
)
