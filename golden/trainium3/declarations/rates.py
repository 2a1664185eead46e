"""Rates of the engines that run RMSNorm-Quant, and the latencies that the vendor states for it.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02, Performance Targets (here SPEC);
"Trainium3 Architecture Guide for NKI", 2025-12-01 (here ARCH3), and that of Trainium2 (here ARCH2).
"""

from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.formats.sources import choices, chosen, documented, inferred, preset
from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, DMA_QUEUES, TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.memory import HBM_BYTES, PSUM_PARTITION_BYTES, SBUF_PARTITION_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, PSUM_BANKS

# How the engines of a Trainium3 core work together: the rules that no document states.
#
# Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3); "DMA overview" (here DMA).


TICKS_PER_NS = 2.4
"""Ticks of the timeline in a nanosecond: TensorE's clock (ARCH3)."""

CORE_CHOICES = choices(
    {
        "An engine runs its instructions in order and waits for others at semaphores": documented("ARCH3, DMA"),
        "A result is there when its instruction ends; an engine's pipeline adds nothing": chosen(
            "no document states the latencies of the engines' pipelines"
        ),
        "The generation of a transfer's descriptors is in order for each DGE, and takes GpSimd's time where software does it": chosen(
            "ARCH2 places a DGE behind two sequencers; whether one generates for two transfers at once is not said"
        ),
        "Conflicts in the memories take no time": chosen("ARCH1, ARCH2 name them without their cost"),
    }
)
"""Rules that no field switches."""


# Rates of a NeuronCore-v4: clocks, widths, memories, and the cycles of ScalarE's, VectorE's and GpSimd's instructions.
#
# Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2026-08 (here ARCH3), those of Trainium2 (here ARCH2)
# and Trainium1 (here ARCH1); the cost sections of the ``nki.isa`` page, 2025-10, for NeuronCore-v2 (here COST); "DMA overview"
# (here DMA) and "DMA bandwidth guide" (here BW) of the NKI guides.


ROWS, COLUMNS = PARTITIONS, 128
"""PEs of the array; a row is a partition of SBUF, a column one of PSUM."""


