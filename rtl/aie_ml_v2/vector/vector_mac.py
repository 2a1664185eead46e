"""Vector multiply-accumulate: ``acc[dst] = +-X @ Y +- acc1 +- acc2`` on ``lanes`` lanes with an accumulator register file.

::

     i --> Issue --> [register] --> Permute --> MacLane x lanes --> written
                                                  ^         |
                                                  |         v
                        write ------------> AccumulatorFile --> o <-- read

Ref: AM027, chapter 4, for the units; llvm-aie, AIE2PSGenSchedule.td, for the cycles.
"""

from itertools import pairwise
from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX9
from bitpath.golden.aie_ml_v2.declarations.modes import ACCUMULATOR_PATHS, FLOAT16, INT8, MODES, TIMINGS, Datapath, Mode
from bitpath.rtl.aie_ml_v2.mac.compare import used_accumulators
from bitpath.rtl.aie_ml_v2.mac.config import BYTE, LANE_BITS, LANE_OPERAND_BITS, MacLaneConfig, MacMode, is_one_of
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.rtl.aie_ml_v2.vector.config import X_BITS, X_BLOCKS, Y_BITS, Y_BLOCKS, VectorMacConfig, beat_layout
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup


def place_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the address of an accumulator word: the register and the group of lanes (0 bits for a single group)."""
    return data.StructLayout({"part": ceil_log2(config.parts), "index": ceil_log2(config.accumulators)})


def word_bits(config: VectorMacConfig) -> int:
    """Return the bits of an accumulator word; lane 0 of its group is lowest."""
    return config.lanes * LANE_BITS


def write_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of an accumulator word written by the host."""
    return data.StructLayout({"place": place_layout(config), "word": word_bits(config)})


def written_layout(config: VectorMacConfig) -> data.StructLayout:
    """Return the layout of the notice that a result is written in this cycle."""
    return data.StructLayout({"valid": 1, "place": place_layout(config)})


ELEMENT_BITS = {"int8": 8, "int16": 16, "float16": 16, "float8": 8, "mx6": MX6.width, "mx9": MX9.width}
"""Bits of an element by the name of its mode."""


# Issue logic of the multiply-accumulate: interlock, and a shift register of the instructions in flight.
#
# ::
#
#      cycle         1       2        3         4          5       6        7
#      MX, integer   issue   permute  multiply  compare    add     write
#      float         issue   permute  multiply  terms      compare add      write
#
# Ref: llvm-aie, AIE2PSGenSchedule.td, in ``golden.aie_ml_v2.declarations.modes.TIMINGS``.


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


# Accumulator register file, in words of ``lanes`` accumulator lanes: one write port, three read ports.


