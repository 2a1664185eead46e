"""The tile's check of bundles: what is left out is an error, and nothing else is."""

from amaranth import Cat

from bitpath.rtl.aie_ml_v2.core.bundle import BUNDLE, VectorOp
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.issue_check import IssueCheck, TileError
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties

PROPERTIES = Properties("aie_ml_v2/core")


@PROPERTIES.of(
    "issue_check",
    "issue_check",
    "check of a bundle: an operation issues as it came or not at all, and an error says that one did not",
    ("with m.If(bad | meeting):", "with m.If(bad):"),
)
def issue_check(claim: Claim) -> None:
    dut = claim.instantiate("dut", IssueCheck(AieTileConfig()))
    kept = [dut.issue[slot].as_value() == dut.bundle[slot].as_value() for slot in BUNDLE.members]
    gone = [dut.issue[slot].as_value() == 0 for slot in BUNDLE.members]
    claim.ensure(
        *(same | none for same, none in zip(kept, gone, strict=True)),
        Cat(kept).all() == (dut.error == TileError.NONE),
        ~dut.second | (dut.issue.vec.op == VectorOp.NONE),
    )
