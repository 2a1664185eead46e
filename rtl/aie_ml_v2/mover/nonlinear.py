"""Nonlinear unit: exp2 of FP32 lanes to BF16, FP16 or FP32, and tanh to BF16.

Latency: 1 cycle. Throughput: one accumulator register a cycle.

Ref: AM027 for the formats; UG1639 and llvm-aie for exp2's argument.
"""

from typing import Any

from amaranth import Cat, Const, Module, Mux

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.aie_ml_v2.mover.config import NonlinearConfig
from bitpath.rtl.aie_ml_v2.mover.exp2_lane import Exp2Lane
from bitpath.rtl.aie_ml_v2.mover.layouts import Function, nonlinear_request
from bitpath.rtl.aie_ml_v2.mover.tanh_lane import TanhLane
from bitpath.rtl.common.pipeline.registered import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class Nonlinear(Registered):
    """exp2 or tanh of every lane. Results lie side by side, lane 0 lowest; those of 16 bits leave the upper half 0.

    Parameters
    ----------
    config : NonlinearConfig, the number of lanes.

    Members
    -------
    i : In(stream of nonlinear_request)
    o : Out(stream of 32 bits a lane)
    """

    def __init__(self, config: NonlinearConfig):
        self.config = config
        super().__init__(nonlinear_request(config.lanes), FP32.width * config.lanes)

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        op, wide, short = request.op, [], []
        for k in range(self.config.lanes):
            exp2 = instantiate(m, platform, f"exp2_{k}", Exp2Lane)
            tanh = instantiate(m, platform, f"tanh_{k}", TanhLane)
            m.d.comb += [exp2.i.eq(request.lanes[k]), exp2.op.eq(op), tanh.i.eq(request.lanes[k])]
            wide.append(Cat(exp2.o, Const(0, 1)))
            short.append(Mux(op == Function.TANH, tanh.o, exp2.o[: BF16.width]))
        m.d.comb += result.eq(Mux(op == Function.EXP2_FP32, Cat(wide), Cat(short)))
