"""Row storer: copies the accumulators of a command to the result memory."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.aie_ml_v2.engine.command import is_last_part, store_layout
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.engine.row_sequencer import released_layout
from bitpath.rtl.aie_ml_v2.vector.layouts import place_layout, word_bits


def result_write_layout(config: AieEngineConfig) -> data.StructLayout:
    """Return the layout of a write to the result memory."""
    return data.StructLayout({"valid": 1, "address": ceil_log2(config.result_depth), "data": word_bits(config.unit)})


class RowStorer(wiring.Component):
    """Read a command's accumulators, tile by tile and group by group, and write them to consecutive words.

    Throughput: one word a cycle. One store at a time: ``store.ready`` is 0 until the previous store is complete.

    Parameters
    ----------
    config : AieEngineConfig, the sizes of the memories and of the multiply-accumulate.

    Members
    -------
    store : In(stream of store_layout)
    read : Out(stream of place_layout), read requests to the accumulators
    word : In(stream of words), their answers, always ready
    write : Out(result_write_layout)
    released : Out(released_layout), valid with the request for an accumulator's last group
    busy : Out(1), 1 until the store is complete
    """

    def __init__(self, config: AieEngineConfig):
        self.config = config
        super().__init__(
            {
                "store": In(stream.Signature(store_layout(config))),
                "read": Out(stream.Signature(place_layout(config.unit))),
                "word": In(stream.Signature(word_bits(config.unit))),
                "write": Out(result_write_layout(config)),
                "released": Out(released_layout(config)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        held = Signal.like(self.store.p, reset_less=True)
        asks = Signal()  # 1 while read requests remain
        tile = Signal.like(held.last_tile, reset_less=True)
        part = Signal.like(self.read.p.part, reset_less=True)
        # Read requests in flight: at most all groups of all accumulators.
        waiting = Signal(range(self.config.unit.accumulators * self.config.unit.parts + 1))
        address = Signal.like(held.address, reset_less=True)

        asked = self.read.valid & self.read.ready
        answered = self.word.valid & self.word.ready
        ends_tile = Signal()
        m.d.comb += [
            self.busy.eq(asks | (waiting != 0)),
            self.store.ready.eq(~self.busy),
            self.read.valid.eq(asks),
            self.read.p.index.eq(held.accumulator + tile),
            self.read.p.part.eq(part),
            ends_tile.eq(is_last_part(self.config, held.mode, part)),
            self.released.valid.eq(asked & ends_tile),
            self.released.accumulator.eq(self.read.p.index),
            self.word.ready.eq(1),
            self.write.valid.eq(self.word.valid),
            self.write.address.eq(address),
            self.write.data.eq(self.word.p),
        ]
        with m.If(self.store.valid & self.store.ready):
            m.d.sync += [held.eq(self.store.p), asks.eq(1), tile.eq(0), part.eq(0), address.eq(self.store.p.address)]
        m.d.sync += waiting.eq(waiting + asked - answered)
        with m.If(asked):
            m.d.sync += [part.eq(Mux(ends_tile, 0, part + 1)), tile.eq(tile + ends_tile)]
            with m.If(ends_tile & (tile == held.last_tile)):
                m.d.sync += asks.eq(0)
        with m.If(answered):
            m.d.sync += address.eq(address + 1)
        return m
