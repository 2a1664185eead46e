"""Matrix engine: a row sequencer that runs native products from operand memories to a result memory.

::

     command --> CommandCheck --> queue --> RowSequencer --> X, Y memories --> VectorMac --> RowStorer --> results --> data
     write   ---------------------------------------------->^------------------>^                           read ---^

Ref: AM027, chapter 4; llvm-aie, AIE2PSGenSchedule.td, for the pace of chained instructions.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import ceil_log2

from bitpath.rtl.aie_ml_v2.engine.command import (
    X_WORD,
    Y_WORD,
    AieEngineConfig,
    CommandCheck,
    beat_step_layout,
    command_layout,
    is_last_part,
    store_layout,
)
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac, place_layout, word_bits
from bitpath.rtl.common.pipeline.faults import first_of, keep_first
from bitpath.rtl.common.pipeline.word_memory import word_memory
from bitpath.rtl.common.unit import CLOCK, Covered, Unit, WaveGroup

# Row sequencer: expands a command into the beats of its native products.


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


# Row storer: copies the accumulators of a command to the result memory.


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


QUEUE_DEPTH = 4
"""Capacity of the command queue."""


class AieMemory(enum.Enum, shape=2):
    """Targets of the host's writes: the operand memories and the accumulators."""

    X = 0
    Y = 1
    ACCUMULATORS = 2


def host_write_layout(config: AieEngineConfig) -> data.StructLayout:
    """Return the layout of a host write; the address of an accumulator word is its `place_layout`."""
    places = config.unit.accumulators * config.unit.parts
    return data.StructLayout(
        {
            "data": max(X_WORD.size, Y_WORD.size, word_bits(config.unit)),
            "address": ceil_log2(max(config.x_depth, config.y_depth, places)),
            "memory": AieMemory,
        }
    )


