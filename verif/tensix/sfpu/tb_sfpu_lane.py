"""Bench of a lane: every instruction with every modifier, the multiply-add on related operands, the cycles of results.

Expected values come from golden's scalar twin.
"""

from itertools import product
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.encodings import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import COLUMNS, LANES, WIDE_LOADS, WIDE_STORES, LaneConfig
from bitpath.golden.tensix.exact.sfpu_unit import Access, Unit, execute, execute_together
from bitpath.golden.tensix.isa import Instruction, decode, encode
from bitpath.golden.tensix.sfpu import Lanes
from bitpath.golden.tensix.sfpu.macro import LoadMacroConfig, Schedule, SubUnit
from bitpath.rtl.tensix.sfpu.layouts import ROWS, LaneState, SfpuConfig, SubUnits
from bitpath.rtl.tensix.sfpu.sfpu_lane import SHIFT, SfpuLane
from bitpath.verif.kit.packing import array_bits, pack
from bitpath.verif.kit.unit_bench import UnitBench, cases, pauses, resolved
from bitpath.verif.tensix.sfpu.driving import (
    RANDOM_AT,
    defined_lane,
    dst_mode,
    exactly,
    lane_bits,
    operation,
    operations,
    upper_row,
)
from bitpath.verif.tensix.sfpu.macros import configure
from bitpath.verif.tensix.sfpu.words import ACCESSES, any_operand, kinds, modes, random_lanes, random_word

BENCH = UnitBench(SfpuLane, SfpuConfig)
CONFIG = BENCH.config
CHIP, NUMERICS = CONFIG.chip, CONFIG.numerics
KINDS = [kind for kind in kinds(CHIP) if kind[0] != "SFPCONFIG"]
CASES = cases(500)
SPECIAL_CONFIG = 15
ACCESSES_OF_A_FORMAT = 16
"""Loads and stores of a format are these times fewer than random cases."""
DELAY_BITS = 0x38383838
"""Delays in a sequence of SFPLOADMACRO."""
BYTES = (SubUnit.SIMPLE, SubUnit.MAD, SubUnit.ROUND, SubUnit.STORE)
STACK = ("SFPPUSHC", "SFPPOPC")
"""Instructions that a full or an empty stack makes undefined."""


def name(kind: tuple[str, int]) -> str:
    return f"{kind[0]}/{kind[1]}"


def inputs(lanes: Lanes, number: int, instruction: Instruction) -> dict[str, int]:
    """Return the ports that come from other lanes and from the column's configuration."""
    row, column = divmod(number, COLUMNS)
    vc = instruction.fields.get("vc", 0)
    words = [*lanes.templates[:, number], *lanes.sequences[:, number], lanes.misc[number]]
    special = words[vc] if vc < len(words) else lanes.lane_config[number] if vc == SPECIAL_CONFIG else 0
    left = number - 1 if column else number + COLUMNS - 1
    beside = int(lanes.lreg[vc, left])
    if instruction.name == "SFPSHFT2" and instruction["mod"] == SHIFT and column == 0:
        beside = 0 if CHIP is Chip.BLACKHOLE else int(lanes.rotated[left])
    turned = [
        lanes.lreg[register - register % ROWS + row, column + COLUMNS * (register % ROWS)] for register in range(8)
    ]
    return {
        "number": number,
        "programmed": array_bits(lanes.lreg[11:15, number]),
        "lane_config": int(lanes.lane_config[number]),
        "special": int(special),
        "transposed": array_bits(np.array(turned, np.uint32)),
        "below": int(lanes.lreg[0, number + COLUMNS]) if number + COLUMNS < LANES else 0,
        "beside": beside,
    }


