"""The Vector unit's 32 lanes: instructions on Python's integers, one lane after the other.

A lane is enabled unless ROW_MASK masks its row, or conditional execution is on and its flag is not set. A word with a VD of 12 to
15 is not executed: it becomes a template of SFPLOADMACRO.

Ref: tt-isa-documentation, VectorUnit, LReg, SFPCONFIG and a page for each instruction, of Wormhole 3930471 and of Blackhole
585749d.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from bitpath.golden.scalar.checked import one_of
from bitpath.golden.tensix.declarations.encodings import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import COLUMNS as DST_COLUMNS
from bitpath.golden.tensix.declarations.formats import (
    DST16_BF16,
    DST16_FP16,
    DST32,
    EXPONENT8_FORMATS,
    Chip,
    Format,
    Segment,
    WordLayout,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import (
    COLUMNS,
    CONFIG_BITS,
    CONSTANTS,
    FIRST_TEMPLATE,
    GENERAL,
    LANES,
    MISC_BITS,
    MODES,
    PROGRAMMED,
    PROGRAMMED_DEFAULTS,
    REGISTERS,
    SCHEDULED,
    STACK_DEPTH,
    TEMPLATES,
    LaneConfig,
)
from bitpath.golden.tensix.exact.sfpu import (
    ONE,
    SIGN,
    WORD,
    absolute,
    approximate,
    boolean,
    cast,
    condition,
    exponent_of,
    immediate_word,
    integer_add,
    leading_zeros,
    less,
    loaded,
    lut,
    lut_fp32,
    mad,
    mul24,
    random_step,
    scaled,
    set_exponent,
    set_fraction,
    set_sign,
    shifted,
    significand_of,
    stochastic_round,
    stored,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.isa.words import word_of

# State.


@dataclass(kw_only=True)
class Lane:
    """State of a lane.

    Attributes
    ----------
    registers : LReg 0 to 16.
    flag, conditional : LaneFlags and UseLaneFlagsForLaneEnable; a lane with both `conditional` and no flag is disabled.
    stack : pairs of flag and conditional, the top last.
    random : state of the random numbers.
    config : LaneConfig.
    templates, sequences, misc : LoadMacroConfig.
    """

    registers: list[int] = field(default_factory=lambda: [0] * REGISTERS)
    flag: bool
    conditional: bool
    stack: list[tuple[bool, bool]] = field(default_factory=list)
    random: int = 0
    config: int = 0
    templates: list[int] = field(default_factory=lambda: [0] * TEMPLATES)
    sequences: list[int] = field(default_factory=lambda: [0] * TEMPLATES)
    misc: int = 0

    def has(self, bit: LaneConfig) -> bool:
        """True if LaneConfig has a bit set."""
        return bool(self.config & bit)

    def draw(self) -> int:
        """Return the random bits, and step them."""
        bits, self.random = self.random, random_step(self.random)
        return bits

    def write(self, register: int, value: int) -> None:
        """Write a result; LReg 8 to 15 drop it."""
        if register in GENERAL or register == SCHEDULED:
            self.registers[register] = value


@dataclass(kw_only=True)
class Unit:
    """State of the Vector unit.

    Attributes
    ----------
    lanes : 4 rows of 8.
    rotated : the VC of SFPSHFT2's latest rotation, which Wormhole's shift of lanes reads; None before the first.
    """

    lanes: list[Lane]
    rotated: list[int] | None = None

    def register(self, number: int) -> list[int]:
        """Return a register of all lanes."""
        return [lane.registers[number] for lane in self.lanes]

    def enabled(self, number: int) -> bool:
        """True if a lane is enabled."""
        row, column = divmod(number, COLUMNS)
        lane = self.lanes[number]
        return not self.lanes[column].config & LaneConfig.ROW_MASK << row and (lane.flag or not lane.conditional)


@dataclass(frozen=True, kw_only=True)
class Access:
    """Dst as an SFPLOAD or SFPSTORE finds it.

    Attributes
    ----------
    dst : 1,024 rows of 16 words of 16 bits, in the register's order.
    address : 10 bits, the sum of the immediate and all offsets.
    default_mode : mode that 0 stands for, of the function `default_mode`.
    """

    dst: list[list[int]]
    address: int
    default_mode: int


def reset(numerics: TensixNumerics) -> Unit:
    """Return the unit after reset; random numbers are 0."""
    conditional = numerics.sfpu_reset_conditional
    lanes = [Lane(flag=conditional, conditional=conditional) for _ in range(LANES)]
    for number, lane in enumerate(lanes):
        for register, value in CONSTANTS.items():
            lane.registers[register] = value
        lane.registers[PROGRAMMED.start : PROGRAMMED.stop] = PROGRAMMED_DEFAULTS
        lane.registers[15] = 2 * number
    return Unit(lanes=lanes)


def default_mode(*, fp32_enabled: bool, src_b_format: Format) -> int:
    """Return the mode of SFPLOAD and SFPSTORE that 0 stands for: FP32, BF16 or FP16."""
    return 3 if fp32_enabled else 2 if src_b_format in EXPONENT8_FORMATS else 1


# Instructions.


LOADS = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPCONFIG")
"""Instructions whose VD from 12 on is no template."""


def execute(
    unit: Unit,
    instruction: Instruction,
    *,
    chip: Chip,
    numerics: TensixNumerics,
    access: Access | None = None,
    scheduled: bool = False,
) -> None:
    """Execute an instruction.

    Parameters
    ----------
    access : Dst, for SFPLOAD, SFPLOADMACRO and SFPSTORE. SFPLOADMACRO only loads; golden's `sfpu.macro` schedules.
    scheduled : True if SFPLOADMACRO scheduled the instruction and has replaced its fields `vb`, `vc` and `vd`.

    Raises
    ------
    UndefinedBehavior : a page calls this undefined, or the modifier reserved.
    ValueError : an instruction of another unit.
    """
    if not instruction.name.startswith("SFP"):
        raise ValueError(f"instruction must be the Vector unit's, not {instruction.name}")
    executing = range(LANES) if scheduled else _executing(unit, instruction, chip)
    allowed = MODES[chip].get(instruction.name)
    if allowed and executing and instruction["mod"] not in allowed:
        modes = one_of(allowed)
        raise UndefinedBehavior(f"mod must be {modes} in {instruction.name} of {chip.value}, not {instruction['mod']}")
    match instruction.name:
        case "SFPNOP":
            return
        case "SFPLOAD" | "SFPLOADMACRO":
            _load(unit, instruction, numerics, access)
        case "SFPSTORE":
            _store(unit, instruction, numerics, access, executing)
        case "SFPCONFIG":
            _configure(unit, instruction)
        case "SFPTRANSP":
            _transpose(unit, executing)
        case "SFPSWAP":
            _swap(unit, instruction, executing)
        case "SFPSHFT2" if instruction["mod"] < 5:
            _move_lanes(unit, instruction, chip, executing)
        case _:
            for i in executing:
                _lanewise(unit.lanes[i], unit.enabled(i), instruction, chip, numerics)


def _executing(unit: Unit, instruction: Instruction, chip: Chip) -> Sequence[int]:
    """Return the lanes that execute a word; in the others it becomes a template."""
    vd = instruction.fields.get("vd", 0)
    if vd < FIRST_TEMPLATE or instruction.name in LOADS:
        return range(LANES)
    word = word_of(instruction.name, instruction.fields, chip)
    executing = [i for i, lane in enumerate(unit.lanes) if lane.has(LaneConfig.DISABLE_BACKDOOR_LOAD)]
    for i in set(range(LANES)) - set(executing):
        unit.lanes[i].templates[vd - FIRST_TEMPLATE] = word
    return executing


def execute_together(
    unit: Unit,
    instructions: Sequence[tuple[Instruction, bool, Access | None]],
    *,
    chip: Chip,
    numerics: TensixNumerics,
) -> None:
    """Execute the instructions of a cycle, each with whether it is scheduled and with its Dst; all read the state before it.

    The load comes before the store, and no two write the same register, as in a cycle of golden's `sfpu.macro`.

    Raises
    ------
    UndefinedBehavior : as `execute`.
    """
    before = deepcopy(unit)
    for instruction, scheduled, access in instructions:
        own = deepcopy(before)
        execute(own, instruction, chip=chip, numerics=numerics, access=access, scheduled=scheduled)
        unit.rotated = unit.rotated if own.rotated == before.rotated else own.rotated
        for lane, new, old in zip(unit.lanes, own.lanes, before.lanes, strict=True):
            lane.registers = [
                kept if value == first else value
                for kept, value, first in zip(lane.registers, new.registers, old.registers, strict=True)
            ]
            for name in ("flag", "conditional", "stack", "random", "config", "templates", "sequences", "misc"):
                if getattr(new, name) != getattr(old, name):
                    setattr(lane, name, getattr(new, name))


def _lanewise(lane: Lane, enabled: bool, instruction: Instruction, chip: Chip, numerics: TensixNumerics) -> None:
    fields, mode = instruction.fields, instruction.fields["mod"]
    vd = fields["vd"]
    match instruction.name:
        case "SFPENCC" | "SFPPUSHC" | "SFPPOPC" | "SFPCOMPC":
            _condition_all(lane, instruction, chip)
        case "SFPLE" | "SFPGT":
            _compare(lane, enabled, instruction)
        case "SFPMOV" if enabled or mode == 2:
            lane.write(vd, _moved(lane, mode, fields["vc"]))
        case _ if not enabled:
            return
        case "SFPSETCC":
            lane.flag = lane.conditional and _set_flag(lane, instruction)
        case "SFPLOADI":
            if vd in GENERAL:
                lane.registers[vd] = immediate_word(mode, lane.registers[vd], fields["imm"])
        case "SFPMAD" | "SFPADD" | "SFPMUL" | "SFPMUL24" | "SFPADDI" | "SFPMULI" | "SFPLUT" | "SFPLUTFP32":
            indirect = mode & 8 and vd != SCHEDULED
            lane.write(lane.registers[7] & 15 if indirect else vd, _multiply_add(lane, instruction, chip))
        case "SFP_STOCH_RND":
            lane.write(vd, _rounded(lane, instruction, numerics))
        case "SFPCAST":
            lane.write(vd, cast(mode, lane.registers[fields["vc"]], lane.draw() if mode == 1 else 0))
        case _:
            value = _simple(lane, instruction, chip, numerics)
            if vd in GENERAL:
                _set_flag_of_result(lane, instruction, value)
            lane.write(vd, value)


FUNCTIONS: dict[str, Callable[[int, int, int, int], int]] = {
    "SFPAND": lambda mode, b, c, immediate: b & c,
    "SFPOR": lambda mode, b, c, immediate: b | c,
    "SFPXOR": lambda mode, b, c, immediate: b ^ c,
    "SFPNOT": lambda mode, b, c, immediate: ~c & WORD,
    "SFPLZ": lambda mode, b, c, immediate: leading_zeros(c & ~SIGN if mode & 4 else c),
    "SFPIADD": integer_add,
    "SFPSHFT": lambda mode, b, c, immediate: shifted(
        c if mode & 4 else b, _extended(immediate) if mode & 1 else c, arithmetic=bool(mode & 2)
    ),
    "SFPSHFT2": lambda mode, b, c, immediate: shifted(b, c if mode == 5 else _extended(immediate)),
    "SFPARECIP": lambda mode, b, c, immediate: approximate(mode, b, c),
    "SFPSETEXP": set_exponent,
    "SFPSETMAN": set_fraction,
    "SFPSETSGN": set_sign,
    "SFPEXEXP": lambda mode, b, c, immediate: exponent_of(mode, c),
    "SFPEXMAN": lambda mode, b, c, immediate: significand_of(mode, c),
    "SFPDIVP2": lambda mode, b, c, immediate: scaled(mode, c, immediate),
}
"""Results of instructions of one cycle from the mode, VB, VC and the immediate."""


def _simple(lane: Lane, instruction: Instruction, chip: Chip, numerics: TensixNumerics) -> int:
    """Return the result of an instruction of one cycle; VB is VD unless the instruction names it."""
    name, fields, registers = instruction.name, instruction.fields, lane.registers
    mode, immediate, c = fields["mod"], fields.get("imm", 0), registers[fields["vc"]]
    if name == "SFPABS":
        return absolute(numerics, mode, c)
    second = fields.get("vb", fields["vd"])
    if name in ("SFPAND", "SFPOR") and chip is Chip.BLACKHOLE and not mode & 1:
        second = fields["vd"]
    if name == "SFPSHFT2":
        second = fields.get("vb", immediate & 15)
    return FUNCTIONS[name](mode, registers[second], c, immediate)


def _extended(immediate: int) -> int:
    """Return 12 bits of two's complement as 32."""
    return immediate - ((immediate & 0x800) << 1) & WORD


