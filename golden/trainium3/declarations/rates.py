"""Rates of the engines that run RMSNorm-Quant, and the latencies that the vendor states for it.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02, Performance Targets (here SPEC);
"Trainium3 Architecture Guide for NKI", 2025-12-01 (here ARCH3), and that of Trainium2 (here ARCH2).
"""

from dataclasses import dataclass
from fractions import Fraction

from bitpath.golden.formats.presets import preset
from bitpath.golden.formats.sources import chosen, documented, inferred


@dataclass(frozen=True, kw_only=True)
class FlowRates:
    """Throughput in elements a cycle and clocks of RMSNorm-Quant's engines.

    Attributes
    ----------
    vector_ghz, scalar_ghz, tensor_ghz : clocks.
    dma_gb_per_s : bytes that a core moves, in 10**9 a second.
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
