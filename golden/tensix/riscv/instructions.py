"""RV32IM, and Blackhole's Zba and Zbb: a word of code as a function that executes it.

::

    31       25 24   20 19   15 14    12 11    7 6      2 1 0
    funct7      rs2     rs1     funct3   rd      opcode   1 1
    imm[11:0]           rs1     funct3   rd               1 1   immediate
    imm[11:5]   rs2     rs1     funct3   imm[4:0]         1 1   store
    imm[12|10:5] rs2    rs1     funct3   imm[4:1|11]      1 1   branch
    imm[31:12]                           rd               1 1   lui, auipc
    imm[20|10:1|11|19:12]                rd               1 1   jal
    Tensix instruction, rotated left by 2               != 3    .ttinsn

Registers hold 0 to 2^32 - 1.

Ref: The RISC-V Instruction Set Manual, Volume I, 20191213, RV32I and M; Bit-manipulation ISA extensions 1.0.0, Zba and Zbb;
tt-isa-documentation, BabyRISCV and its PushTensixInstruction, Blackhole's README 2c2c43b and CSRs 585749d.
"""

from collections.abc import Callable
from typing import Protocol

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa import decode

MASK = 0xFFFFFFFF
SIGN = 1 << 31
SINK = 32
"""Number of the register that takes the results of instructions whose rd is x0."""
RISCV = 0b11
"""Low bits of a RISC-V instruction that is not compressed."""

Step = Callable[[], int]
"""Executes an instruction and returns the address of the next one."""


class Bus(Protocol):
    """Memory and devices as a hart sees them; each method may raise `Waiting`, and ValueError for an address without them."""

    chip: Chip

    def load(self, address: int, size: int) -> int:
        """Return 1, 2 or 4 bytes as a number from 0."""

    def store(self, address: int, size: int, value: int) -> None:
        """Write the lowest 1, 2 or 4 bytes of a number."""

    def push(self, word: int) -> None:
        """Push a Tensix instruction to the hart's thread."""


class Waiting(Exception):
    """An access cannot end before something else happens; the instruction executes again later."""


class Ended(Exception):
    """The hart has nothing left to execute."""


def signed(value: int) -> int:
    """Return a register as two's complement."""
    return (value ^ SIGN) - SIGN


def _div(a: int, b: int) -> int:
    if not b:
        return MASK
    quotient = abs(signed(a)) // abs(signed(b))
    return (-quotient if (a ^ b) & SIGN else quotient) & MASK


def _rem(a: int, b: int) -> int:
    if not b:
        return a
    rest = abs(signed(a)) % abs(signed(b))
    return (-rest if a & SIGN else rest) & MASK


_BASE, _OTHER, _MULTIPLY = 0x00, 0x20, 0x01
_OPERATIONS: dict[tuple[int, int], Callable[[int, int], int]] = {
    (_BASE, 0): lambda a, b: a + b & MASK,
    (_OTHER, 0): lambda a, b: a - b & MASK,
    (_BASE, 1): lambda a, b: a << (b & 31) & MASK,
    (_BASE, 2): lambda a, b: int(signed(a) < signed(b)),
    (_BASE, 3): lambda a, b: int(a < b),
    (_BASE, 4): lambda a, b: a ^ b,
    (_BASE, 5): lambda a, b: a >> (b & 31),
    (_OTHER, 5): lambda a, b: signed(a) >> (b & 31) & MASK,
    (_BASE, 6): lambda a, b: a | b,
    (_BASE, 7): lambda a, b: a & b,
    (_MULTIPLY, 0): lambda a, b: a * b & MASK,
    (_MULTIPLY, 1): lambda a, b: signed(a) * signed(b) >> 32 & MASK,
    (_MULTIPLY, 2): lambda a, b: signed(a) * b >> 32 & MASK,
    (_MULTIPLY, 3): lambda a, b: a * b >> 32,
    (_MULTIPLY, 4): _div,
    (_MULTIPLY, 5): lambda a, b: a // b if b else MASK,
    (_MULTIPLY, 6): _rem,
    (_MULTIPLY, 7): lambda a, b: a % b if b else a,
}
"""add, sub, sll, slt, sltu, xor, srl, sra, or, and; mul, mulh, mulhsu, mulhu, div, divu, rem, remu: by funct7 and funct3."""
_SHIFTS = (_BASE, 1), (_BASE, 5), (_OTHER, 5)
"""slli, srli and srai."""
_ADDS, _SELECTS, _ROTATES, _ZERO_EXTENDS = 0x10, 0x05, 0x30, 0x04


def _rotated(a: int, b: int) -> int:
    """Return a rotated right."""
    return (a << 32 | a) >> (b & 31) & MASK


