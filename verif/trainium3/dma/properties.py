"""Pipelines and streams of the DMA units; casts of the DMA engines are exact where the destination holds the source."""

from functools import partial

from amaranth import Array, Mux, Signal, Value, signed

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.rtl.trainium3.dma.dma_cast import DmaCast, DmaCastConfig, FromFp32, ToFp32
from bitpath.rtl.trainium3.dma.dma_mover import DestinationAlign, DmaMoverConfig, ReadIssue, SourceAlign
from bitpath.rtl.trainium3.dma.dma_queues import StrictPriority
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTranspose, DmaTransposeConfig
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWrite, ReadAddWriteConfig
from bitpath.rtl.trainium3.dma.token_bucket import TokenBucket
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import pipeline_property, staged, stream_properties
from bitpath.verif.formal.property import Engine, Properties
from bitpath.verif.formal.specification import stays

CAST = partial(DmaCastConfig, beat_bytes=4)

PROPERTIES = Properties(
    "trainium3/dma",
    *(
        pipeline_property("trainium3.dma_cast", partial(staged, DmaCast, CAST, stages), stages, f"_{stages}_stages")
        for stages in (1, 2)
    ),
    *(
        each
        for stages in (1, 2)
        for each in stream_properties(
            "trainium3.dma_cast", partial(staged, DmaCast, CAST, stages), f"trainium3_dma_cast_{stages}"
        )
    ),
)


@PROPERTIES.of(
    "read_add_write",
    "read_add_write_{port}_stays",
    "what is offered at {port} stays until it is taken",
    None,
    "port, sabotage",
    [
        ("write", ("with m.If(leaves):", "with m.If(level.any()):")),
        ("fetch", ("room.eq(busy + level <= 1)", "room.eq(self.write.ready)")),
    ],
    depth=1,
)
def offers_stay(claim: Claim, port: str) -> None:
    """From any state with at most two beats on their way, while the beat at `i` stays as a stream must."""
    dut = claim.instantiate("dut", ReadAddWrite(ReadAddWriteConfig(address_bits=1)))
    waits = claim.register(dut.i.valid & ~dut.i.ready, "waits")
    before = claim.register(Value.cast(dut.i.p), "before")
    claim.assume(claim.inside("dut", "busy") + claim.inside("dut", "level") <= 2)
    claim.assume(~waits | (dut.i.valid & (Value.cast(dut.i.p) == before)))
    stays(claim, getattr(dut, port))


@PROPERTIES.of(
    "token_bucket",
    "token_bucket_gains_and_pays",
    "tokens are those before, less 256 for each byte granted, and the rate more, up to the burst; an open class has some",
    ("after - self.settings.rate", "after - self.take"),
    depth=1,
)
def gains_and_pays(claim: Claim) -> None:
    """From any state in which the class has held no more than its burst."""
    dut = claim.instantiate("dut", TokenBucket())
    settings = Value.cast(dut.settings)
    depth = claim.value(dut.settings.burst << 8, "depth")
    tokens = claim.value(depth - claim.inside("dut", "missing"), "tokens")
    length = claim.value(Mux(dut.length == 0, 1 << 16, dut.length), "bytes")
    # While a class is open a descriptor may be granted.
    claim.assume(dut.settings.limited, ~dut.take | dut.open, claim.register(settings, "settings_before") == settings)
    sum_of_all = claim.value(tokens - Mux(dut.take, length << 8, 0) + dut.settings.rate, "all")
    expected = claim.value(Mux(sum_of_all > depth, depth, sum_of_all), "expected", signed(32))
    claim.assume(claim.register(depth >= 0, "begun"), tokens > -(1 << 25), claim.inside("dut", "missing") < 1 << 29)
    claim.ensure(tokens == claim.register(expected, "tokens_due"), dut.open == (tokens > 0))


ARBITER = 8


