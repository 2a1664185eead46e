"""UNPACR_NOP and SETDVALID: clear a bank of SrcA or SrcB, or hand it over as it is.

Wormhole's field ``what`` is 1 or 5 to clear to 0 or to minus infinity, 7 to hand over, 2 for nothing. Blackhole's ``pop`` is 1 to
clear (``value`` 0 or 1), 2 for nothing, and ``set_valid`` hands over besides.

Ref: tt-llk 36b092e; ttsim v1.10.0; tt-isa-documentation 3930471, SETDVALID.
"""

from typing import NamedTuple

from bitpath.golden.tensix.core.errors import UndefinedBehavior
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.isa import Instruction

MINUS_INFINITY = 0x7FFFF
"""A word of SrcA that is below every other."""


class Action(NamedTuple):
    """What an UNPACR_NOP does.

    Attributes
    ----------
    clears : True if it clears the unpacker's bank.
    word : what it writes there.
    waits_like_unpacr : True if it waits for the unpacker's bank, False for the Matrix unit's.
    hands_over : True if it gives the bank to the Matrix unit.
    """

    clears: bool
    word: int
    waits_like_unpacr: bool
    hands_over: bool


_WORMHOLE = {
    1: Action(True, 0, False, False),
    2: Action(False, 0, False, False),
    5: Action(True, MINUS_INFINITY, False, False),
    7: Action(False, 0, False, True),
}
_CLEARS = {1: True, 2: False}
_VALUES = {0: 0, 1: MINUS_INFINITY}


def action(chip: Chip, instruction: Instruction) -> Action:
    """Return what an UNPACR_NOP does.

    Raises
    ------
    ValueError : golden does not model it.
    """
    if chip is Chip.WORMHOLE:
        found = _WORMHOLE.get(instruction["what"])
        if found is None:
            raise ValueError(f"what must be 1, 2, 5 or 7 in UNPACR_NOP, not {instruction['what']}")
    else:
        if instruction["pop"] not in _CLEARS or instruction["value"] not in _VALUES or instruction["bank"]:
            raise ValueError(f"pop must be 1 or 2, value 0 or 1 and bank 0 in UNPACR_NOP, not as in {instruction}")
        word = _VALUES[instruction["value"]]
        found = Action(_CLEARS[instruction["pop"]], word, bool(instruction["stall"]), bool(instruction["set_valid"]))
    if found.clears and found.word and instruction["unpacker"]:
        raise ValueError("unpacker must be 0 in an UNPACR_NOP that clears to minus infinity, not 1")
    return found


def unpacr_nop(state: State, thread: int, instruction: Instruction) -> None:
    """Execute UNPACR_NOP."""
    found, unpacker = action(state.chip, instruction), instruction["unpacker"]
    source = state.source(unpacker)
    if found.clears:
        source.written[:] = found.word
    if found.hands_over:
        source.hand_over(state.config.read("unpack_out_format", thread, unpacker))


def setdvalid(state: State, _: int, instruction: Instruction) -> None:
    """Execute SETDVALID.

    Raises
    ------
    UndefinedBehavior : on Blackhole, where the bank's implied format would be undefined.
    """
    if state.chip is Chip.BLACKHOLE:
        raise UndefinedBehavior("a bank must be handed over by UNPACR or UNPACR_NOP on blackhole, not by SETDVALID")
    for unpacker in range(2):
        if instruction["sources"] >> unpacker & 1:
            state.source(unpacker).hand_over(None)
