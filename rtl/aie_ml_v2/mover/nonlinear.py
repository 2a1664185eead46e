"""Nonlinear unit: exp2 of FP32 lanes to BF16, FP16 or FP32, and tanh to BF16.

Latency: 1 cycle. Throughput: one accumulator register a cycle.

Ref: AM027 for the formats; UG1639 and llvm-aie for exp2's argument.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.aie_ml_v2.mover import result_register
from bitpath.rtl.aie_ml_v2.mover.config import NonlinearConfig
from bitpath.rtl.aie_ml_v2.mover.exp2_lane import Exp2Lane
from bitpath.rtl.aie_ml_v2.mover.layouts import Function, nonlinear_request
from bitpath.rtl.aie_ml_v2.mover.tanh_lane import TanhLane
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class Nonlinear(wiring.Component):
    """exp2 or tanh of every lane. Results lie side by side, lane 0 lowest; those of 16 bits leave the upper half 0.

    Parameters
    ----------
    config : NonlinearConfig, the number of lanes.

    Members
    -------
    i : In(stream of nonlinear_request)
    o : Out(stream of 32 bits a lane)
    """

    LATENCY = result_register.LATENCY
    """Cycles from a request to its result."""

    def __init__(self, config: NonlinearConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(nonlinear_request(config.lanes))),
                "o": Out(stream.Signature(FP32.width * config.lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        op, wide, short = self.i.p.op, [], []
        for k in range(self.config.lanes):
            exp2 = instantiate(m, platform, f"exp2_{k}", Exp2Lane)
            tanh = instantiate(m, platform, f"tanh_{k}", TanhLane)
            m.d.comb += [exp2.i.eq(self.i.p.lanes[k]), exp2.op.eq(op), tanh.i.eq(self.i.p.lanes[k])]
            wide.append(Cat(exp2.o, Const(0, 1)))
            short.append(Mux(op == Function.TANH, tanh.o, exp2.o[: BF16.width]))
        result = Signal(FP32.width * self.config.lanes)
        m.d.comb += result.eq(Mux(op == Function.EXP2_FP32, Cat(wide), Cat(short)))
        result_register.register_result(m, self, result)
        return m
