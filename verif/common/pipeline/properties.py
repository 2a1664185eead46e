"""Pipeline registers keep every token in order; delay line and ring return the word that was written."""

from itertools import pairwise

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.pipeline_registers import Delay, PipelineRegisters, Ring
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Engine, Properties
from bitpath.verif.formal.specification import stays

PROPERTIES = Properties("common/pipeline")

TAG_BITS = 5
"""Width of a token's number; more numbers than tokens in flight."""


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


@PROPERTIES.of(
    "pipeline_registers",
    "pipeline_registers_{stages}_tokens",
    "{stages} pipeline {noun}: numbered tokens stay until taken, none lost, doubled or overtaken",
    ("self._ready | ~self.valid", "self._ready | self.valid"),
    "stages, noun, depth",
    ((1, "stage", 4), (2, "stages", 5), (3, "stages", 6), (4, "stages", 7)),
    engine=Engine.INDUCTION,
)
def tokens_in_order(claim: Claim, stages: int) -> None:
    dut = claim.instantiate("dut", TokenPipe(stages))
    came, left = Signal(TAG_BITS, name="came"), Signal(TAG_BITS, name="left")
    with claim.m.If(dut.i.valid & dut.i.ready):
        claim.m.d.sync += came.eq(came + 1)
    with claim.m.If(dut.o.valid & dut.o.ready):
        claim.m.d.sync += left.eq(left + 1)
    claim.assume(Value.cast(dut.i.p)[:TAG_BITS] == came)
    claim.ensure(~dut.o.valid | (Value.cast(dut.o.p)[:TAG_BITS] == left))
    stays(claim, dut.o)
    # From the last stage back, the pipeline registers hold the tokens in flight, with consecutive numbers.
    number = left
    for k in reversed(range(stages)):
        valid, token = claim.inside("dut", f"step{k}_valid"), claim.inside("dut", f"step{k}_token")
        claim.ensure(~valid | (token == number))
        number = claim.value(number + valid, f"after_{k}", TAG_BITS)
    claim.ensure(number == came)


@PROPERTIES.of(
    "delay",
    "delay_{cycles}",
    "a word {cycles} advances ago, however they are spaced",
    ("history[-self.width :]", "history[: self.width]"),
    "width, cycles",
    ((4, 2), (4, 5)),
    engine=Engine.INDUCTION,
    depth=2,
)
def delay(claim: Claim, width: int, cycles: int) -> None:
    dut = claim.instantiate("dut", Delay(width, cycles))
    words = [dut.i]
    for cycle in range(cycles):
        word = Signal(width, name=f"word_{cycle}")
        with claim.m.If(dut.advance):
            claim.m.d.sync += word.eq(words[-1])
        words.append(word)
    claim.ensure(dut.o == words[-1], claim.inside("dut", "history") == Cat(words[1:]))


@PROPERTIES.of(
    "ring",
    "ring_4",
    "4 places: what was written last is read, up to two cycles later; what was read is read again, whatever goes elsewhere",
    ("write.en.eq(1)", "write.en.eq(self.write == self.read)"),
    depth=3,
)
def ring(claim: Claim) -> None:
    """From any state: a read returns the word written last, in this cycle or before, and a repeated read returns the same
    word. The write address holds while nothing advances."""
    dut = claim.instantiate("dut", Ring(width=3, depth=4))
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
