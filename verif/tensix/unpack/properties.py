"""Unpacker: one result a request, one cycle later."""

from functools import partial

from amaranth import Value

from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property
from bitpath.verif.formal.property import Properties, Sabotage

_UNPACKER = partial(Unpacker, ConversionConfig())

PROPERTIES = Properties(
    "tensix/unpack",
    offer_property(
        "tensix.unpacker",
        _UNPACKER,
        Sabotage("tensix/unpack/unpacker.py", "self.o.ready | ~self.o.valid", "self.o.ready | ~self.o.ready"),
    ),
)


@PROPERTIES.of(
    "unpacker",
    "unpacker_one_request",
    "a result is there the cycle after its request, waits until it is taken, and depends on that request alone",
    ("self.o.valid.eq(self.i.valid)", "self.o.valid.eq(self.i.valid & ~self.o.valid)"),
    depth=1,
)
def one_request(claim: Claim) -> None:
    """From any state; no result without a request."""
    dut = claim.instantiate("dut", _UNPACKER())
    other = claim.instantiate("other", _UNPACKER(), i__valid=1, o__ready=1, i__payload=Value.cast(dut.i.p))
    arrives, waits = dut.i.valid & dut.i.ready, dut.o.valid & ~dut.o.ready
    arrived = claim.register(arrives, "arrived")
    claim.ensure(
        dut.o.valid == claim.register(arrives | waits, "expected"),
        ~arrived | (Value.cast(dut.o.p) == Value.cast(other.o.p)),
    )
