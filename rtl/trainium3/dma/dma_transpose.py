"""DMA transpose: one engine's partitions of each tile, at the rate that all engines reach together.

    rows of source -> beats -> bank -> columns -> o        while the next tile's beats fill the other bank

A tile has 16 consecutive elements of each partition of the destination; with axes (1, 0), (2, 1, 0) and (3, 1, 2, 0) they come
from source rows that two pairs of step and num walk over: the first axis, then those between the first and the last.

Ref: ``nki.isa.dma_transpose``, NKI 0.6, and the architecture guides of Trainium2 and Trainium3, AWS Neuron documentation. The
rate of an engine is its share of the golden model's.
"""

from dataclasses import dataclass
from typing import NamedTuple

from amaranth import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS, TRAINIUM3_TRANSPOSE
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.faults import Fault, keep_first


@dataclass(frozen=True, kw_only=True)
class DmaTransposeConfig(UnitConfig, unit="dma_transpose"):
    """Configuration of an engine's part of a DMA transpose; the machine's engines have 8 partitions, and tiles of 16 elements.

    Attributes
    ----------
    columns : partitions of the engine, a power of two from 2 to 8.
    elements : elements of a partition in a tile, a power of two from 4 to 16.
    address_bits : bits of a byte's address in the source.
    count_bits : bits of the number of elements of an axis.
    row_bits : bits of the place of a result in its partition.
    depth : beats that may be on their way behind their requests.
    """

    columns: int = power_of_two(2, ENGINE_PARTITIONS, 2)
    elements: int = power_of_two(4, TRAINIUM3_TRANSPOSE.numerics.tile_elements, 4)
    address_bits: int = in_range(4, 40, 8)
    count_bits: int = in_range(1, 16, 4)
    row_bits: int = in_range(1, 16, 5)
    depth: int = in_range(2, 64, 4)

    @property
    def beat_bytes(self) -> int:
        """Bytes of a beat: an element of 4 bytes, or two of 2 bytes, of each partition."""
        return 4 * self.columns

    @property
    def row_bytes(self) -> int:
        """Bytes of a result: a partition's elements of 2 bytes, or half of those of 4 bytes."""
        return 2 * self.elements


