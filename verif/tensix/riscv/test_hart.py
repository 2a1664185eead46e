"""RV32IM: every operation on corners, compiled functions, loads and stores, branches, and words that are refused."""

import itertools
import re
from fractions import Fraction
from math import trunc

import pytest

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.riscv.hart import RETURN, Hart
from bitpath.golden.tensix.riscv.instructions import SINK
from bitpath.verif.kit.riscv import (
    BASE,
    EBREAK,
    MASK,
    RET,
    branch,
    compiled,
    immediate,
    load_immediate,
    packed,
    register,
    store,
    ttinsn,
)

CORNERS = [0, 1, 2, 3, 5, 7, 31, 32, 33, 0x7F, 0x80, 0x8000, 0xFFFF, 0x10000, 0x12345678, 0x7FFFFFFE, 0x7FFFFFFF]
CORNERS += [-each & MASK for each in CORNERS[1:]] + [0x80000000, 0x80000001, 0xDEADBEEF]
PAIRS = list(itertools.product(CORNERS, CORNERS))


class Ram:
    """Memory of 64 KiB without devices, and the words that are pushed."""

    def __init__(self, code, chip=Chip.WORMHOLE):
        self.chip = chip
        self.bytes = bytearray(1 << 16)
        self.bytes[BASE : BASE + len(code)] = code
        self.pushed = []

    def load(self, address, size):
        if address + size > len(self.bytes):
            raise ValueError(f"the address must be in memory, not {address:#010x}")
        return int.from_bytes(self.bytes[address : address + size], "little")

    def store(self, address, size, value):
        self.bytes[address : address + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def push(self, word):
        self.pushed.append(word)


def hart(words, chip=Chip.WORMHOLE):
    """Return a hart at the first of some words."""
    bus = Ram(words if isinstance(words, bytes) else packed(words), chip)
    return Hart(bus, "T0", BASE, 0x8000), bus


def call(own, pc, *arguments):
    """Call a function with arguments in a0 and a1, and return a0."""
    own.pc, own.ended, own.x[1] = pc, False, RETURN
    own.x[10 : 10 + len(arguments)] = arguments
    own.run(10_000)
    assert own.ended
    return own.x[10]


def s(value):
    """Return a word as a signed number."""
    return value - (1 << 32) if value >> 31 else value


def quotient(a, b):
    return trunc(Fraction(a, b))


EXPECTED = {
    "add": (0, 0, lambda a, b: a + b),
    "sub": (0x20, 0, lambda a, b: a - b),
    "sll": (0, 1, lambda a, b: a * 2 ** (b % 32)),
    "slt": (0, 2, lambda a, b: s(a) < s(b)),
    "sltu": (0, 3, lambda a, b: a < b),
    "xor": (0, 4, lambda a, b: (a | b) - (a & b)),
    "srl": (0, 5, lambda a, b: a // 2 ** (b % 32)),
    "sra": (0x20, 5, lambda a, b: s(a) // 2 ** (b % 32)),
    "or": (0, 6, lambda a, b: a + b - (a & b)),
    "and": (0, 7, lambda a, b: a + b - (a | b)),
    "mul": (1, 0, lambda a, b: s(a) * s(b)),
    "mulh": (1, 1, lambda a, b: s(a) * s(b) // 2**32),
    "mulhsu": (1, 2, lambda a, b: s(a) * b // 2**32),
    "mulhu": (1, 3, lambda a, b: a * b // 2**32),
    "div": (1, 4, lambda a, b: quotient(s(a), s(b)) if b else -1),
    "divu": (1, 5, lambda a, b: quotient(a, b) if b else -1),
    "rem": (1, 6, lambda a, b: s(a) - s(b) * quotient(s(a), s(b)) if b else a),
    "remu": (1, 7, lambda a, b: a - b * quotient(a, b) if b else a),
}
"""funct7, funct3 and result of each operation: of the manual, with division by zero and its overflow."""


@pytest.mark.parametrize("name", EXPECTED)
def test_operations_on_registers(name):
    funct7, funct3, result = EXPECTED[name]
    own, _ = hart([register(funct7, funct3, 10, 10, 11), RET])
    for a, b in PAIRS:
        assert call(own, BASE, a, b) == int(result(a, b)) & MASK, f"{a:#x}, {b:#x}"


def test_the_overflow_of_division():
    own, _ = hart([register(1, 4, 12, 10, 11), register(1, 6, 10, 10, 11), RET])
    assert call(own, BASE, 0x80000000, MASK) == 0
    assert own.x[12] == 0x80000000


@pytest.mark.parametrize("name", ["add", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and"])
def test_operations_on_immediates(name):
    funct7, funct3, result = EXPECTED[name]
    values = range(32) if name in ("sll", "srl", "sra") else (0, 1, 2047, -1, -2048, -5)
    for value in values:
        own, _ = hart([immediate(0x13, funct3, 10, 10, value | funct7 << 5), RET])
        for a in CORNERS:
            assert call(own, BASE, a) == int(result(a, value & MASK)) & MASK, f"{a:#x}, {value}"


@pytest.mark.parametrize(
    ("funct3", "holds"),
    [
        (0, lambda a, b: a == b),
        (1, lambda a, b: a != b),
        (4, lambda a, b: s(a) < s(b)),
        (5, lambda a, b: s(a) >= s(b)),
        (6, lambda a, b: a < b),
        (7, lambda a, b: a >= b),
    ],
)
def test_branches(funct3, holds):
    taken = [branch(funct3, 10, 11, 12), immediate(0x13, 0, 10, 0, 0), RET, immediate(0x13, 0, 10, 0, 1), RET]
    own, _ = hart(taken)
    for a, b in PAIRS:
        assert call(own, BASE, a, b) == holds(a, b)


@pytest.mark.parametrize("offset", [-4096, -2048, -4, 4, 2044, 4092])
def test_jumps_and_branches_reach_their_offsets(offset):
    base = 0x4000
    for word in (branch(0, 0, 0, offset), jal(5, offset)):
        own, bus = hart([])
        bus.store(base, 4, word)
        bus.store(base + offset, 4, EBREAK)
        own.pc = base
        assert own.run(10) == 1
        assert (own.pc, own.ended) == (base + offset, True)
    assert own.x[5] == base + 4


def jal(rd, offset):
    """Return the word of jal."""
    bits = offset & 0x1FFFFF
    return (
        (bits >> 20) << 31
        | (bits >> 1 & 0x3FF) << 21
        | (bits >> 11 & 1) << 20
        | (bits >> 12 & 0xFF) << 12
        | rd << 7
        | 0x6F
    )


def test_a_far_jump_and_jalr():
    own, bus = hart([jal(1, 0x9C00), EBREAK])
    bus.store(BASE + 0x9C00, 4, immediate(0x67, 0, 1, 1, 1))  # to ra + 1, whose lowest bit is cleared
    assert own.run(10) == 2
    assert own.pc == BASE + 4
    assert own.x[1] == BASE + 0x9C04


def test_x0_stays_zero():
    own, _ = hart([immediate(0x13, 0, 0, 0, 5), 0x12345037, jal(0, 8), EBREAK, immediate(0x03, 2, 0, 0, 0), EBREAK])
    own.run(10)
    assert own.ended
    assert own.x[0] == 0
    assert len(own.x) == SINK + 1


def test_upper_immediates():
    own, _ = hart([0xABCDE537, 0xFFFFF597, RET])
    own.run(10)
    assert own.x[10] == 0xABCDE000
    assert own.x[11] == BASE + 4 - 0x1000


def test_loads_extend_and_stores_cut():
    code = [store(each, 10, 11, offset) for each, offset in ((2, -4), (1, 4), (0, 9))]
    code += [immediate(0x03, funct3, 12 + place, 10, -4) for place, funct3 in enumerate((0, 1, 2, 4, 5))]
    own, bus = hart([*code, RET])
    call(own, BASE, 0x2000, 0xFEDC8A98)
    assert own.x[12:17] == [0xFFFFFF98, 0xFFFF8A98, 0xFEDC8A98, 0x98, 0x8A98]
    assert bus.bytes[0x1FFC:0x200C] == bytes.fromhex("988adcfe 00000000 988a0000 00980000")


def test_words_without_two_ones_push_tensix_instructions():
    words = [0x26C18010, 0x02000000, 0xB2FFFFFF, 0x80000FFF]
    own, bus = hart([*map(ttinsn, words), RET])
    assert own.run(100) == 5
    assert bus.pushed == words
    own, _ = hart([RET, ttinsn(0xB0FFFFFF)])
    own.pc += 4
    with pytest.raises(ValueError, match="T0, instruction at 0x00001004: word must be 0 in bits of no field of WRCFG"):
        own.run(1)


# LLVM's code: its encodings are not ours.


FUNCTIONS = {
    **{name: f"%r = {name} i32 %a, %b" for name in ("add", "sub", "xor", "or", "and", "mul")},
    **{name: f"%r = {name} i32 %a, %b" for name in ("sdiv", "udiv", "srem", "urem")},
    **{name: f"%c = and i32 %b, 31\n%r = {name} i32 %a, %c" for name in ("shl", "lshr", "ashr")},
    **{
        f"high_{a}_{b}": f"%c = {a} i32 %a to i64\n%d = {b} i32 %b to i64\n%e = mul i64 %c, %d\n"
        "%f = lshr i64 %e, 32\n%r = trunc i64 %f to i32"
        for a in ("sext", "zext")
        for b in ("sext", "zext")
    },
    **{
        f"less_{kind}": f"%c = icmp {kind} i32 %a, %b\n%r = select i1 %c, i32 %a, i32 7"
        for kind in ("slt", "uge", "eq")
    },
    "far": "%c = icmp sgt i32 %a, 305419896\n%d = zext i1 %c to i32\n%r = sub i32 %d, 19088743",
}
VALUES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "xor": lambda a, b: a ^ b,
    "or": lambda a, b: a | b,
    "and": lambda a, b: a & b,
    "mul": lambda a, b: a * b,
    "sdiv": lambda a, b: quotient(s(a), s(b)) if b else -1,
    "udiv": lambda a, b: a // b if b else -1,
    "srem": lambda a, b: s(a) - s(b) * quotient(s(a), s(b)) if b else a,
    "urem": lambda a, b: a % b if b else a,
    "shl": lambda a, b: a << b % 32,
    "lshr": lambda a, b: a >> b % 32,
    "ashr": lambda a, b: s(a) >> b % 32,
    "high_sext_sext": lambda a, b: s(a) * s(b) >> 32,
    "high_sext_zext": lambda a, b: s(a) * b >> 32,
    "high_zext_sext": lambda a, b: a * s(b) >> 32,
    "high_zext_zext": lambda a, b: a * b >> 32,
    "less_slt": lambda a, b: a if s(a) < s(b) else 7,
    "less_uge": lambda a, b: a if a >= b else 7,
    "less_eq": lambda a, b: a if a == b else 7,
    "far": lambda a, b: (s(a) > 305419896) - 19088743,
}
SORT = """
define void @sort(ptr %p, i32 %n) {
entry:
  br label %outer
outer:
  %i = phi i32 [ 1, %entry ], [ %i1, %next ]
  %more = icmp ult i32 %i, %n
  br i1 %more, label %begin, label %done
begin:
  %pi = getelementptr i16, ptr %p, i32 %i
  %key = load volatile i16, ptr %pi
  br label %inner
inner:
  %j = phi i32 [ %i, %begin ], [ %j1, %shift ]
  %first = icmp eq i32 %j, 0
  br i1 %first, label %next, label %look
look:
  %j1 = add i32 %j, -1
  %pj = getelementptr i16, ptr %p, i32 %j1
  %v = load volatile i16, ptr %pj
  %greater = icmp sgt i16 %v, %key
  br i1 %greater, label %shift, label %next
shift:
  %pk = getelementptr i16, ptr %p, i32 %j
  store volatile i16 %v, ptr %pk
  br label %inner
next:
  %at = getelementptr i16, ptr %p, i32 %j
  store volatile i16 %key, ptr %at
  %i1 = add i32 %i, 1
  br label %outer
done:
  ret void
}
"""


def test_compiled_functions(subtests):
    text = "\n".join(
        f"define i32 @{name}(i32 %a, i32 %b) {{\n{body}\nret i32 %r\n}}" for name, body in FUNCTIONS.items()
    )
    code, offsets = compiled(text)
    own, _ = hart(code)
    for name, value in VALUES.items():
        with subtests.test(name):
            for a, b in PAIRS:
                assert call(own, BASE + offsets[name], a, b) == value(a, b) & MASK, f"{a:#x}, {b:#x}"
    assert VALUES.keys() == FUNCTIONS.keys()


BITS = {
    **{
        f"add{shift}": (f"%c = shl i32 %a, {shift}\n%r = add i32 %c, %b", lambda a, b, n=shift: (a << n) + b)
        for shift in (1, 2, 3)
    },
    "andn": ("%c = xor i32 %b, -1\n%r = and i32 %a, %c", lambda a, b: a & ~b),
    "orn": ("%c = xor i32 %b, -1\n%r = or i32 %a, %c", lambda a, b: a | ~b),
    "xnor": ("%c = xor i32 %a, %b\n%r = xor i32 %c, -1", lambda a, b: ~(a ^ b)),
    "smin": ("%r = call i32 @llvm.smin.i32(i32 %a, i32 %b)", lambda a, b: min(s(a), s(b))),
    "umin": ("%r = call i32 @llvm.umin.i32(i32 %a, i32 %b)", min),
    "smax": ("%r = call i32 @llvm.smax.i32(i32 %a, i32 %b)", lambda a, b: max(s(a), s(b))),
    "umax": ("%r = call i32 @llvm.umax.i32(i32 %a, i32 %b)", max),
    "rol": ("%r = call i32 @llvm.fshl.i32(i32 %a, i32 %a, i32 %b)", lambda a, b: a << b % 32 | a >> 32 - b % 32),
    "ror": ("%r = call i32 @llvm.fshr.i32(i32 %a, i32 %a, i32 %b)", lambda a, b: a >> b % 32 | a << 32 - b % 32),
    "rori": ("%r = call i32 @llvm.fshr.i32(i32 %a, i32 %a, i32 7)", lambda a, _: a >> 7 | a << 25),
    "clz": ("%r = call i32 @llvm.ctlz.i32(i32 %a, i1 false)", lambda a, _: f"{a:032b}".find("1") % 33),
    "ctz": ("%r = call i32 @llvm.cttz.i32(i32 %a, i1 false)", lambda a, _: f"{a:032b}"[::-1].find("1") % 33),
    "cpop": ("%r = call i32 @llvm.ctpop.i32(i32 %a)", lambda a, _: f"{a:b}".count("1")),
    "rev8": ("%r = call i32 @llvm.bswap.i32(i32 %a)", lambda a, _: int(bytes.fromhex(f"{a:08x}")[::-1].hex(), 16)),
    "sext.b": ("%c = trunc i32 %a to i8\n%r = sext i8 %c to i32", lambda a, _: a % 256 - a % 256 // 128 * 256),
    "sext.h": (
        "%c = trunc i32 %a to i16\n%r = sext i16 %c to i32",
        lambda a, _: a % 65536 - a % 65536 // 32768 * 65536,
    ),
    "zext.h": ("%r = and i32 %a, 65535", lambda a, _: a % 65536),
    "orc.b": (
        "%r = call i32 @llvm.riscv.orc.b.i32(i32 %a)",
        lambda a, _: int(re.sub("..", lambda each: "00" if each[0] == "00" else "ff", f"{a:08x}"), 16),
    ),
}
"""Zba and Zbb: LLVM's IR, and the result."""


def test_blackhole_s_bit_manipulation(subtests):
    for name, (body, value) in BITS.items():
        with subtests.test(name):
            called = re.findall(r"@(llvm[\w.]+)\((.*)\)", body)
            kinds = [re.sub(r"(i\d+) [^,]+", r"\1", arguments) for _, arguments in called]
            declared = [f"declare i32 @{each}({kind})" for (each, _), kind in zip(called, kinds, strict=True)]
            text = "\n".join((f"define i32 @f(i32 %a, i32 %b) {{\n{body}\nret i32 %r\n}}", *declared))
            code, _ = compiled(text, "+m,+zba,+zbb")
            own, _ = hart(code, Chip.BLACKHOLE)
            for a, b in PAIRS:
                assert call(own, BASE, a, b) == value(a, b) & MASK, f"{a:#x}, {b:#x}"
            own, _ = hart(code)
            with pytest.raises(ValueError, match="must be of RV32IM, not"):
                call(own, BASE, 1, 2)
    assert len(BITS) == 21


def test_a_compiled_program_sorts_halves():
    code, offsets = compiled(SORT)
    own, bus = hart(code)
    values = [(each * 7919 - 30000) % 65536 - 32768 for each in range(50)]
    for place, each in enumerate(values):
        bus.store(0x4000 + 2 * place, 2, each)
    own.x[10:12] = 0x4000, len(values)
    own.pc = BASE + offsets["sort"]
    assert own.run(100_000) > len(values)
    assert own.ended
    sorted_bytes = b"".join(each.to_bytes(2, "little", signed=True) for each in sorted(values))
    assert bus.bytes[0x4000 : 0x4000 + 100] == sorted_bytes


# The end of a program, limits, registers of Blackhole, and words that are refused.


@pytest.mark.parametrize("last", [RET, EBREAK, 0x00000073, 0x0000006F])
def test_a_program_ends(last):
    own, _ = hart([immediate(0x13, 0, 5, 0, 3), 0x0FF0000F, last])
    assert own.run(100) == (3 if last == RET else 2)
    assert own.ended
    assert own.executed == (3 if last == RET else 2)
    assert own.x[5] == 3


def test_a_run_stops_at_its_limit_and_goes_on():
    own, _ = hart([immediate(0x13, 0, 5, 5, 1), jal(0, -4)])
    assert own.run(7) == 7
    assert own.run(6) == 6
    assert (own.x[5], own.executed, own.ended) == (7, 13, False)


def test_scratch_registers_of_blackhole():
    words = [*load_immediate(10, 0x12345), 0x7C051573, 0x7C0FE5F3, 0x7C0476F3, 0x7C3022F3, RET]
    own, _ = hart(words, Chip.BLACKHOLE)
    own.run(100)
    assert own.x[10] == 16 << 13  # csrrw a0, cfg0, a0
    assert own.x[11] == 0x12345  # csrrsi a1, cfg0, 31
    assert own.x[13] == 0x1235F  # csrrci a3, cfg0, 8
    assert own.x[5] == 0
    own, _ = hart(words)
    with pytest.raises(ValueError, match=r"T0, instruction at 0x00001008: .* not 0x7c051573 \(CSR 0x7c0\)"):
        own.run(100)


REFUSED = [
    (0x0005A52F, "0x0005a52f (atomics)"),
    (0x00052507, "0x00052507 (floating-point or vector loads)"),
    (0x00B57553, "0x00b57553 (floating point)"),
    (0x02000057, "0x02000057 (vectors)"),
    (0x30200073, "0x30200073"),
    (0xC0002573, "0xc0002573 (CSR 0xc00)"),
    (0xFFFFFFFF, "0xffffffff"),
    (register(0x10, 2, 5, 5, 5), "0x2052a2b3"),
    (immediate(0x13, 1, 5, 5, 0x25), "0x02529293"),
    (immediate(0x13, 5, 5, 5, 0x825), "0x8252d293"),
    (branch(2, 5, 5, 8), "0x0052a463"),
    (immediate(0x03, 3, 5, 5, 0), "0x0002b283"),
    (store(3, 5, 5, 0), "0x0052b023"),
    (immediate(0x67, 1, 5, 5, 0), "0x000292e7"),
    (0x0000100F, "0x0000100f"),
]


@pytest.mark.parametrize(("word", "says"), REFUSED)
def test_words_that_are_refused(word, says):
    own, _ = hart([immediate(0x13, 0, 5, 0, 0), word])
    text = f"T0, instruction at 0x00001004: the instruction must be of RV32IM, not {says}"
    with pytest.raises(ValueError, match=f"^{re.escape(text)}$"):
        own.run(10)


def test_an_odd_address_is_no_instruction():
    own, _ = hart([immediate(0x67, 0, 0, 0, 0x102)])
    with pytest.raises(ValueError, match=r"T0, instruction at 0x00000102: .* a multiple of 4, not 0x00000102"):
        own.run(10)
