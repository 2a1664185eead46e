"""Add/compare unit: 17 operations on integers of 8, 16 or 32 bits, and four comparisons of BF16, FP16 and 8-bit floats.

Latency: 1 cycle. Throughput: one operation a cycle.

Ref: AM027, Vector Unit; llvm-aie for the operations and their codes.
"""

from typing import Any

from amaranth import Cat, Const, Module, Signal

from bitpath.rtl.aie_ml_v2.mover.alu_control import AluDecode
from bitpath.rtl.aie_ml_v2.mover.alu_group import AluGroup
from bitpath.rtl.aie_ml_v2.mover.config import VectorAluConfig
from bitpath.rtl.aie_ml_v2.mover.lane_bits import GROUP_BYTES, by_width
from bitpath.rtl.aie_ml_v2.mover.layouts import alu_request, alu_result
from bitpath.rtl.common.pipeline.registered import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class VectorAlu(Registered):
    """Add, subtract, select, logic, minimum, maximum and comparisons, lane by lane; values wrap.

    Parameters
    ----------
    config : VectorAluConfig, the bytes of a register.

    Members
    -------
    i : In(stream of alu_request)
    o : Out(stream of alu_result)
    """

    def __init__(self, config: VectorAluConfig):
        self.config = config
        size = config.register_bytes
        super().__init__(alu_request(size), alu_result(size))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        size = self.config.register_bytes
        decode = instantiate(m, platform, "decode", AluDecode)
        m.d.comb += [
            getattr(decode, name).eq(getattr(request, name)) for name in ("op", "width", "is_signed", "bf8", "fp8")
        ]
        width = decode.o.width
        # Bit i of a mask is lane i outside, and the lane of byte i inside.
        mask, flags, values = Signal(size), Signal(size), []
        pairs, fours = (Cat(request.mask[k >> log] for k in range(size)) for log in (1, 2))
        m.d.comb += mask.eq(by_width(width, request.mask, pairs, fours))
        for k in range(size // GROUP_BYTES):
            group = instantiate(m, platform, f"group_{k}", AluGroup)
            m.d.comb += [
                group.control.eq(decode.o),
                group.a.eq(request.a.word_select(k, 8 * GROUP_BYTES)),
                group.b.eq(request.b.word_select(k, 8 * GROUP_BYTES)),
                group.mask.eq(mask.word_select(k, GROUP_BYTES)),
                flags.word_select(k, GROUP_BYTES).eq(group.flag),
            ]
            values.append(group.o)

        pairs, fours = (Cat(flags[:: 1 << log], Const(0, size - (size >> log))) for log in (1, 2))
        m.d.comb += [result.values.eq(Cat(values)), result.mask.eq(by_width(width, flags, pairs, fours))]
