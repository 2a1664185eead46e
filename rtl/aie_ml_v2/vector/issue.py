"""Issue logic of the multiply-accumulate: interlock, and a shift register of the instructions in flight.

::

     cycle         1       2        3         4          5       6        7
     MX, integer   issue   permute  multiply  compare    add     write
     float         issue   permute  multiply  terms      compare add      write

Ref: llvm-aie, AIE2PSGenSchedule.td, in ``golden.aie_ml_v2.declarations.modes.TIMINGS``.
"""

from itertools import pairwise

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import ACCUMULATOR_PATHS, MODES, TIMINGS, Datapath
from bitpath.rtl.aie_ml_v2.mac.compare import used_accumulators
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode, is_one_of
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.layouts import beat_layout, place_layout

LATE, EARLY = TIMINGS[Datapath.FLOAT].write, TIMINGS[Datapath.MX6].write
"""Cycles in which floats, and integers and MX, write their results; MX9 counts from its second beat."""
FLIGHTS = LATE - 1
"""Cycles that an instruction spends in flight, the write cycle included."""
PATHS = tuple(dict.fromkeys(ACCUMULATOR_PATHS.values()))
"""Paths of the accumulator bypass; an instruction in flight has the bit of its own set."""
READ = 3
"""Cycles from the accumulator address to the write; the word arrives one cycle after its address."""


def flight_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of an instruction in flight: its destination and the accumulators that it reads."""
    index = place_layout(config)["index"].shape
    return data.StructLayout(
        {
            "valid": 1,
            "dst": place_layout(config),
            "acc1": index,
            "acc2": index,
            "reads_acc1": 1,
            "reads_acc2": 1,
            "half": 1,  # set for modes of 32 lanes
            "path": len(PATHS),
        }
    )


class Issue(wiring.Component):
    """Interlock of the instructions in flight; ``flights[c]`` writes its result in c cycles.

    A beat stalls on a structural hazard (its result would be written in the cycle of an earlier instruction's result). The
    first beat of an instruction stalls on a data hazard (an accumulator that it reads will not be written before its read, or
    with ``accumulator_bypass`` and on one path in the same cycle).
    The second beat of MX9 never stalls. Throughput: one beat a cycle.

    Parameters
    ----------
    config : VectorMacConfig, the lanes and the number of accumulators.

    Members
    -------
    valid : In(1)
    beat : In(beat_layout)
    ready : Out(1), 0 to stall the beat
    second : Out(1), 1 if the next beat is MX9's second
    flights : array of Out(flight_layout), the instructions in flight
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

        # Counted from its first beat, MX9 reads its accumulators as late as a float does.
        reads_late = mode != MacMode.MX6
        due = Signal(FLIGHTS)
        for c, flight in enumerate(flights):
            same1, same2 = (
                used & (flight.dst.index == index) for used, index in ((reads_acc1, beat.acc1), (reads_acc2, beat.acc2))
            )
            m.d.comb += due[c].eq(flight.valid & (flight.dst.part == beat.part) & (same1 | same2))
        # A result written in c cycles can be read in cycle c + 1; TIMINGS counts the issue as cycle 1.
        first_late, first_early = (TIMINGS[each].accumulator_read - 1 for each in (Datapath.FLOAT, Datapath.MX6))
        path = Cat(is_one_of(mode, _modes_on(each), tuple(MacMode)) for each in PATHS)
        hazard = Mux(reads_late, *(self._waits(due, first, path) for first in (first_late, first_early)))
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
            starting.path.eq(path),
        ]
        with m.If(fire & is_mx9):
            m.d.sync += self.second.eq(~self.second)

        # The issue is cycle 1 and the register is read in cycle 2, so the index is the write cycle less 2.
        late, early = LATE - 2, EARLY - 2
        none = data.Const(flight_layout(self.config), 0)
        m.d.sync += flights[late].eq(Mux(is_float, starting, none))
        for nearer, farther in pairwise(range(FLIGHTS)):
            if nearer == early:
                m.d.sync += flights[nearer].eq(Mux(starting.valid & ~is_float, starting, flights[farther]))
            else:
                m.d.sync += flights[nearer].eq(flights[farther])
        return m

    def _waits(self, due: Value, first: int, path: Value) -> Value:
        """Return 1 if a due result is written in ``first`` cycles or later, unless the bypass takes it in that cycle."""
        if not self.config.numerics.accumulator_bypass:
            return due[first:].any()
        return due[first + 1 :].any() | (due[first] & (self.flights[first].path != path))

    def writes(self, place: Value, cycles: range) -> Value:
        """Return 1 if an instruction in flight writes ``place`` in one of ``cycles`` from now."""
        return Cat(self.flights[c].valid & _same(self.flights[c].dst, place) for c in cycles).any()

    def reads(self, place: Value, cycles: range) -> Value:
        """Return 1 if an instruction that writes in one of ``cycles`` from now reads an accumulator from ``place``."""
        return Cat(
            self.flights[c].valid
            & (self.flights[c].dst.part == place.part)
            & (
                (self.flights[c].reads_acc1 & (self.flights[c].acc1 == place.index))
                | (self.flights[c].reads_acc2 & (self.flights[c].acc2 == place.index))
            )
            for c in cycles
        ).any()


def _modes_on(path: str) -> tuple[MacMode, ...]:
    return tuple(each for each in MacMode if ACCUMULATOR_PATHS[MODES[each.name.lower()].datapath] == path)


def _same(a: Value, b: Value) -> Value:
    return a.as_value() == b.as_value()
