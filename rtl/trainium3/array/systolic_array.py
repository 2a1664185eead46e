"""Systolic array of PEs for quad MX, or for all of TensorE's modes.

Ref: "Trainium3 Architecture Guide for NKI", LoadStationary and MultiplyMoving; ``nki.isa.nc_matmul_mx``, Tiling Mode.
"""

from dataclasses import dataclass, field
from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.pipeline_registers import Delay, Ring
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate, instantiate_on
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import Covered, Judge, Unit, registered
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.array.operand_row import OperandRow, all_modes, control_layout, delivers, operand_word
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.element_map import MapTable
from bitpath.rtl.trainium3.tensor.config import CorePeConfig


@dataclass(frozen=True, kw_only=True)
class CoreArrayConfig(ArrayConfig):
    """Configuration of the same array with PEs of all modes.

    Attributes
    ----------
    rows, cols : PEs down and across; powers of two from 2 to 128.
    operand_depth : words in each row's operand memory; a power of two.
    dot : configuration of each PE of all modes.
    """

    dot: CorePeConfig = field(default_factory=CorePeConfig)

    def _check_pe(self) -> None:
        """A CorePeConfig has numerics that words can feed."""


# Skew and deskew of one column's partial sums at the edges of a row group.


class EdgeColumn(wiring.Component):
    """Two ring buffers of one column: skew of incoming, deskew of outgoing partial sums.

    Parameters
    ----------
    cols : columns of the array, and words of a ring.

    Members
    -------
    advance : In(1), without it ``count`` must hold, and the words hold
    count : In(ceil_log2(cols)), cycle count of column 0
    count_west : In, cycle count of this column; count_east : Out, one cycle later
    partial : In(32), top : Out(32)
    bottom : In(32), result : Out(32)
    """

    def __init__(self, cols: int):
        self.cols = cols
        super().__init__(self.ports(cols))

    @staticmethod
    def ports(cols: int) -> dict[str, wiring.Member]:
        """Return the members of one column."""
        count = ceil_log2(cols)
        return {
            "advance": In(1),
            "count": In(count),
            "count_west": In(count),
            "count_east": Out(count),
            "partial": In(FP32.width),
            "top": Out(FP32.width),
            "bottom": In(FP32.width),
            "result": Out(FP32.width),
        }

    def elaborate(self, platform):
        m = Module()
        skew = instantiate(m, platform, "skew", Ring, FP32.width, self.cols)
        deskew = instantiate(m, platform, "deskew", Ring, FP32.width, self.cols)
        m.d.comb += [
            skew.advance.eq(self.advance),
            skew.i.eq(self.partial),
            skew.write.eq(self.count),
            skew.read.eq(self.count_west),
            self.top.eq(skew.o),
            deskew.advance.eq(self.advance),
            deskew.i.eq(self.bottom),
            deskew.write.eq(self.count_west),
            # The word of the vector that column 0 wrote cols - 1 cycles ago and the last column writes now.
            deskew.read.eq(self.count + 1),
            self.result.eq(deskew.o),
        ]
        with m.If(self.advance):
            m.d.sync += self.count_east.eq(self.count_west)
        return m


# Skew and deskew of a row group's partial sums: skewed on the way in, deskewed on the way out.


class GroupEdge(wiring.Component):
    """Column c delays its word by ``c + 1`` cycles to ``top``, and by ``cols - c`` cycles to ``result``.

    Each column keeps its words in a ring buffer. The address of the skewed side is a count that travels east with the
    operands, one column a cycle.

    Parameters
    ----------
    config : configuration of the array.

    Members
    -------
    advance : In(1), clock enable of the counts and thus of the words
    partial : In(cols * 32), top : Out(cols * 32)
    bottom : In(cols * 32), result : Out(cols * 32)
    """

    def __init__(self, config: ArrayConfig):
        self.config = config
        columns = FP32.width * config.cols
        super().__init__(
            {
                "advance": In(1),
                "partial": In(columns),
                "top": Out(columns),
                "bottom": In(columns),
                "result": Out(columns),
            }
        )

    def elaborate(self, platform):
        m = Module()
        cols = self.config.cols
        count = Signal(ceil_log2(cols))
        with m.If(self.advance):
            m.d.sync += count.eq(count + 1)
        values = {
            "advance": self.advance,
            "count": count,
            "count_west": count,
            # Open output of the last column.
            "count_east": Signal.like(count, name="count_east"),
            "partial": self.partial,
            "top": self.top,
            "bottom": self.bottom,
            "result": self.result,
        }
        repeat(
            m,
            platform,
            "columns",
            values,
            EdgeColumn,
            (cols,),
            cols,
            spread=("partial", "top", "bottom", "result"),
            chained=(("count_west", "count_east"),),
        )
        return m


