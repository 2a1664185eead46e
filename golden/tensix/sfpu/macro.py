"""SFPLOADMACRO's scheduling: which instructions the sub-units execute in each cycle, with which operands. It computes nothing.

The unit takes an instruction a cycle from a thread. SFPLOADMACRO loads, and schedules at most one instruction for each of four
sub-units::

    sequence of a macro     store 31:24 | round 23:16 | MAD 15:8 | simple 7:0
    bits of a sub-unit      7 the loaded register is VB (else VC); of a store: VD stays
                            6 VD is LReg 16 (else the loaded register)
                            5:3 delay d: it executes d + 1 cycles later
                            2:0 0 nothing, 2 SFPNOP, 3 SFPSTORE, 4 to 7 template 0 to 3
    misc                    units that count issued instructions 11:8 | macros that store in the load's mode 7:4 | store mode 3:0

Every instruction of a cycle reads the state before it. A scheduled instruction displaces the thread's at the same sub-unit. A
byte of a sequence, even one that schedules nothing, displaces the one that the sub-unit has for the same cycle; only a delay of
7 does not. The pages leave open how instructions that write one register in a cycle end, and the hazards of instructions of two
cycles: both are refused.

Ref: tt-isa-documentation, SFPLOADMACRO and VectorUnit, of both chips; SFPMAD, SFPSWAP, SFPSHFT2 for hazards and stalls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from bitpath.golden.scalar.checked import check_length, checked, integer
from bitpath.golden.tensix.declarations.encodings import BY_OPCODE, OPCODE_LOW, UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import (
    CONFIG_BITS,
    FIRST_TEMPLATE,
    GENERAL,
    MISC_BITS,
    PROGRAMMED,
    SCHEDULED,
    TEMPLATES,
    LaneConfig,
)
from bitpath.golden.tensix.isa.words import Instruction, decode


class SubUnit(Enum):
    """Sub-units of the Vector unit, the load unit first, the others in the order of a sequence's bytes."""

    LOAD = "load"
    SIMPLE = "simple"
    MAD = "MAD"
    ROUND = "round"
    STORE = "store"


_NAMES = {
    SubUnit.LOAD: "SFPLOAD SFPLOADI SFPLOADMACRO SFPNOP",
    SubUnit.SIMPLE: (
        "SFPABS SFPAND SFPARECIP SFPCAST SFPCOMPC SFPCONFIG SFPDIVP2 SFPENCC SFPEXEXP SFPEXMAN SFPGT SFPIADD SFPLE SFPLZ "
        "SFPMOV SFPNOT SFPOR SFPPOPC SFPPUSHC SFPSETCC SFPSETEXP SFPSETMAN SFPSETSGN SFPSHFT SFPSWAP SFPTRANSP SFPXOR"
    ),
    SubUnit.MAD: "SFPADD SFPADDI SFPLUT SFPLUTFP32 SFPMAD SFPMUL SFPMUL24 SFPMULI",
    SubUnit.ROUND: "SFPSHFT2 SFP_STOCH_RND",
    SubUnit.STORE: "SFPSTORE",
}
UNIT_OF = {name: unit for unit, names in _NAMES.items() for name in names.split()}
"""Sub-unit of each instruction of a thread."""
SCHEDULING = tuple(SubUnit)[1:]
"""Sub-units for which SFPLOADMACRO schedules."""
NOP = Instruction(name="SFPNOP", fields={})


@dataclass(frozen=True, kw_only=True)
class LoadMacroConfig:
    """Configuration that an SFPLOADMACRO reads, the same in all lanes.

    Attributes
    ----------
    templates : 4 words, instructions of any sub-unit.
    sequences : 4 words, of macros 0 to 3.
    misc : 12 bits.
    lane_config : LaneConfig, 18 bits.

    Raises
    ------
    TypeError, ValueError : another number of words, too large a word.
    """

    templates: tuple[int, ...]
    sequences: tuple[int, ...]
    misc: int
    lane_config: int = 0

    def __post_init__(self) -> None:
        for name in ("templates", "sequences"):
            check_length(name, getattr(self, name), TEMPLATES)
            for place, word in enumerate(getattr(self, name)):
                integer(f"{name}[{place}]", word, range(1 << 32))
        integer("misc", self.misc, range(1 << MISC_BITS))
        integer("lane_config", self.lane_config, range(1 << CONFIG_BITS))


