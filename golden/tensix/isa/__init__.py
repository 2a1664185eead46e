"""Tensix's instructions: encodings of Wormhole and Blackhole."""

from bitpath.golden.tensix.isa.words import Instruction, decode, encode

__all__ = ["Instruction", "decode", "encode"]
