"""AMD AIE-ML v2's tile around the vector unit: addresses, memory banks, FIFOs, streams, and what this project chose there.

Ref: AM027 chapter 2 and appendix A; AM029 "AIE-ML v2 Register Reference"; UG1583; LLVM's register file, itineraries and tests
(target aie2ps). The other names of documents are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from dataclasses import dataclass
from enum import Enum

from bitpath.golden.formats.sources import chosen, documented, inferred

# AMD AIE-ML v2's cycle table of the tile: when an operation reads, reaches memory and writes; its issue is cycle 1.
#
# Ref: LLVM's itineraries (target aie2ps, AIE2PSGenSchedule.td). The modes of multiply-accumulates are in
# :mod:`bitpath.golden.aie_ml_v2.declarations.modes`.


SLOTS = ("lda", "ldb", "st", "mv", "vec")
"""Slots of a bundle, in the order in which they reach a memory bank. The scalar ALU's is not modelled."""


@dataclass(frozen=True, kw_only=True)
class Cycles:
    """Cycles of an operation; every operation reads its pointer, modifier and FIFO, and writes these, in cycle 1.

    Attributes
    ----------
    read : when its operands are read.
    memory : when it reaches the banks; None without an access.
    result : when its result is written; None without a register.
    """

    read: int = 1
    memory: int | None = None
    result: int | None = None


LOAD = Cycles(memory=5, result=7)
POP = Cycles(memory=5, result=8)
STORE = Cycles(memory=5)
STORE_SRS = Cycles(memory=7)
PUSH_MX = Cycles(memory=8)
FLUSH = Cycles(memory=8)
MOVE = Cycles(result=2)
MOVE_PATH = "move"
"""The bypass among results of the mv slot: they are read in the cycle of their write."""

CYCLE_CHOICES = {
    "A tile has no interlocks: an operation that reads too early finds the old value": inferred(
        "LLVM's compiler fills with no-ops; golden reports it unless told to compute it"
    ),
    "A FIFO's bytes, count and pointer change in the cycle of the issue, and its line must not change until it is read": chosen(
        "LLVM has pointer and count in cycle 1 and the line in cycle 5"
    ),
    "Two results of the vec slot in one cycle are an error": chosen("LLVM's compiler avoids them"),
}


# AMD AIE-ML v2's registers: every name as spans of storage, so that names share bits as the machine's do.
#
# Ref: LLVM's register file (target aie2ps); AM029 for the widths of special registers.


@dataclass(frozen=True)
class Span:
    """Bits of a storage: register n has ``width`` bits from bit ``first + n * step`` on."""

    storage: str
    first: int
    width: int
    step: int


@dataclass(frozen=True)
class Names:
    """Registers of one kind, with their names and widths.

    Attributes
    ----------
    pattern : their name, "{}" being the number.
    count : how many there are.
    spans : their bits, the lowest first.
    scalar : True if a register is a number, False if it is bytes.
    """

    pattern: str
    count: int
    spans: tuple[Span, ...]
    scalar: bool = False


