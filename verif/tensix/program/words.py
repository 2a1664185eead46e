"""Words of programs by name: instructions, a thread's own fields, and the configuration that threads share."""

from collections.abc import Mapping, Sequence

from bitpath.golden.tensix.declarations.encodings import FIELDS, THREAD_FIELDS
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa import encode

GPR = 4
"""General-purpose register through which the configuration goes."""
PACKED, FREE = 1, 2
"""Semaphores: a tile is ready to be packed; threads 1 and 2 may begin."""


def assembled(chip: Chip, *lines: tuple) -> tuple[int, ...]:
    """Return the words of instructions, each a name and, if it has some, a dictionary of fields."""
    return tuple(encode(line[0], chip=chip, **(line[1] if len(line) > 1 else {})) for line in lines)


def config_lines(chip: Chip, fields: Mapping[str, Sequence[int]]) -> list[tuple]:
    """Return the instructions that set fields, each with the value of each unit; other fields of their registers become 0."""
    registers: dict[int, int] = {}
    for name, values in fields.items():
        for place, value in zip(FIELDS[chip][name], values, strict=True):
            registers[place.register] = registers.get(place.register, 0) | int(value) << place.low
    lines: list[tuple] = []
    for register, value in sorted(registers.items()):
        for half in range(2):
            part = value >> 16 * half & 0xFFFF
            halves = {"value_low": part & 0x3FFF, "value_high": part >> 14, "half_register": 2 * GPR + half}
            lines.append(("SETDMAREG", halves))
        lines.append(("WRCFG", {"gpr": GPR, "register": register}))
    return lines


def own_field(chip: Chip, name: str, value: int, number: int = 0) -> dict[str, int]:
    """Return the fields of a SETC16 that sets a field of the thread."""
    place = THREAD_FIELDS[chip][name][number]
    return {"register": place.register, "value": value << place.low}


def begin_lines() -> list[tuple]:
    """Wait until the configuration is written."""
    return [
        ("SEMWAIT", {"block": 1, "semaphores": 1 << FREE, "while_zero": 1}),
        ("SEMGET", {"semaphores": 1 << FREE}),
    ]
