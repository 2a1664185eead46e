"""Bench of PSUM with its generators: every write as golden has it with golden's own numbers, and the states after them.

The random bits of all writes come from golden's XORWOW before anything is driven; that no other write takes any shows in
the states, which are stored in between and at the end.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from random import Random

import ml_dtypes
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import E8M0, FP32
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, X4, AccumulateFlag
from bitpath.golden.trainium3.vector.random import psum_random_bits
from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.trainium3.array.psum import PsumConfig, StochasticPsum, generator_address, generators
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.common.fp32.numbers import near_sums
from bitpath.verif.kit.unit_bench import Bench, UnitBench, cases, covers, cross, pack, pauses, resolved, width
from bitpath.verif.kit.values import Word
from bitpath.verif.trainium3.array.psum_writes import FLAGS, Program, Write
from bitpath.verif.trainium3.array.tb_psum import (
    MODES,
    WRITE,
    WRITE_CYCLES,
    Table,
    add_pairs,
    places,
    random_program,
    refused_program,
)
from bitpath.verif.trainium3.vector.xorwow import bits_of, random_states

BENCH = UnitBench(StochasticPsum, PsumConfig, ms=2)
CONFIG = BENCH.config
SIGNATURE = BENCH.signature
LOAD = SIGNATURE.members["load"].signature.members["payload"].shape
ADDRESS = generator_address(CONFIG)
XORWOW_LANES = generators(CONFIG).lanes
CASES = cases(500)


def random_sources(rng: Random) -> list[trainium3.Xorwow]:
    """Generators for every lane of PSUM."""
    return [trainium3.Xorwow(np.stack([random_states(rng) for _ in range(XORWOW_LANES)])) for _ in range(CONFIG.lanes)]


def with_random_bits(program: Program, sources: list[trainium3.Xorwow]) -> Program:
    """The program with the bits that its stochastic writes take from these generators, which move on."""
    return [{lane: _with_bits(write, sources[lane]) for lane, write in writes.items()} for writes in program]


def _with_bits(write: Write, source: trainium3.Xorwow) -> Write:
    if not write.takes_random:
        return write
    return replace(write, random=tuple(psum_random_bits(source, CONFIG.cols, 1)[:, 0].tolist()))


async def load(dut, sources: list[trainium3.Xorwow]) -> None:
    for psum_lane, source in enumerate(sources):
        for lane, states in enumerate(source.state):
            address = {"lane": lane, "psum_lane": psum_lane}
            dut.load__payload.value = pack(LOAD, {"states": bits_of(states), "address": address})
            dut.load__valid.value = 1
            await RisingEdge(dut.clk)
    dut.load__valid.value = 0


async def compare_states(frame: Bench, sources: list[trainium3.Xorwow]) -> None:
    """Store all states, and compare them with golden's."""
    board = frame.scoreboard("states", 768, {"": Word(32)})
    for psum_lane, source in enumerate(sources):
        for lane, states in enumerate(source.state):
            frame.dut.shown.value = pack(ADDRESS, {"lane": lane, "psum_lane": psum_lane})
            board.expect(bits_of(states), f"lane {lane} of PSUM lane {psum_lane}")
            await FallingEdge(frame.dut.clk)
            board.got(resolved(frame.dut.states))
            await RisingEdge(frame.dut.clk)


