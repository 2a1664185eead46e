"""Instruction words that the expanders handle: opcodes and fields, which are the same on both chips.

Ref: tenstorrent/tt-llk 36b092e, ``instructions/assembly.yaml``.
"""

from amaranth import Value

from bitpath.golden.tensix.declarations.streams import INSTRUCTION_BITS

OPCODE_LOW = 24
OPCODES = {"MOP": 0x01, "NOP": 0x02, "MOP_CFG": 0x03, "REPLAY": 0x04}
FIELDS = {
    "MOP": {"template": (23, 23), "count_minus_1": (22, 16), "mask_low": (15, 0)},
    "MOP_CFG": {"mask_high": (15, 0)},
    "REPLAY": {"start": (18, 14), "count": (9, 4), "execute": (1, 1), "load": (0, 0)},
}
"""Highest and lowest bit of each field."""


def is_instruction(word: Value, name: str) -> Value:
    """Whether a word has an instruction's opcode."""
    return word[OPCODE_LOW:INSTRUCTION_BITS] == OPCODES[name]


def field(word: Value, name: str, instruction: str) -> Value:
    """Bits of an instruction's field."""
    high, low = FIELDS[instruction][name]
    return word[low : high + 1]


def stray(word: Value, instruction: str) -> Value:
    """Whether a word has ones in bits of no field of an instruction."""
    used = sum((2 << high) - (1 << low) for high, low in FIELDS[instruction].values())
    return (word[:OPCODE_LOW] & ~used & (1 << OPCODE_LOW) - 1).any()