def _set_flag_of_result(lane: Lane, instruction: Instruction, value: int) -> None:
    """Set the flag as SFPIADD, SFPEXEXP and SFPLZ do; bit 3 of the mode inverts it."""
    mode = instruction.fields["mod"]
    match instruction.name:
        case "SFPIADD":
            flag = lane.flag if mode & 4 else bool(value & SIGN)
        case "SFPEXEXP":
            flag = bool(value & SIGN) if mode & 2 else lane.flag
        case "SFPLZ":
            flag = value < 32 if mode & 2 else lane.flag
        case _:
            return
    lane.flag = flag != bool(mode & 8)


def _moved(lane: Lane, mode: int, vc: int) -> int:
    if not mode & 8:
        return lane.registers[vc] ^ (SIGN if mode & 1 else 0)
    if vc == 9:
        return lane.draw()
    special = [*lane.templates, *lane.sequences, lane.misc]
    return special[vc] if vc < len(special) else lane.config if vc == 15 else 0


def _multiply_add(lane: Lane, instruction: Instruction, chip: Chip) -> int:
    fields, mode, registers = instruction.fields, instruction.fields["mod"], lane.registers
    name = instruction.name
    if name == "SFPLUT":
        return lut(chip, registers[: len(GENERAL)], mode)
    if name == "SFPLUTFP32":
        return lut_fp32(chip, registers[: len(GENERAL)], mode)
    negate_a, negate_c = (SIGN if chip is Chip.BLACKHOLE and mode & bit else 0 for bit in (1, 2))
    if name in ("SFPADDI", "SFPMULI"):
        immediate, c = fields["imm"] << 16, registers[fields.get("vc", fields["vd"])] ^ negate_c
        return mad(chip, immediate, ONE, c) if name == "SFPADDI" else mad(chip, immediate, c, 0)
    a, b, c = (
        registers[registers[7] & 15 if mode & 4 else fields["va"]],
        registers[fields["vb"]],
        registers[fields["vc"]],
    )
    if name == "SFPMUL24":
        return mul24(a, b, c, upper=bool(mode & 1))
    return mad(chip, a ^ negate_a, b, c ^ negate_c)