class Accessed:
    """Dst with one word, at the place of a lane."""

    def __init__(self, rng: Random, number: int, word: int, held: int):
        implied = rng.randrange(1, 4)
        self.mode = dst_mode(word, implied)
        self.wide = self.mode in (WIDE_STORES if word >> 24 == 0x72 else WIDE_LOADS)
        self.address = rng.randrange(512 if self.wide else 1024)
        self.row, self.column = (self.address & ~3) + number // COLUMNS, 2 * (number % COLUMNS)
        self.word = held & (0xFFFFFFFF if self.wide else 0xFFFF)
        contents = [[0] * 16 for _ in range(1024)]
        for column in range(self.column, self.column + 2):
            contents[upper_row(self.row, self.wide)][column] = self.word >> 16 if self.wide else self.word
            if self.wide:
                contents[upper_row(self.row, self.wide) + 8][column] = self.word & 0xFFFF
        self.access = Access(dst=contents, address=self.address, default_mode=implied)

    def stored(self, odd: int) -> int:
        """Return the word of Dst behind the instruction."""
        row, column = upper_row(self.row, self.wide), self.column + odd
        upper = self.access.dst[row][column]
        return upper << 16 | self.access.dst[row + 8][column] if self.wide else upper


class LaneDriver:
    """Gives instructions to the lane."""

    def __init__(self, frame):
        self.dut = frame.dut

    def set(self, **ports: Any) -> None:
        for port, value in ports.items():
            getattr(self.dut, port).value = value

    async def preset(self, bits: int) -> None:
        self.set(preset=1, preset_state=bits)
        await RisingEdge(self.dut.clk)
        self.set(preset=0)

    async def execute(self, word: int, mode: int = 0, **ports: Any) -> tuple[int, int]:
        """Give an instruction; return `store` and `stored` of its cycle."""
        self.set(operations=operations(word, CHIP, mode=mode), **ports)
        await FallingEdge(self.dut.clk)
        found = resolved(self.dut.store), resolved(self.dut.stored)
        await RisingEdge(self.dut.clk)
        self.set(operations=0)
        return found

    async def settle(self) -> int:
        """Return the state two cycles behind an instruction."""
        await RisingEdge(self.dut.clk)
        await FallingEdge(self.dut.clk)
        return defined_lane(resolved(self.dut.state))


def drawn(rng: Random, kind: tuple[str, int], number: int) -> tuple[Lanes, int, Unit, Accessed]:
    """Return lanes, an instruction, and the twin and Dst behind it."""
    while True:
        lanes = random_lanes(rng, CHIP)
        if rng.random() < 0.6:
            lanes.use_flags[:] = False
        word, unit = random_word(rng, CHIP, *kind, mirrors=False), exactly(lanes)
        accessed = Accessed(rng, number, word, any_operand(rng))
        try:
            execute(unit, decode(word, chip=CHIP), chip=CHIP, numerics=NUMERICS, access=accessed.access)
        except UndefinedBehavior:
            continue
        return lanes, word, unit, accessed


@BENCH.test(
    "sfpu_lane.instructions",
    "Every modifier has a rule of its own, also for a disabled lane and the constants' registers",
)
async def every_instruction(frame):
    """Every instruction with each modifier on random states of a random lane; words of Dst beside SFPLOAD and SFPSTORE."""
    rng, driver = pauses.rng("instructions"), LaneDriver(frame)
    board, stores = frame.scoreboard("state", LaneState), frame.scoreboard("stored", 33, output="stored")
    coverage = frame.coverage(map(name, KINDS))
    for kind in [*KINDS, *rng.choices(KINDS, k=max(0, CASES - len(KINDS)))]:
        number = rng.randrange(LANES)
        lanes, word, unit, accessed = drawn(rng, kind, number)
        instruction, config = decode(word, chip=CHIP), int(lanes.lane_config[number])
        ports = inputs(lanes, number, instruction)
        if kind[0] in ACCESSES:
            odd = accessed.address >> 1 & 1 | config >> (6 if kind[0] == "SFPLOAD" else 7) & 1
            place = accessed.row << 4 | accessed.column + odd
            ports |= {"mode": accessed.mode.value, "dst": accessed.word, "place": place}
        await driver.preset(lane_bits(exactly(lanes).lanes[number]))
        coverage.hit(name(kind))
        stores_word, stored = await driver.execute(word, **ports)
        if kind[0] == "SFPSTORE":
            expected = accessed.stored(odd)
            # A lane that does not write leaves the word that was there.
            got = stored if stores_word else accessed.word
            stores.compare(stores_word << 32 | got, stores_word << 32 | expected, str(instruction))
        board.compare(await driver.settle(), lane_bits(unit.lanes[number]), str(instruction))