@dataclass(frozen=True, kw_only=True)
class CoreRates:
    """Numbers that give the rates of a core and the cycles of its instructions.

    Attributes
    ----------
    tensor_mhz, vector_mhz, engine_mhz : clocks of TensorE; of VectorE; of ScalarE, GpSimd and the DMA engines' bus.
    mx_products, double_row_products, dense_products : products of a PE and cycle.
    fp32_passes, fp32_onezero_passes : passes of an FP32 matmul; where one operand holds 0 and 1 only.
    mx_inputs, dense_inputs, sparse_inputs : elements that a row takes in a cycle, (moving, stationary).
    sparse_ratios : dense elements for each kept one.
    narrow_bytes : sizes of the floats that are narrow.
    vector_modes : VectorE's instructions with one tensor that have performance modes; () for all.
    vector_narrow, vector_mode, vector_wide : elements of a lane and cycle on VectorE: where all are narrow floats that lie in
        SBUF without stride, narrow floats elsewhere, and otherwise.
    vector_pair : elements of a lane and cycle where an instruction has two tensors.
    exponential : elements of a lane and cycle of VectorE's exponential.
    scalar_narrow, scalar_wide : elements of a lane and cycle on ScalarE: where all are narrow floats, and otherwise.
    gpsimd : elements of a lane and cycle on GpSimd.
    halves : whether 16-bit data halve the instructions that COST names.
    background : whether a transpose runs beside another instruction of TensorE.
    read_add_write : whether a DMA adds to SBUF at the rate of a copy.
    fp32_operations : FP32 operations a cycle of VectorE and of ScalarE.
    random_words : words of 32 bits that a VectorE lane draws in a cycle.
    dma_engines, core_dma_engines, dma_queues : of the chip; of a core; of an engine.
    dma_bus_bytes : bytes a cycle on a DMA engine's bus.
    dma_achieved_gb_per_s : bytes of a DMA engine, in 10**9 a second.
    cores : of a chip.
    hbm_gib, hbm_gb_per_s : memory of the chip; its bytes in 10**9 a second.
    sbuf_kib, psum_kib, psum_banks : of a partition.
    interval : cycles of the shortest instruction of an engine.
    read_register : cycles to read a result out of the reduction registers.
    reciprocal_cycles : cycles of an element of VectorE's reciprocal.
    gpsimd_start : cycles before GpSimd's first element.
    stride_bytes : largest innermost stride at full width.
    """

    tensor_mhz: int
    vector_mhz: int
    engine_mhz: int
    mx_products: int
    double_row_products: int
    dense_products: int
    fp32_passes: int
    fp32_onezero_passes: int
    mx_inputs: tuple[int, int]
    dense_inputs: tuple[int, int]
    sparse_inputs: tuple[int, int]
    sparse_ratios: tuple[int, ...]
    narrow_bytes: tuple[int, ...]
    vector_modes: tuple[str, ...]
    vector_narrow: int
    vector_mode: int
    vector_wide: int
    vector_pair: int
    exponential: int
    scalar_narrow: int
    scalar_wide: int
    gpsimd: int
    halves: bool
    background: bool
    read_add_write: bool
    fp32_operations: int
    random_words: int
    dma_engines: int
    core_dma_engines: int
    dma_queues: int
    dma_bus_bytes: int | Fraction
    dma_achieved_gb_per_s: int
    cores: int
    hbm_gib: int
    hbm_gb_per_s: int
    sbuf_kib: int
    psum_kib: int
    psum_banks: int
    interval: int
    read_register: int
    reciprocal_cycles: int
    gpsimd_start: int
    stride_bytes: int


