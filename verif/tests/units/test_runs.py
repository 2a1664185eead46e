"""Benches of units on both simulators: their runs, with least counts of tests and comparisons."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import BLACKHOLE, WORMHOLE, WORMHOLE_DOCUMENTED, StochasticCompare
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.rtl.aie_ml_v2.lanes.layouts import MxWidenConfig, PackConfig
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.rtl.aie_ml_v2.mac.wide_lanes import WideLanesConfig
from bitpath.rtl.aie_ml_v2.scalar.scalar_functions import ScalarFunctionsConfig
from bitpath.rtl.aie_ml_v2.tile.agu import AguConfig
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.tile.fifos import LoadFifoConfig, StoreFifoConfig
from bitpath.rtl.aie_ml_v2.tile.registers import AccumulatorRegistersConfig, VectorRegistersConfig
from bitpath.rtl.aie_ml_v2.tile.stream_port import StreamPortConfig
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.dot.dot_product import DotAccumulatorConfig, DotProductConfig, MultiplyAddConfig
from bitpath.rtl.tensix.core.config import ChipConfig, TensixCoreConfig, UnpackAddressConfig
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig
from bitpath.rtl.tensix.sfpu.layouts import SfpuConfig
from bitpath.rtl.tensix.sfpu.stochastic_round import SfpStochasticRoundConfig
from bitpath.rtl.tensix.stream.counters import CounterConfig
from bitpath.rtl.tensix.stream.expanders import InstructionExpanderConfig, MopExpanderConfig, ReplayExpanderConfig
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig, TurnBufferConfig
from bitpath.rtl.trainium3.core.config import CoreConfig, DmaEngineConfig
from bitpath.rtl.trainium3.dma.dma_cast import DmaCastConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueuesConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWriteConfig
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
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.common.dot.shapes import BF16_SUMS, DOT_PRODUCTS, FP16_SUMS, MULTIPLY_ADDS
from bitpath.verif.kit.testplan import covers


@dataclass(frozen=True)
class Run:
    """A run of a unit's bench.

    Attributes
    ----------
    cases : random cases of each test.
    ran, compared : least tests that run and values that they compare.
    tests : regular expression of test names; None runs all.
    env : further environment variables of the bench.
    deep : True if `make test-deep` has the run and `make test` has not.
    """

    unit: str
    config: Any
    simulator: str
    cases: int
    ran: int
    compared: int
    tests: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 600
    deep: bool = False


PLAIN = replace(AIE_ML_V2.numerics, mx_nan_block=False)
SFPU_BLACKHOLE = SfpuConfig(chip=Chip.BLACKHOLE, numerics=BLACKHOLE.numerics)
EARLIER = WORMHOLE.variant(
    "earlier", stochastic_compare=(StochasticCompare.ALL_BITS, WORMHOLE.sources["stochastic_compare"])
)
"""The comparison of the documents' earlier pages."""
# fmt: off
RUNS = {
    20261129: (
        # Random classes at every pace, special values, pairs of codes, latency, resets; every shape and rule, 0 to 4 stages.
        Run("dot_product", DotProductConfig(numerics=DOT_PRODUCTS[4]), "icarus", 30, 7, 250, tests="^(?!.*exhaustive)"),
        *(Run("dot_product", DotProductConfig(numerics=each, pipeline=PipelineConfig(stages=number % 5)), "verilator", 2000, 7, 8_000, deep=True) for number, each in enumerate(DOT_PRODUCTS)),
        Run("multiply_add", MultiplyAddConfig(numerics=MULTIPLY_ADDS[3]), "verilator", 100, 7, 400),
        *(Run("multiply_add", MultiplyAddConfig(numerics=each, pipeline=PipelineConfig(stages=number)), "verilator", 5000, 6, 20_000, deep=True) for number, each in enumerate(MULTIPLY_ADDS)),
        Run("dot_accumulator", DotAccumulatorConfig(numerics=BF16_SUMS), "icarus", 40, 7, 250),
        Run("dot_accumulator", DotAccumulatorConfig(), "verilator", 5000, 7, 20_000, deep=True),
        Run("dot_accumulator", DotAccumulatorConfig(numerics=FP16_SUMS, clear_adds=False), "verilator", 5000, 7, 20_000, deep=True),
    ),
    20251127: (
        # Directed cases, random ones at every pace, latency, resets.
        Run("pack_unpack", PackConfig(), "icarus", 60, 8, 900),
        Run("pack_unpack", PackConfig(lanes=64), "verilator", 1024, 8, 10_000, deep=True),
        Run("mx_widen", MxWidenConfig(), "icarus", 30, 7, 600),
        Run("mx_widen", MxWidenConfig(blocks=4), "verilator", 5000, 7, 20_000, deep=True),
        Run("mx_widen", MxWidenConfig(numerics=PLAIN), "verilator", 1000, 7, 4_000, deep=True),
        # Every exponent, midpoints, boundaries, random operands at every pace, latency, resets; a million of each function.
        Run("scalar_functions", ScalarFunctionsConfig(), "icarus", 60, 12, 9_726, env={"BITPATH_VOLUME": "300"}),
        Run("scalar_functions", ScalarFunctionsConfig(), "verilator", 5000, 12, 3_000_000, env={"BITPATH_VOLUME": "1000000"}, deep=True),
        Run("scalar_functions", ScalarFunctionsConfig(digits=(25,)), "icarus", 40, 7, 200, tests="random_cases|latency|resets|midpoints", deep=True),
        Run("scalar_functions", ScalarFunctionsConfig(digits=(0, 13, 12, 0)), "icarus", 40, 7, 200, tests="random_cases|latency|resets|midpoints", deep=True),
        Run("scalar_functions", ScalarFunctionsConfig(digits=(5, 5, 5, 5, 5)), "icarus", 40, 7, 200, tests="random_cases|latency|resets|midpoints", deep=True),
    ),
    20260821: (
        # Every code, the limits of every pair, random beats at every pace, latency, resets.
        Run("dma_cast", DmaCastConfig(beat_bytes=8), "verilator", 200, 15, 60_000, tests="every_code/source=[^iu]|limits|ties|boundaries|random|latency|resets", deep=True),
        Run("dma_cast", DmaCastConfig(pipeline=PipelineConfig(stages=1)), "icarus", 60, 6, 260, tests="random|latency|resets"),
        Run("dma_cast", DmaCastConfig(beat_bytes=32), "verilator", 5000, 15, 200_000, env={"BITPATH_EVERY": "1"}, deep=True),
        Run("dma_cast", DmaCastConfig(beat_bytes=16, pipeline=PipelineConfig(stages=1)), "verilator", 5000, 15, 200_000, env={"BITPATH_EVERY": "1"}, deep=True),
        Run("dma_cast", DmaCastConfig(pipeline=PipelineConfig()), "verilator", 5000, 15, 200_000, env={"BITPATH_EVERY": "1"}, deep=True),
        # Beats at every pace, chains, pairs of specials, resets, and known answers where they are.
        Run("read_add_write", ReadAddWriteConfig(beat_bytes=8), "verilator", 300, 12, 2_530, deep=True),
        Run("read_add_write", ReadAddWriteConfig(), "icarus", 60, 10, 450, tests="any_order|chain|resets"),
        Run("read_add_write", ReadAddWriteConfig(address_bits=7), "verilator", 20000, 12, 140_000, deep=True),
        Run("read_add_write", ReadAddWriteConfig(beat_bytes=32, address_bits=7), "verilator", 20000, 12, 140_000, deep=True),
        # Known traces where they are, random schedules, starvation, tokens, rates over 10**5 cycles, resets.
        Run("dma_queues", DmaQueuesConfig(queues=16, depth=4), "verilator", 200, 12, 1_000, deep=True),
        Run("dma_queues", DmaQueuesConfig(), "icarus", 60, 6, 100, tests="brief|resets|starves"),
        Run("dma_queues", DmaQueuesConfig(queues=2, depth=3), "verilator", 3000, 5, 8_000, tests="brief|machine", deep=True),
        Run("dma_queues", DmaQueuesConfig(queues=16, depth=3), "verilator", 3000, 5, 8_000, tests="brief|machine", deep=True),
        # Lengths and places, all casts, additions, random descriptors at every pace, durations, the longest one, resets.
        Run("dma_mover", DmaMoverConfig(beat_bytes=8, address_bits=13), "verilator", 30, 14, 3_000, deep=True),
        Run("dma_mover", DmaMoverConfig(descriptor_cycles=8), "icarus", 16, 7, 150, tests="onto|any|resets"),
        Run("dma_mover", DmaMoverConfig(beat_bytes=32, address_bits=18), "verilator", 2000, 14, 20_000, deep=True),
        Run("dma_mover", DmaMoverConfig(beat_bytes=16, address_bits=9), "verilator", 2000, 14, 20_000, deep=True),
        # The machine's tiles; every number of elements, durations, refused commands, resets, random transposes at every pace.
        Run("dma_transpose", DmaTransposeConfig(columns=8, elements=16, address_bits=16, count_bits=8, row_bits=8, depth=16), "verilator", 30, 8, 2_500, tests="random|count|durations|refused", deep=True),
        Run("dma_transpose", DmaTransposeConfig(), "icarus", 30, 6, 450, tests="pace=both|count|durations|refused|resets"),
        Run("access_walker", WalkConfig(address_bits=18, step_bits=16, num_bits=16), "verilator", 100, 12, 4_000, deep=True),
        Run("access_walker", WalkConfig(), "icarus", 60, 9, 3_900, tests="every_num|reject|random|cycle|resets"),
        Run("access_walker", WalkConfig(checks=False), "icarus", 40, 8, 3_000, deep=True),
        # Addresses as wide as a machine's; runs are cut early, so that nums need not be large.
        Run("dge", DgeConfig(hbm_bits=20, partition_bits=18, step_bits=19, num_bits=4, cut_bits=5), "verilator", 120, 11, 3_000, deep=True),
        Run("dge", DgeConfig(), "icarus", 120, 4, 1_000, tests="directed|cycle|resets|pace=both"),
        # 8 partitions of 64 bytes, 16 of 128 with two DMA ports, and 128 of 4 KiB with sixteen.
        Run("sbuf", SbufConfig(partitions=16, partition_bytes=128, banks=4, readers=1, wait_bits=8), "verilator", 30, 4, 1_000, tests="busy=0.3/pause=0.5|waits|errors|resets", deep=True),
        Run("sbuf", SbufConfig(partitions=4), "icarus", 20, 3, 400, tests="busy=0.3/pause=0.5|errors|waits"),
        Run("sbuf", SbufConfig(partitions=4, tile_readers=2, readers=1, adds=False, checks=False), "icarus", 20, 2, 300, tests="busy=0.3/pause=0.5|waits"),
        Run("sbuf", SbufConfig(partitions=128, partition_bytes=4096, banks=4, wait_bits=16), "verilator", 12, 2, 15_000, tests="busy=0.05/pause=0.5|waits", deep=True),
        Run("scale_fetch", ScaleFetchConfig(), "verilator", 100, 8, 600),
        Run("scale_fetch", ScaleFetchConfig(quadrants=1), "icarus", 60, 8, 300),
        Run("indirect_offsets", IndirectConfig(offset_bits=32, count_bits=12), "verilator", 60, 10, 5_000, deep=True),
        Run("indirect_offsets", IndirectConfig(), "icarus", 16, 7, 900, tests="marked|random|cycle|resets"),
    ),
    20261126: (
        # Corners in every mode and number, every command, random columns at every pace, cycles of a request, resets.
        Run("fp32_passes", PassesConfig(rows=8), "verilator", 200, 16, 1_440, deep=True),
        Run("fp32_passes", PassesConfig(rows=1), "icarus", 40, 11, 160, tests="random|cycles|resets"),
        Run("fp32_passes", PassesConfig(), "verilator", 20000, 16, 80_000, deep=True),
        # Every tag under every pattern, every pattern, random columns at every pace.
        Run("sparse_select", SelectConfig(), "verilator", 100, 12, 800, deep=True),
        Run("sparse_select", SelectConfig(cols=1), "icarus", 25, 12, 500),
        Run("sparse_select", SelectConfig(cols=4), "verilator", 20000, 12, 80_000, deep=True),
        # Tiles of every shape, random tiles at every pace, rates, full banks, refused rows, resets.
        Run("background_transpose", TransposeConfig(), "verilator", 60, 12, 440, deep=True),
        Run("background_transpose", TransposeConfig(size=3), "icarus", 15, 12, 98),
        # Chains of transposes, random programs, late instructions and stalls, long instructions, every field, resets.
        Run("tensor_issue", IssueConfig(cycle_bits=9), "verilator", 150, 10, 750, deep=True),
        Run("tensor_issue", IssueConfig(banks=3, cycle_bits=5), "icarus", 30, 10, 150),
        # Tiles of every mode with and without stalls, every mode behind every other, resets: four outputs a cycle.
        Run("core_pe", CorePeConfig(pipeline=PipelineConfig(stages=2)), "verilator", 150, 16, 7_200, deep=True),
        Run("core_pe", CorePeConfig(sparse=False), "icarus", 60, 7, 1_200, tests="scattered|resets"),
        Run("core_pe", CorePeConfig(), "verilator", 3000, 16, 120_000, deep=True),
        Run("core_pe", CorePeConfig(pipeline=PipelineConfig(stages=1)), "verilator", 3000, 16, 120_000, deep=True),
        Run("core_pe", CorePeConfig(pipeline=PipelineConfig(stages=2)), "verilator", 3000, 16, 120_000, deep=True),
        Run("core_pe", CorePeConfig(pipeline=PipelineConfig(stages=3)), "verilator", 3000, 16, 120_000, deep=True),
        Run("core_pe", CorePeConfig(pipeline=PipelineConfig(stages=4)), "verilator", 3000, 16, 120_000, deep=True),
        # Time of every load, loads beside moving words at every pace, refused beats, resets.
        Run("weight_load", LoadConfig(cols=18), "verilator", 60, 13, 570, deep=True),
        Run("weight_load", LoadConfig(), "icarus", 15, 13, 126),
        Run("weight_load", LoadConfig(rows=4, cols=32), "verilator", 300, 12, 2_400, deep=True),
        Run("dma_engine", DmaEngineConfig(mover=DmaMoverConfig(descriptor_cycles=8)), "icarus", 16, 5, 150, tests="any_pace|resets"),
        Run("dma_engine", DmaEngineConfig(queues=16, depth=4, mover=DmaMoverConfig(beat_bytes=32, address_bits=17)), "verilator", 1000, 10, 20_000, deep=True),
        Run("core", CoreConfig(), "icarus", 4, 2, 500, tests="random_programs.*full_speed|queues", deep=True),
        Run("core", CoreConfig(size=8, partition_bytes=512, hbm_bytes=16384, step_bits=10, num_bits=8), "verilator", 100, 15, 10_000, deep=True),
        Run("core", CoreConfig(size=16, partition_bytes=512, banks=4, hbm_bytes=16384, step_bits=10, num_bits=8), "verilator", 100, 15, 10_000, seconds=1800, deep=True),
        Run("core", CoreConfig(size=32, partition_bytes=512, hbm_bytes=16384, step_bits=10, num_bits=8, dot=CorePeConfig(sparse=False, pipeline=PipelineConfig(stages=1))), "verilator", 10, 17, 10_000, seconds=3600, deep=True),
    ),
    20261127: (
        Run("agu", AguConfig(), "icarus", 400, 6, 1_900),
        Run("agu", AguConfig(address_bits=4), "verilator", 2000, 5, 8_000, deep=True),
        Run("data_memory", DataMemoryConfig(modules=1), "icarus", 60, 4, 400, tests="busy=0.3/pause=0.4|stalls|fairness|resets"),
        Run("data_memory", DataMemoryConfig(modules=1, round_robin=True), "icarus", 60, 4, 400, tests="busy=0.3/pause=0.4|stalls|fairness|resets"),
        Run("data_memory", DataMemoryConfig(round_robin=True), "verilator", 1000, 10, 8_000, deep=True),
        Run("data_memory", DataMemoryConfig(modules=4, pairs=1, words=8), "verilator", 1000, 10, 8_000, deep=True),
        Run("vector_registers", VectorRegistersConfig(pairs=1, w_bits=8), "icarus", 16, 4, 1_300),
        Run("vector_registers", VectorRegistersConfig(pairs=6, w_bits=256), "verilator", 200, 4, 2_000, deep=True),
        Run("accumulator_registers", AccumulatorRegistersConfig(), "icarus", 400, 4, 2_500),
        Run("accumulator_registers", AccumulatorRegistersConfig(accumulators=8, bm_bits=512), "verilator", 200, 4, 2_000, deep=True),
        Run("load_fifo", LoadFifoConfig(latency=2), "icarus", 12, 5, 60),
        Run("load_fifo", LoadFifoConfig(), "verilator", 400, 5, 1_000, deep=True),
        Run("store_fifo", StoreFifoConfig(latency=1, late=1), "icarus", 12, 5, 60),
        Run("store_fifo", StoreFifoConfig(), "verilator", 400, 5, 1_000, deep=True),
        Run("stream_port", StreamPortConfig(), "icarus", 200, 5, 200),
        Run("stream_port", StreamPortConfig(inputs=2), "icarus", 1000, 5, 1_000),
        Run("stream_port", StreamPortConfig(inputs=2, in_words=1, out_words=3), "icarus", 200, 4, 200),
        # Samples of the sweep, corners, every kind at every pace, latency, resets; then every operand.
        Run("float_narrow", FloatLanesConfig(lanes=2), "icarus", 20, 9, 1_060),
        Run("float_narrow", FloatLanesConfig(lanes=32), "verilator", 2000, 9, 29_875, env={"BITPATH_EVERY": "1"}, deep=True),
        Run("float_widen", FloatLanesConfig(lanes=2), "icarus", 20, 8, 116),
        Run("float_widen", FloatLanesConfig(lanes=32), "verilator", 2000, 8, 12_096, env={"BITPATH_EVERY": "1"}, deep=True),
        Run("float_floor", FloatLanesConfig(lanes=2), "icarus", 20, 8, 143),
        Run("float_floor", FloatLanesConfig(lanes=32), "verilator", 2000, 8, 22_336, env={"BITPATH_EVERY": "1"}, deep=True),
        Run("fix_float", FloatLanesConfig(lanes=2), "icarus", 20, 9, 117),
        Run("fix_float", FloatLanesConfig(lanes=32), "verilator", 2000, 9, 8_125, env={"BITPATH_EVERY": "1"}, deep=True),
        Run("float_fix", FloatLanesConfig(lanes=2), "icarus", 20, 9, 124),
        Run("float_fix", FloatLanesConfig(lanes=32), "verilator", 2000, 9, 8_625, env={"BITPATH_EVERY": "1"}, deep=True),
        # A pair of INT8 and INT16, and one of all modes: those with 32 bits between those with 64.
        Run("wide_lanes", WideLanesConfig(), "verilator", 40, 6, 1_000),
        Run("wide_lanes", WideLanesConfig(modes=tuple(MacMode)), "verilator", 2000, 6, 27_000, deep=True),
    ),
    20261128: (
        Run("turn_buffer", TurnBufferConfig(rows=4), "verilator", 100, 7, 844),
        Run("turn_buffer", TurnBufferConfig(), "icarus", 46, 7, 3_376),
        Run("turn_buffer", TurnBufferConfig(), "verilator", 100, 7, 3_376, deep=True),
        Run("turn_buffer", TurnBufferConfig(rows=2), "verilator", 100, 7, 1_688, deep=True),
        Run("turn_buffer", TurnBufferConfig(rows=8), "verilator", 100, 7, 422, deep=True),
        Run("tilise_address", ConversionConfig(), "verilator", 200, 6, 10_000, deep=True),
        Run("tilise_address", ConversionConfig(numerics=BLACKHOLE.numerics), "verilator", 200, 6, 10_000),
        Run("tilise_address", ConversionConfig(), "icarus", 2000, 6, 50_000, deep=True),
        Run("tilise_address", ConversionConfig(numerics=BLACKHOLE.numerics), "icarus", 2000, 6, 50_000, deep=True),
        Run("mop_expander", MopExpanderConfig(), "verilator", 200, 7, 4_000, tests="^(?!.*the_longest)"),
        Run("mop_expander", MopExpanderConfig(), "verilator", 5000, 7, 4_000, deep=True),
        Run("replay_expander", ReplayExpanderConfig(), "verilator", 200, 7, 9_000, tests="^(?!.*the_longest)"),
        Run("replay_expander", ReplayExpanderConfig(), "verilator", 5000, 7, 9_000, deep=True),
        Run("instruction_expander", InstructionExpanderConfig(), "verilator", 200, 8, 3_000, tests="^(?!.*the_longest)"),
        Run("instruction_expander", InstructionExpanderConfig(), "verilator", 5000, 8, 3_000, deep=True),
        Run("rwc", CounterConfig(), "verilator", 500, 5, 1_500),
        Run("rwc", CounterConfig(), "verilator", 20000, 5, 40_000, deep=True),
        Run("rwc", CounterConfig(chip=Chip.BLACKHOLE), "verilator", 20000, 5, 40_000, deep=True),
        Run("adc", CounterConfig(), "verilator", 500, 5, 1_800),
        Run("adc", CounterConfig(), "verilator", 20000, 5, 40_000, deep=True),
        Run("adc", CounterConfig(chip=Chip.BLACKHOLE), "verilator", 20000, 5, 40_000, deep=True),
        Run("decode", ChipConfig(), "icarus", 30, 5, 3_000),
        Run("decode", ChipConfig(), "verilator", 3000, 5, 3_000, deep=True),
        Run("decode", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 5, 3_000, deep=True),
        Run("config_file", ChipConfig(), "icarus", 30, 3, 2_000),
        Run("config_file", ChipConfig(), "verilator", 3000, 3, 2_000, deep=True),
        Run("config_file", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 3, 2_000, deep=True),
        Run("wait_gate", ChipConfig(), "icarus", 150, 4, 2_000),
        Run("wait_gate", ChipConfig(), "verilator", 3000, 4, 2_000, deep=True),
        Run("wait_gate", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 4, 2_000, deep=True),
        Run("matrix_operands", ChipConfig(), "icarus", 30, 2, 500),
        Run("matrix_operands", ChipConfig(), "verilator", 3000, 2, 500, deep=True),
        Run("matrix_operands", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 2, 500, deep=True),
        Run("move_operands", ChipConfig(), "icarus", 30, 2, 2_000),
        Run("move_operands", ChipConfig(), "verilator", 3000, 2, 2_000, deep=True),
        Run("move_operands", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 2, 2_000, deep=True),
        Run("unpack_address", UnpackAddressConfig(), "icarus", 30, 14, 400),
        Run("unpack_address", UnpackAddressConfig(), "verilator", 3000, 14, 400, deep=True),
        Run("unpack_address", UnpackAddressConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 14, 400, deep=True),
        Run("pack_address", ChipConfig(), "icarus", 30, 1, 40),
        Run("pack_address", ChipConfig(), "verilator", 3000, 1, 40, deep=True),
        Run("pack_address", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 1, 40, deep=True),
        Run("vector_operands", ChipConfig(), "icarus", 30, 2, 100),
        Run("vector_operands", ChipConfig(), "verilator", 3000, 2, 3_000, deep=True),
        Run("vector_operands", ChipConfig(chip=Chip.BLACKHOLE), "verilator", 3000, 2, 3_000, deep=True),
        Run("tensix_core", TensixCoreConfig(rows=8, cols=16), "verilator", 8, 17, 1_450_000, seconds=1800, deep=True),
        Run("tensix_core", TensixCoreConfig(chip=Chip.BLACKHOLE, rows=8, cols=16), "verilator", 8, 17, 1_450_000, seconds=1800, deep=True),
        # Places, ties and scales in every mode, chains, every pace, latency, resets. As documented, two tests leave a mode out.
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=3)), "verilator", 300, 51, 5_702),
        Run("gmpool_column", GmpoolColumnConfig(), "icarus", 60, 15, 1_600, tests="argmax|chains|pace=both|latency", deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=1)), "icarus", 60, 15, 1_600, tests="argmax|chains|pace=both|latency", deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=2)), "icarus", 60, 15, 1_600, tests="argmax|chains|pace=both|latency", deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=3)), "icarus", 60, 15, 1_600, tests="argmax|chains|pace=both|latency", deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=4)), "icarus", 60, 15, 1_600, tests="argmax|chains|pace=both|latency", deep=True),
        Run("gmpool_column", GmpoolColumnConfig(), "verilator", 2000, 50, 13_000, deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=1)), "verilator", 2000, 51, 13_000, deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=2)), "verilator", 2000, 51, 13_000, deep=True),
        Run("gmpool_column", GmpoolColumnConfig(pipeline=PipelineConfig(stages=4)), "verilator", 2000, 51, 13_000, deep=True),
        Run("gmpool_column", GmpoolColumnConfig(numerics=WORMHOLE_DOCUMENTED.numerics, pipeline=PipelineConfig(stages=2)), "verilator", 1000, 49, 9_000, deep=True),
        # Corners, every discarded value, seeds, 10,000 steps, every pace, latency, resets; the earlier comparison.
        Run("sfp_stochastic_round", SfpStochasticRoundConfig(), "verilator", 300, 13, 17_200, deep=True),
        Run("sfp_stochastic_round", SfpStochasticRoundConfig(numerics=BLACKHOLE.numerics), "verilator", 300, 13, 17_200),
        Run("sfp_stochastic_round", SfpStochasticRoundConfig(numerics=BLACKHOLE.numerics), "icarus", 50, 10, 500, tests="^(?!.*(every_discarded|edges))", env={"BITPATH_SEQUENCE": "300"}, deep=True),
        Run("sfp_stochastic_round", SfpStochasticRoundConfig(numerics=EARLIER.numerics), "verilator", 2000, 13, 20_000, deep=True),
        # Every instruction with every modifier, related operands, accesses, programs, every pair, seeds, resets.
        Run("sfpu_lane", SfpuConfig(), "verilator", 500, 7, 900),
        Run("sfpu_lane", SFPU_BLACKHOLE, "verilator", 500, 7, 1_000),
        Run("sfpu_lane", SFPU_BLACKHOLE, "icarus", 10, 7, 500, deep=True),
        Run("sfpu_lane", SfpuConfig(numerics=WORMHOLE_DOCUMENTED.numerics), "verilator", 20_000, 7, 30_000, deep=True),
        Run("sfpu_lane", SFPU_BLACKHOLE, "verilator", 20_000, 7, 30_000, deep=True),
        Run("sfpu", SfpuConfig(), "verilator", 300, 27, 1_200, deep=True),
        Run("sfpu", SFPU_BLACKHOLE, "verilator", 300, 26, 1_500),
        Run("sfpu", SfpuConfig(), "verilator", 10_000, 27, 10_000, deep=True),
        Run("sfpu", SFPU_BLACKHOLE, "verilator", 10_000, 26, 10_000, deep=True),
    ),
}
"""Runs by the seed of all random choices."""
# fmt: on