ROUNDINGS = {0: 0x400000, 2: 0x7FFFFF}
"""Bits of SFP_STOCH_RND's roundings that are not random: to nearest and to zero; 1 is stochastic."""


def _rounded(lane: Lane, instruction: Instruction, numerics: TensixNumerics) -> int:
    fields = instruction.fields
    rounding, mode = fields["rounding"], fields["mod"]
    if rounding not in (*ROUNDINGS, 1):
        raise UndefinedBehavior(f"rounding must be 0 to 2 in SFP_STOCH_RND, not {rounding}")
    bits = lane.draw()
    shift = 0
    if mode & 7 in (4, 5):
        shift = fields["imm"] if mode & 8 else lane.registers[fields["vb"]] & 31
    return stochastic_round(numerics, lane.registers[fields["vc"]], mode & 7, ROUNDINGS.get(rounding, bits), shift)


def _compare(lane: Lane, enabled: bool, instruction: Instruction) -> None:
    """Execute SFPLE or SFPGT; they change the stack of disabled lanes too."""
    fields, mode = instruction.fields, instruction.fields["mod"]
    smaller = less(lane.registers[fields["vc"]], lane.registers[fields.get("vb", fields["vd"])])
    result = smaller == (instruction.name == "SFPGT")
    if enabled and mode & 8:
        lane.write(fields["vd"], WORD if result else 0)
    if enabled and mode & 1:
        lane.flag = result
    if mode & 2 and lane.stack:
        flag, conditional = lane.stack[-1]
        lane.stack[-1] = (flag or result if mode & 4 else flag and result), conditional