class Tiling(enum.Enum, shape=2):
    """Division of the rows into tiles."""

    FULL = 0
    HALVES = 1
    QUARTERS = 2


def tilings(config: ArrayConfig) -> list[Tiling]:
    """Return the tilings that the number of row groups permits."""
    return [tiling for tiling in Tiling if config.groups >> tiling.value]


def tile_groups(config: ArrayConfig, tiling: Tiling) -> int:
    """Number of row groups in a tile."""
    return config.groups >> tiling.value


def leader(config: ArrayConfig, group: int, tiling: Tiling) -> int:
    """First group of the tile of ``group``; it controls the tile and receives its results."""
    return group // tile_groups(config, tiling) * tile_groups(config, tiling)


def operand_write_layout(config: ArrayConfig) -> data.StructLayout:
    """Layout of an operand write: one word for each row, and a write enable for each row group; with PEs of all modes each row
    group has an address of its own."""
    address = ceil_log2(config.operand_depth)
    return data.StructLayout(
        {
            "words": wide_array(operand_word(config), config.rows),
            "address": data.ArrayLayout(address, config.groups) if all_modes(config) else address,
            "groups": config.groups,
        }
    )


class SystolicArray(wiring.Component):
    """``result[c] = partial[c] + sum over rows of dot(stationary[row][c], moving[row])``, rounded in each PE::

                 partial -> skew    top
        control -> row 0:  memory -> map -> PE -> PE -> PE     operands move east
                     |                       |     |     |
                   row 1:  memory -> map -> PE -> PE -> PE     control and partial sums move south
                                             |     |     |
                                 bottom -> deskew -> result

    Rows form groups, and ``tiling`` joins groups to tiles; a tile has the control, partial sums and results of its first
    group. Control reaches a row together with the partial sums from above. Vectors enter and leave whole: skew and deskew
    of the columns are inside. ``tiling`` may change only while nothing is in flight.

    Stationary words shift in over ``cols`` cycles while moving words pass. A load may start ``cols`` cycles after a swap,
    when the swap has passed the last column. With PEs of all modes (:class:`CoreArrayConfig`) a word has two or four
    columns, and moves east with the moving words: a load may start in the cycle after a swap, and end in that of the next.

    Latency: ``tile_rows * row_latency + cols + 1`` cycles. Throughput: one moving word a cycle for each tile.

    Parameters
    ----------
    config : rows, columns, operand memory and PE.

    Members
    -------
    advance : In(1), clock enable of all but the operand writes
    tiling : In(Tiling)
    fp4_table : In(MapTable), for E2M1 operands
    write : In(operand_write_layout)
    control : In(ArrayLayout(control_layout, groups))
    partial : In(ArrayLayout(ArrayLayout(32, cols), groups)), FP32, read with a valid control
    result : Out(ArrayLayout(ArrayLayout(32, cols), groups)), FP32
    result_valid : Out(groups)
    """

    def __init__(self, config: ArrayConfig):
        self.config = config
        columns = data.ArrayLayout(wide_array(FP32.width, config.cols), config.groups)
        super().__init__(
            {
                "advance": In(1),
                "tiling": In(Tiling),
                "fp4_table": In(MapTable),
                "write": In(operand_write_layout(config)),
                "control": In(data.ArrayLayout(control_layout(config), config.groups)),
                "partial": In(columns),
                "result": Out(columns),
                "result_valid": Out(config.groups),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        vector = FP32.width * config.cols
        passed, bottoms = [], []
        for group in range(config.groups):
            top = Signal(vector, name=f"top_{group}")
            bottom = Signal(vector, name=f"bottom_{group}")
            values = {
                "advance": self.advance,
                "partial": self.partial[group],
                "top": top,
                "bottom": bottom,
                "result": self.result[group],
            }
            instantiate_on(m, platform, f"edge_{group}", values, GroupEdge, config)
            control = Signal(control_layout(config), name=f"control_{group}")
            partial = Signal(vector, name=f"partial_{group}")
            leads = {tiling for tiling in tilings(config) if leader(config, group, tiling) == group}
            above = passed[-1] if passed else None
            for chosen, index, own in ((control, 0, self.control[group]), (partial, 1, top)):
                choices = {tiling: own if tiling in leads else above[index] for tiling in tilings(config)}
                self._select(m, chosen, choices)
            passed.append(self._rows(m, platform, group, control, partial))
            bottoms.append(bottom)
        for group, bottom in enumerate(bottoms):
            self._leave(m, platform, group, bottom, passed)
        return m

    def _select(self, m: Module, target: Value, choices: dict[Tiling, Value]) -> None:
        """Drive ``target`` with the choice of the present tiling."""
        with m.Switch(self.tiling):
            for tiling, choice in choices.items():
                with m.Case(tiling):
                    m.d.comb += target.eq(choice)

    def _rows(self, m: Module, platform: Any, group: int, control: Value, partial: Value) -> tuple[Value, Value]:
        """Instantiate a group's rows below ``control`` and ``partial``; return control and partial sums at their bottom."""
        config = self.config
        words = self.write.words.as_value()
        control_south = Signal.like(control, name=f"control_south_{group}")
        partial_south = Signal.like(partial, name=f"partial_south_{group}")
        values = {
            "advance": self.advance,
            "fp4_table": self.fp4_table,
            "write_address": self.write.address[group] if all_modes(config) else self.write.address,
            "write_word": words.word_select(group, len(words) // config.groups),
            "write": self.write.groups[group],
            "control": control,
            "control_south": control_south,
            "partial_north": partial,
            "partial_south": partial_south,
        }
        repeat(
            m,
            platform,
            f"rows_{group}",
            values,
            OperandRow,
            (config.row,),
            config.group_rows,
            spread=("write_word",),
            chained=(("control", "control_south"), ("partial_north", "partial_south")),
        )
        return control_south, partial_south

    def _leave(self, m: Module, platform: Any, group: int, bottom: Value, passed: list[tuple[Value, Value]]) -> None:
        """Connect a leading group's results to the bottom of its tile's last group."""
        config = self.config
        leads = [tiling for tiling in tilings(config) if leader(config, group, tiling) == group]
        last = {tiling: passed[group + tile_groups(config, tiling) - 1] for tiling in leads}
        valid = Signal(name=f"valid_{group}")
        self._select(m, bottom, {tiling: partial for tiling, (_, partial) in last.items()})
        self._select(m, valid, {tiling: delivers(config, control) for tiling, (control, _) in last.items()})
        # Control is a cycle ahead of its partial sums, which wait for the last column.
        delay = instantiate(m, platform, f"valid_delay_{group}", Delay, 1, config.cols + 1)
        m.d.comb += [
            delay.advance.eq(self.advance),
            delay.i.eq(valid),
            self.result_valid[group].eq(delay.o),
        ]


RECORDS = (
    Unit(
        name="systolic_array",
        config_type=ArrayConfig,
        build=SystolicArray,
        summary="Trainium3: rows x cols PEs, skewed and de-skewed, row tiling",
        covered=Covered(ArrayConfig(operand_depth=512, dot=DotConfig(pipeline=registered(2))), 24),
        judges=(Judge(19, ArrayConfig()),),
    ),
    Unit(
        name="core_array",
        config_type=CoreArrayConfig,
        build=SystolicArray,
        summary="Trainium3: the same array with PEs of all modes and fast weight load",
        covered=Covered(CoreArrayConfig(operand_depth=64, dot=CorePeConfig(pipeline=registered(2))), 4),
        judges=(Judge(47, CoreArrayConfig(rows=2, cols=2, operand_depth=64, dot=CorePeConfig(sparse=False)), 3),),
    ),
)
