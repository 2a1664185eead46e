"""Good and bad benches of the toy adder; each test of the runner selects one by name."""

import os
import signal

import cocotb
from cocotb.handle import Force
from cocotb.triggers import ClockCycles, Timer
from cocotb.types import LogicArray
from toy_design import Adder, ToyConfig

from bitpath.golden.formats.catalogue import E4M3FN
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import cross

CONFIG = config_from_environment(ToyConfig)
SIGNATURE = Adder(CONFIG).signature
LIMIT = {"timeout_time": 1, "timeout_unit": "ms"}


def feed(frame, scoreboard, count, error=0, driver=None):
    """Queue random sums and add ``error`` to the expected values."""
    driver = driver or frame.driver("i")
    source = pauses.rng("operands")
    for _ in range(count):
        a, b = (source.getrandbits(CONFIG.width) for _ in range(2))
        driver.send({"a": a, "b": b})
        scoreboard.expect(a + b + error, f"{a} + {b}")


@cocotb.test(**LIMIT)
@cocotb.parametrize(gap=[0.0, 0.5], stall=["never", "scattered", "bursts"])
async def good_sums(dut, gap, stall):
    stalls = {
        "never": pauses.never,
        "scattered": lambda: pauses.scattered(0.3, pauses.rng("o")),
        "bursts": lambda: pauses.bursts(9, pauses.rng("o")),
    }
    async with bench(dut, SIGNATURE) as frame:
        driver = frame.driver("i", pauses.scattered(gap, pauses.rng("i")))
        scoreboard = frame.check_stream("o", stalls=stalls[stall]())
        coverage = frame.coverage(cross(("small", "large"), ("even", "odd")))
        feed(frame, scoreboard, 100, driver=driver)
        for value, *_ in scoreboard._expected:
            coverage.hit("large" if value >> CONFIG.width else "small", "odd" if value & 1 else "even")


@cocotb.test(**LIMIT)
async def onlookers_agree(dut):
    """Driver and observer count the same events."""
    async with bench(dut, SIGNATURE) as frame:
        driver = frame.driver("i", pauses.bursts(3, pauses.rng("i")))
        scoreboard = frame.scoreboard("o", frame.payload_shape("o"))
        monitor = frame.monitor("o", scoreboard.got, pauses.bursts(5, pauses.rng("o")))
        onlookers = [frame.onlook(end.name) for end in (driver, monitor)]
        feed(frame, scoreboard, 200, driver=driver)
        await frame.drain()
        for end, onlooker in zip((driver, monitor), onlookers, strict=True):
            assert onlooker.handshakes.events == end.handshakes.events
            assert all(end.handshakes.events.values())


@cocotb.test(**LIMIT)
async def bad_mismatch(dut):
    async with bench(dut, SIGNATURE) as frame:
        feed(frame, frame.check_stream("o", {"sum": E4M3FN} if CONFIG.width == 7 else None), 50, error=1)


@cocotb.test(**LIMIT)
async def bad_undrained(dut):
    async with bench(dut, SIGNATURE) as frame:
        scoreboard = frame.check_stream("o")
        feed(frame, scoreboard, 5)
        scoreboard.expect(0)


@cocotb.test(**LIMIT)
async def bad_surplus(dut):
    async with bench(dut, SIGNATURE) as frame:
        driver = frame.driver("i")
        feed(frame, frame.check_stream("o"), 5, driver=driver)
        driver.send({"a": 0, "b": 0})
        driver.send({"a": 0, "b": 0})
        await Timer(1, "us")


@cocotb.test(**LIMIT)
async def bad_nothing_compared(dut):
    async with bench(dut, SIGNATURE) as frame:
        frame.check_stream("o")


@cocotb.test(**LIMIT)
async def bad_no_scoreboard(dut):
    async with bench(dut, SIGNATURE):
        await Timer(1, "us")


@cocotb.test(**LIMIT)
async def bad_no_record(dut):
    await Timer(1, "us")


@cocotb.test(**LIMIT)
async def bad_unknown_payload(dut):
    async with bench(dut, SIGNATURE) as frame:
        scoreboard = frame.check_stream("o")
        scoreboard.expect(0)
        # Only an X input makes an X output: all registers have power-up values.
        dut.i__payload.value = LogicArray("X" * len(dut.i__payload))
        dut.i__valid.value = 1


@cocotb.test(**LIMIT)
async def bad_unknown_ready(dut):
    async with bench(dut, SIGNATURE) as frame:
        driver = frame.driver("i")
        # The design is full because its sum is not taken, so the second payload stalls.
        for _ in range(2):
            driver.send({"a": 0, "b": 0})
        await ClockCycles(dut.clk, 5)
        dut.i__ready.value = Force(LogicArray("X"))
        await ClockCycles(dut.clk, 5)


@cocotb.test(**LIMIT)
async def bad_coverage(dut):
    async with bench(dut, SIGNATURE) as frame:
        feed(frame, frame.check_stream("o"), 5)
        frame.coverage(["never hit"])


@cocotb.test(**LIMIT)
async def bad_dead_monitor(dut):
    async def dies():
        await Timer(20, "ns")

    async with bench(dut, SIGNATURE) as frame:
        feed(frame, frame.check_stream("o"), 50)
        frame.start("a watcher", dies())


@cocotb.test()
async def bad_hang(dut):
    # Blocks inside Python, where cocotb's time limit has no effect.
    while True:
        pass


@cocotb.test()
async def bad_killed(dut):
    os.kill(os.getpid(), signal.SIGKILL)


@cocotb.test(**LIMIT)
async def bad_deprecated(dut):
    async with bench(dut, SIGNATURE) as frame:
        feed(frame, frame.check_stream("o"), 5)
        dut.i__valid.setimmediatevalue(0)
