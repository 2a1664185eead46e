"""Descriptor generation (DGE): a copy command to the descriptors of its runs.

A descriptor moves bytes that are contiguous at source and destination, in one SBUF partition, at most ``2**cut_bits`` of them.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI", "Descriptor generation" and "DMA overview", AWS Neuron documentation;
aws-neuron-driver for the length of a descriptor.
"""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, DMA_QUEUES
from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS, MAX_PAIRS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.faults import Fault, keep_first


@dataclass(frozen=True, kw_only=True)
class DgeConfig(UnitConfig, unit="dge"):
    """Widths of descriptor generation; the machine needs 38, 18, 38, 16 and 16 bits.

    Attributes
    ----------
    hbm_bits : bits of a byte address in HBM.
    partition_bits : bits of a byte address in an SBUF partition.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    cut_bits : logarithm of the most bytes of a descriptor.
    """

    hbm_bits: int = in_range(3, 38, 9)
    partition_bits: int = in_range(3, 18, 7)
    step_bits: int = in_range(2, 38, 7)
    num_bits: int = in_range(1, 18, 3)
    cut_bits: int = in_range(2, 16, 4)

    @property
    def address_bits(self) -> int:
        """Bits of an element's place in either memory."""
        return max(self.hbm_bits, self.partition_bits)

    @property
    def byte_bits(self) -> int:
        """Bits of a byte address of either memory, SBUF's with the partition."""
        return max(self.hbm_bits, (PARTITIONS - 1).bit_length() + self.partition_bits)

    @property
    def count_bits(self) -> int:
        """Bits of the elements of a partition."""
        return MAX_PAIRS * self.num_bits

    @property
    def run_bits(self) -> int:
        """Bits of the elements of a run, which lies in one memory."""
        return max(self.address_bits + 1, self.num_bits)


# One side of a DMA transfer: an access pattern, walked run by run.
#
# A run is the innermost pair where its step is 1, with the pairs that continue it (``step = length of the run``), else one
# element.


SETUP_STEPS = MAX_PAIRS + 1
"""Steps of the setup: a pair each, innermost first, then the partitions."""


def dge_pattern(config: DgeConfig) -> data.StructLayout:
    """Layout of a side: elements of SBUF from partition ``start`` on, or of HBM with a step from one partition to the next.

    ``pairs[0]`` is innermost; offset and steps are in elements.
    """
    pair = data.StructLayout({"step": signed(config.step_bits), "num": config.num_bits})
    return data.StructLayout(
        {
            "pairs": data.ArrayLayout(pair, MAX_PAIRS),
            "offset": config.address_bits,
            "sbuf": 1,
            "start": range(PARTITIONS),
            "partition_step": signed(config.step_bits),
        }
    )


