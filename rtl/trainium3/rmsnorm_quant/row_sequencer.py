"""Sequencer of the RMSNorm-Quant row unit: three passes over the rows, with the statistics between them."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES
from bitpath.rtl.common.fp32.digit_recurrence import DigitRecurrence
from bitpath.rtl.common.pipeline.delay import Delay
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.rmsnorm_quant.config import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.lane import RmsNormQuantLane
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import OPTIONS, Phase, address_width, command_layout, lane_control
from bitpath.rtl.trainium3.vector.exponential_difference import Source

FUNCTION_CYCLES = DigitRecurrence.LATENCY + 1
"""Cycles of a phase with a digit recurrence; its result is registered in the last one."""
CYCLES = {
    Phase.LOADED: 1,
    Phase.TAKE_SUM: 1,
    Phase.MEAN: 1,
    Phase.SQUARE_ROOT: FUNCTION_CYCLES,
    Phase.ADD_EPS: 1,
    Phase.RECIPROCAL_SQUARE_ROOT: FUNCTION_CYCLES,
    Phase.RECIPROCAL_RMS: FUNCTION_CYCLES,
    Phase.NORMALIZED: RmsNormQuantLane.PUT_LATENCY,
    Phase.TAKE_LARGEST: 1,
    Phase.SCALE: 1,
    Phase.FLOOR: 1,
    Phase.TAKE_IN_SCALE: 1,
    Phase.RECIPROCAL_SCALE: FUNCTION_CYCLES,
}
"""Cycles of each phase between the passes."""


class RmsNormQuantSequencer(wiring.Component):
    """Executes commands one at a time and drives the control of all lanes.

    Parameters
    ----------
    config : configuration of the row unit.

    Members
    -------
    command : In(stream of command_layout)
    hidden_valid : In(1), hidden_ready : Out(1), handshake of the elements
    gamma_valid : In(1), gamma_ready : Out(1), handshake of gamma
    o_valid : Out(1), o_ready : In(1), last : Out(1), handshake of the output
    control : Out(lane_control)
    options : Out(OPTIONS), in_scale : Out(ArrayLayout(32, lanes)), fields of the command
    idle : Out(1), no command is in progress
    fault : Out(Fault), other than NONE for the cycle in which a command is refused
    """

    def __init__(self, config: RmsNormQuantConfig):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "hidden_valid": In(1),
                "hidden_ready": Out(1),
                "gamma_valid": In(1),
                "gamma_ready": Out(1),
                "o_valid": Out(1),
                "o_ready": In(1),
                "last": Out(1),
                "control": Out(lane_control(config)),
                "options": Out(OPTIONS),
                "in_scale": Out(data.ArrayLayout(FP32.width, config.lanes)),
                "idle": Out(1),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        phase = Signal(Phase)
        following = Signal(Phase)
        leaves = Signal()
        command = Signal(command_layout(self.config), reset_less=True)
        # Index of an element or output byte.
        index = Signal(bits_for(self.config.max_row_length + SCALE_BYTES), reset_less=True)
        waited = Signal(range(max(CYCLES.values())), reset_less=True)
        m.d.comb += [
            self.idle.eq(phase == Phase.IDLE),
            self.command.ready.eq(self.idle),
            self.hidden_ready.eq(phase == Phase.LOAD),
            self.gamma_ready.eq(phase == Phase.NORMALIZE),
            self.options.eq(command.options),
            self.in_scale.eq(command.in_scale),
            control.phase.eq(phase),
            self.fault.eq(Mux(self.command.valid & self.idle, self._fault(self.command.p), Fault.NONE)),
            control.begin.eq(self.command.valid & self.idle & (self.fault == Fault.NONE)),
            control.store.eq(self.hidden_valid & self.hidden_ready),
            control.read_address.eq(index),
        ]
        m.d.sync += [control.start.eq(leaves), control.add.eq(control.store), waited.eq(waited + 1)]
        with m.If(control.begin):
            m.d.sync += command.eq(self.command.p)
        with m.If(control.store | control.read):
            m.d.sync += index.eq(index + 1)
        with m.If(leaves):
            m.d.sync += [phase.eq(following), index.eq(0), waited.eq(0)]

        normalizing = self.gamma_valid & self.gamma_ready
        last_element = index + 1 == command.row_length
        quantizing, done = self._quantize(m, platform, phase, index, command)
        m.d.comb += control.read.eq(normalizing | quantizing)
        self._write(m, platform, index, normalizing)

        options = command.options
        scale = Mux(options.static, Phase.TAKE_IN_SCALE, Phase.TAKE_LARGEST)
        ends = {
            Phase.IDLE: control.begin,
            Phase.LOAD: control.store & last_element,
            Phase.NORMALIZE: normalizing & last_element,
            Phase.QUANTIZE: done,
        } | {each: waited == cycles - 1 for each, cycles in CYCLES.items()}
        successors = {
            Phase.IDLE: Phase.LOAD,
            Phase.LOAD: Mux(options.quant_only, scale, Phase.LOADED),
            Phase.LOADED: Phase.TAKE_SUM,
            Phase.TAKE_SUM: Phase.MEAN,
            Phase.MEAN: Mux(options.eps_after_root, Phase.SQUARE_ROOT, Phase.ADD_EPS),
            Phase.SQUARE_ROOT: Phase.ADD_EPS,
            Phase.ADD_EPS: Mux(options.eps_after_root, Phase.RECIPROCAL_RMS, Phase.RECIPROCAL_SQUARE_ROOT),
            Phase.RECIPROCAL_SQUARE_ROOT: Phase.NORMALIZE,
            Phase.RECIPROCAL_RMS: Phase.NORMALIZE,
            Phase.NORMALIZE: Phase.NORMALIZED,
            Phase.NORMALIZED: scale,
            Phase.TAKE_LARGEST: Phase.SCALE,
            Phase.SCALE: Phase.FLOOR,
            Phase.FLOOR: Phase.RECIPROCAL_SCALE,
            Phase.TAKE_IN_SCALE: Phase.RECIPROCAL_SCALE,
            Phase.RECIPROCAL_SCALE: Phase.QUANTIZE,
            Phase.QUANTIZE: Phase.IDLE,
        }
        with m.Switch(phase):
            for each in Phase:
                with m.Case(each):
                    m.d.comb += [leaves.eq(ends[each]), Value.cast(following).eq(successors[each])]
        return m

    def _fault(self, command: Any) -> Value:
        """What is wrong with a command; a lower bound or an eps that it does not use may be any."""
        options, length = command.options, command.row_length
        bounded = options.has_lower_bound & ~options.static
        bound_outside = ~options.lower_bound.any() | (options.lower_bound >= FP32.infinity_code)
        eps_outside = (options.eps >= BF16.infinity_code) & (options.eps != BF16.sign_mask)
        return first_of(
            (~options.source.as_value().matches(*Source), Fault.DTYPE),
            (length == 0, Fault.COUNT),
            (
                (length > self.config.max_row_length) | (bounded & bound_outside) | (~options.quant_only & eps_outside),
                Fault.RANGE,
            ),
        )

    def _write(self, m: Module, platform: Any, index: Value, normalizing: Value) -> None:
        """Write addresses: pass 1 stores arriving elements; pass 2 writes back PUT_LATENCY cycles after the read."""
        width = address_width(self.config)
        behind = instantiate(m, platform, "put", Delay, 1 + width, RmsNormQuantLane.PUT_LATENCY)
        put, address = behind.o[0], behind.o[1:]
        m.d.comb += [
            behind.advance.eq(1),
            behind.i.eq(Cat(normalizing, index[:width])),
            self.control.put.eq(put),
            self.control.write_address.eq(Mux(put, address, index)),
        ]

    def _quantize(self, m: Module, platform: Any, phase: Value, index: Value, command: Value) -> tuple[Value, Value]:
        """Control of pass 3, which stalls with the output; return read enable and the end of the pass."""
        control, static = self.control, command.options.static
        count = Mux(static, 0, SCALE_BYTES) + command.row_length
        more = (phase == Phase.QUANTIZE) & (index != count)
        # The scale bytes follow the elements; their reads are not used.
        is_scale = index >= command.row_length
        scale_byte = (index - command.row_length)[: len(control.scale_byte)]
        tags = Cat(more, index + 1 == count, is_scale, scale_byte)
        behind = instantiate(m, platform, "output", Delay, len(tags), RmsNormQuantLane.OUTPUT_LATENCY)
        m.d.comb += [
            control.advance.eq(self.o_ready | ~self.o_valid),
            behind.advance.eq(control.advance),
            behind.i.eq(tags),
            Cat(self.o_valid, self.last, control.scale_bytes, control.scale_byte).eq(behind.o),
        ]
        return more & control.advance, self.o_valid & self.o_ready & self.last