VECTOR = (
    Names("wl{}", 12, (Span("x", 0, 256, 512),)),
    Names("wh{}", 12, (Span("x", 256, 256, 512),)),
    Names("fl{}", 12, (Span("f", 0, 64, 128),)),
    Names("fh{}", 12, (Span("f", 64, 64, 128),)),
    Names("gl{}", 12, (Span("g", 0, 32, 64),)),
    Names("gh{}", 12, (Span("g", 32, 32, 64),)),
    Names("el{}", 12, (Span("e", 0, 32, 64),)),
    Names("eh{}", 12, (Span("e", 32, 32, 64),)),
    Names("ewl{}", 12, (Span("x", 0, 256, 512), Span("g", 0, 32, 64), Span("e", 0, 32, 64))),
    Names("ewh{}", 12, (Span("x", 256, 256, 512), Span("g", 32, 32, 64), Span("e", 32, 32, 64))),
    Names("fewl{}", 12, (Span("x", 0, 256, 512), Span("f", 0, 64, 128), Span("g", 0, 32, 64), Span("e", 0, 32, 64))),
    Names(
        "fewh{}", 12, (Span("x", 256, 256, 512), Span("f", 64, 64, 128), Span("g", 32, 32, 64), Span("e", 32, 32, 64))
    ),
    Names("x{}", 12, (Span("x", 0, 512, 512),)),
    Names("f{}", 12, (Span("f", 0, 128, 128),)),
    Names("g{}", 12, (Span("g", 0, 64, 64),)),
    Names("e{}", 12, (Span("e", 0, 64, 64),)),
    Names("eg{}", 12, (Span("g", 0, 64, 64), Span("e", 0, 64, 64))),
    Names("ex{}", 12, (Span("x", 0, 512, 512), Span("g", 0, 64, 64), Span("e", 0, 64, 64))),
    Names("fex{}", 12, (Span("x", 0, 512, 512), Span("f", 0, 128, 128), Span("g", 0, 64, 64), Span("e", 0, 64, 64))),
    Names("y{}", 6, (Span("x", 0, 512, 1024), Span("x", 512, 512, 1024))),
    Names(
        "ey{}",
        6,
        (
            Span("x", 0, 512, 1024),
            Span("g", 0, 64, 128),
            Span("e", 0, 64, 128),
            Span("x", 512, 512, 1024),
            Span("g", 64, 64, 128),
            Span("e", 64, 64, 128),
        ),
    ),
    Names(
        "fey{}",
        6,
        (
            Span("x", 0, 512, 1024),
            Span("f", 0, 128, 256),
            Span("g", 0, 64, 128),
            Span("e", 0, 64, 128),
            Span("x", 512, 512, 1024),
            Span("f", 128, 128, 256),
            Span("g", 64, 64, 128),
            Span("e", 64, 64, 128),
        ),
    ),
    Names("q{}", 4, (Span("g", 0, 64, 64), Span("e", 0, 64, 64))),
)
"""Vector registers with F, G and E: W, X, Y, and those with signs, shifts and exponents beside them, the X lowest."""
ACCUMULATORS = (
    Names("bmll{}", 8, (Span("dm", 0, 512, 2048),)),
    Names("bmlh{}", 8, (Span("dm", 512, 512, 2048),)),
    Names("bmhl{}", 8, (Span("dm", 1024, 512, 2048),)),
    Names("bmhh{}", 8, (Span("dm", 1536, 512, 2048),)),
    Names("cml{}", 8, (Span("dm", 0, 1024, 2048),)),
    Names("cmh{}", 8, (Span("dm", 1024, 1024, 2048),)),
    Names("dm{}", 8, (Span("dm", 0, 2048, 2048),)),
)
"""Accumulators: dm of 2048 bits, their halves cm and quarters bm."""
FIFOS = (
    Names("lfl{}", 2, (Span("lf", 0, 512, 1024),)),
    Names("lfh{}", 2, (Span("lf", 512, 512, 1024),)),
    Names("lf{}", 2, (Span("lf", 0, 1024, 1024),)),
    Names("lfe", 1, (Span("lfe", 0, 512, 512),)),
    Names("sf", 1, (Span("sf", 0, 1024, 1024),)),
)
"""Load and store FIFOs, each with its count and its pointer: (lf0, r24, p0), (lf1, r25, p1), (sf, r26, p2)."""
SCALARS = (
    Names("r{}", 32, (Span("r", 0, 32, 32),), scalar=True),
    Names("l{}", 16, (Span("r", 0, 64, 64),), scalar=True),
    Names("p{}", 8, (Span("p", 0, 20, 20),), scalar=True),
    Names("m{}", 8, (Span("m", 0, 20, 20),), scalar=True),
    Names("dn{}", 8, (Span("dn", 0, 20, 20),), scalar=True),
    Names("dj{}", 8, (Span("dj", 0, 20, 20),), scalar=True),
    Names("dc{}", 8, (Span("dc", 0, 20, 20),), scalar=True),
    Names(
        "d{}",
        8,
        (Span("m", 0, 20, 20), Span("dn", 0, 20, 20), Span("dj", 0, 20, 20), Span("dc", 0, 20, 20)),
        scalar=True,
    ),
    Names("sp", 1, (Span("sp", 0, 20, 20),), scalar=True),
    Names("lr", 1, (Span("lr", 0, 20, 20),), scalar=True),
    Names("pc", 1, (Span("pc", 0, 20, 20),), scalar=True),
    Names("ls", 1, (Span("ls", 0, 20, 20),), scalar=True),
    Names("le", 1, (Span("le", 0, 20, 20),), scalar=True),
    Names("lc", 1, (Span("lc", 0, 32, 32),), scalar=True),
    Names("lci", 1, (Span("lci", 0, 32, 32),), scalar=True),
    Names("s{}", 4, (Span("s", 0, 6, 6),), scalar=True),
)
"""Scalar registers, pointers, modifiers and dimensions, and the registers of calls and loops."""