@BENCH.test(
    "sfpu_lane.accesses", "A format's conversion shows in a lane that loads or stores, and random lanes mostly do not"
)
async def every_access(frame):
    """SFPLOAD and SFPSTORE in every format, also of words whose 15 low bits are all ones, with and without an infinity in FP16."""
    rng, driver = pauses.rng("accesses"), LaneDriver(frame)
    board, stores = frame.scoreboard("state", LaneState), frame.scoreboard("stored", 33, output="stored")
    kinds = [(name, mode) for name in ACCESSES for mode in modes(CHIP, name)]
    for (name, mode), _ in product(kinds, range(max(1, CASES // ACCESSES_OF_A_FORMAT))):
        number, lanes = rng.randrange(LANES), random_lanes(rng, CHIP, config=False)
        lanes.use_flags[:], lanes.lane_config[:] = False, rng.choice((0, LaneConfig.ENABLE_FP16A_INF))
        word, unit = encode(name, chip=CHIP, mod=mode, vd=rng.randrange(8)), exactly(lanes)
        instruction = decode(word, chip=CHIP)
        accessed = Accessed(rng, number, word, rng.choice((any_operand(rng), rng.getrandbits(32), 0x7FFF, 0xFFFF)))
        shown = f"{instruction} beside {accessed.word:#x}"
        execute(unit, instruction, chip=CHIP, numerics=NUMERICS, access=accessed.access)
        await driver.preset(lane_bits(exactly(lanes).lanes[number]))
        ports = inputs(lanes, number, instruction)
        stores_word, stored = await driver.execute(word, accessed.mode.value, dst=accessed.word, **ports)
        if name == "SFPSTORE":
            expected = accessed.stored(accessed.address >> 1 & 1)
            stores.compare(stores_word << 32 | stored, 1 << 32 | expected, shown)
        board.compare(await driver.settle(), lane_bits(unit.lanes[number]), shown)


class Together:
    """A cycle that SFPLOADMACRO has scheduled, with another instruction of a thread than a load or store.

    Attributes
    ----------
    lanes, unit : the state before, and behind the cycle in the scalar twin.
    operations : of a lane, by sub-unit.
    accessed : the word of Dst that a store replaces; None without one.
    """

    def __init__(self, rng: Random, number: int):
        self.lanes, self.accessed = random_lanes(rng, CHIP, config=False), None
        configure(rng, CHIP, self.lanes)
        sequences = [word & ~DELAY_BITS for word in self.lanes.sequences[:, 0].tolist()]
        templates, config = self.lanes.templates[:, 0].tolist(), int(self.lanes.lane_config[0])
        own = LoadMacroConfig(
            templates=tuple(templates),
            sequences=tuple(sequences),
            misc=int(self.lanes.misc[0]) & 0xFF,
            lane_config=config,
        )
        name = rng.choice([name for name, _ in KINDS if name not in (*ACCESSES, *STACK)])
        word = random_word(rng, CHIP, name, rng.choice(modes(CHIP, name)))
        clock, place = Schedule(CHIP), rng.randrange(4)
        fields = {"macro": place, "vd_low": rng.randrange(4), "vd_high": rng.randrange(2), "mod": rng.randrange(16)}
        clock.step(decode(encode("SFPLOADMACRO", chip=CHIP, **fields), chip=CHIP), own)
        cycle = clock.step(decode(word, chip=CHIP), own)
        self.operations, together = {}, []
        for each in cycle.executed:
            scheduled, instruction = each.origin is not None, each.instruction
            mode, text = 0, word
            if each.unit is SubUnit.STORE:
                store = encode("SFPSTORE", chip=CHIP, mod=instruction["mod"])
                self.accessed = Accessed(rng, number, store, any_operand(rng))
                mode = self.accessed.mode.value
            elif scheduled:
                text = templates[sequences[place] >> 8 * BYTES.index(each.unit) & 3]
                text = text if instruction.name != "SFPNOP" else encode("SFPNOP", chip=CHIP)
            self.operations[each.unit.value.lower()] = operation(
                instruction, text, CHIP, mode=mode, scheduled=int(scheduled)
            )
            together.append((instruction, scheduled, self.accessed and self.accessed.access))
        self.unit = exactly(self.lanes)
        execute_together(self.unit, together, chip=CHIP, numerics=NUMERICS)
        self.executed = {each.unit: each.instruction for each in cycle.executed}


@BENCH.test("sfpu_lane.cycles", "Each sub-unit has operands of its own, and LReg 16 is written beside another register")
async def every_cycle(frame):
    """Instructions of several sub-units in a cycle, with the operands that SFPLOADMACRO gives them."""
    rng, driver = pauses.rng("cycles"), LaneDriver(frame)
    board, stores = frame.scoreboard("state", LaneState), frame.scoreboard("stored", 33, output="stored")
    done = 0
    while done < CASES:
        number = rng.randrange(LANES)
        try:
            case = Together(rng, number)
        except UndefinedBehavior:
            continue
        done += 1
        idle = decode(encode("SFPNOP", chip=CHIP), chip=CHIP)
        ports = inputs(case.lanes, number, case.executed.get(SubUnit.ROUND, idle))
        ports["special"] = inputs(case.lanes, number, case.executed.get(SubUnit.SIMPLE, idle))["special"]
        await driver.preset(lane_bits(exactly(case.lanes).lanes[number]))
        driver.set(operations=pack(SubUnits, case.operations), **ports)
        await FallingEdge(frame.dut.clk)
        shown = ", ".join(map(str, case.executed.values()))
        if case.accessed is not None:
            writes, odd = resolved(frame.dut.store), case.accessed.address >> 1 & 1 | ports["lane_config"] >> 7 & 1
            got = resolved(frame.dut.stored) if writes else case.accessed.word
            stores.compare(writes << 32 | got, writes << 32 | case.accessed.stored(odd), shown)
        await RisingEdge(frame.dut.clk)
        driver.set(operations=0)
        board.compare(await driver.settle(), lane_bits(case.unit.lanes[number]), shown)


@BENCH.test("sfpu_lane.exchanges", "Each register has a write of its own in every exchange, with indices too")
async def every_exchange(frame):
    """SFPSWAP in every mode with and without indices, and SFPSHFT2 between lanes, to every register; a seed between them."""
    rng, driver, board = pauses.rng("exchanges"), LaneDriver(frame), frame.scoreboard("state", LaneState)
    kinds = [("SFPSWAP", mode) for mode in range(10)] + [("SFPSHFT2", mode) for mode in (2, 3, 4)]
    for (name, mode), vd, config in product(kinds, range(8), (0, 4, 0x104)):
        number, lanes = rng.randrange(LANES), random_lanes(rng, CHIP, config=False)
        lanes.use_flags[:], lanes.lane_config[:] = False, config
        own = {"imm": rng.randrange(256)} if name == "SFPSHFT2" else {}
        word = encode(name, chip=CHIP, mod=mode, vd=vd, vc=rng.randrange(8), **own)
        unit, seed = exactly(lanes), rng.getrandbits(32)
        driver.set(seeded=1, seed=seed)
        await RisingEdge(frame.dut.clk)
        driver.set(seeded=0)
        await FallingEdge(frame.dut.clk)
        assert resolved(frame.dut.state) >> RANDOM_AT & 0xFFFFFFFF == seed
        await RisingEdge(frame.dut.clk)
        execute(unit, decode(word, chip=CHIP), chip=CHIP, numerics=NUMERICS)
        await driver.preset(lane_bits(exactly(lanes).lanes[number]))
        await driver.execute(word, **inputs(lanes, number, decode(word, chip=CHIP)))
        shown = f"{decode(word, chip=CHIP)}, LaneConfig {config:#x}"
        board.compare(await driver.settle(), lane_bits(unit.lanes[number]), shown)


@BENCH.test(
    "sfpu_lane.multiply_add", "Cancellation, alignment and the ends of the range each meet another bit of the rounding"
)
async def multiply_adds(frame):
    """SFPMAD and its family on related operands: an addend near the product, and 23 to 28 binades from it."""
    rng, driver, board = pauses.rng("related"), LaneDriver(frame), frame.scoreboard("state", LaneState)
    names = ("SFPMAD", "SFPADD", "SFPMUL", *(("SFPMUL24",) if CHIP is Chip.BLACKHOLE else ()))
    for _ in range(max(1, CASES // LANES)):
        lanes = random_lanes(rng, CHIP, config=False)
        lanes.use_flags[:] = False
        word = encode(rng.choice(names), chip=CHIP, va=0, vb=1, vc=2, vd=6)
        unit = exactly(lanes)
        execute(unit, decode(word, chip=CHIP), chip=CHIP, numerics=NUMERICS)
        for number, lane in enumerate(exactly(lanes).lanes):
            await driver.preset(lane_bits(lane))
            await driver.execute(word)
            shown = " ".join(f"{each:#010x}" for each in lane.registers[:3])
            board.compare(await driver.settle(), lane_bits(unit.lanes[number]), f"{decode(word, chip=CHIP)}: {shown}")


@BENCH.test("sfpu_lane.latency", "A result of two cycles that comes early or late is another instruction's operand")
async def latency(frame):
    """A result of one cycle is there in the next one, that of SFPMAD in the one after; of two results for one register the younger
    one stays."""
    rng, driver, dut = pauses.rng("latency"), LaneDriver(frame), frame.dut
    board = frame.scoreboard("state", LaneState)
    multiply, inverse = encode("SFPMAD", va=0, vb=1, vc=2, vd=5), encode("SFPNOT", vc=6, vd=5)
    for words in ([inverse], [multiply], [multiply, inverse], [inverse, multiply]):
        lanes = random_lanes(rng, CHIP, config=False)
        lanes.use_flags[:] = False
        unit = exactly(lanes)
        await driver.preset(lane_bits(unit.lanes[0]))
        states = [lane_bits(unit.lanes[0])]
        for word in words:
            await driver.execute(word)
            execute(unit, decode(word), chip=CHIP, numerics=NUMERICS)
            states.append(lane_bits(unit.lanes[0]))
        await FallingEdge(dut.clk)
        done = words[-1] is inverse
        board.compare(
            defined_lane(resolved(dut.state)), states[-1 if done else -2], f"{len(words)} words, a cycle behind"
        )
        await RisingEdge(dut.clk)
        await FallingEdge(dut.clk)
        board.compare(defined_lane(resolved(dut.state)), states[-1], f"{len(words)} words, two cycles behind")
        await RisingEdge(dut.clk)


@BENCH.test("sfpu_lane.reset", "The second cycle of an instruction before a reset must not write a register")
async def resets(frame):
    """Resets behind instructions of two cycles."""
    rng, driver, dut = pauses.rng("resets"), LaneDriver(frame), frame.dut
    board = frame.scoreboard("state", LaneState)
    fresh = lane_bits(exactly(Lanes(numerics=NUMERICS)).lanes[0])
    for kind in (("SFPMAD", 0), ("SFPSWAP", 0), ("SFPSHFT2", 3), ("SFPSHFT2", 2)):
        lanes = random_lanes(rng, CHIP, config=False)
        await driver.preset(lane_bits(exactly(lanes).lanes[0]))
        await driver.execute(random_word(rng, CHIP, *kind))
        await frame.reset()
        for _ in range(2):
            await FallingEdge(dut.clk)
            board.compare(defined_lane(resolved(dut.state)), fresh, f"reset behind {name(kind)}")
            await RisingEdge(dut.clk)
