"""What is run for a unit's coverage: its whole bench, in one configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bitpath.rtl.aie_ml_v2.config import (
    AieEngineConfig,
    CascadeConfig,
    CascadeLinkConfig,
    IntegerLanesConfig,
    MacLaneConfig,
    MxConvertConfig,
    PostAddConfig,
    VectorMacConfig,
)
from bitpath.rtl.common.fp32_lanes import Fp32LanesConfig
from bitpath.rtl.config import PipelineConfig
from bitpath.rtl.tensix.config import (
    ConversionConfig,
    Dot16Config,
    MatrixUnitConfig,
    MultiplierConfig,
    TensixEngineConfig,
)
from bitpath.rtl.trainium3.config import ArrayConfig, DotConfig, EngineConfig, MapConfig, PsumConfig
from bitpath.rtl.trainium3.vector_config import (
    ExponentialConfig,
    MultiplyAddConfig,
    QuantizeMxConfig,
    RmsNormQuantConfig,
    XorwowConfig,
)

SEED = 20251121


@dataclass(frozen=True)
class Measured:
    """A run of a unit's whole bench on Verilator, or of its tests that a filter names.

    Attributes
    ----------
    config : the unit's.
    cases : random cases of a test, as the bench counts them.
    env : what else the bench reads.
    tests : regular expression of the tests' names; None for all.
    """

    config: Any
    cases: int
    env: Mapping[str, str] = field(default_factory=dict)
    tests: str | None = None


def _ranks(stages: int) -> PipelineConfig:
    """Registered, for a combinational unit has no handshakes that could stall."""
    return PipelineConfig(stages=stages)


_FUNCTION = Measured(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"})
_INTEGERS = {"BITPATH_SHIFTS": "4 9"}

RUNS = {
    "quad_mx_dot": Measured(DotConfig(pipeline=_ranks(2)), 1000),
    "quad_mx_pe": Measured(DotConfig(pipeline=_ranks(2)), 1500),
    "element_map": Measured(MapConfig(), 200),
    "systolic_array": Measured(ArrayConfig(operand_depth=512, dot=DotConfig(pipeline=_ranks(2))), 24),
    "psum": Measured(PsumConfig(cols=2, bank_depth=16), 1000),
    "tensor_engine": Measured(EngineConfig(), 24),
    "bf16_pe": Measured(MultiplyAddConfig(), 300),
    "rmsnorm_quant": Measured(RmsNormQuantConfig(), 40),
    "reciprocal": _FUNCTION,
    "square_root": _FUNCTION,
    "reciprocal_square_root": _FUNCTION,
    "quantize_mx": Measured(QuantizeMxConfig(pipeline=_ranks(2)), 500),
    "xorwow": Measured(XorwowConfig(lanes=2), 300),
    "stochastic_psum": Measured(PsumConfig(cols=10, lanes=2, banks=2, bank_depth=16), 200),
    # Golden takes minutes for all BF16 codes to BF16 too.
    "exponential": Measured(
        ExponentialConfig(width=4, pipeline=_ranks(3)),
        500,
        tests="corners|every_bf16_code/bf16=False|many|half|random|rows|latency|resets",
    ),
    "fidelity_multiplier": Measured(MultiplierConfig(), 0),
    "dot16": Measured(Dot16Config(pipeline=_ranks(3)), 500),
    "unpacker": Measured(ConversionConfig(), 500),
    "packer": Measured(ConversionConfig(), 500),
    "matrix_unit": Measured(MatrixUnitConfig(), 60),
    "tensix_engine": Measured(TensixEngineConfig(unit=MatrixUnitConfig(rows=4, cols=8)), 4),
    "post_add": Measured(PostAddConfig(), 500),
    "mac_lane": Measured(MacLaneConfig(), 300),
    "vector_mac": Measured(VectorMacConfig(), 200),
    "mx_convert": Measured(MxConvertConfig(), 500),
    "srs": Measured(IntegerLanesConfig(), 1024, _INTEGERS),
    "ups": Measured(IntegerLanesConfig(), 2048, _INTEGERS),
    "cascade_link": Measured(CascadeLinkConfig(), 2000),
    "cascade": Measured(CascadeConfig(), 100),
    "aie_engine": Measured(AieEngineConfig(unit=VectorMacConfig(lanes=16)), 4),
}
"""By unit, every one."""