class AieEngine(wiring.Component):
    """Operand memories, multiply-accumulate, storer and result memory.

    The host writes tiles, sends commands, waits until ``busy`` is 0, and reads results. The results do not depend on the
    number of lanes.

    Latency: the first beat issues two cycles after a command reaches an idle engine. Throughput: one beat a cycle, without a
    gap between commands; a native product takes one beat for each group of lanes, two in MX9. Beats onto one accumulator are
    at least 3 cycles apart (2 for integers; each one more without ``accumulator_bypass``), so with a single group of lanes
    full throughput needs 3 tiles a command.

    A refused command computes and stores nothing, and the next one is as if it had not come.

    Stores overlap the products of later commands. A store starts in the cycle after its command's last beat and reads one
    word a cycle from the write of the first tile's result on. Beats into accumulators that are being stored stall; so does
    the last beat of a storing command until the previous store is complete.

    Parameters
    ----------
    config : AieEngineConfig, the multiply-accumulate and the memories.

    Members
    -------
    command : In(stream of command_layout)
    write : In(stream of host_write_layout); a write to an accumulator stalls while a result for it is in flight
    read : In(stream of result addresses)
    data : Out(stream of words), one answer for each read
    busy : Out(1), 1 from the arrival of a command until all results are stored
    retired : Out(32), native products issued since reset
    busy_cycles : Out(32), cycles since reset in which ``busy`` was 1
    fault : Out(Fault), fault_number : Out(32), of the first refused command or host write since reset or ``clear``, and the commands
        before it
    clear : In(1), clears ``fault``; the next command's number is 0
    """

    def __init__(self, config: AieEngineConfig):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "write": In(stream.Signature(host_write_layout(config))),
                "read": In(stream.Signature(ceil_log2(config.result_depth))),
                "data": Out(stream.Signature(word_bits(config.unit))),
                "busy": Out(1),
                "retired": Out(32),
                "busy_cycles": Out(32),
                "fault": Out(Fault),
                "fault_number": Out(32),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.unit = unit = VectorMac(config.unit)
        m.submodules.sequencer = sequencer = RowSequencer(config)
        m.submodules.storer = storer = RowStorer(config)
        m.submodules.check = check = CommandCheck(config)
        m.submodules.queue = queue = SyncFIFO(width=command_layout(config).size, depth=QUEUE_DEPTH)
        connect(m, storer.read, unit.read)
        connect(m, unit.o, storer.word)
        takes, wrong = self.command.valid & self.command.ready, self._wrong_write()
        found = Mux(takes & (check.fault != Fault.NONE), check.fault, Mux(self.write.valid, wrong, Fault.NONE))
        keep_first(m, taken=takes, found=found, clear=self.clear, fault=self.fault, number=self.fault_number)
        m.d.comb += [
            check.command.eq(self.command.p),
            queue.w_data.eq(self.command.p),
            queue.w_en.eq(self.command.valid & (check.fault == Fault.NONE)),
            self.command.ready.eq(queue.w_rdy),
            sequencer.command.p.eq(queue.r_data),
            sequencer.command.valid.eq(queue.r_rdy),
            queue.r_en.eq(sequencer.command.ready),
            sequencer.released.eq(storer.released),
        ]

        held = Signal.like(sequencer.o.p, reset_less=True)
        held_valid = Signal()
        free, issues = Signal(), Signal()
        x, y = self._operands(m, platform, unit, sequencer, free)
        beat = unit.i.p
        m.d.comb += [
            beat.control.eq(held.control),
            *(index.eq(held.place.index) for index in (beat.acc1, beat.acc2, beat.dst)),
            beat.part.eq(held.place.part),
            beat.x.eq(x.tile),
            beat.x_exponents.eq(x.exponents),
            beat.x_shifts.eq(x.shifts),
            beat.y.eq(y.tile),
            beat.y_exponents.eq(y.exponents),
            beat.y_shifts.eq(y.shifts),
            # No combinational loop: store.ready does not depend on store.valid.
            unit.i.valid.eq(held_valid & (~held.stores | storer.store.ready)),
            issues.eq(unit.i.valid & unit.i.ready),
            storer.store.valid.eq(issues & held.stores),
            storer.store.p.eq(held.store),
            free.eq(~held_valid | issues),
            sequencer.o.ready.eq(free),
            self.busy.eq(self.command.valid | queue.r_rdy | held_valid | unit.busy | storer.busy),
        ]
        with m.If(free):
            m.d.sync += [held_valid.eq(sequencer.o.valid), held.eq(sequencer.o.p)]
        m.d.sync += [
            self.retired.eq(self.retired + (issues & held.completes)),
            self.busy_cycles.eq(self.busy_cycles + self.busy),
        ]
        self._results(m, platform, storer)
        return m

    def _wrong_write(self) -> Value:
        """Return the fault of a host write; a faulty write is taken and changes nothing."""
        memory, address = self.write.p.memory, self.write.p.address
        places = self.config.unit.accumulators * self.config.unit.parts
        sizes = {AieMemory.X: self.config.x_depth, AieMemory.Y: self.config.y_depth, AieMemory.ACCUMULATORS: places}
        beyond = Cat((memory == each) & (address >= size) for each, size in sizes.items()).any()
        known = Value.cast(memory).matches(*(each.value for each in AieMemory))
        return first_of((~known, Fault.OPERATION), (beyond, Fault.RANGE))

    def _operands(
        self, m: Module, platform: Any, unit: VectorMac, sequencer: RowSequencer, free: Signal
    ) -> list[data.View]:
        """Return the operand words of the held beat; connect the host's writes to memories and accumulators."""
        write = self.write.p
        writes = self.write.valid & (self._wrong_write() == Fault.NONE.value)
        words = []
        for name, layout, depth, at in (
            (AieMemory.X, X_WORD, self.config.x_depth, sequencer.o.p.x),
            (AieMemory.Y, Y_WORD, self.config.y_depth, sequencer.o.p.y),
        ):
            own = name.name.lower()
            words.append(Signal(layout, name=f"word_{own}"))
            values = {
                "write_address": write.address[: ceil_log2(depth)],
                "write_data": write.data[: layout.size],
                "write_enable": writes & (write.memory == name),
                # The read port holds its word while the beat waits.
                "read_address": at,
                "read_enable": free,
                "read_data": words[-1],
            }
            word_memory(m, platform, f"memory_{own}", values, depth)
        to_accumulators = write.memory == AieMemory.ACCUMULATORS
        m.d.comb += [
            unit.write.p.place.eq(write.address),
            unit.write.p.word.eq(write.data),
            unit.write.valid.eq(writes & to_accumulators),
            self.write.ready.eq(Mux(unit.write.valid, unit.write.ready, 1)),
        ]
        return words

    def _results(self, m: Module, platform: Any, storer: RowStorer) -> None:
        """Instantiate the result memory, which the storer writes and the host reads."""
        # The read port holds its word while ``data`` stalls.
        free = ~self.data.valid | self.data.ready
        values = {
            "write_address": storer.write.address,
            "write_data": storer.write.data,
            "write_enable": storer.write.valid,
            "read_address": self.read.p,
            "read_enable": free,
            "read_data": self.data.p,
        }
        word_memory(m, platform, "results", values, self.config.result_depth)
        m.d.comb += self.read.ready.eq(free)
        with m.If(free):
            m.d.sync += self.data.valid.eq(self.read.valid)


RECORDS = (
    Unit(
        name="aie_engine",
        config_type=AieEngineConfig,
        build=AieEngine,
        summary="AIE-ML v2: multiply-accumulate, memories and a row sequencer",
        covered=Covered(AieEngineConfig(unit=VectorMacConfig(lanes=16)), 4),
        agreed=AieEngineConfig(),
        waves=(
            CLOCK,
            WaveGroup("commands", r"(command__|busy|retired|fault|clear)"),
            WaveGroup("host", r"(write|read|data)__"),
            WaveGroup("command check and queue", r"(check|queue)\."),
            WaveGroup("sequencer", r"sequencer\."),
            WaveGroup("beat and its operands", r"(held|free|issues|i__|operand__|memory_[xy])"),
            WaveGroup("issue and instructions in flight", r"unit\.issue\."),
            WaveGroup("accumulators", r"unit\.(file\.|written|(read|o|write)__)"),
            WaveGroup("first lane", r"unit\.lane_0\."),
            WaveGroup("storer and results", r"(storer\.|store__|released|write\.|word__|answer__|results)"),
        ),
    ),
)
