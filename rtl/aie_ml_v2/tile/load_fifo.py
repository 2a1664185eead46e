"""Load FIFO: elements of any number of bytes out of consecutive lines of memory.

::

    cycle 1                        cycle 1 + latency                                  cycle 2 + latency
    count, pointer --> next ones   bytes held, line from memory --> bytes held after  bytes of the element

Ref: llvm-aie's registers, itineraries and tests (target aie2ps); the rule of the transfers is chosen.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_ALIGNMENT_BYTES, SPARSE_CHUNK_BYTES
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.rtl.aie_ml_v2.tile.config import LoadFifoConfig
from bitpath.rtl.aie_ml_v2.tile.fifo_bytes import (
    COUNT,
    FIFO_BITS,
    LINE_BITS,
    PLACE_BITS,
    lowest_bytes,
    moved,
    next_line,
)
from bitpath.rtl.common.pipeline.delay import Delay
from bitpath.rtl.common.pipeline.shared_instances import instantiate

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
    """A request a cycle. A fill and a pop that find at most 64 bytes load the line of the pointer, from the pointer on.

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
