"""Configurations that units refuse, each in one sentence."""

import re
from dataclasses import replace
from functools import partial

import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.tensor import TRAINIUM3_DOUBLE_ROW, SparseNumerics, TagMap
from bitpath.golden.trainium3.declarations.vector import TRAINIUM2_BF16_PRODUCTS, TRAINIUM3_MATMUL
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import WideLanesConfig
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctionsConfig
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.dma.dma_cast import DmaCastConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.memory.access_walker import WalkConfig
from bitpath.rtl.trainium3.memory.dge import DgeConfig
from bitpath.rtl.trainium3.memory.indirect_offsets import IndirectConfig
from bitpath.rtl.trainium3.memory.sbuf import SbufConfig
from bitpath.rtl.trainium3.memory.scale_fetch import ScaleFetchConfig
from bitpath.rtl.trainium3.tensor.background_transpose import TransposeConfig
from bitpath.rtl.trainium3.tensor.config import CorePeConfig
from bitpath.rtl.trainium3.tensor.fp32_passes import PassesConfig
from bitpath.rtl.trainium3.tensor.sparse_select import SelectConfig
from bitpath.rtl.trainium3.tensor.tensor_issue import IssueConfig
from bitpath.rtl.trainium3.tensor.weight_load import LoadConfig

