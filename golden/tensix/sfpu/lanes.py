"""State of the Vector unit: LRegs, lane flags and their stack, random numbers and configuration of 32 lanes."""

from dataclasses import InitVar, dataclass, field
from math import prod

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import (
    BITS,
    CONSTANTS,
    DEPTH,
    FLAGS,
    LANE_CONFIG,
    LANES,
    MISC,
    PRNG,
    PROGRAMMED,
    PROGRAMMED_DEFAULTS,
    REGISTERS,
    ROTATED,
    SEQUENCE,
    STACK_DEPTH,
    STACK_FLAGS,
    STACK_USE_FLAGS,
    TEMPLATE,
    USE_FLAGS,
    WORDS,
)
from bitpath.golden.tensix.operands.arguments import numerics_or_default


@checked
@dataclass(frozen=True)
class Lanes:
    """Lanes of one Vector unit, or of a batch of units that execute the same instructions.

    Every array has the batch's axes and, last, 32 lanes in rows of 8. An instruction writes the arrays in place; so may a caller.

    Parameters
    ----------
    batch : shape of the batch; empty for one unit.
    numerics : its `sfpu_reset_conditional` decides whether flags are set and used after reset; None is `WORMHOLE`'s.

    Attributes
    ----------
    words, bits : all of the state, uint32 [30, units, 32] and bool [19, units, 32].

    Raises
    ------
    TypeError, ValueError : `batch` is no tuple of sizes; numerics of another unit.
    """

    batch: tuple[int, ...] = ()
    numerics: InitVar[TensixNumerics | None] = None
    words: np.ndarray = field(init=False, repr=False)
    bits: np.ndarray = field(init=False, repr=False)

    def __post_init__(self, numerics: TensixNumerics | None) -> None:
        if any(size < 0 for size in self.batch):
            raise ValueError(f"batch must have no negative sizes, not {self.batch}")
        units = prod(self.batch)
        object.__setattr__(self, "words", np.zeros((WORDS, units, LANES), np.uint32))
        object.__setattr__(self, "bits", np.zeros((BITS, units, LANES), bool))
        for register, value in (*CONSTANTS.items(), *zip(PROGRAMMED, PROGRAMMED_DEFAULTS, strict=True)):
            self.words[register] = value
        self.words[15] = 2 * np.arange(LANES)
        self.bits[[FLAGS, USE_FLAGS]] = numerics_or_default(numerics).sfpu_reset_conditional

    def copy(self) -> "Lanes":
        """Return lanes of the same state."""
        copied = Lanes(self.batch)
        copied.words[:], copied.bits[:] = self.words, self.bits
        return copied

    @property
    def lreg(self) -> np.ndarray:
        """LRegs, uint32 [17, ..., 32]; LReg 16 belongs to SFPLOADMACRO's instructions."""
        return self._words(slice(REGISTERS))

    @property
    def prng(self) -> np.ndarray:
        """States of the random numbers, uint32 [..., 32]."""
        return self._words(PRNG)

    @property
    def lane_config(self) -> np.ndarray:
        """LaneConfig, uint32 [..., 32] of 18 bits."""
        return self._words(LANE_CONFIG)

    @property
    def templates(self) -> np.ndarray:
        """LoadMacroConfig's InstructionTemplate, uint32 [4, ..., 32]."""
        return self._words(slice(TEMPLATE, SEQUENCE))

    @property
    def sequences(self) -> np.ndarray:
        """LoadMacroConfig's Sequence, uint32 [4, ..., 32]."""
        return self._words(slice(SEQUENCE, MISC))

    @property
    def misc(self) -> np.ndarray:
        """LoadMacroConfig's Misc, uint32 [..., 32] of 12 bits."""
        return self._words(MISC)

    @property
    def rotated(self) -> np.ndarray:
        """VC of the last SFPSHFT2 that rotated lanes, uint32 [..., 32]."""
        return self._words(ROTATED)

    @property
    def depth(self) -> np.ndarray:
        """Entries of the flag stack, uint32 [..., 32], 0 to 8."""
        return self._words(DEPTH)

    @property
    def flags(self) -> np.ndarray:
        """LaneFlags, bool [..., 32]."""
        return self._bits(FLAGS)

    @property
    def use_flags(self) -> np.ndarray:
        """UseLaneFlagsForLaneEnable, bool [..., 32]."""
        return self._bits(USE_FLAGS)

    @property
    def stack(self) -> tuple[np.ndarray, np.ndarray]:
        """Flags and use_flags of the stack's entries, bool [8, ..., 32] each, the bottom first."""
        entries = (slice(start, start + STACK_DEPTH) for start in (STACK_FLAGS, STACK_USE_FLAGS))
        flags, use_flags = map(self._bits, entries)
        return flags, use_flags

    def _words(self, place: int | slice) -> np.ndarray:
        return _with_batch(self.words[place], self.batch)

    def _bits(self, place: int | slice) -> np.ndarray:
        return _with_batch(self.bits[place], self.batch)


def _with_batch(array: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """Return a view whose axis of units has the batch's shape."""
    return array.reshape(*array.shape[:-2], *batch, LANES)
