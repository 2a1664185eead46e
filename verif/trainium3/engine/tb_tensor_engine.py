"""Bench of the tensor engine: nc_matmul_mx instructions against their golden model, PSUM word for PSUM word."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from random import Random

import ml_dtypes
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import codes_of
from bitpath.golden.formats.catalogue import E2M1, FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, AccumulateFlag
from bitpath.rtl.trainium3.array.systolic_array import leader, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, Opcode
from bitpath.rtl.trainium3.engine.tensor_engine import IN_FLIGHT, QUEUE_DEPTH, TensorEngine
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.engine_host import source_of
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.unit_bench import (
    ENGINE_PATIENCE_CYCLES,
    Bench,
    Coverage,
    Scoreboard,
    UnitBench,
    cases,
    covers,
    cross,
    pauses,
    resolved,
)
from bitpath.verif.trainium3.dot.quad_mx import word_formats
from bitpath.verif.trainium3.engine.lowering import PlacedMatmul, destination, lower, place_words, psum_places
from bitpath.verif.trainium3.engine.programs import (
    FP32_TYPE,
    PLACES,
    Load,
    Pass,
    Wrong,
    random_program,
    walk,
    with_refused,
)
from bitpath.verif.trainium3.engine.session import (
    RandomBits,
    TensorEnginePlayer,
    begin,
    compare,
    exact_map,
    matmul_shown,
)

# Programs for the bench of the tensor engine that fill a tile's queues, its chain and the banks it writes.


TABLE_TYPES = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)
"""Format of an FP4 map's codes, indexed by code_format."""
FILLED_FLAGS = [
    first | last
    for first in (AccumulateFlag(0), AccumulateFlag.FIRST_OVERWRITE, AccumulateFlag.FIRST_ACCUMULATE)
    for last in (AccumulateFlag(0), AccumulateFlag.LAST)
]
"""All flags of an instruction."""
KINDS = ("subnormal", "infinity", "NaN", "finite")
"""Kinds of results."""
WRITES = ("fp32", "bf16 rne", "bf16 sr")
"""Format and rounding of a destination."""
LOADS = 2 * QUEUE_DEPTH
LONG = 4 * QUEUE_DEPTH
"""Minimum number of words of a pass that fills the queues."""
SHORT = 2 * IN_FLIGHT
"""Passes of one word in a row: more than may be in flight."""
MOST_PLACES = 256
"""Maximum number of places written in a bank; a large bank would take minutes."""


def table_types(config: EngineConfig) -> tuple[type, ...]:
    """Formats of an FP4 map's codes that the PEs have."""
    return TABLE_TYPES[: len(config.array.dot.numerics.element_formats)]


def random_table(code_format: int, rng: Random) -> dict[str, object]:
    """An FP4 map of any finite codes of a format: fields of a MapTable."""
    codes = np.arange(256, dtype=np.uint8)
    finite = codes[np.isfinite(codes.view(TABLE_TYPES[code_format]).astype(np.float32))].tolist()
    return {"codes": rng.choices(finite, k=1 << E2M1.width), "code_format": code_format}


def filled_places(config: EngineConfig) -> int:
    """Words that one pass may fill at the start of each bank."""
    return min(config.psum_bank_depth, config.array.operand_depth, MOST_PLACES)