ONE_PATTERN = SparseNumerics(patterns=((1, 2),), tag_map=TagMap.POSITION)
DIGITS = "scalar functions: digits must be numbers from 0 up with the sum 25"
# fmt: off
OUTSIDE = (
    (PackConfig, "lanes", 0, "must be 1 to"),
    (MxWidenConfig, "blocks", 5, "mx widen: blocks must be 1 to 4"),
    (DmaCastConfig, "beat_bytes", 2, "dma_cast: beat_bytes must be a power of two from 4 to 32"),
    (DmaTransposeConfig, "columns", 16, "dma_transpose: columns must be a power of two from 2 to 8"),
    (DmaTransposeConfig, "elements", 2, "dma_transpose: elements must be a power of two from 4 to 16"),
    (DmaTransposeConfig, "address_bits", 41, "dma_transpose: address_bits must be 4 to 40"),
    (DmaTransposeConfig, "count_bits", 0, "dma_transpose: count_bits must be 1 to 16"),
    (DmaTransposeConfig, "row_bits", 17, "dma_transpose: row_bits must be 1 to 16"),
    (DmaTransposeConfig, "depth", 1, "dma_transpose: depth must be 2 to 64"),
    (WalkConfig, "address_bits", 2, "access_walker: address_bits must be 3 to 24"),
    (WalkConfig, "step_bits", 17, "access_walker: step_bits must be 2 to 16"),
    (WalkConfig, "num_bits", 0, "access_walker: num_bits must be 1 to 16"),
    (WalkConfig, "tag_bits", 257, "access_walker: tag_bits must be 0 to 256"),
    (ScaleFetchConfig, "quadrants", 5, "scale_fetch: quadrants must be 1 to 4"),
    (IndirectConfig, "offset_bits", 33, "indirect_offsets: offset_bits must be 1 to 32"),
    (IndirectConfig, "count_bits", 0, "indirect_offsets: count_bits must be 1 to 16"),
    (DgeConfig, "hbm_bits", 39, "dge: hbm_bits must be 3 to 38"),
    (DgeConfig, "partition_bits", 19, "dge: partition_bits must be 3 to 18"),
    (DgeConfig, "step_bits", 39, "dge: step_bits must be 2 to 38"),
    (DgeConfig, "num_bits", 19, "dge: num_bits must be 1 to 18"),
    (DgeConfig, "cut_bits", 17, "dge: cut_bits must be 2 to 16"),
    (SbufConfig, "partitions", 2, "sbuf: partitions must be a power of two from 4 to 128"),
    (SbufConfig, "partition_bytes", 8192, "sbuf: partition_bytes must be a power of two from 64 to 4096"),
    (SbufConfig, "banks", 1, "sbuf: banks must be a power of two from 2 to 4"),
    (SbufConfig, "engines", 7, "sbuf: engines must be 1 to 6"),
    (SbufConfig, "readers", 5, "sbuf: readers must be 0 to 4"),
    (SbufConfig, "wait_bits", 0, "sbuf: wait_bits must be 1 to 32"),
    (PassesConfig, "rows", 0, "fp32_passes: rows must be 1 to 128"),
    (PassesConfig, "rows", 129, "fp32_passes: rows must be 1 to 128"),
    (IssueConfig, "banks", 9, "tensor_issue: banks must be 1 to 8"),
    (IssueConfig, "cycle_bits", 0, "tensor_issue: cycle_bits must be 1 to 16"),
    (IssueConfig, "tag_bits", 33, "tensor_issue: tag_bits must be 1 to 32"),
    (TransposeConfig, "size", 1, "background_transpose: size must be 2 to 128"),
    (TransposeConfig, "size", 129, "background_transpose: size must be 2 to 128"),
    (SelectConfig, "cols", 0, "sparse_select: cols must be 1 to 128"),
    (LoadConfig, "rows", 0, "weight_load: rows must be 1 to 128"),
    (LoadConfig, "cols", 1, "weight_load: cols must be 2 to 128"),
    (LoadConfig, "moving_bits", 1025, "weight_load: moving_bits must be 1 to 1024"),
)
"""Configuration, field, number outside its range, and the sentence before the number."""
OTHERS = (
    (partial(DmaCastConfig, pipeline=PipelineConfig(stages=3)), "dma_cast: stages must be 0 to 2, not 3"),
    # Eight words of a mover.
    (partial(DmaMoverConfig, beat_bytes=4, address_bits=4), "dma_mover: address_bits must be 5 to 40, not 4"),
    (partial(DmaMoverConfig, beat_bytes=32, address_bits=7), "dma_mover: address_bits must be 8 to 40, not 7"),
    (partial(ScalarFunctionsConfig, digits=(6, 12, 8)), DIGITS),
    (partial(ScalarFunctionsConfig, digits=(26, -1)), DIGITS),
    (partial(ScalarFunctionsConfig, digits=()), DIGITS),
    (partial(WideLanesConfig, modes=()), "wide_lanes: modes must have MacMode.INT16, not"),
    (partial(WideLanesConfig, modes=(MacMode.INT8, MacMode.MX9)), "wide_lanes: modes must have MacMode.INT16, not"),
    (partial(MacLaneConfig, modes=(MacMode.INT8,), chained=True), "mac_lane: modes must have MacMode.INT16 with chained, not"),
    (partial(SelectConfig, numerics=ONE_PATTERN), "sparse_select: tag_map must be FIELDS, not POSITION"),
    (partial(CorePeConfig, dot=TRAINIUM3_DOUBLE_ROW.numerics), "core_pe: terms must be 4, the elements of an x4 word, not 2"),
    (partial(CorePeConfig, numerics=TRAINIUM2_BF16_PRODUCTS.numerics), "core_pe: product_rounding must be None, not RNE to BF16"),
    (
        partial(CorePeConfig, dot=TRAINIUM3_QUAD_MX.numerics),
        "core_pe: element_formats must be ['E4M3FN', 'E5M2', 'E4M3'], not ['E4M3FN', 'E5M2']",
    ),
    (
        partial(CorePeConfig, numerics=replace(TRAINIUM3_MATMUL.numerics, wide_formats=(FP32,))),
        "core_pe: wide_formats must be ['TF32', 'FP32'], not ['FP32']",
    ),
)
"""Configurations, and the beginnings of the sentences."""
# fmt: on


def test_a_number_outside_its_range_is_refused(subtests):
    for config, field, number, says in OUTSIDE:
        with (
            subtests.test(f"{config.__name__}, {field}"),
            pytest.raises(ValueError, match=f"{re.escape(says)}.*, not {number}$"),
        ):
            config(**{field: number})


def test_a_configuration_that_does_not_exist_is_refused(subtests):
    for make, says in OTHERS:
        with subtests.test(says), pytest.raises(ValueError, match=f"^{re.escape(says)}"):
            make()
