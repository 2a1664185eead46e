"""Configuration and state of the Vector unit: registers of a lane, and those that the four lanes of a column share::

      lanes 0  1  2  3  4  5  6  7      row 0        lane = 8 * row + column
            8  9 10 11 12 13 14 15      row 1
           16 17 18 19 20 21 22 23      row 2
           24 25 26 27 28 29 30 31      row 3

Ref: tt-isa-documentation, VectorUnit, LReg, SFPCONFIG: of Wormhole 3930471, of Blackhole 585749d.
"""

from dataclasses import dataclass

from amaranth import Cat, Mux, Value
from amaranth.lib import data

from bitpath.golden.tensix.declarations.encodings import BY_NAME, OPCODE_LOW
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import (
    COLUMNS,
    GENERAL,
    LANES,
    MISC_BITS,
    PROGRAMMED,
    STACK_DEPTH,
    TEMPLATES,
)
from bitpath.rtl.common.config import UnitConfig

ROWS = LANES // COLUMNS
WORD_BITS = 32
ADDRESS_BITS = 10
"""Bits of an address of Dst: its row without the lower two bits, odd columns in bit 1."""
DATUM_BITS = ADDRESS_BITS + 4
"""Bits of a datum's row and column."""
REGISTERS = len(GENERAL)
"""Registers of a lane that instructions write."""


@dataclass(frozen=True, kw_only=True)
class SfpuConfig(UnitConfig):
    """Configuration of the Vector unit.

    Attributes
    ----------
    chip : decides instructions, modifiers, the multiply-add's rounding and the interlock.
    numerics : fields that begin with ``sfp``, and ``stochastic_compare``.
    """

    chip: Chip = Chip.WORMHOLE
    numerics: TensixNumerics = WORMHOLE.numerics


class LaneConfig(data.Struct):
    """The bits of LaneConfig, which SFPCONFIG writes; comments have the pages' names."""

    fp16_infinity: 1  # ENABLE_FP16A_INF
    no_templates: 1  # DISABLE_BACKDOOR_LOAD
    swap_index: 1  # ENABLE_DEST_INDEX
    load_index: 1  # CAPTURE_DEFAULT_DEST_INDEX
    block_store: 1  # BLOCK_DEST_WR_FROM_SFPU
    block_load: 1  # BLOCK_SFPU_RD_FROM_DEST
    load_odd: 1  # DEST_RD_COL_EXCHANGE
    store_odd: 1  # DEST_WR_COL_EXCHANGE
    invert_swap: 1  # EXCHANGE_SRCB_SRCC
    block_moves: 2  # BLOCK_DEST_MOV
    reserved: 1
    row_mask: ROWS
    reserved_high: 2


class Entry(data.Struct):
    """Predication of a lane: with ``use`` the lane is enabled by its flag, without it always."""

    flag: 1
    use: 1


class Predication(data.Struct):
    """The present flag and its use, and the stack; ``stack[0]`` is the top of ``depth`` entries."""

    current: Entry
    stack: data.ArrayLayout(Entry, STACK_DEPTH)
    depth: range(STACK_DEPTH + 1)


class LaneState(data.Struct):
    """Registers of a lane."""

    registers: data.ArrayLayout(WORD_BITS, REGISTERS)
    predication: Predication
    random: WORD_BITS
    scheduled: WORD_BITS  # LReg 16


class ColumnState(data.Struct):
    """Registers that SFPCONFIG writes, those of the lanes of a column; ``misc`` and below are SFPLOADMACRO's."""

    programmed: data.ArrayLayout(WORD_BITS, len(PROGRAMMED))
    lane_config: LaneConfig
    templates: data.ArrayLayout(WORD_BITS, TEMPLATES)
    sequences: data.ArrayLayout(WORD_BITS, TEMPLATES)
    misc: MISC_BITS


class SfpuState(data.Struct):
    """All registers of the Vector unit but those between the two cycles of an instruction; ``rotated`` is Wormhole's."""

    lanes: data.ArrayLayout(LaneState, LANES)
    columns: data.ArrayLayout(ColumnState, COLUMNS)
    rotated: data.ArrayLayout(WORD_BITS, ROWS)  # VC of each row's last lane in the last SFPSHFT2 that rotated lanes


class SfpuRequest(data.Struct):
    """An instruction. ``address`` is of loads and SFPSTORE; ``implied`` is FP16, BF16 or FP32, for their mode SRCB."""

    word: WORD_BITS
    address: ADDRESS_BITS
    implied: 2


class Operation(data.Struct):
    """An instruction that a sub-unit executes, with its operands b and c and its VD; ``vd`` is 16 for LReg 16. ``mode``, which is
    never SRCB, and ``address`` are of loads and stores. An instruction that is ``scheduled`` becomes no template."""

    valid: 1
    scheduled: 1
    word: WORD_BITS
    b: 4
    c: 4
    vd: 5
    mode: 4
    address: ADDRESS_BITS


class SubUnits(data.Struct):
    """The instructions of a cycle."""

    load: Operation
    simple: Operation
    mad: Operation
    round: Operation
    store: Operation


def opcode(name: str) -> int:
    """Return the opcode of an instruction, which is the same on both chips."""
    return BY_NAME[Chip.BLACKHOLE][name].opcode


def named(word: Value, *names: str) -> Value:
    """Return 1 if a word has the opcode of one of these instructions."""
    return word[OPCODE_LOW:].matches(*map(opcode, names))


LOAD_FORM = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPSTORE", "SFPLUT")
"""Instructions with VD in bits 23 to 20, and the modifier below it; SFPLOADMACRO has its number in two of these bits."""
MULTIPLY_ADDS = ("SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24", "SFPADDI", "SFPMULI", "SFPLUT", "SFPLUTFP32")
"""Instructions of the MAD sub-unit, whose result comes a cycle later."""
LOADS = ("SFPLOAD", "SFPLOADI", "SFPLOADMACRO", "SFPNOP")
"""Instructions of the load sub-unit."""
ROUNDS = ("SFP_STOCH_RND", "SFPSHFT2")
"""Instructions of the round sub-unit; the store sub-unit has SFPSTORE, the simple one the others."""


def destination(word: Value) -> Value:
    """Return VD; of SFPLOADMACRO the register that it loads."""
    own = Mux(named(word, *LOAD_FORM), word[20:24], word[4:8])
    return Mux(named(word, "SFPLOADMACRO"), Cat(word[20:22], word[0]), own)


def modifier(word: Value) -> Value:
    """Return Mod0 or Mod1."""
    return Mux(named(word, *LOAD_FORM), word[16:20], word[0:4])
