"""One link of a chain: a multiply-accumulate between the neighbour before it and the one after it.

Ref: AM027, Register Move Functionality: an accumulator register is what the cascade moves, and who finds its FIFO full or
empty stalls.
"""

from amaranth import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.layouts import beat_layout, place_layout
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac
from bitpath.rtl.common.pipeline.shared_instances import instantiate


def stage_beat(config: VectorMacConfig) -> data.StructLayout:
    """A beat of the multiply-accumulate, and what it has to do with the neighbours.

    With ``receives`` a word from the neighbour before becomes the accumulator acc2 of the beat's part before the beat
    issues; with ``sends`` the instruction's result goes to the neighbour after. Of the two beats of an MX9 instruction the
    first receives and the second sends.
    """
    return data.StructLayout({"beat": beat_layout(config), "receives": 1, "sends": 1})


class CascadeStage(wiring.Component):
    """Beats issue in order; each waits for the word that it receives, and while an earlier result of its destination has
    still to be sent. Results are sent in the order of their instructions; while one waits for the neighbour, beats with
    other destinations go on.

    Parameters
    ----------
    config : of the multiply-accumulate, whose word of accumulators is as wide as the cascade.

    Members
    -------
    i : In(stream of stage_beat)
    before : In(stream of 512), after : Out(stream of 512)
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
        # As deep as there are places, of which each is asked for once at most: it is never full.
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
        # A word that has been read stands in the multiply-accumulate's output register.
        with m.If(asked.r_rdy & asked.r_en):
            m.d.sync += unsent.bit_select(asked.r_data, 1).eq(0)
        with m.If(asked.w_en):
            m.d.sync += unsent.bit_select(target, 1).eq(1)
        connect(m, mac.o, flipped(self.after))
        return m

    def _place(self, m: Module, name: str, index: Value) -> Value:
        """The number of a place: that group of lanes of a register which the beat is for."""
        where = Signal(place_layout(self.config), name=name)
        m.d.comb += [where.index.eq(index), where.part.eq(self.i.p.beat.part)]
        return where.as_value()
