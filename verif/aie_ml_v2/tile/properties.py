"""The tile's units: addresses by their pseudo-code, banks and their bytes, registers under all names, counts of FIFOs, streams."""

from collections.abc import Callable
from functools import partial

from amaranth import Cat, Mux, Signal, Value
from amaranth.lib import wiring

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.rtl.aie_ml_v2.tile.agu import Agu, AguConfig, AguMode
from bitpath.rtl.aie_ml_v2.tile.data_memory import (
    OUTSIDE,
    STORE,
    AccessDecode,
    DataMemoryConfig,
    LoadResult,
    MemoryBank,
)
from bitpath.rtl.aie_ml_v2.tile.fifos import PLACE_BITS, LoadFifo, LoadFifoConfig, StoreFifo, StoreFifoConfig
from bitpath.rtl.aie_ml_v2.tile.slot_file import SLOTS, SlotFile
from bitpath.rtl.aie_ml_v2.tile.stream_port import StreamPort, StreamPortConfig
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import earlier, offer_property
from bitpath.verif.formal.property import Engine, Properties, Sabotage

ROOM = "aie_ml_v2/tile"
MEMORY = DataMemoryConfig()
LINE_SHIFT = MEMORY.byte_bits + 1
"""Bits of a byte's place in a line."""
LATCHES = Sabotage("common/pipeline/pipeline_registers.py", "with m.If(self.advance):", "with m.If(1):")
"""A delay line moves in stalled cycles too."""
SLOT_BITS, REGISTERS, WRITERS = 2, 2, 2
PATHS = tuple((0, writer) for writer in range(WRITERS))

PROPERTIES = Properties(
    ROOM,
    offer_property(
        "aie_ml_v2.stream_port",
        partial(StreamPort, StreamPortConfig()),
        Sabotage(
            f"{ROOM}/stream_port.py",
            "connect(m, out.r_stream, flipped(self.o))",
            "m.d.comb += [self.o.p.eq(out.r_stream.p), self.o.valid.eq(out.r_stream.valid & self.advance), "
            "out.r_stream.ready.eq(self.o.ready & self.advance)]",
        ),
        whole=False,
    ),
)


@PROPERTIES.of(
    "agu",
    "agu_{mode.name}",
    "{mode.name}: address, pointer and counters are those of the guide's pseudo-code",
    None,
    "mode, sabotage",
    [
        (AguMode.POST_MODIFY, ("step.eq(request.m)", "step.eq(request.dj)")),
        (AguMode.TWO_D, ("request.dc < request.dn", "request.dc <= request.dn")),
        (AguMode.THREE_D, ("request.dc2 < request.dn2", "request.dc2 <= request.dn2")),
        (AguMode.INDEXED, ("request.p + request.dj, request.p)", "request.p + request.m, request.p)")),
    ],
)
def addresses(claim: Claim, mode: AguMode) -> None:
    """A loop that is not at its end counts and takes its step; one at its end starts again, and the next one decides."""
    dut = claim.instantiate("dut", Agu(AguConfig()), i__valid=1, o__ready=1)
    request, result = dut.i.p, dut.o.p
    claim.assume(request.mode == mode)
    loops = {AguMode.TWO_D: (("dc", "dn", "dj"),), AguMode.THREE_D: (("dc", "dn", "dj"), ("dc2", "dn2", "dj2"))}
    step, counters = (0 if mode is AguMode.INDEXED else request.m), {"dc": request.dc, "dc2": request.dc2}
    for counter, size, own in reversed(loops.get(mode, ())):
        count = request[counter]
        more = count < request[size]
        step = Mux(more, request[own], step)
        counters = {name: Mux(more, request[name], after) for name, after in counters.items()}
        counters[counter] = Mux(more, count + 1, 0)
    offset = request.dj if mode is AguMode.INDEXED else 0
    claim.ensure(
        result.address == (request.p + offset)[:ADDRESS_BITS],
        result.p == (request.p + step)[:ADDRESS_BITS],
        *(result[name] == after for name, after in counters.items()),
    )


