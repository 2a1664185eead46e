"""Instructions as words and as names with fields: `decode` and `encode`."""

from dataclasses import dataclass
from functools import lru_cache

from bitpath.golden.arrays.arguments import check_choice, checked, integer, one_of, suggestion
from bitpath.golden.tensix.declarations.encodings import BY_NAME, BY_OPCODE, OPCODE_LOW, OTHERS, WORD_BITS, Encoding
from bitpath.golden.tensix.declarations.formats import Chip

DECODED = 1 << 14
"""Words whose instructions are remembered."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """A decoded instruction: ``instruction["dst"]`` is a field, ``str(instruction)`` its line of text.

    Attributes
    ----------
    fields : value of each field of the chip's encoding, in the order of the table.
    """

    name: str
    fields: dict[str, int]

    def __getitem__(self, field: str) -> int:
        return self.fields[field]

    def __str__(self) -> str:
        return f"{self.name} {', '.join(f'{name}={value}' for name, value in self.fields.items() if value)}".rstrip()


@checked
def decode(word: int, *, chip: Chip | str = Chip.WORMHOLE) -> Instruction:
    """Return the instruction that a word of 32 bits encodes.

    Raises
    ------
    TypeError, ValueError : no integer of 32 bits, another chip, an opcode that is unknown or not modelled, bits outside the
        instruction's fields.
    """
    return _decoded(integer("word", word, range(1 << WORD_BITS)), Chip(chip))


def _decoded(word: int, chip: Chip) -> Instruction:
    opcode = word >> OPCODE_LOW
    encoding = BY_OPCODE[chip].get(opcode)
    if encoding is None:
        if other := OTHERS[chip].get(opcode):
            raise ValueError(f"word must be a modelled instruction, not {other} of {chip.value} (opcode {opcode:#04x})")
        raise ValueError(f"word must have the opcode of an instruction in bits 31:24, not {opcode:#04x}")
    if stray := word & ~encoding.used_bits:
        bits = ", ".join(str(bit) for bit in reversed(range(WORD_BITS)) if stray >> bit & 1)
        raise ValueError(f"word must be 0 in bits of no field of {encoding.name}, not 1 in {bits}: {word:#010x}")
    return Instruction(
        name=encoding.name,
        fields={each.name: word >> each.low & (1 << each.width) - 1 for each in encoding.fields},
    )


decoded = lru_cache(DECODED)(_decoded)
"""`decode` of a Python int and a chip, which are not checked; equal words have one instruction, which nobody may change."""


@checked
def encode(name: str, *, chip: Chip | str = Chip.WORMHOLE, **fields: int) -> int:
    """Return the word of 32 bits that encodes an instruction; fields that are not given are 0.

    Raises
    ------
    TypeError, ValueError : an instruction that is unknown or not modelled, another chip; a field that the chip's encoding has
        not, or too large a value.
    """
    return word_of(name, fields, Chip(chip))


def word_of(name: str, fields: dict[str, int], chip: Chip) -> int:
    """Return the word of an instruction whose fields are in a dictionary; `encode` lists the errors that it raises."""
    encoding = encoding_of(name, chip)
    known = [each.name for each in encoding.fields]
    for field in fields:
        if field not in known:
            what = f"one of its fields {', '.join(known)}" if known else "no argument, as it has no fields"
            raise ValueError(f"an argument of {name} must be {what}, not {field}{suggestion(field, known)}")
    word = encoding.opcode << OPCODE_LOW
    for each in encoding.fields:
        allowed = range(1 << each.width)
        word |= integer(each.name, fields.get(each.name, 0), allowed, f" in {name}") << each.low
    return word


def encoding_of(name: str, chip: Chip) -> Encoding:
    """Return how a chip encodes an instruction.

    Raises
    ------
    ValueError : an instruction that is unknown or not modelled.
    """
    if name in OTHERS[chip].values():
        raise ValueError(f"name must be a modelled instruction, not {name} of {chip.value}")
    if name not in BY_NAME[chip] and (owners := [each.value for each in Chip if name in BY_NAME[each]]):
        raise ValueError(f"name must be an instruction of {chip.value}, not {name}, which {one_of(owners)} has")
    return BY_NAME[chip][check_choice("name", name, BY_NAME[chip])]