_BIT_OPERATIONS: dict[tuple[int, int], Callable[[int, int], int]] = {
    (_ADDS, 2): lambda a, b: (a << 1) + b & MASK,
    (_ADDS, 4): lambda a, b: (a << 2) + b & MASK,
    (_ADDS, 6): lambda a, b: (a << 3) + b & MASK,
    (_OTHER, 4): lambda a, b: a ^ b ^ MASK,
    (_OTHER, 6): lambda a, b: a | b ^ MASK,
    (_OTHER, 7): lambda a, b: a & (b ^ MASK),
    (_SELECTS, 4): lambda a, b: min(a, b, key=signed),
    (_SELECTS, 5): min,
    (_SELECTS, 6): lambda a, b: max(a, b, key=signed),
    (_SELECTS, 7): max,
    (_ROTATES, 1): lambda a, b: _rotated(a, -b),
    (_ROTATES, 5): _rotated,
    (_ZERO_EXTENDS, 4): lambda a, _: a & 0xFFFF,
}
"""sh1add, sh2add, sh3add, xnor, orn, andn, min, minu, max, maxu, rol, ror, zext.h: by funct7 and funct3."""
_BIT_SHIFTS = ((_ROTATES, 5),)
"""rori."""
_UNARY: dict[tuple[int, int], Callable[[int, int], int]] = {
    (0x600, 1): lambda a, _: 32 - a.bit_length(),
    (0x601, 1): lambda a, _: (a & -a).bit_length() - 1 if a else 32,
    (0x602, 1): lambda a, _: a.bit_count(),
    (0x604, 1): lambda a, _: (a & 0xFF ^ 0x80) - 0x80 & MASK,
    (0x605, 1): lambda a, _: (a & 0xFFFF ^ 0x8000) - 0x8000 & MASK,
    (0x287, 5): lambda a, _: sum(0xFF << low for low in range(0, 32, 8) if a >> low & 0xFF),
    (0x698, 5): lambda a, _: int.from_bytes(a.to_bytes(4, "little"), "big"),
}
"""clz, ctz, cpop, sext.b, sext.h, orc.b, rev8: by immediate and funct3."""
_BRANCHES: dict[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    4: lambda a, b: signed(a) < signed(b),
    5: lambda a, b: signed(a) >= signed(b),
    6: lambda a, b: a < b,
    7: lambda a, b: a >= b,
}
"""beq, bne, blt, bge, bltu, bgeu by funct3."""
_LOADS = {0: (1, 0x80), 1: (2, 0x8000), 2: (4, 0), 4: (1, 0), 5: (2, 0)}
"""lb, lh, lw, lbu, lhu by funct3: bytes, and the sign bit that is extended."""
_STORES = {0: 1, 1: 2, 2: 4}
"""sb, sh, sw by funct3: bytes."""
_PLAIN_CSRS = {0x7C0: 16 << 13, **dict.fromkeys((0x7C3, 0x7C4, 0x7C5, 0x7C6), 0)}
"""Blackhole's CSRs that only store, and their reset values: cfg0, whose bits change the timing of RV32IM and not its results, cfg1,
hwa_mask, hwa_cfg and vgsrc."""
_EXTENSIONS = {
    0x07: "floating-point or vector loads",
    0x27: "floating-point or vector stores",
    0x2F: "atomics",
    **dict.fromkeys((0x43, 0x47, 0x4B, 0x4F, 0x53), "floating point"),
    0x57: "vectors",
}
"""Opcodes of extensions that Blackhole has in part."""