@PROPERTIES.of(
    "access_decode",
    "access_decode",
    "banks, word and bytes are those that the aligned access covers; errors of its address",
    ("self.access.size > config.byte_bits", "self.access.size >= config.byte_bits"),
)
def decoded(claim: Claim) -> None:
    dut = claim.instantiate("dut", AccessDecode(MEMORY))
    address, size = dut.access.address, dut.access.size
    line = MEMORY.line_bytes
    claim.assume(size <= MEMORY.byte_bits + 1)
    length = claim.value(1 << size, "length")
    start = claim.value(address >> size << size, "start", ADDRESS_BITS)
    place, lines = claim.value(start % line, "place"), claim.value(start >> LINE_SHIFT, "lines")
    covered = claim.value(Cat((place <= byte) & (byte < place + length) for byte in range(line)), "covered")
    for odd in range(2):
        half = covered.word_select(odd, MEMORY.bank_bytes)
        claim.ensure(dut.needs[odd] == half.any(), ~half.any() | (dut.bytes == half))
    claim.ensure(
        dut.word == lines % MEMORY.words,
        dut.pair == (lines >> MEMORY.word_bits) % MEMORY.all_pairs,
        dut.first == place % MEMORY.bank_bytes,
        dut.unaligned == (address != start),
        dut.outside == (address >= line * MEMORY.words * MEMORY.all_pairs),
    )


@PROPERTIES.of(
    "memory_bank",
    "memory_bank_order",
    "one request is served if any asks: an outside one that is owed, else the core's first, else an outside one",
    ("(self.owed | ~self", "(~self"),
)
def served(claim: Claim) -> None:
    dut = claim.instantiate("dut", MemoryBank(MEMORY))
    asks, core = dut.asks, dut.asks[:OUTSIDE].any()
    claim.ensure(
        (dut.served & ~asks) == 0,
        (dut.served & (dut.served - 1)) == 0,
        dut.served.any() == asks.any(),
        dut.served[OUTSIDE] == (asks[OUTSIDE] & (dut.owed | ~core)),
        *(~dut.served[port] | ~asks[:port].any() for port in range(1, OUTSIDE)),
    )


@PROPERTIES.of(
    "memory_bank",
    "memory_bank_bytes",
    "a load finds the bytes of the store before it, and every other byte as it was",
    ("granularity=8", "granularity=16"),
    depth=3,
)
def stored(claim: Claim) -> None:
    """A load, a store and a load of one word in three cycles."""
    dut = claim.instantiate("dut", MemoryBank(MEMORY))
    word = 8 * MEMORY.bank_bytes
    asks = [earlier(claim, dut.asks, age, f"asks_{age}") for age in (3, 2, 1)]
    place, there = (dut.places.word_select(port, MEMORY.word_bits) for port in (0, STORE))
    kept = earlier(claim, there, 2, "there")
    same = (earlier(claim, place, 3, "before") == kept) & (earlier(claim, place, 1, "after") == kept)
    three = claim.value((asks[0] == 1) & (asks[1] == 1 << STORE) & (asks[2] == 1) & same, "three", 1)
    data = earlier(claim, dut.data[:word], 2, "data")
    mask = earlier(claim, dut.mask[: MEMORY.bank_bytes], 2, "mask")
    written = Cat(bit.replicate(8) for bit in mask)
    claim.ensure(~three | (dut.o == (data & written) | (earlier(claim, dut.o, 2, "was") & ~written)))


@PROPERTIES.of(
    "load_result",
    "load_result_holds",
    "a load's bytes stay until the core goes on again",
    ("out.eq(self.o)", "out.eq(self.words)"),
    depth=1,
)
def held(claim: Claim) -> None:
    dut = claim.instantiate("dut", LoadResult(MEMORY))
    claim.ensure(claim.register(dut.goes, "went") | (dut.o == claim.register(dut.o, "before")))


