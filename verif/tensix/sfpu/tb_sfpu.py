"""Bench of the Vector unit: every instruction with every modifier on random states, SFPLOAD and SFPSTORE, programs with the
interlock and with SFPLOADMACRO, cycles of each pair of instructions, seeds, resets.

Expected values come from golden's vectorised lanes, those of SFPLOAD and SFPSTORE from its scalar twin.
"""

from itertools import product
from random import Random

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix import Prng
from bitpath.golden.tensix.declarations.encodings import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import LANES, StoreMode
from bitpath.golden.tensix.exact.sfpu_unit import Access, Unit
from bitpath.golden.tensix.exact.sfpu_unit import execute as execute_exactly
from bitpath.golden.tensix.isa import decode, encode
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.access import immediate_of
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.rtl.tensix.sfpu.layouts import MULTIPLY_ADDS, SfpuConfig, SfpuRequest, SfpuState
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import STEPS
from bitpath.rtl.tensix.sfpu.sfpu import DstStore, Sfpu
from bitpath.verif.kit.packing import array_bits, pack
from bitpath.verif.kit.unit_bench import UnitBench, cases, pauses, resolved
from bitpath.verif.tensix.sfpu.driving import (
    Dst,
    SfpuDriver,
    defined,
    dst_mode,
    exactly,
    needs_gap,
    state_bits,
    takes_two_cycles,
)
from bitpath.verif.tensix.sfpu.macros import MacroModel, configure, draw, kernels
from bitpath.verif.tensix.sfpu.words import ACCESSES, any_operand, kinds, random_lanes, random_word

BENCH = UnitBench(Sfpu, SfpuConfig)
CONFIG = BENCH.config
CHIP, NUMERICS = CONFIG.chip, CONFIG.numerics
KINDS = [kind for kind in kinds(CHIP) if kind[0] not in ACCESSES]
CASES = cases(400)
NOP = encode("SFPNOP", chip=CHIP)
ADDRESS_AT = DstStore.as_shape()["address"].offset
LANE_MASK = (1 << LANES) - 1


def name(kind: tuple[str, int]) -> str:
    return f"{kind[0]}/{kind[1]}"


def step(lanes: Lanes, word: int) -> bool:
    """Execute a word in golden; return False if a page calls it undefined."""
    try:
        execute(lanes, decode(word, chip=CHIP), CHIP, NUMERICS)
    except UndefinedBehavior:
        return False
    return True


def drawn(rng: Random, kind: tuple[str, int]) -> tuple[Lanes, Lanes, int]:
    """Return the state before and behind an instruction, and its word."""
    while True:
        lanes, after = random_lanes(rng, CHIP), Lanes()
        after.words[:], after.bits[:] = lanes.words, lanes.bits
        word = random_word(rng, CHIP, *kind, mirrors=False)
        if step(after, word):
            return lanes, after, word


@BENCH.test(
    "sfpu.instructions", "Every modifier has a rule of its own, also for disabled lanes and the constants' registers"
)
async def every_instruction(frame):
    """Every instruction with each modifier on random states: the whole state behind it."""
    rng, driver, board = pauses.rng("instructions"), SfpuDriver(frame, CHIP), frame.scoreboard("state", SfpuState)
    coverage = frame.coverage(map(name, KINDS))
    for kind in [*KINDS, *rng.choices(KINDS, k=max(0, CASES - len(KINDS)))]:
        lanes, after, word = drawn(rng, kind)
        await driver.preset(state_bits(lanes))
        await driver.execute(word)
        coverage.hit(name(kind))
        got = defined(await driver.settle())
        if CHIP is Chip.BLACKHOLE:
            after.rotated[:] = 0
        board.compare(got, state_bits(after), str(decode(word, chip=CHIP)))


