"""Straight-line programs of the Vector unit on Dst tiles of a batch, each instruction once for all of them.

::

    words -> replay expander -> SFP instructions, INCRWC, SETRWC

Units of a batch share their counters and their configuration, which is that of `Batch`.

Ref: tt-isa-documentation, SFPLOAD and SFPSTORE; RWCs; REPLAY.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_shape, checked
from bitpath.golden.tensix.declarations.encodings import MODIFIERS
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST32,
    EXPONENT8_FORMATS,
    Chip,
    Format,
    WordLayout,
)
from bitpath.golden.tensix.declarations.numerics import CHIP_PRESETS, TensixNumerics
from bitpath.golden.tensix.isa import Instruction, ReplayExpander, decode
from bitpath.golden.tensix.operands.arguments import check_width, format_member
from bitpath.golden.tensix.operands.counters import Modifier, Rwc, apply_modifier, incrwc, modifier_number, setrwc
from bitpath.golden.tensix.operands.registers import from_physical, to_physical
from bitpath.golden.tensix.sfpu.access import (
    INSTRUCTIONS,
    ROWS,
    WIDE,
    Place,
    address_of,
    execute_load,
    execute_store,
    immediate_of,
    mode_of,
)
from bitpath.golden.tensix.sfpu.clock import Clock
from bitpath.golden.tensix.sfpu.execute import execute
from bitpath.golden.tensix.sfpu.lanes import Lanes


@dataclass(kw_only=True)
class Batch:
    """Vector units with a Dst each, which execute the same words.

    Attributes
    ----------
    lanes : the units' lanes.
    bits : their Dst registers in the register's order, uint16 [units, rows, 16].
    fp32, src_b_format : ALU_ACC_CTRL_SFPU_Fp32_enabled and SrcB's format, which decide the mode 0 of loads and stores.
    rwc, modifiers : counters, and the eight address modifiers.
    """

    chip: Chip
    numerics: TensixNumerics
    lanes: Lanes
    bits: np.ndarray
    fp32: bool = False
    src_b_format: Format = Format.BF16
    rwc: Rwc = field(default_factory=Rwc)
    modifiers: Sequence[Modifier] = (Modifier(),) * MODIFIERS
    _expander: ReplayExpander = field(default_factory=ReplayExpander, repr=False)
    _clock: Clock = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._clock = Clock(self.chip)

    def execute(self, word: int) -> None:
        """Execute a word.

        Raises
        ------
        UndefinedBehavior : as of `golden.tensix.sfpu.execute`.
        ValueError : no instruction of the Vector unit, REPLAY, INCRWC, SETRWC or NOP; a Dst row that the tiles do not have.
        """
        for each in self._expander.feed(word):
            instruction = decode(each, chip=self.chip)
            vector = instruction.name in INSTRUCTIONS
            if not vector:
                self._count(instruction)
            if self._clock.active or instruction.name == "SFPLOADMACRO":
                self._clock.issue(instruction if vector else None, self.lanes, self._perform)
            elif vector:
                self._perform(self.lanes, instruction)

    def finish(self) -> None:
        """Execute the instructions that SFPLOADMACRO has scheduled for cycles behind the last word."""
        self._clock.finish(self.lanes, self._perform)

    def _count(self, instruction: Instruction) -> None:
        match instruction.name:
            case "INCRWC":
                self.rwc = incrwc(self.rwc, **instruction.fields)
            case "SETRWC":
                counters = {name: value for name, value in instruction.fields.items() if name != "flip"}
                self.rwc = setrwc(self.rwc, **counters)
            case "NOP":
                pass
            case name:
                raise ValueError(f"an instruction must be the Vector unit's, INCRWC, SETRWC or NOP, not {name}")

    def _perform(
        self, lanes: Lanes, instruction: Instruction, scheduled: bool = False, address: int | None = None
    ) -> int | None:
        if instruction.name in WIDE:
            return self._access(lanes, instruction, address if scheduled else None)
        execute(lanes, instruction, self.chip, self.numerics, scheduled=scheduled)
        return None

    def _access(self, lanes: Lanes, instruction: Instruction, scheduled: int | None) -> int:
        """Execute a load or store, a scheduled store at its address; return the address."""
        mode = mode_of(instruction["mod"], fp32=self.fp32, src_b_format=self.src_b_format)
        address = address_of(immediate_of(instruction), mode, dst=self.rwc.dst) if scheduled is None else scheduled
        first, wide = address & ~3, mode in WIDE[instruction.name]
        rows = np.arange(first, first + ROWS)
        if wide:
            rows = (rows & 0x1F8) << 1 | rows & 0x207
        held = self.bits.shape[1]
        if int(rows[-1]) + (BLOCK_ROWS if wide else 0) >= held:
            raise ValueError(
                f"Dst rows must be in the tiles' {held} rows of 16 bits in {instruction}, not from {first} on"
            )
        place = Place(self.bits, np.ones(held, bool), rows, address)
        if instruction.name == "SFPSTORE":
            own = scheduled is not None
            execute_store(lanes, instruction, mode, place, self.chip, self.numerics, scheduled=own)
            if own:
                return address
        else:
            execute_load(lanes, instruction, mode, place, self.numerics)
        index = modifier_number(self.rwc, instruction["modifier"], chip=self.chip)
        if self.modifiers[index] != Modifier():
            self.rwc = apply_modifier(self.rwc, self.modifiers[index], chip=self.chip, fidelity=False)
        return address


@checked
def run(
    words: Sequence[int],
    tiles: np.ndarray,
    *,
    fp32: bool = False,
    src_b_format: Format | int | str = Format.BF16,
    lanes: Lanes | None = None,
    chip: Chip | str = Chip.WORMHOLE,
    numerics: TensixNumerics | None = None,
) -> np.ndarray:
    """Return Dst tiles after a straight-line program, which starts at their row 0.

    Parameters
    ----------
    words : instructions of the Vector unit, REPLAY, INCRWC, SETRWC and NOP; address modifiers add nothing.
    tiles : logical words, uint32 [..., rows, 16], rows a multiple of 8: of 32 bits with `fp32`, else of 16, BF16 or FP16 by
        `src_b_format`.
    fp32, src_b_format : they decide mode 0 of SFPLOAD and SFPSTORE.
    lanes : the units' lanes, in a batch of the leading axes; the program changes them. None starts after reset.
    numerics : None is those of the chip's preset.

    Returns
    -------
    uint32 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; words too wide; lanes of another batch; a word that the program may not have.
    UndefinedBehavior : a page of the instruction set calls what a word does undefined.
    """
    chip, src_b_format = Chip(chip), format_member("src_b_format", src_b_format)
    numerics = CHIP_PRESETS[chip].numerics if numerics is None else numerics
    check_array("tiles", tiles, np.uint32)
    check_shape("tiles", tiles, "...", "rows", COLUMNS)
    if tiles.shape[-2] % BLOCK_ROWS or not tiles.shape[-2]:
        raise ValueError(f"tiles must have a multiple of {BLOCK_ROWS} rows, not {tiles.shape[-2]}")
    check_width("tiles", tiles, 32 if fp32 else 16)
    batch = tiles.shape[:-2]
    lanes = Lanes(batch, numerics) if lanes is None else lanes
    if lanes.batch != batch:
        raise ValueError(f"lanes must be of the batch {batch}, not {lanes.batch}")
    layout = DST32 if fp32 else DST16_BF16 if src_b_format in EXPONENT8_FORMATS else DST16_FP16
    units = Batch(
        chip=chip,
        numerics=numerics,
        lanes=lanes,
        bits=_physical(tiles.reshape(-1, *tiles.shape[-2:]), layout),
        fp32=fp32,
        src_b_format=src_b_format,
    )
    for number, word in enumerate(words):
        try:
            units.execute(word)
        except ValueError as error:
            raise type(error)(f"words[{number}]: {error}") from None
    units.finish()
    return _logical(units.bits, layout).reshape(tiles.shape)


def _physical(words: np.ndarray, layout: WordLayout) -> np.ndarray:
    """Return logical words [units, rows, 16] as Dst's bits, uint16; of 32-bit words the lower halves follow in blocks of 8 rows."""
    bits = to_physical(words, layout)
    if layout is not DST32:
        return bits.astype(np.uint16)
    blocks = bits.reshape(len(words), -1, 1, BLOCK_ROWS, COLUMNS)
    halves = np.concatenate([blocks >> 16, blocks & 0xFFFF], axis=2)
    return halves.reshape(len(words), -1, COLUMNS).astype(np.uint16)


def _logical(bits: np.ndarray, layout: WordLayout) -> np.ndarray:
    """Return the words of `_physical`'s bits."""
    words = bits.astype(np.uint32)
    if layout is not DST32:
        return from_physical(words, layout)
    upper, lower = np.moveaxis(words.reshape(len(bits), -1, 2, BLOCK_ROWS, COLUMNS), 2, 0)
    return from_physical(upper << 16 | lower, layout).reshape(len(bits), -1, COLUMNS)
