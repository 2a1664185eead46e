"""Access walker: the byte addresses of an access pattern, one a cycle.

    byte(i1..i4) = (offset + i1 * step1 + ... + i4 * step4) << size, the innermost pair fastest

Ref: "NKI access patterns" and "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation.
"""

from dataclasses import dataclass

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.faults import Fault, keep_first


@dataclass(frozen=True, kw_only=True)
class WalkConfig(UnitConfig, unit="access_walker"):
    """Widths of an access walker; the machine's SBUF needs 18, 16 and 16 bits.

    Attributes
    ----------
    address_bits : bits of a byte address in a partition.
    step_bits, num_bits : bits of a pair's step, which is signed, and of its num.
    tag_bits : bits of a command that ride with its addresses; 0 for none.
    checks : whether commands are checked; without it they must be right.
    """

    address_bits: int = in_range(3, 24, 8)
    step_bits: int = in_range(2, 16, 6)
    num_bits: int = in_range(1, 16, 4)
    tag_bits: int = in_range(0, 256, 0)
    checks: bool = True


LARGEST_SIZE = 2
"""Largest element size: 2**2 bytes."""


def walk_command(config: WalkConfig) -> data.StructLayout:
    """Layout of an access pattern: ``pairs[0]`` is innermost, ``size`` the logarithm of an element's bytes, offset and steps
    are in elements, ``limit`` in bytes; ``tag``, if present, rides with the addresses."""
    pair = data.StructLayout({"step": signed(config.step_bits), "num": config.num_bits})
    return data.StructLayout(
        {
            "pairs": data.ArrayLayout(pair, MAX_PAIRS),
            "offset": config.address_bits,
            "size": 2,
            "limit": config.address_bits + 1,
        }
        | _tag(config)
    )


def walk_address(config: WalkConfig) -> data.StructLayout:
    """Layout of an address beat; ``last`` marks the pattern's last one."""
    return data.StructLayout({"byte": config.address_bits, "last": 1} | _tag(config))


def _tag(config: WalkConfig) -> dict[str, int]:
    return {"tag": config.tag_bits} if config.tag_bits else {}


class AccessWalker(wiring.Component):
    """Walks access patterns, an address a cycle. A pattern that leaves 0 to ``limit`` - 1 gives no address and sets
    ``fault``.

    Latency: the first address comes two cycles after its command. Throughput: one address a cycle; the next pattern follows
    without a gap, also behind one of a single element. A stall of ``o`` holds the walk.

    Parameters
    ----------
    config : widths of addresses, steps and nums.

    Members
    -------
    i : In(stream of walk_command)
    o : Out(stream of walk_address)
    fault : Out(Fault), of the first command that was rejected since reset or ``clear``: DTYPE, a size that no element has; NUM;
        RANGE, an element before the start of the partition, or beyond the limit
    clear : In(1), clears ``fault``
    busy : Out(1), a command is inside
    """

    def __init__(self, config: WalkConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(walk_command(config))),
                "o": Out(stream.Signature(walk_address(config))),
                "fault": Out(Fault),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        # A command with its products: how far each level reaches, which is also the way back to its start.
        command = Signal(walk_command(config), reset_less=True)
        reaches = [
            Signal(signed(config.step_bits + config.num_bits), name=f"reach_{level}", reset_less=True)
            for level in range(MAX_PAIRS)
        ]
        waiting, walking, last = Signal(), Signal(), Signal()
        found = Signal(Fault)
        free = ~walking | (self.o.ready & last)
        leaves = Signal()
        m.d.comb += [
            leaves.eq(waiting & (free | (found != Fault.NONE))),
            self.i.ready.eq(~waiting | leaves),
            self.busy.eq(waiting | walking),
            found.eq(self._fault(command, reaches) if config.checks else Fault.NONE),
        ]
        with m.If(self.i.ready):
            m.d.sync += waiting.eq(self.i.valid)
        with m.If(self.i.ready & self.i.valid):
            m.d.sync += command.eq(self.i.p)
            for reach, pair in zip(reaches, self.i.p.pairs, strict=True):
                m.d.sync += reach.eq(pair.step * (pair.num - 1))
        keep_first(m, self.fault, Mux(waiting, found.as_value(), Fault.NONE), self.clear)
        self._walk(m, command, reaches, walking, last, leaves & (found == Fault.NONE))
        return m

    def _fault(self, command, reaches: list[Signal]) -> Value:
        """Return the fault of a command."""
        first = command.offset + sum(Mux(reach < 0, reach, 0) for reach in reaches)
        end = command.offset + 1 + sum(Mux(reach < 0, 0, reach) for reach in reaches)
        outside = (first < 0) | (end << command.size > command.limit)
        no_num = Cat(pair.num == 0 for pair in command.pairs).any()
        return first_of((command.size > LARGEST_SIZE, Fault.DTYPE), (no_num, Fault.NUM), (outside, Fault.RANGE))

    def _walk(self, m: Module, command, reaches: list[Signal], walking: Signal, last: Signal, starts: Value) -> None:
        """The counters of the four levels; addresses stay inside the partition, so their arithmetic is modulo its size."""
        bits = self.config.address_bits
        element, size = Signal(bits, reset_less=True), Signal(2, reset_less=True)
        counts, mosts, deltas = (
            [Signal(width, name=f"{name}_{level}", reset_less=True) for level in range(MAX_PAIRS)]
            for name, width in (("count", self.config.num_bits), ("most", self.config.num_bits), ("delta", bits))
        )
        ends = [count == most for count, most in zip(counts, mosts, strict=True)]
        m.d.comb += [
            last.eq(Cat(ends).all()),
            self.o.valid.eq(walking),
            self.o.p.byte.eq(element << size),
            self.o.p.last.eq(last),
        ]
        with m.If(self.o.ready):
            for level in range(MAX_PAIRS):
                with m.If(Cat(ends[:level]).all() & ~ends[level]):
                    m.d.sync += [element.eq(element + deltas[level]), counts[level].eq(counts[level] + 1)]
                    m.d.sync += [count.eq(0) for count in counts[:level]]
            with m.If(last):
                m.d.sync += walking.eq(0)
        with m.If(starts):
            m.d.sync += [walking.eq(1), element.eq(command.offset), size.eq(command.size)]
            for level, pair in enumerate(command.pairs):
                m.d.sync += [
                    counts[level].eq(0),
                    mosts[level].eq(pair.num - 1),
                    deltas[level].eq(pair.step - sum(reaches[:level])),
                ]
        if self.config.tag_bits:
            tag = Signal(self.config.tag_bits, reset_less=True)
            m.d.comb += self.o.p.tag.eq(tag)
            with m.If(starts):
                m.d.sync += tag.eq(command.tag)


RECORDS = (
    Unit(
        name="access_walker",
        config_type=WalkConfig,
        build=AccessWalker,
        summary="Trainium3: byte addresses of an access pattern, one a cycle",
        covered=Covered(WalkConfig(), 300),
        judges=(Judge(31, WalkConfig(), 100),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("command", r"(command|reach|waiting|found)"),
            WaveGroup("walk", r"(walking|element|size|count|most|delta|last)"),
            WaveGroup("fault", r"(fault|clear|busy)$"),
            OUTPUT,
        ),
    ),
)