@covers("config_file.registers")
@covers("data_memory.fairness")
@covers("decode.fields")
@covers("float_floor.sweep")
@covers("float_narrow.sweep")
@covers("float_widen.sweep")
@covers("matrix_operands.products")
@covers("matrix_operands.zeroed")
@covers("move_operands.changes")
@covers("move_operands.moves")
@covers("pack_address.stores")
@covers("scalar_functions.volume")
@covers("tensix_core.products")
@covers("unpack_address.last_bytes")
@covers("unpack_address.loads")
@covers("wait_gate.instructions")
@covers(
    "sbuf.sizes",
    "Quadrants, groups and rows are scaled",
    "8 partitions of 64 bytes, 16 of 128 with two DMA ports, and 128 of 4 KiB with sixteen",
)
@covers(
    "wide_lanes.configurations",
    "A lane must not leave out hardware that a supported mode needs",
    "A pair of INT8 and INT16, and one of all modes",
)
@pytest.mark.simulator
@pytest.mark.parametrize(
    ("seed", "run"),
    [
        pytest.param(seed, run, id=f"{run.unit}-{run.simulator}-{number}", marks=[pytest.mark.deep] * run.deep)
        for seed, runs in RUNS.items()
        for number, run in enumerate(runs)
    ],
)
def test_run(seed, run):
    run_bench(
        run.unit,
        run.config,
        run.simulator,
        cases=run.cases,
        seed=seed,
        tests=run.tests,
        env=run.env,
        min_tests=run.ran,
        min_compared=run.compared,
        timeout=run.seconds,
    )
