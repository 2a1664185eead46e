"""Bench of the core: products, loads and stores of every format, the end of L1, random instructions, refused words, resets.

Golden's `Core` runs the same words: the result's bytes and each thread's words are equal.
"""

import os
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.golden import tensix
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.core.programs import RESULT, CoreProgram, assembled, config_lines
from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.encodings import BY_NAME, OPCODE_LOW, REGISTERS
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, COLUMNS, DST16_ROWS, DST32_ROWS, Fidelity, Format
from bitpath.golden.tensix.declarations.sfpu import TEMPLATES
from bitpath.golden.tensix.isa import decode, encode
from bitpath.golden.tensix.matmul.product_program import DATUMS, Product, tile_program
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.l1_memory import LINES
from bitpath.rtl.tensix.core.tensix_core import TensixCore
from bitpath.rtl.tensix.core.wait_gate import EVERY, UNITS
from bitpath.rtl.tensix.faults import Fault
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, Bench, UnitBench, cases, pauses, resolved
from bitpath.verif.tensix.program.golden_core import (
    MATH,
    fault_of,
    golden_core,
    golden_result,
    random_words,
    with_preface,
)
from bitpath.verif.tensix.program.host import CoreHost, Run
from bitpath.verif.tensix.program.loads import (
    Load,
    changed,
    load_program,
    packings,
    random_load,
    random_runs,
    random_store,
    zeros_from,
)
from bitpath.verif.tensix.program.loads import cases as load_cases
from bitpath.verif.tensix.program.programs import WORD_BYTES
from bitpath.verif.tensix.sfpu.driving import needs_gap
from bitpath.verif.tensix.sfpu.words import ACCESSES, kinds, random_word

