"""Bench of the cascade link, cycle by cycle against golden: order, back-pressure, four words in flight, reset."""

from itertools import compress

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import Cascade
from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS, CASCADE_DEPTH
from bitpath.golden.aie_ml_v2.mac.cascade import CASCADE_WORDS
from bitpath.rtl.aie_ml_v2.cascade.cascade import CascadeLink, CascadeLinkConfig
from bitpath.verif.kit.packing import array_bits
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, pauses, resolved
from bitpath.verif.kit.values import Word

BENCH = UnitBench(CascadeLink, CascadeLinkConfig, ms=1)
CASES = cases(500)
IN_FLIGHT = 2 * CASCADE_DEPTH
"""Capacity of both FIFOs in words."""
MET = ("not taken", "nothing offered", "stalled", "in and out at once")
"""Events at the two streams in a cycle."""


class Neighbours:
    """Both ends of the link, with golden in lockstep.

    Parameters
    ----------
    frame : the test's bench.
    """

    def __init__(self, frame):
        self.dut = frame.dut
        self.golden = Cascade()
        self.board = frame.scoreboard("o", CASCADE_BITS, {"": Word(32)})
        self.rng = pauses.rng("words")
        self.word = self._draw()
        self.written = 0

    def _draw(self) -> np.ndarray:
        return np.array([self.rng.getrandbits(32) for _ in range(CASCADE_WORDS)], np.uint32)

    async def cycle(self, write: bool, read: bool) -> tuple[bool, bool]:
        """Run one cycle of link and golden; return whether a word was taken, and whether one arrived."""
        dut = self.dut
        ready, valid = self.golden.can_write, self.golden.can_read
        taken, value = self.golden.cycle(self.word if write else None, read=read)
        dut.i__payload.value = array_bits(self.word) if write else self.rng.getrandbits(CASCADE_BITS)
        dut.i__valid.value, dut.o__ready.value = int(write), int(read)
        await FallingEdge(dut.clk)
        assert (resolved(dut.i__ready), resolved(dut.o__valid)) == (ready, valid)
        if value is not None:
            self.board.compare(
                resolved(dut.o__payload),
                array_bits(value),
                f"word {self.board.compared} of the link, of {self.written} written",
            )
        if taken:
            self.written += 1
            self.word = self._draw()
        await RisingEdge(dut.clk)
        return taken, value is not None

    async def empty(self) -> None:
        """Read until the link is empty; every word written must have arrived."""
        while self.golden.in_flight:
            await self.cycle(False, True)
        await self.cycle(False, True)
        assert self.board.compared == self.written


@BENCH.test("cascade_link.traffic", "Software depends on the cycle in which a neighbour stalls", pace=list(PACES))
async def random_traffic(frame, pace):
    """Handshakes and words of every cycle equal to golden's, at full speed, with gaps, stalls and both; 0 to 4 words in
    flight; every word once, in order."""
    coverage = frame.coverage(
        [*(f"{count} in flight" for count in range(IN_FLIGHT + 1)), *MET] if pace == "both" else []
    )
    link = Neighbours(frame)
    gaps, stalls = (make() for make in PACES[pace])
    for _ in range(CASES):
        write, read = not next(gaps), not next(stalls)
        there = link.golden.can_read
        taken, came = await link.cycle(write, read)
        if pace == "both":
            coverage.hit(f"{link.golden.in_flight} in flight")
            met = (write and not taken, read and not there, there and not read, taken and came)
            for event in compress(MET, met):
                coverage.hit(event)
    await link.empty()


@BENCH.test("cascade_link.back_pressure", "AM027: two deep on both sides")
async def four_words_in_flight(frame):
    """Exactly four words enter while none is taken; each word taken frees one entry."""
    link = Neighbours(frame)
    for _ in range(3 * IN_FLIGHT):
        await link.cycle(True, False)
    assert link.written == IN_FLIGHT
    for read in range(IN_FLIGHT):
        await link.cycle(True, True)
        for _ in range(IN_FLIGHT):
            await link.cycle(True, False)
        assert link.written == IN_FLIGHT + read + 1
    await link.empty()


@BENCH.test("cascade_link.pace", "A chain runs no faster than its links")
async def a_word_a_cycle(frame):
    """Throughput of one word a cycle; latency of two cycles."""
    link = Neighbours(frame)
    for cycle in range(CASES):
        taken, came = await link.cycle(True, True)
        assert taken
        assert came == (cycle >= 2), f"cycle {cycle}"
    await link.empty()


@BENCH.test("cascade_link.reset", "A surviving word would be a partial sum of another run")
async def reset_empties_both_ends(frame):
    """A reset with one to four words in flight leaves none."""
    dut = frame.dut
    link = Neighbours(frame)
    for filled in range(1, IN_FLIGHT + 1):
        while link.golden.in_flight < filled:
            await link.cycle(True, False)
        dut.i__valid.value = 0
        dut.rst.value = 1
        await RisingEdge(dut.clk)
        dut.rst.value = 0
        link.golden, link.written = Cascade(), link.board.compared
        for _ in range(IN_FLIGHT):
            await link.cycle(False, True)
        for _ in range(2):
            await link.cycle(True, False)
        await link.empty()