WIDE, NARROW = 4, 2
"""Bytes of an element."""
RATES = TRAINIUM3_TRANSPOSE.numerics
GAINS = tuple(int(RATES.bytes_per_cycle * share) // WIDE for share in (RATES.from_hbm, RATES.from_sbuf))
"""Tokens that a cycle gains; a token is 4 bytes of all engines."""


def transpose_command(config: DmaTransposeConfig) -> data.StructLayout:
    """Layout of a command: ``axes[0]`` is the source's first axis, ``axes[1]`` those between the first and the last; steps and
    ``source`` are in bytes, ``row`` is the place of the first tile in each partition, in rows of ``o``."""
    axis = data.StructLayout({"step": signed(config.address_bits), "num": config.count_bits})
    return data.StructLayout(
        {
            "source": config.address_bits,
            "axes": data.ArrayLayout(axis, 2),
            "columns": range(config.columns + 1),
            "row": config.row_bits,
            "wide": 1,
            "from_sbuf": 1,
        }
    )


def fetch_layout(config: DmaTransposeConfig) -> data.StructLayout:
    """Layout of the request of a beat: the address of a source row, and with ``both`` that of the next one."""
    return data.StructLayout({"low": config.address_bits, "high": config.address_bits, "both": 1})


def transposed_layout(config: DmaTransposeConfig) -> data.StructLayout:
    """Layout of a result: elements of a partition, with a mask of their bytes, the others 0; ``last`` ends the
    command."""
    return data.StructLayout(
        {
            "data": 8 * config.row_bytes,
            "mask": config.row_bytes,
            "row": config.row_bits,
            "partition": range(config.columns),
            "last": 1,
        }
    )


class _At(NamedTuple):
    """A place in the walk: counts of both axes, the address, and that of the axis' start."""

    first: Value
    middle: Value
    address: Value
    start: Value


class DmaTranspose(wiring.Component):
    """Reads source rows in the order of the destination's elements, and gives columns.

    A command is taken ``ceil(tiles * bytes of a tile / (440 * e))`` cycles after the one before, e = 9/10 from HBM and 1/2 from
    SBUF, a tile being that of 128 partitions; a cycle in which a request waits adds one. Throughput: a beat and a result a
    cycle. Latency: a tile's first result comes in the cycle after its last beat. A command without an element, or
    with more columns than the engine has partitions, is refused: it asks for nothing.

    Parameters
    ----------
    config : sizes and widths.

    Members
    -------
    i : In(stream of transpose_command)
    fetch : Out(stream of fetch_layout)
    data : In(stream of beats), in order: one row of 4-byte elements, or one or two of 2-byte elements, the earlier one low
    o : Out(stream of transposed_layout): each partition's part of a tile, then the next tile
    fault : Out(Fault), PARTITIONS or NUM, of the first refused command since reset or ``clear``
    clear : In(1), clears ``fault``
    """

    def __init__(self, config: DmaTransposeConfig):
        self.config = config
        self._note = data.StructLayout(
            {
                "wide": 1,
                "both": 1,
                "end": 1,
                "last": 1,
                "last_column": range(config.columns),
                "row": config.row_bits,
            }
        )
        super().__init__(
            {
                "i": In(stream.Signature(transpose_command(config))),
                "fetch": Out(stream.Signature(fetch_layout(config))),
                "data": In(stream.Signature(8 * config.beat_bytes)),
                "o": Out(stream.Signature(transposed_layout(config))),
                "fault": Out(Fault),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.notes = notes = SyncFIFO(width=self._note.size, depth=self.config.depth)
        self._fetch(m, notes)
        self._banks(m, notes)
        return m

    def _fetch(self, m: Module, notes: SyncFIFO) -> None:
        """Walk the source at the transpose's pace; note what each beat holds."""
        config, given = self.config, self.i.p
        command = Signal(transpose_command(config), reset_less=True)
        busy, fetched, over = Signal(), Signal(), Signal()
        at = _At(
            Signal(config.count_bits, name="first", reset_less=True),
            Signal(config.count_bits, name="middle", reset_less=True),
            Signal(config.address_bits, name="address", reset_less=True),
            Signal(config.address_bits, name="start", reset_less=True),
        )
        place = Signal(range(config.elements), reset_less=True)
        row = Signal(config.row_bits, reset_less=True)
        price = Signal(range(PARTITIONS * config.elements + 1))
        credit = Signal(range(PARTITIONS * config.elements + max(GAINS)), reset_less=True)
        gained = Signal(range(PARTITIONS * config.elements + 2 * max(GAINS)))
        low_last, high = self._next(m, command, at, "low")
        high_last, following = self._next(m, command, high, "high")
        both, last, end, takes, waits, tile_over = (
            Signal(name=name) for name in ("both", "last", "end", "takes", "waits", "tile_over")
        )
        note = Signal(self._note)
        m.d.comb += [
            self.i.ready.eq(~busy),
            both.eq(~command.wide & ~low_last),
            last.eq(low_last | (both & high_last)),
            end.eq(last | (place + both == config.elements - 1)),
            self.fetch.valid.eq(busy & ~fetched & notes.w_rdy),
            self.fetch.p.low.eq(at.address),
            self.fetch.p.high.eq(high.address),
            self.fetch.p.both.eq(both),
            takes.eq(self.fetch.valid & self.fetch.ready),
            waits.eq(busy & ~fetched & ~takes),
            note.wide.eq(command.wide),
            note.both.eq(both),
            note.end.eq(end),
            note.last.eq(last),
            note.last_column.eq(command.columns - 1),
            note.row.eq(row),
            notes.w_data.eq(note),
            notes.w_en.eq(takes),
            price.eq(PARTITIONS * config.elements >> ~command.wide),
            gained.eq(credit + Mux(command.from_sbuf, GAINS[1], GAINS[0])),
            tile_over.eq((fetched | (takes & end)) & (gained >= price)),
        ]
        wrong = Signal(Fault)
        m.d.comb += wrong.eq(
            first_of(
                ((given.columns == 0) | (given.columns > config.columns), Fault.PARTITIONS),
                (Cat(axis.num == 0 for axis in given.axes).any(), Fault.NUM),
            )
        )
        keep_first(m, self.fault, Mux(~busy & self.i.valid, wrong.as_value(), Fault.NONE), self.clear)
        with m.If(busy & ~waits):
            m.d.sync += [
                credit.eq(Mux(tile_over, gained - price, gained)),
                fetched.eq((fetched | (takes & end)) & ~tile_over),
                over.eq(over | (takes & last)),
                busy.eq(~(tile_over & (over | (takes & last)))),
            ]
        with m.Elif(~busy & self.i.valid):
            m.d.sync += [
                command.eq(given),
                busy.eq(wrong == Fault.NONE),
                fetched.eq(0),
                over.eq(0),
                place.eq(0),
                row.eq(given.row),
            ]
            m.d.sync += [at.first.eq(0), at.middle.eq(0), at.address.eq(given.source), at.start.eq(given.source)]
            m.d.sync += credit.eq(Mux(given.from_sbuf, GAINS[1], GAINS[0]))
        with m.If(takes):
            m.d.sync += [own.eq(Mux(both, after, one)) for own, after, one in zip(at, following, high, strict=True)]
            m.d.sync += place.eq(Mux(end, 0, place + 1 + both))
            with m.If(end):
                m.d.sync += row.eq(row + 1 + command.wide)

    def _next(self, m: Module, command, at: _At, name: str) -> tuple[Value, _At]:
        """Return whether a place is the last one, and the place behind it."""
        first, middle = command.axes
        ends, last = Signal(name=f"{name}_ends"), Signal(name=f"{name}_last")
        start = Signal(self.config.address_bits, name=f"{name}_next_start")
        address = Signal(self.config.address_bits, name=f"{name}_next_address")
        counts = [Signal(self.config.count_bits, name=f"{name}_next_{each}") for each in ("first", "middle")]
        m.d.comb += [
            ends.eq(at.first == first.num - 1),
            last.eq(ends & (at.middle == middle.num - 1)),
            start.eq(Mux(ends, at.start + middle.step, at.start)),
            address.eq(Mux(ends, start, at.address + first.step)),
            counts[0].eq(Mux(ends, 0, at.first + 1)),
            counts[1].eq(at.middle + ends),
        ]
        return last, _At(counts[0], counts[1], address, start)

    def _banks(self, m: Module, notes: SyncFIFO) -> None:
        """Fill one bank with rows while the other one gives columns."""
        config = self.config
        elements, row_bits = config.elements, 8 * config.beat_bytes
        # Data need no reset: a bank is read only when it is full.
        banks = [
            [Signal(row_bits, name=f"bank_{b}_{row}", reset_less=True) for row in range(elements)] for b in range(2)
        ]
        full = [Signal(name=f"full_{b}") for b in range(2)]
        held = [Signal(self._note, name=f"held_{b}", reset_less=True) for b in range(2)]
        counts = [Signal(range(elements + 1), name=f"count_{b}", reset_less=True) for b in range(2)]
        filling, reading = Signal(), Signal()
        place = Signal(range(elements))
        note = data.View(self._note, notes.r_data)
        fills = Signal()
        m.d.comb += [
            self.data.ready.eq(notes.r_rdy & ~Array(full)[filling]),
            fills.eq(self.data.valid & self.data.ready),
            notes.r_en.eq(fills),
        ]
        partition, half = Signal(range(config.columns)), Signal()
        count, meta = Signal(range(elements + 1)), Signal(self._note)
        ends, gives = Signal(), Signal()
        rows = [Signal(row_bits, name=f"row_{row}") for row in range(elements)]
        m.d.comb += [
            count.eq(Array(counts)[reading]),
            meta.eq(Array(each.as_value() for each in held)[reading]),
            *(row.eq(Mux(reading, two, one)) for row, one, two in zip(rows, *banks, strict=True)),
        ]
        narrow = Cat(row.word_select(partition, 8 * NARROW) for row in rows)
        wide = Cat(
            Mux(half, above, below).word_select(partition, 8 * WIDE)
            for below, above in zip(rows[: elements // 2], rows[elements // 2 :], strict=True)
        )
        halves = meta.wide & (count > elements // 2)
        valid = Cat(
            Mux(meta.wide, (byte // WIDE + Mux(half, elements // 2, 0)) < count, byte // NARROW < count)
            for byte in range(config.row_bytes)
        )
        m.d.comb += [
            self.o.valid.eq(Array(full)[reading]),
            self.o.p.data.eq(Mux(meta.wide, wide, narrow) & Cat(bit.replicate(8) for bit in valid)),
            self.o.p.mask.eq(valid),
            self.o.p.row.eq(meta.row + half),
            self.o.p.partition.eq(partition),
            ends.eq((partition == meta.last_column) & (half | ~halves)),
            self.o.p.last.eq(meta.last & ends),
            gives.eq(self.o.valid & self.o.ready),
        ]
        with m.If(gives):
            m.d.sync += [half.eq(halves & ~half), partition.eq(partition + (half | ~halves))]
            with m.If(ends):
                m.d.sync += [partition.eq(0), reading.eq(~reading)]
        with m.If(fills):
            m.d.sync += place.eq(Mux(note.end, 0, place + 1 + note.both))
            with m.If(note.end):
                m.d.sync += filling.eq(~filling)
        for b in range(2):
            with m.If(gives & ends & (reading == b)):
                m.d.sync += full[b].eq(0)
            with m.If(fills & (filling == b)):
                m.d.sync += [held[b].eq(note), counts[b].eq(place + 1 + note.both), full[b].eq(note.end)]
                for row in range(elements):
                    with m.If(place == row):
                        m.d.sync += banks[b][row].eq(self.data.p)
                    with m.Elif(~note.wide & (place == row - 1)):
                        m.d.sync += banks[b][row].eq(self.data.p[row_bits // 2 :])


RECORDS = (
    Unit(
        name="dma_transpose",
        config_type=DmaTransposeConfig,
        build=DmaTranspose,
        summary="Trainium3: an engine's part of a DMA transpose, rows in and columns out",
        covered=Covered(DmaTransposeConfig(), 100),
        judges=(Judge(46, DmaTransposeConfig(), 40),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup(
                "requests", r"(fetch|command|first|middle|address|start|place|row|low_|high_|both|last|end|takes|waits)"
            ),
            WaveGroup("pace", r"(credit|gained|price|busy|over|tile_over)"),
            WaveGroup("beats", r"(data__|notes|note|fill)"),
            WaveGroup("banks", r"(bank_|full_|held_|count)"),
            OUTPUT,
        ),
    ),
)
