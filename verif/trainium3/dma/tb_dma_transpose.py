"""Bench of the DMA transpose: axes, sizes, partial tiles, golden's durations, paces, refused commands, resets, known answers.

A memory of random bytes answers the requests.
"""

import os
from itertools import product
from pathlib import Path

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.trainium3.dma.dma_transpose import DmaTranspose, DmaTransposeConfig, fetch_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, cross, pack, pauses, resolved, unpack
from bitpath.verif.trainium3.dma.dma_transpose import DTYPES, Job, beat, cut, random_job

BENCH = UnitBench(DmaTranspose, DmaTransposeConfig, ms=20)
CONFIG = BENCH.config
CASES = cases(60)
BYTES = 1 << CONFIG.address_bits
FETCH = fetch_layout(CONFIG)


class Table:
    """Sends jobs; answers requests out of a memory and compares them and the results."""

    def __init__(self, frame, pace="full_speed", fetch_stalls=None):
        gaps, stalls = PACES[pace]
        self.frame, self.dut = frame, frame.dut
        self.memory = pauses.rng("memory").randbytes(BYTES)
        self.driver = frame.driver("i", gaps())
        self.data = frame.driver("data", gaps())
        self.requests = frame.scoreboard("fetch", FETCH)
        self.board = frame.check_stream("o", stalls=stalls())
        frame.monitor("fetch", self.answer, fetch_stalls or stalls())

    def answer(self, payload):
        fetch = unpack(FETCH, payload)
        self.requests.got(pack(FETCH, {"low": fetch.low, "high": fetch.high if fetch.both else 0, "both": fetch.both}))
        self.data.send_bits(beat(CONFIG, self.memory, payload))

    def send(self, job, expected=None):
        for fetch in job.fetches(CONFIG):
            self.requests.expect(fetch, str(job))
        for result in job.results(CONFIG, self.memory) if expected is None else expected:
            self.board.expect(result, str(job))
        self.driver.send_bits(job.command(CONFIG))

    async def clear(self):
        self.dut.clear.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.clear.value = 0
        await FallingEdge(self.dut.clk)
        assert resolved(self.dut.fault) == Fault.NONE.value
        await RisingEdge(self.dut.clk)


@BENCH.test(
    "dma_transpose.axes",
    "With three axes or more the destination's elements lie at other places than the source's rows",
    pace=list(PACES),
)
async def random_transposes(frame, pace):
    """Random transposes of 2, 3 and 4 axes, elements of 2 and 4 bytes, whole and partial tiles, any part of the last
    axis; requests and results; gaps, stalls and both, also of the memory."""
    rng = pauses.rng("jobs")
    coverage = frame.coverage([*cross((2, 3, 4), (2, 4)), "a whole tile", "a part of a tile"])
    table = Table(frame, pace)
    count = 0
    while count < CASES or not all(coverage.counts.values()):
        job = random_job(CONFIG, rng)
        count += 1
        coverage.hit(len(job.shape), job.size)
        coverage.hit("a part of a tile" if job.shape[0] * job.middle % CONFIG.elements else "a whole tile")
        table.send(job)
    await table.driver.drained()


