"""Instructions of the tensor engine, each a pass of one tile over the array.

Ref: "Trainium3 Architecture Guide for NKI", LoadStationary and MultiplyMoving; ``nki.isa.nc_matmul_mx``.
"""

from dataclasses import dataclass, field
from functools import cache

from amaranth import Array, Module, Mux, Signal, Value
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.array.psum import PsumConfig, psum_address
from bitpath.rtl.trainium3.array.psum_column import PsumMode, mode_fault
from bitpath.rtl.trainium3.array.systolic_array import Tiling, leader, tilings
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.rtl.trainium3.faults import Fault

# Configuration of the tensor engine.


@dataclass(frozen=True, kw_only=True)
class EngineConfig(UnitConfig, unit="tensor_engine"):
    """Configuration of the tensor engine: array, PSUM and sequencers.

    Attributes
    ----------
    array : PEs and operand memory.
    psum_banks, psum_bank_depth : banks of PSUM and words of each; see :class:`PsumConfig`.
    chain_depth : moving words whose partial sums fit the chain memory between two passes over the rows; it limits the
        moving size of a contraction of several passes.
    """

    array: ArrayConfig = field(default_factory=ArrayConfig)
    psum_banks: int = power_of_two(2, 8, 4)
    psum_bank_depth: int = power_of_two(2, 1 << 16, 256)
    chain_depth: int = power_of_two(2, MAX_MOVING_FP32, 64)

    @property
    def psum(self) -> PsumConfig:
        """PSUM, whose modes the engine checks."""
        return PsumConfig(
            cols=self.array.cols,
            lanes=self.array.groups,
            banks=self.psum_banks,
            bank_depth=self.psum_bank_depth,
            checks=False,
        )


class Opcode(enum.Enum, shape=1):
    """Operation codes of the instructions."""

    LOAD_STATIONARY = 0
    MULTIPLY_MOVING = 1


def count_width(config: EngineConfig) -> int:
    """Bits of a count of moving words, 0 to ``operand_depth``."""
    return ceil_log2(config.array.operand_depth) + 1


def destination_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of a multiplication's destination: ``count`` results to PSUM, or with ``chain_out`` to the next pass."""
    return data.StructLayout(
        {
            "count": count_width(config),
            "address": psum_address(config.psum),
            "mode": PsumMode,
            "chain_out": 1,
        }
    )


# Cached: a host uses the layout with every instruction, and Amaranth takes milliseconds to create it.
@cache
def instruction_layout(config: EngineConfig) -> data.StructLayout:
    """Layout of one instruction and its destination.

    ``group`` is the first row group of its tile. LOAD_STATIONARY reads ``cols`` words from ``operand_address`` on, the
    first for column 0; the next multiplication uses them. MULTIPLY_MOVING reads ``destination.count`` words, 1 or more,
    and adds their products to the oldest partial sums that passes with ``chain_out`` left in its group if ``chain_in`` is
    set, else to +0; the chain holds ``chain_depth`` of them. :class:`InstructionCheck` says which instructions are refused.
    """
    return data.StructLayout(
        {
            "opcode": Opcode,
            "tiling": Tiling,
            "group": max(1, ceil_log2(config.array.groups)),
            "format": ElementFormat,
            "operand_address": ceil_log2(config.array.operand_depth),
            "chain_in": 1,
            "destination": destination_layout(config),
        }
    )


# Check of an instruction before any of it is done.


class InstructionCheck(wiring.Component):
    """Gives the fault of an instruction, combinationally; counts the partial sums that passes leave for the next ones.

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
