"""Store FIFO: elements of any number of bytes into consecutive lines of memory.

::

    cycle 1                        cycle 1 + latency                              cycle 2 + latency
    count, pointer --> next ones   bytes held, bytes pushed --> bytes held after  store of a line

Ref: llvm-aie's registers and itineraries (target aie2ps); the rule of the transfers is chosen.
"""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_ALIGNMENT_BYTES, SPARSE_CHUNK_BYTES
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.pipeline_registers import Delay
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup


@dataclass(frozen=True, kw_only=True)
class LoadFifoConfig(UnitConfig, unit="load_fifo"):
    """Configuration of a load FIFO.

    Attributes
    ----------
    latency : cycles from a request to its line of memory; 6 on the machine, whose memory is read in cycle 5. With 1 the
        requests come in the cycle of the access.
    """

    latency: int = in_range(1, 8, 6)


@dataclass(frozen=True, kw_only=True)
class StoreFifoConfig(UnitConfig, unit="store_fifo"):
    """Configuration of the store FIFO.

    Attributes
    ----------
    latency : cycles from a push to its bytes; 4 on the machine, which writes to memory in cycle 6.
    late : cycles more of a push that converts; 2 on the machine.
    """

    latency: int = in_range(1, 8, 4)
    late: int = in_range(1, 4, 2)


# Widths of the FIFOs, masks of their lowest bytes, and moves by any number of bytes.


LINE_BITS, FIFO_BITS = 8 * LINE_BYTES, 8 * FIFO_BYTES
PLACE_BITS = LINE_BYTES.bit_length() - 1
"""Bits of a byte's place in its line."""
COUNT = range(FIFO_BYTES + 1)
"""Bytes that a FIFO holds, and bytes of an element."""


def lowest_bytes(count: Value, width: int = FIFO_BYTES) -> Value:
    """Ones in the lowest ``count`` of ``width`` bytes."""
    return Cat((count > byte).replicate(8) for byte in range(width))


def next_line(pointer: Value) -> Value:
    """The line behind the pointer's."""
    return ((pointer[PLACE_BITS:] + 1) << PLACE_BITS)[:ADDRESS_BITS]


def moved(m: Module, name: str, data: Value, count: Value, *, up: bool = False) -> Signal:
    """``data`` moved down by ``count`` bytes, or up within its width: a multiplexer for each bit of the count.

    One shift by an unknown number would connect every bit of the result with every bit of the data, and Amaranth follows each
    of these connections when it looks for combinational loops.
    """
    for place, bit in enumerate(count):
        bits = 8 << place
        step = Signal(len(data), name=f"{name}_{1 << place}")
        m.d.comb += step.eq(Mux(bit, data.shift_left(bits) if up else data.shift_right(bits), data))
        data = step
    return data


# Load FIFO: elements of any number of bytes out of consecutive lines of memory.
#
# ::
#
#     cycle 1                        cycle 1 + latency                                  cycle 2 + latency
#     count, pointer --> next ones   bytes held, line from memory --> bytes held after  bytes of the element
#
# Ref: llvm-aie's registers, itineraries and tests (target aie2ps); the rule of the transfers is chosen.


MASK_BYTES = SPARSE_CHUNK_BYTES // 8
CHUNK_BITS = 8 * (MASK_BYTES + SPARSE_CHUNK_BYTES)
"""Bits of the largest sparse chunk with its mask."""
FLAG_CYCLES = 2
"""Cycles from a request to its flag: it is written in cycle 3."""

LOAD_REQUEST = data.StructLayout(
    {"pop": 1, "sparse": 1, "jumps": 1, "bytes": COUNT, "count": COUNT, "pointer": ADDRESS_BITS}
)
"""Layout of a fill, or a pop of ``bytes`` bytes or of two sparse chunks; with ``jumps`` the FIFO is empty afterwards."""


