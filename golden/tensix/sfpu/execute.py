"""Instructions of the Vector unit on its lanes: every one but loads and stores, which need Dst.

Ref: tt-isa-documentation, pages of the instructions: of Wormhole 3930471, of Blackhole 585749d; ttsim v1.10.0.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bitpath.golden.tensix.declarations.encodings import UndefinedBehavior
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import (
    COLUMNS,
    CONFIG_BITS,
    DEPTH,
    FIRST_TEMPLATE,
    HAS_ROTATED,
    LANE_CONFIG,
    MISC,
    MISC_BITS,
    MODES,
    PROGRAMMED,
    PROGRAMMED_DEFAULTS,
    SCHEDULED,
    SEQUENCE,
    STACK_DEPTH,
    TEMPLATE,
    LaneConfig,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.isa.words import word_of
from bitpath.golden.tensix.sfpu.lanes import Lanes

ALL_LANES = 2
"""SFPMOV's modifier that enables every lane."""
ZERO, ONE = 9, 10
"""LRegs of 0 and of 1.0."""
NEGATED, INDIRECT = 2, 8
"""Bits of the modifier of SFPADDI and SFPMULI; Wormhole has no negation."""
NO_IMMEDIATE = -1
NO_TEMPLATES = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPCONFIG", "SFPNOP")
"""Instructions whose words do not become templates."""


class Execution(NamedTuple):
    """An instruction with the lanes that it changes.

    Attributes
    ----------
    backdoor : True if lanes without DISABLE_BACKDOOR_LOAD have stored the word as a template; they do not execute it.
    """

    lanes: Lanes
    instruction: Instruction
    chip: Chip
    numerics: TensixNumerics
    backdoor: bool

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """The lanes' arrays, as kernels take them."""
        return self.lanes.words, self.lanes.bits

    @property
    def name(self) -> str:
        """The instruction's name without SFP."""
        return self.instruction.name.removeprefix("SFP")

    @property
    def blackhole(self) -> bool:
        return self.chip is Chip.BLACKHOLE

    def get(self, field: str, default: int = 0) -> int:
        """Return a field, or the default of an instruction without it."""
        return self.instruction.fields.get(field, default)


def execute(
    lanes: Lanes, instruction: Instruction, chip: Chip, numerics: TensixNumerics, *, scheduled: bool = False
) -> None:
    """Execute an instruction that touches lanes alone.

    Lanes without DISABLE_BACKDOOR_LOAD store a word whose VD is 12 or more as a template instead.

    Parameters
    ----------
    scheduled : True if SFPLOADMACRO scheduled the instruction and has replaced its fields `vb`, `vc` and `vd`.

    Raises
    ------
    UndefinedBehavior : a page calls this undefined, or the modifier reserved.
    ValueError : no instruction of lanes alone.
    """
    found = OPERATIONS.get(instruction.name)
    if found is None:
        raise ValueError(f"instruction must be the Vector unit's, no load or store, not {instruction.name}")
    backdoor = store_template(lanes, instruction, chip, scheduled)
    if backdoor and _template_lanes(lanes).all():
        return
    check_modifier(instruction, chip)
    found(Execution(lanes, instruction, chip, numerics, backdoor))


def check_modifier(instruction: Instruction, chip: Chip) -> None:
    """Raise UndefinedBehavior for a modifier that a page reserves."""
    known = MODES[chip].get(instruction.name)
    if known and instruction["mod"] not in known:
        listed = ", ".join(map(str, known))
        raise UndefinedBehavior(f"mod must be {listed} in {instruction.name} of {chip.value}, not {instruction['mod']}")


def store_template(lanes: Lanes, instruction: Instruction, chip: Chip, scheduled: bool = False) -> bool:
    """Store a word whose VD is 12 or more as a template, in the lanes that allow it; return True for such a word."""
    vd = instruction.fields.get("vd", 0)
    if scheduled or not FIRST_TEMPLATE <= vd < SCHEDULED or instruction.name in NO_TEMPLATES:
        return False
    lanes.words[TEMPLATE + vd - FIRST_TEMPLATE][_template_lanes(lanes)] = word_of(
        instruction.name, instruction.fields, chip
    )
    return True


