"""Sequencer and storer: an offered beat stays until it is taken; check of a command: an accepted one has a mode, and
ends in memory."""

from bitpath.rtl.aie_ml_v2.engine.aie_engine import RowSequencer, RowStorer
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, CommandCheck
from bitpath.rtl.aie_ml_v2.faults import Fault
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


@PROPERTIES.of(
    "command_check",
    "aie_command_check",
    "an accepted command has one of six modes, and the last word of its store lies in the result memory",
    ("end > self.config.result_depth", "end > 2 * self.config.result_depth"),
)
def stores_end_in_memory(claim: Claim) -> None:
    config = AieEngineConfig()
    dut = claim.instantiate("dut", CommandCheck(config))
    store = dut.command.store
    # FLOAT16, mode 2, has 32 lanes, and all others 64.
    words = [lanes // config.unit.lanes for lanes in (32, 64)]
    accepted = dut.fault == Fault.NONE
    for mode in range(8):
        last = store.address + (store.last_tile + 1) * words[mode != 2] - 1
        here = accepted & (store.mode.as_value() == mode)
        claim.ensure(~here | (mode < 6), ~here | ~dut.command.stores | (last < config.result_depth))