class DgeSide(wiring.Component):
    """Setup in :data:`SETUP_STEPS` cycles, then the runs of each partition.

    Parameters
    ----------
    config : widths.

    Members
    -------
    pattern, partitions, size : In, of the present command
    load : In(1), begins a setup; setup : In(1), does its step ``step`` : In
    start : In(1), begins the walk
    advance : In(1), takes ``chunk`` : In elements, at most ``left``
    address, partition : Out, of the next element; left : Out, elements of its run
    last : Out(1), the run is the partition's last one
    count : Out, elements of a partition
    empty, outside : Out(1), a num is 0; an element is outside the memory
    """

    def __init__(self, config: DgeConfig):
        self.config = config
        super().__init__(
            {
                "pattern": In(dge_pattern(config)),
                "partitions": In(range(PARTITIONS + 1)),
                "size": In(2),
                "load": In(1),
                "setup": In(1),
                "step": In(range(SETUP_STEPS)),
                "start": In(1),
                "advance": In(1),
                "chunk": In(config.cut_bits + 1),
                "address": Out(config.address_bits),
                "partition": Out(range(PARTITIONS)),
                "left": Out(config.run_bits),
                "last": Out(1),
                "count": Out(config.count_bits),
                "empty": Out(1),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        nums, counts = (
            [Signal(config.num_bits, name=f"{name}_{i}", reset_less=True) for i in range(MAX_PAIRS)]
            for name in ("num", "count")
        )
        deltas = [Signal(config.address_bits, name=f"delta_{i}", reset_less=True) for i in range(MAX_PAIRS)]
        kept = Signal(range(MAX_PAIRS + 1), reset_less=True)
        run = Signal(config.run_bits, reset_less=True)
        is_run = Signal(reset_less=True)
        self._setup(m, nums, deltas, kept, run, is_run)
        self._walk(m, nums, counts, deltas, run, is_run)
        return m

    def _setup(self, m: Module, nums: list, deltas: list, kept: Signal, run: Signal, is_run: Signal) -> None:
        """Find the run, and how far the pattern reaches."""
        config, pattern = self.config, self.pattern
        # Four pairs and the partitions, each at most its step times its num.
        reach_shape = signed(
            max(
                config.step_bits + config.num_bits + 2,
                config.step_bits + (PARTITIONS - 1).bit_length(),
                config.address_bits + 1,
            )
            + 1
        )
        reach, low = (Signal(reach_shape, name=name, reset_less=True) for name in ("reach", "low"))
        high = Signal(reach_shape.width - 1, reset_less=True)
        step, num = Signal(signed(config.step_bits)), Signal(max(config.num_bits, len(self.partitions)))
        product = Signal(reach_shape)
        joins = is_run & (kept == 1) & (step == run)
        over_partitions = self.step == MAX_PAIRS
        with m.If(over_partitions):
            m.d.comb += [step.eq(Mux(pattern.sbuf, 0, pattern.partition_step)), num.eq(self.partitions)]
        with m.Else():
            m.d.comb += [
                step.eq(Array(pair.step for pair in pattern.pairs)[self.step]),
                num.eq(Array(pair.num for pair in pattern.pairs)[self.step]),
            ]
        memory = Mux(pattern.sbuf, 1 << config.partition_bits, 1 << config.hbm_bits)
        m.d.comb += [
            product.eq(step * (num - 1)),
            self.outside.eq((low < 0) | ((high + 1) << self.size > memory)),
        ]
        with m.If(self.load):
            m.d.sync += [reach.eq(0), low.eq(pattern.offset), high.eq(pattern.offset), kept.eq(0)]
            m.d.sync += [self.count.eq(1), self.empty.eq(0), run.eq(1), is_run.eq(1), *(each.eq(1) for each in nums)]
        with m.If(self.setup):
            m.d.sync += [low.eq(low + Mux(product < 0, product, 0)), high.eq(high + Mux(product < 0, 0, product))]
        with m.If(self.setup & ~over_partitions):
            m.d.sync += [reach.eq(reach + product), self.count.eq(self.count * num)]
            m.d.sync += self.empty.eq(self.empty | (num == 0))
            with m.If((num != 1) & joins):
                m.d.sync += run.eq(run * num)
            with m.If((num != 1) & ~joins):
                m.d.sync += [Array(nums)[kept].eq(num), Array(deltas)[kept].eq(step - reach), kept.eq(kept + 1)]
                with m.If(kept == 0):
                    m.d.sync += [is_run.eq(step == 1), run.eq(Mux(step == 1, num, 1))]

    def _walk(self, m: Module, nums: list, counts: list, deltas: list, run: Signal, is_run: Signal) -> None:
        """Runs in a partition, and partition after partition."""
        base = Signal(self.config.address_bits, reset_less=True)
        nexts = [Signal.like(count, name=f"next_{i}") for i, count in enumerate(counts)]
        m.d.comb += [after.eq(count + 1) for after, count in zip(nexts, counts, strict=True)]
        ends = [after == num for after, num in zip(nexts, nums, strict=True)]
        ends[0] = is_run | ends[0]
        m.d.comb += self.last.eq(Cat(ends).all())
        following = Signal.like(base)
        m.d.comb += following.eq(base + Mux(self.pattern.sbuf, 0, self.pattern.partition_step))
        with m.If(self.start):
            m.d.sync += [self.address.eq(self.pattern.offset), base.eq(self.pattern.offset), self.left.eq(run)]
            m.d.sync += [self.partition.eq(self.pattern.start), *(count.eq(0) for count in counts)]
        with m.If(self.advance):
            m.d.sync += [self.address.eq(self.address + self.chunk), self.left.eq(self.left - self.chunk)]
            with m.If(self.left == self.chunk):
                m.d.sync += self.left.eq(run)
                for level in range(MAX_PAIRS):
                    with m.If(Cat(ends[:level]).all() & ~ends[level]):
                        m.d.sync += self.address.eq(self.address + self.chunk - 1 + deltas[level])
                        m.d.sync += [counts[level].eq(nexts[level]), *(count.eq(0) for count in counts[:level])]
                with m.If(self.last):
                    m.d.sync += [self.address.eq(following), base.eq(following)]
                    m.d.sync += [self.partition.eq(self.partition + 1), *(count.eq(0) for count in counts)]


LARGEST_SIZE = 2
"""Largest element size: 2**2 bytes."""


def dge_command(config: DgeConfig) -> data.StructLayout:
    """Layout of a copy: both patterns, the partitions of each, the logarithm of an element's bytes, and the queue."""
    pattern = dge_pattern(config)
    return data.StructLayout(
        {
            "source": pattern,
            "destination": pattern,
            "partitions": range(PARTITIONS + 1),
            "size": 2,
            "queue": range(DMA_QUEUES),
        }
    )


def dge_address(config: DgeConfig) -> data.StructLayout:
    """Layout of an address: a byte of HBM, or in SBUF ``partition << partition_bits | byte``."""
    return data.StructLayout({"byte": config.byte_bits, "sbuf": 1})


def dge_descriptor(config: DgeConfig) -> data.StructLayout:
    """Layout of a descriptor: engine, queue, addresses, length in bytes, and whether it is its command's first or last."""
    address = dge_address(config)
    return data.StructLayout(
        {
            "engine": range(DMA_ENGINES),
            "queue": range(DMA_QUEUES),
            "source": address,
            "destination": address,
            "length": config.cut_bits + 1,
            "first": 1,
            "last": 1,
        }
    )


class Dge(wiring.Component):
    """Walks both patterns run by run; joins runs that continue on both sides.

    Latency: the first descriptor of several comes ``SETUP_STEPS + 5`` cycles after its command. Throughput: one descriptor a
    cycle, where each lies in one run on both sides. A stall of ``o`` holds the walk. A rejected command gives no descriptor.

    Parameters
    ----------
    config : widths of addresses and patterns.

    Members
    -------
    i : In(stream of dge_command)
    o : Out(stream of dge_descriptor)
    fault : Out(Fault), of the first command that was rejected since reset or ``clear``: DTYPE, a size that no element has;
        PARTITIONS, NUM, COUNT or RANGE
    clear : In(1), clears ``fault``
    busy : Out(1), a command is inside
    """

    def __init__(self, config: DgeConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(dge_command(config))),
                "o": Out(stream.Signature(dge_descriptor(config))),
                "fault": Out(Fault),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = Signal(dge_command(self.config), reset_less=True)
        m.submodules.source = source = DgeSide(self.config)
        m.submodules.destination = destination = DgeSide(self.config)
        load, setup, start, advance = Signal(), Signal(), Signal(), Signal()
        chunk = Signal(self.config.cut_bits + 1)
        step = Signal(range(SETUP_STEPS), reset_less=True)
        for side, pattern in ((source, command.source), (destination, command.destination)):
            m.d.comb += [
                side.pattern.eq(pattern),
                side.partitions.eq(command.partitions),
                side.size.eq(command.size),
                side.load.eq(load),
                side.setup.eq(setup),
                side.step.eq(step),
                side.start.eq(start),
                side.advance.eq(advance),
                side.chunk.eq(chunk),
            ]
        found, finished = Signal(Fault), Signal()
        m.d.comb += found.eq(self._fault(command, source, destination))
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += command.eq(self.i.p)
                with m.If(self.i.valid):
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += load.eq(1)
                m.d.sync += step.eq(0)
                m.next = "SETUP"
            with m.State("SETUP"):
                m.d.comb += setup.eq(1)
                m.d.sync += step.eq(step + 1)
                with m.If(step == SETUP_STEPS - 1):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += start.eq(1)
                m.next = "WALK"
                with m.If(found != Fault.NONE):
                    m.next = "IDLE"
            with m.State("WALK"):
                with m.If(finished):
                    m.next = "FLUSH"
            with m.State("FLUSH"):
                with m.If(~self.o.valid | self.o.ready):
                    m.next = "IDLE"
        keep_first(m, self.fault, Mux(fsm.ongoing("CHECK"), found.as_value(), Fault.NONE), self.clear)
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE") | self.o.valid)
        self._runs(m, command, source, destination, chunk, advance, finished, start, fsm)
        return m

    def _fault(self, command, source: DgeSide, destination: DgeSide) -> Value:
        """Return the fault of a command."""
        sides = ((source, command.source), (destination, command.destination))
        beyond = [side.sbuf & (side.start + command.partitions > PARTITIONS) for _, side in sides]
        bad_partitions = (command.partitions == 0) | beyond[0] | beyond[1]
        return first_of(
            (command.size > LARGEST_SIZE, Fault.DTYPE),
            (bad_partitions, Fault.PARTITIONS),
            (source.empty | destination.empty, Fault.NUM),
            (source.count != destination.count, Fault.COUNT),
            (source.outside | destination.outside, Fault.RANGE),
        )

    def _runs(self, m: Module, command, source, destination, chunk, advance, finished, start, fsm) -> None:
        """Take the longest chunk that stays in a run of both sides, and join it to the descriptor before where it continues."""
        config = self.config
        present = Signal(dge_descriptor(config), reset_less=True)
        boundary = Signal(reset_less=True)
        there = Signal()
        # Addresses at which the present descriptor would continue.
        ends = [Signal(config.byte_bits, name=f"{name}_end", reset_less=True) for name in ("source", "destination")]
        begins = [
            self._address(side, pattern, command.size)
            for side, pattern in ((source, command.source), (destination, command.destination))
        ]
        number = Signal(range(DMA_ENGINES), reset_less=True)
        partition = Signal(range(PARTITIONS), reset_less=True)
        longest = 1 << config.cut_bits
        in_sbuf = command.source.sbuf | command.destination.sbuf
        joins, bytes_, room = Signal(), Signal(config.cut_bits + 1), Signal(config.cut_bits + 1)
        free = ~self.o.valid | self.o.ready
        partition_ends = advance & source.last & (source.left == chunk)
        m.d.comb += [
            joins.eq(there & ~boundary & (present.length != longest) & (begins[0] == ends[0]) & (begins[1] == ends[1])),
            room.eq(Mux(joins, longest - present.length, longest) >> command.size),
            chunk.eq(room),
            bytes_.eq(chunk << command.size),
            advance.eq(fsm.ongoing("WALK") & (joins | ~there | free)),
            finished.eq(partition_ends & (partition == command.partitions - 1)),
        ]
        with m.If((source.left < room) & (source.left <= destination.left)):
            m.d.comb += chunk.eq(source.left)
        with m.Elif(destination.left < room):
            m.d.comb += chunk.eq(destination.left)

        leaves = Signal()
        m.d.comb += leaves.eq(free & ((advance & there & ~joins) | fsm.ongoing("FLUSH")))
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(leaves):
            m.d.sync += [self.o.valid.eq(1), self.o.p.eq(present), self.o.p.last.eq(fsm.ongoing("FLUSH"))]
        with m.If(advance):
            m.d.sync += [there.eq(1), boundary.eq(partition_ends & in_sbuf), partition.eq(partition + partition_ends)]
            m.d.sync += [end.eq(begin + bytes_) for end, begin in zip(ends, begins, strict=True)]
            with m.If(joins):
                m.d.sync += present.length.eq(present.length + bytes_)
            with m.Else():
                sbuf_partition = Mux(command.destination.sbuf, destination.partition, source.partition)
                m.d.sync += [
                    present.source.byte.eq(begins[0]),
                    present.destination.byte.eq(begins[1]),
                    present.length.eq(bytes_),
                    present.first.eq(~there),
                    present.engine.eq(Mux(in_sbuf, sbuf_partition >> exact_log2(ENGINE_PARTITIONS), number)),
                    number.eq(number + 1),
                ]
        with m.If(start):
            m.d.sync += [there.eq(0), number.eq(0), partition.eq(0), present.queue.eq(command.queue)]
            m.d.sync += [
                present.source.sbuf.eq(command.source.sbuf),
                present.destination.sbuf.eq(command.destination.sbuf),
            ]

    def _address(self, side: DgeSide, pattern, size: Value) -> Value:
        """The byte of a side's next element, without the flag of its memory."""
        own = (side.address << size)[: self.config.byte_bits]
        return Mux(pattern.sbuf, (side.partition << self.config.partition_bits) | own, own)


RECORDS = (
    Unit(
        name="dge",
        config_type=DgeConfig,
        build=Dge,
        summary="Trainium3: descriptor generation, a run of both sides a cycle",
        covered=Covered(DgeConfig(), 200),
        judges=(Judge(34, DgeConfig(), 120),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("command", r"(command|fsm_state|step$|found|fault|clear|busy)"),
            WaveGroup("runs", r"(present|there|boundary|joins|chunk|room|bytes_|advance|finished|leaves)"),
            WaveGroup("source", r"source\."),
            WaveGroup("destination", r"destination\."),
            OUTPUT,
        ),
    ),
)
