"""The multiply-accumulate of AIE-ML v2's vector unit, with its accumulators.

Ref: AM027, chapter 4, for the units; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import LANE_BITS
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.rtl.aie_ml_v2.vector.accumulator_file import AccumulatorFile
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.issue import FLIGHTS, READ, Issue
from bitpath.rtl.aie_ml_v2.vector.layouts import beat_layout, place_layout, word_bits, write_layout, written_layout
from bitpath.rtl.aie_ml_v2.vector.permute import Permute
from bitpath.rtl.common.pipeline.shared_instances import instantiate


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
        An instruction whose last beat is taken in the same cycle or later finds it.
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
        m = Module()
        config, beat = self.config, self.i.p
        m.submodules.issue = issue = Issue(config)
        m.submodules.file = file = AccumulatorFile(config)
        m.d.comb += [issue.valid.eq(self.i.valid), issue.beat.eq(beat), self.i.ready.eq(issue.ready)]
        results = self._lanes(m, platform, issue, file)
        self._write(m, issue, file, results)
        self._read(m, issue, file)
        flying = Cat(flight.valid for flight in issue.flights).any()
        m.d.comb += self.busy.eq(self.i.valid | issue.second | flying)
        return m

    def _lanes(self, m: Module, platform: Any, issue: Issue, file: AccumulatorFile) -> list[Value]:
        """Operands to the lanes, through a register; their results."""
        config = self.config
        taken, high = Signal(), Signal()
        operands = Signal(beat_layout(config), reset_less=True)
        m.d.sync += taken.eq(self.i.valid & self.i.ready)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [operands.eq(self.i.p), high.eq(issue.second)]

        permute = instantiate(m, platform, "permute", Permute, config)
        names = [f"{side}{part}" for side in "xy" for part in ("", "_exponents", "_shifts")]
        m.d.comb += [
            permute.mode.eq(operands.control.mode),
            permute.part.eq(operands.part),
            *(getattr(permute, name).eq(operands[name]) for name in names),
        ]
        reading = issue.flights[READ]
        m.d.comb += [
            file.acc1.eq(Cat(reading.dst.part, reading.acc1)),
            file.acc2.eq(Cat(reading.dst.part, reading.acc2)),
        ]
        results = []
        for k in range(config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", MacLane, MacLaneConfig(numerics=config.numerics))
            m.d.comb += [
                lane.valid.eq(taken),
                lane.operands.control.eq(operands.control),
                lane.operands.high.eq(high),
                *(
                    lane.operands[name].eq(getattr(permute, f"lane_{name}")[k])
                    for name in ("x", "y", "x_exponent", "y_exponent", "x_shift", "y_shift")
                ),
                lane.acc1.eq(file.acc1_word.word_select(k, LANE_BITS)),
                lane.acc2.eq(file.acc2_word.word_select(k, LANE_BITS)),
            ]
            results.append(lane.o)
        return results

    def _write(self, m: Module, issue: Issue, file: AccumulatorFile, results: list[Value]) -> None:
        """Results to the accumulators; words from outside where no result is due."""
        landing, outside = issue.flights[0], self.write
        needed = issue.writes(outside.p.place, range(FLIGHTS)) | issue.reads(outside.p.place, range(READ, FLIGHTS))
        m.d.comb += [
            outside.ready.eq(~landing.valid & ~needed),
            file.write_enable.eq(landing.valid | (outside.valid & outside.ready)),
            file.half.eq(landing.valid & landing.half),
            file.write.eq(Mux(landing.valid, landing.dst, outside.p.place)),
            file.write_word.eq(Mux(landing.valid, Cat(results), outside.p.word)),
            self.written.valid.eq(landing.valid),
            self.written.place.eq(landing.dst),
        ]

    def _read(self, m: Module, issue: Issue, file: AccumulatorFile) -> None:
        """Words to the outside; one that is offered stays in the file's output register."""
        free = Signal()
        # A result that is written in this cycle is read with it.
        clear = ~issue.writes(self.read.p, range(1, FLIGHTS))
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            self.read.ready.eq(free & clear),
            file.outside.eq(self.read.p),
            file.outside_enable.eq(self.read.valid & self.read.ready),
            self.o.p.eq(file.outside_word),
        ]
        with m.If(free):
            m.d.sync += self.o.valid.eq(self.read.valid & clear)
