"""Tensix's instructions: encodings of Wormhole and Blackhole, an assembler, and the expanders of a thread."""

from bitpath.golden.tensix.isa.mop_expander import MopExpander
from bitpath.golden.tensix.isa.replay_expander import ReplayExpander
from bitpath.golden.tensix.isa.text import assemble, disassemble
from bitpath.golden.tensix.isa.words import Instruction, decode, encode

__all__ = ["Instruction", "MopExpander", "ReplayExpander", "assemble", "decode", "disassemble", "encode"]
