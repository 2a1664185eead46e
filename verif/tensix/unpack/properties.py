"""Unpacker: one result a request, one cycle later; turn buffer and addresses in tilise mode: offers that stay."""

from functools import partial

from amaranth import Mux, Value

from bitpath.golden.tensix.declarations.numerics import BLACKHOLE
from bitpath.rtl.tensix.unpack.float_word import DATUM_BITS
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, TurnBufferConfig
from bitpath.rtl.tensix.unpack.tilise_address import ROW_WORDS, TiliseAddress
from bitpath.rtl.tensix.unpack.turn_buffer import TurnBuffer
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import offer_property
from bitpath.verif.formal.property import Properties, Sabotage

_UNPACKER = partial(Unpacker, ConversionConfig())
_TILISE = partial(TiliseAddress, ConversionConfig(numerics=BLACKHOLE.numerics))

PROPERTIES = Properties(
    "tensix/unpack",
    offer_property(
        "tensix.unpacker",
        _UNPACKER,
        Sabotage("tensix/unpack/unpacker.py", "self.o.ready | ~self.o.valid", "self.o.ready | ~self.o.ready"),
    ),
    offer_property(
        "tensix.turn_buffer",
        partial(TurnBuffer, TurnBufferConfig(rows=8)),
        Sabotage(
            "tensix/unpack/turn_buffer.py", "self.i.ready.eq(~whole.bit_select(filling, 1))", "self.i.ready.eq(1)"
        ),
        whole=False,
    ),
    offer_property(
        "tensix.tilise_address",
        _TILISE,
        Sabotage("tensix/unpack/tilise_address.py", "with m.If(self.o.ready & busy):", "with m.If(busy):"),
        whole=False,
    ),
)


@PROPERTIES.of(
    "tilise_address",
    "tilise_address_first_row",
    "the first row of a request is at its address, and is the last if there is no other",
    ("start.eq(self.i.p.address)", "start.eq(self.i.p.address + self.i.p.stride)"),
    depth=1,
)
def first_row(claim: Claim) -> None:
    """The property holds from any state."""
    dut = claim.instantiate("dut", _TILISE())
    asked = claim.register(dut.i.valid & dut.i.ready, "asked")
    address = claim.register(dut.i.p.address, "address")
    alone = claim.register(dut.i.p.last == 0, "alone")
    claim.ensure(~asked | (dut.o.valid & (dut.o.p.address == address) & (dut.o.p.last == alone)))


@PROPERTIES.of(
    "tilise_address",
    "tilise_address_wide_rows",
    "on Blackhole the second row of a request of 16- or 32-bit datums is behind the first, else a stride on",
    ("second = wide & row[0]", "second = wide & ~row[0]"),
    depth=2,
)
def second_row(claim: Claim) -> None:
    """A request alone, its first two rows taken at once."""
    dut = claim.instantiate("dut", _TILISE(), o__ready=1)
    request = Value.cast(dut.i.p)
    asked = claim.register(dut.i.valid & dut.i.ready & (dut.i.p.last != 0), "asked")
    held = claim.register(request, "held")
    twice, asked_twice = claim.register(held, "twice"), claim.register(asked, "asked_twice")
    layout = dut.i.p.shape()
    before = layout(twice)
    words = Value.cast(0)
    for bits, count in ROW_WORDS.items():
        formats = [fmt for fmt, width in DATUM_BITS.items() if width == bits]
        words = Mux(before.l1_format.matches(*formats), before.stride if bits == 8 else count, words)
    claim.assume(before.l1_format.matches(*(fmt for fmt, width in DATUM_BITS.items() if width in ROW_WORDS)))
    claim.ensure(~asked_twice | (dut.o.p.address == (before.address + words)[: len(before.address)]))


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