@covers(
    "stochastic_psum.bits",
    "TransformerEngine#3281: stochastic rounding must be replayable",
    "Writes of every flag in FP32, BF16 by RNE and stochastic, by all lanes at once: each stochastic write uses "
    "the bits of its lane's next step, column by column",
)
@BENCH.test(
    "stochastic_psum.others_take_none",
    "An RNE write that steps a generator does not change its own result",
    "States stored between and after two programs have stepped once for each stochastic write",
    busy=[0.4, 0.9],
)
async def lanes_in_every_mode(frame, busy):
    """Two programs beside the host's reads, with the states stored between them and never loaded again."""
    sources = random_sources(pauses.rng("states"))
    rng, reads = pauses.rng("program"), pauses.rng("reads")
    table = Table(frame, feeds=False, gap=0.3, stall=0.3)
    table.cover([f"mode/{name}" for name in cross(map(int, FLAGS), MODES)])
    await load(frame.dut, sources)
    await table.fill()
    for _ in range(2):
        for place in reads.choices(places(), k=CASES // 2):
            table.read(place)
        await table.play(with_random_bits(random_program(rng, CASES, busy), sources))
        await compare_states(frame, sources)
    for place in places():
        table.read(place)
    await table.play([])


@BENCH.test(
    "stochastic_psum.refused",
    "A refused write that steps a generator changes every later stochastic write of its lane",
    skip=not CONFIG.checks,
)
async def refused_results(frame):
    """Every illegal flag, and stochastic rounding to FP32, in every lane between legal writes; all words and states
    afterwards."""
    sources = random_sources(pauses.rng("states"))
    table = Table(frame, feeds=False, clears=0.2)
    await load(frame.dut, sources)
    await table.fill()
    await table.play(with_random_bits(refused_program(pauses.rng("program")), sources))
    for place in places():
        table.read(place)
    await table.play([])
    await compare_states(frame, sources)


@BENCH.test("stochastic_psum.loads", "A load that went astray would change another column's random bits")
async def every_address_of_a_load(frame):
    """Loads of every address, with and without valid: a fault for a generator that there is not, and the states
    afterwards."""
    rng = pauses.rng("states")
    states = [[random_states(rng) for _ in range(XORWOW_LANES)] for _ in range(CONFIG.lanes)]
    lanes, psum_lanes = (range(1 << width(ADDRESS[name].shape)) for name in ("lane", "psum_lane"))
    dut = frame.dut
    board = frame.scoreboard("load_fault", Fault)
    await load(dut, [trainium3.Xorwow(np.stack(own)) for own in states])
    for psum_lane, lane, valid in product(psum_lanes, lanes, range(2)):
        loaded, known = random_states(rng), psum_lane < CONFIG.lanes and lane < XORWOW_LANES
        address = {"lane": lane, "psum_lane": psum_lane}
        dut.load__payload.value = pack(LOAD, {"states": bits_of(loaded), "address": address})
        dut.load__valid.value = valid
        await FallingEdge(dut.clk)
        board.compare(
            resolved(dut.load_fault),
            (Fault.PARTITIONS if valid and not known else Fault.NONE).value,
            f"{address}, valid {valid}",
        )
        await RisingEdge(dut.clk)
        if valid and known:
            states[psum_lane][lane] = loaded
    dut.load__valid.value = 0
    await compare_states(frame, [trainium3.Xorwow(np.stack(own)) for own in states])


@BENCH.test("stochastic_psum.replay", "Training saves and restores them")
async def stored_states_replay(frame):
    """States stored, and loaded again after other writes, give the same results again."""
    sources = random_sources(pauses.rng("states"))
    before = [trainium3.Xorwow(source.state) for source in sources]
    program = stochastic_writes(pauses.rng("program"))
    table = Table(frame, feeds=False)
    await table.fill()
    for start in (sources, None, before):
        if start is not None:
            await load(frame.dut, start)
            sources = start
        await table.play(with_random_bits(program, sources))
        for place in sorted({(write.bank, write.index) for writes in program for write in writes.values()}):
            table.read(place)
        await table.play([])
    await compare_states(frame, sources)


def stochastic_writes(rng: Random) -> Program:
    """Overwriting and stochastic ones of every lane, BF16."""
    flag = AccumulateFlag.FIRST_OVERWRITE | AccumulateFlag.LAST
    writes = random_program(rng, max(20, CASES // 4), 0.8)
    return [
        {lane: replace(write, index=write.index | 1, flag=flag, stochastic=True) for lane, write in each.items()}
        for each in writes
    ]


async def play_sums(frame, rng: Random, pairs: Iterable[tuple[int, int]], *, stochastic: bool) -> None:
    """Sums of pairs of FP32 codes, beside which the generators stand still."""
    own = [place for place in places() if place[1] % 2 == 0]
    table = Table(frame, feeds=False)
    await table.fill()
    await add_pairs(table, rng, pairs, own, stochastic=stochastic)


@BENCH.test("stochastic_psum.half_units", "Random sums rarely have ties or single-bit changes of ties")
async def half_units_of_sums(frame):
    """FP32 sums of numbers with few bits, one about half a unit in the last place of the other."""
    rng = pauses.rng("pairs")
    await play_sums(frame, rng, (fp32.half_units(rng) for _ in range(4 * CASES)), stochastic=True)


@BENCH.test(
    "stochastic_psum.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
)
async def boundaries_of_sums(frame):
    """FP32 sums at the ends of the range and at ties, and one bit beside them at every distance."""
    rng = pauses.rng("pairs")
    await play_sums(frame, rng, ((x, y) for _, x, y in near_sums(FP32, rng)), stochastic=True)


@BENCH.test(
    "stochastic_psum.edges",
    "Infinities of opposite signs are a NaN, and a zero sum's sign is both operands': random sums show neither",
)
async def edges_onto_edges(frame):
    """Zeros, subnormals, largest, infinities and NaNs of both signs, each added to each."""
    await play_sums(frame, pauses.rng("pairs"), product(fp32.EDGES, repeat=2), stochastic=False)


@BENCH.test(
    "stochastic_psum.border",
    "A carry lost once in 65,536 writes is a bias that no test of the mean detects",
    "Sums that just carry and just do not, for the random bits drawn; ties; NaNs and numbers next to infinity",
)
async def one_bit_decides(frame):
    """Random bits that just carry and just do not; BF16 ties and their neighbours; codes one bit away from infinity and
    NaN."""
    sources = random_sources(pauses.rng("states"))
    rng = pauses.rng("values")
    flag = AccumulateFlag.FIRST_OVERWRITE | AccumulateFlag.LAST
    own = [place for place in places() if place[1] % 2]
    table = Table(frame, feeds=False)
    await load(frame.dut, sources)
    await table.fill()
    for _ in range(max(1, CASES // (2 * len(own)))):
        nothing = (0,) * CONFIG.cols
        program = [
            {rng.randrange(CONFIG.lanes): Write(*place, nothing, flag, bool(rng.getrandbits(1)), nothing)}
            for place in own
        ]
        # The random bits must be known to choose the border values.
        drawn = with_random_bits(program, sources)
        await table.play([{lane: _at_the_border(rng, each) for lane, each in writes.items()} for writes in drawn])
        for place in own:
            table.read(place)
        await table.play([])
    await compare_states(frame, sources)


def _at_the_border(rng: Random, write: Write) -> Write:
    return replace(write, values=tuple(_border(rng, bits, write.takes_random) for bits in write.random))


def _border(rng: Random, bits: int, stochastic: bool) -> int:
    """A value that almost carries into BF16's last place, or just does."""
    if rng.random() < 0.25:
        return fp32.special_but_one_bit(rng)
    carries = (1 << DROPPED_BITS) - bits if stochastic else 1 << (DROPPED_BITS - 1)
    dropped = carries + rng.randint(-1, 0 if stochastic else 1)
    return ((rng.getrandbits(FP32.width - DROPPED_BITS) << DROPPED_BITS) + dropped) % (1 << FP32.width)


@BENCH.test("stochastic_psum.matmul", "The instruction's random_bits are the generators' half-words")
async def results_of_a_matmul(frame):
    """The columns of nc_matmul_mx with stochastic rounding, from each lane's generators."""
    numbers = np.random.default_rng(pauses.rng("operands").getrandbits(32))
    # A matmul has an even number of columns; what PSUM lacks is dropped.
    rows, columns = 32, CONFIG.cols + CONFIG.cols % 2
    moving = min(max(1, CONFIG.bank_depth // 4), MAX_MOVING_FP32)
    shapes = ((rows, columns, X4), (rows, moving, X4))
    operands = [numbers.normal(size=shape).astype(ml_dtypes.float8_e4m3fn) for shape in shapes]
    scales = [np.full((rows // 8, count), E8M0.bias, np.uint8) for count in (columns, moving)]
    exact = trainium3.nc_matmul_mx(*operands, *scales)
    sources = random_sources(pauses.rng("states"))
    lanes = min(CONFIG.lanes, CONFIG.banks)
    flag = AccumulateFlag.FIRST_OVERWRITE | AccumulateFlag.LAST
    program, expected = [], []
    table = Table(frame, feeds=False)
    await load(frame.dut, sources)
    for lane in range(lanes):
        bits = psum_random_bits(sources[lane], columns, moving)
        result = trainium3.nc_matmul_mx(
            *operands, *scales, dst_dtype=ml_dtypes.bfloat16, rounding="sr", random_bits=bits
        )
        for n, (values, random) in enumerate(zip(codes_of(exact).T.tolist(), bits.T.tolist(), strict=True)):
            write = Write(lane, 2 * n + 1, tuple(values[: CONFIG.cols]), flag, True, tuple(random[: CONFIG.cols]))
            program.append({lane: write})
            expected.append([code << 16 for code in codes_of(result)[: CONFIG.cols, n].tolist()])
    await table.fill()
    await table.play(program)
    # Golden's writes give the same results as the instruction.
    for writes, codes in zip(program, expected, strict=True):
        for write in writes.values():
            assert list(write.result((0,) * CONFIG.cols)) == codes
            table.read((write.bank, write.index))
    await table.play([])
    await compare_states(frame, sources)


@BENCH.test(
    "stochastic_psum.reset",
    "A write that survives the reset would take random numbers and change a word",
    "Resets one to three cycles into stochastic writes and reads of the host, the answers taken and waiting: "
    "states are 0, no answer comes, writes and steps after them are golden's; a write in the cycle of the reset "
    "leaves no trace",
    ready=[0, 1],
    cycles=[1, 2, 3],
)
async def reset_in_the_middle(frame, ready, cycles):
    """Stochastic writes of all lanes and reads of the host in every cycle before it; afterwards all states are 0, no answer
    comes, and nothing more is written."""
    rng = pauses.rng("program")
    broken = stochastic_writes(rng)[:cycles]
    sources = random_sources(pauses.rng("states"))
    dut = frame.dut
    await load(dut, sources)
    dut.data__ready.value, dut.host__valid.value = ready, 1
    for writes in broken:
        fields = {lane: pack(WRITE, write.fields()) for lane, write in writes.items()}
        dut.write.value = sum(bits << lane * width(WRITE) for lane, bits in fields.items())
        await RisingEdge(dut.clk)
    await frame.reset()
    dut.data__ready.value = ready
    zeros = np.zeros_like(sources[0].state)
    sources = [trainium3.Xorwow(zeros) for _ in sources]
    await compare_states(frame, sources)
    for _ in range(WRITE_CYCLES):
        await FallingEdge(dut.clk)
        assert not resolved(dut.data__valid), "an answer of before the reset"
    await RisingEdge(dut.clk)
    table = Table(frame, feeds=False)
    await table.fill()
    await table.play(with_random_bits(stochastic_writes(rng), sources))
    for place in places():
        table.read(place)
    await table.play([])
    await compare_states(frame, sources)


@BENCH.test("stochastic_psum.reset")
async def writes_under_reset(frame):
    """A write that is given in the cycle of a reset leaves its place as it was."""
    dut = frame.dut
    table = Table(frame, feeds=False)
    await table.fill()
    write = stochastic_writes(pauses.rng("program"))[1][0]
    dut.write.value, dut.rst.value = pack(WRITE, write.fields()), 1
    await RisingEdge(dut.clk)
    dut.write.value, dut.rst.value = 0, 0
    await table.play([])
    table.read((write.bank, write.index))
    await table.play([])
