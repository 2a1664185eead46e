"""Formal property of the engine's sequencer: an offered beat stays until it is taken."""

from collections.abc import Callable
from functools import partial

from amaranth.lib import wiring

from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.engine.row_sequencer import RowSequencer
from bitpath.rtl.aie_ml_v2.engine.row_storer import RowStorer
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import kept, stays


def steps_stay(claim: Claim, make: Callable[[], wiring.Component], takes: str, gives: str) -> None:
    """From any state, an offered beat stays until it is taken, if an offered command does."""
    dut = claim.instantiate("dut", make())
    claim.assume(kept(claim, getattr(dut, takes), "command_"))
    stays(claim, getattr(dut, gives))


STEPPING = (
    (
        "row_sequencer",
        partial(RowSequencer, AieEngineConfig()),
        ("command", "o"),
        Sabotage(
            "aie_ml_v2/engine/row_sequencer.py", "advance.eq(self.o.valid & self.o.ready)", "advance.eq(self.o.valid)"
        ),
    ),
    (
        "row_storer",
        partial(RowStorer, AieEngineConfig()),
        ("store", "read"),
        Sabotage(
            "aie_ml_v2/engine/row_storer.py", "asked = self.read.valid & self.read.ready", "asked = self.read.valid"
        ),
    ),
)

PROPERTIES = (
    *(
        Property(
            f"{name}_offer_stays",
            f"aie_ml_v2.{name}",
            "an offered beat stays unchanged until it is taken, if its command stays offered",
            partial(steps_stay, make=make, takes=takes, gives=gives),
            sabotage,
            depth=1,
        )
        for name, make, (takes, gives), sabotage in STEPPING
    ),
)