def _multiply_add(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.multiply_add_loop as loop

    modifier, vd, immediate = at.get("mod"), at.get("vd"), at.get("imm") << 16
    match at.instruction.name:
        case "SFPADDI":
            modifier &= NEGATED | INDIRECT if at.blackhole else INDIRECT
            registers = ONE, ONE, at.get("vc", vd)
        case "SFPMULI":
            # The negation of VD is the immediate's.
            immediate ^= (at.blackhole and modifier & NEGATED) << 30
            modifier &= INDIRECT
            registers = ONE, at.get("vc", vd), ZERO
        case _:
            immediate, registers = NO_IMMEDIATE, (at.get("va"), at.get("vb"), at.get("vc"))
    loop.multiply_add(*at.state, at.blackhole, modifier, immediate, *registers, vd, at.backdoor)


def _multiply_integers(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.multiply_add_loop as loop

    operands = (at.get(each) for each in ("mod", "va", "vb", "vc", "vd"))
    loop.multiply_integers(*at.state, *operands, at.backdoor)


def _look_up(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.multiply_add_loop as loop

    modifier, table = at.get("mod"), loop.LUT8
    if at.instruction.name == "SFPLUTFP32":
        if modifier & 10 == 10:
            table = loop.LUT16_THREE
        elif modifier & 2:
            table = loop.LUT16_SIX_TO_4 if modifier & 1 else loop.LUT16_SIX_TO_3
        else:
            table = loop.LUT32
    loop.look_up(*at.state, at.blackhole, table, modifier, at.get("vd"), at.backdoor)


def _calculate(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.simple_loop as loop

    name, modifier, immediate, vd, vc = at.name, *map(at.get, ("mod", "imm", "vd", "vc"))
    vb, sets, inverts, every = at.get("vb", vd), loop.NO_FLAG, False, False
    match name:
        case "LOADI":
            modifier, immediate = _loaded(modifier, immediate)
        case "MOV":
            every = modifier == ALL_LANES
            if modifier & 8:
                modifier, vc = 0, SPECIAL.get(vc, ZERO)
        case "DIVP2" | "SETEXP":
            immediate &= 0xFF
        case "SETMAN":
            immediate <<= 11
        case "EXEXP":
            sets, inverts = loop.NEGATIVE if modifier & 2 else sets, bool(modifier & 8)
        case "LZ":
            sets, inverts = loop.NOT_32 if modifier & 2 else sets, bool(modifier & 8)
        case "IADD":
            immediate = _extended(immediate)
            sets, inverts = sets if modifier & 4 else loop.NEGATIVE, bool(modifier & 8)
        case "SHFT":
            immediate = _extended(immediate)
        case "ABS":
            modifier = modifier & 1 | (0 if at.numerics.sfpabs_clears_infinity else 2)
        case "AND" | "OR" if at.blackhole and not modifier & 1:
            vb = vd
    operands = modifier, immediate, vb, vc, vd
    loop.calculate(*at.state, getattr(loop, name), *operands, sets, inverts, every, at.backdoor)


def _loaded(mode: int, immediate: int) -> tuple[int, int]:
    """Return the bits of VD that SFPLOADI keeps, and those that it sets."""
    match mode:
        case 0:
            return 0, immediate << 16
        case 1:
            exponent = (immediate >> 10 & 31) + 127 - 15
            return 0, (immediate >> 15) << 31 | exponent << 23 | (immediate & 1023) << 13
        case 4:
            return 0, immediate - ((immediate & 0x8000) << 1) & 0xFFFFFFFF
        case 8:
            return 0xFFFF, immediate << 16
        case 10:
            return 0xFFFF0000, immediate
    return 0, immediate


def _extended(immediate: int) -> int:
    """Return 12 bits of two's complement as 32."""
    return immediate - ((immediate & 0x800) << 1) & 0xFFFFFFFF


def _cast(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.rounding_loop as loop

    if at.get("mod") == 1:
        _draw(at, loop.CAST)
    else:
        _calculate(at)


def _move(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.rounding_loop as loop

    if at.get("mod") & 8 and at.get("vc") == RANDOM:
        _draw(at, loop.RANDOM)
    else:
        _calculate(at)


def _draw(at: Execution, mode: int, shift: int = 0) -> None:
    import bitpath.golden.tensix.sfpu.rounding_loop as loop

    top_bits = at.numerics.stochastic_compare is StochasticCompare.TOP_BITS
    operands = (at.get(each) for each in ("rounding", "vb", "vc", "vd"))
    loop.round_lanes(*at.state, mode, shift, *operands, top_bits, at.backdoor)


def _round(at: Execution) -> None:
    rounding, last = at.get("rounding"), 2 if at.numerics.sfpu_round_to_zero else 1
    if rounding > last:
        raise UndefinedBehavior(f"rounding must be 0 to {last} in {at.instruction.name}, not {rounding}")
    modifier = at.get("mod")
    _draw(at, modifier & 7, at.get("imm") if modifier & 8 else NO_IMMEDIATE)


def _predicate(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.predicate_loop as loop

    if at.instruction.name in ("SFPPUSHC", "SFPPOPC"):
        _check_stack(at)
    vd = at.get("vd")
    operands = at.get("mod"), at.get("imm"), at.get("vb", vd), at.get("vc"), vd
    loop.predicate(*at.state, getattr(loop, at.name), *operands, at.blackhole, at.backdoor)


def _check_stack(at: Execution) -> None:
    depth, modifier, name = at.lanes.words[DEPTH], at.get("mod"), at.instruction.name
    if at.backdoor:
        depth = depth[~_template_lanes(at.lanes)]
    pushes = name == "SFPPUSHC"
    if pushes and modifier == 0:
        if np.any(depth == STACK_DEPTH):
            raise UndefinedBehavior(f"the stack must have fewer than {STACK_DEPTH} entries in {name}")
    elif (pushes or modifier == 0) and np.any(depth == 0):
        raise UndefinedBehavior(f"the stack must not be empty in {name}{f' with mod {modifier}' if modifier else ''}")


def _template_lanes(lanes: Lanes) -> np.ndarray:
    """Return the lanes that store a word as a template, bool [units, 32]."""
    return lanes.words[LANE_CONFIG] & np.uint32(LaneConfig.DISABLE_BACKDOOR_LOAD) == 0


def _swap(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.crossing_loop as loop

    modifier = at.get("mod")
    loop.swap(*at.state, modifier == 0, MINIMUM_ROWS[modifier], at.get("vc"), at.get("vd"), at.backdoor)


def _shift(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.crossing_loop as crossing
    import bitpath.golden.tensix.sfpu.simple_loop as simple

    modifier, immediate, vc, vd = map(at.get, ("mod", "imm", "vc", "vd"))
    if modifier > crossing.SHIFT:
        # VB shares its bits with the immediate.
        vb, amount = at.get("vb", immediate & 15), _extended(immediate) if modifier == 6 else NO_IMMEDIATE
        flags = simple.NO_FLAG, False, False, at.backdoor
        simple.calculate(*at.state, simple.SHFT2, modifier, amount, vb, vc, vd, *flags)
        return
    if modifier == crossing.SHIFT and not (at.blackhole or at.lanes.bits[HAS_ROTATED].all()):
        raise UndefinedBehavior("a rotation by SFPSHFT2 must come before its mode 4 on Wormhole")
    crossing.move_lanes(*at.state, modifier, vc, vd, at.blackhole, at.backdoor)


def _transpose(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.crossing_loop as loop

    loop.transpose(*at.state, at.backdoor)


def _configure(at: Execution) -> None:
    import bitpath.golden.tensix.sfpu.crossing_loop as loop

    modifier, vd, immediate = map(at.get, ("mod", "vd", "imm"))
    if vd not in CONFIGURED:
        return
    place, mask, combines = CONFIGURED[vd]
    columns, value = (1 << COLUMNS) - 1, NO_IMMEDIATE
    if modifier & 8:
        columns = sum((immediate >> 2 * column & 1) << column for column in range(COLUMNS))
    if modifier & 1 and place not in range(TEMPLATE, SEQUENCE):
        value = PROGRAMMED_DEFAULTS[vd - PROGRAMMED[0]] if vd in PROGRAMMED else immediate
        mask &= IMMEDIATE_MASK if place == LANE_CONFIG else mask
    loop.configure(*at.state, place, value, modifier >> 1 & 3 if combines else 0, mask, columns)


RANDOM = 9
"""VC by which SFPMOV reads the random numbers."""
SPECIAL = dict(enumerate(range(TEMPLATE, MISC + 1))) | {15: LANE_CONFIG}
"""Places that SFPMOV reads by VC; it reads 0 from others."""
WORD, IMMEDIATE_MASK = 0xFFFFFFFF, 0xFFFF
CONFIGURED = (
    {number: (place, WORD, False) for number, place in SPECIAL.items()}
    | {number: (number, WORD, False) for number in PROGRAMMED}
    | {8: (MISC, (1 << MISC_BITS) - 1, True), 15: (LANE_CONFIG, (1 << CONFIG_BITS) - 1, True)}
)
"""Places that SFPCONFIG writes, by VD: the place, its bits, and whether the modifier combines old and new values."""
MINIMUM_ROWS = (0, 0b1111, 0b0011, 0b0101, 0b1001, 0b0001, 0b0010, 0b0100, 0b1000, 0)
"""Rows, as bits, in which VD becomes the minimum, by SFPSWAP's modifier."""
OPERATIONS: dict[str, Callable[[Execution], None]] = {
    **dict.fromkeys(("SFPMAD", "SFPADD", "SFPMUL", "SFPADDI", "SFPMULI"), _multiply_add),
    **dict.fromkeys(("SFPLUT", "SFPLUTFP32"), _look_up),
    **dict.fromkeys(
        ("SFPDIVP2", "SFPEXEXP", "SFPEXMAN", "SFPIADD", "SFPSHFT", "SFPABS", "SFPAND", "SFPOR"), _calculate
    ),
    **dict.fromkeys(("SFPNOT", "SFPXOR", "SFPLZ", "SFPSETEXP", "SFPSETMAN", "SFPSETSGN", "SFPARECIP"), _calculate),
    **dict.fromkeys(("SFPSETCC", "SFPENCC", "SFPCOMPC", "SFPPUSHC", "SFPPOPC", "SFPLE", "SFPGT"), _predicate),
    "SFPLOADI": _calculate,
    "SFPMUL24": _multiply_integers,
    "SFPMOV": _move,
    "SFPCAST": _cast,
    "SFP_STOCH_RND": _round,
    "SFPSWAP": _swap,
    "SFPSHFT2": _shift,
    "SFPTRANSP": _transpose,
    "SFPCONFIG": _configure,
    "SFPNOP": lambda _: None,
}
"""Instructions that touch lanes alone."""
