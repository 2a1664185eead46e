"""AMD AIE-ML v2: numerics of the vector unit that documents leave open, the presets, and the evidence for every choice.

The references are those of :mod:`bitpath.golden.aie_ml_v2.declarations.codes`.
"""

from dataclasses import dataclass
from enum import Enum

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.sources import chosen, documented, inferred, measured, preset


class Mx4Path(Enum):
    """As which other format MX4 is multiplied."""

    MX6 = "mx6"  # codes times four in the registers of MX6; one cycle
    MX9 = "mx9"  # codes times 32; two cycles


@dataclass(frozen=True, kw_only=True)
class AieNumerics:
    """Numerics of conversions to MX and of the multiply-accumulate, and one choice of its cycles.

    A lane's terms are its products (floats) or the sum of its block pair (MX). Each has an exponent code p before it is
    computed: with biased exponents, at least 1 for floats, ``ea + eb + 1`` rebased to 127, for accumulators ``e + 128``.
    Terms and accumulators are rounded to the grid ``2**(largest p - 255 - align_fraction_bits)``, added exactly, and
    the sum is rounded once to FP32.

    Attributes
    ----------
    mx_flush : FP32 subnormals become zeros before they are converted to MX.
    mx_bump : a pair whose rounded code leaves the range takes the next higher exponent, of 254 at most: its shift bit is
        cleared, or the block's exponent grows by one (else the code is saturated). A block without shifts does so as one.
    mx_min_code : conversion may make the most negative code.
    mx_nan_block : exponent byte 255 makes a block NaN; else 255 is an ordinary exponent.
    mx_lossless_shift : products keep the bits that sub-tile shifts would lose; else they are floored. MX4's lose none, since
        its codes are multiplied with zeros below them.
    mx_post_add_first : the products of a block pair are summed before they are aligned; else each is rounded.
    mx9_split_round : the two halves of 8 MX9 products are rounded separately.
    mx_zero_term : a block pair whose sum is 0 takes part in the largest exponent, unless one of its exponents is 0.
    mx4_path : how MX4 is multiplied.
    float_zero_term : so does a product of a zero operand.
    align_fraction_bits : fraction bits of the grid, 20 to 26.
    align_rounding : rounding of terms onto the grid.
    accumulator_align_rounding : rounding of accumulators onto the grid.
    result_rounding : rounding of the sum to FP32.
    flushed_zero_keeps_sign : a result below FP32's normal numbers becomes a zero of its sign; else +0.
    accumulator_bypass : an accumulator is read in the cycle of its write, on the same path; else a cycle later.
    """

    mx_flush: bool
    mx_bump: bool
    mx_min_code: bool
    mx_nan_block: bool
    mx_lossless_shift: bool
    mx_post_add_first: bool
    mx9_split_round: bool
    mx_zero_term: bool
    mx4_path: Mx4Path
    float_zero_term: bool
    align_fraction_bits: int
    align_rounding: RoundingCode
    accumulator_align_rounding: RoundingCode
    result_rounding: RoundingCode
    flushed_zero_keeps_sign: bool
    accumulator_bypass: bool

    def __post_init__(self) -> None:
        if self.align_fraction_bits not in range(20, 27):
            raise ValueError(f"align_fraction_bits must be 20 to 26, not {self.align_fraction_bits}")
        if self.mx9_split_round and not self.mx_post_add_first:
            raise ValueError("mx9_split_round must be False with mx_post_add_first False, not True")


AIE_ML_V2 = preset(
    "aie_ml_v2",
    AieNumerics,
    mx_flush=(
        True,
        inferred("QUARK, which says that the hardware does. XDNA2 silicon agrees for bfp16ebs8 (A8)"),
    ),
    mx_bump=(
        False,
        inferred(
            "QUARK saturates MX; its kernel for plain BFP16 that is to match AMD's compiler bumps. "
            "XDNA2 silicon contradicts it for bfp16ebs8 (A5)"
        ),
    ),
    mx_min_code=(
        False,
        inferred(
            "QUARK clamps MX to plus and minus 2**m - 1; its kernel for plain BFP16 does not. "
            "XDNA2 silicon contradicts it for bfp16ebs8 (A6)"
        ),
    ),
    mx_nan_block=(
        True,
        inferred(
            "QUARK's ONNX kernel; its torch code passes specials through. "
            "XDNA2 silicon contradicts it for bfp16ebs8 (A9)"
        ),
    ),
    mx_lossless_shift=(True, inferred("16 products of a block pair fit 22 bits exactly; no document says")),
    mx_post_add_first=(
        True,
        inferred(
            "AM027's figure has post-add before the shifter; the pair shares one exponent. "
            "XDNA2 silicon agrees for bfp16ebs8 (A13)"
        ),
    ),
    mx9_split_round=(False, inferred("LLVM's itinerary reads and writes the accumulator once for both halves")),
    mx_zero_term=(
        True,
        inferred("exponents are compared as they come from the E registers, beside the multiplication"),
    ),
    mx4_path=(Mx4Path.MX6, documented("UG1639, LLVM and API; AM027 contradicts: MX4 is emulated using MX9")),
    float_zero_term=(False, chosen("SIL does not decide")),
    align_fraction_bits=(
        23,
        documented("AM027; SIL: 22 and 24 fail measured lanes, as they do on XDNA2 (A13, A14)"),
    ),
    align_rounding=(
        RoundingCode.CONV_EVEN,
        measured(
            "SIL: floor fails 73 of 864 lanes, truncation 9, ties away 2, ties up 1. "
            "XDNA2, a second chip: none of the others fits A13, A14 and A16"
        ),
    ),
    accumulator_align_rounding=(RoundingCode.CONV_EVEN, chosen("as the products; SIL's accumulators are zero")),
    result_rounding=(
        RoundingCode.CONV_EVEN,
        measured("SIL: truncation fails 7 of 864 lanes; LLVM: no multiplication reads crRnd"),
    ),
    flushed_zero_keeps_sign=(True, chosen("SIL does not decide")),
    accumulator_bypass=(
        True,
        inferred(
            "LLVM's itinerary has a bypass on accumulator writes and on both accumulators, and its rule takes one cycle off; "
            "its test of moves shows the rule at work on the sister bypass. Its reach is chosen: integers, MX6, floats with MX9"
        ),
    ),
)
"""The reference: QUARK's blocks and the alignment measured on the first generation."""