@dataclass(frozen=True, kw_only=True)
class Executed:
    """An instruction that a sub-unit executes.

    Attributes
    ----------
    instruction : with the operands that it reads and writes: a scheduled one may have `vb` and `vc` that its encoding lacks,
        and a `vd` of 16.
    origin : cycle of the SFPLOADMACRO that scheduled it, whose address a scheduled SFPSTORE has; None for a thread's.
    """

    unit: SubUnit
    instruction: Instruction
    origin: int | None = None


@dataclass(frozen=True, kw_only=True)
class Cycle:
    """A cycle of the sub-units.

    Attributes
    ----------
    number : from 0.
    executed : in the order of the sub-units; all read the state before the cycle.
    accepted : the thread's instruction was issued; else it waits for the next cycle.
    """

    number: int
    executed: tuple[Executed, ...]
    accepted: bool


@dataclass
class _Pending:
    """A scheduled instruction, the rest of its delay, and whether it counts issued instructions instead of cycles."""

    executed: Executed
    delay: int
    counts_instructions: bool


class Schedule:
    """The clock of the sub-units: each `step` is a cycle, and takes the instruction that a thread issues."""

    @checked
    def __init__(self, chip: Chip):
        self.chip = chip
        self.number = 0
        self._pending: list[_Pending] = []
        self._before: tuple[Executed, ...] = ()
        self._config_before: LoadMacroConfig | None = None
        """Instructions of the cycle before, and its configuration."""

    @property
    def pending(self) -> bool:
        """True if scheduled instructions wait."""
        return bool(self._pending)

    @property
    def waits(self) -> bool:
        """True if all scheduled instructions wait until a thread issues others."""
        by_instructions = any(each.counts_instructions for each in self._pending)
        return by_instructions and all(each.delay for each in self._pending)

    @checked
    def step(self, instruction: Instruction | None, config: LoadMacroConfig) -> Cycle:
        """Advance by a cycle.

        Parameters
        ----------
        instruction : a Vector unit instruction that a thread offers, or None.
        config : before the cycle.

        Raises
        ------
        UndefinedBehavior : a sequence, an operand, or instructions of neighbouring cycles that the pages leave undefined or open.
        ValueError : an instruction of another unit.
        """
        if instruction is not None and instruction.name not in UNIT_OF:
            raise ValueError(f"instruction must be the Vector unit's, not {instruction.name}")
        due = [each for each in self._pending if each.delay == 0]
        self._pending = [each for each in self._pending if each.delay]
        executed = [each.executed for each in due]
        accepted = instruction is not None and not self._stalls(instruction, config)
        if accepted:
            executed += self._issued(instruction, executed, config)
        executed.sort(key=lambda each: tuple(SubUnit).index(each.unit))
        _check_cycle(executed, config)
        self._check_hazards(_busy(executed, config), config)
        self._count(due, accepted)
        if accepted and instruction.name == "SFPLOADMACRO":
            self._schedule(instruction, config)
        self._before, self._config_before = tuple(executed), config
        cycle = Cycle(number=self.number, executed=self._before, accepted=accepted)
        self.number += 1
        return cycle

    def _issued(self, instruction: Instruction, due: list[Executed], config: LoadMacroConfig) -> list[Executed]:
        """Return the thread's instruction, unless a scheduled one displaces it."""
        unit = UNIT_OF[instruction.name]
        if unit not in {each.unit for each in due}:
            return [Executed(unit=unit, instruction=instruction)]
        if _becomes_template(instruction, config):
            raise UndefinedBehavior(f"{instruction.name} must not become a template when its sub-unit is busy")
        return []

    def _count(self, due: list[_Pending], issued: bool) -> None:
        """Count down the delays by an issued instruction, or by a cycle if no pending instruction counts instructions."""
        by_instructions = any(each.counts_instructions for each in self._pending)
        if not issued and not by_instructions and self._pending and any(each.counts_instructions for each in due):
            raise UndefinedBehavior("a thread must issue where the last instruction that counts instructions executes")
        if issued or not by_instructions:
            for each in self._pending:
                each.delay -= 1

    def _schedule(self, macro: Instruction, config: LoadMacroConfig) -> None:
        sequence = config.sequences[macro["macro"]]
        for place, unit in enumerate(SCHEDULING):
            bits = sequence >> 8 * place & 0xFF
            delay = bits >> 3 & 7
            self._pending = [each for each in self._pending if (each.executed.unit, each.delay) != (unit, delay)]
            if bits & 7 == 0:
                continue
            instruction = _scheduled(macro, unit, bits, config, self.chip)
            executed = Executed(unit=unit, instruction=instruction, origin=self.number)
            counts = bool(config.misc >> 8 + place & 1)
            self._pending.append(_Pending(executed=executed, delay=delay, counts_instructions=counts))

    def _stalls(self, instruction: Instruction, config: LoadMacroConfig) -> bool:
        """True if the hardware delays a thread's instruction by a cycle because of the thread's instruction before."""
        if instruction.name == "SFPNOP":
            return False
        blackhole = self.chip is Chip.BLACKHOLE
        for unit, each in _busy([each for each in self._before if each.origin is None], self._config_before).items():
            if each.name == "SFPSWAP" or (blackhole and _moves_lanes(each)):
                return True
            if blackhole and unit is SubUnit.MAD and not _becomes_template(instruction, config):
                return bool(_stall_writes(each) & _stall_reads(instruction))
        return False

    def _check_hazards(self, busy: dict[SubUnit, Instruction], config: LoadMacroConfig) -> None:
        """Raise UndefinedBehavior if a two-cycle instruction of the cycle before conflicts with one of this cycle."""
        for earlier in _busy(self._before, self._config_before).values():
            if not _takes_two_cycles(earlier):
                continue
            late = list(busy.values())
            if _moves_lanes(earlier):
                if self.chip is Chip.WORMHOLE:
                    late = [each for each in late if each.name in _AFTER_SHUFFLE and not _moves_lanes(each)]
            else:
                swaps = earlier.name == "SFPSWAP"
                late = [busy[unit] for unit in (SubUnit.SIMPLE, SubUnit.ROUND) if swaps and unit in busy]
            if late:
                raise UndefinedBehavior(f"{late[0].name} must not execute in the cycle after {earlier.name}")
            written = _writes(earlier, self._config_before) - {RANDOM}
            early = {0} if earlier.name == "SFPSHFT2" and earlier["mod"] == 2 else set()
            for later in busy.values():
                clash = written & _reads(later, self.chip)
                if not _takes_two_cycles(later):
                    clash |= (written - early) & _writes(later, config)
                if clash:
                    what = f"LReg {min(clash)} in the cycle after {earlier.name}, which writes it"
                    raise UndefinedBehavior(f"{later.name} must not use {what}")


