"""Matrix unit: reads of Dst and owners of banks. Moves: a word that returns is unchanged."""

from functools import partial

from amaranth import Mux

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, EXPONENT5_FORMATS, Format
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, WORMHOLE_DOCUMENTED
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.matrix.registers import SrcRegister
from bitpath.rtl.tensix.matrix.source_to_dst import DstToSource, SourceToDst
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import answer_property
from bitpath.verif.formal.property import Properties, Sabotage

PROPERTIES = Properties(
    "tensix/matrix",
    answer_property(
        "tensix.matrix_unit",
        partial(MatrixUnit, MatrixUnitConfig(rows=1, cols=1)),
        "read_dst",
        "dst",
        Sabotage(
            "tensix/matrix/matrix_unit.py", "self.read_dst.ready.eq(free & clear)", "self.read_dst.ready.eq(clear)"
        ),
    ),
)


@PROPERTIES.of(
    "src_register",
    "src_register_owners",
    "a bank changes its owner only by its last row and by a release, not by a flip; the unpacker writes and the Matrix unit reads only banks of their own",
    ("with m.If(self.released):", "with m.If(self.released | self.flipped):"),
    depth=1,
)
def owners(claim: Claim) -> None:
    """From any state; the Matrix unit releases and flips a bank that it reads."""
    dut = claim.instantiate("dut", SrcRegister(1))
    claim.assume(~(dut.released | dut.flipped) | dut.readable)
    write_bank, read_bank = (claim.inside("dut", f"{name}_bank") for name in ("write", "read"))
    handed = dut.write.valid & dut.write.ready & dut.write.p.last
    given, taken = Mux(handed, 1 << write_bank, 0), Mux(dut.released, 1 << read_bank, 0)
    claim.ensure(
        dut.free == claim.register((dut.free & ~given | taken)[:2], "free"),
        write_bank == claim.register(write_bank ^ handed, "filled"),
        read_bank == claim.register(read_bank ^ dut.flipped, "read"),
        dut.write.ready == dut.free.bit_select(write_bank, 1),
        dut.readable == ~dut.free.bit_select(read_bank, 1),
        ~(dut.write.ready & dut.readable) | (write_bank != read_bank),
    )


@PROPERTIES.of(
    "src_register",
    "src_register_moves",
    "an instruction hands over the unpacker's bank, or gives all banks back; its words go to the register in each cycle without a write",
    ("with m.If(self.handed):", "with m.If(self.handed & ~self.flipped):"),
    depth=1,
)
def moved_owners(claim: Claim) -> None:
    """From any state, in cycles without a write and a release where banks change their owner."""
    dut = claim.instantiate("dut", SrcRegister(1, BLOCK_ROWS, moves=True))
    stored = dut.write.valid & dut.write.ready
    claim.assume(~(dut.handed | dut.reset) | ~(dut.write.valid | dut.released), ~(dut.handed & dut.reset))
    written, read = dut.pointers.written, dut.pointers.read
    handed = stored & dut.write.p.last | dut.handed
    given, taken = Mux(handed, 1 << written, 0), Mux(dut.released, 1 << read, 0)
    claim.ensure(
        dut.fill.ready == ~stored,
        dut.free == claim.register(Mux(dut.reset, 3, dut.free & ~given | taken)[:2], "free"),
        written == claim.register(~dut.reset & (written ^ handed), "filled"),
        read == claim.register(~dut.reset & (read ^ dut.flipped), "read"),
    )


@PROPERTIES.of(
    "source_to_dst",
    "source_to_dst_zero_{preset.name}",
    "{preset.name}: a datum of exponent 0 moves as +0 unless it is kept; others keep sign, low exponent bits and high fraction bits",
    ("control.keeps | self", "self"),
    "preset",
    (WORMHOLE, WORMHOLE_DOCUMENTED),
)
def moved_zero(claim: Claim, preset) -> None:
    dut = claim.instantiate("dut", SourceToDst(preset.numerics))
    kept = dut.word[10:18].any() | dut.control.keeps
    claim.ensure(
        kept | ~dut.datum.any(),
        ~kept | ((dut.datum[3:15] == dut.word[3:15]) & (dut.datum[-1] == dut.word[-1])),
        ~kept | dut.control.masks | (dut.datum == dut.word),
        ~dut.control.low_half | dut.control.wide | (dut.o[16:] == dut.old[16:]),
    )


@PROPERTIES.of(
    "dst_to_source",
    "dst_to_source_returns",
    "a source word of its format's bits that moves to Dst and back, in 16 bits, in a half of 32 bits or as TF32, is the same word",
    ("Mux(self.low_half, wide[:HALF], wide[HALF:])", "Mux(self.low_half, wide[HALF:], wide[:HALF])"),
)
def returned(claim: Claim) -> None:
    out = claim.instantiate("out", SourceToDst(WORMHOLE.numerics))
    control = out.control
    fmt, low_half = control.dst_format, control.low_half
    short, tf32 = fmt.matches(*EXPONENT5_FORMATS, Format.INT8), fmt == Format.TF32
    back = claim.instantiate("back", DstToSource(), word=out.o, format=fmt, low_half=low_half, dst32=tf32 | low_half)
    fits = Mux(tf32, 1, Mux(short, ~out.word[15:18].any(), ~out.word[:3].any()))
    claim.assume(control.keeps, ~control.masks, fits, control.wide == tf32, ~(tf32 & low_half))
    claim.ensure(back.o == out.word)
