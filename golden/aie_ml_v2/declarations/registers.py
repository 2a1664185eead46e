"""AMD AIE-ML v2's registers: every name as spans of storage, so that names share bits as the machine's do.

Ref: LLVM's register file (target aie2ps); AM029 for the widths of special registers.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Bits of a storage: register n has ``width`` bits from bit ``first + n * step`` on."""

    storage: str
    first: int
    width: int
    step: int


@dataclass(frozen=True)
class Names:
    """Registers of one kind.

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