@PROPERTIES.of(
    "strict_priority",
    "strict_priority_takes_the_lowest_number",
    "the choice is a request, no request has a lower number, and no equal one is nearer behind the one served last",
    ("(last < k)", "(last <= k)"),
)
def takes_the_lowest_number(claim: Claim) -> None:
    """From any state, for any other request."""
    dut = claim.instantiate("dut", StrictPriority(ARBITER))
    other = claim.free("other", range(ARBITER))
    asks = claim.value((dut.requests >> other)[0], "asks")
    own = claim.value(dut.priorities[dut.choice], "own")
    its = claim.value(dut.priorities[other], "its")
    latest = claim.value(Array(claim.inside("dut", f"latest_{each}") for each in range(4))[own], "latest")
    turns = [claim.value((each - latest - 1)[:3], name) for each, name in ((dut.choice, "turn"), (other, "turn_other"))]
    claim.ensure(dut.found == dut.requests.any(), ~dut.found | (dut.requests >> dut.choice)[0])
    claim.ensure(~asks | (own < its) | ((own == its) & (turns[0] <= turns[1])))


@PROPERTIES.of(
    "strict_priority",
    "strict_priority_remembers",
    "a priority remembers the request served last, until another one of it is served",
    ("self.priorities[self.choice] == level", "self.priorities[0] == level"),
    depth=1,
)
def remembers(claim: Claim) -> None:
    """From any state, for each priority."""
    dut = claim.instantiate("dut", StrictPriority(ARBITER))
    served = claim.value(dut.serve & dut.found, "served")
    own = claim.value(dut.priorities[dut.choice], "own")
    for level in range(4):
        latest = claim.inside("dut", f"latest_{level}")
        due = Mux(served & (own == level), dut.choice, latest)
        claim.ensure(latest == claim.register(due, f"due_{level}"))


MOVER = DmaMoverConfig(descriptor_cycles=4)


@PROPERTIES.of(
    "{unit}",
    "{unit}_offer_stays",
    "what is offered stays until it is taken, while its inputs stay as streams must",
    None,
    "unit, make, sabotage",
    [
        ("read_issue", ReadIssue, ("with m.If(~waits):", "with m.If(1):")),
        ("source_align", SourceAlign, ("with m.If(leaves):", "with m.If(self.o.valid):")),
        ("destination_align", DestinationAlign, ("& (~fills | self.o.ready)", "& 1")),
    ],
    depth=1,
)
def aligned_offer_stays(claim: Claim, make: type) -> None:
    """The property holds from any state."""
    dut = claim.instantiate("dut", make(MOVER))
    for name in ("i", "run"):
        port = getattr(dut, name, None)
        if port is not None:
            waits = claim.register(port.valid & ~port.ready, f"{name}_waits")
            before = claim.register(Value.cast(port.payload), f"{name}_before")
            claim.assume(~waits | (port.valid & (Value.cast(port.payload) == before)))
    stays(claim, dut.o)


@PROPERTIES.of(
    "read_issue",
    "read_issue_keeps_the_pace",
    "a run whose words are taken at once is over in the cycle that its counter and the shortest time say",
    ("counter.eq(TIMES.beat_gain)", "counter.eq(0)"),
    engine=Engine.INDUCTION,
    depth=2,
)
def keeps_the_pace(claim: Claim) -> None:
    """The beats that are left take ``ceil((64 * beats - counter) / 55)`` cycles."""
    dut = claim.instantiate("dut", ReadIssue(MOVER), o__ready=1)
    claim.assume(dut.i.p.step == 0, dut.i.p.beats > 0, dut.i.p.beats < 256)
    counter, beats, busy = (claim.inside("dut", name) for name in ("counter", "beats", "busy"))
    elapsed = Signal(16, init=0)
    total = Signal(16)
    with claim.m.If(dut.i.valid & dut.i.ready):
        claim.m.d.sync += [elapsed.eq(1), total.eq(dut.i.p.beats)]
    with claim.m.Elif(busy):
        claim.m.d.sync += elapsed.eq(elapsed + 1)
    moved = claim.value(total - beats, "moved")
    claim.ensure(~busy | ~beats.any() | (55 * elapsed == 64 * moved + counter), ~busy | (counter < 64))
    claim.ensure(~busy | (beats <= total) & (total < 256))


