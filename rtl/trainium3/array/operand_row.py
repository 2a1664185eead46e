"""Row of the systolic array with its SBUF partition."""

from amaranth import Module, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.delay import Delay
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.config import ArrayConfig, RowConfig
from bitpath.rtl.trainium3.dot.config import MapConfig
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, ElementMap, MapTable, OperandWord
from bitpath.rtl.trainium3.dot.quad_mx_pe import QuadMxPe

PE_CHAINS = (("stationary_west", "stationary_east"), ("moving_west", "moving_east"), ("swap_west", "swap_east"))
"""Ports that chain a PE to its eastern neighbour."""


def control_layout(config: ArrayConfig | RowConfig) -> data.StructLayout:
    """Layout of a row's control in one cycle.

    ``valid``: multiply the word at ``moving_address``. ``swap``: after this cycle's word, the loaded stationary operands
    replace the held ones. ``load``: shift in the word at ``stationary_address``, the last column's first.
    """
    address = ceil_log2(config.operand_depth)
    return data.StructLayout(
        {
            "moving_address": address,
            "stationary_address": address,
            "moving_format": ElementFormat,
            "stationary_format": ElementFormat,
            "valid": 1,
            "swap": 1,
            "load": 1,
        }
    )


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
    write_address : In, write_word : In(OperandWord), write : In(1)
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
            "write_word": In(OperandWord),
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
        m.submodules.memory = cells = memory.Memory(shape=OperandWord, depth=config.operand_depth, init=[])
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
        operands = {}
        for side in ("stationary", "moving"):
            read = cells.read_port()
            mapper = instantiate(m, platform, f"map_{side}", ElementMap, MapConfig(numerics=config.dot.numerics))
            m.d.comb += [
                read.addr.eq(self.control[f"{side}_address"]),
                read.en.eq(self.advance),
                mapper.word.eq(read.data),
                mapper.format.eq(control[f"{side}_format"]),
                mapper.fp4_table.eq(self.fp4_table),
            ]
            operands[side] = mapper.o

        values = {
            "advance": self.advance,
            "load": control.load,
            "stationary_west": operands["stationary"],
            "moving_west": operands["moving"],
            "swap_west": control.swap,
            "partial_north": self.partial_north,
            "partial_south": self.partial_south,
        }
        # Open outputs of the last column.
        values |= {east: Signal.like(values[west], name=east) for west, east in PE_CHAINS}
        repeat(
            m,
            platform,
            "pes",
            values,
            QuadMxPe,
            (config.dot,),
            config.cols,
            spread=("partial_north", "partial_south"),
            chained=PE_CHAINS,
        )

        m.submodules.pass_on = pass_on = Delay(control.shape().size, config.row_latency - 1)
        m.d.comb += [pass_on.i.eq(control), pass_on.advance.eq(self.advance), self.control_south.eq(pass_on.o)]
        return m
