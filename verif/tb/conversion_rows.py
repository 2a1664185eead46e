"""What the benches of unpacker and packer share: rows through the streams at a pace, and the latency in cycles."""

from dataclasses import dataclass
from typing import Any

from cocotb.triggers import FallingEdge

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.streams import resolved

PACES = {
    "full_speed": (pauses.never, pauses.never),
    "gaps": (lambda: pauses.bursts(6, pauses.rng("i")), pauses.never),
    "stalls": (pauses.never, lambda: pauses.bursts(6, pauses.rng("o"))),
    "both": (lambda: pauses.scattered(0.4, pauses.rng("i")), lambda: pauses.scattered(0.4, pauses.rng("o"))),
}
"""How the ends of the streams pause: the input's, the output's."""


@dataclass(frozen=True)
class Row:
    """A request and what must come of it, as the ports have them, and what to show if it does not."""

    payload: int
    expected: int
    shown: Any


def exchange(frame: Bench, rows: list[Row], pace: str) -> None:
    """Queue the rows and compare what comes, in order."""
    gaps, stalls = (make() for make in PACES[pace])
    driver = frame.driver("i", gaps)
    scoreboard = frame.check_stream("o", stalls=stalls)
    for row in rows:
        scoreboard.expect(row.expected, row.shown)
        driver.send_bits(row.payload)


async def sweep(frame: Bench, rows: list[Row], latency: int) -> None:
    """A row a cycle, with one await in it: each comes exactly ``latency`` cycles after its request."""
    dut = frame.dut
    scoreboard = frame.scoreboard("o", frame.payload_shape("o"))
    dut.o__ready.value = 1
    await FallingEdge(dut.clk)
    for cycle in range(len(rows) + latency):
        valid = cycle < len(rows)
        dut.i__valid.value = int(valid)
        if valid:
            dut.i__payload.value = rows[cycle].payload
            scoreboard.expect(rows[cycle].expected, rows[cycle].shown)
        await FallingEdge(dut.clk)
        shows = cycle >= latency - 1 and cycle - (latency - 1) < len(rows)
        assert resolved(dut.o__valid) == shows, f"cycle {cycle}: valid is {resolved(dut.o__valid)}"
        if shows:
            scoreboard.got(resolved(dut.o__payload))


async def lone_rows(frame: Bench, rows: list[Row], latency: int) -> None:
    """One row at a time: it comes ``latency`` cycles after its request, once, and stays while ready is low."""
    dut = frame.dut
    scoreboard = frame.scoreboard("o", frame.payload_shape("o"))
    await FallingEdge(dut.clk)
    for row in rows:
        scoreboard.expect(row.expected, row.shown)
        dut.i__payload.value, dut.i__valid.value, dut.o__ready.value = row.payload, 1, 0
        await FallingEdge(dut.clk)
        dut.i__valid.value = 0
        for cycle in range(1, latency):
            assert not resolved(dut.o__valid), f"a row after {cycle} cycles, not {latency}"
            await FallingEdge(dut.clk)
        for _ in range(3):
            assert resolved(dut.o__valid), f"no row after {latency} cycles, or it did not stay"
            assert resolved(dut.o__payload) == row.expected, f"{row.shown}: {resolved(dut.o__payload):#x}"
            await FallingEdge(dut.clk)
        scoreboard.got(resolved(dut.o__payload))
        dut.o__ready.value = 1
        await FallingEdge(dut.clk)
        assert not resolved(dut.o__valid), "one request gave a second row"
