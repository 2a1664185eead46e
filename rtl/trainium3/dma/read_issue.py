"""Reads of a DMA descriptor at the pace of the machine's bus."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.trainium3.dma.config import TIMES, DmaMoverConfig
from bitpath.rtl.trainium3.dma.token_bucket import LENGTH_BITS

COUNT_BITS = LENGTH_BITS + 1
"""Bits of a number of bytes or of beats, of 1 to 65,536."""


def run_layout(config: DmaMoverConfig) -> data.StructLayout:
    """Layout of a run to read: its first byte's address, its bytes, and the beats that it takes on the bus.

    ``step`` is the log of the beats for each word: 0, or 1 or 2 where a cast makes the elements wider.
    """
    return data.StructLayout(
        {"address": config.address_bits, "bytes": COUNT_BITS, "beats": COUNT_BITS, "step": range(3)}
    )


class ReadIssue(wiring.Component):
    """Asks for the words of a run: a counter gains 55 a cycle, a beat takes 64, and each beat or every second or fourth reads a word.

    A run that lies in a word more than it has beats reads that word in the first cycle without a beat. The next run is taken
    ``max(descriptor_cycles, ceil(beats * 64 / 55))`` cycles after this one; a word that is not taken at once delays the rest.

    Parameters
    ----------
    config : bytes of a word, bits of an address, shortest run.

    Members
    -------
    i : In(stream of run_layout)
    o : Out(stream of addresses of words)
    """

    def __init__(self, config: DmaMoverConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(run_layout(config))),
                "o": Out(stream.Signature(config.writes.address_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, run = self.config, self.i.p
        size, offset_bits = config.beat_bytes, config.offset_bits
        busy = Signal()
        more = Signal()
        age = Signal(range(config.descriptor_cycles + 1))
        counter = Signal(range(TIMES.beat_price))
        beats = Signal(COUNT_BITS)
        phase = Signal(2)
        mask = Signal(2)
        address = Signal(config.writes.address_bits)

        gained = Signal(range(TIMES.beat_price + TIMES.beat_gain))
        due = Signal()
        reads = Signal()
        waits = Signal()
        last = Signal()
        m.d.comb += [
            gained.eq(counter + TIMES.beat_gain),
            due.eq(beats.any() & (gained >= TIMES.beat_price)),
            reads.eq(due & ~phase.any()),
            self.o.p.eq(address),
            self.o.valid.eq(busy & (reads | (more & ~due))),
            waits.eq(self.o.valid & ~self.o.ready),
            last.eq((beats == due) & ~(more & due) & ~waits & (age >= config.descriptor_cycles - 1)),
            self.i.ready.eq(~busy),
        ]
        with m.If(busy):
            m.d.sync += age.eq(Mux(age == config.descriptor_cycles, age, age + 1))
            with m.If(~waits):
                m.d.sync += [
                    counter.eq(Mux(due, gained - TIMES.beat_price, Mux(beats.any(), gained, 0))),
                    beats.eq(beats - due),
                    phase.eq(Mux(due, (phase + 1) & mask, phase)),
                    address.eq(address + self.o.valid),
                    more.eq(more & due),
                    busy.eq(~last),
                ]
        with m.Elif(self.i.valid):
            # Words beyond those of a run that begins at a word's first byte.
            first = Signal(range(2 * size))
            tail = Signal(offset_bits)
            m.d.comb += [
                tail.eq(run.bytes - 1),
                first.eq(run.address[:offset_bits] + tail),
            ]
            m.d.sync += [
                busy.eq(1),
                age.eq(1),
                counter.eq(TIMES.beat_gain),
                beats.eq(run.beats),
                phase.eq(0),
                mask.eq((1 << run.step) - 1),
                address.eq(run.address[offset_bits:]),
                more.eq(first >= size),
            ]
        return m
