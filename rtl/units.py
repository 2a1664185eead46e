"""Every unit that can be emitted and benched, by name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth.lib import wiring

from bitpath.rtl.aie_ml_v2.aie_engine import AieEngine
from bitpath.rtl.aie_ml_v2.cascade import Cascade
from bitpath.rtl.aie_ml_v2.cascade_link import CascadeLink
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
from bitpath.rtl.aie_ml_v2.mac_lane import MacLane
from bitpath.rtl.aie_ml_v2.mx_convert import MxConvert
from bitpath.rtl.aie_ml_v2.product_sum import ProductSum
from bitpath.rtl.aie_ml_v2.srs import Srs
from bitpath.rtl.aie_ml_v2.ups import Ups
from bitpath.rtl.aie_ml_v2.vector_mac import VectorMac
from bitpath.rtl.common.fp32_lanes import Fp32Lanes, Fp32LanesConfig
from bitpath.rtl.common.reciprocal import Reciprocal
from bitpath.rtl.common.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.rtl.common.square_root import SquareRoot
from bitpath.rtl.tensix.config import (
    ConversionConfig,
    Dot16Config,
    MatrixUnitConfig,
    MultiplierConfig,
    TensixEngineConfig,
)
from bitpath.rtl.tensix.dot16 import Dot16
from bitpath.rtl.tensix.fidelity_multiplier import FidelityMultiplier
from bitpath.rtl.tensix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.packer import Packer
from bitpath.rtl.tensix.tensix_engine import TensixEngine
from bitpath.rtl.tensix.unpacker import Unpacker
from bitpath.rtl.trainium3.bf16_pe import Bf16Pe
from bitpath.rtl.trainium3.config import ArrayConfig, DotConfig, EngineConfig, MapConfig, PsumConfig
from bitpath.rtl.trainium3.element_map import ElementMap
from bitpath.rtl.trainium3.exponential import Exponential
from bitpath.rtl.trainium3.psum import Psum
from bitpath.rtl.trainium3.quad_mx_dot import QuadMxDot
from bitpath.rtl.trainium3.quad_mx_pe import QuadMxPe
from bitpath.rtl.trainium3.quantize_mx import QuantizeMx
from bitpath.rtl.trainium3.rmsnorm_quant import RmsNormQuant
from bitpath.rtl.trainium3.stochastic_psum import StochasticPsum
from bitpath.rtl.trainium3.systolic_array import SystolicArray
from bitpath.rtl.trainium3.tensor_engine import TensorEngine
from bitpath.rtl.trainium3.vector_config import (
    ExponentialConfig,
    MultiplyAddConfig,
    QuantizeMxConfig,
    RmsNormQuantConfig,
    XorwowConfig,
)
from bitpath.rtl.trainium3.xorwow import Xorwow


@dataclass(frozen=True)
class Unit:
    """A component that stands by itself.

    Attributes
    ----------
    name : on the command line, of its bench, and of its Verilog module.
    config_type : the frozen dataclass that it takes; its defaults are a small instance.
    build : makes the component from its configuration.
    summary : one line for listings.
    """

    name: str
    config_type: type
    build: Callable[[Any], wiring.Component]
    summary: str


UNITS = {
    unit.name: unit
    for unit in (
        Unit("quad_mx_dot", DotConfig, QuadMxDot, "Trainium3: four FP8 products, two scales, one partial sum"),
        Unit("quad_mx_pe", DotConfig, QuadMxPe, "Trainium3: the dot product with its stationary operands held twice"),
        Unit("element_map", MapConfig, ElementMap, "Trainium3: FP4 elements to FP8 through the programmable map"),
        Unit(
            "systolic_array", ArrayConfig, SystolicArray, "Trainium3: rows x cols PEs, skewed and de-skewed, row tiling"
        ),
        Unit("psum", PsumConfig, Psum, "Trainium3: PSUM banks, FP32 or BF16, overwrite or accumulate"),
        Unit("tensor_engine", EngineConfig, TensorEngine, "Trainium3: array, operand memory, PSUM and sequencers"),
        Unit(
            "bf16_pe",
            MultiplyAddConfig,
            Bf16Pe,
            "Trainium3: BF16 or FP16 multiply-add, its stationary element held twice",
        ),
        Unit(
            "rmsnorm_quant",
            RmsNormQuantConfig,
            RmsNormQuant,
            "Trainium3: RMSNorm-Quant, rows in lanes: BF16 in, FP8 and scales out",
        ),
        Unit(
            "reciprocal",
            Fp32LanesConfig,
            partial(Fp32Lanes, Reciprocal),
            "FP32: lanes of 1 / x, a bit a cycle",
        ),
        Unit(
            "square_root",
            Fp32LanesConfig,
            partial(Fp32Lanes, SquareRoot),
            "FP32: lanes of sqrt(x), a bit a cycle",
        ),
        Unit(
            "reciprocal_square_root",
            Fp32LanesConfig,
            partial(Fp32Lanes, ReciprocalSquareRoot),
            "FP32: lanes of 1 / sqrt(x), a bit a cycle",
        ),
        Unit(
            "quantize_mx",
            QuantizeMxConfig,
            QuantizeMx,
            "Trainium3: 8 partitions x 4 elements to an MXFP8 block a cycle",
        ),
        Unit("xorwow", XorwowConfig, Xorwow, "Trainium3: four XORWOW states a lane, loaded and stored"),
        Unit(
            "stochastic_psum",
            PsumConfig,
            StochasticPsum,
            "Trainium3: PSUM with the generators of its stochastic rounding",
        ),
        Unit("exponential", ExponentialConfig, Exponential, "Trainium3: exp(src - max) with its running sum, a lane"),
        Unit("fidelity_multiplier", MultiplierConfig, FidelityMultiplier, "Tensix: 7x5-bit multiplier and its fields"),
        Unit("dot16", Dot16Config, Dot16, "Tensix: 16 products, added to a Dst word; the sum of two operands"),
        Unit("unpacker", ConversionConfig, Unpacker, "Tensix: a row of 16 datums from L1 to SrcA, SrcB or Dst"),
        Unit("packer", ConversionConfig, Packer, "Tensix: a row of 16 words of Dst to L1"),
        Unit("matrix_unit", MatrixUnitConfig, MatrixUnit, "Tensix: SrcA, SrcB and Dst, rows x cols dot products"),
        Unit("tensix_engine", TensixEngineConfig, TensixEngine, "Tensix: Matrix unit, unpackers, packer and memories"),
        Unit(
            "post_add",
            PostAddConfig,
            ProductSum,
            "AIE-ML v2: 16 MX products with their shifts, or integer ones, summed",
        ),
        Unit("mac_lane", MacLaneConfig, MacLane, "AIE-ML v2: a lane's products and two accumulators, in six modes"),
        Unit(
            "vector_mac", VectorMacConfig, VectorMac, "AIE-ML v2: lanes with their accumulators, permute and interlock"
        ),
        Unit("mx_convert", MxConvertConfig, MxConvert, "AIE-ML v2: 16 FP32 accumulators to an MX9, MX6 or MX4 block"),
        Unit("srs", IntegerLanesConfig, Srs, "AIE-ML v2: accumulator lanes, shifted, rounded, saturated, to a vector"),
        Unit("ups", IntegerLanesConfig, Ups, "AIE-ML v2: a vector, saturated and shifted, to accumulator lanes"),
        Unit(
            "cascade_link", CascadeLinkConfig, CascadeLink, "AIE-ML v2: the cascade's two FIFOs between two neighbours"
        ),
        Unit("cascade", CascadeConfig, Cascade, "AIE-ML v2: multiply-accumulates in a chain, K split over them"),
        Unit("aie_engine", AieEngineConfig, AieEngine, "AIE-ML v2: multiply-accumulate, memories and a row sequencer"),
    )
}


def find_unit(name: str) -> Unit:
    """The unit of that name; ValueError names the known ones."""
    if name not in UNITS:
        what = f"unknown unit {name!r}" if name else "no unit named"
        raise ValueError(f"{what}, known are {', '.join(UNITS)}")
    return UNITS[name]
