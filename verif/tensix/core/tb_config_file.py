"""Bench of the configuration file: random instructions of three threads with golden in lockstep, all fields compared in every cycle."""

from copy import deepcopy

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.core.core import rmwcib, setc16, setdmareg, wrcfg
from bitpath.golden.tensix.core.state import ConfigFile as GoldenFile
from bitpath.golden.tensix.core.state import State, UndefinedBehavior
from bitpath.golden.tensix.declarations.encodings import BY_NAME, FIELDS, REGISTERS, THREAD_FIELDS, THREAD_REGISTERS
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS
from bitpath.golden.tensix.isa import Instruction
from bitpath.rtl.tensix.core.config import ChipConfig
from bitpath.rtl.tensix.core.config_file import (
    BANKS,
    THREADS,
    ConfigFile,
    config_layout,
    held_thread_fields,
    known_bits,
    thread_config_layout,
    written_by,
)
from bitpath.rtl.tensix.core.decode import instruction_layout
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved, width

BENCH = UnitBench(ConfigFile, ChipConfig)
CONFIG = BENCH.config
CHIP = CONFIG.chip
CASES = cases(100)
KNOWN, KNOWN_OWN = known_bits(FIELDS[CHIP]), known_bits(THREAD_FIELDS[CHIP])
EXECUTE = {"SETDMAREG": setdmareg, "WRCFG": wrcfg, "SETC16": setc16} | {f"RMWCIB{byte}": rmwcib for byte in range(4)}


def _golden_file() -> GoldenFile:
    """Return golden's registers with the fields that RTL has."""
    return GoldenFile(CHIP, FIELDS[CHIP], THREAD_FIELDS[CHIP])


class FileTable:
    """A file with golden in lockstep."""

    def __init__(self, frame):
        self.dut, self._rng = frame.dut, pauses.rng("junk")
        self._shared = frame.scoreboard("shared", width(config_layout(CHIP)) * BANKS)
        self._own = frame.scoreboard("own", width(thread_config_layout(CHIP)) * THREADS)
        self._writes = frame.scoreboard("write", 25, output="write")
        self._illegal = frame.scoreboard("illegal", 1)
        self.state = State(
            chip=CHIP, numerics=CHIP_PRESETS[CHIP].numerics, l1=np.zeros(16, np.uint8), config=_golden_file()
        )

    def restart(self) -> None:
        """Reset the registers; the GPRs stay."""
        self.state.config = _golden_file()

    def _fields(self) -> tuple[int, int]:
        """Return both outputs as golden has them."""
        file, shared, own = self.state.config, [], []
        for bank in range(BANKS):
            fields = {
                name: [(file.registers[bank][each.register] & each.mask) >> each.low for each in places]
                for name, places in FIELDS[CHIP].items()
                if places
            }
            shared.append(pack(config_layout(CHIP), fields))
        for thread in range(THREADS):
            fields = {
                name: [(file.thread_registers[thread][each.register] & each.mask) >> each.low for each in places]
                for name, places in held_thread_fields(CHIP).items()
                if places
            }
            own.append(pack(thread_config_layout(CHIP), fields))
        sizes = width(config_layout(CHIP)), width(thread_config_layout(CHIP))
        return tuple(
            sum(each << size * place for place, each in enumerate(parts))
            for parts, size in zip((shared, own), sizes, strict=True)
        )

    async def cycle(self, thread: int = 0, name: str | None = None, **fields: int) -> bool:
        """Play a cycle with an instruction or none; return whether it was legal."""
        dut, layout = self.dut, instruction_layout(CHIP)
        bits, legal = self._rng.getrandbits(width(written_by(CHIP))), True
        if name is not None:
            record = dict.fromkeys(layout.members, 0) | fields | {"opcode": BY_NAME[CHIP][name].opcode}
            bits = pack(written_by(CHIP), {"thread": thread, "instruction": record})
        dut.i__valid.value, dut.i__payload.value = name is not None, bits
        await FallingEdge(dut.clk)
        for board, right, real in zip((self._shared, self._own), self._fields(), (dut.shared, dut.own), strict=True):
            board.compare(resolved(real), right)
        if name is not None:
            before = deepcopy((self.state.config.registers, self.state.config.thread_registers))
            encoding = {each.name: 0 for each in BY_NAME[CHIP][name].fields}
            try:
                EXECUTE[name](self.state, thread, Instruction(name=name, fields=encoding | fields))
            except (UndefinedBehavior, ValueError):
                legal = False
                self.state.config.registers, self.state.config.thread_registers = before
        self._illegal.compare(resolved(dut.illegal), int(not legal))
        if name == "SETC16" and legal:
            self._writes.compare(
                resolved(dut.write__payload) | resolved(dut.write__valid) << 24,
                fields["register"] | fields["value"] << 8 | 1 << 24,
            )
        await RisingEdge(dut.clk)
        return legal

    async def set_gpr(self, thread: int, number: int, value: int) -> None:
        """Write both halves of a GPR."""
        for half in range(2):
            part = value >> 16 * half & 0xFFFF
            halves = {"value_low": part & 0x3FFF, "value_high": part >> 14}
            await self.cycle(thread, "SETDMAREG", half_register=2 * number + half, **halves)


