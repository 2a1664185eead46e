"""Check of the sticky overflow flag, shared by the benches of SRS and UPS."""

from typing import Any

from cocotb.triggers import FallingEdge

from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.pipeline import Request
from bitpath.verif.kit.streams import resolved

EVENTS = ("set", "kept", "cleared", "quiet", "waiting", "set over clear", "left over", "reset")


async def check_sticky_flag(frame: Bench, quiet: Request, loud: Request, latency: int) -> None:
    """Check set, clear and reset: the flag is set one cycle after a result with overflow is taken and stays until cleared.

    A result taken in the cycle of the clear sets it; one taken before does not.
    """
    dut, coverage = frame.dut, frame.coverage(EVENTS)
    board, flags = frame.scoreboard("o", frame.payload_shape("o")), frame.scoreboard("overflow", 1)

    async def step(cycles: int = 1) -> None:
        for _ in range(cycles):
            await FallingEdge(dut.clk)

    async def offer(request: Request) -> None:
        """Send a request to the end of the pipeline, where it stalls."""
        dut.o__ready.value = 0
        dut.i__payload.value, dut.i__valid.value = request.payload, 1
        await step()
        dut.i__valid.value = 0
        await step(latency - 1)
        assert resolved(dut.o__valid)

    async def take(request: Request, clear: bool = False) -> None:
        """Take the result, optionally in the cycle of a clear."""
        board.expect(request.expected, request.shown)
        board.got(resolved(dut.o__payload))
        dut.o__ready.value, dut.clear_overflow.value = 1, int(clear)
        await step()
        dut.o__ready.value, dut.clear_overflow.value = 0, 0

    def flag_is(value: bool, event: str) -> None:
        flags.expect(int(value), event)
        flags.got(resolved(dut.overflow))
        coverage.hit(event)

    await step()
    await offer(quiet)
    await take(quiet)
    flag_is(False, "quiet")
    await offer(loud)
    await step(3)
    flag_is(False, "waiting")
    await take(loud)
    flag_is(True, "set")
    await offer(quiet)
    await take(quiet)
    flag_is(True, "kept")
    await _clear(dut)
    flag_is(False, "cleared")
    await offer(loud)
    await take(loud, clear=True)
    flag_is(True, "set over clear")
    # The payload keeps its last value, but is not valid.
    dut.o__ready.value = 1
    await _clear(dut)
    await step()
    flag_is(False, "left over")
    await frame.reset()
    await step()
    flag_is(False, "reset")


async def _clear(dut: Any) -> None:
    dut.clear_overflow.value = 1
    await FallingEdge(dut.clk)
    dut.clear_overflow.value = 0
