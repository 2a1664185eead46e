"""AWS Trainium3: limits of the machine, the presets of its numerics, and the standing of every choice.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01 (here ARCH3); ``nki.isa.nc_matmul_mx``
and ``nki.isa.quantize_mx`` reference pages, NKI 0.3 to 0.5 (here ISA); "NeuronCore-v4 architecture" (here NC4); OCP
Microscaling Formats (MX) 1.0 (here OCP MX); "MXFP matmul" deep dive with its published device log (here DD).
"""

from enum import Enum, IntFlag

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, E8M0, FP32, Rounding
from bitpath.golden.formats.dot import DotNumerics, ScaleNan
from bitpath.golden.formats.sources import choices, chosen, documented, inferred, preset

X4 = 4
"""Elements packed in one x4 word, and products per PE and cycle."""
PARTITIONS = 128
"""Rows of the array, and partitions of SBUF and PSUM."""
QUADRANT = 32
"""Partitions in a quadrant; the partition count of an MX operand is a multiple of it."""
SCALE_PARTITIONS = 8
"""Consecutive partitions that share a scale at one free index: 8 x4 words of 4 elements, 32 in all."""
SCALE_OFFSETS = (0, 4, 8, 12)
"""Partition offsets in a quadrant at which the four scale rows may start."""
MAX_STATIONARY = 128
"""Largest stationary free size M, which must be even."""
MAX_MOVING_FP32 = 512
"""Largest moving free size N with an FP32 destination: one PSUM bank (2 KiB a partition)."""
MAX_MOVING_BF16 = 1024
"""The same with a BF16 destination."""
PSUM_BANKS = 8
"""Banks of PSUM."""
TILE_SIZES = (32, 64, 128)
"""Row sizes that tile_size may name; nc_matmul's column sizes too, while nc_matmul_mx's is always 128."""


class ScaleRule(Enum):
    """How quantize_mx derives a block's scale from E, the largest biased FP32 exponent in it."""

    OCP = "ocp"  # E - emax: floor(log2 amax) - emax, saturating; for programs compiled before NKI 0.5
    NKI05 = "nki05"  # E - (emax - 1): the scale twice as large, from NKI 0.5 on; E2M1 keeps emax


class AccumulateFlag(IntFlag):
    """Bits of the instruction field psum_accumulate_flag."""

    FIRST_OVERWRITE = 1
    LAST = 2
    FIRST_ACCUMULATE = 4


ACCUMULATES = {0: True, 1: False, 2: True, 3: False, 4: True, 6: True}
"""Legal values of psum_accumulate_flag, and whether they add onto PSUM's content; 5 and 7 would begin a group both ways."""


TRAINIUM3_QUAD_MX = preset(
    "trainium3_quad_mx",
    DotNumerics,
    terms=(X4, documented("ARCH3, Quad-MXFP8/MXFP4: four pairs multiplied and summed per PE and cycle")),
    element_formats=(
        (E4M3FN, E5M2),
        documented(
            "ISA nc_matmul_mx: e4m3fn and e5m2, each operand by itself; e2m1 is mapped to FP8 before the PE (NC4)"
        ),
    ),
    scale_format=(E8M0, documented("ISA nc_matmul_mx: E8M0 scales as uint8")),
    accumulator=(FP32, documented("ARCH3, BF16 Matmul Results: accumulation within the array is FP32")),
    align_fraction_bits=(
        None,
        chosen("ARCH3 states FP32 accumulation and no truncation; one of 72 values in DD's log hints at one"),
    ),
    align_rounding=(Rounding.RTZ, chosen("no effect on an exact sum")),
    accumulator_rounding=(
        Rounding.RNE,
        inferred(
            "DD's device log, which prints BF16: 71 of 72 values equal golden with nearest even here and in the BF16 write; the "
            "72nd is one BF16 unit off, which an alignment or a slip in the log would explain"
        ),
    ),
    element_subnormals=(
        True,
        documented("OCP MX 5.3 requires FP8 and FP4 subnormals; the vendor's goldens honour them"),
    ),
    accumulator_subnormals=(True, chosen("no document speaks of flushing FP32 subnormals")),
    scale_nan=(ScaleNan.NAN, documented("OCP MX 5.4: E8M0 255 is NaN; the vendor's golden computes infinity")),
    overflow_to_infinity=(True, chosen("IEEE 754 round to nearest; no document says")),
)
"""The reference: four exact products, scaled, added to the partial sum with one rounding to FP32."""

