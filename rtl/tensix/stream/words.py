"""Instruction words: opcodes and fields by their names in the table of encodings."""

from amaranth import Value

from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.encodings import BY_NAME, OPCODE_LOW, WORD_BITS


def is_instruction(word: Value, name: str) -> Value:
    """Whether a word has an instruction's opcode, which is the same on both chips."""
    return word[OPCODE_LOW:WORD_BITS] == BY_NAME[Chip.WORMHOLE][name].opcode


def field(word: Value, name: str, instruction: str, chip: Chip = Chip.WORMHOLE) -> Value:
    """Bits of an instruction's field."""
    segment = next(each for each in BY_NAME[chip][instruction].fields if each.name == name)
    return word[segment.low : segment.high + 1]


def stray(word: Value, instruction: str, chip: Chip = Chip.WORMHOLE) -> Value:
    """Whether a word has ones in bits of no field of an instruction."""
    return (word & ~BY_NAME[chip][instruction].used_bits & (1 << WORD_BITS) - 1).any()