def _there(claim: Claim, name: str) -> tuple[Value, Value]:
    """An element of 8 or 16 bits, and its FP32 code."""
    dtype = Dtype[name.upper()]
    wide = claim.instantiate("wide", ToFp32(16), dtype=dtype.value)
    return wide.code[: container_bits(name)], wide.o


NARROW = [name for name in FORMATS if container_bits(name) <= 16]


@PROPERTIES.of(
    "to_fp32",
    "to_fp32_{name}_and_back",
    "{name} to FP32 and back: the same code, NaN canonical",
    None,
    "name, sabotage",
    [
        (
            name,
            ("- offset)", "- offset + 1)")
            if isinstance(FORMATS[name], FloatFormat) and name != "bf16"
            else ("value.sign.eq(negative)", "value.sign.eq(~negative)")
            if name != "bf16"
            else ("FP32.width - BF16.width)", "FP32.width - BF16.width - 1)"),
        )
        for name in NARROW
    ],
)
def there_and_back(claim: Claim, name: str) -> None:
    code, number = _there(claim, name)
    back = claim.instantiate("back", FromFp32(16), i=number, dtype=Dtype[name.upper()].value)
    fmt = FORMATS[name]
    same = back.o[: len(code)] == code
    if isinstance(fmt, FloatFormat):
        limit = fmt.max_code if fmt.infinity_code is None else fmt.infinity_code
        nan = claim.value(code[:-1] > limit, "nan")
        claim.ensure((nan & (back.o[: len(code)] == fmt.nan_code)) | (~nan & same))
    else:
        claim.ensure(same)


@PROPERTIES.of(
    "from_fp32",
    "from_fp32_{name}_in_order",
    "FP32 to {name}: a larger number never gives a smaller result",
    ("kept + up", "kept - up"),
    "name",
    [name for name in FORMATS if not isinstance(FORMATS[name], FloatFormat) and container_bits(name) <= 16],
)
def in_order(claim: Claim, name: str) -> None:
    """From an FP32 code to the next one away from zero."""
    first = claim.instantiate("first", FromFp32(16), dtype=Dtype[name.upper()].value)
    claim.assume(first.i[:-1] < FP32.infinity_code)
    second = claim.instantiate("second", FromFp32(16), i=first.i + 1, dtype=Dtype[name.upper()].value)
    bits = container_bits(name)
    before, after = (each.o[:bits].as_signed() if FORMATS[name].signed else each.o[:bits] for each in (first, second))
    negative = first.i[-1]
    claim.ensure((negative & (after <= before)) | (~negative & (after >= before)))


@PROPERTIES.of(
    "dma_transpose",
    "dma_transpose_{port}_stays",
    "what is offered at {port} stays until it is taken",
    None,
    "port, sabotage",
    [
        (
            "fetch",
            (
                "with m.If(takes):\n            m.d.sync += [own",
                "with m.If(self.fetch.valid):\n            m.d.sync += [own",
            ),
        ),
        ("o", ("with m.If(gives):", "with m.If(self.o.valid):")),
    ],
    depth=1,
)
def transposed_offers_stay(claim: Claim, port: str) -> None:
    """From any state in which the queue of notes holds no more than it can."""
    config = DmaTransposeConfig(address_bits=4, count_bits=2, row_bits=2, depth=2)
    dut = claim.instantiate("dut", DmaTranspose(config))
    claim.assume(claim.inside("dut.notes", "level") <= config.depth)
    stays(claim, getattr(dut, port))
