"""Row sequencer: expands a command into the beats of its native products."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.aie_ml_v2.engine.command import beat_step_layout, command_layout, is_last_part
from bitpath.rtl.aie_ml_v2.engine.config import AieEngineConfig
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode


def released_layout(config: AieEngineConfig) -> data.StructLayout:
    """Return the layout of the notice that an accumulator has been read to its last group of lanes."""
    return data.StructLayout({"valid": 1, "accumulator": ceil_log2(config.unit.accumulators)})


class RowSequencer(wiring.Component):
    """Loop nest: steps of K, tiles, groups of lanes, beats (innermost); one beat a cycle.

    Tiles are inside the steps, which spaces the additions onto one accumulator. A beat stalls while an earlier command has
    yet to store its accumulator.

    Parameters
    ----------
    config : AieEngineConfig, the sizes of the memories and of the multiply-accumulate.

    Members
    -------
    command : In(stream of command_layout), taken with its last beat
    o : Out(stream of beat_step_layout)
    released : In(released_layout), an accumulator that has been stored
    """

    def __init__(self, config: AieEngineConfig):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "o": Out(stream.Signature(beat_step_layout(config))),
                "released": In(released_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command, p = self.command, self.command.p
        o = self.o.p
        mode = p.store.mode
        accumulators = self.config.unit.accumulators

        beat = Signal()
        part = Signal.like(o.place.part)
        tile = Signal.like(p.store.last_tile)
        step = Signal.like(p.last_step)
        # Word offsets of this step from step 0.
        x_offset, y_offset = Signal.like(o.x), Signal.like(o.y)

        halved = Signal()
        ends_product, ends_step, ends_command = Signal(), Signal(), Signal()
        m.d.comb += [
            halved.eq(mode == MacMode.MX9),
            ends_product.eq((beat == halved) & is_last_part(self.config, mode, part)),
            ends_step.eq(ends_product & (tile == p.store.last_tile)),
            ends_command.eq(ends_step & (step == p.last_step)),
        ]

        storing = Signal(accumulators)
        accumulator = Signal.like(p.store.accumulator)
        advance = Signal()
        m.d.comb += [
            accumulator.eq(p.store.accumulator + tile),
            self.o.valid.eq(command.valid & ~storing.bit_select(accumulator, 1)),
            advance.eq(self.o.valid & self.o.ready),
            command.ready.eq(advance & ends_command),
            o.x.eq(p.x + x_offset + beat),
            o.y.eq(p.y + y_offset + Mux(halved, Cat(beat, tile), tile)),
            o.control.mode.eq(mode),
            o.control.x_format.eq(p.x_format),
            o.control.y_format.eq(p.y_format),
            o.control.x_signed.eq(p.x_signed),
            o.control.y_signed.eq(p.y_signed),
            o.control.multiplies.eq(1),
            o.control.negate_products.eq(p.negate),
            o.control.zero_acc1.eq(p.clear & (step == 0)),
            o.place.index.eq(accumulator),
            o.place.part.eq(part),
            o.completes.eq(ends_product),
            o.stores.eq(ends_command & p.stores),
            o.store.eq(p.store),
        ]
        with m.If(advance):
            m.d.sync += beat.eq(beat ^ halved)
            with m.If(beat == halved):
                m.d.sync += part.eq(Mux(ends_product, 0, part + 1))
            with m.If(ends_product):
                m.d.sync += tile.eq(Mux(ends_step, 0, tile + 1))
            with m.If(ends_step):
                m.d.sync += [
                    step.eq(Mux(ends_command, 0, step + 1)),
                    x_offset.eq(Mux(ends_command, 0, x_offset + 1 + halved)),
                    y_offset.eq(Mux(ends_command, 0, y_offset + p.y_stride)),
                ]

        with m.If(self.released.valid):
            m.d.sync += storing.bit_select(self.released.accumulator, 1).eq(0)
        with m.If(advance & o.stores):
            # No conflict with a release: each accumulator has had a beat in this command, which waited for its release.
            for index in range(accumulators):
                behind = Signal.like(accumulator, name=f"behind_{index}")
                m.d.comb += behind.eq(index - p.store.accumulator)
                with m.If(behind <= p.store.last_tile):
                    m.d.sync += storing[index].eq(1)
        return m