BENCH = UnitBench(TensixCore, TensixCoreConfig, ms=1000, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(1)
NOP = encode("NOP", chip=CHIP)
MVMUL = BY_NAME[CHIP]["MVMUL"].opcode
MVMULS, ADDRESS_CYCLES, TILE_ROWS = 16, 2, 64
"""MVMULs of a tile in one phase, cycles in which an UNPACR forms its addresses, and Dst rows of a tile."""
KINDS = (
    (Format.BF16, Format.BF16, True),
    (Format.BF16, Format.FP32, True),
    (Format.BF16, Format.BF16, False),
    (Format.FP16, Format.FP32, True),
    (Format.FP16, Format.FP16, False),
    (Format.FP8, Format.FP16, False),
    (Format.INT8, Format.INT32, True),
)
"""Format of the operands and of the result, and whether Dst has 32 bits."""
NOTED = (Fault.NONE, Fault.WORD, Fault.OPERATION, Fault.STATE, Fault.REGISTER)
REFUSED = (
    ("SEMWAIT", {"semaphores": 1}, Fault.OPERATION),
    ("UNPACR", {"row_search": 1}, Fault.OPERATION),
    ("PACR", {"override_thread": 1}, Fault.OPERATION),
    ("PACR", {}, Fault.STATE),
    ("MOVD2A", {"mode": 1}, Fault.OPERATION),
    ("MOVD2B", {"low_half": 1}, Fault.STATE),
    ("UNPACR_NOP", {}, Fault.OPERATION),
    ("WRCFG", {"register": REGISTERS[CHIP]}, Fault.REGISTER),
    ("SETC16", {"register": 255}, Fault.REGISTER),
    ("RMWCIB0", {"register": 255, "mask": 1}, Fault.REGISTER),
)
"""Instructions that a core refuses behind a reset, when Dst has 16 bits and no low halves, and no format is configured."""
RANDOM_KINDS = KINDS[:5]
"""Kinds of random instructions: of floats, whose products golden takes in any order."""


def random_product(
    rng: Random, kind: tuple[Format, Format, bool], fidelity: Fidelity, k_tiles: int, *, place: int = 0
) -> CoreProgram:
    """Return a product of random numbers of medium size, in Dst's tile `place` modulo their number; thread `place` modulo 3 unpacks."""
    fmt, out_format, dst32 = kind
    tiles = (DST32_ROWS if dst32 else DST16_ROWS) // TILE_ROWS
    product = Product(
        chip=CHIP,
        fidelity=fidelity,
        fmt=fmt,
        out_format=out_format,
        dst32=dst32,
        k_tiles=k_tiles,
        dst_row=TILE_ROWS * (place % tiles),
        unpacking=place % THREADS,
    )
    source = np.random.default_rng(rng.getrandbits(32))
    count = DATUMS * k_tiles
    sides = []
    for _ in range(2):
        if L1_BYTES[fmt] == 1:
            sides.append(source.integers(0, 256, count, dtype=np.uint8) & (0xBF if fmt is Format.FP8 else 0xFF))
        else:
            numbers = source.standard_normal(count).astype(np.float32)
            codes = (
                numbers.astype(np.float16) if fmt is Format.FP16 else (numbers.view(np.uint32) >> 16).astype(np.uint16)
            )
            sides.append(codes.view(np.uint8))
    return tile_program(product, *sides)


class CoreSession:
    """Plays programs and compares them with golden's."""

    def __init__(self, frame: Bench, *, gap: float = 0.0):
        self.frame, self.dut = frame, frame.dut
        self.host = CoreHost(frame, CONFIG, gap=gap)
        self._memory = frame.scoreboard("L1", 8, output="data")
        self._words = frame.scoreboard("words", 32, output="executed_0")

    async def check(self, program: CoreProgram, case: str, mixed: CoreProgram | None = None) -> Run:
        """Play a program from a reset; compare bytes and words, and that none was refused.

        ``mixed`` is played instead, which has refused words of thread MATH besides; its words are not compared then.
        """
        self.dut._log.info("%s", case)
        await self.frame.reset()
        expected, words = golden_result(CHIP, program)
        run = await self.host.play(program if mixed is None else mixed)
        for thread in range(THREADS) if mixed is None else (0, 2):
            got = [word for word in run.words[thread] if word != NOP]
            assert len(got) == len(words[thread]), (
                f"{case}, thread {thread}: {len(got)} words, not {len(words[thread])}"
            )
            for right, real in zip(words[thread], got, strict=True):
                self._words.compare(real, right, case)
        for place, (right, real) in enumerate(
            zip(expected.tolist(), (await self.host.read(*program.result)).tolist(), strict=True)
        ):
            self._memory.compare(real, right, f"{case}, byte {place}")
        if mixed is None:
            self.host.check_accepted(case)
        return run


@BENCH.test(
    "tensix_core.products",
    "Configuration, addresses and modes must reach the units while other threads go on, whichever thread asks",
)
async def products(frame):
    """Products in every pair of formats, random fidelities, one and two tiles along K, in every tile of Dst, each role
    on every thread."""
    rng = pauses.rng("products")
    coverage = frame.coverage([f"{fmt.name} {out.name} {dst32}" for fmt, out, dst32 in KINDS])
    session = CoreSession(frame, gap=0.3)
    for case in range(max(CASES, DST16_ROWS // TILE_ROWS)):
        kind = KINDS[case % len(KINDS)]
        fidelity = Fidelity.HIFI4 if kind[0] is Format.INT8 else rng.choice([*Fidelity])
        program = random_product(rng, kind, fidelity, rng.choice((1, 2)), place=case)
        await session.check(program, f"{kind}, {fidelity}")
        coverage.hit(f"{kind[0].name} {kind[1].name} {kind[2]}")


WIDE_MODES, NARROW_MODES = (3, 4, 12), (0, 1, 2, 5, 6, 8, 13, 14, 15)
"""Modes of SFPLOAD and SFPSTORE in a Dst of 32 bits, and of 16."""


def vector_words(rng: Random, count: int, *, dst32: bool) -> list[int]:
    """Return random words of the Vector unit that no page calls undefined, with the cycles between them that software leaves free.

    A quarter of them are loads and stores in a tile of 64 rows.
    """
    every = [kind for kind in kinds(CHIP) if kind[0] not in ("SFPCONFIG", *ACCESSES)]
    modes, lanes, words = WIDE_MODES if dst32 else NARROW_MODES, Lanes(), []
    while len(words) < count:
        if rng.random() < 0.25:
            fields = {"vd": rng.randrange(8), "mod": rng.choice(modes), "address": rng.randrange(TILE_ROWS)}
            word = encode(rng.choice(ACCESSES), chip=CHIP, **fields)
        else:
            word = random_word(rng, CHIP, *rng.choice(every))
            try:
                execute(lanes, decode(word, chip=CHIP), CHIP, CONFIG.numerics)
            except ValueError:
                continue
        if words and needs_gap(CHIP, words[-1], word):
            words.append(encode("SFPNOP", chip=CHIP))
        words.append(word)
    return words


@BENCH.test("tensix_core.vector", "The Vector unit shares Dst and the threads' counters with the other units")
async def vector_programs(frame):
    """Products whose tile random instructions of the Vector unit load, change and store before it is packed, with a seed for its
    random numbers."""
    rng = pauses.rng("vector")
    session = CoreSession(frame, gap=0.2)
    for case in range(max(CASES, len(RANDOM_KINDS))):
        kind = RANDOM_KINDS[case % len(RANDOM_KINDS)]
        program = random_product(rng, kind, Fidelity.LOFI, 1)
        matrix_idle = 1 << len(UNITS[CHIP]) - 1
        lines = [
            *config_lines(CHIP, {"prng_seed": [rng.getrandbits(32)]}),
            ("STALLWAIT", {"block": EVERY, "conditions": matrix_idle}),
            ("SETRWC", {"which": 0b1111}),
        ]
        own = [*assembled(CHIP, *lines), *vector_words(rng, 60 + CASES, dst32=kind[2])]
        words = list(program.words)
        # They go before the wait whose semaphore lets the packer begin.
        words[MATH] = (*words[MATH][:-2], *own, *words[MATH][-2:])
        await session.check(replace(program, words=tuple(words)), f"case {case}, {kind}")


def macro_words(rng: Random, *, dst32: bool) -> list[int]:
    """Return words with SFPLOADMACROs a cycle apart that change a tile of 64 rows, beside loads of a thread.

    A multiply-add comes first. Its result, or a word of the simple sub-unit from it, is stored in the load's row. Registers 0 to 3 take
    turns, so that cycles without an instruction change nothing. The last SFPLOADMACROs displace an SFPSTORE of the thread, which then
    does not step the counters.
    """
    mode = rng.choice((3, 4) if dst32 else (1, 2))
    word = partial(encode, chip=CHIP)
    nops = [word("SFPNOP")] * 10
    templates = (word("SFPMAD", va=4, vb=5, vc=6), word("SFPNOT"), word("SFP_STOCH_RND", mod=rng.randrange(3)), 0)
    # MAD to its register, then NOT beside a rounding to LReg 16; MAD to LReg 16.
    sequences = (0x1B560415, 0x5300C400, 0x03000000)
    words = []
    for place, value in [*enumerate(templates[:3]), *enumerate(sequences, TEMPLATES), (8, mode)]:
        words += [word("SFPLOADI", mod=10, imm=value & 0xFFFF), word("SFPLOADI", mod=8, imm=value >> 16)]
        words.append(word("SFPCONFIG", vd=place))
    words += [word("SFPLOADI", vd=register, imm=rng.getrandbits(16)) for register in (4, 5, 6)]
    load, reset = partial(word, "SFPLOAD", vd=7, mod=mode), word("SETRWC", which=0b1111)
    for macro in (0, 1):
        for number in range(24):
            address = rng.randrange(0, TILE_ROWS, 2)
            words.append(word("SFPLOADMACRO", macro=macro, vd_low=number % 4, mod=mode, address=address >> 1))
            # LReg 16 must be stored before the next result for it.
            if macro or rng.random() < 0.5:
                words.append(rng.choice((load(address=rng.randrange(TILE_ROWS)), reset, reset)))
        words += nops
    for _ in range(4):
        fields = {"mod": mode, "address": rng.randrange(0, TILE_ROWS, 2) >> 1}
        words += [
            reset,
            word("SFPLOADMACRO", macro=2, vd_low=1, **fields),
            word("SFPSTORE", mod=mode, address=2),
            *nops,
        ]
    # Modifiers that were not applied have left the counter.
    return [*words, load(address=0), word("SFPSTORE", vd=7, mod=mode, address=TILE_ROWS // 2)]


@BENCH.test("tensix_core.macros", "SFPLOADMACRO's store goes to the load's row, while a thread loads another one")
async def macros(frame):
    """Products whose tile SFPLOADMACROs load, change and store before it is packed."""
    rng = pauses.rng("macros")
    for case in range(max(CASES // 2, len(RANDOM_KINDS))):
        session = CoreSession(frame)
        kind = RANDOM_KINDS[case % len(RANDOM_KINDS)]
        program = random_product(rng, kind, Fidelity.LOFI, 1)
        waits = ("STALLWAIT", {"block": EVERY, "conditions": 1 << len(UNITS[CHIP]) - 1})
        own = [*assembled(CHIP, waits, ("SETRWC", {"which": 0b1111})), *macro_words(rng, dst32=kind[2])]
        words = list(program.words)
        words[MATH] = (*words[MATH][:-2], *own, *words[MATH][-2:])
        await session.check(replace(program, words=tuple(words)), f"case {case}, {kind}")


@BENCH.test("tensix_core.rate", "An expansion must not lose a cycle between its replays")
async def every_cycle_multiplies(frame):
    """One and four phases: an MVMUL in each cycle in which the Matrix unit takes one, from the first to the last."""
    rng = pauses.rng("products")
    session = CoreSession(frame)
    for fidelity, mvmuls in ((Fidelity.LOFI, 16), (Fidelity.HIFI4, 64)):
        run = await session.check(random_product(rng, KINDS[0], fidelity, 1), str(fidelity))
        times = run.of_opcode(MATH, MVMUL)
        assert len(times) == mvmuls
        assert times[-1] - times[0] == (mvmuls - 1) * CONFIG.unit.passes


@BENCH.test("tensix_core.loads", "Block floats have their exponents at another place, and every mode its own addresses")
async def loads(frame):
    """UNPACRs of every format, plain, transposed, tilised, to Dst, with a forced exponent and as zeros, from random
    places to random rows."""
    rng = pauses.rng("loads")
    session = CoreSession(frame)
    modes = load_cases(CHIP)
    rng.shuffle(modes)
    modes = modes[: int(os.environ.get("BITPATH_LOADS", len(modes)))]
    coverage = frame.coverage(f"{mode} {fmt.name}" for mode, fmt in modes)
    for mode, fmt in modes:
        load, program = legal_load(rng, mode, fmt)
        await session.check(program, str(load))
        coverage.hit(f"{mode} {fmt.name}")


@BENCH.test("tensix_core.load_cycles", "A word of 64 bytes that comes in two cycles halves the rate")
async def load_cycles(frame):
    """Plain UNPACRs of 64 rows of every format for SrcA: the cycles to the bank's first move differ as golden's `unpack_cycles`."""
    rng = pauses.rng("loads")
    session, rest = CoreSession(frame), set()
    for fmt in (Format.TF32, Format.BF16, Format.FP8, *BLOCK_FLOATS):
        load = replace(random_load(rng, CHIP, "plain", fmt), unpacker=0, first=0, rows=TILE_ROWS, row=0)
        run = await session.check(load_program(load, np.random.default_rng(rng.getrandbits(32))), str(load))
        opcodes = (BY_NAME[CHIP][name].opcode for name in ("UNPACR", "MOVA2D"))
        begin, end = (run.of_opcode(thread, opcode)[0] for thread, opcode in enumerate(opcodes))
        rest.add(end - begin - tensix.unpack_cycles(fmt))
        frame.dut._log.info("%s: %d cycles from UNPACR to MOVA2D", fmt.name, end - begin)
    assert len(rest) == 1, rest


def legal_load(rng: Random, mode: str, fmt: Format) -> tuple[Load, CoreProgram]:
    """Return a load that golden executes."""
    while True:
        load = random_load(rng, CHIP, mode, fmt)
        program = load_program(load, np.random.default_rng(rng.getrandbits(32)))
        try:
            golden_result(CHIP, program)
        except ValueError:
            continue
        return load, program


@BENCH.test("tensix_core.stores", "The packer's control comes from registers of several units")
async def stores(frame):
    """PACRs in every pair of formats, with random ReLU, edge mask and sum in L1, E4M3, stochastic rounding, and exponents of
    block floats."""
    rng = pauses.rng("stores")
    session = CoreSession(frame)
    every = packings(CHIP)
    rng.shuffle(every)
    for packing in every[: int(os.environ.get("BITPATH_LOADS", len(every)))]:
        await session.check(random_store(rng, CHIP, packing), str(packing))


@BENCH.test("tensix_core.runs", "Rows below 16 bytes and their exponents go on inside of 16 bytes")
async def runs(frame):
    """PACRs of a few rows that go on where the one before ended, or end with zeros, in FP8 and in all block floats."""
    rng = pauses.rng("runs")
    session = CoreSession(frame)
    formats = (Format.FP8, *BLOCK_FLOATS)
    coverage = frame.coverage([fmt.name for fmt in formats])
    for fmt in formats:
        packing = rng.choice([each for each in packings(CHIP) if each.out is fmt])
        await session.check(random_runs(rng, CHIP, packing), str(packing))
        coverage.hit(fmt.name)


@BENCH.test(
    "tensix_core.misplaced", "Exponents over datums, or a row across 16 bytes, would be other bytes than golden's"
)
async def misplaced(frame):
    """PACRs of block floats without room for exponents before the datums, and of wider rows behind narrow ones: refused."""
    host, lines = CoreHost(frame, CONFIG), CONFIG.l1_words * LINES
    faults = frame.scoreboard("fault", Fault, output=f"fault_{MATH}")
    one_row, pacr = assembled(CHIP, ("SETADCXX", {"units": 4, "end": COLUMNS - 1}), ("PACR", {"packers": 1}))
    for narrow, section, wide in (
        (Format.BFP8, 0, None),
        (Format.BFP4, 1, None),
        (Format.BFP4, 1, Format.BFP8),
        (Format.BFP2A, 1, Format.BFP4A),
        (Format.BFP8, 1, Format.BF16),
    ):
        words = [*zeros_from(CHIP, narrow, lines - 64, section=section), one_row, pacr]
        if wide is not None:
            words += [*changed(CHIP, {"pack_out_format": wide}), pacr]
        await frame.reset()
        await host.play(CoreProgram(words=((), tuple(words), ())))
        refused = section == 0 or wide in (Format.BFP8, Format.BFP4A)
        faults.compare(
            host.faults()[MATH][0].value, (Fault.STATE if refused else Fault.NONE).value, f"{narrow}, {wide}"
        )


@BENCH.test(
    "tensix_core.end_of_l1", "A packer that went on at address 0 would destroy another program's data in silence"
)
async def the_end_of_l1(frame):
    """PACRs of one packer that fill L1 to its end, pass it, or begin before it without room: bytes at both ends of L1,
    and the flag."""
    source = np.random.default_rng(pauses.rng("end").getrandbits(32))
    size, lines = CONFIG.l1_words * WORD_BYTES, CONFIG.l1_words * LINES
    host = CoreHost(frame, CONFIG)
    data = frame.scoreboard("L1", 8, output="data")
    faults = frame.scoreboard("fault", Fault, output=f"fault_{MATH}")
    # Rooms for a half, one, and up to two and a quarter of a PACR's four rows.
    for fmt, quarters in product((Format.FP32, Format.BF16, Format.FP8, Format.BFP8), (2, 4, 6, 8, 9)):
        room = quarters * L1_BYTES.get(fmt, 1)
        await frame.reset()
        begin, end = source.integers(1, 256, (2, 8 * WORD_BYTES), np.uint8)
        memory = ((0, begin), (size - end.size, end))
        core = golden_core(CHIP, CoreProgram(words=((),) * THREADS, memory=memory), l1_bytes=size)
        before, pacr = zeros_from(CHIP, fmt, lines - room, section=1), encode("PACR", chip=CHIP)
        core.push(MATH, before)
        core.run()
        fates = [fault_of(CHIP, core, MATH, pacr) for _ in range(3)]
        run = await host.play(CoreProgram(words=((), (*before, *[pacr] * len(fates)), ()), memory=memory))
        first = next((place for place, fault in enumerate(fates) if fault is not Fault.NONE), 0)
        fault, number = host.faults()[MATH]
        faults.compare(fault.value, fates[first].value, f"{fmt.name}, room for {room} lines, {fates}")
        if fault is not Fault.NONE:
            assert number == len(run.words[MATH]) - len(fates) + first
        for address, content in memory:
            found = await host.read(address, content.size)
            for place, real in enumerate(found.tolist(), address):
                data.compare(real, int(core.l1[place]), f"{fmt.name}, room for {room} lines, byte {place}")


@BENCH.test("tensix_core.registers", "What an earlier kernel left must not change the next one's result")
async def every_register(frame):
    """Products behind words that fill and clear every register of both banks, use counters and semaphores at random,
    and clear every block of Dst."""
    rng = pauses.rng("registers")
    session = CoreSession(frame)
    for case in range(CASES):
        program = random_product(rng, KINDS[case % len(KINDS)], Fidelity.HIFI4, 1)
        words = with_preface(rng, CHIP, program.words)
        await session.check(replace(program, words=words), f"case {case}")


@BENCH.test("tensix_core.host", "The host waits for MOPs and for the packer, and loses nothing")
async def the_host_waits(frame):
    """MOP words and writes to L1 that come while a product runs."""
    rng = pauses.rng("host")
    spare = RESULT + 0x8000
    session = CoreSession(frame, gap=0.2)
    board = frame.scoreboard("spare", 8, output="data")
    for case in range(max(THREADS, CASES)):
        program = random_product(rng, KINDS[1], Fidelity.HIFI4, 2, place=case)
        content = np.random.default_rng(rng.getrandbits(32)).integers(0, 256, 0x400, np.uint8)
        checked = cocotb.start_soon(session.check(program, f"case {case}"))
        while not resolved(frame.dut.busy):
            await RisingEdge(frame.dut.clk)
        while not checked.done():
            session.host.configure_mops(program)
            await session.host.write(spare, content)
        await checked
        real = await session.host.read(spare, content.size)
        for place, (right, found) in enumerate(zip(content.tolist(), real.tolist(), strict=True)):
            board.compare(found, right, f"case {case}, byte {place}")


@BENCH.test("tensix_core.load_rate", "Loads of both operands share the port of L1 without a gap")
async def two_tiles_at_the_rate_of_loads(frame):
    """Two tiles along K: the cycles between their products are those of two loads, 64 bytes of L1 a cycle and two
    address cycles."""
    rng = pauses.rng("products")
    session = CoreSession(frame)
    for kind in (KINDS[0], KINDS[5]):
        run = await session.check(random_product(rng, kind, Fidelity.LOFI, 2), str(kind))
        times = run.of_opcode(MATH, MVMUL)
        assert len(times) == 2 * MVMULS
        words = 2 * tensix.unpack_cycles(kind[0]) - 2 * ADDRESS_CYCLES
        products, passes = MVMULS * CONFIG.unit.passes, CONFIG.unit.passes
        between = times[MVMULS] - times[0]
        frame.dut._log.info("%s: %d cycles from tile to tile, of which %d load words", kind, between, words)
        assert between == max(products, words), kind
        assert times[-1] - times[MVMULS] == (MVMULS - 1) * passes


@BENCH.test(
    "tensix_core.instructions",
    "Rows, phase, formats and modifiers come from the thread's counters and configuration",
    "Random instructions of the Matrix unit, moves, changes of banks and RWCs between unpacking and packing, with "
    "formats that change",
    refused=[False, True],
)
async def random_instructions(frame, refused):
    """Instructions of the Matrix unit, moves, changes of banks and RWCs with random fields; the packer stores a Dst tile. Words that
    golden refuses between them leave no trace: the bytes are those without them."""
    rng = pauses.rng("instructions")
    session = CoreSession(frame, gap=0.1)
    if refused:
        faults = frame.scoreboard("fault", Fault, output=f"fault_{MATH}")
        coverage = frame.coverage([Fault.NONE.name, Fault.WORD.name, Fault.OPERATION.name, Fault.STATE.name])
    for case in range(max(CASES, len(RANDOM_KINDS))):
        kind = RANDOM_KINDS[case % len(RANDOM_KINDS)]
        program = random_product(rng, kind, Fidelity.LOFI, 1)
        words = list(program.words[MATH])
        begin = next(place for place, word in enumerate(words) if word >> OPCODE_LOW == BY_NAME[CHIP]["REPLAY"].opcode)
        # After the modifiers and before the packer may begin.
        end = next(place for place, word in enumerate(words) if word >> OPCODE_LOW == BY_NAME[CHIP]["MOP"].opcode)
        # The banks are 0 before the first UNPACR, and the Matrix unit's before the first instruction.
        first = (encode("ZEROSRC", chip=CHIP, sources=3, both_banks=1), *program.words[0])
        loaded = 0b1100 << len(UNITS[CHIP])
        before = (*words[:begin], encode("STALLWAIT", chip=CHIP, block=EVERY, conditions=loaded))
        core = golden_core(CHIP, program)
        core.push(0, first)
        core.push(MATH, before)
        core.run()
        chosen = random_words(CHIP, core, rng, 80, dst32=kind[2], refused=0.3 if refused else 0.0)
        legal, all_of_them = (
            replace(program, words=(first, (*before, *own, *words[end + 1 :]), program.words[2]))
            for own in ([word for word, fault in chosen if fault is Fault.NONE], [word for word, _ in chosen])
        )
        if not refused:
            await session.check(legal, f"case {case}")
            continue
        run = await session.check(legal, f"case {case}", all_of_them)
        for _, fault in chosen:
            coverage.hit(fault.name)
        place, (word, right) = next((place, each) for place, each in enumerate(chosen) if each[1] is not Fault.NONE)
        fault, number = session.host.faults()[MATH]
        faults.compare(fault.value, right.value, f"case {case}, word {word:#010x}, {place} behind the first")
        assert run.words[MATH][number] == word, f"case {case}: word {number} is not the first that is refused"
        assert run.words[MATH][number - place : number] == [each for each, _ in chosen[:place]]


@BENCH.test(
    "tensix_core.refused",
    "A word that is passed over in silence would be a wrong result",
    "Instructions with fields that the core does not execute, and an unknown opcode, on all threads",
)
async def words_that_are_not_executed(frame):
    """Each instruction that a core does not execute, an unknown opcode, and a register that there is not are passed over, without
    waiting, and noted until the faults are cleared."""
    dut = frame.dut
    host, kinds = CoreHost(frame, CONFIG), frame.coverage([fault.name for fault in NOTED])
    boards = [frame.scoreboard(f"fault {thread}", Fault, output=f"fault_{thread}") for thread in range(THREADS)]
    words = [(encode(name, chip=CHIP, **fields), fault) for name, fields, fault in REFUSED]
    words += [(MVMUL << OPCODE_LOW | 1 << 20, Fault.WORD), (0xFF << OPCODE_LOW, Fault.WORD), (NOP, Fault.NONE)]
    for number, (word, right) in enumerate(words):
        thread = number % THREADS
        own = (NOP,) * (number % 4) + (word, NOP)
        run = await host.play(CoreProgram(words=tuple(own if each == thread else () for each in range(THREADS))))
        assert run.words[thread] == [*own]
        kinds.hit(right.name)
        for each, (board, (fault, place)) in enumerate(zip(boards, host.faults(), strict=True)):
            board.compare(fault.value, right.value if each == thread else 0, f"{word:#010x}")
            assert fault is Fault.NONE or place == number % 4
        dut.clear.value = 1
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        await RisingEdge(dut.clk)


@BENCH.test("tensix_core.reset", "Banks, waits and addresses from before would be another program's")
async def resets(frame):
    """Resets in the middle of a product."""
    rng = pauses.rng("products")
    session = CoreSession(frame)
    for cycles in (100, 250):
        await session.host.start(random_product(rng, KINDS[0], Fidelity.LOFI, 2), cycles)
        await session.check(random_product(rng, KINDS[1], Fidelity.HIFI2, 1), f"after a reset at {cycles}")
