"""RISC-V test programs: words by instruction format, functions that LLVM compiles, and ELF files."""

import struct
from functools import cache
from io import BytesIO

from llvmlite import binding as llvm

MASK = 0xFFFFFFFF
EBREAK, RET = 0x00100073, 0x00008067
BASE = 0x1000
"""Address of test programs in L1."""


def register(funct7: int, funct3: int, rd: int, rs1: int, rs2: int) -> int:
    """Return a word of the register format."""
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x33


def immediate(opcode: int, funct3: int, rd: int, rs1: int, value: int) -> int:
    """Return a word of the immediate format."""
    return (value & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def branch(funct3: int, rs1: int, rs2: int, offset: int) -> int:
    """Return a word of the branch format."""
    bits = offset & 0x1FFF
    high, low = (bits >> 12) << 6 | bits >> 5 & 0x3F, (bits >> 1 & 0xF) << 1 | bits >> 11 & 1
    return high << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | low << 7 | 0x63


def store(funct3: int, rs1: int, rs2: int, offset: int) -> int:
    """Return a word of the store format."""
    return (offset >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (offset & 31) << 7 | 0x23


def load_immediate(rd: int, value: int) -> list[int]:
    """Return lui and addi that put 32 bits into a register."""
    return [(value + 0x800 & MASK) >> 12 << 12 | rd << 7 | 0x37, immediate(0x13, 0, rd, rd, value)]


def ttinsn(word: int) -> int:
    """Return the word of code that pushes a Tensix instruction."""
    return (word << 2 | word >> 30) & MASK


def packed(words: list[int]) -> bytes:
    """Return words as bytes of code."""
    return struct.pack(f"<{len(words)}I", *words)


def elf(code: bytes, base: int = BASE, *, machine: int = 243, kind: int = 2) -> bytes:
    """Return an ELF file of 32 bits with one loadable segment, whose first byte is the entry."""
    size, program = 52, 32
    identity = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    header = struct.pack("<HHIIIIIHHHHHH", kind, machine, 1, base, size, 0, 0, size, program, 1, 40, 0, 0)
    segment = struct.pack("<8I", 1, size + program, base, base, len(code), len(code), 5, 4)
    return identity + header + segment + code


@cache
def _machine(features: str) -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("riscv32-unknown-elf")
    return target.create_target_machine(features=features, reloc="static", codemodel="small", opt=1)


def compiled(ir: str, features: str = "+m") -> tuple[bytes, dict[str, int]]:
    """Return the code of LLVM IR and the offset of each function; the code may have no relocations."""
    from elftools.elf.elffile import ELFFile

    module = llvm.parse_assembly(f'target triple = "riscv32-unknown-elf"\n{ir}')
    made = ELFFile(BytesIO(_machine(features).emit_object(module)))
    if made.get_section_by_name(".rela.text"):
        raise ValueError("compiled code must be without relocations")
    symbols = made.get_section_by_name(".symtab").iter_symbols()
    offsets = {each.name: each["st_value"] for each in symbols if each["st_info"]["type"] == "STT_FUNC"}
    return made.get_section_by_name(".text").data(), offsets
