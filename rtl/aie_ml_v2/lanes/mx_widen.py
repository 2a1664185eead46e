"""MX blocks to FP32.

Ref: AM027 lists the conversion; the AIE API multiplies by an identity block, which gives the same numbers.
"""

from typing import Any

from amaranth import Module

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK
from bitpath.rtl.aie_ml_v2.lanes.config import MxWidenConfig
from bitpath.rtl.aie_ml_v2.lanes.layouts import mx_elements, mx_request
from bitpath.rtl.aie_ml_v2.lanes.mx_to_float import MxToFloat
from bitpath.rtl.common.pipeline.registered import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class MxWiden(Registered):
    """Elements of MX9, MX6 or MX4 blocks; latency 1, one request a cycle.

    Parameters
    ----------
    config : number of blocks, numerics.

    Members
    -------
    i : In(stream of mx_request)
    o : Out(stream of mx_elements)
    """

    def __init__(self, config: MxWidenConfig):
        self.config = config
        super().__init__(mx_request(config.blocks), mx_elements(config.blocks))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        for k in range(MX_BLOCK * self.config.blocks):
            block, place = request.blocks[k // MX_BLOCK], k % MX_BLOCK
            element = instantiate(m, platform, f"element_{k}", MxToFloat, self.config.numerics.mx_nan_block)
            m.d.comb += [
                element.i.eq(block.codes[place]),
                element.exponent.eq(block.exponent),
                element.shifted.eq(block.shift[place // 2]),
                element.block_format.eq(request.block_format),
                result[k].eq(element.o),
            ]
