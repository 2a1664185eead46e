"""Bench of the Tensix engine: tile products from operand memories to the result memory, byte for byte with golden.

Golden unpacks, multiplies in the order of `tile_instructions` and packs before anything is driven. ``BITPATH_CASES`` is the
number of further random products in the tests of formats.
"""

import os
from dataclasses import replace
from itertools import product as combinations

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from bitpath.golden.tensix.declarations.formats import Fidelity, Format, Style
from bitpath.rtl.tensix.engine.command import WORD_BITS, WORD_BYTES, TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import EngineMemory, TensixEngine, host_write_layout
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.kit.engine_host import MEETINGS, expect_rest, source_of, watch_host
from bitpath.verif.kit.player import Segment
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, UnitBench, cases, covers, cross, pack, pauses, resolved
from bitpath.verif.tensix.engine.lowering import (
    holds_all,
    host_writes,
    load_cycles,
    memory_words,
    product_cycles,
    scheduled,
)
from bitpath.verif.tensix.engine.model import CONVERSIONS, TILES16, Product, Store, random_tile
from bitpath.verif.tensix.engine.programs import (
    AS_IT_IS,
    CHAINS,
    KEEPS,
    KINDS,
    L1_FORMATS,
    MATMULS,
    PACKINGS,
    RARER,
    RELATIONS,
    WIDTHS,
    any_address,
    as_it_is,
    blocked_matmul,
    compare_matmul,
    covering,
    every_bin,
    held_program,
    paced_products,
    packing_bins,
    program,
    random_matmul,
    random_operands,
    slots,
    timed_loads,
    with_any_numbers,
    with_numbers,
)
from bitpath.verif.tensix.engine.session import Session
from bitpath.verif.tensix.unpack.unpack import Conversion