_WIDTHS = documented("ARCH3, Compute Engine Specifications")
CORE_RATES = preset(
    "trainium3_core_rates",
    CoreRates,
    tensor_mhz=(2400, _WIDTHS),
    vector_mhz=(1200, _WIDTHS),
    engine_mhz=(1200, _WIDTHS),
    mx_products=(4, documented("ARCH3: four times the BF16 rate")),
    double_row_products=(2, documented("ARCH2: twice the BF16 rate")),
    dense_products=(1, documented("ARCH3: 79 TFLOPS of 128 x 128 PEs")),
    fp32_passes=(4, documented("COST: a quarter of the rate; ARCH3: 20 of 79 TFLOPS")),
    fp32_onezero_passes=(2, documented("ISA nc_matmul: twice as fast with an operand of 0 and 1")),
    mx_inputs=((4, 4), inferred("ARCH3: 8 x 128 elements, read as four moving and four stationary")),
    dense_inputs=((1, 1), inferred("ARCH3: 2 x 128 elements, read as one moving and one stationary")),
    sparse_inputs=((4, 1), inferred("ARCH3: 5 x 128 elements, read as four moving and one stationary")),
    sparse_ratios=((4, 3, 2), documented("NeuronCore-v4 architecture: 4:16, 4:12, 4:8, 2:8, 2:4, 1:4, 1:2")),
    narrow_bytes=((1, 2), _WIDTHS),
    vector_modes=((), chosen("ARCH3's table names no instructions; ARCH2 names tensor_copy and tensor_scalar")),
    vector_narrow=(4, _WIDTHS),
    vector_mode=(
        2,
        inferred("ARCH2, performance modes: SBUF and stride 1 are needed; it leaves open PSUM at both ends"),
    ),
    vector_wide=(2, _WIDTHS),
    vector_pair=(2, inferred("COST: 2 N at one element a cycle; ARCH3: 256 elements a cycle")),
    exponential=(
        4,
        documented(
            "ARCH3: four times ScalarE's activation(exp), with no word on dtypes; its table has 256 elements of FP32"
        ),
    ),
    scalar_narrow=(2, _WIDTHS),
    scalar_wide=(1, _WIDTHS),
    gpsimd=(1, _WIDTHS),
    halves=(False, chosen("ARCH3's widths contain COST's halvings")),
    background=(True, documented("ARCH3, Background Transpose")),
    read_add_write=(True, documented("ARCH3, SBUF Read-Add-Write: the throughput of a copy")),
    fp32_operations=(1024, inferred("ARCH3: 1.2 TFLOPS at 1.2 GHz; no document says what makes 1024 a cycle")),
    random_words=(4, documented("ARCH3: four states of a lane, a word of each a cycle")),
    dma_engines=(128, documented("ARCH3")),
    core_dma_engines=(DMA_ENGINES, inferred("ARCH3: 128 for eight cores")),
    dma_queues=(DMA_QUEUES, documented("DMA")),
    dma_bus_bytes=(TRAINIUM3_DMA.numerics.beat_bytes, inferred("DMA: 38.4 GB/s of an engine, at 1.2 GHz")),
    dma_achieved_gb_per_s=(33, documented("DMA, BW")),
    cores=(8, documented("ARCH3")),
    hbm_gib=(HBM_BYTES >> 30, documented("ARCH3")),
    hbm_gb_per_s=(4700, documented("ARCH3: 4.7 TB/s; the product page has 4.9")),
    sbuf_kib=(SBUF_PARTITION_BYTES >> 10, documented("ARCH3")),
    psum_kib=(PSUM_PARTITION_BYTES >> 10, documented("ARCH3")),
    psum_banks=(PSUM_BANKS, documented("ARCH1")),
    interval=(64, documented("COST: roughly 64 cycles")),
    read_register=(64, documented("ARCH1")),
    reciprocal_cycles=(8, documented("COST, of NeuronCore-v2")),
    gpsimd_start=(150, documented("COST, of NeuronCore-v2")),
    stride_bytes=(16, documented("ARCH1: half the rate above 16 bytes; that 16 itself is full rate is chosen")),
)
"""Declared numbers of Trainium3; every other rate is computed from them."""

