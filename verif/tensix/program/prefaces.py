"""Words before a program: every register of the configuration, counters and semaphores in random use, then configuration of zeros.

A thread takes semaphores of its own, other than those by which threads of a program wait for each other.
"""

from collections.abc import Iterator
from random import Random

from bitpath.golden.tensix.declarations.encodings import BY_NAME, FIELDS, THREAD_FIELDS, Fields
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, DST32_ROWS, FACE, Chip
from bitpath.golden.tensix.isa import encode
from bitpath.rtl.tensix.core.config_file import known_bits
from bitpath.rtl.tensix.core.decode import ADC, RWC
from bitpath.verif.tensix.program.golden_core import MATH
from bitpath.verif.tensix.program.programs import THREADS
from bitpath.verif.tensix.program.words import GPR, assembled, own_field

SEMAPHORES = (1 << 0 | 1 << 3, 1 << 4 | 1 << 5, 1 << 6 | 1 << 7)
"""Semaphores of each thread."""


def preface(rng: Random, chip: Chip, thread: int) -> tuple[int, ...]:
    """Return a thread's words; thread 0 writes both banks of the configuration, and the thread of the Matrix unit clears Dst."""
    words = [*_own_registers(chip, ones=True), *_counting(rng, chip, thread), *_own_registers(chip, ones=False)]
    if thread == 0:
        for bank in (1, 0):
            words += [encode("SETC16", chip=chip, **own_field(chip, "state_id", bank)), *_shared_registers(chip)]
    if thread == MATH:
        words += _blocks(chip)
    return tuple(words)


def _own_registers(chip: Chip, *, ones: bool) -> Iterator[int]:
    """All fields of a thread's own but the bank, which stays 0, as ones or zeros."""
    table: Fields = {name: places for name, places in THREAD_FIELDS[chip].items() if name != "state_id"}
    for register, bits in known_bits(table).items():
        yield encode("SETC16", chip=chip, register=register, value=bits if ones else 0)


def _shared_registers(chip: Chip) -> Iterator[int]:
    """All fields of the bank as ones, register by register, then byte by byte as zeros."""
    for register, bits in known_bits(FIELDS[chip]).items():
        for half in range(2):
            part = bits >> 16 * half & 0xFFFF
            fields = {"value_low": part & 0x3FFF, "value_high": part >> 14, "half_register": 2 * GPR + half}
            yield encode("SETDMAREG", chip=chip, **fields)
        yield from assembled(
            chip,
            ("WRCFG", {"gpr": GPR, "register": register}),
            *((f"RMWCIB{byte}", {"register": register, "mask": bits >> 8 * byte & 0xFF}) for byte in range(4)),
        )


def _counting(rng: Random, chip: Chip, thread: int) -> Iterator[int]:
    """Random uses of the counters and of the thread's semaphores."""
    for _ in range(60):
        name = rng.choice((*ADC, *RWC, "SEMINIT", "SEMPOST", "SEMGET", "SEMPOST", "SEMGET"))
        fields = {each.name: rng.getrandbits(each.width) for each in BY_NAME[chip][name].fields}
        if "semaphores" in fields:
            fields["semaphores"] &= SEMAPHORES[thread]
        if "flip" in fields:
            fields["flip"] = 0
        yield encode(name, chip=chip, **fields)


def _blocks(chip: Chip) -> Iterator[int]:
    """ZEROACCs of every 16 rows in both widths, and of a row of each."""
    for block in range(DST16_ROWS // FACE):
        yield encode("ZEROACC", chip=chip, mode=0, operand=block * FACE + block % FACE)
        yield encode("ZEROACC", chip=chip, mode=1, operand=block)
        if block < DST32_ROWS // FACE:
            yield encode("ZEROACC", chip=chip, mode=1, operand=block, dst32=1)


def with_preface(rng: Random, chip: Chip, words: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """Return the words of all threads behind their prefaces."""
    return tuple((*preface(rng, chip, thread), *words[thread]) for thread in range(THREADS))
