"""RMSNorm-Quant row unit: rows of BF16, FP16 or FP32 to FP8 rows and their scales.

Ref: "RMSNorm-Quant Kernel Design Specification", and the kernel that it describes (SPEC and RQ of
:mod:`bitpath.golden.trainium3.declarations.vector`).
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.declarations.vector import SCALE_BYTES
from bitpath.rtl.common.fp32.fp32_functions import DigitRecurrence
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import Delay
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig
from bitpath.rtl.trainium3.dot.pe import Bf16Pe
from bitpath.rtl.trainium3.faults import Fault, keep_first
from bitpath.rtl.trainium3.rmsnorm_quant.lane import RmsNormQuantLane
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import (
    OPTIONS,
    Phase,
    RmsNormQuantConfig,
    address_width,
    command_layout,
    lane_control,
    output_layout,
)
from bitpath.rtl.trainium3.vector.exponential import Source

# Sequencer of the RMSNorm-Quant row unit: three passes over the rows, with the statistics between them.


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
        """Return the fault of a command; a lower bound or an eps that it does not use may have any value."""
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


BROADCAST = MultiplyAddConfig()
"""PE that multiplies gamma by 1. It has only its input registers: gamma takes one cycle in it, and one in ``weight``."""
ONE = BF16.bias << BF16.fraction_bits


class RmsNormQuant(wiring.Component):
    """One row in each lane, in three passes of one element of each lane a cycle::

        1  load: round to BF16, store the row, sum its squares serially
           1 / RMS
        2  normalise: multiply by 1 / RMS and gamma, round to BF16, write back, find the largest magnitude
           scale = largest / output range, 1 / scale
        3  quantise: multiply by 1 / scale, convert to FP8; then the four bytes of the scale, lowest first

    A command is refused with fault DTYPE if its source is none, COUNT without an element, RANGE with more than the row memory has,
    with a lower bound that is not positive and finite, or with an eps that is negative or not finite. It takes no element, gives
    no byte, and the next command can go over in the next cycle.

    Each command takes gamma anew, one element a cycle for all lanes; as in the kernel, a PE multiplies it by 1.

    Cycles of a command with rows of H elements, without gaps and stalls, until the next command can start:

        3 H + 74            row's own scale, eps inside the root
        3 H + 102           row's own scale, eps added to the root
        3 H + 68, 3 H + 96  static scale, eps inside and added
        2 H + 39, 2 H + 33  without normalisation, row's own and static scale

    Parameters
    ----------
    config : number of lanes and longest row.

    Members
    -------
    command : In(stream of command_layout)
    hidden : In(stream of ArrayLayout(32, lanes)), one element of each row a beat, in the command's ``source``; 16-bit codes in
        the upper half, above 16 zeros
    gamma : In(stream of 16), BF16 or FP16, by the command's ``gamma_fp16``
    o : Out(stream of output_layout)
    busy : Out(1), a command is pending or its output is not complete
    fault : Out(Fault), of the first refused command since reset or ``clear``
    clear : In(1), clears ``fault``
    retired : Out(32), commands completed since reset
    busy_cycles : Out(32), cycles since reset in which ``busy`` was high
    """

    def __init__(self, config: RmsNormQuantConfig):
        self.config = config
        super().__init__(
            {
                "command": In(stream.Signature(command_layout(config))),
                "hidden": In(stream.Signature(data.ArrayLayout(FP32.width, config.lanes))),
                "gamma": In(stream.Signature(BF16.width)),
                "o": Out(stream.Signature(output_layout(config))),
                "busy": Out(1),
                "fault": Out(Fault),
                "clear": In(1),
                "retired": Out(32),
                "busy_cycles": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.sequencer = sequencer = RmsNormQuantSequencer(self.config)
        connect(m, flipped(self.command), sequencer.command)
        broadcast = instantiate(m, platform, "broadcast", Bf16Pe, BROADCAST)
        weight = Signal(FP32.width, reset_less=True)
        m.d.sync += weight.eq(broadcast.partial_south)
        begin = sequencer.control.begin
        m.d.comb += [
            sequencer.hidden_valid.eq(self.hidden.valid),
            self.hidden.ready.eq(sequencer.hidden_ready),
            sequencer.gamma_valid.eq(self.gamma.valid),
            self.gamma.ready.eq(sequencer.gamma_ready),
            # Each command loads and swaps in the stationary 1.
            broadcast.advance.eq(1),
            broadcast.load.eq(begin),
            broadcast.swap_west.eq(begin),
            broadcast.stationary_west.eq(ONE),
            broadcast.moving_west.code.eq(self.gamma.payload),
            broadcast.moving_west.format.eq(sequencer.options.gamma_fp16),
            broadcast.partial_north.eq(0),
        ]
        for k in range(self.config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", RmsNormQuantLane, self.config)
            m.d.comb += [
                lane.control.eq(sequencer.control),
                lane.options.eq(sequencer.options),
                lane.in_scale.eq(sequencer.in_scale[k]),
                lane.hidden.eq(self.hidden.p[k]),
                lane.gamma.eq(weight),
                self.o.p.bytes[k].eq(lane.o),
            ]
        m.d.comb += [
            self.o.p.last.eq(sequencer.last),
            self.o.valid.eq(sequencer.o_valid),
            sequencer.o_ready.eq(self.o.ready),
            self.busy.eq(self.command.valid | ~sequencer.idle),
        ]
        keep_first(m, self.fault, sequencer.fault, self.clear)
        m.d.sync += self.busy_cycles.eq(self.busy_cycles + self.busy)
        with m.If(self.o.valid & self.o.ready & self.o.p.last):
            m.d.sync += self.retired.eq(self.retired + 1)
        return m


RMSNORM_QUANT_LANE_GROUPS = (
    WaveGroup("first lane, pass 1", r"lane_0\.(hidden|cast\.|squares\.|largest|maximum)"),
    WaveGroup("first lane, statistics", r"lane_0\.(statistics\.|in_scale)"),
    WaveGroup("first lane, pass 2", r"lane_0\.(gamma|normalize\.)"),
    WaveGroup("first lane, pass 3", r"lane_0\.(quantize\.|o$)"),
)


RECORDS = (
    Unit(
        name="rmsnorm_quant",
        config_type=RmsNormQuantConfig,
        build=RmsNormQuant,
        summary="Trainium3: RMSNorm-Quant, rows in lanes: BF16, FP16 or FP32 in, FP8 and scales out",
        covered=Covered(RmsNormQuantConfig(), 40),
        judges=(Judge(17, RmsNormQuantConfig()),),
        waves=(
            CLOCK,
            WaveGroup("command", r"(command__|busy|retired)"),
            WaveGroup("hidden and gamma", r"(hidden|gamma)__"),
            WaveGroup("sequencer", r"sequencer\."),
            WaveGroup("gamma's broadcast", r"(broadcast\.|weight)"),
            *RMSNORM_QUANT_LANE_GROUPS,
            OUTPUT,
        ),
    ),
)