@checked
def schedule(words: Sequence[int], config: LoadMacroConfig, *, chip: Chip) -> list[Cycle]:
    """Return the cycles of a stream of one thread, a word a cycle, and the cycles after it in which scheduled instructions execute.

    A word of another unit takes a cycle. The configuration is that of the whole stream. Instructions that still wait for others
    of the thread at the end are left out.

    Raises
    ------
    UndefinedBehavior, ValueError : as `Schedule.step`, and words that `tensix.isa.decode` refuses.
    """
    clock, cycles = Schedule(chip), []
    for word in words:
        instruction = decode(word, chip=chip)
        offered = instruction if instruction.name in UNIT_OF else None
        cycles.append(clock.step(offered, config))
        while offered is not None and not cycles[-1].accepted:
            cycles.append(clock.step(offered, config))
    while clock.pending and not clock.waits:
        cycles.append(clock.step(None, config))
    return cycles


# Operands of scheduled instructions.


def loaded_register(macro: Instruction) -> int:
    """Return the LReg that an SFPLOADMACRO loads, 0 to 7."""
    return macro["vd_high"] << 2 | macro["vd_low"]


def _scheduled(macro: Instruction, unit: SubUnit, bits: int, config: LoadMacroConfig, chip: Chip) -> Instruction:
    """Return the instruction that a byte of a sequence schedules, with its operands."""
    loaded = loaded_register(macro)
    name, fields = _template(unit, bits & 7, config, chip)
    if unit is SubUnit.STORE:
        own_mode = config.misc >> 4 + macro["macro"] & 1
        fields["mod"] = macro["mod"] if own_mode else config.misc & 0xF
        # Bit 0 of the 10 bits is the upper bit of the loaded register.
        fields["address"] = macro["address"] << 1 | macro["vd_high"]
        if bits & 0x40:
            fields["vd"] = SCHEDULED
        elif not bits & 0x80:
            fields["vd"] = loaded
        return Instruction(name=name, fields=fields)
    if name == "SFPNOP":
        return NOP
    if bits & 0x80:
        fields["vb"] = loaded
        fields.setdefault("vc", fields["vd"])
    else:
        fields["vc"] = loaded
        if name != "SFPSHFT2":
            fields.setdefault("vb", fields["vd"])
    fields["vd"] = SCHEDULED if bits & 0x40 else loaded
    instruction = Instruction(name=name, fields=fields)
    if SCHEDULED in _reads(instruction, chip) or (name, fields["vd"]) == ("SFPSWAP", SCHEDULED):
        raise UndefinedBehavior(f"{name} of a macro must not read LReg {SCHEDULED}")
    return instruction


