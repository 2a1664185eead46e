"""Matrix unit: a read of Dst is answered in the next cycle, and each bank of a source has one owner."""

from functools import partial

from amaranth import Mux

from bitpath.rtl.tensix.matrix.config import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.matrix.src_register import SrcRegister
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
