"""Row of the systolic array with its SBUF partition."""

from typing import Any, NamedTuple

from amaranth import Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.pipeline_registers import Delay
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.config import ArrayConfig, RowConfig
from bitpath.rtl.trainium3.array.core_edge import COLUMN_CHAINS, CoreColumn, CoreEdge, core_control, core_word
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, ElementMap, MapConfig, MapTable, OperandWord
from bitpath.rtl.trainium3.dot.pe import QuadMxPe
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat

PE_CHAINS = (("stationary_west", "stationary_east"), ("moving_west", "moving_east"), ("swap_west", "swap_east"))
"""Ports that chain a PE to its eastern neighbour."""


def all_modes(config: ArrayConfig | RowConfig) -> bool:
    """Return True if the PEs have all modes, False if they have quad MX alone."""
    return isinstance(config.dot, CorePeConfig)


def operand_word(config: ArrayConfig | RowConfig) -> Any:
    """Layout of a word of a row's operand memory."""
    return core_word(config.dot) if all_modes(config) else OperandWord


def control_layout(config: ArrayConfig | RowConfig) -> data.StructLayout:
    """Layout of a row's control in one cycle.

    ``valid``: multiply the word at ``moving_address``. ``swap``: after this cycle's word, the loaded stationary operands
    replace the held ones. ``load``: quad MX shifts in the word at ``stationary_address``, the last column's first; with all
    modes it has two or four columns from ``column`` on.
    """
    address = ceil_log2(config.operand_depth)
    fmt = OperandFormat if all_modes(config) else ElementFormat
    return data.StructLayout(
        {
            "moving_address": address,
            "stationary_address": address,
            "moving_format": fmt,
            "stationary_format": fmt,
            "valid": 1,
            "swap": 1,
            "load": 1,
        }
        | (core_control(config) if all_modes(config) else {})
    )


def delivers(config: ArrayConfig, control: Any) -> Any:
    """Return 1 if a word has a result: all but the passes of a fused step before its last one."""
    if not all_modes(config):
        return control.valid
    return control.valid & ((control.mode != Mode.FUSED) | control.number.all())


class Cells(NamedTuple):
    """The PEs of a row: their component, how they chain, and what enters the first one and all."""

    cls: type[wiring.Component]
    args: tuple
    chains: tuple[tuple[str, str], ...]
    inputs: dict[str, Any]


class OperandRow(wiring.Component):
    """Operand memory, element maps and ``cols`` PEs; control moves to the row below together with the partial sums.

    Operands enter the first PE a cycle after their control and move east one column a cycle. Partial sums move south in
    ``row_latency`` cycles.

    Parameters
    ----------
    config : configuration of the row.

    Members
    -------
    advance : In(1), clock enable of every register but the operand memory
    write_address : In, write_word : In(operand_word), write : In(1)
    fp4_table : In(MapTable)
    control : In(control_layout), control_south : Out(control_layout), ``row_latency`` cycles later
    partial_north : In(cols * 32), partial_south : Out(cols * 32), FP32, the first column's lowest
    """

    registered = True

    def __init__(self, config: RowConfig):
        self.config = config
        super().__init__(self.ports(config))

    @staticmethod
    def ports(config: RowConfig) -> dict[str, wiring.Member]:
        """Return the members of one row."""
        control = control_layout(config)
        partials = FP32.width * config.cols
        return {
            "advance": In(1),
            "write_address": In(ceil_log2(config.operand_depth)),
            "write_word": In(operand_word(config)),
            "write": In(1),
            "fp4_table": In(MapTable),
            "control": In(control),
            "control_south": Out(control),
            "partial_north": In(partials),
            "partial_south": Out(partials),
        }

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.memory = cells = memory.Memory(shape=operand_word(config), depth=config.operand_depth, init=[])
        write = cells.write_port()
        m.d.comb += [
            write.addr.eq(self.write_address),
            write.data.eq(self.write_word),
            write.en.eq(self.write),
        ]

        # Control of the word that memory shows now, read a cycle ago.
        control = Signal.like(self.control)
        with m.If(self.advance):
            m.d.sync += control.eq(self.control)
        words = {}
        for side in ("stationary", "moving"):
            read = cells.read_port()
            m.d.comb += [read.addr.eq(self.control[f"{side}_address"]), read.en.eq(self.advance)]
            words[side] = read.data

        pes = (self._all_modes if all_modes(config) else self._quad_mx)(m, platform, control, words)
        values = {
            "advance": self.advance,
            "swap_west": control.swap,
            "partial_north": self.partial_north,
            "partial_south": self.partial_south,
        } | pes.inputs
        # Open outputs of the last column.
        values |= {east: Signal.like(values[west], name=east) for west, east in pes.chains}
        repeat(
            m,
            platform,
            "pes",
            values,
            pes.cls,
            pes.args,
            config.cols,
            spread=("partial_north", "partial_south"),
            chained=pes.chains,
        )

        m.submodules.pass_on = pass_on = Delay(control.shape().size, config.row_latency - 1)
        m.d.comb += [pass_on.i.eq(control), pass_on.advance.eq(self.advance), self.control_south.eq(pass_on.o)]
        return m

    def _quad_mx(self, m: Module, platform: Any, control: Any, words: dict[str, Any]) -> Cells:
        config = self.config
        operands = {}
        for side, word in words.items():
            mapper = instantiate(m, platform, f"map_{side}", ElementMap, MapConfig(numerics=config.dot.numerics))
            m.d.comb += [
                mapper.word.eq(word),
                mapper.format.eq(control[f"{side}_format"]),
                mapper.fp4_table.eq(self.fp4_table),
            ]
            operands[f"{side}_west"] = mapper.o
        return Cells(QuadMxPe, (config.dot,), PE_CHAINS, operands | {"load": control.load})

    def _all_modes(self, m: Module, platform: Any, control: Any, words: dict[str, Any]) -> Cells:
        config = self.config
        edge = instantiate(m, platform, "edge", CoreEdge, config, self.control.shape())
        m.d.comb += [
            edge.control.eq(control),
            edge.stationary.eq(words["stationary"]),
            edge.moving.eq(words["moving"]),
            edge.fp4_table.eq(self.fp4_table),
        ]
        inputs = {"beat_west": edge.beat, "moving_west": edge.o}
        return Cells(CoreColumn, (config.dot, config.cols), COLUMN_CHAINS, inputs)
