"""Cascade: a chain of multiply-accumulates that splits K; each stage adds its products to the partial sums before it.

::

     before --> stage_0 --> link_0 --> stage_1 --> ... --> stage_n --> o       512 bits: 16 lanes of FP32 or INT32
                   ^                      ^                   ^
                  i_0                    i_1                 i_n

Ref: AM027, Register Move Functionality.
"""

from dataclasses import dataclass, field

from amaranth import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS, CASCADE_DEPTH
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig, beat_layout
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac, place_layout
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Unit, WaveGroup

# Cascade stage: a multiply-accumulate between the neighbour before it and the one after it.
#
# Ref: AM027, Register Move Functionality: the cascade moves accumulator registers; a full or an empty FIFO stalls the stage.


def stage_beat(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of a beat with its cascade controls.

    ``receives``: before the beat issues, a word from the neighbour before is written to acc2 of the beat's part.
    ``sends``: the result goes to the neighbour after. In an MX9 instruction the first beat receives, the second sends.
    """
    return data.StructLayout({"beat": beat_layout(config), "receives": 1, "sends": 1})


class CascadeStage(wiring.Component):
    """In-order issue with cascade input and output.

    A beat stalls until its word from ``before`` has arrived, and while an unsent result occupies its destination. Results
    leave in instruction order; while one waits for ``after.ready``, beats with other destinations still issue.

    Parameters
    ----------
    config : VectorMacConfig, whose accumulator word must be as wide as the cascade, 512 bits.

    Members
    -------
    i : In(stream of stage_beat)
    before : In(stream of 512)
    after : Out(stream of 512)
    """

    def __init__(self, config: VectorMacConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(stage_beat(config))),
                "before": In(stream.Signature(CASCADE_BITS)),
                "after": Out(stream.Signature(CASCADE_BITS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        places = self.config.accumulators * self.config.parts
        # One entry for each accumulator word; each is requested at most once at a time, so the FIFO never fills.
        m.submodules.asked = asked = SyncFIFO(width=place_layout(self.config).size, depth=places)
        mac = instantiate(m, platform, "mac", VectorMac, self.config)
        beat = self.i.p.beat
        source, target = self._place(m, "source", beat.acc2), self._place(m, "target", beat.dst)

        unsent = Signal(places)
        received = Signal()
        needs_word = self.i.valid & self.i.p.receives & ~received
        receives = needs_word & ~unsent.bit_select(source, 1)
        issues = self.i.valid & ~needs_word & ~unsent.bit_select(target, 1)
        m.d.comb += [
            mac.write.valid.eq(receives & self.before.valid),
            mac.write.p.place.eq(source),
            mac.write.p.word.eq(self.before.p),
            self.before.ready.eq(receives & mac.write.ready),
            mac.i.valid.eq(issues),
            mac.i.p.eq(beat),
            self.i.ready.eq(issues & mac.i.ready),
            asked.w_data.eq(target),
            asked.w_en.eq(issues & mac.i.ready & self.i.p.sends),
            mac.read.valid.eq(asked.r_rdy),
            mac.read.p.eq(asked.r_data),
            asked.r_en.eq(mac.read.ready),
        ]
        with m.If(mac.write.valid & mac.write.ready):
            m.d.sync += received.eq(1)
        with m.If(issues & mac.i.ready):
            m.d.sync += received.eq(0)
        # After the read request the word is in the multiply-accumulate's output register.
        with m.If(asked.r_rdy & asked.r_en):
            m.d.sync += unsent.bit_select(asked.r_data, 1).eq(0)
        with m.If(asked.w_en):
            m.d.sync += unsent.bit_select(target, 1).eq(1)
        connect(m, mac.o, flipped(self.after))
        return m

    def _place(self, m: Module, name: str, index: Value) -> Value:
        """Return the address of the beat's part of an accumulator register."""
        where = Signal(place_layout(self.config), name=name)
        m.d.comb += [where.index.eq(index), where.part.eq(self.i.p.beat.part)]
        return where.as_value()


# Configurations of the cascade and of its links.


CASCADE_LANES = CASCADE_BITS // FP32.width
"""Accumulator lanes of 32 bits in a cascade word."""
MAX_CASCADE_STAGES = 64
"""Limit of this model; a row of the machine's array has fewer tiles."""


@dataclass(frozen=True, kw_only=True)
class CascadeLinkConfig:
    """Configuration of the link between two neighbours, whose width and depth are fixed."""


@dataclass(frozen=True, kw_only=True)
class CascadeConfig(UnitConfig, unit="cascade"):
    """Configuration of a chain of multiply-accumulates.

    Attributes
    ----------
    stages : number of stages, 2 to 64.
    mac : multiply-accumulate of each stage; it must have 16 lanes, one cascade word.
    """

    stages: int = in_range(2, MAX_CASCADE_STAGES, 2)
    mac: VectorMacConfig = field(default_factory=lambda: VectorMacConfig(lanes=CASCADE_LANES))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mac.lanes != CASCADE_LANES:
            raise ValueError(f"cascade: mac.lanes must be {CASCADE_LANES}, not {self.mac.lanes}")


# Cascade stream between two neighbours: a FIFO of two words at the sender and one at the receiver.
#
# Ref: AM027, Register Move Functionality: 512 bits wide, two deep on both sides, so that four values are in flight.


class CascadeLink(wiring.Component):
    """Two FIFOs in series with a latency of two cycles, a throughput of one word a cycle and a capacity of four words.

    Parameters
    ----------
    config : CascadeLinkConfig, which has no fields.

    Members
    -------
    i : In(stream of 512)
    o : Out(stream of 512)
    """

    def __init__(self, config: CascadeLinkConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(CASCADE_BITS)), "o": Out(stream.Signature(CASCADE_BITS))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = SyncFIFO(width=CASCADE_BITS, depth=CASCADE_DEPTH)
        m.submodules.receiver = receiver = SyncFIFO(width=CASCADE_BITS, depth=CASCADE_DEPTH)
        wiring.connect(m, wiring.flipped(self.i), sender.w_stream)
        wiring.connect(m, sender.r_stream, receiver.w_stream)
        wiring.connect(m, receiver.r_stream, wiring.flipped(self.o))
        return m


class Cascade(wiring.Component):
    """Stages in order of K with a link between neighbours.

    A word takes two cycles through a link; a link moves one word a cycle. Back-pressure on ``o`` stalls the stages.

    Parameters
    ----------
    config : CascadeConfig, the number of stages and the multiply-accumulate of each.

    Members
    -------
    i_0, i_1, ... : In(stream of stage_beat), the beats of each stage
    before : In(stream of 512), partial sums for the first stage
    o : Out(stream of 512), results of the last stage
    """

    def __init__(self, config: CascadeConfig):
        self.config = config
        beats = In(stream.Signature(stage_beat(config.mac)))
        super().__init__(
            {f"i_{k}": beats for k in range(config.stages)}
            | {"before": In(stream.Signature(CASCADE_BITS)), "o": Out(stream.Signature(CASCADE_BITS))}
        )

    def elaborate(self, platform):
        m = Module()
        incoming = flipped(self.before)
        for k in range(self.config.stages):
            stage = instantiate(m, platform, f"stage_{k}", CascadeStage, self.config.mac)
            connect(m, flipped(getattr(self, f"i_{k}")), stage.i)
            connect(m, incoming, stage.before)
            if k == self.config.stages - 1:
                connect(m, stage.after, flipped(self.o))
            else:
                link = instantiate(m, platform, f"link_{k}", CascadeLink, CascadeLinkConfig())
                connect(m, stage.after, link.i)
                incoming = link.o
        return m


RECORDS = (
    Unit(
        name="cascade",
        config_type=CascadeConfig,
        build=Cascade,
        summary="AIE-ML v2: chain of multiply-accumulates that splits K",
        covered=Covered(CascadeConfig(), 100),
        waves=(
            CLOCK,
            WaveGroup("beats", r"i_\d+__"),
            WaveGroup("from outside", r"before__"),
            WaveGroup("links", r"link_"),
            WaveGroup("first stage's multiply-accumulate", r"stage_0\.mac\."),
            WaveGroup("stages", r"stage_\d+\.(?!mac\.)"),
            OUTPUT,
        ),
    ),
    Unit(
        name="cascade_link",
        config_type=CascadeLinkConfig,
        build=CascadeLink,
        summary="AIE-ML v2: cascade stream between two neighbours, two FIFOs",
        covered=Covered(CascadeLinkConfig(), 2000),
        waves=(CLOCK, INPUTS, WaveGroup("sender", r"sender\."), WaveGroup("receiver", r"receiver\."), OUTPUT),
    ),
)