_WIDTHS2 = documented("ARCH2, Compute Engine Specifications")
TRAINIUM2_CORE_RATES = CORE_RATES.variant(
    "trainium2_core_rates",
    tensor_mhz=(2400, _WIDTHS2),
    vector_mhz=(960, _WIDTHS2),
    engine_mhz=(1200, _WIDTHS2),
    mx_products=(0, documented("ARCH3: MX is new")),
    dense_products=(1, documented("ARCH2: 79 TFLOPS of 128 x 128 PEs")),
    fp32_passes=(4, documented("ARCH2: 20 of 79 TFLOPS")),
    mx_inputs=((0, 0), documented("ARCH3: MX is new")),
    dense_inputs=((1, 1), inferred("ARCH2: 2 x 128 elements, read as one moving and one stationary")),
    sparse_inputs=((4, 1), inferred("ARCH2: 5 x 128 elements, read as four moving and one stationary")),
    narrow_bytes=((2,), documented("ARCH2, performance mode: BF16 and FP16")),
    vector_modes=(("tensor_copy", "tensor_scalar"), documented("ARCH2, performance mode")),
    vector_narrow=(4, documented("ARCH2, performance mode: four times NeuronCore-v2's element a cycle")),
    vector_mode=(2, documented("ARCH2, performance mode: twice")),
    vector_wide=(
        1,
        inferred("ARCH2 lifts named instructions alone; COST: an element a cycle. Its table has 256 for 128 lanes"),
    ),
    vector_pair=(1, documented("COST: 2 N cycles; ARCH2's doubling of BF16 is COST's halving")),
    exponential=(1, chosen("ISA exponential: NeuronCore-v4 and newer, so that no kernel of Trainium2 has it")),
    scalar_narrow=(1, _WIDTHS2),
    scalar_wide=(1, _WIDTHS2),
    gpsimd=(1, inferred("ARCH2's table has no width; ARCH3's, and COST's 150 + N")),
    halves=(True, documented("COST: BF16 halves some instructions")),
    background=(False, documented("ARCH3: background transposes are new")),
    read_add_write=(False, documented("ARCH3: half the rate prior to NeuronCore-v4")),
    fp32_operations=(1024, inferred("ARCH2: 1.0 TFLOPS at 0.96 GHz")),
    random_words=(4, chosen("ARCH3's rate; COST has none")),
    dma_engines=(128, documented("ARCH2")),
    core_dma_engines=(DMA_ENGINES, documented("ARCH2: 16 DMA engines of a core")),
    dma_bus_bytes=(Fraction(68, 3), documented("DMA: 27.2 GB/s of an engine, counted at 1.2 GHz")),
    dma_achieved_gb_per_s=(23, documented("DMA, BW")),
    cores=(8, documented("ARCH2")),
    hbm_gib=(96, documented("ARCH2")),
    hbm_gb_per_s=(3000, documented("ARCH2: 3 TB/s")),
    sbuf_kib=(224, documented("ARCH2")),
    psum_kib=(PSUM_PARTITION_BYTES >> 10, documented("ARCH2")),
)
"""The same numbers of Trainium2."""
TRAINIUM2_COST_RATES = TRAINIUM2_CORE_RATES.variant(
    "trainium2_cost_rates",
    vector_modes=((), documented("COST names no performance modes")),
    vector_narrow=(1, documented("COST: N cycles")),
    vector_mode=(1, documented("COST: N cycles")),
)
"""Trainium2 by COST's formulas as printed."""

CHOICES = choices(
    {
        "An instruction takes max(64, inputs * ceil(N / w)) cycles; two-tensor instructions have w = 2, so N": inferred(
            "COST, for NeuronCore-v2, with ARCH3's widths; ARCH2 doubles two-tensor instructions for 16-bit floats in SBUF"
        ),
        "FP8 has the width of 16-bit floats; of mixed widths the narrower one counts": inferred(
            "ARCH3's table names FP8 beside BF16 and FP16; the mix is chosen"
        ),
        "activation and activate2 take an element a cycle": inferred(
            "ARCH3 names tensor_scalar and tensor_copy alone for ScalarE's mode, and VectorE's exp at four times ScalarE's"
        ),
        "Gathers and scatters take an element a cycle": chosen("no document says"),
        "VectorE's transpose takes max(64, N) cycles": documented("COST"),
    }
)
"""Rules of `engine_cycles` that no field switches."""


@dataclass(frozen=True, kw_only=True)
class FlowRates:
    """Throughput in elements a cycle and clocks of RMSNorm-Quant's engines.

    Attributes
    ----------
    vector_ghz, scalar_ghz, tensor_ghz : clocks.
    dma_gb_per_s : bytes that a core moves, in 10**9 a second.
    dma_start_us : microseconds from a transfer's semaphore to its first byte.
    dma_engines : DMA engines of a core.
    descriptor_us : microseconds of the shortest descriptor.
    gamma_bytes : bytes of the descriptors in which gamma is loaded.
    short_cycles : cycles of an instruction on one number for each partition, and of reading a reduction's register.
    cores : cores that share the rows.
    square_cycles : cycles of ScalarE's activation_reduce, for an element of a partition.
    multiply_cycles : cycles of VectorE's scalar_tensor_tensor, BF16 with FP32.
    maximum_cycles : cycles of VectorE's absolute maximum over BF16.
    quantize_cycles : cycles of VectorE's tensor_scalar, BF16 to FP8.
    broadcast_cycles : cycles of TensorE's matmul by ones, for a column.
    """

    vector_ghz: float
    scalar_ghz: float
    tensor_ghz: float
    dma_gb_per_s: float
    dma_start_us: float
    dma_engines: int
    descriptor_us: float
    gamma_bytes: int
    short_cycles: int
    cores: int
    square_cycles: Fraction
    multiply_cycles: Fraction
    maximum_cycles: Fraction
    quantize_cycles: Fraction
    broadcast_cycles: Fraction