@BENCH.test("dma_transpose.counts", "A part of a tile has its own mask, and a wide one may lack its second half")
async def every_count(frame):
    """1 to 2 tiles and one element, each number of columns, both sizes."""
    rng = pauses.rng("jobs")
    table = Table(frame)
    for size, count, columns in product((2, 4), range(1, 2 * CONFIG.elements + 2), range(1, CONFIG.columns + 1)):
        first = rng.choice([each for each in range(1, count + 1) if count % each == 0])
        table.send(Job((first, count // first, columns), size, size * rng.randrange(4), 0, columns))
    await table.driver.drained()


@BENCH.test(
    "dma_transpose.durations",
    "It is the rate of the machine's transpose",
    "Golden's cycles from one command to the next, of both sizes and both memories, and one more for each cycle "
    "in which a request waits",
    stalls=[0.0, 0.3],
)
async def durations(frame, stalls):
    """From one command to the next: golden's cycles and those in which a request waited, of both sizes and both memories,
    whole and partial tiles."""
    rng = pauses.rng("jobs")
    dut = frame.dut
    table = Table(frame, fetch_stalls=pauses.scattered(stalls, pauses.rng("stalls")))
    coverage = frame.coverage(cross((2, 4), ("HBM", "SBUF")))
    most = min((1 << CONFIG.count_bits) - 1, BYTES // 8 // CONFIG.columns // 2)
    jobs = []
    for size, from_sbuf, count in product(
        (2, 4), (False, True), sorted({1, 2, most, *(rng.randint(1, most) for _ in "abcd")})
    ):
        jobs.append(Job((count, CONFIG.columns), size, 0, 0, CONFIG.columns, 0, from_sbuf))
        coverage.hit(size, "SBUF" if from_sbuf else "HBM")
    for job in jobs:
        table.send(job)
    last = None
    for job in [*jobs, None]:
        cycles = waited = 0
        while True:
            await FallingEdge(dut.clk)
            cycles += 1
            waited += resolved(dut.fetch__valid) and not resolved(dut.fetch__ready)
            if resolved(dut.i__ready) and (job is None or resolved(dut.i__valid)):
                break
        if last is not None:
            assert cycles == last.cycles(CONFIG) + waited, last
        last = job


@BENCH.test("dma_transpose.refused", "A refused command asks for nothing and gives nothing")
async def refused_commands_leave_no_trace(frame):
    """No column, too many, no element of an axis; among good commands."""
    rng = pauses.rng("jobs")
    good = Job((2, 1, 2), 2, 0, 0, 2)
    empty = {"step": 0, "num": 0}
    whole = {"step": 2, "num": 1}
    most = (1 << CONFIG.columns.bit_length()) - 1
    bad = {
        f"{columns} columns": (Fault.PARTITIONS, {"columns": columns})
        for columns in (0, *range(CONFIG.columns + 1, most + 1))
    } | {
        "no first": (Fault.NUM, {"axes": [empty, whole]}),
        "no middle": (Fault.NUM, {"axes": [whole, empty]}),
        "neither": (Fault.NUM, {"axes": [empty, empty]}),
        "no column, no first": (Fault.PARTITIONS, {"columns": 0, "axes": [empty, whole]}),
    }
    dut = frame.dut
    table = Table(frame)
    coverage = frame.coverage(bad)
    for name, (fault, fields) in bad.items():
        table.send(good)
        table.driver.send_bits(good.command(CONFIG, **fields))
        table.send(random_job(CONFIG, rng))
        await table.driver.drained()
        await FallingEdge(dut.clk)
        assert resolved(dut.fault) == fault.value
        await RisingEdge(dut.clk)
        await table.clear()
        table.send(good)
        await table.driver.drained()
        await FallingEdge(dut.clk)
        assert resolved(dut.fault) == Fault.NONE.value
        await RisingEdge(dut.clk)
        coverage.hit(name)


@BENCH.test("dma_transpose.reset", "Banks have no reset; only their full bits hide them")
async def resets(frame):
    """Resets in every step, with requests, beats and results on their way, and a command refused."""
    rng = pauses.rng("jobs")
    dut = frame.dut
    for cycles in range(1, 25):
        job = Job((2 * CONFIG.elements, CONFIG.columns), rng.choice((2, 4)), 0, 0, CONFIG.columns)
        for fields in ({"columns": 0}, {}):
            dut.i__payload.value, dut.i__valid.value = job.command(CONFIG, **fields), 1
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        for _ in range(cycles):
            dut.fetch__ready.value, dut.o__ready.value = rng.getrandbits(1), rng.getrandbits(1)
            dut.data__valid.value, dut.data__payload.value = (
                rng.getrandbits(1),
                rng.getrandbits(8 * CONFIG.beat_bytes),
            )
            await RisingEdge(dut.clk)
        await frame.reset()
        await FallingEdge(dut.clk)
        assert not resolved(dut.fetch__valid)
        assert not resolved(dut.o__valid)
        assert resolved(dut.fault) == Fault.NONE.value
        await RisingEdge(dut.clk)
    Table(frame).send(random_job(CONFIG, rng))


@BENCH.test(
    "dma_transpose.known_answers",
    "Another program computed them",
    skip="BITPATH_KAT_DIR" not in os.environ or CONFIG.address_bits < 17,
)
async def known_answers(frame):
    """5 arrays of the archive, [16, 128] to [4, 2, 16, 32], in parts of 8 partitions."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_transpose.npz") as archive:
        names = [name.removesuffix("_axes") for name in archive if name.endswith("_axes")]
        cases = [(archive[f"{name}_src"], archive[f"{name}_dst"]) for name in names]
    table = Table(frame)
    image = bytearray(BYTES)
    end = 0
    for source, transposed in cases:
        size = source.dtype.itemsize
        assert source.dtype == DTYPES[size]
        image[end : end + source.nbytes] = source.tobytes()
        for first in range(0, source.shape[-1], CONFIG.columns):
            columns = min(CONFIG.columns, source.shape[-1] - first)
            job = Job(source.shape, size, end, first, columns)
            table.send(job, cut(job, CONFIG, transposed))
        end += source.nbytes
    table.memory = bytes(image)
    await table.driver.drained()
