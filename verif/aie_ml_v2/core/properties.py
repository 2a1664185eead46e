"""The tile's check of bundles: exactly the operations that are left out are faults; the others have places of their
own."""

from amaranth import Cat

from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, LoadOp, StoreOp, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.issue_check import IssueCheck
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.tile.agu import AguMode
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties

PROPERTIES = Properties("aie_ml_v2/core")


@PROPERTIES.of(
    "issue_check",
    "issue_check",
    "check of a bundle: an operation issues as it came or not at all, and a fault says that one did not",
    ("with m.If(refused):", "with m.If(~good):"),
)
def issue_check(claim: Claim) -> None:
    dut = claim.instantiate("dut", IssueCheck(AieTileConfig()))
    kept = [dut.issue[slot].as_value() == dut.bundle[slot].as_value() for slot in BUNDLE.members]
    gone = [dut.issue[slot].as_value() == 0 for slot in BUNDLE.members]
    claim.ensure(
        *(same | none for same, none in zip(kept, gone, strict=True)),
        Cat(kept).all() == (dut.fault == Fault.NONE),
        ~dut.second | (dut.issue.vec.op == VectorOp.NONE),
    )


@PROPERTIES.of(
    "issue_check",
    "issue_check_places",
    "check of a bundle: a load or an SRS that issues is aligned and in the memory, and no two operations that issue move one pointer",
    ("busy[slot] | shared, unaligned", "busy[slot], unaligned"),
)
def accesses_have_places(claim: Claim) -> None:
    config = AieTileConfig()
    dut = claim.instantiate("dut", IssueCheck(config))
    moves = []
    for slot, access, update in (
        ("lda", LoadOp.LOAD, LoadOp.POINTER),
        ("ldb", LoadOp.LOAD, LoadOp.POINTER),
        ("st", StoreOp.SRS, StoreOp.POINTER),
    ):
        issued, address = dut.issue[slot], getattr(dut, f"{slot}_address")
        accesses = issued.op == access
        claim.ensure(~accesses | ~address[config.memory.used_bits :].any())
        if slot != "st":
            # A W has 32 bytes, an X 64.
            claim.ensure(~accesses | ~address[:5].any(), ~accesses | (issued.to.size == 0) | ~address[5])
        moves.append(
            ((accesses | (issued.op == update)) & (issued.address.mode != AguMode.INDEXED), issued.address.pointer)
        )
    for place, (one, pointer) in enumerate(moves):
        claim.ensure(*(~one | ~other | (pointer != also) for other, also in moves[:place]))
