"""A processing element of all modes with its place in a fast weight load: beats of stationary words move east with the moving words.

    beat  | words 3 .. 0 | place |  a column c of a beat whose first word is for column f has place f - c;
                                    it takes word -place, if there is one, and passes place - 1 on

Ref: "Trainium Architecture Guide for NKI", fast weight load and background load of LoadStationary. Its structure is chosen.
"""

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import CorePe, moving_layout, stationary_layout

COLUMN_CHAINS = (("beat_west", "beat_east"), ("moving_west", "moving_east"), ("swap_west", "swap_east"))
"""Ports that chain a column to its eastern neighbour."""


def beat_layout(config: CorePeConfig, cols: int) -> data.StructLayout:
    """Layout of a beat: its stationary words, the first one's column less the present one, and how many words it has."""
    return data.StructLayout(
        {
            "words": data.ArrayLayout(stationary_layout(config), LOAD_COLUMNS),
            "place": signed(ceil_log2(cols) + 1),
            "narrow": 1,  # four words, else two
            "valid": 1,
        }
    )


class CoreColumn(wiring.Component):
    """One :class:`CorePe`, which holds the word of its column twice; a beat leaves east a cycle later.

    Parameters
    ----------
    config : configuration of the PE.
    cols : columns of the array.

    Members
    -------
    advance : In(1), clock enable of every register
    beat_west : In(beat_layout), beat_east : Out(beat_layout)
    moving_west : In(moving_layout), moving_east : Out(moving_layout)
    swap_west : In(1), swap_east : Out(1)
    partial_north : In(32), partial_south : Out(32)
    """

    def __init__(self, config: CorePeConfig, cols: int):
        self.config, self.cols = config, cols
        super().__init__(self.ports(config, cols))

    @staticmethod
    def ports(config: CorePeConfig, cols: int) -> dict[str, wiring.Member]:
        """Return the members of one column."""
        beat, moving = beat_layout(config, cols), moving_layout(config)
        return {
            "advance": In(1),
            "beat_west": In(beat),
            "beat_east": Out(beat),
            "moving_west": In(moving),
            "moving_east": Out(moving),
            "swap_west": In(1),
            "swap_east": Out(1),
            "partial_north": In(FP32.width),
            "partial_south": Out(FP32.width),
        }

    def elaborate(self, platform):
        m = Module()
        pe = instantiate(m, platform, "pe", CorePe, self.config)
        beat = self.beat_west
        number = Signal(len(beat.place))
        m.d.comb += [
            number.eq(-beat.place),
            pe.load.eq(beat.valid & (number < Mux(beat.narrow, LOAD_COLUMNS, LOAD_COLUMNS // 2))),
            pe.stationary_west.eq(beat.words[number[: ceil_log2(LOAD_COLUMNS)]]),
            pe.advance.eq(self.advance),
            pe.moving_west.eq(self.moving_west),
            pe.swap_west.eq(self.swap_west),
            pe.partial_north.eq(self.partial_north),
            self.moving_east.eq(pe.moving_east),
            self.swap_east.eq(pe.swap_east),
            self.partial_south.eq(pe.partial_south),
        ]
        with m.If(self.advance):
            m.d.sync += [self.beat_east.eq(beat), self.beat_east.place.eq(beat.place - 1)]
        return m
