"""SETDMAREG, WRCFG, RMWCIB and SETC16: constants to registers, registers to configuration.

Ref: tt-isa-documentation 3930471, SETDMAREG_Immediate, WRCFG, RMWCIB and SETC16.
"""

from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.isa import Instruction

WIDE = 4
"""Registers that WRCFG of 128 bits copies."""


def setdmareg(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SETDMAREG: 16 bits to the lower (even number) or upper half of a register."""
    value = instruction["value_high"] << 14 | instruction["value_low"]
    register, upper = divmod(instruction["half_register"], 2)
    old = state.gprs[thread][register]
    state.gprs[thread][register] = value << 16 | old & 0xFFFF if upper else value | old & 0xFFFF0000


def wrcfg(state: State, thread: int, instruction: Instruction) -> None:
    """Execute WRCFG: one register, or four from a multiple of four on, or none of them if one may not be written."""
    gpr, register, count = instruction["gpr"], instruction["register"], 1
    if instruction["wide"]:
        gpr, register, count = gpr & ~(WIDE - 1), register & ~(WIDE - 1), WIDE
    values = dict(zip(range(register, register + count), state.gprs[thread][gpr : gpr + count], strict=True))
    for each, value in values.items():
        state.config.check(each, value)
    for each, value in values.items():
        state.config.write(thread, each, value)
    _permute_dst(state, thread)


def rmwcib(state: State, thread: int, instruction: Instruction) -> None:
    """Execute RMWCIB0 to 3: the bits of a mask in one byte of a register."""
    shift = 8 * int(instruction.name[-1])
    state.config.write(thread, instruction["register"], instruction["data"] << shift, instruction["mask"] << shift)
    _permute_dst(state, thread)


def setc16(state: State, thread: int, instruction: Instruction) -> None:
    """Execute SETC16: a register of the thread's own."""
    state.config.write_thread(thread, instruction["register"], instruction["value"])


def _permute_dst(state: State, thread: int) -> None:
    """Take over Blackhole's permutations of Dst rows from the configuration."""
    if state.chip is Chip.BLACKHOLE:
        state.dst.remapped = bool(state.config.read("remap_addrs", thread))
        state.dst.swizzled = bool(state.config.read("swizzle_32b", thread))