TRAINIUM2 = preset(
    "trainium2_rates",
    FlowRates,
    vector_ghz=(0.96, documented("ARCH2: 0.96 GHz")),
    scalar_ghz=(1.2, documented("ARCH2, ARCH3: 1.2 GHz")),
    tensor_ghz=(2.4, inferred("ARCH2, ARCH3: the peak rates in FP8 and BF16 are those of 128 x 128 PEs at 2.4 GHz")),
    dma_gb_per_s=(362, inferred("ARCH2: the HBM's 2.9 TB/s, shared by eight cores")),
    dma_start_us=(1.3, documented("BW: 1300 ns from the semaphore to the start")),
    dma_engines=(DMA_ENGINES, documented("ARCH2, DMA: 16 of a core")),
    descriptor_us=(0.108, inferred("DMA's figure has its knee at 2485 bytes; BW: 23 bytes a ns")),
    gamma_bytes=(4, inferred("SPEC, Phase 1: several small, 4-byte loads of gamma; that all are so small is inferred")),
    short_cycles=(64, documented("COST: the shortest instruction; ARCH1: reading a register")),
    cores=(2, documented("SPEC, Performance Targets: LNC=2")),
    square_cycles=(Fraction(1), documented("ARCH2: ScalarE, an element of each of 128 partitions a cycle")),
    multiply_cycles=(Fraction(2), inferred("two tensor operands, one of them FP32 in PSUM, at an operand a cycle")),
    maximum_cycles=(Fraction(1), inferred("an element a cycle")),
    quantize_cycles=(Fraction(1), inferred("an element a cycle")),
    broadcast_cycles=(
        Fraction(1),
        documented("the NKI cost model: a matmul takes a cycle for each column of its moving operand"),
    ),
)
"""The machine of SPEC's performance targets."""

TRAINIUM3 = TRAINIUM2.variant(
    "trainium3_rates",
    vector_ghz=(1.2, documented("ARCH3: 1.2 GHz")),
    dma_gb_per_s=(587.5, inferred("ARCH3: the HBM's 4.7 TB/s, shared by eight cores")),
    descriptor_us=(0.075, TRAINIUM3_DMA.sources["descriptor_cycles"]),
    cores=(2, chosen("as in SPEC's targets")),
    square_cycles=(Fraction(1), documented("ARCH3: ScalarE, 128 elements a cycle where one is FP32")),
    multiply_cycles=(
        Fraction(1),
        inferred(
            "two tensor operands at 256 elements a cycle each; ARCH2 doubles this for 16-bit floats in SBUF alone"
        ),
    ),
    maximum_cycles=(Fraction(1, 4), documented("ARCH3: VectorE, 512 elements of 16 or 8 bits a cycle")),
    quantize_cycles=(Fraction(1, 4), documented("ARCH3: VectorE, 512 elements of 16 or 8 bits a cycle")),
)
"""The same kernel at Trainium3's documented rates, for which no target is published."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A latency that SPEC states, for one batch of `tokens` tokens."""

    tokens: int
    hidden_size: int
    microseconds: float


TARGETS = (
    Target(tokens=2048, hidden_size=8192, microseconds=458.2),
    Target(tokens=32768, hidden_size=8192, microseconds=6287.0),
    Target(tokens=2048, hidden_size=16384, microseconds=866.81),
    Target(tokens=32768, hidden_size=16384, microseconds=13214.4),
)
"""SPEC, Performance Targets: Llama 3.3 70B and Llama 3.1 405B on Trainium2, LNC=2."""
