"""Bench of the stream ports, cycle by cycle against golden: blocking and non-blocking accesses, gaps, back-pressure, reset."""

from itertools import compress

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import StreamPort as GoldenPort
from bitpath.golden.aie_ml_v2 import StreamWord, stream_result
from bitpath.golden.aie_ml_v2.declarations.tile import STREAM_IN_LATENCY, STREAM_OUT_LATENCY
from bitpath.rtl.aie_ml_v2.tile.stream_port import STREAM_WORD, StreamPort, StreamPortConfig
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved

BENCH = UnitBench(StreamPort, StreamPortConfig, ms=2)
CONFIG = BENCH.config
CASES = cases(500)
INPUTS = range(CONFIG.inputs)
MET = (
    "read waits",
    "write waits",
    "one waits for the other",
    "read misses",
    "write misses",
    "last word",
    "full input",
    "out stalls",
)
SHARES = {"balanced": (0.5, 0.5), "starved": (0.15, 0.9), "flooded": (0.9, 0.15)}
"""Shares of cycles with a word from outside and with room outside, and of the core's reads and writes the other way round."""


def bits(word):
    return pack(STREAM_WORD, {"word": word.word, "last": int(word.last)})


class Table:
    """Both sides of all buffers, with golden in lockstep. An offer stays until it is taken, and a waiting access too."""

    def __init__(self, frame):
        self.dut, self.rng = frame.dut, pauses.rng("words")
        self.ins = [GoldenPort(CONFIG.in_words, STREAM_IN_LATENCY) for _ in INPUTS]
        self.out = GoldenPort(CONFIG.out_words, STREAM_OUT_LATENCY)
        self.offers = [None for _ in INPUTS]
        self.access = None
        self.sent = frame.scoreboard("o", STREAM_WORD)
        self.read = frame.scoreboard("read", STREAM_WORD)

    def word(self):
        return StreamWord(self.rng.getrandbits(32), self.rng.random() < 0.3)

    async def cycle(self, offers, takes, read=None, write=None, advance=True):
        """Play a cycle: inputs that offer a word, whether the outside takes one, and the core's accesses.

        ``read`` is (input, blocks), ``write`` is blocks; an access that waits stays instead.
        """
        dut = self.dut
        if self.access is None:
            self.access = (read, write, self.word(), self.rng.randrange(CONFIG.inputs))
        read, write, written, idle = self.access
        for number in INPUTS:
            if self.offers[number] is None and offers[number]:
                self.offers[number] = self.word()
            offer = self.offers[number]
            getattr(dut, f"i__{number}__valid").value = offer is not None
            getattr(dut, f"i__{number}__payload").value = bits(offer or self.word())
        dut.o__ready.value, dut.advance.value = takes, advance
        dut.reads.value, dut.writes.value = read is not None, write is not None
        dut.read_blocks.value = self.rng.randrange(2) if read is None else read[1]
        dut.write_blocks.value = self.rng.randrange(2) if write is None else write
        if CONFIG.inputs > 1:
            dut.select.value = idle if read is None else read[0]
        dut.write.value = bits(written)
        await FallingEdge(dut.clk)
        met = self._see(takes, advance)
        await RisingEdge(dut.clk)
        return met

    def _see(self, takes, advance):
        dut = self.dut
        read, write, written, _ = self.access
        found = read is not None and self.ins[read[0]].can_read
        room = self.out.can_write
        read_waits = read is not None and read[1] and not found
        write_waits = write is not None and write and not room
        stall = read_waits or write_waits
        goes = advance and not stall
        assert resolved(dut.stall) == stall
        assert resolved(dut.read_success) == found
        assert resolved(dut.write_success) == (write is not None and room)
        full = [not port.can_write for port in self.ins]
        for number, port in enumerate(self.ins):
            assert resolved(getattr(dut, f"i__{number}__ready")) == port.can_write
            taken, word = port.cycle(self.offers[number], read=goes and read is not None and read[0] == number)
            if read is not None and read[0] == number and goes:
                register, status = stream_result(word)
                self.read.compare(resolved(dut.read), pack(STREAM_WORD, {"word": register, "last": status & 1}))
            if taken:
                self.offers[number] = None
        there = self.out.can_read
        assert resolved(dut.o__valid) == there
        _, sent = self.out.cycle(written if goes and write is not None else None, read=takes)
        if sent is not None:
            self.sent.compare(resolved(dut.o__payload), bits(sent))
        if goes:
            self.access = None
        missed = goes and read is not None and not found, goes and write is not None and not room
        other = stall and not (read_waits and write_waits) and read is not None and write is not None
        last = bool(sent and sent.last)
        return read_waits, write_waits, other, *missed, last, any(full), there and not takes


@BENCH.test("stream_port.traffic", "A waiting access must not move the other one twice", share=list(SHARES))
async def random_traffic(frame, share):
    """Blocking and non-blocking accesses, both in one cycle, beside starved and flooded streams and waits of the core's
    own; every handshake, status and word equal to golden's."""
    outside, core = SHARES[share]
    rng = pauses.rng("traffic")
    events = {
        "balanced": ("last word",),
        "starved": ("read waits", "read misses"),
        "flooded": ("write waits", "write misses", "one waits for the other", "full input", "out stalls"),
    }
    coverage = frame.coverage(events[share])
    table = Table(frame)
    for _ in range(CASES):
        read = (rng.randrange(CONFIG.inputs), rng.random() < 0.5) if rng.random() < core else None
        write = rng.random() < 0.5 if rng.random() < outside else None
        met = await table.cycle(
            [rng.random() < outside for _ in INPUTS], rng.random() < core, read, write, rng.random() < 0.8
        )
        for event in set(compress(MET, met)) & {*events[share]}:
            coverage.hit(event)


@BENCH.test("stream_port.pace", "AM027: four double words in the switch's port out, two in", skip=CONFIG.in_words < 2)
async def a_word_a_cycle(frame):
    """A word a cycle in each direction, the latencies, and how many words the buffers hold."""
    table = Table(frame)
    for cycle in range(CASES // 4 + 8):
        met = await table.cycle([True] * CONFIG.inputs, True, (0, cycle > 0), True)
        assert not met[0], f"cycle {cycle}"
        assert not met[1], f"cycle {cycle}"
    for _ in range(CONFIG.out_words + CONFIG.in_words):
        await table.cycle([True] * CONFIG.inputs, False, None, False)
    assert [port.in_flight for port in (*table.ins, table.out)] == [
        *[CONFIG.in_words] * CONFIG.inputs,
        CONFIG.out_words,
    ]
    for _ in range(CONFIG.out_words + CONFIG.in_words):
        for number in INPUTS:
            await table.cycle([False] * CONFIG.inputs, True, (number, False), None)


@BENCH.test("stream_port.reset", "A word from before would be another program's")
async def resets(frame):
    """Resets with words in all buffers."""
    table = Table(frame)
    for filled in range(1, 5):
        for _ in range(filled):
            await table.cycle([True] * CONFIG.inputs, False, None, False)
        await frame.reset()
        table.ins = [GoldenPort(CONFIG.in_words, STREAM_IN_LATENCY) for _ in INPUTS]
        table.out = GoldenPort(CONFIG.out_words, STREAM_OUT_LATENCY)
        table.offers, table.access = [None for _ in INPUTS], None
        for _ in range(3):
            await table.cycle([False] * CONFIG.inputs, True, (0, False), None)
        for _ in range(4):
            await table.cycle([True] * CONFIG.inputs, True, (0, False), False)