# Conditions.


def _set_flag(lane: Lane, instruction: Instruction) -> bool:
    mode = instruction["mod"]
    if mode & 8:
        return False
    if mode & 1:
        return bool(instruction["imm"])
    return condition(mode, lane.registers[instruction["vc"]])


def _condition_all(lane: Lane, instruction: Instruction, chip: Chip) -> None:
    """Execute an instruction on the flags and the stack, which does not depend on whether the lane is enabled."""
    mode, immediate = instruction["mod"], instruction.fields.get("imm", 0)
    match instruction.name:
        case "SFPENCC":
            if mode & 2:
                lane.conditional = bool(immediate & 1)
            elif mode & 1:
                lane.conditional = not lane.conditional
            lane.flag = bool(immediate & 2) if mode & 8 else True
        case "SFPPUSHC":
            _push(lane, mode)
        case "SFPPOPC":
            _pop(lane, mode, chip)
        case "SFPCOMPC":
            flag, conditional = lane.stack[-1] if lane.stack else (True, True)
            lane.flag = flag and not lane.flag and conditional and lane.conditional


def _push(lane: Lane, mode: int) -> None:
    if mode == 0:
        if len(lane.stack) == STACK_DEPTH:
            raise UndefinedBehavior(f"the stack must have fewer than {STACK_DEPTH} entries in SFPPUSHC")
        lane.stack.append((lane.flag, lane.conditional))
        return
    if not lane.stack:
        raise UndefinedBehavior(f"the stack must not be empty in SFPPUSHC with mod {mode}")
    if mode <= 12:
        lane.stack[-1] = boolean(mode, lane.stack[-1][0], lane.flag), lane.conditional
    elif mode == 13:
        lane.flag = not lane.flag
        lane.stack[-1] = lane.flag, lane.conditional
    else:
        lane.stack[-1] = mode == 14, True


