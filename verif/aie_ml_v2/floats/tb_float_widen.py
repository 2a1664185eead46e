"""Bench of BF16 and FP16 to FP32; `lane_tests` says how each test sends them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Self

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat
from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_WIDEN
from bitpath.verif.aie_ml_v2.floats.lane_bench import Corner, LaneAsk, lane_bench, lane_tests
from bitpath.verif.kit.testplan import covers


@dataclass(frozen=True)
class WidenAsk(LaneAsk):
    """Format of the operands."""

    fmt: FloatFormat

    operator: ClassVar = FLOAT_WIDEN
    result: ClassVar = FP32

    def __str__(self) -> str:
        return self.fmt.name

    @property
    def operand(self) -> FloatFormat:
        return self.fmt

    @property
    def bins(self) -> Sequence[str]:
        return (self.fmt.name,)

    @property
    def fields(self) -> Mapping[str, Any]:
        return {"is_bf16": int(self.fmt is BF16)}

    def golden(self, codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        return (aie.bf16_to_f32 if self.fmt is BF16 else aie.fp16_to_f32)(codes), {}

    def shifted(self, source: Random) -> Self:
        return self

    def code(self, source: Random) -> int:
        subnormal = source.getrandbits(source.randint(0, self.fmt.fraction_bits)) | source.getrandbits(1) << 15
        return source.choice((source.getrandbits(16), subnormal, self.fmt.infinity_code))


KINDS = [WidenAsk(FP16), WidenAsk(BF16)]
SWEEP = [(kind, range(1 << 16)) for kind in KINDS]
CORNERS = [
    Corner(f"{ask.fmt.name}/{name}", ask, code, result)
    for ask, rows in (
        (
            KINDS[0],
            {
                "1": (0x3C00, 0x3F800000),
                "largest": (0x7BFF, 0x477FE000),
                "-smallest normal": (0x8400, 0xB8800000),
                "largest subnormal": (0x03FF, 0x387FC000),
                "two bits of a subnormal": (0x0003, 0x34400000),
                "-smallest": (0x8001, 0xB3800000),
                "0": (0x0000, 0x00000000),
                "-0": (0x8000, 0x80000000),
                "infinity": (0x7C00, 0x7F800000),
                "-infinity": (0xFC00, 0xFF800000),
                "NaN of its lowest bit": (0x7C01, 0x7F802000),
                "-NaN": (0xFE00, 0xFFC00000),
            },
        ),
        (
            KINDS[1],
            {
                "1": (0x3F80, 0x3F800000),
                "-subnormal": (0x8001, 0x80010000),
                "infinity": (0x7F80, 0x7F800000),
                "NaN of its lowest bit": (0x7F81, 0x7F810000),
            },
        ),
    )
    for name, (code, result) in rows.items()
]


BENCH = lane_bench(__name__, FLOAT_WIDEN, KINDS)
random_requests, latency, resets = BENCH.tests()
swept_operands, directed_corners, _ = lane_tests(BENCH, CORNERS, SWEEP)
covers(
    "float_widen.sweep",
    "FP16's subnormals are normalised",
    "All 65,536 codes of both formats; a sample, in the deep test all",
    swept_operands,
)
covers(
    "float_widen.corners",
    "Golden and RTL could share a mistake",
    "Stated results: one, limits, subnormals, zeros, infinities and NaN with its lowest bit",
    directed_corners,
)
covers(
    "float_widen.stream",
    "Each request carries its own control through all pipeline stages",
    "Both formats, in any order, full speed, gaps, stalls and both; latency; resets",
    random_requests,
    latency,
    resets,
)