def _slots(claim: Claim, dut: SlotFile, place: Value, bits: list[Value], forward: Value | None) -> list[Value]:
    """Return the slots of four from a place on, with those of the writes, or of the writes with a forwarding code."""
    found = []
    for slot in range(SLOTS):
        value = bits[slot]
        for write, enable, data in zip(dut.write, dut.write_enable, dut.write_data, strict=True):
            counts = enable if forward is None else enable & (forward != 0) & (write.forward == forward)
            behind = claim.value(place + slot - write.index, f"behind_{slot}")
            covers = counts & (behind >= 0) & (behind < 1 << write.size)
            value = Mux(covers, data.word_select(behind[:2], SLOT_BITS), value)
        found.append(value)
    return found


def _names(claim: Claim, dut: SlotFile) -> None:
    """Assume that names are aligned, and that no two writes share a slot."""
    for name in (*dut.read, *dut.write):
        claim.assume(name.size <= 2, (name.index & (1 << name.size) - 1) == 0)
    first, second = dut.write
    apart = (first.index + (1 << first.size) <= second.index) | (second.index + (1 << second.size) <= first.index)
    claim.assume(apart | ~dut.write_enable[0] | ~dut.write_enable[1])


def _expected(name: Value, slots: list[Value]) -> Value:
    return Cat(Mux(slot < 1 << name.size, value, 0) for slot, value in enumerate(slots))


def _parts(data: Value) -> list[Value]:
    return [data.word_select(slot, SLOT_BITS) for slot in range(SLOTS)]


@PROPERTIES.of(
    "slot_file",
    "slot_file_writes",
    "a read finds slots as the writes of the cycle before left them, and all others as they were, under every name",
    ("0b1100, 0b0011", "0b0011, 0b1100"),
    depth=1,
)
def writes(claim: Claim) -> None:
    dut = claim.instantiate("dut", SlotFile(SLOT_BITS, REGISTERS, 1, WRITERS, PATHS))
    _names(claim, dut)
    (name,), (found,) = dut.read, dut.read_data
    after = _expected(name, _slots(claim, dut, name.index, _parts(found), None))
    same = claim.value(Value.cast(name) == claim.register(Value.cast(name), "name_before"), "same", 1)
    claim.assume(same, name.forward == 0)
    claim.ensure(found == claim.register(after, "after"))


@PROPERTIES.of(
    "slot_file",
    "slot_file_forwards",
    "a read takes the slots of writes in its cycle that have its forwarding code, and no others",
    ("(name.forward != 0) & ", ""),
)
def forwards(claim: Claim) -> None:
    dut = claim.instantiate("dut", SlotFile(SLOT_BITS, REGISTERS, 2, WRITERS, PATHS))
    _names(claim, dut)
    name, plain = dut.read
    claim.assume(name.index == plain.index, name.size == plain.size, plain.forward == 0)
    slots = _slots(claim, dut, name.index, _parts(dut.read_data[1]), name.forward)
    claim.ensure(dut.read_data[0] == _expected(name, slots))


@PROPERTIES.of(
    "{unit}",
    "{unit}_stands_still",
    "no register changes in a cycle without an advance",
    LATCHES,
    "unit, make",
    [("load_fifo", partial(LoadFifo, LoadFifoConfig())), ("store_fifo", partial(StoreFifo, StoreFifoConfig()))],
    depth=1,
)
def still(claim: Claim, make: Callable[[], wiring.Component]) -> None:
    claim.instantiate("dut", make(), advance=0)
    for place, register in enumerate(claim.registers("dut")):
        claim.ensure(register == claim.register(register, f"before_{place}"))


