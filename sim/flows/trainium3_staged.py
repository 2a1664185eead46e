"""Trainium3's RTL units that play instructions, one after the other."""

from dataclasses import dataclass, field

from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_FP32, MAX_STATIONARY, PSUM_BANKS
from bitpath.rtl.common.fp32.fp32_functions import Fp32LanesConfig
from bitpath.rtl.common.unit import registered
from bitpath.rtl.trainium3.array.psum import PsumConfig
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Config
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyConfig
from bitpath.rtl.trainium3.lanes.engine_lane import EngineLaneConfig
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.vector.exponential import ExponentialConfig
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.xorwow import XorwowConfig
from bitpath.sim.flows import staged
from bitpath.sim.flows.trainium3_matmul import ENGINES
from bitpath.verif.trainium3.core.core_layer import LAYER
from bitpath.verif.trainium3.core.stages import LANE_WIDTH, TRANSPOSE

BENCHES = {
    "quantize_mx": "bitpath.verif.trainium3.vector.tb_quantize_mx_run",
    "tensor_engine": "bitpath.verif.trainium3.engine.tb_tensor_engine_run",
    "dma_engine": "bitpath.verif.trainium3.core.tb_dma_engine_run",
    "dma_transpose": "bitpath.verif.trainium3.core.tb_dma_transpose_run",
    "core_array": "bitpath.verif.trainium3.core.tb_core_array_run",
    "psum": "bitpath.verif.trainium3.core.tb_psum_run",
    "xorwow": "bitpath.verif.trainium3.core.tb_xorwow_run",
    "core": "bitpath.verif.trainium3.core.tb_core_run",
}
"""Run benches of the units that `tb_words_run` does not play."""
FP32_FUNCTION = Fp32LanesConfig(lanes=1)
CORE_ARRAY = CoreArrayConfig(rows=32, cols=32, operand_depth=64, dot=CorePeConfig(pipeline=registered(2)))
"""A quadrant's rows, and as many columns."""


def psum_behind(array: CoreArrayConfig) -> PsumConfig:
    """Return a PSUM that holds the results of the largest instruction, in words of the array's columns."""
    places = MAX_MOVING_FP32 * -(-MAX_STATIONARY // array.cols)
    return PsumConfig(cols=array.cols, lanes=1, banks=PSUM_BANKS, bank_depth=places // PSUM_BANKS)


DMA_ENGINE = DmaEngineConfig(mover=DmaMoverConfig(beat_bytes=32, address_bits=18))
"""Four queues, a memory of 256 KiB at each end, and the machine's pace."""
DMA_TRANSPOSE = DmaTransposeConfig(columns=8, elements=16, address_bits=18, count_bits=16, row_bits=16)
"""An engine's part of the machine, with a source of 256 KiB."""


@dataclass(frozen=True, kw_only=True)
class CoreUnits:
    """The units that play a core's instructions, by their names: a lane for all partitions, the machine's array, a DMA engine;
    and a core of one quadrant, in which they are joined."""

    activation2_lane: Activation2Config = field(default_factory=Activation2Config)
    engine_lane: EngineLaneConfig = field(default_factory=lambda: EngineLaneConfig(width=LANE_WIDTH))
    copy_lanes: CopyConfig = field(default_factory=CopyConfig)
    exponential: ExponentialConfig = field(default_factory=ExponentialConfig)
    xorwow: XorwowConfig = field(default_factory=lambda: XorwowConfig(lanes=1))
    rand2_lane: Rand2Config = field(default_factory=Rand2Config)
    reciprocal: Fp32LanesConfig = FP32_FUNCTION
    reciprocal_square_root: Fp32LanesConfig = FP32_FUNCTION
    core_array: CoreArrayConfig = CORE_ARRAY
    psum: PsumConfig = field(default_factory=lambda: psum_behind(CORE_ARRAY))
    background_transpose: TransposeConfig = TRANSPOSE
    quantize_mx: QuantizeMxConfig = field(default_factory=QuantizeMxConfig)
    tensor_engine: EngineConfig = ENGINES["verilator"]
    dma_engine: DmaEngineConfig = DMA_ENGINE
    dma_transpose: DmaTransposeConfig = DMA_TRANSPOSE
    core: CoreConfig = LAYER


class StagedRun(staged.StagedRun):
    """A chain of Trainium3's instructions."""

    machine = "trainium3"
    benches = BENCHES
