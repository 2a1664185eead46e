"""Streams keep their contract: what is offered stays until it is taken; through ranks and links nothing is lost, doubled or
changes its order."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise, starmap

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.cascade.cascade_link import CascadeLink
from bitpath.rtl.aie_ml_v2.cascade.config import CascadeLinkConfig
from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig, MxConvertConfig
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert
from bitpath.rtl.aie_ml_v2.convert.srs import Srs
from bitpath.rtl.aie_ml_v2.convert.ups import Ups
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.fp32.fp32_lanes import Fp32Lanes, Fp32LanesConfig
from bitpath.rtl.common.fp32.reciprocal import Reciprocal
from bitpath.rtl.common.fp32.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.rtl.common.fp32.square_root import SquareRoot
from bitpath.rtl.common.pipeline.delay import Delay
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.ring import Ring
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.config import ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import QuadMxDot
from bitpath.rtl.trainium3.vector.config import ExponentialConfig, QuantizeMxConfig
from bitpath.rtl.trainium3.vector.exponential import Exponential
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, Property, Sabotage
from bitpath.verif.formal.specification import stays

TAG_BITS = 5
"""Of the number that a token carries: more than ever are under way."""


class TokenPipe(wiring.Component):
    """Pipeline registers with no logic between them, as every pipelined unit has them."""

    def __init__(self, stages: int):
        self.stages = stages
        super().__init__({"i": In(stream.Signature(TAG_BITS)), "o": Out(stream.Signature(TAG_BITS))})

    def elaborate(self, platform):
        m = Module()
        steps = [f"step{k}" for k in range(self.stages)]
        registers = PipelineRegisters(m, steps, valid=self.i.valid, ready=self.o.ready)
        token = self.i.p
        for step in steps:
            (token,) = registers.hold(step, token=token)
        m.d.comb += [self.o.p.eq(token), self.o.valid.eq(registers.valid), self.i.ready.eq(registers.finish())]
        return m


def _counted(claim: Claim, dut: wiring.Component) -> tuple[Signal, Signal]:
    """Tokens carry their numbers and leave in that order; how many came, and how many left."""
    came, left = Signal(TAG_BITS, name="came"), Signal(TAG_BITS, name="left")
    with claim.m.If(dut.i.valid & dut.i.ready):
        claim.m.d.sync += came.eq(came + 1)
    with claim.m.If(dut.o.valid & dut.o.ready):
        claim.m.d.sync += left.eq(left + 1)
    claim.assume(Value.cast(dut.i.p)[:TAG_BITS] == came)
    claim.ensure(~dut.o.valid | (Value.cast(dut.o.p)[:TAG_BITS] == left))
    return came, left


def tokens_through_ranks(claim: Claim, stages: int) -> None:
    dut = claim.place("dut", TokenPipe(stages))
    came, left = _counted(claim, dut)
    stays(claim, dut.o)
    # The ranks hold, from the last one back, the tokens that came and have not left, without a gap in the numbers.
    number = left
    for k in reversed(range(stages)):
        valid, token = claim.inside("dut", f"step{k}_valid"), claim.inside("dut", f"step{k}_token")
        claim.ensure(~valid | (token == number))
        number = claim.value(number + valid, f"after_{k}", TAG_BITS)
    claim.ensure(number == came)


def offer_stays(claim: Claim, make: Callable[[], wiring.Component], whole: bool) -> None:
    """From any state; ``whole`` says that the unit stands still exactly while its result waits."""
    dut = claim.place("dut", make())
    stays(claim, dut.o)
    if whole:
        claim.ensure(dut.i.ready == (dut.o.ready | ~dut.o.valid))


def stands_still(claim: Claim, make: Callable[[], wiring.Component], **quiet: int) -> None:
    """From any state; ``quiet`` are inputs beside the stream that change a register of their own."""
    dut = claim.place("dut", make(), **quiet)
    waited = claim.register(dut.o.valid & ~dut.o.ready, "waited")
    for place, held in enumerate(claim.registers("dut")):
        claim.ensure(~waited | (held == claim.register(held, f"held_{place}")))


def one_request(claim: Claim, make: Callable[[], wiring.Component]) -> None:
    """From any state: a result is there the cycle after its request and only then, and is a function of that alone."""
    dut = claim.place("dut", make())
    other = claim.place("other", make(), i__valid=1, o__ready=1, i__payload=Value.cast(dut.i.p))
    arrives, waits = dut.i.valid & dut.i.ready, dut.o.valid & ~dut.o.ready
    arrived = claim.register(arrives, "arrived")
    claim.ensure(
        dut.o.valid == claim.register(arrives | waits, "expected"),
        ~arrived | (Value.cast(dut.o.p) == Value.cast(other.o.p)),
    )


def delay(claim: Claim, width: int, cycles: int) -> None:
    dut = claim.place("dut", Delay(width, cycles))
    words = [dut.i]
    for cycle in range(cycles):
        word = Signal(width, name=f"word_{cycle}")
        with claim.m.If(dut.advance):
            claim.m.d.sync += word.eq(words[-1])
        words.append(word)
    claim.ensure(dut.o == words[-1], claim.inside("dut", "history") == Cat(words[1:]))


def ring(claim: Claim, width: int, depth: int) -> None:
    """From any state: what was written last, in this cycle or before, is read; and what was read before is read again. Where to
    write holds while nothing advances."""
    dut = claim.place("dut", Ring(width, depth))
    now = {"advance": dut.advance, "write": dut.write, "read": dut.read, "i": dut.i, "o": dut.o}
    past = [now]
    for cycles in range(1, 4):
        past.append({name: claim.register(value, f"{name}_{cycles}") for name, value in past[-1].items()})
    _, last, middle, first = past
    claim.assume(*(older["advance"] | (newer["write"] == older["write"]) for newer, older in pairwise(past)))

    def writes(cycle: dict[str, Value]) -> Value:
        return cycle["advance"] & (cycle["write"] == last["read"])

    def reads(cycle: dict[str, Value]) -> Value:
        return cycle["advance"] & (cycle["read"] == last["read"])

    claim.ensure(
        last["advance"] | (dut.o == last["o"]),
        ~writes(last) | (dut.o == last["i"]),
        ~last["advance"]
        | writes(last)
        | Mux(
            writes(middle),
            dut.o == middle["i"],
            (~reads(middle) | (dut.o == last["o"]))
            & (~writes(first) | (dut.o == first["i"]))
            & (~reads(first) | (dut.o == middle["o"])),
        ),
    )


def link(claim: Claim) -> None:
    """As many words are under way as came and have not left; what is offered stays."""
    dut = claim.place("dut", CascadeLink(CascadeLinkConfig()))
    under_way = Signal(4, name="under_way")
    arrives, leaves = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
    claim.m.d.sync += under_way.eq(under_way + arrives - leaves)
    levels = []
    for name in ("dut.sender", "dut.receiver"):
        level, produce, consume = (claim.inside(name, signal) for signal in ("level", "produce", "consume"))
        claim.ensure(level <= 2, level[0] == (produce ^ consume))
        levels.append(level)
    claim.ensure(under_way == levels[0] + levels[1], dut.i.ready == (levels[0] != 2))
    stays(claim, dut.o)


_ADVANCES = Sabotage("common/pipeline/pipeline_registers.py", "self._ready | ~self.valid", "self._ready | self.valid")
_MOVES = Sabotage("common/pipeline/pipeline_registers.py", "with self._m.If(self.advance):", "with self._m.If(1):")
_RECURS = Sabotage(
    "common/fp32/digit_recurrence.py", "with m.Elif(self.o.valid & self.o.ready):", "with m.Elif(self.o.valid):"
)


def _staged(cls: type, config: Callable, stages: int) -> wiring.Component:
    return cls(config(pipeline=PipelineConfig(stages=stages)))


def _stay(unit: str, name: str, make: Callable, sabotage: Sabotage = _MOVES, *, whole: bool = True) -> Property:
    return Property(
        f"{name}_offer_stays",
        unit,
        "a result is offered unchanged until it is taken" + ("; the unit is ready unless one waits" if whole else ""),
        partial(offer_stays, make=make, whole=whole),
        sabotage,
        depth=1,
    )


def _still(unit: str, name: str, make: Callable, **quiet: int) -> Property:
    return Property(
        f"{name}_stands_still",
        unit,
        "no register changes in a cycle in which the result waits"
        + "".join(f", with {port} at {value}" for port, value in quiet.items()),
        partial(stands_still, make=make, **quiet),
        _MOVES,
        depth=1,
    )


STAGED = tuple(
    (unit, f"{name}_{stages}", partial(_staged, cls, config, stages))
    for unit, name, cls, config in (
        ("trainium3.quad_mx_dot", "quad_mx_dot", QuadMxDot, DotConfig),
        ("trainium3.quantize_mx", "quantize_mx", QuantizeMx, QuantizeMxConfig),
        ("tensix.dot16", "dot16", Dot16, Dot16Config),
    )
    for stages in (1, 2, 3, 4)
)
FIXED = (
    ("trainium3.exponential", "exponential", partial(Exponential, ExponentialConfig(width=1))),
    ("tensix.packer", "packer", partial(Packer, ConversionConfig())),
    ("aie_ml_v2.mx_convert", "mx_convert", partial(MxConvert, MxConvertConfig())),
)
INTEGERS = (
    ("aie_ml_v2.srs", "srs", partial(Srs, IntegerLanesConfig())),
    ("aie_ml_v2.ups", "ups", partial(Ups, IntegerLanesConfig())),
)
"""Beside their pipeline stands a flag that an input clears at any time."""

PROPERTIES = (
    *(
        Property(
            f"ranks_{stages}_tokens",
            "common.pipeline_registers",
            f"{stages} pipeline stage{'s' * (stages > 1)}: numbered tokens stay until taken, none lost, doubled or overtaken",
            partial(tokens_through_ranks, stages=stages),
            _ADVANCES,
            Engine.INDUCTION,
            stages + 3,
        )
        for stages in (1, 2, 3, 4)
    ),
    *(
        Property(
            f"delay_{cycles}",
            "common.delay",
            f"a word {cycles} advances ago, however they are spaced",
            partial(delay, width=4, cycles=cycles),
            Sabotage("common/pipeline/delay.py", "history[-self.width :]", "history[: self.width]"),
            Engine.INDUCTION,
            2,
        )
        for cycles in (2, 5)
    ),
    Property(
        "ring_4",
        "common.ring",
        "4 places: what was written last is read, up to two cycles later; what was read is read again, whatever goes elsewhere",
        partial(ring, width=3, depth=4),
        Sabotage("common/pipeline/ring.py", "write.en.eq(1)", "write.en.eq(self.write == self.read)"),
        depth=3,
    ),
    Property(
        "cascade_link",
        "aie_ml_v2.cascade_link",
        "as many words are under way as came and have not left, four at most; the one offered stays until taken",
        link,
        Sabotage(
            "aie_ml_v2/cascade/cascade_link.py",
            "wiring.connect(m, sender.r_stream, receiver.w_stream)",
            "m.d.comb += [receiver.w_stream.p.eq(sender.r_stream.p), receiver.w_stream.valid.eq(sender.r_stream.valid), sender.r_stream.ready.eq(1)]",
        ),
        Engine.INDUCTION,
        6,
    ),
    *starmap(_stay, (*STAGED, *FIXED, *INTEGERS)),
    *starmap(_still, (*STAGED, *FIXED)),
    *(_still(*each, clear_overflow=0) for each in INTEGERS),
    _stay(
        "tensix.unpacker",
        "unpacker",
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
    *(
        _stay(f"common.{name}", name, partial(Fp32Lanes, function, Fp32LanesConfig(lanes=1)), _RECURS, whole=False)
        for name, function in (
            ("reciprocal", Reciprocal),
            ("square_root", SquareRoot),
            ("reciprocal_square_root", ReciprocalSquareRoot),
        )
    ),
)
