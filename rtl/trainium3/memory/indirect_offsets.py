"""Offsets of an indirect access: down the rows of an index column, then the next column, one offset a cycle.

    offset i = index[i % G, i // G],  G = 16 for VectorE, ScalarE and GpSimd, 32 for TensorE

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08, Tensor indirection.
"""

from dataclasses import dataclass

from amaranth import Array, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_INDIRECT
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import CLOCK, OUTPUT, Covered, Judge, Unit, WaveGroup


@dataclass(frozen=True, kw_only=True)
class IndirectConfig(UnitConfig, unit="indirect_offsets"):
    """Configuration of the offsets of an indirect access.

    Attributes
    ----------
    offset_bits : bits of an offset: 16 or 32 on the machine.
    count_bits : bits of a command's number of offsets.
    """

    offset_bits: int = in_range(1, 32, 6)
    count_bits: int = in_range(1, 16, 8)


ROWS, TENSOR_ROWS = TRAINIUM3_INDIRECT.numerics.index_rows, TRAINIUM3_INDIRECT.numerics.tensor_index_rows
"""Rows of a column that form a list: of the other engines, and of TensorE."""


def indirect_command(config: IndirectConfig) -> data.StructLayout:
    """Layout of a command: whose list it is, the number of offsets, and the operand's elements in a partition."""
    return data.StructLayout({"tensor": 1, "count": config.count_bits, "elements": config.offset_bits + 1})


def indirect_offset(config: IndirectConfig) -> data.StructLayout:
    """Layout of an offset; without ``inside`` a gather reads zero and a scatter writes nothing."""
    return data.StructLayout({"offset": config.offset_bits, "inside": 1, "last": 1})


class IndirectOffsets(wiring.Component):
    """Takes a column of the index for every G offsets, and a new one for each command.

    Latency: an offset comes in the cycle after its column and its command. Throughput: one offset a cycle, without a gap
    between columns and commands. A command of no offsets takes no column.

    Parameters
    ----------
    config : widths of offsets and counts.

    Members
    -------
    i : In(stream of indirect_command)
    index : In(stream of 32 offsets), rows 0 to 31 of a column; without ``tensor`` the upper 16 are not read
    o : Out(stream of indirect_offset)
    outside : Out(1), an offset was not inside since reset or ``clear``
    clear : In(1), clears ``outside``
    """

    def __init__(self, config: IndirectConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(indirect_command(config))),
                "index": In(stream.Signature(wide_array(config.offset_bits, TENSOR_ROWS))),
                "o": Out(stream.Signature(indirect_offset(config))),
                "outside": Out(1),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = Signal(indirect_command(self.config), reset_less=True)
        column = Signal(self.index.p.shape(), reset_less=True)
        active, filled = Signal(), Signal()
        row = Signal(range(TENSOR_ROWS))
        offset, inside, last, taken = Signal(self.config.offset_bits), Signal(), Signal(), Signal()
        ends = last | (row == Mux(command.tensor, TENSOR_ROWS - 1, ROWS - 1))
        m.d.comb += [
            offset.eq(Array(column)[row]),
            inside.eq(offset < command.elements),
            last.eq(command.count == 1),
            self.o.valid.eq(active & filled),
            self.o.p.offset.eq(offset),
            self.o.p.inside.eq(inside),
            self.o.p.last.eq(last),
            taken.eq(self.o.valid & self.o.ready),
            self.i.ready.eq(~active | (taken & last)),
            self.index.ready.eq(~filled | (taken & ends)),
        ]
        with m.If(taken):
            m.d.sync += [command.count.eq(command.count - 1), row.eq(Mux(ends, 0, row + 1))]
        with m.If(self.i.ready):
            m.d.sync += active.eq(self.i.valid & (self.i.p.count != 0))
            m.d.sync += command.eq(self.i.p)
        with m.If(self.index.ready):
            m.d.sync += [filled.eq(self.index.valid), column.eq(self.index.p)]
        with m.If(taken & ~inside):
            m.d.sync += self.outside.eq(1)
        with m.Elif(self.clear):
            m.d.sync += self.outside.eq(0)
        return m


RECORDS = (
    Unit(
        name="indirect_offsets",
        config_type=IndirectConfig,
        build=IndirectOffsets,
        summary="Trainium3: offsets of a gather or scatter out of an index tile, one a cycle",
        covered=Covered(IndirectConfig(), 100),
        judges=(Judge(33, IndirectConfig(), 40),),
        waves=(
            CLOCK,
            WaveGroup("commands", r"(i__|command|active)"),
            WaveGroup("columns", r"(index__|filled|row$)"),
            WaveGroup("offsets", r"(offset|inside|last|taken|outside|clear)$"),
            OUTPUT,
            WaveGroup("column", r"column"),
        ),
    ),
)
