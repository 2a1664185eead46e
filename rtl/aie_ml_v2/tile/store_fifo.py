"""Store FIFO: elements of any number of bytes into consecutive lines of memory.

::

    cycle 1                        cycle 1 + latency                              cycle 2 + latency
    count, pointer --> next ones   bytes held, bytes pushed --> bytes held after  store of a line

Ref: llvm-aie's registers and itineraries (target aie2ps); the rule of the transfers is chosen.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.rtl.aie_ml_v2.tile.config import StoreFifoConfig
from bitpath.rtl.aie_ml_v2.tile.fifo_bytes import COUNT, FIFO_BITS, LINE_BITS, PLACE_BITS, lowest_bytes, moved
from bitpath.rtl.common.pipeline.delay import Delay
from bitpath.rtl.common.pipeline.shared_instances import instantiate

STORE_REQUEST = data.StructLayout({"flush": 1, "late": 1, "bytes": COUNT, "count": COUNT, "pointer": ADDRESS_BITS})
"""Layout of a push of ``bytes`` bytes, or a flush; those that convert, and flushes behind them, are ``late``."""
LINE_STORE = data.StructLayout({"line": ADDRESS_BITS - PLACE_BITS, "data": LINE_BITS, "mask": LINE_BYTES})
"""Layout of a store of bytes of a line."""


class StoreFifo(wiring.Component):
    """A request a cycle. A push whose bytes reach the end of the pointer's line writes up to it, a flush all bytes up to it.

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
        # What is held with the push, before and after the loss of what has no room.
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