def filling_program(config: EngineConfig, group: int, rng: Random) -> list[Load | Pass]:
    """Program of one tile that fills every queue and memory.

    It has more passes into each bank than may be in flight behind a long one, and more loads than may queue. A chain as
    long as its memory waits for other passes, and one pass fills a bank.
    """
    program: list[Load | Pass] = []
    most = filled_places(config)
    part = min(config.chain_depth, most)
    for bank in range(config.psum_banks):
        program += [_load(config, group, rng) for _ in range(LOADS)]
        program += [_pass(config, group, rng, count, bank=bank) for count in (rng.randint(LONG, most), *[1] * SHORT)]
    program += [
        _load(config, group, rng),
        _pass(config, group, rng, config.chain_depth, chain_out=True),
        _load(config, group, rng),
        _pass(config, group, rng, LONG),
        *[_pass(config, group, rng, part, chain_in=True) for _ in range(config.chain_depth // part)],
        _load(config, group, rng),
        _pass(config, group, rng, most),
    ]
    return program


def _load(config: EngineConfig, group: int, rng: Random) -> Load:
    array = config.array
    address = rng.randrange(array.operand_depth - array.cols + 1)
    return Load(group=group, address=address, format=rng.choice(word_formats(array.dot.numerics)))


def _pass(
    config: EngineConfig,
    group: int,
    rng: Random,
    count: int,
    *,
    bank: int | None = None,
    chain_in: bool = False,
    chain_out: bool = False,
) -> Pass:
    bf16 = rng.random() < 0.6
    return Pass(
        group=group,
        address=rng.randrange(config.array.operand_depth - count + 1),
        format=rng.choice(word_formats(config.array.dot.numerics)),
        count=count,
        chain_in=chain_in,
        chain_out=chain_out,
        bank=rng.randrange(config.psum_banks) if bank is None else bank,
        index=0 if chain_out else rng.randrange(filled_places(config) - count + 1),
        flag=rng.choice(FILLED_FLAGS),
        bf16=bf16,
        stochastic=bf16 and rng.random() < 0.6,
    )


def filling_bins(config: EngineConfig) -> list[str]:
    """Bins that the programs of all tiles hit together."""
    groups = range(config.array.groups)
    return [
        *cross(("map",), (each.__name__ for each in table_types(config)), ("stationary", "moving")),
        *cross(("bank",), groups, range(config.psum_banks)),
        *cross(("written",), groups, WRITES),
        *cross(("changed to",), KINDS),
    ]


def kinds_of(codes: np.ndarray) -> Iterator[tuple[str, str]]:
    """Bins of the kinds of results that there are among FP32 codes."""
    values = codes.view(FP32_TYPE)
    tiny = (values != 0) & (np.abs(values) < np.finfo(FP32_TYPE).tiny)
    for kind, found in zip(KINDS, (tiny, np.isinf(values), np.isnan(values), np.isfinite(values)), strict=True):
        if found.any():
            yield "changed to", kind


def bins_of(program: list[Load | Pass], code_format: int) -> Iterator[tuple[object, ...]]:
    """Bins of PSUM contents: group, bank and mode of each write, and side and format of each FP4 map used."""
    stationary = None
    for each in program:
        if isinstance(each, Load):
            stationary = each.format
            continue
        for side, fmt in (("stationary", stationary), ("moving", each.format)):
            if fmt is ElementFormat.E2M1:
                yield "map", TABLE_TYPES[code_format].__name__, side
        if not each.chain_out:
            yield "bank", each.group, each.bank
            yield "written", each.group, WRITES[each.bf16 * (1 + each.stochastic)]


BENCH = UnitBench(TensorEngine, EngineConfig, ms=1, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
NUMERICS = CONFIG.array.dot.numerics
CASES = cases(24)
DTYPES = (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn)
OVERWRITE = AccumulateFlag.FIRST_OVERWRITE | AccumulateFlag.LAST
FLAGS = {
    "overwrite": OVERWRITE,
    "first": AccumulateFlag.FIRST_OVERWRITE,
    "middle": AccumulateFlag(0),
    "last": AccumulateFlag.LAST,
    "onto": AccumulateFlag.FIRST_ACCUMULATE,
}
"""A flag of each meaning, by a name for its bin."""

REFUSED_LENGTH = 60
"""Instructions of a program that refused ones come between."""
FIXED_SEED, FIXED_SHAPE = 2025, (6, 5)
"""Seed and shape of the program that every simulator runs."""


@dataclass(frozen=True, eq=False)
class Case:
    """A matmul, what PSUM holds before it, and what golden says that it holds after."""

    matmul: PlacedMatmul
    before: np.ndarray
    after: np.ndarray
    random_bits: np.ndarray | None


def operands(source: np.random.Generator, dtype: type, partitions: int, free: int) -> tuple[np.ndarray, np.ndarray]:
    """Elements of all codes, NaN and infinity now and then, and scales near each other with a few extremes.

    What is not finite is so rare that it reaches a few of the results only: each sees all partitions.
    """
    rare = 0.05 / partitions
    bits = 4 if dtype is ml_dtypes.float4_e2m1fn else 8
    codes = source.integers(0, 1 << bits, (partitions, free, 4), dtype=np.uint8)
    elements = codes.view(dtype)
    if bits == 8:
        finite = np.isfinite(elements.astype(np.float32)) | (source.random(codes.shape) < rare * 32)
        elements = np.where(finite, codes, codes & 0x83).astype(np.uint8).view(dtype)
    scale = source.integers(117, 138, (partitions // 8, free), dtype=np.uint8)
    extreme = source.random(scale.shape) < 8 * rare
    return elements, np.where(extreme, source.choice([0, 1, 253, 254, 255], scale.shape), scale).astype(np.uint8)


def make_case(
    source: np.random.Generator,
    *,
    partitions: int,
    shape: tuple[int, int],
    dtypes: tuple[type, type],
    flag: AccumulateFlag = OVERWRITE,
    bf16: bool = False,
    stochastic: bool = False,
    **place: int,
) -> Case:
    """A random matmul with its golden result."""
    stationary, stationary_scale = operands(source, dtypes[0], partitions, shape[0])
    moving, moving_scale = operands(source, dtypes[1], partitions, shape[1])
    before = source.standard_normal(shape, dtype=np.float32).view(np.uint32)
    before = before & 0xFFFF0000 if bf16 else before
    random_bits = source.integers(0, 1 << 16, shape, dtype=np.uint16) if stochastic else None
    dst = (before >> 16).astype(np.uint16).view(ml_dtypes.bfloat16) if bf16 else before.view(np.float32)
    after = trainium3.nc_matmul_mx(
        stationary,
        moving,
        stationary_scale,
        moving_scale,
        dst=dst,
        psum_accumulate_flag=int(flag),
        rounding="sr" if stochastic else "rne",
        random_bits=random_bits,
        numerics=NUMERICS,
    )
    codes = codes_of(after).astype(np.uint32)
    matmul = PlacedMatmul(
        stationary=stationary,
        moving=moving,
        stationary_scale=stationary_scale,
        moving_scale=moving_scale,
        psum_accumulate_flag=int(flag),
        bf16=bf16,
        stochastic=stochastic,
        **place,
    )
    return Case(matmul, before, codes << 16 if bf16 else codes, random_bits)


async def check(frame: Bench, player: TensorEnginePlayer, cases: list[Case]) -> np.ndarray:
    """Preset PSUM, run the cases side by side, read PSUM back and compare; the last case's destination."""
    for case in cases:
        await player.write(case.matmul.psum, place_words(CONFIG, case.before))
    await player.play(lower(CONFIG, [case.matmul for case in cases]))
    for case in cases:
        places = range(case.matmul.psum, case.matmul.psum + psum_places(CONFIG, case.matmul.shape))
        got = destination(CONFIG, case.matmul.shape, await player.read(places))
        name = f"PSUM {len(frame.scoreboards)}"
        scoreboard = frame.scoreboard(name, FP32.width, {"": FP32})
        for (row, column), value in np.ndenumerate(case.after):
            context = partial(matmul_shown, NUMERICS, case.matmul, int(case.before[row, column]), row, column)
            scoreboard.compare(int(got[row, column]), int(value), context)
    return got


def largest_moving() -> int:
    """Moving words of the largest matmul: PSUM holds them for a few column tiles, the chain for every pass."""
    return min(CASES, CONFIG.psum_bank_depth // 2, CONFIG.chain_depth)


@covers(
    "tensor_engine.formats",
    "Padding of rows, columns and memory must not change a result",
    "nc_matmul_mx of every pair of element formats, 32 to 128 partitions, sizes that do not fill the array",
)
@BENCH.test(
    "tensor_engine.pace",
    "Only these empty and fill the queues",
    "Gaps between instructions, and back-pressure on the answers from PSUM",
    gap=[0.0, 0.6],
)
async def formats_and_sizes(frame, gap):
    """Every pair of element formats, each number of partitions, row and column counts that do not fill the array."""
    stalls = pauses.scattered(gap, pauses.rng("data"))
    player = TensorEnginePlayer(frame, CONFIG, gaps=pauses.scattered(gap, pauses.rng("instruction")), stalls=stalls)
    await player.set_map(exact_map())
    source = source_of("formats")
    coverage = frame.coverage(cross((0, 1, 2), (0, 1, 2)) + [f"P={p}" for p in range(32, 129, 32)])
    finite = compared = 0
    for index, (stationary, moving) in enumerate(np.ndindex(3, 3)):
        # The number of passes, and with it the time, grows with the partitions.
        partitions = max(32, 32 * (index - 4))
        coverage.hit(stationary, moving)
        coverage.hit(f"P={partitions}")
        shape = (2 * int(source.integers(1, CONFIG.array.cols + 1)), 1 + (index * 4 % 9) * largest_moving() // 9)
        dtypes = (DTYPES[stationary], DTYPES[moving])
        # Every other destination begins just before the end of a bank.
        psum = index % 2 * (CONFIG.psum_bank_depth - 2)
        case = make_case(source, partitions=partitions, shape=shape, dtypes=dtypes, psum=psum)
        finite += np.isfinite(case.after.view(np.float32)).sum()
        compared += case.after.size
        await check(frame, player, [case])
    assert 2 * finite > compared, f"{finite} of {compared} results are finite: too few show every bit"


@BENCH.test(
    "tensor_engine.accumulation",
    "The flag, the format and the random bits travel with the results, far behind the instruction",
)
async def accumulation(frame):
    """Each meaning of psum_accumulate_flag onto FP32, BF16 and BF16 with stochastic rounding."""
    player = TensorEnginePlayer(frame, CONFIG)
    source = source_of("accumulation")
    coverage = frame.coverage(cross(FLAGS, ("fp32", "bf16 rne", "bf16 sr")))
    randomness = RandomBits(frame.dut)
    frame.start("random bits", randomness.run())
    shape = (max(2, CONFIG.array.cols), min(7, CASES))
    for name, flag in FLAGS.items():
        for kind in ("fp32", "bf16 rne", "bf16 sr"):
            coverage.hit(name, kind)
            case = make_case(
                source,
                partitions=32,
                shape=shape,
                dtypes=DTYPES[:2],
                flag=flag,
                bf16=kind != "fp32",
                stochastic=kind.endswith("sr"),
                psum=int(source.integers(0, 8)),
            )
            if case.random_bits is not None:
                randomness.queue(place_words(CONFIG, case.random_bits.astype(np.uint32)))
            await check(frame, player, [case])
            if randomness.pending:
                raise AssertionError(f"{randomness.pending} vectors of random bits were not taken")


def tiled_cases(source: np.random.Generator, tiles: int, coverage: Coverage) -> list[Case]:
    """One case for each row tile, each with a destination in PSUM banks of its own where there are enough."""
    rows = PARTITIONS // tiles
    per_tile = CONFIG.psum_banks * CONFIG.psum_bank_depth // tiles
    cases = []
    for tile in range(tiles):
        coverage.hit(tiles, tile)
        columns = int(source.integers(1, largest_moving() + 1))
        cases.append(
            make_case(
                source,
                # Few words, few passes: both cost time.
                partitions=32 * int(source.integers(1, min(rows // 32, max(1, CASES // 6)) + 1)),
                shape=(max(2, CONFIG.array.cols), columns),
                dtypes=tuple(DTYPES[k] for k in source.integers(0, 3, 2)),
                tile_row=tile * rows,
                tile_rows=rows,
                psum=tile * per_tile,
            )
        )
    return cases


@BENCH.test("tensor_engine.row_tiles", "Rows may change their tile only when they are idle")
async def row_tiling(frame):
    """Two and four matmuls side by side on row tiles, and changes between the tilings."""
    player = TensorEnginePlayer(frame, CONFIG)
    await player.set_map(exact_map())
    source = source_of("tiling")
    choices = [1 << tiling.value for tiling in tilings(CONFIG.array)]
    coverage = frame.coverage([f"{tiles}/{tile}" for tiles in choices for tile in range(tiles)])
    for tiles in [*choices, *reversed(choices)]:
        await check(frame, player, tiled_cases(source, tiles, coverage))


@BENCH.test("tensor_engine.shared_bank", "FP32 addition is not associative, and a bank takes one write a cycle")
async def shared_bank(frame):
    """Two tiles accumulate into one bank in the order of their instructions."""
    player = TensorEnginePlayer(frame, CONFIG)
    source = source_of("shared bank")
    shape = (max(2, CONFIG.array.cols), min(9, CASES))
    first = make_case(source, partitions=32, shape=shape, dtypes=DTYPES[:2], tile_row=0, tile_rows=64)
    second = make_case(
        source, partitions=32, shape=shape, dtypes=DTYPES[:2], tile_row=64, tile_rows=64, flag=AccumulateFlag.LAST
    )
    dst = first.after.view(np.float32)
    matmul = second.matmul
    after = trainium3.nc_matmul_mx(
        matmul.stationary,
        matmul.moving,
        matmul.stationary_scale,
        matmul.moving_scale,
        dst=dst,
        psum_accumulate_flag=int(AccumulateFlag.LAST),
        numerics=NUMERICS,
    )
    await player.play(lower(CONFIG, [first.matmul, matmul]))
    places = range(psum_places(CONFIG, shape))
    got = destination(CONFIG, shape, await player.read(places))
    scoreboard = frame.scoreboard("PSUM", FP32.width, {"": FP32})
    for expected, value in zip(codes_of(after).flat, got.flat, strict=True):
        scoreboard.compare(int(value), int(expected))


@BENCH.test(
    "tensor_engine.filled",
    "Row groups 1 to 3 have ports and queues of their own, a map other than the exact one reveals the code taken, "
    "and a full queue must lose nothing",
)
async def filled(frame):
    """Every tile fills its queues, its chain and PSUM's banks: any FP4 map of either format, every flag and
    destination, random bits of each tile's own, results that are subnormal, infinite and NaN."""
    array, places = CONFIG.array, filled_places(CONFIG)
    player, model = await begin(frame, CONFIG, places, wide=True)
    rng = pauses.rng("filled")
    randomness = [RandomBits(frame.dut, group) for group in range(array.groups)]
    for group, feed in enumerate(randomness):
        frame.start(f"random bits {group}", feed.run())
    coverage = frame.coverage(filling_bins(CONFIG))
    for index, tiling in enumerate(tilings(array)):
        code_format = index % len(table_types(CONFIG))
        # The last of several tables counts.
        for _ in range(3):
            model.table = random_table(code_format, rng)
            await player.set_map(model.table)
        leaders = [group for group in range(array.groups) if leader(array, group, tiling) == group]
        program = [each for group in leaders for each in filling_program(CONFIG, group, rng)]
        before = model.psum.copy()
        commands = model.commands(tiling, program)
        for group, feed in enumerate(randomness):
            feed.queue(model.random_words[group])
            model.random_words[group].clear()
        await player.play([Segment(commands=commands)])
        await compare(frame, player, model, places)
        for each in (*bins_of(program, code_format), *kinds_of(model.psum[model.psum != before])):
            coverage.hit(*each)
        assert not any(feed.pending for feed in randomness), "random bits were not taken"


async def watch_faults(dut, board: Scoreboard) -> None:
    """Hand each fault on, and clear it."""
    while True:
        await FallingEdge(dut.clk)
        fault = resolved(dut.fault)
        dut.clear.value = fault != Fault.NONE.value
        if fault:
            board.got(fault)


@BENCH.test(
    "tensor_engine.refused",
    "An instruction that nothing refuses kept the engine busy for ever, or wrote beyond its bank",
    "Every value of every field that an instruction may not have, and of several fields at once, between loads "
    "and passes in any order, in every tile: its fault, no word of PSUM changed, nothing left in a chain, an idle "
    "engine; the first fault and its number stay until they are cleared",
)
async def refused_instructions(frame):
    """Every illegal value of every field, and of several at once, comes between loads and passes in any order. It gives
    its fault, changes no word of PSUM, leaves nothing in a chain, and the engine is idle after it."""
    player, model = await begin(frame, CONFIG, PLACES)
    rng = pauses.rng("programs")
    coverage = frame.coverage(cross((each.name for each in Opcode), ("OPERATION", "DTYPE", "START", "RANGE")))
    coverage.counts.update({"MULTIPLY_MOVING/COUNT": 0})
    board = frame.scoreboard("fault", 3)
    frame.start("faults", watch_faults(frame.dut, board))
    waiting = walk(CONFIG, rng, 10 * CASES)
    refused = 0
    while waiting:
        tiling = rng.choice(tilings(CONFIG.array))
        program = with_refused(CONFIG, random_program(CONFIG, tiling, REFUSED_LENGTH, rng), waiting)
        for each in program:
            if isinstance(each, Wrong):
                board.expect(each.fault.value, str(each.values))
                coverage.hit(Opcode(each.values["opcode"]).name, each.fault.name)
                refused += 1
        await player.play([Segment(commands=model.commands(tiling, program))])
        assert board.pending == 0, f"{board.pending} faults did not show"
    await compare(frame, player, model, PLACES)
    assert refused >= 100, f"{refused} instructions were refused"


@BENCH.test("tensor_engine.refused")
async def first_fault_and_number(frame):
    """The fault and number of the first of several refused instructions stay until they are cleared; numbers then count
    anew."""
    dut = frame.dut
    player, model = await begin(frame, CONFIG, PLACES)
    rng = pauses.rng("programs")
    board = frame.scoreboard("fault and number", 35)
    for _ in range(min(CASES, 8)):
        tiling = rng.choice(tilings(CONFIG.array))
        waiting = walk(CONFIG, rng, 0)
        length = rng.randint(8, 3 * REFUSED_LENGTH)
        program = with_refused(CONFIG, random_program(CONFIG, tiling, length, rng), waiting, rng.randrange(length))
        place, first = next((k, each) for k, each in enumerate(program) if isinstance(each, Wrong))
        await player.play([Segment(commands=model.commands(tiling, program))])
        board.compare(
            resolved(dut.fault) << 32 | resolved(dut.fault_number), first.fault.value << 32 | place, str(first.values)
        )
        dut.clear.value = 1
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        await FallingEdge(dut.clk)
        assert resolved(dut.fault) == Fault.NONE.value
        await RisingEdge(dut.clk)
    await compare(frame, player, model, PLACES)


@BENCH.test("tensor_engine.one_result", "Results must not depend on the array's shape or pipelining")
async def same_on_every_engine(frame):
    """The same instructions on four engines of other rows, columns and depths give the same bits as golden."""
    player = TensorEnginePlayer(frame, CONFIG)
    await player.set_map(exact_map())
    source = np.random.default_rng(FIXED_SEED)
    cases = [
        make_case(source, partitions=partitions, shape=FIXED_SHAPE, dtypes=dtypes, flag=AccumulateFlag.LAST)
        for partitions, dtypes in ((64, DTYPES[:2]), (32, (DTYPES[1], DTYPES[2])))
    ]
    got = [await check(frame, player, [case]) for case in cases]
    if "BITPATH_PSUM" in os.environ:
        np.save(os.environ["BITPATH_PSUM"], np.array(got))


@BENCH.test("tensor_engine.throughput", "The main job's run time depends on it")
async def throughput(frame):
    """A moving word a cycle, loads hidden behind multiplications, passes without a gap."""
    player = TensorEnginePlayer(frame, CONFIG)
    source = source_of("throughput")
    array = CONFIG.array
    passes = -(-32 // array.rows)
    one_segment = array.operand_depth // passes - array.cols
    columns = min(CONFIG.chain_depth, CONFIG.psum_bank_depth, one_segment)
    case = make_case(source, partitions=32, shape=(max(2, array.cols), columns), dtypes=DTYPES[:2])
    await check(frame, player, [case])
    latency = array.rows * array.row_latency + array.cols + 1
    # Overhead besides a word a cycle: a swap a pass, the first load, the latencies of array and chain, and the queues.
    hidden = columns >= latency + 2 * array.cols + 8
    allowed = passes * (columns + 2) + latency + 2 * array.cols + 32 if hidden else passes * (columns + latency + 40)
    busy = resolved(frame.dut.busy_cycles)
    if busy > allowed:
        raise AssertionError(
            f"{passes} passes of {columns} words kept the engine busy for {busy} cycles, not {allowed}"
        )
