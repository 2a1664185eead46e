"""One side of a DMA transfer: an access pattern, walked run by run.

A run is the innermost pair where its step is 1, with the pairs that continue it (``step = length of the run``), else one
element.
"""

from amaranth import Array, Cat, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.trainium3.memory.config import DgeConfig

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
