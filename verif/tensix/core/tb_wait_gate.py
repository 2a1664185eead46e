"""Bench of the wait gate: random instructions, banks, semaphores and busy units, with golden's gate in lockstep in every cycle."""

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.core.core import forget_met_waits, obstacle, semwait, stallwait
from bitpath.golden.tensix.core.state import ConfigFile, State
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.isa import Instruction
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.decode import EXECUTED, instruction_layout
from bitpath.rtl.tensix.core.wait_gate import ABSENT, SEMAPHORE_COUNT, SEMAPHORE_STATE, UNITS, Banks, WaitGate
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pack, pauses, resolved

BENCH = UnitBench(WaitGate, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(500)
IDLE = (1 << len(UNITS[CHIP])) - 1
WAITS = ("STALLWAIT", "SEMWAIT")
REPLACED = ["replaced"] if CHIP is Chip.WORMHOLE else []
"""Wormhole's SEMWAIT passes a latched wait that does not block it, and takes its place; Blackhole's waits."""
LEGAL: dict[str, dict[str, int]] = {"UNPACR_NOP": {"what": 2} if CHIP is Chip.WORMHOLE else {"pop": 2}}
"""Fields without which golden has no such instruction: an UNPACR_NOP that does nothing."""
BANK_FIELDS = {
    "UNPACR_NOP": {"what": (1, 2, 5, 7)}
    if CHIP is Chip.WORMHOLE
    else {"pop": (1, 2), "stall": (0, 1), "set_valid": (0, 1)},
    "UNPACR": {},
}
"""Values of the fields by which an instruction waits for its unpacker's bank."""
GATED = tuple(name for name in EXECUTED if name in BY_NAME[CHIP])
OTHERS = tuple(name for name in GATED if name not in WAITS)
VECTOR_CONDITION = len(UNITS[CHIP]) + Banks.as_shape().size + ABSENT


class GateTable:
    """A gate with golden in lockstep; thread 0 is the gate's."""

    def __init__(self, frame):
        self.dut, self._junk = frame.dut, pauses.rng("fields that no gate reads")
        self._opens, self._waits = frame.scoreboard("opens", 1), frame.scoreboard("waits", 1)
        self.restart()

    def restart(self) -> None:
        self.state = State(
            chip=CHIP, numerics=CHIP_PRESETS[CHIP].numerics, l1=np.zeros(16, np.uint8), config=ConfigFile(CHIP)
        )

    async def cycle(
        self, name="NOP", *, banks=0xF, idle=IDLE, vector_idle=1, values=None, offered=True, **fields
    ) -> bool:
        """Play a cycle with an instruction, which passes if it is offered and the gate opens; return whether it opens.

        ``banks`` are the bits writable and readable of both sources; ``values`` are values and maxima of the semaphores.
        """
        dut, state = self.dut, self.state
        fields = LEGAL.get(name, {}) | fields
        values = [(0, 0)] * SEMAPHORE_COUNT if values is None else values
        encoding = {each.name: 0 for each in BY_NAME[CHIP][name].fields}
        instruction = Instruction(name=name, fields=encoding | fields)
        record = {name: self._junk.getrandbits(field.width) for name, field in instruction_layout(CHIP)}
        record |= instruction.fields
        dut.instruction.value = pack(instruction_layout(CHIP), record | {"opcode": BY_NAME[CHIP][name].opcode})
        dut.banks.value = pack(Banks, {"writable": banks & 3, "readable": banks >> 2})
        dut.idle.value, dut.vector_idle.value = idle, vector_idle
        dut.semaphores.value = pack(SEMAPHORE_STATE, [{"value": value, "maximum": most} for value, most in values])
        for bit, source in enumerate((state.src_a, state.src_b)):
            source.unpacker_bank, source.matrix_bank = 0, 1
            source.owned = [not banks >> bit & 1, bool(banks >> 2 + bit & 1)]
        for each, (value, most) in zip(state.semaphores, values, strict=True):
            each.value, each.maximum = value, most
        opens = obstacle(state, 0, instruction) is None
        dut.passes.value = offered and opens
        await FallingEdge(dut.clk)
        self._opens.compare(resolved(dut.opens), int(opens), f"{instruction}, {state.waits[0]}")
        self._waits.compare(resolved(dut.waits), int(state.waits[0] is not None))
        self._forget(idle, vector_idle)
        if offered and opens and name in WAITS:
            (stallwait if name == "STALLWAIT" else semwait)(state, 0, instruction)
        await RisingEdge(dut.clk)
        return opens

    def _forget(self, idle: int, vector_idle: int) -> None:
        """Forget the wait if its conditions are met: golden's, and that units are idle."""
        wait = self.state.waits[0]
        if wait is None:
            return
        asked = wait.conditions & IDLE
        if wait.conditions == 0 and not wait.semaphores:
            asked = IDLE >> 1  # all units but the Matrix unit
        waits_for_lanes = wait.conditions >> VECTOR_CONDITION & 1 and not vector_idle
        if not (asked & ~idle or waits_for_lanes):
            forget_met_waits(self.state)


def random_wait(rng, name: str) -> dict[str, int]:
    """Return fields of a wait; some have no block bits, or no conditions."""
    fields = {"block": rng.choice([0, rng.getrandbits(9), 1 << rng.randrange(9), 0x1FF])}
    if name == "STALLWAIT":
        bits = 15 if CHIP is Chip.WORMHOLE else 12
        return fields | {"conditions": rng.choice([0, rng.getrandbits(bits), 1 << rng.randrange(bits)])}
    which = rng.choice([(0, 1), (1, 0), (1, 1)])
    chosen = rng.randrange(1, 256) & (rng.getrandbits(8) | 1) or 1
    return fields | {"semaphores": chosen, "while_zero": which[0], "at_maximum": which[1]}


def bank_fields(rng, name: str) -> dict[str, int]:
    """Return fields of an UNPACR or UNPACR_NOP; SrcB is not cleared to minus infinity."""
    fields = {field: rng.choice(values) for field, values in BANK_FIELDS[name].items()}
    return fields | {"unpacker": 0 if fields.get("what") == 5 else rng.getrandbits(1)}


@BENCH.test("wait_gate.instructions", "A gate that opens early lets a thread read what another has not written")
async def random_instructions(frame):
    """Random instructions, banks, semaphores and busy units; whether the gate opens, and whether a wait is latched,
    equal to golden's in every cycle."""
    rng = pauses.rng("instructions")
    coverage = frame.coverage(cross(["wait", "other"], ["passes", "stays"]) + REPLACED)
    table = GateTable(frame)
    for _ in range(CASES):
        name = rng.choice(WAITS if rng.random() < 0.4 else OTHERS)
        latched = table.state.waits[0] is not None
        fields = random_wait(rng, name) if name in WAITS else {}
        if name in BANK_FIELDS:
            fields = bank_fields(rng, name)
        values = [(rng.choice((0, 0, 1, 15)), rng.choice((0, 1, 2, 15))) for _ in range(SEMAPHORE_COUNT)]
        opens = await table.cycle(
            name,
            banks=rng.getrandbits(4) | rng.getrandbits(4),
            idle=IDLE if rng.random() < 0.5 else rng.getrandbits(len(UNITS[CHIP])),
            vector_idle=rng.random() < 0.7,
            values=values,
            offered=rng.random() < 0.9,
            **fields,
        )
        coverage.hit("wait" if name in WAITS else "other", "passes" if opens else "stays")
        if latched and opens and name == "SEMWAIT":
            coverage.hit("replaced")
        if rng.random() < 0.3:
            # Everything is met, so that a wait does not stay for long.
            await table.cycle(values=[(1, 15)] * SEMAPHORE_COUNT)
            await table.cycle(values=[(1, 15)] * SEMAPHORE_COUNT)


@BENCH.test("wait_gate.classes", "STALLWAIT: an instruction waits if one of its block bits is set")
async def every_class(frame):
    """Each block bit, and all of them, against each instruction; each instruction with each set of banks."""
    coverage = frame.coverage(cross(GATED, ["stays"]) + cross(OTHERS, ["passes"]))
    table = GateTable(frame)
    for bit in range(10):
        block = 1 << bit if bit < 9 else 0x1FF
        for name in GATED:
            await table.cycle("STALLWAIT", block=block, conditions=2)
            opens = await table.cycle(name, idle=0, offered=False)
            if name in OTHERS or not opens:
                coverage.hit(name, "passes" if opens else "stays")
            for _ in range(2):
                await table.cycle(offered=False)
    rng = pauses.rng("fields")
    for name in GATED:
        for banks in range(16):
            await table.cycle(name, banks=banks, offered=False)
            for _ in range(8 if name in BANK_FIELDS else 0):
                await table.cycle(name, banks=banks, offered=False, **bank_fields(rng, name))


@BENCH.test("wait_gate.conditions", "The chips number them differently")
async def every_condition(frame):
    """Each of STALLWAIT's conditions alone, unmet for some cycles."""
    table = GateTable(frame)
    units = len(UNITS[CHIP])
    for condition in range(units + 4):
        await table.cycle("STALLWAIT", block=0x1FF, conditions=1 << condition)
        unmet = ~(1 << condition)
        for _ in range(3):
            assert not await table.cycle("NOP", idle=IDLE & unmet, banks=0xF & (unmet >> units))
        assert not await table.cycle("NOP", idle=IDLE & 1 << condition, banks=1 << condition >> units)
        assert await table.cycle("NOP")
    await table.cycle("STALLWAIT", block=0x1FF, conditions=1 << VECTOR_CONDITION)
    for _ in range(3):
        assert not await table.cycle("NOP", vector_idle=0)
    assert not await table.cycle("NOP", idle=0, banks=0)
    assert await table.cycle("NOP")
    await table.cycle()


@BENCH.test("wait_gate.reset", "A wait from before would block another program")
async def resets(frame):
    """A reset forgets the wait."""
    table = GateTable(frame)
    for _ in range(2):
        await table.cycle("SEMWAIT", block=0x1FF, semaphores=1, while_zero=1)
        assert not await table.cycle("MVMUL")
        await frame.reset()
        table.restart()
        assert await table.cycle("MVMUL")