TRAINIUM3_QUAD_MX_ALIGNED = TRAINIUM3_QUAD_MX.variant(
    "trainium3_quad_mx_aligned",
    align_fraction_bits=(
        16,
        inferred(
            "DD's device log: of the five-term alignments 14 to 18 bits, 16 makes its one odd value likeliest (p = 0.36)"
        ),
    ),
    align_rounding=(
        Rounding.RTZ,
        chosen("truncation is the cheapest hardware, and what other vendors' tensor cores are measured to do"),
    ),
    accumulator_rounding=(Rounding.RTZ, chosen("truncation, as for the alignment")),
)
"""For hardware study: the five terms aligned to the largest exponent, truncated, summed, truncated."""

TRAINIUM3_QUAD_MX_E4M3 = TRAINIUM3_QUAD_MX.variant(
    "trainium3_quad_mx_e4m3",
    element_formats=(
        (E4M3FN,),
        chosen("e4m3fn alone, and e2m1 through the map; the machine takes e5m2 too (ISA nc_matmul_mx)"),
    ),
)
"""For hardware study: the reference for operands that are never E5M2, whose range makes the exact sum twice as wide."""

PRESETS = {each.name: each for each in (TRAINIUM3_QUAD_MX, TRAINIUM3_QUAD_MX_ALIGNED, TRAINIUM3_QUAD_MX_E4M3)}
"""Presets by the names that the command line takes."""

CHOICES = choices(
    {
        "Rows are added in order 0 to P-1, starting from +0; each row tile starts anew": inferred(
            "ARCH3 figures: results flow down a column into PSUM"
        ),
        "NaN results are 0x7FC00000; 0 * infinity and infinity - infinity are NaN": chosen(
            "IEEE 754; documents say only that NaN and infinity propagate"
        ),
        "A zero sum is -0 where every term and the partial sum are -0, else +0": chosen(
            "IEEE 754 rule for round to nearest"
        ),
        "PSUM adds in FP32 with RNE; a BF16 result is rounded a second time, just before the write": documented(
            "ARCH3, BF16 Matmul Results in PSUM; DD's device log: to nearest even, not stochastically (chance 5e-10)"
        ),
        "Stochastic rounding adds 16 given bits below the BF16 fraction and truncates; infinity and NaN pass": chosen(
            "ARCH3 names the mode, nothing describes it"
        ),
        "psum_accumulate_flag overwrites where bit 0 is set, else it accumulates; bit 1 has no effect on values": inferred(
            "ISA nc_matmul_mx, NKI 0.3: the three bits' descriptions"
        ),
        "psum_accumulate_flag with bits 0 and 2 is refused": inferred(
            "ISA nc_matmul_mx, NKI 0.3: the first instruction of a group overwrites or accumulates"
        ),
        "quantize_mx stores max(E - offset, 0) and divides by what it stored, so tiny blocks underflow gradually": chosen(
            "the vendor's goldens disagree below the range; this is the consistent reading"
        ),
        "quantize_mx rounds elements RNE and saturates to the largest finite code, infinity too; NaN becomes +NaN": inferred(
            "the vendor's CPU golden"
        ),
        "quantize_mx to E2M1 turns NaN into +6, the largest code; the block's scale is 2**126, as for infinity": chosen(
            "E2M1 has no NaN and no document says; 6 * 2**126 is beyond FP32, while ml_dtypes' -0 would hide the NaN"
        ),
        "quantize_mx takes E2M1, with an emax of 2 under both scale rules": inferred(
            "nki-library's test utilities; ISA quantize_mx names e5m2 and e4m3fn as destinations"
        ),
        "scale_rule ocp (emax 8 and 15) is for programs compiled before NKI 0.5, and the default here": documented(
            "ISA quantize_mx, NKI 0.3; OCP MX 6.3. No published measurement shows which rule silicon follows"
        ),
        "scale_rule nki05 (emax 7 and 14) is NKI's from 0.5 on": documented(
            "ISA quantize_mx, NKI 0.5; nki-library's test utilities: the compiler's default. Not seen on silicon either"
        ),
    }
)
"""Rules that no field switches; `bitpath numerics` lists them behind the presets."""
