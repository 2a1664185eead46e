"""Tensix's instructions: encodings of Wormhole and Blackhole, and an assembler."""

from bitpath.golden.tensix.isa.text import assemble, disassemble
from bitpath.golden.tensix.isa.words import Instruction, decode, encode

__all__ = ["Instruction", "assemble", "decode", "disassemble", "encode"]