def _template(unit: SubUnit, which: int, config: LoadMacroConfig, chip: Chip) -> tuple[str, dict[str, int]]:
    """Return name and fields of the instruction that a byte's lowest 3 bits choose; SFPNOP if the sub-unit cannot execute it."""
    if which == 1:
        raise UndefinedBehavior(f"bits 2:0 of a sequence must not be 1, as those of the {unit.value} sub-unit are")
    name, fields = "SFPNOP", {}
    if which == 3:
        name, fields = "SFPSTORE", {"vd": 0, "modifier": 0}
    elif which >= 4:
        word = config.templates[which - 4]
        encoding = BY_OPCODE[chip].get(word >> OPCODE_LOW)
        if encoding is not None and UNIT_OF.get(encoding.name) is unit:
            name, fields = encoding.name, dict(decode(word, chip=chip).fields)
    if UNIT_OF[name] is unit:
        return name, fields
    if unit is SubUnit.STORE:
        raise UndefinedBehavior("the store sub-unit must be given SFPSTORE by a sequence")
    return "SFPNOP", {}


# Registers that instructions read and write, and the conflicts that the pages leave open.


RANDOM = SCHEDULED + 1
"""Stands for the random numbers among the registers."""
_ALL = frozenset(GENERAL)
_ONE_OPERAND = ("SFPABS", "SFPNOT", "SFPLZ", "SFPEXEXP", "SFPEXMAN", "SFPDIVP2", "SFPCAST")
_NO_RESULT = ("SFPNOP", "SFPSTORE", "SFPSETCC", "SFPENCC", "SFPPUSHC", "SFPPOPC", "SFPCOMPC")
_FLOATS = ("SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24")
_AFTER_SHUFFLE = (
    *(
        "SFPABS",
        "SFPAND",
        "SFPCAST",
        "SFPDIVP2",
        "SFPEXEXP",
        "SFPEXMAN",
        "SFPIADD",
        "SFPLZ",
        "SFPMOV",
        "SFPNOT",
        "SFPOR",
    ),
    *("SFPSETEXP", "SFPSETMAN", "SFPSETSGN", "SFPSHFT", "SFPSHFT2", "SFP_STOCH_RND", "SFPXOR"),
)
"""Instructions that may not follow SFPSHFT2's modes 2 to 4 on Wormhole; SFPSHFT2 in its other modes."""
_NO_TEMPLATE = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPCONFIG", "SFPNOP")


def _becomes_template(instruction: Instruction, config: LoadMacroConfig) -> bool:
    """True if a thread's word is not executed."""
    vd = instruction.fields.get("vd", 0)
    backdoor = not config.lane_config & LaneConfig.DISABLE_BACKDOOR_LOAD
    return backdoor and FIRST_TEMPLATE <= vd < SCHEDULED and instruction.name not in _NO_TEMPLATE


