"""AMD AIE-ML v2's tile around the vector unit: addresses, memory banks, FIFOs, streams, and what this project chose there.

Ref: AM027 chapter 2 and appendix A; AM029 "AIE-ML v2 Register Reference"; UG1583; LLVM's register file, itineraries and tests
(target aie2ps). The other names of documents are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from enum import Enum

from bitpath.golden.formats.sources import chosen, documented, inferred

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