class AccumulatorFile(wiring.Component):
    """Register file with synchronous, write-transparent read ports.

    Read latency: 1 cycle. A read in the cycle of a write to the same address returns the new word.

    Parameters
    ----------
    config : VectorMacConfig, the lanes and the number of accumulators.

    Members
    -------
    write : In, the write address
    write_word : In(word)
    write_enable : In(1)
    half : In(1), 1 to write only lanes 0 to 31 of a word of 64
    acc1, acc2, outside : In, the read addresses
    outside_enable : In(1); at 0 ``outside_word`` holds its value
    acc1_word, acc2_word, outside_word : Out(word)
    """

    def __init__(self, config: VectorMacConfig):
        self.config = config
        address, word = ceil_log2(config.accumulators * config.parts), word_bits(config)
        names = ("acc1", "acc2", "outside")
        super().__init__(
            {
                "write": In(address),
                "write_word": In(word),
                "write_enable": In(1),
                "half": In(1),
                "outside_enable": In(1),
                **{name: In(address) for name in names},
                **{f"{name}_word": Out(word) for name in names},
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        depth, word = config.accumulators * config.parts, word_bits(config)
        m.submodules.words = words = memory.Memory(shape=word, depth=depth, init=[])
        whole = config.lanes == INT8.lanes  # FLOAT16 has half as many
        write = words.write_port(granularity=word * FLOAT16.lanes // INT8.lanes if whole else None)
        m.d.comb += [
            write.addr.eq(self.write),
            write.data.eq(self.write_word),
            write.en.eq(self.write_enable.replicate(len(write.en))),
        ]
        if whole:
            m.d.comb += write.en[1].eq(self.write_enable & ~self.half)
        for name in ("acc1", "acc2", "outside"):
            read = words.read_port(transparent_for=(write,))
            m.d.comb += [
                read.addr.eq(getattr(self, name)),
                read.en.eq(self.outside_enable if name == "outside" else 1),
                getattr(self, f"{name}_word").eq(read.data),
            ]
        return m


# Permute network: rows of the X tile and columns of the Y tile to the operands of the lanes (cycle 2).
#
# ``lane_x[l] = X[(part * lanes + l) // n]``, ``lane_y[l] = Y[:, (part * lanes + l) % n]`` for the mode's shape [m, k] @ [k, n].


class Permute(wiring.Component):
    """Select a row of X and a column of Y for every lane of a part; combinational.

    Lanes beyond the mode's tile get don't-care operands.

    Parameters
    ----------
    config : VectorMacConfig, the number of lanes.

    Members
    -------
    mode : In(MacMode)
    part : In, the group of lanes
    x, x_exponents, x_shifts, y, y_exponents, y_shifts : In, as in ``beat_layout``
    lane_x, lane_y : arrays of Out(128), one a lane
    lane_x_exponent, lane_y_exponent, lane_x_shift, lane_y_shift : arrays of Out(8), one a lane
    """

    clocked = False

    def __init__(self, config: VectorMacConfig):
        self.config = config
        members = {"mode": In(MacMode), "part": In(ceil_log2(config.parts))}
        for side, bits, blocks in (("x", X_BITS, X_BLOCKS), ("y", Y_BITS, Y_BLOCKS)):
            members |= {side: In(bits)}
            members |= {f"{side}_{name}s": In(blocks * BYTE) for name in ("exponent", "shift")}
            members |= {f"lane_{side}": Out(LANE_OPERAND_BITS).array(config.lanes)}
            members |= {f"lane_{side}_{name}": Out(BYTE).array(config.lanes) for name in ("exponent", "shift")}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        selected: dict[tuple, tuple[Value, Value, Value]] = {}
        for lane in range(self.config.lanes):
            for side in "xy":
                # Lanes with the same row or column share its multiplexer.
                places = tuple(self._places(side, code, lane) for code in MacMode)
                if (side, places) not in selected:
                    selected[side, places] = self._select(m, f"{side}_{lane}", side, places)
                for name, value in zip(("", "_exponent", "_shift"), selected[side, places], strict=True):
                    m.d.comb += getattr(self, f"lane_{side}{name}")[lane].eq(value)
        return m

    def _places(self, side: str, code: MacMode, lane: int) -> tuple[range, range]:
        """Return the rows or columns that a lane takes in the parts of a mode, and the bits of ``part`` that select one."""
        shape, lanes = _row_of(code).shapes[0], self.config.lanes
        if lanes >= shape.n:
            if side == "y":
                return range(lane % shape.n, lane % shape.n + 1), range(0)
            # Lanes beyond the tile take row 0.
            rows = range(lane // shape.n, shape.m, lanes // shape.n) or range(1)
            return rows, range(ceil_log2(len(rows)))
        low = ceil_log2(shape.n // lanes)
        if side == "y":
            return range(lane, shape.n, lanes), range(low)
        return range(shape.m), range(low, low + ceil_log2(shape.m))

    def _select(
        self, m: Module, name: str, side: str, places: tuple[tuple[range, range], ...]
    ) -> tuple[Value, Value, Value]:
        """Return a row or a column selected by mode and part, and the exponent and shifts of its block."""
        element = _row if side == "x" else _column
        tile = getattr(self, side)
        operand = Signal(LANE_OPERAND_BITS, name=f"operand_{name}")
        with m.Switch(self.mode):
            for code, (candidates, bits) in zip(MacMode, places, strict=True):
                with m.Case(code):
                    m.d.comb += operand.eq(self._chosen([element(tile, code, each) for each in candidates], bits))
        blocks = places[MacMode.MX9.value]
        exponent, shift = (
            self._chosen([getattr(self, f"{side}_{kind}").word_select(each, BYTE) for each in blocks[0]], blocks[1])
            for kind in ("exponents", "shifts")
        )
        return operand, exponent, shift

    def _chosen(self, values: list[Value], bits: range) -> Value:
        return values[0] if len(values) == 1 else Array(values)[self.part[bits.start : bits.stop]]


def _row_of(code: MacMode) -> Mode:
    return MODES[code.name.lower()]


def _row(tile: Value, code: MacMode, place: int) -> Value:
    """Return a row of consecutive elements; half a row in MX9."""
    mode = _row_of(code)
    depth = mode.shapes[0].k // TIMINGS[mode.datapath].issue_interval
    return tile.word_select(place, depth * ELEMENT_BITS[mode.name])


def _column(tile: Value, code: MacMode, place: int) -> Value:
    """Return a column of Y; the columns of MX are consecutive elements."""
    shape = _row_of(code).shapes[0]
    if shape.transposed:
        return _row(tile, code, place)
    return Cat(tile.word_select(k * shape.n + place, ELEMENT_BITS[_row_of(code).name]) for k in range(shape.k))


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


RECORDS = (
    Unit(
        name="vector_mac",
        config_type=VectorMacConfig,
        build=VectorMac,
        summary="AIE-ML v2: lanes with accumulators, permute network and interlock",
        covered=Covered(VectorMacConfig(), 200),
        waves=(
            CLOCK,
            WaveGroup("beats", r"i__"),
            WaveGroup("external accumulator access", r"(write|read|o|written|busy)\b|(write|read|o)__"),
            WaveGroup("issue and instructions in flight", r"issue\."),
            WaveGroup("accumulators", r"file\."),
            WaveGroup("first lane", r"lane_0\."),
            WaveGroup("operands", r"(permute\.|operands|taken|high)"),
        ),
    ),
)
