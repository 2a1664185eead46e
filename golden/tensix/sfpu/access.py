"""SFPLOAD and SFPSTORE: conversions of words by mode, addresses, and the rows and columns of lanes in Dst.

Lane l's word is in row l // 8 of the four that the address names, column 2 * (l % 8) or, with odd columns, the next one::

     9            2  1   0
    +--------------+---+---+
    |  4-row block |odd| - |
    +--------------+---+---+

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE: of Wormhole 1392d23 and 545c98a, of Blackhole 0f3f6b7; ttsim v1.10.0 for FP32
denormals on Wormhole.
"""

from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_broadcast, checked
from bitpath.golden.arrays.parallel import owned
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, EXPONENT8_FORMATS, Chip, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import (
    BY_CONFIGURATION,
    COLUMNS,
    GENERAL,
    HALF_LOADS,
    LANES,
    WIDE_LOADS,
    WIDE_STORES,
    StoreMode,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.operands.arguments import check_width, numbered_member, numerics_or_default
from bitpath.golden.tensix.sfpu.execute import OPERATIONS, store_template
from bitpath.golden.tensix.sfpu.lanes import Lanes
from bitpath.golden.tensix.sfpu.macro import loaded_register

ROWS = LANES // COLUMNS
"""Rows that an instruction accesses."""
WIDE = {"SFPLOAD": WIDE_LOADS, "SFPLOADMACRO": WIDE_LOADS, "SFPSTORE": WIDE_STORES}
"""Loads and stores, each with its modes of 32-bit words."""
INSTRUCTIONS = frozenset((*OPERATIONS, *WIDE))
"""Every instruction of the Vector unit."""


# Words without Dst.


@checked
def sfpload(
    words: np.ndarray,
    mode: StoreMode | int | str,
    *,
    lanes: np.ndarray | None = None,
    fp16_infinity: bool = False,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Return the lanes of Dst words; the words of lane l are in the place where `sfpstore` writes it.

    ================  =================================================================================
    mode              lane
    ================  =================================================================================
    FP16              FP32; a zero exponent stays zero and the fraction stays
    BF16, HI16        the word above 16 zeros (HI16: *)
    FP32, INT32       the word; so are INT32_ALL, and INT32_SM unless it is made two's complement
    INT8              sign and 7 magnitude bits, or 8, of the FP16 fraction
    INT8_COMP         sign and 10 magnitude bits of it, or their two's complement
    INT16             sign and 15 magnitude bits (*)
    UINT16, LO16      the word below 16 zeros (*)
    LO16_ONLY         the same, with the upper 16 bits of `lanes` (*)
    HI16_ONLY         the word above the lower 16 bits of `lanes` (*)
    ZERO              0
    ================  =================================================================================

    `numerics.sfpu_sign_magnitude` makes INT32_SM and INT8_COMP two's complement and gives INT8 7 bits.

    Parameters
    ----------
    words : uint32 of any shape: logical words of 32 bits for `WIDE_LOADS`, else of 16; those of (*) in the register's order.
    mode : a `StoreMode`, its number or its name.
    lanes : uint32 of the lanes before, for `HALF_LOADS` alone.
    fp16_infinity : True if FP16's code of all ones becomes an infinity, as with the lanes' ENABLE_FP16A_INF.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the common shape of `words` and `lanes`.

    Raises
    ------
    TypeError, ValueError : another dtype or mode; words of more bits; `lanes` given or missing; shapes that do not broadcast.
    """
    from bitpath.golden.tensix.sfpu.access_loop import load_words

    numerics = numerics_or_default(numerics, chip)
    mode = numbered_member("mode", mode, StoreMode)
    check_array("words", words, np.uint32)
    check_width("words", words, 32 if mode in WIDE_LOADS else 16)
    if (lanes is not None) != (mode in HALF_LOADS):
        given = "None" if lanes is None else "an array"
        raise ValueError(f"lanes must be given with LO16_ONLY and HI16_ONLY alone, not {given} with {mode.name}")
    lanes = words if lanes is None else lanes
    check_array("lanes", lanes, np.uint32)
    shape = check_broadcast(words=words.shape, lanes=lanes.shape)
    words, lanes = (owned(np.broadcast_to(each, shape)) for each in (words, lanes))
    result = np.empty(shape, np.uint32)
    load_words(words.ravel(), lanes.ravel(), int(mode), fp16_infinity, numerics.sfpu_sign_magnitude, result.ravel())
    return result


@checked
def sfpstore(
    lanes: np.ndarray,
    mode: StoreMode | int | str,
    *,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> np.ndarray:
    """Return the Dst words of lanes; lane l goes to row l // 8 of four rows, and to column 2 * (l % 8) or the one after it.

    =================  ================================================================================
    mode               word
    =================  ================================================================================
    FP16               FP16, truncated; exponents too small give a signed zero, too large 0x7FFF
    BF16               the upper 16 bits; denormals give a signed zero
    FP32               the lane; denormals give a signed zero by `numerics.sfpstore_flush`
    INT32, INT32_ALL   the lane
    INT32_SM           the lane, or its two's complement as sign and magnitude
    INT8, INT8_COMP    sign and 10 magnitude bits with the exponent 16; of INT8_COMP perhaps two's complement
    INT16              sign and 15 magnitude bits (*)
    UINT16, LO16_ONLY  the lower 16 bits (*)
    HI16_ONLY          the upper 16 bits (*)
    HI16               the lane as the register holds it, in the logical order
    LO16               the same with both halves exchanged
    ZERO               0
    =================  ================================================================================

    Parameters
    ----------
    lanes : uint32 of any shape.
    mode : a `StoreMode`, its number or its name.
    numerics, chip : one of both, or neither: None is `WORMHOLE`'s; a chip stands for its preset's.

    Returns
    -------
    uint32 of the same shape: logical words of 32 bits for `WIDE_STORES`, else of 16; those of (*) in the register's order.

    Raises
    ------
    TypeError, ValueError : another dtype or mode.
    """
    from bitpath.golden.tensix.sfpu.access_loop import store_words

    numerics = numerics_or_default(numerics, chip)
    check_array("lanes", lanes, np.uint32)
    mode = numbered_member("mode", mode, StoreMode)
    result = np.empty(lanes.shape, np.uint32)
    flags = numerics.sfpstore_flush, numerics.sfpu_sign_magnitude
    store_words(owned(lanes).ravel(), int(mode), *flags, result.ravel())
    return result


# Words of Dst: where an instruction finds them.


class Place(NamedTuple):
    """Words of Dst that an instruction reads or writes.

    Attributes
    ----------
    bits, defined : uint16 [units, rows, 16] in the register's order, and bool [rows].
    rows : the four rows in storage; of 32-bit words, those of the upper halves.
    address : 10 bits.
    """

    bits: np.ndarray
    defined: np.ndarray
    rows: np.ndarray
    address: int


def mode_of(mode: int, *, fp32: bool, src_b_format: Format) -> int:
    """Return the mode of an instruction; `BY_CONFIGURATION` becomes FP32, BF16 or FP16."""
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
    dst, stack : both RWCs with their bases. INT32_ALL adds `stack` and two bits of `dst`, the other modes `dst` and two bits of
        `stack`.
    """
    offset = stack + (dst & 3) if mode == StoreMode.INT32_ALL else dst + (stack & 3)
    return (immediate + offset) % DST16_ROWS


def immediate_of(instruction: Instruction) -> int:
    """Return the immediate; SFPLOADMACRO has its lowest bit in the highest bit of the register's number."""
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
    """Execute SFPSTORE in a mode of `mode_of`; lanes may store its word as a template instead, as in `execute`."""
    from bitpath.golden.tensix.sfpu.access_loop import store

    backdoor = store_template(lanes, instruction, chip, scheduled)
    store(
        *(lanes.words, lanes.bits, place.bits, place.defined, place.rows),
        *(bool(place.address & 2), int(mode), mode in WIDE_STORES, mode == StoreMode.INT32_ALL),
        *(instruction["vd"], numerics.sfpstore_flush, numerics.sfpu_sign_magnitude, backdoor),
    )
