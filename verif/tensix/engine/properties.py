"""Tile sequencer: an instruction is offered until it is taken; port of L1: one word a cycle, to the load that is needed first; check of
a command: no accepted one leaves a product that waits for ever."""

from amaranth import Mux

from bitpath.rtl.tensix.engine.command import CommandCheck, TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import L1Port, TileSequencer
from bitpath.rtl.tensix.faults import Fault
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


@PROPERTIES.of(
    "l1_port",
    "l1_port_most_urgent",
    "exactly one of the loads that ask gets the word, and of two that ask or wait the one that is needed first, the left one if both are; no load begins beside another's address cycle",
    ("right_first.eq(distance[-1])", "right_first.eq(distance.any())"),
)
def most_urgent(claim: Claim) -> None:
    """For products that are less than 32 apart."""
    dut = claim.instantiate("dut", L1Port())
    left, right = dut.left, dut.right
    behind = (left.need - right.need)[: len(left.need)]  # by how many products the left load is behind
    right_first = (behind > 0) & (behind < 32)
    claim.assume(behind != 32)
    both = left.asks & right.asks
    claim.ensure(
        (left.granted | right.granted) == (left.asks | right.asks),
        ~(left.granted & right.granted),
        ~left.granted | left.asks,
        ~right.granted | right.asks,
        ~both | (right.granted == right_first),
        ~(left.begins | right.begins) | ~(left.addresses | right.addresses),
        ~(left.begins & right.begins),
        ~left.begins | left.waits,
        ~right.begins | right.waits,
        ~(left.waits & right.waits) | left.addresses | right.addresses | (right.begins == right_first),
        ~(left.waits | right.waits) | left.addresses | right.addresses | left.begins | right.begins,
    )


@PROPERTIES.of(
    "command_check",
    "tensix_command_check_banks",
    "behind an accepted command each source reads a bank that holds a tile or that the next load fills, if it did before",
    ("(after.reads != after.fills)", "(after.reads == after.fills)"),
)
def products_have_tiles(claim: Claim) -> None:
    dut = claim.instantiate("dut", CommandCheck(TensixEngineConfig()))
    p = dut.command
    for before, release, flip in ((dut.left, p.release_b, p.flip_b), (dut.right, p.release_a, p.flip_a)):
        holds = [before.holds.bit_select(before.reads ^ other, 1) for other in (0, 1)]
        claim.assume(holds[0] | (before.reads == before.fills))
        # It loads where its bank holds no tile, and the next load fills the other bank then.
        fills = before.fills ^ ~holds[0]
        next_holds = Mux(flip, holds[1], ~release)
        claim.ensure((dut.fault != Fault.NONE) | next_holds | ((before.reads ^ flip) == fills[0]))
