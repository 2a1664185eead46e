"""Vector multiply-accumulate: ``acc[dst] = +-X @ Y +- acc1 +- acc2`` on ``lanes`` lanes with an accumulator register file.

::

     i --> Issue --> [register] --> Permute --> MacLane x lanes --> written
                                                  ^         |
                                                  |         v
                        write ------------> AccumulatorFile --> o <-- read

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
    """Native instructions on ``lanes`` lanes, one beat a cycle.

    Latency: with the first beat taken in cycle 1, the result is written in cycle 6 (integers, MX6) or 7 (floats; MX9 if its
    beats are adjacent). Hazards: see :class:`Issue`; a beat stalls until its write slot is free and its accumulators are
    written.

    Parameters
    ----------
    config : VectorMacConfig, size and numerics.

    Members
    -------
    i : In(stream of beat_layout)
    write : In(stream of write_layout), accumulator words from the host; stalls while an instruction in flight reads or
        writes the same word. An instruction whose last beat is taken in the same cycle or later reads the new word.
    read : In(stream of place_layout), read requests; stalls while a result for that word is in flight
    o : Out(stream of words), one answer for each read request
    written : Out(written_layout), valid in the cycle of a result's write; ``read`` returns the result from this cycle on
    busy : Out(1), 1 while an instruction waits or is in flight
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
        """Register the beat, connect the lanes, and return their results."""
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
        reading, taking, landing = issue.flights[READ], issue.flights[READ - 1], issue.flights[0]
        m.d.comb += [
            file.acc1.eq(Cat(reading.dst.part, reading.acc1)),
            file.acc2.eq(Cat(reading.dst.part, reading.acc2)),
        ]
        # Integers take a result that lands as they take their accumulators; the file forwards to the other paths.
        forwards = {
            name: landing.valid
            & getattr(taking, f"reads_{name}")
            & (landing.dst.as_value() == Cat(taking.dst.part, getattr(taking, name)))
            for name in ("acc1", "acc2")
            if config.numerics.accumulator_bypass
        }
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
                *(
                    getattr(lane, name).eq(
                        Mux(forwards.get(name, 0), lane.o, getattr(file, f"{name}_word").word_select(k, LANE_BITS))
                    )
                    for name in ("acc1", "acc2")
                ),
            ]
            results.append(lane.o)
        return results

    def _write(self, m: Module, issue: Issue, file: AccumulatorFile, results: list[Value]) -> None:
        """Write results, and words of the host in cycles without a result."""
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
        """Answer read requests; a word waits for ``o.ready`` in the register file's output register."""
        free = Signal()
        # A result written in this cycle is bypassed to the read port.
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
