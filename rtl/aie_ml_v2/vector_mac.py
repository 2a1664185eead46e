"""The multiply-accumulate of AIE-ML v2's vector unit, with its accumulators.

Ref: AM027, chapter 4, for the units; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.layouts import beat_layout, place_layout, word_bits, write_layout, written_layout


class VectorMac(wiring.Component):
    """``lanes`` lanes of native instructions, one beat a cycle.

    An instruction issues in the cycle in which its first beat is taken, counted as 1. Its result is written in cycle 6
    (integers, MX6) or 7 (floats, MX9, if the second beat follows at once; else later by as much), as
    ``golden.spec.aie_ml_v2_modes.TIMINGS`` has it. A beat waits while its result would be written together with that of
    an earlier instruction, or while an accumulator that it reads is due to be written in or after the cycle of that read.

    Parameters
    ----------
    config : size and numerics.

    Members
    -------
    i : In(stream of beat_layout)
    write : In(stream of write_layout), accumulators from outside; waits for instructions that have to read or write there.
        Instructions that issue in the same cycle or later find it.
    read : In(stream of place_layout), o : Out(stream of words), an answer for each; waits for a result that is due there
    written : Out(written_layout), in the cycle of the write; ``read`` finds it in this cycle
    busy : Out(1), an instruction is waiting or on the way
    """

    def __init__(self, config: VectorMacConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(config))),
                "write": In(stream.Signature(write_layout(config))),
                "read": In(stream.Signature(place_layout(config))),
                "o": Out(stream.Signature(word_bits(config))),
                "written": Out(written_layout(config)),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        return Module()