def _pop(lane: Lane, mode: int, chip: Chip) -> None:
    if mode == 0:
        if not lane.stack:
            raise UndefinedBehavior("the stack must not be empty in SFPPOPC")
        lane.flag, lane.conditional = lane.stack.pop()
        return
    flag, conditional = lane.stack[-1] if lane.stack else (False, False)
    if chip is Chip.WORMHOLE and len(lane.stack) == STACK_DEPTH:
        # A bug of the hardware.
        lane.stack[0] = flag, conditional
    if mode <= 12:
        lane.flag, lane.conditional = boolean(mode, lane.flag, flag), conditional
    elif mode == 13:
        lane.flag = not lane.flag
    else:
        lane.flag, lane.conditional = mode == 14, True


# Instructions across lanes.


def _move_lanes(unit: Unit, instruction: Instruction, chip: Chip, executing: Sequence[int]) -> None:
    """Execute SFPSHFT2's modes 0 to 4: LReg 0 to 3 move down by one register, or VC right by one lane of its row of 8."""
    mode, vd = instruction["mod"], instruction["vd"]
    four = [unit.register(number) for number in range(4)]
    c = unit.register(instruction["vc"])
    entering = [0] * LANES
    if mode == 1:
        entering = [*four[0][COLUMNS:], *[0] * COLUMNS]
    elif mode in (2, 3):
        entering = [c[i - 1] if i % COLUMNS else c[i + COLUMNS - 1] for i in range(LANES)]
    elif mode == 4:
        entering = [c[i - 1] if i % COLUMNS else _entering_shift(unit, i, chip) for i in range(LANES)]
    for i in filter(unit.enabled, executing):
        if mode <= 2:
            unit.lanes[i].registers[:4] = [*(register[i] for register in four[1:]), entering[i]]
        else:
            unit.lanes[i].write(vd, entering[i])
    if mode in (2, 3) and vd < FIRST_TEMPLATE:
        unit.rotated = c