AIE_ML_V2_BUMP = AIE_ML_V2.variant(
    "aie_ml_v2_bump",
    mx_bump=(True, inferred("what XDNA2 silicon does for bfp16ebs8 (A5), carried over to MX")),
    mx_min_code=(True, inferred("what XDNA2 silicon does for bfp16ebs8 (A6), carried over to MX")),
    mx_nan_block=(False, inferred("what XDNA2 silicon does for bfp16ebs8 (A9), carried over to MX")),
)
"""The same with XDNA2's handling of rounding overflow, infinity and NaN."""

AIE_ML_V2_SPLIT = AIE_ML_V2.variant(
    "aie_ml_v2_split",
    mx9_split_round=(True, chosen("the two cycles of MX9, each aligned by itself")),
    mx_zero_term=(False, chosen("as zero products of floats")),
)
"""For hardware study: the alternatives to the inferred numerics of MX sums."""

AIE_ML_V2_DOCUMENTED = AIE_ML_V2.variant(
    "aie_ml_v2_documented",
    mx4_path=(Mx4Path.MX9, documented("AM027: MX4 multiplication is emulated using MX9")),
)
"""The same where the architecture manual contradicts compiler and intrinsics guide: values are equal, cycles are not."""

XDNA2_BFP16EBS8 = preset(
    "xdna2_bfp16ebs8",
    AieNumerics,
    mx_flush=(True, measured("XDNA2 A8: a block of subnormals has exponent and codes 0")),
    mx_bump=(
        True,
        measured(
            "XDNA2 A5: all of a block with 127.5 is converted with the next exponent in the modes that round it up; "
            "past exponent 254 no probe says"
        ),
    ),
    mx_min_code=(
        True,
        measured("XDNA2 A6: floor makes -128 of -127.5; no probe of conv even has -127.5 without 127.5"),
    ),
    mx_nan_block=(False, measured("XDNA2 A9: exponent 255, infinities plus and minus 64, NaN plus and minus 96")),
    mx_lossless_shift=(True, chosen("no effect: blocks have no shifts")),
    mx_post_add_first=(True, measured("XDNA2 A13, A14: no and one lane off the FP32 chain; else 52 and 54 would be")),
    mx9_split_round=(False, chosen("no effect: a product adds eight terms")),
    mx_zero_term=(True, inferred("as AIE-ML v2; no row of XDNA2 decides")),
    mx4_path=(Mx4Path.MX6, chosen("no effect: XDNA2 has no MX4")),
    float_zero_term=(False, chosen("as AIE-ML v2; no effect on blocks, and no row of XDNA2 decides")),
    align_fraction_bits=(
        23,
        measured(
            "XDNA2 A13, A14: 22 would put 52 and 53 lanes off the FP32 chain, 24 54 and 53; silicon has none and one"
        ),
    ),
    align_rounding=(
        RoundingCode.CONV_EVEN,
        measured("XDNA2 A13, A14, A16: each other rounding misses a lane; ties to zero miss only the odd lane of A14"),
    ),
    accumulator_align_rounding=(RoundingCode.CONV_EVEN, chosen("as the products; no row of XDNA2 decides")),
    result_rounding=(
        RoundingCode.CONV_EVEN,
        inferred("SIL, carried over from the first generation; no row of XDNA2 decides"),
    ),
    flushed_zero_keeps_sign=(True, chosen("as AIE-ML v2; no row of XDNA2 decides")),
    accumulator_bypass=(
        False,
        inferred(
            "LLVM's itinerary of aie2p has none on the result of float products; no source gives bfp16ebs8's cycles"
        ),
    ),
)
"""XDNA2 (AIE2P) with bfp16ebs8, the reference of this format; AIE-ML v2 lacks it."""

PRESETS = {
    each.name: each for each in (AIE_ML_V2, AIE_ML_V2_BUMP, AIE_ML_V2_SPLIT, AIE_ML_V2_DOCUMENTED, XDNA2_BFP16EBS8)
}
"""Presets by the names that the command line takes."""