@BENCH.test("config_file.registers", "A register written in the other bank would be another thread's")
async def every_register(frame):
    """All ones and zeros in each register by WRCFG, by each RMWCIB and by SETC16, in both banks and of each thread; all
    fields compared in every cycle."""
    table = FileTable(frame)
    for bank, thread in ((0, 1), (1, 2)):
        await table.cycle(thread, "SETC16", register=0, value=bank)
        for register, known in KNOWN.items():
            await table.set_gpr(thread, register % 64, known)
            await table.cycle(thread, "WRCFG", gpr=register % 64, register=register)
            for byte in range(4):
                if register < 256:
                    fields = {"register": register, "mask": known >> 8 * byte & 0xFF, "data": 0}
                    await table.cycle(thread, f"RMWCIB{byte}", **fields)
    for thread in range(THREADS):
        for register, known in KNOWN_OWN.items():
            for value in (known, 0):
                await table.cycle(thread, "SETC16", register=register, value=value)
    await table.cycle()


@BENCH.test("config_file.random", "An illegal instruction must be noted and write nothing")
async def random_instructions(frame):
    """Random instructions of three threads, WRCFG of 128 bits, legal and illegal."""
    rng = pauses.rng("instructions")
    kinds = ("WRCFG", "WRCFG wide", "RMWCIB", "SETC16")
    coverage = frame.coverage([f"{kind} {what}" for kind in kinds for what in ("legal", "illegal")])
    table = FileTable(frame)

    def value_of(register: int, known: dict[int, int], bits: int) -> int:
        return rng.getrandbits(bits) & (known.get(register, 0) if rng.random() < 0.7 else -1)

    for _ in range(max(CASES, 150)):
        thread, kind = rng.randrange(THREADS), rng.choice(kinds)
        register = rng.choice([*KNOWN]) if rng.random() < 0.9 else rng.randrange(min(REGISTERS[CHIP] + 8, 256))
        if kind == "SETC16":
            own = rng.choice([*KNOWN_OWN]) if rng.random() < 0.9 else rng.randrange(THREAD_REGISTERS[CHIP] + 4)
            legal = await table.cycle(thread, "SETC16", register=own, value=value_of(own, KNOWN_OWN, 16))
        elif kind == "RMWCIB":
            byte, mask = rng.randrange(4), rng.getrandbits(8) | rng.choice((0, 0xFF))
            data = value_of(register, KNOWN, 32) >> 8 * byte & 0xFF
            legal = await table.cycle(thread, f"RMWCIB{byte}", register=register, mask=mask, data=data)
        else:
            gpr, wide = rng.randrange(64), kind == "WRCFG wide"
            for lane in range(4 if wide else 1):
                target = register & ~3 | lane if wide else register
                number = gpr & ~3 | lane if wide else gpr
                await table.set_gpr(thread, number, value_of(target, KNOWN, 32))
            legal = await table.cycle(thread, "WRCFG", gpr=gpr, register=register, wide=int(wide))
        coverage.hit(f"{kind} {'legal' if legal else 'illegal'}")
        if rng.random() < 0.2:
            await table.cycle()
    await table.cycle()


@BENCH.test("config_file.reset", "A field from before would be another program's")
async def resets(frame):
    """Resets: registers become 0, GPRs stay."""
    table = FileTable(frame)
    register, known = next(iter(KNOWN.items()))
    for _ in range(2):
        await table.set_gpr(1, 5, known)
        await table.cycle(1, "WRCFG", gpr=5, register=register)
        await table.cycle(1, "SETC16", register=1, value=5)
        await table.cycle()
        await frame.reset()
        table.restart()
        await table.cycle()
        await table.cycle(1, "WRCFG", gpr=5, register=register)
        await table.cycle()
