"""Bench of the turn buffer: ramps in every format, turned or not, at every pace; full rate; resets.

Expected rows are golden's.
"""

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.formats import FACE
from bitpath.rtl.tensix.unpack.layouts import TurnBufferConfig
from bitpath.rtl.tensix.unpack.turn_buffer import TurnBuffer
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, pauses, resolved
from bitpath.verif.tensix.unpack.turn import FORMATS, face, requests

BENCH = UnitBench(TurnBuffer, TurnBufferConfig)
CONFIG = BENCH.config
CASES = cases(100)
GROUPS = FACE // CONFIG.rows
KINDS = [(fmt, out, turn) for fmt, out in FORMATS for turn in (False, True)]


def name(kind) -> str:
    fmt, out, turn = kind
    return f"{fmt.name}/{out.name}" + "/turned" * turn


def any_face(rng, kind) -> list:
    fmt, out, turn = kind
    return requests(CONFIG.rows, *face(fmt, out, turn, rng.getrandbits(8)), turn, rng, name(kind))


@BENCH.test(
    "turn_buffer.ramps",
    "A ramp shows a datum at a wrong place; the flag of a face counts with its first rows alone",
    pace=list(PACES),
)
async def ramps(frame, pace):
    """Ramps in every pair of formats of SrcA, turned and not in any order, full speed, gaps, stalls and both."""
    rng = pauses.rng("faces")
    order = [*KINDS, *rng.choices(KINDS, k=max(0, CASES - len(KINDS)))]
    rng.shuffle(order)
    gaps, stalls = (make() for make in PACES[pace])
    coverage = frame.coverage(map(name, KINDS))
    driver, scoreboard = frame.driver("i", gaps), frame.check_stream("o", {}, stalls)
    for kind in order:
        coverage.hit(name(kind))
        for each in any_face(rng, kind):
            scoreboard.expect(each.expected, each.shown)
            driver.send_bits(each.payload)


@BENCH.test("turn_buffer.rate", "Transposition must not slow a load")
async def full_rate(frame):
    """Rows in and out in every cycle; two faces fill the buffers, and a third waits until the first has left."""
    rng = pauses.rng("faces")
    sent = [each for _ in range(20) for each in any_face(rng, rng.choice(KINDS))]
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    dut.o__ready.value = 1
    await RisingEdge(dut.clk)
    for cycle in range(len(sent) + GROUPS):
        dut.i__valid.value = cycle < len(sent)
        if cycle < len(sent):
            dut.i__payload.value = sent[cycle].payload
            board.expect(sent[cycle].expected, sent[cycle].shown)
        await FallingEdge(dut.clk)
        assert cycle >= len(sent) or resolved(dut.i__ready), f"not ready in cycle {cycle}"
        assert resolved(dut.o__valid) == (cycle >= GROUPS), f"cycle {cycle}"
        if cycle >= GROUPS:
            board.got(resolved(dut.o__payload))
        await RisingEdge(dut.clk)


@BENCH.test("turn_buffer.rate")
async def stalled(frame):
    """Two whole faces fill the buffers; nothing more is taken until the first has left."""
    rng = pauses.rng("faces")
    sent = [each for _ in range(3) for each in any_face(rng, rng.choice(KINDS))]
    dut = frame.dut
    board = frame.scoreboard("o", frame.payload_shape("o"))
    taken, given = 0, 0
    await RisingEdge(dut.clk)
    for cycle in range(8 * GROUPS):
        dut.o__ready.value = cycle >= 3 * GROUPS
        dut.i__valid.value = taken < len(sent)
        dut.i__payload.value = sent[min(taken, len(sent) - 1)].payload
        await FallingEdge(dut.clk)
        if taken < len(sent) and resolved(dut.i__ready):
            board.expect(sent[taken].expected, sent[taken].shown)
            taken += 1
        if resolved(dut.o__valid) and resolved(dut.o__ready):
            board.got(resolved(dut.o__payload))
            given += 1
        if cycle == 3 * GROUPS - 1:
            assert taken == 2 * GROUPS
        await RisingEdge(dut.clk)
    assert taken == given == len(sent)


@BENCH.test("turn_buffer.resets", "What was reset must not come out")
async def resets(frame):
    """Resets with a part of a face, a face, a face and a part, and two faces."""
    rng = pauses.rng("faces")
    dut = frame.dut
    for count in (1, GROUPS, GROUPS + 1, 2 * GROUPS):
        await RisingEdge(dut.clk)
        dut.o__ready.value = 0
        for each in [each for _ in range(2) for each in any_face(rng, rng.choice(KINDS))][:count]:
            dut.i__valid.value, dut.i__payload.value = 1, each.payload
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        await frame.reset()
        board = frame.scoreboard(f"o after {count}", frame.payload_shape("o"), output="o")
        dut.o__ready.value = 1
        sent = any_face(rng, rng.choice(KINDS))
        for cycle in range(2 * GROUPS):
            await RisingEdge(dut.clk)
            dut.i__valid.value = cycle < GROUPS
            if cycle < GROUPS:
                dut.i__payload.value = sent[cycle].payload
                board.expect(sent[cycle].expected, sent[cycle].shown)
            await FallingEdge(dut.clk)
            assert resolved(dut.o__valid) == (cycle >= GROUPS)
            if cycle >= GROUPS:
                board.got(resolved(dut.o__payload))