BENCH = UnitBench(TensixEngine, TensixEngineConfig, ms=20, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
NUMERICS = CONFIG.unit.numerics
CASES = cases(4)
FIXED_SEED = 2025
FAULTS = (Fault.FORMAT, Fault.RANGE, Fault.BANK)
CLEARED = 0.3
"""How often the fault is cleared behind a legal command."""


@BENCH.test(
    "tensix_engine.operands",
    "Each format has its own layout in memory, and each side's format has its own path to the Matrix unit",
    style=[cocotb.Param(value=style, name=style.value) for style in Style],
)
async def operand_formats(frame, style):
    """Every conversion from L1 to a source, on each side beside another one, in every style and fidelity, into both
    widths of Dst."""
    conversions = CONVERSIONS[style]
    kinds = list(combinations(Fidelity, WIDTHS[style]))
    session = await Session.begin(frame, CONFIG)
    source = source_of("formats")
    bins = cross(("left", "right"), (each.bin for each in conversions))
    coverage = frame.coverage(bins + cross((each.value for each in Fidelity), WIDTHS[style]))
    products = telling = 0
    for index in range(max(len(conversions), len(kinds)) + CASES):
        left = conversions[index % len(conversions)]
        right = conversions[(index + 1 + index // len(conversions)) % len(conversions)]
        fidelity, dst32 = kinds[index % len(kinds)]
        coverage.hit("left", left.bin)
        coverage.hit("right", right.bin)
        coverage.hit(fidelity.value, dst32)
        store = as_it_is(style, slots(CONFIG)[index % len(slots(CONFIG))], dst32=dst32)
        each = Product(
            left=random_tile(source, left),
            right=random_tile(source, right),
            style=style,
            fidelity=fidelity,
            dst32=dst32,
            dst_tile=index % (TILES16 >> dst32),
            store=store,
        )
        await session.queue(each)
        products += 1
        telling += len(np.unique(session.model.present(each))) > 16
        if store.address == slots(CONFIG)[-1]:
            await session.flush()
    await session.flush()
    assert 4 * telling > products, f"{telling} of {products} products leave more than 16 different words"


@covers(
    "tensix_engine.results",
    "One to sixteen rows share a word of the result memory, and block floats have a word of exponents before them",
    "Every intermediate and L1 format, rounding and raw, four ReLU modes with thresholds, INT8 signed and "
    "unsigned; no byte beside the tile changes",
)
@covers(
    "tensix_engine.rarer_stores",
    "Each is a command field that must reach the packer while other commands compute",
    "Any thresholds of ReLU and of exponents, every shift from INT32 to INT8, rounding to 10 bits, and minus "
    "infinity for masked columns, which tiles do not have",
)
@BENCH.test(
    "tensix_engine.l1",
    "The old word is read one cycle before the row is added to it",
    "Accumulation in L1 onto words of the host, and onto words of the previous store",
    kind=list(KINDS),
)
async def result_formats(frame, kind):
    """Every intermediate and L1 format, ReLU mode, raw conversion and rounding, over old contents and over each other."""
    style, dst32 = KINDS[kind]
    session = await Session.begin(frame, CONFIG)
    source, rng = source_of("operands"), pauses.rng("packings")
    coverage = frame.coverage(every_bin(PACKINGS[kind] + RARER[kind]))
    fidelity = Fidelity.HIFI4 if style is Style.INT8 else Fidelity.LOFI
    packings = [with_numbers(each, rng) for each in covering(PACKINGS[kind], rng)]
    packings += [with_any_numbers(each, rng) for each in covering(RARER[kind], rng)]
    for index, packing in enumerate(packings):
        for name in packing_bins(packing):
            coverage.hit(name)
        # Every third store reuses the address of the previous one, in any format.
        address = any_address(CONFIG, AS_IT_IS["FP32"], source) if index % 3 else 0
        store = Store(packing, address)
        operands = random_operands(style, source)
        await session.queue(
            Product(**operands, style=style, fidelity=fidelity, dst32=dst32, dst_tile=index % 8, store=store)
        )
    await session.flush()


@BENCH.test("tensix_engine.l1")
async def stores_add_up(frame):
    """Two consecutive stores to one address, in each format that accumulates in L1."""
    session = await Session.begin(frame, CONFIG)
    source = source_of("operands")
    kinds = {"FP32": Style.BF16, "BF16": Style.TF32, "FP16": Style.FP16}
    coverage = frame.coverage(kinds)
    for index, (kind, style) in enumerate(kinds.items()):
        for accumulate in (False, True, True):
            packing = replace(AS_IT_IS[kind], accumulate=accumulate)
            each = Product(
                **random_operands(style, source),
                style=style,
                dst32=packing.dst32,
                dst_tile=int(accumulate),
                store=Store(packing, slots(CONFIG)[index]),
            )
            await session.queue(each)
        coverage.hit(kind)
    await session.flush()


@BENCH.test(
    "tensix_engine.chains",
    "Dst is rounded after each instruction, and the products of a tile may be far apart in time",
    kind=["BF16", "FP16", "FP32"],
)
async def chains(frame, kind):
    """All 16 tiles of 16-bit words and all 8 of 32 bits: filled in any order, accumulated without clearing, stored,
    accumulated and stored again."""
    style, dst32 = KINDS[kind]
    tiles = TILES16 >> dst32
    narrow = next(each for each in CONVERSIONS[style] if each.register_format in (Format.BFP4, Format.BFP4A))
    session = await Session.begin(frame, CONFIG)
    source = source_of("operands")
    coverage = frame.coverage(cross(("filled", "continued", "again"), range(tiles)))
    for step in ("filled", "continued", "again"):
        for index, tile in enumerate(source.permutation(tiles).tolist()):
            coverage.hit(step, tile)
            slot = slots(CONFIG)[index % len(slots(CONFIG))]
            each = Product(
                left=random_tile(source, narrow),
                right=random_tile(source, narrow),
                style=style,
                dst32=dst32,
                dst_tile=tile,
                clear=step == "filled",
                store=None if step == "filled" else as_it_is(style, slot, dst32=dst32),
            )
            await session.queue(each)
            if each.store and slot == slots(CONFIG)[-1]:
                await session.flush()
    await session.flush()


@BENCH.test(
    "tensix_engine.chosen_numbers",
    "Numbers near 1 do not exercise exponents, normalisation and saturation, and Dst may hold any word",
    kind=list(CHAINS),
)
async def chosen_numbers(frame, kind):
    """Sums have any magnitude up to both ends of their formats, or cancel to one unit or to zero. Powers of two pass
    all fidelity phases. INT8 is added onto words of floats up to both ends of INT32, and floats onto the resulting
    words."""
    chains = CHAINS[kind]
    session = await Session.begin(frame, CONFIG)
    coverage = frame.coverage(chains.bins)
    for index, each in enumerate(chains.products(source_of("operands"))):
        before = None if each.clear else session.model.present(each).copy()
        slot = slots(CONFIG)[index % len(slots(CONFIG))]
        await session.queue(replace(each, store=as_it_is(each.style, slot, dst32=each.dst32)))
        for name in chains.hits(each, before, session.model.present(each)):
            coverage.hit(*name)
        if slot == slots(CONFIG)[-1]:
            await session.flush()
    await session.flush()


@covers(
    "tensix_engine.packing_tile",
    "Packing runs behind computing, so the next product could corrupt half a result tile",
    "Products into the tile that is being packed, cleared or accumulated, beside it, and overlapping it in the "
    "other width; each with every choice of kept tiles",
)
@covers(
    "tensix_engine.kept_tiles",
    "A duplicate or missing load shifts all following tiles",
    "The left, the right or both tiles kept for the next product, whose own load of that side is random",
)
@BENCH.test("tensix_engine.host", pace=["full_speed", "gaps_and_stalls"])
async def programs(frame, pace):
    """Products into a tile that is being packed, beside it and overlapping it, with any tiles kept from the previous product."""
    pause = 0.5 if pace == "gaps_and_stalls" else 0.0
    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    coverage = frame.coverage(cross(RELATIONS, KEEPS))
    for relation, keep, each in program(CONFIG, source_of("operands"), pauses.rng("program")):
        if relation:
            coverage.hit(relation, keep)
        await session.queue(each)
    await session.flush()


@BENCH.test("tensix_engine.matmuls", "bitpath run executes such products", fmt=list(MATMULS))
async def matmuls(frame, fmt):
    """Matrix products of sizes that are no multiples of 32, in four formats, cut into several segments, one of them in
    the middle of K."""
    program = random_matmul(fmt, NUMERICS)
    session = await Session.begin(frame, CONFIG)
    assert await compare_matmul(session, program) > 1, "the memories hold the whole product: nothing is cut"
    assert resolved(frame.dut.retired) == np.prod(program.tiles)


@BENCH.test(
    "tensix_engine.pace",
    "Throughput depends on loads and stores that overlap with computing",
    fidelity=[Fidelity.LOFI, Fidelity.HIFI4],
    l1_format=[Format.BF16, Format.BFP8, Format.BFP4],
)
async def throughput(frame, fidelity, l1_format):
    """Exact cycle counts of consecutive products, bound by loading, computing, clearing and storing, in the lowest and
    the highest fidelity, of BF16 and of two block floats; they are those of golden's schedule, also for a matmul in
    blocks."""
    session = await Session.begin(frame, CONFIG)
    await paced_products(session, Conversion(l1_format, l1_format), fidelity)


@BENCH.test(
    "tensix_engine.loads",
    "A word too many, or an address cycle that does not pass beside the other load, costs a cycle in each product",
)
async def loads(frame):
    """The cycles of a load alone in every L1 format, which are the documents', and of two loads that share the port:
    one start and the words of both."""
    session = await Session.begin(frame, CONFIG)
    await timed_loads(session, frame.coverage(cross(("two", "alone"), L1_FORMATS)))


@BENCH.test(
    "tensix_engine.held_tiles",
    "A bank that is given back by a flip is filled under the products that still need it",
    pace=["full_speed", "gaps_and_stalls"],
)
async def held_tiles(frame, pace):
    """Two tiles of each side held, flipped to and given back in any order, at all paces."""
    pause = 0.5 if pace == "gaps_and_stalls" else 0.0
    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    coverage = frame.coverage(cross(("left", "right"), (False, True), (False, True)))
    for moves, each in held_program(CONFIG, source_of("operands"), pauses.rng("program")):
        for side, move in moves.items():
            coverage.hit(side, *move)
        await session.queue(each)
    await session.flush()


@BENCH.test("tensix_engine.pace")
async def blocks(frame):
    """A matrix product in blocks of output tiles, with two tiles of one side held, in golden's cycles."""
    program = blocked_matmul(NUMERICS)
    session = await Session.begin(frame, CONFIG)
    assert holds_all(CONFIG, program)
    assert await compare_matmul(session, program) == 1, "the memories do not hold the whole product"
    assert resolved(frame.dut.busy_cycles) == scheduled(CONFIG, program)


@BENCH.test("tensix_engine.host", "The packer has priority, and the host's word must still be written")
async def host_traffic(frame):
    """Words to the result memory while the packer writes, responses under back-pressure, gaps between commands, the
    count of products."""
    session = await Session.begin(frame, CONFIG, gap=0.5, stall=0.5)
    source = source_of("traffic")
    coverage = frame.coverage(MEETINGS)
    frame.start("watch", watch_host(frame.dut, coverage))
    stored, written, still = (range(k, k + 64) for k in slots(CONFIG)[:3])
    for index in range(6):
        store = as_it_is(Style.FP16, stored[0], dst32=True)
        await session.queue(
            Product(**random_operands(Style.FP16, source), style=Style.FP16, dst_tile=index % 2, store=store)
        )
    segment = session.take_segment()
    await session.player.play([Segment(writes=segment.writes)])
    session.player.send(Segment(commands=segment.commands))
    # Repeat the writes until all products have completed; the last words remain.
    while session.player.waiting_commands or resolved(frame.dut.busy):
        words = source.integers(0, 256, (len(written), WORD_BYTES), dtype=np.uint8)
        session.results.reshape(-1, WORD_BYTES)[written.start : written.stop] = words
        image = memory_words(words)
        session.player.send(Segment(writes=host_writes(CONFIG, EngineMemory.RESULT, written.start, image)))
        await session.compare(still)
    await session.flush()


@BENCH.test(
    "tensix_engine.refused",
    "A refused command must leave no trace, and the next one must work",
    pace=["full_speed", "gaps_and_stalls"],
)
async def refused(frame, pace):
    """Commands of every fault, and host writes to no memory, between legal commands, with and without pauses; fault and
    number of the first one, and the fault cleared in between."""
    pause = 0.5 if pace == "gaps_and_stalls" else 0.0
    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    rng = pauses.rng("refused")
    coverage = frame.coverage([*(fault.name for fault in FAULTS), "a write to no memory"])
    for _, _, each in program(CONFIG, source_of("operands"), pauses.rng("program")):
        for wanted in rng.sample(FAULTS, len(FAULTS)):
            coverage.hit(session.queue_refused(each, rng, wanted).name)
        await session.queue(each)
        if rng.random() < CLEARED:
            await session.flush()
            await session.faults.clear(frame.dut)
    await session.flush()
    await session.faults.clear(frame.dut)
    nowhere = pack(host_write_layout(CONFIG), {"memory": len(EngineMemory), "data": rng.getrandbits(WORD_BITS)})
    session.player.send(Segment(writes=[nowhere]))
    session.faults.refuse(Fault.OPERATION.value)
    await session.flush()
    coverage.hit("a write to no memory")


@covers("resets.every_unit")
@BENCH.test("tensix_engine.reset", "A row counter or a bank that survives shifts everything after it")
async def reset(frame):
    """Reset while loading, multiplying and storing with both tiles kept; the next product accumulates onto zeros."""
    loaded = load_cycles(Format.BF16, Format.BF16)
    multiplied = loaded + product_cycles(CONFIG.unit.passes, Fidelity.LOFI)
    moments = {"loading": 10, "multiplying": loaded + 4, "storing": multiplied + 10}
    conversion = Conversion(Format.BF16, Format.BF16)
    dut = frame.dut
    session = await Session.begin(frame, CONFIG)
    source = source_of("operands")
    coverage = frame.coverage(moments)
    for moment, cycles in moments.items():
        store = as_it_is(Style.BF16, slots(CONFIG)[1], dst32=True)
        for _ in range(2):
            await session.queue(
                Product(
                    left=random_tile(source, conversion),
                    right=random_tile(source, conversion),
                    style=Style.BF16,
                    keep_left=True,
                    keep_right=True,
                    store=store,
                )
            )
        segment = session.take_segment()
        await session.player.play([Segment(writes=segment.writes)])
        session.player.send(Segment(commands=segment.commands))
        await ClockCycles(dut.clk, cycles + int(source.integers(0, 12)))
        assert resolved(dut.busy), f"the engine was to be {moment}"
        coverage.hit(moment)
        dut.rst.value = 1
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0
        await expect_rest(dut)
        session.forget()
        await session.preset()
        # Not cleared: it accumulates onto Dst after reset.
        each = Product(**random_operands(Style.BF16, source), style=Style.BF16, clear=False, store=store)
        await session.run([each])


@BENCH.test("tensix_engine.one_result", "Results must not depend on the number of dot products")
async def same_on_every_engine(frame):
    """The same products on 2x4 and 4x8 dot products and on both simulators leave the same memory, which is golden's."""
    session = await Session.begin(frame, CONFIG)
    source = np.random.default_rng(FIXED_SEED)
    session.results[:] = 0
    await session.preset()
    store = as_it_is(Style.BF16, slots(CONFIG)[1], dst32=True)
    await session.queue(Product(**random_operands(Style.BF16, source), style=Style.BF16, dst_tile=3, store=store))
    received = await session.flush()
    if "BITPATH_RESULT" in os.environ:
        np.save(os.environ["BITPATH_RESULT"], received)