REGISTERS: dict[str, tuple[Names, int]] = {
    kind.pattern.format(number): (kind, number)
    for kind in (*VECTOR, *ACCUMULATORS, *FIFOS, *SCALARS)
    for number in range(kind.count)
}
"""Every register's name with its kind and its number."""
STORAGE_BITS: dict[str, int] = {}
"""Bits of each storage."""
for _kind, _number in REGISTERS.values():
    for _span in _kind.spans:
        _end = _span.first + _number * _span.step + _span.width
        STORAGE_BITS[_span.storage] = max(STORAGE_BITS.get(_span.storage, 0), _end)


ADDRESS_BITS = 20
"""Bits of pointers, modifiers, sizes and counters. Ref: UG1583."""


class AguForm(Enum):
    """How an access uses its pointer and its modifier. Ref: UG1583, LLVM."""

    POST_MODIFY = "post_modify"  # [p], then p + m
    TWO_D = "2d"  # [p], then p + dj, or p + m where the counter wraps
    THREE_D = "3d"  # the same with a second counter
    INDEXED = "indexed"  # [p + dj]; p stays


MEMORY_BYTES = 1 << 18
"""Data memory that a core sees: four modules of 64 KiB. Ref: AM027."""
BANK_BYTES = 32
"""Bytes of a bank's word. Ref: AM027."""
LINE_BYTES = 2 * BANK_BYTES
"""Bytes of the widest access, a word of both banks of a pair."""
BANK_WORDS = 256
MODULE_PAIRS = 4
"""Pairs of banks in a module, each a programmer's bank of 16 KiB. Ref: AM027."""
MODULES = 4
ACCESS_WIDTHS = (1, 2, 4, 8, 16, 32, 64)
"""Bytes of an access."""

FIFO_BYTES = 128
"""Bytes of a load or a store FIFO. Ref: LLVM's registers lf0, lf1 and sf."""

STREAM_IN_WORDS, STREAM_IN_LATENCY = 4, 1
STREAM_OUT_WORDS, STREAM_OUT_LATENCY = 8, 2
"""Words of a stream port's buffer, and cycles from its write to its read."""

TILE_CHOICES = {
    "Registers are 0 after reset": chosen("AM027 says it of the memories only"),
    "A 20-bit register gives an r register zeros above its bits, and takes the low 20 bits of one": chosen(
        "no document says"
    ),
    "EG has G in its low half; Q0 to Q3 are EG0 to EG3": chosen(
        "LLVM has G low, AM029's debug port E; AM029 has no Q, and LLVM's sparse products take EX and EY"
    ),
    "Lanes of a dm lie in bmll, bmlh, bmhl, bmhh in their order": inferred("LLVM's register file and lane counts"),
    "Address bits 17 and 16 of data memory name the module: south, west, north, own": inferred("AIE-ML"),
    "A bank serves one request a cycle, load A before load B before the store; an access to two banks may meet them in different cycles": inferred(
        "AM027: each bank has an arbiter; the order is chosen"
    ),
    "A load and a store of one byte in one cycle: the load finds the old byte": chosen("no document says"),
    "Others than the core have one request a module and cycle, and give way to the core": chosen(
        "AM027 has groups of requesters in an order that it does not give; AIE2's core nearly always won"
    ),
    "Accesses are aligned to their width; RTL clears the low bits of other addresses, and reports them": chosen(
        "LLVM's natural alignment; a tutorial calls others undefined"
    ),
    "A fill of a load FIFO, and a pop that finds at most 64 bytes, appends the bytes of the pointer's line from the pointer on": chosen(
        "LLVM's tests have one fill and four pops of 72 bytes; no document has the rule"
    ),
    "A fill that finds more than 64 bytes loads nothing": chosen("another line has no room"),
    "A pop that finds too few bytes takes them all; zeros stand for the others": chosen(
        "AM029 has the flag of the underflow only"
    ),
    "A pop with a modifier starts it at the first byte that it takes, and empties the FIFO": chosen("no document says"),
    "A push to a store FIFO, and a flush, writes to the line of the pointer at most; bytes beyond 128 are lost": chosen(
        "AM029 has the flag of the overflow only"
    ),
    "A stream's buffer has 4 words in and 8 out, a cycle and two from end to end": inferred(
        "AM027: two and four double words in the switch's local ports"
    ),
    "A core reads one stream, or two": documented("AM027's port SS0; its overview says two subordinate ports"),
    "A non-blocking read that finds no word gives 0": chosen("AM029 has the success bit only"),
}
"""Rules of the tile that no field switches, with their sources."""