class Decoder:
    """Makes the functions of one hart's instructions.

    Parameters
    ----------
    x : registers x0 to x31, 0 to 2^32 - 1, and the sink of x0's results.
    """

    def __init__(self, x: list[int], bus: Bus):
        self._x, self._bus = x, bus
        blackhole = bus.chip is Chip.BLACKHOLE
        self._csrs = dict(_PLAIN_CSRS) if blackhole else {}
        self._operations = _OPERATIONS | (_BIT_OPERATIONS if blackhole else {})
        self._shifts = _SHIFTS + (_BIT_SHIFTS if blackhole else ())
        self._unary = _UNARY if blackhole else {}
        self._forms: dict[int, Callable[[int, int], Step]] = {
            0x03: self._load,
            0x0F: self._fence,
            0x13: self._immediate,
            0x17: self._auipc,
            0x23: self._store,
            0x33: self._register,
            0x37: self._lui,
            0x63: self._branch,
            0x67: self._jalr,
            0x6F: self._jal,
            0x73: self._system,
        }

    def step(self, word: int, pc: int) -> Step:
        """Return the function of a word of code.

        Raises
        ------
        ValueError : the word is no instruction of RV32IM, nor one of Tensix that is modelled.
        """
        if word & RISCV != RISCV:
            return self._push(word >> 2 | word << 30 & MASK, pc + 4)
        form = self._forms.get(word & 0x7F)
        if form is None:
            raise _unknown(word, _EXTENSIONS.get(word & 0x7F))
        return form(word, pc)

    def _push(self, word: int, after: int) -> Step:
        push = self._bus.push
        decode(word, chip=self._bus.chip)

        def ttinsn() -> int:
            push(word)
            return after

        return ttinsn

    def _register(self, word: int, pc: int) -> Step:
        x, after = self._x, pc + 4
        operation = self._operations.get((word >> 25, word >> 12 & 7))
        if operation is None:
            raise _unknown(word)
        rd, a, b = _rd(word), word >> 15 & 31, word >> 20 & 31
        if word >> 25 == _ZERO_EXTENDS and b:
            raise _unknown(word)

        def register() -> int:
            x[rd] = operation(x[a], x[b])
            return after

        return register

    def _immediate(self, word: int, pc: int) -> Step:
        x, after = self._x, pc + 4
        funct3, value = word >> 12 & 7, _immediate(word)
        kind = word >> 25, funct3
        if funct3 not in (1, 5):
            operation = _OPERATIONS[_BASE, funct3]
        elif kind in self._shifts:
            operation = self._operations[kind]
        elif (word >> 20, funct3) in self._unary:
            operation = self._unary[word >> 20, funct3]
        else:
            raise _unknown(word)
        rd, a = _rd(word), word >> 15 & 31

        def immediate() -> int:
            x[rd] = operation(x[a], value)
            return after

        return immediate

    def _lui(self, word: int, pc: int) -> Step:
        return self._constant(_rd(word), word & 0xFFFFF000, pc + 4)

    def _auipc(self, word: int, pc: int) -> Step:
        return self._constant(_rd(word), (word & 0xFFFFF000) + pc & MASK, pc + 4)

    def _constant(self, rd: int, value: int, after: int) -> Step:
        x = self._x

        def constant() -> int:
            x[rd] = value
            return after

        return constant

    def _jal(self, word: int, pc: int) -> Step:
        offset = (word >> 31 << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1) - (
            word >> 31 << 21
        )
        if not offset:
            return _end
        return self._constant(_rd(word), pc + 4 & MASK, pc + offset & MASK)

    def _jalr(self, word: int, pc: int) -> Step:
        x, after = self._x, pc + 4
        if word >> 12 & 7:
            raise _unknown(word)
        rd, a, offset = _rd(word), word >> 15 & 31, _immediate(word)

        def jalr() -> int:
            target = x[a] + offset & MASK & ~1
            x[rd] = after
            return target

        return jalr

    def _branch(self, word: int, pc: int) -> Step:
        x, after = self._x, pc + 4
        holds = _BRANCHES.get(word >> 12 & 7)
        if holds is None:
            raise _unknown(word)
        offset = (word >> 31 << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1) - (
            word >> 31 << 13
        )
        a, b, target = word >> 15 & 31, word >> 20 & 31, pc + offset & MASK

        def branch() -> int:
            return target if holds(x[a], x[b]) else after

        return branch

    def _load(self, word: int, pc: int) -> Step:
        x, after, load = self._x, pc + 4, self._bus.load
        if word >> 12 & 7 not in _LOADS:
            raise _unknown(word)
        (size, sign), rd, a, offset = _LOADS[word >> 12 & 7], _rd(word), word >> 15 & 31, _immediate(word)
        extension = MASK + 1 - 2 * sign

        def load_unsigned() -> int:
            x[rd] = load(x[a] + offset & MASK, size)
            return after

        def load_signed() -> int:
            value = load(x[a] + offset & MASK, size)
            x[rd] = value + extension if value & sign else value
            return after

        return load_signed if sign else load_unsigned

    def _store(self, word: int, pc: int) -> Step:
        x, after, store = self._x, pc + 4, self._bus.store
        size = _STORES.get(word >> 12 & 7)
        if size is None:
            raise _unknown(word)
        a, b, offset = word >> 15 & 31, word >> 20 & 31, _immediate(word & ~0x1F00000 | (word >> 7 & 31) << 20)

        def store_value() -> int:
            store(x[a] + offset & MASK, size, x[b])
            return after

        return store_value

    def _fence(self, word: int, pc: int) -> Step:
        if word >> 12 & 7:
            raise _unknown(word)
        return self._constant(SINK, 0, pc + 4)

    def _system(self, word: int, pc: int) -> Step:
        number, funct3 = word >> 20, word >> 12 & 7
        if word in (0x00000073, 0x00100073):
            return _end
        if number not in self._csrs or funct3 in (0, 4):
            raise _unknown(word, f"CSR {number:#x}" if funct3 & 3 else None)
        return self._csr(number, funct3, _rd(word), word >> 15 & 31, pc + 4)

    def _csr(self, number: int, funct3: int, rd: int, source: int, after: int) -> Step:
        x, csrs, kind, immediate = self._x, self._csrs, funct3 & 3, funct3 & 4

        def csr() -> int:
            old, value = csrs[number], source if immediate else x[source]
            csrs[number] = value if kind == 1 else old | value if kind == 2 else old & ~value
            x[rd] = old
            return after

        return csr


def _end() -> int:
    """Execute ecall, ebreak or a jump to itself."""
    raise Ended


def _rd(word: int) -> int:
    return word >> 7 & 31 or SINK


def _immediate(word: int) -> int:
    """Return the sign-extended immediate of bits 31 to 20 as a register holds it."""
    return (word >> 20) - (word >> 31 << 12) & MASK


def _unknown(word: int, kind: str | None = None) -> ValueError:
    return ValueError(f"the instruction must be of RV32IM, not {word:#010x}{f' ({kind})' if kind else ''}")
