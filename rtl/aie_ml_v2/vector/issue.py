"""When instructions of the multiply-accumulate issue, and where they are on their way.

Ref: llvm-aie, AIE2PSGenSchedule.td, as ``golden.spec.aie_ml_v2_modes.TIMINGS`` has it.
"""

from itertools import pairwise

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS, Datapath
from bitpath.rtl.aie_ml_v2.mac.compare import used_accumulators
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.layouts import beat_layout, place_layout

LATE, EARLY = TIMINGS[Datapath.FLOAT].write, TIMINGS[Datapath.MX6].write
"""In which cycle results are written: of floats; of all else, for MX9 counted from its second beat."""
FLIGHTS = LATE - 1
"""Cycles before the write in which an instruction can be found on its way, the write's included."""
READ = 3
"""Cycles before the write in which accumulators are addressed; they are there in the next."""


def flight_layout(config: VectorMacConfig) -> data.StructLayout:
    """An instruction on its way: where its result goes, and what it reads there."""
    index = place_layout(config)["index"].shape
    return data.StructLayout(
        {
            "valid": 1,
            "dst": place_layout(config),
            "acc1": index,
            "acc2": index,
            "reads_acc1": 1,
            "reads_acc2": 1,
            "half": 1,  # has 32 lanes
        }
    )


class Issue(wiring.Component):
    """Lets beats pass that may, and keeps what has passed; ``flights[c]`` is the instruction that writes in c cycles.

    A beat waits while its result would be written together with that of an earlier instruction, or, at the first of an
    instruction, while an accumulator that it reads is due in the cycle of that read or later.

    Parameters
    ----------
    config : of the vector unit.

    Members
    -------
    valid : In(1), beat : In(beat_layout), ready : Out(1)
    second : Out(1), the next beat is MX9's second
    flights : array of Out(flight_layout)
    """

    def __init__(self, config: VectorMacConfig):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "beat": In(beat_layout(config)),
                "ready": Out(1),
                "second": Out(1),
                "flights": Out(flight_layout(config)).array(FLIGHTS),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, control, flights = self.beat, self.beat.control, self.flights
        mode = control.mode
        is_float = (mode == MacMode.FLOAT16) | (mode == MacMode.FLOAT8)
        is_mx9 = mode == MacMode.MX9
        reads_acc1, reads_acc2 = used_accumulators(control)

        # MX9 reads as late as a float does, though it enters the last part of the way with its second beat.
        reads_late = mode != MacMode.MX6
        due = Signal(FLIGHTS)
        for c, flight in enumerate(flights):
            same1, same2 = (
                used & (flight.dst.index == index) for used, index in ((reads_acc1, beat.acc1), (reads_acc2, beat.acc2))
            )
            m.d.comb += due[c].eq(flight.valid & (flight.dst.part == beat.part) & (same1 | same2))
        # What is written in c cycles is there in c + 1; the issue is cycle 1 of a timing.
        first_late, first_early = (TIMINGS[each].accumulator_read - 1 for each in (Datapath.FLOAT, Datapath.MX6))
        hazard = Mux(reads_late, due[first_late:].any(), due[first_early:].any())
        conflict = ~is_float & ~is_mx9 & flights[LATE - 2].valid
        fire = Signal()
        starting = Signal(flight_layout(self.config))
        m.d.comb += [
            self.ready.eq(self.second | ~(hazard | conflict)),
            fire.eq(self.valid & self.ready),
            starting.valid.eq(fire & (self.second | ~is_mx9)),
            starting.dst.index.eq(beat.dst),
            starting.dst.part.eq(beat.part),
            starting.acc1.eq(beat.acc1),
            starting.acc2.eq(beat.acc2),
            starting.reads_acc1.eq(reads_acc1),
            starting.reads_acc2.eq(reads_acc2),
            starting.half.eq(mode == MacMode.FLOAT16),
        ]
        with m.If(fire & is_mx9):
            m.d.sync += self.second.eq(~self.second)

        # A beat that issues is in cycle 1; in the next one its result is two cycles nearer than its latency says.
        late, early = LATE - 2, EARLY - 2
        none = data.Const(flight_layout(self.config), 0)
        m.d.sync += flights[late].eq(Mux(is_float, starting, none))
        for nearer, farther in pairwise(range(FLIGHTS)):
            if nearer == early:
                m.d.sync += flights[nearer].eq(Mux(starting.valid & ~is_float, starting, flights[farther]))
            else:
                m.d.sync += flights[nearer].eq(flights[farther])
        return m

    def writes(self, place: Value, cycles: range) -> Value:
        """Whether a result for a place is due in so many cycles."""
        return Cat(self.flights[c].valid & _same(self.flights[c].dst, place) for c in cycles).any()

    def reads(self, place: Value, cycles: range) -> Value:
        """Whether an instruction that writes in so many cycles takes an accumulator from a place."""
        return Cat(
            self.flights[c].valid
            & (self.flights[c].dst.part == place.part)
            & (
                (self.flights[c].reads_acc1 & (self.flights[c].acc1 == place.index))
                | (self.flights[c].reads_acc2 & (self.flights[c].acc2 == place.index))
            )
            for c in cycles
        ).any()


def _same(a: Value, b: Value) -> Value:
    return a.as_value() == b.as_value()
