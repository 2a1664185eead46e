"""Configuration registers of a core: two banks that the threads share, and each thread's own.

A thread's field ``state_id`` names the bank that its instructions read and write; registers from `SHARED_FROM` on exist once.

Ref: tt-isa-documentation 3930471, BackendConfiguration, WRCFG, RMWCIB and SETC16.
"""

from functools import cache

from bitpath.golden.tensix.core.errors import UndefinedBehavior
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.config_fields import (
    FIELDS,
    REGISTERS,
    SHARED_FROM,
    THREAD_FIELDS,
    THREAD_REGISTERS,
    Fields,
)

THREADS = 3
BANKS = 2


class ConfigFile:
    """The registers of a core, all 0 at first.

    Attributes
    ----------
    registers : words of 32 bits, ``registers[bank][number]``.
    thread_registers : words of 16 bits, ``thread_registers[thread][number]``.
    """

    def __init__(self, chip: Chip):
        self.chip = chip
        self.registers = [[0] * REGISTERS[chip] for _ in range(BANKS)]
        self.thread_registers = [[0] * THREAD_REGISTERS[chip] for _ in range(THREADS)]

    def read(self, field: str, thread: int, unit: int = 0) -> int:
        """Return a field of the bank that a thread uses; 0 on a chip that has no such field.

        Parameters
        ----------
        unit : unpacker or packer, for a field that each of them has.
        """
        places = FIELDS[self.chip][field]
        if not places:
            return 0
        place = places[unit]
        return (self.registers[self._bank(thread)][place.register] & place.mask) >> place.low

    def of_thread(self, field: str, thread: int, number: int = 0) -> int:
        """Return a thread's own field, or the word of its address modifier `number`; 0 on a chip that has no such field."""
        places = THREAD_FIELDS[self.chip][field]
        if not places:
            return 0
        place = places[number]
        return (self.thread_registers[thread][place.register] & place.mask) >> place.low

    def write(self, thread: int, register: int, value: int, mask: int = 0xFFFFFFFF) -> None:
        """Write the bits of `mask` of a register in the bank that a thread uses.

        Raises
        ------
        UndefinedBehavior, ValueError : as `check`.
        """
        self.check(register, value & mask)
        banks = range(BANKS) if register >= SHARED_FROM[self.chip] else (self._bank(thread),)
        for bank in banks:
            old = self.registers[bank][register]
            self.registers[bank][register] = value & mask | old & ~mask

    def check(self, register: int, value: int) -> None:
        """Raise where these bits of a register may not be written.

        Raises
        ------
        UndefinedBehavior : the chip has no such register.
        ValueError : 1 in a bit that no modelled field has.
        """
        if register >= REGISTERS[self.chip]:
            last = REGISTERS[self.chip] - 1
            raise UndefinedBehavior(f"the configuration register must be 0 to {last}, not {register}")
        _check_bits(f"configuration register {register}", value, _modelled(self.chip, False).get(register, 0))

    def write_thread(self, thread: int, register: int, value: int) -> None:
        """Write a register of a thread's own.

        Raises
        ------
        UndefinedBehavior, ValueError : as `write`.
        """
        if register >= THREAD_REGISTERS[self.chip]:
            last = THREAD_REGISTERS[self.chip] - 1
            raise UndefinedBehavior(f"the thread register must be 0 to {last}, not {register}")
        _check_bits(f"thread register {register}", value, _modelled(self.chip, True).get(register, 0))
        self.thread_registers[thread][register] = value

    def _bank(self, thread: int) -> int:
        return self.of_thread("state_id", thread)


def _check_bits(what: str, value: int, known: int) -> None:
    if stray := value & ~known:
        raise ValueError(f"{what} must be 0 in the bits that golden does not model, {stray:#x}, not {value:#x}")


@cache
def _modelled(chip: Chip, of_thread: bool) -> dict[int, int]:
    """Return the bits of each register that have a field."""
    table: Fields = (THREAD_FIELDS if of_thread else FIELDS)[chip]
    masks: dict[int, int] = {}
    for places in table.values():
        for place in places:
            masks[place.register] = masks.get(place.register, 0) | place.mask
    return masks
