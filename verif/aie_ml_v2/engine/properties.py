"""Formal property of the engine's sequencer: an offered beat stays until it is taken."""

from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.engine.row_sequencer import RowSequencer
from bitpath.rtl.aie_ml_v2.engine.row_storer import RowStorer
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import kept, stays

PROPERTIES = Properties("aie_ml_v2/engine")
_SEQUENCER = ("advance.eq(self.o.valid & self.o.ready)", "advance.eq(self.o.valid)")
_STORER = ("asked = self.read.valid & self.read.ready", "asked = self.read.valid")


@PROPERTIES.of(
    "{name}",
    "{name}_offer_stays",
    "an offered beat stays unchanged until it is taken, if its command stays offered",
    None,
    "name, make, takes, gives, sabotage",
    (
        ("row_sequencer", RowSequencer, "command", "o", _SEQUENCER),
        ("row_storer", RowStorer, "store", "read", _STORER),
    ),
    depth=1,
)
def steps_stay(claim: Claim, make: type, takes: str, gives: str) -> None:
    """From any state, an offered beat stays until it is taken, if an offered command does."""
    dut = claim.instantiate("dut", make(AieEngineConfig()))
    claim.assume(kept(claim, getattr(dut, takes), "command_"))
    stays(claim, getattr(dut, gives))
