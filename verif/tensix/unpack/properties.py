"""Unpacker: one result a request, one cycle later."""

from collections.abc import Callable
from functools import partial

from amaranth import Value
from amaranth.lib import wiring

from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property
from bitpath.verif.formal.property import Property, Sabotage


def one_request(claim: Claim, make: Callable[[], wiring.Component]) -> None:
    """From any state, a result becomes valid one cycle after its request, never without one, and depends on that request alone."""
    dut = claim.instantiate("dut", make())
    other = claim.instantiate("other", make(), i__valid=1, o__ready=1, i__payload=Value.cast(dut.i.p))
    arrives, waits = dut.i.valid & dut.i.ready, dut.o.valid & ~dut.o.ready
    arrived = claim.register(arrives, "arrived")
    claim.ensure(
        dut.o.valid == claim.register(arrives | waits, "expected"),
        ~arrived | (Value.cast(dut.o.p) == Value.cast(other.o.p)),
    )


PROPERTIES = (
    offer_property(
        "tensix.unpacker",
        partial(Unpacker, ConversionConfig()),
        Sabotage("tensix/unpack/unpacker.py", "self.o.ready | ~self.o.valid", "self.o.ready | ~self.o.ready"),
    ),
    Property(
        "unpacker_one_request",
        "tensix.unpacker",
        "a result is there the cycle after its request, waits until it is taken, and depends on that request alone",
        partial(one_request, make=partial(Unpacker, ConversionConfig())),
        Sabotage(
            "tensix/unpack/unpacker.py",
            "self.o.valid.eq(self.i.valid)",
            "self.o.valid.eq(self.i.valid & ~self.o.valid)",
        ),
        depth=1,
    ),
)