def _moves_lanes(instruction: Instruction) -> bool:
    return instruction.name == "SFPSHFT2" and instruction["mod"] in (2, 3, 4)


def _takes_two_cycles(instruction: Instruction) -> bool:
    return UNIT_OF[instruction.name] is SubUnit.MAD or instruction.name == "SFPSWAP" or _moves_lanes(instruction)


def _writes(instruction: Instruction, config: LoadMacroConfig) -> frozenset[int]:
    """Return the registers that an instruction may write, with `RANDOM` if it draws."""
    name, fields = instruction.name, instruction.fields
    mode, vd = fields.get("mod", 0), fields.get("vd", 0)
    indexed = bool(config.lane_config & LaneConfig.ENABLE_DEST_INDEX)
    if name in _NO_RESULT:
        return frozenset()
    if name == "SFPCONFIG":
        return frozenset({vd} & set(PROGRAMMED))
    if name in ("SFPLOAD", "SFPLOADMACRO"):
        vd = loaded_register(instruction) if name == "SFPLOADMACRO" else vd
        captures = indexed and config.lane_config & LaneConfig.CAPTURE_DEFAULT_DEST_INDEX and vd < 4
        written = {vd, vd + 4} if captures else {vd}
    elif name == "SFPTRANSP":
        written = set(_ALL)
    elif name == "SFPSWAP":
        written = {fields["vc"], vd} | ({4 + fields["vc"] % 4, 4 + vd % 4} if indexed else set())
    elif name == "SFPSHFT2" and mode <= 2:
        written = {0, 1, 2, 3}
    elif name in ("SFPLE", "SFPGT") and not mode & 8:
        written = set()
    elif UNIT_OF[name] is SubUnit.MAD and mode & 8 and vd != SCHEDULED:
        written = set(_ALL)
    else:
        written = {vd}
    if (
        name == "SFP_STOCH_RND"
        or (name, mode) == ("SFPCAST", 1)
        or (name == "SFPMOV" and mode & 8 and fields["vc"] == 9)
    ):
        written = {*written, RANDOM}
    return frozenset(written & {*GENERAL, SCHEDULED, RANDOM})


def _reads(instruction: Instruction, chip: Chip) -> frozenset[int]:
    """Return the registers that an instruction reads in its first cycle."""
    name, fields = instruction.name, instruction.fields
    mode, vd, vc = fields.get("mod", 0), fields.get("vd", 0), fields.get("vc", 0)
    second = fields.get("vb", vd)
    indirect = {7} if UNIT_OF[name] is SubUnit.MAD and mode & 8 and vd != SCHEDULED else set()
    if name in _FLOATS:
        return frozenset({fields["vb"], vc} | indirect | (_ALL if mode & 4 else {fields["va"]}))
    if name in ("SFPADDI", "SFPMULI"):
        return frozenset({fields.get("vc", vd)} | indirect)
    if name in ("SFPLUT", "SFPLUTFP32"):
        return frozenset(set(range(4 if name == "SFPLUT" else 7)) | indirect)
    if name in _ONE_OPERAND:
        return frozenset({vc})
    if name in ("SFPAND", "SFPOR"):
        return frozenset({vc, vd if chip is Chip.BLACKHOLE and not mode & 1 else second})
    if name in ("SFPXOR", "SFPLE", "SFPGT"):
        return frozenset({vc, second})
    if name in ("SFPIADD", "SFPSETEXP", "SFPSETMAN", "SFPSETSGN"):
        return frozenset({vc} if mode & 1 else {vc, second})
    if name == "SFPARECIP":
        return frozenset({vc, second} if mode == 1 else {vc})
    if name == "SFPSHFT":
        return frozenset(({vc} if mode & 4 else {second}) if mode & 1 else {vc, second})
    if name == "SFPSHFT2":
        b = fields.get("vb", fields["imm"] & 15)
        return frozenset(({1, 2, 3}, {0, 1, 2, 3}, {1, 2, 3, vc}, {vc}, {vc}, {b, vc}, {b})[min(mode, 6)])
    if name == "SFP_STOCH_RND":
        return frozenset({vc, fields["vb"]} if mode in (4, 5) else {vc})
    return frozenset(_reads_of_rest(instruction))


