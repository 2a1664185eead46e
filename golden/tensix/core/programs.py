"""Programs for a core: words of three threads, their MOP configurations, and L1 before; instructions that configure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bitpath.golden.tensix.core.core import Core
from bitpath.golden.tensix.core.state import THREADS
from bitpath.golden.tensix.declarations.encodings import FIELDS, MOP_WORDS, THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa import encode

UNPACK, MATH, PACK = range(THREADS)
"""Threads as kernels use them."""
GPR = 4
"""General-purpose register through which the configuration goes."""
LEFT, RIGHT, RESULT = 0x10000, 0x20000, 0x30000
"""Addresses in L1 of short programs' operands and result."""

Line = tuple
"""An instruction: its name and, if it has some, a dictionary of fields."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CoreProgram:
    """A program that a core runs.

    Attributes
    ----------
    words, mops : the words that each thread is pushed, and its nine MOP words.
    memory : addresses, multiples of 64, and bytes of L1 before.
    result : address and number of the result's bytes.
    """

    words: tuple[tuple[int, ...], ...]
    mops: tuple[tuple[int, ...], ...] = ((0,) * MOP_WORDS,) * THREADS
    memory: tuple[tuple[int, np.ndarray], ...] = ()
    result: tuple[int, int] = (RESULT, 0)

    def turned(self, places: int) -> "CoreProgram":
        """Return the program with each thread's part moved `places` threads further."""
        order = [(thread - places) % THREADS for thread in range(THREADS)]
        words, mops = (tuple(each[thread] for thread in order) for each in (self.words, self.mops))
        return replace(self, words=words, mops=mops)

    def prepare(self, core: Core) -> None:
        """Write the program's memory and MOP words to a core; nothing is pushed."""
        for address, content in self.memory:
            core.l1[address : address + content.size] = content
        for thread in range(THREADS):
            core.mop_config(thread, self.mops[thread])

    def push(self, core: Core) -> None:
        """Push the words to a core."""
        for thread in range(THREADS):
            core.push(thread, self.words[thread])

    def result_of(self, core: Core) -> np.ndarray:
        """Return the result's bytes in a core's L1."""
        address, size = self.result
        return core.l1[address : address + size].copy()


def assembled(chip: Chip, *lines: Line) -> tuple[int, ...]:
    """Return the words of instructions."""
    return tuple(encode(line[0], chip=chip, **(line[1] if len(line) > 1 else {})) for line in lines)


def config_lines(chip: Chip, fields: Mapping[str, Sequence[int]]) -> list[Line]:
    """Return the instructions that set fields, each with the value of each unit; other fields of their registers become 0."""
    lines: list[Line] = []
    for register, value in sorted(_registers(chip, fields).items()):
        for half in range(2):
            part = value >> 16 * half & 0xFFFF
            halves = {"value_low": part & 0x3FFF, "value_high": part >> 14, "half_register": 2 * GPR + half}
            lines.append(("SETDMAREG", halves))
        lines.append(("WRCFG", {"gpr": GPR, "register": register}))
    return lines


def change_lines(chip: Chip, before: Mapping[str, Sequence[int]], changes: Mapping[str, Sequence[int]]) -> list[Line]:
    """Return the instructions that change fields, byte by byte; they write only bits that differ from the values before."""
    old, new = (_registers(chip, {name: values[name] for name in changes}) for values in (before, changes))
    lines: list[Line] = []
    for register, value in sorted(new.items()):
        differing = value ^ old[register]
        for byte in range(4):
            mask, data = (each >> 8 * byte & 0xFF for each in (differing, value & differing))
            if mask:
                lines.append((f"RMWCIB{byte}", {"mask": mask, "data": data, "register": register}))
    return lines


def _registers(chip: Chip, fields: Mapping[str, Sequence[int]]) -> dict[int, int]:
    """Return the registers of fields, each with the value of each unit."""
    registers: dict[int, int] = {}
    for name, values in fields.items():
        for place, value in zip(FIELDS[chip][name], values, strict=True):
            registers[place.register] = registers.get(place.register, 0) | int(value) << place.low
    return registers


def own_field(chip: Chip, name: str, value: int, number: int = 0) -> dict[str, int]:
    """Return the fields of a SETC16 that sets a field of the thread."""
    place = THREAD_FIELDS[chip][name][number]
    return {"register": place.register, "value": value << place.low}
