"""RMSNorm-Quant row unit: rows of BF16, FP16 or FP32 to FP8 rows and their scales.

Ref: "RMSNorm-Quant Kernel Design Specification", and the kernel that it describes (SPEC and RQ of
:mod:`bitpath.golden.trainium3.declarations.vector`).
"""

from amaranth import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dot.bf16_pe import Bf16Pe
from bitpath.rtl.trainium3.dot.config import MultiplyAddConfig
from bitpath.rtl.trainium3.faults import Fault, keep_first
from bitpath.rtl.trainium3.rmsnorm_quant.config import RmsNormQuantConfig
from bitpath.rtl.trainium3.rmsnorm_quant.lane import RmsNormQuantLane
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import command_layout, output_layout
from bitpath.rtl.trainium3.rmsnorm_quant.row_sequencer import RmsNormQuantSequencer

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
