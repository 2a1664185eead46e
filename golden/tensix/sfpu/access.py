"""SFPLOAD and SFPSTORE on Dst: modes, addresses, and the rows and columns of lanes.

Lane l's word is in row l // 8 of the four that the address names, column 2 * (l % 8) or, with odd columns, the next one::

     9            2  1   0
    +--------------+---+---+
    |  4-row block |odd| - |
    +--------------+---+---+

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE: of Wormhole 1392d23 and 545c98a, of Blackhole 0f3f6b7.
"""

from typing import NamedTuple

import numpy as np

from bitpath.golden.tensix.declarations.formats import DST16_ROWS, EXPONENT8_FORMATS, Chip, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import COLUMNS, GENERAL, LANES
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.sfpu.conversion import WIDE_LOADS, WIDE_MODES, StoreMode
from bitpath.golden.tensix.sfpu.execute import OPERATIONS, store_template
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.macro import loaded_register

ROWS = LANES // COLUMNS
"""Rows that an instruction accesses."""
BY_CONFIGURATION = 0
"""Mode that SFPU_Fp32_enabled and SrcB's format decide."""
WIDE = {"SFPLOAD": WIDE_LOADS, "SFPLOADMACRO": WIDE_LOADS, "SFPSTORE": WIDE_MODES}
"""Modes of 32-bit words."""
INSTRUCTIONS = frozenset((*OPERATIONS, *WIDE))
"""Every instruction of the Vector unit."""


class Place(NamedTuple):
    """Words of Dst that an instruction reads or writes.

    Attributes
    ----------
    bits, defined : uint16 [units, rows, 16] in the register's order, and bool [rows].
    rows : storage rows of the four, of words of 32 bits those of the upper halves.
    address : 10 bits.
    """

    bits: np.ndarray
    defined: np.ndarray
    rows: np.ndarray
    address: int


def mode_of(mode: int, *, fp32: bool, src_b_format: Format) -> int:
    """Return the mode that the instruction's stands for."""
    if mode != BY_CONFIGURATION:
        return mode
    if fp32:
        return StoreMode.FP32
    return StoreMode.BF16 if src_b_format in EXPONENT8_FORMATS else StoreMode.FP16


def address_of(immediate: int, mode: int, *, dst: int, stack: int = 0) -> int:
    """Return an address of 10 bits; INT32_ALL follows Blackhole's stack pointer, the others the counter of Dst rows.

    Parameters
    ----------
    immediate : the instruction's, plus the math offset.
    dst, stack : RWCs with their bases; of the one that the mode does not follow, two bits count.
    """
    offset = stack + (dst & 3) if mode == StoreMode.INT32_ALL else dst + (stack & 3)
    return (immediate + offset) % DST16_ROWS


def immediate_of(instruction: Instruction) -> int:
    """Return the address field; that of SFPLOADMACRO has no lowest bit, which is the register's highest."""
    address = instruction["address"]
    return address << 1 | instruction["vd_high"] if instruction.name == "SFPLOADMACRO" else address


def execute_load(lanes: Lanes, instruction: Instruction, mode: int, place: Place, numerics: TensixNumerics) -> None:
    """Execute SFPLOAD, or the load of SFPLOADMACRO, in a mode of `mode_of`; a VD of 8 or more loads nothing."""
    from bitpath.golden.tensix.sfpu.access_loop import load

    vd = loaded_register(instruction) if instruction.name == "SFPLOADMACRO" else instruction["vd"]
    if vd in GENERAL:
        load(
            *(lanes.words, lanes.bits, place.bits, place.defined, place.rows),
            *(place.address & ~3, bool(place.address & 2), int(mode), mode in WIDE_LOADS),
            *(mode == StoreMode.INT32_ALL, vd, numerics.sfpu_sign_magnitude),
        )


def execute_store(
    lanes: Lanes,
    instruction: Instruction,
    mode: int,
    place: Place,
    chip: Chip,
    numerics: TensixNumerics,
    *,
    scheduled: bool = False,
) -> None:
    """Execute SFPSTORE in a mode of `mode_of`; lanes may take its word as a template, as `execute` says."""
    from bitpath.golden.tensix.sfpu.access_loop import store

    backdoor = store_template(lanes, instruction, chip, scheduled)
    store(
        *(lanes.words, lanes.bits, place.bits, place.defined, place.rows),
        *(bool(place.address & 2), int(mode), mode in WIDE_MODES, mode == StoreMode.INT32_ALL),
        *(instruction["vd"], numerics.sfpstore_flush, numerics.sfpu_sign_magnitude, backdoor),
    )
