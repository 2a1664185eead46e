"""In-order dispatch of instructions to the row tiles."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.systolic_array import Tiling
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.rtl.trainium3.engine.instruction import Opcode, destination_layout, instruction_layout
from bitpath.rtl.trainium3.engine.instruction_check import InstructionCheck
from bitpath.rtl.trainium3.engine.sequencer import load_layout, multiply_layout
from bitpath.rtl.trainium3.faults import Fault

IN_FLIGHT = 8
"""Largest number of multiplications of one tile in flight, from dispatch to last result."""


class Dispatch(wiring.Component):
    """Sends each instruction to its tile's sequencer, and a multiplication's destination to the tile's write-back. A refused one
    goes nowhere, and takes a cycle.

    Tiles work in parallel. Dispatch stalls on three hazards: the queue is full; rows are busy under another tiling;
    another tile has results in flight to the same PSUM bank. So a bank accumulates in the order of the instructions.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    i : In(stream of instruction_layout)
    load, multiply, destination : Out(streams), one for each row group
    tiling : Out(Tiling)
    fault : Out(Fault), other than NONE for the cycle of a refused instruction
    idle : In(groups), the tile has nothing queued or in flight
    done : In(groups), a multiplication of the tile writes its last result to PSUM, bank ``done_bank``
    done_bank_0, ... : In(bank), one for each row group
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        groups = config.array.groups
        bank = destination_layout(config)["address"].shape["bank"].shape
        super().__init__(
            {
                "i": In(stream.Signature(instruction_layout(config))),
                "load": Out(stream.Signature(load_layout(config))).array(groups),
                "multiply": Out(stream.Signature(multiply_layout(config))).array(groups),
                "destination": Out(stream.Signature(destination_layout(config))).array(groups),
                "tiling": Out(Tiling),
                "fault": Out(Fault),
                "idle": In(groups),
                "done": In(groups),
                "done_bank": In(bank).array(groups),
            }
        )

    def elaborate(self, platform):
        m = Module()
        i, p = self.i, self.i.p
        is_load = p.opcode == Opcode.LOAD_STATIONARY
        check = instantiate(m, platform, "check", InstructionCheck, self.config)
        legal = Signal()
        bank_free = self._banks(m, legal)

        right_tiling = Signal()
        m.d.comb += [
            check.instruction.eq(p),
            check.starts.eq(legal & i.ready),
            legal.eq(i.valid & (check.fault == Fault.NONE)),
            self.fault.eq(Mux(i.valid, check.fault.as_value(), Fault.NONE)),
            right_tiling.eq(p.tiling == self.tiling),
        ]
        with m.If(self.fault != Fault.NONE):
            m.d.comb += i.ready.eq(1)
        with m.If(legal & ~right_tiling & self.idle.all()):
            m.d.sync += self.tiling.eq(p.tiling)

        for group in range(self.config.array.groups):
            load, multiply, destination = self.load[group], self.multiply[group], self.destination[group]
            unused_load = Signal(name=f"unused_load_{group}")
            here = Signal(name=f"here_{group}")
            m.d.comb += [
                here.eq(legal & right_tiling & (p.group == group)),
                load.p.address.eq(p.operand_address),
                load.p.format.eq(p.format),
                load.p.replace.eq(unused_load),
                load.valid.eq(here & is_load),
                multiply.p.address.eq(p.operand_address),
                multiply.p.format.eq(p.format),
                multiply.p.count.eq(p.destination.count),
                multiply.p.chain_in.eq(p.chain_in),
                multiply.p.swap.eq(unused_load),
                destination.p.eq(p.destination),
                # Both queues take a multiplication in the same cycle. Their ready does not depend on valid.
                multiply.valid.eq(here & ~is_load & bank_free & destination.ready),
                destination.valid.eq(here & ~is_load & bank_free & multiply.ready),
            ]
            with m.If(here):
                m.d.comb += i.ready.eq(Mux(is_load, load.ready, bank_free & multiply.ready & destination.ready))
                with m.If(i.ready):
                    m.d.sync += unused_load.eq(is_load)
        return m

    def _banks(self, m: Module, legal: Signal):
        """Return 1 if the instruction's tile may write its bank; count the multiplications in flight to each bank."""
        config = self.config
        p = self.i.p
        groups = config.array.groups
        multiplies = Signal()
        m.d.comb += multiplies.eq(
            legal & self.i.ready & (p.opcode == Opcode.MULTIPLY_MOVING) & ~p.destination.chain_out
        )
        bank_free = Signal()
        m.d.comb += bank_free.eq(p.destination.chain_out)
        for bank in range(config.psum_banks):
            owner = Signal(range(groups), name=f"owner_{bank}")
            count = Signal(range(IN_FLIGHT + 1), name=f"count_{bank}")
            enters = Signal(name=f"enters_{bank}")
            leaves = Signal(name=f"leaves_{bank}")
            m.d.comb += [
                enters.eq(multiplies & (p.destination.address.bank == bank)),
                leaves.eq(Cat(self.done[group] & (self.done_bank[group] == bank) for group in range(groups)).any()),
            ]
            with m.If((p.destination.address.bank == bank) & (~count.any() | (owner == p.group))):
                m.d.comb += bank_free.eq(1)
            with m.If(enters):
                m.d.sync += owner.eq(p.group)
            m.d.sync += count.eq(count + enters - leaves)
        return bank_free