class LoadFifo(wiring.Component):
    """It takes a request a cycle. A fill and a pop that find at most 64 bytes load the line of the pointer, from the
    pointer on.

    The count after a sparse pop depends on its masks: it is known with its line, and no request may come before.

    Parameters
    ----------
    config : latency of the memory.

    Members
    -------
    advance : In(1), clock enable of everything
    request : In(LOAD_REQUEST), enable : In(1); the FIFO's count and pointer registers are operands
    loads : Out(1), line : Out, the memory line to load, in the cycle of the request
    next_count, next_pointer : Out, the registers afterwards; the count of a sparse pop before its bytes leave
    head : Out, address of the first byte held, from which a pop with a modifier jumps
    underflow : Out(1), of a pop two cycles ago
    data : In(512), the line, ``latency`` cycles after its request
    late_count : Out, late_underflow, late : Out(1), of a sparse pop ``latency`` cycles ago
    o : Out(1024), the bytes of a pop one cycle later, zeros above; popped : Out(1)
    held : Out(1024), the register; write : In(2), its halves to write, write_data : In(1024)
    """

    def __init__(self, config: LoadFifoConfig):
        self.config = config
        super().__init__(
            {
                "advance": In(1),
                "request": In(LOAD_REQUEST),
                "enable": In(1),
                "loads": Out(1),
                "line": Out(ADDRESS_BITS - PLACE_BITS),
                "next_count": Out(COUNT),
                "next_pointer": Out(ADDRESS_BITS),
                "head": Out(ADDRESS_BITS),
                "underflow": Out(1),
                "data": In(LINE_BITS),
                "late_count": Out(COUNT),
                "late_underflow": Out(1),
                "late": Out(1),
                "o": Out(FIFO_BITS),
                "popped": Out(1),
                "held": Out(FIFO_BITS),
                "write": In(2),
                "write_data": In(FIFO_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request = self.request
        place = request.pointer[:PLACE_BITS]
        filled, underflow = Signal(COUNT), Signal()
        counted = request.pop & ~request.sparse
        m.d.comb += [
            self.loads.eq(self.enable & (request.count <= FIFO_BYTES - LINE_BYTES)),
            self.line.eq(request.pointer[PLACE_BITS:]),
            filled.eq(Mux(self.loads, request.count + LINE_BYTES - place, request.count)),
            underflow.eq(counted & (filled < request.bytes)),
            self.next_count.eq(Mux(counted, Mux(underflow, 0, filled - request.bytes), filled)),
            self.next_pointer.eq(Mux(self.loads, next_line(request.pointer), request.pointer)),
            self.head.eq(request.pointer - request.count),
        ]
        with m.If(request.jumps):
            m.d.comb += self.next_count.eq(0)
        flag = instantiate(m, platform, "flag", Delay, 1, FLAG_CYCLES)
        m.d.comb += [
            flag.advance.eq(self.advance),
            flag.i.eq(self.enable & underflow),
            self.underflow.eq(flag.o),
        ]
        self._transfer(m, platform, place)
        return m

    def _transfer(self, m: Module, platform, place: Value) -> None:
        """The bytes, ``latency`` cycles after the request."""
        request = self.request
        control = data.StructLayout(
            {
                "valid": 1,
                "loads": 1,
                "place": PLACE_BITS,
                "pop": 1,
                "sparse": 1,
                "jumps": 1,
                "bytes": COUNT,
                "count": COUNT,
            }
        )
        asked, now = Signal(control), Signal(control)
        m.d.comb += [
            asked.valid.eq(self.enable),
            asked.loads.eq(self.loads),
            asked.place.eq(place),
            *(asked[name].eq(request[name]) for name in ("pop", "sparse", "jumps", "bytes", "count")),
        ]
        delay = instantiate(m, platform, "control", Delay, control.size, self.config.latency)
        m.d.comb += [delay.advance.eq(self.advance), delay.i.eq(asked), now.eq(delay.o)]

        full, rest = Signal(FIFO_BITS), Signal(FIFO_BITS)
        filled, size = Signal(COUNT), Signal(range(2 * FIFO_BYTES))
        taken = Signal.like(size)
        line = Signal(FIFO_BITS)
        m.d.comb += [line.eq(moved(m, "line_down", self.data, now.place)), taken.eq(Mux(now.pop, size, 0))]
        added = moved(m, "line_up", line, now.count, up=True)
        m.d.comb += [
            full.eq((self.held & lowest_bytes(now.count)) | Mux(now.loads, added, 0)),
            filled.eq(Mux(now.loads, now.count + LINE_BYTES - now.place, now.count)),
            size.eq(Mux(now.sparse, self._sparse_bytes(m, full), now.bytes)),
            rest.eq(Mux(now.jumps, 0, moved(m, "rest_down", full, taken))),
            self.late.eq(now.valid & now.pop & now.sparse),
            self.late_underflow.eq(self.late & (filled < size)),
            self.late_count.eq(Mux(now.jumps | (filled < size), 0, filled - size)),
        ]
        with m.If(self.advance):
            m.d.sync += [self.o.eq(full & lowest_bytes(size)), self.popped.eq(now.valid & now.pop)]
            with m.If(now.valid):
                m.d.sync += self.held.eq(rest)
        for half in range(2):
            with m.If(self.advance & self.write[half]):
                m.d.sync += self.held.word_select(half, LINE_BITS).eq(self.write_data.word_select(half, LINE_BITS))

    def _sparse_bytes(self, m: Module, full: Signal) -> Value:
        """Bytes of two chunks: of each a mask, a byte for each of its bits, rounded up to a multiple of four."""
        first = _chunk_bytes(m, "first", full[: 8 * MASK_BYTES])
        second = moved(m, "second_down", full[: CHUNK_BITS + 8 * MASK_BYTES], first)
        return first + _chunk_bytes(m, "second", second[: 8 * MASK_BYTES])


def _chunk_bytes(m: Module, name: str, mask: Value) -> Signal:
    size = Signal(range(FIFO_BYTES + 1), name=f"{name}_bytes")
    kept = sum(mask[bit] for bit in range(8 * MASK_BYTES))
    up = SPARSE_ALIGNMENT_BYTES - 1
    m.d.comb += size.eq(Cat(0, 0, (kept + MASK_BYTES + up)[2:]))
    return size


STORE_REQUEST = data.StructLayout({"flush": 1, "late": 1, "bytes": COUNT, "count": COUNT, "pointer": ADDRESS_BITS})
"""Layout of a push of ``bytes`` bytes, or a flush; those that convert, and flushes behind them, are ``late``."""
LINE_STORE = data.StructLayout({"line": ADDRESS_BITS - PLACE_BITS, "data": LINE_BITS, "mask": LINE_BYTES})
"""Layout of a store of bytes of a line."""


class StoreFifo(wiring.Component):
    """It takes a request a cycle. A push whose bytes reach the end of the pointer's line writes up to it, a flush all
    bytes up to it.

    A late request and one that is not must not have their bytes in one cycle.

    Parameters
    ----------
    config : cycles from a request to its bytes.

    Members
    -------
    advance : In(1), clock enable of everything
    request : In(STORE_REQUEST), enable : In(1); the FIFO's count and pointer registers are operands
    next_count, next_pointer : Out, the registers afterwards
    overflow : Out(1), more than 128 bytes come together; the last of them are lost
    data : In(1024), the bytes of a push, ``latency`` cycles after its request, or ``late`` more
    store : Out(LINE_STORE), store_valid : Out(1), one cycle later
    held : Out(1024), the register; write : In(2), its halves to write, write_data : In(1024)
    """

    def __init__(self, config: StoreFifoConfig):
        self.config = config
        super().__init__(
            {
                "advance": In(1),
                "request": In(STORE_REQUEST),
                "enable": In(1),
                "next_count": Out(COUNT),
                "next_pointer": Out(ADDRESS_BITS),
                "overflow": Out(1),
                "data": In(FIFO_BITS),
                "store": Out(LINE_STORE),
                "store_valid": Out(1),
                "held": Out(FIFO_BITS),
                "write": In(2),
                "write_data": In(FIFO_BITS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        request = self.request
        place = request.pointer[:PLACE_BITS]
        # Bytes held with the push, before and after the loss of bytes without room.
        together, kept = Signal(range(2 * FIFO_BYTES + 1)), Signal(COUNT)
        room, leaves = Signal(range(LINE_BYTES + 1)), Signal(range(LINE_BYTES + 1))
        m.d.comb += [
            together.eq(request.count + Mux(request.flush, 0, request.bytes)),
            kept.eq(Mux(together > FIFO_BYTES, FIFO_BYTES, together)),
            self.overflow.eq(self.enable & (together > FIFO_BYTES)),
            room.eq(LINE_BYTES - place),
        ]
        with m.If(kept >= room):
            m.d.comb += leaves.eq(room)
        with m.Elif(request.flush):
            m.d.comb += leaves.eq(kept)
        m.d.comb += [
            self.next_count.eq(kept - leaves),
            self.next_pointer.eq(request.pointer + leaves),
        ]
        self._transfer(m, platform, leaves)
        return m

    def _transfer(self, m: Module, platform, leaves: Signal) -> None:
        """The bytes, as many cycles after the request as it says."""
        request, config = self.request, self.config
        control = data.StructLayout(
            {
                "valid": 1,
                "flush": 1,
                "count": COUNT,
                "leaves": range(LINE_BYTES + 1),
                "pointer": ADDRESS_BITS,
            }
        )
        asked, now = Signal(control), Signal(control)
        m.d.comb += [
            asked.valid.eq(self.enable),
            asked.leaves.eq(leaves),
            *(asked[name].eq(request[name]) for name in ("flush", "count", "pointer")),
        ]
        early = instantiate(m, platform, "early", Delay, control.size, config.latency)
        late = instantiate(m, platform, "late", Delay, control.size, config.latency + config.late)
        m.d.comb += [
            early.advance.eq(self.advance),
            late.advance.eq(self.advance),
            early.i.eq(Mux(self.enable & ~request.late, asked, 0)),
            late.i.eq(Mux(self.enable & request.late, asked, 0)),
            now.eq(early.o | late.o),
        ]
        full, line = Signal(FIFO_BITS), Signal(LINE_BITS)
        place = now.pointer[:PLACE_BITS]
        pushed = moved(m, "data_up", Mux(now.flush, 0, self.data), now.count, up=True)
        written = full[:LINE_BITS] & lowest_bytes(now.leaves, LINE_BYTES)
        m.d.comb += [
            full.eq((self.held & lowest_bytes(now.count)) | pushed),
            line.eq(moved(m, "line_up", written, place, up=True)),
        ]
        rest = moved(m, "rest_down", full, now.leaves)
        mask = Signal(LINE_BYTES)
        ones = sum(((now.leaves > byte) << byte) for byte in range(LINE_BYTES))
        m.d.comb += mask.eq(ones << place)
        with m.If(self.advance):
            m.d.sync += [
                self.store_valid.eq(now.valid & (now.leaves != 0)),
                self.store.line.eq(now.pointer[PLACE_BITS:]),
                self.store.data.eq(line),
                self.store.mask.eq(mask),
            ]
            with m.If(now.valid):
                m.d.sync += self.held.eq(rest)
        for half in range(2):
            with m.If(self.advance & self.write[half]):
                m.d.sync += self.held.word_select(half, LINE_BITS).eq(self.write_data.word_select(half, LINE_BITS))


RECORDS = (
    Unit(
        name="load_fifo",
        config_type=LoadFifoConfig,
        build=LoadFifo,
        summary="AIE-ML v2: elements of any size out of lines of memory",
        covered=Covered(LoadFifoConfig(), 100),
        judges=(Judge(95, LoadFifoConfig(latency=2), 100),),
        waves=(
            CLOCK,
            WaveGroup("request", r"(advance|request|enable|loads|line|next_|head|underflow|filled)"),
            WaveGroup("bytes", r"(data|now|full|rest|size|late|held|write)"),
            WaveGroup("element", r"(o|popped)$"),
        ),
    ),
    Unit(
        name="store_fifo",
        config_type=StoreFifoConfig,
        build=StoreFifo,
        summary="AIE-ML v2: elements of any size into lines of memory",
        covered=Covered(StoreFifoConfig(), 100),
        judges=(Judge(96, StoreFifoConfig(latency=1, late=1), 100),),
        waves=(
            CLOCK,
            WaveGroup("request", r"(advance|request|enable|next_|overflow|together|kept|room|leaves)"),
            WaveGroup("bytes", r"(data|now|full|line|mask|held|write)"),
            WaveGroup("store", r"store"),
        ),
    ),
)
