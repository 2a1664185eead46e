"""AWS Trainium3 besides the MX matmul: RMSNorm-Quant, TensorE's other modes, XORWOW and exp, as numerics and limits.

Trainium2's matmul stands beside Trainium3's, as a hypothesis.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02 (here SPEC), and the kernel that it
describes (nki-library, ``rmsnorm_quant.py`` with its constants and test, 2026-04; here RQ); nki-library's quantised MLP,
``mlp_cte_projection.py`` and ``mlp_cte_constants.py`` of 2026 (here MLP); "Trainium3 Architecture Guide
for NKI", 2025-12-01 (here ARCH3); ``nki.isa`` reference pages, NKI 0.3 to 0.5 (here ISA); "What trn1 and trn2 tell us
about the Ozaki frontier", trnsci.dev (here OZAKI).
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, FloatFormat, Rounding
from bitpath.golden.formats.dot import ProductRounding
from bitpath.golden.formats.sources import choices, chosen, documented, inferred, preset

# GpSimd's instructions and the shuffle of partitions: limits, names, and the standing of every rule.
#
# Ref: ``nki.isa`` reference pages, NKI 0.6 (here ISA) and Neuron 2.33 (here ISA07); the vendor's tests of these instructions in
# aws-neuron-sdk, ``nki/test`` (here TEST); "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation, 2026-08
# (here ARCH1).


CORE_PARTITIONS = 16
"""Consecutive SBUF partitions of a GpSimd core (ISA local_gather, nonzero_with_count)."""
INT32_RANGE = range(-(1 << 31), 1 << 31)
"""Numbers that iota, affine_select and nonzero_with_count take (ISA)."""
MAX_AFFINE_PAIRS = 4
"""Most pairs of step and num in a pattern of iota and affine_select (ISA)."""
COMPARISONS = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")
"""Comparisons of affine_select's value with 0 (ISA)."""
UNCHANGED = 255
"""Entry of nc_stream_shuffle's mask that leaves a partition as it is (ISA)."""
RUNS = (1, 2, 4, 8, 16, 32)
"""Elements that local_gather takes at each index (ISA)."""
MAX_LOCAL_INDICES = 4096
"""Most indices of a core in local_gather (ISA)."""
PARTITION_REDUCTIONS = ("add", "average", "max", "bitwise_and", "bitwise_or")
"""Operators of tensor_partition_reduce (ISA)."""
TOPK_SOURCES = range(8, 65536)
"""Numbers of elements that topk takes (ISA)."""
TOPK_MOST = 32767
"""Most results of topk (ISA)."""
GPSIMD_CHOICES = choices(
    {
        "iota and affine_select compute their affine value in INT32, modulo 2**32": inferred(
            "ISA iota: 32-bit integer arithmetic; the wrap-around is a guess"
        ),
        "Steps of iota and affine_select are any INT32": chosen(
            "ISA gives that range for offset and channel_multiplier and none for steps"
        ),
        "iota writes INT32 and UINT32 as the word itself; other dtypes get it through FP32": chosen(
            "ISA iota: the integers are cast to the destination's dtype; the way is not said"
        ),
        "affine_select moves the bits of selected elements where the dtypes are equal, else it casts through FP32": inferred(
            "ISA affine_select: elements of another dtype go through FP32; so those of the same do not"
        ),
        "affine_select rounds its number to FP32, then to the destination's dtype": documented(
            "ISA affine_select: the number is FP32; the roundings are those of every cast"
        ),
        "An entry of nc_stream_shuffle's mask counts partitions from the quadrant's first in src's tile; one that src lacks is an "
        "error, one that dst lacks is not used": chosen("ISA's text counts from the start of each quadrant of 32"),
        "nc_stream_shuffle reads all of src before it writes": chosen("ISA allows dst to be src and gives no order"),
        "local_gather's index is the first element of a run, in elements": inferred(
            "TEST of local_gather multiplies its indices by the run's length beforehand; ISA says partition offsets"
        ),
        "local_gather takes a core's indices down its 16 partitions, then along the columns": documented(
            "ISA local_gather: flattened along the partition dimension first; TEST: column-major order"
        ),
        "A gather beyond the operand's last element is an error": chosen(
            "ISA local_gather: undefined; nc_n_gather: not allowed"
        ),
        "nonzero_with_count reads and writes rows 0, 16, ... 112 of the tile alone": documented(
            "ISA nonzero_with_count"
        ),
        "Indices of nonzero_with_count are modulo 2**32": chosen("ISA makes them INT32 and does not speak of overflow"),
        "For nonzero_with_count NaN and subnormals are nonzero, and zeros of both signs are zero": chosen(
            "ISA compares with 0 by !=; IEEE 754 without flushing"
        ),
        "tensor_partition_reduce computes in FP32 from partition 0 on, each sum rounded, and casts once": chosen(
            "ISA names the operators alone"
        ),
        "tensor_partition_reduce's average is the sum divided by the number of partitions, rounded once more": chosen(
            "ISA names the operator alone"
        ),
        "topk reads 16 partitions as one sequence, down each column, and writes its results in the same order": documented(
            "ISA07 topk; ISA speaks of each partition by itself"
        ),
        "topk's results are in ascending order": documented(
            "ISA topk; ISA07 has an option for sorted results, so the order without it may be open"
        ),
        "topk leaves destination bytes behind the last result": chosen(
            "ISA07: whole columns are written; what the rest of the last one holds is not known"
        ),
        "topk puts NaN above infinity, and of equal numbers the one of the smaller place above": chosen(
            "no document says"
        ),
        "sequence_bounds gives runs of equal neighbours, so a segment number that comes again begins a new segment": documented(
            "TEST of sequence_bounds, its numpy reference"
        ),
        "A segment number below 0 or not whole is an error": chosen("ISA sequence_bounds: not allowed"),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""


MAX_BATCH = 2
"""Largest B of [B, S, H] in nki-library's kernel of RMSNorm-Quant."""
MAX_SEQUENCE = 32768
"""Its largest S."""
MAX_ROWS = MAX_BATCH * MAX_SEQUENCE
"""Most rows of the input, whose major dimensions are collapsed into one: the kernel's limit for [rows, H]."""
MAX_HIDDEN = 16384
"""Largest H."""
ROW_TILE = 128
"""Rows of the collapsed input in a tile: one a partition; the last tile may have fewer."""
COLUMN_TILE = 512
"""Columns of a gamma broadcast: the FP32 numbers of a PSUM bank."""
SCALE_BYTES = 4
"""FP8 elements that the FP32 dequantisation scale takes at the end of a row, lowest byte first."""


class EpsPlacement(Enum):
    """Point at which eps is added in the reciprocal of the root mean square."""

    KERNEL = "kernel"  # 1 / sqrt(mean + eps): the kernel, and SPEC's formula
    GOLDEN = "golden"  # 1 / (sqrt(mean) + eps): SPEC's CPU golden, and the kernel's test


class QuantType(Enum):
    """Source of the quantisation scale."""

    ROW = "row"  # absolute maximum of the row
    STATIC = "static"  # an argument, one scale for each partition


class StaticScaleRow(Enum):
    """Row whose number, mod 128, is the partition of its static scale."""

    INPUT = "input"  # counted from the first row of the collapsed input
    SHARD = "shard"  # counted from the first row of its core's shard


class DtypeMode(Enum):
    """FP8 format of RMSNorm-Quant's result."""

    NON_OCP = "non_ocp"  # float8_e4m3, to 240
    OCP = "ocp"  # float8_e4m3fn, to 448


class SumOrder(Enum):
    """Order and rounding in which the squares of a row are added."""

    SERIAL = "serial"  # in FP32 from the first element on, rounding every sum
    EXACT = "exact"  # the exact sum, rounded once


@dataclass(frozen=True, kw_only=True)
class RmsNormQuantNumerics:
    """Formats, constants and order of RMSNorm-Quant.

    Every instruction reads its operands as ``statistics``, rounds each operation's result to it, and its last result to
    the format of its destination, all RNE.

    Attributes
    ----------
    compute : format of the row between instructions, and of eps.
    statistics : format of arithmetic, of sums and of scales.
    output : format of quantised elements.
    output_range : magnitude to which the absolute maximum is mapped; static quantisation clamps to it.
    min_dequant_scale : smallest dequantisation scale, rounded to ``statistics``; also what ``lower_bound`` must exceed
        to have an effect.
    eps : default of the argument, rounded to ``compute``.
    eps_placement, sum_order, static_scale_row : defaults of the arguments.
    root_rounding : rounding of reciprocal, square root and reciprocal square root, each once from the exact value.
    """

    compute: FloatFormat
    statistics: FloatFormat
    output: FloatFormat
    output_range: int
    min_dequant_scale: Fraction
    eps: Fraction
    eps_placement: EpsPlacement
    sum_order: SumOrder
    static_scale_row: StaticScaleRow
    root_rounding: Rounding


TRAINIUM3_RMSNORM_QUANT = preset(
    "trainium3_rmsnorm_quant",
    RmsNormQuantNumerics,
    compute=(BF16, documented("RQ's constants: BF16 tiles, the one with eps too")),
    statistics=(FP32, documented("ISA: engines compute in FP32; RQ's constants for the scales")),
    output=(E4M3, documented("SPEC: float8_e4m3; that it is the IEEE-like one follows from the range 240")),
    output_range=(240, documented("SPEC, Quantization")),
    min_dequant_scale=(Fraction(1, 10**6), documented("RQ's constants; absent from both of the vendor's goldens")),
    eps=(Fraction(1, 10**6), documented("RQ: the default")),
    eps_placement=(
        EpsPlacement.KERNEL,
        documented("SPEC's formula and RQ; SPEC's CPU golden and RQ's test add eps to the root"),
    ),
    sum_order=(SumOrder.SERIAL, inferred("ISA activation_reduce: its pseudo code adds element after element")),
    static_scale_row=(
        StaticScaleRow.INPUT,
        chosen(
            "no document says; with it sharding changes no byte. Each of RQ's cores counts from its shard's first row"
        ),
    ),
    root_rounding=(
        Rounding.RNE,
        chosen("ISA gives accuracies in words only; one rounding is the result that needs no table"),
    ),
)
"""The kernel's instruction sequence in BF16, with FP32 statistics."""

TRAINIUM3_RMSNORM_QUANT_OCP = TRAINIUM3_RMSNORM_QUANT.variant(
    "trainium3_rmsnorm_quant_ocp",
    output=(E4M3FN, documented("nki-library, rmsnorm_quant of 2026-05: dtype_mode OCP, for Trainium3")),
    output_range=(448, documented("nki-library, rmsnorm_quant of 2026-05: the largest float8_e4m3fn")),
)
"""The same with OCP's FP8."""


@dataclass(frozen=True, kw_only=True)
class MatmulNumerics:
    """One step of TensorE's unscaled matmul: partial sum in, one product, partial sum out.

    Attributes
    ----------
    narrow_formats : formats of elements that may meet each other.
    wide_formats : formats of elements that meet only each other.
    accumulator : format to which product plus partial sum is rounded, with FP32's exponents, at most its fraction bits, and
        an infinity.
    product_rounding : rounding of a product before it is added; None adds it exactly.
    accumulator_rounding : RNE or RTZ, of the sum.
    tf32_rounding : RNE or RTZ, of FP32 operands to TF32, where they are used as such.
    """

    narrow_formats: tuple[FloatFormat, ...]
    wide_formats: tuple[FloatFormat, ...]
    accumulator: FloatFormat
    product_rounding: ProductRounding | None
    accumulator_rounding: Rounding
    tf32_rounding: Rounding

    def __post_init__(self) -> None:
        if not self.accumulator.shortens_fp32:
            raise ValueError(
                "accumulator must have FP32's exponents, at most its fraction bits and an infinity, not be "
                f"{self.accumulator.name}"
            )
        if self.product_rounding is not None and not self.product_rounding.format.shortens_fp32:
            raise ValueError(
                "format of a product must have FP32's exponents, at most its fraction bits and an infinity, not be "
                f"{self.product_rounding.format.name}"
            )
        both = [fmt.name for fmt in self.wide_formats if fmt in self.narrow_formats]
        if both:
            raise ValueError(f"wide_formats must have no format of narrow_formats, not {', '.join(both)}")
        for name in ("accumulator_rounding", "tf32_rounding"):
            if getattr(self, name) not in (Rounding.RNE, Rounding.RTZ):
                raise ValueError(f"{name} must be RNE or RTZ, not {getattr(self, name).name}")


TRAINIUM3_MATMUL = preset(
    "trainium3_matmul",
    MatmulNumerics,
    narrow_formats=(
        (E4M3, E4M3FN, E5M2, E3M4, BF16, FP16),
        documented("ISA nc_matmul: they mix, but for float8_e4m3 with float8_e4m3fn"),
    ),
    wide_formats=((TF32, FP32), documented("ISA nc_matmul: FP32 and TF32 mix only with each other")),
    accumulator=(FP32, documented("ARCH3, BF16 Matmul Results: accumulation within the array is FP32")),
    product_rounding=(
        None,
        chosen(
            "as for the MX modes: one rounding for product and sum; OZAKI's rounding on Trainium2 may not carry over"
        ),
    ),
    accumulator_rounding=(Rounding.RNE, inferred("the device log of the MX modes")),
    tf32_rounding=(Rounding.RNE, chosen("no document says whether FP32 is rounded or truncated to TF32")),
)
"""One exact product, added to the partial sum with one rounding to FP32."""

TRAINIUM2_BF16_PRODUCTS = TRAINIUM3_MATMUL.variant(
    "trainium2_bf16_products",
    narrow_formats=(
        (E4M3, E5M2, E3M4, BF16, FP16),
        documented("ISA nc_matmul: any of these mix; float8_e4m3fn needs NeuronCore-v4, that is Trainium3"),
    ),
    accumulator=(FP32, documented("ISA nc_matmul: accumulation is FP32 inside")),
    product_rounding=(
        ProductRounding(format=BF16, rounding=Rounding.RNE),
        inferred(
            "OZAKI: more BF16 pieces per operand do not make a complex matmul more accurate on Trainium1 and 2; BF16 results "
            "instead of BF16 products fit its errors about as well, and nearest even is a guess"
        ),
    ),
    accumulator_rounding=(Rounding.RNE, chosen("as Trainium3; OZAKI does not separate it from truncation")),
)
"""A hypothesis about Trainium2, not Trainium3: products are rounded to BF16, then added with one rounding to FP32."""


@dataclass(frozen=True, kw_only=True)
class ExponentialNumerics:
    """VectorE's exp(src - max), as a fixed-point algorithm.

    ``t = fp32(src - max)``; NaN gives NaN, +infinity gives infinity, -infinity gives 0. Otherwise, on grids of
    ``2**-fraction_bits`` unless it is said otherwise:

    1. ``u = floor(|t| * L)`` with ``L`` = log2(e) to nearest on the grid of ``2**-log2e_bits``. Where t has a minus sign, -0
       too, all bits of u are inverted, which is ``floor(t * L)`` wherever ``t * L`` is not on the grid. Then
       ``u = n + i * 2**-table_bits + r`` with an integer n, ``0 <= i < 2**table_bits`` and ``0 <= r < 2**-table_bits``.
    2. ``v = floor(r * ln2)``, ln2 to nearest.
    3. ``p = 1 + floor(v + v * v / 2)``, one floor.
    4. ``y = 2**n * floor(T[i] * p)``, on the grid of ``2**-power_bits``, with ``T[i] = 2**(i * 2**-table_bits)`` to nearest.
    5. The result is y, rounded once, RNE, to ``result``, subnormals and infinity included.

    Attributes
    ----------
    fraction_bits, table_bits, log2e_bits, power_bits : as above; ``power_bits`` is ``fraction_bits`` at least.
    result : format of the result before the cast to the destination.
    sum_before_cast : whether the running sum adds results before the cast to the destination (True) or after it.
    """

    fraction_bits: int
    table_bits: int
    log2e_bits: int
    power_bits: int
    result: FloatFormat
    sum_before_cast: bool


TRAINIUM3_EXPONENTIAL = preset(
    "trainium3_exponential",
    ExponentialNumerics,
    fraction_bits=(32, chosen("errors well below an FP32 half ulp: no document states the accuracy")),
    table_bits=(8, chosen("so that a polynomial of degree two suffices")),
    log2e_bits=(38, chosen("so that the largest argument that does not overflow loses no accuracy")),
    power_bits=(51, chosen("the fewest with which every result is that of the exact product")),
    result=(FP32, documented("ISA exponential: FP32 internally")),
    sum_before_cast=(True, chosen("ISA's pseudo code adds dst and does not say whether before or after its rounding")),
)
"""A table of 256 powers and a polynomial of degree two: within 0.6 ulp of FP32."""
TRAINIUM3_EXPONENTIAL_OF_DST = TRAINIUM3_EXPONENTIAL.variant(
    "trainium3_exponential_of_dst",
    sum_before_cast=(
        False,
        inferred("ARCH3's pseudo code to the letter: row_max += dst, whose element is already cast"),
    ),
)
"""The same powers; the running sum adds the elements of the destination, which differ where it is narrower than FP32."""

XORWOW_STATES = 4
"""XORWOW states of a lane; element j of a request comes from state j mod 4."""
GPSIMD_XORWOW_STATES = 1
"""XORWOW states of a partition of GpSimd."""
XORWOW_WORDS = 6
"""uint32 words of a state, in the order x, y, z, w, v, d."""
XORWOW_INCREMENT = 362437
"""Increment of d for every number (Marsaglia 2003)."""

PRESETS = {
    each.name: each
    for each in (
        TRAINIUM3_RMSNORM_QUANT,
        TRAINIUM3_RMSNORM_QUANT_OCP,
        TRAINIUM3_MATMUL,
        TRAINIUM2_BF16_PRODUCTS,
        TRAINIUM3_EXPONENTIAL,
        TRAINIUM3_EXPONENTIAL_OF_DST,
    )
}
"""Presets by name. They are of three numerics dataclasses."""

CHOICES = choices(
    {
        "Engines keep FP32 subnormals; NaN is 0x7FC00000, and 0x7F in float8_e4m3; casts do not saturate": chosen(
            "IEEE 754; ISA range_select says that FP32's minimum becomes -infinity on a cast down"
        ),
        "Maximum and minimum are NaN where an operand is, and order -0 below +0": chosen(
            "IEEE 754-2019 maximum and minimum; no document says"
        ),
        "Activation rounds scale times data, then the sum with bias, which turns -0 into +0 where it is zero": inferred(
            "ISA activation: func(data * scale + bias), in FP32"
        ),
        "ScalarE's exp is VectorE's exponential with a maximum of 0": chosen(
            "ISA's valid ranges speak of piecewise polynomials, whose coefficients are not public"
        ),
        "Gamma goes through a matmul by ones onto a partial sum of +0, so that its -0 becomes +0": inferred(
            "RQ: nc_matmul of ones and gamma, depth 1"
        ),
        "Static quantisation computes x * q + 0, so that -0 becomes +0; it ignores lower_bound": documented(
            "RQ: tensor_scalar multiply, add"
        ),
        "Pre-norm and residual come before the norm: pre_norm_gamma's RMSNorm in BF16, then a sum in FP32 rounded to BF16": inferred(
            "nki-library's torch reference of rmsnorm_quant, 2026-05, for the order; the roundings are those of the other steps"
        ),
        "RMSNorm-Quant takes any major dimensions of at most 65,536 rows together": documented(
            "SPEC: all major dimensions are collapsed into one; the kernel's limit of B at most 2 is for [B, S, H] alone"
        ),
        "Row quantisation of a row with NaN, or of a normalised one with infinity, gives NaN in all elements and the scale": chosen(
            "what the declared operations give"
        ),
        "W8A8 dequantises on VectorE, times the channel's scale, then on ScalarE, times the row's scale onto a bias of 0": documented(
            "MLP: tensor_tensor, then activation, where quantisation is by rows"
        ),
        "Both instructions of W8A8's dequantisation write BF16 tiles unless FP32 is asked for": documented(
            "MLP: the compute dtype is BF16 where the input is quantised"
        ),
        "W8A8's product takes one FP8 element in a PE; with double row also the rest of K below 256, padded to 64": chosen(
            "MLP takes double row for whole 256 elements of K, and single rows for a rest of 128"
        ),
        "W8A8's weights have a scale for each channel, max(FP32(absmax / largest), 1e-6); a code is FP32(w / scale), cast to FP8": chosen(
            "MLP takes converted weights with a scale for each output channel, and does not say how the host makes them"
        ),
        "XORWOW's six words are x, y, z, w, v, d; element j of a request comes from state j mod 4, on GpSimd from its one": chosen(
            "ARCH3 gives four states of six words per lane, one on GpSimd, and no order"
        ),
        "An all-zero XORWOW state is taken as it is: only d moves, by 362437 a number": chosen(
            "Marsaglia excludes it; no document says what the machine does"
        ),
        "Column c of a stochastically rounded PSUM write takes half-word c mod 8 of XORWOW lane c div 8, low half first": chosen(
            "ARCH3 names the generator's use for rounding, nothing describes it"
        ),
        "rand2 is min + (max - min) * (number >> 8) * 2**-24, three operations rounded to FP32": chosen(
            "ISA rand2: uniform between min and max; the map is not described"
        ),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