@BENCH.test(
    "sfpu.accesses",
    "Each mode has bits of its own, and LaneConfig blocks lanes and moves columns",
    mode=list(range(16)),
)
async def every_access(frame, mode):
    """SFPLOAD and SFPSTORE in every mode on random words, states and addresses."""
    rng, driver = pauses.rng("accesses"), SfpuDriver(frame, CHIP)
    board, rows = frame.scoreboard("state", SfpuState), frame.scoreboard("rows", 8 * 256, output="store")
    for number in range(max(2, CASES // 16)):
        lanes, dst = random_lanes(rng, CHIP), Dst()
        word = random_word(rng, CHIP, ACCESSES[number % 2], mode)
        address, implied = rng.randrange(512) if mode != 2 else rng.randrange(1024), rng.randrange(1, 4)
        own = dst_mode(word, implied)
        for row in (
            address & ~3,
            (address & 0x1F8) << 1 | address & 0x204,
            (address & 0x1F8) << 1 | address & 0x204 | 8,
        ):
            words = [any_operand(rng) >> rng.choice((0, 16)) & 0xFFFF for _ in range(64)]
            dst.rows[row : row + 4] = np.array(words, np.uint16).reshape(4, 16)
        if own is StoreMode.ZERO and word >> 24 == 0x70:
            dst.rows[:] = 0
        unit, contents = exactly(lanes), dst.rows.tolist()
        access = Access(dst=contents, address=address, default_mode=implied)
        execute_exactly(unit, decode(word, chip=CHIP), chip=CHIP, numerics=NUMERICS, access=access)
        await driver.preset(state_bits(lanes))
        store = await driver.execute(word, address=address, implied=implied, dst=dst.read(address, own))
        shown = f"{decode(word, chip=CHIP)}, {own.name}, address {address}"
        if word >> 24 == 0x72:
            dst.write(address, own, store)
            block = address & ~7
            upper = (block & 0x1F8) << 1 | block & 0x200
            got, expected = (
                array_bits(np.array(each[block : block + 8] + each[upper : upper + 16], np.uint16))
                for each in (dst.rows.tolist(), contents)
            )
            rows.compare(got, expected, shown)
        lanes.lreg[:16] = np.array([lane.registers[:16] for lane in unit.lanes], np.uint32).T
        lanes.templates[:] = np.array([lane.templates for lane in unit.lanes], np.uint32).T
        got = defined(await driver.settle())
        if CHIP is Chip.BLACKHOLE:
            lanes.rotated[:] = 0
        board.compare(got, state_bits(lanes), shown)


@BENCH.test(
    "sfpu.programs", "A result of two cycles must be there for the instruction that may read it", pace=["full", "gaps"]
)
async def programs(frame, pace):
    """Streams of instructions from a random state, at full speed and with gaps; software leaves the cycles free that it has to."""
    rng, driver, board = pauses.rng(f"programs {pace}"), SfpuDriver(frame, CHIP), frame.scoreboard("state", SfpuState)
    plain = [kind for kind in KINDS if kind[0] not in ("SFPCONFIG",)]
    for _ in range(max(2, CASES // 40)):
        lanes = random_lanes(rng, CHIP, config=False)
        await driver.preset(state_bits(lanes))
        words = []
        while len(words) < 40:
            word = random_word(rng, CHIP, *rng.choice(plain))
            if rng.random() < 0.5:
                word = random_word(rng, CHIP, rng.choice(("SFPMAD", "SFPADDI", "SFPSWAP", "SFPMOV", "SFPXOR")), 0)
            if step(lanes, word):
                words.append(word)
        for word in words:
            if pace == "gaps" and rng.random() < 0.5:
                await RisingEdge(frame.dut.clk)
            await driver.execute(word)
        got = defined(await driver.settle())
        if CHIP is Chip.BLACKHOLE:
            lanes.rotated[:] = 0
        board.compare(got, state_bits(lanes), f"program that ends with {decode(words[-1], chip=CHIP)}")


def unit_bits(unit: Unit) -> int:
    """Return the state of the scalar twin."""
    lanes = Lanes()
    lanes.lreg[:] = np.array([lane.registers for lane in unit.lanes], np.uint32).T
    lanes.templates[:], lanes.sequences[:] = (
        np.array([getattr(lane, name) for lane in unit.lanes], np.uint32).T for name in ("templates", "sequences")
    )
    for lane, number in zip(unit.lanes, range(LANES), strict=True):
        lanes.flags[number], lanes.use_flags[number], lanes.depth[number] = lane.flag, lane.conditional, len(lane.stack)
        lanes.prng[number], lanes.lane_config[number], lanes.misc[number] = lane.random, lane.config, lane.misc
        for entry, values in enumerate(lane.stack):
            for each, value in zip(lanes.stack, values, strict=True):
                each[entry, number] = value
    lanes.rotated[:] = 0 if CHIP is Chip.BLACKHOLE else unit.rotated
    return state_bits(lanes)


@BENCH.test(
    "sfpu.macros",
    "Instructions that SFPLOADMACRO schedules meet the thread's in the cycle of their delay, or another bit",
)
async def macros(frame):
    """Random SFPLOADMACROs in flight among other instructions, loads and stores: the cycles in which the unit takes an instruction,
    words of Dst in the cycles of the stores, the state at the end."""
    rng, driver, dut = pauses.rng("macros"), SfpuDriver(frame, CHIP), frame.dut
    board, rows = frame.scoreboard("state", SfpuState), frame.scoreboard("rows", 128 * 256, output="store")
    ready, stores = frame.scoreboard("ready", 1, output="i__ready"), frame.scoreboard("stores", 1, output="store")
    for program in range(max(6, CASES // 60)):
        lanes, dst, implied = random_lanes(rng, CHIP, config=False), Dst(), rng.randrange(1, 4)
        configure(rng, CHIP, lanes)
        dst.rows[:128] = np.array([any_operand(rng) >> rng.choice((0, 16)) & 0xFFFF for _ in range(2048)]).reshape(
            128, 16
        )
        await driver.preset(state_bits(lanes))
        model = MacroModel(exactly(lanes), dst.rows.tolist(), implied, CHIP, NUMERICS)
        instruction, before, left = None, None, 40
        while left > 0 or model.pending or instruction is not None:
            if instruction is None:
                word = draw(rng, model, before) if left > 0 else NOP
                instruction = None if word is None else decode(word, chip=CHIP)
                left -= 1
            shown = f"program {program}, {40 - left} words, {instruction}"
            dut.i__valid.value = instruction is not None
            if instruction is not None:
                address = immediate_of(instruction) if "address" in instruction.fields else 0
                request = {"word": word, "address": address, "implied": implied}
                dut.i__payload.value, dut.dst.value = (
                    pack(SfpuRequest, request),
                    dst.read(address, dst_mode(word, implied)),
                )
            cycle, stored = model.step(instruction)
            await FallingEdge(dut.clk)
            if instruction is not None:
                ready.compare(resolved(dut.i__ready), cycle.accepted, shown)
            port = resolved(dut.store)
            if stored is not None:
                dst.write(port >> ADDRESS_AT & 0x3FF, StoreMode(stored.mode), port)
            else:
                stores.compare(port & LANE_MASK != 0, 0, shown)
            before = instruction if cycle.accepted else None
            if cycle.accepted:
                instruction = None
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        board.compare(defined(resolved(dut.state)), unit_bits(model.unit), f"program {program}")
        got, expected = (array_bits(np.array(each[:128], np.uint16)) for each in (dst.rows.tolist(), model.dst))
        rows.compare(got, expected, f"program {program}")
        await RisingEdge(dut.clk)


@BENCH.test("sfpu.kernels", "Published kernels use the delays as hardware has them", kernel=sorted(kernels(CHIP)))
async def published_kernels(frame, kernel):
    """Kernels with SFPLOADMACRO on random words, against golden on their forms without it."""
    rng, driver, dut, own = pauses.rng(f"kernels {kernel}"), SfpuDriver(frame, CHIP), frame.dut, kernels(CHIP)[kernel]
    rows = frame.scoreboard("rows", 64 * 256, output="store")
    for _ in range(max(1, CASES // 300)):
        dst = Dst()
        dst.rows[:64] = np.array([rng.choice((0, 0x8000, rng.getrandbits(16))) for _ in range(1024)]).reshape(64, 16)
        unit, contents = exactly(Lanes()), dst.rows.tolist()
        for word in own.plain:
            instruction = decode(word, chip=CHIP)
            access = Access(dst=contents, address=instruction.fields.get("address", 0), default_mode=own.implied)
            execute_exactly(unit, instruction, chip=CHIP, numerics=NUMERICS, access=access)
        await driver.preset(state_bits(Lanes()))
        for word in (*own.words, *[NOP] * 8):
            instruction = decode(word, chip=CHIP)
            address = immediate_of(instruction) if "address" in instruction.fields else 0
            dut.i__payload.value = pack(SfpuRequest, {"word": word, "address": address, "implied": own.implied})
            dut.i__valid.value, dut.dst.value = 1, dst.read(address, dst_mode(word, own.implied))
            await FallingEdge(dut.clk)
            assert resolved(dut.i__ready)
            port = resolved(dut.store)
            if port & LANE_MASK:
                dst.write(port >> ADDRESS_AT & 0x3FF, StoreMode(own.store), port)
            await RisingEdge(dut.clk)
        dut.i__valid.value = 0
        got, expected = (array_bits(np.array(each[:64], np.uint16)) for each in (dst.rows.tolist(), contents))
        rows.compare(got, expected, kernel)


def stalls(before: int, word: int) -> bool:
    """Return whether hardware delays an instruction behind another one by a cycle."""
    first, second = (decode(each, chip=CHIP) for each in (before, word))
    if second.name == "SFPNOP":
        return False
    if first.name == "SFPSWAP" or (CHIP is Chip.BLACKHOLE and first.name == "SFPSHFT2" and first["mod"] in (2, 3, 4)):
        return True
    return CHIP is Chip.BLACKHOLE and first.name in MULTIPLY_ADDS and reads(second, first["vd"])


def reads(instruction, register: int) -> bool:
    """Return whether Blackhole's interlock believes that an instruction of modifier 0 reads a register."""
    fields = instruction.fields
    match instruction.name:
        case "SFPMAD" | "SFPADD" | "SFPMUL" | "SFPMUL24":
            return register in (fields["va"], fields["vb"], fields["vc"])
        case "SFPADDI" | "SFPMULI" | "SFPSTORE" | "SFPLOADI":
            return register == fields["vd"]
        case "SFP_STOCH_RND" | "SFPARECIP":
            return register in (fields["vb"], fields["vc"])
        case "SFPAND" | "SFPOR" | "SFPXOR" | "SFPSETEXP" | "SFPSETMAN" | "SFPSETSGN" | "SFPLE" | "SFPGT" | "SFPSWAP":
            return register in (fields["vc"], fields["vd"])
        case "SFPLUT" | "SFPSHFT2":
            return register < 4
        case "SFPLUTFP32":
            return register < 7
        case "SFPTRANSP":
            return True
        case "SFPCONFIG" | "SFPLOAD" | "SFPENCC" | "SFPPUSHC" | "SFPPOPC" | "SFPCOMPC":
            return False
    return register == fields["vc"]


@BENCH.test("sfpu.issue", "A stall too few reads a register too early, one too many costs a kernel a cycle")
async def every_pair(frame):
    """Every instruction of modifier 0 behind those of two cycles: hardware waits for a cycle, or does not, as the pages say."""
    rng, dut = pauses.rng("issue"), frame.dut
    board = frame.scoreboard("ready", 1, output="i__ready")
    driver = SfpuDriver(frame, CHIP)
    names = sorted({kind[0] for kind in kinds(CHIP)})
    firsts = [(each, 0) for each in (*MULTIPLY_ADDS, "SFPSWAP") if each in names] + [("SFPSHFT2", 3), ("SFPXOR", 0)]
    for (first, mode), second in product(firsts, names):
        for _ in range(2):
            before, word = random_word(rng, CHIP, first, mode), random_word(rng, CHIP, second, 0)
            if decode(before, chip=CHIP)["vd"] > 7:
                continue
            await driver.preset(state_bits(Lanes()))
            await driver.execute(before)
            dut.i__payload.value, dut.i__valid.value = word, 1
            await FallingEdge(dut.clk)
            board.compare(
                resolved(dut.i__ready), not stalls(before, word), f"{second} behind {first}: {before:#x}, {word:#x}"
            )
            dut.i__valid.value = 0
            await driver.settle()


@BENCH.test("sfpu.seeds", "Random numbers of all lanes come from one seed, and no instruction may use the old ones")
async def seeds(frame):
    """States of all lanes behind seeds; no instruction is taken meanwhile."""
    rng, dut = pauses.rng("seeds"), frame.dut
    board = frame.scoreboard("state", SfpuState)
    lanes = Lanes(numerics=NUMERICS)
    for seed in (0, 1, 0xFFFFFFFF, rng.getrandbits(32)):
        dut.seed__valid.value, dut.seed__payload.value = 1, seed
        await RisingEdge(dut.clk)
        dut.seed__valid.value, dut.i__valid.value, dut.i__payload.value = 0, 1, NOP
        for _ in range(STEPS):
            await FallingEdge(dut.clk)
            assert not resolved(dut.i__ready)
            assert resolved(dut.busy)
            await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        assert resolved(dut.i__ready)
        assert not resolved(dut.busy)
        lanes.prng[:] = Prng(seed).state
        board.compare(defined(resolved(dut.state)), state_bits(lanes), f"seed {seed:#010x}")
        await RisingEdge(dut.clk)
        dut.i__valid.value = 0


@BENCH.test("sfpu.reset", "The second cycle of an instruction before a reset must not write a register")
async def resets(frame):
    """Resets behind instructions of two cycles: the state is that of a reset."""
    rng, driver, dut = pauses.rng("resets"), SfpuDriver(frame, CHIP), frame.dut
    board, fresh = frame.scoreboard("state", SfpuState), state_bits(Lanes(numerics=NUMERICS))
    for kind in (("SFPMAD", 0), ("SFPSWAP", 0), ("SFPSHFT2", 3), ("SFPSHFT2", 2), ("SFPLUTFP32", 0)):
        await driver.preset(state_bits(random_lanes(rng, CHIP)))
        await driver.execute(random_word(rng, CHIP, *kind))
        await frame.reset()
        for _ in range(3):
            await FallingEdge(dut.clk)
            board.compare(defined(resolved(dut.state)), fresh, f"reset behind {name(kind)}")
            await RisingEdge(dut.clk)


@BENCH.test(
    "sfpu.hazards",
    "Wormhole has no interlock: its software contract is that the register is as it was",
    skip=CHIP is Chip.BLACKHOLE,
)
async def early_reads(frame):
    """SFPMOV in the cycle behind an SFPMAD finds the register as it was."""
    rng, driver, board = pauses.rng("hazards"), SfpuDriver(frame, CHIP), frame.scoreboard("state", SfpuState)
    for _ in range(10):
        lanes = random_lanes(rng, CHIP, config=False)
        await driver.preset(state_bits(lanes))
        product_word = encode("SFPMAD", va=0, vb=1, vc=2, vd=5)
        move = encode("SFPMOV", vc=5, vd=6)
        assert needs_gap(CHIP, product_word, move)
        assert takes_two_cycles(product_word)
        step(lanes, move)
        step(lanes, product_word)
        await driver.execute(product_word)
        driver.forget()
        await driver.execute(move)
        board.compare(defined(await driver.settle()), state_bits(lanes), "SFPMAD, SFPMOV")
