"""Tile sequencer: an instruction is offered until it is taken."""

from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.tile_sequencer import TileSequencer
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import kept, stays

PROPERTIES = Properties("tensix/engine")


@PROPERTIES.of(
    "tile_sequencer",
    "tile_sequencer_offer_stays",
    "an offered step stays unchanged until it is taken, if its command stays offered, a possible store stays possible, and packing begins only after its store",
    ("with m.If(instruction.valid & instruction.ready):", "with m.If(instruction.valid):"),
    depth=1,
)
def instructions_stay(claim: Claim) -> None:
    """From any state; an offered product stays too."""
    dut = claim.instantiate("dut", TileSequencer(TensixEngineConfig()))
    could = claim.register(dut.store.ready & ~dut.store.valid, "could")
    claim.assume(kept(claim, dut.product, "product_"), ~could | dut.store.ready)
    claim.assume(
        claim.register(dut.store.valid, "stored") | ((dut.packing & ~claim.register(dut.packing, "packing")) == 0)
    )
    stays(claim, dut.instruction)
