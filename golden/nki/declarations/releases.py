"""Releases of NKI: parameters of the instructions, limits, memories and rules that differ, each with its source.

Each record is the next newer one with changes, so that a fact stands where it begins to hold.

Ref: ``nki.isa`` reference pages (here ISA) at the tags 2.27.0 to 2.32.0 of aws-neuron-sdk, and of 2025-12-01 where a source says
so; pages of Neuron 2.33 (here ISA07), of which this project has read a part; release notes of NKI (here RN).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bitpath.golden.formats.sources import Preset, chosen, documented, preset
from bitpath.golden.trainium3.declarations.engines import ACTIVATION_REDUCTIONS
from bitpath.golden.trainium3.declarations.quad_mx import MAX_MOVING_BF16, MAX_MOVING_FP32, PSUM_BANKS, ScaleRule


@dataclass(frozen=True, kw_only=True)
class Release:
    """Parameters, limits and rules of NKI's instructions in a release.

    Attributes
    ----------
    sdk : the release of the Neuron SDK, its name here.
    nki : the version of NKI.
    parameters : parameters in their order, between spaces, of instructions whose parameters differ from the newest release's;
        None for an instruction that the release lacks.
    spellings : parameters by further keywords, which are written as instruction.keyword.
    fixed : parameters of which the model has one value alone, by instruction.parameter.
    psum_accumulate_flag : default of the matmuls' parameter; None where an element's first matmul overwrites it.
    most_moving : columns of nc_matmul's moving operand on gen4, by bytes of the result's element.
    most_moving_mx : the same of nc_matmul_mx.
    matmul_e4m3fn : whether nc_matmul takes float8_e4m3fn.
    scale_rule : rule of quantize_mx's scales.
    scale_dtypes : dtypes of MX scales.
    activation_reductions : reductions of activation and activation_reduce.
    seed_memories : where rand_set_state's words for VectorE may lie.
    copy_memories : where dma_copy's source may lie.
    has_columns : whether engines take columns by index, ``tensor.indirect``.
    """

    sdk: str
    nki: str
    parameters: Mapping[str, str | None]
    spellings: Mapping[str, str]
    fixed: Mapping[str, Any]
    psum_accumulate_flag: int | None
    most_moving: Mapping[int, int]
    most_moving_mx: Mapping[int, int]
    matmul_e4m3fn: bool
    scale_rule: ScaleRule
    scale_dtypes: tuple[str, ...]
    activation_reductions: tuple[str, ...]
    seed_memories: tuple[str, ...]
    copy_memories: tuple[str, ...]
    has_columns: bool


_BANK = {4: MAX_MOVING_FP32, 2: MAX_MOVING_BF16}
_BANKS = {size: PSUM_BANKS * columns for size, columns in _BANK.items()}
_DMA_MEMORIES = ("sbuf", "private_hbm", "shared_hbm")

_V32: dict[str, str | None] = {
    "nc_matmul": "dst stationary moving is_stationary_onezero is_moving_onezero is_transpose accumulate tile_position tile_size"
    " perf_mode",
    "nc_matmul_mx": "dst stationary moving stationary_scale moving_scale tile_position tile_size accumulate",
    "scalar_tensor_tensor": "dst data op0 operand0 op1 operand1 reverse0 reverse1",
}
_V31 = _V32 | {
    "topk": None,
    "tensor_scalar_reduce": "dst data op0 operand0 reduce_op reduce_res reverse0 reduce_cmd reduce_init",
}
_V30 = _V31 | {"get_nc_sub_version": None}
_V29 = _V30 | {
    "activate2": None,
    "dma_compute": "dst srcs reduce_op scales unique_indices",
    "dma_copy": "dst src oob_mode dge_mode engine",
    "dma_transpose": "dst src axes dge_mode oob_mode",
    "tensor_scalar_reduce": "dst data op0 operand0 reduce_op reduce_res reverse0",
}
_V28 = _V29 | {
    "affine_select": "dst pattern offset channel_multiplier on_true_tile on_false_value cmp_op",
    "dma_compute": "dst srcs scales reduce_op",
    "dma_copy": "dst src dst_rmw_op oob_mode dge_mode unique_indices",
    "nc_matmul": "dst stationary moving is_stationary_onezero is_moving_onezero is_transpose tile_position tile_size perf_mode",
    "nc_matmul_mx": "dst stationary moving stationary_scale moving_scale tile_position tile_size",
    "register_move": "dst imm",
    "sendrecv": "src dst send_to_rank recv_from_rank pipe_id",
}
_V27 = _V28 | {
    "dma_copy": "dst src dst_rmw_op oob_mode dge_mode",
    "dma_transpose": "dst src axes dge_mode",
    "exponential": None,
    "nc_matmul": "dst stationary moving is_stationary_onezero is_moving_onezero is_transpose tile_position tile_size perf_mode"
    " psum_accumulate_flag",
    "nc_matmul_mx": "dst stationary moving stationary_scale moving_scale tile_position tile_size psum_accumulate_flag",
    "nonzero_with_count": None,
}

_V2_33 = preset(
    "2.33",
    Release,
    sdk=("2.33", documented("RN")),
    nki=("0.7", documented("RN")),
    parameters=(
        {},
        documented(
            "ISA07 scalar_tensor_tensor reduces; others ISA at 2.32.0. Older kernels' psum_accumulate_flag stays by keyword"
        ),
    ),
    spellings=({}, documented("ISA")),
    fixed=({}, documented("ISA")),
    psum_accumulate_flag=(None, documented("ISA nc_matmul: accumulate=None, the first write overwrites")),
    most_moving=(_BANKS, documented("ISA nc_matmul: 8 banks of PSUM")),
    most_moving_mx=(_BANKS, documented("ISA nc_matmul_mx: 8 banks of PSUM; ARCH3 still says 512")),
    matmul_e4m3fn=(True, documented("ISA nc_matmul: float8_e4m3fn from NeuronCore-v4 on")),
    scale_rule=(ScaleRule.NKI05, documented("ISA quantize_mx; RN 2.31: a scale two times larger than OCP MX's")),
    scale_dtypes=(("float8_e8m0fnu", "uint8"), documented("ISA nc_matmul_mx and quantize_mx")),
    activation_reductions=(
        ACTIVATION_REDUCTIONS,
        documented(
            "ISA activation: must be nl.add; ARCH3: only Activation2 has others. ISA activation_reduce names add for v2"
        ),
    ),
    seed_memories=(("sbuf",), documented("ISA rand_set_state; ARCH3 says SBUF or PSUM")),
    copy_memories=(_DMA_MEMORIES, documented("RN 2.29: dma_copy reads no PSUM")),
    has_columns=(True, documented("RN 2.31: tensor indirection on compute APIs")),
)
_V2_32 = _V2_33.variant(
    "2.32",
    sdk=("2.32", documented("RN")),
    nki=("0.6", documented("RN")),
    parameters=(_V32, documented("ISA at 2.32.0")),
)
_V2_31 = _V2_32.variant(
    "2.31",
    sdk=("2.31", documented("RN")),
    nki=("0.5", documented("RN")),
    parameters=(_V31, documented("ISA at 2.31.0; RN 2.32: topk, reduce_res of tensor_scalar_reduce")),
)
_V2_30 = _V2_31.variant(
    "2.30",
    sdk=("2.30", documented("RN")),
    nki=("0.4", documented("RN")),
    parameters=(_V30, documented("ISA at 2.30.0")),
    most_moving=(
        {4: _BANKS[4], 2: _BANKS[4]},
        documented("RN 2.31: 8,192 BF16 columns from it on, before 4,096; ISA says 8,192 in all releases"),
    ),
    most_moving_mx=(_BANK, documented("ISA nc_matmul_mx: 512 FP32, 1,024 BF16")),
    scale_rule=(ScaleRule.OCP, documented("ISA quantize_mx, as OCP MX defines; OCP MX 6.3")),
    scale_dtypes=(("uint8",), documented("ISA nc_matmul_mx and quantize_mx")),
    has_columns=(False, documented("RN 2.31")),
)
_V2_29 = _V2_30.variant(
    "2.29",
    sdk=("2.29", documented("RN")),
    nki=("0.3", documented("RN")),
    parameters=(_V29, documented("ISA at 2.29.0; RN 2.30: activate2, oob_mode of dma_compute")),
    matmul_e4m3fn=(False, documented("RN 2.30: from NKI 0.4 on")),
)
_V2_28 = _V2_29.variant(
    "2.28",
    sdk=("2.28", documented("RN")),
    nki=("0.2", documented("RN")),
    parameters=(
        _V28,
        documented("ISA at 2.28.0; RN 2.29: accumulate, engine, the order of dma_compute and affine_select"),
    ),
    fixed=(
        {"dma_copy.dst_rmw_op": None, "dma_copy.unique_indices": True},
        chosen("dma_compute adds; the copy's own addition is not modelled"),
    ),
    spellings=({"register_move.imm": "src"}, documented("RN 2.29: imm became src")),
    seed_memories=(("sbuf", "psum"), documented("ISA rand_set_state at 2.28.0; GpSimd cannot reach PSUM")),
    copy_memories=((*_DMA_MEMORIES, "psum"), documented("RN 2.29: dma_copy no longer reads PSUM")),
)
_V2_27 = _V2_28.variant(
    "2.27",
    sdk=("2.27", documented("RN")),
    nki=("0.2", documented("RN 2.27; its heading says 0.1.0")),
    parameters=(
        _V27,
        documented(
            "ISA of 2025-12-01 has psum_accumulate_flag, ISA at 2.27.0 speaks of it and leaves it out of the signatures; RN 2.28:"
            " exponential, nonzero_with_count, oob_mode of dma_transpose"
        ),
    ),
    spellings=(
        {
            "nc_matmul.is_moving_zero": "is_moving_onezero",
            "nc_matmul.psum_accumulate_flags": "psum_accumulate_flag",
            "register_move.imm": "src",
        },
        documented("RN 2.27: is_moving_zero; ARCH3: psum_accumulate_flags"),
    ),
    psum_accumulate_flag=(
        3,
        documented(
            "ISA of 2025-12-01: each call overwrites; RN 2.28: nc_matmul's parameter had no effect on execution"
        ),
    ),
)

RELEASES: Mapping[str, Preset[Release]] = {
    each.name: each for each in (_V2_27, _V2_28, _V2_29, _V2_30, _V2_31, _V2_32, _V2_33)
}
"""Releases by name, the oldest first."""
NEWEST = _V2_33.name
"""The newest release whose documents this project has read."""
