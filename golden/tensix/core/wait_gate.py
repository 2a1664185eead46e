"""The wait gate, through which a thread's instructions pass in order: banks, latched waits and their conditions.

An instruction passes if no latched STALLWAIT or SEMWAIT blocks its class and if it has the banks that it uses. A latched wait is
forgotten as soon as all its conditions are met. Units are never busy here, since an instruction ends before the next begins.

Ref: tt-isa-documentation, STALLWAIT and SEMWAIT: of Wormhole 3930471, of Blackhole 0553cc7 and 2537675.
"""

from bitpath.golden.tensix.core.state import State, Wait
from bitpath.golden.tensix.core.unpacr_nop import action
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.isa import Instruction

TDMA, SYNC, PACK, UNPACK, SCALAR, MATH, CONFIG = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 5, 1 << 6, 1 << 7
EVERY = (1 << 9) - 1
"""Bits of the block mask: B0 to B8."""
_MOVES = ("MOVA2D", "MOVB2D", "MOVD2A", "MOVD2B", "MOVB2A", "TRNSPSRCB")
PRODUCTS = ("MVMUL", "DOTPV", "ELWMUL", "ELWADD", "ELWSUB", "GMPOOL", "GAPOOL")
CLASSES = {
    **dict.fromkeys(
        ("SETADC", "SETADCXX", "SETADCXY", "SETADCZW", "INCADCXY", "INCADCZW", "ADDRCRXY", "ADDRCRZW"), TDMA
    ),
    "SETDVALID": TDMA,
    "SETDMAREG": TDMA | SCALAR,
    "PACR": TDMA | PACK,
    **dict.fromkeys(("UNPACR", "UNPACR_NOP"), TDMA | UNPACK),
    **dict.fromkeys((*PRODUCTS, *_MOVES, "ZEROACC", "ZEROSRC", "CLEARDVALID", "SETRWC", "INCRWC"), MATH),
    **dict.fromkeys(("WRCFG", "SETC16", "RMWCIB0", "RMWCIB1", "RMWCIB2", "RMWCIB3"), CONFIG),
    **dict.fromkeys(("SEMINIT", "SEMPOST", "SEMGET", "SEMWAIT"), SYNC),
    "STALLWAIT": EVERY,
}
"""Bits of the block mask that block an instruction; a NOP is blocked by all of them together."""
READS_A = {*PRODUCTS, "MOVA2D"}
READS_B = {*PRODUCTS, "MOVB2D", "MOVB2A", "TRNSPSRCB"}
"""Instructions that wait until the Matrix unit owns its bank of SrcA, and of SrcB."""
BANKS = "a bank of SrcA", "a bank of SrcB", "the Matrix unit's bank of SrcA", "the Matrix unit's bank of SrcB"
"""What unpacker 0, unpacker 1 and the Matrix unit wait for."""
BANK_CONDITIONS = {Chip.WORMHOLE: 8, Chip.BLACKHOLE: 5}
"""First of four condition bits, in the order of `BANKS`."""


def obstacle(state: State, thread: int, instruction: Instruction) -> str | None:
    """Return what an instruction waits for, or None if it may pass the gate."""
    latched = state.waits[thread]
    if latched is not None and _blocks(state.chip, latched, instruction):
        return " and ".join(_unmet(state, latched)) or "a latched wait whose conditions are met"
    if instruction.name in READS_A and not state.src_a.readable:
        return BANKS[2]
    if instruction.name in READS_B and not state.src_b.readable:
        return BANKS[3]
    if instruction.name in ("UNPACR", "UNPACR_NOP"):
        return _unpackers_bank(state, instruction)
    return None


def forget_met_waits(state: State) -> None:
    """Forget each thread's latched wait whose conditions are all met."""
    state.waits = [wait if wait is not None and _unmet(state, wait) else None for wait in state.waits]


def _blocks(chip: Chip, wait: Wait, instruction: Instruction) -> bool:
    if instruction.name == "NOP":
        return wait.block == EVERY
    if instruction.name == "SEMWAIT" and chip is Chip.BLACKHOLE:
        return True
    return bool(wait.block & CLASSES[instruction.name])


def _unpackers_bank(state: State, instruction: Instruction) -> str | None:
    """UNPACR waits for the unpacker's bank; a clearing UNPACR_NOP for the Matrix unit's, unless told to wait like UNPACR."""
    source = state.source(instruction["unpacker"])
    free = source.writable
    if instruction.name == "UNPACR_NOP":
        found = action(state.chip, instruction)
        free = not found.clears or (source.writable if found.waits_like_unpacr else not source.readable)
    return None if free else BANKS[instruction["unpacker"]]


def _unmet(state: State, wait: Wait) -> list[str]:
    """Return the conditions of a latched wait that are not met."""
    found = []
    for number, each in enumerate(state.semaphores):
        if wait.semaphores >> number & 1:
            if wait.while_zero and each.value == 0:
                found.append(f"semaphore {number} above 0")
            if wait.at_maximum and each.value >= each.maximum:
                found.append(f"semaphore {number}, which is {each.value}, below its maximum {each.maximum}")
    banks = state.src_a.writable, state.src_b.writable, state.src_a.readable, state.src_b.readable
    asked = wait.conditions >> BANK_CONDITIONS[state.chip]
    return found + [name for bit, name in enumerate(BANKS) if asked >> bit & 1 and not banks[bit]]