def _reads_of_rest(instruction: Instruction) -> set[int]:
    name, fields = instruction.name, instruction.fields
    mode, vd = fields.get("mod", 0), fields.get("vd", 0)
    match name:
        case "SFPMOV":
            return set() if mode & 8 else {fields["vc"]}
        case "SFPSETCC":
            return set() if mode & 9 else {fields["vc"]}
        case "SFPSTORE":
            return {vd}
        case "SFPLOAD":
            return {vd} if mode in (14, 15) else set()
        case "SFPLOADMACRO":
            return {loaded_register(instruction)} if mode in (14, 15) else set()
        case "SFPLOADI":
            return {vd} if mode in (8, 10) else set()
        case "SFPCONFIG":
            return {0} if vd < TEMPLATES or not mode & 1 else set()
        case "SFPTRANSP":
            return set(_ALL)
        case "SFPSWAP":
            # Mode 0 reads in its second cycle.
            return {fields["vc"], vd} if mode else set()
    return set()


def _stall_writes(instruction: Instruction) -> frozenset[int]:
    """Return the registers that Blackhole's stall logic takes an instruction of the MAD sub-unit to write."""
    mode = instruction["mod_mirror"] if instruction.name == "SFPLUTFP32" else instruction["mod"]
    return _ALL if mode & 8 else _ALL & {instruction["vd"]}


def _stall_reads(instruction: Instruction) -> frozenset[int]:
    """Return the registers that Blackhole's stall logic takes an instruction to read, its gaps included."""
    name, fields = instruction.name, instruction.fields
    mode = fields.get("mod", 0)
    match name:
        case "SFPAND" | "SFPOR":
            return frozenset({fields["vc"], fields["vd"]})
        case "SFPIADD" | "SFPSHFT":
            return frozenset({fields["vc"]})
        case "SFPCONFIG" | "SFPSWAP":
            return frozenset()
        case "SFPSHFT2" if _moves_lanes(instruction):
            return frozenset()
        case "SFPSHFT2" if mode >= 5:
            return frozenset({fields["vd"]} | ({fields["vc"]} if mode == 5 else set()))
        case "SFPLUTFP32":
            return _ALL if fields["mod_mirror"] & 8 else _ALL - {7}
        case "SFP_STOCH_RND":
            return frozenset({fields["vb"], fields["vc"]})
        case _ if name in _FLOATS and mode & 4:
            return _ALL
    return _reads(instruction, Chip.BLACKHOLE)


def _busy(executed: Sequence[Executed], config: LoadMacroConfig) -> dict[SubUnit, Instruction]:
    """Return the instructions that do something, by sub-unit."""
    return {
        each.unit: each.instruction
        for each in executed
        if each.instruction.name != "SFPNOP"
        and (each.origin is not None or not _becomes_template(each.instruction, config))
    }


def _check_cycle(executed: Sequence[Executed], config: LoadMacroConfig) -> None:
    """Raise UndefinedBehavior if instructions may not execute in one cycle."""
    busy = _busy(executed, config)
    if SubUnit.SIMPLE in busy and SubUnit.ROUND in busy:
        both = [busy[unit] for unit in (SubUnit.SIMPLE, SubUnit.ROUND)]
        if sum(each["vd"] == SCHEDULED for each in both) != 1:
            names = " and ".join(each.name for each in both)
            raise UndefinedBehavior(f"one of {names} must write LReg {SCHEDULED} in one cycle")
    written: set[int] = set()
    for each in busy.values():
        if common := written & _writes(each, config):
            what = "the random numbers" if RANDOM in common else f"LReg {min(common)}"
            raise UndefinedBehavior(f"{what} must have one writer in a cycle, not {each.name} and another")
        written |= _writes(each, config)
    simple = busy.get(SubUnit.SIMPLE)
    if simple is None or simple.name != "SFPSWAP":
        return
    scheduled = any(each.unit is SubUnit.SIMPLE and each.origin is not None for each in executed)
    if SubUnit.MAD in busy or (scheduled and SubUnit.MAD not in {each.unit for each in executed}):
        raise UndefinedBehavior(
            "the MAD sub-unit must have SFPNOP in the cycle of a macro's SFPSWAP, and be idle in a thread's"
        )