def _entering_shift(unit: Unit, lane: int, chip: Chip) -> int:
    """Return the word that a shift of lanes moves into the first lane of a row: 0, except by a bug of Wormhole."""
    if chip is Chip.BLACKHOLE:
        return 0
    if unit.rotated is None:
        raise UndefinedBehavior("a rotation by SFPSHFT2 must come before its mode 4 on Wormhole")
    return unit.rotated[lane + COLUMNS - 1]


def _transpose(unit: Unit, executing: Sequence[int]) -> None:
    """Exchange register and row in each column, of LReg 0 to 3 and of 4 to 7."""
    before = [unit.register(number) for number in GENERAL]
    for i in filter(unit.enabled, executing):
        row, column = divmod(i, COLUMNS)
        for number in GENERAL:
            first, place = number // 4 * 4, number % 4
            unit.lanes[i].registers[number] = before[first + row][place * COLUMNS + column]


MINIMUM_ROWS = {1: (0, 1, 2, 3), 2: (0, 1), 3: (0, 2), 4: (0, 3), 5: (0,), 6: (1,), 7: (2,), 8: (3,), 9: ()}
"""Rows in which VD becomes the smaller one, by SFPSWAP's mode; in the others it becomes the larger one."""


def _swap(unit: Unit, instruction: Instruction, executing: Sequence[int]) -> None:
    mode, vc, vd = instruction["mod"], instruction["vc"], instruction["vd"]
    for i in filter(unit.enabled, executing):
        lane = unit.lanes[i]
        registers, c, d = lane.registers, lane.registers[vc], lane.registers[vd]
        if mode:
            swaps = less(c, d) == (i // COLUMNS in MINIMUM_ROWS[mode])
            if swaps == lane.has(LaneConfig.EXCHANGE_SRCB_SRCC):
                continue
        indexed = lane.has(LaneConfig.ENABLE_DEST_INDEX)
        for register, value in ((vc, d), (vd, c)):
            if register < (4 if indexed else 8):
                registers[register] = value
        if indexed:
            first, second = 4 + vc % 4, 4 + vd % 4
            registers[first], registers[second] = registers[second], registers[first]


def _configure(unit: Unit, instruction: Instruction) -> None:
    """Execute SFPCONFIG: lanes 0 to 7 hold values, flags and their use for all rows."""
    mode, vd, immediate = instruction["mod"], instruction["vd"], instruction["imm"]
    head = unit.lanes[:COLUMNS]
    values = [immediate if mode & 1 else lane.registers[0] for lane in head]
    enabled = [lane.flag or not lane.conditional for lane in head]
    templates = unit.register(0)
    for i, lane in enumerate(unit.lanes):
        column = i % COLUMNS
        if not enabled[column] or (mode & 8 and not immediate >> 2 * column & 1):
            continue
        value = values[column]
        if vd < TEMPLATES:
            lane.templates[vd] = templates[column]
        elif vd < 2 * TEMPLATES:
            lane.sequences[vd - TEMPLATES] = value
        elif vd == 8:
            lane.misc = _combined(mode, lane.misc, value) & (1 << MISC_BITS) - 1
        elif vd in PROGRAMMED:
            lane.registers[vd] = PROGRAMMED_DEFAULTS[vd - PROGRAMMED[0]] if mode & 1 else value
        elif vd == 15:
            old = lane.config
            lane.config = _combined(mode, old, value) & (1 << CONFIG_BITS) - 1
            if mode & 1:
                lane.config |= old & ~0xFFFF


def _combined(mode: int, old: int, value: int) -> int:
    return (value, old | value, old & value, old ^ value)[mode >> 1 & 3]


# Loads and stores. Lane l's datum is in row l / 8 of the four that the address names, column 2 * (l mod 8), or the next one.


WIDE = {"SFPLOAD": (3, 4, 10, 12), "SFPLOADMACRO": (3, 4, 10, 12), "SFPSTORE": (3, 4, 7, 9, 10, 12)}
"""Modes of 32-bit words."""
LAYOUTS = {1: DST16_FP16, 2: DST16_BF16, 5: DST16_FP16, 13: DST16_FP16}
"""Layouts of 16-bit words; those of other modes are opaque."""
ALL_LANES = 10
"""The mode that ignores which lanes are enabled."""


def _load(unit: Unit, instruction: Instruction, numerics: TensixNumerics, access: Access) -> None:
    mode, vd = instruction["mod"] or access.default_mode, _loaded_register(instruction)
    layout = DST32 if mode in WIDE["SFPLOAD"] else LAYOUTS.get(mode)
    for i, lane in enumerate(unit.lanes):
        if vd not in GENERAL or lane.has(LaneConfig.BLOCK_SFPU_RD_FROM_DEST):
            continue
        if unit.enabled(i) or mode == ALL_LANES:
            row, column = _place(unit, i, access.address, LaneConfig.DEST_RD_COL_EXCHANGE)
            rows = _rows(row, layout)
            word = sum(access.dst[each][column] << 16 * k for k, each in enumerate(reversed(rows)))
            word = word if layout is None else _reordered(word, layout.physical, layout.logical)
            infinity = lane.has(LaneConfig.ENABLE_FP16A_INF)
            lane.registers[vd] = loaded(numerics, word, mode, old=lane.registers[vd], fp16_infinity=infinity)
            if vd < 4 and lane.has(LaneConfig.ENABLE_DEST_INDEX) and lane.has(LaneConfig.CAPTURE_DEFAULT_DEST_INDEX):
                lane.registers[vd + 4] = row << 4 | column


def _loaded_register(instruction: Instruction) -> int:
    if instruction.name == "SFPLOADMACRO":
        return instruction["vd_high"] << 2 | instruction["vd_low"]
    return instruction["vd"]


def _store(
    unit: Unit, instruction: Instruction, numerics: TensixNumerics, access: Access, executing: Sequence[int]
) -> None:
    mode, vd = instruction["mod"] or access.default_mode, instruction["vd"]
    layout = DST32 if mode in WIDE["SFPSTORE"] else LAYOUTS.get(mode)
    for i in executing:
        lane = unit.lanes[i]
        if lane.has(LaneConfig.BLOCK_DEST_WR_FROM_SFPU):
            continue
        if unit.enabled(i) or mode == ALL_LANES:
            row, column = _place(unit, i, access.address, LaneConfig.DEST_WR_COL_EXCHANGE)
            word = stored(numerics, lane.registers[vd], mode)
            word = word if layout is None else _reordered(word, layout.logical, layout.physical)
            for k, each in enumerate(reversed(_rows(row, layout))):
                access.dst[each][column] = word >> 16 * k & 0xFFFF


def _place(unit: Unit, lane: int, address: int, exchange: LaneConfig) -> tuple[int, int]:
    """Return the row and the column of a lane's datum."""
    row, column = divmod(lane, COLUMNS)
    odd = address & 2 or unit.lanes[column].has(exchange)
    return (address & ~3) + row, column * (DST_COLUMNS // COLUMNS) + bool(odd)


def _rows(row: int, layout: WordLayout | None) -> tuple[int, ...]:
    """Return the 16-bit row of a row of 16-bit words, or the rows of the upper and the lower halves of 32-bit ones."""
    if layout is not DST32:
        return (row,)
    upper = (row & 0x1F8) << 1 | row & 0x207
    return upper, upper + 8


def _reordered(word: int, given: tuple[Segment, ...], wanted: tuple[Segment, ...]) -> int:
    """Return a word with its fields in another order."""
    fields: dict[str, int] = {}
    for each in reversed(given):
        fields[each.name] = fields.get(each.name, 0) | (word & (1 << each.width) - 1) << each.low
        word >>= each.width
    for each in wanted:
        word = word << each.width | fields[each.name] >> each.low & (1 << each.width) - 1
    return word
