"""Check of an instruction before any of it is done."""

from amaranth import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.trainium3.array.psum_column import mode_fault
from bitpath.rtl.trainium3.array.systolic_array import leader, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.instruction import Opcode, instruction_layout
from bitpath.rtl.trainium3.faults import Fault


class InstructionCheck(wiring.Component):
    """Tells what is wrong with an instruction, combinationally; counts the partial sums that passes leave for the next ones.

    OPERATION: a tiling that the array lacks, or a flag that `ACCUMULATES` lacks. DTYPE: a format that the PEs lack, or stochastic
    rounding to FP32. START: a row group that is not the first of a tile. COUNT: no word, more partial sums than earlier passes of
    the tile have left, or than the chain has room for. RANGE: a word beyond the end of operand memory or of the PSUM bank.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    instruction : In(instruction_layout)
    starts : In(1), the instruction goes to its tile in this cycle
    fault : Out(Fault)
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__({"instruction": In(instruction_layout(config)), "starts": In(1), "fault": Out(Fault)})

    def elaborate(self, platform):
        m = Module()
        config, array, p = self.config, self.config.array, self.instruction
        to = p.destination
        multiplies, to_psum = p.opcode == Opcode.MULTIPLY_MOVING, ~to.chain_out

        # Partial sums that each group's chain holds, or will when its passes are done.
        chained = [Signal(range(config.chain_depth + 1), name=f"chained_{group}") for group in range(array.groups)]
        present = Array(chained)[p.group]
        left = present - Mux(p.chain_in, to.count, 0)
        following = left + Mux(to.chain_out, to.count, 0)
        for group, own in enumerate(chained):
            with m.If(self.starts & multiplies & (p.group == group)):
                m.d.sync += own.eq(following)

        formats = [each for each in ElementFormat if each.value < len(array.dot.numerics.element_formats)]
        starts: Value = Value.cast(0)
        for tiling in tilings(array):
            leaders = sorted({leader(array, group, tiling) for group in range(array.groups)})
            starts = Mux(p.tiling == tiling, p.group.matches(*leaders), starts)
        words = Mux(multiplies, to.count, array.cols)
        mode = Mux(multiplies & to_psum, mode_fault(to.mode), Fault.NONE)
        m.d.comb += self.fault.eq(
            first_of(
                (~p.tiling.as_value().matches(*tilings(array)) | (mode == Fault.OPERATION), Fault.OPERATION),
                (
                    ~p.format.as_value().matches(*formats, ElementFormat.E2M1) | (mode == Fault.DTYPE),
                    Fault.DTYPE,
                ),
                (~starts, Fault.START),
                (multiplies & ((to.count == 0) | (left < 0) | (following > config.chain_depth)), Fault.COUNT),
                (
                    (p.operand_address + words > array.operand_depth)
                    | (multiplies & to_psum & (to.address.index + to.count > config.psum_bank_depth)),
                    Fault.RANGE,
                ),
            )
        )
        return m