@PROPERTIES.of(
    "load_fifo",
    "load_fifo_registers",
    "a line is loaded where there is room; the head moves by the bytes that leave, and a pop of too many empties the FIFO",
    ("Mux(underflow, 0, filled - request.bytes)", "filled - request.bytes"),
)
def popped(claim: Claim) -> None:
    dut = claim.instantiate("dut", LoadFifo(LoadFifoConfig()), enable=1)
    request = dut.request
    claim.assume(request.count <= FIFO_BYTES, request.bytes <= FIFO_BYTES, ~request.sparse, ~request.jumps)
    room = request.count <= FIFO_BYTES - LINE_BYTES
    came = claim.value(Mux(room, LINE_BYTES - request.pointer % LINE_BYTES, 0), "came")
    there = claim.value(request.count + came, "there")
    wanted = claim.value(Mux(request.pop, request.bytes, 0), "wanted")
    leave = claim.value(Mux(wanted > there, there, wanted), "leave")
    claim.ensure(
        dut.loads == room,
        dut.line == request.pointer >> PLACE_BITS,
        dut.head == (request.pointer - request.count)[:ADDRESS_BITS],
        dut.next_pointer == (request.pointer + came)[:ADDRESS_BITS],
        dut.next_count == there - leave,
        (dut.next_pointer - dut.next_count)[:ADDRESS_BITS] == (dut.head + leave)[:ADDRESS_BITS],
    )


@PROPERTIES.of(
    "store_fifo",
    "store_fifo_registers",
    "pointer and count together move by the bytes that come; a line's end is passed as soon as the bytes reach it",
    ("with m.If(kept >= room):", "with m.If(kept > room):"),
)
def pushed(claim: Claim) -> None:
    dut = claim.instantiate("dut", StoreFifo(StoreFifoConfig()), enable=1)
    request = dut.request
    claim.assume(request.count <= FIFO_BYTES, request.bytes <= FIFO_BYTES)
    comes = claim.value(Mux(request.flush, 0, request.bytes), "comes")
    room = claim.value(LINE_BYTES - request.pointer % LINE_BYTES, "room")
    fits = claim.value(Mux(request.count + comes > FIFO_BYTES, FIFO_BYTES - request.count, comes), "fits")
    end = claim.value(request.pointer + request.count + fits, "end", ADDRESS_BITS)
    leaves = claim.value((dut.next_pointer - request.pointer)[:ADDRESS_BITS], "leaves")
    claim.ensure(
        (dut.next_pointer + dut.next_count)[:ADDRESS_BITS] == end,
        dut.overflow == (request.count + comes > FIFO_BYTES),
        (leaves == 0) | (leaves == room) | (request.flush & (dut.next_count == 0)),
        (leaves == room) | (request.count + fits < room),
        ~request.flush | (leaves == Mux(request.count < room, request.count, room)),
    )


@PROPERTIES.of(
    "stream_port",
    "stream_port_words",
    "a buffer holds the words that came and did not leave; the core waits exactly for a blocking access, and moves nothing then",
    ("goes.eq(self.advance & ~self.stall)", "goes.eq(self.advance)"),
    engine=Engine.INDUCTION,
    depth=2,
)
def words(claim: Claim) -> None:
    config = StreamPortConfig(inputs=2)
    dut = claim.instantiate("dut", StreamPort(config))
    levels = [claim.inside(f"dut.in_{number}", "level") for number in range(config.inputs)]
    found = Mux(dut.select, levels[1], levels[0]) != 0
    claim.ensure(dut.read_success == (dut.reads & found))
    waits = (dut.reads & dut.read_blocks & ~dut.read_success) | (dut.writes & dut.write_blocks & ~dut.write_success)
    claim.ensure(dut.stall == waits)
    out = claim.inside("dut.out", "level")
    goes = dut.advance & ~waits
    moves = [
        (level, dut.i[number].valid & dut.i[number].ready, goes & dut.read_success & (dut.select == number))
        for number, level in enumerate(levels)
    ]
    moves.append((out, goes & dut.write_success, dut.o.valid & dut.o.ready))
    for number, (level, arrives, leaves) in enumerate(moves):
        under_way = Signal(range(config.out_words + 2), name=f"under_way_{number}")
        claim.m.d.sync += under_way.eq(under_way + arrives - leaves)
        claim.ensure(under_way == level)
    for number, level in enumerate(levels):
        claim.ensure(level <= config.in_words, dut.i[number].ready == (level != config.in_words))
