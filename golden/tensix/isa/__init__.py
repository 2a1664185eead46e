"""Tensix's instructions: encodings of Wormhole and Blackhole, an assembler, and the expanders of a thread."""

from bitpath.golden.tensix.isa.assembly import assemble, disassemble, functions
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.golden.tensix.isa.words import Instruction, decode, encode

__all__ = ["Instruction", "MopExpander", "ReplayExpander", "assemble", "decode", "disassemble", "encode", "functions"]
